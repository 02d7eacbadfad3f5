"""The policies of the matrix with CXF, and the WSDLs of the sample services with one of them attached.

A cell is one policy. What the endpoint does (binding, tokens, options) is attached to each wsdl:binding; what is signed
and encrypted to the messages: both by reference, as the tools of other vendors write it.
"""

from dataclasses import dataclass, field
from xml.dom import minidom

from .assertions import (
    ADDRESSING, CLIENT, CURRENT, apart, asymmetric, both, conversation, conversation_over_tls, endorsed_in_conversation, parts, supporting,
    symmetric, transport, trust13, username, wss10, wss11, x509,
)  # fmt: skip

WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
WSDL = "http://schemas.xmlsoap.org/wsdl/"
XSD = "http://www.w3.org/2001/XMLSchema"
# The namespaces of the drafts that Java and .NET stacks of 2005 speak.
DRAFT = {
    "wsp": "http://schemas.xmlsoap.org/ws/2004/09/policy",
    "sp": "http://schemas.xmlsoap.org/ws/2005/07/securitypolicy",
}
# A symmetric bootstrap tells nothing of the client.
ANONYMOUS = {"conversations": {"anonymous": True}}
# CXF's client renews and cancels under the bootstrap's policy, without a signature by the context's
# key.
OWNER_ALONE = {"conversations": {"owner_alone": True}}

# Who endorses where there are two endorsing tokens. CXF's client has one key for both.
TWO = {"endorsers": ("client", "approver")}
SAME = {**TWO, "ours": {"same_endorser": True}}

RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
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
    # What our endpoint file says beside the policy, or with a mechanism instead of it.
    ours: dict = field(default_factory=dict)
    # Whose keys make our endorsing signatures, where there are several.
    endorsers: tuple = ()
    # Whether our gateway has no certificate to encrypt answers for.
    anybody: bool = False
    # The assertions for messages of another operation, which the service describes and nobody
    # calls.
    other: str | None = None
    # Where CXF's client does not do what the policy says: the reason that our gateway gives for
    # refusing it.
    refused: str | None = None
    # Whether CXF's client can write such messages.
    by_client: bool = True
    # Whether CXF's service understands CXF's client.
    by_itself: bool = True
    # Where our gateway refuses what CXF's service answers: the reason that it gives.
    unanswered: str | None = None
    # Where CXF's service refuses what our gateway sends: a word of its fault.
    unread: str | None = None
    # Whether keys of certificates protect messages.
    certificates: bool = True
    # What our endpoint file has of other keys, for each direction.
    secrets: dict = field(default_factory=dict)
    # What CXF's service and client are told of other keys.
    options: dict = field(default_factory=dict)

    @property
    def path(self):
        """The cell's name in an address or as a file."""
        return self.name.replace(",", "").replace(" ", "-")

    def wsdl(self, plain):
        """`plain`, the WSDL of a sample service as a DOM document, with the policy attached, as octets."""
        document = plain.cloneNode(True)
        root = document.documentElement
        (types,) = root.getElementsByTagNameNS(WSDL, "types")
        policies = [
            ("EndpointPolicy", self.endpoint, root.getElementsByTagNameNS(WSDL, "binding")),
            ("MessagePolicy", self.message, _messages(root)),
        ]
        if self.other is not None:
            policies.append(("OtherPolicy", self.other, _with_another_operation(root)))
        for identifier, assertions, targets in policies:
            if assertions:
                root.insertBefore(document.importNode(self._policy(identifier, assertions), True), types)
                for target in targets:
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


def _messages(root):
    """Inputs and outputs of all bindings."""
    bindings = root.getElementsByTagNameNS(WSDL, "binding")
    names = ("input", "output")
    return [found for binding in bindings for name in names for found in binding.getElementsByTagNameNS(WSDL, name)]


