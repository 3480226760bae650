"""Curves over the runs of a method, and the axes they are drawn against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._arrays import Floats
from ..methods import Method
from ..model import Plot, Series
from ..statistics import Scale, gradient_axes
from ..style import display_name

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

MEDIAN_AND_RANGE = "Line: median; band: the range of the runs."


def series(
    method: Method, axes: Sequence[str], rows: NDArray[np.intp], middle: Floats, low: Floats, high: Floats
) -> Series:
    """A curve at these rows of the common iterations; without a band if there was one run."""
    several = len(method.runs) > 1
    return Series(
        name=method.name,
        group=method.group,
        boosted=not method.vanilla,
        x={axis: method.middle(axis)[rows].tolist() for axis in axes},
        y=middle[rows].tolist(),
        low=low[rows].tolist() if several else None,
        high=high[rows].tolist() if several else None,
    )


def over_runs(method: Method, axes: Sequence[str], values: Floats) -> Series:
    """Median and range over the runs of `values`, one row a run; iterations without a value are left out."""
    rows = np.flatnonzero(np.isfinite(values).all(axis=0))
    return series(method, axes, rows, np.median(values, axis=0), values.min(axis=0), values.max(axis=0))


def positive(curve: Series, smallest: float) -> Series:
    """For a logarithmic axis: a gap where the curve is not above zero, the band cut at `smallest` where it is not."""
    return Series(
        curve.name,
        curve.group,
        curve.boosted,
        curve.x,
        [value if value > 0 else float("nan") for value in curve.y],
        None if curve.low is None else [value if value > 0 else smallest for value in curve.low],
        None if curve.high is None else [value if value > 0 else smallest for value in curve.high],
    )


def smallest_of(curves: Sequence[Floats]) -> float:
    """The smallest positive number in these, or 1 if there is none."""
    return min((float(curve[curve > 0].min()) for curve in curves if (curve > 0).any()), default=1.0)


def offered(methods: Sequence[Method]) -> dict[str, str]:
    """The x axes that have something to say of these methods, gradients first."""
    names = [*gradient_axes(methods), "seconds", "lmo_calls", "iteration"]
    return {name: AXES[name] for name in names}


def log_x(methods: Sequence[Method], axis: str) -> bool:
    ends = [float(method.middle(axis)[-1]) for method in methods]
    return min(ends) > 0 and max(ends) > WIDE * min(ends)


def band(methods: Sequence[Method], words: str) -> str:
    """What the band is, if there is one."""
    return words if any(len(method.runs) > 1 for method in methods) else ""


def suboptimality(title: str, methods: Sequence[Method], scale: Scale, family: str) -> Plot:
    """Relative suboptimality of some methods of a panel against all axes."""
    axes = offered(methods)
    relative = [scale.relative(method.column("value")) for method in methods]
    smallest = smallest_of(relative)
    return Plot(
        title,
        "(f - f_min) / (f_max - f_min)",
        log_y=True,
        axes=axes,
        series=tuple(
            positive(over_runs(method, list(axes), values), smallest)
            for method, values in zip(methods, relative, strict=True)
        ),
        log_x=log_x(methods, next(iter(axes))),
        band=band(methods, MEDIAN_AND_RANGE),
        family=family,
    )


def short_name(method: Method) -> str:
    """The estimator, with what tells the method from others."""
    name = display_name(method.group)
    return f"{name}, {method.variant}" if method.variant else name
