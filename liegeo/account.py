"""The account of a run's energy: what inputs did, what was dissipated, and what is missing.

The energy E(q, v) of a model changes by the power of its inputs, loads and prescribed motions, P_in, less what dampers
and friction dissipate, P_d, both of which kernels/motion.py (2) knows at any state.  Integrated along the motion,

    work = ∫ P_in dt,      dissipated = ∫ P_d dt,      defect = E(end) − E(start) − work + dissipated.            (1)

The defect is zero for the exact motion, so it measures the error of integration; a ruthless model leaves terms of its
equations out that its energy has, and has no defect (NaN).  The integrals follow the steps of the
method, not the samples of the output, and no interval of theirs crosses a jump of the inputs:

- steps that a method chose, of order three or more: two Gauss points in each, between the steps (trajectory.py (1));
- steps that a method of order two chose: the trapezoid rule;
- n equal steps h: the trapezoid rule with the correction of Euler and Maclaurin, h²/12 (P′(start) − P′(end)).     (2)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo import dynamics
from liegeo.errors import LiegeoError
from liegeo.integrate import Stepper, Trajectory
from liegeo.integrate.stepping import DONE, ORIGIN, PLANNED, STEP
from liegeo.kernels import motion, near
from liegeo.model.constraints import Motion
from liegeo.model.model import Model
from liegeo.motion import Drive
from liegeo.results.result import EnergyAccount

Array = NDArray[np.float64]

_GAUSS, _WEIGHTS = np.polynomial.legendre.leggauss(2)
# The share of a step over which a derivative in (2) is a difference.
_NEAR = 1e-3


class Account:
    """Work and dissipation of a run so far."""

    def __init__(self, model: Model, drive: Drive, start: Array) -> None:
        self.model, self.drive = model, drive
        self._held = bool(model.locked.any()) or any(isinstance(loop, Motion) for loop in model.tree.loops)
        self._is_exact = model.tree.fidelity == "full" or not any(
            model.body(i).n_modes for i in range(len(model.bodies))
        )
        self.floats = drive.system.floats.copy()
        self.floats.setflags(write=False)
        self._work = np.full(drive.system.work, np.nan)
        self._kernel = motion.constrained_powers if model.rows else motion.powers
        self._beside = near.constrained_near if model.rows else near.near
        self.start = self.energy(start)
        # ∫ P_in and ∫ P_d; NaN if a function that drives the model could not be asked
        self.sums = np.zeros(2)
        # where a count of equal steps ended that may go on: the time, the state, and the size of the steps
        self.open: tuple[float, Array, float] | None = None

    def energy(self, y: Array) -> float:
        """Return the energy of a state (q, v); NaN of one that has no finite energy, where a run has blown up."""
        try:
            return float(dynamics.balance(self.model, self.model.unpack(y)).energy)
        except LiegeoError:
            return np.nan

    def of(self, end: Array) -> EnergyAccount:
        """Return the account (1) of a run that is at this state."""
        here = self.energy(end)
        work, dissipated = (float(x) for x in self.sums + self._closing())
        defect = here - self.start - work + dissipated if self._is_exact else np.nan
        return EnergyAccount(self.start, here, work, dissipated, defect)

    def add(
        self,
        piece: Trajectory,
        stepper: Stepper,
        stop: tuple[float, Array] | None,
        counts: Sequence[tuple[float, float]] = (),
        goes_on: bool = False,
    ) -> None:
        """Go on over steps that were just made, up to an event, if one ended the run.

        `counts` say from when on equal steps were counted, and their size, where they may begin anew within the piece:
        at instants at which sensors sample.  It `goes_on` if steps of the same count may follow.
        """
        if len(piece.t) < 2:
            return
        if stepper.method.adaptive:
            self._add_chosen(piece, stepper.method.order, stop)
            return
        t, y, control = piece.t, piece.y, stepper.control
        if stop is not None:
            kept = t < stop[0]
            t, y = np.append(t[kept], stop[0]), np.concatenate([y[kept], stop[1][np.newaxis]])
        over = stop is not None or control[DONE] == control[PLANNED]
        counts = [each for each in counts or [(float(control[ORIGIN]), float(control[STEP]))] if each[0] < t[-1]]
        edges = [0, *(int(np.searchsorted(t, origin)) for origin, _ in counts[1:]), len(t) - 1]
        for k, (origin, h) in enumerate(counts):
            part, last = slice(edges[k], edges[k + 1] + 1), k == len(counts) - 1
            begins = bool(t[part][0] == origin)
            if begins and self.open is not None:
                self._sum(self._closing()[np.newaxis])
            self.open = None
            self._add_equal(t[part], y[part], h, begins, bool(not last or (over and not goes_on)))
        if over and goes_on:
            self.open = float(t[-1]), y[-1].copy(), counts[-1][1]

    def _add_chosen(self, piece: Trajectory, order: int, stop: tuple[float, Array] | None) -> None:
        """Go on over steps of a method's own choice."""
        end = piece.t[-1] if stop is None else stop[0]
        i = np.flatnonzero(piece.t[:-1] < end)
        begins, ends = piece.t[i], np.minimum(piece.t[i + 1], end)
        half = 0.5 * (ends - begins)
        if order <= 2:
            y = np.concatenate([piece.y[i], (piece.y[i[-1] + 1] if stop is None else stop[1])[np.newaxis]])
            P = self._powers(np.append(begins, end), y)
            self._sum(half[:, np.newaxis] * (P[:-1] + P[1:]))
            return
        t = (begins + half)[:, np.newaxis] + half[:, np.newaxis] * _GAUSS
        k = np.repeat(i, len(_GAUSS))
        P = self._powers(t.ravel(), piece.between(k, t.ravel())).reshape(len(i), len(_GAUSS), 2)
        self._sum(half[:, np.newaxis] * np.einsum("g,sgp->sp", _WEIGHTS, P))

    def _add_equal(self, t: Array, y: Array, h: float, begins: bool, over: bool) -> None:
        """Go on over the ends of equal steps h; whether the first is where they begin, the last where they are over."""
        P = self._powers(t, y)
        parts = 0.5 * (t[1:] - t[:-1])[:, np.newaxis] * (P[:-1] + P[1:])
        # forward from the beginning, backward from the end
        places, signs = [0] * begins + [-1] * over, [1.0] * begins + [-1.0] * over
        if places:
            beside = self._near(t[places], y[places], _NEAR * h * np.array(signs))
            for place, there in zip(places, beside, strict=True):
                parts[place] += h / (12.0 * _NEAR) * (there - P[place])
        self._sum(parts)

    def _closing(self) -> Array:
        """Return what the end of a count of equal steps adds that is not known to be over."""
        if self.open is None:
            return np.zeros(2)
        t, y, h = np.array([self.open[0]]), self.open[1][np.newaxis], self.open[2]
        near = self._near(t, y, np.array([-_NEAR * h]))[0]
        return np.asarray(h / (12.0 * _NEAR) * (near - self._powers(t, y)[0]))

    def jump(self, before: Array, after: Array) -> None:
        """A prescribed speed jumps: what that takes is work too."""
        if before.tobytes() != after.tobytes():
            self.sums[0] += self.energy(after) - self.energy(before)

    def happened(self, before: Array, after: Array) -> float:
        """An event changed the state: return the energy by it, which is work if it is positive, and else dissipated."""
        change = self.energy(after) - self.energy(before)
        self.sums[0] += max(change, 0.0)
        self.sums[1] += max(-change, 0.0)
        return change

    def _near(self, t: Array, y: Array, dt: Array) -> Array:
        """Return the powers a moment later, or earlier, than these times and states, a row each."""
        scratch = np.empty(self.model.nv + self.model.nx), np.zeros_like(y), np.empty(len(t))
        return self._asked(self._beside, t, y, (dt,), scratch)

    def _powers(self, t: Array, y: Array) -> Array:
        """Return P_in and P_d, a row each; NaN where the model cannot be asked."""
        return self._asked(self._kernel, t, y, (), ())

    def _asked(self, kernel: Any, t: Array, y: Array, more: tuple[Array, ...], scratch: tuple[Array, ...]) -> Array:
        """Return what a kernel writes for times and states, a row each; NaN where the model cannot be asked."""
        out, drive = np.empty((len(t), 2)), self.drive
        system = drive.system
        raised, drive.error = drive.error, None
        if len(system.breaks.times):
            system.breaks.limit(self.floats, float(t[0]))
        data = system.ints, self.floats, np.ascontiguousarray(t), np.ascontiguousarray(y)
        if kernel(*data, *more, self._held, self._work, *scratch, out):
            out[:] = np.nan
        if raised is not None or not isinstance(drive.error, KeyboardInterrupt):
            drive.error = raised
        return out

    def _sum(self, parts: Array) -> None:
        # one after another, so that it does not matter in how many pieces a run is made
        if len(parts) == 1:
            self.sums = self.sums + parts[0]
            return
        self.sums = np.cumsum(np.concatenate([self.sums[np.newaxis], parts]), axis=0)[-1]
