"""From a kernel on one element to a compiled loop over a batch, with the checks of its inputs in the same pass.

A loop takes arrays with one leading batch axis.  An input of batch length 1 is used for every element.  It returns −1,
or the index of the first element with an input whose check exceeds `tolerance` (NaN exceeds it too), and stops there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from liegeo._jit import kernel


def make_loop(function: Callable[..., Any], checks: Sequence[Callable[..., Any]], name: str) -> Callable[..., int]:
    """The loop for a kernel with one, two or three inputs and one output; `checks` has one function an input."""
    factories: tuple[Callable[..., Any], ...] = (_loop_1, _loop_2, _loop_3)
    return factories[len(checks) - 1](f"batch.{name}", function, *checks)


def _loop_1(name: str, function: Any, check_a: Any) -> Any:
    @kernel(name=name, nogil=True)
    def loop(a, out, tolerance):
        for i in range(out.shape[0]):
            if not check_a(a[i]) <= tolerance:
                return i
            function(a[i], out[i])
        return -1

    return loop


def _loop_2(name: str, function: Any, check_a: Any, check_b: Any) -> Any:
    @kernel(name=name, nogil=True)
    def loop(a, b, out, tolerance):
        step_a = 0 if a.shape[0] == 1 else 1
        step_b = 0 if b.shape[0] == 1 else 1
        for i in range(out.shape[0]):
            ai, bi = a[step_a * i], b[step_b * i]
            if not check_a(ai) <= tolerance or not check_b(bi) <= tolerance:
                return i
            function(ai, bi, out[i])
        return -1

    return loop


def _loop_3(name: str, function: Any, check_a: Any, check_b: Any, check_c: Any) -> Any:
    @kernel(name=name, nogil=True)
    def loop(a, b, c, out, tolerance):
        step_a = 0 if a.shape[0] == 1 else 1
        step_b = 0 if b.shape[0] == 1 else 1
        step_c = 0 if c.shape[0] == 1 else 1
        for i in range(out.shape[0]):
            ai, bi, ci = a[step_a * i], b[step_b * i], c[step_c * i]
            if not check_a(ai) <= tolerance or not check_b(bi) <= tolerance or not check_c(ci) <= tolerance:
                return i
            function(ai, bi, ci, out[i])
        return -1

    return loop
