"""What sensors measure at every instant, against closed forms, hand-made balances and finite differences.

The accelerometer's oracles never touch accelerations of liegeo but those of the coordinates: formulas of a pendulum, of
a point on a turning body that bends, and second differences of positions in a fine run.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import liegeo as lg
from liegeo import dynamics, statics
from liegeo import model as lm
from liegeo.errors import ModelError
from liegeo.flex import Material, beam, flexible_body, rectangle, reduce
from liegeo.lie import SE3, SO3

G = 9.81
STEEL = Material(E=2.1e11, rho=7850.0, nu=0.3)
SECTION = rectangle(0.02, 0.01)
WITHOUT_MODES = np.zeros((6, 2))


def shown(model, state, *names, tau=None, inputs=None):
    """Return the named columns at a state, one after another."""
    calc = model.calculator()
    found = [np.ravel(calc.outputs(name)(state.q, state.v, tau, inputs=inputs, x=state.x)) for name in names]
    return np.concatenate(found)


def pendulum(*sensors, mass=2.0, length=0.7, inertia=0.1, **joint):
    rod = lg.Body("rod", mass=mass, com=(0, 0, -length), inertia=(inertia, inertia, 0.01), frames={"tip": (0, 0, -1.5)})
    hinge = lg.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0), **joint)
    return lg.Tree([rod], [hinge], sensors=sensors).compile()


# Accelerometer ------------------------------------------------------------------------------------------------------


def test_accelerometers_of_a_swinging_pendulum_in_closed_form():
    """At the radius r, with θ̈ = −m g l sin θ/(J + m l²):  f = (−r θ̈ − g sin θ, 0, r θ̇² + g cos θ)."""
    radii = (0.0, 0.4, 1.5)
    model = pendulum(*(lm.Accelerometer(name=f"a{k}", at=("rod", (0, 0, -r))) for k, r in enumerate(radii)))
    run = lg.simulate(
        model, model.state(q={"hinge": 1.2}, v={"hinge": 0.5}), t_end=0.5, rtol=1e-10, output=0.05, progress=False
    )
    theta, rate = run["hinge.angle"], run["hinge.speed"]
    acceleration = -2.0 * G * 0.7 * np.sin(theta) / (0.1 + 2.0 * 0.7**2)
    for k, r in enumerate(radii):
        expected = [-r * acceleration - G * np.sin(theta), 0.0 * theta, r * rate**2 + G * np.cos(theta)]
        np.testing.assert_allclose(run[f"a{k}.specific_force"], np.transpose(expected), rtol=0.0, atol=1e-12)
    assert run.unit("a0.specific_force.x") == "m/s²"


def test_a_body_in_free_fall_feels_nothing_at_its_centre_and_its_spin_elsewhere():
    """At r from the centre:  ω̇ × r + ω × (ω × r) with Euler's ω̇ = J⁻¹ (Jω × ω)."""
    J, r, w = np.array([1.0, 2.0, 2.5]), np.array([0.3, -0.2, 0.5]), np.array([1.0, -2.0, 0.7])
    box = lg.Body("box", mass=3.0, inertia=J, frames={"corner": r})
    sensors = [lm.Accelerometer(name="centre", at="box"), lm.Accelerometer(name="corner", at="box.corner")]
    model = lg.Tree([box], [lg.Free(name="free", parent="world", child="box")], sensors=sensors).compile()
    pose = np.concatenate([SO3Q_of([0.4, -0.8, 1.1]), [1.0, 2.0, 3.0]])
    state = model.state(q={"free": pose}, v={"free": [*w, 0.5, -0.4, 0.3]})
    np.testing.assert_allclose(shown(model, state, "centre.specific_force"), 0.0, atol=1e-13)
    turning = np.cross(J * w, w) / J
    expected = np.cross(turning, r) + np.cross(w, np.cross(w, r))
    np.testing.assert_allclose(shown(model, state, "corner.specific_force"), expected, atol=1e-12)


def SO3Q_of(vector):
    angle = np.linalg.norm(vector)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(vector) / angle])


