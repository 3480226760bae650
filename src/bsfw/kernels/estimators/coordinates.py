"""SEGA, JAGUAR and ZOJA: some coordinates of the gradient, read off the columns by margins that follow x."""

from __future__ import annotations

import numpy as np

from .. import losses
from .._jit import kernel, magnitude, phase
from ..gram import SUM_AGAIN
from ..onehot import BLOCK
from ..record import DONE
from ..rows import column_entry, column_span, member
from ._common import bring_margins, draw


@kernel()
def partial_derivative(model, work, difference, j):
    """Of f in coordinate j at the margins. O(nonzeros of the column)."""
    scale, offset, total = work.record[0].margin_scale, work.record[0].offset, 0.0
    weight = model.sample_weight
    start, end = column_span(model.columns, model.column_indptr, j)
    for p in range(start, end):
        i = member(model.column_indices, p)
        term = losses.slope(model.loss, scale * work.margins.z[i] + offset, model.y[i])
        term *= column_entry(model.columns, j, p)
        total += term * weight[i] if weight.size > 0 else term
    return total / model.y.size


@kernel()
def forward_difference(model, work, difference, j):
    """(f(x + h e_j) - f(x)) / h, sample by sample, so that rounding is no worse than in the difference of the sums."""
    scale, offset, total = work.record[0].margin_scale, work.record[0].offset, 0.0
    weight = model.sample_weight
    start, end = column_span(model.columns, model.column_indptr, j)
    for p in range(start, end):
        i = member(model.column_indices, p)
        z, y = scale * work.margins.z[i] + offset, model.y[i]
        term = losses.phi(model.loss, z + difference * column_entry(model.columns, j, p), y)
        term -= losses.phi(model.loss, z, y)
        total += term * weight[i] if weight.size > 0 else term
    return total / (difference * model.y.size)


@kernel()
def write(record, support, g, bounds, j, value):
    """g[j] = value; where Boost keeps bounds, that of its block is raised, and ||g||^2 follows.

    Coordinates in the compact arrays need no bound.
    """
    held = g[j]
    g[j] = value
    if bounds.tops.size > 0:
        record[0].squares += (value - held) * (value + held)
        if support.slots[j] == 0:
            bounds.blocks[j // BLOCK] = max(bounds.blocks[j // BLOCK], magnitude(value))


@phase()
def estimate_sega(model, rule, work, rate, random):
    """m^t = h + (n/b) sum_i e_i (grad_i f(x^t) - h_i), then h_i = grad_i f(x^t); `change` keeps what goes into h."""
    r, e, n = work.record[0], work.estimate, work.estimate.g.size
    b, read = e.batch.size, e.batch.size
    if r.iteration % SUM_AGAIN == 0:
        r.squares = -np.inf  # unknown: g is swept
    bring_margins(model, rule, work)
    if r.iteration == 0:
        for j in range(n):
            e.g[j] = partial_derivative(model, work, 0.0, j)
        read = n
    else:
        if r.iteration > 1:
            for k in range(b):
                write(work.record, work.support, e.g, work.bounds, e.batch[k], e.change[k])
        draw(random, n, e.marked, e.batch)
        for k in range(b):
            e.change[k] = partial_derivative(model, work, 0.0, e.batch[k])
            held = e.g[e.batch[k]]
            write(work.record, work.support, e.g, work.bounds, e.batch[k], held + n / b * (e.change[k] - held))
    r.coordinate_gradients += read
    return DONE


@kernel(forceinline=True)
def overwrite(model, rule, work, random, read):
    """m^t is m^{t-1} with the drawn coordinates read anew at x^{t-1} or x^t; returns how many."""
    r, e, n = work.record[0], work.estimate, work.estimate.g.size
    if r.iteration % SUM_AGAIN == 0:
        r.squares = -np.inf  # unknown: g is swept
    if r.iteration == 0 or rule.at_current:
        bring_margins(model, rule, work)
    if r.iteration == 0:
        for j in range(n):
            e.g[j] = read(model, work, rule.difference, j)
        return n
    draw(random, n, e.marked, e.batch)
    for k in range(e.batch.size):
        value = read(model, work, rule.difference, e.batch[k])
        write(work.record, work.support, e.g, work.bounds, e.batch[k], value)
    if not rule.at_current:
        bring_margins(model, rule, work)
    return e.batch.size


@phase()
def estimate_jaguar(model, rule, work, rate, random):
    """The drawn coordinates are partial derivatives."""
    work.record[0].coordinate_gradients += overwrite(model, rule, work, random, partial_derivative)
    return DONE


@phase()
def estimate_zoja(model, rule, work, rate, random):
    """The drawn coordinates are forward differences."""
    read = overwrite(model, rule, work, random, forward_difference)
    work.record[0].coordinate_gradients += read
    work.record[0].function_values += read + 1
    return DONE
