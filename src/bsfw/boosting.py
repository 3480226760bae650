"""Algorithm Boost: a direction that follows -m better than one vertex does, as a convex combination of vertices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from ._arrays import Array, host_dtype, inner, largest_magnitude, norm
from ._refusals import Refusing, refusing
from .vertices import Vertex


@dataclass(frozen=True, slots=True)
class Direction(Refusing):
    """What Boost found at x for the estimate m: d~ = vbar - x with vbar = sum_k weights[k] vertices[k] in C.

    Attributes
    ----------
    vertices, weights : list
        The convex combination vbar; both empty when d~ = 0 (m = 0, or x is the vertex itself).
    vertex : Vertex
        s = lmo(m), the vertex of round 0, with which vanilla Frank-Wolfe would step.
    gap : float
        <m, x - s>; the Frank-Wolfe gap of x only if m is the exact gradient.
    slope : float
        <m, d~>, negative for a descent direction of the estimate.
    alignment : float
        align(-m, d~); -1 when d~ = 0.
    norm : float
        ||d~||.
    vertex_distance : float
        ||s - x||.
    rounds : int
        K_t, the number of LMO calls made, the rejected last round included.
    """

    vertices: list[Vertex]
    weights: list[float]
    vertex: Vertex
    gap: float
    slope: float
    alignment: float
    norm: float
    vertex_distance: float
    rounds: int

    def dense(self, x: Array) -> Array:
        """d~ = vbar - x as an array; zero when there are no vertices."""
        if not self.vertices:
            return 0.0 * x
        out = -x
        for vertex, weight in zip(self.vertices, self.weights, strict=True):
            out = vertex.add_to(out, weight)
        return out


@refusing
def align(d: Array, d_hat: Array) -> float:
    """Cosine of the angle between d and d_hat, and -1 for d_hat = 0 (the paper's align)."""
    length = norm(d_hat)
    return inner(d, d_hat) / (norm(d) * length) if length > 0 else -1.0


@cache
def zero_squared(dtype: npt.DTypeLike) -> float:
    """||v - x||^2 / ||x||^2 at which v and x are the same point up to rounding."""
    return float((8.0 * np.finfo(dtype).eps) ** 2)


MOST_SHIFTED = 1000
"""Powers of two by which an estimate is multiplied at most: enough to bring every number close to one."""


def extreme_power(m: Array, dtype: npt.DTypeLike | None = None) -> int:
    """The power of two by which m must be divided before products of its squares leave the range of `dtype`, by default
    its own; 0 if they do not, or if m is zero or not finite."""
    limits = np.finfo(host_dtype(m) if dtype is None else dtype)
    top = largest_magnitude(m)
    if top == 0.0 or not math.isfinite(top) or float(limits.tiny) ** 0.25 < top < float(limits.max) ** 0.25:
        return 0
    most = min(MOST_SHIFTED, int(limits.maxexp) - 2)
    return min(max(math.frexp(top)[1], -most), most)


@refusing
def boost(m: Array, x: Array, lmo: Callable[[Array], Vertex], max_rounds: int, min_gain: float) -> Direction:
    """Algorithm Boost of the paper, line by line, for vectors, matrices and complex arrays of any kind.

    This is the reference: O(n) numbers and a few passes over them per round, one LMO call per round. Sets with
    structure replace it by a faster equal (`Constraint.boost`).

    Parameters
    ----------
    m : array
        Estimate of the gradient at x.
    x : array
        Current iterate, in C.
    lmo : callable
        Linear minimisation oracle of C: direction to `Vertex`.
    max_rounds : int
        K, at most so many LMO calls.
    min_gain : float
        delta in ]0, 1]: a round that improves the alignment by less ends the procedure.

    Returns
    -------
    Direction
    """
    power = extreme_power(m)
    if power:  # Boost is scale-equivariant in m, and a power of two is exact
        found = boost(m * 2.0**-power, x, lmo, max_rounds, min_gain)
        return replace(found, gap=found.gap * 2.0**power, slope=found.slope * 2.0**power)
    psi = 0.0 * x  # psi^0
    total = 0.0  # Lambda
    vertices: list[Vertex] = []
    weights: list[float] = []  # c_k >= 0 with psi = sum_k c_k (v_k - x) and Lambda = sum_k c_k
    alignment = -1.0  # align(-m, 0)
    vertex = None
    k = 0
    zero_estimate = norm(m) == 0.0
    nothing = zero_squared(host_dtype(x)) * inner(x, x)
    while k <= max_rounds - 1:
        r = -m - psi  # k-th residual
        v = lmo(-r)  # Frank-Wolfe oracle
        to_v = v.add_to(-x, 1.0)
        if vertex is None:
            vertex, vertex_distance = v, norm(to_v)
            gap = -inner(m, to_v)
            if zero_estimate:  # alignment with 0 is 0/0 and no direction is better than another: no boosting
                k += 1
                break
        psi_norm = norm(psi)
        away = psi_norm > 0 and inner(r, -psi) / psi_norm > inner(r, to_v)
        u = -psi / psi_norm if away else to_v
        u_squared = inner(u, u)
        if u_squared <= nothing:  # u = 0 up to the rounding of x and v
            k += 1
            break
        lam = inner(r, u) / u_squared
        if lam <= 0.0:  # never for an exact oracle; an inexact one must not turn a weight negative
            k += 1
            break
        phi = psi + lam * u
        phi_alignment = align(-m, phi)
        if phi_alignment - alignment >= min_gain:
            psi, alignment = phi, phi_alignment
            if away:
                shrink = 1.0 - lam / psi_norm
                weights = [shrink * c for c in weights]
                total *= shrink
            else:
                vertices.append(v)
                weights.append(lam)
                total += lam
            k += 1
        else:
            k += 1
            break
    assert vertex is not None
    if total > 0.0:
        weights = [c / total for c in weights]
        slope, length = inner(m, psi) / total, norm(psi) / total
    else:
        vertices, weights, slope, length = [], [], 0.0, 0.0
    return Direction(vertices, weights, vertex, gap, slope, alignment, length, vertex_distance, k)
