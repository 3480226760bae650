"""Batches of samples: their slopes, what has changed of them, and the rows of those added to g.

Slopes come from margins A x that follow x, from the lists of the support, or from the rows themselves. With the first
two the slopes of many samples are formed before a row is read, and rows of samples that have not changed are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from . import losses
from ._jit import INLINED, kernel, prefetch
from .lists import listed_margins
from .rows import row_add, row_add_kept, row_dot

AHEAD = 16
"""Rows by which `prefetch_row` runs ahead, and `prefetch_span` of it."""
GROUP, MOST_TOGETHER = 16, 1024
"""Samples of a batch whose slopes are formed together, from their rows, and without them at most."""
LINE, HALF_LINE = np.uint64(16), np.uint64(8)
"""Entries per cache line of 32-bit indices, and of 64-bit data."""


def prefetch_row(data: Any, indices: Any, indptr: Any, i: Any) -> Any:
    """Prefetch row i: rows of a batch lie anywhere, and waiting for them is half the time. Nothing for dense data."""


@overload(prefetch_row, jit_options=INLINED)
def _prefetch_row(data, indices, indptr, i) -> Callable[..., Any]:
    def dense(data, indices, indptr, i):
        pass

    def sparse(data, indices, indptr, i):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]), LINE):
            prefetch(indices, p, False)
            prefetch(data, p, False)
            prefetch(data, p + HALF_LINE, False)

    return dense if isinstance(indices, types.NoneType) else sparse


def prefetch_span(indptr: Any, i: Any) -> Any:
    """The same for the positions where row i begins and ends, for which `prefetch_row` would have to wait."""


@overload(prefetch_span, jit_options=INLINED)
def _prefetch_span(indptr, i) -> Callable[..., Any]:
    def dense(indptr, i):
        pass

    def sparse(indptr, i):
        prefetch(indptr, np.uint64(i), True)

    return dense if isinstance(indptr, types.NoneType) else sparse


@kernel(forceinline=True)
def prefetch_ahead(model, samples, k):
    """At the k-th sample of a loop: the row of a later one, and the span of a still later one; before the loop, with
    k = -1, those of the first ones."""
    if k < 0:
        for i in range(min(2 * AHEAD, samples.size)):
            prefetch_span(model.indptr, samples[i])
        for i in range(min(AHEAD, samples.size)):
            prefetch_row(model.data, model.indices, model.indptr, samples[i])
        return
    if k + 2 * AHEAD < samples.size:
        prefetch_span(model.indptr, samples[k + 2 * AHEAD])
    if k + AHEAD < samples.size:
        prefetch_row(model.data, model.indices, model.indptr, samples[k + AHEAD])


@kernel()
def add_samples(model, g, slots, bounds, floor, samples, coefficients, far):
    """g += sum_k coefficients[k] a_i over the samples i; `far` says that their rows are not in the caches. Where Boost
    keeps bounds of |g|, they are kept, as `onehot` says; returns by how much ||g||^2 grew then."""
    data, indices, indptr, grown = model.data, model.indices, model.indptr, 0.0
    if far:
        prefetch_ahead(model, samples, -1)
    for k in range(samples.size):
        if far:
            prefetch_ahead(model, samples, k)
        if bounds.tops.size > 0:
            following = samples[min(k + 1, samples.size - 1)]
            grown += row_add_kept(
                data, indices, indptr, samples[k], following, coefficients[k], g, slots, bounds.blocks, floor
            )
        else:
            row_add(data, indices, indptr, samples[k], coefficients[k], g)
    return grown


@kernel(forceinline=True)
def batch_margins(model, work, samples, first, size, other):
    """<a_i, x> of `size` samples of the batch, from the `first` on, into `batch.margins`, and <a_i, other> into
    `batch.others` if it is asked for."""
    margins, others, z, table = work.batch.margins, work.batch.others, work.margins.z, work.estimate.table
    support, count, scale = work.support, work.record[0].count, work.record[0].margin_scale
    if z.size > 0:  # those of `other` have been left in the table
        for k in range(size):
            margins[k] = scale * z[samples[first + k]]
            if other.size > 0:
                others[k] = table[samples[first + k]]
    elif work.lists.links.size > 0:
        listed_margins(model, support, work.lists, samples[first : first + size], work.batch, other)
    else:
        data, indices, indptr, slots, coordinates = (
            model.data, model.indices, model.indptr, support.slots, support.coordinates
        )  # fmt: skip
        for k in range(size):
            prefetch_ahead(model, samples, first + k)
            i = samples[first + k]
            margins[k] = row_dot(data, indices, indptr, i, slots, coordinates, count, support.x)
            if other.size > 0:
                others[k] = row_dot(data, indices, indptr, i, slots, coordinates, count, other)


@kernel()
def add_batch(model, work, other, table, unit, store, factor):
    """For the k-th sample i of the batch: its slope d = w_i phi'(<a_i, x> + offset, y_i), its change from an old slope
    (into change[k], where that is kept), and g += factor change a_i.

    The old slope is that at `other`, or table[i] (which `store` then replaces), or zero: an empty array means that it
    is not used. Table and changes are in units of `unit`. Slopes are formed of a GROUP of samples together, while their
    rows are in the nearest cache, or of many without rows, as those that have not changed, and only the slopes tell
    which, need no row at all.
    """
    r, samples, change, g = work.record[0], work.estimate.batch, work.estimate.change, work.estimate.g
    scratch, weight, offset = work.batch, model.sample_weight, r.offset
    margins, others, labels = scratch.margins, scratch.others, scratch.labels
    without_rows = work.margins.z.size > 0 or work.lists.links.size > 0
    group = margins.size if without_rows else GROUP
    if not without_rows:
        prefetch_ahead(model, samples, -1)
    for first in range(0, samples.size, group):
        size = min(group, samples.size - first)
        batch_margins(model, work, samples, first, size, other)
        for k in range(size):
            labels[k] = model.y[samples[first + k]]
            margins[k] += offset
            others[k] += offset
        losses.slopes(model.loss, margins[:size], labels)
        if other.size > 0:
            losses.slopes(model.loss, others[:size], labels)
        changed = 0
        for k in range(size):
            i, d = samples[first + k], margins[k]
            if other.size > 0:
                d -= others[k]
            if weight.size > 0:
                d *= weight[i]
            if table.size > 0:
                fresh = unit * d
                d = fresh - table[i]
                if store:
                    table[i] = fresh
            if change.size > 0:
                change[first + k] = d
            scratch.samples[changed], margins[changed] = i, factor * d  # a branch would be mispredicted
            changed += margins[changed] != 0.0
        r.squares += add_samples(
            model, g, work.support.slots, work.bounds, r.floor, scratch.samples[:changed], margins, without_rows
        )


@kernel()
def add_rows(model, work, batch, coefficients, factor):
    """g += factor * sum_k coefficients[k] a_i over the samples i of the batch."""
    r, samples, scaled = work.record[0], work.batch.samples, work.batch.margins
    for first in range(0, coefficients.size, samples.size):
        count = 0
        for k in range(first, min(first + samples.size, coefficients.size)):
            samples[count], scaled[count] = batch[k], factor * coefficients[k]
            count += scaled[count] != 0.0
        r.squares += add_samples(
            model, work.estimate.g, work.support.slots, work.bounds, r.floor, samples[:count], scaled, True
        )
