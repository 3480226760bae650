"""``bsfw solve``: a linear model on a LIBSVM file or a known data set, over a constraint set."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsfw._names import LOSSES, SETS
from bsfw.cli import _arguments as arguments
from bsfw.cli._outputs import FIGURES, check_distinct, check_output, save_figure

if TYPE_CHECKING:
    from bsfw.constraints import Constraint
    from bsfw.estimators import Estimator
    from bsfw.objectives import LinearModel
    from bsfw.results import Result

CONSTRAINTS = {**SETS, "solid-simplex": "Simplex", "k-sparse": "KSparse"}
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
  bsfw solve mushrooms --loss logistic --constraint l1 --radius 50 \\
      --estimator saga --batch-size 404 --iterations 2000 --out model.npz
  bsfw solve train.svm --loss least-squares --constraint simplex --radius 1 \\
      --step line-search --gap-tol 1e-6 --plot convergence.png
  bsfw solve mushrooms --loss logistic --constraint l1 --radius 50 \\
      --estimator saga --end-phase corrective --gap-tol 1e-8
  bsfw solve train.svm.xz --loss logistic --positive 2 --constraint l1 \\
      --radius 20 --estimator l-svrg --iterations 100000 --checkpoint run.npz
The last one, interrupted, goes on from run.npz when it is given again.

exit code: 0 after a finished run, 1 after a numerical failure, 2 for bad
input, 130 for Ctrl-C.
"""


def add_parser(subparsers: Any) -> None:
    from bsfw.decays import DECAYS
    from bsfw.estimators import ESTIMATORS
    from bsfw.phases import END_PHASES, METHODS
    from bsfw.steps import STEPS

    decays, steps = ("auto", *DECAYS), ("auto", *STEPS)
    tables: dict[str, Iterable[str]] = {
        "LOSS": LOSSES,
        "SET": CONSTRAINTS,
        "METHOD": METHODS,
        "ESTIMATOR": ESTIMATORS,
        "DECAY": decays,
        "STEP": steps,
    }
    parser = subparsers.add_parser(
        "solve",
        help="fit a linear model to a LIBSVM file over a constraint set",
        description=_DESCRIPTION,
        epilog="names:\n" + "\n".join(_names(kind, names) for kind, names in tables.items()) + "\n\n" + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a LIBSVM file (plain, .xz, .bz2 or .gz), or the name of a known data set (see 'bsfw datasets')",
    )

    add = parser.add_argument_group("problem").add_argument
    add("--loss", required=True, choices=LOSSES, metavar="LOSS", help="of a sample; names below")
    add("--constraint", required=True, choices=CONSTRAINTS, metavar="SET", help="where x lives; names below")
    add("--radius", required=True, type=float, metavar="R", help="of the set")
    add("--k", type=arguments.count, metavar="K", help="number of nonzeros of a k-sparse vertex")
    add(
        "--positive",
        type=float,
        metavar="LABEL",
        help="count this label as +1 and all others as -1 (as 1 and 0 for sigmoid-squared)",
    )
    add("--intercept", action="store_true", help="append a column of ones to the data")

    add = parser.add_argument_group("method").add_argument
    add(
        "--method",
        default="boosted",
        choices=METHODS,
        metavar="METHOD",
        help="how directions are chosen (default: %(default)s); all others need the exact gradient",
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
        choices=ESTIMATORS,
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
    add("--decay", default="auto", choices=decays, metavar="DECAY", help="of the step (default: by theorem)")
    add("--step", default="auto", choices=steps, metavar="STEP", help="rule (default: the paper's)")
    add("--seed", type=arguments.seed, default=0, metavar="S", help="of the random draws (default: %(default)s)")

    add = parser.add_argument_group("end of the run").add_argument
    add("--iterations", type=arguments.count, metavar="N", help=f"at most (default: {MAX_ITER})")
    add("--seconds", type=float, metavar="S", help="in the algorithm at most")
    add("--gap-tol", type=float, metavar="G", help="stop when the exact Frank-Wolfe gap is at most this")

    add = parser.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="NPZ", help="the model: x, fun, gap, gap_exact, and settings as JSON")
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
    parser.set_defaults(run=run)


