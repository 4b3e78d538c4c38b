"""`liegeo.simulate`: a model, a state, an end; everything else has an answer if none is given.

The method, if none is given: for a model without elasticity and damping Dormand–Prince 5(4).  Otherwise it and adaptive
generalised-α both run some way ahead, further and further, and the one that does so at less cost is taken.  Costs are
counted, not timed: the same call makes the same choice on every machine.

Output between steps is the cubic of integrate/adaptive.py (3), right to h⁴, or Dormand–Prince's quartic (4), right to
h⁵; methods of a higher order are as exact as they can be only where their steps end.  A run is made in pieces of about
a tenth of a second; between them Ctrl-C is heard, the bar moves and the checkpoint is written, and where they end
changes no bit.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo import checkpoints
from liegeo.assembly import assemble, check_closed, project
from liegeo.errors import InputError, SimulationError
from liegeo.integrate import (
    ALL_ADAPTIVE,
    ALL_INTEGRATORS,
    RKMK4,
    AdaptiveAlpha,
    AdaptiveMethod,
    AdaptiveStepper,
    AdaptiveTrajectory,
    DormandPrince54,
    Event,
    GeneralisedAlpha,
    Method,
    Problem,
    Stepper,
)
from liegeo.integrate.adaptive import FINISHED, FULL, find_events, join
from liegeo.integrate.calls import data_of
from liegeo.integrate.methods import explain
from liegeo.kernels import layout as at
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State
from liegeo.motion import Drive
from liegeo.results import Result, RunInfo
from liegeo.results.progress import Progress

Array = NDArray[np.float64]

# Steps of the first and of the last trial, and what a step costs, in evaluations of the dynamics.
_TRIAL, _LONGEST_TRIAL = 50, 400
_COST = {DormandPrince54.name: 6.0, AdaptiveAlpha.name: 5.0}

# Samples, if nothing is said about them.
_SAMPLES = 1000
# A piece of a run should take so many seconds, and has at most so many steps; the first, which finds out, has fewer:
# as many as move so many speeds together, within bounds.
_PIECE, _LARGEST_PIECE = 0.1, 4096
_FIRST_PIECE, _FEWEST_AT_FIRST, _MOST_AT_FIRST = 16384, 16, 512


def simulate(
    model: Model,
    state: State | None = None,
    t_end: float = 1.0,
    *,
    inputs: Any = None,
    method: Method | AdaptiveMethod | str | None = None,
    step: float | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    max_step: float = np.inf,
    output: ArrayLike | str | None = None,
    every: int = 1,
    events: Sequence[Event] = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    watch: Callable[[Result], object] | None = None,
) -> Result:
    """The motion of a model from a state (at rest, if none is given) to t_end.

    - `inputs`: what drives it, by name: numbers, samples, splines, functions (liegeo/motion.py).
    - `method`: a method of liegeo.integrate or its name; chosen if not given.  Methods of fixed step need `step`; with
      `step` alone it is generalised-α, or RKMK4 if the model is rigid.
    - `rtol`, `atol`, `max_step`: for methods that choose their steps.
    - `output`: times, or a number, the time between samples, or "steps": the end of every step, or of each `every`-th.
      If not given, a thousand samples.
    - `events`: Event(function of (t, state), direction, terminal); where they happened is in result.info.events.
    - `progress`: show a bar; None: if there is a terminal.
    - `checkpoint`: a file, written every `checkpoint_every` seconds.  If it is there, and of this same run, the run
      goes on from it, and gives the same bits as one that was never interrupted; a run that is complete deletes it.
    - `watch`: called between pieces of the run, about ten times a second, with the samples that are new.

    Ctrl-C returns what there is.  If a step cannot be taken, SimulationError has what there is as `result`.
    """
    _check_model(model)
    start = assemble(model, inputs=inputs) if state is None else state
    run = _Run(model, start, t_end, inputs, method, step, rtol, atol, max_step, output, every, events)
    return run.run(progress, None if checkpoint is None else Path(checkpoint), checkpoint_every, watch)


def usual_method(
    model: Model,
    state: State,
    t_end: float,
    *,
    inputs: Any = None,
    step: float | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> Method | AdaptiveMethod:
    """The method that `simulate` takes if none is given."""
    return _Run(model, state, t_end, inputs, None, step, rtol, atol, np.inf, None, 1, ()).method


@dataclass
class _Samples:
    """Samples taken so far: at wanted times, or at each so many steps."""

    wanted: Array | None
    every: int
    t: list[Array] = field(default_factory=list)
    y: list[Array] = field(default_factory=list)
    taken: int = 0
    steps: int = 0

    def take(self, piece: AdaptiveTrajectory, last: bool, stop: tuple[float, Array] | None) -> None:
        """From a piece of a trajectory that begins where the one before it ended, up to the event that ended the run.

        What was there is then the last sample.
        """
        until = np.inf if stop is None else stop[0]
        k = np.arange(1, len(piece.t))
        k = k[piece.t[k] < until]
        if self.wanted is None:
            chosen = k[((self.steps + k) % self.every == 0) | (last & (k == len(piece.t) - 1))]
            self.t.append(piece.t[chosen])
            self.y.append(piece.y[chosen])
        else:
            self._take_wanted(self.wanted, piece, last, until)
        self.steps += len(k)
        if stop is not None:
            self.steps += 1
            if not any(len(times) and times[-1] >= until for times in self.t):
                self.t.append(np.array([until]))
                self.y.append(stop[1][np.newaxis].copy())

    def _take_wanted(self, wanted: Array, piece: AdaptiveTrajectory, last: bool, until: float) -> None:
        end = len(wanted) if last else int(np.searchsorted(wanted, piece.t[-1], side="right"))
        times = wanted[self.taken : end]
        times = times[times <= min(until, piece.t[-1] + 1e-9 * abs(piece.t[-1] - piece.t[0]))]
        if len(times):
            self.t.append(times)
            self.y.append(_at(piece, np.minimum(np.maximum(times, piece.t[0]), piece.t[-1])))
            self.taken += len(times)

    def arrays(self) -> tuple[Array, Array]:
        return np.concatenate(self.t), np.concatenate(self.y)


def _steps(t: Array, times: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """By time: the index of the end of a step that is there but for round-off, or comes next; whether it comes next."""
    k = np.minimum(np.maximum(np.searchsorted(t, times), 1), len(t) - 1)
    slack = 1e-9 * (t[k] - t[k - 1])
    k = np.where(times - t[k - 1] <= slack, k - 1, k)
    return k, np.abs(times - t[k]) > slack


def _at(piece: AdaptiveTrajectory, times: Array) -> Array:
    """Elements at these times: where a step ends its own end, between steps what the trajectory says."""
    k, between = _steps(piece.t, times)
    y = piece.y[k]
    if between.any():
        y[between] = piece(times[between])
    return y


class _Run:
    """One simulation: what it was asked for, and how far it is."""

    def __init__(
        self,
        model: Model,
        state: State,
        t_end: float,
        inputs: Any,
        method: Method | AdaptiveMethod | str | None,
        step: float | None,
        rtol: float,
        atol: float,
        max_step: float,
        output: Any,
        every: int,
        events: Sequence[Event],
    ) -> None:
        _check(model, state, t_end, step, rtol, atol, max_step, every)
        self.model, self.events = model, events
        self.start = float(state.t)
        self.end = float(t_end)
        self.drive = Drive(model, inputs)
        if model.rows:
            check_closed(model, state, self.drive)
            state = project(model, state, self.drive)
        self.problem = Problem.of(
            self.drive.system, state.q, state.v, self.end, t_start=self.start, name=model.tree.name
        )
        self.tolerances = {"rtol": float(rtol), "atol": float(atol), "max_step": float(max_step)}
        self.method = self._choose(method, step)
        self.step = self._step(step)
        self.samples = _Samples(self._times(output), every)
        self.rejected = 0
        self.found: list[list[tuple[float, Array]]] = [[] for _ in events]
        here = np.array([self.start])
        self.samples.t.append(here)
        self.samples.y.append(np.array(self.problem.start)[np.newaxis].copy())
        if self.samples.wanted is not None:
            first = int(np.searchsorted(self.samples.wanted, self.start, side="right"))
            if first == 0:
                self.samples.t, self.samples.y = [np.zeros(0)], [np.zeros((0, self.problem.group.element_shape[0]))]
            self.samples.taken = first
        if isinstance(self.method, AdaptiveMethod):
            self.stepper: AdaptiveStepper | Stepper = AdaptiveStepper(self.problem, self.method, **self.tolerances)
        else:
            self.stepper = Stepper(self.problem, self.method)
        self.last = self._point()
        self.why, self.failed, self.ctrl_c = "", False, False
        # Samples that a watcher knows of.
        self.told = 0

    # ---- what was asked for

    def _choose(self, method: Any, step: float | None) -> Method | AdaptiveMethod:
        if isinstance(method, str):
            known: dict[str, Method | AdaptiveMethod] = {m.name: m for m in ALL_INTEGRATORS}
            known |= {m.name: m for m in ALL_ADAPTIVE}
            if method not in known:
                raise InputError(f"simulate: there is no method '{method}'.{suggest(method, list(known))}")
            return known[method]
        if isinstance(method, Method | AdaptiveMethod):
            return method
        if method is not None:
            raise InputError(f"simulate: method is {method!r}, expected a method of liegeo.integrate or its name.")
        if step is not None:
            return GeneralisedAlpha if _is_elastic(self.model) else RKMK4
        if not _is_elastic(self.model) or self.end == self.start:
            return DormandPrince54
        return AdaptiveAlpha if self._is_stiff() else DormandPrince54

    def _is_stiff(self) -> bool:
        """Whether the implicit method gets on for less than the explicit one."""
        implicit, explicit = (
            AdaptiveStepper(self.problem, method, **self.tolerances) for method in (AdaptiveAlpha, DormandPrince54)
        )
        n = _TRIAL
        while True:
            # the same stretch of time with both, but no more than four times the cost for the explicit one
            spent, status = _cost(implicit, n)
            other, both = 0.0, FULL
            while explicit.t < implicit.t and both == FULL and other <= 4.0 * spent:
                more, both = _cost(explicit, 16)
                other += more
            # one that cannot go on was cheap, but is no choice if the other can
            if both not in (FULL, FINISHED) or status not in (FULL, FINISHED):
                return both not in (FULL, FINISHED)
            if explicit.t < implicit.t or n > _LONGEST_TRIAL or status != FULL:
                return other > spent
            n *= 2

    def _step(self, step: float | None) -> float:
        """The step of a method of fixed step, made a divisor of the whole time."""
        if isinstance(self.method, AdaptiveMethod):
            if step is not None:
                raise InputError(
                    f"simulate: step is {step!r}, but {self.method.name} chooses its own.\n"
                    "  Give rtol and atol, or max_step, or a method of fixed step."
                )
            return 0.0
        if step is None:
            raise InputError(f"simulate: {self.method.name} is a method of fixed step; give step=… in seconds.")
        n, whole = self.n_steps(step), self.end - self.start
        # the step itself if it fits but for round-off: a unit that makes the same steps then has the same bits
        return float(step) if abs(n * step - whole) <= 1e-13 * whole else whole / n

    def n_steps(self, step: float) -> int:
        return max(1, int(np.ceil((self.end - self.start) / step * (1.0 - 1e-12))))

    def _times(self, output: Any) -> Array | None:
        if isinstance(output, str):
            if output != "steps":
                raise InputError(f"simulate: output is {output!r}, expected times, a number, or 'steps'.")
            return None
        if output is None:
            return np.asarray(np.linspace(self.start, self.end, _SAMPLES + 1), dtype=np.float64)
        if np.ndim(output) == 0:
            spacing = float(output)
            if not spacing > 0.0:
                raise InputError(f"simulate: output is {output!r}, the time between samples must be > 0.")
            n = int(np.floor((self.end - self.start) / spacing * (1.0 + 1e-12)))
            return np.asarray(self.start + spacing * np.arange(n + 1), dtype=np.float64)
        times = np.asarray(output, dtype=np.float64)
        if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or not (np.diff(times) > 0.0).all():
            raise InputError("simulate: output times must be finite numbers that rise strictly.")
        if times[0] < self.start or times[-1] > self.end:
            raise InputError(
                f"simulate: output times go from {times[0]:.6g} to {times[-1]:.6g}, outside of the run, "
                f"{self.start:.6g} to {self.end:.6g}."
            )
        return times

    # ---- the run

    def run(
        self, progress: bool | None, path: Path | None, seconds_between: float, watch: Callable[[Result], object] | None
    ) -> Result:
        began = time.perf_counter()
        saved = None if path is None else checkpoints.Checkpoint(path, self._identity(), seconds_between)
        spent = self._restore(saved) if saved is not None else 0.0
        whole = True
        with Progress(self.end - self.start, self.model.tree.name, progress) as bar, CtrlC() as ctrl_c:
            try:
                more = self.end > self.start and self.last.t[-1] < self.end
                n = max(_FEWEST_AT_FIRST, min(_MOST_AT_FIRST, _FIRST_PIECE // self.model.nv))
                while more and not ctrl_c.pressed:
                    before = time.perf_counter()
                    more = self._advance(n)
                    took = max(time.perf_counter() - before, 1e-6)
                    n = max(1, min(_LARGEST_PIECE, 8 * n, int(n * _PIECE / took)))
                    bar.update(float(self.last.t[-1]) - self.start, self.samples.steps)
                    if watch is not None:
                        self._tell(watch, time.perf_counter() - began)
                    if saved is not None and more and saved.is_due():
                        saved.write(self._content(spent + time.perf_counter() - began))
            except KeyboardInterrupt:
                # a second Ctrl-C, in the middle of a piece
                whole = False
        error, self.ctrl_c = self.drive.error, ctrl_c.pressed
        by_function = isinstance(error, KeyboardInterrupt)
        interrupted = by_function or not whole or (ctrl_c.pressed and more)
        if interrupted:
            error = None
            self.why = f"interrupted at t = {self.last.t[-1]:.6g} s"
            if saved is not None and whole:
                saved.write(self._content(spent + time.perf_counter() - began))
        elif saved is not None and not self.failed:
            saved.delete()
        result = self._result(*self.samples.arrays(), spent + time.perf_counter() - began)
        if self.failed and not interrupted:
            raise SimulationError(
                f"simulate: {self.why}\n  What there is so far is in the error's `result`.", result
            ) from error
        return result

    def _advance(self, n: int) -> bool:
        """A piece of the run; False if it is over."""
        if isinstance(self.stepper, AdaptiveStepper):
            piece, status = self.stepper.advance(n)
            more, failed = status == FULL, status not in (FULL, FINISHED)
            why, now = self.stepper.why, self.stepper.t
            self.rejected += piece.rejected
            whole = join([self.last, piece])
        else:
            before = self.stepper.done
            left = self.n_steps(self.step) - before
            ends, status = self.stepper.record(self.step, min(n, left))
            more, failed = not status and self.stepper.done < before + left, status != 0
            now = self._time(self.stepper.done)
            whole, lost = self._fixed_piece(before, ends)
            if lost:
                more, failed, now, status = False, True, float(whole.t[-1]), lost
            why = explain(self.problem.system, status, self.stepper.y, self.problem.start) if failed else ""
        stop = find_events(whole, self._group_events, self.found) if self.events else None
        if stop is not None:
            # the piece may go on beyond it
            self.found = [[place for place in places if place[0] <= stop[0]] for places in self.found]
            more = failed = False
            self.why = f"event at t = {stop[0]:.6g} s"
        self.samples.take(whole, not more, stop)
        self.last = AdaptiveTrajectory(whole.group, whole.t[-1:], whole.y[-1:], whole.f[-1:], 0, ())
        if stop is not None:
            self.last = replace(self.last, t=np.array([stop[0]]), y=stop[1][np.newaxis].copy())
        if failed:
            self.failed = True
            try:
                self.model.check_custom()
            except Exception as error:
                self.drive.error = error
            self.why = f"at t = {now:.6g} s: {self.drive.error or why}"
        return more

    def _time(self, done: int) -> float:
        return self.end if done == self.n_steps(self.step) else self.start + done * self.step

    def _fixed_piece(self, before: int, ends: Array) -> tuple[AdaptiveTrajectory, int]:
        """Steps of fixed size as a trajectory; fields only where something will be asked between them.

        It ends before the first place where there is none; the second result is that status.
        """
        t = self.start + self.step * np.arange(before, before + len(ends) + 1, dtype=np.float64)
        if before + len(ends) == self.n_steps(self.step):
            t[-1] = self.end
        y = np.concatenate([self.last.y, ends])
        f = np.zeros((len(t), self.problem.group.dim))
        wanted = self.samples.wanted
        needed: Sequence[int]
        if self.events:
            needed = range(len(t))
        elif wanted is None:
            needed = range(0)
        else:
            first, last = np.searchsorted(wanted, t[[0, -1]], side="right")
            ends_at, between = _steps(t, wanted[first:last])
            needed = sorted({*ends_at[between], *(ends_at[between] - 1)}) if between.any() else range(0)
        status, end = 0, len(t)
        for k in needed:
            status = self._field(t[k], y[k], f[k])
            if status:
                end = max(1, k)
                break
        return AdaptiveTrajectory(self.problem.group, t[:end], y[:end], f[:end], 0, ()), status

    @functools.cached_property
    def _data(self) -> tuple[Any, Array, Array]:
        return data_of(self.drive.system)

    def _field(self, t: float, y: Array, out: Array) -> int:
        I, F, W = self._data
        return int(self.problem.field(I, F, float(t), np.ascontiguousarray(y), W, out))

    @functools.cached_property
    def _group_events(self) -> list[Event]:
        """Events of (t, state) as functions of (t, Y)."""
        nq = self.model.nq

        def on_states(function: Any) -> Any:
            return lambda t, y: float(function(t, State(np.array(y[:nq]), np.array(y[nq:]), t)))

        return [Event(on_states(event.function), event.direction, event.terminal) for event in self.events]

    def _point(self) -> AdaptiveTrajectory:
        if isinstance(self.stepper, AdaptiveStepper):
            return self.stepper.here()
        # of steps of fixed size fields are found where they are needed
        group, y = self.problem.group, self.stepper.y[np.newaxis].copy()
        return AdaptiveTrajectory(group, np.array([self.start]), y, np.zeros((1, group.dim)), 0, ())

    def _tell(self, watch: Callable[[Result], object], seconds: float) -> None:
        """What has been sampled since the last time."""
        known, t, y = self.told, [], []
        for times, elements in zip(self.samples.t, self.samples.y, strict=True):
            t.append(times[known:])
            y.append(elements[known:])
            known = max(0, known - len(times))
        new = np.concatenate(t)
        self.told += len(new)
        if len(new):
            watch(self._result(new, np.concatenate(y), seconds))

    def _result(self, t: Array, y: Array, seconds: float) -> Result:
        if not len(t):
            t, y = self.last.t, self.last.y
        nq = self.model.nq
        q, v = y[:, :nq], y[:, nq:]
        if self.model.rows and self.samples.wanted is not None and self.drive.error is None:
            # what was interpolated between steps is near the constraints, not on them
            # (of a run that failed, the last may not be)
            rows = zip(q, v, t, strict=True)
            closed = [project(self.model, State(*row), self.drive, check=False) for row in rows]
            q, v = np.stack([state.q for state in closed]), np.stack([state.v for state in closed])
        u = np.stack([self._inputs(*row) for row in zip(t, q, v, strict=True)])
        events = tuple(
            tuple(State(place[:nq].copy(), place[nq:].copy(), when) for when, place in places) for places in self.found
        )
        finished = not self.failed and (not self.why or self.why.startswith("event"))
        counts = self.method.name, self.samples.steps, self.rejected, seconds
        info = RunInfo(*counts, finished, self.why, events, self.ctrl_c)
        return Result(self.model, t, q, v, u, info)

    def _inputs(self, t: float, q: Array, v: Array) -> Array:
        if self.drive.error is not None:
            return np.full(self.model.nv + self.model.nu, np.nan)
        return self.drive.values(float(t), np.ascontiguousarray(q), np.ascontiguousarray(v))

    # ---- checkpoints

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint."""
        wanted = self.samples.wanted
        return {
            "model": checkpoints.digest(self.model.fingerprint, self.model.floats),
            "start": checkpoints.digest(np.asarray(self.problem.start), np.array([self.start])),
            "t_end": self.end,
            "inputs": [*self.drive.functions, checkpoints.digest(*self.drive.data)],
            "method": f"{self.method.name} {checkpoints.digest(_coefficients(self.method))}",
            "memory": list(self.stepper.memory.shape),
            "step": self.step,
            "tolerances": "" if self.step else repr(self.tolerances),
            "output": f"every {self.samples.every}" if wanted is None else checkpoints.digest(wanted),
            "events": len(self.events),
        }

    def _content(self, seconds: float) -> dict[str, Array]:
        t, y = self.samples.arrays()
        self.samples.t, self.samples.y = [t], [y]
        numbers = [self.samples.taken, self.samples.steps, self.rejected, seconds]
        content = {"t": t, "y": y, "numbers": np.array(numbers), "memory": self.stepper.memory.copy()}
        content |= {"last_t": self.last.t, "last_y": self.last.y, "last_f": self.last.f, "here": self.stepper.y.copy()}
        if isinstance(self.stepper, AdaptiveStepper):
            content["control"] = self.stepper.control.copy()
        else:
            content["done"] = np.array(self.stepper.done)
        for k, places in enumerate(self.found):
            content[f"event_{k}_t"] = np.array([when for when, _ in places])
            content[f"event_{k}_y"] = np.array([place for _, place in places]).reshape(-1, len(self.stepper.y))
        return content

    def _restore(self, saved: checkpoints.Checkpoint) -> float:
        """Go on from a checkpoint, if there is one; returns the seconds that were spent before it."""
        content = saved.read()
        if content is None:
            return 0.0
        self.samples.t, self.samples.y = [content["t"]], [content["y"]]
        taken, steps, rejected, seconds = content["numbers"]
        self.samples.taken, self.samples.steps, self.rejected = int(taken), int(steps), int(rejected)
        self.stepper.memory[:] = content["memory"]
        self.stepper.y[:] = content["here"]
        self.last = AdaptiveTrajectory(
            self.problem.group, content["last_t"], content["last_y"], content["last_f"], 0, ()
        )
        if isinstance(self.stepper, AdaptiveStepper):
            self.stepper.control[:] = content["control"]
        else:
            # no step of it sets what steps are counted from
            self.stepper.record(self.step, 0)
            self.stepper.done = int(content["done"])
        for k, places in enumerate(self.found):
            times, ends = content[f"event_{k}_t"], content[f"event_{k}_y"]
            places.extend((float(when), end) for when, end in zip(times, ends, strict=True))
        return float(seconds)


