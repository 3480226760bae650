"""Matrices kept as factors: the iterate of runs whose vertices have rank one (nuclear ball, spectraplex)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, is_complex, require_finite
from .vertices import RankOne

_BLOCK = 2**20
"""Numbers in a temporary array of `LowRank.entries`."""
_ROOM = 80
"""Terms for which a new store has room beyond those it begins with."""


class _Store:
    """Columns of left and right factors, with room for more. Columns once written never change, so that any number of
    matrices can share them; who holds all `used` columns may write the next ones."""

    def __init__(self, left: Array, right: Array | None, room: int) -> None:
        self.used = left.shape[1]
        self.left = self._roomy(left, room)
        self.right = self.left if right is None else self._roomy(right, room)

    @staticmethod
    def _roomy(factor: Array, room: int) -> Array:
        buffer = np.empty((factor.shape[0], factor.shape[1] + room), dtype=factor.dtype)
        buffer[:, : factor.shape[1]] = factor
        return buffer

    @property
    def room(self) -> int:
        return self.left.shape[1] - self.used

    def append(self, left: Array, right: Array) -> None:
        self.left[:, self.used] = left
        if self.right is not self.left:
            self.right[:, self.used] = right
        self.used += 1


class LowRank:
    """The matrix left @ diag(weights) @ right^H, never formed. A value: no method changes it.

    A step towards rank-one vertices, `moved`, appends their vectors to storage that old and new matrix share; it costs
    O(rows + columns) a vertex. `recompressed` brings the number of terms down to what is needed.

    Parameters
    ----------
    left : array, (rows, terms)
    weights : array, (terms,)
        Real.
    right : array, (columns, terms), optional
        Without it the matrix is Hermitian, left @ diag(weights) @ left^H.
    intercepts : callable, optional
        What `predict` adds at (rows, columns); no part of the matrix.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    rank : int
        Number of terms, an upper bound of the rank.
    hermitian : bool
        Whether left and right factor are one.
    """

    def __init__(
        self, left: Any, weights: Any, right: Any = None, *, intercepts: Callable[[Array, Array], Array] | None = None
    ) -> None:
        left, weights = np.asarray(left), np.array(weights, dtype=np.float64)
        right_ = None if right is None else np.asarray(right)
        columns = left if right_ is None else right_
        if left.ndim != 2 or columns.ndim != 2 or not (weights.shape == left.shape[1:] == columns.shape[1:]):
            raise ValueError(
                "a LowRank needs factors of shape (rows, terms) and (columns, terms) and one weight per term, got "
                f"{left.shape}, {columns.shape} and {weights.shape}."
            )
        dtype = np.result_type(left, columns)
        if not np.issubdtype(dtype, np.inexact):
            dtype = np.dtype(float)
        require_finite(weights, "weights")
        store = _Store(left.astype(dtype, copy=False), None if right_ is None else right_.astype(dtype, copy=False), 0)
        self._set(store, weights, intercepts)

    def _set(self, store: _Store, weights: Array, intercepts: Callable[[Array, Array], Array] | None) -> None:
        self._store, self.weights, self.intercepts = store, weights, intercepts
        self._observed: tuple[object, Array] | None = None
        self.shape = (store.left.shape[0], store.right.shape[0])
        self.dtype = store.left.dtype

    @classmethod
    def _of(cls, store: _Store, weights: Array, intercepts: Callable[[Array, Array], Array] | None) -> LowRank:
        made = cls.__new__(cls)
        made._set(store, weights, intercepts)
        return made

    @classmethod
    def zeros(cls, shape: tuple[int, ...], dtype: npt.DTypeLike = float, hermitian: bool = False) -> LowRank:
        """The zero matrix: no terms."""
        left, right = np.zeros((shape[0], 0), dtype=dtype), np.zeros((shape[1], 0), dtype=dtype)
        return cls(left, np.zeros(0), None if hermitian else right)

    ndim = 2

    @property
    def rank(self) -> int:
        return len(self.weights)

    @property
    def left(self) -> Array:
        return self._store.left[:, : self.rank]

    @property
    def right(self) -> Array:
        return self._store.right[:, : self.rank]

    @property
    def buffers(self) -> tuple[Array, Array]:
        """Row-major arrays of which the first `rank` columns are `left` and `right`, for compiled code."""
        return self._store.left, self._store.right

    @property
    def hermitian(self) -> bool:
        return self._store.right is self._store.left

    def __repr__(self) -> str:
        return f"<LowRank matrix {self.shape[0]} x {self.shape[1]} of {self.rank} terms, {self.dtype}>"

    # What a user asks.

    def entries(self, rows: Any, cols: Any) -> Array:
        """The entries at (rows[i], cols[i]). O(terms) each."""
        rows, cols = np.asarray(rows), np.asarray(cols)
        if rows.shape != cols.shape:
            raise ValueError(f"rows and cols must have the same shape, got {rows.shape} and {cols.shape}.")
        for index, size, name in ((rows, self.shape[0], "rows"), (cols, self.shape[1], "cols")):
            if index.dtype.kind not in "iu":
                raise TypeError(f"{name} must be whole numbers, got entries of type {index.dtype}.")
            if index.size and (index.min() < 0 or index.max() >= size):
                raise ValueError(
                    f"{name} must lie between 0 and {size - 1}, but run from {index.min()} to {index.max()}."
                )
        flat_rows, flat_cols = rows.ravel(), cols.ravel()
        out = np.empty(flat_rows.size, dtype=self.dtype)
        weighted, right = self.left * self.weights.astype(self.dtype, copy=False), self.right
        step = max(1, _BLOCK // max(self.rank, 1))
        for first in range(0, out.size, step):
            part = slice(first, first + step)
            product = right[flat_cols[part]].conj()
            product *= weighted[flat_rows[part]]
            out[part] = product.sum(axis=1)
        return out.reshape(rows.shape)

    def predict(self, rows: Any, cols: Any) -> Array:
        """The entries at (rows[i], cols[i]) plus the intercepts there, if the model has them."""
        entries = self.entries(rows, cols)
        return entries if self.intercepts is None else entries + self.intercepts(np.asarray(rows), np.asarray(cols))

    def factors(self) -> tuple[Array, Array, Array]:
        """U, s, V with orthonormal columns, s > 0 falling, and the matrix equal to U @ diag(s) @ V^H."""
        left, values, right = self._svd()
        kept = int(np.count_nonzero(values > values[:1].sum() * max(self.shape) * np.finfo(self.dtype).eps))
        return left[:, :kept], values[:kept], right[:, :kept]

    def matvec(self, vector: Array) -> Array:
        """The product with a vector (or with a matrix, column by column)."""
        return self.left @ _times(self.weights, self.right.conj().T @ vector)

    def rmatvec(self, vector: Array) -> Array:
        """The product of the conjugate transpose with a vector or matrix."""
        return self.right @ _times(self.weights, self.left.conj().T @ vector)

    def inner(self, other: LowRank | RankOne | Array) -> float:
        """Re<self, other> with another low-rank matrix, a rank-one vertex or an array."""
        if isinstance(other, RankOne):
            left, right = self.left.conj().T @ other.left, self.right.conj().T @ other.right
            return other.scale * float(np.sum(self.weights * (left * right.conj()).real))
        if isinstance(other, LowRank):
            gram = (self.left.conj().T @ other.left) * (self.right.conj().T @ other.right).conj()
            return float(self.weights @ gram.real @ other.weights)
        return float(np.sum(self.weights * np.einsum("ik,ik->k", self.left.conj(), other @ self.right).real))

    def norm(self) -> float:
        """Frobenius norm."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def nuclear_norm(self) -> float:
        """Sum of the singular values."""
        return float(self._svd()[1].sum())

    def trace(self) -> float:
        """Real part of the trace of a square matrix."""
        return float(np.sum(self.weights * np.einsum("ik,ik->k", self.right.conj(), self.left).real))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        dense = (self.left * self.weights.astype(self.dtype, copy=False)) @ self.right.conj().T
        return dense if dtype is None else dense.astype(dtype, copy=False)

    # What a run asks.

    def moved(self, gamma: float, vertices: Sequence[RankOne], weights: Sequence[float]) -> LowRank:
        """(1 - gamma) self + gamma sum_k weights[k] vertices[k], in O(rows + columns) a vertex."""
        terms = [(v, gamma * w * v.scale) for v, w in zip(vertices, weights, strict=True) if v.scale != 0.0]
        old = np.zeros(0) if gamma == 1.0 else (1.0 - gamma) * self.weights
        store = self._store
        if len(old) != store.used or store.room < len(terms):
            left, right = store.left[:, : len(old)], store.right[:, : len(old)]
            store = _Store(left, None if self.hermitian else right, max(_ROOM, len(terms)))
        for vertex, _ in terms:
            if is_complex(vertex.dtype) and not is_complex(self.dtype):
                raise ValueError("a real matrix cannot take a step towards a complex vertex; start from a complex one.")
            store.append(vertex.left, vertex.right)
        return LowRank._of(store, np.concatenate((old, [c for _, c in terms])), self.intercepts)

    def recompressed(self, tolerance: float = 1e-3) -> LowRank:
        """The same matrix without its singular values below `tolerance` times the largest one, by thin QR and SVD.

        The nuclear norm never grows. A Hermitian matrix with weights >= 0 keeps its trace instead (the rest is
        scaled), so that neither way leads out of a nuclear ball or a spectraplex.
        """
        if not 0.0 <= tolerance < 1.0:
            raise ValueError(f"tolerance must lie in [0, 1[, got {tolerance!r}.")
        left, values, right = self._svd()
        kept = int(np.count_nonzero(values > max(tolerance, np.finfo(self.dtype).eps) * values[:1].sum()))
        values = values[:kept]
        if not self.hermitian:
            store = _Store(left[:, :kept], right[:, :kept], _ROOM)
        else:
            signs = np.sign(np.einsum("ik,ik->k", right[:, :kept].conj(), left[:, :kept]).real)
            store, values = _Store(left[:, :kept], None, _ROOM), values * signs
            if kept and self.weights.min() >= 0.0 and values.min() > 0.0:
                values = values * (self.trace() / values.sum())
        return LowRank._of(store, values.astype(np.float64), self.intercepts)

    def observing(self, owner: object, values: Array) -> LowRank:
        """The same matrix, with its entries at the observations of `owner` known."""
        same = LowRank._of(self._store, self.weights, self.intercepts)
        same._observed = (owner, values)
        return same

    def observed_by(self, owner: object) -> Array | None:
        """What `observing` left for that owner."""
        return self._observed[1] if self._observed is not None and self._observed[0] is owner else None

    def with_intercepts(self, intercepts: Callable[[Array, Array], Array] | None) -> LowRank:
        """The same matrix, with what its `predict` adds."""
        return LowRank._of(self._store, self.weights, intercepts)

    def parts(self) -> dict[str, Array]:
        """Arrays from which `from_parts` makes the same matrix, to the bit."""
        arrays = {"left": self.left, "weights": self.weights}
        return arrays if self.hermitian else {**arrays, "right": self.right}

    @classmethod
    def from_parts(cls, parts: dict[str, Array]) -> LowRank:
        """The matrix of which these are the `parts`."""
        return cls(parts["left"], parts["weights"], parts.get("right"))

    def _svd(self) -> tuple[Array, Array, Array]:
        """Thin SVD, zero singular values included: QR of the factors, then of the small matrix between them."""
        if self.rank == 0:
            return self.left, np.zeros(0), self.right
        q, r = np.linalg.qr(self.left)
        if self.hermitian:
            values, vectors = np.linalg.eigh(_times(self.weights, r.conj().T).conj().T @ r.conj().T)
            order = np.argsort(-np.abs(values), kind="stable")
            values, vectors = values[order], q @ vectors[:, order]
            return vectors, np.abs(values), vectors * np.where(values < 0, -1.0, 1.0).astype(self.dtype)
        p, s = np.linalg.qr(self.right)
        u, values, vh = np.linalg.svd(_times(self.weights, r.conj().T).conj().T @ s.conj().T, full_matrices=False)
        return q @ u, values, p @ vh.conj().T


def _times(weights: Array, product: Array) -> Array:
    """diag(weights) @ product for a vector or a matrix."""
    scale = weights.astype(product.real.dtype, copy=False)
    return scale * product if product.ndim == 1 else scale[:, None] * product
