"""The reference engine: Algorithm BSFW as printed, on arrays. The others are tested equal to it."""

from __future__ import annotations

import math

from .._arrays import norm
from ..boosting import Direction
from ..state import State
from ..steps import Move
from ..vertices import move
from .base import Engine, Offer


class ReferenceEngine(Engine):
    """One iteration at a time, for every objective, set and estimator."""

    name = "reference"

    def _look(self, state: State) -> Direction | None:
        plan, t, x = self.plan, state.iteration, state.x
        self._refit(state)
        if t == 0:
            state.m, state.memory = plan.estimator.init(self.f, x, state.rng)
        else:
            assert state.m is not None and state.x_previous is not None
            state.m = plan.estimator.update(
                self.f, x, state.x_previous, t, state.m, state.memory, state.rng
            )  # fmt: skip
        if not math.isfinite(norm(state.m)):
            return None
        direction = plan.constraint.boost(state.m, x, plan.max_rounds, plan.min_gain)
        state.lmo_calls += direction.rounds
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        eta = self.plan.eta(state.iteration)
        chosen = self.plan.step(self.f, state.x, direction, eta)
        state.x_previous = state.x
        if chosen.boosted:
            state.x = move(state.x, chosen.length, direction.vertices, direction.weights)
        else:
            state.x = move(state.x, chosen.length, [direction.vertex], [1.0])
        state.boosted_steps += chosen.boosted
        state.iteration += 1
        return eta, chosen


OFFER = Offer("reference", ("boosted",), lambda plan: None, lambda: ReferenceEngine)
