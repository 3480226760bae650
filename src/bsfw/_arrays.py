"""The few array operations on which everything else agrees, and the checks that turn bad input into one sentence."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def inner(a: Array, b: Array) -> float:
    """Real inner product Re<a, b> = Re tr(a^H b) of two arrays of the same shape, real or complex, of any dimension."""
    return float(np.vdot(a, b).real)


def norm(a: Array) -> float:
    """Euclidean (Frobenius) norm, the one that belongs to `inner`."""
    return float(np.linalg.norm(a))


def is_complex(dtype: npt.DTypeLike) -> bool:
    return bool(np.issubdtype(np.dtype(dtype), np.complexfloating))


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
    finite = np.isfinite(array)
    if not finite.all():
        bad = array.size - int(np.count_nonzero(finite))
        raise ValueError(
            f"{name} has {bad} entries that are NaN or infinite, out of {array.size}; remove or impute them first."
        )


def digest(*parts: Any) -> str:
    """Short hash of arrays, numbers and strings, by which a checkpoint recognises the problem it belongs to."""
    h = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            h.update(f"{part.dtype.str}{part.shape}".encode())
            h.update(np.ascontiguousarray(part).view(np.uint8).data)
        else:
            h.update(repr(part).encode())
        h.update(b"|")
    return h.hexdigest()
