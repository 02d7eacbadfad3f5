"""Short Bodies under encrypt-sign with CBC and certificates: CXF's and Metro's clients and services, and our gateways.

Our signature covers the key of short cipher text, which CXF takes and Metro does not. Theirs do not, so that their short
messages are refused unless an endpoint takes them.

The rule kept here: beside a cell that is refused is one that differs in our settings alone, and is accepted.
"""

import contextlib
import http.server
import re
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from xml.dom import minidom

from . import cxf, envelopes, metro, metro_policies
from .assertions import apart, asymmetric, both, symmetric, wss10, wss11
from .endpoints import Endpoint
from .keys import Keys
from .processes import Failure, free_port, seen

NAMESPACE = "urn:soapstone:interop:short"
ACTION = f"{NAMESPACE}:Say"
TINY = f'<s:a xmlns:s="{NAMESPACE}"/>'
LONG = f'<s:a xmlns:s="{NAMESPACE}">{"long enough " * 20}</s:a>'
# Contents of Bodies, by what an operation says of them.
BODIES = {"nothing": {"empty": ""}, "an element": {"tiny": TINY, "long": LONG}}
REASON = "short-cipher-text"
# Signatures that nobody on the way can read.
HIDDEN = "encrypted signature"
# A policy that has the key signed, in words that neither peer obeys.
KEY_NAMED = (
    '<sp:SignedElements xmlns:xenc="http://www.w3.org/2001/04/xmlenc#"><sp:XPath>//xenc:EncryptedKey</sp:XPath></sp:SignedElements>'
)
# What an endpoint file says of short cipher text.
STRICT = {}
ALLOWED = {"allow_short_cipher_text": True}
UNSIGNED = {**ALLOWED, "encryption": {"sign_session_key": False}}
SETTINGS = {"strict": STRICT, "allowed": ALLOWED, "unsigned": UNSIGNED}

# Seconds that CXF's client waits: the first call comes to programs that have not run yet.
PATIENCE = 60

KEY_ID = re.compile(rb'<(?:\w+:)?(?:EncryptedKey|DerivedKeyToken)\b[^>]*?\b(?:wsu:)?Id="([^"]*)"')
CONTRACT = """\
<definitions xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:tns="{namespace}" targetNamespace="{namespace}">
<types><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="{namespace}"><xs:element name="a"/></xs:schema></types>
<message name="Said">{part}</message><message name="Answered">{part}</message>
<portType name="Short"><operation name="Say"><input message="tns:Said"/><output message="tns:Answered"/></operation></portType>
{ports}</definitions>
"""
PORT = """\
<binding name="ShortSoap{soap}" type="tns:Short" xmlns:s="http://schemas.xmlsoap.org/wsdl/{prefix}/">
<s:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>
<operation name="Say"><s:operation soapAction="{action}"/><input><s:body use="literal"/></input><output><s:body use="literal"/></output></operation>
</binding>
<service name="ShortService"><port name="ShortSoap{soap}Port" binding="tns:ShortSoap{soap}" xmlns:s="http://schemas.xmlsoap.org/wsdl/{prefix}/">
<s:address location="http://127.0.0.1/"/></port></service>
"""


@dataclass
class Cell(metro_policies.Cell):
    """One policy, and which Bodies go under it."""

    bodies: str = "an element"
    # Whether somebody on the way may choose the key of its cipher text.
    risky: bool = True

    def wsdl(self, plain=None, own=""):
        """The contract with the cell's policy."""
        part = '<part name="said" element="tns:a"/>' if self.bodies == "an element" else ""
        port = PORT.format(soap=self.soap, prefix="soap" if self.soap == "11" else "soap12", action=ACTION)
        contract = CONTRACT.format(namespace=NAMESPACE, part=part, ports=port)
        return super().wsdl(minidom.parseString(contract), own)

    def enveloped(self, body):
        """A plain envelope with this Body."""
        return envelopes.holding(BODIES[self.bodies][body], envelopes.SOAP12 if self.soap == "12" else envelopes.SOAP11)

    def names(self):
        """The options that name the port."""
        return ["--service", f"{{{NAMESPACE}}}ShortService", "--port", f"{{{NAMESPACE}}}ShortSoap{self.soap}Port", "--whole", "true"]


