"""URDF: the robot descriptions of ROS, as trees.  SI units, as ours.

yourdfpy reads the file: of the parsers on PyPI the one that is both kept up and free of a renderer or of ROS.  It stops
at the first bad number and knows no lines, so `_Checker` goes over the XML before, and reports all problems together.

A link's frame is our body's frame, and a joint's origin its place on the parent, so poses are the file's own:

    X_PB(q) = origin · exp(S q),   S = (axis, 0) or (0, axis).                                                      (1)

A link on a fixed joint is merged into the body that carries it, with mass m_i, centre c_i and inertia J_i in the
body's axes, and stays as a frame under its name:

    m = Σ m_i,   m c = Σ m_i c_i,   J = Σ J_i + m_i (|d|²1 − d dᵀ),   d = c_i − c.                                  (2)
"""

from __future__ import annotations

import dataclasses
import io
import math
import os
import xml.parsers.expat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from liegeo import model as lm
from liegeo.errors import InputError, ModelError
from liegeo.io.collisions import Collisions, checked_material, ground, surface_of
from liegeo.io.foreign import Array, Limit, UniqueNames, css_color, read_bytes, shorten, warn_once, with_stops
from liegeo.lie import SE3, SO3
from liegeo.model.checks import LARGEST, suggest

FIXED, FREE = "fixed", "free"
ROOT_JOINT = "root_joint"
WORLD = "world"
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
ONE_SPEED = ("revolute", "continuous", "prismatic")
# A node this close to a joint's origin, in metres, carries the joint: files are written with six digits.
NODE_TOLERANCE = 1e-5

# Tag -> attributes that are numbers -> how many, and whether they must be there.
_NUMBERS: dict[str, dict[str, tuple[int, bool]]] = {
    "origin": {"xyz": (3, False), "rpy": (3, False)},
    "axis": {"xyz": (3, True)},
    "mass": {"value": (1, True)},
    "inertia": {
        **dict.fromkeys(("ixx", "iyy", "izz"), (1, True)),
        **dict.fromkeys(("ixy", "ixz", "iyz"), (1, False)),
    },
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), (1, False)),
    "dynamics": dict.fromkeys(("damping", "friction"), (1, False)),
    "mimic": dict.fromkeys(("multiplier", "offset"), (1, False)),
    "box": {"size": (3, True)},
    "cylinder": {"radius": (1, True), "length": (1, True)},
    "sphere": {"radius": (1, True)},
    "mesh": {"scale": (3, False)},
    "color": {"rgba": (4, True)},
}
_WORDS = {"parent": "link", "child": "link", "mimic": "joint", "mesh": "filename"}
_GEOMETRIES = ("box", "cylinder", "sphere", "mesh")


