"""Assertions that the token service of CXF 3.5.10 makes for our gateway, which shows them to a service; and ours for CXF's client and services.

A plain request goes to an outbound gateway. It asks the token service, and sends the request on to an inbound gateway
that accepts assertions of that issuer alone.
"""

import contextlib
import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

from . import envelopes, issued_services, token_requests
from .endpoints import Endpoint
from .installing import INTEROP
from .processes import Failure, free_port, seen, server

JAR = INTEROP / "sts" / "target" / "sts-peer.jar"
ISSUER, AUDIENCE = "https://sts.example", "https://books.example"
VERSIONS = ("2.0", "1.1")
CONFIRMATIONS = ("bearer", "holder-of-key")
SUITE = "Basic256Sha256+RsaSha256"
# What a symmetric key is made of. CXF 3.5.10 wipes its own entropy before it tells it: a key of
# zeros.
ENTROPY = {"both": "entropy of both", "client": "entropy of the client", "token-service": "entropy of the service"}
TOLD = ("both", "client")
ASSERTION = re.compile(rb"<(\w+):Assertion\b.*</\1:Assertion>", re.DOTALL)


class _Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it got, and keeps the last of it."""

    last = b""

    def do_POST(self):  # noqa: N802, the name that http.server calls
        """One request."""
        type(self).last = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", self.headers["Content-Type"])
        self.send_header("Content-Length", str(len(self.last)))
        self.end_headers()
        self.wfile.write(self.last)

    def log_message(self, *_):
        """Says nothing."""


class Case:
    """One version of SAML, and one confirmation. CXF's provider speaks WS-Trust 1.3 alone."""

    def __init__(self, version, confirmation, user=None, entropy=None):
        self.version, self.confirmation, self.user, self.entropy = version, confirmation, user, entropy
        self.name = "-".join(filter(None, (f"saml{version}", confirmation, user, entropy)))

    def __str__(self):
        key = "PublicKey" if self.confirmation == "holder-of-key" else "Bearer"
        key = f"SymmetricKey, {ENTROPY[self.entropy]}" if self.entropy else key
        return f"SAML {self.version}, {key}{', ' + self.user if self.user else ''}"

    def receives(self, keys):
        """The service's side."""
        endpoint = self._protected().ours(keys, "server")
        if not self.entropy:
            endpoint.trust(keys.ca)
        issuers = [{"name": ISSUER, "pinned": [str(keys.certificate("approver"))]}]
        saml = {"issuers": issuers, "audience": [AUDIENCE], "confirmation": [self.confirmation], "versions": [self.version]}
        endpoint.tables["saml"] = {**saml, **self._held(), "forward": True}
        return endpoint

    def _protected(self):
        return Endpoint("sign-encrypt", suite=SUITE) if self.entropy else Endpoint("sign")

    def _held(self):
        return {"holder_key": "symmetric"} if self.entropy else {}

    def sends(self, keys, url, audience=AUDIENCE):
        """The client's side."""
        towards = Endpoint("sign-encrypt", suite=SUITE).ours(keys, "client")
        towards.encrypt_to(keys, "approver").pin(keys.certificate("approver"))
        service = {"url": url, "applies_to": audience, "version": self.version}
        service |= {"user": self.user} if self.user else {}
        service |= {"entropy": self.entropy} if self.entropy else {}
        service["endpoint"] = towards.tables
        endpoint = self._protected()
        if not self.entropy:
            endpoint.ours(keys, "client").trust(keys.ca)
        issuers = [{"name": ISSUER, "pinned": [str(keys.certificate("approver"))]}]
        saml = {"confirmation": [self.confirmation], "issuers": issuers, "token_service": service}
        endpoint.tables["saml"] = {**saml, **self._held()}
        return endpoint


def cases():
    """Every case."""
    for version in VERSIONS:
        for confirmation in CONFIRMATIONS:
            yield Case(version, confirmation)
        for entropy in TOLD:
            yield Case(version, "holder-of-key", entropy=entropy)
    for user in ("on-behalf-of", "act-as"):
        yield Case("2.0", "bearer", user=user)


