"""Installs what a peer needs, says so, and does nothing when it is there already.

The rule kept here: once everything is installed, nothing touches the network.
"""

import os
import subprocess
import sys
from pathlib import Path

INTEROP = Path(__file__).resolve().parent.parent
REPOSITORY = INTEROP.parent


def say(text):
    """Tells the operator what happens, apart from the results on standard output."""
    print(f"interop: {text}", file=sys.stderr, flush=True)


def debian(*packages):
    """Installs Debian packages that are missing."""
    missing = [name for name in packages if not _installed(name)]
    if not missing:
        return
    if os.geteuid() != 0:
        raise SystemExit(f"interop: missing Debian packages; as root: apt-get install {' '.join(missing)}")
    say(f"installing Debian packages: {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", *missing]):
        subprocess.run(["apt-get", *command], check=True, env=environment, stdout=subprocess.DEVNULL)


def _installed(package):
    query = ["dpkg-query", "-W", "-f=${db:Status-Abbrev}", package]
    found = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return found.stdout.startswith("ii")


def build(target):
    """Builds one of the peers (a target of interop/Makefile)."""
    subprocess.run(["make", "--no-print-directory", "-s", "-C", str(INTEROP), target], check=True, stdout=sys.stderr)
