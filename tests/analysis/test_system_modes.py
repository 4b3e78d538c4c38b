"""Modes against closed forms and other formulations; frames, masses, damping of the system, comparison, branches."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sla
from oracles import planar, rotors

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.analysis import cross_orthogonality, equilibrium, locus, mac, operating_point
from liegeo.analysis.eigenmodes import eigenmodes
from liegeo.analysis.modes import DIRECTIONS, modes
from liegeo.errors import InputError

G = 9.81
STEEL = flex.Material(E=2.1e11, rho=7800.0, nu=0.3)
CLOSE = 1e-8


def seen(found):
    """ω of all modes that are not rigid as seen from the ground, backward whirl being negative, rising."""
    fixed = found.fixed()
    omega = fixed.eigenvalues[found.rigid :].imag
    return np.sort(np.where(fixed.whirl[found.rigid :] < 0.0, -omega, omega))


# ---- rotors


ROTOR = {"mass": 8.0, "diametral": 0.2, "polar": 0.12}
BEARINGS, ARMS, AXIAL = (4e5, 7e5), (-0.3, 0.25), 1e5


def floating_rotor(damping=0.0):
    """A rigid rotor on two soft bearings, its own axes turning with it."""
    inertia = (ROTOR["diametral"], ROTOR["diametral"], ROTOR["polar"])
    ends = dict(zip(("left", "right"), [(0, 0, z) for z in ARMS], strict=True))
    body = lg.Body("rotor", mass=ROTOR["mass"], inertia=inertia, frames=ends)
    free = lm.Free(name="free", parent="world", child="rotor")
    bearings = [
        lm.Bushing(
            name=name,
            a=("world", ends[name]),
            b=f"rotor.{name}",
            stiffness=(0, 0, 0, k, k, AXIAL),
            damping=(0, 0, 0, damping, damping, 0),
        )
        for name, k in zip(ends, BEARINGS, strict=True)
    ]
    return lg.Tree([body], [free], forces=bearings, gravity=(0, 0, 0), name="rotor").compile()


def carried_rotor():
    """The same with coordinates at rest: two slides and two hinges carry the bearing of the spin."""
    names = ["x", "y", "tilt_x", "tilt_y", "spin"]
    bodies = [lg.Body(f"b_{name}") for name in names[:-1]]
    inertia = (ROTOR["diametral"], ROTOR["diametral"], ROTOR["polar"])
    ends = dict(zip(("left", "right"), [(0, 0, z) for z in ARMS], strict=True))
    bodies.append(lg.Body("b_spin", mass=ROTOR["mass"], inertia=inertia, frames=ends))
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "tilt_x": (1, 0, 0), "tilt_y": (0, 1, 0), "spin": (0, 0, 1)}
    joints, parent = [], "world"
    for name in names:
        kind = lm.Prismatic if len(name) == 1 else lm.Revolute
        joints.append(kind(name=name, parent=parent, child=f"b_{name}", axis=axes[name]))
        parent = f"b_{name}"
    bearings = [
        lm.Bushing(name=name, a=("world", ends[name]), b=("b_tilt_y", ends[name]), stiffness=(0, 0, 0, k, k, 0))
        for name, k in zip(ends, BEARINGS, strict=True)
    ]
    return lg.Tree(bodies, joints, forces=bearings, gravity=(0, 0, 0)).compile()


@pytest.mark.parametrize("speed", [0.0, 300.0, 2000.0, -2000.0])
def test_a_rotor_in_two_bearings(speed):
    """Forward and backward whirl, from the rotor's own frame and from the ground."""
    expected = rotors.whirl(*rotors.rigid_rotor(*ROTOR.values(), BEARINGS, ARMS), abs(speed))
    axial = np.sqrt(2.0 * AXIAL / ROTOR["mass"])
    model = floating_rotor()
    found = modes(model, model.state(v={"free": (0, 0, speed, 0, 0, 0)}))
    assert found.rigid == 1
    assert len(found) == 6
    if speed:
        np.testing.assert_allclose(seen(found), np.sort([*expected, axial]), rtol=CLOSE)
        assert found.rotates
        assert "rotating frame, which turns at" in found.frame()
        # one circle each
        np.testing.assert_allclose(found.fixed().shares, 1.0, rtol=1e-6)
    else:
        np.testing.assert_allclose(found.eigenvalues[1:].imag, np.sort(np.abs([*expected, axial])), rtol=CLOSE)
        assert not found.rotates
    carried = carried_rotor()
    other = modes(carried, carried.state(v={"spin": speed}))
    assert other.rigid == 1
    assert not other.rotates
    assert other.frame() == "Frequencies are those of the fixed frame."
    np.testing.assert_allclose(np.sort(other.eigenvalues[1:].imag), np.sort(np.abs(expected)), rtol=CLOSE)
    # no damping at all, not one that rounding makes
    assert not other.eigenvalues.real.any()
    if speed:
        np.testing.assert_allclose(seen(other), expected, rtol=CLOSE)
    # without gyroscopic terms it does not matter how fast it turns
    still = modes(carried, carried.state(v={"spin": speed}), kind="undamped")
    at_rest = rotors.whirl(*rotors.rigid_rotor(*ROTOR.values(), BEARINGS, ARMS), 0.0)
    np.testing.assert_allclose(np.sort(still.eigenvalues[1:].imag), np.sort(np.abs(at_rest)), rtol=CLOSE)


def test_bearings_that_are_softer_in_one_direction():
    """In axes at rest they are an ordinary system; in axes that turn its coefficients change, which is said."""
    names = ("left", "right")
    model, carried = floating_rotor(), carried_rotor()

    def softer(model, of):
        found = [
            dataclasses.replace(bearing, stiffness=np.asarray(bearing.stiffness) * [1, 1, 1, 1, 0.4, 1])
            for bearing in model.tree.forces
        ]
        assert [bearing.name for bearing in found] == list(of)
        return dataclasses.replace(model.tree, forces=found).compile()

    speed = 500.0
    found = modes(softer(carried, names), carried.state(v={"spin": speed}))
    assert found.frame() == "Frequencies are those of the fixed frame."
    # two planes, coupled by the gyroscopic moment alone
    M, gyro, K = rotors.rigid_rotor(*ROTOR.values(), BEARINGS, ARMS)
    M, gyro, K = np.kron(np.eye(2), M), np.kron([[0, 1], [-1, 0]], gyro), sla.block_diag(K, 0.4 * K)
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -speed * np.linalg.solve(M, gyro)]])
    expected = np.sort(np.abs(np.linalg.eigvals(A).imag))[::2]
    np.testing.assert_allclose(np.sort(found.eigenvalues[1:].imag), expected, rtol=CLOSE)
    turning = modes(softer(model, names), model.state(v={"free": (0, 0, speed, 0, 0, 0)}))
    assert turning.frame().startswith("The equations of small motions change as the model turns: frequencies are")
    np.testing.assert_array_equal(turning.fixed().eigenvalues, turning.eigenvalues)


