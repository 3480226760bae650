"""The words of the experiments: what is to be run (`Task`), what came out (`Record`), what is shown (`View`).

Data goes one way: a TOML specification becomes an `Experiment` (spec), its tasks are run and leave one record each
(runner, records), records become neutral views (views, claims), and views are drawn twice, by Matplotlib for the files
(figures) and by Plotly for the page (page). A drawing never reads a record, a run never knows of a drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from msgspec import Meta

from . import limits
from .problems.plane import Plane
from .schema import Checked, Count, Number, Slug, Text
from .tasks import AnyData, AnyTask, Minimum, Rounds


class Environment(Checked, frozen=True, kw_only=True):
    """What a run ran on: machine, versions, how many runs shared the machine, and when it ended."""

    platform: Text = ""
    processor: Text = ""
    cpus: Count | None = None
    python: Text = ""
    numpy: Text = ""
    scipy: Text = ""
    numba: Text = ""
    bsfw: Text = ""
    jobs: Count = 1
    ended: Text = ""


class Record(Checked, frozen=True, kw_only=True):
    """What a task left behind, failed or not.

    Attributes
    ----------
    task : Task
    data : Data or None
        What a task of this kind yields; None if it failed.
    error : str or None
        Type and message of what made it fail.
    environment : Environment
    seconds : float
        Wall clock of the whole task, problem and metrics included.
    """

    task: AnyTask
    data: AnyData | None = None
    error: Text | None = None
    environment: Environment = Environment()
    seconds: Number

    def __post_init__(self) -> None:
        if (self.data is None) == (self.error is None):
            raise ValueError("a record holds either data or an error.")
        if self.data is not None and self.data.__struct_config__.tag != self.task.__struct_config__.tag:
            raise ValueError("the data of the record are not those of a task of its kind.")


class Panel(Checked, frozen=True, kw_only=True):
    """One problem of an experiment, with the tasks that are run on it.

    Attributes
    ----------
    title : str
        Says so where the data is a synthetic stand-in.
    parameters : dict
        What it is run with, in words, as shown below its figure.
    tasks : tuple of Task
    stand_in : str or None
        The published data in whose place synthetic data stands.
    minimum : Minimum or None
        The run that certifies the minimum of f, where its distance is shown and it can be certified.
    """

    title: Text
    parameters: dict[Text, Text] = msgspec.field(default_factory=dict)
    tasks: Annotated[tuple[AnyTask, ...], Meta(max_length=limits.TASKS)]
    stand_in: Slug | None = None
    minimum: Minimum | None = None


class Experiment(Checked, frozen=True, kw_only=True):
    """A figure or table of the paper (or of a user), as data.

    Attributes
    ----------
    name : str
        As in ``bsfw reproduce NAME``; also the stem of its files.
    title : str
    view : str
        How records become a picture: a name in `bsfw.experiments.views.VIEWS`.
    reference : str
        Where it is in the paper, e.g. "Figure 3"; empty for a user's own.
    claim : str
        What the paper says, in one sentence; empty for a user's own.
    runs : int or None
        Seeds of every method, if that is the same in all panels.
    quick : bool
        Whether the quick tables were applied.
    panels : tuple of Panel
    """

    name: Slug
    title: Text
    view: Text
    reference: Text = ""
    claim: Text = ""
    runs: Count | None = None
    quick: bool = False
    panels: Annotated[tuple[Panel, ...], Meta(max_length=limits.PANELS)] = ()

    @property
    def tasks(self) -> tuple[AnyTask, ...]:
        """All runs that it needs."""
        minima = tuple(panel.minimum for panel in self.panels if panel.minimum is not None)
        return tuple(task for panel in self.panels for task in panel.tasks) + minima


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
    `lines` are horizontal reference lines by label; `band` says in words what the band is; plots of one `family` are
    there to be compared, and have the same heights."""

    title: str
    y_label: str
    log_y: bool
    axes: dict[str, str]
    series: tuple[Series, ...]
    log_x: bool = False
    lines: dict[str, float] = field(default_factory=dict)
    band: str = ""
    family: str = ""


@dataclass(frozen=True)
class Table:
    """A table; cells are text or numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]


@dataclass(frozen=True)
class PathOfRun:
    """The iterates of one run in the plane."""

    name: str
    boosted: bool
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Trajectories:
    """A drawing: paths over the contours of a quadratic, in a polygon."""

    title: str
    problem: Plane
    minimiser: tuple[float, float]
    paths: tuple[PathOfRun, ...]


@dataclass(frozen=True)
class StepInRounds:
    """A drawing: one boosting step, round by round."""

    title: str
    step: Rounds


Drawing = Trajectories | StepInRounds


@dataclass(frozen=True)
class Verdict:
    """Whether the records support a claim: "supported", "partly supported", "not supported", or "not evaluated" (runs
    are missing or failed), and the numbers that say so."""

    claim: str
    outcome: str
    finding: str


@dataclass(frozen=True)
class Parts:
    """What a view makes of the records: plots (curves), tables, drawings (pictures that are no curves) and notes, what
    a reader must know."""

    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class View(Parts):
    """An experiment ready to be drawn, with the verdicts on its claims."""

    experiment: Experiment = field(kw_only=True)
    verdicts: tuple[Verdict, ...] = ()
