"""Documents of this project with what other programs make of them, recorded into `vectors`.

xmlsec1 signs and encrypts (`signatures`), libxml2's xmllint canonicalizes (`canonical`). Assertions of policies are counted
without a policy engine (`policies`). The rule kept here: what is expected of a valid document comes from a program of other
people, or from counting. An altered document is refused by that program, too.
"""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

from . import envelopes, installing
from .processes import must, must_refuse
from .xmlsec1 import (
    CANONICALIZATIONS, CIPHERS, ENC, EXCLUSIVE, INCLUSIVE, INCLUSIVE11, MORE, SIGNATURES, TRANSPORTS, WRAPS, encrypted_data, encrypted_key,
    enveloped, signed_by_id,
)  # fmt: skip

VECTORS = installing.REPOSITORY / "vectors"
BODY = f"{envelopes.SOAP11}:Body"


class Suite:
    """A folder of cases with its manifest."""

    def __init__(self, name, title):
        self.name, self.title, self.cases = name, title, []
        self.folder = VECTORS / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def add(self, kind, name, file, expected, **fields):
        """A case about a file of the folder."""
        self.cases.append({"id": f"{self.name}/{name}", "kind": kind, "file": file, **fields, "expected": expected})

    def finish(self):
        """Writes the manifest, a line for each case."""
        lines = ",\n".join(json.dumps(case, ensure_ascii=False, sort_keys=True) for case in self.cases)
        head = f'{{"suite": {json.dumps(self.name)}, "title": {json.dumps(self.title)}, "cases": [\n'
        (self.folder / "manifest.json").write_text(f"{head}{lines}\n]}}\n", encoding="utf-8")


# --------------------------------------------------------------------------------------- signatures


class Signatures(Suite):
    """Documents that xmlsec1 signed and encrypted, each with the command line that verifies or decrypts it."""

    def __init__(self, make_keys, now):
        super().__init__("signatures", "Documents signed and encrypted by xmlsec1, and altered copies")
        self.keys = make_keys(self.folder / "keys")
        # Certificates are judged at the moment of recording, as xmlsec1 judges them now.
        self.clock = ["--verification-gmt-time", now().replace("T", "+").removesuffix("Z")]
        version = must("xmlsec1", "--version").output.split(" (")[0]
        self.confirmed_by = [version]

    def relative(self, words):
        """A command line whose paths are relative to the folder."""
        return " ".join(str(word).replace(f"{self.folder}/", "") for word in words)

    def certificate(self, owner):
        """A certificate in DER, which is what the suites of xmlsec hand in."""
        der = self.keys.folder / f"{owner}.cert.der"
        if not der.exists():
            must("openssl", "x509", "-in", self.keys.certificate(owner), "-outform", "DER", "-out", der)
        return der

    def options(self, words):
        """The options of a case."""
        clock = self.clock if "--trusted-der" in words else []
        return {"xmlsec_args": self.relative([*words, *clock]), "id_attrs": ["Id"]}

    def signature(self, name, template, sign, verify):
        """A signed document, and two altered copies."""
        ids = ["--id-attr:Id", BODY]
        source, made = self.folder / "template.xml", self.folder / f"{name}.xml"
        source.write_bytes(template)
        must("xmlsec1", "sign", *ids, *sign, "--output", made, source)
        must("xmlsec1", "verify", *ids, *verify, made)
        options = self.options(verify)
        confirmed = {"confirmed_by": self.confirmed_by, "options": options}
        self.add("dsig-verify", name, made.name, {"outcome": "valid"}, **confirmed)
        signed = made.read_bytes()
        value = re.search(rb"<SignatureValue>\s*(\S)", signed)
        other = b"B" if value[1] == b"A" else b"A"
        uri = re.search(rb'<Reference URI="(.*?)"', signed)[1].decode()
        method = re.search(rb'<SignatureMethod Algorithm=".*?#(.*?)"', signed)[1].decode()
        altered = {
            "body": (signed.replace(b"Title number 2 ", b"Title number 3 "), f"digest of reference `{uri}`: "),
            "value": (
                signed[: value.start(1)] + other + signed[value.end(1) :],
                f"the signature value does not verify ({method})",
            ),
        }
        for what, (document, error) in altered.items():
            path = self.folder / f"{name}.altered-{what}.xml"
            assert document != signed
            path.write_bytes(document)
            must_refuse("xmlsec1", "verify", *ids, *verify, path, statuses=(1, 2))
            self.add("dsig-verify", f"{name}.altered-{what}", path.name, {"outcome": "invalid", "error": error}, **confirmed)

    def encryption(self, name, template, seal, unseal, alter):
        """An encrypted document, and a copy with other cipher text where that cannot pass unseen."""
        plain = self.folder / "plain.xml"
        if not plain.exists():
            plain.write_bytes(envelopes.books(1))
        source, made = self.folder / "template.xml", self.folder / f"{name}.xml"
        source.write_text(template, encoding="utf-8")
        must("xmlsec1", "encrypt", *seal, "--xml-data", plain, "--node-name", BODY, "--output", made, source)
        opened = must("xmlsec1", "decrypt", *unseal, made).output
        envelopes.same_body(plain.read_bytes(), opened.encode())
        fields = {"confirmed_by": self.confirmed_by, "options": self.options(unseal)}
        expected = {"outcome": "valid", "plaintext_file": plain.name, "compare": "document"}
        self.add("enc-decrypt", name, made.name, expected, **fields)
        if alter:
            sealed = made.read_bytes()
            value = re.search(rb"<CipherValue>\s*\S{8}(\S)", sealed)
            other = b"B" if value[1] == b"A" else b"A"
            path = self.folder / f"{name}.altered.xml"
            path.write_bytes(sealed[: value.start(1)] + other + sealed[value.end(1) :])
            must_refuse("xmlsec1", "decrypt", *unseal, path, statuses=(1, 2))
            self.add("enc-decrypt", f"{name}.altered", path.name, {"outcome": "invalid", "error": "decryption failed"}, **fields)


