"""The LMO of the l1/l2 group ball inside of Boost (`rounds`): the group on which ||m + psi|| is largest.

A group is touched if x has a nonzero in it or if it was visited; all of its coordinates then have consecutive slots.
The norms of the other groups never change: one pass over m finds the largest of each block of groups. Touched groups
are zeros there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from .._arrays import Array
from ..boosting import Direction
from ..constraints.sparse_sets import GroupBall
from ._jit import kernel
from .onehot import LANES, filled
from .rounds import REORDERED, WITHOUT_COUNTS, answer, boost, boost_arrays, direction, slot_at, sweep
from .rows import member
from .sets import GROUPS_AT_ONCE, GroupSet
from .work import GroupRule


@kernel(fastmath=REORDERED, forceinline=True)
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
def best_group(order, starts, work, count):
    """As `best_touched`, of all groups; the first slot is 0 if it has none.

    What `norms` says of a block is corrected, from the largest on, if a group of it has been touched since.
    """
    best, group, first, touched = best_touched(starts, work.touched, work.residual, count)
    while True:
        top, block = largest(work.norms)
        if top < best or top == 0.0:
            return best, group, first, touched
        exact, fresh = first_largest(order, starts, work.g, block)
        if exact == top:
            if top > best or fresh < group:
                return top, fresh, 0, touched
            return best, group, first, touched
        work.norms[block] = exact


@overload(sweep, jit_options=WITHOUT_COUNTS)
def _sweep(sparse, work) -> Callable[..., Any] | None:
    def body(sparse, work):
        order, starts, total = sparse.order, sparse.starts, 0.0
        for b in range(work.norms.size):
            best = 0.0
            for i in range(b * GROUPS_AT_ONCE, min((b + 1) * GROUPS_AT_ONCE, starts.size - 1)):
                squares = group_square(order, starts, work.g, i)
                total += squares
                best = max(best, squares)
            work.norms[b] = best
        return total

    return body if getattr(sparse, "instance_class", None) is GroupRule else None


@overload(answer, jit_options=WITHOUT_COUNTS)
def _answer(sparse, radius, work, count) -> Callable[..., Any] | None:
    def body(sparse, radius, work, count):
        order, starts, residual, fresh = sparse.order, sparse.starts, work.residual, 0
        squares, group, first, touched = best_group(order, starts, work, count)
        if squares <= 0.0:  # every group ties: the first one
            squares, group, first = 0.0, 0, np.int64(work.slots[member(order, 0)])
        begin, size = starts[group], starts[group + 1] - starts[group]
        if first == 0:
            fresh, first = size, count + 1
            if count + size + LANES >= work.x.size:
                return -1, 0, 0
            work.touched[touched] = group
            for i in range(size):
                j = np.int64(member(order, begin + i))
                work.coordinates[first + i] = j
                work.held[first + i] = residual[first + i] = work.g[j]
        if squares == 0.0:
            residual[first] = -radius
            size = 1
        else:
            for s in range(first, first + size):
                residual[s] *= -radius / math.sqrt(squares)
        residual[1:first] = 0.0
        residual[first + size : filled(count + fresh) + 1] = 0.0
        return fresh, size, first

    return body if getattr(sparse, "instance_class", None) is GroupRule else None


@overload(slot_at, jit_options=WITHOUT_COUNTS)
def _slot_at(sparse, work, first, i) -> Callable[..., Any] | None:
    return (lambda sparse, work, first, i: first + i) if getattr(sparse, "instance_class", None) is GroupRule else None


def boost_groups(constraint: GroupBall, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction | None:
    """Algorithm Boost on `GroupBall`, or None where the numbers need the generic one.

    O(n) once, then O(touched groups) a round.
    """
    found = boost_arrays(boost, GroupSet(constraint), constraint.radius, m, x, max_rounds, min_gain)
    return None if found is None else direction(*found, m, x)
