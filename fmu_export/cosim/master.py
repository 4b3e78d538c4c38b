"""The master: takes all FMUs of a system from one communication point to the next.

A macro step from t to t + h, with outputs y known at t:

- Jacobi: every FMU steps with inputs that follow from y(t) and, if linear, from its slope over the last step.
- Gauss–Seidel: one FMU after another; where the source has stepped already, inputs go from y(t) to its new y(t + h)
  (linear), or are its new values (hold).
- Iterated: the step is repeated from saved states with inputs that go from y(t) to the y(t + h) of the last repetition;
  an FMU that cannot interpolate gets the mean of both.
- Then, at t + h, outputs that depend on inputs at once are evaluated in the order of their dependencies, loops closed
  (`feedthrough`); without that, outputs are what an FMU says after its step with the inputs of its beginning.

Orders in h, for FMUs that are exact: 1 with hold, 2 with linear inputs or iterations [ACS13].

With a tolerance, each macro step is taken as two halves, which are kept, once whole from the same state, and once whole
by a second, coarse solution.  error_control.py says what the differences tell, and how large a step may be.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.algebraic_loops import LoopError, close_loop
from fmu_export.cosim.cosim_result import CosimEvent, CosimInfo, CosimResult
from fmu_export.cosim.error_control import ErrorControl
from fmu_export.cosim.fmu_file import MODEL_EXCHANGE
from fmu_export.cosim.graph import OutputGroup, fmu_order
from fmu_export.cosim.instances import LOGGER, CosimSlave, Ear, FMUError, Folders
from fmu_export.cosim.system import CosimExperiment, CosimSystem, Crossing, value_of
from fmu_export.cosim.wiring import CosimRecorder, Point, Ports, Wiring
from liegeo.errors import LiegeoError, SimulationError

Array = NDArray[np.float64]

# Repetitions of a step end when outputs change by less, relative to nominal value and size.
SETTLED = 1e-10
# Steps below this part of the macro step, or of the time itself, are none.
SMALLEST = 1e-9
# Of the macro step: how exactly crossings are found.
CROSSING = 1e-9
# Where an FMU does not say how far it got: the part of the macro step below which nobody looks for a step that it
# takes, and how often steps are halved until the next macro step.
SHORTEST_GUESS, _MOST_GUESSES = 1e-3, 64

log = logging.getLogger(LOGGER)


class _DiscardedError(Exception):
    """An FMU did not take the whole step."""

    def __init__(self, fmu: int, reached: float, ends: bool) -> None:
        self.fmu, self.reached, self.ends = fmu, reached, ends


class _StuckError(LiegeoError):
    """The run cannot go on."""


class Master:
    """One run of a system.  `run` does everything; `open` gives a context in which steps are taken by hand."""

    def __init__(
        self, system: CosimSystem, experiment: CosimExperiment, debug: bool = False, rollback: bool = True
    ) -> None:
        assert experiment.step is not None
        self.system, self.plan = system, experiment
        self.step = experiment.step
        self.debug = debug
        self.wiring = Wiring(system)
        self.sequential = experiment.algorithm == "gauss-seidel"
        self.linear = experiment.extrapolation == "linear"
        self.every = [fmu.every for fmu in system.fmus.values()]
        self.can_return = [system.descriptions[name].saves_state for name in self.wiring.names]
        self.keeps_states = rollback or bool(experiment.tolerance or experiment.iterations or experiment.crossings)
        self.order = self._order()
        self.ports: list[Ports] = []
        self.point = self.wiring.new_point(experiment.start)
        self._ahead: Array | None = None
        self._saved: dict[int, Any] = {}
        self._stepped: list[int] = []
        # FMUs that ended the run in the step that is being taken, and the times that they reached
        self._ended: dict[int, float] = {}
        self.steps = self.rejected = self.calls = self.iterations = self._guesses = 0
        self.residual = 0.0
        self.control: ErrorControl | None = None
        if experiment.tolerance is not None:
            self.control = ErrorControl(experiment.tolerance, experiment.start, experiment.end, self._accuracy())
        # the error of the last step that was refused, over what was allowed; inf once a step needed one attempt
        self._refused = math.inf
        # where the coarse solution is, which takes each step in one
        self.coarse: tuple[Point, list[Any]] | None = None
        self.events: list[CosimEvent] = []
        self.message = ""
        self.recorder = CosimRecorder(system, self.wiring)
        self._watched = self._levels()

    @property
    def t(self) -> float:
        """The communication point that was reached."""
        return self.point.t

    def _order(self) -> list[int]:
        if self.sequential:
            names = self.plan.order or fmu_order(self.system)
            return [self.wiring.number[name] for name in names]
        # Whoever cannot go back steps last, when the others have not discarded the step.
        return sorted(range(len(self.wiring.names)), key=lambda k: self.can_return[k])[::-1]

    # ---- life

    @contextmanager
    def open(self) -> Iterator[Master]:
        """FMUs instantiated and initialised; freed on every way out."""
        with ExitStack() as stack:
            folders = Folders()
            stack.callback(folders.close)
            ear = stack.enter_context(Ear())
            for k, name in enumerate(self.wiring.names):
                found, solver = self.system.descriptions[name], self.system.fmus[name].exchange_solver
                slave = CosimSlave(name, found, folders, ear, self.debug, solver)
                stack.callback(slave.close)
                self.ports.append(Ports(slave, self.wiring, k))
            self._initialise()
            yield self

    def _initialise(self) -> None:
        for port in self.ports:
            name = port.slave.name
            port.slave.set_all(self.system.starts[name])
            port.slave.setup(self.plan.start, self.plan.end, self.plan.tolerance)
        for port in self.ports:
            port.slave.enter_initialisation()
        where = f"initialisation at t = {self.plan.start:g} s"
        self._settle(self.wiring.at_start, where)
        for port in self.ports:
            port.slave.exit_initialisation()
        # Some FMUs compute outputs only now.
        self._settle(self.wiring.running if self.plan.feedthrough else [], where)
        self._latch()

    # ---- values at a communication point

    def _settle(self, groups: list[OutputGroup], where: str) -> None:
        """Outputs of all FMUs that are at this time, in the order of dependencies, then their inputs."""
        point = self.point
        here = [k for k in range(len(self.ports)) if point.times[k] == self.t]
        self._ahead = self._extrapolated(self.wiring.slopes(point)) if self.linear else None
        for k in here:
            self.ports[k].read(point.y, point.discrete)
        for group in groups:
            members = [k for k in (self.wiring.number[name] for name in group.fmus) if k in here]
            if not members:
                continue
            if group.is_loop and len(members) == len(group.fmus):
                self._close(group, members, where)
            else:
                for k in members:
                    self._evaluate(k)
        if groups:
            for k in here:
                if k not in self._ended:
                    self.ports[k].write(self._into(k), point.discrete)

    def _extrapolated(self, slopes: Array) -> Array | None:
        """What outputs of FMUs that wait for the end of a longer step have gained since their own time."""
        waited = self.t - self.point.times
        return slopes * waited[self.wiring.owner] if np.any(waited) else None

    def _into(self, k: int) -> Array:
        """The inputs of an FMU at this time."""
        y = self.point.y
        return self.wiring.into(k, y if self._ahead is None else y + self._ahead)

    def _evaluate(self, k: int) -> None:
        # an FMU that ended the run may be read, but takes no values any more (FMI 2.0.4, 4.2.4)
        if k not in self._ended:
            self.ports[k].write(self._into(k), self.point.discrete)
        self.ports[k].read(self.point.y, self.point.discrete)

    def _close(self, group: OutputGroup, members: list[int], where: str) -> None:
        places = self.wiring.loop_places(group)
        point = self.point

        def around(z: Array) -> tuple[Array, bool]:
            point.y[places] = z
            before = point.discrete.copy()
            for k in members:
                self._evaluate(k)
            return point.y[places].copy(), point.discrete == before

        names = [self.wiring.labels[i] for i in places] or group.names
        z = close_loop(around, point.y[places].copy(), self.wiring.nominal[places], names, where)
        around(z)

    def _latch(self) -> None:
        """Lines that the inputs follow from here on, of FMUs that begin a step of their own here."""
        point, wiring = self.point, self.wiring
        slopes = wiring.slopes(point) if self.linear else None
        self._ahead = self._extrapolated(slopes) if slopes is not None else None
        for k in range(len(self.ports)):
            if point.times[k] == self.t:
                point.u0[k] = self._into(k)
                if self.every[k] > 1:
                    point.held[k] = point.discrete.copy()
                if slopes is not None:
                    point.rate[k] = wiring.factor[k] * slopes[wiring.index[k]]

    # ---- steps

    def _drive(self, k: int, h: float, target: Array | None, new: NDArray[np.bool_] | None) -> tuple[Array, Array]:
        """Inputs of FMU k at the beginning of its step, and their rates.

        `target` holds y at the end of the step as far as it is known; `new` says where, by FMU.
        """
        u0, rate = self.point.u0[k], self.point.rate[k]
        if target is None:
            return u0, rate
        end = self.wiring.into(k, target)
        known = np.ones(len(end), dtype=bool) if new is None else new[self.wiring.owner[self.wiring.index[k]]]
        if self.linear:
            return u0, np.where(known, (end - u0) / h, rate)
        # repeated: the mean of both ends; Gauss-Seidel: the newest value
        held = 0.5 * (u0 + end) if new is None else end
        return np.where(known, held, u0), np.zeros_like(u0)

    def _advance(self, k: int, t1: float, u: Array, rate: Array, final: bool) -> None:
        if k in self._ended:
            # it did not go back, and stands at t1 already, unless another FMU cut the step shorter still
            if self._ended[k] == t1:
                return
            raise _StuckError(f"FMU '{self.wiring.names[k]}' ended the run and went further than t = {t1:.9g} s.")
        port = self.ports[k]
        t0 = float(self.point.times[k])
        h = self._exact(t1 - t0, self.every[k])
        moving = self.linear and bool(np.any(rate))
        # with Jacobi a longer step has the inputs of its beginning
        discrete = self.point.discrete if self.sequential else self.point.held.get(k, self.point.discrete)
        port.write(u + 0.5 * h * rate if moving and not port.interpolates else u, discrete)
        if moving and port.interpolates:
            port.slave.set_rates(port.inputs, rate)
        self._stepped.append(k)
        self.calls += 1
        reached = port.slave.step(t0, h, final)
        if reached is None:
            return
        ends = port.slave.wants_to_end()
        if ends and reached >= t1 - self._least(t1):
            # the whole step was taken, and the run ends with it
            self._ended[k] = t1
            return
        raise _DiscardedError(k, reached, ends)

    def _least(self, t: float) -> float:
        """Return the length below which a step that ends at t is none."""
        return max(SMALLEST * self.step, 4.0 * math.ulp(abs(t)))

    def _exact(self, h: float, every: int) -> float:
        """Without the round-off of times, so that FMUs of fixed step see one step size."""
        usual = self.step * every
        return usual if self.plan.tolerance is None and abs(h - usual) < 1e-9 * usual else h

    def _pass(self, t1: float, due: list[int], target: Array | None, final: bool) -> None:
        """Every FMU that is due steps to t1 once, and its outputs are read."""
        point, wiring = self.point, self.wiring
        h = t1 - self.t
        y = point.y.copy()
        discrete = point.discrete.copy()
        new = np.zeros(len(self.ports), dtype=bool)
        for k in due:
            if self.sequential and target is None:
                u, rate = self._drive(k, t1 - float(point.times[k]), y, new)
            elif self.sequential:
                assert target is not None
                u, rate = self._drive(k, h, np.where(new[wiring.owner], y, target), None)
            else:
                u, rate = self._drive(k, h, target, None)
            self._advance(k, t1, u, rate, final)
            if self.sequential:
                if self.plan.feedthrough:
                    end = wiring.into(k, y if target is None else np.where(new[wiring.owner], y, target))
                    fresh = new[wiring.owner[wiring.index[k]]] if target is None else np.ones(len(end), dtype=bool)
                    straight = point.u0[k] + point.rate[k] * (t1 - float(point.times[k]))
                    if k not in self._ended:
                        self.ports[k].write(np.where(fresh, end, straight), discrete)
                self.ports[k].read(y, discrete)
                new[k] = True
                if target is None:
                    point.discrete = discrete
        # with Jacobi, outputs are read where they settle
        h_before = point.times.copy()
        for k in due:
            part = wiring.slice(k)
            point.y_before[part] = point.y[part]
            point.times_before[k] = h_before[k]
            point.times[k] = t1
        point.y, point.discrete = y, discrete
        point.t = t1
        self._settle(wiring.running if self.plan.feedthrough else [], f"t = {t1:.9g} s")

    def _macro(self, t1: float, due: list[int], saved: Point | None) -> None:
        """One macro step to t1, repeated if iterations are asked for."""
        self._stepped = []
        repeated = self.plan.iterations > 0
        self._pass(t1, due, None, final=not self.keeps_states)
        change = 0.0
        for _ in range(self.plan.iterations):
            assert saved is not None
            target = self.point.y.copy()
            self._return(saved)
            self._pass(t1, due, target, final=False)
            self.iterations += 1
            size = self.wiring.nominal + np.abs(target)
            change = float(np.max(np.abs(self.point.y - target) / size, initial=0.0))
            if change <= SETTLED:
                break
        if repeated:
            self.residual = max(self.residual, change)
        self._latch()

    # ---- going back

    def _keep(self) -> Point | None:
        """States of all FMUs that can save theirs, and ours."""
        if not self.keeps_states:
            return None
        for k, port in enumerate(self.ports):
            if self.can_return[k]:
                self._saved[k] = port.slave.save(self._saved.get(k))
        return self.point.copy()

    def _keep_aside(self) -> tuple[Point, list[Any]]:
        """A second set of states, which the caller frees with `_free_aside`."""
        return self.point.copy(), [port.slave.save() for port in self.ports]

    def _return_aside(self, kept: tuple[Point, list[Any]]) -> None:
        point, states = kept
        self.point = point.copy()
        # what happened after it has not
        self.events = [event for event in self.events if event.time <= self.t]
        self.message = ""
        self._ended.clear()
        for port, state in zip(self.ports, states, strict=True):
            port.slave.restore(state)

    def _free_aside(self, kept: tuple[Point, list[Any]]) -> None:
        for port, state in zip(self.ports, kept[1], strict=True):
            port.slave.free(state)

    def _return(self, saved: Point | None, stays: int | None = None) -> None:
        """Take all FMUs that have stepped back to the start of the step, except one that stays."""
        for k in dict.fromkeys(self._stepped):
            if k != stays and saved is not None and self.can_return[k]:
                self.ports[k].slave.restore(self._saved[k])
                self._ended.pop(k, None)
        self._stepped = []
        if saved is not None:
            self.point = saved.copy()

    # ---- a step that reaches as far as FMUs let it

    def _due(self, t1: float) -> list[int]:
        """FMUs whose own step ends at t1."""
        if all(every == 1 for every in self.every):
            return self.order
        last = t1 >= self.plan.end - SMALLEST * self.step
        ticks = (t1 - self.plan.start) / self.step
        whole = round(ticks) if abs(ticks - round(ticks)) < 1e-6 else None
        return [
            k
            for k in self.order
            if self.every[k] == 1 or last or k in self._ended or (whole is not None and whole % self.every[k] == 0)
        ]

    def _reach(self, t1: float) -> float:
        """Step towards t1; return the time that was reached, earlier where an FMU discards the step.

        An FMU ends the run by a discarded step with the status Terminated (FMI 2.0.4, 4.2.2).  The time up to which it
        got becomes the end of the step; there, it may take the shorter step, or discard it once more and end the run
        with it.  Both are the end.
        """
        start, wanted = self.t, t1
        saved = self._keep()
        ending: tuple[int, float] | None = None
        while True:
            try:
                self._macro(t1, self._due(t1), saved)
            except _DiscardedError as discarded:
                if discarded.ends:
                    ending = discarded.fmu, discarded.reached
                t1 = self._shorter(start, t1, saved, discarded)
                continue
            self._guesses = 0 if t1 == wanted else self._guesses
            for k in self._ended or ([ending[0]] if ending is not None and ending[1] == t1 else []):
                self._end(k, t1)
            return t1

    def _end(self, k: int, t: float, more: str = "") -> None:
        """Note that an FMU ended the run."""
        name, said = self.wiring.names[k], self.ports[k].slave.heard(1)
        self.message = f"ended by FMU '{name}' at t = {t:.9g} s" + more.partition("\n")[0] + (said and f".{said}")
        self.events.append(CosimEvent(t, "end", name))

    def _shorter(self, start: float, t1: float, saved: Point | None, discarded: _DiscardedError) -> float:
        """Back to the start of the step; where the next attempt ends."""
        name = self.wiring.names[discarded.fmu]
        step = f"from t = {start:.9g} s to {t1:.9g} s"
        said = f"FMU '{name}' discarded the step {step} and reached {discarded.reached:.9g} s"
        self.rejected += 1
        least = self._least(t1)
        gone = discarded.reached - start
        hindrance = self._hindrance(saved, discarded) if gone > least or not discarded.ends else ""
        if hindrance and discarded.ends:
            self._end(discarded.fmu, discarded.reached, f"; results end at t = {start:.9g} s, because {hindrance}")
            raise _EndedError
        if hindrance:
            why, _, advice = hindrance.partition("\n")
            raise _StuckError(f"{said}, but {why}.\n  {advice}")
        if discarded.ends and gone <= least:
            self._return(saved)
            self._end(discarded.fmu, start)
            raise _EndedError
        if discarded.ends:
            # it takes the shorter step, so that inputs over it are what they are in any step; or it stays where it is
            k = discarded.fmu
            self._guesses += 1
            found = self.ports[k].slave.description
            # a solver would find the event that ends the run a little earlier or later, and perhaps not at all
            able = self.can_return[k] and found.variable_steps and found.kind != MODEL_EXCHANGE
            stays = saved is None or not able or self._guesses > _MOST_GUESSES
            self._return(saved, k if stays else None)
            if stays:
                self._ended[k] = discarded.reached
            return discarded.reached
        self._return(saved)
        if gone > least and t1 - discarded.reached > least:
            self.events.append(CosimEvent(discarded.reached, "discard", name))
            return discarded.reached
        half = 0.5 * (t1 - start)
        self._guesses += 1
        if half < max(SHORTEST_GUESS * self.step, least) or self._guesses > _MOST_GUESSES:
            heard = self.ports[discarded.fmu].slave.heard(1)
            raise _StuckError(f"{said}; shorter steps did not help.{heard}\n  Look at what its inputs are then.")
        return start + half

    def _hindrance(self, saved: Point | None, discarded: _DiscardedError) -> str:
        """Return why a discarded step cannot be taken again with another size, and what to do; "" if it can."""
        k = discarded.fmu
        moved = [i for i in dict.fromkeys(self._stepped) if saved is None or not self.can_return[i]]
        fixed = [n for n, found in self.system.descriptions.items() if not found.variable_steps]
        if discarded.ends:
            # an FMU that ended the run need not go back: the others come to where it stands
            moved = [i for i in moved if i != k]
            fixed = [n for n in fixed if n != self.wiring.names[k]]
        if moved:
            who = ", ".join(self.wiring.names[i] for i in moved)
            why = f"{who} cannot go back to an earlier state"
            why = why if saved is not None else "rollback is off, so no states were kept"
            return f"{why}\nGive a smaller step, or instants that steps must end at."
        if self.every[k] > 1 and not discarded.ends:
            return (
                f"communicates at each {self.every[k]} steps, and others have gone further\n"
                "Let it communicate at every step: leave 'every' out."
            )
        return f"{', '.join(fixed)} cannot take steps of different size\nGive a smaller step." if fixed else ""

    def _controlled(self, t1: float, kept: tuple[Point, list[Any]]) -> tuple[float, float]:
        """Take a step and two halves, which are kept; return the time reached and the error of the halves.

        The error is Richardson's estimate (2) in error_control.py, and 0 where an FMU ended the step early.
        """
        reached = self._reach(t1)
        whole = self.point.y.copy()
        # the halves end where the whole was discarded, and meet nothing there
        met = [event for event in self.events if event.time == reached and event.kind != "end"]
        self._return_aside(kept)
        start = self.t
        middle = start + 0.5 * (reached - start)
        if self._reach(middle) < middle or self.message or self._reach(reached) < reached:
            # an FMU that discards half a step and not the whole: what is reached counts, and no estimate
            return self.t, 0.0
        self.events += met
        return reached, self._difference(whole)

    def _difference(self, coarse: Array) -> float:
        """Return the error of the present outputs that their difference from those of twice the step tells."""
        size = self.wiring.nominal + np.abs(self.point.y)
        error = float(np.max(np.abs(self.point.y - coarse) / size, initial=0.0)) / (2.0 ** self._accuracy() - 1.0)
        # an estimate that is no number is no small one
        return error if math.isfinite(error) else math.inf

    def _follow(self) -> bool:
        """Take the coarse solution to the present time in one step, and measure the error of the fine one.

        Return False if the coarse solution could not be used: it begins anew here.
        """
        assert self.control is not None
        if self.coarse is None:
            self.coarse = self._keep_aside()
            return True
        previous, fine = self.coarse, self._keep_aside()
        told = (self.events, self.message, self._guesses, self.rejected)
        met = any(event.time == self.t for event in self.events)
        try:
            self._return_aside(previous)
            arrived = self._reach(fine[0].t) == fine[0].t and not self.message
        except (_StuckError, _EndedError):
            arrived = False
        if arrived and met:
            self.point.forget()
            self._latch()
        there = self._keep_aside()
        self._return_aside(fine)
        self.events, self.message, self._guesses, self.rejected = told
        useful = arrived and self.control.measure(self.t, self._difference(there[0].y))
        if not arrived:
            self.control.begin_anew(self.t)
        given_up, self.coarse = (fine, there) if useful else (there, fine)
        for kept in (given_up, previous):
            self._free_aside(kept)
        return useful

    def _accuracy(self) -> int:
        return 2 if self.linear or self.plan.iterations else 1

    # ---- events

    def _levels(self) -> list[tuple[Crossing, str, Any, float]]:
        out = []
        for crossing in self.plan.crossings:
            fmu, variable = self.system.variable(crossing.variable)
            out.append((crossing, fmu, variable, float(value_of(variable, crossing.level))))
        return out

    def _heights(self) -> Array:
        """Of the watched variables above their levels."""
        return np.array(
            [
                float(self.ports[self.wiring.number[fmu]].slave.get(variable)) - level
                for _, fmu, variable, level in self._watched
            ]
        )

    def _crossed(self, before: Array, after: Array) -> list[int]:
        out = []
        for i, (crossing, *_) in enumerate(self._watched):
            up = before[i] < 0.0 <= after[i]
            down = before[i] > 0.0 >= after[i]
            if (up and crossing.direction != "down") or (down and crossing.direction != "up"):
                out.append(i)
        return out

    def _locate(self, kept: tuple[Point, list[Any]], before: Array) -> list[int]:
        """From behind a crossing to the first communication point at or after it."""
        low, high = kept[0].t, self.t
        after = self._heights()
        while high - low > max(CROSSING * self.step, 4.0 * math.ulp(abs(high))):
            middle = 0.5 * (low + high)
            self._return_aside(kept)
            self._reach(middle)
            heights = self._heights()
            if self._crossed(before, heights):
                high, after = self.t, heights
            else:
                low = self.t
        if self.t != high:
            self._return_aside(kept)
            self._reach(high)
            after = self._heights()
        return self._crossed(before, after)

    # ---- the run

    def run(self, progress: bool | None = False) -> CosimResult:
        """From start to end; what there is, if Ctrl-C is pressed, an FMU ends the run, or an event stops it."""
        from liegeo.interrupts import CtrlC
        from liegeo.results.progress import Progress

        began = time.perf_counter()
        failed = ""
        length = self.plan.end - self.plan.start
        with Progress(length, self.system.name, progress) as bar, CtrlC() as ctrl_c:
            ctrl_c.listen()
            try:
                # what is not finite is refused by FMUs, or shows in the results
                with np.errstate(over="ignore", invalid="ignore"), self.open():
                    self.recorder.take(self.t, self.point.y, self.ports)
                    for t in self._go():
                        self.recorder.take(self.t, self.point.y, self.ports)
                        bar.update(t - self.plan.start, self.steps)
                        if ctrl_c.pressed:
                            self.message = f"interrupted at t = {t:.9g} s"
                            break
            except KeyboardInterrupt:
                # the second Ctrl-C, or one outside of the main thread's handler
                self.message = f"interrupted at t = {self.t:.9g} s"
            except (FMUError, LoopError, _StuckError) as error:
                failed = str(error)
        finished = not failed and not self.message
        result = self._result(time.perf_counter() - began, finished, failed.splitlines()[0] if failed else self.message)
        if failed:
            raise SimulationError(
                f"cosim: '{self.system.name}' stopped at t = {self.t:.9g} s: {failed}\n"
                "  What there is so far is in the error's `result`.",
                result,
            )
        return result

    def _go(self) -> Iterator[float]:
        """Step after step; yields the time of each communication point."""
        plan = self.plan
        instants = sorted({when for when in plan.instants if plan.start < when < plan.end})
        size = self.step
        before = self._heights()
        last = self.t
        try:
            while plan.end - self.t > max(SMALLEST * self.step, 4.0 * math.ulp(abs(plan.end))):
                wanted = self.t + size if plan.tolerance else self._grid()
                limit, instant = plan.end, None
                while instants and instants[0] - self.t <= SMALLEST * self.step:
                    instants.pop(0)
                if instants and instants[0] < limit:
                    limit = instant = instants[0]
                if wanted >= limit - SMALLEST * self.step:
                    wanted = limit
                elif plan.tolerance and wanted > limit - 0.5 * size:
                    # two even steps rather than a large and a tiny one
                    wanted = self.t + 0.5 * (limit - self.t)
                kept = self._keep_aside() if self._watched else None
                try:
                    size = self._one(wanted, size)
                    if kept is not None and (crossed := self._crossed(before, self._heights())):
                        crossed = self._locate(kept, before) or crossed
                        self._note(crossed)
                finally:
                    if kept is not None:
                        self._free_aside(kept)
                before = self._heights()
                self.steps += 1
                if instant is not None and abs(self.t - instant) <= SMALLEST * self.step:
                    self.events.append(CosimEvent(self.t, "instant", ""))
                if self.events and self.events[-1].time == self.t:
                    self.point.forget()
                    self._latch()
                last = self.t
                yield last
                if self.message:
                    return
            if self.control is not None:
                self._follow()
        except _EndedError:
            if self.t > last:
                self.steps += 1
                yield self.t

    def _grid(self) -> float:
        """The next multiple of the step."""
        start = self.plan.start
        count = math.floor((self.t - start) / self.step + 1e-6) + 1
        return min(start + count * self.step, self.plan.end)

    def _one(self, wanted: float, size: float) -> float:
        """One accepted step towards `wanted`; the size to try next."""
        if not self.plan.tolerance:
            self._reach(wanted)
            return size
        assert self.control is not None
        least = self.plan.min_step or 1e-6 * self.step
        largest = self.plan.max_step or math.inf
        if not self._follow():
            size = max(least, 0.5 * (wanted - self.t))
            wanted = self.t + size
        start, kept = self.t, self._keep_aside()
        # a step that is cut short at an instant says little about the next
        cut = wanted - start < size * (1.0 - SMALLEST)
        attempts = 0
        try:
            while True:
                attempts += 1
                reached, error = self._controlled(wanted, kept)
                h = reached - start
                ratio = error / self.control.allowed(start, h)
                factor = self.control.factor(ratio)
                if ratio <= 1.0 or self.control.is_jump(error, ratio, self._refused):
                    self.control.add(error)
                    if attempts == 1:
                        self._refused = math.inf
                    shortened = cut or reached < wanted
                    return float(min(largest, max(least, h * factor, size if shortened else 0.0)))
                self.rejected += 1
                self._refused = ratio
                if h * factor < least:
                    raise _StuckError(
                        f"the error of a step of {h:.3g} s is {ratio:.3g} times what the tolerance allows, and shorter "
                        f"ones are below min_step = {least:.3g} s.\n"
                        "  Raise the tolerance, lower min_step, or use linear inputs or iterations."
                    )
                self._return_aside(kept)
                wanted, cut = start + h * factor, False
        finally:
            self._free_aside(kept)

    def _note(self, crossed: list[int]) -> None:
        for i in crossed:
            crossing = self._watched[i][0]
            self.events.append(CosimEvent(self.t, "crossing", crossing.variable))
            if crossing.stop:
                self.message = f"'{crossing.variable}' reached {crossing.level} at t = {self.t:.9g} s"

    def _result(self, seconds: float, finished: bool, message: str) -> CosimResult:
        info = CosimInfo(
            algorithm=self.plan.algorithm,
            order=tuple(self.wiring.names[k] for k in self.order) if self.sequential else (),
            steps=self.steps,
            rejected=self.rejected,
            calls=self.calls,
            iterations=self.iterations,
            residual=self.residual,
            error=self.control.largest if self.control is not None else 0.0,
            seconds=seconds,
            finished=finished,
            message=message,
            events=tuple(self.events),
        )
        return CosimResult(self.system.name, self.recorder.table(), self.recorder.units, info)


class _EndedError(Exception):
    """An FMU ended the run where it stands."""
