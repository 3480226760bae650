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
    grown,
    judge,
    products,
    residual,
    summary,
    with_room,
)

CHUNK = 64
WIDEST = 256
"""Widest block of coordinates of which one maximum is kept."""

TAKEN = -1.0
"""In place of |m_j| where coordinate j is touched or in the pool."""


@jit(fastmath=REORDERED)
def magnitudes(m, out):  # type: ignore[no-untyped-def]
    """|m| into `out`; returns ||m||^2."""
    squares = 0.0
    for j in range(m.size):
        out[j] = abs(m[j])
        squares += m[j] * m[j]
    return squares


@jit()
def support(x):  # type: ignore[no-untyped-def]
    """Coordinates of the nonzeros of x; chunks of zeros, most of them, are passed over by vector instructions."""
    bits = x.view(np.int64)
    found, count = np.empty(x.size, dtype=np.int64), 0
    for start in range(0, x.size, CHUNK):
        part = bits[start : start + CHUNK]
        some = np.int64(0)
        for k in range(part.size):
            some |= part[k]
        if some != 0:
            for j in range(start, start + part.size):
                if x[j] != 0.0:
                    found[count] = j
                    count += 1
    return found[:count]


@jit()
def take_largest(magnitude, wanted):  # type: ignore[no-untyped-def]
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
        threshold = max(0.0, np.partition(keys, keys.size - wanted)[keys.size - wanted])
    found, count, equal = np.empty(n, dtype=np.int64), 0, 0
    for b in range(keys.size):
        if keys[b] >= threshold:
            for j in range(b * width, min(n, (b + 1) * width)):
                tie = magnitude[j] == threshold
                if magnitude[j] > threshold or (tie and equal < wanted):
                    found[count] = j
                    count += 1
                    equal += tie
    found = found[:count]
    found = found[np.argsort(-magnitude[found], kind="mergesort")]
    for j in found:
        magnitude[j] = TAKEN
    return found


@jit(inline="always")
def comes_later(key, where, other_key, other_where):  # type: ignore[no-untyped-def]
    """Whether the first coordinate is the worse one: smaller, or equal with a larger index."""
    return key < other_key or (key == other_key and where > other_where)


@jit()
def sift(keys, wheres, origins, root):  # type: ignore[no-untyped-def]
    """Restore the heap, the worst on top, below `root`."""
    key, where, origin = keys[root], wheres[root], origins[root]
    while True:
        child = 2 * root + 1
        if child >= keys.size:
            break
        if child + 1 < keys.size and comes_later(keys[child + 1], wheres[child + 1], keys[child], wheres[child]):
            child += 1
        if not comes_later(keys[child], wheres[child], key, where):
            break
        keys[root], wheres[root], origins[root] = keys[child], wheres[child], origins[child]
        root = child
    keys[root], wheres[root], origins[root] = key, where, origin


@jit()
def select(g, coordinates, count, m, pool, keys, wheres, origins):  # type: ignore[no-untyped-def]
    """The keys.size coordinates of the largest |g_j|, into `wheres`, with their slots, or -1, in `origins`."""
    k = keys.size
    fresh = min(k, pool.size)
    for i in range(fresh):  # worst first, which is a heap already
        j = pool[fresh - 1 - i]
        keys[i], wheres[i], origins[i] = abs(m[j]), j, -1
    for i in range(fresh, k):
        s = i - fresh
        keys[i], wheres[i], origins[i] = abs(g[s]), coordinates[s], s
    if fresh < k:
        for root in range(k // 2 - 1, -1, -1):
            sift(keys, wheres, origins, root)
    for s in range(k - fresh, count):
        key = abs(g[s])
        if comes_later(keys[0], wheres[0], key, coordinates[s]):
            keys[0], wheres[0], origins[0] = key, coordinates[s], s
            sift(keys, wheres, origins, 0)


@jit()
def boost(m, x, k, radius, max_rounds, min_gain):  # type: ignore[no-untyped-def]
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
    pool, first, left, wanted = np.empty(0, dtype=np.int64), 0, m.size - count, 2 * k + 32
    keys, wheres, origins = np.empty(k), np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    log_coordinates, log_values, weights = np.empty((8, k), dtype=np.int64), np.empty((8, k)), np.empty(8)
    usable = SMALLEST < norm_m < LARGEST  # False for NaN
    total, alignment, gap, distance = 0.0, -1.0, 0.0, 0.0
    rounds = accepted = 0
    while usable and rounds < max_rounds:
        pp, pm = residual(compact, count, total)
        if pool.size - first < k and left > 0:
            more = take_largest(magnitude, wanted)
            pool, first, left, wanted = np.concatenate((pool[first:], more)), 0, left - more.size, 2 * wanted
        select(compact[G], coordinates, count, m, pool[first:], keys, wheres, origins)
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
        lam, gained = judge(norm_m, alignment, min_gain, pp, pm, uu, um, upsi)
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
    """Algorithm Boost on `KSparse`, or None where ||m|| needs the generic one.

    O(n) once, then O(support + visited) a round.
    """
    usable, rounds, numbers, weights, coordinates, values = boost(
        np.ascontiguousarray(m, dtype=np.float64).reshape(-1),
        np.ascontiguousarray(x, dtype=np.float64).reshape(-1),
        k,
        radius,
        max_rounds,
        min_gain,
    )
    if not usable:
        return None
    dtype = np.result_type(m, x, np.float32)
    vertices = []
    for row in range(max(1, len(weights))):
        order = np.argsort(coordinates[row])
        vertices.append(Sparse(coordinates[row, order], values[row, order].astype(dtype), x.shape))
    return direction(vertices, weights, numbers, rounds)
