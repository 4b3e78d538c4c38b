"""Sensors as outputs of FMUs: continuous and sampled, of both kinds, in co-simulation and model exchange.

The oracle is `simulate` with output at the communication points, whose samples have tests of their own
(tests/simulate/test_sampled_sensors.py).
"""

from __future__ import annotations

from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu

import fmu_export
import liegeo as lg
from fmu_export.machine import Machine
from fmu_export.variables import OUTPUT, Settings, variables
from liegeo.errors import InputError

ARM = """
liegeo: 1
name: sensed arm
parameters: {where: 30 cm}
bodies:
  rod:
    kind: rigid
    mass: 2 kg
    com: [0, 0, -0.7]
    inertia: [0.1, 0.1, 0.01]
    frames: {imu: [0, 0, $(-where)]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0], stiffness: 2 N*m/rad, damping: 0.1 N*m*s/rad}
forces:
  motor: {kind: actuator, joint: hinge, limit: 3 N*m}
sensors:
  imu:
    kind: accelerometer
    at: rod.imu
    period: 2 ms
    offset: 1 ms
    delay: 5 ms
    noise: 0.1 m/s^2
    range: 30 m/s^2
    resolution: 1 mm/s^2
    seed: 4
  plain: {kind: accelerometer, at: rod.imu}
  enc: {kind: encoder, joint: hinge, period: 3 ms, resolution: $(2 * pi / 4096 * 1 rad)}
  cell: {kind: force_torque, joint: hinge}
initial: {q: {hinge: 0.8}}
experiment: {end: 0.5 s, output: 10 ms, method: rkmk-4, step: 1 ms}
fmu:
  inputs: {motor: }
  parameters: {where: {variability: tunable}}
  outputs:
    hinge.angle:
    hinge.spring:
    imu.specific_force:
    plain.specific_force:
    enc.angle:
    cell.force:
    motor.torque:
"""
NAMES = [
    *("hinge.angle", "hinge.spring", "enc.angle", "motor.torque"),
    *(f"{owner}.specific_force.{axis}" for owner in ("imu", "plain") for axis in "xyz"),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sensed") / "arm.yaml"
    path.write_text(ARM, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fmus(file):
    """The native FMU and the one with Python inside."""
    native = fmu_export.build(file, file.parent / "native.fmu", native=True, platforms=["linux64"])
    return native, fmu_export.build(file, file.parent / "python.fmu")


def run(fmu, step, **options):
    return fmpy.simulate_fmu(str(fmu), output_interval=step, stop_time=0.49, **options)


def machine_of(file, step):
    """A machine without FMI around it, with the outputs of the file."""
    mechanism = lg.load(file)
    model = mechanism.compile()
    columns = [(model.names.column(name).source, model.names.column(name).place) for name in NAMES]
    settings = Settings("rkmk-4", step, rtol=1e-6, atol=1e-6)
    inputs = np.array([1.0])
    places = [model.nv]
    return Machine(mechanism, settings, places, columns, inputs=inputs, initial={}, gravity={}, start=0.0, stop=1.0)


def reference(file, times, **options):
    mechanism = lg.load(file)
    return mechanism.simulate(t_end=float(times[-1]), output=times, inputs={"motor": 1.0}, progress=False, **options)


@pytest.mark.parametrize("size", [1e-3, 3.5e-3, 10e-3])
def test_a_machine_shows_what_simulate_shows(file, size):
    """Communication points between instants, at them, and with many instants between two of them."""
    machine, rows = machine_of(file, 1e-3), []
    times = size * np.arange(30)
    for t in times[:-1]:
        rows.append(machine.values().copy())
        machine.step(float(t), size)
    rows.append(machine.values().copy())
    expected = reference(file, times, method="rkmk-4", step=1e-3)
    for name, column in zip(NAMES, np.transpose(rows), strict=True):
        np.testing.assert_allclose(column, expected[name], atol=1e-10, err_msg=name)
    assert len(np.unique(expected["imu.specific_force.x"])) > 5


def test_a_step_that_is_taken_back_gives_the_same_samples(file):
    machine = machine_of(file, 1e-3)
    for k in range(5):
        machine.step(0.01 * k, 0.01)
    saved, shown = machine.snapshot(), machine.values().copy()
    machine.step(0.05, 0.01)
    after = machine.values().copy()
    machine.step(0.06, 0.02)
    machine.restore(saved)
    assert np.array_equal(machine.values(), shown)
    machine.step(0.05, 0.01)
    assert np.array_equal(machine.values(), after)
    assert not np.array_equal(after, shown)


def test_what_is_held_has_no_rate_and_depends_on_no_input(file):
    machine = machine_of(file, 1e-3)
    for k in range(5):
        machine.step(0.01 * k, 0.01)
    held = [name.startswith(("imu", "enc")) for name in NAMES]
    rates, slopes = machine.along_motion(), machine.along_inputs(np.array([1.0]))
    assert not rates[held].any()
    assert not slopes[held].any()
    at = NAMES.index("plain.specific_force.x")
    # at the radius r an input gives the acceleration −r/(J + m l²)
    assert slopes[at] == pytest.approx(-0.3 / (0.1 + 2.0 * 0.49))
    assert abs(rates[at]) > 0.1


def test_a_memory_of_another_length_is_refused_while_it_moves(file):
    """A delay that becomes longer has samples on their way that nobody took."""
    machine, path = machine_of(file, 1e-3), file.parent / "later.yaml"
    path.write_text(ARM.replace("delay: 5 ms", "delay: 9 ms"), encoding="utf-8")
    machine.step(0.0, 0.01)
    with pytest.raises(InputError, match="the new value changes what the model consists of"):
        machine.go_on_from(machine_of(path, 1e-3))
    machine.step(0.01, 0.01)


@pytest.mark.foreign
def test_both_kinds_have_the_same_bits_and_those_of_simulate(file, fmus):
    for fmu in fmus:
        assert validate_fmu(str(fmu)) == []
    for size in (1e-3, 3.5e-3, 10e-3):
        a, b = (run(fmu, size, start_values={"motor.input": 1.0}) for fmu in fmus)
        assert a.tobytes() == b.tobytes()
        expected = reference(file, a["time"], method="rkmk-4", step=1e-3)
        for name in NAMES:
            np.testing.assert_allclose(a[name], expected[name], atol=1e-10, err_msg=name)
    units = {v.name: v.unit for v in fmpy.read_model_description(str(fmus[1])).modelVariables}
    assert [units[f"imu.specific_force.{k}"] for k in "xyz"] == ["m/s2"] * 3
    assert units["enc.angle"] == "rad"


@pytest.mark.foreign
def test_a_native_fmu_saves_its_samples(fmus, tmp_path):
    folder = fmpy.extract(str(fmus[0]), unzipdir=str(tmp_path))
    description = fmpy.read_model_description(str(fmus[0]))
    references = [v.valueReference for v in description.modelVariables if v.name in NAMES]
    slave = FMU2Slave(
        guid=description.guid,
        unzipDirectory=folder,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="arm",
    )
    slave.instantiate()
    slave.setupExperiment(startTime=0.0)
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    slave.doStep(0.0, 0.0115)
    state, here = slave.getFMUState(), slave.getReal(references)
    slave.doStep(0.0115, 0.01)
    after = slave.getReal(references)
    slave.setFMUState(state)
    assert slave.getReal(references) == here
    slave.doStep(0.0115, 0.01)
    assert slave.getReal(references) == after
    assert after != here
    slave.freeFMUState(state)
    slave.terminate()
    slave.freeInstance()


@pytest.mark.foreign
def test_a_parameter_of_a_native_fmu_moves_its_sensor(file, fmus):
    """The accelerometer goes with its frame, in samples too: their noise is what it was."""
    found = run(fmus[0], 0.01, start_values={"motor.input": 1.0, "where": 0.6})
    mechanism = lg.load(file, set={"where": "60 cm"})
    times = found["time"]
    expected = mechanism.simulate(
        t_end=float(times[-1]), output=times, inputs={"motor": 1.0}, progress=False, method="rkmk-4", step=1e-3
    )
    for name in NAMES:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-10, err_msg=name)


@pytest.mark.foreign
def test_model_exchange_has_time_events_at_the_instants(file, fmus):
    """fmpy's CVODE integrates; samples are those of `simulate` but for its tolerance and a step of the resolution."""
    a = run(
        fmus[0],
        0.0035,
        start_values={"motor.input": 1.0},
        fmi_type="ModelExchange",
        relative_tolerance=1e-9,
        record_events=False,
    )
    expected = reference(file, a["time"], method="rkmk-4", step=1e-4)
    for name in NAMES:
        coarse = {"imu": 1.1e-3, "enc": 2 * np.pi / 4096 * 1.01}.get(name.partition(".")[0], 1e-5)
        np.testing.assert_allclose(a[name], expected[name], atol=coarse, err_msg=name)
        if coarse > 1e-5:
            same = np.abs(a[name] - expected[name]) < 1e-9
            assert same.mean() > 0.95, name
    assert Path(file).exists()


def test_sensors_are_outputs_unless_a_file_names_others(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(ARM.partition("fmu:")[0], encoding="utf-8")
    found = [
        each.name
        for each in variables(lg.load(path), Settings("rkmk-4", 1e-3, rtol=1e-6, atol=1e-6))
        if each.role == OUTPUT
    ]
    wanted = [*(f"imu.specific_force.{axis}" for axis in "xyz"), "enc.angle", *(f"cell.force.{axis}" for axis in "xyz")]
    assert set(wanted) <= set(found)


@pytest.mark.foreign
def test_an_fmu_of_fmi_3_has_the_same_samples(file, fmus):
    third = fmu_export.build(file, file.parent / "third.fmu", native=True, platforms=["linux64"], fmi=3)
    assert validate_fmu(str(third)) == []
    a, b = (run(fmu, 0.0035, start_values={"motor.input": 1.0}) for fmu in (fmus[0], third))
    for owner in ("imu", "plain"):
        columns = np.column_stack([a[f"{owner}.specific_force.{axis}"] for axis in "xyz"])
        assert np.array_equal(columns, b[f"{owner}.specific_force"])
    assert np.array_equal(a["enc.angle"], b["enc.angle"])
