"""Metro (WSIT): its clients against its services, its clients against our gateway, our gateway against its services."""

import contextlib
import functools
import shutil
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from . import cxf, envelopes, jobs, saml
from .cxf import REQUESTS, USER, content, enveloped, same_content
from .endpoints import Endpoint
from .installing import INTEROP
from .metro_policies import LENIENT, STRANGERS, cells, refusals
from .processes import Failure, free_port, must, seen, server

JAR = INTEROP / "metro" / "target" / "metro-peer.jar"
ACTION = "urn:soapstone:services:echo:Echo"
CERTIFICATE = "CN=client,O=Soapstone"
# Of every keystore here.
PASSWORD = "secret"
# The namespaces of Metro's own assertions, which say what a policy leaves open: keys, users, lives
# of contexts.
OWN = "http://schemas.sun.com/2006/03/wss"
OWN_CONVERSATION = "http://schemas.sun.com/ws/2006/05/sc"
SHOWING = '<own:CallbackHandler name="samlHandler" classname="soapstone.interop.Showing"/>'
VISIBILITY = "http://java.sun.com/xml/ns/wsit/policy"
# Seconds that a context lives where it is to be renewed, and before its end that a client does so.
LIFETIME = 5
EARLY = 4


@dataclass(eq=False)
class Peer:
    """The sample services in plain, and the Metro programs that serve and call with security."""

    soapstone: Path
    services: str
    address: str
    secure_address: str
    serving: jobs.Program
    calling: jobs.Program
    # OpenSAML, which makes the assertions.
    issuing: jobs.Program
    keys: object
    folder: Path

    def at(self, cell):
        """Where Metro serves a cell."""
        return f"{self.secure_address if cell.tls else self.address}/{cell.path}/echo"

    def serve(self, cell):
        """Serves a cell with Metro."""
        self.serving.must(
            "serve", "--address", self.at(cell), "--wsdl", self.configuration(cell, "server", "client"), *_names(cell),
            "--record", self.recorded(cell), "--tls", store(self.keys, "server"),
        )  # fmt: skip

    def call(self, cell, address, wsdl=None):
        """Metro's client calls as the WSDL there says, and gets what the plain service answers."""
        result = self.calling.job(*self.words(cell, address, wsdl or f"{address}?wsdl"))
        if result["exit"] != 0:
            raise Failure(f"Metro's client: {result['reason']}")
        answer = self.answer(cell).read_bytes()
        if not cell.damaged:
            same_content(self.plain_answer(cell.path), answer)
        # Around what it has deciphered Metro puts an element of that name for itself, whose end it
        # leaves there.
        elif b"</StartElement>" not in answer:
            raise Failure(f"expected the end of an element of Metro's own, found {answer.decode()}")

    def words(self, cell, address, wsdl):
        """The job that calls `address` as `wsdl` says."""
        request = self.folder / f"{cell.path}.request"
        request.write_text(_request(cell.path), encoding="utf-8")
        pause = 1000 * (LIFETIME - EARLY) + 500 if cell.renew else 0
        return [
            "call", "--address", address, "--wsdl", wsdl, *_names(cell), "--action", ACTION, "--calls", cell.calls, "--pause", pause,
            "--configuration", self.configuration(cell, "client", "server"), "--trust", trusted(self.keys, "server"),
            *self.shown(cell), request, self.answer(cell),
        ]  # fmt: skip

    def shown(self, cell):
        """The options that have Metro's client show an assertion."""
        if not cell.asserted:
            return []
        return ["--assertion", self.assertion(cell), "--holder", str(cell.asserted[1] == "holder-of-key").lower()]

    def assertion(self, cell):
        """The file with the assertion that clients show."""
        path = self.folder / f"{cell.path}.assertion"
        if not path.exists():
            self.issuing.must("issue", *saml.Case(*cell.asserted, "over TLS").issuing(self.keys), path)
        return path

    def answer(self, cell):
        """The file for the answer that Metro's client gets."""
        return self.folder / f"{cell.path}.answer"

    def recorded(self, cell):
        """The folder with the messages that Metro's service gets and sends."""
        return self.folder / "recorded" / cell.path

    def actions(self, cell):
        """The last step of the `wsa:Action` of each request that Metro's service has got, in order."""
        requests = sorted(self.recorded(cell).glob("*.request.xml"), key=lambda path: int(path.name.split(".")[0]))
        texts = [path.read_text(encoding="utf-8") for path in requests]
        return [found[1].rpartition("/")[2] if (found := cxf.ACTION.search(text)) else None for text in texts]

    def wsdl(self, cell):
        """The file with the WSDL of a cell, as everybody may read it."""
        path = self.folder / f"{cell.path}.wsdl"
        path.write_bytes(cell.wsdl(self.plain()))
        return path

    def configuration(self, cell, ours, theirs):
        """The WSDL of a cell with what Metro's service or client has to know besides."""
        path = self.folder / f"{cell.path}.{ours}.wsdl"
        if not path.exists():
            path.write_bytes(cell.wsdl(self.plain(), self.own(cell, ours, theirs)))
        return path

    def own(self, cell, ours, theirs):
        """Keys, anchors, users and contexts, as assertions of Metro's own."""
        known = stores_known(self.keys, ours, theirs)
        if cell.hidden_cancel and cell.in_conversation:
            known.append(("EncSCCancel", "", ""))
        lifetime = f"<own:LifeTime>{LIFETIME * 1000}</own:LifeTime>"
        if ours == "client":
            known.append(user_known(cell.password, SHOWING if cell.asserted else ""))
            early = f'renewExpiredSCT="true" requireCancelSCT="true" maxClockSkew="{-EARLY * 1000}"'
            contexts = ("SCClientConfiguration", early, lifetime)
        else:
            known.append(validator_known("Passwords"))
            contexts = ("SCConfiguration", "", lifetime)
        text = "".join(private(f"{OWN}/{ours}", *assertion) for assertion in known)
        return text + (private(f"{OWN_CONVERSATION}/{ours}", *contexts) if cell.renew else "")

    @functools.cache
    def plain(self):
        """The service's WSDL without any policy."""
        return cxf.self_contained(cxf.read, f"{self.services}/echo")

    @functools.cache
    def plain_answer(self, path):
        """What the plain service answers to the request of the cell with that path, without its envelope."""
        return content(cxf.post(f"{self.services}/echo", enveloped(_request(path))))

    def described(self, cell):
        """The file with the WSDL that Metro serves for it."""
        path = self.folder / f"{cell.path}.described.wsdl"
        path.write_bytes(cxf.read(f"{self.at(cell)}?wsdl", ssl.create_default_context(cafile=self.keys.ca)))
        return path

    def endpoint(self, cell, direction):
        """Our endpoint for a cell: of what the cell says, or of what Metro describes."""
        if direction == "inbound":
            ours, theirs, policy = "server", "client", self.wsdl(cell)
        else:
            ours, theirs, policy = "client", "server", self.described(cell)
        endpoint = Endpoint(policy=str(policy), **cell.ours).ours(self.keys, ours)
        if direction == "outbound" or not cell.anonymous:
            endpoint.encrypt_to(self.keys, theirs)
        if cell.asserted:
            endpoint.tables["saml"] = self.saml(cell, direction)
        return endpoint.trust(self.keys.ca).pin(self.keys.certificate(theirs)).user(*USER)


    def saml(self, cell, direction):
        """What our endpoint says of assertions."""
        version, confirmation = cell.asserted
        table = {"versions": [version], "confirmation": [confirmation]}
        if confirmation == "bearer":
            table["protection"] = "tls" if cell.tls else "signature"
        if direction == "outbound":
            return table | {"assertion": str(self.assertion(cell))}
        if confirmation == "sender-vouches":
            table["attesters"] = [CERTIFICATE]
        issuers = [{"name": saml.ISSUER, "pinned": [str(self.keys.certificate("approver"))]}]
        return table | {"issuers": issuers, "audience": [saml.AUDIENCE]}


