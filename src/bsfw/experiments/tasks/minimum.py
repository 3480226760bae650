"""The minimum of a convex problem, certified: what suboptimality is measured from, instead of the best run's value."""

from __future__ import annotations

from ...state import Limits, Schedule
from .. import problems
from ..schema import Number
from .base import Data, Task

ITERATIONS = 2_000
"""At most; the corrective method takes some tens."""
TOLERANCE = 1e-10
"""Gap, relative to f, that counts as the minimum."""


class Certified(Data, frozen=True, kw_only=True, tag="minimum"):
    """f at the point that was found, and its exact gap: the minimum lies between value - gap and value."""

    value: Number
    gap: Number


class Minimum(Task, frozen=True, kw_only=True, tag="minimum"):
    """One run of the method that `bsfw.minimize` takes for a convex problem with the exact gradient."""

    def run(self) -> Certified:
        from ...results import Status
        from ...solver import Solver

        problem = problems.build(self.problem, self.seed)
        solver = Solver(problem.objective, problem.constraint, method="auto")
        limits = Limits(ITERATIONS, relative_gap=TOLERANCE)
        result = solver.run(solver.init(), limits, Schedule(1))
        if result.status is Status.NUMERICAL_FAILURE or not result.gap_exact:
            raise ArithmeticError(result.message)
        return Certified(value=result.fun, gap=max(0.0, result.gap))
