"""Blocks: what is written is what was given, sums do not depend on who computes, damage is found."""

from __future__ import annotations

import json
import lzma
import math

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.blocks import from_arrays, open_blocks, write
from bsfw.blocks.base import FAN, tree_sum
from bsfw.blocks.block import block_of


def test_sums_are_made_in_a_fixed_tree(rng):
    def recursive(parts):
        while len(parts) > 1:
            parts = [sum(parts[k + 1 : k + FAN], start=parts[k]) for k in range(0, len(parts), FAN)]
        return parts[0]

    for count in (1, 2, FAN, FAN + 1, FAN**2, FAN**2 + 3, 3 * FAN**2 + FAN):
        numbers = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)
        total, vector = tree_sum((float(number), np.array([number, -number])) for number in numbers)
        assert total == recursive([float(number) for number in numbers])
        assert vector.tolist() == [total, -total]
        assert math.isclose(total, math.fsum(numbers), rel_tol=1e-9)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_multiplies_as_its_rows_do(problem, rng, dense, dtype):
    A = problem[0].astype(dtype)
    block = block_of(A.toarray() if dense else A, problem[1])
    exact, features = A.toarray().astype(np.float64), np.array([3, 0, 59, 17])
    for x, slopes in (
        (rng.standard_normal(4), rng.standard_normal(400)),
        (rng.standard_normal((4, 3)), rng.standard_normal((400, 3))),
    ):
        np.testing.assert_allclose(block.times(features, x), exact[:, features] @ x, atol=1e-12)
        np.testing.assert_allclose(block.sums(slopes), exact.T @ slopes, atol=1e-12)
    picked = block.pick(features)
    if not dense:
        picked = sp.csr_array((picked.data, picked.indices, picked.indptr), shape=(400, 4)).toarray()
    assert np.array_equal(picked, exact[:, features])


def test_a_matrix_that_is_much_wider_than_full_is_the_same_block(rng):
    columns = np.sort(rng.choice(10**9, 50, replace=False))
    rows, entries = rng.integers(0, 20, 50), rng.standard_normal(50)
    wide = sp.csr_array((entries, (rows, columns)), shape=(20, 10**9))
    narrow = sp.csr_array((entries, (rows, np.arange(50))), shape=(20, 50))
    block, narrow = block_of(wide, np.ones(20)), block_of(narrow, np.ones(20))
    assert block.columns.tolist() == columns.tolist()
    for name in ("starts", "rows", "data"):
        assert np.array_equal(getattr(block, name), getattr(narrow, name))


@pytest.mark.parametrize("kind", ["sparse", "dense", "float32", "iterator", "libsvm", "xz", "parquet", "fsspec"])
def test_every_source_gives_the_same_blocks(problem, tmp_path, kind):
    A, y, w = problem
    expected, settings = from_arrays(A, y, rows=90, sample_weight=w), {"rows": 90}
    if kind == "sparse":
        data, settings = A, {**settings, "y": y, "sample_weight": w}
    elif kind in ("dense", "float32"):
        dense = A.toarray().astype(np.float32 if kind == "float32" else np.float64)
        expected, data, settings = from_arrays(dense, y, rows=90), dense, {**settings, "y": y}
    elif kind == "iterator":
        data = ((A[first : first + 37], y[first : first + 37], w[first : first + 37]) for first in range(0, 400, 37))
    elif kind == "parquet":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(A.toarray(), columns=[f"f{j}" for j in range(60)]).assign(click=y, weight=w)
        frame[:150].to_parquet(tmp_path / "part-0.parquet")
        frame[150:].to_parquet(tmp_path / "part-1.parquet")
        expected = from_arrays(A.toarray(), y, rows=90, sample_weight=w)
        data = [tmp_path / "part-0.parquet", tmp_path / "part-1.parquet"]
        settings |= {"label": "click", "weight": "weight"}
    else:
        expected = from_arrays(A, y, rows=90)
        lines = [
            f"{y[i]:g} " + " ".join(f"{j + 1}:{float(value)!r}" for j, value in zip(row.indices, row.data, strict=True))
            for i, row in enumerate(A[[i]] for i in range(400))
        ]
        shards = ["# a comment\n" + "\n".join(lines[:150]) + "\n\n", "\n".join(lines[150:])]
        names = [tmp_path / f"shard-{k}.svm" for k in range(2)]
        for name, shard in zip(names, shards, strict=True):
            name.write_bytes(lzma.compress(shard.encode()) if kind == "xz" else shard.encode())
        data, settings = names, {**settings, "n_features": 60}
        if kind == "fsspec":
            pytest.importorskip("fsspec")
            data = f"file://{tmp_path}/shard-*.svm"
    found = write(tmp_path / "blocks", data, **settings)
    assert found.shape == (400, 60)
    assert [one.digest for one in found.descriptions] == [one.digest for one in expected.descriptions]
    assert [one.rows for one in found.descriptions] == [90, 90, 90, 90, 40]
    assert len(open_blocks(tmp_path / "blocks", verify=True)) == 5


