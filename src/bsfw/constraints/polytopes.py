"""Polytopes: by their vertices, or by their inequalities."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, digest, is_complex, plain, require_finite
from ..vertices import Dense, Vertex
from ._common import FixedShape, as_double, as_inexact, as_real, largest_component, scaled, worst

# HiGHS accepts points that violate a constraint by 1e-7 unless told otherwise; membership here means 1e-9.
HIGHS_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class ConvexHull(FixedShape):
    """The convex hull of a list of points, real or complex.

    The LMO compares all k points, O(k n). Among points that tie exactly it takes the one that comes first in
    lexicographic order, which is an extreme point even when the list holds points that are not.

    Parameters
    ----------
    vertices : array of shape ``(k, *shape)``
        The points; `shape` is the shape of the variable.
    """

    few_atoms = True

    def __init__(self, vertices: Any) -> None:
        self.vertices = as_double(np.array(plain(vertices, "vertices")))
        if self.vertices.ndim < 2 or self.vertices.size == 0:
            raise ValueError(
                f"vertices must be a nonempty list of arrays of equal shape, stacked along the first axis, got an "
                f"array of shape {self.vertices.shape}."
            )
        require_finite(self.vertices, "vertices")
        self._shape = self.vertices.shape[1:]
        # Re<g, v> of complex arrays is the inner product of their real views; a view costs no memory.
        self._points = self._real_view(self.vertices).reshape(len(self.vertices), -1)
        self._order = np.lexsort(self._points.T[::-1])
        self._size = largest_component(self._points) or 1.0

    def _real_view(self, array: Array) -> Array:
        if not is_complex(self.vertices.dtype):
            return array.real  # the set is real: the imaginary part of a direction does not matter
        return np.ascontiguousarray(array, dtype=complex).view(float)

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(g.shape)
        values = self._points @ self._real_view(as_double(scaled(g)[0])).ravel()
        best = self._order[np.argmin(values[self._order])]
        single = g.dtype in (np.float32, np.complex64)
        dtype = np.dtype(np.complex64 if single else complex) if is_complex(self.vertices.dtype) else g.real.dtype
        return Dense(self.vertices[best].astype(dtype))

    def violation(self, x: Array) -> float:
        """Distance from x to the hull by nonnegative least squares, relative to the largest |entry| of the points."""
        from scipy.optimize import nnls

        x = as_double(x)
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        if is_complex(x.dtype) and not is_complex(self.vertices.dtype):
            return worst(float(np.linalg.norm(x.imag)) / self._size, self.violation(x.real))
        # The last equation says that the weights add up to one.
        system = np.vstack([self._points.T / self._size, np.ones(len(self._points))])
        target = np.append(self._real_view(x).ravel() / self._size, 1.0)
        return float(nnls(system, target, maxiter=max(100, 10 * len(self._points)))[1])

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Largest distance of two of the points, exact; O(k^2 n) time, in blocks."""
        points = self._points - self._points.mean(axis=0)  # near the origin the expansion below loses no digits
        squares = np.square(points).sum(axis=1)
        best, pair = -1.0, (0, 0)
        for begin in range(0, len(points), 512):
            block = points[begin : begin + 512]
            distances = squares[begin : begin + 512, None] + squares[None, :] - 2.0 * (block @ points.T)
            row, column = np.unravel_index(int(np.argmax(distances)), distances.shape)
            if distances[row, column] > best:
                best, pair = float(distances[row, column]), (begin + int(row), int(column))
        return float(np.linalg.norm(self._points[pair[0]] - self._points[pair[1]]))


