"""A beam in pieces: the pull of rotation stiffens it through kinematics alone, and pieces that stiffen need fewer."""

from __future__ import annotations

import numpy as np
import pytest

from liegeo import dynamics, flex
from liegeo import model as lm
from liegeo.errors import ModelError

ALUMINIUM = flex.Material(E=7.0e10, rho=2700.0, nu=0.3)
SECTION = flex.rectangle(0.01, 0.01)
UNIT = np.sqrt(ALUMINIUM.E * SECTION.Iy / (ALUMINIUM.rho * SECTION.A))
# first flap frequency at spin 6, in √(EI/ρAL⁴): Wright et al. (1982)
SPIN, FLAP = 6.0, 7.360373


def first_frequencies(n_bodies, spin, stiffening):
    """Lag and flap of a blade on a hub whose speed is held, about its stretched state."""
    bodies, joints = flex.substructure(
        "blade", 1.0, SECTION, ALUMINIUM, n_bodies, n_elements=2, stiffening=stiffening, rotary=False
    )
    hub = lm.Revolute(name="hub", parent="world", child="blade_1", child_at="0", axis=(0, 0, 1))
    model = lm.Tree(bodies, [hub, *joints], gravity=(0, 0, 0)).compile().lock("hub")
    q = np.zeros(model.nq)
    for _ in range(4):
        state = model.state(q, {"hub": spin * UNIT})
        slope = dynamics.forward_derivatives(model, state).q[1:, 1:]
        q[1:] -= np.linalg.solve(slope, dynamics.forward_dynamics(model, state)[1:])
    d = dynamics.forward_derivatives(model, model.state(q, {"hub": spin * UNIT}))
    n = model.nv - 1
    A = np.block([[np.zeros((n, n)), np.eye(n)], [d.q[1:, 1:], d.v[1:, 1:]]])
    return (np.sort(np.abs(np.linalg.eigvals(A).imag))[::2] / UNIT)[:2]


def test_pieces_stiffen_by_kinematics():
    """Not at all as one body; with the square of the number of pieces nearer to the table."""
    errors = [abs(first_frequencies(n, SPIN, False)[1] / FLAP - 1) for n in (1, 2, 4)]
    assert errors[0] > 0.5
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)
    assert errors[2] < 0.06


def test_pieces_with_geometric_terms_need_fewer():
    errors = [abs(first_frequencies(n, SPIN, True)[1] / FLAP - 1) for n in (1, 2, 4)]
    assert errors[0] < 2.5e-2
    assert errors[1] < 5e-3
    assert errors[2] < 5e-4


def test_a_substructured_beam_at_rest_is_the_beam():
    assert first_frequencies(2, 0.0, False) == pytest.approx([3.516015] * 2, rel=2e-3)


def test_refused():
    with pytest.raises(ModelError, match="substructure 'blade': n_bodies is 0, must be ≥ 1"):
        flex.substructure("blade", 1.0, SECTION, ALUMINIUM, 0)
