"""Where blocks come from: arrays, iterators, LIBSVM text and Parquet, as a stream of rows with their labels."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .. import _libsvm
from .._arrays import Array, shown
from .._files import damage, require_regular

CHUNK = 2**23
"""Bytes of text that are parsed at a time."""
LONGEST = 2**28
"""Bytes of a line from which on a file is taken for no LIBSVM text."""
BATCH = 2**16
"""Rows of a table that are read at a time."""
_OPENERS: tuple[tuple[bytes, Any], ...] = (
    (b"\xfd7zXZ\x00", lzma.LZMAFile), (b"BZh", bz2.BZ2File), (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
)  # fmt: skip


class Piece(NamedTuple):
    """Some rows: a sparse matrix or an array, labels, and weights if there are any."""

    A: Any
    y: Array
    w: Array | None = None

    def part(self, rows: slice) -> Piece:
        """Some of the rows."""
        return Piece(self.A[rows], self.y[rows], None if self.w is None else self.w[rows])


class Source(NamedTuple):
    """A stream of pieces, and what is known of it.

    Attributes
    ----------
    pieces : iterator of Piece
    of : str
        Tells one source from another, for `write` to go on.
    columns : int or None
        How many there are, if that is known before the end.
    feature_names : tuple of str
    """

    pieces: Iterator[Piece]
    of: str
    columns: int | None = None
    feature_names: tuple[str, ...] = ()


def source_of(
    data: Any,
    y: Any,
    sample_weight: Any,
    *,
    skip: int,
    label: str | None,
    weight: str | None,
    n_features: int | None,
    zero_based: bool,
) -> Source:
    """The rows of `data` from row `skip` on."""
    if isinstance(data, (str, os.PathLike)) or _all_paths(data):
        if y is not None or sample_weight is not None:
            raise ValueError("files hold their labels, and tables their weights: leave y and sample_weight out.")
        paths = _paths(data)
        of = repr([(os.path.basename(path), _size(path)) for path in paths])
        if all(path.endswith(".parquet") for path in paths):
            names = _features(paths[0], label, weight)
            return Source(_parquet(paths, names, label, weight, skip), of, len(names), names)
        if label is not None or weight is not None:
            raise ValueError(f"label and weight name columns of a Parquet table, but {shown(paths[0])} is none.")
        return Source(_libsvm_rows(paths, n_features, zero_based, skip), of, n_features)
    if hasattr(data, "tocsr") or isinstance(data, np.ndarray):
        return Source(
            _slices(data, y, sample_weight, skip), f"{type(data).__name__} {data.shape} {data.dtype}", data.shape[1]
        )
    if not isinstance(data, Iterable):
        raise TypeError(
            "blocks are written from a matrix with labels, an iterable of (rows, labels), or paths of LIBSVM or "
            f"Parquet files, got {shown(data)}."
        )
    if y is not None or sample_weight is not None:
        raise ValueError("an iterator gives (rows, labels) or (rows, labels, weights): leave y and sample_weight out.")
    return Source(_given(iter(data), skip), "an iterator")


def _all_paths(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)


def _paths(data: Any) -> list[str]:
    """Files, in order: those given, those of a pattern, the Parquet files of a folder."""
    found: list[str] = []
    for one in [data] if isinstance(data, (str, os.PathLike)) else data:
        name = os.fspath(one)
        if "://" in name:
            import fsspec

            system, _, matches = fsspec.get_fs_token_paths(name)
            found += [system.unstrip_protocol(match) for match in matches]
        elif os.path.isdir(name):
            found += sorted(map(str, Path(name).glob("*.parquet")))
        else:
            found += sorted(glob.glob(name)) if not os.path.exists(name) else [name]
    if not found:
        raise FileNotFoundError(f"there is no file {shown(data)}.")
    return found


def _size(path: str) -> int:
    if "://" in path:
        import fsspec

        with fsspec.open(path, "rb") as file:
            return int(getattr(file, "size", 0) or 0)
    return os.stat(path).st_size


@contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if "://" in path:
        import fsspec

        with fsspec.open(path, "rb") as file:
            yield file
        return
    require_regular(Path(path))
    with open(path, "rb") as file:
        yield file


def _slices(A: Any, y: Any, w: Any, skip: int) -> Iterator[Piece]:
    if y is None:
        raise ValueError("a matrix needs its labels: write(folder, A, y).")
    rows = A.tocsr() if hasattr(A, "tocsr") else A
    labels, weights = np.asarray(y), None if w is None else np.asarray(w)
    for what, values in (("y", labels), ("sample_weight", weights)):
        if values is not None and values.shape != (rows.shape[0],):
            raise ValueError(
                f"{what} must have one entry per row of A, shape ({rows.shape[0]},), but has {values.shape}."
            )
    for first in range(skip, rows.shape[0], BATCH):
        part = slice(first, min(first + BATCH, rows.shape[0]))
        yield Piece(rows[part], labels[part], None if weights is None else weights[part])


def _given(pieces: Iterator[Any], skip: int) -> Iterator[Piece]:
    for number, piece in enumerate(pieces):
        if not isinstance(piece, tuple) or len(piece) not in (2, 3):
            raise TypeError(
                f"an iterator must give (rows, labels) or (rows, labels, weights); item {number} is neither."
            )
        made = Piece(piece[0].tocsr() if hasattr(piece[0], "tocsr") else piece[0], *map(np.asarray, piece[1:]))
        rows = made.A.shape[0]
        if made.y.shape != (rows,) or (made.w is not None and made.w.shape != (rows,)):
            raise ValueError(f"item {number} of the iterator has {rows} rows, but labels of shape {made.y.shape}.")
        yield from _after(made, skip)
        skip = max(0, skip - rows)


def _after(piece: Piece, skip: int) -> Iterator[Piece]:
    """The rows from `skip` on, if there are any."""
    if skip < len(piece.y):
        yield piece.part(slice(skip, None))


def _libsvm_rows(paths: list[str], n_features: int | None, zero_based: bool, skip: int) -> Iterator[Piece]:
    import scipy.sparse as sp

    first = 0 if zero_based else 1
    last = _libsvm.MAX_INDEX if n_features is None else n_features - 1 + first
    for path in paths:
        for line, text in _text(path):
            rows = sum(map(bool, map(bytes.strip, text.split(b"\n")))) if skip else 0
            if skip and rows <= skip:  # counted, which is faster than parsed
                skip -= rows
                continue
            found = _libsvm.parse_lines(text, line, (first, last), path)
            indptr = np.concatenate(([0], np.cumsum(found.lengths)))
            shape = (len(found.labels), last - first + 1)
            yield from _after(
                Piece(sp.csr_array((found.values, found.columns, indptr), shape=shape), found.labels), skip
            )
            skip = 0


def _text(path: str) -> Iterator[tuple[int, bytes]]:
    """Whole lines without comments, with the number of the first; decompressed by the first bytes of the file."""
    with _opened(path) as file:
        start = file.read(6)
        file.seek(0)
        opener = next((opener for magic, opener in _OPENERS if start.startswith(magic)), None)
        stream, rest, line = file if opener is None else opener(file), b"", 1
        while True:
            try:
                chunk = stream.read(CHUNK)
            except Exception as error:
                raise damage(error, f"{path} is damaged or incomplete; get it again") from None
            end = (chunk.rfind(b"\n") + 1) if chunk else 0
            text = rest + (chunk[:end] if chunk else b"")
            if not chunk or end:
                if text:
                    yield line, _libsvm.without_comments(text)
                line, rest = line + text.count(b"\n"), chunk[end:]
            else:
                rest += chunk
            if len(rest) > LONGEST:
                raise ValueError(f"{path} has a line of more than {LONGEST >> 20} MiB; it is no LIBSVM text.")
            if not chunk:
                return


def _features(path: str, label: str | None, weight: str | None) -> tuple[str, ...]:
    """The columns of a Parquet table but the label and the weight."""
    import pyarrow.parquet as pq

    if label is None:
        raise ValueError("a Parquet table needs the name of the column that is the label: label='...'.")
    with _opened(path) as file:
        names = pq.ParquetFile(file).schema_arrow.names
    for wanted in (label, weight):
        if wanted is not None and wanted not in names:
            raise ValueError(f"{path} has no column {wanted!r}; it has {', '.join(map(repr, names[:8]))}.")
    return tuple(name for name in names if name not in (label, weight))


def _parquet(
    paths: list[str], names: tuple[str, ...], label: str | None, weight: str | None, skip: int
) -> Iterator[Piece]:
    import pyarrow.parquet as pq

    for path in paths:
        with _opened(path) as file:
            table = pq.ParquetFile(file)
            if table.metadata.num_rows <= skip:
                skip -= table.metadata.num_rows
                continue
            for batch in table.iter_batches(batch_size=BATCH):
                yield from _after(table_piece(batch.to_pandas(), names, label, weight, path), skip)
                skip = max(0, skip - batch.num_rows)


def table_piece(frame: Any, names: tuple[str, ...], label: str | None, weight: str | None, source: str) -> Piece:
    """A part of a table of pandas: features by name, the label, and the weight."""
    lacking = [name for name in (*names, label, weight) if name is not None and name not in frame.columns]
    if lacking:
        raise ValueError(f"{source} has no column {lacking[0]!r}; all parts of a table need the same columns.")
    try:
        A = frame[list(names)].to_numpy(dtype=np.result_type(*map(_width, frame[list(names)].dtypes)))
    except (TypeError, ValueError):
        wrong = [str(name) for name in names if frame[name].dtype.kind not in "biuf"]
        raise TypeError(
            f"{source} must hold numbers, but its columns {', '.join(map(repr, wrong[:5]))} hold something else; "
            "encode or drop them."
        ) from None
    labels = frame[label].to_numpy()
    if labels.dtype.kind not in "biuf":
        labels = np.asarray([str(one) for one in labels])
    return Piece(A, labels, None if weight is None else frame[weight].to_numpy(dtype=np.float64))


def _width(dtype: Any) -> Any:
    """float32 stays, what else holds numbers becomes float64."""
    return np.float32 if dtype == np.float32 else np.float64
