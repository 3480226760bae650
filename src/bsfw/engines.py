"""Engines: who carries out the iterations. The reference is Algorithm BSFW as printed, others are tested equal."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Protocol

from . import compiled, factored
from ._arrays import Array, norm
from .boosting import Direction
from .steps import LineSearch, Move
from .vertices import move

if TYPE_CHECKING:
    from .solver import Solver
    from .state import Limits, State


class Engine(Protocol):
    """What the solver's loop asks. All times go to `state.seconds`, all counts to the state's counters."""

    name: str

    def look(self, state: State) -> Direction | None:
        """Lines 3-30 of Algorithm BSFW (Full): the estimate m^t and Boost. None if m^t is not finite."""

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Lines 31-38 of Algorithm BSFW (Full): gamma_t and x^{t+1}. Returns eta_t and the step taken."""

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Iterate without looking up, to x^until at most; stop before whatever the solver must judge."""

    def publish(self, state: State) -> None:
        """Make sure that `state.x` is the array of this iteration."""

    def estimate(self, state: State) -> Array:
        """m as an array."""

    def extras(self) -> dict[str, Any]:
        """Fields of the result that only this engine knows."""


class ReferenceEngine:
    """One iteration at a time, on arrays, for every objective, set and estimator."""

    name = "reference"

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def look(self, state: State) -> Direction | None:
        started = time.perf_counter()
        solver, t, x = self.solver, state.iteration, state.x
        with solver.objective.counting(state.counts):
            if t == 0:
                state.m, state.memory = solver.estimator.init(solver.objective, x, state.rng)
            else:
                assert state.m is not None and state.x_previous is not None
                state.m = solver.estimator.update(
                    solver.objective, x, state.x_previous, t, state.m, state.memory, state.rng
                )
        direction = None
        if math.isfinite(norm(state.m)):
            direction = solver.constraint.boost(state.m, x, solver.max_rounds, solver.min_gain)
            state.lmo_calls += direction.rounds
        state.seconds += time.perf_counter() - started
        return direction

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        started = time.perf_counter()
        eta = self.solver.eta(state.iteration)
        with self.solver.objective.counting(state.counts):
            chosen = self.solver.step_rule(self.solver.objective, state.x, direction, eta)
        state.x_previous = state.x
        if chosen.boosted:
            state.x = move(state.x, chosen.length, direction.vertices, direction.weights)
        else:
            state.x = move(state.x, chosen.length, [direction.vertex], [1.0])
        state.boosted_steps += chosen.boosted
        state.iteration += 1
        state.seconds += time.perf_counter() - started
        return eta, chosen

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Nothing: the solver's own loop is as fast."""

    def publish(self, state: State) -> None:
        """Nothing: the state's arrays are the engine's own."""

    def estimate(self, state: State) -> Array:
        assert state.m is not None
        return state.m

    def extras(self) -> dict[str, Any]:
        return {}


def choose_engine(solver: Solver, state: State, wanted: str) -> Engine:
    """The engine of this phase: its method's, the one it began with, the one `wanted`, or the fastest that fits."""
    if solver.method == "corrective":
        from .corrective import corrective_engine

        return corrective_engine(solver, state)
    if solver.method != "boosted":
        from .active.engine import ActiveSetEngine

        assert isinstance(solver.step_rule, LineSearch)
        return ActiveSetEngine(solver, state, solver.method, solver.step_rule.kind)
    wanted = state.engine_name or wanted
    if wanted not in ("auto", "reference", "compiled", "factored"):
        raise ValueError(f"engine must be 'auto', 'reference', 'compiled' or 'factored', got {wanted!r}.")
    if wanted in ("auto", "factored") and factored.supports(solver):
        from .factored.engine import FactoredEngine

        return FactoredEngine(solver, state)
    if wanted == "factored":
        raise ValueError(
            "the factored engine is not available: it needs Numba, a MatrixCompletion objective, a NuclearBall or "
            "Spectraplex, and an estimator by batches or the exact gradient."
        )
    if wanted != "reference" and compiled.available():
        from .compiled.engine import CompiledEngine, supports

        if supports(solver):
            return CompiledEngine(solver, state)
    if wanted == "compiled":
        raise ValueError("the compiled engine is not available: it needs Numba, and a problem it has code for.")
    return ReferenceEngine(solver)
