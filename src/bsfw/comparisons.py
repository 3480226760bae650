"""Several methods on one problem: the table and the figure of a paper on Frank-Wolfe methods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Array
from ._extras import extra
from ._minimize import minimize
from ._progress import ProgressLine
from ._refusals import Refusing, refusing
from .constraints.base import Constraint
from .objectives.base import Objective
from .results import Result

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

BUDGETS = ("max_iter", "max_seconds", "max_gradients", "max_lmo_calls", "gap_tol")
COSTS = {"iteration": "iterations", "lmo_calls": "LMO calls", "gradients": "gradients", "seconds": "seconds"}
"""What a run is paid in: a column of the trace (`gradients` are those of samples and coordinates), and its name."""
ROWS, EXACT_ROWS = 200, 2000
"""Rows of a trace, where a run uses all of its iterations: of one with an estimator, whose rows each cost a full
gradient off the clock, and of one with the exact gradient."""
GRID = 300
"""Points of a median curve."""


@dataclass(frozen=True, eq=False)
class Comparison(Refusing):
    """What `compare` found: prints as a table.

    Attributes
    ----------
    results : dict of list of Result
        The runs of each method, one a seed; a single one for a method that draws nothing.
    """

    results: dict[str, list[Result]]

    @property
    def best(self) -> float:
        """The lowest f(x) that any run recorded."""
        return min(float(np.nanmin(run.trace["value"])) for runs in self.results.values() for run in runs)

    def table(self, gap: float | None = None) -> list[dict[str, Any]]:
        """A row for each method with the medians of its runs: at their ends, or where they reached `gap`.

        Parameters
        ----------
        gap : float, optional
            An exact gap. A run's numbers are then those of the first recorded row with a gap of at most this, nan if
            there is none; `reached` says how many runs there are of which that is true.

        Returns
        -------
        list of dict
            With the keys method, runs, suboptimality (f(x) less `best`), gap, iteration, lmo_calls, gradients and
            seconds, and reached if a gap is asked for.
        """
        return [self._row(name, gap) for name in self.results]

    def _row(self, name: str, gap: float | None) -> dict[str, Any]:
        ends = []
        for run in self.results[name]:
            columns = _columns(run)
            at = [len(columns["gap"]) - 1] if gap is None else np.flatnonzero(columns["gap"] <= gap)[:1]
            if len(at):
                ends.append({key: float(column[at[0]]) for key, column in columns.items()})
        row: dict[str, Any] = {"method": name, "runs": len(self.results[name])}
        all_there = len(ends) == row["runs"]
        for key in ("value", "gap", *COSTS):
            row[key] = float(np.median([end[key] for end in ends])) if all_there else math.nan
        row = {("suboptimality" if key == "value" else key): value for key, value in row.items()}
        row["suboptimality"] -= self.best
        return row if gap is None else {**row, "reached": len(ends)}

    def __repr__(self) -> str:
        width = max(6, *(len(name) for name in self.results))
        heads = ("f - best", "gap", *COSTS.values(), "runs")
        lines = [f"<Comparison of {len(self.results)} methods, best f {self.best:.10g}; medians over runs>"]
        lines.append(f"{'method':<{width}}" + "".join(f"{head:>12}" for head in heads))
        for row in self.table():
            cells = [f"{row[key]:>12.1e}" for key in ("suboptimality", "gap")]
            cells += [f"{row[key]:>12.{'3f' if key == 'seconds' else '0f'}}" for key in COSTS]
            lines.append(f"{row['method']:<{width}}" + "".join(cells) + f"{row['runs']:>12}")
        return "\n".join(lines)

    def to_pandas(self) -> pandas.DataFrame:
        """All rows of all traces with the columns method, run, suboptimality and gradients before their own (needs
        pandas)."""
        frames = []
        for name, runs in self.results.items():
            for number, run in enumerate(runs):
                frame = run.trace.to_pandas()
                frame.insert(0, "method", name)
                frame.insert(1, "run", number)
                frame.insert(2, "suboptimality", frame["value"] - self.best)
                frame.insert(3, "gradients", frame["sample_gradients"] + frame["coordinate_gradients"])
                frames.append(frame)
        import pandas

        return pandas.concat(frames, ignore_index=True)

    def plot(self, costs: Iterable[str] = tuple(COSTS)) -> Figure:
        """Draw f(x) less `best`, and the gap, against each of the `costs`, and return the figure (needs matplotlib).

        A method's curve is the median of its runs, from where all have begun to where the first ends; the runs
        themselves are thin.

        Parameters
        ----------
        costs : iterable of {"iteration", "lmo_calls", "gradients", "seconds"}
        """
        plt = extra("matplotlib.pyplot", "Comparison.plot")
        costs = [costs] if isinstance(costs, str) else list(costs)
        if not costs or not set(costs) <= set(COSTS):
            raise ValueError(f"costs must be some of {', '.join(COSTS)}, got {costs!r}.")
        figure, axes = plt.subplots(
            2, len(costs), figsize=(0.7 + 2.9 * len(costs), 5.2), sharex="col", sharey="row", squeeze=False,
            layout="constrained",
        )  # fmt: skip
        best = self.best
        above = np.concatenate([run.trace["value"] - best for runs in self.results.values() for run in runs])
        lowest = float(above[above > 0.0].min(initial=1.0))  # where the best point itself is drawn
        for number, (name, runs) in enumerate(self.results.items()):
            traces = [_columns(run) for run in runs]
            for column, cost in enumerate(costs):
                for ax, what in zip(axes[:, column], ("value", "gap"), strict=True):
                    heights = [
                        np.maximum(trace["value"] - best, lowest) if what == "value" else trace["gap"]
                        for trace in traces
                    ]
                    curves = [_curve(trace[cost], y) for trace, y in zip(traces, heights, strict=True)]
                    if len(curves) > 1:
                        for x, y in curves:
                            ax.plot(x, y, color=f"C{number % 10}", linewidth=0.5, alpha=0.4)
                    ax.plot(*_median(curves), color=f"C{number % 10}", label=name)
        for column, cost in enumerate(costs):
            axes[1, column].set_xlabel(COSTS[cost])
            for ax in axes[:, column]:
                ax.set(xscale="log", yscale="log")
        axes[0, 0].set_ylabel("f(x) less the best found")
        axes[1, 0].set_ylabel("exact gap")
        figure.legend(
            *axes[0, 0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=1 + len(costs) // 2,
            frameon=False,
        )
        drawn: Figure = figure
        return drawn


def _columns(run: Result) -> dict[str, Array]:
    """Of the trace what is drawn; gaps of estimates, which certify nothing, are nan."""
    trace = run.trace
    gradients = trace["sample_gradients"] + trace["coordinate_gradients"]
    gaps = np.where(trace["gap_exact"], trace["gap"], np.nan)
    return {"value": trace["value"], "gap": gaps, "gradients": gradients} | {
        cost: trace[cost] for cost in COSTS if cost != "gradients"
    }


def _curve(x: Array, y: Array) -> tuple[Array, Array]:
    """What logarithmic axes can show."""
    shown = (x > 0) & (y > 0)
    return x[shown], y[shown]


def _median(curves: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The median of the curves in logarithms, where all of them are."""
    if len(curves) == 1:
        return curves[0]
    curves = [curve for curve in curves if len(curve[0])]
    begin, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    if not begin < end:
        return np.empty(0), np.empty(0)
    grid = np.geomspace(begin, end, GRID)
    each = [np.interp(np.log(grid), np.log(x), np.log(y)) for x, y in curves]
    return grid, np.exp(np.median(each, axis=0))


