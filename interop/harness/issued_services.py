"""Services of CXF 3.5.10 whose policies want an assertion of our token service, which our outbound gateway asks for.

A plain request goes to an outbound gateway. It obeys the policy of the service, and asks another gateway, which is a
token service, for the assertion.
"""

import contextlib
import subprocess
from pathlib import Path

from .assertions import asymmetric, both, protected_by, supporting, transport, trust13, wss10, wss11
from .cxf import REQUESTS, content, enveloped, post, read, same_content, security
from .endpoints import Endpoint
from .policies import RSA_SHA256, self_contained
from .processes import Failure, free_port, server
from .token_requests import AUDIENCE, ISSUER, JAR, NEXT, READING, SUITE, VERSIONS, Use, endorsing_uses, token_service

DIRECTION = "soapstone -> cxf"
ECHO = "{urn:soapstone:services:echo}"


def uses():
    """What the assertions are good for."""
    holder = {"confirmation": ["holder-of-key"]}
    for version in VERSIONS:
        signing = lambda token: asymmetric(SUITE, initiator=token) + wss10()
        yield Use(version, "that signs", "signed", "PublicKey", signing, holder, both())
        protecting = lambda token: protected_by(SUITE, token) + wss11() + trust13()
        for derived, told in ((False, ""), (True, " by derived keys")):
            yield Use(version, f"that protects{told}", "signed", "SymmetricKey", protecting, holder, both(), derived)
        for binding, told, message in ((transport(SUITE), "on TLS", ""), (asymmetric(SUITE) + wss10(), "beside certificates", both())):
            endorsing = lambda token, binding=binding: binding + trust13() + supporting("EndorsingSupportingTokens", token)
            yield Use(version, f"that endorses {told}", "signed", "PublicKey", endorsing, holder, message)
        yield from endorsing_uses(version, "signed")


def run(report, soapstone, keys, folder):
    """Every use."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokens, outbound, port, secure, echo = (free_port() for _ in range(5))
    with contextlib.ExitStack() as stack:
        serving = [soapstone, "services", "--listen", f"127.0.0.1:{echo}"]
        stack.enter_context(server("services", serving, [echo], folder / "services.log"))
        plain = self_contained(read, f"http://127.0.0.1:{echo}/echo")
        for use in uses():
            (folder / f"{use.path}.wsdl").write_bytes(use.wsdl(plain))
        names, secure_names = (",".join(use.path for use in uses() if use.tls == tls) for tls in (False, True))
        options = ["--port", port, "--names", names, "--secure-port", secure, "--secure-names", secure_names]
        options += ["--folder", folder, "--service", f"{ECHO}EchoService"]
        options += ["--endpoint", f"{ECHO}EchoSoap11Port", *security(keys, "server", "client"), "--signature", RSA_SHA256]
        command = ["java", "-cp", JAR, "soapstone.interop.IssuedPeer", *options]
        stack.enter_context(server("cxf", command, [port, secure], folder / "cxf.log", stdin=subprocess.PIPE))
        at = {False: f"http://127.0.0.1:{port}", True: f"https://127.0.0.1:{secure}"}
        addresses = [f"{at[use.tls]}/{use.path}" for use in uses()]
        issuing = [
            f'listen = "127.0.0.1:{tokens}"\n',
            f'[tls]\ncertificate = "{keys.certificate("server")}"\nkey = "{keys.key("server")}"\n',
            token_service("signed", [AUDIENCE, NEXT, *addresses], keys, folder),
        ]
        asking = [f'listen = "127.0.0.1:{outbound}"\n']
        service = f"https://127.0.0.1:{tokens}/signed"
        asking += [
            route(use, folder / f"{use.path}.wsdl", address, service, keys, folder) for use, address in zip(uses(), addresses, strict=True)
        ]
        log = folder / "outbound.log"
        for name, listening, sections in (("tokens", tokens, issuing), ("outbound", outbound, asking)):
            file = folder / f"{name}.toml"
            file.write_text("\n".join(sections), encoding="utf-8")
            stack.enter_context(server(name, [soapstone, "gateway", "--config", file], [listening], folder / f"{name}.log"))
        for use in uses():
            report.check("sts", f"our token service, {use}", DIRECTION, lambda: _called(f"http://127.0.0.1:{outbound}/{use.path}", log))


def route(use, wsdl, address, tokens, keys, folder, reading=READING, ours=None):
    """The route to a service under that WSDL, whose assertions come from the token service that signatures tell who asks."""
    towards = Endpoint(policy=str(folder / "signed.wsdl"), **reading).ours(keys, "client")
    towards.encrypt_to(keys, "server").trust(keys.ca)
    service = {"url": tokens, "applies_to": address, "version": use.version, "soap": "1.1"}
    service |= {"tls": {"ca": [str(keys.ca)]}, "endpoint": towards.tables}
    endpoint = Endpoint(policy=str(wsdl), **reading, **(ours or {}))
    if use.certificates:
        endpoint.ours(keys, "client").encrypt_to(keys, "server").trust(keys.ca)
    issuers = [{"name": ISSUER, "pinned": [str(keys.certificate("approver"))]}]
    endpoint.tables["saml"] = {**use.saml, "versions": [use.version], "issuers": issuers, "token_service": service}
    tls = f'tls = {{ ca = ["{keys.ca}"] }}\n' if use.tls else ""
    return f'[[routes]]\npath = "/{use.path}"\nbackend = "{address}"\n{tls}[routes.outbound]\n{endpoint.inline()}'


def _called(address, log):
    """Two requests, of which the second has the assertion of the first."""
    before = len(log.read_text(encoding="utf-8"))
    request = enveloped(REQUESTS["echo"])
    for _ in range(2):
        try:
            answer = post(address, request)
        except Failure as failure:
            said = log.read_text(encoding="utf-8")[before:]
            raise Failure(f"{failure}\nthe gateway said: {said}") from failure
        same_content(content(request), content(answer))
