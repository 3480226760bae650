"""Algorithm Boost on the l1/l2 group ball: exact, one pass over n per call instead of several per round.

A group is touched if x has a nonzero in it or if it was visited; all of its coordinates then have consecutive slots
(see `rounds`). The norms of the other groups never change: one pass over m gives them, with the largest of each block.
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

BLOCK = 256
TOUCHED = -1.0
"""In place of the norm of m on a group that is touched."""


@jit()
def largest(values, begin, end):
    """The largest of values[begin:end], as far as there are that many, and the first place that has it."""
    best, where = values[begin], begin
    for i in range(begin + 1, min(end, values.size)):
        if values[i] > best:
            best, where = values[i], i
    return best, where


@jit()
def bounds(starts, n, group):
    """Where a group begins and ends in the order of the groups."""
    return starts[group], starts[group + 1] if group + 1 < starts.size else n


@jit()
def measure(m, x, order, starts, norms):
    """Norms of m by group, TOUCHED where x has a nonzero, into `norms`; returns ||m||^2 and how many are touched."""
    places = order.view(np.uint64)  # signed indices would be tested for being negative
    squares, touched = 0.0, 0
    for i in range(starts.size):
        begin, end = bounds(starts, order.size, i)
        here = of_x = 0.0
        for p in range(np.uint64(begin), np.uint64(end)):
            j = places[p]
            here += m[j] * m[j]
            of_x += abs(x[j])
        norms[i] = math.sqrt(here) if of_x == 0.0 else TOUCHED
        squares += here
        touched += of_x != 0.0
    return squares, touched


@jit()
def gather(m, x, order, starts, norms, which, last):
    """The first compact arrays: the groups in which x has a nonzero, into `which`, and the ends of their slots."""
    t = count = 0
    for i in range(starts.size):
        if norms[i] == TOUCHED:
            begin, end = bounds(starts, order.size, i)
            count += end - begin
            which[t], last[t] = i, count
            t += 1
    compact = np.zeros((ROWS, count + 64))
    s = 0
    for i in which[:t]:
        begin, end = bounds(starts, order.size, i)
        for p in range(begin, end):
            compact[X, s], compact[HELD, s] = x[order[p]], m[order[p]]
            s += 1
    return compact, count


@jit()
def boost(m, x, order, starts, radius, eps, max_rounds, min_gain):
    """One Boost call: whether it was made, rounds, numbers, weights; groups, ends and values of the vertices."""
    norms = np.empty(starts.size)
    squares_of_m, touched = measure(m, x, order, starts, norms)
    norm_m = math.sqrt(squares_of_m)
    # Touched group t is group which[t]; its slots end before last[t], where those of the next begin.
    which, last = np.empty(touched + 8, dtype=np.int64), np.empty(touched + 8, dtype=np.int64)
    compact, count = gather(m, x, order, starts, norms, which, last)
    tops = np.empty(-(-starts.size // BLOCK))
    for b in range(tops.size):
        tops[b], _ = largest(norms, b * BLOCK, (b + 1) * BLOCK)
    fresh_norm, block = largest(tops, 0, tops.size)
    _, fresh = largest(norms, block * BLOCK, (block + 1) * BLOCK)
    log_groups, log_ends, weights = np.empty(8, dtype=np.int64), np.empty(8, dtype=np.int64), np.empty(8)
    log_values, logged = np.empty(64), 0
    closest = rounding(compact, count, eps)
    usable = SMALLEST < norm_m < LARGEST and closest < math.inf  # False for NaN
    total, alignment, gap, distance = 0.0, -1.0, 0.0, 0.0
    rounds = accepted = 0
    while usable and rounds < max_rounds:
        pp, pm = residual(compact, count, total)
        best, group, t = fresh_norm, fresh, -1
        start = 0
        for other in range(touched):
            squares = 0.0
            for s in range(start, last[other]):
                squares += compact[G, s] * compact[G, s]
            start = last[other]
            norm = math.sqrt(squares)
            if norm > best or (norm == best and which[other] < group):
                best, group, t = norm, which[other], other
        rounds += 1
        if best == 0.0:  # psi = -m: there is nothing left to gain
            break
        begin, end = bounds(starts, order.size, group)
        size = end - begin
        start = count if t < 0 else last[t] - size
        if t < 0:  # in slots after the last, which count only if the round is accepted
            compact = with_room(compact, count, size)
            for i in range(size):
                mj = m[order[begin + i]]
                compact[HELD, count + i], compact[G, count + i] = mj, mj
        for s in range(start, start + size):
            compact[V, s] = -(radius / best) * compact[G, s]
        uu, um, upsi = products(compact, max(count, start + size))
        if accepted == weights.size:
            log_groups, log_ends, weights = grown(log_groups), grown(log_ends), grown(weights)
        while logged + size > log_values.size:
            log_values = grown(log_values)
        log_groups[accepted], log_ends[accepted] = group, logged + size
        log_values[logged : logged + size] = compact[V, start : start + size]
        if rounds == 1:
            gap, distance = -um, math.sqrt(uu)
        lam, gained = judge(norm_m, alignment, min_gain, closest, pp, pm, uu, um, upsi)
        if lam == 0.0:
            break
        for s in range(start, start + size):
            compact[Q, s] += lam * compact[V, s]
            compact[V, s] = 0.0
        if t < 0:
            count += size
            if touched == which.size:
                which, last = grown(which), grown(last)
            which[touched], last[touched] = group, count
            touched += 1
            norms[group] = TOUCHED
            block = group // BLOCK
            tops[block], _ = largest(norms, block * BLOCK, (block + 1) * BLOCK)
            fresh_norm, block = largest(tops, 0, tops.size)
            _, fresh = largest(norms, block * BLOCK, (block + 1) * BLOCK)
        weights[accepted] = lam
        logged += size
        total += lam
        alignment = gained
        accepted += 1
    numbers = summary(compact, count, total, alignment, gap, distance)
    return usable, rounds, numbers, weights[:accepted] / total, log_groups, log_ends, log_values


def boost_groups(
    groups: tuple[Array, ...],
    order: Array,
    starts: Array,
    radius: float,
    m: Array,
    x: Array,
    max_rounds: int,
    min_gain: float,
) -> Direction | None:
    """Algorithm Boost on `GroupBall`, or None where the numbers need the generic one.

    `order` holds the groups one after the other, from their `starts` on. O(n) once, then O(touched groups) a round.
    """
    dtype = np.result_type(m, x, np.float32)
    usable, rounds, numbers, weights, chosen, lasts, values = boost(
        flat(m),
        flat(x),
        order,
        starts,
        radius,
        float(np.finfo(dtype).eps),
        max_rounds,
        min_gain,
    )
    if not usable:
        return None
    made = max(1, len(weights))
    parts = np.split(values[: lasts[made - 1]].astype(dtype), lasts[: made - 1])
    vertices = [Sparse(groups[i], part, x.shape) for i, part in zip(chosen[:made], parts, strict=True)]
    return direction(vertices, weights, numbers, rounds)
