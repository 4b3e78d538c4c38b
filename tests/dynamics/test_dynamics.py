"""The recursive dynamics against an oracle that shares no code with it, and against the theorems it must obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trees
from oracles import dense_tree

from liegeo import dynamics, operators
from liegeo import model as lm
from liegeo.errors import DynamicsError, InputError
from liegeo.kernels import articulated, composite, inertia, inverse, kinematics, layout, observe
from liegeo.lie import SE3, SO3, SO3Q

GRAVITY = (0.3, -0.5, -9.0)


def random_case(seed, n_bodies=5, fidelity="full", **options):
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, n_bodies, **options)
    model = trees.build(bodies, GRAVITY, fidelity).compile()
    state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    return rng, bodies, model, state


def close(a, b, tolerance):
    """Norm-wise relative agreement."""
    return np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


@pytest.mark.parametrize("joint", trees.JOINTS)
def test_every_joint_agrees_with_the_oracle(joint):
    """On a rigid root, between flexible bodies on their nodes, and at the end."""
    rng, bodies, model, state = random_case(trees.JOINTS.index(joint), 4, joints=(joint, "Revolute"), flexible=0.6)
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    tau = rng.normal(size=model.nv)
    assert close(dynamics.mass_matrix(model, state), M, 1e-13)
    assert close(dynamics.inverse_dynamics(model, state), h, 1e-12)
    assert close(dynamics.forward_dynamics(model, state, tau), np.linalg.solve(M, tau - h), 1e-10)


@pytest.mark.parametrize("seed", range(100, 108))
def test_random_trees_agree_with_the_oracle(seed):
    """Any joints, rigid and flexible, one to six modes, cantilever and free-free, children on nodes or not."""
    rng, bodies, model, state = random_case(seed, 6, n_modes=1 + seed % 6)
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    tau = rng.normal(size=model.nv)
    assert close(dynamics.mass_matrix(model, state), M, 1e-13)
    assert close(dynamics.inverse_dynamics(model, state), h, 1e-12)
    assert close(dynamics.forward_dynamics(model, state, tau), np.linalg.solve(M, tau - h), 1e-10)


@pytest.mark.parametrize("seed", range(130, 133))
def test_nodes_of_second_order_agree_with_the_oracle(seed):
    """Nodes that carry joints, inboard and outboard, with displacements of second order in the modes."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, 5, flexible=0.8)
    seconds = {}
    for i, body in enumerate(bodies):
        for k in range(5 if body["n_modes"] else 0):
            G = 0.3 * rng.normal(size=(6, 3, 3))
            seconds[f"b{i}", f"n{k}"] = G + G.transpose(0, 2, 1)
        if body["n_modes"]:
            body["child_at"]["second"] = seconds[f"b{i}", "n0"]
        if "at_node" in body:
            body["at"]["second"] = seconds[f"b{body['parent']}", f"n{body['at_node']}"]
    tree = trees.build(bodies, GRAVITY)
    made = []
    for body in tree.bodies:
        if isinstance(body, lm.FlexibleBody):
            nodes = {n: lm.Node(x.pose, x.modes, seconds[body.name, n]) for n, x in body.nodes.items()}
            body = replace(body, nodes=nodes)
        made.append(body)
    model = lm.Tree(made, tree.joints, gravity=GRAVITY).compile()
    state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    tau = rng.normal(size=model.nv)
    assert close(dynamics.mass_matrix(model, state), M, 1e-13)
    assert close(dynamics.inverse_dynamics(model, state), h, 1e-12)
    assert close(dynamics.forward_dynamics(model, state, tau), np.linalg.solve(M, tau - h), 1e-10)
    for (body, name), G in seconds.items():
        node, eta = dict(made[model.bodies.index(body)].nodes)[name], state.q[model.group.q[body]]
        moved = np.asarray(node.modes) @ eta + 0.5 * np.einsum("alk,l,k->a", G, eta, eta)
        X_BN = np.array(node.pose)
        X_BN[:3, :3], X_BN[:3, 3] = SO3.exp(moved[:3]) @ X_BN[:3, :3], X_BN[:3, 3] + moved[3:]
        expected = dynamics.body_poses(model, state)[body] @ X_BN
        assert dynamics.frame_pose(model, state, f"{body}.{name}") == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("seed", range(100, 103))
