"""From models and runs to what the page shows: a description that becomes JSON, and arrays.

What does not move is described once: bodies with their parts and skins, joints, lines, traces, arrows.  What moves is
sent frame by frame: positions and quaternions of the bodies, modal coordinates, angles of wheels, vectors of arrows,
columns to plot.  The page adds up modes itself, so that deformation can be magnified there; for this it also knows how
joints sit on nodes.
"""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import Field, InputError
from liegeo.kernels import layout as at
from liegeo.model import constraints, contacts, forces, joints
from liegeo.model.body import FlexibleBody, Node, place_on
from liegeo.model.checks import suggest
from liegeo.model.compiler import RUTHLESS, WORLD
from liegeo.model.model import Model
from liegeo.results.quantities import Quantities
from liegeo.results.result import Result
from liegeo.view.arrays import Arrays
from liegeo.view.looks import Looks, pose_numbers, split, still

Array = NDArray[np.float64]
Names = str | Iterable[str]

# Positions farther away than this are sent in double precision.
_FAR = 1e3
# Bytes of motion in one page, about; longer runs get fewer frames.
_BYTES = 2_000_000
# A run should last so many seconds when it is played, at a speed of 1, 2 or 5 times a power of ten, or at its own.
_SHORTEST, _LONGEST = 2.0, 60.0
_SPEEDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)

FORCE, MOMENT = "force", "moment"


@dataclass(frozen=True)
class Arrow:
    """A vector to be drawn: where it stands, in whose axes it is given, and how it is found from samples (n × 3)."""

    name: str
    kind: str
    body: str
    where: Any
    axes: str
    vector: Callable[[Quantities], Array]


