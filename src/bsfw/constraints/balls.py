"""Norm balls of vectors (and of matrices, entry by entry) and boxes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array, host_dtype, is_complex, namespace, norm, plain, positive, require_finite
from ..boosting import Direction
from ..vertices import Dense, OneHot, Vertex
from ._ball_boost import boost_in_plane
from ._common import (
    FixedShape,
    Placed,
    as_double,
    as_inexact,
    as_real,
    euclidean,
    first_axis,
    in_dtype_of,
    largest_component,
    phases,
    scaled,
    worst,
)
from .base import Constraint
from .one_hot import OneHotConstraint, OneHotKind


def _l1_vertex(direction: Array, radius: float) -> OneHot:
    """-radius times the phase of the first largest entry, at its place."""
    direction = as_inexact(direction)
    flat, xp = direction.reshape(-1), namespace(direction)
    if is_complex(direction.dtype):
        index = int(xp.argmax(xp.abs(scaled(flat)[0])))
        value: float | complex = complex(-radius * phases(flat[index : index + 1])[0])
    else:
        # The largest |g| is the largest or the smallest g; nan, which both find, stays where it is.
        ends = int(xp.argmax(flat)), int(xp.argmin(flat))
        top, bottom = (abs(flat[end].item()) for end in ends)
        index = ends[0] if top > bottom else ends[1] if bottom > top else min(ends)
        value = -radius if flat[index] >= 0 else radius
    return OneHot(index, value, tuple(direction.shape))


class L1Ball(OneHotConstraint):
    """The l1 ball {||x||_1 <= radius}, or {sum_i w_i |x_i| <= radius}, real or complex, of any shape.

    Its vertices are -(radius / w_i) * phase * e_i; the LMO takes the first index of the largest |g_i| / w_i. O(n).

    Parameters
    ----------
    radius : float
        tau > 0.
    weights : array, optional
        w > 0, of the shape of the variable; ones by default.
    rows : bool, default False
        True for matrices each of whose rows lies in the ball: ``Rows(L1Ball(radius, weights))``, a set of that class.
    """

    any_array = True

    few_atoms = True

    def __new__(cls, radius: float = 1.0, weights: Any = None, rows: bool = False) -> Any:
        if rows:
            from .rows import Rows

            return Rows(cls(radius, weights))
        return super().__new__(cls)

    def __init__(self, radius: float, weights: Any = None, rows: bool = False) -> None:
        self.radius = positive(radius, "radius")
        self.weights: Array | None = None
        if weights is not None:
            self.weights = np.array(plain(weights, "weights"), dtype=float)
            if self.weights.size == 0 or not (np.isfinite(self.weights).all() and (self.weights > 0).all()):
                raise ValueError("weights must be positive finite numbers, one for each coordinate.")
            self._weights = Placed(self.weights)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if self.weights is not None and self.weights.shape != tuple(shape):
            raise ValueError(f"weights have the shape {self.weights.shape}, but the variable has {tuple(shape)}.")

    def lmo(self, direction: Array) -> Vertex:
        if self.weights is None:
            return _l1_vertex(direction, self.radius)
        vertex = _l1_vertex(direction / self._weights.like(direction), self.radius)
        return replace(vertex, value=vertex.value / self.weights.flat[vertex.index].item())

    def one_hot_rule(self) -> tuple[OneHotKind, Array | None]:
        return (OneHotKind.L1, None) if self.weights is None else (OneHotKind.WEIGHTED_L1, self.weights.ravel())

    def violation(self, x: Array) -> float:
        lengths = np.abs(x) if self.weights is None else self.weights * np.abs(x)
        return worst(float(lengths.sum(dtype=float)) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius / min w, exact."""
        return 2.0 * self.radius / (1.0 if self.weights is None else float(self.weights.min()))


def euclidean_vertex(direction: Array, radius: float) -> Dense:
    """-radius * g / ||g||, and -radius * e_0 for g = 0."""
    g, _ = scaled(as_inexact(direction))
    length = euclidean(g)
    if length == 0.0:
        return Dense(first_axis(tuple(g.shape), -radius, host_dtype(g), g))
    return Dense((-radius / length) * g)


class L2Ball(Constraint):
    """The Euclidean (Frobenius) ball {||x||_2 <= radius}, real or complex, of any shape.

    Every point of its sphere is a vertex; the LMO is -radius * g / ||g||, and -radius * e_0 for g = 0. O(n).

    Parameters
    ----------
    radius : float
        > 0.
    """

    any_array = True

    def __init__(self, radius: float) -> None:
        self.radius = positive(radius, "radius")

    def lmo(self, direction: Array) -> Vertex:
        return euclidean_vertex(direction, self.radius)

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost, exact: O(n) once, then a few numbers a round instead of O(n)."""
        found = None
        if type(self).lmo is L2Ball.lmo:
            found = boost_in_plane(self.radius, m, x, max_rounds, min_gain)
        return super().boost(m, x, max_rounds, min_gain) if found is None else found

    def violation(self, x: Array) -> float:
        return worst(norm(as_double(x)) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius, exact."""
        return 2.0 * self.radius


