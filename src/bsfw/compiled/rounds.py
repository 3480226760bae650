"""What Boost does in every round on sets whose vertices have a few nonzeros, on compact arrays.

With psi = sum_k c_k v_k - Lambda x, the residual outside of the support of x and the visited coordinates is -m_j in
every round. The others, the touched ones, have a slot each in the rows of one array, `compact`. Inner products are
summed anew in each round over the slots of u = v - x itself: no recurrence drifts, and nothing cancels where the
vertex v is close to x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._arrays import Array
from ..boosting import Direction
from ..vertices import Vertex
from ._jit import jit

X, HELD, Q, PSI, G, V, ROWS = range(7)
"""Rows of `compact`: x; m; sum_k c_k v_k; psi; m + psi, which the LMO is asked; the vertex of the round, else zeros."""

SMALLEST, LARGEST = 1e-70, 1e70
"""Kernels square without scaling. For an ||m|| outside of these bounds, zero included, or an x that is not finite, the
generic Boost is asked."""

REORDERED = {"reassoc", "nsz", "contract"}
"""What sums need to be vectorised."""


@jit(fastmath=REORDERED)
def residual(compact, count, total):
    """Fill PSI and G from Q and total = Lambda; return ||psi||^2 and <psi, m>."""
    x, held, q = compact[X, :count], compact[HELD, :count], compact[Q, :count]
    psi, g = compact[PSI, :count], compact[G, :count]
    pp = pm = 0.0
    for s in range(count):
        value = q[s] - total * x[s]
        psi[s], g[s] = value, held[s] + value
        pp += value * value
        pm += value * held[s]
    return pp, pm


@jit(fastmath=REORDERED)
def products(compact, count):
    """||u||^2, <u, m> and <u, psi> for u = v - x, over the slots."""
    x, held, psi, v = compact[X, :count], compact[HELD, :count], compact[PSI, :count], compact[V, :count]
    uu = um = upsi = 0.0
    for s in range(count):
        u = v[s] - x[s]
        uu += u * u
        um += u * held[s]
        upsi += u * psi[s]
    return uu, um, upsi


@jit()
def judge(norm_m, alignment, min_gain, closest, pp, pm, uu, um, upsi):
    """The weight lambda of this round's vertex and the alignment with it, or zeros: the round is rejected.

    With ||u||^2 up to `closest`, x is the vertex to rounding: u is noise, and its huge lambda would make d~ vanish.
    """
    ru = -um - upsi  # <r, u> with r = -m - psi
    # The away candidate -psi/||psi|| only rescales psi, so that min_gain > 0 rejects it.
    if uu <= closest or ru <= 0.0 or (pp > 0.0 and (pm + pp) / math.sqrt(pp) > ru):
        return 0.0, 0.0
    lam = ru / uu
    squared = pp + 2.0 * lam * upsi + lam * lam * uu
    gained = -(pm + lam * um) / (norm_m * math.sqrt(squared)) if squared > 0.0 else -1.0
    return (lam, gained) if gained - alignment >= min_gain else (0.0, 0.0)


@jit()
def rounding(compact, count, eps):
    """The `closest` of `judge` for an x with numbers of relative precision eps."""
    squares = 0.0
    for s in range(count):
        squares += compact[X, s] * compact[X, s]
    return (8.0 * eps) ** 2 * squares


@jit()
def with_room(compact, count, more):
    """`compact` itself if it has `more` slots after `count`, else a copy that has."""
    if count + more <= compact.shape[1]:
        return compact
    larger = np.zeros((ROWS, 2 * (count + more)))
    for row in range(ROWS):  # loops, for slices of two dimensions take seconds to compile
        for s in range(count):
            larger[row, s] = compact[row, s]
    return larger


@jit()
def grown(log):
    """A copy of `log` with twice the rows, the new ones yet to be written."""
    return np.concatenate((log, np.empty_like(log)))


@jit()
def summary(compact, count, total, alignment, gap, distance):
    """The numbers of a `Direction`, in its order: gap, slope, alignment, norm, vertex distance."""
    pp, pm = residual(compact, count, total)
    if total == 0.0:
        return gap, 0.0, -1.0, 0.0, distance
    return gap, pm / total, alignment, math.sqrt(pp) / total, distance


def flat(array: Array) -> Array:
    """What kernels take: one dimension, double precision; a copy only where needed."""
    return np.ascontiguousarray(array, dtype=np.float64).reshape(-1)


def direction(
    vertices: Sequence[Vertex], weights: Array, numbers: tuple[float, float, float, float, float], rounds: int
) -> Direction:
    """What a kernel found, as a `Direction`; `vertices` starts with s, be it accepted or not."""
    return Direction(list(vertices[: len(weights)]), weights.tolist(), vertices[0], *numbers, rounds)
