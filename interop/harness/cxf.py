"""Apache CXF: its clients against its services, its clients against our gateway, our gateway against its services."""

import contextlib
import functools
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from . import envelopes, jobs
from .endpoints import Endpoint
from .installing import INTEROP
from .policies import SERVICES, cells, presets, self_contained, unsupported
from .processes import Failure, free_port, must_refuse, server

JAR = INTEROP / "cxf" / "target" / "cxf-peer.jar"
JAVA = ["-Xmx512m", "-XX:+UseSerialGC"]
USER = ("alice", "correct horse battery staple")
ACTION = re.compile(r"<(?:\w+:)?Action\b[^>]*>([^<]*)<")
# Seconds that a context lives where it is to be renewed.
LIFETIME = 6
REQUESTS = {
    "echo": '<e:Echo xmlns:e="urn:soapstone:services:echo"><e:text>Grüße &amp; more</e:text></e:Echo>',
    "books": '<b:getBooks xmlns:b="urn:soapstone:services:books"><b:n>5</b:n></b:getBooks>',
    "employees": '<e:EmployeeDetails xmlns:e="urn:soapstone:services:employees"/>',
    "sum": '<s:Sum xmlns:s="urn:soapstone:services:sum"><s:a>17</s:a><s:b>25</s:b></s:Sum>',
}


@dataclass(eq=False)
class Peer:
    """The sample services in plain, and the CXF programs that serve and call them with security."""

    soapstone: Path
    services: str
    address: str
    secure_address: str
    serving: jobs.Program
    calling: jobs.Program
    keys: object
    folder: Path
    # The name in the report, and the environment of our gateways.
    name: str = "cxf"
    environment: dict | None = None

    def wsdl(self, cell, service):
        """The file with a sample service's WSDL and the cell's policy."""
        path = self.folder / f"{cell.path}.{service}.wsdl"
        if not path.exists():
            path.write_bytes(cell.wsdl(self.plain(service)))
        return path

    def publish(self, cell, service):
        """Serves a sample service under a cell's policy, with CXF."""
        lifetime = ["--lifetime", LIFETIME] if "renew" in cell.client else []
        self.serving.must(
            "serve", "--address", self.at(cell, service), "--wsdl", self.wsdl(cell, service), "--backend",
            f"{self.services}/{service}", "--record", self.folder / "recorded", *lifetime, *_names(service, cell.soap),
            *security(self.keys, "server", "client"), *_signature(cell), *cell.options.get("service", ()),
        )  # fmt: skip

    def at(self, cell, service):
        """Where that is."""
        return f"{self.secure_address if cell.tls else self.address}/{cell.path}/{service}"

    def described(self, cell, service):
        """The file with the WSDL that CXF serves for it."""
        path = self.folder / f"{cell.path}.{service}.described.wsdl"
        path.write_bytes(read(f"{self.at(cell, service)}?wsdl", ssl.create_default_context(cafile=self.keys.ca)))
        return path

    def call(self, cell, service, address, *options):
        """A CXF client, configured from the WSDL at `address`, calls it, renews and cancels as the cell says."""
        words = self.calling_words(cell, service, address, f"{address}?wsdl", *options)
        result = self.calling.must(*words)
        same_content(self.plain_answer(service), words[-1].read_bytes())
        for count, expected in cell.client.values():
            # CXF's client does not understand its own service's answer to a Cancel, and keeps that
            # to itself.
            if result[count] != expected and not (count == "cancelled" and address == self.at(cell, service)):
                raise Failure(f"expected {expected} for {count}, found {result}")

    def calling_words(self, cell, service, address, wsdl, *options):
        """The job that calls `address` as `wsdl` says; its last word is the file for the answer."""
        request = self.folder / f"{service}.request"
        request.write_bytes(enveloped(REQUESTS[service]))
        return [
            "call", "--wsdl", wsdl, "--address", address, "--calls", cell.calls,
            *(word for name in cell.client for word in (f"--{name}", "true")), *_names(service, cell.soap),
            *security(self.keys, "client", "server"), *_signature(cell), *cell.options.get("client", ()), *options, request,
            self.folder / f"{cell.path}.{service}.answer",
        ]  # fmt: skip

    def actions(self, cell, service):
        """The last step of the `wsa:Action` of each request that the CXF service has got, in order."""
        requests = (self.folder / "recorded" / cell.path / service).glob("*.request.xml")
        texts = [path.read_text(encoding="utf-8") for path in sorted(requests, key=lambda path: int(path.name.split(".")[0]))]
        return [found[1].rpartition("/")[2] if (found := ACTION.search(text)) else None for text in texts]

    def last_request(self, cell, service):
        """The last request that the CXF service has got, as it was on the wire, in octets."""
        return self._last(cell, service, "request").read_bytes()

    def last_answer(self, cell, service):
        """Its last answer."""
        return self._last(cell, service, "response").read_text(encoding="utf-8")

    def _last(self, cell, service, kind):
        number = len(self.actions(cell, service))
        return self.folder / "recorded" / cell.path / service / f"{number}.{kind}.xml"

    def was_cancelled(self, cell, service):
        """The last answer of the CXF service says that it cancelled a context."""
        if "RequestedTokenCancelled" not in self.last_answer(cell, service):
            raise Failure(f"expected a cancelled context, found requests for {self.actions(cell, service)}")

    @functools.cache
    def plain(self, service):
        """The service's WSDL without any policy."""
        return self_contained(read, f"{self.services}/{service}")

    @functools.cache
    def plain_answer(self, service):
        """What the plain service answers, without its envelope."""
        return content(post(f"{self.services}/{service}", enveloped(REQUESTS[service])))


