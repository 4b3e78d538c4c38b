"""Adaptive Munthe-Kaas methods: embedded pairs, a proportional–integral controller, dense output, events.

A step of explicit.py (1) with two sets of weights on the same stages gives u and û in the algebra; e = u − û, which to
leading order is also the logarithm of the difference of the two results, is weighed entry by entry,

    err = √(mean (e_i / (atol + rtol s_i))²),       s_i = |y_i| for a factor ℝⁿ, 1 for any other,                  (1)

so that angles count in radians.  Accepted if err ≤ 1; then, with q the lower order plus one, and the error of the step
before,

    h ← h · min(5, max(0.2, 0.9 err^(−0.7/q) err_before^(0.4/q))),                                                (2)

without the second factor after a rejection (Gustafsson's controller as Hairer and Wanner give it).

Between steps: with Δ = Y₀⁻¹Y₁ in the algebra, the cubic u(s) that has u(0) = 0, u(1) = Δ, u′(0) = h F₀ and
u′(1) = h dexp_right(Δ)⁻¹ F₁ gives Y(s) = Y₀ exp(u(s)), right to h⁴.                                              (3)
Dormand–Prince's stages give one term more, s² (1 − s)² h Σ d_i k_i, and with it what is right to h⁵.              (4)

If the result that goes on is the one whose error is estimated, of order p, its error over the whole run goes as
tol^(p/(p+1)); such a method works with rtol^((p+1)/p), and with atol less by as much, so that what is asked for is what
comes out.                                                                                                        (5)

Instead of tolerances there may be a bound on the error of the whole motion of a mechanical system (`Bound`), A_p in
metres and A_r in radians.  With d_i(e) the root mean square displacement of the mass of body i that a small change e
of the coordinates causes, and φ_i(e) the rotation of the body, a step h of a run of the length T may lose h/T of it,

    ε ≤ max(h/T, 10⁻⁴),      ε = max_i max(d_i(e)/A_p, φ_i(e)/A_r).                                                (6)

Displacements, other than numbers, have cancelled what coordinates do against each other: where a hinge takes up the
rotation of the bent end that carries it, nothing moves.  m_i d_i² = eᵀ M_i e, M_i the body's part of the mass matrix.

e is the error of the result that goes on.  If that is of one order more than the one whose errors e_q and e_v in
coordinates and speeds are estimated, it is about e_q h/τ, with τ the time in which the motion changes; and errors of
speeds tell τ, as e_v is about e_q/τ.  So

    e = h e_v                                                                                                     (7)

then, which is also right where the motion is not smooth, and where a step is at its limit of stability: there τ is as
short as the step.  Either way ε/h goes as h^p with p the order of the method: errors add up to what is asked for, and p
takes the place of q in (2).  The least share lets a step pass where the motion has a kink that nobody declared.

At the distance d from a singular position of a mechanism with loops, accelerations have a round-off error that grows
as 1/d².  Steps with a stage too near to it fail, shorter steps come nearer, and none leads across, although the motion
is smooth there.  Where such steps end is the time t_s of the singular position.  With the stages of a step at t + c_i h
and g the middle of the widest gap between the c_i, steps from

    t = t_s − g h,      h = h_max, 0.7 h_max, 0.7² h_max, …,                                                       (8)

keep their stages as far from it as a step of the length h can; h_max is the longest step so far.  The method's error
falls as h^q, that of round-off grows as 1/h²: the first h for which their sum is within the tolerance is taken.  If
there is none, the tolerance is below what round-off allows at that position.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import constrained, explicit, stiff
from liegeo.integrate import tableau as tb
from liegeo.integrate.calls import Scratch, data_of, with_derivatives
from liegeo.integrate.methods import Made, Rows, check_method, closed_by, count, given_to, made, maker
from liegeo.integrate.newton import NewtonRecord, with_sizes
from liegeo.integrate.problems import Breaks, Problem
from liegeo.lie import Group, Product
from liegeo.lie.product import FACTORS
from liegeo.status import INPUT_FAILED, WANTED, explain

Array = NDArray[np.float64]

# The tolerance of what a method solves, as a share of the tolerance of a step by (1), and of what it may lose by (6):
# corrections shrink by far more than is asked for, and are judged before the last of them.
_SOLVED, _SOLVED_OF_BOUND = 0.01, 0.3
# The share (6) of the whole error that a step may have, however short it is.
_LEAST_SHARE = 1e-4
# Accepted steps in one call of the compiled loop; between calls Python looks for events and for Ctrl-C.
AT_ONCE = 512
FINISHED, FULL, TOO_SMALL = range(3)
# Steps across a singular position (8): there may be one if steps became shorter than this share of the longest; the
# lengths that are tried; so many steps wait to be replaced.
_CRAWL, _SHORTER, _LENGTHS, _HELD = 1e-2, 0.7, 24, 4096


@dataclass(frozen=True)
class AdaptiveMethod:
    """A method that estimates its error, of order `lower`.  `make` returns a trial step as in explicit.adaptive.

    Of plain numbers in `table` the last is the tolerance of what the method solves, as a share of atol + rtol.
    `rows` to `takes_states` are those of `Method`; the field counts as memory.  `exponent` is that of (5).
    """

    name: str
    order: int
    lower: int
    make: Callable[[explicit.Operations, Any, bool], Any]
    table: tb.Pair | tb.Rosenbrock | tuple[float, ...]
    rows: Rows = 0
    memory: int = 1
    exponent: float = 1.0
    mechanical: bool = False
    workspaces: int = 1
    properties: frozenset[str] = frozenset()
    make_closed: Callable[[explicit.Operations, Any, bool], Any] | None = None
    takes_states: bool = False
    make_coupled: Callable[[explicit.Operations, Any, bool], Any] | None = None
    record: Rows | None = None

    def coefficients(self, tolerance: float, per_second: float = 0.0) -> Array:
        """Return what the compiled step reads; the tolerance of what it solves grows by `per_second` of its length."""
        if isinstance(self.table, tb.Pair | tb.Rosenbrock):
            return self.table.coefficients
        *first, share = self.table
        return np.array([*first, share * tolerance, per_second]).reshape(1, 1, -1)

    @property
    def quartic(self) -> bool:
        """Whether (4) is at hand."""
        return isinstance(self.table, tb.Pair) and self.table.between is not None

    def scratch(self, dim: int) -> int:
        """Rows of K on a group of this dimension."""
        return count(self.rows, dim) or int(self.coefficients(1.0).shape[2]) + 2

    def __repr__(self) -> str:
        return (
            f"<{', '.join([f'{self.name}: order {self.order}({self.lower})', 'adaptive', *sorted(self.properties)])}>"
        )


def _pair(name: str, pair: tb.Pair) -> AdaptiveMethod:
    return AdaptiveMethod(name, pair.method.order, pair.lower.order, explicit.embedded, pair)


DormandPrince54 = _pair("rkmk-54", tb.DORMAND_PRINCE_54)
BogackiShampine32 = _pair("rkmk-32", tb.BOGACKI_SHAMPINE_32)

Rosenbrock32 = AdaptiveMethod(
    "rosenbrock-32",
    3,
    2,
    stiff.rosenbrock,
    tb.ROSENBROCK_3,
    rows=stiff.rosenbrock_rows,
    mechanical=True,
    workspaces=2,
    properties=frozenset({"stiff"}),
    takes_states=True,
    make_coupled=stiff.coupled_rosenbrock,
)


def adaptive_alpha(rho: float = 0.8) -> AdaptiveMethod:
    """Return generalised-α, forces at both ends of a step (stiff.py (1)), with steps of its own choice."""
    return _alpha(f"adaptive-alpha-{rho:g}", stiff.spectral(rho), constrained.adaptive_alpha)


def adaptive_midpoint(rho: float = 0.6) -> AdaptiveMethod:
    """Return generalised-α, forces at one state between (stiff.py (1′)), with steps of its own choice."""
    return _alpha(f"adaptive-midpoint-{rho:g}", stiff.spectral(rho, between=True), None)


def _alpha(name: str, coefficients: tuple[float, ...], closed: Any) -> AdaptiveMethod:
    *shares, _, _, _ = coefficients
    return AdaptiveMethod(
        name,
        2,
        2,
        stiff.adaptive_alpha,
        (*shares, 0.0, _SOLVED),
        exponent=1.5,
        rows=stiff.adaptive_rows,
        memory=stiff.ADAPTIVE_MEMORY,
        mechanical=True,
        workspaces=2,
        properties=frozenset({"stiff"}),
        takes_states=True,
        make_closed=closed,
        record=stiff.adaptive_record,
    )


AdaptiveAlpha, AdaptiveMidpoint = adaptive_alpha(), adaptive_midpoint()

ALL_ADAPTIVE: tuple[AdaptiveMethod, ...] = (
    DormandPrince54,
    BogackiShampine32,
    Rosenbrock32,
    AdaptiveAlpha,
    AdaptiveMidpoint,
)


@dataclass(frozen=True)
class Bound:
    """A bound on the error of the whole motion of a mechanical system (6).

    A_p in metres and A_r in radians, T in seconds.  `coordinates` is what an error in a coordinate may be for all of
    that, in the units of the coordinates.
    """

    position: float
    angle: float
    span: float
    coordinates: float


@dataclass(frozen=True)
class Event:
    """A function of (t, Y) whose zeros are wanted: `direction` 1 rising, −1 falling, 0 both; `terminal`: end there."""

    function: Callable[[float, Array], float]
    direction: int = 0
    terminal: bool = False


@dataclass(frozen=True)
class AdaptiveTrajectory:
    """Accepted steps: times (n), elements (n × …), fields (n × dim); how many were rejected; events by their index.

    Called with times, it gives elements between the steps (3), with the terms `more` of (4), that of a step at its end,
    if there are any.
    """

    group: Group
    t: Array
    y: Array
    f: Array
    rejected: int
    events: tuple[tuple[Array, Array], ...]
    more: Array | None = None

    @property
    def end(self) -> Array:
        return np.asarray(self.y[-1])

    def __call__(self, t: ArrayLike) -> Array:
        wanted = np.asarray(t, dtype=np.float64)
        if len(self.t) < 2:
            if (wanted != self.t[0]).any():
                raise InputError(f"trajectory: asked for t outside of {self.t[0]:.6g}, its only point.")
            return np.array(np.broadcast_to(self.y[0], (*wanted.shape, *self.y.shape[1:])))
        low, high = sorted((self.t[0], self.t[-1]))
        if (wanted < low).any() or (wanted > high).any():
            raise InputError(f"trajectory: asked for t outside of {self.t[0]:.6g} to {self.t[-1]:.6g}.")
        forward = 1.0 if self.t[-1] >= self.t[0] else -1.0
        i = np.clip(np.searchsorted(forward * self.t, forward * wanted, side="right") - 1, 0, len(self.t) - 2)
        return self.between(i, wanted)

    def between(self, i: Any, t: Any) -> Array:
        """(3) in the steps that begin at indices i."""
        h = np.asarray(self.t[i + 1] - self.t[i])[..., np.newaxis]
        s = np.asarray(t - self.t[i])[..., np.newaxis] / h
        delta = self.group.difference(self.y[i + 1], self.y[i])
        a, b = h * self.f[i], h * self.group.dexpinv_right_apply(delta, self.f[i + 1])
        u = s * (1 - s) ** 2 * a + s**2 * (3 - 2 * s) * delta + s**2 * (s - 1) * b
        if self.more is not None:
            u = u + (s * (1 - s)) ** 2 * self.more[i + 1]
        return self.group.retract(self.y[i], u)


def solve_adaptive(
    problem: Problem,
    method: AdaptiveMethod = DormandPrince54,
    *,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    first_step: float | None = None,
    max_step: float = np.inf,
    events: Sequence[Event] = (),
) -> AdaptiveTrajectory:
    """From start to end with steps that keep the estimated error of each within the tolerances (1)."""
    for name, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step)):
        if not value > 0.0:
            raise InputError(f"solve_adaptive: {name} is {value!r}, must be > 0.")
    if first_step is not None and not first_step > 0.0:
        raise InputError(f"solve_adaptive: first_step is {first_step!r}, must be > 0.")
    stepper = AdaptiveStepper(problem, method, rtol=rtol, atol=atol, first_step=first_step, max_step=max_step)
    pieces = [stepper.here()]
    found: list[list[tuple[float, Array]]] = [[] for _ in events]
    status = FINISHED if problem.t_end == problem.t_start else FULL
    stop = None
    while status == FULL and stop is None:
        piece, status = stepper.advance()
        if events:
            stop = find_events(join([_last(pieces[-1]), piece]), events, found)
        pieces.append(piece)
        if status == FULL and problem.system is not None and problem.system.breaks.begins(stepper.t):
            # the same point again, with the field behind the jump
            pieces.append(stepper.here())
    run = replace(join(pieces), events=_as_arrays(found, problem.group))
    if stop is not None:
        return cut(run, stop, stepper.field(*stop))
    if status != FINISHED:
        raise IntegrationError(
            f"problem '{problem.name}', {method.name}: at t = {stepper.t:.6g}, after {len(run.t) - 1} steps, "
            f"{stepper.why}.\n"
            "  The field is not smooth or not finite there, or the tolerances are below round-off.",
            run,
        )
    return run


def join(pieces: Sequence[AdaptiveTrajectory]) -> AdaptiveTrajectory:
    """One trajectory of several that follow each other."""
    t, y, f = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("t", "y", "f"))
    more = None
    if any(piece.more is not None for piece in pieces):
        # A point alone has no step before it.
        more = np.concatenate([np.zeros_like(piece.f) if piece.more is None else piece.more for piece in pieces])
    return AdaptiveTrajectory(pieces[0].group, t, y, f, sum(piece.rejected for piece in pieces), (), more)


def _last(piece: AdaptiveTrajectory) -> AdaptiveTrajectory:
    return AdaptiveTrajectory(piece.group, piece.t[-1:], piece.y[-1:], piece.f[-1:], 0, ())


class AdaptiveStepper:
    """A method on a problem: its compiled loop, its place, the field there, and the next step.

    `control` (explicit.adaptive), y and `memory` are all there is: put back, they give the same bits.
    """

    def __init__(
        self,
        problem: Problem,
        method: AdaptiveMethod,
        *,
        rtol: float = 1e-6,
        atol: float = 1e-9,
        first_step: float | None = None,
        max_step: float = np.inf,
        bound: Bound | None = None,
    ) -> None:
        """`bound` takes the place of rtol and atol."""
        self.problem, self.method, self.bound = problem, method, bound
        group = problem.group
        tighter = rtol ** (method.exponent - 1.0)
        rtol, atol = tighter * rtol, tighter * atol
        self._given = given_to(problem, mechanical=False)
        self._loop, used = compile_adaptive(problem, method)
        self._constrained = closed_by(problem, method) is not None
        self._record = None if method.record is None else count(method.record, group.dim)
        if bound is not None:
            used = used | {"displacement"}
        self._coefficients = method.coefficients(rtol + atol)
        # in (2): the power of h with which the error of a step goes
        self._power = method.lower + 1.0
        self._scale = np.empty(group.dim)
        sharing = np.zeros(3)
        if bound is not None:
            rtol, atol, self._power = bound.coordinates, 0.0, float(method.order)
            self._scale[:2] = bound.position, bound.angle
            sharing[:] = bound.span, _LEAST_SHARE, 1.0 if method.order > method.lower else 0.0
            self._coefficients = method.coefficients(0.0, _SOLVED_OF_BOUND * bound.coordinates / bound.span)
        self._coefficients = with_sizes(method, self._coefficients, problem.system)
        self._layout = _rows(group)
        self._I, self._F, W = data_of(problem.system, method.workspaces, used)
        self._scratch = Scratch(method, W, method.scratch(group.dim), group.dim)
        self._u = np.empty((2, group.dim))
        self._Y, self._end = np.empty(group.element_shape), np.empty(group.element_shape)
        self.y = np.array(problem.start, dtype=np.float64)
        self._breaks = problem.system.breaks if problem.system is not None else Breaks()
        self.t_end = float(problem.t_end)
        # brings a state to what is prescribed after a jump: (t, y) -> y
        self.renew: Callable[[float, Array], Array] | None = None
        self.restart(problem.t_start)
        span = problem.t_end - problem.t_start
        step = abs(span) if first_step is None else min(first_step, abs(span))
        if first_step is None:
            step = self._first_step(abs(span), rtol, atol)
        h = (1.0 if span >= 0.0 else -1.0) * min(step, max_step)
        begin = [problem.t_start, h, 1.0, problem.t_end, rtol, atol, max_step, 0.0, 0.0, 0.0]
        self.control = np.array([*begin, *sharing])

    @property
    def t(self) -> float:
        return float(self.control[0])

    @property
    def local_errors(self) -> float:
        """The estimated errors of all accepted steps, added up.

        By (1) in radians, or relative to a number of size 1; by (6) as a share of the bound.
        """
        if self.bound is not None:
            return float(self.control[9])
        return float(self.control[9] * (self.control[4] + self.control[5]))

    @property
    def memory(self) -> Array:
        """What the method keeps from step to step, first of all the field at y; a view."""
        return self._scratch.K[: self.method.memory]

    @property
    def newton(self) -> NewtonRecord:
        """What Newton's method has done since this was made, or since `newton` was deleted."""
        return NewtonRecord.read(self._scratch.K, self._record)

    @newton.deleter
    def newton(self) -> None:
        NewtonRecord.reset(self._scratch.K, self._record)

    @property
    def why(self) -> str:
        """Why it could not go on."""
        status = int(self.control[8])
        if not status:
            return "the step became too small"
        return explain(self.problem.system, status, self.y, self.problem.start)

    def restart(self, t: float) -> None:
        """Remember nothing but the field here; where there is none it is not a number, and `advance` says why."""
        self._breaks.limit(self._F, t)
        self.memory[:] = 0.0
        # accepted steps of earlier calls, for (8)
        self._past: list[AdaptiveTrajectory] = []
        if self._evaluate(t, self.y, self.memory[0]):
            self.memory[0] = np.nan

    def field(self, t: float, y: Array) -> Array:
        """The field; IntegrationError where there is none."""
        out = np.empty(self.problem.group.dim)
        status = self._evaluate(t, y, out)
        if status:
            why = explain(self.problem.system, status)
            raise IntegrationError(f"problem '{self.problem.name}', {self.method.name}: {why} at t = {t:.6g}.")
        return out

    def _evaluate(self, t: float, y: Array, out: Array) -> int:
        return int(self._given(self._I, self._F, t, y, self._scratch.W, out))

    def here(self) -> AdaptiveTrajectory:
        """The place where it is, as a trajectory of one point."""
        return AdaptiveTrajectory(
            self.problem.group, np.array([self.t]), self.y[np.newaxis].copy(), self.memory[:1].copy(), 0, ()
        )

    def advance(self, at_once: int = AT_ONCE) -> tuple[AdaptiveTrajectory, int]:
        """Make so many accepted steps; return them, and FINISHED, FULL (there is more to do) or TOO_SMALL.

        They end at the next of the system's breaks; where that is before `t_end`, the method has begun anew.  There are
        more steps than `at_once` if the last ones may lead to a singular position: if so, they are replaced by (8).
        """
        group = self.problem.group
        T, E, G = np.empty(at_once), np.empty((at_once, *group.element_shape)), np.empty((at_once, group.dim))
        self.control[7] = self.control[8] = 0.0
        self.control[3] = self.t_end
        if self._breaks.times and self.t_end > self.t:
            self.control[3] = min(self.t_end, self._breaks.limit(self._F, self.t))
        if np.isnan(self.memory[0]).any():
            self.control[8] = self._evaluate(self.t, self.y, self.memory[0])
        if self.control[8]:
            self.memory[0] = np.nan
            return AdaptiveTrajectory(group, T[:0], E[:0], G[:0], 0, ()), TOO_SMALL
        self._remember()
        ends = [T, E, G, np.empty((at_once if self.method.quartic else 0, group.dim))]
        n, status = self._run(0, *ends)
        while self.method.memory == 1 and self.control[8] != INPUT_FAILED and status in (FULL, TOO_SMALL):
            if status == FULL:
                if n > _HELD or not self._crawls(ends[0]):
                    break
                ends = [np.concatenate([end, np.empty_like(end)]) for end in ends]
            else:
                crossed = self._cross(n, *ends)
                if crossed is None:
                    break
                n, status = crossed
            if status == FULL:
                n, status = self._run(n, *ends)
        self._scratch.check()
        T, E, G, Q = (end[:n] for end in ends)
        piece = AdaptiveTrajectory(group, T, E, G, int(self.control[7]), (), Q if self.method.quartic else None)
        self._past.append(piece)
        if status == FINISHED and self.control[3] != self.t_end:
            self._pass_break()
            status = FULL
        return piece, int(status)

    def _pass_break(self) -> None:
        """Go on behind a jump, with the step that would have come next and nothing else that is remembered."""
        if self.renew is not None:
            self.y[:] = self.renew(self.t, self.y)
        self.control[2] = 1.0
        self.restart(self.t)

    def _run(self, n: int, *ends: Array) -> tuple[int, int]:
        """Run the compiled loop behind the first n of the steps that it writes; return their number and its status."""
        scratch = self._scratch.W, self._scratch.K, self._u, self._Y, self._end, self._scale
        status = TOO_SMALL
        while True:
            data = self._layout, self._I, self._F, self._coefficients, self._power, self.method.memory
            more, status = self._loop(*data, self.control, self.y, *scratch, *(end[n:] for end in ends))
            n += int(more)
            if status != TOO_SMALL or self.control[8] != WANTED or self.problem.system is None:
                return n, int(status)
            self._I = with_derivatives(self._I, self.problem.system)
            self.control[7] -= 1.0
            self.control[8] = 0.0

    def _remember(self) -> None:
        """Forget steps of earlier calls that are not needed, or did not lead here: a state may have been put back."""
        steps = [piece for piece in self._past if len(piece.t)]
        goes_on = steps and steps[-1].t[-1] == self.t and (steps[-1].y[-1] == self.y).all()
        self._past = steps if self._constrained and goes_on else [self.here()]
        while sum(len(piece.t) for piece in self._past[1:]) > AT_ONCE:
            del self._past[0]

    def _sizes(self, times: Array) -> Array:
        """Return how long the steps were that led to these times, and those before them."""
        return np.abs(np.diff(np.concatenate([*(piece.t for piece in self._past), times])))

    def _crawls(self, times: Array) -> bool:
        """Return whether steps became so short that they may lead to a singular position."""
        sizes = self._sizes(times)
        return len(sizes) > 1 and bool(sizes[-1] <= _CRAWL * sizes.max())

    def _cross(self, n: int, *ends: Array) -> tuple[int, int] | None:
        """Step across a singular position (8) if the steps so far, n of them in `ends`, lead to one.

        Return how many steps there are then in `ends`, and the status; None if there is no way across.
        """
        T, E, G = ends[:3]
        past = join([*self._past, AdaptiveTrajectory(self.problem.group, T[:n], E[:n], G[:n], 0, ())])
        if not self._crawls(T[:n]):
            return None
        longest = self._sizes(T[:n]).max()
        nodes = np.sort(self._coefficients[: self._coefficients.shape[2], 0].sum(axis=1))
        widest = int(np.argmax(np.diff(nodes)))
        middle = 0.5 * (nodes[widest] + nodes[widest + 1])
        here, control, singular = (self.y.copy(), self.memory[0].copy()), self.control.copy(), self.t
        forward = 1.0 if control[3] > singular else -1.0
        # what leads to (8), and the step across
        two = [np.empty((min(2, len(end)), *end.shape[1:])) for end in ends]
        for h in forward * longest * _SHORTER ** np.arange(_LENGTHS):
            begin = singular - middle * h
            before = int(np.searchsorted(forward * past.t, forward * begin)) - 1
            if before < 0:
                continue
            self.y[...], self.memory[0] = past.y[before], past.f[before]
            self.control[:3] = past.t[before], begin - past.t[before], 1.0
            made, status = self._run(0, *(end[:1] for end in two))
            if made == 1 and status == FULL and abs(self.t - begin) < 1e-9 * abs(h):
                self.control[1:3] = h, 1.0
                made, status = self._run(1, *two)
            if made == 2 and forward * (self.t - singular) > 0.0:
                return self._replace(forward, begin, n, ends, two), status
            self.control[9] = control[9]
        (self.y[...], self.memory[0]), control[7] = here, self.control[7]
        self.control[:] = control
        return None

    def _replace(self, forward: float, begin: float, n: int, ends: Sequence[Array], two: Sequence[Array]) -> int:
        """Replace steps that lead to a singular position by the one that leads to `begin` and the one across.

        Return how many steps there are then in `ends`.
        """
        kept = int(np.searchsorted(forward * ends[0][:n], forward * begin))
        if forward * begin > forward * self._past[-1].t[-1]:
            for end, new in zip(ends, two, strict=True):
                end[kept : kept + len(new)] = new
            return kept + 2
        # it began before steps that are others' already; what stands between is then the cubic (3)
        for end, new in zip(ends[:3], two[:3], strict=True):
            end[0] = new[1]
        ends[3][:1] = 0.0
        return 1

    def _first_step(self, span: float, rtol: float, atol: float) -> float:
        """A step over which the solution moves by a hundredth, or what the tolerance allows a crude method."""
        speed = float(np.linalg.norm(self.memory[0]))
        share = (atol + rtol) ** (1.0 / (self.method.order + 1)) * 0.1
        return min(span, max(1e-12 * span, share / max(speed, 1.0 / max(span, 1e-300))))


