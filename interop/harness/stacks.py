"""The lab's programs of other stacks: asks each everything once, and checks the shape and the sense of its answers."""

import contextlib
import json
import os
import subprocess
from dataclasses import dataclass

from . import installing
from .processes import Failure

FOLDER = installing.INTEROP / "stacks"
ECHO = {"echo": {"characters": 12}}
OPERATIONS = [ECHO, {"strings": {"elements": 20}}, {"books": {"books": 30}}, "sum", "employees", "employee", "temperature"]
SIGNED_AND_ENCRYPTED = ["sign", "encrypt", "sign-encrypt"]
# What each program has to do with calls, and with which suites beside Basic256.
CALLS = {
    "cxf": (
        ["none", "username", *SIGNED_AND_ENCRYPTED, "encrypt-sign", "secure-conversation"],
        ["Basic128", "TripleDes", "TripleDesRsa15", "Basic256Sha256", "Basic128GCM", "Basic256GCM"],
    ),
    "gsoap": (
        ["none", "username", "username-text", "username-hmac", "username-text-hmac", "sign-hmac", "sign-dsa", *SIGNED_AND_ENCRYPTED],
        ["Basic128", "TripleDes", "TripleDesRsa15", "Basic128GCM", "Basic256GCM"],
    ),
    "metro": (
        ["none", "username", "username-text", *SIGNED_AND_ENCRYPTED, "encrypt-sign", "secure-conversation"],
        ["Basic128", "TripleDes", "TripleDesRsa15", "Basic256Sha256", "Basic128Rsa15", "Basic192", "TripleDesSha256"],
    ),
    "wcf": (["none", "sign-encrypt"], ["Basic128", "Basic192", "Basic256Rsa15", "Basic256Sha256", "Basic128Sha256"]),
}
# The same sources, with another release.
CALLS["cxf-3.5"] = CALLS["cxf"]
# What of that a program says it cannot do: transports of mechanisms, operations, suites.
CANNOT = {
    "metro": {("http", "username"), ("http", "username-text"), "Basic128GCM"},
    "wcf": {("https", "none"), ("https", "sign-encrypt"), "strings", "employee", "temperature", "TripleDes", "Basic128GCM"},
}
# What each program has to do in memory: mechanisms and suites.
IN_MEMORY = {
    "gsoap": [(mechanism, "Basic256") for mechanism in CALLS["gsoap"][0]],
    "wss4j": [
        *((mechanism, "Basic256") for mechanism in ("none", "username", "username-text", *CALLS["cxf"][0][2:])),
        *(("sign-encrypt", suite) for suite in CALLS["cxf"][1]),
    ],
    "xmlsec1": [
        *((mechanism, "Basic256") for mechanism in ("none", *SIGNED_AND_ENCRYPTED, "encrypt-sign")),
        *(("sign-encrypt", suite) for suite in (*CALLS["cxf"][1], "HmacSha256Aes256Cbc")),
    ],
}
PROGRAMS = list(dict.fromkeys([*CALLS, *IN_MEMORY]))


