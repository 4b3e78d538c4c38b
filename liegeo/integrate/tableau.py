"""Coefficients of explicit methods that check themselves.

A Runge–Kutta method has order p if for every rooted tree τ with at most p nodes

    Σ_i b_i φ_i(τ) = 1/γ(τ),      φ_i([τ₁ … τ_m]) = Π_k Σ_j a_ij φ_j(τ_k),   γ([τ₁ … τ_m]) = |τ| Π_k γ(τ_k).     (1)

Munthe-Kaas: the method on the algebra, with dexp⁻¹ cut off nowhere, keeps the order [IMNZ00].  A method that multiplies
exponentials must obey (1) for the sums of its coefficients, since commuting flows see nothing else, and more besides.

Its series is one over ordered forests ω = τ₁ … τ_n of *ordered* rooted trees, because derivatives along constant fields
do not commute: F(y g) = Σ_ω g(ω) [τ₁ … τ_n], the elementary field whose root carries these branches in this order
(Crouch and Grossman 1993; Owren and Marthinsen 1999; Celledoni, Marthinsen and Owren 2003).  With products that join
forests, the stages of Y_i = y Π_r exp(h Σ_j α_irj F_j) and the exact flow ẏ = y F(y) have

    g_i = Π_r exp(Σ_j α_irj k_j),      k_j([ω]) = g_j(ω),                                                          (2)
    g(ω τ) = g(ω) k(τ) / |ω τ|,        k([ω]) = g(ω),        g(empty) = 1,                                         (3)

and the order is p if the step's g is that of (3) for all forests with at most p nodes: 1, 2, 5, 14, 42 of 1 to 5 nodes.
That is checked up to order five; beyond it only (1) is, and a slope on a non-commutative problem has to show the rest
(tests/integrate).
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError

Array = NDArray[np.float64]
# A rooted tree is the sorted tuple of the trees that hang on its root.
Tree = tuple["Tree", ...]

# How far (1) may be missed: coefficients of some methods are given with sixteen digits.
_TOLERANCE = 1e-13


@functools.cache
def rooted_trees(size: int) -> tuple[Tree, ...]:
    """All rooted trees with this many nodes."""
    if size == 1:
        return ((),)
    found: set[Tree] = set()
    for parts in _partitions(size - 1, size - 1):
        for branches in itertools.product(*(rooted_trees(part) for part in parts)):
            found.add(tuple(sorted(branches)))
    return tuple(sorted(found))


def _partitions(n: int, largest: int) -> list[tuple[int, ...]]:
    if n == 0:
        return [()]
    return [(k, *rest) for k in range(min(n, largest), 0, -1) for rest in _partitions(n - k, k)]


def _size(tree: Tree) -> int:
    return 1 + sum(_size(branch) for branch in tree)


def _density(tree: Tree) -> int:
    """γ of (1)."""
    gamma = _size(tree)
    for branch in tree:
        gamma *= _density(branch)
    return gamma


def _weights(tree: Tree, a: Array) -> Array:
    """φ of (1), for every stage."""
    phi = np.ones(len(a))
    for branch in tree:
        phi = phi * (a @ _weights(branch, a))
    return phi


def order_defect(a: Array, b: Array, order: int) -> float:
    """By how much (1) is missed, at worst, up to this order."""
    trees = (tree for size in range(1, order + 1) for tree in rooted_trees(size))
    return max(abs(float(b @ _weights(tree, a)) - 1.0 / _density(tree)) for tree in trees)


class _Forests:
    """The algebra of (2) and (3), cut off behind a number of nodes: a series is a vector, a number for each forest."""

    def __init__(self, most: int) -> None:
        self.most = most
        trees: dict[int, list[Tree]] = {}
        forests: dict[int, list[Tree]] = {0: [()]}
        for n in range(1, most + 1):
            # an ordered tree is the forest that its root carries
            trees[n] = list(forests[n - 1])
            forests[n] = [(*first, last) for k in range(1, n + 1) for first in forests[n - k] for last in trees[k]]
        self.words = [word for n in range(most + 1) for word in forests[n]]
        self.sizes = np.array([_size(word) - 1 for word in self.words])
        place = {word: k for k, word in enumerate(self.words)}
        # places of forests of one tree, and of what its root carries
        self.single = np.array([k for k, word in enumerate(self.words) if len(word) == 1])
        self.carried = np.array([place[self.words[k][0]] for k in self.single])
        pairs = itertools.product(enumerate(self.words), repeat=2)
        joined = [(i, j, place[(*a, *b)]) for (i, a), (j, b) in pairs if (*a, *b) in place]
        self._left, self._right, self._into = np.array(joined).T

    def product(self, a: Array, b: Array) -> Array:
        return np.asarray(np.bincount(self._into, a[self._left] * b[self._right], len(self.words)), dtype=np.float64)

    def exp(self, x: Array) -> Array:
        term = total = np.eye(len(self.words))[0]
        for n in range(1, self.most + 1):
            term = self.product(term, x) / n
            total = total + term
        return total

    def field(self, g: Array) -> Array:
        """k of (2): the field where a series leads."""
        k = np.zeros(len(self.words))
        k[self.single] = g[self.carried]
        return k

    @functools.cached_property
    def exact(self) -> Array:
        """g of (3)."""
        g: dict[Tree, float] = {(): 1.0}
        for word, size in zip(self.words[1:], self.sizes[1:], strict=True):
            g[word] = g[word[:-1]] * g[word[-1]] / float(size)
        return np.array([g[word] for word in self.words])


@functools.cache
def _forests(most: int) -> _Forests:
    return _Forests(most)


# Up to which order methods that multiply exponentials are checked for flows that do not commute.
CHECKED = 5


def ordered_defects(coefficients: Array, order: int) -> Array:
    """By how much (3) is missed, at worst, by forests of 1, 2, … nodes; `coefficients` are those of Exponentials."""
    algebra = _forests(order)
    fields: list[Array] = []
    for stage in coefficients:
        g = np.eye(len(algebra.words))[0]
        for row in stage:
            if row.any():
                x = sum((row[j] * k for j, k in enumerate(fields)), start=np.zeros(len(algebra.words)))
                g = algebra.product(g, algebra.exp(x))
        fields.append(algebra.field(g))
    missed = np.abs(g - algebra.exact)
    return np.array([missed[algebra.sizes == n].max() for n in range(1, order + 1)])


@dataclass(frozen=True)
class Butcher:
    """a (s × s, strictly lower triangular) and b of an explicit Runge–Kutta method of this order."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    def __post_init__(self) -> None:
        matrix = self.matrix
        if len(self.a) != len(self.b) or np.triu(matrix).any():
            raise InputError(f"tableau '{self.name}': is not explicit: a must be strictly lower triangular.")
        defect = order_defect(matrix, np.array(self.b), self.order)
        if defect > _TOLERANCE:
            raise InputError(f"tableau '{self.name}': misses a condition of order {self.order} by {defect:.2g}.")

    @property
    def matrix(self) -> Array:
        return _square(self.a, len(self.b))