def bent_body():
    """Two masses on a turning arm that bends in its plane by two modes; the node turns too."""
    modes = np.zeros((6, 2))
    # rotation about y, displacement along x and z
    modes[1], modes[3], modes[5] = (0.4, -0.7), (0.9, 0.3), (-0.2, 0.5)
    first = np.zeros((6, 2))
    first[3], first[5] = (0.1, 0.2), (0.3, -0.1)
    nodes = [
        lm.LumpedNode(modes=modes, position=(0.2, 0, -1.0), mass=1.0, inertia=(0.02, 0.02, 0.02), name="tip"),
        lm.LumpedNode(modes=first, position=(0, 0, -0.4), mass=2.0, inertia=(0.02, 0.02, 0.02), name="middle"),
    ]
    return lm.FlexibleBody.from_nodes("arm", nodes, stiffness=np.diag([30.0, 50.0])), modes


def test_an_accelerometer_on_two_modes_against_derivatives_of_its_path():
    """p(t) = R(θ)(r₀ + Φ_t η) by hand, its second derivative by mpmath to 40 digits; the sensor turns by θ + Φ_r η."""
    body, modes = bent_body()
    sensor = lm.Accelerometer(name="imu", at="arm.tip")
    hinge = lg.Revolute(name="hinge", parent="world", child="arm", axis=(0, 1, 0))
    model = lg.Tree([body], [hinge], sensors=[sensor]).compile()
    rng = np.random.default_rng(4)
    for _ in range(3):
        q, v = rng.normal(size=3) * [1.0, 0.1, 0.1], rng.normal(size=3)
        state = model.state(q={"hinge": q[0], "arm": q[1:]}, v={"hinge": v[0], "arm": v[1:]})
        a = lg.forward_dynamics(model, state)

        def path(t, row, q=q, v=v, a=a):
            y = [mpmath.mpf(q[k]) + t * mpmath.mpf(v[k]) + t * t * mpmath.mpf(a[k]) / 2 for k in range(3)]
            x, z = (
                mpmath.mpf(r0) + mpmath.mpf(modes[axis, 0]) * y[1] + mpmath.mpf(modes[axis, 1]) * y[2]
                for r0, axis in ((0.2, 3), (-1.0, 5))
            )
            c, s = mpmath.cos(y[0]), mpmath.sin(y[0])
            return (c * x + s * z, -s * x + c * z)[row]

        with mpmath.workdps(40):
            ax, az = (float(mpmath.diff(lambda t, row=row: path(t, row), 0, 2)) for row in range(2))
        turn = q[0] + modes[1] @ q[1:]
        c, s = np.cos(turn), np.sin(turn)
        expected = [c * ax - s * (az + G), 0.0, s * ax + c * (az + G)]
        np.testing.assert_allclose(shown(model, state, "imu.specific_force"), expected, rtol=1e-12, atol=1e-12)


def flexible_beam(n=6, kind="euler", length=1.0, nodes=None, **options):
    fe = beam(length, SECTION, STEEL, n, kind)
    reduction = reduce(fe, {str(n): (0, 1, 2, 3, 4, 5)}, root="0", fixed=["0"], **{"n_modes": 2, **options})
    return flexible_body(reduction, "boom", nodes=nodes or [str(k) for k in range(n + 1)], damping=0.02)


def test_an_accelerometer_on_a_rotating_beam_against_differences_of_a_fine_run():
    """The second difference of fourth order of the tip's positions, in the tip's own axes, less gravity."""
    boom = flexible_beam()
    sensor = lm.Accelerometer(name="imu", at="boom.6")
    hinge = lg.Revolute(name="hinge", parent="world", child="boom", axis=(0.6, 0, 0.8))
    model = lg.Tree([boom], [hinge], sensors=[sensor]).compile()
    h, middle = 1e-4, 0.03
    times = middle + h * np.arange(-2, 3)
    run = lg.simulate(
        model,
        model.state(v={"hinge": 4.0}),
        t_end=2 * middle,
        method="rkmk-54",
        rtol=1e-12,
        atol=1e-14,
        output=times,
        progress=False,
    )
    p = run["boom.6.position"]
    acceleration = (-p[0] + 16 * p[1] - 30 * p[2] + 16 * p[3] - p[4]) / (12 * h * h)
    w, x, y, z = run["boom.6.quaternion"][2]
    R = SO3.exp(2.0 * np.arctan2(np.linalg.norm([x, y, z]), w) * np.array([x, y, z]) / np.linalg.norm([x, y, z]))
    expected = R.T @ (acceleration + np.array([0, 0, G]))
    found = run["imu.specific_force"][2]
    # the beam bends, so a rigid one would be far off
    assert np.abs(run["boom.6.deflection"][2]).max() > 1e-3
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())


