"""Events of a model as rows of kernels/events.py: its triggers, rigid stops, and what is commanded or engaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo.errors import Field, InputError, ModelError
from liegeo.kernels import events as at
from liegeo.kernels import layout
from liegeo.model.checks import suggest
from liegeo.model.constraints import MODE, Lock, Motion, RigidStop, Weld
from liegeo.model.events import DIRECTIONS, Trigger
from liegeo.model.names import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from liegeo.motion import Drive
    from liegeo.sampled import Plan

# A time before all runs: what is on at the start engages there.  And how a switch counts as on.
_ALWAYS, _ON = -1e50, 0.5


class Happenings:
    """The events of a plan: their names, what they measure, and their rows."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.model = plan, plan.model
        tree = self.model.tree
        self._loops = {loop.name: loop for loop in tree.loops}
        self.columns: list[Column] = []
        self._rows: list[list[int]] = []
        #: By row, the name of the event.
        self.names: list[str] = []
        # places in C by place in u, and pairs of them
        self._held: dict[int, int] = {}
        self._made: list[tuple[str, Any]] = []
        self._settable_places: dict[int, tuple[Trigger, str]] = {}
        for loop in tree.loops:
            if isinstance(loop, RigidStop):
                self._made.append((loop.name, loop))
            elif isinstance(loop, Lock | Weld):
                self._made += self._commands(loop)
        self._made += [(trigger.name, trigger) for trigger in tree.events]
        for _, made in self._made:
            self.columns += self._measured(made)

    def _commands(self, loop: Lock | Weld) -> list[tuple[str, Any]]:
        """Return the triggers of a switch that has a command, or is on at the start."""
        found: list[tuple[str, Any]] = []
        if loop.engaged:
            found.append((loop.name, Trigger(name=loop.name, signal="time", value=_ALWAYS, engage=[loop.name])))
        if loop.commanded:
            command = f"{loop.name}.input"
            for direction, key in (("rising", "engage"), ("falling", "release")):
                given: dict[str, Any] = {"signal": command, "value": _ON, "direction": direction, key: [loop.name]}
                found.append((loop.name, Trigger(name=loop.name, **given)))
        return found

    def _measured(self, made: Trigger | RigidStop) -> list[Column]:
        names = self.model.names
        if isinstance(made, RigidStop):
            assert self.model.group is not None
            i = self.model.joints.index(made.joint)
            row = layout.HEADER + i * layout.BODY_I_SIZE
            q, v = (int(self.model.ints[row + k]) + made.speed for k in (layout.JQ, layout.JV))
            return [
                Column(made.name, "coordinate", ("q",), q),
                Column(made.name, "coordinate", ("v",), v),
                Column(made.name, "coordinate", ("loop", made.name), 0),
            ]
        try:
            found = names.find(made.signal, "model")
        except InputError as error:
            finding, _, advice = str(error).removeprefix(f"model: '{made.signal}' ").partition("\n")
            finding, _, near = finding.partition(".")
            raise self._wrong(
                made.owner.field("signal"), made.signal, finding, f"{near.strip()}\n{advice}".strip()
            ) from None
        if len(found) != 1:
            finding = f"is {len(found)} numbers, expected one"
            raise self._wrong(made.owner.field("signal"), made.signal, finding, f"Name a component: {found[0]}.")
        return [names.column(found[0])]

    @staticmethod
    def _wrong(field: Field, given: Any, finding: str, advice: str = "") -> ModelError:
        return ModelError(field.fault(given, "", advice, finding=finding, subject=f"'{given}'"))

    # ---- rows

    def place(self, first: int) -> tuple[int, int, int, int]:
        """Make the rows, of which the first measures number `first` of C; return the header of the plan for them."""
        plan, k = self.plan, first
        for loop in self._loops.values():
            if isinstance(loop, Lock | Weld | RigidStop):
                part = self.model.inputs[f"{loop.name}.{MODE}"]
                on = isinstance(loop, Lock) and loop.engaged
                self._hold(loop.name, slice(self.model.nv + part.start, self.model.nv + part.stop), [float(on)])
        for name, made in self._made:
            row = [0] * at.EVENT_SIZE
            row[at.E_SIGNAL] = k
            if isinstance(made, RigidStop):
                self._stop(made, row)
                k += at.E_FORCE - at.E_SIGNAL + 1
            else:
                self._trigger(made, row)
                k += 1
            self._rows.append(row)
            self.names.append(name)
        start = plan._put_ints([number for row in self._rows for number in row])
        pairs = plan._put_ints([number for u, c in self._held.items() for number in (c, u)])
        return start, len(self._rows), pairs, len(self._held)

    def _hold(self, owner: str, place: slice, start: Sequence[float]) -> int:
        """Return where in C the numbers at a place of u are that events set."""
        if place.start in self._held:
            return self._held[place.start]
        plan, n = self.plan, place.stop - place.start
        c = plan._reserve([*start, *[0.0] * (n - len(start))])
        for k in range(n):
            taken = plan._owners.get(place.start + k)
            if taken is not None:
                raise InputError(f"event '{owner}' sets what controller '{taken}' drives: let one of them do it.")
            self._held[place.start + k] = c + k
            plan._owners[place.start + k] = owner
        return c

    def _stop(self, stop: RigidStop, row: list[int]) -> None:
        model = self.model
        row[at.E_KIND] = at.STOP
        row[at.E_SPEED], row[at.E_FORCE] = row[at.E_SIGNAL] + 1, row[at.E_SIGNAL] + 2
        row[at.E_P] = self.plan._put([stop.lower, stop.upper, stop.restitution, stop.rest_speed])
        row[at.E_STATE] = self.plan._reserve([0.0] * at.STATE_SIZE)
        row[at.E_SWITCH] = self._held[model.nv + model.inputs[f"{stop.name}.{MODE}"].start]
        b = layout.HEADER + model.joints.index(stop.joint) * layout.BODY_I_SIZE
        row[at.E_Q] = int(model.ints[b + layout.JQ]) + stop.speed
        row[at.E_V] = model.nq + model.nx + int(model.ints[b + layout.JV]) + stop.speed
        row[at.E_ROW] = int(model.ints[self._constraint(stop.name) + layout.C_ROW])

    def _constraint(self, name: str) -> int:
        number = list(self._loops).index(name)
        return int(self.model.ints[layout.CONSTRAINTS]) + number * layout.CONSTRAINT_SIZE

    def _trigger(self, trigger: Trigger, row: list[int]) -> None:
        timed = trigger.signal == "time"
        row[at.E_KIND] = at.AT_TIME if timed else at.TRIGGER
        row[at.E_P] = self.plan._put([trigger.value])
        # what follows a command, or is on from the start, acts there too
        loop = self._loops.get(trigger.name)
        row[at.E_STATE] = self.plan._reserve([-1.0 if loop is not None else 0.0, *[0.0] * (at.STATE_SIZE - 1)])
        row[at.E_DIRECTION], row[at.E_ONCE] = DIRECTIONS[trigger.direction], int(trigger.once)
        actions: list[int] = []
        for name, value in trigger.set.items():
            place = self._settable(trigger, name)
            actions += [at.SET, self._hold(trigger.name, place, [0.0]), self.plan._put([value])]
        for key, on in (("engage", 1.0), ("release", 0.0)):
            for name in getattr(trigger, key):
                switch = self._switch(trigger, key, name)
                c = self._held[self.model.nv + self.model.inputs[f"{name}.{MODE}"].start]
                if isinstance(switch, Weld) and on:
                    actions += [at.CAPTURE, c, self._constraint(name)]
                else:
                    actions += [at.SET, c, self.plan._put([on])]
        row[at.E_ACTIONS], row[at.E_N_ACTIONS] = self.plan._put_ints(actions), len(actions) // at.ACTION_SIZE

    def _switch(self, trigger: Trigger, key: str, name: str) -> Lock | Weld:
        loop = self._loops.get(name)
        if not isinstance(loop, Lock | Weld):
            known = [other for other, each in self._loops.items() if isinstance(each, Lock | Weld)]
            field = trigger.owner.field(key)
            raise self._wrong(field, name, "is no lock or weld among the loops", suggest(name, known))
        return loop

    def _settable(self, trigger: Trigger, name: str) -> slice:
        """Return where in u an input stands that is one number and nobody else drives."""
        field = trigger.owner.field("set", name)
        try:
            place = self.plan._place(name)
        except InputError as error:
            finding, _, near = str(error).partition(" is ")[2].partition(".")
            raise self._wrong(field, name, f"is {finding}", near) from None
        loop = self._loops.get(name.removesuffix(".input").removesuffix(f".{MODE}"))
        if isinstance(loop, Motion | RigidStop) or (loop is not None and name.endswith(f".{MODE}")):
            advice = "Drive a force element, a joint, or the command of a lock; locks engage by `engage`."
            raise self._wrong(field, name, "cannot be set", advice)
        if place.stop - place.start != 1:
            raise self._wrong(field, name, f"has {place.stop - place.start} numbers, expected one")
        self._settable_places[place.start] = trigger, name
        return place

    def begin(self, drive: Drive, start: NDArray[np.float64]) -> None:
        """Let inputs that events set begin with what drives them, in the state C at the start."""
        for place, (trigger, name) in self._settable_places.items():
            if drive.varies(place):
                field, advice = trigger.owner.field("set", name), "Give it as a number, or let a controller drive it."
                raise self._wrong(field, name, "is driven by something that changes in time", advice)
            start[self._held[place]] = drive.constants[place]

    # ---- what happened

    def counts(self, state: Any) -> NDArray[np.float64]:
        """Return how often each event has happened, of the state C."""
        return np.array([state[row[at.E_STATE] + at.COUNT] for row in self._rows])

    def check_start(self, state: Any, q: Any) -> None:
        """Raise an error if a coordinate is beyond its rigid stop."""
        for (name, made), row in zip(self._made, self._rows, strict=True):
            if isinstance(made, RigidStop):
                here, slack = float(q[row[at.E_Q]]), 1e-9
                low, high = float(made.lower), float(made.upper)
                if not low - slack * (1.0 + abs(low)) <= here <= high + slack * (1.0 + abs(high)):
                    raise InputError(
                        f"simulate: joint '{made.joint}' is at {here:.6g} at the start, expected {low:g} to {high:g}, "
                        f"the limits of rigid stop '{name}'."
                    )
