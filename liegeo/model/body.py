"""Bodies that a person writes down: rigid, and flexible in the floating frame of reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Fault, Field, ModelError, Owner
from liegeo.lie import SO3
from liegeo.model import notebook
from liegeo.model.about import about
from liegeo.model.checks import Sealed, as_array, as_bounded, as_number, as_numbers, as_pose, as_symmetric, suggest
from liegeo.model.shapes import Shape, Skin
from liegeo.recorded import Recorded, explain, value_of, values_of

Array = NDArray[np.float64]


# What two entries that should be the same may differ by, seen from the largest: files often hold single precision.
_SYMMETRY = 1e-6


def _check_inertia(owner: Owner, mass: float, inertia: Array) -> None:
    """Raise a ModelError if no rigid body has this mass and this inertia about its centre of mass."""
    as_bounded(owner.field("mass"), mass)
    # Rounding of the inertia itself, and of a shift over metres that cancelled to give it.
    slack = 1e-9 * np.abs(np.diag(inertia)).sum() + 1e-15 * mass
    advice = "Give the inertia about the centre of mass, in the body's axes."
    _check_moments(owner.field("inertia"), inertia, slack, advice)


def _check_moments(field: Field, inertia: Array, slack: float, advice: str) -> None:
    """Raise if a principal moment about the centre of mass is below zero, or larger than the sum of the others."""
    if inertia.dtype.kind == "O":
        _guard_moments(field, inertia, slack)
        inertia, slack = values_of(inertia), value_of(slack)
    a, b, c = np.linalg.eigvalsh(inertia)
    if a < -slack:
        raise ModelError(field.fault(inertia, "must be ≥ 0", advice, finding=f"has the principal moment {a:.6g}"))
    if c > a + b + slack:
        fault = field.fault(
            inertia,
            advice=f"The largest must not exceed the sum of the others ({a + b:.6g}). Check units and signs.",
            finding="break the triangle inequality: no distribution of mass has them",
            subject=f"principal moments {a:.6g}, {b:.6g}, {c:.6g}",
        )
        raise ModelError(fault)


def _guard_moments(field: Field, inertia: Array, slack: float) -> None:
    """Note what must hold of a recorded inertia J so that its principal moments can be those of a body.

    None is below zero, or larger than the sum of the others, where S = ½ tr(J) 1 − J has no negative eigenvalue: where
    no principal minor of S is negative.
    """
    S = 0.5 * (inertia[0, 0] + inertia[1, 1] + inertia[2, 2]) * np.eye(3) - inertia + slack * np.eye(3)
    said = field.fault(
        None,
        advice="The largest must not exceed the sum of the others. Check units and signs.",
        finding="break the triangle inequality: no distribution of mass has them",
        subject="principal moments",
    )
    pairs = [S[a, a] * S[b, b] - S[a, b] * S[b, a] for a, b in ((0, 1), (1, 2), (0, 2))]
    whole = sum(S[0, a] * (S[1, b] * S[2, c] - S[1, c] * S[2, b]) for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    for minor, size in (*((S[k, k], 1) for k in range(3)), *((pair, 2) for pair in pairs), (whole, 3)):
        # minors of what is zero but for round-off are round-off
        if isinstance(minor, Recorded) and minor.value > 1e-3 * value_of(slack) ** size:
            _ = minor >= 0.0
            explain(minor, lambda: str(said))


def _is_symmetric(array: Array, axes: tuple[int, ...]) -> bool:
    """Whether it stays what it is with its axes in another order, seen from its largest entry."""
    off = np.abs(array - array.transpose(axes)).max(initial=0.0)
    return bool(off <= _SYMMETRY * np.abs(array).max(initial=0.0))


def _shapes(field: Field, given: Any) -> tuple[Shape, ...]:
    if not isinstance(given, list | tuple):
        raise ModelError(field.fault(given, "expected a list of Box, Sphere, Cylinder or Mesh"))
    for k, shape in enumerate(given):
        if not isinstance(shape, Shape):
            fault = field.entry(k).fault(
                shape, "expected Box, Sphere, Cylinder or Mesh", finding=f"has {shape!r}", subject="shapes"
            )
            raise ModelError(fault)
    return tuple(given)


def _frames(owner: Owner, given: Mapping[str, ArrayLike]) -> Mapping[str, Array]:
    poses = {name: as_pose(owner.field("frames", name, words=f"frame '{name}'"), X) for name, X in given.items()}
    return MappingProxyType(poses)


@dataclass(frozen=True, eq=False)
class Body(Sealed):
    """A rigid body: mass, centre of mass in the body's frame, inertia about the centre of mass in the body's axes.

    `inertia` may be a 3×3 matrix, the three diagonal entries, or xx, yy, zz, xy, xz, yz.  Some or all of its moments
    may be zero (point masses, rods, frames that only carry others): what a joint moves is the sum of all outboard, and
    where that is nothing the dynamics say so.  `frames` names poses fixed to the body, to which joints and forces can
    be attached.  `shapes` are what it looks like.
    """

    name: str
    mass: float = field(default=0.0, metadata=about("mass", "of the body"))
    com: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("length", "centre of mass, in the body's frame", shape=(3,))
    )
    inertia: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("inertia matrix", "about the centre of mass, in the body's axes")
    )
    frames: Mapping[str, ArrayLike] = field(
        default_factory=dict, metadata=about("poses by name", "frames fixed to the body, by name: positions or poses")
    )
    shapes: Sequence[Shape] = field(default=(), metadata=about("shapes", "what it looks like"))

    def __post_init__(self) -> None:
        own = self.owner.field
        object.__setattr__(self, "shapes", _shapes(own("shapes"), self.shapes))
        object.__setattr__(self, "com", as_array(own("com"), self.com, (3,)))
        object.__setattr__(self, "inertia", as_symmetric(own("inertia"), self.inertia))
        object.__setattr__(self, "frames", _frames(self.owner, self.frames))
        object.__setattr__(self, "mass", as_number(own("mass"), self.mass))
        self._check_inertia()

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("body", self.name)

    def _check_inertia(self) -> None:
        _check_inertia(self.owner, self.mass, np.asarray(self.inertia))

    @property
    def n_modes(self) -> int:
        return 0

    @property
    def moment(self) -> Array:
        """First moment of mass, about the frame's origin."""
        return np.asarray(self.mass * np.asarray(self.com))

    @property
    def inertia_at_origin(self) -> Array:
        c = SO3.hat(self.com)
        return np.asarray(self.inertia) - self.mass * c @ c


