"""Block-coordinate Frank-Wolfe on products of sets."""

from __future__ import annotations

from ..._arrays import is_foreign
from ...constraints.product import Product
from ...plan import BLOCKWISE, Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    if not isinstance(plan.constraint, Product):
        return (
            f"method {plan.method!r} moves one set of a bsfw.Product at a time, but the set is "
            f"{type(plan.constraint).__name__}; give bsfw.Product([(set, shape), ...])."
        )
    if is_foreign(plan.objective.like):
        return f"method {plan.method!r} works on NumPy arrays only; give the problem as such."
    return None


def _load() -> type[Engine]:
    from .engine import BlockCoordinateEngine

    return BlockCoordinateEngine


OFFER = Offer("block-coordinate", BLOCKWISE, _refusal, _load)
