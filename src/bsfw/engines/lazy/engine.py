"""The engines of lazy runs, which ask the oracle only where no known vertex promises enough."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from ..._arrays import Array, inner, kind, norm
from ...active_set import ActiveSet, as_atom
from ...boosting import Direction, boost
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import Vertex
from ..active.engine import ActiveSetEngine
from ..active.methods import Look
from ..reference import ReferenceEngine
from .cache import VertexCache


class LazyBoostedEngine(ReferenceEngine):
    """Boosted Frank-Wolfe whose round 0 takes a known vertex if that promises enough, else the oracle's.

    Its later rounds know the vertices of the cache only: one that is not the best joins the direction if it improves
    the alignment, as any does. So an iteration makes at most one call of the oracle. The gap on the way is that of the
    last call, exact in the iterations with one.

    Attributes
    ----------
    cache : VertexCache
    """

    name = "lazy"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self.cache = VertexCache(plan.shape, state.x.dtype, state.memory)
        self._found: Direction | None = None

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        state = super().start(plan, x0, rng)
        if not isinstance(state.x, np.ndarray):
            raise ValueError(
                f"lazy=True works on NumPy arrays, but x0 is one of {kind(state.x)}; give the problem as NumPy arrays, "
                "or leave lazy out."
            )
        return state

    @property
    def exact_gaps(self) -> bool:
        return self.cache.asked and super().exact_gaps

    def _look(self, state: State) -> Direction | None:
        self._refit(state)
        cache, x = self.cache, state.x
        state.m = g = self.f.gradient(x)
        if not math.isfinite(norm(g)):
            return None
        first: Vertex | None = cache.best(g)
        cache.asked = False
        if first is None or inner(g, x) - first.inner(g) < cache.threshold:
            first = cache.ask(self.plan.constraint, state, g)
        else:
            cache.cached_calls += 1

        def lmo(direction: Array) -> Vertex:
            """Round 0 has its answer; the later ones take the best known vertex."""
            nonlocal first
            if first is None:
                cache.cached_calls += 1
                return cache.best(direction)  # type: ignore[return-value]  # there is one now
            vertex, first = first, None
            return vertex

        self._found = boost(g, x, lmo, self.plan.max_rounds, self.plan.min_gain)
        return dataclasses.replace(self._found, gap=cache.gap)

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step, by the gap of the vertex that was taken."""
        assert self._found is not None
        return super()._advance(state, self._found)

    def publish(self, state: State) -> None:
        """Put the cache into the state's memory."""
        state.memory = self.cache.to_arrays()

    def extras(self) -> dict[str, Any]:
        return {"cached_calls": self.cache.cached_calls}


class LazyActiveSetEngine(ActiveSetEngine):
    """The methods with an active set, which ask the oracle only if their direction, with the best known vertex for the
    oracle's, does not promise enough: Tsuji, Tanaka and Pokutta (2022), Algorithm 2, for blended pairwise steps.

    The gap on the way is that of the last call, exact in the iterations with one.

    Attributes
    ----------
    cache : VertexCache
    """

    name = "lazy-active"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self.cache = VertexCache(plan.shape, state.x.dtype, state.memory)

    @property
    def exact_gaps(self) -> bool:
        return self.cache.asked and super().exact_gaps

    def _look(self, state: State) -> Direction | None:
        self._refit(state)
        cache, x = self.cache, state.x
        state.m = g = self.f.gradient(x)
        if not math.isfinite(norm(g)):
            return None
        known = cache.best(g)
        cache.asked = False
        if known is not None and self.active is not None:
            choice = self._choose(Look.at(x, g, known, self.active))
            if -choice.slope >= cache.threshold:
                cache.cached_calls += 1
                return dataclasses.replace(choice, gap=cache.gap)
        vertex = cache.ask(self.plan.constraint, state, g)
        if self.active is None:
            self.active = ActiveSet(x.shape, x.dtype)
            self.active.add(as_atom(x, vertex), 1.0)
        return self._choose(Look.at(x, g, vertex, self.active))

    def publish(self, state: State) -> None:
        """Put the active set, the search and the cache into the state's memory."""
        super().publish(state)
        state.memory = {**state.memory, **self.cache.to_arrays()}

    def extras(self) -> dict[str, Any]:
        return {**super().extras(), "cached_calls": self.cache.cached_calls}
