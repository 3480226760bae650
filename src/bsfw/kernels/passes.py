"""Full passes over the data on several threads: the slopes of all samples, and the gradient.

Threads split the samples, then the coordinates; every number is computed by one thread from start to end, so that the
result does not depend on how many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from . import losses
from ._jit import INLINED, address_of, entry
from .margins import compile_image, image_of
from .record import Model, Work
from .rows import row_dot

Array = Any

PARALLEL = 200_000
"""Entries of the data below which one thread is faster than several."""
COLUMNS_FIRST = 4
"""Margins are formed by columns, on one core, if the support has fewer than one entry in so many of the data."""
ROWS = 2048
"""Samples in a block."""
ONE, TWO = np.uint64(1), np.uint64(2)
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _split(work: Callable[[int, int], None], size: int, entries: int, threads: int) -> None:
    """Call work(first, last) on ranges that make up range(size)."""
    if threads == 1 or entries < PARALLEL:
        work(0, size)
        return
    key = os.getpid(), threads  # a forked child has no threads of its parent's pool
    pool = _pools.get(key)
    if pool is None:
        pool = _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="bsfw")
    bounds = [size * k // (4 * threads) for k in range(4 * threads + 1)]
    list(pool.map(work, bounds[:-1], bounds[1:]))


@entry()
def _slopes_between(model, record, support, x, by_rows, z, first, last, out):
    """The slopes of these blocks of ROWS samples at x, from their rows, from the margins z that follow x, or from A x
    in `out`."""
    r, slots, coordinates = record[0], support.slots, support.coordinates
    for start in range(first * ROWS, min(last * ROWS, out.size), ROWS):
        part = out[start : start + ROWS]
        if z.size > 0:
            for i in range(part.size):
                part[i] = r.margin_scale * z[start + i]
        elif by_rows:
            for i in range(part.size):
                part[i] = row_dot(
                    model.data, model.indices, model.indptr, start + i, slots, coordinates, r.count, x
                )  # fmt: skip
        for i in range(part.size):
            part[i] += r.offset
        losses.slopes(model.loss, part, model.y[start : start + ROWS])
        if model.sample_weight.size > 0:
            for i in range(part.size):
                part[i] *= model.sample_weight[start + i]


def _weighted_columns(
    data: Any, indices: Any, indptr: Any, slopes: Any, factor: Any, first: Any, last: Any, g: Any
) -> Any:
    """g[j] = factor <A[:, j], slopes> for first <= j < last; `data` are CSC, or dense rows. A name only: see `rows`."""


@overload(_weighted_columns, jit_options=INLINED)
def _(data, indices, indptr, slopes, factor, first, last, g) -> Callable[..., Any]:
    def dense(data, indices, indptr, slopes, factor, first, last, g):
        part = g[first:last]
        part[:] = 0.0
        for i in range(slopes.size):  # along the rows, which lie together in memory
            row, coefficient = data[i, first:last], factor * slopes[i]
            for j in range(part.size):
                part[j] += coefficient * row[j]

    def sparse(data, indices, indptr, slopes, factor, first, last, g):
        final = np.uint64(data.size - 1)
        for j in range(first, last):
            # Two sums, since one alone waits for each addition; more bring nothing, and gather instructions are slow.
            # The first two entries are read be they there or not: on wide data most columns have no more, and the
            # branch would be mispredicted.
            p, end = np.uint64(indptr[j]), np.uint64(indptr[j + 1])
            one, two = min(p, final), min(p + ONE, final)
            even, odd = data[one] * slopes[np.uint64(indices[one])], data[two] * slopes[np.uint64(indices[two])]
            even, odd = even if p < end else 0.0, odd if p + ONE < end else 0.0
            p += TWO
            while p + ONE < end:
                even += data[p] * slopes[np.uint64(indices[p])]
                odd += data[p + ONE] * slopes[np.uint64(indices[p + ONE])]
                p += TWO
            if p < end:
                even += data[p] * slopes[np.uint64(indices[p])]
            g[j] = factor * (even + odd)

    return dense if isinstance(indices, types.NoneType) else sparse


@entry()
def _columns_between(data, indices, indptr, slopes, factor, first, last, out):
    _weighted_columns(data, indices, indptr, slopes, factor, first, last, out)


def columns_adjoint(
    data: Array, indices: Any, indptr: Any, slopes: Array, factor: float, out: Array, threads: int
) -> None:
    """out = factor A^T slopes on so many threads, for A in CSC form, or dense with `indices` None."""
    out[:] = 0.0

    def part(first: int, last: int) -> None:
        _columns_between(data, indices, indptr, slopes, factor, first, last, out)

    if data.size:  # a kernel looks at the first entries of a column before it knows whether there are any
        _split(part, out.size, data.size, threads)


@entry()
def rows_adjoint(data, indices, indptr, slopes, factor, out):
    """out = factor A^T slopes on one core, for A in CSR form."""
    out[:] = 0.0
    for i in range(np.uint64(slopes.size)):
        coefficient = factor * slopes[i]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            out[np.uint64(indices[p])] += coefficient * data[p]


def slopes(model: Model, work: Work, x: Array, threads: int) -> None:
    """table[i] = w_i phi'(<a_i, x> + offset, y_i) for all samples, x in compact form; by margins where they are kept.

    Samples come in fixed blocks, so that threads do not change which of them are vectorised together.
    """
    count, coordinates, out = int(work.record[0]["count"]), work.support.coordinates, work.estimate.table
    by_rows = not work.margins.z.size
    if by_rows and model.column_indptr is not None and model.columns.size:
        held = coordinates[1 : count + 1]
        entries = int((model.column_indptr[held + 1] - model.column_indptr[held]).sum())
        by_rows = COLUMNS_FIRST * entries >= model.columns.size
        if not by_rows:
            image_of(*model[3:6], coordinates, count, x, 1.0, out)

    slopes_between = losses.for_loss(_slopes_between, model.loss)

    def part(first: int, last: int) -> None:
        slopes_between(
            model, work.record, work.support, x, by_rows, work.margins.z, first, last, out
        )  # fmt: skip

    _split(part, -(-out.size // ROWS), model.data.size if by_rows else out.size, threads)


def gradient(model: Model, slopes: Array, factor: float, g: Array, threads: int) -> None:
    """g = factor A^T slopes: column by column on these threads where the model has them or is dense, else by rows."""
    if model.indices is None:
        columns_adjoint(model.data, None, None, slopes, factor, g, threads)
    elif model.columns.size:
        columns_adjoint(model.columns, model.column_indices, model.column_indptr, slopes, factor, g, threads)
    else:
        rows_adjoint(model.data, model.indices, model.indptr, slopes, factor, g)


def compile_passes(model: Model, work: Work) -> None:
    """Compile what `slopes` and `gradient` of such a run call."""
    x, slopes_between = work.support.x, losses.for_loss(_slopes_between, model.loss)
    address_of(slopes_between, (model, work.record, work.support, x, True, work.margins.z, 0, 0, x))
    if model.indices is None:
        address_of(_columns_between, (model.data, None, None, x, 1.0, 0, 0, x))
    elif model.columns.size:
        address_of(_columns_between, (*model[3:6], x, 1.0, 0, 0, x))
        compile_image(model)
    else:
        address_of(rows_adjoint, (model.data, model.indices, model.indptr, x, 1.0, x))
