"""A random walk through FMI's functions: legal and illegal orders, NaN, infinite and absurd numbers, wrong references.

    python walk.py FILE.fmu CALLS SEED

One instance is walked over, and each status must be the one that the standard's state machine wants (FMI 2.0.4, 4.2.4),
which is followed here beside it; another instance is driven as it should be and must not notice.  Exit code 0 if all
was so; otherwise it says what was wrong.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, replace

from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import fmi2LastSuccessfulTime

from fmu_export.host import DISCARD, ERROR, OK, Instance, Unpacked

ABSURD = (0.0, -0.0, 1e-320, 1e300, -1e300, math.nan, math.inf, -math.inf, 1.0, -3.5)
NEW, INITIALISING, STEPPING, FAILED, OVER, BROKEN = "new", "initialising", "stepping", "failed", "over", "broken"
READING = (INITIALISING, STEPPING, FAILED, OVER, BROKEN)
WRITING = (NEW, INITIALISING, STEPPING)


@dataclass(frozen=True)
class Place:
    """Where an instance is: its mode and time, whether initialisation succeeded, and what may fail by now."""

    mode: str = NEW
    t: float = 0.0
    moves: bool = False
    odd_parameters: bool = False
    odd_motion: bool = False


class Walk:
    def __init__(self, fmu: Instance, seed: int) -> None:
        self.fmu, self.random = fmu, random.Random(seed)
        self.variables = fmu.description.modelVariables
        self.n, self.size = len(self.variables), 0.01
        # references from here on are none
        self.beyond = self.n
        self.inputs = [v.valueReference for v in self.variables if v.causality == "input"]
        self.outputs = [v.valueReference for v in self.variables if v.causality == "output"]
        self.here = Place()
        self.states: list[tuple[object, Place]] = []
        self.data: list[tuple[bytes, Place]] = []
        self.wrong: list[str] = []
        self.counts: dict[str, int] = {}

    def status(self, what: str, function: str, *arguments: object, expected: set[int]) -> tuple[int, object]:
        """Call; after an error the instance is broken."""
        found: object = None
        try:
            found = getattr(self.fmu, function)(*arguments)
            status = OK
        except FMICallException as error:
            status = int(error.status)
        if status not in expected:
            self.wrong.append(f"{function}{arguments} gave {status}, not {expected}: {what}, {self.here}")
        self.counts[f"{function} {status}"] = self.counts.get(f"{function} {status}", 0) + 1
        if status == ERROR:
            self.here = replace(self.here, mode=BROKEN)
        return status, found

    def call(self) -> None:
        moves = [
            self.real_set,
            self.real_get,
            self.others,
            self.derivatives,
            self.life,
            self.step,
            self.step,
            self.state,
        ]
        if self.here.mode not in WRITING and self.random.random() < 0.6:
            moves = [self.proper, self.state]
        self.random.choice(moves)()

    def references(self) -> list[int]:
        wild = self.random.random() < 0.3
        pool = [*range(self.n), *((self.beyond, self.beyond + 7, 2**31, 2**32 - 1) if wild else ())]
        return [self.random.choice(pool) for _ in range(self.random.randint(0, 5))]

    def of_type(self, references: list[int], kind: str) -> bool:
        return all(r < self.n and self.variables[r].type == kind for r in references)

    def settable(self, references: list[int]) -> bool:
        for reference in references:
            variable = self.variables[reference]
            if variable.causality not in ("input", "parameter"):
                return False
            if self.here.mode == STEPPING and variable.causality != "input" and variable.variability != "tunable":
                return False
        return True

    def real_set(self) -> None:
        few = self.random.random() < 0.7 and self.inputs
        chosen = [self.random.choice(self.inputs)] if few else self.references()
        values = [
            self.random.choice(ABSURD) if self.random.random() < 0.2 else self.random.uniform(-1, 1) for _ in chosen
        ]
        if self.here.mode not in WRITING or not (self.of_type(chosen, "Real") and self.settable(chosen)):
            expected = ERROR
        else:
            expected = OK if all(map(math.isfinite, values)) else DISCARD
        status, _ = self.status("set", "setReal", chosen, values, expected={expected})
        if status == OK:
            parameters = any(self.variables[r].causality == "parameter" for r in chosen)
            self.here = replace(
                self.here,
                odd_parameters=self.here.odd_parameters or parameters,
                odd_motion=self.here.odd_motion or parameters or any(abs(x) > 10.0 for x in values),
            )

    def real_get(self) -> None:
        chosen = self.references()
        expected = {OK} if self.here.mode in READING and self.of_type(chosen, "Real") else {ERROR}
        if expected == {OK} and chosen and not self.certain():
            # of a model that cannot be, or cannot be made
            expected = {OK, ERROR}
        _, found = self.status("get", "getReal", chosen, expected=expected)
        if found is not None and len(found) != len(chosen):  # type: ignore[arg-type]
            self.wrong.append("getReal is short")

    def certain(self) -> bool:
        """Whether outputs can be computed for sure."""
        if self.here.moves:
            return not self.here.odd_motion
        return self.here.mode == INITIALISING and not (self.here.odd_parameters or self.here.odd_motion)

    def others(self) -> None:
        chosen = self.references()
        kind = self.random.choice(("Integer", "Boolean", "String"))
        if self.random.random() < 0.5:
            fine = self.here.mode in READING and self.of_type(chosen, kind)
            self.status("get", f"get{kind}", chosen, expected={OK if fine else ERROR})
            return
        value = {"Integer": 3, "Boolean": 1, "String": "rkmk-4 ünsinn % %s"}[kind]
        fine = self.here.mode in WRITING and self.of_type(chosen, kind) and self.settable(chosen)
        self.status("set", f"set{kind}", chosen, [value] * len(chosen), expected={OK if fine else ERROR})
        if fine and chosen:
            self.here = replace(self.here, odd_parameters=True)

    def derivatives(self) -> None:
        move = self.random.choice(("directional", "output", "input", "log", "time"))
        mode, unsure = self.here.mode, {OK} if self.certain() else {OK, ERROR}
        if move == "directional":
            unknown, known = self.references()[:2], self.references()[:2]
            if self.random.random() < 0.6:
                unknown, known = self.outputs[:3], self.inputs[:1]
            allowed = self.inputs
            if mode == INITIALISING:
                allowed = [*allowed, *(v.valueReference for v in self.variables if v.causality == "parameter")]
            fine = mode in READING and all(r in self.outputs for r in unknown)
            fine = fine and all(r in allowed for r in known) and self.of_type(known, "Real")
            expected = {ERROR} if not fine else unsure if unknown else {OK}
            if mode == INITIALISING and fine:
                # beside a parameter that can be may be one that cannot
                expected = {OK, ERROR}
            self.status("", "getDirectionalDerivative", unknown, known, [1.0] * len(known), expected=expected)
        elif move == "output":
            chosen = self.outputs[:3] if self.random.random() < 0.6 else self.references()[:2]
            order = self.random.choice((1, 1, 1, 0, 2))
            fine = mode in (STEPPING, FAILED, OVER, BROKEN) and all(r in self.outputs for r in chosen)
            fine = fine and (order == 1 or not chosen)
            expected = {ERROR} if not fine else unsure if chosen else {OK}
            self.status("", "getRealOutputDerivatives", chosen, [order] * len(chosen), expected=expected)
        elif move == "input":
            chosen = self.references()[:1] if self.random.random() < 0.3 else self.inputs[:1]
            order, value = self.random.choice((1, 1, 2, 3, 0)), self.random.choice((0.5, -1.0, math.nan, 1e200))
            fine = mode in WRITING and all(r in self.inputs for r in chosen) and (order > 0 or not chosen)
            expected = {ERROR} if not fine else {OK} if not chosen or math.isfinite(value) else {DISCARD}
            orders, values = [order] * len(chosen), [value] * len(chosen)
            status, _ = self.status("", "setRealInputDerivatives", chosen, orders, values, expected=expected)
            self.here = replace(self.here, odd_motion=self.here.odd_motion or (status == OK and abs(value) > 10.0))
        elif move == "log":
            self.status("", "setDebugLogging", self.random.random() < 0.5, ["logAll"], expected={OK})
        else:
            fine = mode in (STEPPING, FAILED, OVER)
            self.status("", "getRealStatus", fmi2LastSuccessfulTime, expected={OK if fine else ERROR})

    def proper(self) -> None:
        """As a master does, so that the walk gets somewhere."""
        self.status("", "reset", expected={OK})
        self.here = Place()
        self.status("", "setupExperiment", None, 0.0, 10.0, expected={OK})
        self.status("", "enterInitializationMode", expected={OK})
        self.status("", "exitInitializationMode", expected={OK})
        self.here = Place(STEPPING, moves=True)

    def life(self) -> None:
        move, mode = (
            self.random.choice(("setup", "enter", "exit", "terminate", "reset", "proper", "cancel")),
            self.here.mode,
        )
        if move == "proper":
            self.proper()
        elif move == "setup":
            start = self.random.choice((0.0, 0.0, math.nan, -math.inf))
            fine = mode == NEW and math.isfinite(start)
            tolerance = self.random.choice((None, 1e-6, math.nan))
            self.status("", "setupExperiment", tolerance, start, 10.0, expected={OK if fine else ERROR})
        elif move == "enter":
            status, _ = self.status("", "enterInitializationMode", expected={OK if mode == NEW else ERROR})
            if status == OK:
                self.here = replace(self.here, mode=INITIALISING)
        elif move == "exit":
            unsure = {OK, ERROR} if self.here.odd_parameters or self.here.odd_motion else {OK}
            expected = unsure if mode == INITIALISING else {ERROR}
            status, _ = self.status("", "exitInitializationMode", expected=expected)
            if status == OK:
                odd = self.here.odd_motion or self.here.odd_parameters
                self.here = replace(self.here, mode=STEPPING, t=0.0, moves=True, odd_motion=odd)
        elif move == "terminate":
            status, _ = self.status("", "terminate", expected={OK if mode in (STEPPING, FAILED) else ERROR})
            if status == OK:
                self.here = replace(self.here, mode=OVER)
        elif move == "cancel":
            self.status("", "cancelStep", expected={ERROR})
        else:
            self.status("", "reset", expected={OK})
            self.here = Place()

    def step(self) -> None:
        legal = self.random.random() < 0.8
        t, size = self.here.t, self.size
        if not legal:
            t = self.random.choice((t, t + 1.0, math.nan, math.inf))
            size = self.random.choice((0.0, -0.01, math.nan, math.inf, -math.inf, 100.0))
        if not legal or self.here.mode != STEPPING:
            expected = {ERROR}
        else:
            expected = {OK, DISCARD} if self.here.odd_motion else {OK}
        status, _ = self.status("step", "doStep", t, size, expected=expected)
        if status == OK:
            self.here = replace(self.here, t=self.here.t + self.size)
        elif status == DISCARD:
            self.here = replace(self.here, mode=FAILED)

    def state(self) -> None:
        move = self.random.choice(("get", "set", "set", "free", "bytes", "restore", "rubbish"))
        if move == "get" and len(self.states) < 20:
            _, state = self.status("", "getFMUstate", expected={OK})
            self.states.append((state, self.here))
        elif move == "set" and self.states:
            state, place = self.random.choice(self.states)
            self.status("", "setFMUstate", state, expected={OK})
            self.here = place
        elif move == "free" and self.states:
            state, _ = self.states.pop()
            self.status("", "freeFMUstate", state, expected={OK})
            if self.random.random() < 0.1:
                self.status("freed", "setFMUstate", state, expected={ERROR})
        elif move == "bytes" and self.states:
            state, place = self.random.choice(self.states)
            _, data = self.status("", "serializeFMUstate", state, expected={OK})
            self.data = [*self.data[-5:], (data, place)]  # type: ignore[list-item]
        elif move == "restore" and self.data:
            data, place = self.random.choice(self.data)
            _, state = self.status("", "deSerializeFMUstate", data, expected={OK})
            self.status("", "setFMUstate", state, expected={OK})
            self.here = place
            self.status("", "freeFMUstate", state, expected={OK})
        elif move == "rubbish":
            data = bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 200)))
            if self.data and self.random.random() < 0.7:
                whole, _ = self.data[-1]
                data = bytes(whole[: self.random.randrange(1, len(whole))])
            self.status("rubbish", "deSerializeFMUstate", data, expected={ERROR})


def undisturbed(fmu: Instance, steps: int) -> list[list[float]]:
    references = [v.valueReference for v in fmu.description.modelVariables if v.causality == "output"]
    fmu.initialise(0.0, 10.0)
    table = []
    for k in range(steps):
        assert fmu.step(0.01 * k, 0.01) == OK
        table.append(fmu.getReal(references))
    return table


def main(file: str, calls: int, seed: int) -> int:
    with Unpacked(file) as unpacked:
        with Instance(unpacked, "reference") as fmu:
            expected = undisturbed(fmu, 100)
        with Instance(unpacked, "walked") as fmu, Instance(unpacked, "beside") as beside:
            walk = Walk(fmu, seed)
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
            for state, _ in walk.states:
                fmu.freeFMUstate(state)
    for text in walk.wrong[:20]:
        sys.stderr.write(f"{text}\n")
    sys.stdout.write(f"{dict(sorted(walk.counts.items()))}\n")
    return min(len(walk.wrong), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
