"""The LMO of the k-sparse polytope inside of Boost (`rounds`): the k largest |m_j + psi_j|.

Those of untouched coordinates never change: a pool holds the largest of them, the k first ones in front, so that a
round looks at the touched coordinates and at these. Magnitudes are compared by their bits: nonnegative floats are
ordered like them, and an integer maximum is vectorised where a float one is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._jit import SUMS, kernel, magnitude
from .rounds import BODIES, Bodies

WIDEST, SPARE = 64, 64
"""Coordinates of which the largest |m_j| is stored, at most, and those in the pool beyond eight vertices."""


class Pool(NamedTuple):
    """Scratch: the largest |m_j| of coordinates without a slot, by their bits, of which `blocks` has the largest of
    each block; `marks` says how many they are, whether there are others, and whether the blocks are exact.
    `candidate_keys` and `candidate_wheres` are for choosing among."""

    blocks: Any
    keys: Any
    wheres: Any
    marks: Any
    candidate_keys: Any
    candidate_wheres: Any


SIZE, OTHERS, SWEPT = range(3)
"""Positions in the marks of a pool."""


class KSparse(NamedTuple):
    """conv{||x||_0 <= k, ||x||_inf <= radius}."""

    radius: float
    k: int
    pool: Any


def make_pool(k: int, n: int, size: int) -> Pool:
    """For vertices of k nonzeros in R^n and compact arrays of this size."""
    wanted = 8 * k + SPARE
    room, blocks = min(2 * wanted, n), min(max(-(-n // WIDEST), 2 * wanted), n)
    lengths = (blocks, room, room, 3, max(blocks, size + k), max(blocks, size + k))
    return Pool(*(np.empty(length, dtype=np.int64) for length in lengths))


@kernel(fastmath=SUMS)
def block_maxima(g, blocks):
    """Largest |g| of every block, by its bits, and the sum of squares."""
    total, width = 0.0, (g.size + blocks.size - 1) // blocks.size
    for b in range(blocks.size):
        values, best, squares = g[b * width : (b + 1) * width], np.int64(0), 0.0
        for k in range(np.uint64(values.size)):
            best = max(best, magnitude(values[k]))
            squares += values[k] * values[k]
        blocks[b] = best
        total += squares
    return total


@kernel()
def bring_forward(keys, wheres, size, k):
    """Reorder the first `size` pairs so that k come before the others, and the k-th after the rest of these: by larger
    keys, of equal ones by smaller coordinates. Hoare's selection, O(size) on average."""
    low, high, place = 0, size - 1, k - 1
    while low < high:
        key, where, i, j = keys[place], wheres[place], low, high
        while i <= j:
            while keys[i] > key or (keys[i] == key and wheres[i] < where):
                i += 1
            while keys[j] < key or (keys[j] == key and wheres[j] > where):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                wheres[i], wheres[j] = wheres[j], wheres[i]
                i += 1
                j -= 1
        if j < place:
            low = i
        if place < i:
            high = j


@kernel()
def common_floor(pool, wanted):
    """A key that `wanted` coordinates reach, and not many more, if there are: the wanted-th largest of the blocks."""
    keys, wheres = pool.candidate_keys, pool.candidate_wheres
    if wanted >= pool.blocks.size:
        return np.int64(0)
    for b in range(pool.blocks.size):
        keys[b], wheres[b] = pool.blocks[b], b
    bring_forward(keys, wheres, pool.blocks.size, wanted)
    return keys[wanted - 1]


@kernel()
def fill_pool(g, slots, pool):
    """Put the largest without a slot into the pool, half of its room or more, as far as there are. O(n)."""
    keys, wheres, half, size = pool.keys, pool.wheres, pool.keys.size // 2, 0
    width = (g.size + pool.blocks.size - 1) // pool.blocks.size
    floor = common_floor(pool, half) if keys.size < g.size else np.int64(0)
    for b in range(pool.blocks.size):
        if pool.blocks[b] < floor:
            continue
        for j in range(b * width, min(g.size, (b + 1) * width)):
            key = magnitude(g[j])
            if key >= floor and slots[j] == 0:
                if size == keys.size:
                    bring_forward(keys, wheres, size, half)
                    size, floor = half, keys[half - 1] + 1  # as coordinates come in order, an equal key is after it
                    if key < floor:
                        continue
                keys[size], wheres[size] = key, j
                size += 1
    pool.marks[SIZE], pool.marks[OTHERS] = size, floor > 0


@kernel()
def update_pool(g, slots, pool, k):
    """Take out who has got a slot, have at least k in the pool as far as there are, and the first k in front."""
    keys, wheres, marks = pool.keys, pool.wheres, pool.marks
    size, i, changed = marks[SIZE], 0, False
    while i < min(k, size):  # only those in front were ever chosen
        if slots[wheres[i]] > 0:
            size -= 1
            keys[i], wheres[i] = keys[size], wheres[size]
            changed = True
        else:
            i += 1
    marks[SIZE] = size
    if size < k and marks[OTHERS]:
        if not marks[SWEPT]:
            block_maxima(g, pool.blocks)  # g is zero at the touched ones
        fill_pool(g, slots, pool)
        marks[SWEPT], changed = 0, True
    if changed and marks[SIZE] >= k:
        bring_forward(keys, wheres, marks[SIZE], k)


@kernel()
def select(residual, coordinates, count, pool, k):
    """The k largest magnitudes, first coordinates among equals, to the front of the candidates, which are the touched
    coordinates and the first k of the pool."""
    keys, wheres, near = pool.candidate_keys, pool.candidate_wheres, min(k, pool.marks[SIZE])
    for i in range(near):
        keys[i], wheres[i] = pool.keys[i], pool.wheres[i]
    for s in range(1, count + 1):
        keys[near + s - 1], wheres[near + s - 1] = magnitude(residual[s]), coordinates[s]
    bring_forward(keys, wheres, near + count, k)


def _sweep(of, r, g, bounds, squares):
    marks = of.pool.marks
    marks[SIZE], marks[OTHERS], marks[SWEPT] = 0, 1, 1
    return squares + block_maxima(g, of.pool.blocks)


def _answer(of, r, support, g, bounds, rounds, count):
    pool, residual, fresh = of.pool, rounds.residual, 0
    update_pool(g, support.slots, pool, of.k)
    select(residual, support.coordinates, count, pool, of.k)
    for i in range(of.k):
        j = pool.candidate_wheres[i]
        slot = np.int64(support.slots[j])
        number = residual[slot] if slot > 0 else g[j]
        if slot == 0:
            fresh += 1
            slot = count + fresh
            if slot >= support.x.size:
                return -1, 0
            support.coordinates[slot], rounds.held[slot] = j, number
        rounds.chosen[i], rounds.values[i] = slot, -of.radius if number >= 0.0 else of.radius
    return fresh, of.k


BODIES[KSparse] = Bodies(lambda of: 0.0, _sweep, _answer)