# Gyro, inclinometer, encoder, tachometer -----------------------------------------------------------------------------


def gimbal(*sensors):
    """A turn α about z carries a turn β about x."""
    bodies = [lg.Body(name, mass=1.0, inertia=(0.1, 0.2, 0.3)) for name in ("outer", "inner")]
    joints = [
        lg.Revolute(name="alpha", parent="world", child="outer", axis=(0, 0, 1)),
        lg.Revolute(name="beta", parent="outer", child="inner", axis=(1, 0, 0)),
    ]
    return lg.Tree(bodies, joints, sensors=sensors).compile()


def test_gyro_and_inclinometer_of_a_gimbal_in_closed_form():
    """In the inner axes: ω = (β̇, α̇ sin β, α̇ cos β); gravity points along (0, −sin β, −cos β)."""
    model = gimbal(lm.Gyro(name="gyro", at="inner"), lm.Inclinometer(name="level", at="inner"))
    state = model.state(q={"alpha": 0.7, "beta": 0.4}, v={"alpha": 1.3, "beta": -0.8})
    s, c = np.sin(0.4), np.cos(0.4)
    np.testing.assert_allclose(shown(model, state, "gyro.angular_velocity"), [-0.8, 1.3 * s, 1.3 * c], atol=1e-14)
    np.testing.assert_allclose(shown(model, state, "level.gravity"), [0.0, -s, -c], atol=1e-14)


def test_an_inclinometer_without_gravity_shows_nothing():
    rod = lg.Body("rod", mass=1.0, inertia=(1, 1, 1))
    tree = lg.Tree(
        [rod],
        [lg.Revolute(name="j", parent="world", child="rod")],
        gravity=(0, 0, 0),
        sensors=[lm.Inclinometer(name="level", at="rod")],
    )
    model = tree.compile()
    np.testing.assert_array_equal(shown(model, model.state(), "level.gravity"), np.zeros(3))


def test_encoders_and_tachometers_show_coordinates_and_speeds_of_their_joint():
    body = lg.Body("body", mass=1.0, inertia=(0.1, 0.1, 0.1))
    joint = lg.Cylindrical(name="screw", parent="world", child="body")
    sensors = [
        lm.Encoder(name="turn", joint="screw"),
        lm.Encoder(name="slide", joint="screw", coordinate=1),
        lm.Tachometer(name="rate", joint="screw"),
        lm.Tachometer(name="along", joint="screw", speed=1),
    ]
    model = lg.Tree([body], [joint], sensors=sensors).compile()
    state = model.state(q={"screw": (0.3, 0.2)}, v={"screw": (1.5, -0.7)})
    names = ("turn.angle", "slide.position", "rate.speed", "along.speed")
    np.testing.assert_array_equal(shown(model, state, *names), [0.3, 0.2, 1.5, -0.7])
    assert [model.names.column(name).unit for name in names] == ["rad", "m", "rad/s", "m/s"]


@pytest.mark.parametrize("angle", [0.0, 0.1, 3.04, -0.001533, -0.001535, 7.0])
def test_an_encoder_counts(angle):
    """With 2048 counts per turn it shows whole counts, the nearest one."""
    count = 2 * np.pi / 2048
    model = pendulum(lm.Encoder(name="enc", joint="hinge", resolution=count))
    (found,) = shown(model, model.state(q={"hinge": angle}), "enc.angle")
    assert found / count == pytest.approx(round(angle / count), abs=1e-9)


def test_range_and_resolution_without_samples():
    sensor = lm.Gyro(name="gyro", at="rod", range=2.0, resolution=0.3)
    model = pendulum(sensor)
    for speed, expected in ((1.0, 0.9), (5.0, 1.8), (-5.0, -1.8), (0.14, 0.0)):
        found = shown(model, model.state(v={"hinge": speed}), "gyro.angular_velocity")
        np.testing.assert_allclose(found, [0.0, expected, 0.0], atol=1e-15)


# Force and torque ---------------------------------------------------------------------------------------------------


