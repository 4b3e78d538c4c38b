"""Contact between two surfaces: Hunt and Crossley's normal force, friction that slides or sticks, rolling resistance.

Surface A has a signed distance to every point, with the normal n that points from A to B: planes, balls, capsules,
boxes, cylinders, profiles, bores and sockets have one.  In a bore of the radius R, at the distance ρ from its axis, and
in a socket, at the distance ρ from its centre, it is R − ρ.  Surface B touches with one or several points c of a radius
r: the centre of a ball, the ends of a capsule, the corners of a box, the lowest points of a cylinder's two ends.  With
the distance D(c),

    gap = D − r,      δ = −gap,      contact point  p = c − n (r + gap/2),                                        (1)

in the middle of the overlap.  With the velocities v_A, v_B of the points of both bodies at p, v = v_B − v_A and
v_t = v − n (n·v), the rate is δ̇ = −n·v, which is exact for all of these shapes.

Normal force [HC75]; it never pulls:

    N = max(0, N_e (1 + d δ̇)),      N_e = k δⁿ,      stored ∫N_e dδ = k δⁿ⁺¹/(n + 1),                              (2)
    dissipated power (N − N_e) δ̇.

For two bodies that meet with the speed v and part with e v, (2) has one integral, because δ̈ = −N_e (1 + d δ̇)/m: with
w = δ̇, w dw/(1 + d w) = −N_e/m dδ, and the right-hand side comes back to where it was.  So

    d v (1 + e) = ln((1 + d v)/(1 − e d v)),                                                                     (3)

whatever m, k and n are; e ≈ 1 − ⅔ d v for small d v, as Hunt and Crossley found.

Friction without a memory, with Stribeck's law and the speed v_s that regularises it,

    F = −μ(|v_t|) N v_t/√(|v_t|² + v_s²),      μ(s) = μ_C + (μ_S − μ_C) exp(−(s/v_St)²).                            (4)

Friction with a memory is LuGre's [CO95], with bristles whose stiffness σ N_e is proportional to the normal force
[CT99], where σ = μ_S/z_b and z_b is the deflection at which they break away.  Their state s is the root of the energy
that they store, in the axes of A, a vector in the plane of contact; the deflection is s/√(σN_e):

    ṡ = r v_t − a s − 4|w| n (n·s),      F = −r (P s + T r v_t)/(1 + T A),      r = √(σN_e),      P = 1 − n nᵀ,    (5)
    a = α a₁ + β/T,      A = a₁ + β/T,      a₁ = σ |v_t|/(μ h),      h = max(N/N_e, 1/20),      stored ½|s|².

The full deflection is s₁ = r |v_t|/a₁ = r μ h/σ, where F = μ N.  α is 0 below 7/10 of it and 1 beyond it, as in
[DHA02]: what sticks does not creep.  β grows from 0 at s₁ to 1 at 2 s₁: bristles that a falling normal force cannot
hold slip back with the time T, with which they are damped too.  Below s₁, F is a mean of a force of the bristles and of
μ N against v_t, so that it never leaves the cone of friction, however fast the surfaces begin to slide.  The last term
of ṡ, with the angular velocity w of B relative to A, leaves bristles behind where the normal turns in A, as in [CT99].
In what is hollow the normal turns in A much faster than B does: |w| + (|v_t| + |w| r)/ρ, a bound of both, is in its
place.
Where surfaces are apart s stays as it is: whatever relaxed there would limit the steps of explicit methods in vain.

The dissipated power −F·v_t − s·ṡ is, with t = P s and p = r v_t, (T p² − T A p·t + a (1 + T A) t²)/(1 + T A) +
(n·s)²(a + 4|w|).  It is never negative, whatever N does: if |t| ≤ s₁, because T p² ≥ T A p·t then (β is 0); if not,
because a = A and (T A)² < 4 T A (1 + T A).  So changes of the normal force make no energy; with deflections as states
they would.

Rolling and spinning resistance, with w the angular velocity of B relative to A:  moment on B

    −ρ N w_t/√(|w_t|² + w_s²) − κ N n (n·w)/√((n·w)² + w_s²),                                                     (6)

with two lengths: the lever ρ of rolling resistance and the lever κ of spinning friction.

Ends of cylinders are flat ellipsoids, 1/500 of the radius high: the support point of a disc jumps where it lies flat,
that of an ellipsoid does not, and (1) stays exact.
"""

