"""Lengths in the image, ||A d||, by the Gram matrix of the columns in the support: no number per sample is touched.

Data with few columns have the matrix of all of them, made once and kept with the data, in which coordinate j has place
j. For others it grows with the support, with a place for each slot of the compact arrays, as long as it has room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ._jit import kernel
from .layout import COUNT, IMAGE_SQUARES, ITERATION, LAMBDA, VALUE, VERTEX_SLOT
from .onehot import CANCELLED
from .rows import INLINED, column_entry, column_span, member

SUM_AGAIN = 64
"""Iterations after which a sum of squares that is kept is formed anew, before rounding could show."""


@kernel()
def gram_at_hand(model, work):
    """Whether there is a Gram matrix of the whole support; what it lacks is formed first."""
    if work.formed.size == 0:
        return work.gram.size > 0
    if work.whole[COUNT] >= work.gram.shape[0]:
        return False
    for slot in range(work.formed[0] + 1, work.whole[COUNT] + 1):
        extend_gram(model, work, slot)
    work.formed[0] = work.whole[COUNT]
    return True


@kernel()
def extend_gram(model, work, new):
    """The products of column `new` of the support with those before it. O(their entries).

    The new column is spread over a window of rows, which takes no vector of m; the others are read through it.
    """
    gram, cursors, window = work.gram, work.cursors, work.window
    for k in range(1, new + 1):
        cursors[k], _ = column_span(model.columns, model.column_indptr, work.coordinates[k])
        gram[new, k] = 0.0
    here, last = column_span(model.columns, model.column_indptr, work.coordinates[new])
    for first in range(np.uint64(0), np.uint64(model.y.size), np.uint64(window.size)):
        beyond = first + np.uint64(window.size)
        window[:] = 0.0
        while here < last and np.uint64(member(model.column_indices, here)) < beyond:
            window[np.uint64(member(model.column_indices, here)) - first] += column_entry(
                model.columns, work.coordinates[new], here
            )
            here += np.uint64(1)
        for k in range(1, new + 1):
            p, total, j = cursors[k], 0.0, work.coordinates[k]
            _, end = column_span(model.columns, model.column_indptr, j)
            while p < end and np.uint64(member(model.column_indices, p)) < beyond:
                total += column_entry(model.columns, j, p) * window[np.uint64(member(model.column_indices, p)) - first]
                p += np.uint64(1)
            cursors[k] = p
            gram[new, k] += total
    for k in range(1, new):
        gram[k, new] = gram[new, k]


@kernel(fastmath={"reassoc", "contract"})
def row_products(row, x, q):
    """<row, x> and <row, q>."""
    one = two = 0.0
    for k in range(x.size):
        one += row[k] * x[k]
        two += row[k] * q[k]
    return one, two


@kernel()
def gram_square(work, d):
    """||A d||^2 = <d, G d> for the compact d. O(support), or O(n) with the matrix of all columns, for each nonzero."""
    spread, total = work.pair[0], 0.0
    for k in range(1, work.whole[COUNT] + 1):
        spread[work.places[k]] = d[k]
    for k in range(1, work.whole[COUNT] + 1):
        if d[k] != 0.0:
            product, _ = row_products(work.gram[work.places[k]], spread, spread)
            total += d[k] * product
    return total


def vertex_entry(vertex: Any, work: Any, k: Any) -> Any:
    """s at slot k, for s in the state as one number, or by slot. A name only: see `rows`."""


@overload(vertex_entry, jit_options=INLINED)
def _vertex_entry(vertex, work, k) -> Callable[..., Any]:
    if isinstance(vertex, types.NoneType):
        return lambda vertex, work, k: work.real[VALUE] if k == work.whole[VERTEX_SLOT] else 0.0
    return lambda vertex, work, k: vertex[k]


def vertex_square(vertex: Any, work: Any) -> Any:
    """||A s||^2. A name only, too."""


@overload(vertex_square, jit_options=INLINED)
def _vertex_square(vertex, work) -> Callable[..., Any]:
    def one_hot(vertex, work):
        place = work.places[work.whole[VERTEX_SLOT]]
        return work.real[VALUE] * work.real[VALUE] * work.gram[place, place]

    return one_hot if isinstance(vertex, types.NoneType) else lambda vertex, work: gram_square(work, vertex)


@kernel()
def gram_ratio(work):
    """||A(s - x)||^2, ||A d~||^2 and the products of A x with the two, by G = A^T A and the ||A x||^2 that is kept.

    So much for each vertex of the step, not for each coordinate of x. What is kept is summed anew before rounding could
    show, and so is a difference that has cancelled.
    """
    count, total = work.whole[COUNT], work.real[LAMBDA]
    if work.whole[ITERATION] % SUM_AGAIN == 0 or work.real[IMAGE_SQUARES] < 0.0:
        work.real[IMAGE_SQUARES] = gram_square(work, work.x)
    xx, ss, x, q = work.real[IMAGE_SQUARES], vertex_square(work.vertex, work), work.pair[0], work.pair[1]
    for k in range(1, count + 1):
        x[work.places[k]], q[work.places[k]] = work.x[k], work.q[k]
    qx = qq = sx = 0.0
    for k in range(1, count + 1):
        s = vertex_entry(work.vertex, work, k)
        if work.q[k] != 0.0 or s != 0.0:
            x_row, q_row = row_products(work.gram[work.places[k]], x, q)
            qx += work.q[k] * x_row
            qq += work.q[k] * q_row
            sx += s * x_row
    qx, qq = qx / total, qq / (total * total)
    towards_s, towards_d = xx - 2.0 * sx + ss, xx - 2.0 * qx + qq
    difference = work.residual
    if towards_s < CANCELLED * xx:
        for k in range(1, count + 1):
            difference[k] = vertex_entry(work.vertex, work, k) - work.x[k]
        towards_s = gram_square(work, difference)
    if towards_d < CANCELLED * xx:
        for k in range(1, count + 1):
            difference[k] = work.q[k] / total - work.x[k]
        towards_d = gram_square(work, difference)
    return towards_s, towards_d, sx - xx, qx - xx