@dataclass(frozen=True, eq=False)
class Node(Sealed):
    """A place on a flexible body: its undeformed pose and its modes, six rows (rotation first) in the body's axes.

    `second` (6×n×n, symmetric in its modes) is what the deformation moves it in second order, if stiffening by loads at
    the node is wanted.
    """

    pose: ArrayLike = field(metadata=about("pose", "undeformed"))
    modes: ArrayLike = field(metadata=about("number", "six rows, rotation first, one column per mode", shape=(6, None)))
    second: ArrayLike | None = field(
        default=None,
        metadata=about("number", "what the deformation moves in second order", shape=(6, None, None)),
    )


@dataclass(frozen=True, eq=False)
class LumpedNode:
    """A rigid piece of a flexible body [JR90, section 3]: where it is, its modes, and its inertia.

    `com` is from the node to the piece's centre of mass, `inertia` about that centre, both in the body's axes.
    """

    modes: ArrayLike = field(metadata=about("number", "six rows, rotation first, one column per mode", shape=(6, None)))
    position: ArrayLike = field(default=(0.0, 0.0, 0.0), metadata=about("length", "in the body's frame", shape=(3,)))
    mass: float = field(default=0.0, metadata=about("mass", "of the piece"))
    com: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("length", "from the node to the piece's centre of mass", shape=(3,))
    )
    inertia: ArrayLike = field(
        default=(0.0, 0.0, 0.0), metadata=about("inertia matrix", "about that centre, in the body's axes")
    )
    name: str | None = None


