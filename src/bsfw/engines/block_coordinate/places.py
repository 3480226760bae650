"""What block steps ask of f at an x that changes in one block at a time, by what is kept up to date along the way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._arrays import Array, inner
from ...objectives.base import Line, Objective
from ...objectives.linear_model import LinearLine, LinearModel
from ...objectives.quadratic import Quadratic


class Along:
    """A direction of one block, and f along it."""

    def __init__(self, place: Place, block: slice, d: Array, image: Array | None = None) -> None:
        self.place, self.block, self.d, self.image = place, block, d, image

    def line(self) -> Line:
        return self.place.line(self)


class Place(ABC):
    """f at x, an array that its owner changes; `moved` says so."""

    def __init__(self, f: Any, x: Array) -> None:
        self.f, self.x = f, x

    @abstractmethod
    def gradient(self, block: slice) -> Array:
        """The partial derivatives of the block."""

    @abstractmethod
    def line(self, along: Along) -> Line:
        """f along a direction of one block."""

    def along(self, block: slice, d: Array) -> Along:
        return Along(self, block, d)

    def moved(self, along: Along, length: float) -> None:  # noqa: B027  # where nothing is kept up to date
        """x has moved by `length` along that direction."""


class AnyPlace(Place):
    """Of any objective: its partial derivatives, or its full gradient where it has none."""

    def gradient(self, block: slice) -> Array:
        if self.f.has_partial_derivatives:
            return np.asarray(self.f.partial_derivatives(self.x, np.arange(block.start, block.stop)))
        return np.asarray(self.f.gradient(self.x))[block]

    def line(self, along: Along) -> Line:
        direction = np.zeros_like(self.x)
        direction[along.block] = along.d
        line: Line = self.f.along(self.x.copy(), direction)
        return line


class _Parabola(Line):
    """A quadratic along a direction, less its value at the start: a search asks for differences only."""

    def __init__(self, objective: Objective, slope: float, bend: float) -> None:
        self.objective, self._slope, self._bend = objective, slope, bend

    def value(self, gamma: float) -> float:
        self.objective.counts.function_values += 1
        return gamma * (self._slope + 0.5 * gamma * self._bend)

    def derivative(self, gamma: float) -> float:
        self.objective.counts.sample_gradients += 1
        self.objective.counts.full_gradients += 1
        return self._slope + gamma * self._bend

    def minimiser(self) -> float | None:
        if self._bend > 0.0:
            return min(max(-self._slope / self._bend, 0.0), 1.0)
        return 1.0 if self._slope + 0.5 * self._bend < 0.0 else 0.0


class QuadraticPlace(Place):
    """Of a `Quadratic`, by Q x: a step costs the block's rows of Q, and a search nothing more."""

    def __init__(self, f: Quadratic, x: Array) -> None:
        super().__init__(f, x)
        self._product = f._apply(x)

    def gradient(self, block: slice) -> Array:
        self.f.counts.coordinate_gradients += block.stop - block.start
        return np.asarray(self._product[block] + self.f.b[block])

    def along(self, block: slice, d: Array) -> Along:
        Q = self.f.Q
        return Along(self, block, d, Q[block].T.conj() @ d if Q.ndim == 2 else (Q[block] if Q.ndim else Q) * d)

    def line(self, along: Along) -> Line:
        block, image = along.block, along.image
        assert image is not None
        bent = image[block] if self.f.Q.ndim == 2 else image
        return _Parabola(self.f, inner(self._product[block] + self.f.b[block], along.d), inner(along.d, bent))

    def moved(self, along: Along, length: float) -> None:
        assert along.image is not None
        if self.f.Q.ndim == 2:
            self._product += length * along.image
        else:
            self._product[along.block] += length * along.image


class LinearPlace(Place):
    """Of a linear model, by the margins z = A x: a step costs the block's columns of A, and O(m) a question."""

    def __init__(self, f: LinearModel, x: Array) -> None:
        super().__init__(f, x)
        self._columns, self._z = f.columns, f.margins(x).astype(np.float64)

    def gradient(self, block: slice) -> Array:
        self.f.counts.coordinate_gradients += block.stop - block.start
        return np.asarray(self._columns[:, block].T @ self.f._slopes(self._z, None) / self.f.n_samples)

    def along(self, block: slice, d: Array) -> Along:
        return Along(self, block, d, self._columns[:, block] @ d)

    def line(self, along: Along) -> Line:
        assert along.image is not None
        return LinearLine(self.f, self._z, along.image)

    def moved(self, along: Along, length: float) -> None:
        self._z = self._z + length * np.asarray(along.image, dtype=np.float64)


def place_of(f: Objective, x: Array) -> Place:
    """f at x, formed anew."""
    if isinstance(f, Quadratic) and x.ndim == 1:
        return QuadraticPlace(f, x)
    if isinstance(f, LinearModel) and not f.intercept and type(f).along is LinearModel.along and f.A.shape[1] == x.size:
        return LinearPlace(f, x)
    return AnyPlace(f, x)
