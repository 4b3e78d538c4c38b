"""Events inside FMUs, with Python inside and without: against `simulate`, which tests/events has against others."""

from __future__ import annotations

import fmpy
import numpy as np
import pytest
from fmus import mechanism_fmu

import fmu_export
import liegeo as lg
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.host import Instance, Unpacked

# A double pendulum with a brake that a host commands, a limit of its first hinge, a motor that is switched off where
# the second one passes an angle, and a bob that is caught in flight.
MACHINE = """
liegeo: 1
name: machine
bodies:
  upper: {kind: rigid, mass: 1 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01], frames: {end: [0, 0, -1]}}
  lower: {kind: rigid, mass: 2 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01], frames: {end: [0, 0, -1]}}
  bob: {kind: rigid, mass: 0.5 kg, inertia: [0.01, 0.01, 0.01]}
joints:
  shoulder: {kind: revolute, parent: world, child: upper, axis: [0, 1, 0]}
  elbow: {kind: revolute, parent: upper, child: lower, at: end, axis: [0, 1, 0]}
  flight: {kind: free, parent: world, child: bob}
forces:
  motor: {kind: actuator, joint: elbow}
loops:
  brake: {kind: lock, joint: elbow, commanded: true}
  limit: {kind: rigid_stop, joint: shoulder, lower: -20 deg, upper: 50 deg, restitution: 0.6, rest_speed: 1 mrad/s}
  grip: {kind: weld, a: lower.end, b: bob}
events:
  far: {signal: elbow.angle, value: 0.4, direction: rising, set: {motor: 0}, once: true}
  catch: {signal: time, value: 0.613, engage: [grip]}
  drop: {signal: time, value: 1.107, release: [grip]}
initial:
  q: {shoulder: 30 deg, flight: [1, 0, 0, 0, 1 m, 0 m, 0 m]}
  v: {flight: [0, 1, 0, 0 m/s, 0 m/s, 1 m/s]}
experiment: {end: 2 s, method: METHOD, step: 2 ms, inputs: {motor: 4}}
fmu:
  inputs: {brake: }
  outputs: {shoulder.angle: , shoulder.speed: , elbow.angle: , elbow.speed: , bob.position: , grip.mode: , brake.mode: }
"""
KEPT = ("shoulder.angle", "shoulder.speed", "elbow.angle", "elbow.speed", "bob.position.x", "bob.position.z")
METHODS = ("rkmk-4", "rkmk-54", "generalised-alpha-0.8")
GIVEN = np.array([(0.0, 0.0), (1.3, 0.0), (1.3, 1.0), (1.6, 1.0), (1.6, 0.0), (2.0, 0.0)],
                 dtype=[("time", "f8"), ("brake.input", "f8")])  # fmt: skip


def text(method):
    given = MACHINE.replace("METHOD", method)
    return given.replace(", step: 2 ms", "") if method == "rkmk-54" else given


@pytest.fixture(scope="module")
def machines(folder):
    return {m: mechanism_fmu(folder, f"machine_{k}", text(m)) for k, m in enumerate(METHODS)}


def command(t):
    return 1.0 if 1.3 - 1e-9 <= t < 1.6 - 1e-9 else 0.0


command.breaks = [1.3, 1.6]


@pytest.mark.parametrize("step", [0.1, 0.02])
@pytest.mark.parametrize("method", METHODS)
def test_an_fmu_is_the_run(machines, folder, method, step):
    """Whatever the communication step: what events do in it is what they do in a run.

    Methods of order two have other steps where communication points cut them, and a motion with impacts grows errors.
    """
    found = fmpy.simulate_fmu(str(machines[method]), stop_time=2.0, output_interval=step, input=GIVEN)
    mechanism = lg.load(folder / f"machine_{METHODS.index(method)}.yaml")
    run = mechanism.simulate(
        output=np.minimum(found["time"], 2.0), inputs={"motor": 4.0, "brake": command}, progress=False
    )
    names = {event.name for event in run.events}
    assert names == {"far", "catch", "drop", "brake", "limit"}
    bound = {"rkmk-4": 1e-7, "rkmk-54": 2e-4, "generalised-alpha-0.8": 3e-3}[method]
    for name in KEPT:
        if "speed" not in name:
            assert np.abs(found[name] - run[name]).max() < bound
    # the brake holds between its commands, and the bob hangs on the arm while it is welded
    held = (found["time"] > 1.3 + step) & (found["time"] < 1.6)
    assert np.ptp(found["elbow.angle"][held]) < 1e-12
    caught = (found["time"] > 0.613 + 1e-9) & (found["time"] < 1.107)
    assert (found["grip.mode"][caught] == 1.0).all()
    assert (found["grip.mode"][~caught] == 0.0).all()
    # positions: 50 degrees, but for the round-off of an impact
    assert found["shoulder.angle"].max() < np.deg2rad(50.0) + 1e-12


def ends_of(fmu, names=KEPT):
    """Return what a step across events ends with, three times from one state, and once from its bytes."""
    ends = []
    with Unpacked(fmu) as unpacked:
        with Instance(unpacked) as one:
            one.initialise(0.0)
            one.step(0.0, 0.55)
            state = one.save()
            data = one.to_bytes(state)
            for _ in range(3):
                one.step(0.55, 0.1)
                one.step(0.65, 0.5)
                ends.append(one.read(list(names)))
                one.restore(state)
            one.forget(state)
        with Instance(unpacked, "other") as other:
            other.initialise(0.0)
            state = other.from_bytes(data)
            other.restore(state)
            other.step(0.55, 0.1)
            other.step(0.65, 0.5)
            ends.append(other.read(list(names)))
            other.forget(state)
    return ends