def cells(peer):
    """The policies that a peer knows."""
    order = "<sp:EncryptBeforeSigning/>"
    bindings = [(suite, asymmetric(suite, options=order)) for suite in ("Basic256", "Basic128", "TripleDes")]
    if peer == "cxf":
        bindings.append((f"Basic256, {HIDDEN}", asymmetric("Basic256", options=f"{order}<sp:EncryptSignature/>")))
        derived = apart("Basic256", recipient="<sp:RequireDerivedKeys/>", options=order)
        bindings.append(("Basic256, derived keys for requests", derived))
    for name, binding in bindings:
        for soap, version in (("11", "1.1"), ("12", "1.2")):
            for bodies in BODIES:
                yield Cell(f"encrypt-sign {name}, {bodies}, SOAP {version}", binding + wss10(), both(), soap=soap, bodies=bodies)
    # Where the signature is over the plain text, or the key makes it.
    spared = {"sign-encrypt": asymmetric("Basic256") + wss10(), "symmetric encrypt-sign": symmetric("Basic256", options=order) + wss11()}
    for name, policy in spared.items():
        for bodies in BODIES:
            yield Cell(f"{name} Basic256, {bodies}", policy, both(), bodies=bodies, risky=False)


class Cxf:
    """CXF's programs, with whole envelopes."""

    name = "cxf"
    takes_signed_keys = True
    fails_to_sign = None

    def __init__(self, peer):
        self.peer = peer

    def at(self, cell):
        """Where its service of a cell is."""
        return f"{self.peer.address}/{cell.path}"

    def serve(self, cell):
        """Serves a cell."""
        self.peer.serving.must(
            "serve", "--address", self.at(cell), "--wsdl", self._wsdl(cell), "--record", self.peer.folder / "recorded", *cell.names(),
            *cxf.security(self.peer.keys, "server", "client"),
        )  # fmt: skip

    def call(self, cell, address, request, answer):
        """Its client calls; what came of it."""
        return self.peer.calling.job(
            "call", "--address", address, "--wsdl", self._wsdl(cell), *cell.names(), "--operation", f"{{{NAMESPACE}}}Say",
            *cxf.security(self.peer.keys, "client", "server"), "--timeout", PATIENCE, request, answer,
        )  # fmt: skip

    def recorded(self, cell):
        """The folder with what its service got and sent."""
        return self.peer.folder / "recorded" / cell.path

    def _wsdl(self, cell):
        path = self.peer.folder / f"{cell.path}.wsdl"
        path.write_bytes(cell.wsdl())
        return path


class Metro:
    """Metro's programs, with whole envelopes."""

    name = "metro"
    # Its reader writes no EncryptedKey again, whose digest it would need
    # (`UnsupportedOperationException`).
    takes_signed_keys = False
    # What it says of a key that an XPath names.
    fails_to_sign = "Error in Securing Outbound Message"

    def __init__(self, peer):
        self.peer = peer

    def at(self, cell):
        """Where its service of a cell is."""
        return self.peer.at(cell)

    def serve(self, cell):
        """Serves a cell."""
        self.peer.serving.must(
            "serve", "--address", self.at(cell), "--wsdl", self.peer.configuration(cell, "server", "client"), *cell.names(),
            "--record", self.recorded(cell), "--tls", metro.store(self.peer.keys, "server"),
        )  # fmt: skip

    def call(self, cell, address, request, answer):
        """Its client calls; what came of it."""
        return self.peer.calling.job(
            "call", "--address", address, "--wsdl", self.peer.wsdl(cell), *cell.names(), "--action", ACTION,
            "--configuration", self.peer.configuration(cell, "client", "server"), "--trust", metro.trusted(self.peer.keys, "server"),
            request, answer,
        )  # fmt: skip

    def recorded(self, cell):
        """The folder with what its service got and sent."""
        return self.peer.recorded(cell)


def run(report, soapstone, _keys, folder):
    """Every cell in three directions."""
    # Stores of Metro's stand beside the keys, and its other peers make some of their own at once.
    keys = Keys(Path(folder) / "keys")
    with cxf.running(soapstone, keys, Path(folder) / "cxf") as peer:
        _run(report, peer, Cxf(peer))
    with metro.running(soapstone, keys, Path(folder) / "metro") as peer:
        _run(report, peer, Metro(peer))


