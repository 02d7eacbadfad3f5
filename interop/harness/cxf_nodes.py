"""Nodes on the way: CXF as one of them, read by WSS4J's interceptors, and as the end behind one.

The bytes between signature and end are compared, as the client sent them and as the end received them.
"""

import contextlib
import xml.etree.ElementTree as ElementTree

from . import tap
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
    """Our node takes its header out of the request, and no other byte; the answer comes back as it was."""
    with (
        tap.before(end) as received,
        _node(peer, received.address) as node,
        tap.before(f"{node.address}/echo") as sent,
        _client(peer, cell, sent.address, ACTOR) as client,
    ):
        node.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))
        _same_bytes(_without(sent.requests[0], ACTOR), received.requests[0])
        _same_bytes(received.answers[0], sent.answers[0])


def _to_the_end(peer, cell, end):
    with _client(peer, cell, end, ACTOR) as client:
        client.explain(lambda: _echoed(peer, client.address))


def _over_theirs(peer, cell, end):
    """CXF's node writes its message anew: what the client signed for the end arrives with the same canonical bytes."""
    with (
        gateway(peer, cell, "inbound") as ours,
        tap.before(f"{ours.address}/echo") as received,
        _their_node(peer, received.address) as node,
        tap.before(node) as sent,
        _client(peer, cell, sent.address, ACTOR) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))
        _same_canonical(_without(sent.requests[0], ACTOR), received.requests[0])
        _same_canonical(received.answers[0], sent.answers[0])


def _over_both(peer, cell, end):
    """Over both kinds, one after the other."""
    second = f"{ACTOR}:second"
    with (
        tap.before(end) as received,
        _node(peer, received.address, second) as ours,
        tap.before(f"{ours.address}/echo") as between,
        _their_node(peer, between.address) as theirs,
        tap.before(theirs) as sent,
        _client(peer, cell, sent.address, ACTOR, second) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))
        _same_canonical(_without(sent.requests[0], ACTOR), between.requests[0])
        _same_bytes(_without(between.requests[0], second), received.requests[0])
        _same_bytes(received.answers[0], between.answers[0])
        _same_canonical(between.answers[0], sent.answers[0])


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


def _without(message, actor):
    """The bytes of a message without the Security header of an actor."""
    at = message.index(f'actor="{actor}"'.encode())
    start = message.rindex(b"<wsse:Security ", 0, at)
    end = message.index(b"</wsse:Security>", at) + len(b"</wsse:Security>")
    return message[:start] + message[end:]


def _same_bytes(expected, found):
    if expected != found:
        raise Failure(f"expected the bytes\n{expected[:600]!r}\nfound\n{found[:600]!r}")


def _same_canonical(expected, found):
    """CXF's node parses messages and writes them anew, with other tags for empty elements: canonical bytes are those that are signed."""
    expected, found = (ElementTree.canonicalize(message).encode() for message in (expected, found))
    _same_bytes(expected, found)


def _answered(peer, cell, end):
    """CXF's node signs the end's answer for ours, which takes that header out and no other byte."""
    second = f"{ACTOR}:second"
    with (
        _their_node(peer, end, second, BACK) as theirs,
        tap.before(theirs) as sent,
        _node(peer, sent.address, ACTOR, READS) as ours,
        tap.before(f"{ours.address}/echo") as passed,
        _client(peer, cell, passed.address, ACTOR, second) as client,
    ):
        ours.explain(lambda: client.explain(lambda: _echoed(peer, client.address)))
        _same_bytes(_without(sent.answers[0], BACK), passed.answers[0])


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
