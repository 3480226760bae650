"""``bsfw blocks write``, and ``bsfw solve`` on what it wrote."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import bsfw
from bsfw.blocks import open_blocks
from bsfw.cli import main

SOLVE = ["--loss", "logistic", "--constraint", "l1", "--radius", "5", "--gap-tol", "1e-8", "--quiet"]


@pytest.fixture
def train(classification, tmp_path):
    """A folder of blocks, written by the command from compressed LIBSVM text."""
    A, y = classification
    dump_svmlight_file(A, np.where(y > 0, 1, 2), str(tmp_path / "big.svm"), zero_based=False)
    (tmp_path / "big.svm.xz").write_bytes(lzma.compress((tmp_path / "big.svm").read_bytes()))
    folder = tmp_path / "train"
    assert (
        main(["blocks", "write", str(tmp_path / "big.svm.xz"), str(folder), "--rows", "25", "--n-features", "12"]) == 0
    )
    return folder


def test_a_folder_of_blocks_is_solved_and_gives_a_model(train, classification, tmp_path):
    assert [one.rows for one in open_blocks(train, verify=True).descriptions] == [25, 25, 10]
    out = tmp_path / "model.npz"
    assert main(["solve", str(train), *SOLVE, "--positive", "1", "--intercept", "--out", str(out)]) == 0
    A, y = classification
    known = bsfw.minimize(bsfw.Logistic(A, y, intercept=True), bsfw.L1Ball(5.0), gap_tol=1e-8)
    model = bsfw.load_model(out)
    np.testing.assert_allclose(model.coef, known.x, atol=1e-5)
    assert np.array_equal(model.predict(A) == 1, known.x @ A.T + known.intercept > 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["solve", "TRAIN", *SOLVE, "--label", "y"], "know their labels"),
        (["solve", "TRAIN", *SOLVE, "--estimator", "saga"], "exact gradient only"),
        (["solve", "TRAIN/..", *SOLVE], "holds no blocks"),
        (["solve", "mushrooms", *SOLVE, "--scheduler", "tcp://127.0.0.1:1"], "is no folder"),
        (["blocks", "write", "nowhere.svm", "TRAIN"], "holds blocks already"),
        (["blocks", "write", "nowhere.svm", "TRAIN/new"], "there is no file"),
    ],
)
def test_bad_input_is_one_sentence(train, capsys, arguments, sentence):
    assert main([argument.replace("TRAIN", str(train)) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
