"""What runs a method on a problem: `Stepper`, and `solve` and `solve_adaptive` with it.

`Stepper.advance` is the only way in which a motion gets on in time: `liegeo.simulate` and the communication steps of an
FMU call it alike, with methods of equal steps and with methods that choose their steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import breaks, calls, explicit, stepping
from liegeo.integrate.breaks import Breaks
from liegeo.integrate.calls import Scratch, data_of, loop_arguments, with_derivatives
from liegeo.integrate.crossing import HELD, crawls, crossing_steps, in_force, remember
from liegeo.integrate.explicit import Operations, operations
from liegeo.integrate.methods import DormandPrince54, Method, check_method, count
from liegeo.integrate.newton import NewtonRecord, with_sizes
from liegeo.integrate.problems import Dynamics, Problem
from liegeo.integrate.stepping import EVENT, FAILED, FINISHED, FULL, JUMP, Bound
from liegeo.integrate.trajectory import Event, Trajectory, as_arrays, cut, find_events, join
from liegeo.lie import Group, Product
from liegeo.lie.product import FACTORS
from liegeo.status import TOO_SHORT, WANTED, explain

Array = NDArray[np.float64]

# The tolerance of what a method solves, as a share of what a step may lose by stepping.py (4).
_SOLVED_OF_BOUND = 0.3
# The share of the whole error that a step may have by it, however short it is.
_LEAST_SHARE = 1e-4
# Steps in one call of the compiled loop; between calls Python looks for events and for Ctrl-C.
AT_ONCE = 512


class Stepper:
    """A method on a problem: its compiled loop, where it is, and what it remembers.

    y, `memory` and `control` (stepping.py) are all there is: put back, they give the same bits again.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        *,
        step: float | None = None,
        rtol: float = 1e-6,
        atol: float = 1e-9,
        first_step: float | None = None,
        max_step: float = np.inf,
        bound: Bound | None = None,
        fenced: bool = True,
    ) -> None:
        """`step` is for methods of equal steps; tolerances, or `bound` in place of them, for those that choose.

        `fenced`: whether damage by a step that needs more scratch than its method says is found (calls.Scratch).
        """
        self.problem, self.method, self.bound = problem, method, bound
        group, system = problem.group, problem.system
        self._loop, used = compile_loop(problem, method)
        if bound is not None:
            used = used | {"displacement"}
        self._given = given_to(problem, mechanical=False)
        self._record = None if method.record is None else count(method.record, group.dim)
        self._layout = _rows(group)
        self.control = np.zeros(stepping.CONTROL_SIZE)
        self._scale = np.empty(group.dim)
        # in stepping.py (2): the power of h with which the error of a step goes
        self._power = 1.0 + (method.order if method.lower is None else method.lower)
        self._coefficients = with_sizes(method, self._limited(rtol, atol), system)
        self._I, self._F, W = data_of(system, method.workspaces, used, *self._missing())
        rows, self._kept = method.scratch(group.dim, int(np.prod(group.element_shape)))
        self._scratch = Scratch(method, W, rows, group.dim, fenced)
        self._rows = np.empty((2, group.dim))
        self._Y, self._end = np.empty(group.element_shape), np.empty(group.element_shape)
        self._nothing = np.empty(0), np.empty((0, *group.element_shape)), np.empty((0, group.dim))
        self.y = np.array(problem.start, dtype=np.float64)
        self._breaks = system.breaks if system is not None else Breaks()
        # brings a state to what is prescribed after a jump: (t, y) -> y
        self.renew: Callable[[float, Array], Array] | None = None
        # a loop around the compiled one, with its arguments, that ends steps at events; whether the last ended at one
        self.watcher: Callable[..., int] | None = None
        self.at_event = False
        self.t = float(problem.t_start)
        self.control[stepping.PASSED] = breaks.piece(self._breaks.table, self.t)[0]
        self.control[stepping.BEFORE] = 1.0
        self.restart(self.t)
        if method.adaptive:
            self.control[stepping.LONGEST] = max_step
            self.control[stepping.STEP] = self._first_step(first_step, max_step)
        else:
            self.control[stepping.LONGEST] = np.nan if step is None else step

    def _limited(self, rtol: float, atol: float) -> Array:
        """Write what errors may be; return the coefficients of the method for that."""
        method, bound, control = self.method, self.bound, self.control
        if not method.adaptive:
            return method.coefficients()
        if bound is None:
            tighter = rtol ** (method.exponent - 1.0)
            control[stepping.RTOL], control[stepping.ATOL] = tighter * rtol, tighter * atol
            return method.coefficients(tighter * rtol + tighter * atol)
        self._power = float(method.order)
        self._scale[:2] = bound.position, bound.angle
        control[stepping.RTOL], control[stepping.SPAN], control[stepping.LEAST_SHARE] = (
            bound.coordinates,
            bound.span,
            _LEAST_SHARE,
        )
        control[stepping.BY_SPEEDS] = 1.0 if method.lower is not None and method.order > method.lower else 0.0
        return method.coefficients(0.0, _SOLVED_OF_BOUND * bound.coordinates / bound.span)

    def _missing(self) -> list[tuple[Any, Any]]:
        """Return the loop and its arguments, if it has never run: it is compiled beside the kernels of the system."""
        if getattr(self._loop, "entries", None) != {}:
            return []
        return [(self._loop, loop_arguments(self._layout, self._coefficients, self.problem.group.element_shape))]

    # ---- where it is

    @property
    def t(self) -> float:
        return float(self.control[stepping.TIME])

    @t.setter
    def t(self, t: float) -> None:
        self.control[stepping.TIME] = t

    @property
    def steps(self) -> int:
        """How many steps were made."""
        return int(self.control[stepping.STEPS])

    @property
    def memory(self) -> Array:
        """What the method keeps from step to step; a view.  Where it chooses its steps, first the field at y."""
        return self._scratch.K[: self._kept]

    @property
    def newton(self) -> NewtonRecord:
        """What Newton's method has done since this was made, or since `newton` was deleted."""
        return NewtonRecord.read(self._scratch.K, self._record)

    @newton.deleter
    def newton(self) -> None:
        NewtonRecord.reset(self._scratch.K, self._record)

    @property
    def local_errors(self) -> float | None:
        """The estimated errors of all steps, added up; None of a method that estimates none.

        By stepping.py (1) in radians, or relative to a number of size 1; by (4) as a share of the bound.
        """
        if not self.method.adaptive:
            return None
        control = self.control
        scale = 1.0 if self.bound is not None else control[stepping.RTOL] + control[stepping.ATOL]
        return float(control[stepping.ERRORS] * scale)

    @property
    def why(self) -> str:
        """Why it could not go on."""
        status = int(self.control[stepping.STATUS])
        if not status:
            return TOO_SHORT
        return explain(self.problem.system, status, self.y, self.problem.start)

    def save(self) -> tuple[Array, Array, Array]:
        """Return copies of all there is."""
        return self.y.copy(), self.memory.copy(), self.control.copy()

    def load(self, saved: Sequence[Array]) -> None:
        """Put back what `save` returned."""
        self.y[:], self.memory[:], self.control[:] = saved
        self._breaks.limit(self._F, self.t)

    def restart(self, t: float) -> None:
        """Remember nothing of the motion so far; where a method needs the field and there is none, `advance` fails."""
        self._breaks.limit(self._F, t)
        memory = self.memory
        if not len(memory):
            return
        memory[:] = 0.0
        if self.method.adaptive and self._evaluate(t, self.y, memory[0]):
            memory[0] = np.nan

    def field(self, t: float, y: Array) -> Array:
        """The field; IntegrationError where there is none."""
        out = np.empty(self.problem.group.dim)
        status = self._evaluate(t, y, out)
        if status:
            why = explain(self.problem.system, status)
            raise IntegrationError(f"problem '{self.problem.name}', {self.method.name}: {why} at t = {t:.6g}.")
        return out

    def with_fields(self, piece: Trajectory, points: Sequence[int]) -> tuple[Trajectory, int]:
        """Return a piece of equal steps, just made, with fields at these points of it, and zero.

        It ends before the first of them that has no field, and the second result is then the status there.
        """
        f = np.zeros((len(piece.t), self.problem.group.dim))
        # apart from the scratch of steps, where a method may keep a factorisation
        W = np.full(0 if self.problem.system is None else self.problem.system.work, np.nan)
        for k in points:
            status = int(self._given(self._I, self._F, float(piece.t[k]), np.ascontiguousarray(piece.y[k]), W, f[k]))
            if status:
                k = max(1, k)
                return replace(piece, t=piece.t[:k], y=piece.y[:k], f=f[:k]), status
        return replace(piece, f=f), 0

    def _evaluate(self, t: float, y: Array, out: Array) -> int:
        return int(self._given(self._I, self._F, t, y, self._scratch.W, out))

    # ---- motion

    def advance(self, end: float | None = None, most: int = AT_ONCE) -> tuple[Trajectory, int]:
        """Make at most so many steps towards `end`, the problem's if not given; return them, and how it went.

        FINISHED: `end` is reached, exactly; FULL: there is more to do; FAILED: see `why`.  The trajectory begins where
        this one was.  Steps also end at each of the system's breaks; the next call begins behind it.
        There are more than `most` if the last of them may lead to a singular position (crossing.py).
        """
        group, chosen = self.problem.group, self.method.adaptive
        T, E = np.empty(most + 1), np.empty((most + 1, *group.element_shape))
        G = np.empty((most + 1 if chosen else 0, group.dim))
        Q = np.zeros((most + 1 if self.method.quartic else 0, group.dim))
        end, status = self._begin(end)
        T[0], E[0] = self.t, self.y
        if chosen:
            G[0] = self.memory[0]
        n, rows = 0, [T, E, G, Q]
        if status == FULL:
            n, status = self._run(most, *(row[1:] for row in rows))
            if status == EVENT:
                # whoever looks for events lets it act
                self.at_event, status = True, FULL
            while status == FULL and n < HELD and not self.at_event and self._crawls():
                rows = [np.concatenate([row, np.empty_like(row)]) for row in rows]
                more, status = self._run(len(rows[0]) - 1 - n, *(row[n + 1 :] for row in rows))
                n += more
            if status == FINISHED and self.control[stepping.STOP] != end:
                status = FULL
        T, E, G, Q = self._in_force([each[: n + 1] for each in rows])
        f, terms = (each if len(each) else None for each in (G, Q))
        return Trajectory(group, T, E, f, int(self.control[stepping.REJECTED]), (), terms), status

    def _crawls(self) -> bool:
        """Return whether the last steps may lead to a singular position, and be replaced."""
        return self.method.crosses and bool(crawls(self.memory[1:]))

    def _in_force(self, rows: list[Array]) -> list[Array]:
        """Return rows of a trajectory without those that steps across a singular position replaced."""
        if not self.method.crosses:
            return rows
        kept = in_force(rows[0])
        if kept.all():
            return rows
        self.control[stepping.STEPS] -= np.count_nonzero(~kept)
        if len(rows[3]):
            # behind a gap the step is not the one of which the term is
            rows[3][1:][~kept[:-1]] = 0.0
        return [row[kept] if len(row) else row for row in rows]

    def reach(self, end: float, most: int) -> int:
        """Do the same without keeping what lies between."""
        end, status = self._begin(end)
        if status == FULL:
            _, status = self._run(most, *self._nothing, self._nothing[2])
            if status == FINISHED and self.control[stepping.STOP] != end:
                return FULL
        return status

    def step(self, h: float, n: int = 1, start: float | None = None) -> int:
        """Make n steps of just this size from here, or from the time `start`, across whatever jumps; return a status.

        For studies of methods of equal steps.  After a failure t and y are where the last good step ended.
        """
        control = self.control
        self._breaks.lift(self._F)
        if start is not None or h != control[stepping.STEP]:
            # Times are counted from here, so that they do not depend on how many steps are made at once.
            control[stepping.ORIGIN] = self.t if start is None else start
            control[stepping.STEP], control[stepping.DONE] = h, 0.0
        control[stepping.STATUS], control[stepping.PLANNED] = 0.0, control[stepping.DONE] + n
        control[stepping.STOP] = control[stepping.ORIGIN] + control[stepping.PLANNED] * h
        status = FINISHED
        if n:
            _, status = self._run(n, *self._nothing, self._nothing[2])
        control[stepping.PLANNED] = control[stepping.DONE]
        self.t = float(control[stepping.ORIGIN] + control[stepping.DONE] * h)
        return int(control[stepping.STATUS]) if status == FAILED else 0

    def _begin(self, end: float | None) -> tuple[float, int]:
        """Aim at `end`, or at the break before it; return `end`, and FULL if there is anything to do."""
        control, t, self.at_event = self.control, self.t, False
        end = float(self.problem.t_end if end is None else end)
        status = stepping.aim(control, self._breaks.table, end)
        if status == JUMP:
            if self.renew is not None:
                self.y[:] = self.renew(t, self.y)
            self.restart(t)
            status = stepping.aim(control, self._breaks.table, end)
        if status == FINISHED:
            return end, FINISHED
        if self.method.adaptive:
            if np.isnan(self.memory[0]).any():
                control[stepping.STATUS] = self._evaluate(t, self.y, self.memory[0])
            if control[stepping.STATUS]:
                self.memory[0] = np.nan
                return end, FAILED
        elif np.isnan(control[stepping.LONGEST]):
            raise InputError(f"{self.method.name} makes steps of equal size: give Stepper a step=… in seconds.")
        return end, FULL

    def _run(self, most: int, *ends: Array) -> tuple[int, int]:
        """Run the compiled loop, and look whether its scratch is whole."""
        n, status = self.call(most, *ends)
        self._scratch.check()
        return n, status

    def call(self, most: int, *ends: Array) -> tuple[int, int]:
        """Run the compiled loop, and compile what it asks for."""
        control, system = self.control, self.problem.system
        loop = self.watcher or self._loop
        scratch = self._scratch.W, self._scratch.K, self._rows, self._Y, self._end, self._scale
        data = self._layout, self._I, self._F, self._coefficients, self._power, self._kept
        status, n = loop(*data, control, self.y, *scratch, most, *ends), int(control[stepping.MADE])
        while status == FAILED and control[stepping.STATUS] == WANTED and system is not None:
            self._I = with_derivatives(self._I, system)
            if self.method.adaptive:
                control[stepping.REJECTED] -= 1.0
            control[stepping.STATUS] = 0.0
            data = self._layout, self._I, *data[2:]
            status = loop(*data, control, self.y, *scratch, most - n, *(end[n:] for end in ends))
            n += int(control[stepping.MADE])
        return n, int(status)

    def _first_step(self, given: float | None, max_step: float) -> float:
        """Return the first step that is tried: the one given, or one that fits the field at the start."""
        whole = self.problem.t_end - self.problem.t_start
        if given is not None:
            return float((1.0 if whole >= 0.0 else -1.0) * min(given, abs(whole), max_step))
        return float(
            stepping.within(stepping.first_step(self.control, self.method.order, self.memory[0], whole), max_step)
        )


