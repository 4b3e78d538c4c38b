"""Stops of ball joints: kernels/ball_stops.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from liegeo.errors import ModelError
from liegeo.kernels import layout
from liegeo.model.about import XYZ, Part, about
from liegeo.model.checks import as_bounded, as_number, noted
from liegeo.model.forces import Force
from liegeo.model.joints import unit

_NONE = 2.0 * np.pi


@dataclass(frozen=True, eq=False, kw_only=True)
class BallStop(Force):
    """Stops of a joint that turns about several axes: limits of its whole rotation, of its swing, and of its twist.

    `turn` limits the angle of the whole rotation; `swing` that between `axis` of the parent and of the child, so that
    it stays in a cone; `lower` and `upper` limit the twist about the axis.  Beyond a limit the stop pushes back with
    the moment of a `Stop`.
    """

    joint: str = field(metadata=about("name", "the joint, usually a spherical one"))
    axis: ArrayLike = field(default=(0.0, 0.0, 1.0), metadata=about("direction", "of twist and cone, at the joint"))
    turn: float = field(default=_NONE, metadata=about("angle", "largest angle of the whole rotation"))
    swing: float = field(default=_NONE, metadata=about("angle", "largest angle between the axes: half of the cone"))
    lower: float = field(default=-_NONE, metadata=about("angle", "smallest twist"))
    upper: float = field(default=_NONE, metadata=about("angle", "largest twist"))
    stiffness: float = field(metadata=about("turning_stiffness", "moment per angle beyond a limit"))
    dissipation: float = field(
        default=0.0, metadata=about("time", "share by which the moment grows per speed of the impact")
    )
    # On the child, in the axes of the joint there; the whole angle, swing and twist.
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("moment", "moment", XYZ),
        Part("turn", "angle"),
        Part("swing", "angle"),
        Part("twist", "angle"),
    )

    def __post_init__(self) -> None:
        own = self.owner.field
        unit(own("axis"), self.axis)
        as_bounded(own("stiffness"), self.stiffness, strictly=True)
        as_bounded(own("dissipation"), self.dissipation)
        for name in ("turn", "swing"):
            as_bounded(own(name), getattr(self, name), strictly=name == "turn")
        lower, upper = as_number(own("lower"), self.lower), as_number(own("upper"), self.upper)
        expected = f"must be above lower, which is {self.lower!r}"
        noted(own("upper"), upper, expected)
        if not lower < upper:
            raise ModelError(own("upper").fault(self.upper, expected))
        limits = (self.turn, self.swing, -self.lower, self.upper)
        if all(not isinstance(x, float) or x >= _NONE for x in limits) and not any(x < _NONE for x in limits):
            raise ModelError(self.owner.fault("has no limit", "expected turn, swing, or lower and upper"))

    def kind(self) -> int:
        return layout.BALL_STOP

    def data(self) -> list[float]:
        axis = unit(self.owner.field("axis"), self.axis)
        return [*axis, self.turn, self.swing, self.lower, self.upper, self.stiffness, self.dissipation]


ALL_BALL_STOPS: tuple[type[Force], ...] = (BallStop,)
