"""Heavy Ball on a stream: one step for every batch that comes, with the momentum and the intercept kept in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..constraints.base import Constraint
from ..estimators import HeavyBall
from ..objectives.linear_model import LinearModel
from ..results import Result
from ..solver import Solver
from ..state import State


@dataclass(frozen=True, eq=False)
class Stream:
    """Where a stream has come to.

    Attributes
    ----------
    estimator : HeavyBall
        Of which every batch is the whole.
    state : State or None
        Of the solver; None before the first batch.
    start : array or None
        Where the first batch finds it, None for the solver's own start.
    intercept : float, array or None
        The average of those of the batches, with the momentum's weights.
    """

    estimator: HeavyBall
    start: Any = None
    state: Any = None
    intercept: Any = None

    @classmethod
    def starting(cls, estimator: Any, start: Any) -> Stream:
        if estimator is None:
            return cls(HeavyBall(batch_size=1.0), start)
        if not isinstance(estimator, HeavyBall):
            raise ValueError(
                "partial_fit follows a stream with estimator=bsfw.HeavyBall(), or None, since the others look at "
                f"earlier samples again, got {estimator!r}."
            )
        return cls(replace(estimator, batch_size=1.0), start)

    def step(self, objective: LinearModel, constraint: Constraint) -> Stream:
        """The stream after a step on this batch."""
        solver = Solver(objective, constraint, self.estimator, engine="reference")
        if self.state is None:
            state = solver.init(self.start, rng=0)
        else:
            before = self.state
            state = State(
                before.x, before.rng, before.iteration, before.x_previous, before.m, engine_name=before.engine_name
            )
        rate = float(self.estimator.rate(state.iteration, objective.quasar_rho))
        if solver.step(state) is None:
            raise ValueError("the gradient of this batch is not finite; scale the data.")
        found = objective.fields(state.x).get("intercept")
        if found is not None and self.intercept is not None:
            found = (1.0 - rate) * self.intercept + rate * np.asarray(found)
        return Stream(self.estimator, None, state, found)

    def result(self) -> Result:
        """What is fitted so far."""
        return Result(x=self.state.x, **({} if self.intercept is None else {"intercept": self.intercept}))
