import numpy as np
import pytest
from literal import literal_bsfw

import bsfw


def quadratic(n=5, seed=0):
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((n, n))
    return bsfw.Quadratic(Q @ Q.T / n + 0.1 * np.eye(n), rng.standard_normal(n))


@pytest.mark.parametrize("rounds", [1, 3, 1000])
@pytest.mark.parametrize("constraint", [bsfw.L1Ball(1.5), bsfw.Simplex(2.0), bsfw.LinfBall(0.7)], ids=repr)
def test_the_run_equals_the_literal_algorithm(constraint, rounds):
    objective = quadratic()
    solver = bsfw.Solver(objective, constraint, max_rounds=rounds, min_gain=1e-3, decay="quasar-convex")
    state = solver.init(rng=0)
    x0 = state.x
    expected = literal_bsfw(
        objective._gradient, x0, lambda g: constraint.lmo(g).dense(), lambda t: 2 / (t + 2), 12, rounds, 1e-3
    )
    for x in expected[1:]:
        solver.step(state)
        np.testing.assert_allclose(state.x, x, atol=1e-9)


def test_complex_matrix_runs_equal_the_literal_algorithm():
    rng = np.random.default_rng(0)
    target = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    objective = bsfw.Function(
        lambda x: 0.5 * np.sum(np.abs(x - target) ** 2), lambda x: x - target, shape=(3, 3), dtype=complex
    )
    ball = bsfw.SpectralBall(1.0)
    solver = bsfw.Solver(objective, ball, max_rounds=4, min_gain=1e-3)
    state = solver.init()
    expected = literal_bsfw(
        objective._gradient, state.x, lambda g: ball.lmo(g).dense(), lambda t: (t + 1) ** -0.5, 8, 4, 1e-3
    )
    for x in expected[1:]:
        solver.step(state)
        np.testing.assert_allclose(state.x, x, atol=1e-9)


