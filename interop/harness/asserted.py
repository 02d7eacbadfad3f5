"""Policies with assertions between CXF 3.5.10 and us: its client against its service and our gateway, our gateway against its service.

Assertions are OpenSAML's in every direction: CXF's client makes them itself, and our gateway has them from a file.
"""

import contextlib
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import jobs
from .cxf import REQUESTS, content, enveloped, post, read, same_content, security
from .endpoints import Endpoint
from .policies import RSA_SHA256, self_contained
from .processes import Failure, free_port, must_refuse, seen, server
from .saml import ISSUER, proof
from .saml_policies import cells
from .sts import JAR

ECHO = "{urn:soapstone:services:echo}"
CERTIFICATE = "CN=client,O=Soapstone"
ITSELF, INBOUND, OUTBOUND = "cxf -> cxf", "cxf -> soapstone", "soapstone -> cxf"


@dataclass
class Peer:
    """CXF's client, and where everybody serves."""

    soapstone: Path
    keys: object
    folder: Path
    client: jobs.Program
    # Plain and secure addresses of CXF's service, and of our gateway; that of our gateway in front
    # of CXF's service.
    theirs: tuple
    ours: tuple
    outbound: str
    plain_answer: bytes

    def at(self, cell, addresses):
        """Where a cell is served."""
        return f"{addresses[cell.tls]}/{cell.path}"

    def issuing(self, cell, audience, holder="client", issuer="approver"):
        """What an assertion says, as the options of the peer."""
        keys = self.keys
        options = {"version": cell.version, "confirmation": cell.confirmation, "audience": audience}
        options |= {"issuer-key": keys.key(issuer), "issuer-cert": keys.certificate(issuer)}
        if cell.proves:
            options |= {"proof": proof(keys), "proof-for": keys.certificate("server")}
        elif cell.confirmation == "holder-of-key":
            options["holder-cert"] = keys.certificate(holder)
        return _words(options)

    def call(self, cell, address, signer="client", **issued):
        """The job of CXF's client; its last word is the file for the answer."""
        request = self.folder / "echo.request"
        request.write_bytes(enveloped(REQUESTS["echo"]))
        issuing = self.issuing(cell, **{"audience": address, **issued})
        return [
            "call", "--wsdl", self.folder / f"{cell.path}.wsdl", "--address", address, "--calls", cell.calls, "--service", f"{ECHO}EchoService",
            "--port", f"{ECHO}EchoSoap11Port", *own(self.keys, signer, "server"), "--mutual", str(cell.mutual).lower(), *issuing, request,
            self.folder / f"{cell.path}.answer",
        ]  # fmt: skip

    def log(self, name):
        """What one of our gateways has said."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")


def own(keys, ours, theirs):
    """Who a program of CXF is, and whom it speaks with."""
    return [*security(keys, ours, theirs), "--signature", RSA_SHA256]


def _words(options):
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def run(report, soapstone, keys, folder):
    """Every cell in three directions, then what is refused."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _running(soapstone, keys, folder) as peer:
        for cell in cells():
            _in_each_direction(report, peer, cell)
        known = {(cell.version, cell.confirmation, cell.name): cell for cell in cells()}
        for told, cell, changes, reason in refusals(known):
            report.check("asserted", f"refused: {cell}, {told}", INBOUND, lambda: _refused(peer, cell, reason, **changes))


def _in_each_direction(report, peer, cell):
    """A cell between CXF's client and service, and of each with our gateway."""
    if cell.through:
        report.check("asserted", str(cell), OUTBOUND, lambda: _from_gateway(peer, cell))
        return
    if cell.unwritten:
        report.check("asserted", f"CXF cannot: {cell}", ITSELF, lambda: _unwritten(peer, cell))
    else:
        alone = _itself if cell.by_itself else _not_itself
        report.check("asserted", str(cell), ITSELF, lambda: alone(peer, cell))
    if cell.unsupported:
        report.check("asserted", f"refused: the policy of {cell}", OUTBOUND, lambda: _unsupported(peer, cell))
        return
    if cell.refused:
        report.check("asserted", f"refused: {cell}", INBOUND, lambda: _refused(peer, cell, cell.refused))
    elif not cell.unwritten:
        report.check("asserted", str(cell), INBOUND, lambda: _to_gateway(peer, cell))
    told, test = (f"CXF's service does not understand: {cell}", _unread) if cell.unread else (str(cell), _from_gateway)
    report.check("asserted", told, OUTBOUND, lambda: test(peer, cell))


