"""simulate: right against closed forms and other methods, for every way to call it; what comes out when it fails."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import liegeo as lg
from liegeo import integrate as li
from liegeo import model as lm
from liegeo.errors import InputError, SimulationError
from liegeo.integrate import Event
from models import crane, flexible_chain, pendulum

G = 9.81


@pytest.fixture(scope="module")
def swinging():
    return pendulum()


def exact_angle(t, inertia=2.0 + 1e-3, moment=2.0):
    """From rest, horizontal, of the pendulum of models.py: a quarter turn from the lowest place, where q = −π/2."""
    rate, k = np.sqrt(moment * G / inertia), np.sin(np.pi / 4)
    sn, _, _, _ = ellipj(ellipk(k**2) - rate * np.asarray(t), k**2)
    return 2.0 * np.arcsin(k * sn) - np.pi / 2


def test_a_pendulum_against_jacobi(swinging):
    run = lg.simulate(swinging, t_end=3.0, rtol=1e-9, atol=1e-9)
    assert run["hinge.angle"] == pytest.approx(exact_angle(run.t), abs=1e-7)
    assert run.names[0] == "time"
    assert len(run) == 1001
    assert run.info.method == "rkmk-54"
    assert run.info.finished


@pytest.mark.parametrize(
    "method", [m for m in li.ALL_INTEGRATORS if "linear" not in m.properties], ids=lambda m: m.name
)
def test_every_method_simulates_a_tree(swinging, method):
    """A millisecond's step, each within what its order allows, by its name as well."""
    run = lg.simulate(swinging, t_end=0.5, method=method.name, step=1e-3, output="steps")
    error = abs(run["hinge.angle"][-1] - exact_angle(0.5))
    assert error < (1e-2 if method.order == 1 else 1e-5)
    assert len(run) == 501
    assert run.info.steps == 500


@pytest.mark.parametrize("method", li.ALL_ADAPTIVE, ids=lambda m: m.name)
def test_every_adaptive_method_simulates_a_tree(swinging, method):
    run = lg.simulate(swinging, t_end=0.5, method=method, rtol=1e-6, atol=1e-6)
    assert run["hinge.angle"] == pytest.approx(exact_angle(run.t), abs=2e-5)


def test_it_chooses_by_stiffness():
    """A chain whose fastest mode has 2700 Hz: generalised-α; a damper that nobody feels: an explicit method."""
    coarse = {"rtol": 1e-4, "atol": 1e-5}
    assert lg.simulate(flexible_chain(1), t_end=1.0, **coarse).info.method == "adaptive-midpoint-0.6"
    assert lg.simulate(flexible_chain(1), t_end=1.0).info.method == "adaptive-midpoint-0.6"
    assert lg.simulate(pendulum(damping=1e-3), t_end=0.5).info.method == "rkmk-54"
    assert lg.simulate(flexible_chain(1), t_end=0.01, step=1e-3).info.method == "generalised-alpha-0.8"
    assert lg.simulate(pendulum(), t_end=0.01, step=1e-3).info.method == "rkmk-4"


def test_methods_agree_on_a_flexible_chain():
    """An implicit one with steps of its own, one with fixed steps, and an explicit one with very small steps."""
    model = flexible_chain(2)
    runs = [
        lg.simulate(model, t_end=0.3, rtol=1e-7, atol=1e-7),
        lg.simulate(model, t_end=0.3, step=1e-4),
        lg.simulate(model, t_end=0.3, method=li.RKMK4, step=2e-5),
    ]
    tips = [run["link1.8.position"][-1] for run in runs]
    assert tips[0] == pytest.approx(tips[2], abs=2e-6)
    assert tips[1] == pytest.approx(tips[2], abs=2e-6)


def test_output_times(swinging):
    run = lg.simulate(swinging, t_end=1.0, output=[0.0, 0.1, 0.55, 1.0], rtol=1e-9, atol=1e-9)
    assert run.t.tolist() == [0.0, 0.1, 0.55, 1.0]
    assert run["hinge.angle"] == pytest.approx(exact_angle(run.t), abs=1e-8)
    assert lg.simulate(swinging, t_end=1.0, output=0.3).t == pytest.approx([0.0, 0.3, 0.6, 0.9])
    assert lg.simulate(swinging, t_end=1.0, output=[0.5]).t.tolist() == [0.5]
    # between the steps of a method of fixed step
    fixed = lg.simulate(swinging, t_end=1.0, step=0.01, output=0.0137)
    assert fixed["hinge.angle"] == pytest.approx(exact_angle(fixed.t), abs=1e-6)
    every = lg.simulate(swinging, t_end=1.0, step=0.01, output="steps", every=7)
    assert every.t == pytest.approx([*np.arange(0, 100, 7) * 0.01, 1.0])
    steps = lg.simulate(swinging, t_end=1.0, output="steps")
    assert len(steps) == steps.info.steps + 1


