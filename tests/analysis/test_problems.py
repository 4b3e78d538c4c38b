"""The laboratory's problems: closed forms against mpmath and their equations, references against their oracle."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from oracles import motions
from scipy.optimize import brentq

from liegeo import analysis
from liegeo import integrate as li
from liegeo.analysis import exact, problems
from liegeo.errors import InputError
from liegeo.lie import SO3Q, Product, R

CASES = {make.__name__: make for make in analysis.ALL_CASES}
CLOSED = ("free_body", "heavy_top", "spherical_pendulum", "free_body_field", "free_body_attitude")
STORED = json.loads(Path(problems.__file__).with_name("references.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("m", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("n", [-4.0, 0.0, 0.7])
def test_elliptic_functions_against_mpmath(m, n):
    """Π for amplitudes beyond a quarter period, and am, sn, cn, dn for arguments beyond one."""
    for phi in (-7.0, -0.4, 1.5, 1.7, 3.1, 11.0):
        assert exact.third_kind(n, phi, m) == pytest.approx(float(mpmath.ellippi(n, phi, m)), rel=1e-13, abs=1e-14)
    for u in (-9.0, 0.3, 2.2, 25.0):
        sn, cn, dn, am = exact.jacobi(u, m)
        for name, value in (("sn", sn), ("cn", cn), ("dn", dn)):
            assert value == pytest.approx(float(mpmath.ellipfun(name, u, m=m)), abs=1e-13)
        assert float(mpmath.ellipf(am, m)) == pytest.approx(u, abs=1e-12)


@pytest.mark.parametrize(
    "p", [(1.0, 0.3, 2.4), (2.0, 0.3, 0.9), (-2.0, 0.3, -0.9), (0.5, -0.4, -2.0), (1.0, 0.0, 2.4), (0.8, 1.9, 0.0)]
)
def test_free_bodies_of_all_kinds(p):
    """Attitude and momentum against Euler's equations in extended precision; about either axis, in either sense."""
    J, q = np.array([1.0, 2.0, 3.0]), SO3Q.exp([0.3, -0.2, 0.5])
    body = exact.FreeBody(J, q, p)
    f = motions.free_body({"inertia": J})
    start = np.array([*q, 0, 0, 0, *(np.array(p) / J), 0, 0, 0], np.longdouble)
    end = motions.extrapolate(f, start, 6.0, 50).astype(float)
    attitude, momentum = body(6.0)
    assert momentum == pytest.approx(J * end[7:10], abs=1e-13)
    assert float(SO3Q.distance(attitude, end[:4] / np.linalg.norm(end[:4]))) < 1e-13
    assert body(body.period)[1] == pytest.approx(np.array(p), abs=1e-13)


@pytest.mark.parametrize(
    ("turn", "w"),
    [
        ((0.5, 0.2, 0.1), (0.4, 0.3, 12.0)),
        ((0.5, 0.2, 0.1), (0.4, -0.3, -5.0)),
        ((2.5, 0.2, 0.1), (0.9, 0.5, 0.0)),
        ((2.5, 0.2, 0.1), (-0.9, 0.2, 2.0)),
    ],
)
def test_tops_of_all_kinds(turn, w):
    """Fast and slow, either sense, rising and falling: against Euler's equations in extended precision."""
    data = {"mass": 1.2, "com": [0, 0, 0.4], "inertia": [0.3, 0.3, 0.2]}
    q = SO3Q.exp(turn)
    top = exact.HeavyTop(0.3 + 1.2 * 0.16, 0.2, 1.2 * 9.81 * 0.4, q, w)
    end = motions.extrapolate(motions.top(data), np.array([*q, *w], np.longdouble), 3.0, 100).astype(float)
    attitude, speed = top(3.0)
    assert speed == pytest.approx(end[4:], abs=1e-12)
    assert float(SO3Q.distance(attitude, end[:4] / np.linalg.norm(end[:4]))) < 1e-12
    assert top.height(top.period) == pytest.approx(top.height(0.0), abs=1e-13)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_solve_the_equations(name):
    """Their derivative along the group is the field, and they begin at the start."""
    case = CASES[name]()
    group, h = case.problem.group, 1e-5
    stepper = li.Stepper(case.problem, li.DormandPrince54, rtol=1e-3, atol=1e-3)
    assert float(group.distance(case.exact(0.0), case.problem.start)) < 1e-13
    for t in (0.1, 0.37, 0.7):
        slope = group.difference(case.exact(t + h), case.exact(t - h)) / (2 * h)
        field = stepper.field(t, np.ascontiguousarray(case.exact(t)))
        assert slope == pytest.approx(field, rel=1e-6, abs=1e-6 * np.abs(field).max())
    assert case.exact(np.linspace(0.0, 1.0, 5)).shape == (5, *group.element_shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", motions.SYSTEMS)
def test_references_are_what_their_script_finds(name):
    """The stored digits, the closed forms and the script agree to 1e-12 of their size; the file says how it knows."""
    end, _ = motions.reference(name, checks=False)
    found, stored = motions.flat(end), motions.flat(STORED[name]["end"])
    assert found == pytest.approx(stored, rel=1e-12, abs=1e-12)
    assert max(STORED[name]["differences"].values()) < 1e-12
    case = CASES[name.replace(" ", "_")]()
    assert case.name == name
    assert float(case.problem.group.distance(stored, case.problem.reference)) < 1e-12 * max(1.0, np.abs(stored).max())
    assert {key: STORED[name][key] for key in motions.SYSTEMS[name][0]} == motions.SYSTEMS[name][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", motions.SYSTEMS)
def test_references_by_half_the_step_and_another_method(name):
    _, apart = motions.reference(name)
    assert max(apart.values()) < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_invariants_are_invariant(name):
    """From start to end, and everywhere on a closed form."""
    case = CASES[name]()
    t = np.array([case.problem.t_start, case.problem.t_end])
    y = np.stack([case.problem.start, case.problem.reference])
    if case.exact is not None:
        t = np.linspace(0.0, 3.0, 7)
        y = case.exact(t)
    assert bool(case.invariants) is not case.stiff
    for label, invariant in case.invariants.items():
        values = invariant(t, y)
        assert values.shape == t.shape
        assert np.ptp(values) < 1e-12 * max(1.0, np.abs(values).max()), label
    assert name.split("_", maxsplit=1)[0] in repr(case)


# ---- adaptive methods on all of them


ADAPTIVE = [
    (name, method)
    for name in CASES
    for method in (li.DormandPrince54, li.BogackiShampine32, li.Rosenbrock32)
    if not method.mechanical or name not in ("free_body_field", "free_body_attitude")
]


@pytest.mark.parametrize(("name", "method"), ADAPTIVE, ids=lambda x: x if isinstance(x, str) else x.name)
def test_adaptive_methods_reach_their_tolerance(name, method):
    """Within a factor of ten from 1e-3 to 1e-12, as the method weighs errors; and error follows tolerance."""
    study = analysis.work_precision(method, CASES[name])
    assert [row.tolerance for row in study.rows] == [10.0**-k for k in range(3, 13)]
    assert max(row.ratio for row in study.rows) < 10.0
    errors = np.array([row.error for row in study.rows])
    assert errors[-1] < 1e-7 * errors[0]


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("free_body_field", "free_body_attitude")])
def test_adaptive_generalised_alpha_reaches_its_tolerance(name):
    """Order two: down to 1e-9, beyond which its steps are too many; within a factor of ten, as it weighs errors."""
    study = analysis.work_precision(li.AdaptiveAlpha, CASES[name], tolerances=[1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9])
    assert max(row.ratio for row in study.rows) < 10.0


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_events_are_located_to_the_tolerance(tolerance):
    """The pendulum's axis passes the plane x = 0, turns at its lowest, turns fast: against the closed form."""
    case = problems.spherical_pendulum()

    def side(t, y):
        return SO3Q.matrix(y[:4])[0, 2]

    def climb(t, y):
        X = SO3Q.matrix(y[:4])
        return X[2, 0] * y[5] - X[2, 1] * y[4]

    def fast(t, y):
        return y[5] - 1.0

    events = [li.Event(side), li.Event(climb, direction=1), li.Event(fast)]
    run = li.solve_adaptive(case.problem, rtol=tolerance, atol=tolerance, events=events)
    for function, rising, (times, places) in (
        (side, False, run.events[0]),
        (climb, True, run.events[1]),
        (fast, False, run.events[2]),
    ):
        expected = _zeros(case, function, rising)
        assert len(times) == len(expected) > 0
        assert np.abs(times - expected).max() < 10 * tolerance
        assert max(abs(function(t, y)) for t, y in zip(times, places, strict=True)) < 1e-12


