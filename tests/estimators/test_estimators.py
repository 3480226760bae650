"""Every estimator against its formula, on problems small enough to enumerate."""

import itertools

import numpy as np
import pytest

import bsfw

M, N, B = 6, 4, 2


class Scripted:
    """Stands in for a random generator: `random(size)` makes `draw` give the `batches`, `random()` the `coins`."""

    def __init__(self, batches=(), coins=(), population=None):
        self.batches, self.coins, self.population = [sorted(b) for b in batches], list(coins), population

    def random(self, size=None):
        if size is None:
            return self.coins.pop(0)
        batch = self.batches.pop(0)
        assert len(batch) == size
        population = self.population or (N if size == 1 else M)
        last = np.arange(population - size, population)
        return (np.array(batch) + 0.5) / (last + 1)


def logistic(seed=0):
    rng = np.random.default_rng(seed)
    return bsfw.Logistic(rng.standard_normal((M, N)), np.where(rng.random(M) > 0.5, 1.0, -1.0))


def as_function(objective):
    """The same finite sum as plain callables: no scalar tables there."""
    return bsfw.Function(
        objective._value,
        objective._gradient,
        shape=objective.shape,
        n_samples=M,
        batch_jac=objective._batch_gradient,
        partial=objective._partial_derivatives,
        quasar_rho=1.0,
    )


def points(count=3, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(N) for _ in range(count)]


def sample_gradients(objective, x):
    return np.stack([objective._batch_gradient(x, np.array([i])) for i in range(M)])


BATCH = {
    "sag": bsfw.SAG(batch_size=B),
    "saga": bsfw.SAGA(batch_size=B),
    "l-svrg": bsfw.LSVRG(batch_size=B),
    "sarah": bsfw.SARAH(batch_size=B),
    "heavy-ball": bsfw.HeavyBall(batch_size=B),
}


def run_two(estimator, objective, rng):
    """m^0, m^1, m^2 along three fixed points."""
    x0, x1, x2 = points()
    m0, memory = estimator.init(objective, x0, rng)
    m1 = estimator.update(objective, x1, x0, 1, m0, memory, rng)
    m2 = estimator.update(objective, x2, x1, 2, m1, memory, rng)
    return m0, m1, m2, memory


def test_sag_refreshes_alpha_on_the_batch_only():
    objective, (x0, x1, x2) = logistic(), points()
    m0, m1, m2, memory = run_two(BATCH["sag"], objective, Scripted([[0, 3], [3, 5]]))
    g0, g1, g2 = (sample_gradients(objective, x) for x in (x0, x1, x2))
    np.testing.assert_allclose(m0, g0.mean(axis=0))
    table = g0.copy()
    table[[0, 3]] = g1[[0, 3]]
    np.testing.assert_allclose(m1, table.mean(axis=0))
    table[[3, 5]] = g2[[3, 5]]
    np.testing.assert_allclose(m2, table.mean(axis=0))
    assert memory["alpha"].shape == (M,)


def test_sag_from_zeros_starts_with_a_zero_estimate_and_no_gradients():
    objective = logistic()
    m0, _ = bsfw.SAG(batch_size=B, table="zeros").init(objective, points()[0], Scripted())
    np.testing.assert_array_equal(m0, 0)
    assert objective.counts.sample_gradients == 0


@pytest.mark.parametrize("wrap", [lambda f: f, as_function], ids=["linear", "general"])
def test_saga_is_batch_difference_to_the_table_plus_table_mean_then_refresh(wrap):
    objective, (x0, x1, x2) = logistic(), points()
    m0, m1, m2, memory = run_two(BATCH["saga"], wrap(objective), Scripted([[1, 2], [2, 4]]))
    g0, g1, g2 = (sample_gradients(objective, x) for x in (x0, x1, x2))
    np.testing.assert_allclose(m0, g0.mean(axis=0))
    table = g0.copy()
    np.testing.assert_allclose(m1, (g1[[1, 2]] - table[[1, 2]]).mean(axis=0) + table.mean(axis=0))
    table[[1, 2]] = g1[[1, 2]]
    np.testing.assert_allclose(m2, (g2[[2, 4]] - table[[2, 4]]).mean(axis=0) + table.mean(axis=0))
    table[[2, 4]] = g2[[2, 4]]
    np.testing.assert_allclose(memory["mean"], table.mean(axis=0))


