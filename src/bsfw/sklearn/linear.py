"""Linear classifiers and regressors whose coefficients lie in a set: thin shells around `bsfw.minimize`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Array
from .._minimize import minimize
from .._refusals import Refusing
from ..objectives._checks import weights as checked_weights
from ..objectives.linear_model import LinearModel
from ..results import Result
from . import _parts
from ._callbacks import CallbackSupportMixin, FitTask, listens, with_callbacks
from ._stream import Stream


def _follows_a_stream(estimator: Any) -> bool:
    return bool(estimator.solver == "stochastic")


class LinearEstimator(Refusing, CallbackSupportMixin, BaseEstimator):
    """What the classifier and the regressor share. A subclass encodes targets, and says what coefficients look like.

    The objective has one column of coefficients or one for each class, scikit-learn one row; `_fitted` turns them.
    """

    def _validated(self, X: Any, reset: bool = True, **targets: Any) -> Any:
        """X, and y if it is given, as scikit-learn takes them."""
        if targets:
            targets["y_numeric"] = isinstance(self, RegressorMixin)
        dtypes = [np.float64, np.float32]
        found = validate_data(self, X, **targets, reset=reset, accept_sparse="csr", dtype=dtypes, order="C")
        data = found[0] if targets else found
        if not (isinstance(data, np.ndarray) or hasattr(data, "tocsr")):
            raise TypeError(
                f"{type(self).__name__} computes with NumPy arrays and SciPy's sparse ones, got X of the type "
                f"{type(data).__name__}; convert it to a NumPy array."
            )
        return found

    def _loss(self) -> _parts.Loss:
        raise NotImplementedError

    def _encode(self, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
        """Targets for the objective, and weights; a classifier learns its classes."""
        raise NotImplementedError

    def _objective(self, X: Any, y: Array, weight: Array | None) -> LinearModel:
        return self._loss()(X, y, intercept=self.fit_intercept, sample_weight=weight)

    def _fitted(self, result: Result) -> dict[str, Any]:
        """The attributes `coef_` and `intercept_` of a result."""
        x: Array = result.x
        intercept = np.asarray(result.get("intercept", np.zeros(x.shape[1:])), dtype=x.dtype)
        if isinstance(self, RegressorMixin):
            return {"coef_": x, "intercept_": x.dtype.type(intercept)}
        return {"coef_": np.atleast_2d(x.T), "intercept_": np.atleast_1d(intercept)}

    def _variable(self, coef: Array, shape: tuple[int, ...]) -> Array | None:
        """Earlier coefficients as a point of the objective; None if they are of another shape."""
        x = coef.T.reshape(shape) if coef.size == np.prod(shape) else None
        return None if x is None else np.ascontiguousarray(x)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array, sparse matrix or table, (m, n)
        y : array, (m,)
        sample_weight : array, (m,), optional
            Nonnegative; only their ratios matter.

        Returns
        -------
        self
        """
        X, y = self._validated(X, y=y)
        targets, weight = self._encode(y, sample_weight)
        objective = self._objective(X, targets, weight)
        constraint = _parts.set_type(self.constraint, self.positive)(self.radius)
        estimator = _parts.gradient_estimator(self.solver, self.estimator)
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            x = self._variable(self.coef_, objective.shape)
            start = None if x is None else _parts.feasible_start(constraint, x)
        task = FitTask(self, X, y, self.max_iter, self._fitted) if listens(self) else None
        ends = _parts.tolerance(self.tol, objective, constraint, estimator)
        result = minimize(
            objective, constraint, x0=start, estimator=estimator, gap_tol=ends.target, max_iter=self.max_iter,
            rng=0 if estimator is None else _parts.seed_of(self.random_state), verbose=bool(self.verbose),
            callback=None if task is None else task.iteration,
        )  # fmt: skip
        self._learn(result, _parts.multiplier(objective, constraint, result), getattr(constraint, "radius", np.nan))
        if task is not None:
            task.end(result)
        if not result.success:
            _parts.warn_if_missed(result.gap, ends.acceptable, result.message)
        return self

    def _learn(self, result: Result, alpha: float, radius: float) -> None:
        self.__dict__.update(self._fitted(result))
        self.n_iter_ = max(1, result.nit)  # a look that finds nothing left to do is one
        self.dual_gap_, self.alpha_, self.radius_, self.trace_ = result.gap, alpha, float(radius), result.trace
        self.__dict__.pop("_stream", None)

    def _partial_fit(self, X: Any, targets: Array, weight: Array | None) -> Self:
        """A step of Heavy Ball on the next batch of a stream; the objective must be made for it."""
        objective = self._objective(X, targets, weight)
        constraint = _parts.set_type(self.constraint, self.positive)(self.radius)
        if "_stream" not in vars(self):
            x = self._variable(self.coef_, objective.shape) if hasattr(self, "coef_") else None
            self._stream = Stream.starting(self.estimator, None if x is None else _parts.feasible_start(constraint, x))
        self._stream = self._stream.step(objective, constraint)
        self.__dict__.update(self._fitted(self._stream.result()))
        self.n_iter_ = self._stream.state.iteration
        return self

    def _scores(self, X: Any) -> Array:
        """X w + b."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_PARAMETERS = """
    Parameters
    ----------
    radius : float
        The bound on the coefficients, > 0. Not looked at where `constraint` is a set, which has its own.
    loss : {losses} or callable
        {loss_text}
    constraint : {{"l1", "simplex", "l2", "linf", "nuclear"}}, Constraint or callable
        Where the coefficients lie: a norm is at most `radius`; for "simplex" they are nonnegative with the sum
        `radius`. Or any set of bsfw, or a function from a radius to one such as
        ``functools.partial(bsfw.KSparse, 5)``.{shape}
    positive : bool
        Whether coefficients are nonnegative, with ``constraint="l1"``.
    fit_intercept : bool
        Whether there is an intercept, which is free: no constraint binds it.{class_weight}
    solver : {{"auto", "stochastic"}}
        The best method with exact gradients that fits, or the paper's with an estimate of the gradient.
    estimator : bsfw.Estimator, optional
        Of the gradient, for ``solver="stochastic"``; default `bsfw.SAGA`.
    tol : float, optional
        The fit ends once the exact Frank-Wolfe gap, a bound of what is left to gain, is this fraction of the loss of
        zero coefficients{null}; a fit that misses it warns. Default: 1e-10; where the corrective method does not
        apply 1e-6, with a warning beyond 1e-3; none for the stochastic solver, which takes `max_iter` iterations.
    max_iter : int
        Iterations at most.
    warm_start : bool
        Whether a fit begins at the coefficients of the last one.
    random_state : int, RandomState or None
        Of the draws of the stochastic solver.
    verbose : bool
        Whether to show a progress line on stderr.

    Attributes
    ----------
    coef_, intercept_
        The coefficients, {coef}, and the intercept.
    n_iter_ : int
        Iterations; of a stream the batches.
    dual_gap_ : float
        The exact Frank-Wolfe gap at `coef_`: for a convex loss the mean loss is at most so much above the least.
    alpha_ : float
        The multiplier of the constraint: the same coefficients minimise mean loss + alpha_ * norm.
    radius_ : float
        That of the set.
    trace_ : Trace
        The recorded iterations.
    n_features_in_, feature_names_in_
        Of the data.
