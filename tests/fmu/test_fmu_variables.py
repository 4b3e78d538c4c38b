"""Parameters, inputs and outputs of FMUs, and how they act on the motion."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from fmpy.fmi2 import fmi2LastSuccessfulTime
from fmus import (
    ARMS,
    CRANK,
    PENDULUM,
    PRESCRIBED,
    mechanism_fmu,
    pendulum_file,
)

import fmu_export
import liegeo as lg
from fmu_export.host import DISCARD, OK, Instance, Unpacked
from fmu_export.inspection import variables_of

HERE = Path(__file__).parent


def test_parameters_rebuild_the_model(folder, arms):
    mechanism = lg.load(folder / "arms.yaml", set={"mass": 3.0})
    expected = mechanism.simulate(t_end=0.3, output=0.01)
    table = fmu_export.run(arms, 0.3, interval=0.01, values={"mass": 3.0})
    np.testing.assert_allclose(table["a.angle"], np.degrees(expected["a.angle"]), rtol=0, atol=1e-9)


def test_an_fmu_holds_what_the_model_reads_and_nothing_else(tmp_path):
    """Not itself, nor results beside it, whatever they are called; built again it is the same."""
    text = PENDULUM.replace("2 s, output", "2 s, inputs: {motor: {file: 'pendulum[1].csv', value: u}}, output")
    (tmp_path / "pendulum[1].csv").write_text("time,u\n0,0\n2,1\n")
    for name in ("pendulum.csv", "pendulum1.csv", "pendulum[1].npz", "pendulum[1].fmu"):
        (tmp_path / name).write_bytes(b"a result" * 1000)
    file = pendulum_file(tmp_path, text=text)
    fmus = [fmu_export.build(file, tmp_path / "pendulum[1].fmu").read_bytes() for _ in range(2)]
    assert fmus[0] == fmus[1]
    with zipfile.ZipFile(tmp_path / "pendulum[1].fmu") as archive:
        inside = [name for name in archive.namelist() if "pendulum" in name and not name.startswith("binaries/")]
    assert inside == ["resources/pendulum[1].csv"]


def test_an_fmu_holds_the_files_that_readers_find(tmp_path):
    """CalculiX writes matrices beside its deck; a deck may include another one, of whatever name."""
    for file in (HERE.parent / "flex/data/calculix").glob("short*"):
        shutil.copy(file, tmp_path)
    (tmp_path / "short.inp").rename(tmp_path / "mesh.txt")
    (tmp_path / "short.inp").write_text("*INCLUDE, INPUT=mesh.txt\n")
    (tmp_path / "short.csv").write_text("a result")
    text = """
