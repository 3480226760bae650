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
from ._jit import kernel, prefetch, prefetch_far
from .layout import COUNT, FLOOR, MARGIN_SCALE, SQUARES
from .lists import listed_margins
from .rows import INLINED, LAST_BIT, WORD, member, row_add, row_add_kept, row_dot, row_dots

AHEAD = 16
"""Rows by which `ask_for_row` runs ahead, and `ask_for_bounds` of it."""
GROUP, MOST_AT_ONCE = 16, 1024
"""Samples of a batch whose slopes are formed at once, from their rows, and without them at most."""
LINE, HALF_LINE = np.uint64(16), np.uint64(8)
"""Entries per cache line of 32-bit indices, and of 64-bit data."""


def ask_for_row(data: Any, indices: Any, indptr: Any, i: Any) -> Any:
    """Bring row i on its way to the caches: rows of a batch lie anywhere, and waiting for them is half the time."""


@overload(ask_for_row, jit_options=INLINED)
def _ask_for_row(data, indices, indptr, i) -> Callable[..., Any]:
    def dense(data, indices, indptr, i):
        pass

    def sparse(data, indices, indptr, i):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1]), LINE):
            prefetch_far(indices, p)
            prefetch_far(data, p)
            prefetch_far(data, p + HALF_LINE)

    return dense if isinstance(indices, types.NoneType) else sparse


def ask_for_bounds(indptr: Any, i: Any) -> Any:
    """The same for the positions where row i begins and ends, for which `ask_for_row` would have to wait."""


@overload(ask_for_bounds, jit_options=INLINED)
def _ask_for_bounds(indptr, i) -> Callable[..., Any]:
    def dense(indptr, i):
        pass

    def sparse(indptr, i):
        prefetch(indptr, np.uint64(i))

    return dense if isinstance(indptr, types.NoneType) else sparse


@kernel(forceinline=True)
def ask_for_first(data, indices, indptr, samples):
    """Before a loop over these samples: what `ask_ahead` asks for, of the first of them."""
    for k in range(min(2 * AHEAD, samples.size)):
        ask_for_bounds(indptr, samples[k])
    for k in range(min(AHEAD, samples.size)):
        ask_for_row(data, indices, indptr, samples[k])


@kernel(forceinline=True)
def ask_ahead(data, indices, indptr, samples, k):
    """At the k-th sample of a loop: ask for the row of a later one, and for the bounds of a still later one."""
    if k + 2 * AHEAD < samples.size:
        ask_for_bounds(indptr, samples[k + 2 * AHEAD])
    if k + AHEAD < samples.size:
        ask_for_row(data, indices, indptr, samples[k + AHEAD])


@kernel()
def mark_support(work):
    """Enter the coordinates that are new in the compact arrays into the set `bits`; its last word counts them."""
    bits, last = work.bits, work.bits.size - 1
    for k in range(bits[last] + np.uint64(1), work.whole[COUNT] + 1):
        j = np.uint64(work.coordinates[k])
        bits[j >> WORD] |= np.uint64(1) << (j & LAST_BIT)
    bits[last] = work.whole[COUNT]


@kernel()
def add_samples(data, indices, indptr, samples, coefficients, count, ask, g, bits, keys, floor):
    """g += sum_k coefficients[k] a_i over the first `count` samples i; `ask` says that their rows are far away. With
    `keys` as `row_add_kept` does; returns by how much ||g||^2 grew then."""
    grown = 0.0
    if ask:
        ask_for_first(data, indices, indptr, samples[:count])
    for k in range(count):
        if ask:
            ask_ahead(data, indices, indptr, samples[:count], k)
        if keys.size > 0:
            following = samples[min(k + 1, count - 1)]
            grown += row_add_kept(data, indices, indptr, samples[k], following, coefficients[k], g, bits, keys, floor)
        else:
            row_add(data, indices, indptr, samples[k], coefficients[k], g)
    return grown


