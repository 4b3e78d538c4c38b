"""Co-simulation of any number of FMUs: `load_system("system.yaml").simulate(10.0, 1e-3)`.

    system = load_system("loop.yaml")       # or an .ssp file
    result = system.simulate(10.0, 1e-3, algorithm="gauss-seidel")
    result["plant.x"], result.plot("plant.*"), result.to_csv("loop.csv")

docs/cosim.md describes the file, the algorithms and what can be relied on.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "Connection": "fmu_export.cosim.system",
    "CosimResult": "fmu_export.cosim.results",
    "Crossing": "fmu_export.cosim.system",
    "Experiment": "fmu_export.cosim.system",
    "Linear": "fmu_export.cosim.quantities",
    "System": "fmu_export.cosim.system",
    "Unit": "fmu_export.cosim.system",
    "load_system": "fmu_export.cosim.files",
    "save_system": "fmu_export.cosim.files",
}

__all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'fmu_export.cosim' has no attribute {name!r}")
