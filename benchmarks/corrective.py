"""``python -m benchmarks.corrective``: the corrective method against coordinate descent, to high accuracy.

l1-constrained logistic regression, one table: milliseconds to a relative suboptimality (f - f*)/f*. Our time begins
with the CSR matrix: checks, conversions and the exact gaps are on the clock. The peers solve the penalised problem with
the same solution; they are given the matching lambda for nothing, liblinear takes CSR, skglm is given CSC for nothing
("skglm from CSR" converts on its clock), and each is fitted anew at every tolerance, two a decade, of which the fastest
that is accurate enough counts. f* and lambda are those of a point whose exact gap, by the benchmark's own arithmetic,
is below 1e-10 f. Competitors take turns; medians are compared.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import bsfw
from bsfw.corrective import corrective_engine
from bsfw.paths import radius_path
from bsfw.solver import Limits, Schedule, Solver

from . import data
from .data import Array, Problem, Sizes
from .solvers import Points, Unavailable, peer
from .solvers import _fit as fitted
from .timing import first_time

ACCURACIES = (1e-3, 1e-5, 1e-8)
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(2, 23))
BOUNDS = {"skglm": 1.3, "liblinear": 1.2}
LARGE = "rcv1-like tau=2000"
LARGE_BOUNDS = {"skglm": 1.0, "liblinear": 0.8}
PATH_BOUND, PATH_RADII, PATH_ACCURACY = 1.5, np.geomspace(20.0, 500.0, 20), 1e-5


@dataclass(frozen=True)
class Certified:
    """The optimum of a problem and the lambda of the penalised problem with the same solution."""

    value: float
    gap: float
    penalty: float


@lru_cache(maxsize=64)
def certified(problem: Problem) -> Certified:
    """By our own solver, but certified by the arithmetic of `Problem`: any solver's word would do."""
    x = radius_path(bsfw.Logistic(problem.A, problem.y), bsfw.L1Ball, [problem.tau], gap_tol=1e-13, max_iter=60).x[0]
    gap, value = problem.gap(x), problem.value(x)
    if gap > 1e-10 * value:
        raise RuntimeError(f"f* of {problem.name} is certified to {gap / value:.1e} only")
    slopes = -problem.y / (1.0 + np.exp(problem.y * (problem.A @ x)))
    return Certified(value, gap, float(np.abs(problem.A.T @ slopes).max()) / len(problem.y))


def ours(problem: Problem, accuracy: float) -> Points:
    """One run: every iteration is a point. Setup is on the clock, values of f for the points are not."""
    known, points = certified(problem), Points()
    started = time.perf_counter()
    objective = bsfw.Logistic(problem.A, problem.y)
    solver = Solver(objective, bsfw.L1Ball(problem.tau))
    state = solver.init(x0=np.zeros(objective.shape))
    state.engine = corrective_engine(solver, state)
    setup = time.perf_counter() - started

    def record(result: bsfw.Result) -> None:
        points.append((setup + result.seconds, (result.fun - known.value) / known.value))
        if points[-1][1] <= accuracy:
            raise StopIteration

    solver.run(state, Limits(max_iter=60, gap_tol=0.0), Schedule(record_every=1), callback=record)
    return points


@dataclass(frozen=True)
class Peer:
    """A solver of the penalised problem; `prepare` is off the clock."""

    name: str
    prepare: Callable[[Problem], Any]
    fit: Callable[[Any, Array, float, float], Array]

    def points(self, problem: Problem, accuracy: float) -> Points:
        known, points, given = certified(problem), Points(), self.prepare(problem)
        for tol in TOLERANCES:
            started = time.perf_counter()
            x = self.fit(given, problem.y, known.penalty, tol)
            seconds = time.perf_counter() - started
            points.append((seconds, (problem.value(problem.into_ball(x)) - known.value) / known.value))
            if points[-1][1] <= accuracy:
                break
        return points


def _skglm(A: Any, y: Array, penalty: float, tol: float) -> Array:
    model = peer("skglm").SparseLogisticRegression(alpha=penalty, tol=tol, fit_intercept=False)
    return fitted(model, sp.csc_array(A), y)


def _liblinear(A: Any, y: Array, penalty: float, tol: float) -> Array:
    model = peer("sklearn.linear_model").LogisticRegression(
        C=1.0 / (penalty * len(y)), l1_ratio=1.0, solver="liblinear", tol=tol, max_iter=60, fit_intercept=False,
        random_state=0,
    )  # fmt: skip
    return fitted(model, A, y)


PEERS = (
    Peer("skglm", lambda problem: sp.csc_array(problem.A), _skglm),
    Peer("skglm from CSR", lambda problem: problem.A, _skglm),
    Peer("liblinear", lambda problem: problem.A, _liblinear),
)


