"""The simplex: probability vectors, or nonnegative vectors of bounded sum."""

from __future__ import annotations

import math

import numpy as np

from .._arrays import Array, is_foreign, positive
from ..vertices import OneHot, Vertex
from ._common import as_real, on_device, worst
from .one_hot import OneHotConstraint, OneHotKind


class Simplex(OneHotConstraint):
    """The simplex {x >= 0, sum x = radius}, or {x >= 0, sum x <= radius}, real, of any shape.

    The LMO is radius * e_i with the first index of the smallest g_i; with ``equality=False`` the origin is a vertex too
    and is taken when no g_i is negative. O(n).

    Parameters
    ----------
    radius : float, default 1.0
        The sum, > 0.
    equality : bool, default True
        Whether the sum must be equal to `radius` or may be smaller.
    """

    few_atoms = True
    any_array = True

    def __init__(self, radius: float = 1.0, equality: bool = True) -> None:
        self.radius = positive(radius, "radius")
        self.equality = bool(equality)

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        if is_foreign(g):
            return on_device(self, g)
        index = int(np.argmin(g))
        if not self.equality and g.flat[index] >= 0:
            return OneHot(0, 0.0, g.shape)
        return OneHot(index, self.radius, g.shape)

    def one_hot_rule(self) -> tuple[OneHotKind, Array | None]:
        return (OneHotKind.SIMPLEX if self.equality else OneHotKind.SOLID_SIMPLEX), None

    def violation(self, x: Array) -> float:
        x = as_real(x, self)
        excess = float(x.sum(dtype=float)) / self.radius - 1.0
        return worst(abs(excess) if self.equality else excess, -float(x.min()) / self.radius)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """sqrt(2) radius, exact; in one dimension 0 (a point) or radius (an interval)."""
        if math.prod(shape) == 1:
            return 0.0 if self.equality else self.radius
        return math.sqrt(2.0) * self.radius
