"""Losses along a line, where they are known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array
from ..objectives.base import Line
from ..steps import derivative_zero
from .losses import Likelihood


class PolynomialLine(Line):
    """A polynomial of gamma: least squares along a line, where probabilities are linear or quadratic in gamma.

    Parameters
    ----------
    coefficients : array
        c_0, c_1, ... of sum_k c_k gamma^k.
    """

    def __init__(self, coefficients: Array) -> None:
        self._value = np.polynomial.Polynomial(coefficients)
        self._derivative = self._value.deriv()

    def value(self, gamma: float) -> float:
        return float(self._value(gamma))

    def derivative(self, gamma: float) -> float:
        return float(self._derivative(gamma))

    def minimiser(self) -> float:
        """The best gamma in [0, 1]: of both ends and the zeros of the derivative between."""
        slope = self._derivative.coef
        largest = np.abs(slope).max()
        if largest == 0.0:
            return 0.0
        zeros = np.roots(slope[::-1] / largest)
        inside = [float(zero.real) for zero in zeros if abs(zero.imag) <= 1e-9 and 0.0 < zero.real < 1.0]
        # f(gamma) - f(0) without the constant, beside which small steps would drown.
        gain = np.polynomial.Polynomial([0.0, *self._value.coef[1:]])
        return min([0.0, *inside, 1.0], key=lambda gamma: float(gain(gamma)))


class LikelihoodLine(Line):
    """The likelihood where probabilities are p_0 + gamma p_1 + gamma^2 p_2: a trial is one pass over the outcomes.

    Parameters
    ----------
    loss : Likelihood
    probabilities : tuple of three arrays
    """

    def __init__(self, loss: Likelihood, probabilities: tuple[Any, Any, Any]) -> None:
        self._loss, self._p = loss, probabilities

    def value(self, gamma: float) -> float:
        p0, p1, p2 = self._p
        return float(self._loss.value_at(p0 + gamma * (p1 + gamma * p2))) + self._loss.rest

    def derivative(self, gamma: float) -> float:
        p0, p1, p2 = self._p
        slope = self._loss.slope_at(p0 + gamma * (p1 + gamma * p2))
        return float((slope * (p1 + (2.0 * gamma) * p2)).sum())

    def minimiser(self) -> float:
        """The first zero of the derivative in [0, 1], or 1: past it f may fall again, but need not be lower."""
        low, slope = 0.0, self.derivative(0.0)
        if slope >= 0.0:
            return 0.0
        # Short of the first zero, as a guess: the derivative at a thousandth tells how fast it grows.
        growth = (self.derivative(1e-3) - slope) / 1e-3
        high = min(1.0, max(1e-6, -slope / growth)) if growth > 0.0 else 1e-3
        while (at_high := self.derivative(high)) < 0.0:
            if high == 1.0:
                return 1.0
            low, slope, high = high, at_high, min(1.0, 2.0 * high)
        return derivative_zero(self, slope, high, low)
