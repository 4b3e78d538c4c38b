"""Forward dynamics by articulated bodies, O(N): [JR90, (7.10)–(7.12)] on trees, modal and joint blocks apart.

Tip to base at each body, with P = [P_ff P_fr; P_rf P_rr] its articulated inertia (own, plus what its children gave) and
z its bias; H_f = [I, −Π_dᵀ]:

    D_f = H_f P H_fᵀ = L D Lᵀ,   μ = P_rf − P_rr Π_d,   g = μ D_f⁻¹,   P_R = P_rr − g μᵀ                (1)
    ε_f = T_f − H_f z,   z ← z_r + g ε_f                                                               (2)
    for each speed of the joint, with its column s of S:                                               (3)
        u = P_R s,  d = s·u + armature,  ε = τ − s·z,   P_R ← P_R − u uᵀ/d,   z ← z + u ε/d
    z ← z + P_R c                                                                                      (4)

then P_R and z go through the joint to the parent [JR90, (7.9)]: Γ = AdT(X_BN) P_R Ad(X_BN), and if the node deforms
P ← P + 𝒜 Γ 𝒜ᵀ, 𝒜 = [Π_Nᵀ; AdT(X_NP)].  Base to tip, with A⁺ the parent's share of A:

    A ← A⁺ + c;   v̇ = (ε − u·A)/d,  A ← A + s v̇,  last speed first;   η̈ = D_f⁻¹ε_f − gᵀA;   A ← A − Π_d η̈.    (5)

[JR90] adds P a to z before (2), where (4) adds P_R c after (3) and (5) has c in A: the same numbers, but what depends
on inertia alone, `articulate`, is apart from what depends on forces, `gather` and `scatter`.  So one factorisation
serves many right-hand sides, as [JR90, (6.6)]: `gather` applies D⁻¹ (I − ℋΨK), `scatter` its transpose (I − ℋΨK)ᵀ.

A locked speed is left out of (3) and has v̇ = 0 in (5).  The same recursion solves (M + αD + βK) x = r in O(N): D and K
are block-diagonal in modes and speeds, so αD + βK joins D_f and d, while biases and gravity stay away.  (Of springs on
a group, (4) of elements.py, K is the diagonal: the derivative of their force at rest, close to it elsewhere.)  Tangents
of forces that depend on one speed alone, such as friction (`elements.local_tangents`), join d likewise.

In (3) the speeds of a joint are eliminated one after another, as if each had a massless body: the same numbers as with
the block D_r, without a factorisation.  Gravity is an acceleration of the base.  Where reduced.py is chosen, (1), (2)
and the modes of (5) are done there.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.elements import apply_elements, load
from liegeo.kernels.inertia import body_bias, body_inertia
from liegeo.kernels.kinematics import body_pose, body_velocity, through_node
from liegeo.kernels.reduced import gather_reduced, receive_force, receive_inertia, reduce, scatter_reduced
from liegeo.kernels.spatial import (
    add,
    add_inertia_inward,
    dot,
    inertia_apply,
    inertia_column,
    plus,
    put,
    six,
    subtract_square,
    sum_columns,
    times,
    twist_outward,
    wrench_inward,
)
from liegeo.status import NOT_FINITE

# A pivot smaller than this share of what it came from is taken for zero.
_ROUND_OFF = 1e-14


@kernel(forceinline=False, apart=True)
def forward_dynamics(I, F, q, v, u, W, out):
    """out = v̇; returns 0, or where the matrix is singular: 2i + 1 at the joint, 2i + 2 at the modes of body i.

    NOT_FINITE says that the matrix is not a matrix of finite numbers.
    """
    # Body by body, not pass by pass: what is read of a body is still in the cache for what follows.  Force elements
    # need the poses of all nodes that carry a joint.
    elements = I[at.N_ELEMENTS] > 0
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, not elements, W)
        body_velocity(I, F, i, q, v, W)
        body_inertia(I, F, i, q, True, W)
        body_bias(I, F, i, q, v, W)
    if elements:
        apply_elements(I, F, q, v, u, W)
    # `out` holds the load until (5) replaces it by the accelerations.
    load(I, F, q, v, u, out)
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        status = articulate(I, F, i, 0.0, 0.0, False, W, True, W)
        if status != 0:
            return status
        gather(I, F, i, out, True, True, W)
    scatter(I, F, u[at.gravity(I) :], True, W, out)
    return 0


@kernel(forceinline=False)
def factorise(I, F, q, alpha, beta, W):
    """Prepare W for `substitute`; returns as forward_dynamics."""
    place_inertias(I, F, q, W)
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        status = articulate(I, F, i, alpha, beta, False, W, False, W)
        if status != 0:
            return status
    return 0


@kernel(forceinline=False)
def factorise_next(I, F, q, alpha, beta, local, W):
    """Do the same for M + αD + βK + diag(local) where inverse dynamics with this q has left poses and inertias in W."""
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        status = articulate(I, F, i, alpha, beta, True, local, False, W)
        if status != 0:
            return status
    return 0


@kernel(forceinline=False)
def place_inertias(I, F, q, W):
    """Find poses and inertias of all bodies, as inverse dynamics leaves them."""
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, False, W)
        body_inertia(I, F, i, q, False, W)


@kernel(forceinline=False)
def substitute(I, F, r, W, out):
    """out = (M + αD + βK)⁻¹ r with what `factorise` left in W; any number of times."""
    clear(I, W)
    for k in range(I[at.N_V]):
        out[k] = r[k]
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        gather(I, F, i, out, False, False, W)
    scatter(I, F, at.NO_GRAVITY, False, W, out)
    return 0


@kernel(forceinline=False)
def clear(I, W):
    """No biases: neither accelerations nor forces."""
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        n = index(I[b + at.NM])
        for k in range(6):
            W[w + at.BIAS + k] = W[w + at.FOR + k] = 0.0
        for k in range(n):
            W[index(I[b + at.FLEX]) + at.ZF * n + k] = 0.0


@kernel(forceinline=False)
def solve(I, F, q, r, alpha, beta, W, out):
    """out = (M + αD + βK)⁻¹ r, D and K the damping and stiffness of modes and joints; returns as forward_dynamics."""
    status = factorise(I, F, q, alpha, beta, W)
    if status == 0:
        substitute(I, F, r, W, out)
    return status


@kernel
def articulate(I, F, i, alpha, beta, with_local, local, reduced, W):
    """(1), and (3) but for z, for body i; Γ to the parent.  Returns as forward_dynamics.

    `with_local`: pivots of joint speeds get the numbers of `local` too.
    """
    _, _, w = at.rows(i)
    turning, moving = sizes(W, w)
    status = articulate_modes(I, F, i, alpha, beta, reduced, W)
    if status != 0:
        return status
    return articulate_joint(I, F, i, alpha, beta, with_local, local, reduced, turning, moving, W)


@kernel
def sizes(W, w):
    """Return the traces of J and M of the body with its row at w, and of those outboard: the largest.

    Pivots are compared with the inertia that they came from: what cancels between speeds of a joint, or of this one and
    those outboard, leaves round-off, not zero.
    """
    P, size = w + at.INE, w + at.SIZE
    turning = max((W[P] + W[P + 1] + W[P + 2]).real, W[size].real)
    moving = max((W[P + 15] + W[P + 16] + W[P + 17]).real, W[size + 1].real)
    return turning, moving


@kernel
def articulate_modes(I, F, i, alpha, beta, reduced, W):
    """(1) for body i; returns as forward_dynamics."""
    b, _, w = at.rows(i)
    if I[b + at.NM] > 0:
        if reduced and I[b + at.REDUCED] >= 0:
            reduce(I, F, b, w, W)
        elif not _factorise_modes(I, F, b, w, alpha, beta, W):
            return (
                2 * i + 2
                if _finite(W, index(I[b + at.FLEX]) + at.PFF * index(I[b + at.NM]), I[b + at.NM])
                else NOT_FINITE
            )
    return 0


@kernel
def articulate_joint(I, F, i, alpha, beta, with_local, local, reduced, turning, moving, W):
    """(3) but for z, for body i, whose `sizes` are given; Γ to the parent.  Returns as forward_dynamics."""
    b, f, w = at.rows(i)
    P = w + at.INE
    locked, axis = I[b + at.LOCKED], I[b + at.AXIS]
    for k in range(index(I[b + at.NV])):
        s = six(W, w + at.SUB + 6 * k)
        u = inertia_column(W, P, axis) if axis >= 0 else inertia_apply(W, P, s)
        if locked >> k & 1:
            put(W, w + at.PSU + 6 * k, times(0.0, u))
            W[w + at.FAC + k] = 0.0
            continue
        d = dot(s, u) + F[f + at.ARMATURE + k]
        if alpha != 0.0 or beta != 0.0:
            d += alpha * F[f + at.DAMPING + k] + beta * F[f + at.STIFFNESS + k]
        if with_local:
            d += local[index(I[b + at.JV]) + k]
        if not d.real > _ROUND_OFF * _scaled(s, turning, moving):
            return 2 * i + 1 if d.real - d.real == 0.0 else NOT_FINITE
        inverse = 1.0 / d
        put(W, w + at.PSU + 6 * k, u)
        W[w + at.FAC + k] = inverse
        subtract_square(W, P, u, inverse)
    parent = I[b + at.PARENT]
    if parent >= 0:
        pb, _, p = at.rows(parent)
        W[p + at.SIZE] = max(W[p + at.SIZE].real, turning)
        W[p + at.SIZE + 1] = max(W[p + at.SIZE + 1].real, moving)
        if I[b + at.PARENT_NODE] < 0:
            add_inertia_inward(W, w + at.R_NB, W, P, W, p + at.INE)
        elif reduced and I[pb + at.REDUCED] >= 0:
            receive_inertia(I, b, w, pb, W)
        else:
            give_inertia(I, b, w, pb, p, W)
    return 0


@kernel(forceinline=False)
def _finite(W, x, n):
    """Whether all numbers of a lower triangle of n rows at W[x] are finite."""
    off = 0.0
    for k in range(at.triangle(n)):
        off += (W[x + k] - W[x + k]).real
    return off == 0.0


@kernel
def _scaled(s, turning, moving):
    """How large s·P s is at most, with these traces of J and M."""
    a, b, c, x, y, z = s
    return (a * a + b * b + c * c).real * turning + (x * x + y * y + z * z).real * moving


@kernel
def gather(I, F, i, load, moving, reduced, W):
    """(2), (3) for z, and (4), for body i after `articulate`; z to the parent.  `moving`: c is not zero."""
    b, _, w = at.rows(i)
    z = six(W, w + at.FOR)
    if I[b + at.NM] > 0:
        if reduced and I[b + at.REDUCED] >= 0:
            z = gather_reduced(I, F, b, z, load, W)
        else:
            z = gather_modes(I, b, z, load, W)
    jv = index(I[b + at.JV])
    for k in range(index(I[b + at.NV])):
        # A locked speed has u = 0 and 1/d = 0.
        residual = load[jv + k] - dot(six(W, w + at.SUB + 6 * k), z)
        W[w + at.RES + k] = residual
        z = plus(z, times(residual * W[w + at.FAC + k], six(W, w + at.PSU + 6 * k)))
    parent = I[b + at.PARENT]
    if parent >= 0:
        if moving:
            z = plus(z, inertia_apply(W, w + at.INE, six(W, w + at.BIAS)))
        z = wrench_inward(W, w + at.R_NB, z)
        pb, _, p = at.rows(parent)
        if I[b + at.PARENT_NODE] < 0:
            add(W, p + at.FOR, z)
        elif reduced and I[pb + at.REDUCED] >= 0:
            receive_force(I, b, pb, z, W)
        else:
            give_force(I, b, p, z, W)


@kernel(forceinline=False)
def scatter(I, F, gravity, reduced, W, out):
    """(5) for every body: v̇ into `out`, A at ACC."""
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        A = plus(from_parent(I, F, b, w, out, gravity, W), six(W, w + at.BIAS))
        jv = index(I[b + at.JV])
        for k in range(index(I[b + at.NV]) - 1, -1, -1):
            rate = (W[w + at.RES + k] - dot(six(W, w + at.PSU + 6 * k), A)) * W[w + at.FAC + k]
            out[jv + k] = rate
            A = plus(A, times(rate, six(W, w + at.SUB + 6 * k)))
        n = index(I[b + at.NM])
        if n > 0:
            y, ev = index(I[b + at.FLEX]), index(I[b + at.EV])
            if reduced and I[b + at.REDUCED] >= 0:
                scatter_reduced(I, F, b, A, W, out)
            else:
                for k in range(n):
                    out[ev + k] = W[y + at.EPS * n + k] - dot(six(W, y + at.GAIN * n + 6 * k), A)
            if I[b + at.OFFSET] == at.DEFORMING:
                A = plus(A, times(-1.0, sum_columns(W, y + at.PID * n, n, out, ev)))
        put(W, w + at.ACC, A)


@kernel
def from_parent(I, F, b, w, rates, gravity, W):
    """The parent's share of A: Ad(X_BN) (Ad(X_NP) A_P + Π_N η̈_P), with η̈ in `rates`.

    The base accelerates against `gravity`, three numbers in the world.
    """
    parent = I[b + at.PARENT]
    if parent < 0:
        zero = 0.0 * W[w + at.R_NB]
        a0, a1, a2 = zero - gravity[0], zero - gravity[1], zero - gravity[2]
        return twist_outward(W, w + at.R_NB, (zero, zero, zero, a0, a1, a2))
    pb, _, p = at.rows(parent)
    A = six(W, p + at.ACC)
    if I[b + at.PARENT_NODE] >= 0:
        A = through_node(I, F, b, pb, A, rates, W)[0]
    return twist_outward(W, w + at.R_NB, A)


@kernel(forceinline=False)
def _factorise_modes(I, F, b, w, alpha, beta, W):
    """(1); D_f becomes L D Lᵀ in its place, and μ becomes g.  False if D_f is not positive."""
    b, w = index(b), index(w)
    n, y = index(I[b + at.NM]), index(I[b + at.FLEX])
    gain, x = y + at.GAIN * n, y + at.PFF * n
    modal_block(I, b, w, W)
    if alpha != 0.0 or beta != 0.0:
        _, _, _, stiffness, damping = at.modal_matrices(I, b)
        diagonal = I[b + at.DIAGONAL] == 1
        for k in range(n):
            row = triangle_row(W, x, k)
            for l in range(k if diagonal else 0, k + 1):
                row[l] += alpha * F[damping + n * k + l] + beta * F[stiffness + n * k + l]
    if not _factorise(W, x, n):
        return False
    # In the place of μ, column by column: first h = μ L⁻ᵀ, for which g μᵀ = h D⁻¹ hᵀ, then g = h D⁻¹ L⁻¹
    for k in range(n):
        row, h = triangle_row(W, x, k), six(W, gain + 6 * k)
        for l in range(k):
            h = plus(h, times(-row[l], six(W, gain + 6 * l)))
        put(W, gain + 6 * k, h)
        subtract_square(W, w + at.INE, h, row[k])
    for k in range(n):
        put(W, gain + 6 * k, times(W[x + index(at.triangle(k)) + k], six(W, gain + 6 * k)))
    for k in range(n - 1, 0, -1):
        row, g = triangle_row(W, x, k), six(W, gain + 6 * k)
        for l in range(k):
            add(W, gain + 6 * l, times(-row[l], g))
    return True


@kernel(forceinline=False)
def gather_modes(I, b, z, load, W):
    """(2): returns the new z and leaves D_f⁻¹ ε_f at EPS."""
    b = index(b)
    n, ev, y = index(I[b + at.NM]), index(I[b + at.EV]), index(I[b + at.FLEX])
    gain, eps, x = y + at.GAIN * n, y + at.EPS * n, y + at.PFF * n
    for k in range(n):
        W[eps + k] = load[ev + k] - W[y + at.ZF * n + k]
    if I[b + at.OFFSET] == at.DEFORMING:
        for k in range(n):
            W[eps + k] += dot(six(W, y + at.PID * n + 6 * k), z)
    z = plus(z, sum_columns(W, gain, n, W, eps))
    solve_modes(W, x, n, eps)
    return z


@kernel(inline="always")
def triangle_row(W, x, k):
    """Row k, up to its diagonal, of the lower triangle at W[x].  Of a slice the compiler knows where it ends."""
    row = x + index(at.triangle(k))
    return W[row : row + k + 1]


@kernel
def solve_modes(W, x, n, y):
    """The n numbers at W[y] become D_f⁻¹ times them, with the factors at W[x]."""
    z = W[y : y + n]
    for k in range(n):
        row = triangle_row(W, x, k)
        s = z[k]
        for l in range(k):
            s -= row[l] * z[l]
        z[k] = s
    for k in range(n):
        z[k] *= W[x + index(at.triangle(k)) + k]
    for k in range(n - 1, 0, -1):
        row, s = triangle_row(W, x, k), z[k]
        for l in range(k):
            z[l] -= row[l] * s


@kernel(forceinline=False)
def modal_block(I, b, w, W):
    """μ = P_rf − P_rr Π_d in the place of P_rf, and D_f = P_ff − P_fr Π_d − Π_dᵀ μ in that of P_ff."""
    b, w = index(b), index(w)
    n, y = index(I[b + at.NM]), index(I[b + at.FLEX])
    pid, mu, row = y + at.PID * n, y + at.MU * n, y + at.PFF * n
    if I[b + at.OFFSET] != at.DEFORMING:
        return
    for k in range(n):
        d, r = six(W, pid + 6 * k), six(W, mu + 6 * k)
        put(W, mu + 6 * k, plus(r, times(-1.0, inertia_apply(W, w + at.INE, d))))
        for l in range(k + 1):
            W[row + l] -= dot(d, six(W, mu + 6 * l)) + dot(r, six(W, pid + 6 * l))
        row += k + 1


@kernel
def _factorise(W, x, n):
    """L D Lᵀ of the matrix whose lower triangle is at W[x]: L below the diagonal, 1/D on it.  False if not positive."""
    for k in range(n):
        row = triangle_row(W, x, k)
        for l in range(1, k):
            other, s = triangle_row(W, x, l), row[l]
            for m in range(l):
                s -= row[m] * other[m]
            row[l] = s
        d = whole = row[k]
        for l in range(k):
            c = row[l]
            s = c * W[x + index(at.triangle(l)) + l]
            d -= s * c
            row[l] = s
        if not d.real > _ROUND_OFF * whole.real:
            return False
        row[k] = 1.0 / d
    return True


@kernel(forceinline=False)
def give_inertia(I, b, w, pb, p, W):
    """P ← P + 𝒜 Γ 𝒜ᵀ for a joint on a deforming node of the parent, whose rows are at pb and p."""
    b, w, pb, p = index(b), index(w), index(pb), index(p)
    k, n, y = index(I[b + at.CARRIER]), index(I[pb + at.NM]), index(I[pb + at.FLEX])
    pi, prf, row = k + at.CARRIER_PI, y + at.PRF * n, y + at.PFF * n
    # Γ stands in PSU of the parent's row, which nobody needs before the parent's own turn.
    gamma = p + at.PSU
    for a in range(21):
        W[gamma + a] = 0.0
    add_inertia_inward(W, w + at.R_NB, W, w + at.INE, W, gamma)
    add_inertia_inward(W, k, W, gamma, W, p + at.INE)
    for j in range(n):
        force = inertia_apply(W, gamma, six(W, pi + 6 * j))
        for l in range(j + 1):
            W[row + l] += dot(six(W, pi + 6 * l), force)
        row += j + 1
        add(W, prf + 6 * j, wrench_inward(W, k, force))


@kernel(forceinline=False)
def give_force(I, b, p, z, W):
    """z ← z + 𝒜 z_N for a joint on a deforming node of the parent, whose row is at p."""
    b, p = index(b), index(p)
    pb, _, _ = at.rows(I[b + at.PARENT])
    k, n = index(I[b + at.CARRIER]), index(I[pb + at.NM])
    zf = index(I[pb + at.FLEX]) + at.ZF * n
    for j in range(n):
        W[zf + j] += dot(six(W, k + at.CARRIER_PI + 6 * j), z)
    add(W, p + at.FOR, wrench_inward(W, k, z))
