"""The policies of the matrix with Metro, what is known of its client and its service under each, and who refuses what."""

from dataclasses import dataclass, field, replace

from . import policies
from .assertions import (
    ADDRESSING, CLIENT, WITH_ADDRESSING, asymmetric, both, conversation, conversation_over_tls, parts, saml, supporting, symmetric, transport,
    trust13, username, wss10, wss11, x509,
)  # fmt: skip
from .cxf import USER

OPTIONS = (
    ("encrypt-sign", "<sp:EncryptBeforeSigning/>"),
    ("encrypted signature", "<sp:EncryptSignature/>"),
)
CONFIRMATION = "<sp:RequireSignatureConfirmation/>"
# Metro's Timestamps tell whole seconds and have one id, so that two of one second are the same.
# What is signed besides tells them apart.
MESSAGE_ID = f'<sp:SignedParts><sp:Header Name="MessageID" Namespace="{ADDRESSING}"/></sp:SignedParts>'
# Which policy a message of ours obeys, and which one the service of Metro's that refuses it has.
STRANGERS = (
    ("plain", "asymmetric Basic256"), ("asymmetric sign", "asymmetric Basic256"), ("asymmetric encrypt", "asymmetric Basic256"),
    ("asymmetric encrypt-sign", "asymmetric Basic256"), ("symmetric Basic256", "asymmetric Basic256"),
    ("asymmetric Basic256", "symmetric Basic256"), ("symmetric Basic256", "symmetric derived keys Basic256"),
    ("symmetric derived keys Basic256", "symmetric Basic256"), ("symmetric Basic256", "symmetric encrypted signature"),
    ("symmetric Basic256", "symmetric signed username"), ("symmetric Basic256", "symmetric endorsing"),
)  # fmt: skip
# And where it does not refuse it: algorithms it does not compare with its suite.
LENIENT = (("asymmetric Basic128", "asymmetric Basic256"), ("asymmetric Basic256Rsa15", "asymmetric Basic256"))


@dataclass
class Cell:
    """One policy, and what is known of it."""

    name: str
    policy: str
    message: str = ""
    # The policy under which a context is asked for.
    bootstrap: str = ""
    namespaces: dict = field(default_factory=lambda: policies.CURRENT)
    soap: str = "11"
    tls: bool = False
    calls: int = 1
    # Whether contexts are to be renewed.
    renew: bool = False
    # Whether the Body of a Cancel is encrypted: Metro does it where its own assertion says so, and
    # in the policy nothing does.
    hidden_cancel: bool = True
    # What our endpoint file says beside the policy.
    ours: dict = field(default_factory=dict)
    # Whether messages tell nothing of the client, so that the gateway has no certificate of it.
    anonymous: bool = False
    # With which password Metro's client calls.
    password: str = USER[1]
    # Whether Metro has services with such a policy.
    served: bool = True
    # What Metro's client says of its own service's answer, or its service of such a policy, where
    # they do not understand each other.
    misunderstood: str | None = None
    # What Metro's service says of our gateway's request, where it does not understand it.
    stranger: str | None = None
    # Why our gateway refuses what Metro's client sends, where it does.
    refused: str | None = None
    # What Metro's client says of our gateway's answer, where it does not understand the answer.
    unread: str | None = None
    # Why our gateway refuses what Metro's service answers, where it does.
    unproven: str | None = None
    # Whether Metro's client damages what it has deciphered.
    damaged: bool = False
    # The version and the confirmation of the assertion that requests have.
    asserted: tuple = ()

    @property
    def path(self):
        """The cell's name in an address or as a file."""
        return self.name.replace(",", "").replace(" ", "-")

    @property
    def in_conversation(self):
        """Whether a client asks for a context first."""
        return self.name.startswith("conversation")

    def bootstrap_wsdl(self, plain):
        """`plain` with the policy under which a context is asked for, as octets."""
        return policies.Cell(self.name, self.bootstrap, namespaces=self.namespaces).wsdl(plain)

    def wsdl(self, plain, own=""):
        """`plain`, the WSDL of a sample service, with the cell's policy and assertions of Metro's own, as octets."""
        return policies.Cell(self.name, self.policy + own, self.message, namespaces=self.namespaces).wsdl(plain)


