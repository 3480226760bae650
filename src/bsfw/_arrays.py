"""The few array operations on which everything else agrees, and the checks that turn bad input into one sentence.

Arrays are NumPy's, PyTorch's or JAX's. NumPy is asked for first, and for it nothing is imported; for the others the
namespace comes from array-api-compat. Nothing here copies a whole array to the host but `host` and `digest`.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Written for NumPy, which type checkers know; PyTorch and JAX arrays pass where the docstring does not say NumPy."""


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
    dtype = array.dtype
    return dtype if isinstance(dtype, np.dtype) else np.dtype(str(dtype).removeprefix("torch."))


def host(array: Any) -> Array:
    """`array` as a NumPy array: a copy of the whole to the host where it is not one. Not for loops."""
    if is_foreign(array) and hasattr(array, "numpy"):  # PyTorch: from any device, out of any graph
        array = array.numpy(force=True)
    return np.asarray(array)


def detached(array: Any) -> Any:
    """`array`, out of PyTorch's graph if it is in one: a run that kept graphs would keep every iterate."""
    return array.detach() if hasattr(array, "detach") else array


def converted(array: Any, dtype: npt.DTypeLike, like: Any) -> Any:
    """`array` with that NumPy `dtype`, as an array of the kind of `like` and on its device; a copy of its own."""
    if not is_foreign(like):
        return np.array(host(array), dtype=dtype)
    xp = namespace(like)
    source = detached(array) if is_foreign(array) else np.array(array)  # PyTorch warns of arrays it may not write to
    return xp.asarray(source, dtype=getattr(xp, np.dtype(dtype).name), device=_device(like), copy=True)


def zeros(shape: tuple[int, ...], dtype: npt.DTypeLike, like: Any) -> Any:
    """Zeros of that NumPy `dtype`, of the kind of `like` and on its device."""
    if not is_foreign(like):
        return np.zeros(shape, dtype=dtype)
    xp = namespace(like)
    return xp.zeros(shape, dtype=getattr(xp, np.dtype(dtype).name), device=_device(like))


def matching(array: Any, like: Any) -> Any:
    """`array` itself if it is of the kind of `like`, else its conversion to that kind; complex stays complex."""
    if type(array) is type(like) or is_foreign(array) == is_foreign(like):
        return array
    dtypes = host_dtype(array), host_dtype(like)
    return converted(array, dtypes[0] if is_complex(dtypes[0]) else dtypes[1], like)


def copied(array: Any) -> Any:
    """A copy that the caller may overwrite."""
    return array.copy() if type(array) is np.ndarray else namespace(array).asarray(array, copy=True)


def add_at(array: Any, where: Any, values: Any) -> Any:
    """``array[where] += values``: in place where arrays can change, else a new one. Use what is returned."""
    if hasattr(array, "at"):  # JAX
        return array.at[where].add(values)
    array[where] += values
    return array


def set_at(array: Any, where: Any, values: Any) -> Any:
    """``array[where] = values``: in place where arrays can change, else a new one. Use what is returned."""
    if hasattr(array, "at"):  # JAX
        return array.at[where].set(values)
    array[where] = values
    return array


def inner(a: Array, b: Array) -> float:
    """Real inner product Re<a, b> = Re tr(a^H b) of two arrays of the same shape, real or complex, of any dimension."""
    if not is_foreign(a):
        return float(np.vdot(a, b).real)
    return float((a.reshape(-1).conj() @ b.reshape(-1)).real)


def norm(a: Array) -> float:
    """Euclidean (Frobenius) norm, the one that belongs to `inner`."""
    return math.sqrt(inner(a, a))


def is_complex(dtype: Any) -> bool:
    """Whether a dtype, of NumPy or PyTorch, is complex."""
    return dtype.kind == "c" if isinstance(dtype, np.dtype) else "complex" in str(dtype)


def positive(value: Any, name: str) -> float:
    """`value` as a finite float > 0, or a ValueError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a positive number, got {value!r}.") from None
    if not np.isfinite(number) or number <= 0:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
    return number


def positive_int(value: Any, name: str) -> int:
    """`value` as an int >= 1, or a ValueError that names it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def require_finite(array: Array, name: str) -> None:
    """Raise a ValueError that counts the NaN and Inf entries of `array`, if there are any."""
    finite = namespace(array).isfinite(array)
    if not finite.all():
        size = math.prod(array.shape)
        raise ValueError(
            f"{name} has {size - int(finite.sum())} entries that are NaN or infinite, out of {size}; remove or impute "
            "them first."
        )


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
