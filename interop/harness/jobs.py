"""A program that waits for jobs: a line of words for each, a line of JSON back, so that a matrix costs one start of a JVM."""

import contextlib
import json
import subprocess

from .processes import Failure


class Program:
    """The program, waiting."""

    def __init__(self, name, process):
        self.name, self.process = name, process

    def job(self, *words):
        """Runs one job; its result."""
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"the {self.name} program ended with status {self.process.wait(10)}")
        return json.loads(line)

    def must(self, *words):
        """Runs a job that has to succeed; its result."""
        result = self.job(*words)
        if result["exit"] != 0:
            raise Failure(f"{self.name}, exit {result['exit']}: {result['reason']}\n{' '.join(map(str, words))}")
        return result

    def must_refuse(self, *words):
        """Runs a job whose input has to be refused."""
        result = self.job(*words)
        if result["exit"] != 2:
            raise Failure(f"{self.name} was expected to refuse, found {result}\n{' '.join(map(str, words))}")


def running(name, jar, log, options=()):
    """A Java program, for as long as the block runs."""
    return program(name, ["java", *options, "-jar", jar, "--jobs", "-"], log)


@contextlib.contextmanager
def program(name, command, log, **options):
    """The program, for as long as the block runs; what it says beside its answers goes to `log`."""
    with open(log, "wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, **options)
    try:
        yield Program(name, process)
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
