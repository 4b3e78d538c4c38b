"""Algebraic loops: outputs z that depend at once on themselves, closed so that z = g(z).

First fixed-point iteration, relaxed by Aitken's method for vectors [IT69]; where that does not
converge, Newton's method with Broyden's updates (MINPACK's hybrd) on the real variables of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import LiegeoError

Array = NDArray[np.float64]

# Relative to nominal value and size: FMUs may have solvers of their own inside.
TOLERANCE = 1e-10
ACCEPTED = 1e-8
SWEEPS = 40
EVALUATIONS = 200


class LoopError(LiegeoError, ArithmeticError):
    """An algebraic loop does not close: names the loop, the worst output of it, and by how much."""


def close_loop(
    g: Callable[[Array], tuple[Array, bool]], z: Array, nominal: Array, names: Sequence[str], where: str
) -> Array:
    """A solution of z = g(z) near z.

    `g` evaluates the loop once; the second thing it says is whether what is not real (integers, truth values, text)
    came out as it went in.
    """
    best, least, swept = _sweep(g, z, nominal)
    if least <= TOLERANCE:
        return best
    found, left = (best, least) if len(z) == 0 else _newton(g, best, nominal)
    if left <= ACCEPTED:
        return found
    if least < left:
        found, left = best, least
    after, same = g(found)
    gap = np.abs(after - found)
    if len(gap) == 0 or (not same and np.all(gap <= ACCEPTED * (nominal + np.abs(found)))):
        said = "values that are not real numbers change in every round"
    else:
        k = int(np.argmax(np.where(np.isfinite(gap), gap / (nominal + np.abs(found)), np.inf)))
        said = f"'{names[k]}' is {found[k]:.6g}, and once around the loop {after[k]:.6g}, {gap[k]:.3g} away"
    raise LoopError(
        f"{where}: the algebraic loop through {', '.join(names)} does not close: {said},\n"
        f"  after {swept} relaxed rounds and Newton's method; expected a relative difference below {ACCEPTED:g}.\n"
        "  Check gains and signs, give better start values, or put a delay or a state into the loop."
    )


def _sweep(g: Callable[[Array], tuple[Array, bool]], z: Array, nominal: Array) -> tuple[Array, float, int]:
    """Relaxed fixed-point iteration: the best point, its relative residual, and the number of rounds."""
    best, least = z.copy(), np.inf
    omega, residual_before = 1.0, np.zeros(0)
    k = 0
    for k in range(1, SWEEPS + 1):
        after, same = g(z)
        residual = after - z
        size = _size(residual, z, nominal)
        error = size if same else max(size, 1.0)
        if error < least or k == 1:
            best, least = z.copy(), error
        if error <= TOLERANCE:
            # the newer of two equal points
            return (after if size > 0.0 else z).copy(), error, k
        if not np.all(np.isfinite(residual)) or size > 1e6 * max(least, 1.0):
            break
        if k > 1:
            change = residual - residual_before
            square = float(change @ change)
            if square > 0.0:
                omega = float(np.clip(-omega * (residual_before @ change) / square, -2.0, 2.0)) or 1.0
        residual_before = residual
        z = z + omega * residual
    return best, least, k


def _size(residual: Array, z: Array, nominal: Array) -> float:
    if len(z) == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        relative = np.abs(residual) / (nominal + np.abs(z))
    return float(np.max(relative)) if np.all(np.isfinite(relative)) else np.inf


def _newton(g: Callable[[Array], tuple[Array, bool]], z: Array, nominal: Array) -> tuple[Array, float]:
    from scipy.optimize import root

    def scaled(x: Array) -> Array:
        after, _ = g(x * nominal)
        # far away from anything sensible: tell the solver that it is bad, in numbers
        return np.asarray(np.nan_to_num((after - x * nominal) / nominal, nan=1e12, posinf=1e12, neginf=-1e12))

    found = root(scaled, z / nominal, method="hybr", options={"xtol": 1e-13, "maxfev": EVALUATIONS * (len(z) + 1)})
    z = np.asarray(found.x) * nominal
    after, same = g(z)
    size = _size(after - z, z, nominal)
    return z, size if same else max(size, 1.0)
