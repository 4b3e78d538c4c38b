"""Blocks of sampled controllers: each against another formulation; a file's controller against a Python function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import cont2discrete, dlsim, lfilter

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, ModelFileError

pytestmark = pytest.mark.kernels

T, N = 0.01, 40


def wave(t):
    return 1.3 * np.sin(7.0 * t) + 0.4 * np.cos(31.0 * t)


TIMES = T * np.arange(N)
U, V = wave(TIMES), np.cos(3.0 * TIMES)


def cart(**more):
    """A heavy cart: what drives it can be read, and hardly moves it."""
    bodies = [lg.Body("cart", mass=1e6, inertia=(1.0, 1.0, 1.0))]
    joints = [lm.Prismatic(name="x", parent="world", child="cart", axis=(1.0, 0.0, 0.0))]
    return lm.Tree(bodies, joints, **more).compile()


def through(blocks, output=None, **more):
    """Return what blocks make of the signals u = wave(t) and v = cos(3 t), sample by sample."""
    controller = lg.Controller(
        name="c",
        period=T,
        inputs={"u": "input", "v": "input"},
        blocks=blocks,
        outputs={"x": output or list(blocks)[-1]},
        **more,
    )
    model = cart(controllers=[controller])
    run = lg.simulate(
        model,
        model.state(),
        N * T,
        inputs={"c.u": wave, "c.v": lambda t: np.cos(3.0 * t)},
        method="rkmk-4",
        step=T,
        output=T,
        progress=False,
    )
    return run["x.tau"][:N]


def test_blocks_without_memory():
    assert (
        np.abs(through({"y": lm.Sum(of=["u", "v"], factors=[2.0, -3.0], offset=0.5)}) - (2 * U - 3 * V + 0.5)).max()
        < 1e-14
    )
    assert np.abs(through({"y": lm.Sum(of=["u", "v"])}) - (U + V)).max() < 1e-15
    assert np.abs(through({"y": lm.Gain(input="u", gain=-4.0)}) + 4.0 * U).max() < 1e-15
    assert np.abs(through({"y": lm.Multiplication(of=["u", "v", "u"])}) - U * V * U).max() < 1e-15
    assert (through({"y": lm.Saturation(input="u", low=-0.5, high=0.7)}) == np.clip(U, -0.5, 0.7)).all()
    assert (through({"y": lm.Saturation(input="u", high=0.0)}) == np.minimum(U, 0.0)).all()
    steps = through({"y": lm.Quantiser(input="u", step=0.125)}) / 0.125
    assert (steps == np.round(steps)).all()
    assert np.abs(0.125 * steps - U).max() <= 0.0625
    x, y = [-1.0, 0.0, 0.2, 1.5], [3.0, -1.0, 4.0, 4.5]
    assert np.abs(through({"y": lm.LookupTable(input="u", x=x, y=y)}) - np.interp(U, x, y)).max() < 1e-13


def test_blocks_with_memory():
    before = through({"y": lm.Previous(input="u", initial=9.0)})
    assert before[0] == 9.0
    assert (before[1:] == U[:-1]).all()
    # a sum that counts: a loop of blocks, closed by what was before
    blocks = {"before": lm.Previous(input="total"), "total": lm.Sum(of=["before", "u"])}
    assert np.abs(through(blocks) - np.cumsum(U)).max() < 1e-13
    # a low pass of held inputs is the exact solution of its equation
    tau, low = 0.03, [U[0]]
    for u in U[1:]:
        low.append(u + (low[-1] - u) * np.exp(-T / tau))
    assert np.abs(through({"y": lm.LowPass(input="u", time_constant=tau)}) - low).max() < 1e-14


@pytest.mark.parametrize("method", ["tustin", "zoh"])
@pytest.mark.parametrize(
    ("numerator", "denominator"), [([3.0], [0.1, 1.0]), ([1.0, 2.0, 5.0], [0.02, 0.3, 1.0]), ([2.0], [4.0])]
)
def test_a_transfer_function_is_that_of_scipy(numerator, denominator, method):
    block = lm.TransferFunction(input="u", numerator=numerator, denominator=denominator, method=method)
    if len(denominator) == 1:
        expected = numerator[0] / denominator[0] * U
    else:
        num, den, _ = cont2discrete((numerator, denominator), T, {"tustin": "bilinear", "zoh": "zoh"}[method])
        expected = lfilter(num.ravel(), den, U)
        direct = lm.TransferFunction(input="u", numerator=num.ravel(), denominator=den, variable="z")
        assert np.abs(through({"y": direct}) - expected).max() < 1e-11
    assert np.abs(through({"y": block}) - expected).max() < 1e-11


def test_a_state_space_is_that_of_scipy():
    rng = np.random.default_rng(3)
    A, B, C, D = (
        0.4 * rng.normal(size=(3, 3)),
        rng.normal(size=(3, 2)),
        rng.normal(size=(2, 3)),
        rng.normal(size=(2, 2)),
    )
    x0 = rng.normal(size=3)
    block = lm.StateSpace(of=["u", "v"], A=A, B=B, C=C, D=D, initial=x0)
    expected = dlsim((A, B, C, D, T), np.stack([U, V], axis=1), x0=x0)[1]
    for k in range(2):
        assert np.abs(through({"y": block}, f"y[{k}]") - expected[:, k]).max() < 1e-12
    plain = lm.StateSpace(of=["u"], A=[[0.5]], B=[[1.0]], C=[[2.0]])
    expected = dlsim(([[0.5]], [[1.0]], [[2.0]], [[0.0]], T), U)[1][:, 0]
    assert np.abs(through({"y": plain}) - expected).max() < 1e-13


def textbook(r, y, kp, ki, kd, F, b, c, low, high, Tt):
    """A PID controller with the integral as a sum of all errors, and the derivative by its difference equation."""
    out, pushed, D = [], 0.0, 0.0
    for k in range(len(r)):
        I = ki * T * sum(r[:k] - y[:k]) + pushed
        D = 0.0 if k == 0 else F / (F + T) * D + kd / (F + T) * ((c * r[k] - y[k]) - (c * r[k - 1] - y[k - 1]))
        v = kp * (b * r[k] - y[k]) + I + D
        out.append(np.clip(v, low, high))
        pushed += T / Tt * (out[-1] - v) if Tt > 0.0 else 0.0
    return np.array(out)


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({"kp": 3.0}, (3.0, 0.0, 0.0, 0.0, 1.0, 0.0, -np.inf, np.inf, 0.0)),
        ({"kp": 3.0, "ki": 20.0, "kd": 0.1, "filter": 0.02}, (3.0, 20.0, 0.1, 0.02, 1.0, 0.0, -np.inf, np.inf, 0.15)),
        (
            {
                "kp": 3.0,
                "ki": 20.0,
                "kd": 0.1,
                "setpoint_weight": 0.5,
                "derivative_weight": 1.0,
                "low": -1,
                "high": 0.8,
            },
            (3.0, 20.0, 0.1, 0.0, 0.5, 1.0, -1.0, 0.8, 0.15),
        ),
        ({"kp": 2.0, "ki": 30.0, "high": 0.5, "tracking": 0.04}, (2.0, 30.0, 0.0, 0.0, 1.0, 0.0, -np.inf, 0.5, 0.04)),
        ({"kp": 2.0, "ki": 30.0, "high": 0.5, "tracking": 0.0}, (2.0, 30.0, 0.0, 0.0, 1.0, 0.0, -np.inf, 0.5, 0.0)),
    ],
)
def test_a_pid_controller_is_that_of_the_textbook(given, numbers):
    found = through({"y": lm.PID(setpoint="u", measured="v", **given)})
    assert np.abs(found - textbook(U, V, *numbers)).max() < 1e-12
    assert np.ptp(found) > 0.1


def test_an_integral_does_not_wind_up():
    """A limited motor that cannot follow for a second: without tracking it overshoots by far more."""

    def overshoot(tracking):
        pid = lm.PID(
            setpoint="target", measured="place", kp=40.0, ki=60.0, kd=12.0, low=-2.0, high=2.0, tracking=tracking
        )
        controller = lg.Controller(
            name="servo",
            period=T,
            inputs={"target": "position"},
            measure={"place": "x.position"},
            blocks={"pid": pid},
            outputs={"x": "pid"},
        )
        bodies = [lg.Body("cart", mass=1.0, inertia=(1.0, 1.0, 1.0))]
        joints = [lm.Prismatic(name="x", parent="world", child="cart", axis=(1.0, 0.0, 0.0))]
        model = lm.Tree(bodies, joints, controllers=[controller]).compile()
        common = {"method": "rkmk-4", "step": T, "progress": False}
        run = lg.simulate(model, model.state(), 6.0, inputs={"servo.target": 1.0}, **common)
        return run["x.position"].max() - 1.0

    assert overshoot(None) < 0.4 * overshoot(0.0)


def test_controllers_read_each_other():
    """A slow controller sets what a fast one follows; it sees the last value of a signal, without its delay."""
    slow = lg.Controller(
        name="slow", period=5 * T, inputs={"u": "input"}, blocks={"y": lm.Gain(input="u", gain=1.0)}, outputs={}
    )
    fast = lg.Controller(name="fast", period=T, blocks={"z": lm.Gain(input="slow.y", gain=2.0)}, outputs={"x": "z"})
    model = cart(controllers=[slow, fast])
    run = lg.simulate(
        model, model.state(), N * T, inputs={"slow.u": wave}, method="rkmk-4", step=T, output=T, progress=False
    )
    assert np.abs(run["x.tau"][:N] - 2.0 * U[5 * (np.arange(N) // 5)]).max() < 1e-14


# ---- in files

FILE = """
liegeo: 1
parameters: {kp: 60, ki: 200}
bodies:
  arm: {kind: rigid, mass: 1 kg, com: [0, 0, -0.3], inertia: [0.05, 0.05, 0.01]}
