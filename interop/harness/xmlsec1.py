"""xmlsec1 (the Debian package) in both directions.

`soapstone xml` takes xmlsec1's flags, so one command line serves both programs: what the one makes, the other takes.
"""

from pathlib import Path

from . import envelopes, xmlsec1_assertions
from .endpoints import Endpoint
from .processes import Failure, must, must_refuse

DSIG = "http://www.w3.org/2000/09/xmldsig#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"
ENC = "http://www.w3.org/2001/04/xmlenc#"
ENC11 = "http://www.w3.org/2009/xmlenc11#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
INCLUSIVE = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
INCLUSIVE11 = "http://www.w3.org/2006/12/xml-c14n11"

DIGESTS = {"sha1": DSIG, "sha224": MORE, "sha256": ENC, "sha384": MORE, "sha512": ENC}
# Signature algorithm, the digest beside it, and the key that makes it.
SIGNATURES = [
    *((f"{DSIG if digest == 'sha1' else MORE}rsa-{digest}", digest, "client") for digest in DIGESTS),
    (f"{MORE}ecdsa-sha1", "sha1", "p256"),
    (f"{MORE}ecdsa-sha256", "sha256", "p256"),
    (f"{MORE}ecdsa-sha384", "sha384", "p384"),
    (f"{MORE}ecdsa-sha512", "sha512", "p521"),
    *((f"{DSIG if digest == 'sha1' else MORE}hmac-{digest}", digest, None) for digest in DIGESTS),
]
CANONICALIZATIONS = [
    INCLUSIVE, f"{INCLUSIVE}#WithComments", INCLUSIVE11, f"{INCLUSIVE11}#WithComments", f"{EXCLUSIVE}WithComments",
]  # fmt: skip
# Data encryption: key length in bytes, the session key's class and size, the flag that hands the
# key in.
CIPHERS = {
    f"{ENC}tripledes-cbc": (24, "des-192", "--deskey"),
    **{f"{ENC}aes{bits}-cbc": (bits // 8, f"aes-{bits}", "--aeskey") for bits in (128, 192, 256)},
    **{f"{ENC11}aes{bits}-gcm": (bits // 8, f"aes-{bits}", "--aeskey") for bits in (128, 192, 256)},
}
TRANSPORTS = {"rsa-1_5": "", "rsa-oaep-mgf1p": "", "rsa-oaep-mgf1p, digest named": f'<DigestMethod xmlns="{DSIG}" Algorithm="{DSIG}sha1"/>'}
WRAPS = {"kw-aes128": (16, "--aeskey"), "kw-aes192": (24, "--aeskey"), "kw-aes256": (32, "--aeskey"), "kw-tripledes": (24, "--deskey")}


class Programs:
    """The two programs and where they work."""

    def __init__(self, report, soapstone, keys, folder):
        self.report, self.soapstone, self.keys = report, soapstone, keys
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.programs = {"xmlsec1": ["xmlsec1"], "soapstone": [soapstone, "xml"]}
        self.count = 0

    def path(self, suffix):
        """A new file."""
        self.count += 1
        return self.folder / f"{self.count:03}.{suffix}"

    def both_ways(self, case, make, take):
        """`make` and `take` are given a program and a file."""
        for maker, taker in (("xmlsec1", "soapstone"), ("soapstone", "xmlsec1")):
            made = self.path(f"{maker}.xml")

            def test(maker=maker, taker=taker, made=made):
                make(self.programs[maker], made)
                take(self.programs[taker], made)

            self.report.check("xmlsec1", case, f"{maker} -> {taker}", test)


def run(report, soapstone, keys, folder):
    """Every case, both ways."""
    programs = Programs(report, soapstone, keys, folder)
    for method, digest, owner in SIGNATURES:
        _signature(programs, method.split("#")[1], signed_by_id(method, digest), owner)
    for method in CANONICALIZATIONS:
        name = method.rpartition("/")[2]
        template = signed_by_id(f"{MORE}rsa-sha256", "sha256", canonicalization=method)
        _signature(programs, f"rsa-sha256, {name}", template, "client")
    prefixes = f'<InclusiveNamespaces xmlns="{EXCLUSIVE}" PrefixList="soap #default"/>'
    _signature(programs, "rsa-sha256, prefix list", signed_by_id(f"{MORE}rsa-sha256", "sha256", prefixes=prefixes), "client")
    _signature(programs, "rsa-sha256, enveloped", enveloped(f"{MORE}rsa-sha256", "sha256"), "client")
    _signature(programs, "hmac-sha256, 128 bits", signed_by_id(f"{MORE}hmac-sha256", "sha256", length=128), None)
    _key_infos(programs)
    for cipher in CIPHERS:
        _encryption(programs, cipher)
    _messages(programs)
    _inner(programs)
    xmlsec1_assertions.run(programs)


def _signature(programs, case, template, owner):
    keys = programs.keys
    source = programs.path("template.xml")
    source.write_bytes(template)
    private = ["--privkey-pem", keys.key(owner)] if owner else ["--hmackey", keys.secret(32)]
    public = ["--pubkey-cert-pem", keys.certificate(owner)] if owner else ["--hmackey", keys.secret(32)]
    ids = ["--id-attr:Id", f"{envelopes.SOAP11}:Body"]

    def sign(program, made):
        must(*program, "sign", *ids, *private, "--output", made, source)

    def verify(program, made):
        must(*program, "verify", *ids, *public, made)
        altered = made.with_suffix(".altered.xml")
        altered.write_bytes(made.read_bytes().replace(b"Title number 2 ", b"Title number 3 "))
        must_refuse(*program, "verify", *ids, *public, altered, statuses=(1, 2))

    programs.both_ways(case, sign, verify)


def _key_infos(programs):
    keys = programs.keys
    method = f"{MORE}rsa-sha256"
    x509 = "<X509Data/>"
    for owner in ("client", "p256", "p384", "p521"):
        algorithm = method if owner == "client" else f"{MORE}ecdsa-sha256"
        source = programs.path("template.xml")
        source.write_bytes(enveloped(algorithm, "sha256", key_info=x509))
        pair = f"{keys.key(owner)},{keys.certificate(owner)}"

        def sign(program, made, pair=pair, source=source):
            must(*program, "sign", "--privkey-pem", pair, "--output", made, source)

        def verify(program, made):
            must(*program, "verify", "--trusted-pem", keys.ca, "--enabled-key-data", "x509", made)
            must_refuse(
                *program, "verify", "--trusted-pem", keys.other_ca, "--enabled-key-data", "x509", made, statuses=(1, 2)
            )

        programs.both_ways(f"X509Data, {owner}, to an anchor", sign, verify)

    source = programs.path("template.xml")
    source.write_bytes(enveloped(method, "sha256", key_info="<KeyName>partner</KeyName>"))
    programs.both_ways(
        "KeyName",
        lambda program, made: must(*program, "sign", "--privkey-pem:partner", keys.key("client"), "--output", made, source),
        lambda program, made: must(*program, "verify", "--pubkey-cert-pem:partner", keys.certificate("client"), made),
    )


def _encryption(programs, cipher):
    keys = programs.keys
    name = cipher.split("#")[1]
    length, session, flag = CIPHERS[cipher]
    plain = programs.path("plain.xml")
    plain.write_bytes(envelopes.books(3))

    def case(title, template, seal, unseal, data=("--xml-data", plain, "--node-name", f"{envelopes.SOAP11}:Body"), check=None):
        source = programs.path("template.xml")
        source.write_text(template, encoding="utf-8")

        def encrypt(program, made):
            must(*program, "encrypt", *seal, *data, "--output", made, source)

        def decrypt(program, made):
            opened = made.with_suffix(".opened.xml")
            must(*program, "decrypt", *unseal, "--output", opened, made)
            (check or (lambda path: envelopes.same_body(plain.read_bytes(), path.read_bytes())))(opened)

        programs.both_ways(title, encrypt, decrypt)

    shared = [flag, keys.secret(length)]
    case(f"{name}, shared key, content", encrypted_data(cipher, "Content"), shared, shared)
    case(f"{name}, shared key, element", encrypted_data(cipher, "Element"), shared, shared)
    octets = programs.path("octets")
    octets.write_bytes(bytes(range(256)) * 5)

    def same_octets(opened):
        if opened.read_bytes() != octets.read_bytes():
            raise Failure("the octets changed on their way")

    case(f"{name}, shared key, octets", encrypted_data(cipher, None), shared, shared, ("--binary-data", octets), same_octets)
    for transport, parameters in TRANSPORTS.items():
        info = encrypted_key(ENC + transport.partition(",")[0], parameters)
        seal = ["--session-key", session, "--pubkey-cert-pem", keys.certificate("server")]
        unseal = ["--privkey-pem", keys.key("server")]
        case(f"{name}, {transport}", encrypted_data(cipher, "Content", info), seal, unseal)
    if name in ("aes128-gcm", "aes256-cbc", "tripledes-cbc"):
        for wrap, (wrap_length, wrap_flag) in WRAPS.items():
            wrapping = [f"{wrap_flag}:kek", keys.secret(wrap_length)]
            info = encrypted_key(ENC + wrap, "", "<KeyName>kek</KeyName>")
            case(f"{name}, {wrap}", encrypted_data(cipher, "Content", info), ["--session-key", session, *wrapping], wrapping)


def _messages(programs):
    """Whole messages of ours, whose signatures xmlsec1 verifies with the sender's certificate."""
    keys = programs.keys
    plain = programs.path("plain.xml")
    plain.write_bytes(envelopes.books(3))
    for mechanism, suite in (("sign", "Basic256Sha256"), ("sign", "Basic128GCM"), ("encrypt-sign", "Basic128GCM")):
        for soap in (envelopes.SOAP11, envelopes.SOAP12):
            plain = programs.path("plain.xml")
            plain.write_bytes(envelopes.books(3, soap))
            secured = programs.path("secured.xml")

            def test(mechanism=mechanism, suite=suite, soap=soap, plain=plain, secured=secured):
                endpoint = Endpoint(mechanism, suite=suite).ours(keys, "client").encrypt_to(keys, "server")
                must(programs.soapstone, "secure", "--config", endpoint.write(programs.folder), plain, "-o", secured)
                must(
                    "xmlsec1", "verify", "--id-attr:Id", f"{soap}:Body", "--id-attr:Id", f"{envelopes.WSU}:Timestamp",
                    "--pubkey-cert-pem", keys.certificate("client"), secured,
                )  # fmt: skip

            version = "SOAP 1.1" if soap == envelopes.SOAP11 else "SOAP 1.2"
            programs.report.check("xmlsec1", f"{mechanism} {suite}, {version}", "soapstone -> xmlsec1", test)
    _prefix_lists(programs)


# Declarations of an Envelope, and of a Header: those of the message alone, others that nothing
# uses, and prefixes of ours that mean something else. No namespace has a character to
# escape: libxml2 writes it into canonical forms as it is (against Canonical XML 1.0, 2.3).
SCOPES = {
    "plain": ("", ""),
    "declared around": (' xmlns:x="urn:x" xmlns="urn:d" xmlns:a="urn:a"', ' xmlns:x="urn:other" xmlns:z="urn:z"'),
    "our prefixes": (
        f' xmlns:ds="{DSIG}" xmlns:ec="{EXCLUSIVE}" xmlns:wsu="{envelopes.WSU}"', ' xmlns:wsse="urn:wsse" xmlns:xenc="urn:xenc"',
    ),
}  # fmt: skip


def _prefix_lists(programs):
    """Our prefix lists: another program canonicalizes each signed element, and SignedInfo."""
    keys = programs.keys
    addressing = "http://www.w3.org/2005/08/addressing"
    signed = ["Body", "Timestamp", "Token", f"{{{addressing}}}To"]
    wsse = envelopes.WSU.replace("utility", "secext")
    elements = [f"{envelopes.SOAP11}:Body", f"{envelopes.WSU}:Timestamp", f"{wsse}:BinarySecurityToken", f"{addressing}:To"]
    ids = [word for element in elements for word in ("--id-attr:Id", element)]
    for scope, (envelope, header) in SCOPES.items():
        for prefixes in (True, ["soap", "#default", "x"]):
            plain, secured = programs.path("plain.xml"), programs.path("secured.xml")
            text = envelopes.books(3).decode()
            text = text.replace("><soap:Header>", f"{envelope}><soap:Header{header}>", 1)
            plain.write_bytes(text.encode())

            def test(plain=plain, secured=secured, prefixes=prefixes):
                endpoint = Endpoint("sign", suite="Basic128GCM", signed=signed, signature={"inclusive_prefixes": prefixes})
                endpoint.ours(keys, "client")
                must(programs.soapstone, "secure", "--config", endpoint.write(programs.folder), plain, "-o", secured)
                if b"PrefixList=" not in secured.read_bytes():
                    raise Failure("expected a prefix list")
                must("xmlsec1", "verify", *ids, "--pubkey-cert-pem", keys.certificate("client"), secured)

            listed = "in scope" if prefixes is True else "named"
            programs.report.check("xmlsec1", f"prefix lists, {listed}, {scope}", "soapstone -> xmlsec1", test)



# Suites whose key transport the Debian package's releases know.
INNER_SUITES = ["Basic256", "Basic128Sha256Rsa15", "TripleDes"]


def _inner(programs):
    """Reads what an endpoint file encrypts by itself in the Body."""
    keys = programs.keys
    plain = programs.path("plain.xml")
    plain.write_bytes(envelopes.books(3))
    name = "{urn:soapstone:services:books}getBooksResponse"
    for suite in INNER_SUITES:
        for content in (False, True):

            def test(suite=suite, content=content):
                endpoint = Endpoint("none").encrypt_to(keys, "server")
                endpoint.tables["inner"] = {"encryption": {"requests": name, "suite": suite, "content": content}}
                secured, opened = programs.path("secured.xml"), programs.path("opened.xml")
                must(programs.soapstone, "secure", "--config", endpoint.write(programs.folder), plain, "-o", secured)
                if b"EncryptedData" not in secured.read_bytes():
                    raise Failure("expected cipher text")
                must("xmlsec1", "decrypt", "--privkey-pem", keys.key("server"), "--output", opened, secured)
                envelopes.same_body(plain.read_bytes(), opened.read_bytes())

            extent = "content" if content else "element"
            programs.report.check("xmlsec1", f"inner encryption, {suite}, {extent}", "soapstone -> xmlsec1", test)


def signature(references, method, canonicalization, key_info, length=None):
    """A Signature template, to be filled."""
    output_length = f"<HMACOutputLength>{length}</HMACOutputLength>" if length else ""
    info = f"<KeyInfo>{key_info}</KeyInfo>" if key_info else ""
    return (
        f'<Signature xmlns="{DSIG}"><SignedInfo><CanonicalizationMethod Algorithm="{canonicalization}"/>'
        f'<SignatureMethod Algorithm="{method}">{output_length}</SignatureMethod>{references}</SignedInfo>'
        f"<SignatureValue/>{info}</Signature>"
    )


def signed_by_id(method, digest, canonicalization=EXCLUSIVE, prefixes="", length=None):
    """An envelope whose header holds a Signature over the Body, by its id, and awkward content to canonicalize."""
    reference = (
        f'<Reference URI="#body"><Transforms><Transform Algorithm="{canonicalization}">{prefixes}</Transform></Transforms>'
        f'<DigestMethod Algorithm="{DIGESTS[digest]}{digest}"/><DigestValue/></Reference>'
    )
    envelope = awkward(envelopes.books(3)).replace(b"<soap:Body", b'<soap:Body Id="body"')
    whole = signature(reference, method, canonicalization, None, length).encode()
    return envelope.replace(b"</soap:Header>", whole + b"</soap:Header>")


def enveloped(method, digest, key_info=None):
    """An envelope with an enveloped Signature over the whole document."""
    reference = (
        f'<Reference URI=""><Transforms><Transform Algorithm="{DSIG}enveloped-signature"/><Transform Algorithm="{EXCLUSIVE}"/>'
        f'</Transforms><DigestMethod Algorithm="{DIGESTS[digest]}{digest}"/><DigestValue/></Reference>'
    )
    whole = signature(reference, method, EXCLUSIVE, key_info).encode()
    return awkward(envelopes.books(3)).replace(b"</soap:Header>", whole + b"</soap:Header>")


def awkward(envelope):
    """Adds what canonicalization has to rewrite: CDATA, comments, entities, attribute order, unused namespaces."""
    rewritten = (
        b'<b:extra xmlns:unused="urn:unused" z:b="2" xmlns:z="urn:z" z:a=\'1 &quot;\' xml:lang="cs"  c="3" '
        b'a="tab&#9;cr&#13;lf&#10;"><!-- comment --><![CDATA[<raw> & ]]>&#xD;&gt;<?target data?>'
        b'<empty xmlns=""/><z:same xmlns:z="urn:z"/></b:extra>'
    )
    return envelope.replace(b"</b:getBooksResponse>", rewritten + b"\n</b:getBooksResponse>")


def encrypted_data(cipher, kind, key_info=""):
    """An EncryptedData template, to be filled."""
    of_type = f' Type="{ENC}{kind}"' if kind else ""
    info = f'<KeyInfo xmlns="{DSIG}">{key_info}</KeyInfo>' if key_info else ""
    return (
        f'<EncryptedData xmlns="{ENC}"{of_type}><EncryptionMethod Algorithm="{cipher}"/>{info}'
        "<CipherData><CipherValue/></CipherData></EncryptedData>"
    )


def encrypted_key(method, parameters, key_info=""):
    """An EncryptedKey template, to be filled."""
    info = f'<KeyInfo xmlns="{DSIG}">{key_info}</KeyInfo>' if key_info else ""
    return (
        f'<EncryptedKey xmlns="{ENC}"><EncryptionMethod Algorithm="{method}">{parameters}</EncryptionMethod>{info}'
        "<CipherData><CipherValue/></CipherData></EncryptedKey>"
    )
