"""Sets whose vertices have few nonzeros: the k-sparse polytope and the l1/l2 group ball."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernels
from .._arrays import Array, is_complex, is_foreign, positive, positive_int
from ..boosting import Direction
from ..vertices import Sparse, Vertex
from ._common import as_double, as_inexact, on_device, phases, scaled, worst
from .base import Constraint


def _compiles(m: Array, x: Array) -> bool:
    """Whether compiled code knows what to do with these arrays, and is there."""
    return m.shape == x.shape and not is_foreign(x) and not is_complex(np.result_type(m, x)) and kernels.available()


class KSparse(Constraint):
    """The k-sparse polytope conv{||x||_0 <= k, ||x||_inf <= radius}, real or complex, of any shape.

    It is the l1 ball of radius k * radius intersected with the l_inf ball of `radius`. A vertex has exactly k entries
    of modulus radius; the LMO puts them where |g_i| is largest, the first indices among equals. O(n).

    Parameters
    ----------
    k : int
        Number of nonzeros, from 1 to the size of the variable.
    radius : float
        > 0.
    """

    few_atoms = True
    any_array = True

    def __init__(self, k: int, radius: float) -> None:
        self.k = positive_int(k, "k")
        self.radius = positive(radius, "radius")

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if math.prod(shape) < self.k:
            raise ValueError(
                f"{self!r} needs variables of at least {self.k} entries, but shape {tuple(shape)} has "
                f"{math.prod(shape)}; choose a smaller k, or LinfBall."
            )

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        if is_foreign(g):
            return on_device(self, g)
        magnitude = np.abs(scaled(g)[0]).ravel()
        # The k-th largest value, then everything above it and the first of those equal to it: O(n), and ties by index.
        threshold = np.partition(magnitude, magnitude.size - self.k)[magnitude.size - self.k]
        above = np.flatnonzero(magnitude > threshold)
        equal = np.flatnonzero(magnitude == threshold)[: self.k - above.size]
        indices = np.sort(np.concatenate([above, equal]))
        return Sparse(indices, -self.radius * phases(g.ravel()[indices]), g.shape)

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost, exact: O(n) once, then O(support + visited) a round instead of O(n)."""
        found = None
        if type(self).lmo is KSparse.lmo and _compiles(m, x):
            from ._compiled_boost import boost_compiled

            self.check_shape(m.shape)
            found = boost_compiled(self, m, x, max_rounds, min_gain)
        return super().boost(m, x, max_rounds, min_gain) if found is None else found

    def violation(self, x: Array) -> float:
        magnitude = np.abs(x)
        total, top = float(magnitude.sum(dtype=float)), float(magnitude.max())
        return worst(total / (self.k * self.radius) - 1.0, top / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius sqrt(k), exact."""
        return 2.0 * self.radius * math.sqrt(self.k)


class GroupBall(Constraint):
    """The l1/l2 group ball {sum_g ||x_g||_2 <= radius}, real or complex.

    A vertex lives on one group; the LMO takes the first group of the largest ||g_g|| and is -radius * g_g / ||g_g||
    there (-radius at the smallest index of the first group for a zero direction). O(n).

    Parameters
    ----------
    groups : sequence of integer arrays
        The (flat) coordinates of each group; together they hold 0, 1, ..., n-1, each once. Kept sorted.
    radius : float
        > 0.
    """

    few_curved_atoms = True
    any_array = True

    def __init__(self, groups: Sequence[Any], radius: float) -> None:
        arrays = [np.asarray(group) for group in groups]
        for number, group in enumerate(arrays):
            if group.ndim != 1 or group.size == 0 or not np.issubdtype(group.dtype, np.integer):
                raise ValueError(f"groups[{number}] must be a nonempty list of whole numbers, got {groups[number]!r}.")
        if not arrays:
            raise ValueError("groups is empty; give at least one list of coordinates.")
        self.groups = tuple(np.sort(group).astype(np.intp) for group in arrays)
        self.radius = positive(radius, "radius")
        self._order = np.concatenate(self.groups)
        self._starts = np.cumsum([0, *(group.size for group in self.groups)])
        n = self._order.size
        if self._order.min() < 0 or self._order.max() >= n or np.unique(self._order).size != n:
            seen = np.unique(self._order)
            repeated, missing = n - seen.size, np.setdiff1d(np.arange(max(n, int(seen.max()) + 1)), seen).size
            raise ValueError(
                f"groups must hold every coordinate 0, 1, ..., n-1 exactly once, but {repeated} are repeated, "
                f"{missing} are missing and {int((seen < 0).sum())} are negative; give every "
                f"coordinate without a group one of its own."
            )
        self._labels = np.empty(n, dtype=np.intp)  # the group of each coordinate
        self._in_order = bool(np.array_equal(self._order, np.arange(n)))
        self._labels[self._order] = np.repeat(np.arange(len(self.groups)), np.diff(self._starts))

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if math.prod(shape) != self._order.size:
            raise ValueError(
                f"the groups of this GroupBall cover {self._order.size} coordinates, but a variable of shape "
                f"{tuple(shape)} has {math.prod(shape)}."
            )

    def _group_norms(self, x: Array) -> Array:
        squares = np.square(as_double(np.abs(x)).ravel()[self._order])
        return np.sqrt(np.add.reduceat(squares, self._starts[:-1]))

    def lmo(self, direction: Array) -> Vertex:
        if is_foreign(direction):
            self.check_shape(direction.shape)
            return on_device(self, direction)
        g, _ = scaled(as_inexact(direction))
        self.check_shape(g.shape)
        norms = self._group_norms(g)
        best = int(np.argmax(norms))
        indices = self.groups[best]
        if norms[best] == 0.0:
            return Sparse(indices[:1], np.array([-self.radius], dtype=g.dtype), g.shape)
        return Sparse(indices, (-self.radius / float(norms[best])) * g.ravel()[indices], g.shape)

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost, exact: O(n) once, then O(touched groups) a round instead of O(n)."""
        found = None
        if type(self).lmo is GroupBall.lmo and _compiles(m, x):
            from ._compiled_boost import boost_compiled

            self.check_shape(m.shape)
            found = boost_compiled(self, m, x, max_rounds, min_gain)
        return super().boost(m, x, max_rounds, min_gain) if found is None else found

    def violation(self, x: Array) -> float:
        x = np.asarray(x)
        self.check_shape(x.shape)
        return worst(float(self._group_norms(x).sum()) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius, exact."""
        return 2.0 * self.radius

    def _parameters(self) -> dict[str, Any]:
        # The group of each coordinate says as much as the list of groups, and is one array.
        return {"groups": self._labels, "radius": self.radius}

    # What compiled code asks.

    def group_rule(self) -> tuple[Array | None, Array]:
        """The coordinates group by group, None if that is their own order; and where each group begins, with the end of
        the last."""
        return None if self._in_order else self._order, self._starts

    def touched(self, coordinates: Array) -> Array:
        """The groups that these are of."""
        return np.unique(self._labels[coordinates])

    def members(self, groups: Array) -> Array:
        """The coordinates of these groups, one after the other."""
        return np.concatenate([self._order[:0], *(self.groups[i] for i in groups)])
