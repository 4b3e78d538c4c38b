"""Model files: what they say is what Python would build, and they survive being written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import liegeo as lg
from liegeo import dynamics
from liegeo.analysis.problems import heavy_top

ROOT = Path(__file__).parents[2]


def same(a, b):
    """Whether two compiled models are equal to the bit."""
    return np.array_equal(a.fingerprint, b.fingerprint) and a.floats.tobytes() == b.floats.tobytes()


# ---- the files of the repository: all of them in test_models.py, here those that are ours


def test_the_published_schema_is_that_of_the_code():
    text = json.dumps(lg.io.schema(), indent=1, ensure_ascii=False) + "\n"
    assert (ROOT / "docs/model.schema.json").read_text("utf-8") == text, "write it anew: see the test"


def test_the_page_tells_every_key_and_every_kind():
    """It says that it is the whole format."""
    words, schema = set(), lg.io.schema()
    for definition in (schema, *schema["$defs"].values()):
        keys = [form.get("properties", {}) for form in (definition, *definition.get("oneOf", []))]
        words |= {key for properties in keys for key in properties}
        words |= {properties["kind"]["const"] for properties in keys if "const" in properties.get("kind", {})}
    assert {"color", "pinion", "extrapolation", "C_r0", "rolling", "i_beam"} <= words
    page = (ROOT / "docs/models.md").read_text("utf-8")
    assert sorted(word for word in words if f"`{word}`" not in page) == []


def double_pendulum(_, y):
    """Two rods of 1 m and 1 kg, angles from hanging down, by Lagrange's equations written out."""
    a, b, da, db = y
    g, J = 9.81, (3 * 0.015**2 + 1) / 12
    # M (ä, b̈) = f with absolute angles a and b
    c, s = np.cos(a - b) / 2, np.sin(a - b) / 2
    M = [[J + 0.25 + 1.0, c], [c, J + 0.25]]
    f = [-s * db**2 - 1.5 * g * np.sin(a), s * da**2 - 0.5 * g * np.sin(b)]
    return [da, db, *np.linalg.solve(M, f)]


def test_double_pendulum_moves_as_lagrange_says():
    run = lg.load(ROOT / "models/double_pendulum.yaml").simulate(t_end=2.0)
    start = [np.pi / 2, np.pi / 2 + np.pi / 3, 0.0, 0.0]
    exact = solve_ivp(double_pendulum, (0.0, 2.0), start, rtol=1e-11, atol=1e-11, t_eval=run.t).y
    assert np.abs(run["top.angle"] - exact[0]).max() < 1e-5
    assert np.abs(run["top.angle"] + run["middle.angle"] - exact[1]).max() < 1e-5


def test_heavy_top_moves_as_its_closed_form():
    mechanism = lg.load(ROOT / "models/heavy_top.yaml")
    run = mechanism.simulate(t_end=0.8, output=np.array([0.0, 0.8]))
    case = heavy_top()
    exact = case.exact(0.8)
    assert np.abs(np.concatenate([run.q[-1], run.v[-1]]) - exact).max() < 1e-6


def test_the_flexible_arm_bends_slowly_enough_to_be_seen():
    model = lg.load(ROOT / "models/flexible_arm.yaml").compile()
    state, free = model.state(), np.r_[model.group.v["upper"], model.group.v["lower"]]
    M = dynamics.mass_matrix(model, state)[np.ix_(free, free)]
    K = dynamics.inverse_derivatives(model, state).q[np.ix_(free, free)]
    frequencies = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)) / (2 * np.pi)
    assert 2.0 < frequencies[0] < 15.0
    # a thin cantilever of the upper tube that carries at its end all that is beyond it would be slower
    assert frequencies[0] < 15.0 < frequencies[2]


def test_nothing_is_imported_before_a_file_is_loaded():
    code = "import sys, liegeo as lg; lg.load, lg.io.READERS; print([m for m in sys.modules if m in HEAVY])"
    heavy = ("numba", "numpy", "pint", "pydantic", "scipy", "yaml")
    done = subprocess.run(
        [sys.executable, "-c", code.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_sweep_over_a_parameter():
    """The period of small swings of one rod grows as the square root of its length."""
    periods = []
    for length in (0.5, 2.0):
        model = lg.load(ROOT / "models/double_pendulum.yaml", set={"rod.length": length}).compile()
        M = dynamics.mass_matrix(model, model.state())
        K = dynamics.inverse_derivatives(model, model.state()).q
        periods.append(2 * np.pi / np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min()))
    # but for the radius of the rods, which stays
    assert periods[1] / periods[0] == pytest.approx(2.0, rel=1e-3)
