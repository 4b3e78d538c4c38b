"""Flexible bodies as a file says them: where they come from (liegeo.flex), and how they become bodies of a tree."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import hashlib
import inspect
import pickle
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from liegeo import flex
from liegeo.errors import InputError
from liegeo.flex import readers, sections, sid, solid
from liegeo.flex.fe import DIRECTIONS
from liegeo.io import units
from liegeo.io.fields import (
    DIRECTION,
    FLAG,
    INERTIA,
    NAME,
    TEXT,
    Form,
    Key,
    by_name,
    choice,
    list_of,
    made,
    mapping,
    number,
    read_array,
    read_name,
    read_number,
    read_whole,
    show,
    vector,
    whole,
)
from liegeo.io.forms import BODY_FORM, FRAMES, SHAPES, form, kind_of, number_array
from liegeo.io.problems import WrongError, below
from liegeo.model.body import Body, FlexibleBody, LumpedNode, Node
from liegeo.model.checks import suggest
from liegeo.model.joints import Fixed, Joint
from liegeo.model.shapes import ALL_SHAPES, Shape, Skin
from liegeo.recorded import MODES, is_recording, settled

MaterialForm = mapping(
    "MaterialForm",
    "A linear elastic, isotropic material.",
    E=Key(number(units.MODULUS), "Young's modulus"),
    rho=Key(number(units.DENSITY), "density"),
    nu=Key(number(units.NUMBER), "Poisson's ratio; or give G", None),
    G=Key(number(units.MODULUS), "shear modulus; or give nu", None),
)


SECTION_MAKERS: Mapping[str, Callable[..., flex.Section]] = {
    maker.__name__: maker for maker in (sections.rectangle, sections.circle, sections.tube, sections.i_beam)
}
_SAYS = {
    "width_y": "along the beam's y axis",
    "height_z": "along the beam's z axis",
    "diameter": "of the circle",
    "outer": "outer diameter",
    "inner": "inner diameter",
    "flange": "thickness of the flanges",
    "web": "thickness of the web",
}


def _section_form(kind: str, maker: Callable[..., Any]) -> type[Form]:
    says = str(maker.__doc__).partition("\n")[0]
    keys = {
        name: Key(number(units.LENGTH), _SAYS[name]) for name in inspect.signature(maker).parameters if name != "name"
    }
    return mapping(kind, says, kind=Key(Literal[kind], says), **keys)


IntegralsForm = mapping(
    "IntegralsForm",
    "A cross-section by its integrals.",
    kind=Key(Literal["integrals"], "a cross-section by its integrals"),
    A=Key(number(units.AREA), "area"),
    Iy=Key(number(units.SECOND_MOMENT), "∫z² dA, against bending along z"),
    Iz=Key(number(units.SECOND_MOMENT), "∫y² dA, against bending along y"),
    J=Key(number(units.SECOND_MOMENT), "Saint-Venant's torsion constant"),
    Ip=Key(number(units.SECOND_MOMENT), "polar moment of inertia; Iy + Iz if not given", None),
    Asy=Key(number(units.AREA), "shear area for forces along y", None),
    Asz=Key(number(units.AREA), "shear area for forces along z", None),
)


SECTION_FORMS: dict[str, type[Form]] = {kind: _section_form(kind, maker) for kind, maker in SECTION_MAKERS.items()}
SECTION_FORMS["integrals"] = IntegralsForm


def _read_directions(value: Any) -> Any:
    """Nodes with all directions (a list) or with some (a mapping to lists)."""
    if isinstance(value, list):
        return [read_name(x) for x in value]
    if not isinstance(value, dict):
        raise InputError(f"is {show(value)}, expected a list of nodes, or nodes with lists of {', '.join(DIRECTIONS)}")
    found = {}
    for node, directions in value.items():
        if not isinstance(directions, list) or any(d not in DIRECTIONS for d in directions):
            raise InputError(f"has {show(directions)} for node '{node}', expected a list of {', '.join(DIRECTIONS)}")
        found[read_name(node)] = tuple(DIRECTIONS.index(d) for d in directions)
    return found


_NODES = {"type": ["string", "integer"]}
_WITH_DIRECTIONS = made(
    _read_directions,
    {
        "anyOf": [
            {"type": "array", "items": _NODES},
            {"type": "object", "additionalProperties": {"type": "array", "items": {"enum": list(DIRECTIONS)}}},
        ]
    },
)


#: Loads that are those of what the body carries.
APPENDAGES = "appendages"


def _read_loads(value: Any) -> Any:
    """6 × 6 inertias by node, or the word for those of what the body carries."""
    if value == APPENDAGES:
        return value
    if not isinstance(value, dict):
        raise InputError(f"is {show(value)}, expected 6 × 6 inertias by node, or '{APPENDAGES}'")
    found = {}
    for node, inertia in value.items():
        try:
            found[read_name(node)] = read_array(inertia, [units.NUMBER], (6, 6), "6 × 6 numbers")
        except InputError as error:
            raise InputError(f"of node '{node}' {error}") from None
    return found


_LOADS = made(
    _read_loads,
    {
        "anyOf": [
            {"const": APPENDAGES},
            {"type": "object", "additionalProperties": {"type": "array", "description": "6 × 6 numbers"}},
        ]
    },
)


ModesForm = mapping(
    "ModesForm",
    "Which shapes a flexible body may take (liegeo.flex.reduce).",
    method=Key(choice(*flex.MODE_SETS), "the set of component modes", "craig-bampton"),
    interfaces=Key(_WITH_DIRECTIONS, "nodes where joints and loads are; with all directions, or some", ()),
    count=Key(whole(), "so many normal modes", None),
    max_frequency=Key(number(units.FREQUENCY), "or all up to this frequency", None),
    effective_mass=Key(number(units.NUMBER), "or enough for this share of the mass", None),
    root=Key(NAME, "the node that the body's frame moves with; without one the modes are free", None),
    fixed=Key(_WITH_DIRECTIONS, "nodes held in space; '*' is every node", ()),
    imaginary=Key(NAME, "a node that supports the static shapes", None),
    loads=Key(
        _LOADS,
        "6 × 6 inertias on nodes, rotation first; or 'appendages': those of the bodies that it carries, at `initial`",
        None,
    ),
)


_DAMPING = "a share of critical, a list with one a mode, or alpha, beta, ratio and matrix"


def _read_stiffening(value: Any) -> bool | int:
    if isinstance(value, bool) or (isinstance(value, int) and value > 0):
        return value
    raise InputError(f"is {show(value)}, expected true, false, or a number of modes ≥ 1")


_STIFFENING = made(_read_stiffening, {"anyOf": [{"type": "boolean"}, {"type": "integer", "minimum": 1}]})


def _read_damping(value: Any) -> flex.Damping:
    if not isinstance(value, dict):
        return flex.Damping(ratio=_read_ratio(value))
    readers_: dict[str, Callable[[Any], Any]] = {
        "alpha": lambda x: read_number(x, [units.RATE]),
        "beta": lambda x: read_number(x, [units.TIME]),
        "ratio": _read_ratio,
        "matrix": lambda x: read_array(x, [units.NUMBER], (None, None), "a modal matrix"),
    }
    strange = [key for key in value if key not in readers_]
    if strange:
        raise InputError(f"has the key '{strange[0]}', expected {_DAMPING}.{suggest(strange[0], list(readers_))}")
    return flex.Damping(**{key: readers_[key](x) for key, x in value.items()})


def _read_ratio(value: Any) -> Any:
    if isinstance(value, list):
        return read_array(value, [units.NUMBER], (None,), "a share of critical a mode")
    return read_number(value, [units.NUMBER])


_ENTRY: dict[str, Any] = {"type": ["number", "string"]}
DAMPING = made(
    _read_damping,
    {
        "anyOf": [
            {"type": ["number", "string", "array"], "items": _ENTRY},
            {
                "type": "object",
                "properties": {
                    "alpha": _ENTRY | {"description": "times the mass, in 1/s"},
                    "beta": _ENTRY | {"description": "times the stiffness, in s"},
                    "ratio": {"description": "share of critical, one or one a mode"},
                    "matrix": {"type": "array", "description": "modal"},
                },
                "additionalProperties": False,
            },
        ]
    },
)


LinkForm = mapping(
    "LinkForm",
    "Several nodes as one.",
    kind=Key(choice("rigid", "average"), "tied to a new node (RBE2), or observed on average (RBE3)"),
    nodes=Key(list_of(NAME), "their names; * and ? stand for others"),
    position=Key(vector(units.LENGTH), "of the new node; their centre if not given", None),
)


FromFE = mapping(
    "FromFE",
    "What all bodies of finite elements have.",
    modes=Key(ModesForm, "which shapes it may take"),
    nodes=Key(list_of(NAME), "nodes that joints, forces, loops and outputs refer to", ()),
    links=Key(by_name(LinkForm), "places made from several nodes, by name", {}),
    damping=Key(DAMPING, _DAMPING, None),
    stiffening=Key(_STIFFENING, "whether loads stiffen it (geometric terms), or how many of its softest modes", False),
    frames=Key(FRAMES.type, FRAMES.says, {}),
    shapes=Key(SHAPES, "rigid things fixed to its frame, as they look", ()),
)


def _read_profile(value: Any) -> Any:
    """One section by name, or those of both ends."""
    if isinstance(value, list):
        if len(value) != 2:
            raise InputError(f"is {show(value)}, expected a section, or two: those of both ends")
        return tuple(read_name(x) for x in value)
    return read_name(value)


_PROFILE = made(
    _read_profile,
    {"type": ["string", "array"], "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
)
_BEAM = {
    "section": Key(_PROFILE, "a section by name, or two: those of both ends of a taper"),
    "elements": Key(whole(10_000), "so many elements of equal length", 1),
    "theory": Key(choice("euler", "timoshenko"), "without or with shear", "euler"),
    "rotary": Key(FLAG, "whether bending moves the rotary inertia of sections", True),
    "up": Key(DIRECTION, "the direction of the section's z axis", None),
}

BeamForm = mapping(
    "beam",
    "A straight beam along x from the body's origin, with nodes 0 to the number of its elements.",
    FromFE,
    kind=Key(Literal["beam"], "a straight beam along x from the body's origin, nodes 0 to n"),
    length=Key(number(units.LENGTH), "of the whole beam"),
    material=Key(NAME, "of `materials`"),
    **_BEAM,
    pieces=Key(whole(), "cut into so many bodies name_1, name_2, … with fixed joints between them", None),
)
_FrameBeam = mapping(
    "FrameBeam",
    "A beam between two points; points within are called name.1, name.2, …",
    **{"from": Key(NAME, "the point where it begins"), "to": Key(NAME, "the point where it ends")},
    **_BEAM,
    material=Key(NAME, "of `materials`, if not the frame's", None),
)
_FrameMass = mapping(
    "FrameMass",
    "A rigid body on a point.",
    mass=Key(number(units.MASS), "of it"),
    inertia=Key(INERTIA, "about its centre of mass", (0.0, 0.0, 0.0)),
    com=Key(vector(units.LENGTH), "from the point to its centre of mass", (0.0, 0.0, 0.0)),
)
FrameForm = mapping(
    "frame",
    "Beams between points, and rigid masses on them.",
    FromFE,
    kind=Key(Literal["frame"], "beams between points, and rigid masses on them"),
    material=Key(NAME, "of `materials`"),
    points=Key(by_name(vector(units.LENGTH)), "positions by name"),
    beams=Key(by_name(_FrameBeam), "by name"),
    masses=Key(by_name(_FrameMass), "by point", {}),
)
FEForm = mapping(
    "fe",
    "Matrices of a finite-element program (liegeo.flex.readers).",
    FromFE,
    kind=Key(Literal["fe"], "matrices of a finite-element program"),
    file=Key(TEXT, "in the folder of the model: " + "; ".join(f"{', '.join(r.suffixes)}" for r in readers.ALL_READERS)),
    options=Key(by_name(Any), "of the reader: matrices, stiffness, mass, dofs, nodes, free", {}),
)
SolidForm = mapping(
    "solid",
    "Solid elements on a mesh that meshio reads.",
    FromFE,
    kind=Key(Literal["solid"], "solid elements on a mesh that meshio reads"),
    file=Key(TEXT, "the mesh, in the folder of the model"),
    material=Key(NAME, "of `materials`, with nu"),
)


def _read_counts(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) != 3:
        raise InputError(f"is {show(value)}, expected three whole numbers")
    counts = tuple(read_whole(n, _MOST_SOLIDS) for n in value)
    if abs(counts[0] * counts[1] * counts[2]) > _MOST_SOLIDS:
        raise InputError(f"is {show(value)}, expected at most {_MOST_SOLIDS} elements together")
    return counts


# A block of more is better meshed elsewhere.
_MOST_SOLIDS = 100_000
_COUNTS = made(_read_counts, {"type": "array", "items": _ENTRY, "minItems": 3, "maxItems": 3})
BlockForm = mapping(
    "block",
    "A block of solid elements along x, its nodes called i,j,k by half elements.",
    FromFE,
    kind=Key(Literal["block"], "a block of solid elements along x, its nodes called i,j,k by half elements"),
    size=Key(vector(units.LENGTH), "along x, y and z"),
    elements=Key(_COUNTS, "along x, y and z"),
    element=Key(choice("hex8", "hex20"), "the kind of its elements", "hex20"),
    material=Key(NAME, "of `materials`, with nu"),
)
SIDForm = mapping(
    "sid",
    "Standard input data of a flexible body.",
    kind=Key(Literal["sid"], "standard input data (SID)"),
    file=Key(TEXT, "in the folder of the model"),
    mode_index=Key(whole(), "which index of m1 counts modes: 2, or 3 in files of FEMBeam", 2),
    tolerance=Key(number(units.NUMBER), "for what SID says twice", 1e-6),
    frames=Key(FRAMES.type, FRAMES.says, {}),
    shapes=Key(SHAPES, "rigid things fixed to its frame, as they look", ()),
)
LumpedForm = mapping(
    "lumped",
    "Rigid pieces at nodes, with given mode shapes [JR90, section 3].",
    kind=Key(Literal["lumped"], "rigid pieces at nodes, with given mode shapes"),
    nodes=Key(by_name(form(LumpedNode)), "the pieces, by name"),
    stiffness=Key(number_array(None, None), "of the modes"),
    damping=Key(number_array(None, None), "of the modes", None),
    frames=Key(FRAMES.type, FRAMES.says, {}),
    shapes=Key(SHAPES, "rigid things fixed to its frame, as they look", ()),
)
_RECORD = {
    "C_t": ((3, None), "∫φ dm"),
    "C_r0": ((3, None), "∫r×φ dm"),
    "C_r1": ((3, None, None), "∫φ×φ dm, [axis, l, k], and what displacements of second order add"),
    "J_1": ((None, 3, 3), "first-order change of the inertia, a matrix a mode"),
    "J_2": ((None, None, 3, 3), "second-order change of the inertia"),
    "M_e": ((None, None), "modal mass"),
    "K": ((None, None), "modal stiffness"),
    "D": ((None, None), "modal damping"),
}
RecordForm = mapping(
    "record",
    "A flexible body as its kinetic and elastic energy (liegeo.FlexibleBody).",
    kind=Key(Literal["record"], "a flexible body as the matrices of its energy"),
    mass=Key(number(units.MASS), "of the body"),
    moment=Key(vector(units.FIRST_MOMENT), "first moment of mass, about the frame's origin"),
    inertia=Key(INERTIA, "about the frame's origin"),
    **{name: Key(number_array(*shape), says) for name, (shape, says) in _RECORD.items()},
    C_t1=Key(number_array(3, None, None), "of displacements of second order", None),
    J_2_second=Key(number_array(None, None, 3, 3), "the share of displacements of second order in J_2", None),
    nodes=Key(by_name(form(Node)), "places that deform, by name", {}),
    frames=Key(FRAMES.type, FRAMES.says, {}),
    shapes=Key(SHAPES, "rigid things fixed to its frame, as they look", ()),
    skin=Key(form(Skin), "the surface that it shows", None),
)
BODY_FORMS: Mapping[str, type[Form]] = {
    "rigid": BODY_FORM,
    "beam": BeamForm,
    "frame": FrameForm,
    "fe": FEForm,
    "solid": SolidForm,
    "block": BlockForm,
    "sid": SIDForm,
    "lumped": LumpedForm,
    "record": RecordForm,
}


# ---- from forms to bodies


@dataclass(frozen=True)
class Shelf:
    """What bodies are made from: materials and sections by name, and files of the model's folder.

    `opened` takes the files that readers found by themselves, beside those that the model names.
    """

    materials: Mapping[str, flex.Material]
    sections: Mapping[str, flex.Section]
    folder: Path
    file: Callable[[str], Path]
    opened: list[Path] = field(default_factory=list)
    # inertias on nodes of what a body carries, by its name and finite elements
    loads: Callable[[str, flex.FEModel], Mapping[str, Any]] | None = None

    def material(self, name: str, *path: str) -> flex.Material:
        if name not in self.materials:
            raise WrongError(
                f"is '{name}', which is not one of the materials.{suggest(name, list(self.materials))}", *path
            )
        return self.materials[name]

    def profile(self, names: Any, *path: str) -> Any:
        for name in names if isinstance(names, tuple) else (names,):
            if name not in self.sections:
                raise WrongError(
                    f"is '{name}', which is none of the sections.{suggest(name, list(self.sections))}", *path
                )
        return tuple(self.sections[n] for n in names) if isinstance(names, tuple) else self.sections[names]

    def open(self, name: str, *path: str) -> Path:
        try:
            return self.file(name)
        except InputError as error:
            raise WrongError(str(error), *path) from None


def make_section(name: str, given: Form) -> flex.Section:
    options = settled(given.given(), MODES)
    if given.kind == "integrals":
        return flex.Section(**options, name=name)
    return SECTION_MAKERS[given.kind](**options, name=name)


def settled_form(given: Form, *but: str) -> Form:
    """Return a form whose numbers make modes, and are not recorded (liegeo/recorded.py), but for these keys."""
    if not is_recording():
        return given
    parts = {name: getattr(given, name) for name in given.model_fields_set if name not in but}
    return given.model_copy(
        update={
            name: settled_form(part) if isinstance(part, Form) else settled(part, MODES) for name, part in parts.items()
        }
    )


def make_shapes(given: Sequence[Form]) -> tuple[Shape, ...]:
    classes = {kind_of(cls): cls for cls in ALL_SHAPES}
    made = []
    for k, shape in enumerate(given):
        with below("shapes", k):
            made.append(classes[shape.kind](**shape.given()))
    return tuple(made)


def make_bodies(name: str, given: Form, shelf: Shelf) -> tuple[list[Body | FlexibleBody], list[Joint]]:
    """The body, or the bodies of a beam in pieces and the joints between them."""
    if given.kind == "rigid":
        return [Body(name, **given.given("shapes"), shapes=make_shapes(given.shapes or ()))], []
    # damping makes no modes, and what is fixed to the body neither
    given = settled_form(given, "damping", "frames", "shapes", "D")
    if isinstance(given, FromFE):
        return _from_fe(name, given, shelf)
    if given.kind == "record":
        return [_record(name, given)], []
    if given.kind == "sid":
        file = shelf.open(given.file, "file")
        with below("file"):
            found = sid.read_sid(file, mode_index=given.mode_index)
            body = sid.to_flexible_body(found, name, tolerance=given.tolerance)
    else:
        pieces = [LumpedNode(**piece.given(), name=node) for node, piece in given.nodes.items()]
        with below(K="stiffness", D="damping", M_e="nodes", mass="nodes", inertia="nodes"):
            body = FlexibleBody.from_nodes(name, pieces, given.stiffness, given.damping)
    frames = {**body.frames, **given.frames}
    return [dataclasses.replace(body, frames=frames, shapes=make_shapes(given.shapes))], []


def _record(name: str, given: Form) -> FlexibleBody:
    n = len(given.M_e)
    skin = None
    if given.skin is not None:
        with below("skin"):
            skin = Skin(**given.skin.given())
    matrices = {key: _sized(getattr(given, key), shape, n) for key, (shape, _) in _RECORD.items()}
    nodes = {node: Node(x.pose, _sized(x.modes, (6, None), n), x.second) for node, x in given.nodes.items()}
    return FlexibleBody(
        name=name,
        **given.given("shapes", "skin", "nodes", *_RECORD),
        **matrices,
        nodes=nodes,
        shapes=make_shapes(given.shapes),
        skin=skin,
    )


def _sized(matrix: Any, shape: tuple[int | None, ...], n: int) -> Any:
    """An empty list has lost its shape."""
    return np.zeros([n if k is None else k for k in shape]) if np.size(matrix) == 0 and n == 0 else matrix


# The reductions of this process, and of earlier ones (liegeo/flex/store.py).  Loading a model again with other
# parameters, as FMUs, studies and changes of a mechanism do, would otherwise repeat what takes most of its time.
STORE = flex.ReductionStore()
# Keys of a body that its modes do not depend on.
_NOT_OF_MODES = ("damping", "stiffening", "nodes", "frames", "shapes")


def _reduced(name: str, given: Form, shelf: Shelf) -> flex.Reduction:
    """Return the finite elements of a body, reduced; from before, if they are the same."""
    if isinstance(given.modes.loads, str):
        if given.kind == "beam" and given.pieces is not None:
            raise WrongError(
                f"is '{APPENDAGES}', which a beam in pieces cannot have, as each piece carries the next; give numbers",
                "modes",
                "loads",
            )
        assert shelf.loads is not None
        loads = shelf.loads(name, _finite_elements(name, given, shelf))
        given = given.model_copy(update={"modes": given.modes.model_copy(update={"loads": loads})})
    if given.kind not in _WITHOUT_FILES:
        return _reduce(name, given, shelf)
    # not even the finite elements are made again, which the store would have to be asked with
    return STORE.remembered(_made_from(name, given, shelf), lambda: _reduce(name, given, shelf))


def _made_from(name: str, given: Form, shelf: Shelf) -> bytes:
    """Return a digest of all that the modes of a body without files are made from."""
    parts = [given, *getattr(given, "beams", {}).values()]
    named = [
        {name: things.get(name) for part in parts for name in np.atleast_1d(getattr(part, key, None) or [])}
        for key, things in (("material", shelf.materials), ("section", shelf.sections))
    ]
    return hashlib.sha256(pickle.dumps((name, given.model_dump(exclude=set(_NOT_OF_MODES)), named))).digest()


def _plain(value: Any) -> Any:
    """Return a value of a form without classes that are made at run time, which cannot be pickled."""
    if isinstance(value, Form):
        return value.kind if hasattr(value, "kind") else "", value.model_dump()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


# Bodies of this process, which are never changed, by what they are made from.  A payload that changes leaves the links.
_BODIES: OrderedDict[bytes, list[Body | FlexibleBody]] = OrderedDict()
_MOST_BODIES = 64


def _known_bodies(key: bytes | None, make: Callable[[], list[Body | FlexibleBody]]) -> list[Body | FlexibleBody]:
    """Return the bodies of this key, made if they are not known; without a key they are made."""
    if key is None:
        return make()
    found = _BODIES.get(key)
    if found is None:
        found = _BODIES[key] = make()
        while len(_BODIES) > _MOST_BODIES:
            with contextlib.suppress(KeyError):
                _BODIES.popitem(last=False)
    return list(found)


def _finite_elements(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    fe = _SOURCES[given.kind](name, given, shelf)
    for link, options in given.links.items():
        chosen = [n for n in fe.names if any(fnmatch.fnmatchcase(n, pattern) for pattern in options.nodes)]
        if not chosen:
            raise WrongError(f"are {show(options.nodes)}, which match no node of '{name}'", "links", link, "nodes")
        join = fe.rigid_link if options.kind == "rigid" else fe.average
        with below("links", link):
            fe = join(link, chosen, options.position)
    return fe


def _reduce(name: str, given: Form, shelf: Shelf) -> flex.Reduction:
    fe = _finite_elements(name, given, shelf)
    n_choices = sum(getattr(given.modes, key) is not None for key in _CHOICES)
    if n_choices != 1:
        said = f"{', '.join(_CHOICES[:-1])} and {_CHOICES[-1]}"
        raise WrongError(f"has {n_choices} of the keys {said}, expected exactly one", "modes")
    with below("modes", n_modes="count"):
        return STORE.reduce(
            fe,
            _spread(given.modes.interfaces, fe),
            given.modes.method,
            n_modes=given.modes.count,
            fixed=_spread(given.modes.fixed, fe),
            **given.modes.given("method", "interfaces", "count", "fixed"),
        )


def _from_fe(name: str, given: Form, shelf: Shelf) -> tuple[list[Body | FlexibleBody], list[Joint]]:
    pieces = given.pieces if given.kind == "beam" else None
    if pieces is not None and pieces < 1:
        raise WrongError(f"is {pieces}, must be ≥ 1", "pieces")
    names = [name] if pieces is None else [f"{name}_{k + 1}" for k in range(pieces)]
    end = str(given.elements) if given.kind == "beam" else ""
    nodes = [*given.nodes, *([end, "0"] if pieces is not None else [])]

    def make() -> list[Body | FlexibleBody]:
        reduction, shapes = _reduced(name, given, shelf), make_shapes(given.shapes)
        options = {"damping": given.damping, "stiffening": given.stiffening, "frames": given.frames}
        bodies = [flex.flexible_body(reduction, each, nodes, **options) for each in names]
        return [dataclasses.replace(body, shapes=shapes) if shapes else body for body in bodies]

    # a file may change, loads depend on other bodies, and recorded numbers belong to one reading
    alone = given.kind in _WITHOUT_FILES and not isinstance(given.modes.loads, str) and not is_recording()
    rest = pickle.dumps([_plain(getattr(given, key)) for key in _NOT_OF_MODES])
    bodies = _known_bodies(_made_from(name, given, shelf) + rest if alone else None, make)
    joints: list[Joint] = [Fixed(name=f"{a}-{b}", parent=a, child=b, at=end, child_at="0") for a, b in pairwise(names)]
    return bodies, joints


def _spread(places: Any, fe: flex.FEModel) -> Any:
    """With '*' written out: every node."""
    if isinstance(places, dict) and "*" in places:
        return dict.fromkeys(fe.names, places["*"]) | {k: v for k, v in places.items() if k != "*"}
    return places


# How a body says which normal modes it has: by one of these.
_CHOICES = ("count", "max_frequency", "effective_mass")
# The keys of what `flex.beam` and `Frame.beam` call otherwise.
_BEAM_KEYS = {"n_elements": "elements", "kind": "theory", "a": "from", "b": "to"}


def _beam_fe(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    section, material = shelf.profile(given.section, "section"), shelf.material(given.material, "material")
    if given.pieces is not None and isinstance(section, tuple):
        raise WrongError("is a taper, which a beam in pieces cannot have; make each piece a body of its own", "section")
    with below(**_BEAM_KEYS):
        return flex.beam(
            given.length / (given.pieces or 1),
            section,
            material,
            given.elements,
            kind=given.theory,
            rotary=given.rotary,
            up=given.up,
            name=name,
        )


def _frame_fe(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    frame = flex.Frame(shelf.material(given.material, "material"), name)
    for point, position in given.points.items():
        with below("points", point, position=()):
            frame.node(point, position)
    for beam, each in given.beams.items():
        where = ("beams", beam)
        material = None if each.material is None else shelf.material(each.material, *where, "material")
        section = shelf.profile(each.section, *where, "section")
        with below(*where, **_BEAM_KEYS):
            frame.beam(
                getattr(each, "from"),
                each.to,
                section,
                each.elements,
                kind=each.theory,
                rotary=each.rotary,
                up=each.up,
                material=material,
                name=beam,
            )
    for point, each in given.masses.items():
        with below("masses", point):
            frame.mass(point, each.mass, each.inertia, each.com)
    return frame.model()


# Where meshio finds the rest of a mesh that stands in several files: XDMF, TetGen.
_MESH_PARTS = (".h5", ".node", ".ele")


def _file_fe(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    path = shelf.open(given.file, "file")
    options = dict(given.options)
    with below("file"), readers.within(shelf.folder):
        file_options = readers.reader_of(path).file_options
    for key in file_options:
        if key in options:
            options[key] = shelf.open(str(options[key]), "options", key)
    with below("file"), readers.within(shelf.folder) as opened:
        found = readers.read(path, **{"name": name, **options})
    shelf.opened.extend(opened)
    return found


def _elastic(material: flex.Material) -> dict[str, Any]:
    if material.nu is None:
        raise WrongError(f"is '{material.name}', which has no nu; solid elements need it", "material")
    if not material.nu < 0.5:
        raise WrongError(
            f"is '{material.name}', whose nu is {material.nu:g}; solid elements need less than 0.5", "material"
        )
    return {"E": material.E, "nu": material.nu, "rho": material.rho}


def _solid_fe(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    material = shelf.material(given.material, "material")
    path = shelf.open(given.file, "file")
    shelf.opened.extend(beside for suffix in _MESH_PARTS if (beside := path.with_suffix(suffix)).is_file())
    with below("file"):
        return solid.read(path, **_elastic(material), name=name)


_BLOCK_KEYS: Mapping[str, Any] = {
    **{name: ("size", k) for k, name in enumerate(("length", "width", "height"))},
    **{name: ("elements", k) for k, name in enumerate(("nx", "ny", "nz"))},
    "kind": "element",
}


def _block_fe(name: str, given: Form, shelf: Shelf) -> flex.FEModel:
    material = shelf.material(given.material, "material")
    length, width, height = given.size
    elastic = _elastic(material)
    with below(**_BLOCK_KEYS):
        return solid.block(length, width, height, *given.elements, kind=given.element, name=name, **elastic)


_SOURCES: Mapping[str, Callable[[str, Form, Shelf], flex.FEModel]] = {
    "beam": _beam_fe,
    "frame": _frame_fe,
    "fe": _file_fe,
    "solid": _solid_fe,
    "block": _block_fe,
}
_WITHOUT_FILES = ("beam", "frame", "block")
