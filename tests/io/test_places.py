"""Whatever is wrong with a value of a model file is reported at the line and column of that value.

Entries are made from the classes of liegeo.model and from the forms of files, so that a new class cannot escape: each
of its keys stands on a line of its own and is given wrong values, of a wrong type and of the right one.  Names have
apostrophes, quotes, dots and letters that are not ASCII.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any, get_args

import pytest

import liegeo as lg
from liegeo.errors import ModelFileError
from liegeo.io import document, flexible, forms
from liegeo.model import (
    ALL_BLOCKS,
    ALL_CONSTRAINTS,
    ALL_FORCES,
    ALL_JOINTS,
    ALL_SENSORS,
    ALL_SHAPES,
    Body,
    Custom,
    LookupTable,
    LumpedNode,
    Node,
    Skin,
    StateSpace,
    Sum,
    Wheel,
)
from liegeo.model.about import about_fields

ARM, ROD, HINGE, SLIDE, NEW = "O'Brien's arm", 'rod "v.2"', "Gelenk.№ 1's → x", "a: 'b', #c", 'it\'s "new".ü'
MATERIAL, SECTION, POINT = "steel '37'", "tube.№2", "p'1"


class Text:
    """A document in block style, one key a line, and where each key stands."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.places: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._mapping(data, (), 0)

    def _mapping(self, data: dict[str, Any], path: tuple[Any, ...], indent: int, first: str = "") -> None:
        for key, value in data.items():
            head = first or " " * indent
            first = ""
            self.places[*path, key] = len(self.lines) + 1, len(head) + 1
            word = key if str(key).isidentifier() else json.dumps(key, ensure_ascii=False)
            nested = isinstance(value, dict) and value and not (set(value) <= {"body", "at"} or set(value) & _FLOW)
            if nested:
                self.lines.append(f"{head}{word}:")
                self._mapping(value, (*path, key), indent + 2)
            elif isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
                self.lines.append(f"{head}{word}:")
                for k, each in enumerate(value):
                    self._mapping(each, (*path, key, k), indent + 4, " " * (indent + 2) + "- ")
            else:
                self.lines.append(f"{head}{word}: {json.dumps(value, ensure_ascii=False)}")

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


# Mappings with these keys are values, and stand on one line, as places do.
_FLOW = {"time", "strange"}


def base() -> dict[str, Any]:
    inertia = [0.2, 0.2, 0.2]
    return {
        "liegeo": 1,
        "bodies": {
            ARM: {"kind": "rigid", "mass": 1, "inertia": inertia, "frames": {"tip's": [0, 0, 1]}},
            ROD: {"kind": "rigid", "mass": 1, "inertia": inertia},
        },
        "joints": {
            HINGE: {"kind": "revolute", "parent": "world", "child": ARM},
            SLIDE: {"kind": "prismatic", "parent": ARM, "child": ROD},
        },
    }


