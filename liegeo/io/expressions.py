"""Arithmetic with parameters, `$(arm.length / 2 - 20 mm)`, by the grammar of liegeo/model/grammar.py.

A name is a parameter, `pi`, `t` (the time, in laws and inputs), or else a unit.  In a law of a force names are its
variables too: `formula` makes one that kernels run.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.jets import FUNCTIONS as JET_FUNCTIONS
from liegeo.io.units import NONE, Dimension, Quantity
from liegeo.kernels import layout as at
from liegeo.model import programs
from liegeo.model.formulas import Formula
from liegeo.model.grammar import HIGHEST
from liegeo.model.grammar import NAME as NAME
from liegeo.model.grammar import TIME as TIME
from liegeo.model.grammar import Expression as Expression
from liegeo.model.grammar import is_expression as is_expression
from liegeo.model.grammar import parse as parse
from liegeo.model.programs import Program
from liegeo.recorded import finite, is_recorded_number, largest, smallest
from liegeo.recorded import function as recorded_function

_SMALL = 10_000
RESERVED = (TIME, "pi")


def evaluate(expression: Expression, lookup: Callable[[str], Quantity | None]) -> Quantity:
    """Its value; `lookup` gives parameters by name, None where there is none."""
    try:
        found = _value(expression.tree, lookup)
        known = finite(found.value)
    except OverflowError:
        known = False
    if not known:
        raise InputError("is larger than any number")
    return found


def _value(tree: Any, lookup: Callable[[str], Quantity | None]) -> Quantity:
    head = tree[0]
    if head == "number":
        if not tree[2]:
            return Quantity(float(tree[1]) if re.search(r"[.eE]", tree[1]) else int(tree[1]))
        factor, powers, kind = units.unit(tree[2])
        return Quantity(units.scaled(tree[1], factor), powers, kind=kind, radians=units.radians(tree[2]))
    if head == "name":
        return _named(tree[1], lookup)
    if head == "negative":
        inner = _value(tree[1], lookup)
        return replace(inner, value=-inner.value)
    if head == "call":
        return _call(tree[1], [_value(argument, lookup) for argument in tree[2]])
    a, b = _value(tree[1], lookup), _value(tree[2], lookup)
    return _operate(head, a, b)


def _named(name: str, lookup: Callable[[str], Quantity | None]) -> Quantity:
    found = lookup(name)
    if found is not None:
        return found
    if name == "pi":
        return Quantity(math.pi, NONE)
    if name in units.BARE:
        factor, powers, kind = units.unit(name)
        return Quantity(factor, powers, kind=kind, radians=units.radians(name))
    raise KeyError(name)


def _operate(by: str, a: Quantity, b: Quantity) -> Quantity:
    if by in "+-":
        same = _same(a, b, {"+": "adds", "-": "subtracts"}[by])
        return replace(same, value=a.value + b.value if by == "+" else a.value - b.value, kind=a.kind or b.kind)
    if by == "^":
        return _power(a, b)
    unknown, loose = a.open or b.open, a.loose or b.loose
    sign = 1 if by == "*" else -1
    powers = None
    if a.powers is not None or b.powers is not None:
        powers = tuple(p + sign * q for p, q in zip(a.powers or NONE, b.powers or NONE, strict=True))
    if by == "/" and b.value == 0:
        raise InputError("divides by zero")
    value = a.value * b.value if by == "*" else a.value / b.value
    return Quantity(value, powers, unknown, loose=loose, radians=a.radians + sign * b.radians)


def _same(a: Quantity, b: Quantity, what: str) -> Quantity:
    """What two that are added or compared have in common: plain numbers take the other's units."""
    if b.powers is not None and not b.open and not a.fits(b.powers, b.loose):
        raise InputError(f"{what} {_said(a)} and {_said(b)}")
    # of two, the one that says more
    said = b if a.powers is None or a.open or (a.loose and b.powers is not None and not b.open) else a
    return Quantity(0, said.powers, a.open and b.open, loose=said.loose, radians=a.radians or b.radians)


def _said(a: Quantity) -> str:
    return units.named(a.powers if a.powers is not None else NONE)


