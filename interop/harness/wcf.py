"""WCF, as far as Mono has it: its clients against its services, its clients against our gateway, our gateway against its services."""

import contextlib
import functools
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from . import cxf, envelopes, jobs, policies
from .assertions import ADDRESSING, WITH_ADDRESSING, asymmetric, both, supporting, symmetric, username, wss11, x509
from .cxf import REQUESTS, USER, content, enveloped, same_content
from .endpoints import Endpoint
from .installing import INTEROP
from .processes import Failure, free_port, must, server

PROGRAM = INTEROP / "wcf" / "build" / "wcf-peer.exe"
MONO = ["mono", PROGRAM, "--jobs"]
TEXT = "Grüße & more"
ACTION = "urn:soapstone:services:echo:Echo"
CALLS = 2
# Mono finds a certificate by issuer and serial number only where both sides write the issuer's name
# alike.
BY_THUMBPRINT = "<sp:RequireThumbprintReference/>"


@dataclass
class Cell:
    """One binding, and what our endpoint says for it."""

    name: str
    # Options of the binding (interop/wcf/Peer.cs).
    binding: dict
    # Assertions of the endpoint's policy; none where there is a mechanism.
    policy: str = ""
    message: str = ""
    # In the namespaces of 2005, which is what clients speak whose version of WS-Trust is that of
    # 2005.
    draft: bool = False
    # What our endpoint file says beside the policy, or with a mechanism instead of it.
    ours: dict = field(default_factory=dict)
    # Whether messages tell nothing of the client, so that the gateway has no certificate of it.
    anonymous: bool = False
    # Whether Mono's services can do it, for its own clients and for our gateway.
    served: bool = True
    # Why our gateway refuses what the client sends, where it does.
    refused: str | None = None
    # What a plain client gets where Mono's service does not understand our gateway.
    misunderstood: str | None = None

    @property
    def path(self):
        """The cell's name in an address or as a file."""
        return self.name.replace(",", "").replace(" ", "-")

    def options(self):
        """The binding's options as words."""
        binding = {"security": "none", "suite": "Basic256", "soap": "12", "addressing": "true", "version": "wss11", **self.binding}
        return [word for name, value in binding.items() for word in (f"--{name}", value)]

    def wsdl(self, plain):
        """`plain`, the WSDL of a sample service, with the cell's policy, as octets."""
        policy, namespaces = self.policy, policies.CURRENT
        if self.draft:
            policy, namespaces = policy.replace(policies.CURRENT["sp"], policies.DRAFT["sp"]), policies.DRAFT
        return policies.Cell(self.name, policy, self.message, namespaces=namespaces).wsdl(plain)


def cells():
    """Every cell."""
    yield Cell("none, SOAP 1.1", {"soap": "11", "addressing": "false"}, ours={"mechanism": "none"})
    # Mono's services do not know the `action` of SOAP 1.2.
    yield Cell("none, SOAP 1.2", {"addressing": "false"}, ours={"mechanism": "none"}, misunderstood="ActionNotSupported")
    yield Cell("none, addressing", {}, WITH_ADDRESSING, ours={"policy_may_be_empty": True})
    yield from _asymmetric()
    yield from _without_addressing()
    yield from _symmetric()


def _asymmetric():
    """Mutual certificates. Mono signs with RSA-SHA256 whatever the suite says, so that these suites alone are one."""
    reading = {"sha256_suites": "sha256"}
    for suite in ("Basic256Sha256", "Basic128Sha256", "Basic192Sha256"):
        binding = {"security": "asymmetric", "suite": suite}
        yield Cell(f"asymmetric {suite}", binding, _by_thumbprint(suite), both(), ours=reading)
    binding = {"security": "asymmetric", "suite": "Basic256Sha256"}
    options = {**binding, "order": "sign-encrypt-signature"}
    hidden = _by_thumbprint("Basic256Sha256", "<sp:EncryptSignature/>")
    yield Cell("asymmetric, encrypted signature", options, hidden, both(), ours=reading)
    yield from _asymmetric_derived(reading)
    trust13 = {**binding, "version": "wss11-trust13"}
    yield Cell("asymmetric, WS-Trust 1.3", trust13, _by_thumbprint("Basic256Sha256"), both(), ours=reading)


