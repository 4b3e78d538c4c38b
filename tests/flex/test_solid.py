"""Solid bodies: against beam theory, against CalculiX, patch tests, and what geometric stiffness must do."""

from __future__ import annotations

import ast
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.sparse.linalg import eigsh

from liegeo.errors import LiegeoError, ModelError
from liegeo.flex import readers, solid

pytest.importorskip("skfem", reason="needs liegeo[fe]")
meshio = pytest.importorskip("meshio", reason="needs liegeo[fe]")

CCX = Path(__file__).parent / "data" / "calculix"
E, NU, RHO = 7.0e10, 0.33, 2700.0
L, B, H = 1.0, 0.06, 0.04


def cubes_to_tets(p, cells):
    """Six tetrahedra for each cube, that fit together."""
    paths = [(1, 2), (1, 5), (3, 2), (3, 7), (4, 5), (4, 7)]
    tets = np.concatenate([cells[:, [0, a, b, 6]] for a, b in paths])
    x = p[tets]
    inside_out = np.linalg.det(x[:, 1:] - x[:, :1]) < 0.0
    tets[inside_out] = tets[inside_out][:, [0, 2, 1, 3]]
    return tets


def with_middles(p, cells, edges):
    """The same mesh with a node in the middle of each edge."""
    pairs = np.sort(cells[:, edges].reshape(-1, 2), axis=1)
    unique, index = np.unique(pairs, axis=0, return_inverse=True)
    return np.concatenate([p, p[unique].mean(axis=1)]), np.hstack([cells, len(p) + index.reshape(len(cells), -1)])


def mesh(kind, n=(2, 2, 2), size=(L, B, H), crooked=0.0):
    """Points and cells of a block, its inner points moved at random."""
    grid = np.stack(np.meshgrid(*(np.arange(k + 1) for k in n), indexing="ij"), axis=-1)
    number = np.arange(grid[..., 0].size).reshape(grid.shape[:3])
    inner = ((grid > 0) & (grid < np.array(n))).all(axis=-1)
    noise = np.random.default_rng(3).uniform(-crooked, crooked, grid.shape) * inner[..., np.newaxis]
    p = ((grid + noise) / np.array(n) * np.array(size)).reshape(-1, 3)
    i, j, k = (a.ravel() for a in np.meshgrid(*(np.arange(m) for m in n), indexing="ij"))
    cells = np.stack([number[i + a, j + b, k + c] for a, b, c in solid._HEX], axis=1)
    if kind.startswith("tet"):
        cells = cubes_to_tets(p, cells)
    chosen = next(x for x in solid.KINDS if x.name == kind)
    if chosen.edges:
        p, cells = with_middles(p, cells, np.array(chosen.edges))
    return p, [(chosen.meshio, cells)]


def timoshenko(EI, rho_A, rho_I, shear, tension=0.0, count=3):
    """Angular frequencies of a cantilever with a pulled end, from the transfer matrix of (w, θ, M, Q).

    With V = k G A (w′ − θ):  Q = V + T w′,  Q′ = −ρA ω² w,  M = EI θ′,  M′ = −V − ρI ω² θ.
    """

    def ends(omega):
        c = 1.0 / (1.0 + tension / shear)
        A = np.zeros((4, 4))
        V = np.array([0.0, -tension * c, 0.0, c])
        A[0] = np.array([0.0, 1.0, 0.0, 0.0]) + V / shear
        A[1, 2] = 1.0 / EI
        A[2] = -V - np.array([0.0, rho_I * omega**2, 0.0, 0.0])
        A[3, 0] = -rho_A * omega**2
        return np.linalg.det(expm(A * L)[2:, 2:])

    found, grid = [], np.linspace(1.0, 8001.0, 200)
    for a, b in pairwise(grid):
        if ends(a) * ends(b) < 0.0:
            found.append(brentq(ends, a, b))
        if len(found) == count:
            break
    return np.array(found)


def beam(width, height, nu=NU, **more):
    A, I = width * height, width * height**3 / 12.0
    return timoshenko(E * I, RHO * A, RHO * I, 5.0 / 6.0 * E / (2.0 * (1.0 + nu)) * A, **more)


def frequencies(model, count, extra=None):
    """Of the block held at x = 0."""
    free = np.flatnonzero(model.positions[model.dofs[:, 0], 0] > 1e-9)
    K, M = (m[free][:, free] for m in (model.stiffness if extra is None else model.stiffness + extra, model.mass))
    return np.sqrt(np.sort(eigsh(K, count, M, sigma=0.0, return_eigenvectors=False)))


