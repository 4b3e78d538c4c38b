"""Bad models and bad states: each message names the thing, says what was expected and what to do."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from examples import unreached
from scipy.interpolate import CubicSpline

import liegeo
from liegeo import dynamics
from liegeo import model as lm
from liegeo.errors import DynamicsError, InputError, LiegeoError, ModelError
from liegeo.kernels import layout
from liegeo.model import programs
from liegeo.model.about import about_fields
from liegeo.model.controllers import sampled_in
from liegeo.model.forces import JointForce
from liegeo.model.formulas import Formula

N = 2
MODES = 0.1 * np.arange(6 * N).reshape(6, N)


def body(name="a", **changes):
    return lm.Body(name, **{"mass": 1.0, "inertia": (0.1, 0.1, 0.1), **changes})


def hinge(name="j", parent="world", child="a", **more):
    return lm.Revolute(name=name, parent=parent, child=child, **more)


def beam(**changes):
    """A flexible body from two pieces, with one field of its record changed."""
    pieces = [
        lm.LumpedNode(np.zeros((6, N)), mass=1.0, inertia=(0.1, 0.1, 0.1), name="root"),
        lm.LumpedNode(MODES + np.eye(6)[:, 2:4], (1, 0, 0), 1.0, inertia=(0.1, 0.1, 0.1), name="tip"),
    ]
    made = lm.FlexibleBody.from_nodes("beam", pieces, 100.0 * np.eye(N))
    record = {name: getattr(made, name) for name in made.__dataclass_fields__}
    return lm.FlexibleBody(**{**record, **changes})


ON_ROOT = {"child": "beam", "child_at": "root"}


def drifting():
    """A flexible body with a mode that moves it all as one."""
    shift = np.eye(6)[:, [3]]
    pieces = [
        lm.LumpedNode(shift, (x, 0, 0), 1.0, inertia=(0.1, 0.1, 0.1), name=n) for n, x in (("root", 0), ("tip", 1))
    ]
    return lm.FlexibleBody.from_nodes("beam", pieces, [[100.0]])


def tree(*parts, **options):
    bodies = [p for p in parts if isinstance(p, lm.Body | lm.FlexibleBody)]
    return lm.Tree(bodies, [p for p in parts if isinstance(p, lm.Joint)], **options)


def own_force(base=lm.SpringDamper, given=None, **members):
    """A force element of a class `Own` with other members than its base has."""
    return type("Own", (base,), members)(**(given or {"name": "f", "a": "world", "b": "a"}))


def pendulum():
    return tree(body(), hinge()).compile()


def rigid():
    """A model that cannot move."""
    return tree(body(), lm.Fixed(name="f", parent="world", child="a")).compile()


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Silent(lm.Joint):
    """A joint whose field says nothing about itself."""

    lead: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Unnamed(lm.Revolute):
    """A joint whose coordinate has no name."""

    coordinates: ClassVar = ()


REFUSED = {
    "an expression that needs too many registers": (
        lambda: too_long(),
        "needs 9 numbers at once, expected at most 8; make it shorter",
    ),
    "a class that says nothing about a field": (
        lambda: about_fields(Silent),
        "class 'Silent': lead says nothing about itself, expected a physical dimension and a description.",
        "see liegeo/model/about.py",
    ),
    # bodies
    "negative mass": (lambda: body(mass=-1.0), "body 'a': mass is -1, must be ≥ 0."),
    "negative inertia": (
        lambda: body(inertia=(0.1, -0.2, 0.1)),
        "body 'a': inertia has the principal moment -0.2, must be ≥ 0.",
        "about the centre of mass",
    ),
    "shapes": (lambda: body(shapes=["box"]), "body 'a': shapes has 'box', expected Box, Sphere, Cylinder or Mesh."),
    "box": (lambda: lm.Box(size=(1, 0, 1)), "Box: size[1] is 0, must be > 0."),
    "mesh without integers": (
        lambda: lm.Mesh(vertices=np.zeros((3, 3)), triangles=[[0.0, 1.0, 2.0]]),
        "Mesh: triangles have shape (1, 3) of float64, expected (k, 3) integers.",
    ),
    "mesh without vertices": (
        lambda: lm.Mesh(vertices=np.zeros((3, 3)), triangles=[[0, 1, 3]]),
        "Mesh: triangles refer to vertices 0 to 3, expected 0 to 2.",
    ),
    "skin": (
        lambda: beam(skin=lm.Skin(np.zeros((3, 3)), np.zeros((3, 3, 7)), [[0, 1, 2]])),
        "its skin has 7 modes, expected 2 as in M_e.",
    ),
    "triangle": (
        lambda: body(inertia=(0.1, 0.1, 0.5)),
        "body 'a': principal moments 0.1, 0.1, 0.5 break the triangle inequality",
        "must not exceed the sum of the others (0.2)",
    ),
    "not symmetric": (lambda: body(inertia=np.triu(np.ones((3, 3)))), "body 'a': inertia is not symmetric"),
    "com of text": (lambda: body(com="abc"), "body 'a': com is 'abc', expected numbers of shape (3,)."),
    "com of four": (lambda: body(com=(1, 2, 3, 4)), "body 'a': com has shape (4,), expected (3,)."),
    "com of nan": (lambda: body(com=(1, np.nan, 3)), "body 'a': com holds nan, expected finite numbers."),
    "mass of text": (lambda: body(mass="3 kg"), "body 'a': mass is '3 kg', expected a number."),
    "mass of two": (lambda: body(mass=(1.0, 2.0)), "body 'a': mass is (1.0, 2.0), expected a number."),
    "inertia of text": (lambda: body(inertia="abc"), "body 'a': inertia is 'abc', expected a 3×3 matrix, its diagonal"),
    "inertia of two": (lambda: body(inertia=(1, 2)), "body 'a': inertia has shape (2,), expected a 3×3 matrix"),
    "a shape without a list": (
        lambda: body(shapes=lm.Sphere(radius=1.0)),
        "body 'a': shapes is Sphere(",
        "expected a list of Box",
    ),
    "radius of text": (lambda: lm.Sphere(radius="1"), "Sphere: radius is '1', expected a number."),
    "frame of two numbers": (
        lambda: body(frames={"tip": (1, 2)}),
        "body 'a': frame 'tip' has shape (2,), expected a position of three numbers, or a pose as a 4×4 matrix.",
    ),
    "frame of nan": (lambda: body(frames={"tip": (1, 2, np.nan)}), "frame 'tip' holds nan, expected finite numbers."),
    "frame": (
        lambda: body(frames={"tip": 2.0 * np.eye(4)}),
        "body 'a': frame 'tip' is not a pose",
        "its last row is [0.0, 0.0, 0.0, 2.0]",
    ),
    # flexible bodies
    "modal mass of one number": (lambda: beam(M_e=1.0), "flexible body 'beam': M_e has shape (), expected (n, n)"),
    "modes and nodes": (
        lambda: beam(nodes={"tip": lm.Node(np.eye(4), np.zeros((6, 3)))}),
        "flexible body 'beam', node 'tip': modes has shape (6, 3), expected (6, 2).",
    ),
    "second order": (
        lambda: beam(nodes={"tip": lm.Node(np.eye(4), MODES, np.arange(24.0).reshape(6, N, N))}),
        "flexible body 'beam', node 'tip': second is not symmetric in its two mode indices.",
    ),
    "weightless": (lambda: beam(mass=0.0), "flexible body 'beam': mass is 0, must be > 0."),
    "modal mass": (
        lambda: beam(M_e=np.diag([1.0, 0.0])),
        "flexible body 'beam': the modal mass M_e is not symmetric positive definite (smallest eigenvalue 0)",
        "must be left out",
    ),
    "stiffness": (lambda: beam(K=[[1.0, 2.0], [0.0, 1.0]]), "flexible body 'beam': K is not symmetric."),
    "C_t1": (lambda: beam(C_t1=np.arange(12.0).reshape(3, N, N)), "flexible body 'beam': C_t1 is not symmetric"),
    "J_2": (
        lambda: beam(J_2=np.arange(N * N * 9.0).reshape(N, N, 3, 3)),
        "flexible body 'beam': J_2 is not symmetric in its two mode indices.",
    ),
    "J_1 in its axes": (
        lambda: beam(J_1=np.arange(N * 9.0).reshape(N, 3, 3)),
        "flexible body 'beam': J_1 is not symmetric in its last two indices, as an inertia is.",
    ),
    "J_2 in its axes": (
        lambda: beam(J_2=np.broadcast_to(np.arange(9.0).reshape(3, 3), (N, N, 3, 3))),
        "flexible body 'beam': J_2 is not symmetric in its last two indices, as an inertia is.",
    ),
    "small J_2": (
        lambda: beam(J_2=1e-12 * np.arange(N * N * 9.0).reshape(N, N, 3, 3)),
        "flexible body 'beam': J_2 is not symmetric in its two mode indices.",
    ),
    "small C_t1": (
        lambda: beam(C_t1=1e-12 * np.arange(12.0).reshape(3, N, N)),
        "flexible body 'beam': C_t1 is not symmetric",
    ),
    "small modal mass": (
        lambda: beam(M_e=1e-10 * np.array([[1.0, 0.5], [0.0, 1.0]])),
        "flexible body 'beam': the modal mass M_e is not symmetric positive definite",
    ),
    "mass of a flexible body": (lambda: beam(mass="x"), "flexible body 'beam': mass is 'x', expected a number."),
    "indefinite": (
        lambda: beam(inertia=(1.0, 2.0, -3.0)),
        "flexible body 'beam', about its centre of mass: inertia has the principal moment -",
        "Give the inertia about the frame's origin",
    ),
    "triangle of a flexible body": (
        lambda: beam(inertia=(1.0, 2.0, 30.0)),
        "flexible body 'beam', about its centre of mass: principal moments",
        "break the triangle inequality",
    ),
    "inertia about the centre of mass": (
        lambda: beam(inertia=(0.2, 0.2, 0.2)),
        "flexible body 'beam', about its centre of mass: inertia has the principal moment -0.3, must be ≥ 0.",
    ),
    "nodes of one name": (
        lambda: lm.FlexibleBody.from_nodes(
            "beam", [lm.LumpedNode(MODES, mass=1.0, name="x"), lm.LumpedNode(MODES, mass=1.0, name="x")], np.eye(N)
        ),
        "flexible body 'beam': 2 nodes are called 'x', expected one.",
    ),
    "a frame with the name of a node": (
        lambda: beam(frames={"tip": (1, 0, 0)}),
        "flexible body 'beam': 'tip' names a node and a frame, expected one of them.",
    ),
    "one mode as six numbers": (
        lambda: lm.FlexibleBody.from_nodes("beam", [lm.LumpedNode(np.ones(6), mass=1.0, name="x")], [[1.0]]),
        "flexible body 'beam', node 'x': modes has shape (6,), expected six rows and a column for each mode.",
    ),
    "modes of text": (
        lambda: lm.FlexibleBody.from_nodes("beam", [lm.LumpedNode("abc", mass=1.0)], [[1.0]]),
        "flexible body 'beam', node '0': modes is 'abc', expected six rows",
    ),
    "mass of a node": (
        lambda: lm.FlexibleBody.from_nodes("beam", [lm.LumpedNode(MODES, mass="x")], np.eye(N)),
        "flexible body 'beam', node '0': mass is 'x', expected a number.",
    ),
    "no nodes": (lambda: lm.FlexibleBody.from_nodes("beam", [], np.eye(1)), "flexible body 'beam': has no nodes"),
    "nodes that differ": (
        lambda: lm.FlexibleBody.from_nodes(
            "beam", [lm.LumpedNode(MODES, mass=1.0), lm.LumpedNode(MODES[:, :1], mass=1.0, name="x")], np.eye(N)
        ),
        "flexible body 'beam', node 'x': modes has shape (6, 1), expected (6, 2).",
    ),
    # joints
    "zero axis": (
        lambda: tree(body(), hinge(axis=(0, 0, 0))).compile(),
        "joint 'j' (world → a): axis is zero, expected a direction.",
    ),
    "bare joint": (
        lambda: lm.Joint(name="j", parent="world", child="a"),
        "joint 'j' (world → a): is abstract; use one of Fixed, Revolute,",
    ),
    "spring of a joint that does not move": (
        lambda: tree(body(), lm.Fixed(name="f", parent="world", child="a", stiffness=3)).compile(),
        "joint 'f' (world → a): stiffness is 3, but the joint does not move.",
        "Leave it out",
    ),
    "pitch of nan": (
        lambda: tree(body(), lm.Helical(name="h", parent="world", child="a", pitch=np.nan)).compile(),
        "joint 'h' (world → a): pitch is nan, expected a finite number",
    ),
    "pitch of text": (
        lambda: tree(body(), lm.Helical(name="h", parent="world", child="a", pitch="x")).compile(),
        "joint 'h' (world → a): pitch is 'x', expected a number.",
    ),
    "stiffness of text": (
        lambda: tree(body(), hinge(stiffness="stiff")).compile(),
        "joint 'j' (world → a): stiffness is 'stiff', expected one number or 1.",
    ),
    "rest of text": (
        lambda: tree(body(), hinge(rest="x")).compile(),
        "joint 'j' (world → a): rest is 'x', expected one number, or 1 coordinates as in q.",
    ),
    "friction speed of text": (
        lambda: tree(body(), hinge(friction_speed="x")).compile(),
        "joint 'j' (world → a): friction_speed is 'x', expected a number.",
    ),
    "subspace of text": (
        lambda: tree(body(), lm.Screws(name="s", parent="world", child="a", subspace="xyz")).compile(),
        "joint 's' (world → a): subspace is 'xyz', expected one to six rows of six numbers.",
    ),
    "place of text": (
        lambda: tree(body(), hinge(at=("a", "b", "c"))).compile(),
        "joint 'j' (world → a): at is ('a', 'b', 'c'), expected a position of three numbers",
    ),
    "place of two numbers": (
        lambda: tree(body(), hinge(at=(1, 2))).compile(),
        "joint 'j' (world → a): at has shape (2,), expected a position of three numbers, or a pose as a 4×4 matrix.",
    ),
    "parallel axes": (
        lambda: tree(body(), lm.Universal(name="u", parent="world", child="a", axes=np.ones((2, 3)))).compile(),
        "joint 'u' (world → a): its two axes are parallel",
    ),
    "shape of a subspace": (
        lambda: tree(body(), lm.Screws(name="s", parent="world", child="a", subspace=np.ones((2, 5)))).compile(),
        "joint 's' (world → a): subspace has shape (2, 5), expected (n, 6) with n from 1 to 6.",
    ),
    "dependent screws": (
        lambda: tree(body(), lm.Screws(name="s", parent="world", child="a", subspace=np.ones((2, 6)))).compile(),
        "joint 's' (world → a): the screws of its subspace depend on each other.",
    ),
    "damping": (lambda: tree(body(), hinge(damping=-1.0)).compile(), "joint 'j' (world → a): damping is -1, must be"),
    "two stiffnesses": (
        lambda: tree(body(), hinge(stiffness=(1.0, 2.0))).compile(),
        "joint 'j' (world → a): stiffness has shape (2,), expected one number or 1.",
    ),
    "rest of a hinge": (
        lambda: tree(body(), hinge(stiffness=1.0, rest=(1.0, 2.0))).compile(),
        "joint 'j' (world → a): rest has shape (2,), expected one number, or 1 coordinates as in q.",
    ),
    "rest of a ball": (
        lambda: tree(body(), lm.Spherical(name="b", parent="world", child="a", stiffness=1.0, rest=0.5)).compile(),
        "joint 'b' (world → a): rest has shape (), expected 0, or 4 coordinates as in q.",
    ),
    "rest of nan": (
        lambda: tree(body(), lm.Planar(name="b", parent="world", child="a", rest=(0, np.nan, 0))).compile(),
        "joint 'b' (world → a): rest is (0, nan, 0), expected finite numbers.",
    ),
    "rest that is no rotation": (
        lambda: tree(body(), lm.Free(name="b", parent="world", child="a", rest=(2, 0, 0, 0, 1, 2, 3))).compile(),
        "joint 'b' (world → a): rest has a quaternion of norm 2, expected 1.",
    ),
    "unknown frame": (
        lambda: tree(body(frames={"tip": (1, 0, 0)}), body("b"), hinge(), hinge("k", "a", "b", at="tpi")).compile(),
        "joint 'k' (a → b): at is 'tpi', which is no frame or node of body 'a'. Did you mean 'tip'?",
    ),
    "frame of the world": (lambda: tree(body(), hinge(at="x")).compile(), "no frame or node of the world."),
    # trees
    "empty": (lambda: tree(), "tree 'tree': has no bodies, expected at least one."),
    **{
        f"{what} of something else": (
            lambda what=what: lm.Tree(**{"bodies": [body()], "joints": [hinge()], what: ["x"]}),
            f"tree 'tree': {what} has 'x', expected {wanted}.",
        )
        for what, wanted in {
            "bodies": "Body and FlexibleBody",
            "joints": "joints",
            "wheels": "Wheel",
            "forces": "force elements",
            "loops": "joints and constraints",
        }.items()
    },
    "a joint without a list": (
        lambda: lm.Tree([body()], hinge()),
        "tree 'tree': joints is Revolute(",
        "a list of joints",
    ),
    "name of a number": (lambda: tree(body(3), hinge()), "tree 'tree': bodies has one with the name 3, expected text."),
    "name of a rotor": (
        lambda: tree(body("w/rotor"), hinge(child="w/rotor"), wheels=[lm.Wheel(name="w", body="w/rotor", inertia=1.0)]),
        "tree 'tree': something is called 'w/rotor', as is the rotor of wheel 'w'.",
        "Call one of them something else.",
    ),
    "fidelity": (lambda: tree(body(), hinge(), fidelity="ful"), "fidelity is 'ful', expected one of full, ruthless."),
    "name twice": (lambda: tree(body(), hinge("a")), "the name 'a' is used 2 times, expected once."),
    "world": (lambda: tree(body("world"), hinge(child="world")), "is called 'world', which names the fixed frame."),
    "unknown parent": (
        lambda: tree(body("boom"), hinge(parent="bom", child="boom")),
        "joint 'j' (bom → boom): its parent 'bom' is not a body of the tree. Did you mean 'boom'?",
    ),
    "two joints": (
        lambda: tree(body(), hinge("j"), hinge("k")),
        "body 'a': 2 joints lead into it (j, k), expected one.",
        "list it in `loops`, not in `joints`",
    ),
    "no joint": (
        lambda: tree(body(), body("b"), hinge()),
        "body 'b': no joint leads into it, expected one.",
        "Free(name=..., parent='world', child='b')",
    ),
    "ring": (
        lambda: tree(body(), body("b"), hinge("j", "b", "a"), hinge("k", "a", "b")),
        "these bodies carry each other in a ring: b → a → b.",
        "One of them must be carried by 'world'",
    ),
    "child first": (
        lambda: tree(body("upper"), body("lower"), hinge("elbow", "upper", "lower"), hinge("shoulder", child="upper")),
        "joint 'elbow' (upper → lower): stands before joint 'shoulder', which carries 'upper'.",
        "List joints from the base outward, or give any_order=True.",
    ),
    "child first, among other problems": (
        lambda: tree(body(), body("b"), body("c"), hinge("k", "a", "b"), hinge("j")),
        "joint 'k' (a → b): stands before joint 'j', which carries 'a'.",
        "body 'c': no joint leads into it",
    ),
    "faults of several joints": (
        lambda: tree(body(), body("b"), hinge(damping=-1), hinge("k", "a", "b", axis=(0, 0, 0))).compile(),
        "joint 'j' (world → a): damping is -1, must be ≥ 0.",
        "joint 'k' (a → b): axis is zero, expected a direction.",
    ),
    "several at once": (
        lambda: tree(body(), body("b"), hinge("j", "x", "a")),
        "its parent 'x' is not a body",
        "body 'b': no joint leads into it",
    ),
    "gravity": (lambda: tree(body(), hinge(), gravity=9.81), "gravity has shape (), expected (3,)."),
    # states
    "unknown name": (lambda: pendulum().state({"hj": 1.0}), "q: 'hj' has no degrees of freedom in this model."),
    "shape by name": (lambda: pendulum().state({"j": [1.0, 2.0]}), "q['j'] has shape (2,), expected (1,)."),
    "nan by name": (lambda: pendulum().state(v={"j": np.nan}), "v['j'] is nan, expected finite numbers."),
    "vector": (lambda: pendulum().state(np.zeros(3)), "q has shape (3,), expected (1,), or a mapping"),
    "nan in a vector": (lambda: pendulum().state([np.nan]), "q[0] is not finite."),
    **{
        f"vector of {name}": (
            lambda given=given: dynamics.forward_dynamics(pendulum(), pendulum().state(), given),
            f"tau is {given!r}, expected one number, or a mapping of names to values.",
        )
        for name, given in {
            "none": [0, None],
            "truth": [True, False],
            "text": "abc",
            "rows": [[1.0], [1.0, 2.0]],
        }.items()
    },
    "text by name": (lambda: pendulum().state(v={"j": "abc"}), "v['j'] is 'abc', expected a number."),
    "rows by name": (lambda: pendulum().state(v={"j": [[1], [1, 2]]}), "v['j'] is [[1], [1, 2]], expected a number."),
    "vector for nothing": (lambda: rigid().state(q=[1, 2, 3]), "q has shape (3,), expected (0,), or a mapping"),
    "name for nothing": (lambda: rigid().state(q={"f": 1}), "q: 'f' has no degrees of freedom in this model."),
    "not a rotation": (
        lambda: tree(body(), lm.Spherical(name="b", parent="world", child="a")).compile().state([2, 0, 0, 0]),
        "(factor 'b') is not an element of SO3Q: its quaternion has norm 2",
    ),
    "torque": (
        lambda: dynamics.forward_dynamics(pendulum(), pendulum().state(), {"k": 1.0}),
        "tau: 'k' has no degrees of freedom",
    ),
    "body of a frame": (
        lambda: dynamics.frame_pose(pendulum(), pendulum().state(), "b.tip"),
        "frame 'b.tip': 'b' is not a body of the model.",
    ),
    "frame of a body": (
        lambda: dynamics.frame_pose(pendulum(), pendulum().state(), "a.tip"),
        "frame 'a.tip': body 'a' has no frame or node 'tip'.",
    ),
    "lock": (lambda: pendulum().lock("jj"), "lock: 'jj' is not a joint of the model. Did you mean 'j'?"),
    "lock a speed": (
        lambda: pendulum().lock(speeds={"j": [1]}),
        "lock: joint 'j' has no speed 1, expected 0 to 0.",
    ),
    "lock a speed of nothing": (
        lambda: rigid().lock(speeds={"f": [0]}),
        "lock: joint 'f' has no speed 0, it has none at all.",
    ),
    "lock a number": (
        lambda: pendulum().lock(speeds={"j": 0}),
        "lock: speeds['j'] is 0, expected a list of whole numbers, as in [0].",
    ),
    "lock half a speed": (
        lambda: pendulum().lock(speeds={"j": [0.5]}),
        "lock: speeds['j'] is [0.5], expected a list of whole numbers",
    ),
    "lock a list": (lambda: pendulum().lock(["j"]), "lock: '['j']' is not a joint of the model."),
    "lock without names": (
        lambda: pendulum().lock(speeds=[0]),
        "lock: speeds is [0], expected a mapping of joints to indices of speeds.",
    ),
    "no inertia to solve for": (
        lambda: (lambda m: dynamics.solve(m, m.state(), [1.0]))(tree(lm.Body("a", mass=1.0), hinge()).compile()),
        "joint 'j' (world → a): the inertia that it moves is not positive.",
    ),
    "no inertia": (
        lambda: (lambda m: dynamics.forward_dynamics(m, m.state()))(tree(lm.Body("a", mass=1.0), hinge()).compile()),
        "joint 'j' (world → a): the inertia that it moves is not positive.",
        "give 'a' mass and moments of inertia",
        "give the joint an armature, or make it Fixed.",
    ),
    "gimbal lock": (
        lambda: (lambda m: dynamics.forward_dynamics(m, m.state({"s": [0.3, np.pi / 2, 0.1]})))(
            tree(body(), lm.Screws(name="s", parent="world", child="a", subspace=np.eye(3, 6)[[2, 1, 0]])).compile()
        ),
        "joint 's' (world → a): the inertia that it moves is not positive.",
        "If axes of the joint line up in this position, make it",
    ),
    "rigid modes": (
        lambda: (lambda m: dynamics.forward_dynamics(m, m.state()))(tree(drifting(), hinge(**ON_ROOT)).compile()),
        "flexible body 'beam': the mass of its modes is not positive when its joint is held.",
        "moves it as a rigid body, or repeats another one",
    ),
    "rigid modes of a ruthless body": (
        lambda: tree(drifting(), hinge(**ON_ROOT), fidelity="ruthless", modal_inverse="identity").compile(),
        "flexible body 'beam': the mass of its modes is not positive when its joint is held (smallest eigenvalue",
    ),
    "singular and composite": (
        lambda: (lambda m: dynamics.forward_dynamics(m, m.state(), method="composite"))(
            tree(lm.Body("a"), hinge()).compile()
        ),
        "the mass matrix of <model 'tree': 1 body, 1 degrees of freedom> is singular",
        'Method "articulated" names the joint',
    ),
    "unknown method": (
        lambda: dynamics.forward_dynamics(pendulum(), pendulum().state(), method="fast"),
        "method is 'fast', expected one of articulated, direct, composite.",
    ),
    # forces and wheels
    "axes": (
        lambda: lm.PointForce(name="f", at="a", axes="wrld"),
        "PointForce 'f': axes is 'wrld', expected 'world' or 'body'.",
    ),
    "negative spring": (
        lambda: lm.SpringDamper(name="s", a="a", b="world", stiffness=-1.0),
        "SpringDamper 's': stiffness is -1, must be ≥ 0.",
    ),
    "spring of text": (
        lambda: lm.SpringDamper(name="s", a="a", b="world", stiffness="x"),
        "SpringDamper 's': stiffness is 'x', expected a number.",
    ),
    "half a speed": (
        lambda: lm.Actuator(name="m", joint="j", speed=0.5),
        "Actuator 'm': speed is 0.5, expected a whole number, 0 for the first.",
    ),
    "gear of text": (
        lambda: lm.Actuator(name="m", joint="j", gear="x"),
        "Actuator 'm': gear is 'x', expected a number",
    ),
    **{
        f"force at {place!r}": (
            lambda place=place: tree(body(), hinge(), forces=[lm.PointForce(name="f", at=place)]).compile(),
            f'PointForce \'f\': at is {place!r}, expected "body", "body.frame", or a body and a position or pose',
        )
        for place in (None, ("a", "b", "c"), (0, 1))
    },
    "gear": (lambda: lm.Actuator(name="m", joint="j", gear=0.0), "Actuator 'm': gear is 0, expected a number"),
    "limit": (lambda: lm.Actuator(name="m", joint="j", limit=0.0), "Actuator 'm': limit is 0, must be > 0."),
    "bristles without stiffness": (
        lambda: lm.BristleFriction(name="m", joint="j", coulomb=1.0, stiffness=0.0),
        "BristleFriction 'm': stiffness is 0, must be > 0.",
    ),
    "bristles that break away too early": (
        lambda: lm.BristleFriction(name="m", joint="j", coulomb=1.0, stiffness=10.0, static=0.5),
        "BristleFriction 'm': static is 0.5, must be at least coulomb, which is 1.",
    ),
    "states of another model": (
        lambda: dynamics.mass_matrix(pendulum(), lm.State(np.zeros(1), np.zeros(1), 0.0, np.zeros(2))),
        "dynamics: the state has first-order states x of shape (2,), expected (0,): those of no element.",
    ),
    "states by the wrong name": (
        lambda: pendulum().state(x={"brake": 1.0}),
        "x: 'brake' is no element with first-order states.",
    ),
    "actuator without a joint": (
        lambda: tree(body(), hinge(), forces=[lm.Actuator(name="m", joint="k")]).compile(),
        "Actuator 'm': 'k' is not a joint of the tree.",
    ),
    "actuator without a speed": (
        lambda: tree(body(), hinge(), forces=[lm.Actuator(name="m", joint="j", speed=1)]).compile(),
        "Actuator 'm': joint 'j' has no speed 1, expected 0 to 0.",
    ),
    "force on nothing": (
        lambda: tree(body(), hinge(), forces=[lm.PointForce(name="f", at="b.tip")]).compile(),
        "PointForce 'f': 'b' is not a body of the tree.",
    ),
    "force on no frame": (
        lambda: tree(body(), hinge(), forces=[lm.PointForce(name="f", at="a.tip")]).compile(),
        "PointForce 'f': at is 'tip', which is no frame or node of body 'a'.",
    ),
    "abstract force": (lambda: tree(body(), hinge(), forces=[lm.Force(name="f")]).compile(), "Force 'f': is abstract"),
    "a kind without a law": (
        lambda: tree(body(), hinge(), forces=[own_force(kind=lambda self: 99)]).compile(),
        "class 'Own': its kind 99 has no law.",
        "in liegeo/kernels/elements.py, below the line @LAWS.of(at.99, shows=…)",
    ),
    "a force with too few data": (
        lambda: tree(body(), hinge(), forces=[own_force(data=lambda self: [1.0])]).compile(),
        "class 'Own': its data() has 1 numbers, expected 3, those of SPRING in liegeo/kernels/layout.py: SPRING_STIFF",
    ),
    "a force that exerts what its law does not show": (
        lambda: tree(body(), hinge(), forces=[own_force(exerts=())]).compile(),
        "class 'Own': its `exerts` names 0 numbers, but the law of SPRING in liegeo/kernels/elements.py shows 3.",
    ),
    "a force without a place": (
        lambda: tree(
            body(), hinge(), forces=[own_force(lm.Force, {"name": "f"}, kind=lambda self: layout.SPRING)]
        ).compile(),
        "class 'Own': it has no field of the type Place, expected the frames that it acts on.",
    ),
    "a force on a joint with too many states": (
        lambda: tree(
            body(),
            hinge(),
            forces=[
                own_force(
                    JointForce,
                    {"name": "f", "joint": "j"},
                    kind=lambda self: layout.LUGRE,
                    states=(lm.about.Part("x", "input", (".a", ".b", ".c")),),
                )
            ],
        ).compile(),
        "class 'Own': its `states` names 3 numbers, expected at most two",
    ),
    "dry friction that breaks away too early": (
        lambda: lm.DryFriction(name="m", joint="j", coulomb=1.0, static=0.5),
        "DryFriction 'm': static is 0.5, must be at least coulomb, which is 1.",
    ),
    "an acceleration of what does not move": (
        lambda: dynamics.hybrid_dynamics(pendulum(), pendulum().state(), {"k": 1.0}),
        "hybrid_dynamics: 'k' is not a joint that moves.",
    ),
    "a stop that stops nothing": (
        lambda: lm.Stop(name="s", joint="j", stiffness=1.0),
        "Stop 's': has neither lower nor upper, expected at least one of them.",
    ),
    "a stop upside down": (
        lambda: lm.Stop(name="s", joint="j", stiffness=1.0, lower=1.0, upper=0.5),
        "Stop 's': upper is 0.5, must be above lower, which is 1.0.",
    ),
    "a stop with a number for a flag": (
        lambda: lm.Stop(name="s", joint="j", stiffness=1.0, upper=0.5, hertzian=1.5),
        "Stop 's': hertzian is 1.5, expected True or False.",
    ),
    "a stop of a ball": (
        lambda: tree(
            body(),
            lm.Spherical(name="j", parent="world", child="a"),
            forces=[lm.Stop(name="s", joint="j", stiffness=1.0, upper=0.5)],
        ).compile(),
        "Stop 's': acts on speed 0 of joint 'j', a Spherical, which is the rate of no coordinate",
    ),
    "a gear with itself": (
        lambda: lm.GearTrain(name="g", joint="j", motor="j", ratio=2.0, stiffness=1.0),
        "GearTrain 'g': motor is 'j', expected another joint than the field 'joint' names.",
    ),
    "a gear without a ratio": (
        lambda: lm.GearTrain(name="g", joint="j", motor="m", ratio=0.0, stiffness=1.0),
        "GearTrain 'g': ratio is 0, expected a number that is not zero.",
    ),
    "a gear that gains": (
        lambda: lm.GearTrain(name="g", joint="j", motor="m", ratio=2.0, stiffness=1.0, efficiency=1.5),
        "GearTrain 'g': efficiency is 1.5, must be > 0 and at most 1.",
    ),
    "a motor without a voltage": (
        lambda: lm.Motor(name="m", joint="j", constant=1.0, resistance=1.0, limit=0.0),
        "Motor 'm': limit is 0, must be > 0.",
    ),
    "a rod as thick as the piston": (
        lambda: lm.HydraulicCylinder(
            **{"name": "c", "joint": "j", "area": 1.0, "rod_area": 1.0, "stroke": 1.0, "dead_volume": 1.0},
            **{"supply": 1.0, "flow": 1.0, "drop": 1.0},
        ),
        "HydraulicCylinder 'c': rod_area is 1, must be less than area, which is 1.",
    ),
    "a cable without an end": (
        lambda: lm.Cable(name="c", joint="j", driven="k", radius=1.0, stiffness=1.0, slack=np.inf),
        "Cable 'c': slack is inf, expected a finite number.",
    ),
    "a curve over the time": (
        lambda: lm.ForceCurve(name="c", joint="j", table=[(0, 0), (1, 1)], over="time"),
        "ForceCurve 'c': over is 'time', expected 'position' or 'speed'.",
    ),
    "a curve of one point": (
        lambda: lm.ForceCurve(name="c", joint="j", table=[(0, 0)]),
        "ForceCurve 'c': table is",
    ),
    "a curve that goes back": (
        lambda: lm.ForceCurve(name="c", joint="j", table=[(0, 0), (0, 1)]),
        "ForceCurve 'c': table[1] is 0, must be above the one before, 0.",
    ),
    "friction speed": (
        lambda: tree(body(), hinge(friction=1.0, friction_speed=0.0)).compile(),
        "joint 'j' (world → a): friction_speed is 0, must be > 0.",
    ),
    "unknown input": (
        lambda: dynamics.forward_dynamics(pendulum(), pendulum().state(), inputs={"push": 1.0}),
        "inputs: 'push' is no force element with inputs.",
    ),
    "wheel without inertia": (
        lambda: lm.Wheel(name="w", body="a", inertia=0.0),
        "wheel 'w': inertia is 0, must be > 0.",
    ),
    "wheel of text": (
        lambda: lm.Wheel(name="w", body="a", inertia="x"),
        "wheel 'w': inertia is 'x', expected a number.",
    ),
    "wheel across": (
        lambda: lm.Wheel(name="w", body="a", inertia=1.0, transverse="x"),
        "wheel 'w': transverse is 'x', expected a number.",
    ),
    "wheel of no size": (
        lambda: lm.Wheel(name="w", body="a", inertia=1.0, transverse=-0.1),
        "wheel 'w': transverse is -0.1, must be ≥ 0.",
    ),
    "too large a number": (
        lambda: lm.Wheel(name="w", body="a", inertia=1e308),
        "wheel 'w': inertia is 1e+308, expected a number between -1e+60 and 1e+60.",
        "Check its exponent and its unit.",
    ),
    "too large an array": (
        lambda: body(com=(0.0, 1e200, 0.0)),
        "body 'a': com[1] is 1e+200, expected a number between -1e+60 and 1e+60.",
    ),
    "too fast": (
        lambda: pendulum().state(v=[1e200]),
        "v[0] is 1e+200, expected a number between -1e+60 and 1e+60.",
    ),
    "no time": (lambda: pendulum().state(t="noon"), "t is 'noon', expected a finite number of seconds."),
    "wheel without a body": (
        lambda: tree(body("bus"), hinge(child="bus"), wheels=[lm.Wheel(name="w", body="bsu", inertia=1.0)]),
        "wheel 'w': its body 'bsu' is not a body of the tree. Did you mean 'bus'?",
    ),
    "modal inverse": (lambda: tree(body(), hinge(), modal_inverse="x"), "modal_inverse is 'x', expected one of auto,"),
    "identity of a full model": (
        lambda: tree(body(), hinge(), modal_inverse="identity"),
        "modal_inverse 'identity' needs what does not change with the deformation",
    ),
    # loops
    "a spring in a cut": (
        lambda: looped(lm.Revolute(name="cut", parent="world", child="b", stiffness=3.0)),
        "joint 'cut' (world → b): closes a loop and has stiffness",
        "Cut the loop at another joint, or use a Bushing.",
    ),
    "a cut that holds nothing": (
        lambda: looped(lm.Free(name="cut", parent="world", child="b")),
        "joint 'cut' (world → b): leaves everything free",
    ),
    "a cut on nobody": (
        lambda: looped(lm.Fixed(name="cut", parent="world", child="bb")),
        "joint 'cut' (world → bb): 'bb' is not a body of the tree. Did you mean 'b'?",
    ),
    "a loop that is none": (lambda: looped("cut"), "loops has 'cut', expected joints and constraints."),
    "a loop by the name of a joint": (
        lambda: looped(lm.Fixed(name="k", parent="world", child="b")),
        "the name 'k' is used 2 times",
    ),
    "a ruthless loop": (
        lambda: tree(
            beam(), hinge(**ON_ROOT), loops=[lm.Fixed(name="c", parent="world", child="beam")], fidelity="ruthless"
        ).compile(),
        "a ruthless model does not know where its nodes are",
        "Choose fidelity 'full'.",
    ),
    "a gear on no joint": (
        lambda: looped(lm.Gear(name="g", a="jj", b="k", ratio=2.0)),
        "Gear 'g': 'jj' is not a joint of the tree. Did you mean 'j'?",
    ),
    "half a coordinate": (
        lambda: lm.Motion(name="m", joint="j", coordinate=0.5),
        "Motion 'm': coordinate is 0.5, expected a whole number, 0 for the first, or None.",
    ),
    "a coordinate by name": (
        lambda: looped(lm.Coupling(name="c", terms={"j.x": 1.0})),
        "Coupling 'c': 'j.x' is no coordinate of a joint, expected 'joint', or 'joint.1' for its second.",
    ),
    "a coupling of text": (
        lambda: lm.Coupling(name="c", terms={"j": "x"}),
        "Coupling 'c': the factor of 'j' is 'x', expected a number.",
    ),
    "an offset of nan": (
        lambda: lm.Coupling(name="c", terms={"j": 1.0}, offset=np.nan),
        "Coupling 'c': offset is nan, expected a finite number.",
    ),
    "a ratio of text": (
        lambda: lm.Gear(name="g", a="j", b="k", ratio="x"),
        "Gear 'g': ratio is 'x', expected a number.",
    ),
    "a coordinate too many": (
        lambda: looped(lm.Motion(name="m", joint="j", coordinate=1)),
        "Motion 'm': joint 'j' has no coordinate 1, expected 0 to 0.",
    ),
    "a coupling of rotations": (
        lambda: looped(lm.Coupling(name="c", terms={"ball": 1.0}), ball=True),
        "Coupling 'c': the coordinates of joint 'ball' cannot be added",
    ),
    "one coordinate of a rotation": (
        lambda: looped(lm.Motion(name="m", joint="ball", coordinate=1), ball=True),
        "Motion 'm': the coordinates of joint 'ball' are one element of a group.",
        "Leave `coordinate` out",
    ),
    "a distance of nothing": (
        lambda: lm.Distance(name="d", a="a", b="b", length=0.0),
        "Distance 'd': length is 0, must be > 0.",
        "Spherical joint in `loops`",
    ),
    "a radius below nothing": (lambda: lm.Rolling(name="r", a="a", b="b", radius=-1.0), "radius is -1, must be > 0."),
    "an egg": (
        lambda: lm.Rolling(name="r", a="a", b="b", radius=1.0, shape="egg"),
        "Rolling 'r': shape is 'egg', expected 'disc' or 'ball'.",
    ),
    "a gear that does not turn": (
        lambda: lm.Gear(name="g", a="j", b="k", ratio=0.0),
        "Gear 'g': ratio is 0, expected a number that is not zero.",
    ),
    "a coupling of nothing": (lambda: lm.Coupling(name="g", terms={}), "Coupling 'g': has no terms"),
    "no function": (lambda: lm.Custom(name="c", function=3), "Custom 'c': function is 3, expected a function"),
    "no residuals": (lambda: lm.Custom(name="c", function=len, n=0), "Custom 'c': n is 0, expected a whole number"),
    "other residuals": (
        lambda: dynamics.forward_dynamics(*own(lambda model, state: state.q[:2])),
        "Custom 'own': its function returned 2 residuals, expected 1.",
    ),
    "an abstract constraint": (lambda: lm.Constraint(name="c").rows, "is abstract; use one of Distance"),
    "a complex step through a function": (
        lambda: dynamics.forward_derivatives(*own(lambda model, state: state.q[:1])),
        "has a Custom constraint, which kernels cannot call with complex numbers.",
    ),
    "no state": (lambda: dynamics.mass_matrix(pendulum(), [0.0]), "dynamics: state is [0.0], expected a State"),
    "a state of another model": (
        lambda: dynamics.mass_matrix(pendulum(), looped().state()),
        "the state has coordinates of shape (2,) and speeds of shape (2,), expected (1,) and (1,): it is of another",
    ),
    "a state of text": (
        lambda: dynamics.mass_matrix(pendulum(), lm.State(["x"], [0.0])),
        "dynamics: the state's q is array(['x'], dtype='<U1'), expected numbers.",
    ),
    "a state of nan": (
        lambda: dynamics.mass_matrix(pendulum(), lm.State(np.zeros(1), np.array([np.nan]))),
        "dynamics: the state's v[0] is nan, expected finite numbers.",
    ),
    "a loop in the direct form": (
        lambda: dynamics.forward_dynamics(*own(lambda model, state: state.q[:1]), method="direct"),
        'method "direct" knows no loops',
    ),
    # laws of prescribed motions
    "a law with too many values": (
        lambda: follow(([0.0, 1.0], [1.0, 2.0, 3.0])),
        "inputs['m'] has 2 times and values of shape (3,), expected at least 2 times and values of shape (2, 1).",
    ),
    "a law that stands still": (
        lambda: follow(([0.0, 0.0], [1.0, 2.0])),
        "inputs['m']: times must rise strictly, and times and values must be finite.",
    ),
    "a law that returns one number": (
        lambda: follow(lambda t: 3.0),
        "inputs['m'] returned 3.0, expected value, rate and acceleration.",
    ),
    "a law of the wrong size": (
        lambda: follow(lambda t: ([1.0, 2.0], 0.0, 0.0)),
        "inputs['m'] returned 2, 1 and 1 numbers, expected 1, 1 and 1.",
    ),
    "a spline of two components": (
        lambda: follow(CubicSpline([0.0, 1.0, 2.0], np.zeros((3, 2)))),
        "inputs['m'] is a spline with 2 components, expected 1.",
    ),
    "a spline on a ball": (
        lambda: follow(CubicSpline([0.0, 1.0, 2.0], np.zeros((3, 3))), "ball"),
        "inputs['m'] is a spline, but the coordinates of joint 'ball' are an element of a group.",
    ),
    # overflow
    "an answer that is not finite": (
        lambda: dynamics.forward_dynamics(*light(), tau=[1e50]),
        "dynamics: the answer of forward_dynamics is not finite: numbers of the state",
    ),
    "a dense answer that is not finite": (
        lambda: dynamics.forward_dynamics(*light(), tau=[1e50], method="composite"),
        "dynamics: the answer of forward_dynamics is not finite: numbers of the state",
    ),
    "a factor that is not finite": (
        lambda: dynamics.solve(*light(), [1.0], alpha=np.nan),
        "solve: alpha is nan, expected a finite number.",
    ),
    "a solution that is not finite": (
        lambda: dynamics.solve(*light(), [1e50]),
        "dynamics: the answer of solve is not finite",
    ),
    "a result in whole numbers": (
        lambda: pendulum().calculator().forward_dynamics([0.0], [0.0], out=np.zeros(1, int)),
        "calculator: out is an array of int64 with shape (1,), expected a contiguous, writable array of float64",
    ),
    # names
    "an owner without numbers": (
        lambda: pendulum().index("jj"),
        "index: 'jj' has no coordinates, states or inputs. Did you mean 'j'?",
    ),
    "a state without a model": (
        lambda: lm.State(np.zeros(1), np.zeros(1))["j.angle"],
        "state: 'j.angle' has no meaning in a state without a model. Make it by model.state(…).",
    ),
    "a number for a whole state": (
        lambda: pendulum().state().replace(0.3),
        "state.replace: values are 0.3, expected a mapping of names to numbers.",
    ),
    "a position in a state": (
        lambda: pendulum().state()["a.position"],
        "state: 'a.position' is no part of a state but computed, expected a coordinate, a speed or a state x.",
        "model.calculator().outputs(['a.position']) computes it.",
    ),
    "an unknown column": (
        lambda: pendulum().names.find("j.angel"),
        "result: 'j.angel' is neither a column nor can it be computed. Did you mean 'j.angle'?",
    ),
    "a column by number": (lambda: pendulum().names.match([3]), "result: 3 is not a name, expected text such as"),
    "a wildcard for nothing": (lambda: pendulum().names.match(["*.colour"]), "result: nothing matches '*.colour'."),
    "a joint with too few names": (
        lambda: tree(body(), Unnamed(name="j", parent="world", child="a")).compile().names,
        "result: 'j' has 1 numbers, but 0 names: correct the columns of its class.",
    ),
    # models
    "a tree in place of a model": (
        lambda: dynamics.mass_matrix(tree(body(), hinge()), pendulum().state()),
        "dynamics: model is <tree",
        "expected a compiled Model.\n  Call compile() on it.",
    ),
}


def follow(law, joint="j"):
    """Ask for the motion under a law."""
    model = looped(lm.Motion(name="m", joint=joint, law=law), ball=joint == "ball")
    return dynamics.forward_dynamics(model, model.state())


def light():
    """A pendulum of next to no inertia, and its state."""
    model = tree(body(mass=1e-290, inertia=(1e-290,) * 3), hinge()).compile()
    return model, model.state()


def looped(*loops, ball=False):
    """Two bodies with loops, on hinges, or the second on a ball."""
    second = lm.Spherical(name="ball", parent="a", child="b") if ball else hinge("k", "a", "b")
    return tree(body(), body("b"), hinge(), second, loops=loops).compile()


def too_long():
    """Return a program that needs more registers than there are."""
    program = programs.TIME
    for _ in range(layout.N_REGISTERS):
        program = programs.combined(layout.OP_ADD, program, program)
    return program


def own(function):
    """A pendulum with a constraint of one's own, and its state."""
    model = looped(lm.Custom(name="own", function=function))
    return model, model.state()


