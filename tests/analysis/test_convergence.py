"""The laboratory's studies: orders come out, drift is seen, methods and problems of one's own, files, messages."""

from __future__ import annotations

import csv
import io

import numba
import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from liegeo import analysis
from liegeo import integrate as li
from liegeo.analysis import convergence, problems
from liegeo.analysis.results import Run
from liegeo.errors import InputError
from liegeo.lie import Product, R

METHODS = (li.LieEuler, li.RKMK2, li.RKMK4, li.RKMK5, li.CF4)


def swing(t, y):
    """A pendulum: y = (angle, speed)."""
    return np.array([y[1], -np.sin(y[0])])


PENDULUM = li.Problem(Product({"angle": R(1), "speed": R(1)}), swing, [1.0, 0.0], 2.0, name="pendulum")
EXPLODES = li.Problem(R(1), lambda t, y: y**2, [1.0], 2.0, reference=[0.0], name="explodes")


def implicit_euler(group, field, compiled):
    """A method of one's own, which dissipates: Y₁ = Y₀ exp(h F(t + h, Y₁)), by iteration."""

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        Y[:] = y
        for _ in range(30):
            field(I, F, t + h, Y, W, K[0])
            group.retract(layout, y, h * K[0], Y)
        out[:] = Y
        return 0

    return step


MINE = li.Method("implicit-euler", 1, implicit_euler)
WITH_ENERGY = analysis.Case(
    "pendulum", "a plane pendulum", PENDULUM, invariants={"energy": lambda t, y: y[:, 1] ** 2 / 2 - np.cos(y[:, 0])}
)


@pytest.mark.parametrize("make", analysis.ALL_CASES, ids=lambda f: f.__name__)
def test_orders_come_out(make):
    """On every case with its own steps; but Euler's method is too rough for a double pendulum.

    On the stiff arm, order five reaches round-off as soon as it is stable: there is no slope to see.
    """
    study = analysis.order_study(METHODS, make)
    assert study.skipped == []
    seen = {order.method: order for order in study.orders}
    if make is problems.double_spherical_pendulum:
        assert np.isnan(seen.pop("lie-euler").observed)
        assert "too few good runs" in repr(study)
    if make is problems.stiff_flexible_arm:
        assert min(run.error for run in study.of(seen.pop("rkmk-5").case, "rkmk-5")) < 1e-12
    for order in seen.values():
        assert order.observed == pytest.approx(order.declared, abs=0.15), order
        assert len(order.used) in (2, 3)
    assert all(run.seconds > 0.0 or run.message for run in study.rows)


def test_the_fit_takes_what_is_asymptotic():
    def runs(*errors):
        return [Run("c", "m", 10 * 2**k, 0.1, error, 0.0) for k, error in enumerate(errors)]

    observed, used = convergence._fit(runs(0.5, 1e-2, 1e-3, 1e-4, 1e-15), 1e-12)
    assert observed == pytest.approx(np.log2(10), rel=1e-12)
    assert used == (20, 40, 80)
    assert convergence._fit(runs(8e-2, 1e-2, 2.5e-3), 1e-12)[1] == (20, 40)
    assert np.isnan(convergence._fit(runs(0.5, 1e-2, np.nan), 1e-12)[0])


def test_a_method_and_a_problem_of_ones_own():
    """No reference: it is made, twice, and the table says so.  The order is that of the method."""
    study = analysis.order_study([MINE, li.RKMK4], PENDULUM, steps=[160, 80, 40])
    assert [round(order.observed, 1) for order in study.orders] == [1.0, 4.0]
    assert study.orders[0].used == (40, 80, 160)
    words = repr(study)
    assert "pendulum: reference by rkmk-5 with 1280 steps, which is" in words
    assert "implicit-euler" in words
    assert [run.steps for run in study.of("pendulum", "rkmk-4")] == [40, 80, 160]