class Polytope(FixedShape):
    """The polytope {A_ub x <= b_ub, A_eq x = b_eq, lower <= x <= upper} of real vectors, which must be bounded.

    The LMO is a linear program, solved by HiGHS's dual simplex (through SciPy), so that a vertex comes back. Costs, as
    HiGHS sees them, are relative to the largest |g_i|: entries 1e-10 times smaller do not count.

    Parameters
    ----------
    A_ub, b_ub : array or scipy sparse array, and vector
        Inequalities, or None.
    A_eq, b_eq : array or scipy sparse array, and vector
        Equations, or None.
    bounds : sequence of (lower, upper), or one pair for all variables
        None or +-inf where there is no bound. ``bounds=None`` means no bounds at all; this differs from
        `scipy.optimize.linprog`, where it means x >= 0.
    """

    suggested_rounds = 5

    few_atoms = True

    def __init__(
        self, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None, bounds: Any = None
    ) -> None:
        self.A_ub, self.b_ub = _linear_system(A_ub, b_ub, "ub")
        self.A_eq, self.b_eq = _linear_system(A_eq, b_eq, "eq")
        widths = {matrix.shape[1] for matrix in (self.A_ub, self.A_eq) if matrix is not None}
        if len(widths) > 1:
            raise ValueError(
                f"A_ub has {self.A_ub.shape[1]} columns but A_eq has {self.A_eq.shape[1]}; they must agree."
            )
        self.bounds = _bounds(bounds, widths.pop() if widths else None)
        self._shape = (len(self.bounds),)
        self._check_bounded()
        status = self._linprog(np.zeros(len(self.bounds)), self.bounds).status
        if status != 0:
            raise ValueError("the polytope is empty: no x satisfies all of A_ub x <= b_ub, A_eq x = b_eq and bounds.")

    def _linprog(self, cost: Array, bounds: Array) -> Any:
        from scipy.optimize import linprog

        return linprog(
            cost, self.A_ub, self.b_ub, self.A_eq, self.b_eq, bounds, method="highs-ds", options=HIGHS_OPTIONS
        )

    def _check_bounded(self) -> None:
        """No d other than 0 with A_ub d <= 0, A_eq d = 0 and the signs that one-sided bounds leave."""
        from scipy.optimize import linprog

        finite = np.isfinite(self.bounds)
        if finite.all():
            return
        # First d with a strict inequality somewhere: maximise the sum of all slacks over a box. Then d with none: only
        # variables without bounds can have one, in the null space of all rows.
        cost = finite[:, 1].astype(float) - finite[:, 0]
        if self.A_ub is not None:
            cost = cost + np.asarray(self.A_ub.sum(axis=0)).ravel()
        box = np.where(finite, 0.0, [-1.0, 1.0])
        zeros = [None if b is None else np.zeros(len(b)) for b in (self.b_ub, self.b_eq)]
        escape = linprog(cost, self.A_ub, zeros[0], self.A_eq, zeros[1], box, method="highs-ds")
        free = np.flatnonzero(~finite.any(axis=1))
        blocks = [_dense_columns(matrix, free) for matrix in (self.A_ub, self.A_eq) if matrix is not None]
        rank = np.linalg.matrix_rank(np.vstack(blocks)) if blocks and free.size else 0
        if escape.fun < -1e-6 or rank < free.size:
            raise ValueError(
                "the polytope is unbounded, but Frank-Wolfe needs a bounded set: add bounds or inequalities "
                "(bounds=None means no bounds here, not x >= 0)."
            )

    def _extent(self, coordinates: Array) -> Array:
        """Smallest and largest x_i over the polytope, one row for each coordinate: two linear programs each."""
        out = np.empty((len(coordinates), 2))
        for row, i in enumerate(coordinates):
            for side, sign in enumerate((1.0, -1.0)):
                cost = np.zeros(len(self.bounds))
                cost[i] = sign
                out[row, side] = sign * _solved(self._linprog(cost, self.bounds)).fun
        return out

    @cached_property
    def _closed_bounds(self) -> Array:
        """The bounds, with loose ones for variables that have none.

        A free variable outside of the basis has no bound to sit at: the simplex method would leave it at zero and
        return a point that is no vertex. Loose bounds are never active at a feasible point, so every basic solution is
        a vertex of the polytope.
        """
        bounds = self.bounds.copy()
        free = np.flatnonzero(~np.isfinite(bounds).any(axis=1))
        extent = self._extent(free)
        bounds[free] = extent + (1.0 + extent[:, 1:] - extent[:, :1]) * [-1.0, 1.0]
        return bounds

    @cached_property
    def _box(self) -> Array:
        """The bounds, with loose ones where there are none: by one linear program for all variables with one bound."""
        box = self._closed_bounds.copy()
        below, above = (np.isfinite(side) for side in box.T)
        signs = above.astype(float) - below  # of the sum of the distances to the only bounds, which is to be large
        distances = -_solved(self._linprog(signs, self._closed_bounds)).fun if signs.any() else 0.0
        distances += box[signs > 0, 1].sum() - box[signs < 0, 0].sum()
        most = 2.0 * max(float(distances), 0.0) + 1.0
        box[signs < 0, 1], box[signs > 0, 0] = box[signs < 0, 0] + most, box[signs > 0, 1] - most
        return box

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        cost = as_double(scaled(g)[0])
        solution = _solved(self._linprog(cost / (largest_component(cost) or 1.0), self._closed_bounds))
        return Dense(np.asarray(solution.x, dtype=g.dtype))

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """By the multipliers of the linear program, which give a bound however far HiGHS is from the optimum.

        For any y <= 0 and z, <c, x> >= b_ub y + b_eq z + <d, x> on the polytope, with d = c - A_ub^T y - A_eq^T z, and
        <d, x> is at least its minimum over a box around the polytope. Rounding is added (Neumaier, Shcherbina, 2004).
        """
        cost, exponent = scaled(as_double(as_real(direction, self)))
        size = largest_component(cost) or 1.0
        solution = _solved(self._linprog(cost / size, self._closed_bounds))
        duals = np.minimum(solution.ineqlin.marginals, 0.0), solution.eqlin.marginals
        reduced, magnitude, value, terms = cost / size, np.abs(cost / size), 0.0, 0.0
        for matrix, right, y in zip((self.A_ub, self.A_eq), (self.b_ub, self.b_eq), duals, strict=True):
            if matrix is not None:
                reduced, magnitude = reduced - matrix.T @ y, magnitude + abs(matrix).T @ np.abs(y)
                value, terms = value + float(right @ y), terms + float(np.abs(right) @ np.abs(y))
        low, high = self._box.T
        least = np.minimum(reduced * low, reduced * high)
        terms += float(np.abs(least).sum() + magnitude @ np.maximum(np.abs(low), np.abs(high)))
        rounding = (sum(map(len, duals)) + len(cost) + 4) * float(np.finfo(float).eps) * terms
        return math.ldexp(size * (value + float(least.sum()) - rounding), exponent)

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return False

    def violation(self, x: Array) -> float:
        """Largest excess of a constraint, relative to max(1, |right-hand side|)."""
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        excesses = [0.0]
        if self.A_ub is not None:
            excesses.append(float(((self.A_ub @ x - self.b_ub) / np.maximum(1.0, np.abs(self.b_ub))).max()))
        if self.A_eq is not None:
            excesses.append(float((np.abs(self.A_eq @ x - self.b_eq) / np.maximum(1.0, np.abs(self.b_eq))).max()))
        for excess, bound in ((self.bounds[:, 0] - x, self.bounds[:, 0]), (x - self.bounds[:, 1], self.bounds[:, 1])):
            given = np.isfinite(bound)
            excesses += (excess[given] / np.maximum(1.0, np.abs(bound[given]))).tolist()
        return worst(*excesses)

    @cached_property
    def _box_diagonal(self) -> float:
        extent = self._extent(np.arange(len(self.bounds)))
        return float(np.linalg.norm(extent[:, 1] - extent[:, 0]))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Upper bound: the diagonal of the smallest box around the polytope, by 2n linear programs, once."""
        return self._box_diagonal

    def fingerprint(self) -> str:
        parts: list[Any] = [type(self).__name__]
        for name, value in self._parameters().items():
            sparse = hasattr(value, "indptr")
            parts += [name, *((value.shape, value.indptr, value.indices, value.data) if sparse else (value,))]
        return digest(*parts)


def _solved(solution: Any) -> Any:
    if solution.status != 0:
        raise RuntimeError(f"HiGHS could not solve the linear program of this polytope: {solution.message}")
    return solution


def _dense_columns(matrix: Any, columns: Array) -> Array:
    chosen = matrix[:, columns]
    return chosen if isinstance(chosen, np.ndarray) else chosen.toarray()


def _linear_system(matrix: Any, right: Any, kind: str) -> tuple[Any, Any]:
    """Rows as a float array or CSR array and the right-hand side, checked; (None, None) if there are none."""
    from scipy.sparse import csr_array, issparse

    if (matrix is None) != (right is None):
        raise ValueError(f"A_{kind} and b_{kind} must be given together, or neither.")
    if matrix is None:
        return None, None
    rows = csr_array(matrix, dtype=float) if issparse(matrix) else np.array(plain(matrix, f"A_{kind}"), dtype=float)
    vector = np.array(plain(right, f"b_{kind}"), dtype=float)
    if rows.ndim != 2 or vector.shape != rows.shape[:1] or 0 in rows.shape:
        raise ValueError(
            f"A_{kind} must be a matrix and b_{kind} a vector with one entry for each of its rows, "
            f"got shapes {rows.shape} and {vector.shape}."
        )
    require_finite(rows if isinstance(rows, np.ndarray) else rows.data, f"A_{kind}")
    require_finite(vector, f"b_{kind}")
    return rows, vector


def _bounds(bounds: Any, n: int | None) -> Array:
    """Bounds as an (n, 2) array with infinities where there is none."""
    if bounds is None:
        if n is None:
            raise ValueError("a Polytope needs at least one of A_ub with b_ub, A_eq with b_eq, and bounds.")
        return np.tile([-np.inf, np.inf], (n, 1))
    out = np.array(bounds, dtype=float)  # None becomes NaN
    if out.shape == (2,) and n is not None:
        out = np.tile(out, (n, 1))
    if out.ndim != 2 or out.shape[1] != 2 or len(out) == 0 or n not in (None, len(out)):
        raise ValueError(
            f"bounds must be pairs (lower, upper), one for each of the {n or 'n'} variables (or one for all of them), "
            f"got an array of shape {out.shape}."
        )
    out = np.where(np.isnan(out), [-np.inf, np.inf], out)
    if (out[:, 0] > out[:, 1]).any():
        raise ValueError("a lower bound exceeds its upper bound, so the polytope is empty.")
    return out
