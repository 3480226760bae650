"""A trust-region Newton method for factors on a sphere: the nuclear ball, without a multiplier to search for.

By ||M||_* = min (||P||^2 + ||Q||^2) / 2 over M = P Q^T, every point of the sphere ||P||^2 + ||Q||^2 = 2 tau lies in the
nuclear ball of radius tau, and every point of the ball is on it or, as factors, inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._arrays import Array
from .problem import Factors, Point, Problem

FIRST_FORCING, LEAST_FORCING = 0.3, 0.2
"""Relative residuals at which conjugate gradients stop: at first, and near a solution."""
MOST_PRODUCTS = 60
"""Hessian products in a step."""
_BACKTRACKS, _SHORTER = 5, 0.35
_FLOOR = 0.5
"""Least multiplier in the preconditioner, relative to the mean of the diagonal."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What a step leaves to the next: radius in the preconditioner's norm (zero: none yet) and forcing term."""

    radius: float = 0.0
    forcing: float = FIRST_FORCING


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """Gradient of the Lagrangian on the sphere, its preconditioner, and the multiplier of the sphere.

    `stationarity` is the square of its norm in the inverse preconditioner: about twice what a step can gain.
    """

    gradient: Array
    inverse: Array
    normal: Array | None
    multiplier: float
    stationarity: float

    def in_single(self) -> Slope:
        """The same in single precision."""
        normal = None if self.normal is None else self.normal.astype(np.float32)
        gradient, inverse = self.gradient.astype(np.float32), self.inverse.astype(np.float32)
        return Slope(gradient, inverse, normal, self.multiplier, self.stationarity)

    def projected(self, residual: Array) -> Array:
        """The preconditioner applied, within the tangent space."""
        out = self.inverse * residual
        if self.normal is not None:
            size = len(self.normal)
            across = self.inverse[:size] * self.normal
            out[:size] -= (np.dot(self.normal, out[:size]) / np.dot(self.normal, across)) * across
        return out


def balanced(factors: Factors) -> tuple[Factors, tuple[Array, Array, Array]]:
    """The same matrix as P = U S^1/2, Q = V S^1/2, and U, S, V: its nuclear norm is then half the squared length."""
    q, r = np.linalg.qr(factors.left)
    p, s = np.linalg.qr(factors.right)
    u, values, vt = np.linalg.svd(r @ s.T, full_matrices=False)
    left, right = q @ u, p @ vt.T
    roots = np.sqrt(values)
    made = Factors.of(left * roots, right * roots, (factors.row_biases, factors.column_biases))
    return made, (left, values, right)


def onto_sphere(factors: Factors, radius: float, always: bool) -> Factors:
    """Scaled to ||P||^2 + ||Q||^2 = 2 radius if it lies outside, or `always`."""
    part = factors.vector[: factors.matrix_size]
    square = float(np.dot(part, part))
    if square == 0.0 or not (always or square > 2.0 * radius):
        return factors
    vector = factors.vector.copy()
    vector[: factors.matrix_size] *= math.sqrt(2.0 * radius / square)
    return factors.like(vector)


def slope_at(problem: Problem, point: Point, gradient: Array, radius: float) -> Slope:
    """What the sphere makes of the gradient by the factors."""
    factors, gradient = point.factors, gradient.copy()
    size = factors.matrix_size
    x, g = factors.vector[:size], gradient[:size]
    multiplier = -float(np.dot(g, x)) / (2.0 * radius)
    on_sphere = float(np.dot(x, x)) >= 2.0 * radius * (1.0 - math.sqrt(np.finfo(problem.dtype).eps))
    bound = on_sphere and multiplier > 0.0
    diagonal = problem.diagonal(point)
    floor = _FLOOR * float(diagonal[:size].mean()) if size else 0.0
    diagonal[:size] += max(multiplier if bound else 0.0, floor)
    np.maximum(diagonal, np.finfo(np.float32).tiny, out=diagonal)
    if bound:
        g += multiplier * x
    slope = Slope(gradient, 1.0 / diagonal, x if bound else None, max(multiplier, 0.0) if bound else 0.0, 0.0)
    return replace(slope, stationarity=float(np.dot(gradient, slope.projected(gradient))))


