"""A solver around an FMU for model exchange, which makes of it one that takes communication steps.

Between events the states follow ẋ = f(t, x, u), with inputs u that are held or straight lines over a step.  A
one-step method of SciPy integrates, and begins anew at each communication point with the size that it would
have tried next: nothing of it but that size is remembered, so that a step from a restored state has the same bits.
Methods of several steps, such as CVODE's, would begin each communication step with order 1.  The error of a step is,
for each state with its nominal value n,

    |e| ≤ tolerance · (n + |x|).                                                                             (1)

Events end a step of the solver:

- state events: an event indicator z changes between z > 0 and z ≤ 0 (FMI 2.0.4, 3.1.1).  Where it does is found by
  bisection of what lies between the ends of the step, and the event is the first time at which z is on the other side;
- time events, which the FMU announces: no step goes beyond one;
- step events, which the FMU asks for when it is told that a step is complete;
- inputs that jump from one communication step to the next, and all that is set and is no continuous input.

Event indicators that change twice within a step of the solver are not seen: `max_step` bounds the step.
"""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import MODEL_EXCHANGE, Description
from fmu_export.fmi_calls import (
    DISCARD,
    ERROR,
    OK,
    WARNING,
    FMUCalls,
    Hear,
    Reals,
    VariableAccess,
    load,
)

Array = NDArray[np.float64]

#: Methods by name: classes of scipy.integrate.  Only one-step methods.
METHODS = {"rk-54": "RK45", "rk-853": "DOP853", "radau-5": "Radau"}
# Where the FMU names none.
USUAL_TOLERANCE = 1e-6
# How often discrete states may be updated at one event, and events follow each other at one time.
_MOST_UPDATES, _MOST_EVENTS = 1000, 1000
# Times that differ by less, relative to a communication step, are one time.
_SAME = 1e-12