@pytest.mark.parametrize("method", METHODS)
def test_states_go_on_across_events_to_the_bit(machines, method):
    """Saved before the bob is caught, restored behind it, and read by another instance."""
    ends = ends_of(machines[method])
    assert ends[0] == ends[1] == ends[2] == ends[3]


def test_what_events_switch_is_no_input(machines):
    description = fmpy.read_model_description(str(machines["rkmk-4"]))
    assert [v.name for v in description.modelVariables if v.causality == "input"] == ["brake.input"]


@pytest.mark.foreign
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_native_fmu_has_the_same_bits(machines, folder, method, version):
    file = folder / f"machine_{METHODS.index(method)}.yaml"
    native = fmu_export.build(
        file, folder / f"native_{METHODS.index(method)}_{version}.fmu", native=True, platforms=["linux64"], fmi=version
    )
    options = {"stop_time": 2.0, "output_interval": 0.02, "input": GIVEN, "fmi_type": "CoSimulation"}
    one = fmpy.simulate_fmu(str(machines[method]), **options)
    other = fmpy.simulate_fmu(str(native), **options)
    # FMI 3.0 has the position as one vector
    names = KEPT if version == 2 else KEPT[:4]
    for name in names:
        assert one[name].tobytes() == other[name].tobytes()
    ends = ends_of(native, names)
    assert ends[0] == ends[1] == ends[2] == ends[3] == ends_of(machines[method], names)[0]


BALL = """
liegeo: 1
name: ball
parameters: {e: 0.5}
bodies:
  ball: {kind: rigid, mass: 2 kg, inertia: [0.1, 0.1, 0.1]}
joints:
  z: {kind: prismatic, parent: world, child: ball, axis: [0, 0, 1]}
forces:
  motor: {kind: actuator, joint: z}
loops:
  floor: {kind: rigid_stop, joint: z, lower: 0 m, restitution: $(e), rest_speed: 1 mm/s}
events:
  lift: {signal: time, value: 2.5, set: {motor: 30}}
  drop: {signal: z.position, value: 0.2, direction: rising, set: {motor: 0}}
initial: {q: {z: 1 m}}
experiment: {end: 4 s, method: rkmk-4, step: 1 ms}
"""


@pytest.mark.foreign
@pytest.mark.parametrize("version", [2, 3])
def test_event_indicators_in_model_exchange(folder, version):
    """A ball bounces, rests, is lifted by an event, and falls again: by solvers of others, as in the run.

    The indicator of a stop has a margin of 1e-9 m, by which impacts are late; CVODE finds roots to its tolerance.
    """
    native = mechanism_fmu(folder, f"ball_{version}", BALL, native=True, platforms=["linux64"], fmi=version)
    run = lg.load(folder / f"ball_{version}.yaml").simulate(output=0.01, progress=False)
    assert {event.name for event in run.events} == {"floor", "lift", "drop"}
    description = fmpy.read_model_description(str(native))
    assert int(description.numberOfEventIndicators or len(description.eventIndicators)) == 3
    table = fmu_export.run(
        native, 4.0, interval=0.01, kind="model exchange", solver=ExchangeSolver(tolerance=1e-9, max_step=0.02)
    )
    assert np.abs(table["z.position"] - run["z.position"]).max() < 1e-6
    for solver, bound in (("CVode", 1e-4), ("Euler", 0.15)):
        found = fmpy.simulate_fmu(
            str(native), stop_time=4.0, output_interval=0.01, fmi_type="ModelExchange", solver=solver,
            relative_tolerance=1e-8,
        )  # fmt: skip
        # at the times of samples: at events there are more
        k = np.minimum(np.round(found["time"] * 100).astype(int), len(run) - 1)
        there = np.abs(found["time"] - run.t[k]) < 1e-9
        assert there.sum() > 350
        assert np.abs(found["z.position"] - run["z.position"][k])[there].max() < bound
        # it rests on the floor; Euler's steps of 10 ms look for events at their ends only, at 4.43 m/s
        assert found["z.position"].min() > (-1e-6 if solver == "CVode" else -0.0443)


@pytest.mark.foreign
def test_parameters_of_events_can_be_set(folder):
    """Restitution and the value of a trigger, in both kinds of FMU, as in the run with the other numbers."""
    given = BALL.replace("parameters: {e: 0.5}", "parameters: {e: 0.5, high: 0.2 m, when: 2.5 s}")
    given = given.replace("z.position, value: 0.2", "z.position, value: $(high)").replace(
        "value: 2.5", "value: $(when)"
    )
    python = mechanism_fmu(folder, "set", given)
    assert fmu_export.constants_of(folder / "set.yaml") == {}
    native = fmu_export.build(folder / "set.yaml", folder / "set_native.fmu", native=True, platforms=["linux64"])
    values = {"e": 0.8, "high": 0.3, "when": 3.1}
    options = {"stop_time": 4.0, "output_interval": 0.01, "fmi_type": "CoSimulation", "start_values": values}
    one, other = (fmpy.simulate_fmu(str(fmu), **options)["z.position"] for fmu in (python, native))
    assert one.tobytes() == other.tobytes()
    run = lg.load(folder / "set.yaml", set=values).simulate(output=0.01, progress=False)
    assert np.abs(run["z.position"] - one).max() < 1e-9
