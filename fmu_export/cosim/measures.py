"""Units of variables of FMUs: what they are in SI, and how a value goes from one to another.

A unit in a modelDescription.xml has base-unit exponents, a factor and an offset: SI value = factor · value + offset.
Where a description names a unit without saying what it is, the name itself is read as in model files.  A radian is
one, so `rad/s` and `1/s` connect; hertz and radians per second do not, because one is 2π of the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from liegeo.errors import InputError
from liegeo.io import units
from liegeo.io.units import Powers, Quantity

# Not SI, but in many FMUs: dots and blanks for products, exponents without a sign of power.
_FACTOR = re.compile(r"([A-Za-zµμΩ°%]+)(-?\d)?$")


@dataclass(frozen=True)
class Measure:
    """A unit: SI value = factor · value + offset, and the powers of m, kg, s, A, K, mol, cd.

    `powers` is None for a unit that nobody has defined; such a unit connects to itself only.
    """

    name: str
    factor: float = 1.0
    offset: float = 0.0
    powers: Powers | None = units.NONE
    kind: str = ""

    def describe(self) -> str:
        if self.powers is None:
            return f"'{self.name}', which is not defined"
        said = units.written(self.powers) or "a number"
        return f"'{self.name}' ({said})" if self.name and self.name != said else f"'{self.name or '1'}'"


@dataclass(frozen=True)
class Linear:
    """value ↦ factor · value + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, value: float) -> float:
        return self.factor * value + self.offset

    def then(self, other: Linear) -> Linear:
        return Linear(self.factor * other.factor, other.factor * self.offset + other.offset)

    @property
    def is_identity(self) -> bool:
        return self.factor == 1.0 and self.offset == 0.0


def from_base(name: str, base: object) -> Measure:
    """From the BaseUnit of a unit definition, as fmpy reads it; None if there is none."""
    if base is None:
        return from_name(name)
    powers = tuple(float(getattr(base, key) or 0) for key in ("m", "kg", "s", "A", "K", "mol", "cd"))
    radians = float(getattr(base, "rad", 0) or 0)
    kind = "angular" if radians and powers == units.FREQUENCY.powers else _kind(name, powers)
    return Measure(name, float(getattr(base, "factor", 1.0)), float(getattr(base, "offset", 0.0)), powers, kind)


def _kind(name: str, powers: Powers) -> str:
    return "frequency" if powers == units.FREQUENCY.powers and name.lower().endswith("hz") else ""


def from_name(name: str) -> Measure:
    """From a name alone: `mm`, `N*m`, and `N.m`, `m/s2` as FMUs often write it."""
    text = _spelled(name.strip())
    if not text or text == "1":
        return Measure(name)
    try:
        found = units.parse(f"1 {text}")
    except InputError:
        found = None
    if found is None:
        return Measure(name, powers=None)
    return Measure(name, float(found.value), 0.0, found.powers, found.kind)


def _spelled(name: str) -> str:
    parts = re.split(r"([*/·. ])", name)
    out = []
    for part in parts:
        match = _FACTOR.fullmatch(part)
        if part in (".", " "):
            out.append("*")
        elif match is not None and match[2]:
            out.append(f"{match[1]}^{match[2]}")
        else:
            out.append(part)
    return "".join(out)


def conversion(source: Measure | None, target: Measure | None) -> Linear:
    """How a value in one unit is written in another; InputError if they are of different things.

    A variable without a unit takes and gives plain numbers: nothing is converted and nothing checked.
    """
    if source is None or target is None or source == target:
        return Linear()
    if source.powers is None or target.powers is None:
        if source.name == target.name:
            return Linear()
        unknown = source if source.powers is None else target
        raise InputError(
            f"connects {source.describe()} to {target.describe()}: the unit '{unknown.name}' has no BaseUnit in its "
            "modelDescription.xml; define it there, or connect with a factor"
        )
    if source.powers != target.powers:
        raise InputError(
            f"connects {source.describe()} to {target.describe()}, which are of different dimensions; "
            "connect what is alike, or give a factor"
        )
    if source.kind and target.kind and source.kind != target.kind:
        raise InputError(
            f"connects {source.describe()} to {target.describe()}, which mixes up turns and radians; give a factor"
        )
    if source.factor == target.factor:
        return Linear(1.0, _tidy((source.offset - target.offset) / target.factor))
    return Linear(_ratio(source.factor, target.factor), _tidy((source.offset - target.offset) / target.factor))


def _ratio(above: float, below: float) -> float:
    """Rounded once where one is a whole multiple of the other, so that mm to m is 0.001."""
    for a, b, power in ((above, below, 1), (below, above, -1)):
        whole = round(a / b) if 0.5 < a / b < 1e15 else 0
        if whole and abs(a / b - whole) <= 1e-13 * whole:
            return float(whole) if power == 1 else 1.0 / float(whole)
    return above / below


def _tidy(offset: float) -> float:
    return 0.0 if abs(offset) < 1e-300 else offset


def in_measure(given: Quantity, measure: Measure | None) -> float:
    """A quantity of a file in the unit of a variable; a plain number is in that unit already."""
    if given.powers is None or measure is None:
        if given.powers is not None and given.powers != units.NONE:
            raise InputError("has a unit, but the variable has none; give a plain number")
        return float(given.value)
    if measure.powers is None:
        raise InputError(f"has a unit, but that of the variable is {measure.describe()}; give a plain number in it")
    if given.powers != measure.powers:
        raise InputError(f"is {units.named(given.powers)}, expected something in {measure.describe()}")
    if given.kind and measure.kind and given.kind != measure.kind:
        raise InputError(f"mixes up turns and radians: expected something in {measure.describe()}")
    return units.scaled(repr(float(given.value) - measure.offset), _ratio(1.0, measure.factor))