def test_a_flexible_shaft_with_a_disc():
    """Between soft bearings, against finite elements in axes at rest (tests/oracles/rotors.py)."""
    length, n, radius = 0.8, 6, 0.012
    section, disc = flex.circle(2.0 * radius), {"mass": 4.0, "diametral": 0.012, "polar": 0.022}
    fe = flex.beam(length, section, STEEL, n)
    nodes = [str(k) for k in range(n + 1)]
    body = flex.flexible_body(flex.reduce(fe, nodes, root="2", n_modes=0), "shaft", nodes)
    # the shaft lies along x
    wheel = lg.Body("disc", mass=disc["mass"], inertia=(disc["polar"], disc["diametral"], disc["diametral"]))
    joints = [
        lm.Free(name="free", parent="world", child="shaft", at=(0.0, 0.0, 0.0)),
        lm.Fixed(name="press_fit", parent="shaft", child="disc", at="2"),
    ]
    stiffness = 3e6
    bearings = [
        lm.Bushing(
            name=f"bearing_{node}",
            a=("world", (place, 0, 0)),
            b=f"shaft.{node}",
            stiffness=(0, 0, 0, 1e5, stiffness, stiffness),
        )
        for node, place in (("0", 0.0), (str(n), length))
    ]
    model = lg.Tree([body, wheel], joints, forces=bearings, gravity=(0, 0, 0)).compile()
    A, inertia = np.pi * radius**2, np.pi * radius**4 / 4
    M, gyro, K = rotors.shaft(length, n, STEEL.E * inertia, STEEL.rho * A, STEEL.rho * inertia)
    M[4, 4] += disc["mass"]
    M[5, 5] += disc["diametral"]
    gyro[5, 5] += disc["polar"]
    for end in (0, 2 * n):
        K[end, end] += stiffness
    for speed in (0.0, 400.0):
        expected = rotors.whirl(M, gyro, K, speed)
        found = modes(model, model.state(v={"free": (speed, 0, 0, 0, 0, 0)}))
        assert found.rigid == 1
        whirling = np.abs(found.fixed().whirl) > 0.9
        if not speed:
            # pairs of bending, beside torsion and stretch
            bending = expected[(expected > 0.0) & (expected < 2e4)]
            assert all(np.abs(found.eigenvalues.imag / w - 1.0).min() < CLOSE for w in bending)
            continue
        omega = found.fixed().eigenvalues.imag * np.sign(found.fixed().whirl)
        slowest = np.sort(omega[whirling])
        slowest = slowest[np.abs(slowest) < 2e4]
        assert len(slowest) >= 8
        np.testing.assert_allclose(slowest, expected[np.abs(expected) < 2e4], rtol=CLOSE)


def test_a_shaft_that_loops_hold_while_it_spins():
    """On a ball at one end and a line at the other, against the same elements in axes at rest."""
    length, n, radius, speed = 0.8, 6, 0.012, 500.0
    fe = flex.beam(length, flex.circle(2.0 * radius), STEEL, n)
    nodes = [str(k) for k in range(n + 1)]
    body = flex.flexible_body(flex.reduce(fe, nodes, root="0", n_modes=0), "shaft", nodes)
    ball = lm.Spherical(name="left", parent="world", child="shaft", child_at="0")
    line = lm.PointOnLine(name="right", a="world", b=f"shaft.{n}", axis=(1, 0, 0))
    model = lg.Tree([body], [ball], loops=[line], gravity=(0, 0, 0)).compile()
    A, inertia = np.pi * radius**2, np.pi * radius**4 / 4
    whole = rotors.shaft(length, n, STEEL.E * inertia, STEEL.rho * A, STEEL.rho * inertia)
    expected = rotors.whirl(*rotors.held(whole, [0, 2 * n]), speed)
    found = modes(model, model.state(v={"left": (speed, 0, 0)}))
    assert found.acceleration < 1e-9
    assert found.rigid == 1
    omega = found.fixed().eigenvalues.imag * np.round(found.fixed().whirl)
    omega = np.sort(omega[(omega != 0.0) & (np.abs(omega) < 1e4)])
    assert len(omega) == 8
    np.testing.assert_allclose(omega, expected[np.abs(expected) < 1e4], rtol=CLOSE)
    # and near the continuous beam of Rayleigh, (ρA + ρI k²) ω² − 2ρI k² Ω ω = EI k⁴
    k = np.pi / length
    beam = np.roots([A + inertia * k**2, -2.0 * inertia * k**2 * speed, -STEEL.E / STEEL.rho * inertia * k**4])
    np.testing.assert_allclose(omega[3:5], np.sort(beam), rtol=1e-3)


def test_a_damped_rotor_is_stable_whatever_its_speed():
    """Damping of the bearings, which stand still: forward and backward whirl decay, in both frames alike."""
    model = floating_rotor(damping=30.0)
    found = modes(model, model.state(v={"free": (0, 0, 1500.0, 0, 0, 0)}))
    lateral = np.flatnonzero(found.fixed().whirl)
    assert len(lateral) == 4
    assert (found.eigenvalues.real[lateral] < -1.0).all()
    M, gyro, K = rotors.rigid_rotor(*ROTOR.values(), BEARINGS, ARMS)
    D = rotors.rigid_rotor(*ROTOR.values(), (30.0, 30.0), ARMS)[2]
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D - 1500j * gyro)]])
    expected = np.linalg.eigvals(A)
    ground = found.fixed().eigenvalues[lateral]
    ground = np.where(found.fixed().whirl[lateral] > 0.0, ground, ground.conj())
    np.testing.assert_allclose(np.sort_complex(ground), np.sort_complex(expected), rtol=CLOSE)


# ---- what floats and spins


def test_nutation_of_a_free_body():
    """(C − A)/A Ω in its own axes, C/A Ω from the ground; six rigid motions and nothing else, also if C = 2 A."""
    for C in (1.0, 3.0, 4.0):
        body = lg.Body("b", mass=3.0, inertia=(2.0, 2.0, C))
        model = lg.Tree([body], [lm.Free(name="f", parent="world", child="b")], gravity=(0, 0, 0)).compile()
        found = modes(model, model.state(v={"f": (0, 0, 5.0, 0, 0, 0.7)}))
        assert (found.rigid, len(found)) == (6, 7)
        assert not found.eigenvalues[:6].any()
        assert abs(found.eigenvalues[6].imag) == pytest.approx(abs(C - 2.0) / 2.0 * 5.0, rel=1e-12)
        assert seen(found) == pytest.approx([C / 2.0 * 5.0], rel=CLOSE)
        assert abs(found.eigenvalues[6].real) < 1e-12


