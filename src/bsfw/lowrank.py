"""Matrices kept as factors: the iterate of runs whose vertices have rank one (nuclear ball, spectraplex)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, is_complex, number, plain, positive_int, require_finite, shown
from ._refusals import Refusing
from .vertices import RankOne

_BLOCK = 2**20
"""Numbers in a temporary array of `LowRank.entries`."""
_ROOM = 80
"""Terms for which a new store has room beyond those it begins with."""
_CLAIMS = Lock()
"""Of all stores, for they are copied and pickled: threads may take steps from the same matrix."""


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

    def claim(self, first: int, count: int) -> bool:
        """Whether the next `count` columns, from `first` on, are free; then they are the caller's to write to."""
        with _CLAIMS:
            free: bool = self.used == first and first + count <= self.left.shape[1]
            self.used += count if free else 0
            return free

    def write(self, place: int, left: Array, right: Array) -> None:
        self.left[:, place] = left
        if self.right is not self.left:
            self.right[:, place] = right


class LowRank(Refusing):
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
        left, columns = plain(left, "left"), plain(left if right is None else right, "right")
        weights = plain(weights, "weights")
        if left.ndim != 2 or columns.ndim != 2 or not (weights.shape == left.shape[1:] == columns.shape[1:]):
            raise ValueError(
                "a LowRank needs factors of shape (rows, terms) and (columns, terms) and one weight per term, got "
                f"{left.shape}, {columns.shape} and {weights.shape}."
            )
        if not left.shape[0] or not columns.shape[0]:
            raise ValueError(f"a LowRank needs rows and columns, got factors of {left.shape} and {columns.shape}.")
        dtype = np.result_type(left, columns)
        if dtype.kind not in "biufc" or weights.dtype.kind not in "biuf":
            raise TypeError(
                f"a LowRank needs numbers, and real ones as weights, got factors of {left.dtype} and {columns.dtype} "
                f"and weights of {weights.dtype}."
            )
        if dtype not in (np.float32, np.float64, np.complex64, np.complex128):
            dtype = np.dtype(complex if dtype.kind == "c" else float)
        for part, name in ((left, "left"), (columns, "right"), (weights, "weights")):
            require_finite(part, name)
        store = _Store(left.astype(dtype, copy=False), None if right is None else columns.astype(dtype, copy=False), 0)
        self._set(store, weights.astype(np.float64), intercepts)

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
        if not isinstance(shape, (tuple, list)) or len(shape) != 2:
            raise ValueError(f"the shape of a matrix is (rows, columns), got {shown(shape)}.")
        shape = tuple(positive_int(size, "every entry of shape") for size in shape)
        if max(shape) > np.iinfo(np.int32).max:
            size = shown(8 * sum(shape) // 10**9)
            raise ValueError(f"a matrix of shape {shown(shape)} would take {size} GB for each of its terms.")
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
        rows, cols = plain(rows, "rows"), plain(cols, "cols")
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
        vector = _numbers(vector, "vector")
        product: Array = self.left @ _times(self.weights, self.right.conj().T @ vector)
        return product

    def rmatvec(self, vector: Array) -> Array:
        """The product of the conjugate transpose with a vector or matrix."""
        vector = _numbers(vector, "vector")
        product: Array = self.right @ _times(self.weights, self.left.conj().T @ vector)
        return product

    def inner(self, other: LowRank | RankOne | Array) -> float:
        """Re<self, other> with another low-rank matrix, a rank-one vertex or an array."""
        if isinstance(other, RankOne):
            left, right = self.left.conj().T @ other.left, self.right.conj().T @ other.right
            return other.scale * float(np.sum(self.weights * (left * right.conj()).real))
        if isinstance(other, LowRank):
            gram = (self.left.conj().T @ other.left) * (self.right.conj().T @ other.right).conj()
            return float(self.weights @ gram.real @ other.weights)
        other = _numbers(other, "other")
        if other.shape != self.shape:
            raise ValueError(f"other must have the shape {self.shape}, but has {other.shape}.")
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
        dense: Array = (self.left * self.weights.astype(self.dtype, copy=False)) @ self.right.conj().T
        return dense if dtype is None else dense.astype(dtype, copy=False)

    # What a run asks.

    def moved(self, gamma: float, vertices: Sequence[RankOne], weights: Sequence[float]) -> LowRank:
        """(1 - gamma) self + gamma sum_k weights[k] vertices[k], in O(rows + columns) a vertex."""
        if not all(isinstance(vertex, RankOne) for vertex in vertices):
            raise TypeError(f"a low-rank matrix moves towards RankOne vertices, got {shown(vertices)}.")
        terms = [(v, gamma * w * v.scale) for v, w in zip(vertices, weights, strict=True) if v.scale != 0.0]
        old = np.zeros(0) if gamma == 1.0 else (1.0 - gamma) * self.weights
        if any(is_complex(vertex.dtype) for vertex, _ in terms) and not is_complex(self.dtype):
            raise ValueError("a real matrix cannot take a step towards a complex vertex; start from a complex one.")
        store = self._store
        if not store.claim(len(old), len(terms)):
            left, right = store.left[:, : len(old)], store.right[:, : len(old)]
            store = _Store(left, None if self.hermitian else right, max(_ROOM, len(terms)))
            store.claim(len(old), len(terms))
        for place, (vertex, _) in enumerate(terms, len(old)):
            store.write(place, vertex.left, vertex.right)
        return LowRank._of(store, np.concatenate((old, [c for _, c in terms])), self.intercepts)

    def recompressed(self, tolerance: float = 1e-3) -> LowRank:
        """The same matrix without its singular values below `tolerance` times the largest one, by thin QR and SVD.

        The nuclear norm never grows. A Hermitian matrix with weights >= 0 keeps its trace instead (the rest is
        scaled), so that neither way leads out of a nuclear ball or a spectraplex.
        """
        if not 0.0 <= number(tolerance, "tolerance") < 1.0:
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
    def from_parts(cls, parts: dict[str, Array], shape: tuple[int, ...] | None = None) -> LowRank:
        """The matrix of which these are the `parts`; ValueError if they are not those of a matrix of that shape."""
        if not isinstance(parts, dict) or set(parts) - {"right"} != {"left", "weights"}:
            raise ValueError(f"a low-rank matrix has the parts left, weights and perhaps right, got {shown(parts)}.")
        made = cls(parts["left"], parts["weights"], parts.get("right"))
        if shape is not None and made.shape != tuple(shape):
            raise ValueError(f"the factors are those of a matrix of shape {made.shape}, but it must be {tuple(shape)}.")
        return made

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


def _numbers(value: Any, name: str) -> Array:
    found = plain(value, name)
    if found.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers, got entries of type {found.dtype}.")
    return found


def _times(weights: Array, product: Array) -> Array:
    """diag(weights) @ product for a vector or a matrix."""
    scale = weights.astype(product.real.dtype, copy=False)
    return scale * product if product.ndim == 1 else scale[:, None] * product
