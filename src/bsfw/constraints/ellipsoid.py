"""The ellipsoid, given by its centre and its matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, host_dtype, is_foreign, plain, require_finite
from ..vertices import Dense, Vertex
from ._common import FixedShape, Placed, as_double, as_inexact, euclidean, first_axis, scaled, worst


class Ellipsoid(FixedShape):
    """The ellipsoid {(x - c)^H P^{-1} (x - c) <= 1}, real or complex.

    Every point of its surface is a vertex. With P = L L^H the LMO is c - L z / ||z||, z = L^H g (and g = e_0 for a zero
    direction). O(n^2), after one Cholesky factorisation.

    Parameters
    ----------
    center : array
        c; its shape is that of the variable.
    matrix : array of shape (n, n)
        P, Hermitian positive definite, n the size of `center`. The semi-axes are the square roots of its eigenvalues.
    """

    any_array = True

    def __init__(self, center: Any, matrix: Any) -> None:
        self.center = as_double(np.array(plain(center, "center")))
        self.matrix = as_double(np.array(plain(matrix, "matrix")))
        require_finite(self.center, "center")
        require_finite(self.matrix, "matrix")
        n = self.center.size
        if n == 0 or self.matrix.shape != (n, n):
            raise ValueError(
                f"matrix must have shape ({n}, {n}) to go with a center of {n} entries, got {self.matrix.shape}."
            )
        skew = np.abs(self.matrix - self.matrix.conj().T).max()
        if skew > 1e-10 * np.abs(self.matrix).max():
            raise ValueError(f"matrix must be Hermitian (symmetric), but differs from its adjoint by {skew:.3g}.")
        try:
            self._factor = np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(self.matrix)[0]
            raise ValueError(
                f"matrix must be positive definite, but its smallest eigenvalue is {smallest:.3g}; "
                f"an ellipsoid without interior is not supported."
            ) from None
        self._shape = self.center.shape
        self._placed = Placed(self.center), Placed(self._factor)

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        center, factor = (part.like(g) for part in self._placed)
        z = factor.conj().T @ as_double(scaled(g)[0]).reshape(-1)
        length = euclidean(z)
        if length == 0.0:
            z = factor.conj().T @ first_axis((self.center.size,), 1.0, host_dtype(factor), g)
            length = euclidean(z)
        vertex = center - (factor @ (z / length)).reshape(g.shape)
        if not is_foreign(g):
            complex_set = np.iscomplexobj(center) or np.iscomplexobj(factor)
            vertex = vertex.astype(np.result_type(g.dtype, np.complex64) if complex_set else g.dtype, copy=False)
        return Dense(vertex)

    def violation(self, x: Array) -> float:
        """How much x - c exceeds the surface, as a factor: sqrt((x - c)^H P^{-1} (x - c)) - 1."""
        from scipy.linalg import solve_triangular

        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        return worst(euclidean(solve_triangular(self._factor, (x - self.center).ravel(), lower=True)) - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 sqrt(lambda_max(P)), exact."""
        return 2.0 * math.sqrt(float(np.linalg.eigvalsh(self.matrix)[-1]))
