"""Reduced models: the bound of the error on random systems, closed forms, what is kept, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.linalg as sla

import liegeo as lg
from liegeo import model as lm
from liegeo.analysis import FrequencyResponse, frequency_grid, reduced
from liegeo.analysis.linear import linearise
from liegeo.errors import InputError


def chain(n, damping=0.02, free=False):
    """Carts on springs in a row, pushed at the first one and seen at both ends; free ones are tied to no ground."""
    carts = [lg.Body(f"m{k}", mass=1.0) for k in range(n)]
    slides = [
        lm.Prismatic(
            name=f"s{k}", parent=f"m{k - 1}" if k else "world", child=f"m{k}", axis=(1, 0, 0),
            stiffness=0.0 if free and k == 0 else 400.0, damping=0.0 if free and k == 0 else 400.0 * damping / 20.0,
        )
        for k in range(n)
    ]  # fmt: skip
    model = lg.Tree(carts, slides, gravity=(0, 0, 0)).compile()
    return linearise(model, inputs=["s0"], outputs=["m0.position.x", f"m{n - 1}.position.x"])


def random_model(rng, n, m, p, badly=True):
    """A linear model with random stable matrices, badly scaled if asked for, in the shape that liegeo gives."""
    A = rng.normal(size=(n, n))
    A -= (np.abs(np.linalg.eigvals(A)).max() * rng.uniform(1.02, 1.3)) * np.eye(n)
    scale = 10.0 ** rng.uniform(-3.0 * badly, 3.0 * badly, size=n)
    zeros = np.zeros(0)
    return lg.analysis.LinearModel(
        A * scale / scale[:, None], rng.normal(size=(n, m)) / scale[:, None], rng.normal(size=(p, n)) * scale,
        rng.normal(size=(p, m)), *[tuple(f"{what}{k}" for k in range(size)) for what, size in
        (("x", n), ("u", m), ("y", p))], ("",) * n, ("",) * m, ("",) * p, zeros, zeros, 0, np.zeros((0, 0)),
    )  # fmt: skip


def gain_of_error(full, small, f):
    """Return the largest singular value of the difference over these frequencies."""
    difference = full.frequency_response(f) - small.frequency_response(f)
    return np.linalg.svd(difference, compute_uv=False).max()


def dense_grid(linear):
    poles = np.abs(linear.poles) / (2.0 * np.pi)
    return np.concatenate([[0.0], frequency_grid(linear, 1e-2 * poles.min(), 1e2 * poles.max(), 400, 80)])


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_of_balanced_truncation_holds(seed):
    """‖G − G_r‖∞ ≤ 2 Σ σ, and at least the first σ that is left out; Hankel's singular values by their definition."""
    rng = np.random.default_rng(seed)
    n, m, p = int(rng.integers(3, 14)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    again = int(rng.integers(1 << 30))
    # Hankel's singular values do not depend on the scales of states
    plain, full = (random_model(np.random.default_rng(again), n, m, p, badly) for badly in (False, True))
    P = sla.solve_continuous_lyapunov(plain.A, -plain.B @ plain.B.T)
    Q = sla.solve_continuous_lyapunov(plain.A.T, -plain.C.T @ plain.C)
    expected = np.sqrt(np.sort(np.abs(np.linalg.eigvals(P @ Q)))[::-1])
    f = dense_grid(full)
    for order in range(n + 1):
        found = reduced(full, order)
        np.testing.assert_allclose(found.singular_values[:3], expected[:3], rtol=1e-6)
        assert found.bound == pytest.approx(2.0 * expected[order:].sum(), rel=1e-5, abs=1e-6 * expected[0])
        error = gain_of_error(full, found.linear, f)
        assert error <= found.bound * (1.0 + 1e-9) + 1e-8 * expected[0]
        if order < n:
            # no model of this order is nearer; the grid sees the largest error but for a few hundredths
            assert error >= 0.97 * found.singular_values[order] - 1e-8 * expected[0]
        assert found.linear.poles.real.max(initial=-1.0) < 0.0
        size = np.abs(full.poles).max() / (2.0 * np.pi)
        stable = reduced(full, order, method="stable band", band=(0.0, 0.3 * size))
        assert stable.linear.poles.real.max(initial=-1.0) < 0.0
        assert gain_of_error(full, stable.linear, f) <= stable.bound * (1.0 + 1e-9) + 1e-8 * expected[0]
        modal = reduced(full, method="modal", tolerance=found.bound + 1e-300)
        assert gain_of_error(full, modal.linear, f) <= modal.bound * (1.0 + 1e-9) + 1e-8 * expected[0]
        assert modal.bound <= found.bound + 1e-300


def test_hankel_singular_values_in_closed_form():
    """Of 1/(s + 1)², whose pole is double, (√2 ± 1)/4; of lightly damped modes |c b|/(2 |Re λ|), twice each."""
    cart = lg.Body("m", mass=1.0)
    for damping, expected in ((2.0, (np.sqrt(2.0) + np.array([1.0, -1.0])) / 4.0), (2e-5, np.array([0.25e5, 0.25e5]))):
        slide = lm.Prismatic(name="s", parent="world", child="m", axis=(1, 0, 0), stiffness=1.0, damping=damping)
        linear = linearise(lg.Tree([cart], [slide], gravity=(0, 0, 0)).compile(), None, ["s"], ["s.position"])
        np.testing.assert_allclose(reduced(linear, 1).singular_values, expected, rtol=2e-5)
        # all frequencies, as a range
        band = reduced(linear, 1, method="band", band=(0.0, 1e7))
        np.testing.assert_allclose(band.singular_values, expected, rtol=2e-5)


def test_a_mode_that_nothing_reaches_takes_no_state():
    """Two oscillators of nearly one frequency and 0.1 % of damping, of which the second is neither driven nor seen."""
    cart, other = lg.Body("m", mass=1.0), lg.Body("n", mass=1.0)
    slides = [
        lm.Prismatic(name="s", parent="world", child="m", axis=(1, 0, 0), stiffness=400.0, damping=0.04),
        lm.Prismatic(name="t", parent="m", child="n", axis=(0, 1, 0), stiffness=380.0, damping=0.03),
    ]
    linear = linearise(lg.Tree([cart, other], slides, gravity=(0, 0, 0)).compile(), None, ["s"], ["s.position"])
    found = reduced(linear, 2)
    assert found.singular_values[2] < 1e-12 * found.singular_values[1]
    assert found.bound < 1e-11 * found.singular_values[0]
    np.testing.assert_allclose(found.linear.frequency_response([1.0, 2.25]), linear.frequency_response([1.0, 2.25]))


def test_a_chain_of_carts():
    """A tolerance chooses the order; names of inputs and outputs stay; the static gain of modes that are left out."""
    full = chain(12)
    f = dense_grid(full)
    found = reduced(full, tolerance=1e-2)
    assert found.bound <= 1e-2
    assert len(found.linear.states) < 20
    assert reduced(full, len(found.linear.states) - 1).bound > 1e-2
    assert gain_of_error(full, found.linear, f) <= found.bound
    assert (found.linear.inputs, found.linear.outputs) == (full.inputs, full.outputs)
    assert found.linear.states[0] == "balanced 1"
    assert found.linear.notes[-1].startswith("balanced: ")
    assert repr(found).startswith("<balanced reduction of 'tree' to ")
    for method in ("balanced", "modal", "stable band"):
        nothing = reduced(full, tolerance=1e9, method=method, band=(0.0, 1.0) if method == "stable band" else None)
        assert nothing.linear.states == ()
        assert not nothing.linear.frequency_response([1.0]).any()
    # of the modes the slowest four, with their poles
    slow = np.sort(np.abs(full.poles))[:8]
    modal = reduced(full, 9, method="modal")
    np.testing.assert_allclose(np.sort(np.abs(modal.linear.poles)), slow, rtol=1e-10)
    assert gain_of_error(full, modal.linear, f) <= modal.bound
    same = reduced(full, method="modal", band=(0.0, slow[-1] / (2.0 * np.pi) * 1.01))
    np.testing.assert_allclose(same.linear.frequency_response(f), modal.linear.frequency_response(f), rtol=1e-9)
    static = reduced(full, 8, method="modal", static=True)
    np.testing.assert_allclose(static.linear.frequency_response(0.0), full.frequency_response(0.0), rtol=1e-10)
    assert gain_of_error(full, static.linear, f) <= static.bound


def test_what_is_not_damped_is_kept():
    """Carts that no spring ties to the ground: the double integrator stays as it is."""
    full = chain(6, free=True)
    assert np.sort(np.abs(full.poles))[1] < 1e-5
    found = reduced(full, 6)
    assert found.n_kept == 2
    assert found.linear.states[-2:] == ("undamped 1", "undamped 2")
    f = dense_grid(dataclasses.replace(full, A=full.A - 1e-3 * np.eye(12)))[1:]
    error = gain_of_error(full, found.linear, f)
    assert error <= found.bound * (1.0 + 1e-6)
    modal = reduced(full, 6, method="modal")
    assert gain_of_error(full, modal.linear, f) <= modal.bound * (1.0 + 1e-6)
    # at low frequency both are a mass of 6 kg
    np.testing.assert_allclose(found.linear.frequency_response(1e-3) * 6.0 * -((2e-3 * np.pi) ** 2), 1.0, rtol=1e-4)


def test_a_range_of_frequencies_is_matched_better():
    """[GJ90]: in the band the error is smaller than that of balancing over all frequencies."""
    full = chain(12, damping=0.005)
    band = (3.0, 5.0)
    f = np.linspace(*band, 2000)
    whole, narrow = reduced(full, 6), reduced(full, 6, method="band", band=band)
    assert gain_of_error(full, narrow.linear, f) < 0.2 * gain_of_error(full, whole.linear, f)
    assert narrow.bound is None
    assert "no bound" in repr(narrow)
    # a band that holds everything is no band
    wide = reduced(full, 8, method="band", band=(0.0, 1e6))
    np.testing.assert_allclose(wide.singular_values[:8], reduced(full, 8).singular_values[:8], rtol=1e-5)


def test_scales_say_what_counts():
    """In millimetres the same model; an output that counts a thousandfold is matched better."""
    full = chain(8)
    f = dense_grid(full)
    by_scale = reduced(full, 6, output_scales=[1e-3, 1.0])
    plain = reduced(full, 6)

    def of_first(small):
        return np.abs((full.frequency_response(f) - small.linear.frequency_response(f))[:, 0]).max()

    assert of_first(by_scale) < of_first(plain)
    assert gain_of_error(full.part(outputs=full.outputs[:1]), by_scale.linear.part(outputs=full.outputs[:1]), f) <= (
        1e-3 * by_scale.bound
    )
    both = reduced(full, 6, output_scales=1e-3, input_scales=[1e-3])
    np.testing.assert_allclose(both.linear.frequency_response(f), plain.linear.frequency_response(f), rtol=1e-8)
    response = FrequencyResponse.of(plain.linear, [1.0])
    assert response.outputs == full.outputs


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "order is None, tolerance None and band None, expected one of order and tolerance"),
        ({"order": 2, "tolerance": 0.1}, "expected one of order and tolerance"),
        ({"order": 99}, "order is 99, expected a whole number from 0 to the 8 states there are"),
        ({"order": 4, "method": "optimal"}, "method is 'optimal', expected one of modal, balanced, band, stable band"),
        ({"order": 4, "method": "band"}, "band is None, expected two frequencies in Hz for method 'band'"),
        ({"order": 4, "method": "band", "band": (2.0, 1.0)}, r"band is \(2.0, 1.0\), expected two frequencies in Hz"),
        ({"tolerance": 0.1, "method": "band", "band": (1.0, 2.0)}, "tolerance is 0.1 with method 'band', expected"),
        ({"order": 4, "static": True}, "static is True with method 'balanced', expected method 'modal'"),
        ({"order": 4, "input_scales": 0.0}, "input_scales is 0.0, expected a number > 0, or one for each of"),
        ({"order": 4, "output_scales": [1.0]}, r"output_scales is \[1.0\], expected a number > 0, or one for each"),
    ],
)  # fmt: skip
def test_wrong_questions(options, message):
    with pytest.raises(InputError, match=message):
        reduced(chain(4), **options)


def test_more_wrong_questions():
    with pytest.raises(InputError, match="reduced: the linear model is one of discrete time"):
        reduced(chain(2).discrete(0.01), 2)
    for method in ("balanced", "modal"):
        with pytest.raises(InputError, match="order is 1, expected at least the 2 states of undamped motions"):
            reduced(chain(3, free=True), 1, method=method)


def test_an_unstable_reduction_is_refused():
    full = chain(12, damping=0.005)
    with pytest.raises(InputError, match="from 3 to 5 Hz gave an unstable model of 8 states"):
        reduced(full, 8, method="band", band=(3.0, 5.0))
    stable = reduced(full, 8, method="stable band", band=(3.0, 5.0))
    assert stable.linear.poles.real.max() < 0.0