def signatures(make_keys, now):
    """Every signature method, canonicalization and kind of key reference; every cipher with every way its key comes."""
    suite = Signatures(make_keys, now)
    keys = suite.keys

    def pair(owner):
        if owner is None:
            return ["--hmackey", keys.secret(32)], ["--hmackey", keys.secret(32)]
        return ["--privkey-pem", keys.key(owner)], ["--pubkey-cert-der", suite.certificate(owner)]

    for method, digest, owner in SIGNATURES:
        suite.signature(method.split("#")[1], signed_by_id(method, digest), *pair(owner))
    rsa = f"{MORE}rsa-sha256"
    for method in CANONICALIZATIONS:
        name = method.rpartition("/")[2].replace("#", "-")
        suite.signature(f"rsa-sha256-{name}", signed_by_id(rsa, "sha256", canonicalization=method), *pair("client"))
    prefixes = f'<InclusiveNamespaces xmlns="{EXCLUSIVE}" PrefixList="soap #default"/>'
    suite.signature("rsa-sha256-prefix-list", signed_by_id(rsa, "sha256", prefixes=prefixes), *pair("client"))
    suite.signature("rsa-sha256-enveloped", enveloped(rsa, "sha256"), *pair("client"))
    suite.signature("hmac-sha256-128-bits", signed_by_id(f"{MORE}hmac-sha256", "sha256", length=128), *pair(None))
    named = ["--privkey-pem:partner", keys.key("client")], ["--pubkey-cert-der:partner", suite.certificate("client")]
    suite.signature("rsa-sha256-key-name", enveloped(rsa, "sha256", key_info="<KeyName>partner</KeyName>"), *named)
    anchor = keys.folder / "ca.der"
    must("openssl", "x509", "-in", keys.ca, "-outform", "DER", "-out", anchor)
    trust = ["--trusted-der", anchor, "--enabled-key-data", "x509"]
    for owner in ("client", "p256", "p384", "p521"):
        method = rsa if owner == "client" else f"{MORE}ecdsa-sha256"
        signer = ["--privkey-pem", f"{keys.key(owner)},{keys.certificate(owner)}"]
        suite.signature(f"x509-data-{owner}", enveloped(method, "sha256", key_info="<X509Data/>"), signer, trust)
    for cipher, (length, session, flag) in CIPHERS.items():
        name, authenticated = cipher.split("#")[1], cipher.endswith("gcm")
        shared = [flag, keys.secret(length)]
        for extent in ("Content", "Element"):
            suite.encryption(f"{name}-shared-{extent.lower()}", encrypted_data(cipher, extent), shared, shared, authenticated)
        private = ["--privkey-pem", keys.key("server")]
        for transport, parameters in TRANSPORTS.items():
            info = encrypted_key(ENC + transport.partition(",")[0], parameters)
            seal = ["--session-key", session, "--pubkey-cert-pem", keys.certificate("server")]
            case = f"{name}-{transport.replace(', ', '-').replace(' ', '-')}"
            suite.encryption(case, encrypted_data(cipher, "Content", info), seal, private, "oaep" in transport)
        for wrap, (wrap_length, wrap_flag) in WRAPS.items():
            wrapping = [f"{wrap_flag}:kek", keys.secret(wrap_length)]
            info = encrypted_key(ENC + wrap, "", "<KeyName>kek</KeyName>")
            template = encrypted_data(cipher, "Content", info)
            suite.encryption(f"{name}-{wrap}", template, ["--session-key", session, *wrapping], wrapping, True)
    (suite.folder / "template.xml").unlink()
    suite.finish()
    used = " ".join(case["options"]["xmlsec_args"] for case in suite.cases)
    for path in suite.keys.folder.iterdir():
        if f"keys/{path.name}" not in used.split(" "):
            path.unlink()


