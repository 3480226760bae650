"""Runs in the plane, for the paper's two drawings: trajectories, and one boosting step round by round."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from ..._arrays import Array, inner, norm
from .. import problems
from ..problems.plane import Corners, Plane
from ..schema import Count, Number, Point
from .base import Data, Size, Task
from .solve import DecayName, EstimatorName, Gain, Solve, StepName, start

Points = Annotated[tuple[Point, ...], Meta(min_length=1, max_length=100_000)]
Values = Annotated[tuple[Number, ...], Meta(min_length=1, max_length=100_000)]


class Path(Data, frozen=True, kw_only=True, tag="trajectory"):
    """The iterates of a run, its values, and what it went towards."""

    points: Points
    values: Values
    minimiser: Point
    optimum: Number

    def __post_init__(self) -> None:
        if len(self.points) != len(self.values):
            raise ValueError(f"there are {len(self.points)} points, but {len(self.values)} values.")


class Trajectory(Task, frozen=True, kw_only=True, tag="trajectory"):
    """A deterministic run in the plane, for fig. boosting_vs_zigzag."""

    problem: Plane
    max_rounds: Count
    min_gain: Gain = 1e-4
    decay: DecayName = "auto"
    step: StepName = "auto"
    iterations: Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10,000")]

    def __post_init__(self) -> None:
        if self.problem.samples is not None:
            raise ValueError("a trajectory is drawn over the contours of a quadratic; leave out samples.")

    def run(self) -> Path:
        from ...solver import Solver

        problem = problems.build(self.problem, self.seed)
        solver = Solver(
            problem.objective,
            problem.constraint,
            method="boosted",
            max_rounds=self.max_rounds,
            min_gain=self.min_gain,
            decay=self.decay,
            step=self.step,
            horizon=self.iterations,
        )
        state = start(problem, solver, self.seed)
        points = [state.x]
        for _ in range(self.iterations):
            if solver.step(state) is None:
                raise ArithmeticError("the gradient is not finite.")
            points.append(state.x)
        minimiser = minimiser_in_polygon(problem.objective, np.array(self.problem.corners))
        return Path(
            points=pairs(points),
            values=tuple(problem.objective.value(point) for point in points),
            minimiser=pairs([minimiser])[0],
            optimum=problem.objective.value(minimiser),
        )


def pairs(points: Any) -> tuple[tuple[float, float], ...]:
    """Points of the plane as plain numbers."""
    return tuple((float(x), float(y)) for x, y in points)


def minimiser_in_polygon(objective: Any, corners: Array) -> Array:
    """The minimiser of a strictly convex `Quadratic` with diagonal Q over a convex polygon, in closed form."""
    target = -objective.b / objective.Q
    edges = np.roll(corners, -1, axis=0) - corners
    away = target - corners
    sides = edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0]
    if (sides >= 0).all() or (sides <= 0).all():
        return np.asarray(target)
    # Else it lies on an edge: the best point of each is that of a parabola, cut to the edge.
    lengths = np.clip((away * objective.Q * edges).sum(axis=1) / (edges * objective.Q * edges).sum(axis=1), 0.0, 1.0)
    points = corners + lengths[:, None] * edges
    return np.asarray(min(points, key=objective.value))


class Rounds(Data, frozen=True, kw_only=True, tag="boosting-step"):
    """One iteration of a boosted run, round by round.

    Attributes
    ----------
    x, gradient, batch_gradients, momentum_before, estimate
        x^t, grad f(x^t), the gradients of the batch, m^{t-1} and m^t.
    vertices : tuple of points
        What the LMO answered, that of the rejected last round included.
    residuals, psi, lambdas, alignments
        Of each accepted round; one residual more.
    direction, gamma, next
        The direction, its step and x^{t+1}.
    """

    corners: Corners
    x: Point
    gradient: Point
    batch_gradients: Points
    momentum_before: Point
    estimate: Point
    vertices: Points
    residuals: Points
    psi: Points
    lambdas: Values
    alignments: Values
    direction: Point
    gamma: Number
    next: Point

    def __post_init__(self) -> None:
        rounds = len(self.lambdas)
        lengths = (len(self.psi), len(self.alignments), len(self.residuals) - 1)
        if lengths != (rounds,) * 3 or len(self.vertices) < rounds:
            raise ValueError("the rounds of the step have different numbers of vectors.")


class BoostingStep(Task, frozen=True, kw_only=True, tag="boosting-step"):
    """One iteration of a boosted run in the plane, after `iterations` others, for fig. boosting_expln.

    The rounds are those that `boost` made: its oracle is watched, its projections are done again, and both are
    compared with the direction that it returned.
    """

    problem: Plane
    estimator: EstimatorName
    batch_size: Size | None = None
    coordinates: Size | None = None
    max_rounds: Count
    min_gain: Gain = 1e-4
    decay: DecayName = "auto"
    step: StepName = "auto"
    iterations: Annotated[int, Meta(ge=1, le=10_000, description="a whole number from 1 to 10,000")]

    def __post_init__(self) -> None:
        if self.problem.samples is None or not isinstance(self.batch_size, int):
            raise ValueError(
                "a boosting step is drawn for a batch: give samples to the problem, and a whole batch_size."
            )

    def run(self) -> Rounds:
        from ..._sampling import draw
        from ...boosting import boost

        shared = {name: getattr(self, name) for name in self.__struct_fields__}
        problem, solver = Solve(**shared, record_every=1).parts()
        state = start(problem, solver, self.seed)
        for _ in range(self.iterations):
            solver.step(state)
        x, before, m = state.x, state.m, problem.objective.n_samples
        assert before is not None and m is not None and isinstance(self.batch_size, int)
        # The batch that the estimator is about to draw.
        batch = draw(copy.deepcopy(state.rng), m, self.batch_size)
        gradients = problem.objective.sample_gradients(x, batch)
        move, estimate = solver.step(state), state.m
        if move is None or estimate is None:
            raise ArithmeticError("the gradient is not finite.")
        answers: list[Array] = []

        def watched(cost: Array) -> Any:
            vertex = problem.constraint.lmo(cost)
            answers.append(vertex.dense())
            return vertex

        direction = boost(estimate, x, watched, self.max_rounds, self.min_gain)
        replayed = _replay(estimate, x, answers[: len(direction.vertices)])
        towards = replayed["direction"]
        if not (np.allclose(towards, direction.dense(x)) and np.allclose(state.x, x + move.gamma * towards)):
            raise ArithmeticError("the rounds done again differ from those of the boosting step.")
        return Rounds(
            corners=self.problem.corners,
            x=pairs([x])[0],
            gradient=pairs([problem.objective.gradient(x)])[0],
            batch_gradients=pairs(gradients),
            momentum_before=pairs([before])[0],
            estimate=pairs([estimate])[0],
            vertices=pairs(answers),
            residuals=pairs(replayed["residuals"]),
            psi=pairs(replayed["psi"]),
            lambdas=tuple(map(float, replayed["lambdas"])),
            alignments=tuple(map(float, replayed["alignments"])),
            direction=pairs([towards])[0],
            gamma=float(move.gamma),
            next=pairs([state.x])[0],
        )


def _replay(m: Array, x: Array, vertices: list[Array]) -> dict[str, Any]:
    """The accepted rounds of Boost (Algorithm Boost), from the vertices that the LMO answered."""
    psi, residuals, sums, lambdas, alignments = 0.0 * x, [-m], [], [], []
    for vertex in vertices:
        towards = vertex - x
        lambdas.append(inner(residuals[-1], towards) / inner(towards, towards))
        psi = psi + lambdas[-1] * towards
        sums.append(psi)
        residuals.append(-m - psi)
        alignments.append(inner(-m, psi) / (norm(m) * norm(psi)))
    return dict(residuals=residuals, psi=sums, lambdas=lambdas, alignments=alignments, direction=psi / sum(lambdas))
