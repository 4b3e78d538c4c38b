"""Modes over a parameter: Campbell diagrams and root loci, whose branches are followed from value to value.

Modes at neighbouring values are matched by the assignment of the least sum of costs (Kuhn and Munkres)

    c_ij = 1 − MAC(φ_i, φ_j) + |λ_j − λ̂_i| / (|λ_j| + |λ̂_i|),                                                   (1)

MAC being weighted by the mass matrix (modes.py), and λ̂ what the two values before let expect, so that branches cross
where shapes are different and veer where they exchange them.  Of a pair of eigenvalues either may go on: seen from a
rotor, a whirl that it overtakes passes through zero, and has a gap where it is a rigid motion.  A branch ends where its
mode does, as where two real eigenvalues become a pair.  Where the shape of a mode has less than half in common with its
successor, values are too far apart to be sure, and the place is listed; modes with the same eigenvalue count as one for
that.

A rotor of the speed Ω is critical where a branch meets its excitation, ω = kΩ.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from liegeo._lazy import late
from liegeo.analysis.eigenmodes import DAMPED
from liegeo.analysis.modes import Modes, mac, modes, percent
from liegeo.errors import InputError
from liegeo.model import notebook
from liegeo.model.checks import suggest
from liegeo.model.model import Model
from liegeo.model.standin import HasModel, as_model
from liegeo.results.tables import write_whole
from liegeo.statics import INITIAL, STEADY, operating_point

if TYPE_CHECKING:
    import scipy.interpolate as interpolate
    import scipy.optimize as optimize
    from matplotlib.figure import Figure
else:
    interpolate, optimize = late("scipy.interpolate"), late("scipy.optimize")

Array = NDArray[Any]

#: From where frequencies are seen.
FIXED, ROTATING = "fixed", "rotating"
# The least that successive shapes should have in common; eigenvalues that are the same, as a share.
_COMMON, _SAME = 0.5, 1e-4


class Doubt(NamedTuple):
    """A place where a branch was followed by a shape that has less than half in common with the one before."""

    branch: int
    value: float
    following: float
    mac: float


@dataclass(frozen=True, repr=False)
class Locus:
    """Modes over a parameter: `eigenvalues` (values × branches), NaN where a branch has none; `modes` for each value.

    Eigenvalues are those of `frame`, "fixed" or "rotating"; `rigid` is the number of rigid motions for each value,
    which are no branches; `speed` the rate of rotation for each value, zeros if nothing turns; `whirl` (values ×
    branches) is 1 for forward, −1 for backward whirl, and less where a mode is no circle.
    """

    name: str
    parameter: str
    values: Array
    eigenvalues: Array
    rigid: Array
    speed: Array
    whirl: Array
    frame: str
    modes: tuple[Modes, ...]
    doubts: tuple[Doubt, ...] = ()

    @property
    def frequencies(self) -> Array:
        """Natural frequencies |λ|/2π in Hz, values × branches."""
        return np.abs(self.eigenvalues) / (2.0 * np.pi)

    @property
    def damping(self) -> Array:
        """Ratios of critical damping, values × branches."""
        size = np.abs(self.eigenvalues)
        return np.divide(-self.eigenvalues.real, size, out=np.where(np.isnan(size), np.nan, 0.0), where=size > 0.0)

    def __len__(self) -> int:
        return self.eigenvalues.shape[1]

    def __repr__(self) -> str:
        span = f"{self.parameter} from {self.values[0]:.6g} to {self.values[-1]:.6g}"
        turning = f", {self.frame} frame" if self.speed.any() else ""
        doubts = f", {len(self.doubts)} doubtful steps" if self.doubts else ""
        return f"<{notebook.count(len(self), 'branch', 'branches')} of '{self.name}' over {span}{turning}{doubts}>"

    def _repr_html_(self) -> str:
        head = (self.parameter, *(f"branch {k} (Hz), damping (%)" for k in range(len(self))))
        rows = [
            (f"{value:.6g}", *("" if np.isnan(f) else f"{f:.5g}, {percent(d)}" for f, d in zip(fs, ds, strict=True)))
            for value, fs, ds in zip(self.values, self.frequencies, self.damping, strict=True)
        ]
        return notebook.table(repr(self).strip("<>"), head, rows)

    def critical_speeds(self, order: float = 1.0) -> Array:
        """Return the rates Ω, in rad/s, at which the frequency of some branch is `order` times Ω, in rising order.

        They are interpolated between the values, by cubic splines where a branch has four values or more.
        """
        if not np.ptp(self.speed) > 0.0:
            raise InputError(
                f"critical_speeds: nothing turns faster or slower over '{self.parameter}', expected a speed of "
                "rotation as the parameter."
            )
        place = np.argsort(self.speed)
        speed, found = self.speed[place], []
        for branch in np.abs(self.eigenvalues.imag[place].T):
            there = ~np.isnan(branch)
            x, y = speed[there], branch[there] - order * speed[there]
            if len(x) < 2:
                continue
            if len(x) > 3:
                roots = interpolate.CubicSpline(x, y).roots(extrapolate=False)
            else:
                change = np.flatnonzero(y[:-1] * y[1:] <= 0.0)
                roots = x[change] - y[change] * (x[change + 1] - x[change]) / (y[change + 1] - y[change])
            # a mode that turns along at all speeds, at 0, is no resonance
            found += [float(root) for root in np.atleast_1d(roots) if root > 0.0]
        return np.array(sorted(found))

    def plot(self, file: str | os.PathLike[str] | None = None, orders: Sequence[float] = (1.0, 2.0)) -> Figure:
        """Draw frequencies and damping over the parameter (Campbell's diagram); written to `file`, if given.

        If the parameter is a speed of rotation, `orders` are drawn, as dashed lines at so many times its frequency.
        """
        from liegeo.analysis import plots

        return _written(plots.campbell(self, orders), file)

    def plot_roots(self, file: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the branches in the plane of eigenvalues (root locus): they begin at a cross and end at a dot."""
        from liegeo.analysis import plots

        return _written(plots.roots(self), file)


def _written(figure: Figure, file: str | os.PathLike[str] | None) -> Figure:
    from liegeo.results.plots import FORMATS

    if file is None:
        return figure
    suffix = Path(file).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"plot: '{file}' ends in '{suffix}', expected one of {', '.join(FORMATS)}.")
    write_whole(file, lambda out: figure.savefig(out, format=suffix[1:], dpi=150))
    return figure


