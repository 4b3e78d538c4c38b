"""One kernel that finds the law of a kind of element: laws register here, so that a kind and its law cannot part.

    LAWS = Laws(at.ELEMENT_KINDS, "liegeo/kernels/elements.py")

    @LAWS.of(at.SPRING, shows=3)
    @kernel
    def _spring(I, F, e, u, W): ...

    _law = LAWS.chosen("elements.law")          # _law(kind, I, F, e, u, W) calls the law of that kind

All laws of one family take the same five arguments and return the same types.  The chosen kernel is a chain of
comparisons into which the laws are inlined: what a caller does not use of their results is not computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from liegeo._jit import kernel
from liegeo.kernels.layout_table import Kinds


class ElementLaw(NamedTuple):
    """The kernel of a kind, and how many numbers it shows to observers."""

    kernel: Any
    shows: int


class Laws:
    """The laws of `kinds`, which stand in the file `where`."""

    def __init__(self, kinds: Kinds, where: str) -> None:
        self.kinds, self.where = kinds, where
        self._found: dict[int, ElementLaw] = {}

    def of(self, *kinds: int, shows: int) -> Callable[[Any], Any]:
        """Return a decorator that makes a kernel the law of these kinds."""

        def register(function: Any) -> Any:
            self._found |= dict.fromkeys(kinds, ElementLaw(function, shows))
            return function

        return register

    def __contains__(self, kind: int) -> bool:
        return kind in self._found

    def shows(self, kind: int) -> int:
        """Return how many numbers the law of a kind shows."""
        return self._found[kind].shows

    def missing(self, kind: int) -> str:
        """Return what to do where a kind has no law."""
        name = self.kinds.values[kind][0] if kind in range(len(self.kinds.values)) else kind
        return f"Write a kernel for {name} in {self.where}, below the line @LAWS.of(at.{name}, shows=…)."

    def chosen(self, name: str) -> Any:
        """Return a kernel (kind, a, b, c, d, e) that calls the law of a kind with the other arguments."""
        (_, last), *others = reversed(self._found.items())
        found = _always(last.kernel, f"{name}.{len(others)}")
        for k, (kind, law) in enumerate(others):
            found = _either(kind, law.kernel, found, f"{name}.{len(others) - 1 - k}")
        return found


def _always(law: Any, name: str) -> Any:
    @kernel(name=name)
    def always(kind, a, b, c, d, e):
        return law(a, b, c, d, e)

    return always


def _either(own: int, law: Any, others: Any, name: str) -> Any:
    @kernel(name=name)
    def either(kind, a, b, c, d, e):
        if kind == own:
            return law(a, b, c, d, e)
        return others(kind, a, b, c, d, e)

    return either
