"""From shapes to a flexible body: the integrals of its kinetic energy, its damping, its stiffening.

A finite-element mass matrix integrates products of displacement fields, uᵀ M w = ∫ u·w dm.  With R_a the rotations
about the axes and T_a the displacements along them (FEModel.rigid), and S_a the matrix that turns the field of every
node, (θ, u) → (e_a×θ, e_a×u), the coefficients of kernels/inertia.py (1) are, zeroth order first,

    c₀, J₀ from Rᵀ M R,  Tᵀ M R;    C_t = Tᵀ M Φ,    C_r0 = Rᵀ M Φ,    M_e = Φᵀ M Φ,                            (1)
    J₁ₖ[a, b] = R_aᵀ M S_b Φₖ + R_bᵀ M S_a Φₖ,      C_r1[a, l, k] = (S_a Φ_l)ᵀ M Φₖ, its antisymmetric part,   (2)
    J₂ₖₗ[a, b] = ½ (S_aΦₖ)ᵀ M S_bΦ_l + ½ (S_aΦ_l)ᵀ M S_bΦₖ.                                                    (3)

(1) is exact whatever the elements; (2) and (3) are where turning a field keeps it in the space of the elements, which
is so for solids, and in the limit of small elements for beams.  [JR90, (B.4)], [FLS13, (A2)–(A6)].

Stiffening.  A load f puts the structure under stress, and that adds a geometric stiffness, linear in f:
G[f] = Φᵀ K_G(K⁻¹f) Φ.  The inertia of an acceleration v̇, ẇ or of a spin w is such a load; modal equations then have

    Σ_a v̇_a G[−M T_a] η,      Σ_a ẇ_a G[−M R_a] η,      Σ_ab w_a w_b G[−M S_a R_b] η,                          (4)

which belong to one kinetic energy with C_t1[a] = G[−M T_a], the symmetric part of C_r1[a] = G[−M R_a], and
−G[−M S_a R_b], symmetric in a and b, added to J₂[a, b]: displacements of second order, seen through the loads.  A force
f at a node, in direction d, adds f G[e_d] η; so the node moves by

    −½ η G[e_d] η   in second order                                                                            (5)

(a beam's tip comes nearer when it bends).  The stresses are those of the structure held at its root, or balanced by its
own inertia.  Terms of third order are left out of the energy, so a body that floats on cantilever modes alone, whose
root has next to no inertia of its own, can lose its positive mass when it bends much: let it float on free–free modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.flex.fe import FEModel
from liegeo.flex.modes import Component, Reduction, _Options, _relief
from liegeo.model.body import FlexibleBody, Node

Array = NDArray[np.float64]

_LEVI_CIVITA = np.zeros((3, 3, 3))
for _a, _b, _c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _LEVI_CIVITA[_a, _b, _c], _LEVI_CIVITA[_a, _c, _b] = 1.0, -1.0


def turning(fe: FEModel) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
    """S_x, S_y, S_z; a direction that a node does not have is left out."""
    node, d = np.asarray(fe.dofs).T
    place = np.full((len(fe.positions), 6), -1)
    place[node, d] = np.arange(fe.n)
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
        out.append(sp.csr_array(entries, (fe.n, fe.n)))
    return out[0], out[1], out[2]


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
            if not np.isfinite(getattr(self, name)) or getattr(self, name) < 0.0:
                raise ModelError(f"damping: {name} is {getattr(self, name)!r}, must be ≥ 0.")
        D = self.alpha * np.eye(n) + self.beta * np.diag(omega**2)
        if self.ratio is not None:
            ratio = np.asarray(self.ratio, dtype=np.float64)
            if ratio.shape not in ((), (n,)) or (ratio < 0.0).any():
                raise ModelError(f"damping: ratio is {self.ratio!r}, expected one number or {n}, each ≥ 0.")
            D = D + np.diag(2.0 * ratio * omega)
        if self.matrix is not None:
            shape = np.shape(self.matrix)
            if shape == (n, n):
                D = D + np.asarray(self.matrix)
            elif shape == (reduction.fe.n,) * 2:
                D = D + reduction.shapes.T @ (self.matrix @ reduction.shapes)
            else:
                raise ModelError(
                    f"damping: matrix has shape {shape}, expected {(n, n)} (modal) or {(reduction.fe.n,) * 2} (all)."
                )
        return np.asarray(D)


def flexible_body(
    reduction: Reduction,
    name: str,
    nodes: Sequence[str] = (),
    *,
    damping: Damping | float | None = None,
    stiffening: bool = False,
    frames: Mapping[str, ArrayLike] | None = None,
) -> FlexibleBody:
    """The body that a reduction describes; its frame is that of the finite-element model.

    `nodes` are those (or observers) that joints, forces and outputs will refer to; the root is always among them.
    `damping` is a Damping, or one ratio of critical for all modes.
    """
    fe, Phi = reduction.fe, reduction.shapes
    n = reduction.n_modes
    M_rigid = fe.inertia
    S = turning(fe)
    R, MPhi = fe.rigid, fe.mass @ Phi
    turned = [s @ Phi for s in S]
    M_turned = [fe.mass @ t for t in turned]
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
    stiff = _Stiffening(reduction) if stiffening else None
    if stiff is not None:
        for key, term in stiff.terms().items():
            record[key] = record.get(key, 0.0) + term
    given = damping if isinstance(damping, Damping) else Damping(ratio=damping)
    names = dict.fromkeys([*([reduction.root] if reduction.root is not None else []), *map(str, nodes)])
    made = {node: _node(reduction, node, stiff) for node in names}
    record["skin"] = None if fe.surface is None else fe.surface.skin(Phi)
    return FlexibleBody(name=name, D=given.modal(reduction), nodes=made, frames=frames or {}, **record)


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
    """G[f] of (4), for loads on all degrees of freedom."""

    def __init__(self, reduction: Reduction) -> None:
        if reduction.fe.geometric is None:
            raise ModelError(
                f"FE model '{reduction.fe.name}': gives no geometric stiffness, which stiffening needs.\n"
                "  Beams and solids made by liegeo have it; matrices read from a file have not."
            )
        self.reduction, self.geometric = reduction, reduction.fe.geometric
        self.component, self.options = Component(reduction.fe), _Options(root=reduction.root)

    def __call__(self, load: Array) -> Array:
        u = _relief(self.component, self.options, load[:, np.newaxis])[:, 0]
        K_G = self.reduction.shapes.T @ (self.geometric(u) @ self.reduction.shapes)
        return np.asarray(0.5 * (K_G + K_G.T))

    def terms(self) -> dict[str, Array]:
        """What the body's own inertia adds to C_t1, C_r1 and J_2."""
        fe, n = self.reduction.fe, self.reduction.n_modes
        R, S = fe.rigid, turning(fe)
        J_2 = np.zeros((n, n, 3, 3))
        for a in range(3):
            for b in range(a + 1):
                field = 0.5 * (S[a] @ R[:, b] + S[b] @ R[:, a])
                J_2[:, :, a, b] = J_2[:, :, b, a] = -self(-(fe.mass @ field))
        return {
            "C_t1": np.stack([self(-(fe.mass @ R[:, 3 + a])) for a in range(3)]),
            "C_r1": np.stack([self(-(fe.mass @ R[:, a])) for a in range(3)]),
            "J_2": J_2,
        }

    def node(self, name: str) -> Array:
        """(5): six times n × n."""
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
    """The same body in the words of [FLS13].

    (A14) and (A15) backwards: J_1 and C_r0 are the sums and differences of I10[a, b] = ∫ r_a φ_b dm, J_2 and C_r1 those
    of I11[a, b] = ∫ φ_a φ_b dm.  Without stiffening, whose terms [FLS13] does not have.
    """
    n = body.n_modes
    J_1, J_2 = np.asarray(body.J_1), np.asarray(body.J_2)
    C_r0, C_r1 = np.asarray(body.C_r0), np.asarray(body.C_r1)
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
        I6=np.asarray(body.M_e),
        I7=np.asarray(body.inertia),
        I8=I8,
        I9=I9,
        I10=I10,
        I11=I11,
    )
