"""Co-simulation of any number of FMUs: `load_system("system.yaml").simulate(10.0, 1e-3)`.

    system = load_system("loop.yaml")       # or an .ssp file
    result = system.simulate(10.0, 1e-3, algorithm="gauss-seidel")
    result["plant.x"], result.plot("plant.*"), result.to_csv("loop.csv")

docs/cosim.md describes the file, the algorithms and what can be relied on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from liegeo._lazy import attach

if TYPE_CHECKING:
    from fmu_export.cosim.cosim_result import CosimResult as CosimResult
    from fmu_export.cosim.measures import Linear as Linear
    from fmu_export.cosim.system import FMU as FMU
    from fmu_export.cosim.system import Connection as Connection
    from fmu_export.cosim.system import CosimExperiment as CosimExperiment
    from fmu_export.cosim.system import CosimSystem as CosimSystem
    from fmu_export.cosim.system import Crossing as Crossing
    from fmu_export.cosim.system_files import load_system as load_system
    from fmu_export.cosim.system_files import save_system as save_system
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "fmu_export.cosim.system_files": ("load_system", "save_system"),
            "fmu_export.cosim.measures": ("Linear",),
            "fmu_export.cosim.cosim_result": ("CosimResult",),
            "fmu_export.cosim.system": ("Connection", "Crossing", "CosimExperiment", "CosimSystem", "FMU"),
        },
    )
