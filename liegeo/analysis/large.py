"""The few slowest modes of a large model at rest, without its matrices: one sparse factorisation.

In relative coordinates ε stiffness and mass are dense, but their factors are sparse: M = H Φ M_m Φᵀ Hᵀ + J_a,
Φ = (I − E)⁻¹ ([JR90, (3.45)], operators.py (1)–(4)), and E has one block per joint.  Let z be small displacements of
the bodies, of their modes and of their frames along these; f(z) the forces that hold each body, in its own axes;
F = Φ f those that the joints transmit; τ = H F.  Poses vary as they move, so that z = Φᵀ Hᵀ ε.  With δΦ = Φ δE Φ it
follows for small ε, at rest, that

    z = Eᵀ z + Hᵀ ε,                                                                                              (1)
    δF = E δF + K_b z + Γ ε,      K_b = ∂f/∂z,      Γ ε = δE(ε) F,                                               (2)
    K ε = H δF + N ε,             N ε = δH(ε) F + δ(forces that oppose the motion of joints).                    (3)

Γ and N, which only know F and each joint alone, are geometric stiffness; so is what K_b has of gravity and of tensions.
With s² M_m + s C_b + K_b in (2) and s² J_a + s C_j + N in (3), and the rows J_b z + J_ε ε of constraints,

    z − Eᵀ z − Hᵀ ε = 0,    δF − E δF − (s² M_m + s C_b + K_b) z − Γ ε − J_bᵀ μ = 0,
    H δF + (s² J_a + s C_j + N) ε + J_εᵀ μ = r,    J_b z + J_ε ε = 0                                              (4)

is a sparse system whose Schur complement with respect to ε (and μ) is [Q(s), Jᵀ; J, 0], Q(s) = s² M + s C + K.  One LU
factorisation of (4) applies Q(s)⁻¹ on the tangent of the constraints; what it costs grows as the number of bodies.

**Where the blocks come from.**  f is inverse dynamics of the companion: the same bodies, each on a free joint of its
own, with the same forces and loops between frames but without the joints.  Bodies that share no force, and no neighbour
that feels both, take complex steps together (Curtis, Powell and Reid), so that K_b, C_b and J_b cost as many O(N)
passes as one body has coordinates.  δE F and δH F are complex steps of the blocks of operators.py, likewise of all
joints together: E of a joint knows its own coordinates and the modes of the two bodies, so that modes of bodies at even
and at odd depths step apart.  Nothing is subtracted.

**Modes.**  Without damping Lanczos' method runs on (K + s²M)⁻¹ M, in the norm of M.  With damping Arnoldi's runs on the
inverse of the quadratic problem, for speeds w = λ x,

    (x, w) → (y, x + s y),      y = −Q(s)⁻¹ (C x + s M x + M w),                                                     (5)

with rigid motions Z projected out, P = 1 − Z ZᵀM, if nothing damps them.

**Rigid motions** are those of which the terms of εᵀ K ε = zᵀ K_b z + zᵀ Γ ε + εᵀ N ε are zero or cancel but for their
round-off, or of less than _RIGID of s², which follows the slowest other eigenvalue, so that a soft spring beside stiff
ones is a spring.

**What is checked.**  K, C and M of the kernels, O(N) by complex steps as well, are independent of (1)–(4).  Where their
residual would move a mode by more than _EXACT or its eigenvalue by more than _SAME, where K is not symmetric (loads
that follow), where something moves, is accelerated or has a first-order state, and where it is not clear what is rigid,
`few_modes` returns None: modes.py then takes the dense matrices.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics, operators
from liegeo._lazy import late
from liegeo.analysis.eigenmodes import DAMPED, Eigenmodes
from liegeo.errors import ModelError
from liegeo.kernels import inverse, layout, loops
from liegeo.lie import SE3Q
from liegeo.model.ball_stops import BallStop
from liegeo.model.body import FlexibleBody
from liegeo.model.compiler import WORLD
from liegeo.model.constraints import Coupling, FrameConstraint, Motion
from liegeo.model.forces import place_fields
from liegeo.model.joints import Free, Joint
from liegeo.model.model import Model
from liegeo.model.state import State
from liegeo.model.tree import Tree
from liegeo.motion import driven_by

if TYPE_CHECKING:
    import scipy.sparse as sps
    import scipy.sparse.linalg as ssl
else:
    sps, ssl = late("scipy.sparse"), late("scipy.sparse.linalg")

Array = NDArray[Any]
Index = NDArray[np.intp]

# Models with more speeds than this, of which less than this share of modes is asked for, are large.
LARGE, FEW = 250, 0.2
# The step of derivatives.
_STEP = 1e-40
_EPS = float(np.finfo(np.float64).eps)
# Round-off of sums, in units of the last place of their terms.
_ULPS = 100.0
# Displacements towards equilibrium, in units of the coordinates, that are round-off.
_AT_REST, _ROUNDED = 1e-9, 1e-11
# How far products with K may be from symmetric, how far a residual may move a mode of unit mass, and its eigenvalue.
_SYMMETRIC, _EXACT, _SAME = 1e-9, 1e-6, 1e-9
# Eigenvalues below the first share of s² are those of rigid motions, above the second they are none.
_RIGID, _ELASTIC = 1e-10, 1e-7
# The least s² as a share of the largest eigenvalue that is wanted: iterations know that to ε/_LEAST.
_LEAST = 1e-7
# How far, as a share, dampers may move what is rigid; the shift of damped systems with rigid motions.
_DRAGGED, _BESIDE = 1e-9, 0.03
# How many eigenvalues more than were asked for are looked for, and of damped systems.
_MORE, _MORE_DAMPED = 8, 8
# Vectors and rounds of the iteration that finds s².
_BLOCK, _ROUNDS, _STEPS = 24, 12, 3


class FewModes(NamedTuple):
    """Modes, and the largest acceleration at the state, 0 where it is round-off of stiff coordinates."""

    modes: Eigenmodes
    acceleration: float


def few_modes(model: Model, state: State, at: Any, kind: str, number: int | None) -> FewModes | None:
    """Return the slowest `number` modes of a large model at rest; None if it is not large, or not of this kind."""
    n = model.nv
    if number is None or n <= LARGE or number >= FEW * n or not _fits(model, state):
        return None
    try:
        return _few(_Motion(model, state, at), kind, number)
    except (RuntimeError, np.linalg.LinAlgError, ModelError):
        # (4) is singular, as where K + s² M is, an iteration does not converge, or bodies are nothing by themselves
        return None


def _few(motion: _Motion, kind: str, number: int) -> FewModes | None:
    """Return the slowest modes; None if it is not clear what they are."""
    damped = kind == DAMPED and bool(motion.damping(_random(motion.model.nv, 1)[:, 0]).any())
    basis = _Basis(motion, _Linear.of(motion, damped))
    found = basis.undamped(number)
    if found is None:
        return None
    acceleration = basis.acceleration()
    if acceleration is None:
        return None
    Z, squares, shapes = found
    pairs = basis.damped(number, Z, squares) if damped else (1j * np.sqrt(squares), shapes.astype(complex))
    if pairs is None:
        return None
    return FewModes(Eigenmodes(basis.whole(Z), pairs[0], basis.whole(pairs[1])), acceleration)


def _fits(model: Model, state: State) -> bool:
    """Return whether (1)–(4) describe small motions: at rest, without elements on joints or functions of a user's."""
    deforms = any(isinstance(body, FlexibleBody) and body.n_modes for body in model.tree.bodies)
    frozen = deforms and model.ints[layout.FULL] != 1
    on_joints = bool(model.ints[layout.N_JOINT_ELEMENTS])
    # these know joints, which the bodies by themselves do not have
    on_joints |= any(isinstance(force, BallStop) or getattr(force, "drum", None) for force in model.tree.forces)
    return not (state.v.any() or on_joints or model.custom or model.tree.wheels or frozen)


