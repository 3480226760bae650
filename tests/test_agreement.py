"""Optimal values agree with other people's solvers."""

import numpy as np
import pytest

import bsfw

cp = pytest.importorskip("cvxpy", reason="needs cvxpy (the test extra)")


def data(seed=0, m=40, n=8):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n))
    return A, A @ (rng.standard_normal(n) * (rng.random(n) > 0.4)) + 0.3 * rng.standard_normal(m)


def assert_optimal(objective, constraint, best, gap_tol=1e-4):
    """The run ends feasible with a certified gap, and the other solver's optimum lies where the certificate says."""
    result = bsfw.minimize(objective, constraint, step="line-search", gap_tol=gap_tol, max_iter=20_000)
    assert result.success, result.message
    assert constraint.contains(result.x)
    assert best - 1e-6 <= result.fun <= best + gap_tol + 1e-6
    return result


def reference(expression, x, constraints):
    return cp.Problem(cp.Minimize(expression), constraints).solve(solver=cp.CLARABEL)


def test_logistic_on_the_l1_ball():
    A, z = data()
    y, x = np.sign(z), cp.Variable(8)
    best = reference(cp.sum(cp.logistic(-cp.multiply(y, A @ x))) / 40, x, [cp.norm1(x) <= 4])
    assert_optimal(bsfw.Logistic(A, y), bsfw.L1Ball(4.0), best)


def test_least_squares_on_the_simplex():
    A, b = data(1)
    x = cp.Variable(8)
    best = reference(cp.sum_squares(A @ x - b) / 80, x, [cp.sum(x) == 1.5, x >= 0])
    assert_optimal(bsfw.LeastSquares(A, b), bsfw.Simplex(1.5), best)


def test_huber_on_the_box():
    A, b = data(2)
    x = cp.Variable(8)
    best = reference(cp.sum(cp.huber(A @ x - b, 0.5)) / 80, x, [cp.abs(x) <= 0.4])
    assert_optimal(bsfw.Huber(A, b, delta=0.5), bsfw.LinfBall(0.4), best)


def test_least_squares_with_weights_and_intercept_on_the_euclidean_ball():
    A, b = data(3)
    weights = np.linspace(0.5, 2.0, 40)
    x = cp.Variable(9)
    residual = np.hstack([A, np.ones((40, 1))]) @ x - (b + 2.0)
    best = reference(
        cp.sum(cp.multiply(weights, cp.square(residual))) / (2 * weights.sum()), x, [cp.norm2(x[:8]) <= 1.0]
    )
    assert_optimal(bsfw.LeastSquares(A, b + 2.0, intercept=True, sample_weight=weights), bsfw.L2Ball(1.0), best)


def test_matrix_regression_on_the_nuclear_ball():
    rng = np.random.default_rng(4)
    target = rng.standard_normal((5, 4))
    X = cp.Variable((5, 4))
    best = reference(cp.sum_squares(X - target) / 2, X, [cp.normNuc(X) <= 2.0])
    objective = bsfw.Quadratic(1.0, -target, 0.5 * np.sum(target**2), shape=(5, 4))
    assert_optimal(objective, bsfw.NuclearBall(2.0), best)


def test_hermitian_problem_on_the_spectraplex():
    rng = np.random.default_rng(5)
    G = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    target = (G + G.conj().T) / 2
    X = cp.Variable((4, 4), hermitian=True)
    best = reference(cp.sum_squares(X - target) / 2, X, [X >> 0, cp.real(cp.trace(X)) == 1])
    objective = bsfw.Quadratic(1.0, -target, 0.5 * np.sum(np.abs(target) ** 2), shape=(4, 4))
    assert_optimal(objective, bsfw.Spectraplex(), best)


def test_multinomial_on_the_l1_ball():
    A, _ = data(6)
    labels = np.random.default_rng(6).integers(0, 3, 40)
    X = cp.Variable((8, 3))
    Z = A @ X
    loss = (cp.sum(cp.log_sum_exp(Z, axis=1)) - sum(Z[i, labels[i]] for i in range(40))) / 40
    best = reference(loss, X, [cp.sum(cp.abs(X)) <= 3.0])
    assert_optimal(bsfw.Multinomial(A, labels), bsfw.L1Ball(3.0), best)


def test_l1_logistic_matches_scikit_learn_at_its_own_radius():
    from sklearn.linear_model import LogisticRegression

    A, z = data(7, m=100)
    y = np.where(z > 0, 1.0, -1.0)
    model = LogisticRegression(C=0.5, l1_ratio=1.0, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000)
    x = model.fit(A, y).coef_[0]
    objective = bsfw.Logistic(A, y)
    ours = assert_optimal(objective, bsfw.L1Ball(np.abs(x).sum()), objective.value(x), gap_tol=1e-5)
    np.testing.assert_allclose(ours.x, x, atol=1e-2)


def test_a_nonconvex_run_ends_at_a_point_that_scipy_cannot_improve():
    from scipy.optimize import LinearConstraint, minimize

    A, b = data(8)
    b[:4] += 30.0  # outliers, which Tukey's loss ignores
    objective, simplex = bsfw.Tukey(A, b), bsfw.Simplex(2.0)
    ours = bsfw.minimize(objective, simplex, step="line-search", gap_tol=1e-5, max_iter=50_000)
    assert ours.success
    polished = minimize(
        objective.value, ours.x, jac=objective.gradient, bounds=[(0, None)] * 8, method="SLSQP",
        constraints=LinearConstraint(np.ones(8), 2.0, 2.0),
    )  # fmt: skip
    assert ours.fun <= polished.fun + 2e-5
