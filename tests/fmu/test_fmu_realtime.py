"""Runs paced by the clock: what is measured adds up, and the clock is waited for.

No test depends on how fast this machine is.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import fmu_export
from fmu_export.inspection import run
from fmu_export.pacing import Pace, RealTimeRun, scheduling
from liegeo import cli
from liegeo.errors import InputError


class Clock:
    """A clock that goes on by what steps cost, and by how long somebody sleeps, a little too long each time."""

    def __init__(self, costs, oversleep=0.0):
        self.now, self.costs, self.oversleep, self.slept = 100.0, iter(costs), oversleep, []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds + self.oversleep

    def take(self):
        self.now += next(self.costs)


def paced(costs, size=0.01, **options):
    clock = Clock(costs, **options)
    pace = Pace(lambda: clock.now, clock.sleep)
    for k in range(len(costs)):
        pace.begin(2.0 + k * size, size)
        clock.take()
        pace.end()
    return pace, clock


def test_steps_wait_for_their_time():
    pace, clock = paced([0.002, 0.004, 0.003])
    assert pace.costs == pytest.approx([0.002, 0.004, 0.003])
    assert clock.slept == pytest.approx([0.008, 0.006])
    assert pace.delays == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_a_step_that_takes_too_long_delays_those_behind_it_until_they_catch_up():
    pace, clock = paced([0.025, 0.002, 0.002, 0.002])
    # 0.025 s of work: the second begins 15 ms late, the third 7 ms late, the fourth waits again
    assert pace.delays == pytest.approx([0.0, 0.015, 0.007, 0.0], abs=1e-12)
    assert clock.slept == pytest.approx([0.001])


def test_a_machine_that_wakes_late_is_told_apart_from_a_slow_fmu():
    pace, _ = paced([0.001] * 4, oversleep=0.0005)
    assert pace.costs == pytest.approx([0.001] * 4)
    assert pace.delays == pytest.approx([0.0, 0.0005, 0.0005, 0.0005])


def test_figures_and_words():
    costs = np.full(2000, 1e-3)
    costs[700:703] = 4e-3, 12e-3, 11e-3
    times = np.arange(2000) * 1e-2
    found = RealTimeRun("x.fmu", np.zeros(2001), times, np.full(2000, 1e-2), costs, np.zeros(2000))
    assert found.mean == pytest.approx((1997 * 1e-3 + 27e-3) / 2000)
    # one in a thousand may be longer: two are
    assert (found.high, found.worst, found.misses) == (4e-3, 12e-3, 2)
    assert found.factor == pytest.approx(20.0 / 2.024)
    text = str(found)
    for words in (
        "2000 steps of 10 ms",
        "99.9 % at most 4 ms",
        "12 ms, from t = 7.01 s",
        "2 of 2000 steps",
        "factor 9.88",
    ):
        assert words in text
    assert text.endswith(scheduling())
    none = RealTimeRun("x.fmu", *[np.zeros(0)] * 5)
    assert (none.mean, none.high, none.worst, none.misses, str(none)) == (0, 0, 0, 0, "x.fmu: no step was taken")


def test_a_run_in_real_time_has_the_outputs_of_any_run(pendulum):
    arguments = {"t_end": 0.055, "interval": 0.01, "values": {"mass": 1.5}, "inputs": {"motor.input": 0.2}}
    found, plain = fmu_export.realtime(pendulum, **arguments), run(pendulum, **arguments)
    assert found.table.tobytes() == plain.tobytes()
    # the last step is shorter
    assert found.sizes == pytest.approx([0.01] * 5 + [0.005])
    assert len(found.times) == len(found.costs) == len(found.delays) == 6
    assert 0.0 < found.mean <= found.high <= found.worst
    assert found.misses == sum(cost > size for cost, size in zip(found.costs, found.sizes, strict=True))
    # it waited
    assert (np.diff(found.times + found.delays) >= found.costs[:-1]).all()


def test_as_a_person_types_it(pendulum, tmp_path):
    words = ["fmu", "run", str(pendulum), "--realtime", "--end", "30 ms", "-o", str(tmp_path / "x.csv")]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.output
    assert "3 steps of 10 ms, paced by the clock" in done.output
    assert "the worst" in done.output
    assert len((tmp_path / "x.csv").read_text("utf-8").splitlines()) >= 5


def test_what_run_refuses_is_refused(pendulum):
    with pytest.raises(InputError, match="is no input of the FMU"):
        fmu_export.realtime(pendulum, 0.01, inputs={"none": 1.0})


def test_a_scheduler_that_promises_something(monkeypatch):
    """Real-time kernels say so in a file."""
    module = sys.modules["fmu_export.pacing"]
    monkeypatch.setattr(module, "_first_line", lambda path: "1")
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setattr(module.os, "sched_getscheduler", lambda process: module.os.SCHED_FIFO, raising=False)
    assert "a real-time kernel, SCHED_FIFO: only what has a higher priority" in scheduling()
    monkeypatch.setattr(module.sys, "platform", "win32")
    assert "may interrupt a step at any moment" in scheduling()