@pytest.mark.parametrize(("nu", "rtol"), [(0.0, 3e-3), (NU, 0.03)])
@pytest.mark.parametrize("kind", ["hex20", "tet10"])
def test_cantilever_is_a_beam(kind, nu, rtol):
    """First five: three times about the weak axis, twice about the other.

    The held end hinders lateral contraction, which beams do not know; without contraction they agree.
    """
    found = frequencies(solid.from_cells(*mesh(kind, (30, 1, 1)), E, nu, RHO), 5)
    wanted = np.sort(np.concatenate([beam(B, H, nu), beam(H, B, nu, count=2)]))
    np.testing.assert_allclose(found, wanted, rtol=rtol)


def test_linear_elements_come_from_above():
    """hex8 and tet4 lock in bending, and get better with more of them."""
    wanted = beam(B, H, count=1)[0]
    for kind in ("hex8", "tet4"):
        errors = [
            frequencies(solid.from_cells(*mesh(kind, n), E, NU, RHO), 1)[0] / wanted - 1.0
            for n in ((6, 1, 1), (12, 2, 2), (24, 3, 3))
        ]
        assert errors[0] > errors[1] > errors[2] > 0.0


def test_hex20_is_the_c3d20_of_calculix():
    """Both matrices, entry by entry; the deck is read by meshio here and by us there."""
    ours, theirs = solid.read(CCX / "beam.inp", E, NU, RHO), readers.read(CCX / "beam.inp")
    orders = []
    for model in (ours, theirs):
        nodes = np.lexsort(np.round(model.positions, 8).T)
        rows = np.lexsort((model.dofs[:, 1], np.argsort(nodes)[model.dofs[:, 0]]))
        orders.append(rows)
    a, b = orders
    for name in ("mass", "stiffness"):
        mine, other = getattr(ours, name)[a][:, a], getattr(theirs, name)[b][:, b]
        assert abs(mine - other).max() < 1e-12 * abs(other).max()


@pytest.mark.parametrize("kind", [k.name for k in solid.KINDS])
def test_rigid_motions_have_no_energy_and_the_inertia_of_the_block(kind):
    model = solid.from_cells(*mesh(kind, crooked=0.2), E, NU, RHO)
    assert abs(model.stiffness @ model.rigid).max() < 1e-9 * abs(model.stiffness).max()
    m = RHO * L * B * H
    J = m / 3.0 * np.array([B**2 + H**2, L**2 + H**2, L**2 + B**2])
    np.testing.assert_allclose(np.diag(model.inertia), [*J, m, m, m], rtol=1e-12)
    np.testing.assert_allclose(model.inertia[:3, 3:], m / 2.0 * np.cross(np.eye(3), [L, B, H]), atol=1e-12 * m)


@pytest.mark.parametrize("kind", [k.name for k in solid.KINDS])
def test_patch(kind):
    """A constant strain, on a crooked mesh: the energy is that of the continuum, and inner nodes are in balance."""
    model = solid.from_cells(*mesh(kind, crooked=0.2), E, NU, RHO)
    gradient = np.random.default_rng(5).normal(size=(3, 3))
    u = (model.positions @ gradient.T).ravel()
    strain = 0.5 * (gradient + gradient.T)
    stress = E / (1 + NU) * (strain + NU / (1 - 2 * NU) * np.trace(strain) * np.eye(3))
    assert u @ (model.stiffness @ u) == pytest.approx(L * B * H * np.sum(stress * strain), rel=1e-12)
    p = model.positions
    inner = ((p > 1e-9) & (p < np.array([L, B, H]) - 1e-9)).all(axis=1)
    assert inner.any()
    force = (model.stiffness @ u).reshape(-1, 3)
    assert abs(force[inner]).max() < 1e-11 * abs(force).max()


@pytest.mark.parametrize("strain", [2e-4, -1e-4])
def test_tension_raises_bending_frequencies_as_in_beam_theory(strain):
    """ω² grows with T = E A ε, and pressure makes the beam softer; without lateral contraction, as above."""
    model = solid.block(L, B, H, 12, 1, 1, E=E, nu=0.0, rho=RHO)
    extra = model.geometric((model.positions * np.array([strain, 0.0, 0.0])).ravel())
    found = frequencies(model, 2, extra)
    T = E * B * H * strain
    wanted = np.array([beam(*sides, 0.0, tension=T, count=1)[0] for sides in ((B, H), (H, B))])
    assert abs(wanted[0] / frequencies(model, 1)[0] - 1.0) > 0.1
    np.testing.assert_allclose(found, wanted, rtol=2e-3)


