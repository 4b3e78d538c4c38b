"""Kernels of groups as plain Python, for numbers that are no floats: those that are recorded (liegeo/recorded.py).

The same functions run, in the same order of operations; series of small angles are operations of their own, because
the branch that they take belongs to the value.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from liegeo._jit import index
from liegeo.lie.series import half_angle
from liegeo.recorded import HALF_COSINE, HALF_SINE, Recorded, define

define(HALF_COSINE, lambda x: float(half_angle(x)[0]))
define(HALF_SINE, lambda x: float(half_angle(x)[1]))


def _half_angle(x: Any) -> Any:
    if not isinstance(x, Recorded):
        return half_angle(x)
    return x.recorder.apply(HALF_COSINE, x), x.recorder.apply(HALF_SINE, x)


_KNOWN: dict[Any, Callable[..., Any]] = {half_angle: _half_angle}


def _plain(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as a function of Python, which calls others of that kind."""
    if kernel not in _KNOWN:
        function = getattr(kernel, "py_func", kernel)
        names: dict[str, Any] = {"__builtins__": __builtins__}
        # known before what it calls, which may be called alike
        _KNOWN[kernel] = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        for name in function.__code__.co_names:
            if name in function.__globals__:
                names[name] = _seen(function.__globals__[name])
    return _KNOWN[kernel]


class _Module:
    """A module whose kernels are functions of Python."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _seen(getattr(self._module, name))


def _seen(value: Any) -> Any:
    """Return what a kernel as a function of Python sees in the place of a global name."""
    if isinstance(value, types.ModuleType):
        return _Module(value) if value.__name__.startswith("liegeo.") else value
    if value is index:
        return _same
    is_kernel = hasattr(value, "py_func") or (
        isinstance(value, types.FunctionType) and value.__module__.startswith("liegeo.lie")
    )
    return _plain(value) if is_kernel else value


def _same(i: Any) -> Any:
    return i


def run(kernel: Any, arrays: Sequence[NDArray[Any]], batches: Sequence[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return what a kernel gives for arguments with so many leading axes each, over which it goes."""
    batch = np.broadcast_shapes(*(array.shape[:n] for array, n in zip(arrays, batches, strict=True)))
    given = [np.broadcast_to(array, (*batch, *array.shape[n:])) for array, n in zip(arrays, batches, strict=True)]
    out, function = np.empty((*batch, *shape), dtype=object), _plain(kernel)
    out[...] = 0.0
    for place in np.ndindex(*batch):
        function(*(array[place] for array in given), out[place])
    return out
