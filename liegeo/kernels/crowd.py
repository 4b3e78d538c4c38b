"""Contacts of many surfaces, any two of which may touch: a broad phase, then contact.py for what is near.

Surfaces of different bodies touch, unless a joint with less than six freedoms holds one body on the other.  Each has a
ball around its origin that contains it; planes, profiles, bores and sockets have none.  Pairs whose balls do not
overlap are left out.  With more than a few surfaces these pairs are not even looked at: space is divided into cubes,
whose sides are as long as the largest ball, and a surface can only touch those in its own and in the 26 cubes around
it.  The cubes are chained into lists by a hash of their three numbers, as in [ER05, 7.1.3]; the lists stand in W.

The order of all sums follows from the order of the surfaces alone, so that results are the same bits on every run.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.contact import BALL, BOX, PLANE, PROFILE, parted, touch, wrench_at
from liegeo.kernels.spatial import add

# Below it all pairs are looked at, which is cheaper.
FEW = 16
# Cubes with larger numbers than this count as one: what flies there has lost its way.
_FAR = 1e6


@kernel
def lists_of(n):
    """Return the number of lists of a crowd of n surfaces: a power of 2, at least twice as many as surfaces."""
    lists = 2
    while lists < 2 * n:
        lists *= 2
    return lists


@kernel
def _apart(I, a, b):
    """Return whether the bodies of two frames cannot touch: they are one, or a joint holds one on the other."""
    first, second = I[a + at.FRAME_BODY], I[b + at.FRAME_BODY]
    if first == second:
        return True
    return _holds(I, first, second) or _holds(I, second, first)


@kernel
def _holds(I, parent, child):
    if child < 0:
        return False
    b, _, _ = at.rows(child)
    return I[b + at.PARENT] == parent and I[b + at.KIND] != at.FREE


@kernel
def _first_is_ground(first, second):
    """Return whether of two surfaces, by their kinds, the first has the distance and the second has the points."""
    return first == PLANE or (second != PLANE and first >= second)


@kernel
def _points(ground, other):
    """Return with how many points a surface touches another one."""
    if other == BALL or not (ground == PLANE or ground >= PROFILE):
        return 1
    return 8 if other == BOX else 2


@kernel(forceinline=False)
def _pair(I, F, e, i, j, W, sums):
    """Add the contact of surfaces i and j, if they touch, to their wrenches and to `sums`, and return these.

    sums: the number of pairs that touch, stored energy, dissipated power, normal forces and the largest depth.
    """
    f, rows, w = index(I[e + at.ELEMENT_F]), index(I[e + at.ELEMENT_MORE]), index(I[e + at.ELEMENT_W])
    a, b = index(I[rows + i]), index(I[rows + j])
    if _apart(I, a, b):
        return sums
    surfaces = f + at.CROWD_SURFACES
    s, t = surfaces + at.CROWD_SURFACE * i, surfaces + at.CROWD_SURFACE * j
    x, y = index(I[a + at.FRAME_W]), index(I[b + at.FRAME_W])
    if F[s + 4] >= 0.0 and F[t + 4] >= 0.0:
        d0, d1, d2 = W[x + 9].real - W[y + 9].real, W[x + 10].real - W[y + 10].real, W[x + 11].real - W[y + 11].real
        reach = F[s + 4] + F[t + 4]
        if not d0 * d0 + d1 * d1 + d2 * d2 < reach * reach:
            return sums
    i, j, s, t, x, y = (i, j, s, t, x, y) if _first_is_ground(int(F[s]), int(F[t])) else (j, i, t, s, y, x)
    touching, stored, dissipated, pressed, deepest = sums
    zero, before = 0.0 * W[x], touching
    # what both are made of, and the points of a profile
    last = index(I[e + at.ELEMENT_N])
    row = int(F[s + 5]) * index(I[rows + last]) + int(F[t + 5])
    made = surfaces + at.CROWD_SURFACE * last + at.MATERIAL * row
    profile, n_profile = f, 0
    if int(F[s]) == PROFILE:
        profile, n_profile = f + int(F[s + 1]), int(F[s + 2])
    for k in range(_points(int(F[s]), int(F[t]))):
        gap, force, n, q, m, p, energy, lost, _ = parted(
            touch(F, made, s, t, profile, n_profile, W, x, y, k, (zero, zero, zero))
        )
        if not gap.real < 0.0:
            continue
        touching = before + 1.0
        g = (force * n[0] + q[0], force * n[1] + q[1], force * n[2] + q[2])
        add(W, w + 6 * i, wrench_at(W, x, -1.0, g, m, p))
        add(W, w + 6 * j, wrench_at(W, y, 1.0, g, m, p))
        stored, dissipated, pressed = stored + energy, dissipated + lost, pressed + force
        if -gap.real > deepest.real:
            deepest = -gap
    return touching, stored, dissipated, pressed, deepest


@kernel
def _cube(x, size):
    """Return the number of a cube along one axis, as a number of W."""
    scaled = x / size
    # not floor, so that a library takes no function of the system more than before
    return -np.ceil(-scaled) if -_FAR < scaled < _FAR else -_FAR


@kernel
def _bucket(a, b, c, n):
    """Return which of n lists, n a power of 2, the cube with these numbers is in."""
    return index((int(a) * 73856093 ^ int(b) * 19349663 ^ int(c) * 83492791) & (n - 1))


@kernel(forceinline=False)
def crowd(I, F, e, W):
    """Write the wrenches on all surfaces of the crowd with row e to its scratch, after `place_frames`.

    Return the number of pairs that touch, and stored energy, dissipated power, the sum of normal forces and the largest
    depth.
    """
    n, f = index(I[e + at.ELEMENT_N]), index(I[e + at.ELEMENT_F])
    rows, w = index(I[e + at.ELEMENT_MORE]), index(I[e + at.ELEMENT_W])
    zero = 0.0 * W[index(I[index(I[rows]) + at.FRAME_W])]
    for k in range(6 * n):
        W[w + k] = zero
    sums = (zero, zero, zero, zero, zero)
    if n <= FEW:
        for i in range(n):
            for j in range(i + 1, n):
                sums = _pair(I, F, e, i, j, W, sums)
        return sums
    surfaces = f + at.CROWD_SURFACES
    size, cubes, after = F[f + at.CROWD_CUBE], w + 6 * n, w + 9 * n
    lists, n_lists = w + 10 * n, lists_of(n)
    for k in range(n_lists):
        W[lists + k] = -1.0
    for i in range(n):
        if F[surfaces + at.CROWD_SURFACE * i + 4] < 0.0:
            # what is everywhere has been left out of the lists
            for j in range(n):
                if j > i or F[surfaces + at.CROWD_SURFACE * j + 4] >= 0.0:
                    sums = _pair(I, F, e, i, j, W, sums)
            continue
        x, c = index(I[index(I[rows + i]) + at.FRAME_W]), cubes + 3 * i
        a, b, d = _cube(W[x + 9].real, size), _cube(W[x + 10].real, size), _cube(W[x + 11].real, size)
        # those before it in the lists, around it
        for u in range(-1, 2):
            for v in range(-1, 2):
                for z in range(-1, 2):
                    k = int(W[lists + _bucket(a + u, b + v, d + z, n_lists)].real)
                    while k >= 0:
                        o = cubes + 3 * k
                        # another cube may be in the same list
                        if W[o].real == a + u and W[o + 1].real == b + v and W[o + 2].real == d + z:
                            sums = _pair(I, F, e, k, i, W, sums)
                        k = int(W[after + k].real)
        W[c], W[c + 1], W[c + 2] = a, b, d
        own = lists + _bucket(a, b, d, n_lists)
        W[after + i] = W[own]
        W[own] = i
    return sums
