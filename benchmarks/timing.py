"""How times are taken, the same for every competitor.

Per iteration: the time of a run after its first iteration (for copt, which counts epochs: a run of T epochs less a run
of one), divided by the iterations in it. The start (imports, compilation, full pass, conversion of the data) is in
nobody's time. Competitors take turns, so that a slow minute of the machine falls on all of them; shown are medians, and
the median of the ratios of the turns. A turn begins when no thread of the one before is at work any more. Where the
ratios of the turns leave open on which side of a bound their median is, more turns are taken, whichever side it seems
to be, for as long as there is patience.

To an accuracy: the first time on the solver's clock at which (f - f*)/f* is at most that, medians over the turns. The
clock stands still while f is evaluated.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence

from .data import Problem
from .solvers import Accurate, Points, Timed

Samples = dict[str, list[float]]
LONGER = 16
"""So many times longer a run is than the shortest, lest its start be most of it."""
TURN_SECONDS, MOST_RUNS = 0.015, 5
"""A turn lasts about so long, or takes so many runs: what takes milliseconds may fall on the machine's bad ones."""

MOST_TURNS = 6
"""So many times the wanted number of turns are taken at most, to tell on which side of a bound the median is."""
SURE = 1.645
"""Standard deviations: nine in ten times a normal number is that near to its mean."""


def wait_for_threads(at_most: float = 0.5) -> None:
    """Return when no thread of this process is at work: those of OpenMP spin for milliseconds after their last task."""
    end = time.perf_counter() + at_most
    while (started := time.perf_counter()) < end:
        used = time.process_time()
        time.sleep(0.001)
        if time.process_time() - used < 0.5 * (time.perf_counter() - started):
            return


def interleaved(
    competitors: dict[str, Callable[[int], float]],
    repeats: int,
    limit: float | None = None,
    patience: float = math.inf,
) -> Samples:
    """What each competitor measures, called in turn with the number of the repeat.

    If there is a `limit` for the first competitor / the second, there are more repeats while the limit is in the
    `interval` of the ratios, for `patience` seconds.
    """
    samples: Samples = {name: [] for name in competitors}
    end = math.inf
    for repeat in range(repeats if limit is None else MOST_TURNS * repeats):
        if repeat == repeats:
            end = time.perf_counter() + patience
        if limit is not None and repeat and repeat % repeats == 0:
            low, high = interval([a / b for a, b in zip(*samples.values(), strict=True)])
            if not low <= limit <= high or time.perf_counter() > end:
                break
        for name, measure in competitors.items():
            wait_for_threads()
            samples[name].append(measure(repeat))
    return samples


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which of the values the median of what they are drawn from lies, nine in ten times if they are many."""
    ordered = sorted(values)
    beyond = max(0, math.floor((len(ordered) - SURE * math.sqrt(len(ordered))) / 2) - 1)
    return ordered[beyond], ordered[-1 - beyond]


def medians(samples: Samples) -> dict[str, float]:
    return {name: statistics.median(values) for name, values in samples.items()}


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """The median of the ratios of two competitors' turns: what slows the machine for a while falls on both of them."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def seconds_per_iteration(solver: Timed, problem: Problem, iterations: int, seed: int) -> float:
    """Seconds after the start / iterations in them; the median of several runs if they are short."""
    samples: list[float] = []
    started = time.perf_counter()
    while not samples or (len(samples) < MOST_RUNS and time.perf_counter() - started < TURN_SECONDS):
        seconds, made = solver.seconds(problem, iterations, seed)
        samples.append(seconds / made)
    return statistics.median(samples)


def per_iteration(
    contest: Sequence[tuple[str, Timed, Problem]],
    iterations: int,
    repeats: int,
    limit: float | None = None,
    patience: float = math.inf,
) -> Samples:
    """Seconds per iteration of every competitor on its problem, in turns after a warm-up; the repeat is the seed,
    `limit` and `patience` are those of `interleaved`.

    All make at least `LONGER` times as many iterations as the shortest run of any of them.
    """
    shortest = [solver.seconds(problem, 2, 0)[1] for _, solver, problem in contest]
    iterations = max(iterations, LONGER * max(shortest))
    return interleaved(
        {
            name: lambda repeat, solver=solver, problem=problem: seconds_per_iteration(
                solver, problem, iterations, repeat
            )
            for name, solver, problem in contest
        },
        repeats,
        limit,
        patience,
    )


def first_time(points: Points, accuracy: float) -> float:
    """Seconds until the suboptimality is at most `accuracy`; inf if it never is."""
    return min((seconds for seconds, suboptimality in points if suboptimality <= accuracy), default=math.inf)


def to_accuracy(
    contest: Sequence[tuple[str, Accurate]], problem: Problem, accuracy: float, repeats: int, cap: float
) -> Samples:
    """Seconds to the accuracy, in turns; inf where it was not reached within `cap` seconds."""
    return interleaved(
        {
            name: lambda repeat, solver=solver: first_time(solver.points(problem, accuracy, repeat, cap), accuracy)
            for name, solver in contest
        },
        repeats,
    )


def calls(function: Callable[[], object], at_least: float = 0.02) -> float:
    """Seconds of one call of `function`, from as many as fill `at_least` seconds."""
    count, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < at_least or count < 3:
        function()
        count += 1
    return elapsed / count
