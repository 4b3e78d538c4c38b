"""`loads: appendages` in model files: the inertia that a flexible body carries, found from the other bodies."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import flex, recorded
from liegeo.analysis import synthesis
from liegeo.analysis.modes import modes
from liegeo.errors import ModelFileError
from liegeo.lie import SO3
from liegeo.recorded import recording

ALUMINIUM = flex.Material(72e9, 2700.0, 0.33)
FILE = """\
liegeo: 1
gravity: [0, 0, 0]
parameters:
  payload: {value: 12 kg, description: at the end}
materials:
  aluminium: {E: 72 GPa, rho: 2700 kg/m^3, nu: 0.33}
sections:
  mast: {kind: tube, outer: 0.2, inner: 0.19}
  panel: {kind: rectangle, width_y: 0.6, height_z: 0.02}
bodies:
  mast:
    kind: beam
    length: 8
    material: aluminium
    section: mast
    elements: 8
    modes: {method: loaded-interface, count: 10, loads: appendages}
    nodes: [0, 4, 8]
  panel:
    kind: beam
    length: 6
    material: aluminium
    section: panel
    elements: 6
    modes: {interfaces: [0], root: 0, count: 4}
    nodes: [0, 6]
  payload: {kind: rigid, mass: $(payload), inertia: [1, 2, 2.5], com: [0.3, 0, 0]}
  antenna: {kind: rigid, mass: 5, inertia: [0.3, 0.3, 0.2], com: [0, 0, 0.4]}
joints:
  base: {kind: free, parent: world, child: mast}
  drive: {kind: revolute, parent: mast, child: panel, at: 4, axis: [0, 1, 0]}
  mount: {kind: fixed, parent: mast, child: payload, at: 8}
  gimbal: {kind: revolute, parent: payload, child: antenna, at: [0, 0, 0.5], axis: [1, 0, 0], stiffness: 100}
initial:
  q: {gimbal: 0.4}