def locus(
    model: Model | HasModel | Callable[[float], Modes],
    parameter: str,
    values: ArrayLike,
    *,
    about: str | None = None,
    number: int | None = None,
    lock: Iterable[str] = (),
    inputs: Any = None,
    kind: str = DAMPED,
    friction: str | None = None,
    frame: str = FIXED,
) -> Locus:
    """Return the modes of a model for many values of a parameter, as branches.

    - `model`: a mechanism, a compiled model, or a function that returns the Modes for a value.
    - `parameter`: a parameter of the mechanism's file, or a value in it as in `lg.load(set=…)`; or the speed of a joint
      that turns or slides steadily, as "spin.speed".
    - `values`: of the parameter, in SI, rising or falling.
    - `about`: "initial" (the initial state), "rest" (its equilibrium) or "steady" (the initial speeds are kept); if not
      given, "steady" for the speed of a joint, else "initial".
    - `number`: how many branches are kept, those of the slowest modes; `lock`: joints that are held.
    - `frame`: "fixed" or "rotating", from where modes of rotors are seen.
    - `inputs`, `kind`, `friction`: as in `modes`.
    """
    points = np.asarray(values, dtype=np.float64)
    ordered = points.ndim == 1 and len(points) > 1 and np.isfinite(points).all()
    if not ordered or not (np.all(np.diff(points) > 0.0) or np.all(np.diff(points) < 0.0)):
        raise InputError(f"locus: values are {values!r}, expected two or more numbers that rise, or that fall.")
    if frame not in (FIXED, ROTATING):
        raise InputError(f"locus: frame is {frame!r}, expected 'fixed' or 'rotating'.")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1):
        raise InputError(f"locus: number is {number!r}, expected a whole number ≥ 1.")
    given: Any = model
    if callable(given) and not isinstance(given, Model | HasModel):
        make: Callable[[float], Modes] = given
    else:
        make = _maker(model, parameter, about, tuple(lock), {"inputs": inputs, "kind": kind, "friction": friction})
    found = tuple(make(float(value)) for value in points)
    for value, each in zip(points, found, strict=True):
        if not isinstance(each, Modes):
            raise InputError(f"locus: the function returns {each!r} for {value:g}, expected Modes.")
    return _follow(parameter, points, found, frame, number)


