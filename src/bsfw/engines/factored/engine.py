"""The factored engine: Algorithm BSFW on a low-rank iterate, for matrix completion."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._arrays import Array, is_complex, norm
from ...boosting import Direction
from ...constraints._common import first_axis
from ...constraints.base import Constraint
from ...constraints.spectral import NuclearBall, Spectraplex
from ...lowrank import LowRank
from ...objectives.base import Counts, Objective
from ...objectives.completion import MatrixCompletion
from ...phases import Check
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import RankOne, Vertex, move
from ..base import Engine, not_negative
from ..starts import checked_start, clock
from . import jitted
from .boosting import ObservedEntries, Span, boost
from .operator import Pattern, SparseLowRank, bottom_eigenpair, top_singular_pair

COMPRESS_EVERY = 64
"""New terms after which x is recompressed, and its observed entries are formed anew."""
LMO_TOLERANCE = 1e-2
"""Relative residual of the LMO where `NuclearBall` leaves it open."""
GAP_TOLERANCE = 1e-4
"""The same where the LMO tells an exact Frank-Wolfe gap: the value is then good to about the square of it."""

SINGLE_PRECISION = 1e-4
"""An LMO to this relative residual or a coarser one works on factors in single precision."""


def lmo(
    constraint: Constraint, direction: SparseLowRank, tolerance: float, seeds: tuple[int, int], dtype: npt.DTypeLike
) -> RankOne:
    """The vertex of the set that minimises the inner product with the direction, by Lanczos from a seeded start."""
    if isinstance(constraint, Spectraplex):
        value, vector = bottom_eigenpair(direction, tolerance)
        if not constraint.equality and value >= 0.0:
            axis = first_axis(direction.shape[:1], 1.0, np.dtype(dtype))
            return RankOne(0.0, axis, axis)
        vector = vector.astype(dtype)
        return RankOne(constraint.radius, vector, vector)
    assert isinstance(constraint, NuclearBall)
    start = np.random.default_rng(seeds).standard_normal(direction.shape[1])
    _, left, right = top_singular_pair(direction, tolerance, start)
    return RankOne(-constraint.radius, left.astype(dtype), right.astype(dtype))


def seed_of(rng: np.random.Generator) -> int:
    """Seed of the stream from which the LMO draws its start vectors; the generator itself is left as it is."""
    return int(copy.deepcopy(rng).integers(2**63))


class FactoredEngine(Engine):
    """Runs the iterations of one `State`.

    Everything but Boost and the sum of vertices happens in the image of x, the vector z of its observed entries: f and
    its estimators are those of `MatrixCompletion.observed`, the step rules search along the image of d~, and z moves as
    x does. So tables hold one number per observation, and no line of estimators or steps is written twice.
    """

    name = "factored"
    on_arrays = False

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, MatrixCompletion)
        self.objective = plan.objective
        self.observed = self.objective.observed
        self.pattern = _pattern(self.objective)
        x = state.x
        if not isinstance(x, LowRank):
            x = factored(np.asarray(x), isinstance(plan.constraint, Spectraplex))
        self.x = x.with_intercepts(self.objective.intercepts)
        kept = state.memory
        self.tables: dict[str, Any] = {
            name.removeprefix(_TABLE): table for name, table in kept.items() if name.startswith(_TABLE)
        }
        self.m, self.z_previous = kept.get("m"), kept.get("z_previous")
        if kept:
            self.z, self.x_squared = kept["z"], float(kept["x_squared"])
            self.base, self.seed = int(kept["base"]), int(kept["seed"])
        else:
            self.base, self.seed = self.x.rank, seed_of(state.rng)
            self._refresh(self.x.inner(self.x))
        self._found: tuple[Span, Array] | None = None

    @property
    def counted(self) -> Objective:
        return self.observed

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """At x^0 = lmo(m_init), or at the given `x0` in factored form."""
        objective, constraint = plan.objective, plan.constraint
        assert isinstance(objective, MatrixCompletion)
        hermitian = isinstance(constraint, Spectraplex)
        if x0 is not None:
            x = checked_low_rank(plan, x0) if isinstance(x0, LowRank) else factored(checked_start(plan, x0), hermitian)
            return State(x=x, rng=rng)
        started = clock()
        x = LowRank.zeros(objective.shape, objective.dtype, hermitian)
        state = State(x=x, rng=rng)
        if isinstance(constraint, Spectraplex) and constraint.equality:  # the origin is outside: begin at lmo(0)
            axis = first_axis(objective.shape[:1], 1.0, objective.dtype)
            x = x.moved(1.0, [RankOne(constraint.radius, axis, axis)], [1.0])
            state.lmo_calls += 1
        with objective.observed.counting(state.counts):
            m_init = objective.observed.gradient(objective.margins(x))
        if not np.isfinite(norm(m_init)):
            raise ValueError("the gradient at the start is not finite; check the objective, or give x0=.")
        tolerance = _tolerance(constraint, plan.estimator.exact)
        vertex = lmo(constraint, _sparse(objective, m_init), tolerance, (seed_of(rng), 0), objective.dtype)
        state.x = x.moved(1.0, [vertex], [1.0])
        state.lmo_calls += 1
        state.seconds += clock() - started
        return state

    def _look(self, state: State) -> Direction | None:
        """The estimate and Boost."""
        plan = self.plan
        if state.iteration == 0:
            self.m, self.tables = plan.estimator.init(self.observed, self.z, state.rng)
        else:
            assert self.m is not None and self.z_previous is not None
            self.m = plan.estimator.update(
                self.observed, self.z, self.z_previous, state.iteration, self.m, self.tables, state.rng
            )
        if not np.isfinite(norm(self.m)):
            return None
        calls, exact = state.lmo_calls, plan.estimator.exact

        def oracle(matrix: SparseLowRank, k: int) -> RankOne:
            tolerance = _tolerance(plan.constraint, exact and k == 0)
            return lmo(plan.constraint, matrix, tolerance, (self.seed, calls + k), self.objective.dtype)

        single = _tolerance(plan.constraint, exact) >= SINGLE_PRECISION
        precision = np.float32 if single else self.objective.dtype
        span = Span(self.pattern, self.m, self.z, self.x, self.x_squared, precision)
        direction, point = boost(span, oracle, plan.max_rounds, plan.min_gain)
        self._found = span, point
        state.lmo_calls += direction.rounds
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step, of z and of x."""
        assert self._found is not None
        eta, (span, point) = self.plan.eta(state.iteration), self._found
        image = dataclasses.replace(
            direction,
            vertices=[self._image(direction.vertices, direction.weights)] if direction.vertices else [],
            weights=[1.0] if direction.vertices else [],
            vertex=self._image([direction.vertex], [1.0]),
        )
        chosen = self.plan.step(self.observed, self.z, image, eta)
        self.z_previous, vertices, weights = self.z, direction.vertices, direction.weights
        if chosen.boosted:
            self.z = move(self.z, chosen.length, image.vertices, image.weights)
        else:
            vertices, weights, point = [direction.vertex], [1.0], np.zeros_like(point)
            point[:2] = -1.0, 1.0
            self.z = move(self.z, chosen.length, [image.vertex], weights)
        self.x = self.x.moved(chosen.length, vertices, weights)  # type: ignore[arg-type]  # all of rank one here
        self.x_squared = span.length(np.eye(1, len(point))[0] + chosen.length * point) ** 2
        self.base, self._found = min(self.base, self.x.rank), None
        if self.x.rank - self.base >= COMPRESS_EVERY:
            self.x = self.x.recompressed(self.objective.compression)
            self.base = self.x.rank
            self._refresh(float(self.x.weights @ self.x.weights))  # the factors are orthonormal now
        state.boosted_steps += chosen.boosted
        state.iteration += 1
        return eta, chosen

    def publish(self, state: State) -> None:
        """Leave x in the state, as a `LowRank` with its observed entries known, and what a checkpoint needs."""
        state.x, state.x_previous = self.x.observing(self.objective, self.z), None
        kept = {"z": self.z, "z_previous": self.z_previous, "m": self.m}
        state.memory = {name: array for name, array in kept.items() if array is not None}
        state.memory |= {"x_squared": self.x_squared, "base": self.base, "seed": self.seed}
        state.memory |= {f"{_TABLE}{name}": table for name, table in self.tables.items()}

    def estimate(self, state: State) -> Any:
        """m as a sparse array."""
        from scipy.sparse import csr_array

        return csr_array((self.m, self.pattern.cols, self.pattern.indptr), shape=self.pattern.shape)

    def check(self, state: State, vertex: Vertex | None = None) -> Check:
        """An upper bound of the gap, from the factors of x^t in double precision; no error of an estimate is told."""
        from ..newton.certificate import factors_of, nuclear_gap, spectraplex_gap
        from ..newton.problem import Problem

        problem, constraint = Problem(self.objective, np.float64), self.plan.constraint
        with self.objective.counting(Counts()):  # its value is not asked for
            point = problem.point(factors_of(state.x, (np.empty(0), np.empty(0))))
        state.check_counts.full_gradients += 1
        state.check_counts.sample_gradients += self.objective.n_samples
        if not np.isfinite(norm(point.slopes)):
            return Check(float("nan"), float("nan"))
        state.check_lmo_calls += 1
        seeds = self.seed, state.iteration, 1
        if isinstance(constraint, NuclearBall):
            gap = nuclear_gap(problem, point, constraint.radius, seeds)
        else:
            assert isinstance(constraint, Spectraplex)
            shift = -bottom_eigenpair(_sparse(self.objective, -point.slopes), LMO_TOLERANCE)[0]
            gap = spectraplex_gap(problem, point, constraint.radius, constraint.equality, shift, seeds)
        return Check(not_negative(gap, constraint.radius * norm(point.slopes), state.x.left), float("nan"))

    @property
    def exact_gaps(self) -> bool:
        """The LMO stops at a tolerance."""
        return False

    def save(self, state: State) -> dict[str, Any]:
        kept = super().save(state)
        x = kept.pop("x")
        return {**kept, **{f"x.{name}": part for name, part in x.parts().items()}}

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        parts = {name.removeprefix("x."): arrays[name] for name in arrays if name.startswith("x.")}
        x = LowRank.from_parts(parts, plan.shape)
        memory = {name.removeprefix("memory."): arrays[name] for name in arrays if name.startswith("memory.")}
        return {"x": x, "memory": memory}

    def _image(self, vertices: list[Any], weights: list[float]) -> ObservedEntries:
        return ObservedEntries(self.pattern, vertices, weights, self.objective.dtype)

    def _refresh(self, x_squared: float) -> None:
        """z and ||x||^2 from the factors: rounding, and what recompression left out, cannot build up."""
        left, right = self.x.buffers
        self.z = np.zeros(self.objective.n_samples, dtype=self.objective.dtype)
        jitted.add_entries(self.pattern.indptr, self.pattern.cols, left, self.x.weights, right, 1.0, self.z)
        self.x_squared = x_squared


