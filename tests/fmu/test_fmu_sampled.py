"""Sampled controllers inside FMUs: against `simulate`, which tests/simulate has against others.

Communication steps are cut at the samples, whatever their size; states that are saved between samples go on to the bit.
"""

from __future__ import annotations

import fmpy
import numpy as np
import pytest
from fmus import mechanism_fmu

import fmu_export
import liegeo as lg
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.host import Instance, Unpacked
from liegeo.errors import InputError

SERVO = """
liegeo: 1
name: servo
parameters: {kp: 60}
bodies:
  arm: {kind: rigid, mass: 1 kg, com: [0, 0, -0.3], inertia: [0.05, 0.05, 0.01]}
joints:
  hinge: {kind: revolute, parent: world, child: arm, axis: [0, 1, 0], damping: 0.01}
forces:
  motor: {kind: actuator, joint: hinge, limit: 20 N*m}
controllers:
  servo:
    period: 1 ms
    delay: 1.3 ms
    inputs: {target: angle}
    measure: {angle: hinge.angle, rate: hinge.acceleration}
    blocks:
      counts: {kind: quantiser, input: angle, step: 0.1 mrad}
      pid: {kind: pid, setpoint: target, measured: counts, kp: $(kp), ki: 200, kd: 4, filter: 2 ms, low: -6, high: 6}
      torque: {kind: sum, of: [pid, rate], factors: [1, -0.001]}
    outputs: {motor: torque}
experiment:
  end: 0.3
  method: METHOD
  step: 0.4 ms
  inputs: {servo.target: 0.3}
fmu:
  outputs: {hinge.angle: , hinge.speed: , motor.input: }
"""
METHODS = ("rkmk-4", "generalised-alpha-0.8")
KEPT = ("hinge.angle", "hinge.speed")


def text(method="rkmk-4"):
    # the step of the method is the FMU's; adaptive ones have none
    return SERVO.replace("METHOD", method)


@pytest.fixture(scope="module")
def servos(folder):
    return {m: mechanism_fmu(folder, f"servo_{k}", text(m)) for k, m in enumerate(METHODS)}


def expected(folder, k=0, **more):
    return lg.load(folder / f"servo_{k}.yaml").simulate(progress=False, **more)


# of order two: only where communication points are at samples, so that all steps are the same ones
@pytest.mark.parametrize(
    ("method", "step"),
    [*((METHODS[0], h) for h in (0.01, 0.0005, 0.001, 0.0125)), (METHODS[1], 0.01), (METHODS[1], 0.001)],
)
def test_an_fmu_is_the_run(servos, folder, method, step):
    """To 1e-12 at communication points, which are not where the controller samples."""
    found = fmpy.simulate_fmu(str(servos[method]), stop_time=0.3, output_interval=step)
    run = expected(folder, METHODS.index(method), output=np.minimum(found["time"], 0.3))
    for name in KEPT:
        assert np.abs(found[name] - run[name]).max() < 1e-12
    assert np.ptp(run["motor.input"]) > 5.0
    assert run["motor.input"].max() > 5.9
    # a communication point at which an output comes into force shows what was before
    apart = np.abs((found["time"] - 1.3e-3) / 1e-3 - np.round((found["time"] - 1.3e-3) / 1e-3)) > 1e-6
    assert np.abs(found["motor.input"] - run["motor.input"])[apart].max() < 1e-9


def test_inputs_are_the_setpoints(servos, folder):
    description = fmpy.read_model_description(str(servos["rkmk-4"]))
    inputs = [v for v in description.modelVariables if v.causality == "input"]
    assert [(v.name, v.unit, float(v.start)) for v in inputs] == [("servo.target", "rad", 0.3)]
    given = np.array([(0.0, 0.1), (0.15, 0.1), (0.15, 0.4), (0.3, 0.4)], dtype=[("time", "f8"), ("servo.target", "f8")])
    found = fmpy.simulate_fmu(str(servos["rkmk-4"]), stop_time=0.3, output_interval=0.005, input=given)
    mechanism = lg.load(folder / "servo_0.yaml")

    def target(t):
        return 0.1 if t < 0.15 - 1e-9 else 0.4

    target.breaks = [0.15]
    run = mechanism.simulate(inputs={"servo.target": target}, output=0.005, progress=False)
    assert np.abs(found["hinge.angle"] - run["hinge.angle"]).max() < 1e-10