@pytest.mark.parametrize("wrap", [lambda f: f, as_function], ids=["linear", "general"])
def test_l_svrg_moves_its_reference_to_the_previous_point_when_the_coin_falls(wrap):
    objective, (x0, x1, x2) = logistic(), points()
    estimator = bsfw.LSVRG(batch_size=B, probability=0.25)
    _, m1, m2, _ = run_two(estimator, wrap(objective), Scripted([[0, 1], [2, 3]], coins=[0.25, 0.2499]))
    g0, g1, g2 = (sample_gradients(objective, x) for x in (x0, x1, x2))
    np.testing.assert_allclose(m1, (g1 - g0)[[0, 1]].mean(axis=0) + g0.mean(axis=0))  # w = x0
    np.testing.assert_allclose(m2, (g2 - g1)[[2, 3]].mean(axis=0) + g1.mean(axis=0))  # w = x1


def test_sarah_adds_differences_and_is_exact_when_the_coin_falls():
    objective, (x0, x1, x2) = logistic(), points()
    estimator = bsfw.SARAH(batch_size=B, probability=0.25)
    _, m1, m2, _ = run_two(estimator, objective, Scripted([[0, 4]], coins=[0.9, 0.1]))
    g0, g1, g2 = (sample_gradients(objective, x) for x in (x0, x1, x2))
    np.testing.assert_allclose(m1, g0.mean(axis=0) + (g1 - g0)[[0, 4]].mean(axis=0))
    np.testing.assert_allclose(m2, g2.mean(axis=0))


@pytest.mark.parametrize(
    ("momentum", "rates"),
    [("auto", [1.0, 4 / 9 ** (2 / 3), 4 / 10 ** (2 / 3)]), ("nonconvex", [1.0, 2**-0.5, 3**-0.5])],
)
def test_heavy_ball_averages_batch_gradients_and_starts_with_the_first(momentum, rates):
    objective, (x0, x1, x2) = logistic(), points()
    estimator = bsfw.HeavyBall(batch_size=B, momentum=momentum)
    m0, m1, m2, _ = run_two(estimator, objective, Scripted([[0, 1], [2, 3], [4, 5]]))
    g0, g1, g2 = (
        sample_gradients(objective, x)[k].mean(axis=0)
        for x, k in zip((x0, x1, x2), ([0, 1], [2, 3], [4, 5]), strict=True)
    )
    np.testing.assert_allclose(m0, g0)
    expected = (1 - rates[1]) * g0 + rates[1] * g1
    np.testing.assert_allclose(m1, expected)
    np.testing.assert_allclose(m2, (1 - rates[2]) * expected + rates[2] * g2)
    assert estimator.rate(0, objective.quasar_rho) == rates[0]


def test_heavy_ball_asks_the_objective_which_momentum():
    assert bsfw.HeavyBall().rate(3, None) == 0.5
    assert bsfw.HeavyBall().rate(56, 1.0) == pytest.approx(4 / 16)
    assert bsfw.HeavyBall(momentum="convex").rate(56, None) == pytest.approx(4 / 16)


def test_sega_jaguar_and_zoja_by_their_formulas():
    objective, (x0, x1, x2) = logistic(), points()
    g0, g1, g2 = (objective._gradient(x) for x in (x0, x1, x2))
    e = np.eye(N)

    m0, m1, m2, _ = run_two(bsfw.SEGA(), objective, Scripted([[2], [1]]))
    h1 = g0 + e[2] * (g1 - g0)
    np.testing.assert_allclose(m0, g0)
    np.testing.assert_allclose(m1, g0 + N * e[2] * (g1 - g0))
    np.testing.assert_allclose(m2, h1 + N * e[1] * (g2 - h1))

    _, m1, m2, _ = run_two(bsfw.JAGUAR(), objective, Scripted([[2], [1]]))
    np.testing.assert_allclose(m1, g0)  # as printed it reads x^0 again
    np.testing.assert_allclose(m2, g0 + e[1] * (g1 - g0))

    _, m1, m2, _ = run_two(bsfw.JAGUAR(point="current"), objective, Scripted([[2], [1]]))
    np.testing.assert_allclose(m1, g0 + e[2] * (g1 - g0))
    np.testing.assert_allclose(m2, m1 + e[1] * (g2 - m1))

    step = 1e-3

    def difference(x, j):
        return (objective._value(x + step * e[j]) - objective._value(x)) / step

    m0, m1, m2, _ = run_two(bsfw.ZOJA(step=step), objective, Scripted([[2], [1]]))
    np.testing.assert_allclose(m0, [difference(x0, j) for j in range(N)], rtol=1e-9)
    np.testing.assert_allclose(m1[2], difference(x0, 2), rtol=1e-9)
    expected = m1.copy()
    expected[1] = difference(x1, 1)
    np.testing.assert_allclose(m2, expected, rtol=1e-9)
    assert np.abs(m0 - g0).max() > 1e-6  # a difference, not the derivative


