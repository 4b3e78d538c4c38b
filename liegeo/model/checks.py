"""What a person gives, as arrays: checked once, with a message that names who gave it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import ModelError
from liegeo.lie import SE3

Array = NDArray[np.float64]


def suggest(name: str, allowed: Sequence[str]) -> str:
    """The end of a message about an unknown name: the closest known one, or all of them."""
    close = difflib.get_close_matches(name, allowed, n=1)
    if close:
        return f" Did you mean '{close[0]}'?"
    return f"\n  There are: {', '.join(allowed)}." if allowed else ""


def as_array(who: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A read-only float64 copy of the given shape, or a ModelError that says what is wrong with it."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{who} is {value!r}, expected numbers of shape {shape}.") from None
    if array.shape != shape:
        raise ModelError(f"{who} has shape {array.shape}, expected {shape}.")
    if not np.isfinite(array).all():
        raise ModelError(f"{who} holds {array[~np.isfinite(array)][0]}, expected finite numbers.")
    array.setflags(write=False)
    return array


def as_pose(who: str, value: ArrayLike | None) -> Array:
    """A pose from nothing (identity), a position, or a 4×4 matrix."""
    if value is None:
        return SE3.identity()
    array = np.asarray(value, dtype=np.float64)
    if array.shape == (3,):
        X = SE3.identity()
        X[:3, 3] = as_array(who, array, (3,))
        return X
    try:
        return SE3.matrix(as_array(who, array, (4, 4)))
    except ValueError as error:
        raise ModelError(f"{who} is not a pose: {error}") from None


def as_symmetric(who: str, value: ArrayLike) -> Array:
    """A symmetric 3×3 matrix from itself, from its diagonal, or from xx, yy, zz, xy, xz, yz."""
    array = np.asarray(value, dtype=np.float64)
    if array.shape == (3,):
        array = np.diag(array)
    elif array.shape == (6,):
        xx, yy, zz, xy, xz, yz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    array = as_array(who, array, (3, 3))
    if not np.allclose(array, array.T, rtol=1e-9, atol=1e-12 * max(1.0, float(np.abs(array).max()))):
        raise ModelError(
            f"{who} is not symmetric: it differs from its transpose by {np.abs(array - array.T).max():.3g}."
        )
    return array
