"""A bouncing ball and a block on a belt beside MuJoCo and Exudyn, and what differs between the three.

- MuJoCo's contact acts on accelerations: with `solref` negative it is a spring and a damper per mass that never pull.
  Its restitution is the same for all speeds.  Friction is held inside its cone by an optimiser; what sticks creeps.
- Exudyn's impact model 1 is Hunt and Crossley's force, whose dissipation belongs to the speed of each impact, so that
  its restitution hardly depends on the speed.  Its friction is linear below a small speed; that of its springs has
  bristles with a state that its solver changes between the steps.
- Ours has one dissipation for all impacts, so that slower ones lose less: `restitution` says how much.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import liegeo as lg
from liegeo import model as lm

G, MASS, RADIUS = 9.81, 0.4, 0.05


# ---- a ball


def test_a_ball_bounces_as_mujocos_until_the_laws_differ():
    """Both leave the first impact with e; then MuJoCo's keeps e, and ours loses less, both by closed forms."""
    mujoco = pytest.importorskip("mujoco")
    height, per_mass, damping = 0.2, 1e6, 100.0
    text = f"""<mujoco><option timestep="1e-5"/><worldbody><geom type="plane" size="5 5 1" condim="1"/>
    <body pos="0 0 {RADIUS + height}"><joint type="slide" axis="0 0 1"/>
    <geom type="sphere" size="{RADIUS}" mass="{MASS}" condim="1" solref="{-per_mass} {-damping}"
    solimp="0.9999 0.9999 0.001"/></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    z = np.empty(90000)
    for k in range(len(z)):
        mujoco.mj_step(theirs, data)
        z[k] = data.qpos[0] + height
    # a damper that never pulls: exp(−ζ/√(1 − ζ²) (π − atan2(2 ζ √(1 − ζ²), 1 − 2 ζ²)))
    zeta = 0.5 * damping / np.sqrt(per_mass)
    root = np.sqrt(1.0 - zeta**2)
    e = np.exp(-zeta / root * (np.pi - np.arctan2(2.0 * zeta * root, 1.0 - 2.0 * zeta**2)))
    speed = np.sqrt(2.0 * G * height)
    body = lg.Body("ball", mass=MASS, inertia=(4e-4, 4e-4, 4e-4))
    bounce = lm.Contact(
        name="bounce",
        a=lm.PlaneSurface(name="floor", at="world"),
        b=lm.SphereSurface(name="skin", at="ball", radius=RADIUS),
        stiffness=MASS * per_mass,
        exponent=1.0,
        restitution=e,
        impact_speed=speed,
    )
    joints = [lm.Prismatic(name="move", parent="world", child="ball", axis=(0, 0, 1))]
    model = lg.Tree([body], joints, forces=[bounce]).compile()
    times = np.linspace(0.0, 0.9, 90001)
    start = model.state(q={"move": RADIUS + height})
    options = {"method": "rkmk-54", "rtol": 1e-10, "atol": 1e-12, "progress": False}
    ours = lg.simulate(model, start, t_end=0.9, output=times, **options)["move.position"][1:] - RADIUS
    first = [x[(times[1:] > 0.21) & (times[1:] < 0.5)].max() for x in (z, ours)]
    second = [x[(times[1:] > 0.6) & (times[1:] < 0.82)].max() for x in (z, ours)]
    slower = lm.restitution(bounce.data()[2], e * speed)
    assert slower > e + 0.01
    for found, expected in zip((*first, *second), (e, e, e * e, e * slower), strict=True):
        # the weight acts through the impact, which lasts 3 ms: a few thousandths of the height
        assert abs(found / height - expected**2) < 5e-3
    assert abs(first[0] - first[1]) < 5e-3 * height
    assert second[1] - second[0] > 0.5 * height * e**2 * (slower**2 - e**2)


def exudyn_in_a_bowl(position, velocity, spin, hole, stiffness, restitution, friction, t_end):
    """Return place, velocity and angular velocity at the end of a ball in a hollow ball, by Exudyn."""
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
            gravity=[0, 0, -G],
        )
        mbs.AddObject(
            eu.ObjectContactSphereSphere(
                markerNumbers=[mbs.AddMarker(eu.MarkerBodyRigid(bodyNumber=number)) for number in (ball, ground)],
                nodeNumber=mbs.AddNode(
                    eu.NodeGenericData(initialCoordinates=[0.1, 0, 0, 0], numberOfDataCoordinates=4)
                ),
                spheresRadii=[RADIUS, hole],
                isHollowSphere1=True,
                contactStiffness=stiffness,
                contactStiffnessExponent=1.5,
                restitutionCoefficient=restitution,
                impactModel=1,
                minimumImpactVelocity=1e-6,
                dynamicFriction=friction,
                frictionProportionalZone=1e-4,
            )
        )
        kinds = ("Position", "Velocity", "AngularVelocity")
        seen = [
            mbs.AddSensor(
                eu.SensorBody(
                    bodyNumber=ball, outputVariableType=getattr(exu.OutputVariableType, k), storeInternal=True
                )
            )
            for k in kinds
        ]
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = t_end, 80000
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = t_end
        mbs.SolveDynamic(settings)
        return [mbs.GetSensorStoredData(sensor)[-1, 1:] for sensor in seen]


@pytest.mark.parametrize("friction", [0.0, 0.1])
def test_a_ball_that_falls_into_a_bowl_moves_as_exudyns(friction):
    hole, k, e, t_end = 0.5, 1e6, 0.8, 0.4
    position, velocity, spin = (0.1, 0, 0), (0, 0.3, 0), (0, 20.0, 5.0)
    # when and how fast it hits the bowl, from its flight
    t = np.linspace(0.0, 0.4, 400001)
    path = np.stack([0.1 + 0.0 * t, 0.3 * t, -0.5 * G * t**2])
    hit = np.argmax(np.linalg.norm(path, axis=0) > hole - RADIUS)
    speed = np.array([0.0, 0.3, -G * t[hit]]) @ path[:, hit] / (hole - RADIUS)
    body = lg.Body("ball", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
    contact = lm.Contact(
        name="c",
        a=lm.SocketSurface(name="bowl", at="world", radius=hole),
        b=lm.SphereSurface(name="skin", at="ball", radius=RADIUS),
        stiffness=k,
        dissipation=1.5 * (1.0 - e) / speed,
        friction=friction,
        slip_speed=1e-5,
    )
    model = lg.Tree([body], [lm.Free(name="move", parent="world", child="ball")], forces=[contact]).compile()
    start = model.state(q={"move": (1, 0, 0, 0, *position)}, v={"move": (*spin, *velocity)})
    run = lg.simulate(model, start, t_end=t_end, method="rkmk-54", rtol=1e-10, atol=1e-12, progress=False)
    theirs = exudyn_in_a_bowl(position, velocity, spin, hole, k, e, friction, t_end)
    assert np.abs(run["ball.position"][-1] - theirs[0]).max() < 3e-5
    assert np.abs(run["ball.velocity"][-1] - theirs[1]).max() < 3e-4
    assert np.abs(run["ball.angular_velocity"][-1] - theirs[2]).max() < 3e-3
    assert theirs[1][2] > 1.0


# ---- a block on a belt

SPRING, BELT, MU = 100.0, 0.2, 0.3


def ours_on_a_belt(times, **material):
    """Return the place of a block of 1 kg that a spring holds on a belt, beginning with the belt's speed."""
    bodies = [
        lg.Body("belt", mass=1e6, inertia=(1, 1, 1)),
        lg.Body("slide", mass=0.0, inertia=(0, 0, 0)),
        lg.Body("block", mass=1.0, inertia=(0.01, 0.01, 0.01)),
    ]
    joints = [
        lm.Prismatic(name="run", parent="world", child="belt", axis=(1, 0, 0)),
        lm.Prismatic(name="x", parent="world", child="slide", axis=(1, 0, 0), stiffness=SPRING),
        lm.Prismatic(name="z", parent="slide", child="block", axis=(0, 0, 1)),
    ]
    contact = lm.Contact(
        name="c",
        a=lm.PlaneSurface(name="top", at="belt"),
        b=lm.BoxSurface(name="box", at="block", size=(0.2, 0.2, 0.1)),
        stiffness=1e6,
        exponent=1.0,
        dissipation=5.0,
        friction=MU,
        **material,
    )
    model = lg.Tree(bodies, joints, forces=[contact]).compile()
    start = model.state(q={"z": 0.05 - G / 4e6}, v={"run": BELT, "x": BELT})
    options = {"method": "rosenbrock-32", "rtol": 1e-8, "atol": 1e-10, "progress": False}
    return lg.simulate(model, start, t_end=times[-1], output=times, **options)["x.position"]


