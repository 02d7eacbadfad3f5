"""Every way to name a key that we write, as WSS4J reads it with its checks of the Basic Security Profile on.

The table is whole: each form has a cell for each use that our endpoint files allow. Where WSS4J refuses a form, the cell says who of
WSS4J does, and fails once it is read. Where the profile forbids a form (R5417, R5426), the cell says so, and a second one has its
checks off. STR-Transform, exclusive canonicalization and the transforms of attachments (`harness/attachments.py`) are all that we write.
"""

import re
from pathlib import Path

from . import envelopes
from .endpoints import Endpoint
from .processes import Failure, must, must_refuse

# The uses of a name: the mechanism, the suite, and where the endpoint file says the form.
SIGNATURE, STR_TRANSFORM, TRANSPORT, AGREEMENT = "signature", "STR transform", "key transport", "key agreement"
HMAC, CIPHER = "HMAC", "shared key that enciphers"
USES = {
    SIGNATURE: ("sign", "Basic128GCM", "signature", {}),
    STR_TRANSFORM: ("sign", "Basic128GCM", "signature", {"str_transform": True}),
    TRANSPORT: ("sign-encrypt", "Basic128GCM", "encryption", {}),
    AGREEMENT: ("sign-encrypt", "Basic128GCMEcdhEs", "encryption", {}),
    HMAC: ("sign", "Basic128GCM", None, {}),
    CIPHER: ("encrypt", "Basic128GCM", None, {}),
}
SIGNING, BY_CERTIFICATE = (SIGNATURE, STR_TRANSFORM), (SIGNATURE, STR_TRANSFORM, TRANSPORT, AGREEMENT)
X509 = (SIGNATURE, TRANSPORT, AGREEMENT)
# The uses of each form. A signature covers a certificate through a `wsse:SecurityTokenReference`
# alone.
FORMS = {
    "direct": BY_CERTIFICATE, "pki-path": BY_CERTIFICATE, "ski": BY_CERTIFICATE, "thumbprint": BY_CERTIFICATE,
    "issuer-serial": BY_CERTIFICATE, "issuer-serial-quoted": BY_CERTIFICATE, "issuer-serial-certificate": X509,
    "embedded": BY_CERTIFICATE, "key-name": (*BY_CERTIFICATE, HMAC, CIPHER), "x509-data": X509, "x509-ski": X509,
    "x509-issuer-serial": X509, "x509-issuer-serial-certificate": X509, "key-value": X509,
    "encrypted-key-sha1": (HMAC, CIPHER),
}  # fmt: skip
BARE = ("key-name", "x509-data", "x509-ski", "x509-issuer-serial", "x509-issuer-serial-certificate")
# The rule of the profile that forbids a form: of a signature's ds:KeyInfo, and of that of cipher
# text.
FORBIDDEN = {
    **{(form, SIGNATURE): "R5417" for form in (*BARE, "key-value")}, ("key-name", HMAC): "R5417",
    **{(form, use): "R5426" for form in BARE[1:] for use in (TRANSPORT, AGREEMENT)}, ("key-name", CIPHER): "R5426",
}  # fmt: skip
# The class of WSS4J that refuses a form, with its checks of the profile off as well. It reads
# references to tokens, identifiers and issuers with serial numbers; outside of a
# wsse:SecurityTokenReference a signature may have ds:KeyValue alone.
UNREAD = {
    **{("embedded", use): "SignatureSTRParser" for use in SIGNING},
    **{("embedded", use): "CertificateResult$Builder" for use in (TRANSPORT, AGREEMENT)},
    **{(form, SIGNATURE): "X509Util" for form in BARE}, ("key-name", HMAC): "X509Util", ("key-name", STR_TRANSFORM): "SignatureSTRParser",
    **{("key-name", use): "EncryptedKeyProcessor" for use in (TRANSPORT, AGREEMENT)},
}  # fmt: skip
FORM = re.compile(r"must be one of ([^\n]*), found")


class Case:
    """A form in a use, as our endpoint files and as WSS4J's options say it."""

    def __init__(self, form, use, soap=envelopes.SOAP11):
        self.form, self.use, self.soap = form, use, soap
        self.mechanism, self.suite, self.place, self.more = USES[use]
        self.recipient = "p256" if use == AGREEMENT else "server"
        self.signer = "p256" if use == AGREEMENT else "client"

    def endpoint(self, keys):
        """Our endpoint, which secures."""
        named = {"key_reference": self.form, **self.more}
        security = {self.place: named} if self.place else named
        if self.use == STR_TRANSFORM:
            security["signed"] = ["Body", "Timestamp", "Token"]
        endpoint = Endpoint(self.mechanism, suite=self.suite, **security)
        if self.place:
            return endpoint.ours(keys, self.signer).encrypt_to(keys, self.recipient)
        endpoint.tables["shared_key"] = {"name": "interop", "file": str(keys.secret(16))}
        return endpoint

    def options(self, keys, profile=True):
        """WSS4J's options, which open."""
        options = ["--mechanism", self.mechanism, "--suite", self.suite, "--bsp", "yes" if profile else "no"]
        if not self.place:
            return [*options, "--shared-key", keys.secret(16)]
        # A name means a certificate that is known.
        options += ["--peer", keys.certificate(self.signer), "--ca", keys.ca]
        return [*options, "--key", keys.key(self.recipient), "--cert", keys.certificate(self.recipient)]


