"""Models as FMUs: FMI 2.0 and 3.0, co-simulation and model exchange, with Python inside or without.

    import fmu_export
    fmu_export.build("models/flexible_arm.yaml", "arm.fmu")
    fmu_export.validate("arm.fmu")
    table = fmu_export.run("arm.fmu", t_end=2.0)

This package sits above `liegeo` and may import all of it; in `liegeo` only the command line imports it, and `simulate`
where a controller is an FMU.
Everything loads when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from liegeo._lazy import attach

if TYPE_CHECKING:
    from fmu_export.inspection import info as info
    from fmu_export.inspection import run as run
    from fmu_export.pacing import realtime as realtime
    from fmu_export.package import build as build
    from fmu_export.package import constants_of as constants_of
    from fmu_export.sampled_fmu import controller as controller
    from fmu_export.validation import validate as validate
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "fmu_export.inspection": ("info", "run"),
            "fmu_export.package": ("build", "constants_of"),
            "fmu_export.pacing": ("realtime",),
            "fmu_export.sampled_fmu": ("controller",),
            "fmu_export.validation": ("validate",),
        },
    )