def enveloped(payload, soap=envelopes.SOAP11, headers=""):
    """A plain envelope."""
    header = f"<soap:Header>{headers}</soap:Header>" if headers else ""
    return f'<soap:Envelope xmlns:soap="{soap}">{header}<soap:Body>{payload}</soap:Body></soap:Envelope>'.encode()


def post(address, envelope, action=""):
    """Calls a plain service; the envelope of its answer."""
    if envelopes.SOAP12.encode() in envelope:
        said = {"Content-Type": "application/soap+xml; charset=utf-8" + (f'; action="{action}"' if action else "")}
    else:
        said = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": f'"{action}"'}
    return read(urllib.request.Request(address, envelope, said))


def content(envelope):
    """The octets of the element inside the Body."""
    body = ElementTree.fromstring(envelope).find("{*}Body")
    if body is None or len(body) != 1:
        raise Failure(f"expected a Body with one element, found {envelope[:300]!r}")
    return ElementTree.tostring(body[0])


def same_content(expected, found):
    """Fails unless both are the same element, whatever its prefixes."""
    expected, found = (ElementTree.canonicalize(octets, rewrite_prefixes=True) for octets in (expected, found))
    if expected != found:
        raise Failure(f"the answer is another one\nexpected {expected[:300]}\nfound    {found[:300]}")


def read(request, tls=None):
    """What is at an address, or the answer to a request."""
    try:
        with urllib.request.urlopen(request, timeout=20, context=tls) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise Failure(f"HTTP {error.code}: {error.read()[:1000].decode(errors='replace')}") from error
    except OSError as error:
        raise Failure(str(error)) from error


def _names(service, soap):
    name = SERVICES[service]
    namespace = f"{{urn:soapstone:services:{service}}}"
    return ["--service", f"{namespace}{name}Service", "--port", f"{namespace}{name}Soap{soap}Port"]


def security(keys, ours, theirs):
    """The options that say who a program is, whom it speaks with and whom it trusts."""
    return [
        "--key", keys.key(ours), "--cert", keys.certificate(ours), "--peer", keys.certificate(theirs), "--ca", keys.ca,
        "--user", USER[0], "--password", USER[1],
    ]  # fmt: skip


def _signature(cell):
    return ["--signature", cell.signature] if cell.signature else []


