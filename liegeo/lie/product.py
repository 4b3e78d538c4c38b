"""Products of groups: the configuration of a whole tree as one flat vector q, its speeds as one flat vector v.

A layout is an integer table with one row a factor (columns below); a kernel on the product walks the rows and calls the
factor's own kernel on its piece.  So the same compiled code serves every tree, and an integrator that is written for a
layout works on any product.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from liegeo._jit import kernel
from liegeo.errors import InputError
from liegeo.lie import quaternion, rn, s1, se2, se3, se3q, so3
from liegeo.lie.batch import make_loop
from liegeo.lie.group import LARGEST, OPERATIONS, TOLERANCE, Array, Group, anything, as_shape, collect

# Columns of a layout: which factor, then where its element, algebra vector, point and matrix begin and end.
KIND, ELEMENT, VECTOR, POINT, MATRIX = 0, 1, 3, 5, 7

# Row kinds, in this order.  These store their elements flat; matrix-valued SO3 and SE3 have flat twins in here.
FACTORS: tuple[tuple[str, tuple[ModuleType, ...]], ...] = (
    ("R", (rn,)),
    ("S1", (s1, rn)),
    ("SO3Q", (quaternion, so3)),
    ("SE2", (se2,)),
    ("SE3Q", (se3q, se3)),
)

_COLUMN = {"g": ELEMENT, "v": VECTOR, "m": VECTOR, "p": POINT, "h": MATRIX, "H": MATRIX}


@kernel(inline="always")
def _cut_vector(array, start, stop):
    return array[start:stop]


@kernel(inline="always")
def _cut_matrix(array, start, stop):
    return array[start:stop, start:stop]


@kernel
def _leave(out):
    pass


@kernel
def _clear(out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0


def _make_kernel(operation: str, by_factor: Sequence[Mapping[str, Callable[..., Any]]]) -> Callable[..., Any]:
    """The kernel of the product: (layout, inputs…, out)."""
    letters, _, result = OPERATIONS[operation].partition("->")
    name = f"product.{operation}"
    k0, k1, k2, k3, k4 = (kernels[operation] for kernels in by_factor)

    @kernel(name=name)
    def factor(kind, *arguments):
        if kind == 0:
            k0(*arguments)
        elif kind == 1:
            k1(*arguments)
        elif kind == 2:
            k2(*arguments)
        elif kind == 3:
            k3(*arguments)
        else:
            k4(*arguments)

    if result == "s":
        return _make_norm(factor, name)
    a, b, o = _COLUMN[letters[0]], _COLUMN[letters[-1]], _COLUMN[result]
    cut_a = _cut_matrix if letters[0] in "hH" else _cut_vector
    cut_out = _cut_matrix if result in "mhH" else _cut_vector
    # What lies between the blocks of a matrix is zero.
    prepare = _clear if result in "mhH" else _leave

    @kernel(name=name)
    def one(layout, x, out):
        prepare(out)
        for row in range(layout.shape[0]):
            xi = cut_a(x, layout[row, a], layout[row, a + 1])
            oi = cut_out(out, layout[row, o], layout[row, o + 1])
            factor(layout[row, KIND], xi, oi)

    @kernel(name=name)
    def two(layout, x, y, out):
        prepare(out)
        for row in range(layout.shape[0]):
            xi = x[layout[row, a] : layout[row, a + 1]]
            yi = y[layout[row, b] : layout[row, b + 1]]
            oi = cut_out(out, layout[row, o], layout[row, o + 1])
            factor(layout[row, KIND], xi, yi, oi)

    return one if len(letters) == 1 else two


def _make_norm(factor: Callable[..., Any], name: str) -> Callable[..., Any]:
    @kernel(name=name)
    def norm(layout, q, p, out):
        """out[0] = the Euclidean norm of the factors' distances."""
        total = 0.0 * q[0]
        for row in range(layout.shape[0]):
            start, stop = layout[row, ELEMENT], layout[row, ELEMENT + 1]
            factor(layout[row, KIND], q[start:stop], p[start:stop], out)
            total += out[0] * out[0]
        out[0] = np.sqrt(total)

    return norm


_BY_FACTOR = tuple(collect(*sources) for _, sources in FACTORS)

#: Compiled functions on one element of any product, by the names of OPERATIONS: (layout, inputs…, out).
#: All but interpolate, which is retract after difference and would need scratch.
KERNELS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {operation: _make_kernel(operation, _BY_FACTOR) for operation in OPERATIONS if operation != "interpolate"}
)


