"""Straight beams in space as finite elements: Euler–Bernoulli and Timoshenko, uniform and tapered.

An element lies along its local x axis, 0 ≤ x ≤ L, with 12 directions: rotations θx, θy, θz and displacements u, v, w of
both ends.  All its matrices follow from the *static* solution between its ends, which equilibrium gives for any taper:
without loads in between, N, T and the shear force Q are constant and the moment is linear.  In the x–y plane, with its
value m in the middle,

    M(x) = m + Q (L/2 − x),   κ = θ′ = M/EI,   γ = v′ − θ = Q/(G As)   (γ = 0: Euler–Bernoulli).           (1)

What the ends do beyond a rigid motion is d = (θ_L − θ_0, v_L − v_0 − L(θ_0 + θ_L)/2) = B (v_0, θ_0, v_L, θ_L), and with
(1)

    d = F (m, Q),   F = ∫ (1, L/2 − x)ᵀ(1, L/2 − x)/EI dx + diag(0, ∫ dx/(G As)),   K = Bᵀ F⁻¹ B,          (2)

so K is exact for loads at the ends, has no strain energy in a rigid motion, and of a uniform beam it is the known one
with Φ = 12EI/(G As L²).  Integrating (1) from the left end gives the shapes

    θ(x) = θ_0 + ∫₀ˣ κ,   v(x) = v_0 + ∫₀ˣ (θ + γ),                                                       (3)

and these the consistent mass,

    M = ∫ ρA (uᵀu + vᵀv + wᵀw) + ρIp θxᵀθx + ρIy θyᵀθy + ρIz θzᵀθz dx,                                    (4)

without its last two terms if rotary inertia is left out.  The x–z plane is the same for (w, −θy), as w′ = −θy + γ;
stretch and twist are du/dx = N/EA, dθx/dx = T/GJ.

**Quadrature.**  Tapers are integrated within the element, not cut into uniform pieces: statics stay exact, and one path
serves all.  With n Gauss points, Legendre polynomials give S with (S f)_i = ∫₀^{ξ_i} f, exact if f is of degree < n.
Gauss's weights b satisfy Σ_i b_i S_ij = b_j (1 − ξ_j), since they integrate degree 2n − 1; so shapes that are
integrated twice with S end where (2) says, to rounding.  Uniform elements need n = 4 to be exact; 6 leave tapers an
error below the mesh's.

**Geometric stiffness.**  For a section that moves by u and turns by R = exp(θ̂), the strains of a beam of any rotation
are Γ = Rᵀ(e₁ + u′) − e₁ and K = dexp_right(θ) θ′ (docs/conventions.md).  Their parts of second order are

    Γ₂ = −θ×u′ + ½ θ×(θ×e₁),   K₂ = −½ θ×θ′,                                                              (5)

and stresses that are already there do work on them:

    W = ∫ N Γ₂x + Qy Γ₂y + Qz Γ₂z + T K₂x + My K₂y + Mz K₂z + ½ N (Iy + Iz)/A θx′² dx = ½ uᵀ K_G u.       (6)

The first term is ½N(v′² + w′²) where γ = 0; the last is the stretch of fibres that wind around a twisted axis.  As
nodal rotations are rotation vectors in one frame, elements may meet at any angle.  With shear flexibility, a column
then buckles where Haringx says, P(1 + P/(G As)) = P_E.

Orders.  Static solutions for loads at nodes are exact.  Frequencies of bending have errors of order h⁴ without shear
flexibility, about (kh)⁴/1440 of the wavenumber k.  With it, and in stretch and twist, what the shapes leave out is the
shear (stretch, twist) of the inertia load within an element, which is an error of order h²: (ωh)²/24c² with
c² = G As/ρA (E/ρ, GJ/ρIp).  Loads of buckling have errors of order h⁴ in bending, h² where twist or shear take part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.errors import Fault, Field, ModelError, Owner
from liegeo.flex.fe import Arms, FEModel, Pieces
from liegeo.flex.sections import Material, Section, number, taper
from liegeo.flex.surface import Surface, joined, outlines, swept
from liegeo.lie import SO3
from liegeo.model.body import Body
from liegeo.model.checks import as_array, suggest

if TYPE_CHECKING:
    import scipy.sparse as sp
    import scipy.sparse.csgraph as csgraph
else:
    sp = late("scipy.sparse")
    csgraph = late("scipy.sparse.csgraph")

Array = NDArray[np.float64]
Kind = Literal["euler", "timoshenko"]
# One section, those of both ends, or a function of the distance from the first end.
Profile = Section | tuple[Section, Section] | Callable[[float], Section]


def _collocation(n: int) -> tuple[Array, Array, Array]:
    """Gauss's points and weights on [0, 1], and S that integrates from 0 to each of them."""
    t, b = np.polynomial.legendre.leggauss(n)
    P = np.polynomial.legendre.legvander(t, n)
    # ∫ P_k from −1 to t is (P_{k+1} − P_{k−1})/(2k + 1)
    integrals = np.stack([t + 1.0] + [(P[:, k + 1] - P[:, k - 1]) / (2 * k + 1) for k in range(1, n)], axis=1)
    return 0.5 * (t + 1.0), 0.5 * b, 0.5 * integrals @ np.linalg.inv(P[:, :n])


