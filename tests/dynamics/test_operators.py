"""The spatial operators: the lemmas of [JR90] on trees, and the kernels and the oracle against them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import trees
from oracles import dense_tree

from liegeo import dynamics, operators
from liegeo import model as lm
from liegeo.errors import DynamicsError

GRAVITY = (0.3, -0.5, -9.0)
STEP = 1e-40
CASES = [(seed, fidelity) for seed in range(201, 207) for fidelity in ("full", "ruthless")]
each = pytest.mark.parametrize(("seed", "fidelity"), CASES)


@cache
def case(seed, fidelity="full", n_bodies=8):
    """A random tree with springs, dampers and armature, its state, and forces."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, n_bodies)
    model = trees.build(bodies, GRAVITY, fidelity).compile()
    state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    return bodies, model, state, rng.normal(size=model.nv)


def close(a, b, tolerance):
    """Norm-wise relative agreement."""
    return a.shape == b.shape and np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


def ancestors(bodies, k):
    """k, its parent, … down to the base."""
    path = [k]
    while bodies[path[-1]]["parent"] >= 0:
        path.append(bodies[path[-1]]["parent"])
    return path


def test_the_cases_have_what_makes_trees_hard():
    """Forests, branches, every joint, cantilever and free-free modes, children on nodes that deform and on the body."""
    described = [case(seed)[0] for seed in sorted({seed for seed, _ in CASES})]
    parents = [[b["parent"] for b in bodies] for bodies in described]
    assert any(p.count(-1) > 1 for p in parents)
    assert any(p.count(k) > 1 for p in parents for k in range(8))
    assert {b["joint"]["name"] for bodies in described for b in bodies} == set(trees.DRAWN)
    flexible = [(b, bodies) for bodies in described for b in bodies if b["n_modes"]]
    assert {bool(np.any(b["child_at"]["modes"])) for b, _ in flexible} == {True, False}
    children = [c for b, bodies in flexible for c in bodies if c["parent"] >= 0 and bodies[c["parent"]] is b]
    assert {"at_node" in c for c in children} == {True, False}


@each
@pytest.mark.parametrize("name", ["Phi", "Psi"])
def test_phi_and_psi_are_semigroups_along_the_paths_to_the_base(seed, fidelity, name):
    """(3.20), (3.21), (6.3): nilpotent to the depth of the tree, inverse of I − E, zero off the paths."""
    bodies, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    E, Phi = getattr(ops, f"E_{name}"), getattr(ops, name)
    depth = max(len(ancestors(bodies, k)) for k in range(len(bodies)))
    assert not np.linalg.matrix_power(E, depth).any()
    assert np.linalg.matrix_power(E, depth - 1).any()
    assert close((np.eye(len(E)) - E) @ Phi, np.eye(len(E)), 1e-14)
    for k in range(len(bodies)):
        path = ancestors(bodies, k)
        for j in range(len(bodies)):
            block = Phi[np.ix_(ops.bodies[j].modal, ops.bodies[k].modal)]
            assert block.any() == (j in path)
            for i in path[: path.index(j)] if j in path else ():
                first = Phi[np.ix_(ops.bodies[i].modal, ops.bodies[k].modal)]
                second = Phi[np.ix_(ops.bodies[j].modal, ops.bodies[i].modal)]
                assert close(second @ first, block, 1e-13)


@each
def test_velocities(seed, fidelity):
    """(3.22): V_m = Φᵀ Hᵀ χ is modal speeds and twist of every body."""
    _, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    V_m = ops.Phi.T @ ops.H.T @ state.v
    for name, b in zip(model.bodies, ops.bodies, strict=True):
        modes = state.v[model.group.v[name]] if len(b.modal) > 6 else np.zeros(0)
        twist = dynamics.frame_jacobian(model, state, name) @ state.v
        assert close(V_m[b.modal], np.concatenate([modes, twist]), 1e-13)


@each
def test_composite_bodies(seed, fidelity):
    """Lemma 5.1, and (5.4) with the armature: the mass matrix that the kernels find."""
    _, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    Phi, R, H = ops.Phi, ops.R, ops.H
    strict = Phi - np.eye(len(Phi))
    decomposed = R + strict @ R + R @ strict.T
    assert close(decomposed, Phi @ ops.M_m @ Phi.T, 1e-14)
    assert close(H @ decomposed @ H.T + ops.J_a, dynamics.mass_matrix(model, state), 1e-14)


@each
def test_equations_of_motion(seed, fidelity):
    """(3.45): M and C, without and with the joints' springs and dampers."""
    _, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    assert close(ops.mass_matrix, dynamics.mass_matrix(model, state), 1e-14)
    assert close(ops.C - ops.passive, dynamics.inverse_dynamics(model, state), 1e-13)


