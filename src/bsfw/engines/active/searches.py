"""Line searches on [0, gamma_max], for directions whose largest step is not 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ...objectives.base import Line
from ...steps import derivative_zero, golden_section

SMALLEST = 1e-18
"""A trial so much shorter than the largest step cannot be told from none."""


class Search(ABC):
    """From f along x + gamma d to the step gamma in [0, largest].

    Attributes
    ----------
    name : str
        The kind, as in `bsfw.LineSearch`.
    """

    name: ClassVar[str]

    def __call__(self, line: Line, slope: float, squared: float, largest: float) -> float:
        """The step along d, where `slope` is <grad, d> and `squared` is ||d||^2; 0.0 if d is no descent direction."""
        if not (slope < 0.0 < largest and squared > 0.0):  # at a stationary point up to rounding
            return 0.0
        return self._search(line, slope, squared, largest)

    @abstractmethod
    def _search(self, line: Line, slope: float, squared: float, largest: float) -> float: ...


class Exact(Search):
    """A zero of the derivative (the minimiser if f is convex), or the largest step."""

    name = "exact"

    def _search(self, line: Line, slope: float, squared: float, largest: float) -> float:
        known = line.zero(largest)
        return derivative_zero(line, slope, largest) if known is None else known


class GoldenSection(Search):
    """The minimiser of a unimodal f by values alone."""

    name = "golden-section"

    def _search(self, line: Line, slope: float, squared: float, largest: float) -> float:
        return golden_section(line, largest)


class _Decrease:
    """Whether a trial decreases f enough, also where the decrease drowns in the rounding of f.

    There the derivative decides, by the condition that is the same one for a parabola (the "approximate" condition of
    Hager and Zhang, 2005).
    """

    def __init__(self, line: Line) -> None:
        self._line, self._start = line, line.value(0.0)
        self._rounding = 8.0 * float(np.finfo(float).eps) * abs(self._start)

    def __call__(self, gamma: float, bound: float, derivative_bound: float) -> bool:
        """f(gamma) - f(0) <= bound, or f'(gamma) <= derivative_bound if the numbers are too small to tell."""
        change = self._line.value(gamma) - self._start
        if abs(change) <= self._rounding and abs(bound) <= self._rounding:
            return self._line.derivative(gamma) <= derivative_bound
        return change <= bound


class Backtracking(Search):
    """Halve from the largest step until Armijo's condition f(gamma) <= f(0) + gamma <grad, d> / 4 holds."""

    name = "backtracking"
    share: ClassVar[float] = 0.25

    def _search(self, line: Line, slope: float, squared: float, largest: float) -> float:
        enough, gamma = _Decrease(line), largest
        while not enough(gamma, self.share * gamma * slope, (2.0 * self.share - 1.0) * slope):
            gamma /= 2.0
            if gamma < SMALLEST * largest:
                return 0.0
        return gamma


class Adaptive(Search):
    """The short step with a local estimate M of the smoothness constant (Pedregosa et al., 2020, Algorithm 2).

    gamma = min{-<grad, d> / (M ||d||^2), largest}; M starts at 0.9 of what the last step ended with and doubles until
    f(gamma) <= f(0) + gamma <grad, d> + gamma^2 M ||d||^2 / 2. The first M is a difference of two derivatives.

    Attributes
    ----------
    smoothness : float
        M at the end of the last step; nan before the first.
    """

    name = "adaptive"
    shrink: ClassVar[float] = 0.9
    grow: ClassVar[float] = 2.0

    def __init__(self) -> None:
        self.smoothness = math.nan

    def _search(self, line: Line, slope: float, squared: float, largest: float) -> float:
        if math.isnan(self.smoothness):
            short = 1e-3 * largest
            self.smoothness = abs(line.derivative(short) - slope) / (short * squared)
        enough, M = _Decrease(line), self.shrink * self.smoothness
        unclipped = -slope / (largest * squared)  # the M at which the short step is the largest step
        while True:
            gamma = -slope / (M * squared) if unclipped < M else largest
            if gamma < SMALLEST * largest:
                return 0.0  # M is left as it was: it says nothing about f
            quadratic = gamma * M * squared
            if enough(gamma, gamma * (slope + 0.5 * quadratic), slope + quadratic):
                break
            M = self.grow * max(M, unclipped)  # below `unclipped` the same trial would come again
        self.smoothness = M
        return gamma


SEARCHES: dict[str, type[Search]] = {kind.name: kind for kind in (Exact, GoldenSection, Backtracking, Adaptive)}
"""By name."""
