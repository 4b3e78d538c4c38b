"""Random trees: one description in plain numbers, which the oracle reads as it is and liegeo through `build`."""

from __future__ import annotations

import numpy as np
from examples import joint_example

from liegeo import model as lm
from liegeo.lie import SE2, SE3, SE3Q, SO3Q

# What random trees choose from: a new joint does not change the trees of all seeds.
DRAWN = (
    *("Fixed", "Revolute", "Prismatic", "Helical", "Cylindrical"),
    *("Universal", "Spherical", "Planar", "Free", "Screws"),
)
JOINTS = (*DRAWN, *(joint.__name__ for joint in lm.ALL_JOINTS if joint.__name__ not in DRAWN))


def _inertia(rng, size):
    A = size * rng.normal(size=(3, 3))
    return np.trace(A @ A.T) * np.eye(3) - A @ A.T


def _joint(rng, name):
    """The class for liegeo with its arguments, and what the oracle needs."""
    axis = rng.normal(size=3)
    unit, zero = axis / np.linalg.norm(axis), np.zeros(3)
    if name == "Universal":
        axes = rng.normal(size=(2, 3))
        given, screws = {"axes": axes}, [[*a / np.linalg.norm(a), 0, 0, 0] for a in axes]
    elif name == "Screws":
        screws = rng.normal(size=(3, 6))
        given = {"subspace": screws}
    elif name in ("Spherical", "Planar", "Free"):
        return {"name": name, "given": {}, "kind": name.lower()}
    else:
        table = {
            "Fixed": [],
            "Revolute": [[*unit, *zero]],
            "Prismatic": [[*zero, *unit]],
            "Helical": [[*unit, *0.2 * unit]],
            "Cylindrical": [[*unit, *zero], [*zero, *unit]],
        }
        if name in table:
            screws = table[name]
            given = {} if name == "Fixed" else {"axis": axis}
            if name == "Helical":
                given["pitch"] = 0.2
        else:
            example = joint_example(getattr(lm, name))
            given, screws = {key: x for key, x in example.fields.items() if key != "rest"}, example.screws
    return {"name": name, "given": given, "kind": "screws", "screws": np.reshape(screws, (-1, 6))}


def describe(rng, n_bodies, *, flexible=0.5, joints=DRAWN, n_modes=3, reach=None):
    """A random tree: any joint, rigid and flexible bodies, cantilever and free-free modes, children anywhere.

    reach: how far behind its parent a body stands at most; few make long chains.
    """
    bodies = []
    for i in range(n_bodies):
        joint = _joint(rng, str(rng.choice(joints)))
        n_v = {"planar": 3, "spherical": 3, "free": 6}.get(joint["kind"], len(joint.get("screws", ())))
        joint["damping"], joint["armature"] = rng.uniform(0, 0.3, n_v), rng.uniform(0, 0.2, n_v)
        joint["stiffness"] = rng.uniform(0, 5, n_v)
        joint["rest"] = rng.normal(size=n_v)
        if joint["kind"] != "screws":
            joint["rest"] = {"spherical": SO3Q, "planar": SE2, "free": SE3Q}[joint["kind"]].exp(joint["rest"])
        parent = int(rng.integers(-1 if reach is None else max(-1, i - reach), i)) if i else -1
        body = {"parent": parent, "joint": joint, "n_modes": 0}
        if rng.random() < flexible:
            body["n_modes"] = n_modes
            cantilever = rng.random() < 0.5
            body["pieces"] = [
                {
                    "position": rng.normal(size=3) * 0.5,
                    "modes": rng.normal(size=(6, n_modes)) * (0.0 if k == 0 and cantilever else 0.3),
                    "mass": rng.uniform(0.2, 1.0),
                    "com": rng.normal(size=3) * 0.1,
                    "inertia": _inertia(rng, 0.2),
                }
                for k in range(5)
            ]
            body["K"] = np.diag(rng.uniform(10, 100, n_modes))
            body["D"] = 0.01 * body["K"]
            body["child_at"] = _node(body["pieces"][0])
        else:
            body["pieces"] = [
                {
                    "position": np.zeros(3),
                    "modes": np.zeros((6, 0)),
                    "mass": rng.uniform(0.5, 2.0),
                    "com": rng.normal(size=3) * 0.3,
                    "inertia": _inertia(rng, 0.5),
                }
            ]
            body["child_at"] = {"pose": SE3.random(rng=rng) if rng.random() < 0.5 else np.eye(4)}
        body["at"] = {"pose": SE3.random(rng=rng)}
        if parent >= 0 and bodies[parent]["n_modes"] and rng.random() < 0.8:
            body["at_node"] = int(rng.integers(1, 5))
            body["at"] = _node(bodies[parent]["pieces"][body["at_node"]])
        bodies.append(body)
    return bodies


