"""Forces that are not the joints' own: loads at frames, springs and bushings between two, actuators.

Each frame F that an element uses has a pose X_WF, a twist V_F in itself and modes Π_F (layout.py).  A wrench w at F,
in F, on body B does the power w·V_F, so the body's bias gets −AdT(X_FB) w and that of its modes −Π_Fᵀ w:  (1)
reaction forces and modal forces are right without further thought.

Spring from A to B, with r = p_B − p_A in the world, L = |r|, n = r/L: the tension is
    k (L − L₀) + d L̇,      L̇ = n·(v_B − v_A).                                                        (2)
Bushing between A and B, in the axes of A, with θ = log R_AB and r = p_AB: energy ½θᵀK_rθ + ½rᵀK_t r, so that B gets
    force −(K_t r + D_t ṙ) and moment −dexp_left(θ)⁻ᵀ (K_r θ + D_r θ̇),   θ̇ = dexp_left(θ)⁻¹ w_rel.   (3)

Each kind of element has one law, a kernel (I, F, e, u, W), which returns for the element with row e, after
`place_frames`: the wrench on its frame A and that on its frame B, each in the axes of its frame; the energy that it
stores; the power that it dissipates; the power that it brings in from outside; and six numbers for observers, of which
it `shows` the first few.  Forces, energies, the account of a run and results all come from this one kernel.

Springs of a spherical, planar or free joint have the energy ½eᵀKe, e = log(X_rest⁻¹ X) in the joint's group.  With the
body-fixed speeds v, ė = dexp_right(e)⁻¹ v, so that their generalised force is
    −dexp_right(e)⁻ᵀ K e.                                                                             (4)

The frame's own node is taken as deformed in a ruthless model too: there the springs are what holds the structure.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.ball_stops import ball_stop
from liegeo.kernels.contact import contact
from liegeo.kernels.crowd import crowd
from liegeo.kernels.dispatch import Laws
from liegeo.kernels.joint_elements import add_joint_element_forces, add_joint_element_slopes
from liegeo.kernels.kinematics import world_poses
from liegeo.kernels.line_laws import line_law
from liegeo.kernels.lines import along, ends, relative, span, stretch
from liegeo.kernels.nodes import node_modes, node_pose
from liegeo.kernels.programs import smooth_sign
from liegeo.kernels.ropes import rope, wind_ropes
from liegeo.kernels.spatial import (
    add,
    compose,
    dot,
    plus,
    put,
    rotate,
    rotate_back,
    six,
    sum_columns,
    times,
    twist_outward,
    wrench_inward,
)
from liegeo.lie import quaternion, se2, se3q
from liegeo.lie.series import dexpinv_coefficients
from liegeo.lie.so3 import cross, log_entries, quadratic_apply, quadratic_d_apply

LAWS = Laws(at.ELEMENT_KINDS, "liegeo/kernels/elements.py")


@kernel
def add_resistance(I, F, b, f, q, v, sign, out):
    """Add to `out`, times `sign`, what springs, dampers and friction of a joint oppose to its motion."""
    jv = index(I[b + at.JV])
    for k in range(index(I[b + at.NV])):
        out[jv + k] += sign * (_plain_resistance(I, F, b, f, k, q, v) + joint_friction(F, f, k, v[jv + k]))
    if I[b + at.PASSIVE] == at.ON_GROUP:
        _add_spring(I, F, b, f, q, sign, out)


@kernel
def add_spring_and_damper(I, F, b, f, q, v, sign, out):
    """Add to `out`, times `sign`, what springs and dampers of a joint oppose to its motion."""
    jv = index(I[b + at.JV])
    for k in range(index(I[b + at.NV])):
        out[jv + k] += sign * _plain_resistance(I, F, b, f, k, q, v)
    if I[b + at.PASSIVE] == at.ON_GROUP:
        _add_spring(I, F, b, f, q, sign, out)


@kernel
def _plain_resistance(I, F, b, f, k, q, v):
    """Return the force of the damper of speed k and of its spring, unless that is one on a group, (4)."""
    force = F[f + at.DAMPING + k] * v[index(I[b + at.JV]) + k]
    if I[b + at.PASSIVE] != at.ON_GROUP and F[f + at.STIFFNESS + k] != 0.0:
        force += F[f + at.STIFFNESS + k] * (q[index(I[b + at.JQ]) + k] - F[f + at.REST + k])
    return force


@kernel
def joint_friction(F, f, k, speed):
    """Return the Coulomb friction that speed k of a joint meets.

    It is smoothed: full at a few times the joint's friction speed, which keeps it differentiable.
    """
    if F[f + at.FRICTION + k] == 0.0:
        return 0.0 * speed
    return F[f + at.FRICTION + k] * smooth_sign(speed / F[f + at.FRICTION_SPEED])


@kernel(forceinline=False)
def local_tangents(I, F, q, v, alpha, beta, secant, out):
    """Write α ∂f/∂v + β ∂f/∂q of the forces f of each joint that D and K do not hold: of friction.

    Friction f(v) = T tanh(v/v_s) has the tangent (T/v_s)(1 − tanh²(v/v_s)) and, if `secant` is 1, f(v)/v in its place.
    Elements that act on one speed, without a state, have those of their laws.
    """
    for k in range(I[at.N_V]):
        out[k] = 0.0
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        if I[b + at.PASSIVE] == 0:
            continue
        jv = index(I[b + at.JV])
        for k in range(index(I[b + at.NV])):
            friction = F[f + at.FRICTION + k]
            if friction == 0.0 or I[b + at.LOCKED] >> k & 1:
                continue
            scaled = v[jv + k] / F[f + at.FRICTION_SPEED]
            sign = smooth_sign(scaled)
            slope = 1.0 - sign * sign
            if secant != 0.0 and scaled != 0.0:
                slope = sign / scaled
            out[jv + k] = alpha * friction / F[f + at.FRICTION_SPEED] * slope
    if I[at.N_JOINT_ELEMENTS] > 0:
        add_joint_element_slopes(I, F, q, v, alpha, beta, secant, out)
    return 0


@kernel(forceinline=False)
def _add_spring(I, F, b, f, q, sign, out):
    """Add to `out`, times `sign`, dexp_right(e)⁻ᵀ K e of (4): the coupling block of SE(3) serves SO(3) and SE(2)."""
    b, f = index(b), index(f)
    jv = index(I[b + at.JV])
    e = spring_stretch(I, F, b, f, q)
    n, m = _spring_force(I, F, b, f, e)
    g, g1, _ = dexpinv_coefficients(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    # dexp_right(e)⁻¹ = [A 0; B A]; its transpose has the skew parts of the left one
    a0, a1, a2 = quadratic_apply(e[0], e[1], e[2], -0.5, g, n[0], n[1], n[2])
    b0, b1, b2 = quadratic_d_apply(e[0], e[1], e[2], e[3], e[4], e[5], -0.5, g, 0.0, g1, m[0], m[1], m[2])
    c0, c1, c2 = quadratic_apply(e[0], e[1], e[2], -0.5, g, m[0], m[1], m[2])
    force = (a0 + b0, a1 + b1, a2 + b2, c0, c1, c2)
    first = _first(I, b)
    for k in range(index(I[b + at.NV])):
        out[jv + k] += sign * force[first + k]


@kernel
def _first(I, b):
    """Speed k of a spherical, planar or free joint is component first + k of its twist."""
    return 2 if I[b + at.KIND] == at.PLANAR else 0


@kernel
def spring_stretch(I, F, b, f, q):
    """e of (4) as a twist, for a spherical, planar or free joint."""
    kind, rest, here = I[b + at.KIND], F[f + at.REST : f + at.REST + 7], q[index(I[b + at.JQ]) :]
    zero = 0.0 * here[0]
    if kind == at.PLANAR:
        w, x, y = se2.difference_entries(rest, here)
        return zero, zero, w, x, y, zero
    if kind == at.FREE:
        return se3q.difference_entries(rest, here)
    x, y, z = quaternion.difference_entries(rest, here)
    return x, y, z, zero, zero, zero


@kernel
def _spring_force(I, F, b, f, e):
    """K e of (4), its angular and its linear part."""
    k, first = f + at.STIFFNESS, _first(I, b)
    if first == 2:
        return (0.0 * e[2], 0.0 * e[2], F[k] * e[2]), (F[k + 1] * e[3], F[k + 2] * e[4], 0.0 * e[2])
    return (F[k] * e[0], F[k + 1] * e[1], F[k + 2] * e[2]), (F[k + 3] * e[3], F[k + 4] * e[4], F[k + 5] * e[5])


@kernel(forceinline=False)
def spring_energy(I, F, b, f, q):
    """½ eᵀ K e of (4), for a joint with a spring on its group."""
    b, f = index(b), index(f)
    e = spring_stretch(I, F, b, f, q)
    n, m = _spring_force(I, F, b, f, e)
    return 0.5 * (n[0] * e[0] + n[1] * e[1] + n[2] * e[2] + m[0] * e[3] + m[1] * e[4] + m[2] * e[5])


@kernel(forceinline=False)
def load(I, F, q, v, u, out):
    """out = generalised forces of u and of actuators, less what the joints oppose; modes have theirs in their bias."""
    for k in range(I[at.N_V]):
        out[k] = u[k]
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        if I[b + at.PASSIVE] != 0:
            add_resistance(I, F, b, f, q, v, -1.0, out)
    for i in range(I[at.N_ACTUATORS]):
        a = index(I[at.ACTUATORS]) + i * at.ACTUATOR_SIZE
        out[index(I[a + at.ACTUATED])] += actuator_force(I, F, a, u)
    if I[at.N_JOINT_ELEMENTS] > 0:
        add_joint_element_forces(I, F, q, v, u, -1.0, out)


@kernel
def actuator_force(I, F, a, u):
    """Gear times input, the input kept within its limit."""
    f, x = index(I[a + at.ACTUATOR_F]), u[index(I[a + at.ACTUATOR_U])]
    limit = F[f + 1]
    if x.real > limit:
        x = 0.0 * x + limit
    elif x.real < -limit:
        x = 0.0 * x - limit
    return F[f] * x


@kernel(forceinline=False)
def place_frames(I, F, q, v, W):
    """Poses, twists and modes of all frames of force elements, after `velocities`."""
    world = index(I[at.WORLD])
    world_poses(I, W, W, world)
    for k in range(I[at.N_FRAMES]):
        r = index(I[at.FRAMES]) + k * at.FRAME_SIZE
        f, x = index(I[r + at.FRAME_F]), index(I[r + at.FRAME_W])
        body = I[r + at.FRAME_BODY]
        if body < 0:
            for j in range(12):
                W[x + at.X_WF + j] = W[x + at.X_BF + j] = F[f + j]
            for j in range(6):
                W[x + at.V_F + j] = 0.0
            continue
        b, _, w = at.rows(body)
        node, n = I[r + at.FRAME_NODE], index(I[b + at.NM])
        if node < 0:
            for j in range(12):
                W[x + at.X_BF + j] = F[f + j]
        else:
            node_pose(I, F, node, True, q, index(I[b + at.EQ]), W, x + at.X_BF)
            node_modes(I, F, node, True, q, index(I[b + at.EQ]), W, x + at.X_BF, False, W, x + at.PI_F)
        compose(W, world + 12 * body, W, x + at.X_BF, W, x + at.X_WF)
        V = twist_outward(W, x + at.X_BF, six(W, w + at.VEL))
        if node >= 0:
            V = plus(V, sum_columns(W, x + at.PI_F, n, v, index(I[b + at.EV])))
        put(W, x + at.V_F, V)
    wind_ropes(I, q, v, W)


@kernel
def _found_law(I, F, i, u, W):
    """Return the row of element i, and what its law returns."""
    e = index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE
    return e, _law(I[e + at.ELEMENT_KIND], I, F, e, u, W)


@kernel(forceinline=False)
def apply_elements(I, F, q, v, u, W):
    """(1) for every element, after `biases`."""
    place_frames(I, F, q, v, W)
    for i in range(I[at.N_ELEMENTS]):
        row = index(I[at.ELEMENTS]) + i * at.ELEMENT_SIZE
        if I[row + at.ELEMENT_KIND] == at.CROWD or I[row + at.ELEMENT_KIND] == at.ROPE:
            _apply_many(I, F, row, W)
            continue
        e, (on_a, on_b, _, _, _, _) = _found_law(I, F, i, u, W)
        a, b = I[e + at.FRAME_A], I[e + at.FRAME_B]
        push(I, a, on_a, W)
        # an element with one place has the same frame twice
        if b != a:
            push(I, b, on_b, W)


@kernel(forceinline=False)
def _apply_many(I, F, e, W):
    """(1) for all surfaces of a crowd, or all frames of a rope."""
    rows, w = index(I[e + at.ELEMENT_MORE]), index(I[e + at.ELEMENT_W])
    if I[e + at.ELEMENT_KIND] == at.CROWD:
        crowd(I, F, e, W)
    else:
        rope(I, F, e, W)
        w += at.ROPE_WRENCHES
    for k in range(index(I[e + at.ELEMENT_N])):
        push(I, I[rows + k], six(W, w + 6 * k), W)


@kernel(forceinline=False)
def element_energy(I, F, u, W):
    """Return the energy that all elements store, after `place_frames`."""
    energy = 0.0 * W[0]
    for i in range(I[at.N_ELEMENTS]):
        _, (_, _, stored, _, _, _) = _found_law(I, F, i, u, W)
        energy += stored
    return energy


@kernel(forceinline=False)
def element_powers(I, F, u, W):
    """Return the power that all elements bring in, and that which they dissipate, after `place_frames`."""
    work = dissipated = 0.0 * W[0]
    for i in range(I[at.N_ELEMENTS]):
        _, (_, _, _, lost, gained, _) = _found_law(I, F, i, u, W)
        work += gained
        dissipated += lost
    return work, dissipated


@kernel
def exerted(I, F, e, u, W):
    """Return the six numbers that the law of the element with row e shows, after `place_frames`."""
    _, _, _, _, _, shown = _law(I[e + at.ELEMENT_KIND], I, F, e, u, W)
    return shown


@kernel(forceinline=False)
def push(I, r, wrench, W):
    """(1): the wrench at the frame with row r, in its axes."""
    r = index(r)
    body, x = I[r + at.FRAME_BODY], index(I[r + at.FRAME_W])
    if body < 0:
        return
    b, _, w = at.rows(body)
    add(W, w + at.FOR, times(-1.0, wrench_inward(W, x + at.X_BF, wrench)))
    if I[r + at.FRAME_NODE] >= 0:
        n = index(I[b + at.NM])
        zf = index(I[b + at.FLEX]) + at.ZF * n
        for k in range(n):
            W[zf + k] -= dot(six(W, x + at.PI_F + 6 * k), wrench)


@kernel
def _deformation(W, x, y):
    """θ and r of (3), θ̇ and ṙ, R_AB, and the coefficient of θ̂² in dexp_left(θ)⁻¹."""
    R, p = relative(W, x, y)
    t0, t1, t2 = log_entries(R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8])
    A, B = six(W, x + at.V_F), six(W, y + at.V_F)
    w0, w1, w2 = rotate(R, 0, B[0], B[1], B[2])
    v0, v1, v2 = rotate(R, 0, B[3], B[4], B[5])
    c0, c1, c2 = cross(A[0], A[1], A[2], p[0], p[1], p[2])
    g, _, _ = dexpinv_coefficients(t0 * t0 + t1 * t1 + t2 * t2)
    d0, d1, d2 = quadratic_apply(t0, t1, t2, -0.5, g, w0 - A[0], w1 - A[1], w2 - A[2])
    return (t0, t1, t2), p, (d0, d1, d2), (v0 - A[3] - c0, v1 - A[4] - c1, v2 - A[5] - c2), R, g


@kernel
def _bushing_wrench(F, f, W, x, y):
    """Return moment and force (3) on B, in the axes of A; p_AB and R_AB; stored energy and dissipated power."""
    t, p, td, pd, R, g = _deformation(W, x, y)
    k, d = f, f + 6
    m0, m1, m2 = F[k] * t[0] + F[d] * td[0], F[k + 1] * t[1] + F[d + 1] * td[1], F[k + 2] * t[2] + F[d + 2] * td[2]
    f0 = -F[k + 3] * p[0] - F[d + 3] * pd[0]
    f1 = -F[k + 4] * p[1] - F[d + 4] * pd[1]
    f2 = -F[k + 5] * p[2] - F[d + 5] * pd[2]
    stored = dissipated = 0.0 * t[0]
    for i in range(3):
        stored += 0.5 * (F[k + i] * t[i] * t[i] + F[k + 3 + i] * p[i] * p[i])
        dissipated += F[d + i] * td[i] * td[i] + F[d + 3 + i] * pd[i] * pd[i]
    return quadratic_apply(t[0], t[1], t[2], 0.5, g, -m0, -m1, -m2), (f0, f1, f2), p, R, stored, dissipated


# ---- the laws


@LAWS.of(at.LOAD_WORLD, at.LOAD_BODY, shows=6)
@kernel
def _load(I, F, e, u, W):
    """A wrench, its constant part and its input; it shows both together, in the axes in which they are given."""
    f, x, _ = ends(I, e)
    zero = 0.0 * W[x]
    given = plus(plus(six(F, f), six(u, index(I[e + at.ELEMENT_U]))), (zero, zero, zero, zero, zero, zero))
    wrench = given
    if I[e + at.ELEMENT_KIND] == at.LOAD_WORLD:
        n0, n1, n2 = rotate_back(W, x + at.X_WF, given[0], given[1], given[2])
        f0, f1, f2 = rotate_back(W, x + at.X_WF, given[3], given[4], given[5])
        wrench = (n0, n1, n2, f0, f1, f2)
    work = dot(wrench, six(W, x + at.V_F))
    return wrench, (zero, zero, zero, zero, zero, zero), zero, zero, work, given


@LAWS.of(at.SPRING, shows=3)
@kernel
def _spring(I, F, e, u, W):
    """(2); it shows tension, length and its rate.

    A spring between frames that coincide has no force.  If its free length is zero its force is −k r all the same,
    which has a derivative there.
    """
    f, x, y = ends(I, e)
    k, d, free = F[f], F[f + 1], F[f + 2]
    length, rate, a, b = stretch(W, x, y)
    tension = k * (length - free) + d * rate
    pull = tension
    if length.real == 0.0:
        tension = 0.0 * length
        pull = tension
        if free == 0.0:
            pull = tension + k
            r0, r1, r2, _ = span(W, x, y)
            a, b = rotate_back(W, x, r0, r1, r2), rotate_back(W, y, r0, r1, r2)
    zero = 0.0 * length
    stored = 0.5 * k * (length - free) * (length - free)
    shown = (tension, length, rate, zero, zero, zero)
    return along(pull, a), along(-pull, b), stored, d * rate * rate, zero, shown


@LAWS.of(at.BUSHING, shows=6)
@kernel
def _bushing(I, F, e, u, W):
    """(3); it shows moment and force on B, at its origin and in the axes of A."""
    f, x, y = ends(I, e)
    (n0, n1, n2), (f0, f1, f2), (p0, p1, p2), R, stored, dissipated = _bushing_wrench(F, f, W, x, y)
    e0, e1, e2 = cross(p0, p1, p2, f0, f1, f2)
    b0, b1, b2 = rotate_back(R, 0, n0, n1, n2)
    h0, h1, h2 = rotate_back(R, 0, f0, f1, f2)
    on_a, on_b = (-n0 - e0, -n1 - e1, -n2 - e2, -f0, -f1, -f2), (b0, b1, b2, h0, h1, h2)
    return on_a, on_b, stored, dissipated, 0.0 * stored, (n0, n1, n2, f0, f1, f2)


@LAWS.of(at.CONTACT, shows=9)
@kernel
def _contact(I, F, e, u, W):
    """contact.py has its equations; what it shows are nine numbers, for which observers ask it directly."""
    row = contact(I, F, e, u, W)
    on_a, on_b = (row[0], row[1], row[2], row[3], row[4], row[5]), (row[6], row[7], row[8], row[9], row[10], row[11])
    shown = (row[14], row[15], row[16], row[17], row[18], row[19])
    return on_a, on_b, row[12], row[13], 0.0 * row[12], shown


@LAWS.of(at.CROWD, shows=3)
@kernel
def _crowd(I, F, e, u, W):
    """crowd.py; it shows the number of pairs that touch, the largest depth, and the sum of normal forces.

    It pushes more than two frames: `apply_elements` takes their wrenches from its scratch.
    """
    touching, stored, dissipated, pressed, deepest = crowd(I, F, e, W)
    zero = 0.0 * stored
    none = (zero, zero, zero, zero, zero, zero)
    return none, none, stored, dissipated, zero, (zero + touching, deepest, pressed, zero, zero, zero)


LAWS.of(at.LINE_LAW, shows=4)(line_law)
LAWS.of(at.BALL_STOP, shows=6)(ball_stop)


@LAWS.of(at.ROPE, shows=4)
@kernel
def _rope(I, F, e, u, W):
    """ropes.py; `apply_elements` takes the wrenches on its frames from its scratch.

    It shows tension, length, the rate of its extension, and the length that is free.
    """
    tension, length, rate, free, stored, lost = rope(I, F, e, W)
    zero = 0.0 * stored
    none = (zero, zero, zero, zero, zero, zero)
    return none, none, stored, lost, zero, (tension, length, rate, free, zero, zero)


_law = LAWS.chosen("elements.law")


# ---- powers of the joints


@kernel(forceinline=False)
def joint_powers(I, F, v, u):
    """Return the power of generalised forces and actuators, and the power that joints and modes dissipate."""
    work = dissipated = 0.0 * v[0]
    for k in range(I[at.N_V]):
        work += u[k] * v[k]
    for i in range(I[at.N_ACTUATORS]):
        a = index(I[at.ACTUATORS]) + i * at.ACTUATOR_SIZE
        work += actuator_force(I, F, a, u) * v[index(I[a + at.ACTUATED])]
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        jv, ev, n = index(I[b + at.JV]), index(I[b + at.EV]), index(I[b + at.NM])
        for k in range(index(I[b + at.NV])):
            speed = v[jv + k]
            dissipated += F[f + at.DAMPING + k] * speed * speed
            dissipated += joint_friction(F, f, k, speed) * speed
        if n > 0:
            damping = at.modal_matrices(I, b)[4]
            for k in range(n):
                if I[b + at.DIAGONAL] == 1:
                    dissipated += F[damping + (n + 1) * k] * v[ev + k] * v[ev + k]
                    continue
                for l in range(n):
                    dissipated += F[damping + n * k + l] * v[ev + k] * v[ev + l]
    return work, dissipated