@contextlib.contextmanager
def running(soapstone, keys, folder, name="cxf", options=(), environment=None):
    """Sample services, a CXF program for services and one for clients, for as long as the block runs.

    `options` are those of both JVMs, `environment` is that of our gateways.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [soapstone, "services", "--listen", f"127.0.0.1:{port}"]
    # Generated classes go into the temporary folder.
    java = [*JAVA, f"-Djava.io.tmpdir={folder}", *options]
    with (
        server("services", command, [port], folder / "services.log"),
        jobs.running("CXF service", JAR, folder / "serving.log", java) as serving,
        jobs.running("CXF client", JAR, folder / "calling.log", java) as calling,
    ):
        addresses = (f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}")
        yield Peer(soapstone, *addresses, serving, calling, keys, folder, name, environment)


def run(report, soapstone, keys, folder):
    """Every cell in three directions: what fails between CXF's own client and service is not ours to fix."""
    with running(soapstone, keys, folder) as peer:
        for cell in cells():
            in_each_direction(report, peer, cell)
        for cell in presets():
            _gateway(report, peer, cell, DIRECTIONS[:1])
        for cell, assertion in unsupported():
            report.check("cxf", f"{cell.name}, echo", "cxf -> cxf", lambda: _not_itself(peer, cell, "echo"))
            report.check("cxf", f"{cell.name}, echo", "soapstone -> cxf", lambda: _unsupported(peer, cell, assertion))
        for name, theirs, demanded, reason in refusals():
            report.check("cxf", f"refused: {name}", "cxf -> soapstone", lambda: refused(peer, theirs, demanded, reason))


def in_each_direction(report, peer, cell):
    """A cell between CXF's client and service, and of each with our gateway."""
    for service in cell.services:
        alone = itself if cell.by_itself else _not_itself
        report.check(peer.name, f"{cell.name}, {service}", "cxf -> cxf", lambda: alone(peer, cell, service))
    _gateway(report, peer, cell, DIRECTIONS)


def itself(peer, cell, service):
    """CXF's client calls CXF's service."""
    peer.publish(cell, service)
    peer.call(cell, service, peer.at(cell, service))
    if "cancel" in cell.client:
        peer.was_cancelled(cell, service)


def _not_itself(peer, cell, service):
    """CXF's client calls CXF's service, which does not understand it. Where it does, the cell is to say so."""
    try:
        itself(peer, cell, service)
    except Failure:
        return
    raise Failure("expected CXF's service to refuse what its client writes")


def _unsupported(peer, cell, assertion):
    """Our program refuses the policy as CXF's service describes it, and names the assertion."""
    done = must_refuse(peer.soapstone, "policy", peer.described(cell, "echo"))
    if f"unsupported: sp:{assertion}" not in done.output + done.errors:
        raise Failure(f"expected {assertion} to be named, found {done.describe()}")


def _gateway(report, peer, cell, directions):
    """A gateway of ours that knows of a cell its WSDL only, or a preset: before the plain service, and before CXF's for a plain client."""
    for way, direction, test in directions:
        if direction == "inbound" and not cell.by_client:
            continue
        if cell.refused and direction == "inbound":
            for service in cell.services:
                report.check(peer.name, f"{cell.name}, {service}", way, lambda: refused(peer, cell, cell, cell.refused, service))
            continue
        before = {service: len(peer.actions(cell, service)) for service in cell.services}
        try:
            with gateway(peer, cell, direction) as ours:
                for service in cell.services:
                    case = f"{cell.name}, {service}"
                    if cell.unanswered and direction == "outbound":
                        report.check(peer.name, f"{case}, answer", way, lambda: _unanswered(ours, cell, service))
                        continue
                    if cell.unread and direction == "outbound":
                        report.check(peer.name, case, way, lambda: _unread(peer, ours, cell, service))
                        continue
                    report.check(peer.name, case, way, lambda: ours.explain(lambda: test(peer, cell, service, ours.address)))
                    if direction == "inbound" and cell.generated:
                        words = (f"{ours.address}/{service}", "--generated", "true")
                        calling = lambda: ours.explain(lambda: peer.call(cell, service, *words))
                        report.check(peer.name, f"{case}, generated", way, calling)
        except Failure as failure:
            for service in cell.services:
                report.record(peer.name, f"{cell.name}, {service}", way, str(failure))
        else:
            if direction == "outbound" and "cancel" in cell.client and cell.by_itself:
                report.check(peer.name, f"{cell.name}, when the gateway ends", way, lambda: _cancelled(peer, cell, before))