def problems(sizes: Sizes) -> Iterator[Problem]:
    """Those of the table that are on this machine: nothing is downloaded."""
    for tau in sizes.taus:
        yield data.rcv1_like(sizes, tau)
    yield data.mushrooms(sizes)
    here = {known.name for known in bsfw.datasets.available() if known.place != "download"}
    for name, tau in (("a9a", 20.0), ("news20-halves", 200.0)):
        if name in here:
            A, y = bsfw.datasets.load(name)
            yield Problem(f"{name} tau={tau:g}", A, y, tau, 1)


def race(problem: Problem, repeats: int) -> dict[str, list[float]]:
    """By competitor the median seconds to each of `ACCURACIES`."""
    runs: dict[str, list[Points]] = {"ours": []}
    ours(problem, ACCURACIES[-1])  # imports and compilation
    for known in PEERS:
        try:
            known.points(problem, ACCURACIES[0])
            runs[known.name] = []
        except Unavailable as reason:
            print(f"{known.name}: {reason}")
    for _ in range(repeats):
        runs["ours"].append(ours(problem, ACCURACIES[-1]))
        for known in PEERS:
            if known.name in runs:
                runs[known.name].append(known.points(problem, ACCURACIES[-1]))
    return {
        name: [statistics.median(first_time(points, accuracy) for points in several) for accuracy in ACCURACIES]
        for name, several in runs.items()
    }


def path_race(sizes: Sizes, repeats: int) -> dict[str, float]:
    """Seconds for all of `PATH_RADII`.

    Ours to an exact gap of `PATH_ACCURACY` f, the peers' fits to that suboptimality, each at the loosest tolerance that
    is accurate enough, found off the clock.
    """
    fits = [data.rcv1_like(sizes, float(tau)) for tau in PATH_RADII]
    settings: dict[str, list[float]] = {}
    for known in PEERS:
        try:
            settings[known.name] = [
                TOLERANCES[len(known.points(problem, PATH_ACCURACY)) - 1] for problem in fits
            ]  # fmt: skip
        except Unavailable as reason:
            print(f"{known.name}: {reason}")
    gap_tol = PATH_ACCURACY * min(certified(problem).value for problem in fits)
    seconds: dict[str, list[float]] = {name: [] for name in ("ours", *settings)}
    for _ in range(repeats):
        started = time.perf_counter()
        path = radius_path(bsfw.Logistic(fits[0].A, fits[0].y), bsfw.L1Ball, PATH_RADII, gap_tol=gap_tol)
        seconds["ours"].append(time.perf_counter() - started)
        assert path.success
        for known in PEERS:
            if known.name not in settings:
                continue
            given = known.prepare(fits[0])
            started = time.perf_counter()
            for problem, tol in zip(fits, settings[known.name], strict=True):
                known.fit(given, problem.y, certified(problem).penalty, tol)
            seconds[known.name].append(time.perf_counter() - started)
    return {name: statistics.median(several) for name, several in seconds.items()}


def _ratio(theirs: float, mine: float, bound: float | None) -> str:
    ratio = theirs / mine if math.isfinite(mine) else 0.0
    mark = "" if bound is None else ("  ok" if ratio >= bound else f"  < {bound:g}")
    return f"{'not reached' if not math.isfinite(theirs) else f'{ratio:.2f}'}{mark}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corrective", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, without the largest problem")
    options = parser.parse_args(arguments)
    sizes, repeats = (data.QUICK, 3) if options.quick else (data.FULL, 5)
    print(f"{'problem':<26}{'to':>7}{'ours ms':>10}{'peer':>18}{'ms':>9}   their time / ours")
    for problem in problems(sizes):
        times = race(problem, repeats)
        for k, accuracy in enumerate(ACCURACIES):
            for name in list(times)[1:]:
                bound = (LARGE_BOUNDS if problem.name == LARGE else BOUNDS).get(name)
                if problem.name == LARGE and accuracy != 1e-5:
                    bound = None
                mine, theirs = times["ours"][k], times[name][k]
                print(
                    f"{problem.name:<26}{accuracy:>7.0e}{1e3 * mine:>10.1f}{name:>18}{1e3 * theirs:>9.1f}   "
                    + _ratio(theirs, mine, bound),
                    flush=True,
                )
    seconds = path_race(sizes, repeats)
    for name in list(seconds)[1:]:
        bound = PATH_BOUND if name in BOUNDS else None
        print(
            f"{'path of 20 radii':<26}{PATH_ACCURACY:>7.0e}{1e3 * seconds['ours']:>10.1f}{name:>18}"
            f"{1e3 * seconds[name]:>9.1f}   " + _ratio(seconds[name], seconds["ours"], bound)
        )


if __name__ == "__main__":
    main()
