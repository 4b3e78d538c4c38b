"""Methods by name: what a method is, those that there are, and which problems a method can be used on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError
from liegeo.integrate import conserving, constrained, explicit, magnus, stiff, symmetric, variational
from liegeo.integrate import tableau as tb
from liegeo.integrate.checks import check_conservative, check_linear
from liegeo.integrate.crossing import crossing_rows
from liegeo.integrate.explicit import Operations
from liegeo.integrate.newton import memory
from liegeo.integrate.problems import Problem

Array = NDArray[np.float64]

#: A number of rows, or a function that gives it for a number of speeds.
Rows = int | Callable[[int], int]


def count(rows: Rows, dim: int) -> int:
    """Rows for a state group of this dimension, which is twice the number of speeds."""
    return rows(dim // 2) if callable(rows) else rows


@dataclass(frozen=True)
class Method:
    """A method: its name, its order, what makes its step, and the coefficients of that.

    `make(group, field, compiled)` returns a step as in explicit.py, from the operations of the group and the field; a
    method that is `mechanical` gets the kernels of a system (problems.Dynamics) in place of the field.  `table` is a
    tableau or plain numbers.

    A method with a `lower` order estimates the error of a step with it, and chooses its steps (stepping.chosen_steps;
    `exponent` is that of stepping.py (3)); others make steps of equal size (stepping.equal_steps).

    A step may use `rows` of K (a tableau's stages, if not given); the first `memory` of them stay from step to step,
    all zero before the first, but for the field at the start, which is the first row where a method chooses its steps.
    Both are numbers or functions of the number of speeds.  `workspaces` is how many times the system's scratch it
    needs.  `properties` are words of PROPERTIES.  `make_closed` is what makes the step of a mechanical method for
    systems with constraints, if it knows them; methods for fields are projected.  `make_coupled` takes the place of
    `make` for systems that are `coupled` (problems.System).  A mechanical method that `takes_states` treats first-order
    states too; methods for fields always do.  One that `sticks` solves set-valued friction.  `record` is the row of K
    from which a method that uses Newton's method keeps its record (newton.py).  Mechanical methods find the system's
    sizes behind their coefficients, if they have any.  A method of one's own needs no more.
    """

    name: str
    order: int
    make: Callable[[Operations, Any, bool], Any]
    table: tb.Butcher | tb.Exponentials | tb.Pair | tb.Rosenbrock | tuple[float, ...] = ()
    rows: Rows = 0
    memory: Rows = 0
    mechanical: bool = False
    workspaces: int = 1
    properties: frozenset[str] = frozenset()
    make_closed: Callable[[Operations, Any, bool], Any] | None = None
    make_coupled: Callable[[Operations, Any, bool], Any] | None = None
    takes_states: bool = False
    sticks: bool = False
    record: Rows | None = None
    lower: int | None = None
    exponent: float = 1.0

    def __post_init__(self) -> None:
        unknown = self.properties - PROPERTIES
        if unknown:
            raise InputError(
                f"method '{self.name}': no such property: {', '.join(sorted(unknown))}; "
                f"there are {', '.join(sorted(PROPERTIES))}."
            )

    @property
    def adaptive(self) -> bool:
        """Whether it estimates its errors and chooses its steps."""
        return self.lower is not None

    def coefficients(self, tolerance: float = 1.0, per_second: float = 0.0) -> Array:
        """Return what the compiled step reads: (s + 1) × rows × s of a tableau; plain numbers as 1 × 1 × n.

        Of plain numbers of a method that chooses its steps the last is the tolerance of what it solves, as a share of
        `tolerance`; it grows by `per_second` of the length of a step.
        """
        if isinstance(self.table, tb.Butcher):
            return np.concatenate([self.table.matrix, [self.table.b]])[:, np.newaxis, :]
        if not isinstance(self.table, tuple):
            return self.table.coefficients
        numbers = self.table
        if self.adaptive and numbers:
            *first, share = numbers
            numbers = (*first, share * tolerance, per_second)
        return np.array(numbers, dtype=np.float64).reshape(1, 1, -1)

    @property
    def quartic(self) -> bool:
        """Whether trajectory.py (2) is at hand."""
        return isinstance(self.table, tb.Pair) and self.table.between is not None

    @property
    def crosses(self) -> bool:
        """Whether it steps across singular positions (crossing.py): it remembers nothing but the field."""
        return self.adaptive and self.memory == 1

    def scratch(self, dim: int, numbers: int) -> tuple[int, int]:
        """Rows of K on a group of this dimension, whose elements have so many numbers, and how many of them are kept.

        Of a method that crosses singular positions its own rows are the last.
        """
        noted = crossing_rows(dim, numbers) if self.crosses else 0
        return self.own_rows(dim) + (1 + 2 * noted if self.crosses else 0), count(self.memory, dim) + noted

    def own_rows(self, dim: int) -> int:
        """Return how many rows of K a step may use."""
        stages = int(self.coefficients().shape[2])
        return count(self.rows, dim) or (stages + 2 if self.adaptive else max(1, stages))

    def __repr__(self) -> str:
        words = [f"order {self.order}", *sorted(self.properties)]
        if self.adaptive:
            words = [f"order {self.order}({self.lower})", "adaptive", *sorted(self.properties)]
        elif not isinstance(self.table, tuple):
            words.append(f"{self.coefficients().shape[2]} stages")
        return f"<{self.name}: {', '.join(words)}>"


PROPERTIES = frozenset({"symmetric", "symplectic", "momentum", "energy", "stiff", "linear"})


def _rkmk(table: tb.Butcher) -> Method:
    return Method(f"rkmk-{table.order}", table.order, explicit.munthe_kaas, table)


def _product(table: tb.Exponentials) -> Method:
    return Method(table.name, table.order, explicit.exponentials, table)


LieEuler = _product(tb.EULER)
RKMK2, RKMK3, RKMK4, RKMK5 = (_rkmk(t) for t in (tb.MIDPOINT, tb.KUTTA_3, tb.KUTTA_4, tb.DORMAND_PRINCE))
CG3, CG4 = _product(tb.CG_3), _product(tb.CG_4)
CF2, CF3, CF4, CF5 = (_product(t) for t in (tb.CF_2, tb.CF_3, tb.CF_4, tb.CF_5))

Magnus4, Magnus6 = (
    Method(f"magnus-{order}", order, make, rows=rows, properties=frozenset({"linear", "symmetric"}))
    for order, make, rows in ((4, magnus.magnus_4, 2), (6, magnus.magnus_6, 5))
)


def composition(method: Method, weights: tuple[float, ...], name: str, order: int) -> Method:
    """Steps of a symmetric method with these shares of h, one after another, as one method of a higher order.

    It keeps what the method keeps, but for stiffness: some of its parts go back in time.
    """
    if "symmetric" not in method.properties or method.memory:
        raise InputError(
            f"composition '{name}': {method.name} is not a symmetric method without memory; others gain no order so."
        )
    symmetric.check_weights(name, weights, order)
    rows = method.own_rows(0)
    make = symmetric.composed(method.make, rows, weights)
    rows += symmetric.ROWS_OF_AN_ELEMENT
    return replace(method, name=name, order=order, make=make, rows=rows, properties=method.properties - {"stiff"})


_GEOMETRIC = frozenset({"symmetric", "symplectic", "momentum"})
ImplicitMidpoint = Method("midpoint", 2, symmetric.midpoint, rows=1, properties=frozenset({"symmetric"}))
Midpoint4 = composition(ImplicitMidpoint, symmetric.SUZUKI_4, "midpoint-4", 4)
Midpoint6 = composition(ImplicitMidpoint, symmetric.KAHAN_LI_6, "midpoint-6", 6)
Verlet = Method("verlet", 2, symmetric.verlet, rows=1, mechanical=True, properties=frozenset({"symmetric"}))
Verlet4 = composition(Verlet, symmetric.SUZUKI_4, "verlet-4", 4)
VariationalExp, VariationalCayley = (
    Method(f"variational-{name}", 2, make, rows=variational.ROWS, mechanical=True, workspaces=2, properties=_GEOMETRIC)
    for name, make in (("exp", variational.variational_exp), ("cayley", variational.variational_cayley))
)
VariationalExp4 = composition(VariationalExp, symmetric.SUZUKI_4, "variational-exp-4", 4)
VariationalCayley6 = composition(VariationalCayley, symmetric.KAHAN_LI_6, "variational-cayley-6", 6)
EnergyMomentum = Method(
    "energy-momentum",
    2,
    conserving.energy_momentum,
    rows=conserving.ROWS,
    mechanical=True,
    workspaces=2,
    properties=frozenset({"symmetric", "energy", "momentum"}),
)
EnergyMomentum4 = composition(EnergyMomentum, symmetric.SUZUKI_4, "energy-momentum-4", 4)


# What equations of a step are solved to if nothing is said, as a share of what changes the motion within the step
# (newton.py (12)).
_TOLERANCE = 1e-5


def generalised_alpha(rho: float = 0.8, tolerance: float = _TOLERANCE) -> Method:
    """Generalised-α whose step leaves the share `rho` of an infinitely stiff oscillation."""
    name, make = _named("generalised-alpha", rho, tolerance), stiff.generalised_alpha
    closed = constrained.generalised_alpha
    return Method(name, 2, make, stiff.spectral(rho, tolerance), make_closed=closed, **_IMPLICIT)


def midpoint_alpha(rho: float = 0.8, tolerance: float = _TOLERANCE) -> Method:
    """The same with forces at one state between the ends of a step: more exact where the motion turns fast."""
    name, make = _named("midpoint-alpha", rho, tolerance), stiff.generalised_alpha
    return Method(name, 2, make, stiff.spectral(rho, tolerance, between=True), **_IMPLICIT)


def index_3_alpha(rho: float = 0.8, tolerance: float = _TOLERANCE) -> Method:
    """`generalised_alpha`, but with constraints on positions alone: speeds then miss theirs by O(h²).  For studies."""
    plain = generalised_alpha(rho, tolerance)
    return replace(plain, name=_named("index-3-alpha", rho, tolerance), make_closed=constrained.index_3)


def _named(family: str, rho: float, tolerance: float) -> str:
    """A name that tells apart what is different: the laboratory's tables go by it."""
    return f"{family}-{rho:g}" + (f"-{tolerance:g}" if tolerance != _TOLERANCE else "")


_IMPLICIT: dict[str, Any] = {
    "rows": stiff.rows,
    "memory": memory,
    "mechanical": True,
    "workspaces": 2,
    "properties": frozenset({"stiff"}),
    "takes_states": True,
    "sticks": True,
    "record": stiff.record,
}
GeneralisedAlpha = generalised_alpha()
MidpointAlpha = midpoint_alpha()
LieBDF2 = Method("lie-bdf-2", 2, stiff.bdf2, (_TOLERANCE,), **_IMPLICIT)
Rosenbrock3 = Method(
    "rosenbrock-3",
    3,
    stiff.rosenbrock_step,
    tb.ROSENBROCK_3,
    rows=stiff.rosenbrock_step_rows,
    mechanical=True,
    workspaces=2,
    properties=frozenset({"stiff"}),
    make_coupled=stiff.coupled_rosenbrock_step,
    takes_states=True,
)


def _pair(name: str, pair: tb.Pair) -> Method:
    return Method(name, pair.method.order, explicit.embedded, pair, memory=1, lower=pair.lower.order)


DormandPrince54 = _pair("rkmk-54", tb.DORMAND_PRINCE_54)
BogackiShampine32 = _pair("rkmk-32", tb.BOGACKI_SHAMPINE_32)
Rosenbrock32 = replace(
    Rosenbrock3,
    name="rosenbrock-32",
    make=stiff.rosenbrock,
    rows=stiff.rosenbrock_rows,
    memory=1,
    make_coupled=stiff.coupled_rosenbrock,
    lower=2,
)


def adaptive_alpha(rho: float = 0.8) -> Method:
    """Return generalised-α, forces at both ends of a step (stiff.py (1)), with steps of its own choice."""
    return _alpha(f"adaptive-alpha-{rho:g}", stiff.spectral(rho), constrained.adaptive_alpha)


def adaptive_midpoint(rho: float = 0.6) -> Method:
    """Return generalised-α, forces at one state between (stiff.py (1′)), with steps of its own choice."""
    return _alpha(f"adaptive-midpoint-{rho:g}", stiff.spectral(rho, between=True), None)


# The tolerance of what a method that chooses its steps solves, as a share of the tolerance of a step: corrections
# shrink by far more than is asked for, and are judged before the last of them.
_SOLVED = 0.01


def _alpha(name: str, coefficients: tuple[float, ...], closed: Any) -> Method:
    *shares, _, _, _ = coefficients
    own: dict[str, Any] = {
        "rows": stiff.adaptive_rows,
        "memory": stiff.ADAPTIVE_MEMORY,
        "record": stiff.adaptive_record,
        "make_closed": closed,
        "lower": 2,
        "exponent": 1.5,
        # where friction acts between the ends of a step, the error of a step in which a joint sticks is not known
        "sticks": closed is not None,
    }
    return Method(name, 2, stiff.adaptive_alpha, (*shares, 0.0, _SOLVED), **{**_IMPLICIT, **own})


AdaptiveAlpha, AdaptiveMidpoint = adaptive_alpha(), adaptive_midpoint()

#: Methods that make steps of equal size.
ALL_INTEGRATORS: tuple[Method, ...] = (
    *(LieEuler, RKMK2, RKMK3, RKMK4, RKMK5, CG3, CG4, CF2, CF3, CF4, CF5),
    *(Magnus4, Magnus6, ImplicitMidpoint, Midpoint4, Midpoint6, Verlet, Verlet4),
    *(VariationalExp, VariationalCayley, VariationalExp4, VariationalCayley6, EnergyMomentum, EnergyMomentum4),
    *(GeneralisedAlpha, MidpointAlpha, LieBDF2, Rosenbrock3),
)
#: Methods that choose their steps.
ALL_ADAPTIVE: tuple[Method, ...] = (DormandPrince54, BogackiShampine32, Rosenbrock32, AdaptiveAlpha, AdaptiveMidpoint)
#: All of them by name.
METHODS: dict[str, Method] = {method.name: method for method in (*ALL_ADAPTIVE, *ALL_INTEGRATORS)}


def check_method(problem: Problem, method: Method) -> None:
    """Whether the method can be used on the problem."""
    if method.mechanical and problem.system is None:
        raise InputError(
            f"problem '{problem.name}': method {method.name} is for mechanical systems, and this is only a field.\n"
            "  Make the problem with Problem.of(system, q, v, t_end), or take another method."
        )
    if "linear" in method.properties:
        check_linear(problem, method.name)
    states = problem.system.states if problem.system is not None else ()
    if states and method.mechanical and not method.takes_states:
        raise InputError(
            f"problem '{problem.name}': method {method.name} cannot be used: {', '.join(dict.fromkeys(states))} "
            f"{'has' if len(set(states)) == 1 else 'have'} first-order states, which it does not treat.\n"
            "  Take generalised-α, lie-bdf-2 or rosenbrock-3, or a method for fields: rkmk-4, rkmk-54 (adaptive)."
        )
    sticking = problem.system.sticking if problem.system is not None else ()
    if sticking and not method.sticks:
        raise InputError(
            f"problem '{problem.name}': method {method.name} cannot be used: {', '.join(sticking)} "
            f"{'has' if len(sticking) == 1 else 'have'} the exact law of dry friction (smoothing is 0).\n"
            "  Take generalised-α, midpoint-α, lie-bdf-2 or adaptive-alpha-0.8, or none, so that the program\n"
            "  chooses; or give the element a smoothing, a speed such as 1e-3."
        )
    closed = problem.system is not None and problem.system.constrained
    if closed and method.mechanical and method.make_closed is None:
        raise InputError(
            f"problem '{problem.name}': method {method.name} does not know constraints.\n"
            "  Take generalised-α, or one for fields, which is projected: rkmk-4, rkmk-54 (adaptive), midpoint."
        )
    if "energy" in method.properties and problem.system is not None:
        check_conservative(problem, problem.system, method.name)
