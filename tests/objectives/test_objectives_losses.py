"""The losses themselves: known values, thresholds, curvature, and other people's implementations."""

import numpy as np
import pytest
import scipy.special
import sklearn.linear_model
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from bsfw.objectives import (
    Huber,
    LeakySquared,
    LeastSquares,
    Logistic,
    Multinomial,
    ProbitSquared,
    SigmoidSquared,
    Tukey,
)


def at(loss, z, y, **parameters):
    """phi, phi' at one margin."""
    objective = loss(np.ones((1, 1)), [y], **parameters)
    return objective.value(np.array([z])), float(objective.gradient(np.array([z]))[0])


def optimum(objective):
    from scipy.optimize import minimize

    shape = objective.shape
    return minimize(
        lambda x: objective.value(x.reshape(shape)),
        np.zeros(int(np.prod(shape))),
        jac=lambda x: objective.gradient(x.reshape(shape)).ravel(),
        method="BFGS",
        options={"gtol": 1e-9},
    ).x.reshape(shape)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 4))
    return A, A @ [1.0, -2.0, 0.0, 0.5] + rng.standard_normal(60), rng.random(60)


def test_logistic_value_is_scikit_learns_log_loss(problem):
    A, t, weight = problem
    y, x = np.where(t > 0, 1, -1), np.array([0.3, -1.0, 2.0, 0.0])
    probability = scipy.special.expit(A @ x)
    objective = Logistic(A, y, sample_weight=weight)
    assert objective.value(x) == pytest.approx(
        sklearn.metrics.log_loss(y, probability, sample_weight=weight), rel=1e-12
    )


def test_logistic_optimum_is_scikit_learns(problem):
    A, t, weight = problem
    y = np.where(t > 0, 1, -1)
    model = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    model.fit(A, y, sample_weight=weight)
    objective = Logistic(A, y, intercept=True, sample_weight=weight)
    theirs = model.coef_[0]
    assert objective.fields(theirs)["intercept"] == pytest.approx(model.intercept_[0], rel=1e-4)
    assert objective.value(optimum(objective)) == pytest.approx(objective.value(theirs), rel=1e-8)
    assert np.linalg.norm(objective.gradient(theirs)) < 1e-5


def test_least_squares_value_and_optimum_are_scikit_learns(problem):
    A, t, weight = problem
    objective = LeastSquares(A, t, intercept=True, sample_weight=weight)
    model = sklearn.linear_model.LinearRegression().fit(A, t, sample_weight=weight)
    theirs = model.coef_
    assert objective.fields(theirs)["intercept"] == pytest.approx(model.intercept_, rel=1e-12)
    error = sklearn.metrics.mean_squared_error(t, model.predict(A), sample_weight=weight)
    assert objective.value(theirs) == pytest.approx(error / 2, rel=1e-12)
    np.testing.assert_allclose(objective.gradient(theirs), 0.0, atol=1e-12)


def test_multinomial_value_and_optimum_are_scikit_learns(problem):
    A, t, weight = problem
    y = np.array(["low", "mid", "high"])[np.digitize(t, [-1.5, 1.5])]
    objective = Multinomial(A, y, intercept=True, sample_weight=weight)
    assert objective.classes.tolist() == ["high", "low", "mid"]
    assert objective.shape == (4, 3)
    model = sklearn.linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000)
    model.fit(A, y, sample_weight=weight)
    theirs = model.coef_.T
    loss = sklearn.metrics.log_loss(y, model.predict_proba(A), sample_weight=weight, labels=model.classes_)
    assert objective.value(theirs) == pytest.approx(loss, rel=1e-10)
    assert objective.value(optimum(objective)) == pytest.approx(loss, rel=1e-7)


def test_multinomial_with_two_classes_is_logistic_in_the_difference(problem):
    A, t, _ = problem
    y, X = np.where(t > 0, 1, -1), np.random.default_rng(1).standard_normal((4, 2))
    assert Multinomial(A, y).value(X) == pytest.approx(Logistic(A, y).value(X[:, 1] - X[:, 0]), rel=1e-12)


