"""The Fantope: the convex hull of the projections onto k-dimensional subspaces."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, positive_int
from ..vertices import Vertex
from ._common import as_double, as_inexact, by_formula, worst
from .base import Constraint


class Fantope(Constraint):
    """{X Hermitian, 0 <= X <= I, trace X = k}: sparse or robust principal components (Overton and Womersley, 1992).

    Its vertices are the projections V V^H of rank k. The LMO takes the eigenvectors of the k smallest eigenvalues of
    (g + g^H)/2, by LAPACK. O(n^3).

    Parameters
    ----------
    k : int
        The dimension of the subspaces, at most that of the variable.
    """

    suggested_rounds = 5
    any_array = True

    def __init__(self, k: int) -> None:
        self.k = positive_int(k, "k")

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] < self.k:
            raise ValueError(
                f"{self!r} holds square matrices of at least {self.k} rows, but the variable has shape {tuple(shape)}."
            )

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(tuple(g.shape))
        return by_formula(self, g)

    def violation(self, x: Array) -> float:
        """The largest of: distance to Hermitian, eigenvalues outside of [0, 1], relative error of the trace."""
        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        values = np.linalg.eigvalsh(0.5 * (x + x.conj().T))
        skew = 0.5 * float(np.linalg.norm(x - x.conj().T))
        return worst(skew, -float(values[0]), float(values[-1]) - 1.0, abs(float(values.sum()) / self.k - 1.0))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """sqrt(2 min(k, n - k)), exact."""
        return math.sqrt(2.0 * min(self.k, shape[0] - self.k))
