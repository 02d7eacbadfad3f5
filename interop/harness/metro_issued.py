"""Metro (WSIT) with tokens that our token service issues.

Metro's client asks our token service, which it finds by `PreconfiguredSTS`, for what `sp:IssuedToken` of a service says. It calls
services of Metro's and of ours with that. Our outbound gateway asks the same token service, and calls services of Metro's.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from . import cxf, issued_services, metro
from .cxf import content, enveloped, post, same_content
from .keys import Keys
from .metro_uses import POLICIES, TOKEN_SERVICE, uses
from .processes import Failure, free_port, seen, server
from .token_requests import AUDIENCE, NEXT, described, service, token_service

TRUST_CLIENT = "http://schemas.sun.com/ws/2006/05/trust/client"
TRUST_13 = "http://docs.oasis-open.org/ws-sx/ws-trust/200512"
ITSELF, INBOUND, OUTBOUND = "metro -> metro", "metro -> soapstone", "soapstone -> metro"
NAMES = ["--service", "{urn:soapstone:services:echo}EchoService", "--port", "{urn:soapstone:services:echo}EchoSoap11Port"]
# Our gateway reads suites by the letter, as Metro does.
BY_THE_LETTER = {}


@dataclass
class Peer:
    """Metro's programs, our gateway, which is a token service and serves, and our gateway in front of Metro's services."""

    metro: metro.Peer
    folder: Path
    # Of the token service and of our services on TLS; of our other services; of our gateway in
    # front of Metro's services.
    gateway: str
    plain: str
    outbound: str

    @property
    def keys(self):
        """The keys of everybody."""
        return self.metro.keys

    def logs(self):
        """What our gateways have said, each for itself."""
        return [(self.folder / f"{name}.log").read_text(encoding="utf-8") for name in ("gateway", "plain", "outbound")]

    def saying(self):
        """What asks for all that our gateways have said from now on."""
        before = [len(log) for log in self.logs()]
        return lambda: "".join(log[known:] for log, known in zip(self.logs(), before, strict=True))

    def ours(self, use):
        """Where our gateway serves a use."""
        return f"{self.gateway if use.tls else self.plain}/{use.path}"

    def serve(self, use):
        """Serves a use with Metro."""
        own = _stores(self.keys, "server", "client") + [metro.validator_known("Passwords")]
        self.metro.serving.must(
            "serve", "--address", at(self.metro, use), "--wsdl", self._wsdl(use, "server", _private("server", own)), *NAMES,
            "--record", self.folder / "recorded" / use.path, "--tls", metro.store(self.keys, "server"),
        )  # fmt: skip

    def call(self, use, address):
        """The job of Metro's client that calls there; its last word is the file for the answer."""
        request = self.folder / f"{use.path}.request"
        request.write_text(_request(use), encoding="utf-8")
        wsdl = self.folder / f"{use.path}.wsdl"
        return [
            "call", "--address", address, "--wsdl", wsdl, *NAMES, "--action", metro.ACTION, "--configuration", self._configuration(use),
            "--trust", metro.trusted(self.keys, "server"), request, self.folder / f"{use.path}.answer",
        ]  # fmt: skip

    def _configuration(self, use):
        """What Metro's client knows of the service and of the token service: a description that imports one of each."""
        own = _private("client", _stores(self.keys, "client", "server")) + self._preconfigured(use)
        imported = {"urn:soapstone:services:echo": self._wsdl(use, "client", own), f"{TRUST_13}/": self._token_service(use.route)}
        imports = "".join(f'<import namespace="{name}" location="{path.as_uri()}"/>' for name, path in imported.items())
        path = self.folder / f"{use.path}.wsit-client.wsdl"
        path.write_text(f'<definitions xmlns="http://schemas.xmlsoap.org/wsdl/">{imports}</definitions>', encoding="utf-8")
        return path

    def _wsdl(self, use, side, own):
        path = self.folder / f"{use.path}.{side}.wsdl"
        path.write_bytes(self.described(use, own))
        return path

    def described(self, use, own=""):
        """The WSDL of a use, with assertions of Metro's own."""
        text = use.wsdl(self.metro.plain(), own)
        return text.replace(TOKEN_SERVICE.encode(), f"{self.gateway}/{use.route}".encode())

    def _preconfigured(self, use):
        """Where the token service is, as an assertion of Metro's own."""
        if use.issuer:
            return ""
        attributes = (
            f'endpoint="{self.gateway}/{use.route}" wsdlLocation="{self.gateway}/{use.route}?wsdl" '
            f'serviceName="SecurityTokenService" portName="SecurityTokenServicePort" namespace="{TRUST_13}/" wstVersion="{TRUST_13}"'
        )
        return metro.private(TRUST_CLIENT, "PreconfiguredSTS", attributes, "")

    def _token_service(self, route):
        """The token service's description, with what Metro's client shows it."""
        own = [*_stores(self.keys, "client", "server"), metro.user_known(cxf.USER[1])]
        path = self.folder / f"{route}.client.wsdl"
        path.write_bytes(described(route, POLICIES, _private("client", own)))
        return path


