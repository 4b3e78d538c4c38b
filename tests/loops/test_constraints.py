"""Constraints on random trees: residuals, their derivatives, and the dynamics against a dense saddle-point system."""

from __future__ import annotations

import numpy as np
import pytest
from closed import CUTS, cut, frames, on_constraints, order_of_contact, random_tree, with_loops
from oracles import dense_tree

from liegeo import dynamics
from liegeo import model as lm
from liegeo.kernels import layout as at
from liegeo.kernels import loops as loops_kernels

GRAVITY = (0.3, -0.5, -9.0)


def differences(model, state):
    """∂φ/∂q along the group, by central differences."""
    columns = []
    for e in np.eye(model.nv):
        forth, back = (
            dynamics.constraint_values(
                model, lm.State(model.group.retract(state.q, s * 1e-6 * e), 0 * state.v)
            ).residual
            for s in (1, -1)
        )
        columns.append((forth - back) / 2e-6)
    return np.stack(columns, axis=1)


def check(model, bodies, state, integrable=None):
    """Everything that must hold of a model whose loops are closed in this state."""
    assert np.abs(dynamics.constraint_values(model, state).residual).max() < 1e-12
    J = dynamics.constraint_jacobian(model, state)
    rows = slice(None) if integrable is None else integrable
    assert J[rows] == pytest.approx(differences(model, state)[rows], abs=2e-8)
    assert dynamics.constraint_values(model, state).rate == pytest.approx(J @ state.v, abs=1e-11)
    moving = on_constraints(model, state)
    a = dynamics.forward_dynamics(model, moving)
    assert np.abs(dynamics.constraint_values(model, moving, a=a).acceleration).max() < 1e-9
    # M and the bias from an oracle that shares no code
    M, h = dense_tree.equations(bodies, GRAVITY, moving.q, moving.v)
    force = M @ a + h
    multipliers = np.linalg.lstsq(J.T, force, rcond=1e-9)[0]
    assert J.T @ multipliers == pytest.approx(force, abs=1e-8 * np.abs(h).max())
    return moving, J, multipliers


@pytest.mark.kernels
@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("seed", [3, 4])
def test_cut_joints_of_every_kind(name, seed):
    rng, bodies, model, state = random_tree(100 * seed + CUTS.index(name))
    i, j = [int(k) for k in rng.permutation(6)[:2]] if seed == 3 else (-1, 5)
    closed = with_loops(bodies, [cut(rng, bodies, model, state, name, i, j)])
    moving, _, _ = check(closed, bodies, state)
    order, sizes = order_of_contact(closed, moving)
    assert order > 2.7 or sizes[1] < 1e-12


def test_several_loops_at_once():
    rng, bodies, model, state = random_tree(11, 8)
    loops = [
        cut(rng, bodies, model, state, "Revolute", 3, 7, "first"),
        cut(rng, bodies, model, state, "Spherical", -1, 5, "second"),
        cut(rng, bodies, model, state, "Planar", 1, 6, "third"),
    ]
    closed = with_loops(bodies, loops)
    moving, _, _ = check(closed, bodies, state)
    forces = dynamics.loop_forces(closed, moving)
    assert {name: force.shape for name, force in forces.items()} == {"first": (6,), "second": (6,), "third": (6,)}
    assert order_of_contact(closed, moving)[0] > 2.7


@pytest.mark.parametrize("seed", [12, 13])
def test_loops_do_no_work(seed):
    """Without dampers the rate of the energy is the power of the generalised forces, whatever the loops exert."""
    rng, bodies, model, state = random_tree(seed, 7)
    loops = [
        cut(rng, bodies, model, state, "Universal", 2, 6, "first"),
        cut(rng, bodies, model, state, "Prismatic", -1, 4, "second"),
    ]
    for body in bodies:
        body["joint"]["damping"] = 0.0 * body["joint"]["damping"]
        if body["n_modes"]:
            body["D"] = 0.0 * body["D"]
    closed = with_loops(bodies, loops)
    moving = on_constraints(closed, state)
    tau = rng.normal(size=closed.nv)
    a = dynamics.forward_dynamics(closed, moving, tau)
    assert np.abs(dynamics.loop_forces(closed, moving, tau)["first"]).max() > 0.1

    def energy(h):
        q = closed.group.retract(moving.q, h * moving.v + 0.5 * h * h * a)
        return dynamics.balance(closed, lm.State(q, moving.v + h * a)).energy

    rate = (energy(1e-5) - energy(-1e-5)) / 2e-5
    assert rate == pytest.approx(tau @ moving.v, abs=1e-5 * np.abs(tau).sum() * np.abs(moving.v).max())


# ---- constraints between frames that are no joints


