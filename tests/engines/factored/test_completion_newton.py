"""The corrective method on matrix completion: derivatives, the optimum, its certificate, checkpoints."""

import numpy as np
import pytest

import bsfw
from bsfw.engines.newton.problem import Factors, Problem
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import Intercepts, MatrixCompletion

SHAPE = (23, 17)
MODELS = {
    "plain": {},
    "intercepts": {"intercepts": True},
    "biases": {"biases": 2.0},
    "weights": {"weights": 0.5},
    "implicit": {"implicit": 0.5},
    "implicit alone": {"implicit": True, "biases": False, "weights": 0.0},
}


def ratings(seed=0, count=150, shape=SHAPE):
    rng = np.random.default_rng(seed)
    places = np.sort(rng.permutation(shape[0] * shape[1])[:count])
    values = rng.integers(1, 6, size=count).astype(float)
    return places // shape[1], places % shape[1], values, shape


def factors_at(objective, rng, terms=3):
    biases = [0.3 * rng.standard_normal(size) for size in objective.size] if objective.ridge else [np.empty(0)] * 2
    left, right = (rng.standard_normal((size, terms)) for size in objective.shape)
    return Factors.of(left, right, tuple(biases))


def as_x(objective, factors):
    x = LowRank(factors.left, np.ones(factors.terms), factors.right)
    if objective.ridge is None:
        return x
    return x.with_intercepts(Intercepts(objective.constant, factors.row_biases, factors.column_biases))


