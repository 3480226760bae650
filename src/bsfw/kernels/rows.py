"""Products with rows and columns of the data, which is CSR (CSC for columns) or dense: `indices` is None for dense.

`member`, `row_dot`, `row_add`, `column_span` and their like are names only: Numba picks the body by the types when a
kernel that calls them is compiled. Loops run over unsigned positions, for which no code for negative indices is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ._jit import INLINED, magnitude, prefetch

BLOCK_BITS = np.uint64(8)
"""Coordinate j is in block j >> 8 of the keys of the LMO."""
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


def member(batch: Any, k: Any) -> Any:
    """batch[k], or k itself if `batch` is None, which stands for all samples or rows."""


@overload(member, jit_options=INLINED)
def _member(batch, k) -> Callable[..., Any]:
    if isinstance(batch, types.NoneType):
        return lambda batch, k: k
    return lambda batch, k: batch[k]


def row_dot(data: Any, indices: Any, indptr: Any, i: Any, slots: Any, coordinates: Any, count: Any, x: Any) -> Any:
    """<a_i, x> for a point in compact form. O(nonzeros of the row), O(count) for dense data."""


@overload(row_dot, jit_options=INLINED)
def _row_dot(data, indices, indptr, i, slots, coordinates, count, x) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        for k in range(np.uint64(1), np.uint64(count + 1)):
            total += data[i, coordinates[k]] * x[k]
        return total

    def sparse(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[p] * x[slots[np.uint64(indices[p])]]
        return total

    return dense if isinstance(indices, types.NoneType) else sparse


def row_add(data: Any, indices: Any, indptr: Any, i: Any, coefficient: Any, g: Any) -> Any:
    """g += coefficient a_i. O(nonzeros of the row). With columns in the place of rows, z += coefficient A[:, j]."""


@overload(row_add, jit_options=INLINED)
def _row_add(data, indices, indptr, i, coefficient, g) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, coefficient, g):
        for j in range(np.uint64(g.size)):
            g[j] += coefficient * data[i, j]

    def sparse(data, indices, indptr, i, coefficient, g):
        # No coordinate comes twice in a row, so that four are read before the first is written.
        p, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        while p + THREE < end:
            j, k = np.uint64(indices[p]), np.uint64(indices[p + ONE])
            r, s = np.uint64(indices[p + TWO]), np.uint64(indices[p + THREE])
            at_j, at_k = g[j] + coefficient * data[p], g[k] + coefficient * data[p + ONE]
            at_r, at_s = g[r] + coefficient * data[p + TWO], g[s] + coefficient * data[p + THREE]
            g[j], g[k], g[r], g[s] = at_j, at_k, at_r, at_s
            p += FOUR
        for last in range(p, end):
            g[np.uint64(indices[last])] += coefficient * data[last]

    return dense if isinstance(indices, types.NoneType) else sparse


def row_add_kept(
    data: Any, indices: Any, indptr: Any, i: Any, following: Any, coefficient: Any, g: Any, slots: Any, blocks: Any,
    floor: Any,
) -> Any:  # fmt: skip
    """`row_add` for sparse rows where bounds are kept: those of the blocks are raised where |g| > floor comes in
    outside of the support, which is rare enough for the branch to be predicted. Returns by how much
    ||g||^2 grew.

    A g that nobody sweeps is far away: entry by entry those of it are prefetched that the row `following` will add to,
    as only so many can be on their way at once.
    """


@overload(row_add_kept, jit_options=INLINED)
def _row_add_kept(data, indices, indptr, i, following, coefficient, g, slots, blocks, floor) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, following, coefficient, g, slots, blocks, floor):
        return np.nan  # a dense row writes all of g, and nobody keeps bounds

    def sparse(data, indices, indptr, i, following, coefficient, g, slots, blocks, floor):
        grown = 0.0
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        ahead, last = np.uint64(indptr[following]) - start, np.uint64(indptr[following + 1])
        for p in range(start, end):
            if p + ahead < last:
                prefetch(g, np.uint64(indices[p + ahead]), True)
            j = np.uint64(indices[p])
            held, added = g[j], coefficient * data[p]
            value = held + added
            g[j] = value
            grown += added * (value + held)
            if abs(value) > floor and slots[j] == 0:  # the slots are larger than the nearest cache
                blocks[j >> BLOCK_BITS] = max(blocks[j >> BLOCK_BITS], magnitude(value))
        for p in range(end + ahead, last):
            prefetch(g, np.uint64(indices[p]), True)
        return grown

    return dense if isinstance(indices, types.NoneType) else sparse


def column_span(data: Any, indptr: Any, j: Any) -> Any:
    """The first position of column j, of CSC data or a dense transpose, and that after its last; the row at position p
    is member(indices, p)."""


@overload(column_span, jit_options=INLINED)
def _column_span(data, indptr, j) -> Callable[..., Any]:
    if isinstance(indptr, types.NoneType):
        return lambda data, indptr, j: (np.uint64(0), np.uint64(data.shape[1]))
    return lambda data, indptr, j: (np.uint64(indptr[j]), np.uint64(indptr[j + 1]))


def column_entry(data: Any, j: Any, p: Any) -> Any:
    """The entry of column j at position p."""


@overload(column_entry, jit_options=INLINED)
def _column_entry(data, j, p) -> Callable[..., Any]:
    if data.ndim == 2:
        return lambda data, j, p: data[j, p]
    return lambda data, j, p: data[p]
