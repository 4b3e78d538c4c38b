"""FMUs for model exchange under the master, with a solver around them; the oracles are closed forms and SciPy."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import cosim_fixtures
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from scipy.integrate import solve_ivp

import fmu_export
from fmu_export.cosim import FMU, Connection, CosimSystem, Linear, load_system, save_system
from fmu_export.exchange_solver import METHODS, ExchangeSolver
from liegeo.errors import InputError, ModelError, ModelFileError, SimulationError

# FMUs are compiled in C, and validation runs them in processes of their own.
pytestmark = pytest.mark.foreign

built = cosim_fixtures.built
folder = cosim_fixtures.folder
VERSIONS = pytest.mark.parametrize("fmi", [2, 3])


@VERSIONS
@pytest.mark.parametrize("name", ["bounce", "oscillator", "switch", "ticker"])
def test_fixtures_are_valid_fmus(built, name, fmi):
    assert validate_fmu(str(built(name, fmi))) == []


@VERSIONS
@pytest.mark.parametrize("options", [{"step": 0.05}, {"step": 1.0}, {"step": 0.1, "tolerance": 1e-3}])
def test_a_ball_bounces_at_the_times_of_the_closed_form(built, fmi, options):
    """A fall, then flights of 2 v / g; several impacts within one communication step, and the end of the run."""
    g, e = 9.81, 0.7
    t, v = math.sqrt(2.0 / g), e * math.sqrt(2.0 * g)
    impacts = [t]
    while v >= 1.0:
        t += 2.0 * v / g
        v *= e
        impacts.append(t)
    found = CosimSystem({"ball": FMU(built("bounce", fmi))}).simulate(10.0, **options)
    assert found.info.message == f"ended by FMU 'ball' at t = {impacts[-1]:.9g} s"
    assert found.t[-1] == pytest.approx(impacts[-1], abs=1e-12)
    np.testing.assert_array_equal(found["ball.bounces"][:-1], np.searchsorted(impacts, found.t[:-1]))
    # with a tolerance the last step is taken in parts, the last of which may end just before the impact
    assert len(impacts) - ("tolerance" in options) <= found["ball.bounces"][-1] <= len(impacts)
    for k in range(1, len(found) - 1):
        if found["ball.bounces"][k]:
            last = impacts[int(found["ball.bounces"][k]) - 1]
            assert found["ball.last"][k] == pytest.approx(last, abs=1e-12)
            after, speed = found.t[k] - last, math.sqrt(2.0 * g) * e ** found["ball.bounces"][k]
            assert found["ball.h"][k] == pytest.approx(speed * after - 0.5 * g * after**2, abs=1e-10)


def exact(t, mu=1.0, u=0.0):
    """Van der Pol's oscillator and the lag by another method, much more exactly."""
    return solve_ivp(
        lambda _, y: [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0] + u, (u - y[2]) / 0.5],
        (t[0], t[-1]), [2.0, 0.0, 0.0], method="LSODA", rtol=1e-12, atol=1e-12, t_eval=t,
    ).y  # fmt: skip


@VERSIONS
@pytest.mark.parametrize("method", METHODS)
def test_errors_follow_the_tolerance(built, fmi, method):
    errors = []
    for tolerance in (1e-4, 1e-8):
        fmu = FMU(built("oscillator", fmi), {"u": 0.3}, solver={"method": method, "tolerance": tolerance})
        found = CosimSystem({"a": fmu}).simulate(5.0, 0.25)
        y = exact(found.t, u=0.3)
        errors.append(max(np.abs(found["a.x"] - y[0]).max(), np.abs(found["a.lagged"] - y[2]).max()))
    # the error of a run is that of some tens of steps, which the oscillator makes larger
    assert errors[0] < 1e-2
    assert errors[1] < 1e-6
    # rk-853 is far better than it must be already
    assert errors[1] < max(1e-2 * errors[0], 1e-8)


def test_a_stiff_system_takes_an_implicit_method(built):
    """With mu = 1000 an explicit method would take more than ten thousand steps for this."""
    stiff = FMU(built("oscillator"), {"mu": 1000.0}, solver={"method": "radau-5"})
    found = CosimSystem({"a": stiff}).simulate(100.0, 10.0)
    np.testing.assert_allclose(found["a.x"], exact(found.t, mu=1000.0)[0], rtol=1e-5)