def test_several_coordinates_scale_sega_by_n_over_their_number():
    objective, (x0, x1, _) = logistic(), points()
    g0, g1 = objective._gradient(x0), objective._gradient(x1)
    estimator = bsfw.SEGA(coordinates=2)
    m0, memory = estimator.init(objective, x0, Scripted())
    m1 = estimator.update(objective, x1, x0, 1, m0, memory, Scripted([[0, 3]], population=N))
    np.testing.assert_allclose(m1, g0 + (N / 2) * np.array([1, 0, 0, 1]) * (g1 - g0))


@pytest.mark.parametrize("name", ["saga", "l-svrg", "sega"])
def test_unbiased_by_enumeration(name):
    objective, (x0, x1, x2) = logistic(), points()
    estimator = bsfw.SEGA() if name == "sega" else BATCH[name]
    batches = [[j] for j in range(N)] if name == "sega" else [list(c) for c in itertools.combinations(range(M), B)]
    # After a first, fixed step the tables differ from x1's gradients, so the mean over the second draw is a real test.
    estimates = []
    for batch in batches:
        first = [0] if name == "sega" else [0, 1]
        m0, memory = estimator.init(objective, x0, Scripted())
        m1 = estimator.update(objective, x1, x0, 1, m0, memory, Scripted([first], [0.99]))
        estimates.append(estimator.update(objective, x2, x1, 2, m1, memory, Scripted([batch], [0.99])))
    np.testing.assert_allclose(np.mean(estimates, axis=0), objective._gradient(x2), atol=1e-12)
    assert np.std(estimates, axis=0).max() > 1e-3


@pytest.mark.parametrize("name", ["sag", "saga", "l-svrg", "sarah"])
def test_batch_of_everything_is_the_full_gradient(name):
    objective = logistic()
    estimator = type(BATCH[name])(batch_size=M)
    rng = np.random.default_rng(0)
    _, m1, m2, _ = run_two(estimator, objective, rng)
    _, x1, x2 = points()
    np.testing.assert_allclose(m1, objective._gradient(x1), atol=1e-14)
    np.testing.assert_allclose(m2, objective._gradient(x2), atol=1e-14)


COST = {  # sample gradients at t = 0, at t = 1 (coin not fallen)
    "sag": (M, B),
    "saga": (M, B),
    "l-svrg": (M, B),
    "sarah": (M, 2 * B),
    "heavy-ball": (B, B),
}


def test_l_svrg_pays_for_both_points_where_it_keeps_no_slopes():
    objective, (x0, x1, _) = as_function(logistic()), points()
    m, memory = BATCH["l-svrg"].init(objective, x0, Scripted())
    BATCH["l-svrg"].update(objective, x1, x0, 1, m, memory, Scripted([[0, 1]], [0.99]))
    assert objective.counts.sample_gradients == M + 2 * B


@pytest.mark.parametrize("name", COST)
def test_counted_sample_gradients(name):
    objective, (x0, x1, _) = logistic(), points()
    estimator, rng = BATCH[name], Scripted([[0, 1], [2, 3]], [0.99])
    m, memory = estimator.init(objective, x0, rng)
    first = objective.counts.sample_gradients
    estimator.update(objective, x1, x0, 1, m, memory, rng)
    assert (first, objective.counts.sample_gradients - first) == COST[name]
    assert objective.counts.coordinate_gradients == 0


