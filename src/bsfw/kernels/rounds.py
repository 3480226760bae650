"""Algorithm Boost on sets whose vertices have few nonzeros: exact, one pass over n per call, then compact arrays.

With psi = sum_k c_k v_k - Lambda x, the residual outside of the support of x and the visited coordinates is -m_j in
every round. The others, the touched ones, have a slot each in the compact arrays, and `g` holds a neutral number in
their place. Inner products with psi and x are summed anew in each round, those of u = v - x follow from them by the
entries of v, and are summed coordinate by coordinate where that would cancel: no recurrence drifts.

`neutral`, `sweep`, `answer` and `finish` are names only: `onehot`, `ksparse` and `groups` enter their bodies into
`BODIES`, from which Numba takes those of the set by its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ._jit import INLINED, SUMS, entry, kernel
from .accept import accept as plain_accept
from .record import DONE, GROW, NOT_FINITE, OUT_OF_RANGE

SMALLEST, LARGEST = 1e-70, 1e70
"""Kernels square without scaling, so that an ||m|| outside of these bounds is none for them, unless it is zero."""
MOST_SHIFTED = 1000
"""Powers of two by which m is multiplied at most: enough to bring every number into these bounds."""
CANCELLED = 1e-4
"""With ||v - x||^2 below this fraction of ||x||^2, inner products with v - x are summed coordinate by coordinate."""

accept = kernel(error_model="numpy")(plain_accept)


def neutral(of: Any) -> Any:
    """What stands for a touched coordinate in g: no oracle chooses it."""


def sweep(of: Any, r: Any, g: Any, bounds: Any, squares: Any) -> Any:
    """Look at m once, where it is neutral at all touched coordinates, whose sum of squares is given; returns that of
    all."""


def answer(of: Any, r: Any, support: Any, g: Any, bounds: Any, rounds: Any, count: Any) -> Any:
    """The LMO at the residual.

    The slots and values of the vertex go into `chosen` and `values`; its coordinates that have no slot yet are put into
    those after `count`, with m there. Returns how many these are, or -1 if there is no room for them, and the entries
    of the vertex."""


def finish(of: Any, r: Any, g: Any, bounds: Any, share: Any) -> Any:
    """After the last round, before g is whole again."""


class Bodies(NamedTuple):
    """What the four do for a set."""

    neutral: Callable[..., Any]
    sweep: Callable[..., Any]
    answer: Callable[..., Any]
    finish: Callable[..., Any] = lambda of, r, g, bounds, share: None


BODIES: dict[type, Bodies] = {}
"""By the type of the set."""
overload(neutral, jit_options=INLINED)(lambda of: BODIES[of.instance_class].neutral)
overload(sweep, jit_options=INLINED)(lambda of, r, g, bounds, squares: BODIES[of.instance_class].sweep)
overload(answer, jit_options=INLINED)(lambda of, r, support, g, bounds, rounds, count: BODIES[of.instance_class].answer)
overload(finish, jit_options=INLINED)(lambda of, r, g, bounds, share: BODIES[of.instance_class].finish)


@kernel(fastmath=SUMS)
def survey(x, held, q, total, count, residual):
    """m + psi into `residual`, for psi = q - total x; returns ||psi||^2, <psi, m> and <psi, x>."""
    pp = pm = px = 0.0
    for k in range(np.uint64(1), np.uint64(count + 1)):
        psi = q[k] - total * x[k]
        residual[k] = held[k] + psi
        pp += psi * psi
        pm += psi * held[k]
        px += psi * x[k]
    return pp, pm, px


@kernel(fastmath=SUMS)
def careful_products(x, held, q, total, v, count):
    """||u||^2, <u, m> and <u, psi> for u = v - x, over the slots."""
    uu = um = upsi = 0.0
    for k in range(np.uint64(1), np.uint64(count + 1)):
        u = v[k] - x[k]
        uu += u * u
        um += u * held[k]
        upsi += u * (q[k] - total * x[k])
    return uu, um, upsi


@kernel()
def products(support, rounds, total, count, size, xx, mx, px):
    """As `careful_products`, from those with x and the entries of the vertex: O(size) unless that cancels."""
    x, q, held, chosen, values = support.x, support.q, rounds.held, rounds.chosen, rounds.values
    uu, um, upsi = xx, -mx, -px
    for i in range(size):
        k, v = chosen[i], values[i]
        uu += v * v - 2.0 * v * x[k]
        um += v * held[k]
        upsi += v * (q[k] - total * x[k])
    if uu > CANCELLED * xx:
        return uu, um, upsi
    by_slot = rounds.residual  # of no use any more in this round
    by_slot[1 : count + 1] = 0.0
    for i in range(size):
        by_slot[chosen[i]] = values[i]
    return careful_products(x, held, q, total, by_slot, count)


@kernel()
def logged(log, support, rounds, accepted, size):
    """Put the vertex of this round into the log; whether there was room."""
    start = log.ends[accepted - 1] if accepted > 0 else 0
    if accepted == log.ends.size or start + size > log.values.size:
        return False
    for i in range(size):
        log.coordinates[start + i] = support.coordinates[rounds.chosen[i]]
        log.values[start + i] = rounds.values[i]
    log.ends[accepted] = start + size
    return True


@kernel(error_model="numpy")
def attempt(of, rule, record, support, g, bounds, rounds, nothing):
    """`boost` without scaling: OUT_OF_RANGE if m, or x, has numbers too large or too small, or m is zero and `nothing`
    does not say so."""
    r, log, held, residual = record[0], rounds.log, rounds.held, rounds.residual
    x, q, coordinates, vertex, touched = support.x, support.q, support.coordinates, support.vertex, neutral(of)
    count = before = r.count
    xx = mx = squares = 0.0
    for k in range(1, count + 1):
        j = coordinates[k]
        held[k], q[k], g[j] = g[j], 0.0, touched
        xx += x[k] * x[k]
        mx += held[k] * x[k]
        squares += held[k] * held[k]
    m_norm, closest, status = math.sqrt(sweep(of, r, g, bounds, squares)), rule.zero * xx, DONE
    if not ((nothing or SMALLEST < m_norm < LARGEST) and closest < math.inf):
        status = OUT_OF_RANGE
    total, alignment, made, accepted = 0.0, -1.0, 0, 0
    while made < rule.max_rounds and status == DONE:
        pp, pm, px = survey(x, held, q, total, count, residual)
        fresh, size = answer(of, r, support, g, bounds, rounds, count)
        if fresh < 0 or (log.ends.size > 0 and not logged(log, support, rounds, accepted, size)):
            status = GROW
            break
        made += 1
        uu, um, upsi = products(support, rounds, total, count + fresh, size, xx, mx, px)
        lam, gained = accept(m_norm, alignment, rule.min_gain, closest, pp, pm, uu, um, upsi)
        if made == 1:
            r.gap, r.distance = -r.scale * um, math.sqrt(uu)
            vertex[1 : count + fresh + 1] = 0.0
            for i in range(size):
                vertex[rounds.chosen[i]] = rounds.values[i]
        if made == 1 or lam > 0.0:  # s has slots in any case: a step that reverts goes there
            for k in range(count + 1, count + fresh + 1):
                support.slots[coordinates[k]] = k
                g[coordinates[k]] = touched
            count += fresh
        if lam == 0.0:
            break
        for i in range(size):
            q[rounds.chosen[i]] += lam * rounds.values[i]
        if log.ends.size > 0:
            log.weights[accepted] = lam
        total, alignment, accepted = total + lam, gained, accepted + 1
    finish(of, r, g, bounds, rule.share if status == DONE else -1.0)
    for k in range(1, count + 1):
        g[coordinates[k]] = held[k]
    if status != DONE:
        for k in range(before + 1, count + 1):
            support.slots[coordinates[k]] = 0
            q[k] = vertex[k] = 0.0
        return status
    pp, pm, _ = survey(x, held, q, total, count, residual)
    r.count, r.rounds, r.accepted, r.total, r.alignment = count, made, accepted, total, alignment
    r.lmo_calls += made
    r.norm = math.sqrt(pp) / total if total > 0.0 else 0.0
    r.slope = r.scale * pm / total if total > 0.0 else 0.0
    return DONE


@kernel()
def largest_magnitude(g):
    """max |g_j|, or NaN if there is one."""
    most = 0.0
    for j in range(g.size):
        if abs(g[j]) > most or math.isnan(g[j]):
            most = abs(g[j])
    return most


@entry(error_model="numpy")
def boost(of, rule, record, support, g, bounds, rounds):
    """One Boost call for m = scale g at the x of the compact arrays: fills q, `vertex` and the record.

    On return q holds sum_k c_k v_k by slot, with total = sum_k c_k; g is unchanged. Boost is scale-equivariant in m, so
    that it runs on g itself; if that has numbers whose squares leave the range, it is multiplied by a power of two
    before and back afterwards. Returns GROW, with nothing changed, if there are no slots left or no room in the log,
    NOT_FINITE if m is not, and OUT_OF_RANGE if x has numbers too large to square.
    """
    power = 0
    nothing = power != 0
    while True:
        status = attempt(of, rule, record, support, g, bounds, rounds, nothing)
        if power != 0:
            back = math.ldexp(1.0, power)
            for j in range(g.size):
                g[j] *= back
            record[0].gap *= back
            record[0].slope *= back
            record[0].bounded, record[0].squares = 0, -math.inf
        if status != OUT_OF_RANGE or power != 0 or nothing:
            return status
        largest = largest_magnitude(g)
        if not largest < math.inf:
            return NOT_FINITE
        nothing = largest == 0.0
        if not nothing:
            record[0].bounded, record[0].squares = 0, -math.inf
            power = min(max(math.frexp(largest)[1], -MOST_SHIFTED), MOST_SHIFTED)
            if power == 0:
                return status
            for j in range(g.size):
                g[j] *= math.ldexp(1.0, -power)