@pytest.mark.parametrize("estimator", [bsfw.SAG, bsfw.SAGA, bsfw.LSVRG, bsfw.SARAH], ids=lambda e: e.__name__)
def test_batch_of_everything_makes_the_run_deterministic_bsfw(estimator, classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    settings = dict(max_rounds=20, max_iter=30, record_every=1, decay="anytime", step="paper")
    exact = bsfw.minimize(objective, ball, **settings | {"decay": bsfw.AnytimeDecay(nu=8.0)})
    other = bsfw.minimize(
        objective, ball, estimator=estimator(batch_size=60), rng=0, **settings | {"decay": bsfw.AnytimeDecay(nu=8.0)}
    )
    np.testing.assert_allclose(other.x, exact.x, atol=1e-10)
    np.testing.assert_allclose(other.trace["value"], exact.trace["value"], rtol=1e-10)
    np.testing.assert_array_equal(other.trace["rounds"], exact.trace["rounds"])


ONE = dict(max_iter=40, decay=bsfw.AnytimeDecay(nu=8.0), max_rounds=5, record_every=1)


def one_dimensional():
    rng = np.random.default_rng(3)
    return bsfw.LeastSquares(rng.standard_normal((20, 1)), rng.standard_normal(20) + 1.0)


@pytest.mark.parametrize(
    ("estimator", "atol"),
    [(bsfw.SEGA(), 1e-12), (bsfw.JAGUAR(point="current"), 1e-12), (bsfw.ZOJA(point="current", step=1e-7), 1e-5)],
    ids=["sega", "jaguar", "zoja"],
)
def test_in_one_dimension_coordinate_estimators_are_the_full_gradient(estimator, atol):
    objective, box = one_dimensional(), bsfw.Box(-3.0, 3.0)
    exact = bsfw.minimize(objective, box, **ONE)
    other = bsfw.minimize(objective, box, estimator=estimator, rng=0, **ONE)
    np.testing.assert_allclose(other.x, exact.x, atol=atol)


def test_as_printed_jaguar_lags_by_exactly_one_step_in_one_dimension():
    objective, box = one_dimensional(), bsfw.Box(-3.0, 3.0)
    solver = bsfw.Solver(objective, box, bsfw.JAGUAR(), max_rounds=1, decay=bsfw.AnytimeDecay(nu=8.0))
    state = solver.init(rng=0)
    points, estimates = [], []
    for _ in range(10):
        points.append(state.x)
        solver.step(state)
        estimates.append(state.m)
    np.testing.assert_allclose(estimates[0], objective._gradient(points[0]))
    for t in range(1, 10):
        np.testing.assert_allclose(estimates[t], objective._gradient(points[t - 1]), atol=1e-12)
    zoja = bsfw.Solver(objective, box, bsfw.ZOJA(step=1e-7), max_rounds=1, decay=bsfw.AnytimeDecay(nu=8.0))
    state = zoja.init(rng=0)
    zoja.step(state)
    first = state.x_previous
    zoja.step(state)
    np.testing.assert_allclose(state.m, objective._gradient(first), atol=1e-5)


def test_the_default_start_is_the_lmo_of_the_gradient_at_the_origin_and_is_counted():
    objective = quadratic()
    ball = bsfw.L1Ball(2.0)
    state = bsfw.Solver(objective, ball).init()
    np.testing.assert_array_equal(state.x, ball.lmo(objective._gradient(np.zeros(5))).dense())
    assert (state.counts.full_gradients, state.lmo_calls) == (1, 1)


def test_where_the_origin_is_not_feasible_the_start_vertex_takes_its_place():
    objective, simplex = quadratic(), bsfw.Simplex(2.0)
    state = bsfw.Solver(objective, simplex).init()
    at = simplex.lmo(np.zeros(5)).dense()
    np.testing.assert_array_equal(state.x, simplex.lmo(objective._gradient(at)).dense())
    assert (state.counts.full_gradients, state.lmo_calls) == (1, 2)


def test_boosted_and_vanilla_start_from_the_same_point():
    starts = [bsfw.Solver(quadratic(), bsfw.Simplex(), max_rounds=k).init().x for k in (1, 100)]
    np.testing.assert_array_equal(*starts)


def test_plain_callables_work_as_scipy_users_write_them():
    target = np.array([0.2, 0.5, 0.3])
    result = bsfw.minimize(
        lambda x: np.sum((x - target) ** 2), bsfw.Simplex(), jac=lambda x: 2 * (x - target), x0=np.array([1.0, 0, 0]),
        max_iter=3000,
    )  # fmt: skip
    np.testing.assert_allclose(result.x, target, atol=1e-5)
    assert result.success
    assert result.x.sum() == pytest.approx(1.0)


def test_function_values_alone_suffice_for_zoja():
    target = np.array([0.2, 0.5, 0.3])
    objective = bsfw.Function(lambda x: float(np.sum((x - target) ** 2)), shape=(3,), quasar_rho=1.0)
    result = bsfw.minimize(objective, bsfw.Simplex(), estimator=bsfw.ZOJA(), max_iter=3000, rng=0)
    np.testing.assert_allclose(result.x, target, atol=0.05)
    assert not result.gap_exact
    assert not result.success


def test_exact_gap_stops_a_deterministic_run_before_the_step():
    objective, ball = quadratic(), bsfw.L1Ball(1.5)
    result = bsfw.minimize(objective, ball, gap_tol=1e-3, max_iter=100_000)
    assert result.status == bsfw.Status.GAP_REACHED
    assert result.success
    assert result.gap <= 1e-3
    gradient = objective._gradient(result.x)
    assert result.gap == pytest.approx(gradient @ result.x + 1.5 * np.abs(gradient).max(), abs=1e-12)


def test_a_noisy_gap_never_says_optimal(classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    result = bsfw.minimize(
        objective, ball, estimator=bsfw.SAGA(batch_size=6), gap_tol=1e-3, gap_every=50, record_every=10,
        max_iter=20_000, rng=0,
    )  # fmt: skip
    assert result.status == bsfw.Status.GAP_REACHED
    gradient = objective._gradient(result.x)
    assert gradient @ result.x + 3.0 * np.abs(gradient).max() <= 1e-3
    trace = result.trace
    exact = trace["gap_exact"]
    assert (trace["iteration"][exact] % 50 == 0).all()
    assert not exact.all()
    assert (trace["gap"][exact][:-1] > 1e-3).all()
    # the estimate's own gap was below the tolerance before, or could have been: it did not end the run
    assert result.check_counts.full_gradients == result.check_lmo_calls == exact.sum()


def test_exact_gap_checks_are_counted_apart(classification):
    A, y = classification
    runs = [
        bsfw.minimize(
            bsfw.Logistic(A, y),
            bsfw.L1Ball(3.0),
            estimator=bsfw.SAGA(batch_size=6),
            max_iter=100,
            gap_every=every,
            rng=0,
        )
        for every in (None, 10)
    ]
    assert runs[0].sample_gradients == runs[1].sample_gradients == 60 + 60 + 99 * 6  # start, t = 0, then batches
    assert runs[0].lmo_calls == runs[1].lmo_calls
    assert runs[0].check_counts.full_gradients == 1
    assert runs[1].check_counts.full_gradients == 11
    np.testing.assert_array_equal(runs[0].x, runs[1].x)


def test_oracle_calls_are_those_that_were_made(classification):
    A, y = classification

    class Counting(bsfw.L1Ball):
        calls = 0

        def lmo(self, direction):
            Counting.calls += 1
            return super().lmo(direction)

    result = bsfw.minimize(bsfw.Logistic(A, y), Counting(3.0), max_iter=50, max_rounds=7, record_every=1)
    assert result.lmo_calls + result.check_lmo_calls == Counting.calls
    assert result.lmo_calls == 1 + result.trace["rounds"].sum()


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ({"max_iter": 7}, bsfw.Status.ITERATIONS),
        ({"max_seconds": 0.02, "max_iter": 10**6}, bsfw.Status.SECONDS),
        ({"max_gradients": 300}, bsfw.Status.GRADIENTS),
        ({"max_lmo_calls": 40}, bsfw.Status.LMO_CALLS),
    ],
    ids=["iterations", "seconds", "gradients", "lmo"],
)
def test_budgets_end_the_run_with_their_own_status(limit, status, classification):
    A, y = classification
    result = bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), estimator=bsfw.SAGA(batch_size=6), rng=0, **limit)
    assert result.status == status
    assert result.message.startswith(status.message)
    assert not result.success
    if "max_gradients" in limit:
        assert 300 <= result.sample_gradients < 306
    if "max_lmo_calls" in limit:
        assert result.lmo_calls >= 40
        assert result.trace["lmo_calls"][-1] - result.trace["rounds"][-2] < 40
    if "max_iter" in limit and status == bsfw.Status.ITERATIONS:
        assert result.nit == 7


