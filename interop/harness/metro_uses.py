"""What assertions of our token service are good for with Metro, and what comes of each in each direction.

A use is one policy for one version of SAML and one kind of key. The rule kept here: a use says what comes of it, and fails when that
changes.
"""

from dataclasses import dataclass, field

from . import token_requests
from .assertions import (
    ADDRESSING, CLIENT, WITH_ADDRESSING, asymmetric, both, protected_by, supporting, symmetric, transport, trust13, username, wss10, wss11,
)  # fmt: skip
from .token_requests import VERSIONS

SUITE = "Basic256"
# How the token service knows who asks. On TLS Metro signs a Timestamp of whole seconds, which is
# the same for two requests, unless the Body is signed besides.
POLICIES = {
    "user": WITH_ADDRESSING + transport(SUITE) + supporting("SignedSupportingTokens", username()) + wss11() + trust13(),
    "endorsed": WITH_ADDRESSING
    + transport(SUITE)
    + supporting("EndorsingSupportingTokens", CLIENT + "<sp:SignedParts><sp:Body/></sp:SignedParts>")
    + wss11()
    + trust13(),
    "signed": WITH_ADDRESSING + asymmetric(SUITE) + wss10() + trust13(),
}
# What stands for the token service where a policy names it.
TOKEN_SERVICE = "https://token-service.example/user"
NAMED = f'<sp:Issuer><wsa:Address xmlns:wsa="{ADDRESSING}">{TOKEN_SERVICE}</wsa:Address></sp:Issuer>'
TEMPLATE = "<sp:RequestSecurityTokenTemplate"
TEMPLATE_END = "</sp:RequestSecurityTokenTemplate>"
SIZE = f"<t:KeySize>2048</t:KeySize>{TEMPLATE_END}"
BEARER = {"confirmation": ["bearer"]}
HOLDER = {"confirmation": ["holder-of-key"]}


@dataclass
class Use(token_requests.Use):
    """A use of an assertion, and what is known of Metro."""

    # What our outbound gateway's file says beside the policy.
    ours: dict = field(default_factory=dict)
    # Whether the policy names the token service, which Metro's configuration does not name then.
    issuer: bool = False
    # Whether Metro's client is granted nothing.
    ungranted: bool = False
    # Whether nothing but our gateway's refusal is of interest.
    at_gateway: bool = False
    # What Metro's client says where it does not come to an answer of Metro's service.
    misunderstood: str | None = None
    # Whether Metro's client does not come to a request.
    unwritten: bool = False
    # What Metro's client says of our gateway's answer, where it does not understand the answer.
    unread: str | None = None
    # What Metro's service says of our gateway's request, where it does not understand it.
    stranger: str | None = None
    # Why our gateway refuses what Metro's service answers, where it does.
    unproven: str | None = None


def uses():
    """Every use."""
    for version in VERSIONS:
        yield from _bearers(version)
        yield from _public_keys(version)
        yield from _symmetric_keys(version)


def _bearers(version):
    over_tls = lambda token: transport(SUITE) + wss11() + trust13() + supporting("SignedSupportingTokens", token)
    yield Use(version, "beside TLS", "user", "Bearer", over_tls, {**BEARER, "protection": "tls"})
    other = {**BEARER, "protection": "tls", "audience": ["https://other.example"]}
    yield Use(version, "of another audience", "user", "Bearer", over_tls, other, refused="audience-mismatch", at_gateway=True)
    if version == "2.0":
        # Where the policy names it, Metro's client asks a token service for its description by
        # WS-MetadataExchange, and takes none from its own configuration.
        named = lambda token: over_tls(token.replace(TEMPLATE, NAMED + TEMPLATE, 1))
        name = "beside TLS, from the token service that the policy names"
        yield Use(version, name, "user", "Bearer", named, {**BEARER, "protection": "tls"}, issuer=True, ungranted=True, misunderstood="WST0017")
    signed = lambda token: asymmetric(SUITE) + wss10() + trust13() + supporting("SignedSupportingTokens", token)
    # Metro's service looks for an assertion under a signature by the STR transform alone.
    signature = {"signature": {"str_transform": True}}
    yield Use(version, "under a signature", "user", "Bearer", signed, {**BEARER, "protection": "signature"}, both(), ours=signature)


def _public_keys(version):
    signing = lambda token: asymmetric(SUITE, initiator=token) + wss10() + trust13()
    # Metro's service cannot encrypt with the key of such an assertion, and answers with cipher text
    # of no bytes.
    limits = {"misunderstood": "Invalid Security Header", "unproven": "key-not-found"}
    yield Use(version, "that signs", "signed", "PublicKey", signing, HOLDER, both(), **limits)
    if version == "2.0":
        # Metro makes a key for `wst:UseKey`, and nothing shows that it has that key. Where the Body
        # is signed besides, its digest of the key does not match.
        sized = lambda token: transport(SUITE) + wss11() + trust13() + supporting("EndorsingSupportingTokens", token.replace(TEMPLATE_END, SIZE))
        yield Use(version, "with a key of Metro's own", "user", "PublicKey", sized, HOLDER, ungranted=True, misunderstood="FailedAuthentication")
    for binding, told, message in (
        (transport(SUITE) + wss11(), "on TLS", ""), (asymmetric(SUITE) + wss10(), "beside certificates", both()),
        (symmetric(SUITE) + wss11(), "beside a wrapped key", both()),
    ):  # fmt: skip
        endorsing = lambda token, binding=binding: binding + trust13() + supporting("EndorsingSupportingTokens", token)
        yield Use(version, f"that endorses {told}", "endorsed", "PublicKey", endorsing, HOLDER, message)


def _symmetric_keys(version):
    protecting = lambda token: protected_by(SUITE, token) + wss11() + trust13()
    for derived, told in ((False, ""), (True, " by derived keys")):
        yield Use(version, f"that protects{told}", "user", "SymmetricKey", protecting, HOLDER, both(), derived)
    for binding, told, message, beside in (
        (transport(SUITE) + wss11(), "on TLS", "", False), (asymmetric(SUITE) + wss10(), "beside certificates", both(), True),
        (symmetric(SUITE) + wss11(), "beside a wrapped key", both(), True),
    ):  # fmt: skip
        endorsing = lambda token, binding=binding: binding + trust13() + supporting("EndorsingSupportingTokens", token)
        for derived in (False, True):
            name = f"that endorses {told}{' by a derived key' if derived else ''}"
            yield Use(version, name, "user", "SymmetricKey", endorsing, HOLDER, message, derived, beside)
