"""The data of an objective are its own: in canonical form, copied unless nobody can write to them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw import LeastSquares, Logistic, Quadratic
from bsfw._sparse import canonical, check_compressed, checked

DENSE = np.random.default_rng(0).standard_normal((6, 4)) * (np.arange(24).reshape(6, 4) % 3 > 0)
FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix])
def test_every_format_gives_the_same_canonical_matrix(format, container):
    found = canonical(container(DENSE).asformat(format), "A")
    np.testing.assert_array_equal(found.toarray(), DENSE)
    assert found.has_canonical_format
    assert found.indices.dtype == found.indptr.dtype == np.int32


def test_unsorted_indices_are_sorted_and_duplicates_added_whatever_the_matrix_says_of_itself():
    A = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    A.has_canonical_format = True
    found = canonical(A, "A")
    np.testing.assert_array_equal(found.indices, [0, 2])
    np.testing.assert_array_equal(found.data, [2.0, 5.0])
    np.testing.assert_array_equal(A.indices, [2, 0, 2])
    np.testing.assert_array_equal(A.data, [1.0, 2.0, 4.0])


def frozen(array):
    array.flags.writeable = False
    return array


def test_values_that_nobody_can_write_to_are_shared_and_others_copied():
    A = DENSE.copy()
    assert not np.shares_memory(LeastSquares(A, np.zeros(6)).A, A)
    view = frozen(A[:])  # whoever holds A can write
    assert not np.shares_memory(LeastSquares(view, np.zeros(6)).A, A)
    assert np.shares_memory(LeastSquares(frozen(A), np.zeros(6)).A, A)
    assert LeastSquares(frozen(np.asfortranarray(DENSE)), np.zeros(6)).A.flags.c_contiguous
    Q = frozen(np.eye(3))
    assert np.shares_memory(Quadratic(Q).Q, Q)


def test_of_a_sparse_matrix_only_values_can_be_shared():
    A = sp.csr_array(DENSE)
    A.data, A.indices, A.indptr = (frozen(part.copy()) for part in (A.data, A.indices, A.indptr))
    own = Logistic(A, [1, -1, 1, -1, 1, -1]).A
    assert np.shares_memory(own.data, A.data)
    assert not np.shares_memory(own.indices, A.indices)
    assert not np.shares_memory(own.indptr, A.indptr)


@pytest.mark.parametrize(("mode", "shared"), [("r", True), ("r+", False), ("c", False)])
def test_a_mapped_file_is_shared_if_it_is_mapped_for_reading_only(mode: str, shared: bool, tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", DENSE)
    A = np.load(tmp_path / "A.npy", mmap_mode=mode)
    assert np.shares_memory(LeastSquares(A, np.zeros(6)).A, A) is shared


@pytest.mark.parametrize(
    ("format", "damage"),
    [
        ("lil", lambda A: A.rows[0].append(99)),
        ("lil", lambda A: A.rows[0].__setitem__(0, 99)),
        ("dia", lambda A: setattr(A, "offsets", np.arange(40))),
        ("csr", lambda A: setattr(A, "indices", A.indices.astype(float))),
        ("csr", lambda A: setattr(A, "indices", A.indices.tolist())),
        ("csr", lambda A: setattr(A, "data", A.data[:2])),
        ("csr", lambda A: setattr(A, "data", np.ones((2, 2)))),
        ("csr", lambda A: setattr(A, "indptr", A.indptr[:-2])),
        ("coo", lambda A: setattr(A, "data", A.data[:2])),
        ("bsr", lambda A: setattr(A, "data", np.ones(3))),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(format, damage):
    A = sp.csr_array(DENSE).asformat(format)
    damage(A)
    with pytest.raises(ValueError, match=r"A (is malformed|has indices|is no sound)"):
        canonical(A, "A")


def test_rows_and_columns_of_transposed_formats_are_not_mixed_up():
    tall = sp.csc_array(DENSE)  # rows up to 5, where there are but 4 columns
    np.testing.assert_array_equal(checked(tall, "A").toarray(), DENSE)
    tall.indices[0] = 6
    with pytest.raises(ValueError, match="indices of rows from 0 to 6, but with 6 of them"):
        checked(tall, "A")


@settings(deadline=None, max_examples=300)
@given(
    indptr=st.lists(st.integers(-3, 9), min_size=1, max_size=5),
    indices=st.lists(st.integers(-2, 4), max_size=7),
    size=st.integers(0, 8),
)
def test_a_structure_passes_exactly_if_every_entry_can_be_reached(indptr, indices, size):
    rows, columns = 3, 3
    sound = len(indptr) == rows + 1 and indptr[0] == 0 and indptr == sorted(indptr)
    sound = sound and indptr[-1] <= min(len(indices), size)
    sound = sound and all(0 <= indices[k] < columns for k in range(indptr[-1]))
    arguments = np.array(indptr), np.array(indices, dtype=np.int64), size, rows, columns, "A", "columns"
    if sound:
        assert check_compressed(*arguments) == indptr[-1]
    else:
        with pytest.raises(ValueError, match=r"^A "):
            check_compressed(*arguments)


def test_masked_entries_are_not_taken_for_data():
    A = np.ma.masked_array(DENSE, mask=DENSE == 0)
    with pytest.raises(ValueError, match="A is a masked array"):
        LeastSquares(A, np.zeros(6))
    with pytest.raises(ValueError, match="y is a masked array"):
        LeastSquares(DENSE, np.ma.masked_array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0]))
    np.testing.assert_array_equal(LeastSquares(np.ma.masked_array(DENSE), np.zeros(6)).A, DENSE)


def test_memory_is_not_asked_for_by_a_shape_alone():
    huge = sp.coo_array(([1.0], ([0], [0])), shape=(10**11, 3))
    with pytest.raises(ValueError, match=r"shape \(100000000000, 3\) with 1 nonzeros, and would take 800.0 GB"):
        LeastSquares(huge, [1.0])
