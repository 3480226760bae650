"""The LIBSVM reader against scikit-learn's, and what it refuses."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from bsfw import _libsvm
from bsfw.datasets import read_libsvm

numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
rows = st.lists(st.tuples(numbers, st.dictionaries(st.integers(1, 60), numbers, max_size=8)), min_size=1, max_size=12)


def text_of(samples: list[tuple[float, dict[int, float]]], ends: list[str]) -> bytes:
    lines = []
    for k, (label, entries) in enumerate(samples):
        pairs = " ".join(f"{index}:{entries[index]!r}" for index in sorted(entries))
        lines.append(f"{label!r} {pairs}{ends[k % len(ends)]}")
    return "".join(lines).encode()


@settings(deadline=None, max_examples=100)
@given(rows, st.lists(st.sampled_from(["\n", " \n", "\r\n", " # note 3:4\n", "\n\n", "\n# 1 2:3\n\t\n"]), min_size=1))
def test_reads_what_scikit_learn_reads(samples: list[tuple[float, dict[int, float]]], ends: list[str]) -> None:
    text = text_of(samples, ends)
    A, y = read_libsvm(text, n_features=60)
    B, z = load_svmlight_file(io.BytesIO(text), n_features=60, zero_based=False)
    np.testing.assert_array_equal(y, z)
    np.testing.assert_array_equal(A.toarray(), B.toarray())
    np.testing.assert_array_equal(A.indptr, B.indptr)


@settings(deadline=None, max_examples=50)
@given(rows)
def test_round_trip_is_exact(samples: list[tuple[float, dict[int, float]]]) -> None:
    A, y = read_libsvm(text_of(samples, ["\n"]), n_features=60)
    assert y.tolist() == [label for label, _ in samples]
    for row, (_, entries) in enumerate(samples):
        part = slice(A.indptr[row], A.indptr[row + 1])
        assert A.indices[part].tolist() == [index - 1 for index in sorted(entries)]
        assert A.data[part].tolist() == [entries[index] for index in sorted(entries)]


@settings(deadline=None, max_examples=50)
@given(rows, st.integers(1, 80))
def test_the_size_of_the_blocks_does_not_matter(samples: list[tuple[float, dict[int, float]]], size: int) -> None:
    text = text_of(samples, ["\n", "\n\n", " # note\n"])
    A, y = read_libsvm(text)
    bad = text + b"1 nonsense\n"
    with mock.patch.object(_libsvm, "_BLOCK", size):
        B, z = read_libsvm(text)
        with pytest.raises(ValueError, match=f"line {text.count(bytes([10])) + 1}:"):
            read_libsvm(bad)
    np.testing.assert_array_equal(y, z)
    np.testing.assert_array_equal(A.toarray(), B.toarray())


def strict_reading(text: str) -> list[tuple[float, dict[int, float]]] | None:
    """The grammar line by line in plain Python; None for text outside of it."""
    result = []
    for line in text.split("\n"):
        tokens = line.partition("#")[0].split()
        if not tokens:
            continue
        try:
            label, entries = float(tokens[0]), {}
            for token in tokens[1:]:
                index, value = token.split(":")
                if not index.isdigit() or int(index) <= max(entries, default=0):
                    return None
                entries[int(index)] = float(value)
        except ValueError:
            return None
        if not np.all(np.isfinite([label, *entries.values()])):
            return None
        result.append((label, entries))
    return result or None


@settings(deadline=None, max_examples=500)
@given(st.text(alphabet="0123:::+-.e  \n\n#n", max_size=24) | st.text(alphabet="12: \n", max_size=16))
def test_accepts_exactly_the_grammar_and_names_a_line_otherwise(text: str) -> None:
    expected = strict_reading(text)
    if expected is None:
        with pytest.raises(ValueError, match=r"line \d+:|has no rows"):
            read_libsvm(text.encode())
    else:
        A, y = read_libsvm(text.encode())
        assert y.tolist() == [label for label, _ in expected]
        assert A.data.tolist() == [value for _, entries in expected for value in entries.values()]
        assert (A.indices + 1).tolist() == [index for _, entries in expected for index in entries]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("1 2:x", r"line 3: '2:x' is not index:value"),
        ("1 2", r"line 3: '2' is not index:value"),
        ("1 2:3:4", r"line 3: '2:3:4' is not index:value"),
        ("1 2: 3:4", r"line 3: '2:' is not index:value"),
        ("1 :4", r"line 3: ':4' is not index:value"),
        ("1 2:", r"line 3: '2:' is not index:value"),
        ("1 1.5:2", r"line 3: '1.5:2' is not index:value"),
        ("1 +2:2", r"line 3: '\+2:2' is not index:value"),
        ("1 1e1:2", r"line 3: '1e1:2' is not index:value"),
        ("1 2:1-2", r"line 3: '2:1-2' is not index:value"),
        ("1 2:nan", r"line 3: '2:nan' is not .* finite"),
        ("1 2:inf", r"line 3: '2:inf' is not .* finite"),
        ("1 2:1e999", r"line 3: '2:1e999' is not .* finite"),
        ("nan 2:1", r"line 3: the label 'nan' is not a finite number"),
        ("1e999 2:1", r"line 3: the label '1e999' is not a finite number"),
        ("a 2:1", r"line 3: the label 'a'"),
        ("1,2 2:1", r"line 3: the label '1,2'"),
        ("2:1 3:1", r"line 3: it starts with '2:1', so the label is missing"),
        ("1 qid:4 2:1", r"line 3: 'qid:4' marks ranking data"),
        ("1 0:4", r"line 3: it has the index 0; indices start at 1"),
        ("1 3:1 3:1", r"line 3: the index 3 comes after 3; indices must increase"),
        ("1 3:1 2:1", r"line 3: the index 2 comes after 3"),
        ("1 2147483648:1", r"line 3: the index of '2147483648:1' is above the largest that is allowed, 2147483647"),
        (f"1 {'9' * 5000}:1", r"line 3: the index of '9+' is above"),
        ("1 2:1\x00", r"line 3: '2:1\\x00' is not"),
        ("1 2:\xb2", r"line 3: '2:.*' is not"),
    ],
)
def test_a_bad_line_is_named(line: str, sentence: str) -> None:
    # The index with leading zeros is legal and must not be blamed.
    text = f"1 00000000000000000000001:1\n\n{line}\n-1 1:2\n"
    with pytest.raises(ValueError, match=f"the given bytes, {sentence}"):
        read_libsvm(text.encode(), zero_based=False)


def test_an_index_above_n_features_is_named() -> None:
    with pytest.raises(ValueError, match=r"line 2: the index of '5:1' is above the largest that is allowed, 4\."):
        read_libsvm(b"1 4:1\n1 5:1\n", n_features=4)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# nothing\n", b" \t\n"])
def test_text_without_rows_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="has no rows"):
        read_libsvm(text)


@pytest.mark.parametrize("n_features", [0, -3, 2.0, True])
def test_n_features_must_be_a_whole_number(n_features: object) -> None:
    with pytest.raises(ValueError, match="n_features must be a whole number"):
        read_libsvm(b"1 1:1\n", n_features=n_features)  # type: ignore[arg-type]


def test_other_sources_are_refused() -> None:
    with pytest.raises(TypeError, match="takes a path or bytes, got StringIO"):
        read_libsvm(io.StringIO("1 1:1"))  # type: ignore[arg-type]


def test_shape_follows_the_largest_index_or_n_features_and_empty_rows_and_zeros_stay() -> None:
    A, y = read_libsvm(b"+1 2:0 4:-.5\n-1\n3. 1:1e-3")
    assert A.shape == (3, 4)
    assert y.tolist() == [1, -1, 3]
    assert A.nnz == 3
    np.testing.assert_array_equal(A.toarray(), [[0, 0, 0, -0.5], [0, 0, 0, 0], [1e-3, 0, 0, 0]])
    assert A.has_canonical_format
    assert A.indices.dtype == A.indptr.dtype == np.int32
    assert read_libsvm(b"1 2:1\n", n_features=7)[0].shape == (1, 7)
    assert read_libsvm(b"1\n-1\n")[0].shape == (2, 0)


@pytest.mark.parametrize("pack", [bytes, bz2.compress, gzip.compress, lzma.compress])
def test_compressed_files_and_bytes_are_read_alike(pack: object, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    B = rng.standard_normal((30, 7)) * (rng.random((30, 7)) < 0.5)
    plain = io.BytesIO()
    dump_svmlight_file(B, np.arange(30) % 3, plain, zero_based=False, comment="from scikit-learn")
    packed = pack(plain.getvalue())  # type: ignore[operator]
    path = tmp_path / "any name"
    path.write_bytes(packed)
    for source in (packed, path, str(path)):
        A, y = read_libsvm(source, n_features=7)
        np.testing.assert_allclose(A.toarray(), B, rtol=1e-14)
        np.testing.assert_array_equal(y, np.arange(30) % 3)


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_a_truncated_compressed_file_is_named(pack: object, tmp_path: Path) -> None:
    path = tmp_path / "cut.svm"
    path.write_bytes(pack(b"1 1:1\n" * 100)[:-9])  # type: ignore[operator]
    with pytest.raises(ValueError, match=r"cut\.svm is damaged or incomplete"):
        read_libsvm(path)


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.svm"
    path.write_text("1 1:1\n1 1:z\n")
    with pytest.raises(ValueError, match=r"mine\.svm, line 2: '1:z'"):
        read_libsvm(path)
