"""Elements on coordinates of joints beside closed forms, SciPy's integrators, and the balance that laws must keep."""

from __future__ import annotations

import numpy as np
import pytest
from examples import force_fields
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import PchipInterpolator
from scipy.linalg import expm
from scipy.optimize import brentq

import liegeo as lg
from liegeo import model as lm
from liegeo.analysis import equilibrium
from liegeo.errors import ModelError
from liegeo.kernels import joint_elements
from liegeo.kernels import layout as at

STEP = 1e-30


def tree(*forces, joints=("slide",), masses=(2.0,), gravity=0.0):
    """Bodies that slide along x, one behind another from the world, with forces on their joints."""
    bodies = [lm.Body(f"body {name}", mass=m, inertia=(1, 1, 1)) for name, m in zip(joints, masses, strict=True)]
    made = [lm.Prismatic(name=name, parent="world", child=f"body {name}", axis=(1, 0, 0)) for name in joints]
    return lm.Tree(bodies, made, forces=list(forces), gravity=(gravity, 0, 0)).compile()


def shafts(*forces, inertias=(0.5, 2.0), names=("motor", "load"), **options):
    """Discs that turn about x."""
    bodies = [lm.Body(f"disc {name}", mass=1.0, inertia=(J, J, J)) for name, J in zip(names, inertias, strict=True)]
    made = [lm.Revolute(name=name, parent="world", child=f"disc {name}", axis=(1, 0, 0)) for name in names]
    return lm.Tree(bodies, made, forces=list(forces), gravity=(0, 0, 0), **options).compile()


def run(model, q=None, v=None, t_end=1.0, step=1e-3, method="rkmk-4", **options):
    return lg.simulate(
        model, model.state(q=q, v=v), t_end, method=method, step=step, output="steps", progress=False, **options
    )


# ---- all laws


CLASSES = [cls for cls in lm.ALL_FORCES if issubclass(cls, lm.forces.JointForce)]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("seed", range(8))
def test_the_law_keeps_the_balance_of_power(cls, seed):
    """(2): the rate of the stored energy, by a complex step along the motion, is what comes in less what is lost."""
    made = cls(name="e", **force_fields(cls, joint="j", other="i"))
    F = np.array(made.data())
    rng = np.random.default_rng(seed)
    s, rate, first = rng.normal(size=3) * (0.6, 1.0, 1.0)
    x = np.array([2e6, 1e6]) * rng.uniform(0.5, 5.0, 2) if cls is lm.HydraulicCylinder else 0.01 * rng.normal(size=2)
    s = abs(s) if cls is lm.HydraulicCylinder else s
    # a multiplier opposes the motion, as what finds it sees to
    c = abs(rng.normal()) * np.sign(rate) if made.has_multiplier else rng.normal()
    law = joint_elements._law.py_func if hasattr(joint_elements._law, "py_func") else joint_elements._law

    def call(s, x):
        z = 0j
        return law(made.kind(), F, 0, (s + z, rate + z, first + z), (x[0] + z, x[1] + z), c + z)

    force, drag, rates, _, lost, gained, _ = call(s, x)
    rates = np.array(rates) * (np.arange(2) < made.n_states)
    moved = call(s + 1j * STEP * rate, x + 1j * STEP * rates)
    stored = moved[3].imag / STEP
    size = max(abs(stored), abs(force * rate), abs(lost), abs(gained), 1e-12)
    assert abs(stored - (force * rate + drag * first + gained - lost).real) < 1e-9 * size
    assert lost.real >= -1e-12 * size


def test_every_kind_is_covered():
    """The balance is tested for every kind that has a law."""
    kinds = {cls(name="e", **force_fields(cls, joint="j", other="i")).kind() for cls in CLASSES}
    kinds |= {lm.ForceCurve(name="e", joint="j", table=[(0, 0), (1, 1)]).kind()}
    assert kinds == set(range(len(at.JOINT_ELEMENT_KINDS.values)))


