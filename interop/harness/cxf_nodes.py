"""Nodes on the way: CXF as one of them, read by WSS4J's interceptors, and as the end behind one."""

import contextlib
import http.server
import threading
import urllib.error
import urllib.request

from .cxf import REQUESTS, configured, content, enveloped, gateway, post, running, same_content, security
from .endpoints import Endpoint
from .policies import cells
from .processes import Failure, free_port, must

ACTOR = "urn:soapstone:interop:hop"
SUITE = "Basic256Sha256"
CELL = f"sign-encrypt {SUITE}"


def run(report, soapstone, keys, folder):
    """CXF as the end, as a node, and as both."""
    cell = next(cell for cell in cells() if cell.name == CELL)
    with running(soapstone, keys, folder) as peer:
        peer.publish(cell, "echo")
        _cells(report, peer, cell, peer.at(cell, "echo"))


def _cells(report, peer, cell, end):
    for name, way, test in (
        ("over our node to the end", "soapstone -> cxf", _over_ours),
        ("the header of a node is still there", "soapstone -> cxf", _to_the_end),
        ("over CXF's node to our end", "soapstone -> cxf -> soapstone", _over_theirs),
        ("over CXF's node and ours to the end", "soapstone -> cxf -> soapstone -> cxf", _over_both),
        ("refused: changed before the node", "soapstone -> cxf", _changed),
        ("our node reads answers of CXF's node", "cxf -> soapstone", _answered),
        ("refused: an answer that is not for our node", "cxf -> soapstone", _not_answered),
    ):
        report.check("nodes", name, way, lambda: test(peer, cell, end))


def _client(peer, cell, backend, *actors):
    """Our gateway that secures requests for the end, and for each of these nodes."""
    port = free_port()
    endpoint = Endpoint(policy=str(peer.described(cell, "echo"))).ours(peer.keys, "client").encrypt_to(peer.keys, "server")
    endpoint.trust(peer.keys.ca).pin(peer.keys.certificate("server"))
    endpoint.tables["recipients"] = [
        {"actor": actor, "mechanism": "sign", "suite": SUITE, "signed": ["Timestamp", "Body"], "key_reference": "direct"}
        for actor in actors
    ]
    route = f'[[routes]]\npath = "/echo"\nbackend = "{backend}"\n[routes.outbound]\n{endpoint.inline()}'
    return configured(peer, f"nodes.client.{port}", port, [f'listen = "127.0.0.1:{port}"\n', route])


def _node(peer, backend, actor=ACTOR, answers=""):
    """Our gateway as a node."""
    port = free_port()
    endpoint = Endpoint("sign", suite=SUITE).ours(peer.keys, "server").trust(peer.keys.ca)
    route = f'[[routes]]\npath = "/echo"\nbackend = "{backend}"\n[routes.inbound]\nrole = "{actor}"\n{answers}{endpoint.inline()}'
    return configured(peer, f"nodes.node.{port}", port, [f'listen = "127.0.0.1:{port}"\n', route])


@contextlib.contextmanager
def _their_node(peer, backend, actor=ACTOR, answers_for=None):
    """A CXF program as a node. It signs answers for an actor, where one is named."""
    address = f"http://127.0.0.1:{free_port()}/hop"
    signing = ["--answers-actor", answers_for] if answers_for else []
    words = ["--address", address, "--next", backend, "--actor", actor, *signing]
    peer.serving.must("hop", *words, *security(peer.keys, "server", "client"))
    try:
        yield address
    finally:
        peer.serving.must("withdraw", "--address", address)


def _echoed(peer, address):
    same_content(peer.plain_answer("echo"), content(post(f"{address}/echo", enveloped(REQUESTS["echo"]))))


def _over_ours(peer, cell, end):
    with _node(peer, end) as node, _client(peer, cell, f"{node.address}/echo", ACTOR) as client:
        node.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))


