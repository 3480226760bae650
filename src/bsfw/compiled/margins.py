"""Margins A x that follow x by the columns of the vertices, and what steps ask of them."""

from __future__ import annotations

import numpy as np

from ._jit import jit, kernel
from .layout import (
    COUNT,
    IMAGE_SQUARES,
    ITERATION,
    LAMBDA,
    LENGTH,
    LSVRG,
    MARGIN_SCALE,
    MARGINS_AT,
    SARAH,
    VALUE,
    VERTEX,
    VERTEX_SLOT,
)
from .onehot import CANCELLED
from .rows import column_entry, column_span, member

TINY = 1e-100
"""A scale below this is multiplied into its array."""
SUM_AGAIN = 64
"""Iterations after which a sum of squares that is kept is formed anew, before rounding could show."""


@jit()
def mean_length(indices, n):
    """Entries in the column of a random entry of the data."""
    lengths, total = np.zeros(n, dtype=np.uint32), 0.0
    for p in range(np.uint64(indices.size)):
        lengths[np.uint64(indices[p])] += np.uint32(1)
    for j in range(n):
        total += float(lengths[j]) ** 2
    return total / max(indices.size, 1)


@kernel()
def column_add(model, j, coefficient, z):
    """z += coefficient A[:, j]. O(nonzeros of the column)."""
    start, end = column_span(model.columns, model.column_indptr, j)
    for p in range(start, end):
        z[np.uint64(member(model.column_indices, p))] += coefficient * column_entry(model.columns, j, p)


@kernel()
def image_of(model, work, x, factor, z):
    """z = factor A x for a point in compact form."""
    z[:] = 0.0
    for k in range(1, work.whole[COUNT] + 1):
        if x[k] != 0.0:
            column_add(model, work.coordinates[k], factor * x[k], z)


@kernel()
def shift_margins(model, work, factor):
    """margins += factor A q, for the q of this step."""
    for k in range(1, work.whole[COUNT] + 1):
        if work.q[k] != 0.0:
            column_add(model, work.coordinates[k], factor * work.q[k], work.margins)


@kernel()
def form_margins(model, work):
    """margins = A x, afresh."""
    image_of(model, work, work.x, 1.0, work.margins)
    work.real[MARGIN_SCALE] = 1.0
    work.whole[MARGINS_AT] = work.whole[ITERATION]


@kernel()
def follow_margins(model, rule, work):
    """Bring the margins from x^{t-1} to x^t, by the columns of the vertices of the last step."""
    t, length = work.whole[ITERATION], work.real[LENGTH]
    scale = work.real[MARGIN_SCALE] * (1.0 - length)
    if t % rule.refresh == 0 or scale < TINY:
        form_margins(model, work)
    elif work.whole[MARGINS_AT] < t:
        work.real[MARGIN_SCALE], work.whole[MARGINS_AT] = scale, t
        shift_margins(model, work, length / scale)


@kernel(fastmath={"reassoc", "contract"})
def row_products(row, x, q):
    """<row, x> and <row, q>."""
    one = two = 0.0
    for k in range(x.size):
        one += row[k] * x[k]
        two += row[k] * q[k]
    return one, two


@kernel()
def gram_square(model, work, d):
    """||A d||^2 = <d, G d> for the compact d. O(n) for each nonzero."""
    spread, total = work.pair[0], 0.0
    for k in range(1, work.whole[COUNT] + 1):
        spread[work.coordinates[k]] = d[k]
    for k in range(1, work.whole[COUNT] + 1):
        if d[k] != 0.0:
            product, _ = row_products(model.gram[work.coordinates[k]], spread, spread)
            total += d[k] * product
    return total


@kernel()
def gram_ratio(model, work):
    """||A(s - x)||^2, ||A d~||^2 and the products of A x with the two, by G = A^T A and the ||A x||^2 that is kept.

    O(n) for each vertex of the step, not for each coordinate of x. What is kept is summed anew before rounding could
    show, and so is a difference that has cancelled.
    """
    count, slot, value, total = work.whole[COUNT], work.whole[VERTEX_SLOT], work.real[VALUE], work.real[LAMBDA]
    if work.whole[ITERATION] % SUM_AGAIN == 0 or work.real[IMAGE_SQUARES] < 0.0:
        work.real[IMAGE_SQUARES] = gram_square(model, work, work.x)
    xx, x, q = work.real[IMAGE_SQUARES], work.pair[0], work.pair[1]
    for k in range(1, count + 1):
        x[work.coordinates[k]], q[work.coordinates[k]] = work.x[k], work.q[k]
    qx = qq = sx = 0.0
    for k in range(1, count + 1):
        if work.q[k] != 0.0 or k == slot:
            x_row, q_row = row_products(model.gram[work.coordinates[k]], x, q)
            qx += work.q[k] * x_row
            qq += work.q[k] * q_row
            if k == slot:
                sx = value * x_row
    qx, qq = qx / total, qq / (total * total)
    ss = value * value * model.gram[work.whole[VERTEX], work.whole[VERTEX]]
    towards_s, towards_d = xx - 2.0 * sx + ss, xx - 2.0 * qx + qq
    difference = work.residual
    if towards_s < CANCELLED * xx:
        for k in range(1, count + 1):
            difference[k] = (value if k == slot else 0.0) - work.x[k]
        towards_s = gram_square(model, work, difference)
    if towards_d < CANCELLED * xx:
        for k in range(1, count + 1):
            difference[k] = work.q[k] / total - work.x[k]
        towards_d = gram_square(model, work, difference)
    return towards_s, towards_d, sx - xx, qx - xx


@kernel(fastmath={"reassoc", "contract"})
def sum_of_squares(z):
    """||z||^2."""
    total = 0.0
    for i in range(z.size):
        total += z[i] * z[i]
    return total


@kernel()
def margin_ratio(model, work):
    """||A(s - x)||^2 and ||A d~||^2 by the margins.

    They are left at A(x - vbar), vbar = q / LAMBDA, which takes no other vector of m; `move_margins` goes on.
    """
    total, value = work.real[LAMBDA], work.real[VALUE]
    scale, squares = work.real[MARGIN_SCALE], sum_of_squares(work.margins)
    start, end = column_span(model.columns, model.column_indptr, work.whole[VERTEX])
    dot = column_squares = 0.0
    for p in range(start, end):
        entry = column_entry(model.columns, work.whole[VERTEX], p)
        dot += entry * work.margins[np.uint64(member(model.column_indices, p))]
        column_squares += entry * entry
    towards_s = scale * scale * squares - 2.0 * value * scale * dot + value * value * column_squares
    shift_margins(model, work, -1.0 / (total * scale))
    return towards_s, scale * scale * sum_of_squares(work.margins)


@kernel()
def move_margins(model, rule, work, boosted, gamma):
    """From A(x - vbar) on to the margins of the next x, or back to those of x where another step is taken or the
    estimator asks for them once more."""
    real, whole = work.real, work.whole
    if boosted and rule.estimator != LSVRG and rule.estimator != SARAH:
        real[MARGIN_SCALE] *= 1.0 - gamma
        whole[MARGINS_AT] = whole[ITERATION] + 1
    shift_margins(model, work, 1.0 / (real[LAMBDA] * real[MARGIN_SCALE]))
