"""Model exchange of native FMUs: fmpy's CVODE integrates what co-simulation integrates by itself.

The oracle of a motion is co-simulation with another integrator at a tight tolerance; that of rates is
`liegeo.forward_dynamics`; that of derivatives are short differences of rates, taken here.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.validation import validate_fmu

import fmu_export
import liegeo as lg

pytestmark = pytest.mark.foreign

TIGHT = {"integrator.method": "rkmk-54", "integrator.rtol": 1e-11, "integrator.atol": 1e-11}

LAG = """
liegeo: 1
name: lag
bodies:
  rod: {kind: rigid, mass: 2, com: [0, 0, -1], inertia: [0.1, 0.1, 0.1]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
forces:
  motor: {kind: actuator, joint: hinge, lag: 50 ms}
initial: {q: {hinge: 0.5}}
experiment:
  end: 1 s
  method: rkmk-4
  step: 1 ms
  inputs: {motor: {pieces: [{until: 0.313 s, value: 8}, {value: $(-5 * cos(3 * t))}]}}
fmu: {inputs: {hinge: }, outputs: {hinge.angle: , hinge.speed: , hinge.acceleration: }}
"""

BODY = """
liegeo: 1
name: body
gravity: [0, 0, 0]
bodies:
  box: {kind: rigid, mass: 1, inertia: [1, 2, 2.5], frames: {corner: [1, 0, 0]}}
joints:
  free: {kind: free, parent: world, child: box}
initial: {v: {free: [6, 0.5, 0.3, 0.1, 0, 0]}}
experiment: {end: 10 s, method: rkmk-4, step: 1 ms}
fmu: {outputs: {box.corner.position: , energy.kinetic: }}
"""


def built(folder, name, text=None):
    if text is None:
        source = f"models/{name}.yaml"
    else:
        source = folder / f"{name}.yaml"
        source.write_text(text, encoding="utf-8")
    return fmu_export.build(source, folder / f"{name}.fmu", native=True, platforms=["linux64"])


def outputs_of(fmu):
    found = fmpy.read_model_description(str(fmu)).modelVariables
    return [v.name for v in found if v.causality == "output"]


class Model:
    """An instance for model exchange, initialised."""

    def __init__(self, fmu, folder, initialise=True):
        where = fmpy.extract(str(fmu), str(folder / "unpacked"))
        self.about = fmpy.read_model_description(str(fmu))
        self.fmu = FMU2Model(
            guid=self.about.guid, unzipDirectory=where, modelIdentifier=self.about.modelExchange.modelIdentifier
        )
        self.fmu.instantiate()
        self.by_name = {v.name: v.valueReference for v in self.about.modelVariables}
        self.states = [v.derivative.valueReference for v in self.about.modelVariables if v.derivative is not None]
        self.rates = [v.valueReference for v in self.about.modelVariables if v.derivative is not None]
        self.n = len(self.states)
        if initialise:
            self.fmu.setupExperiment(startTime=0.0)
            self.fmu.enterInitializationMode()
            self.fmu.exitInitializationMode()

    def array(self, function):
        found = (ctypes.c_double * self.n)()
        getattr(self.fmu, function)(found, self.n)
        return np.array(found)

    def put(self, x):
        self.fmu.setContinuousStates((ctypes.c_double * self.n)(*x), self.n)


@pytest.fixture
def model(tmp_path):
    made = []

    def make(name, text=None, **options):
        made.append(Model(built(tmp_path, name, text), tmp_path / f"{name}_{len(made)}", **options))
        return made[-1]

    yield make
    for each in made:
        each.fmu.freeInstance()


@pytest.mark.parametrize(
    ("name", "text", "end", "allowed"),
    [
        ("double_pendulum", None, 1.0, 1e-6),
        ("heavy_top", None, 1.0, 1e-6),
        ("sy16_four_bar", None, 1.0, 1e-5),
        ("flexible_arm", None, 0.05, 1e-5),
        ("st21_spacecraft", None, 1.0, 1e-5),
        ("lag", LAG, 1.0, 1e-6),
        ("body", BODY, 2.0, 1e-6),
    ],
)
def test_cvode_agrees_with_co_simulation(tmp_path, name, text, end, allowed):
    """Both errors are those of their tolerances; the lag's input jumps at a time between two points of output."""
    fmu = built(tmp_path, name, text)
    assert validate_fmu(str(fmu)) == []
    names = outputs_of(fmu)
    common = {"stop_time": end, "output_interval": end / 20, "output": names, "set_stop_time": False}
    own = fmpy.simulate_fmu(str(fmu), fmi_type="CoSimulation", start_values=TIGHT, **common)
    other = fmpy.simulate_fmu(
        str(fmu), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-9, record_events=False, **common
    )
    assert len(own) == len(other) == 21
    for column in names:
        size = 1.0 + np.abs(own[column]).max()
        np.testing.assert_allclose(other[column], own[column], rtol=0, atol=allowed * size, err_msg=column)


# By name, how long; inputs, or gravity for what would rest; into how many pieces: fmpy allows CVODE 500 steps in each,
# and undamped beams oscillate at up to 1e5 rad/s.
STIFF = {
    "fls13_pendulum": (2e-3, {}, 20),
    "fls13_pendulum_sid": (2e-3, {}, 20),
    "fls13_slider_crank": (2e-3, {"hinge.tau": 0.01}, 40),
    "fls13_spin_up": (2e-3, {"gravity.y": 1.0}, 20),
    "jr90_manipulator": (0.02, {"gravity.x": 1.0}, 20),
    "andrews_squeezer": (0.005, {"beta.tau": 0.033}, 20),
}


@pytest.mark.parametrize("name", sorted(path.stem for path in Path("models").glob("*.yaml")))
def test_models_differ_from_co_simulation_by_the_tolerance(tmp_path, name):
    """States by a tolerance of CVODE, and outputs by what exact derivatives make of that: nothing else is different.

    Where states of model exchange and co-simulation differ by e, outputs g differ by ∂g/∂z e + O(e²).  Of
    accelerations of stiff models, ∂g/∂z is as large as the square of the highest frequency.
    """
    fmu = built(tmp_path, name)
    end, inputs, pieces = STIFF.get(name, (0.02, {}, 20))
    outputs = outputs_of(fmu)
    about = fmpy.read_model_description(str(fmu))
    states = [v.derivative.name for v in about.modelVariables if v.derivative is not None]
    nominal = np.array([float(v.derivative.nominal) for v in about.modelVariables if v.derivative is not None])
    common = {"stop_time": end, "output_interval": end / pieces, "output": [*states, *outputs], "set_stop_time": False}
    own = fmpy.simulate_fmu(str(fmu), fmi_type="CoSimulation", start_values={**TIGHT, **inputs}, **common)
    errors = []
    for tolerance in (1e-7, 1e-10):
        other = fmpy.simulate_fmu(
            str(fmu),
            fmi_type="ModelExchange",
            solver="CVode",
            relative_tolerance=tolerance,
            record_events=False,
            start_values=inputs,
            **common,
        )
        assert len(own) == len(other) == pieces + 1
        z, there = (np.array([run[column][-1] for column in states]) for run in (own, other))
        errors.append((np.abs(there - z) / (nominal + np.abs(z))).max())
    assert errors[0] <= 1e-3
    assert errors[1] <= max(1e-8, errors[0] / 30.0)
    instance = Model(fmu, tmp_path / "unpacked", initialise=False)
    try:
        instance.fmu.setupExperiment(startTime=0.0)
        instance.fmu.setReal([instance.by_name[k] for k in inputs], list(inputs.values()))
        instance.fmu.enterInitializationMode()
        instance.fmu.exitInitializationMode()
        instance.fmu.enterContinuousTimeMode()
        instance.fmu.setTime(end)
        instance.put(z)
        shown = [instance.by_name[column] for column in outputs]
        along = np.array(instance.fmu.getDirectionalDerivative(shown, instance.states, list(there - z)))
    finally:
        instance.fmu.freeInstance()
    here, there = (np.array([run[column][-1] for column in outputs]) for run in (own, other))
    left = np.abs(there - here - along)
    assert (left <= 1e-3 * np.abs(along) + 1e-9 * (1.0 + np.abs(here))).all()


def test_a_jump_of_an_input_is_a_time_event(model):
    found = model("lag", LAG)
    defined, next_time = found.fmu.newDiscreteStates()[4:6]
    assert defined
    assert next_time == 0.313
    # up to the event the kernels answer for the piece before it, whatever the time
    lag = found.rates[-1]
    found.fmu.enterContinuousTimeMode()
    found.fmu.setTime(0.313)
    before = found.fmu.getReal([lag])[0]
    found.fmu.enterEventMode()
    assert not found.fmu.newDiscreteStates()[4]
    after = found.fmu.getReal([lag])[0]
    x = found.array("getContinuousStates")[-1]
    assert before == pytest.approx((8.0 - x) / 0.05, rel=1e-12)
    assert after == pytest.approx((-5.0 * np.cos(3 * 0.313) - x) / 0.05, rel=1e-12)


def test_rates_are_those_of_forward_dynamics(model):
    found = model("heavy_top")
    found.fmu.enterContinuousTimeMode()
    mechanism = lg.load("models/heavy_top.yaml")
    compiled, state = mechanism.compile(), mechanism.state()
    x, rates = found.array("getContinuousStates"), found.array("getDerivatives")
    np.testing.assert_allclose(x, np.concatenate([state.q, state.v]), rtol=0, atol=1e-14)
    a = lg.forward_dynamics(compiled, state)
    np.testing.assert_allclose(rates[compiled.nq :], a, rtol=1e-12, atol=1e-12 * np.abs(a).max())
    # a quaternion of another length: the same motion of its direction
    longer = x.copy()
    longer[:4] *= 1.5
    found.put(longer)
    again = found.array("getDerivatives")
    np.testing.assert_allclose(again[:4], 1.5 * rates[:4], rtol=0, atol=1e-12 * np.abs(rates).max())
    np.testing.assert_allclose(again[4:], rates[4:], rtol=0, atol=1e-12 * np.abs(rates).max())
    np.testing.assert_array_equal(found.array("getContinuousStates"), longer)
    np.testing.assert_array_equal(found.fmu.getReal(found.rates), again)


def test_directional_derivatives(model):
    """Against differences of rates and outputs that are taken here, with other changes."""
    found = model("double_pendulum")
    found.fmu.enterContinuousTimeMode()
    x = np.linspace(0.3, 0.9, found.n)
    found.put(x)
    shown = [found.by_name[name] for name in outputs_of_model(found)]
    for k in range(found.n):
        got = found.fmu.getDirectionalDerivative([*found.rates, *shown], [found.states[k]], [2.0])
        near = []
        for e in (1e-5, -1e-5):
            moved = x.copy()
            moved[k] += 2.0 * e
            found.put(moved)
            near.append(np.array([*found.array("getDerivatives"), *found.fmu.getReal(shown)]))
        found.put(x)
        want = (near[0] - near[1]) / 2e-5
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-7 * (1.0 + np.abs(want).max()))
    torque = found.by_name["top.tau"]
    got = found.fmu.getDirectionalDerivative(found.rates, [torque], [1.0])
    before = found.array("getDerivatives")
    found.fmu.setReal([torque], [1.0])
    np.testing.assert_allclose(got, found.array("getDerivatives") - before, rtol=0, atol=1e-9)


