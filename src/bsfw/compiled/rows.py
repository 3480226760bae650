"""Products with rows and columns of the data, which is CSR (CSC for columns) or dense: `indices` is None for dense.

`member`, `row_dot`, `row_add`, `column_span` and their like are names only: Numba picks the body by the types when a
kernel that calls them is compiled. Loops run over unsigned positions, for which no code for negative indices is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from . import losses
from ._jit import kernel, prefetch, prefetch_far
from .layout import FLOOR, SQUARES

INLINED: Any = {"forceinline": True, "_nrt": False}
"""As `kernel`, and inside of whoever calls."""
AHEAD = 16
"""Rows by which `ask_for_row` runs ahead, and `ask_for_bounds` of it."""
PIECE = np.uint64(256)
"""Entries of a row that `rare_dots` looks at before it reads those it found."""
GROUP, MOST_AT_ONCE = 16, 1024
"""Samples of a batch whose slopes are formed at once, from their rows, and from margins at most."""
LINE, HALF_LINE = np.uint64(16), np.uint64(8)
"""Entries per cache line of 32-bit indices, and of 64-bit data."""
BLOCK_BITS = np.uint64(8)
"""Coordinate j is in block j >> 8 of the keys of the LMO."""
WORD, LAST_BIT = np.uint64(6), np.uint64(63)
"""Coordinate j is bit j & 63 of word j >> 6 of the set that `held_in` looks into."""


@kernel(forceinline=True)
def held_in(bits, j):
    """Whether coordinate j is in the set. The set is n/8 bytes, so that a look finds it in the nearest cache."""
    return (bits[j >> WORD] >> (j & LAST_BIT)) & np.uint64(1)


def member(batch: Any, k: Any) -> Any:
    """batch[k], or k itself if `batch` is None, which stands for all samples or rows."""


@overload(member, jit_options=INLINED)
def _member(batch, k) -> Callable[..., Any]:
    if isinstance(batch, types.NoneType):
        return lambda batch, k: k
    return lambda batch, k: batch[k]


def row_dots(
    data: Any, indices: Any, indptr: Any, i: Any, slots: Any, coordinates: Any, count: Any, x: Any, other: Any
) -> Any:
    """<a_i, x> and <a_i, other> for two points in compact form. O(nonzeros of the row), O(count) for dense data."""


@overload(row_dots, jit_options=INLINED)
def _row_dots(data, indices, indptr, i, slots, coordinates, count, x, other) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x, other):
        one = two = 0.0
        for k in range(np.uint64(1), np.uint64(count + 1)):
            one += data[i, coordinates[k]] * x[k]
            two += data[i, coordinates[k]] * other[k]
        return one, two

    def sparse(data, indices, indptr, i, slots, coordinates, count, x, other):
        one = two = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            k = slots[np.uint64(indices[p])]
            one += data[p] * x[k]
            two += data[p] * other[k]
        return one, two

    return dense if isinstance(indices, types.NoneType) else sparse


def row_dot(data: Any, indices: Any, indptr: Any, i: Any, slots: Any, coordinates: Any, count: Any, x: Any) -> Any:
    """<a_i, x>: the first number of `row_dots`."""


@overload(row_dot, jit_options=INLINED)
def _row_dot(data, indices, indptr, i, slots, coordinates, count, x) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        for k in range(np.uint64(1), np.uint64(count + 1)):
            total += data[i, coordinates[k]] * x[k]
        return total

    def sparse(data, indices, indptr, i, slots, coordinates, count, x):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[p] * x[slots[np.uint64(indices[p])]]
        return total

    return dense if isinstance(indices, types.NoneType) else sparse


def rare_dots(
    data: Any,
    indices: Any,
    indptr: Any,
    i: Any,
    slots: Any,
    coordinates: Any,
    count: Any,
    x: Any,
    other: Any,
    bits: Any,
    found: Any,
) -> Any:
    """`row_dots` for a row that has few entries in the support, the set `bits`, and how many; without an `other` the
    second number is zero.

    Their positions are collected in `found` first, without a branch, which would often be foreseen wrongly; of the
    others neither entry nor slot is read. Dense rows are said to have none."""


@overload(rare_dots, jit_options=INLINED)
def _rare_dots(data, indices, indptr, i, slots, coordinates, count, x, other, bits, found) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, slots, coordinates, count, x, other, bits, found):
        one, two = row_dots(data, indices, indptr, i, slots, coordinates, count, x, other)
        return one, two, np.uint64(0)

    def sparse(data, indices, indptr, i, slots, coordinates, count, x, other, bits, found):
        one, two, hits = 0.0, 0.0, np.uint64(0)
        end = np.uint64(indptr[i + 1])
        for first in range(np.uint64(indptr[i]), end, PIECE):
            size = np.uint64(0)
            for p in range(first, min(first + PIECE, end)):
                found[size] = p
                size += held_in(bits, np.uint64(indices[p]))
            if other.size > 0:
                for k in range(size):
                    slot = slots[np.uint64(indices[found[k]])]
                    one += data[found[k]] * x[slot]
                    two += data[found[k]] * other[slot]
            else:
                for k in range(size):
                    one += data[found[k]] * x[slots[np.uint64(indices[found[k]])]]
            hits += size
        return one, two, hits

    return dense if isinstance(indices, types.NoneType) else sparse


def row_add(data: Any, indices: Any, indptr: Any, i: Any, coefficient: Any, g: Any) -> Any:
    """g += coefficient a_i. O(nonzeros of the row)."""


@overload(row_add, jit_options=INLINED)
def _row_add(data, indices, indptr, i, coefficient, g) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, coefficient, g):
        for j in range(np.uint64(g.size)):
            g[j] += coefficient * data[i, j]

    def sparse(data, indices, indptr, i, coefficient, g):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            g[np.uint64(indices[p])] += coefficient * data[p]

    return dense if isinstance(indices, types.NoneType) else sparse


def row_add_kept(
    data: Any, indices: Any, indptr: Any, i: Any, following: Any, coefficient: Any, g: Any, bits: Any, keys: Any,
    floor: Any,
) -> Any:  # fmt: skip
    """`row_add` for sparse rows where bounds are kept: those of the blocks are raised where |g| > floor comes in
    outside of the set `bits`, the support, which is rare enough for the branch to be foreseen. Returns by how much
    ||g||^2 grew.

    A g that nobody sweeps is far away: entry by entry those of it are asked for that the row `following` will add to,
    as only so many can be on their way at once.
    """


@overload(row_add_kept, jit_options=INLINED)
def _row_add_kept(data, indices, indptr, i, following, coefficient, g, bits, keys, floor) -> Callable[..., Any]:
    def dense(data, indices, indptr, i, following, coefficient, g, bits, keys, floor):
        return np.nan  # a dense row writes all of g, and nobody keeps bounds

    def sparse(data, indices, indptr, i, following, coefficient, g, bits, keys, floor):
        grown = 0.0
        start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        ahead, last = np.uint64(indptr[following]) - start, np.uint64(indptr[following + 1])
        for p in range(start, end):
            if p + ahead < last:
                prefetch(g, np.uint64(indices[p + ahead]))
            j = np.uint64(indices[p])
            held, added = g[j], coefficient * data[p]
            value = held + added
            g[j] = value
            grown += added * (value + held)
            if (abs(value) > floor) & (held_in(bits, j) == 0):
                keys[j >> BLOCK_BITS] = max(keys[j >> BLOCK_BITS], abs(value))
        for p in range(end + ahead, last):
            prefetch(g, np.uint64(indices[p]))
        return grown

    return dense if isinstance(indices, types.NoneType) else sparse


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


def column_span(data: Any, indptr: Any, j: Any) -> Any:
    """The first position of column j, of CSC data or a dense transpose, and that after its last; the row at position p
    is member(indices, p)."""


@overload(column_span, jit_options=INLINED)
def _column_span(data, indptr, j) -> Callable[..., Any]:
    if isinstance(indptr, types.NoneType):
        return lambda data, indptr, j: (np.uint64(0), np.uint64(data.shape[1]))
    return lambda data, indptr, j: (np.uint64(indptr[j]), np.uint64(indptr[j + 1]))


def column_entry(data: Any, j: Any, p: Any) -> Any:
    """The entry of column j at position p."""


@overload(column_entry, jit_options=INLINED)
def _column_entry(data, j, p) -> Callable[..., Any]:
    if data.ndim == 2:
        return lambda data, j, p: data[j, p]
    return lambda data, j, p: data[p]


@kernel()
def add_samples(data, indices, indptr, samples, coefficients, count, ask, g, bits, keys, floor):
    """g += sum_k coefficients[k] a_i over the first `count` samples i. With `keys` as `row_add_kept` does; returns by
    how much ||g||^2 grew then. `ask` says that the rows are far away."""
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


@kernel()
def batch_changes(
    data, indices, indptr, y, signs, weight, loss, parameter, batch, slots, coordinates, count, x, bits, rare, other,
    table, unit, store, margins, scale, earlier, factor, change, g, keys, real, here, there, labels, samples, found,
):  # fmt: skip
    """For the k-th sample i of the batch: its slope d = w_i phi'(<a_i, x>, y_i), its change from an old slope (into
    change[k], where that is kept), and g += factor change a_i, while the row is in the cache.

    The old slope is that at `other`, or table[i] (which `store` then replaces), or zero: an empty array means that it
    is not used. Table and changes are in units of `unit`. With `margins` no row is read for the slope: <a_i, x> is
    scale margins[i], and that of `other` is in `earlier`. With `rare` rows are taken to have few entries in the
    support, the set `bits` (`rare_dots`). Returns how many they had. With `keys` the bounds of |g| and ||g||^2 are
    kept in them and in `real`, as `onehot.boost` says. `here`, `there`, `labels` and `samples` have room for those
    whose slopes are formed together: a GROUP, while their rows are in the nearest cache, or many by margins, as those
    that have not changed, and only the slopes tell which, need no row at all.
    """
    weighted, hits, grown, follows = weight.size > 0, 0, 0.0, margins.size > 0
    group = here.size if follows else GROUP
    if not follows:
        ask_for_first(data, indices, indptr, batch)
    for first in range(0, batch.size, group):
        size = min(group, batch.size - first)
        for k in range(size):
            i = batch[first + k]
            labels[k] = signs[i] if signs.size > 0 else y[i]
            if follows:
                here[k] = scale * margins[i]
                if earlier.size > 0:
                    there[k] = earlier[i]
                continue
            ask_ahead(data, indices, indptr, batch, first + k)
            if rare:
                here[k], there[k], met = rare_dots(
                    data, indices, indptr, i, slots, coordinates, count, x, other, bits, found
                )
                hits += np.int64(met)
            elif other.size > 0:
                here[k], there[k] = row_dots(data, indices, indptr, i, slots, coordinates, count, x, other)
            else:
                here[k] = row_dot(data, indices, indptr, i, slots, coordinates, count, x)
        losses.derivatives(loss, here[:group], labels, parameter)  # of what is left from the last group, too
        if other.size > 0:
            losses.derivatives(loss, there[:group], labels, parameter)
        changed = 0
        for k in range(size):
            i, d = batch[first + k], here[k]
            if other.size > 0:
                d -= there[k]
            if weighted:
                d *= weight[i]
            if table.size > 0:
                fresh = unit * d
                d = fresh - table[i]
                if store:
                    table[i] = fresh
            if change.size > 0:
                change[first + k] = d
            samples[changed], here[changed] = i, factor * d  # without a branch, for it would be foreseen wrongly
            changed += here[changed] != 0.0
        grown += add_samples(data, indices, indptr, samples, here, changed, follows, g, bits, keys, real[FLOOR])
    real[SQUARES] += grown
    return hits


@kernel()
def add_rows(data, indices, indptr, batch, coefficients, factor, g, bits, keys, real, samples, scaled):
    """g += factor * sum_k coefficients[k] a_i over the samples i of the batch; with `keys` as `batch_changes` does.

    From the last to the first: if this batch was the one before, its last rows and what they wrote are still near.
    `samples` and `scaled` are scratch for those that are added at once.
    """
    for last in range(coefficients.size, 0, -samples.size):
        count = 0
        for k in range(last - 1, max(last - samples.size, 0) - 1, -1):
            samples[count], scaled[count] = member(batch, k), factor * coefficients[k]
            count += scaled[count] != 0.0
        real[SQUARES] += add_samples(
            data, indices, indptr, samples, scaled, count, True, g, bits, keys, real[FLOOR]
        )  # fmt: skip
