"""``python -m benchmarks.linear_convergence``: the gap of Frank-Wolfe methods on a strongly convex quadratic, a figure.

Vanilla and boosted Frank-Wolfe by exact line search beside away, pairwise and blended pairwise steps, all by the exact
gradient from the same start, in the reference loop in Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bsfw
from bsfw.results import Trace
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "linear_convergence.png"
GAP = 1e-10
BOOSTED = {"vanilla": None, "boosted, delta = 1e-4": 1e-4, "boosted, delta = 1e-8": 1e-8}
"""min_gain of those without an active set; None is one round."""
METHODS = (*BOOSTED, "away", "pairwise", "blended-pairwise")


@dataclass(frozen=True)
class Problem:
    """min <x, Q x>/2 + <b, x> over the k-sparse polytope, with eigenvalues of Q from 0.1 to about 4.

    The optimum lies inside of a face with many vertices, where vanilla Frank-Wolfe zigzags.
    """

    n: int = 1000
    k: int = 50
    radius: float = 0.3
    seed: int = 0

    def objective(self) -> bsfw.Quadratic:
        rng = np.random.default_rng(self.seed)
        B = rng.standard_normal((self.n, self.n))
        return bsfw.Quadratic(B.T @ B / self.n + 0.1 * np.eye(self.n), rng.standard_normal(self.n))

    def constraint(self) -> bsfw.KSparse:
        return bsfw.KSparse(self.k, self.radius)


def solve(problem: Problem, method: str, max_iter: int, max_seconds: float) -> Trace:
    """The trace of one run, every iteration of it; metrics are off its clock."""
    min_gain = BOOSTED.get(method)
    boosted = {"max_rounds": None if min_gain is not None else 1, "min_gain": min_gain or 1.0, "engine": "reference"}
    options: dict[str, Any] = boosted if method in BOOSTED else {"method": method}
    solver = Solver(problem.objective(), problem.constraint(), step="line-search", **options)
    return solver.run(solver.init(), Limits(max_iter, max_seconds, gap_tol=GAP), Schedule(1)).trace


def rate(trace: Trace) -> float:
    """Iterations for one digit of the smallest gap so far, over the second half of a run that reached `GAP`."""
    digits = -np.log10(np.minimum.accumulate(np.maximum(trace["gap"], 1e-16)))
    half = len(digits) // 2
    return float((trace["iteration"][-1] - trace["iteration"][half]) / max(digits[-1] - digits[half], 1e-16))


def caption(problem: Problem, traces: dict[str, Trace]) -> str:
    """What the figure shows, read off the numbers."""
    text = [
        f"Exact Frank-Wolfe gap on a strongly convex quadratic of {problem.n} variables over the k-sparse polytope "
        f"(k = {problem.k}, radius {problem.radius:g}), exact line search, the same start, one thread, metrics off the "
        "clock; all in the reference loop, with the set's compiled boosting rounds."
    ]
    for name, trace in traces.items():
        best, last = float(trace["gap"].min()), int(trace["iteration"][-1])
        ending = f"{last} iterations, {trace['seconds'][-1]:.2f} s"
        if best <= GAP:
            reached = f"gap {GAP:.0e} after {ending}, {rate(trace):.0f} iterations a digit in the second half"
        else:
            reached = f"gap {best:.1e} when stopped after {ending}"
        text.append(f"{name}: {reached}, {trace['lmo_calls'][-1]} LMO calls.")
    return " ".join(text)


def draw(traces: dict[str, Trace], path: Path) -> None:
    """The gap against iterations and against seconds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    for column, axes in zip(("iteration", "seconds"), panels, strict=True):
        for index, (name, trace) in enumerate(traces.items()):
            style = "--" if name in BOOSTED else "-"
            axes.plot(trace[column], np.maximum(trace["gap"], 1e-16), style, label=name, color=f"C{index}")
        axes.set(yscale="log", xlabel=f"{column}s".replace("ss", "s"), ylim=(GAP / 3, None))
        longest = max(float(t[column][-1]) for name, t in traces.items() if name not in BOOSTED)
        axes.set_xlim(0, 1.5 * longest)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("Frank-Wolfe gap")
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=len(traces), fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None, problem: Problem | None = None) -> str:
    """Run, draw, print the caption; returns it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear_convergence", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=FIGURE, help="the figure (default: %(default)s)")
    parser.add_argument("--max-iter", type=int, default=3000, help="iterations of a run (default: %(default)s)")
    parser.add_argument("--max-seconds", type=float, default=10.0, help="seconds of a run (default: %(default)s)")
    options = parser.parse_args(arguments)
    problem = Problem() if problem is None else problem
    for name in METHODS:  # compilation and imports are off the clock
        solve(problem, name, 2, 1.0)
    traces = {name: solve(problem, name, options.max_iter, options.max_seconds) for name in METHODS}
    text = caption(problem, traces)
    print(text)
    draw(traces, options.out)
    return text


if __name__ == "__main__":
    main()
