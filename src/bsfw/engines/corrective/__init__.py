"""The corrective method: few gradients of all data, and the weights of the active atoms optimised in between.

Beyond the paper: Boost finds many atoms per gradient, and Newton steps on their weights reach high accuracy, where any
first-order direction slows down. Every iterate is a convex combination of feasible points, and the gap is exact.
"""

from __future__ import annotations

from ... import kernels
from ..._arrays import is_foreign
from ...constraints.balls import L1Ball
from ...constraints.simplex import Simplex
from ...objectives.linear_model import LinearModel
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    objective = plan.objective
    if not objective.has_gradient or is_foreign(objective.like):
        return (
            "the corrective method needs a gradient on NumPy arrays, as linear models, Quadratic and Function with jac "
            f"have it, but the objective is {type(objective).__name__}; use method='boosted'."
        )
    if not kernels.available():
        return "the corrective method needs compiled code, but NUMBA_DISABLE_JIT switches Numba off."
    return None


def _one_hot_refusal(plan: Plan) -> str | None:
    linear = isinstance(plan.objective, LinearModel) and hasattr(plan.objective, "A")
    if type(plan.constraint) not in (L1Ball, Simplex) or not linear:
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