@VERSIONS
def test_time_events_and_step_events(built, fmi):
    """A sawtooth that jumps each quarter of a second, and a ramp that is set back where a step ended above 1."""
    one = CosimSystem({"a": FMU(built("switch", fmi))}).simulate(2.0, 0.07)
    # at a communication point that is an event, what it has become
    np.testing.assert_array_equal(one["a.saw"], np.floor(one.t / 0.25 + 1e-9))
    np.testing.assert_allclose(one["a.sum"], 3.0 * one.t, rtol=0, atol=1e-12)
    assert one["a.resets"][-1] >= 5
    none = CosimSystem({"a": FMU(built("ticker", fmi), {"period": 0.1})}).simulate(1.0, 0.37)
    np.testing.assert_array_equal(none["a.saw"], np.floor(none.t / 0.1 + 1e-9))


@VERSIONS
def test_inputs_that_are_not_continuous_are_set_at_events(built, fmi):
    """The FMU refuses them at any other time."""
    fmus = {"a": FMU(built("ticker", fmi), {"period": 0.5}), "b": FMU(built("switch", fmi), {"period": 10.0})}
    found = CosimSystem(fmus, ["a.saw -> b.command"], ["*"]).simulate(2.0, 0.25)
    # Jacobi: what was there where the step began
    np.testing.assert_array_equal(found["b.taken"][1:], found["a.saw"][:-1])


@VERSIONS
@pytest.mark.parametrize(
    ("options", "order"),
    [({}, 1), ({"extrapolation": "linear"}, 2), ({"iterations": 3}, 2), ({"algorithm": "gauss-seidel"}, 1)],
)
def test_orders_of_the_master_are_those_of_fmus_that_are_exact(built, fmi, options, order):
    """Inputs are held, or straight lines, over a step, as co-simulation has them."""
    tight = {"tolerance": 1e-11, "method": "rk-853"}

    def error(h):
        fmus = {"a": FMU(built("oscillator", fmi), solver=tight), "b": FMU(built("oscillator", fmi), solver=tight)}
        found = CosimSystem(fmus, ["a.x -> b.u"], ["a.x", "b.lagged"]).simulate(1.0, h, **options)
        y = solve_ivp(
            lambda _, y: [y[1], (1.0 - y[0] ** 2) * y[1] - y[0], (y[0] - y[2]) / 0.5],
            (0.0, 1.0), [2.0, 0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=found.t,
        ).y  # fmt: skip
        return np.abs(found["b.lagged"] - y[2]).max()

    assert math.log2(error(0.1) / error(0.05)) == pytest.approx(order, abs=0.25)


@VERSIONS
def test_a_step_that_was_undone_has_the_same_bits(built, fmi):
    """With what the solver remembers, events and inputs."""
    fmus = {name: FMU(built(name, fmi)) for name in ("bounce", "oscillator", "switch")}
    wires = [Connection("bounce.h", "oscillator.u", Linear(0.1)), "oscillator.x -> switch.command"]
    system = CosimSystem(fmus, wires)
    with fmu_export.cosim.master.Master(system, system.planned(3.0, 0.1, extrapolation="linear")).open() as master:
        for k in range(1, 8):
            master._reach(0.1 * k)
        cosim_fixtures.there_and_back(master, 0.73, 0.85)


@VERSIONS
def test_a_direct_dependency_is_evaluated_at_communication_points(built, fmi):
    """y = x3 + 2 u follows u at once, within an algebraic loop too."""
    loop = CosimSystem(
        {"a": FMU(built("oscillator", fmi))}, [Connection("a.y", "a.u", Linear(-0.25, 1.0))], ["a.*", "a.u"]
    )
    assert loop.loops == (("a.y",),)
    found = loop.simulate(1.0, 0.01)
    np.testing.assert_allclose(found["a.u"], (1.0 - 0.25 * found["a.lagged"]) / 1.5, rtol=1e-9)


@VERSIONS
def test_where_there_are_no_rates_steps_are_shorter_and_then_discarded(built, fmi):
    """Beyond |x| = 2.005 the FMU discards; the solver says how far it got, and the master that it is stuck."""
    tight = CosimSystem({"a": FMU(built("oscillator", fmi), {"limit": 1.5, "u": 0.0})})
    with pytest.raises(
        SimulationError, match=r"FMU 'a' discarded the step.*|no step from t = 0 s on is accurate enough"
    ):
        tight.simulate(1.0, 0.1)


def test_an_endless_event_is_said(built):
    stuck = CosimSystem({"a": FMU(built("switch"), {"stuck": 0.5})})
    with pytest.raises(SimulationError, match=r"solver: more than 1000 events at t = 0\.5 s"):
        stuck.simulate(1.0, 0.1)


@VERSIONS
def test_everything_is_freed(built, fmi, monkeypatch):
    left = []

    class Watched(fmu_export.cosim.master.CosimSlave):
        def close(self):
            library = ctypes.CDLL(self.calls.fmu.dll._name) if self._calls is not None else None
            super().close()
            if library is not None:
                left.extend([library.frame_alive(), library.frame_states()])

    monkeypatch.setattr("fmu_export.cosim.master.CosimSlave", Watched)
    CosimSystem({"a": FMU(built("bounce", fmi))}).simulate(10.0, 0.1, tolerance=1e-2)
    CosimSystem({"a": FMU(built("oscillator", fmi))}).simulate(0.1, 0.1)
    assert left == [0, 0, 0, 0]


# ---- files, and an FMU on its own


TEXT = """
cosim: 2
fmus:
  a: {fmu: oscillator.fmu, kind: model exchange, solver: {method: rk-853, tolerance: 1e-9, max_step: 50 ms}}
  b: lag.fmu
connections: [a.x -> b.u]
experiment: {end: 1 s, step: 100 ms}
"""


def test_system_files(folder, tmp_path):
    system = load_system(folder(TEXT, "oscillator", "lag"))
    assert system.fmus["a"].exchange_solver == ExchangeSolver("rk-853", 1e-9, 0.05)
    assert system.descriptions["b"].kind == "co-simulation"
    first = system.simulate()
    for name in ("again.yaml", "again.ssp"):
        again = load_system(save_system(system, tmp_path / name))
        assert again.fmus["a"].kind == "model exchange"
        assert again.simulate().table.tobytes() == first.table.tobytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("model exchange", "model exchanges"), r"kind is 'model exchanges', expected co-simulation or model exchange"),
        (("method: rk-853", "method: euler"), r"solver\.method is 'euler', expected rk-54, rk-853, radau-5"),
        (("method: rk-853", "methods: rk-853"), r"solver\.methods is no key here\. Did you mean 'method'\?"),
        (("tolerance: 1e-9", "tolerance: 0"), r"solver\.tolerance is 0, must be > 0"),
        (("50 ms", "50 mm"), r"solver\.max_step is .*50 mm"),
        (("50 ms", ".inf"), r"solver\.max_step is .*inf"),
        (("solver: {", "solvers: {"), r"solvers is no key here\. Did you mean 'solver'\?"),
        (
            ("kind: model exchange", "kind: co-simulation"),
            r"'oscillator\.fmu' is for model exchange only, expected co-sim",
        ),
        (
            ("b: lag.fmu", "b: {fmu: lag.fmu, kind: model exchange}"),
            r"'lag\.fmu' is for co-simulation only, expected model",
        ),
        (
            ("b: lag.fmu", "b: {fmu: lag.fmu, solver: {method: rk-54}}"),
            r"is given, but the FMU is run by co-simulation and",
        ),
    ],
)
def test_system_files_that_are_wrong(folder, change, said):
    with pytest.raises(ModelFileError, match=said):
        load_system(folder(TEXT.replace(*change), "oscillator", "lag"))


