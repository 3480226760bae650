"""Step rules: from the boosted direction d~ and the vertex s to the point where x moves.

All rules share the paper's last lines (Algorithm BSFW, 7-13): if gamma < 1 the boosted direction is taken,
x + gamma d~; if gamma = 1 the step reverts to vanilla Frank-Wolfe, along s - x.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ._arrays import Array, positive
from .boosting import Direction
from .objectives.base import Line, Objective
from .objectives.linear_model import LinearModel


@dataclass(frozen=True, slots=True)
class Move:
    """A chosen step.

    Attributes
    ----------
    gamma : float
        The paper's gamma_t; 1.0 when the step reverted.
    boosted : bool
        True: x + length d~. False: x + length (s - x).
    length : float
        How far along the chosen direction, in [0, 1].
    """

    gamma: float
    boosted: bool
    length: float


@dataclass(frozen=True)
class Step(ABC):
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

    def check(self, objective: Objective) -> None:  # noqa: B027  # most rules work on every objective
        """Raise a ValueError if the rule cannot work on that objective."""

    @abstractmethod
    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move: ...


def _open_loop(eta: float, vertex_length: float, length: float) -> Move:
    gamma = min(eta * vertex_length / length, 1.0) if length > 0 else 1.0
    return Move(gamma, True, gamma) if gamma < 1 else Move(1.0, False, eta)


@dataclass(frozen=True)
class PaperStep(Step):
    """gamma_t = min{eta_t ||s - x|| / ||d~||, 1} (paper, eq. step). O(1): both lengths come with the direction."""

    name: ClassVar[str] = "paper"
    deterministic: ClassVar[bool] = False

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        return _open_loop(eta, direction.vertex_distance, direction.norm)


@dataclass(frozen=True)
class ImageStep(Step):
    """gamma_t = min{eta_t ||A(s - x)|| / ||A d~||, 1} (paper, eq. SAG gamma): the paper's rule for SAG.

    Linear models only. Costs two products with A.
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
        return _open_loop(eta, vertex_length, objective.image_norm(direction.dense(x)))


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
        if direction.norm > 0:
            gamma = -direction.slope / (L * direction.norm**2)
            if gamma < 1:
                return Move(gamma, True, gamma)
        squared = L * direction.vertex_distance**2
        return Move(1.0, False, min(direction.gap / squared, 1.0) if squared > 0 else 0.0)


@dataclass(frozen=True)
class LineSearch(Step):
    """The step that decreases f along the direction, by searching. Ignores the decay.

    Linear models pay two products with A (where compiled code keeps the margins, some columns of A) and O(m) a trial;
    others a function value or a gradient a trial, all counted.

    Parameters
    ----------
    kind : {"exact", "backtracking", "adaptive"}
        "exact" finds a zero of the derivative on [0, 1] (the minimiser if f is convex); "backtracking" halves from 1
        until Armijo's condition holds; "adaptive" estimates the smoothness on the way (Pedregosa et al., 2020), and is
        there for the methods with an active set.
    """

    name: ClassVar[str] = "line-search"
    kind: str = "exact"

    def __post_init__(self) -> None:
        if self.kind not in ("exact", "backtracking", "adaptive"):
            raise ValueError(f"kind must be 'exact', 'backtracking' or 'adaptive', got {self.kind!r}.")

    def __call__(self, objective: Objective, x: Array, direction: Direction, eta: float) -> Move:
        return self.search(
            direction,
            lambda: objective.along(x, direction.dense(x)),
            lambda: objective.along(x, direction.vertex.add_to(-x, 1.0)),
        )

    def search(self, direction: Direction, along: Callable[[], Line], towards_vertex: Callable[[], Line]) -> Move:
        """The step, from f along d~ and, should that ask for gamma = 1, along s - x."""
        if direction.norm > 0:
            gamma = self._search(along(), direction.slope)
            if gamma < 1:
                return Move(gamma, True, gamma)
        return Move(1.0, False, self._search(towards_vertex(), -direction.gap))

    def _search(self, line: Line, slope: float) -> float:
        if slope >= 0:  # at a stationary point up to rounding
            return 0.0
        return _derivative_zero(line) if self.kind == "exact" else _armijo(line, slope)


def _derivative_zero(line: Line) -> float:
    ends = {1.0: line.derivative(1.0)}
    if ends[1.0] <= 0:
        return 1.0
    ends[0.0] = line.derivative(0.0)
    if ends[0.0] >= 0:  # the slope was negative by rounding only
        return 0.0
    from scipy.optimize import brentq

    def derivative(gamma: float) -> float:
        # brentq begins by asking for both ends, and each answer costs a gradient.
        return ends[gamma] if gamma in ends else line.derivative(gamma)

    return float(brentq(derivative, 0.0, 1.0, xtol=1e-14, rtol=1e-12))


def _armijo(line: Line, slope: float) -> float:
    base, gamma = line.value(0.0), 1.0
    while line.value(gamma) > base + 1e-4 * gamma * slope:
        gamma /= 2
        if gamma < 1e-16:  # no decrease can be seen in floating point
            return 0.0
    return gamma


STEPS: dict[str, type[Step]] = {kind.name: kind for kind in (PaperStep, ImageStep, ShortStep, LineSearch)}
"""By the name that the command and checkpoints use."""
