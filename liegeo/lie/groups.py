"""The groups themselves."""

from __future__ import annotations

import functools
import operator

import numpy as np

from liegeo.errors import InputError
from liegeo.lie import quaternion, rn, s1, se2, se3, se3q, so3
from liegeo.lie.group import Array, Group, collect


def _random_quaternions(batch: tuple[int, ...], rng: np.random.Generator, extent: float) -> Array:
    """A normal vector has no preferred direction, in four dimensions either."""
    q = rng.standard_normal((*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def _random_positions(n: int, batch: tuple[int, ...], rng: np.random.Generator, extent: float) -> Array:
    return rng.uniform(-extent, extent, (*batch, n))


def _random_angles(batch: tuple[int, ...], rng: np.random.Generator, extent: float) -> Array:
    return rng.uniform(-np.pi, np.pi, (*batch, 1))


SO3Q = Group(
    "SO3Q",
    dim=3,
    element=(4,),
    point=3,
    matrix=3,
    kernels=collect(quaternion, so3),
    random=_random_quaternions,
    repair={
        "g": "If it should be a rotation, normalise it first: SO3Q.project(q).",
        "H": "If it should be a rotation, take the nearest one first: SO3.project(M).",
    },
)
"""SO(3) as unit quaternions [w, x, y, z], scalar first."""

SO3 = Group(
    "SO3",
    dim=3,
    element=(3, 3),
    point=3,
    matrix=3,
    kernels=collect(so3),
    random=lambda batch, rng, extent: SO3Q.matrix(_random_quaternions(batch, rng, extent)),
    repair=dict.fromkeys("gH", "If it should be a rotation, take the nearest one first: SO3.project(R)."),
)
"""SO(3) as 3×3 rotation matrices."""

SE3Q = Group(
    "SE3Q",
    dim=6,
    element=(7,),
    point=3,
    matrix=4,
    kernels=collect(se3q, se3),
    random=lambda batch, rng, extent: np.concatenate(
        [_random_quaternions(batch, rng, extent), _random_positions(3, batch, rng, extent)], axis=-1
    ),
    repair={
        "g": "If it should be a pose, normalise its quaternion first: SE3Q.project(X).",
        "H": "If it should be a pose, take the nearest one first: SE3.project(M).",
    },
)
"""SE(3) as seven numbers: unit quaternion [w, x, y, z], then position."""

SE3 = Group(
    "SE3",
    dim=6,
    element=(4, 4),
    point=3,
    matrix=4,
    kernels=collect(se3),
    random=lambda batch, rng, extent: SE3Q.matrix(SE3Q.random(batch, rng=rng, extent=extent)),
    repair=dict.fromkeys("gH", "If it should be a pose, take the nearest one first: SE3.project(X)."),
)
"""SE(3) as 4×4 homogeneous matrices."""

SE2 = Group(
    "SE2",
    dim=3,
    element=(3,),
    point=2,
    matrix=3,
    kernels=collect(se2),
    random=lambda batch, rng, extent: np.concatenate(
        [_random_angles(batch, rng, extent), _random_positions(2, batch, rng, extent)], axis=-1
    ),
)
"""SE(2) as angle, then position."""

S1 = Group("S1", dim=1, element=(1,), point=2, matrix=2, kernels=collect(s1, rn), random=_random_angles)
"""The rotations of the plane as an angle."""


def R(n: int) -> Group:
    """ℝⁿ under addition."""
    try:
        size = 0 if isinstance(n, bool) else operator.index(n)
    except TypeError:
        size = 0
    if size < 1:
        raise InputError(f"R(n): n is {n!r}, expected a whole number of at least 1.")
    return _make_R(size)


@functools.cache
def _make_R(n: int) -> Group:
    return Group(
        f"R({n})",
        dim=n,
        element=(n,),
        point=n,
        matrix=n + 1,
        kernels=collect(rn),
        random=functools.partial(_random_positions, n),
    )
