"""The bytes that a library's call sent to a gateway of ours, read by WSS4J under the demands of the same route.

The rule kept here: what WSS4J accepts, some endpoint of ours accepts. A cell tells what WSS4J said.
"""

from .gateways import USER
from .processes import Failure

# What WSS4J says by default; where a rule of the Basic Security Profile stops it, it reads on
# without its checks of the profile.
PROFILE = "BSP:"


def check(report, cell, message, read_by_us, unread="", *, peer, route, keys, folder):
    """A cell about one message: `read_by_us` says whether an endpoint of ours accepts such messages, `unread` what WSS4J says of it.

    `unread` is None where nobody has to accept the message.
    """
    library, name = cell
    file = folder / "same-bytes.xml"
    file.write_bytes(message)
    rule, reason = _said(peer, route, keys, file)
    told = "refuses" if reason else "accepts"

    def test():
        if not reason and not read_by_us:
            raise Failure("expected an endpoint of ours that accepts what WSS4J accepts, found none")
        if unread is not None and (bool(reason) != bool(unread) or unread not in reason):
            raise Failure(f"expected that WSS4J {f'says {unread}' if unread else 'accepts'}, found {reason or 'that it accepts'}")

    because = f" ({reason.splitlines()[0]})" if reason else ""
    without = f" without its checks of BSP ({rule})" if rule else ""
    report.check(library, f"{name}: WSS4J {told} the same bytes{without}{because}", "wss4j", test)


def _said(peer, route, keys, file):
    """The rule of the profile that WSS4J found broken, and why it refuses without that; each empty where there is none."""
    demanded = demands(route, keys)
    reason = _reason(peer, demanded, file)
    if not reason.startswith(PROFILE):
        return "", reason
    rule = reason.removeprefix(PROFILE).partition(":")[0]
    return rule, _reason(peer, [*demanded, "--bsp", "no"], file)


def _reason(peer, options, file):
    result = peer.job("open", *options, file, file.with_suffix(".opened"))
    if result["exit"] not in (0, 2):
        raise Failure(f"WSS4J: {result}")
    return result.get("reason", "")


def demands(route, keys):
    """WSS4J's options for what a route demands."""
    security = route.security
    signs = route.mechanism == "sign" or "signed" in security
    mechanism = "sign" if signs else "username-digest" if security.get("password") == "digest" else "username"
    sha1 = route.name.endswith("sha1")
    options = ["--suite", "Basic256" if sha1 else "Basic256Sha256", "--signature", "rsa-sha1" if sha1 else "rsa-sha256"]
    # Where nothing is signed, no route of ours demands a Timestamp.
    timestamp = security.get("timestamp", signs)
    options += ["--mechanism", mechanism, "--timestamp", "yes" if timestamp else "no"]
    options += ["--signed", ",".join(security.get("signed", ["Body", "Timestamp"]))]
    return [*options, "--user", USER[0], "--password", USER[1], "--ca", keys.ca, "--peer", keys.certificate("client")]
