"""First-order states of elements: in dynamics, in explicit methods, in results and checkpoints."""

import pickle

import numpy as np
import pytest
from machines import FRICTION, arm, block, lugre, motor, pulled_block

import liegeo as lg
from liegeo import dynamics
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import InputError, ModelError
from liegeo.motion import Drive


def random_state(model, seed=0):
    rng = np.random.default_rng(seed)
    x = {name: 0.01 * rng.normal() for name in model.states}
    return model.state(q=rng.normal(size=model.nq), v=rng.normal(size=model.nv), x=x)


@pytest.mark.kernels
def test_friction_is_the_force_of_the_paper():
    model, rng = block(), np.random.default_rng(0)
    for _ in range(20):
        v, z = 0.002 * rng.normal(), 1e-5 * rng.normal()
        state = model.state(v={"slide": v}, x={"ground": z})
        opposed, rate = lugre(v, z, **FRICTION)
        assert dynamics.forward_dynamics(model, state, inputs={"pull": 0.7}) == pytest.approx(
            [0.7 - opposed], rel=1e-13
        )
        assert dynamics.inverse_dynamics(model, state, [0.3]) == pytest.approx([0.3 + opposed], rel=1e-13)
        found = np.empty(2)
        system = Drive(model, {"pull": 0.7}).system
        work = np.full(system.work, np.nan)
        assert system.dynamics.acceleration(system.ints, system.floats, 0.0, state.q, state.w, work, found) == 0
        assert found == pytest.approx([0.7 - opposed, rate], rel=1e-13)


@pytest.mark.kernels
def test_residual_and_its_derivative_know_the_states():
    model = arm()
    system, rng = Drive(model, {"drive": 0.4}).system, np.random.default_rng(1)
    state, kernels = random_state(model), system.dynamics
    n = model.nv + model.nx
    data, work = (system.ints, system.floats), np.full(system.work, np.nan)
    true, left = np.empty(n), np.empty(n)
    assert kernels.acceleration(*data, 0.0, state.q, state.w, work, true) == 0
    assert kernels.residual(*data, 0.0, state.q, state.w, true, work, left) == 0
    assert left == pytest.approx(np.zeros(n), abs=1e-13)
    dq, dw, da = rng.normal(size=model.nv), rng.normal(size=n), rng.normal(size=n)
    along, e = np.empty(n), 1e-5
    a = rng.normal(size=n)
    assert kernels.along(*data, 0.0, state.q, state.w, a, dq, dw, da, work, along) == 0
    ends = []
    for sign in (1.0, -1.0):
        out = np.empty(n)
        q = model.group.retract(state.q, sign * e * dq)
        kernels.residual(*data, 0.0, q, state.w + sign * e * dw, a + sign * e * da, work, out)
        ends.append(out)
    assert along == pytest.approx((ends[0] - ends[1]) / (2 * e), rel=1e-7, abs=1e-8)


def test_a_motor_follows_its_input_with_its_lag():
    """J ω̇ = gear x, T ẋ = u − x, in closed form; a limit acts on x."""
    T, u, t = 0.3, 0.8, 1.7
    model = motor(T)
    run = lg.simulate(model, model.state(), t, inputs={"drive": u}, rtol=1e-10, atol=1e-12, output=[0.0, 0.4, t])
    assert run["drive.output"] == pytest.approx(u * (1 - np.exp(-run.t / T)), abs=1e-9)
    speed = 2.0 * u / 0.2 * (run.t - T * (1 - np.exp(-run.t / T)))
    assert run["hinge.speed"] == pytest.approx(speed, abs=1e-8)
    assert run.unit("drive.output") == "N·m"
    held = dynamics.forward_dynamics(model, model.state(x={"drive": 100.0}))
    assert held == pytest.approx([2.0 * 3.0 / 0.2])


def test_a_motor_without_lag_has_no_state():
    model = motor(0.0)
    assert model.nx == 0
    assert "drive.output" not in lg.simulate(model, model.state(), 0.1).names


def test_a_pulled_block_moves_as_another_program_says():
    """Presliding and break-away under a force that grows: explicit and other methods against SciPy's Radau."""
    soft = {**FRICTION, "stiffness": 1e3, "damping": 20.0, "stribeck": 0.01}
    model, t_end = block(**soft), 2.0
    expected = pulled_block(lambda t, x: 1.2 * t, t_end, soft)
    run = lg.simulate(
        model,
        model.state(),
        t_end,
        inputs={"pull": lambda t: 1.2 * t},
        method="rkmk-54",
        rtol=1e-9,
        atol=1e-13,
        output=[0.0, t_end],
    )
    assert [run["slide.position"][-1], run["slide.speed"][-1]] == pytest.approx(expected[:2], rel=1e-6)
    assert run["ground.bristle"][-1] == pytest.approx(expected[2], rel=1e-6)


def test_sliding_steadily_takes_the_force_of_stribeck():
    model, v = block(), 0.0015
    level = 1.0 + 0.5 * np.exp(-((v / 0.001) ** 2))
    state = model.state(v={"slide": v}, x={"ground": level / 1e5})
    assert dynamics.forward_dynamics(model, state, inputs={"pull": level + 0.4 * v}) == pytest.approx([0.0], abs=1e-12)