def _random(n: int, columns: int) -> Array:
    return np.random.default_rng(0).normal(size=(n, columns))


# ---- K, C and M of the kernels


class _Forces:
    """The forces that keep a model in a position at rest, less those of loops with these multipliers."""

    def __init__(self, model: Model, q: Array, driven: Array, multipliers: Array) -> None:
        self.model, self.q, self.driven = model, q.astype(complex), driven.astype(complex)
        self.multipliers, self.work = multipliers, model.workspace(complex)

    def _at(self, q: Array, v: Array) -> Array:
        model, out = self.model, np.empty(self.model.nv, complex)
        if model.rows:
            self.work[model.row_slice(layout.LAMBDA)] = self.multipliers
        algorithm = loops.inverse_dynamics if model.rows else inverse.inverse_dynamics
        algorithm(model.ints, model.floats, q, v, self.driven, self.work, out)
        return out

    def here(self) -> Array:
        """Return them."""
        return self._at(self.q, np.zeros(self.model.nv, complex)).real

    def along(self, dq: Array | None, dv: Array | None) -> Array:
        """Return their derivative along a direction in q or v."""
        assert self.model.group is not None
        q = self.q if dq is None else self.model.group.retract(self.q, 1j * _STEP * dq)
        v = np.zeros(self.model.nv, complex) if dv is None else 1j * _STEP * dv
        return self._at(q, v).imag / _STEP


