"""Lengths in the image, ||A d||, by the Gram matrix of the columns in the support: no number per sample is touched.

Data with few columns have the matrix of all of them, made once and kept with the data, in which coordinate j has place
j. For others it grows with the support, with a place for each slot of the compact arrays, as long as it has room.
"""

from __future__ import annotations

import numpy as np

from ._jit import SUMS, kernel
from .rounds import CANCELLED
from .rows import column_entry, column_span, member

SUM_AGAIN = 64
"""Iterations after which a sum of squares that is kept is formed anew, before rounding could show."""


@kernel()
def gram_at_hand(model, count, coordinates, gram):
    """Whether there is a Gram matrix of the whole support; what it lacks is formed first."""
    if gram.formed.size == 0:
        return gram.matrix.size > 0
    if count >= gram.matrix.shape[0]:
        return False
    for slot in range(gram.formed[0] + 1, count + 1):
        extend_gram(model, coordinates, gram, slot)
    gram.formed[0] = count
    return True


@kernel()
def extend_gram(model, coordinates, gram, new):
    """The products of column `new` of the support with those before it. O(their entries).

    The new column is spread over a window of rows, which takes no vector of m; the others are read through it.
    """
    matrix, cursors, window = gram.matrix, gram.cursors, gram.window
    for k in range(1, new + 1):
        cursors[k], _ = column_span(model.columns, model.column_indptr, coordinates[k])
        matrix[new, k] = 0.0
    p, last = column_span(model.columns, model.column_indptr, coordinates[new])
    for first in range(np.uint64(0), np.uint64(model.y.size), np.uint64(window.size)):
        beyond = first + np.uint64(window.size)
        window[:] = 0.0
        while p < last and np.uint64(member(model.column_indices, p)) < beyond:
            row = np.uint64(member(model.column_indices, p)) - first
            window[row] += column_entry(model.columns, coordinates[new], p)
            p += np.uint64(1)
        for k in range(1, new + 1):
            c, total, j = cursors[k], 0.0, coordinates[k]
            _, end = column_span(model.columns, model.column_indptr, j)
            while c < end and np.uint64(member(model.column_indices, c)) < beyond:
                total += column_entry(model.columns, j, c) * window[np.uint64(member(model.column_indices, c)) - first]
                c += np.uint64(1)
            cursors[k] = c
            matrix[new, k] += total
    for k in range(1, new):
        matrix[k, new] = matrix[new, k]


@kernel(fastmath=SUMS)
def row_products(row, x, q):
    """<row, x> and <row, q>."""
    one = two = 0.0
    for k in range(x.size):
        one += row[k] * x[k]
        two += row[k] * q[k]
    return one, two


@kernel()
def gram_square(gram, count, d):
    """||A d||^2 = <d, G d> for the compact d. O(support), or O(n) with the matrix of all columns, for each nonzero."""
    spread, total = gram.pair[0], 0.0
    for k in range(1, count + 1):
        spread[gram.places[k]] = d[k]
    for k in range(1, count + 1):
        if d[k] != 0.0:
            product, _ = row_products(gram.matrix[gram.places[k]], spread, spread)
            total += d[k] * product
    return total


@kernel()
def gram_lengths(record, support, gram, scratch):
    """||A(s - x)||^2, ||A d~||^2 and the products of A x with the two, by G = A^T A and the ||A x||^2 that is kept.

    O(support) for each vertex of the step, not for each coordinate of x. What is kept is summed anew before rounding
    could show, and so is a difference that has cancelled; `scratch` is a compact array.
    """
    r, s, places = record[0], support.vertex, gram.places
    if r.iteration % SUM_AGAIN == 0 or r.image_squares < 0.0:
        r.image_squares = gram_square(gram, r.count, support.x)
    xx, x, q = r.image_squares, gram.pair[0], gram.pair[1]
    ss = gram_square(gram, r.count, s)
    for k in range(1, r.count + 1):
        x[places[k]], q[places[k]] = support.x[k], support.q[k]
    qx = qq = sx = 0.0
    for k in range(1, r.count + 1):
        if support.q[k] != 0.0 or s[k] != 0.0:
            x_row, q_row = row_products(gram.matrix[places[k]], x, q)
            qx += support.q[k] * x_row
            qq += support.q[k] * q_row
            sx += s[k] * x_row
    qx, qq = qx / r.total, qq / (r.total * r.total)
    towards_s, towards_d = xx - 2.0 * sx + ss, xx - 2.0 * qx + qq
    if towards_s < CANCELLED * xx:
        for k in range(1, r.count + 1):
            scratch[k] = s[k] - support.x[k]
        towards_s = gram_square(gram, r.count, scratch)
    if towards_d < CANCELLED * xx:
        for k in range(1, r.count + 1):
            scratch[k] = support.q[k] / r.total - support.x[k]
        towards_d = gram_square(gram, r.count, scratch)
    return towards_s, towards_d, sx - xx, qx - xx