def _asymmetric_derived(reading):
    """As X509SecurityTokenParameters are unless told otherwise: a key derived from the wrapped one enciphers, the private key signs."""
    for suite in ("Basic256Sha256", "Basic128Sha256", "Basic192Sha256"):
        binding = {"security": "asymmetric", "suite": suite, "derived": "true"}
        policy = _by_thumbprint(suite, derived=True)
        yield Cell(f"asymmetric derived keys {suite}", binding, policy, both(), draft=True, ours=reading)
    binding = {"security": "asymmetric", "suite": "Basic256Sha256", "derived": "true"}
    options = {**binding, "order": "sign-encrypt-signature"}
    policy = _by_thumbprint("Basic256Sha256", "<sp:EncryptSignature/>", derived=True)
    yield Cell("asymmetric derived keys, encrypted signature", options, policy, both(), draft=True, ours=reading)
    confirmed = _by_thumbprint("Basic256Sha256", derived=True) + wss11("<sp:RequireSignatureConfirmation/>")
    policy = confirmed.replace(wss11(), "")
    options = {**binding, "confirmation": "true"}
    yield Cell("asymmetric derived keys, signature confirmation", options, policy, both(), draft=True, ours=reading)


def _without_addressing():
    """Presets, before clients of SOAP 1.1 (as those of BasicHttpBinding with message security) and 1.2. Mono has no such services."""
    mutual = {"security": "mutual", "suite": "Basic256Sha256", "version": "wss10", "soap": "11", "addressing": "false"}
    preset = {"mechanism": "sign-encrypt", "suite": "Basic256Sha256+RsaSha256", "key_reference": "thumbprint"}
    yield Cell("preset sign-encrypt, SOAP 1.1", mutual, ours=preset, served=False)
    asymmetric = {**mutual, "security": "asymmetric", "version": "wss11", "soap": "12"}
    yield Cell("preset sign-encrypt, SOAP 1.2", asymmetric, ours=preset, served=False)
    hidden = {**preset, "encrypted": ["Body", "Signature"]}
    options = {**asymmetric, "order": "sign-encrypt-signature"}
    yield Cell("preset sign-encrypt, encrypted signature", options, ours=hidden, served=False)
    for suite, data in (("Basic256", "aes256-cbc"), ("Basic128", "aes128-cbc")):
        algorithms = {"signature": ["rsa-sha256"], "digest": ["sha1"], "key_transport": ["rsa-oaep-mgf1p"], "data": [data]}
        ours = {"mechanism": "sign-encrypt", "algorithms": algorithms, "key_reference": "thumbprint"}
        yield Cell(f"preset sign-encrypt, what Mono makes of {suite}", {**mutual, "suite": suite}, ours=ours, served=False)


def _symmetric():
    """A key wrapped to the service's certificate, and who the client is in a token of its own, if anything says so."""
    for derived in (False, True):
        name = "symmetric derived keys" if derived else "symmetric"
        binding = {"security": "anonymous", "derived": str(derived).lower()}
        for suite in ("Basic256", "Basic192", "Basic128"):
            policy = _symmetric_policy(suite, derived)
            yield Cell(f"{name} {suite}", {**binding, "suite": suite}, policy, both(), draft=True, anonymous=True)
        for case, option, options, wss in (
            ("encrypted signature", {"order": "sign-encrypt-signature"}, "<sp:EncryptSignature/>", ""),
            ("signature confirmation", {"confirmation": "true"}, "", "<sp:RequireSignatureConfirmation/>"),
        ):
            policy = _symmetric_policy("Basic256", derived, options, wss)
            yield Cell(f"{name} {case}", {**binding, **option}, policy, both(), draft=True, anonymous=True)
        named = _symmetric_policy("Basic256", derived) + supporting("SignedEncryptedSupportingTokens", username())
        options = {**binding, "security": "username"}
        yield Cell(f"{name} username", options, named, both(), draft=True, anonymous=True)
        endorsed = _symmetric_policy("Basic256", derived) + supporting("EndorsingSupportingTokens", x509("AlwaysToRecipient"))
        options = {**binding, "security": "mutual"}
        # Mono endorses with RSA-SHA256, which is no algorithm of the suite.
        yield Cell(f"{name} endorsing", options, endorsed, both(), draft=True, refused="algorithm-not-allowed")
    binding = {"security": "anonymous", "version": "wss11-trust13"}
    yield Cell("symmetric, WS-Trust 1.3", binding, _symmetric_policy("Basic256", False), both(), anonymous=True)
    # Mono names a digest beside RSA 1.5, which has none.
    binding = {"security": "anonymous", "suite": "Basic256Rsa15"}
    policy = _symmetric_policy("Basic256Rsa15", False)
    yield Cell("symmetric Basic256Rsa15", binding, policy, both(), draft=True, anonymous=True, refused="malformed")


