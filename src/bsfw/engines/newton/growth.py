"""New terms for a factored x: a Frank-Wolfe step towards several vertices of the nuclear ball at once."""

from __future__ import annotations

import numpy as np

from ..._arrays import Array
from .problem import Factors, Point, Problem

_SEARCHES = 8
"""Newton steps of a line search on a loss that is not quadratic."""


def joined(
    problem: Problem, point: Point, pairs: tuple[Array, Array, Array], multiplier: float, radius: float
) -> tuple[Factors, float]:
    """M <- (1 - t) M - t tau sum_k w_k u_k v_k^T, with w_k ~ (sigma_k - multiplier) / h_k and t by line search.

    h_k is the curvature of f along u_k v_k^T: alone, each new term would be as long as it should. `pairs` are sigma, U,
    V with U^T G V close to diag(sigma) and G the gradient; a vertex with sigma_k above the multiplier is a direction of
    descent. In the factors the step is [sqrt(1 - t) P, -sqrt(t tau w_k) u_k] and alike Q, so that a point of the
    sphere stays on it. Returns the factors, and t.
    """
    values, left, right = pairs
    weights = np.maximum(values - multiplier, 0.0) / problem.curvatures(point, left, right)
    chosen = np.flatnonzero(weights > 1e-3 * weights.max(initial=0.0))
    if not chosen.size:
        return point.factors, 0.0
    weights, left, right = weights[chosen] / weights[chosen].sum(), left[:, chosen], right[:, chosen]
    old = point.factors
    towards = problem.entries(-radius * weights * left, right)
    length = _line_search(problem, point, towards - problem.entries(old.left, old.right))
    if length <= 0.0:
        return old, 0.0
    new, stay = np.sqrt(length * radius * weights), np.sqrt(1.0 - length)
    made = Factors.of(
        np.column_stack((stay * old.left, -new * left)),
        np.column_stack((stay * old.right, new * right)),
        (old.row_biases, old.column_biases),
    )
    return made, length


def _line_search(problem: Problem, point: Point, direction: Array) -> float:
    """argmin over [0, 1] of the losses at z + t direction; a stationary point if the loss is not convex."""
    z = np.empty_like(direction)
    slopes, curvatures = point.slopes.copy(), point.curvatures.copy()
    t, low, high = 0.0, 0.0, 1.0
    for _ in range(_SEARCHES):
        slope, curvature = float(slopes @ direction), float(curvatures @ np.square(direction))
        low, high = (t, high) if slope < 0.0 else (low, t)
        proposed = t - slope / curvature if curvature > 0.0 else high
        new = proposed if low < proposed < high else 0.5 * (low + high)
        new = high if proposed >= high == 1.0 and t == 0.0 else new
        if abs(new - t) <= 1e-3 * new:
            return new
        t = new
        np.multiply(direction, t, out=z)
        z += point.z
        problem.losses(z, slopes, curvatures)
    return t
