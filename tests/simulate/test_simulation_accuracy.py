"""An accuracy in metres and degrees: what people may write, what errors are judged by, and what comes out."""

import numpy as np
import pytest
from typer.testing import CliRunner

import liegeo as lg
import liegeo.model as lm
from liegeo import cli, dynamics
from liegeo.accuracy import Accuracy, size_of
from liegeo.errors import InputError
from liegeo.io import shipped
from liegeo.kernels import inverse
from liegeo.lie import SO3
from models import flexible_chain


def rod(name, length=1.0):
    J = length**3 / 12.0
    return lg.Body(name, mass=length, com=(length / 2, 0, 0), inertia=(1e-4, J, J), frames={"end": (length, 0, 0)})


def four_bar(crank=0.5, coupler=1.5, rocker=1.2, ground=1.4):
    joints = [
        lm.Revolute(name="A", parent="world", child="crank"),
        lm.Revolute(name="B", parent="crank", child="coupler", at="end"),
        lm.Revolute(name="C", parent="world", child="rocker", at=(ground, 0, 0)),
    ]
    closing = lm.Revolute(name="D", parent="coupler", child="rocker", at="end", child_at="end")
    bodies = [rod("crank", crank), rod("coupler", coupler), rod("rocker", rocker)]
    model = lm.Tree(bodies, joints, loops=[closing], gravity=(0, -9.81, 0), name="four-bar").compile()
    upright = model.state(q={"A": np.pi / 2, "B": -np.pi / 2, "C": np.pi / 2}, v={"A": -1.0, "B": 1.0, "C": -1.0})
    return model, lg.assemble(model, upright, keep=["A"])


# ---- what people may write


@pytest.mark.parametrize(
    ("given", "position", "angle"),
    [
        (1e-3, 1e-3, None),
        ("1 mm", 1e-3, None),
        ("0.5deg", None, np.radians(0.5)),
        ("1 mm, 0.1 deg", 1e-3, np.radians(0.1)),
        (("0.1 °", "2 cm"), 0.02, np.radians(0.1)),
        ({"position": "10 µm", "angle": 1e-3}, 1e-5, 1e-3),
    ],
)
def test_what_people_mean(given, position, angle):
    found = Accuracy.of(given)
    assert (found.position, found.angle) == (pytest.approx(position), pytest.approx(angle))
    assert Accuracy.of(str(found)) == found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("1 kg", "accuracy is '1 kg', expected a length or an angle such as '1 mm'"),
        ("-1 mm", "must be > 0 and finite"),
        ((), "expected a length or an angle"),
        ("1 mm, 2 mm", "which has two lengths"),
        ({"speed": 1.0}, "accuracy has 'speed', expected 'position' or 'angle'"),
        ({"angle": "1 mm"}, "angle is '1 mm', which is no angle"),
        (True, "accuracy is True, expected a length"),
    ],
)
def test_what_means_nothing(given, message):
    with pytest.raises(InputError, match=message):
        Accuracy.of(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rtol": 1e-4}, "rtol or atol are given too, expected one or the other"),
        ({"step": 1e-3}, "an accuracy and a step are given, expected one of them"),
        ({"method": "rkmk-4", "step": 1e-3}, "an accuracy is given, but rkmk-4 has steps of fixed size"),
    ],
)
def test_what_does_not_go_together(options, message):
    model = lg.Tree([rod("rod")], [lm.Revolute(name="hinge", parent="world", child="rod")]).compile()
    with pytest.raises(InputError, match=message):
        lg.simulate(model, accuracy="1 mm", **options)


def test_from_files_and_the_command_line(tmp_path):
    text = (shipped.folder() / "double_pendulum.yaml").read_text("utf-8")
    text = text.replace("rtol: 1e-8", "accuracy: [1 mm, 1 deg]").replace("atol: 1e-8", "every: 1")
    path = tmp_path / "pendulum.yaml"
    path.write_text(text, "utf-8")
    mechanism = lg.load(path)
    assert Accuracy.of(mechanism.experiment.accuracy) == Accuracy(1e-3, np.radians(1.0))
    lg.save(mechanism, tmp_path / "again.yaml")
    assert lg.load(tmp_path / "again.yaml").experiment.accuracy == mechanism.experiment.accuracy
    run = mechanism.simulate(t_end=0.5)
    assert run.info.accuracy == pytest.approx((1e-3, np.radians(1.0)))
    assert mechanism.simulate(t_end=0.5, rtol=1e-5).info.accuracy is None
    arguments = ["simulate", str(path), "--end", "0.5", "--accuracy", "2 mm", "-o", str(tmp_path / "run.csv")]
    shown = CliRunner().invoke(cli.app, arguments)
    assert shown.exit_code == 0
    assert "at most 0.002 m asked for" in shown.output