def _run(report, peer, theirs):
    known = list(cells(theirs.name))
    for cell in known:
        theirs.serve(cell)
        for body in BODIES[cell.bodies]:
            report.check(theirs.name, f"{cell.name}: {body}", f"{theirs.name} -> {theirs.name}", lambda: _called(peer, theirs, cell, body, theirs.at(cell)))
    with _mirror() as address, _gateway(peer, known, "inbound", lambda _: address) as ours:
        for cell in known:
            for body in BODIES[cell.bodies]:
                _inbound(report, peer, theirs, ours, cell, body)
        cell = next(cell for cell in known if cell.risky and cell.bodies == "an element")
        named = replace(cell, name=f"{cell.name}, the key named by an XPath", message=cell.message + KEY_NAMED)
        address = f"{ours.address}/{cell.path}/strict"
        check = lambda: _left_out(peer, theirs, ours, named, address)
        report.check(theirs.name, f"refused: {named.name}", f"{theirs.name} -> soapstone", check)
    with _gateway(peer, known, "outbound", theirs.at) as ours:
        for cell in known:
            for body in BODIES[cell.bodies]:
                _outbound(report, theirs, ours, cell, body)


def _is_short(cell, body):
    return cell.risky and body != "long"


def _settings(cell, body):
    return SETTINGS if _is_short(cell, body) else {"strict": STRICT}


def _inbound(report, peer, theirs, ours, cell, body):
    way = f"{theirs.name} -> soapstone"
    for setting in _settings(cell, body):
        name = f"{cell.name}: {body}, {setting}"
        address = f"{ours.address}/{cell.path}/{setting}"
        if _is_short(cell, body) and setting == "strict":
            report.check(theirs.name, f"refused: {name}", way, lambda: _refused(peer, theirs, ours, cell, body, address))
        elif setting == "allowed" and not theirs.takes_signed_keys:
            check = lambda: _unread(peer, theirs, ours, cell, body, address)
            report.check(theirs.name, f"Metro does not understand the answer: {name}", way, check)
        else:
            report.check(theirs.name, name, way, lambda: ours.explain(lambda: _called(peer, theirs, cell, body, address)))


def _outbound(report, theirs, ours, cell, body):
    way = f"soapstone -> {theirs.name}"
    for setting in _settings(cell, body):
        name = f"{cell.name}: {body}, {setting}"
        address = f"{ours.address}/{cell.path}/{setting}"
        signs_key = _is_short(cell, body) and setting != "unsigned"
        if signs_key and not theirs.takes_signed_keys:
            check = lambda: _misunderstood(ours, cell, body, address)
            report.check(theirs.name, f"Metro does not understand: {name}", way, check)
        elif _is_short(cell, body) and setting == "strict":
            check = lambda: _answer_refused(theirs, ours, cell, body, address)
            report.check(theirs.name, f"refused: the answer to {name}", way, check)
        else:
            check = lambda: _answered(theirs, cell, body, address, signs_key)
            report.check(theirs.name, name, way, lambda: ours.explain(check))


def _call(peer, theirs, cell, body, address):
    request, answer = peer.folder / "short.request.xml", peer.folder / "short.answer.xml"
    request.write_bytes(cell.enveloped(body))
    return theirs.call(cell, address, request, answer), answer


def _called(peer, theirs, cell, body, address):
    """Their client gets the Body back that it sent."""
    result, answer = _call(peer, theirs, cell, body, address)
    if result["exit"] != 0:
        raise Failure(f"their client: {result['reason']}")
    envelopes.same_body(cell.enveloped(body), answer.read_bytes())


def _refused(peer, theirs, ours, cell, body, address):
    """Our gateway refuses what their client sends."""
    before = len(ours.warnings())
    result, _ = _call(peer, theirs, cell, body, address)
    said = ours.says(REASON, before)
    if result["exit"] == 0 or f'cause="{REASON}"' not in said:
        raise Failure(f"expected the reason {REASON}, found {result}\nthe gateway said: {said or 'nothing'}")


def _unread(peer, theirs, ours, cell, body, address):
    """Our gateway takes what their client sends, which does not understand the answer. Where it does, the peer is to say so."""
    before = len(ours.warnings())
    result, _ = _call(peer, theirs, cell, body, address)
    if result["exit"] == 0 or "UnsupportedOperationException" not in result["reason"]:
        raise Failure(f"expected that their client does not understand the answer, found {result}")
    if said := ours.warnings()[before:]:
        raise Failure(f"expected a request that is accepted, found {said}")


