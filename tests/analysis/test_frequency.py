"""Frequency response: closed forms, independent finite elements, the non-linear motion, refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.analysis import BaseMotion, DrivenMotion, FrequencyResponse, Load, driven_model, frequency_response
from liegeo.analysis.linear import linearise
from liegeo.analysis.response_plots import bode, poles_and_zeros
from liegeo.errors import InputError
from liegeo.lie import SO3
from liegeo.statics import equilibrium

G = 9.81


def masses(*stiffness, damping=0.0, mass=1.0):
    """Carts in a row on a rail, each on a spring to the one before it, the first to the ground."""
    carts = [lg.Body(f"m{k}", mass=mass) for k in range(len(stiffness))]
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


def pendulum(length=1.5, damping=0.4):
    """A bob of 2 kg with a moment of inertia of 0.1 on a rod."""
    rod = lg.Body("rod", mass=2.0, com=(0, 0, -length), inertia=(0.1,) * 3, frames={"bob": (0, 0, -length)})
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0), damping=damping)
    return lg.Tree([rod], [hinge], gravity=(0, 0, -G)).compile()


# ---- one and two masses


def test_one_mass():
    """x/F = 1/(k − m ω² + i c ω), by a load with a phase, the joint's force and a motor; amplitude and phase."""
    model = masses(100.0, damping=2.0, mass=3.0)
    f = np.array([0.0, 0.2, 0.9188, 4.0])
    omega = 2.0 * np.pi * f
    expected = 1.0 / (100.0 - 3.0 * omega**2 + 2j * omega)
    loads = [Load(at="m0", force=(2, 0, 0), phase=0.7), "s0", Load(at="m0", force=(1j, 5, 0), name="turned")]
    outputs = ["m0.position.x", "m0.velocity.x", "m0.acceleration.x", "s0.position"]
    found = frequency_response(model, inputs=loads, outputs=outputs, frequencies=f)
    assert found.inputs == ("load at m0", "s0.tau", "turned")
    np.testing.assert_allclose(found["m0.position.x", "load at m0"], 2.0 * np.exp(0.7j) * expected, rtol=1e-12)
    np.testing.assert_allclose(found["s0.position", "s0.tau"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["m0.position.x", "turned"], 1j * expected, rtol=1e-12)
    np.testing.assert_allclose(found["m0.velocity.x", "s0.tau"], 1j * omega * expected, rtol=1e-12, atol=1e-17)
    np.testing.assert_allclose(found["m0.acceleration.x", "s0.tau"], -(omega**2) * expected, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(found.amplitude("s0.position", "s0.tau"), np.abs(expected), rtol=1e-12)
    np.testing.assert_allclose(found.phase("s0.position", "s0.tau"), np.angle(expected), rtol=1e-11, atol=1e-15)
    both = found.under({"s0.tau": 3.0, "turned": 1j}, name="both")
    np.testing.assert_allclose(both["s0.position"], 2.0 * expected, rtol=1e-12)
    np.testing.assert_allclose(found.rate(2).values[1:, 0], found.values[1:, 2], rtol=1e-11)
    assert [found.unit(k, 1) for k in range(4)] == ["m/N", "(m/s)/N", "(m/s²)/N", "m/N"]
    assert found.unit(1, 0) == "m/s"
    assert repr(found) == "<frequency response of 'tree': 4 outputs by 3 inputs, 4 frequencies, 0 to 4 Hz>"
    assert "largest amplitude" in found._repr_html_()


M2, K2, C2 = np.eye(2), np.array([[150.0, -50.0], [-50.0, 50.0]]), 0.3 * np.array([[2.0, -1.0], [-1.0, 1.0]])


def test_two_masses_with_all_kinds_of_damping():
    """Against dense complex matrices of absolute coordinates."""
    model = masses(100.0, 50.0, damping=0.3)
    f = np.linspace(0.1, 5.0, 23)
    values, modes = np.linalg.eigh(K2)
    of_modes = modes @ np.diag(2.0 * np.array([0.02, 0.05]) * np.sqrt(values)) @ modes.T
    springs = np.array([[100.0, 0.0], [0.0, 0.0]])
    cases = [
        ({}, C2, 0.0 * K2),
        ({"viscous": False, "modal_damping": (0.02, 0.05)}, of_modes, 0.0 * K2),
        ({"modal_damping": (0.02, 0.05)}, C2 + of_modes, 0.0 * K2),
        ({"viscous": False, "structural_damping": 0.1}, 0.0 * C2, 0.1 * K2),
        ({"structural_damping": {"s0": 0.2}}, C2, 0.2 * springs),
    ]
    outputs = ["m0.position.x", "m1.acceleration.x", "s1.reaction.force.y"]
    for options, C, H in cases:
        load = Load(at="m1", force=(1, 0, 0))
        for method in ("direct", "modal"):
            count = 2 if method == "modal" else None
            found = frequency_response(model, None, load, outputs, frequencies=f, method=method, modes=count, **options)
            omega = 2.0 * np.pi * f
            expected = np.array([np.linalg.solve(K2 + 1j * (w * C + H) - w * w * M2, [0.0, 1.0]) for w in omega])
            np.testing.assert_allclose(found["m0.position.x"], expected[:, 0], rtol=1e-10)
            np.testing.assert_allclose(found["m1.acceleration.x"], -(omega**2) * expected[:, 1], rtol=1e-10)


def test_a_mode_count_and_the_static_correction():
    """Of two modes one is kept: its closed form, and the other one's stiffness."""
    model = masses(100.0, 50.0)
    f = np.array([0.3, 0.6])
    omega = 2.0 * np.pi * f
    values, modes = np.linalg.eigh(K2)
    first = modes[:, :1] * modes[1, 0] / (values[0] - omega**2)
    options = {"inputs": Load(at="m1", force=(1, 0, 0)), "frequencies": f, "method": "modal", "modes": 1}
    outputs = ["m0.position.x", "m1.position.x", "m0.velocity.x", "m0.acceleration.x"]
    bare = frequency_response(model, outputs=outputs, residual=False, **options)
    np.testing.assert_allclose(bare.values[:, :2, 0].T, first, rtol=1e-11)
    np.testing.assert_allclose(bare.values[:, 3, 0], -(omega**2) * first[0], rtol=1e-11)
    whole = frequency_response(model, outputs=outputs, **options)
    static = modes[:, 1] * modes[1, 1] / values[1]
    np.testing.assert_allclose(whole.values[:, :2, 0].T, first + static[:, None], rtol=1e-11)
    np.testing.assert_allclose(whole.values[:, 2, 0], 1j * omega * (first[0] + static[0]), rtol=1e-11)
    np.testing.assert_allclose(whole.values[:, 3, 0], -(omega**2) * (first[0] + static[0]), rtol=1e-10)


# ---- motions of supports


def test_an_oscillator_on_a_support():
    """z̈ + 2ζω z̈ + ω² z = −a; absolute acceleration by the transmissibility; support given in three ways."""
    model = masses(100.0, damping=1.5)
    f = np.array([0.3, 1.6, 7.0])
    s = 2j * np.pi * f
    relative = -1.0 / (s**2 + 1.5 * s + 100.0)
    through = (1.5 * s + 100.0) / (s**2 + 1.5 * s + 100.0)
    outputs = ["s0.position", "m0.acceleration.x", "m0.position.x"]
    for quantity, power, unit in (("acceleration", 0, "m/s²"), ("velocity", 1, "m/s"), ("displacement", 2, "m")):
        motion = BaseMotion(axis="x", quantity=quantity)
        found = frequency_response(model, inputs=motion, outputs=outputs, frequencies=f)
        np.testing.assert_allclose(found["s0.position"], relative * s**power, rtol=1e-11)
        np.testing.assert_allclose(found["m0.acceleration.x"], through * s**power, rtol=1e-11)
        np.testing.assert_allclose(found["m0.position.x"], through * s ** (power - 2), rtol=1e-11)
        assert (found.inputs, found.input_units) == (("support.x",), (unit,))
    # where nothing depends on the place of the support, it is no state
    linear = driven_model(model, inputs=BaseMotion(axis="x"), outputs=["s0.position", "m0.acceleration.x"])
    assert linear.states == ("s0.position", "s0.speed")
    np.testing.assert_allclose(linear.A, [[0, 1], [-100, -1.5]], rtol=1e-13)
    np.testing.assert_allclose(linear.B, [[0], [-1]], rtol=1e-13)
    np.testing.assert_allclose(linear.second_order.K, [[100.0]], rtol=1e-13)
    np.testing.assert_allclose(FrequencyResponse.of(linear, f)["s0.position"], relative, rtol=1e-11)


@pytest.mark.parametrize("method", ["direct", "modal"])
def test_a_pendulum_on_a_support_that_moves_and_tilts(method):
    """Angles against the support and the vertical, with the weight that acts along a tilted support."""
    length, c, m, J = 1.5, 0.4, 2.0, 0.1
    model = pendulum(length, c)
    f = np.array([0.1, 0.41, 2.0])
    s = 2j * np.pi * f
    outputs = ["hinge.angle", "rod.bob.position.x", "rod.bob.acceleration.z"]
    inputs = [BaseMotion(axis=axis) for axis in ("x", "z", "ry", "rz")]
    found = frequency_response(model, inputs=inputs, outputs=outputs, frequencies=f, method=method)
    # (J + m l²) φ̈ + c (φ̇ − θ̇) + m g l φ = m l a for the absolute angle φ of a support at a with the angle θ
    inertia = J + m * length**2
    stiff = inertia * s**2 + c * s + m * G * length
    absolute = m * length / stiff
    np.testing.assert_allclose(found["hinge.angle", "support.x"], absolute, rtol=1e-10)
    np.testing.assert_allclose(found["rod.bob.position.x", "support.x"], 1.0 / s**2 - length * absolute, rtol=1e-9)
    absolute = c * s / stiff / s**2
    np.testing.assert_allclose(found["hinge.angle", "support.ry"], absolute - 1.0 / s**2, rtol=1e-9)
    np.testing.assert_allclose(found["rod.bob.acceleration.z", "support.z"], 1.0, rtol=1e-12)
    np.testing.assert_allclose(found["hinge.angle", "support.z"], 0.0, atol=1e-14)
    np.testing.assert_allclose(found["hinge.angle", "support.rz"], 0.0, atol=1e-14)


def test_a_support_and_a_prescribed_carriage_are_the_same():
    """With a spring and a loop to the carriage in place of the world: the same linkage, twice."""

    def linkage(ground, loops=()):
        links = [
            lg.Body("crank", mass=1.0, com=(0, 0, 0.2), inertia=(0.01,) * 3, frames={"end": (0, 0, 0.4)}),
            lg.Body("coupler", mass=1.0, com=(0.4, 0, 0), inertia=(0.02,) * 3, frames={"end": (0.8, 0, 0)}),
            lg.Body("rocker", mass=1.5, com=(0, 0, 0.3), inertia=(0.03,) * 3, frames={"end": (0, 0, 0.6)}),
        ]
        joints = [
            lm.Revolute(name="a", parent=ground, child="crank", axis=(0, 1, 0), stiffness=30.0, damping=0.1),
            lm.Revolute(name="b", parent="crank", child="coupler", at="end", axis=(0, 1, 0)),
            lm.Revolute(name="d", parent=ground, child="rocker", at=(0.9, 0, 0), axis=(0, 1, 0)),
        ]
        pin = lm.Revolute(name="c", parent="coupler", child="rocker", at="end", child_at="end", axis=(0, 1, 0))
        spring = lm.SpringDamper(
            name="spring", a=(ground, (0.5, 0, 1.5)), b="coupler.end", stiffness=40.0, damping=0.5, length=0.8
        )
        bodies = links if ground == "world" else [lg.Body("carriage", mass=5.0, inertia=(1, 1, 1)), *links]
        more = (
            [] if ground == "world" else [lm.Prismatic(name="rail", parent="world", child="carriage", axis=(1, 0, 0))]
        )
        model = lg.Tree(bodies, [*more, *joints], loops=[pin, *loops], forces=[spring]).compile()
        start = lg.assemble(model, model.state(q={"a": 0.1, "b": 0.2}))
        return model, equilibrium(model, start)

    law = lm.Motion(name="drive", joint="rail", law=lambda t: (0.0, 0.0, 0.0))
    f = np.array([0.2, 1.1, 1.6, 5.0])
    outputs = ["a.angle", "d.angle", "coupler.end.acceleration", "spring.tension", "c.reaction.force.x"]
    found, expected = (
        frequency_response(*linkage(ground, loops), each, outputs, frequencies=f)
        for ground, loops, each in (
            ("world", (), BaseMotion(axis="x")),
            ("carriage", (law,), DrivenMotion(motion="drive")),
        )
    )
    assert expected.inputs == ("drive",)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-7, atol=1e-9 * np.abs(expected.values).max())


def test_a_driven_crank_of_a_loop():
    """The crank need not be among the coordinates of the linear model: its rocker moves as the loop has it."""
    links = [
        lg.Body("crank", mass=1.0, inertia=(0.01,) * 3, frames={"end": (0, 0, 0.4)}),
        lg.Body("coupler", mass=1.0, inertia=(0.02,) * 3, frames={"end": (0.8, 0, 0)}),
        lg.Body("rocker", mass=1.0, inertia=(0.03,) * 3, frames={"end": (0, 0, 0.4)}),
        lg.Body("tail", mass=0.2),
    ]
    joints = [
        lm.Revolute(name="a", parent="world", child="crank", axis=(0, 1, 0)),
        lm.Revolute(name="b", parent="crank", child="coupler", at="end", axis=(0, 1, 0)),
        lm.Revolute(name="d", parent="world", child="rocker", at=(0.8, 0, 0), axis=(0, 1, 0)),
        lm.Prismatic(name="slide", parent="coupler", child="tail", axis=(1, 0, 0), stiffness=20.0, damping=0.1),
    ]
    pin = lm.Revolute(name="c", parent="coupler", child="rocker", at="end", child_at="end", axis=(0, 1, 0))
    for driven, sign in (("a", 1.0), ("b", -1.0), ("d", 1.0)):
        law = lm.Motion(name="drive", joint=driven, law=lambda t: (0.0, 0.0, 0.0))
        model = lg.Tree(links, joints, loops=[pin, law], gravity=(0, 0, 0)).compile()
        f = np.array([0.5, 1.0, 3.0])
        s = 2j * np.pi * f
        # a parallelogram: all cranks turn alike, the coupler only moves, by 0.4 along x
        motion = DrivenMotion(motion="drive", quantity="displacement")
        found = frequency_response(model, None, motion, ["a.angle", "b.angle", "slide.position"], frequencies=f)
        np.testing.assert_allclose(found["a.angle"], sign, rtol=1e-10)
        np.testing.assert_allclose(found["b.angle"], -sign, rtol=1e-10)
        slide = -0.2 * 0.4 * s**2 / (0.2 * s**2 + 0.1 * s + 20.0)
        np.testing.assert_allclose(found["slide.position"], sign * slide, rtol=1e-9)
        damping = {"viscous": False, "modal_damping": 0.05, "structural_damping": {"slide": 0.1}}
        slide = -0.2 * 0.4 * s**2 / (0.2 * s**2 + 0.2 * 2.0 * 0.05 * 10.0 * s + 20.0 + 2.0j)
        for method in ("direct", "modal"):
            found = frequency_response(model, None, motion, "slide.position", frequencies=f, method=method, **damping)
            np.testing.assert_allclose(found["slide.position"], sign * slide, rtol=1e-9)


def test_two_driven_motions_of_a_differential():
    """c = a + b; whichever two are driven, the third one follows, and carries a sprung mass with it."""
    discs = [lg.Body(name, mass=1.0, inertia=(0.1,) * 3) for name in ("a", "b", "c")]
    joints = [lm.Revolute(name=f"j{body.name}", parent="world", child=body.name) for body in discs]
    rider = lm.Revolute(name="ride", parent="c", child="rider", stiffness=4.0, damping=0.1)
    bodies = [*discs, lg.Body("rider", mass=1.0, inertia=(0.2,) * 3)]
    sum_ = lm.Coupling(name="sum", terms={"jc": 1.0, "ja": -1.0, "jb": -1.0})
    f = np.array([0.3, 0.8, 2.0])
    s = 2j * np.pi * f
    ride = -0.2 * s**2 / (0.2 * s**2 + 0.1 * s + 4.0)
    angle_of = {"ja": (1.0, 0.0), "jb": (0.0, 1.0), "jc": (1.0, 1.0)}
    for driven in (("ja", "jb"), ("jb", "ja"), ("ja", "jc"), ("jc", "ja"), ("jb", "jc"), ("jc", "jb")):
        laws = [lm.Motion(name=f"m{joint}", joint=joint, law=lambda t: (0.0, 0.0, 0.0)) for joint in driven]
        model = lg.Tree(bodies, [*joints, rider], loops=[sum_, *laws], gravity=(0, 0, 0)).compile()
        inputs = [DrivenMotion(motion=law.name, quantity="displacement") for law in laws]
        found = frequency_response(
            model, None, inputs, ["ja.angle", "jb.angle", "jc.angle", "ride.angle"], frequencies=f
        )
        # columns: what turns if one of the driven ones turns by 1
        both = np.linalg.inv(np.array([angle_of[joint] for joint in driven]))
        expected = np.array([angle_of[joint] for joint in ("ja", "jb", "jc")]) @ both
        np.testing.assert_allclose(found.values[:, :3], np.broadcast_to(expected, (3, 3, 2)), atol=1e-12)
        np.testing.assert_allclose(found.values[:, 3], ride[:, None] * expected[2], rtol=1e-10, atol=1e-14)
        # one driven, the other held
        alone = frequency_response(model, None, inputs[1], ["ja.angle", "jb.angle", "jc.angle"], frequencies=f)
        np.testing.assert_allclose(alone.values[:, :, 0], np.broadcast_to(expected[:, 1], (3, 3)), atol=1e-12)


def test_a_motion_is_held_at_its_operating_point():
    """A pendulum held aside by a motion: a second link on it feels the first one's angle."""
    rods = [
        lg.Body(f"r{k}", mass=1.0, com=(0, 0, -1), inertia=(0.1,) * 3, frames={"end": (0, 0, -1)}) for k in range(2)
    ]
    joints = [
        lm.Revolute(name="j0", parent="world", child="r0", axis=(0, 1, 0)),
        lm.Revolute(name="j1", parent="r0", child="r1", at="end", axis=(0, 1, 0), damping=0.2),
    ]
    law = lm.Motion(name="drive", joint="j0", law=lambda t: (0.6, 0.0, 0.0))
    model = lg.Tree(rods, joints, loops=[law], gravity=(0, 0, -G)).compile()
    # the lower link hangs down
    state = model.state(q={"j0": 0.6, "j1": -0.6})
    f = np.array([0.2, 0.5, 2.0])
    s = 2j * np.pi * f
    motion = DrivenMotion(motion="drive", quantity="displacement")
    found = frequency_response(model, state, motion, ["j1.angle", "r1.position.x"], frequencies=f)
    # absolute angle φ of the lower link: (J + m) φ̈ + c (φ̇ − θ̇) + m g φ = −m cos(0.6) θ̈, pivot at (−sin θ, −cos θ)
    absolute = (0.2 * s - np.cos(0.6) * s**2) / (1.1 * s**2 + 0.2 * s + G)
    np.testing.assert_allclose(found["j1.angle"], absolute - 1.0, rtol=1e-9)
    np.testing.assert_allclose(found["r1.position.x"], -np.cos(0.6), rtol=1e-9)


# ---- flexible bodies, against independent finite elements


STEEL = flex.Material(E=2.1e11, rho=7800.0, nu=0.3)
WIDTH, HEIGHT = 0.02, 0.01
EI, RHO_A = 2.1e11 * WIDTH * HEIGHT**3 / 12.0, 7800.0 * WIDTH * HEIGHT


def plane_beam(length, n):
    """Mass and stiffness of a plane Bernoulli beam by cubic elements: displacement and slope of n + 1 nodes."""
    h = length / n
    k = EI / h**3 * np.array(
        [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
         [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]
    )  # fmt: skip
    m = RHO_A * h / 420.0 * np.array(
        [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h**2, 13 * h, -3 * h**2],
         [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h**2, -22 * h, 4 * h**2]]
    )  # fmt: skip
    K, M = np.zeros((2, 2 * n + 2, 2 * n + 2))
    for e in range(n):
        part = slice(2 * e, 2 * e + 4)
        K[part, part] += k
        M[part, part] += m
    return M, K


def flexible_link(name, length, n, n_modes=None, damping=None):
    """A beam with all its shapes if no number is given, relative to its first node."""
    fe = flex.beam(length, flex.rectangle(WIDTH, HEIGHT), STEEL, n, rotary=False)
    count = 6 * (n + 1) if n_modes is None else n_modes
    found = flex.reduce(fe, ["0", str(n)] if n_modes is not None else ["0"], root="0", n_modes=count)
    return flex.flexible_body(found, name, nodes=["0", str(n)], damping=damping)


def cantilever(n, **more):
    link = flexible_link("link", 1.0, n, **more)
    clamp = lm.Fixed(name="clamp", parent="world", child="link", child_at="0")
    return lg.Tree([link], [clamp], gravity=(0, 0, 0)).compile()


def exact_cantilever(f):
    """Tip displacement per tip force of a Bernoulli beam, from its differential equation."""
    k = ((2.0 * np.pi * f) ** 2 * RHO_A / EI) ** 0.25
    out = []
    for each in np.atleast_1d(k):
        s, c, sh, ch = np.sin(each), np.cos(each), np.sinh(each), np.cosh(each)
        # waves: sin, cos, sinh, cosh of k x; rows: w, w', w'' and EI w''' = −F
        rows = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [-s, -c, sh, ch], [-c, s, ch, sh]])
        a = np.linalg.solve(rows, [0, 0, 0, -1.0 / (EI * each**3)])
        out.append(a @ [s, c, sh, ch])
    return np.array(out)


