"""Apache CXF for the lab: a service JVM and a client JVM over loopback TCP, secured by WS-SecurityPolicy.

Speaks the protocol of interop/README.md on standard input and output. The services and the client's interfaces are generated
from the contract of the sample services; a mechanism is a policy in the WSDL, as in the matrix of live peers. The rule kept
here: every release of CXF runs the same sources and gets the same words.
"""

import argparse
import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import cxf, installing, jobs, payloads, policies, protocol, samples, wss4j
from .assertions import supporting, transport, username
from .keys import Keys
from .processes import free_port

MECHANISMS = ["none", "username", *policies.MECHANISMS]
SUITES = [*wss4j.SUITES, *wss4j.OTHER_SUITES]
DIGEST = username("<sp:HashPassword/>")
TIMEOUT_SECONDS = 300


def main(name):
    """The command line of the program of that name, which is the name of its folder and of its target, too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--heap", default=os.environ.get("SOAPSTONE_STACK_HEAP", "1g"),
        help="heap of the service's JVM, as -Xmx takes it (default: SOAPSTONE_STACK_HEAP, or 1g)",
    )  # fmt: skip
    parser.add_argument(
        "--warm-up", type=float, default=float(os.environ.get("SOAPSTONE_STACK_WARM_UP", "1.5")),
        help="seconds of calls before the first that counts, of each mechanism with each operation (SOAPSTONE_STACK_WARM_UP, or 1.5)",
    )  # fmt: skip
    arguments = parser.parse_args()
    return protocol.main(name, lambda: started(name, arguments))


@contextlib.contextmanager
def started(name, arguments):
    """Both JVMs, for as long as the block runs."""
    installing.java()
    installing.debian("openssl", "make")
    installing.build(name)
    jar = installing.INTEROP / name / "target" / f"{name}-peer.jar"
    recorded = payloads.folder()
    folder = Path(tempfile.mkdtemp(prefix=f"soapstone-{name}-"))
    java = [f"-Djava.io.tmpdir={folder}"]
    try:
        running, controller = payloads.controller(folder / "controller.log")
        with (
            running,
            jobs.running("CXF service", jar, folder / "serving.log", [f"-Xmx{arguments.heap}", *java]) as serving,
            jobs.running("CXF client", jar, folder / "calling.log", ["-Xmx1g", *java]) as calling,
        ):
            version = f"{calling.must('versions')['version']}, heap of the service {arguments.heap}"
            yield version, Program(serving, calling, folder, recorded, controller, arguments.warm_up).answer
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True)
class Deployment:
    """A service under a policy at an address, and the words that both JVMs need to hear about it."""

    address: str
    words: tuple
    key_words: dict

    def serve(self):
        """The job of the service's JVM."""
        return ["serve", *self.words, *self.key_words["server"]]

    def client(self, job, call, *options):
        """A job of the client's JVM."""
        return [job, *self.words, *self.key_words["client"], "--operation", call.operation, "--count", call.count, *options]


