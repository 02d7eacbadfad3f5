"""Runs programs to their end, and servers for as long as they are needed.

The rule kept here: whatever is started here is stopped here, also when a test fails.
"""

import contextlib
import shlex
import socket
import subprocess
import threading
import time
from dataclasses import dataclass


class Failure(Exception):
    """A cell of the matrix that does not hold, with the reason to show."""


@dataclass
class Finished:
    """How a program ended."""

    command: list
    status: int
    output: str
    errors: str

    def describe(self):
        """The command and what it said, short enough for a report."""
        said = (self.errors.strip() or self.output.strip() or "(nothing said)")[-1200:]
        return f"exit {self.status}: {shlex.join(map(str, self.command))}\n{said}"


def run(*command, timeout=60, **options):
    """Runs a program to its end, whatever its exit status."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False, **options
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(f"no end after {timeout} s: {shlex.join(command)}") from error
    return Finished(command, done.returncode, done.stdout, done.stderr)


def must(*command, **options):
    """Runs a program that has to succeed."""
    done = run(*command, **options)
    if done.status != 0:
        raise Failure(done.describe())
    return done


def must_refuse(*command, statuses=(2,), **options):
    """Runs a program that has to refuse its input."""
    done = run(*command, **options)
    if done.status not in statuses:
        raise Failure(f"expected a refusal (exit {' or '.join(map(str, statuses))}), found {done.describe()}")
    return done


# Ports that were given out. Peers remember what they once read from an address.
_GIVEN = set()
_GIVING = threading.Lock()


def free_port():
    """A loopback port that nobody listens on, and that was not given out before."""
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        with _GIVING:
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port


@contextlib.contextmanager
def server(name, command, ports, log, **options):
    """Runs a server until the block ends; the block starts when all `ports` accept connections."""
    command = [str(word) for word in command]
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            _await(name, process, ports, log)
            yield process
        finally:
            stop(process)


def stop(process):
    """Tells a process to end, and ends it where it does not."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(name, process, ports, log):
    deadline = time.monotonic() + 60
    waiting = list(ports)
    while waiting:
        if process.poll() is not None or time.monotonic() > deadline:
            ended = f"ended with status {process.returncode}" if process.poll() is not None else "did not listen"
            with open(log, encoding="utf-8", errors="replace") as said:
                raise Failure(f"{name} {ended}; it said:\n{said.read()[-2000:]}")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", waiting[0]), timeout=1).close()
            waiting.pop(0)
            continue
        time.sleep(0.05)


def seen(holds, seconds=10):
    """Whether it holds, at once or within so many seconds: an answer does not wait for the line of the log that tells of it."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
