"""The results folder: ``runs/<key>.json`` holds one record each, ``experiments/<name>.json`` what was asked for.

A folder may come from anywhere: its files are checked before they are used, names in them are slugs, and where a record
lies follows from its task alone. What is damaged is named and left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .._files import atomic_write
from .model import Experiment, Record
from .schema import read_json
from .tasks import Task


def runs_folder(folder: str | os.PathLike[str]) -> Path:
    return Path(folder) / "runs"


def record_path(folder: str | os.PathLike[str], task: Task) -> Path:
    return runs_folder(folder) / f"{task.key}.json"


def inside(folder: str | os.PathLike[str], path: Path) -> Path:
    """The path of a file to be written; ValueError if a link on the way leads out of the folder."""
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise ValueError(f"{path} leads out of the folder {folder}, where nothing is written; remove that link.")
    return path


def write_record(folder: str | os.PathLike[str], record: Record) -> None:
    """Write the record of a task, whole or not at all."""
    _write(inside(folder, record_path(folder, record.task)), record)


def read_record(folder: str | os.PathLike[str], task: Task) -> Record | None:
    """The record of this very task; None if there is none, ValueError with the reason if its file is something else."""
    path = record_path(folder, task)
    if not path.exists() and not path.is_symlink():
        return None
    record = read_json(path, Record)
    if record.task.key != task.key:
        raise ValueError("it is the record of another task.")
    return record


def find_record(folder: str | os.PathLike[str], task: Task) -> Record | None:
    """The record of this very task; None if there is none that can be read: it is then to be run again."""
    try:
        return read_record(folder, task)
    except (OSError, ValueError):
        return None


def find_records(folder: str | os.PathLike[str], tasks: Iterable[Task]) -> dict[str, Record]:
    """The records of those tasks that have one, by key."""
    found = {task.key: find_record(folder, task) for task in tasks}
    return {key: record for key, record in found.items() if record is not None}


def write_manifest(folder: str | os.PathLike[str], experiment: Experiment) -> None:
    """Write what an experiment consists of, so that a report needs neither its specification nor all of its runs."""
    _write(inside(folder, Path(folder) / "experiments" / f"{experiment.name}.json"), experiment)


def read_manifest(path: str | os.PathLike[str]) -> Experiment:
    """What `write_manifest` wrote; ValueError with the reason if it is something else."""
    from .views import VIEWS

    experiment = read_json(path, Experiment)
    if experiment.name != Path(path).stem:
        raise ValueError(f"it holds the experiment {experiment.name}, whose file has another name.")
    if experiment.view not in VIEWS:
        raise ValueError(f"there is no view {experiment.view!r}.")
    return experiment


@dataclass(frozen=True)
class Results:
    """What a results folder holds.

    Attributes
    ----------
    experiments : list
        Each with the records it has, by key; in the order of ``bsfw reproduce``, a user's own last.
    damaged : dict
        Files that could not be read, with the reason.
    """

    experiments: list[tuple[Experiment, dict[str, Record]]]
    damaged: dict[Path, str]


def load_results(folder: str | os.PathLike[str]) -> Results:
    """Every experiment in a results folder with the records it has; runs that are missing or damaged are absent.

    Raises
    ------
    FileNotFoundError
        If there are no results in the folder.
    ValueError
        If none of its experiments can be read.
    """
    from .spec import built_in_order

    paths = sorted((Path(folder) / "experiments").glob("*.json"))
    if not paths:
        raise FileNotFoundError(
            f"there are no results in {folder}; 'bsfw reproduce NAME --out {folder}' makes some, and 'bsfw reproduce' "
            "lists the names."
        )
    damaged: dict[Path, str] = {}
    experiments = []
    for path in paths:
        try:
            experiments.append(read_manifest(path))
        except (OSError, ValueError) as error:
            damaged[path] = str(error)
    if not experiments:
        path, reason = next(iter(damaged.items()))
        raise ValueError(f"no experiment in {folder} can be read: {path}: {reason}")
    experiments.sort(key=lambda experiment: built_in_order(experiment.name))
    records: dict[str, Record] = {}
    for task in {task.key: task for experiment in experiments for task in experiment.tasks}.values():
        try:
            record = read_record(folder, task)
        except (OSError, ValueError) as error:
            damaged[record_path(folder, task)] = str(error)
        else:
            records |= {} if record is None else {task.key: record}
    found = [
        (experiment, {task.key: records[task.key] for task in experiment.tasks if task.key in records})
        for experiment in experiments
    ]
    return Results(found, damaged)


def _write(path: Path, content: msgspec.Struct) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(msgspec.json.encode(content))
