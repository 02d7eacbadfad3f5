"""Assertions that our token service makes for the client of CXF 3.5.10, and the services that it shows them to.

The client reads how requests are secured from the WSDL that our gateway publishes. With the assertion it calls a
service behind another route of the gateway, whose policy is the one that it obeys.
"""

import contextlib
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from xml.dom import minidom
from xml.etree import ElementTree

from . import jobs
from .assertions import (
    CLIENT, CURRENT, WITH_ADDRESSING, asymmetric, both, conversation, protected_by, supporting, symmetric, transport, trust13, username, wss10,
    wss11,
)  # fmt: skip
from .cxf import REQUESTS, USER, content, enveloped, post, read, same_content, security
from .endpoints import Endpoint
from .installing import INTEROP
from .policies import RSA_SHA256, Cell, self_contained
from .processes import Failure, free_port, seen, server

JAR = INTEROP / "sts" / "target" / "sts-peer.jar"
ISSUER, AUDIENCE, NEXT = "https://sts.example", "https://books.example", "https://stock.example"
VERSIONS = ("2.0", "1.1")
TOKEN_TYPES = {
    "2.0": "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0",
    "1.1": "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV1.1",
}
SUITE = "Basic256Sha256"
# Our gateway reads the suite with SHA-256.
READING = {"sha256_suites": "sha256"}
# How the token service knows who asks.
POLICIES = {
    "user": WITH_ADDRESSING + transport(SUITE) + supporting("SignedSupportingTokens", username()),
    "endorsed": WITH_ADDRESSING + transport(SUITE) + supporting("EndorsingSupportingTokens", CLIENT) + wss10(),
    "signed": WITH_ADDRESSING + asymmetric(SUITE) + wss10(),
}
CERTIFICATE = "CN=client,O=Soapstone"
ASKING = "cxf asks"
CALLING = "cxf calls"


@dataclass
class Peer:
    """The client, and our gateway."""

    program: jobs.Program
    keys: object
    folder: Path
    address: str
    log: Path
    plain_answer: bytes

    def ask(self, case, *options):
        """The job that asks for an assertion; its last word is the file for that."""
        own = {"token-type": TOKEN_TYPES[case.version], "key-type": case.key, "applies-to": AUDIENCE, **case.options}
        file = self.folder / f"{case.path}.assertion"
        return ["ask", *self.asking(case.route), *_words(own), *options, file]

    def asking(self, route, name="client"):
        """The options that say which token service is asked, by its own description, and by whom."""
        file = self.folder / f"{route}.described.wsdl"
        if not file.exists():
            file.write_bytes(read(f"{self.address}/{route}?wsdl", ssl.create_default_context(cafile=self.keys.ca)))
        return ["--tokens-wsdl", file, *security(self.keys, name, "server"), "--signature", RSA_SHA256]

    def call(self, use, *options):
        """The job that calls a service whose policy wants an assertion; its last word is the file for the answer."""
        request = self.folder / "echo.request"
        request.write_bytes(enveloped(REQUESTS["echo"]))
        namespace = "{urn:soapstone:services:echo}"
        return [
            "call", *self.asking(use.route), "--wsdl", self.folder / f"{use.path}.wsdl", "--address", f"{self.address}/{use.path}",
            "--service", f"{namespace}EchoService", "--port", f"{namespace}EchoSoap11Port", "--calls", use.calls, "--conversation", str(use.calls > 1).lower(),
            *options, request,
            self.folder / f"{use.path}.answer",
        ]  # fmt: skip

    def must_refuse(self, words, reason):
        """A job that our gateway has to refuse, for a reason in its log."""
        before = len(self.log.read_text(encoding="utf-8"))
        self.program.must_refuse(*words)
        said = lambda: self.log.read_text(encoding="utf-8")[before:]
        if not seen(lambda: reason in said()):
            raise Failure(f"expected {reason!r} in the log, found {said()}")


@dataclass
class Case:
    """One request for an assertion."""

    version: str
    route: str
    key: str
    options: dict = field(default_factory=dict)
    told: str = ""

    def __str__(self):
        return f"{KNOWN[self.route]}: SAML {self.version}, {self.key}{', ' + self.told if self.told else ''}"

    @property
    def path(self):
        """The case as the name of a file."""
        return re.sub(r"\W+", "-", str(self))

    @property
    def subject(self):
        """Whom the assertion is about."""
        return USER[0] if self.route == "user" else CERTIFICATE


