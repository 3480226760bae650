"""``python -m benchmarks --only corrective``: the corrective method against coordinate descent, to high accuracy.

l1-constrained logistic regression: milliseconds to a relative suboptimality (f - f*)/f*. Every clock begins with the
same CSR matrix, so that checks and conversions are on it, and stands still while f is evaluated.

Ours is one run of which every iteration is a point. The peers solve the penalised problem with the same solution, and
are given for nothing: the matching lambda; the fastest tolerance, of two a decade, that is accurate enough; and the
best of several settings (skglm: CSC or, for few columns, dense data, and two sizes of the first working set). These are
found off the clock. Along the path skglm starts from its last solution. f* and lambda are those of a point whose exact
gap, by the benchmark's own arithmetic, is below 1e-10 f. Competitors take turns; shown are medians, and the median of
the ratios of the turns.

The constants of the method were chosen on the problems with a bound. Those marked "held out" had no part in that, but
for w8a in the start on few samples.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import bsfw
from bsfw.datasets.synthetic import text_like
from bsfw.paths import radius_path
from bsfw.solver import Solver
from bsfw.state import Limits, Schedule

from . import data, timing
from .data import Array, Problem, Sizes
from .reference import reference
from .rows import Row
from .solvers import Points, Unavailable, peer
from .solvers import _fit as fitted

FAMILY = "corrective"
ACCURACIES = (1e-3, 1e-5, 1e-8)
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(2, 23))
BOUNDS = {"skglm": ">= 1.3", "liblinear": ">= 1.2"}
LARGE_BOUNDS = {"skglm": ">= 1", "liblinear": ">= 0.8"}
PATH_BOUND, PATH_RADII, PATH_ACCURACY = ">= 1.5", np.geomspace(20.0, 500.0, 20), 1e-5
CAP = 60.0
"""Seconds that stand for a run of ours that did not get there."""
HOPELESS = 1.5
"""A setting of a peer that takes so many times the best one's seconds is not timed again."""


# The two sides.


def ours(problem: Problem, accuracy: float) -> Points:
    """One run until `accuracy`, every iteration a point. Setup is on the clock, values of f for the points are not."""
    known, points = reference(problem), Points()
    started = time.perf_counter()
    objective = bsfw.Logistic(problem.A, problem.y)
    solver = Solver(objective, bsfw.L1Ball(problem.tau), method="corrective")
    state = solver.init()
    solver.engine(state)
    setup = time.perf_counter() - started

    def record(result: bsfw.Result) -> None:
        points.append((setup + result.seconds, known.suboptimality(result.fun)))
        if points[-1][1] <= accuracy:
            raise StopIteration

    solver.run(state, Limits(max_iter=60, gap_tol=0.0), Schedule(record_every=1), callback=record)
    return points


@dataclass(frozen=True)
class Setting:
    """A way to use a peer.

    Attributes
    ----------
    convert : callable
        From the CSR matrix to what the peer is given.
    fit : callable
        From that, y, lambda, a tolerance and coefficients to start from, or None, to coefficients.
    """

    convert: Callable[[Any], Any]
    fit: Callable[[Any, Array, float, float, Array | None], Array]

    def seconds(self, problem: Problem, tol: float) -> tuple[float, float]:
        """Of a fit with its conversion; and its suboptimality, in the ball."""
        known = reference(problem)
        started = time.perf_counter()
        x = self.fit(self.convert(problem.A), problem.y, known.penalty, tol, None)
        seconds = time.perf_counter() - started
        return seconds, known.suboptimality(problem.value(problem.into_ball(x)))


@dataclass(frozen=True)
class Peer:
    name: str
    settings: Callable[[Problem], tuple[Setting, ...]]


def _skglm(A: Any, y: Array, penalty: float, tol: float, start: Array | None, first: int) -> Array:
    solver = peer("skglm.solvers").ProxNewton(p0=first, tol=tol, fit_intercept=False, warm_start=start is not None)
    model = peer("skglm").GeneralizedLinearEstimator(
        peer("skglm.datafits").Logistic(), peer("skglm.penalties").L1(penalty), solver
    )
    if start is not None:
        model.coef_ = start[None, :]
    return fitted(model, A, y)


def _skglm_settings(problem: Problem) -> tuple[Setting, ...]:
    forms = [lambda A: A.tocsc()]
    if problem.A.shape[1] <= 1000:
        forms.append(lambda A: A.toarray(order="F"))
    return tuple(Setting(form, partial(_skglm, first=first)) for form in forms for first in (10, 50))


def _liblinear(A: Any, y: Array, penalty: float, tol: float, start: Array | None) -> Array:
    model = peer("sklearn.linear_model").LogisticRegression(
        C=1.0 / (penalty * len(y)), l1_ratio=1.0, solver="liblinear", tol=tol, max_iter=60, fit_intercept=False,
        random_state=0,
    )  # fmt: skip
    return fitted(model, A, y)


