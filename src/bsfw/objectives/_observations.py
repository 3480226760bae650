"""Observed entries of a matrix, as they are given: checked, and put in order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, plain, require_finite, shown
from . import _checks

EMPTY = 10**7
"""Rows and columns that a matrix may have whatever is observed of it; beyond, a hundred for each observation."""


def observed(given: Any, shape: tuple[int, int] | None) -> tuple[Array, Array, Array, tuple[int, int]]:
    """Rows, columns, values and shape, each checked; `shape` is the one that a test set must have."""
    if hasattr(given, "rows") and hasattr(given, "cols") and hasattr(given, "values"):
        given = (given.rows, given.cols, given.values, given.shape)
    accepted = "(rows, cols, values, shape)" if shape is None else "(rows, cols, values)"
    if not isinstance(given, (tuple, list)) or len(given) not in ((4,) if shape is None else (3, 4)):
        length = f" of length {len(given)}" if isinstance(given, (tuple, list)) else ""
        raise TypeError(f"observations are given as Ratings or as {accepted}, got {type(given).__name__}{length}.")
    rows, cols, values = (plain(part, name) for part, name in zip(given, ("rows", "cols", "values"), strict=False))
    own = _shape(given[3]) if len(given) == 4 else shape
    assert own is not None
    if shape is not None and own != shape:
        raise ValueError(f"the test set is of the shape {own}, but the observations are of {shape}.")
    if not (rows.ndim == 1 and rows.shape == cols.shape == values.shape):
        raise ValueError(
            "rows, cols and values must be three lists of the same length, got arrays of the shapes "
            f"{rows.shape}, {cols.shape} and {values.shape}."
        )
    if not rows.size:
        raise ValueError("there are no observations; give at least one entry of the matrix.")
    for index, size, name in ((rows, own[0], "rows"), (cols, own[1], "cols")):
        if index.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold whole numbers from 0, got entries of type {index.dtype}.")
        bad = int(np.count_nonzero((index < 0) | (index >= size)))
        if bad:
            raise ValueError(
                f"{bad} of {index.size} ids in {name} are out of range: they run from {index.min()} to {index.max()}, "
                f"but must lie between 0 and {size - 1}; number them from 0, or give a larger shape."
            )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"the values must be real numbers, got entries of type {values.dtype}.")
    values = values.astype(np.float64)
    require_finite(values, "the list of values")
    if sum(own) > EMPTY + 100 * rows.size or math.prod(own) > np.iinfo(np.int64).max:
        raise ValueError(
            f"a matrix of shape {own} takes {8e-9 * sum(own):.3g} GB for each term of its factors, but {rows.size} "
            "of its entries are observed; number the rows and columns that occur, e.g. by np.unique(rows, "
            "return_inverse=True)."
        )
    return rows.copy(), cols.copy(), values, own


def _shape(given: Any) -> tuple[int, int]:
    sizes = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else ()
    if len(sizes) != 2 or not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(f"the shape must be the numbers of rows and of columns, both at least 1, got {shown(given)}.")
    return int(sizes[0]), int(sizes[1])


def ids_of(given: Any, name: str, count: int) -> Array:
    """The ids of rows or columns, where the observations have them."""
    found = getattr(given, name, None)
    return np.arange(count) if found is None else np.asarray(found)


def keys_of(rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
    return rows.astype(np.int64) * shape[1] + cols


def in_order(rows: Array, cols: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array | None]:
    """Rows and columns in row-major order, and the order in which they were (None: this one)."""
    keys, order = keys_of(rows, cols, shape), None
    if not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        repeated = int(np.count_nonzero(keys[1:] == keys[:-1]))
        if repeated:
            row, col = divmod(int(keys[:-1][keys[1:] == keys[:-1]][0]), shape[1])
            raise ValueError(
                f"{repeated} entries are observed more than once, the first at row {row}, column {col}; keep one value "
                "for each, e.g. the mean or the last one."
            )
    index = np.int32 if max(shape) <= np.iinfo(np.int32).max else np.int64
    rows, cols = (part if order is None else part[order] for part in (rows, cols))
    return rows.astype(index), cols.astype(index), order


def ordered_weights(sample_weight: Any, n_samples: int, order: Array | None) -> Array | None:
    if sample_weight is None:
        return None
    given = plain(sample_weight, "sample_weight")
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per observation, shape ({n_samples},), but its shape is {given.shape}."
        )
    return _checks.weights(given if order is None else given[order], n_samples)