joints:
  hinge: {kind: revolute, parent: world, child: arm, axis: [0, 1, 0]}
forces:
  motor: {kind: actuator, joint: hinge, limit: 20 N*m}
controllers:
  servo:
    period: 1 ms
    delay: 0.3 ms
    inputs: {target: angle}
    measure: {angle: hinge.angle}
    blocks:
      counts: {kind: quantiser, input: angle, step: 0.1 mrad}
      pid: {kind: pid, setpoint: target, measured: counts, kp: $(kp), ki: $(ki), kd: 4, filter: 2 ms, low: -2, high: 2}
    outputs: {motor: pid}
    initial: {motor: 0.5 N*m}
experiment:
  end: 0.2
  method: rkmk-4
  step: 0.5 ms
  inputs: {servo.target: $(0.3 * sin(40 * t))}
"""


def test_a_controller_of_a_file_is_that_of_a_function(tmp_path):
    file = tmp_path / "servo.yaml"
    file.write_text(FILE)
    mechanism = lg.load(file)
    run = mechanism.simulate(progress=False)
    assert run["motor.input"][0] == 0.5
    assert run["motor.input"].max() == 2.0
    assert run.unit("servo.target") == "rad"
    assert np.abs(run["servo.target"] - 0.3 * np.sin(40.0 * run.t)).max() < 1e-15

    def servo(t, y, memory):
        angle, h = np.floor(y[0] / 1e-4 + 0.5) * 1e-4, 1e-3
        target = 0.3 * np.sin(40.0 * t)
        if memory[3] == 0.0:
            memory[2:] = -angle, 1.0
        memory[1] = (2e-3 * memory[1] + 4.0 * (-angle - memory[2])) / (2e-3 + h)
        memory[2] = -angle
        v = 60.0 * (target - angle) + memory[0] + memory[1]
        u = min(max(v, -2.0), 2.0)
        memory[0] += h * (200.0 * (target - angle) + (u - v) / 0.3)
        return u

    tree = mechanism.tree
    model = lm.Tree(tree.bodies, tree.joints, forces=tree.forces).compile()
    controller = lg.Sampled(servo, 1e-3, ["hinge.angle"], ["motor"], delay=3e-4, memory=4, initial=0.5)
    other = lg.simulate(model, model.state(), 0.2, controllers=[controller], method="rkmk-4", step=5e-4, progress=False)
    assert np.abs(run.q - other.q).max() < 1e-12
    assert np.abs(run["motor.input"] - other["motor.input"]).max() < 1e-9
    # parameters are those of the file
    assert np.abs(lg.load(file, set={"kp": 30}).simulate(progress=False).q - run.q).max() > 1e-4


def test_analyses_see_the_open_loop(tmp_path):
    (tmp_path / "servo.yaml").write_text(FILE)
    mechanism = lg.load(tmp_path / "servo.yaml")
    linear = lg.linearise(mechanism)
    assert linear.inputs == ("motor.input",)
    tree = mechanism.tree
    alone = lg.linearise(lm.Tree(tree.bodies, tree.joints, forces=tree.forces).compile())
    assert (linear.A == alone.A).all()
    assert (linear.B == alone.B).all()


def test_a_file_with_controllers_goes_there_and_back(tmp_path):
    file, again = tmp_path / "servo.yaml", tmp_path / "again.yaml"
    file.write_text(FILE)
    mechanism = lg.load(file)
    lg.save(mechanism.tree, again)
    options = {"t_end": 0.05, "method": "rkmk-4", "step": 1e-3, "inputs": {"servo.target": 0.3}, "progress": False}
    assert lg.load(again).simulate(**options).q.tobytes() == mechanism.simulate(**options).q.tobytes()
    many = lg.Controller(
        name="all",
        period=0.1,
        delay=0.05,
        offset=0.02,
        inputs={"u": "input"},
        blocks={
            "a": lm.Sum(of=["u"], offset=1.0),
            "b": lm.StateSpace(of=["a"], A=[[0.5]], B=[[1.0]], C=[[1.0], [2.0]]),
            "c": lm.TransferFunction(input="b[1]", numerator=[1.0], denominator=[1.0, 1.0], method="zoh"),
            "d": lm.LookupTable(input="c", x=[0.0, 1.0], y=[0.0, 2.0]),
        },
        outputs={"x": ["d"]},
        initial={"x": 3.0},
    )
    lg.save(cart(controllers=[many]).tree, again)
    (found,) = lg.load(again).tree.controllers
    assert (found.period, found.delay, found.offset) == (0.1, 0.05, 0.02)
    assert list(found.blocks) == ["a", "b", "c", "d"]
    assert (found.outputs["x"], found.initial["x"]) == (["d"], 3.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("period: 1 ms", "period: 0", r"servo.yaml:12:5: controller .servo.: period is 0, must be > 0"),
        ("period: 1 ms", "period: 1 mm", r"servo.yaml:12:5: .*length"),
        ("delay: 0.3 ms", "delay: -1", r"servo.yaml:13:5: controller 'servo': delay is -1, must be ≥ 0"),
        ("{target: angle}", "{target: angel}", r"servo.yaml:14:14: .*'angel'.*(.|\n)*Did you mean 'angle'"),
        ("{angle: hinge.angle}", "{angle: hinge.angel}", r"servo.yaml:15:15: .*which is neither(.|\n)*'hinge.angle'"),
        ("{angle: hinge.angle}", "{angle: arm.position}", r"servo.yaml:15:15: .*3 numbers, expected one"),
        ("{angle: hinge.angle}", "{angle: hinge.angle, target: time}", r"the signal 'target' is there twice"),
        ("input: angle", "input: angel", r"servo.yaml:17:.*takes 'angel', which is no signal. Did you mean 'angle'"),
        ("input: angle", "input: pid", r"takes 'pid', which stands below it.\n  Put it above, or take"),
        ("input: angle", "input: other.x", r"takes 'other.x', which is no signal"),
        ("kind: quantiser", "kind: quantizer", r"Did you mean 'quantiser'"),
        ("step: 0.1 mrad", "step: 0", r"servo.yaml:17:.*step is 0, must be > 0"),
        ("low: -2", "low: 3", r"servo.yaml:18:.*low is 3, must be at most high, which is 2"),
        ("filter: 2 ms", "filter: -1", r"servo.yaml:18:.*filter is -1, must be ≥ 0"),
        ("{motor: pid}", "{motor: pdi}", r"servo.yaml:19:.*'pdi', which is no signal. Did you mean 'pid'"),
        (
            "{motor: pid}\n    initial: {motor",
            "{motr: pid}\n    initial: {motr",
            r"servo.yaml:19:.*names 'motr', which is no joint.*Did you mean 'motor'",
        ),
        ("{motor: pid}", "{motor: [pid, pid]}", r"servo.yaml:19:.*has 2 signals, expected 1"),
        ("initial: {motor", "initial: {hinge", r"servo.yaml:20:.*which is none of its outputs"),
        ("inputs: {servo.target", "inputs: {servo.tarket", r"Did you mean 'servo.target'"),
        ("inputs: {servo", "inputs: {motor: 1, servo", r"names 'motor', which inputs\['motor'\] drives too"),
    ],
)
def test_what_is_wrong_is_shown_at_its_place(tmp_path, old, new, message):
    file = tmp_path / "servo.yaml"
    assert old in FILE
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        lg.load(file)


def test_blocks_check_their_numbers():
    with pytest.raises(ModelError, match=r"Sum: factors has shape \(2,\), expected \(1,\)"):
        lm.Sum(of=["a"], factors=[1.0, 2.0])
    with pytest.raises(ModelError, match=r"Sum: of is 3, expected names"):
        lm.Sum(of=3)
    with pytest.raises(ModelError, match=r"Gain: gain is nan, expected a finite number"):
        lm.Gain(input="a", gain=np.nan)
    with pytest.raises(ModelError, match=r"LookupTable: x is .* expected two numbers or more, in rising order"):
        lm.LookupTable(input="a", x=[0.0, 0.0], y=[1.0, 2.0])
    with pytest.raises(ModelError, match=r"LookupTable: x is .* expected two numbers or more"):
        lm.LookupTable(input="a", x=[0.0], y=[1.0])
    with pytest.raises(ModelError, match=r"LowPass: time_constant is 0, must be > 0"):
        lm.LowPass(input="a", time_constant=0.0)
    with pytest.raises(ModelError, match=r"StateSpace: B has shape \(2, 1\), expected \(1, 1\)"):
        lm.StateSpace(of=["a"], A=[[1.0]], B=[[1.0], [1.0]], C=[[1.0]])
    with pytest.raises(ModelError, match=r"numerator is .* expected no more coefficients than the denominator has"):
        lm.TransferFunction(input="a", numerator=[1.0, 0.0], denominator=[1.0])
    with pytest.raises(ModelError, match=r"denominator is .* must not begin with 0"):
        lm.TransferFunction(input="a", numerator=[1.0], denominator=[0.0, 1.0])
    with pytest.raises(ModelError, match=r"numerator is .* expected a list of numbers"):
        lm.TransferFunction(input="a", numerator=[[1.0]], denominator=[1.0])
    with pytest.raises(ModelError, match=r"variable is 'w', expected s or z"):
        lm.TransferFunction(input="a", numerator=[1.0], denominator=[1.0], variable="w")
    with pytest.raises(ModelError, match=r"controller 'c': blocks\['a'\] is 3, expected a block"):
        lg.Controller(name="c", period=1.0, blocks={"a": 3})
    with pytest.raises(ModelError, match=r"controller 'c': measure is 3, expected a mapping of names"):
        lg.Controller(name="c", period=1.0, measure=3)
    with pytest.raises(ModelError, match=r"controller 'c': inputs\['u'\] is 'speed', expected input, angle"):
        lg.Controller(name="c", period=1.0, inputs={"u": "speed"})
    with pytest.raises(ModelError, match=r"the name 'x' is used 2 times"):
        cart(controllers=[lg.Controller(name="x", period=1.0)])
    twice = lg.Controller(
        name="c", period=1.0, blocks={"a": lm.Sum(of=[])}, outputs={"x": "a"}, initial={"x": [1.0, 2.0]}
    )
    model = cart(controllers=[twice])
    with pytest.raises(InputError, match=r"controller 'c': initial of 'x' is .* expected a number or 1 numbers"):
        lg.simulate(model, model.state(), 1.0, progress=False)
