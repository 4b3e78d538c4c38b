"""What a unit shows: columns of results (liegeo/results/names.py) at one point of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.model.model import Model
from liegeo.results.quantities import Observer

Array = NDArray[Any]
Source = tuple[str, ...]

_DIRECT = ("t", "q", "v", "u")


class Outputs:
    """Columns of a model, each the source and the place that results have for it.

    Coordinates, speeds and inputs are copied; the rest is one question to results.quantities.Observer.
    """

    def __init__(self, model: Model, columns: Sequence[tuple[Source, int]]) -> None:
        self.model = model
        n = len(columns)
        starts = dict(zip(_DIRECT, np.cumsum([0, 1, model.nq, model.nv]), strict=True))
        direct = [(k, starts[source[0]] + place) for k, (source, place) in enumerate(columns) if source[0] in starts]
        self._direct = np.array([k for k, _ in direct], dtype=np.int64)
        self._from = np.array([place for _, place in direct], dtype=np.int64)
        computed = [(k, source, place) for k, (source, place) in enumerate(columns) if source[0] not in starts]
        self._sources = list(dict.fromkeys(source for _, source, _ in computed))
        self._computed = [
            (
                source,
                np.array([k for k, s, _ in computed if s == source]),
                np.array([place for _, s, place in computed if s == source]),
            )
            for source in self._sources
        ]
        self._quaternions = [source for source in self._sources if source[-1] == "quaternion"]
        self._values = np.full(n, np.nan)
        self._all = np.empty(1 + model.nq + 2 * model.nv + model.nu)

    @property
    def has_quaternions(self) -> bool:
        """Whether there are rotations of frames, of which q and −q are the same."""
        return bool(self._quaternions)

    def signs(self, t: float, q: Array, v: Array, u: Array, before: Array | None = None) -> Array:
        """The quaternions of frames with the signs that continue those of the point before, one after another."""
        found = self._observer(t, q, v, u).answer(self._quaternions)
        now = np.stack([found[source][0] for source in self._quaternions])
        if before is not None:
            now[np.sum(now * before.reshape(now.shape), axis=1) < 0.0] *= -1.0
        return now

    def values(self, t: float, q: Array, v: Array, u: Array, signs: Array, computed: bool = True) -> Array:
        """All columns; without `computed`, those that are computed are what they were."""
        whole, nq, nv = self._all, self.model.nq, self.model.nv
        whole[0] = t
        whole[1 : 1 + nq], whole[1 + nq : 1 + nq + nv], whole[1 + nq + nv :] = q, v, u
        self._values[self._direct] = whole[self._from]
        if computed and self._computed:
            found = self._observer(t, q, v, u).answer(self._sources)
            for k, source in enumerate(self._quaternions):
                found[source] = signs.reshape(-1, 4)[k : k + 1]
            for source, into, places in self._computed:
                self._values[into] = found[source][0, places]
        return self._values

    def _observer(self, t: float, q: Array, v: Array, u: Array) -> Observer:
        return Observer(self.model, np.array([t]), q[np.newaxis], v[np.newaxis], u[np.newaxis])