from __future__ import annotations

import numpy as np

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.ball_stops import ball_stop, exceeded
from liegeo.kernels.line_laws import line_law, line_rates
from liegeo.kernels.ropes import rope
from liegeo.kernels.spatial import rotate, rotate_back
from liegeo.lie.so3 import cross

# Kinds of surfaces: the first of the numbers of a surface in F, before its three sizes.
PLANE, BALL, CAPSULE, BOX, CYLINDER, PROFILE, BORE, SOCKET = range(8)
#: The height of the end of a cylinder, as a share of its radius.
BULGE = 0.002
# Numbers of a material in F, in the order of CONTACT_DATA.
STIFFNESS, EXPONENT, DISSIPATION, STATIC, COULOMB, STRIBECK, SLIP = range(7)
ROLLING, SPINNING, TURNING, BREAKAWAY, BRISTLE_TIME = range(7, 12)
# Where bristles begin to slide, as a share of their deflection in sliding; the smallest N/N_e in (5).
_SLIDES, _LEAST = 0.7, 0.05


@kernel
def _unit(x, y, z):
    """Return the length of a vector and its direction: z if it has none."""
    zero = 0.0 * (x + y + z)
    square = x * x + y * y + z * z
    if square.real <= 0.0:
        return zero, zero, zero, zero + 1.0
    length = np.sqrt(square)
    return length, x / length, y / length, z / length


@kernel
def _clamped(x, low, high):
    if x.real < low:
        return 0.0 * x + low
    if x.real > high:
        return 0.0 * x + high
    return x


@kernel
def _larger(x, bound):
    return x if x.real > bound else 0.0 * x + bound


@kernel(forceinline=False)
def _to_box(F, s, x, y, z):
    """Return the distance of a point from a box and the normal there, in its axes; half lengths stand at F[s]."""
    zero = 0.0 * (x + y + z)
    qx, qy, qz = _clamped(x, -F[s], F[s]), _clamped(y, -F[s + 1], F[s + 1]), _clamped(z, -F[s + 2], F[s + 2])
    dx, dy, dz = x - qx, y - qy, z - qz
    if (dx * dx + dy * dy + dz * dz).real > 0.0:
        return _unit(dx, dy, dz)
    # inside: out through the nearest face
    ax = x if x.real > 0.0 else -x
    ay = y if y.real > 0.0 else -y
    az = z if z.real > 0.0 else -z
    ex, ey, ez = ax - F[s], ay - F[s + 1], az - F[s + 2]
    if ex.real >= ey.real and ex.real >= ez.real:
        return ex, zero + (1.0 if x.real > 0.0 else -1.0), zero, zero
    if ey.real >= ez.real:
        return ey, zero, zero + (1.0 if y.real > 0.0 else -1.0), zero
    return ez, zero, zero, zero + (1.0 if z.real > 0.0 else -1.0)


@kernel(forceinline=False)
def _to_cylinder(F, s, x, y, z):
    """Return the distance of a point from a cylinder along z and the normal there: radius and half length at F[s]."""
    zero = 0.0 * (x + y + z)
    square = x * x + y * y
    rho = np.sqrt(square) if square.real > 0.0 else zero
    cx, cy = zero + 1.0, zero
    if rho.real > 0.0:
        cx, cy = x / rho, y / rho
    side, over = 1.0 if z.real > 0.0 else -1.0, rho - F[s]
    above = side * z - F[s + 1]
    if over.real > 0.0 and above.real > 0.0:
        length = np.sqrt(over * over + above * above)
        return length, over / length * cx, over / length * cy, side * above / length
    if over.real > above.real:
        return over, cx, cy, zero
    return above, zero, zero, zero + side