class _Motion:
    """A model at rest under what drives it: its multipliers, and products with K, C and M in O(N)."""

    def __init__(self, model: Model, state: State, at: Any) -> None:
        self.model, self.state, self.calc = model, state, model.calculator()
        self.u = driven_by(model, state, at)
        self.locked = model.locked
        self.free: Index = np.flatnonzero(~self.locked)
        nv = model.nv
        self.acceleration = self.calc.forward_dynamics(
            state.q, state.v, self.u[:nv], self.u[nv:], t=state.t, x=state.x
        ).copy()
        work, rows = self.calc.real.work, len(model.rows)
        # kernels/loops.py leaves both in its scratch
        self.multipliers = work[model.row_slice(layout.LAMBDA)].copy()
        order = work[model.row_slice(layout.ORDER)] if rows else np.zeros(0)
        self.rows = sorted({int(k) for k in order if k >= 0.0})
        self.real = model.workspace()
        self.tree = _Forces(model, state.q, model.drive("a", None, self.u[nv:], state.t, state.x), self.multipliers)

    def stiffness(self, x: Array) -> Array:
        """Return K x."""
        return self.tree.along(x, None)

    def damping(self, x: Array) -> Array:
        """Return C x."""
        return self.tree.along(None, x)

    def momentum(self, x: Array) -> Array:
        """Return M x."""
        out = np.empty(self.model.nv)
        inverse.momentum(self.model.ints, self.model.floats, self.state.q, np.ascontiguousarray(x), self.real, out)
        out[self.locked] = 0.0
        return out


def momenta(model: Model, state: State, speeds: Array) -> Array:
    """Return M v of each column of speeds, which may be complex, without M."""
    out, work, found = np.zeros_like(speeds), model.workspace(), np.empty(model.nv)
    for k, column in enumerate(speeds.T):
        for unit, part in ((1.0, column.real), (1j, column.imag)) if np.iscomplexobj(speeds) else ((1.0, column),):
            inverse.momentum(model.ints, model.floats, state.q, np.ascontiguousarray(part), work, found)
            out[:, k] += unit * found
    return out


# ---- (4)


class _Bodies(NamedTuple):
    """The companion in the same position, and of each body of the model the places of its coordinates there."""

    state: State
    forces: _Forces
    # rows of the model that are those of its loops; bodies of the model by its own numbers
    rows: Index
    numbers: Index
    places: list[Index]


