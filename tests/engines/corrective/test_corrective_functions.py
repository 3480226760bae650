"""The corrective method on any f with a gradient: Hessian products, L-BFGS, and every kind of atom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bsfw
from bsfw.engines.corrective.functions import Atoms, Model, Smooth
from bsfw.engines.corrective.outer import Point
from bsfw.results import Status
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule

N = 12
RNG = np.random.default_rng(4)
ROWS, SHIFT = RNG.standard_normal((30, N)), RNG.standard_normal(N)


def quadratic() -> bsfw.Quadratic:
    return bsfw.Quadratic(ROWS.T @ ROWS / 30 + 0.1 * np.eye(N), SHIFT)


def value(x: Any) -> float:
    return float(np.logaddexp(0.0, ROWS @ x).mean() + 0.05 * x @ x + SHIFT @ x / 5)


def slope(x: Any) -> Any:
    return ROWS.T @ (1.0 / (1.0 + np.exp(-ROWS @ x))) / 30 + 0.1 * x + SHIFT / 5


def bend(x: Any, p: Any) -> Any:
    s = 1.0 / (1.0 + np.exp(-ROWS @ x))
    return ROWS.T @ (s * (1.0 - s) * (ROWS @ p)) / 30 + 0.1 * p


OBJECTIVES = {
    "quadratic": quadratic,
    "function": lambda: bsfw.Function(value, slope, shape=N, quasar_rho=1.0),
    "function with hessp": lambda: bsfw.Function(value, slope, hessp=bend, shape=N, quasar_rho=1.0),
    "nonconvex for all it knows": lambda: bsfw.Function(value, slope, shape=N),
}
GROUPS = np.arange(N).reshape(-1, 3)
SETS = {
    "l1": bsfw.L1Ball(1.5),
    "simplex": bsfw.Simplex(1.3),
    "k-sparse": bsfw.KSparse(3, 0.5),
    "polytope": bsfw.Polytope(A_ub=RNG.standard_normal((8, N)), b_ub=np.ones(8), bounds=(-1.0, 1.0)),
    "hull": bsfw.ConvexHull(RNG.standard_normal((30, N))),
    "groups": bsfw.GroupBall(GROUPS, 1.5),
    "product": bsfw.Product([(bsfw.Simplex(), 4), (bsfw.L1Ball(0.7), 5), (bsfw.KSparse(2, 0.3), 3)]),
}


def optimum(name: str, of: str) -> float:
    """By cvxpy."""
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(N)
    inside = {
        "l1": [cp.norm1(x) <= 1.5],
        "simplex": [x >= 0, cp.sum(x) == 1.3],
        "k-sparse": [cp.norm1(x) <= 1.5, cp.norm_inf(x) <= 0.5],
        "groups": [sum(cp.norm(x[group]) for group in GROUPS) <= 1.5],
        "product": [
            x[:4] >= 0, cp.sum(x[:4]) == 1, cp.norm1(x[4:9]) <= 0.7, cp.norm1(x[9:]) <= 0.6, cp.norm_inf(x[9:]) <= 0.3,
        ],
    }[name]  # fmt: skip
    if of == "quadratic":
        f = cp.quad_form(x, ROWS.T @ ROWS / 30 + 0.1 * np.eye(N)) / 2 + SHIFT @ x
    else:
        f = cp.sum(cp.logistic(ROWS @ x)) / 30 + 0.05 * cp.sum_squares(x) + SHIFT @ x / 5
    return float(cp.Problem(cp.Minimize(f), inside).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("name", ["l1", "simplex", "k-sparse", "groups", "product"])
@pytest.mark.parametrize("of", ["quadratic", "function"])
def test_the_optimum_is_that_of_cvxpy_and_the_gap_bounds_the_error(of: str, name: str) -> None:
    best = optimum(name, of)
    for gap_tol in (1e-2, 1e-9):
        result = bsfw.minimize(OBJECTIVES[of](), SETS[name], method="corrective", gap_tol=gap_tol, max_iter=100)
        assert result.status is Status.GAP_REACHED
        assert SETS[name].contains(result.x, 1e-9)
        assert -1e-7 <= result.fun - best <= result.gap + 1e-7


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("of", OBJECTIVES)
def test_every_model_reaches_a_tiny_exact_gap_on_every_set(of: str, name: str) -> None:
    objective, constraint = OBJECTIVES[of](), SETS[name]
    result = bsfw.minimize(objective, constraint, method="corrective", gap_tol=1e-9, max_iter=60)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x, 1e-9)
    g = objective.gradient(result.x)
    assert g @ result.x - constraint.lmo(g).inner(g) <= 1e-9
    np.testing.assert_allclose(result.active_set.point(), result.x, atol=1e-12)


def test_a_quadratic_takes_one_newton_step_per_active_set_and_each_product_once() -> None:
    result = bsfw.minimize(quadratic(), bsfw.Simplex(), method="corrective", gap_tol=1e-10)
    assert result.nit <= 4
    assert result.sample_gradients <= 2 * N + 5 * result.nit  # a product for each vertex that ever joined


def test_the_optimal_value_may_be_zero_or_negative() -> None:
    target = np.full(N, 1.0 / N)
    zero = bsfw.Quadratic(1.0, -target, 0.5 * float(target @ target))
    result = bsfw.minimize(zero, bsfw.Simplex(), method="corrective")
    assert result.status is Status.CONVERGED
    assert abs(result.fun) <= 1e-14
    low = bsfw.minimize(bsfw.Quadratic(1.0, -target, -3.0), bsfw.Simplex(), method="corrective")
    assert low.status is Status.CONVERGED
    np.testing.assert_allclose(low.x, target, atol=1e-9)


def test_a_complex_variable_is_corrected_by_its_real_and_imaginary_parts() -> None:
    target = np.diag([0.5, 0.3, 0.2]) + 0.05j * (np.tri(3, k=-1) - np.tri(3, k=-1).T)
    result = bsfw.minimize(
        bsfw.Quadratic(1.0, -target), bsfw.Spectraplex(1.0),
        method="corrective", gap_tol=1e-10,
    )  # fmt: skip
    assert result.status is Status.GAP_REACHED
    np.testing.assert_allclose(result.x, target, atol=1e-5)  # target is a density matrix


@pytest.mark.parametrize("of", ["quadratic", "function", "function with hessp"])
@pytest.mark.parametrize("name", ["l1", "polytope"])
def test_a_run_is_resumed_to_the_same_bits(of: str, name: str, tmp_path: Path) -> None:
    def fresh() -> Solver:
        return Solver(OBJECTIVES[of](), SETS[name], method="corrective")

    solver = fresh()
    whole = solver.run(solver.init(), Limits(max_iter=5), Schedule(record_every=1))
    bsfw.minimize(
        OBJECTIVES[of](), SETS[name], method="corrective", max_iter=2, gap_tol=0.0, checkpoint=tmp_path / "run.npz"
    )
    resumed = bsfw.resume(tmp_path / "run.npz", OBJECTIVES[of](), SETS[name], max_iter=5)
    np.testing.assert_array_equal(resumed.x, whole.x)


def test_vertices_with_few_nonzeros_stay_sparse() -> None:
    n = 100_000
    objective = bsfw.Function(
        lambda x: 0.5 * float(x @ x) - x[7], lambda x: x - (np.arange(n) == 7), shape=n, quasar_rho=1.0
    )
    solver = Solver(objective, bsfw.L1Ball(0.5), method="corrective")
    state = solver.init()
    result = solver.run(state, Limits(max_iter=10, gap_tol=1e-9), Schedule(record_every=1))
    assert result.status is Status.GAP_REACHED
    assert solver.engine(state)._images.array.nnz <= 20  # a dense array would have 100,000 numbers for each atom


# The models.


def atoms(outer: Smooth, points: np.ndarray) -> Atoms:
    return outer.stack([str(k) for k in range(points.shape[1])], list(points.T.copy()))


@pytest.mark.parametrize("exact", [False, True])
def test_the_compact_model_is_that_of_bfgs_updates_one_after_the_other(exact: bool) -> None:
    Q = quadratic().Q
    outer = Smooth(OBJECTIVES["function with hessp" if exact else "function"](), (N,))
    pairs = [(s, Q @ s + 0.01 * RNG.standard_normal(N)) for s in RNG.standard_normal((4, N))]
    z = RNG.standard_normal(N)
    H = np.column_stack([bend(z, e) for e in np.eye(N)]) if exact else 0.7 * np.eye(N)
    model = Model(z if exact else None, 1.0 if exact else 0.7, pairs)
    for s, y in pairs:
        H = H - np.outer(H @ s, H @ s) / (s @ H @ s) + np.outer(y, y) / (s @ y)
    V = RNG.standard_normal((N, 5))
    found = outer.gram(atoms(outer, V), model)
    assert found is not None
    np.testing.assert_allclose(found, V.T @ H @ V, rtol=1e-8, atol=1e-9)


def test_a_step_without_curvature_teaches_nothing() -> None:
    outer, zero = Smooth(OBJECTIVES["function"](), (N,)), np.zeros(N)
    outer.learn(Point(zero, zero, zero), Point(zero, np.ones(N), -np.ones(N)))  # concave
    outer.learn(Point(zero, zero, zero), Point(zero, np.ones(N), zero))  # linear
    assert outer.model(zero, None) is None
    outer.learn(Point(zero, zero, zero), Point(zero, np.ones(N), 2.0 * np.ones(N)))
    model = outer.model(zero, None)
    assert model is not None
    assert model.scale == pytest.approx(2.0)


def test_the_products_of_a_hessian_are_counted_and_checked() -> None:
    objective = OBJECTIVES["function with hessp"]()
    x, p = RNG.standard_normal((2, N))
    np.testing.assert_allclose(
        objective.hessian_product(x, p), (slope(x + 1e-6 * p) - slope(x - 1e-6 * p)) / 2e-6, rtol=1e-6
    )
    assert objective.counts.sample_gradients == 1
    wrong = bsfw.Function(value, slope, hessp=lambda x, p: p[:2], shape=N)
    with pytest.raises(ValueError, match="hessp must return an array of shape"):
        wrong.hessian_product(x, p)
    with pytest.raises(ValueError, match="give hessp"):
        OBJECTIVES["function"]().hessian_product(x, p)
