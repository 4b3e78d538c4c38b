"""What an FMU shows: columns of results (liegeo/model/names.py) at one time, in one call of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.model.model import Model
from liegeo.model.names import Source
from liegeo.observer import Observer

Array = NDArray[Any]


class Outputs:
    """Columns of a model, each the source and the number in it that results have for it."""

    def __init__(self, model: Model, columns: Sequence[tuple[Source, int]]) -> None:
        self.model = model
        sources = list(dict.fromkeys(source for source, _ in columns))
        self._observer = Observer(model, sources, columns)
        self._accelerations = Observer(model, [("a",)])
        turned = [source for source in sources if source[0] == "frame" and source[2] == "quaternion"]
        self._turns = Observer(model, turned)
        places = [self._observer.places[source] for source in turned]
        self._quaternions = np.array([k for place in places for k in range(place.start, place.stop)], dtype=np.int64)
        self._z, self._values, self._W = self._observer.numbers(), np.full(len(columns), np.nan), model.workspace()
        self._a = self._accelerations.numbers()

    @property
    def has_quaternions(self) -> bool:
        """Whether there are rotations of frames, of which q and −q are the same."""
        return len(self._quaternions) > 0

    def signs(self, t: float, q: Array, v: Array, u: Array, before: Array | None = None) -> Array:
        """Return the quaternions of frames with the signs that continue those of the point before."""
        z, out = self._turns.numbers(), np.empty(self._turns.width)
        if before is not None:
            for k, place in enumerate(self._turns.places.values()):
                z[place] = before.reshape(-1, 4)[k]
        self._turns.observe(t, q, v, u, self._W, z, out)
        return out

    def values(self, t: float, q: Array, v: Array, u: Array, signs: Array, computed: bool = True) -> Array:
        """Return all columns; without `computed`, those that are computed are what they were.

        Quaternions have the signs nearest to `signs`, of this point or of the one before.
        """
        point = (t, q, v, u, self._W, self._z, self._values)
        if not computed:
            self._observer.show_known(*point)
            return self._values
        if len(self._quaternions):
            self._z[self._quaternions] = signs.ravel()
        self._check(t, self._observer.observe(*point))
        return self._values

    def accelerations(self, t: float, q: Array, v: Array, u: Array) -> Array:
        """Return v̇; a view that the next call overwrites."""
        self._check(t, self._accelerations.observe(t, q, v, u, self._W, self._a, np.empty(self.model.nv)))
        return self._accelerations.accelerations(self._a)

    def _check(self, t: float, status: int) -> None:
        if status:
            raise DynamicsError(f"at t = {t:.6g} s: {self.model.failure(status)}")