def test_energy_is_stored_in_bristles_and_accounted_for():
    model = arm()
    state = model.state(q={"elbow": 1.0}, v={"elbow": 2.0})
    inputs = {"drive": lambda t: np.sin(3 * t)}
    run = lg.simulate(model, state, 2.0, inputs=inputs, method="rkmk-54", rtol=1e-9, atol=1e-11)
    account = run.info.energy
    assert abs(account.defect) < 1e-6 * (abs(account.work) + account.dissipated)
    state = model.state(x={"brake": 0.1})
    assert dynamics.balance(model, state).elastic == pytest.approx(0.5 * 4.0 * 0.1**2, rel=1e-14)


EXPLICIT = [m for m in li.ALL_INTEGRATORS if not m.mechanical and "linear" not in m.properties]


@pytest.mark.parametrize("method", EXPLICIT, ids=lambda m: m.name)
def test_methods_for_fields_keep_their_order(method):
    """Slope of the error of (q, v, x) at the end, against a run with tight tolerances."""
    model = arm()
    # no speed changes its sign, where friction has a kink
    state = model.state(q={"elbow": 0.4}, v={"shoulder": 1.0, "elbow": 6.0}, x={"brake": 0.05})
    inputs, t_end = {"drive": lambda t: 0.2 * np.cos(t)}, 0.04
    reference = lg.simulate(model, state, t_end, inputs=inputs, method="rkmk-54", rtol=1e-12, atol=1e-13).end.y
    errors, first = [], {4: 32, 5: 32, 6: 16}.get(method.order, 64)
    for n in (first, 2 * first):
        run = lg.simulate(model, state, t_end, inputs=inputs, method=method, step=t_end / n, output=[t_end])
        errors.append(np.abs(run.end.y - reference).max())
    slope = np.log(errors[0] / errors[1]) / np.log(2.0)
    assert slope == pytest.approx(method.order, abs=0.3 if method.order < 6 else 0.6)


@pytest.mark.parametrize("name", ["variational-exp", "energy-momentum", "verlet"])
def test_methods_that_cannot_refuse_and_name_the_element(name):
    with pytest.raises(InputError, match=r"Actuator 'drive', BristleFriction 'brake'.*first-order states"):
        lg.simulate(arm(), t_end=0.1, method=name, step=0.01)


def test_states_by_name_and_their_errors():
    model = arm()
    state = model.state(x={"brake": 0.2})
    assert state.x.tolist() == [0.0, 0.2]
    # a zero for each coordinate that belongs to a state: integrate/problems.py (2)
    assert state.y.tolist() == [*state.q, 0.0, 0.0, *state.v, *state.x]
    assert model.unpack(state.y, 0.5).x.tolist() == [0.0, 0.2]
    with pytest.raises(InputError, match=r"x: 'break' is no element with first-order states\. Did you mean 'brake'"):
        model.state(x={"break": 0.2})
    with pytest.raises(InputError, match=r"x has shape \(3,\), expected \(2,\)"):
        model.state(x=[1, 2, 3])
    with pytest.raises(InputError, match=r"first-order states x of shape \(0,\), expected \(2,\): those of Actuator"):
        lg.forward_dynamics(model, lm.State(state.q, state.v))


def test_models_with_states_are_pickled():
    model = arm()
    again = pickle.loads(pickle.dumps(model))
    state = random_state(model)
    assert (dynamics.forward_dynamics(again, state) == dynamics.forward_dynamics(model, state)).all()
    assert again.states == model.states
    held = model.lock("elbow")
    assert held.states == model.states


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coulomb": 0.0}, "coulomb is 0, must be > 0"),
        ({"stiffness": -1.0}, "stiffness is -1, must be > 0"),
        ({"static": 0.5}, "static is 0.5, must be at least coulomb, which is 1"),
        ({"damping": -2.0}, "damping is -2, must be ≥ 0"),
        ({"stribeck": np.nan}, "stribeck is nan"),
    ],
)
def test_bristles_that_cannot_be(change, words):
    with pytest.raises(ModelError, match=f"BristleFriction 'ground': {words}"):
        block(**change)


def test_a_lag_that_cannot_be():
    with pytest.raises(ModelError, match=r"Actuator 'drive': lag is -1, must be ≥ 0"):
        motor(-1)


def test_a_run_goes_on_from_its_checkpoint_with_its_states(tmp_path):
    model, file = arm(), tmp_path / "run.checkpoint"
    state = model.state(q={"elbow": 0.7}, x={"brake": 0.01})
    arguments = {"inputs": {"drive": 0.3}, "output": 0.01, "progress": False, "method": "rkmk-54"}
    whole = lg.simulate(model, state, 3.0, **arguments)
    seen = []

    def stop(part):
        seen.append(part)
        raise KeyboardInterrupt

    first = lg.simulate(model, state, 3.0, **arguments, checkpoint=file, checkpoint_every=0.0, watch=stop)
    assert seen
    assert not first.info.finished or len(first) == len(whole)
    again = lg.simulate(model, state, 3.0, **arguments, checkpoint=file)
    assert again.x.tobytes() == whole.x.tobytes()
    assert again.q.tobytes() == whole.q.tobytes()


def test_events_and_functions_see_the_states():
    model = motor(0.3)
    seen = []

    def command(t, state):
        seen.append(state.x.copy())
        return 1.0 - state.x[0]

    event = li.Event(lambda t, state: state.x[0] - 0.25, terminal=True)
    run = lg.simulate(model, model.state(), 5.0, inputs={"drive": command}, method="rkmk-54", events=[event])
    assert run.end.x == pytest.approx([0.25], abs=1e-9)
    assert max(x[0] for x in seen) > 0.1
