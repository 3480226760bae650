"""Records become views: curves over all runs of a method, tables, drawings and verdicts, in no library's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .. import claims
from ..methods import PanelRecords
from ..model import Experiment, Parts, Record, View
from . import convergence, rounds, tables

VIEWS: dict[str, Callable[[Sequence[PanelRecords]], Parts]] = {
    "convergence": convergence.convergence,
    "piecewise": convergence.piecewise,
    "expected-loss": convergence.expected_loss,
    "oracle-calls": rounds.oracle_calls,
    "step-sizes": rounds.step_sizes,
    "comparison": convergence.comparison,
    "fidelity": rounds.fidelity,
    "filtering": convergence.filtering,
    "trajectories": tables.trajectories,
    "boosting-step": tables.boosting_step,
    "facts": tables.facts,
    "constants": tables.constants,
    "costs": tables.costs,
}
"""What records become, by the name of a view."""

SUBOPTIMALITY = ("convergence", "piecewise", "expected-loss", "filtering")
"""Views of the distance from the minimum."""


def make_view(experiment: Experiment, records: Mapping[str, Record]) -> View:
    """What an experiment shows.

    Parameters
    ----------
    experiment : Experiment
    records : mapping
        Records by the keys of their tasks. Runs that are missing or failed are left out of the curves and noted, and
        then no claim is judged.

    Returns
    -------
    View
    """
    if experiment.view not in VIEWS:
        raise ValueError(f"there is no view {experiment.view!r}; known are {', '.join(sorted(VIEWS))}.")
    panels = [PanelRecords.of(panel, records) for panel in experiment.panels]
    parts = VIEWS[experiment.view]([panel for panel in panels if panel.records])
    gaps = _gaps(experiment, records)
    notes = _notes(panels, timed=any("seconds" in plot.axes for plot in parts.plots))
    return View(
        experiment=experiment,
        plots=parts.plots,
        tables=parts.tables,
        drawings=parts.drawings,
        verdicts=claims.verdicts(experiment, panels, gaps),
        notes=(*([gaps] if gaps else []), *notes, *parts.notes),
    )


def _gaps(experiment: Experiment, records: Mapping[str, Record]) -> str:
    """What is missing or failed, in a sentence; empty if nothing is."""
    keys = {task.key for task in experiment.tasks}
    missing = sum(key not in records for key in keys)
    errors = [error for key in sorted(keys) if key in records and (error := records[key].error) is not None]
    parts = [f"{missing} are missing"] if missing else []
    if errors:
        parts.append(f"{len(errors)} failed ({errors[0]}{', ...' if len(set(errors)) > 1 else ''})")
    return f"Of {len(keys)} runs {' and '.join(parts)}." if parts else ""


def _notes(panels: Sequence[PanelRecords], timed: bool) -> list[str]:
    notes = []
    stand_ins = {(task.problem.label, task.problem.stand_in) for panel in panels for task in panel.panel.tasks}
    for label, original in sorted((label, original) for label, original in stand_ins if original is not None):
        notes.append(f"{label} is a seeded synthetic set of the shape of {original}, whose file was not found here.")
    shared = max((record.environment.jobs for panel in panels for record in panel.records), default=1)
    if timed and shared > 1:
        notes.append(f"Up to {shared} runs shared the machine: seconds are longer than those of a run alone.")
    if any(len({len(run.trace.iteration) for run in method.runs}) > 1 for p in panels for method in p.methods):
        notes.append("Some runs ended before others of their method; curves end with the shortest.")
    return notes
