"""The policies with assertions that CXF 3.5.10 and we are held against each other by: where an assertion stands, and what confirms it.

A cell is one policy for one version of SAML. The rule kept here: a cell says of each direction what comes of it, and fails when
that changes.
"""

import re
from dataclasses import dataclass, field

from . import policies
from .assertions import (
    asymmetric, both, conversation, conversation_over_tls, protected_by, saml, supporting, symmetric, transport, trust13, wss10, wss11,
)  # fmt: skip

VERSIONS = ("2.0", "1.1")
SUITE = "Basic256Sha256"
MUTUAL = "<sp:RequireClientCertificate/>"
# Outside of TLS CXF's client puts the assertion into the message, and has nothing endorsed.
UNENDORSED = {"by_itself": False, "refused": "endorsement-missing"}
OVER_TLS, SIGNED = {"protection": "tls"}, {"protection": "signature"}


@dataclass
class Cell:
    """One policy, and what comes of it in each direction."""

    version: str
    name: str
    confirmation: str
    policy: str
    message: str = ""
    # What our files say of assertions besides, on both sides.
    saml: dict = field(default_factory=dict)
    tls: bool = False
    # Whether clients show certificates of TLS.
    mutual: bool = False
    # Whether the key of the holder is a symmetric one.
    proves: bool = False
    calls: int = 1
    # What CXF's client says where it cannot write such messages.
    unwritten: str | None = None
    # Whether CXF's service takes what CXF's client writes.
    by_itself: bool = True
    # The reason that our gateway gives, where it refuses what CXF's client writes.
    refused: str | None = None
    # What our program says of the policy, where it refuses that.
    unsupported: str | None = None
    # Whether our gateway's signature covers the assertion by the STR transform. What others send
    # does not depend on it.
    through: bool = False
    # A word of what our gateway logs where CXF's service refuses our request, or answers otherwise
    # than we accept.
    unread: str | None = None

    def __str__(self):
        return f"SAML {self.version}, {self.confirmation}, {self.name}"

    @property
    def path(self):
        """The cell as a name in an address or of a file."""
        return re.sub(r"\W+", "-", str(self))

    def wsdl(self, plain):
        """`plain`, the WSDL of a sample service, with the policy, in octets."""
        return policies.Cell(self.path, self.policy, self.message).wsdl(plain)


def cells():
    """Every cell."""
    for version in VERSIONS:
        yield from _over_tls(version)
        yield from _beside_certificates(version)
        yield from _beside_session_keys(version)
        yield from _conversations(version)


def _over_tls(version):
    """TLS protects, and tells the holder or the attester by the certificate of its client."""
    token, own, mutual = saml(version), transport(SUITE), transport(SUITE, MUTUAL)
    for kind in ("SignedSupportingTokens", "SupportingTokens"):
        yield Cell(version, f"{kind} on TLS", "bearer", own + supporting(kind, token), saml=OVER_TLS, tls=True)
    # What is always included CXF's service wants in its own answers, too, and has no assertion for
    # them.
    astray = {"by_itself": False, "unread": "No SAML CallbackHandler available"}
    for inclusion, limits in (("Once", {}), ("Always", astray)):
        policy = own + supporting("SignedSupportingTokens", saml(version, inclusion))
        yield Cell(version, f"SignedSupportingTokens on TLS, {inclusion}", "bearer", policy, saml=OVER_TLS, tls=True, **limits)
    for confirmation in ("holder-of-key", "sender-vouches"):
        policy = mutual + supporting("SignedSupportingTokens", token)
        yield Cell(version, "the TLS client", confirmation, policy, saml=OVER_TLS, tls=True, mutual=True)
    for kind in ("EndorsingSupportingTokens", "SignedEndorsingSupportingTokens"):
        yield Cell(version, f"{kind} on TLS", "holder-of-key", own + supporting(kind, token), tls=True)


def _beside_certificates(version):
    """Certificates protect, or the key of the assertion in the place of that of the initiator."""
    token, binding = saml(version), asymmetric(SUITE) + wss10()
    for confirmation in ("bearer", "sender-vouches"):
        for kind in ("SignedSupportingTokens", "SignedEncryptedSupportingTokens"):
            policy = binding + supporting(kind, token)
            yield Cell(version, f"{kind} beside certificates", confirmation, policy, both(), saml=SIGNED)
        policy = binding + supporting("SignedSupportingTokens", token)
        name = "SignedSupportingTokens beside certificates, through a reference"
        yield Cell(version, name, confirmation, policy, both(), saml=SIGNED, through=True)
    for kind in ("EndorsingSupportingTokens", "SignedEndorsingSupportingTokens"):
        yield Cell(version, f"{kind} beside certificates", "holder-of-key", binding + supporting(kind, token), both(), **UNENDORSED)
    yield Cell(version, "InitiatorToken", "holder-of-key", asymmetric(SUITE, initiator=token) + wss10(), both())


def _beside_session_keys(version):
    """A wrapped key protects, or that of the assertion."""
    token, binding = saml(version), symmetric(SUITE) + wss11()
    policy = binding + supporting("SignedEncryptedSupportingTokens", token)
    yield Cell(version, "SignedEncryptedSupportingTokens beside a wrapped key", "bearer", policy, both(), saml=SIGNED)
    for kind in ("EndorsingSupportingTokens", "SignedEndorsingSupportingTokens"):
        yield Cell(version, f"{kind} beside a wrapped key", "holder-of-key", binding + supporting(kind, token), both(), **UNENDORSED)
    # CXF protects by issued tokens, and by no others that are assertions.
    limits = {"unwritten": "signature token", "unread": "No signature token id"}
    policy = protected_by(SUITE, token) + wss11()
    yield Cell(version, "ProtectionToken", "holder-of-key", policy, both(), proves=True, **limits)


def _conversations(version):
    """An assertion secures the request for a security context, which protects what follows."""
    token, binding = saml(version), asymmetric(SUITE) + wss10() + trust13() + both()
    signing = asymmetric(SUITE, initiator=token) + wss10() + trust13() + both()
    yield Cell(version, "InitiatorToken of a bootstrap", "holder-of-key", conversation(SUITE, signing), both(), calls=2)
    vouched = binding + supporting("SignedSupportingTokens", token)
    yield Cell(version, "SignedSupportingTokens of a bootstrap", "sender-vouches", conversation(SUITE, vouched), both(), calls=2)
    borne = transport(SUITE) + supporting("SignedSupportingTokens", token) + wss11() + trust13()
    policy = conversation_over_tls(SUITE, borne)
    yield Cell(version, "SignedSupportingTokens of a bootstrap on TLS", "bearer", policy, saml=OVER_TLS, tls=True, calls=2)
