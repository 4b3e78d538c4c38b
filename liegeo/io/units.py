"""Numbers with units: `20 mm`, `30 deg`, `70 GPa`, `2 N*m`.  A number without one is SI.

Units come from pint's definitions.  Its own parser is not used: text from a file goes through the small grammar here,
and pint is only asked about single names.  Those in common use stand in unit_table.py; pint is loaded for the others.
"""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from liegeo.errors import InputError
from liegeo.io.unit_table import UNITS

# Powers of metre, kilogram, second, ampere, kelvin, mole, candela.  Angles are numbers: a radian is one.
Powers = tuple[float, ...]
_BASES = ("[length]", "[mass]", "[time]", "[current]", "[temperature]", "[substance]", "[luminosity]")
_BASE_UNITS = ("m", "kg", "s", "A", "K", "mol", "cd")
NONE: Powers = (0.0,) * len(_BASES)
_SECOND = _BASE_UNITS.index("s")

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NAME = r"[A-Za-zµμΩ°%][A-Za-z_µμΩ°%]*"
_FACTOR = rf"{_NAME}(?:(?:\^|\*\*)-?\d)?|1"
QUANTITY = rf"({_NUMBER})\s*((?:{_FACTOR})(?:\s*[*/·]\s*(?:{_FACTOR}))*)"
_LONGEST = 80
# Names that pint does not have, or means something else by.
_ASKED = {"%": "percent", "°": "degree", "rev": "revolution"}
# Those that an expression may name without a number before them, as in 2 N*m; a misspelt parameter is none of them.
BARE = frozenset(
    [
        "m",
        "mm",
        "cm",
        "km",
        "kg",
        "g",
        "s",
        "ms",
        "min",
        "h",
        "N",
        "mN",
        "kN",
        "MN",
        "Pa",
        "kPa",
        "MPa",
        "GPa",
        "J",
        "kJ",
        "W",
        "kW",
        "rad",
        "deg",
        "rev",
        "Hz",
        "kHz",
    ]
)
# What is suggested in the place of a unit that there is not.
_COMMON = (
    "m",
    "mm",
    "cm",
    "km",
    "kg",
    "g",
    "s",
    "ms",
    "min",
    "rad",
    "deg",
    "rpm",
    "N",
    "kN",
    "Pa",
    "MPa",
    "GPa",
    "Hz",
    "kHz",
)


@dataclass(frozen=True)
class Dimension:
    """What a field expects: a name for messages, its SI unit, its powers.

    `kind` is "frequency" or "angular" where turns and radians would be mistaken for each other: both are 1/s.
    """

    name: str
    unit: str
    powers: Powers
    kind: str = ""

    def __str__(self) -> str:
        article = "an" if self.name[0] in "aeiou" else "a"
        return f"{article} {self.name}" + (f" in {self.unit}" if self.unit else "")


def _of(
    name: str, unit: str, m: float = 0, kg: float = 0, s: float = 0, kind: str = "", ampere: float = 0
) -> Dimension:
    return Dimension(name, unit, (m, kg, s, ampere, 0.0, 0.0, 0.0), kind)


NUMBER = _of("number", "")
ANGLE = _of("angle", "rad")
LENGTH = _of("length", "m", 1)
AREA = _of("area", "m^2", 2)
SECOND_MOMENT = _of("second moment of area", "m^4", 4)
MASS = _of("mass", "kg", 0, 1)
INERTIA = _of("moment of inertia", "kg*m^2", 2, 1)
FIRST_MOMENT = _of("first moment of mass", "kg*m", 1, 1)
DENSITY = _of("density", "kg/m^3", -3, 1)
MODULUS = _of("modulus", "Pa", -1, 1, -2)
TIME = _of("time", "s", 0, 0, 1)
FREQUENCY = _of("frequency", "Hz", 0, 0, -1, kind="frequency")
RATE = _of("rate", "1/s", 0, 0, -1)
SPEED = _of("speed", "m/s", 1, 0, -1)
ANGULAR_SPEED = _of("angular speed", "rad/s", 0, 0, -1, kind="angular")
ACCELERATION = _of("acceleration", "m/s^2", 1, 0, -2)
FORCE = _of("force", "N", 1, 1, -2)
TORQUE = _of("torque", "N*m", 2, 1, -2)
STIFFNESS = _of("stiffness", "N/m", 0, 1, -2)
TURNING_STIFFNESS = _of("stiffness against turning", "N*m/rad", 2, 1, -2)
DAMPING = _of("damping", "N*s/m", 0, 1, -1)
TURNING_DAMPING = _of("damping of turning", "N*m*s/rad", 2, 1, -1)
SLOWNESS = _of("time per length", "s/m", -1, 0, 1)
RATE_PER_LENGTH = _of("angle per length", "rad/m", -1)
VOLUME = _of("volume", "m^3", 3)
PRESSURE = _of("pressure", "Pa", -1, 1, -2)
FLOW = _of("flow", "m^3/s", 3, 0, -1)
LEAKAGE = _of("flow per pressure", "m^3/s/Pa", 4, -1, 1)
VOLTAGE = _of("voltage", "V", 2, 1, -3, ampere=-1)
CURRENT = _of("current", "A", ampere=1)
RESISTANCE = _of("resistance", "ohm", 2, 1, -3, ampere=-2)
INDUCTANCE = _of("inductance", "H", 2, 1, -2, ampere=-2)
TORQUE_CONSTANT = _of("torque per current", "N*m/A", 2, 1, -2, ampere=-1)
FORCE_CONSTANT = _of("force per current", "N/A", 1, 1, -2, ampere=-1)
DISSIPATION = _of("dissipation of an impact", "s/m", -1, 0, 1)
# In the order in which a message would name them: several have the same powers.
_KNOWN = tuple(value for value in tuple(globals().values()) if isinstance(value, Dimension))


