"""Derivatives of outputs and inputs of FMUs."""

from __future__ import annotations

import math
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmus import (
    PENDULUM,
    PRESCRIBED,
    mechanism_fmu,
)

import fmu_export
import liegeo as lg
from fmu_export.host import DISCARD, ERROR, OK, WARNING, Instance, Unpacked

HERE = Path(__file__).parent


def test_directional_derivatives(arms):
    """Accelerations by torques, in the units of both; by what the mass matrix says, and by differences."""
    with Unpacked(arms) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(0.0, 1.0, {"initial.a.angle": 0.3, "initial.b.angular_velocity.x": 1.0})
        assert fmu.step(0.0, 0.1) == OK
        fmu.setReal(fmu.references(["a.tau", "c.tau"]), [0.002, 1.0])
        names = ["a.angle", "a.acceleration", "c.acceleration", "b.reaction.force.x", "'the tip'.quaternion.w"]
        out, (a, c) = fmu.references(names), fmu.references(["a.tau", "c.tau"])
        by_a = np.array(fmu.getDirectionalDerivative(out, [a], [1.0]))
        by_c = np.array(fmu.getDirectionalDerivative(out, [c], [1.0]))
        both = np.array(fmu.getDirectionalDerivative(out, [c, a, a], [2.0, 0.5, 0.5]))
        np.testing.assert_allclose(both, by_a + 2.0 * by_c, rtol=1e-9, atol=1e-12)
        # c is a pendulum of its own: J about its axis, and a torque in N·m
        assert by_c[2] == pytest.approx(1.0 / (0.1 + 0.3 * 1.0), rel=1e-9)
        assert by_a[[0, 2, 4]] == pytest.approx(0.0, abs=1e-12)
        rows = []
        for change in (1e-3, -1e-3):
            fmu.setReal([a], [0.002 + change])
            rows.append(np.array(fmu.getReal(out)))
        np.testing.assert_allclose(by_a, (rows[0] - rows[1]) / 2e-3, rtol=1e-8, atol=1e-8)
        # asking changes nothing
        fmu.setReal([a], [0.002])
        before = fmu.getReal(out)
        fmu.getDirectionalDerivative(out, [a], [1.0])
        assert fmu.getReal(out) == before
        assert fmu.getDirectionalDerivative([], [a], [1.0]) == []
        assert fmu.getDirectionalDerivative(out, [], []) == [0.0] * len(out)


def test_directional_derivatives_near_limits(folder):
    """A motor of 1 N·m at most: its slope before the limit, and nothing beyond."""
    text = PENDULUM.replace("actuator, joint: hinge", "actuator, joint: hinge, limit: 1 N*m")
    fmu = mechanism_fmu(folder, "limited", text + "fmu: {outputs: {hinge.acceleration: }}\n")
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        motor = instance.by_name["motor.input"]
        assert (motor.min, motor.max) == ("-1.0", "1.0")
        instance.initialise(0.0, 1.0)
        inertia = 0.01 + 2.0
        for torque, expected in ((0.0, 1.0 / inertia), (0.999, 1.0 / inertia), (-0.999, 1.0 / inertia), (1.001, 0.0)):
            instance.setReal([0], [torque])
            assert instance.getDirectionalDerivative([1], [0], [1.0]) == [pytest.approx(expected, rel=1e-9)]


# A rotor on a station: what moves the one by 1e6 rad/s² moves the other by 1e-8 rad/s².
STATION = """
liegeo: 1
name: station
gravity: [0, 0, 0]
bodies:
  station: {kind: rigid, mass: 400 t, inertia: [1e8, 1e8, 1e8]}
  rotor: {kind: rigid, mass: 10 g, inertia: [1e-6, 1e-6, 1e-6]}
joints:
  turn: {kind: revolute, parent: world, child: station, axis: [0, 1, 0]}
  axle: {kind: revolute, parent: station, child: rotor, axis: [0, 1, 0]}
forces: {motor: {kind: actuator, joint: axle, limit: 5 N*m}}
experiment: {end: 1 s, output: 1 ms, method: rkmk-4, step: 1 ms}
fmu: {outputs: {axle.acceleration: , turn.acceleration: , axle.reaction.moment.y: , turn.reaction.moment.x: }}
"""