IDENTITY = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
NO_POSE = [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
PLACE_OF = {"body": ARM, "at": [0, 0, 1]}
# By kind of a field (liegeo/model/about.py): a value that is right, and values of its type that may be wrong.
GOOD: dict[str, Any] = {
    "name": ARM,
    "text": "red",
    "place": PLACE_OF,
    "where": [0.1, 0, 0],
    "pose": [0.1, 0, 0],
    "poses by name": {"f's": [0, 0, 1]},
    "direction": [0, 0, 1],
    "inertia matrix": [0.2, 0.2, 0.2],
    "whole": 0,
    "any": 0.5,
    "numbers by name": {HINGE: 1, SLIDE: 2},
    "triangles": [[0, 1, 2]],
    "signal": 0.1,
    "yes or no": True,
    "pairs": [[0, 0], [1, 2]],
    "per speed": 0.3,
    "coordinates": 0,
    "names": ["u"],
    "formula": "$(-2 * s)",
    "formulas by name": {"z": "$(s - z)"},
    "places": [ARM],
    "shapes": [{"kind": "sphere", "radius": 1}],
}
WRONG: dict[str, list[Any]] = {
    "name": ["nobody's", HINGE, ARM],
    "place": ["nobody's", "nobody.s", {"body": "nobody's"}, {"body": ARM, "at": "nowhere's"}, f"{ARM}.nowhere"],
    "where": ["nowhere's", NO_POSE],
    "pose": [NO_POSE],
    "poses by name": [{"f's": NO_POSE}],
    "direction": [[0, 0, 0]],
    "inertia matrix": [[1, 1, 9], [-1, 1, 1], [[1, 2, 3], [0, 1, 0], [0, 0, 1]]],
    "whole": [99, -1],
    "pairs": [[[0, 0]], [[0, 0], [0, 1]], [[0, 0, 0]], 5],
    "numbers by name": [{}, {"nobody's": 1}, {HINGE: 0}, {f"{HINGE}.7": 1}, {f"{HINGE}.x": 1}],
    "triangles": [[[0, 1, 99]], [[-1, 1, 2]]],
    "signal": [{"time": [1, 0], "value": [0, 1]}, [1, 2], "3 kg"],
    "per speed": [-1, "-1e-3", [0.1] * 7],
    "coordinates": [[2, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0], [1] * 9, 0.5],
    "shapes": [[{"kind": "sphere", "radius": -1}], 5],
    "names": [["nobody's"], ["u", "nobody's"]],
    "formula": ["$(-2 * w)", "$(s", "abc", "$(s^ds)", "$(ds)"],
    "formulas by name": [{"z": "$(w)"}, {"s": 1}, {"x": 1, "y": 1, "z": 1}],
    "places": [["nobody's"], [ARM, 5], f"{ARM}.nowhere"],
}
# Of no use anywhere; some are allowed where anything is.
STRANGE: list[Any] = [{"strange": 1}, True, None, [[[[]]]], "1 parsec^7", "$(nobody)", 1e59, 1e61, ".nan"]


def numbers(shape: tuple[int | None, ...], value: Any, n: int = 3) -> Any:
    """Return lists of one number; n rows where any number will do, and one column."""
    return [numbers(shape[1:], value, 1) for _ in range(n if shape[0] is None else shape[0])] if shape else value


def good(said: Any) -> Any:
    if said.kind == "choice":
        return said.choices[0]
    return GOOD[said.kind] if said.kind in GOOD else numbers(said.shape, 0.5)


def wrong(said: Any) -> list[Any]:
    values = WRONG.get(said.kind) or [numbers(said.shape, x) for x in (-1, 0, "-3 mm", "7 kg", "$(-2 * 3)")]
    return [*values, *STRANGE, *(["nothing's"] if said.kind == "choice" else [])]


# Right values of fields for which the general ones are not.
OWN: dict[str, dict[str, Any]] = {
    "Screws": {"subspace": [[0, 0, 1, 0, 0, 0]]},
    "Universal": {"axes": [[1, 0, 0], [0, 1, 0]]},
    "Fixed": dict.fromkeys(("stiffness", "damping", "armature", "friction"), 0),
    "PointOnLine": {"b": ROD},
    "Distance": {"b": ROD},
    "Gear": {"a": HINGE, "b": SLIDE},
    "Rack": {"pinion": HINGE, "rack": SLIDE},
    # as large as a number may be: it must not be below `coulomb`, which takes wrong values
    "BristleFriction": {"static": 1e60},
    "DryFriction": {"static": 1e60},
    "JointFriction": {"static": 1e60},
    **{name: {"lower": -0.5, "upper": 1e60} for name in ("Stop", "RigidStop")},
    "GearTrain": {"motor": SLIDE},
    "HydraulicCylinder": {"rod_area": 0.2},
    "Belt": {"driven": SLIDE},
    "Cable": {"driven": SLIDE},
    "Rope": {"drum": HINGE},
    "BallStop": {"lower": -0.5, "upper": 1e60},
    "Multiplication": {"of": ["u", "w"]},
    **{name: {"input": "u"} for name in ("Gain", "Quantiser", "Previous", "LowPass")},
    "Saturation": {"input": "u", "low": -1e60, "high": 1e60},
    "TransferFunction": {"input": "u", "numerator": [1], "denominator": [1, 1]},
    "PID": {"setpoint": "u", "measured": "w", "low": -1e60, "high": 1e60},
    # of noise and its density there is one
    **{
        cls.__name__: {"noise_density": 0}
        for cls in ALL_SENSORS
        if cls.__name__ not in ("RelativeMotion", "ForceTorque")
    },
    "ForceTorque": {"noise_density": [0] * 6},
    "StrainGauge": {"noise_density": 0, "a": f"{ROD}.n1", "b": f"{ROD}.n2"},
    "Mesh": {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]},
    "Skin": {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "modes": numbers((3, 3, 1), 0.1)},
    "Node": {"modes": numbers((6, 1), 0.1), "second": numbers((6, 1, 1), 0.1)},
    "LumpedNode": {"modes": [[0], [0], [1], [1], [0], [0]]},
}
MORE_WRONG: dict[tuple[str, str], list[Any]] = {
    ("Universal", "axes"): [[[1, 0, 0], [1, 0, 0]], [[0, 0, 0], [1, 0, 0]]],
    ("Screws", "subspace"): [[[0, 0, 1, 0, 0, 0]] * 2, [[0] * 6]],
    ("Skin", "modes"): [numbers((3, 3, 2), 0.1), numbers((2, 3, 1), 0.1)],
    ("Node", "modes"): [numbers((6, 2), 0.1)],
    ("Node", "second"): [numbers((6, 2, 2), 0.1)],
    ("LumpedNode", "modes"): [numbers((6, 0), 0), numbers((6, 2), 0.1)],
}
# Whatever number these are, the model has a meaning.
ANY_NUMBER = {
    ("Helical", "pitch"),
    ("Stop", "hertzian"),
    ("ForceCurve", "smooth"),
    ("Cable", "slack"),
    # what is no formula of a law is reported where the file is read
    *((law, field) for law in ("Law", "LineLaw") for field in ("force", "dissipation")),
    ("Coupling", "offset"),
    ("Gear", "offset"),
    ("Rack", "offset"),
    ("PointForce", "force"),
    ("PointForce", "torque"),
    ("Body", "com"),
    ("LumpedNode", "position"),
    ("LumpedNode", "com"),
    ("Mesh", "vertices"),
    ("Skin", "vertices"),
    ("Node", "second"),
    *((cls.__name__, "color") for cls in ALL_SHAPES),
    *((cls.__name__, "offset") for cls in ALL_SENSORS),
    ("StrainGauge", "fibre"),
}