def spacecraft(k=900.0, r=1.5, m=2.0):
    """A hub with four masses that slide along its axis on springs, as the tips of booms."""
    hub = lg.Body("hub", mass=50.0, inertia=(20.0, 20.0, 30.0))
    tips = [lg.Body(f"tip{i}", mass=m) for i in range(4)]
    where = [(r, 0, 0), (0, r, 0), (-r, 0, 0), (0, -r, 0)]
    slides = [
        lm.Prismatic(name=f"s{i}", parent="hub", child=f"tip{i}", at=where[i], axis=(0, 0, 1), stiffness=k)
        for i in range(4)
    ]
    free = lm.Free(name="free", parent="world", child="hub")
    return lg.Tree([hub, *tips], [free, *slides], gravity=(0, 0, 0)).compile()


def test_a_spinning_flexible_spacecraft():
    """Six rigid motions, nutation, and flexible modes.

    With the tilts Φ of the hub and Θ of the ring of masses, x + iy, C_r = 2 A_r = 4 m r² and κ = 2 r² (k − m Ω²):
        A_h Φ̈ − i C_h Ω Φ̇ = κ (Θ − Φ),    A_r Θ̈ − i C_r Ω Θ̇ = κ (Φ − Θ).
    The guides' centrifugal forces take their part from κ.  All four masses together move against the hub, and two
    against two, in the rotating frame, with √(k/m).
    """
    k, r, m, speed = 900.0, 1.5, 2.0, 6.0
    model = spacecraft(k, r, m)
    found = modes(model, model.state(v={"free": (0, 0, speed, 0, 0, 0)}))
    A, C, kappa = [20.0, 2 * m * r**2], [30.0, 4 * m * r**2], 2 * r**2 * (k - m * speed**2)
    K = kappa * np.array([[1.0, -1.0], [-1.0, 1.0]])
    expected = rotors.whirl(np.diag(A), np.diag(C), K, speed)
    nutation_and_bending = np.delete(expected, np.argmin(np.abs(expected)))
    axial = np.sqrt(4.0 * k * (1.0 / (4.0 * m) + 1.0 / 50.0))
    assert (found.rigid, len(found)) == (6, 11)
    assert not found.eigenvalues[:6].any()
    assert np.abs(found.damping).max() < 1e-12
    saddle = np.argmin(np.abs(found.eigenvalues - 1j * np.sqrt(k / m)))
    assert found.eigenvalues[saddle].imag == pytest.approx(np.sqrt(k / m), rel=CLOSE)
    # a wave of two diameters has no resultant that could be seen from the ground
    assert found.fixed().shares[saddle] == 0.0
    omega = np.delete(found.fixed().eigenvalues.imag * np.where(found.fixed().whirl < 0.0, -1.0, 1.0), saddle)[6:]
    np.testing.assert_allclose(np.sort(omega), np.sort([*nutation_and_bending, axial]), rtol=CLOSE)
    # at rest it is an ordinary free structure
    at_rest = modes(model)
    assert (at_rest.rigid, len(at_rest)) == (6, 10)
    assert not at_rest.eigenvalues.real.any()


def test_a_satellite_with_a_momentum_wheel():
    """It stands still and nutates with h/√(A B); the wheel's angle is a rigid motion of its own."""
    body = lg.Body("bus", mass=100.0, inertia=(30.0, 40.0, 20.0))
    wheel = lm.Wheel(name="wheel", body="bus", axis=(0, 0, 1), inertia=0.05, transverse=0.0)
    free = lm.Free(name="free", parent="world", child="bus")
    model = lg.Tree([body], [free], wheels=[wheel], gravity=(0, 0, 0)).compile()
    for damping in (0.0, 1e-3):
        tree = dataclasses.replace(model.tree, wheels=[dataclasses.replace(wheel, damping=damping)])
        spun = tree.compile()
        state = spun.state(v={"wheel": 400.0})
        found = modes(spun, state)
        assert found.rigid == 7
        nutation = found.eigenvalues[found.eigenvalues.imag > 0.0]
        np.testing.assert_allclose(nutation, [1j * 0.05 * 400.0 / np.sqrt(30.0 * 40.0)], rtol=CLOSE)
        # the bearing takes the wheel's speed relative to the bus, 1/J + 1/C, and nothing else
        slowing = found.eigenvalues[7:][found.eigenvalues[7:].imag == 0.0]
        np.testing.assert_allclose(slowing, [-damping * (1.0 / 0.05 + 1.0 / 20.0)] if damping else [], rtol=CLOSE)


def test_a_sleeping_top():
    """A ψ̈ − i C Ω ψ̇ − m g l ψ = 0 for the tilt ψ."""
    body = lg.Body("top", mass=0.5, com=(0, 0, 0.2), inertia=(0.002, 0.002, 0.001))
    ball = lm.Spherical(name="ball", parent="world", child="top")
    model = lg.Tree([body], [ball], gravity=(0, 0, -G)).compile()
    A, C, weight = 0.002 + 0.5 * 0.04, 0.001, 0.5 * G * 0.2
    for spin in (400.0, 600.0):
        found = modes(model, model.state(v={"ball": (0, 0, spin)}))
        assert found.rigid == 1
        root = np.sqrt((C * spin) ** 2 - 4.0 * A * weight)
        expected = [(C * spin - root) / (2.0 * A), (C * spin + root) / (2.0 * A)]
        # precession and nutation, both forward
        np.testing.assert_allclose(seen(found), expected, rtol=CLOSE)
    falling = modes(model, model.state(v={"ball": (0, 0, 150.0)}))
    assert falling.damping.min() < -0.01
    with pytest.raises(InputError, match=r"kind is 'undamped', and a joint whose turns do not commute moves"):
        modes(model, model.state(v={"ball": (0, 0, 150.0)}), kind="undamped")


@pytest.mark.slow
def test_a_free_ring_at_rest():
    """Six rigid motions, and no damping that is none."""
    mechanism = lg.load(Path("models/flexible_ring.yaml"))
    model, state = mechanism.compile(), mechanism.state()
    still = dataclasses.replace(state, v=0.0 * state.v)
    found = modes(model, still)
    assert found.rigid == 6
    assert found.acceleration < 1e-6
    assert (found.eigenvalues[6:].imag > 1.0).all()
    assert not found.eigenvalues.real.any()
    total = lg.dynamics.balance(model, still).mass
    np.testing.assert_allclose(found.effective_masses[:6].sum(axis=0)[3:], total, rtol=CLOSE)
    # with damping of its pieces all of it is damped, and nothing else
    damped = found.with_damping(0.01)
    assert damped.rigid == 6
    np.testing.assert_allclose(damped.damping[6:], 0.01, rtol=1e-6)


