"""A run of a method: what the curves of the paper's figures are made of."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import Meta

from ...decays import DECAYS
from ...estimators import ESTIMATORS
from ...steps import STEPS
from .. import limits, problems
from ..problems import Problem
from ..schema import Checked, Count, Number, Text
from .base import Data, Size, Task

if TYPE_CHECKING:
    from ...results import Result
    from ...solver import Solver
    from ...state import State

    EstimatorName: TypeAlias = str
    DecayName: TypeAlias = str
    StepName: TypeAlias = str
else:
    EstimatorName = Literal[tuple(ESTIMATORS)]
    DecayName = Literal[("auto", *DECAYS)]
    StepName = Literal[("auto", *STEPS)]

Direction = Literal["boosted", "corrective", "away", "pairwise", "blended-pairwise", "conjugate", "biconjugate"]
"""`method` of `bsfw.Solver`; vanilla Frank-Wolfe is "boosted" with one round."""

Gain = Annotated[float, Meta(gt=0, le=1, description="a number in ]0, 1]")]

_Whole = Annotated[int, Meta(ge=0, le=2**62)]
_ROWS = Meta(min_length=1, max_length=limits.ROWS + 2)
Wholes = Annotated[tuple[_Whole, ...], _ROWS]
Numbers = Annotated[tuple[Number, ...], _ROWS]
Gaps = Annotated[tuple[Number | None, ...], _ROWS]
"""Numbers of which some are nan."""


class Columns(Checked, frozen=True, kw_only=True):
    """Columns of a `bsfw.Trace`, all of one length; the last iterate takes no step: 0 rounds and no gamma."""

    iteration: Wholes
    value: Numbers
    gap: Gaps
    gap_exact: Annotated[tuple[bool, ...], _ROWS]
    rounds: Wholes
    gamma: Gaps
    sample_gradients: Wholes
    coordinate_gradients: Wholes
    lmo_calls: Wholes
    seconds: Numbers

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, name)) for name in self.__struct_fields__}
        if len(lengths) > 1:
            raise ValueError(f"the columns of the trace have the lengths {', '.join(map(str, sorted(lengths)))}.")
        for name in ("iteration", "sample_gradients", "coordinate_gradients", "lmo_calls", "seconds"):
            steps = np.diff(getattr(self, name))
            if (steps < 0).any() or (name == "iteration" and (steps == 0).any()):
                raise ValueError(f"the column {name} of the trace does not increase.")


class Ending(Checked, frozen=True, kw_only=True):
    """Fields of a `bsfw.Result`."""

    fun: Number
    gap: Number | None
    gap_exact: bool
    nit: int
    boosting_percentage: Annotated[float, Meta(ge=0, le=100)] | None
    seconds: Number
    status: Text


class Solved(Data, frozen=True, kw_only=True, tag="solve"):
    """Trace, metrics by name (each as long as the trace) and end of a run."""

    trace: Columns
    metrics: dict[Text, Gaps]
    result: Ending

    def __post_init__(self) -> None:
        for name, column in self.metrics.items():
            if len(column) != len(self.trace.iteration):
                raise ValueError(f"the metric {name} has another length than the trace.")

    def column(self, name: str) -> np.ndarray:
        """A column of the trace, or a metric, as numbers; None is nan."""
        values = getattr(self.trace, name) if name in self.trace.__struct_fields__ else self.metrics[name]
        return np.array(values, dtype=float)


class Solve(Task, frozen=True, kw_only=True, tag="solve"):
    """One run of BSFW, of vanilla SFW (one round), or of a method with an active set.

    Attributes
    ----------
    estimator : str
        A name of `bsfw.estimators.ESTIMATORS`.
    batch_size, coordinates : int, float or None
        What it draws, of which it takes one.
    method : str
        As `bsfw.Solver` calls it.
    max_rounds, min_gain, decay, step
        K, delta, eta_t and the rule for gamma_t.
    iterations : int
        T.
    record_every : int
        Iterations between two rows of the trace.
    """

    estimator: EstimatorName
    batch_size: Size | None = None
    coordinates: Size | None = None
    method: Direction = "boosted"
    max_rounds: Count
    min_gain: Gain = 1e-4
    decay: DecayName = "auto"
    step: StepName = "auto"
    iterations: Count
    record_every: Count

    def __post_init__(self) -> None:
        if self.iterations // self.record_every > limits.ROWS:
            raise ValueError(
                f"{self.iterations:,} iterations, one of {self.record_every:,} recorded, are more than {limits.ROWS:,} "
                "rows a run; choose a larger record_every."
            )

    def __str__(self) -> str:
        method: str = self.method
        if method == "boosted":
            method = "vanilla" if self.max_rounds == 1 else f"boosted, delta {self.min_gain:g}"
        return f"{super().__str__()}, {self.estimator}, {method}, seed {self.seed}"

    def parts(self) -> tuple[Problem, Solver]:
        """Problem and solver; ValueError if they do not fit together."""
        from ...solver import Solver

        problem = problems.build(self.problem, self.seed)
        solver = Solver(
            problem.objective,
            problem.constraint,
            ESTIMATORS[self.estimator](**drawn(self.estimator, self.batch_size, self.coordinates)),
            method=self.method,
            max_rounds=self.max_rounds,
            min_gain=self.min_gain,
            decay=self.decay,
            step=self.step,
            horizon=self.iterations,
        )
        return problem, solver

    def run(self) -> Solved:
        from ...results import Status
        from ...state import Limits, Schedule

        problem, solver = self.parts()
        self._warm_up(problem, solver)
        state = start(problem, solver, self.seed)
        metrics: dict[str, list[float]] = {name: [] for name in problem.metrics}

        def measure(result: Result) -> None:
            for name, values in metrics.items():
                values.append(float(problem.metrics[name](result.x)))

        schedule = Schedule(self.record_every)
        result = solver.run(state, Limits(self.iterations), schedule, callback=measure if metrics else None)
        if result.status is Status.NUMERICAL_FAILURE:
            raise ArithmeticError(result.message)
        measure(result)  # the row of the last iterate comes without a callback
        return solved(result, metrics)

    def _warm_up(self, problem: Problem, solver: Solver) -> None:
        """A few iterations off the clock, once per process, problem and kind of run.

        What is compiled, or derived from the data once (a CSC copy, say), is then not in the seconds of a run.
        """
        from ...state import Limits, Schedule

        kind = (self.method, self.max_rounds > 1, self.estimator, self.decay, self.step)
        if kind not in _warm.setdefault(problem, set()):
            x0 = None if problem.start is None else problem.start(np.random.default_rng(0))
            solver.run(solver.init(x0, 0), Limits(4), Schedule(3))
            _warm[problem].add(kind)


_warm: WeakKeyDictionary[Problem, set[tuple[Any, ...]]] = WeakKeyDictionary()


def drawn(estimator: str, batch_size: Size | None, coordinates: Size | None) -> dict[str, Any]:
    """What an estimator draws an iteration, of the two that which it takes; its own default where nothing is given."""
    given = {"batch_size": batch_size, "coordinates": coordinates}
    own = {field.name: field.default for field in fields(ESTIMATORS[estimator]) if field.name in given}
    return {name: default if given[name] is None else given[name] for name, default in own.items()}


def start(problem: Problem, solver: Solver, seed: int) -> State:
    """The state at x^0, with the generators of this seed."""
    streams = problems.streams(seed)
    return solver.init(None if problem.start is None else problem.start(streams["start"]), streams["batches"])


def solved(result: Result, metrics: dict[str, list[float]]) -> Solved:
    """What is kept of a result."""

    def plain(values: Any) -> tuple[Any, ...]:
        return tuple(None if value != value else value for value in values)

    columns = {name: plain(result.trace[name].tolist()) for name in Columns.__struct_fields__}
    ending = {name: plain([result[name]])[0] for name in Ending.__struct_fields__ if name != "status"}
    return Solved(
        trace=Columns(**columns),
        metrics={name: plain(values) for name, values in metrics.items()},
        result=Ending(**ending, status=result.status.name),
    )
