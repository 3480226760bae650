"""The words of the experiments: what is to be run (`Task`), what came out (`Record`), what is shown (`View`).

Data goes one way: a TOML specification becomes an `Experiment` (spec), its tasks are run and leave one record each
(runner, records), records become neutral views (views, claims), and views are drawn twice, by Matplotlib for the files
(figures) and by Plotly for the page (page). A drawing never reads a record, a run never knows of a drawing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Task:
    """One run of a sweep.

    Attributes
    ----------
    kind : str
        What is done: a name in `bsfw.experiments.tasks.TASKS`, e.g. "solve".
    settings : mapping
        All that the outcome depends on, as plain JSON values, the seed included.
    """

    kind: str
    settings: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Name of its record: changes whenever any setting does, so that results never mix."""
        text = json.dumps([self.kind, self.settings], sort_keys=True, separators=(",", ":"), allow_nan=False)
        return f"{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:20]}"


@dataclass(frozen=True)
class Record:
    """What a task left behind, failed or not.

    Attributes
    ----------
    task : Task
    data : dict
        What a task of this kind yields (JSON values; nan is None); empty if it failed.
    error : str or None
        Type and message of what made it fail.
    environment : dict
        Versions, machine and how many runs shared it.
    seconds : float
        Wall clock of the whole task, problem and metrics included.
    """

    task: Task
    data: dict[str, Any]
    error: str | None
    environment: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Panel:
    """One problem of an experiment, with the tasks that are run on it."""

    title: str
    parameters: dict[str, Any]
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the paper (or of a user), as data.

    Attributes
    ----------
    name : str
        As in ``bsfw reproduce NAME``; also the stem of its files.
    title : str
    view : str
        How records become a picture: a name in `bsfw.experiments.views.VIEWS`.
    reference : str
        Label in the paper, e.g. "fig: convergence_plots"; empty for a user's own.
    claim : str
        What the paper says, in one sentence; empty for a user's own.
    panels : tuple of Panel
    """

    name: str
    title: str
    view: str
    reference: str
    claim: str
    panels: tuple[Panel, ...]

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(task for panel in self.panels for task in panel.tasks)


@dataclass(frozen=True)
class Series:
    """A curve over all runs of one method.

    Attributes
    ----------
    name : str
        As in the legend, e.g. "SAGA boosted".
    group : str
        What has one hue: the estimator's name.
    boosted : bool
        Dark if so, light if not.
    x : dict of lists
        One list per axis that the plot offers, of the length of `y`.
    y : list of float
        The middle of the runs.
    low, high : list of float or None
        The band around it; None if there was one run.
    """

    name: str
    group: str
    boosted: bool
    x: dict[str, list[float]]
    y: list[float]
    low: list[float] | None = None
    high: list[float] | None = None


@dataclass(frozen=True)
class Plot:
    """Axes with curves. `axes` maps the name of each offered x axis to its label, the first one being the default;
    `lines` are horizontal reference lines by label; `band` says in words what the band is."""

    title: str
    y_label: str
    log_y: bool
    axes: dict[str, str]
    series: tuple[Series, ...]
    log_x: bool = False
    lines: dict[str, float] = field(default_factory=dict)
    band: str = ""


@dataclass(frozen=True)
class Table:
    """A table; cells are text or numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


@dataclass(frozen=True)
class Verdict:
    """Whether the records support a claim: "supported", "partly supported", "not supported", or "not evaluated" (runs
    are missing or failed), and the numbers that say so."""

    claim: str
    outcome: str
    finding: str


@dataclass(frozen=True)
class View:
    """An experiment ready to be drawn.

    Attributes
    ----------
    experiment : Experiment
    plots : tuple of Plot
    tables : tuple of Table
    drawings : tuple of dict
        Pictures that are no curves (the toy trajectories, the panels of a boosting step): what
        `bsfw.experiments.drawings` draws, in JSON values with a "kind".
    verdicts : tuple of Verdict
    notes : tuple of str
        What a reader must know: stand-in data, failed or missing runs, runs that shared the machine.
    """

    experiment: Experiment
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    drawings: tuple[dict[str, Any], ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