def _companion(motion: _Motion) -> _Bodies:
    """Return the bodies without their joints."""
    model, state, tree = motion.model, motion.state, motion.model.tree
    taken = {part.name for parts in (tree.all_bodies, tree.forces, tree.loops) for part in parts}
    joints = {}
    for body in model.bodies:
        name = f"on {body}"
        while name in taken:
            name += "_"
        taken.add(name)
        joints[body] = name
    by_name = {body.name: body for body in tree.all_bodies}
    companion = Tree(
        [by_name[name] for name in model.bodies],
        [Free(name=name, parent=WORLD, child=body) for body, name in joints.items()],
        forces=[force for force in tree.forces if place_fields(force)],
        loops=[loop for loop in tree.loops if isinstance(loop, Joint | FrameConstraint)],
        gravity=tree.gravity,
        name=tree.name,
        fidelity=tree.fidelity,
    ).compile()
    assert companion.group is not None
    assert model.group is not None
    q = companion.state().q.copy()
    poses = dynamics.body_poses(model, state)
    elements = SE3Q.from_matrix(np.array([poses[body] for body in joints]))
    places = []
    for (body, joint), element in zip(joints.items(), elements, strict=True):
        q[companion.group.q[joint]] = element
        speeds = companion.group.v[joint]
        modes = companion.group.v.get(body, slice(0, 0))
        if body in companion.group.q:
            q[companion.group.q[body]] = state.q[model.group.q[body]]
        places.append(np.array([*range(modes.start, modes.stop), *range(speeds.start, speeds.stop)]))
    inputs = np.zeros(companion.nu)
    for name, place in companion.inputs.items():
        inputs[place] = motion.u[model.nv :][model.inputs[name]]
    driven = companion.drive("a", None, inputs, state.t)
    between = {loop.name for loop in companion.tree.loops}
    rows = np.array([k for k, row in enumerate(model.rows) if row.loop in between], int)
    number = {name: k for k, name in enumerate(joints)}
    numbers = np.array([number[name] for name in companion.bodies])
    forces = _Forces(companion, q, driven, motion.multipliers[rows])
    return _Bodies(companion.state(q, t=state.t), forces, rows, numbers, places)


def _neighbours(bodies: _Bodies) -> tuple[list[set[int]], list[tuple[int, int]]]:
    """Return by body all that share a force or loop with it, itself included, and the bodies of each row of a loop."""
    I = bodies.forces.model.ints

    def body(frame: int) -> int:
        number = int(I[frame + layout.FRAME_BODY])
        return int(bodies.numbers[number]) if number >= 0 else number

    pairs, rows = [], []
    for i in range(int(I[layout.N_ELEMENTS])):
        e = int(I[layout.ELEMENTS]) + i * layout.ELEMENT_SIZE
        pairs.append((body(I[e + layout.FRAME_A]), body(I[e + layout.FRAME_B])))
    for i in range(int(I[layout.N_CONSTRAINTS])):
        c = int(I[layout.CONSTRAINTS]) + i * layout.CONSTRAINT_SIZE
        pairs.append((body(I[c + layout.C_A]), body(I[c + layout.C_B])))
        rows += [pairs[-1]] * int(I[c + layout.C_N])
    found = [{k} for k in range(len(bodies.places))]
    for a, b in pairs:
        if a >= 0 and b >= 0:
            found[a].add(b)
            found[b].add(a)
    return found, rows


def _coloured(neighbours: list[set[int]]) -> list[list[int]]:
    """Return groups of bodies of which no two have a neighbour in common."""
    colour = np.full(len(neighbours), -1)
    groups: list[list[int]] = []
    for k in sorted(range(len(neighbours)), key=lambda k: -len(neighbours[k])):
        taken = {int(colour[m]) for other in neighbours[k] for m in neighbours[other]}
        chosen = next(c for c in range(len(groups) + 1) if c not in taken)
        if chosen == len(groups):
            groups.append([])
        groups[chosen].append(k)
        colour[k] = chosen
    return groups


class _Entries:
    """A sparse matrix that grows."""

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns
        self._parts: list[tuple[Array, Array, Array]] = []

    def add(self, rows: Array, columns: Array, block: Array) -> None:
        """Add a dense block."""
        i, j = np.nonzero(block)
        if len(i):
            self._parts.append((np.asarray(rows)[i], np.asarray(columns)[j], np.asarray(block)[i, j]))

    @property
    def matrix(self) -> Any:
        """The matrix by columns."""
        if not self._parts:
            return sps.csc_matrix(self.shape)
        i, j, values = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return sps.csc_matrix((values, (i, j)), shape=self.shape)


