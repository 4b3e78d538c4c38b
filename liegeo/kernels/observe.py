"""What can be seen of a state: motion of bodies and frames, reactions, what elements exert, energies, momenta.

A *plan* (whole numbers, made by liegeo/observer.py) says which passes and tasks are to be done; `show` does them for
one state and leaves all that it finds in one vector z, of which it copies some numbers, the *columns*, into a row.
`data` has the numbers of frames and nodes.  z, of the type of q, begins with t, q, v and u; then come accelerations,
with a copy of the rest of u behind them, as inverse dynamics wants it, the generalised forces that the motion takes,
energies and momenta, world poses of the bodies, and what each task finds.

A frame F belongs to a body B and is either constant in it or one of its nodes.  With X_BF = (R, p), its modes Π and η̇,

    V_F = Ad(X_BF)⁻¹ V_B + Πη̇,      V̇_F = Ad(X_BF)⁻¹ V̇_B + Πη̈ + Π̇η̇ + ad(V_F) Πη̇,                              (1)
    acceleration of its origin in the world:  R_WF (v̇_F + ω_F × v_F).                                             (2)

A node is taken as deformed in a ruthless model too: one wants to see it bend.

A quaternion gets the sign that continues what stood in its place in z before; NaN there leaves it as it is.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import articulated, dry_friction, inverse, loops, sensing
from liegeo.kernels import layout as at
from liegeo.kernels.contact import contact
from liegeo.kernels.crowd import crowd
from liegeo.kernels.elements import (
    actuator_force,
    add_spring_and_damper,
    element_energy,
    exerted,
    joint_friction,
    place_frames,
    spring_energy,
)
from liegeo.kernels.inertia import inertias
from liegeo.kernels.joint_elements import joint_element_energy, joint_element_law
from liegeo.kernels.kinematics import poses, velocities, world_poses
from liegeo.kernels.layout_table import Numbers
from liegeo.kernels.nodes import node_modes, node_pose, node_rate
from liegeo.kernels.spatial import (
    add,
    bracket,
    compose,
    dot,
    inertia_apply,
    plus,
    put,
    rotate,
    six,
    sum_columns,
    times,
    twist_outward,
    wrench_inward,
)
from liegeo.lie.quaternion import from_entries
from liegeo.lie.so3 import cross, log_entries

# ---- The plan: a header, task rows, rows of nodes as nodes.py reads them, and for each column its place in z.
# A, REQUIRED, BALANCE, WORLD: where accelerations, generalised forces, energies and world poses begin in z.
PASSES, N_TASKS, TASKS, N_COLUMNS, COLUMNS, A, REQUIRED, BALANCE, WORLD = range(9)
PLAN_HEADER = 9
# Passes, as bits: poses, twists, their rates, energies, frames of force elements, inverse dynamics.
POSES, TWISTS, RATES, WEIGH, ELEMENTS, REACT = (1 << k for k in range(6))
# A task: its kind, where its numbers begin in z; of a frame the body, the node's row in the plan (-1 if it does not
# deform), its modes in q and v, and its pose in `data`; of others the number of the body, or the row in I.  A frame of
# the world has the body -1.  Tasks of sensors, from sensing.FIRST on, take what other tasks before them found.
KIND, PLACE, OWNER, NODE, EQ, EV, DATA = range(7)
TASK_SIZE = 7
FRAME, REACTION, LOOP, ELEMENT, MOTOR, ON_JOINTS, RESISTANCE, FRICTION, SPRING, DAMPER, CONTACT, CROWD = range(12)

# ---- z: numbers of a frame.  First where they stand, then how they are called, in the order of columns in results.
# V_F and V̇_F are in F; velocities and accelerations, the angular ones first, in the world; bending is displacement and
# rotation vector from the undeformed node, in B.  Π stands behind all others.
FRAME_NUMBERS = Numbers()
X_WF, TWIST, RATE = FRAME_NUMBERS.reserve(12), FRAME_NUMBERS.reserve(6), FRAME_NUMBERS.reserve(6)
VELOCITIES, ACCELERATIONS = FRAME_NUMBERS.reserve(6), FRAME_NUMBERS.reserve(6)
BENDING, QUATERNION, X_BF = FRAME_NUMBERS.reserve(6), FRAME_NUMBERS.reserve(4), FRAME_NUMBERS.reserve(12)
FRAME_NUMBERS.name("pose", X_WF, 12)
FRAME_NUMBERS.name("position", X_WF + 9, 3, "position")
FRAME_NUMBERS.name("quaternion", QUATERNION, 4, "quaternion")
FRAME_NUMBERS.name("velocity", VELOCITIES + 3, 3, "velocity", TWISTS)
FRAME_NUMBERS.name("angular_velocity", VELOCITIES, 3, "angular velocity", TWISTS)
FRAME_NUMBERS.name("acceleration", ACCELERATIONS + 3, 3, "acceleration", TWISTS | RATES)
FRAME_NUMBERS.name("angular_acceleration", ACCELERATIONS, 3, "angular acceleration", TWISTS | RATES)
FRAME_NUMBERS.name("twist", TWIST, 6, passes=TWISTS)
FRAME_NUMBERS.name("twist.angular", TWIST, 3, "angular velocity", TWISTS)
FRAME_NUMBERS.name("twist.linear", TWIST + 3, 3, "velocity", TWISTS)
FRAME_NUMBERS.name("rate", RATE, 6, passes=TWISTS | RATES)
FRAME_NUMBERS.name("deflection", BENDING, 3, "deflection", bends=True)
FRAME_NUMBERS.name("tilt", BENDING + 3, 3, "angle", bends=True)
MODES = FRAME_NUMBERS.reserve(0)

# Numbers of the whole model: kinetic, gravitational, elastic energy | momentum 6 | mass | centre of mass 3 | energy
BALANCE_NUMBERS = Numbers()
KINETIC, GRAVITATIONAL, ELASTIC = (BALANCE_NUMBERS.reserve(1) for _ in range(3))
MOMENTUM, MASS, CENTER, ENERGY = (BALANCE_NUMBERS.reserve(size) for size in (6, 1, 3, 1))
BALANCE_NUMBERS.name("energy", ENERGY, 1, "energy")
BALANCE_NUMBERS.name("energy.kinetic", KINETIC, 1, "energy")
BALANCE_NUMBERS.name("energy.gravitational", GRAVITATIONAL, 1, "energy")
BALANCE_NUMBERS.name("energy.elastic", ELASTIC, 1, "energy")
BALANCE_NUMBERS.name("momentum.angular", MOMENTUM, 3, "angular momentum")
BALANCE_NUMBERS.name("momentum.linear", MOMENTUM + 3, 3, "momentum")
BALANCE_NUMBERS.name("mass", MASS, 1)
BALANCE_NUMBERS.name("center", CENTER, 3, "position")
BALANCE_NUMBERS.name("all", 0, BALANCE_NUMBERS.size)


@kernel(forceinline=False, apart=True)
def show(plan, data, I, F, t, q, v, u, W, z, out):
    """Do the passes and tasks of the plan, but for forward and inverse dynamics; columns into `out`.  Returns 0.

    Accelerations, if rates of twists are asked for, stand in z.  Of u, which may be empty, energies need gravity.
    """
    passes, nq, nv = plan[PASSES], index(I[at.N_Q]), index(I[at.N_V])
    z[0] = t
    for k in range(nq):
        z[1 + k] = q[k]
    for k in range(nv):
        z[1 + nq + k] = v[k]
    for k in range(u.shape[0]):
        z[1 + nq + nv + k] = u[k]
    a, world = index(plan[A]), index(plan[WORLD])
    if passes & POSES:
        poses(I, F, q, W)
        world_poses(I, W, z, world)
    if passes & TWISTS:
        velocities(I, F, q, v, W)
    if passes & RATES:
        inverse.accelerations(I, F, z[a : a + nv], at.NO_GRAVITY, W)
    if passes & WEIGH:
        o = index(plan[BALANCE])
        inertias(I, F, q, W)
        energies(I, F, q, v, u, W, z[world:], z[o:])
        z[o + ENERGY] = z[o] + z[o + 1] + z[o + 2]
    if passes & ELEMENTS:
        place_frames(I, F, q, v, W)
    for k in range(plan[N_TASKS]):
        r = index(plan[TASKS]) + k * TASK_SIZE
        if plan[r + KIND] == FRAME:
            _show_frame(plan, r, data, q, v, z[a : a + nv], world, W, z)
        elif plan[r + KIND] >= sensing.FIRST:
            sensing.sense(plan, r, data, I, u, z)
        elif plan[r + KIND] > LOOP:
            _show_element(plan, r, I, F, q, v, u, W, z)
    for k in range(plan[N_COLUMNS]):
        out[k] = z[index(plan[index(plan[COLUMNS]) + k])]
    return 0


@kernel(forceinline=False)
def _show_frame(plan, r, data, q, v, a, world, W, z):
    """The numbers of the frame with task row r: (1), (2), and how far a node is from where it is undeformed."""
    r, world = index(r), index(world)
    if plan[r + OWNER] < 0:
        _show_still(z, index(plan[r + PLACE]), data, index(plan[r + DATA]))
        return
    passes, body, node, d = plan[PASSES], index(plan[r + OWNER]), plan[r + NODE], index(plan[r + DATA])
    eq, ev, o = index(plan[r + EQ]), index(plan[r + EV]), index(plan[r + PLACE])
    x, w, n = o + X_BF, body * at.WORK_SIZE, 0
    if node >= 0:
        n = index(plan[index(node) + at.NODE_NM])
        node_pose(plan, data, node, True, q, eq, z, x)
        _show_bending(data, d, z, x, o + BENDING)
    else:
        for k in range(12):
            z[x + k] = data[d + k]
    compose(z, world + 12 * body, z, x, z, o)
    _show_quaternion(z, o)
    if not passes & TWISTS:
        return
    if node >= 0:
        node_modes(plan, data, node, True, q, eq, z, x, False, z, o + MODES)
    bending = sum_columns(z, o + MODES, n, v, ev)
    V = plus(twist_outward(z, x, six(W, w + at.VEL)), bending)
    put(z, o + TWIST, V)
    _turn(z, o, o + TWIST, o + VELOCITIES)
    _turn(z, o, o + TWIST + 3, o + VELOCITIES + 3)
    if not passes & RATES:
        return
    rate = plus(twist_outward(z, x, six(W, w + at.ACC)), bracket(V, bending))
    if node >= 0:
        rate = plus(rate, sum_columns(z, o + MODES, n, a, ev))
        rate = plus(rate, node_rate(plan, data, node, q, eq, v, ev, z, x, False))
    put(z, o + RATE, rate)
    c0, c1, c2 = cross(V[0], V[1], V[2], V[3], V[4], V[5])
    put(z, o + ACCELERATIONS, plus(rate, (0.0 * c0, 0.0 * c0, 0.0 * c0, c0, c1, c2)))
    _turn(z, o, o + ACCELERATIONS, o + ACCELERATIONS)
    _turn(z, o, o + ACCELERATIONS + 3, o + ACCELERATIONS + 3)


@kernel
def _show_still(z, o, pose, d):
    """The numbers of a frame of the world."""
    for k in range(MODES):
        z[o + k] = 0.0
    for k in range(12):
        z[o + k] = z[o + X_BF + k] = pose[d + k]
    _show_quaternion(z, o)


@kernel
def _turn(z, R, source, into):
    """z[into …] = R z[source …], with the rotation at z[R]."""
    z[into], z[into + 1], z[into + 2] = rotate(z, R, z[source], z[source + 1], z[source + 2])


@kernel
def _show_quaternion(z, o):
    """The quaternion of the rotation at z[o], with the sign that continues the one before."""
    k = o + QUATERNION
    a, b, c, d = from_entries(z[o], z[o + 1], z[o + 2], z[o + 3], z[o + 4], z[o + 5], z[o + 6], z[o + 7], z[o + 8])
    same = a * z[k] + b * z[k + 1] + c * z[k + 2] + d * z[k + 3]
    sign = -1.0 if same.real < 0.0 else 1.0
    z[k], z[k + 1], z[k + 2], z[k + 3] = sign * a, sign * b, sign * c, sign * d


@kernel
def _show_bending(rest, r, z, x, o):
    """Displacement, and rotation vector, of the node at z[x] from the undeformed one at rest[r], in their body."""
    for k in range(3):
        z[o + k] = z[x + 9 + k] - rest[r + 9 + k]
    # a row of R times R₀ᵀ is R₀ times the row
    r00, r01, r02 = rotate(rest, r, z[x], z[x + 1], z[x + 2])
    r10, r11, r12 = rotate(rest, r, z[x + 3], z[x + 4], z[x + 5])
    r20, r21, r22 = rotate(rest, r, z[x + 6], z[x + 7], z[x + 8])
    z[o + 3], z[o + 4], z[o + 5] = log_entries(r00, r01, r02, r10, r11, r12, r20, r21, r22)


@kernel(forceinline=False)
def _show_element(plan, r, I, F, q, v, u, W, z):
    """What the force element, or the joint, with task row r exerts, as the task kinds say."""
    r = index(r)
    kind, e, o = plan[r + KIND], index(plan[r + OWNER]), index(plan[r + PLACE])
    if kind == ELEMENT:
        put(z, o, exerted(I, F, e, u, W))
    elif kind == CONTACT:
        row = contact(I, F, e, u, W)
        for k in range(9):
            z[o + k] = row[14 + k]
    elif kind == CROWD:
        touching, _, _, pressed, deepest = crowd(I, F, e, W)
        z[o], z[o + 1], z[o + 2] = touching, deepest, pressed
        rows, w = index(I[e + at.ELEMENT_MORE]), index(I[e + at.ELEMENT_W])
        for k in range(index(I[e + at.ELEMENT_N])):
            # the force of the wrench on the surface, in the world
            x, p = index(I[index(I[rows + k]) + at.FRAME_W]), o + 3 + 3 * k
            z[p], z[p + 1], z[p + 2] = rotate(W, x, W[w + 6 * k + 3], W[w + 6 * k + 4], W[w + 6 * k + 5])
    elif kind == MOTOR:
        z[o] = actuator_force(I, F, e, u)
        z[o + 1] = z[o] * v[index(I[e + at.ACTUATED])]
    elif kind == ON_JOINTS:
        _, _, _, _, _, _, (z[o], z[o + 1], z[o + 2], z[o + 3]) = joint_element_law(I, F, e, q, v, u)
    else:
        b, f, _ = at.rows(e)
        jv, n = index(I[b + at.JV]), index(I[b + at.NV])
        if kind == FRICTION:
            for k in range(n):
                z[o + k] = joint_friction(F, f, k, v[jv + k])
        elif kind == DAMPER:
            for k in range(n):
                z[o + k] = F[f + at.DAMPING + k] * v[jv + k]
        elif kind == SPRING:
            for k in range(n):
                z[o + k] = -F[f + at.DAMPING + k] * v[jv + k]
            add_spring_and_damper(I, F, b, f, q, v, 1.0, z[o - jv :])
        else:
            for k in range(n):
                z[o + k] = 0.0
            # it counts speeds from the first of the model, whose place lies before o by jv
            add_spring_and_damper(I, F, b, f, q, v, 1.0, z[o - jv :])


@kernel(forceinline=False)
def _show_loop(plan, r, I, W, z):
    """What the constraint with task row r exerts: a wrench on B, in its axes; or, if it has no frames, multipliers."""
    r = index(r)
    c, o = index(plan[r + OWNER]), index(plan[r + PLACE])
    m, rows, first = I[at.N_ROWS], index(I[at.ROWS_W]), index(I[c + at.C_ROW])
    wrench = times(0.0, six(W, rows + 6 * first))
    for k in range(I[c + at.C_N]):
        multiplier = W[rows + at.LAMBDA * m + first + k]
        if I[c + at.C_KIND] < at.COUPLING:
            wrench = plus(wrench, times(multiplier, six(W, rows + at.ON_B * m + 6 * (first + k))))
        else:
            z[o + k] = multiplier
    if I[c + at.C_KIND] < at.COUPLING:
        put(z, o, wrench)


@kernel
def _nothing(I, F, W):
    """What `solved` of open trees does where those with loops find the smallest multipliers."""


def _solved(forward_dynamics, hold, settle, inverse_dynamics, name):
    """(plan, data, I, F, t, q, v, u, W, z, out): accelerations and what follows from them, then `show`.

    Reactions are the forces that inverse dynamics finds across the joints.  Returns as articulated.forward_dynamics.
    """

    @kernel(forceinline=False, name=name)
    def solved(plan, data, I, F, t, q, v, u, W, z, out):
        nv, n_u, a, required = index(I[at.N_V]), index(I[at.N_U]), index(plan[A]), index(plan[REQUIRED])
        if I[at.N_HELD] > 0:
            status = hold(I, F, q, v, u, W)
            if status != 0:
                return status
        status = forward_dynamics(I, F, q, v, u, W, z[a : a + nv])
        if status != 0:
            return status
        settle(I, F, W)
        for k in range(nv, n_u):
            z[a + k] = u[k]
        if plan[PASSES] & REACT:
            inverse_dynamics(I, F, q, v, z[a : a + n_u], W, z[required : required + nv])
        for k in range(plan[N_TASKS]):
            r = index(plan[TASKS]) + k * TASK_SIZE
            if plan[r + KIND] == LOOP:
                _show_loop(plan, r, I, W, z)
            elif plan[r + KIND] == REACTION:
                _, _, w = at.rows(plan[r + OWNER])
                put(z, index(plan[r + PLACE]), six(W, w + at.FOR))
        return show(plan, data, I, F, t, q, v, u, W, z, out)

    return solved


# Trees without loops need not wait until those are compiled.
solved = _solved(articulated.forward_dynamics, dry_friction.hold, _nothing, inverse.inverse_dynamics, "observe.solved")
solved_loops = _solved(
    *(loops.forward_dynamics, dry_friction.hold_loops, loops.smallest_multipliers, loops.inverse_dynamics),
    "observe.solved_loops",
)


def _over_samples(one, name):
    """(plan, data, I, F, T, Q, V, U, W, z, out): a row of `out` for each sample.

    Returns how many samples were done: all, or as many as come before one at which `one` fails.
    """

    @kernel(forceinline=False, name=name, nogil=True)
    def samples(plan, data, I, F, T, Q, V, U, W, z, out):
        for k in range(T.shape[0]):
            if one(plan, data, I, F, T[k], Q[k], V[k], U[k], W, z, out[k]) != 0:
                return k
        return T.shape[0]

    return samples


show_samples = _over_samples(show, "observe.show_samples")
solved_samples = _over_samples(solved, "observe.solved_samples")
solved_loops_samples = _over_samples(solved_loops, "observe.solved_loops_samples")


@kernel(forceinline=False)
def jacobian(I, W, body, X, Pi, scratch, out):
    """out (6 × nv): twist of the frame relative to the world, in its own axes, is out v.  After `poses`.

    X: pose of the frame in its body (12).  Pi: its modes, six numbers a mode, in the frame.  scratch: 24.
    """
    out[:, :] = 0.0
    for k in range(12):
        scratch[k] = X[k]
    i = body
    b, _, _ = at.rows(body)
    for j in range(index(I[b + at.NM])):
        for r in range(6):
            out[r, index(I[b + at.EV]) + j] = Pi[6 * j + r]
    while i >= 0:
        b, _, w = at.rows(i)
        _put_columns(W, w + at.SUB, index(I[b + at.NV]), scratch, out, index(I[b + at.JV]), 1.0)
        n = index(I[b + at.NM])
        if I[b + at.OFFSET] == at.DEFORMING:
            _put_columns(W, index(I[b + at.FLEX]) + at.PID * n, n, scratch, out, index(I[b + at.EV]), -1.0)
        parent = I[b + at.PARENT]
        if parent < 0:
            return
        # from here on the frame is seen from N, then from P
        compose(W, w + at.R_NB, scratch, 0, scratch, 12)
        for k in range(12):
            scratch[k] = scratch[12 + k]
        if I[b + at.PARENT_NODE] >= 0:
            pb, _, _ = at.rows(parent)
            c = index(I[b + at.CARRIER])
            _put_columns(W, c + at.CARRIER_PI, index(I[pb + at.NM]), scratch, out, index(I[pb + at.EV]), 1.0)
            compose(W, c, scratch, 0, scratch, 12)
            for k in range(12):
                scratch[k] = scratch[12 + k]
        i = parent


@kernel
def _put_columns(W, o, n, X, out, column, sign):
    """Add twists (columns at W[o], in a frame in which F has the pose at X[0]) as columns in F."""
    for k in range(n):
        a = twist_outward(X, 0, six(W, o + 6 * k))
        for r in range(6):
            out[r, column + k] += sign * a[r]


@kernel(forceinline=False, apart=True)
def energies(I, F, q, v, u, W, world, out):
    """out = kinetic, gravitational, elastic energy; then momentum about the world's origin (6), mass, centre (3).

    After `poses`, `velocities`, `inertias` and `world_poses` (into `world`).  Elastic is what modes, joints, springs
    and bushings store.
    """
    for k in range(13):
        out[k] = 0.0
    g = at.gravity(I)
    g0, g1, g2 = u[g], u[g + 1], u[g + 2]
    if I[at.N_ELEMENTS] > 0:
        place_frames(I, F, q, v, W)
        out[2] = element_energy(I, F, u, W)
    for i in range(I[at.N_BODIES]):
        b, f, w = at.rows(i)
        n, ev, eq = index(I[b + at.NM]), index(I[b + at.EV]), index(I[b + at.EQ])
        jq, jv = index(I[b + at.JQ]), index(I[b + at.JV])
        V = six(W, w + at.VEL)
        H = inertia_apply(W, w + at.INE, V)
        out[0] += 0.5 * dot(H, V)
        if n > 0:
            x = index(I[b + at.FLEX])
            modal = sum_columns(W, x + at.PRF * n, n, v, ev)
            out[0] += dot(modal, V)
            H = plus(H, modal)
            stiffness, row = at.modal_matrices(I, b)[3], x + at.PFF * n
            for k in range(n):
                for l in range(k):
                    out[0] += v[ev + k] * W[row + l] * v[ev + l]
                out[0] += 0.5 * v[ev + k] * W[row + k] * v[ev + k]
                row += k + 1
                for l in range(n):
                    out[2] += 0.5 * q[eq + k] * F[stiffness + n * k + l] * q[eq + l]
        for k in range(index(I[b + at.NV])):
            out[0] += 0.5 * F[f + at.ARMATURE + k] * v[jv + k] * v[jv + k]
            if F[f + at.STIFFNESS + k] != 0.0 and I[b + at.PASSIVE] != at.ON_GROUP:
                e = q[jq + k] - F[f + at.REST + k]
                out[2] += 0.5 * F[f + at.STIFFNESS + k] * e * e
        if I[b + at.PASSIVE] == at.ON_GROUP:
            out[2] += spring_energy(I, F, b, f, q)
        # first moment, from H = ĉ, seen from the world
        P, m = w + at.INE, W[w + at.INE + 15]
        c0, c1, c2 = rotate(world, 12 * i, W[P + 13], W[P + 8], W[P + 9])
        c0, c1, c2 = c0 + m * world[12 * i + 9], c1 + m * world[12 * i + 10], c2 + m * world[12 * i + 11]
        out[1] -= g0 * c0 + g1 * c1 + g2 * c2
        add(out, 3, wrench_inward(world, 12 * i, H))
        out[9] += m
        out[10] += c0
        out[11] += c1
        out[12] += c2
    if I[at.N_JOINT_ELEMENTS] > 0:
        out[2] += joint_element_energy(I, F, q, v, u)
    if out[9].real > 0.0:
        for k in range(3):
            out[10 + k] /= out[9]
