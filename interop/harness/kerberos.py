"""Kerberos tokens with WSS4J, CXF and the GSS library of Java, in both directions: one KDC of MIT Kerberos for all."""

from pathlib import Path

from . import cxf_kerberos, envelopes, jobs, realm, ticket_requests, wss4j
from .endpoints import Endpoint
from .processes import must, must_refuse
from .realm import ACCEPTS, CLIENT, MAKES, REALM

SERVICE = f"HTTP/books.example@{REALM}"
PEER = "kerberos"
SUITES = ["Basic128", "Basic256", "Basic256Sha256"]
OUT, IN = "soapstone → WSS4J", "WSS4J → soapstone"


def endpoint(mechanism, suite, kerberos):
    """Our endpoint file: WSS4J takes the session key as it is."""
    made = Endpoint(mechanism, suite=suite)
    made.tables["kerberos"] = {**kerberos, "derived_keys": False}
    return made


def run(report, soapstone, keys, folder):
    """Every cell."""
    folder.mkdir(parents=True)
    with realm.running(folder) as made:
        service, client = made.keytab("service", SERVICE), made.keytab("client", CLIENT)
        options = made.java({"client": (MAKES, client, CLIENT), "service": (ACCEPTS, service, SERVICE)})
        plain = folder / "plain.xml"
        plain.write_bytes(envelopes.books(3))
        ours = {
            "client": {"keytab": str(client), "principal": CLIENT, "service": SERVICE},
            "service": {"keytab": str(service), "principal": SERVICE},
        }
        with jobs.running("WSS4J", wss4j.JAR, folder / "wss4j.log", options) as peer:
            for mechanism in ("sign", "sign-encrypt"):
                for suite in SUITES:
                    cell(report, soapstone, made, peer, (mechanism, suite), ours, plain)
        cxf_kerberos.run(report, soapstone, keys, folder / "cxf", made, client)
        ticket_requests.run(report, soapstone, keys, folder / "requests", made, client)


def cell(report, soapstone, made, peer, case, ours, plain):
    """One case in both directions, each with its refusals."""
    mechanism, suite = case
    name, folder = f"{mechanism} {suite}", made.folder
    message, opened = folder / "message.xml", folder / "opened.xml"
    theirs = ["--mechanism", mechanism, "--suite", suite, "--service", SERVICE]

    def to_them():
        config = endpoint(mechanism, suite, ours["client"]).write(folder)
        must(soapstone, "secure", "--config", config, plain, "-o", message, env=made.environment)
        peer.must("open-ticket", *theirs, message, opened)
        same(plain, opened)
        changed(message)
        peer.must_refuse("open-ticket", *theirs, message, opened)

    def to_us():
        config = endpoint(mechanism, suite, ours["service"]).write(folder)
        peer.must("secure-ticket", *theirs, plain, message)
        must(soapstone, "open", "--config", config, message, "-o", opened, env=made.environment)
        same(plain, opened)
        must_refuse(soapstone, "open", "--config", config, message, env=made.environment)
        peer.must("secure-ticket", *theirs, plain, message)
        changed(message)
        must_refuse(soapstone, "open", "--config", config, message, env=made.environment)

    report.check(PEER, name, OUT, to_them)
    report.check(PEER, name, IN, to_us)


def same(plain, opened):
    """The Body that was secured is the one that came out."""
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())


def changed(message):
    """Changes a character of the token's authenticator."""
    text = Path(message).read_text(encoding="utf-8")
    end = text.index("</wsse:BinarySecurityToken>")
    at = end - 40
    text = text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]
    Path(message).write_text(text, encoding="utf-8")
