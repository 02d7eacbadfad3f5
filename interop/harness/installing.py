"""Installs what a peer needs, says so, and does nothing when it is there already.

The rule kept here: once everything is installed, nothing touches the network.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

INTEROP = Path(__file__).resolve().parent.parent
REPOSITORY = INTEROP.parent
JAVA = {"javac": "default-jdk-headless", "mvn": "maven"}
# Who starts a peer again in the middle of a run says so: then it runs as it was built, even if
# sources have changed meanwhile.
INSTALLED = bool(os.environ.get("SOAPSTONE_STACK_INSTALLED"))


def say(text):
    """Tells the operator what happens, apart from the results on standard output."""
    print(f"interop: {text}", file=sys.stderr, flush=True)


def debian(*packages):
    """Installs Debian packages that are missing."""
    if INSTALLED:
        return
    subprocess.run([REPOSITORY / ".ci" / "packages", *packages], check=True)


def java():
    """Installs a Java development kit and Maven, unless there are some."""
    debian(*(package for command, package in JAVA.items() if not shutil.which(command)))


def gsoap():
    """Installs gSOAP with the sources of its plugins, and what compiles them."""
    debian("gsoap", "libgsoap-dev", "libssl-dev", "zlib1g-dev", "g++", "make", "pkg-config")


def kerberos():
    """Installs a KDC of MIT Kerberos, its programs, and the library that soapstone loads."""
    debian("krb5-kdc", "krb5-admin-server", "krb5-user", "libgssapi-krb5-2")


def mono():
    """Installs Mono's runtime, compiler and WCF."""
    debian("mono-runtime", "mono-mcs", "libmono-system-servicemodel4.0a-cil")


def libxmlsec1():
    """Installs libxmlsec1's headers, and what compiles against them."""
    debian("pkg-config", "gcc", "make", "libxmlsec1-dev")


def build(target):
    """Builds one of the peers (a target of interop/Makefile)."""
    if INSTALLED:
        return
    subprocess.run(["make", "--no-print-directory", "-s", "-C", str(INTEROP), target], check=True, stdout=sys.stderr)
