"""The corrective method: against other people's solvers, on every loss and set, and on inputs at the edge."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.engines.corrective.correction import Corrector, Region
from bsfw.engines.corrective.engine import CorrectiveEngine
from bsfw.engines.corrective.general import HullEngine
from bsfw.objectives.completion import MatrixCompletion
from bsfw.results import Result, Status
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule, State

LOSSES = {
    "logistic": bsfw.Logistic,
    "least-squares": bsfw.LeastSquares,
    "huber": bsfw.Huber,
    "tukey": bsfw.Tukey,
    "sigmoid-squared": bsfw.SigmoidSquared,
}
N = 12


def data(m: int = 60, n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.6)
    weights = np.where(np.arange(n) < 4, rng.standard_normal(n), 0.0)
    return A, A @ weights + 0.3 * rng.standard_normal(m)


def objective(loss: str, A: Any, y: np.ndarray, **options: Any) -> Any:
    labels = {"logistic": np.where(y > 0, 1.0, -1.0), "sigmoid-squared": (y > 0).astype(float)}
    return LOSSES[loss](A, labels.get(loss, y), **options)


def sets(n: int = N) -> dict[str, Any]:
    return {
        "l1": bsfw.L1Ball(1.3),
        "weighted l1": bsfw.L1Ball(1.3, weights=np.linspace(0.5, 2.0, n)),
        "simplex": bsfw.Simplex(1.3),
        "solid simplex": bsfw.Simplex(1.3, equality=False),
    }


def begin(problem: Any, constraint: Any, x0: Any = None) -> tuple[Solver, State]:
    solver = Solver(problem, constraint, method="corrective")
    return solver, solver.init(x0=x0)


def engine_of(solver: Solver, state: State) -> Any:
    return solver.engine(state)


def solve(problem: Any, constraint: Any, gap_tol: float = 1e-10, max_iter: int = 100, x0: Any = None) -> Result:
    solver, state = begin(problem, constraint, x0)
    return solver.run(state, Limits(max_iter=max_iter, gap_tol=gap_tol), Schedule(record_every=1))


def by_cvxpy(loss: str, A: np.ndarray, y: np.ndarray, constraint: Any) -> float:
    cp = pytest.importorskip("cvxpy")
    x = cp.Variable(A.shape[1])
    margins, m = A @ x, len(y)
    value = {
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(np.where(y > 0, 1.0, -1.0), margins))) / m,
        "least-squares": lambda: cp.sum_squares(margins - y) / (2 * m),
        "huber": lambda: cp.sum(cp.huber(margins - y, 1.0)) / (2 * m),
    }[loss]()
    if isinstance(constraint, bsfw.Simplex):
        total = cp.sum(x) == constraint.radius if constraint.equality else cp.sum(x) <= constraint.radius
        feasible = [x >= 0, total]
    else:
        weights = np.ones(A.shape[1]) if constraint.weights is None else constraint.weights
        feasible = [cp.norm1(cp.multiply(weights, x)) <= constraint.radius]
    problem = cp.Problem(cp.Minimize(value), feasible)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value)


@pytest.mark.parametrize("name", list(sets()))
@pytest.mark.parametrize("loss", ["logistic", "least-squares", "huber"])
def test_the_optimum_is_that_of_cvxpy(loss: str, name: str) -> None:
    A, y = data()
    constraint = sets()[name]
    result = solve(objective(loss, A, y), constraint)
    assert result.status is Status.GAP_REACHED
    assert result.fun == pytest.approx(by_cvxpy(loss, A, y, constraint), abs=1e-8)
    assert constraint.contains(result.x, 1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse", "by columns", "float32"])
@pytest.mark.parametrize("name", list(sets()))
@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_reaches_a_tiny_exact_gap_on_every_set(loss: str, name: str, form: str) -> None:
    A, y = data()
    data_form = {"dense": A, "float32": sp.csr_array(A.astype(np.float32))}.get(form, sp.csr_array(A))
    problem, constraint = objective(loss, data_form, y), sets()[name]
    if form == "by columns":
        _ = problem.columns
    tolerance = 1e-5 if form == "float32" else 1e-9
    result = solve(problem, constraint, tolerance)
    assert result.status is Status.GAP_REACHED
    gradient = problem.gradient(result.x)
    gap = float(gradient @ result.x) - constraint.lmo(gradient).inner(gradient)
    assert gap <= 2 * tolerance  # by the objective's own gradient and the set's own oracle
    assert constraint.contains(result.x, 1e-6 if form == "float32" else 1e-9)


@pytest.mark.parametrize("name", list(sets()))
def test_every_iterate_is_feasible_and_f_never_rises(name: str) -> None:
    A, y = data(seed=3)
    problem, constraint = objective("logistic", sp.csr_array(A), y), sets()[name]
    seen: list[np.ndarray] = []
    solver, state = begin(problem, constraint)
    solver.run(
        state, Limits(max_iter=20, gap_tol=1e-11), Schedule(record_every=1), callback=lambda r: seen.append(r.x.copy())
    )
    assert len(seen) > 2
    assert max(constraint.violation(x) for x in seen) <= 1e-9
    values = [problem.value(x) for x in seen]
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


def test_samples_with_weights_count_as_often() -> None:
    A, y = data()
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = solve(objective("logistic", A, y, sample_weight=counts), bsfw.L1Ball(1.0))
    repeated = solve(objective("logistic", np.repeat(A, counts, axis=0), np.repeat(y, counts)), bsfw.L1Ball(1.0))
    np.testing.assert_allclose(weighted.x, repeated.x, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_multiplier_is_the_penalty_with_the_same_solution(sparse: bool) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    A, y = data()
    A = sp.csr_array(A) if sparse else A
    lasso = solve(bsfw.LeastSquares(A, y), bsfw.L1Ball(1.0))
    model = linear_model.Lasso(alpha=lasso.multiplier, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(A, y)
    np.testing.assert_allclose(lasso.x, model.coef_, atol=1e-6)
    labels = np.where(y > 0, 1.0, -1.0)
    logistic = solve(bsfw.Logistic(A, labels), bsfw.L1Ball(2.0))
    model = linear_model.LogisticRegression(
        C=1.0 / (logistic.multiplier * len(y)), l1_ratio=1.0, solver="liblinear", tol=1e-9, max_iter=10_000,
        fit_intercept=False, random_state=0,
    ).fit(A, labels)  # fmt: skip
    np.testing.assert_allclose(logistic.x, model.coef_[0], atol=1e-5)


def test_the_multiplier_is_zero_inside_and_the_slope_of_the_optimal_value() -> None:
    A, y = data()
    problem = bsfw.LeastSquares(A, y)
    assert solve(problem, bsfw.L1Ball(1e3)).multiplier == pytest.approx(0.0, abs=1e-12)
    for make in (bsfw.L1Ball, bsfw.Simplex, lambda r: bsfw.L1Ball(r, weights=np.linspace(0.5, 2.0, N))):
        around = [solve(problem, make(radius), 1e-13).fun for radius in (0.999, 1.001)]
        expected = (around[0] - around[1]) / 0.002
        assert solve(problem, make(1.0), 1e-13).multiplier == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_without_a_gram_matrix_it_is_the_same_optimum(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = data(80, 40, seed=5)
    for constraint in sets(40).values():
        with_gram = solve(objective(loss, sp.csr_array(A), y), constraint, 1e-9)
        with monkeypatch.context() as patch:
            patch.setattr("bsfw.engines.corrective.oracle.SMALL_GRAM", 0)
            patch.setattr("bsfw.engines.corrective.oracle.LARGE_GRAM", 0)
            without = solve(objective(loss, sp.csr_array(A), y), constraint, 1e-7, 300)
        assert without.status is Status.GAP_REACHED
        assert without.fun == pytest.approx(with_gram.fun, abs=2e-7)


@pytest.mark.parametrize("name", ["l1", "weighted l1", "simplex"])
def test_columns_fetched_ahead_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    A = sp.random_array((150, 900), density=0.05, rng=rng, format="csr")
    labels = np.where(A @ np.where(np.arange(900) < 20, 1.0, 0.0) > 0.1, 1.0, -1.0)
    fetched: list[int] = []
    found = []
    for spare in (1000, 0, 30):  # all the data, nothing ahead, and a little
        monkeypatch.setattr("bsfw.engines.corrective.engine.SPARE", spare)
        solver, state = begin(bsfw.Logistic(A, labels), sets(900)[name])
        found.append(solver.run(state, Limits(max_iter=8), Schedule(record_every=1)).x)
        assert isinstance(solver.engine(state), CorrectiveEngine)
        fetched.append(len(solver.engine(state)._pool))
    assert fetched[0] == 0 < fetched[1] < fetched[2] < 900
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


# Any polytope.


def polytopes() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    return {
        "k-sparse": bsfw.KSparse(3, 1.0),
        "polytope": bsfw.Polytope(A_ub=rng.standard_normal((8, N)), b_ub=np.ones(8), bounds=(-1.0, 1.0)),
        "hull": bsfw.ConvexHull(rng.standard_normal((30, N))),
        "box": bsfw.LinfBall(0.2),
    }


@pytest.mark.parametrize("name", list(polytopes()))
@pytest.mark.parametrize("loss", list(LOSSES))
def test_on_any_polytope_the_exact_gap_gets_tiny(loss: str, name: str) -> None:
    A, y = data()
    problem, constraint = objective(loss, sp.csr_array(A), y), polytopes()[name]
    result = solve(problem, constraint, 1e-8)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x, 1e-9)
    assert problem.gradient(result.x) @ (result.x - constraint.lmo(problem.gradient(result.x)).dense()) <= 2e-8


def test_on_the_birkhoff_polytope_it_is_the_projection_that_cvxpy_finds() -> None:
    cp = pytest.importorskip("cvxpy")
    n = 6
    target = np.random.default_rng(0).random((n, n))
    rows, cols = np.divmod(np.arange(n * n), n)
    problem = MatrixCompletion((rows, cols, target.ravel(), (n, n)), loss="squared")
    result = solve(problem, bsfw.Birkhoff(n), 1e-9, 300)
    x = cp.Variable((n, n))
    cp.Problem(cp.Minimize(cp.sum_squares(x - target)), [x >= 0, cp.sum(x, 0) == 1, cp.sum(x, 1) == 1]).solve(
        solver=cp.CLARABEL
    )
    assert result.status is Status.GAP_REACHED
    np.testing.assert_allclose(result.x, x.value, atol=1e-4)
    assert bsfw.Birkhoff(n).contains(result.x, 1e-9)


# The active set.


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 15),
    n=st.integers(1, 8),
    radius=st.floats(0.01, 1000.0),
    name=st.sampled_from(["l1", "weighted l1", "simplex", "solid simplex", "box", "k-sparse", "hull", "subclass"]),
    loss=st.sampled_from(["logistic", "least-squares", "tukey"]),
)
def test_x_is_the_combination_of_its_atoms_at_every_iterate_without_ghosts(
    seed: int, m: int, n: int, radius: float, name: str, loss: str
) -> None:
    rng = np.random.default_rng(seed)
    A, y = rng.integers(-2, 3, (m, n)).astype(float), rng.integers(-2, 3, m).astype(float)

    class Ball(bsfw.L1Ball):
        """Has one-hot vertices, but goes by its atoms' images."""

    constraint: Any = {
        "l1": lambda: bsfw.L1Ball(radius),
        "weighted l1": lambda: bsfw.L1Ball(radius, weights=rng.uniform(0.3, 3.0, n)),
        "simplex": lambda: bsfw.Simplex(radius),
        "solid simplex": lambda: bsfw.Simplex(radius, equality=False),
        "box": lambda: bsfw.LinfBall(radius),
        "k-sparse": lambda: bsfw.KSparse(min(2, n), radius),
        "hull": lambda: bsfw.ConvexHull(radius * rng.standard_normal((6, n))),
        "subclass": lambda: Ball(radius),
    }[name]()

    def check(result: Result) -> None:
        active = result.active_set
        np.testing.assert_allclose(active.point(), result.x, rtol=0, atol=1e-12 * max(1.0, radius))
        assert active.weights.min() > 0.0
        assert active.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert len(set(active.keys)) == len(active)
        assert constraint.contains(result.x, 1e-9)
        assert all(constraint.contains(atom.dense(), 1e-9) for atom in active.atoms)

    solver, state = begin(objective(loss, sp.csr_array(A), y), constraint)
    result = solver.run(state, Limits(max_iter=6, gap_tol=0.0), Schedule(record_every=1), callback=check)
    check(result)