class Scene:
    """What one model shows; `frames` are made of samples."""

    def __init__(self, model: Model, arrays: Arrays, traces: Names = (), arrows: Names = (), plots: Names = ()) -> None:
        self.model, self.arrays = model, arrays
        self.looks = Looks(model, arrays)
        self.names = model.names
        self.traces = _chosen("traces", traces, self._frames())
        offered = {arrow.name: arrow for arrow in self._arrows()}
        self.arrows = [offered[name] for name in _chosen("arrows", arrows, list(offered))]
        self.plots = [n for n in self.names.match(_listed("plots", plots)) if n != "time"]
        self.wheels = [i for i, joint in enumerate(self.looks.joints) if isinstance(joint, forces.WheelJoint)]

    # ---- what does not move

    def description(self) -> dict[str, Any]:
        tree = self.model.tree
        units = [self.names.column(name).unit for name in self.plots]
        return {
            "name": tree.name,
            "gravity": np.asarray(tree.gravity).tolist(),
            "size": self.looks.size,
            "closed": bool(tree.loops),
            "bodies": [self._body(i) for i in range(len(self.model.bodies))],
            "world": self.looks.world(),
            "joints": self._joints(),
            "lines": self._lines(),
            "traces": [{"name": name, "anchor": self._frame_anchor(name)} for name in self.traces],
            "arrows": [
                {"name": a.name, "kind": a.kind, "axes": a.axes, "anchor": self._anchor(a.body, a.where)}
                for a in self.arrows
            ],
            "plots": [{"name": name, "unit": unit} for name, unit in zip(self.plots, units, strict=True)],
        }

    def _body(self, i: int) -> dict[str, Any]:
        joint = self.looks.joints[i]
        modal = self.model.modal_slice(i, at.EQ)
        simple = len(joint.screws()) == 1 and not isinstance(joint, forces.WheelJoint)
        return {
            "name": self.model.bodies[i],
            "joint": joint.name,
            "parent": self._index(joint.parent),
            # How the joint sits on both bodies, for the page to follow the chain when it magnifies.
            "outer": self._anchor(joint.parent, joint.at, kinematic=True),
            "inner": self._anchor(joint.child, joint.child_at, kinematic=True),
            "screw": joint.screws()[0].tolist() if simple else None,
            "modes": modal.stop - modal.start,
            "color": self.looks.color(i),
            "parts": self.looks.parts(i),
            "skin": self.looks.skin(i),
            "spin": joint.screws()[0, :3].tolist() if isinstance(joint, forces.WheelJoint) else None,
        }

    def _index(self, body: str) -> int:
        return -1 if body == WORLD else self.model.bodies.index(body)

    def _anchor(self, owner: str, where: Any, kinematic: bool = False) -> dict[str, Any]:
        """A place on a body: its pose there and, if it deforms, its modes (6 × m) and terms of second order."""
        i = self._index(owner)
        body = None if i < 0 else self.looks.bodies[i]
        place = place_on(body, where, Field(None, words=f"place on '{owner}'"))
        out: dict[str, Any] = {"body": i, "pose": pose_numbers(still(place)), "modes": None, "second": None}
        # In a ruthless model joints do not follow the deformation.
        if isinstance(place, Node) and not (kinematic and self.model.tree.fidelity == RUTHLESS):
            out["modes"] = self.arrays.put(place.modes)
            if place.second is not None:
                out["second"] = self.arrays.put(place.second)
        return out

    def _frame_anchor(self, name: str) -> dict[str, Any]:
        return self._anchor(*split(name, self.model.bodies))

    def _joints(self) -> list[dict[str, Any]]:
        out = []
        loops = [loop for loop in self.model.tree.loops if isinstance(loop, joints.Joint)]
        for joint in (*self.looks.joints, *loops):
            if isinstance(joint, joints.Fixed | joints.Free | forces.WheelJoint):
                continue
            screws = joint.screws()
            moves = not np.any(screws[:, :3])
            axis = screws[0, 3:] if moves else screws[0, :3]
            if isinstance(joint, joints.Planar):
                kind = "plane"
            elif len(screws) > 1 and not isinstance(joint, joints.Cylindrical):
                kind = "ball"
            else:
                kind = "slide" if moves else "hinge"
            anchor = self._anchor(joint.child, joint.child_at)
            out.append({"name": joint.name, "kind": kind, "axis": axis.tolist(), "anchor": anchor})
        return out

    def _lines(self) -> list[dict[str, Any]]:
        """Springs, and rods of Distance constraints."""
        tree = self.model.tree
        found: list[tuple[str, str, forces.Place, forces.Place]] = []
        for f in (f for f in tree.forces if f.line):
            # a rope has one for each of its pieces
            pieces = list(itertools.pairwise(f.places()))
            found += [(f"{f.name}[{k}]" if k else f.name, f.line, a, b) for k, (a, b) in enumerate(pieces)]
        found += [(c.name, "rod", c.a, c.b) for c in tree.loops if isinstance(c, constraints.Distance)]
        return [
            {
                "name": name,
                "kind": kind,
                "a": self._anchor(*split(a, self.model.bodies)),
                "b": self._anchor(*split(b, self.model.bodies)),
            }
            for name, kind, a, b in found
        ]

    def _frames(self) -> list[str]:
        """Bodies, and frames and nodes on them."""
        out = []
        for body in self.model.tree.bodies:
            nodes = body.nodes if isinstance(body, FlexibleBody) else {}
            out += [body.name, *(f"{body.name}.{place}" for place in dict.fromkeys([*body.frames, *nodes]))]
        return out

    # ---- arrows

    def _arrows(self) -> list[Arrow]:
        """All that can be drawn, under the names that their columns have in a result."""
        out: list[Arrow] = []
        tree, model = self.model.tree, self.model
        for joint in self.looks.joints:
            out += self._reaction(joint)
            speeds = (model.group.v if model.group is not None else {}).get(joint.name)
            if speeds is not None and speeds.stop - speeds.start == 1:
                out.append(self._along(f"{joint.name}.tau", joint, _column("u", speeds.start)))
        for loop in tree.loops:
            out += self._loop(loop)
        for force in tree.forces:
            if isinstance(force, forces.PointForce):
                out += self._load(force)
            elif isinstance(force, forces.Actuator):
                out += self._actuator(force)
            elif isinstance(force, contacts.Contact):
                out.append(self._contact(force))
        return out

    def _reaction(self, joint: joints.Joint) -> list[Arrow]:
        """What a joint exerts on its child, moved from the child's frame to the joint."""
        i = self.model.bodies.index(joint.child)
        place = place_on(self.looks.bodies[i], joint.child_at, joint.owner.field("child_at"))
        modal = self.model.modal_slice(i, at.EQ)

        wrench = _answer("joint", joint.name)

        def moment(seen: Quantities) -> Array:
            p = np.broadcast_to(still(place)[:3, 3], (len(seen.t), 3))
            if isinstance(place, Node):
                p = p + seen.q[:, modal] @ np.asarray(place.modes)[3:].T
            both = wrench(seen)
            return both[:, :3] - np.cross(p, both[:, 3:])

        name = f"{joint.name}.reaction"
        return [
            Arrow(f"{name}.force", FORCE, joint.child, joint.child_at, "body", lambda o: wrench(o)[:, 3:]),
            Arrow(f"{name}.moment", MOMENT, joint.child, joint.child_at, "body", moment),
        ]

    def _loop(self, loop: joints.Joint | constraints.Constraint) -> list[Arrow]:
        exerted = _answer("loop", loop.name)
        if isinstance(loop, joints.Joint):
            owner, where = loop.child, loop.child_at
        elif isinstance(loop, constraints.FrameConstraint):
            owner, where = split(loop.b, self.model.bodies)
        elif isinstance(loop, constraints.Motion):
            joint = next(j for j in self.looks.joints if j.name == loop.joint)
            return [self._along(f"{loop.name}.tau", joint, exerted)] if len(joint.screws()) == 1 else []
        else:
            return []
        name = f"{loop.name}.reaction"
        return [
            Arrow(f"{name}.force", FORCE, owner, where, "frame", lambda o: exerted(o)[:, 3:]),
            Arrow(f"{name}.moment", MOMENT, owner, where, "frame", lambda o: exerted(o)[:, :3]),
        ]

    def _load(self, force: forces.PointForce) -> list[Arrow]:
        owner, where = split(force.at, self.model.bodies)
        axes = "world" if force.axes == forces.WORLD_AXES else "frame"
        return [
            Arrow(f"{force.name}.input.{part}", kind, owner, where, axes, _answer("force", force.name, part))
            for part, kind in (("force", FORCE), ("torque", MOMENT))
        ]

    def _contact(self, force: contacts.Contact) -> Arrow:
        """The force on surface `b`; on `a`, if `b` belongs to the world."""
        answer = _answer("force", force.name, "force")
        owner, where = split(force.b.at, self.model.bodies)
        sign = 1.0
        if owner == WORLD:
            (owner, where), sign = split(force.a.at, self.model.bodies), -1.0
        return Arrow(f"{force.name}.force", FORCE, owner, where, "world", lambda o: sign * answer(o))

    def _actuator(self, force: forces.Actuator) -> list[Arrow]:
        joint = next(j for j in self.looks.joints if j.name == force.joint)
        if len(joint.screws()) != 1:
            return []
        return [self._along(f"{force.name}.input", joint, _answer("force", force.name, "torque"))]

    def _along(self, name: str, joint: joints.Joint, size: Callable[[Quantities], Array]) -> Arrow:
        """What acts along the one freedom of a joint."""
        screw = joint.screws()[0]
        turns = bool(np.any(screw[:3]))
        direction = screw[:3] if turns else screw[3:]
        direction = direction / np.linalg.norm(direction)
        kind = MOMENT if turns else FORCE
        return Arrow(name, kind, joint.child, joint.child_at, "frame", lambda o: size(o).reshape(-1, 1) * direction)

    # ---- what moves

    def bytes_of_frame(self) -> int:
        numbers = 7 * len(self.model.bodies) + sum(b.n_modes for b in self.looks.bodies) + 3 * len(self.arrows)
        return 4 * (1 + numbers + len(self.wheels) + len(self.plots))

    def frames(self, run: Result, samples: NDArray[np.int64], arrays: Arrays) -> dict[str, Any]:
        """These samples of a run."""
        model = self.model
        here = [each[samples] for each in (run.t, run.q, run.v, run.u, run.x)]
        seen = Quantities(model, here[0], here[1], here[2], here[3], here[4], run.sensed)
        n = len(samples)
        asked = [("frame", body, what) for body in model.bodies for what in ("position", "quaternion")]
        found = seen.answer(asked)
        positions = np.stack([found[source] for source in asked[::2]], axis=1)
        # scalar first here, last in the page
        quaternions = np.stack([found[source][:, [1, 2, 3, 0]] for source in asked[1::2]], axis=1)
        modal = [model.modal_slice(i, at.EQ) for i in range(len(model.bodies))]
        eta = np.concatenate([seen.q[:, place] for place in modal], axis=1)
        q = model.group.q if model.group is not None else {}
        spin = [seen.q[:, q[self.looks.joints[i].name].start] for i in self.wheels]
        vectors = [arrow.vector(seen) for arrow in self.arrows]
        columns = [self.names.column(name) for name in self.plots]
        answers = seen.answer(column.source for column in columns)
        plotted = [answers[column.source][:, column.place] for column in columns]
        far = positions.size and np.abs(positions).max() > _FAR
        return {
            "t": arrays.put(seen.t, "f8"),
            "position": arrays.put(positions, "f8" if far else "f4"),
            "quaternion": arrays.put(quaternions),
            "eta": arrays.put(eta),
            "spin": arrays.put(np.stack(spin, axis=1) if spin else np.zeros((n, 0))),
            "vectors": arrays.put(np.stack(vectors, axis=1) if vectors else np.zeros((n, 0, 3))),
            "plotted": arrays.put(np.stack(plotted, axis=1) if plotted else np.zeros((n, 0))),
        }

    def choose(self, t: Array, most: int) -> NDArray[np.int64]:
        """Samples to show: all, or as many as fit, those nearest to equally spaced times, first and last included."""
        most = max(2, min(most, _BYTES // self.bytes_of_frame()))
        if len(t) <= most:
            return np.arange(len(t))
        times = np.linspace(t[0], t[-1], most)
        after = np.clip(np.searchsorted(t, times), 1, len(t) - 1)
        nearest = np.where(times - t[after - 1] < t[after] - times, after - 1, after)
        return np.unique(nearest)


def speed_for(seconds: float) -> float:
    """Real time, if one can follow it; otherwise a round number times it."""
    if not seconds > 0.0 or _SHORTEST <= seconds <= _LONGEST:
        return 1.0
    wanted = _SHORTEST * 2.0 if seconds < _SHORTEST else _LONGEST / 2.0
    return min(_SPEEDS, key=lambda s: abs(np.log(seconds / s / wanted)))


def _answer(*source: str) -> Callable[[Quantities], Array]:
    return lambda seen: seen.answer([source])[source]


def _column(what: str, k: int) -> Callable[[Quantities], Array]:
    return lambda seen: getattr(seen, what)[:, k]


def _listed(who: str, names: Names) -> list[str]:
    given = [names] if isinstance(names, str) else list(names)
    for name in given:
        if not isinstance(name, str):
            raise InputError(f"view: {who} has {name!r}, expected names such as 'arm.tip' or '*.reaction.force'.")
    return given


def _chosen(who: str, patterns: Names, offered: Sequence[str]) -> list[str]:
    """What names and wildcards stand for, each once; "hinge" and "hinge.reaction" also stand for all that they have."""
    found: dict[str, None] = {}
    for pattern in _listed(who, patterns):
        # Brackets are part of names, not a set of letters.
        plain = pattern.replace("[", "[[]")
        fits = [n for n in offered if fnmatch.fnmatchcase(n, plain)]
        if not fits and who == "arrows":
            fits = [n for n in offered if fnmatch.fnmatchcase(n, f"{plain}.*")]
        if not fits:
            raise InputError(f"view: {who} has '{pattern}', which nothing is called.{suggest(pattern, offered[:40])}")
        found.update(dict.fromkeys(fits))
    return list(found)
