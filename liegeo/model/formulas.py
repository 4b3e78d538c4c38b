"""Formulas of laws that a person writes: functions of named variables, which kernels run as programs.

A formula is a tree of the grammar (grammar.py) whose leaves are ("value", x) and ("name", variable); everything that
does not depend on variables is folded into its numbers.  `Formula.read` takes text as Python has it, in SI; model files
make formulas with units and parameters (liegeo/io/expressions.py).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from liegeo.errors import InputError
from liegeo.kernels import layout as at
from liegeo.model import programs
from liegeo.model.checks import suggest
from liegeo.model.grammar import HIGHEST, parse
from liegeo.model.programs import Program, Step
from liegeo.recorded import Recorded, finite, function, is_recorded_number, largest, smallest

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula: its tree, and the names of its variables."""

    tree: Any
    names: frozenset[str]

    @classmethod
    def read(cls, given: Any, known: Sequence[str]) -> Formula:
        """Return the formula of a text, a number or a formula; InputError if it has other names than those known."""
        if isinstance(given, Formula):
            found = given
        elif isinstance(given, str):
            text = given[2:-1] if given.startswith("$(") and given.endswith(")") else given
            found = cls.of(parse(f"$({text})").tree, _own)
        elif isinstance(given, bool) or not isinstance(given, int | float | Recorded) or not finite(given):
            raise InputError(f"is {given!r}, expected a formula such as '-20*s - 0.5*ds', or a finite number")
        else:
            found = cls(("value", given), frozenset())
        strange = sorted(found.names - set(known))
        if strange:
            raise InputError(
                f"uses '{strange[0]}', which is none of its variables {', '.join(known)}.{suggest(strange[0], known)}"
            )
        return found

    @classmethod
    def of(cls, tree: Any, leaf: Callable[[Any], Any]) -> Formula:
        """Return the formula of a tree of the grammar; `leaf` makes ("value", x) or ("name", n) of a number or name."""
        names: set[str] = set()
        return cls(_folded(tree, leaf, names), frozenset(names))

    def program(self, variables: Mapping[str, int]) -> Program:
        """Return its program, for variables that have these numbers."""
        return _program(self.tree, variables)

    def __str__(self) -> str:
        """Return it as a text, which `read` takes; numbers to the bit."""
        return _text(self.tree)


def _own(tree: Any) -> Any:
    """Return a leaf of a text from Python: numbers are in SI, and names are variables."""
    if tree[0] == "number":
        if tree[2]:
            raise InputError(f"has the number '{tree[1]} {tree[2]}', expected numbers in SI, without units")
        return "value", float(tree[1])
    return ("value", math.pi) if tree[1] == "pi" else tree


def _folded(tree: Any, leaf: Callable[[Any], Any], names: set[str]) -> Any:
    head = tree[0]
    if head in ("number", "name"):
        found = leaf(tree)
        if found[0] == "name":
            names.add(found[1])
        return found
    if head == "call":
        found = "call", tree[1], tuple(_folded(each, leaf, names) for each in tree[2])
        wanted = {"if": 3, "min": None, "max": None}.get(tree[1], 1)
        if wanted is not None and len(found[2]) != wanted:
            raise InputError(f"gives {tree[1]} {len(found[2])} numbers, expected {wanted}")
        operands = found[2]
    elif head == "^":
        found = "^", _folded(tree[1], leaf, names), _exponent(_folded(tree[2], leaf, names))
        operands = found[1:2]
    else:
        operands = tuple(_folded(each, leaf, names) for each in tree[1:])
        found = (head, *operands)
    # recorded numbers are folded too: a program then has the same steps and constants whoever reads the file
    if all(each[0] == "value" for each in operands):
        return "value", _value(found)
    return found


def _exponent(tree: Any) -> int:
    value = tree[1] if tree[0] == "value" and not is_recorded_number(tree[1]) else math.nan
    if value != value or value != int(value) or abs(value) > HIGHEST:
        raise InputError(f"has a power that is no whole number from -{HIGHEST} to {HIGHEST}; write exp(…) or sqrt(…)")
    return int(value)


def _value(tree: Any) -> float:
    """Return the value of an operation on numbers."""
    try:
        head = tree[0]
        if head == "negative":
            value = -tree[1][1]
        elif head == "^":
            value = _number(tree[1]) ** tree[2]
        elif head == "call":
            value = _called(tree[1], [_number(each) for each in tree[2]])
        else:
            value = _OPERATORS[head](_number(tree[1]), _number(tree[2]))
        known = finite(value)
    except (ArithmeticError, ValueError):
        known = False
    if not known:
        raise InputError(f"has the part '{_text(tree)}', which has no finite value")
    return value


def _number(tree: Any) -> Any:
    """Return the number of a leaf, recorded or not."""
    return tree[1] if is_recorded_number(tree[1]) else float(tree[1])


def _called(name: str, numbers: list[Any]) -> Any:
    if name == "if":
        return numbers[1] if numbers[0] > 0.0 else numbers[2]
    if name in ("min", "max"):
        return {"min": smallest, "max": largest}[name](numbers)
    return abs(numbers[0]) if name == "abs" else function(name, getattr(math, name), numbers[0])


def _program(tree: Any, variables: Mapping[str, int]) -> Program:
    head = tree[0]
    if head == "value":
        return programs.constant(tree[1])
    if head == "name":
        return Program((Step(at.OP_VARIABLE, 0, variables[tree[1]]),))
    if head == "negative":
        return programs.changed(at.OP_NEGATIVE, _program(tree[1], variables))
    if head == "^":
        return programs.changed(at.OP_POWER, _program(tree[1], variables), tree[2])
    if head == "call":
        kind, operands = programs.FUNCTIONS[tree[1]], [_program(each, variables) for each in tree[2]]
        if kind == at.OP_IF:
            return programs.chosen(*operands)
        if kind in (at.OP_MIN, at.OP_MAX):
            return functools.reduce(functools.partial(programs.combined, kind), operands)
        (operand,) = operands
        return programs.changed(kind, operand)
    return programs.combined(programs.OPERATORS[head], *(_program(each, variables) for each in tree[1:]))


# How strongly operators bind: a looser operand needs brackets.
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
_BINDS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}


def _text(tree: Any, at_least: int = _SUM) -> str:
    """Return a tree as text, in brackets where it binds less than its surroundings need."""
    head = tree[0]
    if head == "value":
        text, binds = repr(float(tree[1])), _SIGN if tree[1] < 0 else _ATOM
    elif head == "name":
        text, binds = str(tree[1]), _ATOM
    elif head == "call":
        text, binds = f"{tree[1]}({', '.join(map(_text, tree[2]))})", _ATOM
    elif head == "negative":
        text, binds = f"-{_text(tree[1], _POWER)}", _SIGN
    elif head == "^":
        text, binds = f"{_text(tree[1], _ATOM)}^{tree[2]}", _POWER
    else:
        binds = _BINDS[head]
        text = f"{_text(tree[1], binds)} {head} {_text(tree[2], binds + 1)}"
    return text if binds >= at_least else f"({text})"
