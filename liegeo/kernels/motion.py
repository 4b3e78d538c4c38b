"""A tree as a mechanical system in the sense of integrate/problems.py: its `Dynamics`, driven from inside.

These kernels take the drive (S, D) of layout.py in the place of a model's I and F, which S leads to: constants, tables
of piecewise polynomials, programs of the time, and the address of a function that may change u once it knows t, q and
v.  The first-order
states x of elements are speeds to a system (problems.py (2)): behind q stand coordinates on which nothing depends,
w = (v, x) are the speeds, and accelerations are (v̇, ẋ).  W has behind the model's own scratch the parts below.

The slope of problems.py (1) follows from inverse dynamics, M a + b = 0 for the true motion: with d/dt (M v) = M a + Ṁ v

    s = Ṁ v − adT(v) M v − b(t, q, v),      Ṁ v = Im M(q ⊕ iεv) v / ε,                                          (1)

the derivative by complex step, exact to round-off, on the tangent q + iε q̇, which is all that ε² leaves.

Power: that of generalised forces, actuators and loads, and what joints, modes and elements dissipate, is known from the
speeds (elements.py).  What holds prescribed motions and locked speeds does work too: from M a + b = τ + Jᵀλ, b with the
passive forces and without inputs, all that drives the tree has the power

    P_in = v·(M a + b):      constraints that do not move do no work.                                             (2)
"""

from __future__ import annotations

import functools

import numpy as np

from liegeo._jit import call_address, index, kernel
from liegeo._memory import floats_at, ints_at
from liegeo.kernels import articulated, dry_friction, elements, inverse, loops, observe
from liegeo.kernels import layout as at
from liegeo.kernels.contact import contact_rates, contact_switches, has_contacts
from liegeo.kernels.elements import element_powers, joint_powers, place_frames
from liegeo.kernels.inertia import inertias
from liegeo.kernels.joint_elements import clear_inputs, joint_element_powers, joint_element_switches, state_rates
from liegeo.kernels.kinematics import poses, velocities, world_poses
from liegeo.kernels.programs import run_programs
from liegeo.lie.quaternion import matrix_entries
from liegeo.status import INPUT_FAILED

# The step of a complex-step derivative: so small that its square vanishes beside anything.
_STEP = 1e-40


@functools.lru_cache(maxsize=256)
def work_size(n_work: int, n_u: int, n_v: int, n_x: int, n_q: int, n_bodies: int) -> int:
    """Return how much scratch these kernels use: the model's own, and the parts in the order of `_parts`."""
    return n_work + at.MOTION_SCRATCH.size(work=n_work, nu=n_u, nv=n_v, nx=n_x, nq=n_q, bodies=n_bodies)


@kernel
def _parts(I):
    """Return where stand in W, behind u: two vectors (nv), world poses, 13 numbers, registers, and what is complex."""
    a = index(I[at.N_WORK]) + index(I[at.N_U])
    b = a + index(I[at.N_V])
    world = b + index(I[at.N_V])
    numbers = world + 12 * (index(I[at.N_BODIES]) + 1)
    registers = numbers + 13
    end = registers + 3 * at.N_REGISTERS
    return a, b, world, numbers, registers, end + end % 2


@kernel
def model_of(S):
    """Return I and F of the model that (S, D) drives."""
    return ints_at(S[at.S_I], S[at.S_NI]), floats_at(S[at.S_F], S[at.S_NF])


@kernel
def _set_constants(I, D, w, W):
    """u at its place in W, as far as it is constant, with the states."""
    o, x, nv = index(I[at.N_WORK]), at.first_state(I), index(I[at.N_V])
    for k in range(I[at.N_U]):
        W[o + k] = D[at.D_U + k]
    for k in range(I[at.N_X]):
        W[o + x + k] = w[nv + k]


