"""Numbers that remember how they were computed, and the straight-line programs that come of them.

A model file becomes arrays of numbers, which are short expressions of its parameters.  Where parameters are `Recorded`
numbers, each operation on them is noted, in its order, and what reaches the arrays is a program: one operation per
line, of two registers at most.  A kernel (machine/tuning.py) runs it with other values, without Python, and gives
the bits that loading the file with these values gives.

- A Recorded is no float.  What needs a float (LAPACK, a compiled kernel, an array of float64) asks for `float(x)`: it
  gets the present value, and all parameters in x become constants, with the place that asked as the reason.
- Nothing recorded is zero, equal to another number, or aligned with an axis: `==` is False and `bool` is True, so that
  a model that is compiled from recorded numbers leaves nothing out.
- A comparison takes the branch of the present values, and is noted as a guard: it must stay as it is.  `explain` says
  what is wrong where it does not.
- `floats` makes an array of float64, of which the recorder knows which places are recorded; `recorded_in` gives those
  back.

Without a recorder in this thread none of this is reached but one look at a context variable.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Operations: what a line of a program computes from the registers a and b.  CHOOSE takes a, if that was set (the
#: register behind it is not 0), or else b.  POWER has the exponent in b; SHARE is a/b, and 0 unless b > 0.  HALF_COSINE
#: and HALF_SINE are those of series.half_angle, which `lie` defines.
OPERATIONS = (
    *("ADD", "SUBTRACT", "MULTIPLY", "DIVIDE", "POWER", "MINIMUM", "MAXIMUM", "CHOOSE", "SHARE"),
    *("NEGATIVE", "ABSOLUTE", "SQRT", "SIN", "COS", "TAN", "EXP", "LOG", "HALF_COSINE", "HALF_SINE"),
)
ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MINIMUM, MAXIMUM, CHOOSE, SHARE = range(9)
NEGATIVE, ABSOLUTE, SQRT, SIN, COS, TAN, EXP, LOG, HALF_COSINE, HALF_SINE = range(9, 19)
#: Guards: a < b, a ≤ b.
BELOW, NOT_ABOVE = range(2)
# Lines that are no operations: a parameter, and a constant.
_PARAMETER, _CONSTANT = -1, -2

_OF_TWO: Mapping[int, Callable[[float, float], float]] = {
    ADD: operator.add,
    SUBTRACT: operator.sub,
    MULTIPLY: operator.mul,
    DIVIDE: operator.truediv,
    POWER: operator.pow,
    MINIMUM: min,
    MAXIMUM: max,
    CHOOSE: lambda a, b: b,
    SHARE: lambda a, b: a / b if b > 0.0 else 0.0,
}
_OF_ONE: dict[int, Callable[[float], float]] = {
    NEGATIVE: operator.neg,
    ABSOLUTE: abs,
    SQRT: math.sqrt,
    SIN: math.sin,
    COS: math.cos,
    TAN: math.tan,
    EXP: math.exp,
    LOG: math.log,
}


def define(kind: int, function: Callable[[float], float]) -> None:
    """Say what an operation on one number computes."""
    _OF_ONE[kind] = function


#: Why parameters become constants: of a flexible body, and of what a program cannot change.
MODES = "it passes through the modes of a flexible body"
# In whose name no parameter becomes a constant: these pass numbers on.
_PASSING = ("recorded.py", "checks.py", "units.py", "fields.py", "expressions.py", "group.py")


@dataclass
class _Guard:
    """A comparison that must stay as it is: its kind, its registers, and what is wrong otherwise."""

    kind: int
    a: int
    b: int
    #: A text in which {} is the value of the register `shown`.
    text: str = ""
    shown: int = 0


@dataclass
class OperationRecorder:
    """What is computed from parameters, by line: operation, operands, present value, and the parameters in it."""

    names: list[str] = field(default_factory=list)
    lines: list[tuple[int, int, int]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    #: By line, the parameters that it depends on, as bits.
    depends: list[int] = field(default_factory=list)
    guards: list[_Guard] = field(default_factory=list)
    #: By name, why a parameter is a constant.
    constants: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _guarded: set[tuple[int, int, int]] = field(default_factory=set)
    _noted: dict[int, tuple[Array, dict[int, Recorded]]] = field(default_factory=dict)
    #: Guards of which nobody has said what is wrong where they do not hold.
    _silent: list[_Guard] = field(default_factory=list)

    def parameter(self, name: str, value: float) -> Recorded:
        """Return a new parameter."""
        self.names.append(name)
        return Recorded(self, self._line(_PARAMETER, len(self.names) - 1, 0, float(value), 1 << (len(self.names) - 1)))

    def _line(self, kind: int, a: int, b: int, value: float, depends: int) -> int:
        self.lines.append((kind, a, b))
        self.values.append(value)
        self.depends.append(depends)
        return len(self.lines) - 1

    def number(self, x: Any) -> int:
        """Return the line of a number, recorded or not."""
        if isinstance(x, Recorded):
            return x.line
        key = (_CONSTANT, struct.pack("<d", float(x)))
        if key not in self._known:
            self._known[key] = self._line(_CONSTANT, 0, 0, float(x), 0)
        return self._known[key]

    def apply(self, kind: int, *operands: Any) -> Recorded:
        """Return what an operation gives; the same operation on the same operands is computed once."""
        lines = [self.number(x) for x in operands]
        key = (kind, *lines)
        if key not in self._known:
            values = [self.values[line] for line in lines]
            function: Callable[..., float] = _OF_TWO[kind] if len(values) == 2 else _OF_ONE[kind]
            depends = 0
            for line in lines:
                depends |= self.depends[line]
            self._known[key] = self._line(kind, lines[0], lines[-1], float(function(*values)), depends)
        return Recorded(self, self._known[key])

    def compare(self, a: Any, b: Any, strictly: bool) -> bool:
        """Return whether a < b (a ≤ b if not `strictly`) as it is, which then must stay so."""
        x, y = self.number(a), self.number(b)
        holds = self.values[x] < self.values[y] if strictly else self.values[x] <= self.values[y]
        # what does not hold is the other order
        first, second, kind = (x, y, strictly) if holds else (y, x, not strictly)
        key = (BELOW if kind else NOT_ABOVE, first, second)
        if key not in self._guarded:
            self._guarded.add(key)
            self.guards.append(_Guard(*key))
            self._silent.append(self.guards[-1])
        return holds

    def fix(self, line: int, why: str) -> float:
        """Make constants of the parameters in a number, and return its value."""
        for k, name in enumerate(self.names):
            if self.depends[line] >> k & 1:
                self.constants.setdefault(name, why)
        return self.values[line]

    def explain(self, said: Callable[[], str], shown: Any) -> None:
        """Say of the guards of a number that have no words yet what is wrong where they do not hold."""
        line = self.number(shown)
        about = {line, self._known.get((ABSOLUTE, line))}
        for guard in [each for each in self._silent if each.a in about or each.b in about]:
            guard.text, guard.shown = said(), line
            self._silent.remove(guard)

    def note(self, array: Array, places: dict[int, Recorded]) -> None:
        """Remember which places of an array are recorded, as long as the recorder lives."""
        self._noted[id(array)] = array, places

    def noted(self, array: Any) -> dict[int, Recorded]:
        """Return by place what is recorded in an array."""
        return self._noted.get(id(array), (None, {}))[1]


class Recorded:
    """A number of which a recorder knows how it was computed."""

    __slots__ = ("line", "recorder")

    def __init__(self, recorder: OperationRecorder, line: int) -> None:
        self.recorder, self.line = recorder, line

    @property
    def value(self) -> float:
        """Return its present value, for messages and decisions that are explained."""
        return self.recorder.values[self.line]

    def __repr__(self) -> str:
        return f"{self.value!r}"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    # ---- what makes a constant of it

    def __float__(self) -> float:
        return self.recorder.fix(self.line, _place())

    def __int__(self) -> int:
        return int(float(self))

    def __index__(self) -> int:
        return operator.index(float(self))  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(float(self))

    def is_integer(self) -> bool:
        return float(self).is_integer()

    # ---- what is recorded

    def _with(self, kind: int, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, Real):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        plain = None if is_recorded_number(other) else float(other)
        if plain is not None:
            if (kind == MULTIPLY and plain == 1.0) or (kind == ADD and plain == 0.0):
                return self
            if not swapped and ((kind == DIVIDE and plain == 1.0) or (kind == SUBTRACT and plain == 0.0)):
                return self
            if plain == 0.0 and (kind == MULTIPLY or (kind == DIVIDE and swapped)):
                return _OF_TWO[kind](plain, self.value)
        return self.recorder.apply(kind, a, b)

    def __add__(self, other: Any) -> Any:
        return self._with(ADD, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(ADD, other, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(SUBTRACT, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(SUBTRACT, other, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(MULTIPLY, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(MULTIPLY, other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(DIVIDE, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(DIVIDE, other, True)

    def __pow__(self, n: Any) -> Any:
        return self.recorder.apply(POWER, self, float(n))

    def __neg__(self) -> Recorded:
        return self.recorder.apply(NEGATIVE, self)

    def __pos__(self) -> Recorded:
        return self

    def __abs__(self) -> Recorded:
        return self.recorder.apply(ABSOLUTE, self)

    def sqrt(self) -> Recorded:
        return self.recorder.apply(SQRT, self)

    def sin(self) -> Recorded:
        return self.recorder.apply(SIN, self)

    def cos(self) -> Recorded:
        return self.recorder.apply(COS, self)

    def tan(self) -> Recorded:
        return self.recorder.apply(TAN, self)

    def tanh(self) -> Recorded:
        """By exponentials: where that is off by a bit, what uses it becomes a constant."""
        e = (2.0 * self).exp()
        return (e - 1.0) / (e + 1.0)

    def exp(self) -> Recorded:
        return self.recorder.apply(EXP, self)

    def log(self) -> Recorded:
        return self.recorder.apply(LOG, self)

    # ---- comparisons

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recorded) and other.line == self.line

    def __hash__(self) -> int:
        return hash(self.line)

    def __lt__(self, other: Any) -> bool:
        return self.recorder.compare(self, other, True)

    def __le__(self, other: Any) -> bool:
        return self.recorder.compare(self, other, False)

    def __gt__(self, other: Any) -> bool:
        return self.recorder.compare(other, self, True)

    def __ge__(self, other: Any) -> bool:
        return self.recorder.compare(other, self, False)


_PRESENT: ContextVar[OperationRecorder | None] = ContextVar("recorder", default=None)


@contextlib.contextmanager
def recording() -> Iterator[OperationRecorder]:
    """Within this, arrays remember what is recorded in them."""
    recorder = OperationRecorder()
    token = _PRESENT.set(recorder)
    try:
        yield recorder
    finally:
        _PRESENT.reset(token)


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
    """Within this, numbers are plain ones: for what depends on no number that is recorded."""
    token = _PRESENT.set(None)
    try:
        yield
    finally:
        _PRESENT.reset(token)


def _place() -> str:
    """Return who asks for a float: the innermost module of liegeo that does more than pass numbers on."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        path = frame.f_code.co_filename.replace("\\", "/")
        if "/flex/" in path:
            return MODES
        if "/liegeo/" in path and not path.endswith(_PASSING):
            return f"{path.rpartition('/liegeo/')[2]} needs its value ({frame.f_code.co_name})"
        frame = frame.f_back
    return "its value is needed outside of liegeo"


