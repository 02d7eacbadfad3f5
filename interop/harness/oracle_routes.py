"""The routes of `interop/oracles`: how each is secured, and the files of the gateways at both ends.

The rule kept here: a stranger without a key can get every message of these routes as far as its cipher text.
"""

import json
from dataclasses import dataclass

from .realm import CLIENT, REALM
from .saml import AUDIENCE, ISSUER

POLICY = """<wsp:Policy xmlns:wsp="http://www.w3.org/ns/ws-policy" xmlns:sp="http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702">
<sp:SymmetricBinding><wsp:Policy>
<sp:ProtectionToken><wsp:Policy>
<sp:X509Token sp:IncludeToken="http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/Never">
<wsp:Policy>{derived}<sp:RequireThumbprintReference/><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>
</wsp:Policy></sp:ProtectionToken>
<sp:AlgorithmSuite><wsp:Policy><sp:Basic256/></wsp:Policy></sp:AlgorithmSuite>
<sp:IncludeTimestamp/><sp:OnlySignEntireHeadersAndBody/></wsp:Policy></sp:SymmetricBinding>
<sp:Wss11><wsp:Policy><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/></wsp:Policy></sp:Wss11>
<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>
"""
POLICIES = {"symmetric.xml": "", "derived.xml": "<sp:RequireDerivedKeys/>"}
SERVICE = f"HTTP/books.example@{REALM}"
CBC = "Basic256Sha256+RsaSha256"


@dataclass(frozen=True)
class Route:
    """How a route is secured, and the block length of its cipher."""

    security: str
    block: int = 16
    # Tables of both ends, and of the inbound one.
    tables: str = ""
    inbound: str = ""
    # Whether its messages have an attachment, a Kerberos token, or a reference to an assertion.
    package: bool = False
    ticket: bool = False
    reference: bool = False


def _mechanism(name, suite, more=""):
    return f'{{ mechanism = "{name}", suite = "{suite}"{more} }}'


ROUTES = {
    "sign-encrypt": Route(_mechanism("sign-encrypt", CBC)),
    "encrypt-sign": Route(_mechanism("encrypt-sign", CBC)),
    "encrypt": Route(_mechanism("encrypt", CBC)),
    "rsa15": Route(_mechanism("sign-encrypt", "Basic256Sha256Rsa15+RsaSha256")),
    "tripledes": Route(_mechanism("sign-encrypt", "TripleDes+RsaSha256"), block=8),
    "gcm": Route(_mechanism("sign-encrypt", "Basic256GCM")),
    "conversation": Route(_mechanism("secure-conversation", CBC)),
    "symmetric": Route('{ policy = "symmetric.xml" }'),
    "derived": Route('{ policy = "derived.xml" }'),
    "package": Route(_mechanism("sign-encrypt", CBC, ', attachments = { signed = "complete", encrypted = "complete" }'), package=True),
    "inner": Route(_mechanism("sign", CBC), tables=f'inner = {{ encryption = {{ requests = "{{urn:a}}pay", suite = "{CBC}" }} }}\n'),
    "kerberos": Route(_mechanism("sign-encrypt", "Basic256Sha256"), ticket=True),
    "reference": Route(
        _mechanism("sign-encrypt", CBC), reference=True,
        inbound='saml = {{ audience = ["{audience}"], confirmation = ["holder-of-key"], issuers = [{{ name = "{issuer}", pinned = [{pinned}] }}], '
        'by_reference = {{ authorities = [{authority}], at_once = 16, per_second = 1000, tls = {{ ca = [{ca}] }} }} }}\n',
    ),
}  # fmt: skip


def configured(path, direction, ports, at, keys, records, names):
    """Writes a gateway's file with these routes. `at` has the port of the backend, and that of the authority of assertions."""
    for file, derived in POLICIES.items():
        (path.parent / file).write_text(POLICY.format(derived=derived), encoding="utf-8")
    sections = [f'listen = "127.0.0.1:{ports[0]}"\nadmin = "127.0.0.1:{ports[1]}"\n']
    if records:
        sections.append("record = { refused = 100, plaintext = true }\n")
    for name in names:
        route = ROUTES[name]
        security = route.security
        for file in POLICIES:
            security = security.replace(file, str(path.parent / file))
        whose = _ticket(path.parent, direction) if route.ticket else _certificates(direction, keys)
        saml = {"audience": AUDIENCE, "issuer": ISSUER, "pinned": json.dumps(str(keys.certificate("server")))}
        authority = json.dumps(f"https://127.0.0.1:{at['authority']}/")
        apart = route.inbound.format(**saml, authority=authority, ca=json.dumps(str(keys.ca))) if direction == "inbound" else ""
        sections.append(
            f'[[routes]]\npath = "/{name}"\nbackend = "http://127.0.0.1:{at["backend"]}/{name}"\n[routes.{direction}]\n'
            f"{whose}{route.tables}{apart}security = {security}\n"
        )
    path.write_text("\n".join(sections), encoding="utf-8")


def _certificates(direction, keys):
    ours, theirs = ("server", "client") if direction == "inbound" else ("client", "server")
    return (
        f"identity = {{ key = {json.dumps(str(keys.key(ours)))}, certificate = {json.dumps(str(keys.certificate(ours)))} }}\n"
        f"peer = {{ certificate = {json.dumps(str(keys.certificate(theirs)))} }}\n"
        f"trust = {{ anchors = [{json.dumps(str(keys.ca))}] }}\n"
    )


def _ticket(folder, direction):
    whose = {"inbound": ("service", SERVICE, ""), "outbound": ("client", CLIENT, f', service = "{SERVICE}"')}
    keytab, principal, service = whose[direction]
    return f'kerberos = {{ keytab = "{folder / "realm" / keytab}.keytab", principal = "{principal}"{service} }}\n'
