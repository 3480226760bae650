"""Newton steps on the weights of an active set: f over {x : mass(x) <= radius} in as many variables as atoms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from ..._threads import one_blas_thread
from . import newton
from .oracle import TRUSTED, Columns, Oracle, P

STEPS, MOST_STEPS = 5, 10
"""Newton steps on one active set, and with those of a wrong model."""
ENOUGH = 0.05
"""The gap over the active set, relative to that over the whole set, below which the next gradient is worth more."""
PENALTY = 5.0
"""Weight of the squared mass, in units of the mean curvature of a coordinate over the number of atoms."""
PRECISION, EPOCHS = 1e-3, 200
"""Coordinate descent ends when an epoch's decrease is this fraction of all."""
FACES = 20
"""Faces that are tried to solve the model exactly, each with fewer atoms than the one before."""
RIDGE = 1e-13
"""Added to the diagonal, relative to the trace: equal atoms make a Gram matrix singular."""
ROUNDING = 1e-14
"""A gap over the atoms below this fraction of f is rounding."""
POLISHED = 1e-10
"""With a gap over the atoms below this fraction of f, a model that finds nothing better says that there is nothing."""


@dataclass(frozen=True)
class Region:
    """{x : mass(x) <= radius}, mass(x) = sum_j w_j |x_j|, signed or x >= 0, or with equality. w comes with the atoms.

    Attributes
    ----------
    signed, equal : bool
        Whether coordinates have either sign, and whether the mass is fixed.
    radius : float
    """

    signed: bool
    equal: bool
    radius: float

    @property
    def code(self) -> int:
        return newton.SIGNED * self.signed + newton.EQUAL * self.equal

    def gap(self, g: Array, x: Array, weights: Array) -> float:
        """The Frank-Wolfe gap over the atoms."""
        best = float((-np.abs(g) / weights).min() if self.signed else (g / weights).min())
        return float(g @ x) - self.radius * (best if self.equal else min(best, 0.0))

    def multiplier(self, g: Array, x: Array) -> float:
        """-<g, x> / radius: at the optimum lambda of the penalised problem with the same x, within the gap before."""
        found = -float(g @ x) / self.radius
        return found if self.equal else max(0.0, found)

    def slope(self, g: Array, x: Array, target: Array, weights: Array) -> float:
        """<g, target - x>, without the cancellation that comes from g being normal to the face.

        lambda times the mass is added coordinate by coordinate, and taken out again where the mass really changes.
        """
        multiplier = -float(g @ x) / self.radius
        masses = weights * np.abs(x), weights * np.abs(target)
        grown = float(masses[1].sum() - masses[0].sum())
        grown = 0.0 if abs(grown) <= 1e-13 * self.radius else grown
        return float((g * (target - x) + multiplier * (masses[1] - masses[0])).sum()) - multiplier * grown

    def vertex(self, g: Array, weights: Array) -> Array:
        """The atom that minimises <g, .>, as a point."""
        keys = -np.abs(g) / weights if self.signed else g / weights
        best, point = int(np.argmin(keys)), np.zeros(len(g))
        if self.equal or keys[best] < 0:
            point[best] = (-math.copysign(1.0, g[best]) if self.signed else 1.0) * self.radius / weights[best]
        return point

    def inside(self, x: Array, weights: Array) -> Array | None:
        """x scaled to a feasible point, a convex combination with 0 if that is in the region; None if there is none."""
        mass = float(weights @ np.abs(x))
        if self.equal:
            return x * (self.radius / mass) if mass > 0 else None
        return x * (self.radius / mass) if mass > self.radius else x


