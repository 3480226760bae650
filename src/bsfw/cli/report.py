"""``bsfw report``: draw what ``bsfw reproduce`` recorded, and say which claims it supports."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bsfw.experiments.model import View

_COLOURS = {"supported": "green", "partly supported": "yellow", "not supported": "red"}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "report",
        help="draw the results of 'reproduce': figures (PNG and PDF), one page, and the verdicts",
        description="Draw the results of 'bsfw reproduce': the figures as PNG and PDF in DIR/figures, and one page, "
        "DIR/index.html, with interactive plots, parameters, the paper's claims and whether these runs support them. "
        "The page needs neither network nor server. Prints the verdicts.",
        epilog="example: bsfw report results. Exit code: 0, 1 if a file of DIR is damaged and was left out, 2 for bad "
        "input.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="the results folder (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from bsfw.experiments.report import write_report

    report = write_report(args.folder, verbose=sys.stderr.isatty())
    _print_verdicts(report.views)
    print(f"{len(report.figures)} files with figures are in {args.folder / 'figures'}.")
    print(f"The page is {report.page}; open it in a browser.")
    for path, reason in report.damaged.items():
        # A name may hold what a terminal would obey.
        print(re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", f"bsfw: left out: {path}: {reason}"), file=sys.stderr)
    return 1 if report.damaged else 0


def _print_verdicts(views: list[View]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bsfw.experiments.page import SIGNS

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("experiment", no_wrap=True)
    table.add_column("verdict and finding")
    for view in views:
        name = view.experiment.name
        for verdict in view.verdicts:
            outcome = f"{SIGNS.get(verdict.outcome, '?')} {verdict.outcome}"
            # Text, not markup: brackets in a finding mean nothing.
            found = Text.assemble((outcome, _COLOURS.get(verdict.outcome, "")), f": {verdict.finding}")
            table.add_row(Text(name), found)
            name = ""
        if not view.verdicts:
            table.add_row(Text(name), "no claim")
    Console().print(table)
