"""The spatial operators of [JR90] on trees, as plain matrices: a reference to read next to the paper, not to run fast.

A body k has the modal velocity V_m(k) = (η̇, V), n_modes + 6 numbers, and the speeds χ(k) = (η̇, β), β those of its
joint.  Its parent is p, its frames are those of layout.py; φ(N, B) = AdT(X_BN) takes a wrench from B to N.

    Φ(p, k) = 𝒜 ℬ,   𝒜 = [Π_Nᵀ; φ(P, N)],   ℬ = [0, φ(N, B)],   H(k) = [I, −Π_dᵀ; 0, Sᵀ],     (1) ← (3.14)–(3.19)
    E_Phi has Φ(p, k) in row p and column k, and is nilpotent,   Φ = (I − E_Phi)⁻¹,            (2) ← (3.20)–(3.21)
    V_m = Φᵀ Hᵀ χ,   α_m = Φᵀ (Hᵀ χ̇ + a_m),   f_m = Φ (M_m α_m + b_m),   T = H f_m,            (3) ← (3.44)
    M = H Φ M_m Φᵀ Hᵀ + J_a,                    C = H Φ (M_m Φᵀ a_m + b_m),                    (4) ← (3.45)
    R(k) = M_m(k) + Σ Φ(k, c) R(c) Φ(k, c)ᵀ,    Φ M_m Φᵀ = R + Φ̃ R + R Φ̃ᵀ,   Φ̃ = Φ − I,         (5) ← (5.2)–(5.3)
    P(k) = M_m(k) + Σ Φ(k, c) P⁺(c) Φ(k, c)ᵀ,   D = H P Hᵀ + J_a,   G = P Hᵀ D⁻¹,              (6) ← (6.1)–(6.3)
    τ̄ = I − G H,   P⁺ = τ̄ P,   K = E_Phi G,     E_Psi = E_Phi τ̄,   Ψ = (I − E_Psi)⁻¹,
    M = (I + HΦK) D (I + HΦK)ᵀ,                 (I + HΦK)⁻¹ = I − HΨK,                         (7) ← (6.4)–(6.5)
    M⁻¹ = (I − HΨK)ᵀ D⁻¹ (I − HΨK),                                                            (8) ← (6.6)
    χ̇ = (I − HΨK)ᵀ D⁻¹ (T − HΨ(KT + P a_m + b_m)) − KᵀΨᵀ a_m.                                  (9) ← (7.1)

The paper has chains; the sums are over the children c of k, and that is all that a tree changes.  A body has one
parent, so a column of E_Phi has one block; for block diagonal X, E_Phi X E_Phiᵀ is block diagonal too, and its diagonal
is that sum.  Hence (5) and (6) say M_m = R − E_Phi R E_Phiᵀ and M_m = P − E_Phi P E_Phiᵀ + K D Kᵀ, and the rest follows
from Φ E_Phi = Φ̃ as on a chain.  Φ(j, k) is zero unless j is k or an ancestor of k.

Different from the paper:
  - bodies are numbered from base to tip, so what is lower triangular there is upper triangular here;
  - rows of speeds stand in the order of v; a locked speed has no row (`Operators.speeds`);
  - J_a, the armature, is added to the diagonals of D and M.  G D = P Hᵀ and P⁺ = P − G D Gᵀ stay true, and (7)–(9)
    need no more; but τ̄ P τ̄ᵀ is no longer P⁺, it lacks G J_a Gᵀ;
  - b_m includes K_m ϑ, the damping of the modes and the loads at frames; what springs, dampers, friction and actuators
    do at the joints is a part of T (`passive`);
  - gravity is an acceleration of the base, in a_m of the bodies on the world.

Nothing here conjugates, so complex states give derivatives by complex step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.kernels import elements, inertia, kinematics
from liegeo.kernels import layout as at
from liegeo.model.model import Model, State
from liegeo.status import MassBlock

Array = NDArray[Any]
Index = NDArray[np.intp]


class Blocks(NamedTuple):
    """The blocks of one body, n = n_modes + 6, with s speeds that are not locked."""

    parent: int  # -1 for the world
    modal: Index  # n: their places in modal vectors
    speeds: Index  # s: their places in χ, modes first
    Phi: Array  # Φ(p, k), n of the parent × n; on the world without rows
    H: Array  # s × n
    M_m: Array  # n × n
    a_m: Array  # n
    b_m: Array  # n
    armature: Array  # s
    passive: Array  # s: force of the joint's springs, dampers, friction and actuators


class Articulated(NamedTuple):
    """(6) for one body."""

    P: Array
    D: Array
    G: Array
    tau_bar: Array


@dataclass(frozen=True)
class Operators:
    """The operators of (1)–(9): by body in `bodies` and `articulated`, as dense matrices in properties built on demand.

    Modal vectors have n numbers, χ = v[speeds] has s.
    """

    model: Model
    bodies: tuple[Blocks, ...]
    speeds: Index

    # ---- (1)–(4)

    @property
    def E_Phi(self) -> Array:
        """n × n."""
        return self._inward([b.Phi for b in self.bodies])

    @property
    def Phi(self) -> Array:
        """n × n."""
        return self._paths([b.Phi for b in self.bodies])

    @property
    def H(self) -> Array:
        """s × n."""
        return _diagonal([b.H for b in self.bodies], self._speeds, self._modal)

    @property
    def M_m(self) -> Array:
        """n × n."""
        return _diagonal([b.M_m for b in self.bodies], self._modal, self._modal)

    @property
    def J_a(self) -> Array:
        """s × s."""
        return _diagonal([np.diag(b.armature) for b in self.bodies], self._speeds, self._speeds)

    @property
    def a_m(self) -> Array:
        """n."""
        return _vector([b.a_m for b in self.bodies], self._modal)

    @property
    def b_m(self) -> Array:
        """n."""
        return _vector([b.b_m for b in self.bodies], self._modal)

    @property
    def passive(self) -> Array:
        """s: what springs, dampers, friction and actuators of joints add to T."""
        return _vector([b.passive for b in self.bodies], self._speeds)

    @property
    def mass_matrix(self) -> Array:
        """s × s: M of (4)."""
        J = self.Phi.T @ self.H.T
        return J.T @ self.M_m @ J + self.J_a

    @property
    def C(self) -> Array:
        """s: the bias of M χ̇ + C = T."""
        Phi = self.Phi
        return self.H @ Phi @ (self.M_m @ Phi.T @ self.a_m + self.b_m)

    # ---- (5): composite bodies

    @property
    def R(self) -> Array:
        """n × n."""
        R = [b.M_m.copy() for b in self.bodies]
        for k in range(len(R) - 1, -1, -1):
            b = self.bodies[k]
            if b.parent >= 0:
                R[b.parent] += b.Phi @ R[k] @ b.Phi.T
        return _diagonal(R, self._modal, self._modal)

    # ---- (6): articulated bodies

    @cached_property
    def articulated(self) -> tuple[Articulated, ...]:
        """(6) tip to base, all speeds of a body together."""
        P = [b.M_m.copy() for b in self.bodies]
        out: list[Articulated] = []
        for k in range(len(P) - 1, -1, -1):
            b = self.bodies[k]
            D = b.H @ P[k] @ b.H.T + np.diag(b.armature)
            if not _positive(D.real):
                raise DynamicsError(self.model.failure(MassBlock(k, False).status))
            G = np.linalg.solve(D, b.H @ P[k]).T
            tau_bar = np.eye(len(G)) - G @ b.H
            if b.parent >= 0:
                P[b.parent] += b.Phi @ tau_bar @ P[k] @ b.Phi.T
            out.append(Articulated(P[k], D, G, tau_bar))
        return tuple(out[::-1])

    @property
    def P(self) -> Array:
        """n × n."""
        return _diagonal([a.P for a in self.articulated], self._modal, self._modal)

    @property
    def D(self) -> Array:
        """s × s."""
        return _diagonal([a.D for a in self.articulated], self._speeds, self._speeds)

    @property
    def G(self) -> Array:
        """n × s."""
        return _diagonal([a.G for a in self.articulated], self._modal, self._speeds)

    @property
    def K(self) -> Array:
        """n × s."""
        return self.E_Phi @ self.G

    @property
    def tau_bar(self) -> Array:
        """n × n."""
        return _diagonal([a.tau_bar for a in self.articulated], self._modal, self._modal)

    @property
    def E_Psi(self) -> Array:
        """n × n."""
        return self._inward([b.Phi @ a.tau_bar for b, a in zip(self.bodies, self.articulated, strict=True)])

    @property
    def Psi(self) -> Array:
        """n × n."""
        return self._paths([b.Phi @ a.tau_bar for b, a in zip(self.bodies, self.articulated, strict=True)])

    # ---- dense from blocks

    @property
    def _modal(self) -> list[Index]:
        return [b.modal for b in self.bodies]

    @property
    def _speeds(self) -> list[Index]:
        return [b.speeds for b in self.bodies]

    def _inward(self, blocks: Sequence[Array]) -> Array:
        """The blocks (p, k) in their places."""
        n = sum(map(len, self._modal))
        out = np.zeros((n, n), np.result_type(float, *blocks))
        for b, block in zip(self.bodies, blocks, strict=True):
            if b.parent >= 0:
                out[np.ix_(self.bodies[b.parent].modal, b.modal)] = block
        return out

    def _paths(self, blocks: Sequence[Array]) -> Array:
        """(I − E)⁻¹ from the blocks (p, k) of E, base to tip: Φ(j, k) = Φ(j, p) Φ(p, k)."""
        out = np.eye(sum(map(len, self._modal)), dtype=np.result_type(float, *blocks))
        for b, block in zip(self.bodies, blocks, strict=True):
            if b.parent >= 0:
                out[:, b.modal] += out[:, self.bodies[b.parent].modal] @ block
        return out


def operators(model: Model, state: State, inputs: Any = None) -> Operators:
    """The operators of the model in this state, with these inputs of its force elements."""
    model.check(state)
    return Operators(
        model, _read(model, state, model.drive("tau", None, inputs, state.t, state.x)), np.flatnonzero(~model.locked)
    )


def forward_dynamics(model: Model, state: State, tau: Any = None, inputs: Any = None) -> Array:
    """Accelerations v̇ under the generalised forces tau, in O(N): (9) as a recursion, [JR90, (7.2)–(7.3)]."""
    ops = operators(model, state, inputs)
    T = model.speeds("tau", tau)[ops.speeds] + ops.passive
    links = list(zip(ops.bodies, ops.articulated, strict=True))

    z = [a.P @ b.a_m + b.b_m for b, a in links]
    nu: list[Array] = []
    for k in range(len(links) - 1, -1, -1):
        b, a = links[k]
        epsilon = T[b.speeds] - b.H @ z[k]
        nu.append(np.linalg.solve(a.D, epsilon))
        z_plus = z[k] + a.G @ epsilon
        if b.parent >= 0:
            z[b.parent] = z[b.parent] + b.Phi @ z_plus

    alpha: list[Array] = []
    chi_dot: list[Array] = []
    for (b, a), nu_k in zip(links, nu[::-1], strict=True):
        alpha_plus = b.Phi.T @ alpha[b.parent] if b.parent >= 0 else np.zeros(len(b.modal))
        chi_dot.append(nu_k - a.G.T @ alpha_plus)
        alpha.append(alpha_plus + b.H.T @ chi_dot[-1] + b.a_m)

    v_dot = np.zeros(model.nv, np.result_type(float, *chi_dot))
    v_dot[ops.speeds] = _vector(chi_dot, [b.speeds for b in ops.bodies])
    return v_dot


def innovations(model: Model, state: State) -> tuple[Array, Array]:
    """I + HΦK and D, the factors of M in (7), [JR90, (6.4)]."""
    ops = operators(model, state)
    D = ops.D
    return np.eye(len(D)) + ops.H @ ops.Phi @ ops.K, D


def mass_matrix_inverse(model: Model, state: State) -> Array:
    """M⁻¹ of the speeds that are not locked, without M: (8), [JR90, (6.6)]."""
    ops = operators(model, state)
    D = ops.D
    factor = np.eye(len(D)) - ops.H @ ops.Psi @ ops.K
    return factor.T @ np.linalg.solve(D, factor)


def _read(model: Model, state: State, u: Array) -> tuple[Blocks, ...]:
    """(1), M_m, a_m, b_m of every body: the only place that knows the layout of the kernels' rows."""
    model.check(state)
    dtype = np.result_type(state.q, state.v, u, np.float64)
    q, v, u = (np.ascontiguousarray(x, dtype) for x in (state.q, state.v, u))
    I, F, W = model.ints, model.floats, model.workspace(dtype)
    kinematics.poses(I, F, q, W)
    kinematics.velocities(I, F, q, v, W)
    inertia.biases(I, F, q, v, W)
    if I[at.N_ELEMENTS]:
        elements.apply_elements(I, F, q, v, u, W)
    passive = np.empty(model.nv, dtype)
    elements.load(I, F, q, v, u, passive)
    chi = np.cumsum(~model.locked) - 1  # place in χ of a speed of v
    gravity = np.concatenate([np.zeros(3), u[-3:]])
    out: list[Blocks] = []
    start = 0
    for i in range(len(model.bodies)):
        b_at, f_at, w_at = at.rows(i)
        row, f, w = I[b_at:][: at.BODY_I_SIZE], F[f_at:][: at.BODY_F_SIZE], W[w_at:][: at.WORK_SIZE]
        parent, n, nv, jv = (int(row[x]) for x in (at.PARENT, at.NM, at.NV, at.JV))
        flex = W[row[at.FLEX] :] if n else W[:0]
        phi_NB, S, c = _phi(w[at.R_NB :]), w[at.SUB :][: 6 * nv].reshape(nv, 6).T, w[at.BIAS :][:6]

        # M_m and b_m, inertia.py (1)–(3)
        M_rf = flex[at.PRF * n :][: 6 * n].reshape(n, 6).T
        M_e = np.zeros((n, n), dtype)
        M_e[np.tril_indices(n)] = flex[at.PFF * n :][: at.triangle(n)]
        M_e += np.tril(M_e, -1).T
        M_m = np.block([[M_e, M_rf.T], [M_rf, _symmetric(w[at.INE :])]])
        b_m = np.concatenate([flex[at.ZF * n :][:n], w[at.FOR :][:6]])

        # H, without the rows of locked speeds
        free = [k for k in range(nv) if not int(row[at.LOCKED]) >> k & 1]
        Pi_d = np.zeros((6, n))
        if row[at.OFFSET] == at.DEFORMING:
            Pi_d = flex[at.PID * n :][: 6 * n].reshape(n, 6).T
        H = np.block([[np.eye(n), -Pi_d.T], [np.zeros((len(free), n)), S[:, free].T]])
        speeds = [*(int(row[at.EV]) + k for k in range(n)), *(jv + k for k in free)]

        # Φ(p, k) = 𝒜 ℬ; where the parent does not deform under the joint, N is P
        calA = np.zeros((len(out[parent].modal) if parent >= 0 else 0, 6), dtype)
        if row[at.PARENT_NODE] >= 0:
            carrier, m = W[row[at.CARRIER] :], len(calA) - 6
            Pi_N = carrier[at.CARRIER_PI :][: 6 * m].reshape(m, 6).T
            calA = np.concatenate([Pi_N.T, _phi(carrier[at.CARRIER_R :])])
        elif parent >= 0:
            calA[-6:] = np.eye(6)
        calB = np.concatenate([np.zeros((6, n)), phi_NB], axis=1)
        a_m = np.concatenate([np.zeros(n), c if parent >= 0 else c - phi_NB.T @ gravity])

        out.append(
            Blocks(
                parent=parent,
                modal=np.arange(start, start + n + 6),
                speeds=chi[speeds],
                Phi=calA @ calB,
                H=H,
                M_m=M_m,
                a_m=a_m,
                b_m=b_m,
                armature=np.concatenate([np.zeros(n), f[at.ARMATURE :][free]]),
                passive=np.concatenate([np.zeros(n), passive[[jv + k for k in free]]]),
            )
        )
        start += n + 6
    return tuple(out)