PEERS = (Peer("skglm", _skglm_settings), Peer("liblinear", lambda problem: (Setting(lambda A: A, _liblinear),)))


def tuned(known: Peer, problem: Problem, accuracies: Sequence[float]) -> dict[float, list[tuple[Setting, float]]]:
    """By accuracy the settings worth timing, each with its fastest tolerance that is accurate enough."""
    tried: list[tuple[Setting, float, float, float]] = []
    for setting in known.settings(problem):
        setting.seconds(problem, TOLERANCES[0])  # imports and compilation
        for tol in TOLERANCES:
            seconds, suboptimality = setting.seconds(problem, tol)
            tried.append((setting, tol, seconds, suboptimality))
            best = [s for _, _, s, found in tried if found <= min(accuracies)]
            if suboptimality <= min(accuracies) or seconds > HOPELESS * min(best, default=math.inf):
                break
    chosen: dict[float, list[tuple[Setting, float]]] = {}
    for accuracy in accuracies:
        fast: dict[Setting, tuple[float, float]] = {}
        for setting, tol, seconds, suboptimality in tried:
            if suboptimality <= accuracy and seconds < fast.get(setting, (math.inf, 0.0))[0]:
                fast[setting] = seconds, tol
        best_seconds = min((seconds for seconds, _ in fast.values()), default=math.inf)
        chosen[accuracy] = [(s, tol) for s, (seconds, tol) in fast.items() if seconds <= HOPELESS * best_seconds]
    return chosen


# What is timed.


def race(
    problem: Problem, repeats: int, peers: Sequence[Peer] = PEERS, accuracies: Sequence[float] = ACCURACIES
) -> dict[tuple[str, float], list[float] | str]:
    """Seconds by competitor and accuracy, "ours" and the names of the peers; or the reason why there are none."""
    ours(problem, min(accuracies))  # imports and compilation
    found: dict[tuple[str, float], list[float] | str] = {("ours", accuracy): [] for accuracy in accuracies}
    contests: dict[tuple[str, float], list[tuple[Setting, float, list[float]]]] = {}
    for known in peers:
        try:
            for accuracy, chosen in tuned(known, problem, accuracies).items():
                contests[known.name, accuracy] = [(setting, tol, []) for setting, tol in chosen]
        except Unavailable as reason:
            found |= {(known.name, accuracy): str(reason) for accuracy in accuracies}
    runs: list[Points] = []
    for _ in range(repeats):
        runs.append(ours(problem, min(accuracies)))
        for several in contests.values():
            for setting, tol, seconds in several:
                seconds.append(setting.seconds(problem, tol)[0])
    for accuracy in accuracies:
        found["ours", accuracy] = [timing.first_time(points, accuracy) for points in runs]
    for key, several in contests.items():
        found[key] = min((seconds for *_, seconds in several), key=np.median, default="not reached")
    return found


def path_race(
    fits: Sequence[Problem], repeats: int, peers: Sequence[Peer] = PEERS
) -> dict[tuple[str, float], list[float] | str]:
    """Seconds for all of the problems, which differ by their radius only.

    Ours to an exact gap of `PATH_ACCURACY` f, the peers' fits to that suboptimality.
    """
    found: dict[tuple[str, float], list[float] | str] = {}
    plans: dict[str, tuple[Setting, list[float]]] = {}
    for known in peers:
        try:
            plans[known.name] = (known.settings(fits[0])[0], [])
            setting, tolerances = plans[known.name]
            X, x = setting.convert(fits[0].A), np.zeros(fits[0].A.shape[1])
            for problem in fits:
                x, tol = _accurate(setting, X, problem, x)
                tolerances.append(tol)
        except Unavailable as reason:
            found[known.name, PATH_ACCURACY] = str(reason)
            del plans[known.name]
    radii = [problem.tau for problem in fits]
    gap_tol = PATH_ACCURACY * min(reference(problem).value for problem in fits)
    radius_path(bsfw.Logistic(fits[0].A, fits[0].y), bsfw.L1Ball, radii[:2], gap_tol=gap_tol)  # compilation
    seconds: dict[str, list[float]] = {name: [] for name in ("ours", *plans)}
    for _ in range(repeats):
        started = time.perf_counter()
        path = radius_path(bsfw.Logistic(fits[0].A, fits[0].y), bsfw.L1Ball, radii, gap_tol=gap_tol)
        seconds["ours"].append(time.perf_counter() - started if path.success else math.inf)
        for name, (setting, tolerances) in plans.items():
            started = time.perf_counter()
            X, x = setting.convert(fits[0].A), np.zeros(fits[0].A.shape[1])
            for problem, tol in zip(fits, tolerances, strict=True):
                x = setting.fit(X, problem.y, reference(problem).penalty, tol, x)
            seconds[name].append(time.perf_counter() - started)
    return found | {(name, PATH_ACCURACY): several for name, several in seconds.items()}


