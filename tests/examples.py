"""One example of every joint and force element: a new class gets an entry here, and all tests over classes have it.

Fields have values that are not the usual ones.  Columns and screws are written by hand, from the definition of the
joint: tests compare the class with them.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

import numpy as np
import pytest

from liegeo import model as lm
from liegeo.errors import LiegeoError
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
    lm.DryFriction: {"speed": 0, "coulomb": 1.0, "static": 1.4, "stribeck": 0.05, "viscous": 0.2, "smoothing": 1e-3},
    lm.JointFriction: {
        "speed": 0,
        "coefficient": 0.2,
        "static": 0.3,
        "stribeck": 0.05,
        "viscous": 0.1,
        "radius": 0.04,
        "axial_radius": 0.03,
        "length": 0.2,
        "smoothing": 1e-2,
    },
    lm.Stop: {
        "speed": 0,
        "lower": 0.05,
        "upper": 0.06,
        "stiffness": 200.0,
        "dissipation": 0.3,
        "hertzian": True,
    },
    lm.GearTrain: {
        "speed": 0,
        "ratio": 20.0,
        "stiffness": 300.0,
        "damping": 2.0,
        "backlash": 0.002,
        "onset": 0.001,
        "efficiency": 0.9,
        "slow": 0.002,
    },
    lm.Motor: {
        "speed": 0,
        "constant": 0.2,
        "resistance": 1.5,
        "inductance": 0.01,
        "limit": 24.0,
        "gear": 10.0,
        "inertia": 1e-5,
    },
    lm.HydraulicCylinder: {
        "speed": 0,
        "area": 2e-3,
        "rod_area": 5e-4,
        "stroke": 3.0,
        "dead_volume": 1e-2,
        "supply": 2e7,
        "tank": 1e5,
        "flow": 1e-3,
        "drop": 3.5e6,
        "bulk_modulus": 1.2e9,
        "leakage": 1e-12,
    },
    lm.Belt: {
        "speed": 0,
        "radius": 0.1,
        "driven_radius": 0.3,
        "stiffness": 2000.0,
        "damping": 3.0,
        "pretension": 20.0,
    },
    lm.Cable: {
        "speed": 0,
        "radius": 0.1,
        "driven_radius": 0.3,
        "stiffness": 2000.0,
        "damping": 3.0,
        "slack": -0.1,
    },
    lm.ForceCurve: {
        "speed": 0,
        "table": ((-1.0, -3.0), (0.0, 0.0), (0.5, 2.0), (1.0, 7.0)),
        "over": "speed",
        "smooth": False,
    },
    lm.Law: {
        "speed": 0,
        "force": "-30*s - 0.4*ds*abs(ds) + z - y",
        "rates": {"z": "(0.3*s - z)/0.05", "y": "tanh(ds) - 4*y"},
        "signals": [],
        "potential": "15*s^2",
        "dissipation": None,
        "size": 0.3,
    },
    lm.LineLaw: {
        "force": "-30*(s - 0.3) - 0.4*ds + if(s - 0.5, 2, 1)*z",
        "rates": {"z": "(ds - z)/0.05"},
        "signals": [],
        "potential": "15*(s - 0.3)^2",
        "dissipation": None,
        "size": 0.3,
    },
    lm.Rope: {
        "via": (("world", (0.1, 0.2, 0.3)),),
        "stiffness": 10.0,
        "damping": 1.0,
        "length": 0.5,
        "drum": None,
        "radius": 0.2,
    },
    lm.BallStop: {
        "axis": AXIS,
        "turn": 0.3,
        "swing": 0.2,
        "lower": -0.1,
        "upper": 0.15,
        "stiffness": 200.0,
        "dissipation": 0.3,
    },
}

# Without the frames and joints that they measure.
_SAMPLES = {"period": 0.01, "offset": 0.002, "delay": 0.015, "seed": 3}
_CHAIN = {"noise": 0.0, "noise_density": 0.02, "range": 5.0, "resolution": 0.01}
SENSORS = {
    **{cls: {**_SAMPLES, **_CHAIN} for cls in (lm.Accelerometer, lm.Gyro, lm.Inclinometer, lm.DistanceSensor)},
    lm.Encoder: {**_SAMPLES, **_CHAIN, "coordinate": 0},
    lm.Tachometer: {**_SAMPLES, **_CHAIN, "speed": 0},
    lm.StrainGauge: {**_SAMPLES, **_CHAIN, "fibre": (0.0, 0.01, 0.02)},
    lm.ForceTorque: {
        **_SAMPLES,
        "noise": (0.1, 0.2, 0.3, 1.0, 2.0, 3.0),
        "noise_density": 0.0,
        "range": (1.0, 2.0, 3.0, 10.0, 20.0, 30.0),
        "resolution": (0.01, 0.02, 0.03, 0.1, 0.2, 0.3),
    },
    lm.RelativeMotion: _SAMPLES,
}


def joint_example(cls):
    """Return the example of a class of joints."""
    assert cls in JOINTS, f"tests/examples.py has no example of the joint {cls.__name__}: add one to JOINTS"
    return JOINTS[cls]


def force_fields(cls, *places, joint, other=""):
    """Return the fields of an example of a class of forces between these places, on this joint, or on two joints."""
    assert cls in FORCES, f"tests/examples.py has no example of the force {cls.__name__}: add one to FORCES"
    where = dict(zip(place_fields(cls), places, strict=False))
    on = {} if where else {"joint": joint}
    on |= {name: other for name in ("motor", "driven") if name in cls.__dataclass_fields__}
    return {**where, **on, **FORCES[cls]}


def unreached(files, calls):
    """Return the lines with a `raise` in these files that none of these calls reaches: by file and line their text."""
    wanted = {
        (file.name, node.lineno): ast.unparse(node)[:100]
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
    }
    assert wanted
    for call in calls:
        with pytest.raises(LiegeoError) as caught:
            call()
        last = caught.traceback[-1]
        wanted.pop((last.path.name, last.lineno + 1), None)
    # what waited for compiled code to return is somebody else's
    return {place: text for place, text in wanted.items() if text != "raise error"}
