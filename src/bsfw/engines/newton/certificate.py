"""Upper bounds of the gap of matrix completion at an x in factored form, close to it: what a verdict rests on."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..._arrays import Array, norm
from ...constraints._certificates import close_norm_bound
from ...lowrank import LowRank
from .problem import Factors, Point, Problem, Product

CLOSE = 1.01
"""Upper by lower bound of the gap at which it counts as close."""
SETTLED = 1e-12
"""A gap below this, relative to |f|, is settled as well."""


def factors_of(x: LowRank, biases: tuple[Array, Array]) -> Factors:
    """x and biases, in double precision."""
    left, right = (factor.astype(np.float64) for factor in (x.left, x.right))
    return Factors.of(left * x.weights, right, biases)


def nuclear_gap(
    problem: Problem, point: Point, radius: float, seeds: tuple[int, ...], outside: float = 0.0
) -> float:  # fmt: skip
    """max <G, M - S> over the ball, plus `outside`, what is certain to be gained without M; `point` is at M."""
    rest = float(point.slopes @ _matrix_part(problem, point)) + outside
    bound = _norm(problem.products(point.slopes), point, lambda size: radius * size + rest, seeds)
    return radius * bound + rest + rounding(problem, point, radius)


def spectraplex_gap(
    problem: Problem, point: Point, radius: float, equality: bool, shift: float, seeds: tuple[int, ...]
) -> float:  # fmt: skip
    """max <G, M - S> over the spectraplex. The smallest eigenvalue of H = (G + G^T) / 2 is at least c - ||c I - H|| for
    every c; c = `shift` is about the largest one."""
    forward, backward = problem.products(point.slopes)
    rest = float(point.slopes @ point.z)

    def shifted(v: Array) -> Array:
        return shift * v - 0.5 * (forward(v) + backward(v))

    def gap(size: float) -> float:
        least = shift - size
        return rest - radius * (least if equality else min(least, 0.0))

    return gap(_norm((shifted, shifted), point, gap, seeds)) + rounding(problem, point, radius)


def rounding(problem: Problem, point: Point, radius: float) -> float:
    """What rounding can have taken from a gap: in the sum over the observations as in `bsfw.engines.base.gap_bound`,
    and in each slope where the fitted entry and the observed one cancel."""
    eps = float(np.finfo(np.float64).eps)
    slopes = norm(point.slopes)
    cancelled = norm(point.curvatures * (np.abs(point.z) + np.abs(problem.y)))
    reach = radius * float(problem.row_scale.max() * problem.column_scale.max())
    return eps * ((4.0 * math.sqrt(problem.count) + 8.0) * slopes + 4.0 * cancelled) * (norm(point.z) + reach)


def _matrix_part(problem: Problem, point: Point) -> Array:
    """The fitted entries without the biases."""
    return problem.entries(point.factors.left, point.factors.right) if problem.has_biases else point.z


def _norm(
    products: tuple[Product, Product], point: Point, gap: Callable[[float], float], seeds: tuple[int, ...]
) -> float:  # fmt: skip
    """An upper bound of the norm of a matrix whose leading right singular vectors are, nearly, those of M."""
    factors, rng = point.factors, np.random.default_rng(seeds)
    right = np.linalg.qr(factors.right)[0] if factors.terms else factors.right
    settled = SETTLED * abs(point.value)

    def enough(lower: float, upper: float) -> bool:
        return gap(upper) <= max(CLOSE * gap(lower), settled)

    return close_norm_bound(*products, (factors.rows, factors.columns), right, rng, enough).upper