@refusing
def compare(
    problem: Objective | tuple[Objective, Constraint],
    methods: Mapping[str, Mapping[str, Any]] | Iterable[str],
    budgets: Mapping[str, float] | None = None,
    *,
    seeds: int | Iterable[int] = 1,
    x0: Any = None,
    verbose: bool = False,
) -> Comparison:
    """Run several methods on one problem with the same budgets, and compare value and exact gap by what they cost.

    Exact gaps of stochastic runs, values and metrics are off the clock and not among the gradients, as everywhere. A
    method that draws no random numbers is run once, whatever the seeds.

    Parameters
    ----------
    problem : (Objective, Constraint) or Objective
        The pair; or the objective alone where it knows its set.
    methods : dict of dict, or list of str
        By the name in table and figure: settings of `minimize`, such as ``{"estimator": bsfw.SAGA(batch_size=100)}``
        or ``{"method": "pairwise"}``. Or just names of methods (`minimize`'s ``method``).
    budgets : dict, optional
        For every run: max_iter, max_seconds, max_gradients, max_lmo_calls, gap_tol, as in `minimize`.
    seeds : int or iterable of int
        How many seeds (0, 1, ...), or which.
    x0 : array, optional
        A common start; without it each method starts where it does on its own.
    verbose : bool
        Show a live progress line on stderr.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> A, y = bsfw.datasets.load("mushrooms")
    >>> found = bsfw.compare(
    ...     (bsfw.Logistic(A, y), bsfw.L1Ball(50.0)),
    ...     {
    ...         "vanilla": {"method": "boosted", "step": "line-search", "max_rounds": 1},
    ...         "boosted": {"method": "boosted", "step": "line-search"},
    ...         "corrective": {"method": "corrective"},
    ...     },
    ...     {"max_iter": 50},
    ... )
    >>> [row["method"] for row in found.table()]
    ['vanilla', 'boosted', 'corrective']
    """
    objective, constraint = problem if isinstance(problem, tuple) else (problem, None)
    chosen, limits = _methods(methods), dict(budgets or {})
    if unknown := set(limits) - set(BUDGETS):
        raise ValueError(f"budgets may have {', '.join(BUDGETS)}, got {', '.join(sorted(map(str, unknown)))}.")
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not numbers:
        raise ValueError(f"seeds must be at least one number, got {seeds!r}.")
    results: dict[str, list[Result]] = {}
    progress = ProgressLine(verbose)
    for name, settings in chosen.items():
        runs = results[name] = []
        for seed in numbers:
            progress.show(f"{name}, seed {seed}")
            result, drew = _run(objective, constraint, x0, seed, limits | settings, name)
            runs.append(result)
            if not drew:
                break
    progress.close(f"{len(results)} methods, {sum(map(len, results.values()))} runs")
    return Comparison(results)


