"""A linear model on data in blocks: the same f, of which each question is one round over the blocks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, digest
from ..blocks import Block, Blocks
from ._intercept import best_vector, zero_of_slope
from .base import Line, Objective
from .linear_model import LinearModel

TRIALS = 8
"""Points at which a line is asked for its derivative in one round."""
SPREAD = 1e-2
"""How far apart from the best guess of a zero the nearest others lie, in lengths of the bracket; then its powers"""
ENOUGH = 1e-13
"""A derivative that is this fraction of the first, or a bracket that is this fraction of the step, is rounding."""


@dataclass(frozen=True, eq=False)
class BlockLoss:
    """The losses of the rows of any block: what tasks are given of an objective.

    Attributes
    ----------
    model : LinearModel
        One with a row for each distinct label, and no data.
    labels : array or None
        Those labels, sorted; None where targets are the labels themselves.
    scale : float or None
        What makes the mean of all weights one; None without weights.
    """

    model: LinearModel
    labels: Array | None
    scale: float | None

    def of(self, block: Block) -> LinearModel:
        """The losses of the rows of a block, as functions of their margins; it has no data."""
        made = copy.copy(self.model)
        if self.labels is None:
            made.y = np.asarray(block.y, dtype=np.float64)
        else:
            made.y = self.model.y[np.searchsorted(self.labels, block.y)]
        made.sample_weight = None if self.scale is None or block.w is None else block.w * self.scale
        made.n_samples = block.m
        return made


@dataclass(frozen=True, eq=False)
class Place:
    """A point as tasks are given it: its nonzero features, their rows of x, and the intercept."""

    features: Array
    values: Array
    intercept: Any = 0.0

    @classmethod
    def of(cls, x: Array, intercept: Any = None) -> Place:
        features = np.flatnonzero(x if x.ndim == 1 else np.any(x, axis=1))
        values = np.ascontiguousarray(x[features], dtype=np.float64)
        return cls(features, values, 0.0 if intercept is None else intercept)

    def margins(self, block: Block) -> Array:
        """A x + b."""
        z = block.times(self.features, self.values)
        z += self.intercept
        return z


# Tasks.


def value(block: Block, loss: BlockLoss, place: Place) -> tuple[float]:
    """The sum of the losses."""
    return (loss.of(block)._sum_of_losses(place.margins(block), slice(None)),)


def full_pass(block: Block, loss: BlockLoss, place: Place) -> tuple[float, Array]:
    """The sum of the losses, and A^T of their slopes."""
    part, z = loss.of(block), place.margins(block)
    return part._sum_of_losses(z, slice(None)), block.sums(part._slopes(z, None))


def first_intercept(block: Block, loss: BlockLoss, place: Place) -> tuple[float, int]:
    """Where the search for the best intercept begins, m times, and m."""
    part = loss.of(block)
    return block.m * part._first_intercept(place.margins(block)) if block.m else 0.0, block.m


def intercept_slopes(block: Block, loss: BlockLoss, place: Place) -> tuple[Any, float, Any]:
    """The slope in the intercept, the sum of the magnitudes of its terms, and the curvature."""
    part, z = loss.of(block), place.margins(block)
    slopes = part._slopes(z, None)
    size = float(np.abs(slopes).sum())
    if z.ndim == 1:
        curvatures = part._phi_second(z, part.y)
        total = curvatures.sum() if part.sample_weight is None else part.sample_weight @ curvatures
        return float(slopes.sum()), size, float(total)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    weighted = p if part.sample_weight is None else part.sample_weight[:, None] * p
    return slopes.sum(axis=0), size, np.diag(weighted.sum(axis=0)) - weighted.T @ p


def line_values(block: Block, loss: BlockLoss, place: Place, along: Place, lengths: Array) -> tuple[Array]:
    """The sum of the losses at each length along a direction."""
    part, z, dz = loss.of(block), place.margins(block), along.margins(block)
    return (np.array([part._sum_of_losses(z + gamma * dz, slice(None)) for gamma in lengths]),)


def line_slopes(block: Block, loss: BlockLoss, place: Place, along: Place, lengths: Array) -> tuple[Array]:
    """The derivative at each length along a direction."""
    part, z, dz = loss.of(block), place.margins(block), along.margins(block)
    return (np.array([float(np.vdot(part._slopes(z + gamma * dz, None), dz)) for gamma in lengths]),)


class PartitionedLine(Line):
    """The model along x + gamma d: a round over the blocks a question, so that many are asked at once."""

    objective: PartitionedModel

    def __init__(self, objective: PartitionedModel, x: Array, direction: Array) -> None:
        super().__init__(objective, x, direction)
        self._at = Place.of(self.x, objective.intercept_at(self.x))
        self._along = Place.of(self.direction)

    def value(self, gamma: float) -> float:
        f = self.objective
        f.counts.function_values += 1
        (total,) = f.blocks.reduce(line_values, f.loss, self._at, self._along, np.array([gamma]))
        return float(total[0]) / f.n_samples

    def derivative(self, gamma: float) -> float:
        return float(self._derivatives([gamma])[0])

    def minimiser(self) -> float:
        return self.zero(1.0)

    def zero(self, largest: float) -> float:
        """Where the derivative is zero, or the largest step: some three rounds, of `TRIALS` points in a bracket."""
        low, high = 0.0, largest
        lengths = largest * np.append(0.0, 4.0 ** np.arange(2 - TRIALS, 1.0))
        at_low = at_high = first = 0.0
        for turn in range(30):
            found = self._derivatives(lengths)
            first = abs(float(found[0])) if turn == 0 else first
            best = int(np.argmin(np.abs(found)))
            if turn and abs(found[best]) <= ENOUGH * first:
                return float(lengths[best])
            below, above = np.flatnonzero(found < 0), np.flatnonzero(found >= 0)
            if turn == 0 and (len(above) == 0 or found[-1] <= 0):
                return largest
            if turn == 0 and found[0] >= 0:  # downhill by rounding only
                return 0.0
            if len(below):
                low, at_low = float(lengths[below[-1]]), float(found[below[-1]])
            later = above[lengths[above] > low]
            if len(later):
                high, at_high = float(lengths[later[0]]), float(found[later[0]])
            width = high - low
            if width <= ENOUGH * high:
                return low
            near = np.argsort(np.abs(found))[:4]
            guess = _where_zero(lengths[near], found[near])
            if not low < guess < high:
                guess = low - at_low * width / (at_high - at_low)
            steps = width * SPREAD ** np.arange(1.0, 3.0)
            inner = low + width * np.arange(1, 4) / 4  # whatever the guess is worth, the bracket is soon a quarter
            lengths = np.unique(np.clip(np.concatenate([[guess], guess - steps, guess + steps, inner]), low, high))
            inside = lengths[(lengths > low) & (lengths < high)]
            lengths = inside if len(inside) else np.array([0.5 * (low + high)])
        return low

    def _derivatives(self, lengths: Sequence[float] | Array) -> Array:
        f = self.objective
        f.counts.sample_gradients += f.n_samples * len(lengths)
        f.counts.full_gradients += len(lengths)
        (total,) = f.blocks.reduce(line_slopes, f.loss, self._at, self._along, np.asarray(lengths, dtype=np.float64))
        return np.asarray(total) / f.n_samples


def _where_zero(lengths: Array, slopes: Array) -> float:
    """The zero of the derivative by inverse interpolation, a guess: Neville's scheme. Not finite where two agree."""
    guesses = lengths.astype(np.float64)
    with np.errstate(all="ignore"):
        for k in range(1, len(guesses)):
            first, last = slopes[:-k], slopes[k:]
            guesses = (last * guesses[:-1] - first * guesses[1:]) / (last - first)
    return float(guesses[0])