def entry(cls: type, **own: Any) -> dict[str, Any]:
    found = {name: HINGE if name == "joint" else good(said) for name, said in about_fields(cls).items()}
    return {"kind": forms.kind_of(cls), **found, **OWN.get(cls.__name__, {}), **own}


def with_joint(cls):
    data = base()
    data["bodies"]["new's"] = {"kind": "rigid", "mass": 1, "inertia": [0.2, 0.2, 0.2], "frames": {"f": [0, 0, 1]}}
    data["joints"][NEW] = entry(cls, parent=ARM, child="new's")
    return data, ("joints", NEW)


def with_controller(cls):
    data = base()
    blocks = {NEW: entry(cls)}
    data["controllers"] = {
        "c's": {"period": 1, "inputs": {"u": "input", "w": "angle"}, "blocks": blocks, "outputs": {HINGE: "u"}}
    }
    return data, ("controllers", "c's", "blocks", NEW)


PER_SPEED = ("stiffness", "damping", "rest", "armature", "friction", "friction_speed")


def with_loop(cls):
    data = base()
    made = entry(cls, **({"parent": "world", "child": ROD} if cls in ALL_JOINTS else {}))
    data["loops"] = {NEW: {key: value for key, value in made.items() if key not in PER_SPEED}}
    return data, ("loops", NEW)


def with_force(cls):
    data = base()
    data["forces"] = {NEW: entry(cls)}
    return data, ("forces", NEW)


def with_sensor(cls):
    data = base()
    node = {"pose": [0, 0, 0], "modes": numbers((6, 1), 0.1)}
    data["bodies"][ROD] = {**record(), "nodes": {"n1": node, "n2": {**node, "pose": [1, 0, 0]}}}
    data["sensors"] = {NEW: entry(cls)}
    return data, ("sensors", NEW)


