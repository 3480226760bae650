"""The losses of linear models with one margin per sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, Floats, positive
from . import _checks
from .linear_model import LinearModel


def _sigmoid(t: Floats) -> Floats:
    # exp is taken of nonpositive numbers only, so it cannot overflow as in 1 / (1 + exp(-t)), and the small values
    # for t << 0 keep their digits, which (1 + tanh(t/2)) / 2 loses by cancellation.
    e = np.exp(-np.abs(t))
    return np.where(t >= 0, 1.0, e) / (1.0 + e)


class Logistic(LinearModel):
    """Logistic regression, phi(z, y) = log(1 + exp(-y z)) with labels y in {-1, +1}. Convex, phi'' <= 1/4.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Labels of two kinds: -1 and +1, 0 and 1, or any two numbers or strings, of which the last in their order counts
        as +1.
    positive : label, optional
        The one that counts as +1 instead.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.

    Attributes
    ----------
    classes : array, (2,)
        The labels that stand for -1 and +1.
    """

    quasar_rho = 1.0
    link = "logistic"
    _curvature = 0.25  # phi'' = sigma(t) (1 - sigma(t))

    def __init__(
        self, A: Any, y: Any = None, *, positive: Any = None, intercept: bool = False, sample_weight: Any = None
    ) -> None:  # fmt: skip
        self._positive = positive
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)

    def _check_targets(self, y: Any) -> Array:
        found, self.classes = _checks.signs(y, self.n_samples, "Logistic", self._positive)
        return found

    def _check_intercept(self, y: Array) -> None:
        _checks.two_sides(y, -1.0, 1.0)

    def _phi(self, z: Floats, y: Floats) -> Floats:
        # log(1 + exp(-t)) overflows for t << 0 and loses all digits for t >> 0; max(-t, 0) + log1p(exp(-|t|)) is the
        # same number and does neither.
        t = y * z
        return np.maximum(-t, 0.0) + np.log1p(np.exp(-np.abs(t)))

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        return -y * _sigmoid(-y * z)

    def _phi_second(self, z: Floats, y: Floats) -> Floats:
        e = np.exp(-np.abs(z))  # sigma (1 - sigma) is even
        return e / np.square(1.0 + e)


class LeastSquares(LinearModel):
    """Least squares, phi(z, y) = (z - y)^2 / 2. Convex, phi'' = 1.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Real targets.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    quasar_rho = 1.0
    _curvature = 1.0

    def _phi(self, z: Floats, y: Floats) -> Floats:
        return 0.5 * np.square(z - y)

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        return z - y


class Huber(LinearModel):
    """Huber's robust regression: r^2/2 for |r| <= delta, delta (|r| - delta/2) beyond, r = z - y. Convex, phi'' <= 1.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Real targets.
    delta : float
        Residual from which on the loss is linear.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    quasar_rho = 1.0
    _curvature = 1.0

    def __init__(
        self, A: Any, y: Any = None, delta: float = 1.0, *, intercept: bool = False, sample_weight: Any = None
    ) -> None:
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)
        self.delta = positive(delta, "delta")

    def _parameters(self) -> tuple[Any, ...]:
        return (self.delta,)

    def _phi(self, z: Floats, y: Floats) -> Floats:
        r = np.abs(z - y)
        inside = np.minimum(r, self.delta)
        return inside * (r - 0.5 * inside)  # both branches at once, and no square of a large residual

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        return np.clip(z - y, -self.delta, self.delta)

    def _phi_second(self, z: Floats, y: Floats) -> Floats:
        return (np.abs(z - y) <= self.delta).astype(np.float64)


class Tukey(LinearModel):
    """Tukey's biweight regression: c^2/6 (1 - (1 - (r/c)^2)^3) for |r| <= c, c^2/6 beyond, r = z - y. Nonconvex.

    phi' = r (1 - (r/c)^2)^2 inside, and phi'' = (1 - u)(1 - 5u) with u = (r/c)^2 in [0, 1] runs from 1 at r = 0 to
    -0.8 at u = 0.6, so |phi''| <= 1. The paper ("Quasar-Convex Applications in Machine Learning") names it as
    quasar-convex; that rests on assumptions about the data (Foster, Sekhari and Sridharan, 2018) which nobody can
    check from A and y, so it counts as nonconvex unless `quasar_rho` says otherwise.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Real targets.
    c : float
        Residual from which on a sample has no influence; 4.685 gives 95 % efficiency at Gaussian noise of scale one.
    quasar_rho : float, optional
        rho in ]0, 1] if you know f to be rho-quasar-convex.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    _curvature = 1.0

    def __init__(
        self,
        A: Any,
        y: Any = None,
        c: float = 4.685,
        quasar_rho: float | None = None,
        *,
        intercept: bool = False,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)
        self.c = positive(c, "c")
        self.quasar_rho = _checks.quasar_parameter(quasar_rho)

    def _parameters(self) -> tuple[Any, ...]:
        return (self.c,)

    def _first_intercept(self, z: Array) -> float:
        return float(np.median(self.y - z))  # where the loss is not flat

    def _phi(self, z: Floats, y: Floats) -> Floats:
        u = np.square(np.minimum(np.abs(z - y) / self.c, 1.0))  # clipped first: a large residual cannot overflow
        # 1 - (1-u)^3 = u (3 - 3u + u^2), which keeps the digits of small residuals.
        return (self.c**2 / 6.0) * u * (3.0 - u * (3.0 - u))

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        r = np.clip(z - y, -self.c, self.c)  # at the threshold the factor below is zero
        return r * np.square(1.0 - np.square(r / self.c))

    def _phi_second(self, z: Floats, y: Floats) -> Floats:
        # phi is concave as a function of r^2, so that the parabola with the curvature phi'(r) / r lies above it.
        return np.square(1.0 - np.square(np.minimum(np.abs(z - y) / self.c, 1.0)))