@dataclass
class Program:
    """A program that has said it is ready."""

    process: subprocess.Popen

    def ask(self, **request):
        """The answer to a request."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.line()

    def line(self):
        """The next line it says."""
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"it ended with status {self.process.wait(60)}, without an answer")
        return json.loads(line)


def run(report, soapstone, _keys, _folder):
    """Every program, as a peer of the matrix; what they serve is recorded from our program under test."""
    os.environ["SOAPSTONE_PROGRAM"] = str(soapstone)
    # What is slow is right all the same.
    os.environ["SOAPSTONE_STACK_WARM_UP"] = "0"
    for name in PROGRAMS:
        check(report, name)


def check(report, name):
    """One program."""
    installing.say(f"{name} for the lab …")
    report.check(name, "ends with its input", "asked", lambda: everything(report, name))


def everything(report, name):
    """Starts a program, asks it everything, and lets it end."""
    with running(name) as program:
        if name in CALLS:
            calls(report, name, program)
        if name in IN_MEMORY:
            in_memory(report, name, program)
        program.process.stdin.close()
        if program.process.wait(60) != 0:
            raise Failure(f"it ended with status {program.process.returncode}")


@contextlib.contextmanager
def running(name):
    """The program; a failure if it is absent."""
    process = subprocess.Popen([FOLDER / name / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        program = Program(process)
        said = program.line()
        if "absent" in said:
            raise Failure(f"ABSENT: {said['absent']}")
        if said.get("ready", {}).get("stack") != name or not said["ready"].get("version"):
            raise Failure(f"expected to hear that {name} is ready, in which version, found {said}")
        yield program
    finally:
        process.terminate()
        process.wait(60)


def calls(report, name, program):
    """Every mechanism over both transports, every suite, size of keys and operation, and every verb."""
    mechanisms, suites = CALLS[name]
    cannot = CANNOT.get(name, set())
    # Where there is a choice, with TLS.
    weak = "http" if ("https", "sign-encrypt") in cannot else "https"

    def check(case, test):
        report.check(name, case, "asked", test)

    for transport in ("http", "https"):
        for mechanism in mechanisms:
            asking = lambda: program.ask(do="call", call=call(mechanism, transport))
            if (transport, mechanism) in cannot:
                check(f"cannot call {transport} {mechanism}", lambda: unsupported(asking()))
            else:
                check(f"call {transport} {mechanism}", lambda: timed(asking(), 1))
    for suite in suites:
        check(f"call {suite}", lambda: timed(program.ask(do="call", call=call("sign-encrypt", suite=suite)), 1))
    for suite in ("Basic128GCM", "TripleDes"):
        if suite in cannot:
            check(f"cannot call {suite}", lambda: unsupported(program.ask(do="call", call=call("sign-encrypt", suite=suite))))
    check("call, RSA of 1024 bits", lambda: timed(program.ask(do="call", call=call("sign-encrypt", weak, rsa_bits=1024)), 1))
    for operation in OPERATIONS:
        for mechanism in ("none", "sign-encrypt"):
            asking = lambda: program.ask(do="weigh", call=call(mechanism, operation=operation))
            if (operation if isinstance(operation, str) else next(iter(operation))) in cannot:
                check(f"cannot weigh {json.dumps(operation)} {mechanism}", lambda: unsupported(asking()))
            else:
                check(f"weigh {json.dumps(operation)} {mechanism}", lambda: weighed(asking(), mechanism != "none"))
    both = call("sign-encrypt")
    check("together", lambda: timed(program.ask(do="together", call=both, clients=3, requests=2), 6))
    check("paced", lambda: timed(program.ask(do="paced", call=both, per_second=20.0, seconds=0.25), 5))
    check("fresh", lambda: timed(program.ask(do="fresh", call=both, requests=3), 3))
    check("newcomer", lambda: timed(program.ask(do="newcomer", call=both), 1))
    if "secure-conversation" in mechanisms:
        check("part", lambda: parted(program, call("secure-conversation")))
    check("call again", lambda: timed(program.ask(do="call", call=both), 1))
    check("unknown mechanism", lambda: unsupported(program.ask(do="call", call=call("incantation"))))
    check("unknown verb", lambda: unsupported(program.ask(do="guess", call=both)))
    check("incomplete request", lambda: failed(program.ask(do="call")))


def in_memory(report, name, program):
    """Both operations with every mechanism and suite."""
    for mechanism, suite in IN_MEMORY[name]:
        for verb in ("secure", "open"):
            for payload, items in (("echo", 100), ("books", 5)):
                asking = lambda: timed(
                    program.ask(
                        do=verb, mechanism=mechanism, suite=suite, rsa_bits=2048, payload=payload, items=items, repetitions=3
                    ),
                    3,
                )
                report.check(name, f"{mechanism} {suite} {payload}", verb, asking)
    answer = lambda: program.ask(do="secure", mechanism="incantation", suite="Basic256", payload="echo", items=1, repetitions=1)
    report.check(name, "unknown mechanism in memory", "secure", lambda: unsupported(answer()))


def call(mechanism, transport="http", suite="Basic256", rsa_bits=2048, operation=ECHO):
    """A call as the lab writes it."""
    return {"transport": transport, "mechanism": mechanism, "suite": suite, "rsa_bits": rsa_bits, "operation": operation}


def timed(answer, count):
    """So many times, all of them more than nothing and less than a minute."""
    times = answer.get("us")
    if times is None or len(times) != count or not all(0 < time < 60e6 for time in times):
        raise Failure(f"expected {count} times, found {answer}")


def parted(program, conversing):
    """A conversation that is there is ended, and another is begun by the next call."""
    for conversations in (1, 0):
        answer = program.ask(do="part", call=conversing)
        if answer != {"parted": conversations}:
            raise Failure(f"expected to part {conversations} conversations, found {answer}")
    timed(program.ask(do="call", call=conversing), 1)
    answer = program.ask(do="part", call=conversing)
    if answer != {"parted": 1}:
        raise Failure(f"expected another conversation, found {answer}")


def weighed(answer, secured):
    """Octets, and more of them where security is added."""
    if not 0 < answer.get("plain", 0) <= answer.get("secured", 0) or (answer["plain"] < answer["secured"]) != secured:
        raise Failure(f"expected plain and secured sizes, {'different' if secured else 'the same'}, found {answer}")


def unsupported(answer):
    """The stack says that it cannot do it, and why."""
    if not answer.get("unsupported"):
        raise Failure(f"expected unsupported with a reason, found {answer}")


def failed(answer):
    """The request was wrong, and the program goes on."""
    if not answer.get("failed"):
        raise Failure(f"expected failed with a reason, found {answer}")