def test_energy_and_poses_agree_with_the_oracle(seed):
    _, bodies, model, state = random_case(seed, 6)
    expected, _ = dense_tree.body_poses(bodies, state.q, state.v)
    poses = dynamics.body_poses(model, state)
    for i, X in enumerate(expected):
        assert poses[f"b{i}"] == pytest.approx(X.A, abs=1e-13)
        twist = SE3.vee(np.linalg.inv(X.A) @ X.B)
        assert dynamics.frame_jacobian(model, state, f"b{i}") @ state.v == pytest.approx(twist, abs=1e-12)
    energy = dense_tree.energy(bodies, GRAVITY, state.q, state.v)
    assert dynamics.balance(model, state).energy == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", range(6))
def test_forward_undoes_inverse_and_the_mass_matrix_is_its_derivative(seed, fidelity):
    rng, _, model, state = random_case(seed, 12, fidelity)
    a = rng.normal(size=model.nv)
    tau = dynamics.inverse_dynamics(model, state, a)
    assert close(dynamics.forward_dynamics(model, state, tau), a, 1e-10)
    bias = dynamics.inverse_dynamics(model, state)
    columns = np.stack([dynamics.inverse_dynamics(model, state, e) - bias for e in np.eye(model.nv)], axis=1)
    M = dynamics.mass_matrix(model, state)
    # The columns are differences of numbers as large as the bias.
    assert np.abs(M - columns).max() <= 1e-13 * (np.abs(M).max() + np.abs(bias).max())
    assert np.abs(M - M.T).max() <= 1e-15 * np.abs(M).max()
    assert np.linalg.eigvalsh(M)[0] > 0.0


@pytest.mark.parametrize("n_modes", [3, 9])
def test_a_ruthless_model_is_the_full_one_that_is_not_bent(n_modes):
    """At any η, with η̇ = 0: the forces of a motion are those of the full model at η = 0, and Kη; so are accelerations.

    Nine modes go through reduced.py.
    """
    rng, bodies, model, state = random_case(31, 6, "ruthless", n_modes=n_modes, flexible=0.7)
    full = trees.build(bodies, GRAVITY, "full").compile()
    a, tau, elastic, straight = *rng.normal(size=(2, model.nv)), np.zeros(model.nv), state.q.copy()
    bent, i, j = state.v.copy(), 0, 0
    for body in bodies:
        nq, nv, n = dense_tree.sizes(body)
        if n:
            eta, speeds = slice(i + nq, i + nq + n), slice(j + nv, j + nv + n)
            elastic[speeds] = body["K"] @ state.q[eta]
            straight[eta] = bent[speeds] = 0.0
        i, j = i + nq + n, j + nv + n
    here, there = lm.State(state.q, bent), lm.State(straight, bent)
    expected = dynamics.inverse_dynamics(full, there, a) + elastic
    assert close(dynamics.inverse_dynamics(model, here, a), expected, 1e-13)
    expected = dynamics.forward_dynamics(full, there, tau - elastic)
    assert close(dynamics.forward_dynamics(model, here, tau), expected, 1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_power_balance(seed):
    """dE/dt = τ·v − dissipation, along the motion that forward dynamics gives (complex step)."""
    rng, bodies, model, state = random_case(seed, 6)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau)
    h = 1e-30
    moved = lm.State(model.group.retract(state.q.astype(complex), 1j * h * state.v), state.v + 1j * h * a)
    power = dynamics.balance(model, moved).energy.imag / h
    damping = dense_tree._per_speed(bodies, "damping")
    lost = np.sum(damping * state.v**2)
    for body, _, _, _, etad in dense_tree.split(bodies, state.q, state.v):
        if body["n_modes"]:
            lost += etad @ body["D"] @ etad
    assert power == pytest.approx(tau @ state.v - lost, rel=1e-11)