def test_the_callback_sees_every_recorded_iterate_and_can_stop(classification):
    A, y = classification
    objective, seen = bsfw.Logistic(A, y), []

    def callback(intermediate_result):
        seen.append((intermediate_result.nit, intermediate_result.fun))
        assert intermediate_result.fun == objective._value(intermediate_result.x)
        if intermediate_result.nit == 20:
            raise StopIteration

    result = bsfw.minimize(
        objective, bsfw.L1Ball(3.0), method="boosted", max_iter=100, record_every=5, callback=callback
    )
    assert [nit for nit, _ in seen] == [0, 5, 10, 15, 20]
    assert result.status == bsfw.Status.CALLBACK
    assert result.nit == 20
    assert result.fun == seen[-1][1] == objective._value(result.x)


def test_non_finite_values_end_the_run_with_a_status():
    result = bsfw.minimize(lambda x: float(x.sum()), bsfw.Simplex(), jac=lambda x: np.full(2, np.nan), x0=[1.0, 0.0])
    assert result.status == bsfw.Status.NUMERICAL_FAILURE
    np.testing.assert_array_equal(result.x, [1.0, 0.0])
    assert not result.gap_exact
    overflowing = bsfw.minimize(lambda x: np.inf, bsfw.Simplex(), jac=lambda x: np.ones(2), x0=[1.0, 0.0])
    assert overflowing.status == bsfw.Status.NUMERICAL_FAILURE


def test_the_trace_describes_each_iterate_and_the_step_from_it(classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(3.0)
    result = bsfw.minimize(objective, ball, max_iter=6, record_every=1, max_rounds=50)
    trace = result.trace
    np.testing.assert_array_equal(trace["iteration"], range(7))
    np.testing.assert_allclose(trace["eta"][:-1], [2 / (t + 2) for t in range(6)])
    assert trace["gap_exact"].all()
    np.testing.assert_array_equal(trace["boosted"][:-1], trace["gamma"][:-1] < 1)
    assert result.boosting_percentage == pytest.approx(100 * np.mean(trace["gamma"][:-1] < 1))
    np.testing.assert_array_equal(trace["sample_gradients"], 60 * np.arange(1, 8))
    np.testing.assert_array_equal(np.diff(trace["lmo_calls"]), trace["rounds"][:-1])
    assert np.isnan(trace["gamma"][-1])
    assert trace["value"][-1] == result.fun == objective._value(result.x)
    assert (np.diff(trace["seconds"]) > 0).all()


def test_metrics_are_off_the_clock(classification):
    A, y = classification

    class Slow(bsfw.Logistic):
        def _value(self, x):
            import time

            time.sleep(0.01)
            return super()._value(x)

    result = bsfw.minimize(Slow(A, y), bsfw.L1Ball(3.0), method="boosted", max_iter=20, record_every=1)
    assert result.check_seconds >= 0.2
    assert result.seconds < 0.2


@pytest.mark.parametrize("estimator", [None, bsfw.SAGA(batch_size=6), bsfw.SEGA()], ids=["full", "saga", "sega"])
def test_the_same_seed_gives_the_same_bits_and_objects_can_be_reused(estimator, classification):
    A, y = classification
    objective = bsfw.Logistic(A, y)
    runs = [bsfw.minimize(objective, bsfw.L1Ball(3.0), estimator=estimator, max_iter=50, rng=7) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].x, runs[1].x)
    assert runs[0].sample_gradients == runs[1].sample_gradients
    if estimator is not None:
        other = bsfw.minimize(objective, bsfw.L1Ball(3.0), estimator=estimator, max_iter=50, rng=8)
        assert (other.x != runs[0].x).any()


