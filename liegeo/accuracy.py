"""Accuracy in metres and degrees, and the size of a mechanism, of which the usual accuracy is a share.

What a person sees are places and orientations, so errors are judged there: integrate/stepping.py (4) turns the error of
each step into displacements of the bodies' mass and rotations of the bodies, and shares what is asked for among the
steps of the run.  If nothing is asked for, displacements may add up to a share of the size of the mechanism.  With D
the frame that a joint moves, the reach of the joint into body B is the distance from D to the farthest point outboard,
stretched out,

    r_B = max( |p − D| for the points p of B,   |D_C − D| + r_C for the bodies C that B carries ),                 (1)

and the size is the largest reach.  Points of a body are its frames and nodes, and where its mass is: the centre of mass
and, about it, the largest radius of gyration.  |D_C − D| is taken in the state where the run starts.

All this is an estimate, no bound: motions that diverge, as chaotic ones do, amplify what is counted once, errors that
oscillate cancel, and a point far from the mass of its body, as the end of a rod, moves more than the mass on average.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import InputError
from liegeo.model.body import Body, FlexibleBody, Node, place_on
from liegeo.model.model import Model, State, once_per_model

Array = NDArray[np.float64]

_LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "µm": 1e-6, "μm": 1e-6, "nm": 1e-9, "km": 1e3}
_DEGREE = float(np.pi / 180.0)
_ANGLES = {"rad": 1.0, "mrad": 1e-3, "urad": 1e-6, "µrad": 1e-6, "μrad": 1e-6, "deg": _DEGREE, "°": _DEGREE}
_ANGLES |= {"arcmin": _DEGREE / 60.0, "arcsec": _DEGREE / 3600.0}
_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\s\d]*)\s*")
_EXPECTED = "expected a length or an angle such as '1 mm' or '0.1 deg', both of them, or a number of metres"
# Shares of the mechanism's size that a run may be off, if nothing is asked for: by methods of order two, to which
# accuracy is dear, and by others.
_OF_ORDER_TWO, _OF_HIGHER_ORDER = 2e-4, 1e-6


@dataclass(frozen=True)
class Accuracy:
    """The errors of positions in metres and of orientations in radians that are asked for; None: whatever they are."""

    position: float | None = None
    angle: float | None = None

    @classmethod
    def of(cls, given: Any, who: str = "simulate") -> Self:
        """Return the accuracy that a person means by metres, "1 mm", "0.1 deg", "1 mm, 0.1 deg", or a mapping."""
        if isinstance(given, cls):
            return given
        parts: dict[str, float] = {}
        if isinstance(given, Mapping):
            if strange := [name for name in given if name not in ("position", "angle")]:
                raise InputError(f"{who}: accuracy has {strange[0]!r}, expected 'position' or 'angle'.")
            for name, value in given.items():
                kind, number = _quantity(given, value, name, who)
                if kind != name:
                    raise InputError(f"{who}: accuracy: {name} is {value!r}, which is no {_WORDS[name]}.")
                parts[name] = number
        else:
            several = given.split(",") if isinstance(given, str) else given
            for value in several if isinstance(several, list | tuple) else (several,):
                kind, number = _quantity(given, value, "position", who)
                if kind in parts:
                    raise InputError(f"{who}: accuracy is {given!r}, which has two {_WORDS[kind]}s; {_EXPECTED}.")
                parts[kind] = number
        if not parts:
            raise InputError(f"{who}: accuracy is {given!r}, {_EXPECTED}.")
        return cls(**parts)

    def __str__(self) -> str:
        """Return it as text that `of` reads."""
        parts = ((self.position, "m"), (self.angle, "rad"))
        return ", ".join(f"{value!r} {unit}" for value, unit in parts if value is not None)


_WORDS = {"position": "length", "angle": "angle"}


def _quantity(whole: Any, value: Any, plain: str, who: str) -> tuple[str, float]:
    """Return "position" or "angle", and the number in metres or radians; numbers without a unit are of kind `plain`."""
    kind, number = plain, np.nan
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if match and match[2] in _LENGTHS:
            kind, number = "position", float(match[1]) * _LENGTHS[match[2]]
        elif match and match[2] in _ANGLES:
            kind, number = "angle", float(match[1]) * _ANGLES[match[2]]
        elif match and not match[2]:
            number = float(match[1])
    elif isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = float(value)
    if not 0.0 < number < np.inf:
        sign = "must be > 0 and finite" if np.isfinite(number) or np.isinf(number) else _EXPECTED
        raise InputError(f"{who}: accuracy is {whole!r}, {sign}.")
    return kind, number


def usual_share(order: int) -> float:
    """Return the share of a mechanism's size that a method of this order may be off, if no accuracy is asked for."""
    return _OF_HIGHER_ORDER if order > 2 else _OF_ORDER_TWO


def size_of(model: Model, state: State) -> float:
    """Return the size of a mechanism in metres, its largest reach (1); 1 if it has no extent."""
    poses = dynamics.body_poses(model, state)
    reach: dict[str, float] = {}
    origins: dict[str, Array] = {}
    carried: dict[str, list[str]] = {name: [] for name in model.bodies}
    # children stand behind their parents
    for name, extent in reversed(_extents(model).items()):
        origins[name] = poses[name][:3, :3] @ extent.joint + poses[name][:3, 3]
        outboard = (float(np.linalg.norm(origins[c] - origins[name])) + reach[c] for c in carried[name])
        reach[name] = max([extent.farthest, *outboard])
        if extent.parent in carried:
            carried[extent.parent].append(name)
    largest = max(reach.values(), default=0.0)
    return largest if largest > 0.0 else 1.0


class Extent(NamedTuple):
    """Of a body: who carries it, where its joint is, and how far from there its points are."""

    parent: str
    joint: Array
    farthest: float


@once_per_model
def _extents(model: Model) -> dict[str, Extent]:
    """Return the extents of bodies, parents first."""
    joints = {joint.child: joint for joint in model.tree.all_joints}
    out = {}
    for i, name in enumerate(model.bodies):
        body, joint = model.body(i), joints[name]
        here = _position(place_on(body, joint.child_at, joint.owner.field("child_at")))
        out[name] = Extent(joint.parent, here, _farthest(body, here))
    return out


def _position(place: Any) -> Array:
    return np.asarray(place.pose if isinstance(place, Node) else place)[:3, 3]


def _farthest(body: Body | FlexibleBody, origin: Array) -> float:
    """Return how far from a place on a body its points are."""
    points = [_position(pose) for pose in body.frames.values()]
    if isinstance(body, FlexibleBody):
        points += [_position(node) for node in body.nodes.values()]
    far = max((float(np.linalg.norm(p - origin)) for p in points), default=0.0)
    if body.mass <= 0.0:
        return far
    com = np.asarray(body.moment) / body.mass
    about = np.asarray(body.inertia_at_origin) - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    gyration = np.sqrt(max(float(np.linalg.eigvalsh(about)[-1]), 0.0) / body.mass)
    return max(far, float(np.linalg.norm(com - origin)) + gyration)
