"""Kerberos tokens under the policies of CXF, whose tickets are those of the GSS library of Java.

A service has a principal of its own for each type of encryption, whose keys are of that type alone. Both sides name
the type, so that ticket, authenticator and session key have it.
"""

import dataclasses

from .assertions import (
    CURRENT, apart, asymmetric, both, kerberos, parts, protected_by, supporting, symmetric, transport, wss10, wss11,
)  # fmt: skip
from .cxf import REQUESTS, enveloped, gateway, in_each_direction, post, refused, running
from .policies import DRAFT, Cell
from .processes import Failure
from .realm import ACCEPTS, CLIENT, MAKES, REALM

PEER = "kerberos"
ENCTYPES = ("aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha256-128", "aes256-cts-hmac-sha384-192")
USUAL = ENCTYPES[1]
DERIVED = "<sp:RequireDerivedKeys/>"


def principal(enctype):
    """The service whose keys have this type."""
    return f"HTTP/{enctype}.example@{REALM}"


@dataclasses.dataclass
class Tickets:
    """Who makes tokens, and who accepts them: the tables of our endpoint files, and the words of CXF's programs."""

    keytabs: dict
    client: object

    def cell(self, name, *policy, enctype=USUAL, raw=False, ours=None, words=(), **options):
        """A cell whose policy wants a token of this type."""
        own = {"enctypes": [enctype], **({"form": "raw"} if raw else {}), **(ours or {})}
        service = {"keytab": str(self.keytabs[enctype]), "principal": principal(enctype)}
        client = {"keytab": str(self.client), "principal": CLIENT, "service": principal(enctype)}
        return Cell(
            f"Kerberos {name}", *policy,
            secrets={"inbound": {"kerberos": {**service, **own}}, "outbound": {"kerberos": {**client, **own}}},
            options={
                "service": ("--jaas", enctype, "--accepts", principal(enctype), *words),
                "client": ("--jaas", "client", "--ticket-for", principal(enctype), *words),
            },
            **options,
        )  # fmt: skip


def cells(tickets):
    """Every cell."""
    yield from _protecting(tickets)
    yield from _over_tls(tickets)
    yield from _endorsing(tickets)
    yield from _raw(tickets)


def _protecting(tickets):
    """The session key signs and encrypts, and answers name the token by its SHA-1."""
    own = {"certificates": False}
    for derived, told, suites in (
        ("", "", ("Basic128", "Basic256", "Basic256Sha256")),
        (DERIVED, " by derived keys", ("Basic128", "Basic256", "Basic256Sha256", "Basic128GCM", "Basic256GCM", "TripleDes")),
    ):
        for suite in suites:
            yield tickets.cell(f"protects{told} {suite}", protected_by(suite, kerberos(derived)) + wss11(), both(), **own)
        for enctype in ENCTYPES:
            policy = protected_by("Basic128", kerberos(derived)) + wss11()
            yield tickets.cell(f"protects{told}, {enctype}", policy, both(), enctype=enctype, **own)
        for name, options in (
            ("encrypted signature", "<sp:EncryptSignature/>"),
            ("encrypt-sign", "<sp:EncryptBeforeSigning/>"),
            ("encrypt-sign encrypted signature", "<sp:EncryptBeforeSigning/><sp:EncryptSignature/>"),
        ):
            policy = protected_by("Basic256", kerberos(derived), options) + wss11()
            yield tickets.cell(f"protects{told}, {name}", policy, both(), **own)
        # Under derived keys CXF's service wants to sign the token in answers, which have none.
        alone = {"by_itself": False, "unread": "Cannot resolve element"} if derived else {}
        policy = protected_by("Basic256", kerberos(derived), "<sp:ProtectTokens/>") + wss11()
        yield tickets.cell(f"protects{told}, protected tokens", policy, both(), **alone, **own)
        policy = protected_by("Basic256", kerberos(derived)) + wss11()
        yield tickets.cell(f"signs{told}", policy, parts("SignedParts"), **own)
        yield tickets.cell(f"protects{told}, SOAP 1.2", policy, both(), soap="12", **own)
        yield tickets.cell(f"protects{told}, two calls", policy, both(), calls=2, **own)
        of_2005 = policy.replace(CURRENT["sp"], DRAFT["sp"])
        yield tickets.cell(f"protects{told} of 2005", of_2005, both(), namespaces=DRAFT, **own)
    confirmed = protected_by("Basic256", kerberos()) + wss11("<sp:RequireSignatureConfirmation/>")
    yield tickets.cell("protects, signature confirmation", confirmed, both(), **own)
    # CXF's client cannot satisfy the assertion; its service does not miss it.
    named = protected_by("Basic256", kerberos("<sp:RequireKeyIdentifierReference/>")) + wss11()
    yield tickets.cell("protects, named by its SHA-1", named, both(), by_client=False, by_itself=False, **own)
    yield _once(tickets, calls=2)


