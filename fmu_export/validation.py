"""Whether an FMU does what its description says: fmpy's checks, and our own by driving it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from fmu_export.arguments import Seconds, seconds
from fmu_export.cosim.fmu_file import CO_SIMULATION, MODEL_EXCHANGE, Description, description_of
from fmu_export.exchange_solver import ExchangedCalls, ExchangeSolver
from fmu_export.fmi_calls import DISCARD, OK, WARNING, Reals
from fmu_export.host import Found, Instance, Unpacked
from liegeo.errors import InputError

# Communication steps in a check, and before the middle of it.
_STEPS, _HALF = 12, 5
# What derivatives may differ by from differences, as a share of each: by inputs, by time.
_SLOPES, _RATES = 1e-6, 1e-3
# Shares of a change of an input; none is a power of two, by which round-off would scale too.
_SHARES = (1.0, 0.37, -0.59)


@dataclass
class Report:
    """What was checked, and all that is wrong; `notes` are worth knowing."""

    fmu: str
    checks: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.fmu}: " + ("no problems" if self.ok else f"{len(self.problems)} problems")]
        lines += [f"  problem: {text}" for text in self.problems]
        lines += [f"  note: {text}" for text in self.notes]
        lines.append(f"  checked: {', '.join(self.checks)}")
        return "\n".join(lines)


def validate(
    file: str | os.PathLike[str], *, timeout: Seconds = 300.0, isolated: bool = True, illegal: Seconds = 10.0
) -> Report:
    """Check an FMU of FMI 2.0 or 3.0, for co-simulation, model exchange or both, ours or not.

    Driven checks, of each kind that the FMU has, model exchange with a solver around it: the description's dependencies
    of outputs on inputs, by changing each input at a communication point, and in the same way directional derivatives;
    derivatives of outputs, by short steps; rollback, within the instance and through bytes; reset; that two instances
    do the same and do not disturb each other; that illegal steps and an unknown reference are refused.

    They run in a process of their own: an FMU that crashes, or does not return, is a problem in the report.  `timeout`
    is how long a check may take, `illegal` how long an FMU may take to refuse an illegal call.  Without `isolated` all
    is done in this process, which is faster, for FMUs that can be trusted with it.
    """
    from fmpy.validation import validate_fmu

    limits: dict[str, float] = {}
    for key, given in (("timeout", timeout), ("illegal", illegal)):
        limit = seconds(f"validate: {key}", given)
        if limit is None or not limit > 0.0:
            raise InputError(f"validate: {key} is {limit}, expected a time > 0.")
        limits[key] = limit
    with Unpacked(file) as unpacked:
        report = Report(unpacked.description.modelName)
        report.checks.append("description")
        report.problems += [str(problem) for problem in validate_fmu(str(unpacked.folder))]
        parsed = unpacked.parsed
        names = [
            _marked(kind, name)
            for kind in parsed.kinds
            for name in _offered(description_of(unpacked.file, parsed, kind))
        ]
        report.checks += dict.fromkeys(_group(name) for name in names)
        if isolated:
            _drive_elsewhere(unpacked.folder, names, report, **limits)
        else:
            for name in names:
                _drive_here(name, unpacked, report, lambda limit: None)
    return report


def _offered(about: Description) -> list[str]:
    """Return the names of checks of what an FMU offers."""
    able = {"rollback": about.saves_state, "serialisation": about.serialises}
    able["directional derivatives"] = about.directional
    able["derivatives of outputs"] = about.saves_state and about.rates_of_outputs
    return [name for name in _checks(about.kind) if able.get(name, True)]


def _marked(kind: str, name: str) -> str:
    """Return the name of a check as reports have it: that of model exchange says so."""
    return name if kind == CO_SIMULATION else f"{kind}: {name}"


def _group(name: str) -> str:
    """Return what several checks of a kind are listed as."""
    prefix = f"{MODEL_EXCHANGE}: "
    bare = name.removeprefix(prefix)
    return (prefix if bare != name else "") + bare.partition(":")[0]


def _checks(kind: str) -> dict[str, Callable[[_Driver, Report], None]]:
    """Return the driven checks by name; what stands behind a colon is one of several of a kind."""
    exchange = kind == MODEL_EXCHANGE
    illegal = _ILLEGAL_EXCHANGE if exchange else _ILLEGAL
    return {
        "dependencies": _check_dependencies,
        "directional derivatives": _check_directional_exchange if exchange else _check_directional,
        "derivatives of outputs": _check_rates,
        "rollback": _check_rollback,
        "serialisation": _check_serialisation,
        "reset": _check_reset,
        "determinism": _check_determinism,
        **{f"illegal calls: {words}": functools.partial(_check_illegal, words) for words in illegal},
    }


def _drive_here(name: str, unpacked: Unpacked, report: Report, beat: Callable[[bool], None]) -> None:
    """Do one check.  `beat` is called where an illegal call begins (True) and ends (False)."""
    bare = name.removeprefix(f"{MODEL_EXCHANGE}: ")
    kind, found = CO_SIMULATION if bare == name else MODEL_EXCHANGE, Report("")
    try:
        with _instance(unpacked, kind) as instance:
            driver = _Driver(instance, unpacked, beat)
            _checks(kind)[bare](driver, found)
            if driver.stopped:
                found.notes.append(driver.stopped)
    except Exception as error:
        found.problems.append(f"{bare}: {error}")
    report.problems += [_marked(kind, problem) for problem in found.problems]
    notes = [_marked(kind, note) for note in found.notes]
    report.notes += [note for note in notes if note not in report.notes]


def _instance(unpacked: Unpacked, kind: str, name: str = "fmu") -> Instance:
    """Return an instance; how exact the motion is does not matter here."""
    return Instance(unpacked, name, kind=kind, solver=ExchangeSolver(tolerance=1e-4))


# ---- in a process of their own

_CHILD = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fmu_export.validation import serve; serve()"


def serve() -> None:
    """Do checks in a process that `validate` has started; a line of JSON tells what begins, and what was found."""
    folder, *names = sys.argv[2:]
    # FMUs print where they like
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    with Found(Path(folder)) as unpacked:
        for name in names:
            report = Report("")
            tell(begin=name)
            _drive_here(name, unpacked, report, lambda illegal: tell(illegal=illegal))
            tell(problems=report.problems, notes=report.notes)
    # libraries that are unloaded, and Pythons that end, have ways of their own to crash
    os._exit(0)


def _drive_elsewhere(folder: Path, names: Sequence[str], report: Report, timeout: float, illegal: float) -> None:
    """Do checks in another process, and in a new one after each that it does not survive."""
    left = list(names)
    while left:
        began, why, hangs = _one_process(folder, left, report, timeout, illegal)
        if not why:
            return
        report.problems.append(f"{began or left[0]} {why}.")
        left = left[left.index(began or left[0]) + 1 :]
        if left and (not began or (hangs and not _group(began).endswith("illegal calls"))):
            report.notes.append(f"not checked after that: {', '.join(left)}.")
            return


def _one_process(
    folder: Path, names: Sequence[str], report: Report, timeout: float, illegal: float
) -> tuple[str, str, bool]:
    """Return the check that the process did not survive, why, and whether it was too slow; "" for why if it did."""
    command = [sys.executable, "-c", _CHILD, json.dumps(sys.path), str(folder), *names]
    lines: queue.Queue[str] = queue.Queue()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        threading.Thread(target=_forward, args=(child.stdout, lines), daemon=True).start()
        began, limit, left = "", timeout, len(names)
        try:
            while line := lines.get(timeout=limit):
                told = json.loads(line)
                began = told.get("begin", began)
                limit = illegal if told.get("illegal") else timeout
                if "problems" in told:
                    report.problems += told["problems"]
                    report.notes += [note for note in told["notes"] if note not in report.notes]
                    left -= 1
            # nothing more will be told, so it is ending
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout)
        except queue.Empty:
            return began, f"did not return within {limit:g} s", True
        finally:
            child.kill()
            child.wait()
        return began, f"ended the process {_ending(child.returncode)}" if left else "", False


def _forward(source: IO[str], lines: queue.Queue[str]) -> None:
    for line in source:
        lines.put(line)
    lines.put("")


def _ending(code: int) -> str:
    """Return how a process ended, by its exit code."""
    try:
        return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    except ValueError:
        return f"by signal {-code}"


class _Driver:
    """An instance and what is needed to drive it about."""

    def __init__(
        self, instance: Instance, unpacked: Unpacked, beat: Callable[[bool], None] = lambda illegal: None
    ) -> None:
        self.instance, self.unpacked, self.beat = instance, unpacked, beat
        # why no more steps are taken, if the FMU has discarded one
        self.stopped = ""
        variables = instance.variables.values()
        self.inputs = [v for v in variables if v.causality == "input" and v.type == "Real"]
        self.outputs = [v for v in variables if v.causality == "output" and v.type == "Real"]
        self.all_inputs, self.all_outputs = Reals(self.inputs), Reals(self.outputs)
        experiment = instance.description.defaultExperiment
        self.start = float(getattr(experiment, "startTime", None) or 0.0)
        stop = getattr(experiment, "stopTime", None)
        self.stop = None if stop is None else float(stop)
        step = getattr(experiment, "stepSize", None)
        self.size = float(step) if step is not None else ((self.stop or 1.0) - self.start) / 100.0
        if self.stop is not None:
            # a default experiment may have fewer steps than the checks take
            self.stop = max(self.stop, self.start + 2 * _STEPS * self.size)
        if instance.about.kind == MODEL_EXCHANGE:
            # whatever the FMU's stiffness, the solver does not take long
            self.size *= 0.01
        self.t = self.start

    def begin(self) -> None:
        self.instance.initialise(self.start, self.stop)
        self.back(self.start)

    def back(self, t: float, stopped: str = "") -> None:
        """Go on from the time of a state that was restored, in which the FMU may have discarded a step."""
        self.t, self.stopped = t, stopped

    def values(self) -> list[float]:
        """Return the outputs."""
        return self.instance.read_reals(self.all_outputs)

    def drive(self, steps: int, first: int = 0) -> list[list[float]]:
        """Take steps under inputs that wander a little; return the outputs after each.

        FMUs may discard a step, and end the run by it: then no more steps are taken until it is begun anew.
        """
        table: list[list[float]] = []
        for k in range(first, first + steps):
            if self.stopped:
                break
            for j, variable in enumerate(self.inputs):
                value = float(variable.start or 0.0)
                change = 1e-3 * max(1.0, abs(value)) * math.sin(1.0 + 0.7 * k + j)
                self.instance.write(variable.name, value + change)
            status = self.instance.step(self.t, self.size)
            if status == DISCARD:
                reached, ends = self.instance.discarded()
                did = "ended the run" if ends else "discarded the step"
                self.stopped = f"the FMU {did} from {self.t:g} s at {reached:g} s, and was driven up to there."
                self.t = reached
                table.append(self.values())
                break
            if status not in (OK, WARNING):
                raise RuntimeError(f"doStep from {self.t:g} s gives status {status}.{self.instance.said()}")
            self.t += self.size
            table.append(self.values())
        return table


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(np.array(a), np.array(b), equal_nan=True)


def _check_dependencies(driver: _Driver, report: Report) -> None:
    driver.begin()
    # an output that is not listed, or without a list, may depend on all inputs
    declared = driver.instance.about.direct
    seen: dict[str, set[str]] = {v.name: set() for v in driver.outputs}
    # of changes that are tiny beside others, by input: the factors of outputs that are proportional to it, or 0
    factors: dict[str, list[Any]] = {v.name: [] for v in driver.inputs}
    for stretch in range(2):
        driver.drive(2, first=2 * stretch)
        before = np.array(driver.values())
        for variable in driver.inputs:
            (kept,) = driver.instance.read_reals(Reals([variable]))
            changes = []
            for share in _SHARES:
                driver.instance.write(variable.name, kept + share * 1e-3 * max(1.0, abs(kept)))
                changes.append((np.array(driver.values()) - before) / share)
            driver.instance.write(variable.name, kept)
            change = np.abs(changes[0])
            # less is round-off, unless it is always the same
            moves = change > 1e-11 * (np.abs(before) + change.max(initial=0.0))
            straight = (np.ptp(changes, axis=0) <= 1e-4 * change) & (change > 1e-15 * change.max(initial=0.0))
            factors[variable.name].append(np.where(straight, changes[0] / max(1.0, abs(kept)), 0.0))
            for output, moved in zip(driver.outputs, moves, strict=True):
                if moved:
                    seen[output.name].add(variable.name)
        if not _same(driver.values(), before):
            report.problems.append("dependencies: outputs do not come back when inputs do.")
    for variable in driver.inputs:
        first, second = factors[variable.name]
        alike = (first != 0.0) & (np.abs(second - first) <= 0.1 * np.abs(first))
        for output in (v for v, same in zip(driver.outputs, alike, strict=True) if same):
            seen[output.name].add(variable.name)
    for name, inputs in seen.items():
        allowed = declared[name]
        if inputs - allowed:
            report.problems.append(f"dependencies: {name} depends on {', '.join(sorted(inputs - allowed))}, unsaid.")
        if name in driver.instance.about.listed and allowed - inputs:
            report.notes.append(f"{name} did not depend on {', '.join(sorted(allowed - inputs))} where it was tried.")


def _check_directional(driver: _Driver, report: Report) -> None:
    """Against differences: inputs that are changed to both sides at a communication point."""
    driver.begin()
    depends = driver.instance.about.direct
    for stretch in range(2):
        for variable in driver.inputs:
            outputs = [v for v in driver.outputs if variable.name in depends[v.name]]
            if not outputs:
                continue
            told, reals = driver.instance.directional(outputs, variable), Reals(outputs)
            (kept,) = driver.instance.read_reals(Reals([variable]))
            size, rows = 1e-4 * max(1.0, abs(kept)), []
            for change in (size, -size):
                driver.instance.write(variable.name, kept + change)
                rows.append(np.array(driver.instance.read_reals(reals)))
            driver.instance.write(variable.name, kept)
            found = (rows[0] - rows[1]) / (2.0 * size)
            # what round-off leaves of the differences
            # (of an output, and of what is large in the model and cancels in it)
            slack = (1e-12 * np.maximum(np.abs(rows[0]), 0.1) + 1e-15 * np.abs(rows[0]).max()) / size
            wrong = np.abs(told - found) > _SLOPES * np.abs(found) + slack
            report.problems += [
                f"directional derivatives: {v.name} by {variable.name} is {told[k]:.6g}, by differences {found[k]:.6g}."
                for k, v in enumerate(outputs)
                if wrong[k]
            ]
        driver.drive(2, first=2 * stretch)


def _check_directional_exchange(driver: _Driver, report: Report) -> None:
    """Against differences: derivatives and outputs along states and inputs that are changed to both sides."""
    driver.begin()
    about, calls = driver.instance.about, driver.instance.calls
    assert isinstance(calls, ExchangedCalls)
    unknowns = [about.variables[name] for name in (*about.rates, *(v.name for v in driver.outputs))]
    reals, n = Reals(unknowns), about.states
    for stretch in range(2):
        x = (ctypes.c_double * n)()
        calls.inside.get_states(x, n)
        knowns = [(about.variables[name], k) for k, name in enumerate(about.states_of_rates)]
        for variable, place in [*knowns, *((v, None) for v in driver.inputs if v.variability == "continuous")]:
            told = driver.instance.directional(unknowns, variable)
            (kept,) = [x[place]] if place is not None else driver.instance.read_reals(Reals([variable]))
            nominal = calls.nominals[place] if place is not None else variable.nominal
            wrong = np.ones(len(unknowns), dtype=bool)
            # stiff models bend soon, and in others what is large cancels: what is right agrees at one of two sizes
            for scale in (1e-4, 1e-6):
                size, rows = scale * max(nominal, abs(kept)), []
                for share in (1.0, -1.0, 0.5, -0.5, 0.0):
                    value = kept + share * size
                    if place is None:
                        driver.instance.write(variable.name, value)
                    else:
                        moved = (ctypes.c_double * n)(*x)
                        moved[place] = value
                        calls.inside.set_states(moved, n)
                    rows.append(np.array(driver.instance.read_reals(reals)))
                differs, found = _compare(told, rows, size)
                wrong &= differs
            report.problems += [
                f"directional derivatives: {v.name} by {variable.name} is {told[k]:.6g}, by differences {found[k]:.6g}."
                for k, v in enumerate(unknowns)
                if wrong[k]
            ]
        driver.drive(2, first=2 * stretch)


def _compare(told: Any, rows: Sequence[Any], size: float) -> tuple[Any, Any]:
    """Return which derivatives differ from differences, and these; two sizes tell how good those are."""
    wide, near = (rows[0] - rows[1]) / (2.0 * size), (rows[2] - rows[3]) / size
    found = (4.0 * near - wide) / 3.0
    # an FMU takes differences too, and what is large in the model cancels in both
    slack = (1e-12 * np.maximum(np.abs(rows[4]), 0.1) + 1e-13 * np.abs(rows[4]).max(initial=0.0)) / size
    apart = np.abs(near - wide)
    # where the sizes disagree there is none: reactions of redundant loops, off the states that close them
    smooth = apart <= 0.01 * np.abs(found) + slack
    slack += apart + _SLOPES * np.abs(found).max(initial=0.0)
    return smooth & (np.abs(told - found) > _SLOPES * np.abs(found) + slack), found


def _check_rates(driver: _Driver, report: Report) -> None:
    """Against differences of two short steps."""
    driver.begin()
    driver.drive(2)
    told = driver.instance.output_rates(driver.outputs)
    start, state = np.array(driver.values()), driver.instance.save()
    wrong, found = np.zeros(len(told), dtype=bool), np.full(len(told), np.nan)
    for size in (1e-3 * driver.size, 1e-4 * driver.size, 1e-5 * driver.size):
        rows, before = [], found
        for steps in (1, 2):
            driver.instance.step(driver.t, steps * size)
            rows.append(np.array(driver.values()))
            driver.instance.restore(state)
        found = (4.0 * rows[0] - rows[1] - 3.0 * start) / (2.0 * size)
        # what jumps with its inputs has none, and shorter steps show that; round-off is not a rate
        slack = _RATES * np.abs(found) + 1e-11 * np.abs(start).max(initial=1.0) / size
        wrong |= (np.abs(found - before) < slack) & (np.abs(told - found) > 10.0 * slack)
    driver.instance.forget(state)
    report.problems += [
        f"derivatives of outputs: that of {v.name} is {told[k]:.6g}, by short steps {found[k]:.6g}."
        for k, v in enumerate(driver.outputs)
        if wrong[k]
    ]


def _check_rollback(driver: _Driver, report: Report) -> None:
    driver.begin()
    driver.drive(_HALF)
    here, state = (driver.t, driver.stopped), driver.instance.save()
    first = driver.drive(_STEPS - _HALF, first=_HALF)
    for _ in range(2):
        driver.instance.restore(state)
        driver.back(*here)
        if not _same(driver.drive(_STEPS - _HALF, first=_HALF), first):
            report.problems.append("rollback: the same steps from a restored state give other outputs.")
    driver.instance.forget(state)


def _check_serialisation(driver: _Driver, report: Report) -> None:
    driver.begin()
    driver.drive(_HALF)
    here, state = (driver.t, driver.stopped), driver.instance.save()
    data = driver.instance.to_bytes(state)
    first = driver.drive(_STEPS - _HALF, first=_HALF)
    driver.instance.forget(state)
    with _instance(driver.unpacked, driver.instance.about.kind, "other") as other:
        fresh = _Driver(other, driver.unpacked)
        restored = other.from_bytes(data)
        other.restore(restored)
        other.forget(restored)
        fresh.back(*here)
        if not _same(fresh.drive(_STEPS - _HALF, first=_HALF), first):
            report.problems.append("serialisation: a new instance with the bytes of a state gives other outputs.")


def _check_reset(driver: _Driver, report: Report) -> None:
    driver.begin()
    first = driver.drive(_HALF)
    driver.instance.reset()
    driver.begin()
    if not _same(driver.drive(_HALF), first):
        report.problems.append("reset: the same steps give other outputs after it.")


def _check_determinism(driver: _Driver, report: Report) -> None:
    driver.begin()
    with _instance(driver.unpacked, driver.instance.about.kind, "other") as other:
        second = _Driver(other, driver.unpacked)
        second.begin()
        one, two = [], []
        for k in range(_HALF):
            one += driver.drive(1, first=k)
            two += second.drive(1, first=k)
    if not _same(one, two):
        report.problems.append("determinism: two instances give different outputs.")


def _unknown(driver: _Driver) -> int:
    instance = driver.instance
    reference = 1 + max((v.valueReference for v in instance.description.modelVariables), default=0)
    function = "Real" if instance.about.fmi == 2 else "Float64"
    return instance.calls.get(function, (ctypes.c_uint * 1)(reference), 1, (ctypes.c_double * 1)(), 1)


# What no host may do.
_ILLEGAL: dict[str, Callable[[_Driver], int]] = {
    "a step of 0 s": lambda driver: driver.instance.step(driver.t, 0.0),
    "a step backwards": lambda driver: driver.instance.step(driver.t, -driver.size),
    "a step of NaN s": lambda driver: driver.instance.step(driver.t, math.nan),
    "reading an unknown reference": _unknown,
    "initialising once more": lambda driver: driver.instance.calls.enter_initialisation(),
}


def _other_number(driver: _Driver) -> int:
    """Read one state more than there are."""
    n = driver.instance.about.states + 1
    return driver.instance.calls.get_states((ctypes.c_double * n)(), n)


# What no host of an FMU for model exchange may do.
_ILLEGAL_EXCHANGE: dict[str, Callable[[_Driver], int]] = {
    "reading a state more than there are": _other_number,
    "reading an unknown reference": _unknown,
    "initialising once more": lambda driver: driver.instance.calls.enter_initialisation(),
}


def _check_illegal(words: str, driver: _Driver, report: Report) -> None:
    driver.begin()
    rows = driver.drive(2)
    if driver.stopped:
        # after a discarded step other calls are illegal too
        return
    driver.beat(True)
    status = (_ILLEGAL | _ILLEGAL_EXCHANGE)[words](driver)
    driver.beat(False)
    if status in (OK, WARNING):
        report.problems.append(f"illegal calls: {words} is answered as if nothing were wrong.")
    if driver.instance.is_readable(driver.all_outputs) and not _same(driver.values(), rows[-1]):
        report.problems.append(f"illegal calls: outputs changed by {words}.")
