"""Harmonic response of mechanisms about an operating point: to loads, inputs, and motions of supports.

With (1) of excitation.py, prescribed motions put in,

    ẋ = A x + B δ + B_τ τ,      y = C x + D δ + D_τ τ.                                                            (1)

**Damping** is a force τ = −Γ x, which closes (1) to A − B_τ Γ and C − D_τ Γ.  Of the coordinates z of the linear model,
with M, K (symmetric part) and undamped modes Φᵀ M Φ = 1, Φᵀ K Φ = Ω², and of the modal coordinates η_b of a body b:

    modal:        Γ x = M Φ diag(2 ζ Ω) Φᵀ M ż,                                                                   (2)
    structural:   Γ x = i γ_b K_b η_b   in the rows of η_b, for positive frequencies,                               (3)

likewise springs of joints, springs between frames with i γ k (∂ℓ/∂z)ᵀ ∂ℓ/∂z by their length ℓ, and bushings with
i γ (∂e/∂z)ᵀ K ∂e/∂z by their six deformations e, (3) of excitation.py, both without what their tension adds to the
stiffness; so that loops, gyroscopic terms and first-order states need no case of their own.  (3)
makes A complex.

**Direct**: y = (C (s − A)⁻¹ B + D) δ at s = 2πi f.  **Modal**: z = Φ_k p with the k slowest modes, and what the others
do not resist otherwise than by their stiffness,

    z = Φ_k p + Φ_d Ω_d⁻² Φ_dᵀ g,                                                                                (4)

g being the generalised force of δ, of prescribed motions and of χ: the static correction, without which (`residual` =
False) the part of g that accelerates only the discarded modes is left out as well.  Dampers and gyroscopic terms that
couple modes are kept; (4) errs by (f/f_d)² of what the discarded modes do.

Where joints turn that do not commute, coordinates have ż = T z + w, T = −ad(v₀) (linear.py (5)), and shapes of z are
none of w: w = (s − T) Φ p.  In z and u = ż, however, it is a system of second order like all others,

    ż = u,      M u̇ = M (A_wz − A_ww T) z + M (A_ww + T) u + …,                                                  (5)

so that (4) holds there, with K = −M (A_wz − A_ww T), which has centrifugal terms.  K need not be positive, as that of a
sleeping top is not: modes of negative stiffness are among the slowest, and kept.

Outputs have accelerations from the equations of motion, which a motion by a few shapes does not obey: without more they
would feel Coriolis forces and dampers that only discarded modes resist.  What the motion lacks is added as a force, so
that accelerations are those of the motion itself, ẇ = s w:

    y = C x + D δ + D_τ M (s w − A_w x − B_w δ).                                                                 (6)
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.analysis.excitation import BaseMotion, DrivenMotion, Excitation, Load, Plant, plant_of
from liegeo.analysis.linear import LinearModel
from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.checks import suggest
from liegeo.model.model import Model
from liegeo.model.standin import HasModel
from liegeo.model.state import State

if TYPE_CHECKING:
    import scipy.linalg as sla
    from matplotlib.figure import Figure

    from liegeo.analysis.spectra import SpectralDensity
else:
    sla = late("scipy.linalg")

Array = NDArray[Any]
Names = tuple[str, ...]

DIRECT, MODAL = "direct", "modal"
METHODS = (DIRECT, MODAL)
# Modes taken by the modal method, as a multiple of the highest frequency that is asked for.
_REACH = 1.5
# Eigenvalues of K over M below this share of the largest are rigid motions; more negative ones are instabilities.
_RIGID = 1e-11


@dataclass(frozen=True, repr=False)
class FrequencyResponse:
    """Complex amplitudes of outputs by inputs: values[k, i, j] at frequencies[k] in Hz, of output i under input j.

    `response[output, input]` is one of them over frequency; the input may be left out if there is only one.
    """

    frequencies: Array
    values: Array
    inputs: Names
    outputs: Names
    input_units: Names
    output_units: Names
    name: str = "model"
    notes: Names = ()

    @classmethod
    def of(cls, linear: LinearModel, frequencies: ArrayLike) -> FrequencyResponse:
        """Return the response of a linear model, in continuous or discrete time."""
        f = _checked_frequencies(frequencies)
        return cls(
            f,
            linear.frequency_response(f),
            linear.inputs,
            linear.outputs,
            linear.input_units,
            linear.output_units,
            linear.name,
            linear.notes,
        )

    def __repr__(self) -> str:
        span = f"{self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz"
        sizes = f"{notebook.count(len(self.outputs), 'output')} by {notebook.count(len(self.inputs), 'input')}"
        return f"<frequency response of '{self.name}': {sizes}, {len(self.frequencies)} frequencies, {span}>"

    def _repr_html_(self) -> str:
        rows = []
        for i, j in np.ndindex(self.values.shape[1:]):
            size = np.abs(self.values[:, i, j])
            k = int(np.argmax(size))
            rows.append(
                (self.outputs[i], self.inputs[j], f"{size[k]:.5g} {self.unit(i, j)}", f"{self.frequencies[k]:.5g}")
            )
        return notebook.table(repr(self).strip("<>"), ("output", "input", "largest amplitude", "at (Hz)"), rows)

    def unit(self, i: int, j: int) -> str:
        """Return the unit of output i per input j."""
        y, u = (f"({unit})" if {*unit} & {*"/·"} else unit for unit in (self.output_units[i], self.input_units[j]))
        return f"{y or '1'}/{u}" if u else self.output_units[i]

    def __getitem__(self, key: str | tuple[str, str]) -> Array:
        output, given = key if isinstance(key, tuple) else (key, None)
        if given is None and len(self.inputs) != 1:
            raise InputError(
                f"frequency response: there are {len(self.inputs)} inputs, expected response[output, input]."
                f"{suggest('', self.inputs)}"
            )
        i = _place("outputs", output, self.outputs)
        j = 0 if given is None else _place("inputs", given, self.inputs)
        found: Array = self.values[:, i, j]
        return found

    def amplitude(self, output: str, given: str | None = None) -> Array:
        """Return |y| per unit of the input."""
        return np.abs(self[output] if given is None else self[output, given])

    def phase(self, output: str, given: str | None = None) -> Array:
        """Return the phase of the output before the input, in rad, without jumps of 2π."""
        return np.unwrap(np.angle(self[output] if given is None else self[output, given]))

    def under(self, amplitudes: Mapping[str, complex], name: str = "combined") -> FrequencyResponse:
        """Return the response to several inputs at once, with these complex amplitudes by name."""
        total = np.zeros(self.values.shape[:2], complex)
        for given, amplitude in amplitudes.items():
            total += complex(amplitude) * self.values[:, :, _place("inputs", given, self.inputs)]
        return dataclasses.replace(self, values=total[:, :, None], inputs=(name,), input_units=("",))

    def rate(self, times: int = 1) -> FrequencyResponse:
        """Return the response of the rates of the outputs: times (2πi f); -1 integrates once, -2 twice."""
        if times < 0 and not self.frequencies.all():
            raise InputError("rate: there is a response at 0 Hz, which has no integral.\n  Leave that frequency out.")
        s = (2j * np.pi * self.frequencies) ** times
        units = tuple(f"{unit or '1'}·s^{-times}" for unit in self.output_units)
        return dataclasses.replace(self, values=s[:, None, None] * self.values, output_units=units)

    def psd(self, density: Any = 1.0) -> SpectralDensity:
        """Return the one-sided spectral densities of the outputs under random inputs: see spectra.output_density."""
        from liegeo.analysis.spectra import output_density

        return output_density(self, density)

    def bode(self, file: str | os.PathLike[str] | None = None, title: str | None = None) -> Figure:
        """Draw amplitudes and phases over frequency, and write them to a .png, .pdf or .svg file if one is given."""
        from liegeo.analysis.response_plots import bode

        return bode({"": self}, file=file, title=title)

    def nyquist(self, file: str | os.PathLike[str] | None = None, title: str | None = None) -> Figure:
        """Draw the responses in the complex plane, and write them to a .png, .pdf or .svg file if one is given."""
        from liegeo.analysis.response_plots import nyquist

        return nyquist(self, file=file, title=title)

    def to_csv(self, file: str | os.PathLike[str]) -> None:
        """Write frequency, and real and imaginary part of every response, as a table."""
        from liegeo.results.tables import write_whole

        pairs = list(np.ndindex(self.values.shape[1:]))
        columns, heads = [self.frequencies], ["frequency [Hz]"]
        for i, j in pairs:
            title = f"{self.outputs[i]} / {self.inputs[j]}"
            columns += [self.values[:, i, j].real, self.values[:, i, j].imag]
            heads += [f"Re {title}", f"Im {title}"]
        lines = [",".join('"' + head.replace('"', '""') + '"' for head in heads)]
        lines += [",".join(repr(float(x)) for x in row) for row in np.column_stack(columns)]
        text = "\n".join(lines) + "\n"
        write_whole(file, lambda out: out.write(text.encode()))


def _place(what: str, name: str, names: Names) -> int:
    if name not in names:
        raise InputError(f"frequency response: '{name}' is none of the {what}.{suggest(str(name), names)}")
    return names.index(name)


def frequency_response(
    model: Model | HasModel,
    state: State | None = None,
    inputs: Excitation | Iterable[Excitation] | None = None,
    outputs: str | Iterable[str] | None = None,
    *,
    frequencies: ArrayLike,
    method: str = DIRECT,
    modes: int | None = None,
    residual: bool = True,
    modal_damping: float | Sequence[float] | None = None,
    structural_damping: float | Mapping[str, float] | None = None,
    viscous: bool = True,
    at: Any = None,
    friction: str | None = None,
) -> FrequencyResponse:
    """Return the harmonic response of a model about a state; if none is given, its zero or its initial state.

    - `inputs`: names or wildcards of inputs, and Load, BaseMotion and DrivenMotion; if not given, all force elements'.
    - `outputs`: names or wildcards of any columns of a result; if not given, coordinates and speeds.
    - `frequencies`: in Hz.
    - `method`: "direct", or "modal" with the first `modes` modes (if not given, those up to 1.5 times the highest
      frequency) and, with `residual`, the static correction for the others.
    - `modal_damping`: ratio of critical damping of the modes of the whole system, one for all or one per mode.
    - `structural_damping`: loss factor of flexible bodies and of springs, one for all or by name.
    - `viscous`: whether the model's own dampers act.  Damping of other kinds is added to them.
    - `at`, `friction`: see liegeo.analysis.linearise.
    """
    f = _checked_frequencies(frequencies)
    if method not in METHODS:
        raise InputError(f"frequency_response: method is {method!r}, expected 'direct' or 'modal'.")
    if modes is not None and (isinstance(modes, bool) or not isinstance(modes, int) or modes < 0):
        raise InputError(f"frequency_response: modes is {modes!r}, expected a whole number, at least 0.")
    if modes is not None and method != MODAL:
        raise InputError(f"frequency_response: modes is {modes}, which the direct method has no use for.")
    plant = plant_of(model, state, inputs, outputs, at, friction)
    plant = _damped(plant, viscous, modal_damping, structural_damping)
    values = _modal(plant, f, modes, residual) if method == MODAL else _direct(plant, f)
    values *= np.stack([(2j * np.pi * f) ** power for power in plant.powers], axis=1).reshape(len(f), 1, -1)
    return FrequencyResponse(
        f,
        values,
        plant.inputs,
        plant.outputs,
        plant.input_units,
        plant.output_units,
        plant.linear.name,
        plant.linear.notes,
    )


def driven_model(
    model: Model | HasModel,
    state: State | None = None,
    inputs: Excitation | Iterable[Excitation] | None = None,
    outputs: str | Iterable[str] | None = None,
    *,
    modal_damping: float | Sequence[float] | None = None,
    viscous: bool = True,
    at: Any = None,
    friction: str | None = None,
) -> LinearModel:
    """Return the linear model whose inputs are loads and accelerations of supports too; see frequency_response.

    Where nothing depends on the place and speed of the support, they are no states, and the model is that of what the
    support carries.
    """
    plant = _damped(plant_of(model, state, inputs, outputs, at, friction), viscous, modal_damping, None)
    for name, power, column in zip(plant.inputs, plant.powers, plant.B.T, strict=True):
        if power:
            raise InputError(f"driven_model: '{name}' is given by another quantity, expected quantity='acceleration'.")
        if np.iscomplexobj(column) and np.abs(column.imag).max(initial=0.0) > 0.0:
            raise InputError(f"driven_model: '{name}' has a phase, expected a load of real numbers.")
    return dataclasses.replace(
        plant.linear,
        A=plant.A.real,
        B=plant.B.real,
        C=plant.C.real,
        D=plant.D.real,
        inputs=plant.inputs,
        outputs=plant.outputs,
        input_units=plant.input_units,
        output_units=plant.output_units,
        u0=np.zeros(len(plant.inputs)),
        y0=plant.linear.y0[: len(plant.outputs)],
    )


def _checked_frequencies(given: ArrayLike) -> Array:
    try:
        f = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        f = np.full(1, np.nan)
    if f.ndim != 1 or not f.size or not np.isfinite(f).all() or (f < 0.0).any():
        raise InputError(f"frequencies are {given!r}, expected finite numbers of Hz, at least 0.")
    return f


# ---- damping, and both methods


def _undamped(plant: Plant) -> tuple[Array, Array, Array]:
    """Return M, modes and their squared angular frequencies, slowest first, of coordinates that are not prescribed."""
    n, z = plant.linear.n_coordinates, plant.free
    M, A = plant.linear.mass[np.ix_(z, z)], plant.A.real
    T, by_z, by_w = A[np.ix_(z, z)], A[np.ix_(n + z, z)], A[np.ix_(n + z, n + z)]
    K = -M @ (by_z - by_w @ T)
    if not len(z):
        return M, np.zeros((0, 0)), np.zeros(0)
    squares, modes = sla.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
    return M, modes, squares


def _damped(
    plant: Plant,
    viscous: bool,
    modal: float | Sequence[float] | None,
    structural: float | Mapping[str, float] | None,
) -> Plant:
    """Return the plant closed by (2) and (3), and by the opposite of its dampers unless they act."""
    n, z = plant.linear.n_coordinates, plant.free
    gain = np.zeros((len(z), len(plant.A)))
    if modal is not None:
        ratios = np.asarray(modal, dtype=float)
        M, modes, squares = _undamped(plant)
        if squares.size and squares[0] < -_RIGID * np.abs(squares).max():
            raise InputError(
                f"modal_damping: the state is not stable: a mode has a stiffness of {squares[0]:.3g} per unit of its "
                "mass, expected none below 0.\n  Give a stable equilibrium (liegeo.analysis.equilibrium)."
            )
        squares = np.maximum(squares, 0.0)
        if ratios.ndim > 1 or not np.isfinite(ratios).all() or (ratios < 0.0).any() or ratios.size > len(squares) > 0:
            raise InputError(
                f"modal_damping is {modal!r}, expected a ratio of critical damping, at least 0, or one for each of the "
                f"{len(squares)} modes, slowest first."
            )
        each = np.zeros(len(squares))
        each[: ratios.size if ratios.ndim else None] = ratios
        weighted = M @ modes
        gain += weighted @ np.diag(2.0 * each * np.sqrt(squares)) @ weighted.T @ plant.A[z]
    if not viscous:
        M, A = plant.linear.mass[np.ix_(z, z)], plant.A
        of_rates = -M @ (A[np.ix_(z, z)] + A[np.ix_(n + z, n + z)])
        gain -= 0.5 * (of_rates + of_rates.T) @ plant.A[z]
    if gain.any():
        plant = plant.closed(np.arange(plant.model.nv), plant.to_speeds[:, z] @ gain)
    if structural is None:
        return plant
    factors = structural if isinstance(structural, Mapping) else dict.fromkeys(plant.springs, structural)
    for name, factor in factors.items():
        if name not in plant.springs:
            raise InputError(
                f"structural_damping: '{name}' is no flexible body, no joint with a spring, no SpringDamper and no "
                f"Bushing."
                f"{suggest(str(name), list(plant.springs))}"
            )
        if not (np.isfinite(factor) and factor >= 0.0):
            raise InputError(f"structural_damping: '{name}' has {factor!r}, expected a loss factor of at least 0.")
        speeds, K, rows = plant.springs[name]
        plant = plant.closed(speeds, 1j * factor * K @ rows)
    return plant


def _solved(A: Array, B: Array, f: float) -> Array:
    """Return (s − A)⁻¹ B at a frequency in Hz."""
    try:
        found = np.linalg.solve(2j * np.pi * f * np.eye(len(A)) - A, B) if len(A) else np.zeros(B.shape, complex)
    except np.linalg.LinAlgError:
        raise InputError(
            f"frequency_response: at {f:g} Hz the response is infinite, expected frequencies that are no poles.\n"
            "  What can move without a spring has no response at 0 Hz; neither has a support of given acceleration."
        ) from None
    return np.asarray(found)


def _direct(plant: Plant, frequencies: Array) -> Array:
    return np.array([plant.C @ _solved(plant.A, plant.B, f) + plant.D for f in frequencies], dtype=complex)


def _with_rates(plant: Plant) -> Plant:
    """Return the plant in z and their rates in the place of w, (5)."""
    n = plant.linear.n_coordinates
    T = plant.A[:n, :n]
    if not T.any():
        return plant
    S, back = np.eye(len(plant.A), dtype=T.dtype), np.eye(len(plant.A), dtype=T.dtype)
    S[n : 2 * n, :n], back[n : 2 * n, :n] = T, -T
    A = S @ plant.A @ back
    # what is left of T is round-off
    A[:n, :n] = 0.0
    return dataclasses.replace(plant, A=A, B=S @ plant.B, C=plant.C @ back, B_tau=S @ plant.B_tau)


def _modal(plant: Plant, frequencies: Array, modes: int | None, residual: bool) -> Array:
    """Return the response by (4)."""
    n, z, p, size = plant.linear.n_coordinates, plant.free, np.array(plant.driven, int), len(plant.A)
    w = n + z
    plant = _with_rates(plant)
    M, Phi, squares = _undamped(plant)
    reach = (2.0 * np.pi * _REACH * frequencies.max()) ** 2
    k = int((squares <= reach).sum()) if modes is None else modes
    rigid = int((squares <= _RIGID * np.abs(squares).max(initial=0.0)).sum())
    if not rigid <= k <= len(squares):
        raise InputError(
            f"frequency_response: modes is {modes}, expected at least the {rigid} that are rigid or unstable, at most "
            f"{len(squares)}."
        )
    kept, left = Phi[:, :k], Phi[:, k:]
    right, back = np.zeros((n, k + len(p))), np.zeros((k + len(p), n))
    right[z, :k], back[:k, z] = kept, kept.T @ M
    right[p, k:], back[k:, p] = np.eye(len(p)), np.eye(len(p))
    rest = np.eye(size - 2 * n)
    R, L = sla.block_diag(right, right, rest), sla.block_diag(back, back, rest)
    A, B = L @ plant.A @ R, L @ plant.B
    # what is not resisted by the modes themselves: accelerations of z by inputs, prescribed motions and χ
    others = np.setdiff1d(np.arange(size), [*z, *w])
    coupled = plant.A[np.ix_(w, others)]
    flexibility = left / squares[k:] @ left.T @ M
    by_force = plant.D_tau @ plant.to_speeds[:, z] @ M
    out = []
    for f in frequencies:
        x, s = R @ _solved(A, B, f), 2j * np.pi * f
        if residual:
            static = flexibility @ (plant.B[w] + coupled @ x[others])
            x[z] += static
            x[w] += s * static
        # what moves by a few shapes does not obey the equations of motion, from which C has accelerations: (6)
        lacking = s * x[w] - plant.A[w] @ x - plant.B[w]
        out.append(plant.C @ x + plant.D + by_force @ lacking)
    return np.array(out)


__all__ = [
    "BaseMotion",
    "DrivenMotion",
    "FrequencyResponse",
    "Load",
    "driven_model",
    "frequency_response",
]