def _names(cell):
    namespace = "{urn:soapstone:services:echo}"
    return ["--service", f"{namespace}EchoService", "--port", f"{namespace}EchoSoap{cell.soap}Port"]


def store(keys, name):
    """A key with its certificate."""
    return keys.folder / f"{name}.metro.p12"


def trusted(keys, name):
    """The anchors, and the certificate of the other side."""
    return keys.folder / f"{name}.metro.trusted.p12"


def stores_known(keys, ours, theirs):
    """The assertions of Metro's own that say where keys and anchors of a side are: names, attributes and contents."""
    kind = f'type="PKCS12" storepass="{PASSWORD}"'
    return [
        ("KeyStore", f'location="{store(keys, ours)}" {kind} alias="{ours}" keypass="{PASSWORD}"', ""),
        ("TrustStore", f'location="{trusted(keys, theirs)}" {kind} peeralias="{theirs}"', ""),
    ]


def user_known(password, more=""):
    """The assertion that says as whom a client calls, and what it shows besides."""
    values = (("usernameHandler", USER[0]), ("passwordHandler", password))
    handlers = "".join(f'<own:CallbackHandler name="{name}" default={quoteattr(value)}/>' for name, value in values)
    return ("CallbackHandlerConfiguration", "", handlers + more)


def validator_known(name):
    """The assertion that says which class of the peer knows a service's users."""
    validator = f'<own:Validator name="usernameValidator" classname="soapstone.interop.{name}"/>'
    return ("ValidatorConfiguration", "", validator)


