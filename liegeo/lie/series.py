"""The series behind every rotation, in one place: Stumpff functions of x = θ².

    c_k(x) = Σ_i (−x)^i / (k + 2i)!                                    (1)

so that  c₀ = cos θ,  c₁ = sin θ/θ,  c₂ = (1 − cos θ)/θ²,  c₃ = (θ − sin θ)/θ³, …  They obey

    c_k = 1/k! − x c_{k+2},                                            (2)
    dc_k/dx = (k c_{k+2} − c_{k+1}) / 2.                               (3)

exp, dexp, dexp⁻¹ and their derivatives are polynomials or quotients of them without a removable singularity, so no
group has a small-angle case of its own.

Up to x = 12 (θ slightly beyond π) the top pair c₈, c₉ is summed from (1), whose terms fall from the start, and (2) is
run downwards, where it subtracts a smaller number from a larger one.  Beyond, c₁ and c₂ come from sine and cosine of
the half angle, and (2) is run upwards.  Against 50 digits each way is right to a few units of the last place, as a
fraction of max(|c_k(x)|, |c_k(0)|/10): c₀ and c₁ have zeros, where only the absolute error means anything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from liegeo._jit import kernel

_SERIES_LIMIT = 12.0
# At x = 12 the first term left out of c₈ is 1.4e-18 of the first one kept.
_TERMS = 12
_TOP_8 = tuple((-1) ** i / math.factorial(8 + 2 * i) for i in range(_TERMS))
_TOP_9 = tuple((-1) ** i / math.factorial(9 + 2 * i) for i in range(_TERMS))
# At ¼x = 3 the first term left out of c₂ is 5.7e-19 of the first one kept.
_HALF_TERMS = 11
_TOP_2 = tuple((-1) ** i / math.factorial(2 + 2 * i) for i in range(_HALF_TERMS))
_TOP_3 = tuple((-1) ** i / math.factorial(3 + 2 * i) for i in range(_HALF_TERMS))


@kernel
def stumpff(x):
    """c₀ … c₉ of (1) at x = θ² (real part ≥ 0).  Inlined, so that a caller pays only for those it uses."""
    if x.real > _SERIES_LIMIT:
        return _stumpff_beyond(x)
    c8 = 0.0 * x + _TOP_8[_TERMS - 1]
    c9 = 0.0 * x + _TOP_9[_TERMS - 1]
    for i in range(_TERMS - 2, -1, -1):
        c8 = c8 * x + _TOP_8[i]
        c9 = c9 * x + _TOP_9[i]
    c7 = 1.0 / 5040.0 - x * c9
    c6 = 1.0 / 720.0 - x * c8
    c5 = 1.0 / 120.0 - x * c7
    c4 = 1.0 / 24.0 - x * c6
    c3 = 1.0 / 6.0 - x * c5
    c2 = 0.5 - x * c4
    c1 = 1.0 - x * c3
    c0 = 1.0 - x * c2
    return c0, c1, c2, c3, c4, c5, c6, c7, c8, c9


@kernel(forceinline=False)
def _stumpff_beyond(x):
    """The same for θ > √12."""
    theta = np.sqrt(x)
    s = np.sin(0.5 * theta)
    c1 = 2.0 * s * np.cos(0.5 * theta) / theta
    c2 = 2.0 * s * s / x
    c0 = 1.0 - x * c2
    c3 = (1.0 - c1) / x
    c4 = (0.5 - c2) / x
    c5 = (1.0 / 6.0 - c3) / x
    c6 = (1.0 / 24.0 - c4) / x
    c7 = (1.0 / 120.0 - c5) / x
    c8 = (1.0 / 720.0 - c6) / x
    c9 = (1.0 / 5040.0 - c7) / x
    return c0, c1, c2, c3, c4, c5, c6, c7, c8, c9


@kernel
def half_angle(x):
    """cos ½θ and sin ½θ/θ: c₀ and ½c₁ at ¼x, for exponentials that need no more.

    Up to x = 12 from c₂ and c₃, summed from (1) with fewer terms than a whole angle needs, and (2) once.
    """
    y = 0.25 * x
    if x.real > _SERIES_LIMIT:
        theta = np.sqrt(x)
        return np.cos(0.5 * theta), np.sin(0.5 * theta) / theta
    c2 = 0.0 * x + _TOP_2[_HALF_TERMS - 1]
    c3 = 0.0 * x + _TOP_3[_HALF_TERMS - 1]
    for i in range(_HALF_TERMS - 2, -1, -1):
        c2 = c2 * y + _TOP_2[i]
        c3 = c3 * y + _TOP_3[i]
    return 1.0 - y * c2, 0.5 * (1.0 - y * c3)


@kernel
def dexp_coefficients(x):
    """f, g of dexp(w) = I + f ŵ + g ŵ² (left; the right one has −f), with first and second derivatives by x.

    f = c₂, g = c₃, and (3) twice.   Returned: f, g, f′, g′, f″, g″.
    """
    _, _, c2, c3, c4, c5, c6, c7, _, _ = stumpff(x)
    f1 = c4 - 0.5 * c3
    g1 = 1.5 * c5 - 0.5 * c4
    f2 = 2.0 * c6 - 1.25 * c5 + 0.25 * c4
    g2 = 3.75 * c7 - 1.75 * c6 + 0.25 * c5
    return c2, c3, f1, g1, f2, g2


@kernel
def dexpinv_coefficients(x):
    """g of dexp⁻¹(w) = I − ½ŵ + g ŵ² (left; the right one has +½), with first and second derivatives by x.

    g = (1 − ½θ cot ½θ)/θ².  Cancelling θ² by (2) leaves  2 c₂ g = c₃ − 2c₄ =: n,  differentiated twice by (3).
    Singular at θ = 2π, 4π, …, where c₂ = 0.   Returned: g, g′, g″.
    """
    _, _, c2, c3, c4, c5, c6, c7, c8, _ = stumpff(x)
    n0 = c3 - 2.0 * c4
    n1 = 2.5 * c5 - 0.5 * c4 - 4.0 * c6
    n2 = 8.25 * c7 - 2.25 * c6 + 0.25 * c5 - 12.0 * c8
    d0 = 2.0 * c2
    d1 = 2.0 * c4 - c3
    d2 = 4.0 * c6 - 2.5 * c5 + 0.5 * c4
    g = n0 / d0
    g1 = (n1 - g * d1) / d0
    g2 = (n2 - 2.0 * g1 * d1 - g * d2) / d0
    return g, g1, g2


@kernel
def _arctan2_complex(y, x):
    slope = (x.real * y.imag - y.real * x.imag) / (x.real * x.real + y.real * y.real)
    return complex(math.atan2(y.real, x.real), slope)


def arctan2(y: Any, x: Any) -> Any:
    """Angle of (x, y), also for complex-step arguments, for which it is exact to first order in the imaginary parts."""
    if isinstance(y, complex) or isinstance(x, complex):
        return _arctan2_complex(complex(y), complex(x))
    return math.atan2(y, x)


@overload(arctan2)
def _arctan2_overload(y, x):
    if isinstance(y, types.Complex) or isinstance(x, types.Complex):
        return lambda y, x: _arctan2_complex(complex(y), complex(x))
    return lambda y, x: math.atan2(y, x)
