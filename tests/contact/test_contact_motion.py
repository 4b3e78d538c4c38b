"""Contacts in motion, against closed forms, an independent integration of the scalar equation, and other programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import liegeo as lg
from liegeo import flex
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.statics import equilibrium

G = 9.81


def ball(radius=0.05, mass=0.4, joint=lm.Free, **material):
    """Return a ball above a plane."""
    body = lg.Body("ball", mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    axis = {"axis": (0, 0, 1)} if joint is lm.Prismatic else {}
    contact = lm.Contact(
        name="bounce",
        a=lm.PlaneSurface(name="floor", at="world"),
        b=lm.SphereSurface(name="skin", at="ball", radius=radius),
        **{"stiffness": 1e6, **material},
    )
    return lg.Tree([body], [joint(name="move", parent="world", child="ball", **axis)], forces=[contact])


def hunt_crossley(v, m, k, n, d):
    """Return the speed with which a mass leaves, by integration of m δ̈ = −k δⁿ (1 + d δ̇), without gravity."""

    def rates(t, x):
        # smooth at the end too, where the sign of the depth changes
        return [x[1], -k * np.sign(x[0]) * abs(x[0]) ** n * (1.0 + d * x[1]) / m]

    over = lambda t, x: x[0]  # noqa: E731
    over.terminal, over.direction = True, -1
    found = solve_ivp(rates, (0.0, 10.0), [0.0, v], "DOP853", rtol=1e-12, atol=1e-15, events=over, first_step=1e-9)
    return -found.y_events[0][0][1]


@pytest.mark.parametrize(("exponent", "dissipation"), [(1.5, 0.3), (1.0, 1.0), (2.0, 4.0)])
def test_restitution_is_that_of_the_scalar_equation(exponent, dissipation):
    for v in (0.1, 1.0, 3.0):
        left = hunt_crossley(v, 0.4, 1e6, exponent, dissipation)
        # (3) of kernels/contact.py
        assert abs(lm.restitution(dissipation, v) - left / v) < 1e-9
        assert abs(lm.dissipation_for(left / v, v) - dissipation) < 1e-6 * dissipation
        tree = ball(joint=lm.Prismatic, dissipation=dissipation, exponent=exponent)
        model = lg.Tree(tree.bodies, tree.joints, gravity=(0, 0, 0), forces=tree.forces).compile()
        start = model.state(q={"move": 0.06}, v={"move": -v})
        run = lg.simulate(model, start, t_end=0.01 / v + 0.1, method="rkmk-54", rtol=1e-10, atol=1e-12, progress=False)
        assert abs(run["move.speed"][-1] - left) < 1e-7 * v
        # the impulse of the contact is the change of momentum; energy is accounted for
        assert run["bounce.normal"][-1] == 0.0
        assert abs(run.info.energy.defect) < 1e-5 * run.info.energy.start


def test_small_dissipation_is_hunt_and_crossleys_two_thirds():
    for x in (1e-3, 1e-4):
        assert abs(lm.restitution(x, 1.0) - (1.0 - 2.0 * x / 3.0)) < x**2
    assert lm.restitution(0.0, 1.0) == 1.0
    assert lm.dissipation_for(1.0, 2.0) == 0.0


@pytest.mark.parametrize("values", [(0.0, 1.0), (1.5, 1.0), (0.5, 0.0)])
def test_restitutions_that_do_not_exist_are_refused(values):
    with pytest.raises(ModelError, match="expected 0 < restitution ≤ 1 and speed > 0"):
        lm.dissipation_for(*values)


def test_a_bouncing_ball_flies_as_the_closed_form_says():
    model = ball(joint=lm.Prismatic, restitution=0.8, impact_speed=2.0, stiffness=1e9).compile()
    height = 2.0**2 / (2.0 * G)
    run = lg.simulate(
        model,
        model.state(q={"move": 0.05 + height}),
        t_end=1.2,
        method="rkmk-54",
        rtol=1e-10,
        atol=1e-12,
        output=np.linspace(0.0, 1.2, 1201),
        progress=False,
    )
    # without compliance: falls for v/g, rises with e v
    fall = 2.0 / G
    speeds, times = [2.0], [fall]
    for _ in range(3):
        speeds.append(speeds[-1] * lm.restitution(lm.dissipation_for(0.8, 2.0), speeds[-1]))
        times.append(times[-1] + 2.0 * speeds[-1] / G)
    expected = np.full(len(run.t), np.nan)
    for k, (begin, end) in enumerate(itertools.pairwise(times)):
        t = run.t - begin
        inside = (run.t > begin + 1e-3) & (run.t < end - 1e-3)
        expected[inside] = 0.05 + speeds[k + 1] * t[inside] - 0.5 * G * t[inside] ** 2
    known = np.isfinite(expected)
    assert known.sum() > 700
    assert np.abs(run["move.position"][known] - expected[known]).max() < 2e-3
    assert (
        abs(run["move.position"][(run.t > times[0]) & (run.t < times[1])].max() - 0.05 - speeds[1] ** 2 / (2 * G))
        < 1e-3
    )


@pytest.mark.parametrize("material", [{"slip_speed": 1e-5}, {"breakaway": 1e-5}], ids=["slides", "sticks"])
def test_a_ball_that_slides_rolls_after_two_sevenths_of_its_speed(material):
    """A ball that is thrown flat slides with −μ g until v = ω r: after 2 v₀/(7 μ g), with ⁵⁄₇ v₀."""
    mu, v0, radius = 0.2, 1.0, 0.05
    model = ball(radius, friction=mu, dissipation=1.0, stiffness=1e9, **material).compile()
    sunk = (0.4 * G / 1e9) ** (2.0 / 3.0)
    start = model.state(q={"move": (1, 0, 0, 0, 0, 0, radius - sunk)}, v={"move": (0, 0, 0, v0, 0, 0)})
    run = lg.simulate(
        model,
        start,
        t_end=0.4,
        method="rkmk-54",
        rtol=1e-8,
        atol=1e-10,
        output=np.linspace(0, 0.4, 4001),
        progress=False,
    )
    speed = run["ball.velocity"][:, 0]
    slip = speed - radius * run["ball.angular_velocity"][:, 1]
    transition = 2.0 * v0 / (7.0 * mu * G)
    sliding = run.t < transition - 1e-3
    assert np.abs(speed[sliding] - (v0 - mu * G * run.t[sliding])).max() < 2e-4
    assert np.abs(slip[sliding] - (v0 - 3.5 * mu * G * run.t[sliding])).max() < 1e-3
    assert abs(run.t[slip < 2e-3][0] - transition) < 1.5e-3
    assert abs(speed[-1] - 5.0 / 7.0 * v0) < 2e-3
    assert np.abs(slip[run.t > transition + 0.02]).max() < 1e-3
    assert abs(run.info.energy.defect) < 1e-5


def block(angle, mu, **material):
    """Return a block of 1 kg on a slope about y, resting on it; down is +x of the slope."""
    body = lg.Body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
    slope = lm.PlaneSurface(name="slope", at="world")
    box = lm.BoxSurface(name="box", at="block", size=(0.2, 0.2, 0.1))
    contact = lm.Contact(
        name="grip", a=slope, b=box, stiffness=2e5, exponent=1.0, dissipation=5.0, friction=mu, **material
    )
    joints = [lm.Free(name="move", parent="world", child="block")]
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    model = lg.Tree([body], joints, gravity=gravity, forces=[contact]).compile()
    sunk = G * np.cos(angle) / (4 * 2e5)
    return model, model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.05 - sunk)})


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_block_below_the_friction_angle_stays(share):
    mu = 0.4
    model, state = block(np.arctan(share * mu), mu, breakaway=1e-5)
    run = lg.simulate(
        model,
        state,
        t_end=101.0,
        method="rosenbrock-32",
        rtol=1e-8,
        atol=1e-12,
        output=np.array([0.0, 1.0, 51.0, 101.0]),
        progress=False,
    )
    x = run["move.position.x"]
    # it gives as far as its bristles do, and no farther
    assert 0.0 < x[1] < 1e-4
    assert np.abs(x[1:] - x[1]).max() < 1e-9
    assert abs(run["grip.friction"][-1] - G * np.sin(np.arctan(share * mu))) < 1e-6


def test_friction_without_bristles_creeps():
    """What the bristles are for: (4) lets the same block go at the speed v_s tan/√(μ² − tan²)."""
    mu, share, slip = 0.4, 0.5, 1e-3
    model, state = block(np.arctan(share * mu), mu, slip_speed=slip)
    run = lg.simulate(model, state, t_end=2.0, method="rosenbrock-32", rtol=1e-8, atol=1e-10, progress=False)
    creep = slip * share / np.sqrt(1.0 - share**2)
    assert abs(run["block.velocity"][-1, 0] - creep) < 1e-2 * creep


@pytest.mark.parametrize("material", [{"slip_speed": 1e-5}, {"breakaway": 1e-5}], ids=["slides", "sticks"])
def test_a_block_above_the_friction_angle_slides(material):
    mu, angle = 0.4, 0.6
    model, state = block(angle, mu, **material)
    run = lg.simulate(model, state, t_end=0.5, method="rosenbrock-32", rtol=1e-8, atol=1e-10, progress=False)
    expected = G * (np.sin(angle) - mu * np.cos(angle))
    late = run.t > 0.1
    slope = np.polyfit(run.t[late], run["block.velocity"][late, 0], 1)[0]
    assert abs(slope - expected) < 2e-3 * expected


def test_two_rods_keep_their_momentum_and_part_by_restitution():
    bodies = [lg.Body(name, mass=m, inertia=(1, 1, 1)) for name, m in (("long", 2.0), ("short", 0.5))]
    joints = [lm.Prismatic(name=f"x_{b.name}", parent="world", child=b.name, axis=(1, 0, 0)) for b in bodies]
    ends = [lm.SphereSurface(name=f"end of {b.name}", at=b.name, radius=0.02) for b in bodies]
    contact = lm.Contact(name="knock", a=ends[0], b=ends[1], modulus=1e11, restitution=0.7, impact_speed=3.0)
    model = lg.Tree(bodies, joints, gravity=(0, 0, 0), forces=[contact]).compile()
    start = model.state(q={"x_short": 0.05}, v={"x_long": 2.0, "x_short": -1.0})
    run = lg.simulate(model, start, t_end=0.01, method="rkmk-54", rtol=1e-10, atol=1e-13, progress=False)
    a, b = run["x_long.speed"], run["x_short.speed"]
    assert np.abs(2.0 * a + 0.5 * b - 3.5).max() < 1e-9
    assert abs((b[-1] - a[-1]) - 0.7 * 3.0) < 1e-5
    # of both together the energy of the relative motion falls by 1 − e²
    assert abs(run.info.energy.dissipated - 0.5 * 0.4 * 3.0**2 * (1.0 - 0.49)) < 1e-5


def test_the_impulse_of_a_contact_is_the_momentum_that_it_takes():
    model = ball(friction=0.3, dissipation=0.4, stiffness=1e4, exponent=1.0).compile()
    start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.06)}, v={"move": (3, -20, 4, 1.0, 0.5, -2.0)})
    times = np.linspace(0.0, 0.05, 20001)
    run = lg.simulate(model, start, t_end=0.05, method="rkmk-54", rtol=1e-10, atol=1e-12, output=times, progress=False)
    force, momentum = run["bounce.force"], 0.4 * run["ball.velocity"]
    impulse = np.trapezoid(force, times, axis=0) + 0.4 * np.array([0, 0, -G]) * 0.05
    assert np.abs(impulse - (momentum[-1] - momentum[0])).max() < 2e-6
    assert np.linalg.norm(force, axis=1).max() > 10.0
    # on the cone, in the direction that the surface slides against
    inside = run["bounce.normal"] > 1.0
    assert (run["bounce.friction"][inside] <= 0.3 * run["bounce.normal"][inside] * (1 + 1e-9)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("material", [{}, {"breakaway": 1e-4}], ids=["slides", "sticks"])
def test_energy_never_grows_where_a_machine_knocks_about(seed, material):
    """A box, a capsule and a ball that fall on a floor and on one another."""
    rng = np.random.default_rng(seed)
    bodies = [
        lg.Body(name, mass=m, inertia=(2e-3, 3e-3, 4e-3)) for name, m in (("box", 1.0), ("rod", 0.5), ("ball", 0.7))
    ]
    joints = [lm.Free(name=f"move_{b.name}", parent="world", child=b.name) for b in bodies]
    floor = lm.PlaneSurface(name="floor", at="world")
    box = lm.BoxSurface(name="box skin", at="box", size=(0.2, 0.15, 0.1))
    rod = lm.CapsuleSurface(name="rod skin", at="rod", radius=0.04, length=0.2)
    round_ = lm.SphereSurface(name="ball skin", at="ball", radius=0.06)
    pairs = [(floor, box), (floor, rod), (floor, round_), (box, round_), (rod, round_)]
    common = {"stiffness": 2e4, "exponent": 1.2, "dissipation": 0.4, "friction": 0.3, "static": 0.4, **material}
    forces = [lm.Contact(name=f"c{k}", a=a, b=b, **common) for k, (a, b) in enumerate(pairs)]
    model = lg.Tree(bodies, joints, forces=forces).compile()
    q = np.array(model.group.random(rng=rng))
    for k, height in enumerate((0.2, 0.45, 0.7)):
        q[7 * k + 4 : 7 * k + 7] = *rng.uniform(-0.03, 0.03, 2), height
    state = model.state(q=q, v=rng.normal(size=18))
    run = lg.simulate(
        model, state, t_end=1.0, method="rkmk-54", rtol=1e-8, atol=1e-10, output=np.linspace(0, 1, 1001), progress=False
    )
    energy = run["energy"]
    assert max(np.diff(energy)) < 1e-6 * energy[0]
    assert energy[-1] < 0.7 * energy[0]
    assert run["c0.normal"].max() > 10.0


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "rosenbrock-3", "lie-bdf-2"])
@pytest.mark.parametrize(
    "material", [{"friction": 0.3}, {"friction": 0.3, "breakaway": 1e-4}], ids=["slides", "sticks"]
)
def test_implicit_methods_go_through_impacts_with_steps_of_a_millisecond(method, material):
    model = ball(stiffness=1e5, dissipation=0.4, **material).compile()
    start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.1)}, v={"move": (0, 5, 0, 1.0, 0, 0)})
    run = lg.simulate(model, start, t_end=1.5, method=method, step=1e-3, progress=False)
    assert run.info.finished
    assert run["bounce.normal"].max() > 5.0
    sunk = (0.4 * G / 1e5) ** (2.0 / 3.0)
    assert abs(run["move.position.z"][-1] - (0.05 - sunk)) < 1e-3
    exact = lg.simulate(model, start, t_end=0.12, method="rkmk-54", rtol=1e-8, atol=1e-10, progress=False)
    k = np.searchsorted(run.t, 0.12)
    assert abs(run["move.position.z"][k] - exact["move.position.z"][-1]) < 2e-3


def test_the_tip_of_a_beam_rests_on_the_floor():
    """A cantilever whose tip sags onto a floor: w L⁴/8EI − N L³/3EI is the height of the floor and its depth."""
    length, k, drop = 0.5, 1e5, 1e-4
    material, section = flex.Material(E=7e10, nu=0.3, rho=2700.0), flex.rectangle(0.02, 0.01)
    fe = flex.beam(length, section, material, 16)
    link = flex.flexible_body(flex.reduce(fe, interfaces=["0", "16"], root="0", n_modes=2), "link", nodes=["16"])
    tip = lm.SphereSurface(name="tip", at="link.16", radius=0.0)
    floor = lm.PlaneSurface(name="floor", at=("world", (0, 0, -drop)))
    contact = lm.Contact(name="touch", a=floor, b=tip, stiffness=k, exponent=1.0)
    tree = lg.Tree([link], [lm.Fixed(name="clamp", parent="world", child="link")], forces=[contact])
    model = tree.compile()
    rest = equilibrium(model)
    stiff, weight = 7e10 * 0.02 * 0.01**3 / 12.0, 2700.0 * 0.02 * 0.01 * G
    expected = (weight * length**4 / (8.0 * stiff) - drop) / (length**3 / (3.0 * stiff) + 1.0 / k)
    seen = model.calculator().outputs(["touch.normal", "touch.gap", "link.16.position"])(rest.q, rest.v)
    assert expected > 0.5
    assert abs(seen[0] - expected) < 0.01 * expected
    assert abs(seen[0] + k * seen[1]) < 1e-9
    assert abs(seen[4] + drop - seen[1]) < 1e-12