def with_wheel(cls):
    data = base()
    data["wheels"] = {NEW: {k: v for k, v in entry(cls, body=ARM).items() if k != "kind"}}
    return data, ("wheels", NEW)


def with_body(cls):
    data = base()
    data["bodies"][ARM] = entry(cls, kind="rigid", frames={"tip's": [0, 0, 1]})
    return data, ("bodies", ARM)


def with_shape(cls):
    data = base()
    data["bodies"][ARM]["shapes"] = [{"kind": "sphere", "radius": 1}, entry(cls)]
    return data, ("bodies", ARM, "shapes", 1)


def with_piece(cls):
    data = base()
    piece = {k: v for k, v in entry(cls).items() if k not in ("kind", "name")}
    first = {"modes": [[0], [0], [0], [0], [0], [0]], "mass": 1, "inertia": [0.1, 0.1, 0.1]}
    data["bodies"][ROD] = {"kind": "lumped", "nodes": {"root's": first, "n'1.x": piece}, "stiffness": [[100]]}
    return data, ("bodies", ROD, "nodes", "n'1.x")


def record():
    return {
        **{"kind": "record", "mass": 1, "moment": [0, 0, 0], "inertia": [1, 1, 1]},
        **{"C_t": numbers((3, 1), 0), "C_r0": numbers((3, 1), 0), "C_r1": numbers((3, 1, 1), 0)},
        **{"J_1": numbers((1, 3, 3), 0), "J_2": numbers((1, 1, 3, 3), 0), "M_e": [[1]], "K": [[100]], "D": [[0]]},
    }


def with_node(cls):
    data = base()
    node = {k: v for k, v in entry(cls).items() if k != "kind"}
    data["bodies"][ROD] = {**record(), "nodes": {"n'1.x": node}}
    return data, ("bodies", ROD, "nodes", "n'1.x")


def with_skin(cls):
    data = base()
    data["bodies"][ROD] = {**record(), "skin": {k: v for k, v in entry(cls).items() if k != "kind"}}
    return data, ("bodies", ROD, "skin")


# Shapes of their fields depend on each other: tests/simulate/test_blocks.py.
MATRICES = (LookupTable, StateSpace, Sum)
CLASSES = [
    *((with_joint, cls) for cls in ALL_JOINTS),
    *((with_loop, cls) for cls in (*ALL_JOINTS, *ALL_CONSTRAINTS) if cls not in (Custom, lg.Free)),
    *((with_force, cls) for cls in ALL_FORCES),
    *((with_controller, cls) for cls in ALL_BLOCKS if cls not in MATRICES),
    *((with_shape, cls) for cls in ALL_SHAPES),
    *((with_sensor, cls) for cls in ALL_SENSORS),
    *((with_body, Body), (with_wheel, Wheel), (with_piece, LumpedNode), (with_node, Node), (with_skin, Skin)),
]


STRUCTURE = re.compile(r"joints? leads? into it|carry each other in a ring")


def at(data, path):
    for key in path:
        data = data[key]
    return data


def problems(folder, text):
    """What is wrong with a file; nothing if it can be read."""
    (folder / "model.yaml").write_text(str(text), "utf-8")
    try:
        lg.load(folder / "model.yaml")
    except ModelFileError as error:
        return error.problems
    return ()


def misplaced(folder, data, path, value):
    """Put a value into a document; return problems that stand elsewhere, and whether the classes refused it."""
    changed = json.loads(json.dumps(data))
    at(changed, path[:-1])[path[-1]] = value
    text = Text(changed)
    line, column = text.places[path]
    # a value that is a mapping has lines of its own
    last = max(place[0] for other, place in text.places.items() if other[: len(path)] == path)
    found = problems(folder, text)
    away = [p for p in found if not (line <= p.line <= last and (p.column >= column or p.line > line))]
    # a joint that leads elsewhere leaves a body without one
    away = [p for p in away if not (path[-1] in ("child", "parent") and STRUCTURE.search(p.message))]
    by_class = any(p.named or "body" in p.message or "joint" in p.message for p in found)
    return [(str(value), str(p)) for p in away], by_class


