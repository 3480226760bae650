"""The cross-validated estimators, the imputer and the regression of ratings."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import sklearn
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bsfw
from bsfw.sklearn import (
    FrankWolfeClassifier,
    FrankWolfeClassifierCV,
    FrankWolfeRegressor,
    FrankWolfeRegressorCV,
    NuclearNormImputer,
    RatingRegressor,
)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", None])
def test_the_scores_are_those_of_a_grid_search(cancer, scoring):
    X, y = cancer
    found = FrankWolfeClassifierCV(radii=[1.0, 3.0, 9.0], cv=4, scoring=scoring).fit(X, y)
    grid = GridSearchCV(
        FrankWolfeClassifier(), {"radius": [1.0, 3.0, 9.0]}, cv=4, scoring=scoring or "neg_log_loss"
    ).fit(X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-6)
    assert found.radius_ == grid.best_params_["radius"]
    np.testing.assert_allclose(found.coef_, grid.best_estimator_.coef_, atol=1e-6)
    assert found.alpha_ == pytest.approx(grid.best_estimator_.alpha_, rel=1e-4)
    assert found.path_.x.shape == (3, 30)


def test_radii_come_from_the_data_and_the_rule_prefers_small_ones(cancer):
    X, y = cancer
    best = FrankWolfeClassifierCV(radii=8, cv=3).fit(X, y)
    small = FrankWolfeClassifierCV(radii=8, cv=3, rule="one-standard-error", n_jobs=2).fit(X, y)
    assert len(best.radii_) == 8
    assert small.radius_ <= best.radius_
    np.testing.assert_allclose(best.cv_results_["mean_test_score"], small.cv_results_["mean_test_score"])
    assert best.plot_path().get_xlabel() == "radius"


def test_folds_in_parallel_give_the_same(cancer):
    model = FrankWolfeClassifierCV(radii=[1.0, 3.0], cv=2, n_jobs=2)
    alone = FrankWolfeClassifierCV(radii=[1.0, 3.0], cv=2).fit(*cancer)
    with parallel_config("threading"):
        together = model.fit(*cancer)
    np.testing.assert_array_equal(together.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


def test_what_misses_its_tolerance_warns(cancer, rng):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        FrankWolfeClassifierCV(radii=[40.0, 50.0], cv=2, max_iter=1).fit(*cancer)
    X, y = ratings(rng)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RatingRegressor(tol=1e-12, max_iter=1).fit(X, y)
    holes = np.where(rng.random((40, 8)) < 0.2, np.nan, rng.standard_normal((40, 8)))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        NuclearNormImputer(radius=20.0, max_iter=1).fit(holes)


def test_groups_reach_the_splitter_and_weights_the_scorer(cancer):
    X, y = cancer
    groups, weight = np.arange(len(y)) % 5, 1.0 + np.arange(len(y)) % 2
    model = FrankWolfeRegressorCV(radii=[0.5, 1.0], cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert model.cv_results_["split2_test_score"].shape == (2,)
    with pytest.raises(TypeError, match="enable_metadata_routing"):
        FrankWolfeRegressorCV().fit(X, y, colour=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = sklearn.metrics.make_scorer(sklearn.metrics.accuracy_score).set_score_request(sample_weight=True)
        routed = FrankWolfeClassifierCV(radii=[0.5, 1.0], cv=GroupKFold(3), scoring=scorer)
        routed.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight, groups=groups)
    train, test = next(iter(GroupKFold(3).split(X, y, groups)))
    alone = FrankWolfeClassifier(0.5).fit(X[train], y[train], sample_weight=weight[train])
    expected = alone.score(X[test], y[test], sample_weight=weight[test])
    assert routed.cv_results_["split0_test_score"][0] == pytest.approx(expected)


def test_what_a_path_cannot_follow_is_refused(cancer):
    with pytest.raises(ValueError, match="one set"):
        FrankWolfeRegressorCV(constraint=bsfw.L1Ball(1.0)).fit(*cancer)
    with pytest.raises(ValueError, match="rule must be"):
        FrankWolfeRegressorCV(rule="median").fit(*cancer)


def low_rank(rng, m=80, n=12, rank=2):
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n)) * np.linspace(1, 9, n) + 5.0


def test_the_imputer_fills_what_a_mean_cannot(rng):
    full = low_rank(rng)
    holes = rng.random(full.shape) < 0.2
    X = np.where(holes, np.nan, full)
    filled = NuclearNormImputer(random_state=0).fit_transform(X)
    means = SimpleImputer().fit_transform(X)
    np.testing.assert_array_equal(filled[~holes], full[~holes])
    assert np.square(filled - full).mean() < 0.1 * np.square(means - full).mean()


def test_a_row_of_the_training_data_is_filled_by_its_own_fit(rng):
    """The ridge regression on V is the row of the fitted matrix itself, at the optimum."""
    full = low_rank(rng)
    X = np.where(rng.random(full.shape) < 0.2, np.nan, full)
    model = NuclearNormImputer(radius=20.0, scale=False, max_iter=300).fit(X)
    rows, cols = np.nonzero(~np.isnan(X))
    values = (X - model.mean_)[rows, cols]
    result = bsfw.minimize(
        bsfw.MatrixCompletion((rows, cols, values, X.shape), "squared"), bsfw.NuclearBall(20.0), method="corrective",
        gap_tol=1e-3 * 0.5 * np.mean(values**2), max_iter=300, rng=0,
    )  # fmt: skip
    fitted = result.model.entries(*np.indices(X.shape)) + model.mean_
    missing = np.isnan(X)
    np.testing.assert_allclose(model.transform(X)[missing], fitted[missing], atol=0.05 * np.abs(fitted).max())


def test_the_imputer_works_in_a_pipeline_with_names():
    frame, y = load_diabetes(return_X_y=True, as_frame=True)
    holes = np.random.default_rng(0).random(frame.shape) < 0.1
    X = frame.mask(holes)
    scores = cross_val_score(make_pipeline(NuclearNormImputer(random_state=0), LinearRegression()), X, y, cv=3)
    assert scores.mean() > 0.35
    out = NuclearNormImputer(random_state=0).set_output(transform="pandas").fit_transform(X)
    assert list(out.columns) == list(frame.columns)
    assert not out.isna().any().any()
    with pytest.raises(ValueError, match="not NaN"):
        NuclearNormImputer().fit(np.full((3, 2), np.nan))


def ratings(rng, users=40, items=30):
    table = low_rank(rng, users, items, 1) / 4 + rng.standard_normal(users)[:, None]
    i, j = np.nonzero(rng.random(table.shape) < 0.5)
    frame = pandas.DataFrame({"user": [f"u{k}" for k in i], "item": j})
    return frame, table[i, j]


def test_ratings_are_a_regression_of_two_columns_of_ids(rng):
    X, y = ratings(rng)
    scores = cross_val_score(RatingRegressor(), X, y, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.mean() > 0.6
    model = RatingRegressor().fit(X, y)
    unknown = pandas.DataFrame({"user": ["nobody", "u3"], "item": [999, 999]})
    cold = model.predict(unknown)
    assert cold[0] == pytest.approx(model.model_.constant)
    assert cold[1] == pytest.approx(
        model.model_.constant + model.model_.user_bias[list(model.model_.user_ids).index("u3")]
    )
    assert len(model.model_.top("u3", 3)) == 3


def test_several_ratings_of_one_item_count_as_their_mean(rng):
    X, y = ratings(rng)
    twice = pandas.concat([X, X.iloc[:50]], ignore_index=True)
    shifted = np.concatenate([y, y[:50] + 1.0])
    weight = np.where(np.arange(len(y)) < 50, 2.0, 1.0)
    merged = np.where(np.arange(len(y)) < 50, y + 0.5, y)
    expected = RatingRegressor().fit(X, merged, sample_weight=weight).predict(X)
    np.testing.assert_allclose(RatingRegressor().fit(twice, shifted).predict(X), expected, rtol=1e-9)


def test_a_regressor_on_the_solid_simplex_has_a_path_too():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = FrankWolfeRegressorCV(radii=5, cv=3, positive=True).fit(X, y)
    assert (model.coef_ >= 0).all()
    assert model.coef_.sum() <= model.radius_ * (1 + 1e-9)
    alone = FrankWolfeRegressor(model.radius_, positive=True).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-5)