@kernel(forceinline=False)
def _to_profile(F, o, n, x, z):
    """Return the distance of a point from the line z(x) of n points at F[o], and the normal there (x, z).

    Beyond its ends the line goes on at the same height.
    """
    zero = 0.0 * (x + z)
    first, last = 0, n - 1
    while last - first > 1:
        middle = (first + last) // 2
        if x.real < F[o + 2 * middle]:
            last = middle
        else:
            first = middle
    # straight up or down from the point: which side it is on, and a bound of the distance
    if x.real < F[o] or x.real >= F[o + 2 * n - 2]:
        p = o if x.real < F[o] else o + 2 * n - 2
        height, nx, nz = z - F[p + 1], zero, zero + 1.0
    else:
        p = o + 2 * first
        run, rise = F[p + 2] - F[p], F[p + 3] - F[p + 1]
        length = np.sqrt(run * run + rise * rise)
        nx, nz = zero - rise / length, zero + run / length
        height = nx * (x - F[p]) + nz * (z - F[p + 1])
    side = 1.0 if height.real >= 0.0 else -1.0
    best = side * height
    # the nearest point of the segments that may be nearer
    reach = best.real * (1.0 + 1e-12)
    if x.real >= F[o] and x.real < F[o + 2 * n - 2]:
        # the foot on the line may lie outside of the segment: then the vertical distance is the bound
        vertical = z.real - F[p + 1] - (F[p + 3] - F[p + 1]) / (F[p + 2] - F[p]) * (x.real - F[p])
        reach = abs(vertical) * (1.0 + 1e-12)
        best = zero + reach
        nx, nz = zero, zero + 1.0
    for step in range(2):
        k = first if step == 0 else first + 1
        while 0 <= k < n - 1:
            p = o + 2 * k
            if F[p] > x.real + reach or F[p + 2] < x.real - reach:
                break
            run, rise = F[p + 2] - F[p], F[p + 3] - F[p + 1]
            share = _clamped((run * (x - F[p]) + rise * (z - F[p + 1])) / (run * run + rise * rise), 0.0, 1.0)
            dx, dz = x - F[p] - share * run, z - F[p + 1] - share * rise
            square = dx * dx + dz * dz
            if square.real <= (best * best).real:
                if square.real > 0.0:
                    best = np.sqrt(square)
                    nx, nz = side * dx / best, side * dz / best
                else:
                    length = np.sqrt(run * run + rise * rise)
                    nx, nz = zero - rise / length, zero + run / length
                    # on the line itself, where the root has no derivative
                    return nx * (x - F[p]) + nz * (z - F[p + 1]), nx, nz
            k += -1 if step == 0 else 1
    return side * best, nx, nz


@kernel
def _distance(F, a, profile, n_profile, W, x, c0, c1, c2):
    """Return the signed distance of a point of the world from the surface with the numbers F[a], and the normal."""
    l0, l1, l2 = rotate_back(W, x, c0 - W[x + 9], c1 - W[x + 10], c2 - W[x + 11])
    zero, kind = 0.0 * l0, int(F[a])
    if kind == PLANE:
        distance, n0, n1, n2 = l2, zero, zero, zero + 1.0
    elif kind in (BALL, CAPSULE):
        along = _clamped(l2, -F[a + 2], F[a + 2]) if kind == CAPSULE else zero
        length, n0, n1, n2 = _unit(l0, l1, l2 - along)
        distance = length - F[a + 1]
    elif kind == BOX:
        distance, n0, n1, n2 = _to_box(F, a + 1, l0, l1, l2)
    elif kind == CYLINDER:
        distance, n0, n1, n2 = _to_cylinder(F, a + 1, l0, l1, l2)
    elif kind == PROFILE:
        distance, n0, n2 = _to_profile(F, profile, n_profile, l0, l2)
        n1 = zero
    else:
        # from the wall of a bore or of a socket inwards
        length, n0, n1, n2 = _unit(l0, l1, l2 if kind == SOCKET else zero)
        distance, n0, n1, n2 = F[a + 1] - length, -n0, -n1, -n2
    n0, n1, n2 = rotate(W, x, n0, n1, n2)
    return distance, n0, n1, n2


@kernel(forceinline=False)
def _on_segment(F, a, b, W, x, y):
    """Return how far along its axis capsule B is nearest to capsule A, from its middle: see [ER05, 5.1.9]."""
    ax, ay, az = W[x + 2], W[x + 5], W[x + 8]
    bx, by, bz = W[y + 2], W[y + 5], W[y + 8]
    rx, ry, rz = W[x + 9] - W[y + 9], W[x + 10] - W[y + 10], W[x + 11] - W[y + 11]
    slope = ax * bx + ay * by + az * bz
    on_a, on_b = ax * rx + ay * ry + az * rz, bx * rx + by * ry + bz * rz
    square = 1.0 - slope * slope
    # parallel ones touch in the middle of what faces the other
    along = 0.0 * slope
    if square.real > 1e-9:
        along = (slope * on_b - on_a) / square
    else:
        sign = 1.0 if slope.real > 0.0 else -1.0
        low = _larger(-sign * on_b - F[b + 2], -F[a + 2]) if sign > 0.0 else _larger(on_b - F[b + 2], -F[a + 2])
        high = -sign * on_b + F[b + 2] if sign > 0.0 else on_b + F[b + 2]
        high = high if high.real < F[a + 2] else 0.0 * high + F[a + 2]
        along = 0.5 * (low + high)
    along = _clamped(along, -F[a + 2], F[a + 2])
    return _clamped(on_b + slope * along, -F[b + 2], F[b + 2])


