"""The results folder: ``runs/<key>.json`` holds one record each, ``experiments/<name>.json`` what was asked for."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .._files import atomic_write
from .model import Experiment, Panel, Record, Task


def runs_folder(folder: str | os.PathLike[str]) -> Path:
    return Path(folder) / "runs"


def record_path(folder: str | os.PathLike[str], task: Task) -> Path:
    return runs_folder(folder) / f"{task.key}.json"


def write_record(folder: str | os.PathLike[str], record: Record) -> None:
    """Write the record of a task, whole or not at all; NaN and infinities become null."""
    content = {
        "kind": record.task.kind,
        "settings": record.task.settings,
        "error": record.error,
        "environment": record.environment,
        "seconds": record.seconds,
        "data": _plain(record.data),
    }
    _write(record_path(folder, record.task), content)


def find_record(folder: str | os.PathLike[str], task: Task) -> Record | None:
    """The record of this very task; None if there is none, or if its file is not what this module writes."""
    try:
        content = json.loads(record_path(folder, task).read_text())
        found = Task(content["kind"], content["settings"])
        record = Record(found, content["data"], content["error"], content["environment"], content["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # to be run again, which replaces the file
    return record if found.key == task.key else None


def find_records(folder: str | os.PathLike[str], tasks: Iterable[Task]) -> dict[str, Record]:
    """The records of those tasks that have one, by key."""
    found = {task.key: find_record(folder, task) for task in tasks}
    return {key: record for key, record in found.items() if record is not None}


def write_manifest(folder: str | os.PathLike[str], experiment: Experiment) -> None:
    """Write what an experiment consists of, so that a report needs neither its specification nor all of its runs."""
    content = {
        "name": experiment.name,
        "title": experiment.title,
        "view": experiment.view,
        "reference": experiment.reference,
        "claim": experiment.claim,
        "panels": [
            {
                "title": panel.title,
                "parameters": panel.parameters,
                "tasks": [{"kind": task.kind, "settings": task.settings} for task in panel.tasks],
            }
            for panel in experiment.panels
        ],
    }
    _write(Path(folder) / "experiments" / f"{experiment.name}.json", content)


def read_manifest(path: str | os.PathLike[str]) -> Experiment:
    try:
        content = json.loads(Path(path).read_text())
        panels = tuple(
            Panel(
                panel["title"],
                panel["parameters"],
                tuple(Task(task["kind"], task["settings"]) for task in panel["tasks"]),
            )
            for panel in content["panels"]
        )
        texts = {name: content[name] for name in ("name", "title", "view", "reference", "claim")}
        return Experiment(**texts, panels=panels)
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{path} is not what 'bsfw reproduce' writes; remove it, and the command makes it anew."
        ) from None


def load_results(folder: str | os.PathLike[str]) -> list[tuple[Experiment, dict[str, Record]]]:
    """Every experiment in a results folder with the records it has, by key; runs that are missing are absent.

    The order is that of ``bsfw reproduce``, a user's own experiments last.
    """
    from .spec import built_in_order

    paths = sorted((Path(folder) / "experiments").glob("*.json"))
    if not paths:
        raise FileNotFoundError(
            f"there are no results in {folder}; 'bsfw reproduce NAME --out {folder}' makes some, and 'bsfw reproduce' "
            "lists the names."
        )
    experiments = sorted((read_manifest(path) for path in paths), key=lambda made: built_in_order(made.name))
    return [(experiment, find_records(folder, experiment.tasks)) for experiment in experiments]


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "w") as file:
        json.dump(content, file, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Without what JSON has no word for."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
