"""Margins A x that follow x by the columns of the vertices, and what steps ask of them."""

from __future__ import annotations

import math

import numpy as np

from ._jit import jit
from .layout import (
    COUNT,
    ITERATION,
    LAMBDA,
    LENGTH,
    LSVRG,
    MARGIN_SCALE,
    MARGINS_AT,
    SARAH,
    VALUE,
    VERTEX,
)
from .rows import column, member

TINY = 1e-100
"""A scale below this is multiplied into its array."""


@jit()
def mean_length(indices, n):
    """Entries in the column of a random entry of the data."""
    lengths, total = np.zeros(n, dtype=np.uint32), 0.0
    for p in range(np.uint64(indices.size)):
        lengths[np.uint64(indices[p])] += np.uint32(1)
    for j in range(n):
        total += float(lengths[j]) ** 2
    return total / max(indices.size, 1)


@jit()
def column_add(model, j, coefficient, z):
    """z += coefficient A[:, j]. O(nonzeros of the column)."""
    entries, rows = column(model.columns, model.column_indices, model.column_indptr, j)
    for p in range(np.uint64(entries.size)):
        z[np.uint64(member(rows, p))] += coefficient * entries[p]


@jit()
def image_of(model, work, x, factor, z):
    """z = factor A x for a point in compact form."""
    z[:] = 0.0
    for k in range(1, work.whole[COUNT] + 1):
        if x[k] != 0.0:
            column_add(model, work.coordinates[k], factor * x[k], z)


@jit()
def shift_margins(model, work, factor):
    """margins += factor A q, for the q of this step."""
    for k in range(1, work.whole[COUNT] + 1):
        if work.q[k] != 0.0:
            column_add(model, work.coordinates[k], factor * work.q[k], work.margins)


@jit()
def form_margins(model, work):
    """margins = A x, afresh."""
    image_of(model, work, work.x, 1.0, work.margins)
    work.real[MARGIN_SCALE] = 1.0
    work.whole[MARGINS_AT] = work.whole[ITERATION]


@jit()
def follow_margins(model, rule, work):
    """Bring the margins from x^{t-1} to x^t, by the columns of the vertices of the last step."""
    t, length = work.whole[ITERATION], work.real[LENGTH]
    scale = work.real[MARGIN_SCALE] * (1.0 - length)
    if t % rule.refresh == 0 or scale < TINY:
        form_margins(model, work)
    elif work.whole[MARGINS_AT] < t:
        work.real[MARGIN_SCALE], work.whole[MARGINS_AT] = scale, t
        shift_margins(model, work, length / scale)


@jit(fastmath={"reassoc", "contract"})
def gram_products(gram, x, d, j):
    """<x, G x>, <d, G d> and (G x)_j."""
    xx = dd = at_j = 0.0
    for k in range(x.size):
        if x[k] != 0.0 or d[k] != 0.0 or k == j:
            row, x_row, d_row = gram[k], 0.0, 0.0
            for h in range(x.size):
                x_row += row[h] * x[h]
                d_row += row[h] * d[h]
            xx += x[k] * x_row
            dd += d[k] * d_row
            if k == j:
                at_j = x_row
    return xx, dd, at_j


@jit(fastmath={"reassoc", "contract"})
def sum_of_squares(z):
    """||z||^2."""
    total = 0.0
    for i in range(z.size):
        total += z[i] * z[i]
    return total


@jit()
def image_ratio(model, work):
    """||A(s - x)|| and ||A d~||, by the Gram matrix or by the margins.

    The margins are left at A(x - vbar), vbar = q / LAMBDA, which takes no other vector of m; `move_margins` goes on.
    """
    count, total = work.whole[COUNT], work.real[LAMBDA]
    value = work.real[VALUE]
    towards_s = towards_d = 0.0
    if model.gram.size > 0:
        x, d = work.pair[0], work.pair[1]
        for k in range(1, count + 1):
            x[work.coordinates[k]] = work.x[k]
            d[work.coordinates[k]] = work.q[k] / total - work.x[k]
        j = work.whole[VERTEX]
        xx, towards_d, at_j = gram_products(model.gram, x, d, j)
        towards_s = xx - 2.0 * value * at_j + value * value * model.gram[j, j]
    else:
        scale, squares = work.real[MARGIN_SCALE], sum_of_squares(work.margins)
        entries, rows = column(model.columns, model.column_indices, model.column_indptr, work.whole[VERTEX])
        dot = column_squares = 0.0
        for p in range(entries.size):
            dot += entries[p] * work.margins[member(rows, p)]
            column_squares += entries[p] * entries[p]
        towards_s = scale * scale * squares - 2.0 * value * scale * dot + value * value * column_squares
        shift_margins(model, work, -1.0 / (total * scale))
        towards_d = scale * scale * sum_of_squares(work.margins)
    return math.sqrt(max(towards_s, 0.0)), math.sqrt(max(towards_d, 0.0))


@jit()
def move_margins(model, rule, work, boosted, gamma):
    """From A(x - vbar) on to the margins of the next x, or back to those of x where another step is taken or the
    estimator asks for them once more."""
    real, whole = work.real, work.whole
    if boosted and rule.estimator != LSVRG and rule.estimator != SARAH:
        real[MARGIN_SCALE] *= 1.0 - gamma
        whole[MARGINS_AT] = whole[ITERATION] + 1
    shift_margins(model, work, 1.0 / (real[LAMBDA] * real[MARGIN_SCALE]))