def at(peer, use):
    """Where Metro serves a use."""
    return f"{peer.secure_address if use.tls else peer.address}/{use.path}/echo"


def _stores(keys, ours, theirs):
    return metro.stores_known(keys, ours, theirs)


def _private(side, assertions):
    return "".join(metro.private(f"{metro.OWN}/{side}", *assertion) for assertion in assertions)


def _request(use):
    """A request of the use's own: Metro's Timestamps tell whole seconds."""
    return cxf.REQUESTS["echo"].replace("more", use.path)


def run(report, soapstone, _keys, folder):
    """Every use in three directions. What fails between Metro's own client and service is not ours to fix."""
    folder = Path(folder)
    # Stores of Metro's stand beside the keys, and its other peer makes some of its own at once.
    keys = Keys(folder / "keys", ("client", "server", "approver"))
    with metro.running(soapstone, keys, folder) as programs, _running(programs, folder) as peer:
        for use in uses():
            # On TLS Metro signs nothing but a Timestamp of whole seconds.
            time.sleep(1.1 if use.tls else 0)
            _in_each_direction(report, peer, use)


def _in_each_direction(report, peer, use):
    name = f"our token service, {use}"
    if use.at_gateway:
        report.check("metro-issued", f"refused: {name}", INBOUND, lambda: _refused(peer, use))
        return
    told, test = (f"Metro cannot: {name}", _not_itself) if use.misunderstood else (name, _itself)
    report.check("metro-issued", told, ITSELF, lambda: test(peer, use))
    if use.ungranted:
        return
    if use.refused:
        report.check("metro-issued", f"refused: {name}", INBOUND, lambda: _refused(peer, use))
    elif not use.unwritten:
        told, test = (f"Metro does not understand the answer: {name}", _unread) if use.unread else (name, _to_gateway)
        report.check("metro-issued", told, INBOUND, lambda: test(peer, use))
    if use.unproven:
        report.check("metro-issued", f"refused: the answer to {name}", OUTBOUND, lambda: _unproven(peer, use))
    else:
        told, test = (f"Metro does not understand: {name}", _stranger) if use.stranger else (name, _from_gateway)
        report.check("metro-issued", told, OUTBOUND, lambda: test(peer, use))


