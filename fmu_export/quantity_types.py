"""Units as FMI tools expect them, the physical quantities that they measure, and usual sizes of variables.

Units are written as Modelica does: products with a dot, one slash, powers as digits: N.m, kg.m2, N.m.s/rad, W/(m2.K).
"""

from __future__ import annotations

import functools
import math
import re

import numpy as np

from liegeo.accuracy import size_of
from liegeo.io import units
from liegeo.model.model import Model, State

#: By unit of SI: the physical quantity, as the Modelica Standard Library calls it; torque before energy.
QUANTITIES = {
    "rad": "Angle",
    "rad/s": "AngularVelocity",
    "rad/s2": "AngularAcceleration",
    "m": "Length",
    "m/s": "Velocity",
    "m/s2": "Acceleration",
    "m2": "Area",
    "s": "Time",
    "Hz": "Frequency",
    "N": "Force",
    "N.m": "Torque",
    "J": "Energy",
    "W": "Power",
    "N.s": "Momentum",
    "N.m.s": "AngularMomentum",
    "kg": "Mass",
    "kg.m2": "MomentOfInertia",
    "kg/m3": "Density",
    "Pa": "Pressure",
    "N/m": "TranslationalSpringConstant",
    "N.m/rad": "RotationalSpringConstant",
    "N.s/m": "TranslationalDampingConstant",
    "N.m.s/rad": "RotationalDampingConstant",
}
#: By unit: the one in which people read it, and how many of those it is.
DISPLAY = {"rad": ("deg", 180.0 / math.pi), "rad/s": ("deg/s", 180.0 / math.pi), "m": ("mm", 1000.0)}

_BASES = ("m", "kg", "s", "A", "K", "mol", "cd")
_NAME = re.compile(r"([*/.]?)([^\d*/.^()-]+)\^?(-?\d*)")


def _plain(text: str) -> str:
    return text.replace("·", "*").replace("²", "^2").replace("³", "^3").replace(" ", "").replace("**", "^")


def base_unit(text: str) -> tuple[float, dict[str, int]]:
    """Return the SI value of a unit, and the powers of its base units; FMI counts the radian among them."""
    plain = _plain(text)
    factor, powers, _ = units.unit(plain)
    found = {name: int(p) for name, p in zip(_BASES, powers, strict=True) if p}
    rad = units.radians(plain)
    return factor, {**found, **({"rad": rad} if rad else {})}


def _modelica(text: str) -> str:
    """Return a unit with its factors as they stand, in Modelica's syntax; a denominator of several is in brackets."""
    above: list[str] = []
    below: list[str] = []
    for operator, name, digits in _NAME.findall(_plain(text)):
        power = int(digits or 1) * (-1 if operator == "/" else 1)
        if power:
            (above if power > 0 else below).append(name + (str(abs(power)) if abs(power) > 1 else ""))
    under = ".".join(below)
    return (".".join(above) or "1") + (f"/({under})" if len(below) > 1 else f"/{under}" if below else "")


@functools.cache
def _engineers() -> dict[tuple[tuple[str, int], ...], str]:
    """By powers of base units: what engineers write."""
    found: dict[tuple[tuple[str, int], ...], str] = {}
    for name in QUANTITIES:
        text = re.sub(r"(?<=[a-z])(\d)", r"^\1", name).replace(".", "*")
        # the torque, which is before it, has the powers of the energy, and a frequency those of a rate
        if name != "Hz":
            found.setdefault(tuple(sorted(base_unit(text)[1].items())), name)
    return found


@functools.lru_cache(maxsize=1024)
def unit_name(text: str) -> str:
    """Return a unit as engineers and tools write it: N.m, rad/s2, and N/m, kg.m2, Pa for what has only base units.

    A parameter's unit is known by its powers of base units (kg/s^2), which nobody writes for a stiffness; what a person
    wrote with other names stays as it was written (N.m is not made a J, nor mm a m).
    """
    if not text:
        return ""
    names = {name for _, name, _ in _NAME.findall(_plain(text)) if name != "1"}
    if len(names) > 1 and names <= {*_BASES, "rad"}:
        known = _engineers().get(tuple(sorted(base_unit(text)[1].items())))
        if known:
            return known
    return _modelica(text)


def quantity_of(unit: str) -> str:
    """Return the quantity that a unit of SI measures, "" if it leaves that open."""
    return QUANTITIES.get(unit_name(unit), "")


class Sizes:
    """What is large in a model: a length L, a mass M and a time T, from which sizes of all units follow.

    The size of a quantity whose unit is m^a kg^b s^c is

        L^a M^b T^c,                                                    (1)

    and a radian is 1.  L is the reach of the mechanism (liegeo.accuracy.size_of), M the mass of all bodies.  Weight
    moves things by L in about T = √(L/|g|); without gravity T is the time in which the fastest joint turns by 1 rad or
    moves by L at its speed at the start.  So a force has the size M|g|, a torque M|g|L, an energy the same.  If neither
    is there, T is unknown, and so are the sizes of all that has seconds in its unit.
    """

    def __init__(self, model: Model, state: State) -> None:
        self.length = size_of(model, state)
        self.mass = float(sum(float(body.mass) for body in model.tree.bodies))
        gravity = float(np.linalg.norm(np.asarray(model.tree.gravity, dtype=np.float64)))
        rates = [0.0]
        for column in model.names.table.values():
            if column.source == ("v",) and column.name.partition(".")[0] not in _wheels(model):
                per = {"rad/s": 1.0, "m/s": self.length}.get(column.unit)
                rates.append(abs(float(state.v[column.place])) / per if per else 0.0)
        rate = math.sqrt(gravity / self.length) if gravity > 0.0 else max(rates)
        self.time = 1.0 / rate if rate > 0.0 else math.nan

    def nominal(self, unit: str) -> float | None:
        """Return the size (1) of what has this unit, in SI, to one digit; None if it is not known or has no unit."""
        if not unit:
            return None
        powers = base_unit(unit)[1]
        if not set(powers) <= {"m", "kg", "s", "rad"}:
            return None
        size = self.length ** powers.get("m", 0)
        for value, key in ((self.mass, "kg"), (self.time, "s")):
            if powers.get(key):
                if not value > 0.0:
                    return None
                size *= value ** powers[key]
        return float(f"{size:.0e}") if 0.0 < size < math.inf else None


def _wheels(model: Model) -> set[str]:
    return {wheel.name for wheel in model.tree.wheels}
