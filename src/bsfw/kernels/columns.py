"""Blocks of rows kept by columns: products with few columns, sums over all rows, and a few columns by rows.

A sparse block holds its nonempty columns: column k has the entries data[p] in rows[p], p from starts[k] to starts[k+1].
"""

from __future__ import annotations

import numpy as np

from ._jit import SUMS, entry

ONE, TWO = np.uint64(1), np.uint64(2)


@entry()
def add_columns(places, starts, rows, data, weights, out):
    """out += sum_s weights[s] times column places[s]; a negative place is an empty column."""
    for s in range(places.size):
        if places[s] < 0:
            continue
        k, weight = np.uint64(places[s]), weights[s]
        for p in range(np.uint64(starts[k]), np.uint64(starts[k + ONE])):
            out[np.uint64(rows[p])] += weight * data[p]


@entry()
def add_columns_many(places, starts, rows, data, weights, out):
    """The same with a row of weights for each column, into a row of `out` for each sample."""
    for s in range(places.size):
        if places[s] < 0:
            continue
        k, weight = np.uint64(places[s]), weights[s]
        for p in range(np.uint64(starts[k]), np.uint64(starts[k + ONE])):
            value, row = data[p], out[np.uint64(rows[p])]
            for q in range(np.uint64(row.size)):
                row[q] += value * weight[q]


@entry(fastmath=SUMS)
def column_sums(columns, starts, rows, data, slopes, out):
    """out[columns[k]] = <column k, slopes>. Two sums, since one alone waits for each addition."""
    for k in range(np.uint64(columns.size)):
        even = odd = 0.0
        p, end = np.uint64(starts[k]), np.uint64(starts[k + ONE])
        while p + ONE < end:
            even += data[p] * slopes[np.uint64(rows[p])]
            odd += data[p + ONE] * slopes[np.uint64(rows[p + ONE])]
            p += TWO
        if p < end:
            even += data[p] * slopes[np.uint64(rows[p])]
        out[np.uint64(columns[k])] = even + odd


@entry()
def column_sums_many(columns, starts, rows, data, slopes, out):
    """out[columns[k], q] = <column k, slopes[:, q]>."""
    for k in range(np.uint64(columns.size)):
        total = out[np.uint64(columns[k])]
        for p in range(np.uint64(starts[k]), np.uint64(starts[k + ONE])):
            value, row = data[p], slopes[np.uint64(rows[p])]
            for q in range(np.uint64(total.size)):
                total[q] += value * row[q]


@entry(fastmath=SUMS)
def dense_sums(by_columns, slopes, out):
    """out[j] = <row j of `by_columns`, slopes>."""
    for j in range(np.uint64(out.size)):
        total, column = 0.0, by_columns[j]
        for i in range(np.uint64(slopes.size)):
            total += column[i] * slopes[i]
        out[j] = total


@entry()
def count_rows(places, starts, rows, indptr):
    """indptr[i + 1] = how many entries row i has in these columns."""
    for s in range(places.size):
        if places[s] < 0:
            continue
        k = np.uint64(places[s])
        for p in range(np.uint64(starts[k]), np.uint64(starts[k + ONE])):
            indptr[np.uint64(rows[p]) + ONE] += 1


@entry()
def fill_rows(places, starts, rows, data, following, entries, slots):
    """The columns by rows: `following` has where each row begins, and ends up where the next one does."""
    for s in range(places.size):
        if places[s] < 0:
            continue
        k = np.uint64(places[s])
        for p in range(np.uint64(starts[k]), np.uint64(starts[k + ONE])):
            i = np.uint64(rows[p])
            at = np.uint64(following[i])
            entries[at], slots[at] = data[p], s
            following[i] += 1
