"""Models that begin at rest: stable equilibria, from Python, in model files, and in FMUs of both kinds."""

from __future__ import annotations

import numpy as np
import pytest

import fmu_export
import liegeo as lg
from liegeo import model as lm
from liegeo.analysis import equilibrium
from liegeo.errors import AssemblyError, InputError

G = 9.81

FILE = """
liegeo: 1
name: spring arm
parameters:
  mass: {value: 2 kg}
  stiffness: {value: 40 N*m/rad}
  damping: {value: 0.3 N*m*s/rad}
bodies:
  arm: {kind: rigid, mass: $(mass), com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1], frames: {tip: [1, 0, 0]}}
  hand: {kind: rigid, mass: 0.5 kg, com: [0.2, 0, 0], inertia: [0.001, 0.01, 0.01]}
joints:
  hinge:
    {kind: revolute, parent: world, child: arm, axis: [0, -1, 0], stiffness: $(stiffness), damping: $(damping)}
  wrist: {kind: revolute, parent: arm, child: hand, at: tip, axis: [0, -1, 0]}
forces:
  motor: {kind: actuator, joint: hinge}
initial: {q: {wrist: 0.4}, keep: [wrist]}
experiment: {settle: true, end: 0.5, step: 0.001, method: rkmk-4, inputs: {motor: 3 N*m}}
fmu: {parameters: {mass: , stiffness: , damping: }}
"""


def two_rods():
    """A double pendulum."""
    rods = [lg.Body(f"r{k}", mass=1.0, com=(0, 0, -1)) for k in range(2)]
    hinges = [
        lm.Revolute(name="top", parent="world", child="r0", axis=(0, 1, 0)),
        lm.Revolute(name="middle", parent="r0", child="r1", at=(0, 0, -1), axis=(0, 1, 0)),
    ]
    return lg.Tree(rods, hinges).compile()


def at_rest(angle, mass, stiffness, torque=3.0):
    """The moment about the hinge: spring, motor and weights."""
    weight = G * (0.5 * mass * np.cos(angle) + 0.5 * (np.cos(angle) + 0.2 * np.cos(angle + 0.4)))
    return torque - stiffness * angle - weight


# ---- stable equilibria


@pytest.mark.parametrize("start", [(0.0, 0.0), (2.0, -0.5), (3.0, 0.1), (np.pi, 0.0), (0.0, np.pi), (np.pi, np.pi)])
def test_a_double_pendulum_comes_to_rest_below(start):
    """It has four equilibria, of which one is stable; Newton's method alone finds the nearest."""
    model = two_rods()
    state = model.state(q={"top": start[0], "middle": start[1]})
    rest = equilibrium(model, state, stable=True)
    assert np.cos(rest.q) == pytest.approx([1.0, 1.0], abs=1e-12)


def test_an_equilibrium_may_be_unstable_where_no_stable_one_is_asked_for():
    model = two_rods()
    upright = model.state(q={"top": np.pi - 0.1, "middle": 0.05})
    assert equilibrium(model, upright).q == pytest.approx([np.pi, 0.0])


def test_loops_come_to_rest_where_their_energy_is_least():
    """A rod on a rail: the hanging one of two equilibria, begun at the other one."""
    rods = [lg.Body(f"r{k}", mass=1.0, com=(0, 0, -0.5), frames={"end": (0, 0, -1)}) for k in range(2)]
    hinges = [
        lm.Revolute(name="a", parent="world", child="r0", axis=(0, 1, 0)),
        lm.Revolute(name="b", parent="r0", child="r1", at=(0, 0, -1), axis=(0, 1, 0)),
    ]
    line = lm.PointOnLine(name="line", a="world", b="r1.end", axis=(0, 0, 1))
    model = lg.Tree(rods, hinges, loops=[line]).compile()
    upright = model.state(q={"a": np.pi, "b": 0.0})
    assert equilibrium(model, upright).q == pytest.approx([np.pi, 0.0])
    rest = equilibrium(model, upright, stable=True)
    # folded or straight, the middle is below
    assert np.cos(rest["a.angle"]) == pytest.approx(1.0, abs=1e-10)
    assert np.abs(lg.dynamics.constraint_values(model, rest).residual).max() < 1e-12
    assert lg.dynamics.balance(model, rest).energy < lg.dynamics.balance(model, upright).energy