def _by_thumbprint(suite, options="", derived=False):
    demands = ("<sp:RequireDerivedKeys/>" if derived else "") + BY_THUMBPRINT
    policy = asymmetric(suite, options=options, initiator=x509("AlwaysToRecipient", demands))
    return WITH_ADDRESSING + policy.replace(x509("Never"), x509("Never", demands)) + wss11()


def _symmetric_policy(suite, derived, options="", wss=""):
    return WITH_ADDRESSING + symmetric(suite, derived, options) + wss11(wss)


def refusals():
    """What a client is told to do, what our gateway demands, and the reason that the gateway gives."""
    known = {cell.name: cell for cell in cells()}
    triple = {"security": "anonymous", "suite": "TripleDes"}
    wrong = {**known["symmetric username"].binding, "password": "guess"}
    for name, binding, demanded, reason in (
        ("none", {}, "asymmetric Basic256Sha256", "security-missing"),
        ("asymmetric Basic128Sha256", None, "asymmetric Basic256Sha256", "algorithm-not-allowed"),
        ("symmetric Basic256", None, "asymmetric Basic256Sha256", "algorithm-not-allowed"),
        ("symmetric Basic128", None, "symmetric Basic256", "algorithm-not-allowed"),
        ("symmetric Basic256", None, "symmetric derived keys Basic256", "key-not-derived"),
        ("symmetric Basic256", None, "symmetric encrypted signature", "unencrypted"),
        ("symmetric Basic256", None, "symmetric username", "username-missing"),
        ("symmetric username with another password", wrong, "symmetric username", "authentication-failed"),
        # What nobody demands nobody derives, and the other way round.
        ("asymmetric derived keys Basic256Sha256", None, "asymmetric Basic256Sha256", "element-unexpected"),
        ("asymmetric Basic256Sha256", None, "asymmetric derived keys Basic256Sha256", "key-not-derived"),
        ("symmetric derived keys Basic256", None, "asymmetric derived keys Basic256Sha256", "algorithm-not-allowed"),
        # Mono's initialization vectors have 16 octets, which are two blocks.
        ("symmetric TripleDes", triple, "symmetric TripleDes", "decryption-failed"),
    ):
        yield f"{name} for {demanded}", known[name].binding if binding is None else binding, demanded, reason


def limits():
    """What Mono's client cannot do with any service, and what it says of it."""
    asymmetric = {"security": "asymmetric", "suite": "Basic256Sha256"}
    not_implemented = "NotImplementedException"
    yield "a user name on TLS", {"security": "transport-username"}, not_implemented
    yield "an endorsing certificate on TLS", {"security": "transport-certificate"}, not_implemented
    yield "encrypt-sign", {**asymmetric, "order": "encrypt-sign"}, not_implemented
    yield "HMAC-SHA256", {"security": "anonymous", "suite": "Basic256Sha256"}, "ArgumentNullException"
    yield "conversations", {"security": "anonymous", "conversation": "true"}, "channel type IRequestSessionChannel is not supported"
    yield "conversations of WS-SecureConversation 1.3", {
        "security": "mutual", "version": "wss11-trust13", "conversation": "true",
    }, "channel type IRequestSessionChannel is not supported"  # fmt: skip
    # It has no token of an assertion, whoever made that, and none of Kerberos. It asks no token
    # service before it fails.
    issuer = "http://127.0.0.1/"
    yield "an assertion of its own", {"security": "assertion"}, not_implemented
    for name, security, said in (
        ("endorses", "issued", "'System.ServiceModel.MessageSecurityVersion' is expected"),
        ("protects", "issued-protection", "channel type IRequestSessionChannel is not supported"), ("is beside TLS", "transport-issued", not_implemented),
    ):  # fmt: skip
        yield f"an issued token that {name}", {"security": security, "issuer": issuer}, said
    yield "Kerberos", {"security": "kerberos"}, not_implemented
    yield "Kerberos on TLS", {"security": "transport-kerberos"}, not_implemented


