"""The images of the active atoms: a narrow matrix, sparse or dense, and the products that Newton steps ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._arrays import Array
from ...kernels.passes import rows_adjoint
from . import newton


class Images(ABC):
    """B with a column for each atom, (m, k), in float64; in `classes` (m c, k).

    Attributes
    ----------
    shape : tuple of int
        The numbers of samples and of atoms, (m, k).
    """

    shape: tuple[int, int]

    @abstractmethod
    def times(self, x: Array) -> Array:
        """B x."""

    @abstractmethod
    def adjoint(self, coefficients: Array) -> Array:
        """B^T coefficients / m."""

    @abstractmethod
    def gram(self, curvatures: Any) -> Array:
        """B^T H B, where H is diag(curvatures), or what the images of a kind of their own take for it."""


class DenseImages(Images):
    """By BLAS."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape = array, array.shape

    def times(self, x: Array) -> Array:
        return self.array @ x

    def adjoint(self, coefficients: Array) -> Array:
        return (self.array.T @ coefficients) / self.shape[0]

    def gram(self, curvatures: Any) -> Array:
        scaled = self.array * np.sqrt(curvatures)[:, None]
        return np.asarray(scaled.T @ scaled)


class SparseImages(Images):
    """CSR arrays with sorted indices. Not SciPy's, whose checks cost more than a product of this size."""

    def __init__(self, data: Array, indices: Array, indptr: Array, size: int) -> None:
        self.data, self.indices, self.indptr = data, indices, indptr
        self.shape = (len(indptr) - 1, size)

    @classmethod
    def columns_of(
        cls, data: Array, indices: Array, indptr: Array, width: int, chosen: Array, room: tuple[Array, Array]
    ) -> SparseImages:
        """The columns `chosen`, in increasing order, of a CSR matrix of that width. A pass over all its entries.

        `room` from `room_for` is written to, and is a part of what is returned: give the same again where that is no
        longer of use, and no new memory has to be fetched.
        """
        slots = np.zeros(width, dtype=np.int32)
        slots[chosen] = np.arange(1, len(chosen) + 1)
        entries, places = room
        starts = np.zeros_like(indptr)
        count = newton.pick_columns(data, indices, indptr, slots, entries, places, starts) if len(chosen) else 0
        return cls(entries[:count], places[:count], starts, len(chosen))

    @staticmethod
    def room_for(size: int) -> tuple[Array, Array]:
        """For all entries of a matrix of that size: of what is never written to, no memory is taken."""
        return np.empty(size), np.empty(size, dtype=np.int32)

    @classmethod
    def of(cls, matrix: Any) -> SparseImages:
        """A sparse matrix of SciPy."""
        rows = matrix.tocsr()
        return cls(rows.data.astype(np.float64), rows.indices, rows.indptr, rows.shape[1])

    def times(self, x: Array) -> Array:
        out = np.empty(self.shape[0])
        newton.rows_times(self.data, self.indices, self.indptr, x, out)
        return out

    def adjoint(self, coefficients: Array) -> Array:
        out = np.empty(self.shape[1])
        rows_adjoint(self.data, self.indices, self.indptr, coefficients, 1.0 / self.shape[0], out)
        return out

    def gram(self, curvatures: Any) -> Array:
        out = np.empty((self.shape[1], self.shape[1]))
        newton.gram_of_rows(self.data, self.indices, self.indptr, curvatures, out)
        return out

    def by_columns(self) -> tuple[Array, Array, Array]:
        """Entries, rows and starts of the columns."""
        import scipy.sparse as sp

        csc = sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape).tocsc()
        return csc.data, csc.indices, csc.indptr
