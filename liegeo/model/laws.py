"""Laws of prescribed motions: what a `Motion` may be given, and its value, rate and acceleration at a time.

One place reads a law, for `simulate`, for every function of liegeo.dynamics and for FMUs: a number (the joint stays
there), samples (a cubic spline through them), a spline (whose derivatives are taken), a function of t that returns all
three, or None (the joint stays at zero).  Before and after its samples a law is held: its rate is zero there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.model.checks import numbers_of
from liegeo.model.constraints import MODE, Lock, Motion
from liegeo.recorded import room

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

    from liegeo.model.model import Model

Array = NDArray[Any]


@dataclass(frozen=True)
class MotionLaw:
    """The law of a Motion: a constant, a spline or a function, of the inputs at `place`, and of n speeds."""

    name: str
    place: slice
    n: int
    content: Array | PPoly | Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        """Return value, rate and acceleration at the time t, one after another."""
        if isinstance(self.content, np.ndarray):
            return self.content
        spline = as_spline(self.content)
        if spline is None:
            return self.content(t)
        first, last = spline.x[0], spline.x[-1]
        rates = [spline(t, order) if first <= t < last else np.zeros(self.n) for order in (1, 2)]
        return np.concatenate([np.ravel(part) for part in (spline(min(max(t, first), last)), *rates)])


def laws_of(model: Model) -> tuple[MotionLaw, ...]:
    """Return the laws of all prescribed motions of a model, as its tree has them, and that engaged locks are on."""
    motions = [read_law(model, loop, loop.law) for loop in model.tree.loops if isinstance(loop, Motion)]
    engaged = [f"{loop.name}.{MODE}" for loop in model.tree.loops if isinstance(loop, Lock) and loop.engaged]
    return (*motions, *(MotionLaw(name, model.inputs[name], 1, np.ones(1)) for name in engaged))


def read_law(model: Model, loop: Motion, given: Any) -> MotionLaw:
    """Return what `given` means as the law of a Motion; InputError if it means nothing."""
    place = model.inputs[loop.name]
    who, total = f"inputs['{loop.name}']", place.stop - place.start
    joint = next(joint for joint in model.tree.all_joints if joint.name == loop.joint)
    group = joint.group()
    n = 1 if loop.coordinate is not None or group is None else group.dim
    if given is None:
        given = 0.0 if total == 3 else np.zeros(n) if total == 3 * n else group.identity() if group else 0.0
    if is_sampled(given):
        from scipy.interpolate import CubicSpline

        given = CubicSpline(*read_samples(who, given, n))
    spline = as_spline(given)
    if spline is not None:
        if total != 3 * n:
            raise InputError(
                f"{who} is a spline, but the coordinates of joint '{loop.joint}' are an element of a group.\n"
                "  Give a function of t that returns position, speeds and accelerations."
            )
        columns = int(np.prod(spline.c.shape[2:]))
        if columns != n:
            raise InputError(f"{who} is a spline with {columns} components, expected {n}.")
        return MotionLaw(loop.name, place, n, spline)
    if callable(given):
        function = given
        return MotionLaw(loop.name, place, n, lambda t: _three(who, function(t), total, n))
    content = room(total)
    value = slice(0, total - 2 * n)
    content[value] = numbers_of("inputs", loop.name, given, value)
    content.setflags(write=False)
    return MotionLaw(loop.name, place, n, content)


def as_spline(given: Any) -> PPoly | None:
    """Return a spline or piecewise polynomial of SciPy as a PPoly, and None for anything else.

    Where nobody has imported scipy.interpolate, which takes longer than a short simulation, nothing is one.
    """
    if "scipy.interpolate" not in sys.modules:
        return None
    from scipy.interpolate import BSpline, PPoly

    if isinstance(given, BSpline):
        return PPoly.from_spline(given)
    return given if isinstance(given, PPoly) else None


def is_sampled(given: Any) -> bool:
    """Return whether it is a pair of times and values."""
    return isinstance(given, tuple) and len(given) == 2 and np.ndim(given[0]) == 1


def read_samples(who: str, given: Any, n: int) -> tuple[Array, Array]:
    """Return times (m) and values (m × n) of a pair, checked."""
    times, values = np.asarray(given[0], dtype=np.float64), np.asarray(given[1], dtype=np.float64)
    values = values.reshape(len(values), -1) if values.ndim else values
    if values.shape != (len(times), n) or len(times) < 2:
        raise InputError(
            f"{who} has {len(times)} times and values of shape {np.shape(given[1])}, "
            f"expected at least 2 times and values of shape ({len(times)}, {n})."
        )
    if not np.isfinite(times).all() or not np.isfinite(values).all() or not (np.diff(times) > 0).all():
        raise InputError(f"{who}: times must rise strictly, and times and values must be finite.")
    return times, values


def _three(who: str, given: Any, total: int, n: int) -> Array:
    """Return value, rate and acceleration as one vector."""
    try:
        position, speed, acceleration = (np.ravel(np.asarray(part, dtype=np.float64)) for part in given)
    except (TypeError, ValueError):
        raise InputError(f"{who} returned {given!r}, expected value, rate and acceleration.") from None
    if (position.size, speed.size, acceleration.size) != (total - 2 * n, n, n):
        raise InputError(
            f"{who} returned {position.size}, {speed.size} and {acceleration.size} numbers, "
            f"expected {total - 2 * n}, {n} and {n}."
        )
    return np.concatenate([position, speed, acceleration])
