"""Which tasks a panel consists of: a sweep holds the keys of a specification that a kind of task reads, and expands to
the tasks, in the order they are run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from msgspec import Meta

from ..decays import DECAYS
from . import limits
from .schema import Checked, Count
from .tasks import AnyTask, BoostingStep, Constants, Cost, Facts, Solve, Trajectory
from .tasks.base import Size
from .tasks.solve import EstimatorName, Gain, StepName, drawn

RECORDED = 200
"""Rows of a trace, about: enough for a smooth curve."""

BASELINE_GAIN = 1e-4
"""The tolerance has no meaning with one round: always the same, so that sweeps over it share the vanilla runs."""

Item = TypeVar("Item")
OneOrMore: TypeAlias = Item | Annotated[tuple[Item, ...], Meta(min_length=1, max_length=100)]
Runs = Annotated[int, Meta(ge=1, le=limits.RUNS, description=f"a whole number from 1 to {limits.RUNS:,}")]
Counts = Annotated[OneOrMore[Count], Meta(description="a whole number of at least 1, or a list of them")]
Gains = Annotated[OneOrMore[Gain], Meta(description="a number in ]0, 1], or a list of them")]
MethodName = Literal["boosted", "vanilla"]
ExactMethod = Literal["corrective", "away", "pairwise", "blended-pairwise"]
"""Methods of `bsfw.minimize` that need the exact gradient."""
AnyMethod = Literal[MethodName, ExactMethod]
EXACT: tuple[str, ...] = get_args(ExactMethod)

if TYPE_CHECKING:
    SweptDecay: TypeAlias = str
else:
    # "horizon" is 1/sqrt(T) (Theorem stoch_fixed_horizon_nonconvex), but for Heavy Ball its own, as in the paper.
    SweptDecay = Literal[("auto", "horizon", *DECAYS)]


class Sweep(Checked, frozen=True, kw_only=True):
    """What a specification says about a kind of task; the paper's values are the defaults."""

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        """The tasks on one problem; ValueError for what does not fit together."""
        raise NotImplementedError


