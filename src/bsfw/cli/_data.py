"""Data on the command line: a table, a LIBSVM file, or the name of a known data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

UNIT_LOSSES = ("sigmoid-squared", "probit-squared")
"""Losses whose targets lie in [0, 1]."""


class Data(NamedTuple):
    """Features, labels (None if there are none), names of the features where they are known, and whether the indices
    of a LIBSVM file begin with 0."""

    A: Any
    y: Any
    names: tuple[str, ...] = ()
    zero_based: bool = False


def read(data: str, label: str | None, zero_based: bool, n_features: int | None = None) -> Data:
    """Read DATA: a file if there is one of that name, else a known data set."""
    from bsfw._libsvm import counts_from_zero, parse_libsvm
    from bsfw.datasets import load, read_table
    from bsfw.datasets.archives import decompress, read_file
    from bsfw.datasets.registry import ENTRIES
    from bsfw.datasets.tables import KNOWN

    if Path(data).is_file():
        if Path(data).suffix in KNOWN:
            return Data(*read_table(data, label))
        _refuse_label(data, label)
        text = decompress(read_file(Path(data)), data)
        zero_based = zero_based or counts_from_zero(text)
        return Data(*parse_libsvm(text, data, n_features, zero_based), zero_based=zero_based)
    if data not in ENTRIES:
        known = ", ".join(name for name, entry in ENTRIES.items() if entry.kind != "ratings")
        raise FileNotFoundError(f"there is no file {data}, nor a data set of that name; known are {known}.")
    _refuse_label(data, label)
    found = ENTRIES[data]
    if found.kind == "ratings":
        raise ValueError(f"{data} holds ratings, not samples with labels; this command is for linear models only.")
    dataset: Any = load(data)
    return Data(dataset.A, dataset.y, dataset.feature_names)


def _refuse_label(data: str, label: str | None) -> None:
    if label is not None:
        raise ValueError(f"--label names a column of a table (.csv, .tsv, .parquet), but {data} is none; leave it out.")


def label_like(text: str, y: Any) -> Any:
    """A label as one types it, as it is among these: a number if they are numbers."""
    import numpy as np

    if np.asarray(y).dtype.kind in "biuf":
        try:
            number = float(text)
        except ValueError:
            raise ValueError(f"--positive {text}: the labels are numbers, such as {y[0]:g}.") from None
        return number
    return text


def targets(y: Any, loss: str, positive: str | None) -> Any:
    """The labels as the loss takes them, with advice that fits the command where they do not."""
    import numpy as np

    found = np.unique(y)
    shown = ", ".join(map(_say, found[:5])) + (", ..." if len(found) > 5 else "")
    if loss == "multinomial":
        return y
    if positive is not None:
        chosen = label_like(positive, y)
        if chosen not in found:
            raise ValueError(f"--positive {positive}: no row has that label; the data holds {shown}.")
        return y == chosen
    if loss == "logistic" and len(found) > 2:
        raise ValueError(
            f"the logistic loss takes labels of two kinds, but the data holds {shown}; choose the one that counts as "
            f"+1, for example --positive {_say(found[-1])}, or take --loss multinomial."
        )
    if loss == "logistic":
        return y
    if np.asarray(y).dtype.kind not in "biuf":
        raise ValueError(f"the loss {loss} takes numbers, but the label holds text such as {found[0]!r}.")
    if loss in UNIT_LOSSES and not (found[0] >= 0 and found[-1] <= 1):
        raise ValueError(
            f"the loss {loss} takes targets in [0, 1], but the data holds {shown}; choose the label that "
            f"counts as 1, for example --positive {_say(found[-1])}."
        )
    return y


def _say(label: Any) -> str:
    """A label as one types it."""
    import numpy as np

    return f"{label:g}" if isinstance(label, (float, np.floating)) else str(label)
