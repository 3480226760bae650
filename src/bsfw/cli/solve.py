"""``bsfw solve``: a linear model on a table, a LIBSVM file or a known data set, over a constraint set."""

from __future__ import annotations

import argparse
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsfw._names import LOSSES, SETS
from bsfw.cli import _arguments as arguments
from bsfw.cli import _data
from bsfw.cli._outputs import FIGURES, check_distinct, check_output, save_figure

if TYPE_CHECKING:
    from bsfw.estimators import Estimator
    from bsfw.objectives import LinearModel
    from bsfw.results import Result

CONSTRAINTS = [name for name, known in SETS.items() if set(known.parameters) <= {"radius", "k"}]
MAX_ITER = 1000

_DESCRIPTION = """\
Minimise the average loss of a linear model over a constraint set, by boosted
stochastic Frank-Wolfe.
"""
_EPILOG = """\
simplex is x >= 0 with sum = R, solid-simplex with sum <= R; k-sparse is the
hull of the vectors with K entries of size R; nuclear and spectral are for the
matrix variable of the loss multinomial.

examples:
  bsfw solve train.csv --label edible --loss logistic --constraint l1 \\
      --radius 20 --intercept --out model.npz
  bsfw solve mushrooms --loss logistic --constraint l1 --radius 50 \\
      --estimator saga --batch-size 404 --iterations 2000 --out model.npz
  bsfw solve train.svm --loss least-squares --constraint simplex --radius 1 \\
      --step line-search --gap-tol 1e-6 --plot convergence.png
  bsfw solve mushrooms --loss logistic --constraint l1 --radius 50 \\
      --estimator saga --end-phase corrective --gap-tol 1e-8
  bsfw solve train.svm.xz --loss logistic --positive 2 --constraint l1 \\
      --radius 20 --estimator l-svrg --iterations 100000 --checkpoint run.npz
The last one, interrupted, goes on from run.npz when it is given again.

Ctrl-C and SIGTERM end a run after its present iteration: model, trace, plot and
checkpoint are written all the same.

exit code: 0 after a finished run, 1 after a numerical failure, 2 for bad
input, 3 if --gap-tol was not reached, 130 for Ctrl-C or SIGTERM.
"""


def add_parser(subparsers: Any) -> None:
    from bsfw.decays import DECAYS
    from bsfw.estimators import ESTIMATORS
    from bsfw.plan import METHODS
    from bsfw.steps import STEPS

    names: dict[str, Sequence[str]] = {
        "LOSS": tuple(LOSSES),
        "SET": CONSTRAINTS,
        "METHOD": ("auto", *METHODS),
        "ESTIMATOR": tuple(ESTIMATORS),
        "DECAY": ("auto", *DECAYS),
        "STEP": ("auto", *STEPS),
    }
    parser = subparsers.add_parser(
        "solve",
        help="fit a linear model to a table or a LIBSVM file over a constraint set",
        description=_DESCRIPTION,
        epilog="names:\n" + "\n".join(_names(kind, known) for kind, known in names.items()) + "\n\n" + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a table with a header (.csv, .tsv, .parquet), a LIBSVM file (plain, .xz, .bz2 or .gz), a folder of 'bsfw "
        "blocks write', or the name of a known data set (see 'bsfw datasets')",
    )
    _add_problem(parser.add_argument_group("problem").add_argument, names)
    _add_method(parser.add_argument_group("method").add_argument, names)
    _add_end(parser.add_argument_group("end of the run").add_argument)
    _add_output(parser.add_argument_group("output").add_argument)
    parser.set_defaults(run=run)