def test_a_beam_under_a_tip_force():
    """Against the differential equation: the error falls by 16 where elements are halved."""
    f = np.array([2.0, 7.0, 20.0, 45.0])
    exact = exact_cantilever(f)
    errors = []
    for n in (6, 12):
        load = Load(at=f"link.{n}", force=(0, 0, 1))
        found = frequency_response(cantilever(n), inputs=load, outputs=[f"link.{n}.position.z"], frequencies=f)
        errors.append(np.abs(found.values[:, 0, 0] / exact - 1.0))
    np.testing.assert_allclose(errors[0] / errors[1], 16.0, rtol=0.1)
    # (k h)⁴/720 and less far below resonances, more beside the second one, at 52 Hz
    assert errors[1][0] < 4e-9
    assert errors[1].max() < 2e-4


def test_structural_damping_of_a_spring_between_frames():
    """A pendulum that an inclined, stretched spring holds, on a base that moves: its tension has no loss factor."""
    length, k, loss, mass = 1.5, 80.0, 0.3, 2.0
    anchor, rest = np.array([1.2, 0.0, 0.4]), 0.5
    rod = lg.Body("rod", mass=mass, com=(0, 0, -length), frames={"end": (0, 0, -length)})
    hinge = lm.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0))
    spring = lm.SpringDamper(name="spring", a=("world", anchor), b="rod.end", stiffness=k, length=rest)
    model = lg.Tree([rod], [hinge], forces=[spring]).compile()
    state = equilibrium(model)
    angle = state["hinge.angle"]
    # by the distance ℓ of the end from the anchor: V = k (ℓ − ℓ₀)²/2 − m g z
    end = -length * np.array([np.sin(angle), 0.0, np.cos(angle)])
    slope = -length * np.array([np.cos(angle), 0.0, -np.sin(angle)])
    far = float(np.linalg.norm(end - anchor))
    along = float((end - anchor) @ slope / far)
    bend = float((slope @ slope - (end - anchor) @ end - along**2) / far)
    stiffness = k * along**2 + k * (far - rest) * bend + mass * G * length * np.cos(angle)
    f = np.array([0.3, 1.0, 2.5])
    expected = 1.0 / (stiffness + 1j * loss * k * along**2 - mass * length**2 * (2.0 * np.pi * f) ** 2)
    for damping in ({"spring": loss}, loss):
        found = frequency_response(
            model, state, "hinge", "hinge.angle", frequencies=f, structural_damping=damping, viscous=False
        )
        np.testing.assert_allclose(found["hinge.angle", "hinge.tau"], expected, rtol=1e-9)
    # the same with a carriage behind the hinge, whose motion is prescribed
    cart = lg.Body("cart", mass=1.0)
    slide = lm.Prismatic(name="slide", parent="world", child="cart", axis=(1, 0, 0))
    hinge = dataclasses.replace(hinge, parent="cart")
    held = lm.Motion(name="held", joint="slide", law=0.0)
    model = lg.Tree([cart, rod], [slide, hinge], forces=[spring], loops=[held]).compile()
    state = equilibrium(model)
    options = {"frequencies": f, "structural_damping": loss, "viscous": False}
    found = frequency_response(model, state, ["hinge", DrivenMotion(motion="held")], "hinge.angle", **options)
    np.testing.assert_allclose(found["hinge.angle", "hinge.tau"], expected, rtol=1e-9)


