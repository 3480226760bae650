"""f* of a problem and the penalty that belongs to its radius, found off the clock."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from .data import Array, Problem


@dataclass(frozen=True)
class Reference:
    """The optimum, and the penalised problem with the same solution.

    Attributes
    ----------
    value : float
        f at the best feasible point known, f*.
    error : float
        Its exact Frank-Wolfe gap relative to f*: f* is certified to this relative accuracy.
    C : float
        Liblinear's C: min C sum_i phi_i(x) + ||x||_1 has the solution of the constrained problem.
    penalty : float
        lambda = 1/(C m): min f(x) + lambda ||x||_1.
    """

    value: float
    error: float
    C: float
    penalty: float


def liblinear(problem: Problem, C: float, tol: float, max_iter: int = 60) -> Array:
    """Scikit-learn's l1-penalised logistic regression without intercept. Beyond some 60 Newton steps it only stalls."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=C, l1_ratio=1.0, solver="liblinear", tol=tol, max_iter=max_iter, fit_intercept=False, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is the point of a loose setting
        model.fit(problem.A, problem.y)
    return np.asarray(model.coef_[0])


@lru_cache(maxsize=8)
def reference(problem: Problem) -> Reference:
    """Find C with ||x(C)||_1 = tau by the secant method on log C, log ||x||_1; then f* and its certificate."""
    from scipy.optimize import root_scalar

    @cache
    def excess(log_C: float) -> float:
        size = np.abs(liblinear(problem, float(np.exp(log_C)), 1e-8)).sum()
        return float(np.log(max(size, 1e-12) / problem.tau))

    log_C = 0.0
    while excess(log_C) < 0:
        log_C += 1.0
    while excess(log_C - 1.0) > 0:  # step by step: where x = 0 there is no logarithm to extrapolate from
        log_C -= 1.0
    root = root_scalar(excess, x0=log_C - 1.0, x1=log_C, method="secant", xtol=1e-9, rtol=1e-9, maxiter=30).root
    C = float(np.exp(root))
    for tol in (1e-8, 1e-12):
        x = liblinear(problem, C, tol)
        x *= problem.tau / np.abs(x).sum()
        value = problem.value(x)
        error = problem.gap(x) / value
        if error < 1e-7:
            break
    return Reference(value, error, C, 1.0 / (C * problem.A.shape[0]))