def test_momentum_is_conserved_without_outer_forces():
    """A floating tree without gravity: the rate of its spatial momentum is zero whatever its joints do."""
    rng = np.random.default_rng(5)
    bodies = trees.describe(rng, 6)
    bodies[0]["joint"] = {"name": "Free", "given": {}, "kind": "free"}
    for body in bodies[1:]:
        body["parent"] = max(body["parent"], 0)
        body.pop("at_node", None)
        body["at"] = {"pose": SE3.random(rng=rng)}
    model = trees.build(bodies, (0.0, 0.0, 0.0)).compile()
    state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    tau[:6] = 0.0
    a = dynamics.forward_dynamics(model, state, tau)
    h = 1e-30
    moved = lm.State(model.group.retract(state.q.astype(complex), 1j * h * state.v), state.v + 1j * h * a)
    rate = dynamics.balance(model, moved).momentum.imag / h
    assert np.abs(rate).max() <= 1e-12 * np.abs(dynamics.balance(model, state).momentum).max() * np.abs(a).max()


def test_stiff_modes_tend_to_the_rigid_tree():
    """The difference to the rigid tree falls like one over the stiffness."""
    rng = np.random.default_rng(3)
    bodies = trees.describe(rng, 4, joints=("Revolute", "Universal"), flexible=1.0)
    rigid = [{**b, "joint": b["joint"]} for b in bodies]
    for body in rigid:
        pieces = [{**p, "modes": np.zeros((6, 0))} for p in body["pieces"]]
        body.update(n_modes=0, pieces=_merge(pieces), child_at={"pose": body["child_at"]["pose"]})
        body["at"] = {"pose": body["at"]["pose"]}
        body.pop("at_node", None)
    reference = trees.build(rigid, GRAVITY).compile()
    state = reference.state(0.3 * rng.normal(size=reference.nv), rng.normal(size=reference.nv))
    expected = dynamics.forward_dynamics(reference, state)
    errors = []
    for factor in (1e4, 1e5, 1e6):
        stiff = [{**b, "K": factor * np.asarray(b["K"]), "D": 0.0 * np.asarray(b["D"])} for b in bodies]
        model = trees.build(stiff, GRAVITY).compile()
        names = {n: state.q[reference.group.q[n]] for n in reference.group.q}
        speeds = {n: state.v[reference.group.v[n]] for n in reference.group.v}
        # With the rigid tree's accelerations and still modes, the deformation that carries the load: K η = −(the rest).
        eta = {f"b{i}": np.zeros(3) for i in range(4)}
        still = {n: expected[reference.group.v[n]] for n in reference.group.v}
        for _ in range(4):
            tau = dynamics.inverse_dynamics(model, model.state({**names, **eta}, speeds), still)
            for i in range(4):
                eta[f"b{i}"] = eta[f"b{i}"] - np.linalg.solve(stiff[i]["K"], tau[model.group.v[f"b{i}"]])
        # The rigid tree needs no torque for these accelerations.
        tau = dynamics.inverse_dynamics(model, model.state({**names, **eta}, speeds), still)
        errors.append(np.linalg.norm([*(x for n in reference.group.v for x in tau[model.group.v[n]])]))
    bias = np.linalg.norm(dynamics.inverse_dynamics(reference, state))
    assert errors[0] < 1e-2 * bias
    assert errors[1] == pytest.approx(errors[0] / 10, rel=0.1)
    assert errors[2] == pytest.approx(errors[1] / 10, rel=0.1)


def _merge(pieces):
    """One rigid piece with the mass, centre and inertia of all."""
    mass = sum(p["mass"] for p in pieces)
    points = [(p["mass"], p["position"] + p["com"], p["inertia"]) for p in pieces]
    center = sum(m * r for m, r, _ in points) / mass
    inertia = sum(
        J + m * (np.dot(r - center, r - center) * np.eye(3) - np.outer(r - center, r - center)) for m, r, J in points
    )
    return [{"position": np.zeros(3), "modes": np.zeros((6, 0)), "mass": mass, "com": center, "inertia": inertia}]