# ---- for those through whom numbers pass


def is_recording() -> bool:
    """Return whether there is a recorder."""
    return _PRESENT.get() is not None


def is_recorded_number(x: Any) -> bool:
    """Return whether a number is recorded."""
    return isinstance(x, Recorded)


def is_recorded(array: Any) -> bool:
    """Return whether an array of objects holds recorded numbers."""
    return array.dtype.kind == "O" and any(isinstance(x, Recorded) for x in array.flat)


def finite(x: Any) -> Any:
    """Return where numbers are finite: a number, or an array of them."""
    if isinstance(x, Recorded):
        return math.isfinite(x.value)
    if isinstance(x, np.ndarray) and x.dtype.kind == "O":
        return np.isfinite(values_of(x))
    return np.isfinite(x) if isinstance(x, np.ndarray) else math.isfinite(x)


def value_of(x: Any) -> float:
    """Return the present value of a number."""
    return x.value if isinstance(x, Recorded) else float(x)


def values_of(x: Any) -> Array:
    """Return the present values of numbers."""
    array = np.asarray(x)
    if array.dtype.kind != "O":
        return array.astype(np.float64)
    return np.array([value_of(each) for each in array.flat], dtype=np.float64).reshape(array.shape)


def lines_of(values: Sequence[Any]) -> bytes:
    """Return what tells recorded numbers with the same values from each other; nothing, if there are none."""
    lines = {k: x.line for k, x in enumerate(values) if isinstance(x, Recorded)}
    return repr(lines).encode() if lines else b""


