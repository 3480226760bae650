"""The corrective method for traffic assignment: atoms of every demand apart, and Newton steps on the flows of paths.

Beyond the paper. A `PathPolytope` is a sum over demands, so that one answer of the oracle brings an atom to each of
them (disaggregate simplicial decomposition: Larsson and Patriksson, 1992).
"""

from __future__ import annotations

from ... import kernels
from ...constraints.flows import PathPolytope
from ...objectives.link_costs import LinkCosts
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    """Exact types only: a subclass may have changed anything."""
    if type(plan.objective) is LinkCosts and type(plan.constraint) is PathPolytope and kernels.available():
        return None
    return (
        "Newton steps on flows of paths need a LinkCosts objective, a PathPolytope and Numba, but the problem is "
        f"{type(plan.objective).__name__} over {plan.constraint!r}."
    )


def _load() -> type[Engine]:
    from .engine import FlowEngine

    return FlowEngine


OFFER = Offer("flows", ("corrective",), _refusal, _load)
