"""Records become views: curves over all runs of a method, tables, drawings and verdicts, in no library's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import claims
from .methods import Floats, Method, PanelRecords, Scale, gradient_axes
from .model import Experiment, Plot, Record, Series, Table, View
from .style import display_name

AXES = {
    "sample_gradients": "sample gradients",
    "coordinate_gradients": "coordinate gradients",
    "seconds": "seconds in the algorithm",
    "lmo_calls": "LMO calls",
    "iteration": "iteration",
}
"""Columns of a trace that serve as x axes, with their labels."""

WIDE = 20.0
"""Final costs that differ by more than this factor need a logarithmic axis: the cheap methods would be a stroke."""

RANGE = "the range of the runs"


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
    gaps, notes = (
        _gaps(experiment, records),
        _notes(panels, any("seconds" in plot.axes for plot in parts.get("plots", ()))),
    )
    return View(
        experiment,
        plots=tuple(parts.get("plots", ())),
        tables=tuple(parts.get("tables", ())),
        drawings=tuple(parts.get("drawings", ())),
        verdicts=claims.verdicts(experiment, panels, gaps),
        notes=(*([gaps] if gaps else []), *notes, *parts.get("notes", ())),
    )


def _gaps(experiment: Experiment, records: Mapping[str, Record]) -> str:
    """What is missing or failed, in a sentence; empty if nothing is."""
    keys = {task.key for task in experiment.tasks}
    missing = sum(key not in records for key in keys)
    errors = [records[key].error for key in sorted(keys) if key in records and records[key].error is not None]
    parts = [f"{missing} are missing"] if missing else []
    if errors:
        parts.append(f"{len(errors)} failed ({errors[0]}{', ...' if len(set(errors)) > 1 else ''})")
    return f"Of {len(keys)} runs {' and '.join(parts)}." if parts else ""


def _notes(panels: Sequence[PanelRecords], timed: bool) -> list[str]:
    notes = []
    labels = {record.data.get("label", "") for panel in panels for record in panel.records}
    for label in sorted(label for label in labels if "synthetic" in label):
        notes.append(f"{label} is a seeded synthetic set of the shape of the published one, which was not found here.")
    shared = [record.environment.get("jobs", 1) for panel in panels for record in panel.records]
    if timed and max(shared, default=1) > 1:
        notes.append(f"Up to {max(shared)} runs shared the machine: seconds are longer than those of a run alone.")
    if any(len({len(run["trace"]["iteration"]) for run in method.runs}) > 1 for p in panels for method in p.methods):
        notes.append("Some runs ended before others of their method; curves end with the shortest.")
    return notes


# --- curves ----------------------------------------------------------------------------------------------------------


def _series(
    method: Method, axes: Sequence[str], rows: NDArray[np.intp], middle: Floats, low: Floats, high: Floats
) -> Series:
    several = len(method.runs) > 1
    return Series(
        name=method.name,
        group=method.estimator,
        boosted=method.boosted,
        x={axis: method.middle(axis)[rows].tolist() for axis in axes},
        y=middle[rows].tolist(),
        low=low[rows].tolist() if several else None,
        high=high[rows].tolist() if several else None,
    )


def _over_runs(method: Method, axes: Sequence[str], values: Floats) -> Series:
    """Median and range over the runs of `values`, one row a run; iterations without a value are left out."""
    rows = np.flatnonzero(np.isfinite(values).all(axis=0))
    return _series(method, axes, rows, np.median(values, axis=0), values.min(axis=0), values.max(axis=0))


def _positive(series: Series, smallest: float) -> Series:
    """For a logarithmic axis: a gap where the curve is not above zero, the band cut at `smallest` where it is not."""
    return Series(
        series.name,
        series.group,
        series.boosted,
        series.x,
        [value if value > 0 else float("nan") for value in series.y],
        None if series.low is None else [value if value > 0 else smallest for value in series.low],
        None if series.high is None else [value if value > 0 else smallest for value in series.high],
    )


def _smallest(curves: Sequence[Floats]) -> float:
    """The smallest positive number in these, or 1 if there is none."""
    return min((float(curve[curve > 0].min()) for curve in curves if (curve > 0).any()), default=1.0)


def _offered(methods: Sequence[Method]) -> dict[str, str]:
    """The x axes that have something to say of these methods, gradients first."""
    names = [*gradient_axes(methods), "seconds", "lmo_calls", "iteration"]
    return {name: AXES[name] for name in names}


def _log_x(methods: Sequence[Method], axis: str) -> bool:
    ends = [float(method.middle(axis)[-1]) for method in methods]
    return min(ends) > 0 and max(ends) > WIDE * min(ends)


def _suboptimality(title: str, methods: Sequence[Method], scale: Scale) -> Plot:
    axes = _offered(methods)
    relative = [scale.relative(method.column("value")) for method in methods]
    smallest = _smallest(relative)
    return Plot(
        title,
        "(f - f_min) / (f_max - f_min)",
        log_y=True,
        axes=axes,
        series=tuple(
            _positive(_over_runs(method, list(axes), values), smallest)
            for method, values in zip(methods, relative, strict=True)
        ),
        log_x=_log_x(methods, next(iter(axes))),
        band=_band(methods, f"Line: median; band: {RANGE}."),
    )


def _band(methods: Sequence[Method], words: str) -> str:
    return words if any(len(method.runs) > 1 for method in methods) else ""


_SCALE_NOTE = (
    "f_min and f_max are the lowest and highest value of all runs on the data set. The run that attains f_min has no "
    "place on a logarithmic axis there: its curve has a gap, and bands are cut at the smallest positive value."
)


def _equal_cost_table(panels: Sequence[PanelRecords]) -> Table:
    rows: list[tuple[str | int | float, ...]] = []
    for panel in panels:
        for boosted, vanilla in panel.pairs():
            row: list[str | int | float] = [panel.title, _short(boosted)]
            for axis in (gradient_axes(panel.methods)[0], "seconds"):
                found = panel.scale.compare(boosted, vanilla, axis)
                if found is None:
                    row += ["-"] * 4
                else:
                    at = round(found.at) if axis != "seconds" else found.at
                    row += [at, *found.values, found.ratio]
            rows.append(tuple(row))
    columns = ("data", "estimator", "gradients", "boosted", "vanilla", "ratio")
    return Table(
        "Relative suboptimality at equal gradients and at equal seconds, the most that both reached",
        (*columns, "seconds", "boosted", "vanilla", "ratio"),
        tuple(rows),
    )


def _short(method: Method) -> str:
    name = display_name(method.estimator)
    return f"{name}, {method.variant}" if method.variant else name


def _convergence(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: convergence_plots."""
    panels = [panel for panel in panels if panel.methods]
    return {
        "plots": [_suboptimality(panel.title, panel.methods, panel.scale) for panel in panels],
        "tables": [_equal_cost_table(panels)] if any(panel.pairs() for panel in panels) else [],
        "notes": [_SCALE_NOTE],
    }