# ---- blades, columns, links


def test_a_flapping_blade():
    """Southwell: ω² = k/J + Ω² (1 + r m l/J), on a rotor whose speed is free."""
    J, m, centre, r, k = 2.0 * 0.25, 2.0, 0.5, 0.2, 30.0
    hub = lg.Body("hub", mass=1.0, inertia=(1, 1, 1))
    blades = [lg.Body(f"blade{i}", mass=m, com=(centre, 0, 0)) for i in range(2)]
    turned = np.array([[-1.0, 0, 0, -r], [0, -1.0, 0, 0], [0, 0, 1.0, 0], [0, 0, 0, 1.0]])
    joints = [
        lm.Revolute(name="spin", parent="world", child="hub"),
        lm.Revolute(name="flap0", parent="hub", child="blade0", at=(r, 0, 0), axis=(0, 1, 0), stiffness=k),
        lm.Revolute(name="flap1", parent="hub", child="blade1", at=turned, axis=(0, 1, 0), stiffness=k),
    ]
    model = lg.Tree([hub, *blades], joints, gravity=(0, 0, 0)).compile()
    speeds = np.linspace(0.0, 40.0, 5)
    found = locus(model, "spin.speed", speeds, frame="rotating")
    assert found.rigid.tolist() == [1] * 5
    expected = np.sqrt(k / J + speeds**2 * (1.0 + r * m * centre / J))
    np.testing.assert_allclose(found.eigenvalues.imag, np.stack([expected] * 2, axis=1), rtol=CLOSE)
    assert not found.eigenvalues.real.any()
    assert found.speed == pytest.approx(speeds)


@pytest.mark.slow
def test_a_rotating_blade():
    """Against Ritz's method with polynomials, which an ever finer mesh tends to."""
    length, r, speed = 1.0, 0.1, 150.0
    section = flex.rectangle(0.04, 0.008)
    # out of the plane of rotation it bends about y, its weak axis
    stiffness, rho_A = STEEL.E * section.Iy, STEEL.rho * section.A
    expected = planar.rotating_blade(r, length, stiffness, rho_A, speed)[:3]
    assert expected[0] > 3.0 * planar.rotating_blade(r, length, stiffness, rho_A, 0.0)[0]
    errors = []
    for n in (10, 20):
        fe = flex.beam(length, section, STEEL, n, rotary=False)
        end = str(n)
        body = flex.flexible_body(flex.reduce(fe, [end], root="0", n_modes=20), "blade", [end], stiffening=True)
        hub = lg.Body("hub", mass=1.0, inertia=(1, 1, 1))
        joints = [
            lm.Revolute(name="spin", parent="world", child="hub"),
            lm.Fixed(name="root", parent="hub", child="blade", at=(r, 0, 0), child_at="0"),
        ]
        model = lg.Tree([hub, body], joints, gravity=(0, 0, 0)).compile()
        state = operating_point(model, model.state(v={"spin": speed}), "steady")
        found = modes(model.lock("spin"), state, kind="undamped")
        errors.append([np.abs(found.eigenvalues.imag / omega - 1.0).min() for omega in expected])
    assert np.max(errors[1]) < 1e-3
    assert np.max(errors[1]) < np.max(errors[0]) / 4.0


@pytest.mark.slow
def test_a_column_under_load():
    """ω² = (nπ/L)⁴ EI/ρA − P (nπ/L)²/ρA, with nothing left of the first one at Euler's load."""
    length = 1.0
    section = flex.rectangle(0.02, 0.01)
    fe = flex.beam(length, section, STEEL, 12, rotary=False)
    reduced = flex.reduce(fe, ["0", "12"], root="0", n_modes=8)
    body = flex.flexible_body(reduced, "column", ["0", "12"], stiffening=True)
    rho_A, EI = STEEL.rho * section.A, STEEL.E * section.Iy
    euler = np.pi**2 * EI / length**2
    pin = lm.Revolute(name="pin", parent="world", child="column", child_at="0", axis=(0, 1, 0))
    slider = lm.PointOnLine(name="slider", a="world", b="column.12", axis=(1, 0, 0))
    load = lm.PointForce(name="load", at="column.12")
    model = lg.Tree([body], [pin], forces=[load], loops=[slider], gravity=(0, 0, 0)).compile()
    for share in (-0.5, 0.0, 0.5, 0.9):
        push = {"load": (0, 0, 0, -share * euler, 0, 0)}
        state = equilibrium(model, inputs=push)
        found = modes(model, state, push, kind="undamped")
        expected = np.sqrt((np.pi / length) ** 4 * EI / rho_A - share * euler * (np.pi / length) ** 2 / rho_A)
        assert np.abs(found.eigenvalues.imag / expected - 1.0).min() < 1e-3, share


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.9, 0.999])
def test_a_column_of_rigid_links_under_load(share):
    """Hencky's column: masses on a chain of rods with springs between, exact in absolute angles, up to its buckling."""
    n, length, mass, spring = 5, 0.3, 1.2, 40.0
    difference = np.eye(n) - np.eye(n, k=-1)
    elastic = spring * difference.T @ difference
    M = mass * length**2 * np.array([[n - max(i, j) for j in range(n)] for i in range(n)])
    # the end comes down by half the squares of the angles: V = θᵀ (elastic − P a) θ/2
    buckling = float(np.linalg.eigvalsh(elastic)[0]) / length
    load = share * buckling
    rods = [lg.Body(f"r{k}", mass=mass, com=(0, 0, length), frames={"end": (0, 0, length)}) for k in range(n)]
    hinges = [
        lm.Revolute(
            name=f"j{k}",
            parent=f"r{k - 1}" if k else "world",
            at=(0, 0, length if k else 0.0),
            child=f"r{k}",
            axis=(0, 1, 0),
            stiffness=spring,
        )
        for k in range(n)
    ]
    dead = lm.PointForce(name="dead", at=f"r{n - 1}.end", axes="world")
    model = lg.Tree(rods, hinges, forces=[dead], gravity=(0, 0, 0)).compile()
    found = modes(model, inputs={"dead": [0, 0, 0, 0, 0, -load]})
    expected = np.sqrt(sla.eigh(elastic - load * length * np.eye(n), M, eigvals_only=True))
    # near buckling round-off of the stiffness is that much of the small difference
    np.testing.assert_allclose(np.abs(found.eigenvalues), expected, rtol=1e-12 / (1.0 - share))


