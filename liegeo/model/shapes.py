"""What bodies look like: shapes of rigid bodies, skins of flexible ones.  No equation reads them.

Adding a shape: a dataclass here, its entry in ALL_SHAPES, and how it is drawn in liegeo/view.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.model.checks import Sealed, as_array, as_number, as_pose

Array = NDArray[np.float64]


def _positive(who: str, value: float) -> float:
    value = as_number(who, value)
    if not np.isfinite(value) or value <= 0.0:
        raise ModelError(f"{who} is {value:g}, must be > 0.")
    return value


def _triangles(who: str, value: ArrayLike, n: int) -> NDArray[np.int64]:
    """Rows of three indices into n vertices."""
    array = np.array(value)
    if array.ndim != 2 or array.shape[1] != 3 or not np.issubdtype(array.dtype, np.integer):
        raise ModelError(f"{who} have shape {array.shape} of {array.dtype}, expected (k, 3) integers.")
    if array.size and not 0 <= array.min() <= array.max() < n:
        raise ModelError(f"{who} refer to vertices {array.min()} to {array.max()}, expected 0 to {n - 1}.")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape(Sealed):
    """What all shapes have: a place on the body (position or pose), and a colour as CSS writes it (None: chosen)."""

    at: ArrayLike | None = None
    color: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", as_pose(f"{type(self).__name__}: at", self.at))


@dataclass(frozen=True, eq=False, kw_only=True)
class Box(Shape):
    """A box of the given lengths along x, y and z, its middle at `at`."""

    size: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        size = as_array("Box: size", self.size, (3,))
        for length in size:
            _positive("Box: size", length)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sphere(Shape):
    """A ball around `at`."""

    radius: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", _positive("Sphere: radius", self.radius))


@dataclass(frozen=True, eq=False, kw_only=True)
class Cylinder(Shape):
    """A cylinder along z, its middle at `at`."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "radius", _positive("Cylinder: radius", self.radius))
        object.__setattr__(self, "length", _positive("Cylinder: length", self.length))


@dataclass(frozen=True, eq=False, kw_only=True)
class Mesh(Shape):
    """Triangles between vertices (n × 3, in metres, seen from `at`)."""

    vertices: ArrayLike
    triangles: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        vertices = as_array("Mesh: vertices", self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", _triangles("Mesh: triangles", self.triangles, len(vertices)))


ALL_SHAPES = (Box, Sphere, Cylinder, Mesh)


@dataclass(frozen=True, eq=False)
class Skin(Sealed):
    """The surface of a flexible body: vertices (n × 3), triangles, and how modes move the vertices (n × 3 × m)."""

    vertices: ArrayLike
    modes: ArrayLike
    triangles: ArrayLike

    def __post_init__(self) -> None:
        vertices = as_array("Skin: vertices", self.vertices, (len(np.atleast_1d(self.vertices)), 3))
        modes = as_array(
            "Skin: modes", self.modes, (*vertices.shape, np.shape(self.modes)[-1] if np.ndim(self.modes) else 0)
        )
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "modes", modes)
        object.__setattr__(self, "triangles", _triangles("Skin: triangles", self.triangles, len(vertices)))
