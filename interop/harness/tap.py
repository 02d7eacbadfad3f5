"""A server on the way that passes every call on, and keeps the bytes of both directions.

The rule kept here: no byte of a body is changed.
"""

import contextlib
import http.client
import http.server
import threading
import urllib.parse
from dataclasses import dataclass, field

# A WSDL says its address by the host that it was asked at.
KEPT = ("Host", "Content-Type", "SOAPAction")


@dataclass
class Passed:
    """Where the server is, and the messages that passed: bodies of POST requests, and the answers to them."""

    address: str
    requests: list = field(default_factory=list)
    answers: list = field(default_factory=list)


class _Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """A description."""
        self._pass(None)

    def do_POST(self):
        """One call."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.passed.requests.append(body)
        self._pass(body)

    def _pass(self, body):
        said = {name: self.headers[name] for name in KEPT if name in self.headers}
        connection = http.client.HTTPConnection(self.server.next, timeout=60)
        try:
            path = self.server.prefix + self.path
            # A path of its own ends without a slash.
            connection.request(self.command, path.rstrip("/") or "/", body, said)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if body is not None:
            # Kept before it goes on, so that who got it finds it here.
            self.server.passed.answers.append(text)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "text/xml"))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        """Says nothing."""


@contextlib.contextmanager
def before(address):
    """A server in front of an address, for as long as the block runs. What follows its own address follows that one, too."""
    to = urllib.parse.urlsplit(address)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Passing)
    server.daemon_threads = True
    server.next, server.prefix = to.netloc, to.path
    server.passed = Passed(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.passed
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