def midpoint(group, field, compiled):
    """The implicit midpoint rule by iteration; compiled where the field is, and then it must not make arrays."""
    retract = group.retract

    def step(layout, I, F, coefficients, t, y, h, W, K, u, Y, out):
        K[0, :] = 0.0
        for _ in range(20):
            for d in range(u.shape[1]):
                u[0, d], u[1, d] = 0.5 * h * K[0, d], h * K[0, d]
            retract(layout, y, u[0], Y)
            status = field(I, F, t + 0.5 * h, Y, W, K[0])
            if status:
                return status
        retract(layout, y, u[1], out)
        return 0

    return numba.njit(step) if compiled else step


def test_a_compiled_method_of_ones_own():
    """It keeps Euler's quadratic invariants."""
    mine = li.Method("my-midpoint", 2, midpoint)
    study = analysis.order_study(mine, problems.free_body_field)
    assert study.orders[0].observed == pytest.approx(2.0, abs=0.05)
    rows = {row.invariant: row for row in analysis.drift(mine, problems.free_body_field, 2000, 0.05).rows}
    assert rows["energy"].largest < 1e-12
    assert rows["Casimir |p|²"].largest < 1e-12


def test_drift_shows_what_dissipates():
    study = analysis.drift([MINE, li.RKMK4, li.DormandPrince54], WITH_ENERGY, steps=1000, h=0.02, tolerance=1e-8)
    by_method = {row.method: row for row in study.rows}
    mine = by_method["implicit-euler"]
    assert mine.end < -0.05
    assert mine.trend < -0.005
    assert mine.largest == pytest.approx(-mine.end, rel=0.2)
    assert by_method["rkmk-4"].largest < 1e-7
    assert by_method["rkmk-54"].largest < 1e-6
    t, change = study.series["pendulum", "rkmk-4", "energy"]
    assert (len(t), t[-1], change[0]) == (201, pytest.approx(20.0), 0.0)
    few = analysis.drift(li.RKMK4, WITH_ENERGY, steps=7)
    assert len(few.series["pendulum", "rkmk-4", "energy"][0]) == 8


def test_drift_of_a_tree():
    """Explicit methods keep the group to round-off, spin exactly, and energy to their order."""
    study = analysis.drift([li.RKMK2, li.RKMK4], problems.heavy_top, steps=2000, h=1e-3)
    rows = {(row.method, row.invariant): row for row in study.rows}
    assert rows["rkmk-4", "group |q|² − 1"].largest < 1e-13
    assert rows["rkmk-4", "spin momentum"].largest < 1e-13
    assert rows["rkmk-4", "energy"].largest < 1e-4 * rows["rkmk-2", "energy"].largest


def test_work_and_precision():
    study = analysis.work_precision([li.RKMK4, li.DormandPrince54], problems.free_body, [40, 80], [1e-4, 1e-8])
    equal, adaptive = study.of("free body", "rkmk-4"), study.of("free body", "rkmk-54")
    assert [row.evaluations for row in equal] == [160, 320]
    assert [row.tolerance for row in adaptive] == [1e-4, 1e-8]
    assert all(row.evaluations == 1 + 6 * (row.steps + row.rejected) for row in adaptive)
    assert adaptive[1].error < 1e-3 * adaptive[0].error
    assert np.isnan(equal[0].ratio)
    assert "evaluations" in repr(study)


def test_what_cannot_run_is_listed():
    study = analysis.order_study([li.GeneralisedAlpha, li.DormandPrince54, li.RKMK4], PENDULUM, steps=[10, 20])
    assert [skip.method for skip in study.skipped] == ["generalised-alpha-0.8", "rkmk-54"]
    assert study.skipped[1].reason == "it chooses its steps itself: see work_precision."
    assert "skipped: pendulum, generalised-alpha-0.8: problem 'pendulum': method" in repr(study)
    assert [order.method for order in study.orders] == ["rkmk-4"]
    drifting = analysis.drift(li.RKMK4, PENDULUM, steps=10)
    assert drifting.rows == []
    assert drifting.skipped[0].reason == "the case has no invariants."
    assert "skipped: pendulum, rkmk-4: the case has no invariants." in repr(drifting)