@kernel
def _feature(F, a, b, W, x, y, k):
    """Return point k with which B touches A, in the world, and its radius."""
    kind, zero = int(F[b]), 0.0 * W[y]
    l0 = l1 = l2 = zero
    radius = F[b + 1]
    if kind == CAPSULE:
        l2 = _on_segment(F, a, b, W, x, y) if int(F[a]) == CAPSULE else zero + (F[b + 2] if k == 0 else -F[b + 2])
    elif kind == BOX:
        radius = 0.0
        l0 = zero + (F[b + 1] if k & 1 else -F[b + 1])
        l1 = zero + (F[b + 2] if k & 2 else -F[b + 2])
        l2 = zero + (F[b + 3] if k & 4 else -F[b + 3])
    elif kind == CYLINDER:
        # the point of a flat ellipsoid that is farthest along −n, n being the normal of a plane
        radius = 0.0
        n0, n1, n2 = rotate_back(W, y, W[x + 2], W[x + 5], W[x + 8])
        high = BULGE * F[b + 1]
        support = np.sqrt(F[b + 1] * F[b + 1] * (n0 * n0 + n1 * n1) + high * high * n2 * n2)
        l0 = -F[b + 1] * F[b + 1] * n0 / support
        l1 = -F[b + 1] * F[b + 1] * n1 / support
        half = F[b + 2] - high
        l2 = (half if k == 0 else -half) - high * high * n2 / support
    c0, c1, c2 = rotate(W, y, l0, l1, l2)
    return c0 + W[y + 9], c1 + W[y + 10], c2 + W[y + 11], radius


@kernel
def _point_velocity(W, x, p0, p1, p2):
    """Return velocity at a point of the world, and angular velocity, of the body of the frame at W[x], in the world."""
    w0, w1, w2 = rotate(W, x, W[x + at.V_F], W[x + at.V_F + 1], W[x + at.V_F + 2])
    v0, v1, v2 = rotate(W, x, W[x + at.V_F + 3], W[x + at.V_F + 4], W[x + at.V_F + 5])
    c0, c1, c2 = cross(w0, w1, w2, p0 - W[x + 9], p1 - W[x + 10], p2 - W[x + 11])
    return v0 + c0, v1 + c1, v2 + c2, w0, w1, w2


@kernel
def _friction_coefficient(F, m, square):
    """Return μ of (4), from |v_t|²."""
    if F[m + STATIC] == F[m + COULOMB]:
        return 0.0 * square + F[m + COULOMB]
    return F[m + COULOMB] + (F[m + STATIC] - F[m + COULOMB]) * np.exp(-square / (F[m + STRIBECK] * F[m + STRIBECK]))


@kernel
def _power(depth, n):
    """Return depth^n, for a depth > 0 and n ≥ 1."""
    if n == 1.5:
        return depth * np.sqrt(depth)
    if n == 1.0:
        return depth
    return np.exp(n * np.log(depth))


@kernel
def _bristles(F, m, elastic, ratio, square, friction, turn, s, n, v):
    """Return the friction force of (5) on B, and ṡ; all vectors are in the axes of A, `turn` is |w|."""
    sigma, time = F[m + STATIC] / F[m + BREAKAWAY], F[m + BRISTLE_TIME]
    root = np.sqrt(sigma * elastic)
    ratio = _larger(ratio, _LEAST)
    speed = np.sqrt(square) if square.real > 0.0 else 0.0 * square
    out = n[0] * s[0] + n[1] * s[1] + n[2] * s[2]
    t0, t1, t2 = s[0] - out * n[0], s[1] - out * n[1], s[2] - out * n[2]
    bent = sigma * (t0 * t0 + t1 * t1 + t2 * t2)
    full = friction * ratio * friction * ratio * elastic
    share = beyond = 0.0 * bent
    if bent.real >= full.real:
        share = share + 1.0
        # full may be zero
        over = bent / full - 1.0 if bent.real < 4.0 * full.real else share + 2.0
        over = over / 3.0
        beyond = over * over * (3.0 - 2.0 * over)
    elif bent.real > _SLIDES * _SLIDES * full.real:
        partly = (np.sqrt(bent / full) - _SLIDES) / (1.0 - _SLIDES)
        share = partly * partly * (3.0 - 2.0 * partly)
    sliding = sigma * speed / (friction * ratio)
    loss = share * sliding + beyond / time
    g0, g1, g2 = root * v[0] - loss * t0, root * v[1] - loss * t1, root * v[2] - loss * t2
    out_loss = out * (loss + 4.0 * turn)
    rate = (g0 - out_loss * n[0], g1 - out_loss * n[1], g2 - out_loss * n[2])
    share = -root / (1.0 + time * sliding + beyond)
    force = (
        share * (t0 + time * root * v[0]),
        share * (t1 + time * root * v[1]),
        share * (t2 + time * root * v[2]),
    )
    return force, rate


