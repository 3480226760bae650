"""``bsfw blocks write``: data of any size into a folder of blocks, from which ``bsfw solve`` fits out of core."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bsfw.cli import _arguments as arguments

_EPILOG = """\
examples:
  bsfw blocks write big.svm.xz train/ --rows 500000
  bsfw blocks write 'shards/part-*.svm' train/ --n-features 1000000
  bsfw blocks write clicks.parquet train/ --label click
  bsfw solve train/ --loss logistic --constraint l1 --radius 100

Interrupted, the same command goes on. Memory is needed for one block at a
time; a few hundred megabytes a block are good.
"""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "blocks",
        help="write data of any size as blocks, from which 'bsfw solve' fits out of core",
        description="Write data of any size as blocks of rows into a folder, for 'bsfw solve FOLDER'.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="write", required=True)
    write = commands.add_parser(
        "write",
        help="from LIBSVM files or Parquet tables",
        description="From LIBSVM files (plain, .xz, .bz2 or .gz) or Parquet tables, also as addresses of fsspec.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = write.add_argument
    add("data", metavar="DATA", nargs="+", help="files, patterns or addresses, in the order of their rows")
    add("folder", metavar="FOLDER", type=Path, help="a new one, or one that an interrupted command has left")
    add("--rows", type=arguments.count, default=500_000, metavar="N", help="of a block (default: %(default)s)")
    add("--label", metavar="NAME", help="the column of a table that is the label")
    add("--weight", metavar="NAME", help="the column of a table that is the weight")
    add("--n-features", type=arguments.count, metavar="N", help="columns of LIBSVM text (default: the largest index)")
    add("--zero-based", action="store_true", help="indices of LIBSVM text begin with 0")
    write.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from bsfw.blocks import write

    blocks = write(
        args.folder, args.data, rows=args.rows, label=args.label, weight=args.weight, n_features=args.n_features,
        zero_based=args.zero_based,
    )  # fmt: skip
    rows, columns = blocks.shape
    entries = sum(one.entries for one in blocks.descriptions)
    print(
        f"{args.folder} holds {rows:,} rows and {columns:,} features with {entries:,} entries in {len(blocks)} blocks."
    )
    return 0
