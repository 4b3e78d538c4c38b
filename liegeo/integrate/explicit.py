"""Explicit Lie-group methods: kernels for one step, made from the operations of a group and a vector field.

The equation is Ẏ = Y F(t, Y), F in the algebra (left-trivialised, as all velocities here).

Munthe-Kaas [IMNZ00]: Y = Y₀ exp(u), and u̇ = dexp_right(u)⁻¹ F is solved in the algebra, a vector space:

    u_i = h Σ_j a_ij k_j,    k_i = dexp_right(u_i)⁻¹ F(t + c_i h, Y₀ exp(u_i)),    Y₁ = Y₀ exp(h Σ_i b_i k_i).    (1)

Products of exponentials (Crouch–Grossman, commutator-free), rows r of tableau.Exponentials:

    Y_i = Y₀ Π_r exp(h Σ_j α_irj F_j),    F_i = F(t + c_i h, Y_i),    Y₁ = Y₀ Π_r exp(h Σ_j β_rj F_j).            (2)

A field is `field(I, F, t, Y, W, out) -> status`: whole-number and real data, scratch, and zero if all is well, so that
the same compiled step serves every tree.  `adapt_field` makes one from a plain function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from liegeo._jit import kernel
from liegeo.lie import Group, Product, R
from liegeo.lie.group import OPERATIONS
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Corrections of one step towards the constraints: more only where they are singular, and then a smaller step helps.
CLOSING_LIMIT = 12
# Next to a singular position corrections are round-off times a large number: such as shrink no more are good up to this
# share of the size of q, and what they correct is round-off.
CLOSING_FLOOR = 1e-10


@kernel
def finite(x):
    """Whether all numbers of x are."""
    off = 0.0
    for k in range(x.size):
        off += x.flat[k] - x.flat[k]
    return off == 0.0


@kernel
def copy(x, out):
    """out = x, for elements stored in any shape."""
    for k in range(x.size):
        out.flat[k] = x.flat[k]


def _stages(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """The k_i of (1) from stage `first` on, into K: (layout, I, F, coefficients, first, t, y, h, W, K, u, Y) -> status.

    The field at the last stage stays in u[1].
    """
    retract, dexpinv = group.retract, group.dexpinv_right_apply

    def fill(layout, I, F, coefficients, first, t, y, h, W, K, u, Y):
        for i in range(first, coefficients.shape[2]):
            c = 0.0
            for d in range(K.shape[1]):
                u[0, d] = 0.0
            for j in range(i):
                c += coefficients[i, 0, j]
                for d in range(K.shape[1]):
                    u[0, d] += h * coefficients[i, 0, j] * K[j, d]
            retract(layout, y, u[0], Y)
            status = field(I, F, t + c * h, Y, W, u[1])
            if status != 0:
                return status
            dexpinv(layout, u[0], u[1], K[i])
        return 0

    return kernel(fill, name="integrate.stages") if compiled else fill


def munthe_kaas(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(1) as step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out) -> status.

    `coefficients` is (s + 1) × 1 × s: rows of a, then b.  K (s × dim), u (2 × dim) and Y (an element) are scratch.
    """
    retract, fill = group.retract, _stages(group, field, compiled)

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        stages = coefficients.shape[2]
        status = fill(layout, I, F, coefficients, 0, t, y, h, W, K, u, Y)
        if status != 0:
            return status
        for d in range(K.shape[1]):
            u[0, d] = 0.0
            for j in range(stages):
                u[0, d] += h * coefficients[stages, 0, j] * K[j, d]
        retract(layout, y, u[0], out)
        return 0

    return kernel(step, name="integrate.munthe_kaas") if compiled else step