def plain_or_recorded(values: Any) -> NDArray[Any]:
    """Return an array of float64, or of objects where some of the numbers are recorded."""
    if _PRESENT.get() is not None:
        array = np.array(values)
        if is_recorded(array):
            return array
    return np.array(values, dtype=np.float64)


def room(shape: Any, *given: Any) -> NDArray[Any]:
    """Return zeros with room for recorded numbers where some of those given are, or if none are given."""
    if _PRESENT.get() is not None and (not given or any(is_recorded(np.asarray(x)) for x in given)):
        out = np.empty(shape, dtype=object)
        out[...] = 0.0
        return out
    return np.zeros(shape)


def floats(values: Any) -> Array:
    """Return an array of float64 of one dimension; the recorder knows what is recorded in it."""
    recorder = _PRESENT.get()
    if recorder is None:
        return np.array(values, dtype=np.float64)
    array = np.array(values)
    out = values_of(array)
    found = {k: x for k, x in enumerate(array.flat) if isinstance(x, Recorded)} if array.dtype.kind == "O" else {}
    found = found or recorder.noted(values)
    if found:
        recorder.note(out, dict(found))
    return out


def recorded_in(array: Any) -> NDArray[Any]:
    """Return an array made by `floats` with what is recorded in it."""
    recorder = _PRESENT.get()
    found = recorder.noted(array) if recorder is not None else {}
    if not found:
        return np.asarray(array)
    out = array.astype(object)
    for place, x in found.items():
        out.reshape(-1)[place] = x
    return out