@dataclasses.dataclass(frozen=True)
class _Linear:
    """The matrices of (4), and z for ε by (1)."""

    E: Any
    H: Any
    K_b: Any
    C_b: Any
    M_m: Any
    Gamma: Any
    N: Any
    C_j: Any
    J_a: Any
    J_b: Any
    J_e: Any
    outward: Any

    @staticmethod
    def of(motion: _Motion, damped: bool) -> _Linear:
        """Return them at the state of a motion."""
        model, state = motion.model, motion.state
        blocks = operators.operators(model, state).bodies
        bodies = _companion(motion)
        n, s = sum(len(b.modal) for b in blocks), len(motion.free)
        E, H, M_m, J_a = _Entries(n, n), _Entries(s, n), _Entries(n, n), _Entries(s, s)
        f = bodies.forces.here()
        F = [f[place] for place in bodies.places]
        for k in range(len(blocks) - 1, -1, -1):
            b = blocks[k]
            H.add(b.speeds, b.modal, b.H)
            M_m.add(b.modal, b.modal, b.M_m)
            J_a.add(b.speeds, b.speeds, np.diag(b.armature))
            if b.parent >= 0:
                E.add(blocks[b.parent].modal, b.modal, b.Phi)
                F[b.parent] = F[b.parent] + b.Phi @ F[k]
        Gamma, N, C_j = _joints(motion, blocks, F, damped)
        K_b, C_b, J_b = _forces(bodies, blocks, n, damped)
        kept = np.isin(bodies.rows, motion.rows)
        J_e = _rows_of_joints(motion)
        J_b = sps.vstack([J_b[np.flatnonzero(kept)], sps.csc_matrix((J_e.shape[0], n))]).tocsc()
        J_e = sps.vstack([sps.csc_matrix((int(kept.sum()), s)), J_e]).tocsc()
        outward = ssl.splu((sps.identity(n) - E.matrix.T).tocsc(), permc_spec="NATURAL")
        return _Linear(E.matrix, H.matrix, K_b, C_b, M_m.matrix, Gamma, N, C_j, J_a.matrix, J_b, J_e, outward)

    def factorised(self, s: float, s2: float) -> Any:
        """Return (4) and its factors, with s C and s2 M."""
        n, unit = self.E.shape[0], sps.identity(self.E.shape[0])
        inner = self.K_b + s2 * self.M_m + s * self.C_b
        whole = sps.bmat(
            [
                [unit - self.E.T, None, -self.H.T, None],
                [-inner, unit - self.E, -self.Gamma, -self.J_b.T],
                [None, self.H, self.N + s2 * self.J_a + s * self.C_j, self.J_e.T],
                [self.J_b, sps.csc_matrix((self.J_b.shape[0], n)), self.J_e, None],
            ],
            format="csc",
        )
        return whole, ssl.splu(whole)

    def energies(self, x: Array) -> tuple[Array, Array]:
        """Return xᵀ K x of each column, and the sum of the sizes of its terms."""
        z = self.outward.solve(self.H.T @ x)
        found, sizes = np.zeros((2, x.shape[1]))
        for left, matrix, right in ((z, self.K_b, z), (z, self.Gamma, x), (x, self.N, x)):
            found += np.einsum("ik,ik->k", left, matrix @ right)
            sizes += np.einsum("ik,ik->k", np.abs(left), abs(matrix) @ np.abs(right))
        return found, sizes


def _joints(motion: _Motion, blocks: Any, F: list[Array], damped: bool) -> tuple[Any, Any, Any]:
    """Return Γ and N of (2) and (3), and C_j."""
    model, state, speeds = motion.model, motion.state, motion.free
    n, s = sum(len(b.modal) for b in blocks), len(speeds)
    Gamma, N, C_j = _Entries(n, s), _Entries(s, s), _Entries(s, s)
    modes = [len(b.modal) - 6 for b in blocks]
    depth = np.zeros(len(blocks), int)
    for k, b in enumerate(blocks):
        depth[k] = depth[b.parent] + 1 if b.parent >= 0 else 0

    def stepped(moving: dict[int, int], of_speeds: bool) -> Any:
        """Return the blocks after a step in these places of χ, by body."""
        assert model.group is not None
        step = np.zeros(model.nv)
        step[speeds[list(moving.values())]] = 1.0
        q, v = state.q.astype(complex), state.v.astype(complex)
        if of_speeds:
            v = v + 1j * _STEP * step
        else:
            q = model.group.retract(q, 1j * _STEP * step)
        return operators.operators(model, dataclasses.replace(state, q=q, v=v), motion.u[model.nv :]).bodies

    for j in range(max(len(b.speeds) - m for b, m in zip(blocks, modes, strict=True))):
        moving = {k: int(b.speeds[m + j]) for k, (b, m) in enumerate(zip(blocks, modes, strict=True))
                  if m + j < len(b.speeds)}  # fmt: skip
        after = stepped(moving, False)
        slow = stepped(moving, True) if damped else None
        for k, place in moving.items():
            b, column = after[k], np.array([place])
            N.add(b.speeds, column, ((b.H.imag @ F[k] - b.passive.imag) / _STEP)[:, None])
            if b.parent >= 0:
                Gamma.add(blocks[b.parent].modal, column, (b.Phi.imag @ F[k] / _STEP)[:, None])
            if slow is not None:
                C_j.add(b.speeds, column, (-slow[k].passive.imag / _STEP)[:, None])
    if not any(force.any() for force in F):
        return Gamma.matrix, N.matrix, C_j.matrix
    for j in range(max(modes)):
        for parity in range(2):
            moving = {
                k: int(blocks[k].speeds[j]) for k in range(len(blocks)) if modes[k] > j and depth[k] % 2 == parity
            }
            if not moving:
                continue
            for k, b in enumerate(stepped(moving, False)):
                if k in moving:
                    N.add(b.speeds, np.array([moving[k]]), (b.H.imag @ F[k] / _STEP)[:, None])
                for mover in {k, b.parent} & moving.keys() if b.parent >= 0 else ():
                    column = np.array([moving[mover]])
                    Gamma.add(blocks[b.parent].modal, column, (b.Phi.imag @ F[k] / _STEP)[:, None])
    return Gamma.matrix, N.matrix, C_j.matrix