def outputs_of_model(found):
    return [v.name for v in found.about.modelVariables if v.causality == "output"]


def test_a_free_body_keeps_its_quaternion(model):
    """1000 turns by a plain Runge–Kutta method of order 4, which lets |q| drift; events bring it back."""
    found = model("body", BODY)
    fmu = found.fmu
    fmu.newDiscreteStates()
    fmu.enterContinuousTimeMode()
    x, t, turns, events, worst = found.array("getContinuousStates"), 0.0, 1000, 0, 0.0
    h = 0.05
    steps = int(turns * 2 * np.pi / 6.0 / h)

    def rates(t, x):
        fmu.setTime(t)
        found.put(x)
        return found.array("getDerivatives")

    for k in range(steps):
        t = k * h
        k1 = rates(t, x)
        k2 = rates(t + h / 2, x + h / 2 * k1)
        k3 = rates(t + h / 2, x + h / 2 * k2)
        k4 = rates(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        fmu.setTime(t + h)
        found.put(x)
        event, ends = fmu.completedIntegratorStep()
        assert not ends
        if event:
            assert abs(np.linalg.norm(x[:4]) - 1.0) > 1e-6
            events += 1
            fmu.enterEventMode()
            assert fmu.newDiscreteStates()[3]
            fmu.enterContinuousTimeMode()
            x = found.array("getContinuousStates")
        worst = max(worst, abs(np.linalg.norm(x[:4]) - 1.0))
    assert worst <= 1e-6
    assert events > 10
    # the method's own error in energy; the length of q has no part in it
    speeds = x[7:10]
    assert speeds @ (np.array([1, 2, 2.5]) * speeds) == pytest.approx(36 + 0.5 + 0.225, rel=2e-2)


def test_saved_states(model):
    """To the bit, with a quaternion that is not of length 1, and not into an instance of the other type."""
    found = model("body", BODY)
    found.fmu.newDiscreteStates()
    found.fmu.enterContinuousTimeMode()
    x = found.array("getContinuousStates")
    x[:4] *= 1.0 + 1e-7
    found.fmu.setTime(0.25)
    found.put(x)
    rates, state = found.array("getDerivatives"), found.fmu.getFMUstate()
    data = found.fmu.serializeFMUstate(state)
    found.put(np.arange(1.0, found.n + 1))
    found.fmu.enterEventMode()
    found.fmu.setFMUState(state)
    np.testing.assert_array_equal(found.array("getContinuousStates"), x)
    np.testing.assert_array_equal(found.array("getDerivatives"), rates)
    # the mode is that of the state
    found.put(x)
    where = found.fmu.unzipDirectory
    slave = FMU2Slave(
        guid=found.about.guid, unzipDirectory=where, modelIdentifier=found.about.coSimulation.modelIdentifier
    )
    slave.instantiate()
    with pytest.raises(FMICallException, match="status 3"):
        slave.setFMUState(slave.deSerializeFMUstate(data))
    slave.freeInstance()


def test_calls_out_of_order(model):
    for prepare, call in (
        ([], lambda m: m.fmu.newDiscreteStates()),
        ([], lambda m: m.fmu.setTime(0.0)),
        (["initialise"], lambda m: m.put(np.zeros(m.n))),
        (["initialise"], lambda m: m.fmu.completedIntegratorStep()),
        (["initialise", "enterContinuousTimeMode"], lambda m: m.fmu.newDiscreteStates()),
        (["initialise", "enterContinuousTimeMode"], lambda m: m.fmu.enterContinuousTimeMode()),
        (["initialise", "enterContinuousTimeMode"], lambda m: m.fmu.setReal([m.by_name["gravity.x"]], [1.0])),
        (["initialise"], lambda m: m.fmu.getDerivatives((ctypes.c_double * 1)(), 1)),
        (["initialise"], lambda m: m.fmu.getEventIndicators((ctypes.c_double * 1)(), 1)),
    ):
        found = model("body", BODY, initialise="initialise" in prepare)
        if "enterContinuousTimeMode" in prepare:
            found.fmu.enterContinuousTimeMode()
        with pytest.raises(FMICallException, match="status 3"):
            call(found)
