"""From shapes to a flexible body: the integrals of its kinetic energy, its damping, its stiffening.

A mass matrix integrates products of displacement fields, uᵀ M w = ∫ u·w dm.  Here it is that of the pieces where the
mass is (fe.Pieces): the nodes of solids and of matrices from files, the Gauss points of beams.  With Φ the shapes, R_a
the rotations about the axes, T_a the displacements along them, all at the pieces, and S_a the matrix that turns the
field of every piece, (θ, u) → (e_a×θ, e_a×u), the coefficients of kernels/inertia.py (1) are, zeroth order first,

    c₀, J₀ from Rᵀ M R,  Tᵀ M R;    C_t = Tᵀ M Φ,    C_r0 = Rᵀ M Φ,    M_e = Φᵀ M Φ,                            (1)
    J₁ₖ[a, b] = R_aᵀ M S_b Φₖ + R_bᵀ M S_a Φₖ,      C_r1[a, l, k] = (S_a Φ_l)ᵀ M Φₖ, its antisymmetric part,   (2)
    J₂ₖₗ[a, b] = ½ (S_aΦₖ)ᵀ M S_bΦ_l + ½ (S_aΦ_l)ᵀ M S_bΦₖ.                                                    (3)

They are the coefficients of ½ Σ m|v + w×(r + u) + u̇|² + ½ Σ (w + w×θ + θ̇)·J(w + w×θ + θ̇), w + w×θ being what a piece
that has turned by θ sees of w in first order.  [JR90, (B.4)], [FLS13, (A2)–(A6)].

Second order.  A piece that turns by exp(θ̂) has, in its own axes, the angular velocity w + w×θ + ½θ×(θ×w) + θ̇ − ½θ×θ̇,
and the end of a rigid arm a moves by ½θ×(θ×a) more (fe.Arms: masses beside their nodes, nodes behind a rigid link).
Up to the second power of (η, η̇) that adds to the energy, with h = Jw the angular momentum of each piece,

    h·½θ×(θ×w) − h·½θ×θ̇:       J₂ₖₗ += sym (J φ̂ₖφ̂ₗ),    C_r1ₗₖ −= ½ J (φ_l×φ_k),                              (4)

φ being the rotation of the piece, and C_r1 has the symmetric part of (2), of the pieces' rotations.  A displacement of
second order ½ηQη, seen through a load f as Q[f], adds what the momentum of the rigid motions does on it:

    C_t1[a] = Q[M T_a],      C_r1[a] += Q[M R_a],      J₂[a, b] −= Q[½ (S_a M R_b + S_b M R_a)].                 (5)

The energy of a rigid piece is then exact to second order: the same as that of a rigid body welded to its node.  It is a
sum of squares only without rotary inertia and arms; elsewhere very large rotations (0.2 rad and more, where the body
has little inertia beside that of its pieces) can make the mass lose its sign.

Stiffening.  A load f puts the structure under stress, and that adds a geometric stiffness, linear in f:
G[f] = Φᵀ K_G(K⁻¹f) Φ.  The inertia of an acceleration v̇, ẇ or of a spin w is such a load; modal equations then have

    Σ_a v̇_a G[−M T_a] η,      Σ_a ẇ_a G[−M R_a] η,      Σ_ab w_a w_b G[−S_a M R_b] η,                          (6)

which belong to one kinetic energy by (5) with Q = −G.  A force f at a node, in direction d, adds f G[e_d] η; so the
node moves by

    −½ η G[e_d] η   in second order                                                                            (7)

(a beam's tip comes nearer when it bends).  The stresses are those of the structure held at its root, or balanced by its
own inertia.  Terms of third order are left out of the energy, which is then no sum of squares: where modes can nearly
stand in for the motion of the frame (many of them, or a frame at an end that has next to no mass of its own), little
bending is enough to make the mass lose its sign.  Stiff modes, whose second order is large and matters least, are the
first to blame; `stiffening=n` leaves it to the n softest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.errors import Fault, ModelError, Owner
from liegeo.flex.fe import Arms, FEModel, Pieces, rigid_motions
from liegeo.flex.modes import Component, Reduction, _Options, _relief, check_nodes
from liegeo.model.body import FlexibleBody, Node, _symmetrised
from liegeo.model.checks import noted
from liegeo.recorded import finite, plain_or_recorded

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = late("scipy.sparse")

Array = NDArray[np.float64]

_LEVI_CIVITA = np.zeros((3, 3, 3))
for _a, _b, _c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _LEVI_CIVITA[_a, _b, _c], _LEVI_CIVITA[_a, _c, _b] = 1.0, -1.0


@dataclass(frozen=True)
class _Fields:
    """What (1) to (6) are made of, at the pieces: M, R and T, S, and how the degrees of freedom move the pieces."""

    mass: Any
    rigid: Array
    turn: tuple[Any, Any, Any]
    motion: Any
    arms: Arms | None
    # index of each direction of each piece, -1 where there is none
    index: NDArray[np.int64]

    @classmethod
    def of(cls, fe: FEModel) -> _Fields:
        pieces = fe.pieces or Pieces.of_nodes(np.asarray(fe.positions), np.asarray(fe.dofs), fe.mass)
        positions, dofs = pieces.positions, pieces.dofs
        index = np.full((len(positions), 6), -1)
        index[dofs[:, 0], dofs[:, 1]] = np.arange(len(dofs))
        turn = _turning(index, dofs)
        return cls(pieces.inertia, rigid_motions(positions, dofs), turn, pieces.motion, pieces.arms, index)

    def part(self, field: Array, first: int) -> Array:
        """Return three of the six directions of a field (k × n) piece by piece (p × 3 × n), zero where it has none."""
        index = self.index[:, first : first + 3]
        return np.asarray(np.where((index >= 0)[..., np.newaxis], field[index], 0.0))

    def rotary(self) -> Any:
        """Return the part of M that couples rotations with rotations, or None if there is none."""
        turns = np.zeros(len(self.rigid))
        turns[self.index[:, :3][self.index[:, :3] >= 0]] = 1.0
        mass = sp.csr_array(sp.diags_array(turns) @ self.mass @ sp.diags_array(turns))
        return mass if mass.count_nonzero() else None


def _turning(place: NDArray[np.int64], dofs: NDArray[np.int64]) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
    """S_x, S_y, S_z; a direction that a place does not have is left out."""
    n = len(dofs)
    node, d = dofs.T
    block, b = d // 3 * 3, d % 3
    out = []
    for a in range(3):
        rows, columns, values = [], [], []
        for c in range(3):
            # (e_a × u)_c = Σ_b ε_cab u_b
            sign, row = _LEVI_CIVITA[c, a, b], place[node, block + c]
            there = np.flatnonzero((sign != 0.0) & (row >= 0))
            rows.append(row[there])
            columns.append(there)
            values.append(sign[there])
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        out.append(sp.csr_array(entries, (n, n)))
    return out[0], out[1], out[2]


_DAMPING = Owner("damping", path=("damping",))


@dataclass(frozen=True)
class Damping:
    """Rayleigh's αM + βK, a ratio of critical (one, or one a mode), a matrix (modal, or of all degrees of freedom)."""

    alpha: float = 0.0
    beta: float = 0.0
    ratio: ArrayLike | None = None
    matrix: Any = None

    def modal(self, reduction: Reduction) -> Array:
        """m × m, for orthonormal shapes."""
        omega = 2 * np.pi * reduction.frequencies
        n = reduction.n_modes
        for name in ("alpha", "beta"):
            value = getattr(self, name)
            negative = value < 0.0
            noted(_DAMPING.field(name), value, "must be ≥ 0")
            if not finite(value) or negative:
                raise ModelError(_DAMPING.field(name).fault(value, "must be ≥ 0"))
        D = self.alpha * np.eye(n) + self.beta * np.diag(omega**2)
        if self.ratio is not None:
            ratio, expected = plain_or_recorded(self.ratio), f"expected one number or {n}, each ≥ 0"
            negative = np.any(ratio < 0.0)
            noted(_DAMPING.field("ratio"), ratio, expected)
            if ratio.shape not in ((), (n,)) or negative:
                raise ModelError(_DAMPING.field("ratio").fault(self.ratio, expected))
            D = D + np.diag(2.0 * ratio[()] * omega)
        if self.matrix is not None:
            shape = np.shape(self.matrix)
            if shape == (n, n):
                D = D + np.asarray(self.matrix)
            elif shape == (reduction.fe.n,) * 2:
                D = D + reduction.shapes.T @ (self.matrix @ reduction.shapes)
            else:
                expected = f"expected {(n, n)} (modal) or {(reduction.fe.n,) * 2} (all)"
                field = _DAMPING.field("matrix")
                raise ModelError(field.fault(self.matrix, expected, finding=f"has shape {shape}"))
        return np.asarray(D)


