"""Multinomial logistic regression, a linear model with c margins per sample and a matrix variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Floats
from . import _checks
from ._intercept import best_shifts
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
        Whether there is a free intercept, a vector with sum zero; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.

    Attributes
    ----------
    classes : array, (c,)
        The distinct labels, sorted.
    """

    quasar_rho = 1.0
    link = "softmax"
    _curvature = 0.5

    def __init__(self, A: Any, y: Any = None, *, intercept: bool = False, sample_weight: Any = None) -> None:
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)
        self.shape = (self.A.shape[1], len(self.classes))

    def _check_targets(self, y: Any) -> Array:
        self.classes, indices = _checks.classes(y, self.n_samples)
        if len(self.classes) < 2:
            raise ValueError(f"Multinomial needs at least two classes, but y holds only {self.classes.tolist()[0]!r}.")
        return indices

    def _check_intercept(self, y: Array) -> None:
        if len(np.unique(y)) < len(self.classes):
            raise ValueError(
                "a class has no sample of positive weight, so that its best intercept is infinite; leave intercept "
                "out, or drop the class."
            )

    def best_intercept(self, z: Array, start: Any = None) -> Any:
        """The b in R^c, with sum zero, that minimises the mean loss of z_i + b. O(m c^2) a step of Newton's method."""
        shape = (self.n_samples, len(self.classes))
        z = _checks.numbers(z, np.float64, "z")
        start = _checks.numbers(np.zeros(shape[1]) if start is None else start, np.float64, "start")
        if z.shape != shape or start.shape != shape[1:]:
            raise ValueError(
                f"z must have the shape {shape} and start {shape[1:]}, but have {z.shape} and {start.shape}."
            )
        return best_shifts(z, lambda z: self._slopes(z, None), self.sample_weight, start)

    def _parameters(self) -> tuple[Any, ...]:
        return tuple(self.classes.tolist())

    def _phi(self, z: Floats, y: Floats) -> Floats:
        # Shifted by its maximum, exp cannot overflow and the sum is at least one.
        top: Floats = z.max(axis=1)
        of_label: Floats = z[np.arange(len(y)), y]
        sums: Floats = np.exp(z - top[:, None]).sum(axis=1)
        return np.log(sums) + (top - of_label)

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        p: Floats = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1.0
        return p
