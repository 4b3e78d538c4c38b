"""Component modes: a few shapes in the place of all degrees of freedom of a finite-element model.

A component touches its neighbours at interfaces, {C}, and may be held in space, {B} [M01, chapter II].  Of its rigid
motions the boundary takes β = rank of {B} away and leaves n_r = 6 − β; the interfaces could take away s of them, and
r = c − s of their constraints are redundant.  Found, not asked:

    s = n_r, r ≥ 1: indeterminate;      s = n_r, r = 0: determinate;      s < n_r: underdeterminate.          (1)

Shapes are normal modes, K φ = ω² M φ, with some degrees of freedom held, and static shapes: with some held, {U} of them
moved one by one, i the rest,

    constraint modes [M01, (II-7), (II-10), (II-12)]:  φ_i = −K_ii⁻¹ K_iu;      attachment modes:  φ_i = K_ii⁻¹ f.   (2)

Without anything held, forces are balanced by the inertia of the rigid motions R (inertia relief):

    f → (I − M R (Rᵀ M R)⁻¹ Rᵀ) f,                                                                            (3)

which a statically determinate support can then carry without reactions.  Krylov shapes continue (2) by
φ_{j+1} = K⁻¹ M φ_j, and match moments of the response to interface forces.

At the end every set is made relative to its reference (`root`: no motion of that node; or none: orthogonal to rigid
motions), made independent, and orthonormal: Φᵀ M Φ = I, Φᵀ K Φ = diag(ω²).

Local deformation [M01, VII-3-4].  With ω_L the lowest frequency of a component that carries the rigid inertia of its
appendages, and ω_A that of an appendage that is held where it is attached,

    ω_L/ω_A ≥ 2: low;      (ω_L/ω_A)² ≤ 1/3: high;      between them: medium.                                  (4)

The source writes of eigenvalues that are twice as large, close, and three times as small, and does not say whether it
means ω or ω².  (4) takes of both readings the cautious one; they agree on all five structures of its table VII-18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo._lazy import late
from liegeo.errors import Fault, ModelError, Owner
from liegeo.flex.fe import FEModel
from liegeo.model import notebook

if TYPE_CHECKING:
    import scipy.linalg as sla
    import scipy.sparse as sp
    import scipy.sparse.csgraph as csgraph
    import scipy.sparse.linalg as spl
else:
    sla = late("scipy.linalg")
    sp = late("scipy.sparse")
    csgraph = late("scipy.sparse.csgraph")
    spl = late("scipy.sparse.linalg")

Array = NDArray[np.float64]
Index = NDArray[np.int64]

ALL_DIRECTIONS = (0, 1, 2, 3, 4, 5)
DETERMINACY = INDETERMINATE, DETERMINATE, UNDERDETERMINATE = ("indeterminate", "determinate", "underdeterminate")

# Up to this many degrees of freedom dense matrices are as fast, and never fail to converge.
_DENSE = 600
# A band is factorised up to this many numbers (2 GB), and if it is not wider than so many times what a row holds.
_BAND_SIZE, _BAND_WIDTH = 250_000_000, 50
# A rigid motion or a shape whose share is smaller than this is not there.
_RANK = 1e-8
# The limits of (4), and the share by which loads must lower the first frequency for (4) to say anything.
_LOW, _HIGH, _LIGHT = 2.0, 1.0 / np.sqrt(3.0), 0.05


@dataclass(frozen=True)
class Characterisation:
    """How a component is held, in the letters of [M01, chapter II]."""

    b: int
    beta: int
    c: int
    s: int

    @property
    def n_r(self) -> int:
        """Rigid motions that the boundary leaves."""
        return 6 - self.beta

    @property
    def r(self) -> int:
        """Redundant interface constraints."""
        return self.c - self.s

    @property
    def kind(self) -> str:
        if self.s < self.n_r:
            return UNDERDETERMINATE
        return INDETERMINATE if self.r > 0 else DETERMINATE


class Component:
    """A finite-element model with its boundary and its interfaces, and the solves that mode sets need.

    `interfaces` and `fixed` name nodes, all six directions or some: {"tip": (3, 4, 5)} is a ball joint.
    """

    def __init__(
        self,
        fe: FEModel,
        interfaces: Mapping[str, Sequence[int]] | Sequence[str] = (),
        fixed: Mapping[str, Sequence[int]] | Sequence[str] = (),
    ) -> None:
        self.fe = fe
        self.C = self._indices(interfaces)
        self.B = self._indices(fixed)
        if np.intersect1d(self.C, self.B).size:
            raise ModelError(f"FE model '{fe.name}': a degree of freedom is both an interface and fixed.")
        self.rigid = fe.rigid
        scale = np.abs(fe.positions - fe.positions.mean(axis=0)).max() or 1.0
        # columns of one size, so that ranks mean something: metres against radians times the size of the structure
        self._scaled = np.concatenate([self._about_center() / scale, self.rigid[:, 3:]], axis=1)
        beta = self._rank(self.B)
        self.characterisation = Characterisation(
            b=len(self.B), beta=beta, c=len(self.C), s=self._rank(np.concatenate([self.B, self.C])) - beta
        )
        self._factors: dict[bytes, _Held] = {}

    def reduce(
        self,
        method: str = "craig-bampton",
        *,
        n_modes: int | None = None,
        max_frequency: float | None = None,
        effective_mass: float | None = None,
        root: str | None = None,
        imaginary: str | None = None,
        loads: Mapping[str, Any] | None = None,
    ) -> Reduction:
        """Return the same as `reduce`; several mode sets of one component share its factorisations and normal modes."""
        choose = Choice(n_modes, max_frequency, effective_mass)
        options = _Options(root, imaginary, dict(loads or {}))
        return self.orthonormal(method, root, self.shapes(method, choose, options))

    def shapes(self, method: str, choose: Choice, options: _Options) -> Shapes:
        """Return the shapes of a mode set as they are found."""
        if method not in MODE_SETS:
            raise ModelError(f"mode set {method!r} is unknown, expected one of {', '.join(MODE_SETS)}.")
        check_nodes(self.fe, loads=options.loads, imaginary=(options.imaginary,), root=(options.root,))
        return MODE_SETS[method](self, choose, options)

    def orthonormal(self, method: str, root: str | None, found: Shapes) -> Reduction:
        """Return the reduction that has these shapes."""
        return _orthonormal(self.fe, self.characterisation, method, root, found)

    def first_frequency(self, loads: Mapping[str, Any] | None = None) -> float:
        """Return the lowest frequency in Hz of the component with nothing held but its boundary, rigid motions aside.

        `loads` are 6 × 6 inertias on nodes, as of `loaded-interface` modes.
        """
        held = self.loaded(loads) if loads else self.hold(np.zeros(0, np.int64))
        frequencies, _ = held.normal_modes(Choice(1))
        if not len(frequencies):
            raise ModelError(f"FE model '{self.fe.name}': all of it is held, so it has no frequency, expected one.")
        return float(frequencies[0])

    def loaded(self, loads: Mapping[str, Any]) -> _Held:
        """Return the structure with rigid inertias on nodes, held at the boundary."""
        fe = self.fe
        mass = sp.lil_array(fe.mass)
        for name, inertia in loads.items():
            given = np.asarray(inertia, dtype=np.float64)
            if given.shape != (6, 6):
                raise ModelError(f"loaded-interface modes: load '{name}' has shape {given.shape}, expected (6, 6).")
            dofs = np.array([fe.dof(name, d) for d in ALL_DIRECTIONS])
            for a, i in enumerate(dofs):
                for b, j in enumerate(dofs):
                    mass[i, j] += given[a, b]
        return _Held(Component(fe._with(mass=mass.tocsc())), self.B)

    def _about_center(self) -> Array:
        """Rotations about the middle of the structure."""
        x, y, z = self.fe.positions.mean(axis=0)
        t = self.rigid[:, 3:]
        back = np.stack([z * t[:, 1] - y * t[:, 2], x * t[:, 2] - z * t[:, 0], y * t[:, 0] - x * t[:, 1]], axis=1)
        return np.asarray(self.rigid[:, :3] + back)

    def _indices(self, places: Mapping[str, Sequence[int]] | Sequence[str]) -> Index:
        given = places if isinstance(places, Mapping) else dict.fromkeys(places, None)
        found: list[int] = []
        for name, directions in given.items():
            node = self.fe.node(name)
            present = self.fe.dofs[self.fe.dofs[:, 0] == node, 1]
            wanted = ALL_DIRECTIONS if directions is None else directions
            if directions is None and len(present) < 6:
                raise ModelError(
                    f"FE model '{self.fe.name}': interface '{name}' has only the directions {present.tolist()}, "
                    "expected all six.\n  Tie several nodes of a solid to one with rigid_link, or name directions."
                )
            found += [self.fe.dof(name, d) for d in wanted]
        return np.array(found, dtype=np.int64)

    def _rank(self, dofs: Index) -> int:
        if not len(dofs):
            return 0
        return int((np.linalg.svd(self._scaled[dofs], compute_uv=False) > _RANK).sum())

    def support(self, candidates: Index) -> Index:
        """From these degrees of freedom as few as can take away all motions that they can and the boundary leaves."""
        left = sla.null_space(self._scaled[self.B], rcond=_RANK) if len(self.B) else np.eye(6)
        _, _, order = sla.qr((self._scaled[candidates] @ left).T, pivoting=True, mode="economic")
        count = self._rank(np.concatenate([self.B, candidates])) - self._rank(self.B)
        return np.sort(candidates[order[:count]])

    def hold(self, dofs: Index) -> _Held:
        """The structure with these degrees of freedom held, and the boundary too; factorised once."""
        held = np.union1d(dofs, self.B).astype(np.int64)
        key = held.tobytes()
        if key not in self._factors:
            self._factors[key] = _Held(self, held)
        return self._factors[key]


class _Held:
    """K and M without the rows and columns of what is held."""

    def __init__(self, component: Component, held: Index) -> None:
        self.component, self.held = component, held
        fe = component.fe
        self.free = np.setdiff1d(np.arange(fe.n), held)
        self.M = sp.csc_array(fe.mass[self.free][:, self.free])
        self.n_rigid = 6 - component._rank(held)
        self._solvers: dict[float, Callable[[Array], Array]] = {}
        self._found: dict[int, tuple[Array, Array]] = {}

    @property
    def K(self) -> sp.csc_array:
        """Made anew each time: once factorised, nobody needs it, and a large one is better not kept."""
        return sp.csc_array(self.component.fe.stiffness[self.free][:, self.free])

    def solver(self, shift: float = 0.0) -> Callable[[Array], Array]:
        """x = (K − shift M)⁻¹ f; factorised once, for static shapes and normal modes."""
        if shift not in self._solvers:
            fe = self.component.fe
            matrix = fe.stiffness - shift * fe.mass if shift else fe.stiffness
            self._solvers[shift] = _factorise(fe.name, sp.csc_array(matrix), self.free, fe.positions[fe.dofs[:, 0]])
        return self._solvers[shift]

    def expand(self, x: Array) -> Array:
        out = np.zeros((self.component.fe.n, x.shape[1]))
        out[self.free] = x
        return out

    def solve(self, f: Array) -> Array:
        """K_ii⁻¹ f, for forces on all degrees of freedom; displacements of all."""
        if self.n_rigid:
            raise ModelError(
                f"FE model '{self.component.fe.name}': {self.n_rigid} rigid motions are left with what is held, so its "
                "stiffness is singular.\n  Hold more: name an interface with more directions, or a root."
            )
        return self.expand(self.solver()(f[self.free]))

    def constraint_modes(self, moved: Index) -> Array:
        """(2): each of `moved`, which are held, by one unit in turn."""
        K = self.component.fe.stiffness
        out = self.solve(-np.asarray(K[:, moved].todense()))
        out[moved, np.arange(len(moved))] = 1.0
        return out

    def normal_modes(self, choose: Choice) -> tuple[Array, Array]:
        """Frequencies in Hz and shapes, without the rigid ones that are left."""
        wanted = choose.first_guess(len(self.free) - self.n_rigid)
        while True:
            if wanted not in self._found:
                self._found[wanted] = _eigen(self, wanted + self.n_rigid)
            values, vectors = self._found[wanted]
            frequencies = np.sqrt(np.maximum(values[self.n_rigid :], 0.0)) / (2 * np.pi)
            shapes = self.expand(vectors[:, self.n_rigid :])
            kept = choose.enough(frequencies, shapes, self.component.fe)
            if kept is not None or wanted >= len(self.free) - self.n_rigid:
                kept = len(frequencies) if kept is None else kept
                return frequencies[:kept], shapes[:, :kept]
            wanted = min(2 * wanted, len(self.free) - self.n_rigid)


@dataclass(frozen=True)
class Choice:
    """Which normal modes to keep: a number, all up to a frequency in Hz, or enough for a share of the mass.

    The share, between 0 and 1, is of the modal effective mass, reached in all three directions.
    """

    count: int | None = None
    max_frequency: float | None = None
    effective_mass: float | None = None

    def __post_init__(self) -> None:
        owner = Owner("mode selection")
        given = [x for x in (self.count, self.max_frequency, self.effective_mass) if x is not None]
        if len(given) != 1:
            expected = "expected exactly one of n_modes, max_frequency and effective_mass"
            raise ModelError(Fault(owner, (), given, expected))
        if self.count is not None and self.count < 0:
            raise ModelError(owner.field("n_modes").fault(self.count, "must be ≥ 0"))
        if self.effective_mass is not None and not 0.0 < self.effective_mass < 1.0:
            raise ModelError(owner.field("effective_mass").fault(self.effective_mass, "expected a share of 0 to 1"))

    def first_guess(self, most: int) -> int:
        return min(most, self.count if self.count is not None else 20)

    def enough(self, frequencies: Array, shapes: Array, fe: FEModel) -> int | None:
        """How many to keep, or None if more are needed to tell."""
        if self.count is not None:
            return min(self.count, len(frequencies))
        if self.max_frequency is not None:
            above = np.flatnonzero(frequencies > self.max_frequency)
            return int(above[0]) if len(above) else None
        share = np.cumsum(effective_mass(fe, shapes), axis=1).min(axis=0)
        reached = np.flatnonzero(share >= float(self.effective_mass or 0.0))
        return int(reached[0]) + 1 if len(reached) else None


def effective_mass(fe: FEModel, shapes: Array) -> Array:
    """3 × m: the share of the whole mass that each shape moves along x, y and z."""
    t = fe.rigid[:, 3:]
    modal = np.einsum("nm,nm->m", shapes, fe.mass @ shapes)
    moved = t.T @ (fe.mass @ shapes)
    return np.asarray(moved**2 / modal / np.diag(t.T @ (fe.mass @ t))[:, np.newaxis])


# ---------------------------------------------------------------- linear algebra


def _factorise(name: str, K: sp.csc_array, free: Index, positions: Array) -> Callable[[Array], Array]:
    """x = K⁻¹ f for what is free of K, whose degrees of freedom are at these places; many right-hand sides.

    By Cholesky's method in a band, which solids of up to some 100,000 degrees of freedom need less time and memory for
    than by SuperLU, which keeps L and U; by SuperLU where the band is wide.  The band is filled from K as it is: a copy
    without what is held would be a tenth of the memory.
    """
    n = len(free)
    if n == 0:
        return lambda f: np.zeros(np.shape(f))
    order, width = _band(K, free, positions)
    try:
        if n * (width + 1) > _BAND_SIZE or width > _BAND_WIDTH * K.nnz / n:
            part = sp.csc_array(K[free][:, free])
            lu = spl.splu(part, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
            return lambda f: np.asarray(lu.solve(np.asarray(f, dtype=np.float64)))
        band = _banded(K, free[order], width)
        factor = sla.cholesky_banded(band, True, lower=True, check_finite=False)
    except (RuntimeError, np.linalg.LinAlgError):
        raise ModelError(
            f"FE model '{name}': its stiffness is singular though every rigid motion is held: it has a mechanism.\n"
            "  Look for nodes that no element holds, or for rotations of nodes that have no stiffness."
        ) from None

    def solve(f: Array) -> Array:
        x = np.empty(np.shape(f))
        given = np.asarray(f, dtype=np.float64)[order]
        x[order] = sla.cho_solve_banded((factor, True), given, check_finite=False)
        return x

    return solve


def _places(n: int, order: Index) -> NDArray[np.int32]:
    """Where each of n degrees of freedom stands in this order; −1 if it does not."""
    place = np.full(n, -1, dtype=np.int32)
    place[order] = np.arange(len(order))
    return place


def _band(K: sp.csc_array, free: Index, positions: Array) -> tuple[Index, int]:
    """An order of what is free in which K has a narrow band, and how many diagonals are below its main one.

    Layer by layer along the structure's longest axis, or after Cuthill and McKee.
    """
    centred = positions[free] - positions[free].mean(axis=0)
    along = centred @ np.linalg.eigh(centred.T @ centred)[1]
    # in steps, so that round-off does not mix up what lies in one layer
    along = np.round(along / (1e-6 * np.abs(along).max() or 1.0))
    layers = np.lexsort(along.T)
    part = sp.csr_array(K[free][:, free])
    found = []
    for order in (layers, csgraph.reverse_cuthill_mckee(part, True)):
        place = _places(len(free), order)
        rows = np.repeat(place, np.diff(part.indptr))
        found.append((int(np.abs(rows - place[part.indices]).max(initial=0)), order))
    width, order = min(found, key=lambda pair: pair[0])
    return order, width


def _banded(K: sp.csc_array, order: Index, width: int) -> Array:
    """The lower half of K in this order in LAPACK's storage: a column for each column, the main diagonal first."""
    place = _places(K.shape[0], order)
    out = np.zeros((width + 1, len(order)), order="F")
    # by columns, a share at a time: K's entries again, with their places, would be as much as K itself
    for columns in np.array_split(order, 16):
        entries = sp.coo_array(K[:, columns])
        i, j = place[entries.row], place[columns[entries.col]]
        below = i >= j
        out[(i - j)[below], j[below]] = entries.data[below]
    return out