def exponentials(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(2), with the arguments of `munthe_kaas`; `coefficients` is (s + 1) × rows × s."""
    retract = group.retract

    def product(layout, coefficients, i, y, h, K, u, Y, out):
        """out = y Π_r exp(h Σ_j coefficients[i, r, j] K_j), Y as scratch."""
        copy(y, out)
        for r in range(coefficients.shape[1]):
            moves = False
            for d in range(K.shape[1]):
                u[0, d] = 0.0
            for j in range(coefficients.shape[2]):
                a = coefficients[i, r, j]
                if a != 0.0:
                    moves = True
                    for d in range(K.shape[1]):
                        u[0, d] += h * a * K[j, d]
            if moves:
                retract(layout, out, u[0], Y)
                copy(Y, out)

    if compiled:
        product = kernel(product, name="integrate.product")

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        stages = coefficients.shape[2]
        for i in range(stages):
            c = 0.0
            for r in range(coefficients.shape[1]):
                for j in range(i):
                    c += coefficients[i, r, j]
            product(layout, coefficients, i, y, h, K, u, Y, out)
            status = field(I, F, t + c * h, out, W, K[i])
            if status != 0:
                return status
        product(layout, coefficients, stages, y, h, K, u, Y, out)
        return 0

    return kernel(step, name="integrate.exponentials") if compiled else step


def embedded(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(1) for a pair whose last stage is the end of the step: a trial step as stepping.chosen_steps wants it.

    `coefficients` is that of tableau.Pair.  K has s + 2 rows: the first, k_1, is the field at the start, the last
    becomes the field at the end, and the one before it what the cubic between steps lacks (trajectory.py (2)).
    """
    retract, fill = group.retract, _stages(group, field, compiled)

    def trial(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        stages = coefficients.shape[2]
        status = fill(layout, I, F, coefficients, 1, t, y, h, W, K, u, Y)
        if status != 0:
            return status
        for d in range(K.shape[1]):
            K[stages + 1, d] = u[1, d]
            K[stages, d] = u[0, d] = u[1, d] = 0.0
            for j in range(stages):
                K[stages, d] += h * coefficients[stages + 2, 0, j] * K[j, d]
                u[0, d] += h * coefficients[stages, 0, j] * K[j, d]
                u[1, d] += h * coefficients[stages + 1, 0, j] * K[j, d]
        retract(layout, y, u[0], out)
        return 0

    return kernel(trial, name="integrate.embedded") if compiled else trial


def projected(step: Kernel, group: Operations, system: Any, compiled: bool) -> Kernel:
    """A step of a constrained system (q, v), and then back onto the constraints, positions first, then speeds.

    Newton's iteration along the group, q ← q ⊕ dq: what is left after a correction is of the order of its square.
    """
    retract, closing = group.retract, system.closing

    def whole(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        status = step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)
        if status != 0:
            return status
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        # the last row of the layout is that of the speeds; of u, the second row may hold an error estimate
        rows, dq, dv = layout[: layout.shape[0] - 1], u[0, :nv], u[0, nv:]
        before = np.inf
        for _ in range(CLOSING_LIMIT):
            status = closing(I, F, t + h, out[:nq], out[nq:], W, dq, dv)
            if status != 0:
                return status
            size, scale = 0.0, 1.0
            for d in range(nv):
                size = max(size, abs(dq[d]))
            for d in range(nq):
                scale = max(scale, abs(out[d]))
            retract(rows, out[:nq], dq, Y[:nq])
            for d in range(nq):
                out[d] = Y[d]
            if size <= 1e-11 * scale or 0.5 * before <= size <= CLOSING_FLOOR * scale:
                for d in range(nv):
                    out[nq + d] += dv[d]
                return 0
            # not a number is not small either
            if not size < 1e300:
                return NO_CONVERGENCE
            before = size
        return NO_CONVERGENCE

    return kernel(whole, name="integrate.projected") if compiled else whole


def renewed(step: Kernel, field: Kernel, compiled: bool) -> Kernel:
    """A trial step of stepping.chosen_steps that was projected: the field at its end is not what the trial left."""

    def whole(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        status = step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out)
        if status != 0:
            return status
        return field(I, F, t + h, out, W, K[coefficients.shape[2] + 1])

    return kernel(whole, name="integrate.renewed") if compiled else whole


def adapt_field(function: Callable[..., Any], compiled: bool) -> Kernel:
    """A field from `function(t, Y, out)`, compiled, or from `function(t, Y)` in plain Python, which returns F."""
    if compiled:

        def field(I, F, t, Y, W, out):
            function(t, Y, out)
            return 0

        return kernel(field, name="integrate.field")

    def plain(I, F, t, Y, W, out):
        out[:] = function(t, Y)
        return 0

    return plain


@functools.lru_cache(maxsize=64)
def motion(acceleration: Kernel) -> Kernel:
    """(v, v̇) as a field on the states (q, v) of a mechanical system (problems.py)."""

    def field(I, F, t, Y, W, out):
        nv = out.shape[0] // 2
        nq = Y.shape[0] - nv
        for k in range(nv):
            out[k] = Y[nq + k]
        return acceleration(I, F, t, Y[:nq], Y[nq:], W, out[nv:])

    return kernel(field, name="integrate.motion") if hasattr(acceleration, "py_func") else field


class Operations:
    """The operations of a group by their names in lie.OPERATIONS, all with the arguments that a product's have."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Kernel:
        if name not in OPERATIONS:
            raise AttributeError(f"{self._group!r} has no operation {name!r}")
        operation = self._group.kernels[name]
        if not isinstance(self._group, Product):
            operation = with_layout(operation, len(OPERATIONS[name].partition("->")[0]))
        setattr(self, name, operation)
        return operation


@functools.cache
def _of_group(group: Group) -> Operations:
    return Operations(group)


@functools.cache
def _of_products() -> Operations:
    return Operations(Product({"x": R(1)}))


def operations(group: Group) -> Operations:
    """The operations of a group; all products share one set, so that what is compiled for one serves every other."""
    return _of_products() if isinstance(group, Product) else _of_group(group)


def with_layout(operation: Kernel, arguments: int) -> Kernel:
    """An operation of a single group with the arguments that those of a product have."""

    def one(layout, x, out):
        operation(x, out)

    def two(layout, x, y, out):
        operation(x, y, out)

    return kernel(one if arguments == 1 else two, name="integrate.with_layout")
