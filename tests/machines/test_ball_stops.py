"""Stops of ball joints: angles by SciPy, moments by virtual work, energy, and limits of MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import ModelError, ModelFileError

AXIS = np.array([0.48, 0.6, 0.64])
LIMITS = {"axis": AXIS, "swing": 0.5, "lower": -0.2, "upper": 0.3, "turn": 0.45}


def ball(*stops, **options):
    """A body in a ball joint that is turned against both bodies."""
    body = lm.Body("bob", mass=1.0, com=(0.1, 0, 0.3), inertia=(0.1, 0.2, 0.25))
    at = {"at": (0, 0.1, 0), "child_at": (0.02, 0, 0), **options}
    joint = lm.Spherical(name="ball", parent="world", child="bob", **at)
    return lm.Tree([body], [joint], forces=list(stops), gravity=(0, 0, -9.81)).compile()


def stop(**limits):
    return lm.BallStop(name="stop", joint="ball", stiffness=200.0, **limits)


def rotations(n=200, seed=0):
    """Rotations of all sizes, as quaternions w, x, y, z with either sign."""
    rng = np.random.default_rng(seed)
    turns = rng.normal(size=(n, 3))
    turns *= (rng.uniform(0.0, np.pi, n) / np.linalg.norm(turns, axis=1))[:, np.newaxis]
    return [Rotation.from_rotvec(turn) for turn in turns]


def quaternion(R, sign=1.0):
    x, y, z, w = sign * R.as_quat()
    return (w, x, y, z)


def angles(R):
    """Return θ, β and ψ of a rotation by SciPy: the twist is what is left when a swing is taken away."""
    c = R.apply(AXIS)
    swing = np.arccos(np.clip(c @ AXIS, -1.0, 1.0))
    across = np.cross(AXIS, c)
    back = Rotation.from_rotvec(-swing * across / np.linalg.norm(across))
    return R.magnitude(), swing, (back * R).as_rotvec() @ AXIS


def test_angles_are_those_of_scipy():
    model = ball(stop(**LIMITS))
    for k, R in enumerate(rotations()):
        state = model.state({"ball": quaternion(R, (-1.0) ** k)})
        shown = shown_by(model, state)
        assert np.allclose(shown, angles(R), atol=1e-7)


def shown_by(model, state):
    out = lg.simulate(model, state, 1e-6, method="rkmk-4", step=1e-6, progress=False)
    return [out[f"stop.{name}"][0] for name in ("turn", "swing", "twist")]


@pytest.mark.parametrize("limits", [LIMITS, {"turn": 0.4}, {"swing": 0.3}, {"lower": -0.1, "upper": 0.2}], ids=str)
def test_moments_are_the_slopes_of_the_stored_energy(limits):
    """Virtual work along body-fixed turns; the stored energy is ½ k δ² of the angles by SciPy."""
    model, free = ball(stop(**{"axis": AXIS, **limits})), ball()
    pushed = 0

    def energy(R):
        theta, beta, psi = angles(R)
        depths = [theta - limits.get("turn", np.inf), beta - limits.get("swing", np.inf)]
        depths += [psi - limits.get("upper", np.inf), limits.get("lower", -np.inf) - psi]
        return sum(100.0 * max(0.0, depth) ** 2 for depth in depths)

    h = 1e-5
    for R in rotations(40, seed=1):
        if angles(R)[1] > 3.0 or abs(angles(R)[2]) > 3.1 or R.magnitude() > 3.1:
            continue
        q = {"ball": quaternion(R)}
        found = [dynamics.inverse_dynamics(each, each.state(q), np.zeros(3)) for each in (model, free)]
        small = [(Rotation.from_rotvec(h * e), Rotation.from_rotvec(-h * e)) for e in np.eye(3)]
        slope = [(energy(R * forth) - energy(R * back)) / (2 * h) for forth, back in small]
        assert np.allclose(found[0] - found[1], slope, rtol=1e-5, atol=1e-5)
        assert np.isclose(dynamics.balance(model, model.state(q)).elastic, energy(R))
        pushed += energy(R) > 0.0
    assert pushed > 10


@pytest.mark.parametrize("method", ["rkmk-4", "generalised-alpha-0.8", "lie-bdf-2"])
def test_energy_never_grows_at_the_stops(method):
    model = ball(lm.BallStop(name="stop", joint="ball", stiffness=400.0, dissipation=0.3, **LIMITS))
    state = model.state(v={"ball": (1.0, -2.0, 1.5)})
    out = lg.simulate(model, state, 1.0, method=method, step=5e-4, output="steps", progress=False)
    energy = np.array([dynamics.balance(model, out.state(k)).energy for k in range(0, len(out.t), 20)])
    assert out["stop.turn"].max() > 0.45
    # what a method adds by itself in a step is below 1e-4 of what there is
    assert (np.diff(energy) < 1e-4 * energy[0]).all()
    assert energy[-1] < 0.9 * energy[0]
    assert abs(energy[-1] - energy[0] + out.info.energy.dissipated) < 2e-3 * energy[0]


def test_tangents_of_stops_are_exact():
    """The linear model about a position within a stop, beside differences of forward dynamics."""
    model = ball(stop(turn=0.3), at=(0, 0, 0))
    R = Rotation.from_rotvec((0.3, 0.2, -0.1))
    state = model.state({"ball": quaternion(R)}, {"ball": (0.1, 0.2, -0.3)})
    A = lg.linearise(model, state).A
    h = 1e-6
    columns = []
    for e in np.eye(3):
        moved = [model.state(model.group.retract(state.q, s * h * e), state.v) for s in (1, -1)]
        columns.append(
            (dynamics.forward_dynamics(model, moved[0]) - dynamics.forward_dynamics(model, moved[1])) / (2 * h)
        )
    assert np.allclose(A[3:, :3], np.array(columns).T, rtol=1e-6, atol=1e-5)


def test_a_stop_on_a_hinge_is_one_of_its_angle():
    body = lm.Body("bob", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    hinge = lm.Revolute(name="ball", parent="world", child="bob", axis=AXIS)
    limits = {"lower": -0.2, "upper": 0.3, "stiffness": 200.0, "dissipation": 0.4}
    usual, other = (
        lm.Stop(name="stop", joint="ball", **limits),
        lm.BallStop(name="stop", joint="ball", axis=AXIS, **limits),
    )
    for q, v in ((0.5, 1.0), (-0.7, -0.3), (0.1, 2.0), (-0.3, 4.0)):
        found = []
        for each in (usual, other):
            model = lm.Tree([body], [hinge], forces=[each]).compile()
            found.append(dynamics.forward_dynamics(model, model.state({"ball": q}, {"ball": v})))
        assert np.allclose(*found, rtol=1e-12)


MJCF = """
<mujoco>
  <compiler angle="degree"/>
  <worldbody>
    <body name="bob" pos="0 0 1">
      <joint name="ball" type="ball" limited="true" range="0 40" solreflimit="0.03 1"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.05 0 0.2"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_ranges_of_balls_in_mjcf_limit_what_mujoco_limits(tmp_path):
    """The depth is MuJoCo's −efc_pos, and the moment acts along its row of the constraint."""
    mujoco = pytest.importorskip("mujoco")
    file = tmp_path / "ball.xml"
    file.write_text(MJCF)
    tree = lg.io.read_mjcf(file)
    (found,) = tree.forces
    assert isinstance(found, lm.BallStop)
    assert (found.name, found.joint) == ("ball_stops", "ball")
    assert np.isclose(found.turn, np.deg2rad(40.0))
    model, free = tree.compile(), lm.Tree(tree.bodies, tree.joints, gravity=tree.gravity).compile()
    theirs = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(theirs)
    touched = 0
    for R in rotations(60, seed=2):
        q = quaternion(R)
        data.qpos[:] = q
        mujoco.mj_forward(theirs, data)
        state = model.state({"ball": q})
        moment = dynamics.inverse_dynamics(model, state, np.zeros(3)) - dynamics.inverse_dynamics(
            free, free.state({"ball": q}), np.zeros(3)
        )
        if data.nefc == 0:
            assert np.allclose(moment, 0.0)
            continue
        touched += 1
        depth = -data.efc_pos[0]
        row = np.asarray(data.efc_J).reshape(data.nefc, -1)[0]
        # a row of MuJoCo's points back from the limit, as its force does
        assert np.allclose(-moment, found.stiffness * depth * row, rtol=1e-6, atol=1e-9)
    assert touched > 20
    assert not lg.io.read_mjcf(file, limits=False).forces