def _names(kind: str, names: Iterable[str]) -> str:
    lead = f"  {kind:<11}"
    return textwrap.fill(
        ", ".join(names), 80, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from bsfw import __version__
    from bsfw._minimize import minimize
    from bsfw.checkpoints import describe, resume
    from bsfw.results import Status
    from bsfw.solver import Solver

    _check_options(args)
    constraint, estimator = _constraint(args), _estimator(args)
    objective = _objective(args)
    names = ("method", "end_phase", "max_rounds", "min_gain", "decay", "step")
    options = {name: getattr(args, name) for name in names}
    max_iter = MAX_ITER if args.iterations is None else args.iterations
    solver = describe(Solver(objective, constraint, estimator, horizon=max_iter, **options))
    resumed = args.checkpoint is not None and args.checkpoint.exists()
    if resumed:
        solver = _check_checkpoint(args, solver)
    try:
        with np.errstate(all="ignore"):  # the status reports a failure, in a sentence
            if resumed:
                result = resume(
                    args.checkpoint, objective, constraint, max_iter=args.iterations, verbose=not args.quiet
                )
            else:
                result = minimize(
                    objective, constraint, estimator=estimator, **options, max_iter=max_iter, max_seconds=args.seconds,
                    gap_tol=args.gap_tol, record_every=args.record_every, rng=args.seed, verbose=not args.quiet,
                    checkpoint=args.checkpoint, every=args.every,
                )  # fmt: skip
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_advice(args.checkpoint)) from None
    _print_summary(result, vanilla=solver["max_rounds"] == 1)
    failed = result.status is Status.NUMERICAL_FAILURE
    if args.out is not None and failed:
        print(f"No model is written to {args.out}.")
    elif args.out is not None:
        problem = ("data", "loss", "positive", "intercept", "constraint", "radius", "k")
        settings = {name: getattr(args, name) for name in problem}
        # A checkpoint holds the state of the generator, not its seed.
        settings |= {"seed": None if resumed else args.seed, "solver": solver, "bsfw": __version__}
        _save_model(args.out, result, settings, getattr(objective, "classes", None))
        print(f"The model is in {args.out}.")
    if args.trace is not None:
        result.trace.save(args.trace)
        print(f"The trace is in {args.trace}.")
    if args.plot is not None:
        from bsfw.cli._solve_figure import draw

        save_figure(draw(result.trace, f"{args.data}, {args.loss}, {args.constraint} {args.radius:g}"), args.plot)
        print(f"The plot is in {args.plot}.")
    return 1 if failed else 0


def _check_options(args: argparse.Namespace) -> None:
    """Refuse what cannot end well before any data is read."""
    check_output(args.out, "--out", (".npz",))
    check_output(args.trace, "--trace", (".csv", ".npz"))
    check_output(args.plot, "--plot", FIGURES)
    check_output(args.checkpoint, "--checkpoint", (".npz",))
    outputs = {f"--{name}": getattr(args, name) for name in ("out", "trace", "plot", "checkpoint")}
    check_distinct({"DATA": Path(args.data), **outputs})
    if args.every is not None and args.checkpoint is None:
        raise ValueError("--every is the number of iterations between two checkpoints; give --checkpoint as well.")
    if (args.k is None) == (args.constraint == "k-sparse"):
        raise ValueError(
            "--constraint k-sparse needs --k, the number of nonzeros of a vertex, and no other set takes it."
        )
    if args.positive is not None and args.loss not in ("logistic", "sigmoid-squared"):
        raise ValueError(
            f"--positive makes two classes, but the loss {args.loss} takes the labels as they are; leave it out."
        )


