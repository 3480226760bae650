"""The public sets as they lie under BSFW_DATA: counts, labels, notes."""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from bsfw.datasets import Dataset, Ratings, load

pytestmark = pytest.mark.skipif(not os.environ.get("BSFW_DATA"), reason="BSFW_DATA does not name a folder of data sets")


@pytest.mark.parametrize(
    ("name", "shape", "nnz", "labels", "copy"),
    [
        ("a9a", (32_561, 123), 451_592, {-1: 24_720, 1: 7_841}, None),
        ("a9a.t", (16_281, 123), 225_731, {-1: 12_435, 1: 3_846}, None),
        ("w8a", (49_749, 300), 579_586, {-1: 48_270, 1: 1_479}, None),
        ("farm-ads", (4_143, 54_877), 817_141, {-1: 1_933, 1: 2_210}, "converted"),
        ("rcv1-small", (1_000, 47_236), 77_739, {-1: 541, 1: 459}, "converted"),
        ("rcv1-small.t", (500, 47_236), 39_448, {-1: 255, 1: 245}, "converted"),
    ],
)
def test_binary_sets_have_their_documented_counts(
    name: str, shape: tuple[int, int], nnz: int, labels: dict[int, int], copy: str | None
) -> None:
    dataset = load(name)
    assert isinstance(dataset, Dataset)
    assert dataset.A.shape == shape
    assert dataset.A.nnz == nnz  # type: ignore[union-attr]
    assert Counter(dataset.y.tolist()) == labels
    assert dataset.name == name
    assert dataset.licence
    assert dataset.origin
    assert (dataset.stand_in or "").startswith(copy or "")
    assert (dataset.stand_in is None) == (copy is None)


def test_news20_has_20_classes_and_its_halves_are_binary_with_unit_rows() -> None:
    A, y = load("news20")
    assert A.shape == (15_935, 62_061)
    assert A.nnz == 1_272_569
    assert A.data.max() == 549
    counts = Counter(y.tolist())
    assert sorted(counts) == list(range(1, 21))
    assert all(780 <= count <= 800 for count in counts.values())

    halves = load("news20-halves")
    B, z = halves
    assert halves.stand_in
    assert halves.stand_in.startswith("derived")
    np.testing.assert_array_equal(z, np.where(y >= 11, 1, -1))
    np.testing.assert_array_equal(B.indices, A.indices)
    np.testing.assert_allclose(np.sqrt(B.multiply(B).sum(axis=1)), 1, rtol=1e-12)
    first = slice(0, A.indptr[1])
    np.testing.assert_allclose(B.data[first], A.data[first] / np.linalg.norm(A.data[first]), rtol=1e-12)


def test_rcv1_small_rows_have_unit_length() -> None:
    A, _ = load("rcv1-small")
    np.testing.assert_allclose(np.sqrt(A.multiply(A).sum(axis=1)), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "count", "shape", "last_item", "mean", "copy"),
    [
        ("ml-100k", 100_000, (943, 1_682), 1_682, 3.52986, None),
        ("ml-1m", 1_000_209, (6_040, 3_706), 3_952, 3.58156, "rebuilt"),
        ("ml-latest-small", 100_836, (610, 9_724), 193_609, 3.50156, None),
    ],
)
def test_ratings_have_their_documented_counts(
    name: str, count: int, shape: tuple[int, int], last_item: int, mean: float, copy: str | None
) -> None:
    ratings = load(name)
    assert isinstance(ratings, Ratings)
    rows, cols, values = ratings
    assert rows.size == cols.size == values.size == count
    assert ratings.shape == shape
    assert np.unique(rows).tolist() == list(range(shape[0]))
    assert np.unique(cols).tolist() == list(range(shape[1]))
    assert ratings.item_ids[-1] == last_item
    assert values.mean() == pytest.approx(mean, abs=5e-6)
    assert np.unique(rows * shape[1] + cols).size == count
    assert (ratings.stand_in is None) == (copy is None)
    assert (ratings.stand_in or "").startswith(copy or "")
    assert "GroupLens" in ratings.licence


def test_ml_1m_starts_with_the_widely_quoted_first_lines() -> None:
    ratings = load("ml-1m")
    quoted = [(1, 1193, 5), (1, 661, 3), (1, 914, 3)]
    first = zip(ratings.user_ids[ratings.rows[:3]], ratings.item_ids[ratings.cols[:3]], ratings.values, strict=False)
    assert list(first) == quoted


def test_ml_100k_comes_with_its_published_split() -> None:
    ratings = load("ml-100k")
    train, test = ratings.split()
    assert train.values.size == 80_000
    assert test.values.size == 20_000
    # u1 is cut by user: its test part holds ratings of the first 462 users only.
    assert test.user_ids[test.rows].max() == 462
    assert ratings.split(0.1)[1].values.size == 10_000
