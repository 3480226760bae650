"""Algorithm Boost on sets whose vertices have several nonzeros: exact, one pass over n per call, then compact arrays.

With psi = sum_k c_k v_k - Lambda x, the residual outside of the support of x and the visited coordinates is -m_j in
every round. The others, the touched ones, have a slot each in the compact arrays (see `onehot`). Inner products are
summed anew in each round over the slots of u = v - x itself: no recurrence drifts, and nothing cancels where the
vertex v is close to x.

`sweep`, `answer` and `slot_at` are names only: `ksparse` and `groups` have the bodies, and Numba picks one by the type
of `Rule.sparse`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..boosting import Direction, zero_squared
from ..vertices import Sparse, Vertex
from . import layout
from ._jit import kernel
from .boosting import direction_of
from .layout import (
    ACCEPTED,
    ALIGNMENT,
    COUNT,
    DISTANCE,
    DONE,
    GAP,
    GROW,
    LAMBDA,
    LMO_CALLS,
    NORM,
    NOT_FINITE,
    OUT_OF_RANGE,
    ROUNDS,
    SCALE,
    SLOPE,
)
from .onehot import LANES, filled
from .sets import Set
from .work import Log

SMALLEST, LARGEST = 1e-70, 1e70
"""Kernels square without scaling, so that an ||m|| outside of these bounds is none for them, unless it is zero."""

MOST_SHIFTED = 1000
"""Powers of two by which m is multiplied at most: enough to bring every number into these bounds."""

REORDERED = {"reassoc", "nsz", "contract"}
"""What sums need to be vectorised."""

WITHOUT_COUNTS: Any = {"_nrt": False}
"""As `kernel`, for bodies that are picked by type."""


class Call(NamedTuple):
    """What `boost` asks of a rule."""

    sparse: Any
    radius: float
    max_rounds: int
    min_gain: float
    zero: float


class Arrays(NamedTuple):
    """What `boost` asks of the work."""

    whole: Any
    real: Any
    g: Any
    slots: Any
    coordinates: Any
    x: Any
    q: Any
    held: Any
    residual: Any
    vertex: Any
    touched: Any = None
    norms: Any = None
    pool: Any = None


def sweep(sparse: Any, work: Any) -> Any:
    """Look at m once, where it is zero at all touched coordinates; returns the sum of squares."""


def answer(sparse: Any, radius: Any, work: Any, count: Any) -> Any:
    """The LMO at the residual, whose place the vertex takes. Its coordinates that have no slot yet are put into those
    after `count`. Returns how many these are, or -1 if there is no room for them; the entries of the vertex; and what
    `slot_at` needs to know."""


def slot_at(sparse: Any, work: Any, first: Any, i: Any) -> Any:
    """The slot of the i-th entry of the vertex that `answer` found."""


@kernel(fastmath=REORDERED)
def survey(x, held, q, total, count, residual):
    """m + psi into `residual`, for psi = q - total x; returns ||psi||^2 and <psi, m>."""
    pp = pm = 0.0
    for k in range(np.uint64(1), np.uint64(count + 1)):
        psi = q[k] - total * x[k]
        residual[k] = held[k] + psi
        pp += psi * psi
        pm += psi * held[k]
    return pp, pm


@kernel(fastmath=REORDERED)
def products(x, held, q, total, v, count):
    """||u||^2, <u, m> and <u, psi> for u = v - x, over the slots."""
    uu = um = upsi = 0.0
    for k in range(np.uint64(1), np.uint64(count + 1)):
        u = v[k] - x[k]
        uu += u * u
        um += u * held[k]
        upsi += u * (q[k] - total * x[k])
    return uu, um, upsi


@kernel()
def judge(norm_m, alignment, min_gain, closest, pp, pm, uu, um, upsi):
    """The weight lambda of this round's vertex and the alignment with it, or zeros: the round is rejected.

    With ||u||^2 up to `closest`, x is the vertex to rounding: u is noise, and its huge lambda would make d~ vanish.
    """
    ru = -um - upsi  # <r, u> with r = -m - psi; zero if m is
    # The away candidate -psi/||psi|| only rescales psi, so that min_gain > 0 rejects it.
    if uu <= closest or ru <= 0.0 or (pp > 0.0 and (pm + pp) / math.sqrt(pp) > ru):
        return 0.0, 0.0
    lam = ru / uu
    squared = pp + 2.0 * lam * upsi + lam * lam * uu
    gained = -(pm + lam * um) / (norm_m * math.sqrt(squared)) if squared > 0.0 else -1.0
    return (lam, gained) if gained - alignment >= min_gain else (0.0, 0.0)


@kernel()
def largest_magnitude(g):
    """max |g_j|, or NaN if there is one."""
    most = 0.0
    for j in range(g.size):
        if abs(g[j]) > most or math.isnan(g[j]):
            most = abs(g[j])
    return most


@kernel()
def multiply(g, factor):
    for j in range(g.size):
        g[j] *= factor


@kernel()
def logged(sparse, work, log, accepted, first, size):
    """Put the vertex of this round into the log; whether there was room."""
    start = log.ends[accepted - 1] if accepted > 0 else 0
    if accepted == log.ends.size or start + size > log.values.size:
        return False
    for i in range(size):
        slot = slot_at(sparse, work, first, i)
        log.coordinates[start + i], log.values[start + i] = work.coordinates[slot], work.residual[slot]
    log.ends[accepted] = start + size
    return True


@kernel()
def give_slots(work, count, fresh):
    """The coordinates that `answer` put into the slots after `count` are touched from now on; returns the new count."""
    for k in range(count + 1, count + fresh + 1):
        work.slots[work.coordinates[k]] = k
        work.g[work.coordinates[k]] = 0.0
    return count + fresh


@kernel()
def boost(rule, work, log):
    """One Boost call for m = SCALE g at the x of the compact arrays. Fills q and `vertex`, and whole and real as
    `layout` says.

    On return q holds sum_k c_k v_k by slot, with LAMBDA = sum_k c_k; g is unchanged. Boost is scale-equivariant in m,
    so that it runs on g itself. All coordinates of s have slots, even if it was rejected: then the step goes there.
    Returns GROW, with nothing changed, if there are no slots left or no room in the log, NOT_FINITE if ||m|| is not,
    and OUT_OF_RANGE if m, or x, has numbers that are too large or too small.
    """
    whole, real, sparse, vertex, residual = work.whole, work.real, rule.sparse, work.vertex, work.residual
    g, x, q, held, coordinates = work.g, work.x, work.q, work.held, work.coordinates
    count = before = whole[COUNT]
    xx = squares = 0.0
    for k in range(1, count + 1):
        held[k], q[k] = g[coordinates[k]], 0.0
        g[coordinates[k]] = 0.0
        xx += x[k] * x[k]
        squares += held[k] * held[k]
    squares += sweep(sparse, work)
    norm_m, closest, status = math.sqrt(squares), rule.zero * xx, DONE
    in_range = SMALLEST < norm_m < LARGEST
    nothing = not in_range and largest_magnitude(g) == 0.0 and largest_magnitude(held[1 : count + 1]) == 0.0
    if not norm_m < math.inf:  # or NaN
        status = NOT_FINITE
    elif not ((in_range or nothing) and closest < math.inf):
        status = OUT_OF_RANGE
    total, alignment, rounds, accepted = 0.0, -1.0, 0, 0
    while rounds < rule.max_rounds and status == DONE:
        pp, pm = survey(x, held, q, total, filled(count), residual)
        fresh, size, first = answer(sparse, rule.radius, work, count)
        if fresh < 0 or (log.ends.size > 0 and not logged(sparse, work, log, accepted, first, size)):
            status = GROW
            break
        rounds += 1
        uu, um, upsi = products(x, held, q, total, residual, filled(count + fresh))
        lam, gained = judge(norm_m, alignment, rule.min_gain, closest, pp, pm, uu, um, upsi)
        if rounds == 1:
            real[GAP], real[DISTANCE] = -real[SCALE] * um, math.sqrt(uu)
            for k in range(1, count + fresh + 1):
                vertex[k] = residual[k]
        if rounds == 1 or lam > 0.0:
            count = give_slots(work, count, fresh)
        if lam == 0.0:
            break
        for i in range(size):
            slot = slot_at(sparse, work, first, i)
            q[slot] += lam * residual[slot]
        if log.ends.size > 0:
            log.weights[accepted] = lam
        total += lam
        alignment = gained
        accepted += 1
    for k in range(1, count + 1):
        g[coordinates[k]] = held[k]
    if status != DONE:
        for k in range(before + 1, count + 1):
            work.slots[coordinates[k]] = 0
            q[k] = vertex[k] = 0.0
        return status
    pp, pm = survey(x, held, q, total, filled(count), residual)
    whole[COUNT], whole[ROUNDS], whole[ACCEPTED] = count, rounds, accepted
    whole[LMO_CALLS] += rounds
    real[LAMBDA], real[ALIGNMENT] = total, alignment
    real[NORM] = math.sqrt(pp) / total if total > 0.0 else 0.0
    real[SLOPE] = real[SCALE] * pm / total if total > 0.0 else 0.0
    return DONE


@kernel()
def boost_scaled(rule, work):
    """`boost` inside of a run: if m is out of range, it is multiplied by a power of two before and back afterwards.
    NOT_FINITE if that does not help."""
    status = boost(rule, work, work.log)
    if status != OUT_OF_RANGE:
        return status
    power = min(max(math.frexp(largest_magnitude(work.g))[1], -MOST_SHIFTED), MOST_SHIFTED)
    multiply(work.g, math.ldexp(1.0, -power))
    status = boost(rule, work, work.log)
    multiply(work.g, math.ldexp(1.0, power))
    work.real[GAP] *= math.ldexp(1.0, power)
    work.real[SLOPE] *= math.ldexp(1.0, power)
    return NOT_FINITE if status == OUT_OF_RANGE else status


FIRST_ROUNDS, FIRST_ENTRIES, ROOM = 1024, 65536, 4096
"""Rows and entries of the first log, and slots beyond the support; a longer boosting is run again with more of them.
What is not used of them costs next to nothing."""


def boost_arrays(
    kernel: Any, of: Set, radius: float, m: Array, x: Array, max_rounds: int, min_gain: float
) -> tuple[Arrays, Log] | None:
    """One call of `kernel`, which is `boost`, on dense arrays: what it filled, or None if the numbers need the generic
    Boost."""
    zero = zero_squared(np.result_type(m, x, np.float32))
    g, flat = np.array(m, dtype=np.float64).ravel(), np.asarray(x, dtype=np.float64).ravel()
    rule = Call(of.rule()["sparse"], radius, max_rounds, min_gain, zero)
    support = of.support(flat)
    slots = np.zeros(g.size, dtype=np.uint32)
    slots[support] = np.arange(1, len(support) + 1)
    rounds, entries, room = min(max_rounds, FIRST_ROUNDS), FIRST_ENTRIES, ROOM
    while True:
        size = min(g.size, len(support) + room) + 2 + LANES
        coordinates, (compact, q, held, residual) = np.zeros(size, dtype=np.int64), np.zeros((4, size))
        coordinates[1 : len(support) + 1], compact[1 : len(support) + 1] = support, flat[support]
        whole, real = np.zeros(layout.WHOLE_SIZE, dtype=np.int64), np.zeros(layout.REAL_SIZE)
        whole[layout.COUNT], real[layout.SCALE] = len(support), 1.0
        work = Arrays(
            whole,
            real,
            g,
            slots,
            coordinates,
            compact,
            q,
            held,
            residual,
            **of.arrays(support, size),
            **of.scratch(size),
        )
        places, ends = np.empty((2, entries), dtype=np.int64), np.empty(rounds, dtype=np.int64)
        log = Log(places[0], places[1].view(np.float64), ends, np.empty(rounds))
        status = kernel(rule, work, log)
        if status != layout.GROW:
            return (work, log) if status == layout.DONE else None
        rounds, entries, room = min(max_rounds, 4 * rounds), 4 * entries, 4 * room


def direction(work: Arrays, log: Log, m: Array, x: Array) -> Direction:
    """What a call of `boost` found for these arrays. The first vertex in the log is s, accepted or not."""
    whole, real = work.whole, work.real
    accepted, start, dtype = int(whole[layout.ACCEPTED]), 0, np.result_type(m, x, np.float32)
    vertices: list[Vertex] = []
    for end in log.ends[: max(1, accepted)].tolist():
        vertices.append(Sparse(log.coordinates[start:end].copy(), log.values[start:end].astype(dtype), x.shape))
        start = end
    weights = (log.weights[:accepted] / real[layout.LAMBDA]).tolist() if accepted else []
    return direction_of(whole, real, vertices[:accepted], weights, vertices[0])
