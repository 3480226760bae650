"""The numbers that views show and claims are judged by: computed once, from the same runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._arrays import Floats
from .methods import Method, PanelRecords
from .tasks import Facts, Parameters

PLACES = 21
"""Costs in the last tenth at which two methods are compared."""

WAY = 100
"""Costs from the first to the last at which they are compared to tell who was lower on the way."""

MOST = 0.9
"""Part of the way on which a method must be lower to be called lower, beside in the end: a crossing at the end alone
is not it."""

EDGE = 10
"""One part in so many of a run is its beginning, and its end: long enough that one step cannot move the median."""

FIDELITIES = {"fidelity": "as measured", "fidelity_normalised": "normalised to trace d"}
"""The two conventions of the process fidelity: metrics of a run, and words."""

SHORTEST_STEP = 1e-6
"""Steps below this part of the longest one have no direction that means anything: the method has arrived."""


def value_at(x: Floats, y: Floats, at: float) -> float:
    """Height at `at` of the broken line through (x, y), x nondecreasing; where x stands still, the last y counts.

    Raises a ValueError outside of [x[0], x[-1]]: a trace says nothing about costs that its run never had.
    """
    if not x[0] <= at <= x[-1]:
        raise ValueError(f"the trace goes from {x[0]:g} to {x[-1]:g}, and says nothing at {at:g}.")
    right = int(np.searchsorted(x, at, side="right"))
    if right == len(x) or x[right - 1] == at:
        return float(y[right - 1])
    share = (at - x[right - 1]) / (x[right] - x[right - 1])
    return float((1 - share) * y[right - 1] + share * y[right])


def ratio_of(first: float, second: float) -> float:
    """first / second of two nonnegative distances from the minimum; infinite if only the second one reached it."""
    if second <= 0:
        return 1.0 if first <= 0 else math.inf
    return first / second


@dataclass(frozen=True)
class Comparison:
    """Two methods where both have spent the same: over the last tenth of the largest cost that both reached.

    Attributes
    ----------
    first, second : Method
    at : float
        That largest cost.
    values : tuple of float
        Relative suboptimality of either: of the median trace, between its recorded iterations by a line, the median
        over the last tenth of that cost. A single point of a noisy trace would decide by chance.
    share : float
        Of the costs that both had, after the first one, the part at which `first` was lower.
    """

    first: Method
    second: Method
    at: float
    values: tuple[float, float]
    share: float

    @property
    def ratio(self) -> float:
        return ratio_of(*self.values)


@dataclass(frozen=True)
class Scale:
    """f_min and f_max, which the paper measures suboptimality by (fig: convergence_plots): of all runs of a panel, and
    f_min the certified minimum where there is one. The best run would be a part of what it is measured by."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, panel: PanelRecords) -> Scale:
        values = np.concatenate([run.column("value") for method in panel.methods for run in method.runs])
        certified = [] if panel.minimum is None else [panel.minimum.value]
        return cls(min([float(values.min()), *certified]), float(values.max()))

    def relative(self, values: Floats) -> Floats:
        """(f - f_min) / (f_max - f_min); zero if all values are the same."""
        width = self.highest - self.lowest
        return (values - self.lowest) / width if width > 0 else np.zeros_like(values)

    def compare(self, first: Method, second: Method, axis: str) -> Comparison | None:
        """`first` and `second` at equal cost on the axis; None if their costs do not overlap."""
        costs = [method.middle(axis) for method in (first, second)]
        at = min(float(cost[-1]) for cost in costs)
        if at < max(float(cost[0]) for cost in costs):
            return None
        start = max(0.9 * at, *(float(cost[0]) for cost in costs))
        curves = [
            (cost, self.relative(method.middle("value"))) for cost, method in zip(costs, (first, second), strict=True)
        ]
        places = np.linspace(start, at, PLACES)
        ends = [float(np.median([value_at(*curve, place) for place in places])) for curve in curves]
        # Both often start from the same point: there they are equal, and the first cost says nothing.
        along = np.linspace(max(float(cost[0]) for cost in costs), at, WAY + 1)[1:]
        one, other = ([value_at(*curve, min(place, at)) for place in along] for curve in curves)
        return Comparison(first, second, at, (ends[0], ends[1]), float(np.mean(np.less(one, other))))


def gradient_axes(methods: Sequence[Method]) -> list[str]:
    """The columns that count gradients, sample or coordinate, of which the iterations of some run asked any.

    What the start alone asked does not count: a coordinate method may take its first vertex from a full gradient.
    """
    columns = {
        "sample_gradients": [run.trace.sample_gradients for method in methods for run in method.runs],
        "coordinate_gradients": [run.trace.coordinate_gradients for method in methods for run in method.runs],
    }
    return [name for name, counts in columns.items() if any(count[-1] > count[0] for count in counts)]


def rounds_of(method: Method) -> Floats:
    """Rounds of all recorded iterations of all runs; the last iterate took no step, so it has none."""
    rounds = method.column("rounds").ravel()
    return rounds[rounds > 0]


def boosting_percentages(method: Method) -> list[float]:
    """One a run (paper, eq. boosting_per); a run that has none took no boosted step."""
    return [run.result.boosting_percentage or 0.0 for run in method.runs]


def turning_angles(points: Sequence[Sequence[float]]) -> Floats:
    """Degrees between successive steps of a path, 0 if it goes straight on and 180 if it turns back."""
    steps = np.diff(np.asarray(points, dtype=float), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    moved = lengths > SHORTEST_STEP * lengths.max(initial=0.0)
    steps = steps[moved] / lengths[moved, None]
    cosines = np.clip(np.sum(steps[1:] * steps[:-1], axis=1), -1.0, 1.0)
    angles: Floats = np.degrees(np.arccos(cosines))
    return angles


def median_angle(points: Sequence[Sequence[float]]) -> float:
    """The usual turn of a path; 0 if it has no two steps."""
    angles = turning_angles(points)
    return float(np.median(angles)) if len(angles) else 0.0


def end_means(method: Method, column: str, axis: str, end: float = math.inf) -> Floats:
    """For each run the mean of a column over the last tenth of the iterates up to `end` on the axis."""
    means = []
    for cost, value in zip(method.column(axis), method.column(column), strict=True):
        reached = max(1, int(np.searchsorted(cost, end, side="right")))
        means.append(float(np.mean(value[reached - max(1, reached // EDGE) : reached])))
    return np.array(means)


def parameters_of(task: Facts, data: Parameters) -> dict[str, int | float | None]:
    """A row of table exp_params."""
    own = {"n": data.n, "m": data.m, "nonzeros": data.nonzeros}
    return own | {"batch_size": task.batch_size, "coordinates": task.coordinates, "radius": task.problem.set.radius}
