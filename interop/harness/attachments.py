"""Messages with attachments: WSS4J opens the packages that we secure, and we open what it secures.

WSS4J knows no packages: its host takes them apart. That is done here, so that a reader and a writer of their own judge ours.
"""

import json
import re
from pathlib import Path

from . import envelopes
from .endpoints import Endpoint
from .processes import Failure, must, must_refuse

TEXT = "one\ntwo\r\nthree\n".encode()
XML = b'<?xml version="1.0"?><!-- a remark --><i:invoice  xmlns:i=\'urn:i\' b="2" a="1"><i:sum/></i:invoice>\n'
BINARY = bytes(range(256)) * 40
PARTS = [
    ("invoice@sender.example", {"Content-Type": "text/xml", "Content-Description": "An invoice"}, XML),
    ("note@sender.example", {"Content-Type": "text/plain; charset=utf-8"}, TEXT),
    ("data-1@sender.example", {"Content-Type": "application/octet-stream"}, BINARY),
]
CANONICAL = {
    "invoice@sender.example": b'<i:invoice xmlns:i="urn:i" a="1" b="2"><i:sum></i:sum></i:invoice>',
    "note@sender.example": b"one\r\ntwo\r\nthree\r\n",
    "data-1@sender.example": BINARY,
}
SUITE = "Basic128GCM"


def cases():
    """Mechanism, coverage and version of SOAP."""
    for soap in (envelopes.SOAP11, envelopes.SOAP12):
        for mechanism in ("sign", "encrypt", "sign-encrypt"):
            for coverage in ("content", "complete"):
                yield mechanism, coverage, soap


def package(soap, root, parts):
    """A MIME package as a file."""
    kind = "application/soap+xml" if soap == envelopes.SOAP12 else "text/xml"
    out = f'Content-Type: multipart/related; type="{kind}"; start="<root@x>"; boundary="the-boundary"\r\n\r\n'.encode()
    root = ("root@x", {"Content-Type": f"{kind}; charset=utf-8"}, root)
    for identifier, headers, content in [root, *parts]:
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        out += f"--the-boundary\r\n{fields}Content-ID: <{identifier}>\r\nContent-Transfer-Encoding: binary\r\n\r\n".encode()
        out += content + b"\r\n"
    return out + b"--the-boundary--\r\n"


def taken_apart(file):
    """The root of a package, and its other parts."""
    header, _, body = file.partition(b"\r\n\r\n")
    boundary = re.search(rb'boundary="([^"]+)"', header)[1]
    parts = []
    for piece in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:-1]:
        fields, _, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in fields.decode().split("\r\n"))
        identifier = fields.pop("Content-ID").strip("<>")
        fields.pop("Content-Transfer-Encoding")
        parts.append((identifier, fields, content))
    return parts[0][2], parts[1:]


def write_parts(folder, parts):
    folder.mkdir(parents=True)
    for number, (identifier, headers, content) in enumerate(parts):
        (folder / f"{number}.id").write_text(identifier)
        fields = {"Content-ID": f"<{identifier}>", **headers}
        (folder / f"{number}.headers").write_text("".join(f"{name}:{value}\n" for name, value in fields.items()))
        (folder / f"{number}.content").write_bytes(content)
    return folder


def read_parts(folder):
    parts = []
    while (folder / f"{len(parts)}.id").exists():
        number = len(parts)
        lines = (folder / f"{number}.headers").read_text().splitlines()
        headers = dict(line.split(":", 1) for line in lines)
        headers.pop("Content-ID", None)
        parts.append(((folder / f"{number}.id").read_text(), headers, (folder / f"{number}.content").read_bytes()))
    return parts


def _endpoint(keys, mechanism, coverage, inbound):
    said = {"signed": coverage} if mechanism != "encrypt" else {}
    said |= {"encrypted": coverage} if mechanism != "sign" else {}
    endpoint = Endpoint(mechanism, suite=SUITE, attachments=said)
    if inbound:
        return endpoint.ours(keys, "server").trust(keys.ca)
    return endpoint.ours(keys, "client").encrypt_to(keys, "server")


