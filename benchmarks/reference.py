"""f* of a problem and the penalty that belongs to its radius, found off the clock."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import bsfw

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

    def suboptimality(self, value: float) -> float:
        """(f - f*)/f*."""
        return (value - self.value) / self.value


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


@lru_cache(maxsize=64)
def reference(problem: Problem) -> Reference:
    """By bsfw's corrective method; certified by the arithmetic of `Problem`, so that any solver's word would do."""
    path = bsfw.radius_path(
        bsfw.Logistic(problem.A, problem.y), bsfw.L1Ball, [problem.tau], gap_tol=1e-13, max_iter=60
    )  # fmt: skip
    x, m = path.x[0], problem.A.shape[0]
    value = problem.value(x)
    error = problem.gap(x) / value
    if error > 1e-10:
        raise RuntimeError(f"f* of {problem.name} is certified to {error:.1e} only.")
    penalty = float(np.abs(problem.gradient(x)).max())
    return Reference(value, error, 1.0 / (penalty * m), penalty)
