"""What changes in time, as a file says it: laws of motions and inputs of experiments.

A signal is a number, a list with one for each component, an expression of the time (`$(5 * sin(2 * pi * t))`), samples
(`time`, `value`), a table in a CSV file (`file`, `time`, `value`), or `pieces`, one after another.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Tag

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.expressions import Expression, OfTime, constant, function_of_time
from liegeo.io.fields import (
    NAME,
    POSE_MAPPING,
    TEXT,
    Form,
    Key,
    array,
    choice,
    is_pose,
    list_of,
    made,
    mapping,
    number,
    read_number,
    show,
    union,
)
from liegeo.io.jets import Jet, as_jet
from liegeo.io.problems import WrongError
from liegeo.io.units import Dimension, Quantity
from liegeo.model import programs
from liegeo.model.checks import LARGEST, suggest
from liegeo.model.programs import Program
from liegeo.recorded import plain_or_recorded, settled

LINEAR, CUBIC = "linear", "cubic"
_INTERPOLATION = choice(LINEAR, CUBIC)


def _anything(value: Any) -> Any:
    """Numbers, expressions and lists of them: what they should be is known when the joint is."""
    if isinstance(value, bool) or value is None:
        raise InputError(f"is {show(value)}, expected a number, a list, an expression of t, or samples")
    return value


_VALUE = made(_anything, {"anyOf": [{"type": ["number", "string", "array"]}, POSE_MAPPING]})


Samples = mapping(
    "Samples",
    "Values at times; held before and after.",
    time=Key(array(units.TIME, None), "rising times"),
    value=Key(_VALUE, "one a time, or a list a time"),
    interpolation=Key(_INTERPOLATION, "linear, or cubic: a spline", None),
)


Table = mapping(
    "Table",
    "Columns of a CSV file with a header, in SI or in the given unit.",
    file=Key(TEXT, "a CSV file in the folder of the model"),
    time=Key(NAME, "the column with the times, in seconds", "time"),
    value=Key(Any, "the column, or a list of columns"),
    unit=Key(TEXT, "of the values, if not SI", None),
    interpolation=Key(_INTERPOLATION, "linear, or cubic: a spline", None),
)


Piece = mapping(
    "Piece",
    "A part of a signal.",
    until=Key(number(units.TIME), "when it ends; the last piece does not", None),
    value=Key(_VALUE, "a number, a list, or an expression of t"),
)


Pieces = mapping(
    "Pieces",
    "Signals one after another, all with the same t.",
    pieces=Key(list_of(Piece), "in the order of time"),
)


def _which(value: Any) -> str:
    if isinstance(value, dict) and not is_pose(value):
        return "<table>" if "file" in value else "<pieces>" if "pieces" in value else "<samples>"
    return "<value>"


def _tagged() -> Any:
    choices = {"<value>": _VALUE, "<samples>": Samples, "<table>": Table, "<pieces>": Pieces}
    tagged = tuple(Annotated[form, Tag(tag)] for tag, form in choices.items())
    return Annotated[union(tagged), Discriminator(_which)]


SIGNAL = _tagged()

_SAMPLES = "it is in samples, which are made into pieces or splines"

Lookup = Callable[[str], Quantity | None]


@dataclass(frozen=True)
class Reading:
    """What a signal needs to become one that `simulate` takes: parameters, files, and what its components are.

    `law` asks for derivatives: samples become splines, functions give value, rate and acceleration.  `pose` reads poses
    as coordinates.
    """

    lookup: Lookup
    file: Callable[[str], Path]
    wanted: Sequence[Dimension]
    law: bool = False
    pose: Callable[[Any], Any] | None = None

    def __call__(self, signal: Any) -> Any:
        """A number, an array, a pair of times and values, a spline, or a function of time."""
        if isinstance(signal, Samples):
            values = self._rows(signal.value, len(signal.time))
            return self._sampled(signal.time, values, signal.interpolation)
        if isinstance(signal, Table):
            return self._sampled(*self._columns(signal), signal.interpolation)
        if isinstance(signal, Pieces):
            return self._piecewise(signal.pieces)
        if is_pose(signal) and self.pose is not None:
            return self.pose(signal)
        return self._value(signal)

    def _value(self, value: Any) -> Any:
        entries = value if isinstance(value, list) else [value]
        if len(entries) != len(self.wanted):
            raise InputError(f"is {show(value)} with {len(entries)} entries, expected {len(self.wanted)}")
        if not any(isinstance(x, Expression) for x in entries):
            numbers = [read_number(x, [d]) for x, d in zip(entries, self.wanted, strict=True)]
            return plain_or_recorded(numbers) if isinstance(value, list) else numbers[0]
        parts = [self._function(x, d) for x, d in zip(entries, self.wanted, strict=True)]
        return Signal(parts, self.law)

    def _function(self, value: Any, wanted: Dimension) -> OfTime:
        if isinstance(value, Expression):
            return function_of_time(value, self.lookup, wanted)
        return constant(read_number(value, [wanted]))

    def _piecewise(self, pieces: Sequence[Form]) -> Any:
        if not pieces:
            raise InputError("has no pieces, expected at least one")
        ends = settled([piece.until for piece in pieces[:-1]], "it is a time at which a signal jumps")
        if any(end is None for end in ends) or sorted(set(ends)) != ends or pieces[-1].until is not None:
            raise InputError("expected an `until` for each piece but the last, in rising order")
        parts = []
        for k in range(len(self.wanted)):
            values = [_component(piece.value, k, len(self.wanted)) for piece in pieces]
            functions = [self._function(value, self.wanted[k]) for value in values]
            program = programs.switched(ends, [each.program for each in functions])
            parts.append(OfTime(functools.partial(_switched, ends, functions), program))
        return Signal(parts, self.law, tuple(ends))

    def _rows(self, value: Any, n: int) -> NDArray[np.float64]:
        if not isinstance(value, list) or len(value) != n:
            raise InputError(f"has {len(value) if isinstance(value, list) else 'no list of'} values for {n} times")
        rows = [x if isinstance(x, list) else [x] for x in value]
        wrong = next((x for x in rows if len(x) != len(self.wanted)), None)
        if wrong is not None:
            raise InputError(f"has the values {show(wrong)} at one time, expected {len(self.wanted)}")
        return plain_or_recorded([[read_number(x, [d]) for x, d in zip(row, self.wanted, strict=True)] for row in rows])

    def _columns(self, table: Form) -> tuple[Any, NDArray[np.float64]]:
        try:
            path = self.file(table.file)
        except InputError as error:
            raise WrongError(str(error), "file") from None
        names = table.value if isinstance(table.value, list) else [table.value]
        if len(names) != len(self.wanted):
            raise InputError(f"names {len(names)} columns, expected {len(self.wanted)}")
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = list(csv.reader(line for line in file if not line.startswith("#")))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise WrongError(f"is {show(table.file)}, which is not a CSV file in UTF-8: {error}", "file") from None
        header = [name.strip() for name in rows[0]] if rows else []
        columns = []
        for name in (table.time, *names):
            if name not in header:
                raise InputError(
                    f"names the column '{name}', which is not in '{table.file}'.{suggest(str(name), header)}"
                )
            columns.append(header.index(name))
        try:
            numbers = np.array([[float(row[k]) for k in columns] for row in rows[1:] if row])
        except (ValueError, IndexError):
            raise InputError(f"names '{table.file}', in which not every row has numbers in these columns") from None
        if table.unit is not None:
            one = units.named_unit(table.unit)
            for wanted in self.wanted:
                one.to(wanted)
            numbers[:, 1:] *= one.value
        return numbers[:, 0], numbers[:, 1:]

    def _sampled(self, times: Any, values: NDArray[np.float64], interpolation: str | None) -> Any:
        times = np.asarray(settled(times, _SAMPLES), dtype=np.float64)
        values = settled(values, _SAMPLES)
        rising = len(times) >= 2 and np.isfinite(times).all() and (np.diff(times) > 0.0).all()
        if not rising or not np.isfinite(values).all():
            raise InputError("has times that do not rise, or fewer than two, or values that are not finite")
        largest = max(np.abs(times).max(), np.abs(values).max(initial=0.0))
        if largest > LARGEST:
            raise InputError(f"has the number {largest:g}, expected numbers below {LARGEST:g}")
        if self.law and interpolation == LINEAR:
            raise InputError(
                "is a law with linear samples, which have no accelerations; leave interpolation out, or say cubic"
            )
        columns = values[:, 0] if len(self.wanted) == 1 else values
        if interpolation != CUBIC:
            return times, columns
        from scipy.interpolate import CubicSpline

        return CubicSpline(times, columns)


def _component(value: Any, k: int, n: int) -> Any:
    entries = value if isinstance(value, list) else [value]
    if len(entries) != n:
        raise InputError(f"has a piece {show(value)} with {len(entries)} entries, expected {n}")
    return entries[k]


# These have names, with what they are made of bound to them, so that a model can be pickled.


def _switched(ends: Sequence[float], functions: Sequence[Callable[[Any], Any]], t: Any) -> Any:
    now = t.x if isinstance(t, Jet) else t
    return functions[sum(now >= end for end in ends)](t)


@dataclass(frozen=True)
class Signal:
    """A function of time, of one part for each component; as a law, with rates and accelerations.

    `breaks` are the times at which it may jump; `simulate` ends steps there, and runs `programs` in place of it.
    """

    parts: Sequence[OfTime]
    law: bool = False
    breaks: tuple[float, ...] = ()

    @property
    def programs(self) -> tuple[Program, ...]:
        """The parts as kernels run them."""
        return tuple(part.program for part in self.parts)

    def __call__(self, t: float) -> Any:
        if not self.law:
            values = [_finite(part, t) for part in self.parts]
            return values[0] if len(values) == 1 else np.array(values)
        jets = [as_jet(_finite(part, Jet(t, 1.0))) for part in self.parts]
        three = [[getattr(jet, name) for jet in jets] for name in ("x", "d", "dd")]
        return [row[0] for row in three] if len(jets) == 1 else three


def _finite(part: Callable[[Any], Any], t: Any) -> Any:
    """A value, or an error that says when there is none."""
    try:
        value = part(t)
        if all(math.isfinite(x) for x in ((value.x, value.d, value.dd) if isinstance(value, Jet) else (value,))):
            return value
    except (ArithmeticError, ValueError):
        pass
    raise programs.no_value(t.x if isinstance(t, Jet) else t)
