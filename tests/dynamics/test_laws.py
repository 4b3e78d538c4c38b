"""Every function of liegeo.dynamics that takes inputs, on a model that has everything which inputs can mean.

What a function says without `inputs` has to be what `simulate` does in the same state: prescribed motions follow their
laws.  The functions are found by their signatures, so that a new one is tested as soon as it is written.
"""

import inspect

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import liegeo as lg
import liegeo.model as lm
from liegeo import dynamics, operators
from liegeo.analysis.modes import modes
from liegeo.errors import InputError
from liegeo.motion import Drive

TIMES = np.linspace(0.0, 2.0, 9)
SWING = CubicSpline(TIMES, 0.4 * np.sin(1.3 * TIMES))
FUNCTIONS = {
    name: function
    for name, function in vars(dynamics).items()
    if inspect.isfunction(function)
    and not name.startswith("_")
    and function.__module__ == dynamics.__name__
    and "inputs" in inspect.signature(function).parameters
}


def _arm(custom: bool = True, lag: float = 0.0) -> lm.Model:
    """Four links: the first swings by a law, the third is locked, the fourth has a motor; a wheel; a tip on a curve."""

    def on_curve(model, state):
        x, y = dynamics.frame_pose(model, state, "link_2.tip")[:2, 3]
        return x + 0.3 * y * y - 1.05

    names = [f"link_{k}" for k in range(1, 6)]
    bodies = [
        lm.Body(
            name,
            mass=1.0 + k,
            com=(0.25, 0.02 * k, 0.0),
            inertia=np.diag([0.02, 0.1, 0.11]),
            frames={"tip": (0.6, 0.0, 0.0)},
        )
        for k, name in enumerate(names)
    ]
    joints = [
        lm.Revolute(
            name=f"j{k}",
            parent="world" if k == 1 else names[k - 2],
            at=None if k == 1 else "tip",
            child=names[k - 1],
            axis=axis,
            damping=0.1 * k,
        )
        for k, axis in enumerate(([0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]), start=1)
    ]
    tree = lm.Tree(
        bodies,
        joints,
        gravity=(0.0, -9.81, 0.0),
        wheels=[lm.Wheel(name="wheel", body="link_4", inertia=0.03, axis=(1.0, 0.0, 0.0), mass=0.2)],
        forces=[lm.Actuator(name="motor", joint="j5", gear=3.0, limit=0.5, lag=lag)],
        loops=[
            lm.Motion(name="swing", joint="j1", law=SWING),
            lm.Motion(name="turn", joint="j4", law=lambda t: (0.2 * t * t, 0.4 * t, 0.4)),
            *([lm.Custom(name="curve", function=on_curve)] if custom else []),
        ],
    )
    return tree.compile().lock("j3")


def _at(model: lm.Model, t: float) -> lm.State:
    start = model.state({"j2": 0.3, "j3": -0.2, "j5": 0.1}, {"wheel": 40.0, "j5": 0.7}, t=t)
    return lg.assemble(model, start, keep=["j3", "j5", "wheel"])


@pytest.fixture(scope="module")
def arm():
    model = _arm()
    return model, _at(model, 0.7)


def _flat(answer):
    if isinstance(answer, dict):
        return np.concatenate([np.ravel(value) for value in answer.values()])
    return np.concatenate([np.ravel(part) for part in answer]) if isinstance(answer, tuple) else np.ravel(answer)