@kernel
def _turning(F, a, distance, radius, square, turn):
    """Return a bound of how fast B and the normal turn in A, from |v_t|² and from |w|, which is `turn`."""
    if int(F[a]) < BORE:
        return turn
    speed = np.sqrt(square) if square.real > 0.0 else 0.0 * square
    return turn + (speed + turn * radius) / _larger(F[a + 1] - distance, 1e-6 * F[a + 1])


@kernel
def _flat(gap, force, n, q, m, p, stored, dissipated, rate):
    """Return all of this as one row of numbers, which kernels can return from where they are not inlined."""
    return (
        *(gap, force, n[0], n[1], n[2], q[0], q[1], q[2], m[0], m[1], m[2]),
        *(p[0], p[1], p[2], stored, dissipated, rate[0], rate[1], rate[2]),
    )


@kernel
def parted(row):
    """Return the parts of such a row: the gap, the normal force, four vectors, two numbers, and a vector."""
    return (
        *(row[0], row[1], (row[2], row[3], row[4]), (row[5], row[6], row[7]), (row[8], row[9], row[10])),
        *((row[11], row[12], row[13]), row[14], row[15], (row[16], row[17], row[18])),
    )


@kernel(forceinline=False)
def touch(F, m, a, b, profile, n_profile, W, x, y, k, s):
    """Return all that is to know of point k of B on A, as `parted` takes it apart.

    m, a, b: where material and surfaces stand in F; x, y: their frames in W; s: the state of bristles.  The gap; the
    normal force; the normal, the friction force on B, the moment on B of (6) and the point of contact, in the world;
    stored energy, dissipated power, and ṡ.
    """
    c0, c1, c2, radius = _feature(F, a, b, W, x, y, k)
    distance, n0, n1, n2 = _distance(F, a, profile, n_profile, W, x, c0, c1, c2)
    gap = distance - radius
    zero = 0.0 * (gap + s[0])
    none = (zero, zero, zero)
    p0, p1, p2 = c0 - n0 * (radius + 0.5 * gap), c1 - n1 * (radius + 0.5 * gap), c2 - n2 * (radius + 0.5 * gap)
    normal, point = (n0, n1, n2), (p0, p1, p2)
    if gap.real >= 0.0:
        square = s[0] * s[0] + s[1] * s[1] + s[2] * s[2]
        return _flat(gap, zero, normal, none, none, point, 0.5 * square + zero, zero, none)
    a0, a1, a2, wa0, wa1, wa2 = _point_velocity(W, x, p0, p1, p2)
    b0, b1, b2, wb0, wb1, wb2 = _point_velocity(W, y, p0, p1, p2)
    v0, v1, v2 = b0 - a0, b1 - a1, b2 - a2
    apart = n0 * v0 + n1 * v1 + n2 * v2
    t0, t1, t2 = v0 - apart * n0, v1 - apart * n1, v2 - apart * n2
    elastic = F[m + STIFFNESS] * _power(-gap, F[m + EXPONENT])
    ratio = 1.0 - F[m + DISSIPATION] * apart
    if ratio.real < 0.0:
        ratio = 0.0 * ratio
    force = elastic * ratio
    stored = -elastic * gap / (F[m + EXPONENT] + 1.0) + zero
    dissipated = (elastic - force) * apart + zero
    friction, moment, rate = none, none, none
    square = t0 * t0 + t1 * t1 + t2 * t2
    mu = _friction_coefficient(F, m, square)
    if F[m + BREAKAWAY] != 0.0:
        q, rate = _bristles(
            F,
            m,
            elastic,
            ratio,
            square,
            mu,
            _turning(F, a, distance, radius, square, _unit(wb0 - wa0, wb1 - wa1, wb2 - wa2)[0]),
            s,
            rotate_back(W, x, n0, n1, n2),
            rotate_back(W, x, t0, t1, t2),
        )
        f0, f1, f2 = rotate(W, x, q[0], q[1], q[2])
        friction = (f0, f1, f2)
        stored += 0.5 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
        dissipated -= f0 * t0 + f1 * t1 + f2 * t2 + s[0] * rate[0] + s[1] * rate[1] + s[2] * rate[2]
    elif F[m + STATIC] != 0.0:
        share = -mu * force / np.sqrt(square + F[m + SLIP] * F[m + SLIP])
        friction = (share * t0, share * t1, share * t2)
        dissipated -= share * square
    if F[m + ROLLING] != 0.0 or F[m + SPINNING] != 0.0:
        w0, w1, w2 = wb0 - wa0, wb1 - wa1, wb2 - wa2
        spin, least = n0 * w0 + n1 * w1 + n2 * w2, F[m + TURNING] * F[m + TURNING]
        r0, r1, r2 = w0 - spin * n0, w1 - spin * n1, w2 - spin * n2
        rolling = -F[m + ROLLING] * force / np.sqrt(r0 * r0 + r1 * r1 + r2 * r2 + least)
        spinning = -F[m + SPINNING] * force * spin / np.sqrt(spin * spin + least)
        moment = (
            rolling * r0 + spinning * n0 + zero,
            rolling * r1 + spinning * n1 + zero,
            rolling * r2 + spinning * n2 + zero,
        )
        dissipated -= moment[0] * w0 + moment[1] * w1 + moment[2] * w2
    return _flat(gap, force + zero, normal, friction, moment, point, stored, dissipated, rate)


