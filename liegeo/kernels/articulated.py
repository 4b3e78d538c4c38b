"""Forward dynamics by articulated bodies, O(N): [JR90, (7.10)–(7.12)] on trees, modal and joint blocks apart.

Tip to base at each body, with P = [P_ff P_fr; P_rf P_rr] its articulated inertia (own, plus what its children gave) and
z its bias; H_f = [I, −Π_dᵀ]:

    z ← z + P (0, c)                                                                                   (1)
    D_f = H_f P H_fᵀ,   μ = P_rf − P_rr Π_d,   g = μ D_f⁻¹,   P_R = P_rr − g μᵀ                         (2)
    ε_f = T_f − H_f z,   z ← z_r + g ε_f                                                               (3)
    for each speed of the joint, with its column s of S:                                               (4)
        u = P_R s,  d = s·u + armature,  ε = τ − s·z,   P_R ← P_R − u uᵀ/d,   z ← z + u ε/d

then P_R and z go through the joint to the parent [JR90, (7.9)]: Γ = AdT(X_BN) P_R Ad(X_BN), and if the node deforms
P ← P + 𝒜 Γ 𝒜ᵀ, 𝒜 = [Π_Nᵀ; AdT(X_NP)].  Base to tip, with A⁺ the parent's share of A:

    v̇ = (ε − u·A⁺)/d,  A⁺ ← A⁺ + s v̇,  last speed first;   η̈ = D_f⁻¹ε_f − gᵀA⁺;   A = A⁺ − Π_d η̈ + c.  (5)

A locked speed is left out of (4) and has v̇ = 0 in (5).  The same recursion solves (M + αD + βK) x = r in O(N): D and K
are block-diagonal in modes and speeds, so αD + βK joins D_f and d, while biases and gravity stay away.

In (4) the speeds of a joint are eliminated one after another, as if each had a massless body: the same numbers as with
the block D_r, without a factorisation.  Gravity is an acceleration of the base.
"""

from __future__ import annotations

from liegeo._jit import kernel
from liegeo.kernels import layout as at
from liegeo.kernels.inertia import biases, inertias
from liegeo.kernels.kinematics import poses, velocities
from liegeo.kernels.spatial import (
    add,
    add_inertia_inward,
    dot,
    inertia_apply,
    plus,
    put,
    six,
    subtract_square,
    sum_columns,
    times,
    twist_outward,
    wrench_inward,
)


@kernel(forceinline=False)
def forward_dynamics(I, F, q, v, tau, W, out):
    """out = v̇; returns 0, or 1 + the index of the body whose D block is not positive."""
    poses(I, F, q, W)
    velocities(I, F, q, v, W)
    inertias(I, F, q, W)
    biases(I, F, q, v, W)
    # `out` holds the load until (5) replaces it by the accelerations.
    _load(I, F, q, v, tau, out)
    status = tip_to_base(I, F, out, 0.0, 0.0, W)
    if status != 0:
        return status
    base_to_tip(I, F, 1.0, W, out)
    return 0


@kernel(forceinline=False)
def solve(I, F, q, r, alpha, beta, W, out):
    """out = (M + αD + βK)⁻¹ r, D and K the damping and stiffness of modes and joints; returns as forward_dynamics."""
    poses(I, F, q, W)
    inertias(I, F, q, W)
    for i in range(I[at.N_BODIES]):
        b, w = I[at.BODY_I] + i * at.BODY_I_SIZE, I[at.WORK] + i * at.WORK_SIZE
        n = I[b + at.NM]
        for k in range(6):
            W[w + at.BIAS + k] = W[w + at.FOR + k] = 0.0
        for k in range(n):
            W[I[b + at.FLEX] + n * n + at.ZF * n + k] = 0.0
    for k in range(I[at.N_V]):
        out[k] = r[k]
    status = tip_to_base(I, F, out, alpha, beta, W)
    if status != 0:
        return status
    base_to_tip(I, F, 0.0, W, out)
    return 0


