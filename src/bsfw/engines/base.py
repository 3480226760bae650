"""The contract of an engine: who carries out the iterations of a plan. The solver's loop asks nothing else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, host_dtype, inner, norm
from ..boosting import Direction
from ..constraints.base import Constraint
from ..estimators.base import BatchEstimator, CoordinateEstimator
from ..objectives.base import Objective
from ..phases import Check
from ..plan import Plan
from ..state import Limits, State
from ..steps import Move
from ..vertices import Vertex
from .starts import clock, start_on_arrays


class Engine(ABC):
    """Carries out the iterations of one run: `look` and `advance` are an iteration, `forward` may be many.

    A subclass implements `_look`, `_advance` and what of the rest differs from a run on arrays. This class keeps the
    clock (`state.seconds`) and the counts (`state.counts`): nothing of a subclass reads either.

    Parameters
    ----------
    plan : Plan
        What the run is; `refusal` of the engine's `Offer` has been asked.
    state : State
        A new one of `start`, or a restored one, whose `memory` holds what `publish` left there.
    """

    name: ClassVar[str]
    on_arrays: ClassVar[bool] = True
    """Whether `state.x` is an array, with which another engine can go on."""
    from_any_start: ClassVar[bool] = True
    """Whether it can go on with any x in C that another engine left."""

    def __init__(self, plan: Plan, state: State) -> None:
        self.plan, self.f = plan, plan.objective.for_run()
        if "offset" in state.memory:
            self.f.offset = np.asarray(state.memory.pop("offset"))

    # What a subclass implements.

    @abstractmethod
    def _look(self, state: State) -> Direction | None: ...

    @abstractmethod
    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]: ...

    def _forward(self, state: State, until: int, limits: Limits) -> Iterator[None]:
        yield from ()

    @property
    def counted(self) -> Objective:
        """The objective whose calls are counted: that of the run, `Objective.for_run`."""
        return self.f

    # What the loop asks.

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """The state at x^0 = lmo(m_init), counted, or at the given `x0`, checked."""
        return start_on_arrays(plan, x0, rng)

    def prepare(self, announce: Callable[[], None]) -> None:  # noqa: B027  # most engines have nothing to compile
        """Compile what the run needs before its first iteration; `announce` is called if that takes a while.

        What is compiled later is announced and taken off the clock as well."""

    def look(self, state: State) -> Direction | None:
        """Lines 3-30 of Algorithm BSFW (Full): the estimate m^t and Boost. None if m^t is not finite."""
        with self._clock(state):
            return self._look(state)

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Lines 31-38 of Algorithm BSFW (Full): gamma_t and x^{t+1}. Returns eta_t and the step taken."""
        with self._clock(state):
            return self._advance(state, direction)

    def forward(
        self, state: State, until: int, limits: Limits, stop: Callable[[], bool] = lambda: False
    ) -> None:  # fmt: skip
        """Iterate without looking up, to x^until at most; end before whatever the solver must judge.

        `_forward` yields after each part of at most some hundredths of a second, so that the clock is looked at, and
        `stop` asked whether somebody wants an end.
        """
        parts = self._forward(state, until, limits)
        ended = object()
        while True:
            with self._clock(state):
                part = next(parts, ended)
            if part is ended or stop() or (limits.max_seconds is not None and state.seconds >= limits.max_seconds):
                return

    def publish(self, state: State) -> None:  # noqa: B027  # where the state's arrays are the engine's own
        """Make sure that `state.x` is x^t and `state.memory` what a restored engine needs."""

    def estimate(self, state: State) -> Array:
        """m^t as an array."""
        assert state.m is not None
        return state.m

    def check(self, state: State, vertex: Vertex | None = None) -> Check:
        """A bound of the exact gap at a published x^t, and the error of an estimate with this vertex (nan without one).

        Off the clock, and counted apart. nan if the gradient is not finite, or the gap negative beyond rounding.
        """
        plan, x = self.plan, state.x
        with plan.objective.counting(state.check_counts):
            gradient = plan.objective.precise_gradient(x)
        if not math.isfinite(norm(gradient)):
            return Check(math.nan, math.nan)
        state.check_lmo_calls += 1
        best = plan.constraint.lmo(gradient)
        error = math.nan if vertex is None else vertex.inner(gradient) - best.inner(gradient)
        return Check(gap_bound(plan.constraint, gradient, x, best), error)

    @property
    def exact_gaps(self) -> bool:
        """Whether the gap of a direction is that of x^t up to rounding, without a `check`."""
        return self.plan.estimator.exact and self.plan.constraint.solves_exactly(self.plan.shape)

    def extras(self) -> dict[str, Any]:
        """Fields of the result that only this engine knows."""
        return {}

    def save(self, state: State) -> dict[str, Any]:
        """The arrays of a state for a checkpoint, by name."""
        self.publish(state)
        kept = {"x": state.x, "x_previous": state.x_previous, "m": state.m}
        kept |= {f"memory.{name}": table for name, table in state.memory.items()} | {"memory.offset": self.f.offset}
        return {name: array for name, array in kept.items() if array is not None}

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        """The fields of a `State` from the arrays that `save` gave, or a ValueError if they cannot be such."""
        memory = {name.removeprefix("memory."): arrays[name] for name in arrays if name.startswith("memory.")}
        fields = {name: arrays.get(name) for name in ("x", "x_previous", "m")}
        for name, array in fields.items():
            if (array is None and name == "x") or (array is not None and tuple(array.shape) != plan.shape):
                raise ValueError(f"the checkpoint has no {name} of the shape {plan.shape}; start the run anew.")
        return {**fields, "memory": memory}

    def _refit(self, state: State) -> None:
        """Fit what f has beside x: to every x^t of an exact gradient, else once per pass over the data."""
        if self.f.intercept and (self.f.offset is None or state.iteration % self._pass_length == 0):
            self.f.refit(state.x)

    @property
    def _pass_length(self) -> int:
        estimator, plan = self.plan.estimator, self.plan
        if isinstance(estimator, BatchEstimator) and plan.objective.n_samples is not None:
            return -(-plan.objective.n_samples // estimator.batch(plan.objective.n_samples))
        if isinstance(estimator, CoordinateEstimator):
            return -(-plan.dimension // estimator.size(plan.dimension))
        return 1

    @contextmanager
    def _clock(self, state: State) -> Iterator[None]:
        """Time and count what happens inside as the algorithm's, but for compilation."""
        started = clock()
        try:
            with self.counted.counting(state.counts):
                yield
        finally:
            state.seconds += clock() - started


def gap_bound(constraint: Constraint, gradient: Array, x: Array, vertex: Vertex) -> float:
    """An upper bound of max over C of <gradient, x - v>, with what rounding can have taken from it; `vertex` is lmo's.

    A sum of n products in the precision eps is right to 4 sqrt(n) eps times the sum of their magnitudes, but for odds
    of less than 1e-10 (Higham and Mary, 2019, with lambda = 8); that sum is at most ||gradient|| (||x|| + ||vertex||).
    The gradient itself is taken to be right to eps of its own precision, relative to its norm.
    """
    own = float(np.finfo(host_dtype(gradient)).eps)
    if isinstance(x, np.ndarray):
        wide = np.result_type(x, np.float64)
        gradient, x = gradient.astype(wide), x.astype(wide)
    size = norm(gradient) * (norm(x) + math.sqrt(vertex.norm_squared()))
    rounding = (4.0 * math.sqrt(math.prod(x.shape)) + 8.0) * float(np.finfo(host_dtype(x)).eps) + own
    return not_negative(inner(gradient, x) - constraint.lower_bound(gradient, vertex) + rounding * size, size, x)


def not_negative(gap: float, size: float, x: Array) -> float:
    """`gap`, an upper bound, or 0 where it is below by the drift of x: no gap of a point of C is negative. nan where it
    is below by more, for then x is outside of C or an oracle is wrong.

    The root of eps, times the `size` of what the gap is a difference of, is far more than x drifts in long runs.
    """
    drift = math.sqrt(float(np.finfo(host_dtype(x)).eps)) * size
    return float(max(gap, 0.0)) if gap >= -drift else math.nan


@dataclass(frozen=True)
class Offer:
    """An engine, and what it can do, known without loading its compiled code.

    Attributes
    ----------
    name : str
        As in `Solver(engine=...)` and in checkpoints.
    methods : tuple of str
        Those of `bsfw.plan.METHODS` that it carries out.
    refusal : callable
        From a plan to the sentence why it cannot carry it out, or None if it can.
    load : callable
        The class.
    lazy : bool
        Whether it carries out lazy plans, and only these.
    """

    name: str
    methods: tuple[str, ...]
    refusal: Callable[[Plan], str | None]
    load: Callable[[], type[Engine]]
    lazy: bool = False
