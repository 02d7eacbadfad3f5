"""The policies of the matrix with CXF, and the WSDLs of the sample services with one of them attached.

A cell is one policy. What the endpoint does (binding, tokens, options) is attached to each wsdl:binding; what is signed
and encrypted to the messages: both by reference, as the tools of other vendors write it.
"""

from dataclasses import dataclass, field
from xml.dom import minidom

WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
WSDL = "http://schemas.xmlsoap.org/wsdl/"
XSD = "http://www.w3.org/2001/XMLSchema"
# The namespaces of WS-Policy 1.5 with WS-SecurityPolicy 1.2, and of the drafts that Java and .NET stacks of 2005 speak.
CURRENT = {
    "wsp": "http://www.w3.org/ns/ws-policy",
    "sp": "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702",
}
DRAFT = {
    "wsp": "http://schemas.xmlsoap.org/ws/2004/09/policy",
    "sp": "http://schemas.xmlsoap.org/ws/2005/07/securitypolicy",
}
GCM = "http://cxf.apache.org/custom/security-policy"
ADDRESSING = "http://www.w3.org/2005/08/addressing"

WITH_ADDRESSING = '<wsam:Addressing xmlns:wsam="http://www.w3.org/2007/05/addressing/metadata"><wsp:Policy/></wsam:Addressing>'
ENTIRE = "<sp:OnlySignEntireHeadersAndBody/>"
# A symmetric bootstrap tells nothing of the client.
ANONYMOUS = {"conversations": {"anonymous": True}}

MECHANISMS = ["sign", "encrypt", "sign-encrypt", "encrypt-sign", "secure-conversation"]
SUITES = ["Basic256", "Basic128", "TripleDes", "TripleDesRsa15", "Basic256Sha256", "Basic128GCM"]
SERVICES = {"echo": "Echo", "books": "Books", "employees": "Employees", "sum": "Sum"}


@dataclass
class Cell:
    """One policy, and how a client behaves under it."""

    name: str
    endpoint: str
    message: str = ""
    namespaces: dict = field(default_factory=lambda: CURRENT)
    services: tuple = ("echo",)
    calls: int = 1
    soap: str = "11"
    tls: bool = False
    # URI of the method of signatures, where it is not the suite's by the letter.
    signature: str | None = None
    # Whether a client generated from the WSDL calls, too.
    generated: bool = False
    # What a client is told to do beside calling, with the count that it then reports.
    client: dict = field(default_factory=dict)
    # What our endpoint file says beside the policy.
    ours: dict = field(default_factory=dict)

    @property
    def path(self):
        """The cell's name in an address or as a file."""
        return self.name.replace(",", "").replace(" ", "-")

    def wsdl(self, plain):
        """`plain`, the WSDL of a sample service as a DOM document, with the policy attached, as octets."""
        document = plain.cloneNode(True)
        root = document.documentElement
        (types,) = root.getElementsByTagNameNS(WSDL, "types")
        for identifier, assertions in (("EndpointPolicy", self.endpoint), ("MessagePolicy", self.message)):
            if assertions:
                root.insertBefore(document.importNode(self._policy(identifier, assertions), True), types)
                for target in _targets(root, identifier):
                    self._attach(document, target, identifier)
        return document.toxml(encoding="UTF-8")

    def _policy(self, identifier, assertions):
        namespaces = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in self.namespaces.items())
        text = (
            f'<wsp:Policy wsu:Id="{identifier}" xmlns:wsu="{WSU}"{namespaces}>'
            f"<wsp:ExactlyOne><wsp:All>{assertions}</wsp:All></wsp:ExactlyOne></wsp:Policy>"
        )
        return minidom.parseString(text).documentElement

    def _attach(self, document, target, identifier):
        reference = document.createElementNS(self.namespaces["wsp"], "wsp:PolicyReference")
        reference.setAttribute("xmlns:wsp", self.namespaces["wsp"])
        reference.setAttribute("URI", f"#{identifier}")
        target.insertBefore(reference, target.firstChild)


