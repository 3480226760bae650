"""Lazy runs: known vertices stand in for the oracle where they promise enough."""

from __future__ import annotations

from ..._arrays import is_foreign
from ...plan import Plan
from ..base import Engine, Offer


def _refusal(plan: Plan) -> str | None:
    if is_foreign(plan.objective.like):
        return "lazy=True works on NumPy arrays only; give the problem as such, or leave lazy out."
    return None


def _boosted() -> type[Engine]:
    from .engine import LazyBoostedEngine

    return LazyBoostedEngine


def _active() -> type[Engine]:
    from .engine import LazyActiveSetEngine

    return LazyActiveSetEngine


OFFERS = (
    Offer("lazy", ("boosted",), _refusal, _boosted, lazy=True),
    Offer("lazy-active", ("away", "pairwise", "blended-pairwise"), _refusal, _active, lazy=True),
)
