"""Engines: who carries out the iterations. `base` has the contract, `reference` the algorithm as printed."""

from __future__ import annotations

from ..plan import Plan
from . import (
    active,
    block_coordinate,
    blocks,
    compiled,
    conjugate,
    corrective,
    factored,
    flows,
    jax,
    lazy,
    newton,
    reference,
)  # fmt: skip
from .base import Engine, Offer

ENGINES: tuple[Offer, ...] = (
    newton.OFFER, flows.OFFER, *blocks.OFFERS, *corrective.OFFERS, active.OFFER, conjugate.OFFER,
    block_coordinate.OFFER, *lazy.OFFERS, factored.OFFER, compiled.OFFER, jax.OFFER, reference.OFFER,
)  # fmt: skip
"""In the order in which they are asked: the first that does not refuse carries out the plan."""


def engine_type(plan: Plan, wanted: str = "auto") -> type[Engine]:
    """The first engine that can carry out the plan, or the one `wanted` by name; a ValueError if there is none."""
    able = [offer for offer in ENGINES if plan.method in offer.methods and offer.lazy == plan.lazy]
    offers = able
    if wanted != "auto":
        offers = [offer for offer in offers if offer.name == wanted]
        if not offers:
            names = ", ".join(repr(offer.name) for offer in able)
            raise ValueError(f"engine must be 'auto' or, for method {plan.method!r}, {names}, got {wanted!r}.")
    refusals = []
    for offer in offers:
        refusal = offer.refusal(plan)
        if refusal is None:
            return offer.load()
        refusals.append(refusal)
    raise ValueError(refusals[-1])


__all__ = ["ENGINES", "Engine", "Offer", "engine_type"]