# ---------------------------------------------------------------------------------- canonical forms

NAMESPACES = 'xmlns:a="urn:a" xmlns:b="urn:b" xmlns="urn:default"'
DOCUMENTS = {
    "empty": "<a/>",
    "empty-as-pair": "<a></a>",
    "declaration": '<?xml version="1.0" encoding="UTF-8"?>\n<a>text</a>\n',
    "standalone": "<?xml version='1.0' standalone='yes'?><a/>",
    "white-space-in-tags": '<a  b = "1"\n\tc=\'2\'  ><d\n/></a >',
    "attribute-order": '<a z="1" b:y="2" a:y="3" xmlns:b="urn:1" xmlns:a="urn:2" b="4" a:x="5"/>',
    "namespaces-sorted": '<a xmlns:z="urn:z" xmlns:b="urn:b" xmlns="urn:d" xmlns:a="urn:a"><z:x/><b:y/></a>',
    "unused-namespaces": f"<e {NAMESPACES}><a:x><b:y/></a:x><z/></e>",
    "namespace-declared-again": '<a:e xmlns:a="urn:a"><a:f xmlns:a="urn:a"><a:g xmlns:a="urn:b"/></a:f></a:e>',
    "namespace-redeclared-and-back": '<a:e xmlns:a="urn:1"><a:f xmlns:a="urn:2"><a:g xmlns:a="urn:1"/></a:f></a:e>',
    "default-undeclared": '<e xmlns="urn:d"><f xmlns=""><g xmlns="urn:d"/><h/></f></e>',
    "default-undeclared-twice": '<e xmlns="urn:d"><f xmlns=""><g xmlns=""/></f></e>',
    "default-undeclared-at-root": '<e xmlns=""><f/></e>',
    "one-namespace-two-prefixes": '<a:e xmlns:a="urn:x" xmlns:b="urn:x"><b:f a:i="1" b:j="2"/></a:e>',
    "prefix-of-attribute-alone": '<e xmlns:p="urn:p" xmlns:q="urn:q"><f p:i="1"><g q:j="2"/></f></e>',
    "xml-attributes": '<e xml:lang="de" xml:space="preserve" xml:base="http://example.org/a/"> <f xml:base="b/" xml:id="i"/> </e>',
    "xml-prefix-declared": '<e xmlns:xml="http://www.w3.org/XML/1998/namespace" xml:lang="en"/>',
    "text-escaped": "<e>a &amp; b &lt; c &gt; d > e \" ' &quot; &apos;</e>",
    "attribute-escaped": "<e a=\"&amp; &lt; > &quot; '\" b='\" &apos; &gt;'/>",
    "white-space-in-attributes": '<e a="tab&#9;line&#10;return&#13; end" b=" \t\n two  spaces "/>',
    "carriage-returns": "<e>a\r\nb\rc&#13;d&#xD;&#xA;</e>",
    "character-references": "<e a='&#233;&#x1F600;'>&#233; &#x20AC; &#x1F600; &#38; &#60;</e>",
    "characters": "<e ä='ö'>Grüße, 東京, 😀, \u00a0\u2028\u0085</e>",
    "names": "<élément xmlns:ñ='urn:n' ñ:clé='1'/>",
    "cdata": "<e><![CDATA[a & b < c > d]]>text<![CDATA[]]></e>",
    "cdata-end": "<e>]]&gt;<![CDATA[ ]] > ]]></e>",
    "comments": "<!-- before --><e><!-- inside -->a<!---->b<f/><!-- last --></e><!-- after -->",
    "comments-and-lines": "\n<!-- one -->\n\n<!-- two -->\n<e/>\n\n<!-- three -->\n",
    "instructions": "<?before data?><e><?inside?>a<?two  words ?></e><?after   more?>",
    "instructions-and-comments": "<?a?><!-- b --><?c d?><e/><!-- f --><?g?>",
    "mixed-content": "<e> a <f> b </f>\n\t<g/> c\n</e>",
    "deep": "<d>" * 60 + "x" + "</d>" * 60,
    "many-attributes": "<e " + " ".join(f'a{number}="{number}"' for number in range(60)) + "/>",
    "many-namespaces": "<e " + " ".join(f'xmlns:n{number}="urn:{number}"' for number in range(40)) + "><n7:f n30:a='1'/></e>",
    "attributes-by-namespace-name": '<e xmlns:a="urn:z" xmlns:z="urn:a" a:i="1" z:i="2" i="3"/>',
    "envelope": envelopes.books(1).decode(),
    "envelope-with-header": '<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Header>\n<h:x xmlns:h="urn:h" s:mustUnderstand="true"/>'
    '\n</s:Header><s:Body xmlns:wsu="urn:u" wsu:Id="b"><o xmlns="urn:o"><p xmlns=""/></o></s:Body></s:Envelope>',
    "qualified-names-in-content": '<e xmlns:t="urn:t" xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:type="t:x">t:y</e>',
    "case-of-letters": '<E xmlns:P="urn:P" xmlns:p="urn:p" B="1" a="2" A="3" b="4"><P:x/><p:x/></E>',
    "prefixes-of-several-characters": '<x-1._y:e xmlns:x-1._y="urn:x" x-1._y:a="1"/>',
}
METHODS = {"c14n": INCLUSIVE, "c14n11": INCLUSIVE11, "exc-c14n": EXCLUSIVE}
COMMENT = re.compile("<!--.*?-->", re.DOTALL)


