"""A block: some rows of the data by columns, with their labels and weights. In memory, or mapped from files."""

from __future__ import annotations

import hashlib
import mmap
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from .._refusals import Refusing, refusing
from .._sparse import canonical

MOST_LABELS = 1000
"""Distinct labels up to which they are listed: of more, only the smallest and the largest are known."""
_WIDE = 4
"""Where there are so many times more columns than entries, nothing of the length of all columns is made."""


class Rows(NamedTuple):
    """A few columns by rows, as a CSR matrix in float64 of `width` columns."""

    data: Array
    indices: Array
    indptr: Array
    width: int


@dataclass(frozen=True)
class Description:
    """What is known of a block without its data.

    Attributes
    ----------
    rows, columns, entries : int
        Its shape, and how many entries are stored.
    dtype : str
        Of the entries.
    digest : str
        Hash of all of its arrays.
    labels : list or None
        The distinct labels, sorted; None if they are more than `MOST_LABELS`.
    weighted : list or None
        Those of rows of positive weight.
    low, high : float or str or None
        The smallest and the largest label; None without rows.
    weight : float or None
        The sum of the weights, if there are any.
    """

    rows: int
    columns: int
    entries: int
    dtype: str
    digest: str
    labels: list[Any] | None
    weighted: list[Any] | None
    low: Any
    high: Any
    weight: float | None


class Item(Refusing):
    """What tasks are given: a block, or what was derived from one.

    Attributes
    ----------
    name : str
        For sentences.
    touched : int
        Bytes of entries that were gone through.
    """

    name: str = "a block"
    touched: int = 0

    @property
    def nbytes(self) -> int:
        raise NotImplementedError

    def __sizeof__(self) -> int:  # Dask asks, and would take it for a small object
        return self.nbytes

    def open(self) -> Any:
        """Itself; a block that is in files is mapped for the time of one task."""
        return self


class Block(Item, ABC):
    """Some rows of the data. What it gives is in float64, whatever the type of the entries.

    Attributes
    ----------
    n : int
        Columns.
    y : array, (m,)
        Labels as they were given.
    w : array, (m,), or None
        Weights.
    """

    n: int
    y: Array
    w: Array | None = None

    @property
    def m(self) -> int:
        return len(self.y)

    @property
    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """All that has to be kept, by name."""

    @property
    @abstractmethod
    def entries(self) -> Array:
        """The stored entries."""

    @abstractmethod
    def times(self, features: Array, x: Array) -> Array:
        """A[:, features] x for x (s,), or (s, c), of which one margin or c come for each row."""

    @abstractmethod
    def sums(self, slopes: Array) -> Array:
        """A^T slopes, for (m,) or (m, c)."""

    @abstractmethod
    def pick(self, features: Array) -> Rows | Array:
        """A[:, features]: by rows where entries are sparse, else an array."""

    @abstractmethod
    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together: compiled code looks at no bounds."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def describe(self) -> Description:
        """What is known of it; a ValueError with the row if an entry, label or weight is not finite."""
        self._require_finite()
        kept = self.y if self.w is None else self.y[self.w > 0]
        labels = np.unique(self.y)
        listed = len(labels) <= MOST_LABELS
        return Description(
            rows=self.m,
            columns=self.n,
            entries=self.entries.size,
            dtype=self.entries.dtype.name,
            digest=self.digest(),
            labels=labels.tolist() if listed else None,
            weighted=np.unique(kept).tolist() if listed else None,
            low=labels[0].item() if self.m else None,
            high=labels[-1].item() if self.m else None,
            weight=None if self.w is None else float(self.w.sum(dtype=np.float64)),
        )

    def digest(self) -> str:
        """Hash of the arrays."""
        found = hashlib.sha256()
        for key, array in self.arrays.items():
            found.update(f"{key} {array.dtype.str} {array.shape}".encode())
            found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
        return found.hexdigest()[:32]

    def _require_finite(self) -> None:
        for what, values in (("label", self.y), ("weight", self.w)):
            if values is None or values.dtype.kind != "f":
                continue
            wrong = np.flatnonzero(~np.isfinite(values))
            if len(wrong):
                raise ValueError(
                    f"{self.name}: row {wrong[0]} has the {what} {values[wrong[0]]}; {len(wrong)} of its {self.m} rows "
                    f"have such a {what}. Drop or repair them."
                )
        if self.w is not None and self.m and self.w.min() < 0:
            raise ValueError(
                f"{self.name}: row {int(np.argmin(self.w))} has the weight {self.w.min():g}; none may be negative."
            )
        wrong = np.flatnonzero(~np.isfinite(self.entries.ravel()))
        if len(wrong):
            row, column = self._place(int(wrong[0]))
            raise ValueError(
                f"{self.name}: row {row} has an entry that is NaN or infinite, in column {column}; it is one of "
                f"{len(wrong)} in this block. Drop or repair them."
            )

    @abstractmethod
    def _place(self, entry: int) -> tuple[int, int]:
        """Row and column of a stored entry."""


