"""The free intercept: outside of every set, exact in every engine, and the same as other people's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import bsfw
from bsfw.results import Status

LOSSES = {
    "Logistic": bsfw.Logistic,
    "LeastSquares": bsfw.LeastSquares,
    "Huber": bsfw.Huber,
    "Tukey": lambda A, y, **options: bsfw.Tukey(A, y, 4.0, **options),
    "SigmoidSquared": lambda A, y, **options: bsfw.SigmoidSquared(A, (y + 1) / 2, **options),
}


def data(seed: int = 0, m: int = 120, n: int = 10) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5
    y = np.where(A @ rng.standard_normal(n) + 1.5 + rng.standard_normal(m) > 0, 1.0, -1.0)
    return A, y, rng.uniform(0.5, 2.0, m)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_value_is_the_minimum_over_the_intercept(name: str, weighted: bool) -> None:
    A, y, weight = data()
    weight = weight if weighted else None
    free = LOSSES[name](A, y, intercept=True, sample_weight=weight)
    fixed = LOSSES[name](np.column_stack([A, np.ones(len(y))]), y, sample_weight=weight)
    x = np.random.default_rng(3).standard_normal(10) / 10
    b = free.fields(x)["intercept"]
    assert free.value(x) == pytest.approx(fixed.value(np.append(x, b)), rel=1e-12)
    near = scipy.optimize.minimize_scalar(lambda b: fixed.value(np.append(x, b)), bracket=(b - 0.1, b + 0.1), tol=1e-10)
    assert b == pytest.approx(near.x, abs=1e-6)
    np.testing.assert_allclose(free.gradient(x), fixed.gradient(np.append(x, b))[:-1], atol=1e-12)
    assert abs(fixed.gradient(np.append(x, b))[-1]) <= 1e-14


def test_the_intercepts_of_multinomial_have_sum_zero_and_no_slope() -> None:
    A, _, weight = data()
    y = np.random.default_rng(1).choice(["a", "b", "c"], 120, p=[0.6, 0.3, 0.1])
    free = bsfw.Multinomial(A, y, intercept=True, sample_weight=weight)
    fixed = bsfw.Multinomial(np.column_stack([A, np.ones(120)]), y, sample_weight=weight)
    x = np.random.default_rng(3).standard_normal((10, 3)) / 5
    b = free.fields(x)["intercept"]
    both = np.vstack([x, b])
    assert b.sum() == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(free.gradient(x), fixed.gradient(both)[:-1], atol=1e-12)
    np.testing.assert_allclose(fixed.gradient(both)[-1], 0.0, atol=1e-13)


RUNS: dict[str, dict[str, Any]] = {
    "corrective": {"method": "corrective"},
    "pairwise": {"method": "pairwise"},
    "boosted": {"method": "boosted", "step": "line-search"},
}


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("run", RUNS)
def test_every_exact_method_finds_the_solution_of_scikit_learn(run: str, form: str) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    A, y, weight = data()
    C = 0.2
    model = linear_model.LogisticRegression(C=C, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=200_000)
    model.fit(A, y, sample_weight=weight)
    ball = bsfw.L1Ball(float(np.abs(model.coef_).sum()))
    objective = bsfw.Logistic(A if form == "dense" else sp.csr_array(A), y, intercept=True, sample_weight=weight)
    tolerance = 1e-4 if run == "boosted" else 1e-7
    result = bsfw.minimize(objective, ball, gap_tol=tolerance, max_iter=20_000, **RUNS[run])
    assert result.status is Status.GAP_REACHED
    np.testing.assert_allclose(result.x, model.coef_[0], atol=6 * np.sqrt(tolerance))
    assert result.intercept == pytest.approx(model.intercept_[0], abs=6 * np.sqrt(tolerance))
    assert result.fun <= objective.value(model.coef_[0]) + tolerance
    if run == "corrective":
        assert result.multiplier == pytest.approx(1.0 / (C * weight.sum()), rel=1e-3)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "Tukey"])
@pytest.mark.parametrize("constraint", [bsfw.L1Ball(1.0), bsfw.Simplex(1.0), bsfw.KSparse(3, 0.5)], ids=str)
def test_the_gap_bounds_what_is_left(name: str, constraint: Any) -> None:
    A, y, weight = data(seed=2)
    objective = LOSSES[name](A, y, intercept=True, sample_weight=weight)
    result = bsfw.minimize(objective, constraint, gap_tol=1e-9, max_iter=500)
    assert result.status is Status.GAP_REACHED
    gradient = objective.gradient(result.x)
    assert gradient @ result.x - constraint.lmo(gradient).inner(gradient) <= 2e-9


@pytest.mark.parametrize("estimator", [bsfw.SAGA(20), bsfw.HeavyBall(20), bsfw.LSVRG(20), bsfw.JAGUAR()], ids=str)
def test_noisy_gradients_find_it_too_and_resume_to_the_same_bits(estimator: Any, tmp_path: Path) -> None:
    A, y, _ = data(m=300)
    objective, ball = bsfw.Logistic(A, y, intercept=True), bsfw.L1Ball(2.0)
    best = bsfw.minimize(objective, ball)
    options = dict(estimator=estimator, rng=0, record_every=100)
    result = bsfw.minimize(objective, ball, max_iter=2000, **options)
    assert result.fun - best.fun <= 2e-2
    assert result.intercept == pytest.approx(best.intercept, abs=0.3)
    path = tmp_path / "run.npz"
    with pytest.raises(RuntimeError):
        bsfw.minimize(objective, ball, max_iter=2000, checkpoint=path, every=701, callback=_fail_at(900), **options)
    again = bsfw.resume(path, bsfw.Logistic(A, y, intercept=True), ball)
    np.testing.assert_array_equal(again.x, result.x)


def _fail_at(nit: int) -> Any:
    def callback(result: Any) -> None:
        if result.nit == nit:
            raise RuntimeError

    return callback


def test_an_infinite_intercept_is_refused() -> None:
    A = np.eye(3)
    with pytest.raises(ValueError, match="best intercept is infinite"):
        bsfw.Logistic(A, np.ones(3), intercept=True)
    with pytest.raises(ValueError, match="best intercept is infinite"):
        bsfw.Logistic(A, [1.0, 1.0, -1.0], intercept=True, sample_weight=[1.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="best intercept is infinite"):
        bsfw.Multinomial(A, [0, 1, 2], intercept=True, sample_weight=[1.0, 1.0, 0.0])


def test_two_objectives_that_differ_in_the_intercept_are_two_problems() -> None:
    A, y, _ = data()
    assert bsfw.Logistic(A, y).fingerprint() != bsfw.Logistic(A, y, intercept=True).fingerprint()