def test_inside_the_ball_the_origin_carries_the_weight_that_is_left() -> None:
    A, y = data()
    result = solve(bsfw.LeastSquares(A, y), bsfw.L1Ball(100.0))
    atoms = dict(zip(result.active_set.atoms, result.active_set.weights, strict=True))
    (left,) = (weight for atom, weight in atoms.items() if not atom.dense().any())
    assert left == pytest.approx(1.0 - np.abs(result.x).sum() / 100.0, abs=1e-12)
    assert all(np.abs(atom.dense()).sum() in (0.0, 100.0) for atom in atoms)
    on_the_sphere = solve(bsfw.LeastSquares(A, y), bsfw.L1Ball(1.0))
    assert all(atom.dense().any() for atom in on_the_sphere.active_set.atoms)


def test_a_start_outside_within_rounding_is_moved_inside() -> None:
    A, y = data()
    x0 = np.full(N, 1.3 / N)
    x0[0] += 1e-10
    x0[1] = -1e-10  # what a caller's own arithmetic leaves
    x0[2] += 1.3 / N
    solver, state = begin(objective("logistic", A, y), bsfw.Simplex(1.3), x0)
    solver.engine(state).publish(state)
    assert state.x.min() >= 0.0
    assert state.x.sum() == pytest.approx(1.3, abs=1e-15)
    np.testing.assert_allclose(state.x, x0, atol=1e-9)