@kernel(forceinline=True)
def add_changed(model, work, count, ask):
    """g += sum_k here[k] a_i over the first `count` of the `samples` i. Where Boost keeps bounds of |g|, they are kept,
    and ||g||^2 with them, as `onehot.boost` says."""
    work.real[SQUARES] += add_samples(
        model.data, model.indices, model.indptr, work.samples, work.here, count, ask, work.g, work.bits, work.keys,
        work.real[FLOOR],
    )  # fmt: skip


@kernel(forceinline=True)
def look_up(model, work, other, first, size):
    """<a_i, x> of `size` samples of the batch, from the `first` on, into `here`, and <a_i, other> into `there` if it
    is asked for."""
    batch, here, there, two = work.batch, work.here, work.there, other.size > 0
    if work.margins.size > 0:  # those of `other` have been left in `everyone`
        scale = work.real[MARGIN_SCALE]
        for k in range(size):
            here[k] = scale * work.margins[batch[first + k]]
            if two:
                there[k] = work.everyone[batch[first + k]]
    elif work.links.size > 0:
        listed_margins(model, work, other, first, size)
    else:
        data, indices, indptr, count = model.data, model.indices, model.indptr, work.whole[COUNT]
        slots, coordinates = work.slots, work.coordinates
        for k in range(size):
            ask_ahead(data, indices, indptr, batch, first + k)
            i = batch[first + k]
            if two:
                here[k], there[k] = row_dots(data, indices, indptr, i, slots, coordinates, count, work.x, other)
            else:
                here[k] = row_dot(data, indices, indptr, i, slots, coordinates, count, work.x)


@kernel()
def add_batch(model, rule, work, other, table, unit, store, factor):
    """For the k-th sample i of the batch: its slope d = w_i phi'(<a_i, x>, y_i), its change from an old slope (into
    change[k], where that is kept), and g += factor change a_i.

    The old slope is that at `other`, or table[i] (which `store` then replaces), or zero: an empty array means that it
    is not used. Table and changes are in units of `unit`. `here`, `there`, `labels` and `samples` have room for those
    whose slopes are formed together: a GROUP, while their rows are in the nearest cache, or many without rows, as those
    that have not changed, and only the slopes tell which, need no row at all.
    """
    if rule.bounded:
        mark_support(work)
    batch, here, there, labels, weight = work.batch, work.here, work.there, work.labels, model.sample_weight
    without_rows = work.margins.size > 0 or work.links.size > 0
    group = here.size if without_rows else GROUP
    if not without_rows:
        ask_for_first(model.data, model.indices, model.indptr, batch)
    for first in range(0, batch.size, group):
        size = min(group, batch.size - first)
        look_up(model, work, other, first, size)
        for k in range(size):
            i = batch[first + k]
            labels[k] = model.signs[i] if model.signs.size > 0 else model.y[i]
        losses.derivatives(model.loss, here[:group], labels, model.parameter)  # of what the last group left, too
        if other.size > 0:
            losses.derivatives(model.loss, there[:group], labels, model.parameter)
        changed = 0
        for k in range(size):
            i, d = batch[first + k], here[k]
            if other.size > 0:
                d -= there[k]
            if weight.size > 0:
                d *= weight[i]
            if table.size > 0:
                fresh = unit * d
                d = fresh - table[i]
                if store:
                    table[i] = fresh
            if work.change.size > 0:
                work.change[first + k] = d
            work.samples[changed], here[changed] = i, factor * d  # a branch would be foreseen wrongly
            changed += here[changed] != 0.0
        add_changed(model, work, changed, without_rows)


@kernel()
def add_rows(model, work, batch, coefficients, factor):
    """g += factor * sum_k coefficients[k] a_i over the samples i of the batch, None for all of them.

    From the last to the first: if this batch was the one before, its last rows and what they wrote are still near.
    """
    samples, scaled = work.samples, work.here
    for last in range(coefficients.size, 0, -samples.size):
        count = 0
        for k in range(last - 1, max(last - samples.size, 0) - 1, -1):
            samples[count], scaled[count] = member(batch, k), factor * coefficients[k]
            count += scaled[count] != 0.0
        add_changed(model, work, count, True)
