"""Ropes over several points: kernels/ropes.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from liegeo.errors import ModelError
from liegeo.kernels import layout
from liegeo.model.about import Part, about
from liegeo.model.checks import as_bounded, as_number, is_zero
from liegeo.model.forces import Force, Place
from liegeo.recorded import finite


@dataclass(frozen=True, eq=False, kw_only=True)
class Rope(Force):
    """A rope from frame `a` over the points `via` to frame `b`, which pulls where it is longer than `length`.

    It slides over its points without friction.  A `drum`, a joint with one coordinate, winds it up: `radius` times its
    coordinate is taken from `length` (1 if the joint slides).
    """

    a: Place = field(metadata=about("place", "where it begins"))
    via: Sequence[Place] = field(default=(), metadata=about("places", "points over which it runs, in their order"))
    b: Place = field(metadata=about("place", "where it ends"))
    stiffness: float = field(metadata=about("stiffness", "of the whole rope"))
    damping: float = field(default=0.0, metadata=about("damping", "of the whole rope"))
    length: float = field(metadata=about("length", "up to which it is slack, where the drum is at zero"))
    drum: str | None = field(default=None, metadata=about("name", "the joint that winds it up"))
    radius: float = field(default=1.0, metadata=about("length or number", "of the drum; 1 if the joint slides"))
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("tension", "force"),
        Part("length", "length"),
        Part("rate", "velocity"),
        Part("free", "length"),
    )
    line: ClassVar[str] = "rod"

    def __post_init__(self) -> None:
        own = self.owner.field
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        for name in ("damping", "length"):
            as_bounded(own(name), getattr(self, name))
        radius, expected = as_number(own("radius"), self.radius), "expected a number that is not zero"
        if not finite(radius) or is_zero(own("radius"), radius, expected):
            raise ModelError(own("radius").fault(self.radius, expected))
        if self.drum is not None and not isinstance(self.drum, str):
            raise ModelError(own("drum").fault(self.drum, "expected the name of a joint"))
        if isinstance(self.via, str) or not isinstance(self.via, Sequence):
            raise ModelError(own("via").fault(self.via, "expected a list of places"))
        object.__setattr__(self, "via", tuple(self.via))

    def places(self) -> tuple[Place, ...]:
        return (self.a, *self.via, self.b)

    def kind(self) -> int:
        return layout.ROPE

    def data(self) -> list[float]:
        return [self.stiffness, self.damping, self.length, self.radius, float(self.drum is not None)]


ALL_ROPES: tuple[type[Force], ...] = (Rope,)