def test_a_block_on_a_belt_moves_as_mujocos():
    """With one coefficient it goes with the belt until μ m g = k x, then swings with the amplitude v/ω for ever.

    MuJoCo has no static coefficient.
    """
    mujoco = pytest.importorskip("mujoco")
    step = 1e-4
    text = f"""<mujoco><option timestep="{step}" cone="elliptic" impratio="100" integrator="implicitfast"/><worldbody>
    <body pos="0 0 -0.05"><joint type="slide" axis="1 0 0"/>
    <geom type="box" size="5 1 .05" mass="1e6" friction="{MU} 0 0" condim="3"/></body>
    <body pos="0 0 .05"><joint type="slide" axis="1 0 0" stiffness="{SPRING}"/><joint type="slide" axis="0 0 1"/>
    <geom type="box" size=".1 .1 .05" mass="1" friction="{MU} 0 0" condim="3" solref="0.002 1"/></body>
    </worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qvel[:] = BELT, BELT, 0.0
    times, x = step * np.arange(1, 20001), np.empty(20000)
    for k in range(len(x)):
        mujoco.mj_step(theirs, data)
        x[k] = data.qpos[1]
    middle, omega = MU * G / SPRING, np.sqrt(SPRING)
    exact = np.where(
        times < middle / BELT, BELT * times, middle + BELT / omega * np.sin(omega * (times - middle / BELT))
    )
    assert np.abs(x - exact).max() < 5e-5
    for material in ({"slip_speed": 1e-4}, {"breakaway": 1e-5}):
        ours = ours_on_a_belt(np.append(0.0, times), **material)[1:]
        # of 49 mm: bristles and the small speed of friction round the corner off
        assert np.abs(ours - exact).max() < 2e-4
        assert np.abs(ours - x).max() < 2e-4


def test_a_block_sticks_and_slips_on_a_belt_as_exudyns():
    """Static friction 1.5 times that of sliding, bristles of a micrometre in both."""
    exu = pytest.importorskip("exudyn")
    t_end = 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import exudyn.utilities as eu

        mbs = exu.SystemContainer().AddSystem()
        markers = []
        for mass in (1.0, 1e6):
            node = mbs.AddNode(eu.Node1D(referenceCoordinates=[0], initialCoordinates=[0], initialVelocities=[BELT]))
            mbs.AddObject(eu.ObjectMass1D(physicsMass=mass, nodeNumber=node))
            markers.append(mbs.AddMarker(eu.MarkerNodeCoordinate(nodeNumber=node, coordinate=0)))
        ground = mbs.AddNode(eu.NodePointGround())
        still = mbs.AddMarker(eu.MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
        mbs.AddObject(eu.ObjectConnectorCoordinateSpringDamper(markerNumbers=[still, markers[0]], stiffness=SPRING))
        mbs.AddObject(
            eu.ObjectConnectorCoordinateSpringDamperExt(
                markerNumbers=markers[::-1],
                nodeNumber=mbs.AddNode(eu.NodeGenericData(initialCoordinates=[1, 0, 0], numberOfDataCoordinates=3)),
                fDynamicFriction=MU * G,
                fStaticFrictionOffset=0.5 * MU * G,
                stickingStiffness=1.5 * MU * G / 1e-5,
                stickingDamping=300.0,
                exponentialDecayStatic=1e-3,
            )
        )
        kind = exu.OutputVariableType.Coordinates
        sensor = mbs.AddSensor(eu.SensorNode(nodeNumber=0, outputVariableType=kind, storeInternal=True))
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = t_end, 20000
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = 1e-3
        mbs.SolveDynamic(settings)
        theirs = mbs.GetSensorStoredData(sensor)
    ours = ours_on_a_belt(theirs[:, 0], static=1.5 * MU, stribeck=1e-3, breakaway=1e-6)
    # three periods: break-away, which takes a hundredth of a millimetre, moves them by a thousandth
    assert np.abs(ours - theirs[:, 1]).max() < 1e-3
    first, sliding = 1.5 * MU * G / SPRING, MU * G / SPRING
    swing = np.hypot(first - sliding, BELT / np.sqrt(SPRING))
    assert abs(ours.max() - sliding - swing) < 0.03 * swing
    period = 2.0 * (first - sliding) / BELT + (2.0 * np.pi - 2.0 * np.arcsin((first - sliding) / swing)) / np.sqrt(
        SPRING
    )
    top = (ours[1:-1] > ours[:-2]) & (ours[1:-1] >= ours[2:]) & (ours[1:-1] > sliding)
    assert np.abs(np.diff(theirs[1:-1, 0][top]) - period).max() < 0.01 * period
