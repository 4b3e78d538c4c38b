"""A closed ring of flexible arcs: thin-ring theory, and what a free ring conserves.

The arcs are polygons, N sides in all, and so are second order: errors are shares of (π/N)².
"""

from __future__ import annotations

import numpy as np
import published as mechanisms
import pytest

import liegeo as lg

R, RING = mechanisms.RING_RADIUS, mechanisms.RING
SPEED = 50.0
BREATHING = 2 * np.pi * R * np.sqrt(RING.rho / RING.E)
TENSION = RING.rho * RING.A * R**2 * SPEED**2
GROWTH = RING.rho * R**3 * SPEED**2 / RING.E


def planar_ring(n_elements, **options):
    """Eight arcs with all shapes that their elements have in the plane."""
    return mechanisms.ring(8, n_elements, 3 * (n_elements - 1), mechanisms.PLANAR, **options)


def test_frequencies_of_bending_in_and_out_of_the_plane():
    """In it n(n²−1)/√(n²+1), out of it n(n²−1)/√(n²+EI/GJ), in √(EI/ρAR⁴); each twice, after six rigid motions."""
    section = RING.section
    unit = np.sqrt(RING.E * section.Iz / (RING.rho * RING.A * R**4))
    ratio = RING.E * section.Iz / (RING.material.G * section.J)
    expected = sorted(n * (n**2 - 1) / np.sqrt(n**2 + c) * unit for n in (2, 3) for c in (1.0, ratio) for _ in range(2))
    errors = []
    for n_elements in (4, 8):
        found = mechanisms.ring_frequencies(mechanisms.ring(8, n_elements, 2))
        assert found[5] < 1e-2 * unit
        errors.append(np.abs(found[6:14] / expected - 1.0).max())
    assert errors[1] < 3e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=1.2)


@pytest.fixture(scope="module")
def free():
    model = planar_ring(4)
    return lg.simulate(
        model, mechanisms.spun(model, SPEED), t_end=5 * BREATHING, output=BREATHING / 50, rtol=1e-9, atol=1e-11
    )


def test_a_free_ring_keeps_energy_and_momentum(free):
    """Energy as far as the tolerance of the steps goes, momentum to rounding."""
    assert np.ptp(free["energy"]) < 1e-8 * np.ptp(free["energy.elastic"])
    H = free["momentum.angular"]
    assert np.ptp(H, axis=0).max() < 1e-12 * np.abs(H).max()
    assert np.abs(free["momentum.linear"]).max() < 1e-9 * RING.rho * RING.A * RING.length * R * SPEED


def test_spun_up_at_once_it_breathes(free):
    """Between its size and twice the growth, with the period of a ring that only stretches."""
    u = mechanisms.growth(free)
    assert u.max() == pytest.approx(2 * GROWTH, rel=2e-2)
    k = np.arange(len(u))
    dips = k[1:-1][(u[1:-1] < u[:-2]) & (u[1:-1] <= u[2:])]
    # a parabola through the last one
    a, b, c = u[dips[-1] - 1 : dips[-1] + 2]
    last = free.t[dips[-1]] + 0.5 * (a - c) / (a - 2 * b + c) * (free.t[1] - free.t[0])
    assert last == pytest.approx(len(dips) * BREATHING, rel=1e-2)
    assert mechanisms.tension(free).mean() == pytest.approx(TENSION, rel=2e-2)


def test_growth_and_tension_of_steady_rotation():
    """Damped, until it rests in its own frame: ρR³Ω²/E and ρAR²Ω², from below, with (1/N)²."""
    tension, growth = [], []
    for n_elements in (2, 4):
        model = planar_ring(n_elements, damping=0.5)
        run = lg.simulate(
            model, mechanisms.spun(model, SPEED), t_end=30 * BREATHING, output=BREATHING, rtol=1e-6, atol=1e-8
        )
        tension.append(1.0 - mechanisms.tension(run)[-1] / TENSION)
        growth.append(1.0 - mechanisms.growth(run)[-1] / GROWTH)
    assert tension[1] == pytest.approx(5.1e-3, rel=0.1)
    assert tension[0] / tension[1] == pytest.approx(4.0, abs=0.4)
    assert growth[1] < 8e-3
    assert growth[0] / growth[1] == pytest.approx(4.0, abs=0.8)