def test_structural_damping_of_a_bushing_in_one_direction():
    """x/F = 1/(k (1 + iγ) − m ω²), and torques about an axis likewise; a loss factor has no part in the mass."""
    body = lg.Body("body", mass=3.0, inertia=(0.2, 0.3, 0.4))
    k, loss = np.array([20.0, 30.0, 40.0, 500.0, 600.0, 700.0]), 0.15
    bushing = lm.Bushing(name="bushing", a="world", b="body", stiffness=k, damping=(1.0,) * 6)
    free = lm.Free(name="free", parent="world", child="body")
    model = lg.Tree([body], [free], forces=[bushing], gravity=(0, 0, 0)).compile()
    f = np.array([0.0, 1.0, 3.0])
    loads = [Load(at="body", force=(0, 1, 0)), Load(at="body", torque=(0, 0, 1), name="torque")]
    outputs = ["body.position.y", "body.angular_velocity.z"]
    for damping in ({"bushing": loss}, loss):
        found = frequency_response(
            model, inputs=loads, outputs=outputs, frequencies=f, structural_damping=damping, viscous=False
        )
        s = 2j * np.pi * f
        across = 1.0 / (600.0 * (1 + 1j * loss) + 3.0 * s**2)
        np.testing.assert_allclose(found["body.position.y", "load at body"], across, rtol=1e-10)
        turning = s / (40.0 * (1 + 1j * loss) + 0.4 * s**2)
        np.testing.assert_allclose(found["body.angular_velocity.z", "torque"], turning, rtol=1e-10)