@kernel
def drive(S, D, t, q, w, W):
    """u at its place in W; returns 0, or INPUT_FAILED."""
    I, _ = model_of(S)
    _set_constants(I, D, w, W)
    o = index(I[at.N_WORK])
    # between two jumps of the inputs, whatever the round-off of t
    t = min(max(t, D[at.D_FIRST]), D[at.D_LAST])
    for i in range(S[at.S_TABLES]):
        row = at.S_ROWS + at.TABLE_SIZE * i
        W[o + index(S[row + at.TABLE_U])] = _look_up(S, D, row, t)
    if S[at.S_PROGRAMS] > 0 and run_programs(S, D, t, W, o, _parts(I)[4]) != 0:
        if S[at.S_TELL] != 0:
            call_address(S[at.S_TELL], t, q, w, W[o : o + I[at.N_U]])
        return INPUT_FAILED
    if S[at.S_CALL] != 0 and call_address(S[at.S_CALL], t, q, w, W[o : o + I[at.N_U]]) != 0:
        return INPUT_FAILED
    return 0


@kernel(forceinline=False)
def _look_up(S, D, row, t):
    """A piecewise polynomial at t, held beyond its ends: places (n + 1), then coefficients a piece, highest first."""
    row = index(row)
    x, n, m = index(S[row + at.TABLE_D]), S[row + at.TABLE_PIECES], S[row + at.TABLE_ORDER]
    t = min(max(t, D[x]), D[x + n])
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if t >= D[x + middle]:
            low = middle
        else:
            high = middle
    c, s, value = x + n + 1 + m * low, t - D[x + low], 0.0
    for k in range(m):
        value = value * s + D[c + k]
    return value


@kernel(nogil=True)
def drive_samples(S, D, T, Y, W, out):
    """Generalised forces and inputs at times T and states Y, a row each; returns 0, or INPUT_FAILED."""
    I, _ = model_of(S)
    o, nq = index(I[at.N_WORK]), index(I[at.N_Q])
    for k in range(T.shape[0]):
        status = drive(S, D, T[k], Y[k, :nq], Y[k, nq + index(I[at.N_X]) :], W)
        if status != 0:
            return status
        for d in range(out.shape[1]):
            out[k, d] = W[o + d]
    return 0


def _acceleration(forward_dynamics, hold, name):
    """(S, D, t, q, w, W, out): (v̇, ẋ); returns as articulated.forward_dynamics, or INPUT_FAILED."""

    @kernel(forceinline=False, name=name)
    def acceleration(S, D, t, q, w, W, out):
        status = drive(S, D, t, q, w, W)
        if status != 0:
            return status
        I, F = model_of(S)
        u = W[index(I[at.N_WORK]) :]
        if I[at.N_X] > 0:
            state_rates(I, F, q, w, u, out[index(I[at.N_V]) :])
        if I[at.N_HELD] > 0:
            status = hold(I, F, q, w, u, W)
            if status != 0:
                return status
        status = forward_dynamics(I, F, q, w, u, W, out)
        if I[at.N_STICKING] > 0:
            contact_rates(I, F, u, W, out[index(I[at.N_V]) :])
        return status

    return acceleration


# Trees without loops need not wait until those are compiled.
acceleration = _acceleration(articulated.forward_dynamics, dry_friction.hold, "motion.acceleration")
constrained_acceleration = _acceleration(
    loops.forward_dynamics, dry_friction.hold_loops, "motion.constrained_acceleration"
)


@kernel(forceinline=False)
def closing(S, D, t, q, w, W, dq, dv):
    """What q and v lack to obey the constraints; returns as `acceleration`."""
    status = drive(S, D, t, q, w, W)
    if status != 0:
        return status
    I, F = model_of(S)
    for k in range(I[at.N_X]):
        dq[index(I[at.N_V]) + k] = dv[index(I[at.N_V]) + k] = 0.0
    return loops.closing(I, F, q, w, W[index(I[at.N_WORK]) :], 0.0, W, dq, dv)