def _zeros(case, function, rising):
    """Of a function on the closed form, by bisection."""

    def value(t):
        return float(function(t, case.exact(t)))

    t = np.linspace(0.0, case.problem.t_end, 300)
    v = [value(x) for x in t]
    brackets = [(a, b) for (a, b), (c, d) in zip(pairwise(t), pairwise(v), strict=True) if c < 0 < d or d < 0 < c]
    roots = [(brentq(value, a, b, xtol=1e-15, rtol=1e-14), value(a) < 0) for a, b in brackets]
    return np.array([root for root, up in roots if up or not rising])


# ---- what a user meets


def test_nothing_is_compiled_or_loaded_on_import():
    code = "import sys, liegeo.analysis as a; assert 'numba' not in sys.modules and 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match=r"'liegeo\.analysis' has no attribute 'order'"):
        _ = analysis.order
    assert analysis.exact is exact


def test_messages():
    q = (1.0, 0.0, 0.0, 0.0)
    with pytest.raises(InputError, match=r"free body: J is \[3\.0, 2\.0, 1\.0\], expected three rising moments"):
        exact.FreeBody((3.0, 2.0, 1.0), q, (1.0, 1.0, 1.0))
    with pytest.raises(InputError, match=r"free body: p is \[1\.0\], expected 3 finite numbers"):
        exact.FreeBody((1.0, 2.0, 3.0), q, (1.0,))
    with pytest.raises(InputError, match="the motion is a steady spin or the separatrix"):
        exact.FreeBody((1.0, 2.0, 3.0), q, (0.0, 1.0, 0.0))
    with pytest.raises(InputError, match=r"heavy top: A, C, weight are -1\.0, 1\.0, 1\.0, expected positive numbers"):
        exact.HeavyTop(-1.0, 1.0, 1.0, q, (0.0, 0.0, 1.0))
    with pytest.raises(InputError, match=r"heavy top: from q = .*its axis keeps its height, or reaches the vertical"):
        exact.HeavyTop(1.0, 1.0, 1.0, q, (0.0, 0.0, 5.0))
    with pytest.raises(InputError, match="cases: 3 is no case, expected a Case, a Problem, or a function"):
        problems.as_case(3)


def test_a_problem_of_ones_own_is_a_case():
    mine = li.Problem(Product({"x": R(1)}), lambda t, y: -y, [1.0], 1.0, name="mine")
    case = problems.as_case(mine)
    assert case.problem is mine
    assert dict(case.invariants) == {}
    assert repr(case) == "<case 'mine': a problem of one's own>"
    top = problems.as_case(problems.heavy_top().problem)
    start, t = top.problem.start[np.newaxis], np.zeros(1)
    assert top.invariants["energy"](t, start) == pytest.approx(problems.heavy_top().invariants["energy"](t, start))