def test_outputs_of_very_different_sizes(folder):
    """Each output is compared with itself: its dependencies, and its derivatives near the limit of a motor."""
    fmu = mechanism_fmu(folder, "station", STATION)
    described = fmpy.read_model_description(str(fmu))
    depends = {unknown.variable.name: {v.name for v in unknown.dependencies} for unknown in described.outputs}
    names = ["axle.acceleration", "turn.acceleration", "axle.reaction.moment.y"]
    assert all(depends[name] == {"motor.input"} for name in names)
    assert depends["turn.reaction.moment.x"] == set()
    report = fmu_export.validate(fmu)
    assert not report.problems
    assert not any("did not depend" in note for note in report.notes)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        outputs, (motor,) = instance.references(names), instance.references(["motor.input"])
        instance.initialise(0.0, 1.0)
        for value in (0.0, 4.9, 4.995, 4.9999):
            instance.setReal([motor], [value])
            found = instance.getDirectionalDerivative(outputs, [motor], [1.0])
            np.testing.assert_allclose(found, [1e6, -1e-8, 1.0], rtol=1e-6)


def test_directional_derivatives_while_initialising(pendulum):
    """By parameters and start values too, which are known then."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        fmu.setupExperiment(startTime=0.0)
        fmu.write("initial.hinge.angle", 0.4)
        fmu.write("length", 1.5)
        fmu.enterInitializationMode()
        out = fmu.references(["rod.bob.position.x", "rod.bob.position.z", "energy.kinetic"])
        known = fmu.references(["length", "initial.hinge.angle", "motor.input"])
        found = [fmu.getDirectionalDerivative(out, [reference], [1.0]) for reference in known]
        expected = [
            [-math.sin(0.4), -math.cos(0.4), 0.0],
            [-1.5 * math.cos(0.4), 1.5 * math.sin(0.4), 0.0],
            [0.0, 0.0, 0.0],
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        # at a bound only one side can be tried
        fmu.write("length", 1e-3)
        (x, _, _) = fmu.getDirectionalDerivative(out, known[:1], [1.0])
        assert x == pytest.approx(-math.sin(0.4), abs=1e-6)
        fmu.write("length", -1.0)
        assert fmu.status("getDirectionalDerivative", out, known[:1], [1.0]) == ERROR
        assert "must be ≥ 1 mm" in fmu.messages[-1][2]


@pytest.mark.parametrize("value", [0.0, 1e-17, -1e-17])
def test_directional_derivatives_near_zero(arms, value):
    """Of what is zero but for round-off: the change is one that shows beside the accelerations that there are."""
    with Unpacked(arms) as unpacked, Instance(unpacked) as fmu:
        fmu.setupExperiment(startTime=0.0)
        names = ["c.tau", "bodies.right.com[0]", "initial.c.angle"]
        for name, given in zip(names, (value, value, 0.5 + value), strict=True):
            fmu.write(name, given)
        fmu.enterInitializationMode()
        (out,) = fmu.references(["c.acceleration"])
        found = [fmu.getDirectionalDerivative([out], [known], [1.0])[0] for known in fmu.references(names)]
        inertia, weight = 0.1 + 0.3, 0.3 * 9.81
        expected = [1.0, weight * math.cos(0.5), -weight * math.cos(0.5)]
        np.testing.assert_allclose(found, np.array(expected) / inertia, rtol=1e-7)


def test_rates_of_outputs(arms):
    """Against the motion itself, by steps to both sides."""
    values = {"integrator.step": 1e-4, "initial.a.speed": 2.0, "initial.b.angular_velocity.y": 3.0}
    found = []
    with Unpacked(arms) as unpacked:
        for size in (4e-3, 2e-3):
            with Instance(unpacked) as fmu:
                fmu.initialise(0.0, 1.0, values)
                outputs = [v.valueReference for v in fmu.description.modelVariables if v.causality == "output"]
                assert fmu.step(0.0, 0.1 - size) == OK
                before = np.array(fmu.getReal(outputs))
                assert fmu.step(0.1 - size, size) == OK
                rates = np.array(fmu.getRealOutputDerivatives(outputs, [1] * len(outputs)))
                assert fmu.step(0.1, size) == OK
                found.append((np.array(fmu.getReal(outputs)) - before) / (2.0 * size))
        # extrapolated, of fourth order
        expected = (4.0 * found[1] - found[0]) / 3.0
        np.testing.assert_allclose(rates, expected, rtol=1e-5, atol=1e-5)
        assert np.count_nonzero(rates) > 7
        with Instance(unpacked) as fmu:
            fmu.initialise(0.0, 1.0, values)
            (angle,) = fmu.references(["a.angle"])
            (rate,) = fmu.getRealOutputDerivatives([angle], [1])
            assert rate == pytest.approx(math.degrees(2.0), abs=1e-10)


def test_rates_of_frames(folder):
    """The rate of a position is a velocity, that of a velocity an acceleration, to round-off."""
    text = PENDULUM + "fmu: {outputs: {rod.bob.position: , rod.bob.velocity: , rod.bob.acceleration: }}\n"
    with Unpacked(mechanism_fmu(folder, "framed", text)) as unpacked, Instance(unpacked) as fmu:
        fmu.initialise(0.0, 2.0, {"motor.input": 3.0})
        for k in range(3):
            assert fmu.step(0.1 * k, 0.1) == OK
        outputs = list(range(1, 10))
        values, rates = fmu.getReal(outputs), fmu.getRealOutputDerivatives(outputs, [1] * 9)
        assert rates[:6] == pytest.approx(values[3:], abs=1e-11)
        assert max(map(abs, values[3:])) > 0.5


def test_rates_of_inputs(folder, pendulum):
    """A torque of which the master gives slope and curvature: exact, where holding it is not, and for one step only."""
    mechanism = lg.load(folder / "pendulum.yaml")
    exact = mechanism.simulate(t_end=0.5, inputs={"motor": lambda t: 3.0 * t + 4.0 * t * t})["hinge.angle"][-1]
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as fmu:
        (motor,), (angle,) = fmu.references(["motor.input"]), fmu.references(["hinge.angle"])
        fmu.initialise(0.0, 1.0)
        for k in range(5):
            t = 0.1 * k
            fmu.setReal([motor], [3.0 * t + 4.0 * t * t])
            if k == 3:
                state = fmu.getFMUstate()
            fmu.setRealInputDerivatives([motor, motor], [1, 2], [3.0 + 8.0 * t, 8.0])
            if k == 4:
                kept = fmu.getFMUstate()
                data = fmu.serializeFMUstate(kept)
            assert fmu.step(t, 0.1) == OK
        (end,) = fmu.getReal([angle])
        assert end == pytest.approx(exact, abs=1e-11)
        # slopes that were given are part of a state, and of its bytes
        for restored in (kept, fmu.deSerializeFMUstate(data)):
            fmu.setFMUstate(restored)
            assert fmu.step(0.4, 0.1) == OK
            assert fmu.getReal([angle]) == [end]
        # without them the torque is held, also after a step that had some and ends where the next begins
        fmu.setFMUstate(state)
        u = 0.9 + 0.36
        fmu.setRealInputDerivatives([motor], [1], [1.0])
        assert fmu.step(0.3, 0.1) == OK
        fmu.setReal([motor], [u + 0.1])
        first = fmu.getFMUstate()
        assert fmu.step(0.4, 0.1) == OK
        (held,) = fmu.getReal([angle])
        fmu.setFMUstate(first)
        fmu.setRealInputDerivatives([motor], [1], [0.0])
        assert fmu.step(0.4, 0.1) == OK
        assert fmu.getReal([angle]) == [pytest.approx(held, abs=1e-14)]
        assert fmu.status("setRealInputDerivatives", [motor], [1], [math.inf]) == DISCARD


def test_rates_of_inputs_that_are_not_used(folder):
    """Of prescribed motions, whose rates are inputs, and above the second order: a warning."""
    fmu = mechanism_fmu(folder, "prescribed", PRESCRIBED)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        instance.setRealInputDerivatives(instance.references(["turn.value"]), [1], [1.0])
        assert "turn.value: its rate and acceleration are inputs of their own" in instance.messages[-1][2]
        assert instance.messages[-1][0] == WARNING
        # once for each input
        n = len(instance.messages)
        both = instance.references(["turn.value", "turn.rate"])
        for _ in range(3):
            instance.setRealInputDerivatives(both, [1, 1], [1.0, 1.0])
        assert len(instance.messages) == n + 1
        assert "turn.rate: its rate" in instance.messages[-1][2]
        assert "turn.value" not in instance.messages[-1][2]
    with Unpacked(mechanism_fmu(folder)) as unpacked, Instance(unpacked) as instance:
        instance.setRealInputDerivatives([0], [3], [1.0])
        assert "the order is 3, and those above 2 are not used" in instance.messages[-1][2]