def test_a_four_bar_with_a_flexible_link():
    """Against a mesh in absolute coordinates (tests/oracles/planar.py)."""
    n, section = 6, flex.rectangle(0.03, 0.006)
    a, b, d = np.array([0.0, 0.0]), np.array([0.0, 0.4]), np.array([0.9, 0.0])
    c = np.array([0.75, 0.62])
    length = float(np.linalg.norm(c - b))
    fe = flex.beam(length, section, STEEL, n)
    nodes = [str(k) for k in range(n + 1)]
    body = flex.flexible_body(flex.reduce(fe, nodes, root="0", n_modes=0), "coupler", nodes)
    links = [
        lg.Body("crank", mass=1.0, com=(0, 0, 0.2), inertia=(0.01,) * 3, frames={"end": (0, 0, 0.4)}),
        lg.Body("rocker", mass=1.5, com=0.5 * np.array([c[0] - d[0], 0, c[1]]), inertia=(0.03,) * 3,
                frames={"end": (c[0] - d[0], 0, c[1])}),
    ]  # fmt: skip
    spring = 300.0
    joints = [
        lm.Revolute(name="a", parent="world", child="crank", axis=(0, 1, 0), stiffness=spring),
        lm.Revolute(name="b", parent="crank", child="coupler", at="end", child_at="0", axis=(0, 1, 0)),
        lm.Revolute(name="d", parent="world", child="rocker", at=(d[0], 0, 0), axis=(0, 1, 0)),
    ]
    # the pins let the coupler bend out of the plane, which the planar oracle leaves out
    pin = lm.Spherical(name="c", parent="coupler", child="rocker", at=str(n), child_at="end")
    model = lg.Tree([body, *links], joints, loops=[pin], gravity=(0, 0, 0)).compile()
    angle = -np.arctan2(c[1] - b[1], c[0] - b[0])
    state = lg.assemble(model, model.state(q={"b": angle}), keep=["a", "d"])
    # bending in the x–z plane is about the section's y
    mesh = planar.beam(b, c, n, STEEL.E * section.A, STEEL.E * section.Iy, STEEL.rho * section.A,
                       STEEL.rho * section.Iy)  # fmt: skip
    moments = (0.01 + 1.0 * 0.2**2, 0.03 + 1.5 * 0.25 * float((c - d) @ (c - d)))
    expected = planar.four_bar((moments[0], b), (moments[1], c), mesh, (a, d), spring)
    found = modes(model, state)
    assert found.acceleration < 1e-6
    assert found.rigid == 0
    for omega in expected[:8]:
        assert np.abs(found.eigenvalues.imag / omega - 1.0).min() < CLOSE


# ---- masses


def test_effective_masses_of_a_free_system_are_its_inertia():
    """Also with modes, on which the sum does not depend."""
    model = spacecraft()
    found = modes(model, kind="undamped")
    masses = found.effective_masses
    ring = 2.0 * 1.5**2
    expected = [20.0 + 2 * ring, 20.0 + 2 * ring, 30.0 + 4 * ring, 58.0, 58.0, 58.0]
    np.testing.assert_allclose(masses.sum(axis=0), expected, rtol=CLOSE)
    np.testing.assert_allclose(found.movable, expected, rtol=CLOSE)
    # rigid motions have it all
    np.testing.assert_allclose(masses[: found.rigid].sum(axis=0), expected, rtol=CLOSE)
    assert masses[found.rigid :] == pytest.approx(np.zeros((4, 6)), abs=1e-18)
    assert found.participation.shape == (10, len(DIRECTIONS))


def test_effective_masses_of_a_cantilever():
    """Against the finite elements, whose clamped node keeps its share for the ground."""
    n, length, section = 5, 0.7, flex.rectangle(0.02, 0.01)
    fe = flex.beam(length, section, STEEL, n, rotary=False)
    nodes = [str(k) for k in range(n + 1)]
    body = flex.flexible_body(flex.reduce(fe, nodes, root="0", n_modes=0), "beam", nodes)
    fixed = lm.Fixed(name="clamp", parent="world", child="beam", child_at="0")
    found = modes(lg.Tree([body], [fixed], gravity=(0, 0, 0)).compile())
    M, K = planar.beam((0, 0), (length, 0), n, STEEL.E * section.A, STEEL.E * section.Iy, STEEL.rho * section.A)
    squares, shapes = sla.eigh(K[3:, 3:], M[3:, 3:])
    for column, k in ((0, 3), (1, 5)):
        along = np.zeros(len(M))
        along[column::3] = 1.0
        expected = (shapes.T @ M[3:] @ along) ** 2
        own = found.effective_masses[:, k]
        # each mode that moves in this direction, slowest first
        moving = own > 1e-9 * own.max()
        np.testing.assert_allclose(own[moving][:4], expected[expected > 1e-9 * expected.max()][:4], rtol=1e-7)
        omega = np.sqrt(squares[expected > 1e-9 * expected.max()])
        np.testing.assert_allclose(found.eigenvalues.imag[moving][:4], omega[:4], rtol=CLOSE)
        # what no mode has is that of the clamped node
        assert found.movable[k] == pytest.approx((along @ M[:, 3:]) @ np.linalg.solve(M[3:, 3:], M[3:] @ along))
        assert own.sum() == pytest.approx(found.movable[k], rel=CLOSE)


def test_a_stiff_equilibrium_is_one():
    """Modes of 1 kHz round to accelerations of 1e-6 m/s², which are none."""
    mechanism = lg.load(Path("models/flexible_arm.yaml"))
    state = operating_point(mechanism, about="rest")
    assert np.abs(lg.forward_dynamics(mechanism, state)).max() > 0.0
    assert modes(mechanism, state).acceleration < 1e-6
    # what is no equilibrium keeps its acceleration
    assert modes(mechanism).acceleration > 1.0


# ---- damping


def chain(n=3, damping=0.0, stiffness=100.0, mass=1.0):
    bodies = [lg.Body(f"m{i}", mass=mass, frames={"top": (0, 0, 1.0)}) for i in range(n)]
    joints = [
        lm.Prismatic(
            name=f"s{i}",
            parent=f"m{i - 1}" if i else "world",
            child=f"m{i}",
            axis=(1, 0, 0),
            stiffness=stiffness,
            damping=damping,
        )
        for i in range(n)
    ]
    return lg.Tree(bodies, joints, gravity=(0, 0, 0), name="chain").compile()


