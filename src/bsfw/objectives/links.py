"""Generalised linear models with an increasing link sigma: phi(z, y) = (sigma(z) - y)^2 / 2.

The paper ("Quasar-Convex Applications in Machine Learning") names them as quasar-convex. When they are, and with which
rho, `SquaredLink.rho_if_realisable` says. The identity link is `LeastSquares`, which is convex.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from .._arrays import Array, Floats, positive
from ..theory import fraction
from . import _checks
from .linear_model import LinearModel
from .losses import _sigmoid


class SquaredLink(LinearModel):
    """phi(z, y) = (sigma(z) - y)^2 / 2 with an increasing link sigma, which a subclass provides. Nonconvex.

    Whether f is quasar-convex rests on how y came about, which nobody can check from A and y: it counts as nonconvex
    unless `quasar_rho` says otherwise.
    """

    def __init__(
        self,
        A: Any,
        y: Any = None,
        quasar_rho: float | None = None,
        *,
        intercept: bool = False,
        sample_weight: Any = None,
    ) -> None:
        super().__init__(A, y, intercept=intercept, sample_weight=sample_weight)
        self.quasar_rho = _checks.quasar_parameter(quasar_rho)

    @abstractmethod
    def _mean(self, z: Floats) -> Floats:
        """sigma(z)."""

    @abstractmethod
    def _rate(self, z: Floats) -> Floats:
        """sigma'(z) > 0."""

    @abstractmethod
    def _rates(self, margin: float) -> tuple[float, float]:
        """The smallest and the largest sigma'(z) over |z| <= margin."""

    def rho_if_realisable(self, margin: float) -> float:
        """rho with which f is quasar-convex over C if y is realisable and no margin exceeds `margin`.

        Realisable: some x* in C has y_i = sigma(<a_i, x*> + b*) for all i, or the y_i scatter around it and f stands
        for its mean over them. Bounded: |<a_i, x> + b| <= margin for all x in C, as with margin = r max|A_ij| on the
        l1 ball of radius r. With lo <= sigma' <= hi on such margins, sample by sample

            sigma'(z) (sigma(z) - sigma(z*)) (z - z*) >= (lo / hi) (sigma(z) - sigma(z*))^2,

        since sigma is increasing and |z - z*| >= |sigma(z) - sigma(z*)| / hi; the sum of the left sides is
        <grad f(x), x - x*>, of the squares 2 (f(x) - f(x*)). So rho = min(1, 2 lo / hi) (cf. Wang and Wibisono, 2023).

        Parameters
        ----------
        margin : float
            Bound of all margins.

        Returns
        -------
        float
        """
        low, high = self._rates(positive(margin, "margin"))
        if low <= 0.0:
            raise ValueError(f"with margins up to {margin:g} the link is flat to rounding; scale the data or the set.")
        return min(1.0, 2.0 * low / high)

    def _phi(self, z: Floats, y: Floats) -> Floats:
        return 0.5 * np.square(self._mean(z) - y)

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        return (self._mean(z) - y) * self._rate(z)

    def _phi_second(self, z: Floats, y: Floats) -> Floats:
        return np.square(self._rate(z))  # Gauss and Newton: phi'' at a zero residual


class _ToUnitInterval(SquaredLink):
    """A link from -inf to 0 and from inf to 1, steepest in the middle."""

    def _rates(self, margin: float) -> tuple[float, float]:
        low, high = self._rate(np.array([margin, 0.0])).tolist()
        return low, high

    def _check_targets(self, y: Any) -> Array:
        found = super()._check_targets(y)
        if found.min() < 0 or found.max() > 1:
            raise ValueError(
                f"{type(self).__name__} takes targets in [0, 1], but y runs from {found.min():g} to {found.max():g}; "
                "rescale it (labels -1 and +1 become (y + 1) / 2)."
            )
        return found

    def _check_intercept(self, y: Array) -> None:
        _checks.two_sides(y, 0.0, 1.0)


