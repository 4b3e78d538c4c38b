"""What people hand to `build` and `run`: numbers in SI or in a variable's unit, or text with a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo.errors import InputError
from liegeo.io.fields import read_number
from liegeo.io.units import TIME

if TYPE_CHECKING:
    from fmu_export.cosim.fmu_file import CosimVariable, Value

Seconds = float | str


def seconds(who: str, given: Seconds | None) -> float | None:
    """A time; `who` names it in the message."""
    if given is None:
        return None
    try:
        return read_number(_plain(given), [TIME])
    except InputError as error:
        raise InputError(f"{who} {error}.") from None


def value(who: str, variable: CosimVariable, given: Any) -> Value:
    """What a variable takes; `who` names it in the message."""
    from fmu_export.cosim.system import value_of

    try:
        return value_of(variable, _plain(given))
    except InputError as error:
        raise InputError(f"{who} {error}.") from None


def _plain(given: Any) -> Any:
    """NumPy's numbers as Python's."""
    return given.item() if isinstance(given, np.generic | np.ndarray) and np.ndim(given) == 0 else given
