"""Ratings: ids without gaps, and the splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bsfw.datasets import Ratings, load
from bsfw.datasets.registry import ENTRIES, Entry, File

TABLES = {
    "tabs": b"7\t30\t4\t881250949\n2\t10\t3\t1\n7\t10\t5\t2\n2\t99\t1\t3\n",
    "colons": b"7::30::4::978300760\n2::10::3::1\n7::10::5::2\n2::99::1::3\n",
    "three fields": b"7::30::4\n2::10::3\n7::10::5\n2::99::1",
    "csv": b"userId,movieId,rating,timestamp\r\n7,30,4.0,964982703\r\n2,10,3.0,1\r\n7,10,5.0,2\r\n2,99,1.0,3\r\n",
}


def toy(
    monkeypatch: pytest.MonkeyPatch, data: Path, table: bytes, test: bytes | None = None, **changes: object
) -> None:
    (data / "toy").mkdir(exist_ok=True)
    (data / "toy" / "all").write_bytes(table)
    files = [File("toy/all", "http://127.0.0.1:1/all")]
    if test is not None:
        (data / "toy" / "test").write_bytes(test)
        files.append(File("toy/test", "http://127.0.0.1:1/test"))
    values: dict[str, object] = {"shape": (2, 3), "size": 4, "classes": (), **changes}
    entry = Entry("toy", "ratings", origin="o", licence="l", citation="c", files=tuple(files), **values)  # type: ignore[arg-type]
    monkeypatch.setitem(ENTRIES, "toy", entry)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_published_format_gives_the_same_ratings(
    table: bytes, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(monkeypatch, data, table)
    ratings = load("toy")
    assert isinstance(ratings, Ratings)
    rows, cols, values = ratings
    assert rows.tolist() == [1, 0, 1, 0]
    assert cols.tolist() == [1, 0, 0, 2]
    assert values.tolist() == [4, 3, 5, 1]
    assert ratings.shape == (2, 3)
    assert ratings.user_ids.tolist() == [2, 7]
    assert ratings.item_ids.tolist() == [10, 30, 99]
    assert rows.dtype == cols.dtype == np.int64
    assert values.dtype == np.float64
    assert (ratings.name, ratings.origin, ratings.licence, ratings.citation) == ("toy", "o", "l", "c")
    assert ratings.stand_in is None


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"size": 5}, "number of ratings 4 instead of 5"),
        ({"shape": (2, 4)}, r"users and items \(2, 3\) instead of \(2, 4\)"),
        ({"classes": (1, 2)}, r"ratings from \(1.0, 3.0, 4.0, 5.0\) instead of \(1, 2\)"),
    ],
)
def test_wrong_counts_are_refused(
    changes: dict[str, object], what: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(monkeypatch, data, TABLES["tabs"], **changes)
    with pytest.raises(ValueError, match=f"is not the published toy: {what}"):
        load("toy")


@pytest.mark.parametrize(
    "table",
    [
        b"1\t2\n",
        b"1\t2\tx\n",
        b"1\t2\t3\n1\n",
        b"1\tnan\t3\n",
        b"1\t1e300\t3\n",
        b"1\t-2\t3\n",
        b"1.5\t2\t3\n",
        b"1\t2\tinf\n",
        b"user,item,rating\n",
        b"1\t2\t\xff\n",
    ],
)
def test_a_table_that_is_none_is_refused(table: bytes, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(monkeypatch, data, table)
    with pytest.raises(ValueError, match="is not a table of user, item and rating"):
        load("toy")


def test_the_published_split_is_the_default_and_a_fraction_overrides_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy(monkeypatch, data, TABLES["tabs"], test=b"2\t99\t1\t3\n7\t30\t4\t881250949\n")
    ratings = load("toy")
    assert isinstance(ratings, Ratings)
    train, test = ratings.split()
    assert test.values.tolist() == [4, 1]
    assert test.rows.tolist() == [1, 0]
    assert test.cols.tolist() == [1, 2]
    assert train.values.tolist() == [3, 5]
    assert train.shape == test.shape == (2, 3)
    np.testing.assert_array_equal(test.item_ids, ratings.item_ids)
    assert train.published_test is None
    assert ratings.split(0.25)[1].values.size == 1


def many() -> Ratings:
    rows, cols = (index.ravel() for index in np.indices((40, 25)))
    values = np.arange(1000.0)
    return Ratings(rows, cols, values, (40, 25), np.arange(40), np.arange(25), "many", "", "", "")


@pytest.mark.parametrize(("fraction", "size"), [(None, 200), (0.1, 100), (0.5, 500)])
def test_a_random_split_parts_the_ratings_by_fraction_and_seed(fraction: float | None, size: int) -> None:
    ratings = many()
    train, test = ratings.split(fraction, rng=3)
    assert test.values.size == size
    assert sorted([*train.values, *test.values]) == ratings.values.tolist()
    for part in (train, test):
        np.testing.assert_array_equal(part.values, 25 * part.rows + part.cols)  # the entries stay together
    np.testing.assert_array_equal(test.values, ratings.split(fraction, rng=np.random.default_rng(3))[1].values)
    assert not np.array_equal(test.values, ratings.split(fraction, rng=4)[1].values)
    # Not the first ones: about half of the test part comes from either half.
    assert 0.3 * size < np.count_nonzero(test.values < 500) < 0.7 * size


def test_the_default_split_is_the_same_each_time() -> None:
    np.testing.assert_array_equal(many().split()[1].values, many().split()[1].values)


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, float("nan")])
def test_a_fraction_outside_of_0_1_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="test_fraction must be a fraction strictly between 0 and 1"):
        many().split(fraction)
