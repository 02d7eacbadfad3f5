"""Kerberos tokens with WSS4J and the GSS library of Java, in both directions: one KDC of MIT Kerberos for both.

The realm is on loopback and has a configuration of its own: nothing of the machine's Kerberos is read or written.
"""

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

from . import envelopes, jobs, wss4j
from .endpoints import Endpoint
from .processes import Failure, must, must_refuse

REALM = "EXAMPLE.COM"
SERVICE = f"HTTP/books.example@{REALM}"
CLIENT = f"alice@{REALM}"
PEER = "kerberos"
SUITES = ["Basic128", "Basic256", "Basic256Sha256"]
OUT, IN = "soapstone → WSS4J", "WSS4J → soapstone"

CLIENT_CONFIGURATION = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
"""
SERVER_CONFIGURATION = """[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
 }}
[logging]
 kdc = FILE:{folder}/kdc.log
"""
JAAS = """client {{
 com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true doNotPrompt=true keyTab="{client}" principal="{alice}";
}};
service {{
 com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true doNotPrompt=true storeKey=true isInitiator=false
 keyTab="{service}" principal="{books}";
}};
"""


class Realm:
    """The realm: where its files are, and what programs need to be of it."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        values = {"realm": REALM, "port": self.port, "folder": folder}
        (folder / "krb5.conf").write_text(CLIENT_CONFIGURATION.format(**values), encoding="utf-8")
        (folder / "kdc.conf").write_text(SERVER_CONFIGURATION.format(**values), encoding="utf-8")
        own = {"KRB5_CONFIG": "krb5.conf", "KRB5_KDC_PROFILE": "kdc.conf", "KRB5RCACHEDIR": ".", "KRB5CCNAME": "cache"}
        self.environment = {**os.environ, **{name: str(folder / file) for name, file in own.items()}}
        must("/usr/sbin/kdb5_util", "create", "-s", "-r", REALM, "-P", "master", env=self.environment)

    def keytab(self, name, principal):
        """A principal with random keys; the file with them."""
        path = self.folder / f"{name}.keytab"
        for query in (f"addprinc -randkey {principal}", f"ktadd -norandkey -k {path} {principal}"):
            must("/usr/sbin/kadmin.local", "-r", REALM, "-q", query, env=self.environment)
        return path


@contextlib.contextmanager
def realm(folder):
    """The realm with its KDC, for as long as the block runs."""
    made = Realm(folder)
    process = subprocess.Popen(["/usr/sbin/krb5kdc", "-n"], env=made.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", made.port), 1):
                break
            time.sleep(0.05)
        else:
            raise Failure("the KDC does not answer")
        yield made
    finally:
        process.kill()
        process.wait()


def endpoint(mechanism, suite, kerberos):
    """Our endpoint file: WSS4J takes the session key as it is."""
    made = Endpoint(mechanism, suite=suite)
    made.tables["kerberos"] = {**kerberos, "derived_keys": False}
    return made


def run(report, soapstone, keys, folder):
    """Every cell."""
    folder.mkdir(parents=True)
    with realm(folder) as made:
        service, client = made.keytab("service", SERVICE), made.keytab("client", CLIENT)
        jaas = folder / "jaas.conf"
        jaas.write_text(JAAS.format(client=client, service=service, alice=CLIENT, books=SERVICE), encoding="utf-8")
        options = [f"-Djava.security.krb5.conf={folder / 'krb5.conf'}", f"-Djava.security.auth.login.config={jaas}"]
        plain = folder / "plain.xml"
        plain.write_bytes(envelopes.books(3))
        ours = {
            "client": {"keytab": str(client), "principal": CLIENT, "service": SERVICE},
            "service": {"keytab": str(service), "principal": SERVICE},
        }
        with jobs.running("WSS4J", wss4j.JAR, folder / "wss4j.log", options) as peer:
            for mechanism in ("sign", "sign-encrypt"):
                for suite in SUITES:
                    cell(report, soapstone, made, peer, (mechanism, suite), ours, plain)


def cell(report, soapstone, made, peer, case, ours, plain):
    """One case in both directions, each with its refusals."""
    mechanism, suite = case
    name, folder = f"{mechanism} {suite}", made.folder
    message, opened = folder / "message.xml", folder / "opened.xml"
    theirs = ["--mechanism", mechanism, "--suite", suite, "--service", SERVICE]

    def to_them():
        config = endpoint(mechanism, suite, ours["client"]).write(folder)
        must(soapstone, "secure", "--config", config, plain, "-o", message, env=made.environment)
        peer.must("open-ticket", *theirs, message, opened)
        same(plain, opened)
        changed(message)
        peer.must_refuse("open-ticket", *theirs, message, opened)

    def to_us():
        config = endpoint(mechanism, suite, ours["service"]).write(folder)
        peer.must("secure-ticket", *theirs, plain, message)
        must(soapstone, "open", "--config", config, message, "-o", opened, env=made.environment)
        same(plain, opened)
        must_refuse(soapstone, "open", "--config", config, message, env=made.environment)
        peer.must("secure-ticket", *theirs, plain, message)
        changed(message)
        must_refuse(soapstone, "open", "--config", config, message, env=made.environment)

    report.check(PEER, name, OUT, to_them)
    report.check(PEER, name, IN, to_us)


def same(plain, opened):
    """The Body that was secured is the one that came out."""
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())


def changed(message):
    """Changes a character of the token's authenticator."""
    text = Path(message).read_text(encoding="utf-8")
    end = text.index("</wsse:BinarySecurityToken>")
    at = end - 40
    text = text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]
    Path(message).write_text(text, encoding="utf-8")