def _add_problem(add: Callable[..., Any], names: dict[str, Sequence[str]]) -> None:
    add("--loss", required=True, choices=names["LOSS"], metavar="LOSS", help="of a sample; names below")
    add("--constraint", required=True, choices=names["SET"], metavar="SET", help="where x lives; names below")
    add("--radius", required=True, type=float, metavar="R", help="of the set")
    add("--k", type=arguments.count, metavar="K", help="number of nonzeros of a k-sparse vertex")
    add("--label", metavar="NAME", help="the column of a table that is the label; the others are features")
    add("--zero-based", action="store_true", help="indices of a LIBSVM file begin with 0 (told by itself if 0 occurs)")
    add("--positive", metavar="LABEL", help="count this label as positive and all others as negative")
    add("--intercept", action="store_true", help="add a free intercept, which the constraint does not bind")


def _add_method(add: Callable[..., Any], names: dict[str, Sequence[str]]) -> None:
    from bsfw.phases import END_PHASES

    add("--scheduler", metavar="ADDRESS", help="of a dask.distributed cluster that fits a folder of blocks")
    add(
        "--method",
        default="auto",
        choices=names["METHOD"],
        metavar="METHOD",
        help="how directions are chosen (default: the best that fits; with an estimator boosted, the paper's)",
    )
    add(
        "--end-phase",
        choices=END_PHASES,
        metavar="METHOD",
        help="end a run with a stochastic estimator by this method: corrective",
    )
    add(
        "--estimator",
        default="full",
        choices=names["ESTIMATOR"],
        metavar="ESTIMATOR",
        help="of the gradient (default: %(default)s, the exact one)",
    )
    add(
        "--batch-size",
        type=arguments.size,
        metavar="N",
        help="samples an iteration: a count, or a fraction (default: 0.05)",
    )
    add(
        "--coordinates",
        type=arguments.size,
        metavar="N",
        help="coordinates an iteration: a count, or a fraction (default: 1)",
    )
    add(
        "--max-rounds",
        type=arguments.count,
        metavar="K",
        help="LMO calls an iteration at most; 1 is vanilla (default: by set)",
    )
    add(
        "--min-gain",
        type=float,
        default=1e-4,
        metavar="D",
        help="delta, the alignment that a boosting round must gain (default: %(default)s)",
    )
    add("--decay", default="auto", choices=names["DECAY"], metavar="DECAY", help="of the step (default: by theorem)")
    add("--step", default="auto", choices=names["STEP"], metavar="STEP", help="rule (default: the paper's)")
    add("--seed", type=arguments.seed, default=0, metavar="S", help="of the random draws (default: %(default)s)")


def _add_end(add: Callable[..., Any]) -> None:
    add("--iterations", type=arguments.count, metavar="N", help=f"at most (default: {MAX_ITER})")
    add("--seconds", type=float, metavar="S", help="in the algorithm at most")
    add("--gap-tol", type=float, metavar="G", help="stop when the exact Frank-Wolfe gap is at most this")


def _add_output(add: Callable[..., Any]) -> None:
    add("--out", type=Path, metavar="NPZ", help="the model, for 'bsfw predict' and bsfw.load_model")
    add("--force", action="store_true", help="replace the files of --out, --trace and --plot if there are any")
    add("--trace", type=Path, metavar="FILE", help="the recorded iterations, as .csv or .npz")
    add("--plot", type=Path, metavar="PNG", help="objective and gap by iteration (also .pdf, .svg)")
    add(
        "--record-every",
        type=arguments.count,
        metavar="N",
        help="iterations between two records (default: a hundredth of all)",
    )
    add("--checkpoint", type=Path, metavar="NPZ", help="save the run here; if the file exists, go on from it")
    add(
        "--every",
        type=arguments.count,
        metavar="N",
        help="iterations between two checkpoints (default: a tenth of all)",
    )
    add("--quiet", action="store_true", help="no progress line on stderr")


def _names(kind: str, names: Iterable[str]) -> str:
    lead = f"  {kind:<11}"
    return textwrap.fill(
        ", ".join(names), 80, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )


def run(args: argparse.Namespace) -> int:
    _check_options(args)
    if args.scheduler is not None:
        with _cluster(args):
            return _run(args)
    return _run(args)