@pytest.mark.parametrize("kind", [k.name for k in solid.KINDS])
def test_geometric_stiffness(kind):
    """Linear in u, symmetric, nothing for u or motions without gradient, and σ : ∇vᵀ∇v for constant ones."""
    model = solid.from_cells(*mesh(kind, crooked=0.2), E, NU, RHO)
    rng = np.random.default_rng(7)
    u, v = rng.normal(size=(2, model.n))
    G = model.geometric(2.0 * u - 3.0 * v)
    difference = G - 2.0 * model.geometric(u) + 3.0 * model.geometric(v)
    assert abs(difference).max() < 1e-12 * abs(G).max()
    assert abs(G - G.T).max() < 1e-14 * abs(G).max()
    assert abs(G @ model.rigid[:, 3:]).max() < 1e-12 * abs(G).max()
    # a small rotation of the whole has no stress
    assert abs(model.geometric(model.rigid[:, 1])).max() < 1e-12 * E
    A, C = rng.normal(size=(2, 3, 3))
    strain = 0.5 * (A + A.T)
    stress = E / (1 + NU) * (strain + NU / (1 - 2 * NU) * np.trace(strain) * np.eye(3))
    w = (model.positions @ C.T).ravel()
    G = model.geometric((model.positions @ A.T).ravel())
    wanted = L * B * H * np.sum(stress * (C.T @ C))
    # the sum is of numbers that are far larger than it is
    assert abs(w @ (G @ w) - wanted) < 1e-14 * (abs(w) @ (abs(G) @ abs(w)))
    assert abs(w @ (G @ w) - wanted) < 1e-6 * abs(wanted)


@pytest.mark.parametrize("suffix", [".vtk", ".vtu", ".inp", ".msh"])
@pytest.mark.parametrize("kind", [k.name for k in solid.KINDS])
def test_meshes_from_files(tmp_path, kind, suffix):
    p, cells = mesh(kind, (2, 1, 1))
    file = tmp_path / f"bar{suffix}"
    options = {"file_format": "gmsh22", "binary": False} if suffix == ".msh" else {}
    # a face, as meshes carry to name boundaries, and a point that nothing uses
    faces = [] if suffix == ".inp" else [("triangle", np.array([[0, 1, 2]]))]
    points = np.concatenate([p, [[9.0, 9.0, 9.0]]])
    meshio.write(file, meshio.Mesh(points, [*cells, *faces]), **options)
    model, wanted = solid.read(file, E, NU, RHO), solid.from_cells(p, cells, E, NU, RHO)
    assert model.name == "bar"
    assert model.names == wanted.names
    assert abs(model.stiffness - wanted.stiffness).max() < 1e-9 * abs(wanted.stiffness).max()


def test_pieces_of_the_sums_do_not_matter(monkeypatch):
    whole = solid.block(L, B, H, 5, 2, 1)
    monkeypatch.setattr(solid, "_AT_ONCE", 3)
    pieces = solid.block(L, B, H, 5, 2, 1)
    u = np.random.default_rng(0).normal(size=whole.n)
    for a, b in (
        (whole.mass, pieces.mass),
        (whole.stiffness, pieces.stiffness),
        (whole.geometric(u), pieces.geometric(u)),
    ):
        assert abs(a - b).max() < 1e-14 * abs(a).max()


def test_geometric_stiffness_of_an_end_tied_to_one_node():
    """A rigid link keeps it: a pull on the new node's stress, seen by its rotation."""
    model = solid.block(L, B, H, 4, 1, 1)
    right = [model.names[i] for i in np.flatnonzero(model.positions[:, 0] > L - 1e-9)]
    tied = model.rigid_link("end", right)
    u = np.zeros(tied.n)
    u[tied.dof("end", 3)] = 1e-4
    G = tied.geometric(u)
    assert G.shape == (tied.n, tied.n)
    w = tied.rigid[:, 4]
    assert abs(G @ w).max() < 1e-9 * abs(G).max()
    assert G[[tied.dof("end", 4)], [tied.dof("end", 4)]] > 0.0