@pytest.mark.parametrize(("make", "cls"), [pytest.param(m, c, id=f"{m.__name__[5:]}-{c.__name__}") for m, c in CLASSES])
def test_every_field_of_every_class_is_reported_where_it_stands(tmp_path, make, cls):
    data, path = make(cls)
    assert [str(p) for p in problems(tmp_path, Text(data))] == [], "the example itself must be right"
    elsewhere, silent = [], []
    for name, said in about_fields(cls).items():
        refused = []
        values = [*wrong(said), *MORE_WRONG.get((cls.__name__, name), [])]
        # modes that move no mass are a fault of all pieces together
        for value in values if name != "modes" else values[3:]:
            away, by_class = misplaced(tmp_path, data, (*path, name), value)
            elsewhere += away
            refused.append(by_class)
        if not any(refused) and (cls.__name__, name) not in ANY_NUMBER:
            silent.append(name)
    assert not elsewhere, "\n".join(f"{value}: {said}" for value, said in elsewhere)
    assert silent == [], "no wrong value of these was refused by the class itself"


def test_no_class_is_left_out():
    made = {cls for _, cls in CLASSES}
    listed = {*ALL_JOINTS, *ALL_CONSTRAINTS, *ALL_FORCES, *ALL_SHAPES, *ALL_SENSORS, *ALL_BLOCKS} - {Custom, *MATRICES}
    assert listed <= made
    described = [c for c in vars(lg.model).values() if isinstance(c, type) and dataclasses.is_dataclass(c)]
    without_form = {
        "Constraint",
        "Coupling",
        "Force",
        "Joint",
        "Sensor",
        "Shape",
        "FlexibleBody",
        "Tree",
        "State",
        "Custom",
    }
    # tests/simulate/test_blocks.py has the keys of controllers, tests/io/test_files_format.py reads and writes triggers
    without_form |= {"Trigger", "ControlBlock", "Controller", "Sampled", *(cls.__name__ for cls in MATRICES)}
    # the keys of these are tried in FORMS
    of_contacts = {c.__name__ for c in (*lg.model.ALL_SURFACES, *lg.model.ALL_CONTACTS)} | {"ContactSurface"}
    assert {c.__name__ for c in described} - {c.__name__ for c in made} <= without_form | of_contacts


# ---- forms that no dataclass stands behind


def with_beam(**own: Any) -> dict[str, Any]:
    data = base()
    data["materials"] = {MATERIAL: {"E": 2e11, "rho": 7800, "nu": 0.3}}
    data["sections"] = {SECTION: {"kind": "tube", "outer": 0.02, "inner": 0.01}}
    body = {
        **{"kind": "beam", "length": 1, "material": MATERIAL, "section": SECTION, "elements": 2},
        **{"theory": "euler", "rotary": True, "up": [0, 0, 1], "stiffening": False, "damping": 0.01},
        **{"modes": {"method": "craig-bampton", "interfaces": [2], "count": 1, "root": 0}, "nodes": [2]},
    }
    data["bodies"][ROD] = {**body, **own}
    return data


def with_frame() -> dict[str, Any]:
    data = with_beam()
    beam = {"from": POINT, "to": "q.2", "section": SECTION, "elements": 2, "theory": "euler", "up": [0, 0, 1]}
    data["bodies"][ROD] = {
        **{"kind": "frame", "material": MATERIAL, "points": {POINT: [0, 0, 0], "q.2": [1, 0, 0]}},
        **{"beams": {"b'1": beam}, "masses": {"q.2": {"mass": 1, "inertia": [1, 1, 1], "com": [0, 0, 0]}}},
        **{"modes": {"count": 1, "root": POINT}},
    }
    return data


def with_block() -> dict[str, Any]:
    data = with_beam()
    data["bodies"][ROD] = {
        **{"kind": "block", "size": [1, 0.1, 0.1], "elements": [1, 1, 1], "element": "hex8", "material": MATERIAL},
        **{"modes": {"method": "free-interface", "count": 1}},
    }
    return data


