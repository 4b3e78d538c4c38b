"""Random vibration and shock: spectral densities, RMS values, shock response spectra.

**Densities** are one-sided, per Hz.  With the response H(f) and a matrix S_u of densities of the inputs,

    S_y(f) = H S_u Hᴴ,      σ² = ∫ S_y df.                                                                        (1)

**White noise in a band**, exactly.  With Q = B S Bᵀ and the solution P of A P + P Aᵀ + Q = 0 [GV13, section 7.6],

    (iω − A)⁻¹ Q (iω − A)⁻ᴴ = (iω − A)⁻¹ P + P (iω − A)⁻ᴴ,                                                        (2)
    Σ(Ω) = 1/2π ∫ (iω − A)⁻¹ dω from −Ω to Ω = 1/π Im log(iΩ − A),                                                (3)
    1/2π ∫ (iω − A)⁻¹ Q (iω − A)⁻ᴴ dω = Σ P + P Σᵀ,                                                               (4)

and Σ tends to ½ where Ω grows, so that (4) becomes P.  A one-sided density per Hz is twice a two-sided one, and
1/2π dω is df: the covariance of outputs without feed-through is ½ C (4) Cᵀ.  Factors of P and of (4) come from the
poles λ of A = V diag(λ) V⁻¹ and b = V⁻¹ B √S,

    P = V X Vᴴ,      X_ij = −b_i b_jᴴ/(λ_i + λ̄_j),      in a range times  Σ(λ_i) + Σ̄(λ_j),                          (5)

each row of X to its own last bits: modes that inputs do not reach have no share, where a solution of the whole equation
has round-off of the size of the others, which hides modes of lightly damped structures.  Where poles repeat, V is
singular, and the whole equation is solved.

**Shock.**  An oscillator of frequency ω and damping ζ on a support of acceleration a moves relative to it by

    z̈ + 2 ζ ω ż + ω² z = −a,                                                                                      (6)

and is solved exactly where a is a straight line a₀ + ȧ t, by z = α + β t beside the free motion,

    β = −ȧ/ω²,      α = −a₀/ω² + 2 ζ ȧ/ω³.                                                                        (7)

Extremes between the ends of a piece are those of the cubic that has its values and slopes there.  After the last sample
a is zero, and a period of the free motion is searched too.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.analysis.linear import LinearModel
from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.checks import suggest

if TYPE_CHECKING:
    import scipy.linalg as sla
    from matplotlib.figure import Figure

    from liegeo.analysis.frequency import FrequencyResponse
else:
    sla = late("scipy.linalg")

Array = NDArray[Any]
Names = tuple[str, ...]

#: What a shock response spectrum shows of an oscillator.
SHOCK_QUANTITIES = ("acceleration", "displacement", "pseudo-velocity", "pseudo-acceleration")
# Pieces per period in which extremes are searched: cubics err there by (2π/64)⁴/384 = 2e-7.
_PER_PERIOD = 64
# A real part of a pole above this share of the largest pole is that of no damped motion.
_DAMPED = 1e-13
# Ratios of damping below which a resonance is undamped, and that of the peak which then is drawn.
_UNDAMPED, _SHARP = 1e-9, 1e-4
# Eigenvectors of repeated poles: (5) would lose half of its digits.
_REPEATED = 1e6


@dataclass(frozen=True, repr=False)
class SpectralDensity:
    """One-sided spectral densities per Hz: values[k, i] of output i at frequencies[k].  `units` are of outputs."""

    frequencies: Array
    values: Array
    outputs: Names
    units: Names
    name: str = "model"

    def __repr__(self) -> str:
        span = f"{self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz"
        return f"<spectral densities of '{self.name}': {notebook.count(len(self.outputs), 'output')}, {span}>"

    def _repr_html_(self) -> str:
        rows = [(name, f"{r:.5g} {unit}") for name, unit, r in zip(self.outputs, self.units, self.rms(), strict=True)]
        return notebook.table(repr(self).strip("<>"), ("output", "RMS in this range"), rows)

    def __getitem__(self, output: str) -> Array:
        if output not in self.outputs:
            raise InputError(f"spectrum: '{output}' is none of the outputs.{suggest(str(output), self.outputs)}")
        found: Array = self.values[:, self.outputs.index(output)]
        return found

    def rms(self) -> Array:
        """Return the root of the mean square of each output in the range of frequencies, by trapezoids."""
        return np.sqrt(np.trapezoid(self.values, self.frequencies, axis=0))

    def plot(self, file: str | os.PathLike[str] | None = None, title: str | None = None) -> Figure:
        """Draw the densities over frequency, and write them to a .png, .pdf or .svg file if one is given."""
        from liegeo.analysis.response_plots import densities

        return densities(self, file=file, title=title)


def output_density(response: FrequencyResponse, density: Any = 1.0) -> SpectralDensity:
    """Return the densities of the outputs by (1).

    `density` is that of the inputs, one-sided and per Hz: a number for all of them; by name of inputs a number, one
    value per frequency, or a table of rows (frequency, density), whose points are joined by straight lines in
    logarithmic scales and outside of which it is zero; or, of inputs that depend on each other, Hermitian matrices, one
    or one per frequency.
    """
    f, H, m = response.frequencies, response.values, len(response.inputs)
    if isinstance(density, Mapping):
        rows = np.zeros((len(f), m))
        for name, given in density.items():
            if name not in response.inputs:
                raise InputError(f"density: '{name}' is none of the inputs.{suggest(str(name), response.inputs)}")
            rows[:, response.inputs.index(name)] = _density_of(name, given, f)
        S = np.einsum("ki,ij->kij", rows, np.eye(m)).astype(complex)
    elif np.ndim(density) == 0:
        S = np.broadcast_to(_density_of("density", density, f)[:, None, None] * np.eye(m), (len(f), m, m))
    else:
        S = np.asarray(density, dtype=complex)
        if S.shape not in ((m, m), (len(f), m, m)):
            raise InputError(
                f"density has shape {S.shape}, expected a number, values by name, ({m}, {m}) or ({len(f)}, {m}, {m})."
            )
        S = np.broadcast_to(S, (len(f), m, m))
        if not np.allclose(S, S.conj().swapaxes(1, 2)) or np.linalg.eigvalsh(S).min() < -1e-12 * np.abs(S).max():
            raise InputError("density: a matrix is not Hermitian, or not positive, expected a matrix of densities.")
    values = np.einsum("kij,kjl,kil->ki", H, S, H.conj()).real
    return SpectralDensity(f, values, response.outputs, response.output_units, response.name)


def _density_of(name: str, given: Any, f: Array) -> Array:
    """Return the density of one input at frequencies."""
    array = np.asarray(given, dtype=float)
    shape = array.shape
    if array.ndim == 2 and shape[1] == 2 and len(array) > 1:
        points = array
        if (np.diff(points[:, 0]) > 0.0).all() and (points > 0.0).all() and np.isfinite(points).all():
            inside = (f >= points[0, 0]) & (f <= points[-1, 0])
            found = np.exp(np.interp(np.log(np.maximum(f, points[0, 0])), *np.log(points.T)))
            return np.where(inside, found, 0.0)
        raise InputError(f"density of '{name}': a table has growing frequencies and densities, expected all > 0.")
    if shape in ((), f.shape) and np.isfinite(array).all() and (array >= 0.0).all():
        return np.broadcast_to(array, f.shape)
    raise InputError(
        f"density of '{name}' is {given!r}, expected a number of at least 0, {len(f)} of them (one per frequency), or "
        "rows of frequency and density."
    )


def noise_covariance(linear: LinearModel, density: ArrayLike = 1.0, band: tuple[float, float] | None = None) -> Array:
    """Return the covariance of the outputs under white noise at the inputs, exactly, by (4).

    `density` is one-sided and per Hz: one number, one for each input, or a matrix.  `band` is its range in Hz; without
    one it has all frequencies, and the outputs must not feel the inputs at once.
    """
    if linear.period:
        raise InputError("noise_covariance: the linear model is one of discrete time, expected one of continuous time.")
    m = len(linear.inputs)
    S = np.asarray(density, dtype=float)
    S = S * np.eye(m) if S.ndim < 2 and S.size in (1, m) else S
    if S.shape != (m, m) or not np.isfinite(S).all():
        raise InputError(
            f"noise_covariance: density has shape {np.shape(density)}, expected a number, ({m},) or ({m}, {m})."
        )
    sizes, directions = np.linalg.eigh(S)
    if not np.allclose(S, S.T) or sizes.min(initial=0.0) < -1e-12 * np.abs(sizes).max(initial=0.0):
        raise InputError("noise_covariance: density is not symmetric or not positive, expected a matrix of densities.")
    root = directions * np.sqrt(np.maximum(sizes, 0.0))
    A, B, C, D = linear.A, linear.B, linear.C, linear.D
    poles = linear.poles
    if poles.size and poles.real.max() > -_DAMPED * np.abs(poles).max():
        raise InputError(
            f"noise_covariance: the model has a pole at {poles[np.argmax(poles.real)]:.3g} 1/s, whose motion grows "
            "without bounds, expected damped motions alone.\n  Give it damping, or hold what can move away."
        )
    if band is None:
        touched = np.flatnonzero(D.any(axis=1))
        if touched.size:
            raise InputError(
                f"noise_covariance: '{linear.outputs[touched[0]]}' feels the inputs at once, so that its covariance "
                "under noise of all frequencies is infinite.\n  Give a band of frequencies."
            )
        seen = C @ gramian(A, B @ root, None)
        return 0.5 * seen @ seen.T
    first, last = band
    if not 0.0 <= first < last < np.inf:
        raise InputError(f"noise_covariance: band is {band!r}, expected two frequencies in Hz, the first one smaller.")
    seen = C @ gramian(A, B @ root, band)
    cross = C @ band_weight(A, first, last) @ B @ S @ D.T if D.any() else np.zeros((len(C),) * 2)
    return 0.5 * (seen @ seen.T + cross + cross.T) + (last - first) * D @ S @ D.T


def noise_rms(
    linear: LinearModel, density: ArrayLike = 1.0, band: tuple[float, float] | None = None
) -> dict[str, float]:
    """Return the RMS value of each output under white noise at the inputs; see noise_covariance."""
    variances = np.diag(noise_covariance(linear, density, band))
    return {name: float(np.sqrt(max(v, 0.0))) for name, v in zip(linear.outputs, variances, strict=True)}


def lyapunov(A: Array, Q: Array) -> Array:
    """Return P with A P + P Aᵀ + Q = 0, symmetric, solved in coordinates that are scaled alike."""
    if not len(A):
        return np.zeros((0, 0))
    _, scaling = sla.matrix_balance(A, permute=False)
    d = np.diag(scaling)
    P = sla.solve_continuous_lyapunov(A * d / d[:, None], -Q / np.outer(d, d)) * np.outer(d, d)
    return 0.5 * (P + P.T)


def band_weight(A: Array, first: float, last: float) -> Array:
    """Return Σ(2π last) − Σ(2π first) of (3), by logarithms in coordinates that are scaled alike."""
    if not len(A):
        return np.zeros_like(A)
    balanced, scaling = sla.matrix_balance(A, permute=False)
    d, unit = np.diag(scaling), np.eye(len(A))

    def of(f: float) -> Array:
        with warnings.catch_warnings():
            # SciPy warns from 1e-12 on
            warnings.filterwarnings("ignore", "logm result may be inaccurate", RuntimeWarning)
            return sla.logm(2j * np.pi * f * unit - balanced).imag / np.pi if f else np.zeros_like(A)

    found: Array = (of(last) - of(first)) * d[:, None] / d
    return found


def gramian(A: Array, B: Array, band: tuple[float, float] | None) -> Array:
    """Return L with P = L Lᵀ, by (5): A P + P Aᵀ + B Bᵀ = 0 of a stable A, or (4) of a range of frequencies in Hz."""
    if not len(A):
        return np.zeros((0, 0))
    balanced, scaling = sla.matrix_balance(A, permute=False)
    d = np.diag(scaling)
    poles, V = np.linalg.eig(balanced)
    if np.linalg.cond(V) > _REPEATED:
        P = lyapunov(A, B @ B.T)
        if band is not None:
            weight = band_weight(A, *band)
            P = weight @ P + P @ weight.T
        return _factor(P).real
    b = np.linalg.solve(V, (B / d[:, None]).astype(complex))
    X = -b @ b.conj().T / (poles[:, None] + poles.conj())
    if band is not None:
        above, below = (
            (np.log(2j * np.pi * f - poles) - np.log(-2j * np.pi * f - poles)) / (2j * np.pi) for f in band[::-1]
        )
        X *= (above - below)[:, None] + (above - below).conj()
    L = d[:, None] * (V @ _factor(X))
    # of a real P the real part is enough
    return np.hstack([L.real, L.imag])


def _factor(X: Array) -> Array:
    """Return L with X = L Lᴴ, of a Hermitian matrix that is positive but for round-off in each row."""
    d = np.sqrt(np.maximum(np.diag(X).real, 0.0))
    d[d == 0.0] = 1.0
    values, vectors = np.linalg.eigh(X / np.outer(d, d))
    found: Array = d[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return found


def frequency_grid(linear: LinearModel, first: float, last: float, n: int = 200, around: int = 80) -> Array:
    """Return frequencies in Hz from first to last: n with equal ratios, and `around` each at every resonance.

    These stand at multiples of the half width of the peak, close to it and sparse away, so that trapezoids see peaks of
    any damping; undamped resonances themselves are left out.
    """
    if not 0.0 < first < last < np.inf:
        raise InputError(f"frequency_grid: range is {first!r} to {last!r} Hz, expected 0 < first < last.")
    found = [np.geomspace(first, last, n)]
    steps = np.sinh(np.linspace(0.0, 6.0, around // 2 + 1))
    for pole in linear.poles:
        if pole.imag > 0.0:
            size, width = abs(pole), -pole.real
            undamped = width < _UNDAMPED * size
            # at an undamped resonance itself there is no response
            away = (_SHARP * size if undamped else width) * steps[1 if undamped else 0 :]
            found += [(size + away) / (2.0 * np.pi), (size - away) / (2.0 * np.pi)]
    f = np.unique(np.concatenate(found))
    return f[(f >= first) & (f <= last)]


# ---- shock


@dataclass(frozen=True, repr=False)
class ShockSpectrum:
    """The largest and smallest response of oscillators over their frequency in Hz, and the largest after the shock."""

    frequencies: Array
    largest: Array
    smallest: Array
    residual: Array
    damping: float
    quantity: str

    @property
    def extreme(self) -> Array:
        """Return the larger size of both."""
        return np.maximum(self.largest, -self.smallest)

    def __repr__(self) -> str:
        span = f"{self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz"
        return f"<shock response spectrum: {self.quantity}, damping {100 * self.damping:g} %, {span}>"

    def plot(self, file: str | os.PathLike[str] | None = None, title: str | None = None) -> Figure:
        """Draw the spectrum, and write it to a .png, .pdf or .svg file if one is given."""
        from liegeo.analysis.response_plots import shock

        return shock(self, file=file, title=title)


def shock_response(
    acceleration: ArrayLike,
    period: float,
    frequencies: ArrayLike,
    damping: float = 0.05,
    quantity: str = "acceleration",
) -> ShockSpectrum:
    """Return the shock response spectrum of the acceleration of a support, sampled with a period in s.

    Between samples it is a straight line, before and after them zero.  `quantity` is "acceleration" (absolute, of the
    oscillating mass), "displacement" (relative to the support), "pseudo-velocity" or "pseudo-acceleration" (the same
    times ω or ω²).
    """
    a = np.asarray(acceleration, dtype=float)
    f = np.atleast_1d(np.asarray(frequencies, dtype=float))
    if a.ndim != 1 or len(a) < 2 or not np.isfinite(a).all():
        raise InputError(f"shock_response: acceleration has shape {a.shape}, expected two or more finite samples.")
    if not (np.isfinite(period) and period > 0.0):
        raise InputError(f"shock_response: period is {period!r}, expected a number of seconds > 0.")
    if f.ndim != 1 or not f.size or not np.isfinite(f).all() or not (f > 0.0).all():
        raise InputError(f"shock_response: frequencies are {frequencies!r}, expected numbers of Hz > 0.")
    if not 0.0 <= damping < 1.0:
        raise InputError(f"shock_response: damping is {damping!r}, expected a share of critical damping in [0, 1).")
    if quantity not in SHOCK_QUANTITIES:
        raise InputError(f"shock_response: quantity is {quantity!r}, expected one of {', '.join(SHOCK_QUANTITIES)}.")
    pieces = max(1, int(np.ceil(_PER_PERIOD * f.max() * period)))
    fine = np.interp(np.arange((len(a) - 1) * pieces + 1) / pieces, np.arange(len(a)), a)
    oscillators = _Oscillators(2.0 * np.pi * f, damping, quantity)
    oscillators.go(np.full(len(f), period / pieces), fine)
    during = oscillators.take()
    oscillators.go(1.0 / (_PER_PERIOD * f), np.zeros(_PER_PERIOD + 2))
    after = oscillators.take()
    residual = np.maximum(after[0], -after[1])
    return ShockSpectrum(
        f, np.maximum(during[0], after[0]), np.minimum(during[1], after[1]), residual, float(damping), quantity
    )


class _Oscillators:
    """Oscillators of many frequencies, and the extremes of what they show."""

    def __init__(self, omega: Array, damping: float, quantity: str) -> None:
        self.omega, self.zeta, self.quantity = omega, damping, quantity
        self.z, self.rate = np.zeros((2, len(omega)))
        self.most, self.least = np.zeros((2, len(omega)))

    def take(self) -> tuple[Array, Array]:
        """Return the extremes so far, and begin anew."""
        found = self.most, self.least
        self.most, self.least = np.zeros((2, len(self.omega)))
        return found

    def shown(self, a: float) -> tuple[Array, Array]:
        """Return what is asked for, and its rate."""
        w, c = self.omega, 2.0 * self.zeta * self.omega
        if self.quantity == "acceleration":
            second = -c * self.rate - w * w * self.z - a
            return -c * self.rate - w * w * self.z, -c * second - w * w * self.rate
        factor = {"displacement": np.ones_like(w), "pseudo-velocity": w}.get(self.quantity, w * w)
        return factor * self.z, factor * self.rate

    def go(self, h: Array, samples: Array) -> None:
        """Advance by steps h, between samples of the acceleration."""
        w, zeta = self.omega, self.zeta
        d = w * np.sqrt(1.0 - zeta**2)
        decay, c, s = np.exp(-zeta * w * h), np.cos(d * h), np.sin(d * h) / d
        # the free motion by place and speed
        by_z, by_rate = (c + zeta * w * s, s), (-w * w * s, c - zeta * w * s)
        value, slope = self.shown(samples[0])
        self._note(value)
        for before, after in itertools.pairwise(samples):
            grows = (after - before) / h
            beta = -grows / w**2
            alpha = -before / w**2 + 2.0 * zeta * grows / w**3
            z, rate = self.z - alpha, self.rate - beta
            self.z = decay * (by_z[0] * z + by_z[1] * rate) + alpha + beta * h
            self.rate = decay * (by_rate[0] * z + by_rate[1] * rate) + beta
            new, new_slope = self.shown(after)
            self._note(new)
            self._between(value, slope * h, new, new_slope * h)
            value, slope = new, new_slope

    def _note(self, value: Array) -> None:
        np.maximum(self.most, value, out=self.most)
        np.minimum(self.least, value, out=self.least)

    def _between(self, v0: Array, s0: Array, v1: Array, s1: Array) -> None:
        """Note extremes of cubics that have these values and slopes at 0 and 1."""
        turns = s0 * s1 < 0.0
        if not turns.any():
            return
        a, b = 2.0 * (v0 - v1) + s0 + s1, 3.0 * (v1 - v0) - 2.0 * s0 - s1
        root = np.sqrt(np.maximum(b * b - 3.0 * a * s0, 0.0))
        # the root of 3 a t² + 2 b t + s0 in (0, 1), in a form without cancellation
        q = -(b + np.where(b >= 0.0, root, -root))
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = np.where(a != 0.0, q / (3.0 * a), -1.0), np.where(q != 0.0, s0 / q, -1.0)
        for t in (first, second):
            inside = turns & (t > 0.0) & (t < 1.0)
            at = np.where(inside, t, 0.0)
            self._note(np.where(inside, ((a * at + b) * at + s0) * at + v0, 0.0))


__all__ = [
    "ShockSpectrum",
    "SpectralDensity",
    "frequency_grid",
    "noise_covariance",
    "noise_rms",
    "output_density",
    "shock_response",
]
