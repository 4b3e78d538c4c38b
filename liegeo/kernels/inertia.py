"""Inertia and velocity-dependent forces of one body, rigid or flexible, from its kinetic energy.

For a flexible body with twist V = (w, v), first moment c(η), inertia J(η), couplings C_t(η) = ∂c/∂η and C_r(η):

    T = ½ Vᵀ M_rr V + Vᵀ M_rf η̇ + ½ η̇ᵀ M_e η̇,     M_rr = [J ĉ; −ĉ m],  M_rf = [C_r; C_t].            (1)

Lagrange's equations in quasi-velocities, H = M_rr V + M_rf η̇:

    M_rr V̇ + M_rf η̈ + b_r = F,      b_r = Ṁ_rr V + Ṁ_rf η̇ − adT(V) H,                                (2)
    M_rfᵀ V̇ + M_e η̈ + b_f = Q,      b_f = Ṁ_rfᵀ V − ½ Vᵀ ∂M_rr V − Vᵀ ∂M_rf η̇ + K η + D η̇.             (3)

J = J₀ + Σ J₁ₖ ηₖ + Σ J₂ₖₗ ηₖ ηₗ,   c = c₀ + C_t0 η + ½ Σ C_t1ₖₗ ηₖ ηₗ,   C_r = C_r0 + Σ C_r1ₗ ηₗ.

The part A of C_r1 that is antisymmetric in its two mode indices is ∫ φ_l × φ_k dm.  Its symmetric part S, and C_t1, are
of displacements of second order: of rigid pieces that turn (model/body.py, FlexibleBody.from_nodes), and of geometric
stiffening.  Without either they are zero.  They add Ċ_r η̇ = Σ S η̇ η̇ and Ċ_t η̇ = Σ C_t1 η̇ η̇ to b_r, and cancel in

    b_f,k = 2 w·Σ_l A[l,k] η̇_l − ½ w·(∂J/∂ηₖ) w + C_t,k·(w×v) + (K η + D η̇)_k.                        (4)

These are [JR90, (B.8), (B.50)] derived anew.  A ruthless model has M(0), b_r = −adT(V) M_rr V, and of (4) the second
term at η = 0 and the rest but for the first.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.spatial import plus, put, put_rigid, rigid_apply, six, sum_blocks, sum_rows, times
from liegeo.lie.so3 import cross


@kernel(forceinline=False, apart=True)
def inertias(I, F, q, W):
    """`body_inertia` of every body."""
    for i in range(I[at.N_BODIES]):
        body_inertia(I, F, i, q, False, W)


@kernel
def body_inertia(I, F, i, q, reduced, W):
    """M_rr at INE, and for flexible bodies M_rf at PRF, M_e at PFF; not for those of reduced.py if that is used."""
    b, f, w = at.rows(i)
    W[w + at.SIZE] = W[w + at.SIZE + 1] = 0.0
    if I[b + at.NM] == 0 or (reduced and I[b + at.REDUCED] >= 0):
        put_rigid(W, w + at.INE, F[f + at.MASS], _moment(F, f), F, f + at.INERTIA)
    else:
        _flexible_inertia(I, F, b, f, w, q, W)


@kernel
def _moment(F, f):
    return F[f + at.MOMENT], F[f + at.MOMENT + 1], F[f + at.MOMENT + 2]


@kernel
def _flexible_inertia(I, F, b, f, w, q, W):
    b, f, w = index(b), index(f), index(w)
    n, eq, x = index(I[b + at.NM]), index(I[b + at.EQ]), index(I[b + at.FLEX])
    ct = index(I[b + at.MODAL])
    j1, cr0 = ct + at.M_J1 * n, index(I[b + at.MASSES])
    cr1, j2, me, _, _ = at.modal_matrices(I, b)
    prf, pff, sums = x + at.PRF * n, x + at.PFF * n, index(I[at.SHARED])
    j2_eta, cr1_eta = sums + at.J2_ETA * n, sums + at.CR1_ETA * n
    full = I[at.FULL] == 1
    for k in range(at.triangle(n)):
        W[pff + k] = F[me + k]
    for k in range(n):
        c, e = F[cr0 + k], F[ct + k]
        put(W, prf + 6 * k, (c, F[cr0 + n + k], F[cr0 + 2 * n + k], e, F[ct + n + k], F[ct + 2 * n + k]))
    zero = 0.0 * q[eq]
    c0, c1, c2 = zero + F[f + at.MOMENT], zero + F[f + at.MOMENT + 1], zero + F[f + at.MOMENT + 2]
    J = plus((zero, zero, zero, zero, zero, zero), six(F, f + at.INERTIA))
    if full:
        # Σ_l J₂ₖₗ η_l stays at J2_ETA, where the bias finds it
        ahead = at.to_next_modal(I, F, b)
        sum_blocks(F, j2, n, q, eq, W, j2_eta, ahead)
        sum_rows(F, cr1, 3 * n, n, q, eq, W, cr1_eta, ahead)
        for k in range(n):
            e, r, t = q[eq + k], prf + 6 * k, cr1_eta + 3 * k
            c0 += F[ct + k] * e
            c1 += F[ct + n + k] * e
            c2 += F[ct + 2 * n + k] * e
            W[r] += W[t]
            W[r + 1] += W[t + 1]
            W[r + 2] += W[t + 2]
            J = plus(J, times(e, plus(six(W, j2_eta + 6 * k), six(F, j1 + 6 * k))))
    if full and I[b + at.SECOND_T] >= 0:
        # ½ Σ C_t1 η η is half of what C_t gains, times η
        ct1 = index(I[b + at.SECOND_T])
        for l in range(n):
            for k in range(n):
                for a in range(3):
                    W[prf + 6 * k + 3 + a] += F[ct1 + (a * n + l) * n + k] * q[eq + l]
        for k in range(n):
            e = 0.5 * q[eq + k]
            c0 += (W[prf + 6 * k + 3] - F[ct + k]) * e
            c1 += (W[prf + 6 * k + 4] - F[ct + n + k]) * e
            c2 += (W[prf + 6 * k + 5] - F[ct + 2 * n + k]) * e
    # put_rigid wants J in an array: the six places of FOR, which the bias overwrites later
    put(W, w + at.FOR, J)
    put_rigid(W, w + at.INE, F[f + at.MASS], (c0, c1, c2), W, w + at.FOR)


@kernel(forceinline=False)
def biases(I, F, q, v, W):
    """`body_inertia` and `body_bias` of every body."""
    for i in range(I[at.N_BODIES]):
        body_inertia(I, F, i, q, False, W)
        body_bias(I, F, i, q, v, W)


@kernel
def body_bias(I, F, i, q, v, W):
    """b_r at FOR, and for flexible bodies b_f at ZF, after `body_velocity`, and `body_inertia` just before."""
    b, f, w = at.rows(i)
    if I[b + at.NM] == 0:
        V = six(W, w + at.VEL)
        H = rigid_apply(F[f + at.MASS], _moment(F, f), F, f + at.INERTIA, V)
        put(W, w + at.FOR, gyroscopic(V, H))
    else:
        _flexible_bias(I, F, b, f, w, q, v, W)


@kernel
def gyroscopic(V, H):
    """−adT(V) H = (w×n + v×f, w×f)."""
    a0, a1, a2 = cross(V[0], V[1], V[2], H[0], H[1], H[2])
    b0, b1, b2 = cross(V[3], V[4], V[5], H[3], H[4], H[5])
    c0, c1, c2 = cross(V[0], V[1], V[2], H[3], H[4], H[5])
    return a0 + b0, a1 + b1, a2 + b2, c0, c1, c2


@kernel
def _flexible_bias(I, F, b, f, w, q, v, W):
    b, f, w = index(b), index(f), index(w)
    n, eq, ev, x = index(I[b + at.NM]), index(I[b + at.EQ]), index(I[b + at.EV]), index(I[b + at.FLEX])
    ct = index(I[b + at.MODAL])
    j1, k_diagonal, d_diagonal = ct + at.M_J1 * n, ct + at.M_DIAGONAL_K * n, ct + at.M_DIAGONAL_D * n
    cr1, _, _, stiffness, damping = at.modal_matrices(I, b)
    zf, prf, sums = x + at.ZF * n, x + at.PRF * n, index(I[at.SHARED])
    j2_eta, cr1_eta = sums + at.J2_ETA * n, sums + at.CR1_ETA * n
    full, diagonal = I[at.FULL] == 1, I[b + at.DIAGONAL] == 1
    V = six(W, w + at.VEL)
    w0, w1, w2, v0, v1, v2 = V
    # first moment and J back from the inertia: H = ĉ
    P = w + at.INE
    n0, n1, n2, f0, f1, f2 = rigid_apply(F[f + at.MASS], (W[P + 13], W[P + 8], W[P + 9]), W, P, V)
    z = 0.0 * w0
    d0, d1, d2 = z, z, z  # ċ = C_t η̇
    t0, t1, t2 = z, z, z  # J̇ w
    x0, x1, x2 = cross(w0, w1, w2, v0, v1, v2)
    second = full and I[b + at.SECOND_R] >= 0
    if full:
        sum_rows(F, index(I[b + at.SECOND_R]) if second else cr1, 3 * n, n, v, ev, W, cr1_eta, 0)
    for k in range(n):
        e = v[ev + k]
        # ∂J/∂ηₖ; in a ruthless model at η = 0
        a0, a1, a2 = z + F[j1 + 6 * k], z + F[j1 + 6 * k + 1], z + F[j1 + 6 * k + 2]
        a3, a4, a5 = z + F[j1 + 6 * k + 3], z + F[j1 + 6 * k + 4], z + F[j1 + 6 * k + 5]
        e0, e1, e2 = z + F[ct + k], z + F[ct + n + k], z + F[ct + 2 * n + k]  # C_t
        if full:
            a0, a1, a2, a3, a4, a5 = plus((a0, a1, a2, a3, a4, a5), times(2.0, six(W, j2_eta + 6 * k)))
            e0, e1, e2 = W[prf + 6 * k + 3], W[prf + 6 * k + 4], W[prf + 6 * k + 5]
            d0 += e0 * e
            d1 += e1 * e
            d2 += e2 * e
            n0 += W[prf + 6 * k] * e
            n1 += W[prf + 6 * k + 1] * e
            n2 += W[prf + 6 * k + 2] * e
        y0, y1, y2 = a0 * w0 + a3 * w1 + a4 * w2, a3 * w0 + a1 * w1 + a5 * w2, a4 * w0 + a5 * w1 + a2 * w2
        force = e0 * x0 + e1 * x1 + e2 * x2 - 0.5 * (w0 * y0 + w1 * y1 + w2 * y2)
        if full:
            t0 += e * y0
            t1 += e * y1
            t2 += e * y2
            t = cr1_eta + 3 * k
            force += 2.0 * (w0 * W[t] + w1 * W[t + 1] + w2 * W[t + 2])
        if diagonal:
            force += F[k_diagonal + k] * q[eq + k] + F[d_diagonal + k] * e
        else:
            for l in range(n):
                force += F[stiffness + n * k + l] * q[eq + l] + F[damping + n * k + l] * v[ev + l]
        W[zf + k] = force
    # Ṁ_rr V = (J̇ w + ċ×v, w×ċ)
    g0, g1, g2 = cross(d0, d1, d2, v0, v1, v2)
    h0, h1, h2 = cross(w0, w1, w2, d0, d1, d2)
    H = (n0, n1, n2, f0 + d0, f1 + d1, f2 + d2)
    put(W, w + at.FOR, plus(gyroscopic(V, H), (t0 + g0, t1 + g1, t2 + g2, h0, h1, h2)))
    if second:
        _add_rates(F, index(I[b + at.SECOND_R]) + 3 * n * n, n, v, ev, W, w + at.FOR)
    if full and I[b + at.SECOND_T] >= 0:
        # Σ C_t1 η̇ η̇
        ct1 = index(I[b + at.SECOND_T])
        for a in range(3):
            for l in range(n):
                for k in range(n):
                    W[w + at.FOR + 3 + a] += F[ct1 + (a * n + l) * n + k] * v[ev + l] * v[ev + k]


@kernel
def _add_rates(F, o, n, v, ev, W, k):
    """Add Σ S η̇ η̇ to the three numbers at W[k]; at F[o] is the lower triangle of S, three numbers each."""
    a0, a1, a2 = 0.0 * v[ev], 0.0 * v[ev], 0.0 * v[ev]
    for l in range(n):
        b0, b1, b2, s = 0.0 * a0, 0.0 * a0, 0.0 * a0, o + 3 * at.triangle(l)
        for m in range(l):
            e = v[ev + m]
            b0 += F[s + 3 * m] * e
            b1 += F[s + 3 * m + 1] * e
            b2 += F[s + 3 * m + 2] * e
        e, d = v[ev + l], s + 3 * l
        a0 += (2.0 * b0 + F[d] * e) * e
        a1 += (2.0 * b1 + F[d + 1] * e) * e
        a2 += (2.0 * b2 + F[d + 2] * e) * e
    W[k] += a0
    W[k + 1] += a1
    W[k + 2] += a2
