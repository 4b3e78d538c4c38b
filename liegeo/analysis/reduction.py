"""Smaller linear models for control: modal, balanced, and balanced in a range of frequencies.

The stable part, and the rest (integrators, unstable and undamped motions), which is always kept, come from an ordered
Schur form and a Sylvester equation [GV13, section 7.6],

    A = V [A₁ A₁₂; 0 A₂] Vᵀ,      A₁ X − X A₂ + A₁₂ = 0,      T = V [1 X; 0 1],      T⁻¹ A T = diag(A₁, A₂).        (1)

**Balanced** truncation [M81] of the stable part: with the Gramians

    A P + P Aᵀ + B Bᵀ = 0,      Aᵀ Q + Q A + Cᵀ C = 0,                                                              (2)

factors P = L Lᵀ, Q = R Rᵀ and Rᵀ L = U diag(σ) Vᵀ, the states are projected by

    W = R U₁ σ₁^(−½),      Z = L V₁ σ₁^(−½),      Wᵀ Z = 1,                                                         (3)

and the largest gain of the error at any frequency is at most twice the sum of the Hankel singular values σ that are
left out [G84].

Factors come from poles (spectra.py (5)), so that modes that inputs do not reach have no share.

**In a range of frequencies** [GJ90] the Gramians are integrals over that range only (spectra.py (4)).  There is no
bound beforehand, and a reduced model may be unstable, which is refused.  That Gramian belongs to an input matrix that
is not real; with the sizes of its eigenvalues s in their place [GA04], and Σ of spectra.py (3),

    Σ B Bᵀ + B Bᵀ Σᵀ = S diag(s) Sᵀ,      A P + P Aᵀ + S diag(|s|) Sᵀ = 0,                                         (4)

and likewise Q of Cᵀ C, the reduced model is stable, and with B̂ = S diag(√|s|) and B = B̂ J the error is at most
2 ‖J_B‖ ‖J_C‖ times the sum of the σ that are left out: it is a part of a balanced truncation of B̂ and Ĉ.

**Modal** truncation keeps poles by their size.  With the residues c bᴴ of the poles λ that are left out, the error is
at most

    Σ ‖c‖ ‖b‖ / |Re λ|,      with the static gain kept  Σ ‖c‖ ‖b‖ (1/|Re λ| + 1/|λ|).                               (5)

Gains compare outputs and inputs in their units.  `input_scales` and `output_scales` say which changes count alike.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.analysis.linear import LinearModel
from liegeo.analysis.spectra import band_weight, gramian
from liegeo.errors import InputError

if TYPE_CHECKING:
    import scipy.linalg as sla
else:
    sla = late("scipy.linalg")

Array = NDArray[Any]

MODAL, BALANCED, BAND, STABLE_BAND = "modal", "balanced", "band", "stable band"
METHODS = (MODAL, BALANCED, BAND, STABLE_BAND)
# A pole whose real part is not below minus this share of the largest pole is kept: it is not damped.
_STABLE = 1e-10
# Hankel singular values below this share of the first are round-off.
_ROUND_OFF = 1e-14
# Poles whose sizes differ by less than this share are a pair.
_SAME = 1e-9


@dataclass(frozen=True, repr=False)
class ReducedModel:
    """A reduced model (`linear`), and what is known of its error.

    `singular_values` are those of the stable part (Hankel's, or those of the range of frequencies), largest first;
    empty for modal truncation.  `bound` is that of the largest gain of the error, in the scales that were given; None
    if there is none.  `n_kept` states are not damped and were kept as they are.
    """

    linear: LinearModel
    method: str
    singular_values: Array
    bound: float | None
    n_kept: int

    def __repr__(self) -> str:
        bound = "no bound" if self.bound is None else f"error at most {self.bound:.3g}"
        return f"<{self.method} reduction of '{self.linear.name}' to {len(self.linear.states)} states: {bound}>"


def reduced(
    linear: LinearModel,
    order: int | None = None,
    *,
    method: str = BALANCED,
    tolerance: float | None = None,
    band: tuple[float, float] | None = None,
    static: bool = False,
    input_scales: ArrayLike = 1.0,
    output_scales: ArrayLike = 1.0,
) -> ReducedModel:
    """Return a linear model with fewer states and the same inputs and outputs.

    - `order`: number of states, those without damping included, which are always kept; or, in its place, a `tolerance`
      that the bound of the error keeps (balanced and modal).
    - `method`: "balanced"; "band", balanced in the frequencies `band` in Hz; "stable band", the same with a bound
      of the error and a reduced model that is always stable, but less exact in the band; "modal", by size of poles, of
      which `band` (0, f) keeps those up to f.
    - `static`: whether the modes that modal truncation leaves out keep their static gain.
    - `input_scales`, `output_scales`: sizes of inputs and outputs by which gains are compared.
    """
    if linear.period:
        raise InputError("reduced: the linear model is one of discrete time, expected one of continuous time.")
    if method not in METHODS:
        raise InputError(f"reduced: method is {method!r}, expected one of {', '.join(METHODS)}.")
    n = len(linear.states)
    chosen = [order is not None, tolerance is not None, method == MODAL and band is not None]
    if sum(chosen) != 1:
        raise InputError(
            f"reduced: order is {order!r}, tolerance {tolerance!r} and band {band!r}, expected one of order and "
            "tolerance, or for modal truncation a band alone."
        )
    if order is not None and (isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= n):
        raise InputError(f"reduced: order is {order!r}, expected a whole number from 0 to the {n} states there are.")
    if tolerance is not None and (method == BAND or not 0.0 <= tolerance < np.inf):
        raise InputError(
            f"reduced: tolerance is {tolerance!r} with method '{method}', expected a number ≥ 0, with a method that "
            "has a bound of the error: 'balanced', 'stable band' or 'modal'."
        )
    if method in (BAND, STABLE_BAND) and band is None:
        raise InputError(f"reduced: band is None, expected two frequencies in Hz for method '{method}'.")
    if band is not None and not 0.0 <= band[0] < band[1] < np.inf:
        raise InputError(f"reduced: band is {band!r}, expected two frequencies in Hz, the first one smaller.")
    if static and method != MODAL:
        raise InputError(f"reduced: static is True with method '{method}', expected method 'modal'.")
    scales = [_scales(linear, what, given) for what, given in (("input", input_scales), ("output", output_scales))]
    B, C = linear.B * scales[0], linear.C / scales[1][:, None]
    if method == MODAL:
        size = None if band is None else 2.0 * np.pi * band[1]
        return _modal(linear, B, C, order, tolerance, size, static)
    return _balanced(linear, B, C, method, order, tolerance, band if method != BALANCED else None)


def _scales(linear: LinearModel, what: str, given: ArrayLike) -> Array:
    n = len(getattr(linear, f"{what}s"))
    found = np.asarray(given, dtype=float)
    if found.shape not in ((), (n,)) or not (np.isfinite(found) & (found > 0.0)).all():
        raise InputError(
            f"reduced: {what}_scales is {given!r}, expected a number > 0, or one for each of the {n} {what}s."
        )
    return np.broadcast_to(found, (n,))


def _split(A: Array, first: Callable[[complex], bool]) -> tuple[Array, Array, int]:
    """Return T and T⁻¹ of (1), and the size of A₁, whose eigenvalues are those that come first."""
    n = len(A)
    if not n:
        return np.eye(0), np.eye(0), 0
    schur, V, k = sla.schur(A, output="real", sort=lambda re, im=0.0: first(complex(re, im)))
    X = np.zeros((k, n - k))
    if 0 < k < n:
        X = sla.solve_sylvester(schur[:k, :k], -schur[k:, k:], -schur[:k, k:])
    upper, lower = np.eye(n), np.eye(n)
    upper[:k, k:], lower[:k, k:] = X, -X
    return V @ upper, lower @ V.T, int(k)


def _projected(
    linear: LinearModel, right: Array, left: Array, names: list[tuple[str, str]], D: Array, note: str
) -> LinearModel:
    """Return the model in the states that are left: x = right ξ, ξ = left x."""
    return dataclasses.replace(
        linear,
        A=left @ linear.A @ right,
        B=left @ linear.B,
        C=linear.C @ right,
        D=D,
        states=tuple(name for name, _ in names),
        state_units=tuple(unit for _, unit in names),
        n_coordinates=0,
        mass=np.zeros((0, 0)),
        notes=(*linear.notes, note),
    )


def _balanced(
    linear: LinearModel,
    B: Array,
    C: Array,
    method: str,
    order: int | None,
    tolerance: float | None,
    band: tuple[float, float] | None,
) -> ReducedModel:
    T, inverse, stable = _damped_first(linear, order)
    kept = len(linear.A) - stable
    A = (inverse @ linear.A @ T)[:stable, :stable]
    b, c = (inverse @ B)[:stable], (C @ T)[:, :stable]
    factor, ends = 2.0, band
    if method == STABLE_BAND:
        assert band is not None
        weight = band_weight(A, *band)
        b_hat, c_hat = (_sizes(X + X.T) for X in (weight @ b @ b.T, c.T @ c @ weight))
        factor *= _part_of(b, b_hat) * _part_of(c.T, c_hat)
        b, c, ends = b_hat, c_hat.T, None
    L, R = gramian(A, b, ends), gramian(A.T, c.T, ends)
    U, sigma, Vh = np.linalg.svd(R.T @ L, full_matrices=False)
    U, sigma, Vh = U[:, :stable], sigma[:stable], Vh[:stable]
    tails = factor * np.append(np.cumsum(sigma[::-1])[::-1], 0.0)
    if order is not None:
        r = order - kept
    else:
        assert tolerance is not None
        r = next(k for k in range(stable + 1) if tails[k] <= tolerance)
    r = min(r, int((sigma > _ROUND_OFF * sigma.max(initial=0.0)).sum()))
    root = np.sqrt(sigma[:r])
    right = np.hstack([T[:, :stable] @ (L @ Vh[:r].T / root), T[:, stable:]])
    left = np.vstack([(R @ U[:, :r] / root).T @ inverse[:stable], inverse[stable:]])
    names = [(f"balanced {k + 1}", "") for k in range(r)] + [(f"undamped {k + 1}", "") for k in range(kept)]
    what = "balanced" if band is None else f"balanced from {band[0]:g} to {band[1]:g} Hz"
    found = _projected(linear, right, left, names, linear.D, f"{what}: {len(names)} of {len(linear.A)} states")
    if method == BAND and r and np.linalg.eigvals(found.A[:r, :r]).real.max() >= 0.0:
        assert band is not None
        raise InputError(
            f"reduced: balancing from {band[0]:g} to {band[1]:g} Hz gave an unstable model of {len(names)} states.\n"
            "  Take another order, or method 'stable band'."
        )
    return ReducedModel(found, method, sigma, None if method == BAND else float(tails[r]), kept)


def _damped_first(linear: LinearModel, order: int | None) -> tuple[Array, Array, int]:
    """Return T, T⁻¹ and the size of the damped part of (1); raise an InputError if fewer than the others are wanted."""
    limit = -_STABLE * float(np.abs(linear.poles).max(initial=0.0))
    T, inverse, stable = _split(linear.A, lambda pole: pole.real < limit)
    kept = len(linear.A) - stable
    if order is not None and order < kept:
        raise InputError(
            f"reduced: order is {order}, expected at least the {kept} states of undamped motions, which are kept."
        )
    return T, inverse, stable


def _sizes(X: Array) -> Array:
    """Return S diag(√|s|) of (4)."""
    s, S = np.linalg.eigh(X) if len(X) else (np.zeros(0), X)
    return S * np.sqrt(np.abs(s))


def _part_of(B: Array, hat: Array) -> float:
    """Return the norm of the J with B = B̂ J; B̂ has the columns of B among its own, by (4)."""
    if not B.size:
        return 0.0
    d = np.sqrt((hat * hat).sum(axis=1))
    d[d == 0.0] = 1.0
    J = np.linalg.lstsq(hat / d[:, None], B / d[:, None], rcond=_ROUND_OFF)[0]
    return float(np.linalg.norm(J, 2))


def _modal(
    linear: LinearModel,
    B: Array,
    C: Array,
    order: int | None,
    tolerance: float | None,
    size: float | None,
    static: bool,
) -> ReducedModel:
    T, inverse, stable = _damped_first(linear, order)
    kept = len(linear.A) - stable
    block = (inverse @ linear.A @ T)[:stable, :stable]
    poles, vectors = np.linalg.eig(block) if stable else (np.zeros(0, complex), np.zeros((0, 0)))
    of_inputs = np.linalg.solve(vectors, (inverse @ B)[:stable].astype(complex))
    gains = np.linalg.norm((C @ T)[:, :stable] @ vectors, axis=0) * np.linalg.norm(of_inputs, axis=1)
    share = gains / np.abs(poles.real) + (gains / np.abs(poles) if static else 0.0)
    # pairs stay together
    by_size = np.argsort(np.abs(poles), kind="stable")
    sizes, share = np.abs(poles)[by_size], share[by_size]
    left_out = np.append(np.cumsum(share[::-1])[::-1], 0.0)
    whole = [k for k in range(stable + 1) if k in (0, stable) or sizes[k] - sizes[k - 1] > _SAME * sizes[k]]
    if size is not None:
        n = int((sizes <= size).sum())
    elif order is not None:
        n = max(k for k in whole if k + kept <= order)
    else:
        assert tolerance is not None
        n = next(k for k in whole if left_out[k] <= tolerance)
    limit = 0.5 * (sizes[n - 1] + sizes[n]) if 0 < n < stable else (np.inf if n else -1.0)
    V, back, first = _split(block, lambda pole: abs(pole) <= limit)
    right = np.hstack([T[:, :stable] @ V[:, :first], T[:, stable:]])
    left = np.vstack([back[:first] @ inverse[:stable], inverse[stable:]])
    D = linear.D
    if static and first < stable:
        out, seen = back[first:] @ inverse[:stable], T[:, :stable] @ V[:, first:]
        D = D - linear.C @ seen @ np.linalg.solve(out @ linear.A @ seen, out @ linear.B)
    names = [(f"modal {k + 1}", "") for k in range(first)] + [(f"undamped {k + 1}", "") for k in range(kept)]
    found = _projected(linear, right, left, names, D, f"modal: {len(names)} of {len(linear.A)} states")
    return ReducedModel(found, MODAL, np.zeros(0), float(left_out[first]), kept)


__all__ = ["METHODS", "ReducedModel", "reduced"]
