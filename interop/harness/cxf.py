"""Apache CXF: its clients against its services, its clients against our gateway, our gateway against its services."""

import contextlib
import functools
import shutil
import urllib.request
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from . import envelopes, jobs
from .installing import INTEROP
from .policies import SERVICES, cells, self_contained
from .processes import Failure, free_port, server

JAR = INTEROP / "cxf" / "target" / "cxf-peer.jar"
JAVA = ["-Xmx512m", "-XX:+UseSerialGC"]
USER = ("alice", "correct horse battery staple")
REQUESTS = {
    "echo": '<e:Echo xmlns:e="urn:soapstone:services:echo"><e:text>Grüße &amp; more</e:text></e:Echo>',
    "books": '<b:getBooks xmlns:b="urn:soapstone:services:books"><b:n>5</b:n></b:getBooks>',
    "employees": '<e:EmployeeDetails xmlns:e="urn:soapstone:services:employees"/>',
    "sum": '<s:Sum xmlns:s="urn:soapstone:services:sum"><s:a>17</s:a><s:b>25</s:b></s:Sum>',
}


@dataclass
class Peer:
    """The sample services in plain, and the CXF programs that serve and call them with security."""

    services: str
    address: str
    serving: jobs.Program
    calling: jobs.Program
    keys: object
    folder: Path
    record: Path | None = None

    def publish(self, cell, service):
        """Serves a sample service under a cell's policy."""
        wsdl = self.folder / f"{cell.path}.{service}.wsdl"
        wsdl.write_bytes(cell.wsdl(self.plain(service)))
        words = ["--record", self.record] if self.record else []
        self.serving.must(
            "serve", "--address", self.at(cell, service), "--wsdl", wsdl, "--backend", f"{self.services}/{service}",
            *words, *_names(service), *_security(self.keys, "server", "client"),
        )  # fmt: skip

    def at(self, cell, service):
        """Where that is."""
        return f"{self.address}/{cell.path}/{service}"

    def call(self, cell, service, address):
        """A CXF client, configured from the WSDL at `address`, gets what the plain service answers."""
        answer = self.folder / f"{cell.path}.{service}.answer"
        request = self.folder / f"{service}.request"
        request.write_bytes(enveloped(REQUESTS[service]))
        options = [word for name in cell.client for word in (f"--{name}", "true")]
        result = self.calling.must(
            "call", "--wsdl", f"{address}?wsdl", "--address", address, "--calls", cell.calls, *options, *_names(service),
            *_security(self.keys, "client", "server"), request, answer,
        )  # fmt: skip
        same_content(self.plain_answer(service), answer.read_bytes())
        for wanted in cell.client:
            if result[f"{wanted}{'led' if wanted == 'cancel' else 'ed'}"] != 1:
                raise Failure(f"the context was not {wanted}{'led' if wanted == 'cancel' else 'ed'}: {result}")

    @functools.cache
    def plain(self, service):
        """The service's WSDL without any policy."""
        return self_contained(_read, f"{self.services}/{service}")

    @functools.cache
    def plain_answer(self, service):
        """What the plain service answers, without its envelope."""
        return content(post(f"{self.services}/{service}", enveloped(REQUESTS[service])))

    def __hash__(self):
        return id(self)


def enveloped(payload):
    """A plain SOAP 1.1 envelope."""
    return f'<soap:Envelope xmlns:soap="{envelopes.SOAP11}"><soap:Body>{payload}</soap:Body></soap:Envelope>'.encode()


def post(address, envelope):
    """Calls a plain service; the envelope of its answer."""
    return _read(urllib.request.Request(address, envelope, {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'}))


def content(envelope):
    """The octets of the element inside the Body."""
    body = ElementTree.fromstring(envelope).find(f"{{{envelopes.SOAP11}}}Body")
    if body is None or len(body) != 1:
        raise Failure(f"expected a Body with one element, found {envelope[:300]!r}")
    return ElementTree.tostring(body[0])


def same_content(expected, found):
    """Fails unless both are the same element, whatever its prefixes."""
    expected, found = (ElementTree.canonicalize(octets, rewrite_prefixes=True) for octets in (expected, found))
    if expected != found:
        raise Failure(f"the answer is another one\nexpected {expected[:300]}\nfound    {found[:300]}")


def _read(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read()


def _names(service):
    name = SERVICES[service]
    namespace = f"{{urn:soapstone:services:{service}}}"
    return ["--service", f"{namespace}{name}Service", "--port", f"{namespace}{name}Soap11Port"]


def _security(keys, ours, theirs):
    return [
        "--key", keys.key(ours), "--cert", keys.certificate(ours), "--peer", keys.certificate(theirs), "--ca", keys.ca,
        "--user", USER[0], "--password", USER[1],
    ]  # fmt: skip


@contextlib.contextmanager
def running(soapstone, keys, folder, record=None):
    """Sample services, a CXF program for services and one for clients, for as long as the block runs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [soapstone, "services", "--listen", f"127.0.0.1:{port}"]
    with (
        server("services", command, [port], folder / "services.log"),
        jobs.running("CXF service", JAR, folder / "serving.log", JAVA) as serving,
        jobs.running("CXF client", JAR, folder / "calling.log", JAVA) as calling,
    ):
        yield Peer(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}", serving, calling, keys, folder, record)


def itself(report, peer):
    """Every cell between CXF's client and CXF's service: what fails here is not ours to fix."""
    for cell in cells():
        for service in cell.services:
            report.check("cxf", cell.name, f"cxf -> cxf, {service}", lambda: _itself(peer, cell, service))


def _itself(peer, cell, service):
    peer.publish(cell, service)
    peer.call(cell, service, peer.at(cell, service))


def run(report, soapstone, keys, folder):
    """Everything."""
    with running(soapstone, keys, folder) as peer:
        itself(report, peer)


def record(soapstone, keys, scratch, folder):
    """Records what CXF's client and service say to each other, with the WSDL, in a folder for each cell."""
    with running(soapstone, keys, scratch / "cxf", scratch / "recorded") as peer:
        for cell in cells():
            _itself(peer, cell, "echo")
            shutil.copytree(scratch / "recorded" / cell.path / "echo", folder / cell.path)
            shutil.copy(peer.folder / f"{cell.path}.echo.wsdl", folder / cell.path / "service.wsdl")
        (folder / "plain.request.xml").write_bytes(enveloped(REQUESTS["echo"]))
        (folder / "plain.response.xml").write_bytes(post(f"{peer.services}/echo", enveloped(REQUESTS["echo"])))
