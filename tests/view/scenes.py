"""Models and runs to look at, small enough for tests."""

from __future__ import annotations

import functools

import numpy as np

import liegeo as lg
from liegeo.flex import Material, beam, circle, flexible_body, rectangle, reduce, solid
from liegeo.model.constraints import Motion
from liegeo.model.forces import Actuator, PointForce, SpringDamper, Wheel
from liegeo.model.joints import Fixed, Free, Prismatic, Revolute, Spherical
from liegeo.model.shapes import Box, Cylinder, Mesh, Sphere

LIME = "#00ff00"
ALUMINIUM = Material(E=7e10, rho=2700.0, nu=0.33)


def pendulum_tree(**options):
    """Two rods on hinges; bodies without shapes."""
    upper = lg.Body("upper", 1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 5e-4), frames={"end": (0, 0, -1)})
    lower = lg.Body("lower", 0.7, com=(0, 0, -0.4), inertia=(0.04, 0.04, 4e-4), frames={"tip": (0, 0, -0.8)})
    joints = [
        Revolute(name="shoulder", parent="world", child="upper", axis=(0, 1, 0)),
        Revolute(name="elbow", parent="upper", child="lower", at="end", axis=(0, 1, 0)),
    ]
    return lg.Tree([upper, lower], joints, name="double pendulum", **options)


@functools.cache
def pendulum():
    model = pendulum_tree().compile()
    return lg.simulate(model, model.state(q={"shoulder": 2.0, "elbow": 0.6}), 3.0, output=0.02, progress=False)


def chain_tree(fidelity="full", stiffening=False):
    """Two flexible links, a payload on the second one's end."""
    bodies, joints, parent, at = [], [], "world", None
    for k, (length, section) in enumerate(((0.8, rectangle(0.03, 0.006)), (0.6, circle(0.008)))):
        name = f"link{k + 1}"
        reduction = reduce(beam(length, section, ALUMINIUM, 4, name=name), ["4"], n_modes=3, root="0")
        bodies.append(flexible_body(reduction, name, ["4"], damping=0.01, stiffening=stiffening))
        joints.append(Revolute(name=f"joint{k + 1}", parent=parent, child=name, at=at, axis=(0, 1, 0), damping=0.02))
        parent, at = name, "4"
    bodies.append(lg.Body("payload", 0.6, inertia=(1e-3,) * 3, shapes=[Sphere(radius=0.05, color="#c65d9b")]))
    joints.append(Fixed(name="grip", parent=parent, child="payload", at="4"))
    return lg.Tree(bodies, joints, name="flexible chain", fidelity=fidelity)


@functools.cache
def chain(fidelity="full", stiffening=False):
    model = chain_tree(fidelity, stiffening).compile()
    return lg.simulate(model, model.state(q={"joint1": -0.3, "joint2": 0.4}), 1.0, output=0.01, progress=False)


@functools.cache
def solid_arm(drawn="mesh"):
    """A block of solid elements on a hinge, and on its end a cube, as a mesh or as a box."""
    fe = solid.block(0.8, 0.06, 0.02, 6, 1, 1, E=1e9, kind="hex8", name="arm")
    for name, i in (("root", 0), ("end", 12)):
        fe = fe.rigid_link(name, [node for node in fe.names if node.startswith(f"{i},")])
    arm = flexible_body(reduce(fe, ["end"], n_modes=2, root="root"), "arm", ["end"], damping=0.02)
    corners = [(x, y, z) for x in (-0.08, 0.08) for y in (-0.08, 0.08) for z in (-0.08, 0.08)]
    # two triangles a side, seen from outside; corners are 4x + 2y + z
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    cube = {"mesh": Mesh(vertices=corners, triangles=triangles, color=LIME), "box": Box(size=(0.16,) * 3, color=LIME)}
    load = lg.Body("load", 0.2, inertia=(1e-3,) * 3, shapes=[cube[drawn]])
    joints = [
        Revolute(name="hinge", parent="world", child="arm", axis=(0, 1, 0), stiffness=40.0),
        Fixed(name="grip", parent="arm", child="load", at="end"),
    ]
    model = lg.Tree([arm, load], joints, name="solid arm").compile()
    return lg.simulate(model, None, 0.6, output=0.02, progress=False)