@contextmanager
def _cluster(args: argparse.Namespace) -> Iterator[None]:
    """A client of the scheduler, in `args`; what goes wrong on the cluster becomes a sentence."""
    from bsfw._extras import dask_client

    with dask_client(args.scheduler) as args.client:
        try:
            yield
        except RuntimeError as error:
            raise OSError(str(error)) from None


def _run(args: argparse.Namespace) -> int:
    from bsfw.checkpoints import describe
    from bsfw.experiments.problems.sets import make_set
    from bsfw.results import Interrupted, Status
    from bsfw.solver import Solver

    constraint, estimator = make_set(args.constraint, {"radius": args.radius, "k": args.k}), _estimator(args)
    objective = _objective(args)
    names = ("method", "end_phase", "max_rounds", "min_gain", "decay", "step")
    options = {name: getattr(args, name) for name in names}
    args.max_iter = MAX_ITER if args.iterations is None else args.iterations
    solver = describe(Solver(objective, constraint, estimator, horizon=args.max_iter, **options))
    args.resumed = args.checkpoint is not None and args.checkpoint.exists()
    if args.resumed:
        solver = _check_checkpoint(args, solver, objective, constraint)
    interrupted = False
    try:
        with _sigterm_as_ctrl_c():
            result = _result(args, objective, constraint, estimator, options)
    except Interrupted as error:
        result, interrupted = error.result, True
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_advice(args.checkpoint)) from None
    _print_summary(result, vanilla=solver["max_rounds"] == 1)
    _write(args, objective, result, solver)
    if interrupted:
        print(f"bsfw: {_advice(args.checkpoint)}", file=sys.stderr)
        return 130
    if result.status is Status.NUMERICAL_FAILURE:
        return 1
    return 3 if args.gap_tol is not None and result.status is not Status.GAP_REACHED else 0


