"""The rows of a constraint of a user's own, by complex steps of its function."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from liegeo._jit import DRIVE_FUNCTION
from liegeo.errors import InputError
from liegeo.kernels import layout as at
from liegeo.model.constraints import Custom
from liegeo.model.model import State

if TYPE_CHECKING:
    from liegeo.model.model import Model

# The step of a complex-step derivative, and that of the difference of two of them.
_STEP, _DIFFERENCE = 1e-40, 1e-5


class CustomRows:
    """What the kernels call at `address`, which stands at `place` in the model's ints.

    It writes φ, its second derivative along v, and ∂φ/∂q.  An exception cannot pass through compiled code: it waits
    until somebody calls `check`.
    """

    def __init__(self, model: Model, constraint: Custom, place: int) -> None:
        self._model, self._constraint, self.place = model, constraint, place
        # by thread: several may simulate one model
        self._errors: dict[int, BaseException] = {}
        self._callback = DRIVE_FUNCTION(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def check(self) -> None:
        error = self._errors.pop(threading.get_ident(), None)
        if error is not None:
            raise error

    def _call(self, t: float, q: Any, v: Any, out: Any) -> int:
        model, n = self._model, self._constraint.n
        model.calculators.depth += 1
        try:
            here, along = (np.ctypeslib.as_array(x, shape=(k,)).copy() for x, k in ((q, model.nq), (v, model.nv)))
            result = np.ctypeslib.as_array(out, shape=(n * (model.nv + 2),))
            result[:n] = self._residual(here).real
            result[n : 2 * n] = 0.0
            # where only the rows are wanted the kernels give any numbers as speeds
            if np.isfinite(along).all() and np.abs(along).max(initial=0.0) < 1e6:
                forth, back = (self._rate(here, sign * _DIFFERENCE, along) for sign in (1.0, -1.0))
                result[n : 2 * n] = (forth - back) / (2.0 * _DIFFERENCE)
            result[2 * n :] = np.stack([self._rate(here, 0.0, e) for e in np.eye(model.nv)], axis=1).ravel()
        except BaseException as error:
            self._errors[threading.get_ident()] = error
            return 1
        finally:
            model.calculators.depth -= 1
        return 0

    def _rate(self, q: Any, s: float, v: Any) -> Any:
        """dφ/ds at q ⊕ s v."""
        assert self._model.group is not None
        return self._residual(self._model.group.retract(q.astype(complex), (s + 1j * _STEP) * v)).imag / _STEP

    def _residual(self, q: Any) -> Any:
        constraint, model = self._constraint, self._model
        at_rest = State(q, np.zeros(model.nv), 0.0, np.zeros(model.nx), model)
        value = np.asarray(constraint.function(model, at_rest))
        if value.size != constraint.n:
            raise InputError(
                f"{constraint.owner}: its function returned {value.size} residuals, expected {constraint.n}."
            )
        return value.reshape(constraint.n)


def connect(model: Model) -> None:
    """Put the addresses of a user's functions, which need the model, into its ints."""
    start = int(model.ints[at.CONSTRAINTS]) + at.C_MORE
    model.custom = tuple(
        CustomRows(model, loop, start + i * at.CONSTRAINT_SIZE)
        for i, loop in enumerate(model.tree.loops)
        if isinstance(loop, Custom)
    )
    if not model.custom:
        return
    ints = model.ints.copy()
    for rows in model.custom:
        ints[rows.place] = rows.address
    ints.setflags(write=False)
    model.ints = ints
