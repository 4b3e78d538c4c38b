"""Force elements and wheels: against the oracle, against theorems, and against what each should do by itself."""

from __future__ import annotations

import numpy as np
import pytest
import trees
from oracles import dense_tree

from liegeo import dynamics, operators
from liegeo import model as lm
from liegeo.kernels import articulated, inverse
from liegeo.lie import SE3, SO3

GRAVITY = (0.3, -0.5, -9.0)
STEP = 1e-30


def random_case(seed, n_bodies=4, n_wheels=2, fidelity="full", **options):
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, n_bodies, **options)
    trees.add_wheels(rng, bodies, n_wheels)
    theirs, ours = trees.add_forces(rng, bodies)
    model = trees.build(bodies, GRAVITY, fidelity, forces=ours).compile()
    state = model.state(model.group.exp(0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    return rng, bodies, theirs, model, state


def close(a, b, tolerance):
    return np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


def moved(model, state, a):
    """The state a complex step along its motion."""
    return lm.State(model.group.retract(state.q.astype(complex), 1j * STEP * state.v), state.v + 1j * STEP * a)


@pytest.mark.parametrize("seed", range(200, 206))
def test_wheels_forces_and_locks_agree_with_the_oracle(seed):
    """Random trees, rigid and flexible; wheels and forces anywhere; two joints and a wheel locked."""
    rng, bodies, elements, model, state = random_case(seed)
    M, h = dense_tree.equations(bodies, GRAVITY, state.q, state.v)
    Q = dense_tree.element_forces(bodies, elements, state.q, state.v)
    tau = rng.normal(size=model.nv)
    assert close(dynamics.mass_matrix(model, state), M, 1e-13)
    assert close(dynamics.inverse_dynamics(model, state), h - Q, 1e-12)
    expected = np.linalg.solve(M, tau + Q - h)
    for method in ("articulated", "direct", "composite"):
        assert close(dynamics.forward_dynamics(model, state, tau, method=method), expected, 1e-10)
    locked = model.lock(*rng.choice([j for j in model.joints if j in model.group.v], 3, replace=False))
    free = ~locked.locked
    expected = np.zeros(model.nv)
    expected[free] = np.linalg.solve(M[np.ix_(free, free)], (tau + Q - h)[free])
    for method in ("articulated", "direct", "composite"):
        assert close(dynamics.forward_dynamics(locked, state, tau, method=method), expected, 1e-10)
    holding = dynamics.lock_forces(locked, state, tau)
    assert close(holding, np.where(free, 0.0, M @ expected + h - Q - tau), 1e-10)


def test_random_cases_have_everything():
    """The seeds above put wheels and forces on rigid bodies, on nodes that bend, and on the world."""
    wheels, forces = set(), set()
    for seed in range(200, 206):
        _, bodies, elements, _, _ = random_case(seed)
        wheels |= {"at_node" in body for body in bodies if body["joint"]["kind"] == "wheel"}
        ends = [element[k] for element in elements for k in "ab" if k in element]
        forces |= {"world" if body < 0 else "modes" in place for body, place in ends}
    assert wheels == {True, False}
    assert forces == {"world", True, False}


@pytest.mark.parametrize("seed", range(200, 203))
def test_power_balance_and_energy(seed):
    """dE/dt is the power of the loads and torques less what dampers take; E is the oracle's."""
    rng, bodies, elements, model, state = random_case(seed)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau)
    power = dynamics.balance(model, moved(model, state, a)).energy.imag / STEP
    springs = [{**e, "stiffness": 0.0 * np.asarray(e["stiffness"])} for e in elements if e["kind"] != "load"]
    given = dense_tree.element_forces(bodies, [e for e in elements if e["kind"] == "load"], state.q, state.v) + tau
    lost = dense_tree._per_speed(bodies, "damping") * state.v
    for body, place in ((b, model.group.v.get(f"b{i}")) for i, b in enumerate(bodies)):
        if body["n_modes"]:
            lost[place] = body["D"] @ state.v[place]
    damped = dense_tree.element_forces(bodies, springs, state.q, state.v)
    assert power == pytest.approx((given + damped - lost) @ state.v, rel=1e-10)
    energy = dense_tree.energy(bodies, GRAVITY, state.q, state.v)
    energy += sum(dense_tree.element_energy(bodies, e, state.q) for e in elements if e["kind"] != "load")
    assert dynamics.balance(model, state).energy == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_root_reaction_carries_everything(seed):
    """Newton and Euler for the whole: reaction at the root + weight + loads = rate of momentum about the origin."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, 4, flexible=0.7)
    for body in bodies[1:]:
        body["parent"] = max(body["parent"], 0)
        if "at_node" not in body:
            body["at"] = {"pose": SE3.random(rng=rng)}
    trees.add_wheels(rng, bodies, 1)
    places = [f"b{i}.n{k}" if b["n_modes"] else f"b{i}" for i, b in enumerate(bodies[:4]) for k in (0, 3)][1::2]
    loads = [lm.PointForce(name=f"f{i}", at=at, axes=("world", "body")[i % 2]) for i, at in enumerate(places)]
    model = trees.build(bodies, GRAVITY, forces=loads).compile()
    state = model.state(model.group.exp(0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    inputs = {load.name: rng.normal(size=6) for load in loads}
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(model, state, tau, inputs)
    rate = dynamics.balance(model, moved(model, state, a)).momentum.imag / STEP
    total = dynamics.balance(model, state)
    weight = total.mass * np.array(GRAVITY)
    outer = np.concatenate([np.cross(total.center, weight), weight])
    for load, at in zip(loads, places, strict=True):
        X = dynamics.frame_pose(model, state, at)
        if load.axes == "world":
            X[:3, :3] = np.eye(3)
        outer += SE3.AdT(SE3.inverse(X)) @ inputs[load.name]
    root = dynamics.joint_forces(model, state, tau, inputs)["j0"]
    outer += SE3.AdT(SE3.inverse(dynamics.body_poses(model, state)["b0"])) @ root
    assert close(outer, rate, 1e-9)


def test_a_wheel_is_a_symmetric_body_on_a_hinge():
    """The same accelerations as a rotor on a Revolute joint, at any angle of that; on a node that bends, too."""
    rng = np.random.default_rng(5)
    bodies = trees.describe(rng, 3, flexible=1.0, joints=("Spherical", "Universal"))
    axis = np.array([0.6, 0.0, 0.8])
    wheel = lm.Wheel(name="wheel", body="b1", at="n2", inertia=0.3, transverse=0.2, mass=0.4, axis=axis)
    tree = trees.build(bodies, GRAVITY)
    embedded = lm.Tree(tree.bodies, tree.joints, GRAVITY, wheels=[wheel]).compile()
    hinge = lm.Revolute(name="wheel", parent="b1", child="rotor", at="n2", axis=axis)
    rotor = lm.Body("rotor", 0.4, inertia=0.2 * np.eye(3) + 0.1 * np.outer(axis, axis))
    hinged = lm.Tree([*tree.bodies, rotor], [*tree.joints, hinge], GRAVITY).compile()
    q, v, tau = embedded.group.exp(0.3 * rng.normal(size=embedded.nv)), rng.normal(size=embedded.nv), rng.normal(size=1)
    v[embedded.group.v["wheel"]] = 50.0
    a = dynamics.forward_dynamics(embedded, embedded.state(q, v), {"wheel": tau})
    assert close(dynamics.forward_dynamics(hinged, hinged.state(q, v), {"wheel": tau}), a, 1e-11)
    # the angle of a wheel moves nothing, not even in the last bit
    q[embedded.group.q["wheel"]] += 1.0
    assert (dynamics.forward_dynamics(embedded, embedded.state(q, v), {"wheel": tau}) == a).all()


@pytest.mark.parametrize("across", [0.2, 0.05])
def test_a_wheel_without_transverse_inertia(across):
    """What a rotor has across its axis may stand in the wheel or in its carrier: the equations are the same."""
    axis = np.array([0.6, 0.0, 0.8])
    J = np.diag([3.0, 4.0, 5.0])
    v, tau = np.array([0.1, -0.2, 0.3, 1.0, 0.0, -1.0, 100.0]), [0.3, 0.2, -0.1, 1.0, 2.0, 3.0, 0.7]
    found = []
    for transverse in (0.0, across):
        carrier = J + (across - transverse) * (np.eye(3) - np.outer(axis, axis))
        wheel = lm.Wheel(name="wheel", body="bus", axis=axis, inertia=0.3, transverse=transverse)
        joint = lm.Free(name="float", parent="world", child="bus")
        model = lm.Tree([lm.Body("bus", 10.0, inertia=carrier)], [joint], GRAVITY, wheels=[wheel]).compile()
        state = model.state(v=v)
        found.append((dynamics.forward_dynamics(model, state, tau), dynamics.mass_matrix(model, state)))
    for a, b in zip(*found, strict=True):
        assert close(a, b, 1e-13)
    # Euler's equations of a gyrostat with H = J w + 0.3 Ω a: nothing across the axis is in the wheel's own inertia
    w, spin, torque = v[:3], v[6], np.array(tau[:3])
    whole = J + across * (np.eye(3) - np.outer(axis, axis)) + 0.3 * np.outer(axis, axis)
    H = whole @ w + 0.3 * spin * axis
    expected = np.linalg.solve(whole - 0.3 * np.outer(axis, axis), torque - np.cross(w, H) - tau[6] * axis)
    assert found[0][0][:3] == pytest.approx(expected, rel=1e-12)


def test_momentum_of_wheels():
    """H = I w + h [ST21, (53)]; a motor moves momentum between wheel and body and makes none."""
    axes = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0, 0.8]])
    J = np.diag([3.0, 4.0, 5.0])
    wheels = [lm.Wheel(name=f"w{i}", body="bus", axis=a, inertia=0.1, transverse=0.06) for i, a in enumerate(axes)]
    joint = lm.Free(name="float", parent="world", child="bus")
    model = lm.Tree([lm.Body("bus", 10.0, inertia=J)], [joint], (0, 0, 0), wheels=wheels).compile()
    w, speeds = np.array([0.1, -0.2, 0.3]), np.array([100.0, -50.0, 20.0])
    state = model.state(v={"float": [*w, 0, 0, 0], **{f"w{i}": s for i, s in enumerate(speeds)}})
    whole = J + sum(0.06 * np.eye(3) + 0.04 * np.outer(a, a) for a in axes)
    H = whole @ w + 0.1 * speeds @ axes
    assert dynamics.balance(model, state).momentum[:3] == pytest.approx(H, rel=1e-14)
    torque = {"w0": 0.5, "w1": -0.3, "w2": 0.2}
    a = dynamics.forward_dynamics(model, state, torque)
    # Euler's equation of the carrier, wheels embedded: (I − Σ J aaᵀ) ẇ = −w×H − Σ τ a
    reduced = whole - 0.1 * axes.T @ axes
    expected = np.linalg.solve(reduced, -np.cross(w, H) - np.array(list(torque.values())) @ axes)
    assert a[:3] == pytest.approx(expected, rel=1e-12)
    assert a[6:] == pytest.approx(np.array(list(torque.values())) / 0.1 - axes @ expected, rel=1e-12)
    rate = dynamics.balance(model, moved(model, state, a)).momentum.imag / STEP
    assert np.abs(rate).max() < 1e-13 * np.abs(H).max()


def pendulum(*forces, **joint):
    body = lm.Body("bob", mass=2.0, com=(0, 0, -0.7), inertia=(0.3, 0.2, 0.1), frames={"tip": (0, 0, -1.0)})
    hinge = lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0), **joint)
    return lm.Tree([body], [hinge], gravity=(0, 0, 0), forces=forces).compile()


INERTIA = 0.2 + 2.0 * 0.49


def test_actuators_gear_limit_and_rotor():
    model = pendulum(lm.Actuator(name="motor", joint="hinge", gear=10.0, limit=2.0, inertia=0.01))
    state = model.state()
    for given, felt in ((1.5, 1.5), (3.0, 2.0), (-5.0, -2.0)):
        a = dynamics.forward_dynamics(model, state, {"hinge": 1.0}, {"motor": given})
        assert a == pytest.approx([(1.0 + 10.0 * felt) / (INERTIA + 100.0 * 0.01)], rel=1e-14)
        assert dynamics.inverse_dynamics(model, state, a, {"motor": given}) == pytest.approx([1.0], rel=1e-13)
        assert dynamics.inverse_dynamics(model, state, a) == pytest.approx([1.0 + 10.0 * felt], rel=1e-13)
    assert model.nu == 1
    assert dynamics.forward_dynamics(model, state, inputs=[0.1]) == pytest.approx([1.0 / (INERTIA + 1.0)], rel=1e-14)


def test_friction_opposes_motion_and_is_full_beyond_its_speed():
    model = pendulum(friction=0.5, friction_speed=0.01)
    for v, force in ((1.0, -0.5), (-1.0, 0.5), (0.0, 0.0), (0.005, -0.5 * np.tanh(0.5))):
        a = dynamics.forward_dynamics(model, model.state(v={"hinge": v}))
        assert a == pytest.approx([force / INERTIA], rel=1e-14, abs=1e-15)
    slope = dynamics.forward_derivatives(model, model.state(v={"hinge": 0.005})).v
    assert slope == pytest.approx(np.array([[-0.5 / 0.01 / np.cosh(0.5) ** 2 / INERTIA]]), rel=1e-13)


def test_forces_in_world_and_body_axes():
    """At 90°, the tip is at +x·(−1): a force along world z turns it, one along body z does not."""
    for axes, wrench, expected in (
        ("world", (0, 0, 0, 0, 0, 3.0), 3.0),
        ("body", (0, 0, 0, 0, 0, 3.0), 0.0),
        ("body", (0, 0, 0, 3.0, 0, 0), -3.0),
        ("world", (0, 2.0, 0, 0, 0, 0), 2.0),
    ):
        model = pendulum(lm.PointForce(name="push", at="bob.tip", axes=axes))
        a = dynamics.forward_dynamics(model, model.state({"hinge": np.pi / 2}), inputs={"push": wrench})
        assert a == pytest.approx([expected / INERTIA], abs=1e-15)


def test_a_spring_pulls_along_its_line_and_rests_at_its_length():
    spring = lm.SpringDamper(name="s", a="bob.tip", b=("world", (1.0, 0, -1.0)), stiffness=50.0, length=0.4)
    model = pendulum(spring)
    # 0.6 m too long, along x at the tip, one metre below the hinge: moment about y is −1 × force in x
    assert dynamics.forward_dynamics(model, model.state()) == pytest.approx([-30.0 / INERTIA], rel=1e-14)
    assert dynamics.balance(model, model.state()).elastic == pytest.approx(0.5 * 50.0 * 0.36, rel=1e-14)
    # of no length it has no direction and no force
    touching = pendulum(lm.SpringDamper(name="s", a="bob.tip", b=("world", (0, 0, -1.0)), stiffness=50.0))
    assert dynamics.forward_dynamics(touching, touching.state()) == 0.0


def test_a_bushing_holds_what_a_joint_would():
    """A stiff bushing on a free body: static equilibrium with the weight, displacement = weight/stiffness."""
    body = lm.Body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    bushing = lm.Bushing(name="mount", a="world", b="block", stiffness=(10, 10, 10, 1e4, 1e4, 1e4), damping=(1,) * 6)
    joint = lm.Free(name="free", parent="world", child="block")
    model = lm.Tree([body], [joint], forces=[bushing]).compile()
    sunk = model.state({"free": [1, 0, 0, 0, 0, 0, -2.0 * 9.81 / 1e4]})
    assert np.abs(dynamics.forward_dynamics(model, sunk)).max() < 1e-12
    # turned by 2 rad about an oblique axis it feels the stiffness times that angle, along that axis
    axis = np.array([0.48, 0.6, 0.64])
    turned = model.state({"free": [np.cos(1.0), *np.sin(1.0) * axis, 0, 0, -2.0 * 9.81 / 1e4]})
    assert dynamics.forward_dynamics(model, turned)[:3] == pytest.approx(-20.0 * axis / 0.1, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_frames_move_as_their_poses_say(seed):
    """Twist and its rate from differences of poses and twists along the motion; on nodes, frames and bodies."""
    rng, bodies, _, model, state = random_case(seed, flexible=0.7)
    a = rng.normal(size=model.nv)
    ahead = moved(model, state, a)
    everything = dynamics.body_motions(model, state, a)
    for i, body in enumerate(bodies[:4]):
        for name in (f"b{i}", *([f"b{i}.n0", f"b{i}.n3"] if body["n_modes"] else [])):
            motion, later = dynamics.frame_motion(model, state, name, a), dynamics.frame_motion(model, ahead, name)
            assert (motion.pose == dynamics.frame_pose(model, state, name)).all()
            V_hat = SE3.inverse(motion.pose) @ later.pose.imag / STEP
            assert motion.twist == pytest.approx([V_hat[2, 1], V_hat[0, 2], V_hat[1, 0], *V_hat[:3, 3]], abs=1e-12)
            assert motion.twist == pytest.approx(dynamics.frame_jacobian(model, state, name) @ state.v, abs=1e-12)
            assert motion.rate == pytest.approx(later.twist.imag / STEP, rel=1e-11, abs=1e-11)
            velocity = later.pose[:3, :3] @ later.twist[3:]
            assert motion.acceleration == pytest.approx(velocity.imag / STEP, rel=1e-10, abs=1e-10)
        assert everything[f"b{i}"].rate == pytest.approx(
            dynamics.frame_motion(model, state, f"b{i}", a).rate, abs=1e-12
        )


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_the_inverse_of_the_mass_matrix(fidelity):
    _, _, _, model, state = random_case(7, fidelity=fidelity)
    M = dynamics.mass_matrix(model, state)
    inverse_ = dynamics.mass_matrix_inverse(model, state)
    assert close(inverse_ @ M, np.eye(model.nv), 1e-11)
    assert np.abs(inverse_ - inverse_.T).max() < 1e-12 * np.abs(inverse_).max()
    assert close(operators.mass_matrix_inverse(model, state), inverse_, 1e-11)
    locked = model.lock(next(iter(model.group.v)))
    free = ~locked.locked
    part = dynamics.mass_matrix_inverse(locked, state)
    assert close(part[np.ix_(free, free)], np.linalg.inv(M[np.ix_(free, free)]), 1e-11)
    assert not part[~free].any()


@pytest.mark.parametrize("seed", range(300, 306))
def test_the_matrix_identity_gives_what_the_factorisation_gives(seed):
    """Ruthless models, both ways to D_f⁻¹: free-free and cantilever, branches, wheels, forces, derivatives."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, 6, flexible=0.7, n_modes=9)
    trees.add_wheels(rng, bodies, 2)
    _, ours = trees.add_forces(rng, bodies)
    ways = {
        w: trees.build(bodies, GRAVITY, "ruthless", forces=ours, modal_inverse=w).compile()
        for w in ("auto", "explicit", "identity")
    }
    model = ways["explicit"]
    state = model.state(model.group.exp(0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = dynamics.forward_dynamics(model, state, tau)
    assert close(dynamics.forward_dynamics(model, state, tau, method="direct"), expected, 1e-10)
    for way in ("identity", "auto"):
        assert close(dynamics.forward_dynamics(ways[way], state, tau), expected, 1e-10)
        assert close(dynamics.mass_matrix(ways[way], state), dynamics.mass_matrix(model, state), 1e-14)
        assert close(dynamics.inverse_dynamics(ways[way], state), dynamics.inverse_dynamics(model, state), 1e-13)
    lock = next(name for name in model.joints if name in model.group.v)
    assert close(
        dynamics.forward_dynamics(ways["identity"].lock(lock), state, tau),
        dynamics.forward_dynamics(model.lock(lock), state, tau),
        1e-10,
    )
    x = lm.State(state.q, state.v + 1j * STEP * tau)
    slope = dynamics.forward_dynamics(ways["identity"], x, tau).imag
    assert close(slope, dynamics.forward_dynamics(model, x, tau).imag, 1e-10)


def test_the_identity_is_chosen_from_eight_modes_on():
    """As reduced.py would be the faster: ruthless, eight modes, not more than one child for six of them."""

    def served(n_modes, fidelity, **options):
        bodies = trees.describe(np.random.default_rng(1), 2, flexible=1.0, n_modes=n_modes)
        model = trees.build(bodies, GRAVITY, fidelity, **options).compile()
        return [
            bool(model.ints[lm.model.at.HEADER + i * lm.model.at.BODY_I_SIZE + lm.model.at.REDUCED] >= 0)
            for i in (0, 1)
        ]

    assert served(8, "ruthless") == [True, True]
    assert served(7, "ruthless") == [False, False]
    assert served(7, "ruthless", modal_inverse="identity") == [True, True]
    assert served(8, "ruthless", modal_inverse="explicit") == [False, False]
    assert served(8, "full") == [False, False]


@pytest.mark.kernels
def test_poisoned_workspace_gives_the_same_bits_with_forces_and_wheels():
    rng = np.random.default_rng(311)
    bodies = trees.describe(rng, 4, flexible=0.7, n_modes=9)
    trees.add_wheels(rng, bodies, 1)
    _, ours = trees.add_forces(rng, bodies)
    for fidelity in ("full", "ruthless"):
        model = trees.build(bodies, GRAVITY, fidelity, forces=ours).compile()
        state = model.state(model.group.exp(0.3 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
        u = model.drive("tau", rng.normal(size=model.nv), rng.normal(size=model.nu), 0.0)
        for function in (articulated.forward_dynamics, inverse.inverse_dynamics):
            work = model.workspace()
            first, second = np.full(model.nv, np.nan), np.full(model.nv, np.nan)
            function(model.ints, model.floats, state.q, state.v, u, work, first)
            function(model.ints, model.floats, state.q, state.v, u, work, second)
            assert np.isfinite(first).all()
            assert first.tobytes() == second.tobytes()


def test_no_modes_is_the_rigid_path():
    """A flexible body from which all modes were left out gives the bits of the rigid body."""
    piece = lm.LumpedNode(np.zeros((6, 0)), (0.1, 0, 0), 2.0, (0, 0.2, 0), (0.3, 0.2, 0.2), name="tip")
    other = lm.LumpedNode(np.zeros((6, 0)), (0.5, 0, 0), 1.0, inertia=(0.1, 0.1, 0.1))
    flexible = lm.FlexibleBody.from_nodes("a", [piece, other], np.zeros((0, 0)))
    com = np.asarray(flexible.moment) / flexible.mass
    c = SO3.hat(com)
    rigid = lm.Body("a", flexible.mass, com, np.asarray(flexible.inertia) + flexible.mass * c @ c)
    results = []
    for body in (flexible, rigid):
        end = lm.Body("b", 1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))
        at = "tip" if body is flexible else (0.1, 0, 0)
        joints = [
            lm.Spherical(name="j", parent="world", child="a"),
            lm.Revolute(name="k", parent="a", child="b", at=at),
        ]
        model = lm.Tree([body, end], joints).compile()
        state = model.state(v=[0.1, 0.2, 0.3, 0.4])
        results.append(dynamics.forward_dynamics(model, state))
    assert results[0] == pytest.approx(results[1], rel=1e-13)
    assert len(results[0]) == 4
