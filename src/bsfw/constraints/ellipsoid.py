"""The ellipsoid, given by its centre and its matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, require_finite
from ..vertices import Dense, Vertex
from ._common import FixedShape, as_double, as_inexact, euclidean, first_axis, scaled, worst


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

    def __init__(self, center: Any, matrix: Any) -> None:
        self.center = as_double(np.array(center))
        self.matrix = as_double(np.array(matrix))
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

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        dtype = np.result_type(g.dtype, np.complex64) if np.iscomplexobj(self._factor) else g.dtype
        if np.iscomplexobj(self.center):
            dtype = np.result_type(dtype, np.complex64)
        z = self._factor.conj().T @ as_double(scaled(g)[0]).ravel()
        length = euclidean(z)
        if length == 0.0:
            z = self._factor.conj().T @ first_axis((self.center.size,), 1.0, self._factor.dtype)
            length = euclidean(z)
        surface = (self._factor @ (z / length)).reshape(g.shape)
        return Dense((self.center - surface).astype(dtype, copy=False))

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