def test_order_of_bodies_and_joints_does_not_matter():
    rng, bodies, model, state = random_case(7, 8)
    tree = trees.build(bodies, GRAVITY)
    bodies, joints = ([parts[i] for i in rng.permutation(8)] for parts in (tree.bodies, tree.joints))
    shuffled = lm.Tree(bodies, joints, gravity=GRAVITY, any_order=True).compile()
    q = {name: state.q[place] for name, place in model.group.q.items()}
    v = {name: state.v[place] for name, place in model.group.v.items()}
    a = dynamics.forward_dynamics(model, state)
    b = dynamics.forward_dynamics(shuffled, shuffled.state(q, v))
    for name in model.group.v:
        assert b[shuffled.group.v[name]] == pytest.approx(a[model.group.v[name]], rel=1e-9, abs=1e-9)


def test_moving_the_world_changes_nothing():
    """The whole tree, gravity included, in another world frame."""
    rng, bodies, model, state = random_case(9, 6)
    X = SE3.random(rng=rng, extent=10.0)
    moved = [{**b, "at": {"pose": X @ b["at"]["pose"]}} if b["parent"] < 0 else b for b in bodies]
    other = trees.build(moved, X[:3, :3] @ GRAVITY).compile()
    a = dynamics.forward_dynamics(model, state)
    assert dynamics.forward_dynamics(other, state) == pytest.approx(a, rel=1e-10, abs=1e-10)


@pytest.mark.slow
def test_a_model_that_does_not_fit_into_the_cache_gives_the_same_bits():
    """Its data are asked for ahead of their use, also beyond the end of those of the last body."""
    rng, _, model, state = random_case(109, 6, flexible=1.0, n_modes=5)
    u, found = model.drive("tau", rng.normal(size=model.nv), None, 0.0), []
    for floats in (model.floats, np.append(model.floats, np.full(2**16, np.nan))):
        found.append(np.empty(model.nv))
        assert articulated.forward_dynamics(model.ints, floats, state.q, state.v, u, model.workspace(), found[-1]) == 0
    np.testing.assert_array_equal(*found)


@pytest.mark.kernels
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_poisoned_workspace_gives_the_same_bits(fidelity):
    """No pass reads what it did not write, and a second call on the same workspace changes nothing."""
    rng, _, model, state = random_case(11, 6, fidelity)
    force = model.drive("tau", rng.normal(size=model.nv), None, 0.0)
    I, F = model.ints, model.floats

    def solve(W, out):
        articulated.solve(I, F, state.q, force, 0.3, 0.7, W, out)

    def energies(W, out):
        kinematics.poses(I, F, state.q, W)
        kinematics.velocities(I, F, state.q, state.v, W)
        inertia.inertias(I, F, state.q, W)
        world = np.full(12 * (len(model.bodies) + 1), np.nan)
        kinematics.world_poses(I, W, world, 0)
        observe.energies(I, F, state.q, state.v, force, W, world, out)

    def joint_forces(W, out):
        inverse.inverse_dynamics(I, F, state.q, state.v, force, W, np.empty(model.nv))
        out[:] = [W[i * layout.WORK_SIZE + layout.FOR + k] for i in range(len(model.bodies)) for k in range(6)]

    calls = {
        "forward dynamics": (
            lambda W, out: articulated.forward_dynamics(I, F, state.q, state.v, force, W, out),
            model.nv,
        ),
        "inverse dynamics": (lambda W, out: inverse.inverse_dynamics(I, F, state.q, state.v, force, W, out), model.nv),
        "mass matrix": (lambda W, out: composite.mass_matrix(I, F, state.q, W, out), (model.nv, model.nv)),
        "solve": (solve, model.nv),
        "energies": (energies, 13),
        "joint forces": (joint_forces, 6 * len(model.bodies)),
    }
    for function, shape in calls.values():
        work = model.workspace()
        assert np.isnan(work).all()
        first, second, third = (np.full(shape, np.nan) for _ in range(3))
        function(work, first)
        function(work, second)
        work[:] = np.nan
        function(work, third)
        assert np.isfinite(first).all()
        assert first.tobytes() == second.tobytes() == third.tobytes()


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_solve_is_the_inverse_of_the_mass_matrix_with_added_blocks(fidelity):
    """(M + αD + βK) x = r for rigid and flexible trees; K and D from the description."""
    rng, bodies, model, state = random_case(21, 8, fidelity)
    r = rng.normal(size=model.nv)
    M = dynamics.mass_matrix(model, state)
    assert close(M @ dynamics.solve(model, state, r), r, 1e-11)
    K, D = (np.diag(dense_tree._per_speed(bodies, name)) for name in ("stiffness", "damping"))
    j = 0
    for body in bodies:
        _, nv, n = dense_tree.sizes(body)
        if n:
            block = slice(j + nv, j + nv + n)
            K[block, block], D[block, block] = body["K"], body["D"]
        j += nv + n
    x = dynamics.solve(model, state, r, alpha=0.3, beta=0.7)
    assert close((M + 0.3 * D + 0.7 * K) @ x, r, 1e-11)


