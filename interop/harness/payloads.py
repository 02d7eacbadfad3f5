"""What the sample services answer, recorded from our own, so that every stack serves and secures the same data.

The rule kept here: an answer depends on its request alone, so it is recorded once and again only when the services have
changed.
"""

import os
import re
import shutil
import tempfile
import urllib.request
from pathlib import Path

from . import installing
from .processes import Failure, free_port, server
from .program import built

FOLDER = installing.INTEROP / "stacks" / "build" / "payloads"
SOURCES = installing.REPOSITORY / "crates" / "services" / "src"
BOOKS = 25_000
EMPLOYEES = '<EmployeeDetails xmlns="urn:soapstone:services:employees"/>'
# The path of each service with its query, and the request.
REQUESTS = {
    "books": ("books", f'<getBooks xmlns="urn:soapstone:services:books"><n>{BOOKS}</n></getBooks>'),
    "employees": ("employees", EMPLOYEES),
    "employee": ("employees?records=one", EMPLOYEES),
    "echo": ("echo", '<Echo xmlns="urn:soapstone:services:echo"><text>%</text></Echo>'),
}
WORDS = "Hello World "


def folder():
    """The folder with `books.xml` (all of them), `employees.xml`, `employee.xml` (the one of a study) and `echo.xml` (a text that stands
    for any), recorded if need be."""
    newest = max(path.stat().st_mtime for path in SOURCES.glob("*.rs"))
    recorded = [FOLDER / f"{name}.xml" for name in REQUESTS]
    if not all(path.exists() and path.stat().st_mtime > newest for path in recorded):
        _record()
    return FOLDER


def envelope(payload, items):
    """The answer of Echo to a text of so many characters, or that of getBooks with so many books."""
    if payload == "echo":
        return (folder() / "echo.xml").read_bytes().replace(b"%", text(items).encode())
    if payload != "books":
        raise Failure(f"payload: expected echo or books, found {payload}")
    if not 0 <= items <= BOOKS:
        raise Failure(f"books: expected 0 to {BOOKS}, found {items}")
    octets = (folder() / "books.xml").read_bytes()
    start, end = octets.index(b"<book>"), octets.rindex(b"</book>") + len(b"</book>")
    ends = [match.end() for match in re.finditer(b"</book>", octets[:end])]
    return octets[: ends[items - 1] if items else start] + octets[end:]


def text(length):
    """The text of so many characters that the services' own clients send."""
    text = (WORDS * (length // len(WORDS) + 1))[:length]
    return f"{text[:-1]}." if text.endswith(" ") else text


def controller(log):
    """A sensor's controller, which getTemperature reads: a context in which it runs, and its address."""
    port = free_port()
    command = [_soapstone(), "services", "controller", "--listen", f"127.0.0.1:{port}"]
    # It listens to UDP, and whoever asks too early asks again.
    return server("controller", command, [], log), f"127.0.0.1:{port}"


def _soapstone():
    """The program that SOAPSTONE_PROGRAM names, or the one that cargo builds."""
    return os.environ.get("SOAPSTONE_PROGRAM") or built()


def _record():
    soapstone = _soapstone()
    port = free_port()
    installing.say("recording what the sample services answer")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="soapstone-payloads-") as scratch:
        log = Path(scratch) / "services.log"
        with server("services", [soapstone, "services", "--listen", f"127.0.0.1:{port}"], [port], log):
            for name, (path, payload) in REQUESTS.items():
                (Path(scratch) / name).write_bytes(_post(f"http://127.0.0.1:{port}/{path}", payload))
        for name in REQUESTS:
            shutil.move(Path(scratch) / name, FOLDER / f"{name}.xml")


def _post(address, payload):
    soap = "http://schemas.xmlsoap.org/soap/envelope/"
    request = f'<soap:Envelope xmlns:soap="{soap}"><soap:Body>{payload}</soap:Body></soap:Envelope>'.encode()
    headers = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(address, request, headers), timeout=60) as answer:
            return answer.read()
    except OSError as error:
        raise Failure(f"{address}: {error}") from error
