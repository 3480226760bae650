"""Sets of matrices known by their singular values or eigenvalues."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, is_foreign, namespace, positive
from ..boosting import Direction
from ..vertices import Dense, RankOne, Vertex
from ._ball_boost import boost_in_plane
from ._certificates import largest_singular_value, smallest_eigenvalue
from ._common import as_double, as_inexact, first_axis, in_dtype_of, require_matrix, scaled, worst
from ._lanczos import DENSE, leading_singular_pair, smallest_eigenpair
from .balls import euclidean_vertex
from .base import Constraint


def _tolerance(value: Any) -> float:
    number = positive(value, "tolerance")
    if not 1e-12 <= number < 1.0:
        raise ValueError(
            f"tolerance must lie between 1e-12, about what double precision can give, and 1, got {value!r}."
        )
    return number


class NuclearBall(Constraint):
    """The nuclear ball {sum of singular values <= radius} of real or complex matrices.

    A vertex is -radius * u v^H; the LMO takes the leading singular pair of g, by LAPACK for at most 48 rows or columns,
    else by Golub-Kahan-Lanczos to `tolerance`: some 20 to 50 products with g and g^H. It minimises up to a relative
    error of `tolerance`, mostly far less. A zero direction gives -radius * e_0 e_0^T.

    Parameters
    ----------
    radius : float
        > 0.
    tolerance : float, optional
        Relative residual ||g^H u - sigma v|| / sigma at which Lanczos stops. Default: 1e-6 on arrays, 1e-2 in runs with
        a factored iterate (`MatrixCompletion`). PyTorch and JAX arrays are factored by a full SVD on their device.
    """

    suggested_rounds = 5
    any_array = True

    def __init__(self, radius: float, tolerance: float | None = None) -> None:
        self.radius = positive(radius, "radius")
        self.tolerance = None if tolerance is None else _tolerance(tolerance)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        require_matrix(shape, self)

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        if is_foreign(g):
            left, _, right = namespace(g).linalg.svd(scaled(g)[0], full_matrices=False)
            return RankOne(-self.radius, left[:, 0], right[0, :].conj())
        _, left, right = leading_singular_pair(g, 1e-6 if self.tolerance is None else self.tolerance)
        return RankOne(-self.radius, left.astype(g.dtype, copy=False), right.astype(g.dtype, copy=False))

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """-radius times an upper bound of the spectral norm, by LAPACK up to 4,000 rows or columns."""
        if is_foreign(direction):  # there the oracle is a full SVD
            return super().lower_bound(direction, vertex)
        return -self.radius * largest_singular_value(direction)

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return min(shape) <= DENSE

    def violation(self, x: Array) -> float:
        """Relative excess of the nuclear norm, by a full SVD."""
        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        return worst(float(np.linalg.svd(x, compute_uv=False).sum()) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius, exact."""
        return 2.0 * self.radius


class SpectralBall(Constraint):
    """The spectral ball {largest singular value <= radius} of real or complex matrices.

    A vertex has all min(m, n) singular values equal to radius; the LMO is -radius * U V^H, the polar factor of g, with
    the singular vectors of zero singular values included. One full SVD, O(m n min(m, n)); with one row or column it is
    the Euclidean ball, and costs what `L2Ball` costs.

    Parameters
    ----------
    radius : float
        > 0.
    """

    suggested_rounds = 5
    any_array = True

    def __init__(self, radius: float) -> None:
        self.radius = positive(radius, "radius")

    def check_shape(self, shape: tuple[int, ...]) -> None:
        require_matrix(shape, self)

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        if 1 in g.shape:
            return euclidean_vertex(g, self.radius)
        left, _, right = namespace(g).linalg.svd(scaled(as_double(g))[0], full_matrices=False)
        return Dense(in_dtype_of(-self.radius * (left @ right), g))

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost; with one row or column that of `L2Ball`, O(n) once and a few numbers a round."""
        found = None
        if len(m.shape) == 2 and 1 in m.shape and type(self).lmo is SpectralBall.lmo:
            found = boost_in_plane(self.radius, m, x, max_rounds, min_gain)
        return super().boost(m, x, max_rounds, min_gain) if found is None else found

    def violation(self, x: Array) -> float:
        """Relative excess of the largest singular value, by a full SVD where there are two rows and columns."""
        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        largest = np.linalg.norm(x) if 1 in x.shape else np.linalg.svd(x, compute_uv=False)[0]
        return worst(float(largest) / self.radius - 1.0)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """2 radius sqrt(min(m, n)), exact."""
        return 2.0 * self.radius * math.sqrt(min(shape))


class Spectraplex(Constraint):
    """The spectraplex {X Hermitian, positive semidefinite, trace X = radius}, or trace X <= radius.

    Density matrices for radius 1. The LMO is radius * u u^H with the eigenvector of the smallest eigenvalue of
    (g + g^H)/2, by LAPACK up to size 48, else by Lanczos to `tolerance`, which then is the error of the value relative
    to the norm of g. With ``equality=False`` the zero matrix is a vertex too, and is taken when no eigenvalue is
    negative. A zero direction gives radius * e_0 e_0^T, or the zero matrix.

    Parameters
    ----------
    radius : float, default 1.0
        The trace, > 0.
    equality : bool, default True
        Whether the trace must be equal to `radius` or may be smaller.
    tolerance : float, default 1e-6
        Residual ||g u - lambda u|| / ||g|| at which Lanczos stops.
    """

    suggested_rounds = 5

    def __init__(self, radius: float = 1.0, equality: bool = True, tolerance: float = 1e-6) -> None:
        self.radius = positive(radius, "radius")
        self.equality = bool(equality)
        self.tolerance = _tolerance(tolerance)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"{self!r} holds square matrices, but the variable has shape {tuple(shape)}.")

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        half = 0.5 * scaled(as_double(g))[0]  # scaled first: the sum cannot overflow, nor half a subnormal round
        value, vector = smallest_eigenpair(half + half.conj().T, self.tolerance)
        if not self.equality and value >= 0.0:
            axis = first_axis(g.shape[:1], 1.0, g.dtype)
            return RankOne(0.0, axis, axis)
        vector = vector.astype(g.dtype, copy=False)
        return RankOne(self.radius, vector, vector)

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """radius times a lower bound of the smallest eigenvalue, by LAPACK up to 4,000 rows."""
        least = self.radius * smallest_eigenvalue(direction)
        return least if self.equality else min(least, 0.0)

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return shape[0] <= DENSE

    def violation(self, x: Array) -> float:
        """The largest of: distance to Hermitian, most negative eigenvalue, error of the trace; relative to radius."""
        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        excess = float(np.trace(x).real) / self.radius - 1.0
        skew = 0.5 * float(np.linalg.norm(x - x.conj().T)) / self.radius
        smallest = float(np.linalg.eigvalsh(0.5 * (x + x.conj().T))[0]) / self.radius
        return worst(abs(excess) if self.equality else excess, skew, -smallest)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """sqrt(2) radius, exact; for 1 x 1 matrices 0 (a point) or radius (an interval)."""
        if shape[0] == 1:
            return 0.0 if self.equality else self.radius
        return math.sqrt(2.0) * self.radius
