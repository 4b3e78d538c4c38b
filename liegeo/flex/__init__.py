"""Where flexible bodies come from: finite-element models, component modes, the integrals of their kinetic energy."""

from __future__ import annotations

from liegeo.flex.fe import FEModel
from liegeo.flex.inertia import Damping, Invariants, flexible_body, invariants
from liegeo.flex.modes import MODE_SETS, Component, Reduction, local_deformation, reduce

__all__ = [
    "MODE_SETS",
    "Component",
    "Damping",
    "FEModel",
    "Invariants",
    "Reduction",
    "flexible_body",
    "invariants",
    "local_deformation",
    "reduce",
]
