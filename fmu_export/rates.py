"""The slope of what can only be computed anew, such as outputs as functions of parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import LiegeoError

Array = NDArray[np.float64]


def slope(f: Callable[[float], Array], size: float) -> Array:
    """df/de at 0 from changes of e up to 2 `size`; where f is not defined on both sides, from one."""
    try:
        f1, b1, f2, b2 = (f(k * size) for k in (1.0, -1.0, 2.0, -2.0))
        return (8.0 * (f1 - b1) - (f2 - b2)) / (12.0 * size)
    except LiegeoError:
        middle = f(0.0)
        for side in (size, -size):
            try:
                return (4.0 * f(side) - f(2.0 * side) - 3.0 * middle) / (2.0 * side)
            except LiegeoError as error:
                last = error
        raise last from None