def _with_another_operation(root):
    """Describes an operation `Return`, which takes what the first one answers; its inputs and outputs in the bindings."""
    before = _messages(root)
    for message in root.getElementsByTagNameNS(WSDL, "message"):
        if message.getAttribute("name").endswith("Response"):
            taken = message.cloneNode(True)
            taken.setAttribute("name", "ReturnRequest")
            root.insertBefore(taken, message)
            break
    for operation in root.getElementsByTagNameNS(WSDL, "operation"):
        other = operation.cloneNode(True)
        other.setAttribute("name", "Return")
        for element in other.getElementsByTagName("*"):
            if element.hasAttribute("soapAction"):
                element.setAttribute("soapAction", element.getAttribute("soapAction") + ":Return")
            if element.localName == "input" and element.hasAttribute("message"):
                element.setAttribute("message", "tns:ReturnRequest")
        operation.parentNode.appendChild(other)
    return [found for found in _messages(root) if found not in before]


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
    yield from _conversations_over_tls()
    yield from _endorsing_conversations()
    yield from _operations()
    for mechanism in ("sign-encrypt", "secure-conversation"):
        endpoint, message = mechanism_assertions(mechanism, "Basic256")
        yield Cell(f"{mechanism} Basic256, SOAP 1.2", endpoint, message, soap="12")
        endpoint = endpoint.replace(CURRENT["sp"], DRAFT["sp"]).replace("Trust13", "Trust10")
        yield Cell(f"{mechanism} of 2005", endpoint, message, namespaces=DRAFT)


def unsupported():
    """Policies that our gateway refuses, with the assertion that it names: CXF's client and service have no reading of them in common."""
    own = parts("EncryptedParts")
    users = transport("Basic256") + supporting("SignedSupportingTokens", username()) + wss11() + trust13()
    for name, endpoint, tls in (
        ("symmetric endorsing", symmetric("Basic256") + wss11() + supporting("EndorsingSupportingTokens", CLIENT + own), False),
        ("asymmetric endorsing", asymmetric("Basic256") + wss10() + supporting("EndorsingSupportingTokens", CLIENT + own), False),
        ("symmetric signed username", symmetric("Basic256") + wss11() + supporting("SignedSupportingTokens", username() + own), False),
        ("secure-conversation on TLS", conversation_over_tls("Basic256", users, own=own), True),
    ):  # fmt: skip
        message = "" if tls else parts("SignedParts")
        yield Cell(f"{name}, encrypted parts of its own", endpoint, message, tls=tls, by_itself=False), "EncryptedParts"


def presets():
    """Gateways that know of a mechanism and a suite only, and tell clients of them as a policy that they write themselves."""
    yield Cell("preset username", "", ours={"mechanism": "username"})
    yield Cell("preset username text, transport", "", tls=True, ours={"mechanism": "username", "password": "text"})
    for mechanism in MECHANISMS:
        for suite in ("Basic256", "Basic128Rsa15"):
            generated = suite == "Basic256" and mechanism in ("sign-encrypt", "secure-conversation")
            ours = {"mechanism": mechanism, "suite": suite}
            calls = 2 if mechanism == "secure-conversation" else 1
            yield Cell(f"preset {mechanism} {suite}", "", calls=calls, generated=generated, ours=ours)
    # Answers are for whoever asks, by the key of the request or by the certificate that signed it.
    for mechanism in ("encrypt", "sign-encrypt"):
        yield Cell(f"preset {mechanism} Basic256, any client", "", anybody=True, ours={"mechanism": mechanism, "suite": "Basic256"})
    ours = {"mechanism": "sign-encrypt", "suite": "Basic256Sha256+RsaSha256"}
    yield Cell("preset sign-encrypt Basic256Sha256, rsa-sha256", "", signature=RSA_SHA256, ours=ours)
    yield Cell("preset sign, the default suite", "", signature=RSA_SHA256, ours={"mechanism": "sign"})
    for reference in ("thumbprint", "ski", "issuer-serial", "direct"):
        ours = {"mechanism": "sign-encrypt", "suite": "Basic256", "key_reference": reference}
        yield Cell(f"preset sign-encrypt Basic256, {reference}", "", ours=ours)
    gcm = {
        "signature": ["rsa-sha1", "hmac-sha1"], "digest": ["sha1"], "key_transport": ["rsa-oaep-mgf1p"], "data": ["aes256-gcm"],
    }  # fmt: skip
    for mechanism in ("sign-encrypt", "secure-conversation"):
        yield Cell(f"preset {mechanism}, the algorithms of CXF's Basic256GCM", "", ours={"mechanism": mechanism, "algorithms": gcm})
    on_tls = {"mechanism": "secure-conversation", "suite": "Basic256", "conversations": {"bootstrap": "username"}, "password": "text"}
    yield Cell("preset secure-conversation, a user on TLS", "", tls=True, calls=2, ours=on_tls)
    of_2005 = {"mechanism": "secure-conversation", "suite": "Basic256", "conversations": {"version": "2005-02"}}
    yield Cell("preset secure-conversation of 2005", "", ours=of_2005)
    yield Cell("preset sign-encrypt Basic256, SOAP 1.2", "", soap="12", ours={"mechanism": "sign-encrypt", "suite": "Basic256"})
    signed = ["Body", "Timestamp", "UsernameToken"]
    named = {
        "mechanism": "username", "suite": "Basic256", "signed": signed, "encrypted": ["Body", "UsernameToken"], "timestamp": True,
        "password": "text",
    }  # fmt: skip
    yield Cell("preset username, signed and encrypted", "", ours=named)