@dataclass(frozen=True)
class Pair:
    """A method and, on the same stages, one of lower order, whose difference estimates the error of a step.

    `between`, if given, are the weights that make the cubic between steps a quartic (trajectory.py (2)).
    """

    method: Butcher
    lower: Butcher
    between: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.method.a != self.lower.a or self.lower.order >= self.method.order:
            raise InputError(f"pair '{self.method.name}': expected two methods of falling order on the same stages.")
        if self.between is not None:
            self._check_between(np.array(self.between))
        if (*self.method.a[-1], 0.0) != self.method.b:
            raise InputError(f"pair '{self.method.name}': its last stage is not the end of the step.")

    def _check_between(self, weights: Array) -> None:
        """(1) at every point of the step, for the weights b(θ) that trajectory.py (2) implies: 1/γ becomes θ^|τ|/γ."""
        a, b = self.method.matrix, np.array(self.method.b)
        first, last = np.eye(len(b))[0], np.eye(len(b))[-1]
        for theta in (0.2, 0.5, 0.9):
            rest = 1.0 - theta
            along = theta * rest**2 * first + theta**2 * (3 - 2 * theta) * b - theta**2 * rest * last
            along = along + theta**2 * rest**2 * weights
            for size in range(1, self.method.order):
                for tree in rooted_trees(size):
                    defect = abs(float(along @ _weights(tree, a)) - theta**size / _density(tree))
                    if defect > _TOLERANCE:
                        raise InputError(
                            f"pair '{self.method.name}': between steps it misses order {size} by {defect:.2g}."
                        )

    @property
    def coefficients(self) -> Array:
        """(s + 3) × 1 × s: a, b, b less that of the other, and the weights between steps."""
        b, other = np.array(self.method.b), np.array(self.lower.b)
        between = np.zeros(len(b)) if self.between is None else np.array(self.between)
        return np.concatenate([self.method.matrix, [b], [b - other], [between]])[:, np.newaxis, :]