KNOWN = {"user": "a user over TLS", "endorsed": "an endorsing certificate over TLS", "signed": "a signature"}


@dataclass
class Use:
    """A service whose policy wants an assertion: what that does, the key that it has, and who asks for it."""

    version: str
    name: str
    route: str
    key: str
    policy: object
    saml: dict
    message: str = ""
    derived: bool = False
    # Whether keys of certificates protect messages beside that of the assertion.
    beside: bool = False
    # How often a client calls: in a conversation, more often than it shows the assertion.
    calls: int = 1
    # Why our gateway refuses what CXF's client sends, where it does.
    refused: str | None = None

    def __str__(self):
        return f"an assertion {self.name}: SAML {self.version}, {self.key}"

    @property
    def path(self):
        """The use as a name in an address."""
        return re.sub(r"\W+", "-", str(self))

    @property
    def tls(self):
        """Whether TLS alone protects messages."""
        return not self.message

    @property
    def certificates(self):
        """Whether either side has a certificate for messages."""
        return self.beside or self.key != "SymmetricKey"

    def wsdl(self, plain, own=""):
        """The description with the policy and assertions of a peer's own, in octets."""
        derivation = "<sp:RequireDerivedKeys/>" if self.derived else ""
        token = issued(self.version, self.key, f"{derivation}<sp:RequireInternalReference/>")
        return Cell(self.path, self.policy(token) + own, self.message).wsdl(plain)


def issued(version, key, options):
    """An assertion that a token service issues."""
    trust = "http://docs.oasis-open.org/ws-sx/ws-trust/200512"
    return (
        f'<sp:IssuedToken sp:IncludeToken="{CURRENT["sp"]}/IncludeToken/AlwaysToRecipient"><sp:RequestSecurityTokenTemplate xmlns:t="{trust}">'
        f"<t:TokenType>{TOKEN_TYPES[version]}</t:TokenType><t:KeyType>{trust}/{key}</t:KeyType></sp:RequestSecurityTokenTemplate>"
        f"<wsp:Policy>{options}</wsp:Policy></sp:IssuedToken>"
    )


def cases():
    """What is granted."""
    for version in VERSIONS:
        for route in POLICIES:
            yield Case(version, route, "Bearer")
            yield Case(version, route, "SymmetricKey", told="entropy of both")
            yield Case(version, route, "SymmetricKey", {"entropy": "false"}, "entropy of the service")
            yield Case(version, route, "Bearer", {"renew": "true"}, "renewed")
            if route != "user":
                yield Case(version, route, "PublicKey", {"certificate": "true"}, "certificate in UseKey")
                yield Case(version, route, "PublicKey", told="key value in UseKey")
                yield Case(version, route, "PublicKey", {"renew": "true"}, "renewed")


def uses():
    """What the assertions are good for."""
    bearer, holder = {"confirmation": ["bearer"]}, {"confirmation": ["holder-of-key"]}
    for version in VERSIONS:
        over_tls = lambda token: transport(SUITE) + supporting("SignedSupportingTokens", token)
        yield Use(version, "beside TLS", "user", "Bearer", over_tls, {**bearer, "protection": "tls"})
        signed = lambda token: asymmetric(SUITE) + wss10() + supporting("SignedSupportingTokens", token)
        yield Use(version, "under a signature", "user", "Bearer", signed, {**bearer, "protection": "signature"}, both())
        endorsing = lambda token: transport(SUITE) + supporting("EndorsingSupportingTokens", token)
        yield Use(version, "that endorses", "endorsed", "PublicKey", endorsing, holder)
        signing = lambda token: asymmetric(SUITE, initiator=token) + wss10()
        yield Use(version, "that signs", "signed", "PublicKey", signing, holder, both())
        protecting = lambda token: protected_by(SUITE, token) + wss11() + trust13()
        for derived, told in ((False, ""), (True, " by derived keys")):
            yield Use(version, f"that protects{told}", "user", "SymmetricKey", protecting, holder, both(), derived)
        yield from endorsing_uses(version, "user")
        beginning = lambda token: conversation(SUITE, protecting(token) + both())
        yield Use(version, "that begins a conversation", "user", "SymmetricKey", beginning, holder, both(), calls=2)
        signing_first = lambda token: conversation(SUITE, signing(token) + trust13() + both())
        yield Use(version, "that begins a conversation", "signed", "PublicKey", signing_first, holder, both(), calls=2)


