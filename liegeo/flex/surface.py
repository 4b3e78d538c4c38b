"""Surfaces of finite-element models: what a flexible body looks like, and how it moves.  No equation reads them.

A surface has points, triangles, and a sparse matrix from the degrees of freedom to the displacement of every point.  A
beam's is the outline of its section, swept: a point at (y, z) of the section at x moves by u(x) + θ(x)×(0, y, z), with
the element's own shapes.  A solid's are the faces that only one element has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo._lazy import late
from liegeo.errors import ModelError
from liegeo.flex.sections import Section, box_outline, round_outline
from liegeo.lie import SO3
from liegeo.model.shapes import Skin

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

Array = NDArray[np.float64]
Index = NDArray[np.int64]
# Of each face of an element its corners, and the nodes between one and the next, if it has any.
Faces = Sequence[tuple[Sequence[int], Sequence[int]]]


@dataclass(frozen=True, eq=False)
class Surface:
    """Points (k × 3), triangles (rows of three points, seen from outside against the clock), and a matrix (3k × n) that
    gives the points' displacements, x, y, z of one after another."""

    points: Any
    triangles: Any
    matrix: Any

    def __post_init__(self) -> None:
        points, triangles = np.asarray(self.points, dtype=np.float64), np.asarray(self.triangles, dtype=np.int64)
        matrix = sp.csr_array(self.matrix)
        if points.ndim != 2 or points.shape[1] != 3 or matrix.shape[0] != points.size:
            raise ModelError(
                f"surface: points have shape {points.shape} and its matrix {matrix.shape}, expected (k, 3) and (3k, n)."
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles)
        object.__setattr__(self, "matrix", matrix)

    def tied(self, transformation: Any) -> Surface:
        """The same for other degrees of freedom û, of which the present ones are u = T û."""
        return Surface(self.points, self.triangles, self.matrix @ transformation)

    def skin(self, shapes: Array) -> Skin:
        """How modes (n × m) move it."""
        return Skin(self.points, (self.matrix @ shapes).reshape(*self.points.shape, shapes.shape[1]), self.triangles)


def joined(surfaces: Sequence[Surface]) -> Surface | None:
    """All of them as one; None if there are none."""
    if not surfaces:
        return None
    starts = np.cumsum([0, *(len(s.points) for s in surfaces[:-1])])
    return Surface(
        np.concatenate([s.points for s in surfaces]),
        np.concatenate([s.triangles + start for s, start in zip(surfaces, starts, strict=True)]),
        sp.vstack([s.matrix for s in surfaces], format="csr"),
    )


# ---------------------------------------------------------------- beams


def _equivalent(section: Section) -> tuple[Array, ...]:
    """A rectangle or an ellipse with the radii of gyration of a section that is given by numbers.

    An ellipse has A = 4π i_y i_z, a rectangle A = 12 i_y i_z: whichever comes nearer.
    """
    i_y, i_z = np.sqrt(section.Iz / section.A), np.sqrt(section.Iy / section.A)
    if 0.5 * (12.0 + 4.0 * np.pi) * i_y * i_z < section.A:
        return (round_outline(4.0 * i_y, 4.0 * i_z),)
    return (box_outline(np.sqrt(12.0) * i_y, np.sqrt(12.0) * i_z),)


# With more elements than these, round sections are drawn with a half and a quarter of their points, and no holes.
_MANY, _VERY_MANY = 60, 300


def outlines(sections: Sequence[Section], n_elements: int) -> list[tuple[Array, ...]]:
    """One or two closed lines (the second one a hole) for each section, all with the same number of points."""
    found = [s.outline if s.outline is not None else _equivalent(s) for s in sections]
    if n_elements > _MANY:
        every = 2 if n_elements <= _VERY_MANY else 4
        found = [(line[:: every if len(line) >= 16 else 1],) for line, *_ in found]
    if len({tuple(map(len, loops)) for loops in found}) > 1:
        # Sections of different kinds along one beam: rectangles can follow each other.
        return [(box_outline(np.sqrt(12.0 * s.Iz / s.A), np.sqrt(12.0 * s.Iy / s.A)),) for s in sections]
    return found


def _area(polygon: Array) -> float:
    y, z = polygon.T
    return 0.5 * float(y @ np.roll(z, -1) - z @ np.roll(y, -1))


def triangulate(polygon: Array) -> list[tuple[int, int, int]]:
    """Triangles of a simple polygon that is given against the clock: a fan, or by cutting off ears."""

    def turn(a: int, b: int, c: int) -> float:
        return _area(polygon[[a, b, c]])

    n = len(polygon)
    if all(turn(k - 2, k - 1, k) > 0.0 for k in range(n)):
        return [(0, k, k + 1) for k in range(1, n - 1)]
    left, out = list(range(n)), []
    while len(left) > 3:
        ears = [(left[k - 1], b, left[(k + 1) % len(left)]) for k, b in enumerate(left)]
        free = [
            (a, b, c)
            for a, b, c in ears
            if turn(a, b, c) > 0.0
            and not any(min(turn(a, b, p), turn(b, c, p), turn(c, a, p)) >= 0.0 for p in left if p not in (a, b, c))
        ]
        # The fattest one, so that no slivers are left.
        ear = max(free, key=lambda e: turn(*e))
        out.append(ear)
        left.remove(ear[1])
    return [*out, (left[0], left[1], left[2])]


