"""Skins of flexible bodies: they close, move rigidly when the body does, and bend with its nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from liegeo import Tree
from liegeo.errors import ModelError
from liegeo.flex import (
    FEModel,
    Frame,
    Material,
    Section,
    beam,
    circle,
    flexible_body,
    i_beam,
    rectangle,
    reduce,
    solid,
    substructure,
    tube,
)
from liegeo.flex.sections import round_outline
from liegeo.flex.surface import Surface
from liegeo.model.joints import Revolute

STEEL = Material(E=2.1e11, rho=7800.0, nu=0.3)
BY_NUMBERS = Section(A=2e-4, Iy=3e-9, Iz=1e-9, J=1e-9)


def _cone(x: float) -> Section:
    return circle(0.05 - 0.02 * x)


SECTIONS = {
    "rectangle": rectangle(0.02, 0.04),
    "circle": circle(0.03),
    "tube": tube(0.05, 0.04),
    "i_beam": i_beam(0.05, 0.1, 0.005, 0.004),
    "numbers": BY_NUMBERS,
    "taper": (circle(0.03), circle(0.01)),
    "function": _cone,
    "two kinds": (circle(0.03), rectangle(0.02, 0.02)),
}


def _closed(triangles) -> bool:
    """Every edge is there once in each direction."""
    directed = Counter((int(t[k]), int(t[(k + 1) % 3])) for t in np.asarray(triangles) for k in range(3))
    return all(count == 1 and directed[b, a] == 1 for (a, b), count in directed.items())


def _volume(surface: Surface) -> float:
    a, b, c = np.moveaxis(surface.points[surface.triangles], 1, 0)
    return float(np.einsum("ti,ti->", a, np.cross(b, c))) / 6.0


def _rigid_field(points):
    """Displacements of points (k × 3 × 6) in the six rigid motions, from the definition."""
    field = np.zeros((len(points), 3, 6))
    for a in range(3):
        field[:, :, a] = np.cross(np.eye(3)[a], points)
        field[:, a, 3 + a] = 1.0
    return field


def _check_rigid(fe: FEModel) -> None:
    moved = (fe.surface.matrix @ fe.rigid).reshape(-1, 3, 6)
    np.testing.assert_allclose(moved, _rigid_field(fe.surface.points), atol=1e-12)


# A section by these numbers has no shear areas.
KINDS = ("euler", "timoshenko")
CASES = [(name, kind) for name in SECTIONS for kind in KINDS if (name, kind) != ("numbers", "timoshenko")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_beam_has_a_closed_skin_that_moves_rigidly(name, kind):
    section = SECTIONS[name]
    frame = Frame(STEEL)
    frame.node("a", (0.3, -0.2, 0.1))
    frame.node("b", (0.9, 0.5, 0.8))
    frame.beam("a", "b", section, n_elements=3, kind=kind, up=(0, 1, 0))
    fe = frame.model()
    assert _closed(fe.surface.triangles)
    assert len(fe.surface.points) < 1000
    _check_rigid(fe)
    if name != "numbers":
        # A polygon of 16 corners has 0.9745 of its circle's area.
        low = 0.999 if name in ("rectangle", "i_beam") else 0.97
        assert low < _volume(fe.surface) / (fe.total_mass / STEEL.rho) < 1.001


def test_a_large_frame_has_a_coarse_skin():
    frame = Frame(STEEL)
    side = 12
    for i in range(side):
        for j in range(side):
            frame.node(f"{i},{j}", (i, j, 0.1 * i * j))
            if i:
                frame.beam(f"{i - 1},{j}", f"{i},{j}", tube(0.05, 0.04))
            if j:
                frame.beam(f"{i},{j - 1}", f"{i},{j}", rectangle(0.03, 0.05))
    fe = frame.model()
    assert _closed(fe.surface.triangles)
    # 264 beams of two rings with 8 or 4 points
    assert len(fe.surface.points) == 2 * 132 * (8 + 4)
    _check_rigid(fe)


def test_a_section_by_numbers_looks_like_what_has_its_inertia():
    square = Section(A=1e-4, Iy=1e-8 / 12, Iz=1e-8 / 12, J=1e-9)
    fe = beam(1.0, square, STEEL, 2)
    np.testing.assert_allclose(np.ptp(fe.surface.points[:, 1:], axis=0), 0.01)
    disc = Section(A=np.pi * 1e-4, Iy=np.pi / 4 * 1e-8, Iz=np.pi / 4 * 1e-8, J=1e-9)
    fe = beam(1.0, disc, STEEL, 2)
    np.testing.assert_allclose(np.hypot(*fe.surface.points[:, 1:].T), 0.01)


@pytest.mark.parametrize("kind", ["euler", "timoshenko"])
def test_the_skin_bends_as_the_nodes_and_the_beam_between_them(kind):
    fe = beam(2.0, rectangle(0.02, 0.04), STEEL, 4, kind=kind)
    body = flexible_body(reduce(fe, ["4"], n_modes=5, root="0"), "arm", ["2", "4"])
    vertices, modes = np.asarray(body.skin.vertices), np.asarray(body.skin.modes)
    for node, x in (("2", 1.0), ("4", 2.0)):
        at = np.flatnonzero(np.abs(vertices[:, 0] - x) < 1e-9)
        turn, move = np.split(np.asarray(body.nodes[node].modes), 2)
        arm = vertices[at] - [x, 0.0, 0.0]
        expected = move + np.cross(turn.T[np.newaxis], arm[:, np.newaxis], axis=2).transpose(0, 2, 1)
        assert len(at) == 4
        np.testing.assert_allclose(modes[at], expected, atol=1e-9 * np.abs(modes).max())
    # Between nodes: the static deflection under a force at the tip, F x²(3L − x)/6EI, and F x/(G As) if it shears.
    E, G, section, force, L = STEEL.E, STEEL.G, rectangle(0.02, 0.04), 10.0, 2.0
    K, load = fe.stiffness.todense()[6:, 6:], np.zeros(fe.n - 6)
    load[-1] = force
    u = np.concatenate([np.zeros(6), np.linalg.solve(K, load)])
    moved = (fe.surface.matrix @ u).reshape(-1, 3)
    x = fe.surface.points[:, 0]
    shear = force * x / (G * section.Asz) if kind == "timoshenko" else 0.0
    bent = force * x**2 * (3 * L - x) / (6 * E * section.Iy) + shear
    np.testing.assert_allclose(moved[:, 2], bent, atol=1e-9 * bent.max())


@pytest.mark.parametrize("kind", ["hex8", "hex20"])
def test_a_solid_has_its_boundary(kind):
    fe = solid.block(1.0, 0.2, 0.1, 4, 2, 1, kind=kind)
    assert _closed(fe.surface.triangles)
    assert _volume(fe.surface) == pytest.approx(0.02)
    _check_rigid(fe)
    # tied to a node of six directions it moves as before
    _check_rigid(fe.rigid_link("end", [n for n in fe.names if n.startswith("8,")]))


def test_a_solid_of_tetrahedra_has_its_boundary():
    corners = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    # six tetrahedra around the diagonal of a cube, whose corners are 4x + 2y + z
    paths = [(4, 2), (4, 1), (2, 4), (2, 1), (1, 4), (1, 2)]
    cells = np.array([(0, a, a + b, 7) for a, b in paths])
    volume = np.linalg.det(corners[cells[:, 1:]] - corners[cells[:, :1]])
    cells[volume < 0.0] = cells[volume < 0.0][:, [0, 2, 1, 3]]
    linear = solid.from_cells(corners, [("tetra", cells)], 7e10, 0.3, 2700.0)
    # the same with nodes in the middle of edges, in meshio's order
    pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
    edges = np.stack([np.sort(cells[:, pair], axis=1) for pair in pairs], axis=1)
    unique, number = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
    points = np.concatenate([corners, corners[unique].mean(axis=1)])
    fine = np.concatenate([cells, 8 + number.reshape(len(cells), 6)], axis=1)
    quadratic = solid.from_cells(points, [("tetra10", fine)], 7e10, 0.3, 2700.0)
    for fe, triangles in ((linear, 12), (quadratic, 48)):
        assert _closed(fe.surface.triangles)
        assert len(fe.surface.triangles) == triangles
        assert _volume(fe.surface) == pytest.approx(1.0)
        _check_rigid(fe)


def test_a_large_solid_is_drawn_by_its_corners():
    fe = solid.block(1.0, 1.0, 0.1, 30, 30, 1)
    assert _closed(fe.surface.triangles)
    assert len(fe.surface.points) == 2 * 31 * 31


def test_every_piece_of_a_substructured_beam_has_a_skin():
    bodies, _ = substructure("boom", 3.0, circle(0.05), STEEL, 3)
    for body in bodies:
        assert np.ptp(np.asarray(body.skin.vertices)[:, 0]) == pytest.approx(1.0)


def test_skins_change_no_bit_of_a_model():
    body = flexible_body(reduce(beam(1.0, circle(0.02), STEEL, 4), ["4"], n_modes=3, root="0"), "arm", ["4"])
    assert body.skin is not None
    joint = Revolute(name="hinge", parent="world", child="arm", axis=(0, 1, 0))
    dressed, bare = (Tree([b], [joint]).compile() for b in (body, replace(body, skin=None)))
    assert dressed.floats.tobytes() == bare.floats.tobytes()
    assert dressed.ints.tobytes() == bare.ints.tobytes()


def test_a_surface_says_what_does_not_fit():
    with pytest.raises(ModelError, match=r"surface: points have shape \(2, 3\) and its matrix \(5, 4\), expected"):
        Surface(np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((5, 4)))


def test_a_round_outline_is_symmetric_about_both_axes():
    points = round_outline(2.0, 3.0)
    assert (points[:, 0] / 1.0) ** 2 + (points[:, 1] / 1.5) ** 2 == pytest.approx(np.ones(len(points)))
    for mirrored in (points * [-1.0, 1.0], points * [1.0, -1.0]):
        distances = np.linalg.norm(points[:, np.newaxis] - mirrored, axis=2)
        assert distances.min(axis=0).max() < 1e-15