def with_contacts() -> dict[str, Any]:
    data = base()
    data["surfaces"] = {
        "floor": {"kind": "plane", "at": "world"},
        "ball": {"kind": "sphere", "at": ARM, "radius": 0.1},
        "rod": {"kind": "capsule", "at": ROD, "radius": 0.1, "length": 0.2},
        "can": {"kind": "cylinder", "at": ROD, "radius": 0.1, "length": 0.2},
        "box": {"kind": "box", "at": ROD, "size": [1, 1, 1]},
        "hill": {"kind": "profile", "at": "world", "points": [[0, 0], [1, 1]]},
    }
    material = {
        **{"stiffness": 1e5, "exponent": 1.2, "depth": 0.1, "restitution": 0.5, "impact_speed": 1, "friction": 0.3},
        **{"static": 0.4, "stribeck": 0.1, "slip_speed": 0.01, "rolling": 0.01, "spinning": 0.01, "turning_speed": 0.1},
    }
    data["forces"] = {
        "knock": {"kind": "contact", "a": "floor", "b": "ball", **material, "breakaway": 1e-4, "bristle_time": 0.01},
        "soft": {"kind": "contact", "a": "floor", "b": "ball", "modulus": 1e9, "dissipation": 0.1},
        "pile": {"kind": "contacts", "among": ["floor", "ball", "rod"], **material},
    }
    return data


def with_experiment() -> dict[str, Any]:
    data = base()
    data["experiment"] = {
        **{"start": 0, "end": 1, "output": 0.1, "every": 1, "method": "rkmk-54", "rtol": 1e-6, "atol": 1e-6},
        **{"max_step": 0.1, "inputs": {HINGE: 1}},
    }
    data["initial"] = {"q": {HINGE: 0.1}, "v": {SLIDE: 0.1}}
    data["fmu"] = {"name": "arm", "inputs": {HINGE: {"unit": "N*m", "min": -1, "max": 1, "nominal": 1}}}
    data |= {"gravity": [0, 0, -9.81], "fidelity": "full", "modal_inverse": "auto", "name": "a", "description": "b"}
    return data


def with_accuracy() -> dict[str, Any]:
    return base() | {"experiment": {"end": 1, "accuracy": "1 mm"}}