def _piecewise(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: pw_res: boosted with the piecewise decay beside vanilla; then the same with the any-time decay."""
    panels = [panel for panel in panels if panel.methods]
    plots = []
    for decay, words in (("piecewise", "piecewise decay"), ("auto", "any-time decay")):
        for panel in panels:
            chosen = [method for method in panel.methods if not method.boosted or method.settings["decay"] == decay]
            if any(method.boosted for method in chosen):
                plots.append(_suboptimality(f"{panel.title}, {words}", chosen, panel.scale))
    return {"plots": plots, "tables": [_equal_cost_table(panels)], "notes": [_SCALE_NOTE]}


def _expected_loss(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: exp_loss."""
    plots = []
    for panel in panels:
        means, deviations = [], []
        for method in panel.methods:
            loss = method.column("value") - panel.scale.lowest
            means.append(loss.mean(axis=0))
            deviations.append(loss.std(axis=0, ddof=1) if len(loss) > 1 else np.zeros(loss.shape[1]))
        smallest = _smallest([*means, *(mean - deviation for mean, deviation in zip(means, deviations, strict=True))])
        series = [
            _positive(
                _series(method, ["iteration"], np.arange(len(mean)), mean, mean - deviation, mean + deviation), smallest
            )
            for method, mean, deviation in zip(panel.methods, means, deviations, strict=True)
        ]
        band = "Line: mean of the runs; band: one standard deviation."
        plots.append(
            Plot(
                panel.title,
                "mean of f - best f known",
                log_y=True,
                axes={"iteration": "iteration"},
                series=tuple(series),
                band=_band(panel.methods, band),
            )
        )
    note = (
        "The best f known is the lowest of all runs on the data set, an upper bound of the minimum: the lowest curves "
        "would be a little higher with the minimum itself. Bands that reach zero are cut at the smallest positive one."
    )
    return {"plots": plots, "notes": [note]}


def _oracle_calls(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: oracle_grid: one plot per delta."""
    plots, rows = [], []
    for panel in panels:
        deltas = sorted({method.settings["min_gain"] for method in panel.methods}, reverse=True)
        for delta in deltas:
            methods = [method for method in panel.methods if method.settings["min_gain"] == delta]
            series = []
            for method in methods:
                rounds = method.column("rounds")
                rounds[rounds == 0] = np.nan  # the last iterate took no step
                series.append(_over_runs(method, ["iteration"], rounds))
                taken = claims.rounds_of(method)
                rows.append((panel.title, display_name(method.estimator), delta,
                             int(taken.min()), float(taken.mean()), int(taken.max())))  # fmt: skip
            plots.append(
                Plot(
                    f"{panel.title}, δ = {delta:g}",
                    "LMO calls of the iteration",
                    log_y=True,
                    axes={"iteration": "iteration"},
                    series=tuple(series),
                    band=_band(methods, f"Line: median; band: {RANGE}."),
                )
            )
    columns = ("data", "estimator", "δ", "fewest", "mean", "most")
    every = max((method.settings["record_every"] for panel in panels for method in panel.methods), default=1)
    notes = [f"Of every {every} iterations one was recorded and is counted here."] if every > 1 else []
    rows.sort(key=lambda row: (row[0], row[1], -row[2]))
    return {"plots": plots, "tables": [Table("LMO calls an iteration", columns, tuple(rows))], "notes": notes}


def _step_sizes(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: gamma_plot."""
    plots, rows = [], []
    for panel in panels:
        methods = [method for method in panel.methods if method.boosted]
        for method in methods:
            shares = claims.boosting_percentages(method)
            rows.append((panel.title, _short(method), float(np.mean(shares)), min(shares), max(shares)))
        plots.append(
            Plot(
                panel.title,
                "step size γ",
                log_y=True,
                axes={"iteration": "iteration"},
                series=tuple(_over_runs(method, ["iteration"], method.column("gamma")) for method in methods),
                lines={"γ = 1": 1.0},
                band=_band(methods, f"Line: median; band: {RANGE}."),
            )
        )
    columns = ("data", "estimator", "mean of the runs", "lowest run", "highest run")
    return {"plots": plots, "tables": [Table("Boosting percentage", columns, tuple(rows))]}


def _comparison(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """Objective and metrics of any methods, for experiments that no figure of the paper shows."""
    plots, rows = [], []
    for panel in panels:
        axes = _offered(panel.methods)
        metrics = dict.fromkeys(name for method in panel.methods for run in method.runs for name in run["metrics"])
        for column in ("value", *metrics):
            having = [m for m in panel.methods if column == "value" or all(column in run["metrics"] for run in m.runs)]
            curves = [method.column(column) for method in having]
            finite = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
            plots.append(
                Plot(
                    panel.title if column == "value" else f"{panel.title}, {column.replace('_', ' ')}",
                    "objective f" if column == "value" else column.replace("_", " "),
                    # Two decades and more do not show on a linear axis.
                    log_y=bool(len(finite) and finite.min() > 0 and finite.max() > 100 * finite.min()),
                    axes=axes,
                    series=tuple(_over_runs(m, list(axes), c) for m, c in zip(having, curves, strict=True)),
                    log_x=_log_x(panel.methods, next(iter(axes))),
                    band=_band(having, f"Line: median; band: {RANGE}."),
                )
            )
        for method in panel.methods:
            ends = [method.middle(name)[-1] for name in ("value", "seconds")]
            counts = [round(method.middle(name)[-1]) for name in (*gradient_axes(panel.methods)[:1], "lmo_calls")]
            rows.append((panel.title, method.name, float(ends[0]), *counts, float(ends[1])))
    columns = ("data", "method", "objective", "gradients", "LMO calls", "seconds")
    return {"plots": plots, "tables": [Table("At the end, median of the runs", columns, tuple(rows))]}


def _filtering(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """The paper's figure of collaborative filtering: the loss against gradients, and against seconds."""
    panels = [panel for panel in panels if panel.methods]
    plots, rows = [], []
    for panel in panels:
        axes = _offered(panel.methods)
        by_time = {"seconds": axes["seconds"], **axes}
        plots += [
            Plot(
                panel.title,
                "loss f",
                log_y=False,
                axes=names,
                series=tuple(_over_runs(method, list(names), method.column("value")) for method in panel.methods),
                band=_band(panel.methods, f"Line: median; band: {RANGE}."),
            )
            for names in (axes, by_time)
        ]
        for method in panel.methods:
            loss, seconds = (float(method.middle(name)[-1]) for name in ("value", "seconds"))
            gradients, calls = (round(method.middle(name)[-1]) for name in ("sample_gradients", "lmo_calls"))
            rows.append((panel.title, method.name, loss, gradients, calls, seconds))
    columns = ("data", "method", "loss", "sample gradients", "LMO calls", "seconds")
    tables = [Table("At the end, median of the runs", columns, tuple(rows)), _equal_cost_table(panels)]
    note = "An LMO is a Lanczos run and costs more than a batch of gradients here: the two axes tell different stories."
    return {"plots": plots, "tables": tables, "notes": [note]}


AVERAGED = 10
"""Iterates to a point of a curve of fidelities: they cycle (vanilla Frank-Wolfe with period 5), and to draw every
tenth of them would show one phase of the cycle."""


def _fidelity(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: qpt fidelity vs wall clock, fig: qpt fidelity vs iter."""
    plots, rows = [], []
    by_time, by_iteration = (
        {name: AXES[name] for name in names} for names in (("seconds", "iteration"), ("iteration", "seconds"))
    )
    for panel in panels:
        for column, words, axes in (
            ("fidelity", "fidelity", by_time),
            ("fidelity", "fidelity", by_iteration),
            ("fidelity_normalised", "1 - normalised fidelity", by_iteration),
        ):
            normalised = column == "fidelity_normalised"
            plots.append(
                Plot(
                    f"{panel.title} (normalised)" if normalised else panel.title,
                    words,
                    log_y=normalised,
                    axes=axes,
                    series=tuple(_by_rounds(method, column, normalised, list(axes)) for method in panel.methods),
                    lines={} if normalised else {"target": 1.0},
                    band=_band(panel.methods, f"Means of {AVERAGED} iterates. Line: median; band: {RANGE}."),
                )
            )
        for method in panel.methods:
            means = [float(claims.end_means(method, name, "iteration").mean()) for name in claims.FIDELITIES]
            calls = method.middle("lmo_calls")[-1] / method.iterations[-1]
            rows.append((panel.title, method.settings["max_rounds"], *means, float(calls),
                         float(method.middle("seconds")[-1])))  # fmt: skip
    columns = ("problem", "K", "fidelity", "normalised", "LMO calls an iteration", "seconds of a run")
    note = (
        "The fidelity as measured is linear in tr chi and can exceed 1; normalised, chi is scaled to trace d first. "
        "The table and the verdicts take means over the runs and the last tenth of their iterates: a trajectory is "
        "chaotic, and one iterate says little."
    )
    return {"plots": plots, "tables": [Table("Fidelity at the end", columns, tuple(rows))], "notes": [note]}


def _by_rounds(method: Method, column: str, complement: bool, axes: Sequence[str]) -> Series:
    """A curve with the hue of its K, of means over `AVERAGED` iterates each."""
    values = method.column(column)
    values = 1.0 - values if complement else values
    ends = np.arange(min(AVERAGED, values.shape[1]), values.shape[1] + 1, AVERAGED)
    means = np.stack([values[:, max(0, end - AVERAGED) : end].mean(axis=1) for end in ends], axis=1)
    name, several = f"K = {method.settings['max_rounds']}", len(method.runs) > 1
    return Series(
        name=name,
        group=name,
        boosted=method.boosted,
        x={axis: method.middle(axis)[ends - 1].tolist() for axis in axes},
        y=np.median(means, axis=0).tolist(),
        low=means.min(axis=0).tolist() if several else None,
        high=means.max(axis=0).tolist() if several else None,
    )


# --- drawings and tables ---------------------------------------------------------------------------------------------


def _trajectories(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: boosting_vs_zigzag."""
    drawings, rows = [], []
    for panel in panels:
        paths = []
        for record in panel.records:
            boosted = record.task.settings["max_rounds"] > 1
            name = "BFW" if boosted else "FW"
            data = record.data
            paths.append({"name": name, "boosted": boosted, "points": data["points"]})
            rows.append((panel.title, name, len(data["points"]) - 1, data["values"][-1] - data["optimum"],
                         claims.median_angle(data["points"])))  # fmt: skip
        shared = {name: panel.records[0].data[name] for name in ("vertices", "minimiser", "quadratic", "level_center")}
        drawings.append({"kind": "trajectories", "title": panel.title, "paths": paths, **shared})
    columns = ("problem", "method", "steps", "f - f*", "usual turn (degrees)")
    return {"drawings": drawings, "tables": [Table("After the last step", columns, tuple(rows))]}


def _boosting_step(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """fig: boosting_expln."""
    drawings, tables = [], []
    for panel in panels:
        for record in panel.records:
            data = record.data
            drawings.append({"kind": "boosting-step", "title": panel.title, **data})
            rows = zip(range(len(data["alignments"])), data["lambdas"], data["alignments"], strict=False)
            tables.append(Table("Rounds of the step", ("round", "λ", "alignment with -m"), tuple(rows)))
    return {"drawings": drawings, "tables": tables}


def _facts(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """table: exp_params."""
    rows = []
    for panel in panels:
        for record in panel.records:
            data, facts = record.data, record.data["facts"]
            cells = (*(facts.get(key) for key in ("n", "m", "nonzeros")), data["batch_size"], data["coordinates"])
            rows.append((data["label"], *("-" if cell is None else cell for cell in cells), data["radius"]))
    columns = ("data", "n", "m", "nonzeros", "batch size b_s", "coordinates b_c", "radius τ")
    return {"tables": [Table("Parameters of the data sets", columns, tuple(rows))]}


def _constants(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """table: estimator_params."""
    names = ("smoothness", "rho1", "rho2", "A", "B", "C", "E")
    tables = [
        Table(
            f"Constants of the estimators on {record.data['label']}",
            ("estimator", "L", "ρ1", "ρ2", "A", "B", "C", "E"),
            tuple((display_name(row["estimator"]), *(row[name] for name in names)) for row in record.data["rows"]),
        )
        for panel in panels
        for record in panel.records
    ]
    return {"tables": tables}


def _costs(panels: Sequence[PanelRecords]) -> dict[str, Any]:
    """app subsec: when to boost."""
    names = ("lmo_seconds", "gradient_seconds", "ratio")
    rows = [
        (record.data["label"], record.data["case"], *(record.data[name] for name in names))
        for panel in panels
        for record in panel.records
    ]
    columns = ("data", "case", "LMO (seconds)", "gradient (seconds)", "LMO / gradient")
    return {"tables": [Table("Cost of an LMO call against that of a gradient, medians", columns, tuple(rows))]}


VIEWS: dict[str, Callable[[Sequence[PanelRecords]], dict[str, Any]]] = {
    "convergence": _convergence,
    "piecewise": _piecewise,
    "expected-loss": _expected_loss,
    "oracle-calls": _oracle_calls,
    "step-sizes": _step_sizes,
    "comparison": _comparison,
    "fidelity": _fidelity,
    "filtering": _filtering,
    "trajectories": _trajectories,
    "boosting-step": _boosting_step,
    "facts": _facts,
    "constants": _constants,
    "costs": _costs,
}
"""What records become, by the name of a view: the plots, tables, drawings and notes of a `View`."""
