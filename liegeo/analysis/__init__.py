"""Modes of models; and the laboratory for integrators: problems with known answers, orders, work, precision, drift.

Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liegeo.analysis.convergence import drift, order_study, work_precision
    from liegeo.analysis.modes import Modes
    from liegeo.analysis.problems import ALL_CASES, Case
    from liegeo.analysis.statics import equilibrium

_SUBMODULES = ("convergence", "exact", "modes", "problems", "results", "statics")
_NAMES = {
    **dict.fromkeys(("order_study", "work_precision", "drift"), "liegeo.analysis.convergence"),
    "Modes": "liegeo.analysis.modes",
    "equilibrium": "liegeo.analysis.statics",
    **dict.fromkeys(("ALL_CASES", "Case"), "liegeo.analysis.problems"),
}

__all__ = ["ALL_CASES", "Case", "Modes", "drift", "equilibrium", "order_study", "work_precision"]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"liegeo.analysis.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'liegeo.analysis' has no attribute {name!r}")