class JointLimits(NamedTuple):
    """What a file allows a joint: position from `lower` to `upper`, speed and effort at most; infinite if not given."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class FlexibleLink:
    """A flexible body in the place of a link, and the nodes that carry joints, by the joints' names in the file.

    A joint that is not named is carried by the node at its origin.  One that is named keeps its place in the file: if
    the node is elsewhere, a rigid arm without mass leads from it to the joint.
    """

    body: lm.FlexibleBody
    nodes: Mapping[str, str] = field(default_factory=dict)


def read_urdf(
    path: str | Path,
    *,
    base: str = FIXED,
    flexible: Mapping[str, lm.FlexibleBody | FlexibleLink] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    mimic: bool = True,
    actuators: bool = False,
    merge_fixed: bool = True,
    meshes: bool = True,
    limits: bool = True,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    friction_speed: float = 1e-3,
    contact: Mapping[str, Any] | None = None,
) -> lm.Tree:
    """The tree of a URDF file; names are those of the file (docs/urdf.md says when not).

    The root link is fixed to the world, or floats (`base="free"`), on a joint called "root_joint".  `flexible` replaces
    links by flexible bodies, whose frames are those of the links.  Mimic joints become couplings in `loops`, or stay
    independent without `mimic`.  `actuators` gives every other joint with one speed a motor "‹joint›_motor" that keeps
    to the effort limit.  Fixed joints vanish, unless `merge_fixed` is off.  `packages` says where the folders of
    "package://" are; without it they are looked for above the file and in ROS_PACKAGE_PATH.  Without `meshes` no other
    file is opened.  Friction is Coulomb's, smoothed over `friction_speed`.  Joints with limits get stops
    "‹joint›_stops" (io/foreign.py says how stiff), unless `limits` is off.
    With `contact`, the material of contacts (docs/contact.md), boxes, balls and cylinders of `collision` touch the
    ground, the plane z = 0 of the world; links do not touch one another.
    """
    if base not in (FIXED, FREE):
        raise InputError(f"read_urdf: base is {base!r}, expected '{FIXED}' or '{FREE}'.")
    file = _parse(Path(path), mimic, contact is not None)
    given = {
        name: link if isinstance(link, FlexibleLink) else FlexibleLink(link) for name, link in (flexible or {}).items()
    }
    finder = _Meshes(Path(path), packages or {}) if meshes else None
    builder = _Builder(file, base, given, merge_fixed, finder, friction_speed, contact)
    tree = builder.tree(mimic, actuators, gravity)
    if limits:
        tree = with_stops(tree, builder.limits(mimic), builder.names, file.notes)
    warn_once(f"robot '{tree.name}' ({file.path.name})", file.notes)
    return tree


def joint_limits(path: str | Path) -> dict[str, JointLimits]:
    """Limits of position, speed and effort of the joints of a URDF file, by the names they have in the tree."""
    file = _parse(Path(path), mimic=False)
    names = _names(file)[1]
    limits = {}
    for joint in file.robot.joints:
        if joint.type not in ONE_SPEED:
            continue
        given = {} if joint.limit is None else {k: getattr(joint.limit, k) for k in JointLimits._fields}
        if joint.type == "continuous":
            given = {k: x for k, x in given.items() if k not in ("lower", "upper")}
        limits[names[joint.name]] = JointLimits(**{k: x for k, x in given.items() if x is not None})
    return limits


# ---- reading


@dataclass
class _File:
    """What yourdfpy made of a file, where its links and joints stand in it, and what to tell the user."""

    path: Path
    robot: Any
    lines: Mapping[tuple[str, str], int]
    notes: list[str]

    def place(self, kind: str, name: str) -> str:
        return f"{self.path.name}, line {self.lines[kind, name]}: {kind} '{name}'"


def _parse(path: Path, mimic: bool, collisions: bool = False) -> _File:
    data = read_bytes(path, "a URDF")
    _refuse_entities(path, data)
    try:
        from lxml import etree
        from yourdfpy import URDF
    except ImportError as error:
        raise InputError(
            f"read_urdf: the package '{error.name}' is missing.\n"
            "  Install it with pip install 'liegeo[urdf]', in a checkout with pip install '.[urdf]'."
        ) from None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # Well-formed, but deeper or longer than any robot.
        raise ModelError(f"{path.name}, line {error.lineno}: cannot be read as a URDF: {error.msg}.") from None
    checker = _Checker(path, root, collisions)
    problems = checker.problems(mimic)
    if problems:
        raise ModelError("\n".join(problems))
    # in UTF-8, as names of elements cannot be written in ASCII
    clean = io.BytesIO(etree.tostring(root, encoding="utf-8"))
    robot = URDF.load(clean, build_scene_graph=False, load_meshes=False).robot
    return _File(path, robot, checker.lines, checker.notes)


def _refuse_entities(path: Path, data: bytes) -> None:
    """Well-formed, and without a document type, as only that can hold entities, which grow or point elsewhere."""

    def refuse(*_: Any) -> None:
        raise ModelError(
            f"{path.name}, line {parser.CurrentLineNumber}: has a document type (DOCTYPE), expected plain XML.\n"
            "  Entities are not expanded: remove the declaration, and write out what it abbreviates."
        )

    parser = xml.parsers.expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except xml.parsers.expat.ExpatError as error:
        raise ModelError(
            f"{path.name}, line {error.lineno}: is not XML ({xml.parsers.expat.ErrorString(error.code)}).\n"
            "  Expected a URDF file, with xacro macros expanded."
        ) from None


class _Checker:
    """Goes over the XML: collects problems with lines, and removes what a tree does not need or cannot show."""

    def __init__(self, path: Path, root: Any, collisions: bool) -> None:
        self.path, self.root, self.collisions = path, root, collisions
        self.found: list[str] = []
        self.notes: list[str] = []
        self.lines: dict[tuple[str, str], int] = {}

    def _say(self, element: Any, message: str) -> None:
        self.found.append(f"{self.path.name}, line {element.sourceline}: {message}")

    def problems(self, mimic: bool) -> list[str]:
        root = self.root
        if root.tag != "robot":
            self._say(root, f"the outermost element is <{root.tag}>, expected <robot>.")
            return self.found
        if any("xacro" in str(element.tag) for element in root.iter()):
            self._say(root, "holds xacro macros, expected a URDF.\n  Expand them first: xacro robot.xacro > robot.urdf")
            return self.found
        root.set("name", root.get("name") or self.path.stem)
        self._prune()
        for kind in ("link", "joint"):
            self._names(kind)
        for element in root.iter():
            self._attributes(element)
        for link in root.findall("link"):
            inertial = link.find("inertial")
            for tag in ("mass", "inertia") if inertial is not None else ():
                found = inertial.find(tag)
                if found is None:
                    self._say(inertial, f"{self._who(inertial)}: <inertial> has no <{tag}>, expected one.")
                else:
                    self.lines[tag, link.get("name")] = found.sourceline
        for joint in root.findall("joint"):
            self._joint(joint)
        if not self.found:
            self._connected()
            if mimic:
                self._mimics()
        return self.found

    def _prune(self) -> None:
        kept = {
            "robot": ("link", "joint", "material"),
            "link": ("inertial", "visual", *(["collision"] if self.collisions else [])),
        }
        for parent in (self.root, *self.root.findall("link")):
            for child in list(parent):
                if child.tag not in kept[parent.tag]:
                    parent.remove(child)
        for link in self.root.findall("link"):
            for visual in (*link.findall("visual"), *link.findall("collision")):
                shapes = [shape.tag for shape in visual.iterfind("geometry/*")]
                if len(shapes) != 1 or shapes[0] not in _GEOMETRIES:
                    what = ", ".join(f"<{tag}>" for tag in shapes) or "nothing"
                    missing = "not shown" if visual.tag == "visual" else "it touches nothing"
                    self.notes.append(
                        f"line {visual.sourceline}: the geometry of a {visual.tag} of link '{link.get('name')}' is "
                        f"{what}, expected one of {', '.join(_GEOMETRIES)}: {missing}."
                    )
                    link.remove(visual)

    def _names(self, kind: str) -> None:
        for element in self.root.findall(kind):
            name = element.get("name")
            if not name:
                self._say(element, f"a {kind} has no name, expected one.")
            elif (kind, name) in self.lines:
                first = self.lines[kind, name]
                self._say(element, f"{kind} '{name}' was there before, in line {first}; expected different names.")
            else:
                self.lines[kind, name] = element.sourceline
        if kind == "link" and self.root.find("link") is None:
            self._say(self.root, f"robot '{self.root.get('name')}' has no links, expected at least one.")

    def _who(self, element: Any) -> str:
        """The link, joint or material that an element belongs to."""
        while element.getparent() is not None and element.getparent() is not self.root:
            element = element.getparent()
        return f"{element.tag} '{element.get('name', '')}'"

    def _attributes(self, element: Any) -> None:
        where = f"{self._who(element)}: <{element.tag}>"
        word = _WORDS.get(element.tag)
        if word is not None and not element.get(word):
            self._say(element, f"{where} has no {word}, expected a name.")
        for name, (n, needed) in _NUMBERS.get(element.tag, {}).items():
            text = element.get(name)
            if text is None:
                if needed:
                    self._say(element, f"{where} has no {name}, expected {_count(n)}.")
                continue
            words = text.replace(",", " ").split()
            element.set(name, " ".join(words))
            if not words and not needed:
                # what xacro makes of an argument without a value
                del element.attrib[name]
                continue
            numbers = [_number(word) for word in words]
            if element.tag == "mesh" and len(numbers) == 1:
                n = 1
            # A limit may well be infinite.
            infinite = element.tag != "limit" and any(x is not None and not abs(x) <= LARGEST for x in numbers)
            if None in numbers or len(numbers) != n or infinite or any(x != x for x in numbers):
                self._say(element, f"{where} has {name}={text!r}, expected {_count(n)} below {LARGEST:g}.")

    def _joint(self, joint: Any) -> None:
        who = f"joint '{joint.get('name', '')}'"
        kind = joint.get("type")
        if kind not in TYPES:
            self._say(joint, f"{who} is of type {kind!r}, expected one of {', '.join(TYPES)}.")
        for role in ("parent", "child"):
            element = joint.find(role)
            if element is None:
                self._say(joint, f"{who} has no <{role}>, expected one.")
            elif element.get("link") and ("link", element.get("link")) not in self.lines:
                name, links = element.get("link"), [name for kind, name in self.lines if kind == "link"]
                self._say(element, f"{who}: its {role} '{name}' is not a link of the robot.{suggest(name, links)}")
        axis = joint.find("axis")
        if axis is not None and kind in (*ONE_SPEED, "planar"):
            numbers = [_number(word) for word in axis.get("xyz", "").split()]
            if len(numbers) == 3 and not any(numbers):
                self._say(axis, f"{who}: its axis is zero, expected a direction.")
        dynamics = joint.find("dynamics")
        for name in ("damping", "friction") if dynamics is not None else ():
            value = _number(dynamics.get(name, "0"))
            if value is not None and value < 0.0:
                self._say(dynamics, f"{who}: its {name} is {value:g}, must be ≥ 0.")

    def _connected(self) -> None:
        """One root, and every other link under it."""
        parents: dict[str, tuple[str, Any]] = {}
        for joint in self.root.findall("joint"):
            child = joint.find("child").get("link")
            if child in parents:
                other = parents[child][1].get("name")
                self._say(
                    joint,
                    f"link '{child}': joints '{other}' and '{joint.get('name')}' lead into it, expected one.\n"
                    "  URDF describes trees: close a loop in the tree that is read, with a joint in its `loops`.",
                )
            parents[child] = joint.find("parent").get("link"), joint
        links = [link.get("name") for link in self.root.findall("link")]
        roots = [name for name in links if name not in parents]
        if len(roots) > 1:
            named = ", ".join(f"'{name}' (line {self.lines['link', name]})" for name in roots)
            self._say(self.root, f"no joint leads into the links {named}, expected only one such link, the root.")
        safe = set(roots)
        for name in links:
            chain: dict[str, None] = {}
            while name not in safe and name not in chain:
                chain[name] = None
                name = parents[name][0]
            if name in chain:
                ring = list(chain)[list(chain).index(name) :]
                self._say(
                    parents[name][1],
                    f"links carry each other in a ring: {' → '.join(reversed([*ring, name]))}; expected a tree.",
                )
                return
            safe.update(chain)

    def _mimics(self) -> None:
        joints = {joint.get("name"): joint for joint in self.root.findall("joint")}
        leaders = {}
        for name, joint in joints.items():
            mimic = joint.find("mimic")
            if mimic is None:
                continue
            leader = mimic.get("joint")
            if leader not in joints:
                self._say(
                    mimic,
                    f"joint '{name}' mimics '{leader}', which is not a joint.{suggest(leader, list(joints))}",
                )
                continue
            leaders[name] = leader
            for who in (name, leader):
                kind = joints[who].get("type")
                if kind not in (*ONE_SPEED, "fixed"):
                    self._say(
                        mimic,
                        f"joint '{name}' mimics '{leader}', but '{who}' is {kind}: "
                        f"expected {', '.join(ONE_SPEED)} or fixed.",
                    )
        for name in leaders:
            chain = [name]
            while chain[-1] in leaders and leaders[chain[-1]] not in chain:
                chain.append(leaders[chain[-1]])
            if leaders.get(chain[-1]) == name:
                self._say(joints[name], f"joints mimic each other in a ring: {' → '.join([*chain, name])}.")
                return


def _count(n: int) -> str:
    return "a number" if n == 1 else f"{n} numbers"


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _names(file: _File, is_world: bool = False) -> tuple[dict[str, str], dict[str, str], UniqueNames]:
    """Our names of links and joints, and who holds all names; a link that is the world is called so."""
    names = UniqueNames()
    links = {
        link.name: WORLD if is_world and link.name == WORLD else names.take(link.name, "link")
        for link in file.robot.links
    }
    joints = {joint.name: names.take(joint.name, "joint") for joint in file.robot.joints}
    return links, joints, names


# ---- shapes


class _Meshes:
    """Finds and reads the files of meshes, each once."""

    def __init__(self, urdf: Path, packages: Mapping[str, str | Path]) -> None:
        self.folder = urdf.resolve().parent
        self.packages = {name: Path(folder) for name, folder in packages.items()}
        self.read: dict[tuple[str, tuple[float, ...]], tuple[Array, Any] | str] = {}

    def find(self, name: str) -> Path | None:
        scheme, separator, rest = name.partition("://")
        if not separator:
            found = self.folder / name
            return found if found.is_file() else None
        if scheme == "file":
            return Path(rest) if Path(rest).is_file() else None
        if scheme != "package":
            # Nothing is fetched from elsewhere.
            return None
        package, _, inside = rest.lstrip("/").partition("/")
        return next((f / inside for f in self._folders(package) if (f / inside).is_file()), None)

    def _folders(self, package: str) -> Iterator[Path]:
        if package in self.packages:
            yield self.packages[package]
            return
        for above in (self.folder, *self.folder.parents):
            if above.name == package:
                yield above
            yield above / package
        for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
            for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
                yield Path(entry) / inside / package
                if Path(entry).name == package:
                    yield Path(entry)

    def load(self, name: str, scale: Any) -> tuple[Array, Any] | str:
        """Vertices and triangles, or why there are none."""
        size = tuple(np.broadcast_to(np.asarray(1.0 if scale is None else scale, dtype=np.float64), (3,)).tolist())
        key = name, size
        if key not in self.read:
            self.read[key] = self._load(name, size)
        return self.read[key]

    def _load(self, name: str, scale: tuple[float, ...]) -> tuple[Array, Any] | str:
        path = self.find(name)
        if path is None:
            return f"mesh '{name}' was not found"
        import trimesh

        try:
            mesh = trimesh.load_mesh(path)
            if isinstance(mesh, trimesh.Scene):
                mesh = mesh.to_mesh()
            vertices, triangles = np.asarray(mesh.vertices) * scale, np.asarray(mesh.faces)
            if np.prod(scale) < 0.0:
                # A mirror turns the outside in.
                triangles = triangles[:, ::-1]
        except Exception as error:
            # The importers of trimesh raise whatever their formats make them raise; the dynamics does not need them.
            return f"mesh '{name}' cannot be read ({type(error).__name__}: {error})"
        return (vertices, triangles) if len(triangles) else f"mesh '{name}' holds no triangles"


# ---- building


# A body in the making: links, and where they are on it.
_Group = list[tuple[str, Array]]


class _Builder:
    """From links and joints to bodies, joints and loops."""

    def __init__(
        self,
        file: _File,
        base: str,
        flexible: Mapping[str, FlexibleLink],
        merge_fixed: bool,
        meshes: _Meshes | None,
        friction_speed: float,
        contact: Mapping[str, Any] | None = None,
    ) -> None:
        self.file, self.robot, self.flexible = file, file.robot, dict(flexible)
        self.meshes, self.friction_speed = meshes, friction_speed
        self.contact = None if contact is None else checked_material("read_urdf", contact)
        self.links = {link.name: link for link in self.robot.links}
        self.children: dict[str, list[Any]] = {name: [] for name in self.links}
        for joint in self.robot.joints:
            self.children[joint.parent].append(joint)
        moved = {joint.child for joint in self.robot.joints}
        self.root = next(name for name in self.links if name not in moved)
        root = self.links[self.root]
        # ROS calls the fixed frame so, and hangs robots on it that stand somewhere.
        bare = root.inertial is None and not root.visuals and self.root not in flexible
        self.world = base == FIXED and self.root == WORLD and bare
        self.link_names, self.joint_names, self.names = _names(file, self.world)
        self.base, self.merge = base, merge_fixed
        self.problems: list[str] = []
        self.unseen: list[str] = []
        self.arms: list[tuple[lm.Body, lm.Joint]] = []
        self.materials = _colors(self.robot)

    def tree(self, mimic: bool, actuators: bool, gravity: ArrayLike) -> lm.Tree:
        self._check_flexible()
        groups, joints = self._groups()
        self.bodies: dict[str, lm.Body | lm.FlexibleBody] = {}
        for name, group in groups.items():
            body = self._body(name, group)
            if body is not None:
                self.bodies[name] = body
        owner = {link: (name, X) for name, group in groups.items() for link, X in group}
        if self.problems:
            raise ModelError("\n".join(self.problems))
        made: list[lm.Joint] = [] if self.world else [self._root_joint()]
        for joint in joints:
            made += self._joint(joint, owner)
        if self.problems:
            raise ModelError("\n".join(self.problems))
        loops = [self._coupling(joint) for joint in joints if mimic and joint.mimic and joint.type != "fixed"]
        driven = [joint for joint in joints if actuators and joint.type in ONE_SPEED and not (mimic and joint.mimic)]
        motors = [self._motor(joint) for joint in driven]
        forces: list[lm.Force] = [*motors, *self._contacts(owner)]
        self._weightless(joints, owner)
        unseen = list(dict.fromkeys(self.unseen))
        self.file.notes += [f"shapes left out: {shorten(unseen)}."] if unseen else []
        self.file.notes += self.names.note()
        bodies = [*self.bodies.values(), *(body for body, _ in self.arms)]
        return lm.Tree(
            bodies,
            made,
            gravity=gravity,
            name=self.robot.name,
            forces=forces,
            loops=loops,
        )

    def _check_flexible(self) -> None:
        for name, link in self.flexible.items():
            if name not in self.links:
                self.problems.append(
                    f"read_urdf: flexible has '{name}', which is not a link.{suggest(name, list(self.links))}"
                )
                continue
            body: Any = link.body
            if not isinstance(body, lm.FlexibleBody):
                self.problems.append(
                    f"read_urdf: flexible['{name}'] is {type(body).__name__}, expected a FlexibleBody or FlexibleLink."
                )
                continue
            on_it = [joint.name for joint in self.robot.joints if name in (joint.parent, joint.child)]
            on_it += [ROOT_JOINT] if name == self.root else []
            for joint, node in link.nodes.items():
                if joint not in on_it:
                    self.problems.append(
                        f"read_urdf: flexible['{name}'] gives a node for '{joint}', "
                        f"which is no joint of that link.{suggest(joint, on_it)}"
                    )
                elif node not in body.nodes:
                    self.problems.append(
                        f"read_urdf: flexible['{name}'] lets node '{node}' carry joint '{joint}', "
                        f"but the body has no such node.{suggest(node, list(body.nodes))}"
                    )
        if self.problems:
            raise ModelError("\n".join(self.problems))

    def _groups(self) -> tuple[dict[str, _Group], list[Any]]:
        """Bodies with the links that they are made of, and the joints that are left, from the root outward."""
        groups: dict[str, _Group] = {}
        joints: list[Any] = []
        if not self.world:
            groups[self.root] = [(self.root, np.eye(4))]
        pending: list[tuple[Any, str, Array]] = [(j, self.root, np.eye(4)) for j in reversed(self.children[self.root])]
        while pending:
            joint, body, X_BP = pending.pop()
            stays = joint.type == "fixed" and self.merge and body in groups
            if stays and body not in self.flexible and joint.child not in self.flexible:
                X_BC = X_BP @ _pose(joint.origin)
                groups[body].append((joint.child, X_BC))
                pending += [(j, body, X_BC) for j in reversed(self.children[joint.child])]
                continue
            joints.append(joint)
            groups[joint.child] = [(joint.child, np.eye(4))]
            pending += [(j, joint.child, np.eye(4)) for j in reversed(self.children[joint.child])]
        return groups, joints

    def _body(self, name: str, group: _Group) -> lm.Body | lm.FlexibleBody | None:
        shapes = [shape for link, X in group for shape in self._shapes(link, X)]
        if name in self.flexible:
            body = self.flexible[name].body
            looks = body.shapes if body.skin is not None or body.shapes else shapes
            return dataclasses.replace(body, name=self.link_names[name], shapes=looks)
        mass, com, inertia = self._mass(group)
        frames = {self.link_names[link]: X for link, X in group if link != name}
        try:
            return lm.Body(self.link_names[name], mass, com, inertia, frames, shapes)
        except ModelError as error:
            merged = [link for link, _ in group if self.links[link].inertial is not None]
            along = f"\n  It is made of the links {', '.join(merged)}." if len(merged) > 1 else ""
            for fault in error.faults:
                # of several links nobody knows which one is wrong
                key = (str(fault.field[0]), merged[0]) if len(merged) == 1 else ("link", name)
                line = self.file.lines.get(key, self.file.lines["link", name])
                self.problems.append(f"{self.file.path.name}, line {line}: {fault}{along}")
            return None

    def _mass(self, group: _Group) -> tuple[float, Array, Array]:
        """(2)"""
        parts = []
        for link, X in group:
            inertial = self.links[link].inertial
            if inertial is not None:
                X_BI = X @ _pose(inertial.origin)
                R = X_BI[:3, :3]
                parts.append((inertial.mass, X_BI[:3, 3], R @ inertial.inertia @ R.T))
        mass = float(sum(m for m, _, _ in parts))
        # Without mass any centre is right.
        com = sum((m * c for m, c, _ in parts), np.zeros(3)) / (mass or 1.0)
        inertia = np.zeros((3, 3))
        for m, c, J in parts:
            d = c - com
            inertia += J + m * (d @ d * np.eye(3) - np.outer(d, d))
        return mass, com, inertia

    def _shapes(self, link: str, X: Array) -> Iterator[lm.Shape]:
        for visual in self.links[link].visuals:
            geometry, at = visual.geometry, X @ _pose(visual.origin)
            material = visual.material
            own = material.color if material is not None else None
            color = css_color(own.rgba) if own is not None else self.materials.get(material.name) if material else None
            try:
                if geometry.box is not None:
                    yield lm.Box(at=at, color=color, size=geometry.box.size)
                elif geometry.sphere is not None:
                    yield lm.Sphere(at=at, color=color, radius=geometry.sphere.radius)
                elif geometry.cylinder is not None:
                    solid = geometry.cylinder
                    yield lm.Cylinder(at=at, color=color, radius=solid.radius, length=solid.length)
                elif self.meshes is not None:
                    mesh = self.meshes.load(geometry.mesh.filename, geometry.mesh.scale)
                    if isinstance(mesh, str):
                        self.unseen.append(mesh)
                    else:
                        yield lm.Mesh(at=at, color=color, vertices=mesh[0], triangles=mesh[1])
            except ModelError as error:
                self.unseen.append(f"link '{link}': {str(error).rstrip('.')}")

    def _contacts(self, owner: Mapping[str, tuple[str, Array]]) -> list[lm.Contact]:
        """Contacts of all collision shapes with the ground."""
        if self.contact is None:
            return []
        found, plane, names = Collisions(self.names, self.contact), ground(), UniqueNames()
        skipped: list[str] = []
        for link in self.robot.links:
            body, X = owner.get(link.name, (None, np.eye(4)))
            if body not in self.bodies:
                continue
            shapes: list[lm.Shape] = []
            for collision in link.collisions:
                geometry, at = collision.geometry, X @ _pose(collision.origin)
                if geometry.box is not None:
                    shapes.append(lm.Box(at=at, size=geometry.box.size))
                elif geometry.sphere is not None:
                    shapes.append(lm.Sphere(at=at, radius=geometry.sphere.radius))
                elif geometry.cylinder is not None:
                    shapes.append(lm.Cylinder(at=at, radius=geometry.cylinder.radius, length=geometry.cylinder.length))
                else:
                    skipped.append(f"link '{link.name}' (mesh)")
            for shape in shapes:
                name = names.take(self.link_names[link.name], "surface")
                surface = surface_of(shape, name, self.link_names[body])
                if surface is not None:
                    found.add(plane, surface)
        if skipped:
            self.file.notes.append(f"collision shapes that touch nothing: {shorten(skipped)}.")
        self.file.notes += found.notes()
        if found.contacts:
            self.file.notes.append("contacts of links with one another: the ground alone is touched.")
        return found.contacts

    # ---- joints

    def _root_joint(self) -> lm.Joint:
        name = self.names.take(ROOT_JOINT, "joint")
        kind = lm.Free if self.base == FREE else lm.Fixed
        return kind(
            name=name,
            parent=WORLD,
            child=self.link_names[self.root],
            child_at=self._carried(self.root, ROOT_JOINT, np.eye(4)),
        )

    def _joint(self, joint: Any, owner: Mapping[str, tuple[str, Array]]) -> Iterator[lm.Joint]:
        X_PJ, X_JC = _pose(joint.origin), np.eye(4)
        if joint.type == "planar":
            # Ours moves in the x–y plane of its frame: turn z to the normal.
            X_JC[:3, :3] = _z_to(joint.axis)
            X_PJ = X_PJ @ X_JC
        parent: str = WORLD
        at: str | Array = X_PJ
        if joint.parent in owner:
            body, X_BP = owner[joint.parent]
            parent, at = self.link_names[body], X_BP @ X_PJ
            if body in self.flexible:
                place = self._carrier(body, joint, at)
                if place is None:
                    return
                parent, at = place
        if self.arms and self.arms[-1][0].name == parent:
            yield self.arms[-1][1]
        given: dict[str, Any] = {
            "name": self.joint_names[joint.name],
            "parent": parent,
            "child": self.link_names[joint.child],
            "at": at,
            "child_at": self._carried(joint.child, joint.name, X_JC),
        }
        if joint.type in ONE_SPEED:
            dynamics = joint.dynamics
            given |= {"axis": joint.axis, "friction_speed": self.friction_speed}
            given |= {
                name: float(value)
                for name in ("damping", "friction")
                if dynamics is not None and (value := getattr(dynamics, name)) is not None
            }
        yield _KINDS[joint.type](**given)

    def _carrier(self, body: str, joint: Any, X_BJ: Array) -> tuple[str, str | Array] | None:
        """The body and the place on it that carry a joint on a flexible link: a node, or an arm from one."""
        link, made = self.flexible[body], self.bodies[body]
        assert isinstance(made, lm.FlexibleBody)
        p = X_BJ[:3, 3]
        distances = {name: float(np.linalg.norm(np.asarray(node.pose)[:3, 3] - p)) for name, node in made.nodes.items()}
        near = min(distances, key=lambda name: distances[name], default=None)
        chosen = link.nodes.get(joint.name, near)
        if chosen is None or (joint.name not in link.nodes and distances[chosen] > NODE_TOLERANCE):
            nearest = f"the nearest node '{chosen}' is {distances[chosen]:.3g} m away" if chosen else "it has no nodes"
            position = ", ".join(f"{x:g}" for x in p)
            self.problems.append(
                f"{self.file.place('joint', joint.name)}: sits at ({position}) on the flexible link '{body}', "
                f"but {nearest}.\n  Reduce the body with a node there, or say which node carries the joint: "
                f"FlexibleLink(body, nodes={{'{joint.name}': ...}})."
            )
            return None
        if distances[chosen] <= NODE_TOLERANCE:
            return self.link_names[body], self._turned(body, chosen, joint.name, X_BJ)
        X_BN = np.asarray(made.nodes[chosen].pose)
        arm = self.names.take(f"{self.link_names[body]}_to_{joint.name}", "arm")
        mount = self.names.take(f"{arm}_mount", "joint")
        self.arms.append((lm.Body(arm), lm.Fixed(name=mount, parent=self.link_names[body], child=arm, at=chosen)))
        return arm, SE3.inverse(X_BN) @ X_BJ

    def _carried(self, link: str, joint: str, X_JC: Array) -> str | Array | None:
        """Where the joint into a link sits on it: the link's frame, on the node there if the link is flexible."""
        plain = None if np.array_equal(X_JC, np.eye(4)) else X_JC
        if link not in self.flexible:
            return plain
        nodes = self.flexible[link].body.nodes
        chosen = self.flexible[link].nodes.get(joint)
        if chosen is None:
            at_origin = [
                name for name, n in nodes.items() if np.linalg.norm(np.asarray(n.pose)[:3, 3]) <= NODE_TOLERANCE
            ]
            chosen = at_origin[0] if at_origin else None
        elif (distance := float(np.linalg.norm(np.asarray(nodes[chosen].pose)[:3, 3]))) > NODE_TOLERANCE:
            raise ModelError(
                f"read_urdf: flexible['{link}'] lets node '{chosen}' carry joint '{joint}', but the node is "
                f"{distance:.3g} m from the link's origin, where the joint is.\n"
                "  Move the body so that its inboard node is at the origin of its frame."
            )
        return plain if chosen is None else self._turned(link, chosen, joint, X_JC)

    def _turned(self, link: str, node: str, joint: str, X_BJ: Array) -> str:
        """The name of a node that moves as the given one, in the axes of a joint."""
        body = self.bodies[link]
        assert isinstance(body, lm.FlexibleBody)
        old = body.nodes[node]
        if np.allclose(np.asarray(old.pose), X_BJ, rtol=0.0, atol=1e-12):
            return node
        name = f"{node}_{joint}"
        while name in body.nodes:
            name += "_"
        nodes = {**body.nodes, name: lm.Node(X_BJ, old.modes, old.second)}
        self.bodies[link] = dataclasses.replace(body, nodes=nodes)
        return name

    # ---- the rest

    def _coupling(self, joint: Any) -> lm.Coupling:
        """joint = multiplier · leader + offset"""
        follow, name = joint.mimic, self.joint_names[joint.name]
        terms = {name: 1.0}
        leads = next(j for j in self.robot.joints if j.name == follow.joint)
        # A fixed joint stays at 0.
        if follow.multiplier and leads.type != "fixed":
            terms[self.joint_names[follow.joint]] = -follow.multiplier
        return lm.Coupling(name=self.names.take(f"{name}_mimic", "coupling"), terms=terms, offset=follow.offset)

    def limits(self, mimic: bool) -> dict[str, Limit]:
        """Return the ranges of joints that turn or slide; one that follows another has those of its leader."""
        found = {}
        for joint in self.robot.joints:
            if joint.type not in ("revolute", "prismatic") or joint.limit is None or (mimic and joint.mimic):
                continue
            lower, upper = joint.limit.lower, joint.limit.upper
            # a file that gives no range has zeros
            if lower is not None and upper is not None and lower < upper:
                found[self.joint_names[joint.name]] = Limit(float(lower), float(upper))
        return found

    def _motor(self, joint: Any) -> lm.Actuator:
        name = self.joint_names[joint.name]
        effort = joint.limit.effort if joint.limit is not None else None
        # Exporters write 0 where nobody knew.
        return lm.Actuator(
            name=self.names.take(f"{name}_motor", "motor"), joint=name, limit=abs(effort) if effort else math.inf
        )

    def _weightless(self, joints: Sequence[Any], owner: Mapping[str, tuple[str, Array]]) -> None:
        """Say which joints move nothing that has mass: equations of motion cannot be solved for them."""
        carrier = {joint.child: owner[joint.parent][0] for joint in joints if joint.parent in owner}
        heavy: set[str] = set()
        for body, made in self.bodies.items():
            while (made.mass or np.any(made.inertia)) and body not in heavy:
                heavy.add(body)
                body = carrier.get(body, body)
        weightless = [self.joint_names[j.name] for j in joints if j.type != "fixed" and j.child not in heavy]
        if weightless:
            self.file.notes.append(
                f"joints {', '.join(weightless)} move links without mass: forward dynamics needs inertia there, "
                "an armature, or model.lock(...)."
            )