def run(report, soapstone, keys, folder):
    """Every case; then an audience that the token service does not know. What CXF's client asks ours comes last."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    options = {"port": port, "issuer": ISSUER, "audience": AUDIENCE, "key": keys.key("approver")}
    options |= {"cert": keys.certificate("approver"), "ca": keys.ca, "peer": keys.certificate("server")}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    url = f"http://127.0.0.1:{port}/issue"
    direction = "cxf -> soapstone -> soapstone"
    with contextlib.ExitStack() as stack:
        command = ["java", "-jar", JAR, *words]
        stack.enter_context(server("the token service", command, [port], folder / "sts.log", stdin=subprocess.PIPE))
        backend = stack.enter_context(_backend())
        strange = Case("2.0", "bearer")
        inbound, outbound = free_port(), free_port()
        receiving = [_route(case.name, f"http://127.0.0.1:{backend}/", "inbound", case.receives(keys)) for case in cases()]
        to = f"http://127.0.0.1:{inbound}"
        sending = [_route(case.name, f"{to}/{case.name}", "outbound", case.sends(keys, url)) for case in cases()]
        elsewhere = strange.sends(keys, url, audience="https://elsewhere.example")
        sending.append(_route("elsewhere", f"{to}/{strange.name}", "outbound", elsewhere))
        blank = Case("2.0", "holder-of-key", entropy="token-service")
        sending.append(_route("blank", f"{to}/{strange.name}", "outbound", blank.sends(keys, url)))
        for name, port, routes in (("inbound", inbound, receiving), ("outbound", outbound, sending)):
            file = folder / f"{name}.toml"
            file.write_text(f'listen = "127.0.0.1:{port}"\n' + "\n".join(routes), encoding="utf-8")
            stack.enter_context(server(name, [soapstone, "gateway", "--config", file], [port], folder / f"{name}.log"))
        user = None
        for case in cases():
            report.check("sts", str(case), direction, lambda: _exchanged(case, outbound, user))
            if user is None and (found := ASSERTION.search(_Echo.last)):
                user = found.group()
        log = folder / "outbound.log"
        report.check("sts", "refused: an audience that is not known", direction, lambda: _refused(outbound, "elsewhere", log, "token-refused"))
        report.check("sts", f"refused: {blank}, a key of zeros", direction, lambda: _refused(outbound, "blank", log, "found one of zeros"))
    token_requests.run(report, soapstone, keys, folder / "requests")
    issued_services.run(report, soapstone, keys, folder / "services")


def _route(name, backend, direction, endpoint):
    return f'[[routes]]\npath = "/{name}"\nbackend = "{backend}"\n[routes.{direction}]\n{endpoint.inline()}'


@contextlib.contextmanager
def _backend():
    """The service, plain; its port."""
    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    try:
        yield listening.server_port
    finally:
        listening.shutdown()
        listening.server_close()


def _post(port, path, message):
    headers = {"Content-Type": "text/xml; charset=utf-8"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", message, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def _exchanged(case, port, user):
    """Two requests, of which the second has the assertion of the first."""
    message = envelopes.books(1)
    if case.user:
        if user is None:
            raise Failure("no assertion of a user was granted before")
        message = message.replace(b"<soap:Header>", b"<soap:Header>" + user, 1)
    shown = []
    for _ in range(2):
        status, answer = _post(port, case.name, message)
        if status != 200:
            raise Failure(f"expected 200, found {status}: {answer[:500]!r}")
        envelopes.same_body(message, answer)
        found = ASSERTION.search(_Echo.last)
        if not found or ISSUER.encode() not in found.group():
            raise Failure(f"no assertion of {ISSUER} reached the service: {json.dumps(_Echo.last.decode())[:500]}")
        shown.append(found.group())
    if shown[0] != shown[1]:
        raise Failure("the second request has another assertion")
    if user is not None and case.user and shown[0] == user:
        raise Failure("the assertion of the user was passed on")


def _refused(port, path, log, reason):
    status, answer = _post(port, path, envelopes.books(1))
    if status != 502 or b"elsewhere.example" in answer:
        raise Failure(f"expected 502 and no word of the audience, found {status}: {answer[:500]!r}")
    if not seen(lambda: reason in log.read_text(encoding="utf-8")):
        raise Failure("the log gives no reason")