def _phi(pose: Array) -> Array:
    """φ(N, B) = AdT(X_BN) = [R, p̂R; 0, R] from the twelve numbers of X_NB."""
    R, (x, y, z) = pose[:9].reshape(3, 3), pose[9:12]
    p_hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.block([[R, p_hat @ R], [np.zeros((3, 3)), R]])


def _symmetric(P: Array) -> Array:
    """6 × 6 from 21 numbers: J (xx yy zz xy xz yz), then H row by row, then M as J."""
    order = [[0, 3, 4], [3, 1, 5], [4, 5, 2]]
    H = P[6:15].reshape(3, 3)
    return np.block([[P[0:6][order], H], [H.T, P[15:21][order]]])


def _diagonal(blocks: Sequence[Array], rows: Sequence[Index], columns: Sequence[Index]) -> Array:
    """The blocks in one matrix, each at its rows and columns."""
    out = np.zeros((sum(map(len, rows)), sum(map(len, columns))), np.result_type(float, *blocks))
    for block, row, column in zip(blocks, rows, columns, strict=True):
        out[np.ix_(row, column)] = block
    return out


def _vector(blocks: Sequence[Array], places: Sequence[Index]) -> Array:
    """The blocks in one vector, each at its places."""
    out = np.zeros(sum(map(len, places)), np.result_type(float, *blocks))
    for block, place in zip(blocks, places, strict=True):
        out[place] = block
    return out


def _positive(D: NDArray[np.float64]) -> bool:
    """Whether D is positive definite beyond round-off, whatever the units of its speeds."""
    scale = np.diag(D)
    if not (scale > 0.0).all():
        return False
    return bool((np.linalg.eigvalsh(D / np.sqrt(np.outer(scale, scale))) > len(D) * np.finfo(float).eps).all())