def private(namespace, name, attributes, inner):
    """An assertion that Metro does not publish."""
    visibility = f'xmlns:wspp="{VISIBILITY}" wspp:visibility="private"'
    return f'<own:{name} xmlns:own="{namespace}" {visibility} {attributes}>{inner}</own:{name}>'


@contextlib.contextmanager
def running(soapstone, keys, folder):
    """Sample services, a Metro program for services and one for clients, for as long as the block runs."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stores(keys)
    port = free_port()
    command = [soapstone, "services", "--listen", f"127.0.0.1:{port}"]
    # All services here have one name, under which monitoring would register each.
    java = [
        "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dcom.sun.xml.ws.monitoring.endpoint=false",
        f"-Dsoapstone.user={USER[0]}", f"-Dsoapstone.password={USER[1]}",
    ]  # fmt: skip
    with (
        server("services", command, [port], folder / "services.log"),
        jobs.running("Metro service", JAR, folder / "serving.log", java) as serving,
        jobs.running("Metro client", JAR, folder / "calling.log", java) as calling,
        jobs.running("SAML", saml.JAR, folder / "issuing.log") as issuing,
    ):
        addresses = (f"http://127.0.0.1:{port}", f"http://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}")
        yield Peer(soapstone, *addresses, serving, calling, issuing, keys, folder)


def stores(keys):
    """Keys and anchors as Metro reads them."""
    for name in ("client", "server"):
        must(
            "openssl", "pkcs12", "-export", "-inkey", keys.key(name), "-in", keys.certificate(name), "-name", name,
            "-passout", f"pass:{PASSWORD}", "-out", store(keys, name),
        )  # fmt: skip
        for alias, certificate in (("ca", keys.ca), (name, keys.certificate(name))):
            must(
                "keytool", "-importcert", "-noprompt", "-alias", alias, "-file", certificate, "-storetype", "PKCS12",
                "-keystore", trusted(keys, name), "-storepass", PASSWORD,
            )  # fmt: skip


@contextlib.contextmanager
def gateway(peer, routed, name, direction, tls=False):
    """Our gateway with a route for each cell, for as long as the block runs."""
    port = free_port()
    sections = [f'listen = "127.0.0.1:{port}"\n']
    if tls:
        sections.append(f'[tls]\ncertificate = "{peer.keys.certificate("server")}"\nkey = "{peer.keys.key("server")}"\n')
    for cell in routed:
        inbound = direction == "inbound"
        backend = f"{peer.services}/echo" if inbound else peer.at(cell)
        trusted = f'tls = {{ ca = ["{peer.keys.ca}"] }}\n' if cell.tls and not inbound else ""
        tables = peer.endpoint(cell, direction).inline()
        sections.append(f'[[routes]]\npath = "/{cell.path}/echo"\nbackend = "{backend}"\n{trusted}[routes.{direction}]\n{tables}')
    with cxf.configured(peer, name, port, sections, tls) as ours:
        yield ours


def run(report, soapstone, keys, folder):
    """Every cell in three directions: what fails between Metro's own client and service is not ours to fix."""
    with running(soapstone, keys, folder) as peer:
        for cell in cells():
            name, alone = (f"Metro cannot: {cell.name}", _not_itself) if cell.misunderstood else (_called(cell), itself)
            report.check("metro", name, "metro -> metro", lambda: alone(peer, cell))
        for tls in (False, True):
            routed = [cell for cell in cells() if cell.tls == tls]
            with gateway(peer, routed, "inbound.tls" if tls else "inbound", "inbound", tls) as ours:
                _to_gateway(report, peer, ours, routed)
        routed = [cell for cell in cells() if cell.served]
        with gateway(peer, routed, "outbound", "outbound") as ours:
            for cell in routed:
                name, test = _outbound(cell)
                report.check("metro", name, "soapstone -> metro", lambda: test(peer, ours, cell))
        # Contexts that are renewed live so briefly that they are over by then.
        for cell in (cell for cell in routed if cell.in_conversation and not cell.renew):
            report.check("metro", f"{cell.name}, when the gateway ends", "soapstone -> metro", lambda: _ended(peer, ours, cell))
        known = {cell.name: cell for cell in routed}
        for name in ("asymmetric Basic256", "asymmetric encrypt-sign", "symmetric Basic256", "symmetric derived keys Basic256"):
            report.check("metro", f"{name}, altered", "soapstone -> metro", lambda: _altered(peer, known[name]))
        for ours, theirs in STRANGERS:
            check = lambda: _refused_by_metro(peer, known[theirs], _secured(peer, known[ours]))
            report.check("metro", f"refused: {ours} for {theirs}", "soapstone -> metro", check)
        for ours, theirs in LENIENT:
            check = lambda: _accepted_by_metro(peer, known[theirs], _secured(peer, known[ours]))
            report.check("metro", f"Metro accepts: {ours} for {theirs}", "soapstone -> metro", check)
        check = lambda: _twice(peer, known["asymmetric Basic256"])
        report.check("metro", "Metro accepts: asymmetric Basic256, again", "soapstone -> metro", check)


