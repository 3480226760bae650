"""Matrix completion in the factors of its variable: values, gradients and Hessians of f(P Q^T, b, c)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._arrays import Array
from ...objectives.completion import MatrixCompletion
from . import passes

Product = Callable[[Array], Array]
_CODES = {"bounded": passes.BOUNDED, "squared": passes.SQUARED, "huber": passes.HUBER}
_LANES = 16
"""Columns of the fitted factors come in multiples of this."""
_LEAST_CURVATURE = 0.05
"""Of a loss, relative to that at a zero residual, in the preconditioner."""


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """P, Q, b, c in one vector, so that the steps of a Newton method are those of vectors.

    Attributes
    ----------
    vector : array
    rows, columns, terms : int
        P is rows x terms, Q columns x terms.
    biases : tuple of int
        Sizes of b and c, both zero if there are none.
    """

    vector: Array
    rows: int
    columns: int
    terms: int
    biases: tuple[int, int]

    @classmethod
    def of(cls, left: Array, right: Array, biases: tuple[Array, Array]) -> Factors:
        vector = np.concatenate((left.ravel(), right.ravel(), *biases))
        return cls(vector, len(left), len(right), left.shape[1], (len(biases[0]), len(biases[1])))

    def like(self, vector: Array) -> Factors:
        """Factors of the same sizes."""
        return Factors(vector, self.rows, self.columns, self.terms, self.biases)

    @property
    def matrix_size(self) -> int:
        """Numbers in P and Q, the first ones of the vector."""
        return (self.rows + self.columns) * self.terms

    @property
    def left(self) -> Array:
        return self.vector[: self.rows * self.terms].reshape(self.rows, self.terms)

    @property
    def right(self) -> Array:
        return self.vector[self.rows * self.terms : self.matrix_size].reshape(self.columns, self.terms)

    @property
    def row_biases(self) -> Array:
        return self.vector[self.matrix_size : self.matrix_size + self.biases[0]]

    @property
    def column_biases(self) -> Array:
        return self.vector[self.matrix_size + self.biases[0] :]


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Factors with what a pass over the observations found there.

    `left` and `right` are the factors of the fitted entries: those of users and items, with the columns (b, 1) and
    (1, c) appended, so that biases are inner products as well.
    """

    factors: Factors
    left: Array
    right: Array
    z: Array
    value: float
    slopes: Array
    curvatures: Array

    def in_single(self) -> Point:
        """The same in single precision."""
        factors = self.factors.like(self.factors.vector.astype(np.float32))
        left, right, z = (part.astype(np.float32) for part in (self.left, self.right, self.z))
        slopes, curvatures = self.slopes.astype(np.float32), self.curvatures.astype(np.float32)
        return Point(factors, left, right, z, self.value, slopes, curvatures)