def _residual(inverse_dynamics, name):
    """(S, D, t, q, w, a, W, out): inverse dynamics less what drives the tree, and ẋ less what it should be.

    It is zero at locked speeds.
    """

    @kernel(forceinline=False, name=name)
    def residual(S, D, t, q, w, a, W, out):
        status = drive(S, D, t, q, w, W)
        if status != 0:
            return status
        I, F = model_of(S)
        o, nv = index(I[at.N_WORK]), index(I[at.N_V])
        # Inverse dynamics takes accelerations where forward dynamics takes forces, the inputs behind them.
        copy = _parts(I)[0]
        u, forces = W[o : o + nv], W[copy : copy + nv]
        for k in range(nv):
            forces[k] = u[k]
            u[k] = a[k]
        inverse_dynamics(I, F, q, w, W[o:], W, out)
        if I[at.N_HELD] > 0:
            dry_friction.add_loaded(I, F, w, W, out)
        for k in range(nv):
            out[k] -= forces[k]
            u[k] = forces[k]
        clear_locked(I, out)
        if I[at.N_X] > 0:
            state_rates(I, F, q, w, W[o:], out[nv:])
            if I[at.N_STICKING] > 0:
                contact_rates(I, F, W[o:], W, out[nv:])
            for k in range(nv, nv + I[at.N_X]):
                out[k] = a[k] - out[k]
        return 0

    return residual


@kernel
def clear_locked(I, x):
    """Zero where a speed is locked."""
    for i in range(I[at.N_BODIES]):
        b, _, _ = at.rows(i)
        if I[b + at.LOCKED] != 0:
            for k in range(index(I[b + at.NV])):
                if I[b + at.LOCKED] >> k & 1:
                    x[index(I[b + at.JV]) + k] = 0.0


residual = _residual(inverse.inverse_dynamics, "motion.residual")
constrained_residual = _residual(loops.inverse_dynamics, "motion.constrained_residual")


def _along(inverse_dynamics, closed, name):
    """(S, D, t, q, w, a, dq, dw, da, W, out): derivative of the residual along (dq, dw, da), by complex step.

    It covers every force that the residual knows, at the values of the inputs at (t, q, w); how a function of the
    user's changes its inputs with the state is not part of it.  `closed`: the multipliers are those at LAMBDA of W.
    """

    @kernel(forceinline=False, name=name)
    def along(S, D, t, q, w, a, dq, dw, da, W, out):
        status = drive(S, D, t, q, w, W)
        if status != 0:
            return status
        I, F = model_of(S)
        nq, nv, n_u, n_work = index(I[at.N_Q]), index(I[at.N_V]), index(I[at.N_U]), index(I[at.N_WORK])
        nx, x = index(I[at.N_X]), at.first_state(I)
        Z = W[_parts(I)[5] :].view(np.complex128)
        i = n_work + nq
        j = i + nv
        k = j + n_u
        place, speeds, u, rate = Z[n_work:i], Z[i:j], Z[j:k], Z[k : k + nv + nx]
        configuration_rate(I, q, dq, place)
        for n in range(nq):
            place[n] = q[n] + 1j * _STEP * place[n].real
        for n in range(n_u):
            u[n] = W[n_work + n]
        for n in range(nx):
            u[x + n] = w[nv + n] + 1j * _STEP * dw[nv + n]
        for n in range(nv):
            speeds[n] = w[n] + 1j * _STEP * dw[n]
            u[n] = a[n] + 1j * _STEP * da[n]
        if closed:
            o, m = index(I[at.ROWS_W]), I[at.N_ROWS]
            for n in range(m):
                Z[o + at.LAMBDA * m + n] = W[o + at.LAMBDA * m + n]
        inverse_dynamics(I, F, place, speeds, u, Z, rate)
        if I[at.N_HELD] > 0:
            dry_friction.add_loaded(I, F, speeds, Z, rate)
        for n in range(nv):
            out[n] = rate[n].imag / _STEP
        clear_locked(I, out)
        if nx > 0:
            state_rates(I, F, place, speeds, u, rate[nv:])
            if I[at.N_STICKING] > 0:
                contact_rates(I, F, u, Z, rate[nv:])
            for n in range(nv, nv + nx):
                out[n] = da[n] - rate[n].imag / _STEP
        return 0

    return along


along = _along(inverse.inverse_dynamics, False, "motion.along")
constrained_along = _along(loops.inverse_dynamics, True, "motion.constrained_along")


