"""The public face of the Lie groups: `Group`, vectorised over any leading batch shape, checked once.

A group is a set of kernels (so3.py, se3.py, …) with one signature each, listed in OPERATIONS.  The letters are
g element, v algebra vector, m matrix on the algebra, h matrix of the algebra (hat), H matrix of the group, p point,
s scalar.  A new group is one module with these kernels and one `Group(...)`; a new operation is one line in the table,
one kernel a group and one method below.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._jit import kernel
from liegeo.errors import InputError
from liegeo.lie import rn
from liegeo.lie.batch import make_loop
from liegeo.recorded import is_recorded

Array = NDArray[Any]

OPERATIONS: Mapping[str, str] = MappingProxyType(
    {
        "compose": "gg->g",
        "inverse": "g->g",
        "act": "gp->p",
        "exp": "v->g",
        "log": "g->v",
        "hat": "v->h",
        "vee": "h->v",
        "matrix": "g->H",
        "from_matrix": "H->g",
        "Ad": "g->m",
        "AdT": "g->m",
        "Ad_apply": "gv->v",
        "AdT_apply": "gv->v",
        "ad": "v->m",
        "adT": "v->m",
        "ad_apply": "vv->v",
        "adT_apply": "vv->v",
        "dexp_left": "v->m",
        "dexp_right": "v->m",
        "dexpinv_left": "v->m",
        "dexpinv_right": "v->m",
        "dexp_left_apply": "vv->v",
        "dexp_right_apply": "vv->v",
        "dexpinv_left_apply": "vv->v",
        "dexpinv_right_apply": "vv->v",
        "ddexp_left": "vv->m",
        "ddexp_right": "vv->m",
        "ddexpinv_left": "vv->m",
        "ddexpinv_right": "vv->m",
        "cay": "v->g",
        "cayinv": "g->v",
        "dcay_left": "v->m",
        "dcay_right": "v->m",
        "dcayinv_left": "v->m",
        "dcayinv_right": "v->m",
        "retract": "gv->g",
        "difference": "gg->v",
        "distance": "gg->s",
        "interpolate": "ggs->g",
        "project": "g->g",
    }
)


class _Signature(NamedTuple):
    letters: str
    result: str
    #: Names for messages, as the methods of Group call their arguments.
    names: tuple[str, ...]


def _signature(operation: str) -> _Signature:
    letters, _, result = OPERATIONS[operation].partition("->")
    first = {"g": "X", "v": "V", "h": "M", "H": "M"}[letters[0]]
    second = {"g": "Y", "p": "p", "v": "V" if letters[0] == "g" else "U"}
    names = (first, *(second[letter] for letter in letters[1:2]), *("t" for _ in letters[2:]))
    if operation in ("difference", "distance"):
        names = ("Y", "X")
    elif operation in ("AdT_apply", "adT_apply"):
        names = (first, "F")
    return _Signature(letters, result, names)


_SIGNATURES = {operation: _signature(operation) for operation in OPERATIONS}

# Numbers that should satisfy an equation (RᵀR = I, |q| = 1, …) may miss it by this much, all entries together: data
# stored in single precision passes; what was computed in it may need `project`; a typing error does not pass.
TOLERANCE = 1e-6

# Algebra vectors with larger entries have no finite square.
LARGEST = 1e150

# Cayley vectors of this size stand for rotations that are a half turn to within rounding.
_HALF_TURN = 1e15

_MEANING = {
    "g": "group elements",
    "v": "algebra vectors",
    "h": "algebra matrices",
    "H": "group matrices",
    "p": "points",
    "s": "numbers",
}


@kernel
def _vector_defect(v):
    """Zero; NaN if not finite, or so large that its square is not."""
    off = 0.0
    for i in range(v.shape[0]):
        off += v[i].real * v[i].real - v[i].real * v[i].real
    return off


@kernel
def _scalar_defect(t):
    """Zero; NaN if not finite."""
    return t.real - t.real


class Group:
    """A Lie group whose elements are stored as arrays; every method takes and returns them over any batch shape.

    Methods accept real or complex arrays (complex ones for derivatives by complex step) and never change their
    arguments.  The kernels behind them are in `kernels`, for use inside compiled code.
    """

    def __init__(
        self,
        name: str,
        *,
        dim: int,
        element: tuple[int, ...],
        point: int,
        matrix: int,
        kernels: Mapping[str, Callable[..., Any]],
        random: Callable[[tuple[int, ...], np.random.Generator, float], Array],
        repair: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        #: The name without a size: "R" for every R(n).
        self.family = name.partition("(")[0]
        #: Dimension of the group, and length of its algebra vectors.
        self.dim = dim
        #: Shape of one stored element.
        self.element_shape = element
        #: Compiled functions on one element, by the names of OPERATIONS, and `identity(out)`, `defect(g)`; those of
        #: a Product have its layout as first argument.
        self.kernels = kernels
        self._shapes = {
            "g": element,
            "v": (dim,),
            "m": (dim, dim),
            "h": (matrix, matrix),
            "H": (matrix, matrix),
            "p": (point,),
            "s": (),
        }
        self._random = random
        self._repair = repair
        self._loops: dict[str, Callable[..., int]] = {}

    def __repr__(self) -> str:
        stored = "×".join(map(str, self.element_shape))
        return f"<group {self.name}: dimension {self.dim}, elements stored as {stored} numbers>"

    # ------------------------------------------------------------ the group

    def identity(self, shape: SupportsIndex | Sequence[int] = ()) -> Array:
        """The neutral element, `shape` times."""
        one = np.zeros(self.element_shape)
        self.kernels["identity"](one)
        return np.broadcast_to(one, (*as_shape(f"{self.name}.identity", shape), *self.element_shape)).copy()

    def compose(self, X: ArrayLike, Y: ArrayLike) -> Array:
        """X Y: X_AC = compose(X_AB, X_BC)."""
        return self._call("compose", X, Y)

    def inverse(self, X: ArrayLike) -> Array:
        """X⁻¹: X_BA = inverse(X_AB)."""
        return self._call("inverse", X)

    def act(self, X: ArrayLike, p: ArrayLike) -> Array:
        """X applied to points: p_A = act(X_AB, p_B)."""
        return self._call("act", X, p)

    def exp(self, V: ArrayLike) -> Array:
        """The element that the constant twist V reaches from the identity in unit time: matrix(exp(V)) = e^hat(V)."""
        return self._call("exp", V)

    def log(self, X: ArrayLike) -> Array:
        """V with exp(V) = X, rotation part |w| ≤ π; at π the one whose first non-zero component is positive."""
        return self._call("log", X)

    def matrix(self, X: ArrayLike) -> Array:
        """The matrix that represents X: rotation, or homogeneous."""
        return self._call("matrix", X)

    def from_matrix(self, M: ArrayLike) -> Array:
        """The element that a matrix represents."""
        return self._call("from_matrix", M)

    def project(self, X: ArrayLike) -> Array:
        """The nearest element to numbers that rounding, or a coarse source, has taken off the group.

        Rotation matrices: polar decomposition.  Quaternions: division by the norm.  Angles: into (−π, π].
        """
        array = self._array("project", "X", "g", X)
        axes = tuple(range(-len(self.element_shape), 0))
        unusable = ~np.isfinite(array).all(axis=axes)
        result = self._run("project", [array])
        bad = unusable | ~np.isfinite(result).all(axis=axes)
        if bad.any():
            if np.any(unusable):
                why = "it is not finite"
            elif len(self.element_shape) == 1:
                why = "its quaternion is zero"
            else:
                why = "the determinant of its rotation is not positive"
            raise InputError(f"{self.name}.project: argument X{_where(bad)} has no nearest element: {why}.")
        return result

    def random(self, shape: SupportsIndex | Sequence[int] = (), *, rng: Any = None, extent: float = 1.0) -> Array:
        """Random elements: rotations uniform (Haar), positions and ℝⁿ uniform in [−extent, extent] a component.

        `rng` is a numpy Generator or a seed.
        """
        try:
            rng = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise InputError(
                f"{self.name}.random: rng is {rng!r}, expected a seed (a whole number ≥ 0) or a numpy Generator."
            ) from None
        if not isinstance(extent, int | float | np.number) or not 0.0 <= extent < np.inf:
            raise InputError(f"{self.name}.random: extent is {extent!r}, expected a finite number ≥ 0.")
        batch = as_shape(f"{self.name}.random", shape)
        return self._random(batch, rng, float(extent))

    # ------------------------------------------------------------ the algebra

    def hat(self, V: ArrayLike) -> Array:
        """The matrix of the algebra vector V."""
        return self._call("hat", V)

    def vee(self, M: ArrayLike) -> Array:
        """The vector of an algebra matrix: vee(hat(V)) = V."""
        return self._call("vee", M)

    def Ad(self, X: ArrayLike) -> Array:
        """hat(Ad(X) V) = X hat(V) X⁻¹: V_A = Ad(X_AB) V_B.  [SY16, (1)]"""
        return self._call("Ad", X)

    def AdT(self, X: ArrayLike) -> Array:
        """The dual, Ad(X)ᵀ: F_B = AdT(X_AB) F_A.  [SY16, (2)]"""
        return self._call("AdT", X)

    def Ad_apply(self, X: ArrayLike, V: ArrayLike) -> Array:
        """Ad(X) V, without the matrix."""
        return self._call("Ad_apply", X, V)

    def AdT_apply(self, X: ArrayLike, F: ArrayLike) -> Array:
        """Ad(X)ᵀ F, without the matrix."""
        return self._call("AdT_apply", X, F)

    def ad(self, V: ArrayLike) -> Array:
        """hat(ad(V) U) = hat(V) hat(U) − hat(U) hat(V).  [SY16, (3)]"""
        return self._call("ad", V)

    def adT(self, V: ArrayLike) -> Array:
        """The dual, ad(V)ᵀ.  [SY16, (4)]"""
        return self._call("adT", V)

    def ad_apply(self, V: ArrayLike, U: ArrayLike) -> Array:
        """ad(V) U, the bracket, without the matrix."""
        return self._call("ad_apply", V, U)

    def adT_apply(self, V: ArrayLike, F: ArrayLike) -> Array:
        """ad(V)ᵀ F, without the matrix."""
        return self._call("adT_apply", V, F)

    # ------------------------------------------------------------ differentials

    def dexp_left(self, V: ArrayLike) -> Array:
        """exp(V + εU) = exp(ε dexp_left(V) U) exp(V) + O(ε²)."""
        return self._call("dexp_left", V)

    def dexp_right(self, V: ArrayLike) -> Array:
        """exp(V + εU) = exp(V) exp(ε dexp_right(V) U) + O(ε²): the body-fixed one."""
        return self._call("dexp_right", V)

    def dexpinv_left(self, V: ArrayLike) -> Array:
        """dexp_left(V)⁻¹; singular where the rotation is 2π, 4π, …"""
        return self._call("dexpinv_left", V)

    def dexpinv_right(self, V: ArrayLike) -> Array:
        """dexp_right(V)⁻¹: with a body-fixed twist ξ, X = X₀ exp(V) and V̇ = dexpinv_right(V) ξ."""
        return self._call("dexpinv_right", V)

    def dexp_left_apply(self, V: ArrayLike, U: ArrayLike) -> Array:
        """dexp_left(V) U, without the matrix."""
        return self._call("dexp_left_apply", V, U)

    def dexp_right_apply(self, V: ArrayLike, U: ArrayLike) -> Array:
        """dexp_right(V) U, without the matrix."""
        return self._call("dexp_right_apply", V, U)

    def dexpinv_left_apply(self, V: ArrayLike, U: ArrayLike) -> Array:
        """dexp_left(V)⁻¹ U, without the matrix."""
        return self._call("dexpinv_left_apply", V, U)

    def dexpinv_right_apply(self, V: ArrayLike, U: ArrayLike) -> Array:
        """dexp_right(V)⁻¹ U, without the matrix."""
        return self._call("dexpinv_right_apply", V, U)

    def ddexp_left(self, V: ArrayLike, U: ArrayLike) -> Array:
        """d/dε dexp_left(V + εU) at ε = 0."""
        return self._call("ddexp_left", V, U)

    def ddexp_right(self, V: ArrayLike, U: ArrayLike) -> Array:
        """d/dε dexp_right(V + εU) at ε = 0."""
        return self._call("ddexp_right", V, U)

    def ddexpinv_left(self, V: ArrayLike, U: ArrayLike) -> Array:
        """d/dε dexpinv_left(V + εU) at ε = 0."""
        return self._call("ddexpinv_left", V, U)

    def ddexpinv_right(self, V: ArrayLike, U: ArrayLike) -> Array:
        """d/dε dexpinv_right(V + εU) at ε = 0."""
        return self._call("ddexpinv_right", V, U)

    def cay(self, V: ArrayLike) -> Array:
        """The Cayley map: matrix(cay(V)) = (I − ½hat(V))⁻¹ (I + ½hat(V))."""
        return self._call("cay", V)

    def cayinv(self, X: ArrayLike) -> Array:
        """V with cay(V) = X; a rotation by π has none, which is an error."""
        V = self._call("cayinv", X)
        # What is larger came from a rotation that differs from π by rounding only.
        bad = ~(np.abs(V).max(axis=-1) < _HALF_TURN)
        if bad.any():
            raise InputError(
                f"{self.name}.cayinv: argument X{_where(bad)} is a rotation by π, "
                f"which the Cayley map does not reach.\n  Use {self.name}.log, which reaches every element."
            )
        return V

    def dcay_left(self, V: ArrayLike) -> Array:
        """cay(V + εU) = exp(ε dcay_left(V) U) cay(V) + O(ε²)."""
        return self._call("dcay_left", V)

    def dcay_right(self, V: ArrayLike) -> Array:
        """cay(V + εU) = cay(V) exp(ε dcay_right(V) U) + O(ε²)."""
        return self._call("dcay_right", V)

    def dcayinv_left(self, V: ArrayLike) -> Array:
        """dcay_left(V)⁻¹."""
        return self._call("dcayinv_left", V)

    def dcayinv_right(self, V: ArrayLike) -> Array:
        """dcay_right(V)⁻¹."""
        return self._call("dcayinv_right", V)

    # ------------------------------------------------------------ moving along the group

    def retract(self, X: ArrayLike, V: ArrayLike) -> Array:
        """X ⊕ V = X exp(V)."""
        return self._call("retract", X, V)

    def difference(self, Y: ArrayLike, X: ArrayLike) -> Array:
        """Y ⊖ X = log(X⁻¹ Y), so that X ⊕ (Y ⊖ X) = Y."""
        return self._call("difference", Y, X)

    def distance(self, Y: ArrayLike, X: ArrayLike) -> Array:
        """|Y ⊖ X|; where rotations meet translations, one radian counts as one metre."""
        return self._call("distance", Y, X)

    def interpolate(self, X: ArrayLike, Y: ArrayLike, t: ArrayLike) -> Array:
        """X ⊕ t (Y ⊖ X): the geodesic (screw motion) with X at t = 0 and Y at t = 1."""
        return self._call("interpolate", X, Y, t)

    # ------------------------------------------------------------ SciPy

    def to_scipy(self, X: ArrayLike) -> Any:
        """A `scipy.spatial.transform` Rotation (SO(3)) or RigidTransform (SE(3)) of the same batch shape."""
        target = self._scipy_class()
        array = self._array("to_scipy", "X", "g", X)
        if array.dtype.kind == "c":
            raise InputError(f"{self.name}.to_scipy: argument X is complex, and SciPy's transforms are real.")
        return target.from_matrix(self.matrix(array))

    def from_scipy(self, transform: Any) -> Array:
        """The elements of a `scipy.spatial.transform` Rotation (SO(3)) or RigidTransform (SE(3))."""
        expected = self._scipy_class()
        if not isinstance(transform, expected):
            raise InputError(
                f"{self.name}.from_scipy: got {type(transform).__name__}, expected scipy's {expected.__name__}."
            )
        return self.from_matrix(transform.as_matrix())

    def _scipy_class(self) -> Any:
        from scipy.spatial.transform import RigidTransform, Rotation  # a third of a second, for those who use it

        known = {(3, 3): Rotation, (6, 4): RigidTransform}
        found = known.get((self.dim, self._shapes["H"][0]))
        if found is None or self._shapes["p"] != (3,):
            raise InputError(
                f"{self.name} has no counterpart in scipy.spatial.transform; only SO3, SO3Q, SE3 and SE3Q have."
            )
        return found

    # ------------------------------------------------------------ how a call reaches its kernel

    def _call(self, operation: str, *arguments: Any) -> Array:
        letters, _, names = _SIGNATURES[operation]
        arrays = [self._array(operation, *each) for each in zip(names, letters, arguments, strict=True)]
        if any(array.dtype.kind == "O" for array in arrays):
            return self._plainly(operation, arrays)
        return self._run(operation, arrays)

    def _plainly(self, operation: str, arrays: list[Array]) -> Array:
        """What `_run` does, for arrays of which some hold recorded numbers."""
        from liegeo.lie import plain

        letters, result, _ = _SIGNATURES[operation]
        batches = [a.ndim - len(self._shapes[k]) for a, k in zip(arrays, letters, strict=True)]
        return plain.run(self.kernels[operation], arrays, batches, self._shapes[result])

    def _run(self, operation: str, arrays: list[Array]) -> Array:
        letters, result, _ = _SIGNATURES[operation]
        shapes = self._shapes
        batches = [a.shape[: a.ndim - len(shapes[k])] for a, k in zip(arrays, letters, strict=True)]
        batch = batches[0] if len(set(batches)) == 1 else self._broadcast(operation, batches, arrays)
        dtype = _dtype(arrays)
        flat = [_flatten(a, own, batch, shapes[k], dtype) for a, own, k in zip(arrays, batches, letters, strict=True)]
        # A scalar is written through an array of length one.
        out = np.empty((math.prod(batch), *(shapes[result] or (1,))), dtype)
        failed = self._loop(operation)(*flat, out, TOLERANCE)
        if failed >= 0:
            self._explain(operation, arrays, batches, batch, failed)
        return out.reshape(batch + shapes[result])

    def _loop(self, operation: str) -> Callable[..., int]:
        """The compiled loop over a batch, made when it is first needed."""
        loop = self._loops.get(operation)
        if loop is None:
            # The argument of `project` is what is off the group.
            letters = _SIGNATURES[operation].letters
            checks = [anything if operation == "project" else self._check(letter) for letter in letters]
            loop = make_loop(self.kernels[operation], checks, f"{self.name}.{operation}")
            self._loops[operation] = loop
        return loop

    def _check(self, letter: str) -> Callable[..., Any]:
        """The kernel that says how far one argument is from what its letter means."""
        if letter == "s":
            return _scalar_defect
        if letter == "v" and self.family != "R":
            return _vector_defect
        name = {"g": "defect", "h": "hat_defect", "H": "matrix_defect"}.get(letter)
        return self.kernels[name] if name else rn.defect

    def _array(self, operation: str, name: str, letter: str, value: Any) -> Array:
        core = self._shapes[letter]
        who = f"{self.name}.{operation}: argument {name}"
        if np.ma.is_masked(value):
            raise InputError(f"{who} has masked entries, expected numbers everywhere.")
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{who} is not a rectangular array of numbers ({error}).") from None
        if array.dtype.kind not in "fiuc" and not (array.dtype.kind == "O" and is_recorded(array)):
            raise InputError(f"{who} {_kind_of(value, array)}, expected numbers: {_MEANING[letter]} of {self.name}.")
        if array.shape[array.ndim - len(core) :] != core or array.ndim < len(core):
            wanted = ", ".join(["...", *map(str, core)])
            hint = " Is it transposed?" if array.ndim > 1 and array.shape[: len(core)] == core else ""
            raise InputError(
                f"{who} has shape {array.shape}, expected ({wanted}): {_MEANING[letter]} of {self.name}, "
                f"with any number of leading axes.{hint}"
            )
        if array.dtype.kind == "c" and not np.isfinite(array.imag).all():
            raise InputError(f"{who}{_where(~np.isfinite(array))} is not finite, expected a finite number.")
        if array.dtype.itemsize > 16 or array.dtype == np.longdouble:
            # What does not fit becomes infinite, and is refused as such.
            with np.errstate(over="ignore"):
                array = array.astype(_dtype([array]))
        return array

    def _broadcast(self, operation: str, batches: list[tuple[int, ...]], arrays: list[Array]) -> tuple[int, ...]:
        try:
            return np.broadcast_shapes(*batches)
        except ValueError:
            shapes = ", ".join(str(a.shape) for a in arrays)
            leading = " and ".join(str(b) for b in batches)
            raise InputError(
                f"{self.name}.{operation}: the arguments have shapes {shapes}; "
                f"their leading axes {leading} do not broadcast.\n"
                "  Make them equal, or 1 where one argument serves for all."
            ) from None

    def _explain(
        self,
        operation: str,
        arrays: list[Array],
        batches: list[tuple[int, ...]],
        batch: tuple[int, ...],
        failed: int,
    ) -> None:
        """Say which argument made the loop stop at element `failed`, and why."""
        index = np.unravel_index(failed, batch)
        letters, _, names = _SIGNATURES[operation]
        for name, letter, array, own in zip(names, letters, arrays, batches, strict=True):
            # Undo the broadcasting: the element's place in the argument as the caller gave it.
            trailing = index[len(batch) - len(own) :]
            place = tuple(int(i) if n > 1 else 0 for i, n in zip(trailing, own, strict=True))
            self._check_one(f"{self.name}.{operation}: argument {name}", letter, array, place)
        raise AssertionError("the loop stopped at an element without a fault")  # pragma: no cover

    def _check_one(
        self, who: str, letter: str, array: Array, place: tuple[int, ...], start: int = 0, note: str = ""
    ) -> None:
        """Raise if the element of `array` at `place` of its batch is not what `letter` says.

        `start` is where the array begins in the caller's own, and `note` says more about it.
        """
        element = array[place]
        if not np.isfinite(element).all():
            inside = tuple(int(i) for i in np.argwhere(~np.isfinite(element))[0]) if element.ndim else ()
            index = _at(place + tuple(start + i for i in inside))
            raise InputError(f"{who}{index}{note} is {element[inside]}, expected a finite number.")
        if letter == "v" and self.family != "R" and not float(np.abs(element).max()) < LARGEST:
            raise InputError(f"{who}{_at(place)}{note} is too large: its square is not a finite number.")
        if letter in "vps":
            return
        with np.errstate(over="ignore", invalid="ignore"):
            defect = float(self._check(letter)(np.ascontiguousarray(element, _dtype([element]))))
            if not defect <= TOLERANCE:
                raise InputError(f"{who}{_at(place)}{note} {self._complaint(letter, element, defect)}")

    def _check_batch(self, who: str, letter: str, array: Array, start: int = 0, note: str = "") -> None:
        """Raise if an element of `array` is not what `letter` says; see `_check_one`."""
        core = self._shapes[letter]
        batch = array.shape[: array.ndim - len(core)]
        operation = f"check_{letter}"
        if operation not in self._loops:
            self._loops[operation] = make_loop(_nothing, [self._check(letter)], f"{self.name}.{operation}")
        flat = _flatten(array, batch, batch, core, _dtype([array]))
        failed = self._loops[operation](flat, np.empty((len(flat), 0)), TOLERANCE)
        if failed >= 0:
            place = tuple(int(i) for i in np.unravel_index(failed, batch))
            self._check_one(who, letter, array, place, start, note)

    def _complaint(self, letter: str, element: Array, defect: float) -> str:
        """What is wrong with an element, or with a matrix of the group or algebra, and what to do."""
        allowed = f"at most {TOLERANCE:g} is allowed"
        if letter == "h":
            return f"is not of the form hat(V): it misses it by {defect:.3g}, {allowed}."
        form = f"is not {'a matrix' if letter == 'H' else 'an element'} of {self.name}:"
        advice = f"\n  {self._repair[letter]}" if letter in self._repair else ""
        if element.ndim == 1:
            norm = float(np.linalg.norm(element[:4].real))
            if norm == 0.0:
                return f"{form} its quaternion is zero, which is no rotation."
            return f"{form} its quaternion has norm {norm:.9g}, expected 1.{advice}"
        n = self._shapes["p"][0]
        if n < len(element) and np.abs(element[n].real - np.eye(n + 1)[n]).sum() > TOLERANCE:
            return f"{form} its last row is {element[n].real.tolist()}, expected {np.eye(n + 1)[n].tolist()}.{advice}"
        if np.linalg.det(element[:n, :n].real) < 0.0:
            return f"{form} it is a reflection (negative determinant), and no rotation is near it."
        return f"{form} it misses it by {defect:.3g}, {allowed}.{advice}"


@kernel
def anything(g):
    """A check that everything passes."""
    return 0.0


@kernel
def _nothing(g, out):
    """An operation with no result, for a loop that only checks."""


def collect(*sources: ModuleType) -> Mapping[str, Callable[..., Any]]:
    """Each kernel from the first of the modules that has it."""
    names = [*OPERATIONS, "identity", "defect", "hat_defect", "matrix_defect"]
    return MappingProxyType({n: next(getattr(m, n) for m in sources if hasattr(m, n)) for n in names})


def _dtype(arrays: Sequence[Array]) -> np.dtype[Any]:
    """Kernels know two kinds of numbers."""
    return np.dtype(np.complex128 if any(a.dtype.kind == "c" for a in arrays) else np.float64)


def _flatten(
    array: Array, own: tuple[int, ...], batch: tuple[int, ...], core: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    """One leading axis, contiguous; length 1 where the argument does not vary."""
    if own != batch and math.prod(own) != 1:
        array = np.broadcast_to(array, batch + core)
        own = batch
    return np.ascontiguousarray(array, dtype).reshape((math.prod(own), *core))


def as_shape(who: str, shape: SupportsIndex | Sequence[int]) -> tuple[int, ...]:
    """A batch shape from one whole number or several."""
    result: tuple[int, ...] = (-1,)
    if not isinstance(shape, str | bytes | bool):
        with contextlib.suppress(TypeError):
            several = shape if isinstance(shape, Sequence) else (shape,)
            result = tuple(map(operator.index, several))
    if any(n < 0 for n in result):
        raise InputError(f"{who}: shape is {shape!r}, expected a whole number or a tuple of them, none negative.")
    return result


def _where(bad: ArrayLike) -> str:
    """The first true element of `bad`, as an index."""
    return _at(tuple(int(i) for i in np.argwhere(bad)[0]))


def _at(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _kind_of(value: Any, array: Array) -> str:
    if value is None:
        return "is None"
    if type(value).__module__.startswith("scipy.spatial"):
        return f"is SciPy's {type(value).__name__} (use from_scipy)"
    kinds = {"U": "text", "S": "bytes", "b": "true/false values", "O": "Python objects"}
    return f"holds {kinds.get(array.dtype.kind, f'values of type {array.dtype}')}"
