"""zeep: plain through the outbound gateway, and with its own security against the inbound gateway."""

import json
from pathlib import Path

from . import same_bytes, tap, wss4j
from .gateways import USER, Route, endpoint, running
from .installing import INTEROP
from .processes import Failure
from .processes import run as run_program

PYTHON = INTEROP / "zeep" / ".venv" / "bin" / "python"
CALLS = 10

# zeep signs with SHA-1 unless told otherwise: each reading is accepted only where a route names it.
SHA1 = {"suite": "Basic256"}
SHA256 = {
    "algorithms": {
        "signature": ["rsa-sha256"],
        "digest": ["sha256"],
        "canonicalization": ["http://www.w3.org/2001/10/xml-exc-c14n#"],
        "key_transport": ["rsa-oaep-mgf1p"],
        "data": ["aes256-cbc"],
    }
}
BODY_ONLY = {"signed": ["Body"], "timestamp": False}
ROUTES = [
    Route("none", "none", {}),
    Route("username", "username", {"password": "digest"}),
    Route("sign", "sign", {"suite": "Basic256Sha256"}),
    Route("encrypt", "encrypt", {"suite": "Basic256Sha256"}),
    Route("sign-encrypt", "sign-encrypt", {"suite": "Basic256Sha256"}),
    Route("encrypt-sign", "encrypt-sign", {"suite": "Basic128GCM"}),
    Route("zeep-sha1", "sign", SHA1, outbound=False),
    Route("zeep-sha256", "sign", SHA256, outbound=False),
    Route("zeep-body-only", "sign", {**SHA256, **BODY_ONLY, "key_reference": "issuer-serial"}, outbound=False),
    Route("zeep-text", "username", {"password": "text"}, outbound=False),
    Route("zeep-digest", "username", {"password": "digest"}, outbound=False),
]


def run(report, soapstone, keys, folder):
    """Every client against every route that is meant for it."""
    folder = Path(folder)
    with (
        running(soapstone, keys, folder, ROUTES) as gateways,
        tap.before(gateways.inbound) as passed,
        wss4j.peer(folder / "wss4j.log") as peer,
    ):
        for route in ROUTES:
            if route.outbound:
                _calls(report, f"plain, route {route.name}", folder, "plain.py", f"{gateways.outbound}/{route.name}")
        routes = {route.name: route for route in ROUTES}
        for security, route, options in (
            ("signature", "zeep-sha1", signer(keys)),
            ("binary-signature", "zeep-sha1", signer(keys)),
            ("signature", "zeep-sha256", ["--sha256", *signer(keys)]),
            ("binary-signature", "zeep-sha256", ["--sha256", *signer(keys)]),
            ("signature-body-only", "zeep-body-only", ["--sha256", *signer(keys)]),
            ("username", "zeep-text", ["--user", USER[0], "--password", USER[1]]),
            ("username-digest", "zeep-digest", ["--user", USER[0], "--password", USER[1]]),
        ):
            words = ["secured.py", f"{passed.address}/{route}", "--security", security, *options]
            passed.requests.clear()
            _calls(report, f"{security}, route {route}", folder, *words)
            if len(passed.requests) != CALLS:
                raise Failure(f"expected {CALLS} messages, found {len(passed.requests)}")
            for number, message in enumerate(passed.requests, 1):
                cell = ("zeep", f"{security}, route {route}, message {number}")
                same_bytes.check(report, cell, message, True, peer=peer, route=routes[route], keys=keys, folder=folder)
        _refusals(report, gateways, folder, signer(keys))


def signer(keys):
    """The options of zeep's signing client."""
    return [
        "--key", keys.key("client"), "--certificate", keys.certificate("client"), "--server", keys.certificate("server"),
    ]  # fmt: skip


def _calls(report, case, folder, script, *words):
    """Runs a script and notes each of its calls."""
    for result in _results(folder, script, *words):
        version = f"SOAP 1.{int(result['soap']) - 10}"
        reason = None if result["passed"] else result["error"]
        report.record("zeep", f"{case}, {version}", result["service"], reason)


def _refusals(report, gateways, folder, signer):
    """What zeep sends with the wrong password, or signed where encryption is demanded, gets a fault."""
    wrong = ["--user", USER[0], "--password", "guess"]
    for case, route, words in (
        ("wrong password", "zeep-text", ["--security", "username", *wrong]),
        ("wrong digest", "zeep-digest", ["--security", "username-digest", *wrong]),
        ("signed only", "sign-encrypt", ["--security", "binary-signature", "--sha256", *signer]),
        ("SHA-1 where SHA-256 is named", "zeep-sha256", ["--security", "binary-signature", *signer]),
    ):

        def test(route=route, words=words):
            for result in _results(folder, "secured.py", f"{gateways.inbound}/{route}", *words):
                if result["passed"] or not result["error"].startswith("Fault"):
                    raise Failure(f"expected a SOAP fault, found {json.dumps(result)}")

        report.check("zeep", f"refused: {case}", "fault", test)


def _results(folder, script, *words):
    done = run_program(PYTHON, INTEROP / "zeep" / script, *words, timeout=300)
    results = [json.loads(line) for line in done.output.splitlines() if line.startswith("{")]
    if len(results) != CALLS:
        raise Failure(f"expected {CALLS} results, found {len(results)}; logs in {folder}\n{done.describe()}")
    return results
