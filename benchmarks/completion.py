"""``python -m benchmarks.completion``: matrix completion with a factored iterate, in numbers.

dense   ml-100k, tau 5,000, K = 5: an iteration and its losses against a dense NumPy transcription with SciPy's svds
ml-1m   200 boosted iterations: CPU seconds and memory of the process
large   synthetic ratings, 160,000 x 60,000 with 25 million observations and a tenth of that, in single precision
rmse    centred ratings: test error at equal seconds against alternating least squares and an SVD

Run it with OMP_NUM_THREADS=1; the MovieLens parts need BSFW_DATA, or the sets in the cache. The package `implicit` is
no competitor here: its least squares fit preferences, 0 or 1 in every cell, not ratings, so that of `rmse` is our own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, product, takewhile
from pathlib import Path
from typing import Any

import numpy as np

import bsfw
from bsfw._sampling import draw
from bsfw.datasets.synthetic import ratings_like
from bsfw.factored.path import completion_path

from .processes import _resident, python
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

Point = tuple[float, float]
"""Seconds, and the test RMSE then."""


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


# --- test error at equal seconds -------------------------------------------------------------------------------------


@cache
def _least_squares() -> Any:
    import numba

    @numba.njit(cache=True)
    def solve(indptr, cols, values, fixed, weight, out):
        """out[i] = argmin over u of sum_p (<u, fixed[cols[p]]> - values[p])^2 + weight sqrt(n_i) ||u||^2."""
        for i in range(indptr.size - 1):
            first, last = indptr[i], indptr[i + 1]
            seen = fixed[cols[first:last]]
            gram = seen.T @ seen
            for k in range(fixed.shape[1]):
                gram[k, k] += weight * max(last - first, 1) ** 0.5
            out[i] = np.linalg.solve(gram, seen.T @ values[first:last])

    return solve


def least_squares(objective: bsfw.MatrixCompletion, rank: int, weight: float, seed: int = 0) -> Iterator[Point]:
    """Alternating least squares on the centred ratings: a point after each sweep over users and items.

    The penalty of a user or item grows with the root of its number of ratings: on both MovieLens sets this was better
    than the number itself, and than no growth.
    """
    from scipy.sparse import csr_array

    solve, rng = _least_squares(), np.random.default_rng(seed)
    by_row = csr_array((objective.y, objective.cols, objective.indptr), shape=objective.shape)
    by_col = by_row.T.tocsr()
    users, items = (0.1 * rng.standard_normal((size, rank)) for size in objective.shape)
    sides = [
        (data.indptr.astype(np.int64), data.indices, data.data, fixed, weight, out)
        for data, fixed, out in ((by_row, items, users), (by_col, users, items))
    ]
    solve(sides[0][0][:1], *sides[0][1:])  # compiles
    seconds = 0.0
    while True:
        started = time.perf_counter()
        for side in sides:
            solve(*side)
        seconds += time.perf_counter() - started
        yield seconds, objective.metrics(bsfw.LowRank(users, np.ones(rank), items))["test_rmse"]


def truncated_svd(objective: bsfw.MatrixCompletion, rank: int) -> Point:
    """The SVD of the centred ratings, with zeros where there is none."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    started = time.perf_counter()
    u, s, vt = svds(csr_array((objective.y, objective.cols, objective.indptr), shape=objective.shape), k=rank, rng=0)
    seconds = time.perf_counter() - started
    return seconds, objective.metrics(bsfw.LowRank(u, s, vt.T))["test_rmse"]


def at_equal_seconds(
    ratings: bsfw.datasets.Ratings, radii: Sequence[float], budgets: Sequence[float], sweeps: int = 10
) -> list[dict[str, Any]]:
    """Test RMSE of each method within each budget, its settings chosen on a tenth of the training ratings."""
    train, test = ratings.split()
    fit, held_out = train.split(0.1, rng=1)
    tuning = bsfw.MatrixCompletion(fit, "squared", intercepts=True, test=held_out)
    options = {"step": "line-search", "max_rounds": ROUNDS, "rng": 0}
    radius = completion_path(tuning, radii, max_iter=2 * sweeps, record_every=2 * sweeps, **options).best_radius
    rank, weight = min(
        product((10, 20, 40), (0.7, 1.0, 1.4, 2.0)),
        key=lambda pair: list(islice(least_squares(tuning, *pair), sweeps))[-1][1],
    )
    kept = min((2, 5, 10, 20), key=lambda k: truncated_svd(tuning, k)[1])

    objective = bsfw.MatrixCompletion(train, "squared", intercepts=True, test=test)
    result = bsfw.minimize(
        objective, bsfw.NuclearBall(radius), max_iter=10_000, max_seconds=budgets[-1], record_every=1, **options
    )
    ours = list(zip(result.trace["seconds"].tolist(), result.trace["test_rmse"].tolist(), strict=True))
    sweeping = takewhile(lambda point: point[0] <= budgets[-1], least_squares(objective, rank, weight))
    means = [(0.0, objective.metrics(bsfw.LowRank.zeros(objective.shape))["test_rmse"])]
    return [
        _row("means of users and items", "", means, budgets),
        _row("SVD, zeros elsewhere", f"rank {kept}", [truncated_svd(objective, kept)], budgets),
        _row("alternating least squares", f"rank {rank}, {weight:g} sqrt(n)", sweeping, budgets),
        _row("bsfw, line search", f"tau {radius:,.0f}, K = {ROUNDS}", ours, budgets),
    ]


def _row(method: str, settings: str, points: Iterable[Point], budgets: Sequence[float]) -> dict[str, Any]:
    """The last error within each budget, None before the first."""
    known = list(points)
    within = [[rmse for seconds, rmse in known if seconds <= budget] for budget in budgets]
    rmse = {f"{budget:g} s": found[-1] if found else None for budget, found in zip(budgets, within, strict=True)}
    return {"method": method, "settings": settings, "rmse": rmse}


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


def show_errors(title: str, table: Sequence[dict[str, Any]]) -> None:
    budgets = list(table[0]["rmse"])
    print(f"{title}\n  {'method':<28}{'settings':<24}{''.join(f'{budget:>10}' for budget in budgets)}")
    for row in table:
        numbers = (f"{rmse:>10.4f}" if rmse is not None else f"{'-':>10}" for rmse in row["rmse"].values())
        print(f"  {row['method']:<28}{row['settings']:<24}{''.join(numbers)}", flush=True)
    *others, ours = ([np.inf if rmse is None else rmse for rmse in row["rmse"].values()] for row in table)
    outcomes = ("won" if rmse < min(best) else "lost" for rmse, *best in zip(ours, *others, strict=True))
    print(f"  {'bsfw against the best other':<52}{''.join(f'{outcome:>10}' for outcome in outcomes)}", flush=True)


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


def rmse(quick: bool) -> dict[str, list[dict[str, Any]]]:
    settings = {"ml-100k": ((300, 450, 600, 800), (0.25, 1.0)), "ml-1m": ((2000, 3000, 4000), (2.0, 10.0))}
    tables = {}
    for name in ("ml-100k",) if quick else settings:
        tables[name] = at_equal_seconds(bsfw.datasets.load(name), *settings[name])
        show_errors(f"{name}, centred ratings: test RMSE within so many seconds", tables[name])
    return tables


PARTS = {"dense": dense, "ml-1m": ml_1m, "large": large, "rmse": rmse}


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