def _constraint(args: argparse.Namespace) -> Constraint:
    from bsfw import constraints

    kind = getattr(constraints, CONSTRAINTS[args.constraint])
    if args.constraint == "k-sparse":
        return kind(args.k, args.radius)
    return kind(args.radius, equality=False) if args.constraint == "solid-simplex" else kind(args.radius)


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
    from bsfw import objectives

    A, y = _load(args.data)
    kind = getattr(objectives, LOSSES[args.loss])
    return kind(A, _targets(y, args.loss, args.positive), intercept=args.intercept)


def _load(data: str) -> Any:
    """A and y, of a file if there is one of that name, else of a known data set."""
    from bsfw.datasets import load, read_libsvm
    from bsfw.datasets.registry import ENTRIES

    if Path(data).is_file():
        return read_libsvm(data)
    if data not in ENTRIES:
        known = ", ".join(name for name, entry in ENTRIES.items() if entry.kind != "ratings")
        raise FileNotFoundError(f"there is no file {data}, nor a data set of that name; known are {known}.")
    if ENTRIES[data].kind == "ratings":
        raise ValueError(f"{data} holds ratings, not samples with labels; 'bsfw solve' fits linear models only.")
    return load(data)


def _targets(y: Any, loss: str, positive: float | None) -> Any:
    """The labels as the loss takes them, with advice that fits the command where they do not."""
    import numpy as np

    found = np.unique(y)
    shown = ", ".join(f"{label:g}" for label in found[:5]) + (", ..." if len(found) > 5 else "")
    if positive is not None:
        if positive not in found:
            raise ValueError(f"--positive {positive:g}: no row has that label; the data holds {shown}.")
        return np.where(y == positive, 1.0, -1.0 if loss == "logistic" else 0.0)
    if loss == "logistic" and not np.isin(found, (-1, 1)).all():
        other = "" if len(found) == 2 else ", or take --loss multinomial"
        raise ValueError(
            f"the logistic loss takes the labels -1 and +1, but the data holds {shown}; choose the one that counts "
            f"as +1, for example --positive {found[-1]:g}{other}."
        )
    if loss == "sigmoid-squared" and not (found[0] >= 0 and found[-1] <= 1):
        raise ValueError(
            f"the loss sigmoid-squared takes targets in [0, 1], but the data holds {shown}; choose the label that "
            f"counts as 1, for example --positive {found[-1]:g}."
        )
    return y


def _check_checkpoint(args: argparse.Namespace, settings: dict[str, Any]) -> dict[str, Any]:
    """Refuse options that the run in the checkpoint does not have, instead of ignoring them; return its settings."""
    from bsfw.checkpoints import read_checkpoint

    meta, _ = read_checkpoint(args.checkpoint)
    saved: dict[str, Any] = meta["solver"]
    pairs = {
        "--method": (settings["method"], saved["method"]),
        "--end-phase": (settings["end_phase"] or "unset", saved["end_phase"] or "unset"),
        "--estimator": (settings["estimator"], saved["estimator"]),
        "--max-rounds": (settings["max_rounds"], saved["max_rounds"]),
        "--min-gain": (settings["min_gain"], saved["min_gain"]),
        "--step": (settings["step"], saved["step"]),
        # The name only: a run that is prolonged keeps the horizon it was planned for.
        "--decay": (settings["decay"][0], saved["decay"][0]),
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
    """A setting of a checkpoint as one would give it: ["saga", {"batch_size": 404}] is 'saga (batch_size 404)'."""
    if not isinstance(setting, list):
        return "unset" if setting is None else str(setting)
    name, fields = setting
    return name + (f" ({', '.join(f'{key} {value}' for key, value in fields.items())})" if fields else "")


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


def _save_model(path: Path, result: Result, settings: dict[str, Any], classes: Any) -> None:
    import numpy as np

    from bsfw._files import atomic_write

    contents: dict[str, Any] = {name: np.asarray(result[name]) for name in ("x", "fun", "gap", "gap_exact")}
    contents["settings"] = np.array(json.dumps(settings))
    if classes is not None:
        contents["classes"] = classes
    with atomic_write(path) as file:
        np.savez_compressed(file, **contents)
