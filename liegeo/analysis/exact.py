"""Motions in closed form: the free rigid body, and the heavy symmetric top, of which a spherical pendulum is one.

With Jacobi's sn, cn, dn of parameter m, amplitude am, and Legendre's integral of the third kind

    Π(n; φ) = ∫₀^φ dx / ((1 − n sin²x) √(1 − m sin²x)) = s R_F(c², Δ, 1) + (n/3) s³ R_J(c², Δ, 1, 1 − n s²),       (1)
    s = sin φ,  c = cos φ,  Δ = 1 − m s²,  for |φ| ≤ π/2;   Π(n; φ + kπ) = Π(n; φ) + 2k Π(n; π/2),

whose Carlson forms are SciPy's, an integral of 1/(1 − n sn²) over time is Π over the rate of its argument.

Free body (Landau and Lifshitz, Mechanics, § 37).  Momentum p in the body, J₁ < J₂ < J₃, L = |p|, 2E = Σ p_i²/J_i.  If
L² ≥ 2E J₂ the body circles about axis 3: a, b, c = 1, 2, 3; otherwise about axis 1: a, b, c = 3, 2, 1.  Then

    p_a = P_a cn u,   p_b = σ P_b sn u,   p_c = σ P_c dn u,   u = λ t + u₀,   σ = sign p_c,                        (2)
    P_i² = J_i (L² − 2E J_k)/(J_i − J_k),  k = c for a and b, a for c,    λ = P_a P_c |1/J_a − 1/J_c| / P_b,
    m = (P_b/P_c)² (1/J_a − 1/J_b)/(1/J_a − 1/J_c).                                                                (3)

The axis c of the body goes round the constant momentum by the angle ψ,

    ψ̇ = L (2E − p_c²/J_c)/(L² − p_c²),    ψ = L t/J_c + L (2E − L²/J_c)/(P_a² λ) [Π(n; am u)],  n = −m P_c²/P_a².  (4)

Heavy top (Whittaker, Analytical Dynamics, § 71).  Moments of inertia A, A, C about the pivot, the centre of mass at l
on the axis of symmetry, z = cos θ the height of that axis.  With spin ω₃, a = C ω₃/A, b = L_z/A, β = 2mgl/A,
α = (2E − C ω₃²)/A:

    ż² = (α − β z)(1 − z²) − (b − a z)² = β (z − z₁)(z₂ − z)(z₃ − z),   z = z₁ + (z₂ − z₁) sn²(λ t + u₀),          (5)
    λ² = β (z₃ − z₁)/4,   m = (z₂ − z₁)/(z₃ − z₁),
    φ̇ = ½ (b − a)/(1 − z) + ½ (b + a)/(1 + z),   ψ̇ = ω₃ − a − ½ (b − a)/(1 − z) + ½ (b + a)/(1 + z),              (6)

each term an integral (1).  The attitude is R = R_z(φ) R_x(θ) R_z(ψ).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ellipj, ellipk, ellipkinc, elliprf, elliprj

from liegeo.errors import InputError
from liegeo.lie import SO3, SO3Q

Array = NDArray[np.float64]


def third_kind(n: float, phi: ArrayLike, m: float) -> Array:
    """Π(n; φ) of (1), for any φ and n < 1."""
    phi = np.asarray(phi, dtype=np.float64)
    turns = np.round(phi / np.pi)
    return np.asarray(2.0 * turns * _third_kind(n, np.array(0.5 * np.pi), m) + _third_kind(n, phi - turns * np.pi, m))


def _third_kind(n: float, phi: Array, m: float) -> Array:
    s, c = np.sin(phi), np.cos(phi)
    x, y = c * c, 1.0 - m * s * s
    return np.asarray(s * elliprf(x, y, 1.0) + n / 3.0 * s**3 * elliprj(x, y, 1.0, 1.0 - n * s * s))


def jacobi(u: ArrayLike, m: float) -> tuple[Array, Array, Array, Array]:
    """sn, cn, dn and am, for any u: SciPy's, of an argument within half a period."""
    u = np.asarray(u, dtype=np.float64)
    half = 2.0 * float(ellipk(m))
    turns = np.round(u / half)
    sn, cn, dn, am = ellipj(u - turns * half, m)
    sign = 1.0 - 2.0 * (turns % 2)
    return sign * sn, sign * cn, dn, am + turns * np.pi


class _Constants(NamedTuple):
    """Of (2), (3): which axes are a, b, c, the amplitudes, λ, m, σ, u₀, L and 2E."""

    axes: tuple[int, int, int]
    P: tuple[float, float, float]
    rate: float
    m: float
    sigma: float
    u0: float
    L: float
    energy: float