class Corrector:
    """Minimises an objective over the weights of given atoms.

    Parameters
    ----------
    region : Region
        Of the weights.
    """

    def __init__(self, region: Region) -> None:
        self.region = region

    @one_blas_thread  # once more than in `Solver.run`: the first call loads the BLAS of SciPy
    def correct(
        self, oracle: Oracle[P], weights: Array, point: P, g: Array, gap: float, value: float
    ) -> tuple[P, float]:
        """Newton steps from `point` until the gap over the atoms is a fraction of `gap`; all feasible.

        Parameters
        ----------
        oracle : Oracle
            The objective as a function of the weights.
        weights : array, (k,)
            The w of the atoms.
        point : Point
            Where to start.
        g : array, (k,)
            The slopes of f in the weights there.
        gap, value : float
            The Frank-Wolfe gap over the whole set, and f.

        Returns
        -------
        point : Point
        length : float
            Of the last step, in [0, 1].
        """
        length, good, secant = 0.0, 0, None
        multiplier = self.region.multiplier(g, point.x)
        for step in range(MOST_STEPS):
            g = oracle.slopes(point) if step else g
            active_gap = self.region.gap(g, point.x, weights)
            if active_gap <= ROUNDING * value or (good and active_gap <= ENOUGH * gap):
                break
            model = oracle.model(point, secant)
            if isinstance(model.hessian, Columns):
                target, multiplier = self._by_residual(model.hessian, g, point.x, weights, multiplier)
            else:
                target, multiplier = self._by_gram(model.hessian, g, point.x, weights, multiplier)
            slope = math.nan if target is None else self.region.slope(g, point.x, target, weights)
            trusted = slope < 0 and slope >= -TRUSTED * value
            if target is not None and not slope < 0 and active_gap <= POLISHED * value:
                break
            if target is None or not slope < 0:
                # A model that misleads: a Frank-Wolfe step over the atoms instead.
                target = self.region.vertex(g, weights)
                slope = float(g @ (target - point.x))
                if not slope < 0:
                    break
            point, length, secant = oracle.step(point, target, model, slope, trusted)
            good += secant is None
            if good == STEPS:
                break
        return point, length

    def _by_gram(
        self, gram: Array | None, g: Array, x: Array, weights: Array, multiplier: float
    ) -> tuple[Array | None, float]:
        """Minimise the model: coordinate descent to find the face, then solve on it."""
        if gram is None:
            return None, multiplier
        penalty = self._penalty(np.diagonal(gram), weights)
        target, slopes = x.copy(), g.copy()
        multiplier = newton.descend_gram(
            self.region.code, gram, slopes, target, x, weights, self.region.radius, multiplier, penalty, PRECISION,
            EPOCHS,
        )  # fmt: skip
        inside = self.region.inside(target, weights)
        if inside is None:
            return None, multiplier
        return self._on_faces(gram, g + gram @ (inside - x), inside.copy(), weights, multiplier)

    def _on_faces(self, gram: Array, slopes: Array, x: Array, weights: Array, multiplier: float) -> tuple[Array, float]:
        """Minimise the model on the face of x (support, signs and mass kept); where a coordinate reaches zero on the
        way, drop it and go on. `slopes` are those of the model at x; both are changed."""
        from scipy.linalg.lapack import dpotrf  # what scipy.linalg puts around it costs more than a small face does

        fixed = self.region.equal or multiplier > 0
        for _ in range(FACES):
            support = np.flatnonzero(x)
            if not len(support):
                break
            lower, failed = dpotrf(newton.face_of(gram, support, RIDGE).T, lower=1, overwrite_a=1)
            if failed:
                break
            multiplier, length = newton.step_on_face(
                self.region.code, gram, lower, support, slopes, x, weights, self.region.radius, fixed
            )
            if length == 1.0:
                break
        inside = self.region.inside(x, weights)
        assert inside is not None
        return inside, multiplier

    def _by_residual(
        self, columns: Columns, g: Array, x: Array, weights: Array, multiplier: float
    ) -> tuple[Array | None, float]:
        """Minimise the model by coordinate descent, without a Gram matrix.

        With an intercept held fixed, which makes the model an upper bound of the one with a free intercept.
        """
        entries, rows, starts, curvatures = columns
        data = entries * np.sqrt(curvatures)[rows]
        diagonal = np.add.reduceat(np.append(data * data, 0.0), starts[:-1])
        diagonal[np.diff(starts) == 0] = 0.0  # reduceat gives the next entry there
        target = x.copy()
        multiplier = newton.descend_residual(
            self.region.code, data, rows, starts, diagonal, g, np.zeros(len(curvatures)), target, x, weights,
            self.region.radius, multiplier, self._penalty(diagonal, weights), PRECISION, EPOCHS,
        )  # fmt: skip
        return self.region.inside(target, weights), multiplier

    @staticmethod
    def _penalty(diagonal: Array, weights: Array) -> float:
        mean = float((diagonal / np.square(weights)).mean())
        return PENALTY * mean / len(weights) if mean > 0 else 1.0