_TABLE = "table."
"""Before the names of the estimator's tables in the state's memory."""


def _tolerance(constraint: Constraint, for_gap: bool) -> float:
    assert isinstance(constraint, (NuclearBall, Spectraplex))
    tolerance = LMO_TOLERANCE if constraint.tolerance is None else constraint.tolerance
    return min(tolerance, GAP_TOLERANCE) if for_gap else tolerance


def _pattern(objective: MatrixCompletion) -> Pattern:
    return Pattern(objective.indptr, objective.cols, objective.shape)


def _sparse(objective: MatrixCompletion, data: Array) -> SparseLowRank:
    empty = (np.empty((size, 0), dtype=objective.dtype) for size in objective.shape)
    return SparseLowRank(_pattern(objective), data, next(empty), np.empty(0), next(empty))


def factored(x: Array, hermitian: bool) -> LowRank:
    if hermitian:
        values, vectors = np.linalg.eigh(0.5 * (x + x.T))
        return LowRank(vectors, np.maximum(values, 0.0)).recompressed(0.0)
    left, values, right = np.linalg.svd(x, full_matrices=False)
    return LowRank(left, values, right.T).recompressed(0.0)


def checked_low_rank(plan: Plan, x0: LowRank) -> LowRank:
    """A given low-rank start, or a ValueError why it is none."""
    constraint = plan.constraint
    if x0.shape != plan.shape:
        raise ValueError(f"x0 has the shape {x0.shape}, but the variable has {plan.shape}.")
    if is_complex(x0.dtype):
        raise ValueError("x0 is complex, but the variable is real; convert it.")
    x = LowRank(x0.left.astype(plan.objective.dtype), x0.weights, None if x0.hermitian else x0.right.astype(
        plan.objective.dtype
    ))  # fmt: skip
    assert isinstance(constraint, (NuclearBall, Spectraplex))
    if isinstance(constraint, NuclearBall):
        excess = x.nuclear_norm() / constraint.radius - 1.0
    elif not x.hermitian or (x.rank and x.weights.min() < 0.0):
        raise ValueError(
            "x0 must be Hermitian with weights >= 0 to start in a Spectraplex; give LowRank(left, weights)."
        )
    else:
        excess = x.trace() / constraint.radius - 1.0
        excess = abs(excess) if constraint.equality else excess
    if not excess <= (1e-9 if x.dtype.itemsize >= 8 else 1e-5):
        raise ValueError(
            f"x0 lies outside of {constraint!r} (relative violation {excess:.2g}); give a feasible point, or leave x0 "
            "out."
        )
    return x
