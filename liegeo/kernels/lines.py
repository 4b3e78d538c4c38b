"""Lines between two frames: their length, its rate, and forces along them."""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import rotate_back


@kernel
def ends(I, e):
    """Return where the data of the element with row e begin in F, and the scratch of its frames A and B in W."""
    a, b = index(I[e + at.FRAME_A]), index(I[e + at.FRAME_B])
    return index(I[e + at.ELEMENT_F]), index(I[a + at.FRAME_W]), index(I[b + at.FRAME_W])


@kernel
def span(W, x, y):
    """p_B − p_A in the world, and its length."""
    r0, r1, r2 = W[y + 9] - W[x + 9], W[y + 10] - W[x + 10], W[y + 11] - W[x + 11]
    return r0, r1, r2, np.sqrt(r0 * r0 + r1 * r1 + r2 * r2)


@kernel
def stretch(W, x, y):
    """Return L and L̇ of (2) between the frames at W[x] and W[y], and the direction n in the axes of A and of B.

    Frames that coincide have no direction: n and the rate are zero.
    """
    r0, r1, r2, length = span(W, x, y)
    n0 = n1 = n2 = 0.0 * length
    if length.real != 0.0:
        n0, n1, n2 = r0 / length, r1 / length, r2 / length
    a0, a1, a2 = rotate_back(W, x, n0, n1, n2)
    b0, b1, b2 = rotate_back(W, y, n0, n1, n2)
    rate = b0 * W[y + at.V_F + 3] + b1 * W[y + at.V_F + 4] + b2 * W[y + at.V_F + 5]
    rate -= a0 * W[x + at.V_F + 3] + a1 * W[x + at.V_F + 4] + a2 * W[x + at.V_F + 5]
    return length, rate, (a0, a1, a2), (b0, b1, b2)


@kernel
def along(force, n):
    """Return the wrench of a force in the direction n."""
    zero = 0.0 * force
    return zero, zero, zero, force * n[0], force * n[1], force * n[2]


@kernel
def relative(W, x, y):
    """R_AB (nine numbers) and p_AB, from X_WA at W[x] and X_WB at W[y]."""
    c0, c3, c6 = rotate_back(W, x, W[y], W[y + 3], W[y + 6])
    c1, c4, c7 = rotate_back(W, x, W[y + 1], W[y + 4], W[y + 7])
    c2, c5, c8 = rotate_back(W, x, W[y + 2], W[y + 5], W[y + 8])
    p0, p1, p2 = rotate_back(W, x, W[y + 9] - W[x + 9], W[y + 10] - W[x + 10], W[y + 11] - W[x + 11])
    return (c0, c1, c2, c3, c4, c5, c6, c7, c8), (p0, p1, p2)
