"""What a co-simulation gives: a table of columns `fmu.variable`, files, pictures, and how it went."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]
FilePath = str | os.PathLike[str]


@dataclass(frozen=True)
class CosimEvent:
    """Something that a step had to end at: when, what kind (instant, crossing, discard, end), and who."""

    time: float
    kind: str
    what: str


@dataclass(frozen=True)
class CosimInfo:
    """How a run went: macro steps taken and rejected, calls of doStep, seconds, and why it ended early, if it did.

    `iterations` is how often steps were repeated in all, `residual` the largest relative change that the last
    repetition of a step still made, `error`, with a tolerance, the largest estimated error of the outputs at any time,
    relative to nominal value plus size (error_control.py).
    """

    algorithm: str
    order: tuple[str, ...]
    steps: int
    rejected: int = 0
    calls: int = 0
    iterations: int = 0
    residual: float = 0.0
    error: float = 0.0
    seconds: float = 0.0
    finished: bool = True
    message: str = ""
    events: tuple[CosimEvent, ...] = ()


def matching(who: str, patterns: Iterable[str], columns: Sequence[str]) -> list[str]:
    """The columns that names, or patterns with * and ?, stand for, each once; `who` asks, for the message."""
    from fmu_export.cosim.system import closest
    from liegeo.model.names import matches

    chosen: dict[str, None] = {}
    for pattern in patterns:
        found = matches(pattern, columns)
        if not found:
            raise InputError(f"{who}: no column matches '{pattern}'.{closest(pattern, columns)}")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


class CosimResult:
    """A structured array `table`, the first column `time`; `result["plant.x"]` is a column.

    It is taken by whatever takes a structured array, fmpy's plot_result and write_csv among them.
    """

    def __init__(self, name: str, table: Array, units: Mapping[str, str], info: CosimInfo) -> None:
        self.name = name
        self.table = table
        self.units = dict(units)
        self.info = info

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.table.dtype.names or ())

    @property
    def dtype(self) -> Any:
        return self.table.dtype

    @property
    def t(self) -> Array:
        return np.asarray(self.table["time"])

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.table)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.table, dtype=dtype, copy=copy)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in self.names:
            from fmu_export.cosim.system import closest

            raise InputError(f"result: there is no column '{key}'.{closest(key, self.names)}")
        return self.table[key]

    def __repr__(self) -> str:
        end = f", {self.info.message}" if self.info.message else ""
        last = f" to t = {self.t[-1]:.6g} s" if len(self) else ""
        return f"CosimResult('{self.name}', {len(self)} points{last}, {len(self.names) - 1} columns{end})"

    def __str__(self) -> str:
        """For people: how it went."""
        info = self.info
        last = f" to t = {self.t[-1]:.6g} s" if len(self) else ""
        told = [f"{info.steps} steps", f"{info.calls} calls of doStep", f"{info.seconds:.3g} s"]
        told[1:1] = [f"{info.rejected} rejected"] if info.rejected else []
        lines = [f"{self.name}: {len(self)} points{last}, {len(self.names) - 1} columns", f"  {info.algorithm}"]
        lines[-1] += f" ({', '.join(info.order)})" if info.order else ""
        lines[-1] += f": {', '.join(told)}"
        if info.iterations:
            lines.append(f"  {info.iterations} repetitions of steps, the last changed {info.residual:.2g} at most")
        if info.error:
            lines.append(f"  relative error by Richardson: {info.error:.2g}")
        told = [f"{event.kind} {event.what}".strip() + f" at {event.time:.9g} s" for event in info.events]
        if told:
            more = f", and {len(told) - 8} more" if len(told) > 8 else ""
            lines.append(f"  events: {', '.join(told[:8])}{more}")
        return "\n".join([*lines, *([f"  {info.message}"] if info.message else [])])

    def to_csv(self, file: FilePath) -> Path:
        from liegeo.results.tables import write_csv

        return write_csv(file, self.table, self.units)

    def to_npz(self, file: FilePath) -> Path:
        from liegeo.results.tables import write_npz

        return write_npz(file, self.table, {}, self._meta())

    def to_parquet(self, file: FilePath) -> Path:
        from liegeo.results.tables import write_parquet

        return write_parquet(file, self.table, self._meta())

    def _meta(self) -> dict[str, Any]:
        return {"model": self.name, "units": self.units}

    def plot(self, *names: str, file: FilePath | None = None, title: str | None = None) -> Figure:
        """Columns over time: names, or patterns with * and ?; one axis a kind of quantity."""
        from liegeo.results.plots import Curve, draw

        drawn = [name for name in self.names if name != "time" and self.dtype[name].kind != "U"]
        chosen = matching("plot", names or ("*",), drawn)
        columns = {name: self.table[name].astype(np.float64) for name in chosen}
        curves = [Curve(name, self._kind(name), self.units[name], self.t, y) for name, y in columns.items()]
        return draw(curves, file=file, title=title)

    def _kind(self, name: str) -> str:
        """What shares an axis: what the unit measures, or where that has no name the last word of the column's."""
        from fmu_export.cosim.measures import from_name
        from liegeo.io.units import NONE, named

        powers = from_name(self.units[name]).powers if self.units[name] else None
        said = named(powers) if powers is not None and powers != NONE else "in"
        return name.rsplit(".", 1)[-1] if said.startswith("in") else said.split(" ", 1)[1]
