"""Models as FMI co-simulation units.

    import fmu_export
    fmu_export.build("models/flexible_arm.yaml", "arm.fmu")
    fmu_export.validate("arm.fmu")
    table = fmu_export.run("arm.fmu", t_end=2.0)

This package sits above `liegeo` and may import all of it; nothing in `liegeo` but the command line imports it.
Everything loads when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

# Public name -> the module that holds it.
_NAMES = {
    "build": "fmu_export.package",
    "info": "fmu_export.inspection",
    "run": "fmu_export.inspection",
    "validate": "fmu_export.validation",
}

__all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'fmu_export' has no attribute {name!r}")
