"""The master against closed forms: orders of the algorithms, loops, error control, going back, rates, events."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import threading
from pathlib import Path

import c_fmus
import cosim_fixtures
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

from fmu_export.cosim import FMU, Connection, CosimExperiment, CosimSystem, Crossing, Linear
from fmu_export.cosim.graph import fmu_order
from fmu_export.cosim.instances import FMUError
from fmu_export.cosim.master import Master
from liegeo.errors import InputError, SimulationError

built, there_and_back = cosim_fixtures.built, cosim_fixtures.there_and_back

WIRES = ("plant.x -> control.y", "plant.v -> control.v", "control.u -> plant.force")


@pytest.fixture
def system(built):
    """From names of FMUs in C to a CosimSystem: `system({"plant": ("mass", {...}), ...}, connections, ...)`."""

    def make(fmus, connections=(), **options):
        made = {name: FMU(built(kind), start, *every) for name, (kind, start, *every) in fmus.items()}
        return CosimSystem(made, connections, **options)

    return make


@pytest.fixture
def loop(system):
    """Mass, spring and damper under a PD controller: x'' = kp (r − x) − kd x' − d x' − k x."""
    return system({"plant": ("mass", {"x0": 0.1}), "control": ("pd", {"r": 0.5})}, WIRES)


def closed(t):
    """Position and speed of that loop: kp = 8, kd = 1, k = 4, d = 1/2, m = 1, from x = 0.1 at rest to r = 0.5."""
    A = np.array([[0.0, 1.0], [-12.0, -1.5]])
    rest = np.array([4.0 / 12.0, 0.0])
    return rest + expm(A * t) @ (np.array([0.1, 0.0]) - rest)


def slope(run, exact, steps=(0.04, 0.02, 0.01)):
    errors = [abs(run(h) - exact) for h in steps]
    return np.log2(errors[-2] / errors[-1]), errors[-1]


# ---- orders


@pytest.mark.parametrize("algorithm", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(
    ("options", "order"),
    [
        ({}, 1),
        ({"feedthrough": False}, 1),
        ({"extrapolation": "linear"}, 2),
        ({"iterations": 3}, 2),
        ({"iterations": 3, "extrapolation": "linear"}, 2),
    ],
)
def test_closed_loop_converges_with_its_order(loop, algorithm, options, order):
    def end(h):
        return loop.simulate(2.0, h, algorithm=algorithm, **options)["plant.x"][-1]

    found, error = slope(end, closed(2.0)[0])
    assert abs(found - order) < 0.15
    assert error < 5e-3


def test_fmus_that_cannot_interpolate_get_the_middle_of_the_line_and_keep_the_order(system):
    made = system({"plant": ("mass_hold", {"x0": 0.1}), "control": ("pd", {"r": 0.5})}, WIRES)
    found, _ = slope(lambda h: made.simulate(2.0, h, extrapolation="linear")["plant.x"][-1], closed(2.0)[0])
    assert abs(found - 2) < 0.15


def two_lags(t):
    """T a' = 1 + 0.5 b − a,  T b' = a − b, T = 0.5, from zero: `a` is a lag of a gain of b."""
    A = np.array([[-2.0, 1.0], [2.0, -2.0]])
    rest = np.linalg.solve(A, [-2.0, 0.0])
    return rest - expm(A * t) @ rest


@pytest.fixture
def lags(system):
    fmus = {"mix": ("gain", {"c": 1.0, "k": 0.5}), "a": ("lag", {}), "b": ("lag", {})}
    return system(fmus, ["b.y -> mix.u", "mix.y -> a.u", "a.y -> b.u"])


@pytest.mark.parametrize(
    ("options", "order"),
    [({}, 1), ({"algorithm": "gauss-seidel"}, 1), ({"extrapolation": "linear"}, 2),
     ({"algorithm": "gauss-seidel", "extrapolation": "linear"}, 2), ({"iterations": 4}, 2)],
)  # fmt: skip
def test_ring_of_three_fmus_converges(lags, options, order):
    found, _ = slope(lambda h: lags.simulate(1.0, h, **options)["b.y"][-1], two_lags(1.0)[1])
    assert abs(found - order) < 0.15


@pytest.mark.parametrize("algorithm", ["jacobi", "gauss-seidel"])
def test_two_hundred_fmus_in_a_ring(system, algorithm):
    """Each goes a part of the way to the one before it: where that was, or with Gauss–Seidel is already."""
    n, h, part = 200, 0.05, 1.0 - np.exp(-0.1)
    fmus = {f"u{k}": ("lag", {"y0": float(k % 7)}) for k in range(n)}
    made = system(fmus, [f"u{k - 1 if k else n - 1}.y -> u{k}.u" for k in range(n)])
    order = [f"u{k}" for k in range(n)] if algorithm == "gauss-seidel" else []
    found = made.simulate(1.0, h, algorithm=algorithm, order=order)
    y = np.arange(n) % 7.0
    for _ in range(20):
        before = y.copy()
        for k in range(n):
            source = y if algorithm == "gauss-seidel" else before
            y[k] += part * (source[k - 1] - y[k])
    np.testing.assert_allclose([found[f"u{k}.y"][-1] for k in range(n)], y, rtol=0, atol=1e-12)


def test_gauss_seidel_is_ahead_of_jacobi_by_one_step(system):
    """A chain a → b: the input of b is a's old value with Jacobi, its new one with Gauss–Seidel: one step of delay."""
    fmus = {"a": ("lag", {"u": 1.0}), "b": ("gain", {}), "c": ("lag", {})}
    made = system(fmus, ["a.y -> b.u", "b.y -> c.u"])
    jacobi = made.simulate(1.0, 0.1)
    seidel = made.simulate(1.0, 0.1, algorithm="gauss-seidel")
    assert seidel.info.order == ("a", "b", "c")
    # c sees one input sequence, one step apart
    late = made.simulate(1.0, 0.1, algorithm="gauss-seidel", order=("c", "b", "a"))
    np.testing.assert_allclose(late["c.y"], jacobi["c.y"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(jacobi["c.y"][2:], seidel["c.y"][1:-1], rtol=0, atol=1e-15)
    assert np.max(np.abs(jacobi["c.y"] - seidel["c.y"])) > 0.05


def test_feedthrough_saves_one_step_of_delay(loop):
    """A controller without memory: its output belongs to the time of its inputs, or to that one step before."""
    now, late = loop.simulate(1.0, 0.01), loop.simulate(1.0, 0.01, feedthrough=False)
    u = 8.0 * (0.5 - now["plant.x"]) - now["plant.v"]
    np.testing.assert_allclose(now["control.u"], u, rtol=0, atol=1e-14)
    u = 8.0 * (0.5 - late["plant.x"]) - late["plant.v"]
    np.testing.assert_allclose(late["control.u"][1:], u[:-1], rtol=0, atol=1e-14)


def test_recorded_accelerations_belong_to_their_time(loop):
    found = loop.simulate(1.0, 0.01)
    x, v, u = found["plant.x"], found["plant.v"], found["control.u"]
    np.testing.assert_allclose(found["plant.a"], u - 0.5 * v - 4.0 * x, rtol=0, atol=1e-13)


# ---- order of FMUs, loops


def test_automatic_order_puts_what_feeds_through_last(loop, lags):
    assert fmu_order(loop) == ("plant", "control")
    order = fmu_order(lags)
    assert order.index("mix") == order.index("b") + 1 or (order[0] == "mix" and order[-1] == "b")


def test_linear_loop_closes_at_its_fixed_point(system):
    """y = 1 + 0.5 z, z = 2 − 3 y: iteration alone diverges (gain −1.5); y = 0.8, z = −0.4."""
    fmus = {"a": ("gain", {"c": 1.0, "k": 0.5}), "b": ("gain", {"c": 2.0, "k": -3.0})}
    made = system(fmus, ["b.y -> a.u", "a.y -> b.u"])
    assert set(made.loops[0]) == {"a.y", "b.y"}
    found = made.simulate(0.1, 0.05)
    np.testing.assert_allclose(found["a.y"], 0.8, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["b.y"], -0.4, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("k", "q"), [(0.0, 0.9), (0.0, 4.0), (-6.0, 0.3)])
def test_nonlinear_loop_closes(system, k, q):
    """u = 0.2 + k u + q cos u, contracting, oscillating or diverging under plain iteration."""
    found = system({"a": ("gain", {"c": 0.2, "k": k, "q": q})}, ["a.y -> a.u"]).simulate(0.1, 0.1)
    y = found["a.y"][0]
    assert abs(0.2 + k * y + q * np.cos(y) - y) < 1e-8
    if q < 1.0 and k == 0.0:
        assert abs(y - brentq(lambda u: 0.2 + q * np.cos(u) - u, 0.0, 2.0)) < 1e-8


def test_loop_of_three_closes_at_every_step(system):
    """A loop driven by a lag: y = s + 0.4 (0.5 y) at all times."""
    fmus = {"s": ("lag", {"u": 1.0}), "a": ("gain", {"k": 0.5}), "b": ("gain", {"k": 0.4}), "c": ("gain", {"k": 2.0})}
    made = system(fmus, ["a.y -> b.u", "b.y -> c.u", "c.y -> a.u"])
    found = made.simulate(0.5, 0.05, set={"a.c": 0.6})
    y = found["a.y"]
    np.testing.assert_allclose(y, 0.6 + 0.5 * 2.0 * 0.4 * y, rtol=0, atol=1e-9)


def test_dependencies_that_nobody_lists_cost_time_only(system, loop):
    """An FMU without dependencies may depend on everything: a loop that closes at once, and the same numbers."""
    made = system({"plant": ("mass_silent", {"x0": 0.1}), "control": ("pd", {"r": 0.5})}, WIRES)
    assert made.loops
    assert not loop.loops
    for options in ({}, {"extrapolation": "linear"}, {"algorithm": "gauss-seidel"}):
        one, other = (s.simulate(0.5, 0.01, **options)["plant.x"] for s in (made, loop))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_loop_without_solution_is_named(system):
    """y = 1 + y has none."""
    made = system({"a": ("gain", {"c": 1.0, "k": 1.0})}, ["a.y -> a.u"])
    with pytest.raises(SimulationError, match=r"loop through a\.y does not close: 'a\.y' is .* away") as caught:
        made.simulate(0.1, 0.1)
    assert "initialisation at t = 0 s" in str(caught.value)
    assert len(caught.value.result) == 0


def test_loop_of_whole_numbers(system):
    """n = n closes; n = n + 1 never does."""
    made = system({"a": ("sink", {"n": 3})}, ["a.n2 -> a.n", "a.flag2 -> a.flag"])
    assert made.simulate(0.1, 0.1).info.finished
    with pytest.raises(
        SimulationError, match=r"loop through a\.n2 does not close: values that are not real numbers change"
    ):
        made.simulate(0.1, 0.1, set={"a.plus": 1})


# ---- error control


def test_estimate_is_the_error_of_a_step(loop):
    """One step of 0.02 from rest: the estimate against the closed form."""
    found = loop.simulate(0.02, 0.02, tolerance=1.0)
    x, v = closed(0.02)
    u = 8.0 * (0.5 - x) - v
    exact = {"plant.x": x, "plant.v": v, "control.u": u, "plant.a": u - 0.5 * v - 4.0 * x}
    true = max(abs(found[name][-1] - value) / (1.0 + abs(value)) for name, value in exact.items())
    assert 0.7 < found.info.error / true < 1.4


def test_steps_grow_where_nothing_happens(loop):
    found = loop.simulate(40.0, 0.01, tolerance=1e-2, extrapolation="linear")
    steps = np.diff(found.t)
    assert steps[-2] > 5.0 * steps[2]
    assert abs(found.t[-1] - 40.0) < 1e-12


def test_events_of_steps_that_were_taken_back_are_not_told(system):
    made = system({"clock": ("clock", {}), "lag": ("lag", {})}, ["clock.wave -> lag.u"])
    found = made.simulate(1.0, 0.4, tolerance=1e-2)
    assert [event.time for event in found.info.events] == pytest.approx([0.25, 0.5, 0.75])
    y = 0.0
    for k in range(4):
        y = (-1.0) ** k + (y - (-1.0) ** k) * np.exp(-0.5)
    # the lag is exact for inputs that are held
    np.testing.assert_allclose(found["lag.y"][-1], y, rtol=0, atol=1e-13)


def test_largest_step_is_kept_and_smallest_one_named(loop):
    assert np.max(np.diff(loop.simulate(2.0, 0.01, tolerance=0.5, max_step=0.05).t)) <= 0.05 + 1e-12
    with pytest.raises(SimulationError, match=r"shorter ones are below min_step = 0\.01 s"):
        loop.simulate(1.0, 0.05, tolerance=1e-6, min_step=0.01)


# ---- going back


def test_repeated_steps_are_exact_to_the_bit(loop):
    """Steps of a run, each taken, undone and taken again, give the same numbers as the run."""
    plain = loop.simulate(0.2, 0.01)
    with Master(loop, loop.planned(0.2, 0.01)).open() as master:
        rows = [master.point.y.copy()]
        rows += [there_and_back(master, 0.01 * k + 0.003, 0.01 * (k + 1)) for k in range(20)]
        places = [master.wiring.labels.index(name) for name in ("plant.x", "plant.v", "control.u")]
    for name, place in zip(("plant.x", "plant.v", "control.u"), places, strict=True):
        np.testing.assert_array_equal(plain[name], np.array(rows)[:, place])


def test_iterations_settle(loop):
    few, many = (loop.simulate(0.5, 0.02, iterations=n).info for n in (1, 30))
    assert many.residual <= 1e-10 < few.residual
    assert few.iterations == 25 < many.iterations < 25 * 30


def test_what_needs_states_says_who_has_none(system):
    made = system({"plant": ("mass_stateless", {}), "control": ("pd", {})}, WIRES)
    for options in ({"iterations": 1}, {"tolerance": 1e-3}, {"crossings": [Crossing("plant.x")]}):
        with pytest.raises(InputError, match=r"earlier state, but plant cannot \(canGetAndSetFMUstate is false\)"):
            made.simulate(1.0, 0.1, **options)
    assert made.simulate(1.0, 0.1).info.finished


# ---- rates


def test_slow_fmu_takes_large_steps_with_the_inputs_of_their_beginning(system):
    """A controller each fifth step: the force is a staircase of u at multiples of 5 h."""
    made = system({"plant": ("mass", {"x0": 0.1}), "control": ("pd", {"r": 0.5}, 5)}, WIRES)
    found = made.simulate(1.0, 0.01)
    A, b = np.array([[0.0, 1.0], [-4.0, -0.5]]), np.array([0.0, 1.0])
    big = expm(np.block([[A, b[:, None]], [np.zeros((1, 3))]]) * 0.01)
    x, u, rows = np.array([0.1, 0.0]), 0.0, []
    for k in range(100):
        if k % 5 == 0:
            u = 8.0 * (0.5 - x[0]) - x[1]
        x = big[:2, :2] @ x + big[:2, 2] * u
        rows.append(x[0])
    np.testing.assert_allclose(found["plant.x"][1:], rows, rtol=0, atol=1e-10)
    assert found.info.calls == 100 + 20


def test_slow_fmus_converge_too(system):
    def end(h, **options):
        fmus = {"mix": ("gain", {"c": 1.0, "k": 0.5}), "a": ("lag", {}), "b": ("lag", {}, 4)}
        made = system(fmus, ["b.y -> mix.u", "mix.y -> a.u", "a.y -> b.u"])
        return made.simulate(1.0, h, **options)["a.y"][-1]

    assert abs(slope(end, two_lags(1.0)[0], (0.05, 0.025, 0.0125))[0] - 1) < 0.25
    found, _ = slope(lambda h: end(h, extrapolation="linear"), two_lags(1.0)[0], (0.025, 0.0125, 0.00625))
    assert abs(found - 2) < 0.3


def test_slow_fmu_finishes_its_last_step_at_the_end(system):
    found = system({"a": ("lag", {"u": 1.0}, 4)}, []).simulate(1.0, 0.1)
    np.testing.assert_allclose(found["a.y"][-1], 1.0 - np.exp(-2.0), rtol=0, atol=1e-14)


def test_slow_fmu_may_not_discard(system):
    made = system({"clock": ("clock", {}, 2), "lag": ("lag", {})}, ["clock.wave -> lag.u"])
    with pytest.raises(SimulationError, match=r"communicates at each 2 steps, and others have gone further"):
        made.simulate(1.0, 0.1)


def test_discarded_steps_with_slow_fmus_beside(system):
    """The lag sees the wave at multiples of 0.2 only, though steps end at 0.25 and 0.75 too."""
    made = system({"clock": ("clock", {}), "lag": ("lag", {}, 2)}, ["clock.wave -> lag.u"])
    y = 0.0
    for wave in (1.0, 1.0, -1.0, 1.0, -1.0):
        y = wave + (y - wave) * np.exp(-0.4)
    np.testing.assert_allclose(made.simulate(1.0, 0.1)["lag.y"][-1], y, rtol=0, atol=1e-13)


def test_slow_fmu_has_whole_numbers_of_its_beginning(system):
    """Ticks at 0.25, 0.5 …: a step of three times 0.25 from t has the ticks of t."""
    made = system({"clock": ("clock", {}), "sink": ("sink", {}, 3)}, ["clock.ticks -> sink.n"])
    found = made.simulate(1.5, 0.25, feedthrough=False)
    np.testing.assert_array_equal(found["sink.n2"], [0, 0, 0, 0, 0, 0, 3])


def test_steps_that_are_repeated_want_one_rate(system):
    made = system({"a": ("lag", {}, 4)})
    with pytest.raises(InputError, match="but a communicate at a multiple of the step"):
        made.simulate(1.0, 0.1, tolerance=1e-3)


# ---- discarded steps and events


def test_discarded_step_ends_where_the_fmu_got_to(system):
    """The clock switches at multiples of 0.25; with h = 0.1 these are not communication points by themselves."""
    made = system({"clock": ("clock", {}), "lag": ("lag", {})}, ["clock.wave -> lag.u"])
    found = made.simulate(1.0, 0.1)
    assert [event.time for event in found.info.events if event.kind == "discard"] == pytest.approx([0.25, 0.75])
    assert {0.25, 0.5, 0.75}.issubset(np.round(found.t, 12))
    y = 0.0
    for k in range(4):
        y = (-1.0) ** k + (y - (-1.0) ** k) * np.exp(-0.5)
    np.testing.assert_allclose(found["lag.y"][-1], y, rtol=0, atol=1e-13)
    assert found["clock.ticks"][-1] == 4.0


def test_discard_with_fmus_that_cannot_go_back(system):
    """Whoever cannot go back steps last, so only its own discarded step is beyond repair."""
    made = system({"lag": ("lag_stateless", {}), "clock": ("clock", {})}, ["clock.wave -> lag.u"])
    assert made.simulate(1.0, 0.1).info.finished
    made = system({"clock": ("clock_stateless", {})})
    with pytest.raises(
        SimulationError, match=r"reached 0.25 s, but clock cannot go back to an earlier state"
    ) as caught:
        made.simulate(1.0, 0.1)
    assert caught.value.result.t[-1] == pytest.approx(0.2)
    made = system({"clock": ("clock", {})})
    with pytest.raises(SimulationError, match="rollback is off, so no states were kept"):
        made.simulate(1.0, 0.1, rollback=False)
    made = system({"clock": ("clock", {}), "plant": ("mass_fixed", {})})
    with pytest.raises(SimulationError, match="plant cannot take steps of different size"):
        made.simulate(1.0, 0.1)


def test_fmu_that_is_stuck_is_named(system):
    """It does not say how far it would get: steps are halved down to a thousandth of the macro step."""
    made = system({"clock": ("clock", {"stuck": 0.33})})
    with pytest.raises(
        SimulationError,
        match=r"FMU 'clock' discarded .*; shorter steps did not help\. It said: out of springs\.\n  Look",
    ) as e:
        made.simulate(1.0, 0.1)
    assert 0.0 <= 0.33 - e.value.result.t[-1] < 1e-3 * 0.1
    assert e.value.result.info.rejected < 100


def test_fmu_may_end_the_run(system):
    found = system({"clock": ("clock", {"last": 0.42})}).simulate(1.0, 0.1)
    assert found.t[-1] == pytest.approx(0.42)
    assert found.info.message == "ended by FMU 'clock' at t = 0.42 s. It said: that was the last tick."
    assert not found.info.finished
    # where a step ends anyhow, and with steps of variable size
    assert system({"clock": ("clock", {"last": 0.4})}).simulate(1.0, 0.1).t[-1] == pytest.approx(0.4)
    pair = system({"clock": ("clock", {"last": 0.42}), "lag": ("lag", {})}, ["clock.wave -> lag.u"])
    found = pair.simulate(1.0, 0.1, tolerance=1e-2)
    assert found.t[-1] == pytest.approx(0.42)
    assert found.info.events[-1].kind == "end"


def test_fmu_that_fails_is_named_with_what_it_said(system):
    made = system({"clock": ("clock", {"broken": 0.42})})
    with pytest.raises(
        SimulationError, match=r"FMU 'clock': fmi2DoStep from t = 0\.4 s by 0\.1 s ended with status error.*is broken"
    ) as caught:
        made.simulate(1.0, 0.1)
    assert caught.value.result.t[-1] == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("function", "status", "then"),
    [
        ("fmi2DoStep", 3, ["fmi2FreeFMUstate", "fmi2FreeInstance"]),
        ("fmi2DoStep", 5, ["fmi2FreeFMUstate", "fmi2FreeInstance"]),
        ("fmi2DoStep", 4, []),
        ("fmi2GetReal", 4, []),
        ("fmi2FreeFMUstate", 4, ["fmi2FreeFMUstate"]),
        ("fmi2Terminate", 0, ["fmi2FreeFMUstate", "fmi2Terminate", "fmi2FreeInstance"]),
    ],
)
def test_what_is_called_after_an_error(loop, monkeypatch, function, status, then):
    """After an error no FMU is terminated, and after fatal nothing of it is called."""
    called = []
    with contextlib.suppress(FMUError), Master(loop, loop.planned(0.2, 0.1)).open() as master:
        slave = master.ports[0].slave
        library = slave.calls.fmu
        kept, real = slave.save(), dict(library._functions)

        def noted(name):
            def call(*arguments):
                called.append(name)
                return status if name == function else real[name](*arguments)

            return call

        monkeypatch.setattr(library, "_functions", {name: noted(name) for name in real})
        if function == "fmi2DoStep":
            slave.step(0.0, 0.1, True)
        elif function == "fmi2GetReal":
            slave.get_reals(master.ports[0].outputs)
    assert called == ([function] if function in ("fmi2DoStep", "fmi2GetReal") else []) + then
    assert kept
    if "fmi2FreeInstance" not in then:
        # what the master must not do, the test does
        real["fmi2FreeInstance"](library.component)
        library.freeLibrary()


def test_fmu_that_refuses_a_value_is_named(system):
    made = system({"a": ("lag", {"u": 1.0}), "b": ("lag", {})}, [Connection("a.y", "b.u", Linear(1e308, 1e308))])
    with pytest.raises(SimulationError, match=r"FMU 'b': fmi2SetReal of \[inf\] at t = .*not finite"):
        made.simulate(5.0, 0.1)


def test_steps_end_at_instants(loop):
    found = loop.simulate(1.0, 0.1, instants=[0.333, 0.7, 0.95])
    assert {0.333, 0.7, 0.95}.issubset(np.round(found.t, 12))
    assert len(found) == 13
    assert [event.kind for event in found.info.events] == ["instant"] * 3
    found = loop.simulate(1.0, 0.1, instants=[0.333], tolerance=1e-1)
    assert np.min(np.abs(found.t - 0.333)) < 1e-9


@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-2}])
def test_crossing_is_found(system, options):
    """1 − e^(−2t) = 0.5 at t = ln 2 / 2; the FMU is exact, so the time is as exact as bisection."""
    made = system({"a": ("lag", {"u": 1.0})})
    found = made.simulate(1.0, 0.1, crossings=[Crossing("a.y", 0.5)], **options)
    (event,) = found.info.events
    assert event.what == "a.y"
    assert abs(event.time - 0.5 * np.log(2.0)) < 1e-8
    assert found.info.finished
    assert found.t[-1] == pytest.approx(1.0)
    stopped = made.simulate(1.0, 0.1, crossings=[Crossing("a.y", 0.5, "up", stop=True)], **options)
    assert stopped.t[-1] == event.time
    assert stopped.info.message.startswith("'a.y' reached 0.5 at t = 0.3465")
    assert not made.simulate(1.0, 0.1, crossings=[Crossing("a.y", 0.5, "down")], **options).info.events