"""


class FrankWolfeRegressor(RegressorMixin, LinearEstimator):
    __doc__ = "Linear regression with coefficients in a set, such as an l1 ball, and a certificate.\n" + (
        _PARAMETERS.format(
            losses='{"squared", "huber", "tukey"}',
            loss_text="Of a residual; or what makes an objective: ``functools.partial(bsfw.Huber, delta=2.0)``.",
            shape="",
            class_weight="",
            null="",
            coef="(n,)",
        )
    )

    def __init__(
        self,
        radius: float = 1.0,
        *,
        loss: Any = "squared",
        constraint: Any = "l1",
        positive: bool = False,
        fit_intercept: bool = True,
        solver: str = "auto",
        estimator: Any = None,
        tol: float | None = None,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.radius = radius
        self.loss = loss
        self.constraint = constraint
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.estimator = estimator
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> _parts.Loss:
        return _parts.named_loss(self.loss, _parts.REGRESSION)

    def _encode(self, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
        return np.asarray(y), None if sample_weight is None else checked_weights(sample_weight, len(y))

    @available_if(_follows_a_stream)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """A step of Heavy Ball on the next batch of a stream.

        Parameters
        ----------
        X : array or sparse matrix, (b, n)
        y : array, (b,)
        sample_weight : array, (b,), optional

        Returns
        -------
        self
        """
        X, y = self._validated(X, y=y, reset=not hasattr(self, "coef_"))
        return self._partial_fit(X, *self._encode(y, sample_weight))

    def predict(self, X: Any) -> Array:
        """The expected targets, (m,)."""
        return self._scores(X)


class FrankWolfeClassifier(ClassifierMixin, LinearEstimator):
    __doc__ = "Logistic regression with coefficients in a set, such as an l1 ball, and a certificate.\n" + (
        _PARAMETERS.format(
            losses='{"logistic", "sigmoid-squared"}',
            loss_text="The logistic loss, multinomial for more than two classes; or for two the squared error of the\n"
            "        probability, which is nonconvex and robust.",
            shape=" With\n        more than two classes the variable is a matrix, (n, classes).",
            class_weight='\n    class_weight : dict or "balanced", optional\n'
            "        Weights of the classes, times those of the samples.",
            null=", log(classes)",
            coef="(1, n) or (classes, n)",
        )
        + "    classes_ : array\n        The labels.\n"
    )

    def __init__(
        self,
        radius: float = 10.0,
        *,
        loss: Any = "logistic",
        constraint: Any = "l1",
        positive: bool = False,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        estimator: Any = None,
        tol: float | None = None,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.radius = radius
        self.loss = loss
        self.constraint = constraint
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.solver = solver
        self.estimator = estimator
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _loss(self) -> _parts.Loss:
        return _parts.classification_loss(self.loss, len(self.classes_))

    def _encode(self, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
        check_classification_targets(y)
        self.classes_, which = np.unique(y, return_inverse=True)
        weight = None if sample_weight is None else checked_weights(sample_weight, len(y))
        here = self.classes_ if weight is None else np.unique(y[weight > 0])
        if len(here) < max(2, len(self.classes_)):
            given = "y holds" if weight is None else "the samples of positive sample_weight are of"
            only = f"one class only, {here.tolist()[0]!r}" if len(here) == 1 else f"{len(here)} of the classes only"
            raise ValueError(f"{given} {only}; give samples of every class, of at least two.")
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            weight = checked_weights(by_class if weight is None else weight * by_class, len(y))
        return self._targets(which), weight

    def _targets(self, which: Array) -> Array:
        """Numbers of classes as the objective takes them."""
        if len(self.classes_) > 2:
            return which
        return which if self.loss == "sigmoid-squared" else np.where(which == 1, 1.0, -1.0)

    @available_if(_follows_a_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """A step of Heavy Ball on the next batch of a stream.

        A batch need not hold every class: for the intercept it is joined by one sample of each class at the origin.

        Parameters
        ----------
        X : array or sparse matrix, (b, n)
        y : array, (b,)
        classes : array
            All labels that will come; needed at the first call.
        sample_weight : array, (b,), optional

        Returns
        -------
        self
        """
        first = not hasattr(self, "classes_")
        X, y = self._validated(X, y=y, reset=first)
        if first:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit: all labels that will come.")
            self.classes_ = np.unique(classes)
            if len(self.classes_) < 2:
                raise ValueError(f"classes must hold at least two classes, got {classes!r}.")
        if unknown := set(np.unique(y).tolist()) - set(self.classes_.tolist()):
            raise ValueError(f"y holds the labels {sorted(unknown)}, which are none of the classes {self.classes_}.")
        weight = np.ones(len(y)) if sample_weight is None else checked_weights(sample_weight, len(y))
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        k = len(self.classes_)
        which = np.concatenate((np.searchsorted(self.classes_, y), np.arange(k)))
        weight = np.concatenate((weight, np.full(k, float(bool(self.fit_intercept)))))
        return self._partial_fit(_with_zeros(X, k), self._targets(which), weight)

    def decision_function(self, X: Any) -> Array:
        """Margins, (m,) or (m, classes): the larger, the surer the class, that of `classes_[1]` of two."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)])

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, without its rounding to zero."""
        z = self.decision_function(X)
        z = np.column_stack((np.zeros_like(z), z)) if z.ndim == 1 else z
        z = z - z.max(axis=1, keepdims=True)
        return np.asarray(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, a column for each in the order of `classes_`."""
        p = np.exp(self.predict_log_proba(X))
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def _with_zeros(X: Any, rows: int) -> Any:
    """X, and so many rows of zeros."""
    if isinstance(X, np.ndarray):
        return np.vstack((X, np.zeros((rows, X.shape[1]), dtype=X.dtype)))
    import scipy.sparse as sp

    return sp.vstack((X, sp.csr_array((rows, X.shape[1]), dtype=X.dtype)), format="csr")