def _result(
    args: argparse.Namespace, objective: LinearModel, constraint: Any, estimator: Estimator, options: dict[str, Any]
) -> Result:
    """The run, or the rest of it."""
    import numpy as np

    from bsfw._minimize import minimize
    from bsfw.checkpoints import resume

    with np.errstate(all="ignore"):  # the status reports a failure, in a sentence
        if args.resumed:
            return resume(args.checkpoint, objective, constraint, max_iter=args.iterations, verbose=not args.quiet)
        return minimize(
            objective, constraint, estimator=estimator, **options, max_iter=args.max_iter, max_seconds=args.seconds,
            gap_tol=args.gap_tol, record_every=args.record_every, rng=args.seed, verbose=not args.quiet,
            checkpoint=args.checkpoint, every=args.every,
        )  # fmt: skip


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which a batch system ends a job, do what Ctrl-C does.

    Its handler, not the signal: a shell starts what it runs in the background with SIGINT ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write(args: argparse.Namespace, objective: LinearModel, result: Result, solver: dict[str, Any]) -> None:
    """Write what was asked for."""
    from bsfw import __version__
    from bsfw.models import Model
    from bsfw.results import Status

    if args.out is not None and result.status is Status.NUMERICAL_FAILURE:
        print(f"No model is written to {args.out}.")
    elif args.out is not None:
        problem = ("data", "label", "loss", "positive", "intercept", "constraint", "radius", "k", "zero_based")
        settings = {name: getattr(args, name) for name in problem}
        # A checkpoint holds the state of the generator, not its seed.
        settings |= {"seed": None if args.resumed else args.seed, "solver": solver, "bsfw": __version__}
        settings |= {name: result[name] for name in ("fun", "gap", "gap_exact", "success", "message")}
        Model.of(objective, result, settings).save(args.out)
        print(f"The model is in {args.out}.")
    if args.trace is not None:
        result.trace.save(args.trace)
        print(f"The trace is in {args.trace}.")
    if args.plot is not None:
        from bsfw.cli._solve_figure import draw

        save_figure(draw(result.trace, f"{args.data}, {args.loss}, {args.constraint} {args.radius:g}"), args.plot)
        print(f"The plot is in {args.plot}.")


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what cannot end well before any data is read."""
    going_on = args.checkpoint is not None and args.checkpoint.exists()  # and may have written its files before
    check_output(args.out, "--out", (".npz",), args.force or going_on)
    check_output(args.trace, "--trace", (".csv", ".npz"), args.force or going_on)
    check_output(args.plot, "--plot", FIGURES, args.force or going_on)
    check_output(args.checkpoint, "--checkpoint", (".npz",))
    outputs = {f"--{name}": getattr(args, name) for name in ("out", "trace", "plot", "checkpoint")}
    check_distinct({"DATA": Path(args.data), **outputs})
    if args.every is not None and args.checkpoint is None:
        raise ValueError("--every is the number of iterations between two checkpoints; give --checkpoint as well.")
    if (args.k is None) == (args.constraint == "k-sparse"):
        raise ValueError(
            "--constraint k-sparse needs --k, the number of nonzeros of a vertex, and no other set takes it."
        )
    if args.data.endswith((".csv", ".tsv", ".parquet")) and args.label is None:
        raise ValueError(f"{args.data} is a table: say which column is the label, with --label NAME.")
    if args.scheduler is not None and not Path(args.data).is_dir():
        raise ValueError(f"--scheduler fits folders of 'bsfw blocks write', but {args.data} is no folder.")
    if args.positive is not None and args.loss not in ("logistic", *_data.UNIT_LOSSES):
        raise ValueError(
            f"--positive makes two classes, but the loss {args.loss} takes the labels as they are; leave it out."
        )


def _estimator(args: argparse.Namespace) -> Estimator:
    from dataclasses import fields

    from bsfw.estimators import ESTIMATORS

    kind = ESTIMATORS[args.estimator]
    given = {name: getattr(args, name) for name in ("batch_size", "coordinates") if getattr(args, name) is not None}
    for name in given:
        if name not in {field.name for field in fields(kind)}:
            users = [key for key, other in ESTIMATORS.items() if name in {field.name for field in fields(other)}]
            option = "--" + name.replace("_", "-")
            raise ValueError(
                f"{option} belongs to the estimators {', '.join(users)}, not to {args.estimator}; leave it out."
            )
    return kind(**given)


def _objective(args: argparse.Namespace) -> LinearModel:
    import numpy as np

    from bsfw import objectives

    if Path(args.data).is_dir():
        found: LinearModel = _on_blocks(args)
        return found
    A, y, names, args.zero_based = _data.read(args.data, args.label, args.zero_based)
    kind: type[LinearModel] = getattr(objectives, LOSSES[args.loss])
    objective = kind(A, _data.targets(y, args.loss, args.positive), intercept=args.intercept)
    objective.feature_names = names
    if args.positive is not None and isinstance(objective, objectives.Logistic):
        rest = [label for label in dict.fromkeys(y.tolist()) if label != _data.label_like(args.positive, y)]
        others = str(rest[0]) if len(rest) == 1 else "other"
        objective.classes = np.array([others, str(args.positive)])
    return objective


def _on_blocks(args: argparse.Namespace) -> Any:
    """The model on a folder of blocks, here or on a cluster."""
    from bsfw import objectives

    if args.label is not None:
        raise ValueError(f"the blocks in {args.data} know their labels: leave --label out.")
    if args.scheduler is None:
        from bsfw.blocks import open_blocks

        blocks: Any = open_blocks(args.data)
    else:
        from bsfw import dask

        blocks = dask.open_blocks(args.data, client=args.client)
    if args.positive is None:
        return getattr(objectives, LOSSES[args.loss])(blocks, intercept=args.intercept)
    labels, _ = blocks.labels()
    if args.loss != "logistic" or labels is None:
        raise ValueError("--positive needs the loss logistic on blocks; write them with the labels 0 and 1 for others.")
    return objectives.Logistic(blocks, positive=_data.label_like(args.positive, labels), intercept=args.intercept)


def _check_checkpoint(
    args: argparse.Namespace, settings: dict[str, Any], objective: LinearModel, constraint: Any
) -> dict[str, Any]:
    """Refuse options that the run in the checkpoint does not have, instead of ignoring them; return its settings."""
    from bsfw.checkpoints import check_problem, read_checkpoint

    meta, _ = read_checkpoint(args.checkpoint)
    check_problem(args.checkpoint, meta, objective, constraint)
    saved: dict[str, Any] = meta["plan"]
    pairs = {
        "--method": (settings["method"], saved["method"]),
        "--end-phase": (settings["end_phase"] or "unset", saved["end_phase"] or "unset"),
        "--estimator": (settings["estimator"], saved["estimator"]),
        "--max-rounds": (settings["max_rounds"], saved["max_rounds"]),
        "--min-gain": (settings["min_gain"], saved["min_gain"]),
        "--step": (settings["step"], saved["step"]),
        # The name only: a run that is prolonged keeps the horizon it was planned for.
        "--decay": (settings["decay"]["type"], saved["decay"]["type"]),
        "--seconds": (args.seconds, meta["limits"]["max_seconds"]),
        "--gap-tol": (args.gap_tol, meta["limits"]["gap_tol"]),
        "--every": (args.every, meta["schedule"]["checkpoint_every"]),
        "--record-every": (args.record_every, meta["schedule"]["record_every"]),
    }
    for option, (given, kept) in pairs.items():
        if given is not None and given != kept:
            raise ValueError(
                f"the run in {args.checkpoint} was started with {option} {_show(kept)}, not {_show(given)}; give it "
                "as it was (only --iterations may change), or name another checkpoint."
            )
    print(f"{args.checkpoint} exists: going on from iteration {meta['state']['iteration']}.", file=sys.stderr)
    return saved


def _show(setting: Any) -> str:
    """A setting of a checkpoint as one sees it: an estimator or step with its own settings."""
    from bsfw.checkpoints import shown

    return shown(setting) if isinstance(setting, dict) else "unset" if setting is None else str(setting)


def _advice(checkpoint: Path | None) -> str:
    if checkpoint is None:
        return "interrupted; with --checkpoint FILE.npz a run can be resumed."
    if checkpoint.exists():
        return f"interrupted; the same command goes on from {checkpoint}."
    return f"interrupted before the first checkpoint was written to {checkpoint}; choose a smaller --every."


def _print_summary(result: Result, vanilla: bool) -> None:
    import numpy as np

    rows = {
        "objective": f"{result.fun:.10g}",
        "exact gap" if result.gap_exact else "gap (not exact)": f"{result.gap:.3g}",
        "nonzeros of x": f"{np.count_nonzero(result.x):,} of {result.x.size:,}",
    }
    if result.x.ndim == 2 and np.isfinite(result.x).all():
        rows["rank of x"] = f"{np.linalg.matrix_rank(result.x)} of {min(result.x.shape)}"
    rows |= {
        "iterations": f"{result.nit:,}",
        "sample gradients": f"{result.sample_gradients:,}",
        "coordinate gradients": f"{result.coordinate_gradients:,}",
        "LMO calls": f"{result.lmo_calls:,}",
        "seconds": f"{result.seconds:.2f}",
    }
    if not vanilla and result.nit > 0:  # with one round there is nothing to boost
        rows["boosted steps"] = f"{result.boosting_percentage:.1f} %"
    if "switch" in result:
        switch = result.switch
        rows["end phase"] = "none" if switch is None else f"from iteration {switch.iteration:,} on ({switch.reason})"
    if "multiplier" in result:
        rows["multiplier"] = f"{result.multiplier:.6g}"
    print(result.message)
    for label, value in rows.items():
        print(f"  {label:<22}{value}")
