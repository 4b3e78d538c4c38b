"""What people give to `build` and `run`, names in the section `fmu` of a model file, and what `validate` finds."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmus import (
    ARMS,
    CRANK,
    PENDULUM,
    PRESCRIBED,
    compiled_controller,
    mechanism_fmu,
    pendulum_file,
)

import fmu_export
import liegeo as lg
from fmu_export import package
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.host import Instance, Unpacked
from fmu_export.machine import Machine
from liegeo.errors import AssemblyError, InputError, ModelFileError, SimulationError

HERE = Path(__file__).parent


def test_motions_on_groups_are_no_inputs(folder):
    hinge, ball = "revolute, parent: world, child: hub, axis: [0, 1, 0]", "spherical, parent: world, child: hub"
    text = PRESCRIBED.replace(hinge, ball)
    with pytest.raises(InputError, match=r"fmu: inputs: 'turn' is none of the model's inputs\."):
        mechanism_fmu(folder, "ball", text.replace("axle.angle: , axle.speed: , ", ""))


def test_another_liegeo_in_the_process(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(package, "__version__", "99.1.0")
        fmu = mechanism_fmu(folder, "newer")
    with Unpacked(fmu) as unpacked, pytest.raises(SimulationError, match="Run the FMU in a process of its own"):
        Instance(unpacked)


def test_other_sources_are_told(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(package, "sources_digest", lambda: "0123")
        fmu = mechanism_fmu(folder, "older")
    with Unpacked(fmu) as unpacked, Instance(unpacked) as instance:
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
        mechanism_fmu(folder, "wrong", ARMS.replace(*change).replace("parameters: {mass: ,", 'parameters: {"*": ,'))


def test_names_of_the_fmu_section(folder):
    """The nearest counts: a name, a group, a wildcard, in whichever order.  Each unit is there once."""
    section = """
fmu:
  inputs: {"*": , motor: {unit: N*m, description: of the motor}}
  outputs: {"hinge.*": , hinge.angle: {unit: deg}, "ro*": , rod.bob.position: {unit: mm}, hinge.tau: {unit: N*m}}
  parameters: {"*": , mass: {unit: g}}
"""
    fmu = mechanism_fmu(folder, "near", PENDULUM + section)
    described = fmpy.read_model_description(str(fmu), validate=True)
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
    fmu = mechanism_fmu(folder, "umlaut", PENDULUM.replace("hinge", "Gelenk_ü"))
    described = fmpy.read_model_description(str(fmu), validate=True, validate_variable_names=True)
    assert described.variableNamingConvention == "flat"
    assert "'Gelenk_ü'.angle" in {variable.name for variable in described.modelVariables}


def test_motions_begin_where_the_fmu_section_says(folder):
    """At 0 m the crank of 0.5 m and the rod of 2 m cannot be assembled; at 2 m they can."""
    text = CRANK.replace("lc: 1 m", "lc: 0.5 m").replace(", inputs: {drive: 2.5}", "")
    with pytest.raises(AssemblyError, match="cannot be assembled"):
        mechanism_fmu(folder, "nowhere", text)
    fmu = mechanism_fmu(folder, "somewhere", text.replace("{drive: }", "{drive: {start: 2}}"))
    table = fmu_export.run(fmu, 0.1)
    np.testing.assert_allclose(table["s.position"], 2.0, rtol=0, atol=1e-9)


def test_numbers_of_bodies_with_dots_in_their_names(folder):
    text = PENDULUM.replace("rod", "r.d").replace("mass: $(mass)", "mass: 2 kg")
    section = 'fmu: {outputs: {hinge.angle: }, parameters: {"bodies.*.mass": , bodies.r.d.inertia: }}\n'
    fmu = mechanism_fmu(folder, "dots", text + section)
    start = {v.name: v.start for v in fmpy.read_model_description(str(fmu)).modelVariables}
    assert (start["bodies.r.d.mass"], start["bodies.r.d.inertia[0]"]) == ("2.0", "0.01")
    heavy = lg.load(folder / "dots.yaml", set={"bodies.r.d.mass": 3.0}).simulate(t_end=0.1)
    table = fmu_export.run(fmu, 0.1, values={"bodies.r.d.mass": 3.0})
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
        ({"inputs": {"moter.input": 1.0}}, "is no input of the FMU. Did you mean 'motor.input'"),
        ({"values": {"lenght": 1.0}}, "is no parameter or input of the FMU. Did you mean 'length'"),
        ({"outputs": ["hinge.angel"]}, "is no output of the FMU. Did you mean 'hinge.angle'"),
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
    """An FMU of somebody else without a default experiment."""
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
    with pytest.raises(InputError, match=r"'bare\.fmu' is for co-simulation only, expected model exchange; choose"):
        fmu_export.run(bare, 0.1, interval=0.01, kind="model exchange")
    with pytest.raises(InputError, match="'coupling' is no kind of FMU, expected co-simulation or model exchange"):
        fmu_export.run(bare, 0.1, interval=0.01, kind="coupling")
    with pytest.raises(InputError, match=r"run: solver\.method is 'euler', expected rk-54, rk-853, radau-5"):
        fmu_export.run(bare, 0.1, interval=0.01, solver=ExchangeSolver("euler"))
    with pytest.raises(InputError, match="run: solver is given, but the FMU is run by co-simulation and has its own"):
        fmu_export.run(bare, 0.1, interval=0.01, solver=ExchangeSolver())


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
    fmu = fmu_export.build(folder / "pieces.yaml", folder / "pieces.fmu")
    with pytest.raises(SimulationError, match=said):
        fmu_export.run(fmu, 0.1, values={"n": 2})


def test_validation_finds_what_is_wrong(folder, pendulum):
    """FMUs that say what is not so: a dependency left out, and a rollback that forgets."""
    liar = folder / "liar.fmu"
    text = PENDULUM + "fmu: {outputs: {hinge.acceleration: , hinge.angle: }}\n"
    fmu = mechanism_fmu(folder, "honest", text)
    with zipfile.ZipFile(fmu) as old, zipfile.ZipFile(liar, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "modelDescription.xml":
                data = data.replace(
                    b'<Unknown index="2" dependencies="1" />', b'<Unknown index="2" dependencies="" />', 1
                )
            if name == "resources/fmu_export/slave.py":
                continue
            new.writestr(name, data)
    assert fmu_export.validate(fmu).ok
    report = fmu_export.validate(liar)
    assert any("hinge.acceleration depends on motor.input, unsaid" in text for text in report.problems), report
    assert "problem: " in str(report)


def test_validation_finds_wrong_derivatives(folder, monkeypatch):
    fmu = mechanism_fmu(folder, "honest", PENDULUM + "fmu: {outputs: {hinge.acceleration: , hinge.angle: }}\n")
    for name in ("along_inputs", "along_motion"):
        honest = getattr(Machine, name)
        monkeypatch.setattr(Machine, name, lambda *given, honest=honest: 1.1 * honest(*given))
    problems = fmu_export.validate(fmu, isolated=False).problems
    for words in ("directional derivatives: hinge.acceleration by motor.input is ", "that of hinge.angle is "):
        assert any(words in text for text in problems), problems


def test_what_is_answered_as_if_nothing_were_wrong(tmp_path):
    """A controller in C that knows no order of calls."""
    report = fmu_export.validate(compiled_controller(tmp_path))
    assert report.problems == ["illegal calls: initialising once more is answered as if nothing were wrong."]