_XI, _WEIGHT, _S = _collocation(6)


def _pick(*directions: int, signs: Sequence[float] = (1.0, 1.0, 1.0, 1.0)) -> Array:
    """The matrix that takes these of an element's 12 directions."""
    out = np.zeros((len(directions), 12))
    out[range(len(directions)), directions] = signs[: len(directions)]
    return out


_STRETCH, _TWIST = _pick(3, 9), _pick(0, 6)
# (v, θz) and (w, −θy) at both ends
_PLANE_Y = _pick(4, 2, 10, 8)
_PLANE_Z = _pick(5, 1, 11, 7, signs=(1.0, -1.0, 1.0, -1.0))


@dataclass(frozen=True)
class _Fields:
    """Shapes at the Gauss points (6 × 12 each) and the force that goes with them (1 or 2 × 12)."""

    force: Array
    stiffness: Array
    displacement: Array
    slope: Array
    rotation: Array
    curvature: Array


def _rod(L: float, flexibility: Array, pick: Array) -> _Fields:
    """Stretch or twist: the force is what (1) and (2) become without a moment."""
    force = np.array([[-1.0, 1.0]]) / (L * _WEIGHT @ flexibility)
    slope = np.outer(flexibility, force[0])
    displacement = np.array([1.0, 0.0]) + L * _S @ slope
    K = np.array([[-1.0], [1.0]]) @ force
    none = np.zeros((len(_XI), 12))
    return _Fields(force @ pick, pick.T @ K @ pick, displacement @ pick, slope @ pick, none, none)


def _bending(L: float, flexibility: Array, shear: Array, pick: Array) -> _Fields:
    """Bending in one plane, (1) to (3), from 1/EI and 1/(G As) at the Gauss points."""
    along = np.stack([np.ones_like(_XI), L * (0.5 - _XI)])
    B = np.array([[0.0, -1.0, 0.0, 1.0], [-1.0, -0.5 * L, 1.0, -0.5 * L]])
    F = L * (along * (_WEIGHT * flexibility)) @ along.T
    F[1, 1] += L * _WEIGHT @ shear
    force = np.linalg.solve(F, B)
    curvature = flexibility[:, np.newaxis] * (along.T @ force)
    rotation = np.array([0.0, 1.0, 0.0, 0.0]) + L * _S @ curvature
    slope = rotation + np.outer(shear, force[1])
    displacement = np.array([1.0, 0.0, 0.0, 0.0]) + L * _S @ slope
    shapes = (displacement @ pick, slope @ pick, rotation @ pick, curvature @ pick)
    return _Fields(force @ pick, pick.T @ B.T @ force @ pick, *shapes)


@dataclass(frozen=True)
class _Element:
    """Matrices of one element in its own axes.

    `forces` (6 × 12) gives N, T, (m, Q) in the x–y plane and (m, Q) in the x–z plane; `geometric` (6 × 12 × 12) is K_G
    for each of them being 1.  At its Gauss points, whose distances from its first node are `stations`, `motion` (6 × 6
    × 12) gives rotation and displacement, and `masses` (6) and `moments` (6 × 3) are mass and moments of inertia.
    """

    stiffness: Array
    stations: Array
    motion: Array
    masses: Array
    moments: Array
    forces: Array
    geometric: Array