def joined(arrays: Sequence[Any]) -> Array:
    """Return arrays one after another, as `floats` does."""
    if _PRESENT.get() is None:
        return np.concatenate(arrays)
    return floats([x for array in arrays for x in recorded_in(array)])


def explain(shown: Any, said: Callable[[], str]) -> None:
    """Say what is wrong where comparisons of a number, or of its size, come out otherwise; {} is its value."""
    if isinstance(shown, Recorded):
        shown.recorder.explain(said, shown)


def smallest(numbers: Iterable[Any]) -> Any:
    """Return the smallest number: no guard, where some are recorded."""
    return _extreme(MINIMUM, min, list(numbers))


def largest(numbers: Iterable[Any]) -> Any:
    """Return the largest number: no guard, where some are recorded."""
    return _extreme(MAXIMUM, max, list(numbers))


def share(a: Any, b: Any) -> Any:
    """Return a/b, and 0 unless b > 0: no guard, where one is recorded."""
    recorder = next((x.recorder for x in (a, b) if isinstance(x, Recorded)), None)
    return _OF_TWO[SHARE](a, b) if recorder is None else recorder.apply(SHARE, a, b)


def _extreme(kind: int, usual: Callable[[list[Any]], Any], numbers: list[Any]) -> Any:
    recorder = next((x.recorder for x in numbers if isinstance(x, Recorded)), None)
    if recorder is None:
        return usual(numbers)
    found = numbers[0]
    for x in numbers[1:]:
        found = recorder.apply(kind, found, x)
    return found


def settled(value: Any, why: str) -> Any:
    """Return a value, or one that holds others, in which nothing is recorded: its parameters are constants, and why."""
    if _PRESENT.get() is None:
        return value
    if isinstance(value, Recorded):
        return value.recorder.fix(value.line, why)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return np.array([settled(x, why) for x in value.flat]).reshape(value.shape)
    if isinstance(value, list | tuple):
        return type(value)(settled(x, why) for x in value)
    return {key: settled(x, why) for key, x in value.items()} if isinstance(value, dict) else value


def chosen(value: Any, default: Any) -> Any:
    """Return a value that somebody set, or, where it is a parameter that may not be set, what it is otherwise."""
    if isinstance(value, Recorded) and isinstance(default, Recorded):
        return value.recorder.apply(CHOOSE, value, default)
    return value


def function(name: str, usual: Callable[[float], float], x: Any) -> Any:
    """Return a function of a number, which a recorded one has as a method of that name."""
    if not isinstance(x, Recorded):
        return usual(x)
    return abs(x) if name == "abs" else getattr(x, name)()


def root(x: Any) -> Any:
    """Return the square root of a number."""
    return function("sqrt", math.sqrt, x)


