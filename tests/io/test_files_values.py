"""Numbers, units, expressions, parameters, signals, and what is said when they are wrong."""

from __future__ import annotations

import contextlib
import math
import re
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import liegeo as lg
from liegeo import model as lm
from liegeo.errors import InputError, ModelError, ModelFileError
from liegeo.io import expressions, fields, source, units
from liegeo.io.jets import FUNCTIONS, Jet
from liegeo.io.mechanism import Experiment, Initial, Interface, Mechanism, Variable
from liegeo.io.units import Quantity

ROD = """
liegeo: 1
parameters:
  arm:
    length: {value: 1 m, description: of the rod, min: 1 cm, max: 300 cm}
    mass: 2 kg
  count: 3
bodies:
  rod:
    kind: rigid
    mass: $(arm.mass)
    com: [0, 0, $(-arm.length / 2)]
    inertia: [0.2, 0.2, 0.01]
    frames: {tip: [0, 0, $(-arm.length)]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: [0, 1, 0]}
"""


def load(folder, text, **options):
    file = folder / "model.yaml"
    file.write_text(text, encoding="utf-8")
    return lg.load(file, **options)


def problem(folder, text, **options):
    with pytest.raises(ModelFileError) as caught:
        load(folder, text, **options)
    return str(caught.value)


# ---- units


@pytest.mark.parametrize(("text", "value", "wanted"), [
    ("20 mm", 0.02, units.LENGTH),
    ("35mm", 0.035, units.LENGTH),
    ("-1.5e3 mm", -1.5, units.LENGTH),
    ("70 GPa", 70e9, units.MODULUS),
    ("2.7 g/cm^3", 2700.0, units.DENSITY),
    ("2.7 g/cm**3", 2700.0, units.DENSITY),
    ("5 %", 0.05, units.NUMBER),
    ("180 deg", math.pi, units.ANGLE),
    ("30 rpm", math.pi, units.ANGULAR_SPEED),
    ("0.5 rev/s", math.pi, units.ANGULAR_SPEED),
    ("50 Hz", 50.0, units.FREQUENCY),
    ("3 kHz", 3000.0, units.FREQUENCY),
    ("0.6 cm^2", 6e-5, units.AREA),
    ("2 N*m", 2.0, units.TORQUE),
    ("2 N·m", 2.0, units.TORQUE),
    ("10 N*m/deg", 10.0 * 180.0 / math.pi, units.TURNING_STIFFNESS),
    ("1 inch", 0.0254, units.LENGTH),
    ("10 1/s", 10.0, units.RATE),
    ("0.1 kg*cm^2", 1e-5, units.INERTIA),
])  # fmt: skip
def test_units(text, value, wanted):
    found = fields.read_number(text, [wanted])
    # turns are products of rounded numbers
    assert found == (pytest.approx(value, rel=1e-15) if wanted.unit.startswith("rad") or "deg" in text else value)


@given(st.decimals(-1000, 1000, allow_nan=False, places=4))
def test_metres_and_millimetres_are_the_same_bits(number):
    assert fields.read_number(f"{number} mm", [units.LENGTH]) == float(number / 1000)


