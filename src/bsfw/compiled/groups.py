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
    grown,
    judge,
    products,
    residual,
    summary,
    with_room,
)

BLOCK = 256
TOUCHED = -1.0
"""In place of the norm of m on a group that is touched."""


@jit()
def largest(values, begin, end):  # type: ignore[no-untyped-def]
    """The largest of values[begin:end] and the first place that has it."""
    best, where = values[begin], begin
    for i in range(begin + 1, end):
        if values[i] > best:
            best, where = values[i], i
    return best, where


@jit()
def measure(m, x, order, ends, norms, used):  # type: ignore[no-untyped-def]
    """Norms of m by group into `norms`, into `used` whether x has a nonzero there; returns ||m||^2."""
    squares, begin = 0.0, 0
    for i in range(ends.size):
        total, some = 0.0, False
        for p in range(begin, ends[i]):
            j = order[p]
            total += m[j] * m[j]
            some |= x[j] != 0.0
        begin = ends[i]
        norms[i], used[i] = math.sqrt(total), some
        squares += total
    return squares


@jit()
def boost(m, x, order, ends, radius, max_rounds, min_gain):  # type: ignore[no-untyped-def]
    """One Boost call: whether it was made, rounds, numbers, weights; groups, ends and values of the vertices."""
    norms, used = np.empty(ends.size), np.empty(ends.size, dtype=np.bool_)
    norm_m = math.sqrt(measure(m, x, order, ends, norms, used))
    # Touched group t is group which[t]; its slots are first[t], ..., first[t + 1] - 1.
    which, first = np.empty(ends.size, dtype=np.int64), np.zeros(ends.size + 1, dtype=np.int64)
    touched = count = 0
    compact = np.zeros((ROWS, 64))
    for i in range(ends.size):
        if used[i]:
            begin = ends[i - 1] if i > 0 else 0
            compact = with_room(compact, count, ends[i] - begin)
            for p in range(begin, ends[i]):
                compact[X, count], compact[HELD, count] = x[order[p]], m[order[p]]
                count += 1
            which[touched], first[touched + 1] = i, count
            touched += 1
            norms[i] = TOUCHED
    tops = np.empty(-(-ends.size // BLOCK))
    for b in range(tops.size):
        tops[b], _ = largest(norms, b * BLOCK, min(ends.size, (b + 1) * BLOCK))
    fresh_norm, block = largest(tops, 0, tops.size)
    _, fresh = largest(norms, block * BLOCK, min(ends.size, (block + 1) * BLOCK))
    log_groups, log_ends, weights = np.empty(8, dtype=np.int64), np.empty(8, dtype=np.int64), np.empty(8)
    log_values, logged = np.empty(64), 0
    usable = SMALLEST < norm_m < LARGEST  # False for NaN
    total, alignment, gap, distance = 0.0, -1.0, 0.0, 0.0
    rounds = accepted = 0
    while usable and rounds < max_rounds:
        pp, pm = residual(compact, count, total)
        best, group, t = fresh_norm, fresh, -1
        for other in range(touched):
            squares = 0.0
            for s in range(first[other], first[other + 1]):
                squares += compact[G, s] * compact[G, s]
            norm = math.sqrt(squares)
            if norm > best or (norm == best and which[other] < group):
                best, group, t = norm, which[other], other
        rounds += 1
        if best == 0.0:  # psi = -m: there is nothing left to gain
            break
        begin = ends[group - 1] if group > 0 else 0
        size, start = ends[group] - begin, first[t] if t >= 0 else count
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
        lam, gained = judge(norm_m, alignment, min_gain, pp, pm, uu, um, upsi)
        if lam == 0.0:
            break
        for s in range(start, start + size):
            compact[Q, s] += lam * compact[V, s]
            compact[V, s] = 0.0
        if t < 0:
            count += size
            which[touched], first[touched + 1] = group, count
            touched += 1
            norms[group] = TOUCHED
            block = group // BLOCK
            tops[block], _ = largest(norms, block * BLOCK, min(ends.size, (block + 1) * BLOCK))
            fresh_norm, block = largest(tops, 0, tops.size)
            _, fresh = largest(norms, block * BLOCK, min(ends.size, (block + 1) * BLOCK))
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
    """Algorithm Boost on `GroupBall`, or None where ||m|| needs the generic one.

    `order` holds the groups one after the other, from their `starts` on. O(n) once, then O(touched groups) a round.
    """
    usable, rounds, numbers, weights, chosen, lasts, values = boost(
        np.ascontiguousarray(m, dtype=np.float64).reshape(-1),
        np.ascontiguousarray(x, dtype=np.float64).reshape(-1),
        order,
        np.append(starts[1:], order.size),
        radius,
        max_rounds,
        min_gain,
    )
    if not usable:
        return None
    made = max(1, len(weights))
    parts = np.split(values[: lasts[made - 1]].astype(np.result_type(m, x, np.float32)), lasts[: made - 1])
    vertices = [Sparse(groups[i], part, x.shape) for i, part in zip(chosen[:made], parts, strict=True)]
    return direction(vertices, weights, numbers, rounds)