def test_levels_have_units(system):
    made = system({"a": ("lag_deg", {"u": "1 rad"})})
    found = made.simulate(1.0, 0.1, crossings=[Crossing("a.y", "0.5 rad", stop=True)])
    assert abs(found.t[-1] - 0.5 * np.log(2.0)) < 1e-8
    with pytest.raises(InputError, match=r"crossings\[0\] is '1 mm', which is a length, expected something in 'deg'"):
        made.simulate(1.0, 0.1, crossings=[Crossing("a.y", "1 mm")])


def test_fmus_of_fixed_step_get_nothing_else(system):
    made = system({"plant": ("mass_fixed", {"x0": 0.1})})
    with pytest.raises(InputError, match="steps of different size, but plant cannot take them"):
        made.simulate(1.0, 0.1, instants=[0.33])
    with pytest.raises(InputError, match=r"end is 10\.5 steps after the start, but plant take whole steps only"):
        made.simulate(1.05, 0.1)
    assert made.simulate(1.0, 0.1).info.finished


# ---- units of measure, types


def test_units_are_converted(system):
    """The same loop with a controller in millimetres, and a chain from degrees to radians and back."""
    start = {"r": "0.5 m", "kp": 0.008}
    made = system({"plant": ("mass", {"x0": "100 mm"}), "control": ("pd_mm", start)}, WIRES)
    plain = system({"plant": ("mass", {"x0": 0.1}), "control": ("pd", {"r": 0.5})}, WIRES)
    np.testing.assert_allclose(made.simulate(1.0, 0.01)["plant.x"], plain.simulate(1.0, 0.01)["plant.x"], rtol=1e-12)
    made = system(
        {"a": ("lag_deg", {"u": "90 deg"}), "b": ("gain_rad", {}), "c": ("lag_deg", {})}, ["a.y -> b.u", "b.y -> c.u"]
    )
    found = made.simulate(1.0, 0.1)
    np.testing.assert_allclose(found["b.y"], np.deg2rad(found["a.y"]), rtol=1e-15)
    assert found.units["b.y"] == "rad"


