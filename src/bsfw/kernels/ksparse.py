"""The LMO of the k-sparse polytope inside of Boost (`rounds`): the k largest |m_j + psi_j|.

Those of untouched coordinates never change: a pool holds the largest of them, the k first ones in front, so that a
round looks at the touched coordinates and at these. Magnitudes are compared by their bits: nonnegative floats are
ordered like them, and an integer maximum is vectorised where a float one is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ._jit import ABSOLUTE, INLINED, SUMS, bits_of, kernel
from .rounds import answer, finish, neutral, sweep

NOWHERE = np.int64(0x7FFFFFFFFFFFFFFF)
"""Beyond all keys and coordinates."""
SHARE = 16
"""Touched coordinates of which `reached` takes the largest."""
WIDEST, SPARE = 64, 64
"""Coordinates of which the largest |m_j| is stored, at most, and those in the first pool beyond four vertices."""


class Pool(NamedTuple):
    """Scratch: the largest |m_j| of coordinates without a slot, by their bits, of which `blocks` has the largest of
    each block; `marks` says how many they are and where they end. `candidates`, again keys and coordinates, is for
    choosing among."""

    blocks: Any
    keys: Any
    wheres: Any
    marks: Any
    candidate_keys: Any
    candidate_wheres: Any


class KSparse(NamedTuple):
    """conv{||x||_0 <= k, ||x||_inf <= radius}."""

    radius: float
    k: int
    pool: Any


def make_pool(k: int, n: int, size: int) -> Pool:
    """For vertices of k nonzeros in R^n and compact arrays of this size."""
    wanted = 4 * k + SPARE
    room, blocks = min(4 * wanted, n), min(max(-(-n // WIDEST), 4 * wanted), n)
    candidates = max(blocks, k + size // SHARE + 1, room)
    return Pool(*(np.empty(length, dtype=np.int64) for length in (blocks, room, room, 3, candidates, candidates)))


SIZE, LAST_KEY, LAST = range(3)
"""Positions in the marks of a pool: how many it holds, and the last key and coordinate that had room in it, so that all
others come after these."""


@kernel()
def width_of(g, blocks):
    """Coordinates in a block."""
    return (g.size + blocks.size - 1) // blocks.size


@kernel(fastmath=SUMS)
def block_maxima(g, blocks):
    """Largest |g| of every block, by its bits, and the sum of squares."""
    total, width = 0.0, width_of(g, blocks)
    for b in range(blocks.size):
        values, best, squares = g[b * width : (b + 1) * width], np.int64(0), 0.0
        for k in range(np.uint64(values.size)):
            best = max(best, bits_of(values[k]) & ABSOLUTE)
            squares += values[k] * values[k]
        blocks[b] = best
        total += squares
    return total


@kernel()
def later_maxima(g, blocks, last_key, last):
    """As `block_maxima`, of what comes after that key and coordinate."""
    width = width_of(g, blocks)
    for b in range(blocks.size):
        best = np.int64(0)
        for j in range(b * width, min(g.size, (b + 1) * width)):
            key = bits_of(g[j]) & ABSOLUTE
            best = max(best, key if (key < last_key) | ((key == last_key) & (j > last)) else np.int64(0))
        blocks[b] = best


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
    """Add to the pool those that come next: at first as many as fill a quarter of it, later half, or more. O(n)."""
    keys, wheres, marks = pool.keys, pool.wheres, pool.marks
    size, last_key, last = marks[SIZE], marks[LAST_KEY], marks[LAST]
    half, width, floor = keys.size // 2, width_of(g, pool.blocks), np.int64(0)
    if last_key < NOWHERE:
        later_maxima(g, pool.blocks, last_key, last)
    if keys.size < g.size:
        floor = common_floor(pool, half if last_key < NOWHERE else half // 2)
    marks[LAST_KEY], marks[LAST] = floor, NOWHERE  # all that reach the floor find room, or else
    for b in range(pool.blocks.size):
        if pool.blocks[b] < floor:
            continue
        for j in range(b * width, min(g.size, (b + 1) * width)):
            key = bits_of(g[j]) & ABSOLUTE
            if key >= floor and slots[j] == 0 and (key < last_key or (key == last_key and j > last)):
                if size == keys.size:
                    bring_forward(keys, wheres, size, half)
                    size = half
                    marks[LAST_KEY], marks[LAST] = keys[half - 1], wheres[half - 1]
                    floor = keys[half - 1] + 1  # as coordinates come in order, an equal key is after the last
                    if key < floor:
                        continue
                keys[size], wheres[size] = key, j
                size += 1
    marks[SIZE] = size


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
    if size < k and (marks[LAST_KEY] > 0 or marks[LAST] < NOWHERE):
        fill_pool(g, slots, pool)
        changed = True
    if changed and marks[SIZE] >= k:
        bring_forward(keys, wheres, marks[SIZE], k)


@kernel()
def reached(residual, count, pool, near, k):
    """A key that k candidates reach, and not many more, if there are k: by the largest of every few slots."""
    keys, wheres, size = pool.candidate_keys, pool.candidate_wheres, near
    for i in range(near):
        keys[i], wheres[i] = pool.keys[i], i
    for first in range(1, count + 1, SHARE):
        best = np.int64(0)
        for s in range(np.uint64(first), np.uint64(min(first + SHARE, count + 1))):
            best = max(best, bits_of(residual[s]) & ABSOLUTE)
        keys[size], wheres[size] = best, size
        size += 1
    if size < k:
        return np.int64(0)
    bring_forward(keys, wheres, size, k)
    return keys[k - 1]


@kernel()
def select(residual, coordinates, count, pool, near, k):
    """The k largest magnitudes, first coordinates among equals, to the front of the candidates, which are the touched
    coordinates and the first `near` of the pool."""
    bound, size = reached(residual, count, pool, near, k), 0
    keys, wheres = pool.candidate_keys, pool.candidate_wheres
    for i in range(near):
        keys[size], wheres[size] = pool.keys[i], pool.wheres[i]
        size += keys[size] >= bound
    for s in range(1, count + 1):
        key = bits_of(residual[s]) & ABSOLUTE
        if key >= bound:
            if size == keys.size:
                bring_forward(keys, wheres, size, k)
                size, bound = k, keys[k - 1]
            keys[size], wheres[size] = key, coordinates[s]
            size += 1
    bring_forward(keys, wheres, size, k)


def _is_ours(of: Any) -> bool:
    return getattr(of, "instance_class", None) is KSparse


@overload(neutral, jit_options=INLINED)
def _neutral(of) -> Callable[..., Any] | None:
    return (lambda of: 0.0) if _is_ours(of) else None


@overload(sweep, jit_options=INLINED)
def _sweep(of, r, g, bounds, squares) -> Callable[..., Any] | None:
    def body(of, r, g, bounds, squares):
        marks = of.pool.marks
        marks[SIZE], marks[LAST_KEY], marks[LAST] = 0, NOWHERE, -1
        return squares + block_maxima(g, of.pool.blocks)

    return body if _is_ours(of) else None


@overload(answer, jit_options=INLINED)
def _answer(of, r, support, g, bounds, rounds, count, largest) -> Callable[..., Any] | None:
    def body(of, r, support, g, bounds, rounds, count, largest):
        pool, residual, fresh = of.pool, rounds.residual, 0
        update_pool(g, support.slots, pool, of.k)
        select(residual, support.coordinates, count, pool, min(of.k, pool.marks[SIZE]), of.k)
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

    return body if _is_ours(of) else None


@overload(finish, jit_options=INLINED)
def _finish(of, r, g, bounds, share) -> Callable[..., Any] | None:
    return (lambda of, r, g, bounds, share: None) if _is_ours(of) else None
