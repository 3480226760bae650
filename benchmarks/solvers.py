"""The competitors: bsfw, the literal transcription, and other people's solvers, behind two questions.

`seconds` answers how long a run of so many iterations takes after its start; `points` gives (seconds, relative
suboptimality) on the way to an accuracy, with the metrics off the clock. A peer that cannot be imported raises
`Unavailable`.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

import bsfw

from . import literal
from .data import Array, Problem
from .reference import liblinear, reference

Points = list[tuple[float, float]]

ESTIMATORS: dict[str, Any] = {
    "SAG": bsfw.SAG,
    "SAGA": bsfw.SAGA,
    "L-SVRG": bsfw.LSVRG,
    "SARAH": bsfw.SARAH,
    "Heavy Ball": bsfw.HeavyBall,
}
SETS: dict[str, Callable[[Problem], Any]] = {
    "l1": lambda problem: bsfw.L1Ball(problem.tau),
    "10-sparse": lambda problem: bsfw.KSparse(10, problem.tau / 10.0),
    "groups of ten": lambda problem: bsfw.GroupBall(
        [range(first, min(first + 10, problem.A.shape[1])) for first in range(0, problem.A.shape[1], 10)], problem.tau
    ),
}
RECORD_EVERY = 25
"""Iterations between two values of f in a stochastic run to an accuracy."""
RECORD_EVERY_EXACT = 5
"""The same with the exact gradient, where an iteration costs more."""


class Unavailable(Exception):
    """A peer is not installed or does not import here."""


def peer(module: str) -> Any:
    """The peer's module."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs, not ours to mend
            return importlib.import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise Unavailable("not installed" if error.name == name else f"does not import ({error})") from None


class Timed(Protocol):
    @property
    def name(self) -> str: ...

    def seconds(self, problem: Problem, iterations: int, seed: int) -> tuple[float, int]:
        """Time of a run after its start, metrics excluded, and how many iterations that is of.

        The start is the first iteration (of copt, which counts epochs: the first epoch) and all that comes before it.
        """


class Accurate(Protocol):
    @property
    def name(self) -> str: ...

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        """(seconds, relative suboptimality) until `accuracy` is reached or `cap` seconds have passed."""


class Clock:
    """Runs while the solver works, stands while f is evaluated; remembers the points."""

    def __init__(self, problem: Problem, accuracy: float, cap: float, every: int) -> None:
        self.problem, self.accuracy, self.cap, self.every = problem, accuracy, cap, every
        self.suboptimality = reference(problem).suboptimality
        self.calls, self.points = 0, Points()
        self.off = 0.0
        self.started = time.perf_counter()

    def done(self, seconds: float) -> bool:
        return self.points[-1][1] <= self.accuracy or seconds > self.cap

    def look(self, x: Array) -> bool:
        """To be called once an iteration; whether it is time to stop."""
        self.calls += 1
        if self.calls % self.every:
            return False
        now = time.perf_counter()
        seconds = now - self.started - self.off
        self.points.append((seconds, self.suboptimality(self.problem.value(x))))
        self.off += time.perf_counter() - now
        return self.done(seconds)


@cache
def _set(name: str, problem: Problem) -> Any:
    """Kept, as thousands of groups are made of Python's lists."""
    return SETS[name](problem)


