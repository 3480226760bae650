"""Data sets: two that ship with the package, and public ones that are found, or downloaded, and checked.

For example::

    A, y = bsfw.datasets.load("mushrooms")
    rows, cols, values = bsfw.datasets.load("ml-100k")

`available` lists them.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple, overload

from bsfw._refusals import refusing
from bsfw.datasets import fetch
from bsfw.datasets.dataset import Dataset, from_libsvm
from bsfw.datasets.libsvm import read_libsvm
from bsfw.datasets.ratings import Ratings, from_text
from bsfw.datasets.registry import ENTRIES, File, MatrixName, RatingsName, lookup
from bsfw.datasets.tables import Table, read_table
from bsfw.datasets.tntp import Network, read_tntp
from bsfw.datasets.uci import load_bundled

__all__ = [
    "Available",
    "Dataset",
    "Network",
    "Ratings",
    "Table",
    "available",
    "load",
    "read_libsvm",
    "read_table",
    "read_tntp",
]


class Available(NamedTuple):
    """A known data set: `size` counts stored entries or ratings; `place` says where `load` would take it from."""

    name: str
    shape: tuple[int, int]
    size: int
    licence: str
    place: fetch.Place


@refusing
def available() -> list[Available]:
    """Every known data set, and whether it is bundled, under BSFW_DATA, in the cache, or to be downloaded.

    Looks for the files only; it reads nothing and needs no network.
    """
    return [
        Available(entry.name, entry.shape, entry.size, entry.licence, _place(entry.files)) for entry in ENTRIES.values()
    ]


def _place(files: tuple[File, ...]) -> fetch.Place:
    places = {fetch.locate(file)[0] for file in files}
    order: tuple[fetch.Place, ...] = ("download", "cache", "BSFW_DATA")
    return next((place for place in order if place in places), "bundled")


@refusing
@overload
def load(name: MatrixName) -> Dataset: ...
@overload
def load(name: RatingsName) -> Ratings: ...
@overload
def load(name: str) -> Dataset | Ratings: ...
def load(name: str) -> Dataset | Ratings:
    """Load a data set by name; `available` lists the names.

    Files come from the package, else from the folder that the environment variable BSFW_DATA names, else from the
    cache (BSFW_CACHE, or the user's cache folder), else from their publisher, with a progress bar. What is read is
    checked by hash, or by shape and counts where no hash is known.

    Parameters
    ----------
    name : str

    Returns
    -------
    Dataset or Ratings
        Unpacks as ``A, y``; the MovieLens sets unpack as ``rows, cols, values``.

    Raises
    ------
    ValueError
        If the name is unknown, or a file is not the published one.
    FileNotFoundError
        If a file is not here and cannot be downloaded; the message says what to put where.
    """
    entry = lookup(name)
    if entry.kind == "bundled":
        return load_bundled(entry)
    with ExitStack() as stack:
        sources = [stack.enter_context(fetch.fetched(file)) for file in entry.files]
        if entry.kind == "matrix":
            return from_libsvm(entry, sources[0])
        return from_text(entry, sources[0], sources[1] if len(sources) > 1 else None)