def _methods(methods: Any) -> dict[str, dict[str, Any]]:
    """By name, the settings of each."""
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Mapping):
        methods = {name: {"method": name} for name in methods}
    if not methods:
        raise ValueError("methods is empty; give at least one, such as {'vanilla': {'max_rounds': 1}}.")
    for name, settings in methods.items():
        if not isinstance(name, str) or not isinstance(settings, Mapping):
            raise TypeError(
                "methods must be names with settings of bsfw.minimize, such as {'vanilla': {'max_rounds': 1}}, got "
                f"{name!r}: {settings!r}."
            )
    return {name: dict(settings) for name, settings in methods.items()}


def _run(
    objective: Objective, constraint: Constraint | None, x0: Any, seed: int, settings: dict[str, Any], name: str
) -> tuple[Result, bool]:
    """A run, and whether it drew random numbers."""
    rng = np.random.default_rng(seed)
    before = rng.bit_generator.state
    estimator = settings.get("estimator")
    exact = estimator is None or estimator.exact
    if not exact or settings.get("method", "auto") not in ("auto", "corrective"):  # these have a default that fits them
        settings.setdefault("record_every", max(1, settings.get("max_iter", 1000) // (EXACT_ROWS if exact else ROWS)))
    if objective.has_gradient and not settings.get("lazy"):  # whose gaps are known where the oracle is asked
        settings.setdefault("gap_every", settings.get("record_every"))
    try:
        result = minimize(objective, constraint, x0=x0, rng=rng, **settings)
    except (TypeError, ValueError) as error:
        raise type(error)(f"method {name!r}: {error}") from error
    return result, rng.bit_generator.state != before
