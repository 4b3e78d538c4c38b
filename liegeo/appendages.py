"""What bodies carry: the rigid inertias of appendages on the nodes of their carrier, (3) of analysis/synthesis.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import InputError
from liegeo.lie import SE3, SO3
from liegeo.model.body import Body, FlexibleBody
from liegeo.model.constraints import Motion
from liegeo.model.joints import Joint
from liegeo.model.model import Model, State

Array = NDArray[np.float64]


class Carried(NamedTuple):
    """All bodies outboard of one joint.

    `inertia` is 6 × 6, rotation first, about the node and along the carrier's axes; `moving` are the places in v of the
    axes that nothing holds, and of the modes of these bodies.
    """

    joint: str
    node: str
    bodies: tuple[str, ...]
    inertia: Array
    moving: NDArray[np.int64]


def carried(model: Model, state: State, carrier: str, K: Array | None = None) -> list[Carried]:
    """Return what a body carries, one for each joint on it; K, if known, is the derivative of forces by coordinates."""
    body = model.body(model.bodies.index(carrier))
    outboard = [joint for joint in model.tree.all_joints if joint.parent == carrier]
    if not outboard:
        raise InputError(
            f"appendages: body '{carrier}' carries nothing, expected a body with joints on it.\n"
            "  Name the component that the appendages are attached to."
        )
    subtrees = [(joint, _node(joint, body), _subtree(model, joint)) for joint in outboard]
    poses = dynamics.body_poses(model, state)
    stiffness = dynamics.inverse_derivatives(model, state).q if K is None else K
    held = _held(model)
    found = []
    for joint, node, bodies in subtrees:
        X_WN = np.array(poses[carrier])
        X_WN[:3, 3] = dynamics.frame_pose(model, state, f"{carrier}.{node}")[:3, 3]
        axes, modal = _coordinates(model, bodies)
        axes = axes[~held[axes]]
        loose = axes[~np.any(np.abs(stiffness[np.ix_(axes, axes)]) > 0.0, axis=1)]
        load = _load(model, state, bodies, X_WN, loose, poses)
        found.append(Carried(joint.name, node, bodies, load, np.concatenate([axes, modal])))
    return found


def sum_of_loads(found: Iterable[Any]) -> dict[str, Array]:
    """Return by node the inertia of all that is attached there."""
    loads: dict[str, Array] = {}
    for each in found:
        loads[each.node] = loads.get(each.node, np.zeros((6, 6))) + each.inertia
    return loads


def _node(joint: Joint, body: Body | FlexibleBody) -> str:
    """Return the node of a carrier where a joint sits."""
    nodes = body.nodes if isinstance(body, FlexibleBody) else body.frames
    if isinstance(joint.at, str) and joint.at in nodes:
        return joint.at
    at = f"'{joint.at}'" if isinstance(joint.at, str) else "a place on its frame"
    raise InputError(
        f"appendages: joint '{joint.name}' sits at {at} of body '{body.name}', expected one of its nodes.\n"
        "  Give flexible_body, or the body's `nodes` in a file, the node where the appendage is attached."
    )


def _subtree(model: Model, joint: Joint) -> tuple[str, ...]:
    """Return the bodies outboard of a joint, inboard first."""

    def below(body: str) -> Iterator[str]:
        yield body
        for each in model.tree.all_joints:
            if each.parent == body:
                yield from below(each.child)

    return tuple(below(joint.child))


def _coordinates(model: Model, bodies: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places in v of the speeds of the joints that carry these bodies, and of their modes."""
    places = model.group.v if model.group is not None else {}
    inboard = {joint.child: joint.name for joint in model.tree.all_joints}
    out = []
    for names in ([inboard[body] for body in bodies], bodies):
        slices = [np.arange(places[name].start, places[name].stop) for name in names if name in places]
        out.append(np.concatenate([np.zeros(0, dtype=np.int64), *slices]))
    return out[0], out[1]


def _held(model: Model) -> NDArray[np.bool_]:
    """Return which speeds are locked, or those of prescribed motions."""
    held = np.array(model.locked, dtype=bool)
    for loop in model.tree.loops:
        if isinstance(loop, Motion) and model.group is not None:
            place = model.group.v[loop.joint]
            held[place if loop.coordinate is None else place.start + loop.coordinate] = True
    return held


def _load(
    model: Model,
    state: State,
    bodies: tuple[str, ...],
    X_WN: Array,
    free: NDArray[np.int64],
    poses: dict[str, Array],
) -> Array:
    """(3): the inertia of bodies that do not deform at N."""
    total = np.zeros((6 + len(free),) * 2)
    for name in bodies:
        body = model.body(model.bodies.index(name))
        c = SO3.hat(np.asarray(body.moment, dtype=np.float64))
        M_B = np.block([[np.asarray(body.inertia_at_origin), c], [-c, float(body.mass) * np.eye(3)]])
        X_BN = np.linalg.solve(np.asarray(poses[name]), X_WN)
        J = np.concatenate([SE3.Ad(X_BN), dynamics.frame_jacobian(model, state, name)[:, free]], axis=1)
        total += J.T @ M_B @ J
    armature = np.concatenate([np.zeros(6), _armature(model)[free]])
    total += np.diag(armature)
    A, B, C = total[:6, :6], total[:6, 6:], total[6:, 6:]
    load = A - B @ np.linalg.solve(C, B.T)
    return np.asarray(0.5 * (load + load.T))


def _armature(model: Model) -> Array:
    """Return the armature of every speed."""
    out = np.zeros(model.nv)
    places = model.group.v if model.group is not None else {}
    for joint in model.tree.all_joints:
        if joint.name in places:
            out[places[joint.name]] = np.asarray(joint.armature, dtype=np.float64)
    return out


__all__ = ["Carried", "carried", "sum_of_loads"]
