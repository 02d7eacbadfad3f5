"""Makes the keys and certificates of a test run, in a folder of its own.

`soapstone keys` is tested on its own; the openssl command makes these, so that a fault of ours in making keys cannot
hide a fault in using them.
"""

import secrets
from pathlib import Path

from .processes import must

# Whoever is not here has an RSA key.
ALGORITHMS = {
    "p256": ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    "p384": ["ec", "-pkeyopt", "ec_paramgen_curve:secp384r1"],
    "p521": ["ec", "-pkeyopt", "ec_paramgen_curve:secp521r1"],
    "ed25519": ["ed25519"],
}

# Keys that agree and sign nothing, not even the request for their certificate.
AGREEING = {"x25519": "X25519"}


class Keys:
    """Paths of keys and certificates: `key("client")`, `certificate("client")`, `secret(32)`.

    `ca` signed all of them but `stranger`, which `other_ca` signed.
    """

    def __init__(self, folder, names=("client", "server", "approver", *ALGORITHMS, *AGREEING), rsa_bits=2048):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ca = self._authority("ca", "Soapstone Test CA")
        self.other_ca = self._authority("other-ca", "Another CA")
        rsa = [f"rsa:{rsa_bits}"]
        for name in names:
            self._issue(name, ALGORITHMS.get(name, rsa), "ca")
        self._issue("stranger", rsa, "other-ca")

    def key(self, name):
        """The private key's PEM file (PKCS#8)."""
        return self.folder / f"{name}.key.pem"

    def certificate(self, name):
        """The certificate's PEM file."""
        return self.folder / f"{name}.cert.pem"

    def secret(self, length):
        """A file with that many random bytes; always the same one for the same length."""
        path = self.folder / f"secret.{length}.bin"
        if not path.exists():
            path.write_bytes(secrets.token_bytes(length))
        return path

    def issue_dsa(self, name):
        """A DSA key of 1024 bits, which `ca` signs: the size that goes with SHA-1."""
        parameters = self.folder / "dsa.parameters"
        if not parameters.exists():
            must("openssl", "dsaparam", "-out", parameters, "1024")
        self._issue(name, [f"dsa:{parameters}"], "ca")

    def _authority(self, name, common_name):
        path = self.folder / f"{name}.pem"
        must(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-sha256",
            "-keyout", self.key(name), "-out", path, "-subj", f"/O=Soapstone/CN={common_name}",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip
        return path

    def _issue(self, name, algorithm, authority):
        request, options = self.folder / f"{name}.csr", []
        private = self.key(name)
        if name in AGREEING:
            must("openssl", "genpkey", "-algorithm", AGREEING[name], "-out", private)
            public = self.folder / f"{name}.pub.pem"
            must("openssl", "pkey", "-in", private, "-pubout", "-out", public)
            # Another key makes the request; the authority puts this one into the certificate.
            private, options = self.folder / f"{name}.request.key.pem", ["-force_pubkey", public]
        extensions = self.folder / "extensions"
        extensions.write_text(
            "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature,keyEncipherment,keyAgreement\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n",
            encoding="ascii",
        )
        must(
            "openssl", "req", "-newkey", *algorithm, "-nodes", "-keyout", private, "-out", request,
            "-subj", f"/O=Soapstone/CN={name}",
        )  # fmt: skip
        must(
            "openssl", "x509", "-req", "-in", request, "-CA", self.folder / f"{authority}.pem", "-CAkey", self.key(authority), "-sha256",
            "-set_serial", f"0x{secrets.token_hex(12)}", "-days", "30", "-extfile", extensions, *options,
            "-out", self.certificate(name),
        )  # fmt: skip
