"""The rule by which a stochastic run goes over to its end phase, where the exact gradient takes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from .estimators import Estimator
from .estimators.base import BatchEstimator, CoordinateEstimator

END_PHASES = ("corrective",)
"""Methods that a stochastic run can end with."""
WINDOW = 5
"""Checks that the rule looks at together, so that no single draw decides."""
LEAST_CHECKS = 20
"""Checks that `gap_every` by default leaves room for, so that the rule can speak well before max_iter."""


class Check(NamedTuple):
    """What a full gradient g at x^t showed, beside the estimate m^t.

    Attributes
    ----------
    gap : float
        The exact Frank-Wolfe gap <g, x - s*>, s* = lmo(g).
    error : float
        What the estimate costs: <g, s - s*> >= 0 for its vertex s = lmo(m). Since <m, s - s*> <= 0 it is at most
        <g - m, s - s*> <= ||g - m|| D, the error term of the descent lemmas (Lemmas stoch_quasar_convex_descent and
        stoch_ncv_descent), but it needs no further LMO call. gap - error is the decrease of f towards s per unit of
        length.
    """

    gap: float
    error: float


@dataclass(frozen=True)
class Switch:
    """Where and why a run went over to its end phase.

    Attributes
    ----------
    iteration : int
        t; the step from x^t is the first of the end phase.
    reason : {"error", "stalled", "halfway"}
        See `reason_to_switch`.
    gap, error : float
        Of the check at x^t.
    """

    iteration: int
    reason: str
    gap: float
    error: float


def reason_to_switch(checks: Sequence[Check], iteration: int, max_iter: int) -> str | None:
    """Why the run should go on with the exact gradient, or None if it should not yet.

    Parameters
    ----------
    checks : sequence of Check
        Those so far, or the last 2 `WINDOW` of them, in their order.
    iteration, max_iter : int
        t of the last check, and the number of iterations of the whole run.

    Returns
    -------
    {"error", "stalled", "halfway"} or None
        "error": the estimator's error dominates the gap. Over the last `WINDOW` checks the errors sum to more than the
        gaps: towards the vertices of the estimate f does not decrease, on average, however short the step.

        "stalled": the gap has stopped halving. The median of the last `WINDOW` gaps is more than half of the median of
        the `WINDOW` before them. At a rate like 1/t that happens sooner or later.

        "halfway": neither, but half of the iterations are used up, and the rest is for the end phase.
    """
    last, before = checks[-WINDOW:], checks[-2 * WINDOW : -WINDOW]
    if len(last) == WINDOW and sum(check.error for check in last) > sum(check.gap for check in last):
        return "error"
    if len(before) == WINDOW and median(check.gap for check in last) > median(check.gap for check in before) / 2:
        return "stalled"
    return "halfway" if 2 * iteration >= max_iter else None


def default_gap_every(estimator: Estimator, n_samples: int | None, dimension: int, max_iter: int) -> int:
    """Iterations between two checks: about a pass over the samples or the coordinates, so that checks cost no more
    gradients than the iterations do; fewer if `LEAST_CHECKS` of them would not fit into the run."""
    most = max(1, max_iter // LEAST_CHECKS)
    if isinstance(estimator, BatchEstimator) and n_samples is not None:
        return min(most, -(-n_samples // estimator.batch(n_samples)))
    if isinstance(estimator, CoordinateEstimator):
        return min(most, -(-dimension // estimator.size(dimension)))
    return most
