"""The convergence plot of ``bsfw solve --plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bsfw.results import Trace


FEW = 40
"""Recorded iterations up to which each is marked: a line through two of them would claim what lies between."""


def draw(trace: Trace, title: str) -> Figure:
    """Objective and Frank-Wolfe gap by iteration; a gap of the estimate is drawn as what it is."""
    from matplotlib.figure import Figure

    # A Figure without pyplot needs no display and leaves nothing behind.
    figure = Figure(figsize=(10, 4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    iteration, value, gap, exact = (trace[name] for name in ("iteration", "value", "gap", "gap_exact"))
    marker = "." if len(iteration) <= FEW else None
    left.plot(iteration, value, marker=marker, linestyle="-" if len(iteration) > 2 else "none")
    left.set_ylabel("objective f")
    if (value > 0).all():
        left.set_yscale("log")
    gap = np.where(gap > 0, gap, np.nan)  # zero has no place on a logarithmic axis
    if not exact.all():
        right.plot(
            iteration[~exact], gap[~exact], color="tab:orange", alpha=0.6, label="of the estimate (no certificate)"
        )
    if exact.any():
        # Between two exact gaps of a stochastic run nothing is known of it: points, no line.
        lines = "-" if exact.all() and len(iteration) > 2 else "none"
        right.plot(
            iteration[exact], gap[exact], color="tab:blue", marker=marker if exact.all() else "o", linestyle=lines,
            label="exact",
        )  # fmt: skip
    right.set_ylabel("Frank-Wolfe gap")
    right.set_yscale("log")
    right.legend()
    for axes in (left, right):
        axes.set_xlabel("iteration")
        axes.grid(True, color="0.9")
    figure.suptitle(title)
    return figure