@dataclass(frozen=True, eq=False)
class FlexibleBody(Sealed):
    """A flexible body as a record of its kinetic and elastic energy (kernels/inertia.py (1)), n modes or none.

    moment c₀ (3), inertia J₀ (3×3, about the frame's origin), C_t (3×n), C_r0 (3×n), C_r1 (3×n×n, [axis, l, k]),
    J_1 (n×3×3), J_2 (n×n×3×3), M_e, K, D (n×n), and the nodes that joints, forces and outputs can refer to.
    Displacements of second order, of rigid pieces that turn and of geometric stiffening, add C_t1 (3×n×n, symmetric in
    its modes, none if not given), a symmetric part of C_r1, and a part of J_2.  That part is J_2_second (none if not
    given); it is for `flex.invariants` only, and the dynamics do not read it.  `skin` is what the body looks like,
    `shapes` are rigid things fixed to its frame.
    """

    name: str
    mass: float
    moment: ArrayLike
    inertia: ArrayLike
    C_t: ArrayLike
    C_r0: ArrayLike
    C_r1: ArrayLike
    J_1: ArrayLike
    J_2: ArrayLike
    M_e: ArrayLike
    K: ArrayLike
    D: ArrayLike
    nodes: Mapping[str, Node] = field(default_factory=dict)
    frames: Mapping[str, ArrayLike] = field(default_factory=dict)
    C_t1: ArrayLike | None = None
    J_2_second: ArrayLike | None = None
    shapes: Sequence[Shape] = ()
    skin: Skin | None = None

    def __post_init__(self) -> None:
        owner, field = self.owner, self.owner.field
        object.__setattr__(self, "shapes", _shapes(field("shapes"), self.shapes))
        if np.ndim(self.M_e) != 2:
            found = f"has shape {np.shape(self.M_e)}"
            raise ModelError(field("M_e").fault(self.M_e, "expected (n, n) for n modes", finding=found))
        n = np.shape(self.M_e)[0]
        if self.skin is not None and np.shape(self.skin.modes)[2] != n:
            found = f"has {np.shape(self.skin.modes)[2]} modes"
            skin = field("skin", "modes", words="its skin")
            raise ModelError(skin.fault(self.skin.modes, f"expected {n} as in M_e", finding=found))
        shapes: dict[str, tuple[int, ...]] = {
            "C_t1": (3, n, n),
            "J_2_second": (n, n, 3, 3),
            "moment": (3,),
            "C_t": (3, n),
            "C_r0": (3, n),
            "C_r1": (3, n, n),
            "J_1": (n, 3, 3),
            "J_2": (n, n, 3, 3),
            "M_e": (n, n),
            "K": (n, n),
            "D": (n, n),
        }
        for name in ("C_t1", "J_2_second"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(shapes[name]))
        for name, shape in shapes.items():
            object.__setattr__(self, name, as_array(field(name), getattr(self, name), shape))
        object.__setattr__(self, "inertia", as_symmetric(field("inertia"), self.inertia))
        object.__setattr__(self, "mass", as_number(field("mass"), self.mass))
        nodes = {name: _node(owner.part(f"node '{name}'", "nodes", name), node, n) for name, node in self.nodes.items()}
        object.__setattr__(self, "nodes", MappingProxyType(nodes))
        object.__setattr__(self, "frames", _frames(owner, self.frames))
        if both := [name for name in nodes if name in self.frames]:
            fault = field("frames", both[0], words=f"'{both[0]}'").fault(
                both[0], "expected one of them", "Call the frame something else.", finding="names a node and a frame"
            )
            raise ModelError(fault)
        self._check(field)

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("body", self.name, "flexible body")

    def __repr__(self) -> str:
        return f"<{notebook.describe_flexible(self)}>"

    def _repr_html_(self) -> str:
        return notebook.flexible_html(self)

    def _check(self, field: Callable[..., Field]) -> None:
        as_bounded(field("mass"), self.mass, strictly=True)
        c, J = SO3.hat(np.asarray(self.moment) / self.mass), np.asarray(self.inertia)
        _check_moments(
            self.owner.part("about its centre of mass").field("inertia"),
            J + self.mass * c @ c,
            _SYMMETRY * float(np.abs(np.diag(J)).sum()),
            "Give the inertia about the frame's origin, and as moment mass times the centre of mass.",
        )
        if self.n_modes == 0:
            return
        M_e = np.asarray(self.M_e)
        if not _is_symmetric(M_e, (1, 0)) or np.linalg.eigvalsh(M_e)[0] <= 0.0:
            smallest = np.linalg.eigvalsh(0.5 * (M_e + M_e.T))[0]
            fault = field("M_e", words="the modal mass M_e").fault(
                M_e,
                advice="Modes that move no mass, or that depend on each other, must be left out.",
                finding=f"is not symmetric positive definite (smallest eigenvalue {smallest:.3g})",
            )
            raise ModelError(fault)
        for name in ("K", "D"):
            matrix = values_of(getattr(self, name))
            if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * max(1.0, float(np.abs(matrix).max()))):
                raise ModelError(field(name).fault(matrix, finding="is not symmetric"))
        if not _is_symmetric(np.asarray(self.C_t1), (0, 2, 1)):
            raise ModelError(field("C_t1").fault(self.C_t1, "as ∂²c/∂η_l∂η_k is", finding=_NOT_IN_MODES))
        for name in ("J_2", "J_2_second"):
            if not _is_symmetric(np.asarray(getattr(self, name)), (1, 0, 2, 3)):
                raise ModelError(field(name).fault(getattr(self, name), finding=_NOT_IN_MODES))
        for name in ("J_1", "J_2", "J_2_second"):
            array = np.asarray(getattr(self, name))
            last = array.ndim - 1
            if not _is_symmetric(array, (*range(last - 1), last, last - 1)):
                found = "is not symmetric in its last two indices"
                raise ModelError(field(name).fault(array, "as an inertia is", finding=found))

    @property
    def n_modes(self) -> int:
        return int(np.asarray(self.M_e).shape[0])

    @property
    def inertia_at_origin(self) -> Array:
        return np.asarray(self.inertia)

    @classmethod
    def from_nodes(
        cls,
        name: str,
        nodes: Sequence[LumpedNode],
        stiffness: ArrayLike,
        damping: ArrayLike | None = None,
        frames: Mapping[str, ArrayLike] | None = None,
    ) -> FlexibleBody:
        """A body of rigid pieces at its nodes, with given mode shapes [JR90, section 3].

        A piece turns by R = exp(θ̂), θ = Φ_r η, as its node does (kernels/nodes.py).  Its centre of mass is then at
        r = r₀ + Φ_t η + (R − 1)c, its inertia in the body's axes is R J Rᵀ, and its angular velocity is w + s, with
        s = θ̇ + ½ θ×θ̇ + …  The record holds all terms of the kinetic energy ½m|v + w×r + ṙ|² + ½(w + s)·R J Rᵀ(w + s)
        up to the second power of (η, η̇).  With φ = Φ_t − ĉ Φ_r, and with u₂ₗₖ = ½ (Φ_l×(Φ_k×c) + Φ_k×(Φ_l×c)) for the
        displacement ½ Σ u₂ₗₖ ηₗ ηₖ of second order, they are, for each piece,

            C_t1 = m u₂,      C_r1ₗₖ = m (φ_l×φ_k + r₀×u₂ₗₖ) + Φ_l×JΦ_k − ½ J (Φ_l×Φ_k),                          (1)
            J₁ₖ = −m (r̂₀φ̂ₖ + φ̂ₖr̂₀) + Φ̂ₖJ − JΦ̂ₖ,                                                              (2)
            J₂ₖₗ = −m sym(φ̂ₖφ̂ₗ + r̂₀û₂ₖₗ) + sym(Φ̂ₖΦ̂ₗJ − Φ̂ₖJΦ̂ₗ),                                              (3)

        Φ being Φ_r and sym the mean over both orders of the modes and of the axes.  [JR90, appendix B], derived anew.
        """
        owner = Owner("body", name, "flexible body")
        if not nodes:
            raise ModelError(Fault(owner, ("nodes",), nodes, "has no nodes", "expected at least one"))
        for each, times in Counter(node.name for node in nodes if node.name is not None).items():
            if times > 1:
                raise ModelError(
                    Fault(owner, ("nodes", each), each, f"{times} nodes are called '{each}'", "expected one")
                )
        parts = [owner.part(f"node '{node.name or i}'", "nodes", node.name or i) for i, node in enumerate(nodes)]
        given = as_numbers(nodes[0].modes)
        if given is None or given.ndim != 2:
            found = "" if given is None else f"has shape {given.shape}"
            expected = "expected six rows and a column for each mode"
            raise ModelError(parts[0].field("modes").fault(nodes[0].modes, expected, finding=found))
        n = given.shape[1]
        record: dict[str, Any] = {
            "moment": np.zeros(3),
            "inertia": np.zeros((3, 3)),
            "C_t": np.zeros((3, n)),
            "C_r0": np.zeros((3, n)),
            "C_r1": np.zeros((3, n, n)),
            "J_1": np.zeros((n, 3, 3)),
            "J_2": np.zeros((n, n, 3, 3)),
            "M_e": np.zeros((n, n)),
            "C_t1": np.zeros((3, n, n)),
            "J_2_second": np.zeros((n, n, 3, 3)),
        }
        mass = 0.0
        for part, node in zip(parts, nodes, strict=True):
            modes = as_array(part.field("modes"), node.modes, (6, n))
            com = as_array(part.field("com"), node.com, (3,))
            J = as_symmetric(part.field("inertia"), node.inertia)
            m = as_number(part.field("mass"), node.mass)
            _check_inertia(part, m, J)
            r0 = as_array(part.field("position"), node.position, (3,)) + com
            Phi_r = modes[:3]
            phi = modes[3:] - SO3.hat(com) @ Phi_r
            r_hat, phi_hat = SO3.hat(r0), SO3.hat(phi.T)
            mass += m
            record["moment"] += m * r0
            record["inertia"] += J - m * r_hat @ r_hat
            record["C_t"] += m * phi
            record["C_r0"] += m * r_hat @ phi + J @ Phi_r
            record["C_r1"] += m * np.einsum("lab,bk->alk", phi_hat, phi)
            record["J_1"] -= m * (r_hat @ phi_hat + phi_hat @ r_hat)
            linear = -m * np.einsum("kab,lbc->klac", phi_hat, phi_hat)
            second = np.zeros((n, n, 3, 3))
            if np.any(Phi_r) and (np.any(J) or np.any(com)):
                turn = SO3.hat(Phi_r.T)
                twice = np.einsum("kab,lbc->klac", turn, turn)
                u_2 = 0.5 * (twice + twice.transpose(1, 0, 2, 3)) @ com
                record["C_t1"] += m * u_2.transpose(2, 0, 1)
                record["C_r1"] += np.einsum("ab,lkb->alk", m * r_hat, u_2)
                record["C_r1"] += np.einsum("lab,bk->alk", turn, J @ Phi_r) - 0.5 * (J @ turn @ Phi_r).transpose(
                    1, 0, 2
                )
                record["J_1"] += turn @ J - J @ turn
                points = _of_points(turn, J)
                linear += points
                second = twice @ J - np.einsum("kab,bc,lcd->klad", turn, J, turn) - points - m * r_hat @ SO3.hat(u_2)
            record["J_2"] += _symmetrised(linear + second)
            record["J_2_second"] += _symmetrised(second)
            record["M_e"] += m * phi.T @ phi + Phi_r.T @ J @ Phi_r
        named = {node.name: Node(node.position, node.modes) for node in nodes if node.name is not None}
        D = np.zeros((n, n)) if damping is None else damping
        return cls(name=name, mass=mass, K=stiffness, D=D, nodes=named, frames=frames or {}, **record)