class PartitionedModel(Objective):
    """What ``bsfw.Logistic(blocks)`` and the other linear models make of `bsfw.blocks`: the same f, by exact methods.

    Data may be float32; x, products and sums are float64. A gradient is a pass over all entries and gives the value
    too; a value, a derivative along a line and a step of the intercept cost the columns of the support of x only.

    Parameters
    ----------
    kind : type
        The linear model.
    blocks : Blocks
    settings : dict
        What else its constructor was given.

    Attributes
    ----------
    blocks : Blocks
    loss : BlockLoss
    link, leak, classes, feature_names
        As those of the linear model.
    """

    shape: tuple[int, ...]
    n_samples: int
    only_exact = (
        "data in blocks take the exact gradient only: asking all blocks for a batch takes about as long as asking them "
        "for the gradient of all samples; leave estimator= out"
    )

    def __init__(self, kind: type[LinearModel], blocks: Blocks, settings: dict[str, Any]) -> None:
        super().__init__()
        if settings.pop("y", None) is not None or settings.pop("sample_weight", None) is not None:
            raise ValueError("blocks hold their labels and weights: leave y and sample_weight out.")
        self.blocks, self.kind = blocks, kind
        self.n_samples, n = blocks.shape
        labels, weighted = blocks.labels()
        model = _without_data(kind, labels, weighted, settings)
        weight = blocks.weight()
        self.loss = BlockLoss(model, labels, None if weight is None else self.n_samples / weight)
        self.intercept, self.offset = model.intercept, None
        self.quasar_rho, self.link, self.feature_names = model.quasar_rho, model.link, blocks.feature_names
        self.classes, self.leak = getattr(model, "classes", None), getattr(model, "leak", 1.0)
        self.shape = (n, *model.shape[1:])
        self._passes: dict[str, tuple[Array, Any, float, Array]] = {}
        """The last full pass: at which x and intercept, value and gradient. Shared by the copies of runs."""

    # What runs ask.

    def full_pass(self, x: Array, start: Any = None) -> tuple[float, Array, Any]:
        """f, its gradient and the intercept at x, the best one unless it is held fixed; the last answer is kept.

        The search for the best intercept begins at `start`.
        """
        x = np.asarray(x, dtype=np.float64)
        held = self._last(x)
        if held is None:
            intercept = self.intercept_at(x, start)
            place = Place.of(x, intercept)
            total, gradient = self.blocks.reduce(full_pass, self.loss, place, large=True)
            gradient /= self.n_samples
            gradient.flags.writeable = False
            held = self._passes["last"] = x.copy(), intercept, total / self.n_samples, gradient
        return held[2], held[3], held[1]

    def _last(self, x: Array) -> tuple[Array, Any, float, Array] | None:
        """The last full pass, if it was at x and the intercept that is held fixed."""
        held = self._passes.get("last")
        if held is None or not np.array_equal(held[0], x):
            return None
        return held if self.offset is None or np.array_equal(held[1], self.offset) else None

    def intercept_at(self, x: Array, start: Any = None) -> Any:
        """The intercept that is held fixed, or the best one at x; None if there is none."""
        if not self.intercept or self.offset is not None:
            return self.offset
        held = self._last(x)
        if held is not None:
            return held[1]
        place = Place.of(np.asarray(x, dtype=np.float64))
        asked: dict[Any, tuple[Any, float, Any]] = {}

        def ask(b: Any) -> tuple[Any, float, Any]:
            key = np.asarray(b).tobytes()
            if key not in asked:
                there = Place(place.features, place.values, b)
                asked[key] = self.blocks.reduce(intercept_slopes, self.loss, there)
            return asked[key]

        if len(self.shape) > 1:
            return best_vector(
                lambda b: ask(b)[:2], lambda b: ask(b)[2], np.zeros(self.shape[1]) if start is None else start
            )
        if start is None:
            total, count = self.blocks.reduce(first_intercept, self.loss, place)
            start = total / count
        return zero_of_slope(lambda b: ask(b)[:2], lambda b: ask(b)[2], float(start))

    # The objective.

    def _value(self, x: Array) -> float:
        held = self._last(x)
        if held is not None:
            return held[2]
        (total,) = self.blocks.reduce(value, self.loss, Place.of(x, self.intercept_at(x)))
        return float(total) / self.n_samples

    def _gradient(self, x: Array) -> Array:
        return self.full_pass(x)[1].copy()

    def along(self, x: Array, direction: Array) -> Line:
        return PartitionedLine(self, x, direction)

    def for_run(self) -> PartitionedModel:
        """Self, or with an intercept a copy that holds it fixed until `refit`."""
        return self if not self.intercept else copy.copy(self)

    def refit(self, x: Array) -> None:
        if self.intercept:
            start, self.offset = self.offset, None
            self.offset = self.intercept_at(x, start)

    def fields(self, x: Array) -> dict[str, Any]:
        """The intercept at x, and what the run asked of the blocks."""
        found = {} if not self.intercept or x is None else {"intercept": self.intercept_at(x)}
        return {**found, "rounds": self.blocks.rounds, "passes": self.blocks.passes}

    def progress(self) -> str:
        blocks = self.blocks
        return f"   passes {blocks.passes}   rounds {blocks.rounds}   {blocks.bytes / 1e9:.3g} GB"

    def fingerprint(self) -> str:
        """Hash of the data, the cuts and the loss, by which a checkpoint recognises the problem."""
        return digest(
            "blocks", self.kind.__name__, self.shape, self.quasar_rho, self.intercept, *self.loss.model._parameters(),
            self.blocks.fingerprint(),
        )  # fmt: skip


def _without_data(
    kind: type[LinearModel], labels: Array | None, weighted: Array, settings: dict[str, Any]
) -> LinearModel:
    """A linear model of one row for each label: its constructor checks them, and what else it was given."""
    y = weighted if labels is None else labels  # of too many, the smallest and the largest
    weights = np.ones(len(y)) if labels is None else np.asarray(weighted, dtype=np.float64)
    made = kind(np.zeros((len(y), 1)), y, **settings, sample_weight=weights)
    if labels is None and hasattr(made, "classes"):
        raise ValueError(
            f"{kind.__name__} takes labels, but the blocks hold numbers from {y[0]!r} to {y[1]!r}, too many for labels."
        )
    return made