def test_integers_truth_values_and_text_travel(system):
    made = system(
        {"clock": ("clock", {}), "sink": ("sink", {}), "lag": ("lag", {})},
        ["clock.ticks -> sink.n", "clock.high -> sink.flag", "clock.word -> sink.text", "clock.ticks -> lag.u"],
        outputs=["*", "sink.n", "lag.u"],
    )
    found = made.simulate(1.0, 0.25)
    np.testing.assert_array_equal(found["clock.ticks"], np.arange(5.0))
    np.testing.assert_array_equal(found["sink.sum"], found["clock.ticks"] + 100.0 * found["clock.high"])
    np.testing.assert_array_equal(found["lag.u"], found["clock.ticks"])
    np.testing.assert_array_equal(found["sink.n2"], found["sink.n"])


# ---- results, life


def test_result_is_a_table(loop, tmp_path):
    from fmpy.util import read_csv, write_csv

    import liegeo

    found = loop.simulate(1.0, 0.01, progress=False)
    assert found.names == ("time", "plant.x", "plant.v", "plant.a", "control.u")
    assert found.dtype.names == found.names
    assert np.asarray(found).shape == (101,)
    assert repr(found) == "CosimResult('system', 101 points to t = 1 s, 4 columns)"
    for write, name in ((found.to_csv, "a.csv"), (found.to_npz, "a.npz"), (found.to_parquet, "a.parquet")):
        np.testing.assert_array_equal(liegeo.results.read_table(write(tmp_path / name)), found.table)
    write_csv(tmp_path / "b.csv", found)
    np.testing.assert_allclose(read_csv(tmp_path / "b.csv")["plant.x"], found["plant.x"])
    figure = found.plot("plant.*", file=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert len(figure.axes) == 3
    with pytest.raises(InputError, match=r"no column 'plant\.y'\. Did you mean 'plant\.x'"):
        found["plant.y"]
    with pytest.raises(InputError, match="no column matches 'q"):
        found.plot("q*")


def test_outputs_are_patterns(loop):
    some = loop.changed(outputs=["plant.x", "control.*", "plant.force", "plant.m"])
    assert some.simulate(0.1, 0.1).names == ("time", "plant.m", "plant.force", "plant.x", "control.u")


def test_everything_is_freed(system, monkeypatch):
    """On every way out: the end, an error at the start, in a step, a discarded step, Ctrl-C."""
    from fmu_export.cosim import instances

    living: list[int] = []
    states: list[int] = []
    folders: list[object] = []

    class Watched(instances.CosimSlave):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            living.append(1)
            self.library = ctypes.CDLL(self.calls.fmu.dll._name)

        def close(self):
            if self._calls is not None:
                super().close()
                living.pop()
                states.append(self.library.frame_states())
                states.append(self.library.frame_alive())

    class Seen(instances.Folders):
        def __init__(self):
            super().__init__()
            folders.append(self._root)

    monkeypatch.setattr("fmu_export.cosim.master.CosimSlave", Watched)
    monkeypatch.setattr("fmu_export.cosim.master.Folders", Seen)
    pair = {"clock": ("clock", {}), "lag": ("lag", {})}
    system(pair, ["clock.wave -> lag.u"]).simulate(1.0, 0.1)
    system(pair, ["clock.wave -> lag.u"]).simulate(1.0, 0.1, tolerance=1e-2, crossings=[Crossing("lag.y", 0.1)])
    for start in ({"broken": 0.3}, {"stuck": 0.3}):
        with pytest.raises(SimulationError):
            system({"clock": ("clock", start), "lag": ("lag", {})}).simulate(1.0, 0.1)
    with pytest.raises(SimulationError):
        system({"a": ("gain", {"c": 1.0})}, ["a.y -> a.u"]).simulate(1.0, 0.1)
    assert not living
    assert set(states) == {0}
    assert len(folders) == 5
    assert not any(folder.exists() for folder in folders)


def test_ctrl_c_returns_what_there_is(loop):
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    found = loop.simulate(1e5, 1e-3)
    timer.join()
    assert found.info.message.startswith("interrupted at t = ")
    assert 1 < len(found) < 10**8
    assert abs(found["plant.x"][-1] - closed(found.t[-1])[0]) < 1e-2


def test_messages_of_fmus_go_to_logging(loop, caplog):
    with caplog.at_level(logging.INFO, logger="liegeo.cosim"):
        loop.simulate(0.1, 0.1, debug=True)
    assert ("liegeo.cosim.plant", logging.INFO, "[logAll] instantiated") in caplog.record_tuples
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="liegeo.cosim"):
        loop.simulate(0.1, 0.1)
    assert not caplog.records