def _rows(group: Group) -> NDArray[np.int64]:
    """The layout of a product; of a single group one row, if it is ℝⁿ, so that (1) can tell."""
    if isinstance(group, Product):
        return group.layout
    rows = np.zeros((1, 9), np.int64)
    rows[0, 0] = 0 if group.family == FACTORS[0][0] else -1
    rows[0, 2] = rows[0, 4] = group.dim
    return rows


def find_events(
    run: AdaptiveTrajectory, events: Sequence[Event], found: list[list[tuple[float, Array]]]
) -> tuple[float, Array] | None:
    """Zeros in these steps; the first terminal one, if there is any."""
    stops: list[tuple[float, Array]] = []
    for event, places in zip(events, found, strict=True):
        values = [event.function(float(run.t[k]), run.y[k]) for k in range(len(run.t))]
        for k, (a, b) in enumerate(pairwise(values)):
            rising = a < 0.0 <= b
            falling = a > 0.0 >= b
            if not ((rising and event.direction >= 0) or (falling and event.direction <= 0)):
                continue
            t = float(run.t[k + 1])
            if b != 0.0:
                # late: SciPy's optimisers take longer to load than most runs last
                from scipy.optimize import brentq

                t = float(brentq(_value_in_step, run.t[k], t, args=(run, k, event), xtol=1e-14, rtol=1e-14))
            places.append((t, run.between(k, t)))
            if event.terminal:
                stops.append(places[-1])
    if not stops:
        return None
    forward = 1.0 if run.t[-1] >= run.t[0] else -1.0
    return min(stops, key=lambda stop: forward * stop[0])