def test_few_atoms_are_left_on_a_polytope() -> None:
    A, y = data()
    result = solve(objective("logistic", A, y), bsfw.LinfBall(0.2), 1e-9, 50)
    assert result.status is Status.GAP_REACHED
    assert len(result.active_set) <= N + 1  # Caratheodory, for a solver that ends on faces


def test_the_engine_goes_by_the_set() -> None:
    A, y = data()
    problem = objective("logistic", A, y)
    assert isinstance(engine_of(*begin(problem, bsfw.L1Ball(1.0))), CorrectiveEngine)
    assert isinstance(engine_of(*begin(problem, bsfw.KSparse(2, 1.0))), HullEngine)

    class Narrow(bsfw.L1Ball):
        """A subclass may have changed anything."""

    assert isinstance(engine_of(*begin(problem, Narrow(1.0))), HullEngine)


# The same bits on resume.


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("name", ["l1", "simplex", "k-sparse"])
def test_a_run_that_was_stopped_ends_in_the_same_bits(name: str, by_columns: bool) -> None:
    A, y = data(200, 80, seed=2)
    constraint = (sets(80) | {"k-sparse": bsfw.KSparse(3, 1.0)})[name]

    def fresh(columns: bool) -> Any:
        problem = objective("logistic", sp.csr_array(A), y)
        if columns:
            _ = problem.columns
        return problem

    def go(solver: Solver, state: State, last: int) -> Result:
        return solver.run(state, Limits(max_iter=last), Schedule(record_every=1))

    whole = go(*begin(fresh(by_columns), constraint), 6)
    for stop in (1, 3, 5):
        solver, state = begin(fresh(by_columns), constraint)
        go(solver, state, stop)
        assert all(isinstance(part, np.ndarray) for part in state.memory.values())
        memory = {key: part.copy() for key, part in state.memory.items()}
        other = Solver(fresh(False), constraint, method="corrective")
        later = dataclasses.replace(state, memory=memory, x=state.x.copy())
        np.testing.assert_array_equal(go(other, later, 6).x, whole.x)