def test_messages_find_their_listener_after_fmpy_ran(loop, built, caplog, capsys):
    """fmpy's native listener is one for the whole process, and does not notice when it is freed."""
    import gc

    from fmpy import simulate_fmu

    options = {"fmi_type": "CoSimulation", "stop_time": 0.1, "output_interval": 0.1, "debug_logging": True}
    for _ in range(3):
        heard = []
        simulate_fmu(str(built("lag")), **options, logger=lambda *said, heard=heard: heard.append(said))
        assert heard
        gc.collect()
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="liegeo.cosim"):
            loop.simulate(0.1, 0.1, debug=True)
        assert [record.name for record in caplog.records] == ["liegeo.cosim.plant", "liegeo.cosim.control"]
        capsys.readouterr()
        simulate_fmu(str(built("lag")), **options)
        assert "[OK] instantiated" in capsys.readouterr().out


def test_the_same_run_twice_is_the_same(loop):
    np.testing.assert_array_equal(loop.simulate(0.5, 0.01).table, loop.simulate(0.5, 0.01).table)


def test_progress_bar_is_shown(loop, capsys):
    loop.simulate(4.0, 1e-3, progress=True)
    assert "of 4 s" in capsys.readouterr().err


def test_start_values_can_be_set(loop):
    found = loop.simulate(0.1, 0.01, set={"plant.x0": "200 mm", "control.kp": 1})
    assert found["plant.x"][0] == 0.2
    with pytest.raises(InputError, match=r"set: names 'plan\.x0', but there is no FMU 'plan'\. Did you mean 'plant'"):
        loop.simulate(0.1, 0.01, set={"plan.x0": 1})


