"""Polytopes whose vertices are permutations: of a unit matrix, or of a vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, plain, positive_int, require_finite
from ..vertices import Dense, Sparse, Vertex
from ._common import FixedShape, as_double, as_real, scaled, worst


class Birkhoff(FixedShape):
    """The Birkhoff polytope of doubly stochastic n x n matrices; its vertices are the permutation matrices.

    The LMO is a linear assignment (SciPy's), O(n^3) at worst.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    """

    suggested_rounds = 5

    few_atoms = True

    def __init__(self, n: int) -> None:
        self.n = positive_int(n, "n")
        self._shape = (self.n, self.n)

    def lmo(self, direction: Array) -> Vertex:
        from scipy.optimize import linear_sum_assignment

        g = as_real(direction, self)
        self.check_shape(g.shape)
        rows, columns = linear_sum_assignment(scaled(g)[0])
        return Sparse(rows * self.n + columns, np.ones(self.n, dtype=g.dtype), g.shape)

    def violation(self, x: Array) -> float:
        """The largest of: negative entry, error of a row sum, error of a column sum."""
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        rows, columns = np.abs(x.sum(axis=1) - 1.0).max(), np.abs(x.sum(axis=0) - 1.0).max()
        return worst(-float(x.min()), float(rows), float(columns))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """sqrt(2 n), exact; 0 for n = 1."""
        return math.sqrt(2.0 * self.n) if self.n > 1 else 0.0


class Permutahedron(FixedShape):
    """The permutahedron: the convex hull of all permutations of a vector.

    The LMO puts the largest weight where g is smallest (the first index among equals). O(n log n).

    Parameters
    ----------
    weights : array of shape (n,)
        The vector, real and finite.
    """

    few_atoms = True

    def __init__(self, weights: Any) -> None:
        self.weights = np.array(plain(weights, "weights"), dtype=float)
        if self.weights.ndim != 1 or self.weights.size == 0:
            raise ValueError(f"weights must be a nonempty vector, got an array of shape {self.weights.shape}.")
        require_finite(self.weights, "weights")
        self._shape = self.weights.shape
        self._descending = np.sort(self.weights)[::-1]

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        out = np.empty(g.shape, dtype=g.dtype)
        out[np.argsort(g, kind="stable")] = self._descending
        return Dense(out)

    def violation(self, x: Array) -> float:
        """By majorisation: for no j may the mean of the j largest entries exceed that of the weights, nor the means
        of all differ. Relative to the largest |weight|."""
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        excess = np.cumsum(np.sort(x)[::-1] - self._descending) / np.arange(1, x.size + 1)
        size = float(np.abs(self.weights).max()) or 1.0
        return worst(float(excess.max()) / size, abs(float(excess[-1])) / size)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Distance between the sorted weights and their reverse, exact."""
        return float(np.linalg.norm(self._descending - self._descending[::-1]))
