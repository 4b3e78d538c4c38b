"""Values between FMUs: which outputs are read, how inputs follow from them, and what is known of their past.

All real outputs that are connected or recorded stand in one vector y, FMU after FMU.  Over a step an input is a
straight line u(τ) = u₀ + u̇ (τ − t): an FMU that interpolates gets u₀ and u̇, another one the value in the middle of
the step, whose effect differs from that of the line by O(h³).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.cosim.fmu_file import CosimVariable, Value
from fmu_export.cosim.graph import OutputGroup, evaluation
from fmu_export.cosim.instances import CosimSlave
from fmu_export.cosim.system import CosimSystem, Link
from fmu_export.fmi_calls import Reals

Array = NDArray[np.float64]


@dataclass
class Point:
    """What the master remembers between steps: per FMU the time, the outputs, and those of one step before.

    `before` of an FMU is NaN where nothing is known: at the start and after an event.  `u0` and `rate` are the lines
    that the inputs of FMUs follow since the beginning of their own step, `held` what is not real, of FMUs with longer
    steps.  `t` is the time of the whole.
    """

    t: float
    y: Array
    times: Array
    y_before: Array
    times_before: Array
    discrete: list[Value]
    u0: list[Array]
    rate: list[Array]
    held: dict[int, list[Value]]

    def copy(self) -> Point:
        return Point(
            self.t, self.y.copy(), self.times.copy(), self.y_before.copy(), self.times_before.copy(),
            self.discrete.copy(), [u.copy() for u in self.u0], [u.copy() for u in self.rate], self.held.copy(),
        )  # fmt: skip

    def forget(self) -> None:
        """Nothing smooth leads across this point."""
        self.times_before[:] = np.nan


class Wiring:
    """Where each value of a system is: places in y, lines into inputs, connections of other types."""

    def __init__(self, system: CosimSystem) -> None:
        self.names = list(system.fmus)
        self.number = {name: k for k, name in enumerate(self.names)}
        recorded = system.recorded()
        self.outputs: list[list[CosimVariable]] = [[] for _ in self.names]
        for fmu, variable in [(link.source, link.output) for link in system.links] + [
            entry for entry in recorded.values() if entry[1].causality == "output"
        ]:
            held = self.outputs[self.number[fmu]]
            if variable.type == "Real" and variable not in held:
                held.append(variable)
        self.starts = np.cumsum([0, *(len(held) for held in self.outputs)])
        self.place = {
            (name, v.name): int(self.starts[k]) + i
            for k, name in enumerate(self.names)
            for i, v in enumerate(self.outputs[k])
        }
        self.ny = int(self.starts[-1])
        self.owner = np.repeat(np.arange(len(self.names)), np.diff(self.starts))
        self.labels = [f"{name}.{v.name}" for k, name in enumerate(self.names) for v in self.outputs[k]]
        self.nominal = np.array([v.nominal for held in self.outputs for v in held])
        self.inputs: list[list[CosimVariable]] = []
        self.index: list[NDArray[np.int64]] = []
        self.factor: list[Array] = []
        self.offset: list[Array] = []
        for name in self.names:
            into = [link for link in system.links if link.target == name and self._is_smooth(link)]
            self.inputs.append([link.input for link in into])
            self.index.append(np.array([self.place[link.source, link.output.name] for link in into], dtype=np.int64))
            self.factor.append(np.array([link.linear.factor for link in into]))
            self.offset.append(np.array([link.linear.offset for link in into]))
        self.discrete = [link for link in system.links if not self._is_smooth(link)]
        self.discrete_into = [[i for i, link in enumerate(self.discrete) if link.target == n] for n in self.names]
        self.discrete_from = [[i for i, link in enumerate(self.discrete) if link.source == n] for n in self.names]
        self.at_start = evaluation(system, at_start=True)
        self.running = evaluation(system, at_start=False)

    @staticmethod
    def _is_smooth(link: Link) -> bool:
        return link.output.type == "Real" and link.input.type == "Real"

    def slice(self, k: int) -> slice:
        return slice(int(self.starts[k]), int(self.starts[k + 1]))

    def new_point(self, start: float) -> Point:
        n = len(self.names)
        return Point(
            start, np.zeros(self.ny), np.full(n, start), np.zeros(self.ny), np.full(n, np.nan),
            [_empty(link) for link in self.discrete],
            [np.zeros(len(v)) for v in self.inputs], [np.zeros(len(v)) for v in self.inputs], {},
        )  # fmt: skip

    def into(self, k: int, y: Array) -> Array:
        """The inputs of an FMU that these outputs give."""
        return self.factor[k] * y[self.index[k]] + self.offset[k]

    def loop_places(self, group: OutputGroup) -> NDArray[np.int64]:
        return np.array([self.place[node] for node in group.nodes if node in self.place], dtype=np.int64)

    def slopes(self, point: Point) -> Array:
        """ẏ from the last two points of each FMU; zero where there is no past."""
        h = point.times - point.times_before
        known = np.isfinite(h) & (h > 0.0)
        per_unit = np.divide(1.0, h, out=np.zeros_like(h), where=known)
        return (point.y - point.y_before) * per_unit[self.owner]


def _empty(link: Link) -> Value:
    empty: dict[str, Value] = {"Integer": 0, "Boolean": False, "String": ""}
    return empty.get(link.output.type, 0.0)


class Ports:
    """The buffers of one running FMU."""

    def __init__(self, slave: CosimSlave, wiring: Wiring, k: int) -> None:
        self.slave = slave
        self.inputs = Reals(wiring.inputs[k])
        self.outputs = Reals(wiring.outputs[k])
        self.interpolates = slave.description.interpolates
        self.place = wiring.slice(k)
        self.discrete_in = [(i, wiring.discrete[i]) for i in wiring.discrete_into[k]]
        self.discrete_out = [(i, wiring.discrete[i].output) for i in wiring.discrete_from[k]]

    def write(self, u: Array, discrete: list[Value]) -> None:
        """Set all connected inputs."""
        self.inputs.values[:] = u
        self.slave.set_reals(self.inputs)
        for i, link in self.discrete_in:
            value = discrete[i]
            self.slave.set(link.input, link.linear(float(value)) if link.input.type == "Real" else value)

    def read(self, y: Array, discrete: list[Value]) -> None:
        """Get all outputs of interest into their places."""
        self.slave.get_reals(self.outputs)
        y[self.place] = self.outputs.values
        for i, variable in self.discrete_out:
            discrete[i] = self.slave.get(variable)


class CosimRecorder:
    """Rows of a result: outputs from y, other reals of an FMU in one call, and one by one what is not real."""

    _others: list[tuple[int, CosimVariable, str, list[Value]]]

    def __init__(self, system: CosimSystem, wiring: Wiring) -> None:
        columns = system.recorded()
        self.names = ["time", *columns]
        self.units = {"time": "s", **{name: v.unit for name, (_, v) in columns.items()}}
        self._rows: list[Array] = []
        numbered = [(1 + i, fmu, v) for i, (fmu, v) in enumerate(columns.values())]
        known = [(i, wiring.place[fmu, v.name]) for i, fmu, v in numbered if (fmu, v.name) in wiring.place]
        self._from_y = tuple(np.array([pair[k] for pair in known], dtype=np.int64) for k in (0, 1))
        self._reals: list[tuple[int, Reals, NDArray[np.int64]]] = []
        self._others = [(wiring.number[fmu], v, self.names[i], []) for i, fmu, v in numbered if v.type != "Real"]
        for k, name in enumerate(wiring.names):
            mine = [(i, v) for i, fmu, v in numbered if fmu == name and v.type == "Real"]
            more = [(i, v) for i, v in mine if (name, v.name) not in wiring.place]
            if more:
                self._reals.append((k, Reals([v for _, v in more]), np.array([i for i, _ in more])))

    def take(self, t: float, y: Array, ports: Sequence[Ports]) -> None:
        row = np.empty(len(self.names))
        row[0] = t
        into, places = self._from_y
        row[into] = y[places]
        for k, reals, where in self._reals:
            ports[k].slave.get_reals(reals)
            row[where] = reals.values
        for k, variable, _, values in self._others:
            values.append(ports[k].slave.get(variable))
        self._rows.append(row)

    def table(self) -> NDArray[np.void]:
        from liegeo.results.tables import make_table

        rows = np.array(self._rows).reshape(-1, len(self.names))
        columns: dict[str, Any] = dict(zip(self.names, rows.T, strict=True))
        for _, variable, name, values in self._others:
            columns[name] = column_of(variable, values)
        return make_table(columns)


def column_of(variable: CosimVariable, values: Sequence[Value]) -> NDArray[Any]:
    """Return values that are no real numbers as a column of a table.

    Whole numbers are of 32 bits if all of them fit; those of FMI 3.0 may have 64, and are then float64, which rounds
    beyond 2⁵³.
    """
    if variable.type == "String":
        return np.array(values, dtype=np.str_)
    if variable.type == "Boolean":
        return np.array(values, dtype=np.bool_)
    fit = all(-(2**31) <= value < 2**31 for value in values if not isinstance(value, str))
    return np.array(values, dtype=np.int32 if fit else np.float64)