def test_output_does_not_change_the_run(swinging):
    a = lg.simulate(swinging, t_end=2.0, output="steps")
    b = lg.simulate(swinging, t_end=2.0, output=0.1)
    assert (a.end.q == lg.simulate(swinging, t_end=2.0, output=[2.0]).end.q).all()
    assert b.info.steps == a.info.steps


def test_it_goes_on_from_where_a_run_ended(swinging):
    first = lg.simulate(swinging, t_end=0.7, rtol=1e-10, atol=1e-10)
    second = lg.simulate(swinging, first.end, t_end=1.5, rtol=1e-10, atol=1e-10)
    assert second.t[0] == 0.7
    assert second["hinge.angle"] == pytest.approx(exact_angle(second.t), abs=1e-8)


def test_inputs_reach_the_model_and_the_result():
    model = crane()
    run = lg.simulate(model, t_end=0.5, inputs={"motor": lambda t: np.sin(t), "luff": lambda t, x: -0.5 * x.v[0]})
    assert run["motor.input"] == pytest.approx(np.sin(run.t))
    assert run["luff.tau"] == pytest.approx(-0.5 * run["luff.speed"])


def test_power_of_the_inputs_is_the_change_of_energy():
    model = crane()
    run = lg.simulate(model, t_end=1.0, inputs={"luff": lambda t: 40.0 + 5 * np.sin(9 * t)}, rtol=1e-10, atol=1e-10)
    power = run["luff.tau"] * run["luff.speed"]
    work = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(work, rel=1e-5)


def test_locked_joints_stay(swinging):
    model = crane().lock("luff")
    for method in ("rkmk-54", "adaptive-alpha-0.8", "rosenbrock-32"):
        run = lg.simulate(model, model.state(q={"hook": [0.4, 0.2]}), t_end=0.5, method=method)
        assert np.abs(run["luff.angle"]).max() == 0.0
        assert np.ptp(run["hook.angle"]) > 0.1


def test_events(swinging):
    """The lowest place is passed every half period."""
    period = 4 * ellipk(0.5) / np.sqrt(2.0 * G / 2.001)
    lowest = Event(lambda t, state: state.q[0] + np.pi / 2)
    run = lg.simulate(swinging, t_end=3.0, events=[lowest], rtol=1e-9, atol=1e-9)
    times = [state.t for state in run.info.events[0]]
    assert times == pytest.approx(period / 4 + period / 2 * np.arange(len(times)), abs=1e-7)
    fixed = lg.simulate(swinging, t_end=3.0, events=[lowest], step=1e-3)
    assert [state.t for state in fixed.info.events[0]] == pytest.approx(times, abs=1e-6)


def test_a_terminal_event_ends_the_run(swinging):
    lowest = Event(lambda t, state: state.q[0] + np.pi / 2, terminal=True)
    quarter = 4 * ellipk(0.5) / np.sqrt(2.0 * G / 2.001) / 4
    # the first piece of a run is longer than that: what it found later does not count
    for how in ({"output": "steps"}, {"output": 0.25}, {"output": [0.1, 2.9]}, {}, {"step": 1e-3, "output": 0.03}):
        seen = Event(lambda t, state: state.q[0] + 0.5)
        run = lg.simulate(swinging, t_end=9.0, events=[lowest, seen], rtol=1e-9, atol=1e-9, **how)
        assert run.end.q[0] == pytest.approx(-np.pi / 2, abs=1e-9)
        assert run.t[-1] == run.end.t == run.info.events[0][0].t == pytest.approx(quarter, abs=1e-6)
        assert (np.diff(run.t) > 0.0).all()
        assert [len(places) for places in run.info.events] == [1, 1]
        assert run.info.finished
        assert run.info.message.startswith("event at t = 0.59")


def test_a_motion_that_cannot_begin_is_an_error():
    """From gimbal lock there is no acceleration, whatever the method."""
    ball = lg.Body("ball", mass=1.0, inertia=(1, 1, 1))
    joint = lm.Screws(name="gimbal", parent="world", child="ball", subspace=np.eye(3, 6)[[2, 1, 0]])
    model = lg.Tree([ball], [joint], name="gimbal").compile()
    state = model.state(q={"gimbal": [0.3, np.pi / 2, 0.1]}, v={"gimbal": [0.2, 0.1, 0.0]})
    for how in ({"method": "adaptive-alpha-0.8"}, {"method": "rkmk-54"}, {"method": "rosenbrock-32"}, {"step": 1e-3}):
        with pytest.raises(SimulationError, match=r"at t = 0 s: joint 'gimbal' .* not positive") as raised:
            lg.simulate(model, state, t_end=0.1, **how)
        assert raised.value.result.t.tolist() == [0.0]


def test_a_blow_up_is_told_with_its_time_and_the_run_so_far_is_kept():
    """An explicit method with too large a step bends a link until it has no inertia left, which is not the cause."""
    model, where = flexible_chain(2), r"at t = [\d.e-]+ s: the solution grows without bound"
    with pytest.raises(SimulationError, match=where) as raised:
        lg.simulate(model, t_end=1.0, method="rkmk-4", step=1.25e-4)
    assert raised.value.result.t[-1] > 0.0
    assert not raised.value.result.info.finished


