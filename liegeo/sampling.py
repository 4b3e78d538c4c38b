"""Samples of a run: which times are wanted, and what the steps of a method give there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.integrate import Trajectory

Array = NDArray[np.float64]

# Samples, if nothing is said about them.
_SAMPLES = 1000
# A run with more numbers in its samples is a mistake in a unit: they would take eight gigabytes.
_MOST_NUMBERS = 1e9


@dataclass
class Samples:
    """Samples taken so far: at wanted times, or at each so many steps."""

    wanted: Array | None
    every: int
    t: list[Array] = field(default_factory=list)
    y: list[Array] = field(default_factory=list)
    taken: int = 0
    steps: int = 0
    # how many of them a watcher knows
    told: int = 0

    @classmethod
    def of(cls, output: Any, every: int, t: float, end: float, y: Array) -> Self:
        """Return what a run from (t, y) to `end` begins with, for the `output` of `simulate`."""
        wanted = _times(output, t, end, len(y))
        out = cls(wanted, every, [np.array([t])], [y[np.newaxis].copy()])
        if wanted is not None:
            out.taken = int(np.searchsorted(wanted, t, side="right"))
            if not out.taken:
                out.t, out.y = [np.zeros(0)], [np.zeros((0, len(y)))]
        return out

    def between(self, piece: Trajectory) -> Sequence[int]:
        """Return the points of a piece whose fields are needed to sample between them."""
        if self.wanted is None:
            return ()
        first, last = np.searchsorted(self.wanted, piece.t[[0, -1]], side="right")
        if first == last:
            return ()
        ends_at, between = _steps(piece.t, self.wanted[first:last])
        return sorted({*ends_at[between], *(ends_at[between] - 1)}) if between.any() else ()

    def take(self, piece: Trajectory, last: bool, stop: tuple[float, Array] | None) -> None:
        """From a piece of a trajectory that begins where the one before it ended, up to the event that ended the run.

        What was there is then the last sample.
        """
        until = np.inf if stop is None else stop[0]
        made = len(piece.t) - 1 if stop is None else int(np.count_nonzero(piece.t[1:] < until))
        if self.wanted is None:
            k = np.arange(1, made + 1)
            chosen = k[((self.steps + k) % self.every == 0) | (last & (k == len(piece.t) - 1))]
            self.t.append(piece.t[chosen])
            self.y.append(piece.y[chosen])
        else:
            self._take_wanted(self.wanted, piece, last, until)
        self.steps += made
        if stop is not None:
            self.steps += 1
            if not any(len(times) and times[-1] >= until for times in self.t):
                self.t.append(np.array([until]))
                self.y.append(stop[1][np.newaxis].copy())

    def _take_wanted(self, wanted: Array, piece: Trajectory, last: bool, until: float) -> None:
        end = len(wanted) if last else int(np.searchsorted(wanted, piece.t[-1], side="right"))
        if end <= self.taken:
            return
        times = wanted[self.taken : end]
        times = times[times <= min(until, piece.t[-1] + 1e-9 * abs(piece.t[-1] - piece.t[0]))]
        if len(times):
            self.t.append(times)
            self.y.append(_at(piece, np.minimum(np.maximum(times, piece.t[0]), piece.t[-1])))
            self.taken += len(times)

    def arrays(self) -> tuple[Array, Array]:
        return np.concatenate(self.t), np.concatenate(self.y)

    def new(self) -> tuple[Array, Array]:
        """Return the samples that are new since this was last asked."""
        known, t, y = self.told, [], []
        for times, elements in zip(self.t, self.y, strict=True):
            t.append(times[known:])
            y.append(elements[known:])
            known = max(0, known - len(times))
        out = np.concatenate(t), np.concatenate(y)
        self.told += len(out[0])
        return out

    def save(self) -> dict[str, Array]:
        """Return all there is."""
        t, y = self.arrays()
        self.t, self.y = [t], [y]
        return {"t": t, "y": y, "taken": np.array([self.taken, self.steps])}

    def load(self, saved: Mapping[str, Array]) -> None:
        self.t, self.y = [saved["t"]], [saved["y"]]
        self.taken, self.steps = (int(n) for n in saved["taken"])


def _times(output: Any, start: float, end: float, width: int) -> Array | None:
    """Return the times that are wanted; None: the ends of steps.  An element has so many numbers."""
    if isinstance(output, str):
        if output != "steps":
            raise InputError(f"simulate: output is {output!r}, expected times, a number, or 'steps'.")
        return None
    if output is None:
        return np.asarray(np.linspace(start, end, _SAMPLES + 1), dtype=np.float64)
    if np.ndim(output) == 0:
        spacing = float(output)
        if not 0.0 < spacing < np.inf:
            raise InputError(f"simulate: output is {output!r}, the time between samples must be > 0 and finite.")
        most = _MOST_NUMBERS / (1 + 2 * width)
        if (end - start) / spacing > most:
            raise InputError(
                f"simulate: output is {output!r}, which makes {(end - start) / spacing:.3g} samples, "
                f"expected at most {most:.1g}.\n  Give a longer time between samples."
            )
        n = int(np.floor((end - start) / spacing * (1.0 + 1e-12)))
        return np.asarray(start + spacing * np.arange(n + 1), dtype=np.float64)
    times = np.asarray(output, dtype=np.float64)
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all() or not (np.diff(times) > 0.0).all():
        raise InputError("simulate: output times must be finite numbers that rise strictly.")
    if times[0] < start or times[-1] > end:
        raise InputError(
            f"simulate: output times go from {times[0]:.6g} to {times[-1]:.6g}, outside of the run, "
            f"{start:.6g} to {end:.6g}."
        )
    return times


def _steps(t: Array, times: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """By time: the index of the end of a step that is there but for round-off, or comes next; whether it comes next."""
    k = np.minimum(np.maximum(np.searchsorted(t, times), 1), len(t) - 1)
    slack = 1e-9 * (t[k] - t[k - 1])
    k = np.where(times - t[k - 1] <= slack, k - 1, k)
    return k, np.abs(times - t[k]) > slack


def _at(piece: Trajectory, times: Array) -> Array:
    """Elements at these times: where a step ends its own end, between steps what the trajectory says."""
    k, between = _steps(piece.t, times)
    y = piece.y[k]
    if between.any():
        y[between] = piece(times[between])
    return y
