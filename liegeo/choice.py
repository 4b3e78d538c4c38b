"""Which method a run takes, and how exact it is, from what was asked for.

The method, if none is given: for a model without elasticity and damping Dormand–Prince 5(4).  Otherwise it and an
implicit method both run some way ahead, and the one that does so at less cost is taken.  Costs are counted, not timed:
the same call makes the same choice on every machine.  Both are then asked for the same accuracy, though the explicit
method, if it is taken, works with its own usual one, which is better.

The implicit method is adaptive generalised-α with forces at one state between the ends of a step, which is nearer where
forces depend on speeds; models with constraints take that with forces at both ends, because constraints hold there.  So
do models with the exact law of dry friction, without a trial: what sticks is at rest where a step ends.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from liegeo.accuracy import Accuracy, size_of, usual_share
from liegeo.errors import InputError
from liegeo.integrate import (
    METHODS,
    RKMK4,
    AdaptiveAlpha,
    AdaptiveMidpoint,
    DormandPrince54,
    GeneralisedAlpha,
    Method,
    Problem,
    Stepper,
)
from liegeo.integrate.stepping import FAILED, FULL, Bound
from liegeo.kernels import layout as at
from liegeo.model.checks import suggest
from liegeo.model.model import Model, State, once_per_model
from liegeo.motion import Drive

# Steps of the first and of the last trial; how many times cheaper the explicit method must be to need no longer one;
# and what a step costs, in evaluations of the dynamics.
_TRIAL, _LONGEST_TRIAL, _CLEARLY = 16, 400, 3.0
_EXPLICIT_COST, _IMPLICIT_COST = 6.0, 5.0

# Tolerances rtol and atol, where one of them is given and the other is not, and in FMUs: of order three and more, and
# of order two.
_TOLERANCES, _OF_ORDER_TWO = (1e-6, 1e-8), (1e-5, 1e-6)


@dataclass(frozen=True)
class Limits:
    """How exact a run is to be: tolerances, if one of them is given, and otherwise an accuracy (liegeo/accuracy.py).

    `span` is the length of the run from this state, in seconds.
    """

    rtol: float | None
    atol: float | None
    max_step: float
    accuracy: Accuracy | None
    span: float
    model: Model
    state: State

    @classmethod
    def of(
        cls,
        model: Model,
        state: State,
        t_end: float,
        rtol: float | None = None,
        atol: float | None = None,
        max_step: float = np.inf,
        accuracy: Any = None,
    ) -> Self:
        if accuracy is not None and (rtol is not None or atol is not None):
            raise InputError(
                f"simulate: accuracy is {accuracy!r} and rtol or atol are given too, expected one or the other.\n"
                "  Leave rtol and atol out to be asked in metres and degrees."
            )
        wanted = None if accuracy is None else Accuracy.of(accuracy)
        return cls(rtol, atol, float(max_step), wanted, max(float(t_end - state.t), 1e-300), model, state)

    @functools.cached_property
    def size(self) -> float:
        """The size of the mechanism in metres; only runs that are judged by it pay for it."""
        return size_of(self.model, self.state)

    @property
    def by_tolerances(self) -> bool:
        return self.rtol is not None or self.atol is not None

    def bound(self, order: int) -> Bound:
        """Return what the error of a run by a method of this order may be; positions count in any case.

        Without them coordinates that turn nothing would be free to go anywhere.
        """
        position = self.size * usual_share(order)
        angle = np.inf
        if self.accuracy is not None:
            position = position if self.accuracy.position is None else self.accuracy.position
            angle = angle if self.accuracy.angle is None else self.accuracy.angle
        share = position / self.size
        return Bound(position, angle, self.span, min(share, angle, 1.0))

    def words(self, method: Method) -> str:
        """Return what tells these limits from others, but for the span, as text."""
        return repr(replace(self, span=1.0).options(method))

    def options(self, method: Method, order: int | None = None) -> dict[str, Any]:
        """Return the arguments of Stepper that a method chooses its steps by; none for one that does not.

        With `order`, the usual accuracy is that of a method of that order.
        """
        if not method.adaptive:
            return {}
        if not self.by_tolerances:
            return {"bound": self.bound(method.order if order is None else order), "max_step": self.max_step}
        rtol, atol = usual_tolerances(method)
        rtol, atol = rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol
        return {"rtol": float(rtol), "atol": float(atol), "max_step": self.max_step}


def choose(model: Model, problem: Problem, drive: Drive, method: Any, step: float | None, limits: Limits) -> Method:
    """Return the method of a run: the one that is given, by itself or by its name, or the one that suits the model."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"simulate: there is no method '{method}'.{suggest(method, list(METHODS))}")
        method = METHODS[method]
    if isinstance(method, Method):
        if limits.accuracy is not None and not method.adaptive:
            raise InputError(
                f"simulate: an accuracy is given, but {method.name} has steps of fixed size and estimates no errors.\n"
                "  Leave the method out, or name one that chooses its steps."
            )
        if method.adaptive and step is not None:
            raise InputError(
                f"simulate: step is {step!r}, but {method.name} chooses its own.\n"
                "  Give rtol and atol, or max_step, or a method of fixed step."
            )
        if not method.adaptive and step is None:
            raise InputError(f"simulate: {method.name} is a method of fixed step; give step=… in seconds.")
        return method
    if method is not None:
        raise InputError(f"simulate: method is {method!r}, expected a method of liegeo.integrate or its name.")
    elastic = _is_elastic(model)
    if step is not None:
        if limits.accuracy is not None:
            raise InputError(
                "simulate: an accuracy and a step are given, expected one of them: steps of fixed size have the error\n"
                "  that they have."
            )
        return GeneralisedAlpha if elastic else RKMK4
    if not elastic or problem.t_end == problem.t_start:
        return DormandPrince54
    if problem.system is not None and problem.system.sticking:
        # the exact law of dry friction: no explicit method solves it
        return AdaptiveAlpha
    implicit = AdaptiveAlpha if model.rows else AdaptiveMidpoint
    ahead = (Stepper(problem, m, **limits.options(m, implicit.order)) for m in (implicit, DormandPrince54))
    with drive.recorded():
        return implicit if _is_cheaper(*ahead) else DormandPrince54


