"""The two sets inside the package, alone and against LIBSVM's files."""

from __future__ import annotations

import os
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bsfw.datasets import load, read_libsvm

needs_data = pytest.mark.skipif(not os.environ.get("BSFW_DATA"), reason="BSFW_DATA does not name a folder of data sets")


def published(path: str) -> Path:
    return Path(os.environ["BSFW_DATA"]) / path


def test_mushrooms_has_its_shape_counts_and_one_value_of_each_attribute_in_a_row() -> None:
    A, y = load("mushrooms")
    assert isinstance(A, sp.csr_array)
    assert A.shape == (8124, 112)
    assert A.nnz == 170_604
    assert A.dtype == y.dtype == np.float64
    assert np.all(A.data == 1)
    assert np.all(np.diff(A.indptr) == 21)
    assert np.all(np.diff(A.indices.reshape(-1, 21)) > 0)
    assert np.all(A.sum(axis=0) > 0)
    assert Counter(y.tolist()) == {1.0: 3916, -1.0: 4208}


def test_mushrooms_columns_carry_the_right_names() -> None:
    mushrooms = load("mushrooms")
    names = mushrooms.feature_names
    assert len(names) == len(set(names)) == 112
    assert not any("stalk-root" in name or "=ibrous" in name for name in names)
    # Facts of the UCI documentation: every foul-smelling mushroom is poisonous, every almond-smelling one edible.
    for name, count, label in (("odor=foul", 2160, 1.0), ("odor=almond", 400, -1.0), ("odor=none", 3528, None)):
        has = mushrooms.A[:, [names.index(name)]].toarray().ravel() == 1
        assert np.count_nonzero(has) == count
        assert label is None or np.all(mushrooms.y[has] == label)


def test_breast_cancer_has_its_shape_counts_and_scale() -> None:
    A, y = load("breast-cancer")
    assert isinstance(A, np.ndarray)
    assert A.shape == (683, 10)
    assert A.dtype == y.dtype == np.float64
    np.testing.assert_array_equal(A.min(axis=0), -1)
    np.testing.assert_array_equal(A.max(axis=0), 1)
    assert Counter(y.tolist()) == {1.0: 239, -1.0: 444}
    # Malignant cells are graded higher in each of the nine measurements.
    assert np.all(A[y == 1, 1:].mean(axis=0) > A[y == -1, 1:].mean(axis=0))


@needs_data
def test_mushrooms_is_libsvms_up_to_the_order_of_columns() -> None:
    A, y = load("mushrooms")
    B, z = read_libsvm(published("mushrooms/mushrooms"))
    np.testing.assert_array_equal(y, np.where(z == 1, 1, -1))
    ours = sorted(column.tobytes() for column in A.toarray().T)
    theirs = sorted(column.tobytes() for column in B.toarray().T)
    assert ours == theirs


@needs_data
def test_breast_cancer_is_libsvms_to_its_printed_digits() -> None:
    A, y = load("breast-cancer")
    B, z = read_libsvm(published("breast-cancer/breast-cancer_scale"))
    np.testing.assert_array_equal(y, np.where(z == 4, 1, -1))
    np.testing.assert_allclose(A, B.toarray(), rtol=0, atol=5.1e-7)
    assert [f"{value:g}" for value in A.ravel()] == [f"{value:g}" for value in B.toarray().ravel()]


@pytest.mark.parametrize("name", ["mushrooms", "breast-cancer"])
def test_bundled_sets_name_origin_licence_and_the_difference_from_libsvms_file(name: str) -> None:
    dataset = load(name)
    assert dataset.name == name
    assert dataset.licence == "CC BY 4.0"
    assert "10.24432/" in dataset.origin
    assert "10.24432/" in dataset.citation
    assert dataset.stand_in
    assert len(list(dataset)) == 2
    assert len(dataset.feature_names) == dataset.A.shape[1]


def test_bundled_files_are_small_without_pickle_and_attributed() -> None:
    folder = files("bsfw.datasets") / "bundled"
    stored = {item.name: item.read_bytes() for item in folder.iterdir()}
    assert set(stored) == {"mushrooms.npz", "breast-cancer.npz", "README.md"}
    assert sum(len(content) for content in stored.values()) < 200_000
    for name in ("mushrooms.npz", "breast-cancer.npz"):
        with (folder / name).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            assert all(archive[key].dtype != object for key in archive.files)
    text = stored["README.md"].decode()
    assert all(part in text for part in ("CC BY 4.0", "10.24432/C5959T", "10.24432/C5HP4Z", "Wolberg", "Schlimmer"))


def test_each_load_gives_arrays_of_its_own() -> None:
    first, second = load("mushrooms"), load("mushrooms")
    first.A.data[:] = 7
    first.y[:] = 7
    assert np.all(second.A.data == 1)
    assert set(second.y) == {-1.0, 1.0}
