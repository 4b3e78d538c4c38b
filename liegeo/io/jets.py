"""Functions of time with their first two derivatives: a jet is (x, ẋ, ẍ), and products, quotients and functions follow
the chain rule,  f(x)˙ = f′ẋ,  f(x)¨ = f″ẋ² + f′ẍ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from liegeo.recorded import function as recorded_function


@dataclass(frozen=True, slots=True)
class Jet:
    """Value, rate and acceleration at one time."""

    x: float
    d: float = 0.0
    dd: float = 0.0

    def __add__(self, other: Jet | float) -> Jet:
        b = as_jet(other)
        return Jet(self.x + b.x, self.d + b.d, self.dd + b.dd)

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.d, -self.dd)

    def __sub__(self, other: Jet | float) -> Jet:
        return self + (-as_jet(other))

    def __mul__(self, other: Jet | float) -> Jet:
        b = as_jet(other)
        return Jet(self.x * b.x, self.d * b.x + self.x * b.d, self.dd * b.x + 2.0 * self.d * b.d + self.x * b.dd)

    def __truediv__(self, other: Jet | float) -> Jet:
        b = as_jet(other)
        inverse = 1.0 / b.x
        return self * b.chain(inverse, -(inverse**2), 2.0 * inverse**3)

    def __radd__(self, other: float) -> Jet:
        return self + other

    def __rsub__(self, other: float) -> Jet:
        return as_jet(other) - self

    def __rmul__(self, other: float) -> Jet:
        return self * other

    def __rtruediv__(self, other: float) -> Jet:
        return as_jet(other) / self

    def __pow__(self, n: int) -> Jet:
        x = self.x
        first = n * x ** (n - 1) if n else 0.0
        second = n * (n - 1) * x ** (n - 2) if n not in (0, 1) else 0.0
        return self.chain(x**n, first, second)

    def chain(self, f: float, first: float, second: float) -> Jet:
        """A function of this one, from its value and derivatives here."""
        return Jet(f, first * self.d, second * self.d**2 + first * self.dd)


def as_jet(value: Jet | float) -> Jet:
    return value if isinstance(value, Jet) else Jet(float(value))


def _tan(a: Jet) -> Jet:
    t = math.tan(a.x)
    return a.chain(t, 1.0 + t * t, 2.0 * t * (1.0 + t * t))


def _sqrt(a: Jet) -> Jet:
    root = math.sqrt(a.x)
    return a.chain(root, 0.5 / root, -0.25 / root**3)


def _exp(a: Jet) -> Jet:
    e = math.exp(a.x)
    return a.chain(e, e, e)


def _tanh(a: Jet) -> Jet:
    f = math.tanh(a.x)
    return a.chain(f, 1.0 - f * f, -2.0 * f * (1.0 - f * f))


def _if(condition: Jet | float, positive: Jet | float, other: Jet | float) -> Jet | float:
    return positive if (condition.x if isinstance(condition, Jet) else condition) > 0.0 else other


def _of(function: Callable[[float], float], jet: Callable[[Jet], Jet]) -> Callable[[Jet | float], Jet | float]:
    return lambda a: jet(a) if isinstance(a, Jet) else recorded_function(function.__name__, function, a)


def _chosen(choose: Callable[..., Jet | float]) -> Callable[..., Jet | float]:
    return lambda *all_of_them: choose(all_of_them, key=lambda a: a.x if isinstance(a, Jet) else a)


# Each takes numbers or jets.
FUNCTIONS: Mapping[str, Callable[..., Jet | float]] = {
    "sqrt": _of(math.sqrt, _sqrt),
    "abs": _of(abs, lambda a: a if a.x >= 0.0 else -a),
    "sin": _of(math.sin, lambda a: a.chain(math.sin(a.x), math.cos(a.x), -math.sin(a.x))),
    "cos": _of(math.cos, lambda a: a.chain(math.cos(a.x), -math.sin(a.x), -math.cos(a.x))),
    "tan": _of(math.tan, _tan),
    "exp": _of(math.exp, _exp),
    "log": _of(math.log, lambda a: a.chain(math.log(a.x), 1.0 / a.x, -1.0 / a.x**2)),
    "min": _chosen(min),
    "max": _chosen(max),
    "tanh": _of(math.tanh, _tanh),
    "if": _if,
}
