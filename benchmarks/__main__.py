"""``python -m benchmarks``: one table of ratios against a literal transcription of the paper and against peers."""

from __future__ import annotations

import argparse
import math
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from . import corrective, data, timing
from .reports import machine, write_json
from .rows import Row, rows
from .solvers import Unavailable

FAMILIES = {
    "literal": "literal NumPy transcription / bsfw, per iteration",
    "boosting": "bsfw boosted / vanilla, per iteration",
    "boost-call": "one Boost: literal / bsfw",
    "copt": "copt minimize_sfw SAG / bsfw boosted SAG, per iteration",
    "accuracy": "copt / bsfw, time to (f - f*)/f* = 1e-4",
    "sets": "bsfw's reference engine / compiled, where vertices have several nonzeros",
    "scaling": "time per iteration at ten times the columns",
    "cold-start": "seconds in a second process",
    "memory": "bsfw's own arrays, in float64 vectors",
    "deterministic": "copt minimize_frank_wolfe / bsfw with the exact gradient",
    "corrective": "coordinate descent / bsfw's corrective method, time to high accuracy",
}
UNITS = {"us": 1e6, "ms": 1e3, "s": 1.0, "": 1.0}
WIDTHS = (13, 36, 27, 23, 9, 9, 8, 7)
HEADER = ("family", "setting", "ours", "peer", "ours", "peer", "ratio", "must be")


def judge(row: Row, samples: timing.Samples) -> dict[str, Any]:
    """The medians, the median ratio of the turns and the verdict. A run that was given up counts with the seconds it
    was given."""
    middle = timing.medians(samples)
    ours, peer = middle["ours"], middle.get("peer")
    gave_up = {name: math.isinf(value) for name, value in middle.items()}
    verdict, ratio = "-", ours
    if peer is not None:
        finite = {name: [min(value, row.cap or math.inf) for value in values] for name, values in samples.items()}
        over, under = ("ours", "peer") if row.bound.startswith("<=") else ("peer", "ours")
        ratio = timing.ratio(finite[over], finite[under])
    if row.bound:
        relation, bound = row.bound.split()
        reached = ratio >= float(bound) if relation == ">=" else ratio <= float(bound)
        verdict = "ok" if reached and not gave_up["ours"] else "NOT"
        if verdict == "NOT" and gave_up.get("peer") and not gave_up["ours"]:
            verdict = "open"  # the peer was given up too early to tell
    if gave_up["ours"]:
        ratio = math.nan
    return {
        "ours_value": ours,
        "peer_value": peer,
        "ratio": ratio,
        "at_least": gave_up.get("peer", False),
        "verdict": verdict,
        "samples": samples,
    }


def run(chosen: Iterable[Row]) -> list[dict[str, Any]]:
    """Measure the rows one after the other and print each as it is done. A row that fails does not stop the others."""
    print(_line(HEADER), flush=True)
    print("-" * (sum(WIDTHS) + 2 * len(WIDTHS) + 6))
    done = []
    for row in chosen:
        facts = {key: value for key, value in vars(row).items() if key != "measure"}
        started = time.perf_counter()
        try:
            found = judge(row, row.measure())
        except Unavailable as reason:
            found = {"verdict": f"{row.peer.split()[0]} {reason}"}
        except Exception as error:
            traceback.print_exc()
            found = {"verdict": f"error: {type(error).__name__}", "failed": True}
        done.append({**facts, **found, "took": time.perf_counter() - started})
        print(_line(_cells(row, found)), flush=True)
    return done


def _cells(row: Row, found: dict[str, Any]) -> tuple[str, ...]:
    def shown(value: float | None) -> str:
        if value is None:
            return ""
        if math.isinf(value):
            return f"> {row.cap:.3g} s"
        scaled = value * UNITS[row.unit]
        return f"{scaled:.0f} {row.unit}" if scaled >= 100 else f"{scaled:.3g} {row.unit}".strip()

    ratio = ""
    if math.isfinite(found.get("ratio", math.nan)):
        ratio = f"{'> ' if found['at_least'] else ''}{found['ratio']:.3g}"
    values = shown(found.get("ours_value")), shown(found.get("peer_value"))
    return (row.family, row.setting, row.ours, row.peer, *values, ratio, row.bound, found["verdict"])


def _line(cells: Sequence[str]) -> str:
    texts = [f"{cell:<{width}}" for cell, width in zip(cells[:4], WIDTHS[:4], strict=True)]
    numbers = [f"{cell:>{width}}" for cell, width in zip(cells[4:8], WIDTHS[4:], strict=True)]
    return "  ".join([*texts, *numbers, *cells[8:]])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="names for --only:\n" + "\n".join(f"  {name:<14} {what}" for name, what in FAMILIES.items()),
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer radii, in about two minutes")
    parser.add_argument("--only", metavar="NAME,...", help="only these families of rows")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers there")
    parser.add_argument("--repeats", metavar="N", type=int, help="timed runs of every competitor")
    options = parser.parse_args(arguments)
    only = options.only.split(",") if options.only else list(FAMILIES)
    if unknown := set(only) - set(FAMILIES):
        parser.error(f"unknown family {', '.join(sorted(unknown))}; known are {', '.join(FAMILIES)}")
    sizes = data.QUICK if options.quick else data.FULL
    if options.repeats is not None:
        if options.repeats < 1:
            parser.error(f"--repeats must be at least 1, got {options.repeats}")
        sizes = replace(sizes, repeats=options.repeats)
    started = time.perf_counter()
    host = machine()
    print(f"{host['cpu']}, {host['cores']} cores; " + ", ".join(f"{k} {v}" for k, v in host["packages"].items()))
    if (host["load"] or 0.0) > 0.25 * (host["cores"] or 1):
        print(f"The machine is busy (load {host['load']:.1f}): peers with threads look slower than they are.")
    table = run(row for row in chain(rows(sizes), corrective.rows(sizes)) if row.family in only)
    seconds = time.perf_counter() - started
    missed = sum(row["verdict"] == "NOT" for row in table)
    print(f"{len(table)} rows, {missed} not reached, {seconds:.0f} s")
    if options.json:
        write_json(options.json, {"machine": host, "seconds": seconds, "sizes": asdict(sizes), "rows": table})
    return int(any(row.get("failed") for row in table))


if __name__ == "__main__":
    sys.exit(main())