def _once(tickets, **options):
    """A token that is carried once. CXF's client makes one for each request, whatever the policy says."""
    policy = protected_by("Basic256", kerberos(inclusion="Once")) + wss11()
    return tickets.cell("protects, carried once", policy, both(), certificates=False, **options)


def _over_tls(tickets):
    """The connection protects."""
    own = {"certificates": False, "tls": True}
    for kind in ("Supporting", "SignedSupporting"):
        policy = transport("Basic256") + wss11() + supporting(f"{kind}Tokens", kerberos())
        yield tickets.cell(f"on TLS, {kind}Tokens", policy, **own)
    for kind in ("Endorsing", "SignedEndorsing"):
        for derived, told in (("", ""), (DERIVED, ", derived keys")):
            policy = transport("Basic256") + wss11() + supporting(f"{kind}SupportingTokens", kerberos(derived))
            yield tickets.cell(f"on TLS, {kind}SupportingTokens{told}", policy, **own)
    body = "<sp:SignedParts><sp:Body/></sp:SignedParts>"
    policy = transport("Basic256") + wss11() + supporting("EndorsingSupportingTokens", kerberos() + body)
    yield tickets.cell("on TLS, EndorsingSupportingTokens with parts of its own", policy, **own)


def _endorsing(tickets):
    """The session key signs the signature of others."""
    for name, binding in (
        ("symmetric", symmetric("Basic256") + wss11()),
        ("symmetric derived keys", symmetric("Basic256", derived=True) + wss11()),
        ("asymmetric", asymmetric("Basic256") + wss10()),
        ("asymmetric derived keys for requests", apart("Basic256", recipient=DERIVED) + wss10()),
    ):
        for kind in ("Endorsing", "SignedEndorsing"):
            policy = lambda derived="": binding + supporting(f"{kind}SupportingTokens", kerberos(derived))
            yield tickets.cell(f"{name}, {kind}SupportingTokens", policy(), both())
            # CXF's client says that the key is derived from an `EncryptedKey`.
            told = f"{name}, {kind}SupportingTokens, derived keys"
            yield tickets.cell(told, policy(DERIVED), both(), refused="token-unsupported")


def _raw(tickets):
    """An AP-REQ without the framing of GSS: CXF alone neither makes nor accepts one, and the GSS library of Java accepts none."""
    own = {"certificates": False, "raw": True}
    policy = protected_by("Basic256", kerberos(form="")) + wss11()
    yield tickets.cell("raw, by CXF alone", policy, both(), by_itself=False, refused="token-unsupported", unread="Fault", **own)
    framed = ("--raw", "true")
    yield tickets.cell("raw, framing added by the peer", policy, both(), words=framed, **own)
    derived = protected_by("Basic256", kerberos(DERIVED, form="")) + wss11()
    yield tickets.cell("raw, framing added by the peer, derived keys", derived, both(), words=framed, **own)
    endorsing = transport("Basic256") + wss11() + supporting("EndorsingSupportingTokens", kerberos(form=""))
    yield tickets.cell("raw, framing added by the peer, endorsing on TLS", endorsing, tls=True, words=framed, **own)


