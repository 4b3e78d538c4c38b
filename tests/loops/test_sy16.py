"""The four-bar of [SY16, section 3] with a link that bends, beside the same with a rigid one."""

from __future__ import annotations

import numpy as np
import published as mechanisms
import pytest

import liegeo as lg
from liegeo import dynamics


@pytest.fixture(scope="module")
def curves():
    out = {}
    for flexible in (True, False):
        model, state = mechanisms.four_bar(flexible)
        runs = mechanisms.four_bar_runs(model, state, 5e-4, rtol=1e-6, atol=1e-7)
        out[flexible] = mechanisms.four_bar_curves(runs)
    return out


def test_the_rigid_mechanism_gains_what_the_torque_gives():
    model, state = mechanisms.four_bar(flexible=False)
    run = lg.simulate(model, state, t_end=1.0, inputs={"A": mechanisms.drive}, rtol=1e-8, atol=1e-9)
    power = mechanisms.drive(run.t) * run["A.speed"]
    work = np.trapezoid(power, run.t)
    assert run["energy"][-1] == pytest.approx(work, rel=1e-4)
    assert len(dynamics.redundant_rows(model, run.end)) == 3


def test_bending_leaves_position_and_velocity_nearly_as_they_are(curves):
    for what, share in (("position", 5e-4), ("velocity", 5e-3)):
        bent, rigid = curves[True][what], curves[False][what]
        assert np.abs(bent - rigid).max() < share * np.ptp(rigid, axis=0).max()


def test_bending_makes_the_acceleration_tremble_at_the_frequencies_of_the_link(curves):
    """By a few per cent: far above the share of the velocity.  Between hinges a thin link has 41, 165 and 372 Hz."""
    tremble = curves[True]["acceleration"] - curves[False]["acceleration"]
    peak = np.ptp(curves[False]["acceleration"], axis=0).max()
    assert 0.02 * peak < np.abs(tremble[:, 0]).max() < 0.2 * peak
    frequency, amplitude = mechanisms.spectrum(curves[True]["t"], tremble[:, 0])
    expected = mechanisms.pinned_frequencies(mechanisms.LINK_2, 3)
    for k, share in enumerate((0.02, 0.02, 0.03)):
        near = np.abs(frequency - expected[k]) < 0.3 * expected[k]
        found = frequency[near][amplitude[near].argmax()]
        assert found == pytest.approx(expected[k], rel=share)
    assert frequency[amplitude.argmax()] == pytest.approx(expected[0], rel=0.02)