def cells():
    """Every cell."""
    yield Cell("plain", "", ours={"policy_may_be_empty": True})
    yield from _asymmetric()
    yield from _symmetric()
    yield from _transport()
    yield from _conversations()
    yield from _conversations_over_tls()
    yield from _asserted()


def _asserted():
    """Assertions, beside other keys and in their place."""
    by_certificate, by_key = asymmetric("Basic256") + wss10(), symmetric("Basic256") + wss11()
    for version in ("2.0", "1.1"):
        # Metro's service finds the key of an assertion by the assertion's id alone.
        token, held = saml(version), saml(version, options="<sp:RequireKeyIdentifierReference/>")
        # Metro's service looks for an assertion under a signature by the STR transform alone.
        signed = by_certificate + supporting("SignedSupportingTokens", token)
        for confirmation in ("sender-vouches", "bearer"):
            name = f"SAML {version}, {confirmation}, beside certificates"
            yield Cell(name, signed, both(), asserted=(version, confirmation), stranger="InvalidSecurity")
            through = {"signature": {"str_transform": True}}
            yield Cell(f"{name}, through a reference", signed, both(), asserted=(version, confirmation), ours=through)
        policy = transport("Basic256") + supporting("SignedSupportingTokens", token)
        yield Cell(f"SAML {version}, bearer, on TLS", policy, tls=True, asserted=(version, "bearer"))
        # Of an assertion of SAML 1.1 Metro's client says in the reference that it is one of 2.0.
        refused = "token-unsupported" if version == "1.1" else None
        asserted = (version, "holder-of-key")
        policy = asymmetric("Basic256", initiator=held) + wss10()
        # Metro's service encrypts the key of such an answer with RSA 1.5, whatever the suite.
        limits = {"refused": refused, "unproven": "algorithm-not-allowed"}
        yield Cell(f"SAML {version}, holder-of-key, signing", policy, both(), asserted=asserted, **limits)
        policy = by_key + supporting("EndorsingSupportingTokens", held)
        yield Cell(f"SAML {version}, holder-of-key, endorsing", policy, both(), asserted=asserted, refused=refused)
        policy = transport("Basic256") + wss11() + supporting("EndorsingSupportingTokens", held)
        yield Cell(f"SAML {version}, holder-of-key, endorsing on TLS", policy, tls=True, asserted=asserted, refused=refused)


def _asymmetric():
    for suite in (
        "Basic256", "Basic192", "Basic128", "TripleDes", "Basic256Rsa15", "TripleDesRsa15", "Basic256Sha256", "Basic128Sha256",
        "TripleDesSha256",
    ):  # fmt: skip
        yield Cell(f"asymmetric {suite}", asymmetric(suite) + wss10(), both())
    yield Cell("asymmetric sign", asymmetric("Basic256") + wss10(), parts("SignedParts"))
    yield Cell("asymmetric encrypt", asymmetric("Basic256", timestamp=False) + wss10(), parts("EncryptedParts"))
    for name, options in OPTIONS:
        yield Cell(f"asymmetric {name}", asymmetric("Basic256", options=options) + wss10(), both())
    # Metro enciphers Body and signature with a key each, and we decipher CBC with one.
    options = "".join(option for _, option in OPTIONS)
    both_encrypted = asymmetric("Basic256", options=options) + wss10()
    limits = {"refused": "too-many", "unproven": "too-many"}
    yield Cell("asymmetric encrypt-sign, encrypted signature", both_encrypted, both(), **limits)
    # Our answers only name their certificate, and cover it through that name, which Metro does
    # not follow.
    protected = asymmetric("Basic256", options="<sp:ProtectTokens/>") + wss10()
    yield Cell("asymmetric protected tokens", protected, both(), unread="Invalid Security Header")
    included = asymmetric("Basic256", options="<sp:ProtectTokens/>", recipient=x509("AlwaysToInitiator")) + wss10()
    # Metro's service leaves its own token out of its signature, and Metro's client does not notice.
    yield Cell("asymmetric protected tokens, both included", included, both(), unproven="unsigned")
    yield Cell("asymmetric signature confirmation", asymmetric("Basic256") + wss11(CONFIRMATION), both())
    yield from _supported("asymmetric", asymmetric("Basic256") + wss10())
    # Of a suite that it does not know Metro says nothing, and has Basic128 in its place.
    limits = {"refused": "algorithm-not-allowed", "stranger": "InvalidSecurity"}
    yield Cell("asymmetric Basic256GCM", asymmetric("Basic256GCM") + wss10(), both(), **limits)
    yield Cell("asymmetric, addressing", WITH_ADDRESSING + asymmetric("Basic256") + wss10(), both())
    yield Cell("asymmetric, SOAP 1.2", asymmetric("Basic256") + wss10(), both(), soap="12")
    yield Cell("asymmetric of 2005", _of_2005(asymmetric("Basic256") + wss10()), both(), namespaces=policies.DRAFT)