@kernel
def wrench_at(W, x, sign, f, t, p):
    """Return the wrench on the frame at W[x], in its axes, of a force at a point and a moment, in the world."""
    m0, m1, m2 = cross(p[0] - W[x + 9], p[1] - W[x + 10], p[2] - W[x + 11], f[0], f[1], f[2])
    n0, n1, n2 = rotate_back(W, x, sign * (t[0] + m0), sign * (t[1] + m1), sign * (t[2] + m2))
    f0, f1, f2 = rotate_back(W, x, sign * f[0], sign * f[1], sign * f[2])
    return n0, n1, n2, f0, f1, f2


@kernel
def places(I, e):
    """Return where stand of the contact with row e: material, surfaces A and B and profile in F, frames in W."""
    f = index(I[e + at.ELEMENT_F])
    x, y = index(I[index(I[e + at.FRAME_A]) + at.FRAME_W]), index(I[index(I[e + at.FRAME_B]) + at.FRAME_W])
    return f, f + at.CONTACT_A, f + at.CONTACT_B, f + at.CONTACT_PROFILE, x, y


@kernel
def _state(I, F, e, u, W, x, k):
    """Return the state of the bristles of point k."""
    zero, first = 0.0 * W[x], index(I[e + at.ELEMENT_X])
    if first == 0:
        return zero, zero, zero
    first += 3 * k
    return u[first] + zero, u[first + 1] + zero, u[first + 2] + zero


