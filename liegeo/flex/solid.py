"""Solid bodies: a mesh that meshio reads, with elements of scikit-fem, becomes an FEModel.

With the gradients ∇N_a of the shape functions, Lamé's λ and μ, and the integrals

    G_aibj = ∫ ∂_i N_a ∂_j N_b dV                                            (1)

    K_aibj   = λ G_aibj + μ (G_ajbi + δ_ij Σ_k G_akbk)                       (2)
    M_aibj   = δ_ij ∫ ρ N_a N_b dV                                           (3)
    K^g_aibj = δ_ij ∫ ∇N_a · σ ∇N_b dV,   σ = λ tr(ε) 1 + 2 μ ε,  ε of u    (4)

K^g is the geometric stiffness of the stresses of the small displacement u, linear in it.  Elements are isoparametric
and fully integrated.  hex8 and tet4 are too stiff in bending; prefer hex20 and tet10.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.errors import Fault, ModelError, Owner
from liegeo.flex.fe import FEModel
from liegeo.flex.surface import boundary
from liegeo.model.checks import check_size, suggest

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

Array = NDArray[np.float64]

_HEX = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
_HEX_EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
_TET = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
_TET_EDGES = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)]
_HEX_FACES = [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
_TET_FACES = [(0, 1, 2), (0, 1, 3), (1, 2, 3), (2, 0, 3)]


@dataclass(frozen=True)
class Kind:
    """An element: its name in meshio, its class in scikit-fem, where its nodes are, and the order of integration."""

    name: str
    meshio: str
    skfem: str
    corners: list[tuple[int, int, int]]
    edges: list[tuple[int, int]]
    order: int

    @property
    def reference(self) -> Array:
        """Places of the nodes in the reference element, in meshio's order."""
        p = np.array(self.corners, dtype=np.float64)
        return np.concatenate([p, *([0.5 * (p[a] + p[b])[np.newaxis] for a, b in self.edges])])

    @property
    def faces(self) -> list[tuple[list[int], list[int]]]:
        """Of each face its corners, in order around it, and the nodes between one and the next, if it has any."""
        edges = {frozenset(edge): len(self.corners) + k for k, edge in enumerate(self.edges)}
        out = []
        for face in _HEX_FACES if self.corners is _HEX else _TET_FACES:
            around = [frozenset(pair) for pair in zip(face, (*face[1:], face[0]), strict=True)]
            out.append((list(face), [edges[pair] for pair in around if pair in edges]))
        return out


KINDS = (
    Kind("tet4", "tetra", "ElementTetP1", _TET, [], 2),
    Kind("tet10", "tetra10", "ElementTetP2", _TET, _TET_EDGES, 4),
    Kind("hex8", "hexahedron", "ElementHex1", _HEX, [], 3),
    Kind("hex20", "hexahedron20", "ElementHexS2", _HEX, _HEX_EDGES, 5),
)
# Elements in one piece of the sums, so that they fit into memory.
_AT_ONCE = 2048
# Cells that only mark edges and faces of solids.
_MARKS = ("vertex", "line", "triangle", "quad")


def read(path: str | Path, E: float, nu: float, rho: float, name: str | None = None) -> FEModel:
    """A model from any mesh that meshio reads: tet4, tet10, hex8 or hex20, three displacements a node, all free.

    Young's modulus, Poisson's ratio, density; lengths in metres.  Nodes are named by their index in the file, from 0.
    Cells on edges and faces are left out: they mark, and have no mass here.
    """
    meshio = _library("meshio")
    file = Path(path)
    if not file.is_file():
        raise ModelError(f"{file}: is not a file.")
    said = io.StringIO()
    try:
        # meshio prints what is wrong and ends the program
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            mesh = meshio.read(file)
    except (Exception, SystemExit) as error:  # every format of meshio has its own
        why = " ".join((said.getvalue() if isinstance(error, SystemExit) else str(error)).split()) or repr(error)
        raise ModelError(f"{file}: meshio cannot read it: {why[:300]}") from None
    return from_cells(
        mesh.points, [(block.type, block.data) for block in mesh.cells], E, nu, rho, name or file.stem, str(file)
    )