@pytest.mark.parametrize("seed", [21, 22])
def test_a_distance(seed):
    rng, bodies, model, state = random_tree(seed)
    a, b, X_AB = frames(rng, bodies, model, state, 1, 4)
    rod = lm.Distance(name="rod", a=a, b=b, length=float(np.linalg.norm(X_AB[:3, 3])))
    closed = with_loops(bodies, [rod])
    moving, _, multipliers = check(closed, bodies, state)
    assert order_of_contact(closed, moving)[0] > 2.7
    # the rod pulls or pushes along itself, on the frame b, in its axes
    force = dynamics.loop_forces(closed, moving)["rod"]
    along = X_AB[:3, :3].T @ X_AB[:3, 3] / np.linalg.norm(X_AB[:3, 3])
    assert force == pytest.approx([0, 0, 0, *multipliers[0] * along], abs=1e-9 * abs(multipliers[0]))


@pytest.mark.parametrize("kind", ["line", "plane"])
def test_a_point_on_a_line_or_plane(kind):
    rng, bodies, model, state = random_tree(31)
    (owner, X_bA), b, X_AB = frames(rng, bodies, model, state, 0, 5)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    # so that the point is on the line, and in the plane across it
    shift = np.eye(4)
    shift[:3, 3] = X_AB[:3, 3] - 0.7 * axis if kind == "line" else X_AB[:3, 3] - np.cross(axis, [0.3, 0.5, -0.2])
    a = owner, X_bA @ shift
    made = {"line": lm.PointOnLine, "plane": lm.PointOnPlane}[kind]
    closed = with_loops(bodies, [made(name="guide", a=a, b=b, **{"axis" if kind == "line" else "normal": axis})])
    moving, J, _ = check(closed, bodies, state)
    assert len(J) == (2 if kind == "line" else 1)
    assert order_of_contact(closed, moving)[0] > 2.7
    # no force along what is free
    force = dynamics.loop_forces(closed, moving)["guide"]
    free = X_AB[:3, :3].T @ axis
    assert force[:3] == pytest.approx(0.0, abs=1e-12)
    across = force[3:] @ free if kind == "line" else np.cross(force[3:], free)
    assert across == pytest.approx(0.0, abs=1e-9 * np.abs(force).max())


@pytest.mark.parametrize("shape", ["disc", "ball"])
def test_rolling_without_slip(shape):
    """Positions: the height above the plane.  Speeds: the material point of contact is at rest on the plane."""
    rng, bodies, model, state = random_tree(41, joints=("Free", "Revolute", "Spherical"))
    (owner, X_bA), b, X_AB = frames(rng, bodies, model, state, -1, 4)
    normal, axis, radius = np.array([0.2, -0.3, 0.8]), np.array([0.5, 0.4, -0.1]), 0.35
    normal, axis = normal / np.linalg.norm(normal), axis / np.linalg.norm(axis)
    a_A = X_AB[:3, :3] @ axis
    up = normal - (normal @ a_A) * a_A if shape == "disc" else normal
    shift = np.eye(4)
    shift[:3, 3] = (normal @ X_AB[:3, 3] - radius * np.linalg.norm(up)) * normal
    roll = lm.Rolling(name="roll", a=(owner, X_bA @ shift), b=b, radius=radius, shape=shape, axis=axis, normal=normal)
    closed = with_loops(bodies, [roll])
    moving, _, _ = check(closed, bodies, state, integrable=[0])
    frame = dynamics.frame_motion(closed, moving, b) if isinstance(b, str) else None
    if frame is not None:
        contact = -radius * up / np.linalg.norm(up)
        R_WA = (X_bA @ shift)[:3, :3]
        at_contact = frame.twist[3:] + np.cross(frame.twist[:3], frame.pose[:3, :3].T @ R_WA @ contact)
        assert at_contact == pytest.approx(0.0, abs=1e-10)
    assert order_of_contact(closed, moving)[0] > 2.7
    # the rates too: J v stays zero to second order
    acceleration = dynamics.forward_dynamics(closed, moving)
    h = 1e-5
    rates = [
        dynamics.constraint_values(
            closed,
            lm.State(
                closed.group.retract(moving.q, s * h * moving.v + 0.5 * h * h * acceleration),
                moving.v + s * h * acceleration,
            ),
        ).rate
        for s in (1, -1)
    ]
    assert (rates[0] - rates[1]) / (2 * h) == pytest.approx(0.0, abs=1e-5)