# ---- what errors are judged by


def test_size_is_the_largest_reach():
    model, state = four_bar()
    # stretched out, the crank carries the coupler
    assert size_of(model, state) == pytest.approx(2.0)
    assert size_of(flexible_chain(4), flexible_chain(4).state()) == pytest.approx(2.0)


def test_displacement_is_that_of_the_mass():
    """Poses after a small change of q, and of each body the mean over its mass: com and rotation, or a lumped body."""
    rng = np.random.default_rng(3)
    bodies = [rod("a"), rod("b", 0.7), lg.Body("c", mass=0.2, com=(0, 0.3, 0.1), inertia=(0.01, 0.02, 0.015))]
    joints = [
        lm.Free(name="f", parent="world", child="a"),
        lm.Universal(name="u", parent="a", child="b", at="end"),
        lm.Spherical(name="s", parent="b", child="c", at="end", child_at=(0.1, 0, 0)),
    ]
    model = lg.Tree(bodies, joints).compile()
    q = model.group.retract(model.state().q, rng.normal(size=model.nv))
    e = 1e-6 * rng.normal(size=model.nv)
    out = np.full(2, np.nan)
    inverse.displacement(model.ints, model.floats, q, e, model.workspace(), out)
    zero = np.zeros(model.nv)
    before, after = (dynamics.body_poses(model, lm.State(x, zero)) for x in (q, model.group.retract(q, e)))
    metres, radians = [], []
    for body in bodies:
        X, Y = before[body.name], after[body.name]
        moved = (Y[:3, :3] - X[:3, :3]) @ body.com + Y[:3, 3] - X[:3, 3]
        turn = SO3.log(X[:3, :3].T @ Y[:3, :3])
        metres.append(np.sqrt(moved @ moved + turn @ body.inertia @ turn / body.mass))
        radians.append(np.linalg.norm(turn))
    assert out == pytest.approx([max(metres), max(radians)], rel=1e-5)


def test_displacement_of_a_flexible_body_is_that_of_its_kinetic_energy():
    model = flexible_chain(1)
    e = 1e-3 * np.random.default_rng(4).normal(size=model.nv)
    out = np.full(2, np.nan)
    state = model.state(v=e)
    inverse.displacement(model.ints, model.floats, state.q, e, model.workspace(), out)
    kinetic = 0.5 * e @ dynamics.mass_matrix(model, state) @ e
    assert out[0] == pytest.approx(np.sqrt(2.0 * kinetic / model.body(0).mass), rel=1e-12)


# ---- what comes out


# Models with a span in which errors grow little, and the tolerances of the explicit method's reference.
SPANS = {
    "double_pendulum": 2.0,
    "heavy_top": 1.0,
    "fls13_pendulum": 0.5,
    "flexible_arm": 0.5,
    "bricard": 2.0,
    "andrews_squeezer": 0.03,
}


def farthest(model, run, exact):
    """The largest distance between the frames of bodies at the ends of two runs."""
    names = [f"{b}.{f}" for i, b in enumerate(model.bodies) for f in [*model.body(i).frames]] or []
    names += list(model.bodies)
    ends = [lm.State(r.q[-1], r.v[-1], r.t[-1]) for r in (run, exact)]
    poses = ([dynamics.frame_pose(model, end, name)[:3, 3] for name in names] for end in ends)
    return max(float(np.linalg.norm(a - b)) for a, b in zip(*poses, strict=True))