def test_locked_speeds_do_not_accelerate_and_their_forces_are_found():
    """Against the dense equations with rows and columns left out; the force is what the rest leaves over."""
    rng, bodies, model, state = random_case(23, 6)
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    tau = rng.normal(size=model.nv)
    movable = [name for name in model.joints if name in model.group.v]
    whole, part = movable[0], movable[-1]
    locked = model.lock(whole, speeds={part: [0]})
    fixed = np.zeros(model.nv, dtype=bool)
    fixed[model.group.v[whole]] = True
    fixed[model.group.v[part].start] = True
    assert (locked.locked == fixed).all()
    a = dynamics.forward_dynamics(locked, state, tau)
    expected = np.zeros(model.nv)
    expected[~fixed] = np.linalg.solve(M[np.ix_(~fixed, ~fixed)], (tau - h)[~fixed])
    assert close(a, expected, 1e-10)
    assert (a[fixed] == 0.0).all()
    assert close(dynamics.lock_forces(locked, state, tau), np.where(fixed, M @ expected + h - tau, 0.0), 1e-10)
    # nothing is compiled, and the model itself is as it was
    assert not model.locked.any()
    assert not locked.lock().locked.any()
    assert close(dynamics.forward_dynamics(model, state, tau), np.linalg.solve(M, tau - h), 1e-10)


def test_derivatives_of_forward_and_inverse_dynamics():
    """∂a/∂τ = M⁻¹, ∂τ/∂a = M, and ∂a = −M⁻¹ ∂τ at the same motion; ∂τ/∂q against a central difference."""
    rng, _, model, state = random_case(25, 5)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau)
    forward = dynamics.forward_derivatives(model, state, tau)
    backward = dynamics.inverse_derivatives(model, state, a)
    M = dynamics.mass_matrix(model, state)
    assert close(backward.last, M, 1e-13)
    assert close(M @ forward.last, np.eye(model.nv), 1e-11)
    assert close(M @ forward.q, -backward.q, 1e-9)
    assert close(M @ forward.v, -backward.v, 1e-9)
    step = 1e-5
    for i in rng.choice(model.nv, 4, replace=False):
        e = step * np.eye(model.nv)[i]
        ends = [lm.State(model.group.retract(state.q, s * e), state.v) for s in (1.0, -1.0)]
        high, low = (dynamics.inverse_dynamics(model, s, a) for s in ends)
        assert close((high - low) / (2 * step), backward.q[:, i], 1e-6)


@pytest.mark.parametrize("speed", [0.0, 0.003, 0.5, -5.0, 500.0])
def test_derivatives_with_friction(speed):
    """Friction c·tanh(v/s) of a hinge with the inertia J: ∂a/∂v = −c/(s J cosh²(v/s)), also where tanh is 1."""
    hinge = lm.Revolute(name="hinge", parent="world", child="wheel", axis=(0, 0, 1), friction=1.5, friction_speed=1e-2)
    model = lm.Tree([lm.Body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0))], [hinge]).compile()
    found = dynamics.forward_derivatives(model, model.state(v=[speed]))
    wanted = -1.5 / (1e-2 * 2.0 * np.cosh(min(abs(speed) / 1e-2, 300.0)) ** 2)
    assert found.v[0, 0] == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    assert found.last[0, 0] == pytest.approx(0.5)
    assert found.q[0, 0] == 0.0


