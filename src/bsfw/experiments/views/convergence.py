"""Views of f over cost or iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..methods import PanelRecords
from ..model import Parts, Plot, Table
from ..statistics import Scale, gradient_axes
from .curves import (
    MEDIAN_AND_RANGE,
    band,
    log_x,
    offered,
    over_runs,
    positive,
    series,
    short_name,
    smallest_of,
    suboptimality,
)

_BEST_RUN = (
    "f_min and f_max are the lowest and highest value of all runs on the data set. The run that attains f_min has no "
    "place on a logarithmic axis there: its curve has a gap, and bands are cut at the smallest positive value."
)


def _scale_notes(panels: Sequence[PanelRecords]) -> tuple[str, ...]:
    """Where f_min is from: a certified minimum, or the best run."""
    gaps = [panel.minimum.gap for panel in panels if panel.minimum is not None]
    certified = (
        f"f_min is the minimum, certified by a run of its own to a Frank-Wolfe gap of {max(gaps):.1g}; f_max is the "
        "highest value of all runs on the data set."
        if gaps
        else ""
    )
    if len(gaps) == len(panels):
        return (certified,)
    return (f"{certified} Where there is none: {_BEST_RUN}" if certified else _BEST_RUN,)


def equal_cost_table(panels: Sequence[PanelRecords]) -> Table:
    """Every pair of boosted and vanilla where both have spent the same."""
    rows: list[tuple[str | int | float, ...]] = []
    for panel in panels:
        axes = (*gradient_axes(panel.methods)[:1], "seconds")
        for boosted, vanilla in panel.pairs():
            row: list[str | int | float] = [panel.title, short_name(boosted)]
            row += ["-"] * 4 * (2 - len(axes))
            for axis in axes:
                found = Scale.of(panel).compare(boosted, vanilla, axis)
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


def convergence(panels: Sequence[PanelRecords]) -> Parts:
    """fig: convergence_plots."""
    panels = [panel for panel in panels if panel.methods]
    return Parts(
        plots=tuple(suboptimality(panel.title, panel.methods, Scale.of(panel), panel.title) for panel in panels),
        tables=(equal_cost_table(panels),) if any(panel.pairs() for panel in panels) else (),
        notes=_scale_notes(panels),
    )


def piecewise(panels: Sequence[PanelRecords]) -> Parts:
    """fig: pw_res: boosted with the piecewise decay beside vanilla; then the same with the any-time decay."""
    panels = [panel for panel in panels if panel.methods]
    plots = []
    for decay, words in (("piecewise", "piecewise decay"), ("auto", "any-time decay")):
        for panel in panels:
            chosen = [method for method in panel.methods if not method.boosted or method.settings.decay == decay]
            if any(method.boosted for method in chosen):
                plots.append(suboptimality(f"{panel.title}, {words}", chosen, Scale.of(panel), panel.title))
    return Parts(plots=tuple(plots), tables=(equal_cost_table(panels),), notes=_scale_notes(panels))


def expected_loss(panels: Sequence[PanelRecords]) -> Parts:
    """fig: exp_loss."""
    plots = []
    for panel in panels:
        if not panel.methods:
            continue
        means, deviations = [], []
        for method in panel.methods:
            loss = method.column("value") - Scale.of(panel).lowest
            means.append(loss.mean(axis=0))
            deviations.append(loss.std(axis=0, ddof=1) if len(loss) > 1 else np.zeros(loss.shape[1]))
        smallest = smallest_of([*means, *(mean - deviation for mean, deviation in zip(means, deviations, strict=True))])
        curves = [
            positive(
                series(method, ["iteration"], np.arange(len(mean)), mean, mean - deviation, mean + deviation), smallest
            )
            for method, mean, deviation in zip(panel.methods, means, deviations, strict=True)
        ]
        plots.append(
            Plot(
                panel.title,
                "mean of f - best f known" if panel.minimum is None else "mean of f - f_min",
                log_y=True,
                axes={"iteration": "iteration"},
                series=tuple(curves),
                band=band(panel.methods, "Line: mean of the runs; band: one standard deviation."),
                family=panel.title,
            )
        )
    notes = _scale_notes([panel for panel in panels if panel.methods])
    return Parts(plots=tuple(plots), notes=(*notes, "Bands that reach zero are cut at the smallest positive one."))


def comparison(panels: Sequence[PanelRecords]) -> Parts:
    """Objective and metrics of any methods, for experiments that no figure of the paper shows."""
    plots, rows = [], []
    for panel in panels:
        if not panel.methods:
            continue
        axes = offered(panel.methods)
        metrics = dict.fromkeys(name for method in panel.methods for run in method.runs for name in run.metrics)
        for column in ("value", *metrics):
            having = [method for method in panel.methods if column == "value" or method.has(column)]
            curves = [method.column(column) for method in having]
            finite = np.concatenate([curve[np.isfinite(curve)] for curve in curves])
            words = column.replace("_", " ")
            title = panel.title if column == "value" else f"{panel.title}, {words}"
            plots.append(
                Plot(
                    title,
                    "objective f" if column == "value" else words,
                    # Two decades and more do not show on a linear axis.
                    log_y=bool(len(finite) and finite.min() > 0 and finite.max() > 100 * finite.min()),
                    axes=axes,
                    series=tuple(over_runs(m, list(axes), c) for m, c in zip(having, curves, strict=True)),
                    log_x=log_x(panel.methods, next(iter(axes))),
                    band=band(having, MEDIAN_AND_RANGE),
                    family=title,
                )
            )
        rows += end_rows(panel)
    columns = ("data", "method", "objective", "gradients", "LMO calls", "seconds")
    return Parts(plots=tuple(plots), tables=(Table("At the end, median of the runs", columns, tuple(rows)),))


def end_rows(panel: PanelRecords) -> list[tuple[str | int | float, ...]]:
    """f and costs of every method at its end, medians of the runs."""
    axis = (gradient_axes(panel.methods) or ["sample_gradients"])[0]
    rows: list[tuple[str | int | float, ...]] = []
    for method in panel.methods:
        value, seconds = (float(method.middle(name)[-1]) for name in ("value", "seconds"))
        gradients, calls = (round(method.middle(name)[-1]) for name in (axis, "lmo_calls"))
        rows.append((panel.title, method.name, value, gradients, calls, seconds))
    return rows


def filtering(panels: Sequence[PanelRecords]) -> Parts:
    """The paper's figure of collaborative filtering: the loss against gradients, and against seconds."""
    panels = [panel for panel in panels if panel.methods]
    plots, rows = [], []
    for panel in panels:
        axes = offered(panel.methods)
        by_time = {"seconds": axes["seconds"], **axes}
        plots += [
            Plot(
                panel.title,
                "loss f",
                log_y=False,
                axes=names,
                series=tuple(over_runs(method, list(names), method.column("value")) for method in panel.methods),
                band=band(panel.methods, MEDIAN_AND_RANGE),
                family=panel.title,
            )
            for names in (axes, by_time)
        ]
        rows += end_rows(panel)
    columns = ("data", "method", "loss", "sample gradients", "LMO calls", "seconds")
    tables = (Table("At the end, median of the runs", columns, tuple(rows)), equal_cost_table(panels))
    note = "An LMO is a Lanczos run and costs more than a batch of gradients here: the two axes tell different stories."
    return Parts(plots=tuple(plots), tables=tables, notes=(note,))