def check_accuracy(model, state, span, inputs, shares):
    """Whether errors are within ten times what was asked for, for the explicit and the implicit method."""
    options = {"inputs": inputs, "output": [state.t + span], "progress": False}
    exact = lg.simulate(model, state, state.t + span, method="rkmk-54", rtol=1e-11, atol=1e-12, **options)
    size = size_of(model, state)
    implicit = "adaptive-alpha-0.8" if model.rows else "adaptive-midpoint-0.6"
    for method, asked in shares:
        name = implicit if method == "implicit" else method
        run = lg.simulate(model, state, state.t + span, method=name, accuracy=asked * size, **options)
        assert farthest(model, run, exact) < 10.0 * asked * size, (name, asked)
        assert run.info.local_errors < 1.5 * asked * size
        assert run.info.accuracy[0] == asked * size


@pytest.mark.slow
@pytest.mark.parametrize("name", SPANS)
def test_what_is_asked_for_is_what_comes_out(name):
    mechanism = lg.load(shipped.folder() / f"{name}.yaml")
    model, state = mechanism.compile(), mechanism.state()
    shares = [("rkmk-54", 1e-3), ("rkmk-54", 1e-5), ("rkmk-54", 1e-7), ("implicit", 1e-2), ("implicit", 1e-4)]
    check_accuracy(model, state, SPANS[name], dict(mechanism.experiment.inputs), shares)


def test_a_smooth_motion_is_not_ten_times_better_than_asked_for():
    """Steps that are shorter than needed are a fault too."""
    mechanism = lg.load(shipped.folder() / "heavy_top.yaml")
    model, state = mechanism.compile(), mechanism.state()
    exact = lg.simulate(model, state, 1.0, rtol=1e-12, atol=1e-13, output=[1.0])
    size = size_of(model, state)
    for method, share in (("rkmk-54", 1e-4), ("rkmk-54", 1e-8), ("adaptive-midpoint-0.6", 1e-3)):
        run = lg.simulate(model, state, 1.0, method=method, accuracy=share * size, output=[1.0])
        assert 0.05 * share * size < farthest(model, run, exact) < 2.0 * share * size


def test_degrees():
    """A thousandth of a degree takes more steps than a metre, and is kept."""
    mechanism = lg.load(shipped.folder() / "heavy_top.yaml")
    model, state = mechanism.compile(), mechanism.state()
    exact = lg.simulate(model, state, 1.0, rtol=1e-12, atol=1e-13, output=[1.0])
    coarse, fine = (lg.simulate(model, state, 1.0, accuracy=a, output=[1.0]) for a in ("1 m", "1 m, 0.001 deg"))
    assert fine.info.steps > 1.5 * coarse.info.steps
    X, Y = (dynamics.body_poses(model, lm.State(r.q[-1], r.v[-1], 1.0)) for r in (fine, exact))
    turned = max(np.linalg.norm(SO3.log(X[name][:3, :3].T @ Y[name][:3, :3])) for name in X)
    assert turned < 10.0 * np.radians(0.001)


def test_a_four_bar_that_was_half_a_metre_off():
    """Its crank just passes its top, so errors of energy grow: rtol 1e-4 leaves a point 0.55 m off in 20 s."""
    model, state = four_bar()
    options = {"t_end": 20.0, "output": 0.1, "progress": False}
    exact = lg.simulate(model, state, rtol=1e-12, atol=1e-13, **options)
    errors = []
    for more in ({"rtol": 1e-4, "atol": 1e-5}, {}):
        run = lg.simulate(model, state, **options, **more)
        point = "coupler.end.position"
        errors.append((np.abs(run[point] - exact[point]).max(), abs(run.info.energy.defect) / run.energy_scale))
    assert errors[0][0] > 0.3
    assert errors[0][1] > 1e-3
    assert errors[1][0] < 1e-4
    assert errors[1][1] < 1e-6


@pytest.mark.parametrize("n", [4, 16])
def test_the_default_is_good_on_flexible_chains(n):
    """Error within what is the default, in no more than three times the 400 steps (2.5 ms) of hand-chosen settings."""
    model = flexible_chain(n)
    run = lg.simulate(model, t_end=1.0, output=[1.0])
    exact = lg.simulate(model, t_end=1.0, output=[1.0], step=5e-5)
    name = f"link{n - 1}.8.position"
    assert run.info.method == "adaptive-midpoint-0.6"
    assert run.info.steps + run.info.rejected < 1200
    assert np.abs(run[name][-1] - exact[name][-1]).max() < 1e-4 * size_of(model, model.state())
