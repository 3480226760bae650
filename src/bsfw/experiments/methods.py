"""The records of "solve" tasks by method: which runs belong together, and aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from .._arrays import Floats
from .model import Panel, Record
from .style import display_name
from .tasks import Certified, Solve, Solved


@dataclass(frozen=True)
class Method:
    """All runs of one method on one problem: they differ by their seed only.

    Attributes
    ----------
    settings : Solve
        What the runs share.
    variant : str
        What tells it from the other methods of its panel with this estimator that are boosted (or not), in words.
    runs : tuple of Solved
        What the runs that ended well left behind.
    seeds : tuple of int
        Theirs.
    """

    settings: Solve
    variant: str
    runs: tuple[Solved, ...]
    seeds: tuple[int, ...]

    @property
    def estimator(self) -> str:
        return self.settings.estimator

    @property
    def boosted(self) -> bool:
        """Whether it is the paper's algorithm with more than one round."""
        return self.settings.method == "boosted" and self.settings.max_rounds > 1

    @property
    def vanilla(self) -> bool:
        return self.settings.method == "boosted" and self.settings.max_rounds == 1

    @property
    def group(self) -> str:
        """What has one hue: the estimator, or a method of another kind."""
        return self.estimator if self.settings.method == "boosted" else self.settings.method

    @property
    def name(self) -> str:
        """As in a legend: "SAGA boosted, piecewise decay"."""
        kind = "boosted" if self.boosted else "vanilla"
        name = f"{display_name(self.estimator)} {kind}" if self.settings.method == "boosted" else self.settings.method
        return f"{name}, {self.variant}" if self.variant else name

    @cached_property
    def iterations(self) -> npt.NDArray[np.int64]:
        """The iterations that every run recorded. A run that ended early limits them."""
        recorded = [np.array(run.trace.iteration, dtype=np.int64) for run in self.runs]
        return reduce(np.intersect1d, recorded)

    def column(self, name: str) -> Floats:
        """A column of the traces or a metric, one row a run, at `iterations`; what was not recorded is nan."""
        # Iterations increase within a trace, and all of the common ones are in it.
        return np.vstack([run.column(name)[np.searchsorted(run.trace.iteration, self.iterations)] for run in self.runs])

    def has(self, name: str) -> bool:
        """Whether all runs have this metric."""
        return all(name in run.metrics for run in self.runs)

    def middle(self, name: str) -> Floats:
        """The median of a column over the runs."""
        return np.median(self.column(name), axis=0)


def methods_of(panel: Panel, records: Mapping[str, Record]) -> list[Method]:
    """The methods of a panel, in the order of its tasks; those without a run that ended well are left out."""
    groups: dict[Solve, dict[int, Solved]] = {}
    for task in panel.tasks:
        if isinstance(task, Solve):
            runs = groups.setdefault(msgspec.structs.replace(task, seed=0), {})
            record = records.get(task.key)
            if record is not None and isinstance(record.data, Solved):
                runs[task.seed] = record.data
    methods = [
        Method(settings, _variant(settings, list(groups)), tuple(runs.values()), tuple(runs))
        for settings, runs in groups.items()
        if runs
    ]
    return [method for method in methods if len(method.iterations)]


def _variant(settings: Solve, others: Sequence[Solve]) -> str:
    siblings = [
        other
        for other in others
        if (other.estimator, other.method) == (settings.estimator, settings.method)
        and (other.max_rounds > 1) == (settings.max_rounds > 1)
    ]
    differing = (
        name
        for name in Solve.__struct_fields__
        if any(getattr(sibling, name) != getattr(settings, name) for sibling in siblings)
    )
    return ", ".join(_in_words(name, getattr(settings, name)) for name in differing)


def _in_words(name: str, value: Any) -> str:
    if name in ("decay", "step"):
        return f"{'default' if value == 'auto' else value} {name}"
    symbol = {"min_gain": "δ =", "max_rounds": "K =", "iterations": "T ="}.get(name, name.replace("_", " "))
    return f"{symbol} {value:g}" if isinstance(value, int | float) else f"{symbol} {value}"


@dataclass(frozen=True)
class PanelRecords:
    """What there is to show of one panel.

    Attributes
    ----------
    panel : Panel
    records : tuple of Record
        Those that ended well, in the order of the tasks.
    methods : tuple of Method
        The "solve" records among them, by method.
    minimum : Certified or None
        The minimum of f, where it was certified.
    """

    panel: Panel
    records: tuple[Record, ...]
    methods: tuple[Method, ...]
    minimum: Certified | None = None

    @classmethod
    def of(cls, panel: Panel, records: Mapping[str, Record]) -> PanelRecords:
        found = [records[task.key] for task in panel.tasks if task.key in records]
        done = tuple(record for record in found if record.error is None)
        certified = None if panel.minimum is None else records.get(panel.minimum.key)
        minimum = certified.data if certified is not None and isinstance(certified.data, Certified) else None
        return cls(panel, done, tuple(methods_of(panel, records)), minimum)

    @property
    def title(self) -> str:
        return self.panel.title

    def pairs(self) -> list[tuple[Method, Method]]:
        """Every boosted method with every vanilla one of its estimator."""
        return [
            (boosted, vanilla)
            for boosted in self.methods
            for vanilla in self.methods
            if boosted.boosted and vanilla.vanilla and boosted.estimator == vanilla.estimator
        ]