def from_cells(
    points: ArrayLike,
    cells: list[tuple[str, Any]],
    E: float,
    nu: float,
    rho: float,
    name: str = "solid",
    where: str | None = None,
) -> FEModel:
    """A model from points (N × 3) and blocks (meshio's name of the element, indices of its nodes)."""
    owner = Owner(where) if where else Owner("solid", name)
    who = str(owner)
    for value, what, low, high in ((E, "E", 0.0, np.inf), (rho, "rho", 0.0, np.inf), (nu, "nu", -1.0, 0.5)):
        if not low < value < high:
            raise ModelError(owner.field(what).fault(value, f"must be between {low:g} and {high:g}"))
        check_size(owner.field(what), value)
    p = np.asarray(points, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != 3 or not np.isfinite(p).all():
        raise ModelError(f"{who}: points have shape {p.shape}, expected (N, 3), all finite.")
    check_size(owner.field("points"), p)
    blocks = []
    for cell, data in cells:
        kind = next((k for k in KINDS if k.meshio == cell), None)
        if kind is None:
            if cell.startswith(_MARKS):
                continue
            known = [k.meshio for k in KINDS]
            raise ModelError(f"{who}: has cells '{cell}', which are not known.{suggest(cell, known)}")
        nodes = np.asarray(data, dtype=np.int64)
        if not nodes.size:
            continue
        if nodes.ndim != 2 or nodes.shape[1] != len(kind.reference) or nodes.min() < 0 or nodes.max() >= len(p):
            raise ModelError(
                f"{who}: cells '{cell}' have shape {nodes.shape} and nodes {nodes.min()} to {nodes.max()}, expected "
                f"(n, {len(kind.reference)}) and 0 to {len(p) - 1}."
            )
        blocks.append((kind, nodes))
    if not blocks:
        raise ModelError(f"{who}: has no solid cells, expected {', '.join(k.meshio for k in KINDS)}.")
    return _assemble(who, name, p, blocks, E, nu, rho)


def block(
    length: float,
    width: float,
    height: float,
    nx: int,
    ny: int,
    nz: int,
    *,
    E: float = 7.0e10,
    nu: float = 0.33,
    rho: float = 2700.0,
    kind: str = "hex20",
    name: str = "block",
) -> FEModel:
    """A block of nx × ny × nz elements along x from 0 to `length`, centred in y and z; of aluminium if not said.

    Nodes are named "i,j,k" by their place in the grid of half elements: "0,…" is the left end, f"{2 * nx},…" the right.
    """
    chosen = next((k for k in KINDS if k.name == kind and k.corners is _HEX), None)
    if chosen is None:
        raise ModelError(Owner("solid", name).field("kind").fault(kind, "expected hex8 or hex20"))
    sizes = {"length": length, "width": width, "height": height, "nx": nx, "ny": ny, "nz": nz}
    wrong = next((what for what, value in sizes.items() if not value > 0.0), None)
    if wrong is not None:
        found = f"{length:g} × {width:g} × {height:g} m in {nx} × {ny} × {nz} elements"
        raise ModelError(Fault(Owner("solid", name), (wrong,), sizes[wrong], found, "all six must be positive"))
    local = np.round(2.0 * chosen.reference).astype(np.int64)
    corner = 2 * np.stack(np.meshgrid(range(nx), range(ny), range(nz), indexing="ij"), axis=-1).reshape(-1, 3)
    keys = corner[:, np.newaxis] + local
    grid, cells = np.unique(keys.reshape(-1, 3), axis=0, return_inverse=True)
    size = np.array([length, width, height])
    p = (grid / (2.0 * np.array([nx, ny, nz])) - np.array([0.0, 0.5, 0.5])) * size
    model = from_cells(p, [(chosen.meshio, cells.reshape(len(corner), -1))], E, nu, rho, name)
    return model._with(names=[f"{i},{j},{k}" for i, j, k in grid.tolist()])


def _assemble(
    who: str, name: str, points: Array, blocks: list[tuple[Kind, Any]], E: float, nu: float, rho: float
) -> FEModel:
    lam, mu = E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), E / (2.0 * (1.0 + nu))
    used, compact = np.unique(np.concatenate([nodes.ravel() for _, nodes in blocks]), return_inverse=True)
    p, n = points[used], 3 * len(used)
    stiffness, mass = sp.csc_array((n, n)), sp.csc_array((n, n))
    parts, done = [], 0
    for kind, nodes in blocks:
        cells = compact[done : done + nodes.size].reshape(nodes.shape)
        done += nodes.size
        parts += [(kind, first, cells[first : first + _AT_ONCE]) for first in range(0, len(cells), _AT_ONCE)]
    for kind, first, cells in parts:
        N, dN, dV = _integration_points(f"{who}: {kind.meshio}", kind, p[cells], first)
        G = np.einsum("eq,eqai,eqbj->eaibj", dV, dN, dN, optimize=True)
        trace = np.einsum("eakbk->eab", G)
        K = lam * G + mu * (np.swapaxes(G, 2, 4) + np.einsum("eab,ij->eaibj", trace, np.eye(3)))
        m = np.einsum("eq,qa,qb->eab", rho * dV, N, N, optimize=True)
        stiffness = stiffness + _scatter(cells, K, n)
        mass = mass + _scatter(cells, np.einsum("eab,ij->eaibj", m, np.eye(3)), n)

    def geometric(u: Array) -> sp.csc_array:
        """The geometric stiffness (4) of a static displacement."""
        given = np.asarray(u, dtype=np.float64)
        if given.shape != (n,):
            raise ModelError(f"{who}: u has shape {given.shape}, expected ({n},).")
        nodal = given.reshape(-1, 3)
        out = sp.csc_array((n, n))
        for kind, first, cells in parts:
            _, dN, dV = _integration_points(who, kind, p[cells], first)
            gradient = np.einsum("eai,eqaj->eqij", nodal[cells], dN, optimize=True)
            strain = 0.5 * (gradient + np.swapaxes(gradient, 2, 3))
            stress = 2.0 * mu * strain + lam * np.einsum("eqkk,ij->eqij", strain, np.eye(3))
            g = np.einsum("eq,eqai,eqij,eqbj->eab", dV, dN, stress, dN, optimize=True)
            out = out + _scatter(cells, np.einsum("eab,ij->eaibj", g, np.eye(3)), n)
        return out

    return FEModel(
        positions=p,
        # elements that are not inside out have a positive mass, and so has their sum
        known_positive=True,
        dofs=[(i, 3 + a) for i in range(len(used)) for a in range(3)],
        mass=mass,
        stiffness=stiffness,
        names=[str(i) for i in used],
        name=name,
        geometric=geometric,
        surface=boundary(p, [(kind.faces, cells) for kind, _, cells in parts], n),
    )


