"""wrk, posting one SOAP message over and over."""

import json

from . import installing
from .processes import Failure, must

SCRIPT = installing.INTEROP / "nginx" / "post.lua"


def post(name, address, connections, seconds, threads=1):
    """What wrk counted in that time; a single failed request is a failure."""
    done = must(
        "wrk", "-t", threads, "-c", connections, "-d", f"{seconds}s", "-s", SCRIPT, address, timeout=seconds + 60
    )  # fmt: skip
    result = json.loads(next(line for line in done.output.splitlines() if line.startswith("{")))
    kinds = result.pop("kinds")
    if result["errors"] or not result["requests"]:
        raise Failure(f"{name}: {result['errors']} of {result['requests']} requests failed: {kinds}")
    result = {"stack": name, "op": "forward", "payload": "echo", "clients": connections, **result}
    result["per_s"] = round(result["requests"] / result["seconds"], 1)
    return result