FILE = """
liegeo: 1
bodies: {bob: {kind: rigid, mass: 1 kg, com: [0.1, 0, 0.3], inertia: [0.1, 0.2, 0.25]}}
joints: {ball: {kind: spherical, parent: world, child: bob}}
forces:
  stop:
    kind: ball_stop
    joint: ball
    axis: [0, 0, 1]
    swing: 30 deg
    lower: -10 deg
    upper: 20 deg
    stiffness: 200 N*m/rad
    dissipation: 0.2 s
"""


def test_files_know_stops_of_ball_joints(tmp_path):
    file = tmp_path / "ball.yaml"
    file.write_text(FILE)
    mechanism = lg.load(file)
    (found,) = mechanism.tree.forces
    assert np.allclose([found.swing, found.lower, found.upper], np.deg2rad([30, -10, 20]))
    for k, saved in enumerate((mechanism, mechanism.tree)):
        again = lg.load(lg.save(saved, tmp_path / f"again{k}.yaml"))
        assert np.array_equal(again.compile().floats, mechanism.compile().floats)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "joint: ball\n",
            "joint: bal\n",
            "ball.yaml:8:5: BallStop 'stop': 'bal' is not a joint of the tree. Did you mean",
        ),
        ("upper: 20 deg", "upper: -20 deg", "ball.yaml:12:5: BallStop 'stop': upper is"),
        ("swing: 30 deg", "swing: -1", "ball.yaml:10:5: BallStop 'stop': swing is -1, must be ≥ 0"),
        ("stiffness: 200 N*m/rad", "stiffness: 0", "ball.yaml:13:5: BallStop 'stop': stiffness is 0, must be > 0"),
    ],
)
def test_what_is_wrong_with_a_stop_is_said_at_its_place(tmp_path, old, new, text):
    file = tmp_path / "ball.yaml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ModelFileError) as caught:
        lg.load(file)
    assert text in str(caught.value)


def test_a_stop_without_a_limit_is_refused():
    with pytest.raises(ModelError, match="has no limit, expected turn, swing, or lower and upper"):
        stop()
