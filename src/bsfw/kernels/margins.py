"""Margins A x that follow x by the columns of the vertices, and lengths in the image by them.

Invariant: where margins are kept, margin_scale * z = A x for the x of iteration `margins_at`.
"""

from __future__ import annotations

import numpy as np

from ._jit import SUMS, address_of, entry, jit, kernel
from .rows import column_entry, column_span, member, row_add

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
def add_columns(columns, indices, indptr, coordinates, count, x, factor, z):
    """z += factor A x for a point in compact form, by the columns of A."""
    for k in range(1, count + 1):
        if x[k] != 0.0:
            row_add(columns, indices, indptr, coordinates[k], factor * x[k], z)


@kernel()
def add_image(model, coordinates, count, x, factor, z):
    """z += factor A x for a point in compact form."""
    add_columns(model.columns, model.column_indices, model.column_indptr, coordinates, count, x, factor, z)


@entry()
def image_of(columns, indices, indptr, coordinates, count, x, factor, z):
    """z = factor A x for a point in compact form."""
    z[:] = 0.0
    add_columns(columns, indices, indptr, coordinates, count, x, factor, z)


def compile_image(model):
    """Compile `image_of` for the columns of a model."""
    empty = np.empty(0)
    address_of(image_of, (*model[3:6], np.empty(0, dtype=np.int64), 0, empty, 1.0, empty))


@kernel()
def form_margins(model, record, support, z):
    """Margins of x, afresh."""
    r = record[0]
    z[:] = 0.0
    add_image(model, support.coordinates, r.count, support.x, 1.0, z)
    r.margin_scale, r.margins_at = 1.0, r.iteration


@kernel()
def follow_margins(model, record, support, z, refresh):
    """Bring the margins from x^{t-1} to x^t, by the columns of the vertices of the last step."""
    r = record[0]
    scale = r.margin_scale * (1.0 - r.length)
    if r.iteration % refresh == 0 or scale < TINY:
        form_margins(model, record, support, z)
    elif r.margins_at < r.iteration:
        r.margin_scale, r.margins_at = scale, r.iteration
        add_image(model, support.coordinates, r.count, support.q, r.length / scale, z)


@kernel(fastmath=SUMS)
def squares_apart(z, scale, other):
    """||z||^2 and ||scale z - other||^2; an empty `other` is zero."""
    squares = apart = 0.0
    if other.size == 0:
        for i in range(z.size):
            squares += z[i] * z[i]
        return squares, scale * scale * squares
    for i in range(z.size):
        difference = scale * z[i] - other[i]
        squares += z[i] * z[i]
        apart += difference * difference
    return squares, apart


@kernel(fastmath=SUMS)
def column_products(model, j, z):
    """<A[:, j], z> and ||A[:, j]||^2. O(nonzeros of the column)."""
    start, end = column_span(model.columns, model.column_indptr, j)
    dot = squares = 0.0
    for p in range(start, end):
        value = column_entry(model.columns, j, p)
        dot += value * z[np.uint64(member(model.column_indices, p))]
        squares += value * value
    return dot, squares


@kernel()
def margin_lengths(model, record, support, margins):
    """||A(s - x)||^2 and ||A d~||^2 by the margins.

    A vbar, vbar = q / total, goes into `image`; where there is no such vector of m, the margins themselves are left at
    A(x - vbar). `move_margins` goes on.
    """
    r, z, image, coordinates, vertex = record[0], margins.z, margins.image, support.coordinates, support.vertex
    scale, entries, last = r.margin_scale, 0, 0
    for k in range(1, r.count + 1):
        if vertex[k] != 0.0:
            entries, last = entries + 1, k
    dot = column_squares = towards_s = 0.0
    if entries == 1:
        dot, column_squares = column_products(model, coordinates[last], z)
    elif image.size > 0:
        add_image(model, coordinates, r.count, vertex, 1.0, image)
        _, towards_s = squares_apart(z, scale, image)
        image[:] = 0.0
    else:
        add_image(model, coordinates, r.count, vertex, -1.0 / scale, z)
        _, towards_s = squares_apart(z, scale, image)
        add_image(model, coordinates, r.count, vertex, 1.0 / scale, z)
    if image.size > 0:
        add_image(model, coordinates, r.count, support.q, 1.0 / r.total, image)
        squares, towards_d = squares_apart(z, scale, image)
    else:
        squares, _ = squares_apart(z, scale, image)
        add_image(model, coordinates, r.count, support.q, -1.0 / (r.total * scale), z)
        _, towards_d = squares_apart(z, scale, image)
    if entries == 1:
        value = vertex[last]
        towards_s = scale * scale * squares - 2.0 * value * scale * dot + value * value * column_squares
    return towards_s, towards_d


@kernel()
def move_margins(model, record, support, margins, onward, gamma):
    """From where `margin_lengths` left them `onward` to the margins of the next x, or back to those of x where another
    step is taken or the estimator asks for them once more."""
    r, z, image = record[0], margins.z, margins.image
    if onward:
        r.margin_scale *= 1.0 - gamma
        r.margins_at = r.iteration + 1
    if image.size == 0:
        add_image(model, support.coordinates, r.count, support.q, 1.0 / (r.total * r.margin_scale), z)
    elif onward:
        factor = gamma / r.margin_scale
        for i in range(z.size):
            z[i] += factor * image[i]
            image[i] = 0.0
    else:
        image[:] = 0.0
