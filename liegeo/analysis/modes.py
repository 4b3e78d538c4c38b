"""Small vibrations of a model about a state: frequencies, damping, and what moves.

Near a state (q, v) of a tree, with deviations ε along the group and ν of the speeds,

    ε̇ = ν,    ν̇ = A_q ε + A_v ν,                                                                    (1)

A_q and A_v being derivatives of the accelerations (dynamics.forward_derivatives).  Loops allow ε = N z only, N being an
orthonormal basis of what their Jacobian leaves free; then z̈ = NᵀA_q N z + NᵀA_v N ż.  Eigenvalues λ come in pairs: the
natural frequency is |λ|/2π, the damping ratio −Re λ/|λ|.  (1) is exact at an equilibrium, and about a steady motion if
all its joints commute, as of a rotor; elsewhere it is what the state looks like when frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo._lazy import late
from liegeo.analysis.linear import with_friction
from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state

if TYPE_CHECKING:
    import scipy.linalg as sla
else:
    sla = late("scipy.linalg")

Array = NDArray[Any]

# Eigenvalues below this share of the largest are rigid motions, as far as rounding can tell.
_RIGID = 1e-7
# How far the constraints' Jacobian may be from full rank.
_RANK = 1e-9
# Larger accelerations than this are said: the state is no equilibrium.
_STILL = 1e-6


@dataclass(frozen=True, repr=False)
class Modes:
    """Modes of a model, slowest first: eigenvalues (k), shapes (nv × k), each of unit kinetic energy.

    Of a pair of complex eigenvalues only the one with Im λ > 0 is here.  `acceleration` is the largest at the state
    itself; an equilibrium has none.
    """

    model: Model
    eigenvalues: Array
    shapes: Array
    # nv × k: of the kinetic energy, what stands in the row of each coordinate
    shares: Array
    acceleration: float

    @property
    def frequencies(self) -> Array:
        """Natural frequencies in Hz."""
        return np.abs(self.eigenvalues) / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Ratios of critical damping; 1 and more does not oscillate, less than 0 grows; 0 for rigid motions."""
        size = np.abs(self.eigenvalues)
        return np.where(size > 0.0, -self.eigenvalues.real / np.where(size > 0.0, size, 1.0), 0.0)

    def mostly(self, i: int) -> str:
        """The joint, or the mode of a body, that has the largest share of the kinetic energy of mode i."""
        return _coordinates(self.model)[int(np.argmax(self.shares[:, i]))]

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def __repr__(self) -> str:
        span = f", {self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} Hz" if len(self) else ""
        return f"<{len(self)} modes of '{self.model.tree.name}'{span}>"

    def _repr_html_(self) -> str:
        rows = [
            (i, f"{frequency:.5g}" if frequency else "rigid", f"{100 * ratio:.3g}", self.mostly(i))
            for i, (frequency, ratio) in enumerate(zip(self.frequencies, self.damping, strict=True))
        ]
        head = ("mode", "frequency (Hz)", "damping (%)", "most of it in")
        moving = f"; no equilibrium, accelerations to {self.acceleration:.3g}" if self.acceleration > _STILL else ""
        return notebook.table(repr(self).strip("<>") + moving, head, rows)


def modes(
    model: Model | HasModel, state: State | None = None, inputs: Any = None, *, friction: str | None = None
) -> Modes:
    """Return the modes of a model about a state; if none is given, its zero position or a mechanism's initial state.

    `friction` says what becomes of Coulomb friction of joints that stand still: see liegeo.analysis.linearise.
    """
    state, model = as_state(model, state), as_model(model, "modes")
    state = model.state() if state is None else state
    model, _ = with_friction("modes", model, state, friction)
    if np.any(state.v) and not commutes(model):
        what = "loops" if model.rows else f"joint '{_turning(model)[0]}'"
        raise InputError(
            f"modes: the state moves, and {model!r} has {what}: expected speeds of zero.\n"
            "  About a motion, only trees of joints that commute have modes."
        )
    derivatives = dynamics.forward_derivatives(model, state, inputs=inputs)
    free = _free(model, state)
    n = free.shape[1]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [free.T @ derivatives.q @ free, free.T @ derivatives.v @ free]])
    values, vectors = np.linalg.eig(A) if n else (np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex))
    chosen = _one_of_each(values)
    shapes = free @ vectors[:n, chosen]
    shares = (shapes.conj() * (dynamics.mass_matrix(model, state) @ shapes)).real
    energy = shares.sum(axis=0)
    a = dynamics.forward_dynamics(model, state, inputs=inputs)
    largest = float(np.abs(a).max(initial=0.0))
    return Modes(model, values[chosen], shapes / np.sqrt(energy), shares / energy, largest)


def commutes(model: Model) -> bool:
    """Whether a model has modes about a motion too: a tree without joints whose turns do not commute."""
    return not model.rows and not _turning(model)


def _turning(model: Model) -> list[str]:
    return [joint.name for joint in model.tree.all_joints if joint.composed]


def _free(model: Model, state: State) -> Array:
    """An orthonormal basis of what loops and locks leave free."""
    held = [*(np.eye(model.nv)[model.locked]), *dynamics.constraint_jacobian(model, state)]
    return sla.null_space(np.array(held), rcond=_RANK) if held else np.eye(model.nv)


def _one_of_each(values: Array) -> NDArray[np.int64]:
    """Indices, slowest first: one of each complex pair, one of each pair of zeros, and all others."""
    size = np.abs(values)
    rigid = size <= _RIGID * size.max(initial=0.0)
    values[rigid] = 0.0
    zeros = np.flatnonzero(rigid)
    others = np.flatnonzero(~rigid & (values.imag >= 0.0))
    kept = np.concatenate([zeros[: (len(zeros) + 1) // 2], others])
    return kept[np.argsort(np.abs(values[kept]), kind="stable")]


def _coordinates(model: Model) -> list[str]:
    """A name for every speed."""
    out = [""] * model.nv
    for name, place in (model.group.v if model.group is not None else {}).items():
        size = place.stop - place.start
        for k in range(size):
            out[place.start + k] = name if size == 1 else f"{name}[{k + 1}]"
    return out