def _to_the_end(peer, cell, end):
    with _client(peer, cell, end, ACTOR) as client:
        client.explain(lambda: _echoed(peer, client.address))


def _over_theirs(peer, cell, end):
    with (
        gateway(peer, cell, "inbound") as ours,
        _their_node(peer, f"{ours.address}/echo") as node,
        _client(peer, cell, node, ACTOR) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))


def _over_both(peer, cell, end):
    second = f"{ACTOR}:second"
    with (
        _node(peer, end, second) as ours,
        _their_node(peer, f"{ours.address}/echo") as theirs,
        _client(peer, cell, theirs, ACTOR, second) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))


def _changed(peer, cell, end):
    """CXF's node refuses a message whose Body is another one than was signed for it."""
    endpoint = Endpoint("sign", suite=SUITE, actor=ACTOR, key_reference="direct").ours(peer.keys, "client")
    file = endpoint.write(peer.folder)
    plain = peer.folder / "nodes.request.xml"
    plain.write_bytes(enveloped(REQUESTS["echo"]))
    signed = peer.folder / "nodes.signed.xml"
    must(peer.soapstone, "secure", "--config", file, plain, "-o", signed)
    text = signed.read_bytes()
    with _their_node(peer, f"{peer.services}/echo") as node:
        same_content(peer.plain_answer("echo"), content(post(node, text)))
        changed = text.replace("Grüße".encode(), b"Greetings")
        if changed == text:
            raise Failure("expected the text in the clear")
        try:
            post(node, changed)
        except Failure:
            return
    raise Failure("expected CXF's node to refuse a changed Body")


BACK = f"{ACTOR}:back"
READS = f'answers = {{ role = "{BACK}", mechanism = "sign", suite = "Basic256GCM", signed = ["Body"], timestamp = false }}\n'


class _Tap(http.server.BaseHTTPRequestHandler):
    """Passes a call on, and keeps its answer."""

    def do_POST(self):
        """One call."""
        octets = self.rfile.read(int(self.headers["Content-Length"]))
        said = {name: self.headers[name] for name in ("Content-Type", "SOAPAction") if name in self.headers}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.server.next, octets, said)) as answer:
                status, media_type, body = answer.status, answer.headers["Content-Type"], answer.read()
        except urllib.error.HTTPError as error:
            status, media_type, body = error.code, error.headers["Content-Type"], error.read()
        self.server.answers.append(body)
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing."""


@contextlib.contextmanager
def _tap(address):
    """A server in front of an address; where it is, and the answers that passed."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Tap)
    server.next, server.answers = address, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/echo", server.answers
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answered(peer, cell, end):
    """CXF's node signs the end's answer for ours, which takes that header out and no other byte."""
    second = f"{ACTOR}:second"
    with (
        _their_node(peer, end, second, BACK) as theirs,
        _tap(theirs) as (before, sent),
        _node(peer, before, ACTOR, READS) as ours,
        _tap(f"{ours.address}/echo") as (behind, passed),
        _client(peer, cell, behind, ACTOR, second) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))
        start = sent[0].index(f'actor="{BACK}"'.encode())
        start = sent[0].rindex(b"<wsse:Security", 0, start)
        end_of_header = sent[0].index(b"</wsse:Security>", start) + len(b"</wsse:Security>")
        expected = sent[0][:start] + sent[0][end_of_header:]
        if passed[0] != expected:
            raise Failure(f"expected the answer without the node's header\n{expected[:600]!r}\nfound\n{passed[0][:600]!r}")


def _not_answered(peer, cell, end):
    """An answer without a header for our node reaches no client."""
    second = f"{ACTOR}:second"
    with (
        _their_node(peer, end, second) as theirs,
        _node(peer, theirs, ACTOR, READS) as ours,
        _client(peer, cell, f"{ours.address}/echo", ACTOR, second) as client,
    ):
        try:
            _echoed(peer, client.address)
        except Failure:
            return
    raise Failure("expected our node to refuse an answer that is not for it")