def sampled(**given):
    """A controller that is a Python function."""
    return lm.Sampled(**{"function": lambda t, y: 0.0, "period": 1.0, "name": "servo", **given})


REFUSED |= {
    "offset of a controller": (lambda: sampled(offset=np.inf), "controller 'servo'", "offset is inf", "a finite time"),
    "delay of a controller": (lambda: sampled(delay=1e5), "delay is 100000", "at most 10000 periods", "its unit"),
    "names of a controller": (lambda: sampled(measure=3), "measure is 3", "expected names"),
    "function of a controller": (lambda: sampled(function=3), "function is 3", "expected a function of (t, y)"),
    "memory of a controller": (lambda: sampled(memory=-1), "memory is -1", "expected how many numbers it has"),
    "initial of a controller": (lambda: sampled(initial="a"), "initial is 'a'", "expected a finite number"),
    "limits of a block": (lambda: lm.Saturation(input="u", low=2.0, high=1.0), "low is 2", "at most high, which is 1"),
    "number of a block": (lambda: lm.Gain(input="u", gain=np.nan), "gain is nan", "expected a finite number"),
    "points of a table": (lambda: lm.LookupTable(input="u", x=[1.0, 0.0], y=[0.0, 0.0]), "x is", "in rising order"),
    "no denominator": (
        lambda: lm.TransferFunction(input="u", numerator=[1.0], denominator=[0.0, 1.0]),
        "denominator is",
        "must not begin with 0",
    ),
    "numerator too long": (
        lambda: lm.TransferFunction(input="u", numerator=[1.0, 0.0], denominator=[1.0]),
        "numerator is",
        "it cannot look ahead",
    ),
    "coefficients in rows": (
        lambda: lm.TransferFunction(input="u", numerator=[[1.0]], denominator=[1.0]),
        "numerator is",
        "expected a list of numbers",
    ),
    "variable of a transfer function": (
        lambda: lm.TransferFunction(input="u", numerator=[1.0], denominator=[1.0], variable="w"),
        "variable is 'w'",
        "expected s or z",
    ),
    "blocks in a list": (lambda: lm.Controller(name="c", period=1.0, blocks=[]), "blocks is []", "a mapping of names"),
    "wires that lead nowhere": (
        lambda: lm.Controller(name="c", period=1.0, outputs={"x": "u"}),
        "controller 'c': outputs['x'] is 'u'",
        "which is no signal",
    ),
    "a controller among inputs with another output": (
        lambda: sampled_in({"j": sampled(outputs=["k"])}),
        "inputs['j'] is a sampled controller with the outputs ['k']",
    ),
}