@dataclass(frozen=True)
class FreeBody:
    """A free rigid body with principal moments J (rising), from attitude q (w, x, y, z) and momentum p in the body."""

    J: ArrayLike
    q: ArrayLike
    p: ArrayLike

    def __post_init__(self) -> None:
        for name, shape in (("J", (3,)), ("q", (4,)), ("p", (3,))):
            value = np.array(getattr(self, name), dtype=np.float64)
            if value.shape != shape or not np.isfinite(value).all():
                raise InputError(f"free body: {name} is {value.tolist()}, expected {shape[0]} finite numbers.")
            object.__setattr__(self, name, value)
        J, p = np.asarray(self.J), np.asarray(self.p)
        if not 0.0 < J[0] < J[1] < J[2]:
            raise InputError(f"free body: J is {J.tolist()}, expected three rising moments of inertia.")
        square, energy = float(p @ p), float(p @ (p / J))
        if np.count_nonzero(p) < 2 or abs(square - energy * J[1]) < 1e-12 * square:
            raise InputError(
                f"free body: with p = {p.tolist()} the motion is a steady spin or the separatrix.\n"
                "  Give a momentum that is along no principal axis, with |p|² other than 2E J₂."
            )

    def __call__(self, t: ArrayLike) -> tuple[Array, Array]:
        """Attitudes (…, 4) and momenta (…, 3) at these times."""
        J, q0, p0 = np.asarray(self.J), np.asarray(self.q), np.asarray(self.p)
        t = np.asarray(t, dtype=np.float64)
        (a, b, c), (P_a, P_b, P_c), rate, m, sigma, u0, L, energy = self._constants
        sn, cn, dn, am = jacobi(rate * t + u0, m)
        p = np.empty((*t.shape, 3))
        p[..., a], p[..., b], p[..., c] = P_a * cn, sigma * P_b * sn, sigma * P_c * dn
        n = -m * (P_c / P_a) ** 2
        integral = (third_kind(n, am, m) - third_kind(n, jacobi(u0, m)[3], m)) / rate
        psi = L * t / J[c] + L * (energy - L * L / J[c]) / P_a**2 * integral
        turn = SO3.exp(psi[..., np.newaxis] * np.array([0.0, 0.0, 1.0]))
        matrix = SO3Q.matrix(q0) @ _triad(p0, c) @ turn @ np.swapaxes(_triad(p, c), -1, -2)
        return np.asarray(SO3Q.from_matrix(matrix)), p

    @property
    def period(self) -> float:
        """After which the momentum in the body comes back."""
        constants = self._constants
        return float(4.0 * ellipk(constants.m) / constants.rate)

    @functools.cached_property
    def _constants(self) -> _Constants:
        J, p = np.asarray(self.J), np.asarray(self.p)
        square, energy = float(p @ p), float(p @ (p / J))
        a, b, c = (0, 1, 2) if square >= energy * J[1] else (2, 1, 0)
        P_a, P_b, P_c = (
            float(np.sqrt(J[i] * (square - energy * J[k]) / (J[i] - J[k]))) for i, k in ((a, c), (b, c), (c, a))
        )
        between = abs(1.0 / J[a] - 1.0 / J[c])
        m = float((P_b / P_c) ** 2 * abs(1.0 / J[a] - 1.0 / J[b]) / between)
        sigma = 1.0 if p[c] >= 0.0 else -1.0
        u0 = float(ellipkinc(np.arctan2(sigma * p[b] / P_b, p[a] / P_a), m))
        rate = float(P_a * P_c * between / P_b)
        return _Constants((a, b, c), (P_a, P_b, P_c), rate, m, sigma, u0, float(np.sqrt(square)), energy)


def _triad(p: Array, c: int) -> Array:
    """Columns: body axis c less its part along p, made one long; the third of the triad; p, made one long."""
    n = p / np.linalg.norm(p, axis=-1, keepdims=True)
    x = np.eye(3)[c] - n * n[..., c : c + 1]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, np.cross(n, x), n], axis=-1)


