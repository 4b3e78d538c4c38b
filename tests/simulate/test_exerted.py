"""What force elements and joints exert, as results and FMUs show it, against formulas of its own.

The oracle is the principle of virtual work: inverse dynamics of the model without an element, less that with it, is the
generalised force Q of the element.  A wrench w at a frame with the Jacobian J has Q = Jᵀw; a tension T has the power
Q·v = −T L̇.  Lengths, rates and friction come from their definitions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import runs
from states.machines import lugre

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm
from liegeo.lie import SE3
from liegeo.observer import Observer, not_implemented, observer_of

BRISTLES = {"coulomb": 0.3, "static": 0.5, "stribeck": 0.1, "stiffness": 40.0, "damping": 0.5, "viscous": 0.02}
MOUNT = SE3.exp(np.array([0.2, -0.4, 0.3, 0.1, 0.2, -0.3]))
# Both motors are within their limits at some samples, and beyond them at others.
ELEMENTS = (
    lm.SpringDamper(name="spring", a="base.hook", b="arm.tip", stiffness=30.0, damping=2.0, length=0.4),
    lm.Bushing(name="bushing", a=("world", MOUNT), b="base.hook", stiffness=range(1, 7), damping=(0.1,) * 6),
    lm.PointForce(name="wind", at="arm.tip", force=(1.0, 2.0, 3.0), torque=(0.3, 0.2, 0.1)),
    lm.PointForce(name="jet", at="base.hook", force=(0.5, 0.0, 1.0), axes="body"),
    lm.Actuator(name="motor", joint="elbow", gear=5.0, limit=1.0),
    lm.Actuator(name="ram", joint="slide", gear=-2.0, limit=1.0, lag=0.1),
    lm.BristleFriction(name="brake", joint="elbow", **BRISTLES),
)
PASSIVE = {
    "elbow": {"stiffness": 3.0, "damping": 0.2, "friction": 0.7, "friction_speed": 0.5, "rest": 0.3},
    "slide": {"damping": 0.4, "friction": 0.1},
    "wrist": {"stiffness": (1.0, 2.0, 3.0), "damping": 0.3},
}


def build(elements=ELEMENTS, passive=PASSIVE):
    """A free body with an arm, a slider on it and a ball joint: elements of every kind."""
    names = ("base", "arm", "slider", "hand")
    frames = {"base": {"hook": SE3.exp(np.array([0.1, 0.3, 0, 0.2, 0, 0.1]))}, "arm": {"tip": (0.5, 0, 0.1)}}
    bodies = [
        lm.Body(name, mass=1.0 + k, com=(0.1, 0, 0.2), inertia=(0.5, 0.6, 0.7), frames=frames.get(name, {}))
        for k, name in enumerate(names)
    ]
    joints = [
        lm.Free(name="float", parent="world", child="base"),
        lm.Revolute(name="elbow", parent="base", child="arm", axis=(0, 1, 0), **passive.get("elbow", {})),
        lm.Prismatic(name="slide", parent="arm", child="slider", axis=(1, 0, 0), **passive.get("slide", {})),
        lm.Spherical(name="wrist", parent="slider", child="hand", at=(0.1, 0, 0), **passive.get("wrist", {})),
    ]
    return lg.Tree(bodies, joints, name="machine", forces=list(elements)).compile()


@pytest.fixture(scope="module")
def run():
    """Samples 1 ms apart, whose speeds are rates of the positions; inputs and states are arbitrary."""
    model = build()
    rng = np.random.default_rng(3)
    path = runs.uniform(model, 5, 1e-3, seed=4)
    x = rng.normal(size=(5, model.nx)) * [2.0 if name == "ram" else 0.01 for name in model.states]
    return replace(path, u=2.0 * path.u, x=x)


def without(name):
    """The model without an element, or without what a joint opposes."""
    others = {joint: given for joint, given in PASSIVE.items() if joint != name}
    return build([force for force in ELEMENTS if force.name != name], others)


def generalised_force(run, k, name, other):
    """Q of an element at sample k; `other` is the model without it."""
    model = run.model

    def needed(owner):
        inputs = {force: run.u[k, model.nv :][model.inputs[force]] for force in owner.inputs}
        x = {force: run.x[k][model.states[force]] for force in owner.states}
        state = owner.state(run.q[k], run.v[k], x=x)
        return dynamics.inverse_dynamics(owner, state, np.zeros(model.nv), inputs)

    return needed(other) - needed(model)


def jacobian(run, k, frame):
    return dynamics.frame_jacobian(run.model, run.state(k), frame)


def test_springs(run):
    a, b = run["base.hook.position"], run["arm.tip.position"]
    length = np.linalg.norm(b - a, axis=1)
    assert run["spring.length"] == pytest.approx(length, rel=1e-13)
    central = (8 * (length[3] - length[1]) - (length[4] - length[0])) / 12e-3
    assert run["spring.rate"][2] == pytest.approx(central, abs=1e-9)
    tension = 30.0 * (length - 0.4) + 2.0 * run["spring.rate"]
    assert run["spring.tension"] == pytest.approx(tension, rel=1e-12)
    other = without("spring")
    for k in range(len(run)):
        power = generalised_force(run, k, "spring", other) @ run.v[k]
        assert power == pytest.approx(-tension[k] * run["spring.rate"][k], rel=1e-10)


def test_a_spring_between_frames_that_coincide_pulls_nowhere():
    block = lm.Body("block", mass=1.0, inertia=(1, 1, 1))
    slide = lm.Prismatic(name="slide", parent="world", child="block", axis=(1, 0, 0))
    spring = lm.SpringDamper(name="spring", a="world", b="block", stiffness=5.0, damping=1.0, length=0.2)
    model = lg.Tree([block], [slide], forces=[spring], gravity=(0, 0, 0)).compile()
    still = runs.run(model, np.zeros(2), np.array([[0.0], [0.5]]), np.array([[1.0], [1.0]]))
    assert still["spring.length"] == pytest.approx([0.0, 0.5])
    assert still["spring.tension"] == pytest.approx([0.0, 5.0 * 0.3 + 1.0])
    assert still["slide.acceleration"] == pytest.approx([0.0, -2.5])


@pytest.mark.parametrize(
    ("name", "frame", "parts", "axes"),
    [
        ("bushing", "base.hook", ("moment", "force"), MOUNT[:3, :3]),
        ("wind", "arm.tip", ("torque", "force"), np.eye(3)),
        ("jet", "base.hook", ("torque", "force"), None),
    ],
)
def test_wrenches(run, name, frame, parts, axes):
    """Of a bushing on its `b`, in the axes of `a`; of a load in the axes in which it is given."""
    other = without(name)
    for k in range(len(run)):
        R_WF = dynamics.frame_pose(run.model, run.state(k), frame)[:3, :3]
        R_FA = np.eye(3) if axes is None else R_WF.T @ axes
        wrench = np.concatenate([R_FA @ run[f"{name}.{part}"][k] for part in parts])
        expected = generalised_force(run, k, name, other)
        assert jacobian(run, k, frame).T @ wrench == pytest.approx(expected, abs=1e-10 * np.abs(expected).max())
        assert np.linalg.matrix_rank(jacobian(run, k, frame)) == 6


@pytest.mark.parametrize(
    ("name", "joint", "part", "unit"),
    [("motor", "elbow", "torque", "N·m"), ("ram", "slide", "force", "N")],
)
def test_motors(run, name, joint, part, unit):
    """Gear times the input within its limit; one with a lag gives its state in the place of the input."""
    taken = run["ram.output"] if name == "ram" else run["motor.input"]
    gear = -2.0 if name == "ram" else 5.0
    assert (np.abs(taken) > 1.0).any()
    assert (np.abs(taken) < 1.0).any()
    applied = gear * np.clip(taken, -1.0, 1.0)
    assert run[f"{name}.{part}"] == pytest.approx(applied, rel=1e-14)
    assert run[f"{name}.power"] == pytest.approx(applied * run[f"{joint}.speed"], rel=1e-14)
    assert (run.unit(f"{name}.{part}"), run.unit(f"{name}.power")) == (unit, "W")
    other = without(name)
    place = run.model.group.v[joint]
    for k in range(len(run)):
        expected = np.zeros(run.model.nv)
        expected[place] = applied[k]
        assert generalised_force(run, k, name, other) == pytest.approx(expected, abs=1e-10)


def test_bristles(run):
    expected, _ = lugre(run["elbow.speed"], run["brake.bristle"], **BRISTLES)
    assert run["brake.friction"] == pytest.approx(expected, rel=1e-12)
    other = without("brake")
    place = run.model.group.v["elbow"]
    opposed = [-generalised_force(run, k, "brake", other)[place][0] for k in range(len(run))]
    assert run["brake.friction"] == pytest.approx(opposed, rel=1e-9)


@pytest.mark.parametrize("joint", PASSIVE)
def test_joints_oppose_their_motion(run, joint):
    """Springs and dampers as `resistance`, Coulomb friction as `friction`; inverse dynamics has their sum."""
    other, given = without(joint), PASSIVE[joint]
    place = run.model.group.v[joint]
    n = place.stop - place.start
    resistance = run[f"{joint}.resistance"].reshape(-1, n)
    friction = run[f"{joint}.friction"].reshape(-1, n) if "friction" in given else np.zeros((len(run), n))
    speed = run.v[:, place]
    if "friction" in given:
        assert friction == pytest.approx(given["friction"] * np.tanh(speed / given.get("friction_speed", 1e-3)))
    if joint != "wrist":
        q = run.q[:, run.model.group.q[joint]]
        spring = given.get("stiffness", 0.0) * (q - given.get("rest", 0.0))
        assert resistance == pytest.approx(spring + given["damping"] * speed)
    for k in range(len(run)):
        opposed = -generalised_force(run, k, joint, other)[place]
        assert resistance[k] + friction[k] == pytest.approx(opposed, rel=1e-9)
    assert run.unit(f"{joint}.resistance") == ("N" if joint == "slide" else "N·m")


def test_joints_without_resistance_have_no_such_columns(run):
    assert "float.resistance" not in run
    assert "float.friction" not in run
    assert "wrist.friction" not in run


def test_fmus_show_what_results_have(run):
    """Every column of the model, at every sample, to the last bit; quaternions with the signs of the sample before."""
    names = run.model.names
    columns = [names.column(name) for name in [*names.table, *names.more]]
    sources = list(dict.fromkeys(column.source for column in columns))
    observer = Observer(run.model, sources, [(column.source, column.place) for column in columns])
    # the signs of quaternions continue those that stand in z
    z, values, work = observer.numbers(), np.empty(len(columns)), run.model.workspace()
    drives = run.model.drives(run.u, run.x)
    for k in range(len(run)):
        point = float(run.t[k]), run.q[k].copy(), run.v[k].copy(), drives[k]
        assert observer.observe(*point, work, z, values) == 0
        for column, value in zip(columns, values, strict=True):
            assert value == run[column.name][k], column.name


def test_columns_that_are_only_known_leave_the_others(run):
    columns = [(("q",), 7), (("force", "spring", "length"), 0), (("u",), 0)]
    observer = Observer(run.model, [source for source, _ in columns], columns)
    drives = run.model.drives(run.u, run.x)
    points = [(float(run.t[k]), run.q[k].copy(), run.v[k].copy(), drives[k]) for k in (0, 1)]
    z, then, work = observer.numbers(), np.empty(3), run.model.workspace()
    assert observer.observe(*points[0], work, z, then) == 0
    first = then.copy()
    observer.show_known(*points[1], work, z, then)
    assert then[0] == run.q[1, 7] != first[0]
    assert then[1] == first[1] == run["spring.length"][0]
    assert then[2] == run.u[1, 0]


@pytest.mark.parametrize(
    "source",
    [
        ("force", "spring", "torque"),
        ("force", "sprung", "tension"),
        ("frame", "arm.tip", "deflection"),
        ("balance", "heat"),
        ("joint", "knee"),
        ("friction", "knee"),
        ("loop", "knee"),
        ("a", "b"),
    ],
)
def test_a_part_that_there_is_not(run, source):
    with pytest.raises(lg.errors.DynamicsError, match=str(not_implemented(source))):
        run._quantities.answer([source])


def test_a_model_keeps_few_observers(run):
    """Those of all frames of a large structure would hold as much as the structure."""
    model = run.model
    poses = [dynamics.frame_pose(model, run.state(0), "arm.tip") for _ in range(2)]
    assert np.array_equal(*poses)
    kept = len(model.observers)
    assert observer_of(model, (("t",),)) is observer_of(model, (("t",),))
    assert len(model.observers) == kept + 1
    for k in range(200):
        observer_of(model, (("t",), *[("q",)] * k))
    assert len(model.observers) <= 64


def test_loops_that_repeat_each_other_share_their_load():
    """Four rods on two speeds: J has rank 2, and λ with Jᵀλ = Q is the smallest, as least squares find it."""
    block = lm.Body("block", mass=2.0, inertia=(1, 1, 1))
    slides = [
        lm.Prismatic(name="x", parent="world", child="frame", axis=(1, 0, 0)),
        lm.Prismatic(name="z", parent="frame", child="block", axis=(0, 0, 1)),
    ]
    ends = {"left": (0, 0, 1.0), "twin": (0, 0, 1.0), "right": (0, 0, 2.5), "slanted": (0.6, 0, 0.8)}
    rods = [
        lm.Distance(name=name, a=("world", end), b="block", length=float(np.linalg.norm(end)))
        for name, end in ends.items()
    ]
    frame = lm.Body("frame", mass=1.0, inertia=(1, 1, 1))
    model = lg.Tree([frame, block], slides, name="rods", loops=rods).compile()
    state = model.state()
    tau = np.array([0.7, -3.0])
    J = dynamics.constraint_jacobian(model, state)
    assert np.linalg.matrix_rank(J) == 2
    a = dynamics.forward_dynamics(model, state, tau)
    expected, *_ = np.linalg.lstsq(J.T, dynamics.inverse_dynamics(model, state, a) - tau, rcond=None)
    pulls = [np.linalg.norm(force) for force in dynamics.loop_forces(model, state, tau).values()]
    assert pulls == pytest.approx(np.abs(expected), rel=1e-12)
    assert pulls[0] == pytest.approx(pulls[1], rel=1e-12)
    still = runs.run(model, np.zeros(1), state.q[np.newaxis], state.v[np.newaxis], tau[np.newaxis])
    for name, pull in zip(ends, pulls, strict=True):
        assert np.linalg.norm(still[f"{name}.reaction.force"][0]) == pytest.approx(pull, rel=1e-12)


def test_threads_share_a_plan(run):
    """Kernels over samples release the GIL; each call has numbers of its own."""
    sources = [("frame", "arm.tip", "acceleration"), ("joint", "elbow"), ("balance", "energy")]
    observer = Observer(run.model, sources)
    u, rows = run.model.drives(run.u, run.x), np.arange(2000) % len(run)
    samples = [array[rows] for array in (run.t, run.q, run.v, u)]
    _, alone = observer.samples(*samples)
    with ThreadPoolExecutor(4) as pool:
        for done, found in pool.map(lambda _: observer.samples(*samples), range(8)):
            assert done == len(rows)
            assert np.array_equal(found, alone)