def formula(text):
    return Formula.read(text, ("s", "ds", "t"))


def law(**fields):
    return lm.Law(name="law", joint="j", **{"force": "s", **fields})


def rope(**fields):
    return lm.Rope(name="rope", **{"a": "world", "b": "a", "stiffness": 1.0, "length": 1.0, **fields})


REFUSED |= {
    "characters of a formula": (lambda: formula("s # 2"), "has '#' where a number, a name or an operator"),
    "a formula without an end": (lambda: formula("s 2"), "has '2' where an operator was expected"),
    "a formula with half an operation": (lambda: formula("s +"), "has an end where a number or a name was expected"),
    "a formula with half a bracket": (lambda: formula("(s"), "has a '(' without its ')'"),
    "a function of nobody's": (lambda: formula("sine(s)"), "calls 'sine', which is no function here", "'sin'"),
    "a deep formula": (lambda: formula("(" * 31 + "s" + ")" * 31), "is nested more than 30 deep"),
    "a deep power": (lambda: formula("s^" * 31 + "2"), "is nested more than 30 deep"),
    "a long formula": (lambda: formula("s" + "+1" * 300), "has 601 characters, expected at most 400"),
    "a unit with a strange power": (lambda: formula("2 mm^x*s"), "has a unit with the power 'x', expected a digit"),
    "a unit in a formula": (lambda: formula("2 mm*s"), "has the number '2 mm', expected numbers in SI"),
    "no formula": (lambda: formula(None), "is None, expected a formula such as '-20*s - 0.5*ds'"),
    "a variable of nobody's": (lambda: formula("2*w"), "uses 'w', which is none of its variables s, ds, t"),
    "arguments of a function": (lambda: formula("if(s, 1)"), "gives if 2 numbers, expected 3"),
    "a broken power": (lambda: formula("s^0.5"), "has a power that is no whole number from -12 to 12"),
    "a part without a value": (lambda: formula("s + 1/0"), "has the part '1.0 / 0.0', which has no finite value"),
    "a formula of a law": (lambda: law(force="2*w"), "Law 'law': force uses 'w', which is none of its variables"),
    "rates of a law": (lambda: law(rates=["z"]), "rates is ['z'], expected a mapping of states to formulas"),
    "states of a law": (lambda: law(rates=dict.fromkeys("abc", 1.0)), "rates is ['a', 'b', 'c'], expected at most 2"),
    "names of a law": (lambda: law(rates={"s": 1.0}), "rates names 's', expected a name of letters, digits and _"),
    "signals of a law": (lambda: law(signals="u"), "signals is 'u', expected a list of names"),
    "radius of a rope": (lambda: rope(radius=0.0), "radius is 0, expected a number that is not zero"),
    "points of a rope": (lambda: rope(via="a"), "via is 'a', expected a list of places"),
    "drum of a rope": (lambda: rope(drum=3), "drum is 3, expected the name of a joint"),
    "drum that turns about two axes": (
        lambda: tree(body(), lm.Universal(name="j", parent="world", child="a"), forces=[rope(drum="j")]).compile(),
        "is joint 'j', a Universal, which has 2 speeds, expected one that turns about, or slides along, one axis",
    ),
    "drum of nobody's": (
        lambda: tree(body(), hinge("j"), forces=[rope(drum="k")]).compile(),
        "'k' is not a joint of the tree",
    ),
    "order of the limits of a ball": (
        lambda: lm.BallStop(name="stop", joint="j", lower=1.0, upper=0.5, stiffness=1.0),
        "upper is 0.5, must be above lower, which is 1.0",
    ),
    "no limits of a ball": (
        lambda: lm.BallStop(name="stop", joint="j", stiffness=1.0),
        "has no limit, expected turn, swing, or lower and upper",
    ),
}


