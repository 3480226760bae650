"""Bad input: each has its own sentence, which says what was given and what is accepted."""

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw

A = np.eye(4, 3)
Y = np.array([1.0, -1.0, 1.0, -1.0])
LOGISTIC = bsfw.Logistic(A, Y)
BALL = bsfw.L1Ball(1.0)
NAN = A.copy()
NAN[1, 1] = np.nan
INF = sp.csr_array(np.where(np.isnan(NAN), np.inf, NAN))

CASES = {
    "nan in the data": (lambda: bsfw.Logistic(NAN, Y), "NaN or infinite"),
    "inf in sparse data": (lambda: bsfw.Logistic(INF, Y), "NaN or infinite"),
    "labels": (lambda: bsfw.Logistic(A, [0, 1, 2, 0]), r"two kinds"),
    "empty data": (lambda: bsfw.Logistic(np.zeros((0, 3)), []), "no rows|empty|at least one"),
    "lengths": (lambda: bsfw.Logistic(A, Y[:3]), "3.*4|4.*3"),
    "radius zero": (lambda: bsfw.L1Ball(0.0), "positive"),
    "radius negative": (lambda: bsfw.NuclearBall(-1.0), "positive"),
    "radius nan": (lambda: bsfw.L2Ball(np.nan), "positive"),
    "batch zero": (lambda: bsfw.minimize(LOGISTIC, BALL, estimator=bsfw.SAGA(batch_size=0)), "between 1 and"),
    "batch too large": (lambda: bsfw.minimize(LOGISTIC, BALL, estimator=bsfw.SAGA(batch_size=5)), "samples, 4, got 5"),
    "set of another shape": (lambda: bsfw.minimize(LOGISTIC, bsfw.Birkhoff(3)), r"\(3, 3\)"),
    "matrix set for a vector": (lambda: bsfw.minimize(LOGISTIC, bsfw.NuclearBall(1.0)), "matri"),
    "x0 of another shape": (lambda: bsfw.minimize(LOGISTIC, BALL, x0=np.zeros(4)), r"\(4,\).*\(3,\)"),
    "x0 outside": (lambda: bsfw.minimize(LOGISTIC, BALL, x0=np.ones(3)), "outside"),
    "x0 nan": (lambda: bsfw.minimize(LOGISTIC, BALL, x0=[np.nan, 0, 0]), "x0"),
    "x0 complex": (lambda: bsfw.minimize(LOGISTIC, BALL, x0=np.zeros(3) + 0j), "complex"),
    "coordinate estimator": (
        lambda: bsfw.minimize(np.sum, BALL, jac=np.ones_like, x0=np.zeros(3), estimator=bsfw.SEGA()),
        "partial derivatives",
    ),
    "sag": (lambda: bsfw.minimize(bsfw.Quadratic(np.eye(3)), BALL, estimator=bsfw.SAG()), "linear model"),
    "rounds zero": (lambda: bsfw.minimize(LOGISTIC, BALL, max_rounds=0), "max_rounds.*at least 1"),
    "rounds fraction": (lambda: bsfw.minimize(LOGISTIC, BALL, max_rounds=2.5), "max_rounds"),
    "delta zero": (lambda: bsfw.minimize(LOGISTIC, BALL, min_gain=0.0), r"\]0, 1\]"),
    "delta above one": (lambda: bsfw.minimize(LOGISTIC, BALL, min_gain=1.1), r"\]0, 1\]"),
    "iterations": (lambda: bsfw.minimize(LOGISTIC, BALL, max_iter=0), "max_iter"),
    "seconds": (lambda: bsfw.minimize(LOGISTIC, BALL, max_seconds=-1.0), "max_seconds"),
    "gap": (lambda: bsfw.minimize(LOGISTIC, BALL, gap_tol=-1.0), "gap_tol"),
    "record": (lambda: bsfw.minimize(LOGISTIC, BALL, record_every=0), "record_every"),
    "decay": (lambda: bsfw.minimize(LOGISTIC, BALL, decay="fast"), "anytime"),
    "step": (lambda: bsfw.minimize(LOGISTIC, BALL, step="fast"), "line-search"),
    "no gradient": (lambda: bsfw.minimize(np.sum, BALL, x0=np.zeros(3)), "jac="),
    "no shape": (lambda: bsfw.minimize(np.sum, BALL, jac=np.ones_like), "x0="),
    "jac twice": (lambda: bsfw.minimize(LOGISTIC, BALL, jac=np.ones_like), "jac="),
    "gradient of another shape": (
        lambda: bsfw.minimize(np.sum, BALL, jac=lambda x: np.ones(2), x0=np.zeros(3)),
        "shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_values_give_one_sentence(case):
    call, words = CASES[case]
    with pytest.raises(ValueError, match=words) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


TYPES = {
    "constraint": (lambda: bsfw.minimize(LOGISTIC, 50.0), "bsfw.L1Ball"),
    "oracle": (lambda: bsfw.minimize(LOGISTIC, lambda g: g), "bsfw.Oracle"),
    "fun": (lambda: bsfw.minimize(3.0, BALL), "bsfw.Logistic"),
    "estimator": (lambda: bsfw.minimize(LOGISTIC, BALL, estimator="saga"), "bsfw.SAGA"),
    "decay": (lambda: bsfw.minimize(LOGISTIC, BALL, decay=0.1), "decay"),
    "step": (lambda: bsfw.minimize(LOGISTIC, BALL, step=0.1), "step"),
}


@pytest.mark.parametrize("case", TYPES)
def test_bad_types_give_one_sentence(case):
    call, words = TYPES[case]
    with pytest.raises(TypeError, match=words):
        call()