def test_solvers_that_are_wrong(built):
    for solver, said in (
        ({"tolerance": "1"}, "tolerance is '1', expected a finite number"),
        ({"a": 1}, "a is no key here"),
    ):
        with pytest.raises(ModelError, match=said):
            CosimSystem({"a": FMU(built("oscillator"), solver=solver)})


@VERSIONS
def test_on_its_own(built, fmi):
    table = fmu_export.run(built("oscillator", fmi), 2.0, interval=0.1, solver=ExchangeSolver("radau-5", 1e-9))
    np.testing.assert_allclose(table["x"], exact(table["time"])[0], rtol=0, atol=1e-6)
    found = fmu_export.info(built("oscillator", fmi))
    assert found.kinds == ("model exchange",)
    assert found.fmi == f"{fmi}.0"


def test_on_the_command_line(built, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from liegeo.cli import app

    monkeypatch.chdir(tmp_path)
    command = ["fmu", "run", str(built("oscillator")), "--end", "1", "--solver", "rk-853", "--tolerance", "1e-9"]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0, ran.output
    assert Path("oscillator.csv").read_text().startswith("time")
    wrong = CliRunner().invoke(app, [*command[:-4], "--kind", "co-simulation"])
    assert wrong.exit_code != 0
    assert isinstance(wrong.exception, InputError) or "expected co-simulation" in wrong.output


@VERSIONS
@pytest.mark.parametrize("name", ["bounce", "oscillator", "switch", "ticker"])
def test_validation(built, name, fmi):
    report = fmu_export.validate(built(name, fmi), isolated=(name, fmi) == ("oscillator", 3))
    assert report.ok, report
    names = ("dependencies", "rollback", "reset", "determinism", "illegal calls")
    assert report.checks == ["description", *(f"model exchange: {check}" for check in names)]
