"""The random walk of walk.py over both kinds of FMU at once: the same calls, and what they answer is compared.

    python pair.py NATIVE.fmu PYTHON.fmu CALLS SEED

After each call statuses, values to the bit, bytes of states and messages (without tracebacks) must be the same.
Variables are those that both have.  Exit code 0 if all was so; otherwise it says what was different.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from fmpy.fmi1 import FMICallException
from walk import Walk

from fmu_export.host import OK, Instance, Unpacked

# Functions whose first argument, or first and second, are references.
REFERRING = {
    **{f"{verb}{kind}": 1 for verb in ("get", "set") for kind in ("Real", "Integer", "Boolean", "String")},
    **{"getRealOutputDerivatives": 1, "setRealInputDerivatives": 1, "getDirectionalDerivative": 2},
}


class Both:
    """Two instances as one, with the references of the first."""

    def __init__(self, native: Instance, python: Instance) -> None:
        self._both, self.different = (native, python), list[str]()
        self.description = native.description
        by_name = {v.name: v.valueReference for v in python.description.modelVariables}
        own = native.description.modelVariables
        shared = [v for v in own if v.name in by_name]
        assert [v.valueReference for v in shared] == list(range(len(shared)))
        self.shared = len(shared)
        self.beyond = max(len(own), len(by_name))
        self._others = [by_name[v.name] for v in shared]

    def _translated(self, function: str, which: int, arguments: Sequence[Any]) -> list[Any]:
        out = []
        for k, each in enumerate(arguments):
            if isinstance(each, tuple) and len(each) == 2:
                out.append(each[which])
            elif which == 1 and k < REFERRING.get(function, 0):
                out.append([self._others[r] if r < self.shared else r for r in each])
            else:
                out.append(each)
        return out

    def _said(self, which: int, text: str) -> str:
        """Return a message without its traceback, and with the references of the first."""
        text = text.partition("\nTraceback (")[0]
        return re.sub(r"(?<=valueReference )\d+", lambda found: self._own(int(found[0])), text) if which else text

    def _own(self, reference: int) -> str:
        return str(self._others.index(reference) if reference in self._others else reference)

    def __getattr__(self, function: str) -> Any:
        def call(*arguments: Any) -> Any:
            answers = []
            for which, fmu in enumerate(self._both):
                before, found, status = len(fmu.messages), None, OK
                try:
                    found = getattr(fmu, function)(*self._translated(function, which, arguments))
                except FMICallException as error:
                    status = int(error.status)
                said = [(s, c, self._said(which, text)) for s, c, text in fmu.messages[before:]]
                answers.append((status, found, said))
            (status, found, said), (other_status, other, other_said) = answers
            state = function in ("getFMUstate", "deSerializeFMUstate")
            # NaN is the same as NaN
            if (status, repr(found), said) != (other_status, repr(other), other_said) and not (
                state and (status, said) == (other_status, other_said)
            ):
                self.different.append(f"{function}{arguments}:\n  native {answers[0]}\n  python {answers[1]}")
            if status != OK:
                raise FMICallException(function, status)
            return (found, other) if state else found

        return call


def main(native: str, python: str, calls: int, seed: int) -> int:
    with Unpacked(native) as a, Unpacked(python) as b, Instance(a, "one") as one, Instance(b, "one") as other:
        both = Both(one, other)
        walk = Walk(both, seed)  # type: ignore[arg-type]
        walk.n, walk.beyond = both.shared, both.beyond
        for _ in range(calls):
            walk.call()
            if len(both.different) > 5:
                break
        for state, _ in walk.states:
            both.freeFMUstate(state)
    for text in both.different:
        sys.stderr.write(f"{text}\n")
    sys.stdout.write(f"{dict(sorted(walk.counts.items()))}\n")
    return min(len(both.different), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
