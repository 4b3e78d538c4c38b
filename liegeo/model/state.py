"""A state of a model, and where the numbers of a joint or an element stand in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.checks import numbers_of
from liegeo.model.names import Column
from liegeo.recorded import joined

if TYPE_CHECKING:
    from liegeo.model.model import Model

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class State:
    """Time, configuration (on the group), speeds (in the algebra) and first-order states of elements.

    A state that a model made knows the names of its numbers, which are those of a result's columns:
    `state["luff.angle"]` reads one, `state.replace({"luff.angle": 0.3})` returns another state.
    """

    q: Array
    v: Array
    t: float = 0.0
    x: Array = field(default_factory=lambda: np.zeros(0))
    model: Model | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Any:
        """Return the number of a column, or the numbers of a quantity such as "ball.quaternion"."""
        columns = self._columns(name)
        parts = {"q": self.q, "v": self.v, "x": self.x, "t": np.array([self.t])}
        values = np.array([parts[column.source[0]][column.place] for column in columns])
        return values[0] if name == columns[0].name else values

    def replace(self, values: Mapping[str, Any]) -> State:
        """Return this state with other values of the columns or quantities that are named."""
        if not isinstance(values, Mapping):
            raise InputError(f"state.replace: values are {values!r}, expected a mapping of names to numbers.")
        parts = {"q": self.q.copy(), "v": self.v.copy(), "x": self.x.copy(), "t": np.array([self.t])}
        for name, value in values.items():
            columns = self._columns(name)
            numbers = numbers_of("state", name, value, slice(0, len(columns)))
            for column, number in zip(columns, np.broadcast_to(numbers, len(columns)), strict=True):
                parts[column.source[0]][column.place] = number
        assert self.model is not None or not values
        q = parts["q"] if self.model is None else self.model.configuration(parts["q"])
        return State(q, parts["v"], float(parts["t"][0]), parts["x"], self.model)

    def _columns(self, name: str) -> list[Column]:
        """Return the columns of the table that a name stands for; raise an InputError if it is no part of a state."""
        if self.model is None:
            raise InputError(f"state: '{name}' has no meaning in a state without a model. Make it by model.state(…).")
        names = self.model.names
        columns = [names.column(each) for each in names.match([name], "state")]
        if any(column.source not in (("q",), ("v",), ("x",), ("t",)) for column in columns):
            raise InputError(
                f"state: '{name}' is no part of a state but computed, expected a coordinate, a speed or a state x.\n"
                f"  model.calculator().outputs(['{name}']) computes it."
            )
        return columns

    @property
    def w(self) -> Array:
        """Speeds and first-order states together, as steps have them."""
        return np.concatenate([self.v, self.x]) if len(self.x) else self.v

    @property
    def y(self) -> Array:
        """All numbers but the time, as steps have them; `Model.unpack` is the way back.

        Behind q stands a zero for each of the states x (integrate/problems.py (2)).
        """
        return joined([self.q, np.zeros(len(self.x)), self.v, self.x])

    def _repr_html_(self) -> str:
        return notebook.state_html(self)


class Index(NamedTuple):
    """Where the numbers of a joint, flexible body, force element or motion stand, as slices; empty if it has none.

    `q[index.q]` are its coordinates, `v[index.v]` its speeds; accelerations and generalised forces stand like speeds.
    `x[index.x]` are its first-order states, `inputs[index.inputs]` what drives it.
    """

    name: str
    q: slice = slice(0, 0)
    v: slice = slice(0, 0)
    x: slice = slice(0, 0)
    inputs: slice = slice(0, 0)

    def __repr__(self) -> str:
        parts = [(what, getattr(self, what)) for what in ("q", "v", "x", "inputs")]
        return f"<'{self.name}': {', '.join(f'{w}[{s.start}:{s.stop}]' for w, s in parts if s.stop > s.start)}>"
