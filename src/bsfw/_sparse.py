"""Sparse matrices from outside: compiled code looks at no bounds, so every index is checked before it sees one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array, own

_LARGEST = np.iinfo(np.int32).max
_EMPTY = 10**7
"""Rows that may be empty whatever the number of nonzeros; beyond, at most a hundred per nonzero."""


def canonical(A: Any, name: str) -> Any:
    """A sparse matrix of any format as a CSR array with sorted, distinct indices, in arrays of its own.

    What is malformed is refused with a ValueError. The indices are always copied, the values unless they are read-only
    (see `own`); indices have 32 bits wherever that is enough. O(nonzeros).
    """
    import scipy.sparse as sp

    rows = checked(A, name)
    wide = max(rows.nnz, *rows.shape) > _LARGEST
    # Half the memory to read in each product, and SciPy would make such a copy at each use of the transpose.
    indices, indptr = (np.array(part, dtype=np.int64 if wide else np.int32) for part in (rows.indices, rows.indptr))
    data = own(np.asarray(rows.data), np.asarray(getattr(A, "data", ())))
    made = sp.csr_array((data, indices, indptr), shape=rows.shape)
    if not made.has_canonical_format:
        if not made.data.flags.writeable:
            made.data = made.data.copy()
        made.sum_duplicates()  # sorts the indices too
    return made


def checked(A: Any, name: str) -> Any:
    """A sparse matrix of any format as a CSR array with all indices in range, or a ValueError that says which are not.

    Before SciPy converts it, for its conversions look at no bounds either. Shares the arrays of A where they fit.
    """
    import scipy.sparse as sp

    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, got a sparse array of shape {A.shape}; reshape it.")
    m, n = A.shape
    try:
        if A.format in ("csr", "csc"):
            return _compressed(A, name)
        if A.format == "bsr":
            if A.data.ndim != 3:
                raise ValueError(f"{name} is malformed: its blocks have the shape {A.data.shape}, not three axes.")
            high, wide = A.data.shape[1:]
            entries = check_compressed(
                A.indptr, A.indices, len(A.data), m // high, n // wide, name, "blocks of columns"
            )
            A = sp.bsr_array((A.data[:entries], A.indices[:entries], A.indptr), shape=A.shape)
        elif A.format == "coo":
            _check_coordinates(A.coords, A.data, A.shape, name)
        elif A.format == "dia" and (A.data.ndim != 2 or A.offsets.shape != A.data.shape[:1]):
            raise ValueError(f"{name} is malformed: {A.offsets.size} indices of diagonals for data of {A.data.shape}.")
        elif A.format == "lil" and any(len(at) != len(here) for at, here in zip(A.rows, A.data, strict=True)):
            raise ValueError(f"{name} is malformed: a row has more indices than values, or fewer.")
        _check_room(A, name)
        return _compressed(sp.csr_array(A), name)
    except (AttributeError, IndexError, TypeError, OverflowError) as error:
        raise ValueError(f"{name} is no sound sparse matrix of the format {A.format!r} ({error}).") from None


def check_compressed(indptr: Any, indices: Any, size: int, rows: int, columns: int, name: str, of: str) -> int:
    """Check the structure of a CSR (or, with rows and columns exchanged, CSC) matrix of `size` values. O(nonzeros).

    Parameters
    ----------
    indptr, indices : array
    size : int
        How many values there are.
    rows, columns : int
        The shape of the matrix.
    name : str
        What the matrix is called in a sentence.
    of : str
        What the indices number, such as "columns".

    Returns
    -------
    int
        The number of entries in use; arrays may be longer.

    Raises
    ------
    ValueError
        That says which index is out of range.
    """
    for part, what in ((indptr, "indptr"), (indices, "indices")):
        if not isinstance(part, np.ndarray) or part.ndim != 1 or part.dtype.kind not in "iu":
            raise ValueError(f"{name} is malformed: its {what} must be a list of whole numbers.")
    if len(indptr) != rows + 1:
        raise ValueError(f"{name} is malformed: indptr must have {rows + 1} entries, but has {len(indptr)}.")
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{name} is malformed: indptr must begin with 0 and never fall.")
    entries = int(indptr[-1])
    if entries > min(len(indices), size):
        raise ValueError(
            f"{name} is malformed: indptr goes up to {entries}, but there are {len(indices)} indices and {size} values."
        )
    _check_range(indices[:entries], columns, name, of)
    return entries


def _compressed(A: Any, name: str) -> Any:
    """A CSR or CSC matrix as CSR."""
    import scipy.sparse as sp

    by_rows, data = A.format == "csr", np.asarray(A.data)
    if data.ndim != 1:
        raise ValueError(f"{name} is malformed: its values have the shape {data.shape}, its indices a line.")
    m, n = A.shape
    sizes, of = ((m, n), "columns") if by_rows else ((n, m), "rows")
    entries = check_compressed(A.indptr, A.indices, len(data), *sizes, name, of)
    arrays = data[:entries], A.indices[:entries], A.indptr
    if by_rows:
        return sp.csr_array(arrays, shape=A.shape)
    _check_room(A, name)
    return sp.csc_array(arrays, shape=A.shape).tocsr()


def _check_room(A: Any, name: str) -> None:
    """Refuse what as CSR would take memory for nothing but empty rows."""
    m = A.shape[0]
    if m > _EMPTY + 100 * A.nnz:
        raise ValueError(
            f"{name} has the shape {A.shape} with {A.nnz} nonzeros, and would take {8e-9 * m:.1f} GB for rows that are "
            "empty; leave those out."
        )


def _check_coordinates(coordinates: tuple[Any, Any], data: Any, shape: tuple[int, int], name: str) -> None:
    for part, size, of in zip(coordinates, shape, ("rows", "columns"), strict=True):
        if part.ndim != 1 or part.dtype.kind not in "iu" or len(part) != len(data):
            raise ValueError(f"{name} is malformed: the indices of its {of} must be {len(data)} whole numbers.")
        _check_range(part, size, name, of)


def _check_range(indices: Array, size: int, name: str, of: str) -> None:
    if not indices.size:
        return
    low, high = int(indices.min()), int(indices.max())
    if low >= 0 and high < size:
        return
    hint = "; they look one-based, so subtract 1" if low >= 1 and high == size else ""
    raise ValueError(
        f"{name} has indices of {of} from {low} to {high}, but with {size} of them they must lie between 0 and "
        f"{size - 1}{hint}."
    )
