"""What a study keeps of each run: columns of its result, or numbers that are made of them.

An output is a function of the Result, or text: the name of a column, which keeps all its samples, or a measure of one,

    "max(tip.position.z)"     "rms(hinge.rate)"     "settling_time(hinge.angle, 0.02)"

Measures are of the samples y_i at the times t_i, with the trapezoidal rule where they are integrals over the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.model.checks import suggest
from liegeo.model.names import Names
from liegeo.results import Result

Array = NDArray[np.float64]
Output = str | Callable[[Result], Any]


def _mean(t: Array, y: Array) -> float:
    span = float(t[-1] - t[0])
    return float(np.trapezoid(y, t) / span) if span > 0.0 else float(y[0])


def _settling_time(t: Array, y: Array, band: float = 0.02) -> float:
    """Return the time after which y stays within `band` times the whole change, at its last value."""
    outside = np.flatnonzero(np.abs(y - y[-1]) > band * np.abs(y - y[-1]).max())
    return float(t[outside[-1] + 1] - t[0]) if len(outside) else 0.0


# By name: a function of times and samples, and of further numbers, of which there may be so many.
MEASURES: Mapping[str, tuple[Callable[..., float], int]] = {
    "max": (lambda t, y: float(y.max()), 0),
    "min": (lambda t, y: float(y.min()), 0),
    "max_abs": (lambda t, y: float(np.abs(y).max()), 0),
    "range": (lambda t, y: float(y.max() - y.min()), 0),
    "initial": (lambda t, y: float(y[0]), 0),
    "final": (lambda t, y: float(y[-1]), 0),
    "mean": (_mean, 0),
    "rms": (lambda t, y: float(np.sqrt(_mean(t, y * y))), 0),
    "time_of_max": (lambda t, y: float(t[np.argmax(y)]), 0),
    "settling_time": (_settling_time, 1),
}


_OF_TIME = ("time_of_max", "settling_time")


class StudyOutput:
    """One output of a study: `of(result)` gives a number, or all samples of a column."""

    def __init__(self, name: str, given: Output) -> None:
        self.name, self.given = name, given
        self._numbers: tuple[float, ...] = ()
        self.kind = ""
        if callable(given):
            return
        if not isinstance(given, str) or not given.strip():
            raise InputError(
                f"study: output '{name}' is {given!r}, expected a column, as 'max(tip.position.z)', or a function."
            )
        call = re.fullmatch(r"\s*(\w+)\s*\(\s*([^(),]+?)\s*((?:,[^(),]*)*)\)\s*", given)
        self.column = given.strip()
        if call is None:
            if "(" in given:
                raise InputError(
                    f"study: output '{name}' is '{given}', expected a measure of a column, as 'max(tip.position.z)'."
                )
            return
        self.kind, self.column = call[1], call[2]
        if self.kind not in MEASURES:
            raise InputError(
                f"study: output '{name}': '{self.kind}' is no measure.{suggest(self.kind, list(MEASURES))}\n"
                f"  There are {', '.join(MEASURES)}; of anything else write a function of the result."
            )
        texts = [text.strip() for text in call[3].split(",")[1:]]
        if len(texts) > MEASURES[self.kind][1]:
            takes = "one further number" if MEASURES[self.kind][1] else "no further number"
            raise InputError(f"study: output '{name}' is '{given}', but {self.kind} takes {takes}.")
        try:
            self._numbers = tuple(map(float, texts))
        except ValueError:
            raise InputError(f"study: output '{name}' is '{given}', expected a number behind the column.") from None

    @property
    def is_series(self) -> bool:
        """Whether it is known to keep all samples."""
        return isinstance(self.given, str) and not self.kind

    @property
    def identity(self) -> str:
        """Return what tells it from other outputs."""
        code = getattr(self.given, "__code__", None)
        if code is not None:
            return f"{self.name}: {code.co_name} {code.co_code.hex()} {code.co_consts!r} {code.co_names!r}"
        return f"{self.name}: {self.given if isinstance(self.given, str) else type(self.given).__qualname__}"

    def of(self, result: Result) -> float | Array:
        """Return the number, or the samples, of one run."""
        if isinstance(self.given, str):
            y = result[self.column]
            if y.ndim != 1:
                names = ", ".join(f"{self.column}.{axis}" for axis in "xyz"[: y.shape[1]])
                raise InputError(
                    f"study: output '{self.name}': '{self.column}' has {y.shape[1]} components; name one, as {names}."
                )
            return MEASURES[self.kind][0](result.t, y, *self._numbers) if self.kind else y
        value = np.asarray(self.given(result))
        if value.dtype.kind not in "biuf" or value.ndim > 1:
            raise InputError(
                f"study: output '{self.name}': the function returned {value!r}, expected a number or a list of numbers."
            )
        return float(value) if value.ndim == 0 else value.astype(np.float64)

    def unit_of(self, names: Names) -> str:
        """Return the unit of measure, from the columns of a model."""
        return "s" if self.kind in _OF_TIME else names.column(self.column).unit


def read_outputs(outputs: Any) -> tuple[StudyOutput, ...]:
    """Return the outputs of a study, from a mapping of names to outputs, or a list, whose outputs name themselves."""
    if isinstance(outputs, str) or callable(outputs):
        outputs = [outputs]
    if not isinstance(outputs, Mapping):
        outputs = {
            each if isinstance(each, str) else getattr(each, "__name__", "output"): each for each in outputs or ()
        }
    if not outputs:
        raise InputError(
            "study: there are no outputs, expected at least one, as outputs={'top': 'max(tip.position.z)'}."
        )
    return tuple(StudyOutput(str(name), given) for name, given in outputs.items())