@dataclass(frozen=True)
class Bsfw:
    """bsfw.minimize; `estimator` None is the exact gradient, `set` one of SETS, `engine` as in `bsfw.Solver`."""

    estimator: str | None = "SAGA"
    boosted: bool = True
    step: str = "auto"
    set: str = "l1"
    engine: str = "auto"

    @property
    def name(self) -> str:
        method = self.estimator or {"auto": "FW", "short": "FW short step"}.get(self.step, f"FW {self.step}")
        return f"bsfw {'boosted' if self.boosted else 'vanilla'} {method}"

    def _choices(self, problem: Problem) -> dict[str, Any]:
        return {
            "estimator": ESTIMATORS[self.estimator](problem.batch) if self.estimator else None,
            "max_rounds": None if self.boosted else 1,
            "step": self.step,
        }

    def run(self, objective: bsfw.Logistic, problem: Problem, seed: int, **limits: Any) -> bsfw.Result:
        """What a user would call."""
        return bsfw.minimize(objective, bsfw.L1Ball(problem.tau), rng=seed, **self._choices(problem), **limits)

    def seconds(self, problem: Problem, iterations: int, seed: int) -> tuple[float, int]:
        """Of the loop that `run` goes through, without the values and gaps that it looks at off the clock."""
        solver = bsfw.Solver(
            problem.objective, _set(self.set, problem), horizon=iterations, engine=self.engine, **self._choices(problem)
        )
        state = solver.init(problem.start if self.set == "l1" else None, rng=seed)
        limits = bsfw.Limits(max_iter=iterations)
        engine = solver.engine(state)
        clock = []
        for end in (1, iterations):
            while state.iteration < end:
                direction = engine.look(state)
                assert direction is not None
                engine.advance(state, direction)
                engine.forward(state, end, limits)
            clock.append(state.seconds)
        return clock[1] - clock[0], iterations - 1

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        """On a fresh objective, with its setup on the clock: what is derived from the data counts, too."""
        every = RECORD_EVERY if self.estimator else RECORD_EVERY_EXACT
        self.run(problem.objective, problem, seed, max_iter=2)  # imports and compilation
        started = time.perf_counter()
        first = self.run(bsfw.Logistic(problem.A, problem.y), problem, seed, max_iter=1)
        setup = time.perf_counter() - started - first.seconds - first.check_seconds  # beyond bsfw's own clock
        clock = Clock(problem, accuracy, cap, every)

        def record(result: bsfw.Result) -> None:
            clock.points.append((setup + result.seconds, clock.suboptimality(result.fun)))
            if clock.done(result.seconds):
                raise StopIteration

        limit = 10**6 if self.estimator else 10**5
        objective = bsfw.Logistic(problem.A, problem.y)
        self.run(objective, problem, seed, max_iter=limit, record_every=every, callback=record)
        return clock.points


@dataclass(frozen=True)
class Literal:
    """The NumPy transcription of the paper."""

    estimator: str
    boosted: bool = True

    @property
    def name(self) -> str:
        return "literal NumPy"

    def seconds(self, problem: Problem, iterations: int, seed: int) -> tuple[float, int]:
        *_, seconds = literal.run(
            problem.A, problem.y, problem.tau, estimator=self.estimator, batch=problem.batch, iterations=iterations,
            boosted=self.boosted, seed=seed,
        )  # fmt: skip
        return seconds, iterations - 1


def _after_start(run: Callable[[int], None], end: int) -> float:
    """Seconds of a run of that length, less those of one of length 1: for peers that cannot be asked in between."""
    clock = [time.perf_counter()]
    for length in (1, end):
        run(length)
        clock.append(time.perf_counter())
    return (clock[2] - clock[1]) - (clock[1] - clock[0])


class _Reached(Exception):
    """Ends a run of copt, which offers no other way."""


@dataclass(frozen=True)
class CoptStochastic:
    """copt's minimize_sfw, variant SAG, on its default threads. It counts epochs and draws from numba's own state."""

    name: str = "copt SAG"

    def _run(self, problem: Problem, epochs: int, callback: Callable[[dict[str, Any]], None] | None = None) -> None:
        copt = peer("copt")
        data, labels, loss = _for_copt(problem)
        copt.randomized.minimize_sfw(
            loss.partial_deriv, data, labels, np.zeros(data.shape[1]), copt.constraint.L1Ball(problem.tau).lmo,
            batch_size=problem.batch, max_iter=epochs, tol=0.0, variant="SAG", callback=callback,
        )  # fmt: skip

    def seconds(self, problem: Problem, iterations: int, seed: int) -> tuple[float, int]:
        per_epoch = problem.A.shape[0] // problem.batch
        epochs = max(2, round(iterations / per_epoch))
        _for_copt(problem)
        return _after_start(lambda end: self._run(problem, end), epochs), (epochs - 1) * per_epoch

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        self._run(problem, 1)  # compilation
        clock = Clock(problem, accuracy, cap, RECORD_EVERY)

        def callback(known: dict[str, Any]) -> None:
            if clock.look(known["x"]):
                raise _Reached

        with suppress(_Reached):
            self._run(problem, 10**6, callback)
        return clock.points


