"""Methods by name, problems, and what runs one on the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import InputError
from liegeo.integrate import explicit
from liegeo.integrate import tableau as tb
from liegeo.lie import Group, Product

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """A method: its name, its order, what makes its step from a group and a field, and the coefficients of that.

    `make(retract, dexpinv, field, compiled)` returns a step as in explicit.py.  A method of one's own needs no more.
    """

    name: str
    order: int
    make: Callable[..., Any]
    table: tb.Butcher | tb.Exponentials

    @property
    def coefficients(self) -> Array:
        """(s + 1) × rows × s."""
        if isinstance(self.table, tb.Exponentials):
            return self.table.coefficients
        return np.concatenate([self.table.matrix, [self.table.b]])[:, np.newaxis, :]

    def __repr__(self) -> str:
        return f"<{self.name}: order {self.order}, {self.coefficients.shape[2]} stages>"


def _rkmk(table: tb.Butcher) -> Method:
    return Method(f"rkmk-{table.order}", table.order, explicit.munthe_kaas, table)


def _product(table: tb.Exponentials) -> Method:
    return Method(table.name, table.order, explicit.exponentials, table)


LieEuler = _product(tb.EULER)
RKMK2, RKMK3, RKMK4, RKMK5 = (_rkmk(t) for t in (tb.MIDPOINT, tb.KUTTA_3, tb.KUTTA_4, tb.DORMAND_PRINCE))
CG3, CG4 = _product(tb.CG_3), _product(tb.CG_4)
CF2, CF3, CF4, CF5 = (_product(t) for t in (tb.CF_2, tb.CF_3, tb.CF_4, tb.CF_5))

ALL_INTEGRATORS: tuple[Method, ...] = (LieEuler, RKMK2, RKMK3, RKMK4, RKMK5, CG3, CG4, CF2, CF3, CF4, CF5)


@dataclass(frozen=True)
class Problem:
    """Ẏ = Y F(t, Y) on a group, from Y(t_start) = start to t_end.

    `field` is a compiled function `field(t, Y, out)` (a Numba function: everything then runs compiled) or a plain one
    `field(t, Y)` that returns F, an algebra vector.  `reference`, if known, is Y(t_end).
    """

    group: Group
    field: Callable[..., Any]
    start: ArrayLike
    t_end: float
    t_start: float = 0.0
    reference: ArrayLike | None = None
    name: str = "problem"

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.group.retract(self.start, np.zeros(self.group.dim)))
        if not np.isfinite(self.t_start) or not np.isfinite(self.t_end):
            raise InputError(f"problem '{self.name}': t_start and t_end must be finite.")
        if not callable(self.field):
            raise InputError(f"problem '{self.name}': field is {self.field!r}, expected a function of (t, Y).")

    @property
    def compiled(self) -> bool:
        return hasattr(self.field, "py_func")


@dataclass(frozen=True)
class Trajectory:
    """Times (n) and elements (n × …)."""

    t: Array
    y: Array

    @property
    def end(self) -> Array:
        return np.asarray(self.y[-1])


def solve(problem: Problem, method: Method, steps: int, save: int | None = None) -> Trajectory:
    """Equal steps from start to end; `save` of them are kept, evenly, besides the start (all, if not given)."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"solve: steps is {steps!r}, expected a whole number ≥ 1.")
    kept = steps if save is None else save
    if kept < 1 or steps % kept:
        raise InputError(f"solve: save is {save!r}, expected a divisor of steps ({steps}).")
    loop = _compile(problem.group, method, problem.field, problem.compiled)
    group = problem.group
    coefficients = method.coefficients
    layout = group.layout if isinstance(group, Product) else np.zeros((0, 0), np.int64)
    K, u = np.empty((coefficients.shape[2], group.dim)), np.empty((2, group.dim))
    Y, end = np.empty(group.element_shape), np.empty(group.element_shape)
    y = np.array(problem.start, dtype=np.float64)
    h = (problem.t_end - problem.t_start) / steps
    nothing = np.zeros(0)
    t, out = [problem.t_start], [y.copy()]
    for k in range(kept):
        n = steps // kept
        start = problem.t_start + k * n * h
        done = loop(layout, np.zeros(0, np.int64), nothing, coefficients, start, y, h, n, nothing, K, u, Y, end)
        if done != n or not np.isfinite(y).all():
            raise InputError(
                f"problem '{problem.name}', {method.name}: the solution is not finite after t = {start:.6g}.\n"
                "  Take more steps, or look for a singularity of the field."
            )
        t.append(start + n * h)
        out.append(y.copy())
    return Trajectory(np.array(t), np.stack(out))


@functools.lru_cache(maxsize=256)
def _compile(group: Group, method: Method, field: Callable[..., Any], compiled: bool) -> Callable[..., Any]:
    """The loop for this group, method and field; compiled if the field is."""
    step = method.make(*explicit.operations(group), explicit.adapt_field(field, compiled), compiled)
    return explicit.run(step, compiled)