def test_there_are_functions():
    assert {"forward_dynamics", "loop_forces", "joint_forces", "lock_forces", "constraint_values"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_inputs_laws_hold(arm, name):
    """No inputs, or inputs that name others, are the inputs that the kernels of `simulate` find in their tables."""
    model, state = arm
    if name.endswith("_derivatives"):
        # a Custom constraint takes no complex states: `forward_derivatives` says so, and is tried without it
        with pytest.raises(InputError, match="Custom") if name.startswith("forward") else _nothing():
            FUNCTIONS[name](model, state)
        model = _arm(custom=False)
        state = _at(model, 0.7)
    if name == "state_rates":
        # of the motor's own state, which it has where it lags
        model = _arm(lag=0.2)
        state = _at(model, 0.7)
    function = FUNCTIONS[name]
    u = Drive(model, {"motor": 0.9}).values(state.t, state.q, state.w)[model.nv :]
    expected = _flat(function(model, state, inputs=u))
    assert (
        np.abs(_flat(function(model, state, inputs={"motor": 0.9})) - expected).max() <= 1e-12 * np.abs(expected).max()
    )
    u[model.inputs["motor"]] = 0.0
    plain = _flat(function(model, state))
    assert np.abs(plain - _flat(function(model, state, inputs=u))).max() <= 1e-12 * np.abs(plain).max()
    # the motor counts, and at its limit no more
    if name not in ("constraint_values", "inverse_derivatives", "forward_derivatives"):
        assert np.abs(plain - expected).max() > 1e-3
        if name != "state_rates":
            # what lags is the command; what it makes is limited
            further = _flat(function(model, state, inputs={"motor": 5.0}))
            assert np.abs(further - expected).max() <= 1e-12 * np.abs(expected).max()


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_functions_say_what_a_run_says():
    """Columns of `simulate` at several times against the functions without inputs."""
    model = _arm()
    run = lg.simulate(model, _at(model, 0.0), 1.0, method="rkmk-54", rtol=1e-8, atol=1e-10, output=0.25, progress=False)
    for k in range(len(run)):
        state = run.state(k)
        loops = dynamics.loop_forces(model, state)
        assert loops["swing"][0] == pytest.approx(run["swing.tau"][k], rel=1e-9, abs=1e-9)
        assert loops["turn"][0] == pytest.approx(run["turn.tau"][k], rel=1e-9, abs=1e-9)
        assert loops["curve"] == pytest.approx(run["curve.multiplier"][k], rel=1e-9, abs=1e-9)
        a = dynamics.forward_dynamics(model, state)
        assert a[model.group.v["j1"]][0] == pytest.approx(float(SWING(state.t, 2)), abs=1e-9)
        assert a[model.group.v["j4"]][0] == pytest.approx(0.4, abs=1e-9)
        assert a[model.group.v["j5"]][0] == pytest.approx(run["j5.acceleration"][k], rel=1e-9, abs=1e-9)
        wrench = dynamics.joint_forces(model, state)["j2"]
        assert wrench[:3] == pytest.approx(run["j2.reaction.moment"][k], rel=1e-8, abs=1e-8)
        assert wrench[3:] == pytest.approx(run["j2.reaction.force"][k], rel=1e-8, abs=1e-8)
        assert np.abs(np.concatenate(dynamics.constraint_values(model, state, a=a))).max() < 1e-7
        assert np.flatnonzero(dynamics.lock_forces(model, state)) == model.group.v["j3"].start


def test_composite_and_articulated_agree(arm):
    model, state = arm
    inputs = {"motor": 0.4}
    one, two = (dynamics.forward_dynamics(model, state, inputs=inputs, method=m) for m in ("articulated", "composite"))
    assert np.abs(one - two).max() < 1e-8 * np.abs(one).max()


def test_direct_method_and_operators_know_the_time():
    """Without loops there is no law; the operators are asked with the same rule."""
    model = _arm()
    with pytest.raises(InputError, match='"direct" knows no loops'):
        dynamics.forward_dynamics(model, _at(model, 0.7), method="direct")
    assert operators.operators(model, _at(model, 0.7)).model is model


def test_derivatives_are_those_of_the_moving_law():
    """∂v̇/∂v by differences, at a time when the law moves."""
    model = _arm(custom=False)
    state = _at(model, 0.7)
    found = dynamics.forward_derivatives(model, state)
    k = model.group.v["j5"].start
    e = 1e-6 * np.eye(model.nv)[k]
    sides = [dynamics.forward_dynamics(model, lm.State(state.q, state.v + s * e, state.t)) for s in (1.0, -1.0)]
    assert np.abs((sides[0] - sides[1]) / 2e-6 - found.v[:, k]).max() < 1e-6
    assert modes(model, lm.State(state.q, np.zeros(model.nv), state.t)).acceleration == pytest.approx(
        np.abs(dynamics.forward_dynamics(model, lm.State(state.q, np.zeros(model.nv), state.t))).max()
    )


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.3, 0.75, 2.0, 5.0])
@pytest.mark.parametrize(
    "law",
    [0.3, (TIMES, np.sin(TIMES)), SWING, lambda t: (t, 1.0, 0.0), None],
    ids=["number", "samples", "spline", "function", "none"],
)
def test_laws_are_the_tables_of_the_kernels(law, t):
    """SciPy's evaluation (dynamics) and the kernels' (simulate), also at and beyond both ends of a law."""
    tree = lm.Tree(
        [lm.Body("b", mass=1.0, inertia=np.eye(3))],
        [lm.Revolute(name="j", parent="world", child="b", axis=(0, 0, 1))],
        loops=[lm.Motion(name="m", joint="j", law=law)],
    )
    model = tree.compile()
    state = model.state(t=t)
    mine = model.drive("tau", None, None, t)
    assert mine == pytest.approx(Drive(model).vector(t, state.q, state.v), abs=1e-13)