@kernel(forceinline=False)
def resistance(S, D, alpha, beta, x, out):
    """(αD + βK) x, D and K as articulated.py has them; locked speeds do not move, and states have neither."""
    I, F = model_of(S)
    for i in range(I[at.N_BODIES]):
        b, f, _ = at.rows(i)
        jv, ev, n = index(I[b + at.JV]), index(I[b + at.EV]), index(I[b + at.NM])
        for k in range(index(I[b + at.NV])):
            out[jv + k] = (alpha * F[f + at.DAMPING + k] + beta * F[f + at.STIFFNESS + k]) * x[jv + k]
        if n == 0:
            continue
        _, _, _, stiffness, damping = at.modal_matrices(I, b)
        for k in range(n):
            out[ev + k] = 0.0
            if I[b + at.DIAGONAL] == 1:
                d = (n + 1) * k
                out[ev + k] = (alpha * F[damping + d] + beta * F[stiffness + d]) * x[ev + k]
            else:
                for l in range(n):
                    c = alpha * F[damping + n * k + l] + beta * F[stiffness + n * k + l]
                    out[ev + k] += c * x[ev + l]
    clear_locked(I, out)
    for k in range(out.shape[0] - index(I[at.N_V])):
        out[index(I[at.N_V]) + k] = 0.0
    return 0


@kernel
def _copy_states(I, x, out):
    """The states' share of a product with M, which is theirs alone and the identity."""
    for k in range(out.shape[0] - index(I[at.N_V])):
        out[index(I[at.N_V]) + k] = x[index(I[at.N_V]) + k]


@kernel(forceinline=False)
def momentum(S, D, q, w, W, out):
    """M(q) v; states stay as they are."""
    I, F = model_of(S)
    inverse.momentum(I, F, q, w, W, out)
    _copy_states(I, w, out)
    return 0


@kernel(forceinline=False)
def factorise(S, D, q, alpha, beta, W):
    """articulated.factorise."""
    I, F = model_of(S)
    return articulated.factorise(I, F, q, alpha, beta, W)


@kernel(forceinline=False)
def factorise_next(S, D, q, alpha, beta, local, W):
    """articulated.factorise_next."""
    I, F = model_of(S)
    return articulated.factorise_next(I, F, q, alpha, beta, local, W)


@kernel(forceinline=False)
def switches(S, D, q, w, W):
    """Return a number that changes where a force has a kink."""
    I, F = model_of(S)
    seen = joint_element_switches(I, F, q, w, W[index(I[at.N_WORK]) :])
    if I[at.N_HELD] > 0:
        seen = 1_000_033 * seen + dry_friction.sides(I, F, w)
    if has_contacts(I):
        poses(I, F, q, W)
        velocities(I, F, q, w, W)
        place_frames(I, F, q, w, W)
        # contacts count apart from stops, by a factor that no number of stops has
        seen = 1_000_003 * seen + contact_switches(I, F, W[index(I[at.N_WORK]) :], W)
    return seen


@kernel(forceinline=False)
def grips(S, D, W, behind, out):
    """dry_friction.grips; states have none."""
    I, F = model_of(S)
    return dry_friction.grips(I, F, W, behind != 0.0, out)


@kernel(forceinline=False)
def local_tangents(S, D, q, w, alpha, beta, secant, out):
    """elements.local_tangents."""
    I, F = model_of(S)
    for k in range(I[at.N_X]):
        out[index(I[at.N_V]) + k] = 0.0
    return elements.local_tangents(I, F, q, w, alpha, beta, secant, out)


@kernel(forceinline=False)
def substitute(S, D, r, W, out):
    """articulated.substitute; states stay as they are."""
    I, F = model_of(S)
    _copy_states(I, r, out)
    return articulated.substitute(I, F, r, W, out)


@kernel
def _set_switches(I, D, W):
    """Write the switches of constraints, which are constant, to their places in u."""
    o = index(I[at.N_WORK])
    for i in range(I[at.N_CONSTRAINTS]):
        c = index(I[at.CONSTRAINTS]) + i * at.CONSTRAINT_SIZE
        kind, u = I[c + at.C_KIND], index(I[c + at.C_U])
        if kind == at.WELD or kind == at.HOLD:
            for k in range(8 if kind == at.WELD else 1):
                W[o + u + k] = D[at.D_U + u + k]


