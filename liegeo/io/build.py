"""From a document to a Mechanism.  All that is wrong is collected, each at its place, before anything is raised."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from liegeo import flex
from liegeo.appendages import carried, sum_of_loads
from liegeo.errors import Fault, Field, FileProblem, InputError, ModelError, ModelFileError, Owner, Path_
from liegeo.io import document, overrides, problems, references, units
from liegeo.io.fields import PLACE_KEYS, Form, read_number, show
from liegeo.io.flexible import Shelf, make_bodies, make_section, settled_form
from liegeo.io.forms import (
    ALL,
    DIMENSIONS,
    SIGNAL_DIMENSIONS,
    coordinates,
    kind_of,
    per_speed,
    read_all,
    read_coordinates,
)
from liegeo.io.mechanism import Experiment, Initial, Interface, Mechanism, Variable
from liegeo.io.migrations import MODEL_MIGRATIONS, migrate
from liegeo.io.parameters import Parameters, substituted
from liegeo.io.problems import WrongError, ended, suggest_some
from liegeo.io.signals import Reading
from liegeo.io.source import Source
from liegeo.model.about import OF_JOINT, POSITION_OF_JOINT, Part
from liegeo.model.body import Body, FlexibleBody, place_on
from liegeo.model.checks import few_suggestions, split_name, suggest
from liegeo.model.compiler import WORLD
from liegeo.model.constraints import ALL_CONSTRAINTS, Constraint, FrameConstraint, Lock, Motion, Weld
from liegeo.model.contacts import ALL_CONTACTS, ALL_SURFACES, Contact, Contacts, ContactSurface, surface_kind
from liegeo.model.controllers import ALL_BLOCKS, ControlBlock, Controller
from liegeo.model.drives import ALL_FORCES
from liegeo.model.events import Trigger
from liegeo.model.forces import Force, JointForce, Place, Wheel, place_fields
from liegeo.model.joints import ALL_JOINTS, Fixed, Free, Joint
from liegeo.model.model import Model
from liegeo.model.sensors import ALL_SENSORS, Sensor
from liegeo.model.tree import Tree
from liegeo.motion import Drive
from liegeo.recorded import MODES, settled, unrecorded
from liegeo.sampled import Plan

T = TypeVar("T")

_JOINTS = {kind_of(cls): cls for cls in ALL_JOINTS}
_LOOPS: Mapping[str, type[Joint] | type[Constraint]] = {**_JOINTS, **{kind_of(cls): cls for cls in ALL_CONSTRAINTS}}
_FORCES = {kind_of(cls): cls for cls in (*ALL_FORCES, *ALL_CONTACTS)}
_BLOCKS = {kind_of(cls): cls for cls in ALL_BLOCKS}
_SENSORS = {kind_of(cls): cls for cls in ALL_SENSORS}
_SURFACES = {surface_kind(cls): cls for cls in ALL_SURFACES}
# By kind of a column that depends on the joint on which an element acts: which property of a speed it is.
_OF_JOINT: Mapping[str, str] = {OF_JOINT: "force", POSITION_OF_JOINT: "position"}
_ENDINGS = (".torque", ".force", ".input")
# By kind of an owner: the sections that may hold it.
_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "body": ("bodies",),
    "joint": ("joints", "loops"),
    "wheel": ("wheels",),
    "force": ("forces",),
    "surface": ("surfaces",),
    "constraint": ("loops",),
    "controller": ("controllers",),
    "event": ("events",),
    "sensor": ("sensors",),
}


def build(source: Source, path: Path, override: Mapping[str, Any]) -> Mechanism:
    """The mechanism that a document describes, with other values for some of its parameters."""
    with few_suggestions():
        return _Builder(source, path, override).mechanism()


def _rebuilt(source: Source, path: Path, override: Mapping[str, Any], more: Mapping[str, Any]) -> Mechanism:
    return build(source, path, {**override, **more})


def folder_file(folder: Path) -> Callable[[str], Path]:
    """From the name of a file in a folder to its path; nothing outside of the folder is touched."""
    root = folder.resolve()

    def find(name: str) -> Path:
        given = Path(name)
        if not name.isprintable() or "\\" in name or ":" in name or given.is_absolute() or ".." in given.parts:
            raise InputError(f"is {show(name)}, expected a file in the folder of the model, as a/b.txt")
        path = root / given
        try:
            if not path.resolve().is_relative_to(root):
                raise InputError(f"is {show(name)}, which leads out of the folder of the model; copy the file into it")
            # a pipe or a device would be waited for
            is_file = stat.S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            is_file = False
        except (OSError, RuntimeError) as error:
            # links that lead to each other, names that are too long, folders that may not be read
            reason = getattr(error, "strerror", None) or "links lead to each other"
            raise InputError(
                f"is {show(name)}, which cannot be found: {reason}; copy the file into the folder"
            ) from None
        if not is_file:
            near = path.parent.iterdir() if path.parent.is_dir() else iter(())
            close = difflib.get_close_matches(path.name, [p.name for p in near if p.is_file()], n=1)
            said = f" Did you mean '{(given.parent / close[0]).as_posix()}'?" if close else ""
            raise InputError(f"is {show(name)}, which is not a file in the folder of the model.{said}")
        return path

    return find


class _ElsewhereError(Exception):
    """A body needs another one that cannot be made, which is reported with that one."""


@dataclass(eq=False)
class _Builder:
    source: Source
    path: Path
    override: Mapping[str, Any]
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    # files that readers of finite elements opened
    opened: list[Path] = field(default_factory=list)
    surfaces: dict[str, ContactSurface] = field(default_factory=dict)
    # by name of a body or joint that a beam in pieces was cut into: the entry of the beam
    pieces: dict[str, Path_] = field(default_factory=dict)

    # ---- what is wrong

    def report(self, path: Path_, message: str) -> None:
        if path and path[0] == "set":
            self.problems.append(FileProblem("set", 0, 0, str(path[1]), ended(message)))
        else:
            self.problems.append(self.source.problem(path, ended(message)))

    def attempt(self, path: Path_, make: Callable[..., T], *arguments: Any) -> T | None:
        try:
            return make(*arguments)
        except WrongError as error:
            self.report((*path, *error.path), str(error))
        except ModelFileError as error:
            self.problems += error.problems
        except ModelError as error:
            for fault in problems.faults_of(error):
                self.report_fault(fault, path or self._entry(fault.owner))
        except InputError as error:
            self.report(path, str(error))
        return None

    def report_fault(self, fault: Fault, path: Path_) -> None:
        """Report a fault at its field, below the path of its owner."""
        self.problems.append(problems.of_fault(self.source, self.data, fault, path))

    def _entry(self, owner: Owner | None) -> Path_:
        """Return the path of the entry that an owner is made from; none for the tree as a whole."""
        if owner is None or owner.kind not in _SECTIONS:
            return ()
        if owner.name in self.pieces:
            return self.pieces[owner.name]
        entries = ((section, owner.name) for section in _SECTIONS[owner.kind])
        return next((path for path in entries if path[1] in references.entries(self.data, path[0])), ())

    def check(self) -> None:
        """Raise what was found, and with it names that lead nowhere."""
        if not self.problems:
            return
        places = {(problem.line, problem.column) for problem in self.problems}
        for path, message in references.unknown(self.source.data, lambda path: self.source.place(path) not in places):
            self.report(path, message)
        raise ModelFileError(sorted(dict.fromkeys(self.problems), key=lambda p: (p.line, p.column)))

    # ---- the document

    def mechanism(self) -> Mechanism:
        migrate(self.source, "liegeo", MODEL_MIGRATIONS)
        data = self.data = self.source.data
        if not isinstance(data, dict):
            self.report(
                (),
                f"the file holds {show(data)[:60]}, expected a mapping that begins with 'liegeo: {document.VERSION}'.",
            )
            self.check()
        if "liegeo" not in data:
            known = difflib.get_close_matches("liegeo", list(data), n=1)
            said = f" Did you mean the key '{known[0]}'?" if known else ""
            self.report((), f"the file has no key 'liegeo', expected 'liegeo: {document.VERSION}' at its top.{said}")
            self.check()
        parameters = Parameters(self.report)
        if data.get("parameters") is not None:
            parameters.declare(data["parameters"])
        data, own = self._set(data, parameters)
        self.data = data
        declared = parameters.resolve(own)
        without_nothing = {key: value for key, value in data.items() if value is not None or key == "liegeo"}
        resolved = substituted(without_nothing, parameters)
        form, self.damage = document.validate(self.source, resolved, self.problems)
        if form is None:
            self.check()
        assert form is not None
        self.parameters, self.form = parameters, form
        tree = self._tree()
        # what is wrong with the tree is no reason to be silent about the rest, which needs only its parts
        whole = tree is not None and bool(tree.joints) and not self.problems
        model = self.attempt((), tree.compile) if whole and tree is not None else None
        initial = self._initial()
        experiment = self._experiment()
        if model is not None and (model.tree.controllers or model.tree.events) and not self.problems:
            self.attempt((), self._plan, model, experiment)
        interface = self._interface(model, parameters.declared)
        self.check()
        assert tree is not None
        assert model is not None
        given: dict[str, Any] = {
            "tree": tree,
            "description": form.description,
            "initial": initial,
            "experiment": experiment,
            "fmu": interface,
        }
        root = self.path.parent.resolve()
        made = Mechanism(
            **given,
            declared=parameters.with_uses(declared),
            path=self.path,
            document=overrides.with_parameters(data, own, declared),
            opened=tuple(dict.fromkeys(Path(os.path.relpath(file, root)) for file in self.opened)),
            _rebuild=functools.partial(_rebuilt, self.source, self.path, self.override),
            _given=given,
        )
        made.__dict__["_model"] = model
        return made

    def _set(self, data: dict[str, Any], parameters: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
        """The document with other values where paths say so, and the values of parameters."""
        own: dict[str, Any] = {}
        for name, given in self.override.items():
            value = self.attempt(("set", name), overrides.plain, name, given)
            if name in parameters.declared:
                own |= {name: value} if value is not None else {}
            elif name in (places := overrides.paths(data)):
                data = overrides.replaced(data, places[name], value)
            else:
                known = [*parameters.declared, *places]
                self.report(
                    ("set", name), f"is no parameter of the file, and no value in it.{suggest_some(name, known)}"
                )
        return data, own

    # ---- the tree

    def _tree(self) -> Tree | None:
        form = self.form
        # names of what failed: what refers to it is not checked any further
        self.failed: set[str] = set().union(*self.damage.lost.values())
        materials = self._each(
            "materials", lambda name, given: flex.Material(**settled(given.given(), MODES), name=name)
        )
        sections = self._each("sections", make_section)
        file = folder_file(self.path.parent)
        # what failed is reported already: a name that is known needs no second report
        shelf = Shelf(
            _Lenient(materials, self._named("materials"), flex.Material(1.0, 1.0, 0.0)),
            _Lenient(sections, self._named("sections"), flex.circle(1.0)),
            self.path.parent,
            file,
            self.opened,
            lambda name, fe: self._loads(name, fe, shelf),
        )
        made = self._each("bodies", lambda name, given: self._bodies(name, given, shelf))
        bodies: list[Body | FlexibleBody] = []
        inner: dict[str, list[Joint]] = {}
        for name in self._named("bodies"):
            found, between = made.get(name, ([], []))
            if not found or name in self.damage.hurt["bodies"]:
                names = self._names_of_body(name)
                found = [Body(each, mass=1.0, inertia=(1.0, 1.0, 1.0)) for each in names]
                between = [Free(name=f"…{a}", parent=WORLD, child=a) for a in names[1:]]
                self.failed |= set(names)
            bodies += found
            if between:
                inner[found[0].name] = between
                self.pieces |= {part.name: ("bodies", name) for part in (*found, *between)}
        joints: list[Joint] = []
        for name, given in form.joints.items():
            joint = _JOINTS[given.kind](name=name, **given.given())
            joints += [joint, *inner.pop(joint.child, [])]
        joints += [joint for rest in inner.values() for joint in rest]
        self.joints = {joint.name: joint for joint in joints}
        wheels = self._each("wheels", lambda name, given: Wheel(name=name, **given.given()))
        for wheel in wheels.values():
            turning = self.attempt(("wheels", wheel.name), self._wheel_joint, wheel)
            self.joints |= {wheel.name: turning} if turning is not None else {}
        self.surfaces = self._each("surfaces", lambda name, given: _SURFACES[given.kind](name=name, **given.given()))
        forces = self._each("forces", self._force)
        loops: dict[str, Joint | Constraint] = self._each("loops", self._loop)
        controllers = self._each("controllers", self._controller)
        self.failed |= set(form.controllers) - set(controllers)
        self.sensors = self._each("sensors", lambda name, given: _SENSORS[given.kind](name=name, **given.given()))
        self.events = self._each("events", lambda name, given: Trigger(name=name, **given.given()))
        # a tree without some of its parts would only lead to more complaints about them
        whole = not any(self.damage.lost.values()) and not self.damage.hurt["wheels"]
        tree = self._checked_tree(bodies, joints, wheels, forces, loops, controllers) if whole else None
        self._check_places({body.name: body for body in bodies}, joints, wheels, forces, loops)
        self._check_sensors({body.name: body for body in bodies})
        good = {name: joint for name, joint in self.joints.items() if name not in self.failed}
        modes = {body.name: body.n_modes for body in bodies if body.n_modes}
        self.parts = Parts(good, forces, loops, modes, controllers)
        return tree

    def _loads(self, carrier: str, fe: flex.FEModel, shelf: Shelf) -> Mapping[str, Any]:
        """Return the inertias on its nodes of what a body carries, at the initial position: of a tree without the rest.

        They make modes, so that no parameter in them may be recorded.
        """
        entries, names = self._outboard(carrier)
        joints = {
            name: _JOINTS[given.kind](name=name, **settled(given.given(), MODES))
            for name, given in self.form.joints.items()
            if given.child in names
        }
        bodies, inner = self._outboard_bodies(entries, shelf)
        nodes = {joint.at for joint in joints.values() if joint.parent == carrier and isinstance(joint.at, str)}
        frames = {}
        for node in nodes & {*fe.names, *fe.observers}:
            frames[node] = np.eye(4)
            frames[node][:3, 3] = fe.place(node)[0]
        stand_in = Body(carrier, mass=1.0, inertia=(1.0, 1.0, 1.0), frames=frames)
        base = Fixed(name=f"…{carrier}", parent=WORLD, child=carrier)
        motions = [
            Motion(name=name, joint=given.joint, coordinate=given.coordinate)
            for name, given in self.form.loops.items()
            if given.kind == "motion" and given.joint in joints
        ]
        gravity = settled(self.form.gravity, MODES)
        start = self.form.initial.q if self.form.initial is not None else {}
        try:
            places = {
                name: settled(read_coordinates(start[name], type(joint), coordinates(joint, joint.screws())), MODES)
                for name, joint in joints.items()
                if name in start
            }
            with unrecorded():
                parts = [base, *joints.values(), *inner]
                model = Tree([stand_in, *bodies], parts, gravity=gravity, loops=motions, any_order=True).compile()
                return sum_of_loads(carried(model, model.state(places), carrier))
        except (InputError, ModelError) as error:
            raise WrongError(f"is 'appendages', which cannot be found: {error}", "modes", "loads") from None

    def _outboard(self, carrier: str) -> tuple[list[str], set[str]]:
        """Return the entries of all bodies that a body carries, and their names: a beam in pieces makes several."""
        entry_of = {body: entry for entry in self._named("bodies") for body in self._names_of_body(entry)}
        entries: list[str] = []
        names: set[str] = set()
        outward = [carrier]
        while outward:
            parent = outward.pop()
            for given in self.form.joints.values():
                entry = entry_of.get(given.child, given.child)
                if given.parent == parent and entry not in (*entries, carrier):
                    entries.append(entry)
                    pieces = self._names_of_body(entry)
                    outward += pieces
                    names.update(pieces)
        return entries, names

    def _outboard_bodies(self, entries: Iterable[str], shelf: Shelf) -> tuple[list[Body | FlexibleBody], list[Joint]]:
        """Return the bodies of these entries, and the joints between the pieces of beams."""
        bodies: list[Body | FlexibleBody] = []
        inner: list[Joint] = []
        for name in entries:
            if name not in self.form.bodies or name in self.damage.hurt["bodies"]:
                raise _ElsewhereError
            try:
                made, between = make_bodies(name, settled_form(self.form.bodies[name]), shelf)
            except (InputError, ModelError):
                raise _ElsewhereError from None
            bodies += made
            inner += between
        return bodies, inner

    def _controller(self, name: str, given: Form) -> Controller | None:
        blocks: dict[str, ControlBlock] = {}
        for block, form in (given.blocks or {}).items():
            make = functools.partial(_BLOCKS[form.kind], **form.given())
            made = self.attempt(("controllers", name, "blocks", block), make)
            blocks |= {} if made is None else {block: made}
        if len(blocks) < len(given.blocks or {}):
            return None
        options = given.given("blocks", "fmu")
        if given.fmu is not None:
            try:
                file = folder_file(self.path.parent)(given.fmu.file)
            except InputError as error:
                raise WrongError(str(error), "fmu", "file") from None
            options["fmu"] = {**given.fmu.given(), "file": str(file)}
        return Controller(name=name, **options, blocks=blocks)

    def _plan(self, model: Model, experiment: Experiment) -> None:
        """See whether controllers find what they measure and drive."""
        drive = Drive(model)
        driven = {name: drive._place(name) for name in experiment.inputs}
        try:
            Plan(model, model.tree.controllers, drive._place, driven)
        except ModelError:
            raise
        except InputError as error:
            # about an FMU, whose controller it names
            name = next((each.name for each in model.tree.controllers if f"'{each.name}'" in str(error)), "")
            self.report(("controllers", name) if name else ("controllers",), f"does not fit: {error}")

    def _named(self, section: str) -> list[str]:
        """Names of entries, in the order of the file, those that cannot be made included."""
        made, lost = getattr(self.form, section), self.damage.lost[section]
        return [name for name in references.entries(self.source.data, section) if name in made or name in lost]

    def _bodies(self, name: str, given: Form, shelf: Shelf) -> Any:
        # of a flexible body that lost a key little can be said; the numbers of a rigid one stand for themselves
        if name in self.damage.hurt["bodies"] and given.kind != "rigid":
            return None
        try:
            return make_bodies(name, given, shelf)
        except _ElsewhereError:
            return None

    def _names_of_body(self, name: str) -> list[str]:
        """Of a beam in pieces there are several."""
        entry = references.entries(self.source.data, "bodies").get(name)
        given = self.form.bodies.get(name)
        pieces = entry.get("pieces") if isinstance(entry, dict) else None
        pieces = getattr(given, "pieces", None) or pieces
        if pieces is None:
            return [name]
        return [f"{name}_{k + 1}" for k in range(min(pieces if isinstance(pieces, int) else 100, 1000))]

    def _each(self, section: str, make: Callable[[str, Form], T | None]) -> dict[str, T]:
        out = {}
        for name, given in getattr(self.form, section).items():
            if name in self.damage.hurt[section] and section != "bodies":
                self.failed.add(name)
                continue
            made: T | None = self.attempt((section, name), make, name, given)
            if made is not None:
                out[name] = made
        return out

    def _force(self, name: str, given: Form) -> Force | None:
        options = given.given()
        if issubclass(_FORCES[given.kind], Contact):
            for key in ("a", "b"):
                surface, known = options[key], self._named("surfaces")
                if surface not in known:
                    raise WrongError(f"is '{surface}', which is none of the surfaces.{suggest(surface, known)}", key)
                options[key] = self.surfaces.get(surface)
            if None in (options["a"], options["b"]):
                # what is wrong with the surface is reported already
                self.failed.add(name)
                return None
        elif issubclass(_FORCES[given.kind], Contacts):
            options["among"] = self._among(name, options["among"])
            if options["among"] is None:
                return None
        return _FORCES[given.kind](name=name, **options)

    def _among(self, name: str, wanted: Any) -> tuple[ContactSurface, ...] | None:
        """Return the surfaces with these names, or all; none if one of them has faults, which are reported already."""
        known = self._named("surfaces")
        names = known if wanted == ALL else wanted
        for surface in names:
            if surface not in known:
                said = suggest(surface, known)
                raise WrongError(f"has '{surface}', which is none of the surfaces.{said}", "among")
        if any(surface not in self.surfaces for surface in names):
            self.failed.add(name)
            return None
        return tuple(self.surfaces[surface] for surface in names)

    def _wheel_joint(self, wheel: Wheel) -> Joint:
        wheel.rotor()
        return wheel.joint()

    def _loop(self, name: str, given: Form) -> Joint | Constraint | None:
        options = given.given()
        if given.kind == "motion" and given.joint in self.failed:
            return None
        if given.kind == "motion" and "law" in options:
            joint = self._known_joint(given.joint, "joint")
            law = options.pop("law")
            # of a coordinate that there is not, whose law means nothing, the compiler says so
            if (given.coordinate or 0) in range(len(joint.screws())):
                options["law"] = _under("law", self._law, joint, given.coordinate, law)
        return _LOOPS[given.kind](name=name, **options)

    def _law(self, joint: Joint, coordinate: int | None, signal: Any) -> Any:
        wanted = coordinates(joint, joint.screws())
        composed = joint.composed
        if coordinate is not None and not composed:
            wanted = wanted[coordinate : coordinate + 1]
        law = self._reading(wanted, law=True, joint=joint)(signal)
        if composed and (callable(law) or isinstance(law, tuple)):
            raise InputError(
                f"changes in time, but the coordinates of joint '{joint.name}' are an element of a group, whose speeds "
                "are not their derivatives; prescribe joints of one axis, or give the law in Python"
            )
        return law

    def _known_joint(self, name: str, *path: str) -> Joint:
        if name not in self.joints:
            raise WrongError(f"is '{name}', which is not a joint.{suggest(name, list(self.joints))}", *path)
        return self.joints[name]

    def _reading(self, wanted: Any, law: bool = False, joint: Joint | None = None) -> Reading:
        pose = None
        if joint is not None:
            pose = lambda value: read_coordinates(value, type(joint), wanted)  # noqa: E731
        return Reading(self.parameters.lookup, folder_file(self.path.parent), wanted, law, pose)

    def _checked_tree(
        self,
        bodies: Any,
        joints: Any,
        wheels: Mapping[str, Wheel],
        forces: Mapping[str, Force],
        loops: Any,
        controllers: Mapping[str, Controller],
    ) -> Tree | None:
        form = self.form
        try:
            return Tree(
                bodies,
                joints,
                gravity=form.gravity,
                fidelity=form.fidelity,
                name=form.name or self.path.stem,
                wheels=tuple(wheels.values()),
                forces=tuple(forces.values()),
                modal_inverse=form.modal_inverse,
                any_order=True,
                loops=tuple(loops.values()),
                controllers=tuple(controllers.values()),
                sensors=tuple(self.sensors.values()),
                events=tuple(self.events.values()),
            )
        except ModelError as error:
            for fault in error.faults:
                self.report_fault(fault, self._entry(fault.owner))
        return None

    def _check_places(self, bodies: Mapping[str, Any], joints: Any, wheels: Any, forces: Any, loops: Any) -> None:
        """All frames, nodes and directions that are named or given, where the compiler would stop at the first."""
        cut = [loop for loop in loops.values() if isinstance(loop, Joint)]
        for section, each in [("joints", joint) for joint in joints] + [("loops", joint) for joint in cut]:
            if each.name not in getattr(self.form, section):
                continue
            where = (section, each.name)
            if self.attempt(where, each.screws) is None:
                self.failed.add(each.name)
            for owner, key in ((each.parent, "at"), (each.child, "child_at")):
                self._on(bodies, owner, getattr(each, key), where, each.owner.field(key))
        for wheel in wheels.values():
            self._on(bodies, wheel.body, wheel.at, ("wheels", wheel.name), wheel.owner.field("at"))
        for surface in self.surfaces.values():
            self._place(bodies, surface.at, ("surfaces", surface.name), surface.owner.field("at"))
        placed = [("forces", force) for force in forces.values()] + [("loops", loop) for loop in loops.values()]
        for section, each in placed:
            for key in place_fields(each):
                self._place(bodies, getattr(each, key), (section, each.name), each.owner.field(key))
            for k, place in enumerate(getattr(each, "via", ())):
                self._place(bodies, place, (section, each.name), each.owner.field("via", k))
            if isinstance(each, FrameConstraint):
                self.attempt((section, each.name), each.data)

    def _check_sensors(self, bodies: Mapping[str, Any]) -> None:
        """Places and joints of sensors; what failed itself is reported already."""
        for sensor in self.sensors.values():
            before, where, owners = len(self.problems), ("sensors", sensor.name), {getattr(sensor, "joint", None)}
            for key in ("at", "a", "b"):
                place = getattr(sensor, key, None)
                if place is not None:
                    self._place(bodies, place, where, sensor.owner.field(key))
                    owners.add(split_name(place, bodies)[0] if isinstance(place, str) else place[0])
            if len(self.problems) == before and not owners & self.failed:
                self.attempt(where, sensor.check, bodies, self.joints)

    def _place(self, bodies: Mapping[str, Any], place: Place, path: Path_, field: Field) -> None:
        body_key, named = (*path, *field.path), field
        rest: Any
        if isinstance(place, str):
            owner, rest = split_name(place, bodies)
        else:
            owner, rest = place
            body_key, named = (*body_key, PLACE_KEYS[0]), field._replace(path=(*field.path, 1), words=field.name)
        where = (rest or None) if isinstance(rest, str) else rest
        if owner != WORLD and owner not in bodies:
            self.report(body_key, f"is on '{owner}', which is not a body.{suggest(owner, [*bodies, WORLD])}")
        else:
            self._on(bodies, owner, where, path, named)

    def _on(self, bodies: Mapping[str, Any], owner: str, where: Any, path: Path_, field: Field) -> None:
        if owner in self.failed or (owner != WORLD and owner not in bodies):
            return
        body = bodies.get(owner)
        try:
            place_on(body, where, field)
        except ModelError as error:
            hint = ""
            if isinstance(where, str) and isinstance(body, FlexibleBody) and where not in body.nodes:
                hint = "\n  Nodes that are used must be listed in the body's `nodes`."
            for fault in error.faults:
                self.report_fault(replace(fault, advice=fault.advice + hint), path)

    # ---- the rest

    def _initial(self) -> Initial:
        given = self.form.initial
        if given is None:
            return Initial()
        found: dict[str, dict[str, Any]] = {"q": {}, "v": {}}
        for what, values in found.items():
            for name, value in getattr(given, what).items():
                made = self.attempt(("initial", what, name), self._coordinate, what, name, value)
                if made is not None:
                    values[name] = made
        states: dict[str, Any] = {}
        for name, value in given.x.items():
            made = self.attempt(("initial", "x", name), self._first_order, name, value)
            if made is not None:
                states[name] = made
        for name in given.keep:
            if name not in self.joints and name not in self.failed:
                self.report(
                    ("initial", "keep"), f"names '{name}', which is not a joint.{suggest(name, list(self.joints))}"
                )
        return Initial(found["q"], found["v"], given.keep, states)

    def _first_order(self, name: str, value: Any) -> Any:
        if name in self.failed:
            return None
        forces = self.parts.forces
        with_states = [name for name, force in forces.items() if force.n_states]
        if name not in with_states:
            raise InputError(f"names '{name}', which is no force with a first-order state.{suggest(name, with_states)}")
        return read_all(value, self.parts.states_of(forces[name]), "states")

    def _coordinate(self, what: str, name: str, value: Any) -> Any:
        if name in self.failed:
            return None
        moving = self.parts.moving()
        if name not in moving:
            raise InputError(f"names '{name}', which has nothing that moves.{suggest(name, moving)}")
        if name not in self.joints:
            return read_all(value, [units.NUMBER] * self.parts.modes[name], "modal coordinates")
        joint = self.joints[name]
        if what == "q":
            return read_coordinates(value, type(joint), coordinates(joint, joint.screws()))
        return read_all(value, per_speed(joint.screws(), "speed"), "speeds")

    def _experiment(self) -> Experiment:
        given = self.form.experiment
        if given is None:
            return Experiment()
        options = settled(given.given("inputs"), "it is a setting of the experiment")
        if given.end <= given.start:
            self.report(("experiment", "end"), f"is {given.end:g} s, must be after the start, {given.start:g} s")
        inputs = {}
        for name, signal in given.inputs.items():
            made = self.attempt(("experiment", "inputs", name), self._input, name, signal)
            if made is not None:
                inputs[name] = made
        return Experiment(**options, inputs=inputs)

    def _input(self, name: str, signal: Any) -> Any:
        candidates = (*_candidates(name), name.partition(".")[0])
        elements = {**self.parts.motions(), **self.parts.forces}
        driven = [getattr(elements[candidate], "joint", None) for candidate in candidates if candidate in elements]
        # a joint that there is not is reported by who refers to it
        if self.failed.intersection([*candidates, *driven]) or not self.joints.keys() >= set(driven) - {None}:
            return None
        for candidate in candidates:
            if candidate in self.parts.motions():
                motion = self.parts.motions()[candidate]
                return self._law(self.joints[motion.joint], motion.coordinate, signal)
        wanted = self.parts.input_dimensions(name)
        if wanted is None:
            raise InputError(
                f"is '{name}', which is no joint, force or motion that takes an input."
                f"{suggest(name, self.parts.input_names())}"
            )
        return self._reading(wanted)(signal) if wanted else None

    def _interface(self, model: Model | None, declared: Mapping[str, Any]) -> Interface:
        given = self.form.fmu
        if given is None:
            return Interface()
        known = {
            "inputs": self.parts.input_names(),
            "outputs": [*model.names.table, *model.names.computable] if model is not None else [],
            "parameters": [*declared, *overrides.paths(self.source.data)],
        }
        if given.name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", given.name):
            self.report(("fmu", "name"), f"is {show(given.name)}, expected letters, digits and _, as a name in C")
        found: dict[str, dict[str, Variable]] = {}
        gone: list[str] = []
        for what, names in known.items():
            found[what] = {}
            for name, options in getattr(given, what).items():
                where = ("fmu", what, name)
                # without a model nobody knows its columns
                open_ = (what == "outputs" and model is None) or (what == "inputs" and bool(self.failed))
                if (
                    not open_
                    and not any(fnmatch.fnmatchcase(k, name) for k in names)
                    and not _is_output(model, what, name)
                ):
                    if what == "outputs" and self.override:
                        gone.append(name)
                    else:
                        self.report(where, f"is none of the model's {what}.{suggest_some(name, names)}")
                made = self.attempt(where, _variable, options, what)
                if made is not None:
                    found[what][name] = made
        if gone:
            # one message, because one value may take a dozen bodies away
            more = f" and {len(gone) - 3} more" if len(gone) > 3 else ""
            changed = ", ".join(f"{name} = {show(value)}" for name, value in self.override.items())
            self.report(
                ("fmu", "outputs"),
                f"names {', '.join(map(repr, gone[:3]))}{more}, which the model does not have with {changed}.\n"
                "  Leave these outputs out, or give values with which the model has them.",
            )
        return Interface(
            given.name,
            given.description,
            **found,
            extrapolation=given.extrapolation,
            author=given.author,
            version=given.version,
            copyright=given.copyright,
            license=given.license,
        )


class _Lenient(dict[str, T]):
    """What was made, and a stand-in for what was named but failed."""

    def __init__(self, made: Mapping[str, T], named: Iterable[str], instead: T) -> None:
        super().__init__({name: made.get(name, instead) for name in named})


def _under(key: str, make: Callable[..., T], *arguments: Any) -> T:
    try:
        return make(*arguments)
    except InputError as error:
        raise WrongError(str(error), key) from None


@dataclass(frozen=True)
class Parts:
    """What of a model can be driven and started, by name; of bodies how many modes they have."""

    joints: Mapping[str, Joint]
    forces: Mapping[str, Force]
    loops: Mapping[str, Joint | Constraint]
    modes: Mapping[str, int]
    controllers: Mapping[str, Controller] = field(default_factory=dict)

    def signals(self) -> dict[str, units.Dimension]:
        """What controllers, and locks and welds that are commanded, take from outside, and what it is measured in."""
        switches = (name for name, loop in self.loops.items() if isinstance(loop, Lock | Weld) and loop.commanded)
        return dict.fromkeys(switches, units.NUMBER) | {
            f"{name}.{signal}": SIGNAL_DIMENSIONS[kind]
            for name, controller in self.controllers.items()
            for signal, kind in controller.inputs.items()
        }

    def motions(self) -> dict[str, Motion]:
        return {name: loop for name, loop in self.loops.items() if isinstance(loop, Motion)}

    def moving(self) -> list[str]:
        """Joints and bodies with speeds of their own."""
        return self._moving

    @functools.cached_property
    def _moving(self) -> list[str]:
        return [*(name for name, joint in self.joints.items() if len(joint.screws())), *self.modes]

    def input_names(self) -> list[str]:
        driven = [name for name, force in self.forces.items() if force.n_inputs]
        return [*driven, *self.motions(), *self.moving(), *self.signals()]

    def input_dimensions(self, name: str) -> list[units.Dimension] | None:
        """What the components of an input are, by the names that `simulate` takes; None if there is no such input."""
        motions, moving = self.motions(), self.moving()
        if name in (signals := self.signals()):
            return [signals[name]]
        for candidate in _candidates(name):
            if candidate in motions:
                motion = motions[candidate]
                wanted = coordinates(self.joints[motion.joint], self.joints[motion.joint].screws())
                return wanted if motion.coordinate is None else wanted[motion.coordinate : motion.coordinate + 1]
            if candidate in self.forces and self.forces[candidate].n_inputs:
                return self._of_force(self.forces[candidate])
            if candidate in moving and candidate in self.joints:
                return per_speed(self.joints[candidate].screws(), "force")
            if candidate in moving:
                return [units.NUMBER] * self.modes[candidate]
        return None

    def _of_force(self, force: Force) -> list[units.Dimension]:
        if force.inputs is None:
            return [units.NUMBER] * force.n_inputs
        return self._dimensions(force, force.inputs)

    def states_of(self, force: Force) -> list[units.Dimension]:
        """Return what the first-order states of a force are measured in."""
        return self._dimensions(force, force.states)

    def _dimensions(self, force: Force, parts: Iterable[Part]) -> list[units.Dimension]:
        out = []
        for part in parts:
            dimension = DIMENSIONS.get(part.kind)
            if isinstance(force, JointForce) and part.kind in _OF_JOINT:
                dimension = per_speed(self.joints[force.joint].screws(), _OF_JOINT[part.kind])[force.speed]
            if dimension is None:
                cls, known = Owner("class", type(force).__name__), ", ".join([*DIMENSIONS, *_OF_JOINT])
                raise ModelError(cls.fault(f"its column '{part.name}' is of kind '{part.kind}'", f"expected {known}"))
            out += [dimension] * len(part.components)
        return out


def parts_of(tree: Tree) -> Parts:
    return Parts(
        {joint.name: joint for joint in tree.all_joints},
        {force.name: force for force in tree.forces},
        {loop.name: loop for loop in tree.loops},
        {body.name: body.n_modes for body in tree.bodies if body.n_modes},
        {controller.name: controller for controller in tree.controllers},
    )


def _candidates(name: str) -> tuple[str, str]:
    """An input is called as its element, or as its column in a result."""
    return name, next((name.removesuffix(end) for end in _ENDINGS if name.endswith(end)), name)


def _is_output(model: Model | None, what: str, name: str) -> bool:
    if what != "outputs" or model is None:
        return False
    try:
        return bool(model.names.match([name]))
    except InputError:
        return False


def _variable(options: Form | None, what: str) -> Variable:
    if options is None:
        return Variable()
    given = options.given()
    if "variability" in given and what != "parameters":
        raise WrongError("is for parameters only", "variability")
    wanted, factor = [], 1.0
    if "unit" in given:
        one = _under("unit", units.named_unit, given["unit"])
        # plain numbers are in the unit that stands beside them
        wanted, factor = [units.Dimension("value", given["unit"], one.powers or units.NONE, one.kind)], float(one.value)
    for key in ("min", "max", "nominal", "start"):
        if key in given:
            found = _under(key, read_number, given[key], wanted)
            given[key] = found if units.has_unit(given[key]) else found * factor
    return Variable(**given)