def _mechanisms():
    """Every mechanism with every suite, for every service. Without a binding there is no suite."""
    every = tuple(SERVICES)
    yield Cell("plain", "", services=every, generated=True, ours={"policy_may_be_empty": True})
    yield Cell("username", supporting("SupportingTokens", username()), services=every)
    yield Cell("username digest", supporting("SupportingTokens", username("<sp:HashPassword/>")))
    for mechanism in MECHANISMS:
        for suite in SUITES:
            generated = (mechanism, suite) in (("sign-encrypt", "Basic256"), ("secure-conversation", "Basic128GCM"))
            yield Cell(f"{mechanism} {suite}", *mechanism_assertions(mechanism, suite), services=every, generated=generated)


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
    # Stacks of 2005 demand derived keys of the endorsing certificate, too, which nothing is derived
    # from.
    for name, options in (("XD", ""), ("XD-ES", "<sp:EncryptBeforeSigning/>"), ("XD-SEES", "<sp:EncryptSignature/>")):
        binding = symmetric("Basic128", derived=True, options=options) + wss11("<sp:RequireSignatureConfirmation/>")
        token = x509("AlwaysToRecipient", "<sp:RequireDerivedKeys/><sp:RequireThumbprintReference/>")
        yield Cell(f"symmetric {name}", binding + supporting("EndorsingSupportingTokens", token), both())
    secret = supporting("SignedEncryptedSupportingTokens", username())
    yield Cell("symmetric signed encrypted username", symmetric("Basic256") + wss11() + secret, both())
    for name, binding in (
        ("symmetric", symmetric("Basic256")),
        ("symmetric derived keys", symmetric("Basic256", derived=True)),
        ("symmetric GCM", symmetric("Basic128GCM")),
        ("symmetric encrypt-sign", symmetric("Basic256", options="<sp:EncryptBeforeSigning/>")),
        ("symmetric encrypted signature", symmetric("Basic256", options="<sp:EncryptSignature/>")),
        ("symmetric protected tokens", symmetric("Basic256", options="<sp:ProtectTokens/>")),
    ):
        yield from _hidden_endorsements(name, binding + wss11())
    # A token that is never included is named. CXF's client leaves out the endorsement, too, and its
    # service does not miss it.
    named = supporting("SignedEndorsingEncryptedSupportingTokens", x509("Never"))
    name = "symmetric signed endorsing encrypted, named"
    yield Cell(name, symmetric("Basic256") + wss11() + named, both(), refused="endorsement-missing")
    # Two signatures over the same with one key are the same signature, which CXF's service takes
    # for a replay.
    kinds = ("endorsing", "signed endorsing", "signed endorsing encrypted")
    for name, derived in (("symmetric", False), ("symmetric derived keys", True)):
        binding = symmetric("Basic256", derived=derived) + wss11()
        yield from _several_endorsements(name, binding, kinds, by_itself=False)
    twice = symmetric("Basic256") + wss11() + supporting("EndorsingSupportingTokens", CLIENT * 2)
    name = "symmetric two endorsing, each with a key of its own"
    yield Cell(name, twice, both(), refused="endorser-repeated", by_itself=False, **TWO)
    body = "<sp:SignedParts><sp:Body/></sp:SignedParts>"
    for name, kind in (("endorsing", "Endorsing"), ("signed endorsing encrypted", "SignedEndorsingEncrypted")):
        own = supporting(f"{kind}SupportingTokens", CLIENT + body)
        yield Cell(f"symmetric {name}, parts of its own", symmetric("Basic256") + wss11() + own, both())
    # CXF has the list that deciphers the Body before the signature over its cipher text, which is
    # checked before anything is deciphered.
    own = supporting("EndorsingSupportingTokens", CLIENT + body)
    binding = symmetric("Basic256", options="<sp:EncryptBeforeSigning/>") + wss11()
    name = "symmetric encrypt-sign endorsing, parts of its own"
    yield Cell(name, binding + own, both(), by_itself=False)