def _integration_points(who: str, kind: Kind, places: Array, first: int) -> tuple[Array, Array, Array]:
    """Shape functions (q × a), their gradients (e × q × a × 3) and volumes (e × q) at the integration points."""
    skfem = _library("skfem")
    element = getattr(skfem, kind.skfem)()
    X, W = importlib.import_module("skfem.quadrature").get_quadrature(element.refdom, kind.order)
    N, dN = np.empty((X.shape[1], len(kind.reference))), np.empty((X.shape[1], len(kind.reference), 3))
    for i, where in enumerate(np.asarray(element.doflocs, dtype=np.float64)):
        # scikit-fem has its own order of nodes; the place says which one it is
        a = int(np.argmin(np.linalg.norm(kind.reference - where, axis=1)))
        value, slope = element.lbasis(X, i)
        N[:, a], dN[:, a] = value, np.moveaxis(np.broadcast_to(slope, X.shape), 0, -1)
    J = np.einsum("eai,qaj->eqij", places, dN, optimize=True)
    volume = np.linalg.det(J)
    if volume.min() <= 0.0:
        worst = int(np.argmin(volume.min(axis=1)))
        raise ModelError(
            f"{who} element {first + worst} has the Jacobian {volume.min():.3g}, must be > 0: it is turned inside out "
            "or collapsed. Check the order of its nodes."
        )
    return N, np.einsum("qaj,eqji->eqai", dN, np.linalg.inv(J), optimize=True), volume * W


def _scatter(cells: Any, blocks: Array, n: int) -> sp.csc_array:
    """Sum of element matrices (e × a × 3 × a × 3) in the numbering of the model."""
    dofs = (3 * cells[:, :, np.newaxis] + np.arange(3)).reshape(len(cells), -1)
    size = dofs.shape[1]
    rows, columns = np.repeat(dofs, size, axis=1), np.tile(dofs, (1, size))
    return sp.csc_array((blocks.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n))


def _library(name: str) -> Any:
    """scikit-fem or meshio, which are not needed for anything else."""
    try:
        return importlib.import_module(name)
    except ImportError:
        project = "scikit-fem" if name == "skfem" else name
        raise ModelError(
            f"solid bodies need {project}, which is not installed.\n"
            "  pip install 'liegeo[fe]' installs it, in a checkout pip install '.[fe]'."
        ) from None
