"""What tells the model of an FMU from others, whatever kind of FMU it is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from fmu_export.machine import Machine
from fmu_export.variables import FILE, ExportedVariable


def identity_of(machine: Machine, variables: Sequence[ExportedVariable]) -> str:
    """Return what tells the model of an FMU from others: states pass between FMUs of the same model."""
    listed = [(variable.name, variable.role, str(variable.key), variable.factor) for variable in variables]
    digest = hashlib.sha256(repr([each for each in listed if each[1] != FILE]).encode())
    for array in (machine.model.ints, machine.model.floats, machine.drive.data[0], machine._arrays["PLAN"]):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