class Problem:
    """f in the factors, in single or double precision.

    The variable of `MatrixCompletion` is M with entries of its own scale; the fitted matrix is X = S_u M S_v, or with
    implicit features X = [I, A] S_u M S_v, plus biases (`MatrixCompletion` has the formulas).
    """

    def __init__(self, objective: MatrixCompletion, dtype: npt.DTypeLike) -> None:
        self.objective, self.dtype, frame = objective, np.dtype(dtype), objective.frame
        self.number: Any = self.dtype.type  # a factor of this type leaves float32 arrays what they are
        dtype = self.dtype
        self.indptr, self.cols, self.count = objective.indptr, objective.cols, objective.n_samples
        self.users, self.items = objective.size
        self.y = objective.y.astype(dtype, copy=False)
        weight = objective.sample_weight
        self.weight = np.empty(0, dtype) if weight is None else weight.astype(dtype)
        self.row_scale: Array = frame.row_scale.astype(dtype)[:, None]
        self.column_scale: Array = frame.column_scale.astype(dtype)[:, None]
        self.share = None if frame.share is None else frame.share.astype(dtype)
        self.ridge = 0.0 if objective.ridge is None else objective.ridge / self.count
        self.has_biases = objective.ridge is not None
        self.loss = _CODES[objective.loss]

    def point(self, factors: Factors) -> Point:
        """One pass for the entries, one for their losses; counts a function value."""
        left, right = self._fitted(factors)
        z = np.empty(self.count, self.dtype)
        passes.entries(self.indptr, self.cols, left, right, z)
        slopes, curvatures = np.empty_like(z), np.empty_like(z)
        value = self.losses(z, slopes, curvatures) + self._penalty(factors)
        self.objective.counts.function_values += 1
        return Point(factors, left, right, z, value, slopes, curvatures)

    def value(self, factors: Factors) -> float:
        """f alone."""
        left, right = self._fitted(factors)
        z = np.empty(self.count, self.dtype)
        passes.entries(self.indptr, self.cols, left, right, z)
        self.objective.counts.function_values += 1
        return self.losses(z, z[:0], z[:0]) + self._penalty(factors)

    def entries(self, left: Array, right: Array) -> Array:
        """The fitted entries of the matrix left @ right^T alone, without biases."""
        users = self._user_factors(np.ascontiguousarray(left, self.dtype))
        z = np.empty(self.count, self.dtype)
        items = np.ascontiguousarray(self.column_scale * right, self.dtype)
        passes.entries(self.indptr, self.cols, users, items, z)
        return z

    def losses(self, z: Array, slopes: Array, curvatures: Array) -> float:
        """The mean loss of fitted entries; `slopes` and `curvatures` are filled unless they are empty."""
        return float(
            passes.losses(z, self.y, self.weight, self.loss, self.objective.delta, 1.0 / self.count, slopes, curvatures)
        )

    def gradient(self, point: Point) -> Array:
        """By P, Q, b and c, as a vector; counts a full gradient."""
        counts = self.objective.counts
        counts.full_gradients += 1
        counts.sample_gradients += self.count
        by_left, by_right = np.empty_like(point.left), np.empty_like(point.right)
        passes.adjoint(self.indptr, self.cols, point.slopes, point.left, point.right, by_left, by_right)
        return self._pulled_back(point.factors, by_left, by_right, point.factors.vector)

    def hessian(self, point: Point, direction: Array) -> Array:
        """The exact Hessian of f in the factors times a direction: one pass, two more with implicit features."""
        factors, width = point.factors.like(direction), point.left.shape[1]
        move = np.zeros_like(point.left)
        pairs = np.zeros((self.items, 2 * width), self.dtype)
        terms = factors.terms
        move[:, :terms] = self._user_factors(factors.left)
        pairs[:, :width] = point.right
        pairs[:, width : width + terms] = self.column_scale * factors.right
        if self.has_biases:
            move[:, terms], pairs[:, width + terms + 1] = factors.row_biases, factors.column_biases
        by_left, by_right = np.empty_like(point.left), np.empty_like(point.right)
        passes.hessian(
            self.indptr, self.cols, point.slopes, point.curvatures, point.left, move, pairs, by_left, by_right
        )  # fmt: skip
        return self._pulled_back(factors, by_left, by_right, direction)

    def diagonal(self, point: Point) -> Array:
        """Of the Gauss-Newton part of the Hessian, with the curvatures bounded from below."""
        data = self._bounded_curvatures(point)
        by_left, by_right = np.empty_like(point.left), np.empty_like(point.right)
        passes.adjoint(self.indptr, self.cols, data, point.left**2, point.right**2, by_left, by_right)
        factors = point.factors
        out = factors.like(np.empty_like(factors.vector))
        terms = factors.terms
        out.left[: self.users] = by_left[:, :terms]
        if self.share is not None:
            out.left[self.users :] = 0.0
            passes.collect(self.indptr, self.cols, self.share**2, by_left[:, :terms].copy(), out.left[self.users :])
        out.left[:] *= self.row_scale**2
        out.right[:] = self.column_scale**2 * by_right[:, :terms]
        if self.has_biases:
            out.row_biases[:] = by_left[:, terms] + self.number(self.ridge)
            out.column_biases[:] = by_right[:, terms + 1] + self.number(self.ridge)
        return out.vector

    def curvatures(self, point: Point, left: Array, right: Array) -> Array:
        """Second derivatives of f along left_k right_k^T, for each k, without those below what a loss may have."""
        users = np.ascontiguousarray(self._user_factors(np.ascontiguousarray(left, self.dtype)) ** 2)
        items = np.ascontiguousarray((self.column_scale * right).astype(self.dtype) ** 2)
        out, unused = np.empty_like(users), np.empty_like(items)
        passes.adjoint(self.indptr, self.cols, self._bounded_curvatures(point), users, items, out, unused)
        sums: Array = np.einsum("ik,ik->k", users, out)
        return np.maximum(sums, float(np.finfo(self.dtype).tiny))

    def products(self, slopes: Array) -> tuple[Product, Product]:
        """v -> G v and u -> G^T u, for the gradient G by M (rows x columns) of which these are the slopes."""
        from scipy.sparse import csr_array

        gradient = csr_array((slopes, self.cols, self.indptr), shape=(self.users, self.items))
        transposed = gradient.T
        rows, columns, users = self.row_scale[:, 0], self.column_scale[:, 0], self.users
        if self.share is None:
            return (
                lambda v: rows * (gradient @ (columns * v)),
                lambda u: columns * (transposed @ (rows * u)),
            )
        seen = csr_array((np.repeat(self.share, np.diff(self.indptr)), self.cols, self.indptr), shape=gradient.shape)
        raters = seen.T

        def forward(v: Array) -> Array:
            known: Array = gradient @ (columns * v)
            both: Array = np.concatenate((known, raters @ known))
            return rows * both

        def backward(u: Array) -> Array:
            u = rows * u
            product: Array = transposed @ (u[:users] + seen @ u[users:])
            return columns * product

        return forward, backward

    def _bounded_curvatures(self, point: Point) -> Array:
        if self.loss == passes.SQUARED:
            return point.curvatures
        return np.maximum(point.curvatures, float(_LEAST_CURVATURE / self.count))

    # Between the variable and the fitted entries.

    def _user_factors(self, left: Array) -> Array:
        """[I, A] S_u P."""
        scaled = self.row_scale * left
        if self.share is None:
            return scaled
        out = np.ascontiguousarray(scaled[: self.users])
        passes.spread(self.indptr, self.cols, self.share, np.ascontiguousarray(scaled[self.users :]), out)
        return out

    def _fitted(self, factors: Factors) -> tuple[Array, Array]:
        """User and item factors with the columns of the biases, filled up with zeros to whole vector registers."""
        terms = factors.terms
        width = -(-(terms + 2 * self.has_biases) // _LANES) * _LANES
        left, right = np.zeros((self.users, width), self.dtype), np.zeros((self.items, width), self.dtype)
        left[:, :terms] = self._user_factors(factors.left)
        right[:, :terms] = self.column_scale * factors.right
        if self.has_biases:
            left[:, terms], left[:, terms + 1] = factors.row_biases, 1.0
            right[:, terms], right[:, terms + 1] = 1.0, factors.column_biases
        return left, right

    def _pulled_back(self, factors: Factors, by_left: Array, by_right: Array, biases_of: Array) -> Array:
        """From derivatives by the fitted factors to those by P, Q, b, c; the ridge at the biases of that vector."""
        terms = factors.terms
        out = factors.like(np.empty_like(factors.vector))
        out.left[: self.users] = by_left[:, :terms]
        if self.share is not None:
            out.left[self.users :] = 0.0
            passes.collect(self.indptr, self.cols, self.share, by_left[:, :terms].copy(), out.left[self.users :])
        out.left[:] *= self.row_scale
        out.right[:] = self.column_scale * by_right[:, :terms]
        if self.has_biases:
            at, ridge = factors.like(biases_of), self.number(self.ridge)
            out.row_biases[:] = by_left[:, terms] + ridge * at.row_biases
            out.column_biases[:] = by_right[:, terms + 1] + ridge * at.column_biases
        return out.vector

    def _penalty(self, factors: Factors) -> float:
        if not self.has_biases:
            return 0.0
        biases = factors.vector[factors.matrix_size :].astype(np.float64, copy=False)
        return 0.5 * self.ridge * float(biases @ biases)