def stop(**given):
    return lm.RigidStop(name="s", joint="j", **given)


def trigger(**given):
    return lm.Trigger(name="t", **{"signal": "time", "set": {"j": 1.0}, **given})


REFUSED |= {
    "a stop without limits": (stop, "RigidStop 's': has no limit, expected lower, upper, or both"),
    "limits of a stop": (lambda: stop(lower=1.0, upper=0.0), "upper is 0", "must be above lower, which is 1.0"),
    "restitution of a stop": (lambda: stop(lower=0.0, restitution=1.5), "restitution is 1.5", "a number from 0 to 1"),
    "speed of a stop": (
        lambda: stop(lower=0.0, speed=True),
        "speed is True",
        "expected a whole number, 0 for the first",
    ),
    "rest speed of a stop": (lambda: stop(lower=0.0, rest_speed=0.0), "rest_speed is 0", "must be > 0"),
    "a stop of a ball joint": (
        lambda: looped(lm.RigidStop(name="s", joint="ball", lower=0.0), ball=True),
        "a speed of joint 'ball' is one of a group",
        "Limit joints that turn about one axis",
    ),
    "speed of a lock": (lambda: lm.Lock(name="s", joint="j", speed=0.5), "speed is 0.5", "0 for the first, or None"),
    "switch of a lock": (lambda: lm.Lock(name="s", joint="j", engaged=1), "engaged is 1", "expected True or False"),
    "signal of an event": (lambda: trigger(signal=3), "event 't': signal is 3", "expected the name of a column"),
    "value of an event": (lambda: trigger(value=np.nan), "value is nan", "expected a finite number"),
    "direction of an event": (lambda: trigger(direction="up"), "direction is 'up'", "one of rising, falling, both"),
    "what an event sets": (lambda: trigger(set=3), "set is 3", "expected a mapping of inputs to numbers"),
    "what an event sets it to": (lambda: trigger(set={"j": np.inf}), "inf", "expected a finite number"),
    "what an event engages": (lambda: trigger(engage=3), "engage is 3", "expected names, such as ['brake']"),
    "whether an event is once": (lambda: trigger(once=1), "once is 1", "expected True or False"),
    "an event that does nothing": (lambda: trigger(set={}), "does nothing", "expected set, engage, or release"),
}