@pytest.mark.parametrize("constraint", [bsfw.L1Ball(1.3), bsfw.KSparse(5, 1.0)], ids=["l1", "k-sparse"])
def test_a_run_is_resumed_from_its_file_with_its_active_set(constraint: Any, tmp_path: Path) -> None:
    A, y = data(200, 80, seed=2)
    problem = objective("logistic", sp.csr_array(A), y)
    whole = bsfw.minimize(problem, constraint, method="corrective", gap_tol=1e-10)
    assert whole.nit > 3

    def crash(result: Result) -> None:
        if result.nit == 3:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        bsfw.minimize(
            problem, constraint, method="corrective", gap_tol=1e-10, checkpoint=tmp_path / "run.npz", every=2,
            record_every=1, callback=crash,
        )  # fmt: skip
    resumed = bsfw.resume(tmp_path / "run.npz", problem, constraint)
    assert resumed.status is Status.GAP_REACHED
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.active_set.weights, whole.active_set.weights)
    assert resumed.active_set.keys == whole.active_set.keys
    assert resumed.get("multiplier") == whole.get("multiplier")


# Inputs at the edge.


def edge_cases() -> dict[str, tuple[Any, np.ndarray, float]]:
    A, y = data()
    return {
        "duplicate columns": (np.hstack([A, A, A[:, :3]]), y, 1.3),
        "a zero column": (np.where(np.arange(N) % 3 == 0, 0.0, A), y, 1.3),
        "only zero columns": (np.zeros((5, 3)), y[:5], 1.3),
        "separable": (A, A @ np.arange(1.0, N + 1.0), 1000.0),
        "a radius beyond the optimum": (A, y, 1e3),
        "a huge radius": (*data(seed=2), 1e6),  # f is as good as piecewise linear
        "one sample": (A[:1], y[:1], 1.3),
        "one feature": (A[:, :1], y, 1.3),
        "one sample and one feature": (np.array([[2.0]]), np.array([3.0]), 1.0),
        "large numbers": (1e4 * A, 1e4 * y, 1.3),
        "small numbers": (1e-4 * A, y, 1.3),
    }


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["l1", "simplex", "solid simplex"])
@pytest.mark.parametrize("loss", ["logistic", "least-squares", "huber"])
@pytest.mark.parametrize("case", list(edge_cases()))
def test_edge_cases_end_at_the_optimum(case: str, loss: str, kind: str, sparse: bool) -> None:
    A, y, radius = edge_cases()[case]
    problem = objective(loss, sp.csr_array(A) if sparse else A, y)
    make: dict[str, Any] = {
        "l1": bsfw.L1Ball,
        "simplex": bsfw.Simplex,
        "solid simplex": lambda r: bsfw.Simplex(r, equality=False),
    }
    constraint = make[kind](radius)
    scale = max(1.0, problem.value(np.zeros(problem.shape)), problem.value(constraint.start(problem.shape).dense()))
    result = solve(problem, constraint, 1e-8 * scale, 60)
    assert result.status is Status.GAP_REACHED, (result.gap, scale)
    assert constraint.contains(result.x, 1e-9)
    assert np.isfinite(result.multiplier)


