"""Which values the members of a study have: distributions, and designs that draw from them.

Each parameter that varies has a list of values or a distribution.  A design makes members of them:

    list                each list has one value per member: the first of all, then the second of all, …
    grid                every combination; of a distribution `levels` quantiles, at (k + ½)/levels
    random              independent draws
    latin-hypercube     draws that cover the range of each parameter evenly: one in each of n equal shares [MBC79]
    sobol               scrambled Sobol points, which cover all parameters together evenly; best for n a power of two

Draws are points p in the unit cube, and a value is the quantile Q(p) of its distribution, or, of a list, the value in
whose equal share p lies.  They depend on the seed, on the number of members and on the order of the parameters alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.model.checks import suggest

Array = NDArray[np.float64]

DESIGNS = ("list", "grid", "random", "latin-hypercube", "sobol")
DRAWN = ("random", "latin-hypercube", "sobol")
# Nobody waits for more.
_MOST_MEMBERS = 10_000_000
# Quantiles of a normal distribution at 0 and 1 are infinite: points are kept as far from them as the last digit.
_LEAST = 2.0**-53


def number(owner: str, value: Any) -> tuple[float, units.Powers | None]:
    """Return a number, or text with a unit of measure, as a number in SI and its dimension, None if it has none."""
    if isinstance(value, str):
        try:
            found = units.parse(value)
        except InputError as error:
            raise InputError(f"study: {owner} is '{value}': {error}.") from None
        if found is None:
            raise InputError(
                f"study: {owner} is '{value}', expected a number, with a unit if it has one, as in '2 kg'."
            )
        value, powers = float(found.value), found.powers
    else:
        try:
            value, powers = float(value), None
        except (TypeError, ValueError):
            raise InputError(f"study: {owner} is {value!r}, expected a number, or text such as '2 kg'.") from None
    if not math.isfinite(value):
        raise InputError(f"study: {owner} is {value!r}, expected a finite number.")
    return value, powers


def _two(owner: str, names: tuple[str, str], values: tuple[Any, Any]) -> tuple[float, float]:
    """Return two numbers of one dimension."""
    (a, its), (b, others) = (number(f"{owner}: {name}", x) for name, x in zip(names, values, strict=True))
    if its is not None and others is not None and its != others:
        raise InputError(
            f"study: {owner}: {names[0]} is {values[0]!r} and {names[1]} is {values[1]!r}, expected units of one kind."
        )
    return a, b


@dataclass(frozen=True)
class Uniform:
    """Any value from `low` to `high` is as likely as any other."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        low, high = _two("Uniform", ("low", "high"), (self.low, self.high))
        if not low < high:
            raise InputError(f"study: Uniform: low is {self.low!r}, must be less than high, which is {self.high!r}.")

    def quantile(self, p: Array) -> Array:
        low, high = _two("Uniform", ("low", "high"), (self.low, self.high))
        return low + (high - low) * p


@dataclass(frozen=True)
class Normal:
    """Gauss's distribution: its mean and its standard deviation, in the unit of the mean, or as "5 %" of it."""

    mean: Any
    deviation: Any

    def __post_init__(self) -> None:
        if not self._numbers()[1] > 0.0:
            raise InputError(f"study: Normal: deviation is {self.deviation!r}, must be > 0.")

    def _numbers(self) -> tuple[float, float]:
        mean, _ = number("Normal: mean", self.mean)
        if isinstance(self.deviation, str) and self.deviation.rstrip().endswith("%"):
            return mean, abs(mean) * number("Normal: deviation", self.deviation)[0]
        return _two("Normal", ("mean", "deviation"), (self.mean, self.deviation))

    def quantile(self, p: Array) -> Array:
        from scipy.special import ndtri

        mean, deviation = self._numbers()
        return np.asarray(mean + deviation * ndtri(p))


@dataclass(frozen=True)
class LogNormal:
    """A positive value whose logarithm is normally distributed: its median, and the deviation of the logarithm."""

    median: Any
    deviation: float

    def __post_init__(self) -> None:
        if not number("LogNormal: median", self.median)[0] > 0.0:
            raise InputError(f"study: LogNormal: median is {self.median!r}, must be > 0.")
        if not number("LogNormal: deviation", self.deviation)[0] > 0.0:
            raise InputError(f"study: LogNormal: deviation is {self.deviation!r}, must be > 0.")

    def quantile(self, p: Array) -> Array:
        from scipy.special import ndtri

        return np.asarray(number("median", self.median)[0] * np.exp(number("deviation", self.deviation)[0] * ndtri(p)))


@dataclass(frozen=True)
class Triangular:
    """From `low` to `high`, most often near `mode`."""

    low: Any
    mode: Any
    high: Any

    def _numbers(self) -> tuple[float, float, float]:
        low, mode = _two("Triangular", ("low", "mode"), (self.low, self.mode))
        return low, mode, _two("Triangular", ("mode", "high"), (self.mode, self.high))[1]

    def __post_init__(self) -> None:
        low, mode, high = self._numbers()
        if not (low <= mode <= high and low < high):
            given = f"low {self.low!r}, mode {self.mode!r}, high {self.high!r}"
            raise InputError(f"study: Triangular has {given}, expected low ≤ mode ≤ high, and low < high.")

    def quantile(self, p: Array) -> Array:
        low, mode, high = self._numbers()
        share = (mode - low) / (high - low)
        rising = low + np.sqrt(p * (high - low) * (mode - low))
        return np.asarray(np.where(p < share, rising, high - np.sqrt((1.0 - p) * (high - low) * (high - mode))))