# ---- stops


@pytest.mark.parametrize("hertzian", [False, True])
@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_what_hits_a_stop_leaves_with_the_speed_of_the_closed_form(hertzian, speed):
    chi = 0.4
    stop = lm.Stop(name="wall", joint="slide", lower=-0.1, upper=0.2, stiffness=4e5, dissipation=chi, hertzian=hertzian)
    out = run(tree(stop), v={"slide": speed}, t_end=0.45 / speed, step=2e-5)
    most = min(speed, (1.0 - 1e-12) / chi)
    end = brentq(lambda w: chi * speed - np.log1p(chi * speed) + chi * w + np.log1p(-chi * w), 0.0, most)
    hit = np.flatnonzero(np.diff((out["wall.depth"] > 0.0).astype(int)) == -1)[0]
    assert np.isclose(-out["slide.speed"][hit + 1], end, rtol=2e-6)
    # pushes only, and never adds energy
    assert (out["wall.stop"] * np.sign(out["slide.position"]) >= 0.0).all()
    assert np.isclose(out.info.energy.dissipated, 1.0 * (speed**2 - end**2), rtol=1e-3)
    assert abs(out.info.energy.defect) < 1e-5 * speed**2


def test_a_stop_holds_a_load_where_its_spring_says():
    model = tree(lm.Stop(name="wall", joint="slide", upper=0.2, stiffness=1e4, dissipation=1.0), gravity=5.0)
    rest = equilibrium(model, model.state(q={"slide": 0.2005}))
    assert np.isclose(rest.q[0], 0.2 + 2.0 * 5.0 / 1e4, rtol=1e-9)


@pytest.mark.parametrize("method", ["generalised-alpha-0.8", "lie-bdf-2", "rosenbrock-3"])
def test_stiff_stops_are_passed_with_steps_of_a_millisecond(method):
    """A hammer between two stops so stiff that an impact lasts half a step: it stays there, and gains nothing."""
    wall = lm.Stop(name="wall", joint="slide", lower=-0.05, upper=0.05, stiffness=1e8, dissipation=0.3)
    out = run(tree(wall), v={"slide": 2.0}, t_end=0.5, step=1e-3, method=method)
    energy = np.array([lg.dynamics.balance(out.model, out.state(k)).energy for k in range(len(out.t))])
    assert abs(out["slide.position"]).max() < 0.0502
    assert energy.max() <= energy[0] * (1.0 + 1e-9)
    assert energy[-1] < 0.5 * energy[0]


# ---- gears


GEAR = {"ratio": 10.0, "stiffness": 2e3, "damping": 5.0}


def test_a_gear_turns_the_load_by_its_ratio():
    """Without backlash: the reduced system of two inertias, by its matrix exponential."""
    gear = lm.GearTrain(name="gear", joint="load", motor="motor", **GEAR)
    model = shafts(gear)
    out = run(model, v={"motor": 3.0}, t_end=0.5, step=2e-4)
    N, k, d = GEAR["ratio"], GEAR["stiffness"], GEAR["damping"]
    c = np.array([-1.0 / N, 1.0])
    M = np.diag([0.5, 2.0])
    A = np.block(
        [
            [np.zeros((2, 2)), np.eye(2)],
            [-np.linalg.solve(M, k * np.outer(c, c)), -np.linalg.solve(M, d * np.outer(c, c))],
        ]
    )
    exact = expm(0.5 * A) @ [0.0, 0.0, 3.0, 0.0]
    found = [out[f"{name}.{what}"][-1] for what in ("angle", "speed") for name in ("motor", "load")]
    assert np.allclose(found, exact, atol=1e-7)
    assert np.isclose(out["gear.deflection"][-1], exact[1] - exact[0] / N, atol=1e-8)


