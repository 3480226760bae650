"""The corrective engine on any set: atoms are points, their images the columns of a matrix, x lies in their hull."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..boosting import Direction
from ..objectives.linear_model import LinearModel
from ..steps import Move
from .correction import Corrector, Point, Region
from .engine import IDLE, LEAST_ROUNDS, MIN_GAIN
from .images import DenseImages

if TYPE_CHECKING:
    from ..solver import Limits, Solver, State


class HullEngine:
    """Runs the iterations of one `State` on any set with an LMO; meant for polytopes, whose atoms are finitely many.

    The same method as `CorrectiveEngine`, with weights on the simplex: x = sum_k w_k v_k. The state's memory holds the
    atoms as rows of a dense array and their weights; equal atoms are one. The first atom is the start.
    """

    name = "corrective"

    def __init__(self, solver: Solver, state: State) -> None:
        assert isinstance(solver.objective, LinearModel)
        self.solver, self.objective = solver, solver.objective
        self.corrector = Corrector(self.objective, Region(signed=False, equal=True, radius=1.0))
        self.rounds = solver.constraint.suggested_rounds
        if not state.memory:
            start = np.asarray(state.x, dtype=np.float64).reshape(1, -1) + 0.0  # no -0.0, which is equal but for bits
            state.memory = {"atoms": start, "weights": np.ones(1), "multiplier": np.zeros(1)}
        self.memory = state.memory
        self._images = DenseImages(np.column_stack([self._image(atom) for atom in self.memory["atoms"]]))
        self._point: Point | None = None
        self._value = math.nan
        self._g = np.empty(0)

    def look(self, state: State) -> Direction | None:
        """Full gradient, exact gap and Boost."""
        started = time.perf_counter()
        with self.objective.counting(state.counts):
            self._point = self.corrector.point(self._images, self.memory["weights"])
            self._value = self.corrector.value(self._point.z)
            self.objective.counts.full_gradients += 1
        slopes = self._point.slopes / self.objective.n_samples
        self._g = np.asarray(self.objective.combine_rows(slopes), dtype=np.float64)
        direction = None
        if np.isfinite(self._g).all():
            rounds = min(self.rounds, max(LEAST_ROUNDS, len(self.memory["weights"])))
            direction = self.solver.constraint.boost(self._g, self._x(), rounds, MIN_GAIN)
            state.lmo_calls += direction.rounds
        state.seconds += time.perf_counter() - started
        return direction

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms join and correct the weights."""
        started = time.perf_counter()
        memory = self.memory
        assert self._point is not None
        self._join(direction)
        start = Point(memory["weights"], self._point.z, self._point.slopes)
        with self.objective.counting(state.counts):
            point, multiplier, length = self.corrector.correct(
                self._images, np.ones(len(memory["weights"])), start, float(memory["multiplier"][0]), direction.gap,
                self._value,
            )  # fmt: skip
        memory["weights"], memory["multiplier"] = point.x, np.array([multiplier])
        self._point = None
        state.iteration += 1
        state.seconds += time.perf_counter() - started
        return 1.0, Move(length, False, length)

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Nothing: an iteration is large, the solver judges each."""

    def publish(self, state: State) -> None:
        """Write x as an array into the state."""
        state.x = self._x().astype(self.objective.dtype)

    def estimate(self, state: State) -> Array:
        """The gradient."""
        return self._g

    def extras(self) -> dict[str, Any]:
        """Fields of the result: none. A set without a radius has no multiplier."""
        return {}

    def _x(self) -> Array:
        return (self.memory["weights"] @ self.memory["atoms"]).reshape(self.solver.shape)

    def _image(self, atom: Array) -> Array:
        return np.asarray(self.objective.margins(atom.reshape(self.solver.shape)), dtype=np.float64)

    def _join(self, direction: Direction) -> None:
        """Let the atoms that Boost visited join, drop idle ones if they are many."""
        memory = self.memory
        atoms, weights, images = list(memory["atoms"]), list(memory["weights"]), list(self._images.array.T)
        kept = range(len(weights))
        if np.count_nonzero(memory["weights"] == 0.0) > IDLE * len(weights):
            kept = [k for k in kept if weights[k] != 0.0]  # type: ignore[assignment]
            atoms, weights, images = ([part[k] for k in kept] for part in (atoms, weights, images))
        known = {atom.tobytes() for atom in atoms}
        for vertex in (direction.vertex, *direction.vertices):
            atom = vertex.dense(np.float64).ravel() + 0.0
            if atom.tobytes() not in known:
                known.add(atom.tobytes())
                atoms.append(atom)
                weights.append(0.0)
                images.append(self._image(atom))
        memory["atoms"], memory["weights"] = np.array(atoms), np.array(weights)
        self._images = DenseImages(np.column_stack(images))