@contextlib.contextmanager
def _running(programs, folder):
    """Our gateways: one with the token service and our services, one in front of Metro's services."""
    keys, port, plain, outbound = programs.keys, free_port(), free_port(), free_port()
    address = f"https://127.0.0.1:{port}"
    peer = Peer(programs, folder, address, f"http://127.0.0.1:{plain}", f"http://127.0.0.1:{outbound}")
    used = [use for use in uses() if not use.ungranted]
    audiences = [AUDIENCE, NEXT, *(each for use in uses() for each in (peer.ours(use), at(programs, use)))]
    served = lambda tls: [
        service(use, peer.ours(use), f"{programs.services}/echo", programs.plain(), keys, folder, BY_THE_LETTER) for use in used if use.tls == tls
    ]
    own = [
        f'listen = "127.0.0.1:{port}"\n',
        f'[tls]\ncertificate = "{keys.certificate("server")}"\nkey = "{keys.key("server")}"\n',
        *(token_service(route, audiences, keys, folder, POLICIES, BY_THE_LETTER) for route in POLICIES),
        *served(True),
    ]
    # Where TLS protects what is encrypted besides, Metro's client damages what it has deciphered.
    others = [f'listen = "127.0.0.1:{plain}"\n', *served(False)]
    for use in uses():
        (folder / f"{use.path}.wsdl").write_bytes(peer.described(use))
    signed = f"{address}/signed"
    asking = [f'listen = "127.0.0.1:{outbound}"\n']
    asking += [
        issued_services.route(use, folder / f"{use.path}.wsdl", at(programs, use), signed, keys, folder, BY_THE_LETTER, use.ours)
        for use in used
        if not use.at_gateway
    ]
    with contextlib.ExitStack() as stack:
        for name, listening, sections in (("gateway", port, own), ("plain", plain, others), ("outbound", outbound, asking)):
            file = folder / f"{name}.toml"
            file.write_text("\n".join(sections), encoding="utf-8")
            command = [programs.soapstone, "gateway", "--config", file]
            stack.enter_context(server(name, command, [listening], folder / f"{name}.log"))
        yield peer


def _called(peer, use, address):
    """Metro's client calls there, and gets what the plain service answers."""
    words, said = peer.call(use, address), peer.saying()
    result = peer.metro.calling.job(*words)
    if result["exit"] != 0:
        raise Failure(f"Metro's client: {result['reason']}\nthe gateway said: {said()}")
    same_content(peer.metro.plain_answer(use.path), words[-1].read_bytes())


def _itself(peer, use):
    peer.serve(use)
    _called(peer, use, at(peer.metro, use))


def _not_itself(peer, use):
    """Metro's client and service do not understand each other, or the client has nothing to say. Where they do, the use is to say so."""
    try:
        _itself(peer, use)
    except Failure as failure:
        if use.misunderstood not in str(failure):
            raise
    else:
        raise Failure(f"expected that Metro does not understand itself: {use.misunderstood}")


def _to_gateway(peer, use):
    """Metro's client calls a service of ours."""
    _called(peer, use, peer.ours(use))


def _refused(peer, use):
    """Our gateway refuses what Metro's client sends, and its log has the reason."""
    said = peer.saying()
    result = peer.metro.calling.job(*peer.call(use, peer.ours(use)))
    if result["exit"] == 0 or not seen(lambda: f'cause="{use.refused}"' in said()):
        raise Failure(f"expected the reason {use.refused}, found {result}\nthe gateway said: {said()}")


def _unread(peer, use):
    """Our gateway accepts the call of Metro's client, which does not understand the answer. Where it does, the use is to say so."""
    said = peer.saying()
    result = peer.metro.calling.job(*peer.call(use, peer.ours(use)))
    if result["exit"] == 0 or use.unread not in str(result):
        raise Failure(f"expected {use.unread}, found {result}")
    if 'cause="' in said():
        raise Failure(f"expected a request that is accepted, the gateway said: {said()}")


def _asked(peer, use):
    return post(f"{peer.outbound}/{use.path}", enveloped(_request(use)), metro.ACTION)


def _from_gateway(peer, use):
    """A plain client calls a service of Metro's through our gateway."""
    said = peer.saying()
    try:
        answer = _asked(peer, use)
    except Failure as failure:
        raise Failure(f"{failure}\nthe gateway said: {said()}") from failure
    same_content(peer.metro.plain_answer(use.path), content(answer))


def _unproven(peer, use):
    """Our gateway refuses what Metro's service answers, and gives that reason."""
    said = peer.saying()
    with contextlib.suppress(Failure):
        _asked(peer, use)
    if not seen(lambda: f'cause="{use.unproven}"' in said()):
        raise Failure(f"expected the reason {use.unproven}, the gateway said: {said()}")


def _stranger(peer, use):
    """Metro's service does not understand our gateway. Where it does, the use is to say so."""
    try:
        said = _asked(peer, use).decode()
    except Failure as failure:
        said = str(failure)
    if use.stranger not in said:
        raise Failure(f"expected {use.stranger}, found {said}")