def _rows(group: Group) -> NDArray[np.int64]:
    """The layout of a product; of a single group one row, if it is ℝⁿ, so that stepping.py (1) can tell."""
    if isinstance(group, Product):
        return group.layout
    rows = np.zeros((1, 9), np.int64)
    rows[0, 0] = 0 if group.family == FACTORS[0][0] else -1
    rows[0, 2] = rows[0, 4] = group.dim
    return rows


def solve(problem: Problem, method: Method, steps: int, save: int | None = None) -> Trajectory:
    """Equal steps from start to end; `save` of them are kept, evenly, besides the start (all, if not given).

    If a step fails the error says when and why, and has the trajectory so far as `trajectory`.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"solve: steps is {steps!r}, expected a whole number ≥ 1.")
    kept = steps if save is None else save
    if kept < 1 or steps % kept:
        raise InputError(f"solve: save is {save!r}, expected a divisor of steps ({steps}).")
    if method.adaptive:
        raise InputError(f"solve: {method.name} chooses its steps; call solve_adaptive.")
    stepper = Stepper(problem, method)
    h, n = (problem.t_end - problem.t_start) / steps, steps // kept
    times, out = [float(problem.t_start)], [stepper.y.copy()]
    for _ in range(kept):
        if stepper.step(h, n):
            raise IntegrationError(
                f"problem '{problem.name}', {method.name}: after t = {stepper.t:.6g}, {stepper.why}.\n"
                "  Take more steps, or look for a singularity of the field.",
                Trajectory(problem.group, np.array(times), np.stack(out)),
            )
        times.append(stepper.t)
        out.append(stepper.y.copy())
    return Trajectory(problem.group, np.array(times), np.stack(out))


def solve_adaptive(
    problem: Problem,
    method: Method = DormandPrince54,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    first_step: float | None = None,
    max_step: float = np.inf,
    events: Sequence[Event] = (),
) -> Trajectory:
    """From start to end with steps that keep the estimated error of each within the tolerances (stepping.py (1))."""
    for name, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step)):
        if not value > 0.0:
            raise InputError(f"solve_adaptive: {name} is {value!r}, must be > 0.")
    if first_step is not None and not first_step > 0.0:
        raise InputError(f"solve_adaptive: first_step is {first_step!r}, must be > 0.")
    if not method.adaptive:
        raise InputError(f"solve_adaptive: {method.name} makes steps of equal size; call solve with their number.")
    stepper = Stepper(problem, method, rtol=rtol, atol=atol, first_step=first_step, max_step=max_step)
    pieces: list[Trajectory] = []
    found: list[list[tuple[float, Array]]] = [[] for _ in events]
    status, stop = FULL, None
    while status == FULL and stop is None:
        piece, status = stepper.advance()
        pieces.append(piece)
        stop = find_events(piece, events, found) if events else None
    run = replace(join(pieces), events=as_arrays(found, problem.group))
    if stop is not None:
        return cut(run, stop, stepper.field(*stop))
    if status == FAILED:
        raise IntegrationError(
            f"problem '{problem.name}', {method.name}: at t = {stepper.t:.6g}, after {len(run.t) - 1} steps, "
            f"{stepper.why}.\n"
            "  The field is not smooth or not finite there, or the tolerances are below round-off.",
            run,
        )
    return run


def compile_loop(problem: Problem, method: Method) -> Made:
    """The loop of a method on a problem, compiled if the field is; one for all mechanical systems."""
    check_method(problem, method)
    displacement = None
    if method.adaptive and problem.system is not None:
        displacement = given_to(problem, mechanical=True).displacement
    given, make, closed = given_to(problem, method.mechanical), maker(problem, method), closed_by(problem, method)
    return _compile(
        operations(problem.group), make, given, problem.compiled, closed, method.adaptive, method.crosses, displacement
    )


class Made(NamedTuple):
    """A compiled loop, and which kernels of a system it calls."""

    loop: Callable[..., Any]
    used: frozenset[str]


@functools.lru_cache(maxsize=256)
def _compile(
    group: Operations,
    make: Callable[..., Any],
    given: Any,
    compiled: bool,
    closed: Dynamics | None,
    adaptive: bool,
    crosses: bool,
    displacement: Any,
) -> Made:
    """The loop around what `make` makes; what leaves constraints is brought back with the kernels `closed`."""
    used = {"acceleration"}
    if isinstance(given, Dynamics):
        given = calls.Recorder(given)
        used = given.used
    step = make(group, given, compiled)
    if closed is not None:
        used.add("closing")
        step = explicit.projected(step, group, closed, compiled)
        if adaptive:
            step = explicit.renewed(step, given, compiled)
    if crosses:
        loop = crossing_steps(stepping.chosen_steps(step, compiled, displacement, remember), compiled)
    elif adaptive:
        loop = stepping.chosen_steps(step, compiled, displacement)
    else:
        loop = stepping.equal_steps(step, compiled)
    return Made(loop, frozenset({*used, "acceleration"}))


def maker(problem: Problem, method: Method) -> Callable[..., Any]:
    """What makes the step of a method on a problem."""
    system = problem.system
    if not method.mechanical or system is None:
        return method.make
    if system.constrained:
        return method.make_closed or method.make
    return method.make_coupled or method.make if system.coupled else method.make


def closed_by(problem: Problem, method: Method) -> Dynamics | None:
    """The kernels that bring a problem back to its constraints, if it has any and the method does not know them."""
    if problem.system is None or not problem.system.constrained or method.mechanical:
        return None
    return calls.STUBS if problem.compiled else problem.system.dynamics


def given_to(problem: Problem, mechanical: bool) -> Any:
    """What a method gets beside the group: a field, or the kernels of a system."""
    if problem.system is None:
        return _adapt(problem.field, problem.compiled)
    if mechanical:
        return calls.STUBS if problem.compiled else problem.system.dynamics
    return problem.field


@functools.lru_cache(maxsize=256)
def _adapt(field: Any, compiled: bool) -> Any:
    return explicit.adapt_field(field, compiled)