Distribution = Uniform | Normal | LogNormal | Triangular
ALL_DISTRIBUTIONS: tuple[type[Any], ...] = (Uniform, Normal, LogNormal, Triangular)


@dataclass(frozen=True)
class Design:
    """The members of a study: names of parameters, and for each its value in SI by member."""

    names: tuple[str, ...]
    values: Array

    def __len__(self) -> int:
        return len(self.values)

    def member(self, k: int) -> dict[str, float]:
        """Return the values of member k."""
        return dict(zip(self.names, map(float, self.values[k]), strict=True))


def make_design(
    vary: Mapping[str, Any], design: str | None = None, members: int | None = None, seed: int = 0, levels: int = 5
) -> Design:
    """Return the members that values or distributions by name make; `design` is one of DESIGNS.

    Not given, it is a grid if all are lists, and a Latin hypercube otherwise.
    """
    if not isinstance(vary, Mapping) or not vary:
        raise InputError(f"study: vary is {vary!r}, expected values or a distribution for at least one parameter.")
    lists = {
        name: None if isinstance(given, ALL_DISTRIBUTIONS) else _values(name, given) for name, given in vary.items()
    }
    if design is None:
        design = "grid" if members is None and all(each is not None for each in lists.values()) else "latin-hypercube"
    if design not in DESIGNS:
        raise InputError(
            f"study: design is {design!r}, expected one of {', '.join(DESIGNS)}.{suggest(str(design), DESIGNS)}"
        )
    for what, given in (("members", members), ("levels", levels), ("seed", seed)):
        if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < (what != "seed")):
            raise InputError(f"study: {what} is {given!r}, expected a whole number ≥ {int(what != 'seed')}.")
    names = tuple(vary)
    if design in DRAWN:
        if members is None:
            raise InputError(f"study: the design '{design}' draws members; say how many, as in members=200.")
        _check_number(members)
        points = np.clip(_points(design, len(names), members, seed), _LEAST, 1.0 - _LEAST)
        columns = [_at(vary[name], lists[name], points[:, k]) for k, name in enumerate(names)]
        return Design(names, np.stack(columns, axis=1))
    if members is not None:
        raise InputError(f"study: members is {members}, but the design '{design}' has as many as its values make.")
    shares = (np.arange(levels) + 0.5) / levels
    if design == "grid":
        columns = [vary[name].quantile(shares) if (each := lists[name]) is None else each for name in names]
        _check_number(math.prod(map(len, columns)))
        return Design(names, np.array(list(product(*columns)), dtype=np.float64))
    drawn = [name for name in names if lists[name] is None]
    if drawn:
        raise InputError(
            f"study: '{drawn[0]}' has a distribution, but the design 'list' needs values; name another design."
        )
    columns = [each for each in lists.values() if each is not None]
    sizes = {name: len(each) for name, each in zip(names, columns, strict=True)}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"'{name}' {n}" for name, n in sizes.items())
        raise InputError(f"study: the design 'list' takes one value per member, but there are {said}.")
    return Design(names, np.stack(columns, axis=1))


def _check_number(members: int) -> None:
    if members > _MOST_MEMBERS:
        raise InputError(f"study: there are {members} members, expected at most {_MOST_MEMBERS}.")


def _values(name: str, given: Any) -> Array:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        kinds = ", ".join(cls.__name__ for cls in ALL_DISTRIBUTIONS)
        raise InputError(f"study: '{name}' has {given!r}, expected a list of values or a distribution ({kinds}).")
    if len(given) == 0:
        raise InputError(f"study: '{name}' has no values, expected at least one.")
    found = [number(f"'{name}'[{k}]", value) for k, value in enumerate(given)]
    if len({powers for _, powers in found if powers is not None}) > 1:
        raise InputError(f"study: '{name}' has {list(given)!r}, expected units of one kind.")
    return np.array([value for value, _ in found])


def _points(design: str, dimension: int, members: int, seed: int) -> Array:
    """Return points in the unit cube, a row each."""
    if design == "random":
        return np.random.default_rng(seed).random((members, dimension))
    import warnings

    from scipy.stats import qmc

    with warnings.catch_warnings():
        # that the number is no power of two makes points a little less even
        warnings.simplefilter("ignore", UserWarning)
        kind = qmc.LatinHypercube if design == "latin-hypercube" else qmc.Sobol
        return np.asarray(kind(d=dimension, rng=np.random.default_rng(seed)).random(members))


def _at(given: Any, values: Array | None, p: Array) -> Array:
    """Return the values at the points p of one parameter."""
    if values is None:
        return np.asarray(given.quantile(p))
    return values[np.minimum((p * len(values)).astype(int), len(values) - 1)]