_NOT_IN_MODES = "is not symmetric in its two mode indices"


def _node(owner: Owner, node: Node, n: int) -> Node:
    """Return a node with its numbers checked, for n modes."""
    modes, second = as_array(owner.field("modes"), node.modes, (6, n)), node.second
    if second is not None:
        second = as_array(owner.field("second"), second, (6, n, n))
        if not _is_symmetric(second, (0, 2, 1)):
            raise ModelError(owner.field("second").fault(second, finding=_NOT_IN_MODES))
    return Node(as_pose(owner.field("pose"), node.pose), modes, second)


def _of_points(turn: Array, J: Array) -> Array:
    """Return the share in J_2 of the points s of a piece with inertia J, displaced linearly by Φ_k×s (hats: n×3×3)."""
    moments = 0.5 * np.trace(J) * np.eye(3) - J
    products = -np.einsum("kab,bc,lcd->klad", turn, moments, turn)
    return np.asarray(np.trace(products, axis1=2, axis2=3)[..., np.newaxis, np.newaxis] * np.eye(3) - products)


def _symmetrised(J_2: Array) -> Array:
    """Return the mean over both orders of the modes and of the axes (n×n×3×3)."""
    J_2 = J_2 + J_2.transpose(1, 0, 2, 3)
    return np.asarray(0.25 * (J_2 + J_2.transpose(0, 1, 3, 2)))


def place_on(body: Body | FlexibleBody | None, where: str | ArrayLike | None, field: Field) -> Any:
    """Return what a place on a body means, None being the world: a Node that deforms, or a constant pose."""
    if not isinstance(where, str):
        return as_pose(field, where)
    frames = dict(body.frames) if body is not None else {}
    nodes = dict(body.nodes) if isinstance(body, FlexibleBody) else {}
    if where in frames:
        return np.asarray(frames[where])
    if where in nodes:
        node = nodes[where]
        deforms = np.any(np.asarray(node.modes)) or node.second is not None
        return node if deforms else np.asarray(node.pose)
    owner = f"body '{body.name}'" if body is not None else "the world"
    known = suggest(where, [*frames, *nodes])
    raise ModelError(field.fault(where, f"which is no frame or node of {owner}", known, finding=f"is '{where}'"))