@kernel(forceinline=False)
def constrained_factorise(S, D, q, alpha, beta, W):
    """loops.factorise."""
    I, F = model_of(S)
    _set_switches(I, D, W)
    return loops.factorise(I, F, q, alpha, beta, W)


@kernel(forceinline=False)
def constrained_factorise_next(S, D, q, alpha, beta, local, W):
    """loops.factorise_next."""
    I, F = model_of(S)
    _set_switches(I, D, W)
    return loops.factorise_next(I, F, q, alpha, beta, local, W)


@kernel(forceinline=False)
def correct(S, D, r, a, b, c, adding, W, B, out):
    """loops.correct; states stay as they are."""
    I, F = model_of(S)
    _copy_states(I, r, out)
    return loops.correct(I, F, r, a, b, c, adding, W, B, out)


@kernel(forceinline=False)
def release(S, W):
    """loops.release."""
    I, _ = model_of(S)
    return loops.release(I, W)


@kernel(forceinline=False)
def displacement(S, D, q, e, W, out):
    """Write what a small change e of the coordinates moves bodies by: out[0] in metres, out[1] in radians.

    Of each body it is the root mean square displacement of its mass, and its rotation; of all bodies the largest.
    """
    I, F = model_of(S)
    inverse.displacement(I, F, q, e, W, out)
    return 0


@kernel(forceinline=False)
def slope(S, D, t, q, v, W, out):
    """s of (1), of a tree without states."""
    I, F = model_of(S)
    nq, nv, n_work = q.shape[0], I[at.N_V], index(I[at.N_WORK])
    _, b, _, _, _, start = _parts(I)
    Z = W[start:].view(np.complex128)
    place, speeds, rate = Z[n_work : n_work + nq], Z[n_work + nq : n_work + nq + nv], Z[n_work + nq + nv :]
    configuration_rate(I, q, v, place)
    for k in range(nq):
        place[k] = q[k] + 1j * _STEP * place[k].real
    for k in range(nv):
        speeds[k] = v[k]
        W[b + k] = 0.0
    inverse.momentum(I, F, place, speeds, Z, rate)
    status = residual(S, D, t, q, v, W[b : b + nv], W, out)
    for k in range(nv):
        out[k] = rate[k].imag / _STEP - out[k]
        W[b + k] = rate[k].real
    _subtract_coadjoint(I, v, W, b, out)
    clear_locked(I, out)
    return status


@kernel(forceinline=False)
def configuration_rate(I, q, v, out):
    """q̇ of the speeds v, as numbers."""
    for i in range(I[at.N_BODIES]):
        b, _, _ = at.rows(i)
        kind, jq, jv = I[b + at.KIND], index(I[b + at.JQ]), index(I[b + at.JV])
        if kind == at.SPHERICAL or kind == at.FREE:
            w, x, y, z = q[jq], q[jq + 1], q[jq + 2], q[jq + 3]
            a, c, d = 0.5 * v[jv], 0.5 * v[jv + 1], 0.5 * v[jv + 2]
            out[jq] = -x * a - y * c - z * d
            out[jq + 1] = w * a + y * d - z * c
            out[jq + 2] = w * c + z * a - x * d
            out[jq + 3] = w * d + x * c - y * a
            if kind == at.FREE:
                R = matrix_entries(w, x, y, z)
                for r in range(3):
                    out[jq + 4 + r] = R[3 * r] * v[jv + 3] + R[3 * r + 1] * v[jv + 4] + R[3 * r + 2] * v[jv + 5]
        elif kind == at.PLANAR:
            c, s = np.cos(q[jq]), np.sin(q[jq])
            out[jq] = v[jv]
            out[jq + 1] = c * v[jv + 1] - s * v[jv + 2]
            out[jq + 2] = s * v[jv + 1] + c * v[jv + 2]
        else:
            for k in range(index(I[b + at.NV])):
                out[jq + k] = v[jv + k]
        for k in range(index(I[b + at.NM])):
            out[index(I[b + at.EQ]) + k] = v[index(I[b + at.EV]) + k]


