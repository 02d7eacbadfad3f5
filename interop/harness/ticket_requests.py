"""Assertions that our token service makes for clients of CXF 3.5.10 that a Kerberos ticket shows.

The tickets are those of the GSS library of Java. The client obeys the policy that our gateway publishes.
"""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from xml.dom import minidom

from . import jobs
from .assertions import WITH_ADDRESSING, both, kerberos, protected_by, supporting, transport, wss11
from .endpoints import Endpoint
from .installing import INTEROP
from .policies import Cell
from .processes import Failure, free_port, server
from .realm import CLIENT, MAKES, REALM
from .token_requests import AUDIENCE, JAR, NEXT, SUITE, VERSIONS, Case, Peer, granted, issuing

PEER = "kerberos"
ASKING = "cxf asks"
SERVICE = f"HTTP/sts.example@{REALM}"
DERIVED = "<sp:RequireDerivedKeys/>"
OVER_TLS = WITH_ADDRESSING + transport(SUITE) + wss11()
# How the ticket shows who asks: in words, for the endpoint, and for messages.
ROUTES = {
    "protecting": ("a ticket that protects", WITH_ADDRESSING + protected_by(SUITE, kerberos()) + wss11(), both()),
    "derived": ("a ticket that protects by derived keys", WITH_ADDRESSING + protected_by(SUITE, kerberos(DERIVED)) + wss11(), both()),
    "shown": ("a ticket over TLS", OVER_TLS + supporting("SignedSupportingTokens", kerberos()), ""),
    "endorsed": ("an endorsing ticket over TLS", OVER_TLS + supporting("EndorsingSupportingTokens", kerberos()), ""),
}


# Where the session key protects messages. An assertion that CXF's client wants validated or
# cancelled takes the place of its ticket.
BY_SESSION = ("protecting", "derived")


@dataclass
class Asked(Case):
    """One request of a client that a ticket shows."""

    def __str__(self):
        return f"{ROUTES[self.route][0]}: SAML {self.version}, {self.key}{', ' + self.told if self.told else ''}"

    @property
    def subject(self):
        """Whom the assertion is about."""
        return CLIENT


def ticket():
    """The options of a client with a ticket for the token service."""
    return ["--jaas", "client", "--ticket-for", SERVICE]


def run(report, soapstone, keys, folder, realm, client):
    """Every case, and what is refused."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _running(soapstone, keys, folder, realm, client) as peer:
        for case in _cases():
            report.check(PEER, str(case), ASKING, lambda: granted(peer, case, *ticket()))
        for route, (told, *_) in ROUTES.items():
            for version in VERSIONS:
                told_of = f"refused: {told}, SAML {version} validated and cancelled"
                report.check(PEER, told_of, ASKING, lambda: _presented_instead(peer, route, version))
            public = Asked("2.0", route, "PublicKey", told="to be refused")
            refused = lambda: peer.must_refuse(peer.ask(public, *ticket()), 'fault="FailedAuthentication"')
            report.check(PEER, f"refused: {told}, with a public key", ASKING, refused)


def _cases():
    for route in ROUTES:
        for version in VERSIONS:
            for key in ("Bearer", "SymmetricKey"):
                yield Asked(version, route, key)
            yield Asked(version, route, "Bearer", {"renew": "true"}, told="renewed")


@contextlib.contextmanager
def _running(soapstone, keys, folder, realm, client):
    port, keytab = free_port(), realm.keytab("sts", SERVICE)
    java = realm.java({"client": (MAKES, client, CLIENT)})
    command = ["java", *java, "-cp", JAR, "soapstone.interop.TokenClient", "--jobs", "-"]
    sections = [
        f'listen = "127.0.0.1:{port}"\n',
        f'[tls]\ncertificate = "{keys.certificate("server")}"\nkey = "{keys.key("server")}"\n',
        *(_token_service(route, keytab, keys, folder) for route in ROUTES),
    ]
    file, log = folder / "gateway.toml", folder / "gateway.log"
    file.write_text("\n".join(sections), encoding="utf-8")
    with (
        server("gateway", [soapstone, "gateway", "--config", file], [port], log, env=realm.environment),
        jobs.program("token client", command, folder / "client.log") as program,
    ):
        yield Peer(program, keys, folder, f"https://127.0.0.1:{port}", log, b"")


def _token_service(route, keytab, keys, folder):
    """A route with the WSDL that says how the token service is asked."""
    wsdl = folder / f"{route}.wsdl"
    plain = minidom.parse(str(INTEROP / "sts" / "token-service.wsdl"))
    wsdl.write_bytes(Cell(route, *ROUTES[route][1:]).wsdl(plain))
    endpoint = Endpoint(policy=str(wsdl), sha256_suites="sha256")
    endpoint.tables["kerberos"] = {"keytab": str(keytab), "principal": SERVICE}
    return f'[[routes]]\npath = "/{route}"\n[routes.inbound]\n{endpoint.inline()}{issuing([AUDIENCE, NEXT], keys)}'


def _presented_instead(peer, route, version):
    """The client has no key to sign with then, or the assertion is there twice."""
    presented = granted(peer, Asked(version, route, "Bearer", told="to be presented"), *ticket())
    for verb in ("validate", "cancel"):
        words = [verb, *peer.asking(route), *ticket(), presented]
        if route not in BY_SESSION:
            peer.must_refuse(words, 'cause="duplicate-id"')
        elif peer.program.job(*words)["exit"] == 0:
            raise Failure(f"expected that CXF's client cannot {verb} an assertion")