@dataclass(frozen=True)
class Exponentials:
    """A method that multiplies exponentials: for every stage, and for the step, rows of coefficients, applied in turn.

    Row by row, Y ← Y exp(h Σ_j row_j F_j).
    """

    name: str
    order: int
    stages: tuple[tuple[tuple[float, ...], ...], ...]

    def __post_init__(self) -> None:
        sums = self.coefficients.sum(axis=1)
        if np.triu(sums[:-1]).any():
            raise InputError(f"method '{self.name}': is not explicit: a stage uses a field that is not there yet.")
        defects = ordered_defects(self.coefficients, min(self.order, CHECKED))
        for n, defect in enumerate(defects, start=1):
            if defect > _TOLERANCE:
                missed = f"misses a condition of order {n} by {defect:.2g}, expected order {self.order}"
                raise InputError(
                    f"method '{self.name}': {missed}.\n"
                    "  Products of exponentials need more than the conditions of Runge and Kutta from order 3 on."
                )
        defect = order_defect(sums[:-1], sums[-1], self.order)
        if defect > _TOLERANCE:
            raise InputError(f"method '{self.name}': misses a condition of order {self.order} by {defect:.2g}.")

    @property
    def coefficients(self) -> Array:
        """(s + 1) × rows × s, filled up with zeros."""
        s, rows = len(self.stages) - 1, max(1, *(len(stage) for stage in self.stages))
        out = np.zeros((s + 1, rows, s))
        for i, stage in enumerate(self.stages):
            for k, row in enumerate(stage):
                out[i, k, : len(row)] = row
        return out


@dataclass(frozen=True)
class Rosenbrock:
    """A linearly implicit method that keeps its order with any matrix (a W-method): stiff.py (4).

    a and gamma have a row a stage, gamma with its diagonal, which is the same in all rows; `lower` are the weights of
    the companion of one order less.
    """

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]
    gamma: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    lower: tuple[float, ...]

    def __post_init__(self) -> None:
        a, gamma = _square(self.a, len(self.b)), _square(self.gamma, len(self.b))
        if np.triu(a).any() or np.triu(gamma, 1).any() or len(set(np.diag(gamma))) != 1:
            raise InputError(
                f"method '{self.name}': a must be strictly lower, gamma lower triangular with equal diagonal."
            )
        for b, order in ((self.b, self.order), (self.lower, self.order - 1)):
            defect = self._defect(a, gamma, np.array(b), order)
            if defect > _TOLERANCE:
                raise InputError(f"method '{self.name}': misses a condition of order {order} by {defect:.2g}.")

    @staticmethod
    def _defect(a: Array, gamma: Array, b: Array, order: int) -> float:
        """By how much stiff.py (5) is missed, at worst, up to order three."""
        alpha, sums = a.sum(axis=1), gamma.sum(axis=1)
        conditions = [[b.sum() - 1.0], [b @ alpha - 1 / 2, b @ sums]]
        conditions.append(
            [b @ alpha**2 - 1 / 3, b @ a @ alpha - 1 / 6, b @ a @ sums, b @ gamma @ alpha, b @ gamma @ sums]
        )
        return max(abs(float(x)) for some in conditions[:order] for x in some)

    @property
    def coefficients(self) -> Array:
        """(2s + 2) × 1 × s: a, gamma, b, and b less that of the other."""
        s, b = len(self.b), np.array(self.b)
        rows = [*_square(self.a, s), *_square(self.gamma, s), b, b - np.array(self.lower)]
        return np.stack(rows)[:, np.newaxis, :]


