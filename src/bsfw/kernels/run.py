"""Iterations of Algorithm BSFW on a linear model over a set whose vertices are sparse, without Python in between."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._jit import Random, address_of, call, entry
from .losses import for_loss
from .record import ADVANCE, BOOST, BUDGET, DONE, ESTIMATE, GAP_REACHED, LOOK, MOVE, NOT_FINITE, PASSED, REFIT, RUN
from .rounds import boost


class Phases(NamedTuple):
    """Addresses of the three phases of an iteration: the estimate, Boost and the move."""

    estimate: np.uint64
    boost: np.uint64
    move: np.uint64


class Budgets(NamedTuple):
    """Where a run stops: the exact gap, sample plus coordinate gradients, LMO calls."""

    gap_tol: float
    max_gradients: int
    max_lmo_calls: int


NO_RANDOM = Random(np.uint64(0), np.uint64(0))


def compile_phases(estimate: Any, move: Any, model: Any, rule: Any, of: Any, boost_rule: Any, work: Any) -> Phases:
    """The phases of a run with such arguments, compiled now if they are not in the cache."""
    return Phases(
        address_of(estimate, (model, rule, work, 0.0, NO_RANDOM)),
        address_of(boost, (of, boost_rule, work.record, work.support, work.estimate.g, work.bounds, work.rounds)),
        address_of(move, (model, work, True, 0.0)),
    )


@entry()
def run(phases, model, rule, of, boost_rule, work, onward, mode, etas, rates, random, budgets):
    """Iterations from where the work stands: one per entry of `etas`, unless something ends them before.

    With mode LOOK it returns before the first move, with mode ADVANCE after it.
    """
    r = work.record[0]
    start = r.iteration
    while r.phase != ESTIMATE or r.iteration - start < etas.size:
        step = r.iteration - start
        if mode == RUN and r.phase == ESTIMATE and (
            r.sample_gradients + r.coordinate_gradients >= budgets.max_gradients
            or r.lmo_calls >= budgets.max_lmo_calls
        ):  # fmt: skip
            return BUDGET
        if r.phase == ESTIMATE and rule.refit > 0 and r.iteration % rule.refit == 0 and r.fitted_at != r.iteration:
            return REFIT
        if r.phase == ESTIMATE or r.phase == PASSED:
            status = call(phases.estimate, (model, rule, work, rates[step], random))
            if status != DONE:
                return status
            r.phase = BOOST
        if r.phase == BOOST:
            status = call(
                phases.boost,
                (of, boost_rule, work.record, work.support, work.estimate.g, work.bounds, work.rounds),
            )
            if status != DONE:
                return status
            r.phase = MOVE
        if mode == LOOK:
            return DONE
        if mode == RUN and not np.isfinite(r.norm):
            return NOT_FINITE
        if mode == RUN and rule.exact and r.gap <= budgets.gap_tol:
            return GAP_REACHED
        status = call(phases.move, (model, work, onward, etas[step]))
        if status != DONE or mode == ADVANCE:
            return status
    return DONE


def compile_run(phases: Phases, model: Any, rule: Any, of: Any, boost_rule: Any, work: Any) -> None:
    """The same for `run`."""
    empty, budgets = np.empty(0), Budgets(0.0, 0, 0)
    address_of(
        for_loss(run, model.loss),
        (phases, model, rule, of, boost_rule, work, True, 0, empty, empty, NO_RANDOM, budgets),
    )