def _element(L: float, sections: Sequence[Section], material: Material, kind: Kind, rotary: bool) -> _Element:
    """One element from its sections at the Gauss points."""
    A, Iy, Iz, J, Ip, Asy, Asz = (
        np.array([getattr(s, what) for s in sections]) for what in ("A", "Iy", "Iz", "J", "Ip", "Asy", "Asz")
    )
    E, G, rho = material.E, material.G, material.rho

    def shear(As: Array) -> Array:
        flexible = (As > 0.0) if kind == "timoshenko" else np.zeros(len(As), dtype=bool)
        return np.where(flexible, 1.0 / (G * np.where(flexible, As, 1.0)), 0.0)

    stretch, twist = _rod(L, 1.0 / (E * A), _STRETCH), _rod(L, 1.0 / (G * J), _TWIST)
    xy = _bending(L, 1.0 / (E * Iz), shear(Asy), _PLANE_Y)
    xz = _bending(L, 1.0 / (E * Iy), shear(Asz), _PLANE_Z)

    def product(density: Array | float, a: Array, b: Array) -> Array:
        return (a * (L * _WEIGHT * density)[:, np.newaxis]).T @ b

    # (5) and (6).  θy = −rotation of the x–z plane, and with it My = −(m + Q(L/2 − x)) there.
    du, dv, dw = stretch.slope, xy.slope, xz.slope
    tx, ty, tz = twist.displacement, -xz.rotation, xy.rotation
    dtx, dty, dtz = twist.slope, -xz.curvature, xy.curvature

    def hessian(*terms: tuple[Array | float, Array, Array]) -> Array:
        """Of ∫ Σ c a b dx, each a and b linear in the 12 directions."""
        half = sum((product(c, a, b) for c, a, b in terms), np.zeros((12, 12)))
        return half + half.T

    arm = L * (0.5 - _XI)
    K2_y = ((-0.5, tz, dtx), (0.5, tx, dtz))
    K2_z = ((-0.5, tx, dty), (0.5, ty, dtx))
    geometric = np.stack(
        [
            hessian((-1.0, ty, dw), (1.0, tz, dv), (-0.5, ty, ty), (-0.5, tz, tz), (0.5 * (Iy + Iz) / A, dtx, dtx)),
            hessian((-0.5, ty, dtz), (0.5, tz, dty)),
            hessian(*K2_z),
            hessian((-1.0, tz, du), (1.0, tx, dw), (0.5, tx, ty), *((c * arm, a, b) for c, a, b in K2_z)),
            hessian(*((-c, a, b) for c, a, b in K2_y)),
            hessian((-1.0, tx, dv), (1.0, ty, du), (0.5, tx, tz), *((-c * arm, a, b) for c, a, b in K2_y)),
        ]
    )
    parts = (stretch, twist, xy, xz)
    bending = (rho * Iy, rho * Iz) if rotary else (np.zeros_like(A), np.zeros_like(A))
    return _Element(
        stiffness=sum((p.stiffness for p in parts), np.zeros((12, 12))),
        stations=L * _XI,
        motion=np.stack([tx, ty, tz, stretch.displacement, xy.displacement, xz.displacement], axis=1),
        masses=L * _WEIGHT * rho * A,
        moments=(L * _WEIGHT)[:, np.newaxis] * np.stack([rho * Ip, *bending], axis=1),
        forces=np.concatenate([p.force for p in parts]),
        geometric=geometric,
    )


@dataclass(frozen=True, eq=False)
class _Geometric:
    """From a static displacement to K_G: forces of each element (e × 6 × 12), then (6) for each (e × 6 × 12 × 12)."""

    name: str
    n: int
    dofs: NDArray[np.int64]
    forces: Array
    geometric: Array

    def __call__(self, u: ArrayLike) -> sp.csc_array:
        u = as_array(Owner("frame", self.name).field("displacement"), u, (self.n,))
        forces = np.einsum("eki,ei->ek", self.forces, u[self.dofs])
        return _assemble(self.n, self.dofs, np.einsum("ek,ekij->eij", forces, self.geometric))


def _assemble(n: int, dofs: NDArray[np.int64], matrices: Array) -> sp.csc_array:
    rows = np.repeat(dofs, dofs.shape[1], axis=1)
    columns = np.tile(dofs, (1, dofs.shape[1]))
    return sp.csc_array(sp.coo_array((matrices.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)))