def _to_gateway(report, peer, ours, routed):
    """Metro's client calls our gateway, obeying its policies, and others."""
    way = "metro -> soapstone"
    for cell in routed:
        address = f"{ours.address}/{cell.path}/echo"
        if cell.tls:
            # On TLS Metro signs nothing but a Timestamp of whole seconds.
            time.sleep(1.1)
        if cell.refused:
            report.check("metro", f"refused: {cell.name}", way, lambda: _refused(peer, ours, cell, cell, cell.refused))
        elif cell.unread:
            name = f"Metro does not understand the answer: {cell.name}"
            report.check("metro", name, way, lambda: _unread(peer, ours, cell))
        else:
            report.check("metro", _called(cell), way, lambda: ours.explain(lambda: peer.call(cell, address)))
        if cell.in_conversation and not cell.refused:
            report.check("metro", f"{cell.name}, contexts", way, lambda: _contexts(ours, cell))
    for theirs, demanded, reason in refusals():
        if demanded.tls == routed[0].tls:
            check = lambda: _refused(peer, ours, theirs, demanded, reason)
            report.check("metro", f"refused: {theirs.name} for {demanded.name}", way, check)


def _called(cell):
    """What a call of Metro's client is called in the report."""
    return f"Metro damages the answer: {cell.name}" if cell.damaged else cell.name


