"""Lie-group simulation of rigid and flexible multibody systems.

    import liegeo as lg
    model = lg.Tree(bodies, joints).compile()
    a = lg.forward_dynamics(model, model.state(q={"shoulder": 0.3}), tau={"shoulder": 2.0})

Everything loads when it is first used, so that `import liegeo` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

from liegeo._version import __version__

_SUBMODULES = (
    "analysis",
    "dynamics",
    "errors",
    "flex",
    "integrate",
    "io",
    "lie",
    "model",
    "operators",
    "results",
    "view",
)

# Public name -> the module that holds it.
_NAMES = {
    **dict.fromkeys(("forward_dynamics", "inverse_dynamics", "mass_matrix"), "liegeo.dynamics"),
    **dict.fromkeys(("Body", "FlexibleBody", "Tree"), "liegeo.model"),
    "assemble": "liegeo.assembly",
    **dict.fromkeys(("load", "save", "Mechanism"), "liegeo.io"),
    "simulate": "liegeo.simulation",
    **dict.fromkeys(("Result", "plot_runs", "read_table"), "liegeo.results"),
}

__all__ = ["__version__", *_SUBMODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"liegeo.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'liegeo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES, *_NAMES])
