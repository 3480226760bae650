"""The corrective engine of matrix completion: Newton on the sphere of factors, Frank-Wolfe for directions and gap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array, norm
from ..._threads import one_blas_thread
from ...boosting import Direction
from ...constraints._certificates import Bound, norm_bound
from ...constraints.spectral import NuclearBall
from ...lowrank import LowRank
from ...objectives.completion import Intercepts, MatrixCompletion
from ...phases import Check
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import RankOne, Vertex
from ..base import Engine, not_negative
from ..factored.engine import checked_low_rank, factored, seed_of
from ..starts import checked_start
from .certificate import factors_of, nuclear_gap, rounding
from .growth import joined
from .problem import Factors, Point, Problem
from .region import Trust, balanced, newton_step, slope_at

FIRST_TERMS, LEAST_NEW = 32, 16
"""Terms of the first step from zero, and of those that join later at least, if there are so many."""
MOST_STEPS = 2
"""Newton steps in an iteration."""
NEAR = 1e-4
"""What a Newton step could gain, relative to |f|, below which there is one in an iteration."""
STATIONARY = 0.02
"""What Newton steps could still gain, relative to what new terms promise, at which those join."""
SPAN = 1e-4
"""Singular values of x above this, relative to the largest, belong to the span in which the gradient is exact."""
CLOSE = 1.3
"""Upper by lower bound of the gap at which the certificate is settled."""
ROUNDING = 1e-9
"""A gap below this, relative to |f|, is settled as well."""
PRUNE = 1e-5
"""Terms with singular values below this, relative to the largest, leave."""


class NewtonEngine(Engine):
    """Runs the iterations of one `State`: f(P Q^T) over the nuclear ball of radius tau, factors P and Q.

    An iteration is a full gradient with an upper bound of the gap; a Frank-Wolfe step towards the singular pairs of
    the gradient whose values are above the multiplier, which so become terms of x, if Newton steps have settled what
    was there; and trust-region Newton steps on all factors and biases. The gap is that of f over the ball, and with
    biases an upper bound of f(x) - min f over both: with the ridge rho / m it adds m ||grad_b f||^2 / (2 rho).

    The state's memory holds x as U, S, V in double precision, biases, the trust region, the seed of the random starts
    and whether the terms are settled.
    """

    name = "newton"
    on_arrays = False

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, MatrixCompletion) and isinstance(plan.constraint, NuclearBall)
        self.objective, self.radius = plan.objective, plan.constraint.radius
        self.problem, self.single = Problem(self.objective, np.float64), Problem(self.objective, np.float32)
        self.most = min(plan.shape) if self.objective.rank is None else self.objective.rank
        kept = state.memory
        if kept:
            self.svd = kept["left"], kept["values"], kept["right"]
            self.biases = kept["row_biases"], kept["column_biases"]
            self.trust = Trust(*kept["trust"].tolist())
            self.seed, self.settled = (int(number) for number in kept["flags"])
        else:
            self.svd, self.biases = self._begin(state.x)
            self.trust, self.seed, self.settled = Trust(), seed_of(state.rng), True
        self.multiplier = math.nan
        self._found: tuple[Point, Array] | None = None
        """The point of `look`, and the gradient by its factors."""
        self._bound: Bound | None = None

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """At the zero matrix, or at the given `x0` in factored form."""
        if x0 is None:
            return State(x=LowRank.zeros(plan.shape, plan.objective.dtype), rng=rng)
        if isinstance(x0, LowRank):
            return State(x=checked_low_rank(plan, x0).with_intercepts(x0.intercepts), rng=rng)
        return State(x=factored(checked_start(plan, x0), hermitian=False), rng=rng)

    @one_blas_thread
    def _look(self, state: State) -> Direction | None:
        """Full gradient, and an upper bound of the gap."""
        point = self.problem.point(self._factors())
        gradient = self.problem.gradient(point)
        if not (math.isfinite(point.value) and math.isfinite(norm(gradient))):
            return None
        self._found = point, gradient
        gap, self._bound = self._certificate(point, gradient, (self.seed, state.iteration))
        state.lmo_calls += 1
        if gap < -ROUNDING * max(abs(point.value), self.radius * self._bound.upper):
            return None  # an upper bound below zero is an error of the computation
        vertex = self._vertex()
        return Direction([vertex], [1.0], vertex, max(gap, 0.0), -gap, math.nan, norm(gradient), math.nan, 1)

    @one_blas_thread
    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """New terms if the old ones are settled, then Newton steps."""
        assert self._found is not None and self._bound is not None
        point, gradient = self._found
        full, length = len(self.svd[1]) >= self.most, 0.0
        if self.settled and not full:
            factors, length = joined(self.problem, point, self._pairs(), self._threshold(), self.radius)
            if length > 0.0:
                point = self.problem.point(balanced(factors)[0])
                gradient = self.problem.gradient(point)
        outside = 0.0 if full else self.radius * (self._bound.values.max(initial=0.0) - self.multiplier)
        self._newton(point, gradient, outside)
        self._found = self._bound = None
        state.iteration += 1
        return 1.0, Move(length, False, length)

    def publish(self, state: State) -> None:
        """Leave x in the state, as a `LowRank` with its biases, and what a checkpoint needs."""
        (left, values, right), dtype = self.svd, self.objective.dtype
        x = LowRank(left.astype(dtype, copy=False), values, right.astype(dtype, copy=False))
        x = x.with_intercepts(self._intercepts())
        if self._found is not None:  # f at x need not go through the observations again
            x = x.observing(self.objective, self._found[0].z.astype(dtype, copy=False))
        state.x = x
        state.memory = {
            "left": left,
            "values": values,
            "right": right,
            "row_biases": self.biases[0],
            "column_biases": self.biases[1],
            "trust": np.array([self.trust.radius, self.trust.forcing]),
            "flags": np.array([self.seed, self.settled], dtype=np.int64),
        }

    def estimate(self, state: State) -> Any:
        """The gradient by the fitted entries, as a sparse array."""
        from scipy.sparse import csr_array

        assert self._found is not None
        problem = self.problem
        return csr_array((self._found[0].slopes, problem.cols, problem.indptr), shape=self.objective.size)

    @one_blas_thread
    def check(self, state: State, vertex: Vertex | None = None) -> Check:
        """The gap at x^t, in its precision, closer than `look` tells it. The error of an estimate is not told."""
        with self.objective.counting(state.check_counts):
            point = self.problem.point(factors_of(state.x, self.biases))
            gradient = self.problem.gradient(point)
        state.check_lmo_calls += 1
        if not (math.isfinite(point.value) and math.isfinite(norm(gradient))):
            return Check(math.nan, math.nan)
        outside = self._gain_of_biases(gradient[point.factors.matrix_size :])
        gap = nuclear_gap(self.problem, point, self.radius, (self.seed, state.iteration, 1), outside)
        return Check(not_negative(gap, self.radius * norm(point.slopes), state.x.left), math.nan)

    @property
    def exact_gaps(self) -> bool:
        """`look` tells an upper bound."""
        return True

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the multiplier of the ball, lambda of the problem penalised by the nuclear norm, and
        the model that predicts."""
        left, values, right = self.svd
        x = LowRank(left, values, right).with_intercepts(self._intercepts())
        return {"multiplier": self.multiplier, "model": self.objective.model(x)}

    def save(self, state: State) -> dict[str, Any]:
        kept = super().save(state)
        del kept["x"]  # the memory has it in double precision
        return kept

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        memory = {name.removeprefix("memory."): arrays[name] for name in arrays if name.startswith("memory.")}
        x = LowRank(memory["left"], memory["values"], memory["right"])
        if x.shape != plan.shape:
            raise ValueError(f"the checkpoint holds factors of a matrix {x.shape}, not {plan.shape}; start anew.")
        return {"x": x, "memory": memory}

    # Inner parts.

    def _begin(self, x: Any) -> tuple[tuple[Array, Array, Array], tuple[Array, Array]]:
        """U, S, V and biases of the start; a matrix inside of the ball is brought to its boundary if f falls there."""
        x = x if isinstance(x, LowRank) else factored(np.asarray(x), hermitian=False)
        left, values, right = (np.asarray(part, dtype=np.float64) for part in x.factors())
        objective = self.objective
        if objective.ridge is None:
            return (left, values, right), (np.empty(0), np.empty(0))
        known = x.intercepts if isinstance(x.intercepts, Intercepts) else objective.first_biases
        return (left, values, right), (known.rows.copy(), known.cols.copy())

    def _factors(self) -> Factors:
        left, values, right = self.svd
        roots = np.sqrt(values)
        return Factors.of(left * roots, right * roots, self.biases)

    def _intercepts(self) -> Any:
        """What `LowRank.predict` adds."""
        if self.objective.ridge is None:
            return self.objective.intercepts
        return Intercepts(self.objective.constant, *self.biases)

    def _certificate(self, point: Point, gradient: Array, seeds: tuple[int, int]) -> tuple[float, Bound]:
        """An upper bound of the gap, and what Lanczos found of the gradient outside of the span of x."""
        factors, (left, values, right) = point.factors, self.svd
        size, value, problem = factors.matrix_size, abs(point.value), self.problem
        rest = float(np.dot(gradient[:size], factors.vector[:size])) / 2.0  # <G, M>
        self.multiplier = max(-rest / self.radius, 0.0)
        rest += self._gain_of_biases(gradient[size:]) + rounding(problem, point, self.radius)
        by, kept = factors.like(gradient), values > SPAN * values[:1].sum()
        roots = np.sqrt(values[kept])
        spans = left[:, kept], right[:, kept], by.left[:, kept] / roots, by.right[:, kept] / roots

        def enough(reached: float, upper: float) -> bool:
            gaps = self.radius * reached + rest, self.radius * upper + rest
            return gaps[1] <= max(CLOSE * gaps[0], ROUNDING * value)

        wanted = FIRST_TERMS if factors.terms == 0 else max(LEAST_NEW, factors.terms // 2)
        bound = norm_bound(
            *problem.products(point.slopes), self.objective.shape, spans, np.random.default_rng(seeds), enough,
            wanted=wanted, least_steps=2 * wanted,
        )  # fmt: skip
        return self.radius * bound.upper + rest, bound

    def _gain_of_biases(self, gradient: Array) -> float:
        """At most what f can fall by in the biases alone, in which it is strongly convex by the ridge."""
        return float(gradient @ gradient) / (2.0 * self.problem.ridge) if self.problem.has_biases else 0.0

    def _pairs(self) -> tuple[Array, Array, Array]:
        """The Ritz pairs outside of the span of x, as many as there is room for: values, left and right vectors."""
        assert self._bound is not None and self._found is not None
        room = max(self.most - len(self.svd[1]), 0)
        right = self._bound.right[:, :room]
        left = np.empty((self.plan.shape[0], right.shape[1]))
        forward, span = self.problem.products(self._found[0].slopes)[0], self.svd[0]
        for k in range(right.shape[1]):
            image = forward(right[:, k])
            image -= span @ (span.T @ image)
            left[:, k] = image / max(float(np.linalg.norm(image)), np.finfo(float).tiny)
        return self._bound.values[:room], left, right

    def _threshold(self) -> float:
        """The singular value above which pairs join: the multiplier, and at the start a little below the last pair."""
        assert self._bound is not None
        return self.multiplier if len(self.svd[1]) else 0.9 * float(self._bound.values[-1])

    def _vertex(self) -> RankOne:
        """The vertex of the leading pair outside of the span of x."""
        assert self._bound is not None and self._found is not None
        if not self._bound.right.shape[1]:
            return RankOne(0.0, *(np.eye(1, size)[0] for size in self.plan.shape))
        right = self._bound.right[:, 0]
        left = self.problem.products(self._found[0].slopes)[0](right)
        return RankOne(-self.radius, left / max(float(np.linalg.norm(left)), np.finfo(float).tiny), right)

    def _newton(self, point: Point, gradient: Array, outside: float) -> None:
        """Steps until what is left to gain is small beside what new terms promise; where they end."""
        problem = self.problem
        for count in range(MOST_STEPS):
            slope = slope_at(problem, point, gradient, self.radius)
            bound = slope.normal is not None
            self.settled = slope.stationarity <= STATIONARY * outside
            if self.settled and count:  # one step in any case: the new terms are no more than directions
                break
            point, self.trust, moved = newton_step(problem, self.single, point, slope, self.radius, self.trust)
            factors, svd = balanced(point.factors)
            self.svd, self.biases = self._kept(svd, bound), (factors.row_biases, factors.column_biases)
            self.settled = self.settled or not moved
            near = slope.stationarity < NEAR * abs(point.value)  # where a step costs more than the gap does
            if not moved or near or count + 1 == MOST_STEPS:
                break
            point = problem.point(self._factors())
            gradient = problem.gradient(point)

    def _kept(self, svd: tuple[Array, Array, Array], bound: bool) -> tuple[Array, Array, Array]:
        """Without the terms that have come to nothing; on the boundary of the ball if `bound`, else at most there."""
        left, values, right = svd
        kept = values > PRUNE * values[:1].sum()
        values, total = values[kept], float(values[kept].sum())
        if total > 0.0 and (bound or total > self.radius):
            values = values * (self.radius / total)
        return left[:, kept], values, right[:, kept]