def test_a_gap_out_of_reach_ends_with_the_iterations() -> None:
    A, y = data()
    result = solve(objective("logistic", A, y), bsfw.L1Ball(1.0), 0.0, 12)
    assert result.status in (Status.ITERATIONS, Status.GAP_REACHED)
    assert result.gap <= 1e-13


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 12),
    n=st.integers(1, 8),
    radius=st.floats(0.01, 100.0),
    name=st.sampled_from(["l1", "weighted l1", "simplex", "solid simplex"]),
    loss=st.sampled_from(["logistic", "least-squares", "huber"]),
    start=st.booleans(),
)
def test_small_random_problems_are_solved_from_anywhere(
    seed: int, m: int, n: int, radius: float, name: str, loss: str, start: bool
) -> None:
    rng = np.random.default_rng(seed)
    A, y = rng.integers(-2, 3, (m, n)).astype(float), rng.integers(-2, 3, m).astype(float)
    constraint: Any = {
        "l1": lambda: bsfw.L1Ball(radius),
        "weighted l1": lambda: bsfw.L1Ball(radius, weights=rng.uniform(0.3, 3.0, n)),
        "simplex": lambda: bsfw.Simplex(radius),
        "solid simplex": lambda: bsfw.Simplex(radius, equality=False),
    }[name]()
    problem = objective(loss, sp.csr_array(A), y)
    x0 = None
    if start:
        shares = rng.dirichlet(np.ones(n))
        x0 = sum(share * constraint.lmo(rng.standard_normal(n)).dense() for share in shares)
        x0 = np.abs(x0) if name == "simplex" else x0
    start_vertex = constraint.start((n,)).dense()
    gradient = problem.gradient(start_vertex)
    scale = max(1.0, problem.value(start_vertex), gradient @ (start_vertex - constraint.lmo(gradient).dense()))
    result = solve(problem, constraint, 1e-8 * scale, 60, x0)
    assert result.status is Status.GAP_REACHED
    assert constraint.contains(result.x, 1e-9)


