"""Values that a person gives, as arrays: checked once; a fault names the owner and the field."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Container, Iterator, Sequence
from contextvars import ContextVar
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo.errors import Field, InputError, ModelError, printable
from liegeo.lie import SE3
from liegeo.recorded import explain, finite, is_recorded, is_recorded_number, room, values_of
from liegeo.status import LARGEST as LARGEST

Array = NDArray[np.float64]

# How many names may still be compared with unknown ones; a list, so that all that is called shares it.
_COMPARISONS: ContextVar[list[int] | None] = ContextVar("comparisons", default=None)
# Enough for dozens of unknown names among hundreds; a second at most.
_MOST_COMPARISONS = 20_000
# Names that a message lists.
_MOST_NAMES = 60


@contextlib.contextmanager
def few_suggestions() -> Iterator[None]:
    """Within this, suggest for the first unknown names only: thousands of them would be compared with thousands."""
    token = None if _COMPARISONS.get() is not None else _COMPARISONS.set([_MOST_COMPARISONS])
    try:
        yield
    finally:
        if token is not None:
            _COMPARISONS.reset(token)


def suggest(name: str, allowed: Sequence[str]) -> str:
    """The end of a message about an unknown name: the closest known one, or all of them, if they are not too many."""
    left = _COMPARISONS.get()
    if left is not None:
        left[0] -= len(allowed)
        if left[0] < 0:
            return ""
    close = difflib.get_close_matches(name, allowed, n=1)
    if close:
        return f" Did you mean '{printable(close[0])}'?"
    more = ", …" if len(allowed) > _MOST_NAMES else "."
    return f"\n  There are: {', '.join(map(printable, allowed[:_MOST_NAMES]))}{more}" if allowed else ""


def array_of(value: Any) -> NDArray[Any]:
    """Return an array of whatever is given; of rows of several lengths it is one that has no numbers."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(None)


def as_numbers(value: Any) -> Array | None:
    """Numbers as float64, of any shape; None if it is something else, as text, None, or rows of several lengths."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and not all(isinstance(x, Real) for x in array.flat):
            return None
        if array.dtype.kind == "O" and is_recorded(array):
            return array.copy()
        return array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        return None


def check_size(field: Field, array: ArrayLike, error: type[ModelError | InputError] = ModelError) -> None:
    """Raise an error if a finite number is so large that products of a few such numbers would overflow."""
    values = np.asarray(array)
    # written so that numbers which are not finite, which have messages of their own, pass
    expected = f"expected a number between -{LARGEST:g} and {LARGEST:g}"
    large = (np.abs(values) > LARGEST) & finite(values)
    noted(field, values, expected)
    if large.any():
        entry = field.entry(*first_index(large)) if field.path else field
        raise error(entry.fault(values[large].flat[0], expected, "Check its exponent and its unit."))


def numbers_of(what: str, name: str, value: ArrayLike, place: slice) -> Array:
    """Return the numbers that a person gives for `name`, as many as fit `place`; a single one may have shape ()."""
    array, n = as_numbers(value), place.stop - place.start
    if array is None:
        wanted = "a number" if n == 1 else f"{n} numbers"
        raise InputError(f"{what}['{name}'] is {value!r}, expected {wanted}.")
    if array.shape not in ((), (n,)) or (array.shape == () and n != 1):
        raise InputError(f"{what}['{name}'] has shape {array.shape}, expected ({n},).")
    if not finite(array).all():
        raise InputError(f"{what}['{name}'] is {value!r}, expected finite numbers.")
    check_size(Field(None, (what, name)), array, InputError)
    return array


def first_index(where: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first entry that is true."""
    return tuple(int(k) for k in np.argwhere(where)[0])


def as_number(field: Field, value: Any) -> float:
    """Return one number, infinite or not a number included, or raise a ModelError."""
    array = as_numbers(value)
    if array is None or array.shape != ():
        raise ModelError(field.fault(value, "expected a number"))
    check_size(field, array)
    found: Any = array[()]
    return found if is_recorded_number(found) else float(array)


def as_bounded(field: Field, value: Any, bound: float = 0.0, *, strictly: bool = False) -> float:
    """Return a finite number that is not below a bound (`strictly`: above it), or raise a ModelError."""
    number, expected = as_number(field, value), f"must be {'>' if strictly else '≥'} {bound:g}"
    below = number <= bound if strictly else number < bound
    noted(field, number, expected)
    if not finite(number) or below:
        raise ModelError(field.fault(value, expected))
    return number