"""


def load(folder, text, **values):
    file = folder / "model.yaml"
    file.write_text(text, encoding="utf-8")
    return lg.load(file, set=values)


def about(mass, com, inertia):
    """6 × 6 inertia about a point, of a body with its centre there from it."""
    c = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    return np.block([[np.asarray(inertia) - mass * c @ c, mass * c], [-mass * c, mass * np.eye(3)]])


def mast(loads):
    fe = flex.beam(8.0, flex.tube(0.2, 0.19), ALUMINIUM, 8, name="mast")
    return flex.flexible_body(flex.reduce(fe, (), "loaded-interface", n_modes=10, loads=loads), "mast", ["0", "4", "8"])


def at_end(payload, angle):
    R = SO3.exp([angle, 0.0, 0.0])
    turned = R @ np.diag([0.3, 0.3, 0.2]) @ R.T
    antenna = about(5.0, np.array([0, 0, 0.5]) + R @ [0, 0, 0.4], turned)
    return about(payload, (0.3, 0, 0), np.diag([1, 2, 2.5])) + antenna


def panel(free):
    """A panel along x of 6 m: a row of thin elements with their own moments about their axis, rigid."""
    m, J = 2700.0 * 0.6 * 0.02 * 6, 2700.0 * (0.6**3 * 0.02 + 0.02**3 * 0.6) / 12 * 6
    Iy, Iz = 2700.0 * 0.6 * 0.02**3 / 12 * 6, 2700.0 * 0.6**3 * 0.02 / 12 * 6
    load = about(m, (3.0, 0, 0), np.diag([J, m * 36 / 12 + Iy, m * 36 / 12 + Iz]))
    return load - np.outer(load[1], load[1]) / load[1, 1] if free else load


def same(body, expected):
    assert np.asarray(body.K) == pytest.approx(np.asarray(expected.K), rel=1e-9)
    assert np.abs(np.asarray(body.nodes["8"].modes)) == pytest.approx(
        np.abs(expected.nodes["8"].modes), rel=1e-6, abs=1e-9
    )


@pytest.mark.parametrize("axis", ["free", "sprung", "driven"])
def test_loads_are_those_of_rigid_bodies_about_their_nodes(tmp_path, axis):
    text = FILE
    if axis == "sprung":
        text = text.replace("at: 4, axis: [0, 1, 0]", "at: 4, axis: [0, 1, 0], stiffness: 1e3")
    if axis == "driven":
        text += "loops:\n  still: {kind: motion, joint: drive, law: 0}\n"
    made = load(tmp_path, text)
    expected = mast({"4": panel(axis == "free"), "8": at_end(12.0, 0.4)})
    same(made.tree.bodies[0], expected)
    found = synthesis.appendage_loads(made, "mast")
    assert found["8"] == pytest.approx(at_end(12.0, 0.4), abs=1e-9)
    assert found["4"] == pytest.approx(panel(axis == "free"), rel=1e-9, abs=1e-9)


def test_other_parameters_and_positions_make_other_loads(tmp_path):
    same(load(tmp_path, FILE, payload=40.0).tree.bodies[0], mast({"4": panel(True), "8": at_end(40.0, 0.4)}))
    same(load(tmp_path, FILE).tree.bodies[0], mast({"4": panel(True), "8": at_end(12.0, 0.4)}))
    text = FILE.replace("gimbal: 0.4", "gimbal: -30 deg, drive: 0.3")
    turned = np.kron(np.eye(2), SO3.exp([0, 0.3, 0]))
    same(
        load(tmp_path, text).tree.bodies[0], mast({"4": turned @ panel(True) @ turned.T, "8": at_end(12.0, -np.pi / 6)})
    )


def test_modes_of_a_carrier_with_rigid_appendages_are_those_of_the_structure(tmp_path):
    """[M01, (II-4)]: exactly; with numbers that stand in the file as well."""
    text = FILE.replace("kind: revolute, parent: payload", "kind: fixed, parent: payload")
    text = text.replace(", axis: [1, 0, 0], stiffness: 100", "").replace("initial:\n  q: {gimbal: 0.4}\n", "")
    text = text[: text.index("  panel:\n    kind: beam")] + text[text.index("  payload: {kind: rigid") :]
    text = text.replace(next(line for line in text.splitlines() if line.startswith("  drive")) + "\n", "")
    made = load(tmp_path, text)
    found = modes(made)
    fe = flex.beam(8.0, flex.tube(0.2, 0.19), ALUMINIUM, 8, name="mast")
    assert found.rigid == 6
    first = flex.Component(fe).first_frequency({"8": at_end(12.0, 0.0)})
    assert found.frequencies[6] == pytest.approx(first, rel=1e-8)
    bare = modes(
        load(
            tmp_path,
            text.replace("loads: appendages", 'loads: {"8": ZERO}'.replace("ZERO", str(np.zeros((6, 6)).tolist()))),
        )
    )
    assert found.frequencies[6] < (1.0 - 1e-5) * bare.frequencies[6]
    numbers = str(at_end(12.0, 0.0).tolist())
    again = load(tmp_path, text.replace("loads: appendages", f'loads: {{"8": {numbers}}}'))
    same(again.tree.bodies[0], made.tree.bodies[0])


STEP = """mount: {kind: fixed, parent: boom, child: payload, at: 2}
  step: {kind: fixed, parent: mast, child: boom, at: 8, child_at: 0}"""


def test_carriers_on_carriers_and_beams_in_pieces(tmp_path):
    """A panel in three pieces weighs the same; a boom between mast and payload carries, and is carried."""
    text = FILE.replace("    modes: {interfaces: [0],", "    pieces: 3\n    modes: {interfaces: [0, 6],")
    text = text.replace("child: panel, at: 4", "child: panel_1, at: 4")
    made = load(tmp_path, text)
    same(made.tree.bodies[0], mast({"4": panel(True), "8": at_end(12.0, 0.4)}))
    second = """  boom:
    kind: beam
    length: 2
    material: aluminium
    section: panel
    elements: 2
    modes: {method: loaded-interface, count: 8, loads: appendages}
    nodes: [0, 2]
  payload: {kind"""
    text = FILE.replace("  payload: {kind", second, 1)
    text = text.replace("mount: {kind: fixed, parent: mast, child: payload, at: 8}", STEP)
    made = load(tmp_path, text)
    found = synthesis.appendage_loads(made, "mast")
    same(made.tree.bodies[0], mast(found))
    assert found["8"][5, 5] == pytest.approx(12.0 + 5.0 + 2700.0 * 0.6 * 0.02 * 2)


def test_parameters_of_what_is_carried_are_constants_of_native_fmus(tmp_path):
    load(tmp_path, FILE)
    with recording() as recorder:
        lg.load(tmp_path / "model.yaml", set={"payload": recorder.parameter("payload", 12.0)})
    assert recorder.constants == {"payload": recorded.MODES}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loads: appendages", "loads: appendage", "is 'appendage', expected 6 × 6 inertias by node, or 'appendages'"),
        ("loads: appendages", 'loads: {"8": [[1]]}', "of node '8' "),
        ("nodes: [0, 4, 8]", "nodes: [0, 4, 8]\n    pieces: 2", "which a beam in pieces cannot have"),
        ("interfaces: [0], root: 0, count: 4", "interfaces: [0], root: 0, count: 4, loads: appendages",
         "body 'panel' carries nothing, expected a body with joints on it"),
        ("child: payload, at: 8", "child: payload, at: [8, 0, 0]", "sits at a place on its frame of body 'mast'"),
    ],
)  # fmt: skip
def test_what_cannot_be_found_is_said(tmp_path, old, new, message):
    assert old in FILE
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path, FILE.replace(old, new, 1))
    assert message in str(caught.value)


def test_a_body_that_is_wrong_is_reported_once(tmp_path):
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path, FILE.replace("mass: 5,", "mass: -5,"))
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == ("bodies.antenna.mass", 28)