def test_force_and_torque_in_the_hinge_of_a_swinging_link_by_newton_and_euler():
    """f = m (a_c − g), and about the hinge no moment; about a frame at r the moment −r × f."""
    offset = np.array([0.1, 0.2, -0.3])
    frame = SE3.exp(np.array([0.3, -0.2, 0.5, 0, 0, 0]))
    frame[:3, 3] = offset
    sensors = [
        lm.ForceTorque(name="hinge_ft", joint="hinge"),
        lm.ForceTorque(name="cell", joint="hinge", at=("rod", frame)),
    ]
    model = pendulum(*sensors)
    theta, rate = 0.8, 1.9
    state = model.state(q={"hinge": theta}, v={"hinge": rate})
    m, l = 2.0, 0.7
    acceleration = -m * G * l * np.sin(theta) / (0.1 + m * l * l)
    force = m * np.array([-l * acceleration - G * np.sin(theta), 0.0, l * rate**2 + G * np.cos(theta)])
    np.testing.assert_allclose(shown(model, state, "hinge_ft.moment", "hinge_ft.force"), [0, 0, 0, *force], atol=1e-12)
    R = frame[:3, :3]
    expected = [*(R.T @ -np.cross(offset, force)), *(R.T @ force)]
    np.testing.assert_allclose(shown(model, state, "cell.moment", "cell.force"), expected, atol=1e-12)


def test_force_and_torque_contain_what_drives_the_joint():
    model = pendulum(lm.ForceTorque(name="ft", joint="hinge"), damping=0.3)
    state = model.state(v={"hinge": 2.0})
    np.testing.assert_allclose(shown(model, state, "ft.moment", tau=[1.5]), [0.0, 1.5 - 0.6, 0.0], atol=1e-12)


def cantilever(sensors, load=(0.0, 0.0, -5.0), gravity=(0, 0, 0), **options):
    """A clamped beam with a load at its tip, and its state at rest."""
    boom = flexible_beam(**options)
    n = sum(name.isdecimal() for name in boom.nodes) - 1
    push = lm.PointForce(name="push", at=f"boom.{n}", force=load)
    clamp = lg.Fixed(name="clamp", parent="world", child="boom")
    model = lg.Tree([boom], [clamp], gravity=gravity, forces=[push], sensors=sensors).compile()
    return model, statics.equilibrium(model)


def test_force_and_torque_at_the_root_of_a_loaded_cantilever():
    """The root carries load and weight: force −P − m g, moment −L × P − c × m g about the root, at the deformed tip."""
    model, state = cantilever([lm.ForceTorque(name="root", joint="clamp")], gravity=(0, 0, -G))
    mass = STEEL.rho * SECTION.A * 1.0
    load, weight = np.array([0, 0, -5.0]), np.array([0, 0, -mass * G])
    tip, center = shown(model, state, "boom.6.position"), shown(model, state, "center")
    moment = -np.cross(tip, load) - np.cross(center, weight)
    np.testing.assert_allclose(shown(model, state, "root.force"), -load - weight, atol=1e-9)
    np.testing.assert_allclose(shown(model, state, "root.moment"), moment, rtol=1e-9, atol=1e-9)
    assert moment[1] == pytest.approx(-(5.0 + 0.5 * mass * G), rel=1e-3)


# Strain -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["euler", "timoshenko"])
@pytest.mark.parametrize("k", [0, 3, 5])
def test_strain_of_a_cantilever_with_a_load_at_its_tip(kind, k):
    """M c/(E I) with M = P (L − x) in the middle of the gauge, in both planes, and P/(E A) along it."""
    c, n = 0.004, 6
    sensors = [
        lm.StrainGauge(name="top", a=f"boom.{k}", b=f"boom.{k + 1}", fibre=(0, 0, c)),
        lm.StrainGauge(name="side", a=f"boom.{k}", b=f"boom.{k + 1}", fibre=(0, c, 0)),
        lm.StrainGauge(name="core", a=f"boom.{k}", b=f"boom.{k + 1}"),
    ]
    x, E = (k + 0.5) / n, STEEL.E
    # tiny loads: the oracle is linear
    down, aside, along = -1e-3, 2e-3, 3.0
    model, state = cantilever(sensors, load=(along, aside, down), kind=kind)
    bend_z = -down * (1.0 - x) * c / (E * SECTION.Iy)
    bend_y = -aside * (1.0 - x) * c / (E * SECTION.Iz)
    stretch = along / (E * SECTION.A)
    found = shown(model, state, "top.strain", "side.strain", "core.strain")
    # the pull stiffens bending by its second order, which a model without stiffening does not have
    np.testing.assert_allclose(found, [bend_z + stretch, bend_y + stretch, stretch], rtol=2e-6)


