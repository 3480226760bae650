"""Losses of single entries: linear models whose rows are unit vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays import Array, Floats
from . import _checks
from .base import Objective
from .linear_model import LinearModel

_BLOCK = 2**18
"""Observations of which the losses are taken at once, so that temporary arrays stay small beside the data."""
_HUGE = 1e75
"""Residuals beyond this count as this much: the bounded loss is one there, and the fourth power does not overflow."""


def _bounded(d: Floats) -> Floats:
    square = np.square(np.clip(d, -_HUGE, _HUGE))
    return square / (2.0 + square)


def _bounded_slope(d: Floats) -> Floats:
    d = np.clip(d, -_HUGE, _HUGE)
    return 4.0 * d / np.square(2.0 + np.square(d))


ENTRY_LOSSES: dict[str, float | None] = {"bounded": None, "squared": 1.0, "huber": 1.0}
"""The losses by name, with their quasar-convexity: 1.0 for a convex one, None for a nonconvex one."""


class EntryLosses(LinearModel):
    """f = (1/m) sum_i w_i phi(z_i - y_i), where z_i is an entry of the variable, each a different one.

    A linear model whose rows are unit vectors, so that a derivative is one number and nothing is multiplied.
    """

    loss: str
    delta: float

    # Which entries: what a subclass provides.

    @abstractmethod
    def margins(self, x: Any, batch: Array | None = None) -> Array:
        """The observed entries of x, or those of the batch."""

    @abstractmethod
    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        """An array like x that is zero but for the coefficients at the observed entries, or at those of the batch."""

    # The losses.

    def _phi(self, z: Floats, y: Floats) -> Floats:
        d = z - y
        if self.loss == "bounded":
            return _bounded(d)
        if self.loss == "squared":
            return 0.5 * np.square(d)
        inside = np.minimum(np.abs(d), self.delta)
        return inside * (np.abs(d) - 0.5 * inside)

    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        d = z - y
        if self.loss == "bounded":
            return _bounded_slope(d)
        return d if self.loss == "squared" else np.clip(d, -self.delta, self.delta)

    _curvature = 1.0  # of all three, at a zero residual; for the bounded one phi'' = 4 (2 - 3 d^2) / (2 + d^2)^3

    def _parameters(self) -> tuple[Any, ...]:
        return (self.loss, self.delta)

    def derivatives(self, z: Array, batch: Array | slice | None = None) -> Array:
        z, chosen = _checks.numbers(z, None, "z"), batch
        if batch is not None and not isinstance(batch, slice):
            batch = self._batch(batch, empty=True)
        if z.ndim != 1:
            raise ValueError(f"z must be a list of entries, but its shape is {z.shape}.")
        out = np.empty(len(z), dtype=self.dtype)
        for part in _parts(len(z)):
            if isinstance(batch, np.ndarray):
                chosen = batch[part]
            elif batch is None:
                chosen = part
            out[part] = self._slopes(z[part].astype(np.float64), chosen)
        return out

    def _value(self, x: Any) -> float:
        z = self.margins(x)
        parts = (self._sum_of_losses(z[part].astype(np.float64), part) for part in _parts(self.n_samples))
        return sum(parts) / self.n_samples

    def _gradient(self, x: Any) -> Array:
        return self.combine_rows(self.derivatives(self.margins(x)) / self.dtype.type(self.n_samples))

    def _precise_gradient(self, x: Any) -> Array:
        return self._gradient(x)  # nothing is summed, and residuals are formed in double precision

    def _batch_gradient(self, x: Any, batch: Array) -> Array:
        slopes = self.derivatives(self.margins(x, batch), batch)
        return self.combine_rows(slopes / self.dtype.type(len(batch)), batch)

    def sample_gradients(self, x: Any, batch: Array) -> Array:
        """Gradients of f_i, i in `batch`, stacked along a new first axis: len(batch) arrays like x."""
        return Objective.sample_gradients(self, x, batch)

    def smoothness(self) -> float:
        """L = max_i w_i / m: distinct entries do not touch each other, and |phi''| <= 1 for every loss."""
        return self.image_smoothness()

    def sample_smoothness(self) -> float:
        """max_i w_i."""
        return self.image_smoothness() * self.n_samples


def _parts(size: int) -> Iterator[slice]:
    for first in range(0, size, _BLOCK):
        yield slice(first, min(size, first + _BLOCK))