def length_of(vector: Any) -> Any:
    """Return the length of a vector."""
    if isinstance(vector, np.ndarray) and vector.dtype.kind == "O":
        return root(functools.reduce(operator.add, (x * x for x in vector)))
    return np.linalg.norm(vector)


# ---- programs


@dataclass(frozen=True)
class Straight:
    """A straight-line program.

    Registers are: for each parameter its value, and 1 if it was set; the constants; and what each line computes.
    `lines` are rows (operation, a, b), `guards` rows (kind, a, b, number shown), `outputs` by name of an array rows
    (place, register).
    """

    names: tuple[str, ...]
    registers: Array
    lines: list[tuple[int, int, int]]
    guards: list[tuple[int, int, int, int]]
    words: list[str]
    outputs: dict[Any, list[tuple[int, int]]]

    def run(self, values: Mapping[str, float]) -> tuple[str, dict[Any, dict[int, float]]]:
        """Return what is wrong with values of parameters, and by array and place what comes of them.

        It is the reference of the kernel that runs programs.
        """
        x = self.registers.tolist()
        for name, value in values.items():
            k = 2 * self.names.index(name)
            x[k], x[k + 1] = float(value), 1.0
        place = len(x) - len(self.lines)
        for k, (kind, a, b) in enumerate(self.lines):
            try:
                if kind == CHOOSE:
                    x[place + k] = x[a] if x[a + 1] else x[b]
                elif kind in _OF_TWO:
                    x[place + k] = _OF_TWO[kind](x[a], x[b])
                else:
                    x[place + k] = _OF_ONE[kind](x[a])
            except (ArithmeticError, ValueError):
                x[place + k] = math.nan
        for (kind, a, b, _), said in zip(self.guards, self.words, strict=True):
            if not (x[a] < x[b] if kind == BELOW else x[a] <= x[b]):
                return said or "guard", {}
        return "", {key: {place: x[register] for place, register in rows} for key, rows in self.outputs.items()}


def straight(recorder: OperationRecorder, wanted: Mapping[Any, Mapping[int, Recorded]], fallback: str) -> Straight:
    """Return the program of what is wanted, by array and place; parameters that became constants are left out.

    `fallback` says what is wrong where a guard without words does not hold.
    """
    alive = sum(1 << k for k, name in enumerate(recorder.names) if name not in recorder.constants)
    names = [name for name in recorder.names if name not in recorder.constants]
    known: dict[int, int] = {}
    order: list[int] = []
    guards = [each for each in recorder.guards if (recorder.depends[each.a] | recorder.depends[each.b]) & alive]
    outputs = {
        key: {k: x.line for k, x in places.items() if recorder.depends[x.line] & alive}
        for key, places in wanted.items()
    }
    used = {line for rows in outputs.values() for line in rows.values()}
    used |= {line for guard in guards for line in (guard.a, guard.b, *([guard.shown] if guard.text else []))}
    for line in range(len(recorder.lines) - 1, -1, -1):
        kind, a, b = recorder.lines[line]
        if line in used and kind >= 0 and recorder.depends[line] & alive:
            used |= {a, b}
            order.append(line)
    order.reverse()
    registers: list[float] = []
    for line, (kind, a, _) in enumerate(recorder.lines):
        if kind == _PARAMETER and recorder.names[a] in names:
            known[line] = len(registers)
            registers += [recorder.values[line], 0.0]
    for line in sorted(used):
        if line not in known and (recorder.lines[line][0] == _CONSTANT or not recorder.depends[line] & alive):
            known[line] = len(registers)
            registers.append(recorder.values[line])
    lines = []
    for line in order:
        kind, a, b = recorder.lines[line]
        if kind == CHOOSE and not recorder.depends[a] & alive:
            # it cannot be set any more
            known[line] = known[b]
            continue
        lines.append((kind, known[a], known[b]))
        known[line] = len(registers) + len(lines) - 1
    return Straight(
        tuple(names),
        np.array([*registers, *[math.nan] * len(lines)]),
        lines,
        [(guard.kind, known[guard.a], known[guard.b], known[guard.shown] if guard.text else 0) for guard in guards],
        [guard.text or fallback for guard in guards],
        {key: [(k, known[line]) for k, line in rows.items()] for key, rows in outputs.items() if rows},
    )


Real.register(Recorded)
