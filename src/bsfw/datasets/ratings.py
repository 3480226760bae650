"""Ratings of items by users: the observed entries of a matrix, and their split into training and test part."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bsfw.datasets.dataset import check_counts
from bsfw.datasets.fetch import Fetched
from bsfw.datasets.registry import Entry

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ratings:
    """Observed entries of a users x items matrix; unpacks as ``rows, cols, values``.

    Users and items without a rating have no row or column: numbers run from 0 without gaps, in the order of the
    publisher's ids, which `user_ids` and `item_ids` hold.

    Attributes
    ----------
    rows, cols : ndarray of int64
    values : ndarray of float64
    shape : tuple of int
        Numbers of users and of items, those of the whole set also in a part of it.
    user_ids, item_ids : ndarray of int64
        The publisher's id of each row and of each column.
    name, origin, licence, citation : str
    stand_in : str or None
        A note if the file is not, byte for byte, the published one.
    published_test : ndarray of bool or None
        Marks the test part of the split that the publisher made, if there is one.
    """

    rows: Index = field(repr=False)
    cols: Index = field(repr=False)
    values: npt.NDArray[np.float64] = field(repr=False)
    shape: tuple[int, int]
    user_ids: Index = field(repr=False)
    item_ids: Index = field(repr=False)
    name: str
    origin: str
    licence: str
    citation: str
    stand_in: str | None = None
    published_test: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.rows, self.cols, self.values))

    def split(self, test_fraction: float | None = None, rng: int | np.random.Generator = 0) -> tuple[Ratings, Ratings]:
        """Training and test part, disjoint, together the whole, both of the same shape.

        Parameters
        ----------
        test_fraction : float in ]0, 1[, optional
            Draw this part of the ratings at random. By default the publisher's split is used if there is one (ml-100k:
            u1, 20,000 of 100,000), else a random fifth is drawn.
        rng : int or numpy.random.Generator
            Seed or generator of the draw.
        """
        if test_fraction is None and self.published_test is not None:
            test = self.published_test
        else:
            fraction = 0.2 if test_fraction is None else test_fraction
            if not 0 < fraction < 1:
                raise ValueError(f"test_fraction must lie strictly between 0 and 1, got {test_fraction!r}.")
            test = np.zeros(self.values.size, dtype=bool)
            drawn = np.random.default_rng(rng).permutation(self.values.size)
            test[drawn[: round(fraction * self.values.size)]] = True
        return self._part(~test), self._part(test)

    def _part(self, keep: npt.NDArray[np.bool_]) -> Ratings:
        return replace(self, rows=self.rows[keep], cols=self.cols[keep], values=self.values[keep], published_test=None)


def from_text(entry: Entry, source: Fetched, test: Fetched | None) -> Ratings:
    """Ratings from a published table and, if there is one, the table of its test part; checked against `entry`."""
    users, items, values = _read(source)
    user_ids, rows = np.unique(users, return_inverse=True)
    item_ids, cols = np.unique(items, return_inverse=True)
    shape = (user_ids.size, item_ids.size)
    found: dict[str, Any] = {"number of ratings": values.size, "users and items": shape}
    wanted: dict[str, Any] = {"number of ratings": entry.size, "users and items": entry.shape}
    if entry.classes:
        found["ratings from"], wanted["ratings from"] = tuple(np.unique(values).tolist()), entry.classes
    check_counts(entry, source, found, wanted)
    published_test = None
    if test is not None:
        test_users, test_items, _ = _read(test)
        stride = int(items.max()) + 1
        published_test = np.isin(users * stride + items, test_users * stride + test_items)
    return Ratings(
        rows.astype(np.int64),
        cols.astype(np.int64),
        values,
        shape,
        user_ids,
        item_ids,
        entry.name,
        entry.origin,
        entry.licence,
        entry.citation,
        source.stand_in,
        published_test,
    )


def _read(source: Fetched) -> tuple[Index, Index, npt.NDArray[np.float64]]:
    """User, item and rating of each line; fields are parted by a tab, a comma or ``::``, and more may follow."""
    text = source.content.replace(b"::", b"\t").replace(b",", b"\t")
    header = 0 if text[:1].isdigit() else 1
    try:
        table = np.loadtxt(io.BytesIO(text), delimiter="\t", skiprows=header, usecols=(0, 1, 2), ndmin=2)
    except ValueError as error:
        raise ValueError(f"{source.path} is not a table of user, item and rating ({error}); get it again.") from None
    return table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2].copy()
