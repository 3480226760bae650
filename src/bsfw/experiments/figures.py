"""Views as files: plots, tables and drawings by Matplotlib, as PNG and as PDF."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import atomic_write
from . import drawings
from .model import Plot, Series, Table, View
from .records import inside
from .style import REFERENCE_LINE, LineStyle, display_name, line_styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FORMATS = ("png", "pdf")

_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.6)),
    "dot": (0, (1, 1.2)),
    "dashdot": (0, (5, 1.5, 1, 1.5)),
    "longdash": (0, (8, 2)),
    "longdashdot": (0, (8, 2, 1, 2)),
}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "triangle-down": "v",
    "diamond": "D",
    "x": "X",
}
_WIDTH = 4.3  # inches of a panel
_HEIGHT = 3.5
_ACROSS = 3  # panels in a row, as in the paper
_MARKS = 8  # markers on a curve: enough to tell it, few enough to see it


def write_figures(view: View, folder: str | os.PathLike[str]) -> list[Path]:
    """Draw all of a view into an existing folder and return the files, each written whole or not at all.

    The plots of a view make one picture, ``<stem>.png`` and ``.pdf``; every drawing and every table makes one of its
    own. The stem is the experiment's name, and says so where data is a synthetic stand-in.
    """
    stem = file_stem(view)
    figures: dict[str, Figure] = {}
    if view.plots:
        figures[stem] = draw_plots(view)
    for place, drawing in enumerate(view.drawings, start=1):
        figures[stem if place == 1 and not view.plots else f"{stem}-drawing-{place}"] = drawings.draw(drawing)
    for place, table in enumerate(view.tables, start=1):
        alone = not view.plots and not view.drawings and len(view.tables) == 1
        name = f"{stem}-table" if len(view.tables) == 1 else f"{stem}-table-{place}"
        figures[stem if alone else name] = draw_table(table)
    files = []
    for name, figure in figures.items():
        for kind in FORMATS:
            path = inside(folder, Path(folder) / f"{name}.{kind}")
            with atomic_write(path) as file:
                # Without the date, the same results give the same bytes.
                metadata = {"CreationDate": None} if kind == "pdf" else None
                figure.savefig(file, format=kind, metadata=metadata)
            files.append(path)
    return files


def file_stem(view: View) -> str:
    """The name of the view's files: that of the experiment, and which data a synthetic set stands in for."""
    from .spec import STAND_INS

    experiment = view.experiment
    stand_ins = dict.fromkeys(panel.stand_in for panel in experiment.panels if panel.stand_in is not None)
    if experiment.name in STAND_INS:
        return experiment.name  # which says so
    return experiment.name + "".join(f"-with-synthetic-{original}" for original in stand_ins)


# --- plots -----------------------------------------------------------------------------------------------------------


