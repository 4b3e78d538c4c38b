"""Small arrays of a kernel's own, on the stack: kernels allocate nothing, and not all of them are given scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

if config.DISABLE_JIT:

    def local_array(n: int) -> Any:
        """Return a function that makes an array of n numbers of the type of its argument."""

        def make(like: Any) -> Any:
            return np.zeros(n, dtype=np.complex128 if isinstance(like, complex) else np.float64)

        return make

else:

    def local_array(n: int) -> Any:
        """Return a function that makes an array of n numbers of the type of its argument, on the stack of its caller.

        The numbers are anything at first.  The array must not leave the kernel that made it.
        """

        @intrinsic  # type: ignore[untyped-decorator]
        def make(typing_context: Any, like: Any) -> Any:
            dtype = types.complex128 if isinstance(like, types.Complex) else types.float64
            kind = types.Array(dtype, 1, "C")

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                item = context.get_data_type(dtype)
                width = 16 if dtype == types.complex128 else 8
                with builder.goto_entry_block():
                    room = builder.alloca(ir.ArrayType(item, n))
                array = context.make_array(kind)(context, builder)
                array.data = builder.bitcast(room, array.data.type)
                size, one = context.get_constant(types.intp, n), context.get_constant(types.intp, width)
                array.shape = _single(builder, size)
                array.strides = _single(builder, one)
                array.nitems, array.itemsize = size, one
                array.meminfo = context.get_constant_null(types.MemInfoPointer(dtype))
                array.parent = context.get_constant_null(types.pyobject)
                return array._getvalue()

            return kind(like), generate

        return make


def _single(builder: Any, value: Any) -> Any:
    """Return an array of one number, as LLVM has it."""
    kind = ir.ArrayType(value.type, 1)
    return builder.insert_value(ir.Constant(kind, ir.Undefined), value, 0)