def named(powers: Powers) -> str:
    """The name of a dimension for a message: `a length`, or its units."""
    for known in _KNOWN:
        if powers == NONE:
            return "a number or an angle"
        if known.powers == powers:
            return f"{'an' if known.name[0] in 'aeiou' else 'a'} {known.name}"
    return "in " + "·".join(
        unit + ("" if p == 1 else f"^{p:g}") for unit, p in zip(_BASE_UNITS, powers, strict=True) if p
    )


@dataclass(frozen=True)
class Quantity:
    """A value in SI and the powers of its units.

    `powers` is None for a plain number, which stands for whatever is wanted.  `open` is a value that nobody knows the
    unit of, such as a parameter given as a plain number: what is computed from it is not checked either.  `loose` has
    the time t as a factor, which people write as a number of seconds and as a time: its power of the second is not
    checked.  `kind` is that of a Dimension.  `radians` is the power of the radian, which is a number and not checked,
    but which units are written with.  `uses` takes what the keys expect that read the value, where somebody asks.
    """

    value: float | int
    powers: Powers | None = None
    open: bool = False
    kind: str = ""
    text: str = ""
    loose: bool = False
    radians: float = 0.0
    uses: list[Dimension] | None = field(default=None, compare=False, repr=False)

    def fits(self, powers: Powers, loose: bool = False) -> bool:
        """Whether it may be added to what has these powers."""
        own = self.powers
        if own is None or self.open:
            return True
        return all(
            p == q or (i == _SECOND and (loose or self.loose)) for i, (p, q) in enumerate(zip(own, powers, strict=True))
        )

    def to(self, wanted: Dimension) -> float | int:
        """The value as a field of this dimension takes it."""
        if self.open or self.powers is None:
            return self.value
        if not self.fits(wanted.powers):
            raise InputError(f"is {named(self.powers)}, expected {wanted}")
        if self.kind and wanted.kind and self.kind != wanted.kind:
            per = "rad/s, deg/s or rpm" if wanted.kind == "angular" else "Hz"
            raise InputError(f"mixes up turns and radians: expected {wanted}; write it in {per}")
        return self.value


@functools.cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry()


@functools.cache
def _unit(name: str) -> tuple[float, Powers, str]:
    """Return SI value, powers and kind of a single unit."""
    if name in UNITS:
        value, *powers, kind, _ = UNITS[name]
        return value, (*map(float, powers), *NONE[len(powers) :]), kind
    return ask_pint(name)


def ask_pint(name: str) -> tuple[float, Powers, str]:
    """Return SI value, powers and kind of a single unit as pint has it; InputError if it is none that is read."""
    registry = _registry()
    try:
        unit = registry.Unit(_ASKED.get(name, name))
        base = registry.Quantity(1.0, unit).to_base_units()
    except Exception:  # pint has many errors, and tokenises what it does not know
        raise InputError(f"has the unknown unit '{name}'{_closest(name)}") from None
    if not registry._units[next(iter(unit._units))].is_multiplicative:
        raise InputError(f"has the unit '{name}', which has an offset or is logarithmic; that is not read")
    found = dict(base.dimensionality)
    if not set(found) <= set(_BASES):
        raise InputError(f"has the unit '{name}', which is none of mechanics")
    root = next(iter(unit._units))
    kind = "frequency" if root == "hertz" or root.endswith("hertz") else ""
    if root in ("radian", "degree", "turn", "revolution", "revolutions_per_minute", "revolutions_per_second"):
        kind = "angular"
    return float(base.magnitude), tuple(float(found.get(b, 0)) for b in _BASES), kind


