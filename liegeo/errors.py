"""The errors that liegeo raises on purpose, and the faults that they carry.

A `Fault` is data: the owner, its field, the value, what was expected, and what to do.  The sentence that a person reads
is made from it where it is read: by `str` in the words of Python, by `liegeo.io` in those of a model file, with the
line and column of the field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Path_ = tuple[str | int, ...]


def printable(text: str, kept: str = "") -> str:
    """Return a text in which characters that terminals and editors obey or hide are written as escapes.

    Messages repeat what files hold, and a name may hold a control sequence.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii") for c in text)


# A value in a message is cut after so many characters.
_LONGEST = 200


def shown(value: Any) -> str:
    """Return a value as a message shows it: numbers without the type that they have in NumPy."""
    tolist = getattr(value, "tolist", None)
    if tolist is not None:
        value = tolist()
    text = f"{value:.12g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Owner(NamedTuple):
    """What a fault belongs to: its kind and name, as in `joint 'elbow'`.

    `title` is what messages call it if that is not its kind, `more` what they add behind its name.  `path` leads to a
    part of it, as to a node of a body.
    """

    kind: str
    name: str = ""
    title: str = ""
    more: str = ""
    path: Path_ = ()

    def __str__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        return f"{self.title or self.kind}{name}{self.more}"

    def part(self, words: str, *path: str | int) -> Owner:
        """Return the owner of the fields of a part, which messages call so."""
        return self._replace(more=f"{self.more}, {words}", path=(*self.path, *path))

    def field(self, *path: str | int, words: str = "") -> Field:
        return Field(self, path, words)

    def fault(self, finding: str, expected: str = "", advice: str = "", advice_in_file: str = "") -> Fault:
        """Return a fault of the owner as a whole."""
        return Fault(self, self.path, None, finding, expected, advice, advice_in_file=advice_in_file)


class Field(NamedTuple):
    """A field of an owner, or an entry of one: its path; `words` are what messages call it if not by its name.

    An argument of a function is a field without an owner.
    """

    owner: Owner | None
    path: Path_ = ()
    words: str = ""

    @property
    def name(self) -> str:
        """Return its name in a message: `damping`, `stiffness[2]`."""
        if self.words or not self.path:
            return self.words
        first, *rest = self.path
        return str(first) + "".join(f"[{key!r}]" for key in rest)

    def entry(self, *path: str | int) -> Field:
        return Field(self.owner, (*self.path, *path), self.words)

    def fault(
        self, value: Any = None, expected: str = "", advice: str = "", *, finding: str = "", subject: str = ""
    ) -> Fault:
        """Return what is wrong with the value of this field; see Fault."""
        path = (*(self.owner.path if self.owner else ()), *self.path)
        return Fault(self.owner, path, value, finding, expected, advice, subject or self.name)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: who owns it, which field it is, its value, what was expected and what to do.

    `field` is a path in the owner's dataclass, empty if the fault is of the whole.  `finding` is what was found, if it
    is not just the value; `expected` goes on with the sentence; `advice` follows it.  `subject` is what the sentence is
    about, usually the name of the field.  `advice_in_file` replaces the advice where a model file is read.
    """

    owner: Owner | None
    field: Path_ = ()
    value: Any = None
    finding: str = ""
    expected: str = ""
    advice: str = ""
    subject: str = ""
    advice_in_file: str = ""

    def __str__(self) -> str:
        return self.sentence(shown(self.value), self.advice)

    def sentence(self, value: str, advice: str) -> str:
        """Return the fault as a sentence, with its value and its advice in the words of the reader."""
        said = " ".join(part for part in (self.subject, self.finding or f"is {value}") if part)
        said = f"{f'{self.owner}: ' if self.owner else ''}{said}{f', {self.expected}' if self.expected else ''}."
        # what begins with a blank is a suggestion, and goes on in its own line or in this one
        return said + (advice if not advice or advice[0].isspace() else "\n  " + advice.replace("\n", "\n  "))


class LiegeoError(Exception):
    """Base class: `except LiegeoError` catches everything that liegeo raises on purpose.

    `faults` are what is wrong, as data, where the error is about fields of a model.
    """

    faults: tuple[Fault, ...] = ()

    def __init__(self, message: str | Fault | Iterable[Fault] = "", *more: Any) -> None:
        if not isinstance(message, str):
            self.faults = (message,) if isinstance(message, Fault) else tuple(message)
            message = "\n".join(map(str, self.faults))
        super().__init__(printable(message, "\n"), *more)


class InputError(LiegeoError, ValueError):
    """An argument has the wrong shape, type or value."""


class ModelError(LiegeoError, ValueError):
    """A model cannot be what it says: names the body or joint and what to do."""


@dataclass(frozen=True)
class FileProblem:
    """One thing that is wrong with a model file: where, and what to do; line 0 where there is no line.

    `named` says that the message itself begins with what it is about, so that the path need not stand before it.
    """

    file: str
    line: int
    column: int
    path: str
    message: str
    named: bool = False

    def saying(self, message: str) -> FileProblem:
        return replace(self, message=message)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        path = f"{printable(self.path)} " if self.path and not self.named else ""
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
