"""Assertions alone with xmlsec1: it verifies what our token service issued, and it signs what we accept.

xmlsec1 knows nothing of SAML. It is told which attribute is an id, and whose key signs.
"""

import re
import urllib.request
from datetime import datetime, timedelta, timezone

from . import envelopes
from .endpoints import Endpoint
from .processes import Failure, free_port, must, must_refuse, server
from .saml import AUDIENCE, ISSUER, Case

DSIG = "http://www.w3.org/2000/09/xmldsig#"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
WST = "http://docs.oasis-open.org/ws-sx/ws-trust/200512"
TYPES = {
    "2.0": "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0",
    "1.1": "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV1.1",
}
NAMESPACES = {"2.0": "urn:oasis:names:tc:SAML:2.0:assertion", "1.1": "urn:oasis:names:tc:SAML:1.0:assertion"}
IDS = {"2.0": "ID", "1.1": "AssertionID"}
KEY_TYPES = {"bearer": "Bearer", "holder-of-key": "PublicKey"}
SERVICE = "https://books.example/books"
ASSERTION = re.compile(rb"<(\w+):Assertion\b.*</\1:Assertion>", re.DOTALL)
ALTERED = (b">reader<", b">writer<")


def run(programs):
    """Both directions, each version with each confirmation."""
    _issued(programs)
    for version in NAMESPACES:
        for confirmation in KEY_TYPES:
            for method, owner in (("rsa-sha256", "approver"), ("ecdsa-sha256", "p256")):
                test = lambda: _accepted(programs, version, confirmation, method, owner)
                programs.report.check("xmlsec1", f"SAML {version} assertion, {confirmation}, {method}", "xmlsec1 -> soapstone", test)


def _issued(programs):
    keys, port = programs.keys, free_port()
    sts = Endpoint()
    sts.tables = {
        "issuer": "https://sts.example", "identity": {"key": str(keys.key("approver")), "certificate": str(keys.certificate("approver"))},
        "key_types": ["public-key", "bearer"], "services": [{"address": SERVICE}],
        "attributes": [{"subjects": {"certificates": ["CN=client,O=Soapstone"]}, "claim": "role", "values": ["reader"]}],
    }  # fmt: skip
    inbound = Endpoint("sign-encrypt").ours(keys, "server").encrypt_to(keys, "client").trust(keys.ca)
    file = programs.path("sts.toml")
    route = f'[[routes]]\npath = "/sts"\n[routes.sts]\n{sts.inline()}[routes.inbound]\n{inbound.inline()}'
    file.write_text(f'listen = "127.0.0.1:{port}"\n{route}', encoding="utf-8")
    with server("the token service", [programs.soapstone, "gateway", "--config", file], [port], programs.path("sts.log")):
        for version in NAMESPACES:
            for confirmation in KEY_TYPES:
                test = lambda: _verified(programs, port, version, confirmation)
                programs.report.check("xmlsec1", f"SAML {version} assertion, {confirmation}, issued", "soapstone -> xmlsec1", test)


