"""Magnus methods for linear equations Ẏ = Y A(t): kernels for one step.

The literature solves Ż = A Z with Z₁ = exp(Ω) Z₀.  With the algebra's opposite bracket, [A, B]' = −[A, B], the same
series serves Ẏ = Y A and Y₁ = Y₀ exp(Ω): terms with an odd number of brackets change their sign.  With A_i at the Gauss
points t + c_i h, order four [BCR00, IMNZ00]:

    Ω = ½h (A₁ + A₂) + (√3/12) h² [A₁, A₂],                           c = ½ ∓ √3/6;                               (1)

order six, with three brackets [BCR00]:

    α₁ = h A₂,   α₂ = (√15/3) h (A₃ − A₁),   α₃ = (10/3) h (A₃ − 2A₂ + A₁),        c = ½ − √15/10, ½, ½ + √15/10,
    C₁ = −[α₁, α₂],   C₂ = (1/60) [α₁, 2α₃ + C₁],
    Ω = α₁ + α₃/12 − (1/240) [−20α₁ − α₃ + C₁, α₂ + C₂].                                                          (2)

The field is evaluated at the start of the step; checks.py refuses one that depends on Y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from liegeo._jit import kernel
from liegeo.integrate.explicit import Operations

Kernel = Callable[..., Any]

_ROOT_3, _ROOT_15 = math.sqrt(3.0), math.sqrt(15.0)


def magnus_4(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(1) as a step; K has two rows."""
    retract, bracket = group.retract, group.ad_apply

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        for i in range(2):
            status = field(I, F, t + (0.5 + (2 * i - 1) * _ROOT_3 / 6.0) * h, y, W, K[i])
            if status != 0:
                return status
        bracket(layout, K[0], K[1], u[0])
        for d in range(K.shape[1]):
            u[0, d] = 0.5 * h * (K[0, d] + K[1, d]) + _ROOT_3 / 12.0 * h * h * u[0, d]
        retract(layout, y, u[0], out)
        return 0

    return kernel(step, name="integrate.magnus_4") if compiled else step


def magnus_6(group: Operations, field: Kernel, compiled: bool) -> Kernel:
    """(2) as a step; K has five rows: α₁, α₂, α₃, C₁ and what (2) brackets with α₂ + C₂."""
    retract, bracket = group.retract, group.ad_apply

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        for i in range(3):
            status = field(I, F, t + (0.5 + (i - 1) * _ROOT_15 / 10.0) * h, y, W, K[i])
            if status != 0:
                return status
        for d in range(K.shape[1]):
            first, middle, last = K[0, d], K[1, d], K[2, d]
            K[0, d] = h * middle
            K[1, d] = _ROOT_15 / 3.0 * h * (last - first)
            K[2, d] = 10.0 / 3.0 * h * (last - 2.0 * middle + first)
        bracket(layout, K[0], K[1], K[3])
        for d in range(K.shape[1]):
            K[3, d] = -K[3, d]
            u[0, d] = 2.0 * K[2, d] + K[3, d]
            K[4, d] = -20.0 * K[0, d] - K[2, d] + K[3, d]
        bracket(layout, K[0], u[0], u[1])
        for d in range(K.shape[1]):
            u[0, d] = K[1, d] + u[1, d] / 60.0
        bracket(layout, K[4], u[0], u[1])
        for d in range(K.shape[1]):
            u[0, d] = K[0, d] + K[2, d] / 12.0 - u[1, d] / 240.0
        retract(layout, y, u[0], out)
        return 0

    return kernel(step, name="integrate.magnus_6") if compiled else step
