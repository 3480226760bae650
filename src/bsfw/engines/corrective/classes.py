"""Images of atoms where a sample has one margin for each of c classes: z is (m, c), flat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array
from . import newton
from .images import Images, SparseImages


class Shares(NamedTuple):
    """The Hessian of the losses in the margins: of sample i weights_i (diag p_i - p_i p_i^T).

    Attributes
    ----------
    p : array, (m, c)
        Nonnegative, with rows that sum to one.
    weights : array, (m,)
    """

    p: Array
    weights: Array


class DenseClasses(Images):
    """Any atoms: an array (m, c, k), by BLAS."""

    def __init__(self, array: Array) -> None:
        self.array, self.shape = array, (array.shape[0], array.shape[2])
        self._flat = array.reshape(-1, array.shape[2])

    def times(self, x: Array) -> Array:
        return self._flat @ x

    def adjoint(self, coefficients: Array) -> Array:
        return (self._flat.T @ coefficients) / self.shape[0]

    def gram(self, curvatures: Any) -> Array:
        p, weights = curvatures
        spread = self._flat * np.sqrt(weights[:, None] * p).reshape(-1, 1)
        mean = np.sqrt(weights)[:, None] * np.einsum("ic,ick->ik", p, self.array)
        return np.asarray(spread.T @ spread - mean.T @ mean)


class DenseColumns(Images):
    """One-hot atoms, at a feature and a class each: its column of dense data, (m, k), and its class."""

    def __init__(self, columns: Array, classes: Array, count: int) -> None:
        self.columns, self.shape, self.count = columns, columns.shape, count
        self._places = [(c, np.flatnonzero(classes == c)) for c in np.unique(classes)]
        self._classes = classes

    def times(self, x: Array) -> Array:
        out = np.zeros((self.shape[0], self.count))
        for c, places in self._places:
            out[:, c] = self.columns[:, places] @ x[places]
        return out.ravel()

    def adjoint(self, coefficients: Array) -> Array:
        out, rows = np.empty(self.shape[1]), coefficients.reshape(-1, self.count)
        for c, places in self._places:
            out[places] = self.columns[:, places].T @ rows[:, c]
        return out / self.shape[0]

    def gram(self, curvatures: Any) -> Array:
        p, weights = curvatures
        mean = self.columns * (np.sqrt(weights)[:, None] * p[:, self._classes])
        gram = -(mean.T @ mean)
        for c, places in self._places:
            spread = self.columns[:, places] * np.sqrt(weights * p[:, c])[:, None]
            gram[np.ix_(places, places)] += spread.T @ spread
        return np.asarray(gram)


class SparseColumns(Images):
    """The same for sparse data."""

    def __init__(self, columns: SparseImages, classes: Array, count: int) -> None:
        self.columns, self.shape, self.count = columns, columns.shape, count
        self._arrays = (columns.data, columns.indices, columns.indptr, classes)

    def times(self, x: Array) -> Array:
        out = np.zeros((self.shape[0], self.count))
        newton.class_times(*self._arrays, x, out)
        return out.ravel()

    def adjoint(self, coefficients: Array) -> Array:
        out = np.zeros(self.shape[1])
        newton.class_adjoint(*self._arrays, coefficients.reshape(-1, self.count), out)
        return out / self.shape[0]

    def gram(self, curvatures: Any) -> Array:
        gram = np.zeros((self.shape[1], self.shape[1]))
        newton.class_gram(*self._arrays, *curvatures, gram)
        return gram
