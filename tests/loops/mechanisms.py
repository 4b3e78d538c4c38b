"""Mechanisms of the benchmark collections."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import liegeo as lg
from liegeo import model as lm

REFERENCES = Path(__file__).parents[1] / "references"


def andrews():
    """Andrews' squeezer: the published numbers, the model, its state at the start.

    Body frames are at the hinges towards the ground, turned by the angles of the literature.
    """
    data = json.loads((REFERENCES / "andrews.json").read_text("utf-8"))
    d, points = data["lengths"], {name: (*xy, 0.0) for name, xy in data["points"].items()}
    centers = [
        (d["ra"], 0.0),
        (-d["da"], 0.0),
        (d["sb"], -d["sa"]),
        (0.0, d["ea"] - d["e"]),
        (d["ta"], d["tb"]),
        (d["zf"] - d["fa"], 0.0),
        (-d["ub"], -d["ua"]),
    ]
    frames = {2: {"P": (-d["d"], 0, 0)}, 4: {"P": (0, -d["e"], 0)}, 6: {"P": (d["zf"], 0, 0)}}
    frames[3] = {"P": (0, -d["ss"], 0), "D": (d["sd"], -d["sc"], 0)}
    bodies = [
        lg.Body(f"b{k}", mass=mass, com=(*center, 0), inertia=(J, J, J), frames=frames.get(k, {}))
        for k, (mass, J, center) in enumerate(zip(data["masses"], data["inertias"], centers, strict=True), 1)
    ]
    places = {
        "beta": ("world", "b1", points["O"]),
        "theta": ("b1", "b2", (d["rr"], 0, 0)),
        "gamma": ("world", "b3", points["B"]),
        "delta": ("world", "b5", points["A"]),
        "phi": ("b5", "b4", (d["zt"], 0, 0)),
        "epsilon": ("world", "b7", points["A"]),
        "omega": ("b7", "b6", (0, -d["u"], 0)),
    }
    joints = [lm.Revolute(name=name, parent=p, child=c, at=at) for name, (p, c, at) in places.items()]
    loops = [lm.Revolute(name=f"P{k}", parent="b2", child=f"b{k}", at="P", child_at="P") for k in (3, 4, 6)]
    spring = data["spring"]
    forces = [
        lm.SpringDamper(
            name="spring", a="b3.D", b=("world", points["C"]), stiffness=spring["stiffness"], length=spring["length"]
        )
    ]
    model = lm.Tree(bodies, joints, loops=loops, forces=forces, gravity=(0, 0, 0), name="squeezer").compile()
    angles = dict(zip(data["angles"], data["start"]["angles"], strict=True))
    return data, model, lg.assemble(model, model.state(q=angles))


def ladder(n):
    """n four-bars side by side, upright, of rods of 1 m and 1 kg, the tops moving with 1 m/s.

    Lying down every window is singular: parallelograms and antiparallelograms meet there.
    """

    def rod(name):
        return lg.Body(name, mass=1.0, com=(0.5, 0, 0), inertia=(1e-4, 1 / 12, 1 / 12), frames={"end": (1, 0, 0)})

    bodies, joints, loops = [], [], []
    for k in range(n + 1):
        bodies.append(rod(f"post{k}"))
        joints.append(lm.Revolute(name=f"foot{k}", parent="world", child=f"post{k}", at=(k, 0, 0)))
        if k < n:
            bodies.append(rod(f"beam{k}"))
            joints.append(lm.Revolute(name=f"top{k}", parent=f"post{k}", child=f"beam{k}", at="end"))
        if k > 0:
            hinge = {"parent": f"beam{k - 1}", "child": f"post{k}", "at": "end", "child_at": "end"}
            loops.append(lm.Revolute(name=f"loop{k}", **hinge))
    model = lm.Tree(bodies, joints, loops=loops, gravity=(0, -9.81, 0), name="ladder").compile()
    feet, tops = [f"foot{k}" for k in range(n + 1)], [f"top{k}" for k in range(n)]
    q = dict.fromkeys(feet, np.pi / 2) | dict.fromkeys(tops, -np.pi / 2)
    return model, model.state(q=q, v=dict.fromkeys(feet, -1.0) | dict.fromkeys(tops, 1.0))


def bricard():
    """Bricard's: five square rods and the ground on the edges of a cube, six hinges, one freedom that nobody counts."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0)] * 2
    bodies, joints = [], []
    for k in range(5):
        rod = corners[k + 1] - corners[k]
        along = np.abs(rod)
        inertia = along * (2 * 0.1**2 / 12) + (1 - along) * ((1 + 0.1**2) / 12)
        bodies.append(lg.Body(f"rod{k}", mass=1.0, com=rod / 2, inertia=inertia, frames={"end": rod}))
        parent, at = (f"rod{k - 1}", "end") if k else ("world", corners[0])
        joints.append(lm.Revolute(name=f"hinge{k}", parent=parent, child=f"rod{k}", at=at, axis=axes[k]))
    closing = lm.Revolute(name="closing", parent="rod4", child="world", at="end", child_at=corners[5], axis=axes[5])
    model = lm.Tree(bodies, joints, loops=[closing], gravity=(0, -9.81, 0), name="bricard").compile()
    return model, model.state()
