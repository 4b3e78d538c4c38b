"""Units of small models: what they contain, that they behave, and that nothing brings a host down."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import re
import shutil
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy import fmi2
from fmpy.fmi2 import fmi2LastSuccessfulTime, fmi2Terminated
from loop import closed_loop
from units import (
    ARMS,
    PENDULUM,
    compiled_controller,
    mechanism_unit,
    pendulum_file,
    script_controller,
    unifmu_controller,
)

import fmu_export
import liegeo as lg
from fmu_export import package, slave
from fmu_export.host import DISCARD, ERROR, OK, WARNING, Instance, Unpacked
from fmu_export.inspection import variables_of
from fmu_export.variables import base_unit
from liegeo.errors import AssemblyError, InputError, ModelError, ModelFileError, SimulationError
from liegeo.io.mechanism import Variable as MechanismVariable

HERE = Path(__file__).parent

PRESCRIBED = """
liegeo: 1
name: prescribed
bodies:
  hub: {kind: rigid, mass: 1, inertia: [1, 1, 1], com: [0.2, 0, 0], frames: {rim: [0.5, 0, 0]}}
  arm: {kind: rigid, mass: 1, inertia: [1, 1, 1], com: [0.3, 0, 0]}
joints:
  axle: {kind: revolute, parent: world, child: hub, axis: [0, 1, 0]}
  elbow: {kind: revolute, parent: hub, child: arm, at: rim, axis: [0, 1, 0]}
loops:
  turn: {kind: motion, joint: axle}
experiment: {end: 1 s, output: 10 ms, method: generalised-alpha-0.8, step: 1 ms}
fmu:
  inputs: {turn: }
  outputs: {axle.angle: , axle.speed: , elbow.angle: , turn.tau: , elbow.acceleration: }