def test_backlash_under_a_sine_has_the_limit_cycle_of_an_independent_integration():
    """Motor torque 2 sin 6t: SciPy's Radau on equations written here, with its own events at the ends of the gap."""
    gap, N, k, d, onset = 0.04, 4.0, 400.0, 2.0, 0.001
    gear = lm.GearTrain(
        name="gear", joint="load", motor="motor", ratio=N, stiffness=k, damping=d, backlash=gap, onset=onset
    )
    model = shafts(gear, lm.Actuator(name="drive", joint="motor"))
    out = lg.simulate(
        model,
        t_end=3.0,
        inputs={"drive": lambda t: 2.0 * np.sin(6.0 * t)},
        rtol=1e-9,
        atol=1e-11,
        output=0.01,
        progress=False,
    )

    def rates(t, y):
        s, ds = y[1] - y[0] / N, y[3] - y[2] / N
        e = s - gap / 2 if s > gap / 2 else s + gap / 2 if s < -gap / 2 else 0.0
        torque = k * e + d * ds * abs(e) / (abs(e) + onset) if e else 0.0
        torque = torque if torque * e > 0.0 else 0.0
        return [y[2], y[3], (2.0 * np.sin(6.0 * t) + torque / N) / 0.5, -torque / 2.0]

    exact = solve_ivp(
        rates, (0.0, 3.0), [0.0, 0.0, 0.0, 0.0], "DOP853", rtol=1e-11, atol=1e-13, max_step=2e-3, t_eval=out.t
    )
    assert np.allclose(out["load.angle"], exact.y[1], atol=2e-5)
    assert np.allclose(out["motor.angle"], exact.y[0], atol=2e-5)
    # it rattles: both flanks are touched, and the gap is crossed
    s = out["gear.deflection"]
    assert s.min() < -gap / 2 < gap / 2 < s.max()
    assert (abs(s) < gap / 4).any()


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_efficiency_is_the_share_that_goes_through(direction):
    """In steady motion: forward the load gets η of the motor's power, backward the motor gets η of the load's."""
    eta, N = 0.8, 5.0
    gear = lm.GearTrain(name="gear", joint="load", motor="motor", ratio=N, stiffness=1e4, damping=10.0, efficiency=eta)
    model = shafts(gear)
    # the motor lifts (or lowers) a load of −20 N m
    deflection = -20.0 / 1e4 / (eta if direction > 0.0 else 1.0 / eta)
    state = model.state(q={"load": deflection}, v={"load": direction, "motor": N * direction})
    motor = 20.0 / N / (eta if direction > 0.0 else 1.0 / eta)
    found = lg.forward_dynamics(model, state, {"motor": motor, "load": -20.0})
    assert np.allclose(found, 0.0, atol=1e-9)


# ---- motors


def motor_model(**more):
    motor = lm.Motor(name="m", joint="load", constant=0.05, resistance=2.0, gear=20.0, inertia=1e-4, **more)
    return shafts(motor, inertias=(0.3,), names=("load",))


def test_a_motor_without_inductance_runs_up_exponentially():
    model = motor_model()
    out = run(model, t_end=0.4, inputs={"m": 12.0})
    J, kappa = 0.3 + 400.0 * 1e-4, 1.0
    tau = J * 2.0 / kappa**2
    assert np.allclose(out["load.speed"], 12.0 / kappa * (1.0 - np.exp(-out.t / tau)), atol=1e-9)
    assert np.allclose(out["m.current"], (12.0 - kappa * out["load.speed"]) / 2.0)
    assert np.allclose(out["m.power"], out["m.torque"] * out["load.speed"])


def test_a_motor_with_inductance_is_its_linear_system():
    model = motor_model(inductance=0.05)
    out = run(model, t_end=0.4, inputs={"m": 12.0}, step=1e-3)
    J, kappa, R, L = 0.34, 1.0, 2.0, 0.05
    A = np.array([[0.0, kappa / J], [-kappa / L, -R / L]])
    exact = np.array([np.linalg.solve(A, (expm(t * A) - np.eye(2)) @ [0.0, 12.0 / L]) for t in out.t[::50]])
    assert np.allclose(out["load.speed"][::50], exact[:, 0], atol=1e-6)
    assert np.allclose(out["m.current"][::50], exact[:, 1], atol=1e-6)
    assert np.allclose(out["m.winding"], out["m.current"])
    assert abs(out.info.energy.defect) < 1e-6