def test_options_are_checked(loop):
    with pytest.raises(InputError, match=r"there is no option 'algoritm'. Did you mean 'algorithm'"):
        loop.simulate(algoritm="jacobi")
    with pytest.raises(
        InputError, match=r"end is -1 s, must be after the start at 0 s\.\n  algorithm is 'euler', expected"
    ):
        loop.changed(experiment=CosimExperiment()).simulate(-1.0, algorithm="euler")
    with pytest.raises(InputError, match=r"step is -0\.1, must be > 0"):
        loop.simulate(1.0, -0.1)
    with pytest.raises(InputError, match=r"order leaves out control; name every FMU once"):
        loop.simulate(1.0, 0.1, algorithm="gauss-seidel", order=["plant"])
    with pytest.raises(InputError, match="order is given, but jacobi steps all FMUs from the same values"):
        loop.simulate(1.0, 0.1, order=["plant", "control"])
    with pytest.raises(InputError, match="iterations is -1, expected how often"):
        loop.simulate(1.0, 0.1, iterations=-1)
    for order, said in ((["plant", "plan"], "names 'plan', which is no FMU"), (["plant"] * 2, "names an FMU twice")):
        with pytest.raises(InputError, match=f"order {said}"):
            loop.simulate(1.0, 0.1, algorithm="gauss-seidel", order=order)
    with pytest.raises(InputError, match=r"instants has nan, expected times"):
        loop.simulate(1.0, 0.1, instants=[np.nan])
    with pytest.raises(InputError, match=r"end is inf, expected a finite number"):
        loop.simulate(np.inf, 0.1)
    with pytest.raises(InputError, match=r"crossings\[0\] has the direction 'left', expected both, up, down"):
        loop.simulate(1.0, 0.1, crossings=[Crossing("plant.x", 0.0, "left")])
    # the step is that of the FMUs, if nobody says
    assert loop.planned(1.0).step == 0.01


