"""The LMO of sets with one-hot vertices inside of Boost (`rounds`): the coordinate whose key is largest.

Keys are whole numbers that are ordered like what the oracle maximises: an integer maximum is vectorised where one of
floats is not. One sweep over m per call stores the largest key of each block of coordinates; a round looks at the
touched coordinates, at the blocks, and into one block. What is stored may be too large, since coordinates are touched:
a largest one is corrected until it is exact.

On the l1 ball the sweep may be left out: whoever writes into g then raises the bounds of the blocks (`rows`), and keeps
||g||^2. That is exact, and pays where an iteration writes few coordinates; where it writes more of them, only what
exceeds the floor, a share of the largest key that is left without a slot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ._jit import ABSOLUTE, INLINED, SUMS, bits_of, kernel, magnitude
from .rounds import BODIES, Bodies, neutral

BLOCK, RUN = 256, 64
"""Coordinates of which the largest key is stored, and blocks of which the largest bound is."""
FAR = np.int64(1 << 62)
"""Puts a coordinate beyond all others."""
HUGE = float(np.finfo(np.float64).max)
"""In the place of a touched coordinate of a simplex. No other is as large: m is scaled before (`rounds.LARGEST`)."""
LOST = 1e-6
"""A kept ||g||^2 that has fallen to less than this fraction of what it was is summed anew."""


class L1(NamedTuple):
    """{||x||_1 <= radius}."""

    radius: float


class WeightedL1(NamedTuple):
    """{sum_j weights[j] |x_j| <= radius}."""

    radius: float
    weights: Any


class Simplex(NamedTuple):
    """{x >= 0, sum x = radius}, or <= if it is solid."""

    radius: float
    solid: bool


@kernel(forceinline=True)
def ordered(number):
    """A whole number that is ordered like the floats."""
    bits = bits_of(number)
    return bits ^ ((bits >> 63) & ABSOLUTE)


def key(of: Any, number: Any, j: Any) -> Any:
    """What the oracle maximises: |g| on the l1 ball, |g| / weight on the weighted one, -g on a simplex."""


KEYS: dict[type, Callable[..., Any]] = {
    L1: lambda of, number, j: magnitude(number),
    WeightedL1: lambda of, number, j: magnitude(number / of.weights[j]),
    Simplex: lambda of, number, j: ordered(0.0 - number),
}
overload(key, jit_options=INLINED)(lambda of, number, j: KEYS[of.instance_class])


def entry_at(of: Any, number: Any, j: Any) -> Any:
    """The nonzero of the vertex at coordinate j for this number of the direction; 0 for the origin."""


ENTRIES: dict[type, Callable[..., Any]] = {
    L1: lambda of, number, j: -of.radius if number >= 0 else of.radius,
    WeightedL1: lambda of, number, j: (-of.radius if number >= 0 else of.radius) / of.weights[j],
    Simplex: lambda of, number, j: 0.0 if of.solid and number >= 0 else of.radius,
}
overload(entry_at, jit_options=INLINED)(lambda of, number, j: ENTRIES[of.instance_class])


@kernel(fastmath=SUMS)
def sweep_blocks(of, g, blocks):
    """The largest key of every block, and the sum of squares."""
    total, touched = 0.0, neutral(of)
    for b in range(blocks.size):
        first, best, squares = np.uint64(b * BLOCK), key(of, g[b * BLOCK], b * BLOCK), 0.0
        for j in range(first, np.uint64(min(g.size, (b + 1) * BLOCK))):
            best = max(best, key(of, g[j], j))
            squares += g[j] * g[j] if g[j] != touched else 0.0
        blocks[b] = best
        total += squares
    return total


@kernel()
def largest(numbers):
    """The largest of whole numbers."""
    most = numbers[0]
    for b in range(np.uint64(numbers.size)):
        most = max(most, numbers[b])
    return most


@kernel()
def first_equal(numbers, number):
    """The first place of this number, which is there."""
    for b in range(numbers.size):
        if numbers[b] == number:
            return b
    return 0


@kernel()
def gather_tops(bounds):
    """The largest of each RUN of blocks."""
    for run in range(bounds.tops.size):
        bounds.tops[run] = largest(bounds.blocks[run * RUN : (run + 1) * RUN])


@kernel()
def largest_block(bounds):
    """The first block with the largest bound."""
    if bounds.tops.size == 0:
        return first_equal(bounds.blocks, largest(bounds.blocks))
    run = first_equal(bounds.tops, largest(bounds.tops))
    return run * RUN + first_equal(bounds.blocks[run * RUN : (run + 1) * RUN], bounds.tops[run])


@kernel()
def largest_in_block(of, g, block):
    """The largest key of a block."""
    best = key(of, g[block * BLOCK], block * BLOCK)
    for j in range(np.uint64(block * BLOCK), np.uint64(min(g.size, (block + 1) * BLOCK))):
        best = max(best, key(of, g[j], j))
    return best


@kernel()
def best_untouched(of, r, g, bounds):
    """The largest key of the coordinates without a slot, and its block. O(blocks) for each bound that was not exact.

    If that is not above the floor, all of g is swept, and all bounds are exact.
    """
    if bounds.best[1] >= 0:
        return bounds.best[0], bounds.best[1]
    while True:
        block = largest_block(bounds)
        exact = largest_in_block(of, g, block)
        if exact != bounds.blocks[block]:
            bounds.blocks[block] = exact
            if bounds.tops.size > 0:
                run = block // RUN
                bounds.tops[run] = largest(bounds.blocks[run * RUN : (run + 1) * RUN])
        elif bounds.tops.size == 0 or r.floor == 0.0 or exact > magnitude(r.floor):
            bounds.best[0], bounds.best[1] = exact, block
            return exact, block
        else:
            sweep_blocks(of, g, bounds.blocks)
            r.floor = 0.0
            gather_tops(bounds)


def _sweep(of, r, g, bounds, squares):
    keeps, bounds.best[1] = bounds.tops.size > 0, -1
    known = keeps and r.squares > LOST * r.most
    if not (known and r.bounded):
        squares += sweep_blocks(of, g, bounds.blocks)
        r.floor, r.bounded = 0.0, keeps
        if not known:
            r.squares = r.most = squares
    if keeps:
        squares = r.squares  # also if the blocks were lost: what follows must not depend on when
        r.most = max(r.most, squares)
        gather_tops(bounds)
    return squares


@kernel(forceinline=True)
def largest_touched(of, residual, coordinates, count):
    """The largest key in the compact arrays."""
    best = key(of, residual[1], coordinates[1])
    for k in range(np.uint64(2), np.uint64(count + 1)):
        best = max(best, key(of, residual[k], coordinates[k]))
    return best


@kernel()
def first_touched(of, residual, coordinates, count, best):
    """The first coordinate in the compact arrays that has this key. Without a branch, for it would be mispredicted."""
    where = FAR
    for k in range(np.uint64(1), np.uint64(count + 1)):
        where = min(where, coordinates[k] + (0 if key(of, residual[k], coordinates[k]) == best else FAR))
    return where


@kernel()
def first_in_block(of, g, block, best):
    """The first coordinate of a block that has this key, which is its largest."""
    for j in range(block * BLOCK, min(g.size, (block + 1) * BLOCK)):
        if key(of, g[j], j) == best:
            return j
    return block * BLOCK


def _answer(of, r, support, g, bounds, rounds, count):
    residual, lowest = rounds.residual, key(of, neutral(of), 0)
    best, where = lowest, np.int64(-1)
    if count > 0:
        best = largest_touched(of, residual, support.coordinates, count)
        where = first_touched(of, residual, support.coordinates, count, best)
    top, block = best_untouched(of, r, g, bounds)
    if top > lowest and top >= best:  # or else every coordinate is touched
        first = first_in_block(of, g, block, top)
        if top > best or first < where:
            best, where = top, np.int64(first)
    if where < 0 or best == 0 == lowest:  # an l1 ball and zeros only: the first coordinate, as every LMO does
        where = np.int64(0)
    slot, fresh = np.int64(support.slots[where]), 0
    value = entry_at(of, residual[slot] if slot > 0 else g[where], where)
    if value == 0.0:
        return 0, 0
    if slot == 0:
        slot, fresh = count + 1, 1
        if slot >= support.x.size:
            return -1, 0
        support.coordinates[slot], rounds.held[slot] = where, g[where]
        bounds.best[1] = -1  # it is about to be touched
    rounds.chosen[0], rounds.values[0] = slot, value
    return fresh, 1


def _finish(of, r, g, bounds, share):
    if share < 0.0:
        r.bounded = 0  # the bounds do not hold for the coordinates that lose their slots
    elif bounds.tops.size > 0:
        top, block = best_untouched(of, r, g, bounds)
        r.floor = max(r.floor, share * abs(g[first_in_block(of, g, block, top)]))


BODIES[L1] = Bodies(lambda of: 0.0, _sweep, _answer, _finish)
BODIES[WeightedL1] = BODIES[L1]
BODIES[Simplex] = BODIES[L1]._replace(neutral=lambda of: HUGE)
