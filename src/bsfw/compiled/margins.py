"""Margins A x that follow x by the columns of the vertices, and the steps that ask them, for want of a Gram matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ._jit import jit, kernel
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
from .rows import INLINED, column_entry, column_span, member, row_add

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


@kernel()
def add_image(model, work, x, factor, z):
    """z += factor A x for a point in compact form."""
    for k in range(1, work.whole[COUNT] + 1):
        if x[k] != 0.0:
            row_add(model.columns, model.column_indices, model.column_indptr, work.coordinates[k], factor * x[k], z)


@kernel()
def image_of(model, work, x, factor, z):
    """z = factor A x for a point in compact form."""
    z[:] = 0.0
    add_image(model, work, x, factor, z)


@kernel()
def image_of_vertex(model, work, z):
    """z = A s."""
    z[:] = 0.0
    row_add(
        model.columns, model.column_indices, model.column_indptr, work.whole[VERTEX], work.real[VALUE], z
    )  # fmt: skip


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
        add_image(model, work, work.q, length / scale, work.margins)


@kernel(fastmath={"reassoc", "contract"})
def sum_of_squares(z):
    """||z||^2."""
    total = 0.0
    for i in range(z.size):
        total += z[i] * z[i]
    return total


@kernel(fastmath={"reassoc", "contract"})
def squares_apart(z, scale, other):
    """||z||^2 and ||scale z - other||^2."""
    squares = apart = 0.0
    for i in range(z.size):
        difference = scale * z[i] - other[i]
        squares += z[i] * z[i]
        apart += difference * difference
    return squares, apart


@kernel(fastmath={"reassoc", "contract"})
def column_products(model, j, z):
    """<A[:, j], z> and ||A[:, j]||^2. O(nonzeros of the column)."""
    start, end = column_span(model.columns, model.column_indptr, j)
    dot = squares = 0.0
    for p in range(start, end):
        entry = column_entry(model.columns, j, p)
        dot += entry * z[np.uint64(member(model.column_indices, p))]
        squares += entry * entry
    return dot, squares


@kernel()
def towards_average(model, work):
    """||A x||^2, in units of MARGIN_SCALE^2, and ||A d~||^2.

    A vbar, vbar = q / LAMBDA, goes into `image`, which holds zeros between two steps; where there is no such vector of
    m, the margins themselves are left at A(x - vbar). `move_margins` goes on.
    """
    z, total, scale = work.margins, work.real[LAMBDA], work.real[MARGIN_SCALE]
    if work.image.size > 0:
        add_image(model, work, work.q, 1.0 / total, work.image)
        return squares_apart(z, scale, work.image)
    squares = sum_of_squares(z)
    add_image(model, work, work.q, -1.0 / (total * scale), z)
    return squares, scale * scale * sum_of_squares(z)


def margin_ratio(vertex: Any, model: Any, work: Any) -> Any:
    """||A(s - x)||^2 and ||A d~||^2 by the margins, left as `towards_average` says. A name only: see `rows`."""


@overload(margin_ratio, jit_options=INLINED)
def _margin_ratio(vertex, model, work) -> Callable[..., Any]:
    def one_hot(vertex, model, work):
        value, scale = work.real[VALUE], work.real[MARGIN_SCALE]
        dot, column_squares = column_products(model, work.whole[VERTEX], work.margins)
        squares, towards_d = towards_average(model, work)
        return scale * scale * squares - 2.0 * value * scale * dot + value * value * column_squares, towards_d

    def sparse(vertex, model, work):
        z, image, scale = work.margins, work.image, work.real[MARGIN_SCALE]
        if image.size > 0:
            add_image(model, work, vertex, 1.0, image)
            _, towards_s = squares_apart(z, scale, image)
            image[:] = 0.0
        else:
            add_image(model, work, vertex, -1.0 / scale, z)
            towards_s = scale * scale * sum_of_squares(z)
            add_image(model, work, vertex, 1.0 / scale, z)
        _, towards_d = towards_average(model, work)
        return towards_s, towards_d

    return one_hot if isinstance(vertex, types.NoneType) else sparse


@kernel()
def move_margins(model, rule, work, boosted, gamma):
    """From where `margin_ratio` left them on to the margins of the next x, or back to those of x where another step is
    taken or the estimator asks for them once more."""
    real, whole, z, image = work.real, work.whole, work.margins, work.image
    onward = boosted and rule.estimator != LSVRG and rule.estimator != SARAH
    if onward:
        real[MARGIN_SCALE] *= 1.0 - gamma
        whole[MARGINS_AT] = whole[ITERATION] + 1
    if image.size == 0:
        add_image(model, work, work.q, 1.0 / (real[LAMBDA] * real[MARGIN_SCALE]), z)
    elif onward:
        factor = gamma / real[MARGIN_SCALE]
        for i in range(z.size):
            z[i] += factor * image[i]
            image[i] = 0.0
    else:
        image[:] = 0.0