@dataclass(frozen=True)
class CoptDeterministic:
    """copt's minimize_frank_wolfe; `step` is "sublinear", "DR" (short step) or "backtracking"."""

    step: str

    @property
    def name(self) -> str:
        return f"copt FW {self.step}"

    def _run(self, problem: Problem, iterations: int, callback: Callable[[dict[str, Any]], bool] | None = None) -> None:
        copt = peer("copt")
        data, _, loss = _for_copt(problem)
        copt.minimize_frank_wolfe(
            loss.f_grad, np.zeros(data.shape[1]), copt.constraint.L1Ball(problem.tau).lmo, jac=True, step=self.step,
            lipschitz=problem.smoothness, max_iter=iterations, tol=0.0, callback=callback,
        )  # fmt: skip

    def seconds(self, problem: Problem, iterations: int, seed: int) -> tuple[float, int]:
        _ = _for_copt(problem), problem.smoothness
        return _after_start(lambda end: self._run(problem, end), iterations), iterations - 1

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        _ = _for_copt(problem), problem.smoothness
        clock = Clock(problem, accuracy, cap, 1)

        # Their callback comes with x of before the step and f of after it; f is at hand, so nothing is evaluated.
        def callback(known: dict[str, Any]) -> bool:
            seconds = time.perf_counter() - clock.started
            clock.points.append((seconds, clock.suboptimality(float(known["f_next"]))))
            return not clock.done(seconds)

        self._run(problem, 10**6, callback)
        return clock.points


@cache
def _for_copt(problem: Problem) -> tuple[Any, Array, Any]:
    """Data in copt's form and its loss: converted and compiled once, off the clock."""
    data, labels = sp.csr_matrix(problem.A), (problem.y + 1) / 2
    loss = peer("copt").loss.LogLoss(data, labels)
    derivative = loss.partial_deriv  # a property that compiles anew at every access
    return data, labels, _Loss(loss.f_grad, derivative)


@dataclass(frozen=True)
class _Loss:
    f_grad: Callable[..., Any]
    partial_deriv: Callable[..., Any]


@dataclass(frozen=True)
class Penalised:
    """A solver of the penalised problem with the matching lambda, which it is given for nothing.

    It has no iterates to look at, so it is fitted anew at every precision setting; the objective is that of the
    constrained problem, after scaling into the ball.
    """

    name: str
    fit: Callable[[Problem, float], Array]
    precisions: tuple[float, ...]

    def points(self, problem: Problem, accuracy: float, seed: int, cap: float) -> Points:
        suboptimality = reference(problem).suboptimality
        self.fit(problem, self.precisions[len(self.precisions) // 2])  # imports and compilation
        points = Points()
        for precision in self.precisions:
            started = time.perf_counter()
            x = self.fit(problem, precision)
            seconds = time.perf_counter() - started
            points.append((seconds, suboptimality(problem.value(problem.into_ball(x)))))
            if points[-1][1] <= accuracy or seconds > cap:
                break
        return points


def _fit(model: Any, A: Any, y: Array) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early is the point of a loose setting
        return np.asarray(model.fit(A, y).coef_).ravel()


def _saga(problem: Problem, max_iter: float) -> Array:
    model = peer("sklearn.linear_model").LogisticRegression(
        C=reference(problem).C, l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=int(max_iter), fit_intercept=False,
        random_state=0,
    )  # fmt: skip
    return _fit(model, problem.A, problem.y)


def _skglm(problem: Problem, tol: float) -> Array:
    model = peer("skglm").SparseLogisticRegression(alpha=reference(problem).penalty, tol=tol, fit_intercept=False)
    return _fit(model, sp.csc_array(problem.A), problem.y)


def _celer(problem: Problem, tol: float) -> Array:
    model = peer("celer").LogisticRegression(C=reference(problem).C, tol=tol, fit_intercept=False)
    return _fit(model, sp.csc_matrix(problem.A), problem.y)


TOLERANCES = tuple(10.0**-k for k in range(0, 11))
PENALISED = (
    Penalised("liblinear", lambda problem, tol: liblinear(problem, reference(problem).C, tol), TOLERANCES),
    Penalised("scikit-learn saga", _saga, (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000)),
    Penalised("skglm", _skglm, TOLERANCES),
    Penalised("celer", _celer, TOLERANCES),
)
