"""Events that a person writes down: when a number passes a value, switches are set.

A Trigger watches one column of results, as controllers measure them ("arm.angle", "energy", "time"), and acts once it
passes `value`.  What it switches are inputs (`set`), and Locks and Welds among the constraints (`engage`, `release`).
RigidStops, and Locks and Welds that are commanded, have triggers of their own.  kernels/events.py has the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from liegeo.errors import ModelError, Owner
from liegeo.model.about import about
from liegeo.model.checks import Sealed, as_number
from liegeo.recorded import finite

RISING, FALLING, BOTH = "rising", "falling", "both"
DIRECTIONS: Mapping[str, int] = MappingProxyType({RISING: 1, FALLING: -1, BOTH: 0})


@dataclass(frozen=True, eq=False, kw_only=True)
class Trigger(Sealed):
    """An event: when a signal passes a value, inputs are set, and locks and welds engage or are released."""

    name: str
    signal: str = field(metadata=about("name", "the column of results that it watches, or time"))
    value: float = field(default=0.0, metadata=about("any", "what the signal passes, in SI units"))
    direction: str = field(
        default=BOTH, metadata=about("choice", "in which direction it passes it", choices=(RISING, FALLING, BOTH))
    )
    set: Mapping[str, float] = field(
        default_factory=dict, metadata=about("numbers by name", "by input: its value from then on")
    )
    engage: Sequence[str] = field(default=(), metadata=about("names", "locks and welds that engage"))
    release: Sequence[str] = field(default=(), metadata=about("names", "locks and welds that are released"))
    once: bool = field(default=False, metadata=about("yes or no", "whether only the first time counts"))
    actions: ClassVar[tuple[str, ...]] = ("set", "engage", "release")

    def __post_init__(self) -> None:
        own = self.owner.field
        if not isinstance(self.signal, str):
            raise ModelError(own("signal").fault(self.signal, "expected the name of a column, such as 'arm.angle'"))
        if not finite(as_number(own("value"), self.value)):
            raise ModelError(own("value").fault(self.value, "expected a finite number"))
        if self.direction not in DIRECTIONS:
            raise ModelError(own("direction").fault(self.direction, f"expected one of {', '.join(DIRECTIONS)}"))
        if not isinstance(self.set, Mapping):
            raise ModelError(own("set").fault(self.set, "expected a mapping of inputs to numbers"))
        for name, value in self.set.items():
            if not finite(as_number(own("set", name), value)):
                raise ModelError(own("set", name).fault(value, "expected a finite number"))
        object.__setattr__(self, "set", MappingProxyType(dict(self.set)))
        for key in ("engage", "release"):
            given = getattr(self, key)
            names = (given,) if isinstance(given, str) else given
            if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
                raise ModelError(own(key).fault(given, "expected names, such as ['brake']"))
            object.__setattr__(self, key, tuple(names))
        if not isinstance(self.once, bool):
            raise ModelError(own("once").fault(self.once, "expected True or False"))
        if not any(getattr(self, key) for key in self.actions):
            raise ModelError(self.owner.fault("does nothing", "expected set, engage, or release"))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("event", self.name)
