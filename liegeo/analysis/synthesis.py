"""Component-mode synthesis: a structure of a carrier and appendages from modes of its components [M01, chapter V].

A tree of flexible bodies is such a synthesis.  Each component is an FE model with M and K and has component modes Φ
(`liegeo.flex.reduce`); joints tell where components are attached, and which axes are free.  With x the displacements of
component k in space, V₀ the small motion of its frame and η its modal coordinates,

    x_k = R_k V₀ₖ + Φ_k η_k,      V₀ₖ = Ad(X_kN) (Ad(X_NP) V₀ₚ + Π_N η_p) + S_k β_k,                               (1)

p being the component that carries it, N the node where it is attached, R the rigid motions, Π_N the rows of Φ_p at N
and S β the motion of the joint.  With (1), x_k = T_k z for the coordinates z = (η, β) of all components, and the mass
and stiffness of the structure are

    M = Σ T_kᵀ M_k T_k,      K = Σ T_kᵀ K_k T_k,                                                                   (2)

which is model D of [M01, chapter V], for chains of any length and axes that are free.  `liegeo.analysis.modes` solves
(2).  A locked axis has no β; a turned one changes X_NP and S in (1), and no Φ; identical components share one Φ
(`liegeo.flex.ReductionStore`).

Appendages load their carrier.  As a rigid body on the node N, with β_f its free axes that have no stiffness, the
appendage has the kinetic energy

    ½ [V; β_f]ᵀ [A  B; Bᵀ  C] [V; β_f],      and, as nothing acts on a free axis,      L = A − B C⁻¹ Bᵀ             (3)

is the 6 × 6 inertia that the carrier feels.  Axes that are locked, prescribed or have a spring count as rigid, as modes
do.  L is what `loaded-interface` modes ask for [M01, (II-4)], and the criterion for local deformation compares the
first frequency of the carrier that is loaded with all L with that of each appendage, whose base is held
(liegeo/flex/modes.py (4)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo._lazy import late
from liegeo.appendages import carried, sum_of_loads
from liegeo.errors import InputError
from liegeo.flex.modes import Component, LocalDeformation
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State
from liegeo.model.standin import HasModel, as_model, as_state

if TYPE_CHECKING:
    import scipy.linalg as sla
else:
    sla = late("scipy.linalg")

Array = NDArray[np.float64]

# Eigenvalues of an appendage below this share of the largest are motions of free axes.
_RIGID = 1e-9


@dataclass(frozen=True)
class Appendage:
    """What a carrier carries by one joint: all bodies outboard of it."""

    joint: str
    node: str  # of the carrier
    bodies: tuple[str, ...]
    inertia: Array  # (3): 6 × 6, rotation first, about the node and along the carrier's axes
    frequency: float  # Hz, its lowest with the base held; infinite if it is rigid

    def __repr__(self) -> str:
        lowest = f"{self.frequency:.4g} Hz" if np.isfinite(self.frequency) else "rigid"
        mass = float(np.trace(self.inertia[3:, 3:]) / 3.0)
        return f"<appendage '{self.joint}' at node '{self.node}': {', '.join(self.bodies)}; {mass:.4g} kg, {lowest}>"


def appendages(model: Model | HasModel, carrier: str, state: State | None = None) -> tuple[Appendage, ...]:
    """Return what a body carries, one for each joint on it, at a state (by default the model's zero position).

    Joints count as they are in the model: `model.lock("drive")` locks an axis.
    """
    state, model = as_state(model, state), as_model(model, "appendages")
    state = model.state() if state is None else state
    if carrier not in model.bodies:
        raise InputError(f"appendages: '{carrier}' is not a body of the model.{suggest(carrier, model.bodies)}")
    M, K = dynamics.mass_matrix(model, state), dynamics.inverse_derivatives(model, state).q
    return tuple(
        Appendage(
            each.joint,
            each.node,
            each.bodies,
            each.inertia,
            _lowest(M[np.ix_(each.moving, each.moving)], K[np.ix_(each.moving, each.moving)]),
        )
        for each in carried(model, state, carrier, K)
    )


def appendage_loads(model: Model | HasModel, carrier: str, state: State | None = None) -> dict[str, Array]:
    """Return by node of the carrier the 6 × 6 inertia (3) of all that is attached there, as `loads` for `reduce`.

    It does not depend on the modes of the carrier, so any model of it will do, a rigid one with frames for nodes too.
    """
    return sum_of_loads(appendages(model, carrier, state))


def local_deformation(
    model: Model | HasModel, carrier: str, component: Component, state: State | None = None
) -> dict[str, LocalDeformation]:
    """Return by joint how much the carrier deforms locally where that appendage is attached [M01, VII-3-4].

    `component` is the carrier's FE model with its boundary, `liegeo.flex.Component(fe, fixed=…)`.  Any component that
    carries others can be the carrier.
    """
    found = appendages(model, carrier, state)
    loaded, unloaded = component.first_frequency(sum_of_loads(found)), component.first_frequency()
    return {each.joint: LocalDeformation(loaded, each.frequency, unloaded) for each in found}


def _lowest(M: Array, K: Array) -> float:
    """Return the lowest frequency in Hz that is not that of a free axis; infinite if there is none."""
    if not len(M):
        return np.inf
    values = sla.eigh(0.5 * (K + K.T), M, eigvals_only=True)
    elastic = values[values > _RIGID * max(float(np.abs(values).max()), 0.0)]
    return float(np.sqrt(elastic[0]) / (2.0 * np.pi)) if len(elastic) else np.inf