class CtrlC:
    """Ctrl-C is noted and heard between pieces, so that what is kept is whole; a second one is heard at once."""

    def __enter__(self) -> Self:
        self.pressed = False
        self._before: Any = None
        # Only the main thread may, and only it gets the signal.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def _coefficients(method: Method | AdaptiveMethod) -> Array:
    return method.coefficients(1.0) if isinstance(method, AdaptiveMethod) else method.coefficients


def _cost(stepper: AdaptiveStepper, n: int) -> tuple[float, int]:
    """What n more steps cost, and the status after them."""
    piece, status = stepper.advance(n)
    return _COST[stepper.method.name] * (len(piece.t) + piece.rejected), status


def _is_elastic(model: Model) -> bool:
    """Whether there is anything that can be stiff: modes, joints with springs, dampers or friction, springs between."""
    rows = [at.HEADER + i * at.BODY_I_SIZE for i in range(len(model.bodies))]
    passive = any(model.ints[row + at.PASSIVE] or model.ints[row + at.NM] for row in rows)
    return bool(passive or model.ints[at.N_ELEMENTS])


def _check_model(model: Any) -> None:
    if not isinstance(model, Model):
        hint = "\n  Call compile() on it." if hasattr(model, "compile") else ""
        raise InputError(f"simulate: model is {model!r}, expected a compiled Model.{hint}")


def _check(model: Model, state: Any, t_end: Any, step: Any, rtol: Any, atol: Any, max_step: Any, every: Any) -> None:
    model.check(state, "simulate")
    if not np.isfinite(t_end) or t_end < state.t:
        raise InputError(f"simulate: t_end is {t_end!r}, expected a finite time not before the state's, {state.t:.6g}.")
    for name, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step), ("step", step)):
        if value is not None and not value > 0.0:
            raise InputError(f"simulate: {name} is {value!r}, must be > 0.")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise InputError(f"simulate: every is {every!r}, expected a whole number ≥ 1.")
