"""First-order states in implicit methods, in loops, in model files and in FMUs."""

import numpy as np
import pytest
from machines import FRICTION, SPRING, arm, block, pulled_block

import liegeo as lg
from liegeo import dynamics
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import ModelFileError

# A force in samples; one that came at once would tear the block away, as its speed is above Stribeck's then.
SLOWLY = ([0.0, 4.0], [0.0, 1.2])

IMPLICIT = [m for m in li.ALL_INTEGRATORS if m.mechanical and m.takes_states]


def test_there_are_implicit_methods_with_states():
    assert {m.name for m in IMPLICIT} >= {"generalised-alpha-0.8", "midpoint-alpha-0.8", "lie-bdf-2", "rosenbrock-3"}


@pytest.mark.parametrize("method", IMPLICIT, ids=lambda m: m.name)
def test_implicit_methods_keep_their_order(method):
    """Slope of the error of q, v and x at the end, against a run with tight tolerances."""
    model = arm()
    # no speed changes its sign, where friction has a kink
    state = model.state(q={"elbow": 0.4}, v={"shoulder": 1.0, "elbow": 6.0}, x={"brake": 0.05})
    inputs, t_end = {"drive": lambda t: 0.2 * np.cos(t)}, 0.04
    reference = lg.simulate(model, state, t_end, inputs=inputs, method="rkmk-54", rtol=1e-12, atol=1e-13).end
    errors = []
    for n in (512, 1024) if method.name == "lie-bdf-2" else (64, 128):
        end = lg.simulate(model, state, t_end, inputs=inputs, method=method, step=t_end / n, output=[t_end]).end
        errors.append([np.abs(getattr(end, part) - getattr(reference, part)).max() for part in "qvx"])
    slopes = np.log2(np.divide(*errors))
    # errors of several kinds may cancel: a slope above the order is none of less
    assert slopes.min() > method.order - 0.35


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "midpoint-alpha-0.8", "lie-bdf-2"])
def test_a_block_on_a_spring_sticks_and_slips(method):
    """The numbers of [CO95, section IV]: bristles a hundred times as fast as the step, which is of fixed size."""
    model, speed, t_end = block(), 0.1, 3.0
    expected = pulled_block(lambda t, x: SPRING * (speed * t - x), t_end, FRICTION)

    def pull(t, state):
        return SPRING * (speed * t - state.q[0])

    run = lg.simulate(model, model.state(), t_end, inputs={"pull": pull}, method=method, step=1e-3, output=0.01)
    # it sticks, but for the bristles, and breaks away where the spring overcomes the static friction, at 7.5 s
    assert np.abs(run["slide.position"]).max() < 2e-5
    assert run.end.y[[0, 2, 3]] == pytest.approx(expected, rel=2e-2, abs=1e-7)


def test_what_is_held_by_friction_does_not_creep():
    """A pull that grows to less than the static friction, and stays: nothing moves then, to the last digits."""
    model = block()
    run = lg.simulate(
        model, model.state(), 20.0, inputs={"pull": SLOWLY}, method="generalised-alpha-0.8", step=1e-3, output=5.0
    )
    assert run["ground.bristle"][-1] == pytest.approx(1.2e-5, rel=1e-9)
    # dz/dx = 1 − z/z_s, z_s = F_S/σ₀, for a slow motion
    assert run["slide.position"][-1] == pytest.approx(1.5e-5 * np.log(5.0), rel=1e-2)
    assert abs(run["slide.position"][-1] - run["slide.position"][-2]) < 1e-12


def test_a_run_that_names_nothing_is_right():
    """The method is chosen; bristles may be stiff or not."""
    model = arm()
    state, inputs = model.state(q={"elbow": 1.0}), {"drive": lambda t: np.sin(3 * t)}
    reference = lg.simulate(model, state, 1.0, inputs=inputs, method="rkmk-54", rtol=1e-10, atol=1e-12).end
    run = lg.simulate(model, state, 1.0, inputs=inputs)
    assert run.end.q == pytest.approx(reference.q, abs=2e-3)
    stiff = block()
    run = lg.simulate(stiff, stiff.state(), 6.0, inputs={"pull": SLOWLY})
    assert run["slide.position"][-1] == pytest.approx(1.5e-5 * np.log(5.0), rel=2e-2)