def _to_gateway(peer, cell, service, address):
    """A CXF client calls as the gateway's own WSDL says."""
    peer.call(cell, service, f"{address}/{service}")


def _from_gateway(peer, cell, service, address):
    """A plain client calls through the gateway; conversations are used again, and renewed before they end."""
    before = len(peer.actions(cell, service))
    request = enveloped(REQUESTS[service], envelopes.SOAP12 if cell.soap == "12" else envelopes.SOAP11)
    ends = time.monotonic() + (LIFETIME + 1 if "renew" in cell.client else 0)
    calls = 0
    while calls < cell.calls or time.monotonic() < ends:
        same_content(peer.plain_answer(service), content(post(f"{address}/{service}", request)))
        calls += 1
        if "renew" in cell.client:
            time.sleep(0.5)
    if cell.name.startswith("secure-conversation"):
        actions = peer.actions(cell, service)[before:]
        if actions.count("SCT") != 1:
            raise Failure(f"expected one context for {calls} calls, found these requests: {actions}")
        if "renew" in cell.client and "Renew" not in actions:
            raise Failure(f"expected a renewal within {LIFETIME} s, found these requests: {actions}")


def _unanswered(ours, cell, service):
    """CXF's service takes a request of our gateway, which refuses the answer, and gives that reason."""
    try:
        post(f"{ours.address}/{service}", enveloped(REQUESTS[service]))
    except Failure:
        said = ours.says(cell.unanswered)
        if f'cause="{cell.unanswered}"' not in said:
            raise Failure(f"expected the reason {cell.unanswered}, the gateway said: {said or 'nothing'}") from None
    else:
        raise Failure(f"expected that our gateway refuses the answer: {cell.unanswered}")


def _unread(peer, ours, cell, service):
    """CXF's service refuses a request of our gateway, with that word in its fault."""
    try:
        post(f"{ours.address}/{service}", enveloped(REQUESTS[service]))
    except Failure:
        if cell.unread not in (fault := peer.last_answer(cell, service)):
            raise Failure(f"expected {cell.unread!r} in the fault, found {fault}") from None
    else:
        raise Failure("expected that CXF's service refuses the request")


DIRECTIONS = (("cxf -> soapstone", "inbound", _to_gateway), ("soapstone -> cxf", "outbound", _from_gateway))


def _cancelled(peer, cell, before):
    for service in cell.services:
        actions = peer.actions(cell, service)[before[service] :]
        if actions[-1:] != ["Cancel"]:
            raise Failure(f"expected a Cancel at the end, found these requests: {actions}")
        peer.was_cancelled(cell, service)