def _accurate(setting: Setting, X: Any, problem: Problem, start: Array) -> tuple[Array, float]:
    """The fit at the loosest tolerance with `PATH_ACCURACY`, and that tolerance."""
    known = reference(problem)
    for tol in TOLERANCES:
        x = setting.fit(X, problem.y, known.penalty, tol, start)
        if known.suboptimality(problem.value(problem.into_ball(x))) <= PATH_ACCURACY:
            return x, tol
    raise Unavailable(f"did not reach {PATH_ACCURACY:.0e}")


# The rows of the table.


@dataclass(frozen=True)
class Case:
    """A problem, built when first used; and what must be reached on it, at the accuracies `judged`."""

    label: str
    make: Callable[[], Problem]
    bounds: dict[str, str]
    accuracies: tuple[float, ...] = ACCURACIES
    judged: tuple[float, ...] = ACCURACIES
    turns: int = 1
    """Times the repeats of other rows: short runs need more for a steady median."""


def cases(sizes: Sizes) -> Iterator[Case]:
    """Those that are on this machine, nothing is downloaded; the hardest of those with a bound in a quick run."""
    here = {known.name for known in bsfw.datasets.available() if known.place != "download"}

    def published(name: str, tau: float) -> Problem:
        A, y = bsfw.datasets.load(name)
        return Problem(f"{name} tau={tau:g}", A, y, tau, 1)

    def held_out() -> Problem:
        A, y = text_like(sizes.m, sizes.n, sizes.per_row, seed=1)
        return Problem("rcv1-like 2 tau=300", A, y, 300.0, 1)

    if not sizes.everything:
        yield Case("mushrooms tau=50", partial(data.mushrooms, sizes), BOUNDS, (1e-3,), turns=3)
        return
    for tau in sizes.taus:
        make = partial(data.rcv1_like, sizes, tau)
        if tau < 2000.0:
            yield Case(f"rcv1-like tau={tau:g}", make, BOUNDS)
        else:
            yield Case(f"rcv1-like tau={tau:g}", make, LARGE_BOUNDS, judged=(1e-5,))
    yield Case("mushrooms tau=50", partial(data.mushrooms, sizes), BOUNDS, turns=3)
    for name, tau in (("a9a", 20.0), ("news20-halves", 200.0)):
        if name in here:
            yield Case(f"{name} tau={tau:g}", partial(published, name, tau), BOUNDS)
    yield Case("held out: rcv1-like 2 tau=300", held_out, {})
    for name, tau in (("w8a", 30.0), ("farm-ads", 100.0)):
        if name in here:
            yield Case(f"held out: {name} tau={tau:g}", partial(published, name, tau), {})


def rows(sizes: Sizes, peers: Sequence[Peer] = PEERS) -> Iterator[Row]:
    """The rows for the table of the suite; in a quick run without skglm, which would compile for most of it."""
    if not sizes.everything:
        peers = [known for known in peers if known.name != "skglm"]
    for case in cases(sizes):
        yield from _rows_of(case, sizes, peers)
    if sizes.everything:
        together = cache(lambda: path_race([data.rcv1_like(sizes, float(r)) for r in PATH_RADII], sizes.repeats, peers))
        label = f"path of {len(PATH_RADII)} radii to {PATH_ACCURACY:.0e}"
        for known in peers:
            pick = partial(_pick, together, known.name, PATH_ACCURACY)
            yield Row(FAMILY, label, "bsfw radius_path", known.name, PATH_BOUND, "ms", pick, CAP)


def _rows_of(case: Case, sizes: Sizes, peers: Sequence[Peer]) -> Iterator[Row]:
    together = cache(lambda: race(case.make(), case.turns * sizes.repeats, peers, case.accuracies))
    for accuracy in case.accuracies:
        for known in peers:
            bound = case.bounds.get(known.name, "") if accuracy in case.judged else ""
            pick = partial(_pick, together, known.name, accuracy)
            yield Row(
                FAMILY, f"{case.label} to {accuracy:.0e}", "bsfw corrective", known.name, bound, "ms", pick, CAP
            )  # fmt: skip


def _pick(together: Callable[[], dict[tuple[str, float], Any]], name: str, accuracy: float) -> timing.Samples:
    found = together()[name, accuracy]
    if isinstance(found, str):
        raise Unavailable(found)
    return {"ours": together()["ours", accuracy], "peer": found}