@functools.cache
def slider_crank():
    """A loop, an actuator, a load, a spring, a rotated joint frame; bodies with shapes."""
    turned = np.eye(4)
    turned[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    crank = lg.Body(
        "crank",
        0.3,
        com=(0.1, 0, 0),
        inertia=(1e-5, 1e-3, 1e-3),
        frames={"pin": (0.2, 0, 0)},
        shapes=[Box(size=(0.24, 0.02, 0.035), at=(0.1, 0, 0)), Cylinder(radius=0.03, length=0.03, at=turned)],
    )
    rod = lg.Body(
        "rod",
        0.4,
        com=(0.2, 0, 0),
        inertia=(1e-5, 8e-3, 8e-3),
        frames={"end": (0.45, 0, 0), "start": (-0.05, 0, 0)},
        shapes=[Mesh(vertices=[(-0.05, 0, 0), (0.45, 0, 0), (0.2, 0, 0.03)], triangles=[(0, 1, 2)], color="teal")],
    )
    slider = lg.Body("slider", 0.8, inertia=(1e-3,) * 3, shapes=[Box(size=(0.09, 0.07, 0.06))])
    joints = [
        Revolute(name="main", parent="world", child="crank", axis=(0, -1, 0)),
        Revolute(name="pin", parent="crank", child="rod", at="pin", child_at="start", axis=(0, -1, 0)),
        Prismatic(name="guide", parent="world", child="slider", axis=(1, 0, 0)),
    ]
    forces = [
        Actuator(name="motor", joint="main", gear=2.0, limit=1.0),
        PointForce(name="push", at="slider", force=(-8, 0, 0)),
        PointForce(name="twist", at="rod.end", torque=(0, 0.1, 0), axes="body"),
        SpringDamper(name="spring", a="slider", b=("world", (1.0, 0, 0)), stiffness=20.0, length=0.3),
    ]
    loops = [Revolute(name="wrist", parent="rod", child="slider", at="end", axis=(0, -1, 0))]
    tree = lg.Tree([crank, rod, slider], joints, loops=loops, forces=forces, name="slider-crank")
    model = tree.compile()
    start = lg.assemble(model, model.state(q={"main": 0.9, "pin": -1.2, "guide": 0.6}, v={"main": 8.0}))
    return lg.simulate(model, start, 0.5, inputs={"motor": 1.5}, output=0.01, progress=False)


@functools.cache
def satellite():
    """A free base, two flexible panels, a wheel."""
    hub = lg.Body("hub", 200.0, inertia=(40, 40, 45), shapes=[Box(size=(1.2, 1.2, 1.4))])
    bodies, joints = [hub], [Free(name="base", parent="world", child="hub")]
    for name, side in (("right", 1.0), ("left", -1.0)):
        fe = beam(5.0, rectangle(1.1, 0.02), Material(E=7e10, rho=200.0, nu=0.33), 6, name=name)
        bodies.append(flexible_body(reduce(fe, ["6"], n_modes=2, root="0"), name, ["6"], damping=0.005))
        place = np.diag([side, side, 1.0, 1.0])
        place[0, 3] = 0.6 * side
        joints.append(Fixed(name=f"{name}_drive", parent="hub", child=name, at=place))
    wheel = Wheel(name="wheel", body="hub", inertia=0.05, mass=5.0, axis=(0, 0, 1), at=(0, 0, 0.8))
    model = lg.Tree(bodies, joints, wheels=[wheel], gravity=(0, 0, 0), name="satellite").compile()
    start = model.state(v={"base": (0.02, 0.05, 0.3, 0, 0, 0)})
    return lg.simulate(model, start, 4.0, inputs={"wheel": 4.0}, output=0.05, progress=False)


@functools.cache
def driven():
    """A prescribed motion, a ball joint, a body that weighs nothing."""
    arm = lg.Body("arm", frames={"end": (0.5, 0, 0)})
    ball = lg.Body("ball", 1.0, com=(0, 0, -0.2), inertia=(1e-6,) * 3)
    joints = [
        Revolute(name="turn", parent="world", child="arm"),
        Spherical(name="hook", parent="arm", child="ball", at="end"),
    ]
    loops = [Motion(name="law", joint="turn", law=lambda t: (t**2, 2 * t, 2.0))]
    model = lg.Tree([arm, ball], joints, loops=loops, name="driven").compile()
    return lg.simulate(model, None, 0.5, output=0.05, progress=False)
