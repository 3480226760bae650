"""Methods with an active set: away, pairwise and blended pairwise Frank-Wolfe."""

from __future__ import annotations

from ..base import Engine, Offer


def _load() -> type[Engine]:
    from .engine import ActiveSetEngine

    return ActiveSetEngine


OFFER = Offer("active", ("away", "pairwise", "blended-pairwise"), lambda plan: None, _load)