def test_some_speeds_of_a_joint_are_held():
    """A disc on a flat joint: it slides down a spring, and does not turn."""
    disc = lg.Body("disc", mass=2.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    flat = lm.Planar(name="flat", parent="world", child="disc", at=lg.lie.SE3.exp([-np.pi / 2, 0, 0, 0, 0, 0]))
    spring = lm.SpringDamper(name="spring", a=("world", (0, 0, 1)), b="disc", stiffness=100.0, length=1.0)
    model = lg.Tree([disc], [flat], forces=[spring]).compile()
    state = model.state(q={"flat": (0.3, 0.02, 0.0)})
    rest = equilibrium(model, state, hold={"flat": [0]}, stable=True)
    assert rest.q[0] == 0.3
    height = lg.dynamics.body_poses(model, rest)["disc"][:3, 3]
    assert height == pytest.approx([0.0, 0.0, -2.0 * G / 100.0], abs=1e-9)


def test_what_cannot_come_to_rest():
    rod = lg.Body("rod", mass=1.0, com=(0, 0, -1))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0))
    motor = lm.Actuator(name="motor", joint="hinge")
    model = lg.Tree([rod], [hinge], forces=[motor]).compile()
    with pytest.raises(AssemblyError, match=r"(?s)found none near this state; .* at 'hinge'.*`initial: \{keep"):
        equilibrium(model, inputs={"motor": 20.0}, stable=True)
    with pytest.raises(InputError, match="`stable` is for rest, expected no `speeds` beside it"):
        equilibrium(model, speeds={"hinge": 1.0}, stable=True)


def test_forces_of_joints_are_balanced_too():
    model = two_rods()
    rest = equilibrium(model, inputs={"middle": 2.0, "top": lambda t: 3.0 + t}, stable=True)
    # each rod hangs where its own weight, and what hangs on it, balances its torque
    lower, upper = rest.q.sum(), rest.q[0]
    assert G * np.sin(lower) == pytest.approx(2.0)
    assert G * (2.0 * np.sin(upper) + np.sin(lower)) == pytest.approx(3.0)


# ---- files


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("settle") / "spring_arm.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.parametrize("given", [{}, {"mass": 4.0, "stiffness": 25.0}])
def test_a_file_begins_at_rest(file, given):
    mechanism = lg.load(file, set=given)
    state = mechanism.state()
    assert at_rest(state["hinge.angle"], given.get("mass", 2.0), given.get("stiffness", 40.0)) == pytest.approx(
        0.0, abs=1e-9
    )
    assert state["wrist.angle"] == 0.4
    assert not state.v.any()
    model = mechanism.compile()
    # what holds the wrist lets go, and the hinge begins to follow
    assert lg.forward_dynamics(model.lock("wrist"), state, inputs={"motor": 3.0}) == pytest.approx([0, 0], abs=1e-9)
    assert lg.load(lg.save(mechanism, file.with_name("again.yaml"))).experiment.settle


def test_what_settle_is_not(file):
    text = FILE.replace("settle: true", "settle: maybe")
    wrong = file.with_name("wrong.yaml")
    wrong.write_text(text, encoding="utf-8")
    with pytest.raises(lg.errors.ModelFileError, match=r"settle.*maybe.*true or false"):
        lg.load(wrong)


# ---- FMUs


def start(fmu, values=None):
    table = fmu_export.run(fmu, 0.01, values=values or {})
    return float(table["hinge.angle"][0])


@pytest.mark.foreign
def test_an_fmu_begins_at_rest(file, tmp_path):
    fmu = fmu_export.build(file, tmp_path / "arm.fmu")
    assert start(fmu) == lg.load(file).state()["hinge.angle"]
    assert start(fmu, {"mass": 4.0}) == lg.load(file, set={"mass": 4.0}).state()["hinge.angle"]
    # a value that is set goes first
    assert start(fmu, {"initial.hinge.angle": 0.1}) == 0.1


@pytest.mark.foreign
def test_a_native_fmu_begins_at_rest(file, tmp_path):
    """Parameters that move the equilibrium are constants: it was found when the FMU was built."""
    fmu = fmu_export.build(file, tmp_path / "arm.fmu", native=True, platforms=["linux64"])
    assert start(fmu) == lg.load(file).state()["hinge.angle"]
    constants = fmu_export.constants_of(file)
    assert sorted(constants) == ["mass", "stiffness"]
    assert constants["mass"] == "the position in which the model comes to rest depends on it"
    changed = lg.load(file, set={"damping": 2.0})
    table = fmu_export.run(fmu, 0.1, values={"damping": 2.0}, inputs={"motor.input": lambda t: 0.0})
    run = changed.simulate(t_end=0.1, inputs={}, output=table["time"])
    np.testing.assert_array_equal(table["hinge.angle"], run["hinge.angle"])
