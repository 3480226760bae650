"""A results folder, drawn: the figures as PNG and PDF in its ``figures/``, and the page ``index.html``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .._progress import ProgressLine
from .model import Experiment, Record, View


@dataclass(frozen=True)
class Report:
    """What `write_report` wrote.

    Attributes
    ----------
    page : Path
    figures : list of Path
    views : list of View
        In the order of the page.
    damaged : dict
        Files of the folder that could not be read and were left out, with the reason.
    """

    page: Path
    figures: list[Path]
    views: list[View]
    damaged: dict[Path, str]


def write_report(folder: str | os.PathLike[str], *, verbose: bool = False) -> Report:
    """Draw all results of a folder into it.

    Parameters
    ----------
    folder : path
        As ``bsfw reproduce --out`` made it, complete or not. Files that are damaged are left out.
    verbose : bool
        Say on stderr how far it is.

    Returns
    -------
    Report

    Raises
    ------
    FileNotFoundError
        If there are no results in the folder.
    ValueError
        If none of its experiments can be read, or a link leads out of it.
    """
    from .figures import write_figures
    from .page import write_page
    from .records import inside, load_results
    from .views import make_view

    folder = Path(folder)
    found = load_results(folder)
    results = found.experiments
    place = inside(folder, folder / "figures")
    place.mkdir(exist_ok=True)
    page = inside(folder, folder / "index.html")
    views, figures, links = [], [], {}
    progress = ProgressLine(verbose)
    for number, (experiment, records) in enumerate(results, start=1):
        progress.show(f"drawing {experiment.name} ({number} of {len(results)})")
        view = make_view(experiment, records)
        files = write_figures(view, place)
        links[experiment.name] = [f"{place.name}/{file.name}" for file in files]
        figures += files
        views.append(view)
    # The page last: it is there only if all that it links to is.
    experiments = [experiment for experiment, _ in results]
    records = {key: record for _, found in results for key, record in found.items()}
    write_page(views, page, files=links, environment=_environment(records), command=_command(experiments, folder))
    progress.close(f"{len(views)} experiments drawn")
    return Report(page, figures, views, found.damaged)


def _environment(records: Mapping[str, Record]) -> dict[str, Any]:
    """What the runs ran on; where they differ, all values."""
    runs = list(records.values())
    if not runs:
        return {}
    together: dict[str, list[Any]] = {}
    for run in runs:
        for name, value in msgspec.structs.asdict(run.environment).items():
            known = together.setdefault(name, [])
            if value not in (*known, "", None):
                known.append(value)
    ended = sorted(map(str, together.pop("ended", [])))
    shown: dict[str, Any] = {"runs": len(runs)}
    if failed := sum(run.error is not None for run in runs):
        shown["failed"] = failed
    shown["seconds of all runs"] = round(sum(run.seconds for run in runs), 1)
    if ended:
        shown["ended"] = ended[0] if len(ended) == 1 else f"{ended[0]} to {ended[-1]}"
    return shown | {name: values[0] if len(values) == 1 else values for name, values in together.items() if values}


def _command(experiments: Sequence[Experiment], folder: Path) -> str:
    """What to type for these results: experiments with the same options in one line."""
    from .spec import BUILT_IN, built_in_order

    out = shlex.quote(folder.resolve().name)
    lines: dict[str, list[str]] = {}
    for experiment in experiments:
        position, name = built_in_order(experiment.name)
        # Results on stand-in data have another name than the experiment; a user's own are in a file of that name.
        source = BUILT_IN[position] if position < len(BUILT_IN) else f"{name}.toml"
        options = "--quick " if experiment.quick else ""
        options += "" if experiment.runs is None else f"--runs {experiment.runs} "
        lines.setdefault(options, []).append(shlex.quote(source))
    commands = [f"bsfw reproduce {' '.join(names)} {options}--out {out}" for options, names in lines.items()]
    return "\n".join([*commands, f"bsfw report {out}"])
