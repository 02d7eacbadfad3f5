"""Packages of WSS4J through our gateways, requests and answers, over HTTP on loopback.

WSS4J is the partner: as a client in front of an inbound gateway, and as a service behind an outbound one. The plain side
is a reader and writer of packages of its own (`attachments.py`).
"""

import contextlib
import http.server
import threading
import urllib.error
import urllib.request
from pathlib import Path

from . import attachments, envelopes
from .endpoints import Endpoint
from .processes import Failure, free_port, server


def run(report, soapstone, keys, folder, wss4j):
    """Every case of `attachments.py`, on both sides of a call."""
    for number, (mechanism, coverage, soap) in enumerate(attachments.cases()):
        version = "1.2" if soap == envelopes.SOAP12 else "1.1"
        name = f"packages through a gateway, {mechanism}, {coverage}, SOAP {version}"
        room = Path(folder) / f"packages.{number}"
        room.mkdir(parents=True)
        case = _Case(mechanism, coverage, soap, keys, room, wss4j, soapstone)
        # The program of WSS4J wants a Timestamp, and answers that nobody signs have none.
        if mechanism != "encrypt":
            report.check("wss4j", name, "wss4j -> gateway -> service", case.inbound)
        report.check("wss4j", name, "client -> gateway -> wss4j", case.outbound)