@kernel(forceinline=False)
def _load(I, F, q, v, tau, out):
    """out = tau less the forces of the joints' springs and dampers; those of the modes are in their bias."""
    for k in range(I[at.N_V]):
        out[k] = tau[k]
    for i in range(I[at.N_BODIES]):
        b, f = I[at.BODY_I] + i * at.BODY_I_SIZE, I[at.BODY_F] + i * at.BODY_F_SIZE
        jq, jv = I[b + at.JQ], I[b + at.JV]
        for k in range(I[b + at.NV]):
            out[jv + k] -= F[f + at.DAMPING + k] * v[jv + k]
            if F[f + at.STIFFNESS + k] != 0.0:
                out[jv + k] -= F[f + at.STIFFNESS + k] * (q[jq + k] - F[f + at.REST + k])


@kernel(forceinline=False)
def tip_to_base(I, F, load, alpha, beta, W):
    """(1)–(4) for every body."""
    for i in range(I[at.N_BODIES] - 1, -1, -1):
        b, f, w = I[at.BODY_I] + i * at.BODY_I_SIZE, I[at.BODY_F] + i * at.BODY_F_SIZE, I[at.WORK] + i * at.WORK_SIZE
        P = w + at.INE
        z = plus(six(W, w + at.FOR), inertia_apply(W, P, six(W, w + at.BIAS)))
        if I[b + at.NM] > 0:
            put(W, w + at.FOR, z)
            if not _eliminate_modes(I, F, b, w, load, alpha, beta, W):
                return i + 1
            z = six(W, w + at.FOR)
        jv, locked = I[b + at.JV], I[b + at.LOCKED]
        for k in range(I[b + at.NV]):
            s = six(W, w + at.SUB + 6 * k)
            u = inertia_apply(W, P, s)
            if locked >> k & 1:
                put(W, w + at.PSU + 6 * k, times(0.0, u))
                W[w + at.FAC + k], W[w + at.RES + k] = 0.0, 0.0
                continue
            d = dot(s, u) + F[f + at.ARMATURE + k] + alpha * F[f + at.DAMPING + k] + beta * F[f + at.STIFFNESS + k]
            if not d.real > 0.0:
                return i + 1
            inverse, residual = 1.0 / d, load[jv + k] - dot(s, z)
            put(W, w + at.PSU + 6 * k, u)
            W[w + at.FAC + k], W[w + at.RES + k] = inverse, residual
            subtract_square(W, P, u, inverse)
            z = plus(z, times(residual * inverse, u))
        parent = I[b + at.PARENT]
        if parent >= 0:
            z = wrench_inward(W, w + at.R_NB, z)
            p = I[at.WORK] + parent * at.WORK_SIZE
            if I[b + at.PARENT_NODE] >= 0:
                give_inertia(I, b, w, p, W)
                give_force(I, b, p, z, W)
            else:
                add_inertia_inward(W, w + at.R_NB, W, P, W, p + at.INE)
                add(W, p + at.FOR, z)
    return 0


