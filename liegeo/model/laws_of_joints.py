"""Elements with laws of a user's own: formulas, which kernels run (kernels/laws_of_joints.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from liegeo.errors import Field, InputError, ModelError
from liegeo.kernels import laws_of_joints as kernels
from liegeo.kernels import layout
from liegeo.model.about import OF_JOINT, Part, about
from liegeo.model.checks import as_bounded
from liegeo.model.forces import Force, JointForce, Place
from liegeo.model.formulas import Formula
from liegeo.model.grammar import NAME, TIME
from liegeo.model.programs import FUNCTIONS, Program

#: Names of the position and of the speed in formulas.
POSITION, SPEED = "s", "ds"
_TAKEN = (POSITION, SPEED, TIME, "pi", *FUNCTIONS)
_MOST_STATES = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class ByFormulas(Force):
    """What elements have whose force is a formula of a position `s`, its rate `ds` and the time `t`.

    `rates` names first-order states (two at most) and gives the rate of each; `signals` names an input.  Formulas may
    use both.  With a `potential`, a formula of s and states, the stored energy is known, and what is not stored is
    dissipated; if the law takes t or an input, that counts as work, except for what `dissipation` gives.
    Equations: kernels/laws_of_joints.py.
    """

    force: Any = field(metadata=about("formula", "positive in the direction in which s grows"))
    rates: Mapping[str, Any] = field(
        default_factory=dict, metadata=about("formulas by name", "for each first-order state its rate")
    )
    signals: Sequence[str] = field(default=(), metadata=about("names", "the name of its input in formulas, if any"))
    potential: Any = field(default=None, metadata=about("formula", "the energy that it stores; 0 if not given"))
    dissipation: Any = field(default=None, metadata=about("formula", "the power that it dissipates"))
    size: float = field(default=1.0, metadata=about("any", "what is large of its states, by which errors are measured"))

    @property
    def takes_time(self) -> bool:
        """Whether a formula depends on the time."""
        return any(TIME in formula.names for formula in self._formulas())

    @property
    def n_inputs(self) -> int:  # type: ignore[override]
        return len(self.signals)

    @property
    def inputs(self) -> tuple[Part, ...] | None:  # type: ignore[override]
        return tuple(Part(f"input.{name}", "input") for name in self.signals)

    @property
    def states(self) -> tuple[Part, ...]:  # type: ignore[override]
        return tuple(Part(name, "input") for name in self.rates)

    @property
    def state_size(self) -> float:
        return self.size

    @property
    def n_pieces(self) -> int:
        return len(self.data()) - layout.LAW_STEPS

    def _formulas(self) -> list[Formula]:
        given = [self.force, *self.rates.values(), self.potential, self.dissipation]
        return [formula for formula in given if formula is not None]

    def __post_init__(self) -> None:
        checked = getattr(super(), "__post_init__", None)
        if checked is not None:
            checked()
        own = self.owner.field
        if not isinstance(self.rates, Mapping):
            raise ModelError(own("rates").fault(self.rates, "expected a mapping of states to formulas"))
        if isinstance(self.signals, str) or not isinstance(self.signals, Sequence):
            raise ModelError(own("signals").fault(self.signals, "expected a list of names"))
        as_bounded(own("size"), self.size, strictly=True)
        self._check_names()
        states = tuple(self.rates)
        known = (POSITION, SPEED, TIME, *self.signals, *states)
        object.__setattr__(self, "force", _read(own("force"), self.force, known))
        rates = {name: _read(own("rates", name), rate, known) for name, rate in self.rates.items()}
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "signals", tuple(self.signals))
        if self.potential is not None:
            object.__setattr__(self, "potential", _read(own("potential"), self.potential, (POSITION, *states)))
        if self.dissipation is not None:
            object.__setattr__(self, "dissipation", _read(own("dissipation"), self.dissipation, known))

    def _check_names(self) -> None:
        """Raise a ModelError for names of states and inputs that cannot be, or that are too many."""
        own, seen = self.owner.field, list(_TAKEN)
        for key, names, most in (("rates", tuple(self.rates), _MOST_STATES), ("signals", tuple(self.signals), 1)):
            what = "states" if key == "rates" else "inputs"
            if len(names) > most:
                raise ModelError(
                    own(key).fault(list(names), f"expected at most {most} {what if most > 1 else 'input'}")
                )
            for name in names:
                if not isinstance(name, str) or not re.fullmatch(NAME, name) or name in seen:
                    expected = f"expected a name of letters, digits and _ that is none of {', '.join(seen)}"
                    raise ModelError(own(key).fault(name, expected, finding=f"names '{name}'"))
                seen.append(name)

    def data(self) -> list[float]:
        variables = {POSITION: kernels.S, SPEED: kernels.SPEED, TIME: kernels.TIME}
        variables |= dict.fromkeys(self.signals, kernels.INPUT)
        variables |= {name: kernels.STATE + k for k, name in enumerate(self.rates)}
        rates = [*self.rates.values(), *[None] * (_MOST_STATES - len(self.rates))]
        given = [self.force, *rates, self.potential, self.dissipation]
        return _packed([None if each is None else each.program(variables) for each in given], self._is_active())

    def _is_active(self) -> bool:
        return self.takes_time or bool(self.signals) or self.dissipation is not None


@dataclass(frozen=True, eq=False, kw_only=True)
class Law(ByFormulas, JointForce):
    """A force, or torque, on one speed of a joint by formulas of its coordinate `s`, its speed `ds` and the time `t`.

    `rates` names first-order states (two at most) and gives the rate of each; `signals` names an input.
    """

    # In the direction of s; its power.
    exerts: ClassVar[tuple[Part, ...]] = (Part("force", OF_JOINT), Part("power", "power"))

    @property
    def sees_position(self) -> bool:  # type: ignore[override]
        return any(POSITION in formula.names for formula in self._formulas())

    def kind(self) -> int:
        return layout.LAW


@dataclass(frozen=True, eq=False, kw_only=True)
class LineLaw(ByFormulas):
    """A force along the line from frame `a` to frame `b` by formulas of their distance `s`, its rate `ds` and `t`.

    A positive force pushes them apart, as that of a compressed spring does; between frames that coincide there is none.
    """

    a: Place = field(metadata=about("place", "one end"))
    b: Place = field(metadata=about("place", "the other end"))
    # What pushes them apart, and its power; their distance, and its rate.
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("force", "force"),
        Part("power", "power"),
        Part("length", "length"),
        Part("rate", "velocity"),
    )
    line: ClassVar[str] = "spring"

    def kind(self) -> int:
        return layout.LINE_LAW


def _packed(programs: Sequence[Program | None], active: bool) -> list[float]:
    """Return the numbers of a law, as LAW_DATA of kernels/layout.py has them."""
    rows: list[float] = []
    steps: list[float] = []
    constants: list[float] = []
    for program in programs:
        if program is None:
            rows += [0.0, 0.0]
            continue
        rows += [float(len(steps)), float(len(program.steps))]
        steps += [float(x) for step in program.moved(0, len(constants)) for x in step]
        constants += program.constants
    return [float(active), *rows, float(len(steps)), *steps, *constants]


def _read(own: Field, given: Any, known: Sequence[str]) -> Formula:
    """Return the formula of a field, or raise a ModelError."""
    try:
        return Formula.read(given, known)
    except InputError as error:
        shown = str(given) if isinstance(given, str | Formula) else given
        raise ModelError(own.fault(shown, "", finding=str(error))) from None


ALL_LAWS: tuple[type[Force], ...] = (Law, LineLaw)
