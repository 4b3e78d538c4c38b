"""One linear finite-element model, whatever it came from: nodes, degrees of freedom, mass and stiffness.

A degree of freedom is a node and a direction: 0, 1, 2 rotate about x, y, z; 3, 4, 5 move along them (angular first, as
everywhere in liegeo; FE programs number 1–3 for displacement and 4–6 for rotation).  All in one Cartesian frame.

A reader, or a beam, has one duty: to make an FEModel.  Reduction and inertia (modes.py, inertia.py) know nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.errors import Fault, Field, ModelError, Owner, Path_
from liegeo.flex.surface import Surface
from liegeo.lie import SO3
from liegeo.model import notebook
from liegeo.model.checks import check_size, suggest

if TYPE_CHECKING:
    import scipy.sparse as sp
    import scipy.sparse.linalg as spl
else:
    sp = late("scipy.sparse")
    spl = late("scipy.sparse.linalg")

Array = NDArray[np.float64]
# From a static displacement to the geometric stiffness of its stresses, linear in it.
Geometric = Callable[[Array], "sp.csc_array"]

# Names of directions, in the order of liegeo: rotations first.
DIRECTIONS = ("rx", "ry", "rz", "x", "y", "z")

# How far M and K may be from their transposes, relative to their largest entry: files have few digits.
_SYMMETRY = 1e-6
# How negative the smallest eigenvalue of a mass matrix, scaled to ones on its diagonal, may be.
_ROUND_OFF = 1e-8


def rigid_motions(positions: Array, dofs: NDArray[np.int64]) -> Array:
    """The six rigid motions (n × 6): rotations about the axes through the origin, then displacements."""
    out = np.zeros((len(dofs), 6))
    nodes, directions = dofs.T
    p = positions[nodes]
    for a in range(3):
        out[:, a] = np.where(directions == a, 1.0, 0.0)
        turned = np.cross(np.eye(3)[a], p)
        for b in range(3):
            out[directions == 3 + b, a] = turned[directions == 3 + b, b]
        out[:, 3 + a] = np.where(directions == 3 + a, 1.0, 0.0)
    return out


@dataclass(frozen=True, eq=False)
class Arms:
    """Rigid arms from points that move with a rotation vector θ: an arm a moves its end by ½ θ×(θ×a) in second order.

    There are m rotations: `rotation` (3m × n) gives them from the degrees of freedom of a model, and `pull` (9m × k)
    gives W = Σ f aᵀ for each from the forces f on the directions of the pieces, over the arms that turn with it.
    """

    rotation: sp.csr_array
    pull: sp.csr_array

    @classmethod
    def of(cls, rotation: sp.csr_array, group: Any, directions: Any, columns: Any, arms: Array, size: int) -> Arms:
        """Make them from the rotation (`group`), direction (0, 1, 2) and column of each force, and its arm (… × 3)."""
        rows = 9 * np.asarray(group) + 3 * np.asarray(directions)
        entries = (arms.ravel(), ((rows[:, np.newaxis] + np.arange(3)).ravel(), np.repeat(columns, 3)))
        return cls(sp.csr_array(rotation), sp.csr_array(entries, (3 * rotation.shape[0], size)))

    def join(self, other: Arms | None) -> Arms:
        if other is None:
            return self
        rotation, pull = sp.vstack([self.rotation, other.rotation]), sp.vstack([self.pull, other.pull])
        return Arms(sp.csr_array(rotation), sp.csr_array(pull))

    def stiffness(self, forces: Array, theta: Any) -> Any:
        """Return Q with ½ ηᵀ Q η = Σ f·½ θ×(θ×a) for rotations θ η (3m × n): Σ θᵀ(sym W − 1 tr W)θ."""
        W = (self.pull @ forces).reshape(-1, 3, 3)
        blocks = 0.5 * (W + W.transpose(0, 2, 1)) - np.trace(W, axis1=1, axis2=2)[:, np.newaxis, np.newaxis] * np.eye(3)
        m = len(W)
        matrix = sp.bsr_array((blocks, np.arange(m), np.arange(m + 1)), shape=(3 * m, 3 * m))
        return theta.T @ (matrix @ theta)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where the mass is: rigid pieces at positions (p × 3) with directions `dofs` (k × 2: piece, direction) and inertia
    (k × k), which the degrees of freedom of a model move by `motion` (k × n); then M = motionᵀ inertia motion.

    Nodal values do for elements that interpolate displacements from displacements.  Beams do not: their displacement
    between nodes comes from the nodes' rotations too, so vector products of fields are made where the mass is.  Pieces
    that are tied rigidly to a node at a distance have `arms`.
    """

    positions: Array
    dofs: NDArray[np.int64]
    inertia: sp.csr_array
    motion: sp.csr_array
    arms: Arms | None = None

    @classmethod
    def of_nodes(cls, positions: Array, dofs: NDArray[np.int64], mass: Any) -> Pieces:
        """Make pieces of nodes and a mass matrix; of nodes whose centre of mass lies elsewhere, two.

        A block [J b̂; −b̂ m] of a node is a piece with its centre of mass at b/m.  b comes from the momentum of a node
        that turns, summed over all nodes, because consistent mass matrices couple nodes.  The mass m on the diagonal
        goes to the centre; what is left stays with the node.
        """
        n, mass = len(dofs), sp.csr_array(mass)
        index = np.full((len(positions), 6), -1)
        index[dofs[:, 0], dofs[:, 1]] = np.arange(n)
        whole = index[(index >= 0).all(axis=1)]
        along = np.zeros((n, 3))
        moves = dofs[:, 1] >= 3
        along[moves, dofs[moves, 1] - 3] = 1.0
        # B[a, b]: momentum along a for a rotation about b; B = −b̂
        B = np.asarray(mass.T @ along).T[:, whole[:, :3]].transpose(1, 0, 2)
        b = 0.5 * np.stack([B[:, 1, 2] - B[:, 2, 1], B[:, 2, 0] - B[:, 0, 2], B[:, 0, 1] - B[:, 1, 0]], axis=1)
        masses = mass.diagonal()[whole[:, 3:]].mean(axis=1)
        turning = np.sqrt(np.abs(mass.diagonal()[whole[:, :3]]).sum(axis=1) * masses)
        off = np.linalg.norm(b, axis=1) > _ROUND_OFF * turning
        identity = sp.eye_array(n, format="csr")
        if not off.any():
            return cls(positions, dofs, mass, identity)
        whole, masses, count = whole[off], masses[off], int(off.sum())
        centers = b[off] / masses[:, np.newaxis]
        # (u + θ×c) of the centres
        blocks = np.concatenate([-SO3.hat(centers), np.broadcast_to(np.eye(3), (count, 3, 3))], axis=2)
        rows = np.broadcast_to(np.arange(3 * count).reshape(count, 3, 1), blocks.shape)
        columns = np.broadcast_to(whole[:, np.newaxis], blocks.shape)
        motion = sp.csr_array((blocks.ravel(), (rows.ravel(), columns.ravel())), (3 * count, n))
        heavy = sp.diags_array(np.repeat(masses, 3), format="csr")
        new = np.stack([np.repeat(len(positions) + np.arange(count), 3), np.tile((3, 4, 5), count)], axis=1)
        group, direction = np.divmod(np.arange(3 * count), 3)
        arms = Arms.of(
            identity[whole[:, :3].ravel()], group, direction, n + np.arange(3 * count), centers[group], n + 3 * count
        )
        return cls(
            positions=np.concatenate([positions, positions[dofs[whole[:, 0], 0]] + centers]),
            dofs=np.concatenate([dofs, new]),
            inertia=sp.csr_array(sp.block_diag([mass - motion.T @ heavy @ motion, heavy])),
            motion=sp.csr_array(sp.vstack([identity, motion])),
            arms=arms,
        )

    def tied(self, T: sp.csc_array, tie: Arms) -> Pieces:
        """Return the same pieces where u = T û, with the arms of the tie, whose forces are on u."""
        pulled = replace(tie, pull=sp.csr_array(tie.pull @ self.motion.T))
        before = None if self.arms is None else replace(self.arms, rotation=sp.csr_array(self.arms.rotation @ T))
        return replace(self, motion=sp.csr_array(self.motion @ T), arms=pulled.join(before))