def _symmetric():
    for derived in (False, True):
        name = "symmetric derived keys" if derived else "symmetric"
        for suite in ("Basic256", "Basic128", "TripleDes", "Basic256Sha256"):
            yield Cell(f"{name} {suite}", symmetric(suite, derived) + wss11(), both(), anonymous=True)
        for case, options in OPTIONS:
            yield Cell(f"{name} {case}", symmetric("Basic256", derived, options) + wss11(), both(), anonymous=True)
        # Metro signs the reference to a token that is not in the message, in place of the wrapped
        # key or what is derived from it, and digests another form of that token.
        protected = symmetric("Basic256", derived, "<sp:ProtectTokens/>") + wss11()
        reason = "unsigned" if derived else "digest-mismatch"
        limits = {"refused": reason, "misunderstood": "Invalid Security Header", "stranger": "InvalidSecurity"}
        yield Cell(f"{name} protected tokens", protected, both(), anonymous=True, **limits)
        confirmed = symmetric("Basic256", derived) + wss11(CONFIRMATION)
        yield Cell(f"{name} signature confirmation", confirmed, both(), anonymous=True)
        yield from _supported(name, symmetric("Basic256", derived) + wss11())
        of_2005 = _of_2005(symmetric("Basic256", derived) + wss11())
        yield Cell(f"{name} of 2005", of_2005, both(), namespaces=policies.DRAFT, anonymous=True)


    # The draft does not know it: Metro has no service with it, and its client passes over it.
    hidden = _of_2005(symmetric("Basic256") + wss11() + supporting("SignedEncryptedSupportingTokens", username()))
    limits = {"served": False, "misunderstood": "SignedEncryptedSupportingTokens", "refused": "username-missing"}
    yield Cell("symmetric of 2005, signed encrypted username", hidden, both(), namespaces=policies.DRAFT, **limits)


def _supported(name, binding):
    """With a user, or a certificate that endorses."""
    for case, kind, token, refused in (
        ("signed username", "Signed", username(), None),
        ("signed encrypted username", "SignedEncrypted", username(), None),
        ("endorsing", "Endorsing", CLIENT, None),
        # Metro refers to the signed token without a transform, and digests nothing: its own service
        # does not notice.
        ("signed endorsing", "SignedEndorsing", CLIENT, "algorithm-not-allowed"),
    ):
        yield Cell(f"{name} {case}", binding + supporting(f"{kind}SupportingTokens", token), both(), refused=refused)


def _transport():
    yield Cell("transport username", _users_on_tls(), tls=True)
    yield Cell("transport endorsing", _certificates_on_tls(), tls=True)


def _users_on_tls():
    return transport("Basic256") + supporting("SignedSupportingTokens", username()) + wss11() + trust13()


def _certificates_on_tls():
    return transport("Basic256") + supporting("EndorsingSupportingTokens", CLIENT) + wss11() + trust13()