# Mono's service deciphers what it gets before it verifies the signature, which is then over another
# text, whatever is signed.
OTHER_ORDER = Cell(
    "asymmetric encrypt-sign", {"security": "asymmetric", "suite": "Basic256Sha256", "order": "encrypt-sign"},
    _by_thumbprint("Basic256Sha256", "<sp:EncryptBeforeSigning/>"), both(), ours={"sha256_suites": "sha256"},
)  # fmt: skip
# A refusal alone demands it.
TRIPLE = Cell("symmetric TripleDes", {}, _symmetric_policy("TripleDes", False), both(), draft=True, anonymous=True)


@dataclass(eq=False)
class Peer:
    """The sample services in plain, and the WCF programs that serve and call with security."""

    soapstone: Path
    services: str
    serving: jobs.Program
    calling: jobs.Program
    keys: object
    folder: Path

    @functools.cache
    def at(self, path):
        """Where Mono serves the cell with that path."""
        return f"http://127.0.0.1:{free_port()}/{path}/echo"

    def serve(self, cell, record=None):
        """Serves a cell with Mono."""
        recording = ["--record", record] if record else []
        self.serving.must("serve", "--address", self.at(cell.path), *cell.options(), *self.who("server", "client"), *recording)

    def call(self, cell, address, *options):
        """Mono's client calls; what came of it."""
        words = ["call", "--address", address, "--calls", CALLS, "--text", TEXT, *self.who("client", "server"), *cell.options()]
        return self.calling.job(*words, *options)

    def who(self, ours, theirs):
        """Who a program is, whom it speaks with."""
        return who(self.keys, ours, theirs)

    def endpoint(self, cell, direction):
        """Our endpoint for a cell."""
        policy = {}
        if "mechanism" not in cell.ours:
            path = self.folder / f"{cell.path}.wsdl"
            path.write_bytes(cell.wsdl(cxf.self_contained(cxf.read, f"{self.services}/echo")))
            policy["policy"] = str(path)
        ours, theirs = ("server", "client") if direction == "inbound" else ("client", "server")
        endpoint = Endpoint(**policy, **cell.ours)
        if endpoint.tables["security"].get("mechanism") == "none":
            return endpoint
        endpoint.ours(self.keys, ours).trust(self.keys.ca).pin(self.keys.certificate(theirs)).user(*USER)
        if direction == "outbound" or not cell.anonymous:
            endpoint.encrypt_to(self.keys, theirs)
        return endpoint


def who(keys, ours, theirs):
    """The options that say who a program is, and whom it speaks with."""
    user = ["--user", USER[0], "--password", USER[1]]
    return ["--key", keys.folder / f"{ours}.p12", "--peer", keys.certificate(theirs), *user]


