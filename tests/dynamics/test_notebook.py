"""What a notebook shows: the right numbers in the right cells, and names that are text, not markup."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from liegeo import flex
from liegeo import model as lm
from liegeo.analysis.modes import modes
from liegeo.model import notebook

NASTY = "<script>alert('&')</script>"


def cells(shown):
    """The tables of some HTML: captions with rows of text.  It is well-formed, or this fails."""
    tables = ET.fromstring(f"<div>{shown}</div>").findall("table")
    return {t.findtext("caption"): [["".join(c.itertext()) for c in row] for row in t.findall("tr")] for t in tables}


@pytest.fixture(scope="module")
def beam():
    fe = flex.beam(1.0, flex.rectangle(0.02, 0.004), flex.Material(E=70e9, rho=2700.0, nu=0.3), 20)
    return flex.flexible_body(flex.reduce(fe, ["0", "20"], root="0", n_modes=2), "beam", ["20"], damping=0.005)


@pytest.fixture(scope="module")
def tree(beam):
    hand = lm.Body("hand", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    joints = [
        lm.Revolute(name="hinge", parent="world", child="beam", axis=(0, 1, 0)),
        lm.Spherical(name="wrist", parent="beam", child="hand", at="20", damping=0.1),
    ]
    loops = [lm.PointOnPlane(name="table", a="world", b="hand")]
    return lm.Tree([beam, hand], joints, name="arm", loops=loops, forces=[lm.Actuator(name="motor", joint="hinge")])


def test_a_tree(tree):
    shown = cells(tree._repr_html_())
    caption = "tree 'arm': 2 bodies, 2 joints, 1 force element, 1 loop, 0.716 kg"
    assert shown[caption][1:] == [
        ["hinge", "Revolute", "world", "beam", "1", "8", "0.216"],
        ["wrist", "Spherical", "beam", "hand", "3", "0", "0.5"],
    ]
    assert shown["loops and forces"][1:] == [["loop", "table", "PointOnPlane"], ["force", "motor", "Actuator"]]
    assert repr(tree) == f"<{caption}>"


def test_a_model(tree):
    model = tree.compile()
    shown = cells(model._repr_html_())
    first, inputs, constraints = shown.values()
    assert first[1:] == [
        ["hinge", "Revolute: world → beam", "0", "0"],
        ["beam", "modes", "1 to 8", "1 to 8"],
        ["wrist", "Spherical: beam → hand", "9 to 12", "9 to 11"],
    ]
    assert inputs[1:] == [["motor", "0"]]
    assert constraints[1:] == [["0", "table", "normal"]]
    assert model.group.q["wrist"] == slice(9, 13)


def test_a_state(tree):
    state = tree.compile().state(v={"hinge": 0.25}, t=2.0)
    (rows,) = cells(state._repr_html_()).values()
    assert rows[1] == ["q", "13", "0 0 0 0 0 0 0 0 0 1 0 0 …"]
    assert rows[2] == ["v", "12", "0.25 0 0 0 0 0 0 0 0 0 0 0"]
    assert "state at t = 2 s" in cells(state._repr_html_())


def test_a_flexible_body(beam):
    """The first frequency is that of a cantilever: 1.8751² √(EI/ρA) / 2π L²."""
    first, nodes = cells(beam._repr_html_()).values()
    assert len(first) == 1 + beam.n_modes
    cantilever = 1.87510407**2 * np.sqrt(70e9 * 0.004**2 / 12 / 2700.0) / (2 * np.pi)
    assert float(first[1][1]) == pytest.approx(cantilever, rel=1e-3)
    assert [row[2] for row in first[1:]] == ["0.5"] * beam.n_modes
    assert ["20", "1 0 0"] in nodes
    assert repr(beam).startswith("<flexible body 'beam': 0.216 kg, 8 modes, 3.29")


def test_a_finite_element_model_and_its_reduction():
    fe = flex.beam(1.0, flex.rectangle(0.02, 0.004), flex.Material(E=70e9, rho=2700.0, nu=0.3), 2, name=NASTY)
    (rows,) = cells(fe._repr_html_()).values()
    assert rows[1:] == [[str(i), f"{i / 2:g} 0 0", "rx ry rz x y z"] for i in range(3)]
    corners = [(node, direction) for node in range(3) for direction in (3, 4, 5)]
    plate = flex.FEModel([(0, 0, 0), (3, 0, 0), (0, 3, 0)], corners, np.eye(9), np.zeros((9, 9)))
    (rows,) = cells(plate.average("middle", [0, 1, 2])._repr_html_()).values()
    assert rows[-2:] == [["2", "0 3 0", "x y z"], ["middle", "1 1 0", "observed"]]
    reduction = flex.reduce(fe, ["2"], root="0", n_modes=1)
    shown = cells(reduction._repr_html_())
    assert shown[repr(reduction)[1:-1]][1:] == [[str(k), f"{f:.5g}"] for k, f in enumerate(reduction.frequencies)]
    assert "<script" not in fe._repr_html_() + reduction._repr_html_()


def test_modes_of_a_model():
    """A pendulum of 1 m, and a body that slides without a spring."""
    bob = lm.Body("bob", mass=1.0, com=(0, 0, -1))
    sledge = lm.Body("sledge", mass=1.0)
    joints = [
        lm.Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0), damping=0.2 * np.sqrt(9.81)),
        lm.Prismatic(name="slide", parent="world", child="sledge", axis=(1, 0, 0)),
    ]
    model = lm.Tree([bob, sledge], joints, name="pair").compile()
    found = modes(model)
    shown = cells(found._repr_html_())
    assert shown[repr(found)[1:-1]][1:] == [
        ["0", "rigid", "0", "slide"],
        ["1", f"{np.sqrt(9.81) / (2 * np.pi):.5g}", "10", "hinge"],
    ]
    tilted = modes(model, model.state(q={"hinge": 0.5}))
    (caption,) = cells(tilted._repr_html_())
    assert caption.endswith(f"; no equilibrium, accelerations to {9.81 * np.sin(0.5):.3g}")


def test_damping_ratios_come_from_the_damping_matrix(beam):
    """Also where modes are coupled: the modal coordinates mixed, nothing changes."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(beam.n_modes, beam.n_modes))

    class Mixed:
        n_modes = beam.n_modes
        M_e, K, D = (mix.T @ np.asarray(matrix) @ mix for matrix in (beam.M_e, beam.K, beam.D))

    for a, b in zip(notebook.frequencies(Mixed), notebook.frequencies(beam), strict=True):
        assert a == pytest.approx(b, rel=1e-6)