def _exponent(b: Quantity) -> int:
    n = float(b.value)
    if math.isnan(n):
        raise InputError("has a power that changes with t, expected a whole number; write exp(…)")
    if b.powers not in (None, NONE) or n != int(n) or abs(n) > HIGHEST:
        raise InputError(f"has the power {n:g}, expected a whole number from -{HIGHEST} to {HIGHEST}")
    return int(n)


def _power(a: Quantity, b: Quantity) -> Quantity:
    n = _exponent(b)
    if a.value == 0 and n < 0:
        raise InputError("divides by zero")
    powers = None if a.powers is None else tuple(p * n for p in a.powers)
    # whole numbers stay whole while they are small: without a bound they would grow without one
    base = a.value if is_recorded_number(a.value) or abs(a.value) <= _SMALL else float(a.value)
    return Quantity(base**n, powers, a.open, loose=a.loose, radians=n * a.radians)


def _plain(name: str, function: Callable[[float], float]) -> Callable[[list[Quantity]], Quantity]:
    """A function of a number (or angle) that gives a number."""

    def call(arguments: list[Quantity]) -> Quantity:
        (x,) = arguments
        if not x.fits(NONE):
            raise InputError(f"takes {name} of {_said(x)}, expected a number or an angle")
        # of the time it is as plain as the number before it: 6 * sin(t) is any SI value, 6 m * sin(t) a length
        value = recorded_function(name, lambda number: function(float(number)), x.value)
        return Quantity(value, None if x.loose else NONE, x.open)

    return call


def _sqrt(arguments: list[Quantity]) -> Quantity:
    (x,) = arguments
    powers = None if x.powers is None else tuple(p / 2 for p in x.powers)
    value = recorded_function("sqrt", math.sqrt, x.value)
    return Quantity(value, powers, x.open, loose=x.loose, radians=x.radians / 2)


def _abs(arguments: list[Quantity]) -> Quantity:
    (x,) = arguments
    return replace(x, value=abs(x.value))


def _choose(name: str, function: Callable[..., Any]) -> Callable[[list[Quantity]], Quantity]:
    def call(arguments: list[Quantity]) -> Quantity:
        same = arguments[0]
        for other in arguments[1:]:
            same = _same(same, other, "compares")
        return replace(same, value=function(x.value for x in arguments), kind=arguments[0].kind)

    return call


def _if(arguments: list[Quantity]) -> Quantity:
    condition, positive, other = arguments
    same = _same(positive, other, "chooses between")
    # an unknown condition, as of the time, leaves open which one it is
    chosen = positive.value if condition.value > 0.0 else other.value
    return replace(same, value=math.nan if condition.value != condition.value else chosen, kind=positive.kind)


FUNCTIONS: Mapping[str, Callable[[list[Quantity]], Quantity]] = {
    "sqrt": _sqrt,
    "abs": _abs,
    "sin": _plain("sin", math.sin),
    "cos": _plain("cos", math.cos),
    "tan": _plain("tan", math.tan),
    "exp": _plain("exp", math.exp),
    "log": _plain("log", math.log),
    "min": _choose("min", smallest),
    "max": _choose("max", largest),
    "tanh": _plain("tanh", math.tanh),
    "if": _if,
}


def _call(name: str, arguments: list[Quantity]) -> Quantity:
    many, wanted = name in ("min", "max"), 3 if name == "if" else 1
    if not many and len(arguments) != wanted:
        raise InputError(f"gives {name} {len(arguments)} numbers, expected {'three' if wanted == 3 else 'one'}")
    try:
        return FUNCTIONS[name](arguments)
    except InputError:
        raise
    except ValueError:
        raise InputError(f"takes {name} of {arguments[0].value:g}, where it has no value") from None


# ---- formulas of laws