def _targets(root, identifier):
    bindings = root.getElementsByTagNameNS(WSDL, "binding")
    if identifier == "EndpointPolicy":
        return bindings
    names = ("input", "output")
    return [found for binding in bindings for name in names for found in binding.getElementsByTagNameNS(WSDL, name)]


def self_contained(read, address):
    """The WSDL of a sample service with its schemas inside, so that it is one file; `read` gives what is at an address."""
    document = minidom.parseString(read(f"{address}?wsdl"))
    (types,) = document.getElementsByTagNameNS(WSDL, "types")
    (imported,) = types.getElementsByTagNameNS(XSD, "import")
    schema = minidom.parseString(read(imported.getAttribute("schemaLocation"))).documentElement
    for include in schema.getElementsByTagNameNS(XSD, "include"):
        for part in list(minidom.parseString(read(include.getAttribute("schemaLocation"))).documentElement.childNodes):
            schema.insertBefore(part, include)
        schema.removeChild(include)
    while types.firstChild:
        types.removeChild(types.firstChild)
    types.appendChild(document.importNode(schema, True))
    return document


def cells():
    """Every cell."""
    yield from _mechanisms()
    yield from _symmetric()
    yield from _asymmetric()
    yield from _transport()
    yield from _conversations()
    for mechanism in ("sign-encrypt", "secure-conversation"):
        endpoint, message = _mechanism(mechanism, "Basic256")
        yield Cell(f"{mechanism} Basic256, SOAP 1.2", endpoint, message, soap="12")
        endpoint = endpoint.replace(CURRENT["sp"], DRAFT["sp"]).replace("Trust13", "Trust10")
        yield Cell(f"{mechanism} of 2005", endpoint, message, namespaces=DRAFT)


def _mechanisms():
    """Every mechanism with every suite, for every service. Without a binding there is no suite."""
    every = tuple(SERVICES)
    yield Cell("plain", "", services=every, generated=True)
    yield Cell("username", supporting("SupportingTokens", username()), services=every)
    yield Cell("username digest", supporting("SupportingTokens", username("<sp:HashPassword/>")))
    for mechanism in MECHANISMS:
        for suite in SUITES:
            generated = (mechanism, suite) in (("sign-encrypt", "Basic256"), ("secure-conversation", "Basic128GCM"))
            yield Cell(f"{mechanism} {suite}", *_mechanism(mechanism, suite), services=every, generated=generated)


def _symmetric():
    for suite in ("Basic256", "Basic128GCM"):
        yield Cell(f"symmetric {suite}", symmetric(suite) + wss11(), both(), services=tuple(SERVICES))
        derived = symmetric(suite, derived=True) + wss11()
        yield Cell(f"symmetric derived keys {suite}", derived, both(), services=tuple(SERVICES))
    for name, options, wss in (
        ("signature confirmation", "", "<sp:RequireSignatureConfirmation/>"),
        ("encrypt-sign", "<sp:EncryptBeforeSigning/>", ""),
        ("encrypted signature", "<sp:EncryptSignature/>", ""),
    ):
        yield Cell(f"symmetric {name}", symmetric("Basic256", options=options) + wss11(wss), both())
    for derived in (False, True):
        name = "symmetric derived keys" if derived else "symmetric"
        binding = symmetric("Basic256", derived=derived) + wss11()
        yield Cell(f"{name} endorsing", binding + supporting("EndorsingSupportingTokens", CLIENT), both())
        yield Cell(f"{name} signed endorsing", binding + supporting("SignedEndorsingSupportingTokens", CLIENT), both())
        yield Cell(f"{name} signed username", binding + supporting("SignedSupportingTokens", username()), both())
    secret = supporting("SignedEncryptedSupportingTokens", username())
    yield Cell("symmetric signed encrypted username", symmetric("Basic256") + wss11() + secret, both())


