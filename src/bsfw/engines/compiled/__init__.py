"""The compiled engine: many iterations in one call of compiled code."""

from __future__ import annotations

from ... import kernels
from ...constraints.balls import L1Ball
from ...constraints.simplex import Simplex
from ...constraints.sparse_sets import GroupBall, KSparse
from ...estimators import ESTIMATORS
from ...objectives.base import Objective
from ...objectives.linear_model import LinearModel
from ...objectives.links import LeakySquared, ProbitSquared, SigmoidSquared
from ...objectives.losses import Huber, LeastSquares, Logistic, Tukey
from ...plan import Plan
from ...steps import ImageStep, LineSearch, PaperStep, ShortStep
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    """Exact types only: a subclass may have changed anything."""
    fits = (
        _has_compiled_loss(plan.objective)
        and type(plan.constraint) in (L1Ball, Simplex, KSparse, GroupBall)
        and type(plan.estimator) in ESTIMATORS.values()
        and type(plan.step) in (PaperStep, ImageStep, ShortStep, LineSearch)
        and kernels.available()
    )
    return None if fits else "the compiled engine is not available: it needs Numba, and a problem it has code for."


def _has_compiled_loss(objective: Objective) -> bool:
    if type(objective) in (Logistic, LeastSquares, Huber, Tukey, SigmoidSquared, ProbitSquared, LeakySquared):
        return True
    if not isinstance(objective, LinearModel) or len(objective.shape) != 1:
        return False
    return objective.compiled_loss() is not None


def _load() -> type[Engine]:
    from .engine import CompiledEngine

    return CompiledEngine


OFFER = Offer("compiled", ("boosted",), _refusal, _load)
