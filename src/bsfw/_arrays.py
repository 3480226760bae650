"""The few array operations on which everything else agrees, and the checks that turn bad input into one sentence.

Arrays are NumPy's, PyTorch's or JAX's. NumPy is asked for first, and for it nothing is imported; for the others the
namespace comes from array-api-compat. Nothing here copies a whole array to the host but `host` and `digest`.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Written for NumPy, which type checkers know; PyTorch and JAX arrays pass where the docstring does not say NumPy."""
Floats = npt.NDArray[np.float64]
"""Of NumPy, in double precision."""


_LARGEST = 2**40
"""Entries of a variable that nobody has the memory for: 8 TiB."""


def is_foreign(value: Any) -> bool:
    """Whether `value` is an array of PyTorch, JAX or the like; lists, numbers and sparse matrices are not."""
    return not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__")


def namespace(array: Any) -> Any:
    """The array module of `array`: NumPy itself, else that of PyTorch, JAX, ... by way of array-api-compat."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise ImportError("PyTorch and JAX arrays need array-api-compat: pip install array-api-compat.") from None
    return array_namespace(array)


def kind(array: Any) -> str:
    """Where `array` lives, for comparison and for sentences: "numpy", "torch on cpu", "jax on cuda:0"."""
    if not is_foreign(array):
        return "numpy"
    return f"{type(array).__module__.split('.')[0].removesuffix('lib')} on {_device(array)}"


def _device(array: Any) -> Any:
    from array_api_compat import device

    return device(array)


def host_dtype(array: Any) -> np.dtype:
    """The dtype of `array` as NumPy calls it."""
    dtype = array.dtype if hasattr(array, "dtype") else np.asarray(array).dtype
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(dtype).removeprefix("torch."))


def host(array: Any) -> Array:
    """`array` as a NumPy array: a copy of the whole to the host where it is not one. Not for loops."""
    if is_foreign(array) and hasattr(array, "numpy"):  # PyTorch: from any device, out of any graph
        array = array.numpy(force=True)
    return np.asarray(array)


def detached(array: Any) -> Any:
    """`array`, out of PyTorch's graph if it is in one: a run that kept graphs would keep every iterate."""
    return array.detach() if hasattr(array, "detach") else array


def converted(array: Any, dtype: npt.DTypeLike, like: Any) -> Array:
    """`array` with that NumPy `dtype`, as an array of the kind of `like` and on its device; a copy of its own."""
    if not is_foreign(like):
        return np.array(host(array), dtype=dtype)
    xp = namespace(like)
    source = detached(array) if is_foreign(array) else np.array(array)  # PyTorch warns of arrays it may not write to
    made: Array = xp.asarray(source, dtype=getattr(xp, np.dtype(dtype).name), device=_device(like), copy=True)
    return made


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike, like: Any) -> Any:
    """Zeros of that NumPy `dtype`, of the kind of `like` and on its device."""
    if not is_foreign(like):
        return np.zeros(shape, dtype=dtype)
    xp = namespace(like)
    return xp.zeros(shape, dtype=getattr(xp, np.dtype(dtype).name), device=_device(like))


def matching(array: Array, like: Any) -> Array:
    """`array` itself if it is of the kind of `like`, else its conversion to that kind; complex stays complex."""
    if type(array) is type(like) or is_foreign(array) == is_foreign(like):
        return array
    dtypes = host_dtype(array), host_dtype(like)
    return converted(array, dtypes[0] if is_complex(dtypes[0]) else dtypes[1], like)


def copied(array: Any) -> Any:
    """A copy that the caller may overwrite."""
    return array.copy() if type(array) is np.ndarray else namespace(array).asarray(array, copy=True)


def add_at(array: Array, where: Any, values: Any) -> Array:
    """``array[where] += values``: in place where arrays can change, else a new one. Use what is returned."""
    if hasattr(array, "at"):  # JAX
        changed: Array = array.at[where].add(values)
        return changed
    array[where] += values
    return array


def set_at(array: Array, where: Any, values: Any) -> Array:
    """``array[where] = values``: in place where arrays can change, else a new one. Use what is returned."""
    if hasattr(array, "at"):  # JAX
        changed: Array = array.at[where].set(values)
        return changed
    array[where] = values
    return array


def add(array: Any, values: Any) -> Array:
    """``array += values``: in place where arrays can change, else a new one. Use what is returned.

    SciPy would add to a sparse matrix too, without a look at its indices.
    """
    if not isinstance(array, np.ndarray) and not is_foreign(array):
        raise TypeError(f"only an array can be added to, got {shown(array)}.")
    array += values
    made: Array = array
    return made


def inner(a: Array, b: Array) -> float:
    """Real inner product Re<a, b> = Re tr(a^H b) of two arrays of the same shape, real or complex, of any dimension."""
    if not is_foreign(a):
        try:
            return float(np.vdot(a, b).real)
        except (AttributeError, OverflowError):  # of entries that are no numbers, or too large for one
            raise TypeError(f"an inner product needs arrays of numbers, got {shown(a)} and {shown(b)}.") from None
    return float((a.reshape(-1).conj() @ b.reshape(-1)).real)


@cache
def _squares_range(dtype: np.dtype) -> tuple[float, float]:
    """Between these a sum of squares has neither lost digits nor overflowed."""
    limits = np.finfo(dtype)
    return float(limits.tiny) / float(limits.eps), math.inf


