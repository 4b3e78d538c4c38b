"""What bodies look like: their own shapes and skins, or something made from what is known of them.

A rigid body without shapes becomes the box that has its inertia, and rods from its centre of mass to its joints.  A
flexible body without a skin becomes rods between its nodes, which bend.  A wheel becomes a disc.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from liegeo.errors import Field, InputError
from liegeo.lie import SO3Q
from liegeo.model import constraints, contacts, forces, joints, shapes
from liegeo.model.body import Body, FlexibleBody, Node, place_on
from liegeo.model.checks import split_name
from liegeo.model.compiler import WORLD
from liegeo.model.model import Model
from liegeo.view.arrays import Arrays

Array = NDArray[np.float64]

# After Okabe and Ito's colours, which the colour-blind can tell apart; neighbours differ most.
PALETTE = ("#3b7dd8", "#e08a1e", "#2fa57b", "#c65d9b", "#8a6fd1", "#d2603a", "#4fb0c6", "#a3a847")
_WHEEL = "#8d949e"

# As shares of the size of the model: rods, the thinnest box, balls of point masses, wheels without mass.
_ROD, _THIN, _BALL, _WHEEL_RADIUS = 0.014, 0.03, 0.05, 0.06
# Corners of a rod between nodes, and places along it.
_CORNERS = 8


def pose_numbers(X: ArrayLike) -> list[float]:
    """A 4×4 pose as the page has it: position, then quaternion x, y, z, w."""
    X = np.asarray(X, dtype=np.float64)
    w, x, y, z = SO3Q.from_matrix(X[:3, :3]).tolist()
    return [*X[:3, 3].tolist(), x, y, z, w]


def still(place: Any) -> Array:
    """The pose of a place on a body that is not deformed."""
    return np.asarray(place.pose if isinstance(place, Node) else place, dtype=np.float64)


class Looks:
    """Parts of every body of a model, in the order of its bodies."""

    def __init__(self, model: Model, arrays: Arrays) -> None:
        self.model, self.arrays = model, arrays
        by_name = {joint.name: joint for joint in model.tree.all_joints}
        self.joints = [by_name[name] for name in model.joints]
        self.bodies = [model.body(i) for i in range(len(model.bodies))]
        self.places = self._places()
        self.size = self._size()

    def parts(self, i: int) -> list[dict[str, Any]]:
        """Rigid things fixed to body i."""
        body = self.bodies[i]
        if body.shapes:
            return [self._shape(body.name, shape) for shape in body.shapes]
        if touching := self._surfaces(body.name):
            return touching
        if isinstance(self.joints[i], forces.WheelJoint):
            return [self._wheel(i)]
        if isinstance(body, FlexibleBody):
            return []
        return self._rigid(i)

    def world(self) -> list[dict[str, Any]]:
        """Return what does not move: surfaces of the world."""
        return self._surfaces(WORLD)

    def _surfaces(self, owner: str) -> list[dict[str, Any]]:
        """Return the surfaces of contacts that belong to a body, or to the world; points have no size."""
        found: dict[int, contacts.ContactSurface] = {}
        for force in self.model.tree.forces:
            found |= {id(surface): surface for surface in contacts.surfaces_of(force)}
        out = []
        for surface in found.values():
            name, where = split(surface.at, self.model.bodies)
            if name != owner:
                continue
            body = None if owner == WORLD else self.bodies[self.model.bodies.index(owner)]
            X = still(place_on(body, where, surface.owner.field("at")))
            out += [self._shape(owner, shape) for shape in surface_shapes(surface, X, self.size)]
        return out

    def skin(self, i: int) -> dict[str, Any] | None:
        """The surface of a flexible body, with its modes one after another."""
        body = self.bodies[i]
        if not isinstance(body, FlexibleBody):
            return None
        skin = body.skin if body.skin is not None else self._sticks(body)
        if skin is None:
            return None
        modes = np.asarray(skin.modes)
        return {
            "vertices": self.arrays.put(skin.vertices),
            "triangles": self.arrays.put(skin.triangles, "u4"),
            "modes": self.arrays.put(modes.reshape(-1, modes.shape[2]).T),
        }

    def color(self, i: int) -> str:
        if isinstance(self.joints[i], forces.WheelJoint):
            return _WHEEL
        given = next((shape.color for shape in self.bodies[i].shapes if shape.color is not None), None)
        return given or PALETTE[i % len(PALETTE)]

    # ---- what is known

    def _places(self) -> list[list[Array]]:
        """By body: where joints, loops and force elements meet it, in its frame."""
        tree = self.model.tree
        found: list[Any] = []
        for joint in (*self.joints, *(loop for loop in tree.loops if isinstance(loop, joints.Joint))):
            found += [(joint.parent, joint.at), (joint.child, joint.child_at)]
        for force in tree.forces:
            found += force.places()
        for loop in tree.loops:
            if isinstance(loop, constraints.FrameConstraint):
                found += [loop.a, loop.b]
        out: dict[str, list[Array]] = {body.name: [] for body in self.bodies}
        by_name = {body.name: body for body in self.bodies}
        for owner, where in (split(place, by_name) for place in found):
            if owner in out:
                p = still(place_on(by_name[owner], where, Field(None, words=f"place on '{owner}'")))[:3, 3]
                if not any(np.allclose(p, other) for other in out[owner]):
                    out[owner].append(p)
        return list(out.values())

    def _size(self) -> float:
        """About how long the largest body is."""
        lengths = []
        for body, places in zip(self.bodies, self.places, strict=True):
            points = [*places, np.asarray(body.com) if isinstance(body, Body) else np.zeros(3)]
            if isinstance(body, FlexibleBody):
                points += list(np.asarray(body.skin.vertices)) if body.skin is not None else []
                points += [still(node)[:3, 3] for node in body.nodes.values()]
            for shape in body.shapes:
                points += _corners(shape)
            lengths.append(float(np.linalg.norm(np.ptp(np.array(points), axis=0))))
        if max(lengths) > 0.0:
            return max(lengths)
        sides = [_inertia_box(body)[0].max() for body in self.bodies if isinstance(body, Body) and body.mass > 0.0]
        return float(max([*sides, 0.0])) or 1.0

    # ---- made of what is known

    def _shape(self, body: str, shape: shapes.Shape) -> dict[str, Any]:
        out: dict[str, Any] = {"pose": pose_numbers(still(shape.at)), "color": shape.color}
        if isinstance(shape, shapes.Box):
            return out | {"kind": "box", "size": np.asarray(shape.size).tolist()}
        if isinstance(shape, shapes.Sphere):
            return out | {"kind": "sphere", "radius": shape.radius}
        if isinstance(shape, shapes.Cylinder):
            return out | {"kind": "cylinder", "radius": shape.radius, "length": shape.length}
        if not isinstance(shape, shapes.Mesh):
            known = ", ".join(kind.__name__ for kind in shapes.ALL_SHAPES)
            raise InputError(f"view: body '{body}' has a shape {type(shape).__name__}, expected one of {known}.")
        vertices, triangles = self.arrays.put(shape.vertices), self.arrays.put(shape.triangles, "u4")
        return out | {"kind": "mesh", "vertices": vertices, "triangles": triangles}

    def _rigid(self, i: int) -> list[dict[str, Any]]:
        body, places = self.bodies[i], self.places[i]
        assert isinstance(body, Body)
        rolling = self._rolling(body.name)
        if rolling is not None:
            return [rolling]
        center = np.asarray(body.com, dtype=np.float64)
        if not body.mass > 0.0:
            center = places[0] if places else np.zeros(3)
        rods = [self._rod(center, p) for p in places if np.linalg.norm(p - center) > 2.0 * _ROD * self.size]
        if not body.mass > 0.0:
            return rods or [self._ball(center, _ROD)]
        sides, axes = _inertia_box(body)
        if sides.max() < _THIN * self.size:
            heaviest = max(other.mass for other in self.bodies)
            return [*rods, self._ball(center, _BALL * float(np.cbrt(body.mass / heaviest)))]
        sides = np.clip(sides, _THIN * self.size, 1.5 * self.size)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = axes, center
        return [{"kind": "box", "size": sides.tolist(), "pose": pose_numbers(X), "color": None}, *rods]

    def _rolling(self, name: str) -> dict[str, Any] | None:
        """The disc or ball that rolls, if one does."""
        for loop in self.model.tree.loops:
            if not isinstance(loop, constraints.Rolling) or split(loop.b, self.model.bodies)[0] != name:
                continue
            i = self.model.bodies.index(name)
            X = still(place_on(self.bodies[i], split(loop.b, self.model.bodies)[1], loop.owner.field("b")))
            if loop.shape == constraints.BALL:
                return {"kind": "sphere", "radius": loop.radius, "pose": pose_numbers(X), "color": None}
            X = X @ _along(np.asarray(loop.axis, dtype=np.float64), np.zeros(3))
            return {
                "kind": "wheel",
                "radius": loop.radius,
                "length": 0.12 * loop.radius,
                "pose": pose_numbers(X),
                "color": None,
            }
        return None

    def _wheel(self, i: int) -> dict[str, Any]:
        joint, body = self.joints[i], self.bodies[i]
        assert isinstance(joint, forces.WheelJoint)
        axis = joint.screws()[0, :3]
        spin = float(axis @ np.asarray(body.inertia) @ axis)
        radius = _WHEEL_RADIUS * self.size
        if body.mass > 0.0:
            # a disc with this mass and this inertia, if it is not larger than what carries it
            radius = min(float(np.sqrt(2.0 * spin / body.mass)), 0.5 * self.size)
        pose = pose_numbers(_along(axis, np.zeros(3)))
        return {"kind": "wheel", "radius": radius, "length": 0.3 * radius, "pose": pose, "color": None}

    def _rod(self, a: Array, b: Array) -> dict[str, Any]:
        length = float(np.linalg.norm(b - a))
        radius = min(_ROD * self.size, 0.15 * length)
        pose = pose_numbers(_along(b - a, 0.5 * (a + b)))
        return {"kind": "cylinder", "radius": radius, "length": length, "pose": pose, "color": None}

    def _ball(self, center: Array, share: float) -> dict[str, Any]:
        X = np.eye(4)
        X[:3, 3] = center
        radius = max(share, 1.5 * _ROD) * self.size
        return {"kind": "sphere", "radius": radius, "pose": pose_numbers(X), "color": None}

    def _sticks(self, body: FlexibleBody) -> shapes.Skin | None:
        """Rods along the shortest lines that connect all nodes; every end turns and moves with its node."""
        nodes = list(body.nodes.values())
        if not nodes:
            return None
        if len(nodes) == 1:
            nodes.append(Node(np.eye(4), np.zeros((6, body.n_modes))))
        p = np.stack([still(node)[:3, 3] for node in nodes])
        links = minimum_spanning_tree(np.linalg.norm(p[:, np.newaxis] - p, axis=2)).tocoo()
        angle = 2.0 * np.pi * np.arange(_CORNERS) / _CORNERS
        ring = _ROD * self.size * np.stack([np.cos(angle), np.sin(angle), np.zeros(_CORNERS)], axis=1)
        vertices: list[Array] = []
        moved: list[Array] = []
        triangles: list[Any] = []
        for a, b in zip(links.row, links.col, strict=True):
            start = len(vertices) * _CORNERS
            R = _along(p[b] - p[a], np.zeros(3))[:3, :3]
            for end in (a, b):
                arms = ring @ R.T
                modes = np.asarray(nodes[end].modes)
                turned = np.cross(modes[:3].T[np.newaxis], arms[:, np.newaxis], axis=2)
                vertices.append(p[end] + arms)
                moved.append(modes[3:] + turned.transpose(0, 2, 1))
            k = start + np.arange(_CORNERS)
            after = np.roll(k, -1)
            walls = [np.stack([k, after, after + _CORNERS], 1), np.stack([k, after + _CORNERS, k + _CORNERS], 1)]
            fan = np.array([(0, j, j + 1) for j in range(1, _CORNERS - 1)])
            triangles += [*walls, start + fan[:, ::-1], start + _CORNERS + fan]
        if not vertices:
            return None
        return shapes.Skin(np.concatenate(vertices), np.concatenate(moved), np.concatenate(triangles))


def surface_shapes(surface: contacts.ContactSurface, X: Array, size: float) -> list[shapes.Shape]:
    """Return shapes that look like a surface with the pose X in its body; `size` is that of the model."""
    if isinstance(surface, contacts.SphereSurface):
        return [shapes.Sphere(radius=surface.radius, at=X)] if surface.radius > 0.0 else []
    if isinstance(surface, contacts.BoxSurface):
        return [shapes.Box(size=surface.size, at=X)]
    if isinstance(surface, contacts.CylinderSurface | contacts.CapsuleSurface):
        out: list[shapes.Shape] = [shapes.Cylinder(radius=surface.radius, length=surface.length, at=X)]
        if isinstance(surface, contacts.CapsuleSurface):
            ends = (X[:3, 3] + sign * 0.5 * surface.length * X[:3, 2] for sign in (-1.0, 1.0))
            out += [shapes.Sphere(radius=surface.radius, at=end) for end in ends]
        return out
    if isinstance(surface, contacts.ProfileSurface):
        line = np.asarray(surface.points)
        n, wide = len(line), 2.0 * size
        points = np.concatenate([np.column_stack([line[:, 0], np.full(n, y), line[:, 1]]) for y in (-wide, wide)])
        k = np.arange(n - 1)
        triangles = np.concatenate([np.stack([k, k + 1, k + n], 1), np.stack([k + 1, k + n + 1, k + n], 1)])
        return [shapes.Mesh(vertices=points, triangles=triangles, at=X)]
    if isinstance(surface, contacts.BoreSurface | contacts.SocketSurface):
        return [_wall(surface, X)]
    # a plane: a thin plate below it
    thick = 0.01 * size
    middle = X.copy()
    middle[:3, 3] -= 0.5 * thick * X[:3, 2]
    return [shapes.Box(size=(6.0 * size, 6.0 * size, thick), at=middle)]


def _wall(surface: contacts.BoreSurface | contacts.SocketSurface, X: Array) -> shapes.Shape:
    """Return the wall of a hole: of a bore a tube as long as it is wide, of a socket the lower half."""
    angle = np.linspace(0.0, 2.0 * np.pi, 4 * _CORNERS + 1)
    if isinstance(surface, contacts.BoreSurface):
        radii, heights = surface.radius * np.ones(2), surface.radius * np.array([-1.0, 1.0])
    else:
        down = np.linspace(0.0, 0.5 * np.pi, _CORNERS + 1)
        radii, heights = surface.radius * np.sin(down), -surface.radius * np.cos(down)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    rings = [r * circle + (0.0, 0.0, z) for r, z in zip(radii, heights, strict=True)]
    n = len(angle)
    k = (n * np.arange(len(radii) - 1)[:, np.newaxis] + np.arange(n - 1)).ravel()
    # seen from inside and from outside
    sides = [np.stack([k, k + 1, k + n], 1), np.stack([k + 1, k + n + 1, k + n], 1)]
    triangles = np.concatenate([*sides, *(side[:, ::-1] for side in sides)])
    return shapes.Mesh(vertices=np.concatenate(rings), triangles=triangles, at=X)


def split(place: forces.Place, bodies: Container[str]) -> tuple[str, Any]:
    """The body of a place, and where on it."""
    if isinstance(place, str):
        owner, rest = split_name(place, bodies)
        return owner, rest or None
    return place


def _along(direction: Array, position: Array) -> Array:
    """A pose whose z axis has this direction."""
    z = direction / np.linalg.norm(direction)
    start = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(start, z)
    x /= np.linalg.norm(x)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), position
    return X


def _inertia_box(body: Body) -> tuple[Array, Array]:
    """Sides and axes of the even box that has a body's mass and inertia: m(b² + c²)/12 = J₁ and so on."""
    J, axes = np.linalg.eigh(np.asarray(body.inertia))
    sides = np.sqrt(np.maximum(6.0 * (J.sum() - 2.0 * J) / body.mass, 0.0))
    # rotations, not reflections
    return sides, axes * np.sign(np.linalg.det(axes))


def _corners(shape: shapes.Shape) -> list[Array]:
    X = still(shape.at)
    if isinstance(shape, shapes.Mesh):
        return list(np.asarray(shape.vertices) @ X[:3, :3].T + X[:3, 3])
    if isinstance(shape, shapes.Box):
        half = 0.5 * np.asarray(shape.size)
    elif isinstance(shape, shapes.Cylinder):
        half = np.array([shape.radius, shape.radius, 0.5 * shape.length])
    elif isinstance(shape, shapes.Sphere):
        half = np.full(3, shape.radius)
    else:
        return []
    return [X[:3, 3] + X[:3, :3] @ (half * sign) for sign in ((1, 1, 1), (-1, -1, -1), (1, -1, 1), (-1, 1, -1))]