def _asymmetric():
    for name, options in (("encrypted signature", "<sp:EncryptSignature/>"), ("protected tokens", "<sp:ProtectTokens/>")):
        yield Cell(f"asymmetric {name}", asymmetric("Basic256", options=options) + wss10(), both())
    introduced = asymmetric("Basic256", timestamp=False) + wss10()
    yield Cell("asymmetric encrypt, certificate sent along", introduced, parts("EncryptedParts"))
    protected = asymmetric("Basic256", options="<sp:ProtectTokens/>") + wss10()
    name = "asymmetric protected tokens"
    yield from _several_endorsements(name, protected, ("endorsing", "signed endorsing"), by_itself=True)
    mixed = supporting("SignedEndorsingSupportingTokens", CLIENT) + supporting("EndorsingSupportingTokens", CLIENT)
    yield Cell(f"{name} signed endorsing and endorsing", protected + mixed, both(), **SAME)
    endorsing = supporting("EndorsingSupportingTokens", CLIENT)
    yield Cell("asymmetric endorsing", asymmetric("Basic256") + wss10() + endorsing, both())
    # CXF's service wants every certificate of the message signed or encrypted where an endorsing
    # one is to be.
    signed = supporting("SignedEndorsingSupportingTokens", CLIENT)
    yield Cell("asymmetric protected tokens signed endorsing", protected + signed, both())
    for name, options in (
        ("asymmetric", ""),
        ("asymmetric encrypt-sign", "<sp:EncryptBeforeSigning/>"),
        ("asymmetric encrypt-sign encrypted signature", "<sp:EncryptBeforeSigning/><sp:EncryptSignature/>"),
        ("asymmetric encrypted signature", "<sp:EncryptSignature/>"),
        ("asymmetric protected tokens", "<sp:ProtectTokens/>"),
    ):
        binding = asymmetric("Basic256", options=options, initiator=x509("Never")) + wss10()
        # CXF's client puts the encrypted token in front of the key that deciphers it.
        yield from _hidden_endorsements(name, binding, refused="element-unexpected", by_itself=False)
    yield from _asymmetric_derived()
    named = supporting("SignedSupportingTokens", username())
    yield Cell("asymmetric signed username", asymmetric("Basic256") + wss10() + named, both())
    yield Cell(
        "sign-encrypt Basic256Sha256, rsa-sha256", *mechanism_assertions("sign-encrypt", "Basic256Sha256"), signature=RSA_SHA256,
        ours={"sha256_suites": "sha256"},
    )  # fmt: skip


