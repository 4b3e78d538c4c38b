"""Arrays found by their address: how compiled steps share the arrays of a model instead of copying them.

A stepper keeps where the arrays of its model are in memory, as whole numbers among its own data (kernels/layout.py, S),
and its kernels make arrays of them, at no cost.  Whoever stores an address keeps the array alive.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic, lower_builtin, type_callable
from numpy.typing import NDArray

if config.DISABLE_JIT:

    def _make(dtype: Any, ndim: int, readonly: bool) -> Any:
        def array_at(address: int, shape: Any) -> NDArray[Any]:
            """Return the array of this shape at `address`."""
            kind: Any = ctypes.c_int64 if dtype is types.int64 else ctypes.c_double
            sizes = tuple(int(n) for n in np.atleast_1d(shape))
            n = int(np.prod(sizes))
            array = np.frombuffer((kind * n).from_address(int(address)), dtype=kind) if n else np.zeros(0, kind)
            array = array.reshape(sizes)
            array.setflags(write=not readonly)
            return array

        return array_at

else:

    def _make(dtype: Any, ndim: int, readonly: bool) -> Any:
        kind = types.Array(dtype, ndim, "C", readonly=readonly)

        @intrinsic  # type: ignore[untyped-decorator]
        def array_at(typing_context: Any, address: Any, shape: Any) -> Any:
            """Return the array of this shape, a number or a tuple, at `address`; nobody counts references to it."""

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                place, shape = arguments
                sizes = [shape] if ndim == 1 else [builder.extract_value(shape, k) for k in range(ndim)]
                array = context.make_array(kind)(context, builder)
                width = stride = context.get_constant(types.intp, 8)
                strides: list[Any] = []
                for size in reversed(sizes):
                    strides.insert(0, stride)
                    stride = builder.mul(stride, size)
                array.data = builder.inttoptr(place, array.data.type)
                array.shape, array.strides = _packed(builder, sizes), _packed(builder, strides)
                array.nitems, array.itemsize = builder.sdiv(stride, width), width
                array.meminfo = context.get_constant_null(types.MemInfoPointer(dtype))
                array.parent = context.get_constant_null(types.pyobject)
                return array._getvalue()

            return kind(types.int64, types.int64 if ndim == 1 else types.UniTuple(types.int64, ndim)), generate

        return array_at

    def _packed(builder: Any, values: Any) -> Any:
        """Return numbers as arrays have their shape and strides."""
        from llvmlite import ir

        out = ir.Constant(ir.ArrayType(values[0].type, len(values)), ir.Undefined)
        for k, value in enumerate(values):
            out = builder.insert_value(out, value, k)
        return out


#: (address, n): the read-only array of n whole or real numbers at `address`.
ints_at, floats_at = (_make(dtype, 1, True) for dtype in (types.int64, types.float64))
#: (address, n): one that may be written to; (address, (n, m)): a matrix; (address, (n, m, l)): a block of numbers.
numbers_at, matrix_at, block_at = (_make(types.float64, ndim, False) for ndim in (1, 2, 3))
#: (address, (n, m)): a read-only matrix of whole numbers.
table_at = _make(types.int64, 2, True)


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous array as one row of numbers.

    Compiled, it takes no function of Numba's own, as `reshape` does, so that kernels can leave this process.
    """
    return array.reshape(-1)


def shaped(array: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous array with the shape of another of the same size."""
    return array.reshape(like.shape)


if not config.DISABLE_JIT:
    # No overloads, which would be functions that return an array: those need Numba's runtime.

    @type_callable(flat)  # type: ignore[untyped-decorator]
    def _type_of_flat(context: Any) -> Any:
        return lambda array: types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    @type_callable(shaped)  # type: ignore[untyped-decorator]
    def _type_of_shaped(context: Any) -> Any:
        return lambda array, like: types.Array(array.dtype, like.ndim, "C", readonly=not array.mutable)

    @lower_builtin(flat, types.Array)  # type: ignore[untyped-decorator]
    def _lower_flat(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, arguments[0])
        out = context.make_array(signature.return_type)(context, builder)
        out.shape, out.strides = _packed(builder, [given.nitems]), _packed(builder, [given.itemsize])
        return _filled(out, given, given.nitems)

    @lower_builtin(shaped, types.Array, types.Array)  # type: ignore[untyped-decorator]
    def _lower_shaped(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, like = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args, arguments, strict=True)
        )
        out = context.make_array(signature.return_type)(context, builder)
        out.shape, out.strides = like.shape, like.strides
        return _filled(out, given, like.nitems)

    def _filled(out: Any, given: Any, n: Any) -> Any:
        """Return an array with the numbers of another."""
        out.nitems, out.data, out.itemsize = n, given.data, given.itemsize
        out.meminfo, out.parent = given.meminfo, given.parent
        return out._getvalue()


def address_of(array: NDArray[Any]) -> int:
    """Return where the numbers of a contiguous array begin in memory."""
    return int(array.ctypes.data)
