"""What can be computed of a trajectory when it is asked for: motion of bodies and frames, reactions, balances."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError
from liegeo.model.model import Model
from liegeo.model.names import Source
from liegeo.observer import Observer, not_implemented

Array = NDArray[Any]


class Quantities:
    """Sources (liegeo/observer.py) of n samples of t, q, v, u and x: one pass per question; answers are kept."""

    def __init__(self, model: Model, t: Array, q: Array, v: Array, u: Array, x: Array) -> None:
        self.model, self.t, self.q, self.v, self.u, self.x = model, t, q, v, u, x
        self._answers: dict[Source, Array] = {}

    def answer(self, sources: Iterable[Source]) -> dict[Source, Array]:
        """Return by source an array (n, k); one pass of compiled code serves all that were not asked for before."""
        wanted = list(dict.fromkeys(sources))
        missing = [source for source in wanted if source not in self._answers]
        if missing:
            observer = Observer(self.model, missing)
            widths = [place.stop - place.start for place in observer.places.values()]
            parts = np.split(self._observe(observer), np.cumsum(widths)[:-1], axis=1)
            for source, part in zip(missing, parts, strict=True):
                # what no kernel wrote is NaN
                if part.size and np.isnan(part).all() and np.isfinite(self.q).all():
                    raise not_implemented(source)
                self._answers[source] = part
        return {source: self._answers[source] for source in wanted}

    def _observe(self, observer: Observer) -> Array:
        model, drives = self.model, self.model.drives(self.u, self.x)
        done, rows = observer.samples(self.t, self.q, self.v, drives)
        if done < len(self.t):
            q, v, u = (np.array(x[done]) for x in (self.q, self.v, drives))
            status = observer.observe(self.t[done], q, v, u, model.workspace(), observer.numbers(), rows[done])
            raise DynamicsError(f"result, at t = {self.t[done]:.6g} s: {model.failure(status)}")
        return rows

    @property
    def accelerations(self) -> Array:
        """v̇ of every sample."""
        return self.answer([("a",)])["a",]