def _asymmetric_derived():
    """Keys derived from the one that is wrapped to a certificate."""
    derived = "<sp:RequireDerivedKeys/>"
    for suite in ("Basic256", "Basic128", "TripleDes", "Basic128GCM"):
        yield Cell(f"asymmetric derived keys for requests {suite}", apart(suite, recipient=derived) + wss10(), both())
    # Where the signature is encrypted as well, and made first, CXF's client fails before it sends
    # anything.
    for name, options in (
        ("encrypt-sign", "<sp:EncryptBeforeSigning/>"),
        ("encrypt-sign encrypted signature", "<sp:EncryptBeforeSigning/><sp:EncryptSignature/>"),
        ("protected tokens", "<sp:ProtectTokens/>"),
    ):
        binding = apart("Basic256", recipient=derived, options=options) + wss10()
        yield Cell(f"asymmetric derived keys for requests, {name}", binding, both())
    # CXF's service derives the keys of an answer from the one of the request, and names that as if
    # it were in the answer.
    astray = {"by_itself": False, "unanswered": "key-not-found"}
    yield Cell("asymmetric derived keys for both", apart("Basic256", derived, derived) + wss10(), both(), **astray)
    yield Cell("asymmetric derived keys for answers", apart("Basic256", derived) + wss10(), both(), **astray)
    # Where a token signs as well, CXF signs with a key that it derives from one that it wraps for
    # the receiver: so does everybody.
    binding = asymmetric("Basic256", recipient=x509("Never", derived)) + wss10()
    yield Cell("asymmetric derived keys of the recipient", binding, both(), by_itself=False, unanswered="element-unexpected")
    both_tokens = asymmetric("Basic256", initiator=x509("AlwaysToRecipient", derived), recipient=x509("Never", derived)) + wss10()
    yield Cell("asymmetric derived keys of both", both_tokens, both(), refused="algorithm-not-allowed", **{**astray, "unanswered": "algorithm-not-allowed"})


def _several_endorsements(name, binding, kinds, by_itself):
    """Two endorsing tokens, in one assertion or in two."""
    for words in kinds:
        token = supporting("".join(word.capitalize() for word in words.split()) + "SupportingTokens", CLIENT * 2)
        yield Cell(f"{name} two {words}", binding + token, both(), by_itself=by_itself, **SAME)
    own = supporting("EndorsingSupportingTokens", CLIENT + "<sp:SignedParts><sp:Body/></sp:SignedParts>")
    apart = supporting("EndorsingSupportingTokens", CLIENT) + own
    yield Cell(f"{name} endorsing, and endorsing with parts of its own", binding + apart, both(), **SAME)


def _hidden_endorsements(name, binding, **client):
    """Endorsing tokens that nobody but the receiver reads."""
    for signed in ("", "Signed"):
        token = supporting(f"{signed}EndorsingEncryptedSupportingTokens", CLIENT)
        yield Cell(f"{name} {signed.lower()} endorsing encrypted".replace("  ", " "), binding + token, both(), **client)


def _transport():
    for suite in ("Basic256", "Basic256Sha256"):
        yield Cell(f"transport username {suite}", transport(suite) + supporting("SignedSupportingTokens", username()), tls=True)
    endorsing = supporting("EndorsingSupportingTokens", CLIENT)
    yield Cell("transport endorsing Basic256", transport("Basic256") + wss11() + endorsing, tls=True)
    hidden = supporting("SignedEndorsingEncryptedSupportingTokens", CLIENT + parts("SignedParts"))
    yield Cell("transport signed endorsing encrypted, parts of its own", transport("Basic256") + wss11() + hidden, tls=True)
    # As in a symmetric binding: one key makes the same signature twice, which CXF's service takes
    # for a replay.
    twice = transport("Basic256") + wss11() + supporting("EndorsingSupportingTokens", CLIENT * 2)
    yield Cell("transport two endorsing", twice, tls=True, by_itself=False, **SAME)
    name = "transport two endorsing, each with a key of its own"
    yield Cell(name, twice, tls=True, refused="endorser-repeated", by_itself=False, **TWO)
    apart = endorsing + supporting("SignedEndorsingSupportingTokens", CLIENT + parts("SignedParts"))
    name = "transport endorsing, and signed endorsing with parts of its own"
    yield Cell(name, transport("Basic256") + wss11() + apart, tls=True, **SAME)