def test_strain_of_the_first_mode_of_a_cantilever_in_closed_form():
    """w = cosh βx − cos βx − σ (sinh βx − sin βx), βL = 1.8751…: mean strain −c (w′(b) − w′(a))/ℓ, per deflection."""
    n, c = 10, 0.004
    # modes of the clamped beam itself, so that the first is the finite elements' own
    reduction = reduce(beam(1.0, SECTION, STEEL, n, "euler"), (), root="0", fixed=["0"], n_modes=4)
    boom = flexible_body(reduction, "boom", nodes=[str(k) for k in range(n + 1)])
    gauges = [lm.StrainGauge(name=f"g{k}", a=f"boom.{k}", b=f"boom.{k + 1}", fibre=(0, 0, c)) for k in range(n)]
    clamp = lg.Fixed(name="clamp", parent="world", child="boom")
    model = lg.Tree([boom], [clamp], gravity=(0, 0, 0), sensors=gauges).compile()
    # the lowest mode bends about the weaker axis, y, and so moves along z
    K, M = np.asarray(boom.K), np.asarray(boom.M_e)
    values, shapes = np.linalg.eigh(np.linalg.solve(M, K))
    mode = shapes[:, 0]
    rise = np.asarray(boom.nodes[str(n)].modes)[5] @ mode
    state = model.state(q={"boom": 1e-3 * mode / rise})
    beta = float(mpmath.findroot(lambda x: mpmath.cos(x) * mpmath.cosh(x) + 1, 1.8751))
    assert values[0] == pytest.approx(beta**4 * STEEL.E * SECTION.Iy / (STEEL.rho * SECTION.A), rel=1e-3)
    sigma = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))
    x = np.linspace(0.0, 1.0, n + 1)
    tip = np.cosh(beta) - np.cos(beta) - sigma * (np.sinh(beta) - np.sin(beta))
    slope = beta * (np.sinh(beta * x) + np.sin(beta * x) - sigma * (np.cosh(beta * x) - np.cos(beta * x))) * 1e-3 / tip
    expected = -c * np.diff(slope) * n
    found = shown(model, state, *(f"g{k}.strain" for k in range(n)))
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


# Distance and relative motion -----------------------------------------------------------------------------------------


def test_relative_motion_is_the_motion_of_the_joint_between_its_frames():
    """Seen from the parent: the angle and its rate, and a point on a circle."""
    model = pendulum(
        lm.RelativeMotion(name="seen", a="world", b="rod.tip"),
        lm.RelativeMotion(name="back", a="rod.tip", b=("world", (0.5, 0.0, 0.2))),
        lm.DistanceSensor(name="tape", a=("world", (0.5, 0.0, 0.2)), b="rod.tip"),
    )
    theta, rate, r = 0.6, -1.1, 1.5
    state = model.state(q={"hinge": theta}, v={"hinge": rate})
    s, c = np.sin(theta), np.cos(theta)
    tip, velocity = np.array([-r * s, 0.0, -r * c]), rate * np.array([-r * c, 0.0, r * s])
    parts = [f"seen.{part}" for part in ("position", "rotation", "velocity", "angular_velocity")]
    expected = [*tip, 0, theta, 0, *velocity, 0, rate, 0]
    np.testing.assert_allclose(shown(model, state, *parts), expected, atol=1e-14)
    # a fixed point seen from the turning tip; its velocity by the product rule
    R = SO3.exp([0.0, theta, 0.0])
    way = np.array([0.5, 0.0, 0.2]) - tip
    position = R.T @ way
    moving = R.T @ -velocity - np.cross([0.0, rate, 0.0], position)
    parts = [f"back.{part}" for part in ("position", "rotation", "velocity", "angular_velocity")]
    expected = [*position, 0, -theta, 0, *moving, 0, -rate, 0]
    np.testing.assert_allclose(shown(model, state, *parts), expected, atol=1e-13)
    size = np.linalg.norm(way)
    np.testing.assert_allclose(
        shown(model, state, "tape.distance", "tape.rate"), [size, -way @ velocity / size], rtol=1e-14
    )


