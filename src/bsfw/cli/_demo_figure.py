"""The convergence plot of ``bsfw demo``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bsfw.experiments.style import colour, display_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bsfw.cli.demo import Pair, Problem

_CAPTION = (
    "Relative suboptimality: (f - fmin) / (fmax - fmin), with fmin and fmax the lowest and highest recorded f of all "
    "runs in the panel. The deepest dips, close to fmin, are cut off.\n"
    "Dark: boosted (K = 10,000, δ = 1e-4). Light: vanilla (one LMO call an iteration, the baseline's own step)."
)


def draw(outcomes: Sequence[tuple[Problem, list[Pair]]]) -> Figure:
    """One panel per problem: relative suboptimality against the gradients asked, one hue per estimator."""
    from matplotlib.figure import Figure

    # A Figure without pyplot needs no display and leaves nothing behind.
    figure = Figure(figsize=(13, 6), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(outcomes), squeeze=False)[0]
    for axes, (problem, pairs) in zip(panels, outcomes, strict=True):
        _panel(axes, problem, pairs)
    figure.supxlabel(_CAPTION, fontsize=8.5, color="0.25")
    return figure


def _panel(axes: Axes, problem: Problem, pairs: list[Pair]) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.legend_handler import HandlerTuple

    values = np.concatenate([run.trace["value"] for pair in pairs for run in (pair.boosted, pair.vanilla)])
    low, high = values.min(), values.max()
    handles = []
    for pair in pairs:
        dark, light = (to_rgb(colour(pair.name, boosted)) for boosted in (True, False))
        lines = []
        # The light line first, so that the dark one stays visible where they meet.
        for run, shade, width in ((pair.vanilla, light, 1.6), (pair.boosted, dark, 1.4)):
            distance = run.trace["value"] - low
            relative = np.divide(distance, high - low, out=np.full_like(distance, np.nan), where=distance > 0)
            lines += axes.plot(run.trace[problem.counter], relative, color=shade, linewidth=width)
        handles.append((lines[1], lines[0]))
    axes.set_yscale("log")
    axes.set_ylim(bottom=_floor(axes))
    if problem.log_scale:
        axes.set_xscale("log")
    axes.set_title(problem.title, fontsize=11)
    axes.set_xlabel(problem.counter.replace("_", " "))
    axes.set_ylabel("relative suboptimality (f - fmin) / (fmax - fmin)")
    axes.grid(True, which="major", color="0.9")
    axes.legend(
        handles,
        [display_name(pair.name) for pair in pairs],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.3)},
        handlelength=2.4,
        columnspacing=1.0,
        fontsize=9,
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.11),  # below the axis label: inside it would cover some run
        ncols=len(pairs),
    )


def _floor(axes: Axes) -> float:
    """Below all but one in a hundred of the values: the few dips next to fmin would take up half of the axis."""
    drawn = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    return 0.7 * float(np.nanpercentile(drawn, 1)) if np.isfinite(drawn).any() else 1e-3
