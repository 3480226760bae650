"""Products with rows and columns of the data, which is CSR (CSC for columns) or dense: `indices` is None for dense.

`member`, `row_dot`, `row_add` and `column` are names only: Numba picks the body by the types when a kernel that calls
them is compiled. Loops run over unsigned positions, for which no code for negative indices is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from . import losses
from ._jit import jit, prefetch

AHEAD = 4
"""Rows by which `ask_for_row` runs ahead."""
LINE, HALF_LINE = np.uint64(16), np.uint64(8)
"""Entries per cache line of 32-bit indices, and of 64-bit data."""
FORESEEN = 16
"""With fewer than one column in so many in the support, a branch skips the others; else slot 0 multiplies by zero."""


def member(batch: Any, k: Any) -> Any:
    """batch[k], or k itself if `batch` is None, which stands for all samples or rows."""


@overload(member, inline="always")
def _member(batch, k) -> Callable[..., Any]:
    if isinstance(batch, types.NoneType):
        return lambda batch, k: k
    return lambda batch, k: batch[k]


def row_dots(
    data: Any, indices: Any, indptr: Any, i: Any, slots: Any, coordinates: Any, count: Any, x: Any, other: Any
) -> Any:
    """<a_i, x> and <a_i, other> for two points in compact form. O(nonzeros of the row), O(count) for dense data."""


@overload(row_dots, inline="always")
def _row_dots(data, indices, indptr, i, slots, coordinates, count, x, other) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x, other):
        one = two = 0.0
        for k in range(np.uint64(1), np.uint64(count + 1)):
            one += data[i, coordinates[k]] * x[k]
            two += data[i, coordinates[k]] * other[k]
        return one, two

    def sparse(data, indices, indptr, i, slots, coordinates, count, x, other):
        one = two = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            k = slots[np.uint64(indices[p])]
            if k:  # few columns are in the support, so that the branch is foreseen and the entry not even read
                one += data[p] * x[k]
                two += data[p] * other[k]
        return one, two

    return dense if isinstance(indices, types.NoneType) else sparse


def row_dot(data: Any, indices: Any, indptr: Any, i: Any, slots: Any, coordinates: Any, count: Any, x: Any) -> Any:
    """<a_i, x>: the first number of `row_dots`."""


@overload(row_dot, inline="always")
def _row_dot(data, indices, indptr, i, slots, coordinates, count, x) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        for k in range(np.uint64(1), np.uint64(count + 1)):
            total += data[i, coordinates[k]] * x[k]
        return total

    def sparse(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        if FORESEEN * count < slots.size:
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                k = slots[np.uint64(indices[p])]
                if k:
                    total += data[p] * x[k]
        else:
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                total += data[p] * x[slots[np.uint64(indices[p])]]
        return total

    return dense if isinstance(indices, types.NoneType) else sparse


def row_add(data: Any, indices: Any, indptr: Any, i: Any, coefficient: Any, g: Any) -> Any:
    """g += coefficient a_i. O(nonzeros of the row)."""


@overload(row_add, inline="always")
def _row_add(data, indices, indptr, i, coefficient, g) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, coefficient, g):
        for j in range(np.uint64(g.size)):
            g[j] += coefficient * data[i, j]

    def sparse(data, indices, indptr, i, coefficient, g):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            g[np.uint64(indices[p])] += coefficient * data[p]

    return dense if isinstance(indices, types.NoneType) else sparse


def ask_for_row(data: Any, indices: Any, indptr: Any, i: Any) -> Any:
    """Bring row i on its way to the cache: rows of a batch lie anywhere, and waiting for them is half the time."""


@overload(ask_for_row, inline="always")
def _ask_for_row(data, indices, indptr, i) -> Callable[..., Any]:
    def dense(data, indices, indptr, i):
        pass

    def sparse(data, indices, indptr, i):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]), LINE):
            prefetch(indices, p)
            prefetch(data, p)
            prefetch(data, p + HALF_LINE)

    return dense if isinstance(indices, types.NoneType) else sparse


def column(data: Any, indices: Any, indptr: Any, j: Any) -> Any:
    """The entries of column j and their rows, to be read with `member`."""


@overload(column)
def _column(data, indices, indptr, j) -> Callable[..., Any]:
    def dense(data, indices, indptr, j):
        return data[:, j], None

    def sparse(data, indices, indptr, j):
        return data[indptr[j] : indptr[j + 1]], indices[indptr[j] : indptr[j + 1]]

    return dense if isinstance(indices, types.NoneType) else sparse


@jit()
def batch_changes(
    data, indices, indptr, y, weight, loss, parameter, batch, slots, coordinates, count, x, other, table, unit, store,
    margins, scale, factor, change, g,
):  # fmt: skip
    """For the k-th sample i of the batch: its slope d = w_i phi'(<a_i, x>, y_i), change[k] = d less an old slope, and
    g += factor change[k] a_i, while the row is in the cache.

    The old slope is that at `other`, or table[i] (which `store` then replaces), or zero: an empty array means that it
    is not used. Table and changes are in units of `unit`. With `margins` no row is read for the slope: <a_i, x> is
    scale margins[i].
    """
    weighted = weight.size > 0
    for k in range(min(AHEAD, batch.size)):
        ask_for_row(data, indices, indptr, batch[k])
    for k in range(batch.size):
        if k + AHEAD < batch.size:
            ask_for_row(data, indices, indptr, batch[k + AHEAD])
        i = batch[k]
        if other.size > 0:
            z, w = row_dots(data, indices, indptr, i, slots, coordinates, count, x, other)
            d = losses.derivative(loss, z, y[i], parameter) - losses.derivative(loss, w, y[i], parameter)
        else:
            if margins.size > 0:
                z = scale * margins[i]
            else:
                z = row_dot(data, indices, indptr, i, slots, coordinates, count, x)
            d = losses.derivative(loss, z, y[i], parameter)
        if weighted:
            d *= weight[i]
        if table.size > 0:
            fresh = unit * d
            d = fresh - table[i]
            if store:
                table[i] = fresh
        change[k] = d
        if factor != 0.0 and d != 0.0:
            row_add(data, indices, indptr, i, factor * d, g)


@jit()
def add_rows(data, indices, indptr, batch, coefficients, factor, g):
    """g += factor * sum_k coefficients[k] a_i over the samples i of the batch."""
    for k in range(coefficients.size):
        if k + AHEAD < coefficients.size:
            ask_for_row(data, indices, indptr, member(batch, k + AHEAD))
        if coefficients[k] != 0.0:
            row_add(data, indices, indptr, member(batch, k), factor * coefficients[k], g)