def _eigen(held: _Held, count: int) -> tuple[Array, Array]:
    """The lowest eigenvalues of K φ = λ M φ and vectors with φᵀMφ = 1; M may be singular, K too if motions are left.

    By shift and invert: μ = 1/(λ − σ) are the largest eigenvalues of (K − σM)⁻¹ M.
    """
    name, M, n = held.component.fe.name, held.M, len(held.free)
    count = min(count, n)
    if count == 0:
        return np.zeros(0), np.zeros((n, 0))
    shift = -_scale(held.component.fe.stiffness.diagonal()[held.free], M.diagonal()) if held.n_rigid else 0.0
    if n <= _DENSE or count > n // 3:
        try:
            L = np.linalg.cholesky((held.K - shift * M).todense())
        except np.linalg.LinAlgError:
            raise ModelError(f"FE model '{name}': its stiffness is not positive where it must be.") from None
        A = sla.solve_triangular(L, M.todense(), lower=True)
        A = sla.solve_triangular(L, A.T, lower=True)
        mu, x = sla.eigh(0.5 * (A + A.T), subset_by_index=(n - count, n - 1))
        vectors = sla.solve_triangular(L, x, lower=True, trans="T")
    else:
        inverse = spl.LinearOperator((n, n), matvec=held.solver(shift), dtype=np.float64)
        # A random start, always the same: one with a pattern can be orthogonal to whole families of modes.
        start = np.random.default_rng(0).normal(size=n)
        # with OPinv given, only the size of the first matrix is looked at
        values, vectors = spl.eigsh(M, k=count, M=M, sigma=shift, which="LM", OPinv=inverse, v0=start)
        mu = 1.0 / (values - shift)
    if mu.min() <= 1e-14 * mu.max():
        raise ModelError(
            f"FE model '{name}': {count} modes were asked for, but its mass matrix has only "
            f"{int((mu > 1e-14 * mu.max()).sum())} that move mass."
        )
    order = np.argsort(-mu)
    vectors = vectors[:, order]
    vectors = vectors / np.sqrt(np.einsum("nm,nm->m", vectors, M @ vectors))
    return 1.0 / mu[order] + shift, vectors