def test_a_disc_rolls_in_a_straight_line():
    """Down a slope of 20°: 2/3 g sin α for a full disc; the friction is a third of the weight along the slope."""
    slope, radius, mass = np.deg2rad(20.0), 0.3, 2.0
    J = 0.5 * mass * radius**2
    disc = lm.Body("disc", mass=mass, inertia=(J / 2, J / 2, J))
    free = lm.Free(name="base", parent="world", child="disc")
    roll = lm.Rolling(name="roll", a="world", b="disc", radius=radius, normal=(0, 1, 0))
    gravity = 9.81 * np.array([np.sin(slope), -np.cos(slope), 0.0])
    model = lm.Tree([disc], [free], loops=[roll], gravity=gravity).compile()
    state = model.state(q={"base": [1, 0, 0, 0, 0, radius, 0]}, v={"base": [0, 0, -2.0, 2.0 * radius, 0, 0]})
    values = dynamics.constraint_values(model, state)
    assert values.residual == pytest.approx(0.0)
    assert values.rate == pytest.approx(0.0)
    a = dynamics.forward_dynamics(model, state)
    along = 2 / 3 * 9.81 * np.sin(slope)
    # body-fixed: the axes turn under a velocity that does not, −w×v
    assert a == pytest.approx([0, 0, -along / radius, along, 2.0 * 2.0 * radius, 0], abs=1e-12)
    force = dynamics.loop_forces(model, state)["roll"]
    assert force[3:] == pytest.approx([-mass * along / 2, mass * 9.81 * np.cos(slope), 0.0], abs=1e-11)


# ---- constraints on speeds


def chain(n, kind=lm.Revolute, **more):
    bodies = [lm.Body(f"b{k}", mass=1.0 + k, com=(0.3, 0.1, 0), inertia=(0.4, 0.5, 0.6)) for k in range(n)]
    joints = [kind(name=f"j{k}", parent=f"b{k - 1}" if k else "world", child=f"b{k}", at=(0.5, 0, 0)) for k in range(n)]
    return lm.Tree(bodies, joints, **more)


def test_gears_and_racks_share_what_they_move():
    tree = chain(3, loops=[lm.Gear(name="gear", a="j0", b="j2", ratio=-2.5, offset=0.1)])
    model = tree.compile()
    state = model.state(q=[0.2, 0.7, 0.1 - 0.5], v=[0.3, -0.4, -0.75])
    assert dynamics.constraint_values(model, state).residual == pytest.approx(0.0, abs=1e-15)
    assert dynamics.constraint_values(model, state).rate == pytest.approx(0.0, abs=1e-15)
    a = dynamics.forward_dynamics(model, state, tau=[1.0, 2.0, 3.0])
    assert a[2] == pytest.approx(-2.5 * a[0])
    # what the gear asks of the one it gives, geared, to the other
    (torque,) = dynamics.loop_forces(model, state, tau=[1.0, 2.0, 3.0])["gear"]
    free = chain(3).compile()
    needed = dynamics.inverse_dynamics(free, free.state(state.q, state.v), a)
    assert needed == pytest.approx([1.0 + 2.5 * torque, 2.0, 3.0 + torque])


def test_a_rack_turns_radians_into_metres():
    bodies = [lm.Body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)), lm.Body("slide", mass=3.0, inertia=(1, 1, 1))]
    joints = [
        lm.Revolute(name="turn", parent="world", child="wheel"),
        lm.Prismatic(name="move", parent="world", child="slide", axis=(1, 0, 0)),
    ]
    rack = lm.Rack(name="rack", pinion="turn", rack="move", radius=0.25)
    model = lm.Tree(bodies, joints, loops=[rack]).compile()
    a = dynamics.forward_dynamics(model, model.state(), tau={"turn": 1.0})
    assert a == pytest.approx([1.0 / (0.2 + 3.0 * 0.25**2), 0.25 / (0.2 + 3.0 * 0.25**2)])


@pytest.mark.parametrize("name", ["Revolute", "Cylindrical", "Spherical", "Planar", "Free"])
def test_prescribed_motion_of_a_joint(name):
    """v̇ is what was asked for, and the multipliers are what inverse dynamics says it takes."""
    rng, bodies, model, state = random_tree(51, 4, joints=(name,))
    closed = with_loops(bodies, [lm.Motion(name="drive", joint="j1")])
    joint = closed.group.factors["j1"]
    n, place = joint.dim, closed.group.q["j1"]
    wanted = rng.normal(size=n)
    target = joint.retract(state.q[place], 0.01 * rng.normal(size=n))
    inputs = {"drive": np.concatenate([target, state.v[closed.group.v["j1"]] + 0.5, wanted])}
    values = dynamics.constraint_values(closed, state, inputs)
    assert values.residual == pytest.approx(joint.difference(state.q[place], target), abs=1e-14)
    assert values.rate == pytest.approx(-0.5)
    tau = rng.normal(size=model.nv)
    a = dynamics.forward_dynamics(closed, state, tau, inputs)
    assert a[closed.group.v["j1"]] == pytest.approx(wanted, abs=1e-9)
    needed = dynamics.inverse_dynamics(model, state, a) - tau
    held = np.zeros(model.nv)
    held[closed.group.v["j1"]] = dynamics.loop_forces(closed, state, tau, inputs)["drive"]
    assert needed == pytest.approx(held, abs=1e-8 * np.abs(needed).max())