def formula(expression: Expression, lookup: Callable[[str], Quantity | None], variables: Collection[str]) -> Formula:
    """Return the formula of an expression with these variables; all other names are parameters, pi or units.

    Units are checked as far as they are known: a variable may have any.
    """
    unknown = Quantity(math.nan, None, loose=True)
    _value(expression.tree, lambda name: unknown if name in variables else lookup(name))

    def leaf(tree: Any) -> Any:
        if tree[0] == "name" and tree[1] in variables:
            return tree
        return "value", _value(tree, lookup).value

    return Formula.of(expression.tree, leaf)


# ---- functions of time

Moving = Callable[[Any], Any]


@dataclass(frozen=True)
class OfTime:
    """A function of the time in seconds, or of a jet of it, and the same as a program for the kernels.

    The function is made of others that have names, so that a model can be pickled.
    """

    function: Moving
    program: Program

    def __call__(self, t: Any) -> Any:
        return self.function(t)


def function_of_time(expression: Expression, lookup: Callable[[str], Quantity | None], wanted: Dimension) -> OfTime:
    """A function that takes the time in seconds, or a jet of it, and gives a number in SI, or a jet.

    Its units are checked once, without a time: t is no number, and may stand for one or for a time.
    """
    time = Quantity(math.nan, None, loose=True)
    try:
        _value(expression.tree, lambda name: time if name == TIME else lookup(name)).to(wanted)
    except OverflowError:
        raise InputError(f"is '{expression.text}', which is larger than any number") from None
    except InputError as error:
        raise InputError(f"is '{expression.text}', which {error}") from None
    return _moving(expression.tree, lookup)


def _moving(tree: Any, lookup: Callable[[str], Quantity | None]) -> OfTime:
    head = tree[0]
    if head == "name" and tree[1] == TIME:
        return OfTime(_time, programs.TIME)
    if head in ("number", "name"):
        return constant(_value(tree, lookup).value)
    if head == "call":
        arguments = [_moving(argument, lookup) for argument in tree[2]]
        function = functools.partial(_called, tree[1], [argument.function for argument in arguments])
        return _made(function, programs.FUNCTIONS[tree[1]], arguments)
    a = _moving(tree[1], lookup)
    if head == "negative":
        return _made(functools.partial(_negative, a.function), at.OP_NEGATIVE, [a])
    if head == "^":
        n = _exponent(_value(tree[2], lookup))
        return _made(functools.partial(_raised, a.function, n), at.OP_POWER, [a], n)
    b = _moving(tree[2], lookup)
    function = functools.partial(_combined, _OPERATORS[head], a.function, b.function)
    return _made(function, programs.OPERATORS[head], [a, b])


def _made(function: Moving, kind: int, operands: Sequence[OfTime], n: int = 0) -> OfTime:
    """The function with the program of an operation on its operands; n is an exponent."""
    first, *others = (operand.program for operand in operands)
    if first.is_constant and all(program.is_constant for program in others):
        return OfTime(function, programs.constant(_folded(function)))
    if kind == at.OP_IF:
        program = programs.chosen(first, *others)
    elif kind in (at.OP_MIN, at.OP_MAX):
        program = functools.reduce(functools.partial(programs.combined, kind), others, first)
    elif others:
        program = programs.combined(kind, first, *others)
    else:
        program = programs.changed(kind, first, n)
    return OfTime(function, program)


def _folded(function: Moving) -> float:
    """The value of a function that does not depend on the time; not a number, if it has none."""
    try:
        found = function(0.0)
        return found if is_recorded_number(found) else float(found)
    except (ArithmeticError, ValueError):
        return math.nan


def constant(value: float) -> OfTime:
    """The function of time that always has the same value."""
    return OfTime(functools.partial(_constant, value), programs.constant(value))


def _constant(value: float, t: Any) -> float:
    return value


def _time(t: Any) -> Any:
    return t


def _negative(a: Moving, t: Any) -> Any:
    return -a(t)


def _called(name: str, arguments: Sequence[Moving], t: Any) -> Any:
    return JET_FUNCTIONS[name](*(argument(t) for argument in arguments))


def _raised(a: Moving, power: Any, t: Any) -> Any:
    return a(t) ** power


def _combined(operate: Callable[[Any, Any], Any], a: Moving, b: Moving, t: Any) -> Any:
    return operate(a(t), b(t))


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
