"""A linear model along a line: an exact line search asks for ten derivatives or so, each a pass over the samples."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..objectives.linear_model import LinearLine, LinearModel
from . import losses
from ._jit import kernel
from .work import Model

BLOCK = 1024
"""Samples whose slopes are formed together, to be used while they are in the nearest cache."""


@kernel(fastmath={"reassoc", "contract"})
def slope_along(loss, parameter, y, weight, z, dz, gamma, slopes):
    """sum_i w_i phi'(z_i + gamma dz_i, y_i) dz_i. O(m); `slopes` is scratch."""
    total = 0.0
    for first in range(0, z.size, slopes.size):
        size = min(slopes.size, z.size - first)
        here, along = z[first : first + size], dz[first : first + size]
        for k in range(size):
            slopes[k] = here[k] + gamma * along[k]
        losses.derivatives(loss, slopes[:size], y[first : first + size], parameter)
        if weight.size > 0:
            for k in range(size):
                slopes[k] *= weight[first + k]
        for k in range(size):
            total += slopes[k] * along[k]
    return total


class CompiledLine(LinearLine):
    """`LinearLine` whose derivatives come from compiled code."""

    def __init__(self, objective: LinearModel, model: Model, z: Array, dz: Array) -> None:
        super().__init__(objective, z, dz)
        self._model, self._scratch = model, np.empty(BLOCK)

    def _slope(self, gamma: float) -> float:
        m = self._model
        return float(slope_along(m.loss, m.parameter, m.y, m.sample_weight, self._z, self._dz, gamma, self._scratch))