_KINDS: dict[str, type[lm.Joint]] = {
    "revolute": lm.Revolute,
    "continuous": lm.Revolute,
    "prismatic": lm.Prismatic,
    "fixed": lm.Fixed,
    "floating": lm.Free,
    "planar": lm.Planar,
}


def _pose(origin: Any) -> Array:
    return np.eye(4) if origin is None else np.asarray(origin, dtype=np.float64)


def _z_to(axis: ArrayLike) -> Array:
    """The smallest rotation that turns z to a direction."""
    n = np.asarray(axis, dtype=np.float64) / np.linalg.norm(axis)
    across = np.cross((0.0, 0.0, 1.0), n)
    sine = float(np.linalg.norm(across))
    if sine == 0.0:
        return np.diag([1.0, -1.0, -1.0]) if n[2] < 0.0 else np.eye(3)
    return np.asarray(SO3.exp(across / sine * math.atan2(sine, n[2])))


def _colors(robot: Any) -> dict[str, str]:
    """Colours of materials by name: declared for the robot, or within the first visual that has it."""
    within = [visual.material for link in robot.links for visual in link.visuals if visual.material is not None]
    colors: dict[str, str] = {}
    for material in (*robot.materials, *within):
        if material.name and material.color is not None:
            colors.setdefault(material.name, css_color(material.color.rgba))
    return colors
