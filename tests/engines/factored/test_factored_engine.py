"""Factored runs against the dense ones of the reference engine, and what only a factored run can do."""

import numpy as np
import pytest

import bsfw
from bsfw.boosting import boost as dense_boost
from bsfw.engines.factored.boosting import Span, boost
from bsfw.engines.factored.engine import FactoredEngine, lmo
from bsfw.engines.factored.operator import Pattern, SparseLowRank, bottom_eigenpair, top_singular_pair
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import MatrixCompletion
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule

TIGHT = 1e-11
ESTIMATORS = [
    bsfw.FullGradient(),
    bsfw.SAG(batch_size=0.2),
    bsfw.SAGA(batch_size=0.2),
    bsfw.LSVRG(batch_size=0.2),
    bsfw.SARAH(batch_size=0.2),
    bsfw.HeavyBall(batch_size=0.2),
]


def ratings(seed=0, shape=(23, 17), count=150):
    """Ratings of a matrix of rank 3 with noise, (rows, cols, values, shape)."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(shape[0] * shape[1])[:count]
    rows, cols = places // shape[1], places % shape[1]
    true = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    return rows, cols, 3.0 + true[rows, cols] + 0.1 * rng.standard_normal(count), shape


def runs(objective, constraint, estimator, iterations, **options):
    """The factored run and the reference run, with the same seed."""
    results = []
    for engine in ("factored", "reference"):
        solver = Solver(objective, constraint, estimator, engine=engine, horizon=iterations, **options)
        state = solver.init(rng=5)
        results.append(solver.run(state, Limits(iterations), Schedule(5, 10)))
        assert state.engine_name == engine
    return results


def agree(factored, reference, tolerance=1e-6, search=False):  # rounding grows along a run: neighbouring runs part
    assert isinstance(factored.x, LowRank)
    assert isinstance(reference.x, np.ndarray)
    difference = np.linalg.norm(np.asarray(factored.x) - reference.x)
    assert difference <= tolerance * np.linalg.norm(reference.x)
    told, known = factored.trace["gap"], reference.trace["gap"]
    assert (told >= (1 - 10 * tolerance) * known - 1e-9).all()  # of runs that have parted by `tolerance`
    assert (told <= 1.05 * known + 1e-9).all()  # an upper bound where it is exact
    for name in ("value", "gamma", "alignment"):
        assert np.allclose(factored.trace[name], reference.trace[name], rtol=1e-6, atol=1e-9, equal_nan=True), name
    for name in ("nit", "nfev", "lmo_calls"):
        assert factored[name] == reference[name], name
    if not reference.trace["gap_exact"].all():  # else LAPACK tells exact gaps on the way, where Lanczos needs checks
        assert factored.check_counts == reference.check_counts
        assert factored.check_lmo_calls == reference.check_lmo_calls
    if search:  # rounding decides when a root is found to the last digit
        assert abs(factored.njev - reference.njev) <= factored.nit
    else:
        assert (factored.njev, factored.sample_gradients) == (reference.njev, reference.sample_gradients)
    assert np.array_equal(factored.trace["rounds"], reference.trace["rounds"])


def operator(rng, rows=30, columns=20, terms=4, dtype=float):
    count = rows * columns // 4
    places = np.sort(rng.permutation(rows * columns)[:count])
    indptr = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(places // columns, minlength=rows), out=indptr[1:])
    pattern = Pattern(indptr, (places % columns).astype(np.int32), (rows, columns))
    left, right = (rng.standard_normal((size, terms + 3)).astype(dtype) for size in (rows, columns))
    coefficients, data = rng.standard_normal(terms), rng.standard_normal(count).astype(dtype)
    dense = (left[:, :terms] * coefficients) @ right[:, :terms].T
    dense[places // columns, places % columns] += data
    return SparseLowRank(pattern, data, left, coefficients, right), dense


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (1, 12), (12, 1), (90, 80)])
@pytest.mark.parametrize("terms", [0, 4])
def test_the_leading_pair_of_sparse_plus_low_rank_is_that_of_the_dense_matrix(rng, shape, terms):
    matrix, dense = operator(rng, *shape, terms)
    if not dense.any():
        return
    vector, covector = rng.standard_normal(shape[1]), rng.standard_normal(shape[0])
    assert np.allclose(matrix.matvec(vector), dense @ vector)
    assert np.allclose(matrix.rmatvec(covector), dense.T @ covector)
    sigma, left, right = top_singular_pair(matrix, TIGHT, rng.standard_normal(shape[1]))
    assert np.isclose(sigma, np.linalg.norm(dense, 2), rtol=1e-12)
    assert np.allclose(dense @ right, sigma * left, atol=1e-9 * sigma)
    assert np.allclose(dense.T @ left, sigma * right, atol=1e-8 * sigma)


def test_a_loose_pair_keeps_its_promise_in_single_precision_too(rng):
    for dtype in (float, np.float32):
        matrix, dense = operator(rng, 200, 150, 10, dtype)
        sigma, left, right = top_singular_pair(matrix, 1e-2, rng.standard_normal(150))
        assert np.linalg.norm(dense.T @ left - sigma * right) <= 1.2e-2 * sigma
        assert sigma >= (1 - 1e-2) * np.linalg.norm(dense, 2)


def test_a_close_second_value_is_settled_by_restarts(rng):
    q = np.linalg.qr(rng.standard_normal((300, 200)))[0]
    p = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    pattern = Pattern(np.zeros(301, dtype=np.int64), np.zeros(0, dtype=np.int32), (300, 200))
    values = np.linspace(1.0, 0.9, 200)
    matrix = SparseLowRank(pattern, np.zeros(0), q, values, p)
    sigma, left, _ = top_singular_pair(matrix, 1e-8, rng.standard_normal(200))
    assert np.isclose(sigma, 1.0, rtol=1e-10)
    assert abs(left @ q[:, 0]) > 1 - 1e-8


def test_the_smallest_eigenvalue_is_that_of_the_symmetric_part(rng):
    matrix, dense = operator(rng, 60, 60)
    value, vector = bottom_eigenpair(matrix, 1e-10)
    assert np.isclose(value, np.linalg.eigvalsh(0.5 * (dense + dense.T))[0], rtol=1e-9)
    assert np.isclose(vector @ dense @ vector, value)


@pytest.mark.parametrize("max_rounds", [1, 2, 5, 40])
def test_boost_is_the_generic_one_to_rounding(rng, max_rounds):
    objective, ball = MatrixCompletion(ratings()), bsfw.NuclearBall(20.0, TIGHT)
    x = LowRank(rng.standard_normal((23, 2)), [0.3, 0.2], rng.standard_normal((17, 2)))
    z = objective.margins(x)
    m = objective.observed.gradient(z) + 0.01 * rng.standard_normal(150)
    pattern = Pattern(objective.indptr, objective.cols, objective.shape)
    span = Span(pattern, m, z, x, x.norm() ** 2, float)
    oracle = lambda matrix, k: lmo(ball, matrix, TIGHT, (0, k), float)  # noqa: E731
    ours, point = boost(span, oracle, max_rounds, 1e-4)
    theirs = dense_boost(objective.combine_rows(m), np.asarray(x), ball.lmo, max_rounds, 1e-4)
    assert ours.rounds == theirs.rounds
    for name in ("gap", "slope", "alignment", "norm", "vertex_distance"):
        assert np.isclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9), name
    assert np.allclose(ours.weights, theirs.weights, rtol=1e-6)
    assert np.isclose(sum(ours.weights), 1.0)
    assert np.allclose(ours.dense(np.asarray(x)), theirs.dense(np.asarray(x)), atol=1e-6 * theirs.norm)
    assert np.isclose(span.length(point), theirs.norm)


def test_a_residual_that_is_rounding_error_gives_no_vector_of_nan():
    # One vertex explains the only entry: what is left of the residual is zero in one order of summation only.
    objective = MatrixCompletion(([0], [0], [1.0], (1, 1)))
    options = dict(estimator=bsfw.HeavyBall(batch_size=1), max_rounds=5, max_iter=5)
    for seed in range(4):
        result = bsfw.minimize(objective, bsfw.NuclearBall(2.0), rng=seed, **options)
        assert np.isfinite(np.asarray(result.x)).all()


def test_a_zero_estimate_and_a_vertex_that_is_the_iterate_give_no_direction(rng):
    objective, ball = MatrixCompletion(ratings()), bsfw.NuclearBall(2.0)
    pattern = Pattern(objective.indptr, objective.cols, objective.shape)
    oracle = lambda matrix, k: lmo(ball, matrix, TIGHT, (0, k), float)  # noqa: E731
    x = LowRank(np.ones((23, 1)), [0.01], np.ones((17, 1)))
    zero, _ = boost(Span(pattern, np.zeros(150), objective.margins(x), x, x.norm() ** 2, float), oracle, 5, 1e-4)
    assert (zero.rounds, zero.norm, zero.vertices) == (1, 0.0, [])
    assert np.allclose(zero.vertex.dense(), -2.0 * np.eye(23, 17) * (np.arange(17) == 0))
    m = rng.standard_normal(150)
    vertex = oracle(SparseLowRank(pattern, m, np.empty((23, 0)), np.empty(0), np.empty((17, 0))), 0)
    x = LowRank.zeros((23, 17)).moved(1.0, [vertex], [1.0])
    same, _ = boost(Span(pattern, m, objective.margins(x), x, 4.0, float), oracle, 5, 1e-4)
    assert (same.rounds, same.norm) == (1, 0.0)
    assert abs(same.gap) < 1e-9


def test_an_inexact_oracle_cannot_turn_a_weight_negative(rng):
    objective = MatrixCompletion(ratings())
    pattern = Pattern(objective.indptr, objective.cols, objective.shape)
    x, m = LowRank.zeros((23, 17)), rng.standard_normal(150)
    ball = bsfw.NuclearBall(2.0)

    def oracle(matrix, k):
        vertex = lmo(ball, matrix, TIGHT, (0, k), float)
        return vertex if k == 0 else type(vertex)(-vertex.scale, vertex.left, vertex.right)

    direction, _ = boost(Span(pattern, m, np.zeros(150), x, 0.0, float), oracle, 5, 1e-4)
    assert direction.rounds == 2
    assert direction.weights == [1.0]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)
@pytest.mark.parametrize("max_rounds", [1, 5])
def test_a_run_is_the_dense_one_to_rounding_with_every_estimator(estimator, max_rounds):
    objective = MatrixCompletion(ratings(), compression=0.0)
    # Few iterations: rounding grows, and after some dozens of steps two runs part.
    agree(*runs(objective, bsfw.NuclearBall(30.0, TIGHT), estimator, 12, max_rounds=max_rounds))


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("step", ["short", "line-search", bsfw.LineSearch("backtracking")], ids=str)
def test_deterministic_steps_are_those_of_the_dense_run(loss, step):
    objective = MatrixCompletion(ratings(), loss, compression=0.0, sample_weight=np.arange(1.0, 151.0))
    results = runs(objective, bsfw.NuclearBall(40.0, TIGHT), bsfw.FullGradient(), 15, step=step)
    agree(*results, tolerance=1e-5, search=step == "line-search")


@pytest.mark.parametrize("equality", [True, False])
def test_a_run_over_the_spectraplex_is_the_dense_one(equality):
    rows, cols, values, shape = ratings(3, (20, 20), 90)
    objective = MatrixCompletion((rows, cols, values / 10, shape), "squared", compression=0.0)
    constraint = bsfw.Spectraplex(8.0, equality=equality, tolerance=TIGHT)
    for estimator in (bsfw.FullGradient(), bsfw.SAGA(batch_size=0.3)):
        factored, reference = runs(objective, constraint, estimator, 30)
        agree(factored, reference)
        assert factored.x.hermitian
        assert constraint.contains(np.asarray(factored.x))


def test_recompression_keeps_the_run_in_the_ball_and_close_to_the_dense_one():
    ball, estimator = bsfw.NuclearBall(30.0, TIGHT), bsfw.FullGradient()
    factored, reference = runs(MatrixCompletion(ratings(), compression=1e-3), ball, estimator, 60)
    assert factored.x.rank < 80 < factored.lmo_calls
    assert factored.x.nuclear_norm() <= 30.0 * (1 + 1e-12)
    assert np.isclose(factored.fun, reference.fun, rtol=1e-2)
    known = factored.x.observed_by(MatrixCompletion)  # of nobody else
    assert known is None


def test_observed_entries_follow_the_factors():
    objective = MatrixCompletion(ratings())
    result = bsfw.minimize(
        objective, bsfw.NuclearBall(30.0), estimator=bsfw.HeavyBall(batch_size=0.2), max_iter=300, rng=0
    )
    known = result.x.observed_by(objective)
    assert known is not None
    assert np.allclose(known, result.x.entries(objective.rows, objective.cols), rtol=1e-9, atol=1e-9)


def test_the_same_seed_gives_the_same_bits_and_another_start_vector_the_same_batches():
    objective, ball = MatrixCompletion(ratings()), bsfw.NuclearBall(30.0)
    options = dict(estimator=bsfw.SAGA(batch_size=0.2), max_iter=12)
    one, two, three = (bsfw.minimize(objective, ball, rng=seed, **options) for seed in (1, 1, 2))
    assert np.array_equal(np.asarray(one.x), np.asarray(two.x))
    assert not np.array_equal(np.asarray(one.x), np.asarray(three.x))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.name)
def test_a_resumed_run_ends_in_the_same_bits(tmp_path, estimator):
    objective, ball = MatrixCompletion(ratings(), intercepts=True, test=ratings(1)), bsfw.NuclearBall(30.0)
    options = dict(estimator=estimator, record_every=5, rng=3)
    whole = bsfw.minimize(objective, ball, max_iter=30, decay=bsfw.InverseSqrtDecay(), **options)
    path = tmp_path / "run.npz"
    bsfw.minimize(objective, ball, max_iter=14, decay=bsfw.InverseSqrtDecay(), checkpoint=path, every=7, **options)
    resumed = bsfw.resume(path, objective, ball, max_iter=30)
    assert isinstance(resumed.x, LowRank)
    assert np.array_equal(np.asarray(resumed.x), np.asarray(whole.x))
    assert resumed.x.predict([1], [2]) == whole.x.predict([1], [2])
    assert resumed.trace["test_rmse"][-1] == whole.trace["test_rmse"][-1]
    assert resumed.sample_gradients == whole.sample_gradients


def test_nothing_of_the_size_of_the_matrix_is_formed(monkeypatch, tmp_path):
    shape = (200_000, 150_000)  # 240 GB as an array
    rows, cols, values, small = ratings()
    rows, cols = rows * (shape[0] // small[0]), cols * (shape[1] // small[1])
    objective = MatrixCompletion((rows, cols, values, shape), test=(rows[:5], cols[:5], np.ones(5)))
    monkeypatch.setattr(LowRank, "__array__", None)
    result = bsfw.minimize(
        objective, bsfw.NuclearBall(5.0), estimator=bsfw.SAGA(batch_size=50), max_iter=3, gap_every=1, rng=0,
        checkpoint=tmp_path / "run.npz", max_rounds=2,
    )  # fmt: skip
    assert result.x.shape == shape
    assert result.gap_exact
    assert "LowRank" in repr(result)


def test_a_warm_start_is_taken_as_it_is_and_checked():
    objective, ball = MatrixCompletion(ratings(), "squared"), bsfw.NuclearBall(20.0)
    first = bsfw.minimize(objective, ball, max_iter=30, step="line-search")
    again = bsfw.minimize(objective, bsfw.NuclearBall(25.0), x0=first.x, max_iter=1, step="line-search")
    dense = bsfw.minimize(objective, bsfw.NuclearBall(25.0), x0=np.asarray(first.x), max_iter=1, step="line-search")
    assert np.isclose(again.trace["value"][0], first.fun)
    assert np.isclose(dense.trace["value"][0], first.fun)
    assert isinstance(dense.x, LowRank)
    with pytest.raises(ValueError, match="outside of"):
        bsfw.minimize(objective, bsfw.NuclearBall(10.0), x0=first.x)
    with pytest.raises(ValueError, match="shape"):
        bsfw.minimize(objective, ball, x0=LowRank.zeros((3, 3)))
    with pytest.raises(ValueError, match="complex"):
        bsfw.minimize(objective, ball, x0=LowRank.zeros((23, 17), complex))
    square = MatrixCompletion(ratings(0, (9, 9), 30))
    with pytest.raises(ValueError, match="Hermitian"):
        bsfw.minimize(square, bsfw.Spectraplex(), x0=LowRank(np.ones((9, 1)), [1.0], np.ones((9, 1))))
    with pytest.raises(ValueError, match="outside of"):
        bsfw.minimize(square, bsfw.Spectraplex(), x0=LowRank(np.ones((9, 1)), [1.0]))


def test_single_precision_runs_and_stays_close():
    results = [
        bsfw.minimize(
            MatrixCompletion(ratings(), dtype=dtype),
            bsfw.NuclearBall(30.0),
            estimator=bsfw.HeavyBall(batch_size=0.2),
            max_iter=5,
            rng=0,
        )
        for dtype in (np.float32, np.float64)
    ]
    assert results[0].x.dtype == np.float32
    assert np.isclose(results[0].fun, results[1].fun, rtol=1e-4)


def test_a_gap_of_the_exact_gradient_bounds_the_distance_to_the_minimum():
    objective, ball = MatrixCompletion(ratings(), "squared"), bsfw.NuclearBall(25.0)
    result = bsfw.minimize(objective, ball, step="line-search", max_iter=3000, gap_tol=1e-3)
    assert result.success
    best = bsfw.minimize(objective, ball, x0=result.x, step="line-search", max_iter=2000, gap_tol=1e-5)
    assert result.fun - best.fun <= 1e-3


def test_what_cannot_be_factored_runs_on_arrays_and_says_so_when_asked():
    objective = MatrixCompletion(ratings())
    result = bsfw.minimize(objective, bsfw.NuclearBall(5.0), estimator=bsfw.JAGUAR(), max_iter=3)
    assert isinstance(result.x, np.ndarray)
    with pytest.raises(ValueError, match="factored engine is not available"):
        Solver(objective, bsfw.NuclearBall(5.0), bsfw.JAGUAR(), engine="factored")


def test_a_loop_of_ones_own_sees_the_factored_state():
    solver = Solver(MatrixCompletion(ratings()), bsfw.NuclearBall(5.0), bsfw.SAGA(batch_size=0.2), horizon=10)
    state = solver.init(rng=0)
    assert solver.step(state) is not None
    assert isinstance(solver.engine(state), FactoredEngine)
    assert isinstance(state.x, LowRank)
    assert state.m.shape == (23, 17)
    assert state.m.nnz == 150
