"""Experiments as data: a TOML specification becomes an `Experiment`, with every value checked before anything runs.

The built-in experiments lie in ``specs/``, one file for each figure or table of the paper, in the format that a user
writes. The shortest file says what is solved and how often::

    estimators = ["saga", "heavy-ball"]
    batch_size = 404
    [[panel]]
    [panel.problem]
    data = "mushrooms"        # a name of 'bsfw datasets', "rcv1", or a LIBSVM file beside the specification
    objective = "logistic"
    set = "l1"
    radius = 50

``bsfw reproduce FILE.toml`` then runs each estimator boosted and vanilla, 10 times each. At the top may stand

===============  ======================================================================================================
title            of the experiment; ``{data}`` in it stands for the names of the data
view             how it is drawn (default "convergence"): a name in `bsfw.experiments.views.VIEWS`
task             what a run is (default "solve"): a name in `bsfw.experiments.tasks.TASKS`
reference        label of the figure or table in the paper
claim            what the paper says, in one sentence
runs             seeds 0, 1, ... (10)
iterations       T (1000)
record_every     iterations between two points of a curve (so that there are about 200)
estimators       a list of names (["full"])
batch_size       b_s, a count, or a fraction of the samples (0.05)
coordinates      b_c, a count, or a fraction of the coordinates (1)
methods          ["boosted", "vanilla"]
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
with what is known.
"""

from __future__ import annotations

import json
import re
import tomllib
from importlib import resources
from pathlib import Path

from . import _checks as check
from . import problems
from .model import Experiment, Panel, Task
from .problems import Table
from .sweeps import KEYS, SWEEPS

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
    "news20",
    "rcv1-small",
)
"""The files in ``specs/``, in the order of the paper; at the end those on data that the paper does not use."""

_TEXTS = {"title": "", "view": "convergence", "task": "solve", "reference": "", "claim": ""}


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
    experiment = _planned(_stem(path.stem), source, path.read_text(encoding="utf-8"), path.parent, runs, quick)
    _try(experiment, source)
    return experiment


def missing_data(experiment: Experiment) -> list[str]:
    """The data sets of an experiment that are not on this machine and would be downloaded."""
    tables = {
        json.dumps(task.settings["problem"], sort_keys=True): task.settings["problem"] for task in experiment.tasks
    }
    return sorted(name for name in map(problems.to_download, tables.values()) if name is not None)


def built_in_order(name: str) -> tuple[int, str]:
    """Sorting by it puts the built-in experiments in their order, a stand-in in the place of its original, and others
    behind them."""
    originals = {_stem(problems.LABELS[data]): original for original, data in problems.STAND_INS.items()}
    known = originals.get(name, name)
    return (BUILT_IN.index(known) if known in BUILT_IN else len(BUILT_IN)), name


def _planned(name: str, source: str, text: str, folder: Path, runs: int | None, quick: bool) -> Experiment:
    try:
        return _experiment(name, tomllib.loads(text), folder, runs, quick)
    except (ValueError, TypeError) as error:  # a TOMLDecodeError is a ValueError
        raise ValueError(f"{source}: {str(error).rstrip('.')}.") from None


def _experiment(name: str, table: Table, folder: Path, runs: int | None, quick: bool) -> Experiment:
    from .views import VIEWS

    check.only_keys(table, (*_TEXTS, *KEYS, "panel", "quick"), "the specification")
    texts = {key: check.as_text(table.get(key, default), key) for key, default in _TEXTS.items()}
    check.as_name(texts["view"], VIEWS, "view")
    sweep = SWEEPS[check.as_name(texts["task"], SWEEPS, "task")]
    for key in KEYS:
        if key in table and key not in sweep.keys:
            raise ValueError(f"{key} means nothing to the task {texts['task']!r}; it knows {', '.join(sweep.keys)}.")
    quick_table = check.as_table(table.get("quick", {}), "[quick]")
    check.only_keys(quick_table, sweep.keys, "[quick]")
    entries = table.get("panel", [])
    if not isinstance(entries, list) or not entries:
        raise ValueError("it has no panel; write [[panel]] and below it [panel.problem] with data, objective, set, ...")
    panels, labels = [], []
    for entry in entries:
        entry = check.as_table(entry, "[[panel]]")
        check.only_keys(entry, ("title", "problem", *sweep.keys, "quick"), "[[panel]]")
        own_quick = check.as_table(entry.get("quick", {}), "[panel.quick]")
        check.only_keys(own_quick, sweep.keys, "[panel.quick]")
        if "problem" not in entry:
            raise ValueError("a panel has no [panel.problem] table; write one with data, objective, set and radius.")
        layers = [table, entry, *([quick_table, own_quick] if quick else [])]
        values = _values(sweep.keys, layers)
        if runs is not None and "runs" in values:
            values["runs"] = runs
        problem = problems.resolve(check.as_table(entry["problem"], "[panel.problem]"), folder)
        label = problems.label(problem)
        labels.append(label)
        title = check.as_text(entry.get("title", label), "title").replace("{data}", label)
        tasks = tuple(Task(texts["task"], settings) for settings in sweep.settings(problem, values))
        panels.append(Panel(title, _parameters(problem, values, quick), tasks))
    title = (texts["title"] or name).replace("{data}", ", ".join(dict.fromkeys(labels)))
    if name in problems.STAND_INS and set(labels) == {problems.LABELS[problems.STAND_INS[name]]}:
        name = _stem(labels[0])  # the files of an experiment on stand-in data say so
    return Experiment(name, title, texts["view"], texts["reference"], texts["claim"], tuple(panels))


def _values(keys: tuple[str, ...], layers: list[Table]) -> Table:
    """Every key with its value of the last layer that has one, checked in all of them."""
    values = {key: KEYS[key].default for key in keys}
    for layer in layers:
        values |= {key: KEYS[key].check(layer[key]) for key in keys if key in layer}
    return values


def _parameters(problem: Table, values: Table, quick: bool) -> Table:
    """What a panel is run with, as shown below its figure."""
    shown = {key: value for key, value in {**problem, **values}.items() if value is not None and key != "sha256"}
    return shown | ({"quick": True} if quick else {})


def _try(experiment: Experiment, source: str) -> None:
    """Put the parts of every distinct run together, so that what does not fit is refused now, not by every run."""
    from .tasks import make_solver

    for task in experiment.tasks:
        if task.kind == "solve" and task.settings["seed"] == 0:
            try:
                make_solver(task.settings)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{source}: {error}") from None


def _stem(text: str) -> str:
    """A name for files: letters, digits and single hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "experiment"