def _forces(bodies: _Bodies, blocks: Any, n: int, damped: bool) -> tuple[Any, Any, Any]:
    """Return K_b, C_b and J_b, the last with a row for each of the companion."""
    model, places = bodies.forces.model, bodies.places
    neighbours, pairs = _neighbours(bodies)
    K_b, C_b, J_b = _Entries(n, n), _Entries(n, n), _Entries(len(model.rows), n)
    modal = [b.modal for b in blocks]
    size = max(map(len, places))
    for group in _coloured(neighbours):
        owner = np.full(len(places), -1)
        for k in group:
            owner[list(neighbours[k])] = k
        felt = [m for m in range(len(places)) if owner[m] >= 0]
        for j in range(size):
            movers = [k for k in group if j < len(places[k])]
            direction = np.zeros(model.nv)
            direction[[places[k][j] for k in movers]] = 1.0
            for entries, found in (
                (K_b, bodies.forces.along(direction, None)),
                *(((C_b, bodies.forces.along(None, direction)),) if damped else ()),
            ):
                for m in felt:
                    if j < len(places[owner[m]]):
                        entries.add(modal[m], modal[owner[m]][j : j + 1], found[places[m]][:, None])
            if pairs:
                rates = dynamics.constraint_values(model, dataclasses.replace(bodies.state, v=direction)).rate
                for row, pair in enumerate(pairs):
                    for k in {*pair} & {*movers}:
                        J_b.add(np.array([row]), modal[k][j : j + 1], rates[row : row + 1, None])
    return K_b.matrix, C_b.matrix, J_b.matrix


def _rows_of_joints(motion: _Motion) -> Any:
    """Return the rows of couplings and prescribed motions that are not redundant, in the speeds that are not locked."""
    model = motion.model
    assert model.group is not None
    places = np.full(model.nv, -1)
    places[motion.free] = np.arange(len(motion.free))
    known = {loop.name: loop for loop in model.tree.loops if isinstance(loop, Coupling | Motion)}
    out = _Entries(sum(model.rows[k].loop in known for k in motion.rows), len(motion.free))
    first: dict[str, int] = {}
    count = 0
    for k, row in enumerate(model.rows):
        number = k - first.setdefault(row.loop, k)
        loop = known.get(row.loop)
        if loop is None or k not in motion.rows:
            continue
        if isinstance(loop, Motion):
            terms = {model.group.v[loop.joint].start + (loop.coordinate or 0) + number: 1.0}
        else:
            terms = {}
            for name, factor in loop.factors().items():
                joint, _, coordinate = name.partition(".")
                terms[model.group.v[joint].start + int(coordinate or 0)] = float(factor)
        for speed, factor in terms.items():
            if places[speed] >= 0:
                out.add(np.array([count]), places[[speed]], np.array([[factor]]))
        count += 1
    return out.matrix


