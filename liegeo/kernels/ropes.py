"""Ropes over several points, with a drum that winds them.

A rope runs from point to point, over pulleys of radius 0 without friction: with the positions p_i of n points in the
world it is

    L = Σ |p_{i+1} − p_i|,      L̇ = Σ n_i·(v_{i+1} − v_i),      n_i = (p_{i+1} − p_i)/|p_{i+1} − p_i|,           (1)

long.  A drum of the radius r, of which q is the coordinate, winds up r q of it.  Its extension and the rate of it are

    e = L + r q − L₀,      ė = L̇ + r q̇,                                                                          (2)

and it pulls, with the stiffness k and the damping d, where it is stretched, and never pushes:

    T = max(0, k e + d ė) if e > 0, otherwise 0.                                                                  (3)

It stores ½ k e² where e > 0 and dissipates (T − k e) ė.  By virtual work, −T ė is the power of what it exerts: point i
gets T (n_i − n_{i−1}), and the drum the generalised force −T r.  That stands in its joint: with the screw S of the
joint, which is constant in the frame D that moves with it, the wrench

    w = −T r S/(S·S)                                                                                              (4)

on D, and the opposite one on the frame that carries the joint, have the power w·S q̇ = −T r q̇ and no other.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.lines import stretch
from liegeo.kernels.spatial import add, put, rotate, rotate_back, six, times
from liegeo.lie.so3 import cross


@kernel
def wind_ropes(I, q, v, W):
    """Write coordinates and speeds of drums to the scratch of their ropes."""
    for i in range(I[at.N_ELEMENTS]):
        e = index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE
        if I[e + at.ELEMENT_KIND] == at.ROPE:
            behind, w = index(I[e + at.ELEMENT_MORE] + I[e + at.ELEMENT_N]), index(I[e + at.ELEMENT_W])
            if I[behind] >= 0:
                W[w + at.ROPE_WOUND], W[w + at.ROPE_WOUND + 1] = q[index(I[behind])], v[index(I[behind + 1])]


@kernel
def _frame(I, rows, i):
    """Return where the scratch of frame i of a rope begins in W."""
    return index(I[index(I[rows + i]) + at.FRAME_W])


@kernel(forceinline=False)
def rope(I, F, e, W):
    """Write the wrenches on all frames of the rope with row e to its scratch, after `place_frames`.

    Return tension, length L, the rate ė, the length L₀ − r q that is free, stored energy and dissipated power.
    """
    n, f, rows = index(I[e + at.ELEMENT_N]), index(I[e + at.ELEMENT_F]), index(I[e + at.ELEMENT_MORE])
    scratch = index(I[e + at.ELEMENT_W])
    drum, w = F[f + at.ROPE_DRUM] != 0.0, scratch + at.ROPE_WRENCHES
    zero = 0.0 * W[_frame(I, rows, 0) + at.X_WF]
    for k in range(6 * n):
        W[w + k] = zero
    length = rate = zero
    points = n - 2 if drum else n
    for i in range(points - 1):
        piece, its_rate, a, b = stretch(W, _frame(I, rows, i), _frame(I, rows, i + 1))
        length, rate = length + piece, rate + its_rate
        # directions first: how much they count is known at the end
        add(W, w + 6 * i, (zero, zero, zero, a[0], a[1], a[2]))
        add(W, w + 6 * i + 6, (zero, zero, zero, -b[0], -b[1], -b[2]))
    radius, free = F[f + at.ROPE_RADIUS], F[f + at.ROPE_LENGTH] + zero
    if drum:
        free -= radius * W[scratch + at.ROPE_WOUND]
        rate += radius * W[scratch + at.ROPE_WOUND + 1]
    extension = length - free
    tension = stored = lost = zero
    if extension.real > 0.0:
        elastic = F[f + at.ROPE_K] * extension
        tension = elastic + F[f + at.ROPE_D] * rate
        if tension.real < 0.0:
            tension = zero
        stored, lost = 0.5 * elastic * extension, (tension - elastic) * rate
    for i in range(points):
        put(W, w + 6 * i, times(tension, six(W, w + 6 * i)))
    if drum:
        _turn_drum(I, F, rows, n, -tension * radius, W, w)
    return tension, length, rate, free, stored, lost


@kernel
def _turn_drum(I, F, rows, n, force, W, w):
    """Write (4) to the last two wrenches, for a generalised force of the drum."""
    S = index(I[rows + n + 2])
    size = 0.0
    for k in range(6):
        size += F[S + k] * F[S + k]
    wrench = times(force / size, six(F, S))
    put(W, w + 6 * (n - 2), wrench)
    # the opposite one on the base, by way of the world
    D, P = _frame(I, rows, n - 2) + at.X_WF, _frame(I, rows, n - 1) + at.X_WF
    m0, m1, m2 = rotate(W, D, wrench[0], wrench[1], wrench[2])
    f0, f1, f2 = rotate(W, D, wrench[3], wrench[4], wrench[5])
    c0, c1, c2 = cross(W[D + 9] - W[P + 9], W[D + 10] - W[P + 10], W[D + 11] - W[P + 11], f0, f1, f2)
    a0, a1, a2 = rotate_back(W, P, m0 + c0, m1 + c1, m2 + c2)
    b0, b1, b2 = rotate_back(W, P, f0, f1, f2)
    put(W, w + 6 * (n - 1), (-a0, -a1, -a2, -b0, -b1, -b2))
