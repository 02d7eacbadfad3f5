"""Apache WSS4J in both directions: it opens what we secure, and we open what it secures.

One JVM answers all jobs, so that the matrix costs one start of it.
"""

import json
from pathlib import Path

from . import attached_gateways, attachments, bsp_samples, envelopes, jobs, password_keys, references
from .endpoints import Endpoint
from .installing import INTEROP
from .processes import Failure, must, must_refuse

JAR = INTEROP / "wss4j" / "target" / "wss4j-peer.jar"
USER = password_keys.USER

MECHANISMS = ["username", "username-digest", "sign", "encrypt", "sign-encrypt", "encrypt-sign"]
SUITES = ["Basic128", "Basic256", "Basic256Sha256", "TripleDes", "TripleDesRsa15", "Basic128GCM"]
OTHER_SUITES = [
    "Basic192", "Basic128Rsa15", "Basic192Rsa15", "Basic256Rsa15", "Basic128Sha256", "Basic192Sha256", "TripleDesSha256",
    "Basic128Sha256Rsa15", "Basic192Sha256Rsa15", "Basic256Sha256Rsa15", "TripleDesSha256Rsa15", "Basic256GCM",
]  # fmt: skip
REFERENCES = ["direct", "ski", "thumbprint", "issuer-serial"]
ADDRESSING = "{http://www.w3.org/2005/08/addressing}To"
KEY = "{http://www.w3.org/2001/04/xmlenc#}EncryptedKey"
DSIG_MORE = "http://www.w3.org/2001/04/xmldsig-more#"


def peer(log):
    """The WSS4J program, for as long as the block runs."""
    return jobs.running("WSS4J", JAR, log)


class Case:
    """One combination, as our endpoint files and as WSS4J's options say it."""

    def __init__(
        self, mechanism, suite, soap=envelopes.SOAP11, reference=None, signer="client", recipient="server", ours=None, theirs=None
    ):
        self.mechanism, self.suite, self.soap, self.reference = mechanism, suite, soap, reference
        self.signer, self.recipient = signer, recipient
        self.ours, self.theirs = ours or {}, theirs or {}
        self.both_ways = "signature" not in self.ours and "encryption" not in self.ours
        self.pinned = reference not in (None, "direct")

    def endpoint(self, keys, inbound):
        """Our endpoint: the client's when outbound, the server's when inbound."""
        security = dict(self.ours)
        if "algorithms" not in security:
            security["suite"] = self.suite
        if self.reference:
            security["key_reference"] = self.reference
        mechanism = self.mechanism
        if mechanism.startswith("username"):
            security["password"] = "digest" if mechanism == "username-digest" else "text"
            mechanism = "username"
        endpoint = Endpoint(mechanism, **security)
        if inbound:
            endpoint.ours(keys, "server").trust(keys.ca)
            if self.recipient != "server":
                endpoint.decrypts_with(keys, self.recipient)
            if self.pinned:
                endpoint.pin(keys.certificate(self.signer))
        else:
            endpoint.ours(keys, self.signer).encrypt_to(keys, self.recipient)
        if mechanism == "username":
            endpoint.user(*USER)
        return endpoint

    def options(self, keys, inbound):
        """WSS4J's options, with the roles the same way."""
        options = ["--mechanism", self.mechanism, "--suite", self.suite, "--user", USER[0], "--password", USER[1]]
        own = {"key-reference": self.reference or "direct", **self.theirs}
        key_reference = own.pop("key-reference")
        for name, value in own.items():
            options += [f"--{name}", value]
        if inbound:
            options += ["--key", keys.key("server"), "--cert", keys.certificate("server"), "--ca", keys.ca]
            if self.recipient != "server":
                options += ["--decryption-key", keys.key(self.recipient), "--decryption-cert", keys.certificate(self.recipient)]
            if self.reference not in (None, "direct"):
                options += ["--peer", keys.certificate(self.signer)]
        else:
            options += ["--key", keys.key(self.signer), "--cert", keys.certificate(self.signer)]
            options += ["--peer", keys.certificate(self.recipient), "--key-reference", key_reference]
        return options


