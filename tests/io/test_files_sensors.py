"""Sensors in model files: gauges on beams, noise in any unit, and the command line that writes what they show."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import liegeo as lg
from liegeo import model as lm
from liegeo import statics
from liegeo.cli import app
from liegeo.errors import ModelFileError
from liegeo.results import read_table

BOOM = """
liegeo: 1
gravity: [0, 0, 0]
materials: {steel: {E: 210 GPa, rho: 7850 kg/m^3, nu: 0.3}}
sections: {flat: {kind: rectangle, width_y: 20 mm, height_z: 10 mm}}
bodies:
  boom:
    kind: beam
    section: flat
    material: steel
    length: 1 m
    elements: 4
    modes: {interfaces: [4], fixed: [0], root: 0, count: 2}
    nodes: [0, 1, 2, 4]
joints: {clamp: {kind: fixed, parent: world, child: boom}}
forces: {load: {kind: point_force, at: boom.4, force: [0, 0, -1 N]}}
sensors:
  top: {kind: strain_gauge, a: boom.1, b: boom.2, fibre: [0, 0, 5 mm]}
  cell: {kind: force_torque, joint: clamp, period: 1 ms, resolution: [1 N*mm, 1 N*mm, 1 N*mm, 1 mN, 1 mN, 1 mN]}
experiment: {end: 10 ms, output: 1 ms, settle: true}
"""


def file(folder, text):
    path = folder / "boom.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_gauge_on_a_beam_of_a_file(tmp_path):
    """M c/(E I) in the middle of the gauge, 0.375 m from the root; and again from the file that is saved."""
    mechanism = lg.load(file(tmp_path, BOOM))
    again = lg.load(lg.save(lg.Mechanism(mechanism.tree), tmp_path / "again.yaml"))
    expected = 1.0 * (1.0 - 0.375) * 0.005 / (2.1e11 * 0.02 * 0.01**3 / 12)
    for model in (mechanism.compile(), again.compile()):
        state = statics.equilibrium(model)
        (strain,) = model.calculator().outputs("top.strain")(state.q, state.v)
        assert strain == pytest.approx(expected, rel=1e-6)
    gauge = again.tree.sensors[0]
    assert isinstance(gauge, lm.StrainGauge)
    assert (gauge.a, gauge.b, np.asarray(gauge.fibre).tolist()) == ("boom.1", "boom.2", [0.0, 0.0, 0.005])


def test_the_command_line_writes_what_sensors_show(tmp_path):
    path, out = file(tmp_path, BOOM), tmp_path / "run.csv"
    done = CliRunner().invoke(app, ["simulate", str(path), "-o", str(out), "-c", "top.strain", "-c", "cell.*", "-q"])
    assert done.exit_code == 0, done.output
    table = read_table(out)
    assert table.dtype.names == ("time", "top.strain", *(f"cell.{w}.{k}" for w in ("moment", "force") for k in "xyz"))
    np.testing.assert_allclose(table["cell.force.z"], 1.0, atol=1e-3)
    counts = table["cell.moment.y"] / 1e-3
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)


def test_info_counts_sensors(tmp_path):
    done = CliRunner().invoke(app, ["info", str(file(tmp_path, BOOM))], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    assert "StrainGauge" in done.output
    assert "2 sensors" in repr(lg.load(tmp_path / "boom.yaml"))


WRONG = {
    "unit": ("1 mN, 1 mN, 1 mN]", "1 m, 1 mN, 1 mN]", "is a length, expected a force in N"),
    "node": ("b: boom.2", "b: boom.3", "Nodes that are used must be listed in the body's `nodes`."),
    "joint": ("joint: clamp", "joint: clmp", "is not a joint of the tree. Did you mean 'clamp'?"),
    "kind": ("kind: strain_gauge", "kind: strain_gage", "Did you mean 'strain_gauge'?"),
    "key": ("fibre:", "fiber:", "Did you mean 'fibre'?"),
    "noise": ("period: 1 ms, resolution", "delay: 1 ms, resolution", "but the sensor has no period"),
}


@pytest.mark.parametrize(("old", "new", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_found_where_they_stand(tmp_path, old, new, message):
    assert old in BOOM
    with pytest.raises(ModelFileError) as error:
        lg.load(file(tmp_path, BOOM.replace(old, new)))
    (problem,) = error.value.problems
    line = next(k for k, text in enumerate(BOOM.replace(old, new).splitlines(), 1) if new in text)
    assert problem.line == line
    assert message in str(error.value)