@dataclass(frozen=True, eq=False)
class FEModel:
    """Positions (N × 3) of nodes, their names, degrees of freedom (n × 2: node, direction), mass and stiffness (n × n).

    `geometric`, if the source can give it, turns a static displacement into a geometric stiffness, for stiffening.
    `pieces` are where the mass is, if not in the nodes.  `observers` are places that are not nodes: by name a position
    and a 6 × n matrix that gives their small rotation and displacement (see `average`).  `surface` is what it looks
    like (surface.py).
    """

    positions: Any
    dofs: Any
    mass: Any
    stiffness: Any
    names: Sequence[str] = ()
    name: str = "fe"
    geometric: Geometric | None = None
    observers: Mapping[str, tuple[Array, Any]] = field(default_factory=dict)
    pieces: Pieces | None = None
    surface: Surface | None = None
    # True where the mass comes from one that was checked: seconds are saved with 100,000 degrees of freedom.
    known_positive: InitVar[bool] = False

    def __post_init__(self, known_positive: bool) -> None:
        who, owner = f"FE model '{self.name}'", Owner("FE model", self.name)
        positions = np.array(self.positions, dtype=np.float64)
        if positions.ndim != 2 or positions.shape[1] != 3 or not np.isfinite(positions).all():
            raise ModelError(f"{who}: positions has shape {positions.shape}, expected (nodes, 3), all finite.")
        check_size(owner.field("positions"), positions)
        dofs = np.array(self.dofs, dtype=np.int64).reshape(-1, 2)
        names = tuple(str(n) for n in self.names) or tuple(str(i) for i in range(len(positions)))
        if len(names) != len(positions) or len(set(names)) != len(names):
            raise ModelError(f"{who}: {len(names)} names for {len(positions)} nodes, expected one each, all different.")
        if len(dofs) and (dofs.min() < 0 or dofs[:, 0].max() >= len(positions) or dofs[:, 1].max() > 5):
            bad = next(tuple(d) for d in dofs.tolist() if not (0 <= d[0] < len(positions) and 0 <= d[1] < 6))
            raise ModelError(f"{who}: there is no degree of freedom {bad}, expected (node, direction 0 to 5).")
        if len(np.unique(dofs, axis=0)) != len(dofs):
            raise ModelError(f"{who}: a degree of freedom is listed twice.")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "dofs", dofs)
        object.__setattr__(self, "names", names)
        for what in ("mass", "stiffness"):
            object.__setattr__(self, what, _symmetric(owner.field(what), getattr(self, what), len(dofs)))
        self._check_mass(who)
        self._check_pieces(who)
        if not known_positive:
            self._check_positive(who)

    def _check_mass(self, who: str) -> None:
        diagonal = self.mass.diagonal()
        if len(diagonal) and diagonal.min() < 0.0:
            node, direction = self.dofs[int(np.argmin(diagonal))]
            raise ModelError(
                f"{who}: the mass of node '{self.names[node]}', direction {direction}, is {diagonal.min():.6g}, "
                "must be ≥ 0."
            )
        if not self.total_mass > 0.0:
            raise ModelError(f"{who}: has no mass: moving all nodes along an axis moves {self.total_mass:.6g} kg.")

    def _check_pieces(self, who: str) -> None:
        """The mass matrix is that of the pieces."""
        if self.pieces is None:
            return
        motion, x = self.pieces.motion, np.random.default_rng(0).normal(size=self.n)
        if motion.shape[1] != self.n:
            raise ModelError(f"{who}: its pieces are moved by {motion.shape[1]} degrees of freedom, expected {self.n}.")
        expected = self.mass @ x
        difference = np.abs(motion.T @ (self.pieces.inertia @ (motion @ x)) - expected).max()
        if difference > _SYMMETRY * np.abs(expected).max():
            raise ModelError(
                f"{who}: its pieces have another mass matrix than it: Mx differs by {difference:.3g}.\n"
                "  Give the pieces of this mass, or none."
            )

    def _check_positive(self, who: str) -> None:
        """No motion has a negative kinetic energy."""
        diagonal = self.mass.diagonal()
        # scaled to ones on the diagonal, so that kilograms and their square metres can be compared
        heavy = np.flatnonzero(diagonal > 0.0)
        scale = sp.diags_array(1.0 / np.sqrt(diagonal[heavy]))
        scaled = scale @ self.mass[heavy][:, heavy] @ scale
        value, vector = _smallest(scaled)
        light = np.flatnonzero((diagonal == 0.0) & (abs(self.mass).sum(axis=0) > 0.0))
        if value < -_ROUND_OFF or len(light):
            node, direction = self.dofs[light[0] if len(light) else heavy[int(np.argmax(np.abs(vector)))]]
            raise ModelError(
                f"{who}: its mass matrix is not positive: some motion, most of all of node '{self.names[node]}', "
                f"direction {direction}, has a negative kinetic energy."
            )

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return len(np.asarray(self.dofs))

    def __repr__(self) -> str:
        size = f"{len(self.names)} nodes, {self.n} degrees of freedom, {self.total_mass:.6g} kg"
        return f"<FE model '{self.name}': {size}>"

    def _repr_html_(self) -> str:
        """Its nodes: where they are, and which ways they can move."""
        ways: list[list[str]] = [[] for _ in self.names]
        for node, direction in np.asarray(self.dofs).tolist():
            ways[node].append(DIRECTIONS[direction])
        places = zip(self.names, self.positions, ways, strict=True)
        rows = [(name, notebook.numbers(place), " ".join(moves)) for name, place, moves in places]
        rows += [(name, notebook.numbers(place), "observed") for name, (place, _) in self.observers.items()]
        return notebook.table(repr(self).strip("<>"), ("node", "position (m)", "moves in"), rows)

    @property
    def rigid(self) -> Array:
        """See `rigid_motions`."""
        return rigid_motions(np.asarray(self.positions), np.asarray(self.dofs))

    @property
    def inertia(self) -> Array:
        """The 6 × 6 rigid inertia about the origin, angular first."""
        return np.asarray(self.rigid.T @ (self.mass @ self.rigid))

    @property
    def total_mass(self) -> float:
        t = self.rigid[:, 3]
        return float(t @ (self.mass @ t))

    def node(self, name: str | int, field: Path_ = ()) -> int:
        """Return the index of a node by name, which stands in this field."""
        if str(name) not in self.names:
            known = suggest(str(name), self.names[:200])
            raise ModelError(Fault(Owner("FE model", self.name), field, name, f"has no node '{name}'", advice=known))
        return self.names.index(str(name))

    def dof(self, name: str | int, direction: int) -> int:
        """Index of a degree of freedom."""
        found = np.flatnonzero((np.asarray(self.dofs) == (self.node(name), direction)).all(axis=1))
        if not len(found):
            raise ModelError(f"FE model '{self.name}': node '{name}' has no direction {direction}.")
        return int(found[0])

    def place(self, name: str | int) -> tuple[Array, sp.csr_array]:
        """Position of a node or observer, and the 6 × n matrix that gives its small rotation and displacement.

        Of a node without rotations those rows are zero.
        """
        if str(name) in self.observers:
            return self.observers[str(name)]
        i = self.node(name)
        mine = np.flatnonzero(np.asarray(self.dofs)[:, 0] == i)
        directions = np.asarray(self.dofs)[mine, 1]
        matrix = sp.csr_array((np.ones(len(mine)), (directions, mine)), shape=(6, self.n))
        return np.asarray(self.positions)[i], matrix

    def average(self, name: str, nodes: Sequence[str | int], position: ArrayLike | None = None) -> FEModel:
        """The same with an observer that moves as these nodes do on average (RBE3): nothing gets stiffer.

        Its rotation and displacement are those of the rigid motion closest to the nodes' displacements,
        about `position` (their centre, if not given).
        """
        indices = [self.node(n) for n in nodes]
        p = np.asarray(self.positions)[indices]
        center = p.mean(axis=0) if position is None else np.asarray(position, dtype=np.float64)
        rows = np.concatenate([np.concatenate([-SO3.hat(x - center), np.eye(3)], axis=1) for x in p])
        if np.linalg.matrix_rank(rows) < 6:
            raise ModelError(
                f"FE model '{self.name}': the {len(indices)} nodes of '{name}' lie on one line or point, which has no "
                "rotation; give at least three that do not."
            )
        fit = np.linalg.pinv(rows)
        columns = [self.dof(n, 3 + a) for n in nodes for a in range(3)]
        matrix = sp.csr_array((fit.ravel(), (np.repeat(np.arange(6), len(columns)), np.tile(columns, 6))), (6, self.n))
        return self._with(observers={**self.observers, name: (center, matrix)})

    def rigid_link(self, name: str, nodes: Sequence[str | int], position: ArrayLike | None = None) -> FEModel:
        """The same with a new node of six directions to which these nodes are tied rigidly (RBE2)."""
        indices = [self.node(n) for n in nodes]
        p = np.asarray(self.positions)
        center = p[indices].mean(axis=0) if position is None else np.asarray(position, dtype=np.float64)
        dofs = np.asarray(self.dofs)
        tied = np.isin(dofs[:, 0], indices)
        kept = np.flatnonzero(~tied)
        new = len(p)
        # u = T û: tied directions follow the new node, all others stay
        i = np.flatnonzero(tied)
        node, direction = dofs[i].T
        arms = p[node] - center
        follows = np.zeros((len(i), 6))
        follows[np.arange(len(i)), direction] = 1.0
        moves = direction >= 3
        follows[moves, :3] = -SO3.hat(arms[moves])[np.arange(moves.sum()), direction[moves] - 3]
        row, column = np.nonzero(follows)
        rows, columns = np.concatenate([kept, i[row]]), np.concatenate([np.arange(len(kept)), len(kept) + column])
        values = np.concatenate([np.ones(len(kept)), follows[row, column]])
        T = sp.csc_array((values, (rows, columns)), (self.n, len(kept) + 6))
        turned = sp.csr_array((np.ones(3), (range(3), len(kept) + np.arange(3))), (3, len(kept) + 6))
        far = i[moves]
        tie = Arms.of(turned, np.zeros(len(far), dtype=np.int64), direction[moves] - 3, far, arms[moves], self.n)
        pieces = self.pieces or Pieces.of_nodes(p, dofs, self.mass)
        geometric, internal = self.geometric, self.stiffness @ T

        def stiffened(u: Array) -> sp.csc_array:
            """The geometric stiffness of the elements, and that of the tie under the forces that they take from it."""
            assert geometric is not None
            return sp.csc_array(T.T @ geometric(T @ u) @ T + tie.stiffness(internal @ u, turned))

        return self._with(
            positions=np.concatenate([p, center[np.newaxis]]),
            names=(*self.names, name),
            dofs=np.concatenate([dofs[kept], [(new, a) for a in range(6)]]),
            mass=T.T @ self.mass @ T,
            known_positive=True,
            stiffness=T.T @ self.stiffness @ T,
            geometric=None if geometric is None else stiffened,
            observers={k: (x, A @ T) for k, (x, A) in self.observers.items()},
            pieces=pieces.tied(T, tie),
            surface=None if self.surface is None else self.surface.tied(T),
        )

    def _with(self, **changes: Any) -> FEModel:
        same_mass = "mass" not in changes
        kept = {"known_positive": same_mass, "pieces": self.pieces if same_mass else None}
        return FEModel(**{name: getattr(self, name) for name in self.__dataclass_fields__} | kept | changes)


