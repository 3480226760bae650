"""Runs with a factored iterate: matrix completion over sets with rank-one vertices, nothing dense ever formed.

What is compiled here is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import compiled
from ..constraints.spectral import NuclearBall, Spectraplex
from ..estimators import ESTIMATORS, FullGradient
from ..estimators.base import BatchEstimator
from ..objectives.completion import MatrixCompletion
from ..steps import ImageStep, LineSearch, PaperStep, ShortStep

if TYPE_CHECKING:
    from ..solver import Solver


def supports(solver: Solver) -> bool:
    """Whether x is a `LowRank` in a run of this solver. Exact types only: a subclass may have changed anything."""
    return (
        type(solver.objective) is MatrixCompletion
        and type(solver.constraint) in (NuclearBall, Spectraplex)
        and type(solver.estimator) is ESTIMATORS.get(solver.estimator.name)
        and isinstance(solver.estimator, (BatchEstimator, FullGradient))
        and type(solver.step_rule) in (PaperStep, ImageStep, ShortStep, LineSearch)
        and compiled.available()
    )
