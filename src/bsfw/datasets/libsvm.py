"""Reader of LIBSVM text from a file: `bsfw._libsvm` parses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from bsfw._arrays import Floats
from bsfw._libsvm import parse_libsvm
from bsfw._refusals import refusing
from bsfw.datasets.archives import decompress, read_file

if TYPE_CHECKING:
    import scipy.sparse as sp


@refusing
def read_libsvm(
    source: str | os.PathLike[str] | bytes, n_features: int | None = None, *, zero_based: bool | None = None
) -> tuple[sp.csr_array, Floats]:
    """Read LIBSVM (SVMlight) text into a sparse matrix and labels.

    Comments (``#`` to the end of the line) and blank lines are skipped; a line with a label only is a row of zeros;
    explicit zeros stay stored. xz, bzip2 and gzip are told by their content, and expanded to 128 MiB or a hundred times
    their size, 8 GiB at most, or as far as the environment variable BSFW_MAX_EXPANDED says. The cost is one vectorised
    pass, about a quarter of a second for 10 MB of text, with temporary arrays of a few times 8 MB.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.
    n_features : int, optional
        Number of columns. By default the largest index that occurs; state it when a part of the data, such as a test
        set, may lack the last columns.
    zero_based : bool, optional
        Whether indices begin with 0 instead of 1. By default they do if the index 0 occurs.

    Returns
    -------
    A : scipy.sparse.csr_array of float64, with sorted indices
    y : ndarray of float64, the labels as written

    Raises
    ------
    ValueError
        With the number of the line, for anything that is not LIBSVM text: a bad token, ``qid``, an index that is above
        `n_features`, not larger than the one before it, or 0 where they begin with 1, a NaN or infinite number; and for
        a source without rows.
    """
    if isinstance(source, bytes):
        name, data = "the given bytes", source
    elif isinstance(source, (str, os.PathLike)):
        name, data = os.fspath(source), read_file(Path(source))
    else:
        raise TypeError(f"read_libsvm takes a path or bytes, got {type(source).__name__}.")
    return parse_libsvm(decompress(data, name), name, n_features, zero_based)
