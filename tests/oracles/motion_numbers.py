"""The seven systems of motions.py in numbers: what the trees of liegeo/analysis/problems.py are made of, too.

`start` has coordinates and speeds by the names of joints, wheels and flexible bodies; quaternions are w, x, y, z.
A node has six rows of modes, rotation first, and principal moments of inertia.
"""

from __future__ import annotations

import numpy as np


def _unit(q):
    """A quaternion of length one, to the last digit that JSON keeps."""
    q = np.array(q, dtype=np.float64)
    return (q / np.linalg.norm(q)).tolist()


FREE_BODY = {
    "mass": 2.0,
    "inertia": [1.0, 2.0, 3.0],
    "t_end": 5.0,
    "start": {
        "q": {"float": [*_unit([0.9, 0.2, -0.3, 0.1]), 0.5, -1.0, 0.2]},
        "v": {"float": [1.0, 0.15, 0.8, 0.3, -0.1, 0.2]},
    },
}
HEAVY_TOP = {
    "mass": 1.2,
    "com": [0.0, 0.0, 0.4],
    "inertia": [0.05, 0.05, 0.03],
    "t_end": 0.8,
    "start": {"q": {"pivot": _unit([0.95, 0.25, 0.1, 0.05])}, "v": {"pivot": [0.6, -0.4, 10.0]}},
}
SPHERICAL_PENDULUM = {
    "mass": 1.0,
    "com": [0.0, 0.0, 1.0],
    "inertia": [0.02, 0.02, 0.02],
    "t_end": 2.5,
    "start": {"q": {"pivot": _unit([0.5, 0.8, 0.2, 0.1])}, "v": {"pivot": [0.8, 1.4, 0.0]}},
}
DOUBLE_PENDULUM = {
    "upper": {"mass": 1.0, "com": [0.0, 0.01, -0.4], "inertia": [0.05, 0.06, 0.02], "tip": [0.0, 0.0, -0.8]},
    "lower": {"mass": 0.7, "com": [0.02, 0.0, -0.3], "inertia": [0.03, 0.02, 0.01]},
    "t_end": 2.0,
    "start": {
        "q": {"shoulder": _unit([0.85, 0.4, -0.2, 0.1]), "elbow": _unit([0.9, -0.1, 0.35, 0.2])},
        "v": {"shoulder": [0.3, -0.8, 0.5], "elbow": [-0.6, 0.4, 0.9]},
    },
}
SATELLITE = {
    "bus": {"mass": 60.0, "com": [0.02, -0.01, 0.05], "inertia": [9.0, 11.0, 14.0]},
    "wheels": {
        "roll": {"axis": [1.0, 0.0, 0.0], "at": [0.2, 0.0, 0.0], "inertia": 0.4, "transverse": 0.25, "mass": 5.0},
        "pitch": {"axis": [0.0, 1.0, 0.0], "at": [0.0, 0.3, 0.0], "inertia": 0.5, "transverse": 0.3, "mass": 6.0},
        "skew": {"axis": [0.6, 0.0, 0.8], "at": [-0.1, 0.0, 0.2], "inertia": 0.3, "transverse": 0.2, "mass": 4.0},
    },
    "t_end": 10.0,
    "start": {
        "q": {"float": [*_unit([1.0, 0.1, -0.2, 0.3]), 0.0, 0.0, 0.0], "roll": [0.0], "pitch": [0.0], "skew": [0.0]},
        "v": {"float": [0.3, -0.2, 0.4, 0.05, 0.1, -0.03], "roll": [9.0], "pitch": [-7.0], "skew": [12.0]},
    },
}


def _rod(positions, shapes, mass, inertia):
    """Nodes along a rod: where, what moves them, what they weigh."""
    return [
        {"position": x, "modes": modes, "mass": m, "inertia": inertia}
        for x, modes, m in zip(positions, shapes, mass, strict=True)
    ]


_S = (0.25, 0.5, 0.75, 1.0)
FLEXIBLE_PENDULUM = {
    "nodes": _rod(
        [[0.0, 0.0, -s] for s in _S],
        # bending in x by s², in y by s² (3 − s)/2
        [[[0, -(3 * s - 1.5 * s * s)], [-2 * s, 0], [0, 0], [s * s, 0], [0, s * s * (3 - s) / 2], [0, 0]] for s in _S],
        (0.2, 0.2, 0.2, 0.5),
        [0.002, 0.002, 0.001],
    ),
    "stiffness": [[8.0, 0.0], [0.0, 15.0]],
    "t_end": 0.6,
    "start": {
        "q": {"pivot": _unit([0.9, 0.35, 0.2, 0.1]), "rod": [0.05, -0.03]},
        "v": {"pivot": [0.6, -0.4, 1.2], "rod": [0.2, 0.1]},
    },
}
_X = (0.25, 0.5, 0.75, 1.0)
STIFF_ARM = {
    "nodes": _rod(
        [[x, 0.0, 0.0] for x in _X],
        # bending in z by x² and x² (x − 0.8)
        [[[0, 0], [-2 * x, -(3 * x * x - 1.6 * x)], [0, 0], [0, 0], [0, 0], [x * x, x * x * (x - 0.8)]] for x in _X],
        (0.5, 0.5, 0.5, 0.25),
        [0.001, 0.001, 0.001],
    ),
    "stiffness": [[2.0e4, 2.0e3], [2.0e3, 2.5e3]],
    "damping": [[12.0, 1.2], [1.2, 1.5]],
    "forearm": {"mass": 0.6, "com": [0.3, 0.0, 0.0], "inertia": [0.002, 0.02, 0.02]},
    "t_end": 0.25,
    "start": {
        "q": {"shoulder": [0.3], "arm": [0.0, 0.0], "elbow": [-0.8]},
        "v": {"shoulder": [0.5], "arm": [0.0, 0.0], "elbow": [1.5]},
    },
}
