"""A realm of MIT Kerberos with a KDC on loopback, for as long as a block runs.

Its configuration is its own: nothing of the machine's Kerberos is read or written.
"""

import contextlib
import os
import socket
import subprocess
import time

from .processes import Failure, must

REALM = "EXAMPLE.COM"
CLIENT = f"alice@{REALM}"

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
# What the GSS library of Java needs to know of one who makes tokens, and of one who accepts them.
MAKES = """{entry} {{
 com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true doNotPrompt=true keyTab="{keytab}" principal="{principal}";
}};
"""
ACCEPTS = """{entry} {{
 com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true doNotPrompt=true storeKey=true isInitiator=false
 keyTab="{keytab}" principal="{principal}";
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

    def keytab(self, name, principal, enctype=None):
        """A principal with random keys, of one type or of all; the file with them."""
        path = self.folder / f"{name}.keytab"
        keys = f"-e {enctype}:normal " if enctype else ""
        queries = [f"addprinc -randkey {keys}{principal}", f"ktadd -norandkey -k {path} {principal}"]
        if enctype:
            # The KDC takes every server with keys of AES for one that knows the usual types.
            queries.append(f"setstr {principal} session_enctypes {enctype}")
        for query in queries:
            must("/usr/sbin/kadmin.local", "-r", REALM, "-q", query, env=self.environment)
        return path

    def java(self, entries):
        """The options of a JVM in this realm whose entries are such: who makes tokens, or accepts them, by name."""
        text = "".join(form.format(entry=entry, keytab=keytab, principal=whose) for entry, (form, keytab, whose) in entries.items())
        jaas = self.folder / f"{'-'.join(entries)}.jaas"
        jaas.write_text(text, encoding="utf-8")
        return [f"-Djava.security.krb5.conf={self.folder / 'krb5.conf'}", f"-Djava.security.auth.login.config={jaas}"]


@contextlib.contextmanager
def running(folder):
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
