"""`liegeo.simulate`: a model, a state, an end; everything else has an answer if none is given.

Which method it is, and how exact, is decided in choice.py.

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
from liegeo.account import Account
from liegeo.assembly import assemble, check_closed, project
from liegeo.choice import Limits, choose
from liegeo.errors import Field, InputError, SimulationError
from liegeo.integrate import (
    AdaptiveMethod,
    AdaptiveStepper,
    AdaptiveTrajectory,
    Event,
    Method,
    Problem,
    Stepper,
)
from liegeo.integrate.adaptive import FINISHED, FULL, find_events, join
from liegeo.integrate.calls import data_of
from liegeo.model.checks import check_size
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, also_of_mechanisms, as_model
from liegeo.motion import Drive
from liegeo.results import Result, RunInfo
from liegeo.results.progress import Progress
from liegeo.status import explain

Array = NDArray[np.float64]

# Samples, if nothing is said about them.
_SAMPLES = 1000
# Steps of fixed size in a run: nobody waits for more.
_MOST_STEPS = 1e12
# A run with more numbers in its samples is a mistake in a unit: they would take eight gigabytes.
_MOST_NUMBERS = 1e9
# A piece of a run should take so many seconds, and has at most so many steps; the first, which finds out, has fewer:
# as many as move so many speeds together, within bounds.
_PIECE, _LARGEST_PIECE = 0.1, 4096
_FIRST_PIECE, _FEWEST_AT_FIRST, _MOST_AT_FIRST = 16384, 16, 512


@also_of_mechanisms
def simulate(
    model: Model | HasModel,
    state: State | None = None,
    t_end: float = 1.0,
    *,
    inputs: Any = None,
    method: Method | AdaptiveMethod | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    accuracy: Any = None,
    max_step: float = np.inf,
    output: ArrayLike | str | None = None,
    every: int = 1,
    events: Sequence[Event] = (),
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    watch: Callable[[Result], object] | None = None,
) -> Result:
    """Return the motion of a model from a state (at rest, if none is given) to t_end.

    A Mechanism, as `liegeo.load` returns it, runs its own experiment, in which arguments replace what its file says.

    - `inputs`: what drives it, by name: numbers, samples, splines, functions (liegeo/motion.py).
    - `method`: a method of liegeo.integrate or its name; chosen if not given.  Methods of fixed step need `step`; with
      `step` alone it is generalised-α, or RKMK4 if the model is rigid.
    - `accuracy`: of positions and orientations at the end: "1 mm", "0.1 deg", both, or a number of metres
      (liegeo/accuracy.py).  If neither it nor a tolerance is given, 1e-6 of the size of the mechanism, and for methods
      of order two, as adaptive generalised-α is, 1e-4.
    - `rtol`, `atol`: tolerances of the coordinates in each step in place of an accuracy; if one of them is given, the
      other is 1e-6 or 1e-8, for methods of order two 1e-5 or 1e-6.  `max_step`: the longest step.
    - `output`: times, or a number, the time between samples, or "steps": the end of every step, or of each `every`-th.
      If not given, a thousand samples.
    - `events`: Event(function of (t, state), direction, terminal); where they happened is in result.info.events.
    - `progress`: show a bar; None: if there is a terminal.
    - `checkpoint`: a file, written every `checkpoint_every` seconds.  If it is there, and of this same run, the run
      goes on from it, and gives the same bits as one that was never interrupted; a run that is complete deletes it.
    - `watch`: called between pieces of the run, about ten times a second, with the samples that are new.

    Ctrl-C returns what there is.  If a step cannot be taken, SimulationError has what there is as `result`.
    """
    model = as_model(model, "simulate")
    start = assemble(model, inputs=inputs) if state is None else state
    run = _Run(model, start, t_end, inputs, method, step, rtol, atol, accuracy, max_step, output, every, events)
    return run.run(progress, None if checkpoint is None else Path(checkpoint), checkpoint_every, watch)


def usual_method(
    model: Model,
    state: State,
    t_end: float,
    *,
    inputs: Any = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    accuracy: Any = None,
) -> Method | AdaptiveMethod:
    """Return the method that `simulate` takes if none is given."""
    return _Run(model, state, t_end, inputs, None, step, rtol, atol, accuracy, np.inf, None, 1, ()).method


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


@dataclass(frozen=True)
class _Piece:
    """n equal steps from start to end."""

    start: float
    end: float
    step: float
    n: int

    @classmethod
    def of(cls, start: float, end: float, longest: float) -> Self:
        whole = end - start
        n = max(1, int(np.ceil(whole / longest * (1.0 - 1e-12))))
        # the step itself if it fits but for round-off: an FMU that makes the same steps then has the same bits
        return cls(start, end, float(longest) if abs(n * longest - whole) <= 1e-13 * whole else whole / n, n)

    def times(self, done: int, n: int) -> Array:
        """Return the ends of the n steps behind those that are done, and where the first of them begins."""
        t = self.start + self.step * np.arange(done, done + n + 1, dtype=np.float64)
        if done + n == self.n:
            t[-1] = self.end
        return t


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
        rtol: float | None,
        atol: float | None,
        accuracy: Any,
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
            self.drive.system, state.q, state.w, self.end, t_start=self.start, name=model.tree.name
        )
        self.limits = Limits.of(model, state, self.end, rtol, atol, max_step, accuracy)
        self.method = choose(model, self.problem, self.drive, method, step, self.limits)
        self.pieces = self._pieces(step)
        # the piece that goes on, of steps of fixed size
        self.piece = 0
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
            self.stepper: AdaptiveStepper | Stepper = self._adaptive(self.method)
        else:
            self.stepper = Stepper(self.problem, self.method)
        self.last = self._point()
        self.account = Account(model, self.drive, np.array(self.problem.start))
        self.why, self.failed, self.ctrl_c = "", False, False
        # Samples that a watcher knows of.
        self.told = 0

    # ---- what was asked for

    def _adaptive(self, method: AdaptiveMethod) -> AdaptiveStepper:
        stepper = AdaptiveStepper(self.problem, method, **self.limits.options(method))
        stepper.renew = self._renewed if self.model.rows else None
        return stepper

    def _renewed(self, t: float, y: Array) -> Array:
        """Return the state behind a jump of what is prescribed."""
        return project(self.model, self.model.unpack(y, t), self.drive).y

    def _pieces(self, step: float | None) -> list[_Piece]:
        """Steps of a method of fixed step: equal ones from each jump of the inputs to the next; none for others."""
        if isinstance(self.method, AdaptiveMethod):
            if step is not None:
                raise InputError(
                    f"simulate: step is {step!r}, but {self.method.name} chooses its own.\n"
                    "  Give rtol and atol, or max_step, or a method of fixed step."
                )
            return []
        if step is None:
            raise InputError(f"simulate: {self.method.name} is a method of fixed step; give step=… in seconds.")
        out: list[_Piece] = []
        here = self.start
        while here < self.end or not out:
            end = min(self.end, self.drive.system.breaks.piece(here)[1])
            out.append(_Piece.of(here, end, step))
            here = end
        return out

    def _times(self, output: Any) -> Array | None:
        if isinstance(output, str):
            if output != "steps":
                raise InputError(f"simulate: output is {output!r}, expected times, a number, or 'steps'.")
            return None
        if output is None:
            return np.asarray(np.linspace(self.start, self.end, _SAMPLES + 1), dtype=np.float64)
        if np.ndim(output) == 0:
            spacing = float(output)
            if not 0.0 < spacing < np.inf:
                raise InputError(f"simulate: output is {output!r}, the time between samples must be > 0 and finite.")
            most = _MOST_NUMBERS / (1 + 2 * self.problem.group.element_shape[0])
            if (self.end - self.start) / spacing > most:
                raise InputError(
                    f"simulate: output is {output!r}, which makes {(self.end - self.start) / spacing:.3g} samples, "
                    f"expected at most {most:.1g}.\n  Give a longer time between samples."
                )
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
            equal, before = self.pieces[self.piece], self.stepper.done
            ends, status = self.stepper.record(equal.step, min(n, equal.n - before))
            over = self.stepper.done == equal.n
            more, failed = not status and not (over and self.piece == len(self.pieces) - 1), status != 0
            now = float(equal.times(self.stepper.done, 0)[0])
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
        self._account(whole, stop)
        self.last = AdaptiveTrajectory(whole.group, whole.t[-1:], whole.y[-1:], whole.f[-1:], 0, ())
        if stop is not None:
            self.last = replace(self.last, t=np.array([stop[0]]), y=stop[1][np.newaxis].copy())
        elif more and self.drive.system.breaks.begins(now):
            self._pass_break(now)
        if failed:
            self.failed = True
            try:
                self.model.check_custom()
            except Exception as error:
                self.drive.error = error
            self.why = f"at t = {now:.6g} s: {self.drive.error or why}"
        return more

    def _account(self, whole: AdaptiveTrajectory, stop: tuple[float, Array] | None) -> None:
        """Go on with the account of energy over steps just made."""
        if isinstance(self.stepper, AdaptiveStepper):
            self.account.add_chosen(whole, self.method.order, stop)
            return
        t, y, piece = whole.t, whole.y, self.pieces[self.piece]
        if stop is not None:
            kept = t < stop[0]
            t, y = np.append(t[kept], stop[0]), np.concatenate([y[kept], stop[1][np.newaxis]])
        over = stop is not None or t[-1] == piece.end
        self.account.add_equal(t, y, piece.step, t[0] == piece.start, over)

    def _pass_break(self, t: float) -> None:
        """Go on behind a jump of the inputs, where fields and perhaps speeds are others."""
        before = self.last.y[-1]
        if isinstance(self.stepper, AdaptiveStepper):
            self.last = self.stepper.here()
            self.account.jump(before, self.last.y[-1])
            return
        self.piece += 1
        if self.model.rows:
            self.stepper.y[:] = self._renewed(t, self.stepper.y)
        self.stepper.begin(t)
        self.stepper.record(self.pieces[self.piece].step, 0, start=t)
        self.drive.system.breaks.limit(self._data[1], t)
        self.last = replace(self.last, y=self.stepper.y[np.newaxis].copy())
        self.account.jump(before, self.stepper.y)

    def _fixed_piece(self, before: int, ends: Array) -> tuple[AdaptiveTrajectory, int]:
        """Steps of fixed size as a trajectory; fields only where something will be asked between them.

        It ends before the first place where there is none; the second result is that status.
        """
        t = self.pieces[self.piece].times(before, len(ends))
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
        # an input function that ended the steps may still answer for those before
        raised, self.drive.error = self.drive.error, None
        for k in needed:
            status = self._field(t[k], y[k], f[k])
            if status:
                end = max(1, k)
                break
        self.drive.error = self.drive.error if raised is None else raised
        return AdaptiveTrajectory(self.problem.group, t[:end], y[:end], f[:end], 0, ()), status

    @functools.cached_property
    def _data(self) -> tuple[Any, Array, Array]:
        I, F, W = data_of(self.drive.system)
        self.drive.system.breaks.limit(F, float(self.last.t[-1]))
        return I, F, W

    def _field(self, t: float, y: Array, out: Array) -> int:
        I, F, W = self._data
        return int(self.problem.field(I, F, float(t), np.ascontiguousarray(y), W, out))

    @functools.cached_property
    def _group_events(self) -> list[Event]:
        """Events of (t, state) as functions of (t, Y)."""

        def on_states(function: Any) -> Any:
            return lambda t, y: float(function(t, self.model.unpack(y, t)))

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
        model = self.model
        if model.rows and self.samples.wanted is not None and self.drive.error is None:
            # what was interpolated between steps is near the constraints, not on them
            # (of a run that failed, the last may not be)
            rows = zip(y, t, strict=True)
            y = np.stack([project(model, model.unpack(*row), self.drive, check=False).y for row in rows])
        u = np.stack([self._inputs(*row) for row in zip(t, y, strict=True)])
        events = tuple(tuple(model.unpack(place, when) for when, place in places) for places in self.found)
        finished = not self.failed and (not self.why or self.why.startswith("event"))
        counts = self.method.name, self.samples.steps, self.rejected, seconds
        local, bound = None, None
        if isinstance(self.stepper, AdaptiveStepper):
            local, bound = self.stepper.local_errors, self.stepper.bound
        accuracy = None
        if local is not None and bound is not None:
            local, accuracy = local * bound.position, (bound.position, bound.angle)
        account = self.account.of(self.last.y[-1])
        info = RunInfo(
            *counts, finished, self.why, events, self.ctrl_c, account, local, accuracy, self.stepper.newton or None
        )
        q, v, x = model.parts(y)
        return Result(model, t, q, v, u, info, x)

    def _inputs(self, t: float, y: Array) -> Array:
        """Return generalised forces and inputs."""
        n = self.model.nv + self.model.nu
        if self.drive.error is not None:
            return np.full(n, np.nan)
        state = self.model.unpack(y)
        return self.drive.values(float(t), state.q, state.w)

    # ---- checkpoints

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint."""
        wanted, breaks = self.samples.wanted, self.drive.system.breaks
        return {
            "model": checkpoints.digest(self.model.fingerprint, self.model.floats),
            "start": checkpoints.digest(np.asarray(self.problem.start), np.array([self.start])),
            "t_end": self.end,
            "inputs": [*self.drive.functions, checkpoints.digest(*self.drive.data, np.array(breaks.times))],
            "method": f"{self.method.name} {checkpoints.digest(_coefficients(self.method))}",
            "memory": list(self.stepper.memory.shape),
            "step": [piece.step for piece in self.pieces[:1]],
            "tolerances": self.limits.words(self.method) if isinstance(self.method, AdaptiveMethod) else "",
            "output": f"every {self.samples.every}" if wanted is None else checkpoints.digest(wanted),
            "events": len(self.events),
        }

    def _content(self, seconds: float) -> dict[str, Array]:
        t, y = self.samples.arrays()
        self.samples.t, self.samples.y = [t], [y]
        numbers = [self.samples.taken, self.samples.steps, self.rejected, seconds, *self.account.sums]
        content = {"t": t, "y": y, "numbers": np.array(numbers), "memory": self.stepper.memory.copy()}
        content |= {"last_t": self.last.t, "last_y": self.last.y, "last_f": self.last.f, "here": self.stepper.y.copy()}
        if isinstance(self.stepper, AdaptiveStepper):
            content["control"] = self.stepper.control.copy()
        else:
            content["done"] = np.array([self.piece, self.stepper.done])
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
        taken, steps, rejected, seconds, *sums = content["numbers"]
        self.account.sums = np.array(sums)
        self.samples.taken, self.samples.steps, self.rejected = int(taken), int(steps), int(rejected)
        self.stepper.memory[:] = content["memory"]
        self.stepper.y[:] = content["here"]
        self.last = AdaptiveTrajectory(
            self.problem.group, content["last_t"], content["last_y"], content["last_f"], 0, ()
        )
        if isinstance(self.stepper, AdaptiveStepper):
            self.stepper.control[:] = content["control"]
        else:
            self.piece, done = (int(k) for k in content["done"])
            piece = self.pieces[self.piece]
            self.drive.system.breaks.limit(self.stepper._F, piece.start)
            # no step of it sets what steps are counted from
            self.stepper.record(piece.step, 0, start=piece.start)
            self.stepper.done = done
        for k, places in enumerate(self.found):
            times, ends = content[f"event_{k}_t"], content[f"event_{k}_y"]
            places.extend((float(when), end) for when, end in zip(times, ends, strict=True))
        return float(seconds)


