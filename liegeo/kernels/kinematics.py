"""Base to tip: relative poses, twists, motion subspaces and bias accelerations of every body.

Along P → N → J → D → B (layout.py), with u = −Π_d η̇ the twist of B relative to D (zero for cantilever modes), in B:

    V_N = Ad(X_NP) V_P + Π_N η̇_P,                  V_B = Ad(X_BN) V_N + S v + u,                  (1)
    A_N = Ad(X_NP) A_P + Π_N η̈_P + c_N,            c_N = ad(V_N) Π_N η̇_P + Π̇_N η̇_P,               (2)
    A_B = Ad(X_BN) A_N + S v̇ − Π_d η̈ + c,                                                        (3)
    c   = Ad(X_BN) c_N + ad(V_B − u) S v + Ad(X_BD) Ṡ_D v + ad(V_B) u − Π̇_d η̇.                    (4)

[JR90, (3.12), (3.26)], [SY16, (12)].  A ruthless model keeps from (2) and (4) only what does not depend on η and η̇.
"""

from __future__ import annotations

from liegeo._jit import index, kernel
from liegeo.kernels import layout as at
from liegeo.kernels.joints import joint_pose, joint_subspace, subspace_rate, turn_about
from liegeo.kernels.nodes import carrier, carrier_rate, node_modes, node_pose, node_rate
from liegeo.kernels.spatial import bracket, compose, plus, put, six, sum_columns, times, twist_outward


@kernel(forceinline=False, apart=True)
def poses(I, F, q, W):
    """`body_pose` of every body."""
    for i in range(I[at.N_BODIES]):
        body_pose(I, F, i, q, False, W)


@kernel
def body_pose(I, F, i, q, reduced, W):
    """X_NB, S and, where something deforms, X_PN, Π_N and Π_d of body i.

    `reduced`: not X_PN and Π_N on a parent that reduced.py serves, for which `through_node` is enough.
    """
    full = I[at.FULL] == 1
    b, f, w = at.rows(i)
    kind, nv, offset = I[b + at.KIND], index(I[b + at.NV]), I[b + at.OFFSET]
    s, jq = index(I[b + at.SCREWS]), index(I[b + at.JQ])
    if I[b + at.PARENT_NODE] >= 0 and not (reduced and I[at.rows(I[b + at.PARENT])[0] + at.REDUCED] >= 0):
        _carrier_pose(I, F, b, full, q, W)
    if I[b + at.AXIS] >= 0:
        turn_about(I[b + at.AXIS], q[jq], F, f + at.X_NJ_R, W, w + at.R_NB)
        put(W, w + at.SUB, six(F, s))
        return
    a, c, d = w + at.PSU, w + at.PSU + 12, w + at.PSU + 24
    joint_pose(kind, F, s, nv, q, jq, W, a)
    if offset == at.NONE:
        compose(F, f + at.X_NJ_R, W, a, W, w + at.R_NB)
    else:
        compose(F, f + at.X_NJ_R, W, a, W, c)
        if offset == at.CONSTANT:
            compose(W, c, F, f + at.X_DB_R, W, w + at.R_NB)
        else:
            _deformed_offset(I, F, b, f, full, q, W, w, d)
            compose(W, c, W, d, W, w + at.R_NB)
    if kind == at.SCREW_CHAIN or offset == at.DEFORMING:
        joint_subspace(kind, F, s, nv, q, jq, W, w + at.SUB, W, a)
        if offset == at.CONSTANT:
            _subspace_outward(nv, W, w + at.SUB, F, f + at.X_DB_R)
        elif offset == at.DEFORMING:
            _subspace_outward(nv, W, w + at.SUB, W, d)
    else:
        # Behind the screws in D stand the same in B.
        for k in range(6 * nv):
            W[w + at.SUB + k] = F[s + 6 * nv + k]


@kernel
def _carrier_pose(I, F, b, full, q, W):
    b = index(b)
    k = index(I[b + at.CARRIER])
    pb, _, _ = at.rows(I[b + at.PARENT])
    if not full:
        for a in range(at.CARRIER_PI + 6 * index(I[pb + at.NM])):
            W[k + a] = F[index(I[b + at.CARRIER_F]) + a]
        return
    carrier(I, F, I[b + at.PARENT_NODE], q, I[pb + at.EQ], W, k)


@kernel(forceinline=False)
def _deformed_offset(I, F, b, f, full, q, W, w, d):
    """X_DB = (X_BN X_ND)⁻¹ at W[d], and Π_d; X_ND stands where others have X_DB."""
    b, f, w, d = index(b), index(f), index(w), index(d)
    node, n = I[b + at.OWN_NODE], index(I[b + at.NM])
    a = w + at.PSU
    node_pose(I, F, node, full, q, I[b + at.EQ], W, a)
    pi = index(I[b + at.FLEX]) + at.PID * n
    node_modes(I, F, node, full, q, I[b + at.EQ], W, a, True, W, pi)
    compose(W, a, F, f + at.X_DB_R, W, d)
    # invert in place
    p0, p1, p2 = W[d + 9], W[d + 10], W[d + 11]
    W[d + 1], W[d + 3] = W[d + 3], W[d + 1]
    W[d + 2], W[d + 6] = W[d + 6], W[d + 2]
    W[d + 5], W[d + 7] = W[d + 7], W[d + 5]
    for r in range(3):
        W[d + 9 + r] = -(W[d + 3 * r] * p0 + W[d + 3 * r + 1] * p1 + W[d + 3 * r + 2] * p2)