def flexible_body(
    reduction: Reduction,
    name: str,
    nodes: Sequence[str] = (),
    *,
    damping: Damping | float | None = None,
    stiffening: bool | int = False,
    frames: Mapping[str, ArrayLike] | None = None,
) -> FlexibleBody:
    """The body that a reduction describes; its frame is that of the finite-element model.

    `nodes` are those (or observers) that joints, forces and outputs will refer to; the root is always among them.
    `damping` is a Damping, or one ratio of critical for all modes.  `stiffening` is for all modes, none or the first n.
    """
    fe, n = reduction.fe, reduction.n_modes
    check_nodes(fe, nodes=nodes)
    fields = _Fields.of(fe)
    M, R, Phi = fields.mass, fields.rigid, fields.motion @ reduction.shapes
    M_rigid, MPhi = R.T @ (M @ R), M @ Phi
    turned = [S @ Phi for S in fields.turn]
    M_turned = [M @ t for t in turned]
    J_1, J_2, C_r1 = np.zeros((n, 3, 3)), np.zeros((n, n, 3, 3)), np.zeros((3, n, n))
    for a in range(3):
        product = turned[a].T @ MPhi
        C_r1[a] = 0.5 * (product - product.T)
        for b in range(3):
            J_1[:, a, b] = R[:, a] @ M_turned[b] + R[:, b] @ M_turned[a]
            product = turned[a].T @ M_turned[b]
            J_2[:, :, a, b] = 0.5 * (product + product.T)
    record: dict[str, Any] = {
        "mass": fe.total_mass,
        # Rᵀ M T = ĉ
        "moment": np.array([M_rigid[2, 4], M_rigid[0, 5], M_rigid[1, 3]]),
        "inertia": M_rigid[:3, :3],
        "C_t": R[:, 3:].T @ MPhi,
        "C_r0": R[:, :3].T @ MPhi,
        "C_r1": C_r1,
        "J_1": J_1,
        "J_2": J_2,
        "M_e": np.eye(n),
        "K": np.diag((2 * np.pi * reduction.frequencies) ** 2),
    }
    rotary = fields.rotary()
    second = _Second.none(n)
    if rotary is not None:
        second += _turned_pieces(fields, rotary, Phi)
        # what (3) is not of points that are displaced linearly
        second.J_2_second += J_2 - _of_points(fields, rotary, Phi)
    if (arms := fields.arms) is not None:
        theta = arms.rotation @ reduction.shapes
        second += _Second.of_displacements(fields, lambda load: arms.stiffness(load, theta))
    stiff = _Stiffening(reduction, n if stiffening is True else stiffening) if stiffening else None
    if stiff is not None:
        second += _Second.of_displacements(fields, lambda load: -stiff(fields.motion.T @ load))
    record["C_r1"] = C_r1 + second.C_r1
    record["J_2"] = J_2 + second.J_2
    record |= {"C_t1": second.C_t1, "J_2_second": _symmetrised(second.J_2_second)}
    given = damping if isinstance(damping, Damping) else Damping(ratio=damping)
    names = dict.fromkeys([*([reduction.root] if reduction.root is not None else []), *map(str, nodes)])
    made = {node: _node(reduction, node, stiff) for node in names}
    record["skin"] = None if fe.surface is None else fe.surface.skin(reduction.shapes)
    return FlexibleBody(name=name, D=given.modal(reduction), nodes=made, frames=frames or {}, **record)


