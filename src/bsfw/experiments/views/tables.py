"""Views that are drawings or tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..methods import PanelRecords
from ..model import Parts, PathOfRun, StepInRounds, Table, Trajectories
from ..statistics import median_angle, parameters_of
from ..style import display_name
from ..tasks import ConstantRows, Costs, Facts, Parameters, Path, Rounds, Trajectory


def trajectories(panels: Sequence[PanelRecords]) -> Parts:
    """fig: boosting_vs_zigzag."""
    drawings, rows = [], []
    for panel in panels:
        found = [
            (record.task, record.data)
            for record in panel.records
            if isinstance(record.task, Trajectory) and isinstance(record.data, Path)
        ]
        if not found:
            continue
        paths = []
        for task, data in found:
            boosted = task.max_rounds > 1
            name = "BFW" if boosted else "FW"
            paths.append(PathOfRun(name, boosted, data.points))
            end = data.values[-1] - data.optimum
            rows.append((panel.title, name, len(data.points) - 1, end, median_angle(data.points)))
        drawings.append(Trajectories(panel.title, found[0][0].problem, found[0][1].minimiser, tuple(paths)))
    columns = ("problem", "method", "steps", "f - f*", "usual turn (degrees)")
    return Parts(drawings=tuple(drawings), tables=(Table("After the last step", columns, tuple(rows)),))


def boosting_step(panels: Sequence[PanelRecords]) -> Parts:
    """fig: boosting_expln."""
    drawings, tables = [], []
    for panel in panels:
        for record in panel.records:
            if isinstance(record.data, Rounds):
                drawings.append(StepInRounds(panel.title, record.data))
                rows = enumerate(zip(record.data.lambdas, record.data.alignments, strict=True))
                cells = tuple((number, weight, alignment) for number, (weight, alignment) in rows)
                tables.append(Table("Rounds of the step", ("round", "λ", "alignment with -m"), cells))
    return Parts(drawings=tuple(drawings), tables=tuple(tables))


def facts(panels: Sequence[PanelRecords]) -> Parts:
    """table: exp_params."""
    rows = []
    for panel in panels:
        for record in panel.records:
            if isinstance(record.task, Facts) and isinstance(record.data, Parameters):
                cells = parameters_of(record.task, record.data).values()
                rows.append((record.task.problem.label, *("-" if cell is None else cell for cell in cells)))
    columns = ("data", "n", "m", "nonzeros", "batch size b_s", "coordinates b_c", "radius τ")
    return Parts(tables=(Table("Parameters of the data sets", columns, tuple(rows)),))


def constants(panels: Sequence[PanelRecords]) -> Parts:
    """table: estimator_params."""
    tables = [
        Table(
            f"Constants of the estimators on {record.task.problem.label}",
            ("estimator", "L", "ρ1", "ρ2", "A", "B", "C", "E"),
            tuple(
                (display_name(row.estimator), row.smoothness, row.rho1, row.rho2, row.A, row.B, row.C, row.E)
                for row in record.data.rows
            ),
        )
        for panel in panels
        for record in panel.records
        if isinstance(record.data, ConstantRows)
    ]
    return Parts(tables=tuple(tables))


def costs(panels: Sequence[PanelRecords]) -> Parts:
    """app subsec: when to boost."""
    rows = [
        (record.task.problem.label, data.case, data.lmo_seconds, data.gradient_seconds, data.ratio)
        for panel in panels
        for record in panel.records
        if isinstance(data := record.data, Costs)
    ]
    columns = ("data", "case", "LMO (seconds)", "gradient (seconds)", "LMO / gradient")
    return Parts(tables=(Table("Cost of an LMO call against that of a gradient, medians", columns, tuple(rows)),))
