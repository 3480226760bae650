"""Sparse plus low-rank matrices, and the extreme vectors of theirs that are vertices of matrix sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import Array
from ...constraints._common import first_axis
from ...constraints._lanczos import leading_singular_pair, smallest_eigenpair
from . import jitted

FIRST_CHECK, CHECK_EVERY, MOST_STEPS = 8, 4, 64
"""Lanczos steps after which the residual is looked at, first and then; beyond the last the run begins anew, with
restarts."""
_NOTHING = 1e-13  # a vector this small against the matrix is rounding error: the Krylov space is exhausted


@dataclass(frozen=True, slots=True)
class Pattern:
    """Where a matrix of that shape is observed: row i at the columns cols[indptr[i]:indptr[i + 1]]."""

    indptr: Array
    cols: Array
    shape: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SparseLowRank:
    """S + left @ diag(coefficients) @ right^T, with S = `data` at the places of `pattern`.

    `left` and `right` may have more columns than there are coefficients; the first ones count. In single precision they
    are half as much to read, and precise enough for an LMO to three digits.
    """

    pattern: Pattern
    data: Array
    left: Array
    coefficients: Array
    right: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        return np.dtype(float)

    def matvec(self, x: Array) -> Array:
        """The product with a vector: O(observed + terms * (rows + columns))."""
        out, terms = np.empty(self.shape[0]), len(self.coefficients)
        jitted.product(self.pattern.indptr, self.pattern.cols, self.data, x, out)
        if terms:
            out += self.left[:, :terms] @ self._weighted(self.right, x)
        return out

    def rmatvec(self, x: Array) -> Array:
        """The product of the transpose with a vector."""
        out, terms = np.empty(self.shape[1]), len(self.coefficients)
        jitted.transposed_product(self.pattern.indptr, self.pattern.cols, self.data, x, out)
        if terms:
            out += self.right[:, :terms] @ self._weighted(self.left, x)
        return out

    def _weighted(self, factor: Array, x: Array) -> Array:
        products: Array = factor[:, : len(self.coefficients)].T @ x.astype(factor.dtype, copy=False)
        return (self.coefficients * products).astype(factor.dtype, copy=False)


class _Symmetric:
    """(M + M^T) / 2."""

    def __init__(self, matrix: SparseLowRank) -> None:
        self._matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype

    def matvec(self, x: Array) -> Array:
        return 0.5 * (self._matrix.matvec(x) + self._matrix.rmatvec(x))

    rmatvec = matvec


def top_singular_pair(matrix: SparseLowRank, tolerance: float, start: Array) -> tuple[float, Array, Array]:
    """Leading singular value with left and right vector, by Golub-Kahan-Lanczos from the right vector `start`.

    A pair is accepted when ||M^T u - sigma v|| <= tolerance sigma. Some 12 steps at a tolerance of 1e-2, each one pass
    over the sparse part; no vector of an earlier call is used, for a stale one can pass the residual test on a pair
    that is no longer the leading one. For a zero matrix: 0.0, e_0, e_0.
    """
    rows, columns = matrix.shape
    limit = min(rows, columns, MOST_STEPS)
    basis = np.empty((limit + 1, columns))
    basis[0] = start / np.linalg.norm(start)
    terms = len(matrix.coefficients)
    images = np.empty((limit + 1, terms), dtype=matrix.right.dtype)
    images[0] = matrix.right[:, :terms].T @ basis[0].astype(matrix.right.dtype)
    alphas, betas, previous = np.zeros(limit + 1), np.zeros(limit + 1), np.zeros(rows)
    done, until = 0, min(FIRST_CHECK, limit)
    while True:
        made: int = jitted.bidiagonalise(
            matrix.pattern.indptr, matrix.pattern.cols, matrix.data, matrix.left, matrix.coefficients, matrix.right,
            basis, images, alphas, betas, previous, done, until, _NOTHING,
        )  # fmt: skip
        if made == 0:
            return _no_pair(rows, columns)
        exhausted = made < until or betas[made - 1] == 0.0
        # Exhausted on the left, M v_{k+1} lies in the span of the left vectors: the k x (k+1) projection is exact.
        width = made + 1 if made < until and betas[made - 1] > 0.0 else made
        bidiagonal = np.zeros((made, made + 1))
        bidiagonal[range(made), range(made)] = alphas[:made]
        bidiagonal[range(made), range(1, made + 1)] = betas[:made]
        p, values, qh = np.linalg.svd(bidiagonal[:, :width], full_matrices=False)
        if exhausted or betas[made - 1] * abs(p[made - 1, 0]) <= tolerance * values[0]:
            right = qh[0] @ basis[:width]
            break
        if made == limit:
            return leading_singular_pair(matrix, tolerance)
        done, until = made, min(made + CHECK_EVERY, limit)
    right /= np.linalg.norm(right)
    left = matrix.matvec(right)
    sigma = float(np.linalg.norm(left))
    # Sparse and low-rank part may cancel: what one order of summation leaves as rounding error is zero in another.
    return (sigma, left / sigma, right) if sigma > 0.0 else _no_pair(rows, columns)


def _no_pair(rows: int, columns: int) -> tuple[float, Array, Array]:
    return 0.0, first_axis((rows,), 1.0, np.dtype(float)), first_axis((columns,), 1.0, np.dtype(float))


def bottom_eigenpair(matrix: SparseLowRank, tolerance: float) -> tuple[float, Array]:
    """Smallest eigenvalue of (M + M^T) / 2 with a unit eigenvector, by Lanczos."""
    return smallest_eigenpair(_Symmetric(matrix), tolerance)