def add_wheels(rng, bodies, n_wheels):
    """Rotors on rigid bodies, on body frames and on nodes that bend."""
    carriers = rng.integers(0, len(bodies), n_wheels)
    for parent in map(int, carriers):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        spin, across = rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.5)
        wheel = {"kind": "wheel", "axis": axis, "damping": rng.uniform(0, 0.1)}
        given = {"mass": rng.uniform(0, 0.5), "inertia": spin, "transverse": max(across, 0.5 * spin)}
        J = given["transverse"] * np.eye(3) + (spin - given["transverse"]) * np.outer(axis, axis)
        piece = {
            "position": np.zeros(3),
            "modes": np.zeros((6, 0)),
            "mass": given["mass"],
            "com": np.zeros(3),
            "inertia": J,
        }
        body = {"parent": parent, "joint": wheel, "n_modes": 0, "pieces": [piece], "given": given}
        body["at"], body["child_at"] = {"pose": SE3.random(rng=rng)}, {"pose": np.eye(4)}
        if bodies[parent]["n_modes"]:
            body["at_node"] = int(rng.integers(1, 5))
            body["at"] = _node(bodies[parent]["pieces"][body["at_node"]])
        bodies.append(body)


def add_forces(rng, bodies):
    """One of each force element between random places: for the oracle, and for liegeo."""

    def place():
        body = int(rng.integers(-1, len([b for b in bodies if b["joint"]["kind"] != "wheel"])))
        if body < 0:
            pose = SE3.random(rng=rng)
            return (body, {"pose": pose}), ("world", pose)
        if bodies[body]["n_modes"]:
            k = int(rng.integers(0, 5))
            return (body, _node(bodies[body]["pieces"][k])), f"b{body}.n{k}"
        pose = SE3.random(rng=rng)
        return (body, {"pose": pose}), (f"b{body}", pose)

    theirs, ours = [], []
    for axes in ("world", "body"):
        (a, at), wrench = place(), rng.normal(size=6)
        theirs.append({"kind": "load", "a": a, "axes": axes, "wrench": wrench})
        ours.append(lm.PointForce(name=f"load-{axes}", at=at, torque=wrench[:3], force=wrench[3:], axes=axes))
    for _ in range(2):
        (a, at_a), (b, at_b) = place(), place()
        while a[0] == b[0]:
            b, at_b = place()
        k, d, length = rng.uniform(1, 10), rng.uniform(0.1, 1), rng.uniform(0, 1)
        theirs.append({"kind": "spring", "a": a, "b": b, "stiffness": k, "damping": d, "length": length})
        name = f"spring-{len(ours)}"
        ours.append(lm.SpringDamper(name=name, a=at_a, b=at_b, stiffness=k, damping=d, length=length))
        k, d = rng.uniform(1, 10, 6), rng.uniform(0.1, 1, 6)
        theirs.append({"kind": "bushing", "a": a, "b": b, "stiffness": k, "damping": d})
        ours.append(lm.Bushing(name=f"bushing-{len(ours)}", a=at_a, b=at_b, stiffness=k, damping=d))
    return theirs, ours


def _node(piece):
    pose = np.eye(4)
    pose[:3, 3] = piece["position"]
    return {"pose": pose, "modes": piece["modes"]}


def build(bodies, gravity=(0.3, -0.5, -9.0), fidelity="full", **options):
    """The same tree for liegeo."""
    made, joints, wheels = [], [], []
    for i, body in enumerate(bodies):
        joint = body["joint"]
        if joint["kind"] == "wheel":
            at = f"n{body['at_node']}" if "at_node" in body else body["at"]["pose"]
            more = {"axis": joint["axis"], "damping": joint["damping"], **body["given"]}
            wheels.append(lm.Wheel(name=f"j{i}", body=f"b{body['parent']}", at=at, **more))
            continue
        if body["n_modes"]:
            nodes = [lm.LumpedNode(name=f"n{k}", **piece) for k, piece in enumerate(body["pieces"])]
            made.append(lm.FlexibleBody.from_nodes(f"b{i}", nodes, body["K"], body["D"]))
        else:
            (piece,) = body["pieces"]
            made.append(lm.Body(f"b{i}", piece["mass"], piece["com"], piece["inertia"]))
        extra = {k: joint[k] for k in ("damping", "armature", "stiffness", "rest") if k in joint}
        joints.append(
            getattr(lm, joint["name"])(
                name=f"j{i}",
                parent="world" if body["parent"] < 0 else f"b{body['parent']}",
                child=f"b{i}",
                at=f"n{body['at_node']}" if "at_node" in body else body["at"]["pose"],
                child_at="n0" if body["n_modes"] else body["child_at"]["pose"],
                **joint["given"],
                **extra,
            )
        )
    return lm.Tree(made, joints, gravity=gravity, fidelity=fidelity, wheels=wheels, **options)
