"""Algorithm Boost on the k-sparse polytope: exact, one pass over n per call instead of several per round.

The LMO wants the k largest |m_j + psi_j|. Those of untouched coordinates (see `rounds`) never change: a pool holds the
largest of them in order, so that a round looks at the touched coordinates and at the first k of the pool.
"""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array
from ..boosting import Direction
from ..vertices import Sparse
from ._jit import jit
from .rounds import (
    HELD,
    LARGEST,
    REORDERED,
    ROWS,
    SMALLEST,
    G,
    Q,
    V,
    X,
    direction,
    flat,
    grown,
    judge,
    products,
    residual,
    rounding,
    summary,
    with_room,
)

WIDEST = 256
"""Widest block of coordinates of which one maximum is kept."""

TAKEN = -1.0
"""In place of |m_j| where coordinate j is touched or in the pool."""


@jit(fastmath=REORDERED)
def magnitudes(m, out):
    """|m| into `out`; returns ||m||^2."""
    squares = 0.0
    for j in range(m.size):
        out[j] = abs(m[j])
        squares += m[j] * m[j]
    return squares


@jit()
def support(x):
    """Coordinates of the nonzeros of x, found without a branch."""
    size = 0
    for j in range(x.size):
        size += x[j] != 0.0
    found, count = np.empty(size + 1, dtype=np.int64), 0
    for j in range(x.size):
        found[count] = j
        count += x[j] != 0.0
    return found[:size]


@jit()
def kth_largest(values, k):
    """By Hoare's selection, which reorders `values`; O(size) on average. `np.partition` takes seconds to compile."""
    low, high, place = 0, values.size - 1, values.size - k
    while low < high:
        pivot, i, j = values[place], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < place:
            low = i
        if place < i:
            high = j
    return values[place]