def cases():
    """Every case by its name."""
    for mechanism in MECHANISMS:
        for suite in SUITES:
            yield f"{mechanism} {suite}", Case(mechanism, suite)
    for suite in OTHER_SUITES:
        yield f"sign-encrypt {suite}", Case("sign-encrypt", suite)
    for reference in REFERENCES:
        for suite in ("Basic256Sha256", "Basic128GCM"):
            yield f"sign-encrypt {suite}, {reference}", Case("sign-encrypt", suite, reference=reference)
    for mechanism in ("username-digest", "sign-encrypt", "encrypt-sign"):
        yield f"{mechanism} Basic128GCM, SOAP 1.2", Case(mechanism, "Basic128GCM", soap=envelopes.SOAP12)
    parts = {"signed": ["Body", "Timestamp", ADDRESSING]}
    yield "sign Basic128GCM, header signed", Case("sign", "Basic128GCM", ours=parts, theirs=_joined(parts))
    for mechanism in ("sign-encrypt", "encrypt"):
        parts = {"encrypted": ["Body", ADDRESSING]}
        yield f"{mechanism} Basic128GCM, header encrypted", Case(mechanism, "Basic128GCM", ours=parts, theirs=_joined(parts))
    parts = {"encrypted": ["Body", "Signature"]}
    yield "sign-encrypt Basic128GCM, signature encrypted", Case("sign-encrypt", "Basic128GCM", ours=parts, theirs=_joined(parts))
    wcf = _algorithms("rsa-sha256", "aes256-cbc", "rsa-oaep-mgf1p")
    yield "sign-encrypt Basic256Sha256, rsa-sha256", Case(
        "sign-encrypt", "Basic256Sha256", ours=wcf, theirs={"signature": "rsa-sha256"}
    )
    for signer, method in (("p256", "ecdsa-sha256"), ("p384", "ecdsa-sha384"), ("p521", "ecdsa-sha512"), ("ed25519", "ed25519")):
        yield f"sign {method}", Case(
            "sign", "Basic256Sha256", signer=signer, ours=_algorithms(method, "aes256-cbc", "rsa-oaep-mgf1p"),
            theirs={"signature": method},
        )  # fmt: skip
    yield from agreements()
    yield from derivations()
    yield from forms()


def derivations():
    """What ConcatKDF digests, as AS4 profiles have it: they name the recipient against BSP 1.1 (R5426)."""
    for reference in ("x509-ski", "x509-data", "x509-issuer-serial"):
        wanted = {"encryption": {"key_reference": reference, "derivation_info": ""}}
        name = "Basic128GCMEcdhEs"
        case = Case("sign-encrypt", name, signer="p256", recipient="p256", ours=wanted, theirs={"bsp": "no"})
        yield f"sign-encrypt {name}, recipient by {reference}, no derivation info", case


def forms():
    """Forms of ours that WSS4J writes as well: prefix lists, and the digest of OAEP that is the default."""
    listing = {"signature": {"inclusive_prefixes": True}}
    parts = {"signed": ["Body", "Timestamp", "Token", ADDRESSING]}
    for mechanism in ("sign", "sign-encrypt", "encrypt-sign"):
        yield f"{mechanism} Basic128GCM, prefix lists", Case(mechanism, "Basic128GCM", ours={**listing, **parts})
    named = {"signature": {"inclusive_prefixes": ["soap"]}}
    yield "sign Basic128GCM, named prefixes", Case("sign", "Basic128GCM", ours={**named, **parts})
    implied = {"encryption": {"implied_digest": True}}
    yield "sign-encrypt Basic256, implied digest", Case("sign-encrypt", "Basic256", ours={**implied, **listing})


def sent_by_wss4j():
    """Forms that WSS4J writes, by name: what names the key, what is signed, and whether the token is sent along."""
    for reference in (*REFERENCES, "issuer-serial-quoted", "pki-path", "x509"):
        theirs = {"key-reference": reference, "signed": "Body,Timestamp,STRTransform"}
        yield f"{reference}, STR transform", theirs, {"signed": ["Body", "Timestamp", "Token"]}
    for reference in ("ski", "thumbprint", "issuer-serial"):
        theirs = {"key-reference": reference, "include-token": "yes"}
        yield f"{reference} of a token in the message", theirs, {}


