"""Lie-group integrators: methods that know a group and a vector field, and nothing of mechanics."""

from __future__ import annotations

from liegeo.integrate.adaptive import (
    ALL_ADAPTIVE,
    AdaptiveMethod,
    AdaptiveStepper,
    AdaptiveTrajectory,
    BogackiShampine32,
    DormandPrince54,
    Event,
    solve_adaptive,
)
from liegeo.integrate.methods import (
    ALL_INTEGRATORS,
    CF2,
    CF3,
    CF4,
    CF5,
    CG3,
    CG4,
    RKMK2,
    RKMK3,
    RKMK4,
    RKMK5,
    LieEuler,
    Method,
    Stepper,
    solve,
)
from liegeo.integrate.problems import Dynamics, Problem, System, Trajectory

__all__ = [
    "ALL_ADAPTIVE",
    "ALL_INTEGRATORS",
    "CF2",
    "CF3",
    "CF4",
    "CF5",
    "CG3",
    "CG4",
    "RKMK2",
    "RKMK3",
    "RKMK4",
    "RKMK5",
    "AdaptiveMethod",
    "AdaptiveStepper",
    "AdaptiveTrajectory",
    "BogackiShampine32",
    "DormandPrince54",
    "Dynamics",
    "Event",
    "LieEuler",
    "Method",
    "Problem",
    "Stepper",
    "System",
    "Trajectory",
    "solve",
    "solve_adaptive",
]