def test_rates_are_derivatives_of_what_is_shown():
    """Central differences along a motion, between two frames of which both turn and bend."""
    body, _ = bent_body()
    hinge = lg.Revolute(name="hinge", parent="world", child="arm", axis=(0.48, 0.6, 0.64))
    hand = lg.Body("hand", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"grip": (0.1, 0.2, 0.3)})
    wrist = lg.Revolute(name="wrist", parent="arm", child="hand", at="tip", axis=(1, 0, 0))
    sensors = [
        lm.DistanceSensor(name="tape", a="arm.middle", b="hand.grip"),
        lm.RelativeMotion(name="seen", a="arm.middle", b="hand.grip"),
    ]
    model = lg.Tree([body, hand], [hinge, wrist], sensors=sensors).compile()
    rng = np.random.default_rng(8)
    q, v, h = rng.normal(size=model.nq) * 0.3, rng.normal(size=model.nv), 1e-5
    here, before, after = (
        shown(model, model.unpack(np.concatenate([q + s * h * v, v])), "tape.distance", "tape.rate", "seen.position")
        for s in (0, -1, 1)
    )
    rates = (after - before) / (2 * h)
    assert here[1] == pytest.approx(rates[0], rel=1e-7)
    state = model.unpack(np.concatenate([q, v]))
    np.testing.assert_allclose(shown(model, state, "seen.velocity"), rates[2:], rtol=1e-7, atol=1e-8)


# What joints, gears and motors exert ----------------------------------------------------------------------------------


def test_spring_and_damper_of_a_joint_apart():
    model = pendulum(stiffness=3.0, damping=0.2, rest=0.1)
    state = model.state(q={"hinge": 0.5}, v={"hinge": -2.0})
    names = ("hinge.spring", "hinge.damper", "hinge.resistance")
    np.testing.assert_allclose(shown(model, state, *names), [3.0 * 0.4, -0.4, 0.8], rtol=1e-14)
    assert "hinge.spring" not in pendulum().names.computable
    assert [model.names.column(name).unit for name in names] == ["N·m"] * 3


def test_the_spring_of_a_ball_joint_apart():
    """On a group the spring is not stiffness times coordinate; with the damper it is the resistance."""
    ball = lg.Spherical(name="ball", parent="world", child="rod", stiffness=(1, 2, 3), damping=0.5)
    rod = lg.Body("rod", mass=1.0, inertia=(1, 1, 1))
    model = lg.Tree([rod], [ball]).compile()
    state = model.state(q={"ball": SO3Q_of([0.3, 0.2, 0.1])}, v={"ball": [1.0, 2.0, 3.0]})
    spring, damper, both = (shown(model, state, f"ball.{what}") for what in ("spring", "damper", "resistance"))
    np.testing.assert_allclose(damper, [0.5, 1.0, 1.5])
    np.testing.assert_allclose(spring + damper, both, rtol=1e-14)
    resting = shown(model, model.state(q={"ball": state.q}), "ball.resistance")
    np.testing.assert_allclose(spring, resting, rtol=1e-14)


def test_a_gear_shows_what_it_exerts_on_both_joints():
    """A driven flywheel behind a gear: J_b q̈_b = τ_b on the driven side, J_a q̈_a = τ + τ_a on the driving one."""
    wheels = [lg.Body(name, mass=1.0, inertia=(2, 2, J)) for name, J in (("small", 0.2), ("large", 3.0))]
    joints = [lg.Revolute(name=f"axle_{w.name}", parent="world", child=w.name, axis=(0, 0, 1)) for w in wheels]
    gear = lm.Gear(name="gear", a="axle_small", b="axle_large", ratio=-0.25)
    model = lg.Tree(wheels, joints, loops=[gear]).compile()
    a, b = lg.forward_dynamics(model, model.state(), tau=[2.0, 0.0])
    assert b == pytest.approx(-0.25 * a)
    found = shown(model, model.state(), "gear.tau.a", "gear.tau.b", tau=[2.0, 0.0])
    by_name = {"gear.tau.a": 0.2 * a - 2.0, "gear.tau.b": 3.0 * b}
    np.testing.assert_allclose(found, list(by_name.values()), rtol=1e-12)
    assert abs(found[1]) > 0.1
    assert model.names.column("gear.tau.b").unit == "N·m"