def test_an_input_that_fails_keeps_the_run_so_far(swinging):
    def fails(t):
        if t > 0.3:
            raise ValueError("the valve is stuck")
        return 0.0

    with pytest.raises(SimulationError, match=r"at t = 0\.\d+ s: the valve is stuck") as raised:
        lg.simulate(swinging, t_end=1.0, inputs={"hinge": fails})
    assert isinstance(raised.value.__cause__, ValueError)
    result = raised.value.result
    assert 0.2 < result.t[-1] <= 0.3
    assert result["hinge.angle"] == pytest.approx(exact_angle(result.t), abs=1e-4)
    assert "stopped early: at t = 0.2" in repr(result)


def test_ctrl_c_returns_what_there_is(swinging):
    timer = threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    run = lg.simulate(swinging, t_end=1e7, output="steps", every=1000, step=1e-3)
    assert not run.info.finished
    assert run.info.message.startswith("interrupted at t = ")
    assert 0.0 < run.t[-1] < 1e7


def test_ctrl_c_in_an_input_function(swinging):
    def interrupted(t):
        if t > 0.2:
            raise KeyboardInterrupt
        return 0.0

    run = lg.simulate(swinging, t_end=1.0, inputs={"hinge": interrupted})
    assert run.info.message.startswith("interrupted at t = ")


def test_nothing_to_do(swinging):
    run = lg.simulate(swinging, swinging.state(q={"hinge": 0.3}), t_end=0.0)
    assert run["hinge.angle"].tolist() == [0.3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"t_end": -1.0}, r"t_end is -1\.0, expected a finite time not before the state's, 0"),
        ({"t_end": np.inf}, "t_end is inf"),
        ({"method": "rkmk-9"}, r"there is no method 'rkmk-9'\. Did you mean 'rkmk-"),
        ({"method": 3}, "method is 3, expected a method of liegeo.integrate or its name"),
        ({"method": "rkmk-4"}, r"rkmk-4 is a method of fixed step; give step=… in seconds"),
        ({"method": "rkmk-54", "step": 0.1}, r"step is 0\.1, but rkmk-54 chooses its own"),
        ({"step": 0.0}, r"step is 0\.0, must be > 0"),
        ({"rtol": -1.0}, r"rtol is -1\.0, must be > 0"),
        ({"rtol": 1e308}, r"rtol is 1e\+308, expected a share below 1"),
        ({"every": 0}, "every is 0, expected a whole number ≥ 1"),
        ({"output": "often"}, "output is 'often', expected times, a number, or 'steps'"),
        ({"output": -0.1}, r"output is -0\.1, the time between samples must be > 0"),
        ({"output": [0.0, 2.0]}, r"output times go from 0 to 2, outside of the run, 0 to 1"),
        ({"output": [0.5, 0.5]}, "output times must be finite numbers that rise strictly"),
        ({"state": 7}, r"simulate: state is 7, expected a State: model\.state\(…\)"),
        ({"method": "magnus-4", "step": 0.1}, "method magnus-4 is for linear equations"),
        ({"checkpoint": "x", "checkpoint_every": -1.0}, r"checkpoint_every is -1\.0, expected a time in seconds ≥ 0"),
    ],
)
def test_messages(swinging, arguments, message):
    with pytest.raises(InputError, match=message):
        lg.simulate(swinging, **{"t_end": 1.0} | arguments)


def test_messages_about_models(swinging):
    with pytest.raises(InputError, match=r"expected a compiled Model\.\n  Call compile\(\) on it"):
        lg.simulate(swinging.tree, t_end=1.0)
    with pytest.raises(InputError, match=r"simulate: .* shape \(3,\), expected \(1,\) and \(1,\): it is of another"):
        lg.simulate(swinging, crane().state(), t_end=1.0)


@pytest.mark.parametrize(("rho", "step"), [(0.8, 8e-3), (0.9, 5e-3), (0.95, 5e-3)])
def test_long_chains_take_long_steps(rho, step):
    """With the matrix of the first guess Newton's method diverges here; from the better guess it does not."""
    chain, end = flexible_chain(16), {"t_end": 0.3, "output": [0.3]}
    run, fine = (
        lg.simulate(chain, method=li.generalised_alpha(*how), step=h, **end)
        for how, h in (((rho,), step), ((0.8,), 1e-3))
    )
    x, z = 0, 2
    error = (run["link15.8.position"] - fine["link15.8.position"])[-1, [x, z]]
    assert np.abs(error).max() < 1e-3 * (step / 5e-3) ** 2


def test_samples_at_the_ends_of_steps_are_those_ends():
    """Not what a polynomial makes of them; round-off in the times does not matter."""
    every = lg.simulate(crane(), t_end=0.3, step=0.01, output="steps")
    some = lg.simulate(crane(), t_end=0.3, step=0.01, output=[0.01 * 3, 0.1 + 0.2 - 0.1, 0.25, 0.3])
    assert (some.q == every.q[[3, 20, 25, 30]]).all()