def _maker(
    model: Any, parameter: str, about: str | None, lock: tuple[str, ...], options: dict[str, Any]
) -> Callable[[float], Modes]:
    """Return the function from a value to modes."""
    compiled = as_model(model, "locus")
    owner, _, what = parameter.rpartition(".")
    known = getattr(model, "parameters", {})
    joints = {name for name, place in (compiled.group.v if compiled.group is not None else {}).items()
              if name in compiled.joints and place.stop - place.start == 1}  # fmt: skip
    if what == "speed" and owner in joints and parameter not in known:

        def at_speed(value: float) -> Modes:
            begin = model.state() if isinstance(model, HasModel) else None
            speeds = {owner: value}
            state = operating_point(
                compiled, begin, STEADY if about is None else about, hold=lock, inputs=options["inputs"], speeds=speeds
            )
            return modes(compiled.lock(*lock) if lock else compiled, state, **options)

        return at_speed
    if not hasattr(model, "changed"):
        offered = [f"{joint}.speed" for joint in sorted(joints)]
        raise InputError(
            f"locus: '{parameter}' is no speed of a joint of {compiled!r}.{suggest(parameter, offered)}\n"
            "  Other parameters are those of mechanisms from model files; or give a function from a value to Modes."
        )

    def changed(value: float) -> Modes:
        mechanism = model.changed({parameter: value})
        one = mechanism.compile()
        state = operating_point(
            one, mechanism.state(), INITIAL if about is None else about, hold=lock, inputs=options["inputs"]
        )
        return modes(one.lock(*lock) if lock else one, state, **options)

    return changed


class _Step(NamedTuple):
    """A mode of a branch: which value, which mode, and whether it or its complex conjugate goes on."""

    value: int
    mode: int
    conjugate: bool


