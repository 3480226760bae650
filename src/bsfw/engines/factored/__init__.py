"""Runs with a factored iterate: matrix completion over sets with rank-one vertices, nothing dense ever formed.

What is compiled here is imported when it is used.
"""

from __future__ import annotations

from ... import kernels
from ...constraints.spectral import NuclearBall, Spectraplex
from ...estimators import ESTIMATORS, FullGradient
from ...estimators.base import BatchEstimator
from ...objectives.completion import MatrixCompletion
from ...plan import Plan
from ...steps import ImageStep, LineSearch, PaperStep, ShortStep
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    """Exact types only: a subclass may have changed anything."""
    fits = (
        type(plan.objective) is MatrixCompletion
        and plan.objective.frame.plain
        and plan.objective.ridge is None
        and type(plan.constraint) in (NuclearBall, Spectraplex)
        and type(plan.estimator) in ESTIMATORS.values()
        and isinstance(plan.estimator, (BatchEstimator, FullGradient))
        and type(plan.step) in (PaperStep, ImageStep, ShortStep, LineSearch)
        and kernels.available()
    )
    return None if fits else (
        "the factored engine is not available: it needs Numba, a MatrixCompletion objective without biases=, weights= "
        "and implicit= (those need method='corrective'), a NuclearBall or Spectraplex, and an estimator by batches or "
        "the exact gradient."
    )  # fmt: skip


def _load() -> type[Engine]:
    from .engine import FactoredEngine

    return FactoredEngine


OFFER = Offer("factored", ("boosted",), _refusal, _load)