def refusals(known):
    """How a message of CXF's client differs from a good one, the policy, the change, and the reason that our gateway gives."""
    for version in ("2.0", "1.1"):
        borne = known[version, "bearer", "SignedSupportingTokens on TLS"]
        yield "for another audience", borne, {"audience": "https://other.example"}, "audience-mismatch"
        yield "an issuer's name with another key", borne, {"issuer": "server"}, "untrusted"
        for name, reason in (
            ("the TLS client", "assertion-unconfirmed"), ("EndorsingSupportingTokens on TLS", "signature-mismatch"), ("InitiatorToken", "signature-mismatch"),
        ):  # fmt: skip
            yield "stolen", known[version, "holder-of-key", name], {"holder": "approver"}, reason
        for name in ("the TLS client", "SignedSupportingTokens beside certificates"):
            cell = known[version, "sender-vouches", name]
            yield "by somebody who may not vouch", cell, {"signer": "approver"}, "assertion-unconfirmed"
        yield "stolen", known[version, "holder-of-key", "InitiatorToken of a bootstrap"], {"holder": "approver"}, "signature-mismatch"


@contextlib.contextmanager
def _running(soapstone, keys, folder):
    plain_port, secure_port, http, https, outbound, echo = (free_port() for _ in range(6))
    with contextlib.ExitStack() as stack:
        serving = [soapstone, "services", "--listen", f"127.0.0.1:{echo}"]
        stack.enter_context(server("services", serving, [echo], folder / "services.log"))
        plain = self_contained(read, f"http://127.0.0.1:{echo}/echo")
        for cell in cells():
            (folder / f"{cell.path}.wsdl").write_bytes(cell.wsdl(plain))
        names = [",".join(cell.path for cell in cells() if cell.tls == tls) for tls in (False, True)]
        options = {"port": plain_port, "names": names[0], "secure-port": secure_port, "secure-names": names[1], "folder": folder, "mutual": "true"}
        options |= {"service": f"{ECHO}EchoService", "endpoint": f"{ECHO}EchoSoap11Port"}
        command = ["java", "-cp", JAR, "soapstone.interop.IssuedPeer", *_words(options), *own(keys, "server", "client")]
        stack.enter_context(server("cxf", command, [plain_port, secure_port], folder / "cxf.log", stdin=subprocess.PIPE))
        command = ["java", "-cp", JAR, "soapstone.interop.TokenClient", "--jobs", "-"]
        client = stack.enter_context(jobs.program("CXF client", command, folder / "client.log"))
        theirs = (f"http://127.0.0.1:{plain_port}", f"https://127.0.0.1:{secure_port}")
        ours = (f"http://127.0.0.1:{http}", f"https://127.0.0.1:{https}")
        plain_answer = content(post(f"http://127.0.0.1:{echo}/echo", enveloped(REQUESTS["echo"])))
        peer = Peer(soapstone, keys, folder, client, theirs, ours, f"http://127.0.0.1:{outbound}", plain_answer)
        tls = {"certificate": str(keys.certificate("server")), "key": str(keys.key("server")), "client_ca": [str(keys.ca)], "client_auth": "optional"}
        plain = [_inbound(peer, cell, f"http://127.0.0.1:{echo}/echo") for cell in _supported() if not cell.tls]
        secure = [_inbound(peer, cell, f"http://127.0.0.1:{echo}/echo") for cell in _supported() if cell.tls]
        forward = [_outbound(peer, cell) for cell in _supported()]
        for name, port, sections, own_tls in (("plain", http, plain, {}), ("secure", https, secure, {"tls": tls}), ("outbound", outbound, forward, {})):
            top = Endpoint()
            top.tables = {"listen": f"127.0.0.1:{port}", **own_tls}
            file = folder / f"{name}.toml"
            file.write_text("\n".join([top.inline(), *sections]), encoding="utf-8")
            stack.enter_context(server(name, [soapstone, "gateway", "--config", file], [port], folder / f"{name}.log"))
        yield peer


def _supported():
    return [cell for cell in cells() if not cell.unsupported]


def _inbound(peer, cell, backend):
    """The route of a service of ours."""
    keys = peer.keys
    endpoint = Endpoint(policy=str(peer.folder / f"{cell.path}.wsdl"), sha256_suites="sha256").ours(keys, "server")
    if not cell.proves:
        endpoint.encrypt_to(keys, "client").trust(keys.ca)
    issuers = [{"name": ISSUER, "pinned": [str(keys.certificate("approver"))]}]
    table = {"issuers": issuers, "audience": [peer.at(cell, peer.ours)], "versions": [cell.version], "confirmation": [cell.confirmation]}
    if cell.confirmation == "sender-vouches":
        table["attesters"] = [CERTIFICATE]
    endpoint.tables["saml"] = {**table, **cell.saml}
    return f'[[routes]]\npath = "/{cell.path}"\nbackend = "{backend}"\n[routes.inbound]\n{endpoint.inline()}'