def agreements():
    """Session keys wrapped with a key that both sides agree on, by name."""
    for suite, signer, recipient in (("EcdhEs", "p256", "p256"), ("X25519", "ed25519", "x25519")):
        for mechanism in ("encrypt", "sign-encrypt", "encrypt-sign"):
            name = f"Basic128GCM{suite}"
            yield f"{mechanism} {name}", Case(mechanism, name, signer=signer, recipient=recipient)
        name = f"Basic256GCM{suite}"
        yield f"sign-encrypt {name}", Case("sign-encrypt", name, signer=signer, recipient=recipient)
        for reference in REFERENCES:
            name = f"Basic128GCM{suite}"
            case = Case("sign-encrypt", name, reference=reference, signer=signer, recipient=recipient)
            yield f"sign-encrypt {name}, {reference}", case
    for recipient in ("p384", "p521"):
        case = Case("encrypt", "Basic128GCMEcdhEs", recipient=recipient)
        yield f"encrypt Basic128GCMEcdhEs, {recipient}", case
    # The two suites of eDelivery AS4 2.0: X25519 above, and this one beside it.
    for suite, agreement, signature, signer, recipient, derivation in (
        ("EcdhEs", "ecdh-es", "ecdsa-sha256", "p256", "p256", "hkdf"),
        ("X25519", "x25519", "ed25519", "ed25519", "x25519", "concat-kdf"),
    ):
        ours = _algorithms(signature, "aes128-gcm", None)
        del ours["algorithms"]["key_transport"]
        ours["algorithms"] |= {"key_agreement": [agreement], "key_derivation": [derivation], "key_wrap": ["kw-aes128"]}
        case = Case(
            "sign-encrypt", f"Basic128GCM{suite}", signer=signer, recipient=recipient, ours=ours, theirs={"derivation": derivation}
        )
        yield f"sign-encrypt {agreement}, {derivation}", case


def _joined(parts):
    return {name: ",".join(values) for name, values in parts.items()}


def _algorithms(signature, data, transport):
    return {
        "algorithms": {
            "signature": [signature],
            "digest": ["sha256"],
            "canonicalization": ["http://www.w3.org/2001/10/xml-exc-c14n#"],
            "key_transport": [transport],
            "data": [data],
        }
    }


