"""The two UCI sets that ship inside the package, expanded from compact arrays (see bundled/README.md)."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from bsfw.datasets.dataset import Dataset
from bsfw.datasets.registry import Entry


def load_bundled(entry: Entry) -> Dataset:
    """`mushrooms` or `breast-cancer`. Cost: a few milliseconds, O(stored entries)."""
    stored = files("bsfw.datasets") / "bundled" / f"{entry.name}.npz"
    with stored.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    matrix, y = _mushrooms(arrays) if entry.name == "mushrooms" else _breast_cancer(arrays)
    names = tuple(name.decode("ascii") for name in arrays["names"].tolist())
    return Dataset(matrix, y, entry.name, entry.origin, entry.licence, entry.citation, entry.note, names)


def _labels(bits: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.float64]:
    return np.where(np.unpackbits(bits, count=count) == 1, 1.0, -1.0)


def _mushrooms(arrays: dict[str, npt.NDArray[Any]]) -> tuple[Any, npt.NDArray[np.float64]]:
    """One-hot columns: attribute after attribute, and in each its values in alphabetical order."""
    import scipy.sparse as sp

    codes, counts = arrays["codes"], arrays["counts"].astype(np.int32)
    attributes, samples = codes.shape
    first_column = np.cumsum(counts, dtype=np.int32) - counts
    indices = (codes + first_column[:, None]).T.ravel().astype(np.int32)
    indptr = np.arange(0, indices.size + 1, attributes, dtype=np.int32)
    matrix = sp.csr_array((np.ones(indices.size), indices, indptr), shape=(samples, int(counts.sum())))
    return matrix, _labels(arrays["poisonous"], samples)


def _breast_cancer(arrays: dict[str, npt.NDArray[Any]]) -> tuple[Any, npt.NDArray[np.float64]]:
    """Each column scaled linearly to [-1, 1], as LIBSVM's svm-scale does by default."""
    raw = np.column_stack((arrays["ids"], arrays["grades"].T)).astype(np.float64)
    low, high = raw.min(axis=0), raw.max(axis=0)
    return 2.0 * (raw - low) / (high - low) - 1.0, _labels(arrays["malignant"], len(raw))