def test_multinomial_ignores_a_common_shift_of_the_margins(problem):
    A, t, _ = problem
    objective = Multinomial(A, np.digitize(t, [-1.0, 1.0]))
    X = np.random.default_rng(1).standard_normal((4, 3))
    shift = np.random.default_rng(2).standard_normal((4, 1))
    assert objective.value(X + 1e3 * shift) == pytest.approx(objective.value(X), rel=1e-9)
    np.testing.assert_allclose(objective.gradient(X).sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.parametrize("y", [-1, 1])
@pytest.mark.parametrize("t", [-1e4, -800.0, -40.0, 0.0, 40.0, 700.0, 1e4])
def test_logistic_is_exact_in_its_tails(t, y):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, slope = at(Logistic, y * t, y)
    assert value == pytest.approx(scipy.special.xlog1py(1.0, np.exp(-t)) if t > -700 else -t, rel=1e-14, abs=0.0)
    assert slope == pytest.approx(-y * scipy.special.expit(-t), rel=1e-14, abs=0.0)


@settings(deadline=None, max_examples=50)
@given(z=st.floats(-50, 50), y=st.floats(-50, 50), delta=st.floats(0.01, 20))
def test_huber_is_scipys(z, y, delta):
    value, slope = at(Huber, z, y, delta=delta)
    assert value == pytest.approx(scipy.special.huber(delta, z - y), rel=1e-12, abs=1e-300)
    assert slope == pytest.approx(np.clip(z - y, -delta, delta), rel=1e-12, abs=1e-300)


@settings(deadline=None, max_examples=50)
@given(r=st.floats(-20, 20), c=st.floats(0.1, 10))
def test_tukey_is_the_biweight_formula(r, c):
    value, slope = at(Tukey, r, 0.0, c=c)
    u = (r / c) ** 2
    assert value == pytest.approx(c**2 / 6 * (1 - (1 - u) ** 3) if abs(r) <= c else c**2 / 6, rel=1e-9, abs=1e-12)
    assert slope == pytest.approx(r * (1 - u) ** 2 if abs(r) <= c else 0.0, rel=1e-9, abs=1e-12)


def test_tukey_known_values():
    assert at(Tukey, 6.0, 0.0)[0] == pytest.approx(4.685**2 / 6)
    assert at(Tukey, 0.5, 0.0, c=1.0)[0] == pytest.approx((1 - 0.75**3) / 6)
    assert at(Tukey, 1e-6, 0.0)[0] == pytest.approx(0.5e-12, rel=1e-9, abs=0.0)  # r^2/2 near zero, no digits lost


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("loss", "parameter"), [(Huber, "delta"), (Tukey, "c")])
def test_value_and_derivative_are_continuous_at_the_threshold(loss, parameter, sign):
    threshold, h = 1.7, 1e-7
    inside = at(loss, sign * (threshold - h), 0.0, **{parameter: threshold})
    outside = at(loss, sign * (threshold + h), 0.0, **{parameter: threshold})
    np.testing.assert_allclose(inside, outside, atol=4 * h)


@pytest.mark.parametrize("loss", [Logistic, LeastSquares, Huber, Tukey, SigmoidSquared, ProbitSquared])
def test_curvature_bound_holds_on_a_grid_and_is_attained(loss):
    z = np.linspace(-12, 12, 24001)
    unit = np.linspace(0, 1, 21)
    targets = {Logistic: [-1.0, 1.0], SigmoidSquared: unit, ProbitSquared: unit}.get(loss, [0.0])
    largest = 0.0
    for y in targets:
        objective = loss(np.ones((len(z), 1)), np.full(len(z), y))
        slopes = objective.derivatives(z)
        largest = max(largest, np.abs(np.diff(slopes) / np.diff(z)).max())
    bound = objective.image_smoothness() * len(z)
    assert 0.999 * bound <= largest <= bound * (1 + 1e-9)


def test_curvature_of_multinomial_is_attained_up_to_its_limit():
    p = np.array([0.5, 0.5, 0.0])
    hessian = np.diag(p) - np.outer(p, p)
    objective = Multinomial(np.ones((3, 1)), [0, 1, 2])
    assert objective.image_smoothness() * 3 == pytest.approx(np.linalg.norm(hessian, 2))


def test_sigmoid_squared_known_values():
    value, slope = at(SigmoidSquared, 0.0, 1.0)
    assert (value, slope) == (pytest.approx(0.125), pytest.approx(-0.125))
    assert at(SigmoidSquared, 50.0, 0.0)[1] == pytest.approx(
        np.exp(-50.0), rel=1e-12, abs=0.0
    )  # 1 - sigma(z) keeps its digits


def test_the_advised_mapping_works():
    y = np.array(["no", "yes", "no"])
    assert Logistic(np.eye(3), np.where(y == "yes", 1, -1)).y.tolist() == [-1.0, 1.0, -1.0]


@pytest.mark.parametrize("y", [[1, -1, 1], [1.0, -1.0, 1.0], np.array([1, -1, 1], dtype=np.int8)])
def test_signs_of_any_number_type_are_taken(y):
    assert Logistic(np.eye(3), y).y.dtype == np.float64


def test_many_labels_are_not_all_listed():
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4, \.\.\.;"):
        Logistic(np.eye(50), np.arange(50))


def test_multinomial_needs_two_classes():
    with pytest.raises(ValueError, match="at least two classes, but y holds only 'a'"):
        Multinomial(np.eye(2), ["a", "a"])


def test_sigmoid_squared_needs_targets_between_zero_and_one():
    with pytest.raises(ValueError, match=r"targets in \[0, 1\], but y runs from -1 to 1; .*\(y \+ 1\) / 2"):
        SigmoidSquared(np.eye(2), [-1, 1])
    with pytest.raises(ValueError, match=r"y runs from 0 to 1\.5"):
        SigmoidSquared(np.eye(2), [0, 1.5])


@pytest.mark.parametrize(("loss", "name"), [(Huber, "delta"), (Tukey, "c")])
@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "a"])
def test_thresholds_must_be_positive(loss, name, bad):
    with pytest.raises(ValueError, match=f"{name} must be a positive"):
        loss(np.eye(2), [0.0, 1.0], **{name: bad})


@pytest.mark.parametrize("loss", [Tukey, SigmoidSquared, ProbitSquared, LeakySquared])
def test_quasar_convexity_is_what_the_user_states(loss):
    assert loss(np.eye(2), [0.0, 1.0]).quasar_rho is None
    assert loss(np.eye(2), [0.0, 1.0], quasar_rho=0.3).quasar_rho == 0.3
    for bad in (0.0, -0.5, np.nan):
        with pytest.raises(ValueError, match="quasar_rho must be a positive"):
            loss(np.eye(2), [0.0, 1.0], quasar_rho=bad)
    with pytest.raises(ValueError, match=r"quasar_rho must lie in \]0, 1\], got 1.5"):
        loss(np.eye(2), [0.0, 1.0], quasar_rho=1.5)