def _misunderstood(ours, cell, body, address):
    """Their service does not understand our message, and our gateway names the setting. Where it does, the peer is to say so."""
    before = len(ours.warnings())
    try:
        cxf.post(address, cell.enveloped(body), ACTION)
    except Failure:
        is_told = lambda: "sign_session_key = false" in "\n".join(ours.warnings()[before:])
        if not seen(is_told):
            raise Failure(f"expected the setting to be named, the gateway said: {ours.warnings()[before:]}") from None
    else:
        raise Failure("expected that their service does not understand the message")


def _left_out(peer, theirs, ours, cell, address):
    """Their client does not sign the key that an XPath names: it sends nothing, or what our gateway refuses."""
    if theirs.fails_to_sign is None:
        return _refused(peer, theirs, ours, cell, "tiny", address)
    result, _ = _call(peer, theirs, cell, "tiny", address)
    if result["exit"] == 0 or theirs.fails_to_sign not in result["reason"]:
        raise Failure(f"expected {theirs.fails_to_sign}, found {result}")
    return None


def _answered(theirs, cell, body, address, signs_key):
    """Their service takes our message, and our gateway its answer."""
    envelopes.same_body(cell.enveloped(body), cxf.post(address, cell.enveloped(body), ACTION))
    _has_signed_keys(theirs, cell, signs_key)


def _answer_refused(theirs, ours, cell, body, address):
    """Their service takes our message, and our gateway refuses its answer."""
    before = len(ours.warnings())
    try:
        cxf.post(address, cell.enveloped(body), ACTION)
    except Failure:
        said = ours.says(REASON, before)
    else:
        raise Failure("expected our gateway to refuse the answer")
    if f'cause="{REASON}"' not in said:
        raise Failure(f"expected the reason {REASON}, the gateway said: {said or 'nothing'}")
    _has_signed_keys(theirs, cell, True)


def _has_signed_keys(theirs, cell, expected):
    """Fails unless the signature of the last request that their service got covers its keys, or does not, as expected."""
    if HIDDEN in cell.name:
        return
    numbered = {int(path.name.split(".")[0]): path for path in theirs.recorded(cell).glob("*.request.xml")}
    request = numbered[max(numbered)].read_bytes()
    keys = KEY_ID.findall(request)
    signed = {key: b'URI="#' + key + b'"' in request.partition(b"SignedInfo")[2].partition(b"SignedInfo")[0] for key in keys}
    if expected != (bool(keys) and all(signed.values())):
        raise Failure(f"expected signed keys: {expected}, found {signed} in {request.decode()}")


@contextlib.contextmanager
def _gateway(peer, known, direction, backend):
    """Our gateway with a route for each cell and each setting, for as long as the block runs."""
    port = free_port()
    sections = [f'listen = "127.0.0.1:{port}"\n']
    ours, theirs = ("server", "client") if direction == "inbound" else ("client", "server")
    for cell in known:
        policy = peer.folder / f"{cell.path}.ours.wsdl"
        policy.write_bytes(cell.wsdl())
        for name, setting in (SETTINGS if cell.risky else {"strict": STRICT}).items():
            endpoint = Endpoint(policy=str(policy), **setting).ours(peer.keys, ours).encrypt_to(peer.keys, theirs)
            tables = endpoint.trust(peer.keys.ca).pin(peer.keys.certificate(theirs)).inline()
            route = f'[[routes]]\npath = "/{cell.path}/{name}"\nbackend = "{backend(cell)}"\n[routes.{direction}]\n{tables}'
            sections.append(route)
    with cxf.configured(peer, f"short.{direction}", port, sections) as running:
        yield running


class _Mirroring(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        """Answers with the envelope that came."""
        envelope = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", self.headers["Content-Type"])
        self.send_header("Content-Length", str(len(envelope)))
        self.end_headers()
        self.wfile.write(envelope)

    def log_message(self, *_):
        """Says nothing."""


@contextlib.contextmanager
def _mirror():
    """The address of a plain service that answers with what it gets, for as long as the block runs."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Mirroring)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