def test_damping_of_the_modes_of_a_system():
    found = modes(chain(damping=3.0))
    omega = np.abs(modes(chain()).eigenvalues)
    same = found.with_damping(0.02)
    np.testing.assert_allclose(same.eigenvalues, omega * (-0.02 + 1j * np.sqrt(1.0 - 0.02**2)), rtol=1e-12)
    assert same.notes == ("damping of all modes: 2 %",)
    several = found.with_damping([0.01, 0.05])
    np.testing.assert_allclose(several.damping, [0.01, 0.05, 0.0], atol=1e-12)
    # outputs that feel accelerations feel it too
    linear = same.linear_model(inputs=["s0"], outputs=["s1.acceleration", "s2.position"])
    np.testing.assert_allclose(np.sort_complex(linear.poles)[::2], np.sort_complex(same.eigenvalues.conj()), rtol=1e-9)
    place = linear.states.index("s1.speed")
    np.testing.assert_allclose(linear.C[0], linear.A[place], atol=1e-9)
    assert linear.inputs == ("s0.tau",)
    assert found.linear_model().notes == ()
    # a free one keeps its rigid motion
    float_ = lg.Tree([lg.Body("a", mass=1.0), lg.Body("b", mass=2.0)], [
        lm.Prismatic(name="x", parent="world", child="a", axis=(1, 0, 0)),
        lm.Prismatic(name="y", parent="a", child="b", axis=(1, 0, 0), stiffness=6.0),
    ], gravity=(0, 0, 0)).compile()  # fmt: skip
    damped = modes(float_).with_damping(0.1)
    assert damped.rigid == 1
    np.testing.assert_allclose(damped.damping, [0.0, 0.1], atol=1e-12)


def test_a_body_has_other_damping_than_the_system(capsys):
    """1 % of a body's own modes is less with a load at its tip."""
    fe = flex.beam(1.0, flex.rectangle(0.02, 0.01), STEEL, 4)
    body = flex.flexible_body(flex.reduce(fe, ["4"], root="0", n_modes=3), "arm", ["4"], damping=0.01)
    load = lg.Body("load", mass=30.0)
    joints = [
        lm.Fixed(name="clamp", parent="world", child="arm", child_at="0"),
        lm.Fixed(name="grip", parent="arm", child="load", at="4"),
    ]
    found = modes(lg.Tree([body, load], joints, gravity=(0, 0, 0)).compile())
    assert 0.0 < found.damping[0] < 0.004
    assert found.with_damping(0.01).damping[0] == pytest.approx(0.01)
    assert found.mostly(0).startswith("arm.eta[")


def test_ratios_that_are_refused():
    found = modes(chain())
    for ratios in (-0.1, [0.1] * 4, [[0.1]], np.nan):
        with pytest.raises(InputError, match=r"ratios are .*, expected one number ≥ 0, or at most 3"):
            found.with_damping(ratios)
    model = floating_rotor()
    with pytest.raises(InputError, match="the model moves, expected modes about rest"):
        modes(model, model.state(v={"free": (0, 0, 9.0, 0, 0, 0)})).with_damping(0.01)
    bob = lg.Body("bob", mass=1.0, com=(0, 0, 1))
    up = lg.Tree([bob], [lm.Revolute(name="h", parent="world", child="bob", axis=(0, 1, 0))]).compile()
    with pytest.raises(InputError, match="a mode grows, expected a stable equilibrium"):
        modes(up).with_damping(0.01)


# ---- exactness


def test_soft_springs_beside_stiff_ones_are_springs():
    """Nine orders of frequency apart, and none at all: ω² = k/Σm above, where one mass moves the others along."""
    bodies = [lg.Body(f"m{i}", mass=1.0) for i in range(3)]
    stiffness = [1e-6, 1e12, 1.0]

    def found(first):
        joints = [
            lm.Prismatic(
                name=f"s{i}",
                parent=f"m{i - 1}" if i else "world",
                child=f"m{i}",
                axis=(1, 0, 0),
                stiffness=[first, *stiffness[1:]][i],
            )
            for i in range(3)
        ]
        return modes(lg.Tree(bodies, joints, gravity=(0, 0, 0)).compile())

    soft = found(stiffness[0])
    assert soft.rigid == 0
    assert soft.eigenvalues[0].imag == pytest.approx(np.sqrt(1e-6 / 3.0), rel=1e-6)
    assert found(0.0).rigid == 1


def test_a_rigid_motion_that_is_damped_against_the_ground():
    """It comes to rest anywhere: a rigid displacement, and an eigenvalue −d/m."""
    sledge = lg.Body("sledge", mass=2.0)
    slide = lm.Prismatic(name="x", parent="world", child="sledge", axis=(1, 0, 0), damping=0.5)
    found = modes(lg.Tree([sledge], [slide], gravity=(0, 0, 0)).compile())
    assert found.rigid == 1
    np.testing.assert_allclose(found.eigenvalues, [0.0, -0.25], atol=1e-15)
    assert repr(found) == "<2 modes of 'tree', 1 rigid, 0.03979 to 0.03979 Hz>"


def test_first_order_states_have_modes_too():
    """A motor with a lag on a free joint: ẋ = −x/T beside a rigid motion; held if nothing is damped."""
    rod = lg.Body("rod", mass=1.0, inertia=(0.2, 0.2, 0.2))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod")
    model = lg.Tree([rod], [hinge], forces=[lm.Actuator(name="motor", joint="hinge", lag=0.05)]).compile()
    found = modes(model)
    assert found.rigid == 1
    np.testing.assert_allclose(found.eigenvalues, [0.0, -20.0], rtol=1e-12)
    assert len(modes(model, kind="undamped")) == 1
    empty = lg.Tree([rod], [lm.Fixed(name="weld", parent="world", child="rod")]).compile()
    assert len(modes(empty)) == 0
    assert len(modes(chain(5), number=2)) == 2


def test_few_modes_of_a_large_system():
    """By iteration, the same as all of them; undamped, damped, and free."""
    rng = np.random.default_rng(4)
    n, few = 450, 5
    M = np.diag(rng.uniform(1.0, 2.0, n))
    K = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    K *= 1e6
    K[0, 0] = K[-1, -1] = 1e6
    for held in (False, True):
        K[0, 0] = 2e6 if held else 1e6
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), np.zeros((n, n))]])
        reference = np.sqrt(np.maximum(sla.eigh(K, M, eigvals_only=True), 0.0))[0 if held else 1 :][:few]
        found = eigenmodes(A, M, number=few)
        assert found.rigid.shape[1] == (not held)
        np.testing.assert_allclose(found.values.imag, reference, rtol=1e-7)
        assert not found.values.real.any()
        A[n:, n:] = -np.linalg.solve(M, 1e-4 * K + 0.05 * M)
        damped = eigenmodes(A, M, number=few)
        # those that move with their damping against the ground: λ² + 0.05 λ + (1e-4 λ + 1) ω² = 0
        b = 0.05 + 1e-4 * reference**2
        expected = -0.5 * b + 1j * np.sqrt(reference**2 - 0.25 * b**2)
        values = damped.values[damped.values.imag > 0.0]
        np.testing.assert_allclose(values, expected[: len(values)], rtol=1e-6)
        assert len(values) >= few - 1
    # damping in proportion to the stiffness leaves rigid motions alone
    K[0, 0] = 1e6
    A[n:, :n], A[n:, n:] = -np.linalg.solve(M, K), -1e-6 * np.linalg.solve(M, K)
    reference = np.sqrt(np.maximum(sla.eigh(K, M, eigvals_only=True), 0.0))[1 : few + 1]
    free = eigenmodes(A, M, number=few)
    assert free.rigid.shape[1] == 1
    expected = -5e-7 * reference**2 + 1j * reference * np.sqrt(1.0 - (5e-7 * reference) ** 2)
    np.testing.assert_allclose(free.values, expected, rtol=1e-7)
    np.testing.assert_allclose(free.values.real, expected.real, rtol=1e-5)


