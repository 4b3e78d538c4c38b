"""Symmetric methods: implicit midpoint, Störmer–Verlet, and compositions that raise the order of any symmetric one.

Implicit midpoint, for any field on any group:

    k = F(t + ½h, Y₀ exp(½h k)),    Y₁ = Y₀ exp(h k).                                                             (1)

Störmer–Verlet, for a mechanical system, from its acceleration a alone:

    v½ = v₀ + ½h a(t, q₀, v½),    q₁ = q₀ exp(h v½),    v₁ = v½ + ½h a(t + h, q₁, v½).                            (2)

Both are their own adjoint: a step with −h undoes a step with h, so their errors have even powers of h only.

Composition [HLW06, II.4, V.3]: steps with shares w_i of h, w symmetric.  A symmetric method is the flow of
h e₁ + h³ e₃ + h⁵ e₅ + …, with vector fields e_k that do not commute, so the composition has order p if

    Π_i exp(w_i e₁ + w_i³ e₃ + w_i⁵ e₅ + …) = exp(e₁)                                                             (3)

for all words in the e_k whose indices have a sum of at most p.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.errors import InputError
from liegeo.integrate.explicit import Operations, copy
from liegeo.integrate.iteration import LIMIT, lost_speed, settled
from liegeo.status import NO_CONVERGENCE

Kernel = Callable[..., Any]

# Rows of K that hold an element of any group: rotation matrices have nine numbers on three speeds.
ROWS_OF_AN_ELEMENT = 3


def midpoint(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(1) as a step, by fixed-point iteration to round-off; K has one row, k."""
    retract = group.retract

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        floor, before = lost_speed(y, y.size, h), 0.0
        for d in range(K.shape[1]):
            K[0, d] = 0.0
        for k in range(LIMIT):
            for d in range(K.shape[1]):
                u[0, d] = 0.5 * h * K[0, d]
            retract(layout, y, u[0], Y)
            status = field(I, F, t + 0.5 * h, Y, W, u[1])
            if status != 0:
                return status
            change, size = 0.0, 0.0
            for d in range(K.shape[1]):
                change, size = max(change, abs(u[1, d] - K[0, d])), max(size, abs(u[1, d]))
                K[0, d] = u[1, d]
            if settled(k, change, before, size, floor):
                for d in range(K.shape[1]):
                    u[0, d] = h * K[0, d]
                retract(layout, y, u[0], out)
                return 0
            before = change
        return NO_CONVERGENCE

    return kernel(step, name="integrate.midpoint") if compiled else step


def verlet(group: Operations, system: Any, compiled: bool) -> Kernel:
    """(2) as a step; K has one row, v½ and a.  Two accelerations, or more where they depend on speed."""
    retract, acceleration = group.retract, system.acceleration

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        nv = K.shape[1] // 2
        nq = y.shape[0] - nv
        before, found = 0.0, False
        for d in range(nv):
            K[0, d] = y[nq + d]
        for k in range(LIMIT):
            status = acceleration(I, F, t, y[:nq], K[0, :nv], W, K[0, nv:])
            if status != 0:
                return status
            change, size = 0.0, 0.0
            for d in range(nv):
                half = y[nq + d] + 0.5 * h * K[0, nv + d]
                change, size = max(change, abs(half - K[0, d])), max(size, abs(half))
                K[0, d] = half
            found = settled(k, change, before, size, lost_speed(y, nq, h))
            if found:
                break
            before = change
        if not found:
            return NO_CONVERGENCE
        # the state moves by (h v½, v½ − v₀): one retraction for both
        for d in range(nv):
            u[0, d], u[0, nv + d] = h * K[0, d], K[0, d] - y[nq + d]
        retract(layout, y, u[0], out)
        status = acceleration(I, F, t + h, out[:nq], K[0, :nv], W, K[0, nv:])
        if status != 0:
            return status
        for d in range(nv):
            out[nq + d] = K[0, d] + 0.5 * h * K[0, nv + d]
        return 0

    return kernel(step, name="integrate.verlet") if compiled else step


# ---------------------------------------------------------------- compositions


def triple_jump(order: int) -> tuple[float, ...]:
    """Three steps that raise an even order − 2 to this order (Yoshida): 2γ^(p−1) + (1 − 2γ)^(p−1) = 0."""
    gamma = 1.0 / (2.0 - 2.0 ** (1.0 / (order - 1)))
    return gamma, 1.0 - 2.0 * gamma, gamma


def _five(order: int) -> tuple[float, ...]:
    """Suzuki's five steps: shorter ones, of which one goes back."""
    gamma = 1.0 / (4.0 - 4.0 ** (1.0 / (order - 1)))
    return gamma, gamma, 1.0 - 4.0 * gamma, gamma, gamma


YOSHIDA_4, SUZUKI_4 = triple_jump(4), _five(4)
# Kahan and Li (1997), nine steps
_KAHAN_LI = (
    0.39216144400731413927925056,
    0.33259913678935943859974864,
    -0.70624617255763935980996482,
    0.08221359629355080023149045,
)
KAHAN_LI_6 = (*_KAHAN_LI, 0.79854399093482996339895035, *_KAHAN_LI[::-1])


def words(degree: int) -> list[tuple[int, ...]]:
    """All words in e₁, e₃, e₅, … of this degree: sequences of odd numbers with this sum."""
    if degree == 0:
        return [()]
    return [(first, *rest) for first in range(1, degree + 1, 2) for rest in words(degree - first)]


def composition_defect(weights: tuple[float, ...], order: int) -> float:
    """By how much (3) is missed, at worst, up to this order."""
    known = [word for degree in range(order + 1) for word in words(degree)]
    series = {word: 0.0 if word else 1.0 for word in known}
    for w in weights:
        # exp(Σ_k w^k e_k) has w^(sum of the indices)/m! before a word of m letters
        series = {
            word: math.fsum(
                series[word[:cut]] * w ** sum(word[cut:]) / math.factorial(len(word) - cut)
                for cut in range(len(word) + 1)
            )
            for word in known
        }
    return max(
        abs(value - (1.0 / math.factorial(len(word)) if set(word) <= {1} else 0.0)) for word, value in series.items()
    )


def check_weights(name: str, weights: tuple[float, ...], order: int) -> None:
    """Whether they are symmetric and obey (3)."""
    if weights != weights[::-1]:
        raise InputError(f"composition '{name}': weights are {weights}, must be the same read backwards.")
    defect = composition_defect(weights, order)
    if not defect <= 1e-13:
        raise InputError(f"composition '{name}': misses a condition of order {order} by {defect:.2g}.")


def composed(make: Callable[..., Kernel], rows: int, weights: tuple[float, ...]) -> Callable[..., Kernel]:
    """What makes the steps of a composition, from what makes those of the method, which uses `rows` of K."""

    def make_composed(group: Operations, given: Any, compiled: bool) -> Kernel:
        inner, count = make(group, given, compiled), len(weights)

        def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
            # y is the start of every part in turn: kept in K, it is put back whatever happens
            dim, now, status = K.shape[1], t, 0
            for i in range(y.size):
                K[rows + i // dim, i % dim] = y.flat[i]
            for part in range(count):
                status = inner(layout, I, F, coefficients, now, y, weights[part] * h, W, K[:rows], u, Y, out)
                if status != 0:
                    break
                now += weights[part] * h
                copy(out, y)
            for i in range(y.size):
                y.flat[i] = K[rows + i // dim, i % dim]
            return status

        return kernel(step, name="integrate.composed") if compiled else step

    return make_composed