def itself(peer, cell):
    """Metro's client calls Metro's service; conversations are begun once, renewed where they are to be, and ended."""
    peer.serve(cell)
    peer.call(cell, peer.at(cell))
    if cell.in_conversation:
        expected = ["SCT", *[ACTION] * cell.calls, "Cancel"]
        if cell.renew:
            expected.insert(-2, "Renew")
        if peer.actions(cell) != expected:
            raise Failure(f"expected {expected}, found these requests: {peer.actions(cell)}")


def _not_itself(peer, cell):
    """Metro's client and service do not understand each other. Where they do, the cell is to say so."""
    try:
        itself(peer, cell)
    except Failure as failure:
        if cell.misunderstood not in str(failure):
            raise
    else:
        raise Failure(f"expected that Metro does not understand itself: {cell.misunderstood}")


def _contexts(ours, cell):
    """Our gateway made a context for Metro's client, renewed it where it was to be, and forgot it."""
    expected = ["issued", *["renewed"] * cell.renew, "cancelled"]

    def found():
        said = ours.log.read_text(encoding="utf-8").splitlines()
        mine = [line for line in said if f'route="/{cell.path}/echo"' in line and "security context" in line]
        return [line.partition('what="')[2].partition('"')[0] for line in mine]

    if not seen(lambda: found() == expected):
        raise Failure(f"expected {expected}, found {found()}")


def _refused(peer, ours, theirs, demanded, reason):
    """Metro's client fails, and our gateway gives that reason."""
    before = len(ours.warnings())
    result = peer.calling.job(*peer.words(theirs, f"{ours.address}/{demanded.path}/echo", peer.wsdl(theirs)))
    said = ours.says(reason, before)
    if result["exit"] == 0 or f'cause="{reason}"' not in said:
        raise Failure(f"expected the reason {reason}, found {result}\nthe gateway said: {said or 'nothing'}")


def _unread(peer, ours, cell):
    """Our gateway accepts the call of Metro's client, which does not understand the answer. Where it does, the cell is to say so."""
    before = len(ours.warnings())
    result = peer.calling.job(*peer.words(cell, f"{ours.address}/{cell.path}/echo", peer.wsdl(cell)))
    if result["exit"] == 0 or cell.unread not in str(result):
        raise Failure(f"expected {cell.unread}, found {result}")
    if said := ours.warnings()[before:]:
        raise Failure(f"expected a request that is accepted, found {said}")


def _outbound(cell):
    """What the call of Metro's service through our gateway is called in the report, and what tests it."""
    if cell.stranger:
        return f"Metro does not understand: {cell.name}", _stranger
    if cell.unproven:
        return f"refused: the answer under {cell.name}", _unproven
    return cell.name, _from_gateway


def _unproven(_peer, ours, cell):
    """Our gateway refuses what Metro's service answers, and gives that reason."""
    before = len(ours.warnings())
    with contextlib.suppress(Failure):
        _plain_answer(ours, cell)
    said = ours.says(cell.unproven, before)
    if f'cause="{cell.unproven}"' not in said:
        raise Failure(f"expected the reason {cell.unproven}, the gateway said: {said or 'nothing'}")


def _from_gateway(peer, ours, cell):
    """A plain client calls Metro's service through our gateway; conversations are used again, and renewed before they end."""
    before = len(peer.actions(cell)) if cell.in_conversation else 0
    ends = time.monotonic() + (LIFETIME + 1 if cell.renew else 0)
    calls = 0
    while calls < cell.calls or time.monotonic() < ends:
        ours.explain(lambda: same_content(peer.plain_answer(cell.path), content(_plain_answer(ours, cell))))
        calls += 1
        if cell.renew:
            time.sleep(0.5)
    if cell.in_conversation:
        actions = peer.actions(cell)[before:]
        if actions.count("SCT") != 1 or cell.renew and "Renew" not in actions:
            raise Failure(f"expected one context for {calls} calls{', renewed' * cell.renew}, found these requests: {actions}")


def _stranger(_peer, ours, cell):
    """Metro's service does not understand our gateway. Where it does, the cell is to say so."""
    try:
        said = _plain_answer(ours, cell).decode()
    except Failure as failure:
        said = str(failure)
    if cell.stranger not in said:
        raise Failure(f"expected {cell.stranger}, found {said}")