class SolveSweep(Sweep, frozen=True, kw_only=True):
    """Boosted with every tolerance, number of rounds and decay; vanilla once, with the step of the baseline's paper."""

    runs: Runs = 10
    iterations: Count = 1000
    record_every: Count | None = None
    estimators: OneOrMore[EstimatorName] = ("full",)
    batch_size: Size | None = None
    coordinates: Size | None = None
    methods: OneOrMore[AnyMethod] = ("boosted", "vanilla")
    max_rounds: Counts = 10_000
    min_gain: Gains = 1e-4
    decays: OneOrMore[SweptDecay] = "auto"
    step: StepName = "auto"

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        exact = [name for name in each(self.methods) if name in EXACT]
        if exact and "full" not in each(self.estimators):
            raise ValueError(
                f"the method {exact[0]} needs the exact gradient, but the estimators are "
                f'{", ".join(each(self.estimators))}; add "full", or leave the method out.'
            )
        sampling = samplings(each(self.estimators), self.batch_size, self.coordinates)
        record_every = self.record_every or max(1, self.iterations // RECORDED)
        # Seeds outermost: a sweep that is interrupted has all methods in the runs it made.
        for seed in range(self.runs):
            for estimator, draws in sampling.items():
                direct = [{"method": name, "max_rounds": 10_000} for name in exact if estimator == "full"]
                for method in (*_methods(self, estimator), *direct):
                    yield Solve(
                        problem=problem,
                        seed=seed,
                        estimator=estimator,
                        iterations=self.iterations,
                        record_every=record_every,
                        **draws,
                        **method,
                    )


class TrajectorySweep(Sweep, frozen=True, kw_only=True):
    iterations: Count = 1000
    methods: OneOrMore[MethodName] = ("boosted", "vanilla")
    max_rounds: Counts = 10_000
    min_gain: Gains = 1e-4
    decays: OneOrMore[SweptDecay] = "auto"
    step: StepName = "auto"

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        for method in _methods(self, "full"):
            yield Trajectory(problem=problem, iterations=self.iterations, **method)


class BoostingStepSweep(Sweep, frozen=True, kw_only=True):
    iterations: Count = 1000
    estimators: OneOrMore[EstimatorName] = ("full",)
    batch_size: Size | None = None
    coordinates: Size | None = None
    max_rounds: Counts = 10_000
    min_gain: Gains = 1e-4
    decays: OneOrMore[SweptDecay] = "auto"
    step: StepName = "auto"

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        for estimator, draws in samplings(each(self.estimators), self.batch_size, self.coordinates).items():
            for method in _boosted(self, estimator):
                yield BoostingStep(problem=problem, estimator=estimator, iterations=self.iterations, **draws, **method)


class CostSweep(Sweep, frozen=True, kw_only=True):
    batch_size: Size | None = None
    coordinates: Size | None = None
    repeats: Count = 50

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        yield Cost(problem=problem, batch_size=self.batch_size, coordinates=self.coordinates, repeats=self.repeats)


class FactsSweep(Sweep, frozen=True, kw_only=True):
    batch_size: Size | None = None
    coordinates: Size | None = None

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        yield Facts(problem=problem, batch_size=self.batch_size, coordinates=self.coordinates)


class ConstantsSweep(Sweep, frozen=True, kw_only=True):
    iterations: Count = 1000
    estimators: OneOrMore[EstimatorName] = ("full",)
    batch_size: Size | None = None
    coordinates: Size | None = None

    def tasks(self, problem: Any) -> Iterator[AnyTask]:
        names = tuple(each(self.estimators))
        samplings(names, self.batch_size, self.coordinates)
        yield Constants(
            problem=problem,
            estimators=names,
            batch_size=self.batch_size,
            coordinates=self.coordinates,
            iterations=self.iterations,
        )


SWEEPS: dict[str, type[Sweep]] = {
    "solve": SolveSweep,
    "trajectory": TrajectorySweep,
    "boosting-step": BoostingStepSweep,
    "cost": CostSweep,
    "facts": FactsSweep,
    "constants": ConstantsSweep,
}
"""By the name in ``task = "..."``."""


def each(value: OneOrMore[Item]) -> list[Item]:
    """A value where a list may be given: one of them stands for a list of one. Repeated values count once."""
    return list(dict.fromkeys(value)) if isinstance(value, tuple) else [value]


def samplings(
    estimators: Iterable[str], batch_size: Size | None, coordinates: Size | None
) -> dict[str, dict[str, Any]]:
    """For each estimator how much it draws; ValueError for what none of them takes."""
    found = {name: drawn(name, batch_size, coordinates) for name in estimators}
    for name, value in (("batch_size", batch_size), ("coordinates", coordinates)):
        if value is not None and not any(name in sampling for sampling in found.values()):
            raise ValueError(f"{name} means nothing to the estimators {', '.join(found)}; leave it out.")
    return found


def _methods(sweep: SolveSweep | TrajectorySweep, estimator: str) -> Iterator[dict[str, Any]]:
    names = each(sweep.methods)
    if "boosted" in names:
        yield from _boosted(sweep, estimator)
    if "vanilla" in names:
        yield {"max_rounds": 1, "min_gain": BASELINE_GAIN, "step": sweep.step}


def _boosted(sweep: SolveSweep | TrajectorySweep | BoostingStepSweep, estimator: str) -> Iterator[dict[str, Any]]:
    for max_rounds in each(sweep.max_rounds):
        for min_gain in each(sweep.min_gain):
            for decay in each(sweep.decays):
                if decay == "horizon":
                    decay = "auto" if estimator == "heavy-ball" else "stochastic-horizon"
                yield {"max_rounds": max_rounds, "min_gain": min_gain, "decay": decay, "step": sweep.step}
