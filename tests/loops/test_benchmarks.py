"""Mechanisms with published or independent answers."""

from __future__ import annotations

import numpy as np
import pytest
from mechanisms import REFERENCES, andrews, bricard, ladder
from scipy.integrate import solve_ivp

import liegeo as lg
from liegeo import dynamics
from liegeo import model as lm


def test_andrews_squeezer_to_the_published_digits():
    """Hinges in space: nine of fifteen constraints are redundant.  The published digits are good to about 1e-9."""
    data, model, state = andrews()
    assert len(dynamics.redundant_rows(model, state)) == 9
    run = lg.simulate(
        model,
        state,
        t_end=data["t_end"],
        inputs={"beta": data["torque"]},
        rtol=1e-10,
        atol=1e-11,
        output=[data["t_end"]],
    )
    end = data["end"]
    angles = [run[f"{name}.angle"][-1] for name in data["angles"]]
    rates = [run[f"{name}.speed"][-1] for name in data["angles"]]
    accelerations = [run[f"{name}.acceleration"][-1] for name in data["angles"]]
    assert angles == pytest.approx(end["angles"], abs=3e-9)
    assert rates == pytest.approx(end["rates"], rel=1e-7)
    assert accelerations == pytest.approx(end["accelerations"], rel=5e-6)


@pytest.mark.parametrize("n", [1, 2, pytest.param(40, marks=pytest.mark.slow)])
def test_a_ladder_passes_its_singular_position(n):
    """Again and again in ten seconds, each window a parallelogram as before: one freedom, which SciPy integrates."""
    model, state = ladder(n)
    times = np.linspace(0.0, 10.0, 201)
    run = lg.simulate(model, state, t_end=10.0, rtol=1e-8, atol=1e-8, output=times)
    whole = np.ptp(run["energy.kinetic"])
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-6 * whole
    for k in range(n + 1):
        assert run[f"foot{k}.angle"] == pytest.approx(run["foot0.angle"], abs=1e-8)

    def one_freedom(t, y):
        return y[1], -((n + 1) / 2 + n) * 9.81 * np.cos(y[0]) / ((n + 1) / 3 + n)

    exact = solve_ivp(one_freedom, (0, 10), (np.pi / 2, -1.0), "DOP853", times, rtol=1e-11, atol=1e-12)
    assert exact.y[0].min() < -np.pi
    assert run["foot0.angle"] == pytest.approx(exact.y[0], abs=1e-5)


def test_bricards_mechanism():
    """Of the five constraints of the hinge that closes it one is redundant; an independent solution."""
    model, state = bricard()
    lines = (REFERENCES / "bricard.csv").read_text("utf-8").splitlines()
    table = [line for line in lines if not line.startswith("#")]
    names, rows = table[0].split(","), np.array([[float(x) for x in line.split(",")] for line in table[1:]])
    columns = dict(zip(names, rows.T, strict=True))
    run = lg.simulate(model, state, t_end=10.0, rtol=1e-9, atol=1e-10, output=columns["t"])
    assert len(dynamics.redundant_rows(model, lm.State(np.array(run.q[50]), np.array(run.v[50])))) == 1
    point = run["rod1.end.position"]
    for k, axis in enumerate("xyz"):
        assert point[:, k] == pytest.approx(columns[axis], abs=1e-6)
    assert np.abs(run["energy"] - run["energy"][0]).max() < 1e-6


@pytest.mark.slow
def test_loops_stay_closed_over_many_steps():
    model, state = ladder(1)
    run = lg.simulate(model, state, t_end=200.0, method="rkmk-4", step=2e-3, output=0.5)
    for q, v in zip(run.q, run.v, strict=True):
        values = dynamics.constraint_values(model, lm.State(np.array(q), np.array(v)))
        assert np.abs(values.residual).max() < 1e-12
        assert np.abs(values.rate).max() < 1e-10