class _Case:
    def __init__(self, mechanism, coverage, soap, keys, folder, wss4j, soapstone):
        self.mechanism, self.coverage, self.soap = mechanism, coverage, soap
        self.keys, self.folder, self.wss4j, self.soapstone = keys, folder, wss4j, soapstone
        self.count = 0

    def inbound(self):
        """WSS4J's request reaches the plain service, and the answer reaches WSS4J."""
        seen = []

        def service(kind, body):
            root, parts = attachments.taken_apart(_file(kind, body))
            seen.append((root, parts))
            return attachments.package(self.soap, envelopes.books(3, self.soap), attachments.PARTS)

        with self._between("inbound", service) as address:
            request = self._secured("client", envelopes.books(5, self.soap))
            status, kind, body = _post(address, *_head_and_body(request))
            if status != 200 or len(seen) != 1:
                raise Failure(f"expected 200 and one request at the service, found {status} and {len(seen)}: {body[:500]}")
            envelopes.same_body(envelopes.books(5, self.soap), seen[0][0])
            _same(seen[0][1], attachments.CANONICAL)
            root, parts = self._opened("client", _file(kind, body))
            envelopes.same_body(envelopes.books(3, self.soap), root)
            # WSS4J hands out what it deciphered, not what it digested.
            _same(parts, {one: text for one, _, text in attachments.PARTS})
            root, parts = attachments.taken_apart(self._secured("client", envelopes.books(5, self.soap)))
            more = ("more@x", {"Content-Type": "text/plain"}, b"more")
            for changed in (parts[:-1], [*parts, more]):
                attacked = attachments.package(self.soap, root, changed)
                status, _, _ = _post(address, *_head_and_body(attacked))
                if status == 200 or len(seen) != 1:
                    raise Failure(f"expected a changed package to be refused, found {status}, {len(seen)} at the service")

    def outbound(self):
        """A plain request reaches WSS4J, and WSS4J's answer reaches the plain client."""
        seen = []

        def service(kind, body):
            seen.append(self._opened("server", _file(kind, body)))
            return self._secured("server", envelopes.books(3, self.soap))

        with self._between("outbound", service) as address:
            request = attachments.package(self.soap, envelopes.books(5, self.soap), attachments.PARTS)
            status, kind, body = _post(address, *_head_and_body(request))
            if status != 200 or len(seen) != 1:
                raise Failure(f"expected 200 and one request at the service, found {status} and {len(seen)}: {body[:500]}")
            envelopes.same_body(envelopes.books(5, self.soap), seen[0][0])
            _same(seen[0][1], {one: text for one, _, text in attachments.PARTS})
            root, parts = attachments.taken_apart(_file(kind, body))
            envelopes.same_body(envelopes.books(3, self.soap), root)
            plain = self.mechanism == "encrypt"
            _same(parts, {one: text for one, _, text in attachments.PARTS} if plain else attachments.CANONICAL)

    @contextlib.contextmanager
    def _between(self, direction, service):
        """The address of a gateway in front of a service that answers as the function says."""
        ours, theirs = ("server", "client") if direction == "inbound" else ("client", "server")
        said = {"signed": self.coverage} if self.mechanism != "encrypt" else {}
        said |= {"encrypted": self.coverage} if self.mechanism != "sign" else {}
        tables = Endpoint(self.mechanism, suite=attachments.SUITE, attachments=said)
        tables = tables.ours(self.keys, ours).encrypt_to(self.keys, theirs).trust(self.keys.ca)
        listener = _serving(service)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        port = free_port()
        file = self.folder / f"{direction}.toml"
        file.write_text(
            f'listen = "127.0.0.1:{port}"\n[[routes]]\npath = "/books"\n'
            f'backend = "http://127.0.0.1:{listener.server_port}/books"\n[routes.{direction}]\n{tables.inline()}',
            encoding="utf-8",
        )
        command = [self.soapstone, "gateway", "--config", file]
        try:
            with server(direction, command, [port], self.folder / f"{direction}.log"):
                yield f"http://127.0.0.1:{port}/books"
        finally:
            listener.shutdown()
            listener.server_close()

    def _room(self):
        self.count += 1
        room = self.folder / f"call.{self.count}"
        room.mkdir()
        return room

    def _secured(self, who, root):
        """A package that WSS4J secures for the other one."""
        room, other = self._room(), {"client": "server", "server": "client"}[who]
        options = ["--mechanism", self.mechanism, "--suite", attachments.SUITE]
        options += ["--key", self.keys.key(who), "--cert", self.keys.certificate(who)]
        options += ["--peer", self.keys.certificate(other)]
        if self.mechanism != "encrypt":
            options += ["--attachments-signed", self.coverage]
        if self.mechanism != "sign":
            options += ["--attachments-encrypted", self.coverage]
        plain, secured = room / "plain", room / "secured"
        plain.write_bytes(root)
        given, out = attachments.write_parts(room / "parts", attachments.PARTS), room / "parts.secured"
        self.wss4j.must("secure", *options, "--attachments", given, "--attachments-out", out, plain, secured)
        return attachments.package(self.soap, secured.read_bytes(), attachments.read_parts(out))

    def _opened(self, who, file):
        """The root and the parts of a package, as WSS4J opens them."""
        room = self._room()
        options = ["--mechanism", self.mechanism, "--suite", attachments.SUITE, "--ca", self.keys.ca]
        options += ["--key", self.keys.key(who), "--cert", self.keys.certificate(who)]
        text, parts = attachments.taken_apart(file)
        root, opened, out = room / "root", room / "opened", room / "parts.opened"
        root.write_bytes(text)
        given = attachments.write_parts(room / "parts", parts)
        self.wss4j.must("open", *options, "--attachments", given, "--attachments-out", out, root, opened)
        return opened.read_bytes(), attachments.read_parts(out)


def _same(parts, expected):
    found = {identifier: content for identifier, _, content in parts}
    if found != expected:
        raise Failure(f"expected the attachments {expected}, found {found}")


def _file(kind, body):
    """A package of HTTP as a file with its header."""
    return f"Content-Type: {kind}\r\n\r\n".encode() + body.removeprefix(b"\r\n")


def _head_and_body(file):
    """The `Content-Type` of a package, and its parts."""
    header, _, body = file.partition(b"\r\n\r\n")
    return header.decode().removeprefix("Content-Type: "), body


def _post(address, kind, body):
    headers = {"Content-Type": kind, "SOAPAction": '""'}
    request = urllib.request.Request(address, data=body, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers["Content-Type"], refused.read()


def _serving(answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kind, body = _head_and_body(answer(self.headers["Content-Type"], body))
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