# Path of a key, and wrong values; each must be refused, and there.
FORMS: list[tuple[Any, tuple[Any, ...], list[Any]]] = [
    *((with_beam, ("materials", MATERIAL, key), [-1, "1 m", "x", [1]]) for key in ("E", "rho", "nu")),
    *((with_beam, ("sections", SECTION, key), [-1, "1 kg", "x"]) for key in ("outer", "inner")),
    (with_beam, ("sections", SECTION, "inner"), [0.02, 1]),
    *((with_beam, ("sections", SECTION, "kind"), ["tueb", 5, "custom"]) for _ in "1"),
    (with_beam, ("bodies", ROD, "length"), [-1, 0, "1 kg"]),
    (with_beam, ("bodies", ROD, "material"), ["nobody's", 5.5]),
    (with_beam, ("bodies", ROD, "section"), ["nobody's", [SECTION, "nobody's"]]),
    (with_beam, ("bodies", ROD, "elements"), [0, -1, 2.5]),
    (with_beam, ("bodies", ROD, "theory"), ["eulr", 5]),
    (with_beam, ("bodies", ROD, "rotary"), ["yes", 5]),
    (with_beam, ("bodies", ROD, "up"), [[1, 0, 0], [0, 0, 0], [1]]),
    (with_beam, ("bodies", ROD, "stiffening"), [99, "yes", -1]),
    (with_beam, ("bodies", ROD, "damping"), [-0.1, [0.1] * 20, {"strange": 1}]),
    (with_beam, ("bodies", ROD, "nodes"), [["nobody's"], 5]),
    (with_beam, ("bodies", ROD, "kind"), ["baem", 5]),
    (with_beam, ("bodies", ROD, "modes", "method"), ["craig-bamton"]),
    (with_beam, ("bodies", ROD, "modes", "interfaces"), [["nobody's"], 5]),
    (with_beam, ("bodies", ROD, "modes", "count"), [-1, 1.5]),
    (with_beam, ("bodies", ROD, "modes", "root"), ["nobody's"]),
    (with_beam, ("bodies", ROD, "modes", "loads"), ["appendage", 5, {"2": [[1]]}]),
    (with_frame, ("bodies", ROD, "points", POINT), [[1, 0], "x"]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "from"), ["nobody's", 5.5]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "to"), ["nobody's"]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "section"), ["nobody's"]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "elements"), [0, 1.5]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "up"), [[1, 0, 0]]),
    (with_frame, ("bodies", ROD, "beams", "b'1", "theory"), ["eulr"]),
    (with_frame, ("bodies", ROD, "masses", "q.2", "mass"), [-1, "1 m"]),
    (with_frame, ("bodies", ROD, "masses", "q.2", "inertia"), [[1, 1, 9], [-1, 1, 1]]),
    (with_block, ("bodies", ROD, "size"), [[1, -1, 1], [1, 1]]),
    (with_block, ("bodies", ROD, "elements"), [[1, 0, 1], [1, 1.5, 1]]),
    (with_block, ("bodies", ROD, "element"), ["hex9"]),
    (with_contacts, ("surfaces", "floor", "kind"), ["plain", 5]),
    *((with_contacts, ("surfaces", name, "at"), ["nobody's", 5.5, f"{ROD}.nowhere"]) for name in ("ball", "box")),
    *((with_contacts, ("surfaces", name, "radius"), [-1, "1 kg", "x"]) for name in ("ball", "rod", "can")),
    *((with_contacts, ("surfaces", name, "length"), [-1, 0, "1 kg"]) for name in ("rod", "can")),
    (with_contacts, ("surfaces", "box", "size"), [[1, -1, 1], [1, 1], "x"]),
    (with_contacts, ("surfaces", "hill", "points"), [[[0, 0]], [[0, 0], [0, 1]], [[0, 0, 0]], "x"]),
    *((with_contacts, ("forces", "knock", key), ["nobody's", 5.5]) for key in ("a", "b")),
    *((with_contacts, ("forces", "knock", key), [-1, "1 kg", "x"]) for key in ("stiffness", "friction", "rolling")),
    *((with_contacts, ("forces", "knock", key), [-1, "1 kg", "x"]) for key in ("spinning", "breakaway", "static")),
    *((with_contacts, ("forces", "knock", key), [0, "1 kg", "x"]) for key in ("depth", "stribeck", "slip_speed")),
    *((with_contacts, ("forces", "knock", key), [0, "1 kg", "x"]) for key in ("turning_speed", "bristle_time")),
    (with_contacts, ("forces", "knock", "exponent"), [0.5, "1 kg"]),
    (with_contacts, ("forces", "knock", "restitution"), [0, 1.5, "1 kg"]),
    (with_contacts, ("forces", "knock", "impact_speed"), [0, "1 kg"]),
    (with_contacts, ("forces", "soft", "modulus"), [-1, "1 kg"]),
    (with_contacts, ("forces", "soft", "dissipation"), [-1, "1 m/s"]),
    (with_contacts, ("forces", "pile", "among"), [["nobody's"], 5, ["floor"]]),
    (with_contacts, ("forces", "pile", "friction"), [-1, "1 kg"]),
    *((with_experiment, ("experiment", key), ["-1 s", "1 kg", "x"]) for key in ("end", "max_step")),
    (with_experiment, ("experiment", "start"), ["x", "1 kg"]),
    (with_experiment, ("experiment", "output"), [-1, "x"]),
    (with_experiment, ("experiment", "every"), [0, 1.5]),
    (with_experiment, ("experiment", "settle"), ["x", 1]),
    (with_experiment, ("experiment", "method"), ["rkm"]),
    *((with_experiment, ("experiment", key), [0, -1, "1 m"]) for key in ("rtol", "atol")),
    (with_accuracy, ("experiment", "accuracy"), [0, "-1 mm", "1 kg"]),
    (with_experiment, ("experiment", "inputs", HINGE), ["1 kg", [1, 2]]),
    (with_experiment, ("initial", "q", HINGE), ["1 kg", [1, 2]]),
    (with_experiment, ("initial", "v", SLIDE), ["1 kg", [1, 2]]),
    (with_experiment, ("fmu", "name"), ["not a name", 5]),
    (with_experiment, ("fmu", "inputs", HINGE, "unit"), ["nounit", 5]),
    (with_experiment, ("fmu", "inputs", HINGE, "min"), ["x", True]),
    (with_experiment, ("gravity",), [[0, 1], "x", ["1 kg", 0, 0]]),
    (with_experiment, ("fidelity",), ["ful"]),
    (with_experiment, ("modal_inverse",), ["identity", "x"]),
    (with_experiment, ("name",), [5]),
]


