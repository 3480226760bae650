"""The radius chosen by cross-validation: one warm path per fold, the folds in parallel."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..constraints.base import Constraint
from ..objectives.linear_model import LinearModel
from ..paths import RadiusPath, radius_path
from . import _parts
from .linear import FrankWolfeClassifier, FrankWolfeRegressor, LinearEstimator

RULES = ("best", "one-standard-error")


class CrossValidated(LinearEstimator):
    """What the classifier and the regressor with a chosen radius share."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
        """Choose the radius on held-out samples, and fit the coefficients for it on all.

        Parameters
        ----------
        X : array, sparse matrix or table, (m, n)
        y : array, (m,)
        sample_weight : array, (m,), optional
            Nonnegative; in training and, with the default `scoring`, on held-out samples.
        **params
            ``groups`` for the splitter; with scikit-learn's metadata routing what splitter and scorer ask for.

        Returns
        -------
        self
        """
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, got {self.rule!r}.")
        if isinstance(self.constraint, Constraint):
            raise ValueError(
                f"radii= needs a constraint for every radius, but {self.constraint!r} is one set; give a name such as "
                "'l1', or a function from a radius to a set."
            )
        X, y = self._validated(X, y=y)
        targets, weight = self._encode(y, sample_weight)
        for_split, for_score = self._routed(sample_weight, params)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        folds = list(splitter.split(X, y, **for_split))
        scorer = None if self.scoring is None else check_scoring(self, self.scoring)
        objective = self._objective(X, targets, weight)
        path = self._path(objective, self.radii)
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_score_fold)(self, path.radii, (X, y, targets, weight), fold, scorer, for_score) for fold in folds
        )
        self._choose(path, np.array(scores).T)
        chosen = path.results[self.best_index_]
        if not chosen.success:
            _parts.warn_if_missed(chosen.gap, self._tolerance(objective).acceptable, chosen.message)
        return self

    def _path(self, objective: LinearModel, radii: Any) -> RadiusPath:
        make, target = _parts.set_type(self.constraint, self.positive), self._tolerance(objective).target
        assert target is not None
        return radius_path(objective, make, radii, gap_tol=target, max_iter=self.max_iter)

    def _tolerance(self, objective: LinearModel) -> _parts.Tolerance:
        return _parts.tolerance(self.tol, objective, _parts.set_type(self.constraint, self.positive)(1.0), None)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What goes to the splitter, and what to the scorer."""
        if get_config()["enable_metadata_routing"]:
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **given, **params)
            return routed.splitter.split, routed.scorer.score if self.scoring is not None else {}
        if unknown := set(params) - {"groups"}:
            raise TypeError(
                f"fit got {', '.join(sorted(unknown))}; beside sample_weight and groups it takes what metadata routing "
                "routes: sklearn.set_config(enable_metadata_routing=True)."
            )
        return params, {}

    def get_metadata_routing(self) -> MetadataRouter:
        """What splitter and scorer are given of the parameters of `fit`."""
        mapping = MethodMapping()
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(splitter=check_cv(self.cv), method_mapping=mapping.add(caller="fit", callee="split"))
        if self.scoring is not None:
            scorer = check_scoring(self, self.scoring)
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def _choose(self, path: RadiusPath, scores: Array) -> None:
        """By the rule, from the scores on held-out samples, (radii, folds)."""
        mean, deviation = scores.mean(axis=1), scores.std(axis=1)
        radii, folds = path.radii, scores.shape[1]
        best = min(range(len(radii)), key=lambda k: (-mean[k], radii[k]))
        if self.rule == "one-standard-error" and folds > 1:
            error = scores[best].std(ddof=1) / np.sqrt(folds)
            within = [k for k in range(len(radii)) if mean[k] >= mean[best] - error]
            best = min(within, key=lambda k: radii[k])
        self.radii_, self.path_ = radii, path
        self.cv_results_ = {"radius": radii, "mean_test_score": mean, "std_test_score": deviation}
        self.cv_results_ |= {f"split{k}_test_score": scores[:, k] for k in range(folds)}
        self.best_index_, self.best_score_ = best, float(mean[best])
        result = path.results[best]
        self._learn(result, float(result.get("multiplier", np.nan)), radii[best])

    def plot_path(self, ax: Any = None, **style: Any) -> Any:
        """Draw the coefficients against the radius, the chosen one marked, and return the axes (needs matplotlib)."""
        check_is_fitted(self, "path_")
        ax = self.path_.plot(ax, **style)
        ax.axvline(self.radius_, color="0.4", linestyle="--")
        ax.set_ylabel("coefficient")
        return ax


def _score_fold(
    estimator: CrossValidated,
    radii: Array,
    data: tuple[Any, ...],
    fold: tuple[Array, Array],
    scorer: Any,
    params: dict[str, Any],
) -> list[float]:
    """The scores of a path on the training part of a fold, on its other part."""
    (X, y, targets, weight), (train, test) = data, fold
    objective = estimator._objective(X[train], targets[train], None if weight is None else weight[train])
    results, rows = estimator._path(objective, radii).results, X[test]
    if scorer is None:
        held_out = None if weight is None else weight[test]
        margins = (np.asarray(rows @ result.x, dtype=np.float64) + result.get("intercept", 0.0) for result in results)
        return [-float(np.average(objective._phi(z, targets[test]), weights=held_out)) for z in margins]
    scores, given = [], {name: np.asarray(value)[test] for name, value in params.items() if value is not None}
    for result in results:
        fitted = copy.copy(estimator)
        fitted.__dict__.update(estimator._fitted(result))
        scores.append(float(scorer(fitted, rows, y[test], **given)))
    return scores


_OWN = """    radii : int or sequence of float
        Candidates, or how many: they then grow by a constant factor up to where the constraint all but stops to bind.
    cv : int, splitter or iterable, optional
        As in scikit-learn; default: five folds, of a classifier stratified.
    scoring : str or callable, optional
        A scorer of scikit-learn; default: the negative mean loss.
    rule : {"best", "one-standard-error"}
        The radius of the best mean score; or the smallest one whose mean score is within one standard error of it.
    n_jobs : int, optional
        Folds at a time, by joblib.