@kernel(forceinline=False)
def _subtract_coadjoint(I, v, P, p, out):
    """out −= adT(v) p for the groups of the joints, with p at P[p]."""
    for i in range(I[at.N_BODIES]):
        b, _, _ = at.rows(i)
        kind, j = I[b + at.KIND], index(I[b + at.JV])
        if kind == at.SPHERICAL or kind == at.FREE:
            # adT(w, u) (n, f) = (n×w + f×u, f×w)
            _subtract_cross(P, p + j, v, j, out, j)
            if kind == at.FREE:
                _subtract_cross(P, p + j + 3, v, j + 3, out, j)
                _subtract_cross(P, p + j + 3, v, j, out, j + 3)
        elif kind == at.PLANAR:
            # ad(θ, x)(θ', x') = (0, θ Ex' − θ' Ex), E a quarter turn
            n = P[p + j + 2] * v[j + 1] - P[p + j + 1] * v[j + 2]
            out[j] += n
            out[j + 1] -= P[p + j + 2] * v[j]
            out[j + 2] += P[p + j + 1] * v[j]


@kernel
def _subtract_cross(a, i, b, j, out, k):
    """out −= a × b."""
    out[k] -= a[i + 1] * b[j + 2] - a[i + 2] * b[j + 1]
    out[k + 1] -= a[i + 2] * b[j] - a[i] * b[j + 2]
    out[k + 2] -= a[i] * b[j + 1] - a[i + 1] * b[j]


@kernel(forceinline=False)
def energy(S, D, t, q, w, W):
    """Kinetic, gravitational and elastic energy together."""
    I, F = model_of(S)
    _, _, world, numbers, _, _ = _parts(I)
    _set_constants(I, D, w, W)
    poses(I, F, q, W)
    velocities(I, F, q, w, W)
    inertias(I, F, q, W)
    world_poses(I, W, W, world)
    observe.energies(I, F, q, w, W[index(I[at.N_WORK]) :], W, W[world:], W[numbers:])
    return W[numbers] + W[numbers + 1] + W[numbers + 2]


def _powers(forward_dynamics, hold, name):
    """(S, D, T, Y, held, W, out): power of what drives the tree and dissipated power, at times T and states Y.

    `held`: there are prescribed motions or locked speeds, so that (2) is needed.  Returns as `acceleration`.
    """

    @kernel(forceinline=False, name=name, nogil=True)
    def powers(S, D, T, Y, held, W, out):
        I, F = model_of(S)
        o, nv = index(I[at.N_WORK]), index(I[at.N_V])
        nq = index(I[at.N_Q])
        a, b, _, _, _, _ = _parts(I)
        for k in range(T.shape[0]):
            q, w = Y[k, :nq], Y[k, nq + index(I[at.N_X]) :]
            status = drive(S, D, T[k], q, w, W)
            if status != 0:
                return status
            out[k, 0], out[k, 1] = joint_powers(I, F, w, W[o:])
            gained = lost = 0.0
            if I[at.N_HELD] > 0:
                status = hold(I, F, q, w, W[o:], W)
                if status != 0:
                    return status
            if I[at.N_JOINT_ELEMENTS] > 0:
                gained, lost = joint_element_powers(I, F, q, w, W[o:])
            if held:
                status = forward_dynamics(I, F, q, w, W[o:], W, W[a : a + nv])
                if status != 0:
                    return status
                for d in range(nv):
                    W[o + d] = W[a + d]
                clear_inputs(I, W[o:])
                inverse.inverse_dynamics(I, F, q, w, W[o:], W, W[b : b + nv])
                out[k, 0] = 0.0
                for d in range(nv):
                    out[k, 0] += w[d] * W[b + d]
            elif I[at.N_ELEMENTS] > 0:
                poses(I, F, q, W)
                velocities(I, F, q, w, W)
                place_frames(I, F, q, w, W)
            if I[at.N_ELEMENTS] > 0:
                # of loads that are held only the constant part is left, which (2) counts as passive
                work, dissipated = element_powers(I, F, W[o:], W)
                out[k, 0] += work
                out[k, 1] += dissipated
            out[k, 0] += gained
            out[k, 1] += lost
        return 0

    return powers


powers = _powers(articulated.forward_dynamics, dry_friction.hold, "motion.powers")
constrained_powers = _powers(loops.forward_dynamics, dry_friction.hold_loops, "motion.constrained_powers")
