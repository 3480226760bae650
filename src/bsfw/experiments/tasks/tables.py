"""Tasks whose outcome is a row or two of a table: costs, parameters of the data, constants of the estimators."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ..._arrays import Array
from ...estimators import ESTIMATORS
from .. import problems
from ..problems.least_squares import GaussianLeastSquares
from ..problems.linear_model import LinearModel
from ..schema import Checked, Count, Number, Positive, Text
from .base import Data, Size, Task
from .solve import EstimatorName, drawn


class Costs(Data, frozen=True, kw_only=True, tag="cost"):
    """Seconds of an LMO and of a gradient, medians; `case` says which."""

    case: Text
    lmo_seconds: Positive
    gradient_seconds: Positive

    @property
    def ratio(self) -> float:
        return self.lmo_seconds / self.gradient_seconds


class Cost(Task, frozen=True, kw_only=True, tag="cost"):
    """Seconds of one LMO and of one gradient, for the paper's "When to Boost?": medians of interleaved repeats."""

    timed = True

    problem: LinearModel | GaussianLeastSquares
    batch_size: Size | None = None
    coordinates: Size | None = None
    repeats: Annotated[int, Meta(ge=1, le=100_000, description="a whole number from 1 to 100,000")]

    def run(self) -> Costs:
        problem = problems.build(self.problem, self.seed)
        objective = problem.objective
        assert objective.shape is not None
        x = problem.constraint.start(objective.shape, objective.dtype).dense(objective.dtype)
        what, ask = self._gradient(objective)
        direction = objective.gradient(x)
        jobs: tuple[Callable[[], object], ...] = (lambda: problem.constraint.lmo(direction), lambda: ask(x))
        loops = [_loops(job) for job in jobs]
        seconds = [[_timed(job, loop) for job, loop in zip(jobs, loops, strict=True)] for _ in range(self.repeats)]
        oracle, gradient = np.median(seconds, axis=0)
        case = f"{self.problem.set.name} LMO against {what}"
        return Costs(case=case, lmo_seconds=float(oracle), gradient_seconds=float(gradient))

    def _gradient(self, objective: Any) -> tuple[str, Callable[[Array], Array]]:
        """The gradient that an estimator with this sampling asks in an iteration, in words and as a function of x."""
        from ..._sampling import draw, resolve_size

        rng = problems.streams(self.seed)["batches"]
        if self.batch_size is not None:
            m = objective.n_samples
            batch = draw(rng, m, resolve_size(self.batch_size, m, "batch_size", "samples"))
            return f"a gradient of {len(batch):,} of {m:,} samples", lambda x: objective.batch_gradient(x, batch)
        if self.coordinates is not None:
            n = int(np.prod(objective.shape))
            chosen = draw(rng, n, resolve_size(self.coordinates, n, "coordinates", "coordinates"))
            return f"{len(chosen):,} of {n:,} partial derivatives", lambda x: objective.partial_derivatives(x, chosen)
        return "a full gradient", objective.gradient


def _loops(job: Callable[[], object]) -> int:
    """How often to repeat a job so that the clock sees about a millisecond of it; the first call is not looked at."""
    job()
    return max(1, round(1e-3 / max(_timed(job, 1), 1e-7)))


def _timed(job: Callable[[], object], loops: int) -> float:
    started = time.perf_counter()
    for _ in range(loops):
        job()
    return (time.perf_counter() - started) / loops


class Parameters(Data, frozen=True, kw_only=True, tag="facts"):
    """What there is of n, m and the number of nonzeros."""

    n: Count | None = None
    m: Count | None = None
    nonzeros: Count | None = None


class Facts(Task, frozen=True, kw_only=True, tag="facts"):
    """A row of table exp_params, from the data itself."""

    problem: LinearModel
    batch_size: Size | None = None
    coordinates: Size | None = None

    def run(self) -> Parameters:
        return Parameters(**problems.build(self.problem, self.seed).facts)


class EstimatorConstants(Checked, frozen=True, kw_only=True):
    """A row of table estimator_params: what an estimator states of itself, and the L that it is stated with."""

    estimator: EstimatorName
    smoothness: Number
    rho1: Number
    rho2: Number
    A: Number
    B: Number
    C: Number
    E: Number


class ConstantRows(Data, frozen=True, kw_only=True, tag="constants"):
    rows: Annotated[tuple[EstimatorConstants, ...], Meta(max_length=100)]
    smoothness: Number


class Constants(Task, frozen=True, kw_only=True, tag="constants"):
    """Table estimator_params for one problem: what the estimators state of themselves, with numbers for n, m, b and L.

    L is that of f for the coordinate estimators, that of each f_i for the batch estimators, and that of f~ in
    f(x) = f~(A x) for SAG, as in the proofs.
    """

    problem: LinearModel
    estimators: Annotated[tuple[EstimatorName, ...], Meta(min_length=1, max_length=100)]
    batch_size: Size | None = None
    coordinates: Size | None = None
    iterations: Count

    def run(self) -> ConstantRows:
        from ...estimators.base import BatchEstimator

        objective: Any = problems.build(self.problem, self.seed).objective
        rows = []
        for name in self.estimators:
            estimator = ESTIMATORS[name](**drawn(name, self.batch_size, self.coordinates))
            if estimator.image_step:
                smoothness = objective.image_smoothness()
            elif isinstance(estimator, BatchEstimator):
                smoothness = objective.sample_smoothness()
            else:
                smoothness = objective.smoothness()
            stated = estimator.constants(
                n_samples=objective.n_samples,
                dimension=int(np.prod(objective.shape)),
                smoothness=smoothness,
                horizon=self.iterations,
            )
            numbers = {key: float(getattr(stated, key)) for key in ("rho1", "rho2", "A", "B", "C", "E")}
            rows.append(EstimatorConstants(estimator=name, smoothness=float(smoothness), **numbers))
        return ConstantRows(rows=tuple(rows), smoothness=float(objective.smoothness()))
