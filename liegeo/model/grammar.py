"""The grammar of expressions, `$(arm.length / 2 - 20 mm)`: a language of its own, never Python's.

    sum     = product (("+" | "-") product)*
    product = sign (("*" | "/") sign)*
    sign    = ("+" | "-") sign | power
    power   = atom (("^" | "**") sign)?
    atom    = number (unit (("^" | "**") "-"? digit)?)? | name | function "(" sum ("," sum)* ")" | "(" sum ")"

What names mean is known to whoever evaluates: files of models (liegeo/io/expressions.py), or a law of one's own
(formulas.py).  Text, depth and powers are bounded, so that no expression takes long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from liegeo.errors import InputError
from liegeo.model import programs
from liegeo.model.checks import suggest

_LONGEST, _DEEPEST = 400, 30
#: The largest whole number that may be a power.
HIGHEST = 12
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = re.compile(
    rf"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|({NAME}(?:\.{NAME})*|[°%])|(\*\*|[-+*/^(),]))"
)
TIME = "t"


@dataclass(frozen=True)
class Expression:
    """A parsed `$(…)`: what it says, the names it uses, and its tree."""

    text: str
    names: frozenset[str]
    tree: Any = field(repr=False, compare=False)

    @property
    def of_time(self) -> bool:
        return TIME in self.names


def is_expression(text: str) -> bool:
    return text.startswith("$(") and text.endswith(")")


def parse(text: str) -> Expression:
    """The expression inside `$(…)`."""
    inner = text[2:-1]
    if len(inner) > _LONGEST:
        raise InputError(f"has {len(inner)} characters, expected at most {_LONGEST}")
    parser = _Parser(inner)
    tree = parser.whole()
    return Expression(text, frozenset(parser.names), tree)


class _Parser:
    """Trees of tuples: ("number", x, unit), ("name", n), ("call", f, arguments), (operator, a, b)."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self.at = self.depth = 0
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise InputError(f"has '{text[place:].strip()[0]}' where a number, a name or an operator was expected")
            kind = "number" if found[1] else "name" if found[2] else "sign"
            self.tokens.append((kind, found[found.lastindex or 0]))
            place = found.end()

    def whole(self) -> Any:
        tree = self._sum()
        if self.at < len(self.tokens):
            raise InputError(f"has '{self.tokens[self.at][1]}' where an operator was expected")
        return tree

    def _next(self, *wanted: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in wanted:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return None

    def _sum(self) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise InputError(f"is nested more than {_DEEPEST} deep")
        left = self._product()
        while sign := self._next("+", "-"):
            left = (sign, left, self._product())
        self.depth -= 1
        return left

    def _product(self) -> Any:
        left = self._sign()
        while sign := self._next("*", "/"):
            left = (sign, left, self._sign())
        return left

    def _sign(self) -> Any:
        negative = False
        while sign := self._next("+", "-"):
            negative ^= sign == "-"
        tree = self._power()
        return ("negative", tree) if negative else tree

    def _power(self) -> Any:
        base = self._atom()
        if self._next("^", "**"):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise InputError(f"is nested more than {_DEEPEST} deep")
            base = ("^", base, self._sign())
            self.depth -= 1
        return base

    def _atom(self) -> Any:
        if self._next("("):
            tree = self._sum()
            self._close()
            return tree
        if self.at >= len(self.tokens) or self.tokens[self.at][0] == "sign":
            found = f"'{self.tokens[self.at][1]}'" if self.at < len(self.tokens) else "an end"
            raise InputError(f"has {found} where a number or a name was expected")
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            unit = ""
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
                unit = self.tokens[self.at][1]
                self.at += 1
                unit += self._unit_power()
            return ("number", word, unit)
        if self._next("("):
            if word not in programs.FUNCTIONS:
                raise InputError(f"calls '{word}', which is no function here.{suggest(word, list(programs.FUNCTIONS))}")
            arguments = [self._sum()]
            while self._next(","):
                arguments.append(self._sum())
            self._close()
            return ("call", word, tuple(arguments))
        self.names.add(word)
        return ("name", word)

    def _unit_power(self) -> str:
        """The power of a unit is the unit's own: 20 mm^2 is not the square of 20 mm."""
        if not self._next("^", "**"):
            return ""
        sign = self._next("-") or ""
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("", "")
        if kind != "number" or not re.fullmatch(r"\d", word):
            raise InputError(f"has a unit with the power '{sign}{word}', expected a digit")
        self.at += 1
        return f"^{sign}{word}"

    def _close(self) -> None:
        if not self._next(")"):
            raise InputError("has a '(' without its ')'")