def run(report, soapstone, keys, folder):
    """Every case, both ways; an altered message is refused each time."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with peer(folder / "wss4j.log") as wss4j:
        for number, (name, case) in enumerate(cases()):
            plain = folder / f"{number:03}.plain.xml"
            plain.write_bytes(envelopes.books(5, case.soap))
            report.check("wss4j", name, "soapstone -> wss4j", lambda: _to_wss4j(case, wss4j, soapstone, keys, folder, plain))
            if case.both_ways:
                report.check("wss4j", name, "wss4j -> soapstone", lambda: _from_wss4j(case, wss4j, soapstone, keys, folder, plain))
        for name, theirs, ours in sent_by_wss4j():
            plain = folder / "references.plain.xml"
            plain.write_bytes(envelopes.books(5))
            case = Case("sign", "Basic128GCM", ours=ours, theirs=theirs)
            # Where the message has no token, its name means a certificate that is known.
            case.pinned = "include-token" not in theirs
            report.check("wss4j", name, "wss4j -> soapstone", lambda: _from_wss4j(case, wss4j, soapstone, keys, folder, plain))
        plain = folder / "refused.plain.xml"
        plain.write_bytes(envelopes.books(5))
        both = (wss4j, soapstone, keys, folder, plain)
        for name, sent, demanded, reason in refusals():
            test = lambda: _refused(sent, demanded, reason, *both)
            report.check("wss4j", f"refused: {name}", "wss4j -> soapstone", test)
        report.check("wss4j", "refused: replayed", "wss4j -> soapstone", lambda: _replayed(*both))
        for name, suite, soap, content in short_bodies():
            plain = folder / "short.plain.xml"
            plain.write_bytes(envelopes.holding(content, soap))
            strict, lenient = (Case("encrypt-sign", suite, soap, ours=ours) for ours in ({}, {"allow_short_cipher_text": True}))
            bound = Case("encrypt-sign", suite, soap, theirs={"signed": f"Body,Timestamp,{KEY}"})
            report.check("wss4j", name, "soapstone -> wss4j", lambda: _to_wss4j(strict, wss4j, soapstone, keys, folder, plain))
            both = (wss4j, soapstone, keys, folder, plain)
            # WSS4J signs no key unless it is told to.
            report.check("wss4j", f"{name}, its key signed", "wss4j -> soapstone", lambda: _from_wss4j(bound, wss4j, soapstone, keys, folder, plain))
            report.check("wss4j", f"refused: {name}", "wss4j -> soapstone", lambda: _refused(strict, strict, "short-cipher-text", *both))
            report.check("wss4j", f"{name}, allowed", "wss4j -> soapstone", lambda: _from_wss4j(lenient, wss4j, soapstone, keys, folder, plain))
        references.run(report, soapstone, keys, folder, wss4j)
        password_keys.run(report, soapstone, folder, wss4j)
        attachments.run(report, soapstone, keys, folder, wss4j)
        attached_gateways.run(report, soapstone, keys, folder, wss4j)
        bsp_samples.run(report, folder, wss4j)


def _to_wss4j(case, wss4j, soapstone, keys, folder, plain):
    secured, opened = plain.with_suffix(".ours"), plain.with_suffix(".ours-opened")
    must(soapstone, "secure", "--config", case.endpoint(keys, inbound=False).write(folder), plain, "-o", secured)
    options = case.options(keys, inbound=True)
    wss4j.must("open", *options, secured, opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    wss4j.must_refuse("open", *options, _altered(case, secured), opened)


def _from_wss4j(case, wss4j, soapstone, keys, folder, plain):
    secured, opened = plain.with_suffix(".theirs"), plain.with_suffix(".theirs-opened")
    wss4j.must("secure", *case.options(keys, inbound=False), plain, secured)
    endpoint = case.endpoint(keys, inbound=True).write(folder)
    must(soapstone, "open", "--config", endpoint, secured, "-o", opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    must_refuse(soapstone, "open", "--config", endpoint, _altered(case, secured))


def _altered(case, secured):
    """The message with one octet changed where the mechanism protects it; always a refusal."""
    path = secured.with_name(secured.name + "-altered")
    message = secured.read_bytes()
    if case.mechanism.startswith("username"):
        marker, replacement = b"alice<", b"malice<"
    elif case.mechanism == "sign":
        marker, replacement = b"Title number 2 ", b"Title number 3 "
    else:
        return _with_broken_key(path, message)
    if marker not in message:
        raise Failure(f"nothing to alter: {marker!r} does not occur in {secured}")
    path.write_bytes(message.replace(marker, replacement))
    return path


def _with_broken_key(path, message):
    """Changes the EncryptedKey's octets: without authentication of the data, anything less may pass unseen."""
    start = message.index(b"CipherValue>", message.index(b"EncryptedKey")) + len(b"CipherValue>")
    # The shortest of them are AES key wrap's, of 32 characters.
    middle = start + 20
    while message[middle : middle + 1] in b"\r\n \t":
        middle += 1
    other = b"A" if message[middle : middle + 1] != b"A" else b"B"
    path.write_bytes(message[:middle] + other + message[middle + 1 :])
    return path