@pytest.mark.parametrize("driven", ["load", "support", "loop"])
def test_structural_damping_of_bushings_is_viscous_damping_at_one_frequency(driven):
    """D = γ K/ω in the law of the element: for large deformations, frames beside bodies, nodes, supports and loops."""
    f, loss = 2.3, 0.2
    K = np.array([30.0, 40.0, 50.0, 300.0, 200.0, 400.0])
    fe = flex.beam(1.0, flex.rectangle(0.03, 0.01), flex.Material(E=7e10, rho=2700.0, nu=0.33), n_elements=4)
    boom = flex.flexible_body(flex.reduce(fe, ["4"], n_modes=2, root="0"), "boom", ["4"])
    arm = lg.Body("arm", mass=2.0, com=(0.3, 0.1, 0), inertia=(0.2, 0.3, 0.3), frames={"tip": (0.6, 0, 0.1)})
    turned = np.eye(4)
    turned[:3, :3], turned[:3, 3] = SO3.exp([0.5, -0.4, 0.3]), (0.4, 0.2, -0.1)
    joints = [
        lm.Spherical(name="ball", parent="world", child="arm"),
        lm.Universal(name="cross", parent="arm", child="boom", at=(0.5, 0, 0), axes=((0, 1, 0), (0, 0, 1))),
    ]
    loops = [lm.Coupling(name="gear", terms={"cross": 1.0, "cross.1": -0.5})] if driven == "loop" else []

    def model(damping):
        forces = [
            lm.Bushing(name="first", a=("world", turned), b="arm.tip", stiffness=K, damping=damping * K),
            lm.Bushing(
                name="second", a=("arm", (0.2, 0, 0.3)), b="boom.4", stiffness=0.5 * K, damping=0.5 * damping * K
            ),
        ]
        return lg.Tree([arm, boom], joints, forces=forces, loops=loops, gravity=(0, 0, -G)).compile()

    bare, viscous = model(0.0), model(loss / (2.0 * np.pi * f))
    state = equilibrium(bare)
    moment = bare.calculator().outputs(["first.moment.x", "first.moment.y", "first.moment.z"])
    assert np.linalg.norm(moment(state.q, state.v)) > 1.0
    inputs = BaseMotion(axis="x") if driven == "support" else Load(at="boom.4", force=(1, 2, 3))
    outputs = ["boom.4.position", "arm.angular_velocity", "boom.4.acceleration"]
    expected = frequency_response(viscous, viscous.state(state.q), inputs, outputs, frequencies=[f])
    # by name, as flexible bodies have a stiffness too
    found = frequency_response(
        bare, state, inputs, outputs, frequencies=[f], structural_damping={"first": loss, "second": loss}
    )
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-9, atol=1e-12 * np.abs(expected.values).max())
    none = frequency_response(bare, state, inputs, outputs, frequencies=[f])
    assert np.abs(none.values - expected.values).max() > 1e-2 * np.abs(expected.values).max()