def _follow(parameter: str, values: Array, found: tuple[Modes, ...], frame: str, number: int | None) -> Locus:
    """Return the branches of (1)."""
    fixed = [each.fixed() for each in found]
    seen = [
        ground.eigenvalues if frame == FIXED else each.eigenvalues for each, ground in zip(found, fixed, strict=True)
    ]
    branches = [[_Step(0, i, False)] for i in range(found[0].rigid, len(found[0]))]
    doubts: list[Doubt] = []
    for k in range(1, len(found)):
        after = found[k]
        # those of the value before, and those that were rigid there
        alive = [
            branch
            for branch in branches
            if all(found[j].rigid > found[branch[-1].value].rigid for j in range(branch[-1].value + 1, k))
        ]
        columns = list(range(after.rigid, len(after)))
        # what they have in common with the next modes, and with their conjugates, which are others if they whirl
        common = {
            j: (mac(found[j], after), mac(found[j], dataclasses.replace(after, shapes=after.shapes.conj())))
            for j in {branch[-1].value for branch in alive}
        }
        expected, steps = _expected(alive, found, values, k)
        costs = np.full((2, len(alive), len(columns)), np.inf)
        for conjugate in (False, True):
            there = after.eigenvalues[columns]
            there = there.conj() if conjugate else there
            size = np.abs(expected)[:, None] + np.abs(there)[None] + 2.0 * steps[:, None]
            far = np.abs(expected[:, None] - there[None]) / np.where(size > 0.0, size, 1.0)
            for i, branch in enumerate(alive):
                last = branch[-1]
                costs[int(conjugate), i] = (
                    far[i] + 1.0 - common[last.value][last.conjugate != conjugate][last.mode, columns]
                )
        first, second = optimize.linear_sum_assignment(costs.min(axis=0))
        for i, j in zip(first, second, strict=True):
            conjugate, last = bool(costs[1, i, j] < costs[0, i, j]), alive[i][-1]
            both = common[last.value][last.conjugate != conjugate]
            shared = _shared(both, found[last.value], after, last.mode, columns[j])
            alive[i].append(_Step(k, columns[j], conjugate))
            if shared < _COMMON:
                place = next(n for n, branch in enumerate(branches) if branch is alive[i])
                doubts.append(Doubt(place, float(values[last.value]), float(values[k]), shared))
        taken = {columns[j] for j in second}
        branches += [[_Step(k, i, False)] for i in columns if i not in taken]
    out = np.full((len(values), len(branches)), complex(np.nan, np.nan))
    whirl = np.zeros(out.shape)
    for b, branch in enumerate(branches):
        for step in branch:
            out[step.value, b] = seen[step.value][step.mode]
            whirl[step.value, b] = fixed[step.value].whirl[step.mode]
    order = np.argsort(np.nanmin(np.abs(out), axis=0), kind="stable")[:number] if len(branches) else np.zeros(0, int)
    place_of = {int(b): k for k, b in enumerate(order)}
    kept = [doubt._replace(branch=place_of[doubt.branch]) for doubt in doubts if doubt.branch in place_of]
    speed = np.array([_speed(each) for each in found])
    rigid = np.array([each.rigid for each in found])
    name = found[0].model.tree.name
    return Locus(name, parameter, values, out[:, order], rigid, speed, whirl[:, order], frame, found, tuple(kept))


def _expected(alive: list[list[_Step]], found: tuple[Modes, ...], values: Array, k: int) -> tuple[Array, Array]:
    """Return the eigenvalues that the last two of each branch let expect, and how far they are from the last."""

    def value(step: _Step) -> complex:
        number = complex(found[step.value].eigenvalues[step.mode])
        return number.conjugate() if step.conjugate else number

    last = np.array([value(branch[-1]) for branch in alive], dtype=complex)
    ahead = last.copy()
    for i, branch in enumerate(alive):
        if len(branch) > 1:
            here, there = values[branch[-1].value], values[branch[-2].value]
            ahead[i] += (values[k] - here) / (here - there) * (last[i] - value(branch[-2]))
    return ahead, np.abs(ahead - last)


def _shared(common: Array, before: Modes, after: Modes, i: int, j: int) -> float:
    """Return what shapes have in common, modes with the same eigenvalue being one."""
    a, b = before.eigenvalues, after.eigenvalues
    same = [np.flatnonzero(np.abs(each - each[n]) <= _SAME * abs(each[n])) for each, n in ((a, i), (b, j))]
    return float(max(common[i, same[1]].sum(), common[same[0], j].sum()))


def _speed(found: Modes) -> float:
    """Return the rate at which the fastest joint turns."""
    if found.model.group is None or not found.state.v.any():
        return 0.0
    rates = [0.0]
    for joint in found.model.tree.joints:
        place = found.model.group.v.get(joint.name)
        if place is not None:
            turning = np.any(joint.screws()[:, :3] != 0.0, axis=1)
            rates.append(float(np.linalg.norm(found.state.v[place][turning])))
    return max(rates)


__all__ = ["Doubt", "Locus", "locus"]
