"""The laboratory: orders, work against precision, drift of invariants, for any methods on any problems.

A run's error is the distance |Y_ref ⊖ Y| on the group at the end (radians and the state's own units together).

The observed order is the slope of log(error) by least squares over log(step), of the finest three runs that are neither
rough nor lost in round-off,

    floor < error < 0.1,      floor = 5·10⁻¹³ max(1, |Y_ref|), or ten times what is not known of the reference;      (1)

of the finest two, if the slope still changes by more than a half from one pair to the next.

CPU seconds are of the second run at the earliest, so that nothing is compiled in them; short runs are repeated and the
fastest counts.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from liegeo.analysis.problems import Case, as_case
from liegeo.analysis.results import (
    Change,
    DriftStudy,
    Order,
    OrderStudy,
    Run,
    Skipped,
    Work,
    WorkPrecision,
)
from liegeo.errors import InputError, IntegrationError
from liegeo.integrate import RKMK5, Method, Problem, Stepper, solve, solve_adaptive
from liegeo.integrate.tableau import Butcher, Exponentials, Pair
from liegeo.lie import Group, Product, R

Array = NDArray[np.float64]
Tell = Callable[[str], None]

TOLERANCES = tuple(10.0**-k for k in range(3, 13))
# Of (1).
_FLOOR, _CEILING, _POINTS, _BEND = 5e-13, 0.1, 3, 0.5
# Runs shorter than this are repeated, at most so many times.
_SHORT, _REPEATS = 0.05, 3
_NAN = float("nan")


def order_study(
    methods: Iterable[Method] | Method,
    cases: Iterable[Any] | Any,
    steps: Sequence[int] | None = None,
    *,
    progress: Tell | None = None,
) -> OrderStudy:
    """Errors of each method on each case with several numbers of steps (the case's own, if not given), and orders.

    A case is a `Case`, a function that makes one (ALL_CASES), or an `integrate.Problem`.  If a problem has no
    `reference`, runs of rkmk-5 with four and eight times the most steps take its place, and the table says so.
    `progress` is called with a line before each pair; without it a bar is drawn, on terminals only.
    """
    lab = _Lab(methods, cases, _checked_steps(steps))
    rows: list[Run] = []
    orders: list[Order] = []
    for case, method in lab.pairs(progress):
        if method.adaptive:
            lab.skip(case, method, "it chooses its steps itself: see work_precision.")
            continue
        if not lab.can_run(case, method):
            continue
        reference, words, floor = lab.reference(case)
        runs = [_run(case, method, n, reference) for n in lab.steps(case)]
        observed, used = _fit(runs, floor)
        rows += runs
        orders.append(Order(case.name, method.name, method.order, observed, used, words))
    return OrderStudy(rows, lab.skipped, lab.words, orders)


def work_precision(
    methods: Iterable[Method] | Method,
    cases: Iterable[Any] | Any,
    steps: Sequence[int] | None = None,
    tolerances: Sequence[float] = TOLERANCES,
    *,
    progress: Tell | None = None,
) -> WorkPrecision:
    """What each method reaches on each case, and what it costs: with several numbers of steps, or several tolerances.

    `rtol` and `atol` are both the tolerance.  Cases, references and progress are as for `order_study`.
    """
    for tolerance in tolerances:
        if not 0.0 < tolerance < 1.0:
            raise InputError(f"work_precision: tolerances has {tolerance!r}, expected numbers between 0 and 1.")
    lab = _Lab(methods, cases, _checked_steps(steps))
    rows: list[Work] = []
    for case, method in lab.pairs(progress):
        if not lab.can_run(case, method):
            continue
        reference, _, _ = lab.reference(case)
        if method.adaptive:
            rows += [_adaptive_work(case, method, tolerance, reference) for tolerance in tolerances]
        else:
            rows += [_work(case, method, n, reference) for n in lab.steps(case)]
    return WorkPrecision(rows, lab.skipped, lab.words)


def drift(
    methods: Iterable[Method] | Method,
    cases: Iterable[Any] | Any,
    steps: int = 10_000,
    h: float | None = None,
    *,
    tolerance: float = 1e-6,
    samples: int = 200,
    progress: Tell | None = None,
) -> DriftStudy:
    """How the invariants of each case change over `steps` steps of `h` (a middling step of the case, if not given).

    Adaptive methods go as far in time, with `tolerance`.  Each invariant is looked at `samples` times.  Invariants are
    those of the case; a mechanical problem of one's own has its energy.
    """
    for name, value in (("steps", steps), ("samples", samples)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"drift: {name} is {value!r}, expected a whole number ≥ 1.")
    if h is not None and not (np.isfinite(h) and h != 0.0):
        raise InputError(f"drift: h is {h!r}, expected a step other than 0.")
    lab = _Lab(methods, cases, None)
    rows: list[Change] = []
    series: dict[tuple[str, str, str], tuple[Array, Array]] = {}
    for case, method in lab.pairs(progress):
        if not case.invariants:
            lab.skip(case, method, "the case has no invariants.")
            continue
        if not lab.can_run(case, method):
            continue
        span = case.problem.t_end - case.problem.t_start
        step = span / case.steps[len(case.steps) // 2] if h is None else h
        begin = time.process_time()
        if method.adaptive:
            t, y, taken, message = _long_adaptive_run(case.problem, method, steps * step, tolerance, samples)
        else:
            t, y, taken, message = _long_run(case.problem, method, steps, step, samples)
        seconds = time.process_time() - begin
        for name, invariant in case.invariants.items():
            values = invariant(t, y)
            change = values - values[0]
            series[case.name, method.name, name] = t, change
            rows.append(Change(case.name, method.name, name, *_summary(t, change), taken, seconds, message))
    return DriftStudy(rows, lab.skipped, {}, series)


class _Lab:
    """Methods and cases, what was skipped, and the references that had to be made."""

    def __init__(self, methods: Any, cases: Any, steps: tuple[int, ...] | None) -> None:
        self._methods: list[Method] = [methods] if isinstance(methods, Method) else list(methods)
        for method in self._methods:
            if not isinstance(method, Method):
                raise InputError(f"methods: {method!r} is no method, expected integrate.Method.")
        single = isinstance(cases, Case | Problem) or callable(cases)
        self._cases = [as_case(case) for case in ([cases] if single else cases)]
        for kind, named in (("methods", self._methods), ("cases", self._cases)):
            names = [one.name for one in named]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InputError(f"{kind}: '{twice[0]}' is the name of {names.count(twice[0])} of them, expected one.")
        self._steps = steps
        self._references: dict[str, tuple[Array, str, float]] = {}
        self.skipped: list[Skipped] = []

    @property
    def words(self) -> dict[str, str]:
        """By case: where its reference is from, if the problem did not have it."""
        return {name: words for name, (_, words, _) in self._references.items()}

    def steps(self, case: Case) -> tuple[int, ...]:
        return self._steps or case.steps

    def pairs(self, progress: Tell | None) -> Iterator[tuple[Case, Method]]:
        with _telling(progress, len(self._cases) * len(self._methods)) as tell:
            for case in self._cases:
                for method in self._methods:
                    tell(f"{case.name}: {method.name}")
                    yield case, method

    def skip(self, case: Case, method: Method, reason: str) -> None:
        self.skipped.append(Skipped(case.name, method.name, reason))

    def can_run(self, case: Case, method: Method) -> bool:
        """Whether it can; a first tiny run compiles what there is to compile."""
        problem = case.problem
        tiny = replace(problem, t_end=problem.t_start + 1e-6 * (problem.t_end - problem.t_start))
        try:
            if method.adaptive:
                solve_adaptive(tiny, method)
            else:
                solve(tiny, method, 1)
        except InputError as error:
            self.skip(case, method, str(error))
            return False
        except IntegrationError:
            pass
        return True

    def reference(self, case: Case) -> tuple[Array, str, float]:
        """The end of the case, where it is from, and the floor of (1)."""
        if case.name not in self._references:
            self._references[case.name] = self._made(case)
        return self._references[case.name]

    def _made(self, case: Case) -> tuple[Array, str, float]:
        problem = case.problem
        if problem.reference is not None:
            known = np.asarray(problem.reference, dtype=np.float64)
            return known, "", _FLOOR * max(1.0, float(np.abs(known).max()))
        most = max(self.steps(case))
        rough, fine = (solve(problem, RKMK5, k * most, save=1).end for k in (4, 8))
        apart = float(problem.group.distance(fine, rough))
        words = f"reference by rkmk-5 with {8 * most} steps, which is {apart:.1e} from that with {4 * most}."
        return fine, words, max(10.0 * apart, _FLOOR * max(1.0, float(np.abs(fine).max())))


def _checked_steps(steps: Sequence[int] | None) -> tuple[int, ...] | None:
    if steps is None:
        return None
    given = tuple(steps)
    if not given or any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 for n in given):
        raise InputError(f"steps is {list(given)!r}, expected whole numbers ≥ 1.")
    return tuple(sorted({int(n) for n in given}))


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and CPU seconds, the fewest of a few."""
    best, out = np.inf, None
    for _ in range(_REPEATS):
        begin = time.process_time()
        out = run()
        best = min(best, time.process_time() - begin)
        if best > _SHORT:
            break
    return out, float(best)


def _run(case: Case, method: Method, n: int, reference: Array) -> Run:
    problem = case.problem
    step = (problem.t_end - problem.t_start) / n
    try:
        found, seconds = _timed(lambda: solve(problem, method, n, save=1))
        error, message = float(problem.group.distance(found.end, reference)), ""
    except IntegrationError as failure:
        error, seconds, message = _NAN, _NAN, str(failure)
    return Run(case.name, method.name, n, step, error, seconds, message)


def _work(case: Case, method: Method, n: int, reference: Array) -> Work:
    run = _run(case, method, n, reference)
    stages = method.coefficients().shape[2] if isinstance(method.table, Butcher | Exponentials) else _NAN
    return Work(case.name, method.name, _NAN, n, 0, stages * n, run.error, run.seconds, message=run.message)


def _adaptive_work(case: Case, method: Method, tolerance: float, reference: Array) -> Work:
    problem = case.problem
    try:
        found, seconds = _timed(lambda: solve_adaptive(problem, method, rtol=tolerance, atol=tolerance))
    except IntegrationError as failure:
        taken = 0 if failure.trajectory is None else len(failure.trajectory.t) - 1
        return Work(case.name, method.name, tolerance, taken, 0, _NAN, _NAN, _NAN, message=str(failure))
    steps = len(found.t) - 1
    # the last stage of a step is the first of the next
    stages = len(method.table.method.b) - 1 if isinstance(method.table, Pair) else _NAN
    evaluations = 1 + stages * (steps + found.rejected)
    error = float(problem.group.distance(found.end, reference))
    ratio = _weighed(problem.group, found.end, reference) / tolerance
    return Work(case.name, method.name, tolerance, steps, found.rejected, evaluations, error, seconds, ratio)


def _weighed(group: Group, y: Array, reference: Array) -> float:
    """The error as stepping.py (1) weighs it, with atol = rtol = 1: what a tolerance promises."""
    scale = np.full(group.dim, 2.0)
    factors: dict[str, Group] = dict(group.factors) if isinstance(group, Product) else {"": group}
    for name, factor in factors.items():
        if factor.family == R(1).family:
            q, v = (group.q[name], group.v[name]) if isinstance(group, Product) else (slice(None), slice(None))
            scale[v] = 1.0 + np.abs(reference[q])
    return float(np.sqrt(np.mean((group.difference(y, reference) / scale) ** 2)))


def _fit(runs: Sequence[Run], floor: float) -> tuple[float, tuple[int, ...]]:
    """The slope of (1), and the steps of the runs that it comes from."""
    good = [run for run in runs if floor < run.error < _CEILING][-_POINTS:]
    if len(good) < 2:
        return _NAN, ()
    steps, errors = np.log([run.steps for run in good]), np.log([run.error for run in good])
    slopes = np.diff(errors) / np.diff(steps)
    if np.ptp(slopes) > _BEND:
        good, steps, errors = good[-2:], steps[-2:], errors[-2:]
    return -float(np.polyfit(steps, errors, 1)[0]), tuple(run.steps for run in good)


def _long_run(problem: Problem, method: Method, steps: int, h: float, samples: int) -> tuple[Array, Array, int, str]:
    """Times and elements, steps taken, and what went wrong."""
    stepper = Stepper(problem, method)
    stops = np.unique(np.linspace(0, steps, min(samples, steps) + 1).round().astype(int))
    t, y = [stepper.t], [stepper.y.copy()]
    for a, b in zip(stops[:-1].tolist(), stops[1:].tolist(), strict=True):
        if stepper.step(h, b - a, problem.t_start + a * h):
            taken = round((stepper.t - problem.t_start) / h)
            return np.array(t), np.stack(y), taken, f"after t = {stepper.t:.6g}, {stepper.why}."
        t.append(stepper.t)
        y.append(stepper.y.copy())
    return np.array(t), np.stack(y), steps, ""


def _long_adaptive_run(
    problem: Problem, method: Method, span: float, tolerance: float, samples: int
) -> tuple[Array, Array, int, str]:
    message = ""
    try:
        run = solve_adaptive(replace(problem, t_end=problem.t_start + span), method, rtol=tolerance, atol=tolerance)
    except IntegrationError as failure:
        run, message = failure.trajectory, str(failure)
    kept = np.unique(np.linspace(0, len(run.t) - 1, samples + 1).round().astype(int))
    return run.t[kept], run.y[kept], len(run.t) - 1, message


def _summary(t: Array, change: Array) -> tuple[float, float, float]:
    """Largest, at the end, trend."""
    if len(t) < 2 or not np.isfinite(change).all():
        return _NAN, _NAN, _NAN
    return float(np.abs(change).max()), float(change[-1]), float(np.polyfit(t - t[0], change, 1)[0])


@contextlib.contextmanager
def _telling(progress: Tell | None, total: int) -> Iterator[Tell]:
    """The caller's function; or a bar, on terminals; or nothing."""
    console = Console(stderr=True)
    if progress is not None:
        yield progress
    elif not console.is_terminal:
        yield lambda text: None
    else:
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task("", total=total + 1)
            yield lambda text: bar.update(task, advance=1, description=text)