def test_structural_damping_of_each_component_against_a_dense_complex_solution():
    """Two beams and a sprung hinge between them, each with its own loss factor; moments at the end too."""
    n, spring = 5, 300.0
    links = [flexible_link("one", 0.7, n), flexible_link("two", 0.5, n)]
    joints = [
        lm.Fixed(name="clamp", parent="world", child="one", child_at="0"),
        lm.Revolute(name="hinge", parent="one", child="two", at=str(n), child_at="0", axis=(0, 1, 0), stiffness=spring),
    ]
    model = lg.Tree(links, joints, gravity=(0, 0, 0)).compile()
    (M1, K1), (M2, K2) = plane_beam(0.7, n), plane_beam(0.5, n)
    # nodes of both beams; they share the displacement of the hinge, not the slope
    N1, size = len(M1), 2 * len(M1) - 1
    places = [np.arange(N1), np.array([N1 - 2, N1, *range(N1 + 1, size)])]
    M, K = np.zeros((size, size)), np.zeros((size, size), complex)
    loss = {"one": 0.02, "two": 0.3, "hinge": 0.1}
    for where, m, k, eta in ((places[0], M1, K1, loss["one"]), (places[1], M2, K2, loss["two"])):
        M[np.ix_(where, where)] += m
        K[np.ix_(where, where)] += k * (1.0 + 1j * eta)
    turn = np.zeros(size)
    turn[[N1 - 1, N1]] = -1.0, 1.0
    K += spring * (1.0 + 1j * loss["hinge"]) * np.outer(turn, turn)
    f = np.array([1.0, 6.0, 14.0, 40.0, 90.0])
    # the slope dw/dx is a rotation of −1 about y
    loads = [Load(at=f"two.{n}", force=(0, 0, 1), name="force"), Load(at=f"two.{n}", torque=(0, -1, 0), name="moment")]
    outputs = [f"two.{n}.position.z", f"one.{n}.velocity.z", "hinge.angle"]
    found = frequency_response(model, None, loads, outputs, frequencies=f, structural_damping=loss)
    for k, w in enumerate(2.0 * np.pi * f):
        for name, place in (("force", -2), ("moment", -1)):
            right = np.zeros(size)
            right[place] = 1.0
            right = right[2:]
            x = np.concatenate([[0, 0], np.linalg.solve((K - w * w * M)[2:, 2:], right)])
            expected = [x[-2], 1j * w * x[N1 - 2], -(turn @ x)]
            np.testing.assert_allclose([found[o, name][k] for o in outputs], expected, rtol=1e-8)