@dataclass
class Program:
    """What has been deployed so far, and the answers to requests."""

    serving: jobs.Program
    calling: jobs.Program
    folder: Path
    recorded: Path
    controller: str
    warm_up: float
    deployments: dict = field(default_factory=dict)
    warm: set = field(default_factory=set)
    ports: dict = field(default_factory=dict)
    keys: dict = field(default_factory=dict)
    deployed: int = 0

    def answer(self, request):
        """The answer to one request."""
        verb, call = request["do"], protocol.Call.read(request["call"])
        check(call)
        if verb == "call":
            return self.measure(call)
        if verb == "together":
            return self.measure(call, "--clients", request["clients"], "--requests", request["requests"])
        if verb == "paced":
            return self.measure(call, "--per-second", request["per_second"], "--seconds", request["seconds"])
        if verb == "weigh":
            return {"plain": self.weigh(call.plain()), "secured": self.weigh(call)}
        if verb == "fresh":
            return self.fresh(call, request["requests"])
        if verb == "newcomer":
            return self.newcomer(call)
        if verb == "part":
            return {"parted": self.calling.must(*self.deployment(call).client("part", call))["parted"]}
        raise protocol.Unsupported(f"do: expected call, weigh, together, paced, fresh, newcomer or part, found {verb}")

    def measure(self, call, *options):
        """Calls a service that is there, or deployed now; warmed up before the first time."""
        deployment = self.deployment(call)
        kind = (deployment.address, call.operation)
        warm_up = 0 if kind in self.warm else self.warm_up
        found = self.calling.must(*deployment.client("measure", call, "--warm-up", warm_up, *options))
        self.warm.add(kind)
        return {"us": found["us"]}

    def weigh(self, call):
        """Octets of the messages of a call."""
        return self.calling.must(*self.deployment(call).client("weigh", call))["octets"]

    def fresh(self, call, requests):
        """Calls of a new client to a service that has just been deployed anew; both JVMs are warm, by another one like it."""
        if (self.deployment(call).address, call.operation) not in self.warm:
            self.measure(call)
        anew = self.deploy(call)
        try:
            found = self.calling.must(*anew.client("measure", call, "--requests", requests, "--first", "true"))
            self.calling.must("leave", "--address", anew.address)
            return {"us": found["us"]}
        finally:
            self.serving.must("withdraw", "--address", anew.address)

    def newcomer(self, call):
        """The first call of a client that is new, to a service that is there; both JVMs are warm."""
        deployment = self.deployment(call)
        if (deployment.address, call.operation) not in self.warm:
            self.measure(call)
        # Clients are kept by address: one that is new has to find them gone.
        self.calling.must("leave", "--address", deployment.address)
        return {"us": self.calling.must(*deployment.client("measure", call, "--first", "true"))["us"]}

    def deployment(self, call):
        """Where the call's service is served as the call wants it."""
        kind = (call.transport, call.mechanism, call.suite, call.rsa_bits, call.operation)
        if kind not in self.deployments:
            self.deployments[kind] = self.deploy(call)
        return self.deployments[kind]

    def deploy(self, call):
        """Serves a service under the call's policy, at a new address."""
        self.deployed += 1
        contract, name = samples.SERVICES[call.operation]
        wsdl = self.folder / f"{self.deployed}.wsdl"
        wsdl.write_bytes(policies.Cell(name, *assertions(call)).wsdl(samples.plain(contract)))
        # Each size of keys has a port of its own, as its TLS has a certificate of its own.
        where = (call.transport, call.rsa_bits if call.transport == "https" else 0)
        port = self.ports.setdefault(where, free_port())
        address = f"{call.transport}://127.0.0.1:{port}/{self.deployed}"
        words = (
            "--address", address, "--wsdl", wsdl, *samples.names(call.operation),
            "--payloads", self.recorded, "--controller", self.controller, "--timeout", TIMEOUT_SECONDS,
        )  # fmt: skip
        if call.rsa_bits not in self.keys:
            self.keys[call.rsa_bits] = Keys(self.folder / f"keys{call.rsa_bits}", ("client", "server"), call.rsa_bits)
        keys = self.keys[call.rsa_bits]
        key_words = {ours: cxf.security(keys, ours, theirs) for ours, theirs in (("client", "server"), ("server", "client"))}
        deployment = Deployment(address, words, key_words)
        self.serving.must(*deployment.serve())
        return deployment


def check(call):
    """Fails on what CXF, or this program, does not have."""
    protocol.check("operation", call.operation, samples.SERVICES)
    protocol.check("mechanism", call.mechanism, MECHANISMS)
    protocol.check("suite", call.suite, SUITES)
    protocol.check("transport", call.transport, ("http", "https"))


def assertions(call):
    """The policies of endpoint and messages."""
    if call.mechanism == "none":
        return "", ""
    if call.mechanism != "username":
        return policies.mechanism_assertions(call.mechanism, call.suite)
    if call.transport == "https":
        return transport(call.suite) + supporting("SignedSupportingTokens", DIGEST), ""
    return supporting("SupportingTokens", DIGEST), ""