def test_library_for_another_system(built, tmp_path):
    import zipfile

    file = tmp_path / "bare.fmu"
    with zipfile.ZipFile(built("lag")) as archive, zipfile.ZipFile(file, "w") as out:
        out.writestr("modelDescription.xml", archive.read("modelDescription.xml"))
    here = Path.cwd()
    with pytest.raises(SimulationError, match=r"FMU 'a': 'bare\.fmu' cannot be loaded: Cannot find shared library"):
        CosimSystem({"a": FMU(file)}).simulate(1.0, 0.1)
    assert Path.cwd() == here


def test_fmu_that_gives_no_instance(system):
    made = system({"fine": ("lag", {}), "refused": ("lag", {})})
    with pytest.raises(
        SimulationError, match=r"FMU 'refused': 'lag\.fmu' gave no instance\. It said: no licence for ref"
    ):
        made.simulate(1.0, 0.1)


def test_fmu_without_states_saves_none(system):
    made = system({"a": ("lag_stateless", {})})
    with (
        Master(made, made.planned(1.0, 0.1)).open() as master,
        pytest.raises(InputError, match=r"FMU 'a': 'lag_stateless\.fmu' cannot save its state"),
    ):
        master.ports[0].slave.save()


def test_all_fixtures_are_valid_fmus(built):
    from fmpy.validation import validate_fmu

    for name in c_fmus.FMUS:
        if name not in c_fmus.FMI3_ONLY:
            assert validate_fmu(str(built(name))) == [], name