@contextlib.contextmanager
def running(soapstone, keys, folder):
    """Sample services, a WCF program for services and one for clients, for as long as the block runs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pkcs12(keys)
    port = free_port()
    command = [soapstone, "services", "--listen", f"127.0.0.1:{port}"]
    with (
        server("services", command, [port], folder / "services.log"),
        jobs.program("WCF service", MONO, folder / "serving.log") as serving,
        jobs.program("WCF client", MONO, folder / "calling.log") as calling,
    ):
        yield Peer(soapstone, f"http://127.0.0.1:{port}", serving, calling, keys, folder)


def pkcs12(keys):
    """Keys as Mono reads them, which knows nothing newer."""
    for name in ("client", "server"):
        must(
            "openssl", "pkcs12", "-export", "-inkey", keys.key(name), "-in", keys.certificate(name), "-passout", "pass:secret",
            "-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1", "-out", keys.folder / f"{name}.p12",
        )  # fmt: skip


@contextlib.contextmanager
def gateway(peer, direction):
    """Our gateway with a route for each cell of a direction, for as long as the block runs."""
    port = free_port()
    sections = [f'listen = "127.0.0.1:{port}"\n']
    for cell in (*cells(), TRIPLE):
        backend = f"{peer.services}/echo" if direction == "inbound" else peer.at(cell.path)
        tables = peer.endpoint(cell, direction).inline()
        sections.append(f'[[routes]]\npath = "/{cell.path}/echo"\nbackend = "{backend}"\n[routes.{direction}]\n{tables}')
    sections.append(f'[[routes]]\npath = "/sum"\nbackend = "{peer.services}/sum"\n')
    with cxf.configured(peer, direction, port, sections) as ours:
        yield ours


def run(report, soapstone, keys, folder):
    """Every cell in three directions: what fails between Mono's own client and service is not ours to fix."""
    known = {cell.name: cell for cell in (*cells(), TRIPLE)}
    with running(soapstone, keys, folder) as peer:
        for cell in (cell for cell in cells() if cell.served):
            report.check("wcf", cell.name, "wcf -> wcf", lambda: itself(peer, cell))
        for name, binding, said in limits():
            report.check("wcf", f"Mono cannot: {name}", "wcf -> wcf", lambda: _cannot(peer, Cell(name, binding), said))
        with gateway(peer, "inbound") as ours:
            for cell in cells():
                if cell.refused:
                    check = lambda: _refused(peer, ours, cell, cell, cell.refused)
                    report.check("wcf", f"refused: {cell.name}", "wcf -> soapstone", check)
                else:
                    report.check("wcf", cell.name, "wcf -> soapstone", lambda: _to_gateway(peer, ours, cell))
            report.check("wcf", "none, Sum", "wcf -> soapstone", lambda: _sum(peer, ours))
            for name, binding, demanded, reason in refusals():
                theirs = Cell(name, binding)
                check = lambda: _refused(peer, ours, theirs, known[demanded], reason)
                report.check("wcf", f"refused: {name}", "wcf -> soapstone", check)
        with gateway(peer, "outbound") as ours:
            for cell in (cell for cell in cells() if cell.served):
                if cell.misunderstood:
                    name = f"Mono does not understand: {cell.name}"
                    report.check("wcf", name, "soapstone -> wcf", lambda: _misunderstood(ours, cell))
                else:
                    report.check("wcf", cell.name, "soapstone -> wcf", lambda: _from_gateway(peer, ours, cell))
        for name in ("asymmetric Basic256Sha256", "asymmetric derived keys Basic256Sha256", "symmetric derived keys Basic256"):
            cell = known[name]
            report.check("wcf", f"{cell.name}, altered", "soapstone -> wcf", lambda: _altered(peer, cell))
        peer.serve(OTHER_ORDER)
        for name, body in (("a short Body", "<a/>"), ("a long Body", REQUESTS["echo"])):
            name = f"Mono does not understand: {OTHER_ORDER.name}, {name}"
            report.check("wcf", name, "soapstone -> wcf", lambda: _unverified(peer, OTHER_ORDER, body))


def itself(peer, cell):
    """Mono's client calls Mono's service."""
    peer.serve(cell)
    _answered(peer.call(cell, peer.at(cell.path)))


def _answered(result, expected=TEXT):
    if result["exit"] != 0 or result["answer"] != expected:
        raise Failure(f"expected {expected!r}, found {result}")


def _cannot(peer, cell, said):
    """Mono's client fails before it sends anything, and says that. Where it does not any more, the cell is to be one."""
    scheme = "https" if "TLS" in cell.name else "http"
    result = peer.call(cell, f"{scheme}://127.0.0.1:{free_port()}/echo")
    if result["exit"] != 2 or said not in result["reason"]:
        raise Failure(f"expected that Mono says {said}, found {result}")


def _to_gateway(peer, ours, cell):
    """Mono's client calls our gateway."""
    ours.explain(lambda: _answered(peer.call(cell, f"{ours.address}/{cell.path}/echo")))


def _sum(peer, ours):
    """Mono's client calls another service, with numbers."""
    plain = Cell("none", {"soap": "11", "addressing": "false"})
    _answered(peer.call(plain, f"{ours.address}/sum", "--sum", "17,25"), "42")