def test_a_flexible_body_without_modes(beam):
    fe = flex.beam(1.0, flex.rectangle(0.02, 0.004), flex.Material(E=70e9, rho=2700.0, nu=0.3), 2)
    one = flex.flexible_body(flex.reduce(fe, ["0"], root="0", n_modes=1), "one", ["2"])
    assert repr(one).startswith("<flexible body 'one': 0.216 kg, 1 mode, 3.")
    none = lm.FlexibleBody.from_nodes("none", [lm.LumpedNode(np.zeros((6, 0)), mass=1.0)], np.zeros((0, 0)))
    assert repr(none) == "<flexible body 'none': 1 kg, 0 modes>"
    assert cells(none._repr_html_())["flexible body 'none': 1 kg, 0 modes"][1:] == []


def test_a_joint_shows_what_was_said(tree):
    shown = cells(tree.joints[1]._repr_html_())
    assert shown == {"Spherical, joint 'wrist' (beam → hand)": [["", ""], ["at", "20"], ["damping", "0.1"]]}
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 2.0, 3.0
    joint = lm.Prismatic(name="p", parent="world", child="b", at=pose, axis=(1, 0, 0), damping=[2.0])
    (rows,) = cells(joint._repr_html_()).values()
    assert rows[1:] == [["at (position)", "1 2 3"], ["damping", "2"], ["axis", "1 0 0"]]


def test_names_are_escaped():
    body = lm.Body(NASTY, mass=1.0, inertia=(1, 1, 1))
    joint = lm.Revolute(name=f"{NASTY}!", parent="world", child=NASTY)
    tree = lm.Tree([body], [joint], name=NASTY)
    for thing in (tree, tree.compile(), joint):
        shown = thing._repr_html_()
        assert "<script" not in shown
        assert NASTY in "".join(ET.fromstring(f"<div>{shown}</div>").itertext())


def test_long_tables_end():
    n = notebook.MAX_ROWS + 5
    (rows,) = cells(notebook.table("many", ("a", "b"), [(i, i) for i in range(n)])).values()
    assert len(rows) == 1 + notebook.MAX_ROWS + 1
    assert rows[-1] == ["… and 5 more"]
