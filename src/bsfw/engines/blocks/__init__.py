"""The corrective method on data in blocks: one full pass an iteration, one round trip for each Newton step."""

from __future__ import annotations

from ... import kernels
from ...constraints.balls import L1Ball
from ...constraints.simplex import Simplex
from ...objectives.partitioned import PartitionedModel
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    if not isinstance(plan.objective, PartitionedModel):
        return "the engine for blocks needs a linear model on bsfw.blocks."
    if not kernels.available():
        return "the corrective method needs compiled code, but NUMBA_DISABLE_JIT switches Numba off."
    return None


def _one_hot_refusal(plan: Plan) -> str | None:
    if type(plan.constraint) not in (L1Ball, Simplex):
        return "the engine for blocks on coordinates needs an L1Ball or a Simplex."
    return _refusal(plan)


def _one_hot() -> type[Engine]:
    from .engine import BlockEngine

    return BlockEngine


def _hull() -> type[Engine]:
    from .hull import BlockHullEngine

    return BlockHullEngine


OFFERS = (
    Offer("blocks", ("corrective",), _one_hot_refusal, _one_hot),
    Offer("blocks-hull", ("corrective",), _refusal, _hull),
)
"""On coordinates of the l1 balls and simplices, else on atoms."""
