"""``python -m benchmarks.completion``: matrix completion with a factored iterate, in numbers.

dense   ml-100k, tau 5,000, K = 5: an iteration and its losses against a dense NumPy transcription with SciPy's svds
ml-1m   200 boosted iterations: CPU seconds and memory of the process
large   synthetic ratings, 160,000 x 60,000 with 25 million observations and a tenth of that, in single precision
gap     CPU seconds to a certified gap: the corrective method against softImpute-ALS, told multiplier and rank
newton  the corrective method on synthetic ratings up to 25 million: seconds of an iteration, memory
rmse    test error at equal CPU seconds against least squares of our own, cmfrec, scikit-surprise and myfm

Run it with OMP_NUM_THREADS=1; the MovieLens parts need BSFW_DATA, or the sets in the cache. The package `implicit` is
no competitor here: its least squares fit preferences, 0 or 1 in every cell, not ratings.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bsfw
from bsfw._sampling import draw
from bsfw.datasets import Ratings
from bsfw.datasets.synthetic import ratings_like

from . import recommenders
from .completion_errors import at_equal_seconds, show_errors, show_outcome
from .processes import _resident, python
from .recommenders import Clock, Point
from .reports import machine, write_json

RADIUS, ROUNDS, GAIN, BATCH = 5000.0, 5, 1e-4, 0.1
FIRST = 5
"""Iterations in which two runs with the same batches are compared: later they part, for rounding grows."""
LIMITS = {
    "transcription / bsfw": (">=", 15.0),
    "difference of the mean losses, %": ("<=", 1.0),
    "largest difference in the first five, %": ("<=", 0.01),
    "CPU seconds": ("<=", 90.0),
    "GB of the process at the peak": ("<=", 0.6),
}
"""What the project asks for, by the names of the rows."""


# --- a dense transcription -------------------------------------------------------------------------------------------


def dense_run(
    objective: bsfw.MatrixCompletion, iterations: int, seed: int, radius: float = RADIUS
) -> tuple[list[float], float]:
    """Losses, and seconds without them, of boosted Heavy Ball on arrays of the size of the matrix.

    The batches are those of `our_run` with the same seed.
    """
    from scipy.sparse.linalg import svds

    rows, cols, y, m = objective.rows, objective.cols, objective.y, objective.n_samples
    rng, starts = np.random.default_rng(seed), np.random.default_rng(seed + 1)

    def gradient(x: np.ndarray, batch: Any) -> np.ndarray:
        d = x[rows[batch], cols[batch]] - y[batch]
        out = np.zeros(objective.shape)
        out[rows[batch], cols[batch]] = 4.0 * d / np.square(2.0 + d * d) / len(d)
        return out

    def lmo(g: np.ndarray) -> np.ndarray:
        u, _, vt = svds(g, k=1, tol=1e-4, v0=starts.standard_normal(min(g.shape)))
        return -radius * np.outer(u[:, 0], vt[0])

    def loss(x: np.ndarray) -> float:
        d = x[rows, cols] - y
        return float(np.mean(d * d / (2.0 + d * d)))

    x = lmo(gradient(np.zeros(objective.shape), slice(None)))
    estimate, losses, seconds = np.zeros(objective.shape), [loss(x)], 0.0
    for t in range(iterations):
        started = time.perf_counter()
        rate, eta = (t + 1) ** -0.5, min(1.0, (t + 2) ** -0.75)
        estimate = (1.0 - rate) * estimate + rate * gradient(x, draw(rng, m, round(BATCH * m)))
        psi, total, alignment = np.zeros_like(x), 0.0, -1.0
        for k in range(ROUNDS):
            r = -estimate - psi
            v = lmo(-r)
            if k == 0:
                s = v
            u, length = v - x, np.linalg.norm(psi)
            if length > 0 and np.vdot(r, -psi) / length > np.vdot(r, u):
                break  # the away candidate only rescales psi: the alignment would not improve
            lam = np.vdot(r, u) / np.vdot(u, u)
            phi = psi + lam * u
            found = np.vdot(-estimate, phi) / (np.linalg.norm(estimate) * np.linalg.norm(phi))
            if found - alignment < GAIN:
                break
            psi, total, alignment = phi, total + lam, found
        direction = psi / total
        gamma = eta * np.linalg.norm(s - x) / np.linalg.norm(direction)
        x = x + gamma * direction if gamma < 1 else x + eta * (s - x)
        seconds += time.perf_counter() - started
        losses.append(loss(x))
    return losses, seconds


def our_run(
    objective: bsfw.MatrixCompletion,
    iterations: int,
    seed: int,
    radius: float = RADIUS,
    *,
    rounds: int = ROUNDS,
    tolerance: float | None = None,
    record_every: int = 1,
) -> bsfw.Result:
    return bsfw.minimize(
        objective, bsfw.NuclearBall(radius, tolerance), estimator=bsfw.HeavyBall(batch_size=BATCH), max_rounds=rounds,
        min_gain=GAIN, max_iter=iterations, record_every=record_every, rng=seed,
    )  # fmt: skip


def against_dense(
    objective: bsfw.MatrixCompletion, iterations: int, seeds: int, radius: float = RADIUS
) -> dict[str, float]:
    """Times of an iteration in turns, mean final losses over the seeds, and how far the first losses agree."""
    our_run(objective, 2, 0, radius)  # compiles
    dense, ours = [], []
    for seed in range(seeds):
        dense.append(dense_run(objective, iterations, seed, radius))
        ours.append(our_run(objective, iterations, seed, radius))
    tight = our_run(objective, FIRST, 0, radius, tolerance=1e-6).trace["value"]
    milliseconds = [
        1e3 / iterations * float(np.median(seconds))
        for seconds in ([seconds for _, seconds in dense], [result.seconds for result in ours])
    ]
    finals = np.array([[losses[-1] for losses, _ in dense], [result.fun for result in ours]])
    loss, our_loss = finals.mean(axis=1).tolist()
    first = np.array(dense[0][0][: FIRST + 1])
    found = {
        "transcription, ms an iteration": milliseconds[0],
        "bsfw, ms an iteration": milliseconds[1],
        "transcription / bsfw": milliseconds[0] / milliseconds[1],
        "transcription, mean final loss": loss,
        "bsfw, mean final loss": our_loss,
        "difference of the mean losses, %": 100.0 * abs(our_loss / loss - 1.0),
        "largest difference in the first five, %": 100.0 * float(np.max(np.abs(tight / first - 1.0))),
    }
    if seeds > 1:  # trajectories are chaotic: what the difference is worth
        errors = finals.std(axis=1, ddof=1) / seeds**0.5
        found["standard error of the difference, %"] = 100.0 * float(np.linalg.norm(errors)) / loss
    return found


# --- large problems, each in a process of its own --------------------------------------------------------------------


def long_run(name: str, iterations: int, radius: float) -> dict[str, float]:
    """Boosted iterations on a data set: CPU seconds of `minimize`, losses included, and the memory of the process."""
    objective = bsfw.MatrixCompletion(bsfw.datasets.load(name))
    our_run(objective, 1, 1, radius)  # compiles
    _resident("VmRSS", reset=True)  # the peak of reading the file is not that of the run
    started = time.process_time()
    result = our_run(objective, iterations, 0, radius, record_every=max(1, iterations // 10))
    return {
        "iterations": iterations,
        "CPU seconds": time.process_time() - started,
        "GB of the process at the peak": _resident("VmHWM") / 1e9,
        "loss": result.fun,
        "terms of x": result.x.rank,
    }


def large_run(rows: int, columns: int, count: int, iterations: int) -> dict[str, float]:
    """Synthetic ratings in single precision: seconds of an iteration, and the memory of data and run together."""
    our_run(bsfw.MatrixCompletion(ratings_like((30, 20), 100), dtype=np.float32), 1, 1)  # compiles
    before = _resident("VmRSS")
    objective = bsfw.MatrixCompletion(ratings_like((rows, columns), count), dtype=np.float32)
    _resident("VmRSS", reset=True)  # the peak of making the data is not that of the run
    radius = 3.5 * (rows * columns) ** 0.5  # about that of the matrix of mean ratings
    found: dict[str, float] = {"observations": count}
    for rounds in (1, ROUNDS):
        result = our_run(objective, iterations, 0, radius, rounds=rounds, record_every=iterations)
        found[f"seconds an iteration, K = {rounds}"] = result.seconds / iterations
    peak = _resident("VmHWM")
    return found | {"GB of the process, data included": peak / 1e9, "bytes an observation": (peak - before) / count}


def newton_run(rows: int, columns: int, count: int, rank: int, iterations: int) -> dict[str, float]:
    """Synthetic ratings: CPU seconds of a corrective iteration of that rank, and memory of data and run together."""
    model: dict[str, Any] = {"biases": True, "weights": 0.5, "rank": rank, "dtype": np.float32}
    tiny = bsfw.MatrixCompletion(ratings_like((60, 40), 300), "squared", **model)
    bsfw.minimize(tiny, method="corrective", max_iter=2, rng=0)  # compiles
    before = _resident("VmRSS")
    objective = bsfw.MatrixCompletion(ratings_like((rows, columns), count), "squared", **model)
    _resident("VmRSS", reset=True)  # the peak of making the data is not that of the run
    started = time.process_time()
    result = bsfw.minimize(objective, method="corrective", max_iter=iterations, record_every=iterations, rng=0)
    seconds, peak = time.process_time() - started, _resident("VmHWM")
    return {
        "observations": count,
        "rank": result.x.rank,
        "CPU seconds an iteration, at most two Newton steps and the gap": seconds / iterations,
        "gap / f": result.gap / result.fun,
        "GB of the process, data included": peak / 1e9,
        "bytes an observation": (peak - before) / count,
    }


# --- certified gaps --------------------------------------------------------------------------------------------------


def our_gaps(
    objective: bsfw.MatrixCompletion, radius: float, accuracy: float, seed: int
) -> tuple[list[Point], bsfw.Result]:
    """CPU seconds and gap / f after each iteration of the corrective method, and the run."""
    clock = Clock()
    points: list[Point] = []

    def record(result: bsfw.Result) -> None:
        clock.stop()
        points.append((clock.seconds, result.gap / result.fun))
        clock.start()
        if points[-1][1] <= accuracy:
            raise StopIteration

    clock.start()
    result = bsfw.minimize(
        objective, bsfw.NuclearBall(radius), method="corrective", record_every=1, callback=record, rng=seed
    )  # fmt: skip
    return points, result


def their_gaps(
    objective: bsfw.MatrixCompletion, radius: float, penalty: float, rank: int, accuracy: float, limit: float
) -> Iterator[Point]:
    """The same of softImpute-ALS, told the multiplier and the rank of the solution; its gaps are off the clock."""
    solver = bsfw.Solver(objective, bsfw.NuclearBall(radius), method="corrective")
    due = 0.0
    for seconds, x in recommenders.soft_impute(objective, penalty, rank):
        if seconds < due:
            continue
        due = 1.03 * seconds
        inside = bsfw.LowRank(x.left, x.weights * min(1.0, radius / x.weights.sum()), x.right)
        state = solver.init(inside, rng=0)
        point = seconds, solver.exact_gap(state) / objective.value(inside)
        yield point
        if point[1] <= accuracy or seconds > limit:
            return


def reached(points: Iterable[Point], accuracies: Sequence[float]) -> dict[str, float | None]:
    """CPU seconds to each accuracy, None where it was not reached."""
    known = list(points)
    return {f"{a:g}": next((seconds for seconds, gap in known if gap <= a), None) for a in accuracies}


def certified(
    ratings: Ratings, radius: float, accuracies: Sequence[float], repeats: int, limit: float
) -> dict[str, Any]:
    """Least CPU seconds of interleaved runs to each certified gap / f: ours, and softImpute-ALS."""
    train, _ = ratings.split()
    objective = bsfw.MatrixCompletion(train, "squared", intercepts=True)
    bsfw.minimize(objective, bsfw.NuclearBall(radius), method="corrective", max_iter=2, rng=0)  # compiles
    runs: dict[str, list[dict[str, float | None]]] = {"bsfw, corrective": [], "softImpute-ALS": []}
    for seed in range(repeats):
        ours, result = our_gaps(objective, radius, accuracies[-1], seed)
        runs["bsfw, corrective"].append(reached(ours, accuracies))
        theirs = their_gaps(objective, radius, result.multiplier, result.x.rank + 4, accuracies[-1], limit)
        runs["softImpute-ALS"].append(reached(theirs, accuracies))
    table = {
        method: {a: min((run[a] for run in found if run[a] is not None), default=None) for a in found[0]}
        for method, found in runs.items()
    }
    return {"f": result.fun, "rank": result.x.rank, "multiplier": result.multiplier, "seconds": table}


# --- what is printed -------------------------------------------------------------------------------------------------


def show(title: str, found: dict[str, float]) -> None:
    print(title)
    for name, value in found.items():
        wanted = ""
        if name in LIMITS:
            relation, limit = LIMITS[name]
            met = value >= limit if relation == ">=" else value <= limit
            wanted = f"{relation} {limit:g}  {'ok' if met else 'MISSED'}"
        print(f"  {name:<44}{f'{value:,}' if isinstance(value, int) else f'{value:,.4g}':>12}  {wanted}", flush=True)


def show_gaps(title: str, found: dict[str, Any]) -> None:
    print(f"{title}: f {found['f']:.7f}, rank {found['rank']}, multiplier {found['multiplier']:.4g}")
    for method, row in found["seconds"].items():
        cells = (f"{a}: {'-' if s is None else f'{s:.2f} s'}" for a, s in row.items())
        print(f"  {method:<20}{'   '.join(cells)}", flush=True)


def dense(quick: bool) -> dict[str, float]:
    iterations, seeds = (20, 1) if quick else (100, 10)
    found = against_dense(bsfw.MatrixCompletion(bsfw.datasets.load("ml-100k")), iterations, seeds)
    show(f"ml-100k, tau {RADIUS:,.0f}, K = {ROUNDS}: {iterations} iterations, seeds: {seeds}", found)
    return found


def ml_1m(quick: bool) -> dict[str, float]:
    radius = 4.0 * RADIUS  # larger as the matrix is
    found: dict[str, float] = _elsewhere("long_run", "ml-1m", 40 if quick else 200, radius)
    show(f"ml-1m, tau {radius:,.0f}, K = {ROUNDS}", found)
    return found


def large(quick: bool) -> list[dict[str, float]]:
    table = []
    for part in (100, 10) if quick else (10, 1):
        rows, columns = 160_000 // part, 60_000 // part
        table.append(_elsewhere("large_run", rows, columns, 25_000_000 // part, 3))
        show(f"synthetic ratings, {rows:,} x {columns:,}, float32", table[-1])
    return table


def gap(quick: bool) -> dict[str, Any]:
    settings: dict[str, tuple[float, int, float]] = {"ml-100k": (600.0, 3, 20.0), "ml-1m": (4000.0, 1, 90.0)}
    accuracies = (1e-1, 1e-2) if quick else (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    tables = {}
    for name in ("ml-100k",) if quick else settings:
        radius, repeats, limit = settings[name]
        tables[name] = certified(bsfw.datasets.load(name), radius, accuracies, repeats, limit)
        show_gaps(f"{name}, tau {radius:,.0f}, CPU seconds to a certified gap / f", tables[name])
    return tables


def newton(quick: bool) -> list[dict[str, float]]:
    table = []
    for part in (100, 30) if quick else (100, 10, 1):
        rows, columns = 160_000 // part, 60_000 // part
        table.append(_elsewhere("newton_run", rows, columns, 25_000_000 // part, 32, 4))
        show(f"corrective method, synthetic ratings, {rows:,} x {columns:,}", table[-1])
    return table


def rmse(quick: bool) -> dict[str, list[dict[str, Any]]]:
    settings = {"ml-100k": ((0.1, 0.25, 1.0, 5.0), 1.0), "ml-1m": ((2.0, 10.0, 30.0), 10.0)}
    tables = {}
    for name in ("ml-100k",) if quick else settings:
        budgets, tuned = settings[name]
        tables[name] = at_equal_seconds(bsfw.datasets.load(name), budgets, 0.25 if quick else tuned, quick)
        show_errors(f"{name}: test RMSE within so many CPU seconds, tuned for each", tables[name])
        show_outcome(tables[name])
    return tables


PARTS = {"dense": dense, "ml-1m": ml_1m, "large": large, "gap": gap, "newton": newton, "rmse": rmse}


def _elsewhere(function: str, *arguments: Any) -> Any:
    """What a function of this module returns in a process of its own, so that its memory is known."""
    code = f"import json; from benchmarks.completion import {function} as f; print(json.dumps(f(*{arguments!r})))"
    return python("-c", code)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.completion",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer iterations and seeds, smaller sets")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all numbers there")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    found = {name: part(options.quick) for name, part in PARTS.items() if name in (options.parts or PARTS)}
    if options.json:
        write_json(options.json, {"machine": machine(), **found})
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