def _value_in_step(t: float, run: AdaptiveTrajectory, k: int, event: Event) -> float:
    return event.function(t, run.between(k, t))


def cut(run: AdaptiveTrajectory, stop: tuple[float, Array], field: Array) -> AdaptiveTrajectory:
    """The run up to a terminal event, which becomes its last point."""
    t, y = stop
    forward = 1.0 if run.t[-1] >= run.t[0] else -1.0
    n = int(np.searchsorted(forward * run.t, forward * t))
    kept = tuple(
        (times[forward * times <= forward * t], ys[forward * times <= forward * t]) for times, ys in run.events
    )
    more = None
    if run.more is not None:
        # A piece of a quartic is a quartic: its leading coefficient shrinks with the fourth power.
        share = (t - run.t[n - 1]) / (run.t[n] - run.t[n - 1])
        more = np.concatenate([run.more[:n], share**4 * run.more[n : n + 1]])
    return AdaptiveTrajectory(
        run.group,
        np.append(run.t[:n], t),
        np.concatenate([run.y[:n], y[np.newaxis]]),
        np.concatenate([run.f[:n], field[np.newaxis]]),
        run.rejected,
        kept,
        more,
    )


def _as_arrays(found: list[list[tuple[float, Array]]], group: Group) -> tuple[tuple[Array, Array], ...]:
    return tuple(
        (np.array([t for t, _ in places]), np.array([y for _, y in places]).reshape(-1, *group.element_shape))
        for places in found
    )


def compile_adaptive(problem: Problem, method: AdaptiveMethod) -> Made:
    """The loop, compiled if the field is; one for all mechanical systems."""
    check_method(problem, method)
    given = given_to(problem, method.mechanical)
    make, closed = maker(problem, method), closed_by(problem, method)
    kernels = given_to(problem, True) if problem.system is not None else None
    displacement = kernels.displacement if kernels is not None else None
    return _compile(explicit.operations(problem.group), make, given, problem.compiled, closed, displacement)


@functools.lru_cache(maxsize=256)
def _compile(
    group: explicit.Operations,
    make: Callable[..., Any],
    given: Any,
    compiled: bool,
    closed: Any,
    displacement: Any,
) -> Made:
    return made(make, group, given, compiled, explicit.adaptive, closed, displacement=displacement)
