"""Tables as people have them: CSV, TSV and Parquet with a header, one column of which is the label."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bsfw._arrays import shown
from bsfw._files import expanded_limit, refuse_expansion, require_regular
from bsfw._refusals import refusing

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
KNOWN = (*SEPARATORS, ".parquet")


class Table(NamedTuple):
    """Features and labels; ``A, y, names = read_table(path, "label")``.

    Attributes
    ----------
    A : array of float64, (m, n)
    y : array, (m,), or None
        Numbers where all labels are, else text; None if no label was asked for.
    names : tuple of str
        Of the features, in the order of the columns of A.
    """

    A: npt.NDArray[np.float64]
    y: npt.NDArray[Any] | None
    names: tuple[str, ...]


@refusing
def read_table(path: str | os.PathLike[str], label: str | None = None) -> Table:
    """Read a table of numbers with a header.

    Parameters
    ----------
    path : path
        .csv, .tsv or .parquet (which needs pyarrow).
    label : str, optional
        The column that is the label, by name; the others are the features.

    Returns
    -------
    Table
    """
    path = Path(path)
    require_regular(path)
    if path.suffix not in KNOWN:
        raise ValueError(f"{path} is no table: its name must end in {', '.join(KNOWN)}.")
    columns = _parquet(path) if path.suffix == ".parquet" else _text(path, SEPARATORS[path.suffix])
    if label is not None and (not isinstance(label, str) or label not in columns):
        names = ", ".join(map(repr, list(columns)[:8])) + (", ..." if len(columns) > 8 else "")
        raise ValueError(f"{path} has no column {shown(label)}; it has {names}.")
    y = None if label is None else _labels(columns.pop(label))
    if not columns:
        raise ValueError(f"{path} has no features beside the label {label!r}.")
    advice = "" if label else "; if it is the label, say so: --label {0}, or label={0!r} in Python"
    features = [_numbers(column, name, path, advice.format(name)) for name, column in columns.items()]
    return Table(np.column_stack(features), y, tuple(columns))


def _text(path: Path, separator: str) -> dict[str, list[str]]:
    """The columns of a text file, by name."""
    limit, size = expanded_limit(path.stat().st_size), 0
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, delimiter=separator, strict=True)
            header = [name.strip() for name in next(rows, [])]
            if len(set(header)) < len(header) or not all(header):
                raise ValueError(f"{path} needs a header of distinct names in its first line, but has {header[:8]}.")
            columns: list[list[str]] = [[] for _ in header]
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise ValueError(
                        f"{path} has {len(row)} cells in line {rows.line_num}, but {len(header)} names in its header."
                    )
                size += 64 * len(row)
                refuse_expansion(str(path), size, max(limit, 2**30))
                for column, cell in zip(columns, row, strict=True):
                    column.append(cell)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8; convert it first.") from None
    except csv.Error as error:
        raise ValueError(f"{path} is no table: {error}.") from None
    if not columns or not columns[0]:
        raise ValueError(f"{path} has no rows below its header.")
    return dict(zip(header, columns, strict=True))


def _parquet(path: Path) -> dict[str, Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ImportError(f"{path} is a Parquet file, which needs pyarrow: pip install pyarrow.") from None
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is no Parquet file, or it is damaged ({error}).") from None
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _labels(column: Any) -> npt.NDArray[Any]:
    return _converted(column) if not isinstance(column, np.ndarray) else column


def _converted(column: list[str]) -> npt.NDArray[Any]:
    """Numbers where all cells are, else text; whole numbers stay whole."""
    kinds: tuple[Callable[[str], Any], ...] = (int, float)
    for kind in kinds:
        try:
            return np.array([kind(cell) for cell in column])
        except (ValueError, OverflowError):
            continue
    return np.array([cell.strip() for cell in column])


def _numbers(column: Any, name: str, path: Path, advice: str) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        bad = next((cell for cell in column if not _is_number(cell)), "")
        raise ValueError(
            f"{path} has {bad!r} in the column {name!r}, which is no number; encode or drop it{advice}."
        ) from None


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
