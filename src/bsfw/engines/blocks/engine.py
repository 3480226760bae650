"""The corrective engine on blocks, on sets with one-hot vertices: columns of the data are the images of the atoms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ...active_set import ActiveSet
from ...blocks import Blocks
from ...boosting import Direction
from ...constraints.one_hot import OneHotConstraint
from ...objectives.partitioned import PartitionedModel
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import OneHot
from ..base import Engine
from ..corrective.correction import Corrector, Region
from ..corrective.engine import FIRST_ROUNDS, LEAST_ROUNDS, MIN_GAIN, REGIONS, one_hots
from ..starts import start_on_arrays
from .oracle import BlockOracle, BlockPoint
from .tasks import pick


class BlockCorrection(Engine):
    """What both corrective engines on blocks share: a full pass, Boost on its gradient, Newton steps on the atoms.

    The state's memory holds the active set and the intercept; everything else is asked anew, so that a run goes on to
    the same bits on another number of threads or machines.

    Attributes
    ----------
    active : ActiveSet or None
        The atoms of x and their weights.
    """

    def __init__(self, plan: Plan, state: State, region: Region) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, PartitionedModel)
        self.f = self.objective = plan.objective  # the engine keeps the intercept
        self.corrector = Corrector(region)
        self._chosen: Blocks | None = None
        self._intercept: Any = None
        if "intercept" in state.memory:
            kept = np.asarray(state.memory["intercept"])
            self._intercept = kept if len(kept) > 1 else float(kept[0])
        self._x = np.asarray(state.x, dtype=np.float64)
        self._value, self._g = math.nan, np.empty(0)

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """At the origin itself if that lies in C."""
        return start_on_arrays(plan, x0, rng, at_origin=True)

    def _full_pass(self) -> bool:
        """f, the gradient and the best intercept at x; False if they are not finite."""
        counts = self.objective.counts
        counts.sample_gradients += self.objective.n_samples
        counts.full_gradients += 1
        counts.function_values += 1
        self._value, self._g, self._intercept = self.objective.full_pass(self._x, self._intercept)
        return bool(np.isfinite(self._g).all())

    def _correct(self, chosen: Blocks, weights: Array, x: Array, g: Array, gap: float) -> tuple[Array, float]:
        """Newton steps on the weights x of the atoms, at which the slopes are g; the new ones, and the last length."""
        at = 0.0 if self._intercept is None else self._intercept
        own = np.zeros(0 if self._intercept is None else np.size(at))  # the intercept is the best one
        oracle = BlockOracle(self.objective, chosen)
        point, length = self.corrector.correct(
            oracle, weights, BlockPoint(x, at, self._value, g, own), g, gap, self._value
        )  # fmt: skip
        self._intercept = None if self._intercept is None else point.intercept
        return point.x, length

    def _choose(self, chosen: Blocks) -> None:
        """Other atoms."""
        if self._chosen is not None:
            self._chosen.release()
        self._chosen = chosen

    def publish(self, state: State) -> None:
        """Write x as an array into the state, the active set and the intercept into its memory. O(n)."""
        state.x = self._x.reshape(self.plan.shape).copy()
        state.memory = {} if self._intercept is None else {"intercept": np.atleast_1d(self._intercept)}

    def estimate(self, state: State) -> Array:
        """The gradient."""
        return self._g


class BlockEngine(BlockCorrection):
    """Runs the iterations of one `State` on an l1 ball, weighted or not, or a simplex: see `CorrectiveEngine`."""

    name = "blocks"

    def __init__(self, plan: Plan, state: State) -> None:
        assert isinstance(plan.constraint, OneHotConstraint)
        kind, self._weights = plan.constraint.one_hot_rule()
        super().__init__(plan, state, Region(*REGIONS[kind], plan.constraint.radius))
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
        else:
            support = np.flatnonzero(self._x)
            self.active = self._atoms(support, self._x.ravel()[support])
        self._settle()
        self._coordinates = np.empty(0, dtype=np.int64)

    def _settle(self) -> None:
        """x from the active set."""
        self._support, values = self.active.nonzeros()
        self._x = np.zeros(self.plan.dimension)
        self._x[self._support] = values
        self._x = self._x.reshape(self.plan.shape)

    def _look(self, state: State) -> Direction | None:
        """Full pass, exact gap and Boost."""
        if not self._full_pass():
            return None
        rounds = max(LEAST_ROUNDS, min(FIRST_ROUNDS, self.plan.dimension // 4), 2 * len(self._support))
        direction = self.plan.constraint.boost(self._g, self._x, rounds, MIN_GAIN)
        state.lmo_calls += direction.rounds
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms that Boost visited join, correct the weights, and let atoms without weight leave."""
        visited = [vertex.index for vertex in (*direction.vertices, direction.vertex) if isinstance(vertex, OneHot)]
        joined = np.union1d(self._support, np.array(visited, dtype=np.int64))
        if self._chosen is None or not np.array_equal(joined, self._coordinates):
            shape = self.plan.shape
            features, classes = (joined, None) if len(shape) == 1 else np.divmod(joined, shape[1])
            self._choose(self.objective.blocks.derive(pick, self.objective.loss, features, classes))
            self._coordinates = joined
        assert self._chosen is not None
        x, length = self._correct(
            self._chosen, self._atom_weights(joined), self._x.ravel()[joined], self._g.ravel()[joined], direction.gap
        )
        self.active = self._atoms(joined, x)
        self._settle()
        state.iteration += 1
        return 1.0, Move(length, False, length)

    def publish(self, state: State) -> None:
        super().publish(state)
        state.memory |= self.active.to_arrays()

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the active set, and the multiplier of the constraint."""
        g = self.objective.full_pass(self._x, self._intercept)[1].ravel()[self._support]
        multiplier = self.corrector.region.multiplier(g, self._x.ravel()[self._support])
        return {"multiplier": multiplier, "active_set": self.active}

    def _atoms(self, coordinates: Array, x: Array) -> ActiveSet:
        """x on these coordinates as a convex combination of vertices, and of the origin if it lies inside."""
        return one_hots(self.corrector.region, self.plan.shape, self._atom_weights(coordinates), coordinates, x)

    def _atom_weights(self, coordinates: Array) -> Array:
        return np.ones(len(coordinates)) if self._weights is None else self._weights[coordinates]
