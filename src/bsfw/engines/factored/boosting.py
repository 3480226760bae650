"""Algorithm Boost on a sparse estimate and a low-rank iterate: all inner products from structure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._arrays import Array, inner, norm
from ...boosting import Direction, extreme_power
from ...kernels.accept import accept
from ...lowrank import LowRank
from ...vertices import RankOne, Vertex
from . import jitted
from .operator import Pattern, SparseLowRank

Oracle = Callable[[SparseLowRank, int], RankOne]
"""From a direction and the number of the round to the vertex that minimises the inner product with it."""
_ROOM = 8
"""Vertices for which the factors of x are given room."""
_SAME = 64.0
"""||v - x||^2 / max(||v||^2, ||x||^2) in units of the machine precision at which v and x are the same point."""


@dataclass(frozen=True, slots=True, eq=False)
class ObservedEntries(Vertex):
    """The observed entries of sum_k weights[k] vertices[k], a point of the image of C. Formed when it is asked for."""

    pattern: Pattern
    vertices: list[RankOne]
    weights: list[float]
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # a property here, a field in the others
        return (len(self.pattern.cols),)

    def add_to(self, out: Array, scale: float) -> Array:
        left = np.ascontiguousarray(np.stack([v.left for v in self.vertices], axis=1))
        right = np.ascontiguousarray(np.stack([v.right for v in self.vertices], axis=1))
        coefficients = np.array([w * v.scale for v, w in zip(self.vertices, self.weights, strict=True)])
        jitted.add_entries(self.pattern.indptr, self.pattern.cols, left, coefficients, right, scale, out)
        return out

    def inner(self, other: Array) -> float:
        return inner(self.dense(), other)

    def norm_squared(self) -> float:
        entries = self.dense()
        return inner(entries, entries)


class Span:
    """x and the vertices found so far: their Gram matrix and inner products with m, kept up to date by `add`.

    Points of the span are coefficient vectors, that of x first. `precision` is the dtype in which `operator` keeps its
    copy of the factors.
    """

    def __init__(
        self, pattern: Pattern, m: Array, z: Array, x: LowRank, x_squared: float, precision: npt.DTypeLike
    ) -> None:
        self.power = extreme_power(m, precision)  # m is kept divided by this power of two, which is exact
        if self.power:
            m = m * 2.0**-self.power
        self.pattern, self.m, self.x = pattern, m, x
        self.data = m.astype(precision, copy=False)
        self.left, self.right = (_roomy(factor, _ROOM, precision) for factor in (x.left, x.right))
        self.vertices: list[RankOne] = []
        self.gram = np.array([[x_squared]])
        self.with_m = np.array([inner(m, z)])

    def add(self, vertex: RankOne) -> None:
        """One more vertex: O(observed + terms * (rows + columns))."""
        x, k = self.x, len(self.vertices) + 1
        last = x.rank + k
        if last > self.left.shape[1]:
            self.left, self.right = (_roomy(factor, last, factor.dtype) for factor in (self.left, self.right))
        self.left[:, last - 1], self.right[:, last - 1] = vertex.left, vertex.right
        self.vertices.append(vertex)
        gram = np.zeros((k + 1, k + 1))
        gram[:k, :k] = self.gram
        gram[0, k] = x.inner(vertex)
        gram[1:, k] = [
            v.scale * vertex.scale * inner(v.left, vertex.left) * inner(v.right, vertex.right) for v in self.vertices
        ]
        gram[k, :k] = gram[:k, k]
        with_m = jitted.bilinear(self.pattern.indptr, self.pattern.cols, self.m, vertex.left, vertex.right)
        self.gram, self.with_m = gram, np.append(self.with_m, vertex.scale * with_m)

    def operator(self, point: Array) -> SparseLowRank:
        """m + point."""
        scales = np.array([v.scale for v in self.vertices])
        coefficients = np.concatenate((point[0] * self.x.weights, point[1:] * scales))
        if not point.any():
            coefficients = coefficients[:0]
        return SparseLowRank(self.pattern, self.data, self.left, coefficients, self.right)

    def length(self, point: Array) -> float:
        """Norm of a point."""
        return math.sqrt(max(point @ self.gram @ point, 0.0))


def _roomy(factor: Array, room: int, dtype: npt.DTypeLike) -> Array:
    buffer = np.empty((factor.shape[0], factor.shape[1] + room), dtype=dtype)
    buffer[:, : factor.shape[1]] = factor
    return buffer


def boost(span: Span, lmo: Oracle, max_rounds: int, min_gain: float) -> tuple[Direction, Array]:
    """Algorithm Boost, the same lines as `bsfw.boosting.boost`, in the coordinates of `span`.

    Lengths come from the Gram matrix, so that a vertex counts as the iterate itself when their distance, relative to
    their size, is below about the square root of the machine precision.

    Returns
    -------
    direction : Direction
    point : array
        d~ = psi / Lambda in the coordinates of `span`.
    """
    m_norm = norm(span.m)
    psi = np.zeros(1)
    accepted: list[int] = []
    alignment, vertex_distance, gap = -1.0, 0.0, 0.0
    k = 0
    while k <= max_rounds - 1:
        span.add(lmo(span.operator(psi), k))  # r = -m - psi; v = lmo(-r)
        k += 1
        psi = np.append(psi, 0.0)
        to_v = np.zeros(k + 1)
        to_v[0], to_v[k] = -1.0, 1.0
        distance = span.length(to_v)
        if k == 1:
            vertex_distance, gap = distance, -float(span.with_m @ to_v)
            if m_norm == 0.0:  # alignment with 0 is 0/0 and no direction is better than another: no boosting
                break
        m_psi, gram_psi = float(span.with_m @ psi), span.gram @ psi
        lam, gained = accept(
            m_norm, alignment, min_gain,
            _SAME * float(np.finfo(span.x.dtype).eps) * max(span.gram[0, 0], span.gram[k, k]),
            max(float(psi @ gram_psi), 0.0), m_psi, distance**2, float(span.with_m @ to_v), float(to_v @ gram_psi),
        )  # fmt: skip
        if lam == 0.0:
            break
        psi, alignment = psi + lam * to_v, gained
        accepted.append(k)
    total = -float(psi[0])  # Lambda, for every term of psi is c_k (v_k - x)
    if total > 0.0:
        psi = psi / total
    else:
        accepted, psi = [], np.zeros_like(psi)
    direction = Direction(
        vertices=[span.vertices[i - 1] for i in accepted],
        weights=[float(psi[i]) for i in accepted],
        vertex=span.vertices[0],
        gap=gap * 2.0**span.power,
        slope=float(span.with_m @ psi) * 2.0**span.power,
        alignment=alignment,
        norm=span.length(psi),
        vertex_distance=vertex_distance,
        rounds=k,
    )
    return direction, psi