def _options(keys, mechanism, coverage, inbound):
    options = ["--mechanism", mechanism, "--suite", SUITE]
    if inbound:
        return [*options, "--key", keys.key("server"), "--cert", keys.certificate("server"), "--ca", keys.ca]
    options += ["--key", keys.key("client"), "--cert", keys.certificate("client"), "--peer", keys.certificate("server")]
    if mechanism != "encrypt":
        options += ["--attachments-signed", coverage]
    if mechanism != "sign":
        options += ["--attachments-encrypted", coverage]
    return options


def run(report, soapstone, keys, folder, wss4j):
    """Every case, both ways; a changed attachment is refused each time."""
    for number, (mechanism, coverage, soap) in enumerate(cases()):
        version = "1.2" if soap == envelopes.SOAP12 else "1.1"
        name = f"attachments, {mechanism}, {coverage}, SOAP {version}"
        room = Path(folder) / f"attachments.{number}"
        room.mkdir(parents=True)
        case = (mechanism, coverage, soap)
        report.check("wss4j", name, "soapstone -> wss4j", lambda: _to_wss4j(case, wss4j, soapstone, keys, room))
        report.check("wss4j", name, "wss4j -> soapstone", lambda: _from_wss4j(case, wss4j, soapstone, keys, room))


def _to_wss4j(case, wss4j, soapstone, keys, folder):
    mechanism, coverage, soap = case
    plain, secured, root, opened = (folder / name for name in ("plain", "ours", "ours.root", "ours.opened"))
    plain.write_bytes(package(soap, envelopes.books(5, soap), PARTS))
    must(soapstone, "secure", "--config", _endpoint(keys, mechanism, coverage, False).write(folder), plain, "-o", secured)
    text, parts = taken_apart(secured.read_bytes())
    root.write_bytes(text)
    options = _options(keys, mechanism, coverage, True)
    given, out = write_parts(folder / "ours.parts", parts), folder / "ours.parts.opened"
    wss4j.must("open", *options, "--attachments", given, "--attachments-out", out, root, opened)
    envelopes.same_body(envelopes.books(5, soap), opened.read_bytes())
    expected = {identifier: content for identifier, _, content in PARTS}
    found = {identifier: content for identifier, _, content in read_parts(out)}
    if found != expected:
        raise Failure(f"expected the attachments {expected}, found {found}")
    changed = [(identifier, headers, content[:-1] + bytes([content[-1] ^ 1])) for identifier, headers, content in parts]
    given = write_parts(folder / "ours.parts.changed", changed)
    wss4j.must_refuse("open", *options, "--attachments", given, "--attachments-out", out, root, opened)


def _from_wss4j(case, wss4j, soapstone, keys, folder):
    mechanism, coverage, soap = case
    plain, root, secured, opened = (folder / name for name in ("plain.root", "theirs.root", "theirs", "theirs.opened"))
    plain.write_bytes(envelopes.books(5, soap))
    given, out = write_parts(folder / "theirs.parts", PARTS), folder / "theirs.parts.secured"
    options = _options(keys, mechanism, coverage, False)
    wss4j.must("secure", *options, "--attachments", given, "--attachments-out", out, plain, root)
    parts = read_parts(out)
    secured.write_bytes(package(soap, root.read_bytes(), parts))
    endpoint = _endpoint(keys, mechanism, coverage, True).write(folder)
    must(soapstone, "open", "--config", endpoint, secured, "-o", opened)
    text, found = taken_apart(opened.read_bytes())
    envelopes.same_body(envelopes.books(5, soap), text)
    expected = {identifier: content for identifier, _, content in PARTS} if mechanism == "encrypt" else CANONICAL
    contents = {identifier: content for identifier, _, content in found}
    if contents != expected:
        raise Failure(f"expected the attachments {expected}, found {contents}")
    verdict = json.loads(must(soapstone, "open", "--json", "--config", endpoint, secured).output)
    for one in verdict["attachments"]:
        does = {"signed": mechanism != "encrypt", "encrypted": mechanism != "sign"}
        if any(one.get(key) != (coverage if done else None) for key, done in does.items()):
            raise Failure(f"expected {mechanism} of {coverage}, found {one}")
    identifier, headers, content = parts[-1]
    changed = [*parts[:-1], (identifier, headers, content[:-1] + bytes([content[-1] ^ 1]))]
    for others in (changed, parts[:-1], [*parts, ("more@x", {"Content-Type": "text/plain"}, b"more")]):
        secured.write_bytes(package(soap, root.read_bytes(), others))
        must_refuse(soapstone, "open", "--config", endpoint, secured)