@dataclass
class _Second:
    """What displacements of second order add to a record; J_2_second is their share in J_2, and of what (3) has too."""

    C_t1: Array
    C_r1: Array
    J_2: Array
    J_2_second: Array

    @classmethod
    def none(cls, n: int) -> _Second:
        return cls(np.zeros((3, n, n)), np.zeros((3, n, n)), np.zeros((n, n, 3, 3)), np.zeros((n, n, 3, 3)))

    @classmethod
    def of_displacements(cls, fields: _Fields, seen: Callable[[Array], Array]) -> _Second:
        """(5), from the function that gives Q[f] for a load on the pieces."""
        MR = fields.mass @ fields.rigid
        J_2 = np.stack(
            [
                np.stack(
                    [-seen(0.5 * (fields.turn[a] @ MR[:, b] + fields.turn[b] @ MR[:, a])) for b in range(3)], axis=-1
                )
                for a in range(3)
            ],
            axis=-2,
        )
        C_t1, C_r1 = (np.stack([seen(MR[:, first + a]) for a in range(3)]) for first in (3, 0))
        return cls(C_t1, C_r1, J_2, J_2.copy())

    def __iadd__(self, other: _Second) -> _Second:
        for name in ("C_t1", "C_r1", "J_2", "J_2_second"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def _turned_pieces(fields: _Fields, rotary: Any, Phi: Array) -> _Second:
    """(4), and the symmetric part of C_r1 in (2)."""
    second = _Second.none(Phi.shape[1])
    phi = fields.part(Phi, 0)
    # h = H w for each piece
    H = fields.part(rotary @ fields.rigid[:, :3], 0)
    momentum = rotary @ Phi
    for a in range(3):
        product = (fields.turn[a] @ Phi).T @ momentum
        second.C_r1[a] = 0.5 * (product + product.T)
        h = H[:, :, a, np.newaxis]
        second.C_r1[a] -= 0.5 * _sum_products(np.cross(h, phi, axis=1), phi)
        # φ̂ₖφ̂ₗ = φ_l φ_kᵀ − (φ_k·φ_l) 1
        along = (h * phi).sum(axis=1)
        for b in range(3):
            second.J_2[:, :, a, b] = phi[:, b].T @ along - _sum_products(h[:, b, np.newaxis] * phi, phi)
    second.J_2 = _symmetrised(second.J_2)
    second.J_2_second = second.J_2.copy()
    return second


def _sum_products(a: Array, b: Array) -> Array:
    """Return Σ a·b over pieces (p × 3 × n each), n × n."""
    return np.asarray(np.tensordot(a, b, axes=((0, 1), (0, 1))))


def _of_points(fields: _Fields, rotary: Any, Phi: Array) -> Array:
    """J_2 of points that are displaced linearly, −∫ φ̂φ̂ dm = 1 tr P − P with P = ∫ φφᵀ dm; those of a piece at s by θ×s.

    With E = ½ 1 tr J − J, the second moments of the points of a piece, ∫ (θ×s)(θ×s)ᵀ dm = θ̂ E θ̂ᵀ.  An inertia that no
    distribution of mass has (a section that only resists twisting) is taken as one ring about each of its axes.  What
    couples different pieces by rotations, as consistent mass matrices do, is left out; `invariants` notices that.
    """
    moved = Phi.copy()
    moved[fields.index[:, :3][fields.index[:, :3] >= 0]] = 0.0
    P = np.einsum("pak,pbl->klab", fields.part(moved, 3), fields.part(fields.mass @ moved, 3), optimize=True)
    theta = fields.part(Phi, 0)
    J = np.zeros((len(theta), 3, 3))
    for a in range(3):
        for b in range(3):
            i, j = fields.index[:, a], fields.index[:, b]
            there = np.flatnonzero((i >= 0) & (j >= 0))
            J[there, a, b] = rotary[i[there], j[there]]
    values, axes = np.linalg.eigh(0.5 * (J + J.transpose(0, 2, 1)))
    real = values[:, 2] <= (1.0 + 1e-9) * (values[:, 0] + values[:, 1])
    E = 0.5 * np.trace(J[real], axis1=1, axis2=2)[:, np.newaxis, np.newaxis] * np.eye(3) - J[real]
    hats = np.einsum("acb,pck->pkab", _LEVI_CIVITA, theta[real])
    P += np.einsum("pkac,pcd,plbd->klab", hats, E, hats, optimize=True)
    # rings: each turns about its axis e only, and gives ½ J (θ·e)² (1 − e eᵀ)
    rings, axes = 0.5 * values[~real], axes[~real]
    about = np.einsum("pcr,pck->prk", axes, theta[~real])
    across = np.eye(3) - np.einsum("par,pbr->prab", axes, axes)
    P += np.einsum("pr,prk,prl,prab->klab", rings, about, about, across, optimize=True)
    P = _symmetrised(P)
    return np.asarray(np.trace(P, axis1=2, axis2=3)[..., np.newaxis, np.newaxis] * np.eye(3) - P)


def _node(reduction: Reduction, name: str, stiff: _Stiffening | None) -> Node:
    position, matrix = reduction.fe.place(name)
    modes = np.asarray(matrix @ reduction.shapes)
    has_rotation = bool(np.asarray(abs(matrix).sum(axis=1)).ravel()[:3].all())
    if not has_rotation:
        raise ModelError(
            f"FE model '{reduction.fe.name}': node '{name}' has no rotations, which a joint or frame needs.\n"
            "  Make one that has from several nodes: rigid_link (tied) or average (free)."
        )
    # The root does not move; round-off would make it a node that deforms.
    if name == reduction.root:
        return Node(position, np.zeros_like(modes))
    return Node(position, modes, None if stiff is None else stiff.node(name))


class _Stiffening:
    """G[f] of (6), for loads on all degrees of freedom."""

    def __init__(self, reduction: Reduction, n_modes: int) -> None:
        owner = Owner("FE model", reduction.fe.name)
        if not isinstance(n_modes, int | np.integer) or not 0 < n_modes <= reduction.n_modes:
            expected = f"expected True, False, or how many of the {reduction.n_modes} modes it is for"
            raise ModelError(owner.field("stiffening").fault(n_modes, expected))
        if reduction.fe.geometric is None:
            fault = Fault(
                owner,
                ("stiffening",),
                n_modes,
                "gives no geometric stiffness",
                "which stiffening needs",
                "Beams and solids made by liegeo have it; matrices read from a file have not.",
            )
            raise ModelError(fault)
        self.reduction, self.geometric = reduction, reduction.fe.geometric
        self.n_modes = n_modes
        self.component, self.options = Component(reduction.fe), _Options(root=reduction.root)

    def __call__(self, load: Array) -> Array:
        u = _relief(self.component, self.options, load[:, np.newaxis])[:, 0]
        soft = self.reduction.shapes[:, : self.n_modes]
        K_G = soft.T @ (self.geometric(u) @ soft)
        out = np.zeros((self.reduction.n_modes,) * 2)
        out[: self.n_modes, : self.n_modes] = 0.5 * (K_G + K_G.T)
        return out

    def node(self, name: str) -> Array:
        """(7): six times n × n."""
        _, matrix = self.reduction.fe.place(name)
        return np.stack([-self(row) for row in np.asarray(matrix.todense())])


@dataclass(frozen=True)
class Invariants:
    """The inertia invariants of [FLS13, (A1)–(A15)], for m modes; I10 and I11 by two axes first."""

    I1: float
    I2: Array  # 3
    I3: Array  # 3 × m
    I4: Array  # 3 × m
    I5: Array  # m × 3 × m
    I6: Array  # m × m
    I7: Array  # 3 × 3
    I8: Array  # m × 3 × 3
    I9: Array  # m × m × 3 × 3
    I10: Array  # 3 × 3 × m
    I11: Array  # 3 × 3 × m × m


def invariants(body: FlexibleBody) -> Invariants:
    """Return the same body in the words of [FLS13]: integrals over its points, displaced linearly.

    (A14) and (A15) backwards: J_1 and C_r0 are the sums and differences of I10[a, b] = ∫ r_a φ_b dm, J_2 and C_r1 those
    of I11[a, b] = ∫ φ_a φ_b dm.  Displacements of second order, of rotary inertia and stiffening, are not in [FLS13]
    and are left out: the symmetric part of C_r1, and J_2_second.
    """
    n = body.n_modes
    J_1, J_2 = np.asarray(body.J_1), np.asarray(body.J_2) - np.asarray(body.J_2_second)
    C_r0, C_r1, M_e = np.asarray(body.C_r0), np.asarray(body.C_r1), np.asarray(body.M_e)
    C_r1 = 0.5 * (C_r1 - C_r1.transpose(0, 2, 1))
    # ½ tr J_2 and M_e are both ∫ φ·φ dm
    difference = np.abs(0.5 * np.trace(J_2, axis1=2, axis2=3) - M_e).max(initial=0.0)
    if difference > 1e-6 * np.abs(M_e).max(initial=0.0):
        raise ModelError(
            f"flexible body '{body.name}': ½ tr J_2 and M_e, both ∫ φ·φ dm, differ by {difference:.3g}, expected no "
            "difference.\n"
            "  Its J_2 holds displacements of second order (rotary inertia, stiffening), which invariants are without."
            "\n  Give their share as J_2_second, or make the body from beams, solids or lumped nodes, which do."
        )
    I10, I11 = np.zeros((3, 3, n)), np.zeros((3, 3, n, n))
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        I10[a, a] = 0.25 * (J_1[:, b, b] + J_1[:, c, c] - J_1[:, a, a])
        I11[a, a] = 0.5 * (J_2[:, :, b, b] + J_2[:, :, c, c] - J_2[:, :, a, a])
        I10[a, b] = 0.5 * (C_r0[c] - J_1[:, a, b])
        I10[b, a] = 0.5 * (-C_r0[c] - J_1[:, a, b])
        I11[a, b] = 0.5 * (C_r1[c] - 2.0 * J_2[:, :, a, b])
        I11[b, a] = 0.5 * (-C_r1[c] - 2.0 * J_2[:, :, a, b])
    I8, I9 = np.zeros((n, 3, 3)), np.zeros((n, n, 3, 3))
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        I8[:, a, a], I9[:, :, a, a] = -I10[b, b] - I10[c, c], -I11[b, b] - I11[c, c]
        for other in (b, c):
            I8[:, other, a], I9[:, :, other, a] = I10[a, other], I11[a, other]
    return Invariants(
        I1=float(body.mass),
        I2=np.asarray(body.moment),
        I3=np.asarray(body.C_t),
        I4=C_r0,
        I5=C_r1.transpose(1, 0, 2),
        I6=M_e,
        I7=np.asarray(body.inertia),
        I8=I8,
        I9=I9,
        I10=I10,
        I11=I11,
    )
