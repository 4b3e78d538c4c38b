"""Small vibrations: closed forms, finite elements, loops, rigid motions, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.analysis.modes import modes
from liegeo.errors import AssemblyError, InputError
from liegeo.statics import equilibrium

ALUMINIUM = flex.Material(E=7.0e10, rho=2700.0, nu=0.3)
G = 9.81


def rods(n, damping=0.0, at=(0.0, 0.0, -1.0), loops=()):
    """Hanging point masses of 1 kg, 1 m apart."""
    bodies = [lg.Body(f"m{i}", mass=1.0, com=at, frames={"end": at}) for i in range(n)]
    joints = [
        lm.Revolute(
            name=f"j{i}",
            parent=f"m{i - 1}" if i else "world",
            child=f"m{i}",
            at=at if i else None,
            axis=(0, 1, 0),
            damping=damping,
        )
        for i in range(n)
    ]
    return lg.Tree(bodies, joints, gravity=(0, 0, -G), loops=loops).compile()


def test_a_damped_pendulum():
    """λ² + c/(mL²) λ + g/L = 0."""
    found = modes(rods(1, damping=0.5))
    assert found.eigenvalues == pytest.approx(np.array([-0.25 + 1j * np.sqrt(G - 0.25**2)]))
    assert found.frequencies == pytest.approx([np.sqrt(G) / (2 * np.pi)])
    assert found.damping == pytest.approx([0.25 / np.sqrt(G)])
    assert found.mostly(0) == "j0"
    assert found.acceleration < 1e-12
    assert repr(found) == "<1 modes of 'tree', 0.4985 to 0.4985 Hz>"


def test_a_double_pendulum():
    """ω² = (2 ∓ √2) g/L."""
    found = 2 * np.pi * modes(rods(2)).frequencies
    assert found**2 == pytest.approx([(2 - np.sqrt(2)) * G, (2 + np.sqrt(2)) * G])


def test_upside_down_it_falls():
    found = modes(rods(1), rods(1).state(q={"j0": np.pi}))
    assert np.sort(found.eigenvalues.real) == pytest.approx([-np.sqrt(G), np.sqrt(G)])
    assert np.sort(found.damping) == pytest.approx([-1.0, 1.0])


def test_a_beam_in_space_has_six_rigid_motions_and_the_modes_of_its_elements():
    fe = flex.beam(1.0, flex.rectangle(0.02, 0.01), ALUMINIUM, 8)
    body = flex.flexible_body(flex.reduce(fe, ["0", "8"], n_modes=8), "beam", ["0", "8"])
    found = modes(lg.Tree([body], [lm.Free(name="float", parent="world", child="beam")], gravity=(0, 0, 0)).compile())
    assert np.all(found.frequencies[:6] == 0.0)
    assert np.all(found.damping[:6] == 0.0)
    expected = np.sqrt(np.linalg.eigvals(np.linalg.solve(fe.mass.todense(), fe.stiffness.todense())).real.clip(0.0))
    expected = np.sort(expected)[6:] / (2 * np.pi)
    assert found.frequencies[6:10] == pytest.approx(expected[:4], rel=2e-3)
    assert found.mostly(6).startswith("beam.eta[")
    assert found.shares.sum(axis=0) == pytest.approx(np.ones(len(found)))


@pytest.mark.slow
def test_loops_and_locks_take_modes_away():
    """A double pendulum whose lower mass slides on a vertical line has one mode; locked at the top, another."""
    line = lm.PointOnLine(name="line", a="world", b="m1.end", axis=(0, 0, 1))
    model = rods(2, loops=[line])
    state = model.state()
    found = modes(model, state)
    # height of the masses: cos θ and 2 cos θ, so the potential is 3 m g L θ²/2; only the upper one moves sideways
    assert 2 * np.pi * found.frequencies == pytest.approx([np.sqrt(3 * G)])
    locked = modes(rods(2).lock("j0"))
    assert len(locked) == 1
    assert 2 * np.pi * locked.frequencies == pytest.approx([np.sqrt(G)])


def test_a_rotor_stiffens():
    """About a steady spin, in its field: ω = Ω for a pendulum whose hinge is as far off the axis as it is long."""
    bodies = [lg.Body("hub", mass=1.0, inertia=(1, 1, 1)), lg.Body("bob", mass=1.0, com=(1.0, 0, 0))]
    joints = [
        lm.Revolute(name="spin", parent="world", child="hub"),
        lm.Revolute(name="lag", parent="hub", child="bob", at=(1.0, 0, 0)),
    ]
    model = lg.Tree(bodies, joints, gravity=(0, 0, 0)).compile().lock("spin")
    found = modes(model, model.state(v={"spin": 7.0}))
    assert 2 * np.pi * found.frequencies == pytest.approx([7.0])


def test_an_equilibrium_has_no_acceleration():
    """A cantilever under its own weight: q L⁴/8EI at the tip; the joint that is held carries the moment."""
    section = flex.rectangle(0.02, 0.01)
    fe = flex.beam(1.0, section, ALUMINIUM, 8)
    body = flex.flexible_body(flex.reduce(fe, ["0", "8"], n_modes=8, root="0"), "beam", ["8"])
    hinge = lm.Revolute(name="hinge", parent="world", child="beam", child_at="0", axis=(0, 1, 0))
    model = lg.Tree([body], [hinge], gravity=(0, 0, -G)).compile()
    state = equilibrium(model, hold=["hinge"])
    weight = ALUMINIUM.rho * section.A * G
    tip = lg.dynamics.frame_pose(model, state, "beam.8")[:3, 3]
    assert tip[2] == pytest.approx(-weight / (8 * ALUMINIUM.E * section.Iy), rel=1e-3)
    assert lg.inverse_dynamics(model, state)[0] == pytest.approx(-weight / 2, rel=1e-4)
    assert modes(model.lock("hinge"), state).acceleration < 1e-6


def test_equilibria_that_are_refused():
    model = rods(2)
    with pytest.raises(InputError, match="'j9', which is to be held, has no degrees of freedom"):
        equilibrium(model, hold=["j9"])
    adrift = lg.Tree([lg.Body("b", mass=1.0, inertia=(1, 1, 1))], [lm.Free(name="f", parent="world", child="b")])
    with pytest.raises(AssemblyError, match="found none near this state; the largest force that is left is"):
        equilibrium(adrift.compile())


def test_refused():
    with pytest.raises(InputError, match="modes: model is 'arm', expected a compiled Model"):
        modes("arm")
    with pytest.raises(InputError, match="kind is 'loud', expected one of 'damped', 'gyroscopic', 'undamped'"):
        modes(rods(1), kind="loud")
    with pytest.raises(InputError, match=r"modes: number is 0, expected a whole number ≥ 1"):
        modes(rods(1), number=0)
