"""Keys from passwords (UsernameToken Profile 1.1.1, 4) under the policies of CXF.

CXF derives one key, for signatures, of a thousand iterations. Where that key encrypts as well it breaks the profile,
unless policies demand that the keys of messages are derived from it.
"""

from . import assertions
from .assertions import (
    CURRENT, asymmetric, both, parts, protected_by, supporting, symmetric, transport, wss10, wss11,
)  # fmt: skip
from .cxf import in_each_direction, refused, running
from .policies import DRAFT, Cell

PEER = "passwords"
DERIVED = "<sp:RequireDerivedKeys/>"
SUITES = ("Basic128", "Basic256", "Basic256Sha256", "Basic128GCM", "Basic256GCM", "TripleDes")


def username(options="", password="<sp:NoPassword/>"):
    """A user whose token holds no password."""
    return assertions.username(options + password)


def cell(name, *policy, **options):
    """A cell whose policy wants a key from a password."""
    return Cell(f"password {name}", *policy, **options)


def cells():
    """Every cell."""
    yield from _protecting()
    yield from _over_tls()
    yield from _endorsing()


def _protecting():
    """Keys from the password sign and encrypt.

    CXF's service derives the keys of an answer from the token of the request, and names that as if it were in the answer.
    """
    own = {"certificates": False, "unanswered": "token-unsupported"}
    for suite in SUITES:
        yield cell(f"protects by derived keys {suite}", protected_by(suite, username(DERIVED)) + wss11(), both(), **own)
    derived = protected_by("Basic256", username(DERIVED)) + wss11()
    yield cell("signs by derived keys", derived, parts("SignedParts"), **own)
    yield cell("protects by derived keys, SOAP 1.2", derived, both(), soap="12", **own)
    yield cell("protects by derived keys, two calls", derived, both(), calls=2, **own)
    yield cell("protects by derived keys of 2005", derived.replace(CURRENT["sp"], DRAFT["sp"]), both(), namespaces=DRAFT, **own)
    for name, options in (
        ("encrypted signature", "<sp:EncryptSignature/>"),
        ("encrypt-sign", "<sp:EncryptBeforeSigning/>"),
        ("encrypt-sign encrypted signature", "<sp:EncryptBeforeSigning/><sp:EncryptSignature/>"),
    ):
        policy = protected_by("Basic256", username(DERIVED), options) + wss11()
        yield cell(f"protects by derived keys, {name}", policy, both(), **own)
    # Its answer would sign that token as well.
    policy = protected_by("Basic256", username(DERIVED), "<sp:ProtectTokens/>") + wss11()
    alone = {"certificates": False, "by_itself": False, "unread": "Cannot resolve element"}
    yield cell("protects by derived keys, protected tokens", policy, both(), **alone)
    plain = protected_by("Basic128", username()) + wss11()
    yield cell("signs", plain, parts("SignedParts"), **own)
    # One key signs and encrypts.
    yield cell("protects", plain, both(), refused="key-misused", **own)


def _over_tls():
    """The connection protects, and the key from the password signs the Timestamp."""
    for kind in ("Endorsing", "SignedEndorsing"):
        for derived, told in (("", ""), (DERIVED, ", derived keys")):
            policy = transport("Basic256") + wss11() + supporting(f"{kind}SupportingTokens", username(derived))
            yield cell(f"on TLS, {kind}SupportingTokens{told}", policy, certificates=False, tls=True)


def _endorsing():
    """The key from the password signs the signature of others."""
    for name, binding in (
        ("symmetric", symmetric("Basic256") + wss11()),
        ("symmetric derived keys", symmetric("Basic256", derived=True) + wss11()),
        ("asymmetric", asymmetric("Basic256") + wss10()),
    ):
        for kind in ("Endorsing", "SignedEndorsing", "EndorsingEncrypted", "SignedEndorsingEncrypted"):
            for derived, told in (("", ""), (DERIVED, ", derived keys")):
                policy = binding + supporting(f"{kind}SupportingTokens", username(derived))
                yield cell(f"{name}, {kind}SupportingTokens{told}", policy, both())
    # CXF's service takes a token without a password where the policy has sp:NoPassword alone.
    policy = symmetric("Basic256") + wss11() + supporting("EndorsingSupportingTokens", username(password=""))
    yield cell("symmetric, EndorsingSupportingTokens, not told of the password", policy, both(), by_itself=False, unread="Fault")


def refusals():
    """What CXF's client sends, what our gateway demands, and the reason that it gives."""
    binding = symmetric("Basic256") + wss11()
    named = lambda derived="": binding + supporting("EndorsingSupportingTokens", username(derived))
    usual = cell("usual", named(), both())
    derived = cell("derived", named(DERIVED), both())
    yield "no endorsement", cell("none", binding, both()), usual, "endorsement-missing"
    yield "the key itself for a derived key", usual, derived, "key-not-derived"
    yield "a derived key for the key itself", derived, usual, "element-unexpected"
    more = cell("of many", named(), both(), ours={"password_keys": {"least": 1001}})
    yield "few iterations", usual, more, "key-misused"
    guess = {"client": ("--password", "another password")}
    yield "another password", cell("guessed", named(), both(), options=guess), usual, "authentication-failed"
    other = {"client": ("--user", "malice")}
    yield "another user", cell("of malice", named(), both(), options=other), usual, "authentication-failed"


def run(report, soapstone, keys, folder):
    """Every cell in three directions, and what has to be refused."""
    with running(soapstone, keys, folder, PEER) as peer:
        for one in cells():
            in_each_direction(report, peer, one)
        for name, theirs, demanded, reason in refusals():
            report.check(PEER, f"refused: {name}", "cxf -> soapstone", lambda: refused(peer, theirs, demanded, reason))
