"""The corrective method for matrix completion: Newton steps on the factors, Frank-Wolfe for new ones and for the gap.

Beyond the paper. What is compiled here is imported when it is used.
"""

from __future__ import annotations

from ... import kernels
from ...constraints.spectral import NuclearBall
from ...objectives.completion import MatrixCompletion
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    """Exact types only: a subclass may have changed anything."""
    if type(plan.objective) is MatrixCompletion and type(plan.constraint) is NuclearBall and kernels.available():
        return None
    return (
        "Newton steps on factors need a MatrixCompletion objective, a NuclearBall and Numba, but the problem is "
        f"{type(plan.objective).__name__} over {plan.constraint!r}."
    )


def _load() -> type[Engine]:
    from .engine import NewtonEngine

    return NewtonEngine


OFFER = Offer("newton", ("corrective",), _refusal, _load)