def test_an_interrupted_write_goes_on(problem, tmp_path):
    A, y, _ = problem

    def pieces(broken):
        for first in range(0, 400, 50):
            if broken and first == 250:
                raise OSError("the disk is gone")
            yield A[first : first + 50], y[first : first + 50]

    with pytest.raises(OSError, match="the disk is gone"):
        write(tmp_path / "train", pieces(True), rows=100)
    with pytest.raises(ValueError, match="incomplete: it was interrupted after 2 blocks"):
        open_blocks(tmp_path / "train")
    (tmp_path / "train" / "00002").mkdir()  # complete, but killed before the manifest knew
    with pytest.raises(ValueError, match="other data"):
        write(tmp_path / "train", ((part, -labels) for part, labels in pieces(False)), rows=100)
    with pytest.raises(ValueError, match="another size"):
        write(tmp_path / "train", pieces(False), rows=50)
    found = write(tmp_path / "train", pieces(False), rows=100)
    assert found.fingerprint() == from_arrays(A, y, rows=100).fingerprint()
    with pytest.raises(FileExistsError, match="holds blocks already"):
        write(tmp_path / "train", pieces(False), rows=100)
    assert sorted(path.name for path in (tmp_path / "train").iterdir()) == [
        "00000", "00001", "00002", "00003", "manifest.json",
    ]  # fmt: skip


@pytest.mark.parametrize("dense", [False, True])
def test_a_nan_is_named_by_block_and_row(problem, tmp_path, dense):
    A, y, w = problem[0].copy(), problem[1], problem[2]
    row, column = 257, int(A.indices[A.indptr[257]])
    A.data[A.indptr[257]] = np.nan
    data = A.toarray() if dense else A
    with pytest.raises(ValueError, match=rf"block 2: row 57 .* column {column}"):
        from_arrays(data, y, rows=100)
    with pytest.raises(ValueError, match=r"00002: row 57 "):
        write(tmp_path / "train", data, y, rows=100)
    y = y.copy()
    y[row] = np.inf
    with pytest.raises(ValueError, match="block 2: row 57 has the label inf"):
        from_arrays(problem[0], y, rows=100)
    w[row] = -1.0
    with pytest.raises(ValueError, match="block 2: row 57 has the weight -1"):
        from_arrays(problem[0], problem[1], rows=100, sample_weight=w)


def test_damage_is_found_before_compiled_code_sees_it(problem, tmp_path):
    A, y, _ = problem
    write(tmp_path / "train", A, y, rows=100)
    x = np.ones(60)

    def damage(name, array):
        np.save(tmp_path / "train" / "00001" / f"{name}.npy", array)

    rows = np.load(tmp_path / "train" / "00001" / "rows.npy")
    for wrong in (rows + np.int32(1000), rows[:-1], -rows - 1):
        damage("rows", wrong)
        with pytest.raises(ValueError, match="00001 is damaged"):
            bsfw.Logistic(open_blocks(tmp_path / "train")).gradient(x)
    damage("rows", np.sort(rows))  # fits together, but is another matrix
    with pytest.raises(ValueError, match="hash"):
        open_blocks(tmp_path / "train", verify=True)
    damage("rows", rows)
    open_blocks(tmp_path / "train", verify=True)
    (tmp_path / "train" / "00001" / "data.npy").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="damaged"):
        bsfw.Logistic(open_blocks(tmp_path / "train")).gradient(x)
    (tmp_path / "train" / "00001" / "data.npy").unlink()
    with pytest.raises(FileNotFoundError, match="missing"):
        bsfw.Logistic(open_blocks(tmp_path / "train")).gradient(x)
    manifest = json.loads((tmp_path / "train" / "manifest.json").read_text())
    manifest["blocks"][0]["name"] = "../elsewhere"
    (tmp_path / "train" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="damaged"):
        open_blocks(tmp_path / "train")


def test_what_does_not_fit_together_is_refused(problem, tmp_path):
    A, y, w = problem
    with pytest.raises(ValueError, match="same number of columns"):
        write(tmp_path / "a", iter([(A[:5], y[:5]), (A[5:9, :30], y[5:9])]))
    with pytest.raises(ValueError, match="10 rows, but labels of shape"):
        write(tmp_path / "b", iter([(A[:10], y[:9])]))
    with pytest.raises(ValueError, match="needs its labels"):
        write(tmp_path / "c", A)
    with pytest.raises(ValueError, match="no rows"):
        write(tmp_path / "d", iter([]))
    with pytest.raises(FileNotFoundError, match="no blocks"):
        open_blocks(tmp_path / "d")
    with pytest.raises(ValueError, match="leave y and sample_weight out"):
        bsfw.Logistic(from_arrays(A, y), sample_weight=w)
    with pytest.raises(TypeError, match="blocks hold their labels"):
        bsfw.Logistic(from_arrays(A, y), y)
    with pytest.raises(ValueError, match="too many for labels"):
        bsfw.Multinomial(from_arrays(sp.csr_array(np.ones((2000, 1))), np.arange(2000.0)))
    with pytest.raises(ValueError, match="labels of two kinds"):
        bsfw.Logistic(from_arrays(A, np.arange(400) % 3))