@pytest.mark.parametrize(("text", "message"), [
    ("20 kg", "is '20 kg', which is a mass, expected a length in m"),
    ("20 mmm", "has the unknown unit 'mmm'; expected a length in m. Did you mean 'mm'?"),
    ("20 qwertz", "is '20 qwertz', which has the unknown unit 'qwertz'; expected a length in m"),
    ("20 degC", "has an offset"),
    ("20 pixel", "has the unit 'pixel', which is none of mechanics"),
    ("1e999 m", "is inf, expected a finite number"),
    ("1 m^99", "is '1 m^99', expected a length in m, such as 0.02 or 20 mm"),
    ("m", "is 'm', expected a length in m, such as 0.02 or 20 mm"),
    (True, "is true, expected a length in m"),
    (None, "is empty, expected a length in m"),
    ({}, "is an empty mapping, expected a length in m"),
    (math.inf, "is inf, expected a finite number"),
    (-1e61, "is -1e+61, expected a number below 1e+60"),
    (Quantity(2.0, units.MASS.powers), "is 2, which is a mass, expected a length in m"),
])  # fmt: skip
def test_what_is_said_about_numbers(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        fields.read_number(text, [units.LENGTH])


def test_what_is_said_where_two_dimensions_would_do():
    with pytest.raises(InputError, match=r"is a length, expected a torque in N\*m or a force in N"):
        fields.read_number("1 m", [units.TORQUE, units.FORCE])
    with pytest.raises(InputError, match="mixes up turns and radians: expected a frequency in Hz; write it in Hz"):
        fields.read_number("1 rpm", [units.FREQUENCY])


def test_units_are_loaded_when_the_first_is_met(tmp_path):
    """pint takes a third of a second."""
    import subprocess

    (tmp_path / "m.yaml").write_text(re.sub(r"(?<=\d) (kg|m|cm)", "", ROD), "utf-8")
    code = "import sys, liegeo as lg; lg.load('m.yaml'); sys.exit('pint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0


# ---- expressions


def value(text, **names):
    known = {"length": Quantity(2.0, units.LENGTH.powers), "n": Quantity(3, None, open=True)} | names
    return expressions.evaluate(expressions.parse(text), known.get)


@pytest.mark.parametrize(("text", "expected", "powers"), [
    ("$(1 + 2 * 3)", 7, None),
    ("$(-2^2)", -4, None),
    ("$(2 ** -1)", 0.5, None),
    ("$(2^3^2)", 512, None),
    ("$(8 / 4 / 2)", 1.0, None),
    ("$(10 - 4 - 3)", 3, None),
    ("$(--3)", 3, None),
    ("$(.5e1 * (1 + 1))", 10.0, None),
    ("$(length / 2 - 20 cm)", 0.8, units.LENGTH.powers),
    ("$(length + 1)", 3.0, units.LENGTH.powers),
    ("$(length^2)", 4.0, units.AREA.powers),
    ("$(sqrt(length * 2 m))", 2.0, units.LENGTH.powers),
    ("$(2 N*m)", 2.0, units.TORQUE.powers),
    ("$(20 mm^2)", 2e-5, units.AREA.powers),
    ("$((20 mm)^2)", 4e-4, units.AREA.powers),
    ("$(2 s^-1 * 3 kg/m**3)", 6.0, (-3.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0)),
    ("$(6 m/s / (2 s))", 3.0, units.ACCELERATION.powers),
    ("$(sin(30 deg))", math.sin(math.pi / 6), units.NONE),
    ("$(cos(pi) + tan(0) + exp(0) + log(1))", 0.0, units.NONE),
    ("$(abs(-length))", 2.0, units.LENGTH.powers),
    ("$(min(length, 50 cm))", 0.5, units.LENGTH.powers),
    ("$(max(1, 3, 2))", 3, None),
    ("$(50 %)", 0.5, units.NONE),
])  # fmt: skip
def test_expressions(text, expected, powers):
    found = value(text)
    assert found.value == pytest.approx(expected, rel=1e-15, abs=1e-16)
    assert found.powers == powers
    assert type(found.value) is type(expected)


def test_whole_numbers_stay_whole_and_what_is_not_known_is_not_checked():
    assert value("$(2 * n)") == Quantity(6, None, open=True)
    # of a plain parameter nobody knows the unit: n metres times length is an area
    assert value("$(n * length)").to(units.AREA) == 6.0
    assert value("$(n + length)").to(units.LENGTH) == 5.0
    with pytest.raises(InputError, match="is a length, expected an area"):
        value("$(n + length)").to(units.AREA)


@pytest.mark.parametrize(("text", "message"), [
    ("$(1 +)", "has an end where a number or a name was expected"),
    ("$(1 + * 2)", "has '*' where a number or a name was expected"),
    ("$(1 2)", "has '2' where an operator was expected"),
    ("$((1)", "has a '(' without its ')'"),
    ("$(1; 2)", "has ';' where a number, a name or an operator was expected"),
    ("$(open(1))", "calls 'open', which is no function here"),
    ("$(sin(1, 2))", "gives sin 2 numbers, expected one"),
    ("$(sin(length))", "takes sin of a length, expected a number or an angle"),
    ("$(sqrt(-1))", "takes sqrt of -1, where it has no value"),
    ("$(log(0))", "takes log of 0, where it has no value"),
    ("$(1 / 0)", "divides by zero"),
    ("$(0 ^ -1)", "divides by zero"),
    ("$(2 ^ 0.5)", "has the power 0.5, expected a whole number from -12 to 12"),
    ("$(2 ^ length)", "has the power 2, expected a whole number"),
    ("$(length + 1 kg)", "adds a length and a mass"),
    ("$(length - 1 s)", "subtracts a length and a time"),
    ("$(max(length, 1 s))", "compares a length and a time"),
    ("$(exp(1000))", "is larger than any number"),
    ("$(1e308 * 10)", "is larger than any number"),
    ("$(" + "-(" * 40 + "1" + ")" * 40 + ")", "is nested more than 30 deep"),
    ("$(" + "2^" * 40 + "1)", "is nested more than 30 deep"),
    ("$(1 m^2 furlongg)", "has 'furlongg' where an operator was expected"),
    ("$(1 m^x)", "has a unit with the power 'x', expected a digit"),
    ("$(1 furlongg)", "has the unknown unit 'furlongg'"),
])  # fmt: skip
def test_what_is_said_about_expressions(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        value(text)


@given(st.text(alphabet="0123456789.+-*/^()e ,abmnpit_$%\"'[]", max_size=40))
def test_no_text_makes_the_grammar_fail_in_another_way(text):
    with contextlib.suppress(InputError, KeyError):
        value(f"$({text})")


FUNCTIONS_OF_TIME = [
    "t^3 - 2*t",
    "sin(2*t) * cos(t)",
    "exp(-t) / (1 + t^2)",
    "sqrt(1 + t) + tan(t/3)",
    "-t^-2",
    "1 - 2/t",
]
FUNCTIONS_OF_TIME += ["log(2 + t) - abs(t - 3)", "max(t, 0.1) * min(t^2, 5)"]


@pytest.mark.parametrize("text", FUNCTIONS_OF_TIME)
def test_jets_are_derivatives(text):
    function = expressions.function_of_time(expressions.parse(f"$({text})"), lambda name: None, units.NUMBER)
    h = 1e-4
    for t in (0.3, 0.9, 1.7):
        jet = function(Jet(t, 1.0))
        before, here, after = (function(x) for x in (t - h, t, t + h))
        assert jet.x == pytest.approx(here, rel=1e-14)
        # errors of the differences: h² times the third derivative, and rounding over h²
        assert jet.d == pytest.approx((after - before) / (2 * h), rel=1e-6, abs=1e-6)
        assert jet.dd == pytest.approx((after - 2 * here + before) / h**2, rel=1e-5, abs=1e-5)


def test_jets_know_every_function_of_expressions():
    assert set(FUNCTIONS) == set(expressions.FUNCTIONS)


# ---- YAML


@pytest.mark.parametrize(("text", "expected"), [
    ("1", 1), ("-12", -12), ("1e3", 1000.0), ("1.", 1.0), (".5", 0.5), ("+3.5E-2", 0.035), ("true", True),
    ("false", False), ("null", None), ("~", None), ("", None), (".inf", math.inf), ("-.inf", -math.inf),
    ("yes", "yes"), ("NO", "NO"), ("on", "on"), ("0x10", "0x10"), ("010", 10.0), ("1_000", "1_000"),
    ("12:30", "12:30"), ("2026-01-01", "2026-01-01"), ("12345678901234567890", 12345678901234567890.0),
])  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text, expected):
    found = source.scalar(text)
    assert found == expected
    assert type(found) is type(expected)


def test_aliases_are_shared_and_marks_lead_to_lines():
    found = source.parse('a: &x [1, {b: 2}]\nc: *x\n"d e":\n  - f: 3\n', "x.yaml")
    assert found.data["a"] is found.data["c"]
    assert found.place(("a", 1, "b")) == (1, 12)
    assert found.place(("d e", 0, "f")) == (4, 5)
    assert found.place(("d e", 7, "nothing")) == (3, 1)
    assert source.dotted(("a", 1, "b")) == "a[1].b"


@pytest.mark.parametrize(("text", "message"), [
    ("? [1, 2]\n: 3\n", "a key is a list, a mapping or an alias, expected a word"),
    ("a: &x 1\n*x : 2\n", "a key is a list, a mapping or an alias, expected a word"),
    ("a: !!str 1\n", "has the tag !!str; tags are not read"),
    ("a: [1, 2\n", "is not YAML"),
    ("a: [${b}]\n", "parameters are written"),
])  # fmt: skip
def test_what_is_said_about_yaml(text, message):
    with pytest.raises(ModelFileError, match=message):
        source.parse(text, "x.yaml")


# ---- parameters


def test_parameters_are_overridden(tmp_path):
    mechanism = load(tmp_path, ROD, set={"arm.length": "50 cm", "arm.mass": 3})
    assert mechanism.parameters == {"arm.length": 0.5, "arm.mass": 3, "count": 3}
    assert mechanism.tree.bodies[0].com.tolist() == [0.0, 0.0, -0.25]
    declared = mechanism.declared["arm.length"]
    assert (declared.unit, declared.description, declared.minimum, declared.maximum) == ("m", "of the rod", 0.01, 3.0)
    changed = mechanism.changed({"arm.length": "$(2 * arm.mass / (3 kg/m))"})
    assert changed.parameters["arm.length"] == 2.0
    assert changed.parameters["arm.mass"] == 3, "what was set before stays"
    assert mechanism.parameters["arm.length"] == 0.5
    again = lg.load(lg.save(changed, tmp_path / "again.yaml"))
    assert again.parameters == changed.parameters


def test_units_of_parameters_keep_the_radian_where_people_write_it(tmp_path):
    """Also through expressions, and with other values; a plain number takes the unit of the key that is it."""
    given = {
        "angle": ("30 deg", "rad"),
        "w": ("60 rpm", "rad/s"),
        "twice": ("$(2 * w)", "rad/s"),
        "least": ("$(min(w, 3))", "rad/s"),
        "a": ("$(w / 2 s)", "rad/s^2"),
        "k": ("3 N*m/rad", "N*m/rad"),
        "same": ("$(6 N*m / angle)", "N*m/rad"),
        "c": ("$(k * 1 s)", "N*m*s/rad"),
        "torque": ("$(k * angle)", "m^2*kg/s^2"),
        "speed": ("$(w * 2 m)", "m/s"),
        "slope": ("$(sin(angle))", ""),
        "per": ("2 rad/m", "rad/m"),
        "f": ("5 Hz", "Hz"),
        "plain": ("0.5", ""),
        "two": ("0.5", ""),
    }
    lines = "".join(f"  {name}: {text}\n" for name, (text, _) in given.items())
    text = f"""
liegeo: 1
parameters:
{lines}
bodies: {{rod: {{kind: rigid, mass: $(plain), com: [0, $(two), $(two)], inertia: [$(two), 0.5, 0.5]}}}}
joints: {{hinge: {{kind: revolute, parent: world, child: rod, axis: [0, 1, 0], damping: $(c)}}}}
"""
    (tmp_path / "units.yaml").write_text(text)
    for override in ({}, {"w": 3.0, "k": "1 N*m/deg"}):
        found = lg.load(tmp_path / "units.yaml", set=override).declared
        assert {name: parameter.unit for name, parameter in found.items()} == {
            k: unit for k, (_, unit) in given.items()
        }
        # two is a length and a moment of inertia
        assert (found["plain"].taken_as, found["two"].taken_as) == ("kg", "")
    with pytest.raises(ModelFileError, match=r"set: w is '5 Hz', but the file has '60 rpm', which mixes up turns"):
        lg.load(tmp_path / "units.yaml", set={"w": "5 Hz"})


def test_other_values_are_set_by_their_paths(tmp_path):
    given = {
        "gravity": "[0, 0, -1.62]",
        "bodies.rod.mass": "500 g",
        "bodies.rod.inertia": np.array([1.0, 1.0, 1.0]),
        "experiment.end": np.float64(3.0),
        "joints.hinge.axis": (1, 0, 0),
        "arm.length": "2",
        "arm.mass": np.float64(7.0),
        "count": "5",
    }
    mechanism = load(tmp_path, ROD, set=given)
    (rod,), (hinge,) = mechanism.tree.bodies, mechanism.tree.joints
    assert (rod.mass, rod.com[2], np.diag(rod.inertia).tolist()) == (0.5, -1.0, [1.0, 1.0, 1.0])
    assert mechanism.tree.gravity.tolist() == [0, 0, -1.62]
    assert (mechanism.experiment.end, hinge.axis.tolist()) == (3.0, [1.0, 0.0, 0.0])
    assert mechanism.parameters == {"arm.length": 2, "arm.mass": 7.0, "count": 5}
    again = lg.load(lg.save(mechanism, tmp_path / "again.yaml"))
    assert again.compile().floats.tobytes() == mechanism.compile().floats.tobytes()
    assert (again.experiment, again.parameters) == (mechanism.experiment, mechanism.parameters)
    assert again.changed({"gravity": [0, 0, 0]}).tree.gravity.tolist() == [0, 0, 0]


def test_what_an_alias_shares_is_not_set_with_it(tmp_path):
    text = "liegeo: 1\nbodies:\n  a: &a {kind: rigid, mass: 1, inertia: [1, 1, 1]}\n  b: *a\njoints:\n"
    text += "".join(f"  to {x}: {{kind: free, parent: world, child: {x}}}\n" for x in "ab")
    assert [body.mass for body in load(tmp_path, text, set={"bodies.b.mass": 2}).tree.bodies] == [1.0, 2.0]


@pytest.mark.parametrize(("given", "message"), [
    ({"arm.lenght": 1}, "set: arm.lenght is no parameter of the file, and no value in it. Did you mean 'arm.length'?"),
    ({"arm": 1}, "set: arm is no parameter of the file, and no value in it"),
    ({"bodies.rod": 1}, "set: bodies.rod is no parameter of the file, and no value in it"),
    ({"liegeo": 2}, "set: liegeo is no parameter of the file, and no value in it"),
    ({"bodies.rod.kind": "beam"}, "set: bodies.rod.kind is no parameter of the file, and no value in it"),
    ({"bodies.rod.mass": "1 m"}, "bodies.rod.mass is '1 m', which is a length, expected a mass in kg"),
    ({"arm.length": {}}, "set: arm.length is an empty mapping, expected a number, text, or a list of numbers"),
    ({"gravity": "[0, !x 1]"}, "has the tag !x; tags are not read"),
    ({"arm.length": "1 kg"}, "set: arm.length is '1 kg', a mass, but the file has '1 m'"),
    ({"arm.length": 5.0}, "set: arm.length is 5.0, must be ≤ 300 cm"),
    ({"arm.length": "1 mm"}, "set: arm.length is '1 mm', must be ≥ 1 cm"),
    ({"arm.length": "long"}, "set: arm.length is 'long', expected a number, such as 1.2, 20 mm or $(a + b)"),
    ({"arm.length": "${x}"}, "parameters are written $(name)"),
    ({"arm.length": float("nan")}, "set: arm.length is nan, expected a finite number"),
    ({"arm.length": True}, "set: arm.length is true, expected a finite number"),
    ({"count": "$(t)"}, "uses t, which only laws and inputs may"),
    ({"count": "$(arm.lengt)"}, "uses 'arm.lengt', which is no parameter and no unit. Did you mean 'arm.length'?"),
])  # fmt: skip
def test_what_is_said_about_overrides(tmp_path, given, message):
    assert message in problem(tmp_path, ROD, set=given)


@pytest.mark.parametrize(("parameters", "message"), [
    ("[1, 2]", "parameters is [1, 2], expected a mapping of names to values"),
    ("{a: {value: 1, unit: m}}", "parameters.a.unit is no key of a parameter"),
    ("{a: {value: 1, description: 3}}", "parameters.a.description is 3, expected text; put it in quotes"),
    ("{a: {value: 1, min: x}}", "parameters.a.min is 'x', expected a number"),
    ("{sin: 1}", "parameters.sin is called 'sin'; names have letters, digits and _"),
    ("{a: $(a)}", "parameters.a depends on itself: a → a"),
    ("{a: $(1 / 0)}", "parameters.a is '$(1 / 0)', which divides by zero"),
])  # fmt: skip
def test_what_is_said_about_parameters(tmp_path, parameters, message):
    text = re.sub(r"parameters:.*?bodies", f"parameters: {parameters}\nbodies", ROD, flags=re.DOTALL)
    assert message in problem(tmp_path, text.replace("$(arm.mass)", "1").replace("$(-arm.length)", "1"))


def test_what_is_said_about_an_expression_that_does_not_end(tmp_path):
    said = problem(tmp_path, ROD.replace("$(arm.mass)", '"$(1 kg) * 2"'))
    assert "bodies.rod.mass is '$(1 kg) * 2', which does not end with its ')'; an expression is the whole value" in said


# ---- words and places


@pytest.mark.parametrize(("old", "new", "message"), [
    ("frames:", "shapes: [{kind: box, size: [1, 1, 1], color: 3}]\n    frames:", "color is 3, expected text"),
    ("tip:", '" tip":', "is ' tip', expected a name: printable, without spaces around it"),
    ("parent: world", "parent: 1.5", "is 1.5, expected a name; put it in quotes"),
    ("parent: world", "parent: [1]", "is [1], expected a name"),
    ("parent: world", "parent: $(1 m)", "expected a name"),
    ("parent: world", "parent: ${x}", "parameters are written $(name), with round brackets"),
    ("[0, 0, $(-arm.length)]", "[[1, 2], [3]]", "with 2 entries, expected a position of three numbers in m"),
    ("[0, 0, $(-arm.length)]", "{place: 1}", "has the key 'place', expected position and rotation"),
    ("[0, 0, $(-arm.length)]", "{rotation: {axis: [0, 0, 0], angle: 1}}", "axis [0, 0, 0], expected a direction"),
    ("[0, 0, $(-arm.length)]", "{rotation: {euler: [0, 0, 0]}}", "expected axis and angle, quaternion, or rpy"),
    ("[0, 0, $(-arm.length)]", "{rotation: {quaternion: [1, 1, 0, 0]}}", "quaternion of norm 1.41421, expected 1"),
    ("inertia: [0.2, 0.2, 0.01]", "inertia: 3", "inertia is 3, expected xx, yy, zz, or"),
    ("axis: [0, 1, 0]", "damping: [1, 2]", "damping is [1, 2] with 2 entries, expected one number, or 1"),
    ("kind: rigid", "kind: [rigid]", "bodies.rod.kind is ['rigid'], which is not known"),
    ("frames:", "shapes: [{kind: mesh, vertices: [], triangles: [[0, 0.5, 0]]}]\n    frames:", "three whole numbers"),
    ("frames:", "shapes: 3\n    frames:", "shapes is 3, expected a list"),
    ("rod:\n    kind", "rod: 3\n  rod2:\n    kind", "bodies.rod is 3, expected a mapping"),
    ("rod:\n    kind", "rod: $(arm.mass)\n  rod2:\n    kind", "'$(arm.mass)', expected a mapping with a kind"),
])  # fmt: skip
def test_what_is_said_about_words_and_places(tmp_path, old, new, message):
    assert old in ROD
    assert message in problem(tmp_path, ROD.replace(old, new))


def test_poses_in_every_way(tmp_path):
    ways = [
        "{position: [1, 2, 3], rotation: {axis: [0, 0, 2], angle: 90 deg}}",
        "{position: [1, 2, 3], rotation: {quaternion: [0.7071067811865476, 0, 0, 0.7071067811865476]}}",
        "{position: [1, 2, 3], rotation: {rpy: [0, 0, 90 deg]}}",
        "[[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]",
    ]
    for way in ways:
        frame = load(tmp_path, ROD.replace("[0, 0, $(-arm.length)]", way)).tree.bodies[0].frames["tip"]
        expected = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
        assert np.abs(frame - expected).max() < 1e-15


def test_roll_pitch_and_yaw_are_about_fixed_axes(tmp_path):
    """Roll first, as URDF says: x goes to −z by the pitch, whatever the roll."""
    way = "{rotation: {rpy: [40 deg, 90 deg, 0]}}"
    frame = load(tmp_path, ROD.replace("[0, 0, $(-arm.length)]", way)).tree.bodies[0].frames["tip"]
    assert np.abs(frame[:3, 0] - [0, 0, -1]).max() < 1e-15


# ---- what changes in time


def inputs(folder, signal, name="hinge", more=""):
    return load(folder, ROD + more + f"experiment: {{end: 2 s, inputs: {{{name}: {signal}}}}}\n").experiment.inputs[
        name
    ]


def test_signals(tmp_path):
    (tmp_path / "table.csv").write_text("# comment\ntime, torque\n0, 0\n1, 500\n2, 0\n", "utf-8")
    assert inputs(tmp_path, "3 N*m") == 3.0
    assert inputs(tmp_path, "$(2 * arm.length * 1 N)") == 2.0
    assert inputs(tmp_path, "$(count * sin(t))")(0.5) == pytest.approx(3 * math.sin(0.5))
    times, values = inputs(tmp_path, "{time: [0 s, 500 ms], value: [1 N*m, 2]}")
    assert (times.tolist(), values.tolist()) == ([0.0, 0.5], [1.0, 2.0])
    times, values = inputs(tmp_path, "{file: table.csv, value: torque, unit: N*mm}")
    assert (times.tolist(), values.tolist()) == ([0.0, 1.0, 2.0], [0.0, 0.5, 0.0])
    spline = inputs(tmp_path, "{time: [0, 1, 2, 3], value: [0, 1, 0, 1], interpolation: cubic}")
    assert spline(0.5) == CubicSpline([0, 1, 2, 3], [0, 1, 0, 1])(0.5)
    switched = inputs(tmp_path, "{pieces: [{until: 1 s, value: $(t)}, {value: 5}]}")
    assert [switched(t) for t in (0.5, 1.0, 2.0)] == [0.5, 5, 5]
    force = "forces: {push: {kind: point_force, at: rod.tip}}\n"
    assert inputs(tmp_path, "[0, 0, 0, 1 N, $(t), 2]", "push", force)(0.25).tolist() == [0, 0, 0, 1, 0.25, 2]
    assert inputs(tmp_path, "[0, 0, 0, 1 N, 1, 2]", "push", force).tolist() == [0, 0, 0, 1, 1, 2]
    motor = "forces: {motor: {kind: actuator, joint: hinge, gear: 10}}\n"
    assert inputs(tmp_path, "1 N*m", "motor", motor) == 1.0
    drive = "loops: {drive: {kind: motion, joint: hinge}}\n"
    assert inputs(tmp_path, "$(t^2)", "drive", drive)(3.0) == [9.0, 6.0, 2.0]
    assert inputs(tmp_path, "{pieces: [{until: 1, value: $(t^2)}, {value: 1}]}", "drive", drive)(3.0) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(("signal", "message"), [
    ("true", "is true, expected a number, a list, an expression of t, or samples"),
    ("1 m", "is '1 m', which is a length, expected a torque in N*m"),
    ("[1, 2]", "is [1, 2] with 2 entries, expected 1"),
    ("{time: [0, 1], value: 3}", "has no list of values for 2 times"),
    ("{time: [0, 1], value: [1, 2, 3]}", "has 3 values for 2 times"),
    ("{time: [0, 1], value: [1, [2, 3]]}", "has the values [2, 3] at one time, expected 1"),
    ("{time: [1, 0], value: [1, 2]}", "has times that do not rise, or fewer than two"),
    ("{time: [0, 1], valu: [1, 2]}", "valu is no key here"),
    ("{file: table.csv, value: [a, b]}", "names 2 columns, expected 1"),
    ("{file: table.csv, value: trque}", "the column 'trque', which is not in 'table.csv'. Did you mean 'torque'?"),
    ("{file: text.csv, value: torque}", "names 'text.csv', in which not every row has numbers in these columns"),
    ("{file: latin.csv, value: torque}", "inputs.hinge.file is 'latin.csv', which is not a CSV file in UTF-8"),
    ("{file: table.csv, value: torque, unit: kg}", "is a mass, expected a torque"),
    ("{file: table.csv, value: torque, unit: m**9**9}", "is 'm**9**9', which is no unit"),
    ("{pieces: []}", "has no pieces, expected at least one"),
    ("{pieces: [{value: 1}, {value: 2}]}", "expected an `until` for each piece but the last, in rising order"),
    ("{pieces: [{until: 1, value: [1, 2]}, {value: 2}]}", "has a piece [1, 2] with 2 entries, expected 1"),
    ("$(count * tt)", "uses 'tt', which is no parameter and no unit"),
    ("$(2 m * sin(t))", "is '$(2 m * sin(t))', which is a length, expected a torque in N*m"),
    ("$(5 kg * sin(t) + 2 m)", "is '$(5 kg * sin(t) + 2 m)', which adds a mass and a length"),
    ("$(2 N*m/s * sin(t))", "is in m^2·kg·s^-3, expected a torque in N*m"),
    ("$(2 N*m * sin(3 m * t))", "takes sin of"),
    ("$(2 N * t)", "which is a force, expected a torque in N*m"),
    ('"$(max(1 m, t * 1 kg) * 1 N)"', "compares a length and a mass"),
    ("$(2^t)", "has a power that changes with t, expected a whole number"),
    ("{pieces: [{until: 1, value: $(3 kg * t)}, {value: 2}]}", "is a mass, expected a torque in N*m"),
])  # fmt: skip
def test_what_is_said_about_signals(tmp_path, signal, message):
    (tmp_path / "table.csv").write_text("time,torque\n0,0\n1,1\n", "utf-8")
    (tmp_path / "latin.csv").write_bytes(b"time,torque\n0,\xfc\n")
    (tmp_path / "text.csv").write_text("time,torque\n0,0\n1,high\n", "utf-8")
    text = ROD + f"experiment: {{end: 2 s, inputs: {{hinge: {signal}}}}}\n"
    assert message in problem(tmp_path, text)


@pytest.mark.parametrize(
    "expression",
    ["t^2", "6 * sin(pi * t / 4)^2", "2 N*m * t", "2 N*m/s * t", "1 N*m * sin(2 * pi * t)", "1 N*m * sin(2 rad/s * t)",
     "1 N*m + t", "count * t", "1 N*m * (t / 1 s - sin(2 * pi * t))", "min(2 N*m, 3 N*m/s * t)",
     "1 N*m * sqrt(t / 2 s)", "arm.length * 1 N * t^3", "1 N*m * exp(-3 * t)", "abs(-t) * 1 J"],
)  # fmt: skip
def test_the_time_may_be_a_number_or_a_time(tmp_path, expression):
    assert math.isfinite(inputs(tmp_path, f'"$({expression})"')(0.5))


@pytest.mark.parametrize("name", ["m", "s", "h", "g", "N", "kg"])
def test_a_parameter_is_not_called_like_a_unit(tmp_path, name):
    """Then $(2 N*m) would be a product with it."""
    for value in ("1.5", "{value: 3 m}"):
        text = ROD.replace("  count: 3\n", f"  count: 3\n  {name}: {value}\n")
        said = f"parameters.{name} is called '{name}', which is a unit; call it {name}_0, or put it into a group."
        assert said in problem(tmp_path, text)
    grouped = ROD.replace("  count: 3\n", f"  count: 3\n  {name}: {{of: 2}}\n")
    assert load(tmp_path, grouped).parameters[f"{name}.of"] == 2


def test_what_is_said_about_laws(tmp_path):
    text = ROD + "loops: {drive: {kind: motion, joint: hinge, law: $(2 m * sin(t))}}\n"
    assert "loops.drive.law is '$(2 m * sin(t))', which is a length, expected an angle in rad" in problem(
        tmp_path, text
    )
    text = (
        ROD
        + "loops: {drive: {kind: motion, joint: hinge, law: {time: [0, 1], value: [0, 1], interpolation: linear}}}\n"
    )
    assert "loops.drive.law is a law with linear samples, which have no accelerations" in problem(tmp_path, text)
    free = ROD.replace("revolute", "spherical").replace(", axis: [0, 1, 0]", "")
    text = free + "loops: {drive: {kind: motion, joint: hinge, law: [$(t), 0, 0, 0]}}\n"
    assert "are an element of a group, whose speeds are not their derivatives" in problem(tmp_path, text)
    held = free + "loops: {drive: {kind: motion, joint: hinge, law: {rotation: {axis: [1, 0, 0], angle: 90 deg}}}}\n"
    half = math.sqrt(0.5)
    assert np.abs(load(tmp_path, held).tree.loops[0].law - [half, half, 0, 0]).max() < 1e-15


def test_an_expression_without_a_value_at_some_time_says_when(tmp_path):
    mechanism = load(tmp_path, ROD + "experiment: {end: 2 s, inputs: {hinge: $(1 / (t - 1))}}\n")
    with pytest.raises(InputError, match="an expression of t in the model file has no finite value at t = 1 s"):
        mechanism.experiment.inputs["hinge"](1.0)


# ---- start, experiment, interface


def test_start_and_experiment(tmp_path):
    text = (
        ROD.replace("revolute", "free").replace(", axis: [0, 1, 0]", "")
        + """
initial:
  q: {hinge: {position: [1 m, 0, 0], rotation: {axis: [0, 0, 1], angle: 180 deg}}}
  v: {hinge: [0, 0, 30 rpm, 1 m/s, 0, 0]}
experiment: {start: 1 s, end: 1500 ms, output: [1, 1.2, 1.5], every: 2, method: rkmk-4, step: 1 ms}
"""
    )
    mechanism = load(tmp_path, text)
    state = mechanism.state()
    assert np.abs(state.q - [0, 0, 0, 1, 1, 0, 0]).max() < 1e-15
    assert state.v == pytest.approx([0, 0, math.pi, 1, 0, 0])
    assert state.t == 1.0
    run = mechanism.simulate()
    assert run.t.tolist() == [1.0, 1.2, 1.5]
    assert run.info.method == "rkmk-4"
    assert mechanism.simulate(state=mechanism.compile().state(t=1.0), output=0.25).q[0].tolist() == [
        1,
        0,
        0,
        0,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(("more", "message"), [
    ("initial: {q: {hinge: true}}", "initial.q.hinge is true, expected a number, a list of numbers, or a pose"),
    ("initial: {keep: hinge}", "initial.keep is 'hinge', expected a list of joints, or joints with lists of speeds"),
    ("initial: {keep: {hinge: 0}}", "initial.keep has 0 for 'hinge', expected a list of speeds, counted from 0"),
    ("initial: {keep: [hing]}", "initial.keep names 'hing', which is not a joint. Did you mean 'hinge'?"),
    ("experiment: {step: 0}", "experiment.step is 0, must be > 0"),
    ("experiment: {every: 0}", "experiment.every is 0, must be ≥ 1"),
    ("fmu: {name: 2b}", "fmu.name is '2b', expected letters, digits and _, as a name in C"),
    ("fmu: {inputs: {hinge: {variability: fixed}}}", "fmu.inputs.hinge.variability is for parameters only"),
    ("fmu: {inputs: {hinge: {unit: 3}}}", "fmu.inputs.hinge.unit is 3, expected text"),
    ("fmu: {inputs: {hinge: {unit: '?'}}}", "fmu.inputs.hinge.unit is '?', which is no unit"),
    (
        "fmu: {inputs: {hinge: {unit: kN*m, min: 3 kg}}}",
        "fmu.inputs.hinge.min is '3 kg', which is a mass, expected a value in kN*m",
    ),
    ("fmu: {inputs: {hinge: {min: low}}}", "fmu.inputs.hinge.min is 'low', expected a number"),
    ("fidelity: fulll", "fidelity is 'fulll', expected full or ruthless"),
    ("modal_inverse: identity", "modal_inverse 'identity' needs what does not change with the deformation"),
])  # fmt: skip
def test_what_is_said_about_start_experiment_and_interface(tmp_path, more, message):
    assert message in problem(tmp_path, f"{ROD}{more}\n")


def test_the_interface_of_an_fmu(tmp_path):
    text = (
        ROD
        + """
fmu:
  name: pendulum
  description: a rod
  inputs: {hinge: {description: torque, min: -2 N*m, max: 2 N*m, start: 0}}
  outputs: {"*.angle": {unit: deg, min: -90, max: 1 rad}, rod.tip.position: , energy: {unit: kJ, nominal: 0.01}}
  parameters: {"arm.*": {variability: fixed}, gravity: , bodies.rod.mass: }
  extrapolation: linear
"""
    )
    fmu = load(tmp_path, text.replace("bodies:\n", "gravity: [0, 0, -9.81]\nbodies:\n")).fmu
    assert fmu == Interface(
        name="pendulum",
        description="a rod",
        inputs={"hinge": Variable(description="torque", min=-2.0, max=2.0, start=0.0)},
        outputs={
            "*.angle": Variable(unit="deg", min=-0.5 * math.pi, max=1.0),
            "rod.tip.position": Variable(),
            "energy": Variable(unit="kJ", nominal=10.0),
        },
        parameters={"arm.*": Variable(variability="fixed"), "gravity": Variable(), "bodies.rod.mass": Variable()},
        extrapolation="linear",
    )


# ---- mechanisms made in Python, and writing


@pytest.mark.parametrize("place", ["a", ("a", None), ("world", (1.0, 2.0, 3.0)), ("a", "f"), "a.f"])
def test_places_of_every_kind_are_written(tmp_path, place):
    body = lg.Body("a", mass=1.0, inertia=(1, 1, 1), frames={"f": (0, 0, 1)})
    spring = lm.SpringDamper(name="spring", a=place, b=("world", (0, 0, 1)), stiffness=1.0)
    law = lm.Motion(name="held", joint="base", law=0.25)
    tree = lg.Tree([body], [lm.Revolute(name="base", parent="world", child="a")], forces=[spring], loops=[law])
    again = lg.load(lg.save(tree, tmp_path / "place.yaml"))
    assert again.compile().floats.tobytes() == tree.compile().floats.tobytes()
    assert again.tree.loops[0].law == 0.25


BODY = lg.Body("ball", mass=1.0, inertia=(1, 1, 1))


def ball(**more):
    joint = more.pop("joint", lm.Revolute(name="base", parent="world", child="ball"))
    return lg.Tree([BODY], [joint], name="ball", **more)


def test_everything_of_a_mechanism_made_in_python_is_written(tmp_path):
    mechanism = Mechanism(
        tree=ball(),
        description="two\nlines, and: signs # of 'all' kinds\n",
        initial=Initial(q={"base": 0.1}, v={"base": [0.2]}),
        experiment=Experiment(end=2.0, output=0.5, rtol=1e-6, inputs={"base": ([0.0, 1.0], [0.0, 1.0])}),
        fmu=Interface(
            inputs={"base": Variable(unit="kN*m", min=-0.3, start=0.1)},
            outputs={"*.angle": Variable(unit="deg", max=1.1), "*.speed": Variable(unit="rpm", nominal=0.7)},
        ),
    )
    again = lg.load(lg.save(mechanism, tmp_path / "ball.yaml"))
    assert again.description == mechanism.description
    assert again.initial.q == {"base": 0.1}
    assert again.initial.v["base"].tolist() == [0.2]
    assert (again.experiment.end, again.experiment.output, again.experiment.rtol) == (2.0, 0.5, 1e-6)
    assert [part.tolist() for part in again.experiment.inputs["base"]] == [[0.0, 1.0], [0.0, 1.0]]
    assert again.fmu == mechanism.fmu


def test_strange_names_come_back(tmp_path):
    names = [
        "yes",
        "1e5",
        "null",
        "12",
        "a: b",
        "# no",
        "ümlaut",
        "- x",
        "it's",
        '"q"',
        "*a",
        "&b",
        "!c",
        "{d}",
        "[e]",
        "1",
    ]
    bodies = [lg.Body(name, mass=1.0, inertia=(1, 1, 1)) for name in names]
    joints = [lm.Free(name=f"to {name}", parent="world", child=name) for name in names]
    again = lg.load(lg.save(lg.Tree(bodies, joints), tmp_path / "names.yaml")).tree
    assert [body.name for body in again.bodies] == names
    assert [joint.child for joint in again.joints] == names


class Own(lm.Revolute):
    """A class that files do not know."""


@pytest.mark.parametrize(("tree", "message"), [
    (ball(loops=[lm.Custom(name="c", function=lambda *_: 0.0)]), "Custom 'c' is a function of Python, which a file"),
    (ball(loops=[lm.Motion(name="m", joint="base", law=lambda t: (0, 0, 0))]), "Motion 'm' is <function .*>, a"),
    (ball(joint=Own(name="base", parent="world", child="ball")), "Own 'base' is a class of your own; files do not"),
    (ball(joint=lm.Free(name=" base", parent="world", child="ball")), "the name of Free is ' base', expected a name"),
])  # fmt: skip
def test_what_cannot_be_written(tmp_path, tree, message):
    with pytest.raises(ModelError, match=f"save: {message}"):
        lg.save(tree, tmp_path / "x.yaml")
    assert not list(tmp_path.iterdir())


def test_writing_is_whole_or_not_at_all(tmp_path, monkeypatch):
    file = tmp_path / "ball.yaml"
    lg.save(ball(), file)
    before = file.read_bytes()

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(InputError, match=r"ball\.yaml' cannot be written: No space left on device"):
        lg.save(ball(gravity=(0, 0, 0)), file)
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["ball.yaml"]


def test_files_that_a_model_needs_must_be_there_where_it_is_written(tmp_path):
    (tmp_path / "torque.csv").write_text("time,torque\n0,0\n1,1\n", "utf-8")
    mechanism = load(tmp_path, ROD + "experiment: {end: 1 s, inputs: {hinge: {file: torque.csv, value: torque}}}\n")
    lg.save(mechanism, tmp_path / "beside.yaml")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(ModelError, match=r"refers to 'torque\.csv', not in .*\n  Copy them there first"):
        lg.save(mechanism, tmp_path / "elsewhere/model.yaml")


def test_editors_find_the_schema_of_what_is_written(tmp_path):
    assert lg.save(ball(), tmp_path / "a.yaml").read_text("utf-8").startswith("# Written by liegeo")
    (tmp_path / "model.schema.json").write_text("{}", "utf-8")
    text = lg.save(ball(), tmp_path / "a.yaml").read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=model.schema.json\n# Written by liegeo")


def test_what_is_said_about_arguments(tmp_path):
    with pytest.raises(InputError, match=r"load: 'model\.toml' ends in '\.toml', expected one of \.yaml, \.yml"):
        lg.load("model.toml")
    with pytest.raises(InputError, match=r"save: 'x\.txt' ends in '\.txt', expected \.yaml or \.yml"):
        lg.save(ball(), "x.txt")
    with pytest.raises(InputError, match="is neither a Mechanism nor a Tree; a compiled model has its tree"):
        lg.save(ball().compile(), tmp_path / "x.yaml")
    with pytest.raises(InputError, match="Mechanism: tree is 3, expected a Tree"):
        Mechanism(tree=3)
    with pytest.raises(InputError, match="is not from a model file, so that it has no parameters to set"):
        Mechanism(tree=ball()).changed({"a": 1})
    with pytest.raises(AttributeError, match=r"module 'liegeo\.io' has no attribute 'lod'"):
        _ = lg.io.lod


def test_other_formats_come_through_the_table_of_readers(tmp_path, monkeypatch):
    monkeypatch.setitem(lg.io.READERS, ".ball", ("liegeo.io.files", "read_model"))
    monkeypatch.setitem(lg.io.READERS, ".tree", (__name__, "read_tree"))
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    mechanism = lg.load("some.tree", gravity=(0, 0, 1))
    assert mechanism.tree.gravity.tolist() == [0, 0, 1]
    with pytest.raises(
        InputError, match=r"load: 'some\.tree' has no parameters, but set gives a; only model files have them"
    ):
        lg.load("some.tree", set={"a": 1})


def read_tree(path, **options):
    return ball(**options)


def test_mechanisms_print_well(tmp_path):
    mechanism = load(tmp_path, ROD.replace("liegeo: 1", "liegeo: 1\nname: <rod>\ndescription: a rod & a hinge"))
    assert repr(mechanism) == "<mechanism '<rod>': 1 body, 1 joint, from model.yaml>"
    page = mechanism._repr_html_()
    assert "&lt;rod&gt;" in page
    assert "a rod &amp; a hinge" in page
    assert "$(arm.length)" in page
    assert "1 m — of the rod" in page
    assert repr(Mechanism(tree=ball())) == "<mechanism 'ball': 1 body, 1 joint>"
    assert "ball" in Mechanism(tree=ball())._repr_html_()


BEAM = """
liegeo: 1
materials: {steel: {E: 210 GPa, G: 80 GPa, rho: 7850}}
sections: {strip: {kind: rectangle, width_y: 4 mm, height_z: 40 mm}, rod: {kind: circle, diameter: 10 mm}}
bodies:
  boom:
    kind: beam
    length: 2 m
    material: steel
    section: strip
    elements: 4
    modes: {interfaces: [0, 4], root: 0, count: 0}
    nodes: [4]
joints:
  hinge: {kind: revolute, parent: world, child: boom, child_at: 0, axis: [0, 1, 0]}
"""


@pytest.mark.parametrize(("old", "new", "message"), [
    ("interfaces: [0, 4]", "interfaces: 4", "modes.interfaces is 4, expected a list of nodes, or nodes with lists of"),
    ("nodes: [4]", "damping: {gamma: 1}", "damping has the key 'gamma', expected a share of critical"),
    ("section: strip", "section: [strip]", "section is ['strip'], expected a section, or two: those of both ends"),
    ("section: strip", "section: [strip, rood]", "is 'rood', which is none of the sections. Did you mean 'rod'?"),
    ("elements: 4", "pieces: 0\n    elements: 4", "bodies.boom.pieces is 0, must be ≥ 1"),
    ("section: strip", "section: [strip, rod]\n    pieces: 2", "section is a taper, which a beam in pieces"),
    ("nodes: [4]", "links: {far: {kind: rigid, nodes: [9*]}}", "links.far.nodes are ['9*'], which match no node"),
    ("nodes: [4]", "links: {far: {kind: stiff, nodes: [4]}}", "links.far.kind is 'stiff', expected rigid or average"),
    ("elements: 4", "elements: 1e12", "bodies.boom.elements is 1000000000000.0, expected at most 10000"),
    ("elements: 4", "elements: 0", "elements is 0, expected an integer ≥ 1"),
    ("kind: beam", "kind: block\n    size: [1, 1, 1]", "is no key here"),
    ("length: 2 m", "length: -2 m", "frame 'boom': length is '-2 m', must be > 0"),
    ("E: 210 GPa", "E: 0", "material 'steel': E is 0, must be > 0"),
    ("at: 0,", "at: 0, rest: [1, 2],", "joints.hinge.rest is [1, 2], expected a list of 1 coordinates"),
    ("parent: world", "parent: boom_1", "'boom_1' is not a body of the tree"),
])  # fmt: skip
def test_what_is_said_about_beams(tmp_path, old, new, message):
    assert old in BEAM
    assert message in problem(tmp_path, BEAM.replace(old, new))


@pytest.mark.parametrize(("elements", "message"), [
    ("[1, 1, 1]", "bodies.boom.material is 'steel', which has no nu; solid elements need it"),
    ("[1, 1, 1.5]", "bodies.boom.elements is 1.5, expected a whole number"),
    ("[1, 1]", "bodies.boom.elements is [1, 1], expected three whole numbers"),
    ("[1000, 1000, 1]", "bodies.boom.elements is [1000, 1000, 1], expected at most 100000 elements together"),
])  # fmt: skip
def test_what_is_said_about_blocks(tmp_path, elements, message):
    lines = ["kind: block", "size: [1, 1, 1]", f"elements: {elements}", "material: steel", "modes: {count: 1}"]
    text = re.sub(r"kind: beam.*?joints", "\n    ".join(lines) + "\njoints", BEAM, flags=re.DOTALL)
    assert message in problem(tmp_path, text)


@pytest.mark.parametrize(("more", "message"), [
    ("forces: {f: {kind: point_force, at: 3}}", "forces.f.at is 3, expected body.frame, or a mapping with body and at"),
    ("forces: {f: {kind: point_force, at: {at: tip}}}", "forces.f.at is a mapping with at, expected body and at"),
    ("forces: {f: {kind: point_force, at: {body: rood}}}", "is on 'rood', which is not a body. Did you mean 'rod'"),
    ("forces: {f: {kind: point_force, at: rod.tp}}", "PointForce 'f': at is 'tp', which is no frame or node"),
    ("forces: {f: {kind: bushing, a: rod, b: world, stiffness: 3}}", "forces.f.stiffness is 3, expected six numbers"),
    ("forces: {f: {kind: actuator, joint: hinge, speed: 1}}", "Actuator 'f': joint 'hinge' has no speed 1"),
    ("wheels: {w: {body: rod, inertia: 0}}", "wheel 'w': inertia is 0, must be > 0"),
    ("wheels: {w: {body: rod, inertia: 1, axis: [0, 0, 0]}}", "wheel 'w': axis is zero, expected a direction"),
    ("wheels: {w: {body: rod, inertia: 1, at: tp}}", "wheel 'w': at is 'tp', which is no frame or node"),
    ("loops: {l: {kind: point_on_line, a: rod, b: world, axis: [0, 0, 0]}}", "axis is zero, expected a direction"),
    ("loops: {l: {kind: free, parent: rod, child: world}}", "leaves everything free, so it closes no loop"),
    ("loops: {l: {kind: fixed, parent: rod, child: world, damping: 1}}", "closes a loop and has damping"),
    ("loops: {l: {kind: coupling, terms: {}}}", "Coupling 'l': has no terms"),
    ("experiment: {inputs: {hinge: $(t + tt)}}", "uses 'tt', which is no parameter and no unit"),
])  # fmt: skip
def test_what_is_said_about_forces_wheels_and_loops(tmp_path, more, message):
    said = problem(tmp_path, f"{ROD}{more}\n")
    assert message in said
    last = len(ROD.splitlines()) + 1
    assert f"model.yaml:{last}:" in said


def test_what_is_said_about_spherical_starts(tmp_path):
    text = ROD.replace("revolute", "spherical").replace(", axis: [0, 1, 0]", "")
    said = problem(tmp_path, text + "initial: {q: {hinge: {position: [1, 0, 0]}}}\n")
    assert "but a spherical joint has no position; give rotation alone" in said


def test_modal_coordinates_inputs_and_names_of_nodes(tmp_path):
    """Six static shapes of the tip; the number of elements as a parameter names the node at the end."""
    text = (
        BEAM.replace("elements: 4", "elements: $(n)")
        .replace("nodes: [4]", "nodes: [$(n)]")
        .replace("[0, 4]", "[0, $(n)]")
    )
    text = (
        text.replace("liegeo: 1", "liegeo: 1\nparameters: {n: 4}")
        + """
forces: {push: {kind: point_force, at: {body: boom, at: $(n)}, force: [0, 0, 1]}}
initial: {q: {boom: [0.1, 0, 0, 0, 0, 0]}, v: {boom: [0, 0.2, 0, 0, 0, 0]}, keep: {hinge: [0]}}
experiment: {output: steps, inputs: {boom: [1, 0, 0, 0, 0, $(t)]}}
"""
    )
    mechanism = load(tmp_path, text)
    state = mechanism.state()
    assert (state.q[1], state.v[2]) == (0.1, 0.2)
    assert mechanism.experiment.inputs["boom"](2.0).tolist() == [1, 0, 0, 0, 0, 2.0]
    assert mechanism.initial.keep == {"hinge": [0]}
    assert mechanism.experiment.output == "steps"
    longer = mechanism.changed({"n": 6})
    assert set(longer.tree.bodies[0].nodes) == {"0", "6"}
    again = lg.load(lg.save(mechanism, tmp_path / "again.yaml"))
    assert again.compile().floats.tobytes() == mechanism.compile().floats.tobytes()


def test_rows_of_different_lengths(tmp_path):
    text = ROD.replace(
        "frames: {tip: [0, 0, $(-arm.length)]}", "shapes: [{kind: mesh, vertices: [[0, 0, 0], [1]], triangles: []}]"
    )
    assert "vertices is [[0, 0, 0], [1]] with 1 entries, expected n × 3 numbers in m" in problem(tmp_path, text)
    record = "boom: {kind: record, mass: 1, moment: [0, 0, 0], inertia: [1, 1, 1], C_t: [[1], [1, 2], [1]]}"
    said = problem(tmp_path, f"liegeo: 1\nbodies:\n  {record}\njoints: {{}}\n")
    assert "bodies.boom.C_t has rows of different lengths, expected 3 × n numbers" in said
    assert "bodies.boom.K is missing" in said


def test_names_are_not_computed(tmp_path):
    with pytest.raises(InputError, match=r"is '\$\(x', expected a name; only numbers are computed"):
        fields.read_name("$(x")
