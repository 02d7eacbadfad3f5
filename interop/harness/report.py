"""Collects what held and what did not, and prints it as a table."""

import json
import sys
import traceback

from .processes import Failure


class Report:
    """Cells (peer, case, direction), each passed or failed with a reason."""

    def __init__(self, cells=()):
        self.cells = list(cells)

    def check(self, peer, case, direction, test):
        """Runs `test`; it passes unless it raises."""
        reason = None
        try:
            test()
        except Failure as failure:
            reason = str(failure)
        except Exception:  # a broken test is a failed cell, and the other cells still run
            reason = traceback.format_exc()
        self.record(peer, case, direction, reason)
        return reason is None

    def record(self, peer, case, direction, reason):
        """Notes a cell; `reason` is None when it passed."""
        self.cells.append({"peer": peer, "case": case, "direction": direction, "passed": reason is None, "reason": reason})
        if reason is not None:
            print(f"FAILED {peer} | {case} | {direction}\n    {reason.strip()}".replace("\n", "\n    "), file=sys.stderr)

    @property
    def failed(self):
        """How many cells do not hold."""
        return sum(not cell["passed"] for cell in self.cells)

    def print(self, as_json):
        """Prints everything, ending with the line `N passed, M failed`."""
        if as_json:
            for cell in self.cells:
                print(json.dumps(cell))
        else:
            for peer in dict.fromkeys(cell["peer"] for cell in self.cells):
                self._print_table(peer)
        print(f"{len(self.cells) - self.failed} passed, {self.failed} failed", flush=True)

    def _print_table(self, peer):
        mine = [cell for cell in self.cells if cell["peer"] == peer]
        directions = list(dict.fromkeys(cell["direction"] for cell in mine))
        cases = list(dict.fromkeys(cell["case"] for cell in mine))
        marks = {(cell["case"], cell["direction"]): "pass" if cell["passed"] else "FAIL" for cell in mine}
        width = max(len(case) for case in [*cases, peer])
        print(f"{peer:{width}}  " + "  ".join(directions))
        for case in cases:
            row = "  ".join(f"{marks.get((case, way), '-'):{len(way)}}" for way in directions)
            print(f"{case:{width}}  {row}".rstrip())
        print()
