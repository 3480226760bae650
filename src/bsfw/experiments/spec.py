"""Experiments as data: a TOML specification becomes an `Experiment`, with every value checked before anything runs.

The built-in experiments lie in ``specs/``, one file for each figure or table of the paper, in the format that a user
writes. The shortest file says what is solved and how often::

    estimators = ["saga", "heavy-ball"]
    batch_size = 404
    [[panel]]
    [panel.problem]
    data = "mushrooms"        # a name of 'bsfw datasets', "rcv1", or a file beside the specification
    objective = "logistic"
    set = "l1"
    radius = 50

``bsfw reproduce FILE.toml`` then runs each estimator boosted and vanilla, 10 times each. At the top may stand

===============  ======================================================================================================
title            of the experiment; ``{data}`` in it stands for the names of the data
view             how it is drawn (default "convergence"): a name in `bsfw.experiments.views.VIEWS`
task             what a run is (default "solve"): a name in `bsfw.experiments.sweeps.SWEEPS`
reference        where it is in the paper
claim            what the paper says, in one sentence
runs             seeds 0, 1, ... (10)
iterations       T (1000)
record_every     iterations between two points of a curve (so that there are about 200)
estimators       a list of names (["full"])
batch_size       b_s, a count, or a fraction of the samples (0.05)
coordinates      b_c, a count, or a fraction of the coordinates (1)
methods          ["boosted", "vanilla"]; with the exact gradient also "corrective", "away", "pairwise" and
                 "blended-pairwise"
max_rounds       K of the boosted runs, a number or a list (10000)
min_gain         delta of the boosted runs, a number or a list (1e-4)
decays           of the boosted runs, a name or a list (["auto"]); vanilla runs take the step of the baseline's paper;
                 "horizon" is 1/sqrt(T), but for Heavy Ball its own
step             rule of all runs ("auto": the paper's)
repeats          of a measured cost (50)
===============  ======================================================================================================

Each ``[[panel]]`` has a ``[panel.problem]`` table, whose keys depend on its ``kind`` (see `bsfw.experiments.problems`),
and may have a ``title`` (with ``{data}`` too) and any key from ``runs`` on, which then holds for this panel instead.
``[quick]`` and ``[panel.quick]`` say, with the same keys, what ``--quick`` changes. An unknown key or value is refused
with what is known, and what exceeds `bsfw.experiments.limits` with the limit.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from . import limits, problems
from .model import Experiment, Panel
from .problems import AnyProblem
from .schema import Checked, Text, checked, known
from .sweeps import SWEEPS, Sweep
from .tasks import Minimum, Solve
from .views import SUBOPTIMALITY, VIEWS
from .words import in_words

if TYPE_CHECKING:
    ViewName: TypeAlias = str
    TaskName: TypeAlias = str
else:
    ViewName = Literal[tuple(VIEWS)]
    TaskName = Literal[tuple(SWEEPS)]

BUILT_IN = (
    "toy",
    "boosting-step",
    "rcv1",
    "mushrooms",
    "breast-cancer",
    "expected-loss",
    "oracle-calls",
    "step-sizes",
    "piecewise",
    "data-parameters",
    "estimator-constants",
    "when-to-boost",
    "movielens",
    "tomography",
    "dynamics",
    "news20",
    "rcv1-small",
)
"""The files in ``specs/``, in the order of the paper; at the end those that no figure of it shows."""

STAND_INS = {"rcv1-like-synthetic": "rcv1", "ml-100k-like-synthetic": "movielens"}
"""What experiments are called whose data is all synthetic, and which they are then."""


_Tables = Annotated[
    tuple[dict[str, Any], ...],
    Meta(min_length=1, max_length=limits.PANELS, description=f"[[panel]] tables, 1 to {limits.PANELS} of them"),
]


class Header(Checked, frozen=True, kw_only=True):
    """The keys of a specification that are not those of its sweep."""

    title: Text = ""
    view: ViewName = "convergence"
    task: TaskName = "solve"
    reference: Text = ""
    claim: Text = ""
    panel: _Tables
    quick: dict[str, Any] = msgspec.field(default_factory=dict)


class PanelHeader(Checked, frozen=True, kw_only=True):
    """The keys of a panel that are not those of the sweep."""

    title: Text = "{data}"
    problem: dict[str, Any]
    quick: dict[str, Any] = msgspec.field(default_factory=dict)


def plan(source: str, *, runs: int | None = None, quick: bool = False) -> Experiment:
    """The experiment of a built-in name or of a file.

    Parameters
    ----------
    source : str
        A name in `BUILT_IN`, or the path of a TOML file (it must end in ``.toml``).
    runs : int, optional
        Number of seeds, in place of what the specification says.
    quick : bool
        Apply the quick tables.

    Raises
    ------
    ValueError
        With the file and one sentence, for a key or value that is not known.
    """
    if source in BUILT_IN:
        text = (resources.files(__package__) / "specs" / f"{source}.toml").read_text(encoding="utf-8")
        return _planned(source, f"the specification of {source}", text, Path(), runs, quick)
    path = Path(source)
    if path.suffix != ".toml":
        raise ValueError(
            f"there is no experiment {source!r}; known are {', '.join(BUILT_IN)}, or the path of a .toml file."
        )
    if path.stem in BUILT_IN:
        raise ValueError(f"{source} has the name of a built-in experiment, whose results it would replace; rename it.")
    if (size := path.stat().st_size) > limits.SPECIFICATION_BYTES:
        raise ValueError(f"{source} has {size:,} bytes; at most {limits.SPECIFICATION_BYTES:,} are read.")
    experiment = _planned(slug(path.stem), source, path.read_text(encoding="utf-8"), path.parent, runs, quick)
    _try(experiment, source)
    return experiment


def missing_data(experiment: Experiment) -> list[str]:
    """The data sets of an experiment that are not on this machine and would be downloaded."""
    found = {problems.to_download(problem) for problem in {task.problem for task in experiment.tasks}}
    return sorted(name for name in found if name is not None)


def built_in_order(name: str) -> tuple[int, str]:
    """Sorting by it puts the built-in experiments in their order, a stand-in in the place of its original, and others
    behind them."""
    original = STAND_INS.get(name, name)
    return (BUILT_IN.index(original) if original in BUILT_IN else len(BUILT_IN)), name


def slug(text: str) -> str:
    """A name for files: letters, digits and single hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:100] or "experiment"


