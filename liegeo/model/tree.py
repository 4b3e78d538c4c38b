"""A tree of bodies, joints and loops as a person writes it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from liegeo.errors import ModelError
from liegeo.model import notebook
from liegeo.model.body import Body, FlexibleBody
from liegeo.model.checks import Sealed, as_array, few_suggestions, suggest
from liegeo.model.compiler import AUTO, FIDELITIES, IDENTITY, MODAL_INVERSES, RUTHLESS, WORLD, Compiler
from liegeo.model.constraints import Constraint
from liegeo.model.forces import Force, Wheel
from liegeo.model.joints import Joint
from liegeo.model.model import Model

# What may stand in each list of a tree, and what to call it.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "bodies": ((Body, FlexibleBody), "Body and FlexibleBody"),
    "joints": ((Joint,), "joints"),
    "wheels": ((Wheel,), "Wheel"),
    "forces": ((Force,), "force elements"),
    "loops": ((Joint, Constraint), "joints and constraints"),
}


@dataclass(frozen=True, eq=False)
class Tree(Sealed):
    """Bodies and the joints that carry them.  Every body has exactly one joint into it; the world has none.

    `loops` are what else holds them: joints that close loops, and constraints (liegeo/model/constraints.py).

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
    _order: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        strange = [problem for what in _KINDS for problem in self._strange(what)]
        object.__setattr__(self, "gravity", as_array("gravity", self.gravity, (3,)))
        with few_suggestions():
            problems = strange or self._problems()
        if problems:
            raise ModelError("\n".join(problems))
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

    def _strange(self, what: str) -> list[str]:
        """Makes a tuple of a list of parts; what in it is something else."""
        (kinds, wanted), given = _KINDS[what], getattr(self, what)
        who = f"tree '{self.name}': {what}"
        try:
            parts: tuple[Any, ...] = tuple(given)
        except TypeError:
            return [f"{who} is {given!r}, expected a list of {wanted}."]
        object.__setattr__(self, what, parts)
        found = [f"{who} has {part!r}, expected {wanted}." for part in parts if not isinstance(part, kinds)]
        return found or [
            f"{who} has one with the name {part.name!r}, expected text."
            for part in parts
            if not isinstance(part.name, str)
        ]

    def _problems(self) -> list[str]:
        """Everything that is wrong with how bodies and joints fit together."""
        found: list[str] = []
        names = [body.name for body in self.bodies]
        if not names:
            found.append(f"tree '{self.name}': has no bodies, expected at least one.")
        if self.fidelity not in FIDELITIES:
            found.append(f"tree '{self.name}': fidelity is {self.fidelity!r}, expected one of {', '.join(FIDELITIES)}.")
        if self.modal_inverse not in MODAL_INVERSES:
            found.append(
                f"tree '{self.name}': modal_inverse is {self.modal_inverse!r}, "
                f"expected one of {', '.join(MODAL_INVERSES)}."
            )
        if self.modal_inverse == IDENTITY and self.fidelity != RUTHLESS:
            found.append(
                f"tree '{self.name}': modal_inverse '{IDENTITY}' needs what does not change with the deformation: "
                f"choose fidelity '{RUTHLESS}', or modal_inverse '{AUTO}'."
            )
        others: list[Joint | Wheel | Force | Constraint] = [*self.joints, *self.wheels, *self.forces, *self.loops]
        everything = [*names, *(other.name for other in others)]
        found += [
            f"tree '{self.name}': the name '{name}' is used {times} times, expected once.\n"
            "  Bodies, joints, wheels, forces and loops share one set of names."
            for name, times in sorted(Counter(everything).items())
            if times > 1
        ]
        used, carriers = set(everything), set(names)
        found += [
            f"tree '{self.name}': something is called '{wheel.child}', as is the rotor of wheel '{wheel.name}'.\n"
            "  Call one of them something else."
            for wheel in (wheel.joint() for wheel in self.wheels)
            if wheel.child in used
        ]
        if WORLD in everything:
            found.append(f"tree '{self.name}': something is called '{WORLD}', which names the fixed frame.")
        found += [
            f"wheel '{wheel.name}': its body '{wheel.body}' is not a body of the tree.{suggest(wheel.body, names)}"
            for wheel in self.wheels
            if wheel.body not in carriers
        ]
        leading: dict[str, list[str]] = defaultdict(list)
        for joint in self.joints:
            leading[joint.child].append(joint.name)
            for role, name, more in (("parent", joint.parent, [WORLD]), ("child", joint.child, [])):
                if name not in carriers and name not in more:
                    known = suggest(name, [*names, *more])
                    found.append(f"{joint.who}: its {role} '{name}' is not a body of the tree.{known}")
        for name in names:
            into = leading[name]
            if len(into) > 1:
                found.append(
                    f"body '{name}': {len(into)} joints lead into it ({', '.join(into)}), expected one.\n"
                    "  A second one closes a loop: list it in `loops`, not in `joints`."
                )
            elif not into:
                found.append(
                    f"body '{name}': no joint leads into it, expected one.\n"
                    f"  Let it float with Free(name=..., parent='{WORLD}', child='{name}')."
                )
        ring = [] if found else self._cycles()
        # Of a ring one joint always stands too early.
        return found + (ring or self._disorder())

    def _disorder(self) -> list[str]:
        """Joints that stand before the one that carries their parent."""
        if self.any_order:
            return []
        later = {joint.child: joint.name for joint in self.joints}
        found = []
        for joint in self.joints:
            later.pop(joint.child, None)
            if joint.parent in later:
                found.append(
                    f"{joint.who} stands before joint '{later[joint.parent]}', which carries '{joint.parent}'.\n"
                    "  List joints from the base outward, or give any_order=True."
                )
        return found

    def _cycles(self) -> list[str]:
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
                return [
                    f"tree '{self.name}': these bodies carry each other in a ring: {ring}.\n"
                    f"  One of them must be carried by '{WORLD}'; a closed chain is a tree with a loop."
                ]
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