def _asymmetric():
    for name, options in (("encrypted signature", "<sp:EncryptSignature/>"), ("protected tokens", "<sp:ProtectTokens/>")):
        yield Cell(f"asymmetric {name}", asymmetric("Basic256", options=options) + wss10(), both())
    named = supporting("SignedSupportingTokens", username())
    yield Cell("asymmetric signed username", asymmetric("Basic256") + wss10() + named, both())
    sha256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
    yield Cell(
        "sign-encrypt Basic256Sha256, rsa-sha256", *_mechanism("sign-encrypt", "Basic256Sha256"), signature=sha256,
        ours={"sha256_suites": "sha256"},
    )  # fmt: skip


def _transport():
    for suite in ("Basic256", "Basic256Sha256"):
        yield Cell(f"transport username {suite}", transport(suite) + supporting("SignedSupportingTokens", username()), tls=True)
    endorsing = supporting("EndorsingSupportingTokens", CLIENT)
    yield Cell("transport endorsing Basic256", transport("Basic256") + wss11() + endorsing, tls=True)


def _conversations():
    for suite in ("Basic256", "Basic128GCM"):
        bootstrap = symmetric(suite) + wss11() + trust13() + both()
        for derived in (False, True):
            name = f"secure-conversation {'derived keys ' if derived else ''}{suite}, symmetric bootstrap"
            yield Cell(name, conversation(suite, bootstrap, derived), both(), calls=2, ours=ANONYMOUS)
        bootstrap = asymmetric(suite) + wss10() + trust13() + both()
        name = f"secure-conversation {suite}"
        renewed = {"renew": ("renewed", 1)}
        yield Cell(f"{name}, renew", conversation(suite, bootstrap), both(), calls=2, client=renewed)
        cancelled = {"cancel": ("cancelled", 1)}
        yield Cell(f"{name}, cancel", conversation(suite, bootstrap), both(), client=cancelled)
    for name, token in (
        ("username", supporting("SignedEncryptedSupportingTokens", username())),
        ("endorsed", supporting("EndorsingSupportingTokens", CLIENT)),
    ):
        bootstrap = symmetric("Basic256") + token + wss11() + trust13() + both()
        yield Cell(f"secure-conversation {name} bootstrap", conversation("Basic256", bootstrap), both(), calls=2)
    bootstrap = symmetric("Basic256") + wss11() + trust13() + both()
    silent = conversation("Basic256", bootstrap, addressing="")
    yield Cell("secure-conversation Basic256, no addressing", silent, both(), calls=2, ours=ANONYMOUS)
    bootstrap = transport("Basic256") + supporting("SignedSupportingTokens", username()) + trust13()
    name = "secure-conversation transport bootstrap, renew"
    yield Cell(name, conversation("Basic256", bootstrap), both(), tls=True, calls=2, client={"renew": ("renewed", 1)})


def _mechanism(mechanism, suite):
    """The assertions for endpoint and messages."""
    if mechanism == "sign":
        return asymmetric(suite) + wss10(), parts("SignedParts")
    if mechanism == "encrypt":
        return asymmetric(suite, timestamp=False) + wss10(), parts("EncryptedParts")
    if mechanism == "sign-encrypt":
        return asymmetric(suite) + wss10(), both()
    if mechanism == "encrypt-sign":
        return asymmetric(suite, options="<sp:EncryptBeforeSigning/>") + wss10(), both()
    bootstrap = asymmetric(suite) + wss10() + trust13() + both()
    return conversation(suite, bootstrap, derived=True), both()


def asymmetric(suite, timestamp=True, options=""):
    """Both sides sign with their certificates."""
    return (
        f"<sp:AsymmetricBinding><wsp:Policy>{_token('InitiatorToken', CLIENT)}"
        f"{_token('RecipientToken', x509('Never'))}{_common(suite, timestamp, options)}</wsp:Policy></sp:AsymmetricBinding>"
    )