@kernel(forceinline=False)
def _eliminate_modes(I, F, b, w, load, alpha, beta, W):
    """(2) and (3); the bias z_r is at FOR.  D_f becomes L D Lᵀ in its place.  False if it is not positive."""
    n, ev, x = I[b + at.NM], I[b + at.EV], I[b + at.FLEX]
    y = x + n * n
    prf, mu, gain, eps = y + at.PRF * n, y + at.MU * n, y + at.GAIN * n, y + at.EPS * n
    P, z, c = w + at.INE, six(W, w + at.FOR), six(W, w + at.BIAS)
    for k in range(n):
        W[eps + k] = load[ev + k] - W[y + at.ZF * n + k] - dot(six(W, prf + 6 * k), c)
    modal_block(I, b, w, W)
    if I[b + at.OFFSET] == at.DEFORMING:
        for k in range(n):
            W[eps + k] += dot(six(W, y + at.PID * n + 6 * k), z)
    if alpha != 0.0 or beta != 0.0:
        stiffness = I[b + at.MODAL] + at.K_N * n + at.K_NN * n * n
        for k in range(n * n):
            W[x + k] += alpha * F[stiffness + n * n + k] + beta * F[stiffness + k]
    if not _factorise(W, x, n):
        return False
    # g = μ D_f⁻¹, column by column: forward, then backward substitution
    for k in range(n):
        g = six(W, mu + 6 * k)
        for l in range(k):
            g = plus(g, times(-W[x + n * k + l], six(W, gain + 6 * l)))
        put(W, gain + 6 * k, g)
    for k in range(n - 1, -1, -1):
        g = times(W[x + n * k + k], six(W, gain + 6 * k))
        for l in range(k + 1, n):
            g = plus(g, times(-W[x + n * l + k], six(W, gain + 6 * l)))
        put(W, gain + 6 * k, g)
    for k in range(n):
        _subtract_product(W, P, gain + 6 * k, mu + 6 * k)
        z = plus(z, times(W[eps + k], six(W, gain + 6 * k)))
    put(W, w + at.FOR, z)
    # ε_f ← D_f⁻¹ ε_f
    for k in range(n):
        for l in range(k):
            W[eps + k] -= W[x + n * k + l] * W[eps + l]
    for k in range(n - 1, -1, -1):
        W[eps + k] *= W[x + n * k + k]
        for l in range(k + 1, n):
            W[eps + k] -= W[x + n * l + k] * W[eps + l]
    return True


@kernel(forceinline=False)
def modal_block(I, b, w, W):
    """μ = P_rf − P_rr Π_d, and D_f = P_ff − P_fr Π_d − Π_dᵀ μ in the place of P_ff, both triangles."""
    n, x = I[b + at.NM], I[b + at.FLEX]
    y = x + n * n
    prf, pid, mu = y + at.PRF * n, y + at.PID * n, y + at.MU * n
    for k in range(6 * n):
        W[mu + k] = W[prf + k]
    if I[b + at.OFFSET] != at.DEFORMING:
        return
    for k in range(n):
        add(W, mu + 6 * k, times(-1.0, inertia_apply(W, w + at.INE, six(W, pid + 6 * k))))
    for k in range(n):
        d, r = six(W, pid + 6 * k), six(W, prf + 6 * k)
        for l in range(n):
            W[x + n * k + l] -= dot(d, six(W, mu + 6 * l)) + dot(r, six(W, pid + 6 * l))


@kernel
def _factorise(W, x, n):
    """L D Lᵀ of the n × n matrix at W[x]: L below the diagonal, 1/D on it.  False if D is not positive."""
    for k in range(n):
        for l in range(k):
            s = W[x + n * k + l]
            for m in range(l):
                s -= W[x + n * k + m] * W[x + n * l + m]
            W[x + n * k + l] = s
        d = W[x + n * k + k]
        for l in range(k):
            s = W[x + n * k + l] * W[x + n * l + l]
            d -= s * W[x + n * k + l]
            W[x + n * k + l] = s
        if not d.real > 0.0:
            return False
        W[x + n * k + k] = 1.0 / d
    return True


@kernel
def _subtract_product(W, P, g, m):
    """P ← P − g mᵀ for one mode, kept as if symmetric: summed over the modes g μᵀ is."""
    W[P] -= W[g] * W[m]
    W[P + 1] -= W[g + 1] * W[m + 1]
    W[P + 2] -= W[g + 2] * W[m + 2]
    W[P + 3] -= W[g] * W[m + 1]
    W[P + 4] -= W[g] * W[m + 2]
    W[P + 5] -= W[g + 1] * W[m + 2]
    for a in range(3):
        for c in range(3):
            W[P + 6 + 3 * a + c] -= W[g + a] * W[m + 3 + c]
    W[P + 15] -= W[g + 3] * W[m + 3]
    W[P + 16] -= W[g + 4] * W[m + 4]
    W[P + 17] -= W[g + 5] * W[m + 5]
    W[P + 18] -= W[g + 3] * W[m + 4]
    W[P + 19] -= W[g + 3] * W[m + 5]
    W[P + 20] -= W[g + 4] * W[m + 5]


