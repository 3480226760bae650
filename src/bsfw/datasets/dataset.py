"""A matrix of samples with labels, and how it is built from LIBSVM text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bsfw._libsvm import parse_libsvm
from bsfw.datasets.fetch import Fetched
from bsfw.datasets.registry import Entry

from .._refusals import Refusing

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Dataset(Refusing):
    """Samples and labels; unpacks as ``A, y``.

    Attributes
    ----------
    A : scipy.sparse.csr_array or ndarray of float64, one row a sample
    y : ndarray of float64, -1 and +1 (class numbers for news20)
    name, origin, licence, citation : str
    stand_in : str or None
        A note if the data is not, byte for byte, what the publisher distributes under this name.
    feature_names : tuple of str
        Names of the columns where they are known, else empty.
    """

    A: sp.csr_array | npt.NDArray[np.float64] = field(repr=False)
    y: npt.NDArray[np.float64] = field(repr=False)
    name: str
    origin: str
    licence: str
    citation: str
    stand_in: str | None = None
    feature_names: tuple[str, ...] = field(default=(), repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.A, self.y))


def from_libsvm(entry: Entry, source: Fetched) -> Dataset:
    """Parse LIBSVM text, check it against the counts of `entry`, and derive what is derived.

    Cost: one pass over the text (see `read_libsvm`).
    """
    matrix, y = parse_libsvm(source.content, str(source.path), n_features=entry.shape[1])
    if entry.name == "news20-halves":
        matrix, y = _halves(matrix, y)
    found: dict[str, Any] = {
        "shape": matrix.shape,
        "stored entries": matrix.nnz,
        "labels": tuple(np.unique(y).tolist()),
    }
    wanted: dict[str, Any] = {"shape": entry.shape, "stored entries": entry.size, "labels": entry.classes}
    if entry.positives is not None:
        found["labels +1"], wanted["labels +1"] = int(np.count_nonzero(y == 1)), entry.positives
    check_counts(entry, source, found, wanted)
    return Dataset(matrix, y, entry.name, entry.origin, entry.licence, entry.citation, entry.note or source.stand_in)


def check_counts(entry: Entry, source: Fetched, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise a ValueError that names the first count in which the file differs from the published set."""
    for what, value in wanted.items():
        if found[what] != value:
            raise ValueError(
                f"{source.path} is not the published {entry.name}: "
                f"{what} {found[what]} instead of {value}; get it again."
            )


def _halves(matrix: Any, y: npt.NDArray[np.float64]) -> tuple[Any, npt.NDArray[np.float64]]:
    """Classes 1-10 against 11-20, rows scaled to unit length, as the rows of RCV1 are."""
    lengths = np.sqrt(np.add.reduceat(matrix.data**2, matrix.indptr[:-1]))
    matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    return matrix, np.where(y > 10, 1.0, -1.0)
