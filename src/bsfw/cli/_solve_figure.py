"""The convergence plot of ``bsfw solve --plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bsfw.results import Trace


def draw(trace: Trace, title: str) -> Figure:
    """Objective and Frank-Wolfe gap by iteration; a gap of the estimate is drawn as what it is."""
    from matplotlib.figure import Figure

    # A Figure without pyplot needs no display and leaves nothing behind.
    figure = Figure(figsize=(10, 4), dpi=150, layout="constrained")
    left, right = figure.subplots(1, 2)
    iteration, value, gap, exact = (trace[name] for name in ("iteration", "value", "gap", "gap_exact"))
    left.plot(iteration, value)
    left.set_ylabel("objective f")
    if (value > 0).all():
        left.set_yscale("log")
    gap = np.where(gap > 0, gap, np.nan)  # zero has no place on a logarithmic axis
    if not exact.all():
        right.plot(
            iteration[~exact], gap[~exact], color="tab:orange", alpha=0.6, label="of the estimate (no certificate)"
        )
    if exact.any():
        right.plot(
            iteration[exact], gap[exact], color="tab:blue", marker="." if exact.sum() < 3 else None, label="exact"
        )
    right.set_ylabel("Frank-Wolfe gap")
    right.set_yscale("log")
    right.legend()
    for axes in (left, right):
        axes.set_xlabel("iteration")
        axes.grid(True, color="0.9")
    figure.suptitle(title)
    return figure
