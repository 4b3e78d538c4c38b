"""How compiled steps call the kernels of a mechanical system: through addresses.

Compiled into a step, the dynamics of a tree would be optimised again for every method: a minute each.  So a step calls
stubs, which find the address of the real kernel among the last numbers of I and jump there: a method is compiled once,
for all systems, and a system once, for all methods.  A jump costs a nanosecond or two.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray

from liegeo._jit import address, invoke, invoke_number, kernel, provide
from liegeo.errors import InputError
from liegeo.integrate.problems import Dynamics, System
from liegeo.status import WANTED

Array = NDArray[np.float64]

# How kernels see their data, whatever view of it a step passes.
_I = types.Array(types.int64, 1, "C", readonly=True)
_F = types.Array(types.float64, 1, "C", readonly=True)
_V = types.Array(types.float64, 1, "C")
_T = types.float64
# Scratch of a step: rows of numbers.
_ROWS = types.Array(types.float64, 2, "C")

ARGUMENTS = {
    "acceleration": (_I, _F, _T, _V, _V, _V, _V),
    "residual": (_I, _F, _T, _V, _V, _V, _V, _V),
    "momentum": (_I, _F, _V, _V, _V, _V),
    "slope": (_I, _F, _T, _V, _V, _V, _V),
    "factorise": (_I, _F, _V, _T, _T, _V),
    "substitute": (_I, _F, _V, _V, _V),
    "resistance": (_I, _F, _T, _T, _V, _V),
    "energy": (_I, _F, _T, _V, _V, _V),
    "closing": (_I, _F, _T, _V, _V, _V, _V, _V),
    "correct": (_I, _F, _V, _T, _T, _T, _T, _V, _V, _V),
    "release": (_I, _V),
    "factorise_next": (_I, _F, _V, _T, _T, _V, _V),
    "along": (_I, _F, _T, _V, _V, _V, _V, _V, _V, _V, _V),
    "local_tangents": (_I, _F, _V, _V, _T, _T, _T, _V),
    "displacement": (_I, _F, _V, _V, _V, _V),
    "switches": (_I, _F, _V, _V, _V),
    "grips": (_I, _F, _V, _T, _V),
}
SIZE = len(ARGUMENTS)
# What is compiled when a step asks for it.
_LATER = "along"


@kernel
def _acceleration(I, F, t, q, v, W, out):
    return invoke(I[I.shape[0] - SIZE], (I, F, t, q, v, W, out))


@kernel
def _residual(I, F, t, q, v, a, W, out):
    return invoke(I[I.shape[0] - SIZE + 1], (I, F, t, q, v, a, W, out))


@kernel
def _momentum(I, F, q, v, W, out):
    return invoke(I[I.shape[0] - SIZE + 2], (I, F, q, v, W, out))


@kernel
def _slope(I, F, t, q, v, W, out):
    return invoke(I[I.shape[0] - SIZE + 3], (I, F, t, q, v, W, out))


@kernel
def _factorise(I, F, q, alpha, beta, W):
    return invoke(I[I.shape[0] - SIZE + 4], (I, F, q, alpha, beta, W))


@kernel
def _substitute(I, F, r, W, out):
    return invoke(I[I.shape[0] - SIZE + 5], (I, F, r, W, out))


@kernel
def _resistance(I, F, alpha, beta, x, out):
    return invoke(I[I.shape[0] - SIZE + 6], (I, F, alpha, beta, x, out))


@kernel
def _energy(I, F, t, q, v, W):
    return invoke_number(I[I.shape[0] - SIZE + 7], (I, F, t, q, v, W))


@kernel
def _closing(I, F, t, q, v, W, dq, dv):
    return invoke(I[I.shape[0] - SIZE + 8], (I, F, t, q, v, W, dq, dv))


@kernel
def _correct(I, F, r, a, b, c, adding, W, B, out):
    return invoke(I[I.shape[0] - SIZE + 9], (I, F, r, a, b, c, adding, W, B, out))


@kernel
def _release(I, W):
    return invoke(I[I.shape[0] - SIZE + 10], (I, W))


@kernel
def _factorise_next(I, F, q, alpha, beta, local, W):
    return invoke(I[I.shape[0] - SIZE + 11], (I, F, q, alpha, beta, local, W))


@kernel
def _along(I, F, t, q, v, a, dq, dv, da, W, out):
    if I[I.shape[0] - SIZE + 12] == 0:
        return WANTED
    return invoke(I[I.shape[0] - SIZE + 12], (I, F, t, q, v, a, dq, dv, da, W, out))


@kernel
def _local_tangents(I, F, q, v, alpha, beta, secant, out):
    return invoke(I[I.shape[0] - SIZE + 13], (I, F, q, v, alpha, beta, secant, out))


@kernel
def _displacement(I, F, q, e, W, out):
    return invoke(I[I.shape[0] - SIZE + 14], (I, F, q, e, W, out))


@kernel
def _switches(I, F, q, v, W):
    return invoke(I[I.shape[0] - SIZE + 15], (I, F, q, v, W))


@kernel
def _grips(I, F, W, behind, out):
    return invoke(I[I.shape[0] - SIZE + 16], (I, F, W, behind, out))


STUBS = Dynamics(
    *(_acceleration, _residual, _momentum, _slope, _factorise, _substitute, _resistance, _energy, _closing),
    *(_correct, _release, _factorise_next, _along, _local_tangents, _displacement, _switches, _grips),
)


class Recorder:
    """Kernels, and which of them were asked for: a system need not have, or compile, what a method never calls."""

    def __init__(self, kernels: Dynamics) -> None:
        self.kernels = kernels
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.used.add(name)
        return getattr(self.kernels, name)


@functools.lru_cache(maxsize=256)
def addresses(dynamics: Dynamics, used: frozenset[str], *beside: tuple[Any, Any]) -> NDArray[np.int64]:
    """Return where the compiled kernels of a system are, 0 for those that nobody uses; read-only.

    What will be needed `beside` them, kernels with their argument types, is compiled too: two processes that have both
    lists before them share the work.
    """
    used = used - {_LATER}
    out = np.zeros(SIZE, np.int64)
    provide([*beside, *((getattr(dynamics, name), ARGUMENTS[name]) for name in Dynamics._fields if name in used)])
    for k, name in enumerate(Dynamics._fields):
        if name in used:
            out[k] = _address(name, getattr(dynamics, name))
    out.setflags(write=False)
    return out


def with_derivatives(ints: NDArray[np.int64], system: System) -> NDArray[np.int64]:
    """I of `data_of` with the address of `along`, for a step that returned WANTED."""
    out = ints.copy()
    out[len(ints) - SIZE + Dynamics._fields.index(_LATER)] = _address(_LATER, system.dynamics.along)
    out.setflags(write=False)
    return out


def all_kernels(system: System) -> NDArray[np.int64]:
    """I of `data_of` with the addresses of all kernels that the system has."""
    used = frozenset(name for name in Dynamics._fields if getattr(system.dynamics, name) is not None)
    return with_derivatives(np.concatenate([system.ints, addresses(system.dynamics, used)]), system)


@functools.lru_cache(maxsize=512)
def _address(name: str, function: Any) -> int:
    arguments = ARGUMENTS[name]
    try:
        place, given = address(function, arguments)
    except TypeError as error:
        raise InputError(f"system: kernel '{name}' cannot be compiled for its arguments: {error}") from None
    wanted = types.float64 if name == "energy" else types.int64
    if given != wanted:
        raise InputError(
            f"system: kernel '{name}' returns {given}, expected "
            + ("a float." if name == "energy" else "a status: an int, zero if all is well.")
        )
    return place


def loop_arguments(layout: NDArray[np.int64], coefficients: Array, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """How a loop of stepping.py sees what `Stepper` gives it; elements have this shape."""
    element, elements = (types.Array(types.float64, len(shape) + more, "C") for more in (0, 1))
    data = typeof(layout), _I, _F, typeof(coefficients), _T, types.int64, _V, element
    return (*data, _V, _ROWS, _ROWS, element, element, _V, types.int64, _V, elements, _ROWS, _ROWS)


def data_of(
    system: System | None,
    workspaces: int = 1,
    used: frozenset[str] = frozenset({"acceleration"}),
    *beside: tuple[Any, Any],
) -> tuple[NDArray[np.int64], Array, Array]:
    """Return I with the addresses of the kernels `used`, F, and fresh scratch W, so many times what the system needs.

    `beside` as in `addresses`.
    """
    if system is None:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0)
    # a system without factorise_next has factorise in its place
    missing = sorted({name.removesuffix("_next") for name in used if getattr(system.dynamics, name) is None})
    if missing:
        raise InputError(
            f"the method needs kernels that the system does not have: {', '.join(missing)}.\n"
            "  Give them to its Dynamics, or take a method for fields."
        )
    ints, floats = system.ints.copy(), system.floats.copy()
    if system.compiled:
        ints = np.concatenate([ints, addresses(system.dynamics, used, *beside)])
    ints.setflags(write=False)
    floats.setflags(write=False)
    return ints, floats, np.full(workspaces * system.work, np.nan)


class Scratch:
    """W and K of a step, each with a fence behind it: compiled code does not look where it writes.

    A step that uses more than its method declares would damage whatever stands behind, and Python would die of it
    minutes later, anywhere.  The fence takes the damage, and `check` tells of it.  It is as wide as what is easily
    forgotten: a second workspace, the rows of a method inside another.  FMUs, whose methods come with liegeo and are
    tested behind fences, go without: a fence and what it is compared with are as large as the scratch.
    """

    _MARK = -6.02214076e181

    def __init__(self, method: Any, W: Array, rows: int, dim: int, fenced: bool = True) -> None:
        self._method = method
        self._fences: tuple[tuple[Array, bytes, str], ...] = ()
        if not fenced:
            self.W, self.K = W, np.zeros((rows, dim))
            return
        self.W, behind_W = self._fenced(W, len(W))
        self.K, behind_K = self._fenced(np.zeros((rows, dim)), 32 * dim)
        # the fences, what they look like while nothing touches them, and what is to be raised otherwise
        self._fences = (
            (behind_W, behind_W.tobytes(), f"workspaces is {method.workspaces}"),
            (behind_K, behind_K.tobytes(), f"rows is {method.own_rows(dim)}"),
        )

    def _fenced(self, content: Array, margin: int) -> tuple[Array, Array]:
        whole = np.full(content.size + margin, self._MARK)
        whole[: content.size] = content.ravel()
        return whole[: content.size].reshape(content.shape), whole[content.size :]

    def check(self) -> None:
        for fence, untouched, declared in self._fences:
            # bytes, because NumPy takes a microsecond for each of its functions, and this is done at every call
            if fence.tobytes() != untouched:
                touched = np.flatnonzero(fence != self._MARK)
                raise InputError(
                    f"method '{self._method.name}': its step wrote {touched[-1] + 1} numbers beyond its scratch, "
                    f"{declared}.\n  Raise that where the method is made; what the step returned is not to be trusted."
                )