def test_the_voltage_is_limited_and_the_work_is_that_of_the_supply():
    out = run(motor_model(limit=6.0), t_end=1.0, inputs={"m": 48.0})
    assert np.allclose(out["m.voltage"], 6.0)
    work = np.trapezoid(6.0 * out["m.current"], out.t)
    assert np.isclose(out.info.energy.work, work, rtol=1e-5)


def test_a_motor_that_is_moved_as_prescribed_accounts_for_the_supply():
    """Held speed: the supply gives U i, the winding dissipates R i², the prescribed motion takes the rest."""
    motor = lm.Motor(name="m", joint="load", constant=0.05, resistance=2.0, gear=20.0)
    body = lm.Body("disc", mass=1.0, inertia=(0.3, 0.3, 0.3))
    hinge = lm.Revolute(name="load", parent="world", child="disc", axis=(1, 0, 0))
    tree_ = lm.Tree(
        [body], [hinge], forces=[motor], loops=[lm.Motion(name="turn", joint="load", law=lambda t: (2 * t, 2, 0))]
    )
    model = tree_.compile()
    start = lg.assemble(model)
    out = lg.simulate(model, start, 1.0, method="rkmk-4", step=0.01, inputs={"m": 12.0}, progress=False)
    current = (12.0 - 2.0) / 2.0
    assert np.isclose(out.info.energy.dissipated, 2.0 * current**2, rtol=1e-9)
    # supply 60 W, and the prescribed motion takes 1 N m/A × 5 A × 2 rad/s
    assert np.isclose(out.info.energy.work, 12.0 * current - current * 2.0, rtol=1e-9)


def test_a_motor_with_a_lag_that_is_moved_as_prescribed():
    """The account of a held motion asks for passive forces alone: what the lag gives to its actuator is none."""
    motor = lm.Actuator(name="m", joint="load", lag=0.2)
    body = lm.Body("disc", mass=1.0, inertia=(0.3, 0.3, 0.3))
    hinge = lm.Revolute(name="load", parent="world", child="disc", axis=(1, 0, 0), damping=0.4)
    turn = lm.Motion(name="turn", joint="load", law=lambda t: (2 * t, 2, 0))
    model = lm.Tree([body], [hinge], forces=[motor], loops=[turn]).compile()
    out = lg.simulate(model, lg.assemble(model), 1.0, method="rkmk-4", step=0.01, inputs={"m": 5.0}, progress=False)
    # motor and prescribed motion together do what the damper takes
    assert np.isclose(out.info.energy.work, 0.4 * 2.0**2, rtol=1e-9)
    assert np.isclose(out.info.energy.dissipated, 0.4 * 2.0**2, rtol=1e-9)


# ---- cylinder, belt, cable


CYLINDER = {
    "area": 2e-3,
    "rod_area": 8e-4,
    "stroke": 0.5,
    "dead_volume": 1e-4,
    "supply": 15e6,
    "tank": 2e5,
    "flow": 5e-4,
    "drop": 3.5e6,
}


def test_a_closed_cylinder_is_a_spring_of_oil():
    cylinder = lm.HydraulicCylinder(name="c", joint="slide", bulk_modulus=1.2e9, **CYLINDER)
    model = tree(cylinder, masses=(500.0,))
    linear = lg.linearise(model, model.state(q={"slide": 0.2}), inputs=[], outputs=[])
    frequencies = np.abs(np.linalg.eigvals(linear.A).imag)
    V_A, V_B = 1e-4 + 2e-3 * 0.2, 1e-4 + 1.2e-3 * 0.3
    exact = np.sqrt(1.2e9 * ((2e-3) ** 2 / V_A + (1.2e-3) ** 2 / V_B) / 500.0)
    assert np.isclose(frequencies.max(), exact, rtol=1e-9)


