"""Nodes on the way: CXF as one of them, read by WSS4J's interceptors, and as the end behind one."""

import contextlib

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


def _node(peer, backend, actor=ACTOR):
    """Our gateway as a node."""
    port = free_port()
    endpoint = Endpoint("sign", suite=SUITE).ours(peer.keys, "server").trust(peer.keys.ca)
    route = f'[[routes]]\npath = "/echo"\nbackend = "{backend}"\n[routes.inbound]\nrole = "{actor}"\n{endpoint.inline()}'
    return configured(peer, f"nodes.node.{port}", port, [f'listen = "127.0.0.1:{port}"\n', route])


@contextlib.contextmanager
def _their_node(peer, backend, actor=ACTOR):
    """A CXF program as a node."""
    address = f"http://127.0.0.1:{free_port()}/hop"
    peer.serving.must("hop", "--address", address, "--next", backend, "--actor", actor, *security(peer.keys, "server", "client"))
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
