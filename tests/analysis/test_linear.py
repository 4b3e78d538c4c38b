"""Linear models: closed forms, the non-linear motion for small deviations, discrete time, names, files, refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.linalg as sla
from scipy.optimize import minimize_scalar

import liegeo as lg
from liegeo import model as lm
from liegeo.analysis.linear import FRICTIONS, LinearModel, deviations, linearise
from liegeo.analysis.modes import modes
from liegeo.errors import AssemblyError, InputError
from liegeo.model.state import State
from liegeo.statics import equilibrium

G = 9.81


def pendulum(**more):
    """A bob of 2 kg on a rod of 1.5 m, with a motor."""
    rod = lg.Body("rod", mass=2.0, com=(0, 0, -1.5), inertia=(0.1, 0.1, 0.1), frames={"bob": (0, 0, -1.5)})
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0), damping=0.4, **more)
    motor = lm.Actuator(name="motor", joint="hinge")
    return lg.Tree([rod], [hinge], forces=[motor], gravity=(0, 0, -G)).compile()


def masses(*stiffness, damping=0.0):
    """Carts of 1 kg in a row on a rail, each on a spring to the one before it, the first to the ground."""
    carts = [lg.Body(f"m{k}", mass=1.0) for k in range(len(stiffness))]
    slides = [
        lm.Prismatic(
            name=f"s{k}",
            parent=f"m{k - 1}" if k else "world",
            child=f"m{k}",
            axis=(1, 0, 0),
            stiffness=stiffness[k],
            damping=damping,
        )
        for k in range(len(stiffness))
    ]
    return lg.Tree(carts, slides, gravity=(0, 0, 0)).compile()


def top(spin=40.0):
    """A symmetric top that stands upright on a ball joint and spins; its moments about the pivot, and m g l."""
    body = lg.Body("top", mass=0.5, com=(0, 0, 0.2), inertia=(0.002, 0.002, 0.001))
    ball = lm.Spherical(name="ball", parent="world", child="top")
    model = lg.Tree([body], [ball], gravity=(0, 0, -G)).compile()
    return model, model.state(v={"ball": (0, 0, spin)}), (0.002 + 0.5 * 0.04, 0.001, 0.5 * G * 0.2)


def sorted_by_size(values):
    return np.sort_complex(np.round(np.asarray(values, dtype=complex), 9))


# ---- closed forms


def test_a_pendulum_with_a_motor():
    """(J + m l²) φ̈ + c φ̇ + m g l cos φ₀ φ = τ; height −l cos φ."""
    model = pendulum()
    angle = 0.3
    linear = linearise(
        model, model.state(q={"hinge": angle}), outputs=["hinge.angle", "rod.bob.position.z", "hinge.a*"]
    )
    inertia = 0.1 + 2.0 * 1.5**2
    k = 2.0 * G * 1.5 * np.cos(angle) / inertia
    np.testing.assert_allclose(linear.A, [[0, 1], [-k, -0.4 / inertia]], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(linear.B, [[0], [1 / inertia]], rtol=1e-13)
    np.testing.assert_allclose(linear.C[:2], [[1, 0], [1.5 * np.sin(angle), 0]], rtol=1e-13, atol=1e-15)
    assert linear.outputs == ("hinge.angle", "rod.bob.position.z", "hinge.acceleration")
    np.testing.assert_allclose(linear.C[2], linear.A[1], rtol=1e-13)
    np.testing.assert_allclose(linear.D, [[0], [0], [1 / inertia]], rtol=1e-13)
    assert (linear.states, linear.inputs) == (("hinge.angle", "hinge.speed"), ("motor.input",))
    assert (linear.state_units, linear.input_units) == (("rad", "rad/s"), ("N·m",))
    assert linear.output_units[1] == "m"
    assert linear.y0[1] == pytest.approx(-1.5 * np.cos(angle))
    assert not linear.is_steady
    assert "no operating point: rates to" in repr(linear)
    M, D, skew, K, B = linear.second_order
    np.testing.assert_allclose([M[0, 0], D[0, 0], skew[0, 0], K[0, 0], B[0, 0]], [inertia, 0.4, 0, k * inertia, 1])
    # held by its motor it is an operating point
    held = linearise(model, model.state(q={"hinge": angle}), at={"motor": 2.0 * G * 1.5 * np.sin(angle)})
    assert held.is_steady
    np.testing.assert_allclose(held.A, linear.A, rtol=1e-13)
    assert held.u0 == pytest.approx([2.0 * G * 1.5 * np.sin(angle)])


def test_a_sleeping_top():
    """Seen from the ground A ψ̈ − i C Ω ψ̇ − m g l ψ = 0 for the tilt ψ; the body turns by Ω beside it."""
    for spin in (40.0, 60.0, 150.0):
        model, state, (A, C, weight) = top(spin)
        linear = linearise(model, state)
        assert linear.is_steady
        root = np.sqrt(complex((C * spin) ** 2 - 4.0 * A * weight))
        ground = [1j * (C * spin + side * root) / (2.0 * A) for side in (1.0, -1.0)]
        body = [s - 1j * spin for s in ground]
        expected = sorted_by_size([*body, *np.conj(body), 0.0, 0.0])
        np.testing.assert_allclose(sorted_by_size(linear.poles), expected, rtol=1e-7, atol=2e-6)
    assert linear.states[:3] == ("ball.rotation.x", "ball.rotation.y", "ball.rotation.z")
    assert linear.state_units[:3] == ("rad",) * 3


def test_nutation_of_a_free_body():
    """A body that spins about its axis of symmetry nutates with (C − A)/A Ω in its own axes."""
    body = lg.Body("b", mass=3.0, inertia=(2.0, 2.0, 3.0))
    model = lg.Tree([body], [lm.Free(name="f", parent="world", child="b")], gravity=(0, 0, 0)).compile()
    linear = linearise(model, model.state(v={"f": (0, 0, 5.0, 0, 0, 0)}))
    imaginary = np.sort(np.abs(linear.poles.imag))
    # the frame itself turns by Ω beneath what stands still: attitude and place of the body have that frequency
    expected = np.sort([2.5] * 2 + [5.0] * 6 + [0.0] * 4)
    np.testing.assert_allclose(imaginary, expected, atol=1e-5)
    np.testing.assert_allclose(linear.poles.real, 0.0, atol=1e-5)


def test_a_blade_stiffens_with_its_rotor():
    """Southwell: ω² = k/J + Ω² (r + l)/l for a blade of length l that flaps on a hinge at the radius r."""
    hub = lg.Body("hub", mass=1.0, inertia=(1, 1, 1))
    bob = lg.Body("bob", mass=2.0, com=(0.5, 0, 0))
    joints = [
        lm.Revolute(name="spin", parent="world", child="hub"),
        lm.Prismatic(name="stretch", parent="hub", child="bob", at=(0.2, 0, 0), axis=(1, 0, 0), stiffness=5e3),
    ]
    model = lg.Tree([hub, bob], joints, gravity=(0, 0, 0)).compile()
    speed = 20.0
    state = equilibrium(model, speeds={"spin": speed})
    # k s = m Ω² (r + l + s)
    stretched = 2.0 * speed**2 * 0.7 / (5e3 - 2.0 * speed**2)
    assert state["stretch.position"] == pytest.approx(stretched, rel=1e-9)
    assert state["spin.speed"] == speed
    locked = linearise(model.lock("spin"), state)
    assert locked.is_steady
    assert np.abs(locked.poles.imag) == pytest.approx([np.sqrt(5e3 / 2.0 - speed**2)] * 2)
    flap = lm.Revolute(name="flap", parent="hub", child="bob", at=(0.2, 0, 0), axis=(0, 1, 0), stiffness=30.0)
    model = lg.Tree([hub, bob], [joints[0], flap], gravity=(0, 0, 0)).compile().lock("spin")
    linear = linearise(model, model.state(v={"spin": speed}))
    expected = np.sqrt(30.0 / (2.0 * 0.25) + speed**2 * (0.2 + 0.5) / 0.5)
    assert np.abs(linear.poles.imag) == pytest.approx([expected] * 2, rel=1e-12)


def test_loops_and_locks_take_coordinates_away():
    """A double pendulum whose lower mass slides on a vertical line: one coordinate is left, ω² = 3 g/L."""
    bodies = [lg.Body(f"m{k}", mass=1.0, com=(0, 0, -1), frames={"end": (0, 0, -1)}) for k in range(2)]
    joints = [
        lm.Revolute(name="j0", parent="world", child="m0", axis=(0, 1, 0)),
        lm.Revolute(name="j1", parent="m0", child="m1", at=(0, 0, -1), axis=(0, 1, 0)),
    ]
    # twice the same: a redundant row
    lines = [lm.PointOnLine(name=f"line{k}", a="world", b="m1.end", axis=(0, 0, 1)) for k in range(2)]
    model = lg.Tree(bodies, joints, loops=lines, gravity=(0, 0, -G)).compile()
    linear = linearise(model, outputs=["j0.angle", "j1.angle"])
    assert linear.n_coordinates == 1
    assert np.abs(linear.poles.imag) == pytest.approx([np.sqrt(3.0 * G)] * 2)
    # what depends on it is an output like any other: j1 = −2 j0
    assert linear.C[1, 0] / linear.C[0, 0] == pytest.approx(-2.0)
    assert 2.0 * np.pi * modes(model).frequencies == pytest.approx(np.abs(linear.poles.imag[:1]))
    assert linearise(model.lock("j0")).n_coordinates == 0


def test_a_rotating_frame_with_loops():
    """A bead on a circle that turns about the vertical, ω = Ω sin θ where cos θ = g/(Ω² R)."""
    hoop = lg.Body("hoop", mass=0.0, inertia=(1, 1, 1))
    cart, bead = lg.Body("cart", mass=0.0), lg.Body("bead", mass=1.0)
    joints = [
        lm.Revolute(name="spin", parent="world", child="hoop"),
        lm.Prismatic(name="x", parent="hoop", child="cart", axis=(1, 0, 0)),
        lm.Prismatic(name="z", parent="cart", child="bead", axis=(0, 0, 1)),
    ]
    rod = lm.Distance(name="rod", a="hoop", b="bead", length=1.0)
    model = lg.Tree([hoop, cart, bead], joints, loops=[rod], gravity=(0, 0, -G)).compile().lock("spin")
    speed = 6.0
    cosine = G / speed**2
    sine = np.sqrt(1.0 - cosine**2)
    state = model.state(q={"x": sine, "z": -cosine}, v={"spin": speed})
    linear = linearise(model, state)
    assert linear.is_steady
    assert linear.n_coordinates == 1
    assert np.abs(linear.poles.imag) == pytest.approx([speed * sine] * 2, rel=1e-9)
    # found from nearby, too
    near = equilibrium(model, model.state(q={"x": 0.9, "z": -0.4}), speeds={"spin": speed})
    assert near.q == pytest.approx([0.0, sine, -cosine], abs=1e-9)
    np.testing.assert_allclose(linear.poles.real, 0.0, atol=1e-9)


def test_first_order_states():
    """A motor with a lag, and bristles that hold: φ̈ J = x − σ₀ z − σ₁ φ̇ − σ₂ φ̇, ż = φ̇, ẋ = (u − x)/T."""
    rod = lg.Body("rod", mass=1.0, inertia=(0.2, 0.2, 0.2))
    hinge = lm.Revolute(name="hinge", parent="world", child="rod")
    forces = [
        lm.Actuator(name="motor", joint="hinge", lag=0.05),
        lm.BristleFriction(name="seal", joint="hinge", coulomb=0.1, stiffness=80.0, damping=0.3, viscous=0.2),
    ]
    model = lg.Tree([rod], [hinge], forces=forces, gravity=(0, 0, 0)).compile()
    linear = linearise(model, outputs=["hinge.angle"])
    place = {name: k for k, name in enumerate(linear.states)}
    assert len(place) == 4
    motor = next(k for name, k in place.items() if name.startswith("motor."))
    seal = next(k for name, k in place.items() if name.startswith("seal."))
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[seal, 1] = 1.0
    expected[1, [1, motor, seal]] = -0.5 / 0.2, 1.0 / 0.2, -80.0 / 0.2
    expected[motor, motor] = -20.0
    np.testing.assert_allclose(linear.A, expected, rtol=1e-12, atol=1e-12)
    assert linear.B[motor, 0] == pytest.approx(20.0)


# ---- the non-linear motion


def remainders(model, state, linear, held, scale=1.0, time=None, amplitudes=(1e-3, 2.5e-4, 6.25e-5)):
    """Return what motions differ by from the linear model, for small deviations that shrink to a quarter each time.

    Each coordinate and speed deviates by as much as changes the energy alike.
    """
    n = linear.n_coordinates
    names = [name for name, _ in deviations(model)]
    chosen = [names.index(name) for name in linear.states[:n]]
    whole = linear.second_order
    stiff, heavy = np.abs(np.diag(whole.K)), np.diag(whole.M)
    size = np.concatenate([1.0 / np.sqrt(np.maximum(part, 1.0)) for part in (stiff, heavy)] + [np.ones(model.nx)])
    start = scale * size * np.random.default_rng(1).normal(size=len(size))
    # some periods of the fastest mode
    time = 6.0 * np.pi / max(float(np.abs(linear.poles).max()), 100.0) if time is None else time
    chosen_run = {"method": "rkmk-54", "rtol": 1e-12, "atol": 1e-14, "inputs": held, "progress": False}

    def after(begin):
        ends = [begin.t, begin.t + time]
        return lg.simulate(model, begin, t_end=ends[1], output=ends, **chosen_run).end

    def difference(here, there):
        shift = model.group.difference(here.q, there.q)[chosen]
        return np.concatenate([shift, (here.v - there.v)[chosen], here.x - there.x])

    rest, found = after(state), []
    for amplitude in amplitudes:
        shift, speed = np.zeros((2, model.nv))
        shift[chosen], speed[chosen] = amplitude * start[:n], amplitude * start[n : 2 * n]
        moved = State(
            model.group.retract(state.q, shift), state.v + speed, state.t, state.x + amplitude * start[2 * n :]
        )
        moved = lg.assemble(model, moved)
        expected = sla.expm(time * linear.A) @ difference(moved, state)
        found.append(float((np.abs(difference(after(moved), rest) - expected) / size).max()))
    return np.array(found)


def linked_arm():
    """Two hinges, a ball joint and a spring between frames, at rest."""
    bodies = [
        lg.Body(name, mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.08, 0.05), frames={"end": (0, 0, -1)})
        for name in ("upper", "lower", "hand")
    ]
    joints = [
        lm.Revolute(name="shoulder", parent="world", child="upper", axis=(0, 1, 0), damping=0.2),
        lm.Revolute(name="elbow", parent="upper", child="lower", at="end", axis=(1, 0, 0), stiffness=3.0),
        lm.Spherical(name="wrist", parent="lower", child="hand", at="end", damping=0.05),
    ]
    spring = lm.SpringDamper(
        name="spring", a=("world", (0.5, 0, -2)), b="hand.end", stiffness=40.0, damping=0.5, length=0.8
    )
    return lg.Tree(bodies, joints, forces=[spring]).compile()


def four_bar():
    links = [
        lg.Body("crank", mass=1.0, com=(0, 0, 0.2), inertia=(0.01,) * 3, frames={"end": (0, 0, 0.4)}),
        lg.Body("coupler", mass=1.0, com=(0.4, 0, 0), inertia=(0.02,) * 3, frames={"end": (0.8, 0, 0)}),
        lg.Body("rocker", mass=1.5, com=(0, 0, 0.3), inertia=(0.03,) * 3, frames={"end": (0, 0, 0.6)}),
    ]
    joints = [
        lm.Revolute(name="a", parent="world", child="crank", axis=(0, 1, 0), stiffness=30.0, damping=0.1),
        lm.Revolute(name="b", parent="crank", child="coupler", at="end", axis=(0, 1, 0)),
        lm.Revolute(name="d", parent="world", child="rocker", at=(0.9, 0, 0), axis=(0, 1, 0)),
    ]
    pin = lm.Revolute(name="c", parent="coupler", child="rocker", at="end", child_at="end", axis=(0, 1, 0))
    model = lg.Tree(links, joints, loops=[pin]).compile()
    return model, lg.assemble(model, model.state(q={"a": 0.1, "b": 0.2}))


def driven_arm():
    """The arm with a motor that lags and bristles in a joint."""
    tree = linked_arm().tree
    more = [
        lm.Actuator(name="motor", joint="shoulder", lag=0.05),
        lm.BristleFriction(name="seal", joint="elbow", coulomb=0.5, stiffness=80.0, damping=0.3, viscous=0.2),
    ]
    return dataclasses.replace(tree, forces=[*tree.forces, *more]).compile()


CASES = {
    "arm": lambda: (linked_arm(), equilibrium(linked_arm())),
    "first-order states": lambda: (driven_arm(), equilibrium(driven_arm())),
    "four-bar": lambda: (lambda model, state: (model, equilibrium(model, state)))(*four_bar()),
    "top": lambda: top(150.0)[:2],
}


@pytest.mark.parametrize("name", CASES)
def test_the_linear_model_is_the_motion_but_for_the_square_of_deviations(name):
    model, state = CASES[name]()
    linear = linearise(model, state)
    assert linear.is_steady
    found = remainders(model, state, linear, None, time=0.3)
    # a quarter of the deviation leaves a sixteenth
    assert found[:-1] / found[1:] == pytest.approx([16.0, 16.0], rel=0.15)


# The motion of the hub is a function of time, but for a speed of 0; a thin rod of the slider-crank bears little.
GIVEN, SMALLER = {"fls13_spin_up": {"speed": 0.0}}, {"fls13_slider_crank": 0.2}


# The only motion of the mast is prescribed.
MOVING = [path for path in sorted(Path("models").glob("*.yaml")) if path.stem != "scissor_mast"]


@pytest.mark.slow
@pytest.mark.parametrize("path", MOVING, ids=lambda path: path.stem)
def test_every_shipped_model_moves_like_its_linear_model(path):
    """At its initial position, where forces on all coordinates hold it."""
    mechanism = lg.load(path, set=GIVEN.get(path.stem, {}))
    model, start = mechanism.compile(), mechanism.state()
    state = dataclasses.replace(start, v=np.zeros(model.nv))
    tau = lg.inverse_dynamics(model, state)
    held = {name: tau[place] for name, place in model.group.v.items()}
    linear = linearise(model, state, at=held, friction="tangent")
    assert linear.largest_rate < 1e-9
    found = remainders(model, state, linear, held, SMALLER.get(path.stem, 1.0))
    # the squeezer has no terms of second order here: a quarter leaves a sixty-fourth
    assert (found[:-1] / found[1:] > 15.0).all()


# ---- operating points


def test_a_four_bar_settles_where_its_energy_is_least():
    """With loops; the energy by the angle of the crank, found otherwise."""
    model, state = four_bar()

    def energy(angle):
        near = lg.assemble(model, dataclasses.replace(state, q=model.state(q={"a": angle, "b": 0.2}).q), keep=["a"])
        return lg.dynamics.balance(model, near).energy

    rest = equilibrium(model, state)
    best = minimize_scalar(energy, bounds=(-0.6, 0.8), method="bounded", options={"xatol": 1e-10})
    assert rest["a.angle"] == pytest.approx(best.x, abs=2e-6)
    assert np.abs(lg.forward_dynamics(model, rest)).max() < 1e-6
    assert np.abs(lg.dynamics.constraint_values(model, rest).residual).max() < 1e-12


def test_indifferent_directions_stay_where_they_are():
    model, _, _ = top()
    rest = equilibrium(model, State(lg.lie.SO3Q.exp([0.2, 2.9, 0.3]), np.zeros(3), 0.0, np.zeros(0)))
    assert np.abs(lg.inverse_dynamics(model, rest)).max() < 1e-7
    assert lg.dynamics.body_poses(model, rest)["top"][2, 2] == pytest.approx(-1.0)


def test_states_of_elements_settle_too():
    model = lg.Tree(
        [lg.Body("rod", mass=1.0, com=(0, 0, -1))],
        [lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0))],
        forces=[lm.Actuator(name="motor", joint="hinge", lag=0.1)],
        gravity=(0, 0, -G),
    ).compile()
    rest = equilibrium(model, inputs={"motor": 2.0})
    assert rest.x == pytest.approx([2.0])
    assert np.sin(rest["hinge.angle"]) == pytest.approx(2.0 / G)


def test_operating_points_that_are_refused():
    adrift = lg.Tree(
        [lg.Body("b", mass=1.0, inertia=(1, 1, 1))], [lm.Free(name="f", parent="world", child="b")]
    ).compile()
    with pytest.raises(AssemblyError, match=r"largest force that is left is 9\.8\d*, at 'f'"):
        equilibrium(adrift)
    model, state = four_bar()
    with pytest.raises(AssemblyError, match=r"(?s)speeds of 'a' alone, the constraints .* open with .*per second"):
        equilibrium(model, state, speeds={"a": 3.0})


# ---- what is done with a linear model


def test_poles_and_zeros():
    """Two carts on springs: the first one does not move where the second one is its absorber."""
    model = masses(100.0, 30.0)
    linear = linearise(model, inputs=["s0"], outputs=["m0.position.x"])
    assert linear.inputs == ("s0.tau",)
    np.testing.assert_allclose(np.abs(linear.zeros()), [np.sqrt(30.0)] * 2, rtol=1e-9)
    np.testing.assert_allclose(linear.zeros().real, 0.0, atol=1e-9)
    # K = [[100, 0], [0, 30]] in relative coordinates, M = [[2, 1], [1, 1]]
    expected = np.sqrt(sla.eigh([[100.0, 0], [0, 30.0]], [[2.0, 1], [1, 1]], eigvals_only=True))
    np.testing.assert_allclose(np.sort(np.abs(linear.poles))[::2], expected, rtol=1e-12)
    with pytest.raises(InputError, match="there are 2 inputs and 1 outputs, expected as many of both"):
        linearise(model, inputs=["*.tau"], outputs=["m0.position.x"]).zeros()


def test_frequency_response():
    """x/f = 1/(k − ω² + i c ω) of a cart, and its exact twin in discrete time at low frequency."""
    linear = linearise(masses(100.0, damping=2.0), inputs=["s0"], outputs=["s0.position"])
    frequencies = np.array([0.1, 1.0, 1.6, 5.0])
    omega = 2.0 * np.pi * frequencies
    found = linear.frequency_response(frequencies)
    assert found.shape == (4, 1, 1)
    np.testing.assert_allclose(found[:, 0, 0], 1.0 / (100.0 - omega**2 + 2j * omega), rtol=1e-12)
    sampled = linear.discrete(1e-3).frequency_response(frequencies)[:, 0, 0]
    # a hold is late by half a period
    np.testing.assert_allclose(sampled, found[:, 0, 0] * np.exp(-0.5j * 1e-3 * omega), rtol=1e-4)


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.05, 0.063])
def test_discrete_time_is_the_motion_under_held_inputs(delay):
    """Against pieces of the time so short that the input, which comes late, is constant in each."""
    period = 0.05
    linear = linearise(masses(40.0, damping=0.8), inputs=["s0"], outputs=["s0.position", "s0.acceleration"])
    sampled = linear.discrete(period, delay)
    force = np.random.default_rng(1).normal(size=20)
    state, seen = np.zeros(len(sampled.states)), []
    for u in force:
        seen.append(sampled.C @ state + sampled.D @ [u])
        state = sampled.A @ state + sampled.B @ [u]
    x, out, whole = np.zeros(2), [], np.array([[0.0, 1.0], [-40.0, -0.8]])
    # by short pieces in which the force is constant
    pieces = 2000
    h = period / pieces
    step = sla.expm(h * np.block([[whole, np.array([[0.0], [1.0]])], [np.zeros((1, 3))]]))
    for k in range(20):
        for j in range(pieces):
            t = (k * pieces + j) * h
            index = int(np.floor((t - delay) / period + 1e-9))
            u = force[index] if index >= 0 else 0.0
            if j == 0:
                out.append([x[0], u - 40.0 * x[0] - 0.8 * x[1]])
            x = step[:2, :2] @ x + step[:2, 2] * u
    np.testing.assert_allclose(np.array(seen), np.array(out), atol=2e-9 + 1e-3 * (delay % h > 0.0))
    assert sampled.period == period
    assert repr(sampled).endswith("every 0.05 s>")


def test_other_programs(tmp_path):
    linear = linearise(linked_arm(), inputs=["*.tau", "wrist.tau[0]"], outputs=["hand.end.position"])
    response = linear.frequency_response([0.3])[0]
    system = linear.to_scipy()
    s = 2j * np.pi * 0.3
    np.testing.assert_allclose(system.C @ np.linalg.solve(s * np.eye(len(system.A)) - system.A, system.B), response)
    control = pytest.importorskip("control")
    other = linear.to_control()
    assert isinstance(other, control.StateSpace)
    assert other.input_labels == [name.replace(".", "_") for name in linear.inputs]
    np.testing.assert_allclose(other(s), response, rtol=1e-9)
    assert linear.discrete(0.01).to_control().dt == linear.discrete(0.01).to_scipy().dt == 0.01
    file = linear.save(tmp_path / "arm.mat")
    content = scipy.io.loadmat(file)
    np.testing.assert_array_equal(content["A"], linear.A)
    assert [str(name[0]) for name in content["outputs"][:, 0]] == list(linear.outputs)
    np.testing.assert_allclose(content["M"], linear.mass)
    with pytest.raises(InputError, match=r"ends in '\.txt', expected \.mat"):
        linear.save(tmp_path / "arm.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["arm.mat"]


def test_parts():
    linear = linearise(linked_arm(), inputs=["*.tau"], outputs=["hand.end.position"])
    part = linear.part(inputs=["shoulder.tau"], outputs=["hand.end.position.z", "hand.end.position.x"])
    assert isinstance(part, LinearModel)
    np.testing.assert_array_equal(part.C, linear.C[[2, 0]])
    assert part.inputs == ("shoulder.tau",)
    with pytest.raises(InputError, match=r"'hand.end.position.y2' is none of the outputs. Did you mean"):
        linear.part(outputs=["hand.end.position.y2"])


# ---- friction at rest


def test_friction_at_rest_has_to_be_said():
    model = pendulum(friction=2.0, friction_speed=0.01)
    with pytest.raises(InputError, match=r"(?s)joint 'hinge' stands still, where Coulomb friction holds.*'leave out'"):
        linearise(model)
    free, damped, locked = (linearise(model, friction=choice) for choice in FRICTIONS)
    np.testing.assert_allclose(free.A, linearise(pendulum()).A, rtol=1e-14)
    inertia = 0.1 + 2.0 * 1.5**2
    assert damped.A[1, 1] == pytest.approx(-(0.4 + 2.0 / 0.01) / inertia, rel=1e-3)
    assert locked.n_coordinates == 0
    assert free.notes == ("friction at rest is left out: 'hinge'",)
    with pytest.raises(InputError, match="friction is 'none', expected one of 'leave out', 'tangent', 'lock'"):
        linearise(model, friction="none")
    # a joint that slides is not at rest
    assert linearise(model, model.state(v={"hinge": 1.0})).notes == ()
    with pytest.raises(InputError, match="modes: joint 'hinge' stands still"):
        modes(model)
    assert len(modes(model, friction="leave out")) == 1


def test_friction_leaves_locks_as_they_are():
    tree = linked_arm().tree
    joints = [dataclasses.replace(each, friction=0.1) if each.name == "elbow" else each for each in tree.joints]
    model = dataclasses.replace(tree, joints=joints).compile().lock("shoulder", speeds={"wrist": [2]})
    for friction, count in (("leave out", 3), ("tangent", 3), ("lock", 2)):
        assert linearise(model, friction=friction).n_coordinates == count
    assert model.lock("elbow", "wrist").locks == {"elbow": [0], "wrist": [0, 1, 2]}


# ---- what is refused


def test_names_that_are_none():
    with pytest.raises(InputError, match=r"'motr' is none of the model's inputs.\n  There are: hinge.tau, motor.input"):
        linearise(pendulum(), inputs=["motr"])
    with pytest.raises(InputError, match="outputs: "):
        linearise(pendulum(), outputs=["hinge.angel"])
    law = lm.Motion(name="drive", joint="hinge", law=lambda t: (0.1 * t, 0.1, 0.0))
    model = dataclasses.replace(pendulum().tree, loops=[law], forces=[]).compile()
    with pytest.raises(InputError, match="'drive' prescribes a motion, which a linear model holds where it is"):
        linearise(model, inputs=["drive"])
    with pytest.raises(InputError, match=r"discrete: period is 0.0 and delay 0.0, expected > 0 s and ≥ 0 s"):
        linearise(pendulum()).discrete(0.0)