def test_a_cylinder_moves_at_the_speed_of_its_valve():
    """Without load the pressures balance, A_A p_A = A_B p_B, and the flows through both edges belong to one speed."""
    cylinder = lm.HydraulicCylinder(name="c", joint="slide", **CYLINDER)
    model = tree(cylinder, masses=(20.0,))
    out = lg.simulate(
        model, t_end=0.4, inputs={"c": 0.3}, method="rosenbrock-3", step=1e-4, output=0.01, progress=False
    )
    A, B = 2e-3, 1.2e-3

    def edge(dp):
        return 0.3 * 5e-4 * np.sqrt(dp / 3.5e6)

    def residual(p):
        return edge(15e6 - p) / A - edge(p * A / B - 2e5) / B

    p = brentq(residual, 1e6, 8.9e6)
    speed = edge(15e6 - p) / A
    assert np.isclose(out["slide.speed"][-1], speed, rtol=2e-3)
    assert np.isclose(out["c.pressure_a"][-1], p, rtol=2e-3)
    assert np.isclose(out["c.flow"][-1], A * speed, rtol=2e-3)
    assert abs(out.info.energy.defect) < 1e-3 * out.info.energy.work


def test_a_belt_is_a_spring_until_a_strand_is_slack():
    belt = lm.Belt(
        name="b", joint="motor", driven="load", radius=0.05, driven_radius=0.1, stiffness=1e4, pretension=50.0
    )
    model = shafts(belt)
    c = np.array([0.05, -0.1])
    out = run(model, v={"motor": 1.0}, t_end=1.0, step=2e-4)
    omega = np.sqrt(2e4 * (c @ np.linalg.solve(np.diag([0.5, 2.0]), c)))
    s = 0.05 * out["motor.angle"] - 0.1 * out["load.angle"]
    assert np.allclose(s, 0.05 / omega * np.sin(omega * out.t), atol=1e-8)
    assert np.allclose(out["b.tight"] - out["b.slack"], 2e4 * s, atol=1e-6)
    # twice the deflection at which one is slack: the other alone holds
    state = model.state(q={"motor": 2.0 * 50.0 / 1e4 / 0.05})
    assert np.allclose(lg.forward_dynamics(model, state), [-0.05 * 150.0 / 0.5, 0.1 * 150.0 / 2.0])


def test_a_cable_pulls_and_does_not_push():
    cable = lm.Cable(name="rope", joint="motor", driven="load", radius=0.2, stiffness=1e3, slack=0.05)
    bodies = [lm.Body("drum", mass=1.0, inertia=(1, 1, 1)), lm.Body("crate", mass=3.0, inertia=(1, 1, 1))]
    joints = [
        lm.Revolute(name="motor", parent="world", child="drum", axis=(1, 0, 0)),
        lm.Prismatic(name="load", parent="world", child="crate", axis=(1, 0, 0)),
    ]
    model = lm.Tree(bodies, joints, forces=[cable], gravity=(0, 0, 0)).compile()
    slack = model.state(q={"motor": 0.2})
    assert np.allclose(lg.forward_dynamics(model, slack), 0.0)
    tight = model.state(q={"motor": 1.0, "load": 0.1})
    pull = 1e3 * (0.2 - 0.1 - 0.05)
    assert np.allclose(lg.forward_dynamics(model, tight), [-0.2 * pull / 1.0, pull / 3.0])


# ---- curves

TABLE = [(-0.2, -30.0), (-0.1, -4.0), (0.0, 0.0), (0.15, 6.0), (0.3, 40.0)]


