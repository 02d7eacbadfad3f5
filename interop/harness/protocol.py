"""The protocol of the lab's programs of other stacks: a line of JSON each way, on standard input and output.

The rule kept here: every request gets exactly one line, and nothing else is written to standard output; whatever a stack
installs or says goes to standard error.
"""

import contextlib
import json
import signal
import subprocess
import sys
from dataclasses import dataclass, replace

from .processes import Failure


class Unsupported(Exception):
    """What the stack cannot do, and why: the lab leaves it out and says so."""


@dataclass(frozen=True)
class Call:
    """One call, as the lab asks for it."""

    transport: str
    mechanism: str
    suite: str
    rsa_bits: int
    operation: str
    count: int

    @classmethod
    def read(cls, fields):
        """From the fields of a request."""
        operation, count = _operation(fields["operation"])
        return cls(
            fields.get("transport", "http"), fields["mechanism"], fields.get("suite") or "Basic256",
            fields.get("rsa_bits", 2048), operation, count,
        )  # fmt: skip


    def plain(self):
        """The same without any security."""
        return replace(self, transport="http", mechanism="none")


def check(what, found, known):
    """Says that the stack cannot do it, unless it is known."""
    if found not in known:
        raise Unsupported(f"{what}: expected one of {', '.join(known)}, found {found}")


def _operation(said):
    """`"sum"`, or `{"books": {"books": 100}}`, as a name and a count."""
    if isinstance(said, str):
        return said, 0
    ((name, arguments),) = said.items()
    (count,) = arguments.values()
    return name, count


def main(name, start):
    """Runs the program: `start()` is a context that installs and starts everything, and gives its version and the function
    that answers a request (a dictionary) with a dictionary."""
    # Whoever is told to end, ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as running:
        try:
            version, answer = running.enter_context(start())
        except (Failure, OSError, subprocess.SubprocessError) as error:
            _tell({"absent": str(error)})
            return 1
        _tell({"ready": {"stack": name, "version": version}})
        for line in sys.stdin:
            if line.strip():
                _tell(_answered(answer, line))
    return 0


def _answered(answer, line):
    try:
        return answer(json.loads(line))
    except Unsupported as unsupported:
        return {"unsupported": str(unsupported)}
    except (KeyError, TypeError, ValueError) as error:
        return {"failed": f"request: {type(error).__name__}: {error}: {line.strip()}"}
    except (Failure, OSError) as error:
        return {"failed": str(error)}


def _tell(message):
    print(json.dumps(message), flush=True)
