"""Writing model files.

What came from a file is written as that file said it: units, expressions and sources stay, comments and layout do not.
What was replaced in it since then, in Python, is written instead of what the file said.
What was built in Python is written number by number, so that it compiles to the same bits; flexible bodies become
records of their matrices.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from liegeo._version import __version__
from liegeo.errors import Field, InputError, ModelError
from liegeo.flex.readers import ALL_READERS
from liegeo.io import units
from liegeo.io.build import folder_file
from liegeo.io.document import VERSION
from liegeo.io.fields import read_name
from liegeo.io.forms import kind_of
from liegeo.io.mechanism import Experiment, Mechanism, Variable
from liegeo.io.source import scalar
from liegeo.model.body import Body, FlexibleBody, Node
from liegeo.model.checks import as_pose
from liegeo.model.constraints import ALL_CONSTRAINTS, Custom
from liegeo.model.contacts import ALL_CONTACTS, ALL_SURFACES, ContactSurface, surface_kind, surfaces_of
from liegeo.model.controllers import ALL_BLOCKS, Controller
from liegeo.model.drives import ALL_FORCES
from liegeo.model.formulas import Formula
from liegeo.model.joints import ALL_JOINTS
from liegeo.model.names import matches
from liegeo.model.sensors import ALL_SENSORS
from liegeo.model.shapes import ALL_SHAPES
from liegeo.model.tree import Tree

_WIDTH = 120
# Sections of a tree's parts, and keys beside them with what they usually are.
_PARTS = ("bodies", "joints", "loops", "forces", "wheels", "sensors", "controllers")
_OPTIONS = {"fidelity": "full", "modal_inverse": "auto"}
_WRITABLE = (*ALL_JOINTS, *ALL_CONSTRAINTS, *ALL_FORCES, *ALL_CONTACTS, *ALL_SURFACES)
_WRITABLE = (*_WRITABLE, *ALL_SENSORS, *ALL_SHAPES, *ALL_BLOCKS)


def save(system: Mechanism | Tree, path: str | os.PathLike[str]) -> Path:
    """Write a model file; `load` gives a system that compiles to the same model, to the bit.

    The file appears whole or not at all.  Comments of a file that the system came from are not kept.
    """
    file = Path(path)
    if file.suffix.lower() not in (".yaml", ".yml"):
        raise InputError(f"save: '{file}' ends in '{file.suffix}', expected .yaml or .yml.")
    if not isinstance(system, Mechanism | Tree):
        raise InputError(
            f"save: {system!r} is neither a Mechanism nor a Tree; a compiled model has its tree as model.tree."
        )
    text = written(system, file.parent)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise InputError(f"save: '{file}' cannot be written: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)
    return file


def written(system: Mechanism | Tree, folder: Path | None = None) -> str:
    """The text of a model file."""
    mechanism = system if isinstance(system, Mechanism) else Mechanism(tree=system)
    data = document_of(mechanism)
    if folder is None:
        return as_text(data)
    _check_files(data, folder)
    return "".join(f"{line}\n" for line in _schema_comment(folder)) + as_text(data)


def as_text(data: Mapping[str, Any]) -> str:
    """A document as the text of a model file."""
    return f"# Written by liegeo {__version__}.\n" + "".join(_section(key, value) for key, value in data.items())


def _schema_comment(folder: Path) -> list[str]:
    """Where editors find the schema, if it is in the folder or in `docs` beside it."""
    near = ("model.schema.json", "../docs/model.schema.json")
    return [f"# yaml-language-server: $schema={name}" for name in near if (folder / name).is_file()][:1]


def _check_files(data: Mapping[str, Any], folder: Path) -> None:
    """Files that the document names must be there where it is going to be."""
    find, missing = folder_file(folder), []
    for name in files_of(data):
        try:
            find(name)
        except InputError:
            missing.append(name)
    if missing:
        raise ModelError(
            f"save: the model refers to {', '.join(repr(m) for m in missing)}, not in '{folder}'.\n"
            "  Copy them there first, or save beside the original."
        )


def files_of(data: Any) -> Iterator[str]:
    """The files that a document names."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key == "file" and isinstance(value, str):
                yield value
            elif key == "options" and isinstance(value, Mapping):
                files = {name for reader in ALL_READERS for name in reader.file_options}
                yield from (x for k, x in value.items() if k in files and isinstance(x, str) and "." in x)
            else:
                yield from files_of(value)


# ---- what was built in Python


