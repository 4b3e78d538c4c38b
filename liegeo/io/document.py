"""The whole document of a model file: its keys, and where each belongs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import ValidationError

from liegeo import integrate
from liegeo.accuracy import Accuracy
from liegeo.errors import FileProblem, InputError, Path_
from liegeo.io import problems, units
from liegeo.io.fields import (
    FLAG,
    POSE_MAPPING,
    TEXT,
    Form,
    Key,
    by_name,
    choice,
    made,
    mapping,
    number,
    one_of,
    read_array,
    read_name,
    read_number,
    show,
    vector,
    whole,
)
from liegeo.io.flexible import BODY_FORMS, SECTION_FORMS, MaterialForm
from liegeo.io.forms import (
    CONSTRAINT_FORMS,
    CONTROLLER_FORM,
    EVENT_FORM,
    FORCE_FORMS,
    JOINT_FORMS,
    SENSOR_FORMS,
    SURFACE_FORMS,
    WHEEL_FORM,
)
from liegeo.io.migrations import MODEL_MIGRATIONS, newest
from liegeo.io.signals import SIGNAL
from liegeo.io.source import Source
from liegeo.model.compiler import FIDELITIES, MODAL_INVERSES

VERSION = newest(MODEL_MIGRATIONS)


def _read_version(value: Any) -> int:
    if value != VERSION or isinstance(value, bool):
        newer = isinstance(value, int) and value > VERSION
        versions = "1" if VERSION == 1 else f"1 to {VERSION}"
        raise InputError(
            f"is {show(value)}, expected {versions}, the version of the format"
            + ("; the file is for a newer liegeo: pip install --upgrade liegeo" if newer else "")
        )
    return VERSION


def _read_keep(value: Any) -> Any:
    """Joints, or joints with their speeds."""
    if isinstance(value, list):
        return [read_name(x) for x in value]
    if not isinstance(value, dict):
        raise InputError(f"is {show(value)}, expected a list of joints, or joints with lists of speeds")
    whole = {}
    for joint, speeds in value.items():
        if not isinstance(speeds, list) or not all(isinstance(k, int) and not isinstance(k, bool) for k in speeds):
            raise InputError(f"has {show(speeds)} for '{joint}', expected a list of speeds, counted from 0")
        whole[read_name(joint)] = speeds
    return whole


def _anything(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        raise InputError(f"is {show(value)}, expected a number, a list of numbers, or a pose")
    return value


_COORDINATES = made(_anything, {"anyOf": [{"type": ["number", "string", "array"]}, POSE_MAPPING]})
_KEEP = made(
    _read_keep,
    {
        "anyOf": [
            {"type": "array", "items": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        ]
    },
)

InitialForm = mapping(
    "initial",
    "The state at the start; what is not named is zero.  A model with loops is assembled from it.",
    q=Key(by_name(_COORDINATES), "positions of joints, and modal coordinates of bodies, by name", {}),
    v=Key(by_name(_COORDINATES), "speeds of joints, wheels and modes, by name", {}),
    x=Key(by_name(_COORDINATES), "first-order states of forces (outputs of motors with a lag, bristles), by name", {}),
    keep=Key(_KEEP, "joints that assembly leaves as they are; of some only these speeds", ()),
)


def _read_output(value: Any) -> Any:
    if value == "steps":
        return value
    if isinstance(value, list):
        return read_array(value, [units.TIME], (None,), "times")
    spacing = read_number(value, [units.TIME])
    if not spacing > 0.0:
        raise InputError(f"is {show(value)}, must be > 0: the time between samples")
    return spacing


def _read_accuracy(value: Any) -> str:
    return str(Accuracy.of(value, "this"))


def _positive(dimension: units.Dimension) -> Any:
    def read(value: Any) -> float:
        found = read_number(value, [dimension])
        if not found > 0.0:
            raise InputError(f"is {show(value)}, must be > 0")
        return found

    return made(read, {"type": ["number", "string"], "exclusiveMinimum": 0})


METHODS = tuple(integrate.METHODS)

ExperimentForm = mapping(
    "experiment",
    "The default experiment: what `liegeo simulate` does without options.",
    start=Key(number(units.TIME), "the time at the start", 0.0),
    end=Key(number(units.TIME), "the time at the end", 1.0),
    output=Key(
        made(_read_output, {"type": ["number", "string", "array"]}),
        "the time between samples, a list of times, or steps; a thousand samples if not given",
        None,
    ),
    every=Key(whole(least=1), "with output: steps, each so many", 1),
    method=Key(choice(*METHODS), "of liegeo.integrate; chosen if not given", None),
    step=Key(_positive(units.TIME), "of methods of fixed step", None),
    rtol=Key(_positive(units.NUMBER), "relative tolerance of methods that choose their steps", None),
    atol=Key(_positive(units.NUMBER), "absolute tolerance of methods that choose their steps", None),
    accuracy=Key(
        made(_read_accuracy, {"type": ["number", "string", "array", "object"]}),
        "of places and orientations at the end, in place of tolerances: 1 mm, or [1 mm, 0.1 deg]",
        None,
    ),
    max_step=Key(_positive(units.TIME), "of methods that choose their steps", None),
    settle=Key(
        FLAG,
        "whether it begins at rest, in a stable equilibrium near the initial state; what is kept is held",
        False,
    ),
    inputs=Key(by_name(SIGNAL), "what drives it: signals by joint, actuator, force or motion", {}),
)

_SCALAR = made(_anything, {"type": ["number", "string"]})
_VariableForm = mapping(
    "variable",
    "What an FMU says about a variable; all that is left out comes from the model.",
    unit=Key(TEXT, "in which the variable is given, such as deg or mm; SI if not given", None),
    description=Key(TEXT, "what it is", None),
    min=Key(_SCALAR, "smallest sensible value; a plain number is in `unit`, as in all that follows", None),
    max=Key(_SCALAR, "largest sensible value", None),
    nominal=Key(_SCALAR, "its usual size", None),
    start=Key(_SCALAR, "its value at the start", None),
    variability=Key(choice("fixed", "tunable"), "of a parameter: whether it may change while running", None),
)
_VARIABLES = by_name(_VariableForm | None)
FMUForm = mapping(
    "fmu",
    "The interface of the model as an FMU.  Names may have * and ?.",
    name=Key(TEXT, "of the FMU, a C identifier; the file's name if not given", None),
    description=Key(TEXT, "of the FMU", None),
    author=Key(TEXT, "who made the model, with the organisation", None),
    version=Key(TEXT, "of the model, such as '1.2'", None),
    copyright=Key(TEXT, "who holds the rights of the model, and since when", None),
    license=Key(TEXT, "under which others may use the model", None),
    inputs=Key(_VARIABLES, "what other FMUs drive: joints, actuators, forces, motions", {}),
    outputs=Key(_VARIABLES, "what other FMUs see: columns of results", {}),
    parameters=Key(_VARIABLES, "parameters of this file, or paths in it such as gravity or bodies.hub.mass", {}),
    extrapolation=Key(choice("hold", "linear"), "what inputs do within a communication step", "hold"),
)

DocumentForm = mapping(
    "liegeo model",
    "A multibody system for liegeo.",
    liegeo=Key(made(_read_version, {"const": VERSION}), "version of the format"),
    name=Key(TEXT, "of the system; the file's name if not given", None),
    description=Key(TEXT, "what it is, and where its numbers come from", ""),
    parameters=Key(dict[str, Any], "numbers that the rest refers to as $(name), in groups or not", {}),
    gravity=Key(vector(units.ACCELERATION), "in the world's axes", (0.0, 0.0, -9.81)),
    fidelity=Key(choice(*FIDELITIES), "whether inertia changes with the deformation", "full"),
    modal_inverse=Key(choice(*MODAL_INVERSES), "how forward dynamics treats modes", "auto"),
    materials=Key(by_name(MaterialForm), "of beams and solids, by name", {}),
    sections=Key(by_name(one_of(*SECTION_FORMS.values())), "of beams, by name", {}),
    bodies=Key(by_name(one_of(*BODY_FORMS.values())), "rigid and flexible bodies, by name"),
    joints=Key(by_name(one_of(*JOINT_FORMS.values())), "joints, by name; exactly one leads into each body"),
    loops=Key(
        by_name(one_of(*JOINT_FORMS.values(), *CONSTRAINT_FORMS.values())),
        "what else holds the bodies: joints that close loops, and constraints, by name",
        {},
    ),
    forces=Key(by_name(one_of(*FORCE_FORMS.values())), "springs, actuators and other forces, by name", {}),
    surfaces=Key(by_name(one_of(*SURFACE_FORMS.values())), "what contacts touch: simple shapes of bodies, by name", {}),
    wheels=Key(by_name(WHEEL_FORM), "balanced rotors built into bodies, by name", {}),
    sensors=Key(by_name(one_of(*SENSOR_FORMS.values())), "accelerometers, encoders and other sensors, by name", {}),
    controllers=Key(by_name(CONTROLLER_FORM), "blocks that sample, compute and hold, by name of the controller", {}),
    events=Key(by_name(EVENT_FORM), "what switches locks, welds and inputs where a number passes a value, by name", {}),
    initial=Key(InitialForm, "the state at the start", None),
    experiment=Key(ExperimentForm, "the default experiment", None),
    fmu=Key(FMUForm, "the interface as an FMU", None),
)


# Sections of named entries, each of which can be left out and replaced by a stand-in.
SECTIONS = (
    *("materials", "sections", "bodies", "joints", "loops", "surfaces", "forces", "wheels", "sensors", "controllers"),
    "events",
)
_NAMED = ("q", "v", "x", "inputs", "outputs", "parameters")


@dataclass(frozen=True)
class Damage:
    """What a document lost so that the rest of it can be checked: whole entries, and keys of entries, by section."""

    lost: Mapping[str, set[str]]
    hurt: Mapping[str, set[str]]

    def __bool__(self) -> bool:
        return any(self.lost.values()) or any(self.hurt.values())


def validate(source: Source, data: Any, found: list[FileProblem]) -> tuple[Form | None, Damage]:
    """The document in its form, without what is wrong with it, which is added to what was found; or nothing."""
    damage = Damage({section: set() for section in SECTIONS}, {section: set() for section in SECTIONS})
    first = True
    while True:
        try:
            return DocumentForm.model_validate(data), damage
        except ValidationError as error:
            if first:
                found += problems.of_validation(source, data, error)
            located = problems.paths_of_validation(data, error)
            # what a form misses where something was taken out is no mistake of the file's
            gone = {_cut(path, first and kind != "missing") for path, kind in located}
        # without these there is nothing to go on with
        if gone & {(), ("liegeo",), ("bodies",), ("joints",)}:
            return None, damage
        for section, *rest in gone:
            if section in SECTIONS and rest:
                (damage.lost if len(rest) == 1 else damage.hurt)[str(section)].add(str(rest[0]))
        data, first = _without(data, gone, ()), False


def _cut(path: Path_, gently: bool) -> Path_:
    """What to leave out: a key of an entry if that may be enough, otherwise the entry."""
    if path and path[0] in SECTIONS:
        return path[: 3 if gently else 2]
    if path and path[0] in ("initial", "experiment", "fmu"):
        return path[: 3 if len(path) > 2 and path[1] in _NAMED else 2] if gently else path[:1]
    return path[:1]


def _without(data: Any, gone: set[Path_], here: Path_) -> Any:
    if not isinstance(data, dict) or len(here) > 2:
        return data
    return {key: _without(value, gone, (*here, key)) for key, value in data.items() if (*here, key) not in gone}


def keys_at(data: Any, path: Path_) -> list[str]:
    """The keys that the mapping at this place may have."""
    here: list[Any] = [DocumentForm]
    for part in path:
        below: list[Any] = []
        for annotation in _chosen(here, data):
            if isinstance(annotation, type) and issubclass(annotation, Form):
                field = annotation.model_fields.get(str(part))
                below += [] if field is None else [field.annotation]
            elif get_origin(annotation) in (dict, list):
                below.append(get_args(annotation)[-1])
        here = below
        data = data[part]
    forms = [a for a in _chosen(here, data) if isinstance(a, type) and issubclass(a, Form)]
    return list(dict.fromkeys(key for form in forms for key in form.model_fields))


def _chosen(annotations: list[Any], data: Any) -> list[Any]:
    """What unions stand for, by the kind that the data have."""
    out: list[Any] = []
    for annotation in annotations:
        if get_origin(annotation) is Annotated:
            out += _chosen([get_args(annotation)[0]], data)
        elif get_origin(annotation) in (Union, UnionType):
            out += _chosen(list(get_args(annotation)), data)
        else:
            out.append(annotation)
    kind = data.get("kind") if isinstance(data, dict) else None
    fitting = [a for a in out if isinstance(a, type) and issubclass(a, Form) and _kind(a) == kind]
    return fitting if kind is not None and fitting else out


def _kind(form: type[Form]) -> str | None:
    field = form.model_fields.get("kind")
    if field is None or get_origin(field.annotation) is not Literal:
        return None
    return str(get_args(field.annotation)[0])