class SparseBlock(Block):
    """Only its nonempty columns are kept.

    Parameters
    ----------
    n : int
    columns : array
        Those with an entry, in increasing order.
    starts : array of int64
        Where the entries of each begin, and the end.
    rows : array of int32
        Of each entry, increasing within a column.
    data : array
        The entries, float32 or float64.
    y, w
        Labels and weights.
    """

    def __init__(
        self, n: int, columns: Array, starts: Array, rows: Array, data: Array, y: Array, w: Array | None = None
    ) -> None:
        self.n, self.columns, self.starts, self.rows, self.data, self.y, self.w = n, columns, starts, rows, data, y, w

    @classmethod
    def of(cls, A: Any, y: Array, w: Array | None = None) -> SparseBlock:
        """From a sparse matrix of SciPy in any format."""
        A = canonical(A, "A")
        data = A.data if A.dtype in (np.float32, np.float64) else A.data.astype(np.float64)
        if A.shape[1] > _WIDE * A.nnz:
            order = np.argsort(A.indices, kind="stable")
            rows = np.repeat(np.arange(A.shape[0], dtype=np.int32), np.diff(A.indptr))[order]
            columns, counts = np.unique(A.indices, return_counts=True)
            starts, data = np.concatenate([[0], np.cumsum(counts)]), data[order]
        else:
            made = A.tocsc()
            columns = np.flatnonzero(np.diff(made.indptr))
            starts = np.append(made.indptr[columns], made.indptr[-1])
            rows, data = made.indices, made.data.astype(data.dtype, copy=False)
        kind = np.int32 if A.shape[1] < 2**31 else np.int64
        return cls(
            A.shape[1], columns.astype(kind), starts.astype(np.int64), rows.astype(np.int32, copy=False), data, y, w
        )

    @property
    def arrays(self) -> dict[str, Array]:
        found = {"columns": self.columns, "starts": self.starts, "rows": self.rows, "data": self.data, "y": self.y}
        return found if self.w is None else {**found, "w": self.w}

    @property
    def entries(self) -> Array:
        return self.data

    def _places(self, features: Array) -> Array:
        """Where these columns are, -1 for an empty one; what a product with them goes through is counted."""
        places = np.searchsorted(self.columns, features)
        known = np.zeros(len(features), dtype=bool)
        inside = places < len(self.columns)
        known[inside] = self.columns[places[inside]] == features[inside]
        places[~known] = -1
        held = places[known]
        self.touched += int((self.starts[held + 1] - self.starts[held]).sum()) * (self.data.itemsize + 4)
        return places

    def times(self, features: Array, x: Array) -> Array:
        from ..kernels import columns as kernels

        out = np.zeros((self.m, *x.shape[1:]))
        add = kernels.add_columns if x.ndim == 1 else kernels.add_columns_many
        add(self._places(features), self.starts, self.rows, self.data, np.ascontiguousarray(x, dtype=np.float64), out)
        return out

    def sums(self, slopes: Array) -> Array:
        from ..kernels import columns as kernels

        prefetch(self.data, self.rows)
        self.touched += self.data.nbytes + self.rows.nbytes
        out = np.zeros((self.n, *slopes.shape[1:]))
        total = kernels.column_sums if slopes.ndim == 1 else kernels.column_sums_many
        total(self.columns, self.starts, self.rows, self.data, np.ascontiguousarray(slopes), out)
        return out

    def pick(self, features: Array) -> Rows:
        from ..kernels import columns as kernels

        places, indptr = self._places(features), np.zeros(self.m + 1, dtype=np.int64)
        kernels.count_rows(places, self.starts, self.rows, indptr)
        np.cumsum(indptr, out=indptr)
        entries, slots = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
        kernels.fill_rows(places, self.starts, self.rows, self.data, indptr[:-1].copy(), entries, slots)
        return Rows(entries, slots, indptr, len(features))

    def check(self) -> None:
        size, starts = len(self.data), self.starts
        sound = (
            self.columns.ndim == self.rows.ndim == self.data.ndim == self.y.ndim == 1
            and starts.shape == (len(self.columns) + 1,)
            and len(self.rows) == size
            and starts[0] == 0
            and starts[-1] == size
            and (self.w is None or self.w.shape == self.y.shape)
            and not np.any(starts[1:] < starts[:-1])
            and not np.any(self.columns[1:] <= self.columns[:-1])
            and (not size or (self.rows.min() >= 0 and self.rows.max() < self.m))
            and (not len(self.columns) or (self.columns[0] >= 0 and self.columns[-1] < self.n))
        )
        if not sound:
            raise ValueError(f"{self.name} is damaged: its arrays do not fit together; write it again.")

    def _place(self, entry: int) -> tuple[int, int]:
        return int(self.rows[entry]), int(self.columns[np.searchsorted(self.starts, entry, side="right") - 1])


