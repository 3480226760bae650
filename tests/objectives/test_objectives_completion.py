"""`MatrixCompletion` as an objective: losses, derivatives, intercepts, weights, counts and refusals."""

import numpy as np
import pytest

import bsfw
from bsfw.lowrank import LowRank
from bsfw.objectives.completion import Intercepts, MatrixCompletion

SHAPE = (7, 5)


@pytest.fixture
def observations(rng):
    places = rng.permutation(35)[:20]
    return places // 5, places % 5, rng.integers(1, 6, size=20).astype(float), SHAPE


def formula(loss, d, delta=1.0):
    if loss == "bounded":
        return d**2 / (2 + d**2)
    if loss == "squared":
        return d**2 / 2
    return np.where(np.abs(d) <= delta, d**2 / 2, delta * (np.abs(d) - delta / 2))


@pytest.mark.parametrize("loss", ["bounded", "squared", "huber"])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradients_are_those_of_the_definition(rng, observations, loss, weighted):
    rows, cols, values, _ = observations
    weight = rng.random(20) if weighted else None
    f = MatrixCompletion(observations, loss, delta=0.7, sample_weight=weight)
    x = 3.0 * rng.standard_normal(SHAPE)
    scaled = np.ones(20) if weight is None else weight / weight.mean()
    assert np.isclose(f.value(x), np.mean(scaled * formula(loss, x[rows, cols] - values, 0.7)))
    step, gradient = 1e-6, f.gradient(x)
    numeric = np.zeros(SHAPE)
    for place in np.ndindex(SHAPE):
        shifted = [x.copy(), x.copy()]
        shifted[0][place] += step
        shifted[1][place] -= step
        numeric[place] = (f.value(shifted[0]) - f.value(shifted[1])) / (2 * step)
    assert np.allclose(gradient, numeric, atol=1e-7)
    batch = np.array([3, 17, 4])
    assert np.allclose(f.batch_gradient(x, batch), f.sample_gradients(x, batch).mean(axis=0))
    assert np.allclose(f.batch_gradient(x, np.arange(20)), gradient)
    places = np.arange(35)
    assert np.allclose(f.partial_derivatives(x, places), gradient.ravel())
    assert np.allclose(f.forward_differences(x, places, 1e-6), gradient.ravel(), atol=1e-5)
    line = f.along(x, gradient)
    assert np.isclose(line.value(0.3), f.value(x + 0.3 * gradient))
    assert f.quasar_rho == (None if loss == "bounded" else 1.0)


@pytest.mark.parametrize("loss", ["bounded", "squared", "huber"])
def test_no_gradient_changes_faster_than_the_smoothness_constant(rng, observations, loss):
    f = MatrixCompletion(observations, loss, sample_weight=rng.random(20))
    x = f.combine_rows(f.y)  # a zero residual, where the curvature is largest
    for _ in range(20):
        d = rng.standard_normal(SHAPE)
        slope = np.linalg.norm(f.gradient(x + 1e-4 * d) - f.gradient(x)) / (1e-4 * np.linalg.norm(d))
        assert slope <= f.smoothness() * (1 + 1e-6)
    heaviest = int(np.argmax(f.sample_weight))
    d = f.combine_rows(np.eye(20)[heaviest])
    assert np.isclose(np.linalg.norm(f.gradient(x + 1e-4 * d) - f.gradient(x)) / 1e-4, f.smoothness(), rtol=1e-3)
    assert np.isclose(f.sample_smoothness(), f.smoothness() * 20)


def test_huge_residuals_stay_finite(observations):
    for loss in ("bounded", "huber"):
        f = MatrixCompletion(observations, loss)
        for size in (1e100, 1e200, 1e300):
            assert np.isfinite(f.value(np.full(SHAPE, size)))
            assert np.isfinite(f.gradient(np.full(SHAPE, -size))).all()


def test_a_low_rank_variable_gives_the_same_value_as_its_array(rng, observations):
    f = MatrixCompletion(observations, test=observations)
    x = LowRank(rng.standard_normal((7, 2)), [1.0, 2.0], rng.standard_normal((5, 2)))
    assert np.isclose(f.value(x), f.value(np.asarray(x)))
    assert np.allclose(f.margins(x, np.array([1, 2])), f.margins(np.asarray(x), np.array([1, 2])))
    assert f.metrics(x) == pytest.approx(f.metrics(np.asarray(x)))


def test_the_order_of_the_observations_does_not_matter(rng, observations):
    rows, cols, values, shape = observations
    weight, order, x = rng.random(20), rng.permutation(20), rng.standard_normal(shape)
    f = MatrixCompletion(observations, sample_weight=weight)
    g = MatrixCompletion((rows[order], cols[order], values[order], shape), sample_weight=weight[order])
    assert np.isclose(f.value(x), g.value(x), rtol=1e-14)
    assert f.fingerprint() == g.fingerprint()
    assert f.fingerprint() != MatrixCompletion(observations).fingerprint()


def test_questions_are_counted_as_for_every_finite_sum(rng, observations):
    f, x = MatrixCompletion(observations), np.zeros(SHAPE)
    f.value(x)
    f.gradient(x)
    f.batch_gradient(x, np.arange(3))
    f.partial_derivatives(x, np.arange(4))
    f.metrics(x)
    assert f.counts == bsfw.Counts(sample_gradients=23, coordinate_gradients=4, function_values=1, full_gradients=1)


