"""The corrective engine on sets with one-hot vertices: many atoms per gradient, and Newton steps on their weights."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._threads import cores
from ...active_set import ActiveSet
from ...boosting import Direction
from ...constraints.one_hot import OneHotConstraint, OneHotKind
from ...kernels import passes
from ...objectives.base import Counts
from ...objectives.linear_model import LinearModel
from ...objectives.losses import Huber, LeastSquares, Logistic
from ...objectives.multinomial import Multinomial
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import OneHot
from ..base import Engine
from ..starts import clock, start_on_arrays
from .classes import DenseColumns, SparseColumns
from .correction import Corrector, Region
from .images import DenseImages, Images, SparseImages
from .oracle import FINE, InMemory
from .outer import Point, outer_of

LEAST_ROUNDS, FIRST_ROUNDS, MIN_GAIN = 16, 64, 1e-6
"""K of Boost is at least the first, and twice as large as the active set; with many coordinates at least the second.
And its delta."""
SPARE = 128
"""Columns fetched from the data beside those asked for, and as many as these."""

FEW_SAMPLES, FEWER = 12, 8
"""Samples for each coordinate with which a run begins, if the data have at least so many times more of them."""
GUESSES, ROUGH = 8, 0.02
"""Iterations on these samples at most, and the gap relative to f at which they end: more is their noise."""
WHOLLY_KNOWN = (Logistic, LeastSquares, Huber, Multinomial)
"""Objectives without data but A, y and weights, so that some of their samples make one of the same kind."""

REGIONS = {
    OneHotKind.L1: (True, False),
    OneHotKind.WEIGHTED_L1: (True, False),
    OneHotKind.SIMPLEX: (False, True),
    OneHotKind.SOLID_SIMPLEX: (False, False),
}


class CorrectiveEngine(Engine):
    """Runs the iterations of one `State` on an l1 ball, weighted or not, or a simplex.

    An iteration is a full gradient with the exact gap, Boost, whose atoms all join the active set, and Newton steps on
    the weights of the active set; atoms that have no weight then leave. An x inside an l1 ball or a solid simplex has
    the origin as an atom of the weight that is left: a point of the set, and a vertex of the solid simplex.

    The state's memory holds the active set, and whether the data are read by columns: in an end phase, else only if
    the objective had them so when the run began, since a copy costs more than it saves.
    """

    name = "corrective"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self._threads = cores()
        assert isinstance(plan.objective, LinearModel) and isinstance(plan.constraint, OneHotConstraint)
        self.objective, self.constraint = plan.objective, plan.constraint
        self.f = plan.objective  # F keeps the intercept
        self.n, self.m = plan.dimension, self.objective.n_samples
        kind, weights = self.constraint.one_hot_rule()
        self._weights = weights
        self.outer = outer_of(self.objective)
        self.corrector = Corrector(Region(*REGIONS[kind], self.constraint.radius))
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
            self._by_columns = bool(state.memory["by_columns"][0])
            self.outer.restore(state.memory)
        else:
            x = np.asarray(state.x, dtype=np.float64).ravel()
            support = np.flatnonzero(x)
            self.active = self._atoms(support, x[support])
            self._by_columns = state.switch is not None or "columns" in vars(self.objective)
        self._support, values = self.active.nonzeros()
        self._x = np.zeros(self.n)
        self._x[self._support] = values
        self._point: Point | None = None
        self._value = math.nan
        self._g = np.empty(0)
        self._pool = np.empty(0, dtype=np.int64)
        self._pooled: SparseImages | None = None
        with self._clock(state):  # a copy by columns, if there has to be one, is the algorithm's
            self._coordinates, self._images = self._support, self._pick(self._support)

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """At the origin itself if that lies in C: the first iteration finds many atoms there. If there are many samples
        for each coordinate, at the solution for some of them, which costs less than an iteration on all."""
        state = start_on_arrays(plan, x0, rng, at_origin=True)
        if x0 is None and plan.objective.quasar_rho == 1.0 and type(plan.objective) in WHOLLY_KNOWN:
            assert isinstance(plan.objective, LinearModel)
            every = plan.objective.n_samples // (FEW_SAMPLES * plan.dimension)
            if every >= FEWER:
                started = clock()
                cls._first_guess(plan, state, every)
                state.seconds += clock() - started
        return state

    @classmethod
    def _first_guess(cls, plan: Plan, state: State, every: int) -> None:
        """x as good as f on every so manieth sample can tell."""
        assert isinstance(plan.objective, LinearModel)
        try:
            few = plan.objective.on_samples(slice(None, None, every))
        except ValueError:  # all of one class, say
            return
        guess = State(x=state.x, rng=state.rng)
        engine = cls(dataclasses.replace(plan, objective=few), guess)
        for _ in range(GUESSES):
            direction = engine.look(guess)
            if direction is None or direction.gap <= ROUGH * abs(engine._value):
                break
            engine.advance(guess, direction)
        engine.publish(guess)
        if np.isfinite(guess.x).all():
            state.x = guess.x
        state.counts.sample_gradients += guess.counts.sample_gradients
        state.counts.function_values += guess.counts.function_values
        state.lmo_calls += guess.lmo_calls

    def _look(self, state: State) -> Direction | None:
        """Full gradient, exact gap and Boost."""
        self._point = InMemory(self.outer, self._images).point(self._x[self._coordinates])
        self._value = self.outer.value(self._point.z)
        self._g = self._gradient(self._point.slopes)
        if not np.isfinite(self._g).all():
            return None
        shape = self.plan.shape
        rounds = max(LEAST_ROUNDS, min(FIRST_ROUNDS, self.n // 4), 2 * len(self._support))
        direction = self.constraint.boost(self._g.reshape(shape), self._x.reshape(shape), rounds, MIN_GAIN)
        state.lmo_calls += direction.rounds
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms join, correct the weights, and let atoms without weight leave."""
        assert self._point is not None
        self._join(direction)
        coordinates, weights = self._coordinates, self._atom_weights(self._coordinates)
        start = Point(self._x[coordinates], self._point.z, self._point.slopes)
        oracle = InMemory(self.outer, self._images, direction.gap <= FINE * self._value)
        point, length = self.corrector.correct(
            oracle, weights, start, self._active_slopes(), direction.gap, self._value
        )  # fmt: skip
        self._point = None
        self.active = self._atoms(coordinates, point.x)
        self._x[coordinates] = 0.0
        self._support, values = self.active.nonzeros()
        self._x[self._support] = values
        state.iteration += 1
        return 1.0, Move(length, False, length)

    def publish(self, state: State) -> None:
        """Write x as an array into the state, and the active set into its memory. O(n)."""
        state.x = self._x.astype(self.objective.dtype).reshape(self.plan.shape)
        kept = {**self.active.to_arrays(), **self.outer.kept()}
        state.memory = {**kept, "by_columns": np.array([self._by_columns])}

    def estimate(self, state: State) -> Array:
        """The gradient."""
        return self._g.reshape(self.plan.shape)

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the active set, and the multiplier of the constraint, lambda of the penalised problem
        with the same x."""
        x = self._x[self._coordinates]
        multiplier = self.corrector.region.multiplier(self._active_slopes(), x)
        return {"multiplier": multiplier, "active_set": self.active}

    # Inner parts.

    def _atoms(self, coordinates: Array, x: Array) -> ActiveSet:
        """x on these coordinates as a convex combination of vertices, and of the origin if it lies inside."""
        return one_hots(self.corrector.region, self.plan.shape, self._atom_weights(coordinates), coordinates, x)

    def _atom_weights(self, coordinates: Array) -> Array:
        return np.ones(len(coordinates)) if self._weights is None else self._weights[coordinates]

    def _join(self, direction: Direction) -> None:
        """Let the atoms that Boost visited join those of x."""
        visited = [vertex.index for vertex in (*direction.vertices, direction.vertex) if isinstance(vertex, OneHot)]
        joined = np.union1d(self._support, np.array(visited, dtype=np.int64))
        if not np.array_equal(joined, self._coordinates):
            self._coordinates, self._images = joined, self._pick(joined)

    def _pick(self, coordinates: Array) -> Images:
        """The columns of the data at these coordinates.

        Of many columns, a pass over the rows of the data also fetches some that are likely to be asked for soon, from
        which the next ones are picked; which way they came does not change a bit of them.
        """
        A = self.objective.A
        if isinstance(self.objective, Multinomial):
            return self._pick_classes(coordinates)
        if isinstance(A, np.ndarray):
            return DenseImages(A[:, coordinates].astype(np.float64))
        if self._by_columns:
            return SparseImages.of(self.objective.columns[:, coordinates])
        if 2 * (SPARE + len(coordinates)) >= self.n:
            return SparseImages.columns_of(A.data, A.indices, A.indptr, self.n, coordinates, self._room)
        if self._pooled is None or not np.isin(coordinates, self._pool, assume_unique=True).all():
            self._pool = np.union1d(coordinates, self._candidates(SPARE + len(coordinates)))
            room = SparseImages.room_for(A.nnz)
            self._pooled = SparseImages.columns_of(A.data, A.indices, A.indptr, self.n, self._pool, room)
        pooled, places = self._pooled, np.searchsorted(self._pool, coordinates)
        return SparseImages.columns_of(pooled.data, pooled.indices, pooled.indptr, len(self._pool), places, self._room)

    def _pick_classes(self, coordinates: Array) -> Images:
        """The same where a coordinate is a feature and a class."""
        count = self.plan.shape[1]
        features, classes = np.divmod(coordinates, count)
        if isinstance(self.objective.A, np.ndarray):
            return DenseColumns(self.objective.A[:, features].astype(np.float64), classes, count)
        return SparseColumns(SparseImages.of(self.objective.columns[:, features]), classes, count)

    @cached_property
    def _room(self) -> tuple[Array, Array]:
        return SparseImages.room_for(self.objective.A.nnz)

    def _candidates(self, count: int) -> Array:
        """The coordinates with the best keys of the LMO."""
        if not self._g.size:
            return np.empty(0, dtype=np.int64)
        keys = self._g if self._weights is None else self._g / self._weights
        return np.argpartition(-np.abs(keys) if self.corrector.region.signed else keys, count)[:count]

    def _active_slopes(self) -> Array:
        """The derivatives of f in the active coordinates, in float64."""
        if self._point is None:
            z = self.outer.shifted(self._images.times(self._x[self._coordinates]))
            with self.objective.counting(Counts()):  # for the result, no part of the algorithm
                return self._images.adjoint(self.outer.slopes(z))
        if isinstance(self.objective.A, np.ndarray):
            return self._images.adjoint(self._point.slopes)  # the gradient may be in float32
        return np.asarray(self._g[self._coordinates])

    def _gradient(self, slopes: Array) -> Array:
        A = self.objective.A
        if isinstance(A, np.ndarray) or isinstance(self.objective, Multinomial):
            return self.outer.gradient(slopes).ravel()
        self.objective.counts.full_gradients += 1
        g = np.empty(self.n)
        if self._by_columns:
            columns = self.objective.columns
            passes.columns_adjoint(
                columns.data, columns.indices, columns.indptr, slopes, 1.0 / self.m, g, self._threads
            )
        else:
            passes.rows_adjoint(A.data, A.indices, A.indptr, slopes, 1.0 / self.m, g)
        return g


def one_hots(region: Region, shape: tuple[int, ...], weights: Array, coordinates: Array, x: Array) -> ActiveSet:
    """x on these coordinates, of these w, as a convex combination of vertices, and of the origin if it lies inside."""
    x = x if region.signed else np.maximum(x, 0.0)
    shares = weights * np.abs(x) / region.radius
    values = np.copysign(region.radius / weights, x)
    if not region.equal:
        coordinates, values = np.append(coordinates, 0), np.append(values, 0.0)
        shares = np.append(shares, max(0.0, 1.0 - float(shares.sum())))
    return ActiveSet.of_one_hots(shape, coordinates, values, shares)