def test_a_cantilever_on_a_support_against_a_dense_complex_solution():
    """The clamp moves and turns; the free nodes follow by the partitioned matrices of all nodes."""
    n, eta = 5, 0.03
    M, K = plane_beam(1.0, n)
    K = K * (1.0 + 1j * eta)
    f = np.array([1.0, 7.0, 30.0])
    inputs = [BaseMotion(axis=axis, quantity="displacement") for axis in ("z", "ry")]
    outputs = [f"link.{n}.position.z", f"link.{n}.deflection.z", f"link.{n}.angular_velocity.y"]
    found = frequency_response(cantilever(n), None, inputs, outputs, frequencies=f, structural_damping=eta)
    for k, w in enumerate(2.0 * np.pi * f):
        Z = K - w * w * M
        # a rotation about y is a slope of −1
        for name, clamp in (("support.z", [1.0, 0.0]), ("support.ry", [0.0, -1.0])):
            free = np.linalg.solve(Z[2:, 2:], -Z[2:, :2] @ clamp)
            expected = [free[-2], free[-2] - clamp[0] - clamp[1], -1j * w * free[-1]]
            np.testing.assert_allclose([found[o, name][k] for o in outputs], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", ["direct", "modal"])
def test_a_top_that_spins_on_a_ball_joint(method):
    """By torques that turn with it: A ẇ ∓ i (C − A) Ω w = τ for w₁ ± i w₂, from Euler's equations; K has any sign."""
    A, C, spin = 0.3, 0.5, 30.0
    body = lg.Body("disc", mass=1.0, inertia=(A, A, C))
    model = lg.Tree([body], [lm.Spherical(name="ball", parent="world", child="disc")], gravity=(0, 0, 0)).compile()
    f = np.array([0.4, 1.0, 5.0])
    s, nutation = 2j * np.pi * f, (C - A) / A * spin
    found = frequency_response(
        model, model.state(v={"ball": (0, 0, spin)}), ["ball.tau[0]", "ball.tau[1]"],
        ["ball.angular_velocity.x", "ball.angular_velocity.y"], frequencies=f, method=method,
    )  # fmt: skip
    along, across = s / (A * (s**2 + nutation**2)), nutation / (A * (s**2 + nutation**2))
    expected = np.moveaxis(np.array([[along, -across], [across, along]]), 2, 0)
    np.testing.assert_allclose(found.values, expected, rtol=1e-9, atol=1e-12)


def test_modes_where_joints_turn_that_do_not_commute():
    """All modes give the direct response, also of a top that only its spin keeps upright; few of them nearly do."""
    fe = flex.beam(1.0, flex.rectangle(0.03, 0.02), flex.Material(E=7e10, rho=2700.0, nu=0.33), n_elements=6)
    boom = flex.reduce(fe, ["6"], n_modes=5, root="0")
    hub = lg.Body("hub", mass=2.0, com=(0, 0, 0.2), inertia=(0.4, 0.4, 0.7))
    booms = [flex.flexible_body(boom, f"boom{k}", ["6"], damping=0.01) for k in range(2)]
    turned = np.eye(4)
    turned[:3, :3] = SO3.exp([0.0, 0.0, np.pi])
    joints = [
        lm.Spherical(name="ball", parent="world", child="hub"),
        lm.Fixed(name="left", parent="hub", child="boom0", at=(0.1, 0, 0.2)),
        lm.Fixed(name="right", parent="hub", child="boom1", at=(-0.1, 0, 0.2), child_at=turned),
    ]
    model = lg.Tree([hub, *booms], joints, gravity=(0, 0, -G)).compile()
    f = np.array([0.5, 3.0, 8.0])
    for start in (equilibrium(model, speeds={"ball": (0, 0, 20.0)}), model.state(v={"ball": (3.0, 0.5, 12.0)})):
        given = ["ball.tau[0]", Load(at="boom0.6", force=(0, 1, 2))]
        outputs = ["boom1.6.position", "boom1.6.acceleration", "ball.angular_velocity", "boom0.eta[0]"]
        direct = frequency_response(model, start, given, outputs, frequencies=f)
        size = np.abs(direct.values).max(axis=(0, 2), keepdims=True)
        every = frequency_response(model, start, given, outputs, frequencies=f, method="modal", modes=model.nv)
        assert (np.abs(every.values - direct.values) <= 1e-8 * size).all()
        bare = {"method": "modal", "modes": 9, "residual": False}
        errors = [
            np.abs(frequency_response(model, start, given, outputs, frequencies=f, **options).values - direct.values)
            / size
            for options in ({"method": "modal", "modes": 9}, bare)
        ]
        # accelerations along the booms too, which Coriolis forces on discarded modes would spoil
        assert errors[0].max() < 3e-3
        assert errors[0][:, -1].max() < 0.5 * errors[1][:, -1].max()


def test_a_disc_that_spins_on_springs():
    """Forward and backward torques: A θ̈ − i C Ω θ̇ + k θ = τ for θ = θx + i θy; direct, and modal with all modes."""
    A, C, k, spin = 0.3, 0.5, 40.0, 30.0
    bodies = [lg.Body("outer"), lg.Body("inner"), lg.Body("disc", mass=2.0, inertia=(A, A, C))]
    joints = [
        lm.Revolute(name="x", parent="world", child="outer", axis=(1, 0, 0), stiffness=k),
        lm.Revolute(name="y", parent="outer", child="inner", axis=(0, 1, 0), stiffness=k),
        lm.Revolute(name="spin", parent="inner", child="disc", axis=(0, 0, 1)),
    ]
    model = lg.Tree(bodies, joints).compile()
    f = np.array([0.3, 1.0, 6.0])
    omega = 2.0 * np.pi * f
    loads = [Load(at="disc", torque=(1, side * 1j, 0), name=name) for name, side in (("backward", 1), ("forward", -1))]
    for method in ("direct", "modal"):
        found = frequency_response(
            model, model.state(v={"spin": spin}), loads, ["x.angle", "y.angle"], frequencies=f, method=method
        )
        for name, side in (("backward", 1), ("forward", -1)):
            # τx + i τy = exp(−i side ω t), and so do the angles turn
            angle = 1.0 / (k - A * omega**2 - side * C * spin * omega)
            np.testing.assert_allclose(found["x.angle", name], angle, rtol=1e-9)
            np.testing.assert_allclose(found["y.angle", name], side * 1j * angle, rtol=1e-9)


def test_all_modes_are_the_direct_response():
    """With a lagging motor, bristles, dampers that couple modes, a support that moves, all kinds of damping."""
    rods = [
        lg.Body(f"r{k}", mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.08, 0.05), frames={"end": (0, 0, -1)})
        for k in range(2)
    ]
    joints = [
        lm.Revolute(name="j0", parent="world", child="r0", axis=(0, 1, 0), damping=0.2),
        lm.Revolute(name="j1", parent="r0", child="r1", at="end", axis=(1, 0, 0), stiffness=3.0),
    ]
    forces = [
        lm.Actuator(name="motor", joint="j0", lag=0.05),
        lm.BristleFriction(name="seal", joint="j1", coulomb=0.1, stiffness=80.0, damping=0.3, viscous=0.2),
        lm.SpringDamper(name="tie", a=("world", (0.5, 0.2, -2)), b="r1.end", stiffness=40.0, damping=0.5, length=0.8),
    ]
    model = lg.Tree(rods, joints, forces=forces).compile()
    rest = equilibrium(model)
    inputs = [
        "motor",
        Load(at="r1", force=(1, 2j, 0)),
        BaseMotion(axis="x"),
        BaseMotion(axis="ry", quantity="velocity"),
    ]
    outputs = ["r1.end.position", "r1.end.acceleration", "j0.reaction.force", "motor.torque", "tie.tension"]
    damping = {"modal_damping": [0.02, 0.03], "structural_damping": {"j1": 0.1}}
    found = [
        frequency_response(model, rest, inputs, outputs, frequencies=[0.2, 1.0, 4.0], method=method, **damping).values
        for method in ("direct", "modal")
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-11)


