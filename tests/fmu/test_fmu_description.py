"""What an FMU says of itself: units, types, usual sizes, names that are no structures, and who made it."""

from __future__ import annotations

import dataclasses

import fmpy
import fmpy.validation
import numpy as np
import pytest

import fmu_export
import liegeo as lg
from fmu_export.quantity_types import QUANTITIES, Sizes, base_unit, quantity_of, unit_name
from fmu_export.variables import Settings, variables
from liegeo.io.shipped import find
from liegeo.model.joints import Prismatic, Revolute

SETTINGS = Settings("rkmk-4", 0.01, 1e-6, 1e-9)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kg/s^2", "N/m"),
        ("kg/s", "N.s/m"),
        ("m^2*kg", "kg.m2"),
        ("kg/m/s^2", "Pa"),
        ("m^2*kg/s^2", "N.m"),
        ("kg/m/s", "kg/(m.s)"),
        ("N·m·s", "N.m.s"),
        ("N*m*s/rad", "N.m.s/rad"),
        ("rad/s²", "rad/s2"),
        ("1/s", "1/s"),
        ("mm", "mm"),
        ("J", "J"),
        ("kN*s/m", "kN.s/m"),
        ("", ""),
    ],
)
def test_units_are_written_as_engineers_write_them(text, name):
    assert unit_name(text) == name


def test_every_name_of_a_unit_is_that_of_its_quantity():
    """A name is its own name, and has the powers of what stands behind it."""
    assert all(quantity_of(name.replace("2", "^2").replace("3", "^3").replace(".", "*")) for name in QUANTITIES)
    assert base_unit("N/m")[1] == base_unit("kg/s^2")[1] == {"kg": 1, "s": -2}
    assert quantity_of("kg/s^2") == "TranslationalSpringConstant"


def _slider(gravity=(0.0, 0.0, -10.0)):
    """A carriage that carries a rod: together 3 kg; the rod reaches 2.5 m from its hinge."""
    carriage = lg.Body("carriage", mass=1.0, inertia=(1e-4, 1e-4, 1e-4))
    rod = lg.Body("rod", mass=2.0, com=(0, 0, -1.0), inertia=(0.1, 0.1, 0.01), frames={"tip": (0, 0, -2.5)})
    joints = [
        Prismatic(name="rail", parent="world", child="carriage", axis=(1, 0, 0)),
        Revolute(name="hinge", parent="carriage", child="rod", axis=(0, 1, 0)),
    ]
    return lg.Tree([carriage, rod], joints, gravity=gravity).compile()


def test_sizes_follow_from_length_mass_and_time():
    model = _slider()
    sizes = Sizes(model, model.state())
    assert (sizes.length, sizes.mass, sizes.time) == pytest.approx((2.5, 3.0, 0.5))
    nominal = [sizes.nominal(unit) for unit in ("m", "rad", "rad/s", "m/s", "m/s²", "N", "N·m", "J", "kg")]
    # M g = 30 N, M g L = 75 N.m; one digit
    assert nominal == pytest.approx([2.0, 1.0, 2.0, 5.0, 10.0, 30.0, 80.0, 80.0, 3.0])
    assert sizes.nominal("") is None
    assert sizes.nominal("A") is None


def test_without_gravity_the_speed_at_the_start_gives_the_time():
    model = _slider(gravity=(0.0, 0.0, 0.0))
    assert Sizes(model, model.state(v={"hinge": 4.0})).nominal("rad/s") == 4.0
    resting = Sizes(model, model.state())
    assert resting.nominal("rad/s") is None
    assert resting.nominal("m") == 2.0


def test_parameters_do_not_share_names_with_structures():
    names = [v.name for v in variables(lg.load(find("crane")), SETTINGS)]
    assert "load.value" in names
    assert "load" not in names
    assert {"load.position.x", "boom.length"} <= set(names)
    assert not any(other.startswith(f"{name}.") for name in names for other in names)


def test_motions_have_value_rate_and_acceleration():
    listed = {v.name: v for v in variables(lg.load(find("crane")), SETTINGS)}
    assert [listed[f"luffing.{what}"].quantity for what in ("value", "rate", "acceleration")] == [
        "Length",
        "Velocity",
        "Acceleration",
    ]


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """The crane's FMU with an author, and its description."""
    mechanism = lg.load(find("crane"))
    said = {"author": "A. Maker, Works", "version": "1.2", "copyright": "© 2026 Works", "license": "MIT"}
    mechanism = dataclasses.replace(mechanism, fmu=dataclasses.replace(mechanism.fmu, **said))
    file = fmu_export.build(mechanism, tmp_path_factory.mktemp("fmu") / "crane.fmu", bundle=False)
    return file, fmpy.read_model_description(str(file))


def test_a_description_says_who_made_it(described):
    file, found = described
    assert (found.author, found.version, found.license) == ("A. Maker, Works", "1.2", "MIT")
    assert found.copyright == "© 2026 Works"
    assert fmpy.validation.validate_fmu(str(file)) == []


def test_variables_have_types_with_quantities(described):
    by_name = {variable.name: variable for variable in described[1].modelVariables}
    luffing, angle = by_name["luffing.value"].declaredType, by_name["slew.angle"].declaredType
    assert (luffing.name, luffing.quantity, luffing.unit, luffing.displayUnit) == ("Length", "Length", "m", "mm")
    assert (angle.name, angle.quantity, angle.unit) == ("Angle_deg", "Angle", "deg")
    stiffness = by_name["rope.stiffness"]
    assert (stiffness.unit, stiffness.declaredType.quantity) == ("N/m", "TranslationalSpringConstant")


def test_nominals_are_in_the_unit_of_their_variable(described):
    by_name = {variable.name: variable for variable in described[1].modelVariables}
    assert float(by_name["slew.angle"].nominal) == pytest.approx(np.degrees(1.0))
    assert 10.0 <= float(by_name["load.position.x"].nominal) <= 100.0
    given = [float(v.nominal) for v in by_name.values() if v.nominal is not None]
    assert len(given) > 20
    assert min(given) > 0.0


def test_who_made_a_model_stands_in_its_file(tmp_path):
    mechanism = lg.load(find("double_pendulum"))
    named = dataclasses.replace(mechanism, fmu=dataclasses.replace(mechanism.fmu, author="me", license="MIT"))
    lg.save(named, tmp_path / "model.yaml")
    again = lg.load(tmp_path / "model.yaml").fmu
    assert (again.author, again.license, again.version, again.copyright) == ("me", "MIT", None, None)
