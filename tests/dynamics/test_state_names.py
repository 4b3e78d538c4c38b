"""Numbers of a state by the names of columns; where the numbers of joints and elements stand."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError


@pytest.fixture(scope="module")
def model():
    shape = np.zeros((6, 2))
    shape[4, 0] = shape[5, 1] = 1.0
    pieces = [lm.LumpedNode(k * shape, (0.5 * k, 0, 0), 0.5, inertia=(0.01,) * 3, name=f"n{k}") for k in range(3)]
    beam = lm.FlexibleBody.from_nodes("beam", pieces, stiffness=np.diag([900.0, 800.0]))
    ball = lm.Body("ball", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    joints = [
        lm.Revolute(name="hinge", parent="world", child="beam", axis=(0, 1, 0)),
        lm.Spherical(name="socket", parent="beam", child="ball", at="n2"),
    ]
    forces = [lm.PointForce(name="wind", at="ball"), lm.Actuator(name="motor", joint="hinge", lag=0.1)]
    return lm.Tree([beam, ball], joints, forces=forces, loops=[lm.Motion(name="turn", joint="hinge")]).compile()


def test_every_column_of_a_state_is_what_a_result_shows(model):
    rng = np.random.default_rng(1)
    state = model.state(model.group.exp(rng.normal(size=model.nv)), rng.normal(size=model.nv), 0.3, [0.7])
    u = np.zeros((1, model.nv + model.nu))
    run = lg.Result(
        model, np.array([0.3]), state.q[None], state.v[None], u, lg.results.RunInfo("none", 0), state.x[None]
    )
    own = [name for name, column in model.names.table.items() if column.source != ("u",)]
    assert len(own) == 1 + model.nq + model.nv + model.nx
    for name in own:
        assert state[name] == run[name][0]
        assert np.ndim(state[name]) == 0
    assert_array_equal(state["socket.quaternion"], state.q[model.index("socket").q])
    assert_array_equal(state["beam.eta"], state.q[model.index("beam").q])
    assert run.end["hinge.angle"] == state["hinge.angle"]


def test_other_values_make_another_state(model):
    state = model.state(q={"hinge": 0.1}, t=1.0)
    other = state.replace(
        {
            "hinge.angle": 0.3,
            "beam.etad[1]": 2.0,
            "socket.quaternion": [0, 0.6, 0, 0.8],
            "motor.output": 5.0,
            "time": 2.0,
        }
    )
    assert (state["hinge.angle"], state.t) == (0.1, 1.0)
    assert (other["hinge.angle"], other["beam.etad[1]"], other["motor.output"], other.t) == (0.3, 2.0, 5.0, 2.0)
    np.testing.assert_allclose(other["socket.quaternion"], [0, 0.6, 0, 0.8], rtol=1e-15)
    expected = model.state({"hinge": 0.3, "socket": [0, 0.6, 0, 0.8]}, {"beam": [0, 2.0]}, 2.0, {"motor": 5.0})
    assert_array_equal(other.y, expected.y)
    assert_array_equal(state.replace({}).y, state.y)


def test_states_keep_their_names(model):
    state = model.state(q={"hinge": 0.1})
    assert replace(state, t=3.0)["hinge.angle"] == 0.1
    assert model.unpack(state.y)["hinge.angle"] == 0.1
    assert pickle.loads(pickle.dumps(state))["hinge.angle"] == 0.1
    assert "model" not in repr(state)


def test_functions_of_a_run_get_states_with_names():
    body = lm.Body("bob", 1.0, (0, 0, -1.0), (0.1, 0.1, 0.1))
    model = lm.Tree([body], [lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0))]).compile()
    run = lg.simulate(
        model,
        model.state({"hinge": 0.2}),
        0.5,
        inputs={"hinge": lambda t, state: -3.0 * state["hinge.angle"]},
    )
    np.testing.assert_allclose(run["hinge.tau"], -3.0 * run["hinge.angle"], rtol=1e-12)


def test_what_a_state_does_not_hold(model):
    state = model.state()
    with pytest.raises(InputError, match=r"state: 'hinge.angel' is neither a column .*Did you mean 'hinge.angle'\?"):
        state["hinge.angel"]
    with pytest.raises(InputError, match=r"state: 'hinge' has several quantities.*: hinge.angle, hinge.speed"):
        state["hinge"]
    for name in ("ball.position", "wind.input.force.x", "hinge.acceleration"):
        with pytest.raises(InputError, match=rf"state: '{name}' is no part of a state .*\n.*outputs\(\['{name}'\]\)"):
            state[name]
    with pytest.raises(InputError, match=r"state\['hinge.angle'\] has shape \(2,\), expected \(1,\)"):
        state.replace({"hinge.angle": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"state\['hinge.angle'\] is nan, expected finite numbers"):
        state.replace({"hinge.angle": np.nan})
    with pytest.raises(InputError, match=r"'socket'\) is not an element of SO3Q: its quaternion has norm 5"):
        state.replace({"socket.quaternion": [0, 3, 0, 4]})
    with pytest.raises(InputError, match=r"state.replace: values are 0.3, expected a mapping"):
        state.replace(0.3)
    with pytest.raises(InputError, match=r"state: 'hinge.angle' has no meaning in a state without a model"):
        lm.State(state.q, state.v)["hinge.angle"]


def test_where_numbers_stand(model):
    rng = np.random.default_rng(4)
    state = model.state(model.group.exp(rng.normal(size=model.nv)), rng.normal(size=model.nv))
    for name, place in model.group.q.items():
        assert (model.index(name).q, model.index(name).v) == (place, model.group.v[name])
    motor, wind, turn = (model.index(name) for name in ("motor", "wind", "turn"))
    assert (motor.x, motor.q) == (slice(0, 1), slice(0, 0))
    drive = model.drive("tau", None, {"wind": np.arange(6.0), "motor": 7.0, "turn": [1.0, 2.0, 3.0]}, 0.0)
    inputs = drive[model.nv : model.nv + model.nu]
    assert_array_equal(inputs[wind.inputs], np.arange(6.0))
    assert_array_equal(inputs[turn.inputs], [1.0, 2.0, 3.0])
    assert inputs[motor.inputs] == 7.0
    assert_array_equal(state.v[model.index("socket").v], state["socket.angular_velocity"])
    assert repr(model.index("socket")) == "<'socket': q[3:7], v[3:6]>"
    assert repr(motor) == "<'motor': x[0:1], inputs[6:7]>"
    with pytest.raises(
        InputError, match=r"index: 'hinges' has no coordinates, states or inputs. Did you mean 'hinge'\?"
    ):
        model.index("hinges")
