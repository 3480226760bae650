"""The corrective engine on any set: atoms are points, their images the columns of a matrix, x lies in their hull."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array, inner, kind
from ...active_set import ActiveSet, as_atom
from ...boosting import Direction
from ...objectives.linear_model import LinearModel
from ...plan import Plan
from ...state import State
from ...steps import Move
from ..base import Engine
from ..starts import start_on_arrays
from .correction import Corrector, Region
from .engine import LEAST_ROUNDS, MIN_GAIN
from .functions import Smooth
from .oracle import FINE, InMemory
from .outer import Outer, Point, outer_of


class HullEngine(Engine):
    """Runs the iterations of one `State` on any set with an LMO; meant for polytopes, whose atoms are finitely many.

    The same method as `CorrectiveEngine`, with weights on the simplex: x = sum_k w_k v_k. The first atom is the start.
    The state's memory holds the active set.

    Attributes
    ----------
    active : ActiveSet or None
        The atoms of x and their weights; None before the first gradient.
    """

    name = "hull"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self.f = self.objective = plan.objective  # F keeps the intercept
        linear = isinstance(self.objective, LinearModel)
        self.outer: Outer = outer_of(self.objective) if linear else Smooth(self.objective, plan.shape)
        self.corrector = Corrector(Region(signed=False, equal=True, radius=1.0))
        self.rounds = plan.constraint.suggested_rounds
        self.active: ActiveSet | None = None
        self._x = np.asarray(state.x, dtype=np.result_type(self.objective.dtype, np.float64))
        self._by_key: dict[str, Any] = {}
        self._images = self.outer.stack([""], [self.outer.image(self._x)])
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
            self.outer.restore(state.memory)
            self._renew()
        self._point: Point | None = None
        self._scale = math.nan
        self._g = np.empty(0)

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """At the origin itself if that lies in C."""
        state = start_on_arrays(plan, x0, rng, at_origin=True)
        if not isinstance(state.x, np.ndarray):
            raise ValueError(
                f"the corrective method works on NumPy arrays, but x0 is one of {kind(state.x)}; give the problem as "
                "NumPy arrays, or use method='boosted'."
            )
        return state

    def _look(self, state: State) -> Direction | None:
        """Full gradient, exact gap and Boost."""
        weights = np.ones(1) if self.active is None else self.active.weights
        self._point = InMemory(self.outer, self._images).point(weights)
        self._g = self.outer.gradient(self._point.slopes)
        if not np.isfinite(self._g).all():
            return None
        # f may be zero or less: what counts is the size of the numbers that it is made of.
        self._scale = max(abs(self.outer.value(self._point.z)), abs(inner(self._g, self._x)))
        rounds = min(self.rounds, max(LEAST_ROUNDS, len(weights)))
        direction = self.plan.constraint.boost(self._g, self._x, rounds, MIN_GAIN)
        state.lmo_calls += direction.rounds
        if self.active is None:
            self.active = ActiveSet(self.plan.shape, self._x.dtype)
            self.active.add(as_atom(self._x, direction.vertex), 1.0)
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms join, correct the weights, and let atoms without weight leave."""
        assert self._point is not None and self.active is not None
        for vertex in (direction.vertex, *direction.vertices):
            self.active.add(vertex, 0.0)
        self._renew()
        start = Point(self.active.weights, self._point.z, self._point.slopes)
        g = self._images.adjoint(start.slopes)
        oracle = InMemory(self.outer, self._images, direction.gap <= FINE * self._scale)
        point, length = self.corrector.correct(
            oracle, np.ones(len(self.active)), start, g, direction.gap, self._scale
        )  # fmt: skip
        self.active.weights = point.x.copy()
        self.active.tidy()
        self._renew()
        self._point = None
        state.iteration += 1
        return 1.0, Move(length, False, length)

    def publish(self, state: State) -> None:
        """Write x as an array into the state, and the active set into its memory."""
        state.x = self._x.astype(self.objective.dtype)
        if self.active is not None:
            state.memory = {**self.active.to_arrays(), **self.outer.kept()}

    def estimate(self, state: State) -> Array:
        """The gradient."""
        return self._g

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the active set. A set without a radius has no multiplier."""
        return {"active_set": self.active}

    def _renew(self) -> None:
        """x and the images of the atoms, in their order; those that are known are not computed again."""
        assert self.active is not None
        self._by_key = {
            key: self._by_key[key] if key in self._by_key else self.outer.image_of(self.active.atom(position))
            for position, key in enumerate(self.active.keys)
        }
        self._images = self.outer.stack(list(self._by_key), list(self._by_key.values()))
        self._x = self.active.point()