def _planned(name: str, source: str, text: str, folder: Path, runs: int | None, quick: bool) -> Experiment:
    try:
        return _experiment(name, _parsed(text), folder, runs, quick)
    except (ValueError, TypeError) as error:  # a TOMLDecodeError is a ValueError
        raise ValueError(f"{source}: {str(error).rstrip('.')}.") from None


def _parsed(text: str) -> dict[str, Any]:
    if (longest := max(map(len, text.split("\n")))) > limits.LINE:
        raise ValueError(f"it has a line of {longest:,} characters; at most {limits.LINE:,} are read")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _experiment(name: str, table: dict[str, Any], folder: Path, runs: int | None, quick: bool) -> Experiment:
    header = checked(_part(table, Header), Header, "the specification")
    sweep = SWEEPS[header.task]
    top = _layer(table, Header, sweep, f"the specification of a task {header.task!r}")
    top_quick = _layer(header.quick, None, sweep, "[quick]")
    panels: list[Panel] = []
    labels: list[str] = []
    for entry in header.panel:
        layers = [top, _layer(entry, PanelHeader, sweep, "[[panel]]")]
        panel = checked(_part(entry, PanelHeader), PanelHeader, "[[panel]]")
        own_quick = _layer(panel.quick, None, sweep, "[panel.quick]")
        layers += [top_quick, own_quick] if quick else []
        layers += [{"runs": runs}] if runs is not None and "runs" in sweep.__struct_fields__ else []
        values = checked({key: layer[key] for layer in layers for key in layer}, sweep, "the specification")
        problem = problems.resolve(panel.problem, folder)
        done = sum(len(other.tasks) for other in panels)
        measured = header.view in SUBOPTIMALITY and problem.certifiable
        panels.append(_panel(panel.title, problem, values, limits.TASKS - done, measured))
        labels.append(problem.label)
    if all(panel.stand_in for panel in panels) and STAND_INS.get(slug(labels[0])) == name:
        name = slug(labels[0])  # its files say that the data is synthetic
    seeds = {len({task.seed for task in panel.tasks}) for panel in panels}
    return Experiment(
        name=name,
        title=(header.title or name).replace("{data}", ", ".join(dict.fromkeys(labels))),
        view=header.view,
        reference=header.reference,
        claim=header.claim,
        runs=seeds.pop() if len(seeds) == 1 and "runs" in sweep.__struct_fields__ else None,
        quick=quick,
        panels=tuple(panels),
    )


def _part(table: dict[str, Any], kind: type[Checked]) -> dict[str, Any]:
    """The keys of a table that are fields of this structure."""
    return {key: table[key] for key in kind.__struct_fields__ if key in table}


def _layer(table: dict[str, Any], header: type[Checked] | None, sweep: type[Sweep], where: str) -> dict[str, Any]:
    """The keys of a table that are those of the sweep, checked; any that are neither these nor of the header are
    refused."""
    own = () if header is None else header.__struct_fields__
    known(table, (*own, *sweep.__struct_fields__), where)
    layer = {key: value for key, value in table.items() if key not in own}
    checked(layer, sweep, where)
    return layer


def _panel(title: str, problem: AnyProblem, values: Sweep, most: int, measured: bool) -> Panel:
    tasks = tuple(islice(values.tasks(problem), most + 1))
    if len(tasks) > most:
        raise ValueError(f"it asks for more than {limits.TASKS:,} runs; choose fewer")
    title = title.replace("{data}", problem.label)
    if problem.stand_in is not None and problem.label not in title:
        title = f"{title}, {problem.label}"
    shown = {"kind": problem.__struct_config__.tag, **_flat(problem), **msgspec.structs.asdict(values)}
    parameters = {name: in_words(value)[: limits.TEXT] for name, value in shown.items() if value is not None}
    minimum = Minimum(problem=problem) if measured else None
    return Panel(title=title, parameters=parameters, tasks=tasks, stand_in=problem.stand_in, minimum=minimum)


def _flat(problem: Checked) -> dict[str, object]:
    """The values of a problem as a specification has them: those of its data and its set are not in tables."""
    values: dict[str, object] = {}
    for field, value in msgspec.structs.asdict(problem).items():
        inner = _flat(value) if isinstance(value, Checked) else {"name": value}
        values |= {field if name == "name" else name: item for name, item in inner.items() if name != "sha256"}
    return values


def _try(experiment: Experiment, source: str) -> None:
    """Put the parts of every distinct run together, so that what does not fit is refused now, not by every run."""
    for task in experiment.tasks:
        if isinstance(task, Solve) and task.seed == 0:
            try:
                task.parts()
            except (ValueError, TypeError) as error:
                raise ValueError(f"{source}: {error}") from None