def endorsing_uses(version, route):
    """Assertions whose symmetric key endorses what TLS, certificates or a wrapped key protect."""
    holder = {"confirmation": ["holder-of-key"]}
    for binding, told, message, beside in (
        (transport(SUITE), "on TLS", "", False), (asymmetric(SUITE) + wss10(), "beside certificates", both(), True),
        (symmetric(SUITE) + wss11(), "beside a wrapped key", both(), True),
    ):  # fmt: skip
        policy = lambda token, binding=binding: binding + trust13() + supporting("EndorsingSupportingTokens", token)
        for derived in (False, True):
            name = f"that endorses {told}{' by a derived key' if derived else ''}"
            # With a derived key CXF's client endorses digests of SHA-1, whatever the suite.
            refused = "algorithm-not-allowed" if derived else None
            yield Use(version, name, route, "SymmetricKey", policy, holder, message, derived, beside, refused=refused)


def run(report, soapstone, keys, folder):
    """Every case, what the assertions are good for, and what is refused."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _running(soapstone, keys, folder) as peer:
        for case in cases():
            report.check("sts", str(case), ASKING, lambda: granted(peer, case))
        for version in VERSIONS:
            for form in ("on-behalf-of", "act-as"):
                report.check("sts", f"a signature: SAML {version}, {form}", ASKING, lambda: _delegated(peer, version, form))
            report.check("sts", f"a user over TLS: SAML {version}, validated", ASKING, lambda: _validated(peer, version))
            report.check("sts", f"a user over TLS: SAML {version}, cancelled", ASKING, lambda: _cancelled(peer, version))
        for name, refused in refusals(peer):
            report.check("sts", f"refused: {name}", ASKING, refused)
        for use in uses():
            if use.refused:
                refused = lambda: peer.must_refuse(peer.call(use), f'cause="{use.refused}"')
                report.check("sts", f"refused: {use}", CALLING, refused)
            else:
                report.check("sts", str(use), CALLING, lambda: _used(peer, use))
        for use in (use for use in uses() if not use.refused):
            elsewhere = lambda: peer.must_refuse(peer.call(use, "--applies-to", AUDIENCE), 'cause="audience-mismatch"')
            report.check("sts", f"refused: {use}, for another service", CALLING, elsewhere)


def refusals(peer):
    """What our token service grants to nobody: a name, and what has to be refused."""
    bearer = Case("2.0", "user", "Bearer", told="to be refused")
    signed = Case("2.0", "signed", "PublicKey", told="to be refused")
    keys = peer.keys
    yield "an audience that is not known", lambda: peer.must_refuse(
        peer.ask(bearer, "--applies-to", "https://elsewhere.example"), "elsewhere.example"
    )
    yield "a user with another password", lambda: peer.must_refuse(peer.ask(bearer, "--password", "guessed"), 'cause="')
    yield "a user who is not known", lambda: peer.must_refuse(peer.ask(bearer, "--user", "mallory"), 'cause="')
    for name, reason in (("stranger", "untrusted"), ("approver", "subject-not-allowed")):
        own = ["--key", keys.key(name), "--cert", keys.certificate(name)]
        yield f"the signature of {name}", lambda: peer.must_refuse(peer.ask(signed, *own), f'cause="{reason}"')
    yield "the key of somebody else in UseKey", lambda: peer.must_refuse(
        peer.ask(signed, "--use-key", keys.certificate("approver")), 'fault="FailedAuthentication"'
    )
    yield "a key in UseKey without a signature", lambda: peer.must_refuse(
        peer.ask(Case("2.0", "user", "PublicKey", told="to be refused")), 'fault="FailedAuthentication"'
    )
    for form in ("on-behalf-of", "act-as"):
        yield f"{form} at a service without a rule", lambda: _refused_delegation(peer, form, AUDIENCE, lambda text: text)
        yield f"{form} with an assertion that was changed", lambda: _refused_delegation(peer, form, NEXT, _promoted)
    yield "validation for another token", lambda: _validated(peer, "2.0", "--token-type", TOKEN_TYPES["1.1"])


@contextlib.contextmanager
def _running(soapstone, keys, folder):
    services, port = free_port(), free_port()
    address, echo = f"https://127.0.0.1:{port}", f"http://127.0.0.1:{services}/echo"
    command = ["java", "-cp", JAR, "soapstone.interop.TokenClient", "--jobs", "-"]
    with contextlib.ExitStack() as stack:
        serving = [soapstone, "services", "--listen", f"127.0.0.1:{services}"]
        stack.enter_context(server("services", serving, [services], folder / "services.log"))
        plain = self_contained(read, echo)
        audiences = [AUDIENCE, NEXT, *(f"{address}/{use.path}" for use in uses())]
        sections = [
            f'listen = "127.0.0.1:{port}"\n',
            f'[tls]\ncertificate = "{keys.certificate("server")}"\nkey = "{keys.key("server")}"\n',
            *(token_service(route, audiences, keys, folder) for route in POLICIES),
            *(service(use, f"{address}/{use.path}", echo, plain, keys, folder) for use in uses()),
        ]
        file, log = folder / "gateway.toml", folder / "gateway.log"
        file.write_text("\n".join(sections), encoding="utf-8")
        stack.enter_context(server("gateway", [soapstone, "gateway", "--config", file], [port], log))
        program = stack.enter_context(jobs.program("token client", command, folder / "client.log"))
        answer = content(post(echo, enveloped(REQUESTS["echo"])))
        yield Peer(program, keys, folder, address, log, answer)


def described(route, policies=POLICIES, own=""):
    """The WSDL of a token service, with assertions of a peer's own."""
    plain = minidom.parse(str(INTEROP / "sts" / "token-service.wsdl"))
    return Cell(route, policies[route] + own, both() if route == "signed" else "").wsdl(plain)