def _conversations():
    by_key = symmetric("Basic256") + wss11() + trust13() + both()
    by_certificate = asymmetric("Basic256") + wss10() + trust13() + both()
    # The draft knows no SignedEncryptedSupportingTokens.
    by_user = by_key + supporting("SignedSupportingTokens", username())
    endorsed = by_key + supporting("EndorsingSupportingTokens", CLIENT)
    for derived in (False, True):
        name = "conversation derived keys" if derived else "conversation"
        for case, bootstrap, ours in (
            ("symmetric", by_key, policies.ANONYMOUS), ("asymmetric", by_certificate, {}), ("username", by_user, {}),
            ("endorsed", endorsed, {}),
        ):  # fmt: skip
            policy = conversation("Basic256", bootstrap, derived)
            yield Cell(f"{name}, {case} bootstrap", policy, both(), bootstrap, calls=2, ours=ours)
            of_2005 = {"namespaces": policies.DRAFT, "calls": 2, "ours": ours}
            yield Cell(f"{name} of 2005, {case} bootstrap", _of_2005(policy), both(), _of_2005(bootstrap), **of_2005)
    for name, bootstrap, derived in (("asymmetric", by_certificate, False), ("username, derived keys", by_user, True)):
        policy = conversation("Basic256", bootstrap, derived)
        yield Cell(f"conversation, renew, {name}", policy, both(), bootstrap, calls=2, renew=True)
    policy = _of_2005(conversation("Basic256", by_certificate))
    yield Cell("conversation of 2005, renew", policy, both(), _of_2005(by_certificate), namespaces=policies.DRAFT, calls=2, renew=True)
    policy = conversation("Basic256", by_certificate)
    yield Cell("conversation, Cancel in the clear", policy, both(), by_certificate, hidden_cancel=False, refused="unencrypted")
    bootstrap = _users_on_tls()
    yield Cell("conversation, transport bootstrap", conversation("Basic256", bootstrap), both(), bootstrap, calls=2, tls=True, damaged=True)


def _conversations_over_tls():
    """Conversations whose messages TLS protects: contexts endorse requests alone."""
    for derived in (False, True):
        for who, bootstrap in (("users", _users_on_tls()), ("certificates", _certificates_on_tls())):
            policy = conversation_over_tls("Basic256", bootstrap, derived, own=MESSAGE_ID)
            yield Cell(f"conversation on TLS, {who}{', derived keys' if derived else ''}", policy, bootstrap=bootstrap, tls=True, calls=2)
    bootstrap = _users_on_tls()
    policy = conversation_over_tls("Basic256", bootstrap, own=MESSAGE_ID)
    yield Cell("conversation on TLS, renew", policy, bootstrap=bootstrap, tls=True, calls=2, renew=True)
    yield Cell("conversation on TLS of 2005", _of_2005(policy), bootstrap=_of_2005(bootstrap), namespaces=policies.DRAFT, tls=True, calls=2)
    twice = conversation_over_tls("Basic256", bootstrap)
    yield Cell("conversation on TLS, the same second", twice, bootstrap=bootstrap, tls=True, calls=3, refused="replayed")


def _of_2005(policy):
    return policy.replace(policies.CURRENT["sp"], policies.DRAFT["sp"]).replace("Trust13", "Trust10")


def refusals():
    """What Metro's client obeys, what our gateway demands, and the reason that the gateway gives."""
    known = {cell.name: cell for cell in cells()}
    guessed = replace(known["symmetric signed username"], name="symmetric username with another password", password="guess")
    for theirs, ours, reason in (
        ("plain", "asymmetric Basic256", "security-missing"),
        ("asymmetric sign", "asymmetric Basic256", "unencrypted"),
        ("asymmetric encrypt", "asymmetric Basic256", "timestamp-missing"),
        ("asymmetric encrypt-sign", "asymmetric Basic256", "wrong-order"),
        ("asymmetric Basic128", "asymmetric Basic256", "algorithm-not-allowed"),
        ("asymmetric Basic256Rsa15", "asymmetric Basic256", "algorithm-not-allowed"),
        ("asymmetric Basic256", "asymmetric Basic256Sha256", "algorithm-not-allowed"),
        ("asymmetric Basic256", "asymmetric protected tokens", "unsigned"),
        ("asymmetric Basic256", "symmetric Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", "asymmetric Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", "symmetric derived keys Basic256", "key-not-derived"),
        ("symmetric derived keys Basic256", "symmetric Basic256", "element-unexpected"),
        ("symmetric Basic256", "symmetric encrypted signature", "unencrypted"),
        ("symmetric Basic256", "symmetric signed username", "username-missing"),
        ("symmetric Basic256", "symmetric endorsing", "endorsement-missing"),
        ("symmetric endorsing", "symmetric Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", "conversation, username bootstrap", "username-missing"),
        ("conversation, asymmetric bootstrap", "conversation, username bootstrap", "username-missing"),
        ("transport username", "transport endorsing", "element-unexpected"),
    ):
        yield known[theirs], known[ours], reason
    yield guessed, known["symmetric signed username"], "authentication-failed"
