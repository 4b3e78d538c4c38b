"""What is in an FMU: description, archive, sources, and what was changed in Python."""

from __future__ import annotations

import dataclasses
import math
import re
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmus import (
    PENDULUM,
    mechanism_fmu,
    pendulum_file,
)

import fmu_export
import liegeo as lg
from fmu_export.variables import base_unit
from liegeo.errors import InputError, ModelError
from liegeo.io.mechanism import Variable as MechanismVariable

HERE = Path(__file__).parent


# ---- what is in an FMU


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
    again = mechanism_fmu(folder / "..", "pendulum")
    other = mechanism_fmu(folder, "pendulum_2", PENDULUM.replace("2 kg", "2.5 kg"))
    assert again.read_bytes() == pendulum.read_bytes()
    guids = [fmpy.read_model_description(str(file)).guid for file in (pendulum, again, other)]
    assert guids[0] == guids[1] != guids[2]


def test_archive(pendulum):
    with zipfile.ZipFile(pendulum) as archive:
        names = archive.namelist()
        assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in archive.infolist())
        script = next(name for name in names if re.fullmatch(r"resources/fmu_[0-9a-f]{16}\.py", name))
        assert archive.read("resources/slavemodule.txt").decode() == Path(script).stem
        assert "numba>=" in archive.read("resources/requirements.txt").decode()
    assert "resources/liegeo/__init__.py" in names
    assert not any("view" in name or name.endswith(".pyc") for name in names)


def test_without_sources(folder):
    fmu = fmu_export.build(pendulum_file(folder, "thin"), folder / "thin.fmu", bundle=False)
    with zipfile.ZipFile(fmu) as archive:
        assert not any(name.startswith("resources/liegeo") for name in archive.namelist())
        assert f"liegeo>={lg.__version__}" in archive.read("resources/requirements.txt").decode()
    assert fmu_export.run(fmu, 0.1)["time"][-1] == pytest.approx(0.1)


def test_the_older_name_of_the_description_is_read(folder):
    """FMUs that were built earlier have `unit.json` where `variables.json` is now."""
    new = mechanism_fmu(folder, "renamed", PENDULUM.replace("2 kg", "2.25 kg"), bundle=False)
    old = folder / "older.fmu"
    with zipfile.ZipFile(new) as source, zipfile.ZipFile(old, "w") as target:
        for name in source.namelist():
            target.writestr(name.replace("resources/variables.json", "resources/unit.json"), source.read(name))
    assert len(fmu_export.run(old, 0.1)) == 11


def test_from_python_and_from_a_tree(folder):
    tree = lg.load(pendulum_file(folder)).tree
    for k, system in enumerate((tree, tree.compile(), lg.Mechanism(tree))):
        fmu = fmu_export.build(system, folder / f"built_{k}.fmu", step=1e-3, method="rkmk-4", interval=0.01)
        table = fmu_export.run(fmu, 0.2, values={"initial.hinge.angle": 0.5})
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


def test_what_was_replaced_in_python_is_in_the_fmu(folder):
    """A mechanism from a file, with other parts: `simulate` and the FMU begin and move alike."""
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
        fmu = fmu_export.build(mechanism, folder / f"replaced_{name}.fmu")
        said, parameters = fmu_export.info(fmu), [n for n, *_ in fmu_export.info(fmu).variables["parameter"]]
        # parts of other numbers do not depend on the file's parameters
        assert ("length" in parameters) == (name != "body")
        assert said.identifier == "pendulum"
        expected = mechanism.simulate(output=0.01, progress=False)
        table = fmu_export.run(fmu)
        np.testing.assert_allclose(table["hinge.angle"], expected["hinge.angle"], rtol=0, atol=1e-12)
        moved.append(table["hinge.angle"][40])
    assert len(set(moved)) == len(changes)
    interface = dataclasses.replace(given.fmu, outputs={"hinge.speed": MechanismVariable(unit="deg/s")})
    fmu = fmu_export.build(dataclasses.replace(given, fmu=interface), folder / "replaced_fmu.fmu", set={"mass": 3.0})
    said = fmu_export.info(fmu)
    assert [(n, u) for n, u, *_ in said.variables["output"]] == [("hinge.speed", "deg/s")]
    described = fmpy.read_model_description(str(fmu))
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
