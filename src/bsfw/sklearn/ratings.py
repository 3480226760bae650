"""Ratings of items by users as a regression: a matrix of small nuclear norm, and biases."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Array
from .._minimize import minimize
from .._refusals import Refusing
from ..constraints import NuclearBall
from ..objectives import MatrixCompletion
from ..objectives._checks import weights as checked_weights
from ._parts import warn_if_missed

ACCEPTABLE = 1e-2
"""The relative gap beyond which a fit warns: smaller ones hardly change a prediction."""


class RatingRegressor(Refusing, RegressorMixin, BaseEstimator):
    """Predict ratings from two columns of ids, of users and of items.

    A mean, a bias of each user and item, and a matrix in a ball of the nuclear norm. A user or an item that was not in
    the training data is answered by what is known of the other side, at last by the mean. Several ratings of an item by
    one user count as their mean, with their weights added up.

    Parameters
    ----------
    radius : float, optional
        Of the ball. Default: by the size of the data (`MatrixCompletion.default_constraint`).
    columns : tuple of int
        Which two columns of X hold the ids of users and items; others are not looked at.
    implicit : bool
        Whether what a user has rated says something of their taste, whatever the ratings.
    biases : float
        Ridge on the biases.
    tol : float
        The fit ends once the gap is this fraction of the loss of zero predictions; it warns only beyond 1e-2.
    max_iter : int
        Iterations at most.
    random_state : int, optional
        Of the start of the singular vectors.

    Attributes
    ----------
    model_ : CompletionModel
        Predicts by ids, and recommends: ``model_.top(user, 10)``.
    radius_, dual_gap_ : float
    n_iter_ : int
    n_features_in_, feature_names_in_
        Of the data.
    """

    def __init__(
        self,
        radius: float | None = None,
        *,
        columns: tuple[int, int] = (0, 1),
        implicit: bool = False,
        biases: float = 4.0,
        tol: float = 1e-9,
        max_iter: int = 100,
        random_state: int | None = None,
    ) -> None:
        self.radius = radius
        self.columns = columns
        self.implicit = implicit
        self.biases = biases
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RatingRegressor:
        """Fit the matrix.

        Parameters
        ----------
        X : array or table, (m, 2)
            Ids of users and items, of any kind that can be sorted.
        y : array, (m,)
            Ratings.
        sample_weight : array, (m,), optional

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=None, ensure_min_features=2, y_numeric=True)
        users, items = self._ids(X)
        weight = np.ones(len(y)) if sample_weight is None else checked_weights(sample_weight, len(y))
        used = weight > 0
        user_ids, rows = np.unique(users[used], return_inverse=True)
        item_ids, cols = np.unique(items[used], return_inverse=True)
        entries, which = np.unique(rows * len(item_ids) + cols, return_inverse=True)
        total = np.bincount(which, weights=weight[used])
        values = np.bincount(which, weights=weight[used] * np.asarray(y, dtype=np.float64)[used]) / total
        rows, cols = np.divmod(entries, len(item_ids))
        objective = MatrixCompletion(
            (rows, cols, values, (len(user_ids), len(item_ids))), "squared", biases=self.biases,
            implicit=self.implicit, sample_weight=total,
        )  # fmt: skip
        ball = objective.default_constraint() if self.radius is None else NuclearBall(self.radius)
        assert isinstance(ball, NuclearBall)
        null = 0.5 * float(np.average(np.square(objective.y), weights=total)) + np.finfo(float).tiny
        result = minimize(
            objective, ball, method="corrective", gap_tol=self.tol * null, max_iter=self.max_iter,
            rng=0 if self.random_state is None else self.random_state,
        )  # fmt: skip
        if not result.success:
            warn_if_missed(result.gap, max(self.tol, ACCEPTABLE) * null, result.message)
        self.model_ = dataclasses.replace(result.model, user_ids=user_ids, item_ids=item_ids)
        self.radius_, self.dual_gap_, self.n_iter_ = ball.radius, result.gap, max(1, result.nit)
        return self

    def predict(self, X: Any) -> Array:
        """Expected ratings, (m,).

        Parameters
        ----------
        X : array or table, (m, 2)

        Returns
        -------
        array, (m,)
        """
        check_is_fitted(self)
        ratings: Array = self.model_.predict(*self._ids(validate_data(self, X, reset=False, dtype=None)))
        return ratings

    def _ids(self, X: Any) -> tuple[Array, Array]:
        X = np.asarray(X)
        found = X[:, self.columns[0]], X[:, self.columns[1]]
        if X.dtype == object:  # columns of a table may be of different kinds
            return np.array(found[0].tolist()), np.array(found[1].tolist())
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.regressor_tags.poor_score = True
        return tags
