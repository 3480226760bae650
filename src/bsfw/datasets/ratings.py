"""Ratings of items by users: the observed entries of a matrix, and their split into training and test part."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bsfw._arrays import number
from bsfw._sampling import generator
from bsfw.datasets.dataset import check_counts
from bsfw.datasets.fetch import Fetched
from bsfw.datasets.registry import Entry

from .._refusals import Refusing

Index = npt.NDArray[np.int64]
_IDS = 2**31
"""Ids are smaller than this, so that the product of two fits into 64 bits."""


@dataclass(frozen=True, eq=False)
class Ratings(Refusing):
    """Observed entries of a users x items matrix; unpacks as ``rows, cols, values``.

    Users and items without a rating have no row or column: numbers run from 0 without gaps, in the order of the
    publisher's ids, which `user_ids` and `item_ids` hold.

    Attributes
    ----------
    rows, cols : ndarray of int64
    values : ndarray of float64
    shape : tuple of int
        Numbers of users and of items, those of the whole set also in a part of it.
    user_ids, item_ids : ndarray
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
    user_ids: npt.NDArray[Any] = field(repr=False)
    item_ids: npt.NDArray[Any] = field(repr=False)
    name: str
    origin: str
    licence: str
    citation: str
    stand_in: str | None = None
    published_test: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.rows, self.cols, self.values))

    @classmethod
    def from_frame(cls, frame: Any, user: str = "user", item: str = "item", rating: str = "rating") -> Ratings:
        """Ratings from a table with a column for each: a pandas or polars DataFrame, or a dict of lists.

        Parameters
        ----------
        frame : table
        user, item, rating : str
            Names of the columns. Ids may be of any kind that can be compared for equality; rows and columns come in
            the order of the ids if they have one, else in that of their first rating.
        """
        columns = [str(name) for name in (frame.columns if hasattr(frame, "columns") else frame)]
        missing = [name for name in (user, item, rating) if name not in columns]
        if missing:
            raise ValueError(f"the table has no column {missing[0]!r}; its columns are {', '.join(columns)}.")
        try:
            values = np.asarray(frame[rating], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"the column {rating!r} holds something that is no number.") from None
        bad = int(np.count_nonzero(~np.isfinite(values)))
        if bad:
            raise ValueError(f"{bad} of {values.size} ratings are missing or not finite; drop those rows first.")
        (user_ids, rows), (item_ids, cols) = _coded(frame[user], user), _coded(frame[item], item)
        shape = (len(user_ids), len(item_ids))
        return cls(rows, cols, values, shape, user_ids, item_ids, "a table", "given by the user", "", "")

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
            fraction = (
                0.2
                if test_fraction is None
                else number(test_fraction, "test_fraction", "fraction strictly between 0 and 1")
            )
            if not 0 < fraction < 1:
                raise ValueError(f"test_fraction must be a fraction strictly between 0 and 1, got {fraction}.")
            test = np.zeros(self.values.size, dtype=bool)
            drawn = generator(rng).permutation(self.values.size)
            test[drawn[: round(fraction * self.values.size)]] = True
        return self._part(~test), self._part(test)

    def _part(self, keep: npt.NDArray[np.bool_]) -> Ratings:
        return replace(self, rows=self.rows[keep], cols=self.cols[keep], values=self.values[keep], published_test=None)


def _coded(column: Any, name: str) -> tuple[npt.NDArray[Any], Index]:
    """The distinct ids of a column, and the number of each of its entries."""
    given = column if hasattr(column, "dtype") else np.empty(len(column), dtype=object)
    if given is not column:
        given[:] = column
        if len({type(id) for id in column}) == 1 and not isinstance(column[0], tuple):  # else 1 and "x" were both text
            given = np.asarray(column)
    given = np.asarray(given)
    if given.dtype.kind in "OUST" and any(id is None or id != id for id in given.tolist()):
        raise ValueError(f"the column {name!r} has ids that are missing; drop those rows first.")
    try:
        ids, codes = np.unique(given, return_inverse=True)
    except TypeError:  # ids of several kinds, without an order
        places: dict[Any, int] = {}
        codes = np.array([places.setdefault(id, len(places)) for id in given.tolist()])
        ids = np.empty(len(places), dtype=object)
        ids[:] = list(places)
    if ids.dtype.kind == "f" and np.isnan(ids).any():
        raise ValueError(f"the column {name!r} has ids that are missing; drop those rows first.")
    return ids, codes.astype(np.int64)


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
    body = text if text[:1].isdigit() else text.partition(b"\n")[2]  # without the line of names
    if not body.strip():
        raise ValueError(f"{source.path} is not a table of user, item and rating: it has no lines; get it again.")
    try:
        table = np.loadtxt(io.BytesIO(body), delimiter="\t", usecols=(0, 1, 2), ndmin=2)
    except ValueError as error:
        raise ValueError(f"{source.path} is not a table of user, item and rating ({error}); get it again.") from None
    ids, values = table[:, :2], table[:, 2]
    if not np.isfinite(values).all() or not np.all((ids >= 0) & (ids < _IDS) & (ids == np.floor(ids))):
        raise ValueError(
            f"{source.path} is not a table of user, item and rating: ids must be whole numbers below 2^31 and ratings "
            "finite numbers; get it again."
        )
    return ids[:, 0].astype(np.int64), ids[:, 1].astype(np.int64), values.copy()
