"""The free intercept of a linear model: the b that minimises sum_i w_i phi(z_i + b, y_i) for given margins z."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .._arrays import Array

Slopes = Callable[[Array], Array]
"""From margins to w_i phi' there, or to w_i phi''."""
TRIALS = 200
ENOUGH = 1e-15
"""A sum of slopes that is this fraction of the sum of their magnitudes is rounding."""


def best_shift(z: Array, slopes: Slopes, curvatures: Slopes, start: float) -> float:
    """A zero b of h(b) = sum slopes(z + b), from below to above: the minimum if phi is convex, else a local one.

    Newton's method within a bracket, which is found by going downhill from `start` in growing steps. O(m) a trial; two
    or three of them from a good start.
    """

    def slope(b: float) -> tuple[float, float]:
        terms = slopes(z + b)
        return float(terms.sum()), float(np.abs(terms).sum())

    return zero_of_slope(slope, lambda b: float(curvatures(z + b).sum()), start)


def zero_of_slope(
    slope: Callable[[float], tuple[float, float]], curvature_at: Callable[[float], float], start: float
) -> float:
    """The same from h(b), with the sum of the magnitudes of its terms, and its derivative."""
    b, low, high, step = start, -math.inf, math.inf, 1.0
    for _ in range(TRIALS):
        h, size = slope(b)
        if abs(h) <= ENOUGH * size:
            return b
        low, high = (b, high) if h < 0 else (low, b)
        curvature = curvature_at(b)
        trial = b - h / curvature if curvature > 0 else math.nan
        if not (low < trial < high and abs(trial - b) <= step):
            trial = 0.5 * (low + high) if math.isfinite(low + high) else b - math.copysign(step, h)
            step *= 2.0
        if trial == b or high - low <= 2e-16 * abs(b):
            return b
        b = trial
    return b


def best_shifts(z: Array, slopes: Slopes, weights: Array | None, start: Array) -> Array:
    """The same for `Multinomial`, where b is a vector with sum zero: Newton's method, shortened until slopes fall.

    The Hessian is sum_i w_i (diag p_i - p_i p_i^T), with p_i the softmax. O(m c^2) a step.
    """

    def slope(b: Array) -> tuple[Array, float]:
        terms = slopes(z + b)
        return terms.sum(axis=0), float(np.abs(terms).sum())

    def hessian_at(b: Array) -> Array:
        p = np.exp(z + b - (z + b).max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        weighted = p if weights is None else weights[:, None] * p
        return np.asarray(np.diag(weighted.sum(axis=0)) - weighted.T @ p)

    return best_vector(slope, hessian_at, start)


def best_vector(
    slope: Callable[[Array], tuple[Array, float]], hessian_at: Callable[[Array], Array], start: Array
) -> Array:
    """The same from the slopes in b, with the sum of the magnitudes of their terms, and the Hessian."""
    b: Array = start - start.mean()
    for _ in range(TRIALS):
        h, size = slope(b)
        if np.abs(h).max() <= ENOUGH * size:
            break
        step = np.linalg.lstsq(hessian_at(b), -h, rcond=1e-12)[0]
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        while np.abs(slope(b + step)[0]).max() > np.abs(h).max() and np.abs(step).max() > 1e-15:
            step *= 0.5
        if np.abs(step).max() <= 1e-15 * (1.0 + np.abs(b).max()):
            break
        b = b + step
    return b