def _caps(loops: tuple[Array, ...]) -> Index:
    """Triangles of one end, seen from the side to which x points."""
    if len(loops) == 1:
        return np.array(triangulate(loops[0]), dtype=np.int64)
    # Between an outline and its hole, with as many points.
    n = len(loops[0])
    k, after = np.arange(n), (np.arange(n) + 1) % n
    return np.concatenate([np.stack([k, after, n + after], axis=1), np.stack([k, n + after, n + k], axis=1)])


def swept(
    profile: Sequence[tuple[Array, ...]], axis: Array, rotation: Array, motion: Array, dofs: Index, n: int
) -> Surface:
    """The surface of a beam with closed ends.

    For each station: the section's outlines, the place on the axis, and how 12 of the n degrees of freedom, in `dofs`,
    turn and move it (6 × 12, in the beam's axes); `rotation` takes these axes to the frame's.
    """
    rings = np.stack([np.concatenate(loops) for loops in profile])
    stations, around = rings.shape[:2]
    arms = np.concatenate([np.zeros((stations, around, 1)), rings], axis=2)
    # u + θ × r, then from the beam's axes to the frame's
    local = motion[:, np.newaxis, 3:] - SO3.hat(arms) @ motion[:, np.newaxis, :3]
    values = rotation @ local
    rows = np.arange(3 * stations * around).reshape(stations, around, 3, 1)
    columns = np.broadcast_to(dofs[:, np.newaxis, np.newaxis], values.shape)
    entries = (values.ravel(), (np.broadcast_to(rows, values.shape).ravel(), columns.ravel()))
    matrix = sp.csr_array(sp.coo_array(entries, shape=(3 * stations * around, n)))
    matrix.eliminate_zeros()

    triangles, first = [], 0
    for loop, polygon in enumerate(profile[0]):
        k = first + np.arange(len(polygon))
        after = np.roll(k, -1)
        # The hole's wall looks inward.
        a, b = (k, after) if loop == 0 else (after, k)
        low = around * np.arange(stations - 1)[:, np.newaxis]
        walls = ((low + a, low + b, low + around + b), (low + a, low + around + b, low + around + a))
        triangles += [np.stack(corners, axis=2).reshape(-1, 3) for corners in walls]
        first += len(polygon)
    cap = _caps(profile[0])
    ends = [cap[:, ::-1], (stations - 1) * around + cap]
    points = (axis[:, np.newaxis] + arms @ rotation.T).reshape(-1, 3)
    return Surface(points, np.concatenate([*triangles, *ends]), matrix)


# ---------------------------------------------------------------- solids

# More surface nodes than this, and the nodes in the middle of edges are left out.
_FINE = 5000


def boundary(points: Array, blocks: Sequence[tuple[Faces, Index]], n: int) -> Surface:
    """The faces that one element alone has, as triangles; three displacements a node, in order.

    Blocks are the faces of an element and the nodes (e × a) of its kind.
    """
    corners, between, inside = [], [], []
    for faces, nodes in blocks:
        for around, edges in faces:
            # triangles and quadrilaterals in one table: a triangle's last corner stands twice
            corners.append(nodes[:, [*around, around[-1]][:4]])
            # −1 where there is no node
            padded = np.concatenate([nodes, np.full((len(nodes), 1), -1)], axis=1)
            between.append(padded[:, [*edges, -1, -1, -1, -1][:4]])
            inside.append(points[nodes].mean(axis=1))
    face, mid, middle = np.concatenate(corners), np.concatenate(between), np.concatenate(inside)
    _, first, counts = np.unique(np.sort(face, axis=1), axis=0, return_index=True, return_counts=True)
    alone = np.sort(first[counts == 1])
    face, mid, middle = face[alone], mid[alone], middle[alone]
    # Outward is away from the element's middle.
    normal = np.cross(points[face[:, 1]] - points[face[:, 0]], points[face[:, 2]] - points[face[:, 0]])
    inward = np.einsum("fi,fi->f", normal, points[face[:, 0]] - middle) < 0.0
    if len(np.unique(np.concatenate([face.ravel(), mid.ravel()]))) > _FINE:
        mid = np.full_like(mid, -1)
    triangles = [np.where(inward[rows][:, np.newaxis], t[:, ::-1], t) for rows, t in _split(face, mid)]
    used, compact = np.unique(np.concatenate(triangles), return_inverse=True)
    columns = (3 * used[:, np.newaxis] + np.arange(3)).ravel()
    matrix = sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), n))
    return Surface(points[used], compact.reshape(-1, 3), matrix)


def _split(face: Index, mid: Index) -> list[tuple[Index, Index]]:
    """Triangles of faces: which faces, and their triangles, one each."""
    three = face[:, 2] == face[:, 3]
    plain = mid[:, 0] < 0
    out = []

    def add(chosen: NDArray[np.bool_], triangles: str) -> None:
        rows = np.flatnonzero(chosen)
        for corners in triangles.split():
            picked = [face[rows, int(c)] if c.isdigit() else mid[rows, "abcd".index(c)] for c in corners]
            out.append((rows, np.stack(picked, axis=1)))

    # corners are 0 to 3; a lies between 0 and 1, b between 1 and 2, and so on
    add(three & plain, "012")
    add(~three & plain, "012 023")
    add(three & ~plain, "0ac a1b cb2 abc")
    add(~three & ~plain, "0ad 1ba 2cb 3dc abc acd")
    return out