@pytest.mark.parametrize(("estimator", "values"), [(bsfw.SEGA(), 0), (bsfw.JAGUAR(), 0), (bsfw.ZOJA(), N + 3)])
def test_counted_coordinate_gradients(estimator, values):
    objective, (x0, x1, _) = logistic(), points()
    m, memory = estimator.init(objective, x0, Scripted())
    estimator.update(objective, x1, x0, 1, m, memory, Scripted([[2]]))
    assert objective.counts.coordinate_gradients == N + 1
    assert objective.counts.function_values == values
    assert objective.counts.sample_gradients == 0


def test_accumulated_sums_are_formed_anew_so_that_rounding_cannot_build_up(monkeypatch):
    monkeypatch.setattr("bsfw.estimators.sag.REFRESH_EPOCHS", 10)
    objective = logistic()
    rng = np.random.default_rng(0)
    for estimator, key in ((BATCH["sag"], "alpha"), (BATCH["saga"], "table")):
        x = 1e8 * points()[0]  # large margins first: gradients near 0 and 1 cancel badly later
        m, memory = estimator.init(objective, x, rng)
        for t in range(1, 31):
            previous, x = x, rng.standard_normal(N)
            m = estimator.update(objective, x, previous, t, m, memory, rng)
        exact = objective.combine_rows(memory[key])
        # t = 30 is a refresh
        np.testing.assert_allclose(m if key == "alpha" else memory["mean"] * M, exact, rtol=1e-15)


def test_constants_of_the_table():
    m, n, L, b, p, T = 100, 8, 3.0, 5, 0.2, 56

    def of(estimator):
        c = estimator.constants(n_samples=m, dimension=n, smoothness=L, horizon=T)
        return [c.rho1, c.rho2, c.A, c.B, c.C, c.E]

    r = 4 / 64 ** (2 / 3)
    expected = {
        bsfw.FullGradient(): [1, 1, 0, 0, 0, 0],
        bsfw.SAG(batch_size=b): [0.025, 1, 0, 0.95 * 41 * 9, 0, 0],
        bsfw.LSVRG(batch_size=b, probability=p): [1, 0.1, 9 / 5 * 0.9, 72, 0, 40],
        bsfw.SAGA(batch_size=b): [1, 0.025, 0.205, 9 / 5 * 41, 0, 360],
        bsfw.SARAH(batch_size=b, probability=p): [0.2, 1, 0, 0.8 / 5 * 9, 0, 0],
        bsfw.SEGA(): [1, 1 / 16, 8, 64 * 9, 0, 216],
        bsfw.JAGUAR(): [1 / 16, 1, 0, 216, 0, 0],
        bsfw.ZOJA(step=0.1): [1 / 32, 1, 0, 216, 2 * 8 * 9 * 0.01, 0],
        bsfw.HeavyBall(batch_size=b): [r / 2, 1 - (63 / 64) ** (4 / 3), 1, 18 / r, 0, 0],
        bsfw.SEGA(coordinates=4): [1, 1 / 4, 2, 36, 0, 54],
        bsfw.JAGUAR(coordinates=0.5): [1 / 4, 1, 0, 54, 0, 0],
        bsfw.ZOJA(coordinates=2, step=0.1): [1 / 16, 1, 0, 108, 2 * 8 * 9 * 0.01, 0],
    }  # fmt: skip
    for estimator, values in expected.items():
        np.testing.assert_allclose(of(estimator), values, err_msg=repr(estimator))
    assert bsfw.LSVRG(batch_size=b).p(m) == bsfw.SARAH(batch_size=0.05).p(m) == 0.05