@dataclass
class Gateway:
    """Our gateway, running."""

    address: str
    log: Path

    def warnings(self):
        """What it had to say."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if " WARN " in line or " ERROR " in line]

    def says(self, reason, before=0):
        """What it had to say after the first lines, once it has given that reason or two seconds are over: a refusal is logged when its
        answer has left."""
        until = time.monotonic() + 2
        while True:
            said = "\n".join(self.warnings()[before:])
            if f'cause="{reason}"' in said or time.monotonic() > until:
                return said
            time.sleep(0.05)

    def explain(self, test):
        """Runs a test; what the gateway says meanwhile becomes part of the reason if it fails."""
        before = len(self.warnings())
        try:
            test()
        except Failure as failure:
            said = "\n".join(self.warnings()[before:]) or "nothing"
            raise Failure(f"{failure}\nthe gateway said: {said}") from failure


@contextlib.contextmanager
def gateway(peer, cell, direction):
    """Our gateway with a route `/SERVICE` for each service of a cell, for as long as the block runs."""
    port = free_port()
    inbound = direction == "inbound"
    ours, theirs = ("server", "client") if inbound else ("client", "server")
    sections = [f'listen = "127.0.0.1:{port}"\n']
    if inbound and cell.tls:
        sections.append(f'[tls]\ncertificate = "{peer.keys.certificate(ours)}"\nkey = "{peer.keys.key(ours)}"\n')
    for service in cell.services:
        policy = {}
        if "mechanism" not in cell.ours:
            policy["policy"] = str(peer.wsdl(cell, service) if inbound else peer.described(cell, service))
        backend = f"{peer.services}/{service}" if inbound else peer.at(cell, service)
        endpoint = Endpoint(**policy, **cell.ours)
        endpoint.tables.update(cell.secrets.get(direction, {}))
        if cell.certificates:
            endpoint.ours(peer.keys, ours).trust(peer.keys.ca).pin(peer.keys.certificate(theirs))
            if not cell.anybody:
                endpoint.encrypt_to(peer.keys, theirs)
        if cell.endorsers and not inbound:
            endpoint.endorses_with(peer.keys, *cell.endorsers)
        tables = endpoint.user(*USER).inline()
        tls = f'tls = {{ ca = ["{peer.keys.ca}"] }}\n' if cell.tls and not inbound else ""
        sections.append(f'[[routes]]\npath = "/{service}"\nbackend = "{backend}"\n{tls}[routes.{direction}]\n{tables}')
    name = f"{cell.path}.{direction}"
    with configured(peer, name, port, sections, tls=inbound and cell.tls, environment=peer.environment) as ours:
        yield ours


@contextlib.contextmanager
def configured(peer, name, port, sections, tls=False, environment=None):
    """Our gateway with these sections as its file, for as long as the block runs."""
    file = peer.folder / f"{name}.toml"
    file.write_text("\n".join(sections), encoding="utf-8")
    log = file.with_suffix(".log")
    with server("gateway", [peer.soapstone, "gateway", "--config", file], [port], log, env=environment):
        yield Gateway(f"{'https' if tls else 'http'}://127.0.0.1:{port}", log)


def refusals():
    """What a client obeys, what our gateway demands, and the reason that the gateway gives."""
    known = {cell.name: cell for cell in cells()}
    for theirs, ours, reason in (
        ("plain", "sign-encrypt Basic256", "security-missing"),
        ("username", "sign-encrypt Basic256", "element-unexpected"),
        ("sign Basic256", "sign-encrypt Basic256", "unencrypted"),
        ("encrypt Basic256", "sign-encrypt Basic256", "timestamp-missing"),
        ("encrypt-sign Basic256", "sign-encrypt Basic256", "wrong-order"),
        ("sign-encrypt Basic128", "sign-encrypt Basic256", "algorithm-not-allowed"),
        ("sign-encrypt Basic256", "sign-encrypt Basic256Sha256", "algorithm-not-allowed"),
        ("sign-encrypt TripleDesRsa15", "sign-encrypt TripleDes", "algorithm-not-allowed"),
        ("sign-encrypt Basic256", "symmetric Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", "sign-encrypt Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", "symmetric derived keys Basic256", "key-not-derived"),
        ("symmetric Basic256", "symmetric endorsing", "endorsement-missing"),
        ("symmetric endorsing", "symmetric derived keys endorsing", "key-not-derived"),
        ("sign-encrypt Basic256", "asymmetric derived keys for requests Basic256", "key-not-derived"),
        ("asymmetric derived keys for requests Basic256", "sign-encrypt Basic256", "element-unexpected"),
        ("symmetric derived keys Basic256", "asymmetric derived keys for requests Basic256", "algorithm-not-allowed"),
        ("symmetric endorsing", "symmetric two endorsing", "endorsement-missing"),
        ("symmetric two endorsing", "symmetric endorsing", "endorsement-missing"),
        ("symmetric endorsing", "symmetric signed endorsing", "unsigned"),
        ("symmetric endorsing", "symmetric endorsing encrypted", "unencrypted"),
        ("symmetric signed endorsing", "symmetric signed endorsing encrypted", "unencrypted"),
        ("symmetric endorsing encrypted", "symmetric signed endorsing encrypted", "unsigned"),
        ("symmetric GCM endorsing encrypted", "symmetric GCM signed endorsing encrypted", "unsigned"),
        ("symmetric endorsing", "symmetric endorsing, parts of its own", "unendorsed"),
        ("symmetric Basic256", "symmetric signed username", "username-missing"),
        ("symmetric Basic256", "secure-conversation Basic256", "algorithm-not-allowed"),
        ("secure-conversation Basic128", "secure-conversation Basic256", "algorithm-not-allowed"),
        ("secure-conversation on TLS, users", "secure-conversation on TLS, users, derived keys", "key-not-derived"),
        ("secure-conversation on TLS, users", "secure-conversation on TLS, signed endorsing, parts of its own", "unsigned"),
        ("secure-conversation on TLS, users", "secure-conversation on TLS, certificates", "element-unexpected"),
        ("secure-conversation on TLS, users", "secure-conversation on TLS, and a certificate", "endorsement-missing"),
        ("secure-conversation on TLS, and a certificate", "secure-conversation on TLS, users", "algorithm-not-allowed"),
        ("symmetric Basic256", "secure-conversation endorsing symmetric", "username-missing"),
        ("secure-conversation endorsing symmetric", "secure-conversation derived keys endorsing symmetric", "key-not-derived"),
        ("secure-conversation derived keys endorsing symmetric", "secure-conversation endorsing symmetric", "element-unexpected"),
        ("secure-conversation endorsing symmetric", "secure-conversation endorsing symmetric, parts of its own", "unendorsed"),
        ("secure-conversation endorsing symmetric", "secure-conversation endorsing symmetric, and a certificate", "endorsement-missing"),
        ("transport endorsing Basic256", "transport two endorsing", "endorsement-missing"),
        ("transport two endorsing", "transport endorsing Basic256", "too-many"),
        ("transport two endorsing", "transport endorsing, and signed endorsing with parts of its own", "unendorsed"),
        ("asymmetric, signed beside encrypted", "asymmetric, encrypted beside signed", "unencrypted"),
        ("asymmetric, encrypted beside signed", "asymmetric, signed beside encrypted", "operation-mismatch"),
    ):
        yield f"{theirs} for {ours}", known[theirs], known[ours], reason


def refused(peer, theirs, demanded, reason, service="echo"):
    """The client gets a fault, and the gateway gives that reason."""
    with gateway(peer, demanded, "inbound") as ours:
        words = peer.calling_words(theirs, service, f"{ours.address}/{service}", peer.wsdl(theirs, service))
        result = peer.calling.job(*words)
        said = ours.says(reason)
    if result["exit"] != 2 or f'cause="{reason}"' not in said:
        raise Failure(f"expected the reason {reason}, found {result}\nthe gateway said: {said or 'nothing'}")


def record(soapstone, keys, scratch, folder):
    """Records what CXF's client and service say to each other, with the WSDL, in a folder for each cell."""
    with running(soapstone, keys, scratch / "cxf") as peer:
        # Messages of an operation with a policy of its own are like those of a service with that
        # policy; those that disobey theirs are no examples.
        for cell in (cell for cell in cells() if cell.other is None and cell.by_itself and not cell.refused):
            itself(peer, cell, "echo")
            shutil.copytree(peer.folder / "recorded" / cell.path / "echo", folder / cell.path)
            shutil.copy(peer.wsdl(cell, "echo"), folder / cell.path / "service.wsdl")
        (folder / "plain.request.xml").write_bytes(enveloped(REQUESTS["echo"]))
        (folder / "plain.response.xml").write_bytes(post(f"{peer.services}/echo", enveloped(REQUESTS["echo"])))