def draw_plots(view: View) -> Figure:
    """All plots of a view, side by side; where there is room, also against seconds."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    cells = _cells(view.plots)
    rows, columns = len(cells), max(map(len, cells))
    # A Figure without pyplot needs no display and leaves nothing behind.
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08, hspace=0.04, wspace=0.03)
    figure = Figure(figsize=(_WIDTH * columns + 0.4, _HEIGHT * rows + 1.2), dpi=150, layout=layout)
    grid = figure.subplots(rows, columns, squeeze=False)
    entries: dict[str, list[Line2D]] = {}
    one_each = _one_curve_each(view.plots)
    heading = view.experiment.title
    for y, row in enumerate(grid):
        for x, axes in enumerate(row):
            if x >= len(cells[y]):
                axes.set_axis_off()
                continue
            plot, axis = cells[y][x]
            # One title is enough: of the row below it, or of a picture of one plot that already has one.
            title = "" if (y and plot.title == cells[0][x][0].title) or plot.title in heading else plot.title
            for series, line in zip(plot.series, _panel(axes, plot, axis, title), strict=True):
                name = display_name(series.group) if one_each else series.name
                handles = entries.setdefault(name, [])
                if all(line.get_color() != other.get_color() for other in handles):
                    handles.append(line)
            if x and plot.y_label == cells[y][0][0].y_label:
                axes.set_ylabel("")
    drawn = [
        (axes, plot) for row, of in zip(grid, cells, strict=True) for axes, (plot, _) in zip(row, of, strict=False)
    ]
    _share_heights(drawn)
    figure.suptitle(heading, fontsize=12)
    _legend(figure, entries, view.plots, one_each)
    return figure


def _cells(plots: Sequence[Plot]) -> list[list[tuple[Plot, str]]]:
    """Which plot is drawn where, against which axis."""
    firsts = [next(iter(plot.axes)) for plot in plots]
    cells = list(zip(plots, firsts, strict=True))
    timed = [(plot, "seconds") for plot in plots if "seconds" in plot.axes]
    if len(plots) == 1:
        return [cells + timed]
    if len(plots) <= _ACROSS and len(timed) == len(plots):
        return [cells, timed]
    across = 2 if len(plots) == 4 else _ACROSS
    return [cells[start : start + across] for start in range(0, len(cells), across)]


def _one_curve_each(plots: Sequence[Plot]) -> bool:
    """Whether estimator and colour say which curve is meant, so that the legend needs no more."""
    return all(len({(curve.group, curve.boosted) for curve in plot.series}) == len(plot.series) for plot in plots)


def _share_heights(drawn: Sequence[tuple[Axes, Plot]]) -> None:
    """The same limits for plots of one family, which are there to be compared."""
    groups: dict[str, list[Axes]] = {}
    for axes, plot in drawn:
        groups.setdefault(plot.family, []).append(axes)
    for panels in groups.values():
        limits = [panel.get_ylim() for panel in panels]
        for panel in panels:
            panel.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _panel(axes: Axes, plot: Plot, axis: str, title: str) -> list[Line2D]:
    lines: list[Line2D] = []
    for place, (series, style) in enumerate(zip(plot.series, line_styles(plot.series), strict=True)):
        x = np.array(series.x[axis], dtype=float)
        # Dark curves above light ones, so that both stay visible where they meet.
        order = 3 if series.boosted else 2
        if series.low is not None and series.high is not None:
            low, high = np.array(series.low, dtype=float), np.array(series.high, dtype=float)
            axes.fill_between(x, low, high, color=style.colour, alpha=0.15, linewidth=0, zorder=order - 1.5)
        lines.append(_curve(axes, x, series, style, place, len(plot.series), order))
    for height in plot.lines.values():
        axes.axhline(height, color=REFERENCE_LINE, linestyle="--", linewidth=1.4, zorder=1)
    if plot.log_y:
        axes.set_yscale("log")
    if plot.log_x:
        axes.set_xscale("log")
    _limits(axes, plot)
    axes.set_title(title, fontsize=10.5)
    axes.set_xlabel(plot.axes[axis])
    axes.set_ylabel(_mathematics(plot.y_label))
    axes.grid(True, which="major", color="0.92", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if not plot.log_x:
        _plain_ticks(axes)
    bottom, top = axes.get_ylim()
    if plot.log_y and bottom >= 0.1 and top <= 1e4:  # counts: 20 says more than 2 x 10^1
        _plain_decades(axes)
    return lines


def _curve(
    axes: Axes, x: np.ndarray, series: Series, style: LineStyle, place: int, number: int, order: float
) -> Line2D:
    # Curves of one plot have their markers at different places.
    every = max(1, len(x) // _MARKS)
    first = min(len(x) - 1, (place * every) // max(1, number)) if len(x) else 0
    (line,) = axes.plot(
        x,
        np.array(series.y, dtype=float),
        color=style.colour,
        linestyle=_DASHES[style.dash],
        linewidth=1.5 if series.boosted else 1.4,
        marker=_MARKERS[style.marker],
        markersize=4.2,
        markevery=(first, every),
        markeredgecolor="white",
        markeredgewidth=0.4,
        zorder=order,
    )
    return line


def _limits(axes: Axes, plot: Plot) -> None:
    """Leave out the few deepest dips, next to f_min, which would take up half of a logarithmic axis."""
    heights = np.concatenate([np.array(series.y, dtype=float) for series in plot.series] or [np.array([])])
    heights = heights[np.isfinite(heights)]
    if not plot.log_y or not len(heights):
        return
    top = float(max([*heights, *plot.lines.values()]))
    axes.set_ylim(bottom=max(0.7 * float(heights.min()), 0.1 * float(np.percentile(heights, 1))), top=1.6 * top)


def _plain_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def words(value: float, _: object) -> str:
        if value == 0:
            return "0"
        if abs(value) >= 1e6:
            return f"{value / 1e6:g}M"
        if abs(value) >= 1e4:
            return f"{value / 1e3:g}k"
        return f"{value:g}"

    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(words))


def _plain_decades(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def _mathematics(label: str) -> str:
    """f as a symbol, f_min and f_max with their index below."""
    label = re.sub(r"\bf_(min|max)\b", r"$f_{\\mathrm{\1}}$", label)
    return re.sub(r"\bf\b(?!_)", "$f$", label).replace(" - ", " − ")


def _legend(figure: Figure, entries: dict[str, list[Line2D]], plots: Sequence[Plot], one_each: bool) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D

    handles: list[Any] = [tuple(lines) for lines in entries.values()]
    labels = list(entries)
    for label in dict.fromkeys(label for plot in plots for label in plot.lines):
        handles.append(Line2D([], [], color=REFERENCE_LINE, linestyle="--", linewidth=1.4))
        labels.append(label)
    kinds = {series.boosted for plot in plots for series in plot.series}
    words = ["Dark, solid: boosted. Light, dashed: vanilla."] if one_each and len(kinds) == 2 else []
    words += dict.fromkeys(plot.band for plot in plots if plot.band)
    # As many columns as fit, and rows of nearly the same length.
    most = max(1, int(figure.get_figwidth() / (1.55 if one_each else 2.9)))
    columns = -(-len(labels) // -(-len(labels) // most))
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9.5,
        handlelength=4.6 if one_each and len(kinds) == 2 else 3,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.6)},
        title=" ".join(words) or None,
        title_fontsize=8.5,
    )


# --- tables ----------------------------------------------------------------------------------------------------------


def draw_table(table: Table) -> Figure:
    """A table as a picture: numbers to the right, words to the left, rules as in a book."""
    from matplotlib.figure import Figure

    texts = [list(table.columns), *([_cell(value) for value in row] for row in table.rows)]
    widths = [0.085 * max(len(row[column]) for row in texts) + 0.28 for column in range(len(table.columns))]
    width, height = max(sum(widths) + 0.3, 0.085 * len(table.title) + 0.3), 0.25 * len(texts) + 0.7
    figure = Figure(figsize=(width, height), dpi=150)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    axes.text(width / 2, 0.28, table.title, ha="center", va="center", fontsize=10)
    left = (width - sum(widths)) / 2
    edges = left + np.concatenate([[0.0], np.cumsum(widths)])
    right = [
        all(not isinstance(row[column], str) or row[column] == "-" for row in table.rows)
        for column in range(len(widths))
    ]
    for line, row in enumerate(texts):
        for column, text in enumerate(row):
            x = edges[column + 1] - 0.12 if right[column] else edges[column] + 0.12
            axes.text(x, 0.62 + 0.25 * line, text, ha="right" if right[column] else "left", va="center", fontsize=9,
                      weight="bold" if line == 0 else "normal")  # fmt: skip
    for at, thick in ((0.49, 1.2), (0.75, 0.7), (0.5 + 0.25 * len(texts), 1.2)):
        axes.plot([edges[0], edges[-1]], [at, at], color="black", linewidth=thick)
    return figure


def _cell(value: str | int | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e7 else f"{value:.3g}"