class DenseBlock(Block):
    """A dense block, column by column in memory.

    Parameters
    ----------
    by_columns : array, (n, m)
        The transpose of the rows.
    y, w
        Labels and weights.
    """

    def __init__(self, by_columns: Array, y: Array, w: Array | None = None) -> None:
        self.by_columns, self.y, self.w, self.n = by_columns, y, w, by_columns.shape[0]

    @classmethod
    def of(cls, A: Array, y: Array, w: Array | None = None) -> DenseBlock:
        """From an array (m, n)."""
        kind = A.dtype if A.dtype in (np.float32, np.float64) else np.float64
        return cls(np.array(A.T, dtype=kind, order="C"), y, w)

    @property
    def arrays(self) -> dict[str, Array]:
        found = {"by_columns": self.by_columns, "y": self.y}
        return found if self.w is None else {**found, "w": self.w}

    @property
    def entries(self) -> Array:
        return self.by_columns

    def times(self, features: Array, x: Array) -> Array:
        self.touched += len(features) * self.m * self.by_columns.itemsize
        out = np.zeros((self.m, *x.shape[1:]))
        for feature, weight in zip(features, x, strict=True):  # column by column: no BLAS, whose bits may vary
            column = self.by_columns[feature].astype(np.float64, copy=False)
            out += weight * column if x.ndim == 1 else column[:, None] * weight
        return out

    def sums(self, slopes: Array) -> Array:
        from ..kernels import columns as kernels

        prefetch(self.by_columns)
        self.touched += self.by_columns.nbytes
        out = np.empty((self.n, *slopes.shape[1:]))
        if slopes.ndim == 1:
            kernels.dense_sums(self.by_columns, slopes, out)
            return out
        for q in range(slopes.shape[1]):
            total = np.empty(self.n)
            kernels.dense_sums(self.by_columns, np.ascontiguousarray(slopes[:, q]), total)
            out[:, q] = total
        return out

    def pick(self, features: Array) -> Array:
        self.touched += len(features) * self.m * self.by_columns.itemsize
        return np.ascontiguousarray(self.by_columns[features].T, dtype=np.float64)

    def check(self) -> None:
        shape = self.by_columns.shape
        if len(shape) != 2 or self.y.shape != shape[1:] or (self.w is not None and self.w.shape != shape[1:]):
            raise ValueError(f"{self.name} is damaged: its arrays do not fit together; write it again.")

    def _place(self, entry: int) -> tuple[int, int]:
        column, row = divmod(entry, self.m)
        return row, column


@refusing
def block_of(A: Any, y: Any, w: Any = None) -> Block:
    """A block from a sparse matrix or an array of some rows, with their labels and weights; checked but for NaN."""
    sparse = hasattr(A, "tocsr") or hasattr(A, "tocsc")
    rows = A if sparse else np.asarray(A)
    if rows.ndim != 2:
        raise ValueError(f"the rows of a block must be a matrix, got an array of shape {rows.shape}.")
    if not sparse and rows.dtype.kind not in "biuf":
        raise TypeError(f"a block must hold real numbers, got entries of type {rows.dtype}; encode them first.")
    labels, weights = np.asarray(y), None if w is None else np.asarray(w, dtype=np.float64)
    if labels.dtype.kind in "OT":
        labels = np.asarray(labels.tolist())
    if labels.dtype.kind not in "biufU":
        raise TypeError(f"labels must be numbers or text, got entries of type {labels.dtype}.")
    for what, values in (("labels", labels), ("weights", weights)):
        if values is not None and values.shape != (rows.shape[0],):
            raise ValueError(
                f"{what} and rows do not fit together: {rows.shape[0]} rows, but {what} of shape {values.shape}; both "
                "must be cut at the same places."
            )
    return SparseBlock.of(rows, labels, weights) if sparse else DenseBlock.of(rows, labels, weights)


def prefetch(*arrays: Array) -> None:
    """Ask the system to read mapped files now, in one go."""
    for array in arrays:
        held = getattr(array, "_mmap", None)
        if held is not None and hasattr(mmap, "MADV_WILLNEED"):
            held.madvise(mmap.MADV_WILLNEED)
