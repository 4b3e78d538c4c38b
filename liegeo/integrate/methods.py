"""Methods by name, and what runs one on a problem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import calls, conserving, constrained, explicit, magnus, stiff, symmetric, variational
from liegeo.integrate import tableau as tb
from liegeo.integrate.calls import Scratch, data_of, loop_arguments
from liegeo.integrate.checks import check_conservative, check_linear
from liegeo.integrate.explicit import Operations, operations
from liegeo.integrate.newton import NewtonRecord, memory, with_sizes
from liegeo.integrate.problems import Breaks, Dynamics, Problem, Trajectory
from liegeo.lie import Product
from liegeo.status import WANTED, explain

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
    tableau or plain numbers.  A step may use `rows` of K (a tableau's stages, if not given); the first `memory` of them
    stay from step to step, all zero before the first; both are numbers or functions of the number of speeds.
    `workspaces` is how many times the system's scratch it needs.  `properties` are words of PROPERTIES.  `make_closed`
    is what makes the step of a mechanical method for systems with constraints, if it knows them; methods for fields
    are projected.  `make_coupled` takes the place of `make` for systems that are `coupled` (problems.System).  A
    mechanical method that `takes_states` treats first-order states too; methods for fields always do.  `record` is the
    row of K from which a method that uses Newton's method keeps its record (newton.py).  Mechanical methods find the
    system's sizes behind their coefficients, if they have any.  A method of one's own needs no more.
    """

    name: str
    order: int
    make: Callable[[Operations, Any, bool], Any]
    table: tb.Butcher | tb.Exponentials | tb.Rosenbrock | tuple[float, ...] = ()
    rows: Rows = 0
    memory: Rows = 0
    mechanical: bool = False
    workspaces: int = 1
    properties: frozenset[str] = frozenset()
    make_closed: Callable[[Operations, Any, bool], Any] | None = None
    make_coupled: Callable[[Operations, Any, bool], Any] | None = None
    takes_states: bool = False
    record: Rows | None = None

    def __post_init__(self) -> None:
        unknown = self.properties - PROPERTIES
        if unknown:
            raise InputError(
                f"method '{self.name}': no such property: {', '.join(sorted(unknown))}; "
                f"there are {', '.join(sorted(PROPERTIES))}."
            )

    @property
    def coefficients(self) -> Array:
        """(s + 1) × rows × s of a tableau; plain numbers as 1 × 1 × n."""
        if isinstance(self.table, tb.Exponentials | tb.Rosenbrock):
            return self.table.coefficients
        if isinstance(self.table, tb.Butcher):
            return np.concatenate([self.table.matrix, [self.table.b]])[:, np.newaxis, :]
        return np.array(self.table, dtype=np.float64).reshape(1, 1, -1)

    def scratch(self, dim: int) -> tuple[int, int]:
        """Rows of K on a group of this dimension, and how many of them are kept."""
        rows = count(self.rows, dim) or max(1, int(self.coefficients.shape[2]))
        return rows, count(self.memory, dim)

    def __repr__(self) -> str:
        words = [f"order {self.order}", *sorted(self.properties)]
        if not isinstance(self.table, tuple):
            words.append(f"{self.coefficients.shape[2]} stages")
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
    rows, _ = method.scratch(0)
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

ALL_INTEGRATORS: tuple[Method, ...] = (
    *(LieEuler, RKMK2, RKMK3, RKMK4, RKMK5, CG3, CG4, CF2, CF3, CF4, CF5),
    *(Magnus4, Magnus6, ImplicitMidpoint, Midpoint4, Midpoint6, Verlet, Verlet4),
    *(VariationalExp, VariationalCayley, VariationalExp4, VariationalCayley6, EnergyMomentum, EnergyMomentum4),
    *(GeneralisedAlpha, MidpointAlpha, LieBDF2, Rosenbrock3),
)


def check_method(problem: Problem, method: Any) -> None:
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
    closed = problem.system is not None and problem.system.constrained
    if closed and method.mechanical and method.make_closed is None:
        raise InputError(
            f"problem '{problem.name}': method {method.name} does not know constraints.\n"
            "  Take generalised-α, or one for fields, which is projected: rkmk-4, rkmk-54 (adaptive), midpoint."
        )
    if "energy" in method.properties and problem.system is not None:
        check_conservative(problem, problem.system, method.name)