def newton_step(
    problem: Problem, single: Problem, point: Point, slope: Slope, radius: float, trust: Trust
) -> tuple[Point, Trust, bool]:
    """One step by conjugate gradients within the trust region (Steihaug), back onto the sphere, and the next region.

    The Hessian is that of f in the factors plus the multiplier, off the normal of the sphere. Its products are those of
    `single`, the same problem in single precision: the direction need not be known to more digits, and whether the
    step is good is seen in `problem`. A step that is no good is shortened a few times before it is given up (Nocedal
    and Yuan). Returns the old point, and False, if it is.
    """
    scale = trust.radius or 1.5 * math.sqrt(slope.stationarity)
    found = _steihaug(single, point.in_single(), slope.in_single(), scale, trust.forcing)
    step, image = found[0].astype(np.float64), found[2].astype(np.float64)
    length, at_edge = found[1], found[3]
    factors, bound = point.factors, slope.normal is not None
    if not bound:
        part = _to_sphere(factors, step, radius)
        step, image = part * step, part * image
    gain = -float(np.dot(step, slope.gradient + 0.5 * image))
    trial = problem.point(onto_sphere(factors.like(factors.vector + step), radius, bound))
    ratio = (point.value - trial.value) / gain if gain > 0.0 else -math.inf
    if not math.isfinite(ratio):
        ratio = -math.inf
    near = slope.stationarity < 1e-4 * abs(point.value)
    forcing = max(LEAST_FORCING, 0.4 * trust.forcing) if abs(ratio - 1.0) < 0.2 and near else FIRST_FORCING
    if ratio > 0.05:
        if ratio < 0.25:
            scale = 0.3 * length
        elif at_edge:
            scale *= 3.0 if ratio > 0.75 else 1.0
        else:
            scale = min(scale, 2.0 * length)
        return trial, Trust(scale, forcing), True
    for _ in range(_BACKTRACKS):
        step, length = _SHORTER * step, _SHORTER * length
        shorter = onto_sphere(factors.like(factors.vector + step), radius, bound)
        if problem.value(shorter) < point.value:
            return problem.point(shorter), Trust(length, FIRST_FORCING), True
    return point, Trust(length, FIRST_FORCING), False


def _steihaug(
    problem: Problem, point: Point, slope: Slope, radius: float, forcing: float
) -> tuple[Array, float, Array, bool]:
    """The step, its length, the Hessian times the step, and whether it ends at the edge of the region."""
    residual, size = slope.gradient.copy(), point.factors.matrix_size
    step = np.zeros_like(residual)
    z = slope.projected(residual)
    rz = first = float(np.dot(residual, z))
    direction, step_square, across, square = -z, 0.0, 0.0, rz
    for _ in range(MOST_PRODUCTS):
        image = problem.hessian(point, direction)
        image[:size] += problem.number(slope.multiplier) * direction[:size]
        curvature = float(np.dot(direction, image))
        length = rz / curvature if curvature > 0.0 else math.inf
        after = step_square + 2.0 * length * across + length**2 * square
        at_edge = not after < radius**2
        if at_edge:
            root = math.sqrt(max(across**2 + square * (radius**2 - step_square), 0.0))
            length = (root - across) / square
            after = radius**2
        step += problem.number(length) * direction
        residual += problem.number(length) * image
        step_square = after
        if at_edge:
            break
        z = slope.projected(residual)
        new = float(np.dot(residual, z))
        if new <= forcing**2 * first:
            break
        beta = new / rz
        across, square, rz = beta * (across + length * square), new + beta**2 * square, new
        direction = problem.number(beta) * direction - z
    return step, math.sqrt(max(step_square, 0.0)), residual - slope.gradient, at_edge


def _to_sphere(factors: Factors, step: Array, radius: float) -> float:
    """The part of a step from inside that stays inside: what the model says of the whole step is not so beyond."""
    size = factors.matrix_size
    x, s = factors.vector[:size], step[:size]
    a, b, c = float(np.dot(s, s)), float(np.dot(x, s)), float(np.dot(x, x)) - 2.0 * radius
    if a + 2.0 * b + c <= 0.0 or a == 0.0:
        return 1.0
    part = (math.sqrt(max(b * b - a * c, 0.0)) - b) / a
    return part if part > 0.0 else 1.0