# ---- comparison


def test_mac_and_cross_orthogonality():
    model = chain(4)
    found = modes(model)
    np.testing.assert_allclose(mac(found, found), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.abs(cross_orthogonality(found, found)), np.eye(4), atol=1e-12)
    # the same system of other coordinates: masses on the rail, springs between them
    bodies = [lg.Body(f"m{i}", mass=1.0) for i in range(4)]
    slides = [lm.Prismatic(name=f"x{i}", parent="world", child=f"m{i}", axis=(1, 0, 0)) for i in range(4)]
    springs = [
        lm.Bushing(name=f"k{i}", a=f"m{i - 1}" if i else "world", b=f"m{i}", stiffness=(0, 0, 0, 100.0, 0, 0))
        for i in range(4)
    ]
    other = modes(lg.Tree(bodies, slides, forces=springs, gravity=(0, 0, 0)).compile())
    np.testing.assert_allclose(other.eigenvalues, found.eigenvalues, rtol=CLOSE)
    frames = [f"m{i}" for i in range(4)]
    np.testing.assert_allclose(mac(found, other, frames), np.eye(4), atol=1e-9)
    assert found.displacements("m1").shape == (6, 4)
    with pytest.raises(InputError, match=r"(?s)mac: the models have different coordinates: s0, s1.*frames="):
        mac(found, other)
    with pytest.raises(InputError, match="cross_orthogonality: the models have different coordinates"):
        cross_orthogonality(found, other)
    # a heavier mass changes shapes a little
    changed = modes(chain(4, mass=1.1))
    assert np.diag(mac(found, changed)).min() > 0.999


# ---- branches


def test_branches_cross_where_shapes_differ_and_veer_where_they_do_not():
    """Two oscillators, one of rising stiffness: without a spring between them branches cross, with one they veer."""
    values = np.linspace(50.0, 150.0, 21)

    def two(coupling):
        def at(stiffness):
            bodies = [lg.Body(f"m{i}", mass=1.0) for i in range(2)]
            slides = [
                lm.Prismatic(name=f"x{i}", parent="world", child=f"m{i}", axis=(1, 0, 0), stiffness=k)
                for i, k in enumerate((stiffness, 100.0))
            ]
            between = lm.Bushing(name="k", a="m0", b="m1", stiffness=(0, 0, 0, coupling, 0, 0))
            return modes(lg.Tree(bodies, slides, forces=[between], gravity=(0, 0, 0), name="two").compile())

        return at

    crossing = locus(two(0.0), "stiffness", values)
    assert len(crossing) == 2
    rising, constant = crossing.eigenvalues.imag.T
    np.testing.assert_allclose(rising, np.sqrt(values), rtol=1e-12)
    np.testing.assert_allclose(constant, 10.0, rtol=1e-12)
    assert crossing.doubts == ()
    veering = locus(two(10.0), "stiffness", values)
    lower, upper = veering.eigenvalues.imag.T
    assert (upper - lower).min() > 0.5
    assert repr(veering) == "<2 branches of 'two' over stiffness from 50 to 150>"
    assert "branch 1 (Hz), damping (%)" in veering._repr_html_()


def test_doubtful_steps_are_listed():
    """Springs along axes that turn by 60° about (1, 1, 1) have 4/9 of each shape in common with the next one."""
    bodies = [lg.Body(name, mass=1.0 if name == "c" else 0.0) for name in "abc"]
    slides = [
        lm.Prismatic(name=name, parent=parent, child=child, axis=axis)
        for name, parent, child, axis in zip(
            "xyz", ("world", "a", "b"), "abc", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True
        )
    ]

    def at(angle):
        pose = np.eye(4)
        pose[:3, :3] = lg.lie.SO3.exp(np.full(3, angle / np.sqrt(3.0)))
        spring = lm.Bushing(name="k", a=("world", pose), b="c", stiffness=(0, 0, 0, 100.0, 200.0, 300.0))
        return modes(lg.Tree(bodies, slides, forces=[spring], gravity=(0, 0, 0)).compile())

    coarse = locus(at, "angle", [0.0, np.pi / 3.0])
    assert len(coarse.doubts) == 3
    assert coarse.doubts[0].mac == pytest.approx(4.0 / 9.0)
    assert repr(coarse).endswith("3 doubtful steps>")
    fine = locus(at, "angle", np.linspace(0.0, np.pi / 3.0, 7))
    assert fine.doubts == ()
    np.testing.assert_allclose(fine.eigenvalues[-1].imag, np.sqrt([100.0, 200.0, 300.0]), rtol=CLOSE)


def test_a_pair_becomes_two_real_eigenvalues(tmp_path):
    """λ² + 2ζω λ + ω² beyond ζ = 1: a branch goes on, another one begins."""

    def at(damping):
        cart = lg.Body("cart", mass=1.0)
        slide = lm.Prismatic(name="x", parent="world", child="cart", axis=(1, 0, 0), stiffness=1.0, damping=damping)
        return modes(lg.Tree([cart], [slide], gravity=(0, 0, 0)).compile())

    values = np.linspace(0.0, 4.0, 9)
    found = locus(at, "damping", values)
    assert len(found) == 2
    assert np.isnan(found.eigenvalues).sum() == 4
    for value, eigenvalues in zip(values, found.eigenvalues, strict=True):
        there = eigenvalues[~np.isnan(eigenvalues)]
        expected = np.roots([1.0, value, 1.0]).astype(complex)
        expected = expected[expected.imag >= 0.0]
        np.testing.assert_allclose(np.sort_complex(there), np.sort_complex(expected), atol=1e-7)
    for draw, name in ((found.plot, "campbell.png"), (found.plot_roots, "roots.svg")):
        assert draw(tmp_path / name).axes
        assert (tmp_path / name).stat().st_size > 1000
    with pytest.raises(InputError, match=r"plot: '.*x.txt' ends in '.txt', expected one of .png, .pdf, .svg"):
        found.plot(tmp_path / "x.txt")
    with pytest.raises(InputError, match="nothing turns faster or slower over 'damping'"):
        found.critical_speeds()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["campbell.png", "roots.svg"]


