"""SAML assertions with WSS4J 2.4.3 and OpenSAML 3.4.6, in both directions: it opens what we send, we open what it sends, and both refuse.

One JVM answers all jobs. The assertions of both directions are OpenSAML's: we make none.
"""

import base64
import json
import re
from pathlib import Path

from . import envelopes, jobs
from .endpoints import Endpoint
from .installing import INTEROP
from .processes import Failure, must, must_refuse

JAR = INTEROP / "saml" / "target" / "saml-peer.jar"
ISSUER, AUDIENCE = "https://idp.example", "https://service.example"
VERSIONS = ("2.0", "1.1")
# The signature covers the assertion by the STR transform (SOAP Message Security 1.1.1, 8.3).
THROUGH = "signed through a reference to it"
# How a message names the assertion, or its signature covers it: as WSS4J says it. A bearer's is
# named by nothing. WSS4J covers what is vouched for by the STR transform alone.
REFERENCES = {
    "bearer": ("over TLS", "signed with the message", THROUGH),
    "holder-of-key": ("named by its id", "named by a direct reference", "inside of the reference", THROUGH),
    "sender-vouches": ("named by its id", "named by a direct reference", THROUGH),
}
WORDS = {"named by a direct reference": "direct", "inside of the reference": "embedded"}
# What WSS4J and OpenSAML encrypt keys with, here.
TRANSPORT = {"key_transport": ["rsa-oaep-mgf1p"]}
STR_TRANSFORM = b"oasis-200401-wss-soap-message-security-1.0#STR-Transform"
CIPHER_TEXT = re.compile(rb"CipherValue>[^<]{200,260}[A-Z]")


class Case:
    """One confirmation of one version, and how the message refers to the assertion.

    `hidden` says where the key is, if the assertion has cipher text of its own. With `proves` the holder has a symmetric key.
    """

    def __init__(self, version, confirmation, reference, hidden=None, proves=False):
        self.version, self.confirmation, self.reference, self.hidden, self.proves = version, confirmation, reference, hidden, proves
        self.signs = reference != "over TLS"
        self.direct = reference == "named by a direct reference"
        self.embedded = reference == "inside of the reference"
        self.through = reference == THROUGH
        # A holder's signature covers the assertion where that is demanded.
        self.covers_token = self.through and confirmation == "holder-of-key"

    def __str__(self):
        symmetric = ", symmetric key" if self.proves else ""
        hidden = f", encrypted with its key {self.hidden}" if self.hidden else ""
        return f"SAML {self.version}, {self.confirmation}{symmetric}, {self.reference}{hidden}"

    def _endpoint(self, **security):
        if self.covers_token:
            security["signed"] = ["Body", "Timestamp", "Token"]
        return Endpoint("sign" if self.signs else "none", **security)

    def receives(self, keys, folder, attester="client", issuer="approver", audience=AUDIENCE):
        """Our service."""
        deciphers = self.hidden or self.proves
        endpoint = self._endpoint(**({"algorithms": TRANSPORT} if deciphers else {}))
        saml = {"issuers": [{"name": ISSUER, "pinned": [str(keys.certificate(issuer))]}], "audience": [audience]}
        saml |= {"confirmation": [self.confirmation], "versions": [self.version]}
        if self.confirmation == "sender-vouches":
            saml["attesters"] = [_subject(keys, attester)]
        if self.confirmation == "bearer":
            saml["protection"] = "signature" if self.signs else "tls"
        endpoint.tables["saml"] = saml | self._forms()
        if deciphers:
            endpoint.ours(keys, "server")
        if self.signs and self.confirmation != "holder-of-key":
            endpoint.trust(keys.ca)
        return endpoint.write(folder)

    def sends(self, keys, folder, assertion):
        """Our client."""
        # The key of an assertion's holder is named by the assertion: directly, or by its id.
        holds = self.confirmation == "holder-of-key"
        naming = {"key_reference": "direct" if self.direct else "ski"} if holds else {}
        if self.through:
            naming["signature"] = {"str_transform": True}
        endpoint = self._endpoint(**naming)
        endpoint.tables["saml"] = {"assertion": str(assertion), "confirmation": [self.confirmation], **self._forms()}
        if self.proves:
            endpoint.tables["saml"] |= {"proof_key_file": str(proof(keys))}
        elif self.signs:
            endpoint.ours(keys, "client")
        if self.hidden:
            endpoint.encrypt_to(keys, "server")
        return endpoint.write(folder)

    def _forms(self):
        """What both sides say of the forms of assertion and key."""
        return ({"encrypted": True} if self.hidden else {}) | ({"holder_key": "symmetric", "derived_keys": False} if self.proves else {})

    def issuing(self, keys, holder="client", issuer="approver", **changes):
        """What WSS4J is told of the assertion."""
        options = {"version": self.version, "confirmation": self.confirmation, "audience": AUDIENCE}
        options |= {"issuer-key": keys.key(issuer), "issuer-cert": keys.certificate(issuer)}
        if self.proves:
            options |= {"proof": proof(keys), "proof-for": keys.certificate("server")}
        elif self.confirmation == "holder-of-key":
            options["holder-cert"] = keys.certificate(holder)
        return _words(options | changes)

    def message(self, keys, signer="client", beside="no"):
        """What WSS4J is told of the message. Who signs beside an assertion uses no key of it, and vouches for nothing."""
        options = {"confirmation": self.confirmation, "reference": WORDS.get(self.reference, "identifier")}
        if self.through:
            options["covered"] = "reference"
        if self.hidden:
            options |= {"hidden": self.hidden, "receiver": keys.certificate("server")}
        options |= {"signs": "yes" if self.signs else "no", "beside": beside, "key": keys.key(signer), "cert": keys.certificate(signer)}
        return _words(options)

    def opening(self, keys):
        """What WSS4J demands."""
        own = {"confirmation": self.confirmation, "signs": "yes" if self.signs else "no", "key": keys.key("server")}
        return [*_words(own | {"cert": keys.certificate("server")}), "--audience", AUDIENCE, "--ca", str(keys.ca)]