def test_intercepts_leave_out_what_rows_and_columns_have_in_common(rng):
    rows, cols = (part.ravel() for part in np.indices((40, 30)))
    values = 3.0 + rng.standard_normal(40)[rows] + rng.standard_normal(30)[cols]
    f = MatrixCompletion((rows, cols, values, (40, 30)), "squared", intercepts=True, test=(rows, cols, values))
    assert np.std(f.y) < 0.2 * np.std(values)  # damped, so not zero
    zero = LowRank.zeros((40, 30)).with_intercepts(f.intercepts)
    assert np.allclose(zero.predict(rows, cols), values - f.y)
    assert f.metrics(zero)["test_rmse"] == pytest.approx(np.sqrt(np.mean(f.y**2)))


def test_unseen_rows_and_columns_have_no_intercept_and_weights_count():
    fitted = Intercepts.fit(np.array([0, 0]), np.array([0, 1]), np.array([1.0, 4.0]), np.array([3.0, 1.0]), (3, 3))
    assert fitted.constant == 1.75
    assert (fitted.rows[1:] == 0).all()
    assert fitted.cols[2] == 0
    assert fitted.cols[0] < 0 < fitted.cols[1]


def test_test_loss_and_rmse_are_those_of_the_held_out_entries(rng, observations):
    held_out = (np.array([0, 6]), np.array([4, 0]), np.array([2.0, 5.0]))
    f = MatrixCompletion(observations, test=held_out)
    x = rng.standard_normal(SHAPE)
    d = x[held_out[0], held_out[1]] - held_out[2]
    assert f.metrics(x) == pytest.approx(
        {"test_rmse": np.sqrt(np.mean(d**2)), "test_loss": np.mean(formula("bounded", d))}
    )
    assert MatrixCompletion(observations).metrics(x) == {}


def test_ratings_of_the_datasets_are_taken_as_they_are(observations):
    from bsfw.datasets.ratings import Ratings

    rows, cols, values, shape = observations
    ratings = Ratings(rows, cols, values, shape, np.arange(7), np.arange(5), "made", "here", "none", "none")
    assert MatrixCompletion(ratings).fingerprint() == MatrixCompletion(observations).fingerprint()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (([0, 7], [0, 0], [1.0, 1.0], SHAPE), "1 of 2 ids in rows are out of range"),
        (([0, 1], [0, -1], [1.0, 1.0], SHAPE), "1 of 2 ids in cols are out of range"),
        (([0, 1, 0], [2, 1, 2], [1.0, 1.0, 2.0], SHAPE), "1 entries are observed more than once, the first at row 0, "),
        (([0, 1], [0, 1], [1.0, np.nan], SHAPE), "1 entries that are NaN"),
        (([], [], [], SHAPE), "no observations"),
        (([0, 1], [0], [1.0, 1.0], SHAPE), "same length"),
        (([0], [0], [1.0], (0, 5)), "both at least 1"),
        (([0], [0], [1.0], (5,)), "both at least 1"),
    ],
)  # fmt: skip
def test_bad_observations_are_refused_in_a_sentence(given, sentence):
    rows, cols, values, shape = given
    given = (np.array(rows, dtype=int), np.array(cols, dtype=int), values, shape)
    with pytest.raises(ValueError, match=sentence):
        MatrixCompletion(given)


def test_bad_settings_are_refused_in_a_sentence(observations):
    rows, cols, values, shape = observations
    with pytest.raises(ValueError, match="loss must be one of 'bounded', 'squared', 'huber'"):
        MatrixCompletion(observations, "l1")
    with pytest.raises(ValueError, match="delta"):
        MatrixCompletion(observations, "huber", delta=0)
    with pytest.raises(ValueError, match="compression"):
        MatrixCompletion(observations, compression=1.0)
    with pytest.raises(ValueError, match="float32 or float64"):
        MatrixCompletion(observations, dtype=complex)
    with pytest.raises(ValueError, match="one entry per observation"):
        MatrixCompletion(observations, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="nonnegative"):
        MatrixCompletion(observations, sample_weight=-np.ones(20))
    with pytest.raises(TypeError, match="Ratings or as"):
        MatrixCompletion(np.zeros((3, 3)))
    with pytest.raises(TypeError, match=r"\(rows, cols, values, shape\), got tuple of length 3"):
        MatrixCompletion((rows, cols, values))
    with pytest.raises(TypeError, match="whole numbers"):
        MatrixCompletion((rows.astype(float), cols, values, shape))
    with pytest.raises(TypeError, match="real numbers"):
        MatrixCompletion((rows, cols, values.astype(str), shape))
    with pytest.raises(ValueError, match="test set is of the shape"):
        MatrixCompletion(observations, test=(rows, cols, values, (7, 6)))
    with pytest.raises(ValueError, match="batch_size must lie between 1 and the number of samples, 20, got 21"):
        bsfw.minimize(MatrixCompletion(observations), bsfw.NuclearBall(3.0), estimator=bsfw.SAGA(batch_size=21))
    for radius in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="radius must be a positive finite number"):
            bsfw.NuclearBall(radius)


def test_rows_and_columns_without_observations_are_fine():
    f = MatrixCompletion((np.array([3]), np.array([1]), np.array([2.0]), (9, 4)), "squared")
    result = bsfw.minimize(f, bsfw.NuclearBall(5.0), step="line-search", max_iter=3)
    assert np.isclose(result.x.entries([3], [1])[0], 2.0)
