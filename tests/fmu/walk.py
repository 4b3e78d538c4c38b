"""A random walk through FMI's functions: legal and illegal orders, NaN, infinite and absurd numbers, wrong references.

    python walk.py UNIT.fmu CALLS SEED

One instance is walked over, another one beside it is driven as it should be and must not notice.  It ends with exit
code 0 if statuses were as they must be, and says what was wrong otherwise.
"""

from __future__ import annotations

import math
import random
import sys

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2LastSuccessfulTime

from fmu_export.host import DISCARD, ERROR, OK, Instance, Unpacked

ABSURD = (0.0, -0.0, 1e-320, 1e300, -1e300, math.nan, math.inf, -math.inf, 1.0, -3.5)
NEW, INITIALISING, STEPPING, OVER = "new", "initialising", "stepping", "over"


class Walk:
    def __init__(self, unit: Instance, seed: int) -> None:
        self.unit, self.random = unit, random.Random(seed)
        variables = unit.description.modelVariables
        self.n = len(variables)
        self.inputs = [v.valueReference for v in variables if v.causality == "input"]
        self.mode, self.t, self.size = NEW, 0.0, 0.01
        self.states: list[object] = []
        self.data: list[bytes] = []
        self.wrong: list[str] = []
        self.counts: dict[str, int] = {}

    def status(self, function: str, *arguments: object) -> tuple[int, object]:
        try:
            found = getattr(self.unit, function)(*arguments)
        except FMICallException as error:
            return int(error.status), None
        return OK, found

    def expect(self, what: str, ok: bool) -> None:
        if not ok:
            self.wrong.append(f"{what} (in mode {self.mode})")

    def call(self) -> None:
        steps = [self.real_set, self.real_get, self.others, self.life, self.step, self.step, self.step, self.state]
        move = self.random.choice(steps)
        self.counts[move.__name__] = self.counts.get(move.__name__, 0) + 1
        move()

    def references(self) -> list[int]:
        pool = [*range(self.n), *range(self.n), self.n, self.n + 7, 2**31, 2**32 - 1]
        return [self.random.choice(pool) for _ in range(self.random.randint(0, 5))]

    def real_set(self) -> None:
        few = self.random.random() < 0.7 and self.inputs
        chosen = [self.random.choice(self.inputs)] if few else self.references()
        values = [
            self.random.choice(ABSURD) if self.random.random() < 0.2 else self.random.uniform(-1, 1) for _ in chosen
        ]
        status, _ = self.status("setReal", chosen, values)
        self.expect(f"setReal gave {status}", status in (OK, DISCARD, ERROR))

    def real_get(self) -> None:
        chosen = self.references()
        status, found = self.status("getReal", chosen)
        self.expect(f"getReal gave {status}", status in (OK, DISCARD, ERROR))
        self.expect("getReal is short", found is None or len(found) == len(chosen))  # type: ignore[arg-type]

    def others(self) -> None:
        chosen = self.references()
        kind = self.random.choice(("Integer", "Boolean", "String"))
        if self.random.random() < 0.5:
            status, _ = self.status(f"get{kind}", chosen)
        else:
            value = {"Integer": 3, "Boolean": 1, "String": "rkmk-4 ünsinn % %s"}[kind]
            status, _ = self.status(f"set{kind}", chosen, [value] * len(chosen))
        self.expect(f"{kind} gave {status}", status in (OK, DISCARD, ERROR))
        odd = self.random.random()
        if odd < 0.1:
            status, _ = self.status("getDirectionalDerivative", [0], [0], [1.0])
            self.expect(f"getDirectionalDerivative gave {status}", status == ERROR)
        elif odd < 0.2:
            status, _ = self.status("getRealOutputDerivatives", [0], [1])
            self.expect(f"getRealOutputDerivatives gave {status}", status == ERROR)
        elif odd < 0.3:
            self.status("setDebugLogging", self.random.random() < 0.5, ["logAll"])
        elif odd < 0.4:
            self.status("getRealStatus", fmi2LastSuccessfulTime)

    def life(self) -> None:
        move = self.random.choice(("setup", "enter", "exit", "terminate", "reset", "proper", "proper", "proper"))
        if move == "proper":
            # as a master does, so that the walk gets somewhere
            self.status("reset")
            self.mode = NEW
            self.status("setupExperiment", None, 0.0, 10.0)
            self.status("enterInitializationMode")
            self.status("exitInitializationMode")
            self.mode, self.t = STEPPING, 0.0
        elif move == "setup":
            start = self.random.choice((0.0, math.nan, -math.inf))
            self.status("setupExperiment", self.random.choice((None, 1e-6, math.nan)), start, 10.0)
        elif move == "enter":
            self.status("enterInitializationMode")
            self.mode = INITIALISING if self.mode == NEW else self.mode
        elif move == "exit":
            self.status("exitInitializationMode")
            if self.mode == INITIALISING:
                # it may have failed with absurd parameters, which the next step tells
                self.mode, self.t = STEPPING, 0.0
        elif move == "terminate":
            self.status("terminate")
            self.mode = OVER if self.mode == STEPPING else self.mode
        else:
            self.status("reset")
            self.mode = NEW

    def step(self) -> None:
        legal = self.random.random() < 0.7
        t, size = self.t, self.size
        if not legal:
            t = self.random.choice((t, t + 1.0, math.nan, math.inf))
            size = self.random.choice((0.0, -0.01, math.nan, math.inf, -math.inf))
        status = self.unit.step(t, size)
        self.expect(f"doStep gave {status}", status in (OK, DISCARD, ERROR))
        self.expect(f"doStep({t}, {size}) gave OK", legal or status != OK)
        self.expect("doStep gave OK", self.mode == STEPPING or status != OK)
        if status == OK:
            self.t += self.size

    def state(self) -> None:
        move = self.random.choice(("get", "set", "free", "bytes", "restore", "rubbish"))
        if move == "get" and len(self.states) < 20:
            status, state = self.status("getFMUstate")
            if status == OK:
                self.states.append((state, self.mode, self.t))
        elif move == "set" and self.states:
            state, self.mode, self.t = self.random.choice(self.states)  # type: ignore[misc]
            status, _ = self.status("setFMUstate", state)
            self.expect(f"setFMUstate gave {status}", status == OK)
        elif move == "free" and self.states:
            state, *_ = self.states.pop()  # type: ignore[misc]
            self.status("freeFMUstate", state)
        elif move == "bytes" and self.states:
            state, mode, t = self.random.choice(self.states)  # type: ignore[misc]
            status, data = self.status("serializeFMUstate", state)
            if status == OK:
                self.data = [*self.data[-5:], (data, mode, t)]  # type: ignore[list-item]
        elif move == "restore" and self.data:
            data, self.mode, self.t = self.random.choice(self.data)  # type: ignore[misc]
            status, state = self.status("deSerializeFMUstate", data)
            self.status("setFMUstate", state)
            self.status("freeFMUstate", state)
        elif move == "rubbish":
            data = bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 200)))
            if self.data and self.random.random() < 0.7:
                whole = self.data[-1][0]  # type: ignore[index]
                data = bytes(whole[: self.random.randrange(1, len(whole))])  # type: ignore[arg-type]
            status, state = self.status("deSerializeFMUstate", data)
            if status == OK:
                self.status("setFMUstate", state)
                self.status("freeFMUstate", state)
                self.expect("rubbish was taken for a state", self.unit.step(self.t, self.size) != OK)