class Stepper:
    """A method on a problem: its compiled loop, how many steps are done, where it is (y), and its memory.

    `advance` moves it on.  `done`, y and memory are all there is: put back, they give the same bits again.
    """

    def __init__(self, problem: Problem, method: Method) -> None:
        check_method(problem, method)
        self.problem, self.method = problem, method
        group, system = problem.group, problem.system
        self._loop, used = compile_loop(problem, method)
        self._layout = group.layout if isinstance(group, Product) else np.zeros((0, 0), np.int64)
        self._record = None if method.record is None else count(method.record, group.dim)
        self._coefficients = with_sizes(method, method.coefficients, system)
        # a loop that has run need not be asked for
        new = getattr(self._loop, "entries", None) == {}
        beside = [(self._loop, loop_arguments(self._layout, self._coefficients, group.element_shape))] if new else []
        self._I, self._F, W = data_of(system, method.workspaces, used, *beside)
        rows, self._kept = method.scratch(group.dim)
        self._scratch = Scratch(method, W, rows, group.dim)
        self._u = np.empty((2, group.dim))
        self._Y, self._end = np.empty(group.element_shape), np.empty(group.element_shape)
        self._origin, self._h, self.done = float(problem.t_start), 0.0, 0
        self.y = np.array(problem.start, dtype=np.float64)
        self._breaks = system.breaks if system is not None else Breaks()
        self._breaks.limit(self._F, self._origin)

    def begin(self, t: float) -> None:
        """Begin a piece of the motion at t: what drives the system has jumped, and what a method remembers is over."""
        self._breaks.limit(self._F, t)
        self.memory[:] = 0.0

    @property
    def memory(self) -> Array:
        """What the method keeps from step to step; a view."""
        return self._scratch.K[: self._kept]

    @property
    def newton(self) -> NewtonRecord:
        """What Newton's method has done since this was made, or since `newton` was deleted."""
        return NewtonRecord.read(self._scratch.K, self._record)

    @newton.deleter
    def newton(self) -> None:
        NewtonRecord.reset(self._scratch.K, self._record)

    @property
    def t(self) -> float:
        return self._origin + self.done * self._h

    def advance(self, h: float, n: int, start: float | None = None) -> int:
        """n steps of h from t, or from the time `start`; returns a status.

        After a failure t and y are where the last good step ended.
        """
        return self.record(h, n, start, 0)[1]

    def record(self, h: float, n: int, start: float | None = None, kept: int | None = None) -> tuple[Array, int]:
        """The same, and the ends of the steps."""
        if start is not None or h != self._h:
            # Times are counted from here, so that they do not depend on how many steps are made at once.
            self._origin, self.done = self.t if start is None else start, 0
            self._h = h
        ends = np.empty((n if kept is None else kept, *self.problem.group.element_shape))
        scratch = self._scratch.W, self._scratch.K, self._u, self._Y, self._end
        total, status = 0, WANTED
        while status == WANTED:
            data = self._layout, self._I, self._F, self._coefficients, self._origin, self.y, h, self.done, n - total
            done, status = self._loop(*data, *scratch, ends[total:])
            total += int(done)
            self.done += int(done)
            if status == WANTED and self.problem.system is not None:
                self._I = calls.with_derivatives(self._I, self.problem.system)
        self._scratch.check()
        return ends[:total], int(status)


def solve(problem: Problem, method: Method, steps: int, save: int | None = None) -> Trajectory:
    """Equal steps from start to end; `save` of them are kept, evenly, besides the start (all, if not given).

    If a step fails the error says when and why, and has the trajectory so far as `trajectory`.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"solve: steps is {steps!r}, expected a whole number ≥ 1.")
    kept = steps if save is None else save
    if kept < 1 or steps % kept:
        raise InputError(f"solve: save is {save!r}, expected a divisor of steps ({steps}).")
    stepper = Stepper(problem, method)
    h, n = (problem.t_end - problem.t_start) / steps, steps // kept
    times, out = [float(problem.t_start)], [stepper.y.copy()]
    for _ in range(kept):
        status = stepper.advance(h, n)
        if status:
            why = explain(problem.system, status, stepper.y, problem.start)
            raise IntegrationError(
                f"problem '{problem.name}', {method.name}: after t = {stepper.t:.6g}, {why}.\n"
                "  Take more steps, or look for a singularity of the field.",
                Trajectory(np.array(times), np.stack(out)),
            )
        times.append(stepper.t)
        out.append(stepper.y.copy())
    return Trajectory(np.array(times), np.stack(out))


def compile_loop(problem: Problem, method: Method) -> Made:
    """The loop of a method on a problem, compiled if the field is; one for all mechanical systems."""
    given = given_to(problem, method.mechanical)
    return _compile(
        operations(problem.group), maker(problem, method), given, problem.compiled, closed_by(problem, method)
    )


@functools.lru_cache(maxsize=256)
def _compile(group: Operations, make: Callable[..., Any], given: Any, compiled: bool, closed: Any) -> Made:
    return made(make, group, given, compiled, explicit.run, closed)


class Made(NamedTuple):
    """A compiled loop, and which kernels of a system it calls."""

    loop: Callable[..., Any]
    used: frozenset[str]


def made(
    make: Callable[..., Any],
    group: Operations,
    given: Any,
    compiled: bool,
    loop: Callable[..., Any],
    closed: Dynamics | None,
    **more: Any,
) -> Made:
    """The loop around what `make` makes; what leaves constraints is brought back with the kernels `closed`.

    `more` is for the loop.
    """
    used = {"acceleration"}
    if isinstance(given, Dynamics):
        given = calls.Recorder(given)
        used = given.used
    step = make(group, given, compiled)
    if closed is not None:
        used.add("closing")
        step = explicit.projected(step, group, closed, compiled)
        if loop is explicit.adaptive:
            step = explicit.renewed(step, given, compiled)
    return Made(loop(step, compiled, **more), frozenset({*used, "acceleration"}))


def maker(problem: Problem, method: Any) -> Callable[..., Any]:
    """What makes the step of a method on a problem."""
    system = problem.system
    if not method.mechanical or system is None:
        return method.make
    if system.constrained:
        return method.make_closed
    return method.make_coupled or method.make if system.coupled else method.make


def closed_by(problem: Problem, method: Any) -> Dynamics | None:
    """The kernels that bring a problem back to its constraints, if it has any and the method does not know them."""
    if problem.system is None or not problem.system.constrained or method.mechanical:
        return None
    return calls.STUBS if problem.compiled else problem.system.dynamics


def given_to(problem: Problem, mechanical: bool) -> Any:
    """What a method gets beside the group: a field, or the kernels of a system."""
    if problem.system is None:
        return _adapt(problem.field, problem.compiled)
    if mechanical:
        return calls.STUBS if problem.compiled else problem.system.dynamics
    return problem.field


@functools.lru_cache(maxsize=256)
def _adapt(field: Any, compiled: bool) -> Any:
    return explicit.adapt_field(field, compiled)