def _scale(stiff: Array, heavy: Array) -> float:
    """A number of the size of the lowest eigenvalues that are not zero, from the diagonals of K and M."""
    ratio = stiff[heavy > 0] / heavy[heavy > 0]
    # The lowest of n frequencies is about 1/n of the highest along a line of elements.
    return float(np.median(ratio)) / max(len(stiff), 10) ** 2


# ---------------------------------------------------------------- mode sets


@dataclass(frozen=True)
class Shapes:
    """Shapes before they are made orthonormal."""

    dynamic: Array
    static: Array
    frequencies: Array


def _normal(held: _Held, choose: Choice, static: Array | None = None) -> Shapes:
    frequencies, dynamic = held.normal_modes(choose)
    return Shapes(dynamic, np.zeros((len(dynamic), 0)) if static is None else static, frequencies)


def _free_interface(component: Component, choose: Choice, options: _Options) -> Shapes:
    return _normal(component.hold(np.zeros(0, np.int64)), choose)


def _fixed_interface(component: Component, choose: Choice, options: _Options) -> Shapes:
    return _normal(component.hold(component.C), choose)


def _loaded_interface(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Normal modes with the rigid inertia of the neighbours at the interfaces [M01, (II-4)]."""
    if not options.loads:
        raise ModelError("loaded-interface modes: no loads given, expected a 6×6 inertia for each loaded interface.")
    return _normal(component.loaded(options.loads), choose)


def _redundant_constraint(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Fixed-interface modes and one static shape for each redundant constraint [M01, (II-7)]."""
    kind = component.characterisation.kind
    if kind != INDETERMINATE:
        raise ModelError(
            f"redundant constraint modes: the component is statically {kind}, which has none "
            f"(c = {component.characterisation.c}, s = {component.characterisation.s}, "
            f"n_r = {component.characterisation.n_r}).\n  Use constraint modes with an imaginary support."
        )
    held = component.hold(component.C)
    return _normal(held, choose, held.constraint_modes(np.setdiff1d(component.C, _nonredundant(component, options))))


def _nonredundant(component: Component, options: _Options) -> Index:
    """{S}: at the root if there is one, else a well-conditioned choice among the interface constraints."""
    if options.root is not None:
        root = np.array([component.fe.dof(options.root, d) for d in ALL_DIRECTIONS])
        if np.isin(root, component.C).all():
            return root
    return component.support(component.C)


def _constraint(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Fixed-interface modes and one static shape for each interface constraint, {H} held [M01, (II-10), (II-12)]."""
    held = component.hold(component.C)
    imaginary = component._indices([options.imaginary]) if options.imaginary is not None else np.zeros(0, np.int64)
    if np.isin(imaginary, component.C).any():
        raise ModelError(f"constraint modes: the imaginary support '{options.imaginary}' is an interface itself.")
    supported = component.hold(np.concatenate([component.C, imaginary]))
    return _normal(held, choose, supported.constraint_modes(component.C))


def _craig_bampton(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Fixed-interface modes and constraint modes; with a root, which the frame follows, only those of the others."""
    held = component.hold(component.C)
    moved = component.C
    if options.root is not None:
        root = [component.fe.dof(options.root, d) for d in ALL_DIRECTIONS]
        held = component.hold(np.union1d(component.C, root))
        moved = np.setdiff1d(component.C, root)
    return _normal(held, choose, held.constraint_modes(moved))


def _relief(component: Component, options: _Options, f: Array) -> Array:
    """Static shapes under forces: held at the root, or balanced by inertia (3)."""
    if options.root is not None:
        return component.hold(component._indices([options.root])).solve(f)
    if component.characterisation.n_r == 0:
        return component.hold(np.zeros(0, np.int64)).solve(f)
    if component.characterisation.beta:
        raise ModelError("attachment modes: some rigid motions are fixed and some are free; name a root to hold.")
    R = component.rigid
    MR = component.fe.mass @ R
    balanced = f - MR @ np.linalg.solve(R.T @ MR, R.T @ f)
    return component.hold(component.support(np.arange(component.fe.n))).solve(balanced)


def _unit_forces(component: Component, options: _Options) -> Array:
    """One unit force on each interface degree of freedom, but for those of the root."""
    loaded = component.C
    if options.root is not None:
        loaded = np.setdiff1d(loaded, component._indices([options.root]))
    f = np.zeros((component.fe.n, len(loaded)))
    f[loaded, np.arange(len(loaded))] = 1.0
    return f


def _attachment(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Free-interface modes (of what the root leaves free) and the response to interface forces."""
    held = component.hold(component._indices([options.root] if options.root is not None else ()))
    return _normal(held, choose, _relief(component, options, _unit_forces(component, options)))


def _check_krylov(choose: Choice) -> int:
    """Return how many shapes are asked for, which is the only way to choose them."""
    if choose.count is None:
        fault = Owner("Krylov shapes").fault(
            "have no frequencies to choose by", advice=" Give n_modes.", advice_in_file=" Give count."
        )
        raise ModelError(fault)
    return choose.count


def _krylov(component: Component, choose: Choice, options: _Options) -> Shapes:
    """Shapes that match as many moments of the response to interface forces as there are blocks."""
    count = _check_krylov(choose)
    block = _relief(component, options, _unit_forces(component, options))
    blocks = [block]
    while sum(b.shape[1] for b in blocks) < count:
        size = np.sqrt(np.einsum("nm,nm->m", block, component.fe.mass @ block))
        block = _relief(component, options, component.fe.mass @ (block / size))
        blocks.append(block)
    shapes = np.concatenate(blocks, axis=1)[:, :count]
    return Shapes(np.zeros((component.fe.n, 0)), shapes, np.zeros(0))


MODE_SETS: dict[str, Callable[[Component, Choice, _Options], Shapes]] = {
    "free-interface": _free_interface,
    "fixed-interface": _fixed_interface,
    "loaded-interface": _loaded_interface,
    "redundant-constraint": _redundant_constraint,
    "constraint": _constraint,
    "craig-bampton": _craig_bampton,
    "attachment": _attachment,
    "krylov": _krylov,
}


@dataclass(frozen=True)
class _Options:
    root: str | None = None
    imaginary: str | None = None
    loads: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Reduction:
    """Orthonormal shapes (n × m) of a component, their frequencies in Hz, and how they came about."""

    fe: FEModel
    shapes: Array
    frequencies: Array
    method: str
    root: str | None
    characterisation: Characterisation
    n_dynamic: int
    n_static: int
    # The shapes as they were found, for `truncated`.
    found: Shapes | None = field(default=None, repr=False)

    def truncated(
        self,
        n_modes: int | None = None,
        *,
        max_frequency: float | None = None,
        effective_mass: float | None = None,
    ) -> Reduction:
        """Return the same mode set with fewer normal modes, and all its static shapes, without solving anything again.

        It spans what `reduce` finds with this choice.  Of several modes with one frequency, such as the bending modes
        of a round tube, a truncation between them keeps any of their combinations, here as there.
        """
        who = f"reduction of '{self.fe.name}'"
        if self.found is None:
            raise ModelError(f"{who}: its shapes were given, expected some that `reduce` found; truncated keeps those.")
        choose, found = Choice(n_modes, max_frequency, effective_mass), self.found
        krylov = self.method == "krylov"
        there = found.static.shape[1] if krylov else found.dynamic.shape[1]
        kept = _check_krylov(choose) if krylov else choose.enough(found.frequencies, found.dynamic, self.fe)
        if kept is None or (choose.count or 0) > there:
            has = f"{there} shapes" if krylov else f"{there} normal modes"
            has += "" if krylov else f", up to {found.frequencies.max(initial=0.0):.4g} Hz"
            wanted = {
                f"{choose.count}": choose.count,
                f"{choose.max_frequency} Hz": choose.max_frequency,
                f"a share {choose.effective_mass} of the mass": choose.effective_mass,
            }
            enough = next(words for words, value in wanted.items() if value is not None)
            raise ModelError(
                f"{who}: it has {has}, expected enough for {enough}.\n  Reduce the component anew, with more modes."
            )
        if krylov:
            found = replace(found, static=found.static[:, :kept])
        else:
            found = Shapes(found.dynamic[:, :kept], found.static, found.frequencies[:kept])
        return _orthonormal(self.fe, self.characterisation, self.method, self.root, found)

    @property
    def n_modes(self) -> int:
        return int(self.shapes.shape[1])

    def __repr__(self) -> str:
        range_ = f"{self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz" if self.n_modes else "none"
        return (
            f"<{self.method} reduction of '{self.fe.name}': {self.n_modes} modes, {range_}; "
            f"{self.n_dynamic} dynamic and {self.n_static} static shapes, statically {self.characterisation.kind}>"
        )

    def _repr_html_(self) -> str:
        rows = [(k, f"{frequency:.5g}") for k, frequency in enumerate(self.frequencies)]
        return notebook.table(repr(self).strip("<>"), ("mode", "frequency (Hz)"), rows)


def check_nodes(fe: FEModel, **fields: Iterable[str | None]) -> None:
    """Raise a ModelError if one of these fields names a node that is not there."""
    known = {*fe.names, *fe.observers}
    for key, names in fields.items():
        for name in names:
            if name is not None and str(name) not in known:
                fe.node(name, (key,))


def reduce(
    fe: FEModel,
    interfaces: Mapping[str, Sequence[int]] | Sequence[str] = (),
    method: str = "craig-bampton",
    *,
    n_modes: int | None = None,
    max_frequency: float | None = None,
    effective_mass: float | None = None,
    root: str | None = None,
    fixed: Mapping[str, Sequence[int]] | Sequence[str] = (),
    imaginary: str | None = None,
    loads: Mapping[str, Any] | None = None,
) -> Reduction:
    """Component modes of a finite-element model by one of MODE_SETS.

    `n_modes`, `max_frequency` (Hz) or `effective_mass` (a share) choose the normal modes; static shapes come on top.
    With `root`, a node, the shapes are those seen from a frame that moves with it (cantilever modes); without, they are
    orthogonal to all rigid motions that the boundary leaves (free–free modes).
    """
    if method not in MODE_SETS:
        raise ModelError(f"mode set {method!r} is unknown, expected one of {', '.join(MODE_SETS)}.")
    check_nodes(fe, interfaces=interfaces, fixed=fixed, loads=loads or (), imaginary=(imaginary,), root=(root,))
    return Component(fe, interfaces, fixed).reduce(
        method,
        n_modes=n_modes,
        max_frequency=max_frequency,
        effective_mass=effective_mass,
        root=root,
        imaginary=imaginary,
        loads=loads,
    )


def _orthonormal(
    fe: FEModel, characterisation: Characterisation, method: str, root: str | None, found: Shapes
) -> Reduction:
    """Return the reduction that has these shapes."""
    n_dynamic, n_static = found.dynamic.shape[1], found.static.shape[1]
    shapes = _relative(fe, characterisation, np.concatenate([found.dynamic, found.static], axis=1), root)
    shapes, frequencies = orthonormal(fe, shapes)
    return Reduction(fe, shapes, frequencies, method, root, characterisation, n_dynamic, n_static, found)


def _relative(fe: FEModel, characterisation: Characterisation, shapes: Array, root: str | None) -> Array:
    """The shapes as seen from the body's frame: without the root's motion, or without rigid motions."""
    R = fe.rigid
    if root is not None:
        _, at_root = fe.place(root)
        return np.asarray(shapes - R @ np.linalg.solve(at_root @ R, at_root @ shapes))
    if characterisation.n_r == 0:
        return shapes
    if characterisation.beta:
        raise ModelError(
            f"FE model '{fe.name}': its boundary leaves {characterisation.n_r} rigid motions. "
            "Fix it wholly, not at all, or name a root."
        )
    MR = fe.mass @ R
    return np.asarray(shapes - R @ np.linalg.solve(R.T @ MR, MR.T @ shapes))


def orthonormal(fe: FEModel, shapes: Array) -> tuple[Array, Array]:
    """Φ with ΦᵀMΦ = I and ΦᵀKΦ = diag(ω²) in the span of the shapes, and the frequencies in Hz.

    A shape of which the earlier ones leave less than 1e-8 is left out.
    """
    basis = np.zeros((fe.n, 0))
    images = np.zeros((fe.n, 0))  # M times the basis
    for shape in shapes.T:
        x, M_x = shape, fe.mass @ shape
        size = np.sqrt(x @ M_x)
        if not size > 0.0:
            continue
        # Gram and Schmidt, twice: once is not enough for shapes that are nearly dependent
        for _ in range(2):
            x = x - basis @ (images.T @ x)
        M_x = fe.mass @ x
        rest = np.sqrt(max(x @ M_x, 0.0))
        if rest > _RANK * size:
            basis = np.column_stack([basis, x / rest])
            images = np.column_stack([images, M_x / rest])
    stiff = basis.T @ (fe.stiffness @ basis)
    squares, turn = np.linalg.eigh(0.5 * (stiff + stiff.T))
    return np.asarray(basis @ turn), np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi)


@dataclass(frozen=True)
class LocalDeformation:
    """How much a component deforms where an appendage is attached, after (4): three frequencies in Hz, and the advice.

    `loaded` is the first frequency of the component with the rigid inertia of its appendages, `appendage` that of the
    appendage held where it is attached (infinite if it is rigid), `unloaded` that of the component alone, if known.
    """

    loaded: float
    appendage: float
    unloaded: float | None = None

    def __post_init__(self) -> None:
        for name in ("loaded", "appendage", "unloaded"):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise ModelError(Owner("local deformation").field(name).fault(value, "must be a frequency > 0"))

    @property
    def ratio(self) -> float:
        """Frequency of the loaded component by that of the appendage."""
        return self.loaded / self.appendage

    @property
    def degree(self) -> str:
        """`low`, `medium` or `high`."""
        return "low" if self.ratio >= _LOW else "high" if self.ratio <= _HIGH else "medium"

    @property
    def is_conclusive(self) -> bool:
        """Whether the appendages are heavy enough to matter: they lower the component's first frequency by 5 %.

        Where they do not, the ratio goes on falling with ever lighter and stiffer appendages, but the deformation
        does not grow [M01, VII-3-5 iii].  True if the frequency without them is not known.
        """
        return self.unloaded is None or self.loaded <= (1.0 - _LIGHT) * self.unloaded

    def __str__(self) -> str:
        advice = {
            "low": "free-interface modes may do.",
            "medium": "free-interface modes need many; static shapes (craig-bampton, constraint, attachment) need few.",
            "high": "use static shapes (craig-bampton, constraint, attachment) or loaded-interface modes.",
        }[self.degree]
        limits = "" if self.is_conclusive else " The appendages hardly load the component: it may also be lower."
        return f"{self.degree} ({self.ratio:.2g} times the appendage's frequency): {advice}{limits}"


def local_deformation(loaded: float, appendage: float, unloaded: float | None = None) -> LocalDeformation:
    """Return how much a component deforms locally where an appendage meets it, after (4) [M01, VII-3-4].

    From the first frequency of the component that carries the appendage's rigid inertia, and that of the appendage;
    with that of the component alone it can say where the criterion ends.  `liegeo.analysis.synthesis` finds all three.
    """
    return LocalDeformation(float(loaded), float(appendage), None if unloaded is None else float(unloaded))