@pytest.mark.parametrize("name", ["sag", "saga", "l-svrg", "sarah"])
def test_the_error_recursion_of_assumption_est_holds_in_the_mean(name):
    # E_{t-1}||Delta^t||^2 <= (1 - rho1)||Delta^{t-1}||^2 + A sigma_{t-1}^2 + B ||x^t - x^{t-1}||^2, by enumeration of
    # batches and coins at the second step; SAG's error lives in the image (alpha).
    objective, (x0, x1, x2) = logistic(), points()
    estimator = BATCH[name]
    p = B / M
    L = objective.image_smoothness() if name == "sag" else objective.sample_smoothness()
    c = estimator.constants(n_samples=M, dimension=N, smoothness=L)

    def error(m, memory, x):
        if name == "sag":
            return np.sum((memory["alpha"] - objective.derivatives(objective.margins(x)) / M) ** 2)
        return np.sum((m - objective._gradient(x)) ** 2)

    def sigma(memory, x, w):
        if name == "saga":
            return np.mean((sample_gradients(objective, x) - memory["table"][:, None] * objective.A) ** 2 @ np.ones(N))
        return np.sum((x - w) ** 2) if name == "l-svrg" else 0.0

    mean, batches = 0.0, list(itertools.combinations(range(M), B))
    for batch in batches:
        for coin, probability in ((0.0, p), (0.99, 1 - p)) if name in ("l-svrg", "sarah") else ((0.99, 1.0),):
            m0, memory = estimator.init(objective, x0, Scripted())
            m1 = estimator.update(objective, x1, x0, 1, m0, memory, Scripted([[0, 1]], [0.99]))
            before, sigma_before = error(m1, memory, x1), sigma(memory, x1, x0)
            m2 = estimator.update(objective, x2, x1, 2, m1, memory, Scripted([list(batch)], [coin]))
            mean += probability / len(batches) * error(m2, memory, x2)
    moved = np.sum((x2 - x1) ** 2) if name != "sag" else np.sum(objective.margins(x2 - x1) ** 2)
    bound = (1 - c.rho1) * before + c.A * sigma_before + c.B * moved
    assert mean <= bound


def test_a_table_beyond_reason_is_refused_with_its_size():
    huge = bsfw.Function(np.sum, np.ones_like, shape=(100_000,), n_samples=100_000, batch_jac=lambda x, batch: x)
    with pytest.raises(ValueError, match=r"74\.5 GiB.*L-SVRG and SARAH"):
        bsfw.SAGA(batch_size=10).check(huge, (100_000,))


@pytest.mark.parametrize(
    ("estimator", "objective", "words"),
    [
        (bsfw.SAG(batch_size=2), as_function(logistic()), "SAG needs a linear model"),
        (bsfw.SAGA(batch_size=0), logistic(), "between 1 and the number of samples, 6, got 0"),
        (bsfw.SAGA(batch_size=7), logistic(), "between 1 and the number of samples, 6, got 7"),
        (bsfw.SAGA(batch_size=1.5), logistic(), r"fraction must lie in \]0, 1\]"),
        (bsfw.SAGA(batch_size="all"), logistic(), "whole number or a fraction"),
        (bsfw.SEGA(), bsfw.Function(np.sum, np.ones_like, shape=(3,)), "SEGA needs partial derivatives"),
        (bsfw.JAGUAR(), bsfw.Function(np.sum, np.ones_like, shape=(3,)), "JAGUAR needs partial derivatives"),
        (bsfw.JAGUAR(coordinates=9), logistic(), "between 1 and the number of coordinates, 4"),
        (bsfw.SARAH(), bsfw.Function(np.sum, np.ones_like, shape=(3,)), "not a finite sum"),
        (bsfw.FullGradient(), bsfw.Function(np.sum, shape=(3,)), "ZOJA"),
        (bsfw.ZOJA(), bsfw.Quadratic(np.eye(2) + 0j), "variable is complex"),
    ],
)
def test_a_wrong_pairing_gives_one_sentence(estimator, objective, words):
    with pytest.raises(ValueError, match=words):
        estimator.check(objective, objective.shape)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bsfw.SAG(table="ones"), "'full' or 'zeros'"),
        (lambda: bsfw.LSVRG(probability=0.0), r"\]0, 1\]"),
        (lambda: bsfw.SARAH(probability=1.5), r"\]0, 1\]"),
        (lambda: bsfw.HeavyBall(momentum="strong"), "'auto', 'convex' or 'nonconvex'"),
        (lambda: bsfw.JAGUAR(point="next"), "'previous'"),
        (lambda: bsfw.ZOJA(step=0.0), "tau_z"),
        (lambda: bsfw.HeavyBall().constants(n_samples=10, dimension=1), "horizon"),
    ],
)
def test_bad_parameters_give_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