def true_gap(objective, x, radius):
    """max <G, x - s> over the ball by a full SVD, plus what the biases may still gain."""
    residual = objective.derivatives(objective.margins(x)) / objective.n_samples
    gradient = objective.combine_rows(residual)
    gap = radius * np.linalg.norm(gradient, 2) + x.inner(gradient)
    if objective.ridge is not None:
        rho = objective.ridge / objective.n_samples
        for index, biases in ((objective.rows, x.intercepts.rows), (objective.cols, x.intercepts.cols)):
            slope = np.bincount(index, weights=residual, minlength=len(biases)) + rho * biases
            gap += slope @ slope / (2 * rho)
    return gap


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loss", ["squared", "huber", "bounded"])
def test_value_gradient_and_hessian_are_those_of_f(rng, model, loss):
    objective = MatrixCompletion(ratings(), loss, sample_weight=1.0 + np.arange(150) % 3, **MODELS[model])
    problem, factors = Problem(objective, np.float64), factors_at(objective, rng)
    point = problem.point(factors)
    assert np.isclose(point.value, objective.value(as_x(objective, factors)), rtol=1e-12)
    assert np.isclose(problem.value(factors), point.value, rtol=1e-13)
    gradient, direction, step = problem.gradient(point), rng.standard_normal(factors.vector.size), 1e-6
    ends = [problem.point(factors.like(factors.vector + sign * step * direction)) for sign in (1, -1)]
    assert np.isclose((ends[0].value - ends[1].value) / (2 * step), gradient @ direction, rtol=1e-6)
    if loss == "huber":
        return  # its second derivative jumps
    change = (problem.gradient(ends[0]) - problem.gradient(ends[1])) / (2 * step)
    assert np.allclose(problem.hessian(point, direction), change, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_the_diagonal_is_that_of_the_hessian_without_residuals(rng, model):
    objective = MatrixCompletion(ratings(), "squared", **MODELS[model])
    problem, factors = Problem(objective, np.float64), factors_at(objective, rng, 2)
    point = problem.point(factors)
    point.slopes[:] = 0.0
    size = factors.vector.size
    diagonal = [problem.hessian(point, unit)[k] for k, unit in enumerate(np.eye(size))]
    assert np.allclose(problem.diagonal(point), diagonal, rtol=1e-10)


@pytest.mark.parametrize("model", MODELS)
def test_products_are_those_with_the_gradient_by_the_variable(rng, model):
    objective = MatrixCompletion(ratings(), "squared", **MODELS[model])
    problem = Problem(objective, np.float64)
    slopes = rng.standard_normal(150)
    forward, backward = problem.products(slopes)
    gradient = objective.combine_rows(slopes)
    v, u = rng.standard_normal(objective.shape[1]), rng.standard_normal(objective.shape[0])
    assert gradient.shape == objective.shape
    assert np.allclose(forward(v), gradient @ v)
    assert np.allclose(backward(u), gradient.T @ u)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_run_ends_at_a_certified_optimum(model, loss):
    objective, ball = MatrixCompletion(ratings(), loss, **MODELS[model]), bsfw.NuclearBall(12.0)
    tolerance = 1e-6 * objective.value(_zero(objective))
    result = bsfw.minimize(objective, ball, method="corrective", gap_tol=tolerance, max_iter=300, rng=0)
    assert result.success, result.message
    assert result.engine == "newton"
    truth = true_gap(objective, result.x, 12.0)
    assert truth <= result.gap * (1 + 1e-9) + 1e-14
    assert result.x.nuclear_norm() <= 12.0 * (1 + 1e-12)
    other = bsfw.minimize(objective, ball, method="corrective", gap_tol=tolerance, max_iter=300, rng=1)
    assert abs(result.fun - other.fun) <= 2 * tolerance
    if objective.ridge is None:  # the multiplier is the norm of the gradient, by the conditions of optimality
        slopes = objective.derivatives(objective.margins(result.x)) / objective.n_samples
        assert np.isclose(result.multiplier, np.linalg.norm(objective.combine_rows(slopes), 2), rtol=1e-3)


def _zero(objective):
    return as_x(objective, factors_at(objective, np.random.default_rng(0), 0))


def test_it_is_the_optimum_that_frank_wolfe_goes_to():
    objective, ball = MatrixCompletion(ratings(), "squared"), bsfw.NuclearBall(25.0)
    exact = bsfw.minimize(objective, ball, method="corrective", gap_tol=1e-7, rng=0)
    slow = bsfw.minimize(objective, ball, method="boosted", step="line-search", max_iter=600, rng=0)
    assert exact.success
    assert exact.fun - 1e-7 <= slow.fun <= exact.fun + slow.gap
    assert slow.fun - exact.fun < 2e-3 * exact.fun


def clustered(seed, shape):
    """All of a matrix whose singular values are equal but for a few parts in a million, so that those of the gradient
    are: at zero, and what the ball cuts off from it at the optimum."""
    rng, size = np.random.default_rng(seed), min(shape)
    left, right = (np.linalg.qr(rng.standard_normal((n, size)))[0] for n in shape)
    values = (left * (5.0 + 1e-6 * rng.random(size))) @ right.T
    rows, cols = np.divmod(np.arange(values.size), shape[1])
    return rows, cols, values.ravel(), shape


@pytest.mark.parametrize("kind", ["random", "clustered"])
@pytest.mark.parametrize("model", ["plain", "all"])
def test_the_told_gap_is_never_below_the_one_by_a_full_svd_and_near_it_at_the_end(kind, model):
    """50 problems for each case, 200 in all."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        shape = tuple(int(size) for size in rng.integers(8, 40, 2))
        given = ratings(seed, shape[0] * shape[1] // 3, shape) if kind == "random" else clustered(seed, shape)
        objective = MatrixCompletion(
            given, ("squared", "huber")[seed % 2], **({"implicit": True} if model == "all" else {})
        )
        radius, told = float(rng.uniform(2.0, 20.0)), []
        result = bsfw.minimize(
            objective, bsfw.NuclearBall(radius), method="corrective", max_iter=10, record_every=1, rng=seed,
            gap_tol=1e-5 * objective.value(_zero(objective)),
            callback=lambda r, told=told, o=objective, tau=radius: told.append((r.gap, true_gap(o, r.x, tau))),
        )  # fmt: skip
        told.append((result.gap, true_gap(objective, result.x, radius)))
        assert all(gap >= truth for gap, truth in told)
        assert told[-1][0] <= 1.3 * told[-1][1] + 1e-11 * max(result.fun, 1.0)


def test_the_bounded_loss_ends_at_a_stationary_point_below_the_stochastic_run():
    objective, ball = MatrixCompletion(ratings(), "bounded"), bsfw.NuclearBall(60.0)
    result = bsfw.minimize(objective, ball, method="corrective", gap_tol=1e-5, max_iter=300, rng=0)
    other = bsfw.minimize(objective, ball, method="boosted", step="line-search", max_iter=200, rng=0)
    assert result.success
    assert true_gap(objective, result.x, 60.0) <= result.gap + 1e-12
    assert result.fun <= other.fun + 1e-6


def test_a_ball_that_does_not_bind_has_no_multiplier():
    objective = MatrixCompletion(ratings(count=60), "squared")
    result = bsfw.minimize(objective, bsfw.NuclearBall(1e4), method="corrective", gap_tol=1e-4, max_iter=300, rng=0)
    assert result.success
    assert result.fun < 1e-6
    assert result.multiplier < 1e-6


@pytest.mark.parametrize("model", ["intercepts", "implicit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path, model, dtype):
    objective = MatrixCompletion(ratings(), "squared", test=ratings(1), dtype=dtype, **MODELS[model])
    ball, options = bsfw.NuclearBall(12.0), dict(method="corrective", rng=3, record_every=2)
    whole = bsfw.minimize(objective, ball, max_iter=9, **options)
    path = tmp_path / "run.npz"
    bsfw.minimize(objective, ball, max_iter=4, checkpoint=path, every=2, **options)
    resumed = bsfw.resume(path, objective, ball, max_iter=9)
    assert np.array_equal(np.asarray(resumed.x), np.asarray(whole.x))
    assert resumed.fun == whole.fun
    assert resumed.gap == whole.gap
    assert resumed.x.dtype == dtype
    assert np.array_equal(resumed.trace["test_rmse"], whole.trace["test_rmse"])
    rows, cols = objective.rows, objective.cols
    assert np.array_equal(resumed.model.entries(rows, cols), whole.model.entries(rows, cols))


def test_a_warm_start_in_a_larger_ball_goes_on_from_there():
    objective = MatrixCompletion(ratings(), "squared", biases=True)
    first = bsfw.minimize(objective, bsfw.NuclearBall(10.0), method="corrective", gap_tol=1e-6, rng=0)
    again = bsfw.minimize(
        objective, bsfw.NuclearBall(11.0), x0=first.x, method="corrective", max_iter=100, gap_tol=1e-6, rng=0,
        record_every=1,
    )  # fmt: skip
    assert np.isclose(again.trace["value"][0], first.fun, rtol=1e-9)
    assert again.success
    assert again.fun < first.fun
    with pytest.raises(ValueError, match="outside of"):
        bsfw.minimize(objective, bsfw.NuclearBall(5.0), x0=first.x, method="corrective")


def test_nothing_of_the_size_of_the_matrix_is_formed(monkeypatch):
    shape = (200_000, 150_000)  # 240 GB as an array
    rows, cols, values, small = ratings()
    rows, cols = rows * (shape[0] // small[0]), cols * (shape[1] // small[1])
    objective = MatrixCompletion((rows, cols, values, shape), "squared", implicit=True, test=(rows, cols, values))
    monkeypatch.setattr(LowRank, "__array__", None)
    result = bsfw.minimize(objective, bsfw.NuclearBall(50.0), method="corrective", max_iter=2, rng=0)
    assert result.x.shape == (350_000, 150_000)
    assert np.isfinite(result.gap)


def test_the_default_set_and_what_needs_one():
    objective = MatrixCompletion(ratings(), "squared", implicit=True)
    result = bsfw.minimize(objective, method="corrective", max_iter=3, rng=0)
    rest = objective.y - objective.first_biases(objective.rows, objective.cols)
    radius = 0.7 * np.sqrt(np.mean(rest**2) * 23 * 17)
    assert np.isclose(objective.default_constraint().radius, radius)
    assert result.x.nuclear_norm() <= radius * (1 + 1e-12)
    with pytest.raises(ValueError, match="give a constraint"):
        bsfw.minimize(bsfw.Logistic(np.eye(3), np.array([1.0, -1.0, 1.0])))


def test_richer_models_are_refused_where_they_cannot_run():
    objective = MatrixCompletion(ratings(), "squared", biases=True)
    with pytest.raises(ValueError, match="biases="):
        bsfw.minimize(objective, bsfw.NuclearBall(5.0), method="boosted", max_iter=3)
    with pytest.raises(ValueError, match="choose one"):
        MatrixCompletion(ratings(), "squared", biases=True, intercepts=True)
    with pytest.raises(ValueError, match="exponent"):
        MatrixCompletion(ratings(), "squared", weights=-1.0)
    with pytest.raises(ValueError, match="implicit"):
        MatrixCompletion(ratings(), "squared", implicit=-0.5)
