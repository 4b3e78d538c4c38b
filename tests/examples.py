"""One example of every joint and force element: a new class gets an entry here, and all tests over classes have it.

Fields have values that are not the usual ones.  Columns and screws are written by hand, from the definition of the
joint: tests compare the class with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from liegeo import model as lm
from liegeo.model.forces import place_fields


class JointExample(NamedTuple):
    """Fields of its own, its columns in results, and its screws at q = 0 with these fields."""

    fields: dict[str, Any]
    columns: str
    screws: Any


AXIS = (0.0, 0.6, 0.8)
_TURN, _SLIDE = (*AXIS, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, *AXIS)
_QUATERNION = "quaternion.w quaternion.x quaternion.y quaternion.z"
_SPIN, _VELOCITY = (" ".join(f"{name}.{axis}" for axis in "xyz") for name in ("angular_velocity", "velocity"))

JOINTS = {
    lm.Fixed: JointExample({"rest": 0.0}, "", np.zeros((0, 6))),
    lm.Revolute: JointExample({"axis": AXIS, "rest": 0.5}, "angle speed", [_TURN]),
    lm.Prismatic: JointExample({"axis": AXIS, "rest": 0.5}, "position speed", [_SLIDE]),
    lm.Helical: JointExample(
        {"axis": AXIS, "pitch": 0.1, "rest": 0.5}, "angle speed", [(0.0, 0.6, 0.8, 0.0, 0.06, 0.08)]
    ),
    lm.Cylindrical: JointExample(
        {"axis": AXIS, "rest": (0.1, 0.2), "stiffness": (1.0, 2.0)},
        "angle position angular_velocity velocity",
        [_TURN, _SLIDE],
    ),
    lm.Universal: JointExample(
        {"axes": (AXIS, (1.0, 0.0, 0.0)), "rest": (0.1, 0.2)},
        "angle[0] angle[1] speed[0] speed[1]",
        [_TURN, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)],
    ),
    lm.Spherical: JointExample({"rest": (0.5, 0.5, 0.5, 0.5)}, f"{_QUATERNION} {_SPIN}", np.eye(6)[:3]),
    lm.Planar: JointExample(
        {"rest": (0.1, 0.2, 0.3)},
        "angle position.x position.y angular_velocity velocity.x velocity.y",
        [(0, 0, 1, 0, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0)],
    ),
    lm.Free: JointExample(
        {"rest": (0.5, 0.5, 0.5, 0.5, 1.0, 2.0, 3.0)},
        f"{_QUATERNION} position.x position.y position.z {_SPIN} {_VELOCITY}",
        np.eye(6),
    ),
    lm.Screws: JointExample(
        {"subspace": ((0.0, 0.0, 1.0, 0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)), "rest": (0.1, 0.2)},
        "q[0] q[1] v[0] v[1]",
        [(0.0, 0.0, 1.0, 0.1, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)],
    ),
}

# Without the frames and joints on which they act.
FORCES = {
    lm.PointForce: {"force": (1.0, 2.0, 3.0), "torque": (4.0, 5.0, 6.0), "axes": "body"},
    lm.SpringDamper: {"stiffness": 10.0, "damping": 1.0, "length": 0.5},
    lm.Bushing: {"stiffness": (1, 2, 3, 4, 5, 6), "damping": (6, 5, 4, 3, 2, 1)},
    lm.Actuator: {"speed": 0, "gear": 50.0, "limit": 3.0, "inertia": 1e-5, "lag": 0.02},
    lm.BristleFriction: {
        "speed": 0,
        "coulomb": 1.0,
        "stiffness": 200.0,
        "static": 1.5,
        "stribeck": 0.02,
        "damping": 3.0,
        "viscous": 0.4,
    },
}


def joint_example(cls):
    """Return the example of a class of joints."""
    assert cls in JOINTS, f"tests/examples.py has no example of the joint {cls.__name__}: add one to JOINTS"
    return JOINTS[cls]


def force_fields(cls, *places, joint):
    """Return the fields of an example of a class of forces between these places, or on this joint."""
    assert cls in FORCES, f"tests/examples.py has no example of the force {cls.__name__}: add one to FORCES"
    where = dict(zip(place_fields(cls), places, strict=False))
    return {**where, **({} if where else {"joint": joint}), **FORCES[cls]}
