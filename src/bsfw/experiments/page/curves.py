"""The curves of a page as plain values, for ``page.js``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import style
from ..model import Plot, Series


def controls_key(plot: Plot) -> tuple[object, ...]:
    """Plots that follow each other and offer the same choices are switched together, by one set of controls."""
    curves: list[object] = [(curve.group, curve.boosted) for curve in plot.series]
    if len(set(curves)) < len(curves):
        curves = [(curve.name, curve.group, curve.boosted) for curve in plot.series]
    return list(plot.axes.items()), plot.log_x, plot.log_y, curves, list(plot.lines)


def group_data(plots: Sequence[Plot]) -> dict[str, Any]:
    """What ``page.js`` draws of plots with the same `controls_key`."""
    first = plots[0]
    return {
        "axes": first.axes,
        "logX": first.log_x,
        "logY": first.log_y,
        "lines": list(first.lines),
        "lineColour": style.REFERENCE_LINE,
        "series": [
            {"name": _common_name(same), "group": same[0].group, "boosted": same[0].boosted,
             "colour": look.colour, "dash": look.dash, "marker": look.marker}
            for look, *same in zip(style.line_styles(first.series), *(plot.series for plot in plots), strict=True)
        ],
        "plots": [
            {"title": plot.title, "yLabel": plot.y_label, "lines": _numbers(plot.lines.values()),
             "curves": [_curve(curve) for curve in plot.series]}
            for plot in plots
        ],
    }  # fmt: skip


def finite(number: float | None) -> float | None:
    """Six digits, more than a screen can show, keep the page small; what is not finite becomes None."""
    if number is None or abs(number) == float("inf") or number != number:
        return None
    return number if isinstance(number, int) else float(f"{number:.6g}")


def _numbers(column: Iterable[float | None]) -> list[float | None]:
    return [finite(number) for number in column]


def _common_name(curves: Sequence[Series]) -> str:
    """The name of a curve in all plots of a group; if they differ (by the delta of each plot, say), what they share."""
    if len({curve.name for curve in curves}) == 1:
        return curves[0].name
    return f"{style.display_name(curves[0].group)} {'boosted' if curves[0].boosted else 'vanilla'}"


def _curve(curve: Series) -> dict[str, Any]:
    data: dict[str, Any] = {"x": {name: _numbers(column) for name, column in curve.x.items()}, "y": _numbers(curve.y)}
    if curve.low is not None and curve.high is not None:
        data |= {"low": _numbers(curve.low), "high": _numbers(curve.high)}
    return data
