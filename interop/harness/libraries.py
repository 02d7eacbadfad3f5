"""Client libraries that sign XML and know little of WS-Security, each against the inbound gateway.

node-soap, suds and goxmldsig: what each writes by itself, option by option. The endpoints say what such a client needs
(`ids`, for one), and nothing weaker. The bytes of each call go to WSS4J as well, with the demands of the same endpoint: each
option set that WSS4J accepts is one that an endpoint of ours accepts.
"""

import importlib.util
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from . import installing, same_bytes, tap, wss4j
from .gateways import USER, Route, running
from .installing import INTEROP
from .processes import Failure
from .processes import run as run_program

FOLDER = INTEROP / "libraries"
NODE = ["node", FOLDER / "node" / "client.js"]
SUDS = [FOLDER / "suds" / ".venv" / "bin" / "python", FOLDER / "suds" / "client.py"]
GO = [FOLDER / "go" / "build" / "client"]

EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
RSA_SHA1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
SHA1 = "http://www.w3.org/2000/09/xmldsig#sha1"
# WSS4J reads no certificate that stands in a `ds:KeyInfo` without a reference around it.
BARE = "Unsupported KeyInfo type"
ECHO = "urn:soapstone:services:echo"


def _algorithms(signature, digest):
    return {"signature": [signature], "digest": [digest], "canonicalization": [EXCLUSIVE]}


SHA256_ALGORITHMS = {"algorithms": _algorithms("rsa-sha256", "sha256")}
IDS = {"ids": ["Id"]}
SIGNED_USER = {"signed": ["Body", "Timestamp"], "password": "text"}
ROUTES = [
    # An outbound gateway has one route at least.
    Route("none", "none", {}),
    Route("ids", "sign", {**SHA256_ALGORITHMS, **IDS}, outbound=False),
    Route("strict", "sign", SHA256_ALGORITHMS, outbound=False),
    Route("body", "sign", {**SHA256_ALGORITHMS, **IDS, "signed": ["Body"], "timestamp": False}, outbound=False),
    Route("token", "sign", {**SHA256_ALGORITHMS, **IDS, "signed": ["Body", "Timestamp", "Token"]}, outbound=False),
    Route("sha1", "sign", {"algorithms": _algorithms("rsa-sha1", "sha1"), **IDS}, outbound=False),
    Route("upper", "sign", {**SHA256_ALGORITHMS, "ids": ["ID"], "signed": ["Body"], "timestamp": False}, outbound=False),
    Route("text", "username", {"password": "text"}, outbound=False),
    Route("digest", "username", {"password": "digest"}, outbound=False),
    Route("both", "username", {**SHA256_ALGORITHMS, **IDS, **SIGNED_USER}, outbound=False),
]


@dataclass
class Case:
    """What a client is told to write, and the route that is meant for it."""

    client: str
    name: str
    route: str
    wanted: dict
    versions: tuple = ("11", "12")
    refused: bool = False
    program: list = field(default_factory=list)
    # What WSS4J says, where it refuses what we accept.
    unread: str = ""


def node(name, route, security="certificate", options=None, **more):
    """node-soap with some options."""
    refused = more.pop("refused", False)
    unread = more.pop("unread", "")
    wanted = {"security": security, "options": options or {}, **more}
    return Case("node-soap", name, route, wanted, refused=refused, program=NODE, unread=unread)


