"""`liegeo.simulate`: a model, a state, an end; everything else has an answer if none is given.

A run falls into four parts, each in a place of its own: which method it is, and how exact (choice.py), the steps
(integrate/stepper.py), samples between them (sampling.py), and what is kept of a run that is killed (checkpoints.py).

Output between steps is the cubic of integrate/trajectory.py (1), right to h⁴, or Dormand–Prince's quartic (2), right to
h⁵; methods of a higher order are as exact as they can be only where their steps end.  Steps end at the instants at
which sensors sample (model/sensors.py), so that samples are as exact as the method is.  A run is made in pieces of a
tenth of a second or less; between them Ctrl-C is heard, the bar moves and the checkpoint is written, and where they
end changes no bit.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.account import Account
from liegeo.assembly import assemble, check_closed, project, project_samples
from liegeo.checkpoints import Checkpoint, digest
from liegeo.choice import Limits, choose
from liegeo.errors import Field, InputError, SimulationError
from liegeo.integrate import Event, Method, Problem, Stepper, Trajectory
from liegeo.integrate.stepping import DONE, FAILED, FINISHED, FULL, ORIGIN, PLANNED, STEP
from liegeo.integrate.trajectory import find_events, join
from liegeo.interrupts import CtrlC
from liegeo.model.checks import check_size
from liegeo.model.constraints import SWITCHED
from liegeo.model.controllers import Controller, Sampled, sampled_in
from liegeo.model.model import Model, State
from liegeo.model.sensors import Sampling
from liegeo.model.standin import HasModel, also_of_mechanisms, as_model
from liegeo.motion import Drive
from liegeo.results import Result, RunInfo
from liegeo.results.progress import Progress
from liegeo.results.quantities import Sensed
from liegeo.sampled import Controllers
from liegeo.sampling import Samples
from liegeo.status import explain

Array = NDArray[np.float64]

# Steps of fixed size in a run: nobody waits for more.
_MOST_STEPS = 1e12
# Instants of sensors in a run, each the end of a step.
_MOST_INSTANTS = 1e7
# A piece of a run should take so many seconds, and has at most so many steps; the first, which finds out, has fewer:
# as many as move so many speeds together, within bounds.
_PIECE, _LARGEST_PIECE = 0.1, 4096
# How many calls of functions are made again, to see whether they answer the same.
_MOST_ASKED_AGAIN = 32
# Between two instants of sensors a piece has at most so many.
_MOST_BETWEEN = 256
_FIRST_PIECE, _FEWEST_AT_FIRST, _MOST_AT_FIRST = 16384, 16, 512


@also_of_mechanisms
def simulate(
    model: Model | HasModel,
    state: State | None = None,
    t_end: float = 1.0,
    *,
    inputs: Any = None,
    method: Method | str | None = None,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    accuracy: Any = None,
    max_step: float = np.inf,
    output: ArrayLike | str | None = None,
    every: int = 1,
    events: Sequence[Event] = (),
    controllers: Sequence[Sampled] = (),
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
      of order two, as adaptive generalised-α is, 2e-4.
    - `rtol`, `atol`: tolerances of the coordinates in each step in place of an accuracy; if one of them is given, the
      other is 1e-6 or 1e-8, for methods of order two 1e-5 or 1e-6.  `max_step`: the longest step.
    - `output`: times, or a number, the time between samples, or "steps": the end of every step, or of each `every`-th.
      If not given, a thousand samples.
    - `events`: Event(function of (t, state), direction, terminal); where they happened is in result.info.events.
    - `controllers`: sampled controllers, beside those of the model (liegeo/model/controllers.py); a Sampled with one
      output may also stand among the inputs.
    - `progress`: show a bar; None: if there is a terminal.
    - `checkpoint`: a file, written every `checkpoint_every` seconds.  If it is there, and of this same run, the run
      goes on from it, and gives the same bits as one that was never interrupted; a run that is complete deletes it.
    - `watch`: called between pieces of the run, about ten times a second, with the samples that are new.

    Ctrl-C returns what there is.  If a step cannot be taken, SimulationError has what there is as `result`.
    """
    model = as_model(model, "simulate")
    start = assemble(model, inputs=inputs) if state is None else state
    run = _Run(
        model, start, t_end, inputs, method, step, rtol, atol, accuracy, max_step, output, every, events, controllers
    )
    try:
        return run.run(progress, None if checkpoint is None else Path(checkpoint), checkpoint_every, watch)
    finally:
        if run.controllers is not None:
            run.controllers.close()


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
) -> Method:
    """Return the method that `simulate` takes if none is given."""
    return _Run(model, state, t_end, inputs, None, step, rtol, atol, accuracy, np.inf, None, 1, ()).method