@dataclass(frozen=True)
class ExchangeSolver:
    """How an FMU for model exchange is integrated.

    `method` is one of METHODS: rk-54 and rk-853 are explicit, radau-5 is for stiff systems.  `tolerance` is that of
    (1); if not given, that of the FMU's default experiment, or 1e-6.  `max_step` bounds steps of the method.
    """

    method: str = "rk-54"
    tolerance: float | None = None
    max_step: float | None = None

    def issues(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with it: the key, and the rest of a message."""
        if self.method not in METHODS:
            yield "method", f"is {self.method!r}, expected {', '.join(METHODS)}"
        for key in ("tolerance", "max_step"):
            value = getattr(self, key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                yield key, f"is {value!r}, expected a finite number"
            elif not value > 0.0:
                yield key, f"is {value:g}, must be > 0"


SOLVER_KEYS = tuple(each.name for each in fields(ExchangeSolver))


class _StatusError(Exception):
    """A call within a step of the solver gave a status that it cannot go on with."""

    def __init__(self, status: int) -> None:
        self.status = status


@dataclass
class _Memory:
    """What is remembered between steps, beside the FMU's own state; a saved state has a copy.

    `size` is that of the next step of the method, nan at the start; `in_events` whether the FMU is in event mode;
    `written` and `known` are the inputs as they were last set, and as they were where the last step ended.
    """

    t: float = 0.0
    size: float = math.nan
    next_time: float | None = None
    in_events: bool = False
    nominals: Array = field(default_factory=lambda: np.ones(0))
    written: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    known: dict[tuple[str, bytes], bytes] = field(default_factory=dict)

    def copy(self) -> _Memory:
        return replace(self, written=dict(self.written), known=dict(self.known))

    def as_line(self) -> bytes:
        """Return it as a line of JSON; numbers come back to the bit."""
        inputs = [
            [[function, references.hex(), values.hex()] for (function, references), values in each.items()]
            for each in (self.written, self.known)
        ]
        out = [self.t, self.size, self.next_time, self.in_events, self.nominals.tolist(), *inputs]
        return json.dumps(out).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> _Memory:
        """Return what `as_line` has written."""
        t, size, next_time, in_events, nominals, *inputs = json.loads(line)
        written, known = (
            {(function, bytes.fromhex(references)): bytes.fromhex(values) for function, references, values in each}
            for each in inputs
        )
        return cls(t, size, next_time, in_events, np.array(nominals), written, known)


class ExchangedCalls(FMUCalls):
    """The functions of an FMU for co-simulation, by those of one for model exchange and a solver."""

    def __init__(self, inside: FMUCalls, description: Description, solver: ExchangeSolver) -> None:
        super().__init__(inside.fmu)
        self.inside, self.about, self.solver = inside, description, solver
        self.prefix, self.ctypes = inside.prefix, inside.ctypes
        self.tolerance = solver.tolerance or description.tolerance or USUAL_TOLERANCE
        self._values = VariableAccess(inside, description)
        self._memory = _Memory()
        # memories of saved states, by the address of the state
        self._kept: dict[int, _Memory] = {}
        self._line: tuple[Reals, Array, Array] | None = None
        self._running = False
        self._n, self._nz = description.states, description.indicators
        self._x, self._dx = (ctypes.c_double * self._n)(), (ctypes.c_double * self._n)()
        self._z = (ctypes.c_double * self._nz)()
        # what may be set between events: by type of the functions, references
        self._continuous = {
            (v.function, v.reference)
            for v in description.variables.values()
            if v.causality == "input" and v.variability == "continuous"
        }

    def call(self, function: str, *arguments: Any) -> int:
        status = self.inside.call(function, *arguments)
        self.called = self.inside.called
        return status

    # ---- life

    def instantiate(self, logging: bool, hear: Hear, callbacks: Any = None) -> None:
        self._hear = hear
        self.inside.instantiate(logging, hear, callbacks)

    def set_up(self, start: float, stop: float | None, tolerance: float | None) -> int:
        self._memory.t = start
        return self._told(self.inside.set_up(start, stop, tolerance))

    def enter_initialisation(self) -> int:
        self._values.is_readable = True
        return self._told(self.inside.enter_initialisation())

    def exit_initialisation(self) -> int:
        """Leave initialisation mode, and event mode, in which that ends."""
        status = self._told(self.inside.exit_initialisation())
        if status > WARNING:
            return status
        self._memory.in_events = self._running = True
        try:
            self._handle_events()
            self._find_nominals()
        except _StatusError as error:
            return error.status
        self._memory.known = dict(self._memory.written)
        return status

    def terminate(self) -> int:
        return self._told(self.inside.terminate())

    def reset(self) -> int:
        self._memory, self._line, self._running = _Memory(), None, False
        self._values = VariableAccess(self.inside, self.about)
        self.ends = False
        return self._told(self.inside.reset())

    def _told(self, status: int) -> int:
        self.called = self.inside.called
        return status

    def _checked(self, status: int) -> int:
        """Raise what no step can go on with."""
        if self._told(status) > WARNING:
            raise _StatusError(status)
        return status

    # ---- values

    def get(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        return self._told(self.inside.get(function, references, n, buffer, n_values))

    def set(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> int:
        """Write variables, in event mode where they are no continuous inputs."""
        memory = self._memory
        if self._running and not memory.in_events:
            at_any_time = all((function, references[k]) in self._continuous for k in range(n))
            if not at_any_time and self._differs(function, references, n, buffer, n_values):
                status = self._told(self.inside.enter_events())
                if status > WARNING:
                    return status
                memory.in_events = True
            elif not at_any_time:
                return OK
        self._line = None
        status = self._told(self.inside.set(function, references, n, buffer, n_values))
        if status <= WARNING and function != "String":
            memory.written[function, bytes(references)] = bytes(buffer)
        return status

    def _differs(self, function: str, references: Any, n: int, buffer: Any, n_values: int) -> bool:
        """Return whether variables have other values than these, so that there is something to set."""
        present = (self.ctypes[function] * n_values)()
        status = self.inside.get(function, references, n, present, n_values)
        return status > WARNING or list(present) != list(buffer)

    def set_rates(self, reals: Reals, rates: Array) -> int:
        """Let inputs that were just set go on as straight lines in the next step."""
        able = [k for k, v in enumerate(reals.variables) if (v.function, v.reference) in self._continuous]
        if able:
            self._line = (Reals([reals.variables[k] for k in able]), reals.values[able].copy(), np.asarray(rates)[able])
        return OK

    def output_rates(self, references: Sequence[int], n_values: int) -> tuple[int, Array]:
        raise NotImplementedError("model exchange has no derivatives of outputs")

    def directional(
        self, unknowns: Sequence[int], knowns: Sequence[int], seed: Sequence[float], n_values: int
    ) -> tuple[int, Array]:
        status, found = self.inside.directional(unknowns, knowns, seed, n_values)
        return self._told(status), found

    # ---- states

    @property
    def _state(self) -> str:
        return self.inside._state

    def save(self, state: Any) -> int:
        status = self._told(self.inside.save(state))
        if status <= WARNING:
            self._kept[state.value] = self._memory.copy()
        return status

    def restore(self, state: Any) -> int:
        status = self._told(self.inside.restore(state))
        if status <= WARNING:
            self._memory, self._line, self.ends = self._kept[state.value].copy(), None, False
        return status

    def free_state(self, state: Any) -> int:
        self._kept.pop(state.value, None)
        return self._told(self.inside.free_state(state))

    def to_bytes(self, state: Any) -> tuple[int, bytes]:
        """Return what the solver remembers as a line of JSON, and the FMU's bytes."""
        status, data = self.inside.to_bytes(state)
        return self._told(status), self._kept[state.value].as_line() + data

    def from_bytes(self, data: bytes, state: Any) -> int:
        line, _, inner = data.partition(b"\n")
        status = self._told(self.inside.from_bytes(inner, state))
        if status <= WARNING:
            self._kept[state.value] = _Memory.from_line(line)
        return status

    # ---- steps

    def do_step(self, t: float, h: float, final: bool) -> int:
        self.called = f"{self.prefix}DoStep"
        memory = self._memory
        if not (math.isfinite(t) and math.isfinite(h) and h > 0.0) or abs(t - memory.t) > 1e-6 * h + 4.0 * math.ulp(t):
            self._say(ERROR, f"the step from {t:g} s by {h:g} s is none from {memory.t:g} s on")
            return ERROR
        end, self.ends = t + h, False
        self.reached = memory.t = t
        try:
            if memory.in_events or memory.written != memory.known:
                if not memory.in_events:
                    self._checked(self.inside.enter_events())
                    memory.in_events = True
                self._handle_events(inputs_only=True)
            # a rejected try may be anywhere
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                self._go(end, final)
        except _StatusError as error:
            self.reached = memory.t
            return error.status
        self._end_lines()
        memory.known = dict(memory.written)
        self.reached = memory.t
        self.called = f"{self.prefix}DoStep"
        return DISCARD if self.ends else OK

    def _say(self, status: int, text: str) -> None:
        self._hear(status, b"logStatusError" if status == ERROR else b"logStatusDiscard", f"solver: {text}".encode())

    def _go(self, end: float, final: bool) -> None:
        """Go on to the end of the step, from one event to the next."""
        memory, least = self._memory, _SAME * max(end - self._memory.t, abs(end) * 1e-3)
        here, at_once = memory.t, 0
        begun = memory.t
        while not self.ends and end - memory.t > least:
            stop = end
            if memory.next_time is not None and memory.next_time < end - least:
                stop = max(memory.next_time, memory.t)
            event = self._until(stop, begun, final) if stop > memory.t else False
            timed = memory.next_time is not None and memory.next_time <= memory.t + least
            if (event or timed) and not self.ends:
                self._checked(self.inside.enter_events())
                memory.in_events = True
                self._handle_events()
                at_once = at_once + 1 if memory.t <= here else 0
                here = memory.t
                if at_once > _MOST_EVENTS:
                    self._say(DISCARD, f"more than {_MOST_EVENTS} events at t = {memory.t:.9g} s")
                    raise _StatusError(DISCARD)
        if not self.ends:
            memory.t = end

    def _until(self, stop: float, begun: float, final: bool) -> bool:
        """Integrate to a time, or to the first state or step event before it; return whether there was one."""
        memory = self._memory
        if self._n:
            self._checked(self.inside.get_states(self._x, self._n))
        x = np.array(self._x)
        sides = self._sides(memory.t, x, begun)
        if not self._n:
            bounded = memory.t + (self.solver.max_step or math.inf)
            return self._arrive(min(stop, bounded), lambda: lambda t: x, sides, begun, final)
        method = self._method(stop, x, begun)
        while method.status == "running":
            try:
                said = method.step()
            except (ValueError, ArithmeticError) as error:  # matrices of numbers that are none
                said, method.status = str(error), "failed"
            if method.status == "failed":
                self._say(DISCARD, f"no step from t = {memory.t:.9g} s on is accurate enough: {said}")
                raise _StatusError(DISCARD)
            if method.t < stop or not math.isfinite(memory.size):
                memory.size = method.h_abs
            else:
                # the last step was cut short, which says nothing against a longer one
                memory.size = max(memory.size, method.h_abs)
            if self._arrive(method.t, method.dense_output, sides, begun, final, method.y):
                return True
        return False

    def _method(self, stop: float, x: Array, begun: float) -> Any:
        from scipy import integrate

        memory, left = self._memory, stop - self._memory.t
        most = self.solver.max_step or math.inf
        absolute = self.tolerance * memory.nominals
        if not math.isfinite(memory.size):
            memory.size = self._first_size(x, left, absolute, begun)
        return getattr(integrate, METHODS[self.solver.method])(
            lambda t, y: self._rates_at(t, y, begun),
            memory.t,
            x,
            stop,
            first_step=min(memory.size, left, most),
            max_step=most,
            rtol=max(self.tolerance, 1e-13),
            atol=absolute,
        )

    def _first_size(self, x: Array, left: float, absolute: Array, begun: float) -> float:
        """Return a size over which states change by a hundredth of themselves; it soon grows.

        SciPy's own choice tries a step, and does not end where that has no rates.
        """
        rates = self._rates_at(self._memory.t, x, begun)
        if not np.all(np.isfinite(rates)):
            self._say(DISCARD, f"there are no rates of the states at t = {self._memory.t:.9g} s")
            raise _StatusError(DISCARD)
        scale = absolute + self.tolerance * np.abs(x)
        size, change = (float(np.linalg.norm(each / scale)) for each in (x, rates))
        return 0.01 * size / change if size > 1e-5 and change > 1e-5 else 1e-3 * left

    def _arrive(
        self, t: float, interpolant: Any, sides: NDArray[np.bool_], begun: float, final: bool, x: Array | None = None
    ) -> bool:
        """Put the FMU where a step of the solver ends, or at the first state event within it.

        `interpolant` makes the function of time between the ends.  Return whether there is an event.
        """
        memory = self._memory
        if x is None:
            x = interpolant()(t)
        crossed = bool(self._nz) and bool(np.any(self._sides(t, x, begun) != sides))
        if crossed:
            between, low = interpolant(), memory.t
            while low < (middle := 0.5 * (low + t)) < t:
                if np.any(self._sides(middle, between(middle), begun) != sides):
                    t, x = middle, between(middle)
                else:
                    low = middle
        self._put(t, x, begun)
        memory.t = t
        event = False
        if self.about.tells_steps:
            status, event, ends = self.inside.complete_step(final)
            self._checked(status)
            self.ends = self.ends or ends
        return crossed or event or self.ends

    def _put(self, t: float, x: Array, begun: float) -> None:
        """Give the FMU time, states and inputs."""
        self._checked(self.inside.set_time(t))
        if self._n:
            self._x[:] = x.tolist()
            self._checked(self.inside.set_states(self._x, self._n))
        if self._line is not None:
            reals, first, rates = self._line
            reals.values[:] = first + rates * (t - begun)
            self._checked(self._values.set_reals(reals))

    def _rates_at(self, t: float, x: Array, begun: float) -> Array:
        """Return ẋ; numbers that are none where the FMU has none, from which methods go back to a shorter step."""
        try:
            self._put(t, x, begun)
            self._checked(self.inside.get_rates(self._dx, self._n))
        except _StatusError as error:
            if error.status != DISCARD:
                raise
            return np.full(self._n, np.nan)
        return np.array(self._dx)

    def _sides(self, t: float, x: Array, begun: float) -> NDArray[np.bool_]:
        """Return on which side each event indicator is."""
        if not self._nz:
            return np.zeros(0, dtype=np.bool_)
        self._put(t, x, begun)
        self._checked(self.inside.get_indicators(self._z, self._nz))
        return np.array(self._z) > 0.0

    def _end_lines(self) -> None:
        """Take note of where inputs are that went on as straight lines, so that going on so is no jump."""
        if self._line is not None:
            for part in self._line[0].parts:
                key = (part.function, bytes(part.pointer))
                if key in self._memory.written:
                    self._memory.written[key] = bytes(part.buffer)
            self._line = None

    # ---- events

    def _handle_events(self, inputs_only: bool = False) -> None:
        """Update discrete states until they stay, and go on in continuous time."""
        memory = self._memory
        nominals_changed = values_changed = False
        for _ in range(_MOST_UPDATES):
            told = self.inside.update_states()
            self._checked(told.status)
            nominals_changed |= told.nominals_changed
            values_changed |= told.values_changed
            memory.next_time = told.next_time
            if told.ends:
                # an FMU that ends the run stays in event mode, where it can be read and terminated
                self.ends = True
                return
            if not told.again:
                break
        else:
            self._say(ERROR, f"discrete states do not settle at t = {memory.t:.9g} s in {_MOST_UPDATES} updates")
            raise _StatusError(ERROR)
        self._checked(self.inside.enter_continuous())
        memory.in_events = False
        if values_changed or not inputs_only:
            # what was before the event says little of how long steps may be
            memory.size = math.nan
        if nominals_changed:
            self._find_nominals()

    def _find_nominals(self) -> None:
        found = (ctypes.c_double * self._n)()
        if self._n:
            self._checked(self.inside.get_nominals(found, self._n))
        nominals = np.abs(np.array(found))
        self._memory.nominals = np.where(np.isfinite(nominals) & (nominals > 0.0), nominals, 1.0)

    @property
    def nominals(self) -> Array:
        """Return the nominal values of the states."""
        return self._memory.nominals

    # ---- what only the FMU inside does

    def get_rates(self, buffer: Any, n: int) -> int:
        return self._told(self.inside.get_rates(buffer, n))

    def update_states(self) -> Any:
        raise NotImplementedError("events are handled by steps")


def open_fmu(description: Description, folder: Path, name: str, solver: ExchangeSolver | None = None) -> FMUCalls:
    """Return the functions of an unpacked FMU for co-simulation: its own, or those of a solver around it."""
    calls = load(description, folder, name)
    if description.kind == MODEL_EXCHANGE:
        return ExchangedCalls(calls, description, solver or ExchangeSolver())
    return calls