def norm(a: Array) -> float:
    """Euclidean (Frobenius) norm, the one that belongs to `inner`; numbers too large or too small to square are scaled
    first, so that it is finite and nonzero where `a` is."""
    squared, (low, high) = inner(a, a), _squares_range(host_dtype(a))
    if low < squared < high:
        return math.sqrt(squared)
    top = largest_magnitude(a)
    if top == 0.0 or not math.isfinite(top):
        return top
    power = math.frexp(top)[1]
    part = a * 2.0 ** (-power // 2)  # in two steps, for a power of two may be out of range where both are not
    part = part * 2.0 ** (-power - (-power // 2))
    return math.sqrt(inner(part, part)) * 2.0 ** (power // 2) * 2.0 ** (power - power // 2)


def largest_magnitude(a: Array) -> float:
    """max |a_i|, NaN if there is one, 0 for an empty array."""
    return float(abs(a).max()) if math.prod(a.shape) else 0.0


def is_complex(dtype: Any) -> bool:
    """Whether a dtype, of NumPy or PyTorch, is complex."""
    return dtype.kind == "c" if isinstance(dtype, np.dtype) else "complex" in str(dtype)


def positive(value: Any, name: str) -> float:
    """`value` as a finite float > 0, or a ValueError that names it."""
    found = number(value, name, "positive finite number")
    if found <= 0:
        raise ValueError(f"{name} must be a positive finite number, got {shown(value)}.")
    return found


def number(value: Any, name: str, what: str = "finite number") -> float:
    """`value` as a finite float, or a ValueError that names it and says `what` it must be."""
    try:
        found = math.nan if isinstance(value, (str, bytes, bytearray)) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise ValueError(f"{name} must be a {what}, got {shown(value)}.")
    return found


def shown(value: Any) -> str:
    """`value` as a sentence can show it: its repr, cut where it is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of an object of the user's, or an int of more than 4300 digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else f"{text[:77]}..."


def positive_int(value: Any, name: str) -> int:
    """`value` as an int >= 1 of 64 bits, or a ValueError that names it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**63:
        most = ", and less than 2^63" if isinstance(value, int) and value > 1 else ""
        raise ValueError(f"{name} must be a whole number of at least 1{most}, got {shown(value)}.")
    return int(value)


def is_traced(array: Any) -> bool:
    """Whether JAX is tracing: such arrays have no numbers yet."""
    return type(array).__name__.endswith("Tracer")


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def checked_shape(given: Any) -> tuple[int, ...]:
    """`given` as the shape of a variable; a number stands for a vector of that length."""
    sizes = given if isinstance(given, (tuple, list)) else (given,)
    found = tuple(positive_int(size, "every entry of shape") for size in sizes)
    if math.prod(found) > _LARGEST:
        size = shown(8 * math.prod(found) // 10**9)
        raise ValueError(f"a variable of shape {shown(found)} would take {size} GB, more than there is.")
    return found


def require_finite(array: Array, name: str) -> None:
    """Raise a ValueError that counts the NaN and Inf entries of `array`, if there are any."""
    if (
        type(array) is np.ndarray and array.dtype in _FLOATS and math.isfinite(np.vdot(array, array))
    ):  # a pass without temporary arrays
        return
    finite = namespace(array).isfinite(array)
    if not finite.all():
        size = math.prod(array.shape)
        raise ValueError(
            f"{name} has {size - int(finite.sum())} entries that are NaN or infinite, out of {size}; remove or impute "
            "them first."
        )


def plain(value: Any, name: str) -> Array:
    """`value` as a NumPy array, or a ValueError that names it: ragged lists and masked entries are refused."""
    if np.ma.is_masked(value):
        raise ValueError(
            f"{name} is a masked array with masked entries, which would count as data; fill or remove them."
        )
    try:
        return np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        raise ValueError(f"{name} cannot be made an array ({error}).") from None


def check_array(
    value: Any, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike | None = None, *, finite: bool = True
) -> Array:
    """`value`, read from a file, if it is an array of that shape and dtype with finite entries, else a ValueError.

    Parameters
    ----------
    value : Any
    name : str
        What it is called in the sentence.
    shape : tuple of int
        What compiled code will index it by.
    dtype : dtype, optional
        None admits any real or complex numbers.
    finite : bool
        Whether NaN and infinite entries are refused.
    """
    fits = isinstance(value, np.ndarray) and value.shape == tuple(shape)
    if not fits or (value.dtype.kind not in "biufc" if dtype is None else value.dtype != np.dtype(dtype)):
        given = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        wanted = "numbers" if dtype is None else np.dtype(dtype).name
        raise ValueError(f"{name} must be {wanted} of shape {tuple(shape)}, but is {given}.")
    if finite:
        require_finite(value, name)
    found: Array = value
    return found


def own(array: Array, given: Array) -> Array:
    """`array`, or a copy of it where someone who holds `given` could change it.

    Not copied are arrays that share no memory with `given`, and those that nobody can write to: read-only down to the
    one that owns the memory, as after ``array.flags.writeable = False`` or in a file mapped with mode "r".
    """
    return array.copy() if np.may_share_memory(array, given) and not _frozen(array) else array


def _frozen(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        if array.base is None:
            return True
        array = array.base
    try:
        with memoryview(array) as memory:
            return memory.readonly
    except TypeError:  # nobody knows
        return False


def digest(*parts: Any) -> str:
    """Short hash of arrays, numbers and strings, by which a checkpoint recognises the problem it belongs to."""
    h = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray) or is_foreign(part):
            part = host(part)
            h.update(f"{part.dtype.str}{part.shape}".encode())
            h.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            h.update(repr(part).encode())
        h.update(b"|")
    return h.hexdigest()
