"""``bsfw reproduce``: run the paper's experiments, or one's own, and go on with what was interrupted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsfw.cli import _arguments as arguments

if TYPE_CHECKING:
    from bsfw.experiments.model import Experiment

_SHOWN = 5
"""Failed runs that are named in the end."""

_EPILOG = """\
FILE.toml is an experiment of your own, in 8 lines:
  estimators = ["saga", "heavy-ball"]
  batch_size = 404
  [[panel]]
  [panel.problem]
  data = "mushrooms"
  objective = "logistic"
  set = "l1"
  radius = 50
(data is a name of 'bsfw datasets', or a LIBSVM file or, with label = "NAME",
a table beside FILE.toml; methods may be "corrective", "away" and others; an
unknown key or value is refused with what is known)

examples:
  bsfw reproduce
  bsfw reproduce mushrooms --quick
  bsfw reproduce all --runs 10 --jobs 2 --out results
  bsfw reproduce my.toml

Every run leaves a record in DIR as it ends. The same command, given again,
runs what is missing or failed. 'bsfw report DIR' draws the figures.

exit code: 0 if all runs ended well, 1 if any failed, 2 for bad input, 130
for Ctrl-C.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "reproduce",
        help="run the paper's experiments or your own, resumable; without a name, list them",
        description="Run experiments: boosted against vanilla, with the paper's parameters. Without a name, list them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="experiments of the list, 'all' of them, or FILE.toml of your own"
    )
    parser.add_argument("--runs", type=arguments.count, metavar="N", help="seeds of every method (default: 10 mostly)")
    parser.add_argument(
        "--jobs", type=arguments.count, metavar="N", help="runs at a time (default: as many as there are processors)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="the results folder (default: %(default)s)"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a dask.distributed cluster whose workers see DIR and do the runs"
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs: about a minute an experiment")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if not args.names:
        _list()
        return 0
    if args.out.exists() and not args.out.is_dir():
        raise NotADirectoryError(f"--out {args.out} is a file; name a folder.")
    experiments = _plan(args.names, args.runs, args.quick)

    import joblib

    from bsfw.experiments import runner

    jobs = joblib.cpu_count() if args.jobs is None else args.jobs
    total = len({task.key for experiment in experiments for task in experiment.tasks})
    at_a_time = "one at a time" if jobs == 1 else f"{jobs} at a time"
    print(f"{', '.join(made.name for made in experiments)}: {total} runs, {at_a_time}.", file=sys.stderr)
    try:
        with _where(args.scheduler):
            outcome = runner.run(experiments, args.out, jobs=jobs)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted; what has ended is in {args.out}, and the same command goes on with the rest."
        ) from None
    print(f"{outcome.done} runs made, {outcome.found} were there already, {len(outcome.failures)} failed.")
    for task, error in list(outcome.failures.values())[:_SHOWN]:
        print(f"  failed: {task}: {error}")
    if len(outcome.failures) > _SHOWN:
        print(f"  ... and {len(outcome.failures) - _SHOWN} more")
    if outcome.failures:
        print("The same command tries the failed runs again.")
    print(f"The records are in {args.out}; 'bsfw report {args.out}' draws them.")
    return 1 if outcome.failures else 0


@contextmanager
def _where(scheduler: str | None) -> Iterator[None]:
    """The runs are made here, or by the workers of a cluster."""
    if scheduler is None:
        yield
        return
    import joblib

    from bsfw._extras import dask_client

    with dask_client(scheduler) as client, joblib.parallel_config(backend="dask", client=client):
        yield


def _plan(names: list[str], runs: int | None, quick: bool) -> list[Experiment]:
    """The experiments that are meant, each once. What is asked for by name is downloaded, what 'all' means is not."""
    from bsfw.datasets import load
    from bsfw.experiments import spec

    experiments: dict[str, Experiment] = {}
    for name in names:
        for source in spec.BUILT_IN if name == "all" else (name,):
            experiment = spec.plan(source, runs=runs, quick=quick)
            missing = spec.missing_data(experiment)
            if missing and name == "all":
                if source not in names:
                    print(
                        f"{source} is left out: {', '.join(missing)} is not on this machine ('bsfw reproduce {source}' "
                        "downloads it).",
                        file=sys.stderr,
                    )
                continue
            for data in missing:
                load(data)  # now, so that the runs find it, and a failure is known before they start
            experiments[experiment.name] = experiment
    return list(experiments.values())


def _list() -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from bsfw.experiments import spec

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("name", no_wrap=True)
    table.add_column("what")
    table.add_column("in the paper", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    for name in spec.BUILT_IN:
        experiment = spec.plan(name)
        missing = " (to download)" if spec.missing_data(experiment) else ""
        reference = experiment.reference or "-"
        table.add_row(name, f"{experiment.title}{missing}", reference, f"{len(experiment.tasks):,}")
    Console().print(table, markup=False)
    print("\n'bsfw reproduce NAME --quick' runs one of them, 'bsfw reproduce all' all.")
