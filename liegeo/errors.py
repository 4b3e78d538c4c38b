"""The errors liegeo raises on purpose.  Each message says who, what value, what was expected and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


def printable(text: str, kept: str = "") -> str:
    """Return a text in which characters that terminals and editors obey or hide are written as escapes.

    Messages repeat what files hold, and a name may hold a control sequence.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii") for c in text)


class LiegeoError(Exception):
    """Base class: `except LiegeoError` catches everything that liegeo raises on purpose."""

    def __init__(self, message: str = "", *more: Any) -> None:
        super().__init__(printable(message, "\n") if isinstance(message, str) else message, *more)


class InputError(LiegeoError, ValueError):
    """An argument has the wrong shape, type or value."""


class ModelError(LiegeoError, ValueError):
    """A model cannot be what it says: names the body or joint and what to do."""


@dataclass(frozen=True)
class FileProblem:
    """One thing that is wrong with a model file: where, and what to do; line 0 where there is no line."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def saying(self, message: str) -> FileProblem:
        return replace(self, message=message)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        path = f"{printable(self.path)} " if self.path else ""
        # lines of a message go on with two spaces; what a name holds must not look like another problem
        message = re.sub(r"\n(?!  )", r"\\n", printable(self.message, "\n"))
        return f"{where}: {path}{message}"


class ModelFileError(ModelError):
    """All that is wrong with a model file, each with its place: `problems`.  The message shows the first fifty."""

    SHOWN = 50

    def __init__(self, problems: Sequence[FileProblem]) -> None:
        self.problems = tuple(problems)
        count = f"{len(self.problems)} problems:\n" if len(self.problems) > 1 else ""
        more = len(self.problems) - self.SHOWN
        rest = f"\n… and {more} more. Mend these first." if more > 0 else ""
        super().__init__(count + "\n".join(str(problem) for problem in self.problems[: self.SHOWN]) + rest)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class DynamicsError(LiegeoError, ArithmeticError):
    """The equations of motion have no unique solution in this state."""


class AssemblyError(LiegeoError, ArithmeticError):
    """No state near the given one obeys all constraints: names the loop and by how much it stays open."""


class IntegrationError(LiegeoError, ArithmeticError):
    """A step could not be taken: the message says when and why, and `trajectory` is what there is so far."""

    def __init__(self, message: str, trajectory: Any = None) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class SimulationError(LiegeoError, ArithmeticError):
    """A simulation ended early: the message says when and why, and `result` is what there is so far."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result