def test_a_motor_shows_its_limited_torque_and_power_with_and_without_a_lag():
    """Behind the limit, at the joint: gear · limit, and its power; with a lag the state is limited, not the input."""
    for lag, x in ((0.0, None), (0.1, [7.0])):
        motor = lm.Actuator(name="motor", joint="hinge", gear=10.0, limit=2.0, lag=lag)
        rod = lg.Body("rod", mass=1.0, inertia=(1, 1, 1))
        joints = [lg.Revolute(name="hinge", parent="world", child="rod")]
        model = lg.Tree([rod], joints, forces=[motor]).compile()
        state = model.state(v={"hinge": 3.0}, x=x)
        found = shown(model, state, "motor.torque", "motor.power", inputs=[5.0])
        np.testing.assert_allclose(found, [20.0, 60.0])
        assert lg.forward_dynamics(model, state, inputs=[5.0])[0] == pytest.approx(20.0)


# Elsewhere ------------------------------------------------------------------------------------------------------------


def test_a_linear_model_has_the_slopes_of_sensors():
    """Around hanging, f_x = −r θ̈ − g θ = (r m g l/(J + m l²) − g) θ − r τ/(J + m l²); quantised or sampled ones too."""
    sensors = [
        lm.Accelerometer(name="plain", at="rod.tip"),
        lm.Accelerometer(name="coarse", at="rod.tip", resolution=0.5),
        lm.Accelerometer(name="slow", at="rod.tip", period=0.1, delay=0.3, noise=0.2),
    ]
    model = pendulum(*sensors)
    names = [f"{s.name}.specific_force.x" for s in sensors]
    linear = lg.linearise(model, model.state(), inputs=["hinge"], outputs=names)
    inertia = 0.1 + 2.0 * 0.7**2
    slope = 1.5 * 2.0 * G * 0.7 / inertia - G
    np.testing.assert_allclose(linear.C, [[slope, 0.0]] * 3, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(linear.D, [[-1.5 / inertia]] * 3, rtol=1e-10)


@pytest.mark.parametrize("angle", [0.8, -0.8])
def test_a_linear_model_knows_the_ends_of_a_range(angle):
    """Beyond its range, on both sides, a sensor shows no change; within it, rounded or not, the change of the angle."""
    sensors = [
        lm.Encoder(name="narrow", joint="hinge", range=0.5),
        lm.Encoder(name="wide", joint="hinge", range=1.0, resolution=0.1),
    ]
    model = pendulum(*sensors)
    linear = lg.linearise(model, model.state(q={"hinge": angle}), outputs=["narrow.angle", "wide.angle"])
    np.testing.assert_allclose(linear.C, [[0.0, 0.0], [1.0, 0.0]], atol=1e-14)


WRONG = {
    "place": (
        lambda: lm.Gyro(name="g", at="rod.top"),
        "Gyro 'g': at is 'top', which is no frame or node of body 'rod'. Did you mean 'tip'?",
    ),
    "body": (lambda: lm.Gyro(name="g", at="rot"), "Gyro 'g': 'rot' is not a body of the tree. Did you mean 'rod'?"),
    "pair": (lambda: lm.Gyro(name="g", at=3), 'Gyro \'g\': at is 3, expected "body", "body.frame", or a body and a'),
    "joint": (
        lambda: lm.Encoder(name="e", joint="hing"),
        "Encoder 'e': its joint 'hing' is not a joint of the tree. Did you mean 'hinge'?",
    ),
    "coordinate": (
        lambda: lm.Encoder(name="e", joint="hinge", coordinate=1),
        "Encoder 'e': coordinate is 1, expected 0: joint 'hinge' has 1 speed.",
    ),
    "speed": (lambda: lm.Tachometer(name="t", joint="hinge", speed=-1), "Tachometer 't': speed is -1, expected 0"),
    "rigid gauge": (
        lambda: lm.StrainGauge(name="s", a="rod", b="rod.tip"),
        "StrainGauge 's': a is 'rod', which is no node of a flexible body.\n  A gauge sits between nodes",
    ),
    "force": (lambda: lm.ForceTorque(name="f", joint="x"), "ForceTorque 'f': its joint 'x' is not a joint of the tree"),
    "force at": (
        lambda: lm.ForceTorque(name="f", joint="hinge", at="rod.x"),
        "ForceTorque 'f': at is 'x', which is no frame or node",
    ),
    "name": (lambda: lm.Gyro(name="rod", at="rod"), "the name 'rod' is used 2 times, expected once"),
    "no sensor": (lambda: "gyro", "tree 'tree': sensors has 'gyro', expected sensors"),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_a_sensor_that_leads_nowhere_is_named(make, message):
    with pytest.raises(ModelError) as error:
        pendulum(make())
    assert message in str(error.value)


ALONE = {
    "noise": (
        {"noise": 0.1},
        "Gyro 'g': noise is 0.1, but the sensor has no period.\n  White noise at every instant has no finite variance",
    ),
    "density": ({"noise_density": 0.1}, "Gyro 'g': noise_density is 0.1, but the sensor has no period."),
    "delay": ({"delay": 0.1}, "Gyro 'g': delay is 0.1, but the sensor has no period.\n  What is delayed are samples."),
    "both": (
        {"noise": 0.1, "noise_density": 0.1, "period": 1.0},
        "Gyro 'g': noise_density is 0.1, but the sensor has `noise` too.",
    ),
    "period": ({"period": -1.0}, "Gyro 'g': period is -1, must be > 0."),
    "offset": ({"offset": np.inf}, "Gyro 'g': offset is inf, must be finite."),
    "range": ({"range": 0.0}, "Gyro 'g': range is 0, must be > 0."),
    "resolution": ({"resolution": -0.1}, "Gyro 'g': resolution is -0.1, must be ≥ 0 and finite."),
    "shape": ({"resolution": (0.1, 0.2)}, "Gyro 'g': resolution is"),
    "seed": ({"seed": 0.5}, "Gyro 'g': seed is 0.5, expected a whole number from 0 to 4294967295."),
    "way": ({"period": 1e-9, "delay": 1.0}, "Gyro 'g': delay is 1, expected at most 100000 periods."),
}


@pytest.mark.parametrize(("fields", "message"), ALONE.values(), ids=ALONE)
def test_numbers_of_a_sensor_that_cannot_be(fields, message):
    with pytest.raises(ModelError) as error:
        lm.Gyro(name="g", at="rod", **fields)
    assert message in str(error.value)


def test_gauges_between_bodies_and_encoders_of_ball_joints_are_refused():
    a, b = (flexible_beam(nodes=["0", "6"]) for _ in range(2))
    b = lm.FlexibleBody(**{**{k: v for k, v in vars(b).items() if not k.startswith("_")}, "name": "jib"})
    joints = [
        lg.Fixed(name="one", parent="world", child="boom"),
        lg.Spherical(name="two", parent="boom", child="jib", at="6"),
    ]
    wrong = {
        "StrainGauge 's': b is on 'jib', but `a` is on 'boom'; expected two nodes of one body": lm.StrainGauge(
            name="s", a="boom.6", b="jib.6"
        ),
        "StrainGauge 's': b is 'boom.6', where `a` is": lm.StrainGauge(name="s", a="boom.6", b="boom.6"),
        "Encoder 's': joint is 'two', whose coordinates are an element of a group": lm.Encoder(name="s", joint="two"),
    }
    for message, sensor in wrong.items():
        with pytest.raises(ModelError) as error:
            lg.Tree([a, b], joints, sensors=[sensor]).compile()
        assert message in str(error.value)


def test_every_force_of_a_motion_is_in_what_a_sensor_shows():
    """A sensor is no part of the mechanics: with and without, accelerations have the same bits."""
    bare, seen = pendulum(), pendulum(lm.Accelerometer(name="a", at="rod"), lm.Gyro(name="g", at="rod"))
    state = bare.state(q={"hinge": 0.4}, v={"hinge": 1.0})
    assert np.array_equal(bare.ints, seen.ints)
    assert np.array_equal(bare.floats, seen.floats)
    assert dynamics.forward_dynamics(bare, state) == dynamics.forward_dynamics(seen, seen.state(state.q, state.v))