class Product(Group):
    """The product of named groups: flat elements q, flat algebra vectors v, everything else block by block.

    >>> from liegeo.lie import R, SE3Q, SO3Q, Product
    >>> tree = Product({"base": SE3Q, "arm": R(2), "wrist": SO3Q})
    >>> q = tree.exp([0.1] * tree.dim)
    >>> q[tree.q["arm"]]
    array([0.1, 0.1])
    """

    def __init__(self, factors: Mapping[str, Group]) -> None:
        _check_factors(factors)
        self.factors: Mapping[str, Group] = MappingProxyType(dict(factors))
        groups = list(factors.values())
        ends = {
            letter: list(itertools.accumulate((g._shapes[letter][0] for g in groups), initial=0)) for letter in "gvpH"
        }
        kinds = [name for name, _ in FACTORS]
        self.layout = np.array(
            [
                [kinds.index(g.family), *(e for letter in "gvpH" for e in (ends[letter][i], ends[letter][i + 1]))]
                for i, g in enumerate(groups)
            ],
            dtype=np.int64,
        )
        self.layout.setflags(write=False)
        #: Where each factor lies in an element, and in an algebra vector.
        self.q = _slices(factors, ends["g"])
        self.v = _slices(factors, ends["v"])
        super().__init__(
            "Product",
            dim=ends["v"][-1],
            element=(ends["g"][-1],),
            point=ends["p"][-1],
            matrix=ends["H"][-1],
            kernels=KERNELS,
            random=self._random_factors,
        )

    def __repr__(self) -> str:
        rows = [
            f"  {name:<16} {group.name:<6} q[{self.q[name].start}:{self.q[name].stop}]"
            f"  v[{self.v[name].start}:{self.v[name].stop}]"
            for name, group in self.factors.items()
        ]
        head = f"<product group: dimension {self.dim}, elements stored as {self.element_shape[0]} numbers"
        return "\n".join([head, *rows]) + ">"

    def identity(self, shape: Any = ()) -> Array:
        batch = as_shape("Product.identity", shape)
        return np.concatenate([group.identity(batch) for group in self.factors.values()], axis=-1)

    def interpolate(self, X: ArrayLike, Y: ArrayLike, t: ArrayLike) -> Array:
        named = (("X", "g", X), ("Y", "g", Y), ("t", "s", t))
        X, Y, t = arrays = [self._array("interpolate", *each) for each in named]
        self._broadcast("interpolate", [X.shape[:-1], Y.shape[:-1], t.shape], arrays)
        return self.retract(X, t[..., np.newaxis] * self.difference(Y, X))

    def project(self, X: ArrayLike) -> Array:
        return self._by_factor("project", X)

    def cayinv(self, X: ArrayLike) -> Array:
        return self._by_factor("cayinv", X)

    def _by_factor(self, operation: str, X: ArrayLike) -> Array:
        """Each factor on its own piece, for operations that can fail, so that the message names the factor."""
        array = self._array(operation, "X", "g", X)
        parts = []
        for name, group in self.factors.items():
            try:
                parts.append(getattr(group, operation)(array[..., self.q[name]]))
            except InputError as error:
                raise InputError(f"Product.{operation}, factor '{name}': {error}") from None
        return np.concatenate(parts, axis=-1)

    def _random_factors(self, batch: tuple[int, ...], rng: np.random.Generator, extent: float) -> Array:
        return np.concatenate([g._random(batch, rng, extent) for g in self.factors.values()], axis=-1)

    def _loop(self, operation: str) -> Callable[..., int]:
        # Every product runs the same compiled loop, with its layout as one more input that does not vary.
        loop = _loop(operation)
        layout = self.layout[np.newaxis]
        return lambda *arguments: loop(layout, *arguments)

    def _array(self, operation: str, name: str, letter: str, value: Any) -> Array:
        array = super()._array(operation, name, letter, value)
        if operation != "project":
            self._check_factors_of(operation, name, letter, array)
        return array

    def _is_plain(self, letter: str) -> bool:
        """Whether any numbers will do that are finite and have a finite square."""
        return letter in "vp" or (letter == "g" and all(g.family in ("R", "S1") for g in self.factors.values()))

    def _check_factors_of(self, operation: str, name: str, letter: str, array: Array) -> None:
        """Let each factor judge its own piece, so that the message names the factor."""
        who = f"{self.name}.{operation}: argument {name}"
        if letter == "s":
            self._check_batch(who, letter, array)
            return
        # as a NumPy number, so that an array of float32 is compared in float64
        if self._is_plain(letter) and (np.abs(array) < np.float64(LARGEST)).all():
            # every factor would say yes, one after the other
            return
        column = _COLUMN[letter]
        rest = array.copy() if letter in "hH" else None
        for row, (factor, group) in zip(self.layout, self.factors.items(), strict=True):
            piece = slice(row[column], row[column + 1])
            part = array[..., piece, piece] if letter in "hH" else array[..., piece]
            group._check_batch(who, letter, part, int(row[column]), f" (factor '{factor}')")
            if rest is not None:
                rest[..., piece, piece] = 0.0
        if rest is not None and not (np.abs(rest) <= TOLERANCE).all():
            raise InputError(
                f"{who} has entries outside the blocks of its factors, where a matrix of the product is zero."
            )


@functools.cache
def _loop(operation: str) -> Callable[..., int]:
    inputs = 1 + len(OPERATIONS[operation].partition("->")[0])
    return make_loop(KERNELS[operation], [anything] * inputs, f"product.{operation}")


def _slices(factors: Mapping[str, Group], ends: Sequence[int]) -> Mapping[str, slice]:
    return MappingProxyType({name: slice(ends[i], ends[i + 1]) for i, name in enumerate(factors)})


def _check_factors(factors: Any) -> None:
    if not isinstance(factors, Mapping) or not factors:
        raise InputError(f"Product: factors is {factors!r}, expected a mapping of names to groups with at least one.")
    flat = {name for name, _ in FACTORS}
    twins = {"SO3": "SO3Q", "SE3": "SE3Q"}
    for name, group in factors.items():
        if not isinstance(group, Group):
            what = "R without a size" if getattr(group, "__name__", "") == "R" else repr(group)
            raise InputError(f"Product: factor {name!r} is {what}, expected a group such as SO3Q or R(3).")
        if isinstance(group, Product):
            raise InputError(f"Product: factor {name!r} is itself a product.\n  List its factors here instead.")
        if group.family not in flat:
            advice = f"\n  Use {twins[group.family]}, the same group stored flat." if group.family in twins else ""
            raise InputError(
                f"Product: factor {name!r} is {group.name}, which is not one of the flat groups "
                f"{', '.join(sorted(flat))}.{advice}"
            )