def refusals(tickets):
    """What CXF's client sends, what our gateway demands, and the reason that it gives."""
    policy = protected_by("Basic256", kerberos()) + wss11()
    derived = protected_by("Basic256", kerberos(DERIVED)) + wss11()
    cell = lambda name, *wanted, **options: tickets.cell(name, *(wanted or (policy, both())), certificates=False, **options)
    usual = cell("usual")
    yield "no token", Cell("Kerberos none", ""), usual, "security-missing"
    yield "a ticket for another service", cell("elsewhere", enctype=ENCTYPES[0]), usual, "kerberos-refused"
    yield "a client that is not named", usual, cell("of bob", ours={"clients": [f"bob@{REALM}"]}), "kerberos-refused"
    yield "a client of another realm", usual, cell("of others", ours={"realms": ["ELSEWHERE.COM"]}), "kerberos-refused"
    downgraded = {"enctypes": ["aes256-cts-hmac-sha384-192"]}
    yield "another type of encryption", usual, cell("of another type", ours=downgraded), "kerberos-refused"
    yield "the session key for a derived key", usual, cell("derived", derived, both()), "key-not-derived"
    yield "a derived key for the session key", cell("derived sent", derived, both()), usual, "element-unexpected"
    yield "signed for encrypted", cell("signed", policy, parts("SignedParts")), usual, "unencrypted"
    tls = transport("Basic256") + wss11()
    authenticates = cell("authenticates", tls + supporting("SupportingTokens", kerberos()), tls=True)
    endorses = cell("endorses", tls + supporting("EndorsingSupportingTokens", kerberos()), tls=True)
    yield "a token that signs nothing for one that endorses", authenticates, endorses, "signature-missing"


def run(report, soapstone, keys, folder, realm, client):
    """Every cell in three directions, and what has to be refused."""
    folder.mkdir(parents=True, exist_ok=True)
    keytabs = {enctype: realm.keytab(enctype, principal(enctype), enctype) for enctype in ENCTYPES}
    entries = {enctype: (ACCEPTS, keytab, principal(enctype)) for enctype, keytab in keytabs.items()}
    java = realm.java({"client": (MAKES, client, CLIENT), **entries})
    tickets = Tickets(keytabs, client)
    with running(soapstone, keys, folder, PEER, java, realm.environment) as peer:
        for cell in cells(tickets):
            in_each_direction(report, peer, cell)
        for name, theirs, demanded, reason in refusals(tickets):
            report.check(PEER, f"refused: {name}", "cxf -> soapstone", lambda: refused(peer, theirs, demanded, reason))
        cell = next(cells(tickets))
        report.check(PEER, "refused: a request that comes again", "cxf -> soapstone", lambda: _again(peer, cell))
        report.check(PEER, "refused: a request that comes again", "soapstone -> cxf", lambda: _again_at_theirs(peer, cell))
        once = _once(tickets, ours={"include": "once"})
        report.check(PEER, "refused: a later request that names its token", "soapstone -> cxf", lambda: _named_later(peer, once))


def _again(peer, cell):
    """Our gateway accepts a request that CXF's client made for a service of that principal, once."""
    peer.call(cell, "echo", peer.at(cell, "echo"))
    request = peer.last_request(cell, "echo")
    with gateway(peer, cell, "inbound") as ours:
        ours.explain(lambda: post(f"{ours.address}/echo", request))
        _must_fail(f"{ours.address}/echo", request)
        said = ours.says("replayed")
    if 'cause="replayed"' not in said:
        raise Failure(f"expected the reason replayed, the gateway said: {said or 'nothing'}")


def _again_at_theirs(peer, cell):
    """CXF's service accepts a request of our gateway once."""
    with gateway(peer, cell, "outbound") as ours:
        ours.explain(lambda: post(f"{ours.address}/echo", enveloped(REQUESTS["echo"])))
    _must_fail(peer.at(cell, "echo"), peer.last_request(cell, "echo"))
    if "Fault" not in peer.last_answer(cell, "echo"):
        raise Failure("expected a fault of CXF's service")


def _named_later(peer, cell):
    """CXF's service knows a token that a message carries, and none of an earlier message (Kerberos Token Profile 1.1, 3.4)."""
    with gateway(peer, cell, "outbound") as ours:
        ours.explain(lambda: post(f"{ours.address}/echo", enveloped(REQUESTS["echo"])))
        _must_fail(f"{ours.address}/echo", enveloped(REQUESTS["echo"]))
    if b"BinarySecurityToken" in peer.last_request(cell, "echo"):
        raise Failure("expected a request that names its token, found one that carries it")
    if "Fault" not in peer.last_answer(cell, "echo"):
        raise Failure("expected a fault of CXF's service")


def _must_fail(address, request):
    try:
        post(address, request)
    except Failure:
        return
    raise Failure("expected that the second request is refused")
