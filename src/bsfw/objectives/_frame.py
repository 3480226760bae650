"""Between the variable of matrix completion and the matrix that is fitted: weights and implicit features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array

_FEATURE_EXPONENT = 0.25
"""alpha of the weights of implicit features."""


class Frame:
    """The fitted matrix is X = S_u M S_v, or with implicit features X = [I, A] S_u M S_v.

    M, the variable, lies in a plain nuclear ball. S_u = diag(W_u^-1/2) and S_v = diag(W_v^-1/2), so that the ball is
    that of the weighted nuclear norm of S_u M S_v. The rows of M for the features A have the weights
    kappa^-2 (n_j / mean)^0.25.

    Attributes
    ----------
    size : tuple of int
        Shape of the fitted matrix.
    shape : tuple of int
        That of M.
    row_scale, column_scale : array
        The diagonals of S_u and S_v.
    share : array or None
        n_i^-1/2, the entries of A in row i; None without implicit features.
    """

    def __init__(self, indptr: Array, cols: Array, size: tuple[int, int], alpha: float, kappa: float | None) -> None:
        self.indptr, self.cols, self.size = indptr, cols, size
        self.alpha, self.kappa = alpha, kappa
        by_row, by_column = np.diff(indptr), np.bincount(cols, minlength=size[1])
        self.row_scale, self.column_scale = _scale(by_row, alpha), _scale(by_column, alpha)
        self.share, self.shape = None, size
        if kappa is not None:
            self.share, self.shape = 1.0 / np.sqrt(np.maximum(by_row, 1)), (size[0] + size[1], size[1])
            self.row_scale = np.concatenate((self.row_scale, kappa * _scale(by_column, _FEATURE_EXPONENT)))

    @property
    def plain(self) -> bool:
        """Whether X is M itself."""
        return self.alpha == 0.0 and self.share is None

    @cached_property
    def features(self) -> Any:
        """A as a sparse array."""
        from scipy.sparse import csr_array

        assert self.share is not None
        data = np.repeat(self.share, np.diff(self.indptr))
        return csr_array((data, self.cols, self.indptr), shape=self.size)

    def rows_of(self, left: Array) -> Array:
        """[I, A] S_u left, for a left factor of M or for M itself, in the dtype of it."""
        if self.plain:
            return left
        scaled = self.row_scale.astype(left.dtype)[:, None] * left
        users = self.size[0]
        return scaled if self.share is None else scaled[:users] + (self.features @ scaled[users:]).astype(left.dtype)

    def columns_of(self, right: Array) -> Array:
        """S_v right, for a right factor of M."""
        return right if self.plain else self.column_scale.astype(right.dtype)[:, None] * right

    def pulled_back(self, gradient: Array) -> Array:
        """The gradient by M, for one by X as an array."""
        if self.plain:
            return gradient
        scaled: Array = gradient * self.column_scale
        if self.share is not None:
            scaled = np.concatenate((scaled, self.features.T @ scaled))
        return np.asarray(self.row_scale[:, None] * scaled, dtype=gradient.dtype)


def _scale(counts: Array, alpha: float) -> Array:
    """(n / mean n)^(-alpha / 2), as if rows and columns without an observation had one."""
    return np.asarray((np.maximum(counts, 1) / counts.mean()) ** (-0.5 * alpha))
