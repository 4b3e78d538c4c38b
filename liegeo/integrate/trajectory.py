"""Trajectories: the steps of a motion, what lies between them, and where events happened.

Between steps: with Δ = Y₀⁻¹Y₁ in the algebra, the cubic u(s) that has u(0) = 0, u(1) = Δ, u′(0) = h F₀ and
u′(1) = h dexp_right(Δ)⁻¹ F₁ gives Y(s) = Y₀ exp(u(s)), right to h⁴.                                              (1)
Dormand–Prince's stages give one term more, s² (1 − s)² h Σ d_i k_i, and with it what is right to h⁵.              (2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import InputError
from liegeo.lie import Group

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """A function of (t, Y) whose zeros are wanted: `direction` 1 rising, −1 falling, 0 both; `terminal`: end there."""

    function: Callable[[float, Array], float]
    direction: int = 0
    terminal: bool = False


@dataclass(frozen=True)
class Trajectory:
    """Ends of steps: times (n), elements (n × …), and fields (n × dim), if they are known; what was rejected; events.

    Called with times, it gives elements between the steps (1), with the terms `more` of (2), that of a step at its end,
    if there are any.  Events are by their index: when each happened, and where.
    """

    group: Group
    t: Array
    y: Array
    f: Array | None = None
    rejected: int = 0
    events: tuple[tuple[Array, Array], ...] = ()
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
        """(1) in the steps that begin at indices i."""
        if self.f is None:
            raise InputError(
                "trajectory: its fields are not known, and without them nothing between its steps.\n"
                "  Take its own times, or solve_adaptive."
            )
        h = np.asarray(self.t[i + 1] - self.t[i])[..., np.newaxis]
        s = np.asarray(t - self.t[i])[..., np.newaxis] / h
        delta = self.group.difference(self.y[i + 1], self.y[i])
        a, b = h * self.f[i], h * self.group.dexpinv_right_apply(delta, self.f[i + 1])
        u = s * (1 - s) ** 2 * a + s**2 * (3 - 2 * s) * delta + s**2 * (s - 1) * b
        if self.more is not None:
            u = u + (s * (1 - s)) ** 2 * self.more[i + 1]
        return self.group.retract(self.y[i], u)


def join(pieces: Sequence[Trajectory]) -> Trajectory:
    """Return one trajectory of several, each of which begins where the one before it ended.

    What is there twice is left out, but for points where state or field jump.
    """
    first = pieces[0]
    begins = [0, *(int(_goes_on(before, after)) for before, after in pairwise(pieces))]
    parts = list(zip(pieces, begins, strict=True))
    t, y = (np.concatenate([getattr(piece, name)[k:] for piece, k in parts]) for name in ("t", "y"))
    f = more = None
    if first.f is not None:
        f = np.concatenate([piece.f[k:] for piece, k in parts if piece.f is not None])
    if first.more is not None:
        more = np.concatenate([piece.more[k:] for piece, k in parts if piece.more is not None])
    return Trajectory(first.group, t, y, f, sum(piece.rejected for piece in pieces), (), more)


def _goes_on(before: Trajectory, after: Trajectory) -> bool:
    """Return whether the second trajectory begins with the last point of the first."""
    same = before.t[-1] == after.t[0] and before.y[-1].tobytes() == after.y[0].tobytes()
    if before.f is None or after.f is None:
        return bool(same)
    return bool(same and before.f[-1].tobytes() == after.f[0].tobytes())


def find_events(
    run: Trajectory, events: Sequence[Event], found: list[list[tuple[float, Array]]]
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


def _value_in_step(t: float, run: Trajectory, k: int, event: Event) -> float:
    return event.function(t, run.between(k, t))


def cut(run: Trajectory, stop: tuple[float, Array], field: Array) -> Trajectory:
    """The run up to a terminal event, which becomes its last point; its field is given."""
    t, y = stop
    forward = 1.0 if run.t[-1] >= run.t[0] else -1.0
    n = int(np.searchsorted(forward * run.t, forward * t))
    kept = tuple(
        (times[forward * times <= forward * t], ys[forward * times <= forward * t]) for times, ys in run.events
    )
    f = more = None
    if run.f is not None:
        f = np.concatenate([run.f[:n], field[np.newaxis]])
    if run.more is not None:
        # A piece of a quartic is a quartic: its leading coefficient shrinks with the fourth power.
        share = (t - run.t[n - 1]) / (run.t[n] - run.t[n - 1])
        more = np.concatenate([run.more[:n], share**4 * run.more[n : n + 1]])
    y_kept = np.concatenate([run.y[:n], y[np.newaxis]])
    return Trajectory(run.group, np.append(run.t[:n], t), y_kept, f, run.rejected, kept, more)


def as_arrays(found: list[list[tuple[float, Array]]], group: Group) -> tuple[tuple[Array, Array], ...]:
    """Return events as arrays of times and elements."""
    return tuple(
        (np.array([t for t, _ in places]), np.array([y for _, y in places]).reshape(-1, *group.element_shape))
        for places in found
    )
