"""Apache jUDDI 3.3.10: its client publishes to our registry and finds there, and our client finds in its registry.

jUDDI's client signs nothing. It publishes through an outbound gateway, which signs with the certificate of the publisher.
"""

import contextlib
import json
import subprocess
from pathlib import Path
from xml.sax.saxutils import quoteattr

from .endpoints import Endpoint
from .installing import INTEROP
from .processes import Failure, free_port, must, must_refuse, server

JAR = INTEROP / "juddi" / "target" / "juddi-peer.jar"
POINT, WSDL = "http://10.0.0.5:8443/books", "http://10.0.0.5:8443/books?wsdl"
TO_OURS, TO_THEIRS = "juddi -> soapstone", "soapstone -> juddi"


class Client:
    """jUDDI's client, whose file names where a registry asks and takes."""

    def __init__(self, folder, name, inquiry, publish, security):
        urls = {"inquiryUrl": inquiry, "publishUrl": publish, "securityUrl": security}
        urls = "".join(f"<{element}>{url}</{element}>" for element, url in urls.items())
        self.file = Path(folder) / f"{name}.xml"
        self.file.write_text(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<uddi><reloadDelay>5000</reloadDelay><client name={quoteattr(name)}><nodes>'
            "<node><name>default</name><description>a registry</description>"
            f"<proxyTransport>org.apache.juddi.v3.client.transport.JAXWSTransport</proxyTransport>{urls}</node></nodes>"
            '<clerks registerOnStartup="false"><clerk name="publisher" node="default" publisher="publisher" password="publisher"/>'
            "</clerks></client></uddi>",
            encoding="utf-8",
        )

    def does(self, what, *words):
        """Its command line."""
        return ["java", "-jar", JAR, what, "--config", self.file, *words]

    def publish(self, service):
        """Publishes a service with an access point and a WSDL; the key of its business."""
        done = must(*self.publishing(service), timeout=120)
        return done.output.split()[-1]

    def publishing(self, service):
        """The command line that publishes it."""
        return self.does("publish", "--service", service, "--access-point", POINT, "--wsdl", WSDL)

    def find(self, service, *words):
        """What it finds: access points and WSDLs."""
        return must(*self.does("find", "--service", service, *words), timeout=120).output.split()


def run(report, soapstone, keys, folder):
    """jUDDI's client with our registry; then our client with jUDDI's registry."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _ours(soapstone, keys, folder) as (inquiry, publish, listen):
        client = Client(folder, "ours", inquiry, publish, publish)
        published = []
        report.check("juddi", "publishes", TO_OURS, lambda: published.append(client.publish("Books")))
        report.check("juddi", "finds by name", TO_OURS, lambda: _expect(client.find("Books"), [POINT, WSDL]))
        report.check("juddi", "finds by a part of the name", TO_OURS, lambda: _expect(client.find("Boo%", "--approximate", "true"), [POINT, WSDL]))
        report.check("juddi", "finds nothing of another name", TO_OURS, lambda: _expect(client.find("Boo"), []))
        report.check("juddi", "what it published is found", "soapstone -> soapstone", lambda: _found(soapstone, inquiry))
        report.check("juddi", "refused: what no rule allows", TO_OURS, lambda: _refused(client, "Payments", "may not publish"))
        unsigned = Client(folder, "unsigned", inquiry, listen, listen)
        report.check("juddi", "refused: without a signature", TO_OURS, lambda: _refused(unsigned, "Books", "Fault"))
        report.check("juddi", "deletes", TO_OURS, lambda: _deleted(client, published))
    port = free_port()
    command = ["java", "-jar", JAR, "serve", "--port", str(port)]
    # Derby writes its log where it is started.
    with server("jUDDI's registry", command, [port], folder / "juddi.log", stdin=subprocess.PIPE, cwd=folder):
        base = f"http://127.0.0.1:{port}/juddiv3/services"
        # The port listens before the last of its services is there.
        client = Client(folder, "theirs", f"{base}/inquiry", f"{base}/publish", f"{base}/security")
        report.check("juddi", "publishes and finds", "juddi -> juddi", lambda: _own(client))
        report.check("juddi", "finds by name", TO_THEIRS, lambda: _found(soapstone, f"{base}/inquiry"))
        report.check("juddi", "finds nothing of another name", TO_THEIRS, lambda: _expect(_find(soapstone, f"{base}/inquiry", "Boo"), []))
        report.check("juddi", "finds by a part of the name", TO_THEIRS, lambda: _found(soapstone, f"{base}/inquiry", "Boo%", "--approximate"))


@contextlib.contextmanager
def _ours(soapstone, keys, folder):
    """Our registry, and the gateway in front of it: the URLs for inquiries, for plain and for signed publication."""
    listen, inquiry, gateway = free_port(), free_port(), free_port()
    serving = Endpoint("sign").ours(keys, "server").trust(keys.ca)
    registry = folder / "registry.toml"
    registry.write_text(
        f'listen = "127.0.0.1:{listen}"\ninquiry = "127.0.0.1:{inquiry}"\n[inbound]\n{serving.inline()}'
        '[[publishers]]\nsubject = "*"\nservices = ["Books"]\n',
        encoding="utf-8",
    )
    signing = Endpoint("sign").ours(keys, "client").encrypt_to(keys, "server").pin(keys.certificate("server"))
    outbound = folder / "outbound.toml"
    outbound.write_text(
        f'listen = "127.0.0.1:{gateway}"\n[[routes]]\npath = "/uddi"\nbackend = "http://127.0.0.1:{listen}/uddi"\n'
        f"[routes.outbound]\n{signing.inline()}",
        encoding="utf-8",
    )
    command = [soapstone, "registry", "serve", "--config", registry]
    with server("the registry", command, [listen, inquiry], folder / "registry.log"):
        with server("the gateway", [soapstone, "gateway", "--config", outbound], [gateway], folder / "outbound.log"):
            url = "http://127.0.0.1:{}/uddi".format
            yield url(inquiry), url(gateway), url(listen)


def _expect(found, expected):
    if found != expected:
        raise Failure(f"expected {expected}, found {found}")


def _find(soapstone, registry, name, *words):
    done = must(soapstone, "registry", "find", "--registry", registry, "--service", name, "--json", *words)
    return json.loads(done.output)["services"]


def _found(soapstone, registry, name="Books", *words):
    """What our client finds: the service with its access point and its WSDL."""
    services = _find(soapstone, registry, name, *words)
    found = [
        (point["accessPoint"], model.get("overviewUrl"))
        for service in services
        for point in service["bindings"]
        for model in point["tModels"]
        if model["tModelKey"] == "uddi:uddi.org:protocol:soap"
    ]
    _expect(found, [(POINT, WSDL)])


def _refused(client, service, reason):
    """What our registry refuses, jUDDI's client is told."""
    done = must_refuse(*client.publishing(service), statuses=(1,), timeout=120)
    if reason not in done.errors:
        raise Failure(f"expected a word of {reason}, found {done.describe()}")
    _expect(client.find("Payments"), [])


def _deleted(client, published):
    if not published:
        raise Failure("nothing was published before")
    must(*client.does("delete", "--business", published[0]), timeout=120)
    _expect(client.find("Books"), [])


def _own(client):
    client.publish("Books")
    _expect(client.find("Books"), [POINT, WSDL])