def test_states_go_on_to_the_bit(servos):
    """Saved between a sample and its output, written, read by another instance."""
    names = ["hinge.angle", "hinge.speed", "motor.input"]
    ends = []
    with Unpacked(servos["rkmk-4"]) as unpacked:
        with Instance(unpacked) as fmu:
            fmu.initialise(0.0)
            fmu.step(0.0, 0.0107)
            state = fmu.save()
            data = fmu.to_bytes(state)
            for _ in range(2):
                fmu.step(0.0107, 0.1)
                ends.append(fmu.read(names))
                fmu.restore(state)
            fmu.forget(state)
        with Instance(unpacked, "other") as other:
            other.initialise(0.0)
            state = other.from_bytes(data)
            other.restore(state)
            other.step(0.0107, 0.1)
            ends.append(other.read(names))
            other.forget(state)
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] > 0.1


def test_parameters_of_the_controller(servos, folder):
    found = fmpy.simulate_fmu(str(servos["rkmk-4"]), stop_time=0.3, output_interval=0.01, start_values={"kp": 30.0})
    run = lg.load(folder / "servo_0.yaml", set={"kp": 30}).simulate(output=0.01, progress=False)
    assert np.abs(found["hinge.angle"] - run["hinge.angle"]).max() < 1e-12
    assert np.abs(expected(folder, output=0.01)["hinge.angle"] - run["hinge.angle"]).max() > 1e-3


def test_what_a_controller_drives_is_no_input(folder):
    file = folder / "driven.yaml"
    file.write_text(text() + "  inputs: {motor: }\n")
    with pytest.raises(InputError, match=r"fmu: inputs: 'motor' is driven by controller 'servo'"):
        fmu_export.build(file, folder / "driven.fmu")


def test_a_controller_that_fails_is_named(folder):
    grows = "kind: state_space, of: [angle, target], A: [[1e59]], B: [[1, 1]], C: [[1]]"
    bad = text().replace("kind: quantiser, input: angle, step: 0.1 mrad", grows).replace(", low: -6, high: 6", "")
    fmu = mechanism_fmu(folder, "bad", bad)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        instance.initialise(0.0)
        assert max(instance.step(k * 1e-3, 1e-3) for k in range(12)) > 1
        assert "controller 'servo' gave an output that is not a finite number" in instance.said()


# ---- without Python


def test_gains_can_be_set_in_a_native_fmu_and_a_delay_cannot(folder):
    named = {"delay: 1.3 ms": "delay: $(d)", "step: 0.1 mrad": "step: $(q)", "high: 6": "high: $(top)"}
    given = text().replace("parameters: {kp: 60}", "parameters: {kp: 60, d: 0.0013, q: 0.0001, top: 6}")
    for old, new in named.items():
        given = given.replace(old, new)
    (folder / "named.yaml").write_text(given)
    constants = fmu_export.constants_of(folder / "named.yaml")
    assert constants == {"d": "it decides how many results of a controller wait for their delay"}


@pytest.mark.foreign
@pytest.mark.parametrize("version", [2, 3])
def test_a_native_fmu_has_the_same_bits(servos, folder, version):
    native = fmu_export.build(
        folder / "servo_0.yaml", folder / f"native_{version}.fmu", native=True, platforms=["linux64"], fmi=version
    )
    step = {"stop_time": 0.3, "output_interval": 0.0125}
    for values in ({}, {"kp": 30.0}):
        one = fmpy.simulate_fmu(str(servos["rkmk-4"]), start_values=values, **step)
        other = fmpy.simulate_fmu(str(native), start_values=values, fmi_type="CoSimulation", **step)
        for name in (*KEPT, "motor.input"):
            assert one[name].tobytes() == other[name].tobytes()


@pytest.mark.foreign
def test_samples_are_no_events_of_co_simulation(servos, folder):
    """A host that handles events, with leave to return early or without, gets steps to their ends."""
    native = fmu_export.build(
        folder / "servo_0.yaml", folder / "native_3.fmu", native=True, platforms=["linux64"], fmi=3
    )
    step = {"stop_time": 0.3, "output_interval": 0.0125, "fmi_type": "CoSimulation"}
    plain = fmpy.simulate_fmu(str(native), **step)
    for early in (False, True):
        found = fmpy.simulate_fmu(str(native), use_event_mode=True, early_return_allowed=early, **step)
        assert len(found) == len(plain)
        for name in KEPT:
            assert found[name].tobytes() == plain[name].tobytes()


@pytest.mark.foreign
@pytest.mark.parametrize("version", [2, 3])
def test_in_model_exchange_samples_are_time_events(servos, folder, version):
    native = fmu_export.build(
        folder / "servo_0.yaml", folder / f"native_{version}.fmu", native=True, platforms=["linux64"], fmi=version
    )
    solver = ExchangeSolver(tolerance=1e-10)
    table = fmu_export.run(native, 0.3, interval=0.0125, kind="model exchange", solver=solver)
    run = lg.load(folder / "servo_0.yaml").simulate(
        method="rkmk-54", step=None, rtol=1e-10, atol=1e-12, output=0.0125, progress=False
    )
    assert np.abs(table["hinge.angle"] - run["hinge.angle"]).max() < 1e-8