@kernel(forceinline=False)
def give_inertia(I, b, w, p, W):
    """P ← P + 𝒜 Γ 𝒜ᵀ for a joint on a deforming node of the parent, whose row is at p."""
    pb = I[at.BODY_I] + I[b + at.PARENT] * at.BODY_I_SIZE
    k, n, x = I[b + at.CARRIER], I[pb + at.NM], I[pb + at.FLEX]
    pi, prf = k + at.CARRIER_PI, x + n * n + at.PRF * n
    # Γ stands in PSU of the parent's row, which nobody needs before the parent's own turn.
    gamma = p + at.PSU
    for a in range(21):
        W[gamma + a] = 0.0
    add_inertia_inward(W, w + at.R_NB, W, w + at.INE, W, gamma)
    add_inertia_inward(W, k, W, gamma, W, p + at.INE)
    for j in range(n):
        force = inertia_apply(W, gamma, six(W, pi + 6 * j))
        for l in range(n):
            W[x + n * l + j] += dot(six(W, pi + 6 * l), force)
        add(W, prf + 6 * j, wrench_inward(W, k, force))


@kernel(forceinline=False)
def give_force(I, b, p, z, W):
    """z ← z + 𝒜 z_N for a joint on a deforming node of the parent, whose row is at p."""
    pb = I[at.BODY_I] + I[b + at.PARENT] * at.BODY_I_SIZE
    k, n = I[b + at.CARRIER], I[pb + at.NM]
    zf = I[pb + at.FLEX] + n * n + at.ZF * n
    for j in range(n):
        W[zf + j] += dot(six(W, k + at.CARRIER_PI + 6 * j), z)
    add(W, p + at.FOR, wrench_inward(W, k, z))


@kernel
def from_parent(I, F, b, w, rates, gravity, W):
    """The parent's share of A: Ad(X_BN) (Ad(X_NP) A_P + Π_N η̈_P), with η̈ in `rates`.

    Gravity moves the base, `gravity` (0 or 1) times.
    """
    parent = I[b + at.PARENT]
    if parent < 0:
        g, zero = I[at.GRAVITY_F], 0.0 * W[w + at.R_NB]
        a0, a1, a2 = zero - gravity * F[g], zero - gravity * F[g + 1], zero - gravity * F[g + 2]
        return twist_outward(W, w + at.R_NB, (zero, zero, zero, a0, a1, a2))
    A = six(W, I[at.WORK] + parent * at.WORK_SIZE + at.ACC)
    if I[b + at.PARENT_NODE] >= 0:
        pb, k = I[at.BODY_I] + parent * at.BODY_I_SIZE, I[b + at.CARRIER]
        bending = sum_columns(W, k + at.CARRIER_PI, I[pb + at.NM], rates, I[pb + at.EV])
        A = plus(twist_outward(W, k, A), bending)
    return twist_outward(W, w + at.R_NB, A)


@kernel(forceinline=False)
def base_to_tip(I, F, gravity, W, out):
    """(5) for every body: v̇ into `out`, A at ACC."""
    for i in range(I[at.N_BODIES]):
        b, w = I[at.BODY_I] + i * at.BODY_I_SIZE, I[at.WORK] + i * at.WORK_SIZE
        A = from_parent(I, F, b, w, out, gravity, W)
        for k in range(I[b + at.NV] - 1, -1, -1):
            rate = (W[w + at.RES + k] - dot(six(W, w + at.PSU + 6 * k), A)) * W[w + at.FAC + k]
            out[I[b + at.JV] + k] = rate
            A = plus(A, times(rate, six(W, w + at.SUB + 6 * k)))
        n = I[b + at.NM]
        if n > 0:
            y, ev = I[b + at.FLEX] + n * n, I[b + at.EV]
            for k in range(n):
                out[ev + k] = W[y + at.EPS * n + k] - dot(six(W, y + at.GAIN * n + 6 * k), A)
            if I[b + at.OFFSET] == at.DEFORMING:
                A = plus(A, times(-1.0, sum_columns(W, y + at.PID * n, n, out, ev)))
        put(W, w + at.ACC, plus(A, six(W, w + at.BIAS)))