def loaded(**given):
    return lm.JointFriction(name="f", joint="j", **{"coefficient": 0.2, **given})


def on_a_bending_arm():
    """Friction by load between a beam and what its tip, which deforms, carries."""
    own = lm.JointFriction(name="f", joint="k", coefficient=0.2, radius=0.1)
    return tree(body(), beam(), hinge(), hinge("k", "a", "beam", child_at="tip"), forces=[own]).compile()


REFUSED |= {
    "length of bearings": (lambda: loaded(length=0.0), "length is 0", "must be > 0"),
    "an axial radius alone": (lambda: loaded(axial_radius=0.1), "axial_radius is 0.1, expected a radius beside it"),
    "static below sliding": (lambda: loaded(static=0.1), "static is 0.1, must be at least coefficient, which is 0.2"),
    "friction by load of a ball": (
        lambda: tree(body(), lm.Spherical(name="j", parent="world", child="a"), forces=[loaded()]).compile(),
        "expected a Revolute joint, and then a radius, or a Prismatic one without: joint 'j' is a Spherical",
    ),
    "friction by load on what bends": (on_a_bending_arm, "deforms at joint 'k'", "expected a body that is rigid"),
}


@pytest.mark.parametrize(
    ("call", "parts"), [pytest.param(call, parts, id=name) for name, (call, *parts) in REFUSED.items()]
)
def test_refused_with_a_message(call, parts):
    with pytest.raises(LiegeoError) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
    assert isinstance(caught.value, ModelError | InputError | DynamicsError)