class CtrlC:
    """Ctrl-C is noted and heard between pieces, so that what is kept is whole; a second one is heard at once.

    The signals that a closed terminal and a system that shuts down send, SIGHUP and SIGTERM, mean the same.
    """

    def __enter__(self) -> Self:
        self.pressed = False
        self._before: dict[int, Any] = {}
        # Only the main thread may, and only it gets the signals.
        if threading.current_thread() is threading.main_thread():
            for name in _ENDING:
                number = getattr(signal, name, None)
                # who starts a program with nohup does not want to hear of SIGHUP
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


# Signals that end a run; Windows has not all of them.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


def _coefficients(method: Method | AdaptiveMethod) -> Array:
    return method.coefficients(1.0) if isinstance(method, AdaptiveMethod) else method.coefficients


def _check(model: Model, state: Any, t_end: Any, step: Any, rtol: Any, atol: Any, max_step: Any, every: Any) -> None:
    model.check(state, "simulate")
    if not np.isfinite(t_end) or t_end < state.t:
        raise InputError(f"simulate: t_end is {t_end!r}, expected a finite time not before the state's, {state.t:.6g}.")
    check_size(Field(None, ("simulate: t_end",)), t_end, InputError)
    for name, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step), ("step", step)):
        if value is not None and not (value > 0.0 and (value < np.inf or name == "max_step")):
            raise InputError(
                f"simulate: {name} is {value!r}, must be > 0{'' if name == 'max_step' else ' and finite'}."
            )
    if step is not None and t_end - state.t > _MOST_STEPS * step:
        raise InputError(
            f"simulate: step is {step!r}, which makes {(t_end - state.t) / step:.3g} steps, expected at most "
            f"{_MOST_STEPS:g}. Check its unit."
        )
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise InputError(f"simulate: every is {every!r}, expected a whole number ≥ 1.")
