"""Arrays found by their address: how compiled steps share the arrays of a model instead of copying them.

A stepper keeps where the arrays of its model are in memory, as whole numbers among its own data (kernels/layout.py, S),
and its kernels make arrays of them, at no cost.  Whoever stores an address keeps the array alive.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

if config.DISABLE_JIT:

    def ints_at(address: int, n: int) -> NDArray[np.int64]:
        """Return the read-only array of n whole numbers at `address`."""
        return _view(ctypes.c_int64, int(address), int(n))

    def floats_at(address: int, n: int) -> NDArray[np.float64]:
        """Return the read-only array of n real numbers at `address`."""
        return _view(ctypes.c_double, int(address), int(n))

    def _view(kind: Any, address: int, n: int) -> Any:
        if n == 0:
            return np.zeros(0, kind)
        array = np.frombuffer((kind * n).from_address(address), dtype=kind)
        array.setflags(write=False)
        return array

else:

    def _make(dtype: Any) -> Any:
        kind = types.Array(dtype, 1, "C", readonly=True)

        @intrinsic  # type: ignore[untyped-decorator]
        def array_at(typing_context: Any, address: Any, n: Any) -> Any:
            """Return the read-only array of n numbers at `address`; nobody counts references to it."""

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                place, size = arguments
                array = context.make_array(kind)(context, builder)
                width = context.get_constant(types.intp, 8)
                array.data = builder.inttoptr(place, array.data.type)
                array.shape = _one(builder, size)
                array.strides = _one(builder, width)
                array.nitems, array.itemsize = size, width
                array.meminfo = context.get_constant_null(types.MemInfoPointer(dtype))
                array.parent = context.get_constant_null(types.pyobject)
                return array._getvalue()

            return kind(types.int64, types.int64), generate

        return array_at

    def _one(builder: Any, value: Any) -> Any:
        """Return a tuple of one number, as arrays have their shape and strides."""
        from llvmlite import ir

        return builder.insert_value(ir.Constant(ir.ArrayType(value.type, 1), ir.Undefined), value, 0)

    ints_at, floats_at = _make(types.int64), _make(types.float64)


def address_of(array: NDArray[Any]) -> int:
    """Return where the numbers of a contiguous array begin in memory."""
    return int(array.ctypes.data)
