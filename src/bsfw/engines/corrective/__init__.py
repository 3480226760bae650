"""The corrective method: few gradients of all data, and the weights of the active atoms optimised in between.

Beyond the paper: Boost finds many atoms per gradient, and Newton steps on their weights reach high accuracy, where any
first-order direction slows down. Every iterate is a convex combination of feasible points, and the gap is exact.
"""

from __future__ import annotations

from ... import kernels
from ...constraints.balls import L1Ball
from ...constraints.simplex import Simplex
from ...objectives.linear_model import LinearModel
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    objective = plan.objective
    if not isinstance(objective, LinearModel):
        return (
            "the corrective method needs a linear model, such as Logistic or Multinomial, but the objective is "
            f"{type(objective).__name__}; use method='boosted' alone."
        )
    if not kernels.available():
        return "the corrective method needs compiled code, but NUMBA_DISABLE_JIT switches Numba off."
    return None


def _one_hot_refusal(plan: Plan) -> str | None:
    if type(plan.constraint) not in (L1Ball, Simplex) or not hasattr(plan.objective, "A"):
        return "the corrective engine on coordinates needs an L1Ball or a Simplex, and a linear model with a matrix A."
    return _refusal(plan)


def _one_hot() -> type[Engine]:
    from .engine import CorrectiveEngine

    return CorrectiveEngine


def _hull() -> type[Engine]:
    from .general import HullEngine

    return HullEngine


OFFERS = (
    Offer("corrective", ("corrective",), _one_hot_refusal, _one_hot),
    Offer("hull", ("corrective",), _refusal, _hull),
)
"""On coordinates of the l1 balls and simplices, else on atoms."""