liegeo: 1
bodies: {link: {kind: fe, file: short.inp, modes: {method: free-interface, count: 1}}}
joints: {free: {kind: free, parent: world, child: link}}
experiment: {end: 1 ms, method: rkmk-4, step: 0.1 ms}
"""
    (tmp_path / "link.yaml").write_text(text)
    found = {path.name for path in lg.load(tmp_path / "link.yaml").opened}
    beside = {f"short{end}" for end in (".inp", ".sti", ".mas", ".dof", "_mesh.inc")}
    assert {name.removesuffix(".gz") for name in found} == {"mesh.txt", *beside}
    fmu = fmu_export.build(tmp_path / "link.yaml", tmp_path / "short.fmu")
    with zipfile.ZipFile(fmu) as archive:
        names = {name.removeprefix("resources/") for name in archive.namelist()}
    assert found < names
    assert not names & {"short.csv", "short.fmu"}


def test_numbers_of_the_file_as_parameters(folder, arms):
    text = ARMS.replace("300 g", "0.7").replace("com: [0, 0.1, -1]", "com: [0, 0.1, -1.5]")
    expected = lg.load(pendulum_file(folder, "heavier", text)).simulate(t_end=0.3, output=0.01, inputs={"c": 1.0})
    values = {"bodies.right.mass": 0.7, "bodies.right.com[2]": -1.5}
    table = fmu_export.run(arms, 0.3, interval=0.01, values=values, inputs={"c.tau": 1.0})
    np.testing.assert_allclose(table["c.acceleration"], expected["c.acceleration"], rtol=0, atol=1e-9)


def test_gravity_is_tunable(instance, folder):
    instance.initialise(0.0)
    for k in range(20):
        assert instance.step(0.01 * k, 0.01) == OK
    instance.write("gravity.z", 0.0)
    for k in range(20, 40):
        assert instance.step(0.01 * k, 0.01) == OK
    (angle, gravity) = instance.getReal(instance.references(["hinge.angle", "gravity.z"]))
    mechanism = lg.load(folder / "pendulum.yaml")
    first = mechanism.simulate(t_end=0.2)
    weightless = lg.load(
        pendulum_file(folder, "weightless", PENDULUM.replace("parameters:", "gravity: [0, 0, 0]\nparameters:"))
    )
    model = weightless.compile()
    second = weightless.simulate(state=lg.model.State(first.q[-1], first.v[-1], 0.2), t_end=0.4)
    assert gravity == 0.0
    assert angle == pytest.approx(second["hinge.angle"][-1], abs=1e-12)
    assert model.nv == 1


def test_parameters_that_are_tunable(folder):
    """A mass that changes on the way: as if another model went on from there; rollback undoes it."""
    text = PENDULUM + "fmu: {parameters: {mass: {variability: tunable}, length: }}\n"
    fmu = mechanism_fmu(folder, "tunable", text)
    mechanism = lg.load(folder / "tunable.yaml")
    first = mechanism.simulate(t_end=0.2)
    heavier = lg.load(folder / "tunable.yaml", set={"mass": 7.0})
    second = heavier.simulate(state=lg.model.State(first.q[-1], first.v[-1], 0.2), t_end=0.4)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        instance.initialise(0.0, 2.0)
        out = instance.references(["hinge.angle", "energy"])
        for k in range(20):
            assert instance.step(0.01 * k, 0.01) == OK
        state = instance.getFMUstate()
        ends = []
        for mass in (7.0, 2.0, 7.0):
            instance.setFMUstate(state)
            instance.write("mass", mass)
            for k in range(20, 40):
                assert instance.step(0.01 * k, 0.01) == OK
            ends.append(instance.getReal(out))
        instance.freeFMUstate(state)
        assert ends[0] == ends[2] != ends[1]
        assert ends[0] == [
            pytest.approx(second["hinge.angle"][-1], abs=1e-12),
            pytest.approx(second["energy"][-1], abs=1e-10),
        ]
        # a value that cannot be is not taken, and the FMU goes on with what it has
        assert instance.status("setReal", instance.references(["mass"]), [-1.0]) == DISCARD
        assert "fmi2SetReal: mass: " in instance.messages[-1][2]
        assert "Traceback" in instance.messages[-1][2]
        assert instance.getReal(instance.references(["mass"])) == [7.0]
        assert instance.getReal(out) == ends[2]
        assert instance.step(0.4, 0.01) == OK


def test_lengths_that_are_tunable(folder):
    """Frames go with it, and gravity where the file says so; rollback and a new instance show the same bits."""
    text = PENDULUM.replace("parameters:", "gravity: [0, 0, $(-weight)]\nparameters:\n  weight: 9.81 m/s^2", 1)
    text += """
fmu:
  outputs: {hinge.angle: , rod.bob.position: , energy: }
  parameters: {length: {variability: tunable}, weight: {variability: tunable}}
