"""A pytest plugin (``-p rounding``): sums end in other last digits, as on a machine that adds in another order.

Every inner product, product with the data and decomposition that the library asks of NumPy and SciPy is off by about
the machine precision, relative to the sum of the absolute values (for arrays, to the largest entry). The error depends
only on the number itself and on the seed in BSFW_ROUNDING, so that equal inputs still give equal outputs and ties stay
ties; sums that are exact on every machine (zeros, small whole numbers, powers of two) stay exact.
"""

from __future__ import annotations

import functools
import math
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

SALT = np.random.default_rng(int(os.environ.get("BSFW_ROUNDING", "1"))).integers(1 << 32, dtype=np.uint64)
SHORT = 12
"""A number whose last so many bits are zero is taken for exact."""


def moved(numbers: Any, size: float | None = None) -> Any:
    """Arrays and floats with other last digits, those of `size`; tuples by their parts; anything else as it is."""
    if isinstance(numbers, tuple):
        parts = [moved(part) for part in numbers]
        return type(numbers)(*parts) if hasattr(numbers, "_fields") else tuple(parts)
    if isinstance(numbers, float):
        return moved_number(float(numbers), abs(float(numbers)) if size is None else size)
    if type(numbers) is not np.ndarray or numbers.dtype.kind not in "fc" or not numbers.size:
        return numbers
    if numbers.dtype.kind == "c":
        return moved(numbers.real, size) + 1j * moved(numbers.imag, size)
    unsigned = np.dtype(f"u{numbers.dtype.itemsize}")
    bits = np.ascontiguousarray(numbers).view(unsigned).reshape(numbers.shape)
    mixed = SALT.astype(unsigned) ^ bits
    for shift in (7, 11, 5):
        mixed = (mixed ^ (mixed >> unsigned.type(shift))) * unsigned.type(0x85EBCA6B)
    share = mixed.astype(float) / 2.0 ** (8 * numbers.dtype.itemsize - 1) - 1.0  # in [-1, 1]
    share[bits & unsigned.type((1 << SHORT) - 1) == 0] = 0.0
    size = np.abs(numbers).max() if size is None else size
    if not np.isfinite(size):
        return numbers
    return (numbers + np.finfo(numbers.dtype).eps * size * share).astype(numbers.dtype)


def moved_number(number: float, size: float) -> float:
    """The same for one number, without the cost of an array."""
    exact = number.hex().partition("p")[0].endswith(SHORT // 4 * "0")
    share = hash((number, int(SALT))) % 2**32 / 2**31 - 1.0
    return number if exact or not math.isfinite(size) else number + sys.float_info.epsilon * size * share


def noisy(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with its result `moved`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return moved(function(*args, **kwargs))

    return wrapped


def pytest_configure() -> None:
    """Replace the functions before anyone else imports them by name."""
    from bsfw import _arrays

    exact = _arrays.inner

    def inner(a: Any, b: Any) -> float:
        if _arrays.is_foreign(a):
            return exact(a, b)
        with np.errstate(all="ignore"):
            products = np.abs(a) * np.abs(b)
            return exact(a, b) if np.count_nonzero(products) <= 1 else moved(exact(a, b), float(products.sum()))

    _arrays.inner = inner  # type: ignore[assignment]
    for name in ("svd", "eigh", "eigvalsh", "qr"):
        setattr(np.linalg, name, noisy(getattr(np.linalg, name)))
    from bsfw.objectives.linear_model import LinearLine, LinearModel
    from bsfw.objectives.quadratic import Quadratic

    def slope(line: LinearLine, gamma: float) -> float:
        return inner(line.objective._slopes(line._z + gamma * line._dz, None), line._dz)

    LinearLine._slope = slope  # type: ignore[method-assign]
    for kind, names in (
        (LinearModel, ("margins", "combine_rows", "_value", "_gradient", "_batch_gradient", "_sum_of_losses")),
        (Quadratic, ("_apply",)),
    ):
        for name in names:
            setattr(kind, name, noisy(getattr(kind, name)))
