"""wse-php, PHP's class for WS-Security, against the inbound gateway: what it writes, option by option.

Composer's registry is the only one that has wse-php. So the folder that Composer made is given to `interop/run`, and a clone
without it has the messages in `interop/recorded/wse-php`.
"""

import base64
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import installing
from .gateways import USER, Route, endpoint, running
from .installing import INTEROP
from .processes import Failure
from .processes import run as run_program

CLIENT = INTEROP / "libraries" / "php" / "client.php"
ECHO = "urn:soapstone:services:echo"
RSA_SHA1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
SHA1 = "http://www.w3.org/2000/09/xmldsig#sha1"
RSA15 = "http://www.w3.org/2001/04/xmlenc#rsa-1_5"
CBC = "http://www.w3.org/2001/04/xmlenc#aes{}-cbc"
GCM = "http://www.w3.org/2009/xmlenc11#aes{}-gcm"
SIGNED = ["Body", "Timestamp"]
HIDDEN = ["Signature", "Body"]
# With an identifier the class writes `ds:KeyInfo` into the second element of the header.
BY_IDENTIFIER = {"options": {"KeyInfo": {"X509SubjectKeyIdentifier": True}, "insertBefore": False}}

RSA_SHA256 = {"signature": ["rsa-sha256"], "digest": ["sha256"], "canonicalization": ["http://www.w3.org/2001/10/xml-exc-c14n#"]}
SHA256 = {"algorithms": RSA_SHA256}
AUTHENTICATED = {**RSA_SHA256, "data": ["aes256-gcm"], "key_transport": ["rsa-oaep-mgf1p"], "oaep_digest": ["sha1"]}

ROUTES = [
    # An outbound gateway has one route at least.
    Route("none", "none", {}),
    Route("signed", "sign", SHA256, outbound=False),
    Route("sha1", "sign", {"suite": "Basic256"}, outbound=False),
    Route("header", "sign", {**SHA256, "signed": [*SIGNED, "{http://www.w3.org/2005/08/addressing}To"]}, outbound=False),
    Route("token", "sign", {**SHA256, "signed": [*SIGNED, "Token"]}, outbound=False),
    Route("body", "sign", {**SHA256, "signed": ["Body"], "timestamp": False}, outbound=False),
    Route("cbc", "sign-encrypt", {"suite": "Basic256", "encrypted": HIDDEN}, outbound=False),
    Route("cbc128", "sign-encrypt", {"suite": "Basic128", "encrypted": ["Body"]}, outbound=False),
    Route("gcm", "sign-encrypt", {"algorithms": AUTHENTICATED, "encrypted": HIDDEN}, outbound=False),
    Route("rsa15", "sign-encrypt", {"suite": "Basic256Rsa15", "encrypted": HIDDEN}, outbound=False),
    Route("text", "username", {"password": "text"}, outbound=False),
    Route("digest", "username", {"password": "digest"}, outbound=False),
    Route("both", "username", {**SHA256, "signed": SIGNED, "password": "digest"}, outbound=False),
]


@dataclass
class Case:
    """What the class is told to write, and the route that is meant for it."""

    name: str
    route: str
    wanted: dict
    refused: bool = False


def cases():
    """Every option set."""
    sha1 = {"signature": RSA_SHA1, "digest": SHA1}
    yield Case("token after the signature", "signed", {})
    yield Case("token signed", "token", {"signs_token": True})
    yield Case("token not signed", "token", {}, refused=True)
    yield Case("subject key identifier", "signed", BY_IDENTIFIER)
    yield Case("all headers signed", "header", {"signs_all_headers": True})
    yield Case("headers not signed", "header", {}, refused=True)
    yield Case("signature at the end", "signed", {"options": {"insertBefore": False}})
    yield Case("no timestamp", "body", {"timestamp": False})
    yield Case("no timestamp, where one is demanded", "signed", {"timestamp": False}, refused=True)
    yield Case("timestamp for an hour", "signed", {"seconds": 3600})
    yield Case("rsa-sha1", "sha1", sha1)
    yield Case("rsa-sha1, where rsa-sha256 is named", "signed", sha1, refused=True)
    yield Case("AES-256-CBC", "cbc", {**sha1, "cipher": CBC.format(256)})
    yield Case("AES-128-CBC, signature in the clear", "cbc128", {**sha1, "cipher": CBC.format(128), "encrypts_signature": False})
    shown = {**sha1, "cipher": CBC.format(256), "encrypts_signature": False}
    yield Case("AES-256-CBC, where the signature is to be hidden", "cbc", shown, refused=True)
    yield Case("AES-256-GCM", "gcm", {"cipher": GCM.format(256)})
    yield Case("RSA 1.5", "rsa15", {**sha1, "cipher": CBC.format(256), "transport": RSA15})
    yield Case("RSA 1.5, where OAEP is named", "cbc", {**sha1, "cipher": CBC.format(256), "transport": RSA15}, refused=True)
    yield Case("user, text", "text", {"signs": False, "shows_user": True})
    yield Case("user, digest", "digest", {"signs": False, "shows_user": True, "hashes": True})
    yield Case("user, wrong password", "digest", {"signs": False, "shows_user": True, "hashes": True, "password": "guess"}, refused=True)
    yield Case("user and certificate", "both", {"shows_user": True, "hashes": True})


def install():
    """PHP with its DOM."""
    if not shutil.which("php"):
        installing.debian("php-cli")
    installing.debian("php-xml")


def run(report, soapstone, keys, folder, *, library):
    """Every option set, in both versions of SOAP."""
    folder = Path(folder)
    with running(soapstone, keys, folder, ROUTES) as gateways:
        for case in cases():
            for version in ("11", "12"):
                name = f"{case.name}, SOAP 1.{int(version) - 10}"
                # One text twice within a second is one message twice, which is refused as a replay.
                wanted = {"soap": version, "namespace": ECHO, "text": f"{name}: světe! <&>", **_who(keys), **case.wanted}

                def test(case=case, wanted=wanted):
                    found = _result(library, f"{gateways.inbound}/{case.route}/echo", wanted)
                    _expect(case, found)

                report.check("wse-php", name, "refused" if case.refused else "accepted", test)


def record(keys, library, plain, finish):
    """The accepted messages of SOAP 1.1 with this content, and an endpoint file beside each."""
    routes = {route.name: route for route in ROUTES}
    for case in cases():
        if case.refused:
            continue
        wanted = {"soap": "11", "plain": str(plain), **_who(keys), **case.wanted, "only_writes": True}
        found = _result(library, "", wanted)
        if not found["passed"]:
            raise Failure(f"{case.name}: expected a message, found {json.dumps(found)[:300]}")
        finish(case.name, base64.b64decode(found["message"]), endpoint(routes[case.route], "inbound", keys))


def _who(keys):
    return {
        "user": USER[0],
        "password": USER[1],
        "key": str(keys.key("client")),
        "certificate": str(keys.certificate("client")),
        "peer": str(keys.certificate("server")),
    }


def _expect(case, found):
    if found["passed"] == case.refused:
        raise Failure(f"expected a call that is {'refused' if case.refused else 'accepted'}, found {json.dumps(found)[:300]}")
    if case.refused and not found.get("fault"):
        raise Failure(f"expected a SOAP fault, found {json.dumps(found)[:300]}")


def _result(library, address, wanted):
    done = run_program("php", CLIENT, address, json.dumps(wanted), library, timeout=60)
    lines = [line for line in done.output.splitlines() if line.startswith("{")]
    if len(lines) != 1:
        raise Failure(f"expected one result, found {len(lines)}\n{done.describe()}")
    return json.loads(lines[0])