def test_every_raise_is_reached():
    """A new `raise` in the model, in calculator.py or in dynamics.py needs a line in REFUSED.

    Those of sensors and contacts have tables of their own, in tests/simulate/test_sensors.py and tests/contact.
    """
    root = Path(liegeo.__file__).parent
    elsewhere = ("sensors.py", "contacts.py", "combining.py")
    files = [file for file in (root / "model").glob("*.py") if file.name not in elsewhere]
    wanted = unreached([root / "calculator.py", root / "dynamics.py", *files], [call for call, *_ in REFUSED.values()])
    assert not wanted, f"these have no line in REFUSED: {wanted}"


def test_a_child_may_be_listed_before_its_parent():
    """With any_order the tree sorts its joints; bodies may stand in any order anyway."""
    model = tree(body("b"), body("a"), hinge("k", "a", "b"), hinge("j", "world", "a"), any_order=True).compile()
    assert model.bodies == ("a", "b")
    assert tree(body("b"), body("a"), hinge("j", "world", "a"), hinge("k", "a", "b")).compile().bodies == ("a", "b")


def test_models_print_well():
    assert repr(pendulum()) == "<model 'tree': 1 body, 1 degrees of freedom>"
    model = tree(beam(), body(), hinge(child="beam"), hinge("k", "beam", "a", at="tip"), name="arm").compile()
    assert repr(model) == "<model 'arm': 2 bodies, 4 degrees of freedom (2 of them modes, full)>"


def test_compiled_arrays_are_read_only():
    model = pendulum()
    with pytest.raises(ValueError, match="read-only"):
        model.floats[0] = 1.0
