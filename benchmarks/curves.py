"""``python -m benchmarks.curves``: time to accuracy of bsfw and of peers, as a figure and a table.

Frank-Wolfe methods solve the constrained problem; the other peers the penalised one, with the matching lambda given to
them for nothing.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import corrective, data
from .data import Problem, Sizes
from .reference import reference
from .reports import write_json
from .solvers import PENALISED, Accurate, Bsfw, CoptStochastic, Points, Unavailable
from .timing import first_time

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "time_to_accuracy.png"
ACCURACIES = np.logspace(0, -6, 49)
TABLE = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Corrective:
    """bsfw.minimize(..., method="corrective")."""

    name: str = "bsfw corrective"

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        corrective.ours(problem, accuracy)  # compilation
        return corrective.ours(problem, accuracy)


COMPETITORS: tuple[Accurate, ...] = (
    Corrective(),
    Bsfw("SAGA"),
    Bsfw("SAG"),
    Bsfw("SAG", boosted=False),
    CoptStochastic(),
    *PENALISED,
)

Times = dict[str, list[float]]
"""By competitor, the median seconds to each of `ACCURACIES`; inf where it was not reached."""


def problems(sizes: Sizes) -> list[Problem]:
    """Synthetic and bundled data only: the figure may be published."""
    return [data.rcv1_like(sizes, 500.0), data.mushrooms(sizes)]


def measure(problem: Problem, sizes: Sizes, competitors: Sequence[Accurate] = COMPETITORS) -> Times:
    """Every competitor in turn, `sizes.repeats` times; peers that are not installed are left out."""
    runs: dict[str, list[Points]] = {}
    target = float(ACCURACIES[-1])
    for repeat in range(sizes.repeats):
        for solver in competitors:
            try:
                runs.setdefault(solver.name, []).append(solver.points(problem, target, repeat, sizes.cap))
            except Unavailable as reason:
                print(f"{solver.name}: {reason}")
    return {
        name: [statistics.median(first_time(points, accuracy) for points in several) for accuracy in ACCURACIES]
        for name, several in runs.items()
        if several
    }


def table(times: Times) -> str:
    """Milliseconds to the accuracies of `TABLE`."""
    lines = [f"{'milliseconds to':<22}" + "".join(f"{accuracy:>10.0e}" for accuracy in TABLE)]
    for name, seconds in times.items():
        cells = [_at(seconds, accuracy) for accuracy in TABLE]
        lines.append(f"{name:<22}" + "".join(f"{1e3 * s:>10.0f}" if math.isfinite(s) else f"{'-':>10}" for s in cells))
    return "\n".join(lines)


def _at(seconds: Sequence[float], accuracy: float) -> float:
    return seconds[int(np.argmin(np.abs(np.log(ACCURACIES / accuracy))))]


def caption(results: dict[str, Times]) -> str:
    """What the figure shows and who is ahead where, read off the numbers."""
    text = [
        "Seconds to a relative suboptimality (f - f*)/f* of l1-constrained logistic regression, medians; metrics and "
        "compilation are off the clock, what bsfw derives from the data is on it. Frank-Wolfe methods solve the "
        "constrained problem and return a feasible point at any time. liblinear, saga, skglm and celer solve the "
        "penalised problem whose solution is the same; the matching lambda, which a user would have to search for, is "
        "given to them for nothing, and each point of their curves is a fit of its own at a tighter setting."
    ]
    for problem, times in results.items():
        ahead = []
        for accuracy in TABLE:
            finite = {name: _at(seconds, accuracy) for name, seconds in times.items()}
            best = min(finite, key=lambda name: finite[name])
            if math.isfinite(finite[best]):
                ahead.append(f"{best} at {accuracy:.0e} ({1e3 * finite[best]:.0f} ms)")
        text.append(f"{problem}: first is " + ", ".join(ahead) + "." if ahead else f"{problem}: none came so far.")
    return " ".join(text)


def draw(results: dict[str, Times], path: Path) -> None:
    """One panel a problem; Frank-Wolfe methods in solid lines, penalised solvers as steps between their fits."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(results), figsize=(5.5 * len(results), 4.6), sharey=True, squeeze=False)
    penalised = {solver.name for solver in PENALISED}
    for axes, (problem, times) in zip(panels[0], results.items(), strict=True):
        for index, (name, seconds) in enumerate(times.items()):
            style: dict[str, Any] = dict(linestyle="--", drawstyle="steps-post") if name in penalised else {}
            axes.plot(seconds, ACCURACIES, label=name, color=f"C{index}", **style)
        axes.set(xscale="log", yscale="log", title=problem, xlabel="seconds")
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("relative suboptimality")
    handles = {line.get_label(): line for axes in panels[0] for line in axes.get_lines()}
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.legend(list(handles.values()), list(handles), loc="lower center", ncol=4, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None, sizes: Sizes | None = None) -> str:
    """Measure, print the tables and the caption, draw; returns the caption."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curves", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one run of each, given up after a few seconds")
    parser.add_argument("--out", type=Path, default=FIGURE, help="the figure (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the times and the caption there")
    options = parser.parse_args(arguments)
    if sizes is None:
        sizes = Sizes(repeats=1, cap=3.0) if options.quick else Sizes(repeats=5, cap=20.0)
    results = {}
    for problem in problems(sizes):
        known = reference(problem)
        print(f"{problem.name}: f* = {known.value:.10g}, certified to {known.error:.0e}; lambda = {known.penalty:.6g}")
        results[problem.name] = measure(problem, sizes)
        print(table(results[problem.name]), flush=True)
    text = caption(results)
    print(text)
    draw(results, options.out)
    if options.json:
        write_json(options.json, {"accuracies": ACCURACIES.tolist(), "seconds": results, "caption": text})
    return text


if __name__ == "__main__":
    main()