@functools.cache
def _radians(name: str) -> int:
    """Return the power of the radian in a single unit: 1 of mrad, arcmin and rpm."""
    return UNITS[name][-1] if name in UNITS else ask_pint_for_radians(name)


def ask_pint_for_radians(name: str) -> int:
    """Return the power of the radian in a single unit as pint has it."""
    base = _registry().Quantity(1.0, _ASKED.get(name, name)).to_base_units()
    return round(dict(base.unit_items()).get("radian", 0))


def _closest(name: str) -> str:
    close = difflib.get_close_matches(name, _COMMON, n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The single units of an expression of them, with their powers."""
    for operator, name, power in re.findall(rf"([*/·]?)\s*({_NAME}|1)(?:(?:\^|\*\*)(-?\d))?", text):
        if name != "1":
            yield name, (-1 if operator == "/" else 1) * int(power or 1)


@functools.lru_cache(maxsize=1024)
def radians(text: str) -> int:
    """The power of the radian in an expression of units; among `powers` it is a number."""
    return sum(n * _radians(name) for name, n in _parts(text))


@functools.lru_cache(maxsize=1024)
def unit(text: str) -> tuple[float, Powers, str]:
    """SI value, powers and kind of an expression of units: `N*m`, `kg/m^3`."""
    factor, powers, kind = 1.0, list(NONE), ""
    for name, n in _parts(text):
        value, own, own_kind = _unit(name)
        factor *= value**n
        powers = [p + n * q for p, q in zip(powers, own, strict=True)]
        kind = kind or own_kind
    return _rounded(factor), tuple(powers), kind if tuple(powers) == FREQUENCY.powers else ""


def _rounded(factor: float) -> float:
    """Without the round-off of products such as g/cm^3."""
    for power in (1, -1):
        whole = round(factor**power) if 0.5 < factor**power < 1e15 else 0
        if whole and abs(factor**power - whole) <= 1e-13 * whole:
            return float(whole) ** power
    return factor


def scaled(number: str, factor: float) -> float:
    """A number as written times a factor; if that is whole, or one over a whole, rounded once: 0.6 cm^2 is 6e-5."""
    if factor.is_integer():
        return float(Decimal(number) * int(factor))
    if 0.0 < factor < 1.0 and (1.0 / factor).is_integer():
        return float(Decimal(number) / int(1.0 / factor))
    return float(number) * factor


def parse(text: str) -> Quantity | None:
    """A number with a unit; None if the text is no such thing at all."""
    text = text.strip()
    found = re.fullmatch(QUANTITY, text) if len(text) <= _LONGEST else None
    if found is None:
        return None
    factor, powers, kind = unit(found[2])
    value = scaled(found[1], factor)
    if not math.isfinite(value):
        raise InputError(f"is {value}, expected a finite number")
    return Quantity(value, powers, kind=kind, text=text, radians=radians(found[2]))


def has_unit(value: Any) -> bool:
    """Whether a value that was read says its unit: text does, and what an expression makes of numbers with units."""
    if isinstance(value, Quantity):
        return value.powers is not None and not value.open
    return isinstance(value, str)


def named_unit(text: str) -> Quantity:
    """One of a unit."""
    try:
        found = parse(f"1 {text}")
    except InputError as error:
        raise InputError(f"is '{text}', which {error}") from None
    if found is None:
        raise InputError(f"is '{text}', which is no unit")
    return found


@functools.cache
def _turning() -> dict[tuple[Powers, float], str]:
    """Units with a radian, by powers and its own."""
    known = [(dimension.powers, dimension.unit) for dimension in _KNOWN if "rad" in dimension.unit]
    known.append((tuple(2.0 * p for p in FREQUENCY.powers), "rad/s^2"))
    return {(powers, float(radians(text))): text for powers, text in known}


def turning(powers: Powers | None, rad: float) -> float:
    """The power of the radian in what was computed: 0 where nobody writes it, as in the product of rad/s and m."""
    return rad if rad and powers is not None and (powers, rad) in _turning() else 0.0


def written(powers: Powers, rad: float = 0.0, kind: str = "") -> str:
    """Powers as a unit: `kg*m^2/s^2`, `N*m/rad`; nothing for a number."""
    if kind == FREQUENCY.kind:
        return FREQUENCY.unit
    if rad and (powers, rad) in _turning():
        return _turning()[powers, rad]
    named_powers = list(zip((*_BASE_UNITS, "rad"), (*powers, rad), strict=True))
    above = [f"{u}^{p:g}" if p != 1 else u for u, p in named_powers if p > 0]
    below = [f"{u}^{-p:g}" if p != -1 else u for u, p in named_powers if p < 0]
    if not above and not below:
        return ""
    return "*".join(above or ["1"]) + "".join(f"/{u}" for u in below)
