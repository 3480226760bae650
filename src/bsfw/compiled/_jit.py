"""`jit` and `kernel`: Numba with a cache on disk where one can be had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def jit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile at the first call, and keep the machine code for the next process.

    Numba caches beside the source, or in the user's cache folder if that is read-only; if it finds neither, the
    function is compiled anew in each process.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # "cannot cache function: no locator available"
            return numba.njit(nogil=True, **options)(function)

    return decorate


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`jit` for what neither makes arrays nor returns any: Numba then counts no references to them.

    Counting takes two atomic operations for each array of each call, more than a small loop over it.
    """
    return jit(_nrt=False, **options)


def _prefetch(array: Any, keep: int) -> Any:
    """Signature and code of a prefetch; `keep` is LLVM's: 3 for the nearest cache, 2 for the second."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte_pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number]),
            "llvm.prefetch.p0",
        )
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte_pointer)
        read, nearness, data_cache = (ir.Constant(number, value) for value in (0, keep, 1))
        builder.call(function, [address, read, nearness, data_cache])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@intrinsic
def prefetch(typingctx: Any, array: Any, position: Any) -> Any:
    """Ask for the cache line of array[position] ahead of its use. Never faults, also beyond the end of the array."""
    return _prefetch(array, 3)


@intrinsic
def prefetch_far(typingctx: Any, array: Any, position: Any) -> Any:
    """`prefetch` into the second cache only, so that the first keeps what it has."""
    return _prefetch(array, 2)


@intrinsic
def bits_of(typingctx: Any, number: Any) -> Any:
    """The 64 bits of a float64 as an int64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), code


@intrinsic
def float_of(typingctx: Any, bits: Any) -> Any:
    """The float64 with these 64 bits."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), code