@pytest.mark.kernels
def test_the_smallest_mechanism():
    """One hinge, one speed, one row; as plain Python also: nothing is read behind vectors of length one."""
    rod = lm.Body("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 0, 1))
    model = lm.Tree([rod], [hinge], loops=[lm.Motion(name="drive", joint="hinge")]).compile()
    inputs = {"drive": [0.0, 0.0, 4.0]}
    assert dynamics.forward_dynamics(model, model.state(), [1.0], inputs) == pytest.approx([4.0])
    torque = dynamics.loop_forces(model, model.state(), [1.0], inputs)["drive"]
    assert torque == pytest.approx([(0.3 + 2.0 * 0.5**2) * 4.0 - 1.0])


def test_one_coordinate_of_a_joint_can_be_prescribed():
    model = chain(2, lm.Cylindrical, loops=[lm.Motion(name="lift", joint="j1", coordinate=1)]).compile()
    a = dynamics.forward_dynamics(model, model.state(), inputs={"lift": [0.0, 0.0, 4.0]})
    assert a[3] == pytest.approx(4.0)


def test_a_constraint_of_ones_own():
    """The centre of mass stays on a parabola: the same as the oracle's saddle point, and of third order."""
    _, bodies, model, state = random_tree(61, 4, flexible=0.3)

    def parabola(model, state):
        x, y, z = dynamics.balance(model, state).center
        return z - x * x + 0.5 * y - offset

    offset = 0.0
    offset = parabola(model, state)
    closed = with_loops(bodies, [lm.Custom(name="own", function=parabola)])
    moving, _, _ = check(closed, bodies, state)
    assert order_of_contact(closed, moving)[0] > 2.7


# ---- saddle points of implicit methods


@pytest.mark.kernels
@pytest.mark.parametrize("seed", [71, 72])
def test_the_saddle_point_with_damping_and_stiffness(seed):
    """S x = r + Jᵀμ, J x = a φ + b φ̇ with S = M + αD + βK, against a dense solve."""
    rng, bodies, model, state = random_tree(seed, 7)
    loops = [cut(rng, bodies, model, state, "Revolute", 2, 6, "first"), lm.Motion(name="second", joint="j0")]
    if bodies[0]["joint"]["name"] == "Fixed":
        loops.pop()
    closed = with_loops(bodies, loops)
    alpha, beta, m, nv = 0.3, 0.7, len(closed.rows), closed.nv
    S = np.linalg.inv(np.stack([dynamics.solve(closed, state, e, alpha, beta) for e in np.eye(nv)], axis=1))
    J = dynamics.constraint_jacobian(closed, state)
    # behind its scratch a factorisation reads u, of which only switches count
    W, B = closed.workspace(), np.append(closed.workspace(), np.zeros(int(closed.ints[at.N_U])))
    assert loops_kernels.factorise(closed.ints, closed.floats, state.q, alpha, beta, B) == 0
    phi, rate, r = rng.normal(size=m), rng.normal(size=m), rng.normal(size=nv)
    W[closed.row_slice(at.PHI)], W[closed.row_slice(at.RATE)] = phi, rate
    before = rng.normal(size=m)
    W[closed.row_slice(at.LAMBDA)] = before
    x = np.empty(nv)
    loops_kernels.correct(closed.ints, closed.floats, r, 1.5, -0.4, 9.0, 1.0, W, B, x)
    saddle = np.block([[S, -J.T], [J, np.zeros((m, m))]])
    wanted = np.linalg.solve(saddle, np.concatenate([r, 1.5 * phi - 0.4 * rate]))
    assert x == pytest.approx(wanted[:nv], abs=1e-9 * np.abs(wanted).max())
    multipliers = W[closed.row_slice(at.LAMBDA)] - before
    assert multipliers == pytest.approx(wanted[nv:], abs=1e-9 * np.abs(wanted).max())
    # and once more without touching the multipliers
    loops_kernels.correct(closed.ints, closed.floats, 0 * r, 1.5, -0.4, 9.0, 0.0, W, B, x)
    assert J @ x == pytest.approx(1.5 * phi - 0.4 * rate, abs=1e-10)
    assert W[closed.row_slice(at.LAMBDA)] - before == pytest.approx(multipliers)
