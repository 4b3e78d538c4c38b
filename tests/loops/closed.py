"""Random trees whose loops are closed in the state that comes with them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from liegeo import dynamics
from liegeo import model as lm
from liegeo.lie import SE3, SO3

sys.path.append(str(Path(__file__).parents[1] / "dynamics"))

import trees

CUTS = tuple(name for name in trees.JOINTS if name != "Free")


def random_tree(seed, n_bodies=6, **options):
    """Bodies as trees.py describes them, the model without loops, and a state."""
    rng = np.random.default_rng(seed)
    bodies = trees.describe(rng, n_bodies, **options)
    model = trees.build(bodies).compile()
    state = model.state(model.group.exp(0.4 * rng.normal(size=model.nv)), rng.normal(size=model.nv))
    return rng, bodies, model, state


def _place(rng, bodies, i):
    """A name or pose on body i, and "b2.n3" or None: the name of the frame if it is a node."""
    if bodies[i]["n_modes"] and rng.random() < 0.7:
        k = int(rng.integers(1, 5))
        return f"n{k}", f"b{i}.n{k}"
    return SE3.random(rng=rng), None


def joint_pose(name, given, rng):
    """A random pose that a joint allows, written without liegeo.kernels."""
    s = rng.uniform(-1.2, 1.2, 6)
    if name == "Spherical":
        return _pose(SO3.random(rng=rng), np.zeros(3))
    if name == "Planar":
        return _pose(SO3.exp([0.0, 0.0, s[0]]), [s[1], s[2], 0.0])
    joint = getattr(lm, name)(name="x", parent="world", child="y", **given)
    out = np.eye(4)
    for screw, x in zip(joint.screws(), s, strict=False):
        out = out @ SE3.exp(x * screw)
    return out


def _pose(R, p):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    return X


def cut(rng, bodies, model, state, name, i, j, label="cut"):
    """A joint of this kind that closes a loop between bodies i and j (−1: the world), closed in the state."""
    given = trees._joint(rng, name)["given"]
    if name == "Screws":
        given = {"subspace": rng.normal(size=(2, 6))}
    X_J = joint_pose(name, given, rng)
    child_at, node = _place(rng, bodies, j)
    poses = dynamics.body_poses(model, state)
    X_WB = dynamics.frame_pose(model, state, node) if node else poses[f"b{j}"] @ child_at
    X_WA = X_WB @ np.linalg.inv(X_J)
    X_Wa = np.eye(4) if i < 0 else poses[f"b{i}"]
    at = np.linalg.inv(X_Wa) @ X_WA
    parent = "world" if i < 0 else f"b{i}"
    return getattr(lm, name)(name=label, parent=parent, child=f"b{j}", at=at, child_at=child_at, **given)


def frames(rng, bodies, model, state, i, j):
    """A frame on body i (−1: the world) and one on body j, as places, and the pose of the second in the first."""
    at, node = _place(rng, bodies, j)
    poses = dynamics.body_poses(model, state)
    X_WB = dynamics.frame_pose(model, state, node) if node else poses[f"b{j}"] @ at
    X_bA = SE3.random(rng=rng)
    X_WA = X_bA if i < 0 else poses[f"b{i}"] @ X_bA
    b = node or (f"b{j}", at)
    return ("world" if i < 0 else f"b{i}", X_bA), b, np.linalg.inv(X_WA) @ X_WB


def with_loops(bodies, loops, **options):
    return trees.build(bodies, loops=loops, **options).compile()


def on_constraints(model, state):
    """The state with speeds that obey the constraints."""
    J = dynamics.constraint_jacobian(model, state)
    v = state.v - np.linalg.lstsq(J, J @ state.v, rcond=1e-10)[0]
    return lm.State(state.q, v, state.t)


def order_of_contact(model, state, inputs=None):
    """By which power of h the residuals leave zero when v̇ is right: 3."""
    a = dynamics.forward_dynamics(model, state, inputs=inputs)
    sizes = []
    for h in (2e-2, 1e-2):
        q = model.group.retract(state.q, h * state.v + 0.5 * h * h * a)
        sizes.append(np.abs(dynamics.constraint_values(model, lm.State(q, state.v), inputs).residual).max())
    return np.log2(sizes[0] / sizes[1]), sizes
