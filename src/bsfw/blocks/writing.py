"""`write`: rows from anywhere into a folder of blocks, written whole or not at all, and gone on with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import positive_int
from .._files import locked
from .._refusals import refusing
from .block import Block, SparseBlock, block_of
from .local import Local
from .sources import Piece, source_of
from .storage import MANIFEST, open_blocks, read_manifest, write_block, write_manifest

ROWS = 500_000


@refusing
def write(
    folder: str | os.PathLike[str],
    data: Any,
    y: Any = None,
    *,
    rows: int = ROWS,
    sample_weight: Any = None,
    label: str | None = None,
    weight: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
) -> Local:
    """Write data as blocks of rows into a folder, from which models are fitted out of core.

    Memory is needed for one block at a time. Interrupted, the same call goes on: blocks that are complete stay, and the
    last of them is made again and compared, so that other data are refused.

    Parameters
    ----------
    folder : path
        A new one, an empty one, or one that an interrupted call has left.
    data : matrix, iterable or paths
        A sparse matrix or an array with its labels in `y`; an iterable of ``(rows, labels)`` or
        ``(rows, labels, weights)``; or one path or a list of paths (also patterns, and with fsspec addresses such as
        ``s3://bucket/part-*``) of LIBSVM files, plain, .xz, .bz2 or .gz, or of Parquet tables.
    y : array, optional
        Labels of a matrix.
    rows : int
        Of a block. A few hundred megabytes a block are good: one or two blocks per core at least.
    sample_weight : array, optional
        Nonnegative weights of the rows of a matrix.
    label, weight : str, optional
        The columns of a Parquet table that are the label and the weight; all others are features.
    n_features : int, optional
        Columns of LIBSVM text; by default up to the largest index that occurs.
    zero_based : bool
        Whether indices of LIBSVM text begin with 0.

    Returns
    -------
    Local
        The blocks, as `open_blocks` gives them.
    """
    rows, target = positive_int(rows, "rows"), Path(folder)
    target.mkdir(exist_ok=True)
    with locked(target / MANIFEST):
        done = _done(target)
        entries: list[dict[str, Any]] = [] if done is None else done["blocks"]
        kept = sum(entry["rows"] for entry in entries[:-1])
        source = source_of(
            data, y, sample_weight, skip=kept, label=label, weight=weight, n_features=n_features, zero_based=zero_based
        )
        common = {"source": source.of, "rows": rows, "feature_names": list(source.feature_names)}
        if done is not None and {key: done[key] for key in common} != common:
            raise ValueError(f"{folder} holds blocks of other data or of another size; name another folder.")
        number, kind = max(0, len(entries) - 1), None if done is None else done["kind"]
        for block in _blocks(source.pieces, rows):
            found = "sparse" if isinstance(block, SparseBlock) else "dense"
            if kind not in (None, found):
                raise ValueError(f"rows are {found} here, but were {kind} before; give all of one kind.")
            kind = found
            if source.columns is None and kind == "sparse":
                block.n = int(block.columns[-1]) + 1 if isinstance(block, SparseBlock) and len(block.columns) else 1
            if number < len(entries):
                if block.digest() != entries[number]["digest"]:
                    raise ValueError(f"{folder} holds blocks of other data; name another folder.")
            else:
                entries.append(write_block(target, f"{number:05d}", block))
                write_manifest(target, {**common, **_of_all(kind, entries, source.columns), "complete": False})
            number += 1
        if not entries:
            raise ValueError("there are no rows to write; give at least one sample.")
        write_manifest(target, {**common, **_of_all(kind, entries, source.columns), "complete": True})
    return open_blocks(folder)


@refusing
def from_arrays(
    A: Any,
    y: Any,
    *,
    rows: int = ROWS,
    sample_weight: Any = None,
    threads: int | None = None,
    budget: float | None = None,
) -> Local:
    """Blocks in memory, of a matrix in memory: full passes by threads, and the numbers of the same blocks elsewhere.

    Parameters
    ----------
    A, y, rows, sample_weight
        As in `write`.
    threads, budget
        As in `open_blocks`.

    Returns
    -------
    Local
    """
    source = source_of(
        A, y, sample_weight, skip=0, label=None, weight=None, n_features=None, zero_based=False
    )  # fmt: skip
    made = list(_blocks(source.pieces, positive_int(rows, "rows")))
    if not made:
        raise ValueError("there are no rows; give at least one sample.")
    for number, block in enumerate(made):
        block.name = f"block {number}"
    blocks = Local(made, threads=threads, budget=budget)
    _ = blocks.descriptions  # now, so that what is not finite is said here
    return blocks


def _done(folder: Path) -> dict[str, Any] | None:
    """The manifest of an interrupted call; None in an empty folder."""
    if not (folder / MANIFEST).exists():
        others = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
        if others and not all(name.isdigit() for name in others):
            raise FileExistsError(f"{folder} holds {others[0]!r}: name an empty folder, or a new one.")
        return None
    found = read_manifest(folder)
    if found["complete"]:
        raise FileExistsError(f"{folder} holds blocks already: name another folder, or remove it first.")
    return found


def _of_all(kind: str | None, entries: list[dict[str, Any]], columns: int | None) -> dict[str, Any]:
    widest = max(entry["columns"] for entry in entries)
    return {"kind": kind, "columns": widest if columns is None else columns, "blocks": entries}


def _blocks(pieces: Iterator[Piece], rows: int) -> Iterator[Block]:
    """Pieces cut and put together to blocks of so many rows; the last has what is left."""
    waiting: list[Piece] = []
    count = 0
    for piece in pieces:
        while len(piece.y):
            room = rows - count
            waiting.append(piece.part(slice(room)))
            piece = piece.part(slice(room, None))
            count += len(waiting[-1].y)
            if count == rows:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Piece]) -> Block:
    widths = {piece.A.shape[1] for piece in pieces}
    weighted = {piece.w is not None for piece in pieces}
    sparse = {hasattr(piece.A, "tocsr") for piece in pieces}
    if len(widths) > 1 or len(weighted) > 1 or len(sparse) > 1:
        raise ValueError(
            "the pieces do not fit together: all need the same number of columns, all or none weights, and all be "
            "sparse or all dense."
        )
    labels = np.concatenate([piece.y for piece in pieces])
    weights = np.concatenate([piece.w for piece in pieces if piece.w is not None]) if weighted == {True} else None
    if sparse == {True}:
        import scipy.sparse as sp

        return block_of(sp.vstack([piece.A for piece in pieces], format="csr"), labels, weights)
    return block_of(np.concatenate([np.asarray(piece.A) for piece in pieces]), labels, weights)
