"""What bodies look like: shapes of rigid bodies, skins of flexible ones.  No equation reads them.

Adding a shape: a dataclass here, its entry in ALL_SHAPES, and how it is drawn in liegeo/view.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, ModelError, Owner
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

    at: ArrayLike | None = None
    color: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_pose(self.owner.field("at"), self.at))

    @property
    def owner(self) -> Owner:
        """Return what its faults belong to."""
        return Owner(type(self).__name__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(Shape):
    """A box of the given lengths along x, y and z, its middle at `at`."""

    size: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        field = self.owner.field("size")
        size = as_array(field, self.size, (3,))
        for k, length in enumerate(size):
            as_bounded(self.owner.field("size", k), length, strictly=True)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sphere(Shape):
    """A ball around `at`."""

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", as_bounded(self.owner.field("radius"), self.radius, strictly=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylinder(Shape):
    """A cylinder along z, its middle at `at`."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("radius", "length"):
            object.__setattr__(self, name, as_bounded(self.owner.field(name), getattr(self, name), strictly=True))


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh(Shape):
    """Triangles between vertices (n × 3, in metres, seen from `at`)."""

    vertices: ArrayLike
    triangles: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        field = self.owner.field
        vertices = as_array(field("vertices"), self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", _triangles(field("triangles"), self.triangles, len(vertices)))


ALL_SHAPES = (Box, Sphere, Cylinder, Mesh)


@dataclass(frozen=True, eq=False)
class Skin(Sealed):
    """The surface of a flexible body: vertices (n × 3), triangles, and how modes move the vertices (n × 3 × m)."""

    vertices: ArrayLike
    modes: ArrayLike
    triangles: ArrayLike

    def __post_init__(self) -> None:
        field = Owner("Skin").field
        vertices = as_array(field("vertices"), self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        columns = np.shape(self.modes)[-1] if np.ndim(self.modes) else 0
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "modes", as_array(field("modes"), self.modes, (*vertices.shape, columns)))
        object.__setattr__(self, "triangles", _triangles(field("triangles"), self.triangles, len(vertices)))
