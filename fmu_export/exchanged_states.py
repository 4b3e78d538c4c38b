"""The variables of a native FMU that belong to model exchange: its continuous states, their derivatives, and event
indicators.

They stand behind all others, so that the variables of the FMU with Python inside have the same references, and are not
in saved states, where the machine's own numbers hold them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fmu_export.machine import Machine
from fmu_export.variables import INDICATOR, LOCAL, RATE, STATE, ExportedVariable, structured
from liegeo.model.model import Model


def exchanged(machine: Machine) -> list[ExportedVariable]:
    """Return the states q, v and x (liegeo/machine/exchange.py), their derivatives in this order, and indicators.

    An FMU with the exact law of dry friction has none: it is for co-simulation alone.
    """
    model = machine.model
    if machine.drive.system.sticking:
        # integrators of others pass the speed zero, at which friction with the exact law sticks
        return []
    first = {"q": 0, "v": model.nq, "x": model.nq + model.nv}
    found = {
        first[column.source[0]] + column.place: (name, column)
        for name, column in model.names.table.items()
        if column.source in (("q",), ("v",), ("x",))
    }
    nominal = _nominals(model, machine.drive.system.sizes)
    states, rates = [], []
    for k in range(model.nq + model.nv + model.nx):
        name, column = found[k]
        full = f"state.{structured(name)}"
        states.append(
            ExportedVariable(
                full,
                STATE,
                (k,),
                LOCAL,
                "continuous",
                unit=column.unit,
                nominal=float(nominal[k]),
                description=f"{column.kind}, a continuous state",
            )
        )
        unit = per_second(column.unit)
        rates.append(
            ExportedVariable(
                f"der({full})", RATE, (k,), LOCAL, "continuous", unit=unit, description=f"derivative of {full}"
            )
        )
    indicators = [
        ExportedVariable(
            f"event[{k}].{structured(name)}",
            INDICATOR,
            (k,),
            LOCAL,
            "continuous",
            description=f"indicator of event {name}",
        )
        for k, name in enumerate(machine._controllers.events.names)
    ]
    return [*states, *rates, *indicators]


def per_second(unit: str) -> str:
    """Return the unit of a derivative by time; nothing, if the unit has no such form here."""
    known = {"": "1/s", "rad": "rad/s", "rad/s": "rad/s²", "m": "m/s", "m/s": "m/s²", "N": "N/s", "N·m": "N·m/s"}
    return known.get(unit, "")


def _nominals(model: Model, sizes: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return what is large in each state, > 0: `System.sizes`, and 1 for the numbers of quaternions."""
    n = model.nv + model.nx
    of_speeds = np.ones(n) if sizes is None else np.asarray(sizes, dtype=np.float64)[:n]
    of_speeds = np.where((of_speeds > 0.0) & np.isfinite(of_speeds), of_speeds, 1.0)
    of_coordinates = np.ones(model.nq)
    places, speeds = (model.group.q, model.group.v) if model.group is not None else ({}, {})
    for owner, q in places.items():
        v = speeds[owner]
        # a quaternion has four numbers, up to 1, for three speeds; behind it there are as many numbers as speeds
        turned = q.stop - q.start - (v.stop - v.start)
        first = 3 if turned else 0
        of_coordinates[q.start + first + turned : q.stop] = of_speeds[v.start + first : v.stop]
    return np.concatenate([of_coordinates, of_speeds])
