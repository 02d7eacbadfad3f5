"""Keys, certificates and keystores: openssl and keytool read what we make, and we read what they make."""

import os
from pathlib import Path

from .endpoints import Endpoint
from .envelopes import SOAP11, WSU, books
from .processes import Failure, must, must_refuse

KINDS = ["rsa-2048", "rsa-3072", "rsa-4096", "ec-p256", "ec-p384", "ec-p521", "ed25519"]
PASSWORD = "correct horse"
ENVIRONMENT = {**os.environ, "PASSWORD": PASSWORD, "WRONG": "guess"}


def run(report, soapstone, keys, folder):
    """Every kind of key and every keystore."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def ours(*words):
        return must(soapstone, "keys", *words, cwd=folder, env=ENVIRONMENT)

    ours("new", "authority", "--ca")
    for kind in KINDS:
        report.check("keystores", kind, "soapstone -> openssl", lambda: _read_by_openssl(ours, kind, folder))
        report.check("keystores", f"{kind}, PKCS#12", "soapstone -> openssl", lambda: _store_read_by_openssl(kind, folder))
        if kind != "ed25519":
            report.check("keystores", f"{kind}, PKCS#12", "soapstone -> keytool", lambda: _store_read_by_keytool(kind, folder))
    for name, options in (("PKCS#12", []), ("legacy PKCS#12", ["-legacy"])):
        store = folder / f"openssl{''.join(options)}.p12"
        must(
            "openssl", "pkcs12", "-export", "-inkey", keys.key("client"), "-in", keys.certificate("client"), "-certfile",
            keys.ca, "-name", "client", "-out", store, "-passout", "env:PASSWORD", *options, env=ENVIRONMENT,
        )  # fmt: skip
        report.check("keystores", name, "openssl -> soapstone", lambda: _read_by_us(soapstone, ours, keys, store, folder))
    for kind in ("PKCS12", "JKS"):
        store = folder / f"keytool.{kind.lower()}"
        must(
            "keytool", "-importkeystore", "-srckeystore", folder / "openssl.p12", "-destkeystore", store, "-deststoretype",
            kind, "-srcstorepass", PASSWORD, "-deststorepass", PASSWORD, "-noprompt",
        )  # fmt: skip
        report.check("keystores", kind, "keytool -> soapstone", lambda: _read_by_us(soapstone, ours, keys, store, folder))


def _read_by_openssl(ours, kind, folder):
    """The certificate leads to its authority and belongs to its key."""
    ours("new", kind, "--kind", kind, "--signed-by", "authority", "--pkcs12", "--password-env", "PASSWORD")
    certificate, key = folder / f"{kind}.cert.pem", folder / f"{kind}.key.pem"
    must("openssl", "verify", "-x509_strict", "-CAfile", folder / "authority.cert.pem", certificate)
    of_certificate = must("openssl", "x509", "-in", certificate, "-noout", "-pubkey").output
    of_key = must("openssl", "pkey", "-in", key, "-passin", "env:PASSWORD", "-pubout", env=ENVIRONMENT).output
    if of_certificate != of_key:
        raise Failure("key and certificate do not belong together")


def _store_read_by_openssl(kind, folder):
    words = ["openssl", "pkcs12", "-in", folder / f"{kind}.p12", "-nodes", "-passin", "env:PASSWORD"]
    found = must(*words, env=ENVIRONMENT).output
    for part in ("PRIVATE KEY-----", "BEGIN CERTIFICATE-----"):
        if part not in found:
            raise Failure(f"openssl finds no {part}")
    must_refuse(*words[:-1], "env:WRONG", env=ENVIRONMENT, statuses=(1,))


def _store_read_by_keytool(kind, folder):
    found = must("keytool", "-list", "-keystore", folder / f"{kind}.p12", "-storepass", PASSWORD).output
    if "PrivateKeyEntry" not in found:
        raise Failure(f"keytool finds no private key:\n{found}")


def _read_by_us(soapstone, ours, keys, store, folder):
    """The keystore is listed, converted, and signs as an endpoint's identity."""
    if '"' not in ours("list", "--json", "--password-env", "PASSWORD", store).output:
        raise Failure("nothing listed")
    must_refuse(soapstone, "keys", "list", "--password-env", "WRONG", store, env=ENVIRONMENT, statuses=(1,))
    ours("convert", store, "--password-env", "PASSWORD", "--alias", "client", "--to", f"{store.name}.converted")
    plain, secured = folder / "plain.xml", folder / f"{store.name}.secured.xml"
    plain.write_bytes(books(1))
    endpoint = Endpoint("sign", suite="Basic128GCM")
    endpoint.tables["identity"] = {"keystore": str(store), "alias": "client", "password_env": "PASSWORD"}
    must(soapstone, "secure", "--config", endpoint.write(folder), plain, "-o", secured, env=ENVIRONMENT)
    must(
        "xmlsec1", "verify", "--id-attr:Id", f"{SOAP11}:Body", "--id-attr:Id", f"{WSU}:Timestamp", "--pubkey-cert-pem",
        keys.certificate("client"), secured,
    )  # fmt: skip
