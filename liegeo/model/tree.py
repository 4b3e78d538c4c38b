"""A tree of bodies, joints and loops as a person writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from liegeo.errors import ModelError
from liegeo.model import notebook
from liegeo.model.body import Body, FlexibleBody
from liegeo.model.checks import as_array, suggest
from liegeo.model.compiler import AUTO, FIDELITIES, IDENTITY, MODAL_INVERSES, RUTHLESS, WORLD, Compiler
from liegeo.model.constraints import Constraint
from liegeo.model.forces import Force, Wheel
from liegeo.model.joints import Joint
from liegeo.model.model import Model


@dataclass(frozen=True)
class Tree:
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
        object.__setattr__(self, "bodies", tuple(self.bodies))
        object.__setattr__(self, "joints", tuple(self.joints))
        object.__setattr__(self, "wheels", tuple(self.wheels))
        object.__setattr__(self, "forces", tuple(self.forces))
        object.__setattr__(self, "loops", tuple(self.loops))
        object.__setattr__(self, "gravity", as_array("gravity", self.gravity, (3,)))
        strange = [loop for loop in self.loops if not isinstance(loop, Joint | Constraint)]
        problems = self._problems() if not strange else []
        problems += [f"tree '{self.name}': loops has {loop!r}, expected joints and constraints." for loop in strange]
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
            f"tree '{self.name}': the name '{name}' is used {everything.count(name)} times, expected once.\n"
            "  Bodies, joints, wheels, forces and loops share one set of names."
            for name in sorted({n for n in everything if everything.count(n) > 1})
        ]
        if WORLD in everything:
            found.append(f"tree '{self.name}': something is called '{WORLD}', which names the fixed frame.")
        found += [
            f"wheel '{wheel.name}': its body '{wheel.body}' is not a body of the tree.{suggest(wheel.body, names)}"
            for wheel in self.wheels
            if wheel.body not in names
        ]
        for joint in self.joints:
            for role, name, allowed in (("parent", joint.parent, [*names, WORLD]), ("child", joint.child, names)):
                if name not in allowed:
                    found.append(f"{joint.who}: its {role} '{name}' is not a body of the tree.{suggest(name, allowed)}")
        for name in names:
            into = [joint.name for joint in self.joints if joint.child == name]
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
        for start in parent:
            chain, name = [start], parent[start]
            while name != WORLD and name not in chain:
                chain.append(name)
                name = parent[name]
            if name != WORLD:
                ring = " → ".join([*reversed(chain[chain.index(name) :]), chain[-1]])
                return [
                    f"tree '{self.name}': these bodies carry each other in a ring: {ring}.\n"
                    f"  One of them must be carried by '{WORLD}'; a closed chain is a tree with a loop."
                ]
        return []

    def _sorted(self) -> tuple[int, ...]:
        """Joints by index, parents first, otherwise in the order given."""
        done = {WORLD}
        order: list[int] = []
        joints = self.all_joints
        while len(order) < len(joints):
            for i, joint in enumerate(joints):
                if i not in order and joint.parent in done:
                    order.append(i)
                    done.add(joint.child)
        return tuple(order)

    def compile(self) -> Model:
        """Flat arrays for the kernels, and names for everything in them."""
        return Compiler(self).model()
