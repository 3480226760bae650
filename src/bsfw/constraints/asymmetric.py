"""The l1 ball whose sides differ: another price for going up than for going down."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, is_foreign, plain, positive, require_finite
from ..vertices import OneHot, Vertex
from ._common import FixedShape, as_double, as_real, on_device, worst


def _prices(value: Any, name: str) -> Any:
    prices = np.array(plain(value, name), dtype=float)
    require_finite(prices, name)
    if (prices <= 0).any():
        raise ValueError(f"{name} must be positive, but {int((prices <= 0).sum())} entries are not.")
    return prices if prices.shape else float(prices)


class AsymmetricL1Ball(FixedShape):
    """{sum_i up_i max(x_i, 0) + down_i max(-x_i, 0) <= radius}: budgets, long and short positions, signed costs.

    Its vertices are (radius / up_i) e_i and -(radius / down_i) e_i. The LMO takes the first of the best. O(n).

    Parameters
    ----------
    radius : float
        > 0.
    up, down : float or array, default 1.0
        The price of a unit above and below zero, > 0. An array fixes the shape.
    """

    few_atoms = True
    any_array = True

    def __init__(self, radius: float, up: Any = 1.0, down: Any = 1.0) -> None:
        self.radius = positive(radius, "radius")
        self.up, self.down = _prices(up, "up"), _prices(down, "down")
        try:
            self._shape = np.broadcast_shapes(np.shape(self.up), np.shape(self.down)) or None
        except ValueError:
            raise ValueError(
                f"up has shape {np.shape(self.up)} and down {np.shape(self.down)}; give them the same shape."
            ) from None

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        if is_foreign(g):
            return on_device(self, g)
        rise, fall = -g / self.up, g / self.down
        index = int(np.argmax(np.maximum(rise, fall)))
        price = self.up if rise.flat[index] >= fall.flat[index] else self.down
        value = self.radius / float(np.broadcast_to(price, g.shape).flat[index])
        return OneHot(index, value if price is self.up else -value, g.shape)

    def violation(self, x: Array) -> float:
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        cost = self.up * np.maximum(x, 0.0) + self.down * np.maximum(-x, 0.0)
        return worst(float(cost.sum()) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Between the two ends of one coordinate, or the longest ends of two; exact."""
        above, below = (np.broadcast_to(self.radius / np.asarray(price), shape) for price in (self.up, self.down))
        longest = np.sort(np.maximum(above, below), axis=None)[-2:]
        return max(float((above + below).max()), math.hypot(*longest) if longest.size == 2 else 0.0)