def _request(path):
    """A request of the cell's own. Metro's Timestamps tell whole seconds, and the routes of one gateway share what they remember of
    messages: the same Body within a second is a replay to all of them."""
    return REQUESTS["echo"].replace("more", path)


def _plain_answer(ours, cell):
    request = enveloped(_request(cell.path), envelopes.SOAP12 if cell.soap == "12" else envelopes.SOAP11)
    return cxf.post(f"{ours.address}/{cell.path}/echo", request, ACTION)


def _ended(peer, ours, cell):
    """Our gateway has told Metro's service, which has done it, that it needs the context no more."""
    ended = f'was ended route="/{cell.path}/echo"'
    if peer.actions(cell)[-1] != "Cancel" or not seen(lambda: ended in ours.log.read_text(encoding="utf-8")):
        raise Failure(f"expected a Cancel that is answered at the end, found these requests: {peer.actions(cell)}")


def _secured(peer, cell):
    """A message of ours under the policy of a cell, as Metro describes it."""
    config = peer.folder / f"{cell.path}.client.toml"
    config.write_text(peer.endpoint(cell, "outbound").inline(), encoding="utf-8")
    plain, secured = peer.folder / "plain.xml", peer.folder / f"{cell.path}.secured.xml"
    plain.write_bytes(enveloped(REQUESTS["echo"]))
    must(peer.soapstone, "secure", "--config", config, plain, "-o", secured)
    return secured.read_bytes()


def _altered(peer, cell):
    """Metro's service accepts a message of ours, and refuses it when its Timestamp has changed."""
    message = _secured(peer, cell)
    _accepted_by_metro(peer, cell, message)
    ends = b"Z</wsu:Expires>"
    if message.count(ends) != 1:
        raise Failure("expected one Timestamp that expires")
    _refused_by_metro(peer, cell, message.replace(ends, b"1" + ends))


def _twice(peer, cell):
    """Metro's service accepts a message that it has accepted."""
    message = _secured(peer, cell)
    _accepted_by_metro(peer, cell, message)
    _accepted_by_metro(peer, cell, message)


def _accepted_by_metro(peer, cell, message):
    """Metro's service answers with something that is encrypted."""
    answer = cxf.post(peer.at(cell), message, ACTION)
    if b"EncryptedData" not in answer:
        raise Failure(f"expected a secured answer, found {answer[:300]!r}")


def _refused_by_metro(peer, cell, message):
    """Metro's service answers with a fault."""
    try:
        answer = cxf.post(peer.at(cell), message, ACTION)
    except Failure as failure:
        if "Invalid Security Header" not in str(failure):
            raise
    else:
        raise Failure(f"expected Metro to refuse the message, found {answer[:300]!r}")


def record(soapstone, keys, scratch, folder, moment):
    """Records what Metro's client and service say to each other, with the WSDL and our endpoints, in a folder for each cell."""
    with running(soapstone, keys, scratch / "metro") as peer:
        # What either side does not understand, and messages that disobey their policy, are no
        # examples. Assertions of today would be over.
        agreed = lambda cell: cell.policy and cell.served and not (cell.misunderstood or cell.stranger or cell.refused or cell.asserted)
        for cell in filter(agreed, cells()):
            itself(peer, cell)
            target = folder / cell.path
            shutil.copytree(peer.recorded(cell), target)
            shutil.copy(peer.wsdl(cell), target / "service.wsdl")
            if cell.bootstrap:
                (target / "bootstrap.wsdl").write_bytes(cell.bootstrap_wsdl(peer.plain()))
            for direction, name in (("inbound", "service"), ("outbound", "client")):
                endpoint = peer.endpoint(cell, direction)
                endpoint.tables["security"].update(policy="service.wsdl", time=moment())
                text = endpoint.inline().replace(f"{keys.folder}/", "../keys/")
                (target / f"{name}.toml").write_text(text, encoding="utf-8")