def test_a_curve_of_the_position_is_the_interpolation_of_scipy_and_conservative():
    model = tree(lm.ForceCurve(name="spring", joint="slide", table=TABLE))
    pchip = PchipInterpolator(*zip(*TABLE, strict=True))
    for x in (-0.19, -0.05, 0.02, 0.2, 0.299):
        state = model.state(q={"slide": x})
        assert np.isclose(lg.forward_dynamics(model, state)[0], -pchip(x) / 2.0, rtol=1e-12)
        assert np.isclose(lg.dynamics.balance(model, state).elastic, quad(pchip, 0.0, x, epsabs=1e-13)[0], atol=1e-10)
    # straight beyond its end, with the slope that it has there
    slope = float(pchip.derivative()(0.3))
    beyond = model.state(q={"slide": 0.4})
    assert np.isclose(lg.forward_dynamics(model, beyond)[0], -(40.0 + 0.1 * slope) / 2.0, rtol=1e-12)
    out = run(model, v={"slide": 1.5}, t_end=2.0)
    assert abs(out.info.energy.defect) < 1e-4 * 2.25


def test_a_curve_of_the_speed_dissipates():
    table = [(-1.0, -8.0), (-0.1, -3.0), (0.0, 0.0), (0.1, 3.0), (1.0, 8.0)]
    model = tree(lm.ForceCurve(name="damper", joint="slide", table=table, over="speed", smooth=False))
    state = model.state(v={"slide": 0.55})
    assert np.isclose(lg.forward_dynamics(model, state)[0], -(3.0 + 5.0 * 0.5) / 2.0)
    out = run(model, v={"slide": 0.8}, t_end=0.3)
    assert np.isclose(out.info.energy.dissipated, out.info.energy.start - out.info.energy.end, rtol=1e-5)


# ---- what is wrong


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: lm.Stop(name="s", joint="slide", stiffness=1.0), "neither lower nor upper"),
        (lambda: lm.Stop(name="s", joint="slide", stiffness=1.0, lower=1.0, upper=0.5), "must be above lower"),
        (lambda: lm.GearTrain(name="g", joint="a", motor="a", ratio=2.0, stiffness=1.0), "expected another joint"),
        (lambda: lm.GearTrain(name="g", joint="a", motor="b", ratio=0.0, stiffness=1.0), "not zero"),
        (
            lambda: lm.GearTrain(name="g", joint="a", motor="b", ratio=2.0, stiffness=1.0, efficiency=1.2),
            "efficiency is 1.2, must be > 0 and at most 1",
        ),
        (lambda: lm.HydraulicCylinder(name="c", joint="a", **CYLINDER | {"rod_area": 3e-3}), "must be less than area"),
        (lambda: lm.ForceCurve(name="c", joint="a", table=[(0, 1), (0, 2)]), "must be above the one before"),
        (lambda: lm.ForceCurve(name="c", joint="a", table=[(0, 1, 2)]), "at least two pairs"),
        (
            lambda: lm.ForceCurve(name="c", joint="a", table=[(0, 1), (1, 2)], over="time"),
            "expected 'position' or 'speed'",
        ),
    ],
)
def test_wrong_numbers_are_refused(make, words):
    with pytest.raises(ModelError, match=words):
        make()


def test_a_stop_needs_a_coordinate_and_a_gear_its_joints():
    ball = lm.Spherical(name="ball", parent="world", child="b")
    body = lm.Body("b", mass=1.0, inertia=(1, 1, 1))
    stop = lm.Stop(name="s", joint="ball", stiffness=1.0, upper=1.0)
    with pytest.raises(ModelError, match=r"'s'.*joint 'ball', a Spherical, which is the rate of no coordinate"):
        lm.Tree([body], [ball], forces=[stop]).compile()
    gear = lm.GearTrain(name="g", joint="slide", motor="moter", ratio=2.0, stiffness=1.0)
    with pytest.raises(ModelError, match=r"'moter' is not a joint of the tree"):
        tree(gear)
