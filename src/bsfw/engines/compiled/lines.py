"""A linear model along a line: an exact line search asks for ten derivatives or so, each a pass over the samples."""

from __future__ import annotations

import numpy as np

from ..._arrays import Array
from ...kernels import losses
from ...kernels._jit import address_of, entry
from ...kernels.margins import compile_image
from ...kernels.record import Model
from ...objectives.linear_model import LinearLine, LinearModel

BLOCK = 1024
"""Samples whose slopes are formed together, to be used while they are in the nearest cache."""


@entry(fastmath={"reassoc", "contract"})
def slope_along(loss, y, weight, z, dz, gamma, slopes):
    """sum_i w_i phi'(z_i + gamma dz_i, y_i) dz_i. O(m); `slopes` is scratch."""
    total = 0.0
    for first in range(0, z.size, slopes.size):
        size = min(slopes.size, z.size - first)
        margins, along = z[first : first + size], dz[first : first + size]
        for k in range(size):
            slopes[k] = margins[k] + gamma * along[k]
        losses.slopes(loss, slopes[:size], y[first : first + size])
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
        slope = losses.for_loss(slope_along, m.loss)
        return float(slope(m.loss, m.y, m.sample_weight, self._z, self._dz, gamma, self._scratch))


def compile_line(model: Model) -> None:
    """Compile what lines of this model ask for."""
    empty = np.empty(0)
    address_of(
        losses.for_loss(slope_along, model.loss), (model.loss, model.y, model.sample_weight, empty, empty, 0.0, empty)
    )
    compile_image(model)
