"""What is to blame where no step could be made: rows of constraints, stiff forces, or what else is special there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from liegeo._memory import address_of
from liegeo.integrate import System
from liegeo.integrate.calls import all_kernels
from liegeo.kernels import layout as at
from liegeo.machine import blame
from liegeo.model.failure_words import loop_of_row, message
from liegeo.model.model import Model

Array = NDArray[np.float64]


def diagnose(system: System, model: Model, y: Array, start: Array) -> str:
    """Return what is to blame at y, where no step could be made, in words.

    These are constraints that depend on each other at y and not at the start; else the stiffest forces; else the
    constraint that pushes most; else what accelerates most (machine/blame.py).
    """
    S = all_kernels(system)
    work, scratch = np.full(system.work, np.nan), np.zeros(blame.blame_size(model.ints, len(S)))
    work[model.row_slice(at.LAMBDA)] = 0.0
    y, start = (np.ascontiguousarray(each, dtype=np.float64) for each in (y, start))
    address = np.int64(address_of(scratch))
    arguments = S, system.floats, y, start, loop_of_row(model), work, scratch, address
    return message(model, blame.add_culprit, *arguments)
