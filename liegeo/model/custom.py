"""The rows of a constraint of a user's own, by complex steps of its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo.errors import InputError
from liegeo.model.constraints import Custom
from liegeo.model.model import State

if TYPE_CHECKING:
    from liegeo.model.model import Model

# The step of a complex-step derivative, and that of the difference of two of them.
_STEP, _DIFFERENCE = 1e-40, 1e-5


class CustomRows:
    """What the kernels call: φ, its second derivative along v, and ∂φ/∂q, one after another, into `out`."""

    def __init__(self, model: Model, constraint: Custom) -> None:
        self._model, self._constraint = model, constraint
        self.error: BaseException | None = None

    def __call__(self, t: float, q: Any, v: Any, out: Any) -> int:
        model, n = self._model, self._constraint.n
        try:
            at_q, along = (np.ctypeslib.as_array(x, shape=(k,)).copy() for x, k in ((q, model.nq), (v, model.nv)))
            result = np.ctypeslib.as_array(out, shape=(n * (model.nv + 2),))
            result[:n] = self._residual(at_q).real
            forth, back = (self._rate(at_q, sign * _DIFFERENCE, along) for sign in (1.0, -1.0))
            result[n : 2 * n] = (forth - back) / (2.0 * _DIFFERENCE)
            result[2 * n :] = np.stack([self._rate(at_q, 0.0, e) for e in np.eye(model.nv)], axis=1).ravel()
        except BaseException as error:
            self.error = error
            return 1
        return 0

    def _rate(self, q: Any, s: float, v: Any) -> Any:
        """dφ/ds at q ⊕ s v."""
        assert self._model.group is not None
        return self._residual(self._model.group.retract(q.astype(complex), (s + 1j * _STEP) * v)).imag / _STEP

    def _residual(self, q: Any) -> Any:
        constraint = self._constraint
        value = np.asarray(constraint.function(self._model, State(q, np.zeros(self._model.nv))))
        if value.size != constraint.n:
            raise InputError(
                f"{constraint.who}: its function returned {value.size} residuals, expected {constraint.n}."
            )
        return value.reshape(constraint.n)