def _conversations():
    for suite in ("Basic256", "Basic128GCM"):
        bootstrap = symmetric(suite) + wss11() + trust13() + both()
        # Under GCM WSS4J enciphers with the whole secret of a context, whatever length the
        # algorithm names: AES-256 under the name of AES-128. Derived keys have the right length.
        gcm = suite.endswith("GCM")
        for derived in (True,) if gcm else (False, True):
            name = f"secure-conversation {'derived keys ' if derived else ''}{suite}, symmetric bootstrap"
            yield Cell(name, conversation(suite, bootstrap, derived), both(), calls=2, ours=ANONYMOUS)
        bootstrap = asymmetric(suite) + wss10() + trust13() + both()
        name = f"secure-conversation {suite}"
        renewed = {"renew": ("renewed", 1)}
        yield Cell(f"{name}, renew", conversation(suite, bootstrap, gcm), both(), calls=2, client=renewed, ours=OWNER_ALONE)
        cancelled = {"cancel": ("cancelled", 1)}
        yield Cell(f"{name}, cancel", conversation(suite, bootstrap, gcm), both(), client=cancelled, ours=OWNER_ALONE)
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
    yield Cell(name, conversation("Basic256", bootstrap), both(), tls=True, calls=2, client={"renew": ("renewed", 1)}, ours=OWNER_ALONE)


def _conversations_over_tls():
    """Conversations whose messages TLS protects: contexts endorse requests alone."""
    users = transport("Basic256") + supporting("SignedSupportingTokens", username()) + wss11() + trust13()
    certificates = transport("Basic256") + supporting("EndorsingSupportingTokens", CLIENT) + wss11() + trust13()
    name = "secure-conversation on TLS"
    for derived in (False, True):
        for who, bootstrap in (("users", users), ("certificates", certificates)):
            endpoint = conversation_over_tls("Basic256", bootstrap, derived)
            yield Cell(f"{name}, {who}{', derived keys' if derived else ''}", endpoint, tls=True, calls=2)
    to = f'<sp:SignedParts><sp:Header Name="To" Namespace="{ADDRESSING}"/></sp:SignedParts>'
    endpoint = conversation_over_tls("Basic256", users, kind="SignedEndorsing", own=to)
    yield Cell(f"{name}, signed endorsing, parts of its own", endpoint, tls=True, calls=2)
    for derived in (False, True):
        # A certificate beside the context, in an assertion of its own.
        endpoint = conversation_over_tls("Basic256", users, derived) + supporting("SignedEndorsingSupportingTokens", CLIENT)
        yield Cell(f"{name}, and a certificate{', derived keys' if derived else ''}", endpoint, tls=True, calls=2)
    endpoint = conversation_over_tls("Basic256", users, own=CLIENT)
    yield Cell(f"{name}, and a certificate, in one assertion", endpoint, tls=True, calls=2)
    endpoint = conversation_over_tls("Basic256", users)
    yield Cell(f"{name}, renew", endpoint, tls=True, calls=2, client={"renew": ("renewed", 1)}, ours=OWNER_ALONE)
    # CXF's service takes a Cancel in a message with a signed Body alone, which nobody sends on TLS.
    cancelled = {"cancel": ("cancelled", 1)}
    yield Cell(f"{name}, cancel", endpoint, tls=True, client=cancelled, ours=OWNER_ALONE, by_itself=False)
    yield Cell(f"{name}, SOAP 1.2", endpoint, tls=True, calls=2, soap="12")
    of_2005 = endpoint.replace(CURRENT["sp"], DRAFT["sp"]).replace("Trust13", "Trust10")
    yield Cell(f"{name} of 2005", of_2005, tls=True, calls=2, namespaces=DRAFT)