def test_a_spring_of_no_length_is_stiff_where_its_ends_meet():
    slide = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    block = lm.Body("block", mass=2.0, inertia=(1.0, 1.0, 1.0))
    for length, wanted in ((0.0, -25.0), (0.1, 0.0)):
        spring = lm.SpringDamper(name="spring", a="world", b="block", stiffness=50.0, length=length)
        model = lm.Tree([block], [slide], forces=[spring], gravity=(0, 0, 0)).compile()
        assert dynamics.forward_dynamics(model, model.state()) == 0.0
        assert dynamics.forward_derivatives(model, model.state()).q[0, 0] == pytest.approx(wanted)


FUNCTIONS = [
    dynamics.forward_dynamics,
    dynamics.inverse_dynamics,
    dynamics.mass_matrix,
    dynamics.mass_matrix_inverse,
    dynamics.joint_forces,
    dynamics.lock_forces,
    dynamics.balance,
    dynamics.body_poses,
    dynamics.forward_derivatives,
    operators.operators,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_state_of_another_model_is_refused(function):
    _, _, model, state = random_case(31, 4)
    _, _, _, other = random_case(32, 5)
    with pytest.raises(InputError, match=r"expected \(\d+,\) and \(\d+,\): it is of another model"):
        function(model, other)
    for wrong, words in (
        (lm.State(state.q, np.full(model.nv, np.nan)), r"the state's v\[0\] is nan, expected finite numbers"),
        (lm.State(state.q, state.v[:, np.newaxis]), r"speeds of shape \(\d+, 1\)"),
        (state.q, "expected a State: model.state"),
    ):
        with pytest.raises(InputError, match=words):
            function(model, wrong)


def test_reaction_forces_balance_each_body():
    """A hanging chain at rest: each joint carries what hangs below it, in the world's axes."""
    n = 4
    bodies = [lm.Body(f"b{i}", mass=1.0 + i, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01)) for i in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{i}",
            parent="world" if i == 0 else f"b{i - 1}",
            child=f"b{i}",
            at=(0, 0, -1.0 * (i > 0)),
            axis=(0, 1, 0),
        )
        for i in range(n)
    ]
    model = lm.Tree(bodies, joints).compile()
    forces = dynamics.joint_forces(model, model.state())
    for i in range(n):
        weight = 9.81 * sum(1.0 + k for k in range(i, n))
        assert forces[f"j{i}"] == pytest.approx([0, 0, 0, 0, 0, weight], abs=1e-12)


def joint_twist(joint, q, v):
    """Of D relative to J in D, by the oracle's dual numbers."""
    X = dense_tree.joint_pose(joint, q, v)
    spin, R = X.A[:3, :3].T @ X.B[:3, :3], X.A[:3, :3]
    return np.concatenate([[spin[2, 1], spin[0, 2], spin[1, 0]], R.T @ X.B[:3, 3]]), X.A


@pytest.mark.parametrize("seed", [140, 141, 143])
def test_reactions_at_every_joint_agree_with_the_oracle(seed):
    """A joint is cut, and moves as a free one would if it moved so: what that takes is what the joint transmits."""
    rng, bodies, model, state = random_case(seed, 5, flexible=0.7)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau)
    found = dynamics.joint_forces(model, state, tau)
    step, on_nodes = dense_tree.STEP, 0
    qs, vs, parts = state.q, state.v, list(dense_tree.split(bodies, state.q, state.v))
    moved = list(dense_tree.split(bodies, dense_tree.retract(bodies, qs, 1j * step * vs), vs + 1j * step * a))
    start = 0
    for i, (body, qj, vj, eta, etad) in enumerate(parts):
        on_nodes += "at_node" in body
        twist, X = joint_twist(body["joint"], qj, vj)
        rate = joint_twist(body["joint"], moved[i][1], moved[i][2])[0].imag / step
        quaternion = SO3Q.exp(SO3.log(X[:3, :3]))
        free = [*bodies[:i], {**body, "joint": {"kind": "free"}}, *bodies[i + 1 :]]
        before = sum(sum(dense_tree.sizes(b)[::2]) for b in bodies[:i])
        q = np.concatenate([qs[:before], quaternion, X[:3, 3], qs[before + len(qj) :]])
        v, dv = (np.concatenate([x[:start], y, x[start + len(vj) :]]) for x, y in ((vs, twist), (a, rate)))
        M, h = dense_tree.equations(free, GRAVITY, q, v)
        wrench = (M @ dv + h)[start : start + 6]
        # from D to B, whose frame the wrench is reported in
        at = body["child_at"]
        inner = dense_tree.node_pose(at, eta, etad).A if "modes" in at else np.asarray(at["pose"])
        assert close(found[f"j{i}"], SE3.Ad(np.linalg.inv(inner)).T @ wrench, 1e-9)
        start += len(vj) + len(eta)
    assert on_nodes > 0


