"""Numba as the kernels use it: `entry`, `phase`, `kernel`, calls by address, and the machine's own instructions.

A function that Numba compiles is optimised once on its own and again inside of each function that calls it, and so is
all that it calls: a tree of depth six is optimised six times. So the tree is cut where it is thick. `run` calls the
phases of an iteration by address; each is compiled, cached and optimised once, and only what a run uses at all.
"""

from __future__ import annotations

import ctypes
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.core.caching import IndexDataCacheFile
from numba.extending import intrinsic as of_numba

Decorator = Callable[[Callable[..., Any]], Any]
INLINED: Any = {"forceinline": True, "_nrt": False}
"""As `kernel`, for bodies that are picked by type (`numba.extending.overload`), and inside of whoever calls."""
SUMS = {"reassoc", "nsz", "contract"}
"""What sums need to be vectorised."""
ABSOLUTE = np.int64(0x7FFFFFFFFFFFFFFF)
"""All bits of a float but its sign."""


def jit(**options: Any) -> Decorator:
    """Compile at the first call, and keep the machine code for the next process.

    Numba caches beside the source, or in the user's cache folder if that is read-only; if it finds neither, the
    function is compiled anew in each process.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            made = numba.njit(cache=True, nogil=True, **options)(function)
            if made is not function:  # NUMBA_DISABLE_JIT gives the function itself
                _key_by_source(made._cache)
        except (RuntimeError, OSError):  # "cannot cache function: no locator available"
            return numba.njit(nogil=True, **options)(function)
        return made

    return decorate


@cache
def source_key() -> str:
    """Hash of all compiled code of bsfw: what Numba calls in other files is no part of its own check."""
    package, found = Path(__file__).parents[1], hashlib.sha256()
    for folder in ("kernels", "engines"):
        for path in sorted((package / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _key_by_source(store: Any) -> None:
    """Let a function's cache lie in a folder named by `source_key`.

    Numba notices a change of the file that a function is in, not of others whose functions it calls, and fails on what
    an older version left if a module has moved: old code would run on new arrays.
    """
    store._cache_path = str(Path(store._cache_path) / f"bsfw-{source_key()}")
    Path(store._cache_path).mkdir(parents=True, exist_ok=True)
    store._cache_file = IndexDataCacheFile(
        cache_path=store._cache_path,
        filename_base=store._impl.filename_base,
        source_stamp=store._impl.locator.get_source_stamp(),
    )


def intrinsic(body: Callable[..., Any]) -> Callable[..., Any]:
    """Machine code as kernels call it: without the typing context that `body` has first."""
    made: Callable[..., Any] = of_numba(prefer_literal=True)(body)
    return made


def entry(**options: Any) -> Decorator:
    """`jit` for what neither makes arrays nor returns any: Numba then counts no references to them.

    Counting takes two atomic operations for each array of each call, more than a small loop over it.
    """
    return jit(_nrt=False, no_cfunc_wrapper=True, **options)


def phase(**options: Any) -> Decorator:
    """`entry` for what is called by address only: there is no code to convert Python's objects."""
    return entry(no_cpython_wrapper=True, **options)


def kernel(**options: Any) -> Decorator:
    """`phase` for what other kernels call: not cached, since who calls has it in its own machine code."""
    own: Any = {"_nrt": False, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    made: Decorator = numba.njit(nogil=True, **own, **options)
    return made


@cache
def uncached(function: Any) -> Any:
    """The same without a cache on disk."""
    options = {name: value for name, value in function.targetoptions.items() if name != "nopython"}
    return numba.njit(**options)(function.py_func)


class _Once(event.Listener):
    """Calls a function when the first compilation starts."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce: Callable[[], None] | None = announce

    def on_start(self, event: Any) -> None:
        if self._announce is not None:
            announce, self._announce = self._announce, None
            announce()

    def on_end(self, event: Any) -> None:
        """Nothing."""


class _Stopwatch(event.Listener):
    """The seconds of all compilations of this process, so that a run can take them off its clock."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._started = 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._started = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started


STOPWATCH = _Stopwatch()
event.register("numba:compile", STOPWATCH)


@contextmanager
def announced(announce: Callable[[], None] | None) -> Iterator[None]:
    """Within this, `announce` is called once, before the first compilation, if there is one."""
    if announce is None:
        yield
        return
    with event.install_listener("numba:compile", _Once(announce)):
        yield


def address_of(function: Any, arguments: tuple[Any, ...]) -> np.uint64:
    """Where the machine code of a phase for such arguments begins; compiled now if it is not in the cache."""
    signature = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(signature)
    compiled = function.overloads[signature]
    return np.uint64(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


@intrinsic
def call(typingctx: Any, address: Any, arguments: Any) -> Any:
    """What the phase at this address, compiled for a tuple of such arguments, returns: a whole number."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args[1].types
        pointer = builder.inttoptr(values[0], context.call_conv.get_function_type(types.int64, kinds).as_pointer())
        unpacked = cgutils.unpack_tuple(builder, values[1])
        _, result = context.call_conv.call_function(builder, pointer, types.int64, kinds, unpacked)
        return result

    return types.int64(types.uint64, arguments), code


class Random(NamedTuple):
    """A NumPy generator as two addresses: of its state, and of the function that draws from ]0, 1[.

    A generator itself would have to be counted as a reference, which kernels do not do.
    """

    state: np.uint64
    next_double: np.uint64


def random_of(rng: np.random.Generator) -> Random:
    """The addresses, good for as long as the generator lives."""
    interface = rng.bit_generator.ctypes
    function = ctypes.cast(interface.next_double, ctypes.c_void_p).value or 0
    return Random(np.uint64(interface.state_address), np.uint64(function))


@intrinsic
def _call_double(typingctx: Any, function: Any, state: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.IntType(64)])
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), [values[1]])

    return types.float64(types.uint64, types.uint64), code


@kernel(forceinline=True)
def uniform(random):
    """The next number of ``rng.random()``."""
    return _call_double(random.next_double, random.state)


@intrinsic
def prefetch(typingctx: Any, array: Any, position: Any, near: Any) -> Any:
    """Ask for the cache line of array[position] ahead of its use, into the first cache if `near`, else into the second,
    so that the first keeps what it has. Never faults, also beyond the end of the array."""
    keep = 3 if near.literal_value else 2

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte_pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte_pointer)
        builder.call(function, [address, *(ir.Constant(number, value) for value in (0, keep, 1))])
        return context.get_dummy_value()

    return types.void(array, types.uint64, near), code


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


@kernel(forceinline=True)
def magnitude(number):
    """|number| as a whole number: ordered alike, and a maximum of whole numbers is vectorised, one of floats is not."""
    return bits_of(number) & ABSOLUTE
