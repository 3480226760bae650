"""The LMO of the l1/l2 group ball inside of Boost (`rounds`): the group on which ||m + psi|| is largest.

A group is touched if x has a nonzero in it or if it was visited; all of its coordinates then have consecutive slots.
The norms of the other groups never change: one pass over m finds the largest of each block of groups. Touched groups
are zeros there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ._jit import SUMS, kernel
from .rounds import BODIES, Bodies
from .rows import member

GROUPS_AT_ONCE = 64
"""Groups of which the largest norm is stored."""


class Groups(NamedTuple):
    """{sum_g ||x_g|| <= radius}: the coordinates group by group (None: in their own order), and where each group
    begins, with the end of the last. `touched` are those that have slots, in the order of these, and `norms` the
    largest ||m_g||^2 of each block of others."""

    radius: float
    order: Any
    starts: Any
    touched: Any
    norms: Any


@kernel(fastmath=SUMS, forceinline=True)
def group_square(order, starts, g, group):
    """||g||^2 on a group."""
    total = 0.0
    for p in range(np.uint64(starts[group]), np.uint64(starts[group + 1])):
        value = g[np.uint64(member(order, p))]
        total += value * value
    return total


@kernel()
def first_largest(order, starts, g, block):
    """The largest ||g||^2 of the groups of a block, and the first group that has it."""
    best, group = -1.0, -1
    for i in range(block * GROUPS_AT_ONCE, min((block + 1) * GROUPS_AT_ONCE, starts.size - 1)):
        squares = group_square(order, starts, g, i)
        if squares > best:
            best, group = squares, i
    return best, group


@kernel()
def largest(norms):
    """The largest of the numbers, and the first place that has it."""
    best, where = norms[0], 0
    for b in range(1, norms.size):
        if norms[b] > best:
            best, where = norms[b], b
    return best, where


@kernel()
def best_touched(starts, touched, residual, count):
    """The largest ||residual||^2 of the touched groups, the first group that has it and its first slot, and how many
    groups are touched."""
    best, group, first, t, start = -1.0, -1, 0, 0, 1
    while start <= count:
        i, squares = touched[t], 0.0
        end = start + starts[i + 1] - starts[i]
        for s in range(np.uint64(start), np.uint64(end)):
            squares += residual[s] * residual[s]
        if squares > best or (squares == best and i < group):
            best, group, first = squares, i, start
        t, start = t + 1, end
    return best, group, first, t


@kernel()
def best_group(of, g, residual, count):
    """As `best_touched`, of all groups; the first slot is 0 if it has none.

    What `norms` says of a block is corrected, from the largest on, if a group of it has been touched since.
    """
    best, group, first, touched = best_touched(of.starts, of.touched, residual, count)
    while True:
        top, block = largest(of.norms)
        if top < best or top == 0.0:
            return best, group, first, touched
        exact, fresh = first_largest(of.order, of.starts, g, block)
        if exact == top:
            if top > best or fresh < group:
                return top, fresh, 0, touched
            return best, group, first, touched
        of.norms[block] = exact


def _sweep(of, r, g, bounds, squares):
    for b in range(of.norms.size):
        best = 0.0
        for i in range(b * GROUPS_AT_ONCE, min((b + 1) * GROUPS_AT_ONCE, of.starts.size - 1)):
            part = group_square(of.order, of.starts, g, i)
            squares += part
            best = max(best, part)
        of.norms[b] = best
    return squares


def _answer(of, r, support, g, bounds, rounds, count):
    residual, held, fresh = rounds.residual, rounds.held, 0
    squares, group, first, touched = best_group(of, g, residual, count)
    if squares <= 0.0:  # every group ties: the first one
        squares, group, first = 0.0, 0, np.int64(support.slots[member(of.order, 0)])
    begin, size = of.starts[group], of.starts[group + 1] - of.starts[group]
    if first == 0:
        fresh, first = size, count + 1
        if count + size >= support.x.size:
            return -1, 0
        of.touched[touched] = group
        for i in range(size):
            j = np.int64(member(of.order, begin + i))
            support.coordinates[first + i] = j
            held[first + i] = residual[first + i] = g[j]
    if squares == 0.0:
        rounds.chosen[0], rounds.values[0] = first, -of.radius
        return fresh, 1
    for i in range(size):
        rounds.chosen[i], rounds.values[i] = first + i, residual[first + i] * (-of.radius / math.sqrt(squares))
    return fresh, size


BODIES[Groups] = Bodies(lambda of: 0.0, _sweep, _answer)
