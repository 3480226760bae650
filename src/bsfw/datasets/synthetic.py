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


def ratings_like(
    shape: tuple[int, int] = (943, 1682), count: int = 100_000, seed: int = 0
) -> tuple[Array, Array, Array, tuple[int, int]]:
    """Rows, columns, values and shape of ratings from 1 to 5, by default of the size of ml-100k; not its opinions.

    Users differ in how many items they rate, items in how often they are rated (both log-normally); a rating is the sum
    of a mean, a user's and an item's leaning, tastes of rank 8 and noise, rounded.
    """
    rng = np.random.default_rng(seed)
    weights = [rng.lognormal(0.0, sigma, size) for sigma, size in zip((1.0, 1.5), shape, strict=True)]
    found = np.empty(0, dtype=np.int64)
    while len(found) < count:  # popular pairs come up twice
        drawn = [
            np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(count)).clip(max=len(weight) - 1)
            for weight in weights
        ]
        found = np.sort(np.concatenate([found, drawn[0] * shape[1] + drawn[1]]))
        found = found[np.append(True, found[1:] != found[:-1])]  # np.unique may hash, and keep a lot of memory
    found = np.sort(rng.permutation(found)[:count])
    rows, cols = found // shape[1], found % shape[1]
    leanings = 0.45 * rng.standard_normal(shape[0])[rows] + 0.5 * rng.standard_normal(shape[1])[cols]
    users, items = (rng.standard_normal((size, 8)) / np.arange(1, 9) ** 0.5 for size in shape)
    tastes = 0.35 * np.einsum("ij,ij->i", users[rows], items[cols])
    values = 3.5 + leanings + tastes + 0.85 * rng.standard_normal(count)
    return rows, cols, np.clip(np.rint(values), 1.0, 5.0), shape


def rcv1_like() -> tuple[sp.csr_array, Array]:
    """The stand-in for rcv1_train.binary: its shape, 20,242 x 47,236, and about its 74 nonzeros a row; not its text."""
    return text_like(20_242, 47_236, 73)