def cases():
    """Every option set."""
    yield node("defaults", "ids")
    yield node("defaults, where Id is no id", "strict", refused=True)
    wsu = {"signerOptions": {"idMode": "wssecurity"}}
    yield node("idMode wssecurity", "strict", options=wsu)
    prefix = {"signerOptions": {"prefix": "ds", "attrs": {"Id": "signature"}}}
    yield node("signature with prefix and Id", "ids", options=prefix)
    yield node("no timestamp", "body", options={"hasTimeStamp": False})
    yield node("no timestamp, where one is demanded", "ids", options={"hasTimeStamp": False}, refused=True)
    yield node("timestamp unsigned", "ids", options={"excludeReferencesFromSigning": ["Timestamp"]}, refused=True)
    yield node("body unsigned", "ids", options={"excludeReferencesFromSigning": ["Body"]}, refused=True)
    yield node("canonicalization alone", "ids", options={"signatureTransformations": [EXCLUSIVE]})
    yield node("rsa-sha256 by name", "ids", options={"signatureAlgorithm": RSA_SHA256})
    token = {"additionalReferences": ["wsse:BinarySecurityToken"]}
    yield node("token signed", "token", options=token)
    yield node("token not signed", "token", refused=True)
    yield node("rsa-sha1", "sha1", options={"signatureAlgorithm": RSA_SHA1, "digestAlgorithm": SHA1})
    yield node("rsa-sha1, where rsa-sha256 is named", "ids", options={"signatureAlgorithm": RSA_SHA1}, refused=True)
    text = {"hasNonce": True, "hasTokenCreated": True, "hasTimeStamp": True, "passwordType": "PasswordText"}
    yield node("user, text", "text", "user", options=text)
    yield node("user, digest", "digest", "user", options={**text, "passwordType": "PasswordDigest"})
    yield node("user and certificate", "both", "both", userOptions={**text, "hasTimeStamp": False})
    yield Case("suds", "user, nonce, timestamp", "text", {"nonce": True, "timestamp": True}, ("11",), program=SUDS)
    yield Case("suds", "user, nonce", "text", {"nonce": True, "timestamp": False}, ("11",), program=SUDS)
    wrong = {"nonce": True, "timestamp": True, "password": "guess"}
    yield Case("suds", "wrong password", "text", wrong, ("11",), refused=True, program=SUDS)
    yield Case("goxmldsig", "enveloped", "upper", {"enveloped": True}, program=GO, unread=BARE)
    yield Case("goxmldsig", "detached", "upper", {"enveloped": False}, program=GO, unread=BARE)
    yield Case("goxmldsig", "where ID is no id", "body", {"enveloped": True}, refused=True, program=GO)


def install():
    """What the clients need. node-soap wants Node.js 20."""
    commands = {"node": "nodejs", "npm": "npm", "go": "golang-go"}
    installing.debian(*(package for command, package in commands.items() if not shutil.which(command)))
    if not importlib.util.find_spec("ensurepip"):
        installing.debian("python3-venv")
    installing.build("libraries")


def run(report, soapstone, keys, folder):
    """Every option set, in the versions of SOAP that the library has."""
    folder = Path(folder)
    common = {"user": USER[0], "password": USER[1], "key": str(keys.key("client")), "certificate": str(keys.certificate("client"))}
    accepted = [case.wanted for case in cases() if not case.refused]
    with (
        running(soapstone, keys, folder, ROUTES) as gateways,
        tap.before(gateways.inbound) as passed,
        wss4j.peer(folder / "wss4j.log") as peer,
    ):
        for case in cases():
            for version in case.versions:
                name = f"{case.client}, {case.name}, SOAP 1.{int(version) - 10}"
                # One text twice within a second is one message twice, which is refused as a replay.
                text = f"{name}: světe! <&> \N{GRINNING FACE}"
                wanted = {**common, "namespace": ECHO, "soap": version, "text": text, **case.wanted}
                words = [*case.program, f"{passed.address}/{case.route}/echo", json.dumps(wanted)]

                def test(case=case, words=words):
                    _expect(case, _result(folder, *words))

                passed.requests.clear()
                outcome = "refused" if case.refused else "accepted"
                report.check("libraries", name, outcome, test)
                is_accepted = case.wanted in accepted
                _same_bytes(report, name, case, is_accepted, passed.requests, peer=peer, keys=keys, folder=folder)


def _same_bytes(report, name, case, is_accepted, requests, **reader):
    """WSS4J reads what the gateway got. An option set that is refused at one route may be accepted at another."""
    if len(requests) != 1:
        report.record("libraries", f"{name}: the same bytes", "wss4j", f"expected one message, found {len(requests)}")
        return
    route = next(route for route in ROUTES if route.name == case.route)
    unread = None if case.refused else case.unread
    same_bytes.check(report, ("libraries", name), requests[0], is_accepted, unread, route=route, **reader)


def _expect(case, result):
    if result["passed"] == case.refused:
        raise Failure(f"expected a call that is {'refused' if case.refused else 'accepted'}, found {json.dumps(result)}")
    if case.refused and not result.get("fault"):
        raise Failure(f"expected a SOAP fault, found {json.dumps(result)}")


def _result(folder, *words):
    done = run_program(*words, timeout=60)
    lines = [line for line in done.output.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise Failure(f"expected one result, found {len(lines)}; logs in {folder}\n{done.describe()}")
    return json.loads(lines[0])