def _outbound(peer, cell):
    """The route to a service of CXF's."""
    keys, address, file = peer.keys, peer.at(cell, peer.theirs), peer.folder / f"{cell.path}.assertion"
    peer.client.must("issue", *peer.issuing(cell, address), file)
    signature = {"signature": {"str_transform": True}} if cell.through else {}
    endpoint = Endpoint(policy=str(peer.folder / f"{cell.path}.wsdl"), sha256_suites="sha256", **signature)
    table = {"assertion": str(file), "confirmation": [cell.confirmation], "versions": [cell.version], **cell.saml}
    if cell.proves:
        table["proof_key_file"] = str(proof(keys))
    else:
        endpoint.ours(keys, "client").encrypt_to(keys, "server").trust(keys.ca)
    endpoint.tables["saml"] = table
    tls = {"ca": [str(keys.ca)]} if cell.tls else {}
    if cell.mutual:
        tls |= {"certificate": str(keys.certificate("client")), "key": str(keys.key("client"))}
    route = Endpoint()
    route.tables = {"path": f"/{cell.path}", "backend": address, **({"tls": tls} if tls else {})}
    return f"[[routes]]\n{route.inline()}[routes.outbound]\n{endpoint.inline()}"


def _itself(peer, cell):
    words = peer.call(cell, peer.at(cell, peer.theirs))
    peer.client.must(*words)
    same_content(content(enveloped(REQUESTS["echo"])), words[-1].read_bytes())


def _not_itself(peer, cell):
    """CXF's service refuses what CXF's client writes. Where it does not any more, the cell is to say so."""
    result = peer.client.job(*peer.call(cell, peer.at(cell, peer.theirs)))
    if result["exit"] == 0:
        raise Failure("expected CXF's service to refuse what its client writes")


def _unwritten(peer, cell):
    """CXF's client cannot write it, and says that. Where it can, the cell is to be one of both."""
    result = peer.client.job(*peer.call(cell, peer.at(cell, peer.theirs)))
    if result["exit"] == 0 or cell.unwritten not in result["reason"]:
        raise Failure(f"expected that CXF's client says {cell.unwritten!r}, found {result}")


def _unsupported(peer, cell):
    """Our program refuses the policy, and says why."""
    done = must_refuse(peer.soapstone, "policy", peer.folder / f"{cell.path}.wsdl")
    if cell.unsupported not in done.output + done.errors:
        raise Failure(f"expected {cell.unsupported!r}, found {done.describe()}")


def _to_gateway(peer, cell):
    """CXF's client calls a service of ours."""
    name = "secure" if cell.tls else "plain"
    before = len(peer.log(name))
    words = peer.call(cell, peer.at(cell, peer.ours))
    try:
        peer.client.must(*words)
        same_content(peer.plain_answer, words[-1].read_bytes())
    except Failure as failure:
        raise Failure(f"{failure}\nthe gateway said: {peer.log(name)[before:]}") from failure


def _refused(peer, cell, reason, **changes):
    """Our gateway refuses what CXF's client sends, and its log has the reason."""
    name = "secure" if cell.tls else "plain"
    before = len(peer.log(name))
    result = peer.client.job(*peer.call(cell, peer.at(cell, peer.ours), **changes))
    said = lambda: peer.log(name)[before:]
    if result["exit"] == 0 or not seen(lambda: f'cause="{reason}"' in said()):
        raise Failure(f"expected the reason {reason}, found {result}\nthe gateway said: {said()}")


def _from_gateway(peer, cell):
    """A plain client calls a service of CXF's through our gateway."""
    before = len(peer.log("outbound"))
    request = enveloped(REQUESTS["echo"])
    for _ in range(cell.calls):
        try:
            answer = post(f"{peer.outbound}/{cell.path}", request)
        except Failure as failure:
            raise Failure(f"{failure}\nthe gateway said: {peer.log('outbound')[before:]}") from failure
        same_content(content(request), content(answer))


def _unread(peer, cell):
    """CXF's service refuses our request. Where it does not any more, the cell is to say so."""
    before = len(peer.log("outbound"))
    try:
        post(f"{peer.outbound}/{cell.path}", enveloped(REQUESTS["echo"]))
    except Failure:
        said = lambda: peer.log("outbound")[before:]
        if not seen(lambda: cell.unread in said()):
            raise Failure(f"expected {cell.unread!r}, the gateway said: {said()}") from None
    else:
        raise Failure("expected that CXF's service refuses the request")
