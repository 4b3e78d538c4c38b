"""An FMU paced by the clock: how long its steps take, and whether they are done in time.

A communication step is what a host does of it: set inputs, doStep, read outputs.  Step k begins when the clock has
reached its time, or at once if the step before took too long, so that a run that fell behind catches up.  Measured are
both what the steps cost and how late they begin: the first is the FMU's, the second the machine's.
"""

from __future__ import annotations

import gc
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmu_export.arguments import Seconds
from fmu_export.exchange_solver import ExchangeSolver
from fmu_export.inspection import run

Array = NDArray[Any]

#: The share of steps that are no longer than `RealTimeRun.high`.
_SHARE = 0.999


class Pace:
    """What waits for the time of each step, and notes what it cost; all in seconds.

    `clock` gives the time and `sleep` waits; others than the machine's are for tests.
    """

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._origin: float | None = None
        self.times: list[float] = []
        self.sizes: list[float] = []
        self.costs: list[float] = []
        self.delays: list[float] = []

    def begin(self, t: float, size: float) -> None:
        """Wait until a step from t may begin."""
        now = self._clock()
        if self._origin is None:
            self._origin = now - t
        left = self._origin + t - now
        if left > 0.0:
            self._sleep(left)
            now = self._clock()
        self.times.append(t)
        self.sizes.append(size)
        self.delays.append(max(0.0, now - self._origin - t))
        self._began = now

    def end(self) -> None:
        """Note that the step is done, and its outputs are read."""
        self.costs.append(self._clock() - self._began)


@dataclass(frozen=True)
class RealTimeRun:
    """The outputs of a run in real time, and by step, in seconds: when it began, its size, its cost and its delay.

    A step that cost more than its size is missed: the next one begins late, whatever the machine does.
    """

    name: str
    table: Array = field(repr=False)
    times: Array = field(repr=False)
    sizes: Array = field(repr=False)
    costs: Array = field(repr=False)
    delays: Array = field(repr=False)

    @property
    def mean(self) -> float:
        """What a step costs on average."""
        return float(self.costs.mean()) if len(self.costs) else 0.0

    @property
    def high(self) -> float:
        """What 99.9 % of the steps do not exceed."""
        return float(np.quantile(self.costs, _SHARE, method="inverted_cdf")) if len(self.costs) else 0.0

    @property
    def worst(self) -> float:
        """What the longest step cost."""
        return float(self.costs.max(initial=0.0))

    @property
    def misses(self) -> int:
        """How many steps cost more than their size."""
        return int((self.costs > self.sizes).sum())

    @property
    def factor(self) -> float:
        """How many times faster than the clock the FMU is when nothing waits."""
        cost = float(self.costs.sum())
        return float(self.sizes.sum()) / cost if cost > 0.0 else float("inf")

    def __str__(self) -> str:
        n = len(self.costs)
        if not n:
            return f"{self.name}: no step was taken"
        at = float(self.times[int(self.costs.argmax())])
        missed = "no step" if not self.misses else f"{self.misses} of {n} steps"
        return "\n".join(
            [
                f"{self.name}: {n} steps of {_milliseconds(float(self.sizes[0]))}, paced by the clock",
                f"  a step costs     {_milliseconds(self.mean)} on average; 99.9 % at most {_milliseconds(self.high)}",
                f"  the worst        {_milliseconds(self.worst)}, from t = {at:.6g} s",
                f"  missed           {missed} took longer than the communication step",
                f"  real-time factor {self.factor:.3g}",
                f"  begun late by    {_milliseconds(float(np.mean(self.delays)))} on average, "
                f"{_milliseconds(float(np.max(self.delays)))} at most",
                f"  {scheduling()}",
            ]
        )


def realtime(
    file: str | os.PathLike[str],
    t_end: Seconds | None = None,
    *,
    start: Seconds | None = None,
    interval: Seconds | None = None,
    values: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("*",),
    kind: str = "",
    solver: ExchangeSolver | None = None,
) -> RealTimeRun:
    """Run an FMU at the speed of the clock, and measure its steps; arguments are those of `run`.

    It prints as a report: `print(fmu_export.realtime("arm.fmu", 10.0))`.  Costs are seen from Python, which adds some
    microseconds to each step.
    """
    pace = Pace()
    times: dict[str, Any] = {"start": start, "interval": interval}
    how: dict[str, Any] = {"outputs": outputs, "kind": kind, "solver": solver, "pace": pace}
    with _no_collection():
        table = run(file, t_end, values=values, inputs=inputs, **times, **how)
    n = len(pace.costs)
    measured = (np.array(listed[:n]) for listed in (pace.times, pace.sizes, pace.costs, pace.delays))
    return RealTimeRun(Path(file).name, table, *measured)


def scheduling() -> str:
    """Return what this machine's scheduler can promise of a step, and what it cannot."""
    system = f"{platform.system()} {platform.release()}"
    if not sys.platform.startswith("linux"):
        return f"{system} may interrupt a step at any moment: the worst is what was seen, not a bound."
    policy = os.sched_getscheduler(0)
    names = {os.SCHED_OTHER: "SCHED_OTHER", os.SCHED_BATCH: "SCHED_BATCH", os.SCHED_IDLE: "SCHED_IDLE"}
    names |= {os.SCHED_FIFO: "SCHED_FIFO", os.SCHED_RR: "SCHED_RR"}
    preempted = _first_line(Path("/sys/kernel/realtime")) == "1"
    kernel = f"{system}, {'a real-time kernel' if preempted else 'no real-time kernel'}, {names.get(policy, policy)}"
    if preempted and policy in (os.SCHED_FIFO, os.SCHED_RR):
        return f"{kernel}: only what has a higher priority interrupts a step; the worst is still measured, not proved."
    return (
        f"{kernel}: a step may be interrupted at any moment, so that the worst is what was seen, not a bound.\n"
        "  For a bound, run a native FMU from C on a real-time kernel (chrt -f 80), or its sources on a rig."
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return ""


@contextmanager
def _no_collection() -> Iterator[None]:
    """Python's search for cycles would be counted as time of a step."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"


__all__ = ["Pace", "RealTimeRun", "realtime", "scheduling"]
