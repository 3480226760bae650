"""Multinomial logistic regression, a linear model with c margins per sample and a matrix variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, require_finite
from . import _checks
from .linear_model import LinearModel


class Multinomial(LinearModel):
    """Softmax cross entropy, phi(z, y) = log(sum_k exp(z_k)) - z_y with z = a^T X in R^c, X of shape (n, c). Convex.

    The Hessian of phi in z is that of a variance, v^T H v = Var_p(v_k) for k drawn with p = softmax(z), at most
    (max v - min v)^2 / 4 <= 1/2 for a unit vector v: phi is 1/2-smooth. Tables of SAG and SAGA are m x c.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Class labels of any kind that can be sorted; column k of the variable belongs to ``classes[k]``.
    intercept : bool
        Append a column of ones: the last row of the variable; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.

    Attributes
    ----------
    classes : array, (c,)
        The distinct labels, sorted.
    """

    quasar_rho = 1.0
    _curvature = 0.5

    def __init__(self, A: Any, y: Any, *, intercept: bool = False, sample_weight: Any = None) -> None:
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)
        self.shape = (self.A.shape[1], len(self.classes))

    def _check_targets(self, y: Any) -> Array:
        y = _checks.labels(y, self.n_samples)
        if y.dtype.kind == "f":
            require_finite(y, "y")
        self.classes, indices = np.unique(y, return_inverse=True)
        if len(self.classes) < 2:
            raise ValueError(f"Multinomial needs at least two classes, but y holds only {self.classes[0].item()!r}.")
        return indices

    def _parameters(self) -> tuple[Any, ...]:
        return tuple(self.classes.tolist())

    def _phi(self, z: Array, y: Array) -> Array:
        # Shifted by its maximum, exp cannot overflow and the sum is at least one.
        top = z.max(axis=1)
        return np.log(np.exp(z - top[:, None]).sum(axis=1)) + (top - z[np.arange(len(y)), y])

    def _phi_prime(self, z: Array, y: Array) -> Array:
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1.0
        return p
