"""What can be computed of a trajectory when it is asked for: motion of bodies and frames, reactions, balances."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import DynamicsError, InputError
from liegeo.kernels import sensing
from liegeo.model.model import Model
from liegeo.model.names import Source
from liegeo.model.sensors import Sampling
from liegeo.observer import Observer, not_implemented

Array = NDArray[Any]


class Sensed(NamedTuple):
    """The states of a run at the instants at which its sensors sample: times, q, v, u and x, as a Result has them."""

    t: Array
    q: Array
    v: Array
    u: Array
    x: Array


class Quantities:
    """Sources (liegeo/observer.py) of n samples of t, q, v, u and x: one pass per question; answers are kept.

    What sensors with a period show comes from the states at their instants, `sensed`.
    """

    def __init__(
        self, model: Model, t: Array, q: Array, v: Array, u: Array, x: Array, sensed: Sensed | None = None
    ) -> None:
        self.model, self.t, self.q, self.v, self.u, self.x = model, t, q, v, u, x
        self._sensed = sensed
        self._answers: dict[Source, Array] = {}

    def answer(self, sources: Iterable[Source]) -> dict[Source, Array]:
        """Return by source an array (n, k); one pass of compiled code serves all that were not asked for before."""
        wanted = list(dict.fromkeys(sources))
        missing = [source for source in wanted if source not in self._answers]
        held = {sensor.name: i for i, sensor in enumerate(self._sampling.sensors)}
        for source in missing:
            if source[0] == "sensor" and source[1] in held:
                self._answers[source] = self._held(held[source[1]])
        missing = [source for source in missing if source not in self._answers]
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

    @functools.cached_property
    def _sampling(self) -> Sampling:
        return Sampling.of(self.model.tree.sensors)

    @functools.cached_property
    def _measured(self) -> Array:
        """What all sensors that sample measure at all instants, a row each."""
        assert self._sensed is not None
        sources: list[Source] = [("sensor", sensor.name) for sensor in self._sampling.sensors]
        answers = Quantities(self.model, *self._sensed)._raw(sources)
        return np.ascontiguousarray(np.concatenate([answers[source] for source in sources], axis=1))

    def _raw(self, sources: list[Source]) -> dict[Source, Array]:
        """Return what sensors measure at every instant, whether they sample or not."""
        observer = Observer(self.model, sources)
        rows = self._observe(observer)
        widths = [observer.places[source].stop - observer.places[source].start for source in sources]
        return dict(zip(sources, np.split(rows, np.cumsum(widths)[:-1], axis=1), strict=True))

    def _held(self, i: int) -> Array:
        """Return what sensor i of those that sample shows at all times."""
        sampling = self._sampling
        sensor = sampling.sensors[i]
        if self._sensed is None:
            raise InputError(
                f"result: {sensor.owner} samples every {sensor.interval:.6g} s, and this result has no states at its "
                "instants, which only a run of `simulate` has.\n  Simulate the motion, or leave out its period."
            )
        out = np.empty((len(self.t), sensor.size))
        instants, times = (np.ascontiguousarray(t, dtype=np.float64) for t in (self._sensed.t, self.t))
        began = float(instants[0])
        sensing.held(sampling.rows, sampling.settings, i, began, instants, self._measured, times, out)
        return out

    @property
    def accelerations(self) -> Array:
        """v̇ of every sample."""
        return self.answer([("a",)])["a",]
