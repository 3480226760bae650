"""scikit-learn's own checks of an estimator: no skip, and no expected failure but for noise."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bsfw.sklearn import (
    FrankWolfeClassifier,
    FrankWolfeClassifierCV,
    FrankWolfeRegressor,
    FrankWolfeRegressorCV,
    NuclearNormImputer,
    RatingRegressor,
)

EXACT = [
    FrankWolfeRegressor(),
    FrankWolfeClassifier(),
    FrankWolfeRegressorCV(radii=4, cv=3),
    FrankWolfeClassifierCV(radii=4, cv=3),
    NuclearNormImputer(),
    RatingRegressor(),
]


STOCHASTIC = [FrankWolfeRegressor(solver="stochastic"), FrankWolfeClassifier(solver="stochastic")]


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """scikit-learn then checks that nothing changes where the array API is switched on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(EXACT)
def test_estimators_of_exact_solutions(estimator, check):
    check(estimator)


def noise(estimator):
    why = "draws differ where a weight is replaced by repeated samples, and noisy solutions do not agree to 1e-7"
    return dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"), why
    )


@parametrize_with_checks(STOCHASTIC, expected_failed_checks=noise)
def test_estimators_with_noisy_gradients(estimator, check):
    check(estimator)