def test_modes_up_to_one_and_a_half_times_the_highest_frequency():
    """[M01]: beside the direct response, with the static correction and without."""
    model = cantilever(6, n_modes=8, damping=0.01)
    f = np.linspace(1.0, 60.0, 60)
    options = {"inputs": Load(at="link.6", force=(0.3, 1, 1)), "outputs": ["link.6.position"], "frequencies": f}
    direct = frequency_response(model, **options).values
    found, bare = (frequency_response(model, method="modal", residual=r, **options).values for r in (True, False))
    size = np.abs(direct).max(axis=0)
    # the next modes of bending, at 105 Hz and at 147 Hz, are wrong by a third and a sixth of what they give statically,
    # which is two hundredths of the first one's stiffness, and the peaks are some ten times that
    assert (np.abs(found - direct).max(axis=0)[1:] / size[1:]).max() < 1e-3
    assert (np.abs(bare - direct).max(axis=0)[1:] > 3.0 * np.abs(found - direct).max(axis=0)[1:]).all()
    # along the beam no mode is so slow: the correction is all there is
    assert np.abs(found - direct)[:, 0].max() < 1e-2 * size[0]
    assert np.abs(bare)[:, 0].max() < 1e-6 * size[0]
    whole = frequency_response(model, method="modal", modes=model.nv, **options).values
    np.testing.assert_allclose(whole, direct, rtol=1e-7, atol=1e-9 * size.max())


# ---- the non-linear motion


def test_the_response_is_the_motion_but_for_the_square_of_the_amplitude():
    """A simulation that begins on the harmonic solution stays there: a lagging motor, a load, a support that moves."""
    bodies = [
        lg.Body(name, mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.08, 0.05), frames={"end": (0, 0, -1)})
        for name in ("upper", "lower")
    ]
    joints = [
        lm.Prismatic(name="rail", parent="world", child="carriage", axis=(1, 0, 0)),
        lm.Revolute(name="shoulder", parent="carriage", child="upper", axis=(0, 1, 0), damping=0.2),
        lm.Revolute(name="elbow", parent="upper", child="lower", at="end", axis=(1, 0, 0), stiffness=3.0, damping=0.1),
    ]
    forces = [
        lm.Actuator(name="motor", joint="shoulder", lag=0.05),
        lm.PointForce(name="push", at="lower.end"),
        lm.SpringDamper(
            name="spring", a=("world", (0.5, 0.2, -2)), b="lower.end", stiffness=40.0, damping=0.5, length=0.8
        ),
    ]

    def moved(size):
        """The same with a carriage that moves to and fro."""

        def law(t):
            x = 0.2 * size * np.exp(1j * w * t)
            return x.real, (1j * w * x).real, (-w * w * x).real

        drive = lm.Motion(name="drive", joint="rail", law=law)
        return lg.Tree([lg.Body("carriage", mass=1.0), *bodies], joints, forces=forces, loops=[drive]).compile()

    f = 0.8
    w = 2.0 * np.pi * f
    model = moved(0.0)
    rest = equilibrium(model, hold=["rail"])
    names = ["shoulder.angle", "elbow.angle", "shoulder.speed", "elbow.speed", "motor.output", "lower.end.position.z"]
    inputs = ["motor", Load(at="lower.end", force=(0, 1, 0.5)), DrivenMotion(motion="drive", quantity="displacement")]
    response = frequency_response(model, rest, inputs, names, frequencies=f)
    amplitudes = {"motor.input": 1.0 + 0.5j, "load at lower.end": -0.6j, "drive": 0.2}
    y = response.under(amplitudes).values[0, :, 0]
    # if none are named, those of force elements
    unnamed = frequency_response(model, rest, frequencies=f)
    assert unnamed.inputs == linearise(model, rest).inputs
    assert len(unnamed.inputs) == 7
    np.testing.assert_allclose(
        unnamed["shoulder.angle", "motor.input"], response["shoulder.angle", "motor.input"], rtol=1e-10
    )
    remainders = []
    for size in (0.04, 0.01):

        def given(t, state, size=size):
            wave = size * np.exp(1j * w * t)
            push = (-0.6j * wave).real
            return {"motor": ((1.0 + 0.5j) * wave).real, "push": [0, 0, 0, 0, push, 0.5 * push]}

        start = size * y.real
        state = model.state(
            q={
                "rail": 0.2 * size,
                "shoulder": rest["shoulder.angle"] + start[0],
                "elbow": rest["elbow.angle"] + start[1],
            },
            v={"shoulder": start[2], "elbow": start[3]},
            x={"motor": start[4]},
        )
        run = lg.simulate(
            moved(size),
            state,
            t_end=1.0,
            inputs=given,
            output=0.25,
            method="rkmk-54",
            rtol=1e-10,
            atol=1e-11,
            progress=False,
        )
        waves = size * (np.exp(1j * w * run.t)[:, None] * y).real
        found = np.stack([run[name] for name in names], axis=1)
        base = np.array([rest[name] if not name.startswith("lower") else 0.0 for name in names])
        base[-1] = lg.dynamics.frame_pose(model, rest, "lower.end")[2, 3]
        remainders.append(np.abs(found - base - waves).max())
        assert np.abs(waves).max() > 0.5 * size
    assert remainders[0] / remainders[1] == pytest.approx(16.0, rel=0.2)
    assert remainders[1] < 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(Path("models").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_model_has_a_response(path):
    """To forces of joints that of its linear model; to a support that moves, some."""
    mechanism = lg.load(path)
    model, state = mechanism.compile(), mechanism.state()
    f = [0.7, 3.0]
    options = {"at": None, "friction": "leave out"}
    forces = [c.name for c in model.names.more.values() if c.source == ("u",)]
    linear = linearise(model, state, forces, **options)
    found = frequency_response(model, state, forces, frequencies=f, **options)
    expected = linear.frequency_response(f)
    assert found.outputs == linear.outputs
    scale = np.maximum(np.abs(expected).max(axis=(0, 2), keepdims=True), 1e-12)
    np.testing.assert_allclose(found.values / scale, expected / scale, atol=1e-9)
    lifted = frequency_response(model, state, BaseMotion(axis="z"), frequencies=f, **options)
    assert np.isfinite(lifted.values).all()


# ---- pictures and tables


def test_pictures_and_tables(tmp_path):
    model = masses(100.0, 50.0, damping=0.3)
    f = np.geomspace(0.1, 10.0, 50)
    outputs = ["m0.position.x", "m1.position.x", "m1.acceleration.x"]
    response = frequency_response(model, inputs="s0", outputs=outputs, frequencies=f)
    for name, figure in {"bode": response.bode, "nyquist": response.nyquist}.items():
        for suffix in (".png", ".svg"):
            figure(tmp_path / f"{name}{suffix}", title="two carts")
            assert (tmp_path / f"{name}{suffix}").stat().st_size > 5000
    linear = linearise(model, inputs=["s0"], outputs=["m0.position.x"])
    poles_and_zeros(linear, file=tmp_path / "poles.png")
    bode({"direct": response, "modal": frequency_response(model, inputs="s0", outputs=outputs, frequencies=f)})
    response.to_csv(tmp_path / "response.csv")
    head, *lines = (tmp_path / "response.csv").read_text(encoding="utf-8").splitlines()
    assert head.startswith('"frequency [Hz]","Re m0.position.x / s0.tau","Im m0.position.x / s0.tau"')
    np.testing.assert_array_equal([float(x) for x in lines[3].split(",")][:2], [f[3], response.values[3, 0, 0].real])
    with pytest.raises(InputError, match=r"ends in '\.txt', expected one of"):
        response.bode(tmp_path / "bode.txt")
    with pytest.raises(InputError, match="bode: there are no responses, expected one or more by label"):
        bode({})
    with pytest.raises(
        InputError, match=r"bode: 'other' has no response of 'm1.position.x' to 's0.tau', expected the same"
    ):
        bode({"one": response, "other": frequency_response(model, inputs="s0", outputs=outputs[:1], frequencies=f)})
    many = dataclasses.replace(response, outputs=tuple(map(str, range(30))))
    with pytest.raises(InputError, match="nyquist: there are 30 curves, expected 1 to 24"):
        many.nyquist()


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frequencies": [1.0, -2.0]}, r"frequencies are \[1.0, -2.0\], expected finite numbers of Hz, at least 0"),
        ({"frequencies": "fast"}, "frequencies are 'fast', expected finite numbers of Hz"),
        ({"method": "modl"}, "method is 'modl', expected 'direct' or 'modal'"),
        ({"modes": -1}, "modes is -1, expected a whole number, at least 0"),
        ({"modes": 1}, "modes is 1, which the direct method has no use for"),
        ({"modes": 5, "method": "modal"}, "modes is 5, expected at least the 0 that are rigid or unstable, at most 2"),
        ({"inputs": [3]}, "input 3 is not known, expected the name of an input, a Load, a BaseMotion"),
        ({"inputs": BaseMotion(axis="w")}, "support: axis is 'w', expected one of x, y, z, rx, ry, rz"),
        ({"inputs": BaseMotion(axis="x", quantity="jerk")}, "support.x: quantity is 'jerk', expected one of"),
        ({"inputs": Load(at="m0", force=(1, 2))}, r"load at m0: force is \(1, 2\), expected three finite numbers"),
        ({"inputs": Load(at="m0", torque="up")}, "load at m0: torque is 'up', expected three finite numbers"),
        ({"inputs": Load(at="m0", force=(1, 0, 0), phase=np.inf)}, "phase is inf, expected a finite number of radians"),
        ({"inputs": Load(at="m0")}, "load at m0: force and torque are zero"),
        ({"inputs": Load(at="m7", force=(1, 0, 0))}, "frame 'm7': 'm7' is not a body of the model"),
        ({"inputs": [Load(at="m0", force=(1, 0, 0))] * 2}, "two inputs are called 'load at m0', expected one"),
        ({"inputs": DrivenMotion(motion="s0")}, "DrivenMotion: 's0' is no prescribed motion of the model"),
        ({"inputs": "motor"}, "'motor' is none of the model's inputs"),
        ({"modal_damping": -0.1}, "modal_damping is -0.1, expected a ratio of critical damping, at least 0"),
        ({"modal_damping": [0.1] * 3}, "or one for each of the 2 modes, slowest first"),
        ({"structural_damping": {"m0": 0.1}}, "no joint with a spring, no SpringDamper and no Bushing"),
        ({"structural_damping": -1.0}, "structural_damping: 's0' has -1.0, expected a loss factor of at least 0"),
        ({"inputs": BaseMotion(axis="x"), "frequencies": [0.0]}, "at 0 Hz the response is infinite"),
    ],
)  # fmt: skip
def test_wrong_questions(options, message):
    with pytest.raises(InputError, match=message):
        frequency_response(
            masses(100.0, 50.0), **{"inputs": "s0", "outputs": "m0.position", "frequencies": [1.0]} | options
        )