# ---- modes


class _Basis:
    """Products with K, C and M in the speeds that are not locked, and solutions of (4)."""

    def __init__(self, motion: _Motion, linear: _Linear) -> None:
        self.motion, self.linear = motion, linear
        self.n = len(motion.free)
        self.s2 = 1.0
        self._factors = linear.factorised(0.0, self.s2)

    def _each(self, product: Any, x: Array) -> Array:
        whole = np.zeros((self.motion.model.nv, *x.shape[1:]))
        whole[self.motion.free] = x
        if x.ndim == 1:
            return np.asarray(product(whole)[self.motion.free])
        columns = [product(np.ascontiguousarray(column))[self.motion.free] for column in whole.T]
        return np.stack(columns, axis=1) if columns else x

    def whole(self, x: Array) -> Array:
        """Return columns with zeros at speeds that are locked."""
        out = np.zeros((self.motion.model.nv, x.shape[1]), x.dtype)
        out[self.motion.free] = x
        return out

    def stiffness(self, x: Array) -> Array:
        """Return K x."""
        return self._each(self.motion.stiffness, x)

    def damping(self, x: Array) -> Array:
        """Return C x."""
        return self._each(self.motion.damping, x)

    def momentum(self, x: Array) -> Array:
        """Return M x."""
        return self._each(self.motion.momentum, x)

    def shift(self, s: float, s2: float) -> None:
        """Factorise (4) with s C and s2 M."""
        self.s2, self._factors = s2, self.linear.factorised(s, s2)

    def solve(self, r: Array) -> Array:
        """Return ε of (4), after one step of refinement."""
        matrix, factors = self._factors
        n = self.linear.E.shape[0]
        right = np.zeros((matrix.shape[0], *r.shape[1:]))
        right[2 * n : 2 * n + self.n] = r
        x = factors.solve(right)
        x = x + factors.solve(right - matrix @ x)
        return np.asarray(x[2 * n : 2 * n + self.n])

    def symmetric(self) -> bool:
        """Return whether K is symmetric on the tangent of the constraints."""
        x, y = self.solve(self.momentum(_random(self.n, 2))).T
        a, b = self.stiffness(x) @ y, self.stiffness(y) @ x
        _, sizes = self.linear.energies(np.stack([x, y], axis=1))
        return bool(abs(a - b) <= _SYMMETRIC * float(np.sqrt(sizes[0] * sizes[1])))

    def _is_rigid(self, x: Array, squares: Array) -> Array:
        found, sizes = self.linear.energies(x)
        small = np.abs(found) <= _ULPS * _EPS * sizes
        return np.asarray(small | (np.abs(squares) <= _RIGID * self.s2))

    def find_shift(self, number: int) -> bool:
        """Choose s² a little below the slowest eigenvalue that is not rigid; return False if none is found."""
        X, fastest = _random(self.n, min(_BLOCK, self.n)), 0.0
        for _ in range(_ROUNDS):
            for _ in range(_STEPS):
                X, squares = self._ritz(X)
            rigid = self._is_rigid(X, squares)
            if rigid.all() or (squares[~rigid] < 0.0).any():
                return False
            slowest = float(squares[~rigid].min())
            # beside a vector that is much slower others are lost
            if len(squares) >= min(number, _BLOCK // 2):
                fastest = float(np.sort(squares)[: number + int(rigid.sum())][-1])
            if 0.01 * slowest <= self.s2 <= 0.3 * slowest:
                if self.s2 < _LEAST * fastest:
                    self.shift(0.0, _LEAST * fastest)
                return True
            self.shift(0.0, 0.1 * slowest)
        return False

    def _ritz(self, X: Array) -> tuple[Array, Array]:
        """Return Ritz vectors of one step of subspace iteration, of unit mass, and their eigenvalues."""
        Y = self.solve(self.momentum(X))
        MY = self.momentum(Y)
        sizes, V = np.linalg.eigh(Y.T @ MY)
        kept = sizes > _EPS * sizes[-1]
        T = V[:, kept] / np.sqrt(sizes[kept])
        X, MX = Y @ T, MY @ T
        inverse_of, V = np.linalg.eigh(_half(MX.T @ self.solve(MX)))
        return X @ V, 1.0 / inverse_of - self.s2

    def undamped(self, number: int) -> tuple[Array, Array, Array] | None:
        """Return rigid motions, and ω² and shapes of the others, slowest first."""
        if not self.find_shift(number) or not self.symmetric():
            return None
        wanted = min(number + _MORE, self.n - 2)
        while number <= wanted <= self.n - 2:
            K = ssl.LinearOperator((self.n, self.n), matvec=self.stiffness, dtype=np.float64)
            M = ssl.LinearOperator((self.n, self.n), matvec=self.momentum, dtype=np.float64)
            inverse_of = ssl.LinearOperator((self.n, self.n), matvec=self.solve, dtype=np.float64)
            squares, X = ssl.eigsh(
                K, wanted, M, sigma=-self.s2, OPinv=inverse_of, v0=self.solve(self.momentum(_random(self.n, 1)[:, 0]))
            )
            order = np.argsort(squares)
            squares, X = squares[order], X[:, order]
            rigid = self._is_rigid(X, squares)
            unclear = ~rigid & (squares < _ELASTIC * self.s2)
            if unclear.any() or not self._exact(X, squares):
                return None
            if int((~rigid).sum()) >= number:
                return X[:, rigid], squares[~rigid][:number], X[:, ~rigid][:, :number]
            wanted += int(rigid.sum())
        return None

    def _exact(self, X: Array, squares: Array) -> bool:
        """Return whether eigenvectors are those of the kernels' K and M as well."""
        residual = self.stiffness(X) - self.momentum(X) * squares
        moved = self.solve(residual)
        sizes = np.sqrt(np.abs(np.einsum("ik,ik->k", moved, self.momentum(moved))))
        # Rayleigh's quotient, which errs by the square of what a shape does
        off = np.abs(np.einsum("ik,ik->k", X, residual))
        allowed = _SAME * (np.abs(squares) + self.s2) + _ULPS * _EPS * self.linear.energies(X)[1]
        return bool((sizes <= _EXACT).all() and (off <= allowed).all())

    def acceleration(self) -> float | None:
        """Return the largest acceleration, 0 if it is round-off; None if the state is no equilibrium."""
        a = self.motion.acceleration[self.motion.free]
        moved = float(np.abs(self.solve(self.momentum(a))).max(initial=0.0))
        if moved > _AT_REST:
            return None
        return float(np.abs(a).max(initial=0.0)) if moved > _ROUNDED else 0.0

    def damped(self, number: int, Z: Array, squares: Array) -> tuple[Array, Array] | None:
        """Return eigenvalues and shapes of the damped system, slowest first; None if something damps rigid motions."""
        n, slowest = self.n, float(np.sqrt(squares[0]))
        MZ = self.momentum(Z)
        if Z.shape[1]:
            held = self.solve(self.damping(Z))
            sizes = np.sqrt(np.abs(np.einsum("ik,ik->k", held, self.momentum(held))))
            if (slowest * sizes > _DRAGGED).any():
                return None
        s = _BESIDE * slowest if Z.shape[1] else 0.0
        self.shift(s, s * s)

        def within(x: Array) -> Array:
            return np.asarray(x - Z @ (MZ.T @ x))

        def inverse_of(both: Array) -> Array:
            x, w = within(both[:n]), within(both[n:])
            load = self.damping(x) + self.momentum(s * x + w)
            y = within(-self.solve(load - MZ @ (Z.T @ load)))
            return np.concatenate([y, x + s * y])

        whole = ssl.LinearOperator((2 * n, 2 * n), matvec=inverse_of, dtype=np.float64)
        wanted = min(2 * number + _MORE_DAMPED, 2 * n - 2)
        values, Y = ssl.eigs(whole, wanted, v0=np.concatenate([within(part) for part in _random(n, 2).T]))
        distance = 1.0 / np.abs(values)
        values = s + 1.0 / values
        kept = np.flatnonzero((values.imag >= 0.0) & (np.abs(values) <= distance.max() - s))
        kept = kept[np.argsort(np.abs(values[kept]), kind="stable")][:number]
        if len(kept) < number:
            return None
        return values[kept], Y[:n, kept]


def _half(A: Array) -> Array:
    return 0.5 * (A + A.T)


__all__ = ["FEW", "LARGE", "FewModes", "few_modes", "momenta"]