@kernel
def _subspace_outward(nv, W, o, X, x):
    for k in range(nv):
        put(W, o + 6 * k, twist_outward(X, x, six(W, o + 6 * k)))


@kernel(forceinline=False, apart=True)
def velocities(I, F, q, v, W):
    """`body_velocity` of every body, after `poses`."""
    for i in range(I[at.N_BODIES]):
        body_velocity(I, F, i, q, v, W)


@kernel
def body_velocity(I, F, i, q, v, W):
    """V_B and c of (1)–(4), after `body_pose` and those of the parent."""
    full = I[at.FULL] == 1
    b, _, w = at.rows(i)
    parent, nv, jv = I[b + at.PARENT], index(I[b + at.NV]), index(I[b + at.JV])
    zero = 0.0 * W[w + at.R_NB]
    V = (zero, zero, zero, zero, zero, zero)
    c = V
    if I[b + at.PARENT_NODE] >= 0:
        V, c = _through_carrier(I, F, b, w, full, q, v, W)
    elif parent >= 0:
        V = twist_outward(W, w + at.R_NB, six(W, at.rows(parent)[2] + at.VEL))
    if nv == 1:
        Sv = times(v[jv], six(W, w + at.SUB))
        V = plus(V, Sv)
        c = plus(c, bracket(V, Sv))
    elif nv > 1:
        Sv = sum_columns(W, w + at.SUB, nv, v, jv)
        V = plus(V, Sv)
        c = plus(c, bracket(V, Sv))
        if I[b + at.KIND] == at.SCREW_CHAIN:
            # (2) of joints.py holds in any constant frame; X_BD is applied to the columns already
            c = plus(c, subspace_rate(W, w + at.SUB, nv, v, jv))
    # V is complete but for u, so the bracket was ad(V_B − u) S v
    if I[b + at.OFFSET] == at.DEFORMING:
        V, c = _through_own_node(I, F, b, w, full, q, v, W, V, c)
    put(W, w + at.VEL, V)
    put(W, w + at.BIAS, c)


@kernel
def _through_carrier(I, F, b, w, full, q, v, W):
    """Ad(X_BN) V_N and Ad(X_BN) c_N for a joint on a deforming node."""
    b, w = index(b), index(w)
    pb, _, p = at.rows(I[b + at.PARENT])
    V_N, bending = through_node(I, F, b, pb, six(W, p + at.VEL), v, W)
    c_N = times(0.0, V_N)
    if full:
        k, eq, ev = index(I[b + at.CARRIER]), I[pb + at.EQ], I[pb + at.EV]
        c_N = plus(bracket(V_N, bending), carrier_rate(I, F, I[b + at.PARENT_NODE], q, eq, v, ev, W, k))
    return twist_outward(W, w + at.R_NB, V_N), twist_outward(W, w + at.R_NB, c_N)


@kernel
def through_node(I, F, b, pb, V, rates, W):
    """Ad(X_NP) V + Π_N η̇ for the node that carries the body with row b on that with row pb, and its second part.

    η̇ stands in `rates`, or η̈.  A ruthless model has the constants in F, so that W need not hold them too.
    """
    n, ev = index(I[pb + at.NM]), index(I[pb + at.EV])
    if I[at.FULL] == 1:
        k = index(I[b + at.CARRIER])
        bending = sum_columns(W, k + at.CARRIER_PI, n, rates, ev)
        return plus(twist_outward(W, k, V), bending), bending
    f = index(I[b + at.CARRIER_F])
    bending = sum_columns(F, f + at.CARRIER_PI, n, rates, ev)
    return plus(twist_outward(F, f, V), bending), bending


@kernel(forceinline=False)
def _through_own_node(I, F, b, w, full, q, v, W, V, c):
    """V and c with u and ad(V_B) u − Π̇_d η̇ added."""
    b, w = index(b), index(w)
    n, ev = index(I[b + at.NM]), index(I[b + at.EV])
    u = times(-1.0, sum_columns(W, index(I[b + at.FLEX]) + at.PID * n, n, v, ev))
    V = plus(V, u)
    if full:
        # The pose of the own node is needed once more; PSU is free between the passes.
        node_pose(I, F, I[b + at.OWN_NODE], full, q, I[b + at.EQ], W, w + at.PSU)
        rate = node_rate(I, F, I[b + at.OWN_NODE], q, I[b + at.EQ], v, ev, W, w + at.PSU, True)
        c = plus(c, plus(bracket(V, u), times(-1.0, rate)))
    return V, c


@kernel(forceinline=False)
def world_poses(I, W, out, o):
    """out[o + 12 i …] = X_WB of body i: rotation row by row, then position; twelve more are scratch.  After `poses`."""
    o = index(o)
    for i in range(I[at.N_BODIES]):
        b, _, w = at.rows(i)
        parent, x = I[b + at.PARENT], o + 12 * i
        if parent < 0:
            for k in range(12):
                out[x + k] = W[w + at.R_NB + k]
        elif I[b + at.PARENT_NODE] < 0:
            compose(out, o + 12 * parent, W, w + at.R_NB, out, x)
        else:
            # X_PB first, in the twelve numbers behind the last body's
            t = o + 12 * I[at.N_BODIES]
            compose(W, index(I[b + at.CARRIER]), W, w + at.R_NB, out, t)
            compose(out, o + 12 * parent, out, t, out, x)
