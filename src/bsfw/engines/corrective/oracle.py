"""What Newton steps on the weights of an active set ask: slopes, a quadratic model, and a step that is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ..._arrays import Array
from .images import Images, SparseImages
from .outer import Outer, Point

SMALL_GRAM, LARGE_GRAM, FINE = 1000, 2000, 3e-3
"""Atoms up to which there is a Gram matrix, and up to which once the gap is at most this fraction of f."""
SHORT = 0.1
"""A step that had to be shorter than this tells that the model was wrong."""
OVERSHOT, STEEP, CAREFUL = 0.1, 0.7, 8
"""Slope at the end of a step, relative to that at its start, that still counts as its minimum; and that tells that it
stopped too early, which is looked at for so many trials."""
ARMIJO, TRIALS = 1e-4, 25
"""Share of the decrease that the slope promises with which a step is accepted where f is not convex; and its trials."""
TRUSTED = 1e-12
"""A Newton step that promises less than this fraction of f is taken whole: no value or slope could judge it."""


class Weighted(Protocol):
    """A point with weights x of the atoms."""

    @property
    def x(self) -> Array: ...


P = TypeVar("P", bound=Weighted)


class Columns(NamedTuple):
    """The Hessian B^T D B of a model without a Gram matrix: B in CSC form, and the diagonal of D."""

    entries: Array
    rows: Array
    starts: Array
    curvatures: Array


class Quadratic(NamedTuple):
    """A quadratic model of f around a point.

    Attributes
    ----------
    hessian : array, (k, k), Columns or None
        In the weights; None if nothing is known of it.
    of : object
        What the oracle made it of.
    """

    hessian: Array | Columns | None
    of: Any


class Oracle(ABC, Generic[P]):
    """f as a function of the weights of the atoms, at points of a type of its own."""

    @abstractmethod
    def slopes(self, point: P) -> Array:
        """The derivatives of f in the weights."""

    @abstractmethod
    def model(self, point: P, secant: Any) -> Quadratic:
        """f around the point; `secant` is what the last step taught, if its model was wrong."""

    @abstractmethod
    def step(self, point: P, target: Array, model: Quadratic, slope: float, trusted: bool) -> tuple[P, float, Any]:
        """A step towards `target`, the full one first, along which f decreases. Both ends are feasible.

        `slope` is the derivative of f towards it, below zero; a `trusted` step is taken whole. Returns the point, the
        length of the step, and where the model was wrong what that teaches, else None.
        """


class InMemory(Oracle[Point]):
    """In memory, by the images of the atoms, the columns of B.

    Parameters
    ----------
    outer : Outer
        The objective as a function of images.
    B : Images
    small : bool
        Whether the gap is so small a fraction of f (`FINE`) that a larger Gram matrix pays.
    """

    def __init__(self, outer: Outer, B: Images, small: bool = False) -> None:
        self.outer, self.B = outer, B
        self._large = isinstance(B, SparseImages) and B.shape[1] > (LARGE_GRAM if small else SMALL_GRAM)

    @cached_property
    def _columns(self) -> tuple[Array, Array, Array]:
        assert isinstance(self.B, SparseImages)
        return self.B.by_columns()

    def point(self, x: Array) -> Point:
        """The point with the weights x and the best intercept; counts a gradient."""
        z = self.outer.fitted(self.B.times(x))
        return Point(x, z, self.outer.slopes(z))

    def slopes(self, point: Point) -> Array:
        return self.B.adjoint(point.slopes)

    def model(self, point: Point, secant: Any) -> Quadratic:
        model = self.outer.model(point.z, secant)
        if self._large:
            return Quadratic(Columns(*self._columns, model), model)
        return Quadratic(self.outer.gram(self.B, model), model)

    def step(
        self, point: Point, target: Array, model: Quadratic, slope: float, trusted: bool
    ) -> tuple[Point, float, Any]:
        change = self.outer.follow(self.B.times(target - point.x), model.of)
        found, length, secant = self._search(point, target, change, slope, trusted)
        self.outer.learn(point, found)
        return self.outer.refitted(found), length, secant

    def _search(
        self, point: Point, target: Array, change: Array, slope: float, trusted: bool
    ) -> tuple[Point, float, Any]:
        """A step towards `target`, which changes margins by `change`, the full one first.

        Both ends are feasible, so is what lies between. Where f is convex, a nonpositive slope at the end proves a
        decrease, without the rounding of values. Where it is not, values decide, or the slope once values cannot. If
        the step has to be short, or could be much longer, the model was wrong: also returns the mean curvatures of the
        samples along the full step, for the next model.
        """
        by_slope = trusted or self.outer.convex
        value = 0.0 if by_slope else self.outer.value(point.z)
        length, secant = 1.0, None
        near, near_end, far, far_end = 0.0, slope, 0.0, 0.0
        too_far = 0  # trials in turn: f can have a kink, as good as, where slopes tell little
        for trial in range(TRIALS):
            z = point.z + length * change
            slopes = self.outer.slopes(z)
            end = float(slopes @ change) / self.outer.m
            if by_slope:
                settled = far == 0.0 or end >= STEEP * slope or trial >= CAREFUL
                accepted = trusted or (end <= -OVERSHOT * slope and settled)
            else:
                found = self.outer.value(z)
                accepted = found <= value + ARMIJO * length * slope or (
                    found <= (1.0 + TRUSTED) * value and abs(end) <= -OVERSHOT * slope
                )
            if accepted:
                x = target if length == 1.0 else point.x + length * (target - point.x)
                wrong = not trusted and (length < SHORT or (length == 1.0 and end < STEEP * slope))
                if wrong and secant is None:
                    secant = self.outer.secant(change, slopes - point.slopes)
                return Point(x, z, slopes), length, secant if wrong else None
            if trial == 0:
                secant = self.outer.secant(change, slopes - point.slopes)
            if by_slope and end < 0:
                near, near_end, too_far = length, end, 0
            else:
                far, far_end, too_far = length, max(end, 0.0), too_far + 1
            share = near_end / (near_end - far_end) if far_end > 0 else 0.5
            length = near + (far - near) * max(0.1, min(share, 0.9 / 3.0 ** max(too_far - 1, 0)))
        return point, 0.0, secant
