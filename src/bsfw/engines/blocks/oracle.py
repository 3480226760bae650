"""What Newton steps ask, on blocks: the full step and the model there are one question, so one round trip a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arrays import Array
from ...blocks import Blocks
from ...objectives.partitioned import PartitionedModel
from ..corrective.oracle import ARMIJO, OVERSHOT, SHORT, STEEP, TRUSTED, Oracle, Quadratic
from ..corrective.outer import FLOOR
from .tasks import Start, probe

TRIALS, ROUNDS = 7, 5
"""Lengths that are asked for in one round once the full step is refused, and such rounds at most."""


@dataclass
class BlockPoint:
    """Weights of the atoms and an intercept, and what is known of f there.

    Attributes
    ----------
    x : array, (k,)
    intercept : float or array
        0.0 if there is none.
    value : float
        f, where f is not convex.
    g, of_intercept : array
        The slopes in both.
    model : tuple or None
        The Hessian in the weights, the mixed one and that in the intercept; None as long as nobody asked.
    """

    x: Array
    intercept: Any
    value: float
    g: Array
    of_intercept: Array
    model: tuple[Array, Array, Array] | None = None


class BlockOracle(Oracle[BlockPoint]):
    """f as a function of the weights of atoms and of the intercept, whose images are on the blocks.

    The intercept is a variable of the Newton step beside the weights, not minimised over at each point: that would be a
    round trip each. The model is minimised over it.

    Parameters
    ----------
    objective : PartitionedModel
    chosen : Blocks
        Of `tasks.Chosen`.
    """

    def __init__(self, objective: PartitionedModel, chosen: Blocks) -> None:
        self.objective, self.chosen = objective, chosen
        self.convex = objective.quasar_rho == 1.0
        self._curvature = objective.loss.model._curvature
        self._floor = FLOOR * self._curvature

    def slopes(self, point: BlockPoint) -> Array:
        """Those in the weights, where the intercept follows as the model has it."""
        if point.model is None or not point.of_intercept.size:
            return point.g
        _, mixed, own = point.model
        return np.asarray(point.g - mixed @ (_inverse(own) @ point.of_intercept))

    def model(self, point: BlockPoint, secant: Any) -> Quadratic:
        if point.model is None or secant is not None:
            still = Start(point.x, point.intercept, np.zeros(len(point.x)), 0.0)
            found = self._ask(still, [0.0], secant)[2]
            point.value, point.model = found.value, found.model
        assert point.model is not None
        hessian, mixed, own = point.model
        return Quadratic(hessian - mixed @ _inverse(own) @ mixed.T if own.size else hessian, None)

    def step(
        self, point: BlockPoint, target: Array, model: Quadratic, slope: float, trusted: bool
    ) -> tuple[BlockPoint, float, Any]:
        assert point.model is not None
        dx, d_intercept = target - point.x, 0.0
        _, mixed, own = point.model
        if own.size:
            inverse = _inverse(own)
            d_intercept = _plain(-inverse @ (point.of_intercept + mixed.T @ dx))
            slope -= float(point.of_intercept @ inverse @ point.of_intercept)
        start = Start(point.x, point.intercept, dx, d_intercept)
        by_slope = trusted or self.convex
        ends, values, there = self._ask(start, [1.0])
        full = (point.x, point.intercept, target, there.intercept)
        there.x = target
        if trusted or (by_slope and ends[0] <= -OVERSHOT * slope):
            return there, 1.0, full if not trusted and ends[0] < STEEP * slope else None
        if not by_slope and self._lower(point, values[0], ends[0], 1.0, slope):
            return there, 1.0, full if ends[0] < STEEP * slope else None
        found = self._by_slopes(start, slope) if by_slope else self._by_values(start, point, slope)
        if found is None:
            return point, 0.0, full
        there, length = found
        return there, length, full if length < SHORT else None

    def _lower(self, point: BlockPoint, value: float, end: float, length: float, slope: float) -> bool:
        """Whether f is enough lower, where it is not convex."""
        armijo = value <= point.value + ARMIJO * length * slope
        return armijo or (value <= point.value + TRUSTED * abs(point.value) and abs(end) <= -OVERSHOT * slope)

    def _by_slopes(self, start: Start, slope: float) -> tuple[BlockPoint, float] | None:
        """A length at which the slope is small, or at least still downhill: the derivative rises along the way."""
        low, high = 0.0, 1.0
        for _ in range(ROUNDS):
            lengths = low + (high - low) * np.arange(1, TRIALS + 1) / (TRIALS + 1)
            if low == 0.0:
                lengths = high * 2.0 ** np.arange(-TRIALS, 0.0)
            ends, _, _ = self._ask(start, lengths)
            good = np.flatnonzero((ends >= STEEP * slope) & (ends <= -OVERSHOT * slope))
            if len(good):
                length = float(lengths[good[np.argmin(np.abs(ends[good]))]])
                return self._ask(start, [length])[2], length
            below = int((ends < 0).sum())  # the derivative rises: these are the first
            high = float(lengths[below]) if below < TRIALS else high
            low = float(lengths[below - 1]) if below else low
        return None if low == 0.0 else (self._ask(start, [low])[2], low)

    def _by_values(self, start: Start, point: BlockPoint, slope: float) -> tuple[BlockPoint, float] | None:
        """The largest length of those halved at which f is enough lower."""
        for turn in range(ROUNDS):
            lengths = 0.5 ** np.arange(1 + turn * TRIALS, 1 + (turn + 1) * TRIALS)
            ends, values, _ = self._ask(start, lengths)
            for length, value, end in zip(lengths.tolist(), values, ends, strict=True):
                if self._lower(point, value, end, length, slope):
                    return self._ask(start, [length])[2], length
        return None

    def _ask(
        self, start: Start, lengths: Sequence[float] | Array, secant: Any = None
    ) -> tuple[Array, Array, BlockPoint]:
        """Derivatives and values at all lengths, and the point at the first of them with its model. One round."""
        f, m = self.objective, self.objective.n_samples
        f.counts.sample_gradients += m * len(lengths)
        f.counts.function_values += 0 if self.convex else len(lengths)
        asked = start, np.asarray(lengths, dtype=np.float64), not self.convex, f.intercept, secant
        found = self.chosen.reduce(probe, *asked, self._floor)
        if len(f.shape) == 1 and found[-1] <= 2.0 * self._floor * m:  # no curvature anywhere: its bound, then
            found = self.chosen.reduce(probe, *asked, self._curvature)
        elif len(f.shape) == 1:
            self._floor = FLOOR * found[-1] / m
        ends, values, g, of_intercept, packed, mixed, own = (part / m for part in found[:-1])
        k, length = len(start.x), float(lengths[0])
        hessian = np.zeros((k, k))
        hessian[np.tril_indices(k)] = packed
        hessian += np.tril(hessian, -1).T
        there = BlockPoint(
            start.x + length * start.dx,
            start.intercept + length * start.d_intercept,
            float(values[0]),
            g,
            of_intercept,
            (hessian, mixed, own),
        )
        return ends, values, there


def _inverse(own: Array) -> Array:
    """The inverse of the Hessian in the intercept, but for equal shifts of all classes."""
    return np.asarray(np.linalg.pinv(own, rcond=1e-12, hermitian=True))


def _plain(intercept: Array) -> Any:
    """One number as a number."""
    return float(intercept[0]) if intercept.size == 1 else intercept