"""


# A slide pulls a rod by a bar, until both are straight at x = 2 m; farther it cannot go.
PULLED = """
liegeo: 1
name: pulled
bodies:
  rod: {kind: rigid, mass: 1, inertia: [0.1, 0.1, 0.1], com: [0, 0, -0.5], frames: {end: [0, 0, -1]}}
  slide: {kind: rigid, mass: 1, inertia: [1, 1, 1]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
  rail: {kind: prismatic, parent: world, child: slide, axis: [1, 0, 0]}
loops:
  pull: {kind: motion, joint: rail}
  bar: {kind: distance, a: rod.end, b: slide, length: 1}
initial: {q: {hinge: -30 deg, rail: 1}}
experiment: {end: 2 s, output: 10 ms, method: generalised-alpha-0.8, step: 1 ms}
fmu: {inputs: {pull: {start: 1}}, outputs: {hinge.angle: , rail.position: }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("units")


@pytest.fixture(scope="module")
def pendulum(folder):
    return mechanism_unit(folder)


@pytest.fixture(scope="module")
def arms(folder):
    return mechanism_unit(folder, "arms", ARMS)


@pytest.fixture
def instance(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        yield unit


# ---- what is in a unit


def test_description(arms):
    described = fmpy.read_model_description(str(arms), validate=True, validate_variable_names=True)
    by_name = {variable.name: variable for variable in described.modelVariables}
    assert described.coSimulation.modelIdentifier == "arms"
    assert described.variableNamingConvention == "structured"
    torque = by_name["a.tau"]
    assert (torque.causality, torque.unit, torque.min, torque.max) == ("input", "kN.m", "-0.005", "0.005")
    assert torque.nominal == "0.002"
    assert (by_name["c.tau"].unit, by_name["c.tau"].description) == ("N.m", "a torque")
    angle = by_name["a.angle"]
    assert (angle.unit, angle.min, angle.max, angle.nominal) == ("deg", "-90.0", "90.0", "30.0")
    assert by_name["'the tip'.'1'.position.x"].unit == "m"
    assert by_name["gravity.z"].variability == "tunable"
    assert by_name["bodies.right.mass"].start == "0.3"
    assert by_name["bodies.right.com[1]"].start == "0.1"
    assert by_name["initial.c.speed"].variability == "fixed"
    units = {unit.name: unit.baseUnit for unit in described.unitDefinitions}
    assert (units["kN.m"].factor, units["kN.m"].kg, units["kN.m"].m, units["kN.m"].s) == (1000.0, 1, 2, -2)
    assert (units["deg"].rad, units["deg"].factor) == (1, pytest.approx(math.pi / 180))
    assert (units["rad/s2"].rad, units["rad/s2"].s) == (1, -2)


@pytest.mark.parametrize(
    ("unit", "rad", "s"),
    [("mrad", 1, 0), ("mrad/s", 1, -1), ("arcmin", 1, 0), ("rpm", 1, -1), ("N*m/rad", -1, -2), ("Hz", 0, -1)],
)
def test_radians_are_counted(unit, rad, s):
    _, powers = base_unit(unit)
    assert (powers.get("rad", 0), powers.get("s", 0)) == (rad, s)


def test_dependencies_are_the_true_ones(arms):
    """Two arms on the world do not feel each other; positions feel nothing at once, accelerations and reactions do."""
    described = fmpy.read_model_description(str(arms))
    depends = {unknown.variable.name: {v.name for v in unknown.dependencies} for unknown in described.outputs}
    assert depends["a.angle"] == depends["'the tip'.quaternion.w"] == set()
    assert depends["a.acceleration"] == depends["b.reaction.force.x"] == {"a.tau"}
    assert depends["c.acceleration"] == {"c.tau"}
    at_start = {unknown.variable.name: {v.name for v in unknown.dependencies} for unknown in described.initialUnknowns}
    assert {"mass", "initial.a.angle", "gravity.z"} <= at_start["a.angle"]
    assert not any(name.startswith("integrator.") for name in set().union(*at_start.values()))
    assert "a.tau" not in at_start["a.angle"]


def test_same_content_same_bytes(folder, pendulum):
    again = mechanism_unit(folder / "..", "pendulum")
    other = mechanism_unit(folder, "pendulum_2", PENDULUM.replace("2 kg", "2.5 kg"))
    assert again.read_bytes() == pendulum.read_bytes()
    guids = [fmpy.read_model_description(str(file)).guid for file in (pendulum, again, other)]
    assert guids[0] == guids[1] != guids[2]


def test_archive(pendulum):
    with zipfile.ZipFile(pendulum) as archive:
        names = archive.namelist()
        assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in archive.infolist())
        script = next(name for name in names if name.startswith("resources/unit_"))
        assert archive.read("resources/slavemodule.txt").decode() == Path(script).stem
        assert "numba>=" in archive.read("resources/requirements.txt").decode()
    assert "resources/liegeo/__init__.py" in names
    assert not any("view" in name or name.endswith(".pyc") for name in names)


def test_without_sources(folder):
    unit = fmu_export.build(pendulum_file(folder, "thin"), folder / "thin.fmu", bundle=False)
    with zipfile.ZipFile(unit) as archive:
        assert not any(name.startswith("resources/liegeo") for name in archive.namelist())
        assert f"liegeo>={lg.__version__}" in archive.read("resources/requirements.txt").decode()
    assert fmu_export.run(unit, 0.1)["time"][-1] == pytest.approx(0.1)


def test_from_python_and_from_a_tree(folder):
    tree = lg.load(pendulum_file(folder)).tree
    for k, system in enumerate((tree, tree.compile(), lg.Mechanism(tree))):
        unit = fmu_export.build(system, folder / f"built_{k}.fmu", step=1e-3, method="rkmk-4", interval=0.01)
        table = fmu_export.run(unit, 0.2, values={"initial.hinge.angle": 0.5})
        expected = lg.simulate(
            tree.compile(), tree.compile().state(q={"hinge": 0.5}), 0.2, method="rkmk-4", step=1e-3, output=0.01
        )
        np.testing.assert_allclose(table["hinge.angle"], expected["hinge.angle"], rtol=0, atol=1e-12)


def test_info(arms, pendulum):
    said = fmu_export.info(arms)
    assert (said.identifier, said.capabilities["canSerializeFMUstate"]) == ("arms", True)
    assert said.capabilities["providesDirectionalDerivative"]
    assert "linux64" in said.platforms
    assert any(need.startswith("numpy>=") for need in said.requirements)
    text = str(fmu_export.info(pendulum))
    assert "motor.input" in text
    assert "[N.m]" in text


# ---- what was changed in Python


def test_what_was_replaced_in_python_is_in_the_unit(folder):
    """A mechanism from a file, with other parts: `simulate` and the unit begin and move alike."""
    given = lg.load(pendulum_file(folder))
    rod = dataclasses.replace(given.tree.bodies[0], mass=3.5)
    changes = {
        "initial": {"initial": dataclasses.replace(given.initial, q={"hinge": 1.0})},
        "gravity": {"tree": dataclasses.replace(given.tree, gravity=(0.0, 0.0, -1.62))},
        "body": {"tree": dataclasses.replace(given.tree, bodies=[rod])},
        "experiment": {"experiment": dataclasses.replace(given.experiment, end=0.5, method="rkmk-2")},
    }
    moved = []
    for name, change in changes.items():
        mechanism = dataclasses.replace(given, **change)
        unit = fmu_export.build(mechanism, folder / f"replaced_{name}.fmu")
        said, parameters = fmu_export.info(unit), [n for n, *_ in fmu_export.info(unit).variables["parameter"]]
        # parts of other numbers do not depend on the file's parameters
        assert ("length" in parameters) == (name != "body")
        assert said.identifier == "pendulum"
        expected = mechanism.simulate(output=0.01, progress=False)
        table = fmu_export.run(unit)
        np.testing.assert_allclose(table["hinge.angle"], expected["hinge.angle"], rtol=0, atol=1e-12)
        moved.append(table["hinge.angle"][40])
    assert len(set(moved)) == len(changes)
    interface = dataclasses.replace(given.fmu, outputs={"hinge.speed": MechanismVariable(unit="deg/s")})
    unit = fmu_export.build(dataclasses.replace(given, fmu=interface), folder / "replaced_fmu.fmu", set={"mass": 3.0})
    said = fmu_export.info(unit)
    assert [(n, u) for n, u, *_ in said.variables["output"]] == [("hinge.speed", "deg/s")]
    described = fmpy.read_model_description(str(unit))
    assert {v.name: v.start for v in described.modelVariables}["mass"] == "3.0"


def test_what_was_replaced_in_python_and_cannot_be_written(folder):
    given = lg.load(pendulum_file(folder))
    pushed = dataclasses.replace(given.experiment, inputs={"motor": lambda t, q, v: np.sin(t)})
    with pytest.raises(ModelError, match=r"input 'motor' is .* which a file cannot hold"):
        fmu_export.build(dataclasses.replace(given, experiment=pushed), folder / "pushed.fmu")
    rod = dataclasses.replace(given.tree.bodies[0], mass=3.5)
    heavier = dataclasses.replace(given, tree=dataclasses.replace(given.tree, bodies=[rod]))
    with pytest.raises(InputError, match="replaced in Python, so that mass cannot be set"):
        fmu_export.build(heavier, folder / "heavier.fmu", set={"mass": 1.0})
    asked = dataclasses.replace(heavier, fmu=dataclasses.replace(given.fmu, parameters={"mass": MechanismVariable()}))
    with pytest.raises(InputError, match="has the parameters mass, but its tree was replaced"):
        fmu_export.build(asked, folder / "asked.fmu")
    begins = dataclasses.replace(given, initial=dataclasses.replace(given.initial, q={"hinge": 1.0}))
    with pytest.raises(InputError, match=r"'initial\.q\.hinge' is a value of the file, but `initial` was replaced"):
        begins.changed({"initial.q.hinge": 0.5})
    assert begins.changed({"mass": 3.0}).state().q[0] == 1.0


# ---- parameters, inputs, outputs


def test_parameters_rebuild_the_model(folder, arms):
    mechanism = lg.load(folder / "arms.yaml", set={"mass": 3.0})
    expected = mechanism.simulate(t_end=0.3, output=0.01)
    table = fmu_export.run(arms, 0.3, interval=0.01, values={"mass": 3.0})
    np.testing.assert_allclose(table["a.angle"], np.degrees(expected["a.angle"]), rtol=0, atol=1e-9)


def test_a_unit_holds_what_the_model_reads_and_nothing_else(tmp_path):
    """Not itself, nor results beside it, whatever they are called; built again it is the same."""
    text = PENDULUM.replace("2 s, output", "2 s, inputs: {motor: {file: 'pendulum[1].csv', value: u}}, output")
    (tmp_path / "pendulum[1].csv").write_text("time,u\n0,0\n2,1\n")
    for name in ("pendulum.csv", "pendulum1.csv", "pendulum[1].npz", "pendulum[1].fmu"):
        (tmp_path / name).write_bytes(b"a result" * 1000)
    file = pendulum_file(tmp_path, text=text)
    units = [fmu_export.build(file, tmp_path / "pendulum[1].fmu").read_bytes() for _ in range(2)]
    assert units[0] == units[1]
    with zipfile.ZipFile(tmp_path / "pendulum[1].fmu") as archive:
        inside = [name for name in archive.namelist() if "pendulum" in name and not name.startswith("binaries/")]
    assert inside == ["resources/pendulum[1].csv"]


def test_a_unit_holds_the_files_that_readers_find(tmp_path):
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
    unit = fmu_export.build(tmp_path / "link.yaml", tmp_path / "short.fmu")
    with zipfile.ZipFile(unit) as archive:
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
    unit = mechanism_unit(folder, "tunable", text)
    mechanism = lg.load(folder / "tunable.yaml")
    first = mechanism.simulate(t_end=0.2)
    heavier = lg.load(folder / "tunable.yaml", set={"mass": 7.0})
    second = heavier.simulate(state=lg.model.State(first.q[-1], first.v[-1], 0.2), t_end=0.4)
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
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
        # a value that cannot be is not taken, and the unit goes on with what it has
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
    unit = mechanism_unit(folder, "longer", text)
    with Unpacked(unit) as unpacked, Instance(unpacked) as one, Instance(unpacked) as two:
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
    unit = mechanism_unit(folder, "damped", text + "fmu: {parameters: {damping: {variability: tunable}}}\n")
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
        instance.initialise(0.0, 1.0)
        assert instance.step(0.0, 0.01) == OK
        instance.write("damping", 0.2)
        assert instance.step(0.01, 0.01) == OK
        assert instance.status("setReal", instance.references(["damping"]), [0.0]) == DISCARD
        assert "changes what the model consists of" in instance.messages[-1][2]


# A crank of length lc, a rod of 2 m, and a slide at 2.5 m whose place is prescribed.
CRANK = """
liegeo: 1
name: crank
parameters: {lc: 1 m}
bodies:
  crank: {kind: rigid, mass: 1 kg, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1], frames: {end: [$(lc), 0, 0]}}
  rod: {kind: rigid, mass: 1 kg, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1], frames: {end: [2, 0, 0]}}
  slide: {kind: rigid, mass: 1 kg, inertia: [0.1, 0.1, 0.1]}
joints:
  a: {kind: revolute, parent: world, child: crank, axis: [0, 1, 0]}
  b: {kind: revolute, parent: crank, child: rod, at: end, axis: [0, 1, 0]}
  s: {kind: prismatic, parent: world, child: slide, axis: [1, 0, 0]}
loops:
  c: {kind: revolute, parent: rod, child: slide, at: end, axis: [0, 1, 0]}
  drive: {kind: motion, joint: s}
initial: {q: {a: 30 deg, b: -45 deg, s: 2.5}}
experiment: {end: 1 s, output: 10 ms, inputs: {drive: 2.5}}
fmu: {parameters: {lc: {variability: tunable}}, inputs: {drive: }, outputs: {s.position: , a.angle: , a.speed: }}
"""


def test_loops_that_cannot_be_closed_change_nothing(folder):
    """Neither a length that is tuned nor a place that is prescribed, if the rods do not reach; then it goes on."""
    unit = mechanism_unit(folder, "crank", CRANK)
    with Unpacked(unit) as unpacked, Instance(unpacked) as one, Instance(unpacked) as other:
        every = [v.valueReference for v in one.description.modelVariables if v.type == "Real"]
        (length,), (drive,) = one.references(["lc"]), one.references(["drive.input[0]"])
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
    unit = mechanism_unit(folder, "prescribed", PRESCRIBED)
    law = {
        "turn.input[0]": lambda t: 0.5 * t * t,
        "turn.input[1]": lambda t: t,
        "turn.input[2]": 1.0,
    }
    table = fmu_export.run(unit, 1.0, interval=0.05, inputs=law)
    t = table["time"]
    np.testing.assert_allclose(table["axle.angle"], 0.5 * t * t, rtol=0, atol=1e-9)
    np.testing.assert_allclose(table["axle.speed"], t, rtol=0, atol=1e-9)
    mechanism = lg.load(folder / "prescribed.yaml")
    expected = mechanism.simulate(
        t_end=1.0, inputs={"turn": lambda t: (0.5 * t * t, t, 1.0)}, output=np.linspace(0, 1, 21)
    )
    np.testing.assert_allclose(table["elbow.angle"], expected["elbow.angle"], rtol=0, atol=1e-6)
    units = {v["name"]: v.get("unit") for v in variables_of(unit)}
    assert (units["turn.input[0]"], units["turn.input[1]"], units["turn.input[2]"]) == ("rad", "rad/s", "rad/s²")
    report = fmu_export.validate(unit)
    assert report.ok, report


def test_without_an_experiment(folder):
    """The standard wants fmi2SetupExperiment; without it a unit begins where its default experiment does."""
    text = PENDULUM.replace("experiment: {", "experiment: {start: 0.5 s, ")
    with Unpacked(mechanism_unit(folder, "later", text)) as unpacked, Instance(unpacked) as unit:
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        assert unit.getRealStatus(fmi2LastSuccessfulTime) == 0.5
        assert unit.step(0.5, 0.01) == OK


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


# ---- derivatives


def test_directional_derivatives(arms):
    """Accelerations by torques, in the units of both; by what the mass matrix says, and by differences."""
    with Unpacked(arms) as unpacked, Instance(unpacked) as unit:
        unit.initialise(0.0, 1.0, {"initial.a.angle": 0.3, "initial.b.angular_velocity.x": 1.0})
        assert unit.step(0.0, 0.1) == OK
        unit.setReal(unit.references(["a.tau", "c.tau"]), [0.002, 1.0])
        names = ["a.angle", "a.acceleration", "c.acceleration", "b.reaction.force.x", "'the tip'.quaternion.w"]
        out, (a, c) = unit.references(names), unit.references(["a.tau", "c.tau"])
        by_a = np.array(unit.getDirectionalDerivative(out, [a], [1.0]))
        by_c = np.array(unit.getDirectionalDerivative(out, [c], [1.0]))
        both = np.array(unit.getDirectionalDerivative(out, [c, a, a], [2.0, 0.5, 0.5]))
        np.testing.assert_allclose(both, by_a + 2.0 * by_c, rtol=1e-9, atol=1e-12)
        # c is a pendulum of its own: J about its axis, and a torque in N·m
        assert by_c[2] == pytest.approx(1.0 / (0.1 + 0.3 * 1.0), rel=1e-9)
        assert by_a[[0, 2, 4]] == pytest.approx(0.0, abs=1e-12)
        rows = []
        for change in (1e-3, -1e-3):
            unit.setReal([a], [0.002 + change])
            rows.append(np.array(unit.getReal(out)))
        np.testing.assert_allclose(by_a, (rows[0] - rows[1]) / 2e-3, rtol=1e-8, atol=1e-8)
        # asking changes nothing
        unit.setReal([a], [0.002])
        before = unit.getReal(out)
        unit.getDirectionalDerivative(out, [a], [1.0])
        assert unit.getReal(out) == before
        assert unit.getDirectionalDerivative([], [a], [1.0]) == []
        assert unit.getDirectionalDerivative(out, [], []) == [0.0] * len(out)


def test_directional_derivatives_near_limits(folder):
    """A motor of 1 N·m at most: its slope before the limit, and nothing beyond."""
    text = PENDULUM.replace("actuator, joint: hinge", "actuator, joint: hinge, limit: 1 N*m")
    unit = mechanism_unit(folder, "limited", text + "fmu: {outputs: {hinge.acceleration: }}\n")
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
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
    unit = mechanism_unit(folder, "station", STATION)
    described = fmpy.read_model_description(str(unit))
    depends = {unknown.variable.name: {v.name for v in unknown.dependencies} for unknown in described.outputs}
    names = ["axle.acceleration", "turn.acceleration", "axle.reaction.moment.y"]
    assert all(depends[name] == {"motor.input"} for name in names)
    assert depends["turn.reaction.moment.x"] == set()
    report = fmu_export.validate(unit)
    assert not report.problems
    assert not any("did not depend" in note for note in report.notes)
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
        outputs, (motor,) = instance.references(names), instance.references(["motor.input"])
        instance.initialise(0.0, 1.0)
        for value in (0.0, 4.9, 4.995, 4.9999):
            instance.setReal([motor], [value])
            found = instance.getDirectionalDerivative(outputs, [motor], [1.0])
            np.testing.assert_allclose(found, [1e6, -1e-8, 1.0], rtol=1e-6)


def test_directional_derivatives_while_initialising(pendulum):
    """By parameters and start values too, which are known then."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        unit.setupExperiment(startTime=0.0)
        unit.write("initial.hinge.angle", 0.4)
        unit.write("length", 1.5)
        unit.enterInitializationMode()
        out = unit.references(["rod.bob.position.x", "rod.bob.position.z", "energy.kinetic"])
        known = unit.references(["length", "initial.hinge.angle", "motor.input"])
        found = [unit.getDirectionalDerivative(out, [reference], [1.0]) for reference in known]
        expected = [
            [-math.sin(0.4), -math.cos(0.4), 0.0],
            [-1.5 * math.cos(0.4), 1.5 * math.sin(0.4), 0.0],
            [0.0, 0.0, 0.0],
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        # at a bound only one side can be tried
        unit.write("length", 1e-3)
        (x, _, _) = unit.getDirectionalDerivative(out, known[:1], [1.0])
        assert x == pytest.approx(-math.sin(0.4), abs=1e-6)
        unit.write("length", -1.0)
        assert unit.status("getDirectionalDerivative", out, known[:1], [1.0]) == ERROR
        assert "must be ≥ 1 mm" in unit.messages[-1][2]


@pytest.mark.parametrize("value", [0.0, 1e-17, -1e-17])
def test_directional_derivatives_near_zero(arms, value):
    """Of what is zero but for round-off: the change is one that shows beside the accelerations that there are."""
    with Unpacked(arms) as unpacked, Instance(unpacked) as unit:
        unit.setupExperiment(startTime=0.0)
        names = ["c.tau", "bodies.right.com[0]", "initial.c.angle"]
        for name, given in zip(names, (value, value, 0.5 + value), strict=True):
            unit.write(name, given)
        unit.enterInitializationMode()
        (out,) = unit.references(["c.acceleration"])
        found = [unit.getDirectionalDerivative([out], [known], [1.0])[0] for known in unit.references(names)]
        inertia, weight = 0.1 + 0.3, 0.3 * 9.81
        expected = [1.0, weight * math.cos(0.5), -weight * math.cos(0.5)]
        np.testing.assert_allclose(found, np.array(expected) / inertia, rtol=1e-7)


def test_rates_of_outputs(arms):
    """Against the motion itself, by steps to both sides."""
    values = {"integrator.step": 1e-4, "initial.a.speed": 2.0, "initial.b.angular_velocity.y": 3.0}
    found = []
    with Unpacked(arms) as unpacked:
        for size in (4e-3, 2e-3):
            with Instance(unpacked) as unit:
                unit.initialise(0.0, 1.0, values)
                outputs = [v.valueReference for v in unit.description.modelVariables if v.causality == "output"]
                assert unit.step(0.0, 0.1 - size) == OK
                before = np.array(unit.getReal(outputs))
                assert unit.step(0.1 - size, size) == OK
                rates = np.array(unit.getRealOutputDerivatives(outputs, [1] * len(outputs)))
                assert unit.step(0.1, size) == OK
                found.append((np.array(unit.getReal(outputs)) - before) / (2.0 * size))
        # extrapolated, of fourth order
        expected = (4.0 * found[1] - found[0]) / 3.0
        np.testing.assert_allclose(rates, expected, rtol=1e-5, atol=1e-5)
        assert np.count_nonzero(rates) > 7
        with Instance(unpacked) as unit:
            unit.initialise(0.0, 1.0, values)
            (angle,) = unit.references(["a.angle"])
            (rate,) = unit.getRealOutputDerivatives([angle], [1])
            assert rate == pytest.approx(math.degrees(2.0), abs=1e-10)


def test_rates_of_frames(folder):
    """The rate of a position is a velocity, that of a velocity an acceleration, to round-off."""
    text = PENDULUM + "fmu: {outputs: {rod.bob.position: , rod.bob.velocity: , rod.bob.acceleration: }}\n"
    with Unpacked(mechanism_unit(folder, "framed", text)) as unpacked, Instance(unpacked) as unit:
        unit.initialise(0.0, 2.0, {"motor.input": 3.0})
        for k in range(3):
            assert unit.step(0.1 * k, 0.1) == OK
        outputs = list(range(1, 10))
        values, rates = unit.getReal(outputs), unit.getRealOutputDerivatives(outputs, [1] * 9)
        assert rates[:6] == pytest.approx(values[3:], abs=1e-11)
        assert max(map(abs, values[3:])) > 0.5


def test_rates_of_inputs(folder, pendulum):
    """A torque of which the master gives slope and curvature: exact, where holding it is not, and for one step only."""
    mechanism = lg.load(folder / "pendulum.yaml")
    exact = mechanism.simulate(t_end=0.5, inputs={"motor": lambda t: 3.0 * t + 4.0 * t * t})["hinge.angle"][-1]
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        (motor,), (angle,) = unit.references(["motor.input"]), unit.references(["hinge.angle"])
        unit.initialise(0.0, 1.0)
        for k in range(5):
            t = 0.1 * k
            unit.setReal([motor], [3.0 * t + 4.0 * t * t])
            if k == 3:
                state = unit.getFMUstate()
            unit.setRealInputDerivatives([motor, motor], [1, 2], [3.0 + 8.0 * t, 8.0])
            if k == 4:
                kept = unit.getFMUstate()
                data = unit.serializeFMUstate(kept)
            assert unit.step(t, 0.1) == OK
        (end,) = unit.getReal([angle])
        assert end == pytest.approx(exact, abs=1e-11)
        # slopes that were given are part of a state, and of its bytes
        for restored in (kept, unit.deSerializeFMUstate(data)):
            unit.setFMUstate(restored)
            assert unit.step(0.4, 0.1) == OK
            assert unit.getReal([angle]) == [end]
        # without them the torque is held, also after a step that had some and ends where the next begins
        unit.setFMUstate(state)
        u = 0.9 + 0.36
        unit.setRealInputDerivatives([motor], [1], [1.0])
        assert unit.step(0.3, 0.1) == OK
        unit.setReal([motor], [u + 0.1])
        first = unit.getFMUstate()
        assert unit.step(0.4, 0.1) == OK
        (held,) = unit.getReal([angle])
        unit.setFMUstate(first)
        unit.setRealInputDerivatives([motor], [1], [0.0])
        assert unit.step(0.4, 0.1) == OK
        assert unit.getReal([angle]) == [pytest.approx(held, abs=1e-14)]
        assert unit.status("setRealInputDerivatives", [motor], [1], [math.inf]) == DISCARD


def test_rates_of_inputs_that_are_not_used(folder):
    """Of prescribed motions, whose rates are inputs, and above the second order: a warning."""
    unit = mechanism_unit(folder, "prescribed", PRESCRIBED)
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
        instance.setRealInputDerivatives(instance.references(["turn.input[0]"]), [1], [1.0])
        assert "turn.input[0]: its rate and acceleration are inputs of their own" in instance.messages[-1][2]
        assert instance.messages[-1][0] == WARNING
        # once for each input
        n = len(instance.messages)
        both = instance.references(["turn.input[0]", "turn.input[1]"])
        for _ in range(3):
            instance.setRealInputDerivatives(both, [1, 1], [1.0, 1.0])
        assert len(instance.messages) == n + 1
        assert "turn.input[1]: its rate" in instance.messages[-1][2]
        assert "turn.input[0]" not in instance.messages[-1][2]
    with Unpacked(mechanism_unit(folder)) as unpacked, Instance(unpacked) as instance:
        instance.setRealInputDerivatives([0], [3], [1.0])
        assert "the order is 3, and those above 2 are not used" in instance.messages[-1][2]


# ---- state


def test_rollback_is_exact_for_all_kinds_of_memory(pendulum):
    for method in ("rkmk-4", "rkmk-54", "generalised-alpha-0.8", "adaptive-alpha-0.8", "lie-bdf-2"):
        with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
            unit.initialise(0.0, 2.0, {"integrator.method": method, "integrator.extrapolation": "linear"})
            out, motor = unit.references(["hinge.angle", "hinge.speed", "energy"]), unit.references(["motor.input"])

            def drive(first, unit=unit, out=out, motor=motor):
                rows = []
                for k in range(first, first + 7):
                    unit.setReal(motor, [math.sin(k)])
                    assert unit.step(0.01 * k, 0.01) == OK
                    rows.append(unit.getReal(out))
                return rows

            drive(0)
            state = unit.getFMUstate()
            data = unit.serializeFMUstate(state)
            first = drive(7)
            unit.setFMUstate(state)
            assert drive(7) == first
            unit.freeFMUstate(state)
            other = unit.deSerializeFMUstate(data)
            unit.reset()
            unit.setFMUstate(other)
            unit.freeFMUstate(other)
            assert drive(7) == first


def test_start_values_are_shown_as_they_were(pendulum):
    """Those that were not set follow from the model where the unit begins, also in an instance that begins later."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as one, Instance(unpacked) as two:
        parameters = [v.valueReference for v in one.description.modelVariables if v.causality == "parameter"]
        parameters = [k for k in parameters if one.description.modelVariables[k].type == "Real"]
        one.initialise(0.0, 2.0, {"length": 1.3})
        at_start = one.getReal(parameters)
        assert one.getReal(one.references(["initial.hinge.angle"])) == [pytest.approx(math.radians(30))]
        assert one.step(0.0, 0.5) == OK
        assert one.getReal(parameters) == at_start
        data = one.serializeFMUstate(one.getFMUstate())
        two.setFMUstate(two.deSerializeFMUstate(data))
        assert two.getReal(parameters) == at_start


def test_wrong_states_are_refused(instance, arms):
    """They end the run, as every error does, until a state is put back."""
    instance.initialise(0.0)
    state = instance.getFMUstate()
    data = instance.serializeFMUstate(state)
    for bad, words in (
        (b"rubbish", "are not the state of a unit"),
        (b"liegeo-state-3\n{", "cannot be read"),
        (data[:-8], "end too early"),
        (data + b"12345678", "more bytes than"),
    ):
        assert instance.status("deSerializeFMUstate", bad) == ERROR
        assert words in instance.messages[-1][2]
        assert instance.step(0.0, 0.01) == ERROR
        instance.setFMUstate(state)
    assert instance.step(0.0, 0.01) == OK
    pointer = ctypes.c_void_p(state.value)
    instance.freeFMUstate(state)
    # freed, and never made
    for wrong in (pointer, ctypes.c_void_p(12345), ctypes.c_void_p()):
        assert instance.status("setFMUstate", wrong) == ERROR
        assert "it was freed, or never made" in instance.messages[-1][2]
    with Unpacked(arms) as unpacked, Instance(unpacked) as other:
        state = other.deSerializeFMUstate(data)
        assert other.status("setFMUstate", state) == ERROR
        assert "the state is of unit" in other.messages[-1][2]
        buffer = (ctypes.c_char * 8)()
        assert other.dll.fmi2SerializeFMUstate(ctypes.c_void_p(other.component), state, buffer, 8) == ERROR
        assert "there is room for 8 bytes" in other.messages[-1][2]
        other.freeFMUstate(state)


def test_states_go_into_those_that_there_are(instance):
    """A state that is given is written over, and what is left when an instance is freed goes with it."""
    instance.initialise(0.0)
    state = instance.getFMUstate()
    first = state.value
    assert instance.step(0.0, 0.01) == OK
    assert instance.dll.fmi2GetFMUstate(ctypes.c_void_p(instance.component), ctypes.byref(state)) == OK
    assert state.value == first
    angle = instance.getReal([1])
    assert instance.step(0.01, 0.01) == OK
    instance.setFMUstate(state)
    assert instance.getReal([1]) == angle
    wild = ctypes.c_void_p(77)
    assert instance.dll.fmi2GetFMUstate(ctypes.c_void_p(instance.component), ctypes.byref(wild)) == ERROR
    # nothing to free
    instance.freeFMUstate(ctypes.c_void_p())


# ---- what goes wrong


def test_statuses(instance):
    """Errors end a run, until a state is put back; values that cannot be are not taken, and the run goes on."""
    said = instance.messages
    assert instance.step(0.0, 0.01) == ERROR
    assert "fmi2DoStep: it is not allowed now: the unit is instantiated" in said[-1][2]
    # after an error only this, freeing, reading and states
    assert instance.status("setupExperiment") == ERROR
    assert "the unit is in the state that follows an error" in said[-1][2]
    instance.reset()
    instance.initialise(0.0, 2.0)
    motor = instance.references(["motor.input"])
    assert instance.step(0.0, 0.01) == OK
    for value in (math.nan, math.inf):
        assert instance.status("setReal", motor, [value]) == DISCARD
        assert f"motor.input: the value is {value}, expected a finite number" in said[-1][2]
        assert instance.getReal(motor) == [0.0]
    assert instance.status("setReal", instance.references(["gravity.z"]), [math.nan]) == DISCARD
    assert instance.step(0.01, 0.01) == OK
    state, before = instance.getFMUstate(), instance.getReal([1, 2])
    for function, arguments, words in (
        ("doStep", (0.02, 0.0), "expected a finite time and a size > 0"),
        ("doStep", (0.02, -1.0), "expected a finite time and a size > 0"),
        ("doStep", (0.02, math.nan), "expected a finite time and a size > 0"),
        ("doStep", (math.inf, 0.01), "expected a finite time and a size > 0"),
        ("doStep", (0.5, 0.01), "but the unit is at"),
        ("doStep", (0.02, 1e-300), "nothing beside the time"),
        ("doStep", (0.02, 5.0), "said that the run ends at 2 s"),
        ("setReal", (instance.references(["length"]), [3.0]), "length is fixed, and the unit is initialised"),
        ("setReal", (instance.references(["hinge.angle"]), [1.0]), "hinge.angle is a variable that cannot be set"),
        ("setString", (instance.references(["integrator.method"]), ["rkmk-4"]), "integrator.method is fixed"),
        ("setReal", ([9999], [1.0]), "valueReference 9999 is no Real"),
        ("getReal", ([2**32 - 1],), "valueReference 4294967295 is no Real"),
        ("getReal", (instance.references(["message"]),), "is no Real"),
        ("getInteger", ([0],), "is no Integer"),
        ("getBoolean", ([0],), "is no Boolean"),
        ("getString", ([0],), "is no String"),
        ("setInteger", ([0], [1]), "is no Integer"),
        ("setBoolean", ([0], [True]), "is no Boolean"),
        ("setupExperiment", (), "it is not allowed now: the unit is initialised"),
        ("enterInitializationMode", (), "the unit is initialised"),
        ("exitInitializationMode", (), "the unit is initialised"),
        ("cancelStep", (), "the unit is initialised"),
        ("getDirectionalDerivative", ([0], [0], [1.0]), "motor.input is no output"),
        ("getDirectionalDerivative", ([1], [1], [1.0]), "hinge.angle is not known where the unit is initialised"),
        ("getDirectionalDerivative", ([1], [0], [math.nan]), "expected a finite number"),
        ("getRealOutputDerivatives", ([0], [1]), "valueReference 0 is no output"),
        ("getRealOutputDerivatives", ([1], [2]), "hinge.angle: the order is 2, expected 1."),
        ("setRealInputDerivatives", ([1], [1], [1.0]), "valueReference 1 is no input"),
        ("setRealInputDerivatives", ([0], [0], [1.0]), "motor.input: the order is 0, expected 1 or more"),
    ):
        assert instance.status(function, *arguments) == ERROR, (function, arguments)
        assert words in said[-1][2]
        assert said[-1][:2] == (ERROR, "logStatusError")
        # reading is for finding out why
        assert instance.getReal([1, 2]) == before
        assert instance.step(0.02, 0.01) == ERROR
        instance.setFMUstate(state)
    assert instance.step(0.02, 0.01) == OK
    instance.terminate()
    assert instance.step(0.03, 0.01) == ERROR
    assert "the unit is terminated" in said[-1][2]


def test_what_is_the_same_time(pendulum):
    """But for round-off and a millionth of the step, a step begins where the last one ended, also after ten days.

    The end of the run may be a thousandth of a step away.
    """
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        start, h = 864_000.0, 1e-3
        unit.initialise(start, start + 1.0)
        assert unit.step(start, h) == OK
        state = unit.getFMUstate()
        for t, status in (
            (start + h, OK),
            (math.nextafter(start + h, math.inf), OK),
            (start + h * (1.0 + 1e-7), OK),
            (start + 1.1 * h, ERROR),
            (start + 0.9 * h, ERROR),
            (start + h - 1e-5, ERROR),
        ):
            assert unit.step(t, h) == status, t
            unit.setFMUstate(state)
        assert unit.step(start + h, 1.0 - h + 2e-3) == ERROR
        assert "said that the run ends at" in unit.messages[-1][2]


def test_what_masters_in_c_can_do_wrong(pendulum):
    """NULL for arguments, functions of model exchange, a wrong GUID: errors, and nothing else."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        unit.initialise(0.0, 2.0)
        state = unit.getFMUstate()
        library, component, one = unit.dll, ctypes.c_void_p(unit.component), (ctypes.c_uint * 1)(0)
        calls = {
            "GetReal": (one, 1, None),
            "SetReal": (None, 1, one),
            "GetString": (one, 1, None),
            "SetString": (None, 1, None),
            "GetInteger": (None, 1, None),
            "GetFMUstate": (None,),
            "SerializedFMUstateSize": (state, None),
            "SerializeFMUstate": (state, None, 8),
            "DeSerializeFMUstate": (None, 8, None),
            "GetDirectionalDerivative": (one, 1, one, 1, None, None),
            "SetRealInputDerivatives": (one, 1, None, None),
            "GetRealOutputDerivatives": (one, 1, None, None),
            "GetRealStatus": (2, None),
            "SetDebugLogging": (1, 1, None),
        }
        for name, arguments in calls.items():
            assert library[f"fmi2{name}"](component, *arguments) == ERROR, name
            assert " is NULL" in unit.messages[-1][2]
            assert library[f"fmi2{name}"](None, *arguments) == ERROR
            unit.setFMUstate(state)
        # no references are none
        assert library.fmi2GetReal(component, None, 0, None) == OK
        assert library.fmi2SetReal(component, None, 0, None) == OK
        for name in ("EnterEventMode", "NewDiscreteStates", "SetTime", "GetDerivatives", "GetContinuousStates"):
            assert library[f"fmi2{name}"](component, None, 0) == ERROR
            assert "belongs to model exchange" in unit.messages[-1][2]
        library.fmi2FreeInstance(None)
        unit.setFMUstate(state)
        names = (ctypes.c_char_p * 2)(b"logStatusError", b"logNonsense")
        assert library.fmi2SetDebugLogging(component, 1, 2, names) == WARNING
        assert "there is no category 'logNonsense'" in unit.messages[-1][2]
        for what in ("guid", "kind"):
            wrong = fmi2.FMU2Slave(
                guid="{0}" if what == "guid" else unpacked.description.guid,
                unzipDirectory=str(unpacked.folder),
                modelIdentifier="pendulum",
                instanceName="wrong",
            )
            heard = []
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *words, heard=heard: heard.append(words[4]))
            place = (unpacked.folder / "resources").as_uri().encode()
            kind = 0 if what == "kind" else 1
            found = wrong.dll.fmi2Instantiate(b"x", kind, wrong.guid.encode(), place, ctypes.byref(callbacks), 0, 0)
            assert not found
            assert (b"the GUID is '{0}'" if what == "guid" else b"for co-simulation, not") in heard[-1]


def test_texts_that_are_none(pendulum):
    """Bytes that are not UTF-8, and all that is: one, two, three and four bytes long."""
    with Unpacked(pendulum) as unpacked, Instance(unpacked, "ü 🙂") as unit:
        library, component = unit.dll, ctypes.c_void_p(unit.component)
        (method,) = unit.references(["integrator.method"])
        one = (ctypes.c_uint * 1)(method)
        for text in ("a", "ü", "€", "🙂", "\u07ff\u0800\uffff\U00010000\U0010ffff", ""):
            given = (ctypes.c_char_p * 1)(text.encode())
            assert library.fmi2SetString(component, one, 1, given) == OK, text
        state = unit.getFMUstate()
        for data in (
            *(
                b"\xff",
                b"\x80",
                b"\xc3",
                b"\xc0\x80",
                b"\xe2\x82",
                b"\xe0\x80\x80",
                b"\xed\xa0\x80",
                b"a\xf0\x8f\xbf\xbf",
            ),
            *(b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf0\x9f\x99", b"\xe2\x28\xa1"),
        ):
            with pytest.raises(UnicodeDecodeError):
                data.decode()
            assert library.fmi2SetString(component, one, 1, (ctypes.c_char_p * 1)(data)) == ERROR, data
            assert "integrator.method: the text is not UTF-8" in unit.messages[-1][2]
            unit.setFMUstate(state)


def test_the_log(pendulum):
    """Warnings and errors always; the rest where logging is on; of categories, those that were chosen."""
    with Unpacked(pendulum) as unpacked:
        for verbose in (False, True):
            with Instance(unpacked, verbose=verbose) as unit:
                unit.initialise(0.0)
                assert unit.status("getReal", [9999]) == ERROR
                assert [text[0] for text in unit.messages] == ([OK, ERROR] if verbose else [ERROR])
        with Instance(unpacked) as unit:
            unit.setDebugLogging(True, ["logStatusDiscard"])
            unit.initialise(0.0)
            assert unit.status("setReal", [0], [math.nan]) == DISCARD
            assert unit.status("getReal", [9999]) == ERROR
            assert [text[0] for text in unit.messages] == [DISCARD]
            # the category of all messages is that of all messages
            unit.messages.clear()
            unit.setDebugLogging(True, ["logAll"])
            unit.reset()
            unit.initialise(0.0)
            assert unit.status("setReal", [0], [math.nan]) == DISCARD
            assert unit.status("getReal", [9999]) == ERROR
            assert [text[0] for text in unit.messages] == [OK, DISCARD, ERROR]
            unit.setDebugLogging(True, [])
            unit.reset()
            # what a host may take for a format is written as one
            unit.status("setString", unit.references(["integrator.method"]), ["100 %s"])
            with pytest.raises(SimulationError, match="'100 %s'"):
                unit.initialise(0.0)


def test_uris_of_resources(pendulum, tmp_path):
    """As masters write them: one slash or three, with a host, percent signs for what is not ASCII; or a path."""
    with Unpacked(pendulum) as unpacked:
        place = tmp_path / "ä folder #1"
        shutil.copytree(unpacked.folder, place)
        uri = (place / "resources").as_uri()
        bare = uri.removeprefix("file://")
        for given in (uri, f"file:{bare}", f"file://localhost{bare}", f"FILE:{bare}", str(place / "resources")):
            unit = fmi2.FMU2Slave(
                guid=unpacked.description.guid,
                unzipDirectory=str(place),
                modelIdentifier="pendulum",
                instanceName="unit",
            )
            callbacks = fmi2.fmi2CallbackFunctions()
            callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda *_: None)
            instantiate = unit.dll.fmi2Instantiate
            instantiate.restype = ctypes.c_void_p
            found = instantiate(b"x", 1, unit.guid.encode(), given.encode(), ctypes.byref(callbacks), 0, 0)
            assert found, given
            unit.dll.fmi2FreeInstance(ctypes.c_void_p(found))


def test_statuses_of_steps(instance):
    """Nothing is ever pending, and a unit does not end a run."""
    instance.initialise(0.0, 2.0)
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.0
    assert instance.step(0.0, 0.25) == OK
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.25
    assert instance.getBooleanStatus(fmi2Terminated) == 0
    component, value = ctypes.c_void_p(instance.component), (ctypes.c_double * 1)()
    for name in ("GetStatus", "GetIntegerStatus", "GetStringStatus", "GetRealStatus", "GetBooleanStatus"):
        assert instance.dll[f"fmi2{name}"](component, 0, value) == DISCARD
        assert "there is nothing to tell" in instance.messages[-1][2]
    # discarded, and gone on
    assert instance.step(0.25, 0.25) == OK


def test_an_absurd_input_is_discarded(instance):
    """The master goes back, gives another input and goes on; without going back it cannot."""
    instance.initialise(0.0, 2.0)
    out, motor = instance.references(["hinge.angle", "hinge.speed"]), instance.references(["motor.input"])
    assert instance.step(0.0, 0.01) == OK
    state, before = instance.getFMUstate(), instance.getReal(out)
    instance.setReal(motor, [1e300])
    assert instance.step(0.01, 0.01) == DISCARD
    assert "is discarded: at t = " in instance.messages[-1][2]
    assert "Traceback" in instance.messages[-1][2]
    assert instance.getReal(out) == before
    assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.01
    assert instance.step(0.01, 0.01) == ERROR
    assert "the unit is where a step was discarded" in instance.messages[-1][2]
    instance.setFMUstate(state)
    instance.setReal(motor, [0.0])
    assert instance.step(0.01, 0.01) == OK


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "adaptive-alpha-0.8"])
def test_a_step_that_fails_on_the_way(folder, method):
    """The unit stops where internal steps succeeded last, and says where that is; a step to there succeeds."""
    unit = mechanism_unit(folder, "pulled", PULLED)
    pull = {"pull.input[0]": 1.0, "pull.input[1]": 1.0, "pull.input[2]": 0.0}
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
        out, into = instance.references(["hinge.angle", "rail.position"]), instance.references(pull)
        instance.initialise(0.0, 2.0, {"integrator.method": method, **pull})
        assert instance.step(0.0, 0.0625) == OK
        instance.setReal(into, [1.0625, 1.0, 0.0])
        state = instance.getFMUstate()
        assert instance.step(0.0625, 1.5) == DISCARD
        reached = instance.getRealStatus(fmi2LastSuccessfulTime)
        here = instance.getReal(out)
        # where they are straight
        assert 0.9 < reached < 1.01
        assert here[1] == pytest.approx(1.0 + reached, abs=1e-6)
        instance.setFMUstate(state)
        assert instance.getRealStatus(fmi2LastSuccessfulTime) == 0.0625
        assert instance.step(0.0625, reached - 0.0625) == OK
        assert instance.getReal(out) == here
        assert instance.getRealStatus(fmi2LastSuccessfulTime) == reached


def test_the_tolerance_of_the_host(pendulum):
    """Both tolerances go with it, in the ratio that they have; those that are set stay."""
    wanted = ["integrator.rtol", "integrator.atol"]
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        refs = unit.references(wanted)
        for tolerance, given, expected in (
            (None, {}, [1e-6, 1e-8]),
            (1e-4, {}, [1e-4, 1e-6]),
            (1e-8, {}, [1e-8, 1e-10]),
            (1e-8, {"integrator.atol": 1e-3}, [1e-8, 1e-3]),
            (1e-8, {"integrator.rtol": 1e-3}, [1e-3, 1e-8]),
        ):
            unit.setupExperiment(tolerance=tolerance, startTime=0.0)
            for name, value in given.items():
                unit.write(name, value)
            unit.enterInitializationMode()
            unit.exitInitializationMode()
            assert unit.getReal(refs) == [pytest.approx(x, rel=1e-15) for x in expected]
            unit.reset()


def test_what_nobody_expected(instance, monkeypatch):
    """An exception that is no failure of a step is an error, with its traceback; a state before goes on."""
    instance.initialise(0.0, 2.0)
    state = instance.getFMUstate()

    def step(*given):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(slave.Machine, "step", step)
        assert instance.step(0.0, 0.01) == ERROR
    assert "fmi2DoStep: the disk is full" in instance.messages[-1][2]
    assert "Traceback" in instance.messages[-1][2]
    instance.setFMUstate(state)

    def silent(*given):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(slave.Machine, "step", silent)
        assert instance.step(0.0, 0.01) == ERROR
    assert instance.messages[-1][2].startswith("fmi2DoStep: MemoryError\n")
    instance.setFMUstate(state)
    assert instance.step(0.0, 0.01) == OK


def test_wrong_parameters_are_told(pendulum):
    for values, words in (
        ({"length": -1.0}, "must be ≥ 1 mm"),
        ({"integrator.method": "eulr"}, "integrator.method is 'eulr'"),
        ({"integrator.step": 0.0}, "integrator.step is 0.0, must be > 0"),
        ({"integrator.extrapolation": "cubic"}, "expected hold or linear"),
        ({"integrator.method": "magnus-4"}, "linear"),
    ):
        with pytest.raises(SimulationError, match="cannot be initialised: fmi2ExitInitializationMode") as caught:
            fmu_export.run(pendulum, 0.1, values=values)
        assert words in str(caught.value)


def test_quaternions_that_are_none(arms):
    zero = {f"initial.b.quaternion.{c}": 0.0 for c in "wxyz"}
    with pytest.raises(SimulationError, match=r"initial\.b\.quaternion is \[0\.0, .* of length 0, but a rotation"):
        fmu_export.run(arms, 0.1, interval=0.01, values=zero)


@pytest.mark.parametrize("digits", [4, 8])
def test_quaternions_of_few_digits(arms, digits):
    exact, rounded = (
        {"initial.b.quaternion.w": value, "initial.b.quaternion.y": value}
        for value in (math.sqrt(0.5), round(math.sqrt(0.5), digits))
    )
    first, second = (fmu_export.run(arms, 0.1, interval=0.01, values=values) for values in (exact, rounded))
    for name in first.dtype.names:
        np.testing.assert_allclose(second[name], first[name], rtol=0, atol=1e-12)


def test_quaternions_of_frames_do_not_jump(arms):
    table = fmu_export.run(arms, 1.0, interval=0.01, values={"initial.b.angular_velocity.y": 20.0})
    quaternions = np.stack([table[f"'the tip'.quaternion.{c}"] for c in "wxyz"], axis=1)
    assert np.abs(np.diff(quaternions, axis=0)).max() < 0.2
    assert quaternions[:, 0].min() < -0.5


def test_too_many_steps(pendulum, caplog):
    """The message says what went wrong, and the log where."""
    with caplog.at_level("DEBUG", "liegeo.fmu"), pytest.raises(SimulationError, match="are too many") as caught:
        fmu_export.run(pendulum, 1.0, interval=1.0, values={"integrator.step": 1e-9})
    assert "Traceback" not in str(caught.value)
    assert any("Traceback" in record.getMessage() for record in caplog.records)


def test_the_last_message_is_a_variable(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        unit.initialise(0.0)
        assert unit.status("setReal", [9999], [1.0]) == ERROR
        (text,) = unit.getString(unit.references(["message"]))
        assert b"valueReference 9999 is no Real" in text


def test_what_a_unit_needs_is_checked(folder, monkeypatch, capfd):
    needs = [("no-such-package", "1.0", "2.0"), ("numpy", "99.0", "100.0")]
    monkeypatch.setattr(package, "_requirements", lambda bundle: needs)
    unit = mechanism_unit(folder, "needy")
    with Unpacked(unit) as unpacked, pytest.raises(SimulationError, match="cannot be instantiated") as caught:
        Instance(unpacked)
    for text in (str(caught.value), capfd.readouterr().err):
        assert "no-such-package>=1.0,<2.0 (there is none), numpy>=99.0,<100.0 (there is " in text


def test_a_unit_that_is_damaged(folder, pendulum):
    """It is not instantiated, and says why; the host goes on."""
    damaged = folder / "damaged.fmu"
    whole = mechanism_unit(folder, "whole", PENDULUM.replace("2 kg", "3 kg"))
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"axis", b"axes") if name.endswith("model.yaml") else data)
    for _ in range(3):
        with Unpacked(damaged) as unpacked, pytest.raises(SimulationError, match="axes is no key here"):
            Instance(unpacked)
    assert len(fmu_export.run(pendulum, 0.1)) == 11


def test_reading_what_is_not_initialised(pendulum):
    with Unpacked(pendulum) as unpacked, Instance(unpacked) as unit:
        with pytest.raises(SimulationError, match="must be ≥ 1 mm"):
            unit.initialise(0.0, 1.0, {"length": -1.0})
        assert unit.status("getReal", unit.references(["hinge.angle"])) == ERROR
        assert "the unit is not initialised" in unit.messages[-1][2]
        # parameters are what they were set to
        assert unit.getReal(unit.references(["length"])) == [-1.0]
        assert unit.status("setReal", unit.references(["motor.input"]), [1.0]) == ERROR
        assert "the unit is in the state that follows an error" in unit.messages[-1][2]
        unit.reset()
        unit.initialise(0.0, 1.0)
        assert unit.step(0.0, 0.01) == OK


def test_motions_on_groups_are_no_inputs(folder):
    hinge, ball = "revolute, parent: world, child: hub, axis: [0, 1, 0]", "spherical, parent: world, child: hub"
    text = PRESCRIBED.replace(hinge, ball)
    with pytest.raises(InputError, match=r"fmu: inputs: 'turn' is none of the model's inputs\."):
        mechanism_unit(folder, "ball", text.replace("axle.angle: , axle.speed: , ", ""))


def test_another_liegeo_in_the_process(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(package, "__version__", "99.1.0")
        unit = mechanism_unit(folder, "newer")
    with Unpacked(unit) as unpacked, pytest.raises(SimulationError, match="Run the unit in a process of its own"):
        Instance(unpacked)


def test_other_sources_are_told(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(package, "sources_digest", lambda: "0123")
        unit = mechanism_unit(folder, "older")
    with Unpacked(unit) as unpacked, Instance(unpacked) as instance:
        instance.initialise(0.0)
        assert any("other sources of liegeo" in text for _, _, text in instance.messages)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("{unit: kN*m, min: -5 N*m, max: 0.005, nominal: 0.002}", "{unit: kg}"),
            "is in N·m, which is not measured in 'kg'",
        ),
        (("bodies.right.mass:", "bodies.left.mass:"), "expected a number, with a unit or without"),
        (
            ("  mass: 2 kg", "  mass: 2 kg\n  integrator: {step: 5}"),
            "called 'integrator.step': a parameter of the file and a setting of the integrator",
        ),
        (("  mass: 2 kg", "  mass: 2 kg\n  a: {angle: 20 deg}"), "called 'a.angle': an output and a parameter"),
    ],
)
def test_interfaces_that_cannot_be(folder, change, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        mechanism_unit(folder, "wrong", ARMS.replace(*change).replace("parameters: {mass: ,", 'parameters: {"*": ,'))


def test_names_of_the_fmu_section(folder):
    """The nearest counts: a name, a group, a wildcard, in whichever order.  Each unit is there once."""
    section = """
fmu:
  inputs: {"*": , motor: {unit: N*m, description: of the motor}}
  outputs: {"hinge.*": , hinge.angle: {unit: deg}, "ro*": , rod.bob.position: {unit: mm}, hinge.tau: {unit: N*m}}
  parameters: {"*": , mass: {unit: g}}
"""
    unit = mechanism_unit(folder, "near", PENDULUM + section)
    described = fmpy.read_model_description(str(unit), validate=True)
    by_name = {variable.name: variable for variable in described.modelVariables}
    assert by_name["hinge.angle"].unit == "deg"
    assert by_name["hinge.speed"].unit == "rad/s"
    assert by_name["motor.input"].description == "of the motor"
    assert by_name["rod.bob.position.x"].unit == "mm"
    assert by_name["rod.bob.velocity.x"].unit == "m/s"
    assert (by_name["mass"].unit, by_name["mass"].start) == ("g", "2000.0")
    names = [known.name for known in described.unitDefinitions]
    assert len(names) == len(set(names))
    assert "N.m" in names


def test_names_that_are_not_ascii(folder):
    unit = mechanism_unit(folder, "umlaut", PENDULUM.replace("hinge", "Gelenk_ü"))
    described = fmpy.read_model_description(str(unit), validate=True, validate_variable_names=True)
    assert described.variableNamingConvention == "flat"
    assert "'Gelenk_ü'.angle" in {variable.name for variable in described.modelVariables}


def test_motions_begin_where_the_fmu_section_says(folder):
    """At 0 m the crank of 0.5 m and the rod of 2 m cannot be assembled; at 2 m they can."""
    text = CRANK.replace("lc: 1 m", "lc: 0.5 m").replace(", inputs: {drive: 2.5}", "")
    with pytest.raises(AssemblyError, match="cannot be assembled"):
        mechanism_unit(folder, "nowhere", text)
    unit = mechanism_unit(folder, "somewhere", text.replace("{drive: }", "{drive: {start: 2}}"))
    table = fmu_export.run(unit, 0.1)
    np.testing.assert_allclose(table["s.position"], 2.0, rtol=0, atol=1e-9)


def test_numbers_of_bodies_with_dots_in_their_names(folder):
    text = PENDULUM.replace("rod", "r.d").replace("mass: $(mass)", "mass: 2 kg")
    section = 'fmu: {outputs: {hinge.angle: }, parameters: {"bodies.*.mass": , bodies.r.d.inertia: }}\n'
    unit = mechanism_unit(folder, "dots", text + section)
    start = {v.name: v.start for v in fmpy.read_model_description(str(unit)).modelVariables}
    assert (start["bodies.r.d.mass"], start["bodies.r.d.inertia[0]"]) == ("2.0", "0.01")
    heavy = lg.load(folder / "dots.yaml", set={"bodies.r.d.mass": 3.0}).simulate(t_end=0.1)
    table = fmu_export.run(unit, 0.1, values={"bodies.r.d.mass": 3.0})
    np.testing.assert_allclose(table["hinge.angle"][-1], heavy["hinge.angle"][-1], rtol=0, atol=1e-12)


def test_wrong_arguments(folder, pendulum):
    model = pendulum_file(folder)
    for arguments, options, words in (
        ((model, folder / "x.zip"), {}, "expected .fmu"),
        ((model, folder / "nowhere" / "x.fmu"), {}, "make it first"),
        ((model, folder / "x.fmu"), {"step": 0.0}, "step is 0.0, must be > 0"),
        ((model, folder / "x.fmu"), {"interval": math.nan}, "interval is nan, expected a finite number"),
        ((model, folder / "x.fmu"), {"step": "-1 ms"}, "step is -0.001, must be > 0"),
        ((model, folder / "x.fmu"), {"step": "soon"}, "build: step is 'soon', expected a time in s"),
        (
            (model, folder / "x.fmu"),
            {"interval": "1 m"},
            "build: interval is '1 m', which is a length, expected a time",
        ),
        ((model, folder / "x.fmu"), {"method": "eulr"}, "there is no method 'eulr'"),
        ((3, folder / "x.fmu"), {}, "3 is neither a mechanism"),
    ):
        with pytest.raises(InputError, match=words):
            fmu_export.build(*arguments, **options)
    (folder / "taken.fmu").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        fmu_export.build(model, folder / "taken.fmu")
    assert not list(folder.glob(".*.tmp"))
    for options, words in (
        ({"inputs": {"moter.input": 1.0}}, "is no input of the unit. Did you mean 'motor.input'"),
        ({"values": {"lenght": 1.0}}, "is no parameter or input of the unit. Did you mean 'length'"),
        ({"outputs": ["hinge.angel"]}, "is no output of the unit. Did you mean 'hinge.angle'"),
        ({"t_end": -1.0}, "expected rising times"),
        ({"t_end": "soon"}, "run: t_end is 'soon', expected a time in s"),
        ({"interval": math.inf}, "run: interval is inf, expected a finite number"),
        ({"start": -math.inf}, "run: start is -inf, expected a finite number"),
        ({"values": {"gravity.z": "a"}}, "run: gravity.z is 'a', expected a finite number in m/s2, or with a unit"),
        ({"values": {"length": None}}, "run: length is None, expected a finite number"),
        ({"inputs": {"motor.input": "1 m"}}, "run: input 'motor.input' is '1 m', which is a length"),
        ({"inputs": {"motor.input": ([1, 0], [1, 2])}}, "'motor.input' has the time 0 s after 1 s, expected rising"),
        ({"inputs": {"motor.input": ([0, 1], [1])}}, "values of shape (1,), expected one value a time"),
        ({"inputs": {"motor.input": ([0, math.nan], [1, 2])}}, "has times or values that are not finite"),
        ({"inputs": {"motor.input": ([0, 1], ["a", "b"])}}, "has times or values that are no numbers"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            fmu_export.run(pendulum, **options)
    # text with units is as good as numbers
    options = {"values": {"length": "50 cm"}, "inputs": {"motor.input": "2 N*m"}}
    said = fmu_export.run(pendulum, "100 ms", interval="10 ms", **options)
    plain = {"values": {"length": 0.5}, "inputs": {"motor.input": np.float32(2.0)}}
    np.testing.assert_array_equal(said, fmu_export.run(pendulum, 0.1, interval=0.01, **plain))
    with pytest.raises(InputError, match=r"'no\.fmu' cannot be read: No such file"):
        fmu_export.info(folder / "no.fmu")
    (folder / "rubbish.fmu").write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"'rubbish\.fmu' is no FMU: File is not a zip file"):
        fmu_export.info(folder / "rubbish.fmu")


def test_runs_end_where_they_are_asked_to(pendulum):
    """Also between two communication points, and not a step of round-off later."""
    for end, interval, n in ((1.04, 0.1, 11), (0.96, 0.1, 10), (0.3, 0.1, 3), (0.29, 0.01, 29), (0.05, 0.1, 1)):
        table = fmu_export.run(pendulum, end, interval=interval)
        assert (len(table), table["time"][-1]) == (n + 1, pytest.approx(end, rel=1e-15))
    exact = fmu_export.run(pendulum, 1.04, interval=1.04)
    assert fmu_export.run(pendulum, 1.04, interval=0.1)["hinge.angle"][-1] == exact["hinge.angle"][-1]
    assert len(fmu_export.run(pendulum, 0.0)) == 1


def test_no_defaults(folder, pendulum):
    """A unit of somebody else without a default experiment."""
    bare = folder / "bare.fmu"
    with zipfile.ZipFile(pendulum) as old, zipfile.ZipFile(bare, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "modelDescription.xml":
                text = data.decode()
                begin = text.index("<DefaultExperiment")
                data = (text[:begin] + text[text.index("/>", begin) + 2 :]).encode()
            new.writestr(name, data)
    with pytest.raises(InputError, match="has no default t_end"):
        fmu_export.run(bare)
    assert len(fmu_export.run(bare, 0.1, interval=0.01)) == 11
    exchange = folder / "exchange.fmu"
    with zipfile.ZipFile(pendulum) as old, zipfile.ZipFile(exchange, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.replace(b"CoSimulation", b"ModelExchange") if name.endswith(".xml") else data)
    with pytest.raises(InputError, match="is for model exchange only, expected co-simulation"):
        fmu_export.info(exchange)


PIECES = """
liegeo: 1
name: beam
parameters: {n: {value: 6}}
materials: {steel: {E: 210 GPa, rho: 7850 kg/m^3, nu: 0.3}}
sections: {strip: {kind: rectangle, width_y: 10 mm, height_z: 10 mm}}
bodies:
  rod: {kind: beam, length: 1 m, material: steel, section: strip, elements: 6, pieces: $(n),
        modes: {interfaces: [0, 6], root: 0, count: 0}}
joints: {hinge: {kind: revolute, parent: world, child: rod_1, axis: [0, 1, 0]}}
experiment: {end: 1 s, output: 10 ms, method: rkmk-4, step: 1 ms}
fmu: {outputs: {hinge.angle: , rod_3.position: , rod_4.position: , rod_5.position: , rod_6.position: }}
"""


def test_outputs_of_bodies_that_a_parameter_takes_away(folder):
    """One message, which names the parameter: in Python, where an FMU is made, and in an FMU."""
    (folder / "pieces.yaml").write_text(PIECES)
    said = (
        r"fmu\.outputs names 'rod_3\.position', 'rod_4\.position', 'rod_5\.position' and 1 more, which the model does "
        r"not have with n = 2(\.0)?\.\n  Leave these outputs out"
    )
    with pytest.raises(ModelFileError, match=said) as caught:
        fmu_export.build(folder / "pieces.yaml", folder / "two.fmu", set={"n": 2})
    assert len(caught.value.problems) == 1
    unit = fmu_export.build(folder / "pieces.yaml", folder / "pieces.fmu")
    with pytest.raises(SimulationError, match=said):
        fmu_export.run(unit, 0.1, values={"n": 2})


def test_validation_finds_what_is_wrong(folder, pendulum):
    """Units that say what is not so: a dependency left out, and a rollback that forgets."""
    liar = folder / "liar.fmu"
    text = PENDULUM + "fmu: {outputs: {hinge.acceleration: , hinge.angle: }}\n"
    unit = mechanism_unit(folder, "honest", text)
    with zipfile.ZipFile(unit) as old, zipfile.ZipFile(liar, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "modelDescription.xml":
                data = data.replace(
                    b'<Unknown index="2" dependencies="1" />', b'<Unknown index="2" dependencies="" />', 1
                )
            if name == "resources/fmu_export/slave.py":
                continue
            new.writestr(name, data)
    assert fmu_export.validate(unit).ok
    report = fmu_export.validate(liar)
    assert any("hinge.acceleration depends on motor.input, unsaid" in text for text in report.problems), report
    assert "problem: " in str(report)


def test_validation_finds_wrong_derivatives(folder, monkeypatch):
    unit = mechanism_unit(folder, "honest", PENDULUM + "fmu: {outputs: {hinge.acceleration: , hinge.angle: }}\n")
    for name in ("along_inputs", "along_motion"):
        honest = getattr(slave, name)
        monkeypatch.setattr(slave, name, lambda *given, honest=honest: 1.1 * honest(*given))
    problems = fmu_export.validate(unit, isolated=False).problems
    for words in ("directional derivatives: hinge.acceleration by motor.input is ", "that of hinge.angle is "):
        assert any(words in text for text in problems), problems


def test_what_is_answered_as_if_nothing_were_wrong(tmp_path):
    """A controller in C that knows no order of calls."""
    report = fmu_export.validate(compiled_controller(tmp_path))
    assert report.problems == ["illegal calls: initialising once more is answered as if nothing were wrong."]


# ---- controllers from other tools


@pytest.fixture(scope="module", params=["C", "pythonfmu", pytest.param("unifmu", marks=pytest.mark.slow)])
def controller(request, folder):
    if request.param == "unifmu":
        pytest.importorskip("unifmu")
        pytest.importorskip("grpc")
        return unifmu_controller(folder)
    return compiled_controller(folder) if request.param == "C" else script_controller(folder)


def test_closed_loop(controller, pendulum, folder):
    """With a controller in C, as a script, or in a process of its own: the loop, to the order of the macro step."""
    mechanism = lg.load(folder / "pendulum.yaml")
    law = lambda t, state: min(max(60.0 * (1.0 - state.q[0]) - 8.0 * state.v[0], -100.0), 100.0)  # noqa: E731
    exact = mechanism.simulate(t_end=1.0, inputs={"motor": law}, step=2.0**-11)["hinge.angle"][-1]
    errors = [abs(closed_loop(pendulum, controller, h, round(1 / h))[-1] - exact) for h in (2.0**-6, 2.0**-7, 2.0**-8)]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.2)
    assert errors[2] < 1e-2


def test_closed_loop_is_that_of_one_process(pendulum, folder):
    """Sampled as the master samples: to the bit."""
    controller = compiled_controller(folder)
    found = closed_loop(pendulum, controller, 2.0**-7, 64)
    mechanism = lg.load(folder / "pendulum.yaml")
    model, state, expected = mechanism.compile(), mechanism.state(), []
    for k in range(64):
        expected.append(state.q[0])
        torque = min(max(60.0 * (1.0 - state.q[0]) - 8.0 * state.v[0], -100.0), 100.0)
        piece = lg.simulate(
            model, state, (k + 1) * 2.0**-7, inputs={"motor": torque}, method="rkmk-4", step=1e-3, output="steps"
        )
        state = lg.model.State(piece.q[-1], piece.v[-1], piece.t[-1])
    np.testing.assert_allclose(found, [*expected, state.q[0]], rtol=0, atol=1e-14)


def test_variables_are_plain_data(pendulum):
    listed = variables_of(pendulum)
    assert json.loads(json.dumps(listed)) == listed
    assert [v["name"] for v in listed[:2]] == ["motor.input", "hinge.angle"]
