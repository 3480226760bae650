"""The records of "solve" tasks by method: which runs belong together, aligned, and their values at equal cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Panel, Record
from .style import display_name

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """All runs of one method on one problem: they differ by their seed only.

    Attributes
    ----------
    settings : mapping
        What the runs share.
    variant : str
        What tells it from the other methods of its panel with this estimator that are boosted (or not), in words.
    runs : tuple of dict
        What the runs that ended well left behind.
    """

    settings: Mapping[str, Any]
    variant: str
    runs: tuple[dict[str, Any], ...]

    @property
    def estimator(self) -> str:
        return str(self.settings["estimator"])

    @property
    def boosted(self) -> bool:
        return int(self.settings["max_rounds"]) > 1

    @property
    def name(self) -> str:
        """As in a legend: "SAGA boosted, piecewise decay"."""
        name = f"{display_name(self.estimator)} {'boosted' if self.boosted else 'vanilla'}"
        return f"{name}, {self.variant}" if self.variant else name

    @cached_property
    def iterations(self) -> NDArray[np.int64]:
        """The iterations that every run recorded. A run that ended early limits them."""
        recorded = [np.asarray(run["trace"]["iteration"], dtype=np.int64) for run in self.runs]
        return reduce(np.intersect1d, recorded)

    def column(self, name: str) -> Floats:
        """A column of the traces or a metric, one row a run, at `iterations`; what was not recorded is nan."""
        rows = []
        for run in self.runs:
            values = run["trace"][name] if name in run["trace"] else run["metrics"][name]
            # Iterations increase within a trace, and all of the common ones are in it.
            places = np.searchsorted(np.asarray(run["trace"]["iteration"]), self.iterations)
            rows.append(np.array([np.nan if value is None else value for value in values], dtype=float)[places])
        return np.vstack(rows)

    def middle(self, name: str) -> Floats:
        """The median of a column over the runs."""
        return np.median(self.column(name), axis=0)


def methods_of(panel: Panel, records: Mapping[str, Record]) -> list[Method]:
    """The methods of a panel, in the order of its tasks; those without a run that ended well are left out."""
    groups: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for task in panel.tasks:
        shared = {name: value for name, value in task.settings.items() if name != "seed"}
        _, runs = groups.setdefault(json.dumps(shared, sort_keys=True), (shared, []))
        record = records.get(task.key)
        if record is not None and record.error is None:
            runs.append(record.data)
    settings = [shared for shared, _ in groups.values()]
    return [Method(shared, _variant(shared, settings), tuple(runs)) for shared, runs in groups.values() if runs]


def _variant(settings: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    def kind(of: dict[str, Any]) -> tuple[str, bool]:
        return of["estimator"], of["max_rounds"] > 1

    siblings = [of for of in others if kind(of) == kind(settings)]
    return ", ".join(
        _in_words(name, value)
        for name, value in settings.items()
        if any(sibling.get(name) != value for sibling in siblings)
    )


def _in_words(name: str, value: Any) -> str:
    if name in ("decay", "step"):
        return f"{'default' if value == 'auto' else value} {name}"
    if isinstance(value, Mapping):
        return ", ".join(_in_words(key, inner) for key, inner in value.items())
    symbol = {"min_gain": "δ =", "max_rounds": "K =", "iterations": "T ="}.get(name, name.replace("_", " "))
    return f"{symbol} {value:g}" if isinstance(value, int | float) else f"{symbol} {value}"


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


PLACES = 21
"""Costs in the last tenth at which two methods are compared."""


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
    """

    first: Method
    second: Method
    at: float
    values: tuple[float, float]

    @property
    def ratio(self) -> float:
        first, second = self.values
        if second == 0:
            return 1.0 if first == 0 else np.inf
        return first / second


@dataclass(frozen=True)
class Scale:
    """f_min and f_max of all runs of a panel, which the paper measures suboptimality by (fig: convergence_plots)."""

    lowest: float
    highest: float

    @classmethod
    def of(cls, methods: Sequence[Method]) -> Scale:
        values = np.concatenate(
            [np.array(run["trace"]["value"], dtype=float) for method in methods for run in method.runs]
        )
        return cls(float(np.nanmin(values)), float(np.nanmax(values)))

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
        values = [
            float(np.median([value_at(cost, relative, place) for place in np.linspace(start, at, PLACES)]))
            for cost, relative in zip(costs, (self.relative(m.middle("value")) for m in (first, second)), strict=True)
        ]
        return Comparison(first, second, at, (values[0], values[1]))


def gradient_axes(methods: Sequence[Method]) -> list[str]:
    """The columns that count gradients, sample or coordinate, of which the iterations of some run asked any.

    What the start alone asked does not count: a coordinate method may take its first vertex from a full gradient.
    """
    return [
        name
        for name in ("sample_gradients", "coordinate_gradients")
        if any(run["trace"][name][-1] > run["trace"][name][0] for method in methods for run in method.runs)
    ]


@dataclass(frozen=True)
class PanelRecords:
    """What there is to show of one panel.

    Attributes
    ----------
    title : str
        The panel's title; says so where the data is a synthetic stand-in.
    records : tuple of Record
        Those that ended well, in the order of the tasks.
    methods : tuple of Method
        The "solve" records among them, by method.
    """

    title: str
    records: tuple[Record, ...]
    methods: tuple[Method, ...]

    @classmethod
    def of(cls, panel: Panel, records: Mapping[str, Record]) -> PanelRecords:
        found = [records[task.key] for task in panel.tasks if task.key in records]
        done = tuple(record for record in found if record.error is None)
        label = next((record.data["label"] for record in done if "synthetic" in record.data.get("label", "")), None)
        title = panel.title
        if label is not None and "synthetic" not in title:
            title = label if label.startswith(title) else f"{title}, {label}"
        solved = Panel(title, panel.parameters, tuple(task for task in panel.tasks if task.kind == "solve"))
        return cls(title, done, tuple(methods_of(solved, records)))

    @cached_property
    def scale(self) -> Scale:
        return Scale.of(self.methods)

    def pairs(self) -> list[tuple[Method, Method]]:
        """Every boosted method with every vanilla one of its estimator."""
        return [
            (boosted, vanilla)
            for boosted in self.methods
            for vanilla in self.methods
            if boosted.boosted and not vanilla.boosted and boosted.estimator == vanilla.estimator
        ]