def _words(options):
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def _subject(keys, name):
    told = must("openssl", "x509", "-noout", "-subject", "-nameopt", "RFC2253", "-in", keys.certificate(name)).output
    return told.strip().removeprefix("subject=").strip()


def proof(keys):
    """The file with the symmetric key of the holder, which nobody but the holder and the service has."""
    path = keys.folder / "proof.base64"
    if not path.exists():
        path.write_text(base64.b64encode(keys.secret(32).read_bytes()).decode("ascii"), encoding="ascii")
    return path


def cases():
    """Every case."""
    for version in VERSIONS:
        for confirmation, references in REFERENCES.items():
            for reference in references:
                yield Case(version, confirmation, reference)
        for reference in ("named by its id", "named by a direct reference"):
            yield Case(version, "holder-of-key", reference, proves=True)
        # An assertion of SAML 1.1 has no element around its cipher text that could have a key
        # beside it.
        for hidden in ("inside", "beside") if version == "2.0" else ("inside",):
            yield Case(version, "bearer", "over TLS", hidden)
            yield Case(version, "bearer", "signed with the message", hidden)
            yield Case(version, "holder-of-key", "named by its id", hidden)
            yield Case(version, "holder-of-key", "named by its id", hidden, proves=True)


def run(report, soapstone, keys, folder):
    """Every case, both ways; a changed assertion is refused each time. Then what has to be refused."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with jobs.running("SAML", JAR, folder / "saml.log") as peer:
        for number, case in enumerate(cases()):
            plain = folder / f"{number:03}.plain.xml"
            plain.write_bytes(envelopes.books(5))
            if _is_written(case):
                report.check("saml", str(case), "soapstone -> wss4j", lambda: _to_wss4j(case, peer, soapstone, keys, folder, plain))
            report.check("saml", str(case), "wss4j -> soapstone", lambda: _from_wss4j(case, peer, soapstone, keys, folder, plain))
            if case.embedded:
                name = f"WSS4J cannot: {case}"
                report.check("saml", name, "wss4j -> wss4j", lambda: _unread(case, peer, keys, plain))
        plain = folder / "refused.plain.xml"
        plain.write_bytes(envelopes.books(5))
        for name, case, issued, signed, demanded, reason in refusals():
            test = lambda: _refused(case, issued, signed, demanded, reason, peer, soapstone, keys, folder, plain)
            report.check("saml", f"refused: {name}", "wss4j -> soapstone", test)
        for version in VERSIONS:
            test = lambda: _stolen(Case(version, "holder-of-key", "named by its id"), peer, soapstone, keys, folder, plain)
            report.check("saml", f"refused: a stolen assertion of SAML {version}", "soapstone -> wss4j", test)


def _is_written(case):
    """Whether we write it. Who vouches refers to the assertion as to any other signed part, and cipher text has its key inside: there is
    one way. An assertion stands in the header, and not in a reference."""
    return not (case.confirmation == "sender-vouches" and case.direct) and not case.embedded and case.hidden != "beside"


def refusals():
    """How the assertion is issued and the message signed; what our endpoint demands, and the reason that it gives."""
    for version in VERSIONS:
        holder = Case(version, "holder-of-key", "named by its id")
        vouched = Case(version, "sender-vouches", "named by its id")
        bearer = Case(version, "bearer", "over TLS")
        yield f"an issuer's name with another key, SAML {version}", bearer, {"issuer": "server"}, {}, {}, "untrusted"
        yield f"for another audience, SAML {version}", bearer, {}, {}, {"audience": "https://other.example"}, "audience-mismatch"
        yield f"an attester who is not named, SAML {version}", vouched, {}, {"signer": "server"}, {}, "assertion-unconfirmed"
        stolen = {"holder": "server"}
        yield f"a stolen assertion, SAML {version}", holder, stolen, {"beside": "yes"}, {}, "key-not-found"


def _to_wss4j(case, peer, soapstone, keys, folder, plain):
    assertion, secured, opened = plain.with_suffix(".assertion"), plain.with_suffix(".ours"), plain.with_suffix(".ours-opened")
    peer.must("issue", *case.issuing(keys), assertion)
    must(soapstone, "secure", "--config", case.sends(keys, folder, assertion), plain, "-o", secured)
    _covers_as_told(case, secured)
    peer.must("open", *case.opening(keys), secured, opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    peer.must_refuse("open", *case.opening(keys), _changed(secured, case.hidden), opened)


def _from_wss4j(case, peer, soapstone, keys, folder, plain):
    secured, opened = plain.with_suffix(".theirs"), plain.with_suffix(".theirs-opened")
    peer.must("secure", *case.issuing(keys), *case.message(keys), plain, secured)
    if case.through:
        _covers_as_told(case, secured)
    endpoint = case.receives(keys, folder)
    must(soapstone, "open", "--config", endpoint, secured, "-o", opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    told = json.loads(must(soapstone, "open", "--json", "--config", endpoint, secured).output)["assertion"]
    if (told["subject"]["name"], told["issuer"], told["confirmed"]) != ("alice", ISSUER, case.confirmation):
        raise Failure(f"expected alice, {ISSUER} and {case.confirmation}, found {told}")
    must_refuse(soapstone, "open", "--config", endpoint, _changed(secured, case.hidden))


def _covers_as_told(case, secured):
    """The signature covers the assertion by the STR transform where the case says so."""
    if (STR_TRANSFORM in secured.read_bytes()) != case.through:
        raise Failure(f"expected a reference with the STR transform: {case.through}, found another form in {secured}")


def _unread(case, peer, keys, plain):
    """WSS4J finds no key in an assertion that stands in the reference. Where it does, we are to write such messages to it."""
    secured, opened = plain.with_suffix(".theirs"), plain.with_suffix(".theirs-opened")
    peer.must_refuse("open", *case.opening(keys), secured, opened)


def _changed(secured, hidden):
    """The message with another role in the assertion, or with other cipher text."""
    path = secured.with_name(secured.name + "-changed")
    message = secured.read_bytes()
    if hidden:
        # The longest one: that of a key is shorter than that of an assertion, and the first one of
        # them here.
        longest = max(CIPHER_TEXT.finditer(message), key=lambda found: message.index(b"<", found.end()) - found.end())
        at = longest.end() - 1
        other = b"B" if message[at : at + 1] == b"A" else b"A"
        path.write_bytes(message[:at] + other + message[at + 1 :])
        return path
    if b">reader<" not in message:
        raise Failure(f"no assertion of a reader in {secured}")
    path.write_bytes(message.replace(b">reader<", b">writer<"))
    return path


def _refused(case, issued, signed, demanded, reason, peer, soapstone, keys, folder, plain):
    secured = plain.with_suffix(".theirs")
    peer.must("secure", *case.issuing(keys, **issued), *case.message(keys, **signed), plain, secured)
    endpoint = case.receives(keys, folder, **demanded)
    verdict = json.loads(must_refuse(soapstone, "open", "--json", "--config", endpoint, secured).output)
    if verdict["reason"] != reason:
        raise Failure(f"expected the reason {reason}, found {verdict}")


def _stolen(case, peer, soapstone, keys, folder, plain):
    """The assertion of another key's holder: we do not send it with our key."""
    assertion = plain.with_suffix(".assertion")
    peer.must("issue", *case.issuing(keys, holder="server"), assertion)
    endpoint = case.sends(keys, folder, assertion)
    secured = must_refuse(soapstone, "secure", "--config", endpoint, plain, statuses=(1, 2))
    if "holder" not in secured.errors:
        raise Failure(f"expected a word of the holder, found {secured.describe()}")