def test_two_kinds_in_one_mesh():
    """Each block has its own part of the numbering."""
    p, [(name, cells)] = mesh("hex8", (2, 1, 1))
    tets = cubes_to_tets(p, cells[1:])
    model = solid.from_cells(p, [(name, cells[:1]), ("tetra", tets)], E, NU, RHO)
    assert model.total_mass == pytest.approx(RHO * L * B * H, rel=1e-12)
    assert abs(model.stiffness @ model.rigid).max() < 1e-9 * abs(model.stiffness).max()


def test_nodes_of_a_block_are_named_by_their_place():
    model = solid.block(L, B, H, 3, 2, 1)
    np.testing.assert_allclose(model.positions[model.node("6,4,0")], [L, B / 2, -H / 2], atol=1e-15)
    np.testing.assert_allclose(model.positions[model.node("0,0,1")], [0.0, -B / 2, 0.0], atol=1e-15)


def hide(name):
    def call(tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, name, None)
        (tmp_path / "x.vtk").write_text("")
        solid.read(tmp_path / "x.vtk", E, NU, RHO) if name == "meshio" else solid.block(L, B, H, 1, 1, 1)

    return call


def cells(name, data, points=None, **material):
    p = np.array(solid._HEX, dtype=float) if points is None else points
    return lambda tmp_path, monkeypatch: solid.from_cells(
        p, [(name, data)], **{"E": E, "nu": NU, "rho": RHO, **material}
    )


def garbage(suffix):
    def call(tmp_path, monkeypatch):
        (tmp_path / f"x{suffix}").write_text("not a mesh\n")
        solid.read(tmp_path / f"x{suffix}", E, NU, RHO)

    return call


CUBE = [list(range(8))]
REFUSED = {
    "no meshio": (hide("meshio"), "solid bodies need meshio, which is not installed.", "pip install 'liegeo[fe]'"),
    "no scikit-fem": (hide("skfem"), "solid bodies need scikit-fem, which is not installed."),
    "no file": (lambda p, m: solid.read(p / "none.vtk", E, NU, RHO), "none.vtk: is not a file."),
    "no mesh": (garbage(".vtk"), "x.vtk: meshio cannot read it"),
    "no known suffix": (garbage(".abc"), "x.abc: meshio cannot read it"),
    "E": (cells("hexahedron", CUBE, E=-1.0), "solid 'solid': E is -1, must be between 0 and inf."),
    "nu": (cells("hexahedron", CUBE, nu=0.5), "nu is 0.5, must be between -1 and 0.5."),
    "points": (cells("hexahedron", CUBE, np.zeros((8, 2))), "points have shape (8, 2), expected (N, 3)"),
    "unknown": (cells("hexahedron27", [list(range(8))]), "has cells 'hexahedron27'", "Did you mean 'hexahedron2"),
    "nodes": (cells("hexahedron", [[*range(7), 8]]), "cells 'hexahedron' have shape (1, 8) and nodes 0 to 8, expected"),
    "no solids": (cells("triangle", [[0, 1, 2]]), "has no solid cells, expected tetra, tetra10, hexahedron, hex"),
    "empty": (cells("tetra", np.zeros((0, 4), dtype=int)), "has no solid cells"),
    "inside out": (
        cells("hexahedron", [[4, 5, 6, 7, 0, 1, 2, 3]]),
        "solid 'solid': hexahedron element 0 has the Jacobian -1, must be > 0",
    ),
    "kind": (lambda p, m: solid.block(L, B, H, 1, 1, 1, kind="tet4"), "kind is 'tet4', expected hex8 or hex20."),
    "size": (lambda p, m: solid.block(L, -B, H, 1, 1, 1), "1 × -0.06 × 0.04 m in 1 × 1 × 1 elements, all six must be"),
    "u": (lambda p, m: solid.block(L, B, H, 1, 1, 1).geometric(np.zeros(3)), "u has shape (3,), expected (60,)."),
}


@pytest.mark.parametrize("name", REFUSED)
def test_message(name, tmp_path, monkeypatch, capsys):
    call, *parts = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        call(tmp_path, monkeypatch)
    for part in parts:
        assert part in str(caught.value)
    assert capsys.readouterr() == ("", "")


def test_every_raise_is_reached(tmp_path):
    file = Path(solid.__file__)
    wanted = {
        node.lineno: ast.unparse(node)[:100]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
    }
    for call, *_ in REFUSED.values():
        with pytest.MonkeyPatch.context() as patch, pytest.raises(LiegeoError) as caught:
            call(tmp_path, patch)
        wanted.pop(caught.traceback[-1].lineno + 1, None)
    assert not wanted, f"these have no line in REFUSED: {wanted}"
