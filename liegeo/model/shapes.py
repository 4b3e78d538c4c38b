"""What bodies look like: shapes of rigid bodies, skins of flexible ones.  No equation reads them.

Adding a shape: a dataclass here, its entry in ALL_SHAPES, and how it is drawn in liegeo/view.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, ModelError, Owner
from liegeo.model.about import about
from liegeo.model.checks import Sealed, as_array, as_bounded, as_pose

Array = NDArray[np.float64]


def _triangles(field: Field, value: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return rows of three indices into n vertices."""
    array = np.array(value)
    if array.ndim != 2 or array.shape[1] != 3 or not np.issubdtype(array.dtype, np.integer):
        found = f"have shape {array.shape} of {array.dtype}"
        raise ModelError(field.fault(value, "expected (k, 3) integers", finding=found))
    if array.size and not 0 <= array.min() <= array.max() < n:
        found = f"refer to vertices {array.min()} to {array.max()}"
        raise ModelError(field.fault(value, f"expected 0 to {n - 1}", finding=found))
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape(Sealed):
    """What all shapes have: a place on the body (position or pose), and a colour as CSS writes it (None: chosen)."""

    at: ArrayLike | None = field(default=None, metadata=about("pose", "where on the body: a position or a pose"))
    color: str | None = field(default=None, metadata=about("text", "as CSS writes it: a name, or #rrggbb"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_pose(self.owner.field("at"), self.at))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner(type(self).__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(Shape):
    """A box of the given lengths along x, y and z, its middle at `at`."""

    size: ArrayLike = field(metadata=about("length", "lengths along x, y and z", shape=(3,)))

    def __post_init__(self) -> None:
        super().__post_init__()
        size = as_array(self.owner.field("size"), self.size, (3,))
        for k, length in enumerate(size):
            as_bounded(self.owner.field("size", k), length, strictly=True)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sphere(Shape):
    """A ball around `at`."""

    radius: float = field(metadata=about("length", "of the ball"))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", as_bounded(self.owner.field("radius"), self.radius, strictly=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylinder(Shape):
    """A cylinder along z, its middle at `at`."""

    radius: float = field(metadata=about("length", "of the cylinder"))
    length: float = field(metadata=about("length", "along z"))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("radius", "length"):
            object.__setattr__(self, name, as_bounded(self.owner.field(name), getattr(self, name), strictly=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh(Shape):
    """Triangles between vertices (n × 3, in metres, seen from `at`)."""

    vertices: ArrayLike = field(metadata=about("length", "points", shape=(None, 3)))
    triangles: ArrayLike = field(metadata=about("triangles", "rows of three numbers of vertices, from 0"))

    def __post_init__(self) -> None:
        super().__post_init__()
        own = self.owner.field
        vertices = as_array(own("vertices"), self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", _triangles(own("triangles"), self.triangles, len(vertices)))


ALL_SHAPES = (Box, Sphere, Cylinder, Mesh)


@dataclass(frozen=True, eq=False)
class Skin(Sealed):
    """The surface of a flexible body: vertices (n × 3), triangles, and how modes move the vertices (n × 3 × m)."""

    vertices: ArrayLike = field(metadata=about("length", "points", shape=(None, 3)))
    modes: ArrayLike = field(metadata=about("number", "how modes move the vertices", shape=(None, 3, None)))
    triangles: ArrayLike = field(metadata=about("triangles", "rows of three numbers of vertices, from 0"))

    def __post_init__(self) -> None:
        own = Owner("Skin").field
        vertices = as_array(own("vertices"), self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        columns = np.shape(self.modes)[-1] if np.ndim(self.modes) else 0
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "modes", as_array(own("modes"), self.modes, (*vertices.shape, columns)))
        object.__setattr__(self, "triangles", _triangles(own("triangles"), self.triangles, len(vertices)))
