"""``bsfw datasets``: the known data sets, and the facts of one."""

from __future__ import annotations

import argparse
from typing import Any

_LICENCE_WIDTH = 12
"""Longer licences become notes below the table, which then fits 80 columns."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "datasets",
        help="list the known data sets, or load one and show its facts",
        description="List the known data sets and where each is now, or load one (downloading it if need be) and show "
        "its facts. Files are looked for in the package, in the folder that BSFW_DATA names, and in the user's cache.",
        allow_abbrev=False,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="the data set to load")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        _list()
    else:
        _show(args.name)
    return 0


def _list() -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from bsfw.datasets import available

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("name", no_wrap=True)
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("entries", justify="right", no_wrap=True)
    table.add_column("where", no_wrap=True)
    table.add_column("licence", no_wrap=True)
    notes: dict[str, str] = {}
    for known in available():
        licence = known.licence
        if len(licence) > _LICENCE_WIDTH:
            licence = notes.setdefault(licence, f"({len(notes) + 1})")
        place = "to download" if known.place == "download" else known.place
        table.add_row(known.name, " x ".join(f"{n:,}" for n in known.shape), f"{known.size:,}", place, licence)
    console = Console()
    console.print(table)
    for licence, mark in notes.items():
        console.print(f"{mark} {licence}", markup=False, highlight=False)
    print("\n'bsfw datasets NAME' loads one and shows its facts.")


def _show(name: str) -> None:
    from bsfw.datasets import Ratings, load

    data = load(name)
    facts = {"name": data.name, **(_rating_facts(data) if isinstance(data, Ratings) else _matrix_facts(data))}
    facts |= {"origin": data.origin, "licence": data.licence, "citation": data.citation}
    if data.stand_in:
        facts["note"] = data.stand_in
    for label, fact in facts.items():
        print(f"{label:<10}{fact}")


def _matrix_facts(data: Any) -> dict[str, str]:
    import numpy as np

    samples, features = data.A.shape
    stored = data.A.nnz if hasattr(data.A, "nnz") else data.A.size
    labels = [f"{label:g} ({count:,})" for label, count in zip(*np.unique(data.y, return_counts=True), strict=True)]
    return {
        "samples": f"{samples:,}",
        "features": f"{features:,}",
        "entries": f"{stored:,} ({100 * stored / (samples * features):.3g} %)",
        "labels": ", ".join(labels),
    }


def _rating_facts(data: Any) -> dict[str, str]:
    users, items = data.shape
    test = data.published_test
    facts = {
        "users": f"{users:,}",
        "items": f"{items:,}",
        "ratings": f"{data.values.size:,} ({100 * data.values.size / (users * items):.3g} %)",
        "values": f"{data.values.min():g} to {data.values.max():g}",
    }
    if test is not None:
        facts["test part"] = f"{int(test.sum()):,} ratings, the publisher's own split"
    return facts
