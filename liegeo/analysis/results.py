"""What studies give: rows, a table to read, a file to keep, a picture to look at."""

from __future__ import annotations

import csv
import io
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from liegeo.results.tables import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# As wide as an ordinary terminal and a little more: `repr` must not depend on where it is printed.
_WIDTH = 120


@dataclass(frozen=True)
class Skipped:
    """A method that cannot be used on a case, and why."""

    case: str
    method: str
    reason: str


@dataclass(frozen=True)
class Run:
    """One run to the end of a case.  `error` is NaN if it failed, and then `message` says why."""

    case: str
    method: str
    steps: int
    step: float
    error: float
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class Order:
    """The slope of error against step of a method on a case, and the runs (numbers of steps) that it was fitted to."""

    case: str
    method: str
    declared: int
    observed: float
    used: tuple[int, ...]
    reference: str


@dataclass(frozen=True)
class Work:
    """One run: what it was asked for (`tolerance`, NaN for equal steps), what it cost and what it reached.

    `evaluations` of the field, NaN where the method does not say.  `ratio` is the error over the tolerance, weighed as
    the adaptive method itself does (integrate/stepping.py (1)).
    """

    case: str
    method: str
    tolerance: float
    steps: int
    rejected: int
    evaluations: float
    error: float
    seconds: float
    ratio: float = math.nan
    message: str = ""


@dataclass(frozen=True)
class Change:
    """How an invariant changed over a run: at most, at the end, and on a straight line, a unit of time."""

    case: str
    method: str
    invariant: str
    largest: float
    end: float
    trend: float
    steps: int
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class Study(ABC):
    """What all studies have in common."""

    rows: list[Any]
    skipped: list[Skipped]
    references: dict[str, str]

    title: ClassVar[str] = "study"

    @abstractmethod
    def table(self) -> Table:
        """Its rows, for people."""

    def __rich__(self) -> Table:
        table = self.table()
        table.caption = "\n".join(self._remarks()) or None
        table.caption_justify = "left"
        return table

    def __repr__(self) -> str:
        console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, force_terminal=False)
        with console.capture() as captured:
            console.print(self.table())
        lines = [line.rstrip() for line in captured.get().splitlines()]
        return "\n".join([*lines, *self._remarks()]).strip("\n")

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """One line a row; the file is whole or not there."""
        names = [f.name for f in fields(self.rows[0])] if self.rows else []
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in self.rows)
        return write_whole(path, lambda file: file.write(text.getvalue().encode()))

    def plot(self, file: str | os.PathLike[str] | None = None) -> Figure:
        """A panel a case; written to `file`, if given, in the format that its name ends with."""
        figure = self._draw()
        if file is not None:
            write_whole(file, lambda out: figure.savefig(out, format=Path(file).suffix[1:] or None, dpi=150))
        return figure

    @abstractmethod
    def _draw(self) -> Figure:
        """A panel a case."""

    def _remarks(self) -> list[str]:
        remarks = [f"{case}: {words}" for case, words in self.references.items() if words]
        remarks += [f"failed: {r.case}, {r.method}: {r.message.splitlines()[0]}" for r in self.rows if r.message]
        return remarks + [f"skipped: {s.case}, {s.method}: {s.reason.splitlines()[0]}" for s in self.skipped]

    def of(self, case: str, method: str) -> list[Any]:
        """The rows of one pair."""
        return [row for row in self.rows if row.case == case and row.method == method]


def pairs(rows: Sequence[Any]) -> list[tuple[str, str]]:
    """Cases and methods in the order in which they come."""
    return list(dict.fromkeys((row.case, row.method) for row in rows))


@dataclass(frozen=True, repr=False)
class OrderStudy(Study):
    """Errors by steps; `orders` has a row a pair."""

    orders: list[Order] = field(default_factory=list)

    title: ClassVar[str] = "Observed orders"

    def table(self) -> Table:
        table = _table(self.title, "case", "method", "|declared", "|observed", "fitted to steps", "|error", "|CPU s")
        last = ""
        for order in self.orders:
            runs = [run for run in self.of(order.case, order.method) if run.steps in order.used] or self.of(
                order.case, order.method
            )
            used = ", ".join(map(str, order.used)) or "too few good runs"
            cells = [str(order.declared), _fixed(order.observed), used]
            table.add_row(
                "" if order.case == last else order.case,
                order.method,
                *cells,
                _span([run.error for run in runs]),
                _short(runs[-1].seconds),
            )
            last = order.case
        return table

    def _draw(self) -> Figure:
        from liegeo.analysis import plots

        return plots.orders(self)


@dataclass(frozen=True, repr=False)
class WorkPrecision(Study):
    """Errors against what they cost."""

    title: ClassVar[str] = "Work and precision"

    def table(self) -> Table:
        names = (
            "case",
            "method",
            "|tolerance",
            "|steps",
            "|rejected",
            "|evaluations",
            "|error",
            "|over tol.",
            "|CPU s",
        )
        table = _table(self.title, *names)
        last = ("", "")
        for row in self.rows:
            case = "" if row.case == last[0] else row.case
            method = "" if (row.case, row.method) == last else row.method
            cells = (_short(row.tolerance), str(row.steps), str(row.rejected), _whole(row.evaluations))
            table.add_row(case, method, *cells, _short(row.error), _fixed(row.ratio), _short(row.seconds))
            last = (row.case, row.method)
        return table

    def _draw(self) -> Figure:
        from liegeo.analysis import plots

        return plots.work(self)


@dataclass(frozen=True, repr=False)
class DriftStudy(Study):
    """Changes of invariants; `series` has, by case, method and invariant, times and changes."""

    series: dict[tuple[str, str, str], tuple[Array, Array]] = field(default_factory=dict)

    title: ClassVar[str] = "Drift of invariants"

    def table(self) -> Table:
        names = ("case", "method", "invariant", "|largest", "|at the end", "|trend / s", "|steps", "|CPU s")
        table = _table(self.title, *names)
        last = ("", "")
        for row in self.rows:
            case = "" if row.case == last[0] else row.case
            first = (row.case, row.method) != last
            numbers = (_short(row.largest), _short(row.end), _short(row.trend))
            cost = (str(row.steps), _short(row.seconds)) if first else ("", "")
            table.add_row(case, row.method if first else "", row.invariant, *numbers, *cost)
            last = (row.case, row.method)
        return table

    def _draw(self) -> Figure:
        from liegeo.analysis import plots

        return plots.drifts(self)


def _table(title: str, *columns: str) -> Table:
    """Columns whose name begins with | are numbers, to the right."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name.removeprefix("|"), justify="right" if name.startswith("|") else "left", no_wrap=True)
    return table


def _short(x: float) -> str:
    return "–" if math.isnan(x) else f"{x:.1e}"


def _fixed(x: float) -> str:
    return "–" if math.isnan(x) else f"{x:.2f}"


def _whole(x: float) -> str:
    return "–" if math.isnan(x) else f"{x:.0f}"


def _span(errors: Sequence[float]) -> str:
    good = [e for e in errors if not math.isnan(e)]
    return f"{_short(good[0])} … {_short(good[-1])}" if good else "–"