def _is_cheaper(implicit: Stepper, explicit: Stepper) -> bool:
    """Return whether the implicit method gets on for less than the explicit one."""
    n = _TRIAL
    while True:
        # the same stretch of time with both, or as far as the explicit one gets for the same cost
        spent, status = _cost(implicit, n, _IMPLICIT_COST)
        other, both = 0.0, FULL
        while explicit.t < implicit.t and both == FULL and other <= spent:
            more, both = _cost(explicit, 8, _EXPLICIT_COST)
            other += more
        # one that cannot go on was cheap, but is no choice if the other can
        if FAILED in (both, status):
            return both == FAILED
        if explicit.t < implicit.t:
            return True
        if _CLEARLY * other <= spent or n > _LONGEST_TRIAL or status != FULL:
            return other > spent
        n *= 2


def _cost(stepper: Stepper, n: int, per_step: float) -> tuple[float, int]:
    """Make n more steps; return what they cost, and the status after them."""
    piece, status = stepper.advance(most=n)
    return per_step * (len(piece.t) - 1 + piece.rejected), status


@once_per_model
def _is_elastic(model: Model) -> bool:
    """Whether there is anything that can be stiff: modes, joints with springs, dampers or friction, springs between."""
    rows = [at.HEADER + i * at.BODY_I_SIZE for i in range(len(model.bodies))]
    passive = any(model.ints[row + at.PASSIVE] or model.ints[row + at.NM] for row in rows)
    first, n = int(model.ints[at.JOINT_ELEMENTS]), int(model.ints[at.N_JOINT_ELEMENTS])
    # lags and bristles are trusted to be soft
    on_joints = any(model.ints[first + k * at.JE_SIZE + at.JE_N_X] == 0 for k in range(n))
    return bool(passive or on_joints or model.ints[at.N_ELEMENTS])


def usual_tolerances(method: Method) -> tuple[float, float]:
    """Return rtol and atol of a run that names one of them, or of an FMU that names none."""
    return _TOLERANCES if method.order > 2 else _OF_ORDER_TWO