@pytest.mark.parametrize("seed", sorted({seed for seed, _ in CASES})[:3])
def test_equations_of_motion_agree_with_the_oracle(seed):
    bodies, model, state, tau = case(seed)
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    ops = operators.operators(model, state)
    assert close(ops.mass_matrix, M, 1e-13)
    assert close(ops.C - ops.passive, h, 1e-12)
    assert close(operators.forward_dynamics(model, state, tau), np.linalg.solve(M, tau - h), 1e-10)


@each
def test_articulated_bodies(seed, fidelity):
    """(6.1), (6.2), (A.2) as operators; armature takes G J_a Gᵀ from τ̄ P τ̄ᵀ and nothing from P − G D Gᵀ."""
    _, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    P, D, G, H, K, E, tau_bar = ops.P, ops.D, ops.G, ops.H, ops.K, ops.E_Phi, ops.tau_bar
    P_plus = tau_bar @ P
    assert np.diag(ops.J_a).max() > 0.01
    assert close(H @ P @ H.T + ops.J_a, D, 1e-14)
    assert close(G @ D, P @ H.T, 1e-13)
    assert close(P - G @ D @ G.T, P_plus, 1e-13)
    assert close(tau_bar @ P @ tau_bar.T + G @ ops.J_a @ G.T, P_plus, 1e-13)
    assert close(P - E @ P @ E.T + K @ D @ K.T, ops.M_m, 1e-13)
    assert close(P - ops.E_Psi @ P @ E.T, ops.M_m, 1e-13)


@each
def test_innovations_factorisation_and_inverse(seed, fidelity):
    """Lemmas 6.1, 6.2 and 6.3; the factor is unit upper triangular by bodies, D has the bodies' blocks."""
    _, model, state, _ = case(seed, fidelity)
    ops = operators.operators(model, state)
    M, one = dynamics.mass_matrix(model, state), np.eye(model.nv)
    L, D = operators.innovations(model, state)
    assert close(L @ D @ L.T, M, 1e-14)
    assert close((one - ops.H @ ops.Psi @ ops.K) @ L, one, 1e-13)
    owner = np.empty(model.nv, int)
    for k, b in enumerate(ops.bodies):
        owner[b.speeds] = k
    strictly_outboard = owner[:, None] < owner[None, :]
    assert (L - one)[strictly_outboard].any()
    assert not (L - one)[~strictly_outboard].any()
    assert not D[owner[:, None] != owner[None, :]].any()
    inverse = operators.mass_matrix_inverse(model, state)
    assert close(inverse, np.linalg.inv(M), 1e-12)
    columns = [dynamics.solve(model, state, e) for e in one]
    assert close(inverse, np.stack(columns, axis=1), 1e-12)


@each
def test_forward_dynamics(seed, fidelity):
    """Lemma 7.1 as it stands, and its recursion (7.2), (7.3), against the kernels' modes and joints one by one."""
    _, model, state, tau = case(seed, fidelity)
    ops = operators.operators(model, state)
    H, Psi, K, D, P, a_m, b_m = ops.H, ops.Psi, ops.K, ops.D, ops.P, ops.a_m, ops.b_m
    T = tau + ops.passive
    factor = np.eye(model.nv) - H @ Psi @ K
    lemma = factor.T @ np.linalg.solve(D, T - H @ Psi @ (K @ T + P @ a_m + b_m)) - K.T @ Psi.T @ a_m
    expected = dynamics.forward_dynamics(model, state, tau)
    assert close(lemma, expected, 1e-11)
    assert close(operators.forward_dynamics(model, state, tau), expected, 1e-11)
    assert close(operators.forward_dynamics(model, state), dynamics.forward_dynamics(model, state), 1e-11)


