"""``bsfw predict``: what a model that ``bsfw solve --out`` wrote says of new data."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import Any

from bsfw.cli import _data
from bsfw.cli._outputs import check_distinct, check_output

_EPILOG = """\
examples:
  bsfw solve train.csv --label edible --loss logistic --constraint l1 \\
      --radius 20 --intercept --out model.npz
  bsfw predict model.npz new.csv                      # a label a line
  bsfw predict model.npz test.csv --label edible --proba --out p.csv
With labels in the data, the share of right answers (for a regression the mean
squared error) is told on stderr.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "predict",
        help="labels, probabilities or scores of new data by a fitted model",
        description="Apply a model of 'bsfw solve --out' to new data.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="an .npz file that 'bsfw solve --out' wrote")
    parser.add_argument("data", metavar="DATA", help="a table, a LIBSVM file, or the name of a known data set")
    parser.add_argument("--label", metavar="NAME", help="the column of a table that holds the labels, if it has one")
    parser.add_argument(
        "--zero-based",
        action="store_true",
        help="indices of a LIBSVM file begin with 0 (told by itself)",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--proba", action="store_true", help="probabilities, a column for each class")
    kinds.add_argument("--scores", action="store_true", help="margins A x + b")
    parser.add_argument("--out", type=Path, metavar="CSV", help="write there instead of to stdout")
    parser.add_argument("--force", action="store_true", help="replace the file of --out if there is one")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import numpy as np

    from bsfw._files import atomic_write
    from bsfw.models import load_model

    check_output(args.out, "--out", (".csv",), force=args.force)
    check_distinct({"MODEL": args.model, "DATA": Path(args.data), "--out": args.out})
    model = load_model(args.model)
    # Rows to predict may lack the index 0 by chance, so that the file of the model has a say.
    zero_based = args.zero_based or bool(model.settings.get("zero_based"))
    data = _data.read(args.data, args.label, zero_based, n_features=len(model.coef))
    A = _in_order(data, model.feature_names)
    if args.proba:
        found, names = (
            model.predict_proba(A),
            [str(label) for label in ([0, 1] if model.classes is None else model.classes)],
        )
    else:
        found, names = (model.decision_function(A), ["score"]) if args.scores else (model.predict(A), ["prediction"])
        found = found if found.ndim == 2 else found[:, None]
        names = names if found.shape[1] == 1 else [str(label) for label in model.classes or ()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(found.tolist())
    if args.out is None:
        sys.stdout.write(text.getvalue())
    else:
        with atomic_write(args.out, "w") as file:
            file.write(text.getvalue())
    if data.y is not None:
        _print_agreement(model, A, np.asarray(data.y))
    return 0


def _in_order(data: _data.Data, names: tuple[str, ...]) -> Any:
    """The columns of the model, by name where both have names."""
    if not names or not data.names or names == data.names:
        return data.A
    if missing := [name for name in names if name not in data.names]:
        shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise ValueError(f"the data lack the columns {shown}, which the model has.")
    return data.A[:, [data.names.index(name) for name in names]]


def _print_agreement(model: Any, A: Any, y: Any) -> None:
    import numpy as np

    predicted = model.predict(A)
    if model.classes is None:
        if y.dtype.kind in "biuf":
            print(f"mean squared error {np.mean((predicted - y) ** 2):.6g}", file=sys.stderr)
    elif set(np.unique(y).tolist()) <= set(model.classes.tolist()):
        print(f"right in {np.mean(predicted == y):.2%} of {len(y):,} rows", file=sys.stderr)
