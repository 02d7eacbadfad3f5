"""Keys from passwords (UsernameToken Profile 1.1.1, 4) with WSS4J: it opens what we secure, we open what it secures, and both refuse."""

import json
from pathlib import Path

from . import envelopes
from .endpoints import Endpoint
from .processes import Failure, must, must_refuse

USER = ("alice", "correct horse battery staple")
MECHANISMS = ("sign", "sign-encrypt", "encrypt-sign")
# How the keys that sign and encrypt are derived from those of passwords: as our files say it, as
# WSS4J's options do, and suites. WSS4J neither writes nor reads keys that the reference itself
# derives.
FORMS = {
    "as they are": ("none", "plain", ("Basic128", "Basic128GCM")),
    "derived": ("explicit", "derived", ("Basic128GCM", "Basic256", "Basic256Sha256", "Basic256GCM", "TripleDes")),
}


class Case:
    """One combination, as our endpoint files and as WSS4J's options say it."""

    def __init__(self, mechanism, form, suite, soap=envelopes.SOAP11, **security):
        self.mechanism, self.suite, self.soap, self.security = mechanism, suite, soap, security
        self.ours, self.theirs, _ = FORMS[form]

    def endpoint(self, folder, user=USER, **bounds):
        """Our endpoint file, which is one for both directions."""
        keys = {"derived": self.ours, **bounds}
        return Endpoint(self.mechanism, suite=self.suite, password_keys=keys, **self.security).user(*user).write(folder)

    def options(self, user=USER, iterations=1000):
        """WSS4J's options, which are the same for both directions."""
        options = ["--mechanism", self.mechanism, "--suite", self.suite, "--user", user[0], "--password", user[1]]
        options += ["--signed", "Body,Timestamp,UsernameToken", "--iterations", str(iterations)]
        return [*options, "--password-keys", self.theirs]

    @property
    def is_read(self):
        """WSS4J deciphers GCM with no key that is longer than AES wants: it takes the first bytes of one for CBC alone."""
        return self.theirs == "derived" or self.mechanism == "sign" or not self.suite.endswith("GCM")


def cases():
    """Every case by its name."""
    for form, (_, _, suites) in FORMS.items():
        for mechanism in MECHANISMS:
            for suite in suites:
                yield f"{mechanism} {suite}, keys from passwords, {form}", Case(mechanism, form, suite)
    for form in ("as they are", "derived"):
        case = Case("sign-encrypt", form, "Basic128GCM", soap=envelopes.SOAP12)
        yield f"sign-encrypt Basic128GCM, keys from passwords, {form}, SOAP 1.2", case


def run(report, soapstone, folder, peer):
    """Every case, both ways where WSS4J reads it; a renamed message is refused each time. Then what has to be refused."""
    folder = Path(folder)
    for number, (name, case) in enumerate(cases()):
        plain = folder / f"password-{number:03}.plain.xml"
        plain.write_bytes(envelopes.books(5, case.soap))
        if case.is_read:
            report.check("wss4j", name, "soapstone -> wss4j", lambda: _to_wss4j(case, peer, soapstone, folder, plain))
        report.check("wss4j", name, "wss4j -> soapstone", lambda: _from_wss4j(case, peer, soapstone, folder, plain))
    plain = folder / "password-refused.plain.xml"
    plain.write_bytes(envelopes.books(5))
    for name, sent, demanded, reason in refusals():
        test = lambda: _refused(sent, demanded, reason, peer, soapstone, folder, plain)
        report.check("wss4j", f"refused: {name}", "wss4j -> soapstone", test)
    report.check("wss4j", "refused: another password", "soapstone -> wss4j", lambda: _another_password(peer, soapstone, folder, plain))


def refusals():
    """What WSS4J sends, what our endpoint demands, and the reason that we give."""
    plain = Case("sign", "as they are", "Basic128GCM")
    derived = Case("sign", "derived", "Basic128GCM")
    guess = (USER[0], "another password")
    yield "another password", plain.options(guess), (plain, {}), "authentication-failed"
    yield "another user", plain.options(("malice", USER[1])), (plain, {}), "authentication-failed"
    yield "few iterations", plain.options(), (plain, {"least": 1001}), "key-misused"
    yield "many iterations", plain.options(iterations=10000), (plain, {"most": 9999, "iterations": 1000}), "too-many"
    yield "a key as it is where derived ones are demanded", plain.options(), (derived, {}), "key-not-derived"
    yield "a derived key where none is demanded", derived.options(), (plain, {}), "element-unexpected"
    unsigned = [*plain.options(), "--signed", "Body,Timestamp"]
    yield "a token that is not signed", unsigned, (plain, {}), "unsigned"


def _to_wss4j(case, peer, soapstone, folder, plain):
    secured, opened = plain.with_suffix(".ours"), plain.with_suffix(".ours-opened")
    must(soapstone, "secure", "--config", case.endpoint(folder), plain, "-o", secured)
    peer.must("open", *case.options(), secured, opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    peer.must_refuse("open", *case.options(), _renamed(secured), opened)


def _from_wss4j(case, peer, soapstone, folder, plain):
    secured, opened = plain.with_suffix(".theirs"), plain.with_suffix(".theirs-opened")
    peer.must("secure", *case.options(), plain, secured)
    endpoint = case.endpoint(folder)
    must(soapstone, "open", "--config", endpoint, secured, "-o", opened)
    envelopes.same_body(plain.read_bytes(), opened.read_bytes())
    must_refuse(soapstone, "open", "--config", endpoint, _renamed(secured))


def _renamed(secured):
    """The message with another user in every token."""
    path = secured.with_name(secured.name + "-renamed")
    message = secured.read_bytes()
    if b">alice<" not in message:
        raise Failure(f"no token of alice in {secured}")
    path.write_bytes(message.replace(b">alice<", b">malice<"))
    return path


def _refused(options, demanded, reason, peer, soapstone, folder, plain):
    secured = plain.with_suffix(".theirs")
    peer.must("secure", *options, plain, secured)
    case, bounds = demanded
    verdict = json.loads(must_refuse(soapstone, "open", "--json", "--config", case.endpoint(folder, **bounds), secured).output)
    if verdict["reason"] != reason:
        raise Failure(f"expected the reason {reason}, found {verdict}")


def _another_password(peer, soapstone, folder, plain):
    case, secured = Case("sign", "derived", "Basic256GCM"), plain.with_suffix(".ours")
    must(soapstone, "secure", "--config", case.endpoint(folder), plain, "-o", secured)
    peer.must_refuse("open", *case.options((USER[0], "another password")), secured, plain.with_suffix(".ours-opened"))