@each
def test_a_locked_speed_has_no_row(seed, fidelity):
    _, model, state, tau = case(seed, fidelity)
    movable = [name for name in model.joints if name in model.group.v]
    locked = model.lock(movable[0], speeds={movable[-1]: [0]})
    ops = operators.operators(locked, state)
    free = ~locked.locked
    assert (ops.speeds == np.flatnonzero(free)).all()
    M = dynamics.mass_matrix(model, state)[np.ix_(free, free)]
    L, D = operators.innovations(locked, state)
    assert close(ops.mass_matrix, M, 1e-14)
    assert close(L @ D @ L.T, M, 1e-14)
    assert close(operators.mass_matrix_inverse(locked, state) @ M, np.eye(len(M)), 1e-12)
    a = operators.forward_dynamics(locked, state, tau)
    assert close(a, dynamics.forward_dynamics(locked, state, tau), 1e-11)
    assert not a[~free].any()


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_complex_step(fidelity):
    """Derivatives of the recursion by q, v and tau; d(M⁻¹) = −M⁻¹ dM M⁻¹ through every operator."""
    _, model, state, tau = case(201, fidelity)
    expected = dynamics.forward_derivatives(model, state, tau)
    rng = np.random.default_rng(0)
    for k in rng.choice(model.nv, 5, replace=False):
        e = 1j * STEP * np.eye(model.nv)[k]
        turned = lm.State(model.group.retract(state.q.astype(complex), e), state.v)
        for moved, force, columns in (
            (turned, tau, expected.q),
            (lm.State(state.q, state.v + e), tau, expected.v),
            (state, tau + e, expected.last),
        ):
            column = operators.forward_dynamics(model, moved, force).imag / STEP
            # Where nothing depends on the coordinate, both are zero to round-off of the accelerations.
            assert np.linalg.norm(column - columns[:, k]) <= 1e-10 * np.linalg.norm(columns)
        M, dM = dynamics.mass_matrix(model, state), dynamics.mass_matrix(model, turned).imag / STEP
        ops = operators.operators(model, turned)
        bias = dynamics.inverse_dynamics(model, turned)
        assert np.linalg.norm(ops.mass_matrix.imag / STEP - dM) <= 1e-13 * np.linalg.norm(M)
        assert np.linalg.norm((ops.C - ops.passive - bias).imag / STEP) <= 1e-12 * np.linalg.norm(bias.real)
        inverse = np.linalg.inv(M)
        found = operators.mass_matrix_inverse(model, turned).imag / STEP
        size = np.linalg.norm(inverse) ** 2 * np.linalg.norm(M)
        assert np.linalg.norm(found + inverse @ dM @ inverse) <= 1e-13 * size
        L, D = operators.innovations(model, turned)
        assert np.linalg.norm((L @ D @ L.T).imag / STEP - dM) <= 1e-13 * np.linalg.norm(M)


def test_a_tree_without_speeds():
    """Two welded bodies: the composite inertia is still there, the rest is empty."""
    bodies = [lm.Body("a", mass=2.0, inertia=(1, 1, 1)), lm.Body("b", mass=3.0, inertia=(1, 1, 1))]
    joints = [lm.Fixed(name="j", parent="world", child="a"), lm.Fixed(name="k", parent="a", child="b", at=(1, 0, 0))]
    model = lm.Tree(bodies, joints).compile()
    ops = operators.operators(model, model.state())
    assert np.diag(ops.R)[:6] == pytest.approx([2, 5, 5, 5, 5, 5], rel=1e-15)
    assert operators.forward_dynamics(model, model.state()).shape == (0,)
    assert operators.mass_matrix_inverse(model, model.state()).shape == (0, 0)


def _no_inertia():
    """A point mass on the axis of its hinge, on a sound body."""
    bodies = [lm.Body("arm", mass=1.0, inertia=(1, 1, 1)), lm.Body("bob", mass=1.0)]
    joints = [
        lm.Revolute(name="root", parent="world", child="arm"),
        lm.Revolute(name="wrist", parent="arm", child="bob"),
    ]
    return lm.Tree(bodies, joints), {}, "wrist", "arm → bob"


def _gimbal_lock():
    """Three axes, the first and the third parallel: every axis has inertia, and D is singular nevertheless."""
    body = lm.Body("ball", mass=1.0, inertia=(1, 1, 1))
    axes = np.eye(3, 6)[[2, 1, 0]]
    joint = lm.Screws(name="gimbal", parent="world", child="ball", subspace=axes)
    return lm.Tree([body], [joint]), {"gimbal": [0.3, np.pi / 2, 0.1]}, "gimbal", "world → ball"


@pytest.mark.parametrize("make", [_no_inertia, _gimbal_lock])
@pytest.mark.parametrize(
    "function",
    [
        operators.forward_dynamics,
        operators.innovations,
        operators.mass_matrix_inverse,
        dynamics.forward_dynamics,
        dynamics.mass_matrix_inverse,
    ],
)
def test_a_singular_block_is_explained(make, function):
    tree, q, joint, between = make()
    model = tree.compile()
    child = between.split()[-1]
    expected = rf"joint '{joint}' \({between}\): the inertia that it moves is not positive\.\n.* give '{child}' mass"
    with pytest.raises(DynamicsError, match=expected):
        function(model, model.state(q))
    # What needs no D(k)⁻¹ is there all the same, and a joint that is locked is not asked.
    assert np.linalg.eigvalsh(operators.operators(model, model.state(q)).mass_matrix)[0] < 1e-15
    assert np.isfinite(operators.forward_dynamics(model.lock(joint), model.state(q))).all()
