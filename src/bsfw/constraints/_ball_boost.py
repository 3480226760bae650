"""Algorithm Boost on the Euclidean ball, where every vertex lies in the plane of m and x: scalars, not vectors."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from .._arrays import Array, host_dtype, inner
from ..boosting import Direction, zero_squared
from ..vertices import Dense


@cache
def _range(dtype: np.dtype) -> tuple[float, float]:
    """Between these a sum of squares has neither lost digits nor overflowed, nor will a product of two."""
    limits = np.finfo(dtype)
    return math.sqrt(limits.tiny), math.sqrt(limits.max)


def boost_in_plane(radius: float, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction | None:
    """Algorithm Boost (`bsfw.boosting.boost`) for {||x|| <= radius}: O(n) once, then O(1) a round. Exact.

    The oracle of the ball, -radius g/||g||, stays in the span of m and x over the reals, and with it psi, every
    residual and every vertex. Vectors are kept by their coordinates in the orthonormal basis x/||x||, m'/||m'|| with
    m' = m - (<m, x>/<x, x>) x, and not by products of <m, m>, <m, x> and <x, x>: near a solution ||v - x|| is tiny,
    and its square would drown in their rounding. Where m is nearly parallel to x, m' has lost digits, but all that is
    made of it is small in proportion; below the rounding of m it counts as zero.

    Returns
    -------
    Direction or None
        vbar as one vertex of weight 1. None where the generic procedure is to be asked: m = 0, numbers so large or
        small that their squares leave the range, or arrays that do not match.
    """
    if m.shape != x.shape or m.dtype != x.dtype:
        return None
    dtype = host_dtype(x)
    zero, (low, high) = zero_squared(dtype), _range(dtype)
    m_squared, x_squared = inner(m, m), inner(x, x)
    if not (low < m_squared < high and (x_squared == 0.0 or low < x_squared < high)):
        return None

    off, m1, m2, x1 = m, 0.0, math.sqrt(m_squared), math.sqrt(x_squared)  # m = (m1, m2), x = (x1, 0)
    if x1 > 0.0:
        along = inner(m, x) / x_squared
        off = m - along * x
        off_squared = inner(off, off)
        m1, m2 = along * x1, math.sqrt(off_squared) if off_squared > zero * m_squared else 0.0
    length = math.hypot(m1, m2)

    p1 = p2 = total = 0.0  # psi^0 and Lambda
    alignment = -1.0  # align(-m, 0)
    k = accepted = 0
    gap = vertex_distance = 0.0
    while k < max_rounds:
        k += 1
        r1, r2 = -m1 - p1, -m2 - p2  # residual
        r_length = math.hypot(r1, r2)
        if r_length == 0.0:  # psi = -m: whatever the oracle says to a zero direction, lambda = 0
            break
        u1, u2 = radius * (r1 / r_length) - x1, radius * (r2 / r_length)  # v - x
        if k == 1:
            gap, vertex_distance = -(m1 * u1 + m2 * u2), math.hypot(u1, u2)
        progress, psi_length = r1 * u1 + r2 * u2, math.hypot(p1, p2)
        if psi_length > 0.0 and -(r1 * p1 + r2 * p2) / psi_length > progress:
            break  # the away candidate -psi/||psi|| would win; it only rescales psi, so no alignment is gained
        u_squared = u1 * u1 + u2 * u2
        if u_squared <= zero * x_squared or progress <= 0.0:
            break
        step = progress / u_squared  # lambda
        q1, q2 = p1 + step * u1, p2 + step * u2  # phi
        q_alignment = -(m1 * q1 + m2 * q2) / (length * math.hypot(q1, q2))
        if q_alignment - alignment < min_gain:
            break
        p1, p2, total, alignment = q1, q2, total + step, q_alignment
        accepted += 1

    vertex = Dense((-radius / length) * m)
    if accepted == 0:
        return Direction([], [], vertex, gap, 0.0, -1.0, 0.0, vertex_distance, k)
    slope, norm = (m1 * p1 + m2 * p2) / total, math.hypot(p1, p2) / total
    combined = vertex if accepted == 1 else Dense(_combination(x, off, p1 / total, p2 / total, x1, m2))
    return Direction([combined], [1.0], vertex, gap, slope, alignment, norm, vertex_distance, k)


def _combination(x: Array, off: Array, d1: float, d2: float, x1: float, m2: float) -> Array:
    """vbar = x + d~, from the coordinates of d~."""
    vbar = (1.0 + d1 / x1) * x if x1 > 0.0 else 0.0 * x
    return vbar + (d2 / m2) * off if m2 > 0.0 else vbar