def as_whole(value: Any) -> int | None:
    """A whole number, of Python or NumPy; None if it is something else, as 0.5 or True."""
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def as_array(field: Field, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a read-only float64 copy of the given shape, or raise a ModelError that says what is wrong with it."""
    array = as_numbers(value)
    if array is None:
        raise ModelError(field.fault(value, f"expected numbers of shape {shape}"))
    if array.shape != shape:
        raise ModelError(field.fault(value, f"expected {shape}", finding=f"has shape {array.shape}"))
    if not finite(array).all():
        odd = first_index(~finite(array))
        fault = field.entry(*odd).fault(
            array[odd], "expected finite numbers", finding=f"holds {array[odd]}", subject=field.name
        )
        raise ModelError(fault)
    check_size(field, array)
    array.setflags(write=False)
    return array


def noted(field: Field, shown: Any, expected: str) -> None:
    """Say what recorded numbers of a field (liegeo/recorded.py) must be, behind the comparisons that found it so."""
    for x in shown.flat if isinstance(shown, np.ndarray) and shown.dtype.kind == "O" else (shown,):
        explain(x, lambda: field.fault(None, expected).sentence("{}", ""))


def is_zero(field: Field, number: float, expected: str) -> bool:
    """Return whether a number is zero; a recorded one must not become that, or is not as `expected`."""
    if is_recorded_number(number):
        zero = not abs(number) > 0.0
        noted(field, number, expected)
        return zero
    return number == 0.0


def pose_of(R: NDArray[Any], p: NDArray[Any]) -> NDArray[Any]:
    """Return the pose of a rotation and a position."""
    X = room((4, 4), R, p)
    X[:3, :3], X[:3, 3], X[3, 3] = R, p, 1.0
    return X


def as_pose(field: Field, value: ArrayLike | None) -> Array:
    """Return a pose from nothing (identity), a position, or a 4×4 matrix."""
    if value is None:
        return SE3.identity()
    array = as_numbers(value)
    if array is None or array.shape not in ((3,), (4, 4)):
        found = "" if array is None else f"has shape {array.shape}"
        expected = "expected a position of three numbers, or a pose as a 4×4 matrix"
        raise ModelError(field.fault(value, expected, finding=found))
    array = as_array(field, array, array.shape)
    if array.shape == (3,):
        return pose_of(np.eye(3), array)
    try:
        return array if array.dtype.kind == "O" else SE3.matrix(array)
    except ValueError as error:
        raise ModelError(field.fault(value, finding=f"is not a pose: {str(error).removesuffix('.')}")) from None


def as_symmetric(field: Field, value: ArrayLike) -> Array:
    """Return a symmetric 3×3 matrix from itself, from its diagonal, or from xx, yy, zz, xy, xz, yz."""
    array = as_numbers(value)
    if array is None or array.shape not in ((3,), (6,), (3, 3)):
        found = "" if array is None else f"has shape {array.shape}"
        expected = "expected a 3×3 matrix, its diagonal, or xx, yy, zz, xy, xz, yz"
        raise ModelError(field.fault(value, expected, finding=found))
    if array.shape == (3,):
        array = np.diag(array)
    elif array.shape == (6,):
        xx, yy, zz, xy, xz, yz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    array = as_array(field, array, (3, 3))
    given = values_of(array)
    if not np.allclose(given, given.T, rtol=1e-9, atol=1e-12 * max(1.0, float(np.abs(given).max()))):
        off = np.abs(given - given.T).max()
        raise ModelError(field.fault(value, finding=f"is not symmetric: it differs from its transpose by {off:.3g}"))
    return array


def split_name(name: str, owners: Container[str]) -> tuple[str, str]:
    """Owner and rest of "owner" or "owner.rest": the longest owner that there is, as names may have dots.

    Without one it is what stands before the first dot, for a message.
    """
    owner, rest = name, ""
    while owner not in owners:
        owner, dot, last = owner.rpartition(".")
        if not dot:
            first, _, rest = name.partition(".")
            return first, rest
        rest = f"{last}.{rest}" if rest else last
    return owner, rest


class Sealed:
    """What cannot change: nor can its copies, and they can be pickled, to be sent to other processes.

    Pickles know neither mappings nor arrays that are read-only, so their names go with the rest.
    """

    def __getstate__(self) -> tuple[dict[str, Any], list[str]]:
        values = dict(vars(self))
        sealed = [name for name, value in values.items() if _is_sealed(value)]
        return {n: dict(v) if isinstance(v, MappingProxyType) else v for n, v in values.items()}, sealed

    def __setstate__(self, state: tuple[dict[str, Any], list[str]]) -> None:
        values, sealed = state
        for name, value in values.items():
            if name in sealed and isinstance(value, np.ndarray):
                value.setflags(write=False)
            elif name in sealed:
                value = MappingProxyType(value)
            object.__setattr__(self, name, value)


def _is_sealed(value: Any) -> bool:
    return isinstance(value, MappingProxyType) or (isinstance(value, np.ndarray) and not value.flags.writeable)