def test_global_random_state_is_neither_read_nor_changed(classification):
    A, y = classification
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), estimator=bsfw.SAGA(), max_iter=10, rng=0)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_float32_stays_float32(classification):
    A, y = classification
    result = bsfw.minimize(
        bsfw.Logistic(A.astype(np.float32), y), bsfw.L1Ball(3.0), estimator=bsfw.SAGA(batch_size=6), max_iter=30, rng=0
    )
    assert result.x.dtype == np.float32
    assert bsfw.L1Ball(3.0).contains(result.x, 1e-5)


def test_verbose_writes_progress_to_stderr_only(classification, capsys):
    A, y = classification
    bsfw.minimize(bsfw.Logistic(A, y), bsfw.L1Ball(3.0), method="boosted", max_iter=10, verbose=True)
    captured = capsys.readouterr()
    assert "iteration 10/10" in captured.err
    assert captured.out == ""


def test_feasibility_after_many_boosted_iterations(classification):
    A, y = classification
    for constraint in (bsfw.L1Ball(3.0), bsfw.Simplex(3.0)):
        result = bsfw.minimize(
            bsfw.Logistic(A, y), constraint, estimator=bsfw.HeavyBall(batch_size=6), max_iter=5_000, rng=0
        )
        assert constraint.violation(result.x) <= 1e-12


DEFAULT_DECAYS = [
    (None, 1.0, None, bsfw.QuasarConvexDecay()),
    (None, 1.0, 1, bsfw.QuasarConvexDecay()),
    (None, None, None, bsfw.InverseSqrtDecay()),
    (bsfw.SAG(batch_size=6), 1.0, None, bsfw.AnytimeDecay(nu=80.0)),
    (bsfw.SAG(batch_size=6), 1.0, 1, bsfw.QuasarConvexDecay()),
    (bsfw.SAGA(batch_size=6), 1.0, 1, bsfw.PiecewiseDecay(horizon=100, d=40.0)),
    (bsfw.SARAH(batch_size=6), 1.0, None, bsfw.AnytimeDecay(nu=40.0)),
    (bsfw.SAGA(batch_size=6), None, None, bsfw.InverseSqrtDecay()),
    (bsfw.SAGA(batch_size=6), None, 1, bsfw.StochasticHorizonDecay(horizon=100)),
    (bsfw.HeavyBall(), 1.0, None, bsfw.HeavyBallConvexDecay()),
    (bsfw.HeavyBall(), None, 1, bsfw.HeavyBallNonconvexDecay()),
    (bsfw.SEGA(), 1.0, None, bsfw.AnytimeDecay(nu=96.0)),
    (bsfw.ZOJA(), 1.0, None, bsfw.AnytimeDecay(nu=192.0)),
]


@pytest.mark.parametrize(("estimator", "rho", "rounds", "expected"), DEFAULT_DECAYS, ids=lambda v: type(v).__name__)
def test_default_decays(estimator, rho, rounds, expected, classification):
    A, y = classification
    objective = bsfw.Logistic(A, y) if rho == 1.0 else bsfw.Tukey(A, y)
    solver = bsfw.Solver(objective, bsfw.L1Ball(1.0), estimator, max_rounds=rounds, horizon=100)
    assert solver.plan.decay == expected


def test_a_decay_of_ones_own_is_clipped_and_must_be_positive(classification):
    A, y = classification
    objective, ball = bsfw.Logistic(A, y), bsfw.L1Ball(1.0)
    result = bsfw.minimize(objective, ball, decay=lambda t: 5.0, max_iter=3, record_every=1)
    assert (result.trace["eta"][:-1] == 1.0).all()
    with pytest.raises(ValueError, match="must be positive"):
        bsfw.minimize(objective, ball, decay=lambda t: 0.0, max_iter=3)


def test_default_rounds_are_many_for_cheap_oracles_and_five_for_costly_ones(classification):
    A, y = classification
    assert bsfw.Solver(bsfw.Logistic(A, y), bsfw.L1Ball(1.0)).plan.max_rounds == 10_000
    assert bsfw.Solver(bsfw.Multinomial(A, y), bsfw.NuclearBall(1.0)).plan.max_rounds == 5