@kernel(forceinline=False)
def contact(I, F, e, u, W):
    """Return wrenches on frames A and B (12), stored energy, dissipated power, and what is shown of the contact (9).

    Shown are the gap (the smallest of all points), the normal force, the friction force, and in the world the force on
    B and the point of contact: of several the mean, weighted by their normal forces.
    """
    m, a, b, profile, x, y = places(I, e)
    zero = 0.0 * (W[x] + W[y])
    on_a = on_b = (zero, zero, zero, zero, zero, zero)
    stored = dissipated = pressed = zero
    q0 = q1 = q2 = f0 = f1 = f2 = p0 = p1 = p2 = zero
    least = zero
    for k in range(int(F[m + at.CONTACT_POINTS])):
        gap, force, n, q, t, p, energy, lost, _ = parted(
            touch(F, m, a, b, profile, index(I[e + at.ELEMENT_N]), W, x, y, k, _state(I, F, e, u, W, x, k))
        )
        stored += energy
        dissipated += lost
        if k == 0 or gap.real < least.real:
            least = gap
            if pressed.real == 0.0:
                p0, p1, p2 = p
        if gap.real >= 0.0:
            continue
        g = (force * n[0] + q[0], force * n[1] + q[1], force * n[2] + q[2])
        da, db = wrench_at(W, x, -1.0, g, t, p), wrench_at(W, y, 1.0, g, t, p)
        on_a = (on_a[0] + da[0], on_a[1] + da[1], on_a[2] + da[2], on_a[3] + da[3], on_a[4] + da[4], on_a[5] + da[5])
        on_b = (on_b[0] + db[0], on_b[1] + db[1], on_b[2] + db[2], on_b[3] + db[3], on_b[4] + db[4], on_b[5] + db[5])
        f0, f1, f2 = f0 + g[0], f1 + g[1], f2 + g[2]
        q0, q1, q2 = q0 + q[0], q1 + q[1], q2 + q[2]
        before = pressed
        pressed += force
        if force.real > 0.0:
            if before.real == 0.0:
                p0, p1, p2 = p
            else:
                share = force / pressed
                p0, p1, p2 = p0 + share * (p[0] - p0), p1 + share * (p[1] - p1), p2 + share * (p[2] - p2)
    square = q0 * q0 + q1 * q1 + q2 * q2
    slide = np.sqrt(square) if square.real > 0.0 else zero
    sign = F[m + at.CONTACT_SIGN]
    f0, f1, f2 = sign * f0, sign * f1, sign * f2
    return (
        *(on_a[0], on_a[1], on_a[2], on_a[3], on_a[4], on_a[5], on_b[0], on_b[1], on_b[2], on_b[3], on_b[4], on_b[5]),
        *(stored, dissipated, least, pressed, slide, f0, f1, f2, p0, p1, p2),
    )


@kernel
def has_contacts(I):
    """Return whether there are contacts of two surfaces, laws along lines, ropes or stops of balls: what has kinks."""
    found = False
    for i in range(I[at.N_ELEMENTS]):
        kind = I[index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE + at.ELEMENT_KIND]
        found |= kind == at.CONTACT or kind == at.LINE_LAW or kind == at.ROPE or kind == at.BALL_STOP
    return found


@kernel(forceinline=False)
def contact_switches(I, F, u, W):
    """Return a number that changes where two surfaces begin or cease to touch, a rope to pull, a stop to press.

    After `place_frames`.
    """
    seen = 0
    for i in range(I[at.N_ELEMENTS]):
        e = index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE
        if I[e + at.ELEMENT_KIND] == at.CONTACT:
            gap = contact(I, F, e, u, W)[14]
            seen = 2 * seen + int(gap.real < 0.0)
        elif I[e + at.ELEMENT_KIND] == at.LINE_LAW:
            _, _, _, _, _, shown = line_law(I, F, e, u, W)
            seen = 1009 * seen + int(shown[4].real)
        elif I[e + at.ELEMENT_KIND] == at.ROPE:
            seen = 2 * seen + int(rope(I, F, e, W)[0].real > 0.0)
        elif I[e + at.ELEMENT_KIND] == at.BALL_STOP:
            _, _, _, _, _, (_, _, _, turn, swing, twist) = ball_stop(I, F, e, u, W)
            seen = 16 * seen + exceeded(F, index(I[e + at.ELEMENT_F]), turn, swing, twist)
    return seen


@kernel(forceinline=False)
def contact_rates(I, F, u, W, out):
    """Write ẋ of contacts with bristles and of laws along lines into `out`, where first-order states begin.

    After `place_frames`.
    """
    first = at.first_state(I)
    for i in range(I[at.N_ELEMENTS]):
        e = index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE
        if I[e + at.ELEMENT_X] == 0:
            continue
        if I[e + at.ELEMENT_KIND] == at.LINE_LAW:
            line_rates(I, F, e, u, W, out)
            continue
        m, a, b, profile, x, y = places(I, e)
        o = index(I[e + at.ELEMENT_X]) - first
        for k in range(int(F[m + at.CONTACT_POINTS])):
            _, _, _, _, _, _, _, _, rate = parted(
                touch(F, m, a, b, profile, index(I[e + at.ELEMENT_N]), W, x, y, k, _state(I, F, e, u, W, x, k))
            )
            out[o + 3 * k], out[o + 3 * k + 1], out[o + 3 * k + 2] = rate