class SigmoidSquared(_ToUnitInterval):
    """Generalised linear model with logistic link, phi(z, y) = (sigma(z) - y)^2 / 2 with y in [0, 1]. Nonconvex.

    Quasar-convex under conditions on the data that `rho_if_realisable` states; it counts as nonconvex unless
    `quasar_rho` says otherwise.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Targets in [0, 1].
    quasar_rho : float, optional
        rho in ]0, 1] if you know f to be rho-quasar-convex.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    link = "logistic"

    # With s = sigma(z): phi'' = s (1-s) [s (1-s) + (s-y)(1-2s)]. It is affine in y, so |phi''| is largest at y = 0 or
    # y = 1, and (s, y) -> (1-s, 1-y) leaves it unchanged: y = 0 suffices. There phi'' = h(s) = s^2 (1-s)(2-3s), and
    # h'(s) = s (12 s^2 - 15 s + 4) vanishes inside ]0, 1[ at s = (15 -+ sqrt(33)) / 24, with h = 0.0770 and -0.0601.
    _stationary = (15.0 - 33.0**0.5) / 24.0
    _curvature = _stationary**2 * (1.0 - _stationary) * (2.0 - 3.0 * _stationary)

    def _mean(self, z: Floats) -> Floats:
        return _sigmoid(z)

    def _rate(self, z: Floats) -> Floats:
        e = np.exp(-np.abs(z))
        return np.asarray(e / np.square(1.0 + e))  # sigma (1 - sigma) without cancellation

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        s = _sigmoid(z)
        return (s - y) * s * _sigmoid(-z)  # as in the kernels


class ProbitSquared(_ToUnitInterval):
    """Generalised linear model with probit link, phi(z, y) = (Phi(z) - y)^2 / 2 with y in [0, 1]. Nonconvex.

    Phi is the distribution function of the normal distribution. Quasar-convex under conditions on the data that
    `rho_if_realisable` states; it counts as nonconvex unless `quasar_rho` says otherwise.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Targets in [0, 1].
    quasar_rho : float, optional
        rho in ]0, 1] if you know f to be rho-quasar-convex.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    link = "probit"
    # With the density p: phi'' = p^2 - (Phi - y) z p is affine in y, and symmetric under (z, y) -> (-z, 1 - y), so that
    # y = 0 suffices. There it is largest at z = -0.3028 (0.189176), and smallest at z = 1.3158 (-0.17191).
    _curvature = 0.18918

    def _mean(self, z: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(z))

    def _rate(self, z: Floats) -> Floats:
        return np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)


class LeakySquared(SquaredLink):
    """Generalised linear model with a smooth leaky ReLU as link, phi(z, y) = (sigma(z) - y)^2 / 2. Nonconvex.

    sigma(z) = a z + (1 - a) log(1 + exp(z)) rises with the slope a far below zero and 1 far above. (The link with a
    kink, max(z, a z), has a gradient that jumps, which the theorems of the paper exclude.) All its slopes lie in
    ]a, 1[, so that realisable targets make f quasar-convex with rho >= min(1, 2 a) whatever the margins
    (`rho_if_realisable`); without a word on that it counts as nonconvex.

    Parameters
    ----------
    A : array or sparse matrix, (m, n)
        One row per sample.
    y : array, (m,)
        Real targets.
    leak : float
        a in ]0, 1].
    quasar_rho : float, optional
        rho in ]0, 1] if you know f to be rho-quasar-convex.
    intercept : bool
        Whether there is a free intercept; see `LinearModel`.
    sample_weight : array, (m,), optional
        Nonnegative weights; see `LinearModel`.
    """

    link = "leaky"

    def __init__(
        self,
        A: Any,
        y: Any = None,
        leak: float = 0.1,
        quasar_rho: float | None = None,
        *,
        intercept: bool = False,
        sample_weight: Any = None,
    ) -> None:
        self.leak = fraction(leak, "leak")
        super().__init__(A, y, quasar_rho, intercept=intercept, sample_weight=sample_weight)
        # phi'' = sigma'^2 + (sigma - y) sigma'' with sigma'' = (1 - a) s (1 - s), s the sigmoid: |sigma| is at most
        # |z| + (1 - a) log 2, |z| s (1 - s) at most 0.22388 and s (1 - s) at most 1/4.
        rest = 1.0 - self.leak
        bend = 0.22388 + 0.25 * (rest * math.log(2.0) + float(np.abs(self.y).max(initial=0.0)))
        self._curvature = 1.0 + rest * bend

    def _parameters(self) -> tuple[Any, ...]:
        return (self.leak,)

    def _rates(self, margin: float) -> tuple[float, float]:
        low, high = self._rate(np.array([-margin, margin])).tolist()
        return low, high

    def _mean(self, z: Floats) -> Floats:
        return leaky(z, self.leak)

    def _rate(self, z: Floats) -> Floats:
        return self.leak + (1.0 - self.leak) * _sigmoid(z)


def leaky(z: Floats, leak: float) -> Floats:
    """a z + (1 - a) log(1 + exp(z))."""
    return np.asarray(leak * z + (1.0 - leak) * np.logaddexp(0.0, z))