def _endorsing_conversations():
    """Conversations whose contexts endorse messages that other keys protect."""
    users = symmetric("Basic256") + supporting("SignedEncryptedSupportingTokens", username()) + wss11() + trust13() + both()
    certificates = asymmetric("Basic256") + wss10() + trust13() + both()
    by_session_key, by_certificate = symmetric("Basic256") + wss11(), asymmetric("Basic256") + wss10()
    for derived in (False, True):
        keys = "derived keys " if derived else ""
        for name, binding, bootstrap in (
            ("symmetric", by_session_key, users), ("symmetric derived keys", symmetric("Basic256", derived=True) + wss11(), users),
            ("asymmetric", by_certificate, certificates),
        ):  # fmt: skip
            endpoint = endorsed_in_conversation(binding, bootstrap, derived)
            yield Cell(f"secure-conversation {keys}endorsing {name}", endpoint, both(), calls=2)
    body = "<sp:SignedParts><sp:Body/></sp:SignedParts>"
    endpoint = endorsed_in_conversation(by_session_key, users, own=body)
    yield Cell("secure-conversation endorsing symmetric, parts of its own", endpoint, both(), calls=2)
    endpoint = endorsed_in_conversation(by_session_key, users) + supporting("SignedEndorsingSupportingTokens", CLIENT)
    yield Cell("secure-conversation endorsing symmetric, and a certificate", endpoint, both(), calls=2)
    # CXF's client looks for the token of the context by another id than the token has.
    endpoint = endorsed_in_conversation(by_session_key, users, kind="SignedEndorsing")
    yield Cell("secure-conversation signed endorsing symmetric", endpoint, both(), calls=2, by_client=False, by_itself=False)
    for name, binding, bootstrap in (("symmetric", by_session_key, users), ("asymmetric", by_certificate, certificates)):
        endpoint = endorsed_in_conversation(binding, bootstrap)
        renewed = {"renew": ("renewed", 1)}
        yield Cell(f"secure-conversation endorsing {name}, renew", endpoint, both(), calls=2, client=renewed, ours=OWNER_ALONE)
        cancelled = {"cancel": ("cancelled", 1)}
        yield Cell(f"secure-conversation endorsing {name}, cancel", endpoint, both(), client=cancelled, ours=OWNER_ALONE)


def _operations():
    """Operations of one port that demand different things, with the one or the other for the operation that is called."""
    secret, signed = both(), parts("SignedParts")
    for name, binding in (
        ("asymmetric", asymmetric("Basic256") + wss10()),
        ("symmetric", symmetric("Basic128GCM") + wss11()),
        ("secure-conversation", mechanism_assertions("secure-conversation", "Basic256")[0]),
    ):
        calls = 2 if name == "secure-conversation" else 1
        yield Cell(f"{name}, encrypted beside signed", binding, secret, calls=calls, other=signed)
        yield Cell(f"{name}, signed beside encrypted", binding, signed, calls=calls, other=secret)


def mechanism_assertions(mechanism, suite):
    """The assertions for endpoint and messages."""
    if mechanism == "sign":
        return asymmetric(suite) + wss10(), parts("SignedParts")
    if mechanism == "encrypt":
        return asymmetric(suite, timestamp=False, initiator=x509("Never")) + wss10(), parts("EncryptedParts")
    if mechanism == "sign-encrypt":
        return asymmetric(suite) + wss10(), both()
    if mechanism == "encrypt-sign":
        return asymmetric(suite, options="<sp:EncryptBeforeSigning/>") + wss10(), both()
    bootstrap = asymmetric(suite) + wss10() + trust13() + both()
    return conversation(suite, bootstrap, derived=True), both()