class LinfBall(Constraint):
    """The l_inf ball {|x_i| <= radius}, real or complex, of any shape.

    A vertex has all |v_i| = radius; the LMO is -radius * phase(g_i), where the phase of zero is 1. O(n).

    Parameters
    ----------
    radius : float
        > 0.
    """

    any_array = True

    def __init__(self, radius: float) -> None:
        self.radius = positive(radius, "radius")

    def lmo(self, direction: Array) -> Vertex:
        return Dense(-self.radius * phases(as_inexact(direction)))

    def violation(self, x: Array) -> float:
        return worst(float(np.abs(x).max()) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius sqrt(n), exact."""
        return 2.0 * self.radius * math.sqrt(math.prod(shape))


class LpBall(Constraint):
    """The l_p ball {||x||_p <= radius} for 1 <= p <= inf, real or complex, of any shape.

    For 1 < p < inf the LMO is -radius * phase(g_i) |g_i|^(q-1) / || |g|^(q-1) ||_p with 1/p + 1/q = 1, computed from
    g / max|g| so that no power overflows. p = 1 and p = inf give the vertices of `L1Ball` and `LinfBall`. O(n).

    Parameters
    ----------
    p : float
        1 <= p <= inf.
    radius : float
        > 0.
    """

    any_array = True

    def __init__(self, p: float, radius: float) -> None:
        try:
            self.p = float(p)
        except (TypeError, ValueError):
            raise ValueError(f"p must be a number of at least 1, or inf, got {p!r}.") from None
        if not self.p >= 1.0:
            raise ValueError(f"p must be at least 1 (below, the l_p ball is not convex), got {p!r}.")
        self.radius = positive(radius, "radius")

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        if self.p == 1.0:
            return _l1_vertex(g, self.radius)
        if math.isinf(self.p):
            return Dense(-self.radius * phases(g))
        magnitude = as_double(abs(scaled(g)[0]))
        top = float(magnitude.max())
        if top == 0.0:
            return Dense(first_axis(tuple(g.shape), -self.radius, host_dtype(g), g))
        powers = (magnitude / top) ** (1.0 / (self.p - 1.0))  # |g|^(q-1), the largest is 1
        length = float((powers**self.p).sum()) ** (1.0 / self.p)
        return Dense(in_dtype_of(phases(g) * ((-self.radius / length) * powers), g))

    def violation(self, x: Array) -> float:
        magnitude = as_double(np.abs(x))
        top = float(magnitude.max())
        if top == 0.0:
            return 0.0
        if not math.isfinite(top):
            return math.inf
        length = top if math.isinf(self.p) else top * float(((magnitude / top) ** self.p).sum() ** (1.0 / self.p))
        return worst(length / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius n^max(0, 1/2 - 1/p), exact."""
        return 2.0 * self.radius * math.pow(math.prod(shape), max(0.0, 0.5 - 1.0 / self.p))


class Box(FixedShape):
    """The box {lower <= x <= upper}, entry by entry, real.

    The LMO takes lower_i where g_i >= 0 and upper_i elsewhere. O(n). The violation is relative to the largest |bound|.

    Parameters
    ----------
    lower, upper : float or array
        Finite bounds, lower <= upper. Two numbers give a box in every dimension; an array fixes the shape.
    """

    any_array = True

    def __init__(self, lower: Any, upper: Any) -> None:
        low, high = (plain(given, name).astype(float) for given, name in ((lower, "lower"), (upper, "upper")))
        require_finite(low, "lower")
        require_finite(high, "upper")
        try:
            shape = np.broadcast_shapes(low.shape, high.shape)
        except ValueError:
            raise ValueError(f"lower has shape {low.shape} and upper {high.shape}; give them the same shape.") from None
        if (low > high).any():
            raise ValueError(f"lower must not exceed upper, but does in {int((low > high).sum())} entries.")
        self._shape = shape or None
        self.lower = np.broadcast_to(low, shape).copy() if shape else float(low)
        self.upper = np.broadcast_to(high, shape).copy() if shape else float(high)
        self._bounds = Placed(np.asarray(self.lower)), Placed(np.asarray(self.upper))
        self._size = max(largest_component(low), largest_component(high)) or 1.0

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        lower, upper = (bound.like(g) for bound in self._bounds)
        return Dense(in_dtype_of(namespace(g).where(g >= 0, lower, upper), g))

    def violation(self, x: Array) -> float:
        x = as_real(x, self)
        self.check_shape(x.shape)
        return worst(float((self.lower - x).max()) / self._size, float((x - self.upper).max()) / self._size)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """||upper - lower||, exact."""
        width = np.asarray(self.upper) - self.lower
        return float(np.linalg.norm(width)) * math.sqrt(math.prod(shape) / width.size)