def token_service(route, audiences, keys, folder, policies=POLICIES, reading=READING):
    """The route of a token service, with the WSDL that says how it is asked."""
    wsdl = folder / f"{route}.wsdl"
    wsdl.write_bytes(described(route, policies))
    endpoint = Endpoint(policy=str(wsdl), **reading).ours(keys, "server").encrypt_to(keys, "client")
    endpoint.trust(keys.ca).tables["trust"]["subjects"] = [CERTIFICATE]
    if route == "user":
        endpoint.user(*USER)
    return f'[[routes]]\npath = "/{route}"\n[routes.inbound]\n{endpoint.inline()}{issuing(audiences, keys)}'


def issuing(audiences, keys):
    """The table of a token service, which knows everybody and issues for these audiences."""
    anybody = {"anybody": True}
    known = {"certificate": str(keys.certificate("server")), "suite": SUITE}
    services = [{"address": address, **known} for address in audiences]
    delegation = {"actors": anybody, "subjects": anybody, "forms": ["act-as", "on-behalf-of"], "audiences": [AUDIENCE], "services": [NEXT]}
    sts = Endpoint()
    sts.tables = {
        "issuer": ISSUER,
        "identity": {"key": str(keys.key("approver")), "certificate": str(keys.certificate("approver"))},
        "key_types": ["bearer", "public-key", "symmetric-key"],
        "renewable": "1h",
        "cancellable": True,
        "services": services,
        "attributes": [{"subjects": anybody, "claim": "role", "values": ["reader"]}],
        "delegations": [delegation],
    }
    return f"[routes.sts]\n{sts.inline()}"


def service(use, audience, backend, plain, keys, folder, reading=READING):
    """The route of a service that accepts assertions of our token service."""
    wsdl = folder / f"{use.path}.wsdl"
    wsdl.write_bytes(use.wsdl(plain))
    endpoint = Endpoint(policy=str(wsdl), **reading).ours(keys, "server")
    if use.certificates:
        endpoint.encrypt_to(keys, "client").trust(keys.ca)
    issuers = [{"name": ISSUER, "pinned": [str(keys.certificate("approver"))]}]
    endpoint.tables["saml"] = {"issuers": issuers, "audience": [audience], "versions": [use.version], **use.saml}
    return f'[[routes]]\npath = "/{use.path}"\nbackend = "{backend}"\n[routes.inbound]\n{endpoint.inline()}'


