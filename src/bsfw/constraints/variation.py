"""Signals of bounded total variation."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, number, positive
from ..vertices import Vertex
from ._common import as_double, as_real, by_formula, worst
from .base import Constraint


class TotalVariationBall(Constraint):
    """{sum_i |x_{i+1} - x_i| <= radius, mean x = mean}: signals in one dimension with few jumps.

    The mean is fixed, for without that the set would not be bounded; of a least-squares fit it is the mean of the data.
    A vertex is one step up or down by `radius`; the LMO finds it by the sums of g from each place on. O(n).

    Parameters
    ----------
    radius : float
        The total variation, > 0.
    mean : float, default 0.0
        The mean of the signal.
    """

    few_atoms = True
    any_array = True

    def __init__(self, radius: float, mean: float = 0.0) -> None:
        self.radius = positive(radius, "radius")
        self.mean = number(mean, "mean")

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or shape[0] < 2:
            raise ValueError(f"{self!r} holds vectors of two entries or more, but the variable has shape {shape}.")

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(tuple(g.shape))
        return by_formula(self, g)

    def violation(self, x: Array) -> float:
        """Relative excess of the total variation, and the error of the mean relative to the larger of both."""
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        size = max(self.radius, abs(self.mean))
        return worst(float(np.abs(np.diff(x)).sum()) / self.radius - 1.0, abs(float(x.mean()) - self.mean) / size)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Between a step in the middle and its opposite, exact: 2 radius sqrt(j (n - j) / n) for j = n // 2."""
        n, half = shape[0], shape[0] // 2
        return 2.0 * self.radius * float(np.sqrt(half * (n - half) / n))