def test_more_wrong_questions():
    model = masses(100.0, 50.0)
    response = frequency_response(model, inputs=["s0", "s1"], frequencies=[0.0, 1.0])
    assert response.outputs == ("s0.position", "s1.position", "s0.speed", "s1.speed")
    with pytest.raises(InputError, match=r"there are 2 inputs, expected response\[output, input\]"):
        response["s0.position"]
    with pytest.raises(InputError, match="'s0' is none of the outputs"):
        response["s0", "s0.tau"]
    with pytest.raises(InputError, match="rate: there is a response at 0 Hz, which has no integral"):
        response.rate(-1)
    with pytest.raises(InputError, match=r"'load at m0' has a phase, expected a load of real numbers"):
        driven_model(model, inputs=Load(at="m0", force=(1, 0, 0), phase=1.0))
    with pytest.raises(InputError, match=r"'support.x' is given by another quantity, expected quantity='acceleration'"):
        driven_model(model, inputs=BaseMotion(axis="x", quantity="velocity"))
    up = pendulum().state(q={"hinge": np.pi})
    with pytest.raises(InputError, match="modal_damping: the state is not stable: a mode has a stiffness of -6"):
        frequency_response(pendulum(), up, "hinge", frequencies=[1.0], modal_damping=0.1)
    top = lg.Body("top", mass=0.5, com=(0, 0, -0.2), inertia=(0.002, 0.002, 0.001))
    spinning = lg.Tree([top], [lm.Spherical(name="ball", parent="world", child="top")]).compile()
    ball = lm.Motion(
        name="ball_drive", joint="ball", law=lambda t: (np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
    )
    driven = dataclasses.replace(spinning.tree, loops=[ball]).compile()
    with pytest.raises(InputError, match="'ball_drive' prescribes all 3 speeds of joint 'ball', expected a single"):
        frequency_response(driven, inputs=DrivenMotion(motion="ball_drive"), frequencies=[1.0])
    held = dataclasses.replace(
        model.tree, loops=[lm.Motion(name="drive", joint="s0", law=lambda t: (0.0, 0.0, 0.0))]
    ).compile()
    twice = [lm.Motion(name=f"drive{k}", joint="s0", law=lambda t: (0.0, 0.0, 0.0)) for k in range(2)]
    both = [DrivenMotion(motion=motion.name) for motion in twice]
    with pytest.raises(InputError, match="two inputs are called 'drive0', expected one"):
        frequency_response(
            dataclasses.replace(model.tree, loops=twice[:1]).compile(), inputs=both[:1] * 2, frequencies=[1.0]
        )
    with pytest.raises(InputError, match="joint 's0' does not move in the linear model, expected that it can"):
        frequency_response(held.lock("s0"), inputs=DrivenMotion(motion="drive"), frequencies=[1.0])