def undisturbed(unit: Instance, steps: int) -> list[list[float]]:
    references = [v.valueReference for v in unit.description.modelVariables if v.causality == "output"]
    unit.initialise(0.0, 10.0)
    table = []
    for k in range(steps):
        assert unit.step(0.01 * k, 0.01) == OK
        table.append(unit.getReal(references))
    return table


def main(file: str, calls: int, seed: int) -> int:
    with Unpacked(file) as unpacked:
        with Instance(unpacked, "reference") as unit:
            expected = undisturbed(unit, 100)
        with Instance(unpacked, "walked") as unit, Instance(unpacked, "beside") as beside:
            walk = Walk(unit, seed)
            references = [v.valueReference for v in beside.description.modelVariables if v.causality == "output"]
            beside.initialise(0.0, 10.0)
            for k in range(calls):
                walk.call()
                if k % (calls // 100) == 0 and k // (calls // 100) < 100:
                    row = k // (calls // 100)
                    assert beside.step(0.01 * row, 0.01) == OK
                    if beside.getReal(references) != expected[row]:
                        walk.wrong.append(f"the other instance changed after {k} calls")
                        break
            for state, *_ in walk.states:  # type: ignore[misc]
                walk.status("freeFMUstate", state)
    for text in walk.wrong[:20]:
        sys.stderr.write(f"{text}\n")
    sys.stdout.write(f"{walk.counts}\n")
    return min(len(walk.wrong), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
