"""Step rules: from the boosted direction d~ and the vertex s to the point where x moves.

All rules share the paper's last lines (Algorithm BSFW, 7-13): if gamma < 1 the boosted direction is taken,
x + gamma d~; if gamma = 1 the step reverts to vanilla Frank-Wolfe, along s - x (a line search, which can tell, only if
that leads lower). Either way the step is a share in [0, 1] of a direction that ends in C, so that no rule leaves C; a
`Move` sees to that.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._arrays import Array, host_dtype, positive
from ._refusals import Refusing
from .boosting import Direction
from .objectives.base import Line, Objective
from .objectives.linear_model import LinearModel

ROUNDING = 1e-6
"""By so much a step may be outside of [0, 1] and count as rounded, in single precision too."""
SAME = 64.0
"""In units of the machine precision, how far below 1 a gamma counts as 1."""


EQUAL = 1e-12
"""Two values of f that differ by less, relatively, are equal: those at the same point, reached along two lines."""


@dataclass(frozen=True, slots=True)
class Move(Refusing):
    """A chosen step. Numbers outside of [0, 1] are refused, up to rounding, which is cut off.

    Attributes
    ----------
    gamma : float
        The paper's gamma_t; 1.0 when the step reverted, or went all the way along d~.
    boosted : bool
        True: x + length d~. False: x + length (s - x).
    length : float
        How far along the chosen direction, in [0, 1].
    """

    gamma: float
    boosted: bool
    length: float

    def __post_init__(self) -> None:
        for name in ("gamma", "length"):
            object.__setattr__(self, name, _share(getattr(self, name), name))


def _share(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"a step rule gave {name} = {value!r}; it must be a number in [0, 1].") from None
    if not -ROUNDING <= number <= 1.0 + ROUNDING:
        raise ValueError(
            f"a step rule gave {name} = {number!r}; it must lie in [0, 1], or the step would leave the set: clip it in "
            "the rule."
        )
    return min(max(number, 0.0), 1.0)


@dataclass(frozen=True)
class Step(Refusing, ABC):
    """A step rule.

    Attributes
    ----------
    name : str
        Name in the command and in files.
    deterministic : bool
        True if the rule means something only for the exact gradient.
    """

    name: ClassVar[str]
    deterministic: ClassVar[bool] = True

    def check(self, objective: Objective) -> None:  # most rules work on every objective
        """Raise a ValueError if the rule cannot work on that objective."""

    @abstractmethod
    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move: ...


def _open_loop(eta: float, vertex_length: float, length: float, x: Array) -> Move:
    """With eta = 1 and d~ = s - x gamma is 1, whatever the rounding of the two lengths; so nearly 1 counts as 1."""
    gamma = eta * vertex_length / length if length > 0 else 1.0
    boosted = gamma < 1.0 - SAME * float(np.finfo(host_dtype(x)).eps)
    return Move(gamma, True, gamma) if boosted else Move(1.0, False, eta)


@dataclass(frozen=True)
class PaperStep(Step):
    """gamma_t = min{eta_t ||s - x|| / ||d~||, 1} (paper, eq. step). O(1): both lengths come with the direction."""

    name: ClassVar[str] = "paper"
    deterministic: ClassVar[bool] = False

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        return _open_loop(eta, direction.vertex_distance, direction.norm, x)


@dataclass(frozen=True)
class ImageStep(Step):
    """gamma_t = min{eta_t ||A(s - x)|| / ||A d~||, 1} (paper, eq. SAG gamma): the paper's rule for SAG.

    Linear models only. Costs two products with A.

    Notes
    -----
    The paper claims its bounds for SAG with this rule, but their proof does not hold for it: d~ is at least as well
    aligned with -m as s - x is, in the Euclidean inner product, and the descent lemma needs a length measured by the
    same norm. With the exact gradient 766 of 7,500 steps broke it (0 of 2,500 with `PaperStep`); in 400 runs no final
    bound was broken. For a bound that is proved take ``step="paper"``.
    """

    name: ClassVar[str] = "image"
    deterministic: ClassVar[bool] = False

    def check(self, objective: Objective) -> None:
        if not isinstance(objective, LinearModel):
            raise ValueError(
                f"ImageStep measures lengths in the image A x of a linear model, but {type(objective).__name__} is not "
                "one; use PaperStep."
            )

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        assert isinstance(objective, LinearModel)
        if direction.norm == 0:
            return Move(1.0, False, eta)
        vertex_length = objective.image_norm(direction.vertex.add_to(-x, 1.0))
        return _open_loop(eta, vertex_length, objective.image_norm(direction.dense(x)), x)


def _short(decrease: float, L: float, length: float) -> float:
    """min{decrease / (L length^2), 1}, and 0 where d is no descent direction.

    At a vertex that x has reached up to rounding, both are rounding errors, and the first may have either sign.
    """
    squared = L * length**2
    return min(max(decrease, 0.0) / squared, 1.0) if squared > 0 else 0.0


@dataclass(frozen=True)
class ShortStep(Step):
    """gamma = min{<-grad, d> / (L ||d||^2), 1}, the minimiser of the quadratic upper bound along d.

    With max_rounds = 1 it is the classical short step; with boosting it is that of Combettes and Pokutta (2020),
    min{align(-grad, d~) ||grad|| / (L ||d~||), 1}. Ignores the decay.

    Parameters
    ----------
    smoothness : float, optional
        L; by default the objective's own constant.
    """

    name: ClassVar[str] = "short"
    smoothness: float | None = None

    def __post_init__(self) -> None:
        if self.smoothness is not None:
            positive(self.smoothness, "smoothness (L of the short step)")

    def check(self, objective: Objective) -> None:
        if self.smoothness is None:
            objective.smoothness()

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        L = float(objective.smoothness() if self.smoothness is None else self.smoothness)
        gamma = _short(-direction.slope, L, direction.norm)
        if direction.norm > 0 and gamma < 1:
            return Move(gamma, True, gamma)
        return Move(1.0, False, _short(direction.gap, L, direction.vertex_distance))


KINDS = ("exact", "golden-section", "backtracking", "adaptive")
"""Of line searches."""


@dataclass(frozen=True)
class LineSearch(Step):
    """The step that decreases f along the direction, by searching. Ignores the decay.

    Where f still falls at the end of the boosted direction, gamma = 1, the step goes there or, as in the paper, along
    s - x: to the lower of the two points, for two function values more.

    Linear models pay two products with A (where compiled code keeps the margins, some columns of A) and O(m) a trial;
    others a function value or a gradient a trial, all counted.

    Parameters
    ----------
    kind : {"exact", "golden-section", "backtracking", "adaptive"}
        "exact" finds a zero of the derivative on [0, 1] (the minimiser if f is convex), by Brent's safeguarded secant
        steps; "golden-section" finds the minimiser by values alone, to 1e-6 of the segment; "backtracking" halves
        from 1 until Armijo's condition holds; "adaptive" estimates the smoothness on the way (Pedregosa et al., 2020),
        and is there for the methods with an active set.
    """

    name: ClassVar[str] = "line-search"
    kind: str = "exact"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {self.kind!r}.")

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        return self.search(
            direction,
            lambda: objective.along(x, direction.dense(x)),
            lambda: objective.along(x, direction.vertex.add_to(-x, 1.0)),
        )

    def search(self, direction: Direction, along: Callable[[], Line], towards_vertex: Callable[[], Line]) -> Move:
        """The step, from f along d~ and, should that ask for gamma = 1, along s - x: to the lower of the two points."""
        reached = math.inf
        if direction.norm > 0:
            line = along()
            gamma = self._search(line, direction.slope)
            if gamma < 1:
                return Move(gamma, True, gamma)
            reached = line.value(1.0)
        line = towards_vertex()
        length = self._search(line, -direction.gap)
        if reached < math.inf:
            vanilla = line.value(length)
            if reached < vanilla - EQUAL * abs(vanilla):
                return Move(1.0, True, 1.0)
        return Move(1.0, False, length)

    def _search(self, line: Line, slope: float) -> float:
        if slope >= 0:  # at a stationary point up to rounding
            return 0.0
        if self.kind == "golden-section":
            return golden_section(line)
        if self.kind != "exact":
            return _armijo(line, slope)
        known = line.minimiser()
        return derivative_zero(line, slope) if known is None else known


def derivative_zero(line: Line, slope: float, largest: float = 1.0, low: float = 0.0) -> float:
    """A zero of f' in [low, largest], the minimiser if f is convex; `largest` if f' is not positive there.

    `slope` is f'(low), negative. Brent's method, to 1e-12 of the slope or of the step: two derivatives for a parabola.
    Where f' is not a number, f has ended, and the zero is before that.
    """
    from scipy.optimize import brentq

    known = {low: slope, largest: line.derivative(largest)}
    if known[largest] <= 0.0:
        return largest

    def derivative(gamma: float) -> float:
        # brentq begins by asking for both ends, and each answer costs a gradient.
        found = known[gamma] if gamma in known else line.derivative(gamma)
        if abs(found) <= -1e-12 * slope:
            return 0.0
        return math.inf if math.isnan(found) else found

    return float(brentq(derivative, low, largest, xtol=1e-14 * min(largest, 1.0), rtol=1e-12, maxiter=500))


def golden_section(line: Line, largest: float = 1.0) -> float:
    """The minimiser of a unimodal f on [0, largest] to 1e-6 of it, by some thirty values; of any f no worse than the
    ends."""
    ratio, low, high = (math.sqrt(5.0) - 1.0) / 2.0, 0.0, largest
    tried = {gamma: line.value(gamma) for gamma in (low, high, high - ratio * high, ratio * high)}
    left, right = high - ratio * high, ratio * high
    while high - low > 1e-6 * largest:
        if tried[left] <= tried[right]:
            high, right = right, left
            left = high - ratio * (high - low)
            tried[left] = line.value(left)
        else:
            low, left = left, right
            right = low + ratio * (high - low)
            tried[right] = line.value(right)
    return min(tried, key=lambda gamma: math.inf if math.isnan(tried[gamma]) else tried[gamma])


def _armijo(line: Line, slope: float) -> float:
    base, gamma = line.value(0.0), 1.0
    while line.value(gamma) > base + 1e-4 * gamma * slope:
        gamma /= 2
        if gamma < 1e-16:  # no decrease can be seen in floating point
            return 0.0
    return gamma


STEPS: dict[str, type[Step]] = {kind.name: kind for kind in (PaperStep, ImageStep, ShortStep, LineSearch)}
"""By the name that the command and checkpoints use."""