def _square(rows: tuple[tuple[float, ...], ...], n: int) -> Array:
    out = np.zeros((n, n))
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def crouch_grossman(name: str, order: int, a: tuple[tuple[float, ...], ...], b: tuple[float, ...]) -> Exponentials:
    """One exponential for every coefficient."""

    def rows(coefficients: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        return tuple((*(0.0,) * j, value) for j, value in enumerate(coefficients))

    return Exponentials(name, order, tuple(rows(row) for row in (*a, b)))


def composed(name: str, method: Exponentials, weights: tuple[float, ...], order: int) -> Exponentials:
    """Steps of one method after another, with these shares of the step, as one method."""
    stages: list[tuple[tuple[float, ...], ...]] = []
    before: tuple[tuple[float, ...], ...] = ()
    s = len(method.stages) - 1
    for k, weight in enumerate(weights):
        shifted = [
            tuple((*(0.0,) * (k * s), *(weight * value for value in row)) for row in stage) for stage in method.stages
        ]
        stages += [(*before, *stage) for stage in shifted[:-1]]
        before = (*before, *shifted[-1])
    return Exponentials(name, order, (*stages, before))


# ---- Runge–Kutta

MIDPOINT = Butcher("midpoint", 2, ((), (1 / 2,)), (0.0, 1.0))
KUTTA_3 = Butcher("kutta-3", 3, ((), (1 / 2,), (-1.0, 2.0)), (1 / 6, 2 / 3, 1 / 6))
KUTTA_4 = Butcher("kutta-4", 4, ((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
# Dormand and Prince (1980), the six stages of the fifth order
DORMAND_PRINCE = Butcher(
    "dormand-prince",
    5,
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)

# the same with the stage at the end of the step, which only its companion of order four uses
_DP_A = (*DORMAND_PRINCE.a, DORMAND_PRINCE.b)
DORMAND_PRINCE_54 = Pair(
    Butcher("dormand-prince-54", 5, _DP_A, (*DORMAND_PRINCE.b, 0.0)),
    Butcher(
        "dormand-prince-4",
        4,
        _DP_A,
        (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40),
    ),
    # Shampine (1986), as Hairer and Wanner give it
    (
        -12715105075 / 11282082432,
        0.0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ),
)
# Bogacki and Shampine (1989)
_BS_A = ((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9))
BOGACKI_SHAMPINE_32 = Pair(
    Butcher("bogacki-shampine-32", 3, _BS_A, (2 / 9, 1 / 3, 4 / 9, 0.0)),
    Butcher("bogacki-shampine-2", 2, _BS_A, (7 / 24, 1 / 4, 1 / 3, 1 / 8)),
)

# ---- products of exponentials

EULER = Exponentials("lie-euler", 1, ((), ((1.0,),)))
# Crouch and Grossman (1993)
CG_3 = crouch_grossman("crouch-grossman-3", 3, ((), (3 / 4,), (119 / 216, 17 / 108)), (13 / 51, -2 / 3, 24 / 17))
# Jackiewicz, Marthinsen and Owren (2000)
CG_4 = crouch_grossman(
    "crouch-grossman-4",
    4,
    (
        (),
        (0.8177227988124852,),
        (0.3199876375476427, 0.0659864263556022),
        (0.9214417194464946, 0.4997857776773573, -1.0969984448371582),
        (0.3552358559023322, 0.2390958372307326, 1.3918565724203246, -1.1092979392113465),
    ),
    (0.1370831520630755, -0.0183698531564020, 0.7397813985370780, -0.1907142565505889, 0.3322195591068374),
)
# Celledoni, Marthinsen and Owren (2003)
CF_2 = Exponentials("commutator-free-2", 2, ((), ((1 / 2,),), ((0.0, 1.0),)))
CF_3 = Exponentials(
    "commutator-free-3",
    3,
    ((), ((1 / 3,),), ((0.0, 2 / 3),), ((1 / 3,), (-1 / 12, 0.0, 3 / 4))),
)
CF_4 = Exponentials(
    "commutator-free-4",
    4,
    (
        (),
        ((1 / 2,),),
        ((0.0, 1 / 2),),
        ((1 / 2,), (-1 / 2, 0.0, 1.0)),
        ((1 / 4, 1 / 6, 1 / 6, -1 / 12), (-1 / 12, 1 / 6, 1 / 6, 1 / 4)),
    ),
)
# 2γ⁵ + (1 − 2γ)⁵ = 0: three steps of order four, the middle one backwards, have order five
_GAMMA = 1.0 / (2.0 - 2.0 ** (1 / 5))
CF_5 = composed("commutator-free-5", CF_4, (_GAMMA, 1.0 - 2.0 * _GAMMA, _GAMMA), 5)

# ---- linearly implicit: ROS34PW2 of Rang and Angermann (2005), L-stable
_G = 0.43586652150845900
_ROS_G = (
    (_G,),
    (-0.87173304301691801, _G),
    (-0.90338057013044082, 0.054180672388095326, _G),
    (0.24212380706095346, -1.2232505839045147, 0.54526025533510214, _G),
)
ROSENBROCK_3 = Rosenbrock(
    "rosenbrock-32",
    3,
    ((), (0.87173304301691801,), (0.84457060015369423, -0.11299064236484185), (0.0, 0.0, 1.0)),
    _ROS_G,
    (0.24212380706095346, -1.2232505839045147, 1.5452602553351020, _G),
    (0.37810903145819369, -0.096042292212423178, 0.5, 0.2179332607542295),
)
