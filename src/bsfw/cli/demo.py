"""``bsfw demo``: the paper's sparse logistic regression on the bundled data, boosted against vanilla."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsfw.cli import _arguments as arguments
from bsfw.cli._outputs import FIGURES, check_output, save_figure

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bsfw.results import Result

MAX_ROUNDS = 10_000
MIN_GAIN = 1e-4

_NOTES = """\
* the lower objective of the two; gap: the exact Frank-Wolfe gap at the last
iterate; gradients: of samples on mushrooms, of coordinates on breast-cancer;
seconds: in the algorithm, without objective and gap for this table; boosted:
iterations that took the boosted direction.
"""


@dataclass(frozen=True)
class Problem:
    """Logistic regression on one data set over an l1 ball, with the paper's parameters.

    Attributes
    ----------
    data : str
        Name of the bundled data set.
    radius : float
        tau of the l1 ball.
    estimators : tuple of str
        Names as in `bsfw.estimators.ESTIMATORS`.
    sampling : dict
        What the stochastic ones draw an iteration, as they take it.
    counter : str
        The column of the trace that says what the estimates cost.
    log_scale : bool
        Whether these costs are drawn on a logarithmic axis.
    iterations : int
        T.
    """

    data: str
    radius: float
    estimators: tuple[str, ...]
    sampling: dict[str, int]
    counter: str
    log_scale: bool
    iterations: int

    @property
    def title(self) -> str:
        drawn = ", ".join(f"{what.replace('_', ' ')} {number}" for what, number in self.sampling.items())
        return f"{self.data}: l1 radius {self.radius:g}, {drawn}, {self.iterations:,} iterations"


PROBLEMS = (
    Problem(
        "mushrooms",
        50.0,
        ("full", "sag", "saga", "l-svrg", "sarah", "heavy-ball"),
        {"batch_size": 404},
        "sample_gradients",
        log_scale=True,
        iterations=2000,
    ),
    Problem(
        "breast-cancer",
        5.0,
        ("sega", "jaguar", "zoja"),
        {"coordinates": 1},
        "coordinate_gradients",
        log_scale=False,
        iterations=500,
    ),
)


@dataclass(frozen=True)
class Pair:
    """The two runs of one estimator."""

    name: str
    boosted: Result
    vanilla: Result


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "demo",
        help="boosted against vanilla on the bundled data, with every estimator: a table and a plot",
        description="Sparse logistic regression on the two bundled data sets with the parameters of the paper: every "
        "estimator, boosted (K = 10,000, delta = 1e-4) against vanilla (one LMO call an iteration, the baseline's own "
        "step). Prints a table and draws the convergence. Takes about half a minute.",
        epilog="example: bsfw demo --out convergence.png --seed 1",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("bsfw-demo.png"), metavar="PNG", help="the plot (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=arguments.seed, default=0, metavar="S", help="of all random draws (default: %(default)s)"
    )
    parser.add_argument(
        "--iterations",
        type=arguments.count,
        metavar="N",
        help="of every run (default: as in the paper, "
        + " and ".join(f"{problem.iterations} on {problem.data}" for problem in PROBLEMS)
        + ")",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    check_output(args.out, "--out", FIGURES)
    problems: tuple[Problem, ...] = PROBLEMS
    if args.iterations is not None:
        problems = tuple(replace(problem, iterations=args.iterations) for problem in problems)
    outcomes = _solve_all(problems, args.seed)
    console = Console()
    for problem, pairs in outcomes:
        _print_table(console, problem, pairs)
    pairs = [pair for _, of_problem in outcomes for pair in of_problem]
    lower = sum(pair.boosted.fun < pair.vanilla.fun for pair in pairs)
    print(_NOTES)
    print(f"Boosted ends below vanilla for {lower} of {len(pairs)} estimators (seed {args.seed}).")

    from bsfw.cli._demo_figure import draw

    save_figure(draw(outcomes), args.out)
    print(f"The convergence plot is in {args.out}.")
    return 0


def _solve_all(problems: tuple[Problem, ...], seed: int) -> list[tuple[Problem, list[Pair]]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from scipy.sparse import csr_array

    from bsfw import datasets
    from bsfw._minimize import minimize
    from bsfw.constraints import L1Ball
    from bsfw.estimators import ESTIMATORS
    from bsfw.experiments.style import display_name
    from bsfw.objectives import Logistic

    total = sum(2 * len(problem.estimators) * problem.iterations for problem in problems)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    outcomes = []
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        done = 0
        for problem in problems:
            A, y = datasets.load(problem.data)
            # Both sets in one format: the first run then compiles once, not twice.
            objective, ball = Logistic(csr_array(A), y), L1Ball(problem.radius)
            pairs = []
            for name in problem.estimators:
                estimator = ESTIMATORS[name](**({} if name == "full" else problem.sampling))
                results = []
                for method, max_rounds in (("boosted", MAX_ROUNDS), ("vanilla", 1)):
                    # A fixed width, so that the bar does not jump.
                    progress.update(task, description=f"{f'{problem.data}, {display_name(name)}, {method}':<31}")

                    def show(intermediate: Result, before: int = done) -> None:
                        progress.update(task, completed=before + intermediate.nit)

                    result = minimize(
                        objective, ball, estimator=estimator, method="boosted", max_rounds=max_rounds,
                        min_gain=MIN_GAIN, max_iter=problem.iterations,
                        record_every=max(1, problem.iterations // 200), rng=seed, callback=show,
                    )  # fmt: skip
                    results.append(result)
                    done += problem.iterations
                pairs.append(Pair(name, *results))
            outcomes.append((problem, pairs))
        progress.update(task, description=f"{'done':<31}", completed=total)
    return outcomes


def _print_table(console: Console, problem: Problem, pairs: list[Pair]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=0)
    for heading in ("estimator", "method"):
        table.add_column(heading, no_wrap=True)
    for heading in ("objective", "gap", "gradients", "LMO calls", "seconds", "boosted"):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in pairs:
        best = min(pair.boosted.fun, pair.vanilla.fun)
        for method, result in (("boosted", pair.boosted), ("vanilla", pair.vanilla)):
            _add_row(table, pair.name, method, result, problem.counter, is_best=result.fun == best)
    console.print(f"\n{problem.title}", style="bold", highlight=False)
    console.print(table)


def _add_row(table: Table, name: str, method: str, result: Result, counter: str, is_best: bool) -> None:
    from bsfw.experiments.style import display_name

    objective = f"{result.fun:.6f}"
    table.add_row(
        display_name(name) if method == "boosted" else "",
        method,
        f"[bold green]{objective} *[/]" if is_best else f"{objective}  ",
        f"{result.gap:.2e}",
        f"{result[counter]:,}",
        f"{result.lmo_calls:,}",
        f"{result.seconds:.2f}",
        # With one round the direction is the vanilla one: the percentage has no meaning.
        f"{result.boosting_percentage:.1f} %" if method == "boosted" else "-",
        end_section=method == "vanilla",
    )