def local_axes(field: Field, x: ArrayLike, up: ArrayLike | None = None) -> Array:
    """Return the rotation from local axes: x along the beam, z as close as it can be to `up`, y = z × x.

    Without `up`: the frame's z, or its y for beams along z, so that a beam along x has the frame's axes.
    """
    x = np.asarray(x, dtype=np.float64) / np.linalg.norm(x)
    if up is None:
        up = (0.0, 1.0, 0.0) if abs(x[2]) > 0.999 else (0.0, 0.0, 1.0)
    given = as_array(field, up, (3,))
    z = given - (given @ x) * x
    if np.linalg.norm(z) <= 1e-6 * np.linalg.norm(given):
        along = f"which is zero or along the beam, {np.round(x, 6).tolist()}; give a direction across it"
        raise ModelError(field.fault(given, along))
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)


@dataclass(frozen=True)
class _Sweep:
    """A beam as it is drawn: its first element, their number, its section as it was given, its length."""

    start: int
    n: int
    profile: Profile
    length: float

    def stations(self, pieces: int) -> tuple[Array, NDArray[np.int64]]:
        """Places 0 … 1 in elements, and these: the ends of all elements, and some between them."""
        k = np.arange(self.n * pieces + 1)
        elements = np.minimum(k // pieces, self.n - 1)
        return (k - elements * pieces) / pieces, elements

    def sections_at(self, share: Array) -> list[Section]:
        """By share of the length.  A function is only asked between the outermost Gauss points, where it was before."""
        if isinstance(self.profile, Section):
            return [self.profile] * len(share)
        if isinstance(self.profile, tuple):
            return [taper(*self.profile, float(s)) for s in share]
        low = float(_XI[0]) / self.n
        return [self.profile(float(x)) for x in self.length * np.clip(share, low, 1.0 - low)]


# Stations along all beams, if their elements are few; between two nodes at most six.
_STATIONS, _PIECES = 24, 6
# Where the motion within an element is known: at its ends and Gauss points.
_KNOWN = np.array([0.0, *_XI, 1.0])
_ENDS = np.stack([np.eye(6, 12), np.eye(6, 12, 6)])


def _between(xi: Array, motion: Array) -> Array:
    """How sections at ξ turn and move (s × 6 × 12), from what is known of the element of each (s × 6 × 6 × 12).

    A polynomial through the ends and the Gauss points: exact for uniform beams.
    """
    others = ~np.eye(len(_KNOWN), dtype=bool)
    factors = (xi[:, np.newaxis, np.newaxis] - _KNOWN) / np.where(others, _KNOWN[:, np.newaxis] - _KNOWN, 1.0)
    weights = np.prod(factors, axis=2, where=others)
    inside = np.einsum("sk,skij->sij", weights[:, 1:-1], motion)
    return np.asarray(inside + np.einsum("sk,kij->sij", weights[:, [0, -1]], _ENDS))


class Frame:
    """Builds the finite-element model of a frame: nodes, beams between them, rigid masses on nodes.

    Beams run through centroids, which are also centres of shear, and are joined rigidly.

    >>> from liegeo.flex.sections import Material, tube
    >>> frame = Frame(Material(E=7.2e10, rho=2700.0, nu=0.34), name="mast")
    >>> for name, position in {"foot": (0, 0, 0), "head": (0, 0, 2), "arm": (1, 0, 2)}.items():
    ...     frame.node(name, position)
    >>> frame.beam("foot", "head", tube(0.05, 0.046), n_elements=4)
    ('foot', 'foot-head.1', 'foot-head.2', 'foot-head.3', 'head')
    >>> frame.beam("head", "arm", tube(0.03, 0.027))
    ('head', 'arm')
    >>> frame.mass("arm", 0.5, inertia=(1e-3, 1e-3, 1e-3), com=(0, 0, -0.1))
    >>> frame.model()
    <FE model 'mast': 6 nodes, 36 degrees of freedom, 2.49122 kg>
    """

    def __init__(self, material: Material, name: str = "frame") -> None:
        self.name = name
        self.material = material
        self._owner = Owner("frame", name)
        if not isinstance(material, Material):
            raise ModelError(self._owner.field("material").fault(material, "expected a Material"))
        self._nodes: dict[str, Array] = {}
        self._links: list[tuple[int, int]] = []
        self._elements: list[tuple[Array, _Element]] = []
        self._masses: list[tuple[int, Body]] = []
        self._sweeps: list[_Sweep] = []

    def node(self, name: str | int, position: ArrayLike) -> None:
        """A place where beams begin or end."""
        field = self._owner.field("position", words=f"position of node '{name}'")
        self._nodes[self._new(str(name))] = as_array(field, position, (3,))

    def _new(self, name: str) -> str:
        if name in self._nodes:
            fault = self._owner.fault(
                f"there is already a node '{name}'",
                f"at {self._nodes[name].tolist()}; "
                "give each node, and each of several beams between the same nodes, its own name",
            )
            raise ModelError(fault)
        return name

    def beam(
        self,
        a: str | int,
        b: str | int,
        section: Profile,
        n_elements: int = 1,
        kind: Kind = "euler",
        rotary: bool = True,
        up: ArrayLike | None = None,
        material: Material | None = None,
        name: str | None = None,
    ) -> tuple[str, ...]:
        """A straight beam from node a to node b in elements of equal length; returns its nodes' names in order.

        `section` is one Section, a pair for both ends (see `taper`), or a function of the distance from a.  An element
        whose thick end is twice as wide as its thin one has the right tip deflection to 1e-6, four times to 5e-4: take
        more elements for steeper tapers, and cut sharp tips off.  `up` is the direction of the section's z axis (see
        `local_axes`).  `rotary` is whether bending moves the sections' rotary inertia; twisting always does.  The nodes
        within are called after the beam: 'a-b.1', 'a-b.2', ….
        """
        name = f"{a}-{b}" if name is None else name
        inner = [self._new(f"{name}.{i}") for i in range(1, self._count(name, n_elements))]
        return self._lay(name, (str(a), *inner, str(b)), section, kind, rotary, up, material)

    def _count(self, name: str, n: int) -> int:
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ModelError(self._beam(name).field("n_elements").fault(n, "expected an integer ≥ 1"))
        return int(n)

    def _beam(self, name: str) -> Owner:
        return self._owner.part(f"beam '{name}'")

    def _lay(
        self,
        name: str,
        nodes: tuple[str, ...],
        section: Profile,
        kind: Kind,
        rotary: bool,
        up: ArrayLike | None,
        material: Material | None,
    ) -> tuple[str, ...]:
        """Elements from the first of these nodes to the last, and the nodes between them that are not there yet."""
        owner = self._beam(name)
        if kind not in get_args(Kind):
            raise ModelError(owner.field("kind").fault(kind, "expected 'euler' or 'timoshenko'"))
        material = self.material if material is None else material
        if not isinstance(material, Material):
            raise ModelError(owner.field("material").fault(material, "expected a Material"))
        ends = (("a", nodes[0]), ("b", nodes[-1]))
        first, last = (self._nodes[self._known(owner.field(key), node)] for key, node in ends)
        length = float(np.linalg.norm(last - first))
        if not length > 0.0:
            found = f"nodes '{nodes[0]}' and '{nodes[-1]}' are both at {first.tolist()}"
            raise ModelError(owner.fault(found, "length must be > 0"))
        rotation = local_axes(owner.field("up"), last - first, up)
        n = len(nodes) - 1
        stations = length / n * (np.arange(n)[:, np.newaxis] + _XI)
        sections = _sections(owner.field("section"), section, stations, length)
        if kind == "timoshenko" and not any(s.Asy or s.Asz for row in sections for s in row):
            expected = f"but section '{sections[0][0].name}' has no shear area"
            advice = "Give it Asy and Asz, or make the beam of kind 'euler'."
            in_file = "Give it Asy and Asz, or choose the theory euler."
            raise ModelError(replace(owner.field("kind").fault(kind, expected, advice), advice_in_file=in_file))
        # An error in what was given leaves the frame as it was: nodes and elements come last.
        for i, inner in enumerate(nodes[1:-1], start=1):
            self._nodes.setdefault(inner, first + (last - first) * (i / n))
        order = {node: i for i, node in enumerate(self._nodes)}
        indices = [order[node] for node in nodes]
        self._links += pairwise(indices)
        made = [_element(length / n, row, material, kind, rotary) for row in sections]
        start = len(self._elements)
        self._elements += [(rotation, made[i if len(made) > 1 else 0]) for i in range(n)]
        self._sweeps.append(_Sweep(start, n, section, length))
        return nodes

    def mass(
        self, node: str | int, mass: float, inertia: ArrayLike = (0.0, 0.0, 0.0), com: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        """A rigid body on a node: `com` from the node to its centre of mass, `inertia` about that, in frame axes."""
        owner = self._owner.part(f"mass on '{node}'")
        index = list(self._nodes).index(self._known(owner.field(), node))
        body = Body(f"mass on {node}", number(owner.field("mass"), mass, strictly=False), com, inertia)
        self._masses.append((index, body))

    def _known(self, field: Field, node: str | int) -> str:
        if str(node) not in self._nodes:
            known, found = suggest(str(node), list(self._nodes)), f"there is no node '{node}'"
            raise ModelError(Fault(field.owner, field.path, node, found, advice=known))
        return str(node)

    def model(self) -> FEModel:
        """All of it as an FE model: six directions a node, in the order in which nodes were given."""
        names, n = tuple(self._nodes), 6 * len(self._nodes)
        if not self._elements:
            raise ModelError(Fault(self._owner, ("beams",), None, "has no beams", "expected at least one"))
        links = np.array(self._links)
        graph = sp.coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(len(names), len(names)))
        _, piece = csgraph.connected_components(graph, directed=False)
        if piece.any():
            apart = names[int(np.argmax(piece != piece[0]))]
            found = f"no beams lead from node '{names[0]}' to node '{apart}'; connect them"
            raise ModelError(Fault(self._owner, ("points", apart), apart, found))

        dofs = (6 * links[:, :, np.newaxis] + np.arange(6)).reshape(-1, 12)
        # local = turn · global, four blocks of three directions
        turn = np.stack([np.kron(np.eye(4), rotation.T) for rotation, _ in self._elements])
        back = turn.transpose(0, 2, 1)
        elements = [element for _, element in self._elements]
        stiffness = back @ np.stack([e.stiffness for e in elements]) @ turn
        forces = np.stack([e.forces for e in elements]) @ turn
        geometric = back[:, np.newaxis] @ np.stack([e.geometric for e in elements]) @ turn[:, np.newaxis]
        positions = np.stack(list(self._nodes.values()))
        pieces = self._pieces(positions, links[:, 0], dofs, turn)
        return FEModel(
            positions=positions,
            dofs=np.stack(np.divmod(np.arange(n), 6), axis=1),
            mass=pieces.motion.T @ pieces.inertia @ pieces.motion,
            stiffness=_assemble(n, dofs, stiffness),
            names=names,
            name=self.name,
            geometric=_Geometric(self.name, n, dofs, forces, geometric),
            pieces=pieces,
            surface=joined([self._swept(sweep, dofs, n) for sweep in self._sweeps]),
        )

    def _pieces(self, nodes: Array, first: NDArray[np.int64], dofs: NDArray[np.int64], turn: Array) -> Pieces:
        """Sections at the Gauss points, and the rigid masses: (4) is their mass matrix."""
        places, inertias, motions, columns = [], [], [], []
        for (rotation, element), start, mine, to_local in zip(self._elements, first, dofs, turn, strict=True):
            places.append(nodes[start] + np.outer(element.stations, rotation[:, 0]))
            J = np.einsum("ab,pb,cb->pac", rotation, element.moments, rotation)
            inertias += [_inertia(m, j) for m, j in zip(element.masses, J, strict=True)]
            # from local to frame axes, rotation and displacement alike
            motions.append(np.kron(np.eye(2), rotation) @ element.motion @ to_local)
            columns += [mine] * len(element.masses)
        motion = list(np.concatenate(motions))
        first_mass = len(motion)
        for index, body in self._masses:
            com = np.asarray(body.com)
            places.append((nodes[index] + com)[np.newaxis])
            inertias.append(_inertia(body.mass, np.asarray(body.inertia)))
            motion.append(np.block([[np.eye(3), np.zeros((3, 3))], [-SO3.hat(com), np.eye(3)]]))
            columns.append(6 * index + np.arange(6))
        rows = np.concatenate([np.repeat(6 * p + np.arange(6), m.shape[1]) for p, m in enumerate(motion)])
        entries = (
            np.concatenate([m.ravel() for m in motion]),
            (rows, np.concatenate([np.tile(c, 6) for c in columns])),
        )
        size = (6 * len(motion), 6 * len(nodes))
        arms = None
        if far := [(first_mass + i, node, body.com) for i, (node, body) in enumerate(self._masses) if np.any(body.com)]:
            piece, node, com = (np.array(x) for x in zip(*far, strict=True))
            group, direction = np.divmod(np.arange(3 * len(far)), 3)
            turns = (6 * node[:, np.newaxis] + np.arange(3)).ravel()
            rotation = sp.csr_array((np.ones(len(turns)), (np.arange(len(turns)), turns)), (len(turns), size[1]))
            arms = Arms.of(rotation, group, direction, 6 * piece[group] + 3 + direction, com[group], size[0])
        return Pieces(
            positions=np.concatenate(places),
            dofs=np.stack(np.divmod(np.arange(6 * len(motion)), 6), axis=1),
            inertia=sp.csr_array(sp.block_diag(inertias)),
            motion=sp.csr_array(entries, size),
            arms=arms,
        )

    def _swept(self, sweep: _Sweep, dofs: NDArray[np.int64], n: int) -> Surface:
        """The surface of one beam."""
        nodes = np.stack(list(self._nodes.values()))
        count = len(self._elements)
        xi, elements = sweep.stations(int(np.clip(np.ceil(_STATIONS / count), 1, _PIECES)))
        rotation = self._elements[sweep.start][0]
        known = np.stack([element.motion for _, element in self._elements[sweep.start : sweep.start + sweep.n]])
        motion = _between(xi, known[elements]) @ np.kron(np.eye(4), rotation.T)
        first, last = nodes[self._links[sweep.start][0]], nodes[self._links[sweep.start + sweep.n - 1][1]]
        share = (xi + elements) / sweep.n
        axis = first + share[:, np.newaxis] * (last - first)
        lines = outlines(sweep.sections_at(share), count)
        return swept(lines, axis, rotation, motion, dofs[sweep.start + elements], n)


def _inertia(mass: float, J: Array) -> Array:
    """6 × 6, about the centre of mass, angular first."""
    return np.block([[J, np.zeros((3, 3))], [np.zeros((3, 3)), mass * np.eye(3)]])


def _sections(field: Field, profile: Profile, stations: Array, length: float) -> list[list[Section]]:
    """Return the sections at the stations, one row an element; one row only if all elements are the same."""
    if isinstance(profile, Section):
        return [[profile] * stations.shape[1]]
    if isinstance(profile, tuple) and len(profile) == 2 and all(isinstance(s, Section) for s in profile):
        first, second = profile
        for what in ("Asy", "Asz"):
            if (getattr(first, what) > 0.0) != (getattr(second, what) > 0.0):
                values, subject = (
                    f"is {getattr(first, what):g} and {getattr(second, what):g}",
                    f"{what} of the sections",
                )
                raise ModelError(field.fault(profile, "expected both > 0 or both 0", finding=values, subject=subject))
        return [[taper(first, second, float(x) / length) for x in row] for row in stations]
    if not callable(profile):
        raise ModelError(field.fault(profile, "expected a Section, a pair of them, or a function of x"))
    rows = [[(float(x), profile(float(x))) for x in row] for row in stations]
    for x, found in (pair for row in rows for pair in row):
        if not isinstance(found, Section):
            raise ModelError(field.fault(found, "expected a Section", subject=f"the section at x = {x:g}"))
    return [[found for _, found in row] for row in rows]


def beam(
    length: float,
    section: Profile,
    material: Material,
    n_elements: int,
    kind: Kind = "euler",
    rotary: bool = True,
    up: ArrayLike | None = None,
    name: str = "beam",
) -> FEModel:
    """A straight beam along x from the origin, with nodes '0' to 'n'; what is given means what it does in `Frame.beam`.

    >>> from liegeo.flex.sections import Material, circle
    >>> beam(2.0, circle(0.02), Material(E=7.2e10, rho=2700.0, nu=0.34), n_elements=4)
    <FE model 'beam': 5 nodes, 30 degrees of freedom, 1.69646 kg>
    """
    frame = Frame(material, name)
    n = frame._count(name, n_elements)
    ends = np.linspace(0.0, number(Owner("frame", name).field("length"), length), n + 1)
    nodes = tuple(str(i) for i in range(n + 1))
    for node, x in zip(nodes, ends, strict=True):
        frame.node(node, (x, 0.0, 0.0))
    frame._lay(name, nodes, section, kind, rotary, up, None)
    return frame.model()
