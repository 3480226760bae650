"""Lengths in the image, ||A d||, by the Gram matrix A^T A: no number per sample is touched.

For data with few columns; the matrix is made once and kept with the data.
"""

from __future__ import annotations

from ._jit import SUMS, kernel
from .rounds import CANCELLED

SUM_AGAIN = 64
"""Iterations after which a sum of squares that is kept is formed anew, before rounding could show."""


@kernel(fastmath=SUMS)
def row_products(row, x, q):
    """<row, x> and <row, q>."""
    one = two = 0.0
    for k in range(x.size):
        one += row[k] * x[k]
        two += row[k] * q[k]
    return one, two


@kernel()
def gram_square(gram, coordinates, count, d):
    """||A d||^2 = <d, G d> for the compact d. O(n) for each nonzero."""
    spread, total = gram.pair[0], 0.0
    for k in range(1, count + 1):
        spread[coordinates[k]] = d[k]
    for k in range(1, count + 1):
        if d[k] != 0.0:
            product, _ = row_products(gram.matrix[coordinates[k]], spread, spread)
            total += d[k] * product
    return total


@kernel()
def gram_lengths(record, support, gram, scratch):
    """||A(s - x)||^2, ||A d~||^2 and the products of A x with the two, by G = A^T A and the ||A x||^2 that is kept.

    O(n) for each vertex of the step, not for each coordinate of x. What is kept is summed anew before rounding could
    show, and so is a difference that has cancelled; `scratch` is a compact array.
    """
    r, s, coordinates = record[0], support.vertex, support.coordinates
    if r.iteration % SUM_AGAIN == 0 or r.image_squares < 0.0:
        r.image_squares = gram_square(gram, coordinates, r.count, support.x)
    xx, x, q = r.image_squares, gram.pair[0], gram.pair[1]
    ss = gram_square(gram, coordinates, r.count, s)
    for k in range(1, r.count + 1):
        x[coordinates[k]], q[coordinates[k]] = support.x[k], support.q[k]
    qx = qq = sx = 0.0
    for k in range(1, r.count + 1):
        if support.q[k] != 0.0 or s[k] != 0.0:
            x_row, q_row = row_products(gram.matrix[coordinates[k]], x, q)
            qx += support.q[k] * x_row
            qq += support.q[k] * q_row
            sx += s[k] * x_row
    qx, qq = qx / r.total, qq / (r.total * r.total)
    towards_s, towards_d = xx - 2.0 * sx + ss, xx - 2.0 * qx + qq
    if towards_s < CANCELLED * xx:
        for k in range(1, r.count + 1):
            scratch[k] = s[k] - support.x[k]
        towards_s = gram_square(gram, coordinates, r.count, scratch)
    if towards_d < CANCELLED * xx:
        for k in range(1, r.count + 1):
            scratch[k] = support.q[k] / r.total - support.x[k]
        towards_d = gram_square(gram, coordinates, r.count, scratch)
    return towards_s, towards_d, sx - xx, qx - xx