@pytest.mark.parametrize(("make", "path", "values"), FORMS, ids=lambda x: x.__name__ if callable(x) else str(x)[-30:])
def test_every_key_of_other_forms_is_reported_where_it_stands(tmp_path, make, path, values):
    data = make()
    assert [str(p) for p in problems(tmp_path, Text(data))] == []
    for value in values:
        changed = json.loads(json.dumps(data))
        at(changed, path[:-1])[path[-1]] = value
        text = Text(changed)
        assert problems(tmp_path, text), f"{value!r} is accepted"
        away, _ = misplaced(tmp_path, data, path, value)
        assert away == []


def test_forms_of_beams_and_experiments_are_all_there():
    """A new key of these forms needs a line in FORMS, or a reason."""
    tried = {(path[-2] if len(path) > 1 else "", path[-1]) for _, path, _ in FORMS}
    wanted = {("experiment", key) for key in document.ExperimentForm.model_fields} - {("experiment", "inputs")}
    # of fixed steps, where this one has adaptive ones
    assert wanted - tried <= {("experiment", "step")}
    beam = {(ROD, key) for key in flexible.BeamForm.model_fields}
    given = {(ROD, key) for key in ("links", "frames", "shapes", "pieces", "modes")}
    assert beam - tried <= given
    assert get_args(flexible.BeamForm.model_fields["kind"].annotation) == ("beam",)


# ---- the two that were wrong


def test_a_wrong_speed_is_reported_at_speed(tmp_path):
    data = base()
    data["forces"] = {"motor": {"kind": "actuator", "joint": HINGE, "speed": 3}}
    text = Text(data)
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.column) == text.places["forces", "motor", "speed"]
    assert problem.path == "forces.motor.speed"
    assert problem.message == f"Actuator 'motor': joint '{HINGE}' has no speed 3, expected 0 to 0."


def test_faults_of_several_parts_are_reported_together_in_the_units_of_the_file(tmp_path):
    data = base()
    data["parameters"] = {"d": -0.5}
    data["joints"][HINGE]["damping"] = "-2 N*m*s/deg"
    data["joints"][SLIDE]["friction"] = "$(d)"
    data["forces"] = {NEW: {"kind": "actuator", "joint": SLIDE, "speed": 1}}
    text = Text(data)
    found = problems(tmp_path, text)
    wanted = [("joints", HINGE, "damping"), ("joints", SLIDE, "friction"), ("forces", NEW, "speed")]
    assert [(p.line, p.column) for p in found] == [text.places[path] for path in wanted]
    assert "damping is '-2 N*m*s/deg', must be ≥ 0." in found[0].message
    assert "friction is '$(d)', which is -0.5, must be ≥ 0." in found[1].message


def test_a_beam_in_pieces_is_reported_at_its_entry(tmp_path):
    data = with_beam(pieces=3)
    data["joints"][SLIDE]["child"] = f"{ROD}_1"
    assert problems(tmp_path, Text(data)) == ()
    data["joints"]["again"] = {"kind": "free", "parent": "world", "child": f"{ROD}_3"}
    text = Text(data)
    (problem,) = problems(tmp_path, text)
    assert (problem.line, problem.column) == text.places["bodies", ROD]
    assert f"body '{ROD}_3': 2 joints lead into it" in problem.message