@dataclass(frozen=True)
class HeavyTop:
    """A symmetric top in uniform gravity along −z: A and C are moments of inertia about the pivot, `weight` is mgl.

    It starts from the attitude q (w, x, y, z) and the angular velocity w in the body, whose third axis is that of the
    symmetry.  A spherical pendulum is a top without spin.
    """

    A: float
    C: float
    weight: float
    q: ArrayLike
    w: ArrayLike

    def __post_init__(self) -> None:
        if not (self.A > 0.0 and self.C >= 0.0 and self.weight > 0.0):
            raise InputError(
                f"heavy top: A, C, weight are {self.A!r}, {self.C!r}, {self.weight!r}, expected positive numbers."
            )
        for name, n in (("q", 4), ("w", 3)):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64).reshape(n))
        z1, z2, _ = self._roots
        if not (-1.0 + 1e-9 < z1 < z2 - 1e-9 and z2 < 1.0 - 1e-9):
            raise InputError(
                f"heavy top: from q = {np.asarray(self.q).tolist()}, w = {np.asarray(self.w).tolist()} "
                "its axis keeps its height, or reaches the vertical.\n"
                "  The closed form needs a start from which it goes up and down between two other heights."
            )

    @functools.cached_property
    def _start(self) -> tuple[float, float, float, float, float]:
        """a, b, α and z of (5), and ω₃, at the start."""
        X, w = SO3Q.matrix(self.q), np.asarray(self.w)
        z = float(X[2, 2])
        a = self.C * w[2] / self.A
        b = float(X[2, 0] * w[0] + X[2, 1] * w[1]) + a * z
        alpha = float(w[0] ** 2 + w[1] ** 2) + 2.0 * self.weight / self.A * z
        return float(a), b, alpha, z, float(w[2])

    @functools.cached_property
    def _roots(self) -> tuple[float, float, float]:
        """z₁ < z₂ < 1 < z₃ of (5), each polished by Newton's method."""
        a, b, alpha, _, _ = self._start
        beta = 2.0 * self.weight / self.A
        cubic = np.array([beta, -(alpha + a * a), 2.0 * a * b - beta, alpha - b * b])
        roots = np.sort(np.roots(cubic).real)
        for _ in range(3):
            roots = roots - np.polyval(cubic, roots) / np.polyval(np.polyder(cubic), roots)
        return float(roots[0]), float(roots[1]), float(roots[2])

    @functools.cached_property
    def _phase(self) -> tuple[float, float, float]:
        """λ, m and u₀ of (5)."""
        z = self._start[3]
        z1, z2, z3 = self._roots
        rate = 0.5 * np.sqrt(2.0 * self.weight / self.A * (z3 - z1))
        m = (z2 - z1) / (z3 - z1)
        # sin² of the amplitude from both ends, so that neither loses digits; rising if ż > 0
        X, w = SO3Q.matrix(self.q), np.asarray(self.w)
        climbing = float(X[2, 0] * w[1] - X[2, 1] * w[0])
        phi = np.arctan2(np.sqrt(max(z - z1, 0.0)), np.sqrt(max(z2 - z, 0.0)))
        return float(rate), float(m), float(ellipkinc(phi if climbing >= 0.0 else -phi, m))

    @property
    def period(self) -> float:
        """After which the height of the axis comes back."""
        rate, m, _ = self._phase
        return float(2.0 * ellipk(m) / rate)

    def height(self, t: ArrayLike) -> Array:
        """z = cos θ of the axis."""
        rate, m, u0 = self._phase
        z1, z2, _ = self._roots
        return np.asarray(z1 + (z2 - z1) * jacobi(rate * np.asarray(t, dtype=np.float64) + u0, m)[0] ** 2)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array]:
        """Attitudes (…, 4) and angular velocities in the body (…, 3) at these times."""
        t = np.asarray(t, dtype=np.float64)
        a, b, _, _, w3 = self._start
        z1, z2, _ = self._roots
        rate, m, u0 = self._phase
        sn, cn, dn, am = jacobi(rate * t + u0, m)
        am0 = jacobi(u0, m)[3]
        z = z1 + (z2 - z1) * sn * sn
        sine = np.sqrt((1.0 - z) * (1.0 + z))
        # ∫ dt/(1 − z) and ∫ dt/(1 + z)
        above, below = (
            (third_kind(n, am, m) - third_kind(n, am0, m)) / (rate * first)
            for n, first in (((z2 - z1) / (1.0 - z1), 1.0 - z1), (-(z2 - z1) / (1.0 + z1), 1.0 + z1))
        )
        phi = 0.5 * (b - a) * above + 0.5 * (b + a) * below
        psi = (w3 - a) * t - 0.5 * (b - a) * above + 0.5 * (b + a) * below
        # the same at the start gives the two angles there
        X0 = SO3Q.matrix(self.q)
        phi = phi + np.arctan2(X0[0, 2], -X0[1, 2])
        psi = psi + np.arctan2(X0[2, 0], X0[2, 1])
        theta_rate = -2.0 * rate * (z2 - z1) * sn * cn * dn / sine
        phi_rate = (b - a * z) / (1.0 - z * z)
        theta = np.arctan2(sine, z)
        e = np.eye(3)
        matrix = _turn(phi, e[2]) @ _turn(theta, e[0]) @ _turn(psi, e[2])
        w = np.stack(
            [
                phi_rate * sine * np.sin(psi) + theta_rate * np.cos(psi),
                phi_rate * sine * np.cos(psi) - theta_rate * np.sin(psi),
                np.full(t.shape, w3),
            ],
            axis=-1,
        )
        return np.asarray(SO3Q.from_matrix(matrix)), w


def _turn(angle: Array, axis: Array) -> Array:
    return np.asarray(SO3.exp(np.asarray(angle)[..., np.newaxis] * axis))
