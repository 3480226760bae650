"""Views of rounds, steps and fidelities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._arrays import Floats
from ..methods import Method, PanelRecords
from ..model import Parts, Plot, Series, Table
from ..statistics import FIDELITIES, boosting_percentages, end_means, rounds_of
from ..style import display_name
from .curves import AXES, MEDIAN_AND_RANGE, band, over_runs, short_name

WINDOWS, PERCENTILES = 40, (10, 90)
"""Oracle calls change from one iteration to the next: their curve is the median over so many parts of a run, and its
band lies between these percentiles. All iterations would be a solid block."""
AVERAGED = 10
"""Iterates to a point of a curve of fidelities: they cycle (vanilla Frank-Wolfe with period 5), and to draw every
tenth of them would show one phase of the cycle."""


def oracle_calls(panels: Sequence[PanelRecords]) -> Parts:
    """fig: oracle_grid: one plot per delta."""
    plots, rows = [], []
    for panel in panels:
        deltas = sorted({method.settings.min_gain for method in panel.methods}, reverse=True)
        for delta in deltas:
            methods = [method for method in panel.methods if method.settings.min_gain == delta]
            series = []
            for method in methods:
                rounds = method.column("rounds")
                rounds[rounds == 0] = np.nan  # the last iterate took no step
                series.append(_windows(method, rounds))
                taken = rounds_of(method)
                if len(taken):
                    rows.append((panel.title, display_name(method.estimator), delta,
                                 int(taken.min()), float(taken.mean()), int(taken.max())))  # fmt: skip
            plots.append(
                Plot(
                    f"{panel.title}, δ = {delta:g}",
                    "LMO calls of the iteration",
                    log_y=True,
                    axes={"iteration": "iteration"},
                    series=tuple(series),
                    band=f"Line: median of the runs over 1/{WINDOWS} of the iterations; band: 10th to 90th percentile.",
                    family=panel.title,
                )
            )
    columns = ("data", "estimator", "δ", "fewest", "mean", "most")
    every = max((method.settings.record_every for panel in panels for method in panel.methods), default=1)
    notes = (f"Of every {every} iterations one was recorded and is counted here.",) if every > 1 else ()
    rows.sort(key=lambda row: (row[0], row[1], -row[2]))
    return Parts(plots=tuple(plots), tables=(Table("LMO calls an iteration", columns, tuple(rows)),), notes=notes)


def _windows(method: Method, values: Floats) -> Series:
    """Median and percentiles of noisy values, one row a run, over parts of the iterations; nan is left out."""
    steps = np.flatnonzero(np.isfinite(values).any(axis=0))
    parts = np.array_split(steps, min(WINDOWS, max(1, len(steps))))
    found = [values[:, part][np.isfinite(values[:, part])] for part in parts]
    low, high = (np.array([np.percentile(part, q) for part in found if part.size]) for q in PERCENTILES)
    middle = [float(np.median(part)) for part in found if part.size]
    places = [float(method.iterations[part].mean()) for part in parts if part.size]
    return Series(
        method.name, method.group, not method.vanilla, {"iteration": places}, middle, low.tolist(), high.tolist()
    )


def step_sizes(panels: Sequence[PanelRecords]) -> Parts:
    """fig: gamma_plot."""
    plots, rows = [], []
    for panel in panels:
        methods = [method for method in panel.methods if method.boosted]
        for method in methods:
            shares = boosting_percentages(method)
            rows.append((panel.title, short_name(method), float(np.mean(shares)), min(shares), max(shares)))
        plots.append(
            Plot(
                panel.title,
                "step size γ",
                log_y=True,
                axes={"iteration": "iteration"},
                series=tuple(over_runs(method, ["iteration"], method.column("gamma")) for method in methods),
                lines={"γ = 1": 1.0},
                band=band(methods, MEDIAN_AND_RANGE),
                family=panel.title,
            )
        )
    columns = ("data", "estimator", "mean of the runs", "lowest run", "highest run")
    return Parts(plots=tuple(plots), tables=(Table("Boosting percentage", columns, tuple(rows)),))


def fidelity(panels: Sequence[PanelRecords]) -> Parts:
    """fig: qpt fidelity vs wall clock, fig: qpt fidelity vs iter."""
    plots = []
    rows: list[tuple[str | int | float, ...]] = []
    by_time, by_iteration = (
        {name: AXES[name] for name in names} for names in (("seconds", "iteration"), ("iteration", "seconds"))
    )
    for panel in panels:
        methods = [method for method in panel.methods if all(map(method.has, FIDELITIES))]
        for column, words, axes in (
            ("fidelity", "fidelity", by_time),
            ("fidelity", "fidelity", by_iteration),
            ("fidelity_normalised", "1 - normalised fidelity", by_iteration),
        ):
            normalised = column == "fidelity_normalised"
            title = f"{panel.title} (normalised)" if normalised else panel.title
            plots.append(
                Plot(
                    title,
                    words,
                    log_y=normalised,
                    axes=axes,
                    series=tuple(_by_rounds(method, column, normalised, list(axes)) for method in methods),
                    lines={} if normalised else {"target": 1.0},
                    band=band(methods, f"Means of {AVERAGED} iterates. {MEDIAN_AND_RANGE}"),
                    family=title,
                )
            )
        for method in methods:
            means = [float(end_means(method, name, "iteration").mean()) for name in FIDELITIES]
            calls = float(method.middle("lmo_calls")[-1]) / max(1, int(method.iterations[-1]))
            seconds = float(method.middle("seconds")[-1])
            rows.append((panel.title, method.settings.max_rounds, *means, calls, seconds))
    columns = ("problem", "K", "fidelity", "normalised", "LMO calls an iteration", "seconds of a run")
    note = (
        "The fidelity as measured is linear in tr chi and can exceed 1; normalised, chi is scaled to trace d first. "
        "The table and the verdicts take means over the runs and the last tenth of their iterates: a trajectory is "
        "chaotic, and one iterate says little."
    )
    return Parts(plots=tuple(plots), tables=(Table("Fidelity at the end", columns, tuple(rows)),), notes=(note,))


def _by_rounds(method: Method, column: str, complement: bool, axes: Sequence[str]) -> Series:
    """A curve with the hue of its K, of means over `AVERAGED` iterates each."""
    values = method.column(column)
    values = 1.0 - values if complement else values
    ends = np.arange(min(AVERAGED, values.shape[1]), values.shape[1] + 1, AVERAGED)
    means = np.stack([values[:, max(0, end - AVERAGED) : end].mean(axis=1) for end in ends], axis=1)
    name, several = f"K = {method.settings.max_rounds}", len(method.runs) > 1
    return Series(
        name=name,
        group=name,
        boosted=method.boosted,
        x={axis: method.middle(axis)[ends - 1].tolist() for axis in axes},
        y=np.median(means, axis=0).tolist(),
        low=means.min(axis=0).tolist() if several else None,
        high=means.max(axis=0).tolist() if several else None,
    )