"""
_LEARNED = """    radii_ : array
        The candidates; `radius_` is the one chosen, and `best_index_`, `best_score_` its place and mean score.
    cv_results_ : dict
        By radius: ``mean_test_score``, ``std_test_score``, ``split0_test_score``, ...
    path_ : RadiusPath
        The solutions on all samples; `plot_path` draws it.
"""


def _documented(alone: type, first_line: str) -> str:
    """The documentation of the estimator with one radius, with what is different."""
    text = str(alone.__doc__)
    start, end = text.index("    radius : float"), text.index("    loss :")
    dropped = text.index("    solver :"), text.index("    tol :")
    warm = text.index("    warm_start :"), text.index("    verbose :")
    kept = text[end : dropped[0]] + text[dropped[1] : warm[0]] + text[warm[1] :]
    return first_line + text[text.index("\n") : start] + _OWN + kept + _LEARNED


class FrankWolfeRegressorCV(CrossValidated, FrankWolfeRegressor):
    __doc__ = _documented(FrankWolfeRegressor, "`FrankWolfeRegressor` with a radius chosen by cross-validation.")

    solver, estimator, warm_start, random_state = "auto", None, False, None

    def __init__(
        self,
        radii: Any = 20,
        *,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: Any = "squared",
        constraint: Any = "l1",
        positive: bool = False,
        fit_intercept: bool = True,
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
    ) -> None:
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.loss = loss
        self.constraint = constraint
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose


class FrankWolfeClassifierCV(CrossValidated, FrankWolfeClassifier):
    __doc__ = _documented(FrankWolfeClassifier, "`FrankWolfeClassifier` with a radius chosen by cross-validation.")

    solver, estimator, warm_start, random_state = "auto", None, False, None

    def __init__(
        self,
        radii: Any = 20,
        *,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: Any = "logistic",
        constraint: Any = "l1",
        positive: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
    ) -> None:
        self.radii = radii
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.loss = loss
        self.constraint = constraint
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
