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

from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel

Kernel = Callable[..., Any]


@kernel
def copy(x, out):
    """out = x, for elements stored in any shape."""
    for k in range(x.size):
        out.flat[k] = x.flat[k]


def munthe_kaas(retract: Kernel, dexpinv: Kernel, field: Kernel, compiled: bool) -> Kernel:
    """(1) as step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out) -> status.

    `coefficients` is (s + 1) × 1 × s: rows of a, then b.  K (s × dim), u (2 × dim) and Y (an element) are scratch.
    """

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        stages = K.shape[0]
        for i in range(stages):
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
        for d in range(K.shape[1]):
            u[0, d] = 0.0
            for j in range(stages):
                u[0, d] += h * coefficients[stages, 0, j] * K[j, d]
        retract(layout, y, u[0], out)
        return 0

    return kernel(step, name="integrate.munthe_kaas") if compiled else step


def exponentials(retract: Kernel, dexpinv: Kernel, field: Kernel, compiled: bool) -> Kernel:
    """(2), with the arguments of `munthe_kaas`; `coefficients` is (s + 1) × rows × s."""

    def product(layout, coefficients, i, y, h, K, u, Y, out):
        """out = y Π_r exp(h Σ_j coefficients[i, r, j] K_j), Y as scratch."""
        copy(y, out)
        for r in range(coefficients.shape[1]):
            moves = False
            for d in range(K.shape[1]):
                u[0, d] = 0.0
            for j in range(K.shape[0]):
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
        stages = K.shape[0]
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


def run(step: Kernel, compiled: bool) -> Kernel:
    """Many steps in one call: (layout, I, F, coefficients, t, y, h, n, W, K, u, Y, end) -> steps done.

    y is the start and becomes the end.  Returns n, or −1 − the number of steps done if the field failed.
    """

    def loop(layout, I, F, coefficients, t, y, h, n, W, K, u, Y, end):
        for k in range(n):
            if step(layout, I, F, coefficients, t + k * h, y, h, W, K, u, Y, end) != 0:
                return -1 - k
            copy(end, y)
        return n

    return kernel(loop, name="integrate.run") if compiled else loop


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


def with_layout(operation: Kernel) -> Kernel:
    """An operation of a single group with the arguments that those of a product have."""

    def two(layout, x, y, out):
        operation(x, y, out)

    return kernel(two, name="integrate.with_layout")
