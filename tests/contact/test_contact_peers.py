"""Contacts beside Exudyn's, which has the same normal law, and beside MuJoCo's, where the law does not matter."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm

RADIUS, MASS, STIFFNESS = 0.05, 0.4, 1e6


def two_balls(**material):
    """Return a fixed ball and a free one above it."""
    body = lg.Body("ball", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
    ends = [lm.SphereSurface(name=f"skin of {place}", at=place, radius=RADIUS) for place in ("world", "ball")]
    contact = lm.Contact(name="knock", a=ends[0], b=ends[1], stiffness=STIFFNESS, **material)
    joints = [lm.Free(name="move", parent="world", child="ball")]
    return lg.Tree([body], joints, gravity=(0, 0, 0), forces=[contact]).compile()


def exudyn_balls(position, velocity, spin, restitution, friction):
    """Return velocity and angular velocity of the free ball after the impact, by Exudyn."""
    exu = pytest.importorskip("exudyn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import exudyn.utilities as eu

        mbs = exu.SystemContainer().AddSystem()
        ground = mbs.CreateGround(referencePosition=[0, 0, 0])
        ball = mbs.CreateRigidBody(
            inertia=eu.InertiaSphere(MASS, RADIUS),
            referencePosition=list(position),
            initialVelocity=list(velocity),
            initialAngularVelocity=list(spin),
            gravity=[0, 0, 0],
        )
        markers = [mbs.AddMarker(eu.MarkerBodyRigid(bodyNumber=number)) for number in (ground, ball)]
        memory = mbs.AddNode(eu.NodeGenericData(initialCoordinates=[0.1, 0, 0, 0], numberOfDataCoordinates=4))
        mbs.AddObject(
            eu.ObjectContactSphereSphere(
                markerNumbers=markers,
                nodeNumber=memory,
                spheresRadii=[RADIUS, RADIUS],
                contactStiffness=STIFFNESS,
                contactStiffnessExponent=1.5,
                restitutionCoefficient=restitution,
                impactModel=1,
                minimumImpactVelocity=1e-6,
                dynamicFriction=friction,
                frictionProportionalZone=1e-4,
            )
        )
        kinds = (exu.OutputVariableType.Velocity, exu.OutputVariableType.AngularVelocity)
        seen = [mbs.AddSensor(eu.SensorBody(bodyNumber=ball, outputVariableType=k, storeInternal=True)) for k in kinds]
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = 0.01, 40000
        settings.solutionSettings.writeSolutionToFile = False
        mbs.SolveDynamic(settings)
        return [mbs.GetSensorStoredData(sensor)[-1, 1:] for sensor in seen]


@pytest.mark.parametrize(
    ("offset", "spin", "friction"), [(0.0, (0, 0, 0), 0.0), (0.02, (0, 30.0, 10.0), 0.1)], ids=["straight", "oblique"]
)
def test_balls_part_as_exudyns_do(offset, spin, friction):
    """Exudyn's impact model 1 is k δⁿ (1 + 3 (1 − e)/2 · δ̇/v) with the speed v at first touch."""
    e, speed = 0.8, 2.0
    height = np.sqrt((2.0 * RADIUS) ** 2 - offset**2) + 1e-7
    closing = speed * height / (2.0 * RADIUS)
    model = two_balls(dissipation=1.5 * (1.0 - e) / closing, friction=friction, slip_speed=1e-5)
    start = model.state(q={"move": (1, 0, 0, 0, offset, 0, height)}, v={"move": (*spin, 0, 0, -speed)})
    run = lg.simulate(model, start, t_end=0.01, method="rkmk-54", rtol=1e-10, atol=1e-12, progress=False)
    velocity, turning = exudyn_balls((offset, 0, height), (0, 0, -speed), spin, e, friction)
    assert np.abs(run["ball.velocity"][-1] - velocity).max() < 1e-4 * speed
    assert np.abs(run["ball.angular_velocity"][-1] - turning).max() < 2e-3 * (1.0 + np.abs(turning).max())
    assert np.linalg.norm(velocity - np.array([0, 0, -speed])) > speed


SCENE = """
<mujoco><option timestep="1e-4" gravity="{gx} 0 {gz}" cone="elliptic" impratio="100" integrator="implicitfast"/>
<worldbody><geom type="plane" size="5 5 1" friction="{mu} 0 0" condim="3"/>
<body pos="0 0 {z}"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{j} {j} {j}"/>
<geom {geom} friction="{mu} 0 0" condim="3" solref="0.002 1"/></body></worldbody></mujoco>
"""


def mujoco_speed(geom, z, inertia, mu, gravity, speed, t_end):
    """Return velocity along x and angular velocity about y at the end, by MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    text = SCENE.format(gx=gravity[0], gz=gravity[2], mu=mu, z=z, j=inertia, geom=geom)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0] = speed
    while data.time < t_end:
        mujoco.mj_step(model, data)
    return data.qvel[0], data.qvel[4]


def test_a_ball_that_slides_and_rolls_moves_as_mujocos():
    mu, inertia = 0.2, 0.4 * 0.1**2
    body = lg.Body("ball", mass=1.0, inertia=(inertia,) * 3)
    plane, skin = lm.PlaneSurface(name="floor", at="world"), lm.SphereSurface(name="skin", at="ball", radius=0.1)
    contact = lm.Contact(
        name="c", a=plane, b=skin, stiffness=1e8, exponent=1.0, dissipation=10.0, friction=mu, slip_speed=1e-4
    )
    model = lg.Tree([body], [lm.Free(name="move", parent="world", child="ball")], forces=[contact]).compile()
    start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.1 - 9.81e-8)}, v={"move": (0, 0, 0, 1.0, 0, 0)})
    for t_end in (0.08, 0.3):
        run = lg.simulate(model, start, t_end=t_end, method="rosenbrock-32", rtol=1e-7, atol=1e-9, progress=False)
        other = mujoco_speed('type="sphere" size="0.1"', 0.1, inertia, mu, (0, 0, -9.81), 1.0, t_end)
        assert abs(run["ball.velocity"][-1, 0] - other[0]) < 3e-3
        assert abs(run["ball.angular_velocity"][-1, 1] - other[1]) < 3e-2


def test_a_box_slides_down_a_slope_as_mujocos():
    mu, angle, inertia = 0.3, 0.5, 0.01
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    body = lg.Body("box", mass=1.0, inertia=(inertia,) * 3)
    plane = lm.PlaneSurface(name="floor", at="world")
    skin = lm.BoxSurface(name="skin", at="box", size=(0.2, 0.2, 0.1))
    contact = lm.Contact(
        name="c", a=plane, b=skin, stiffness=1e6, exponent=1.0, dissipation=10.0, friction=mu, slip_speed=1e-4
    )
    joints = [lm.Free(name="move", parent="world", child="box")]
    model = lg.Tree([body], joints, gravity=gravity, forces=[contact]).compile()
    start = model.state(q={"move": (1, 0, 0, 0, 0, 0, 0.05)})
    run = lg.simulate(model, start, t_end=0.5, method="rosenbrock-32", rtol=1e-7, atol=1e-9, progress=False)
    other = mujoco_speed('type="box" size="0.1 0.1 0.05"', 0.05, inertia, mu, gravity, 0.0, 0.5)
    assert abs(run["box.velocity"][-1, 0] - other[0]) < 5e-3
    assert abs(other[0] - 9.81 * (np.sin(angle) - mu * np.cos(angle)) * 0.5) < 5e-3
