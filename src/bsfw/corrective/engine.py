"""The corrective engine on sets with one-hot vertices: many atoms per gradient, and Newton steps on their weights."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array
from ..boosting import Direction
from ..compiled import layout, passes
from ..compiled.work import Model
from ..constraints.one_hot import OneHotConstraint
from ..objectives.linear_model import LinearModel
from ..steps import Move
from ..vertices import OneHot
from .correction import Corrector, Point, Region
from .images import DenseImages, Images, SparseImages

if TYPE_CHECKING:
    from ..solver import Limits, Solver, State

LEAST_ROUNDS, FIRST_ROUNDS, MIN_GAIN = 16, 64, 1e-6
"""K of Boost is at least the first, and as large as the active set; with many coordinates at least the second. And its
delta."""
IDLE = 0.2
"""Share of the active set that may have zero weight."""
SPARE = 128
"""Columns fetched from the data beside those asked for, and as many as these."""

_REGIONS = {
    layout.L1: (True, False),
    layout.WEIGHTED_L1: (True, False),
    layout.SIMPLEX: (False, True),
    layout.SOLID_SIMPLEX: (False, False),
}


class CorrectiveEngine:
    """Runs the iterations of one `State` on an l1 ball, weighted or not, or a simplex.

    An iteration is a full gradient with the exact gap, Boost, whose atoms all join the active set, and Newton steps on
    the weights of the active set. The state's memory holds the active coordinates in increasing order, x there, the
    multiplier, and whether the data are read by columns: only if the objective had them so when the run began, since a
    copy costs more than it saves.
    """

    name = "corrective"

    def __init__(self, solver: Solver, state: State) -> None:
        assert isinstance(solver.objective, LinearModel) and isinstance(solver.constraint, OneHotConstraint)
        self.solver, self.objective, self.constraint = solver, solver.objective, solver.constraint
        self.n, self.m = int(np.prod(solver.shape)), self.objective.n_samples
        kind, weights = self.constraint.one_hot_rule()
        self._weights = weights
        self.corrector = Corrector(self.objective, Region(*_REGIONS[kind], self.constraint.radius))
        if not state.memory:
            x = np.asarray(state.x, dtype=np.float64).ravel()
            support = np.flatnonzero(x)
            state.memory = {
                "coordinates": support,
                "values": x[support],
                "multiplier": np.zeros(1),
                "by_columns": np.array(["columns" in vars(self.objective)]),
            }
        self.memory = state.memory
        self._dense_x = np.zeros(self.n)
        self._held = np.empty(0, dtype=np.int64)
        self._point: Point | None = None
        self._value = math.nan
        self._g = np.empty(0)
        self._pool = np.empty(0, dtype=np.int64)
        self._pooled: SparseImages | None = None
        self._images = self._pick(self.memory["coordinates"])

    # What the solver asks.

    def look(self, state: State) -> Direction | None:
        """Full gradient, exact gap and Boost."""
        started = time.perf_counter()
        memory = self.memory
        with self.objective.counting(state.counts):
            self._point = self.corrector.point(self._images, memory["values"])
            self._value = self.corrector.value(self._point.z)
            self.objective.counts.full_gradients += 1
        self._g = self._gradient(self._point.slopes)
        direction = None
        if np.isfinite(self._g).all():
            memory["multiplier"] = np.array([self._multiplier(self._g[memory["coordinates"]])])
            direction = self.constraint.boost(
                self._g.reshape(self.solver.shape), self._x().reshape(self.solver.shape),
                max(LEAST_ROUNDS, min(FIRST_ROUNDS, self.n // 4), len(memory["coordinates"])), MIN_GAIN,
            )  # fmt: skip
            state.lmo_calls += direction.rounds
        state.seconds += time.perf_counter() - started
        return direction

    def advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms join and correct the weights."""
        started = time.perf_counter()
        memory = self.memory
        assert self._point is not None
        x = self._join(direction)
        weights = self._atom_weights(memory["coordinates"])
        with self.objective.counting(state.counts):
            point, _, length = self.corrector.correct(
                self._images, weights, Point(x, self._point.z, self._point.slopes), float(memory["multiplier"][0]),
                direction.gap, self._value,
            )  # fmt: skip
        memory["values"] = point.x
        memory["multiplier"] = np.array([self._multiplier(self._images.adjoint(point.slopes))])
        self._point = None
        state.iteration += 1
        state.seconds += time.perf_counter() - started
        return 1.0, Move(length, False, length)

    def forward(self, state: State, until: int, limits: Limits) -> None:
        """Nothing: an iteration is large, the solver judges each."""

    def publish(self, state: State) -> None:
        """Write x as an array into the state. O(n)."""
        x = np.zeros(self.n, dtype=self.objective.dtype)
        x[self.memory["coordinates"]] = self.memory["values"]
        state.x = x.reshape(self.solver.shape)

    def estimate(self, state: State) -> Array:
        """The gradient."""
        return self._g.reshape(self.solver.shape)

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the multiplier of the constraint, lambda of the penalised problem with the same x."""
        return {"multiplier": float(self.memory["multiplier"][0])}

    # Inner parts.

    def _multiplier(self, g: Array) -> float:
        """-<g, x> / radius for the gradient on the active coordinates: at the optimum lambda, within the gap before."""
        found = -float(g @ self.memory["values"]) / self.constraint.radius
        return found if self.corrector.region.equal else max(0.0, found)

    def _atom_weights(self, coordinates: Array) -> Array:
        return np.ones(len(coordinates)) if self._weights is None else self._weights[coordinates]

    def _x(self) -> Array:
        """x as an array that is kept from call to call."""
        self._dense_x[self._held] = 0.0
        self._held = self.memory["coordinates"]
        self._dense_x[self._held] = self.memory["values"]
        return self._dense_x

    def _join(self, direction: Direction) -> Array:
        """Let the atoms that Boost visited join, drop idle ones if they are many; returns x on the new active set."""
        memory = self.memory
        coordinates, values = memory["coordinates"], memory["values"]
        if np.count_nonzero(values == 0.0) > IDLE * len(coordinates):
            coordinates = coordinates[values != 0.0]
        visited = [vertex.index for vertex in (*direction.vertices, direction.vertex) if isinstance(vertex, OneHot)]
        joined = np.union1d(coordinates, np.array(visited, dtype=np.int64))
        if not np.array_equal(joined, memory["coordinates"]):
            values = self._x()[joined]
            memory["coordinates"] = joined
            self._images = self._pick(joined)
        memory["values"] = values
        return values

    def _pick(self, coordinates: Array) -> Images:
        """The columns of the data at these coordinates.

        A pass over the rows of the data also fetches columns that are likely to be asked for soon, from which the next
        ones are picked; which way they came does not change a bit of them.
        """
        A = self.objective.A
        if isinstance(A, np.ndarray):
            return DenseImages(A[:, coordinates].astype(np.float64))
        if self.memory["by_columns"][0]:
            return SparseImages.of(self.objective.columns[:, coordinates])
        if self._pooled is None or not np.isin(coordinates, self._pool, assume_unique=True).all():
            self._pool = np.union1d(coordinates, self._candidates(SPARE + len(coordinates)))
            self._pooled = SparseImages.columns_of(A.data, A.indices, A.indptr, self.n, self._pool)
        pooled, places = self._pooled, np.searchsorted(self._pool, coordinates)
        return SparseImages.columns_of(pooled.data, pooled.indices, pooled.indptr, len(self._pool), places)

    def _candidates(self, count: int) -> Array:
        """The coordinates with the best keys of the LMO."""
        if not self._g.size:
            return np.empty(0, dtype=np.int64)
        if count >= self.n:
            return np.arange(self.n)
        keys = self._g if self._weights is None else self._g / self._weights
        return np.argpartition(-np.abs(keys) if self.corrector.region.signed else keys, count)[:count]

    def _gradient(self, slopes: Array) -> Array:
        if isinstance(self.objective.A, np.ndarray) or not self.memory["by_columns"][0]:
            return np.asarray(self.objective.combine_rows(slopes), dtype=np.float64) / self.m
        A, columns, g = self.objective.A, self.objective.columns, np.empty(self.n)
        passes.gradient(
            Model(
                data=A.data, indices=A.indices, indptr=A.indptr, columns=columns.data, column_indices=columns.indices,
                column_indptr=columns.indptr, y=self.objective.y, sample_weight=np.empty(0), loss=0, parameter=0.0,
                gram=np.empty((0, 0)),
            ),
            slopes, g,
        )  # fmt: skip
        return g