def _words(options):
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def granted(peer, case, *options):
    """The client is granted what it asks for; the file with the assertion."""
    words = peer.ask(case, *options)
    result = peer.program.must(*words)
    method, bits = {"Bearer": ("bearer", 0), "PublicKey": ("holder-of-key", 0), "SymmetricKey": ("holder-of-key", 256)}[case.key]
    _says(words[-1], case.version, case.subject, AUDIENCE, method)
    if case.key == "SymmetricKey" and result["bits"] != bits:
        raise Failure(f"expected a key of {bits} bits, found {result}")
    return words[-1]


def _says(file, version, subject, audience, method):
    """Fails unless the assertion says so; its attributes."""
    root = ElementTree.fromstring(file.read_bytes())
    found = {"Version": root.get("Version") or f"{root.get('MajorVersion')}.{root.get('MinorVersion')}"}
    texts = lambda *names: {it.text for it in root.iter() if it.tag.rpartition("}")[2] in names}
    methods = texts("ConfirmationMethod") or {it.get("Method") for it in root.iter() if it.tag.endswith("}SubjectConfirmation")}
    found |= {"subject": texts("NameID", "NameIdentifier"), "audience": texts("Audience"), "issuer": {root.get("Issuer")} - {None} or texts("Issuer")}
    found["method"] = {uri.rpartition(":")[2] for uri in methods}
    wanted = {"Version": version, "subject": {subject}, "audience": {audience}, "issuer": {ISSUER}, "method": {method}}
    if found != wanted:
        raise Failure(f"expected {wanted}, found {found}")
    return texts("AttributeValue")


def _asserted(peer, version):
    """The file with an assertion of the user, for the first service."""
    words = peer.ask(Case(version, "user", "Bearer", told="to be shown"))
    peer.program.must(*words)
    return words[-1]


def _delegating(peer, version, form, presented, audience):
    own = {"token-type": TOKEN_TYPES[version], "key-type": "PublicKey", "applies-to": audience, form: presented}
    return ["ask", *peer.asking("signed"), *_words(own), presented.with_suffix(f".{form}")]


def _delegated(peer, version, form):
    words = _delegating(peer, version, form, _asserted(peer, version), NEXT)
    peer.program.must(*words)
    said = _says(words[-1], version, USER[0], NEXT, "holder-of-key")
    if (f"certificate {CERTIFICATE}" in said) != (form == "act-as"):
        raise Failure(f"expected the actor with act-as alone, found {said}")


def _refused_delegation(peer, form, audience, change):
    presented = _asserted(peer, "2.0").with_suffix(".presented")
    presented.write_text(change(_asserted(peer, "2.0").read_text(encoding="utf-8")), encoding="utf-8")
    peer.must_refuse(_delegating(peer, "2.0", form, presented, audience), 'fault="FailedAuthentication"')


def _promoted(assertion):
    """The assertion with another role."""
    if ">reader<" not in assertion:
        raise Failure(f"no assertion of a reader: {assertion}")
    return assertion.replace(">reader<", ">writer<")


def _validated(peer, version, *options):
    """An assertion is valid, and is not when it is changed; with an option the question is refused."""
    presented = _asserted(peer, version)
    words = ["validate", *peer.asking("user"), *options, presented]
    if options:
        peer.must_refuse(words, 'fault="BadRequest"')
        return
    peer.program.must(*words)
    presented.write_text(_promoted(presented.read_text(encoding="utf-8")), encoding="utf-8")
    peer.program.must_refuse(*words)


def _cancelled(peer, version):
    """An assertion is valid until its subject has it cancelled, and nobody else has."""
    presented = _asserted(peer, version)
    of_user, of_another = peer.asking("user"), peer.asking("signed")
    peer.must_refuse(["cancel", *of_another, presented], 'fault="FailedAuthentication"')
    peer.program.must("validate", *of_user, presented)
    peer.program.must("cancel", *of_user, presented)
    peer.program.must_refuse("validate", *of_user, presented)


def _used(peer, use):
    words = peer.call(use)
    peer.program.must(*words)
    same_content(peer.plain_answer, words[-1].read_bytes())
