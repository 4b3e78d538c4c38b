"""Surfaces of bodies, and contacts between two of them (kernels/contact.py has the equations).

A surface is a simple shape at a place: "body", "body.frame", a node of a flexible body, or a pair of a body and a pose
in it.  A contact is a force element between two surfaces, with what their material does when they touch.

Adding a pair of surfaces: its distance or its points in kernels/contact.py, and an entry in PAIRS.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from liegeo.errors import ModelError, Owner
from liegeo.kernels import contact, layout
from liegeo.model.about import XYZ, Part, about, classes_of
from liegeo.model.checks import Sealed, as_array, as_bounded
from liegeo.model.combining import together
from liegeo.model.forces import Force, Place
from liegeo.recorded import length_of, root


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactSurface(Sealed):
    """What all surfaces have: a name and a place."""

    name: str
    at: Place = field(metadata=about("place", "where it is: its origin and its axes"))
    stiffness: float = field(default=0.0, metadata=about("stiffness", "of this side alone, as that of a contact"))
    modulus: float = field(default=0.0, metadata=about("modulus", "in its place E/(1 − ν²) of what it is made of"))
    dissipation: float = field(default=0.0, metadata=about("dissipation", "of this side alone, as that of a contact"))
    friction: float | None = field(default=None, metadata=about("number", "Coulomb's coefficient against its like"))
    static: float | None = field(default=None, metadata=about("number", "that at which it breaks away"))
    #: How the kernels know it.
    code: ClassVar[int]

    def __post_init__(self) -> None:
        own = self.owner.field
        for name in ("stiffness", "modulus", "dissipation"):
            as_bounded(own(name), getattr(self, name))
        if self.stiffness > 0.0 and self.modulus > 0.0:
            raise ModelError(self.owner.fault("has both stiffness and modulus", "expected one of them, or none"))
        if self.friction is not None:
            as_bounded(own("friction"), self.friction)
        if self.static is not None and (
            self.friction is None or as_bounded(own("static"), self.static) < self.friction
        ):
            expected = "expected friction too, and at least as much"
            raise ModelError(own("static").fault(self.static, expected))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner("surface", self.name)

    def sizes(self) -> list[float]:
        """Return its three sizes, as the kernels read them."""
        return [0.0, 0.0, 0.0]

    def curvature(self) -> float | None:
        """Return one over its radius where it touches, in all directions; None if it has no such radius."""
        return None

    def _check(self, *names: str) -> None:
        for name in names:
            as_bounded(self.owner.field(name), getattr(self, name), strictly=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneSurface(ContactSurface):
    """A half space: all that is below the plane z = 0 of its place, whose z axis is the normal."""

    code: ClassVar[int] = contact.PLANE

    def curvature(self) -> float | None:
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class SphereSurface(ContactSurface):
    """A ball around its place; of radius 0 it is a point, such as a node of a flexible body."""

    radius: float = field(metadata=about("length", "of the ball; 0 for a point"))
    code: ClassVar[int] = contact.BALL

    def __post_init__(self) -> None:
        super().__post_init__()
        as_bounded(self.owner.field("radius"), self.radius)

    def sizes(self) -> list[float]:
        return [self.radius, 0.0, 0.0]

    def curvature(self) -> float | None:
        return 1.0 / self.radius if self.radius > 0.0 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class CapsuleSurface(ContactSurface):
    """A cylinder along z with half balls at its ends, its middle at its place; `length` is that of the cylinder."""

    radius: float = field(metadata=about("length", "of the cylinder and of the balls"))
    length: float = field(metadata=about("length", "of the cylinder, without the half balls"))
    code: ClassVar[int] = contact.CAPSULE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("radius", "length")

    def sizes(self) -> list[float]:
        return [self.radius, 0.5 * self.length, 0.0]

    def curvature(self) -> float | None:
        return 1.0 / self.radius


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxSurface(ContactSurface):
    """A box of the given lengths along x, y and z, its middle at its place."""

    size: ArrayLike = field(metadata=about("length", "lengths along x, y and z", shape=(3,)))
    code: ClassVar[int] = contact.BOX

    def __post_init__(self) -> None:
        super().__post_init__()
        size = as_array(self.owner.field("size"), self.size, (3,))
        for k, length in enumerate(size):
            as_bounded(self.owner.field("size", k), length, strictly=True)
        object.__setattr__(self, "size", size)

    def sizes(self) -> list[float]:
        return [0.5 * length for length in np.asarray(self.size)]


@dataclass(frozen=True, eq=False, kw_only=True)
class CylinderSurface(ContactSurface):
    """A cylinder along z, its middle at its place."""

    radius: float = field(metadata=about("length", "of the cylinder"))
    length: float = field(metadata=about("length", "along z"))
    code: ClassVar[int] = contact.CYLINDER

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("radius", "length")
        least = 2.0 * contact.BULGE * self.radius
        if self.length < least:
            advice = "Its ends are a little rounded: kernels/contact.py."
            expected = f"must be at least {2.0 * contact.BULGE:g} times its radius, {least:g}"
            raise ModelError(self.owner.field("length").fault(self.length, expected, advice))

    def sizes(self) -> list[float]:
        return [self.radius, 0.5 * self.length, 0.0]


@dataclass(frozen=True, eq=False, kw_only=True)
class ProfileSurface(ContactSurface):
    """The ground below a line z(x) through `points`, the same for all y; it goes on level beyond its ends."""

    points: ArrayLike = field(metadata=about("length", "rows of x and z, by growing x", shape=(None, 2)))
    code: ClassVar[int] = contact.PROFILE

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field("points")
        points = as_array(own, self.points, (len(np.atleast_1d(self.points)), 2))
        if len(points) < 2:
            raise ModelError(own.fault(self.points, "expected at least two points"))
        falling = np.flatnonzero(np.diff(points[:, 0]) <= 0.0)
        if falling.size:
            k = int(falling[0]) + 1
            expected = f"must be > {points[k - 1, 0]:g}, the x before it: list points by growing x"
            raise ModelError(self.owner.field("points", k, 0).fault(points[k, 0], expected))
        object.__setattr__(self, "points", points)

    def curvature(self) -> float | None:
        return 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class BoreSurface(ContactSurface):
    """The wall of a round hole along z of its place, without an end, that a pin inside touches."""

    radius: float = field(metadata=about("length", "of the hole"))
    code: ClassVar[int] = contact.BORE

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("radius")

    def sizes(self) -> list[float]:
        return [self.radius, 0.0, 0.0]


@dataclass(frozen=True, eq=False, kw_only=True)
class SocketSurface(ContactSurface):
    """The wall of a hollow ball around its place, which what is inside touches: a ball joint with play."""

    radius: float = field(metadata=about("length", "of the hollow ball"))
    code: ClassVar[int] = contact.SOCKET

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("radius")

    def sizes(self) -> list[float]:
        return [self.radius, 0.0, 0.0]

    def curvature(self) -> float | None:
        return -1.0 / self.radius


ALL_SURFACES = classes_of(__name__, ContactSurface)

#: By the surface that has a distance and the surface that has points: how many points these are.
PAIRS: dict[tuple[type[ContactSurface], type[ContactSurface]], int] = {
    (PlaneSurface, SphereSurface): 1,
    (PlaneSurface, CapsuleSurface): 2,
    (PlaneSurface, BoxSurface): 8,
    (PlaneSurface, CylinderSurface): 2,
    (SphereSurface, SphereSurface): 1,
    (CapsuleSurface, SphereSurface): 1,
    (CapsuleSurface, CapsuleSurface): 1,
    (BoxSurface, SphereSurface): 1,
    (CylinderSurface, SphereSurface): 1,
    (ProfileSurface, SphereSurface): 1,
    (ProfileSurface, CapsuleSurface): 2,
    (ProfileSurface, BoxSurface): 8,
    (BoreSurface, SphereSurface): 1,
    (BoreSurface, CapsuleSurface): 2,
    (BoreSurface, BoxSurface): 8,
    (SocketSurface, SphereSurface): 1,
    (SocketSurface, CapsuleSurface): 2,
    (SocketSurface, BoxSurface): 8,
}


def surface_kind(cls: type[ContactSurface]) -> str:
    """Return what model files call a class of surfaces: `sphere` for SphereSurface."""
    return cls.__name__.removesuffix("Surface").lower()


def restitution(dissipation: float, speed: float) -> float:
    """Return the coefficient of restitution of (3) of kernels/contact.py, for bodies that meet with this speed."""
    dv = dissipation * speed
    if dv <= 0.0:
        return 1.0

    # e d v = x with x + log(1 − x) + (d v − log(1 + d v)) = 0: monotonic in x, found between 0 and 1
    def left(x: float) -> float:
        return x + float(np.log1p(-x)) + dv - float(np.log1p(dv))

    low, high = 0.0, min(dv, 1.0 - 1e-16)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if left(middle) > 0.0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high) / dv


def dissipation_for(restitution: float, speed: float) -> float:
    """Return the dissipation d of (3) of kernels/contact.py that gives this coefficient of restitution.

    speed: that with which the bodies meet; slower ones part with more of their speed.
    """
    e = float(restitution)
    if not 0.0 < e <= 1.0 or not speed > 0.0:
        raise ModelError(
            f"dissipation_for: restitution is {restitution!r} and speed {speed!r}, expected 0 < restitution ≤ 1 and "
            "speed > 0."
        )
    if e == 1.0:
        return 0.0
    # x = d v; below 1/e both logarithms exist, and the left side of (3) less the right one changes its sign once
    low, high = 0.0, 1.0 / e
    for _ in range(200):
        x = 0.5 * (low + high)
        if x * (1.0 + e) > float(np.log1p(x) - np.log1p(-e * x)):
            low = x
        else:
            high = x
    return 0.5 * (low + high) / float(speed)


def _material(default: Any, kind: str, says: str) -> Any:
    return field(default=default, metadata=about(kind, says))


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactMaterial(Force):
    """What surfaces do when they touch: all numbers of a contact but the surfaces."""

    stiffness: float = _material(
        0.0, "stiffness", "the normal force is stiffness · depth · (penetration/depth)^exponent"
    )
    modulus: float = _material(0.0, "modulus", "in place of stiffness: Hertz's modulus E* of both, exponent 1.5")
    exponent: float = _material(1.5, "number", "of the normal force, at least 1; 1.5 is Hertz's for balls")
    depth: float = _material(1.0, "length", "the penetration at which stiffness is force over penetration")
    dissipation: float = _material(0.0, "dissipation", "d of Hunt and Crossley: the force grows by 1 + d·rate")
    restitution: float | None = _material(
        None, "number", "in place of dissipation: the coefficient of restitution at impact_speed"
    )
    impact_speed: float | None = _material(None, "speed", "at which restitution holds")
    friction: float = _material(0.0, "number", "Coulomb's coefficient in sliding")
    static: float | None = _material(None, "number", "the coefficient at which it breaks away; friction if not given")
    stribeck: float = _material(0.01, "speed", "the speed over which static falls to friction")
    slip_speed: float = _material(1e-3, "speed", "without bristles: at this speed friction is 0.71 of its full value")
    rolling: float = _material(0.0, "length", "lever of the rolling resistance")
    spinning: float = _material(0.0, "length", "lever of the friction against spinning about the normal")
    turning_speed: float = _material(0.01, "angular_speed", "at which resistances are 0.71 of their full values")
    breakaway: float = _material(
        0.0, "length", "friction that sticks: the deflection at which bristles break away; 0 for friction that slides"
    )
    bristle_time: float = _material(2e-3, "time", "with which bristles are damped")

    def __post_init__(self) -> None:
        own = self.owner.field
        for name in ("stiffness", "modulus", "dissipation", "friction", "rolling", "spinning", "breakaway"):
            as_bounded(own(name), getattr(self, name))
        for name in ("depth", "stribeck", "slip_speed", "turning_speed", "bristle_time"):
            as_bounded(own(name), getattr(self, name), strictly=True)
        as_bounded(own("exponent"), self.exponent, 1.0)
        if self.stiffness > 0.0 and self.modulus > 0.0:
            raise ModelError(self.owner.fault("has both stiffness and modulus", "expected one of them"))
        if self.modulus > 0.0 and self.exponent != 1.5:
            raise ModelError(own("exponent").fault(self.exponent, "expected 1.5, that of Hertz, if modulus is given"))
        self._check_restitution()
        if self.static is not None and as_bounded(own("static"), self.static) < self.friction:
            expected = f"must be at least friction, which is {self.friction:g}"
            raise ModelError(own("static").fault(self.static, expected))

    def _check_restitution(self) -> None:
        own = self.owner.field
        if (self.restitution is None) != (self.impact_speed is None):
            name = "restitution" if self.restitution is None else "impact_speed"
            expected = "expected both restitution and impact_speed: slower impacts lose less"
            raise ModelError(own(name).fault(None, expected, finding="is missing"))
        if self.restitution is None or self.impact_speed is None:
            return
        if self.dissipation > 0.0:
            raise ModelError(own("dissipation").fault(self.dissipation, "expected none beside restitution"))
        if as_bounded(own("restitution"), self.restitution, strictly=True) > 1.0:
            raise ModelError(own("restitution").fault(self.restitution, "must be > 0 and at most 1"))
        as_bounded(own("impact_speed"), self.impact_speed, strictly=True)

    @property
    def yields(self) -> bool:
        """Whether it says itself how stiff it is, instead of its surfaces."""
        return self.stiffness > 0.0 or self.modulus > 0.0

    @property
    def loses(self) -> bool:
        """Whether it says itself what impacts lose."""
        return self.dissipation > 0.0 or self.restitution is not None

    @property
    def rubs(self) -> bool:
        """Whether it says itself how it rubs."""
        return self.friction > 0.0 or self.static is not None

    def material(self, a: ContactSurface, b: ContactSurface) -> list[float]:
        """Return the numbers of the material between two surfaces, as the kernels read them."""
        k, modulus, lost, friction, static = together(self, a, b)
        if modulus > 0.0:
            curvatures = a.curvature(), b.curvature()
            curvature = None if None in curvatures else sum(c for c in curvatures if c is not None)
            if curvature is None or curvature <= 0.0:
                advice = "Give stiffness: Hertz's law needs the radius of a ball or of a capsule."
                raise ModelError(
                    self.owner.field("modulus").fault(modulus, advice=advice, finding="has no radius to act on")
                )
            k = 4.0 / 3.0 * modulus * root(1.0 / curvature)
        elif self.exponent != 1.0 and self.depth != 1.0:
            k = k * self.depth ** (1.0 - self.exponent)
        if self.restitution is not None and self.impact_speed is not None:
            lost = dissipation_for(float(self.restitution), float(self.impact_speed))
        rest = [self.stribeck, self.slip_speed, self.rolling, self.spinning, self.turning_speed]
        return [k, self.exponent, lost, static, friction, *rest, self.breakaway, self.bristle_time]

    @property
    def state_size(self) -> float:
        # the root of the energy of bristles at break-away under a newton
        static = (self.friction if self.static is None else self.static) or 1.0
        return root(static * self.breakaway) if self.breakaway > 0.0 else 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Contact(ContactMaterial):
    """Two surfaces that touch: Hunt and Crossley's normal force, friction that slides or sticks, rolling resistance.

    The table of pairs that there are is in docs/contact.md.  With a `breakaway` friction has bristles, three
    first-order states per point of contact.
    """

    a: ContactSurface = field(metadata=about("surface", "one surface"))
    b: ContactSurface = field(metadata=about("surface", "the other surface"))
    # Force and point in the world; the force is that on `b`.
    exerts: ClassVar[tuple[Part, ...]] = (
        Part("gap", "length"),
        Part("normal", "force"),
        Part("friction", "force"),
        Part("force", "force", XYZ),
        Part("point", "position", XYZ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a", "b"):
            given = getattr(self, name)
            if not isinstance(given, ContactSurface):
                raise ModelError(self.owner.field(name).fault(given, "expected a surface, as SphereSurface(…)"))
        first, second = (type(surface) for surface in (self.a, self.b))
        if (first, second) not in PAIRS and (second, first) not in PAIRS:
            raise ModelError(
                self.owner.fault(
                    f"has a {surface_kind(first)} and a {surface_kind(second)}, which cannot touch",
                    partners(first, second),
                    "Cover one of them with balls or capsules.",
                )
            )
        # what both are made of has to fit
        friction = together(self, self.a, self.b).friction
        if self.breakaway > 0.0 and friction <= 0.0:
            expected = "expected a coefficient > 0, because breakaway is given"
            advice = "Give friction, here or to both surfaces, or leave breakaway out."
            raise ModelError(self.owner.field("friction").fault(friction, expected, advice))
        parts: tuple[Part, ...] = ()
        if self.breakaway > 0.0:
            names = tuple(f"{'' if self.points == 1 else f'[{k}]'}{x}" for k in range(self.points) for x in XYZ)
            parts = (Part("bristle", "bristle", names),)
        # of a class attribute this instance has its own
        object.__setattr__(self, "states", parts)

    @property
    def _turned(self) -> bool:
        """Whether `b` is the surface that has a distance."""
        return (type(self.a), type(self.b)) not in PAIRS

    def ordered(self) -> tuple[ContactSurface, ContactSurface]:
        """Return the surface that has a distance, and the one that has points."""
        return (self.b, self.a) if self._turned else (self.a, self.b)

    @property
    def points(self) -> int:
        """Return the number of points that may touch."""
        first, second = (type(surface) for surface in self.ordered())
        return PAIRS[first, second]

    @property
    def profile_points(self) -> int:
        """Return the number of points of the profile, if one surface is a profile."""
        ground = self.ordered()[0]
        return len(np.asarray(ground.points)) if isinstance(ground, ProfileSurface) else 0

    def places(self) -> tuple[Place, ...]:
        return self.a.at, self.b.at

    def kind(self) -> int:
        return layout.CONTACT

    def data(self) -> list[float]:
        first, second = self.ordered()
        numbers = [*self.material(first, second), float(self.points), -1.0 if self._turned else 1.0]
        for surface in (first, second):
            numbers += [float(surface.code), *surface.sizes()]
        return [*numbers, *(np.asarray(first.points).ravel() if isinstance(first, ProfileSurface) else ())]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contacts(ContactMaterial):
    """Many surfaces, any two of which may touch, but those of one body and of neighbours that a joint holds together.

    Bodies on free joints touch the world.  Friction has no bristles here.
    """

    among: tuple[ContactSurface, ...] = field(
        metadata=about("surfaces", "the surfaces; in files a list of names, or all")
    )
    # Behind these: the force on each surface, in the world.
    exerts: ClassVar[tuple[Part, ...]] = (Part("touching", "count"), Part("depth", "length"), Part("normal", "force"))

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        if self.breakaway > 0.0:
            advice = "Use Contact for those pairs that have to stick."
            raise ModelError(own("breakaway").fault(self.breakaway, "expected 0 where many surfaces touch", advice))
        object.__setattr__(self, "among", tuple(self.among))
        if len(self.among) < 2:
            raise ModelError(own("among").fault([s.name for s in self.among], "expected at least two surfaces"))
        for surface in self.among:
            if not isinstance(surface, ContactSurface):
                raise ModelError(own("among").fault(surface, "expected surfaces, as SphereSurface(…)"))
        names = [surface.name for surface in self.among]
        for k, name in enumerate(names):
            if name in names[:k]:
                raise ModelError(own("among").fault(name, "expected once", finding="has a surface twice"))
        self._check_pairs()
        parts = [Part(f"{name}.force", "force", XYZ) for name in names]
        object.__setattr__(self, "exerts", (*type(self).exerts, *parts))

    def _check_pairs(self) -> None:
        first: dict[type[ContactSurface], ContactSurface] = {}
        several: dict[type[ContactSurface], ContactSurface] = {}
        for surface in self.among:
            cls = type(surface)
            known = first.setdefault(cls, surface)
            if known is not surface and _body_of(known) != _body_of(surface):
                several.setdefault(cls, surface)
        for a in first:
            for b in first:
                same_body = a is not b and {_body_of(s) for s in self.among if type(s) in (a, b)}
                if (a, b) in PAIRS or (b, a) in PAIRS or (a is b and a not in several) or len(same_body or "ab") < 2:
                    continue
                other = several[a] if a is b else first[b]
                raise ModelError(
                    self.owner.fault(
                        f"has a {surface_kind(a)} ('{first[a].name}') and a {surface_kind(b)} ('{other.name}'), "
                        "which cannot touch",
                        partners(a, b),
                        "Leave one of them out, or cover it with balls or capsules.",
                    )
                )

    def places(self) -> tuple[Place, ...]:
        return tuple(surface.at for surface in self.among)

    def kind(self) -> int:
        return layout.CROWD

    def data(self) -> list[float]:
        kinds = self._kinds()
        places = {id(surface): k for k, alike in enumerate(kinds) for surface in alike}
        balls = [_reach(surface) for surface in self.among]
        numbers = [2.0 * max([float(x) for x in balls if x >= 0.0], default=1.0)]
        end = len(numbers) + layout.CROWD_SURFACE * len(self.among) + layout.MATERIAL * len(kinds) ** 2
        profiles: list[float] = []
        for surface, ball in zip(self.among, balls, strict=True):
            sizes = surface.sizes()
            if isinstance(surface, ProfileSurface):
                line = np.asarray(surface.points).ravel()
                sizes = [float(end + len(profiles)), float(len(line) // 2), 0.0]
                profiles += [*line]
            numbers += [float(surface.code), *sizes, ball, float(places[id(surface)])]
        for first, second in itertools.product(kinds, repeat=2):
            # of kinds that never touch nobody asks
            pair = next((pair for pair in itertools.product(first, second) if may_touch(*pair)), None)
            numbers += [0.0] * layout.MATERIAL if pair is None else self.material(*pair)
        return numbers + profiles

    def table_sizes(self) -> dict[str, int]:
        """Return what the length of its data depends on, besides the number of surfaces."""
        lines = [np.asarray(surface.points) for surface in self.among if isinstance(surface, ProfileSurface)]
        return {"materials": len(self._kinds()), "line": sum(len(line) for line in lines)}

    def _kinds(self) -> list[list[ContactSurface]]:
        """Return surfaces by what decides on their material: what they are made of and, for Hertz, their radius."""
        kinds: dict[tuple[Any, ...], list[ContactSurface]] = {}
        hertz = self.modulus > 0.0 or (not self.yields and any(surface.modulus > 0.0 for surface in self.among))
        for surface in self.among:
            own = surface.stiffness, surface.modulus, surface.dissipation, surface.friction, surface.static
            kinds.setdefault((*own, surface.curvature() if hertz else None), []).append(surface)
        return list(kinds.values())


def may_touch(a: ContactSurface, b: ContactSurface) -> bool:
    """Return whether two surfaces are of different bodies, and of kinds that can touch."""
    pairs = (type(a), type(b)) in PAIRS or (type(b), type(a)) in PAIRS
    return pairs and _body_of(a) != _body_of(b)


def _body_of(surface: ContactSurface) -> str:
    """Return what a place begins with: the body, or the body and a frame on it."""
    return surface.at if isinstance(surface.at, str) else surface.at[0]


def _reach(surface: ContactSurface) -> float:
    """Return the radius of a ball around the origin of a surface that contains it; −1 if there is none."""
    if isinstance(surface, SphereSurface):
        return surface.radius
    if isinstance(surface, CapsuleSurface):
        return surface.radius + 0.5 * surface.length
    if isinstance(surface, BoxSurface):
        return 0.5 * length_of(np.asarray(surface.size))
    if isinstance(surface, CylinderSurface):
        return length_of(np.array([surface.radius, 0.5 * surface.length]))
    return -1.0


def surfaces_of(force: Force) -> tuple[ContactSurface, ...]:
    """Return the surfaces of a force element: none if it is no contact."""
    if isinstance(force, Contact):
        return force.a, force.b
    return force.among if isinstance(force, Contacts) else ()


def partners(*classes: type[ContactSurface]) -> str:
    """Return with what surfaces of these classes can touch, in words."""
    words = []
    for cls in dict.fromkeys(classes):
        with_it = [b if a is cls else a for a, b in PAIRS if cls in (a, b)]
        words.append(f"a {surface_kind(cls)} with {', '.join(dict.fromkeys(surface_kind(c) for c in with_it))}")
    return "expected " + "; or ".join(words)


def material_fields() -> tuple[str, ...]:
    """Return the names of the fields of a material."""
    return tuple(each.name for each in fields(ContactMaterial) if each.name != "name")


ALL_CONTACTS = classes_of(__name__, Force, without=(ContactMaterial,))