def test_critical_speeds_of_a_rotor(tmp_path):
    """ω = Ω in M q̈ − iΩG q̇ + K q = 0: the eigenvalues Ω² of (K, M − G)."""
    model = floating_rotor()
    speeds = np.linspace(0.0, 1200.0, 25)
    found = locus(lambda speed: modes(model, model.state(v={"free": (0, 0, speed, 0, 0, 0)})), "speed", speeds)
    assert found.doubts == ()
    assert len(found) == 5
    assert len(locus(lambda speed: modes(model), "speed", speeds[:3], number=2)) == 2
    M, gyro, K = rotors.rigid_rotor(*ROTOR.values(), BEARINGS, ARMS)
    forward = np.sqrt(sla.eigh(K, M - gyro, eigvals_only=True))
    backward = np.sqrt(sla.eigh(K, M + gyro, eigvals_only=True))
    expected = np.sort([*forward, *backward, np.sqrt(2.0 * AXIAL / ROTOR["mass"])])
    np.testing.assert_allclose(found.critical_speeds(), expected, rtol=1e-5)
    # a branch is one way of whirling all along
    for whirl in found.whirl[1:].T:
        assert np.ptp(np.sign(whirl)) == 0
    figure = found.plot(tmp_path / "campbell.pdf")
    assert {text.get_text() for text in figure.axes[0].get_legend().get_texts()} == {
        "backward whirl",
        "forward whirl",
        "no whirl",
    }
    # seen from the rotor some pass through zero
    turning = locus(
        lambda speed: modes(model, model.state(v={"free": (0, 0, speed, 0, 0, 0)})), "speed", speeds, frame="rotating"
    )
    assert turning.doubts == ()
    assert len(turning) == 5
    assert repr(turning).endswith("rotating frame>")


FILE = """
liegeo: 1
name: swing
parameters: {length: 1 m, drag: 0.2 N*m*s/rad}
bodies:
  bob: {kind: rigid, mass: 1 kg, com: [0, 0, $(-length)]}
joints:
  hinge: {kind: revolute, parent: world, child: bob, axis: [0, 1, 0], damping: $(drag)}
initial: {q: {hinge: 10 deg}}
"""


def test_a_parameter_of_a_model_file(tmp_path):
    path = tmp_path / "swing.yaml"
    path.write_text(FILE)
    swing = lg.load(path)
    values = np.array([0.5, 1.0, 2.0])
    found = locus(swing, "length", values, about="rest")
    np.testing.assert_allclose(np.abs(found.eigenvalues[:, 0]), np.sqrt(G / values), rtol=CLOSE)
    np.testing.assert_allclose(found.damping[:, 0], 0.1 / values**2 / np.sqrt(G / values), rtol=CLOSE)
    assert locus(swing, "length", values).modes[0].acceleration > 1.0
    with pytest.raises(InputError, match="about is 'stedy', expected one of 'initial', 'rest', 'steady'"):
        locus(swing, "length", values, about="stedy")
    with pytest.raises(InputError, match=r"(?s)about is 'steady', and no joint of .* moves.*about='rest'"):
        operating_point(swing, about="steady")


def test_what_loci_refuse():
    model = chain()
    for values in ([1.0], [1.0, 3.0, 2.0], [[1.0, 2.0]], [0.0, np.nan]):
        with pytest.raises(InputError, match="expected two or more numbers that rise, or that fall"):
            locus(model, "s0.speed", values)
    with pytest.raises(InputError, match=r"'s9.speed' is no speed of a joint of .* Did you mean 's\d.speed'"):
        locus(model, "s9.speed", [0.0, 1.0])
    with pytest.raises(InputError, match="frame is 'moving', expected 'fixed' or 'rotating'"):
        locus(model, "s0.speed", [0.0, 1.0], frame="moving")
    with pytest.raises(InputError, match="locus: number is 0, expected a whole number ≥ 1"):
        locus(model, "s0.speed", [0.0, 1.0], number=0)
    with pytest.raises(InputError, match="locus: the function returns 3 for 0, expected Modes"):
        locus(lambda value: 3, "x", [0.0, 1.0])


# ---- pictures


def test_a_mode_is_a_run_to_look_at(tmp_path):
    """One period along the group, as large as one can see, and a page with a choice."""
    model = spacecraft()
    found = modes(model)
    run = found.motion(9)
    assert len(run) == 49
    np.testing.assert_allclose(run.q[0], run.q[-1], atol=1e-12)
    moved = np.stack([model.group.difference(q, found.state.q) for q in run.q])
    # a cosine times the shape
    shape = found.shapes[:, 9].real
    np.testing.assert_allclose(moved, np.outer(np.cos(2.0 * np.pi * run.t / run.t[-1]), moved[0]), atol=1e-12)
    assert np.abs(moved[0] @ shape) == pytest.approx(np.linalg.norm(moved[0]) * np.linalg.norm(shape))
    np.testing.assert_allclose(found.motion(9, 0.25).q[0, -4:], 0.25 * shape[-4:] * np.sign(shape[-4:] @ moved[0][-4:]))
    page = found.view(tmp_path / "modes.html")
    text = page.read_text(encoding="utf-8")
    assert '"choose":true' in text
    assert "mode 6: " in text
    assert "mode 5" not in text
    assert "mode 0: rigid" in found.view(tmp_path / "one.html", [0]).read_text(encoding="utf-8")
    with pytest.raises(InputError, match="motion: mode 10 is none of 10, expected 0 to 9"):
        found.motion(10)
    with pytest.raises(InputError, match="has no mode to show, expected numbers of modes in `modes`"):
        found.view(tmp_path / "none.html", [])
    assert "mode 6: " in modes(model, model.state(v={"free": (0, 0, 3.0, 0, 0, 0)})).label(6)


def test_how_modes_print():
    model = floating_rotor(damping=30.0)
    found = modes(model, model.state(v={"free": (0, 0, 300.0, 0, 0, 0)}))
    shown = found._repr_html_()
    assert "rotating (Hz)" in shown
    assert "fixed (Hz)" in shown
    assert found.label(1).endswith("% (rotating frame)")
    still = modes(model, kind="undamped")
    assert repr(still).startswith("<6 undamped modes of 'rotor', 1 rigid, 25.16 to 101.4 Hz>")
    tumbling = modes(model, model.state(v={"free": (1, 2, 3, 0, 0, 0)}))
    assert tumbling.frame() == "The motion is not steady: frequencies are those of the system frozen in this state."