class _Run:
    """One simulation: what it was asked for, and how far it is."""

    def __init__(
        self,
        model: Model,
        state: State,
        t_end: float,
        inputs: Any,
        method: Method | str | None,
        step: float | None,
        rtol: float | None,
        atol: float | None,
        accuracy: Any,
        max_step: float,
        output: Any,
        every: int,
        events: Sequence[Event],
        controllers: Sequence[Controller | Sampled] = (),
    ) -> None:
        _check(model, state, t_end, step, rtol, atol, max_step, every)
        inputs, more = sampled_in(inputs)
        controllers = [*model.tree.controllers, *controllers, *more]
        self.model, self.events, self.step = model, events, step
        self.start, self.end = float(state.t), float(t_end)
        self.drive = Drive(model, inputs)
        switched = model.tree.events or any(isinstance(loop, SWITCHED) for loop in model.tree.loops)
        needed = bool(controllers or switched)
        self.controllers = Controllers(model, self.drive, controllers, inputs) if needed else None
        if model.rows:
            check_closed(model, state, self.drive)
            state = project(model, state, self.drive)
        self.problem = Problem.of(
            self.drive.system, state.q, state.w, self.end, t_start=self.start, name=model.tree.name
        )
        self.limits = Limits.of(model, state, self.end, rtol, atol, max_step, accuracy)
        self.method = choose(model, self.problem, self.drive, method, step, self.limits)
        # where the run is
        self.t, self.y = self.start, np.array(self.problem.start)
        self.samples = Samples.of(output, every, self.t, self.end, self.y)
        self.instants = _instants(model, self.t, self.end)
        self._driven = np.zeros((0, model.nv + model.nu))
        self.sensed = None if self.instants is None else Samples.of(self.instants, 1, self.t, self.end, self.y)
        self.stepper = Stepper(self.problem, self.method, step=step, **self.limits.options(self.method))
        self.stepper.renew = self._renewed if model.rows else None
        self.account = Account(model, self.drive, self.y)
        # a method that is given makes no trial, in which functions with a memory would be noticed
        self.unsure = method is not None and bool(self.drive.functions)
        if self.controllers is not None:
            self.controllers.begin(self.t, self.end)
            self.controllers.watch(self.stepper)
        self.rejected = 0
        self.found: list[list[tuple[float, Array]]] = [[] for _ in events]
        self.why, self.failed, self.ctrl_c = "", False, False

    def _renewed(self, t: float, y: Array) -> Array:
        """Return the state behind a jump of what is prescribed."""
        return project(self.model, self.model.unpack(y, t), self.drive).y

    def run(
        self, progress: bool | None, path: Path | None, seconds_between: float, watch: Callable[[Result], object] | None
    ) -> Result:
        began = time.perf_counter()
        if self.controllers is not None and path is not None:
            self.controllers.check_saved()
        saved = None if path is None else Checkpoint(path, self._identity(), seconds_between)
        spent = self._restore(saved) if saved is not None else 0.0
        whole = True
        with Progress(self.end - self.start, self.model.tree.name, progress) as bar, CtrlC() as ctrl_c:
            try:
                more = self.t < self.end
                n = max(_FEWEST_AT_FIRST, min(_MOST_AT_FIRST, _FIRST_PIECE // self.model.nv))
                if saved is not None:
                    ctrl_c.listen()
                while more and not ctrl_c.pressed:
                    before = time.perf_counter()
                    more = self._go_on(n)
                    took = max(time.perf_counter() - before, 1e-6)
                    n = max(1, min(_LARGEST_PIECE, 8 * n, int(n * _PIECE / took)))
                    bar.update(self.t - self.start, self.samples.steps)
                    if watch is not None:
                        t, y = self.samples.new()
                        if len(t):
                            watch(self._result(t, y, time.perf_counter() - began))
                    if saved is not None and more and saved.is_due():
                        saved.write(self._content(spent + time.perf_counter() - began))
                    if more:
                        ctrl_c.listen()
            except KeyboardInterrupt:
                # a second Ctrl-C, in the middle of a piece
                whole = False
        error, self.ctrl_c = self.drive.error, ctrl_c.pressed
        by_function = isinstance(error, KeyboardInterrupt)
        interrupted = by_function or not whole or (ctrl_c.pressed and more)
        if interrupted:
            error = None
            self.why = f"interrupted at t = {self.t:.6g} s"
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

    def _go_on(self, n: int) -> bool:
        """About n steps, from sample to sample of the controllers; False if the run is over."""
        if self.unsure:
            self.unsure = False
            with self.drive.recorded(_MOST_ASKED_AGAIN):
                return self._advance(min(n, _FEWEST_AT_FIRST), *self._next())
        if self.controllers is None:
            return self._advance(n, self.end, "")
        last = self.samples.steps + n
        while self._advance(n, *self._next()):
            if self.samples.steps >= last:
                return True
        return False

    def _next(self) -> tuple[float, str]:
        """Let controllers sample; return until when there is nothing to do for them, and why they cannot, if so."""
        if self.controllers is None:
            return self.end, ""
        why = self.controllers.fire(self.stepper, self.account)
        # what events changed is in the account
        self.y = self.stepper.y.copy()
        return self.controllers.next(self.end), why

    def _advance(self, n: int, end: float, why: str) -> bool:
        """A piece of the run up to `end`, if there is no reason why not; False if the run is over."""
        if why:
            self.failed, self.why = True, f"at t = {self.t:.6g} s: {self.drive.error or why}"
            return False
        piece, status, counts = self._piece(n, end)
        if self.stepper.at_event and self.controllers is not None and not self.method.adaptive:
            counts = self.controllers.counts(piece, counts)
        self.account.jump(self.y, piece.y[0])
        self.rejected += piece.rejected
        failed, why = status == FAILED, self.stepper.why if status == FAILED else ""
        if not self.method.adaptive:
            piece, lost = self._with_fields(piece)
            if lost:
                failed, why = True, explain(self.problem.system, lost, self.stepper.y, self.problem.start)
        goes_on = status == FINISHED and piece.t[-1] < self.end
        more = (status == FULL or goes_on) and not failed
        stop = find_events(piece, self._group_events, self.found) if self.events else None
        if stop is not None:
            # the piece may go on beyond it
            self.found = [[place for place in places if place[0] <= stop[0]] for places in self.found]
            more = failed = False
            self.why = f"event at t = {stop[0]:.6g} s"
            # an input that failed behind the event is of no concern
            if not isinstance(self.drive.error, KeyboardInterrupt):
                self.drive.error = None
        self.samples.take(piece, not more, stop)
        if self.sensed is not None:
            self.sensed.take(piece, not more, stop)
        # steps are counted anew behind a sample of a controller, not behind one of a sensor
        self.account.add(piece, self.stepper, stop, counts, bool(goes_on and piece.t[-1] < end))
        self.t, self.y = (float(piece.t[-1]), piece.y[-1]) if stop is None else stop
        if failed:
            self.failed = True
            try:
                self.model.check_custom()
            except Exception as error:
                self.drive.error = error
            self.why = f"at t = {self.t:.6g} s: {self.drive.error or why}"
        return more

    def _piece(self, n: int, until: float) -> tuple[Trajectory, int, list[tuple[float, float]]]:
        """Make about n steps, which end at the instants of sensors; return how it went, and how steps were counted.

        Where the drive jumps a piece ends, so that what jumps can be taken into account.
        """
        if self.instants is None:
            return *self.stepper.advance(until, n), []
        stepper, jumps = self.stepper, len(self.drive.system.breaks.times) > 0
        pieces: list[Trajectory] = []
        counts: list[tuple[float, float]] = []
        k, made = int(np.searchsorted(self.instants, self.t, side="right")), 0
        while True:
            end = min(float(self.instants[k]), until) if k < len(self.instants) else until
            piece, status = stepper.advance(end, min(n - made, _MOST_BETWEEN))
            pieces.append(piece)
            k, made = k + 1, made + len(piece.t) - 1
            count = float(stepper.control[ORIGIN]), float(stepper.control[STEP])
            if not self.method.adaptive and len(piece.t) > 1 and count not in counts[-1:]:
                counts.append(count)
            if status != FINISHED or end >= until or made >= n or jumps:
                return join(pieces) if len(pieces) > 1 else piece, status, counts

    def _with_fields(self, piece: Trajectory) -> tuple[Trajectory, int]:
        """Return equal steps with fields where something is asked between them; see Stepper.with_fields."""
        points = range(len(piece.t)) if self.events else self.samples.between(piece)
        # an input function that ended the steps may still answer for those before
        raised, self.drive.error = self.drive.error, None
        out = self.stepper.with_fields(piece, points)
        self.drive.error = self.drive.error if raised is None else raised
        return out

    @functools.cached_property
    def _group_events(self) -> list[Event]:
        """Events of (t, state) as functions of (t, Y)."""

        def on_states(function: Any) -> Any:
            return lambda t, y: float(function(t, self.model.unpack(y, t)))

        return [Event(on_states(event.function), event.direction, event.terminal) for event in self.events]

    # ---- what comes of it

    def _result(self, t: Array, y: Array, seconds: float) -> Result:
        if not len(t):
            t, y = np.array([self.t]), self.y[np.newaxis]
        model = self.model
        if model.rows and self.samples.wanted is not None and self.drive.error is None:
            # what was interpolated between steps is near the constraints, not on them
            # (of a run that failed, the last may not be)
            if self.controllers is None:
                y = project_samples(model, t, y, self.drive)
            else:
                y = self.controllers.projected(t, y)
        u = np.full((len(t), model.nv + model.nu), np.nan)
        if self.drive.error is None:
            u = self.drive.samples(t, y)
            if self.controllers is not None:
                self.controllers.held(t, u)
        events = tuple(tuple(model.unpack(place, when) for when, place in places) for places in self.found)
        finished = not self.failed and (not self.why or self.why.startswith("event"))
        counts = self.method.name, self.samples.steps, self.rejected, seconds
        local, bound, accuracy = self.stepper.local_errors, self.stepper.bound, None
        if local is not None and bound is not None:
            local, accuracy = local * bound.position, (bound.position, bound.angle)
        account, newton = self.account.of(self.y), self.stepper.newton or None
        happened = () if self.controllers is None else tuple(self.controllers.happened)
        info = RunInfo(*counts, finished, self.why, events, self.ctrl_c, account, local, accuracy, newton, happened)
        q, v, x = model.parts(y)
        return Result(model, t, q, v, u, info, x, self._sensed_states())

    def _sensed_states(self) -> Sensed | None:
        """Return the states at the instants of sensors, as far as the run got."""
        if self.sensed is None or self.instants is None:
            return None
        t, y = self.sensed.arrays()
        # an event that ended the run is no instant
        sampled = np.isin(t, self.instants)
        t, y = t[sampled], y[sampled]
        # those before are known: whoever watches a run asks again and again
        known = self._driven[: len(t)]
        u = np.full((len(t), self.model.nv + self.model.nu), np.nan)
        u[: len(known)] = known
        if self.drive.error is None and len(known) < len(t):
            u[len(known) :] = self.drive.samples(t[len(known) :], y[len(known) :])
            self._driven = u
        q, v, x = self.model.parts(y)
        return Sensed(t, q, v, u, x)

    # ---- checkpoints

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a run to go on from a checkpoint."""
        wanted, breaks = self.samples.wanted, self.drive.system.breaks
        return {
            "model": digest(self.model.fingerprint, self.model.floats),
            "start": digest(np.asarray(self.problem.start), np.array([self.start])),
            "t_end": self.end,
            "inputs": [*self.drive.functions, digest(*self.drive.data, np.array(breaks.times))],
            "method": f"{self.method.name} {digest(self.method.coefficients())}",
            "memory": list(self.stepper.memory.shape),
            "step": self.step,
            "tolerances": self.limits.words(self.method),
            "output": f"every {self.samples.every}" if wanted is None else digest(wanted),
            "events": len(self.events),
            **({} if self.controllers is None else {"controllers": self.controllers.identity}),
            **({} if self.instants is None else {"sensors": digest(self.instants)}),
        }

    def _content(self, seconds: float) -> dict[str, Array]:
        here, memory, control = self.stepper.save()
        content = {"here": here, "memory": memory, "control": control, "sums": self.account.sums}
        if self.controllers is not None:
            content |= self.controllers.save()
        content |= {**self.samples.save(), "numbers": np.array([self.rejected, seconds])}
        if self.sensed is not None:
            content |= {f"sensed_{key}": value for key, value in self.sensed.save().items()}
        for k, places in enumerate(self.found):
            content[f"event_{k}_t"] = np.array([when for when, _ in places])
            content[f"event_{k}_y"] = np.array([place for _, place in places]).reshape(-1, len(here))
        return content

    def _restore(self, saved: Checkpoint) -> float:
        """Go on from a checkpoint, if there is one; returns the seconds that were spent before it."""
        content = saved.read()
        if content is None:
            return 0.0
        self.samples.load(content)
        if self.sensed is not None:
            self.sensed.load({key: content[f"sensed_{key}"] for key in ("t", "y", "taken")})
        self.stepper.load([content[name] for name in ("here", "memory", "control")])
        self.t, self.y = self.stepper.t, self.stepper.y.copy()
        self.account.sums = content["sums"]
        self.unsure = False
        if self.controllers is not None:
            self.controllers.load(content, (self.stepper._F, self.account.floats))
        control = self.stepper.control
        if self.instants is not None and not self.method.adaptive and control[DONE] == control[PLANNED]:
            self.account.open = self.t, self.y, float(control[STEP])
        self.rejected, seconds = int(content["numbers"][0]), float(content["numbers"][1])
        for k, places in enumerate(self.found):
            times, ends = content[f"event_{k}_t"], content[f"event_{k}_y"]
            places.extend((float(when), end) for when, end in zip(times, ends, strict=True))
        return seconds


def _instants(model: Model, start: float, end: float) -> Array | None:
    """Return the instants at which sensors sample, the start with them; None if no sensor does."""
    if not any(sensor.samples for sensor in model.tree.sensors):
        return None
    sampling = Sampling.of(model.tree.sensors)
    if (count := sampling.how_many(start, end)) > _MOST_INSTANTS:
        fastest = min(sampling.sensors, key=lambda sensor: sensor.interval)
        raise InputError(
            f"simulate: sensors sample {count:.3g} times in this run, expected at most {_MOST_INSTANTS:.0e}.\n"
            f"  {fastest.owner} has the shortest period, {fastest.interval:.6g} s. Check its unit."
        )
    return sampling.instants(start, end)


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
    if rtol is not None and not rtol < 1.0:
        raise InputError(f"simulate: rtol is {rtol!r}, expected a share below 1 of what a coordinate is.")
    if step is not None and t_end - state.t > _MOST_STEPS * step:
        raise InputError(
            f"simulate: step is {step!r}, which makes {(t_end - state.t) / step:.3g} steps, expected at most "
            f"{_MOST_STEPS:g}. Check its unit."
        )
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise InputError(f"simulate: every is {every!r}, expected a whole number ≥ 1.")
