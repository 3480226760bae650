"""Missing entries of a table, filled by a matrix of small nuclear norm."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Array, inner
from .._minimize import minimize
from .._refusals import Refusing
from ..completion_path import completion_path
from ..constraints import NuclearBall
from ..constraints.base import Constraint
from ..objectives import MatrixCompletion
from ._parts import seed_of, warn_if_missed

FEWEST = 20
"""Observed entries from which on some are held out to choose the radius."""


class NuclearNormImputer(Refusing, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing entries (NaN) by matrix completion: the columns, scaled, are nearly of low rank.

    The fitted matrix U V^T minimises the squared error on the entries that are there over a ball of the nuclear norm.
    A row, new or of the training data, is filled by the ridge regression of its entries on V which that problem
    implies; entries that are there stay as they are.

    Parameters
    ----------
    radius : float, optional
        Of the ball, in scaled units. Default: chosen on entries held out.
    scale : bool
        Whether columns are brought to mean zero and variance one before, and back after; else to mean zero.
    validation : float
        The part of the entries held out to choose the radius.
    max_iter : int
        Iterations of a fit at most.
    random_state : int, RandomState or None
        Of the entries held out.

    Attributes
    ----------
    components_ : array, (k, n)
        V^T.
    mean_, scale_ : array, (n,)
        Of the columns; of one without an entry 0 and 1, so that it is filled by zeros.
    radius_, alpha_ : float
        The radius, and the multiplier of the ball.
    dual_gap_ : float
        The Frank-Wolfe gap of the fit.
    n_iter_ : int
    path_ : CompletionPath or None
        The errors by radius, where it was chosen.
    n_features_in_, feature_names_in_
        Of the data.
    """

    def __init__(
        self,
        radius: float | None = None,
        *,
        scale: bool = True,
        validation: float = 0.1,
        max_iter: int = 100,
        random_state: Any = None,
    ) -> None:
        self.radius = radius
        self.scale = scale
        self.validation = validation
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NuclearNormImputer:
        """Fit the columns.

        Parameters
        ----------
        X : array, (m, n)
            With NaN where an entry is missing.
        y : None
            Not looked at.

        Returns
        -------
        self
        """
        X = self._validated(X, reset=True)
        observed = ~np.isnan(X)
        if not observed.any():
            raise ValueError("X holds no entry that is not NaN; at least one is needed.")
        counts = np.maximum(observed.sum(axis=0), 1)
        self.mean_ = np.where(observed, X, 0.0).sum(axis=0, dtype=np.float64) / counts
        centred = np.where(observed, X - self.mean_, 0.0)
        self.scale_ = np.sqrt(np.square(centred).sum(axis=0) / counts) if self.scale else np.ones(X.shape[1])
        self.scale_[~(self.scale_ > 0.0)] = 1.0
        rows, cols = np.nonzero(observed)
        values = (centred / self.scale_)[rows, cols]
        objective = MatrixCompletion((rows, cols, values, X.shape), "squared")
        seed, self.path_ = seed_of(self.random_state), None
        ball: Constraint
        if self.radius is None and len(values) >= FEWEST and values.any():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that the best is the first or last: path_ shows it
                self.path_ = completion_path(objective, validation=self.validation, rng=seed)
            ball, start = NuclearBall(self.path_.best_radius), self.path_.best.x
        elif self.radius is None:
            ball, start = objective.default_constraint(), None
        else:
            ball, start = NuclearBall(self.radius), None
        assert isinstance(ball, NuclearBall)
        null = 0.5 * float(np.mean(np.square(values))) + np.finfo(float).tiny
        result = minimize(
            objective, ball, x0=start, method="corrective", gap_tol=1e-3 * null, max_iter=self.max_iter, rng=seed
        )  # fmt: skip
        if not result.success:
            warn_if_missed(result.gap, 1e-3 * null, result.message)
        x = result.x
        slope = objective.observed.derivatives(objective.margins(x))
        self.radius_, self.dual_gap_, self.n_iter_ = ball.radius, result.gap, max(1, result.nit)
        self.alpha_ = max(0.0, -float(inner(slope, objective.margins(x))) / len(values) / ball.radius)
        self.components_ = (x.right * np.sqrt(x.weights)).T.astype(np.float64)
        self._ridge = self.alpha_ * len(values)
        return self

    def transform(self, X: Any) -> Array:
        """X with its missing entries filled.

        Parameters
        ----------
        X : array, (m, n)

        Returns
        -------
        array, (m, n)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False).copy()
        observed = ~np.isnan(X)
        for i in np.flatnonzero(~observed.all(axis=1)):
            known = observed[i]
            V = self.components_[:, known]
            scaled = (X[i, known] - self.mean_[known]) / self.scale_[known]
            ridge = max(self._ridge, 1e-12 * float(np.square(V).sum())) * np.eye(len(V))
            row = np.linalg.solve(V @ V.T + ridge, V @ scaled) if V.any() else np.zeros(len(V))
            missing = ~known
            X[i, missing] = (row @ self.components_[:, missing]) * self.scale_[missing] + self.mean_[missing]
        return np.asarray(X)

    def _validated(self, X: Any, reset: bool) -> Array:
        return np.asarray(
            validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
