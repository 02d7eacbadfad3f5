"""The samples of `soapstone lint`'s rules of the Basic Security Profile, written out: crates/lint/tests/samples.

Words in braces mean what crates/lint/tests/samples.rs says: it is the one place that defines them.
"""

import re

from .installing import INTEROP
from .processes import Failure

DIFFERENCES = INTEROP / "wss4j" / "bsp-rules.txt"
TESTS = INTEROP.parent / "crates" / "lint" / "tests"
PAIR = re.compile(r'\(\s*"(\{[^"]+\})",\s*"((?:[^"\\]|\\.)*)",?\s*\)')
SLOT = re.compile(r"\[\[\w+\]\]")
SIGNED = re.compile(r"\{sig:([^}]*)\}")
REFERENCE = (
    '<ds:Reference URI="{uri}"><ds:Transforms><ds:Transform Algorithm="{{exc}}"/></ds:Transforms>{{digest}}</ds:Reference>'
)


class Sample:
    """A rule, the message that keeps it and the one that breaks it, and the rules that each breaks."""

    def __init__(self, line, samples):
        self.rule, kept, breaking, besides, still = line.split(" | ")
        self.kept, self.breaking = samples.changed(kept), samples.changed(breaking)
        self.broken = {self.rule} | {word for word in besides.split() if word != "-"}
        self.still = {word for word in still.split() if word != "-"}


class Samples:
    """All of them."""

    def __init__(self):
        self.words = [(word, meaning.replace('\\"', '"')) for word, meaning in PAIR.findall((TESTS / "samples.rs").read_text())]
        self.base = (TESTS / "samples" / "base.xml").read_text()
        lines = (TESTS / "samples" / "bsp.txt").read_text().splitlines()
        self.all = [Sample(line, self) for line in lines if not line.startswith("#")]

    def changed(self, change):
        """The base with a change, all words written out."""
        message = self.base
        for one in change.split(" && "):
            if one != "-":
                old, new = one.split(" =>", 1)
                if old not in message:
                    raise ValueError(f"the base does not hold {old}")
                message = message.replace(old, new.removeprefix(" "), 1)
        message = SIGNED.sub(lambda found: REFERENCE.format(uri=found[1]), SLOT.sub("", message))
        for word, meaning in self.words:
            message = message.replace(word, meaning)
        if "{" in message:
            raise ValueError(f"a word without a meaning: {message}")
        return message


def run(report, folder, wss4j):
    """WSS4J finds the rules broken that `soapstone lint` finds, or other ones that a line with its reason names.

    `cargo test -p soapstone-lint --test samples` holds `soapstone lint` to the same columns.
    """
    lines = [line.split(" | ") for line in DIFFERENCES.read_text().splitlines() if not line.startswith("#")]
    differences = {rule: (_rules(broken), _rules(still)) for rule, broken, still, _ in lines}
    samples = Samples().all
    report.check("wss4j", "BSP: every listed rule has its sample", "samples -> wss4j", lambda: _known(differences, samples))
    for sample in samples:
        test = lambda: _judged(sample, differences.get(sample.rule), folder, wss4j)
        report.check("wss4j", f"BSP: {sample.rule}", "samples -> wss4j", test)


def _rules(column):
    return {word for word in column.split() if word != "-"}


def _known(differences, samples):
    unknown = set(differences) - {sample.rule for sample in samples}
    if unknown:
        raise Failure(f"{DIFFERENCES.name} lists rules without a sample: {sorted(unknown)}")


def _judged(sample, difference, folder, wss4j):
    ours = (sample.broken, sample.still)
    if difference == ours:
        raise Failure(f"{DIFFERENCES.name} lists {sample.rule}, and both find the same")
    found = tuple(_found(message, folder / f"{sample.rule}.xml", wss4j) for message in (sample.breaking, sample.kept))
    if found != (difference or ours):
        raise Failure(f"{sample.rule}: expected {difference or ours} of the messages that break and keep it, found {found}")


def _found(message, file, wss4j):
    file.write_text(message)
    result = wss4j.job("judge", file)
    if result["exit"] == 2:
        return {"refused"}
    if result["exit"] != 0:
        raise Failure(f"WSS4J judged nothing: {result}")
    return set(result["rules"])