def _smallest(matrix: sp.csr_array) -> tuple[float, Array]:
    """The smallest eigenvalue of a symmetric matrix, and its vector."""
    n = matrix.shape[0]
    if n <= 500:
        values, vectors = np.linalg.eigh(matrix.todense())
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = spl.eigsh(matrix, k=1, which="SA", tol=1e-3, v0=start)
    return float(values[0]), np.asarray(vectors[:, 0])


def _symmetric(field: Field, given: Any, n: int) -> sp.csc_array:
    """Return a symmetric sparse matrix of this size, or raise an error that says what is wrong with it."""
    matrix = sp.csc_array(given, dtype=np.float64)
    if matrix.shape != (n, n):
        found, expected = f"has shape {matrix.shape}", f"expected {(n, n)}: one row per degree of freedom"
        raise ModelError(field.fault(given, expected, finding=found))
    if not np.isfinite(matrix.data).all():
        found = f"holds {matrix.data[~np.isfinite(matrix.data)][0]}"
        raise ModelError(field.fault(given, "expected finite numbers", finding=found))
    check_size(field, matrix.data)
    largest = abs(matrix.data).max() if matrix.nnz else 0.0
    difference = abs(matrix - matrix.T).max() if matrix.nnz else 0.0
    if difference > _SYMMETRY * largest:
        found = f"is not symmetric: it differs from its transpose by {difference:.3g}"
        raise ModelError(field.fault(given, finding=found))
    return sp.csc_array(0.5 * (matrix + matrix.T))
