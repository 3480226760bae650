"""Seeded synthetic data of a shape that published sets have, for where those are not at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import scipy.sparse as sp

Array = npt.NDArray[Any]


def text_like(m: int, n: int, per_row: int, seed: int = 0) -> tuple[sp.csr_array, Array]:
    """A matrix like tf-idf of news text, and labels of a sparse linear model with noise.

    Columns are as frequent as words (Zipf-Mandelbrot), rare ones weigh more, the lengths of the rows are log-normal
    with about `per_row` nonzeros in the mean, rows have unit length, and one label in fifty is flipped.
    """
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / (np.arange(n) + max(1.0, n / 1000)))
    frequency /= frequency[-1]
    names = rng.permutation(n)  # frequent words are scattered over the columns, as in an alphabetical index
    lengths = np.clip(rng.lognormal(np.log(per_row), 0.6, m) / np.exp(0.18) * 1.055, 1, n).astype(int)
    rows = np.repeat(np.arange(m), lengths)
    columns = names[np.searchsorted(frequency, rng.random(lengths.sum()))]
    A = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(m, n))  # sums duplicates: word counts
    documents = np.bincount(A.indices, minlength=n)
    A.data = (1.0 + np.log(A.data)) * np.log(m / np.maximum(documents, 1))[A.indices]
    A.data /= np.repeat(np.sqrt(np.add.reduceat(A.data**2, A.indptr[:-1])), np.diff(A.indptr))
    A = sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=(m, n))
    informative = rng.permutation(names[: max(4, n // 160)])[: max(2, n // 480)]  # among the more frequent words
    weights = np.zeros(n)
    weights[informative] = rng.choice([-1.0, 1.0], len(informative)) / np.arange(1, len(informative) + 1)
    margins = A @ weights + 0.001 * rng.standard_normal(m)
    y = np.where(margins > np.median(margins), 1.0, -1.0)
    y[rng.random(m) < 0.02] *= -1.0
    return A, y


def rcv1_like() -> tuple[sp.csr_array, Array]:
    """The stand-in for rcv1_train.binary: its shape, 20,242 x 47,236, and about its 74 nonzeros a row; not its text."""
    return text_like(20_242, 47_236, 73)