@jit()
def take_largest(magnitude, wanted):
    """At least `wanted` (or all) coordinates not yet taken, by decreasing magnitude, the first index among equals.

    They are marked as taken, and none that is left comes before them in this order. The threshold is the wanted-th
    largest of the maxima of blocks: as many coordinates reach it, and few more, if blocks are many. O(n).
    """
    n = magnitude.size
    width = max(1, min(WIDEST, n // (8 * wanted)))
    # Nonnegative floats are ordered like their bits, negative ones have negative bits; integer maxima are vectorised.
    bits = magnitude.view(np.int64)
    tops = np.empty(-(-n // width), dtype=np.int64)
    for b in range(tops.size):
        part = bits[b * width : (b + 1) * width]
        best = part[0]
        for k in range(part.size):
            best = max(best, part[k])
        tops[b] = best
    keys = tops.view(np.float64)
    threshold = 0.0
    if wanted < keys.size:
        threshold = max(0.0, kth_largest(keys.copy(), wanted))
    size = 0
    for b in range(keys.size):
        if keys[b] >= threshold:
            for j in range(b * width, min(n, (b + 1) * width)):
                size += magnitude[j] > threshold
    most = size + min(n, wanted)
    found, descending, count, equal = np.empty(most, dtype=np.int64), np.empty(most), 0, 0
    for b in range(keys.size):
        if keys[b] >= threshold:
            for j in range(b * width, min(n, (b + 1) * width)):
                tie = magnitude[j] == threshold
                if magnitude[j] > threshold or (tie and equal < wanted):
                    found[count], descending[count] = j, -magnitude[j]
                    count += 1
                    equal += tie
                    magnitude[j] = TAKEN
    return found[np.argsort(descending[:count], kind="mergesort")]  # stable: equals stay in the order of indices


@jit()
def select(g, coordinates, count, m, pool, wheres, origins):
    """The coordinates of the largest |g_j|, first indices among equals, into `wheres`; their slots as origins.

    Candidates are the `count` touched coordinates and the first of the pool, which have no slots but negative numbers.
    """
    k, fresh = wheres.size, min(wheres.size, pool.size)
    bound = abs(m[pool[k - 1]]) if fresh == k else 0.0  # k coordinates reach it, so that those below are out
    keys, slots, size = np.empty(count + fresh), np.empty(count + fresh, dtype=np.int64), 0
    for s in range(count):
        keys[size], slots[size] = abs(g[s]), s
        size += keys[size] >= bound
    for i in range(fresh):
        keys[size], slots[size] = abs(m[pool[i]]), -1 - i
        size += 1
    threshold = kth_largest(keys[:size].copy(), k)
    found, equal, ties = 0, 0, np.empty(size, dtype=np.int64)
    for i in range(size):
        if keys[i] >= threshold:
            j = coordinates[slots[i]] if slots[i] >= 0 else pool[-1 - slots[i]]
            if keys[i] > threshold:
                wheres[found], origins[found] = j, slots[i]
                found += 1
            else:
                slots[equal], ties[equal] = slots[i], j
                equal += 1
    order = np.argsort(ties[:equal])
    for i in range(k - found):
        wheres[found + i], origins[found + i] = ties[order[i]], slots[order[i]]


@jit()
def boost(m, x, k, radius, eps, max_rounds, min_gain):
    """One Boost call: whether it was made, rounds, numbers, weights, coordinates and values of the vertices."""
    magnitude = np.empty(m.size)
    norm_m = math.sqrt(magnitudes(m, magnitude))
    touched = support(x)
    count = touched.size
    compact = np.zeros((ROWS, count + 8 * k))
    coordinates = np.empty(compact.shape[1], dtype=np.int64)
    for s in range(count):
        j = touched[s]
        coordinates[s], compact[X, s], compact[HELD, s], magnitude[j] = j, x[j], m[j], TAKEN
    pool, first, left, wanted = np.empty(0, dtype=np.int64), 0, m.size - count, k + 64
    wheres, origins = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    log_coordinates, log_values, weights = np.empty((8, k), dtype=np.int64), np.empty((8, k)), np.empty(8)
    closest = rounding(compact, count, eps)
    usable = SMALLEST < norm_m < LARGEST and closest < math.inf  # False for NaN
    total, alignment, gap, distance = 0.0, -1.0, 0.0, 0.0
    rounds = accepted = 0
    while usable and rounds < max_rounds:
        pp, pm = residual(compact, count, total)
        if pool.size - first < k and left > 0:
            more = take_largest(magnitude, wanted)
            pool, first, left, wanted = np.concatenate((pool[first:], more)), 0, left - more.size, 4 * wanted
        select(compact[G], coordinates, count, m, pool[first:], wheres, origins)
        rounds += 1
        if accepted == weights.size:
            log_coordinates, log_values, weights = grown(log_coordinates), grown(log_values), grown(weights)
        chosen, values = log_coordinates[accepted], log_values[accepted]
        for i in range(k):
            j, s = wheres[i], origins[i]
            chosen[i] = j
            values[i] = -radius if (compact[G, s] if s >= 0 else m[j]) >= 0.0 else radius
            if s >= 0:
                compact[V, s] = values[i]
        uu, um, upsi = products(compact, count)
        for i in range(k):
            if origins[i] < 0:
                uu += values[i] * values[i]
                um += values[i] * m[chosen[i]]
        if rounds == 1:
            gap, distance = -um, math.sqrt(uu)
        lam, gained = judge(norm_m, alignment, min_gain, closest, pp, pm, uu, um, upsi)
        if lam == 0.0:
            break
        compact = with_room(compact, count, k)
        if coordinates.size < compact.shape[1]:
            coordinates = np.concatenate((coordinates, np.empty(compact.shape[1] - coordinates.size, dtype=np.int64)))
        for i in range(k):
            s = origins[i]
            if s < 0:
                s = count
                coordinates[s], compact[HELD, s] = chosen[i], m[chosen[i]]
                count += 1
                first += 1  # those chosen from the pool are its first
            compact[Q, s] += lam * values[i]
            compact[V, s] = 0.0
        weights[accepted] = lam
        total += lam
        alignment = gained
        accepted += 1
    numbers = summary(compact, count, total, alignment, gap, distance)
    return usable, rounds, numbers, weights[:accepted] / total, log_coordinates, log_values


def boost_k_sparse(k: int, radius: float, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction | None:
    """Algorithm Boost on `KSparse`, or None where the numbers need the generic one.

    O(n) once, then O(support + visited) a round.
    """
    dtype = np.result_type(m, x, np.float32)
    usable, rounds, numbers, weights, coordinates, values = boost(
        flat(m),
        flat(x),
        k,
        radius,
        float(np.finfo(dtype).eps),
        max_rounds,
        min_gain,
    )
    if not usable:
        return None
    made = max(1, len(weights))
    order = np.argsort(coordinates[:made], axis=1)
    rows = zip(
        np.take_along_axis(coordinates[:made], order, axis=1),
        np.take_along_axis(values[:made].astype(dtype), order, axis=1),
        strict=True,
    )
    vertices = [Sparse(indices, entries, x.shape) for indices, entries in rows]
    return direction(vertices, weights, numbers, rounds)
