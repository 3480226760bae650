"""The corrective method for several classes: other people's optima, a true gap, and the same bits on resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import bsfw
from bsfw.engines.corrective.classes import DenseClasses, DenseColumns, Shares, SparseColumns
from bsfw.engines.corrective.images import SparseImages
from bsfw.results import Status

SETS: dict[str, Any] = {
    "l1": bsfw.L1Ball(3.0),
    "simplex": bsfw.Simplex(3.0),
    "solid simplex": bsfw.Simplex(3.0, equality=False),
    "k-sparse": bsfw.KSparse(3, 1.0),
}


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((80, 7)) * (rng.random((80, 7)) < 0.7)
    scores = A[:, :3] @ rng.standard_normal((3, 3)) + np.array([0.8, 0.0, -0.5]) + 0.7 * rng.standard_normal((80, 3))
    return A, np.array(["ash", "beech", "cedar"])[scores.argmax(axis=1)], rng.uniform(0.5, 2.0, 80)


def by_cvxpy(A: np.ndarray, y: np.ndarray, w: np.ndarray, name: str, intercept: bool) -> float:
    cp = pytest.importorskip("cvxpy")
    X, b, constraint = cp.Variable((A.shape[1], 3)), cp.Variable((1, 3)), SETS[name]
    z = A @ X + np.ones((len(y), 1)) @ b
    own = cp.sum(cp.multiply(np.eye(3)[np.unique(y, return_inverse=True)[1]], z), axis=1)
    feasible = [] if intercept else [b == 0]
    if name == "l1":
        feasible += [cp.sum(cp.abs(X)) <= 3.0]
    elif name == "k-sparse":
        feasible += [cp.sum(cp.abs(X)) <= 3.0 * constraint.radius, cp.max(cp.abs(X)) <= constraint.radius]
    else:
        feasible += [X >= 0, cp.sum(X) == 3.0 if name == "simplex" else cp.sum(X) <= 3.0]
    problem = cp.Problem(cp.Minimize(w @ (cp.log_sum_exp(z, axis=1) - own) / w.sum()), feasible)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True], ids=["bare", "intercept"])
@pytest.mark.parametrize("name", SETS)
def test_without_settings_the_optimum_is_that_of_cvxpy(name: str, intercept: bool, sparse: bool) -> None:
    A, y, w = data()
    form, constraint = sp.csr_array(A) if sparse else A, SETS[name]
    objective = bsfw.Multinomial(form, y, intercept=intercept, sample_weight=w)
    result = bsfw.minimize(objective, constraint)
    assert (result.method, result.status) == ("corrective", Status.CONVERGED)
    assert result.fun == pytest.approx(by_cvxpy(A, y, w, name, intercept), abs=1e-8)
    assert constraint.contains(result.x)
    gradient = objective.gradient(result.x)
    assert result.gap >= np.vdot(gradient, result.x) - constraint.lmo(gradient).inner(gradient)
    if intercept:
        assert result.intercept.sum() == pytest.approx(0.0, abs=1e-12)
        assert np.abs(result.intercept).max() > 0.05


def test_the_multiplier_is_the_penalty_of_scikit_learn_with_the_same_coefficients() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    A, y, _ = data()
    result = bsfw.minimize(bsfw.Multinomial(A, y), bsfw.L1Ball(3.0))
    model = linear_model.LogisticRegression(
        l1_ratio=1.0, C=1.0 / (len(y) * result.multiplier), solver="saga", fit_intercept=False, tol=1e-10,
        max_iter=20_000,
    ).fit(A, y)  # fmt: skip
    assert model.classes_.tolist() == ["ash", "beech", "cedar"]
    np.testing.assert_allclose(result.x, model.coef_.T, atol=1e-6)


def test_the_reference_engine_approaches_it_from_above() -> None:
    A, y, _ = data()
    objective, ball = bsfw.Multinomial(A, y, intercept=True), bsfw.L1Ball(3.0)
    best = bsfw.minimize(objective, ball)
    slow = bsfw.minimize(objective, ball, method="boosted", step="line-search", max_iter=300)
    assert best.fun - 1e-12 <= slow.fun <= best.fun + 1e-3
    assert slow.fun - best.fun <= slow.gap + 1e-12


@pytest.mark.parametrize("name", ["l1", "k-sparse"])
def test_a_run_resumes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    A, y, _ = data()
    objective, constraint = bsfw.Multinomial(sp.csr_array(A), y, intercept=True), SETS[name]
    whole = bsfw.minimize(objective, constraint, max_iter=4, gap_tol=0.0)
    bsfw.minimize(objective, constraint, max_iter=2, gap_tol=0.0, checkpoint=tmp_path / "run.npz")
    resumed = bsfw.resume(tmp_path / "run.npz", objective, constraint, max_iter=4)
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_the_three_forms_of_images_agree_with_the_hessian() -> None:
    rng = np.random.default_rng(2)
    columns, classes = rng.standard_normal((9, 5)) * (rng.random((9, 5)) < 0.6), np.array([2, 0, 1, 0, 2])
    p, weights = rng.dirichlet(np.ones(3), 9), rng.uniform(0.1, 1.0, 9)
    array = columns[:, None, :] * (classes == np.arange(3)[:, None])
    hessians = [w * (np.diag(q) - np.outer(q, q)) for q, w in zip(p, weights, strict=True)]
    gram = sum(B.T @ H @ B for B, H in zip(array, hessians, strict=True))
    x, z = rng.standard_normal(5), rng.standard_normal((9, 3))
    for images in (
        DenseClasses(array),
        DenseColumns(columns, classes, 3),
        SparseColumns(SparseImages.of(sp.csr_array(columns)), classes, 3),
    ):
        np.testing.assert_allclose(images.gram(Shares(p, weights)), gram, atol=1e-14)
        np.testing.assert_allclose(images.times(x), (array @ x).ravel(), atol=1e-14)
        np.testing.assert_allclose(images.adjoint(z.ravel()), np.einsum("ick,ic->k", array, z) / 9, atol=1e-14)