def symmetric(suite, derived=False, options=""):
    """One key, wrapped to the service's certificate."""
    token = x509("Never", ("<sp:RequireDerivedKeys/>" if derived else "") + "<sp:RequireThumbprintReference/>")
    return (
        f"<sp:SymmetricBinding><wsp:Policy>{_token('ProtectionToken', token)}"
        f"{_common(suite, True, options)}</wsp:Policy></sp:SymmetricBinding>"
    )


def transport(suite):
    """The connection protects."""
    token = _token("TransportToken", "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>")
    return f"<sp:TransportBinding><wsp:Policy>{token}{_common(suite, True, '', '')}</wsp:Policy></sp:TransportBinding>"


def conversation(suite, bootstrap, derived=False, addressing=WITH_ADDRESSING):
    """The key of a security context, which `bootstrap` protects on its way."""
    derivation = "<sp:RequireDerivedKeys/>" if derived else ""
    token = (
        f"<sp:SecureConversationToken {_inclusion('AlwaysToRecipient')}><wsp:Policy>{derivation}"
        f"<sp:BootstrapPolicy><wsp:Policy>{bootstrap}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>"
    )
    return (
        f"{addressing}<sp:SymmetricBinding><wsp:Policy>{_token('ProtectionToken', token)}{_common(suite, True, '')}</wsp:Policy>"
        f"</sp:SymmetricBinding>{wss11()}{trust13()}"
    )


def _common(suite, timestamp, options, entire=ENTIRE):
    prefix = f'cxf:{suite} xmlns:cxf="{GCM}"' if suite.endswith("GCM") else f"sp:{suite}"
    return (
        f"<sp:AlgorithmSuite><wsp:Policy><{prefix}/></wsp:Policy></sp:AlgorithmSuite>"
        f"<sp:Layout><wsp:Policy><sp:Lax/></wsp:Policy></sp:Layout>{'<sp:IncludeTimestamp/>' if timestamp else ''}"
        f"{options}{entire}"
    )


def _token(role, token):
    return f"<sp:{role}><wsp:Policy>{token}</wsp:Policy></sp:{role}>"


def _inclusion(value):
    return f'sp:IncludeToken="{CURRENT["sp"]}/IncludeToken/{value}"'


def x509(inclusion, options=""):
    """An X.509 certificate."""
    return f"<sp:X509Token {_inclusion(inclusion)}><wsp:Policy>{options}<sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"


CLIENT = x509("AlwaysToRecipient")


def username(options=""):
    """A user name with its password."""
    return (
        f"<sp:UsernameToken {_inclusion('AlwaysToRecipient')}><wsp:Policy>{options}<sp:WssUsernameToken10/></wsp:Policy>"
        "</sp:UsernameToken>"
    )


def supporting(kind, token):
    """One more token."""
    return f"<sp:{kind}><wsp:Policy>{token}</wsp:Policy></sp:{kind}>"


def wss10():
    """How tokens are referred to under the asymmetric binding."""
    return "<sp:Wss10><wsp:Policy><sp:MustSupportRefKeyIdentifier/><sp:MustSupportRefIssuerSerial/></wsp:Policy></sp:Wss10>"


def wss11(options=""):
    """How tokens are referred to under the symmetric binding."""
    return (
        "<sp:Wss11><wsp:Policy><sp:MustSupportRefIssuerSerial/><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/>"
        f"{options}</wsp:Policy></sp:Wss11>"
    )


def trust13():
    """How tokens are asked for."""
    return (
        "<sp:Trust13><wsp:Policy><sp:MustSupportIssuedTokens/><sp:RequireClientEntropy/><sp:RequireServerEntropy/></wsp:Policy>"
        "</sp:Trust13>"
    )


def both():
    """Body and addressing headers signed, Body encrypted."""
    return parts("SignedParts") + parts("EncryptedParts")


def parts(kind):
    """The Body; when it is signed, the addressing headers, too."""
    headers = f'<sp:Header Namespace="{ADDRESSING}"/>' if kind == "SignedParts" else ""
    return f"<sp:{kind}><sp:Body/>{headers}</sp:{kind}>"