def refusals():
    """What WSS4J sends, what our endpoint demands, and the reason we give."""

    def demanding(mechanism, suite="Basic128GCM", **options):
        return Case(mechanism, suite, **options)

    def sent(mechanism, suite="Basic128GCM", **options):
        return Case(mechanism, suite, **options)

    yield "signed only", sent("sign"), demanding("sign-encrypt"), "unencrypted"
    yield "encrypted only", sent("encrypt"), demanding("sign-encrypt"), "signature-missing"
    yield "the other order", sent("encrypt-sign"), demanding("sign-encrypt"), "wrong-order"
    yield "no security", sent("none"), demanding("sign-encrypt"), "security-missing"
    for theirs, ours in (("Basic128", "Basic128GCM"), ("Basic256GCM", "Basic128GCM"), ("TripleDesRsa15", "TripleDes")):
        case = f"{theirs} for {ours}"
        yield case, sent("sign-encrypt", theirs), demanding("sign-encrypt", ours), "algorithm-not-allowed"
    for theirs, ours in (
        (sent("encrypt", "Basic128GCM", recipient="server"), demanding("encrypt", "Basic128GCMEcdhEs", recipient="p256")),
        (sent("encrypt", "Basic128GCMEcdhEs", recipient="p256"), demanding("encrypt", "Basic128GCM")),
        (sent("encrypt", "Basic256GCMEcdhEs", recipient="p256"), demanding("encrypt", "Basic128GCMEcdhEs", recipient="p256")),
        (
            sent("encrypt", "Basic128GCMEcdhEs", recipient="p256", theirs={"derivation": "hkdf"}),
            demanding("encrypt", "Basic128GCMEcdhEs", recipient="p256"),
        ),
    ):
        derivation = ", ".join(["", *theirs.theirs.values()])
        yield f"{theirs.suite}{derivation} for {ours.suite}", theirs, ours, "algorithm-not-allowed"
    other = sent("encrypt", "Basic128GCMEcdhEs", recipient="p384", reference="thumbprint")
    yield "agreed with another key", other, demanding("encrypt", "Basic128GCMEcdhEs", recipient="p256"), "key-not-found"
    rsa_sha256 = sent("sign", "Basic256Sha256", theirs={"signature": "rsa-sha256"})
    yield "rsa-sha256 for rsa-sha1", rsa_sha256, demanding("sign", "Basic256Sha256"), "algorithm-not-allowed"
    yield "timestamp unsigned", sent("sign", theirs={"signed": "Body"}), demanding("sign"), "unsigned"
    yield "body unsigned", sent("sign", theirs={"signed": "Timestamp"}), demanding("sign"), "unsigned"
    yield "text for digest", sent("username"), demanding("username-digest"), "password-kind-not-allowed"
    yield "another authority", sent("sign", signer="stranger"), demanding("sign"), "untrusted"


def short_bodies():
    """Bodies of which the cipher text is so short that its key has to be signed."""
    for suite in ("Basic128", "Basic256Sha256", "TripleDes"):
        for soap, version in ((envelopes.SOAP11, "1.1"), (envelopes.SOAP12, "1.2")):
            yield f"encrypt-sign {suite}, a short Body, SOAP {version}", suite, soap, "<a/>"


def _refused(sent, demanded, reason, wss4j, soapstone, keys, folder, plain):
    secured = plain.with_suffix(".theirs")
    wss4j.must("secure", *sent.options(keys, inbound=False), plain, secured)
    endpoint = demanded.endpoint(keys, inbound=True).write(folder)
    verdict = json.loads(must_refuse(soapstone, "open", "--json", "--config", endpoint, secured).output)
    if verdict["reason"] != reason:
        raise Failure(f"expected the reason {reason}, found {verdict}")


def _replayed(wss4j, soapstone, keys, folder, plain):
    """What was accepted once is refused the second time, and by another process."""
    secured = plain.with_suffix(".theirs")
    case = Case("sign", "Basic128GCM", ours={"replay": {"store": "file", "path": str(folder / "replay.marks")}})
    wss4j.must("secure", *case.options(keys, inbound=False), plain, secured)
    endpoint = case.endpoint(keys, inbound=True).write(folder)
    must(soapstone, "open", "--config", endpoint, secured)
    verdict = json.loads(must_refuse(soapstone, "open", "--json", "--config", endpoint, secured).output)
    if verdict["reason"] != "replayed":
        raise Failure(f"expected the reason replayed, found {verdict}")