def test_a_pendulum_swings_as_in_the_book():
    """θ̈ = −m g l sin θ/(J + m l²)."""
    body = lm.Body("bob", mass=2.0, com=(0, 0, -0.7), inertia=(0.3, 0.2, 0.1))
    model = lm.Tree([body], [lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0))]).compile()
    a = dynamics.forward_dynamics(model, model.state({"hinge": 0.4}, {"hinge": 1.0}), {"hinge": 0.5})
    assert a == pytest.approx([(0.5 - 2.0 * 9.81 * 0.7 * np.sin(0.4)) / (0.2 + 2.0 * 0.49)], rel=1e-14)


def _coaxial(rng, light, kind):
    """Two joints one behind the other that do the same, and between them a body that weighs nothing, or little."""
    axis, A = rng.normal(size=3), rng.normal(size=(3, 3))
    end = lm.Body("end", mass=1.0, com=rng.normal(size=3), inertia=np.trace(A @ A.T) * np.eye(3) - A @ A.T)
    given = {} if kind is lm.Spherical else {"axis": axis}
    place = rng.normal() * axis if kind is lm.Revolute else (0, 0, 0)
    joints = [kind(name="first", parent="world", child="between", **given)]
    joints.append(kind(name="second", parent="between", child="end", at=place, **given))
    between = lm.Body("between", mass=light, inertia=light * np.ones(3))
    model = lm.Tree([between, end], joints, gravity=GRAVITY).compile()
    state = model.state(model.group.exp(rng.normal(size=model.nv)), rng.normal(size=model.nv))
    return model, state, rng.normal(size=model.nv)


@pytest.mark.parametrize("kind", [lm.Revolute, lm.Prismatic, lm.Spherical])
def test_what_cancels_between_joints_is_no_inertia(kind):
    """Round-off is now positive and now negative: it is never divided by."""
    for seed in range(60):
        model, state, tau = _coaxial(np.random.default_rng(seed), 0.0, kind)
        with pytest.raises(DynamicsError, match=r"joint 'first' .* the inertia that it moves is not positive"):
            dynamics.forward_dynamics(model, state, tau)
        with pytest.raises(DynamicsError, match="joint 'first'"):
            dynamics.forward_derivatives(model, state, tau)
        with pytest.raises(DynamicsError, match="joint 'first'"):
            dynamics.solve(model, state, tau)


@pytest.mark.parametrize("kind", [lm.Revolute, lm.Prismatic, lm.Spherical])
def test_light_bodies_between_joints(kind):
    """A ten-thousand-millionth is little, but no round-off."""
    for seed in range(20):
        model, state, tau = _coaxial(np.random.default_rng(seed), 1e-10, kind)
        a = dynamics.forward_dynamics(model, state, tau)
        back = dynamics.inverse_dynamics(model, state, a)
        assert np.abs(back - tau).max() < 1e-13 * np.abs(a).max()
        # what is light moves by itself: its own acceleration is right to what is left of sixteen digits
        exact = np.linalg.solve(dynamics.mass_matrix(model, state), tau - dynamics.inverse_dynamics(model, state))
        assert close(a, exact, 1e-4)
