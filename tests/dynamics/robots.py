"""Real robots: Pinocchio reads their URDF, and its model is translated to ours, with the maps between the vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from liegeo import model as lm
from liegeo.lie import SO3Q

# beside Pinocchio itself, wherever that is installed: cmeel.prefix/lib/python3.x/site-packages/pinocchio/__init__.py
FOLDER = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def load(file: str, floating: bool) -> pin.Model:
    path = str(FOLDER / file)
    return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(path)


def translate(theirs: pin.Model) -> lm.Model:
    """The same bodies, joints, rotor inertias and gravity; fixed joints are merged already."""
    bodies, joints = [], []
    for i in range(1, theirs.njoints):
        name, inertia, place = theirs.names[i], theirs.inertias[i], theirs.jointPlacements[i]
        bodies.append(lm.Body(f"{name}/body", inertia.mass, inertia.lever, inertia.inertia))
        parent = theirs.parents[i]
        at = np.eye(4)
        at[:3, :3], at[:3, 3] = place.rotation, place.translation
        start, n = theirs.joints[i].idx_v, theirs.joints[i].nv
        common = {
            "name": name,
            "parent": f"{theirs.names[parent]}/body" if parent else "world",
            "child": f"{name}/body",
            "at": at,
            "armature": theirs.armature[start : start + n],
        }
        kind, axis = _kind(theirs, i)
        joints.append(kind(**common) if kind is lm.Free else kind(**common, axis=axis))
    return lm.Tree(bodies, joints, gravity=theirs.gravity.linear, name=theirs.name).compile()


def _kind(theirs, i):
    short = theirs.joints[i].shortname().removeprefix("JointModel")
    if short == "FreeFlyer":
        return lm.Free, None
    if short.endswith("Unaligned"):
        kind = lm.Prismatic if short.startswith("Prismatic") else lm.Revolute
        return kind, theirs.joints[i].extract().axis
    return (lm.Prismatic if short.startswith("P") else lm.Revolute), AXES[short[-1]]


def speeds(theirs, vector):
    """Theirs from ours or ours from theirs: a free joint swaps its angular and linear half."""
    out = np.array(vector)
    for i in range(1, theirs.njoints):
        if theirs.joints[i].nv == 6:
            k = theirs.joints[i].idx_v
            out[..., k : k + 6] = np.concatenate([out[..., k + 3 : k + 6], out[..., k : k + 3]], axis=-1)
    return out


def configuration(theirs, ours, q):
    """Our q from theirs."""
    out = ours.group.identity()
    for i in range(1, theirs.njoints):
        joint, place = theirs.joints[i], ours.group.q[theirs.names[i]]
        x = q[joint.idx_q : joint.idx_q + joint.nq]
        if joint.nq == 7:
            out[place] = [x[6], *x[3:6], *x[:3]]
        elif joint.nq == 2:
            # unbounded revolute: cosine and sine
            out[place] = np.arctan2(x[1], x[0])
        else:
            out[place] = x
    return out


def random_state(theirs, ours, rng):
    q = np.array(pin.neutral(theirs))
    q = pin.integrate(theirs, q, rng.uniform(-1.0, 1.0, theirs.nv))
    for i in range(1, theirs.njoints):
        if theirs.joints[i].nq == 7:
            k = theirs.joints[i].idx_q
            w, x, y, z = SO3Q.random(rng=rng)
            q[k + 3 : k + 7] = [x, y, z, w]
    v = rng.normal(size=theirs.nv)
    return q, v, ours.state(configuration(theirs, ours, q), speeds(theirs, v))
