"""A tree of bodies, joints and loops as a person writes it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from liegeo.errors import Fault, ModelError, Owner
from liegeo.model import notebook
from liegeo.model.body import Body, FlexibleBody
from liegeo.model.checks import Sealed, as_array, few_suggestions, suggest
from liegeo.model.compiler import AUTO, FIDELITIES, IDENTITY, MODAL_INVERSES, RUTHLESS, WORLD, Compiler
from liegeo.model.constraints import Constraint
from liegeo.model.controllers import Controller
from liegeo.model.events import Trigger
from liegeo.model.forces import Force, Wheel
from liegeo.model.joints import Joint
from liegeo.model.model import Model
from liegeo.model.sensors import Sensor

# What may stand in each list of a tree, and what to call it.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "bodies": ((Body, FlexibleBody), "Body and FlexibleBody"),
    "joints": ((Joint,), "joints"),
    "wheels": ((Wheel,), "Wheel"),
    "forces": ((Force,), "force elements"),
    "loops": ((Joint, Constraint), "joints and constraints"),
    "sensors": ((Sensor,), "sensors"),
    "controllers": ((Controller,), "Controller"),
    "events": ((Trigger,), "Trigger"),
}


@dataclass(frozen=True, eq=False)
class Tree(Sealed):
    """Bodies and the joints that carry them.  Every body has exactly one joint into it; the world has none.

    `loops` are what else holds them: joints that close loops, and constraints (liegeo/model/constraints.py).  `sensors`
    are named outputs (liegeo/model/sensors.py).  `controllers` sample what `simulate` and FMUs move
    (liegeo/model/controllers.py).  `events` switch something where a number passes a value (liegeo/model/events.py).

    `fidelity` is "full" (all terms of one kinetic energy, so that energy is conserved) or "ruthless" (nothing depends
    on the deformation [JR90, (8.1)]).  `modal_inverse` is how forward dynamics treats the modal block of a body:
    "explicit" (factorised each time), "identity" ([JR90, (7.7)], ruthless models only), or "auto" (the faster one).
    Joints are listed from the base outward, and keep that order in q and v; with `any_order` a tree sorts them itself.
    """

    bodies: Sequence[Body | FlexibleBody]
    joints: Sequence[Joint]
    gravity: ArrayLike = (0.0, 0.0, -9.81)
    fidelity: str = "full"
    name: str = "tree"
    wheels: Sequence[Wheel] = ()
    forces: Sequence[Force] = ()
    modal_inverse: str = "auto"
    any_order: bool = False
    loops: Sequence[Joint | Constraint] = ()
    sensors: Sequence[Sensor] = ()
    controllers: Sequence[Controller] = ()
    events: Sequence[Trigger] = ()
    _order: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        strange = [fault for what in _KINDS for fault in self._strange(what)]
        object.__setattr__(self, "gravity", as_array(self.owner.field("gravity"), self.gravity, (3,)))
        with few_suggestions():
            faults = strange or self._faults()
        if faults:
            raise ModelError(faults)
        object.__setattr__(self, "_order", self._sorted())

    def __repr__(self) -> str:
        return f"<{notebook.describe_tree(self)}>"

    def _repr_html_(self) -> str:
        return notebook.tree_html(self)

    @property
    def all_bodies(self) -> tuple[Body | FlexibleBody, ...]:
        """The bodies, and the rotors of the wheels."""
        return (*self.bodies, *(wheel.rotor() for wheel in self.wheels))

    @property
    def all_joints(self) -> tuple[Joint, ...]:
        """The joints, and those of the wheels."""
        return (*self.joints, *(wheel.joint() for wheel in self.wheels))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("tree", self.name)

    def _strange(self, what: str) -> list[Fault]:
        """Make a tuple of a list of parts; return a fault for each that does not belong there."""
        (kinds, wanted), given = _KINDS[what], getattr(self, what)
        field = self.owner.field(what)
        try:
            parts: tuple[Any, ...] = tuple(given)
        except TypeError:
            return [field.fault(given, f"expected a list of {wanted}")]
        object.__setattr__(self, what, parts)
        found = [
            field.fault(part, f"expected {wanted}", finding=f"has {part!r}")
            for part in parts
            if not isinstance(part, kinds)
        ]
        return found or [
            field.fault(part.name, "expected text", finding=f"has one with the name {part.name!r}")
            for part in parts
            if not isinstance(part.name, str)
        ]

    def _faults(self) -> list[Fault]:
        """Return everything that is wrong with how bodies and joints fit together."""
        found = [*self._option_faults(), *self._name_faults(), *self._reference_faults()]
        ring = [] if found else self._cycles()
        # Of a ring one joint always stands too early.
        return found + (ring or self._disorder())

    def _option_faults(self) -> Iterator[Fault]:
        if not self.bodies:
            yield Fault(self.owner, ("bodies",), self.bodies, "has no bodies", "expected at least one")
        for name, allowed in (("fidelity", FIDELITIES), ("modal_inverse", MODAL_INVERSES)):
            if getattr(self, name) not in allowed:
                yield self.owner.field(name).fault(getattr(self, name), f"expected one of {', '.join(allowed)}")
        if self.modal_inverse == IDENTITY and self.fidelity != RUTHLESS:
            yield self.owner.field("modal_inverse", words=f"modal_inverse '{IDENTITY}'").fault(
                IDENTITY,
                finding="needs what does not change with the deformation: "
                f"choose fidelity '{RUTHLESS}', or modal_inverse '{AUTO}'",
            )

    def _name_faults(self) -> Iterator[Fault]:
        """Yield names that are used twice, or taken."""
        # by name, where it is used last
        places = {part.name: (what, part.name) for what in _KINDS for part in getattr(self, what)}
        names = Counter(part.name for what in _KINDS for part in getattr(self, what))
        for name, times in sorted(names.items()):
            if times > 1:
                yield self.owner.field(*places[name], words=f"the name '{name}'").fault(
                    name,
                    "expected once",
                    "Bodies, joints, wheels, forces, loops, sensors, controllers and events share one set of names.",
                    finding=f"is used {times} times",
                )
        for wheel in self.wheels:
            rotor = wheel.joint().child
            if rotor in names:
                yield self.owner.field(*places[rotor], words="something").fault(
                    rotor,
                    f"as is the rotor of wheel '{wheel.name}'",
                    "Call one of them something else.",
                    finding=f"is called '{rotor}'",
                )
        if WORLD in names:
            yield self.owner.field(*places[WORLD], words="something").fault(
                WORLD, "which names the fixed frame", finding=f"is called '{WORLD}'"
            )

    def _reference_faults(self) -> Iterator[Fault]:
        """Yield names of bodies that are not there, and bodies without a joint, or with several."""
        names = [body.name for body in self.bodies]
        carriers = set(names)

        def unknown(part: Joint | Wheel, role: str, known: list[str]) -> Fault:
            name = getattr(part, role)
            subject, near = f"its {role} '{name}'", suggest(name, known)
            return part.owner.field(role).fault(name, "", near, finding="is not a body of the tree", subject=subject)

        yield from (unknown(wheel, "body", names) for wheel in self.wheels if wheel.body not in carriers)
        leading: dict[str, list[str]] = defaultdict(list)
        for joint in self.joints:
            leading[joint.child].append(joint.name)
            if joint.parent not in carriers and joint.parent != WORLD:
                yield unknown(joint, "parent", [*names, WORLD])
            if joint.child not in carriers:
                yield unknown(joint, "child", names)
        for body in self.bodies:
            into, owner = leading[body.name], Owner("body", body.name)
            if len(into) > 1:
                yield owner.fault(
                    f"{len(into)} joints lead into it ({', '.join(into)})",
                    "expected one",
                    "A second one closes a loop: list it in `loops`, not in `joints`.",
                )
            elif not into:
                yield owner.fault(
                    "no joint leads into it",
                    "expected one",
                    f"Let it float with Free(name=..., parent='{WORLD}', child='{body.name}').",
                    f"Let it float: {{kind: free, parent: {WORLD}, child: {body.name}}}.",
                )

    def _disorder(self) -> list[Fault]:
        """Return the joints that stand before the one that carries their parent."""
        if self.any_order:
            return []
        later = {joint.child: joint.name for joint in self.joints}
        found = []
        for joint in self.joints:
            later.pop(joint.child, None)
            if joint.parent in later:
                fault = joint.owner.fault(
                    f"stands before joint '{later[joint.parent]}'",
                    f"which carries '{joint.parent}'",
                    "List joints from the base outward, or give any_order=True.",
                )
                found.append(fault)
        return found

    def _cycles(self) -> list[Fault]:
        parent = {joint.child: joint.parent for joint in self.joints}
        # what is known to hang on the world: every body is walked over once
        carried = {WORLD}
        for start in parent:
            # a dict, to keep the order
            chain: dict[str, None] = {}
            name = start
            while name not in carried and name not in chain:
                chain[name] = None
                name = parent[name]
            if name not in carried:
                walked = list(chain)
                ring = " → ".join([*reversed(walked[walked.index(name) :]), walked[-1]])
                fault = self.owner.field("joints", words="these bodies").fault(
                    walked,
                    advice=f"One of them must be carried by '{WORLD}'; a closed chain is a tree with a loop.",
                    finding=f"carry each other in a ring: {ring}",
                )
                return [fault]
            carried |= chain.keys()
        return []

    def _sorted(self) -> tuple[int, ...]:
        """Joints by index, parents first, otherwise in the order given."""
        joints = self.all_joints
        outboard: dict[str, list[int]] = defaultdict(list)
        for i, joint in enumerate(joints):
            outboard[joint.parent].append(i)
        # In which walk over the joints each would be reached: that of its parent, or the next if it stands before it.
        walk = dict.fromkeys(outboard[WORLD], 0)
        waiting = list(walk)
        while waiting:
            inboard = waiting.pop()
            for i in outboard[joints[inboard].child]:
                walk[i] = walk[inboard] + (i < inboard)
                waiting.append(i)
        return tuple(sorted(walk, key=lambda i: (walk[i], i)))

    def compile(self) -> Model:
        """Flat arrays for the kernels, and names for everything in them."""
        return Compiler(self).model()
