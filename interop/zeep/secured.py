"""zeep with its own WS-Security: Signature, BinarySignature, UsernameToken as text and as digest.

Signed answers are verified with the server's certificate by zeep's own verifier; what it leaves unchecked (whether
the Body is among the signed elements) is checked here.
"""

import argparse
import datetime
import sys

import calls
from lxml.etree import QName
from zeep import ns
from zeep.utils import detect_soap_env
from zeep.wsse import utils
from zeep.wsse.signature import BinarySignature, Signature, verify_envelope
from zeep.wsse.username import UsernameToken

LIFETIME = datetime.timedelta(minutes=5)


def timestamp():
    """A wsu:Timestamp that begins now."""
    created = calls.now()
    form = "%Y-%m-%dT%H:%M:%SZ"
    return utils.WSU.Timestamp(
        utils.WSU.Created(created.strftime(form)), utils.WSU.Expires((created + LIFETIME).strftime(form))
    )


class Timestamped:
    """Adds a fresh Timestamp before the plugin does its work; zeep's signatures then cover it."""

    def __init__(self, plugin):
        self.plugin = plugin

    def apply(self, envelope, headers):
        utils.get_security_header(envelope).append(timestamp())
        return self.plugin.apply(envelope, headers)

    def verify(self, envelope):
        return self.plugin.verify(envelope)


class FromServer:
    """Signs as `plugin` does; verifies answers with the server's certificate instead of our own."""

    def __init__(self, plugin, certificate):
        self.plugin = plugin
        self.certificate = certificate

    def apply(self, envelope, headers):
        return self.plugin.apply(envelope, headers)

    def verify(self, envelope):
        soap = detect_soap_env(envelope)
        body = envelope.find(QName(soap, "Body"))
        if body.find(QName(soap, "Fault")) is not None:
            return envelope  # the answer to a request that was refused is not signed; zeep raises it
        verify_envelope(envelope, self.certificate)
        body_id = body.get(QName(ns.WSU, "Id"))
        signed = {reference.get("URI") for reference in envelope.iter(QName(ns.DS, "Reference"))}
        if f"#{body_id}" not in signed:
            raise ValueError("the Body of the answer is not signed")
        return envelope


def plugin(arguments):
    """The plugin for one client."""
    kind = arguments.security
    if kind.startswith("username"):
        return Timestamped(UsernameToken(arguments.user, arguments.password, use_digest=kind == "username-digest"))
    signature = BinarySignature if kind.startswith("binary-signature") else Signature
    methods = {}
    if arguments.sha256:
        import xmlsec

        methods = {"signature_method": xmlsec.Transform.RSA_SHA256, "digest_method": xmlsec.Transform.SHA256}
    signing = FromServer(signature(arguments.key, arguments.certificate, **methods), arguments.server)
    return signing if kind.endswith("body-only") else Timestamped(signing)


def parser():
    """The options that choose and feed a plugin."""
    kinds = ["signature", "signature-body-only", "binary-signature", "username", "username-digest"]
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--security", required=True, choices=kinds)
    options.add_argument("--key", help="our private key (PEM)")
    options.add_argument("--certificate", help="our certificate (PEM)")
    options.add_argument("--server", help="the server's certificate (PEM)")
    options.add_argument("--sha256", action="store_true", help="RSA-SHA256 and SHA-256 instead of zeep's default, SHA-1")
    options.add_argument("--user")
    options.add_argument("--password")
    return options


if __name__ == "__main__":
    words = parser()
    words.add_argument("base", help="address below which the services are, for example http://127.0.0.1:8080/sign")
    arguments = words.parse_args()
    sys.exit(calls.run(arguments.base, lambda: plugin(arguments), arguments.security))