def test_states_in_a_closed_loop():
    """A four-bar whose crank is driven through a lag: implicit and explicit methods agree, and loops stay closed."""
    bars = [lm.Body(name, mass=1.0, com=(0.5 * l, 0, 0), inertia=(0.01, 0.05, 0.05)) for name, l in BARS]
    joints = [
        lm.Revolute(name="a", parent="world", child="crank", axis=(0, 1, 0)),
        lm.Revolute(name="b", parent="crank", child="rod", at=(0.3, 0, 0), axis=(0, 1, 0)),
        lm.Revolute(name="c", parent="world", child="rocker", at=(1.0, 0, 0), axis=(0, 1, 0)),
    ]
    cut = lm.Revolute(name="d", parent="rod", child="rocker", at=(0.9, 0, 0), child_at=(0.6, 0, 0), axis=(0, 1, 0))
    motor = lm.Actuator(name="motor", joint="a", gear=3.0, lag=0.1)
    model = lg.Tree(bars, joints, loops=[cut], forces=[motor]).compile()
    state = lg.assemble(model, model.state(q={"a": -1.0, "b": 0.5, "c": -2.0}, x={"motor": 0.3}), keep=["a"])
    assert state.x.tolist() == [0.3]
    ends = [
        lg.simulate(model, state, 0.4, inputs={"motor": 1.0}, **how).end
        for how in ({"method": "rkmk-54", "rtol": 1e-9}, {"method": "generalised-alpha-0.8", "step": 2e-4})
    ]
    assert ends[1].q == pytest.approx(ends[0].q, abs=2e-6)
    assert ends[0].x == pytest.approx([1.0 - 0.7 * np.exp(-4.0)], abs=1e-8)
    assert ends[1].x == pytest.approx(ends[0].x, abs=1e-6)
    assert np.abs(dynamics.constraint_values(model, ends[1]).residual).max() < 1e-9


BARS = (("crank", 0.3), ("rod", 0.9), ("rocker", 0.6))

FILE = """
liegeo: 1
name: press
bodies:
  block: {kind: rigid, mass: 2 kg, inertia: [0.1, 0.1, 0.1]}
joints:
  slide: {kind: prismatic, parent: world, child: block, axis: [1, 0, 0]}
forces:
  drive: {kind: actuator, joint: slide, gear: 5, lag: 50 ms}
  seal:
    {kind: bristle_friction, joint: slide, coulomb: 1 N, static: 1.5 N, stribeck: 1 cm/s, stiffness: 1 N/mm, damping: 9}
initial:
  x: {seal: 0.2 mm, drive: 0.1 N}
experiment: {end: 1 s, method: generalised-alpha-0.8, step: 1 ms, inputs: {drive: 0.4 N}}
"""


@pytest.fixture
def press(tmp_path):
    file = tmp_path / "press.yaml"
    file.write_text(FILE, encoding="utf-8")
    return lg.load(file)


def test_states_in_a_model_file(press, tmp_path):
    assert press.state().x == pytest.approx([0.1, 2e-4])
    lg.save(press, tmp_path / "again.yaml")
    again = lg.load(tmp_path / "again.yaml")
    assert again.state().x == pytest.approx([0.1, 2e-4])
    assert again.compile().floats.tobytes() == press.compile().floats.tobytes()
    run = press.simulate()
    assert {"drive.output", "seal.bristle"} <= set(run.names)
    assert run["drive.output"][-1] == pytest.approx(0.4 - 0.3 * np.exp(-20.0), abs=1e-4)


def test_a_wrong_state_in_a_model_file_is_reported_at_its_place(tmp_path):
    file = tmp_path / "press.yaml"
    file.write_text(FILE.replace("seal: 0.2 mm, drive", "sael: 0.2 mm, drive"), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r":13:7.*'sael'.*Did you mean 'seal'"):
        lg.load(file)


def test_an_fmu_has_the_states(press, tmp_path):
    """The bits of simulate, and of a run that was saved and put back."""
    import fmu_export as fx

    packed = fx.build(press, tmp_path / "press.fmu")
    names = {name for name, *_ in fx.info(packed).variables["parameter"]}
    assert {"initial.seal.bristle", "initial.drive.output"} <= names
    run, ours = fx.run(packed, interval=0.01, outputs=["slide.position"]), press.simulate(output=0.01)
    assert run["slide.position"][-1] == ours["slide.position"][-1]