def canonical():
    """Documents in each canonical form, as xmllint writes it.

    xmllint keeps comments. The form without comments is that of the document without its comments.
    """
    suite = Suite("canonical", "Documents in the canonical forms that libxml2 gives them")
    version = re.search(r"version (\d+)", must("xmllint", "--version").errors)[1]
    confirmed = [f"libxml2 {int(version) // 10000}.{int(version) // 100 % 100}.{int(version) % 100}"]
    bare = suite.folder / "bare.xml"
    for name, text in DOCUMENTS.items():
        source = suite.folder / f"{name}.xml"
        source.write_bytes(text.encode())
        bare.write_bytes(COMMENT.sub("", text).encode())
        commented = bare.read_bytes() != source.read_bytes()
        for flag, method in METHODS.items():
            # A document without comments has one form of each method.
            forms = [("", method, bare), ("-with-comments", with_comments(method), source)]
            for suffix, algorithm, document in forms:
                written = suite.folder / f"{name}.{flag}{suffix if commented else ''}"
                written.write_bytes(must_write("xmllint", f"--{flag}", document))
                expected = {"outcome": "valid", "canonical_file": written.name}
                options = {"algorithm": algorithm}
                suite.add("c14n", f"{name}.{flag}{suffix}", source.name, expected, options=options, confirmed_by=confirmed)
    bare.unlink()
    suite.finish()