def test_what_fails_is_a_row():
    with np.errstate(all="ignore"):
        study = analysis.order_study(li.RKMK4, EXPLODES, steps=[20, 40])
        work = analysis.work_precision([li.RKMK4, li.DormandPrince54], EXPLODES, [20], [1e-6])
        case = analysis.Case("explodes", "to infinity", EXPLODES, invariants={"y": lambda t, y: y[:, 0]})
        drift = analysis.drift([li.RKMK4, li.DormandPrince54], case, steps=400, h=0.005)
    assert [np.isnan(row.error) for row in study.rows] == [True, True]
    assert "problem 'explodes', rkmk-4: after t = 1.1, the solution grows without bound" in repr(study)
    assert [row.message != "" for row in work.rows] == [True, True]
    assert "the step became too small" in work.rows[1].message
    assert [row.message != "" for row in drift.rows] == [True, True]
    assert drift.rows[0].largest > 10.0
    for each in (study, work, drift):
        assert isinstance(each.plot(), Figure)


def test_files_and_pictures(tmp_path):
    orders = analysis.order_study([MINE, li.RKMK4], PENDULUM, steps=[20, 40])
    work = analysis.work_precision([li.RKMK4, li.DormandPrince54], PENDULUM, [20, 40], [1e-3, 1e-6])
    drift = analysis.drift([MINE, li.RKMK4], WITH_ENERGY, steps=100, h=0.05)
    for name, study, panels in (("orders", orders, 1), ("work", work, 2), ("drift", drift, 1)):
        path = study.to_csv(tmp_path / f"{name}.csv")
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        assert len(rows) == len(study.rows)
        assert {row["method"] for row in rows} == {row.method for row in study.rows}
        figure = study.plot(tmp_path / f"{name}.png")
        assert len(figure.axes) == panels
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        console = Console(file=io.StringIO(), width=140)
        console.print(study)
        assert study.title in console.file.getvalue()
        column = "largest" if name == "drift" else "error"
        assert [float(row[column]) for row in rows] == [getattr(row, column) for row in study.rows]
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".csv"] * 3 + [".png"] * 3
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OSError, match=r"folder\.csv"):
        orders.to_csv(tmp_path / "folder.csv")
    assert not list(tmp_path.glob(".*"))


def test_progress_is_told():
    lines = []
    analysis.order_study([MINE, li.RKMK4], PENDULUM, steps=[4], progress=lines.append)
    assert lines == ["pendulum: implicit-euler", "pendulum: rkmk-4"]


def test_progress_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(convergence, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=80))
    analysis.order_study([MINE, li.RKMK4], PENDULUM, steps=[4])
    assert "pendulum: rkmk-4" in screen.getvalue()


def test_messages():
    with pytest.raises(InputError, match=r"methods: 'rkmk-4' is no method, expected integrate\.Method"):
        analysis.order_study(["rkmk-4"], PENDULUM)
    with pytest.raises(InputError, match="methods: 'rkmk-4' is the name of 2 of them, expected one"):
        analysis.order_study([li.RKMK4, li.RKMK4], PENDULUM)
    with pytest.raises(InputError, match="cases: 'pendulum' is the name of 2 of them, expected one"):
        analysis.order_study(li.RKMK4, [PENDULUM, PENDULUM])
    with pytest.raises(InputError, match=r"steps is \[10, 0\], expected whole numbers ≥ 1"):
        analysis.order_study(li.RKMK4, PENDULUM, steps=[10, 0])
    with pytest.raises(InputError, match=r"work_precision: tolerances has 2\.0, expected numbers between 0 and 1"):
        analysis.work_precision(li.DormandPrince54, PENDULUM, tolerances=[2.0])
    with pytest.raises(InputError, match=r"drift: steps is 0\.5, expected a whole number ≥ 1"):
        analysis.drift(li.RKMK4, PENDULUM, steps=0.5)
    with pytest.raises(InputError, match=r"drift: h is 0\.0, expected a step other than 0"):
        analysis.drift(li.RKMK4, PENDULUM, h=0.0)