def document_of(mechanism: Mechanism) -> dict[str, Any]:
    """A model as plain data: what its file says, and what was replaced in Python, number by number."""
    if mechanism.document is None:
        return _document(mechanism)
    replaced = mechanism.replaced()
    data = dict(mechanism.document)
    if "tree" in replaced:
        old, new = mechanism._given["tree"], mechanism.tree
        if any(not _same_things(getattr(old, key), getattr(new, key)) for key in _PARTS):
            _check_parameters(mechanism)
            return _document(mechanism)
        # what stands beside the parts
        data |= {key: value for key, value in _about(new).items() if not _same(value, getattr(old, key))}
        data |= {key: getattr(new, key) for key in _OPTIONS if getattr(new, key) != getattr(old, key)}
    # only those: what a file says of the others may be expressions, which are functions by now
    for name in (name for name in replaced if name != "tree"):
        section = mechanism.description if name == "description" else _SECTIONS[name](mechanism)
        data.pop(name, None)
        data |= {name: section} if section else {}
    return data


def _same_things(old: Sequence[Any], new: Sequence[Any]) -> bool:
    return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))


def _check_parameters(mechanism: Mechanism) -> None:
    """Parts that were replaced do not depend on the file's parameters any more."""
    declared = list(mechanism.declared)
    lost = [name for name in mechanism.fmu.parameters if name in declared or matches(name, declared)]
    if lost:
        raise InputError(
            f"the fmu section of '{mechanism.name}' has the parameters {', '.join(lost)}, but its tree was replaced in "
            "Python by one of plain numbers.\n"
            "  Leave them out, replace(mechanism, fmu=…), or change the model with `set` instead of in Python."
        )


def _about(tree: Tree) -> dict[str, Any]:
    return {"name": tree.name, "gravity": _numbers(tree.gravity)}


def _document(mechanism: Mechanism) -> dict[str, Any]:
    tree = mechanism.tree
    about = _about(tree)
    data: dict[str, Any] = {"liegeo": VERSION, "name": about["name"]}
    if mechanism.description:
        data["description"] = mechanism.description
    data["gravity"] = about["gravity"]
    data |= {key: getattr(tree, key) for key, usual in _OPTIONS.items() if getattr(tree, key) != usual}
    data["bodies"] = {_name(body): _body(body) for body in tree.bodies}
    for key in _PARTS[1:-1]:
        things = getattr(tree, key)
        if key == "forces" and (surfaces := _surfaces(tree)):
            data["surfaces"] = surfaces
        if things or key == "joints":
            data[key] = {_name(thing): _thing(thing, kind=key != "wheels") for thing in things}
    if tree.controllers:
        data["controllers"] = {_name(each): _controller(each) for each in tree.controllers}
    if tree.events:
        data["events"] = {_name(each): _thing(each, kind=False) for each in tree.events}
    for key, make in _SECTIONS.items():
        section = make(mechanism)
        data |= {key: section} if section else {}
    return data


def _controller(controller: Controller) -> dict[str, Any]:
    out: dict[str, Any] = {"period": float(controller.period)}
    out |= {key: float(x) for key in ("delay", "offset") if (x := getattr(controller, key)) != 0.0}
    out |= {key: dict(x) for key in ("measure", "inputs") if (x := getattr(controller, key))}
    if controller.fmu is not None:
        out["fmu"] = {**controller.fmu, "file": Path(controller.fmu["file"]).name}
    if controller.blocks:
        out["blocks"] = {name: _thing(block) for name, block in controller.blocks.items()}
    wires = controller.outputs.items()
    out["outputs"] = {name: wired if isinstance(wired, str) else list(wired) for name, wired in wires}
    if controller.initial:
        out["initial"] = _by_name(controller.initial)
    return out


def _surfaces(tree: Tree) -> dict[str, Any]:
    """Return the surfaces of all contacts, by name."""
    found: dict[str, ContactSurface] = {}
    for force in tree.forces:
        for surface in surfaces_of(force):
            if found.setdefault(_name(surface), surface) is not surface:
                raise ModelError(
                    f"save: two surfaces have the name '{surface.name}', expected one: files know surfaces by name.\n"
                    "  Give one of them another name, or use the same surface for both contacts."
                )
    return {name: _thing(surface) for name, surface in found.items()}


def _initial(mechanism: Mechanism) -> dict[str, Any]:
    initial: dict[str, Any] = {
        key: _by_name(getattr(mechanism.initial, key)) for key in ("q", "v", "x") if getattr(mechanism.initial, key)
    }
    if mechanism.initial.keep:
        keep = mechanism.initial.keep
        initial["keep"] = {k: list(v) for k, v in keep.items()} if isinstance(keep, Mapping) else list(keep)
    return initial