def _verified(programs, port, version, confirmation):
    """Asks for an assertion, and has it verified; with another role, or by another key, it is refused."""
    keys = programs.keys
    endpoint = Endpoint("sign-encrypt").ours(keys, "client").encrypt_to(keys, "server").trust(keys.ca).write(programs.folder)
    plain, secured, answer, opened = (programs.path(f"{name}.xml") for name in ("asking", "secured", "answer", "opened"))
    plain.write_text(_request(version, KEY_TYPES[confirmation]), encoding="utf-8")
    must(programs.soapstone, "secure", "--config", endpoint, plain, "-o", secured)
    headers = {"Content-Type": "text/xml; charset=utf-8"}
    post = urllib.request.Request(f"http://127.0.0.1:{port}/sts", secured.read_bytes(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(post, timeout=60) as said:
        answer.write_bytes(said.read())
    must(programs.soapstone, "open", "--config", endpoint, answer, "-o", opened)
    found = ASSERTION.search(opened.read_bytes())
    if not found or NAMESPACES[version].encode() not in found.group() or ALTERED[0] not in found.group():
        raise Failure(f"expected an assertion of SAML {version} about a reader in {opened}")
    assertion = programs.path("assertion.xml")
    assertion.write_bytes(found.group())
    must(*_verifying(version, keys.certificate("approver")), assertion)
    must_refuse(*_verifying(version, keys.certificate("server")), assertion, statuses=(1, 2))
    must_refuse(*_verifying(version, keys.certificate("approver")), _altered(assertion), statuses=(1, 2))


def _accepted(programs, version, confirmation, method, owner):
    """Signs an assertion, sends it in a message, and accepts it from its issuer alone; with another role it is refused."""
    keys = programs.keys
    case = Case(version, confirmation, "named by its id" if confirmation == "holder-of-key" else "signed with the message")
    assertion, plain, secured, opened = (programs.path(f"{name}.xml") for name in ("assertion", "plain", "secured", "opened"))
    sign(keys, version, confirmation, method, owner, assertion)
    plain.write_bytes(envelopes.books(3))
    must(programs.soapstone, "secure", "--config", case.sends(keys, programs.folder, assertion), plain, "-o", secured)
    receiver = case.receives(keys, programs.folder, issuer=owner)
    must(programs.soapstone, "open", "--config", receiver, secured, "-o", opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    must_refuse(programs.soapstone, "open", "--config", case.receives(keys, programs.folder, issuer="server"), secured)
    # The message's own signature is made over the assertion as it is then.
    promoted = case.sends(keys, programs.folder, _altered(assertion))
    must(programs.soapstone, "secure", "--config", promoted, plain, "-o", secured)
    must_refuse(programs.soapstone, "open", "--config", receiver, secured)


def sign(keys, version, confirmation, method, owner, assertion):
    """Writes an assertion about the client, signed by `owner`."""
    template = assertion.with_suffix(".template.xml")
    template.write_text(_template(keys, version, confirmation, method), encoding="utf-8")
    pair = f"{keys.key(owner)},{keys.certificate(owner)}"
    must("xmlsec1", "sign", *_id(version), "--privkey-pem", pair, "--output", assertion, template)


def _verifying(version, certificate):
    """The command that verifies with that key alone, whatever certificate the signature shows."""
    return ["xmlsec1", "verify", *_id(version), "--enabled-key-data", "key-name", "--pubkey-cert-pem", certificate]


def _id(version):
    return [f"--id-attr:{IDS[version]}", f"{NAMESPACES[version]}:Assertion"]


def _altered(file):
    changed, content = file.with_suffix(".altered.xml"), file.read_bytes()
    if ALTERED[0] not in content:
        raise Failure(f"no reader in {file}")
    changed.write_bytes(content.replace(*ALTERED))
    return changed


def _request(version, key_type):
    """A request for an assertion (WS-Trust 1.4, 4.1)."""
    return (
        f'<soap:Envelope xmlns:soap="{envelopes.SOAP11}"><soap:Header/><soap:Body><wst:RequestSecurityToken xmlns:wst="{WST}">'
        f"<wst:TokenType>{TYPES[version]}</wst:TokenType><wst:RequestType>{WST}/Issue</wst:RequestType>"
        '<wsp:AppliesTo xmlns:wsp="http://schemas.xmlsoap.org/ws/2004/09/policy">'
        '<wsa:EndpointReference xmlns:wsa="http://www.w3.org/2005/08/addressing">'
        f"<wsa:Address>{SERVICE}</wsa:Address></wsa:EndpointReference></wsp:AppliesTo>"
        f"<wst:KeyType>{WST}/{key_type}</wst:KeyType></wst:RequestSecurityToken></soap:Body></soap:Envelope>"
    )


def _template(keys, version, confirmation, method):
    """An assertion with a Signature to be filled, where the schema has it."""
    now = datetime.now(timezone.utc)
    issued, begin, end = (f"{now + timedelta(seconds=after):%Y-%m-%dT%H:%M:%SZ}" for after in (0, -30, 600))
    held = ""
    if confirmation == "holder-of-key":
        lines = keys.certificate("client").read_text(encoding="ascii").split("-----")[2]
        held = f'<ds:KeyInfo xmlns:ds="{DSIG}"><ds:X509Data><ds:X509Certificate>{lines.strip()}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>'
    signature = (
        f'<ds:Signature xmlns:ds="{DSIG}"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm="{EXCLUSIVE}"/>'
        f'<ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#{method}"/><ds:Reference URI="#_assertion"><ds:Transforms>'
        f'<ds:Transform Algorithm="{DSIG}enveloped-signature"/><ds:Transform Algorithm="{EXCLUSIVE}"/></ds:Transforms>'
        '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/></ds:Reference></ds:SignedInfo>'
        "<ds:SignatureValue/><ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature>"
    )
    life = f'NotBefore="{begin}" NotOnOrAfter="{end}"'
    space = NAMESPACES[version]
    if version == "2.0":
        data = f"<s:SubjectConfirmationData>{held}</s:SubjectConfirmationData>" if held else f'<s:SubjectConfirmationData NotOnOrAfter="{end}"/>'
        return (
            f'<s:Assertion xmlns:s="{space}" ID="_assertion" IssueInstant="{issued}" Version="2.0"><s:Issuer>{ISSUER}</s:Issuer>{signature}'
            f'<s:Subject><s:NameID>alice</s:NameID><s:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:{confirmation}">{data}'
            f"</s:SubjectConfirmation></s:Subject><s:Conditions {life}><s:AudienceRestriction><s:Audience>{AUDIENCE}</s:Audience>"
            '</s:AudienceRestriction></s:Conditions><s:AttributeStatement><s:Attribute Name="role"><s:AttributeValue>reader</s:AttributeValue>'
            "</s:Attribute></s:AttributeStatement></s:Assertion>"
        )
    return (
        f'<s:Assertion xmlns:s="{space}" AssertionID="_assertion" IssueInstant="{issued}" Issuer="{ISSUER}" MajorVersion="1" MinorVersion="1">'
        f"<s:Conditions {life}><s:AudienceRestrictionCondition><s:Audience>{AUDIENCE}</s:Audience></s:AudienceRestrictionCondition>"
        "</s:Conditions><s:AttributeStatement><s:Subject><s:NameIdentifier>alice</s:NameIdentifier><s:SubjectConfirmation>"
        f"<s:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:{confirmation}</s:ConfirmationMethod>{held}</s:SubjectConfirmation></s:Subject>"
        '<s:Attribute AttributeName="role" AttributeNamespace="urn:names"><s:AttributeValue>reader</s:AttributeValue></s:Attribute>'
        f"</s:AttributeStatement>{signature}</s:Assertion>"
    )
