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
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from liegeo.errors import InputError
from liegeo.integrate import explicit
from liegeo.integrate import tableau as tb
from liegeo.integrate.methods import Problem
from liegeo.lie import Group, Product
from liegeo.lie.product import FACTORS

Array = NDArray[np.float64]

# Accepted steps in one call of the compiled loop; between calls Python looks for events and for Ctrl-C.
_AT_ONCE = 512
FINISHED, FULL, TOO_SMALL, FAILED = 0, 1, 2, 3


@dataclass(frozen=True)
class AdaptiveMethod:
    """An embedded pair."""

    name: str
    pair: tb.Pair

    @property
    def order(self) -> int:
        return self.pair.method.order

    def __repr__(self) -> str:
        return f"<{self.name}: order {self.order}({self.pair.lower.order}), adaptive>"


DormandPrince54 = AdaptiveMethod("rkmk-54", tb.DORMAND_PRINCE_54)
BogackiShampine32 = AdaptiveMethod("rkmk-32", tb.BOGACKI_SHAMPINE_32)


@dataclass(frozen=True)
class Event:
    """A function of (t, Y) whose zeros are wanted: `direction` 1 rising, −1 falling, 0 both; `terminal`: end there."""

    function: Callable[[float, Array], float]
    direction: int = 0
    terminal: bool = False


@dataclass(frozen=True)
class AdaptiveTrajectory:
    """Accepted steps: times (n), elements (n × …), fields (n × dim); how many were rejected; events by their index.

    Called with times, it gives elements between the steps (3).
    """

    group: Group
    t: Array
    y: Array
    f: Array
    rejected: int
    events: tuple[tuple[Array, Array], ...]

    @property
    def end(self) -> Array:
        return np.asarray(self.y[-1])

    def __call__(self, t: ArrayLike) -> Array:
        wanted = np.asarray(t, dtype=np.float64)
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
    group, span = problem.group, problem.t_end - problem.t_start
    field, loop = _compile(group, method, problem.field, problem.compiled)
    coefficients = method.pair.coefficients
    state = _Scratch(group, coefficients.shape[2])
    y = np.array(problem.start, dtype=np.float64)
    direction = 1.0 if span >= 0.0 else -1.0
    h = direction * min(_first_step(problem, field, state, y, method.order, rtol, atol, first_step), max_step)
    start = state.field(field, problem.t_start, y)[np.newaxis]
    pieces = [AdaptiveTrajectory(group, np.array([float(problem.t_start)]), y[np.newaxis].copy(), start, 0, ())]
    t, before = problem.t_start, 1.0
    found: list[list[tuple[float, Array]]] = [[] for _ in events]
    status = FINISHED if span == 0.0 else FULL
    stop = None
    while status == FULL and stop is None:
        T, E, G = np.empty(_AT_ONCE), np.empty((_AT_ONCE, *group.element_shape)), np.empty((_AT_ONCE, group.dim))
        control = np.array([t, h, before, float(problem.t_end), rtol, atol, max_step, 0.0])
        data = (state.layout, state.I, state.F, coefficients, method.pair.lower.order + 1.0, control, y)
        n, status = loop(*data, state.W, state.K, state.u, state.Y, state.end, state.scale, T, E, G)
        t, h, before = control[:3]
        pieces.append(AdaptiveTrajectory(group, T[:n], E[:n], G[:n], int(control[7]), ()))
        if events:
            last = pieces[-2]
            seam = AdaptiveTrajectory(group, last.t[-1:], last.y[-1:], last.f[-1:], 0, ())
            stop = _look_for_events(_join([seam, pieces[-1]]), events, found)
    run = replace(_join(pieces), events=_as_arrays(found, group))
    if stop is not None:
        return _cut(run, stop, state.field(field, *stop))
    if status != FINISHED:
        why = "the step became too small" if status == TOO_SMALL else "the field failed"
        raise InputError(
            f"problem '{problem.name}', {method.name}: {why} at t = {t:.6g}, after {len(run.t) - 1} steps.\n"
            "  The field is not smooth or not finite there, or the tolerances are below round-off."
        )
    return run


def _join(pieces: Sequence[AdaptiveTrajectory]) -> AdaptiveTrajectory:
    """One trajectory of several that follow each other."""
    t, y, f = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("t", "y", "f"))
    return AdaptiveTrajectory(pieces[0].group, t, y, f, sum(piece.rejected for piece in pieces), ())


class _Scratch:
    """What the compiled loop writes on."""

    def __init__(self, group: Group, stages: int) -> None:
        self.layout = _rows(group)
        self.I, self.F, self.W = np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
        self.K, self.u = np.empty((stages, group.dim)), np.empty((2, group.dim))
        self.Y, self.end = np.empty(group.element_shape), np.empty(group.element_shape)
        self.scale = np.empty(group.dim)

    def field(self, field: Any, t: float, y: Array) -> Array:
        out = np.empty(self.K.shape[1])
        field(self.I, self.F, t, y, self.W, out)
        return out


def _rows(group: Group) -> NDArray[np.int64]:
    """The layout of a product; of a single group one row, if it is ℝⁿ, so that (1) can tell."""
    if isinstance(group, Product):
        return group.layout
    rows = np.zeros((1, 9), np.int64)
    rows[0, 0] = 0 if group.family == FACTORS[0][0] else -1
    rows[0, 2] = rows[0, 4] = group.dim
    return rows


def _first_step(
    problem: Problem, field: Any, state: _Scratch, y: Array, order: int, rtol: float, atol: float, given: float | None
) -> float:
    """A step over which the solution moves by a hundredth, or what the tolerance allows a crude method."""
    span = abs(problem.t_end - problem.t_start)
    if given is not None:
        if not given > 0.0:
            raise InputError(f"solve_adaptive: first_step is {given!r}, must be > 0.")
        return min(given, span)
    speed = float(np.linalg.norm(state.field(field, problem.t_start, y)))
    return min(
        span, max(1e-12 * span, (atol + rtol) ** (1.0 / (order + 1)) * 0.1 / max(speed, 1.0 / max(span, 1e-300)))
    )


def _look_for_events(
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


def _cut(run: AdaptiveTrajectory, stop: tuple[float, Array], field: Array) -> AdaptiveTrajectory:
    """The run up to a terminal event, which becomes its last point."""
    t, y = stop
    forward = 1.0 if run.t[-1] >= run.t[0] else -1.0
    n = int(np.searchsorted(forward * run.t, forward * t))
    kept = tuple(
        (times[forward * times <= forward * t], ys[forward * times <= forward * t]) for times, ys in run.events
    )
    return AdaptiveTrajectory(
        run.group,
        np.append(run.t[:n], t),
        np.concatenate([run.y[:n], y[np.newaxis]]),
        np.concatenate([run.f[:n], field[np.newaxis]]),
        run.rejected,
        kept,
    )


def _as_arrays(found: list[list[tuple[float, Array]]], group: Group) -> tuple[tuple[Array, Array], ...]:
    return tuple(
        (np.array([t for t, _ in places]), np.array([y for _, y in places]).reshape(-1, *group.element_shape))
        for places in found
    )


@functools.lru_cache(maxsize=256)
def _compile(group: Group, method: AdaptiveMethod, field: Callable[..., Any], compiled: bool) -> tuple[Any, Any]:
    """The field and the loop, compiled if the field is."""
    retract, dexpinv = explicit.operations(group)
    adapted = explicit.adapt_field(field, compiled)
    return adapted, explicit.adaptive(retract, dexpinv, adapted, compiled)