# Pieces and refusals.


@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_curvature_of_the_model_is_the_second_derivative_or_bounds_it(loss: str) -> None:
    rng = np.random.default_rng(0)
    z, y = 3 * rng.standard_normal(200), rng.standard_normal(200)
    problem = objective(loss, np.ones((200, 1)), y)
    h = 1e-5
    second = (problem._phi_prime(z + h, problem.y) - problem._phi_prime(z - h, problem.y)) / (2 * h)
    model = problem._phi_second(z, problem.y)
    assert model.min() >= 0
    assert model.max() <= 1 + 1e-12
    if loss in ("logistic", "least-squares"):
        np.testing.assert_allclose(model, second, atol=1e-9)
    elif loss == "huber":
        np.testing.assert_allclose(np.median(np.abs(model - second)), 0.0, atol=1e-9)
    elif loss == "tukey":
        assert (model >= second - 1e-9).all()
    else:
        at_target = problem._phi_second(np.array([0.3]), np.array([0.0]))
        s = 1 / (1 + np.exp(-0.3))
        assert at_target[0] == pytest.approx((s * (1 - s)) ** 2)


def test_a_loss_that_states_no_curvature_is_modelled_by_its_bound() -> None:
    class Pseudo(bsfw.LinearModel):
        """sqrt(1 + r^2) - 1."""

        quasar_rho = 1.0
        _curvature = 1.0

        def _phi(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
            return np.sqrt(1.0 + np.square(z - y)) - 1.0

        def _phi_prime(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
            return (z - y) / np.sqrt(1.0 + np.square(z - y))

    A, y = data()
    assert solve(Pseudo(A, y), bsfw.L1Ball(1.0), 1e-9, 300).status is Status.GAP_REACHED


def test_the_gap_of_a_region_is_that_of_its_vertices() -> None:
    rng = np.random.default_rng(4)
    g, weights = rng.standard_normal(5), rng.uniform(0.5, 2.0, 5)
    for signed, equal in ((True, False), (False, False), (False, True)):
        region = Region(signed, equal, 2.0)
        vertices = [sign * 2.0 / weights[j] * np.eye(5)[j] for j in range(5) for sign in ((1, -1) if signed else (1,))]
        vertices += [] if equal else [np.zeros(5)]
        x = np.mean(vertices, axis=0)
        best = min(vertices, key=lambda v: float(g @ v))
        assert region.gap(g, x, weights) == pytest.approx(float(g @ (x - best)))
        np.testing.assert_allclose(region.vertex(g, weights), best)


@pytest.mark.parametrize("equal", [False, True])
def test_faces_end_where_the_model_is_stationary_on_what_is_left(equal: bool) -> None:
    rng = np.random.default_rng(5)
    corrector, dropped = Corrector(Region(not equal, equal, 1.0)), []
    for _ in range(30):
        B, g, weights = rng.standard_normal((20, 8)), rng.standard_normal(8), rng.uniform(0.5, 2.0, 8)
        gram, x = B.T @ B / 20, rng.standard_normal(8)
        x = (np.abs(x) if equal else x) / (weights @ np.abs(x))
        found, multiplier = corrector._on_faces(gram, g + gram @ x, x.copy(), weights, 1.0)
        left, signs = found != 0, np.sign(found)
        np.testing.assert_allclose((g + gram @ found + multiplier * signs * weights)[left], 0.0, atol=1e-9)
        assert (signs[left] == np.sign(x)[left]).all()
        assert weights @ np.abs(found) <= 1.0 + 1e-12
        dropped.append(8 - np.count_nonzero(left))
    assert len(set(dropped)) > 1 < max(dropped)


def test_what_it_cannot_solve_is_refused_in_a_sentence() -> None:
    array = pytest.importorskip("torch", reason="PyTorch gives arrays of another kind").tensor
    A, y = data()
    with pytest.raises(ValueError, match="needs a gradient on NumPy arrays"):
        begin(bsfw.Function(lambda x: x.sum(), lambda x: x, shape=3, like=array(np.ones(3))), bsfw.L1Ball(1.0))
    plain = bsfw.Function(lambda x: x.sum(), lambda x: 0.0 * x + 1.0)
    with pytest.raises(ValueError, match="works on NumPy arrays, but x0"):
        bsfw.minimize(plain, bsfw.L1Ball(1.0), x0=array(np.zeros(3)), method="corrective")
    assert bsfw.minimize(plain, bsfw.L1Ball(1.0), x0=array(np.zeros(3)), max_iter=3).method == "boosted"
    with pytest.raises(ValueError, match="exact gradient"):
        Solver(bsfw.LeastSquares(A, y), bsfw.L1Ball(1.0), bsfw.SAGA(5), method="corrective")


def test_values_that_are_not_finite_end_with_a_numerical_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    A, y = data()
    problem = bsfw.LeastSquares(A, y)
    solver, state = begin(problem, bsfw.L1Ball(1.0))
    monkeypatch.setattr(problem, "combine_rows", lambda slopes: np.full(N, np.nan))
    result = solver.run(state, Limits(max_iter=5, gap_tol=1e-8), Schedule(record_every=1))
    assert result.status is Status.NUMERICAL_FAILURE


# The start on few samples.


def tall(**options: Any) -> Any:
    A, y = data(3000, 5)
    return objective("logistic", A, y, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_on_some_samples_is_the_mean_of_their_losses(weighted: bool) -> None:
    A, y = data(40)
    w = np.linspace(0.5, 2.0, 40) if weighted else None
    whole = objective("huber", sp.csr_array(A), y, sample_weight=w)
    _ = whole.columns  # which must not be those of the part
    part = whole.on_samples(slice(None, None, 3))
    again = objective("huber", sp.csr_array(A[::3]), y[::3], sample_weight=None if w is None else w[::3])
    x = np.linspace(-1.0, 1.0, N)
    assert part.value(x) == pytest.approx(again.value(x), rel=1e-14)
    np.testing.assert_allclose(part.partial_derivatives(x, np.array([1, 5])), again.gradient(x)[[1, 5]], rtol=1e-12)
    assert whole.counts.function_values == 0


def test_tall_data_begin_with_the_solution_on_few_samples_and_count_them() -> None:
    problem, ball = tall(), bsfw.L1Ball(1.3)
    state = Solver(problem, ball, method="corrective").init()
    assert ball.contains(state.x)
    found = solve(problem, ball, 1e-9)
    assert problem.value(state.x) - found.fun <= 0.3 * (problem.value(np.zeros(5)) - found.fun)
    assert 0 < state.counts.sample_gradients < 30 * 300
    assert state.lmo_calls > 0
    given = Solver(problem, ball, method="corrective").init(x0=np.zeros(5))
    assert not given.x.any()
    assert found.fun == pytest.approx(solve(problem, ball, 1e-9, x0=np.zeros(5)).fun, rel=1e-8)


def test_few_samples_of_one_class_are_passed_over() -> None:
    A = np.random.default_rng(0).standard_normal((2000, 2))
    y = np.where(np.arange(2000) % 3 == 1, 1.0, -1.0)
    y[:: 2000 // 24] = -1.0  # those that would be taken
    result = solve(bsfw.Logistic(A, y, intercept=True), bsfw.L1Ball(1.0), 1e-8)
    assert result.status is Status.GAP_REACHED