"""
    fmu = mechanism_fmu(folder, "longer", text)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as one, Instance(unpacked) as two:
        out = one.references([f"rod.bob.position.{axis}" for axis in "xyz"])
        every = [v.valueReference for v in one.description.modelVariables if v.type == "Real"]
        one.initialise(0.0, 2.0)
        for k in range(3):
            assert one.step(0.01 * k, 0.01) == OK
        before, shown = one.getFMUstate(), one.getReal(every)
        assert math.hypot(*one.getReal(out)) == pytest.approx(1.0)
        one.setReal(one.references(["length", "weight"]), [2.0, 3.0])
        assert math.hypot(*one.getReal(out)) == pytest.approx(2.0)
        assert one.getReal(one.references(["gravity.z"])) == [-3.0]
        changed = one.serializeFMUstate(one.getFMUstate())
        two.setFMUstate(two.deSerializeFMUstate(changed))
        ends = []
        for instance in (one, two):
            for k in range(3, 20):
                assert instance.step(0.01 * k, 0.01) == OK
            ends.append(instance.getReal(every))
        assert ends[0] == ends[1]
        angle, energy = one.getReal(one.references(["hinge.angle", "energy"]))
        model = lg.load(folder / "longer.yaml", set={"length": 2.0, "weight": 3.0})
        first = lg.load(folder / "longer.yaml").simulate(t_end=0.03)
        expected = model.simulate(state=lg.model.State(first.q[-1], first.v[-1], 0.03), t_end=0.2)
        assert (angle, energy) == (
            pytest.approx(expected["hinge.angle"][-1], abs=1e-12),
            pytest.approx(expected["energy"][-1], abs=1e-10),
        )
        one.setFMUstate(before)
        assert one.getReal(every) == shown


def test_structures_are_not_tunable(folder):
    """A joint without damping is another one than a joint with some."""
    text = PENDULUM.replace("0.1 N*m*s/rad", "$(damping)").replace(
        "parameters:", "parameters:\n  damping: 0.1 N*m*s/rad"
    )
    fmu = mechanism_fmu(folder, "damped", text + "fmu: {parameters: {damping: {variability: tunable}}}\n")
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
        instance.initialise(0.0, 1.0)
        assert instance.step(0.0, 0.01) == OK
        instance.write("damping", 0.2)
        assert instance.step(0.01, 0.01) == OK
        assert instance.status("setReal", instance.references(["damping"]), [0.0]) == DISCARD
        assert "changes what the model consists of" in instance.messages[-1][2]


def test_loops_that_cannot_be_closed_change_nothing(folder):
    """Neither a length that is tuned nor a place that is prescribed, if the rods do not reach; then it goes on."""
    fmu = mechanism_fmu(folder, "crank", CRANK)
    with Unpacked(fmu) as unpacked, Instance(unpacked) as one, Instance(unpacked) as other:
        every = [v.valueReference for v in one.description.modelVariables if v.type == "Real"]
        (length,), (drive,) = one.references(["lc"]), one.references(["drive.value"])
        for instance in (one, other):
            instance.initialise(0.0, 10.0)
            assert instance.step(0.0, 0.01) == OK
        shown, state = one.getReal(every), one.getFMUstate()
        assert one.status("setReal", [length], [5.0]) == DISCARD
        assert "loop 'c' is off by" in one.messages[-1][2]
        assert one.getReal(every) == shown
        one.setReal([drive], [4.0])
        assert one.step(0.01, 0.01) == DISCARD
        assert "loop 'drive' is off by 1.5" in one.messages[-1][2]
        other_values = [k for k, reference in enumerate(every) if reference != drive]
        now = one.getReal(every)
        assert [now[k] for k in other_values] == [shown[k] for k in other_values]
        one.setFMUstate(state)
        for instance in (one, other):
            assert instance.status("setReal", [length], [1.3]) == OK
            assert instance.step(0.01, 0.01) == OK
        assert one.getReal(every) == other.getReal(every)


def test_inputs_are_held_or_extrapolated(folder, pendulum):
    """Linear extrapolation of a torque that rises steadily is exact after the first step; holding it lags."""
    mechanism = lg.load(folder / "pendulum.yaml")
    exact = mechanism.simulate(t_end=0.5, inputs={"motor": lambda t: 3.0 * t})["hinge.angle"][-1]
    ends = {}
    for how in ("hold", "linear"):
        for interval in (0.02, 0.01):
            table = fmu_export.run(
                pendulum,
                0.5,
                interval=interval,
                inputs={"motor.input": lambda t: 3.0 * t},
                values={"integrator.extrapolation": how},
            )
            ends[how, interval] = abs(table["hinge.angle"][-1] - exact)
    # holding is of first order; what is left of the other is the first step, where no slope is known: second order
    assert ends["hold", 0.02] / ends["hold", 0.01] == pytest.approx(2.0, abs=0.2)
    assert ends["linear", 0.02] / ends["linear", 0.01] == pytest.approx(4.0, abs=0.5)
    assert ends["linear", 0.01] < 0.05 * ends["hold", 0.01]


def test_chained_simulations_are_the_same_motion(folder, pendulum):
    """With inputs that jump at each communication point: `simulate` from point to point."""
    mechanism = lg.load(folder / "pendulum.yaml")
    model, state = mechanism.compile(), mechanism.state()
    torque = np.random.default_rng(1).uniform(-3, 3, 30)
    h = 2.0**-7
    expected = [state.q[0]]
    for k in range(30):
        piece = lg.simulate(
            model, state, (k + 1) * h, inputs={"motor": torque[k]}, method="rkmk-4", step=h / 8, output="steps"
        )
        state = lg.model.State(piece.q[-1], piece.v[-1], piece.t[-1])
        expected.append(state.q[0])
    table = fmu_export.run(
        pendulum,
        30 * h,
        interval=h,
        inputs={"motor.input": lambda t: torque[min(round(t / h), 29)]},
        values={"integrator.step": h / 8},
    )
    np.testing.assert_array_equal(table["hinge.angle"], expected)


@pytest.mark.parametrize("method", ["rkmk-54", "generalised-alpha-0.8", "lie-bdf-2", "adaptive-alpha-0.8"])
def test_methods(folder, pendulum, method):
    """Methods with memory, and those that choose their steps, under inputs that jump: near a fine solution."""
    h, torque = 0.05, lambda t: 2.0 if math.floor(t / 0.2 + 1e-9) % 2 else -1.0
    values = {"integrator.method": method, "integrator.step": 1e-3, "integrator.rtol": 1e-7, "integrator.atol": 1e-8}
    table = fmu_export.run(pendulum, 1.0, interval=h, inputs={"motor.input": torque}, values=values)
    fine = fmu_export.run(pendulum, 1.0, interval=h, inputs={"motor.input": torque}, values={"integrator.step": 1e-4})
    np.testing.assert_allclose(table["hinge.angle"], fine["hinge.angle"], rtol=0, atol=2e-5)


def test_adaptive_run_in_one_step_is_simulate(folder, pendulum):
    mechanism = lg.load(folder / "pendulum.yaml")
    expected = mechanism.simulate(t_end=1.5, method="rkmk-54", step=None, rtol=1e-6, atol=1e-6, output="steps")
    values = {"integrator.method": "rkmk-54", "integrator.rtol": 1e-6, "integrator.atol": 1e-6}
    table = fmu_export.run(pendulum, 1.5, interval=1.5, values=values)
    assert table["hinge.angle"][-1] == expected["hinge.angle"][-1]


def test_prescribed_motion(folder):
    """Value, rate and acceleration are three inputs that agree within a step."""
    fmu = mechanism_fmu(folder, "prescribed", PRESCRIBED)
    law = {
        "turn.value": lambda t: 0.5 * t * t,
        "turn.rate": lambda t: t,
        "turn.acceleration": 1.0,
    }
    table = fmu_export.run(fmu, 1.0, interval=0.05, inputs=law)
    t = table["time"]
    np.testing.assert_allclose(table["axle.angle"], 0.5 * t * t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(table["axle.speed"], t, rtol=0, atol=1e-9)
    mechanism = lg.load(folder / "prescribed.yaml")
    expected = mechanism.simulate(
        t_end=1.0, inputs={"turn": lambda t: (0.5 * t * t, t, 1.0)}, output=np.linspace(0, 1, 21)
    )
    np.testing.assert_allclose(table["elbow.angle"], expected["elbow.angle"], rtol=0, atol=1e-6)
    units = {v["name"]: v.get("unit") for v in variables_of(fmu)}
    assert (units["turn.value"], units["turn.rate"], units["turn.acceleration"]) == ("rad", "rad/s", "rad/s²")
    report = fmu_export.validate(fmu)
    assert report.ok, report


def test_without_an_experiment(folder):
    """The standard wants fmi2SetupExperiment; without it an FMU begins where its default experiment does."""
    text = PENDULUM.replace("experiment: {", "experiment: {start: 0.5 s, ")
    with Unpacked(mechanism_fmu(folder, "later", text)) as unpacked, Instance(unpacked) as fmu:
        fmu.enterInitializationMode()
        fmu.exitInitializationMode()
        assert fmu.getRealStatus(fmi2LastSuccessfulTime) == 0.5
        assert fmu.step(0.5, 0.01) == OK


def test_outputs_while_initialising(instance):
    instance.setupExperiment(startTime=0.0)
    instance.write("initial.hinge.angle", 0.7)
    instance.enterInitializationMode()
    assert instance.getReal(instance.references(["hinge.angle"])) == [0.7]
    instance.write("initial.hinge.angle", 0.9)
    instance.write("length", 2.0)
    instance.exitInitializationMode()
    angle, x = instance.getReal(instance.references(["hinge.angle", "rod.bob.position.x"]))
    assert (angle, x) == (0.9, pytest.approx(-2.0 * math.sin(0.9)))


def test_variables_are_plain_data(pendulum):
    listed = variables_of(pendulum)
    assert json.loads(json.dumps(listed)) == listed
    assert [v["name"] for v in listed[:2]] == ["motor.input", "hinge.angle"]
