"""``python -m benchmarks.traffic``: traffic assignment on published networks, to relative gaps of 1e-4 and 1e-6.

The networks are those of "Transportation Networks for Research" in the folder ``networks`` under BSFW_DATA; none is
downloaded. The relative gap is that of the field: what all users pay above the cheapest paths, over what they pay.

Times are CPU seconds of one thread, the median of several turns, from the reading of the network's arrays to the gap:
for ours with the making of objective and set, for AequilibraE without the making of its graph and matrix. Compilation
and imports are on nobody's clock; AequilibraE is told to show no progress. What it returns is judged by our oracle.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bsfw
from bsfw.datasets import Network, read_tntp

from .reports import machine, write_json

GAPS = (1e-4, 1e-6)
MOST_ITERATIONS = {"corrective": 200, "biconjugate": 3000, "conjugate": 3000, "aequilibrae bfw": 3000}
ROUNDS = (1, 2, 10)


@dataclass(frozen=True)
class Case:
    """A network with its trips multiplied by `trips`, and the seconds that "corrective" may take to a gap."""

    name: str
    trips: float
    weights: dict[str, float]
    bounds: dict[float, float]


CASES = (
    Case("SiouxFalls", 1.0, {}, {1e-6: 2.0}),
    Case("Anaheim", 1.0, {}, {1e-6: 10.0}),
    Case("ChicagoSketch", 2.0, {"toll": 0.02, "distance": 0.04}, {1e-4: 60.0}),
)


def relative_gap(costs: bsfw.LinkCosts, polytope: bsfw.PathPolytope, x: np.ndarray) -> float:
    """What users pay above the cheapest paths, over what they pay."""
    t = costs.gradient(x)
    return float(1.0 - polytope.lmo(t).inner(t) / (t @ x))


def ours(network: Network, case: Case, method: str, gap: float) -> tuple[float, np.ndarray, int]:
    """CPU seconds, flows and iterations of a run of ours until the gap."""
    started = time.process_time()
    costs, polytope = network.costs(**case.weights), network.polytope(case.trips)

    def reached(result: bsfw.Result) -> None:
        if result.gap <= gap * costs.total(result.x):
            raise StopIteration

    result = bsfw.minimize(
        costs, polytope, method=method, gap_tol=0.0, record_every=1, max_iter=MOST_ITERATIONS[method], callback=reached
    )
    return time.process_time() - started, result.x, result.nit


def aequilibrae(network: Network, case: Case, gap: float) -> tuple[float, np.ndarray, int]:
    """The same of AequilibraE's bi-conjugate Frank-Wolfe on one core."""
    warnings.simplefilter("ignore")
    import pandas as pd
    from aequilibrae.matrix import AequilibraeMatrix
    from aequilibrae.paths import Graph, TrafficAssignment, TrafficClass

    links, zones = len(network.edges), np.arange(1, network.zones + 1)
    graph = Graph()
    graph.network = pd.DataFrame(
        {
            "link_id": np.arange(1, links + 1), "a_node": network.edges[:, 0] + 1, "b_node": network.edges[:, 1] + 1,
            "direction": 1, "capacity": network.capacity, "free_flow_time": np.maximum(network.free_flow, 1e-9),
            "b": network.b, "power": network.power, "fixed": network.costs(**case.weights).fixed,
        }
    )  # fmt: skip
    graph.prepare_graph(zones)
    graph.set_graph("free_flow_time")
    graph.set_blocked_centroid_flows(len(network.centroids) > 0)
    graph.set_skimming([])
    matrix = AequilibraeMatrix()
    matrix.create_empty(zones=network.zones, matrix_names=["car"], memory_only=True)
    matrix.index[:] = zones
    trips = np.zeros((network.zones, network.zones))
    trips[network.demands[:, 0].astype(int), network.demands[:, 1].astype(int)] = case.trips * network.demands[:, 2]
    matrix.matrices[:, :, 0] = trips
    matrix.computational_view(["car"])
    users = TrafficClass("car", graph, matrix)
    if case.weights:
        users.set_fixed_cost("fixed", 1.0)
    run = TrafficAssignment()
    run.set_classes([users])
    run.set_vdf("BPR")
    run.set_vdf_parameters({"alpha": "b", "beta": "power"})
    run.set_capacity_field("capacity")
    run.set_time_field("free_flow_time")
    run.max_iter, run.rgap_target = MOST_ITERATIONS["aequilibrae bfw"], gap
    run.set_algorithm("bfw")
    run.set_cores(1)
    started = time.process_time()
    run.execute()
    seconds = time.process_time() - started
    return seconds, run.results()["PCE_tot"].to_numpy(), len(run.report())


Solve = Callable[[Network, Case, float], tuple[float, np.ndarray, int]]
SOLVERS: dict[str, Solve] = {
    "corrective": lambda network, case, gap: ours(network, case, "corrective", gap),
    "biconjugate": lambda network, case, gap: ours(network, case, "biconjugate", gap),
    "conjugate": lambda network, case, gap: ours(network, case, "conjugate", gap),
    "aequilibrae bfw": aequilibrae,
}