def _experiment(mechanism: Mechanism) -> dict[str, Any]:
    experiment = _changed(mechanism.experiment, Experiment(), ("inputs",))
    if mechanism.experiment.inputs:
        experiment["inputs"] = {k: _signal(f"input '{k}'", v) for k, v in mechanism.experiment.inputs.items()}
    return experiment


def _interface(mechanism: Mechanism) -> dict[str, Any]:
    fmu = _changed(mechanism.fmu, type(mechanism.fmu)(), ("inputs", "outputs", "parameters"))
    for key in ("inputs", "outputs", "parameters"):
        variables = getattr(mechanism.fmu, key)
        if variables:
            fmu[key] = {name: _variable(v) for name, v in variables.items()}
    return fmu


_SECTIONS = {"initial": _initial, "experiment": _experiment, "fmu": _interface}


def _variable(said: Variable) -> dict[str, Any]:
    """What is said of a variable; its numbers are SI, and say so where plain ones would be in another unit."""
    out = _changed(said, Variable(), ())
    if said.unit is not None:
        unit = units.written(units.unit(said.unit)[1]) or "rad"
        out |= {key: f"{out[key]!r} {unit}" for key in ("min", "max", "nominal", "start") if key in out}
    return out


def _changed(thing: Any, usual: Any, but: Sequence[str]) -> dict[str, Any]:
    """Fields of a dataclass that are not as usual."""
    out = {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if field.name not in but and not _same(value, getattr(usual, field.name)):
            out[field.name] = value if isinstance(value, str | int) else _numbers(value)
    return out


def _name(thing: Any) -> str:
    try:
        return read_name(thing.name)
    except InputError as error:
        raise ModelError(f"save: the name of {type(thing).__name__} {error}.") from None


def _numbers(value: Any) -> Any:
    """Plain numbers in lists."""
    return np.asarray(value, dtype=np.float64).tolist()


def _by_name(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _numbers(value) for name, value in values.items()}


def _same(a: Any, b: Any) -> bool:
    """To the bit: −0 is not 0."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b or (isinstance(a, str) and a == b)
    if isinstance(a, Mapping | tuple) and not len(a) and isinstance(b, Mapping | tuple):
        return not len(b)
    try:
        x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return x.shape == y.shape and x.tobytes() == y.tobytes()


def _pose(value: Any) -> Any:
    """A position where it is no more, otherwise the matrix."""
    X = np.asarray(as_pose(Field(None, ("save",)), value))
    plain = np.eye(4)
    plain[:3, 3] = X[:3, 3]
    return _numbers(X[:3, 3]) if _same(X, plain) else _numbers(X)


def _inertia(value: Any) -> Any:
    J = np.asarray(value, dtype=np.float64)
    if J.shape == (3, 3):
        if _same(J, np.diag(np.diag(J))):
            J = np.diag(J)
        elif _same(J, J.T):
            J = np.array([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    return _numbers(J)


def _place(value: Any) -> Any:
    if isinstance(value, str):
        return value
    body, where = value
    if where is None:
        return {"body": body}
    return {"body": body, "at": where if isinstance(where, str) else _pose(where)}


def _signal(who: str, value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
        return {"time": _numbers(value[0]), "value": _numbers(value[1])}
    if callable(value):
        raise ModelError(
            f"save: {who} is {value!r}, a function or spline, which a file cannot hold.\n"
            "  Give samples (times, values) instead, or write an expression of t into the file."
        )
    return _numbers(value)


def _thing(thing: Any, kind: bool = True) -> dict[str, Any]:
    """A joint, constraint, force, wheel or shape: its kind, and what is not as usual."""
    if isinstance(thing, Custom):
        raise ModelError(f"save: {thing.owner} is a function of Python, which a file cannot hold.")
    if kind and type(thing) not in _WRITABLE:
        raise ModelError(
            f"save: {type(thing).__name__} '{getattr(thing, 'name', '')}' is a class of your own; files do not know it."
        )
    out: dict[str, Any] = {"kind": _kind(thing)} if kind else {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if field.name == "name" or not field.init or value is None:
            continue
        if field.default is not dataclasses.MISSING and _same(value, field.default):
            continue
        if field.default_factory is not dataclasses.MISSING and isinstance(value, Mapping) and not value:
            continue
        out[field.name] = _field(thing, field.name, value)
    if isinstance(thing, ALL_SHAPES) and _same(thing.at, np.eye(4)):
        out.pop("at", None)
    return out


def _kind(thing: Any) -> str:
    return surface_kind(type(thing)) if isinstance(thing, ContactSurface) else kind_of(type(thing))


def _field(thing: Any, name: str, value: Any) -> Any:
    if isinstance(value, ContactSurface):
        return value.name
    if isinstance(value, Formula):
        return f"$({value})"
    if isinstance(value, Mapping) and any(isinstance(each, Formula) for each in value.values()):
        return {key: f"$({each})" for key, each in value.items()}
    if name == "among":
        return [surface.name for surface in value]
    if name == "at" and isinstance(thing, ContactSurface):
        return _place(value)
    if isinstance(value, str | int):
        return value
    if name == "law":
        return _signal(str(thing.owner), value)
    if name in ("a", "b") or (name == "at" and type(thing) in (*ALL_FORCES, *ALL_SENSORS)):
        return _place(value)
    if name in ("of", "signals", "engage", "release"):
        return list(value)
    if name == "via":
        return [_place(place) for place in value]
    if name in ("at", "child_at"):
        return _pose(value)
    if name == "triangles":
        return np.asarray(value).tolist()
    if isinstance(value, Mapping):
        return {key: float(x) for key, x in value.items()}
    return _numbers(value)


def _body(body: Body | FlexibleBody) -> dict[str, Any]:
    rigid = isinstance(body, Body)
    out: dict[str, Any] = {"kind": "rigid" if rigid else "record", "mass": float(body.mass)}
    if isinstance(body, FlexibleBody):
        out |= _record(body)
    else:
        out |= {key: _numbers(getattr(body, key)) for key in ("com",) if not _same(getattr(body, key), np.zeros(3))}
        out["inertia"] = _inertia(body.inertia)
    if body.frames:
        out["frames"] = {name: _pose(X) for name, X in body.frames.items()}
    if body.shapes:
        out["shapes"] = [_thing(shape) for shape in body.shapes]
    return out


def _record(body: FlexibleBody) -> dict[str, Any]:
    out = {"moment": _numbers(body.moment), "inertia": _inertia(body.inertia)}
    out |= {key: _numbers(getattr(body, key)) for key in ("C_t", "C_r0", "C_r1", "J_1", "J_2", "M_e", "K", "D")}
    out |= {key: _numbers(getattr(body, key)) for key in ("C_t1", "J_2_second") if np.any(getattr(body, key))}
    if body.nodes:
        out["nodes"] = {name: _node(node) for name, node in body.nodes.items()}
    if body.skin is not None:
        skin = body.skin
        out["skin"] = {
            "vertices": _numbers(skin.vertices),
            "modes": _numbers(skin.modes),
            "triangles": np.asarray(skin.triangles).tolist(),
        }
    return out


def _node(node: Node) -> dict[str, Any]:
    out = {"pose": _pose(node.pose), "modes": _numbers(node.modes)}
    return out if node.second is None else out | {"second": _numbers(node.second)}


# ---- text


def _section(key: str, value: Any) -> str:
    """A key of the document and its value; entries of a section stand in lines of their own."""
    return ("\n" if isinstance(value, Mapping) and value else "") + _dump(_Top({key: value}))


class _Top(dict[str, Any]):
    """What does not go into brackets."""


def _dump(data: Any) -> str:
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    for kind, represent in (
        (float, _float),
        (str, _str),
        (dict, _mapping),
        (list, _list),
        (tuple, _list),
        (_Top, _mapping),
    ):
        Dumper.add_representer(kind, represent)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def _float(dumper: Any, value: float) -> Any:
    text = repr(value)
    # the emitter knows YAML 1.1, whose numbers have a point
    return dumper.represent_scalar("tag:yaml.org,2002:float", text if "." in text else text.replace("e", ".0e"))


def _str(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None if isinstance(scalar(value), str) else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _mapping(dumper: Any, value: Mapping[str, Any]) -> Any:
    plain = {str(key): x for key, x in value.items()}
    return dumper.represent_mapping(
        "tag:yaml.org,2002:map", plain.items(), flow_style=not isinstance(value, _Top) and _is_short(plain)
    )


def _list(dumper: Any, value: Sequence[Any]) -> Any:
    return dumper.represent_sequence(
        "tag:yaml.org,2002:seq", value, flow_style=not any(isinstance(x, Mapping) for x in value)
    )


def _is_short(value: Any, room: int = 90) -> bool:
    """Whether it fits into a line."""
    if isinstance(value, Mapping) and any(isinstance(x, Mapping) and x for x in value.values()) and "kind" not in value:
        return False
    return len(repr(value)) <= room and "\\n" not in repr(value)
