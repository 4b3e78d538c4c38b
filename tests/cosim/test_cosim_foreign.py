"""FMUs that behave as those of other tools do: they end runs, discard steps, are slow, hang and crash."""

from __future__ import annotations

import math

import cosim_fixtures
import numpy as np
import pytest

from fmu_export.cosim import System, Unit

built = cosim_fixtures.built


def impacts(height: float, g: float, e: float, slow: float) -> list[float]:
    """The times at which a ball hits the ground, until it is slower than that: a fall, then flights of 2 v / g."""
    t, v = math.sqrt(2.0 * height / g), e * math.sqrt(2.0 * g * height)
    out = [t]
    while v >= slow:
        t += 2.0 * v / g
        v *= e
        out.append(t)
    return out


def test_an_fmu_ends_the_run_at_the_end_of_a_step(built):
    """Discard, Terminated, and LastSuccessfulTime where the step ends: the run was repeated for ever."""
    result = System({"stair": Unit(built("stair"))}).simulate(20.0, 0.2)
    assert not result.info.finished
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert [(e.kind, e.what) for e in result.info.events] == [("end", "stair")]
    assert result.t[-1] == pytest.approx(10.0, abs=1e-12)
    assert len(result) == 51
    np.testing.assert_array_equal(result["stair.level"], 1.0 + np.floor(result.t + 1e-9))


@pytest.mark.parametrize("name", ["stair", "stair_stateless"])
@pytest.mark.parametrize("rollback", [True, False])
def test_an_fmu_ends_the_run_within_a_step(built, name, rollback):
    """With others that come to the same time, whether it can go back or not."""
    units = {"stair": Unit(built(name)), "lag": Unit(built("lag"))}
    result = System(units, ["stair.level -> lag.u"]).simulate(20.0, 0.3, rollback=rollback)
    assert result.info.message.startswith("ended by FMU 'stair' at t = 10 s")
    # without states the lag, which steps first, has gone too far
    assert result.t[-1] == pytest.approx(10.0 if rollback else 9.9, abs=1e-12)
    assert result["stair.level"][-1] == (11.0 if rollback else 10.0)
    if not rollback:
        assert "results end at t = 9.9 s, because rollback is off" in result.info.message


def test_an_fmu_of_fixed_step_ends_the_run_within_a_step(built):
    """On its own it stays where it is."""
    result = System({"stair": Unit(built("stair_fixed"))}).simulate(21.0, 0.3)
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert result.t[-1] == 10.0
    assert result["stair.level"][-1] == 11.0


@pytest.mark.parametrize("options", [
    {"algorithm": "gauss-seidel"}, {"iterations": 2}, {"tolerance": 1e-3}, {"extrapolation": "linear"},
    {"algorithm": "gauss-seidel", "extrapolation": "linear"}
])  # fmt: skip
@pytest.mark.parametrize("step", [0.2, 0.3])
def test_every_algorithm_ends_where_an_fmu_ends_the_run(built, options, step):
    units = {"stair": Unit(built("stair")), "lag": Unit(built("lag")), "gain": Unit(built("gain"))}
    wires = ["stair.level -> gain.u", "gain.y -> lag.u"]
    result = System(units, wires).simulate(20.0, step, **options)
    assert result.info.message == "ended by FMU 'stair' at t = 10 s"
    assert result.t[-1] == pytest.approx(10.0, abs=1e-12)
    assert result["gain.y"][-1] == 11.0


@pytest.mark.parametrize("options", [{"step": 0.013}, {"step": 0.2}, {"step": 0.1, "tolerance": 1e-4}])
def test_a_ball_bounces_and_ends_the_run(built, options):
    """At the times of the closed form, and nowhere behind the last of them."""
    times = impacts(1.0, 9.81, 0.7, 1.0)
    result = System({"ball": Unit(built("ball"))}).simulate(10.0, **options)
    assert result.info.message == f"ended by FMU 'ball' at t = {times[-1]:.9g} s. It said: the ball lies still."
    assert result.t[-1] == pytest.approx(times[-1], abs=1e-9)
    found = [e.time for e in result.info.events]
    np.testing.assert_allclose(found, times, rtol=0.0, atol=1e-9)
    assert result["ball.bounces"][-1] == len(times)
    assert result["ball.h"].min() >= -1e-12
