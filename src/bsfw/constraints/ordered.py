"""Sets whose oracle sorts: the capped simplex (the hypersimplex among them) and the ball of the ordered l1 norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, number, plain, positive, require_finite
from ..vertices import Vertex
from ._common import FixedShape, as_double, as_real, by_formula, largest_component, worst


class CappedSimplex(FixedShape):
    """{lower <= x <= upper, sum x = total}: shares with bounds; for 0, 1 and a whole total k the hypersimplex.

    The LMO fills the entries up from `lower`, those with the smallest g_i first (the first index among equals), until
    the total is reached: at most one entry ends between its bounds. O(n log n).

    Parameters
    ----------
    total : float
        The sum.
    upper, lower : float or array, default 1.0 and 0.0
        Finite bounds, lower <= upper. Two numbers give a set in every dimension; an array fixes the shape.
    """

    few_atoms = True
    any_array = True

    def __init__(self, total: float, upper: Any = 1.0, lower: Any = 0.0) -> None:
        self.total = number(total, "total")
        low, high = (plain(given, name).astype(float) for given, name in ((lower, "lower"), (upper, "upper")))
        require_finite(low, "lower")
        require_finite(high, "upper")
        try:
            shape = np.broadcast_shapes(low.shape, high.shape)
        except ValueError:
            raise ValueError(f"lower has shape {low.shape} and upper {high.shape}; give them the same shape.") from None
        if (low > high).any():
            raise ValueError(f"lower must not exceed upper, but does in {int((low > high).sum())} entries.")
        self._shape = shape or None
        self.upper = np.broadcast_to(high, shape).copy() if shape else float(high)
        self.lower = np.broadcast_to(low, shape).copy() if shape else float(low)
        self._size = max(largest_component(low), largest_component(high), -float(low.min()), 1e-300)
        if shape:
            self.check_shape(shape)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        super().check_shape(shape)
        least, most = (float(np.broadcast_to(bound, shape).sum()) for bound in (self.lower, self.upper))
        if not least <= self.total <= most:
            raise ValueError(
                f"no point of shape {tuple(shape)} within the bounds has the sum {self.total:g}: sums lie between "
                f"{least:g} and {most:g}."
            )

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        return by_formula(self, g)

    def violation(self, x: Array) -> float:
        """The largest excess over a bound, and the error of the sum, relative to the largest |bound| and |total|."""
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        excess = max(float((self.lower - x).max()), float((x - self.upper).max())) / self._size
        return worst(excess, abs(float(x.sum()) - self.total) / max(abs(self.total), self._size))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """A bound: the length of upper - lower, and what can move at all, twice over."""
        room = np.broadcast_to(np.asarray(self.upper) - self.lower, shape)
        moved = min(self.total - float(np.broadcast_to(self.lower, shape).sum()), float(room.sum()))
        return min(float(np.linalg.norm(room)), math.sqrt(2.0 * max(moved, 0.0) * float(room.max())))


class OrderedL1Ball(FixedShape):
    """{sum_k w_k |x|_(k) <= radius}, |x|_(1) >= |x|_(2) >= ...: the ball of the ordered weighted l1 norm (OWL, SLOPE).

    Equal weights give the l1 ball, w = (1, 0, ..., 0) the l_inf ball, decreasing ones bring equal coefficients to
    correlated features (Zeng and Figueiredo, 2014; Bogdan et al., 2015). A vertex has k entries of modulus
    radius / (w_1 + ... + w_k); the LMO takes the k largest |g_i| for the best k. O(n log n).

    Parameters
    ----------
    weights : array of shape (n,)
        Nonnegative and not increasing, the first positive.
    radius : float
        > 0.
    """

    few_atoms = True
    any_array = True

    def __init__(self, weights: Any, radius: float) -> None:
        self.weights = np.array(plain(weights, "weights"), dtype=float)
        if self.weights.ndim != 1 or self.weights.size == 0:
            raise ValueError(f"weights must be a nonempty vector, got an array of shape {self.weights.shape}.")
        require_finite(self.weights, "weights")
        if self.weights[0] <= 0 or self.weights[-1] < 0 or (np.diff(self.weights) > 0).any():
            raise ValueError("weights must be nonnegative and not increase from the first, positive one on.")
        self.radius = positive(radius, "radius")
        self._shape = self.weights.shape
        # A point with k entries is a vertex unless fewer weigh the same each, or one more would weigh nothing.
        sums, following = np.cumsum(self.weights), np.append(self.weights[1:], 1.0)
        vertex = (following > 0) & ((self.weights < self.weights[0]) | (np.arange(sums.size) == 0))
        self._shares = np.where(vertex, 1.0 / sums, 0.0)

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        return by_formula(self, g)

    def violation(self, x: Array) -> float:
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        return worst(float(self.weights @ np.sort(np.abs(x))[::-1]) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Twice the length of the longest vertex, exact."""
        return 2.0 * self.radius * float((np.sqrt(np.arange(1, self.weights.size + 1)) * self._shares).max())