def with_comments(method):
    """The URI of a method that keeps comments."""
    return f"{method}WithComments" if method.endswith("#") else f"{method}#WithComments"


def must_write(*command):
    """What a program writes, byte by byte."""
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout


# ----------------------------------------------------------------------------------------- policies

POLICY = re.compile(r"\{http://(?:schemas\.xmlsoap\.org/ws/2004/09/policy|www\.w3\.org/ns/ws-policy)\}Policy")
SECURITY_POLICY = re.compile(
    r"\{http://(?:schemas\.xmlsoap\.org/ws/2005/07/securitypolicy|docs\.oasis-open\.org/ws-sx/ws-securitypolicy/20(?:0702|0802))\}(.*)"
)
ALGEBRA = {"policy-normalize": "normalized_file", "policy-intersect": "result_file", "policy-merge": "result_file"}


def policies():
    """The WSDLs of recorded exchanges, each with the number of its assertions; and policies with results that were written by hand.

    `policies/algebra` holds `NAME.xml` with `NAME.normal.xml`, or with `NAME.with.xml` and `NAME.intersection.xml` or `NAME.merged.xml`.
    """
    by_hand = VECTORS / "policies" / "algebra"
    kept = {path.name: path.read_bytes() for path in sorted(by_hand.iterdir())}
    suite = Suite("policies", "Policies of the project, with their algebra; WSDLs of recorded exchanges")
    by_hand.mkdir()
    for name, content in kept.items():
        (by_hand / name).write_bytes(content)
    for kind, suffix in (("policy-normalize", "normal"), ("policy-intersect", "intersection"), ("policy-merge", "merged")):
        for result in sorted(by_hand.glob(f"*.{suffix}.xml")):
            name = result.name.partition(".")[0]
            options = {} if kind == "policy-normalize" else {"options": {"with": f"algebra/{name}.with.xml"}}
            expected = {"outcome": "valid", ALGEBRA[kind]: f"algebra/{result.name}"}
            suite.add(kind, f"{kind.partition('-')[2]}/{name}", f"algebra/{name}.xml", expected, **options)
    recorded = installing.INTEROP / "recorded"
    seen = set()
    for path in sorted(recorded.glob("*/*/*.wsdl")):
        content = path.read_bytes()
        if content in seen:
            continue
        seen.add(content)
        name = path.relative_to(recorded).with_suffix("").as_posix()
        elements, assertions = count(content)
        expected = {"outcome": "parse", "policy_elements": elements, "assertions": assertions}
        suite.add("policy-parse", name, f"../../interop/recorded/{name}.wsdl", expected)
    suite.finish()


def count(content):
    """How many policies, and how many assertions of each name, a document has."""
    elements, assertions = 0, {}
    for element in ElementTree.fromstring(content).iter():
        elements += bool(POLICY.fullmatch(element.tag))
        if assertion := SECURITY_POLICY.fullmatch(element.tag):
            assertions[assertion[1]] = assertions.get(assertion[1], 0) + 1
    return elements, assertions