def race(network: Network, case: Case, names: Sequence[str], gap: float, repeats: int) -> list[dict[str, Any]]:
    """A row for each solver; they take turns."""
    costs, polytope = network.costs(**case.weights), network.polytope(case.trips)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    found: dict[str, tuple[np.ndarray, int]] = {}
    for _ in range(repeats):
        for name in names:
            took, x, iterations = SOLVERS[name](network, case, gap)
            seconds[name].append(took)
            found[name] = x, iterations
    rows = []
    for name in names:
        x, iterations = found[name]
        reached = relative_gap(costs, polytope, x)
        bound = case.bounds.get(gap) if name == "corrective" else None
        rows.append(
            {
                "network": case.name, "trips": case.trips, "solver": name, "gap": gap, "reached": reached,
                "seconds": statistics.median(seconds[name]), "iterations": iterations, "value": costs.value(x),
                "bound": bound,
            }
        )  # fmt: skip
    return rows


def shown(row: dict[str, Any]) -> str:
    # AequilibraE's gap is that of the iterate before, so that its last may be a little better or worse.
    missed = "" if row["reached"] <= 1.05 * row["gap"] else "  NOT REACHED"
    bound = "" if row["bound"] is None else f"  must be < {row['bound']:g} s: {'ok' if ok(row) else 'NOT'}"
    return (
        f"{row['network']:<14}{row['trips']:>5g} {row['gap']:>8.0e}  {row['solver']:<16}{row['seconds']:>9.3f} s"
        f"{row['iterations']:>7} iterations  gap {row['reached']:.1e}  f {row['value']:.8g}{bound}{missed}"
    )


def ok(row: dict[str, Any]) -> bool:
    return row["bound"] is None or (row["reached"] <= row["gap"] and row["seconds"] < row["bound"])


def published(network: Network, case: Case) -> str:
    """Ours at its natural end beside the best known flows."""
    costs, polytope = network.costs(**case.weights), network.polytope()
    result = bsfw.minimize(costs, polytope)
    best = costs.value(network.flow)
    return (
        f"{case.name:<14}f {result.fun:.12g}, published {best:.12g}: {result.fun / best - 1.0:+.1e}; our gap "
        f"{relative_gap(costs, polytope, result.x):.1e}, theirs {relative_gap(costs, polytope, network.flow):.1e}; "
        f"flows differ by {np.abs(result.x - network.flow).max():.2g} at most"
    )


def boosting(network: Network, iterations: int) -> list[str]:
    """Vanilla Frank-Wolfe beside boosting, by line search."""
    costs, polytope = network.costs(), network.polytope()
    best = bsfw.minimize(costs, polytope).fun
    lines = []
    for rounds in ROUNDS:
        started = time.process_time()
        result = bsfw.minimize(
            costs, polytope, method="boosted", max_rounds=rounds, step="line-search", max_iter=iterations, gap_tol=0.0
        )
        lines.append(
            f"K = {rounds:<3} (f - f*)/f* {result.fun / best - 1.0:.1e}, certified {result.gap / best:.1e}, "
            f"{result.lmo_calls} LMO calls, {time.process_time() - started:.2f} s"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.traffic", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", default=",".join(case.name for case in CASES), metavar="NAME,...")
    parser.add_argument("--solvers", default=",".join(SOLVERS), metavar="NAME,...")
    parser.add_argument("--gaps", default=",".join(f"{gap:g}" for gap in GAPS), metavar="GAP,...")
    parser.add_argument("--repeats", type=int, default=3, metavar="N")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers there")
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get("BSFW_DATA", ".")) / "networks"
    cases = [case for case in CASES if case.name in options.networks.split(",")]
    if missing := [case.name for case in cases if not (folder / f"{case.name}_net.tntp").exists()]:
        print(f"not under BSFW_DATA, and left out: {', '.join(missing)}")
        cases = [case for case in cases if case.name not in missing]
    names = [name for name in SOLVERS if name in options.solvers.split(",")]
    os.environ["AEQ_SHOW_PROGRESS"] = "FALSE"  # which is read at its import
    try:
        import aequilibrae as _  # noqa: F401
    except ImportError:
        print("aequilibrae is not installed: no rows of it")
        names = [name for name in names if name != "aequilibrae bfw"]
    rows: list[dict[str, Any]] = []
    for case in cases:
        network = read_tntp(folder / case.name)
        for name in names:  # imports and compilation
            SOLVERS[name](network, case, 0.5)
        for gap in map(float, options.gaps.split(",")):
            found = race(network, case, names, gap, options.repeats)
            print(*map(shown, found), sep="\n", flush=True)
            rows += found
        if network.flow is not None:
            print(published(network, case), flush=True)
        if case.name == "SiouxFalls":
            print("boosting on Sioux Falls, 300 iterations by line search:", *boosting(network, 300), sep="\n  ")
    if options.json:
        write_json(options.json, {"machine": machine(), "rows": rows})
    return int(not all(map(ok, rows)) or not math.isfinite(sum(row["seconds"] for row in rows)))


if __name__ == "__main__":
    sys.exit(main())
