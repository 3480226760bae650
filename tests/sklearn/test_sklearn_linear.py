"""`bsfw.sklearn`: the answers of others, what is learned, and what is refused."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, learning_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bsfw
from bsfw.sklearn import FrankWolfeClassifier, FrankWolfeRegressor


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_the_solution_is_that_of_the_penalised_logistic_regression(cancer):
    X, y = cancer
    peer = LogisticRegression(l1_ratio=1.0, C=0.5, solver="saga", tol=1e-9, max_iter=100_000).fit(X, y)
    ours = FrankWolfeClassifier(radius=np.abs(peer.coef_).sum()).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)
    assert ours.alpha_ * 0.5 * len(y) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_the_solution_is_that_of_the_lasso(diabetes, positive, sparse):
    X, y = diabetes
    peer = Lasso(alpha=3.0, tol=1e-12, max_iter=100_000, positive=positive).fit(X, y)
    ours = FrankWolfeRegressor(radius=np.abs(peer.coef_).sum(), positive=positive).fit(
        sp.csr_array(X) if sparse else X, y
    )
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    assert ours.alpha_ == pytest.approx(3.0, rel=1e-5)
    assert ours.intercept_ == pytest.approx(peer.intercept_, rel=1e-9)


def test_weights_count_as_repetitions_in_loss_and_multiplier(diabetes):
    X, y = diabetes
    counts = 1 + np.arange(len(y)) % 3
    weighted = FrankWolfeRegressor(radius=40.0).fit(X, y, sample_weight=7.0 * counts)
    repeated = FrankWolfeRegressor(radius=40.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-6)


def test_more_classes_have_a_matrix_of_coefficients():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = FrankWolfeClassifier(radius=20.0, tol=1e-2).fit(X, names[y])
    assert model.coef_.shape == (3, 4)
    assert np.abs(model.coef_).sum() <= 20.0 * (1 + 1e-9)
    assert list(model.classes_) == list(names)
    assert list(model.feature_names_in_) == list(X.columns)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(proba), model.predict_log_proba(X))
    assert model.score(X, names[y]) > 0.9


def test_the_solution_is_that_of_the_penalised_multinomial_regression():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    peer = LogisticRegression(l1_ratio=1.0, C=0.5, solver="saga", tol=1e-10, max_iter=100_000).fit(X, y)
    ours = FrankWolfeClassifier(radius=np.abs(peer.coef_).sum()).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(
        ours.intercept_ - ours.intercept_.mean(), peer.intercept_ - peer.intercept_.mean(), atol=1e-5
    )
    assert ours.alpha_ * 0.5 * len(y) == pytest.approx(1.0, abs=1e-5)


def test_the_solution_is_that_of_the_group_lasso(diabetes):
    """Its optimality: a group with coefficients has a gradient of length alpha against them, another a shorter one."""
    X, y = diabetes
    groups = [[0, 1], [2, 3, 4], [5, 6, 7], [8, 9]]
    model = FrankWolfeRegressor(15.0, constraint=partial(bsfw.GroupBall, groups), tol=1e-12, max_iter=20_000)
    model.fit(X, y)
    correlation = X.T @ (y - X @ model.coef_ - model.intercept_) / len(y)
    norms = [np.linalg.norm(model.coef_[group]) for group in groups]
    assert sum(norms) == pytest.approx(15.0, rel=1e-9)
    assert 0 < sum(norm > 0 for norm in norms) < 4
    for group, norm in zip(groups, norms, strict=True):
        if norm > 0:
            expected = model.alpha_ * model.coef_[group] / norm
            np.testing.assert_allclose(correlation[group], expected, atol=1e-4 * model.alpha_)
        else:
            assert np.linalg.norm(correlation[group]) < model.alpha_


def test_the_simplex_gives_shares(diabetes):
    X, _ = diabetes
    shares = np.array([0.5, 0.3, 0.2])
    model = FrankWolfeRegressor(constraint="simplex", fit_intercept=False).fit(X[:, :3], X[:, :3] @ shares)
    np.testing.assert_allclose(model.coef_, shares, atol=1e-6)
    assert model.coef_.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "constraint",
    ["l2", "linf", bsfw.KSparse(3, 5.0), partial(bsfw.GroupBall, [[0, 1], [2, 3, 4], [5, 6, 7, 8, 9]])],
    ids=["l2", "linf", "k-sparse", "groups"],
)
def test_any_set_of_bsfw_is_a_constraint(diabetes, constraint):
    X, y = diabetes
    model = FrankWolfeRegressor(10.0, constraint=constraint, tol=1e-4, max_iter=5000).fit(X, y)
    objective = bsfw.LeastSquares(X, y, intercept=True)
    made = (
        {"l2": bsfw.L2Ball, "linf": bsfw.LinfBall}.get(constraint, constraint)
        if isinstance(constraint, str)
        else constraint
    )
    chosen = made if isinstance(made, bsfw.Constraint) else made(10.0)
    gradient = objective.gradient(model.coef_)
    gap = gradient @ model.coef_ - chosen.lmo(gradient).inner(gradient)
    assert chosen.contains(model.coef_)
    assert gap <= 1.01e-4 * objective.value(np.zeros(10))
    assert gap == pytest.approx(model.dual_gap_, rel=1e-6, abs=1e-9)


def test_single_precision_stays(cancer):
    X, y = cancer
    model = FrankWolfeClassifier(radius=5.0).fit(X.astype(np.float32), y)
    assert (
        model.coef_.dtype == model.intercept_.dtype == model.decision_function(X.astype(np.float32)).dtype == np.float32
    )
    np.testing.assert_allclose(model.coef_, FrankWolfeClassifier(radius=5.0).fit(X, y).coef_, atol=1e-2)


def test_a_warm_start_goes_on_where_the_last_fit_ended(cancer):
    X, y = cancer
    model = FrankWolfeClassifier(radius=5.0, warm_start=True).fit(X, y)
    before = model.coef_
    model.fit(X, y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.coef_, before, atol=1e-9)
    assert np.abs(model.set_params(radius=2.0).fit(X, y).coef_).sum() == pytest.approx(2.0)


def test_a_missed_tolerance_warns(cancer):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        FrankWolfeClassifier(radius=50.0, max_iter=1).fit(*cancer)


@pytest.mark.parametrize("estimator", [None, bsfw.HeavyBall(batch_size=50)])
def test_noisy_gradients_come_near(cancer, estimator):
    X, y = cancer
    noisy = FrankWolfeClassifier(5.0, solver="stochastic", estimator=estimator, max_iter=300, random_state=0).fit(X, y)
    assert noisy.score(X, y) > 0.95
    again = clone(noisy).fit(X, y)
    np.testing.assert_array_equal(noisy.coef_, again.coef_)


def test_a_stream_of_batches_is_learned_class_by_class(cancer):
    X, y = cancer
    stream = FrankWolfeClassifier(5.0, solver="stochastic")
    order = np.argsort(np.arange(len(y)) % 7 + 10 * (np.arange(len(y)) % 2), kind="stable")
    for batch in np.array_split(np.tile(order, 6), 120):
        stream.partial_fit(X[batch], y[batch], classes=[0, 1])
    stream.partial_fit(X[y == 1][:20], y[y == 1][:20])
    assert stream.n_iter_ == 121
    assert np.abs(stream.coef_).sum() <= 5.0 * (1 + 1e-9)
    assert stream.score(X, y) > 0.93
    assert not hasattr(FrankWolfeClassifier(), "partial_fit")
    with pytest.raises(ValueError, match="HeavyBall"):
        FrankWolfeClassifier(solver="stochastic", estimator=bsfw.SAGA()).partial_fit(X, y, classes=[0, 1])


def test_callbacks_of_sklearn_see_every_iteration(cancer):
    pytest.importorskip("sklearn.callback")

    class Watch:
        scores, setups = [], 0

        def setup(self, estimator, context):
            Watch.setups += 1

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator, X, y):
            Watch.scores.append(fitted_estimator.score(X, y))
            return len(Watch.scores) == 2

        def teardown(self, estimator, context):
            Watch.setups -= 1

    with pytest.warns(ConvergenceWarning, match="StopIteration"):
        FrankWolfeClassifier(20.0).set_callbacks(Watch()).fit(*cancer)
    assert len(Watch.scores) == 3  # two iterations, and the fit
    assert Watch.setups == 0


def test_at_home_in_the_tools_of_model_selection(cancer):
    X, y = cancer
    search = GridSearchCV(FrankWolfeClassifier(), {"radius": [1.0, 5.0], "class_weight": [None, "balanced"]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.94
    assert CalibratedClassifierCV(FrankWolfeClassifier(5.0), cv=3).fit(X, y).score(X, y) > 0.94
    assert TunedThresholdClassifierCV(FrankWolfeClassifier(5.0), cv=3).fit(X, y).score(X, y) > 0.94
    importance = permutation_importance(search.best_estimator_, X, y, n_repeats=2, random_state=0).importances_mean
    assert (importance[search.best_estimator_.coef_[0] == 0.0] == 0.0).all()
    _, _, scores = learning_curve(FrankWolfeClassifier(5.0), X, y, cv=3, train_sizes=[0.2, 1.0])
    assert scores.shape == (2, 3)
    assert scores[1].mean() > 0.94
    assert (
        OneVsRestClassifier(FrankWolfeClassifier(5.0))
        .fit(*load_iris(return_X_y=True))
        .score(*load_iris(return_X_y=True))
        > 0.9
    )


def test_a_table_of_words_and_numbers_in_a_pipeline():
    frame = load_iris(as_frame=True).frame
    kind = np.array(["small", "large"])[(frame["petal width (cm)"] > 1.0).astype(int)]
    frame = frame.assign(kind=kind)
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["sepal width (cm)"]))
    model = make_pipeline(encode, FrankWolfeRegressor(5.0)).fit(frame, frame["petal length (cm)"])
    assert model.score(frame, frame["petal length (cm)"]) > 0.8
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert "radius=5.0" in repr(model)
    assert "FrankWolfeRegressor" in model._repr_html_()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"radius": 0.0}, "radius"),
        ({"radius": -1.0}, "radius"),
        ({"constraint": "l3"}, "constraint must be one of"),
        ({"constraint": bsfw.L1Ball(1.0, weights=np.ones(3))}, "weights have the shape"),
        ({"constraint": "nuclear"}, "matri"),
        ({"constraint": "l2", "positive": True}, "positive=True"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"estimator": bsfw.SAGA()}, "solver='stochastic'"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_parameters_that_cannot_be_are_refused_by_name(cancer, settings, sentence):
    X, y = cancer
    with pytest.raises(ValueError, match=sentence):
        FrankWolfeClassifier(**settings).fit(X, y)


def test_data_that_cannot_be_are_refused_by_name(cancer):
    X, y = cancer
    for weight, sentence in ((-np.ones(len(y)), "nonnegative"), (np.zeros(len(y)), "zero"), (y == 0, "one class only")):
        with pytest.raises(ValueError, match=sentence):
            FrankWolfeClassifier().fit(X, y, sample_weight=np.asarray(weight, dtype=float))
    with pytest.raises(ValueError, match="one class only"):
        FrankWolfeClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="continuous"):
        FrankWolfeClassifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FrankWolfeRegressor().fit(X, y[1:])
    with pytest.raises(ValueError, match="NaN"):
        FrankWolfeRegressor().fit(np.where(np.arange(30) == 3, np.nan, X), y)
    with pytest.raises(ValueError, match="two classes"):
        FrankWolfeClassifier(loss="sigmoid-squared").fit(*load_iris(return_X_y=True))