def run(report, soapstone, keys, folder, peer):
    """The whole table, and that it is whole."""
    folder = Path(folder)
    report.check("wss4j", "references: every form has its cells", "soapstone -> wss4j", lambda: _whole(soapstone, keys, folder))
    number = 0
    for form, uses in FORMS.items():
        for use in uses:
            for soap in (envelopes.SOAP11, envelopes.SOAP12):
                case, number = Case(form, use, soap), number + 1
                plain = folder / f"reference-{number:03}.plain.xml"
                plain.write_bytes(envelopes.books(5, soap))
                for name, test in _cells(case):
                    version = "SOAP 1.1" if soap == envelopes.SOAP11 else "SOAP 1.2"
                    named = f"reference {form}, {use}, {version}{name}"
                    report.check("wss4j", named, "soapstone -> wss4j", lambda: test(case, peer, soapstone, keys, folder, plain))


def _cells(case):
    rule, unread = FORBIDDEN.get((case.form, case.use)), UNREAD.get((case.form, case.use))
    if rule:
        yield f": BSP forbids it ({rule})", _forbidden
    if unread:
        yield f": WSS4J cannot read it ({unread})", _unread
    else:
        yield (", BSP off" if rule else ""), _read


def _whole(soapstone, keys, folder):
    """Our endpoint files know these forms and no others, and refuse each use of one that has no cell."""
    known = FORM.search(_no_endpoint(soapstone, Endpoint("sign", key_reference="?"), folder))
    if known is None or known[1].split(", ") != list(FORMS):
        raise Failure(f"expected the forms {', '.join(FORMS)}, found {known and known[1]}")
    for form, uses in FORMS.items():
        for use in BY_CERTIFICATE:
            if use not in uses:
                _no_endpoint(soapstone, Case(form, use).endpoint(keys), folder)


def _no_endpoint(soapstone, endpoint, folder):
    """What our program says of an endpoint file that it refuses."""
    file = endpoint.write(folder)
    done = must_refuse(soapstone, "secure", "--config", file, file, "-o", file.with_suffix(".xml"), statuses=(1,))
    if "in the configuration" not in done.errors:
        raise Failure(f"expected a problem in the configuration, found {done.describe()}")
    return done.errors


def _secured(case, soapstone, keys, folder, plain):
    secured = plain.with_suffix(".ours")
    must(soapstone, "secure", "--config", case.endpoint(keys).write(folder), plain, "-o", secured)
    return secured


def _read(case, peer, soapstone, keys, folder, plain):
    secured, opened = _secured(case, soapstone, keys, folder, plain), plain.with_suffix(".ours-opened")
    options = case.options(keys, profile=(case.form, case.use) not in FORBIDDEN)
    peer.must("open", *options, secured, opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    peer.must_refuse("open", *options, _altered(case, secured), opened)


def _forbidden(case, peer, soapstone, keys, folder, plain):
    secured = _secured(case, soapstone, keys, folder, plain)
    result = peer.job("open", *case.options(keys), secured, plain.with_suffix(".ours-opened"))
    expected = f"BSP:{FORBIDDEN[case.form, case.use]}:"
    if result["exit"] != 2 or not result["reason"].startswith(expected):
        raise Failure(f"expected WSS4J to refuse by {expected}, found {result}")


def _unread(case, peer, soapstone, keys, folder, plain):
    secured = _secured(case, soapstone, keys, folder, plain)
    found = peer.must("refuser", *case.options(keys, profile=False), secured)["class"]
    if found != UNREAD[case.form, case.use]:
        raise Failure(f"expected {UNREAD[case.form, case.use]} of WSS4J to refuse, found {found or 'that the message is read'}")


def _altered(case, secured):
    """The message with one character changed where it is protected."""
    path = secured.with_name(secured.name + "-altered")
    message = secured.read_bytes()
    if case.mechanism == "sign":
        changed = message.replace(b"Title number 2 ", b"Title number 3 ")
    else:
        # The end of the cipher text is its authentication tag.
        at = message.rindex(b"</xenc:CipherValue>") - 8
        changed = message[:at] + (b"A" if message[at : at + 1] != b"A" else b"B") + message[at + 1 :]
    if changed == message:
        raise Failure(f"nothing to alter in {secured}")
    path.write_bytes(changed)
    return path