def _refused(peer, ours, theirs, demanded, reason):
    """Mono's client gets a fault from our gateway, which gives that reason."""
    before = len(ours.warnings())
    result = peer.call(theirs, f"{ours.address}/{demanded.path}/echo")
    said = ours.says(reason, before)
    if result["exit"] != 2 or f'cause="{reason}"' not in said:
        raise Failure(f"expected the reason {reason}, found {result}\nthe gateway said: {said or 'nothing'}")


def _plain_answer(ours, cell):
    soap = envelopes.SOAP11 if cell.binding.get("soap") == "11" else envelopes.SOAP12
    address = f"{ours.address}/{cell.path}/echo"
    return cxf.post(address, enveloped(REQUESTS["echo"], soap), ACTION)


def _from_gateway(peer, ours, cell):
    """A plain client calls Mono's service through our gateway."""
    expected = content(cxf.post(f"{peer.services}/echo", enveloped(REQUESTS["echo"])))
    ours.explain(lambda: same_content(expected, content(_plain_answer(ours, cell))))


def _misunderstood(ours, cell):
    """Mono's service does not understand our gateway. Where it does, the cell is to say so."""
    try:
        said = _plain_answer(ours, cell).decode()
    except Failure as failure:
        said = str(failure)
    if cell.misunderstood not in said:
        raise Failure(f"expected {cell.misunderstood}, found {said}")


def _secured(peer, cell, body):
    """A message of ours for Mono's service, with the headers that it wants."""
    config = peer.folder / f"{cell.path}.client.toml"
    config.write_text(peer.endpoint(cell, "outbound").inline(), encoding="utf-8")
    plain, secured = peer.folder / "plain.xml", peer.folder / f"{cell.path}.secured.xml"
    blocks = (("Action", ACTION), ("MessageID", "urn:uuid:1"), ("To", peer.at(cell.path)))
    headers = "".join(f'<a:{name} xmlns:a="{ADDRESSING}">{value}</a:{name}>' for name, value in blocks)
    plain.write_bytes(enveloped(body, envelopes.SOAP12, headers))
    must(peer.soapstone, "secure", "--config", config, plain, "-o", secured)
    return secured.read_bytes()


def _unverified(peer, cell, body):
    """Mono's service refuses a message of ours. Where it does not any more, the cell is to be one."""
    try:
        cxf.post(peer.at(cell.path), _secured(peer, cell, body))
    except Failure as failure:
        if "Message signature is invalid" not in str(failure):
            raise
    else:
        raise Failure("expected Mono to refuse the message")


def _altered(peer, cell):
    """Mono's service accepts a message of ours, and refuses it when a signed header has changed."""
    message = _secured(peer, cell, REQUESTS["echo"])
    if b"EncryptedData" not in cxf.post(peer.at(cell.path), message):
        raise Failure("expected a secured answer")
    if message.count(b"urn:uuid:1<") != 1:
        raise Failure("expected the MessageID once")
    try:
        cxf.post(peer.at(cell.path), message.replace(b"urn:uuid:1<", b"urn:uuid:2<"))
    except Failure as failure:
        if "Message signature is invalid" not in str(failure):
            raise
    else:
        raise Failure("expected Mono to refuse the message")


def record(soapstone, keys, scratch, folder, moment):
    """Records what Mono's client and service say to each other, with the WSDL and our endpoints, in a folder for each cell."""
    with running(soapstone, keys, scratch / "wcf") as peer:
        for cell in (cell for cell in cells() if cell.served and cell.policy and cell.message and not cell.refused):
            target = folder / cell.path
            peer.serve(cell, record=target)
            _answered(peer.call(cell, peer.at(cell.path), "--calls", 1))
            for direction, name in (("inbound", "service"), ("outbound", "client")):
                endpoint = peer.endpoint(cell, direction)
                endpoint.tables["security"].update(policy="service.wsdl", time=moment())
                text = endpoint.inline().replace(f"{keys.folder}/", "../keys/")
                (target / f"{name}.toml").write_text(text, encoding="utf-8")
            shutil.copy(peer.folder / f"{cell.path}.wsdl", target / "service.wsdl")
