"""Two free bodies with two surfaces each of which may touch, for tests over all pairs of surfaces."""

from __future__ import annotations

import numpy as np

import liegeo as lg
from liegeo import model as lm

PROFILE = [(-1.0, 0.0), (-0.3, 0.1), (0.0, -0.1), (0.4, 0.2), (1.0, 0.0)]
SIZES = {
    lm.PlaneSurface: {},
    lm.SphereSurface: {"radius": 0.3},
    lm.CapsuleSurface: {"radius": 0.2, "length": 0.5},
    lm.BoxSurface: {"size": (0.5, 0.6, 0.7)},
    lm.CylinderSurface: {"radius": 0.3, "length": 0.5},
    lm.ProfileSurface: {"points": PROFILE},
    lm.BoreSurface: {"radius": 0.6},
    lm.SocketSurface: {"radius": 0.7},
}
SLIDING = {"friction": 0.3, "static": 0.5, "rolling": 0.01, "spinning": 0.02}
STICKING = {"friction": 0.3, "static": 0.5, "breakaway": 1e-3}
BODIES = [lg.Body(name, mass=1.5, inertia=(0.1, 0.2, 0.25)) for name in "ab"]
JOINTS = [lm.Free(name=f"free_{name}", parent="world", child=name) for name in "ab"]


def surface(cls, body):
    """Return a surface of this class on a body, away from its origin."""
    at = (body, [[0, -1, 0, 0.02], [1, 0, 0, -0.01], [0, 0, 1, 0.03], [0, 0, 0, 1]])
    return cls(name=f"{cls.__name__} of {body}", at=at, **SIZES[cls])


def tree(first, second, **material):
    """Return the tree of both bodies, with a contact unless there is no material."""
    forces = ()
    if material:
        material = {"stiffness": 1e4, "dissipation": 0.3, **material}
        forces = (lm.Contact(name="touch", a=surface(first, "a"), b=surface(second, "b"), **material),)
    return lg.Tree(BODIES, JOINTS, gravity=(0, 0, 0), forces=forces)


def near(model, rng):
    """Return a state in which the bodies are near one another."""
    q = np.array(model.group.random(rng=rng))
    q[4:7], q[11:14] = 0.0, rng.uniform(-0.5, 0.5, 3)
    return model.state(q=q, v=rng.normal(size=12), x=0.1 * rng.normal(size=model.nx))
