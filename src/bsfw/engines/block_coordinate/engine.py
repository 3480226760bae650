"""The engine of block-coordinate Frank-Wolfe: one set of a product at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array, check_array, inner, kind, norm
from ...boosting import Direction
from ...constraints.base import Constraint
from ...constraints.product import Product
from ...plan import Plan
from ...state import State
from ...steps import LineSearch, Move
from ...vertices import Dense
from ..base import Engine
from .places import Place, place_of

UNIFORM = 0.1
"""Share of the draws by gap that look at no gap: one that was small when last seen may have grown since."""


class BlockCoordinateEngine(Engine):
    """The methods "block-cyclic", "block-random" and "block-gap" in the solver's loop.

    An iteration is a pass: as many steps as the product has sets, each with the partial derivatives, an oracle call and
    a step of one set alone, by the plan's rule. So a pass makes as many oracle calls as one call of the product, and
    counts as one. Sets are taken in their order, uniformly at random, or at random by the gaps that they
    had when last seen. Before the first pass come a full gradient and a call for every set, with which gaps are known.

    The gap on the way is the sum of these gaps, each from when its set was last seen: no certificate, which the solver
    computes from the full gradient where it gives a verdict. The step reported is the mean over the pass.

    References
    ----------
    S. Lacoste-Julien, M. Jaggi, M. Schmidt and P. Pletscher (2013). Block-coordinate Frank-Wolfe optimization for
    structural SVMs. ICML.
    A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania and S. Lacoste-Julien (2016). Minding the gaps for block
    Frank-Wolfe optimization of structured SVMs. ICML.

    Attributes
    ----------
    gaps : array of shape (b,)
        max over C_i of <grad_i f(x), x_i - v>, for x when the block was last seen; empty before the first look.
    """

    name = "block-coordinate"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.constraint, Product)
        self.product = plan.constraint
        self._ends = np.cumsum([math.prod(shape) for _, shape in self.product.blocks])
        self.gaps = np.array(state.memory.get("block.gaps", np.empty(0)))

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        state = super().start(plan, x0, rng)
        if not isinstance(state.x, np.ndarray):
            raise ValueError(
                f"method {plan.method!r} works on NumPy arrays, but x0 is one of {kind(state.x)}; give the problem as "
                "NumPy arrays, or use method='boosted'."
            )
        return state

    @property
    def exact_gaps(self) -> bool:
        return False

    def _look(self, state: State) -> Direction | None:
        self._refit(state)
        if not self.gaps.size:
            gradient = self.f.gradient(state.x)
            if not math.isfinite(norm(gradient)):
                return None
            parts = zip(self.product.blocks, self.product.split(gradient), self.product.split(state.x), strict=True)
            self.gaps = np.array([_gap(constraint, g, x) for (constraint, _), g, x in parts])
            state.lmo_calls += 1
        gap = float(self.gaps.sum())
        if not math.isfinite(gap):
            return None
        return Direction([], [], Dense(state.x), gap, -gap, math.nan, 0.0, 0.0, 1)

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """A pass. There is no eta: nan."""
        blocks = self.product.blocks
        state.x = state.x.copy()
        pieces, place = self.product.split(state.x), place_of(self.f, state.x)
        lengths = [self._step(place, int(number), pieces) for number in self._order(state)]
        state.lmo_calls += 1
        state.iteration += 1
        share = math.fsum(lengths) / len(blocks)
        return math.nan, Move(share, False, share)

    def _order(self, state: State) -> Any:
        """The blocks of a pass; those by gap are drawn one after the other, as gaps change."""
        count = len(self.product.blocks)
        if self.plan.method == "block-cyclic":
            yield from range(count)
        for _ in range(0 if self.plan.method == "block-cyclic" else count):
            total = float(self.gaps.sum())
            if self.plan.method == "block-random" or not total > 0.0 or state.rng.random() < UNIFORM:
                yield state.rng.integers(count)
            else:
                yield min(np.searchsorted(np.cumsum(self.gaps), total * state.rng.random(), "right"), count - 1)

    def _step(self, place: Place, number: int, pieces: list[Array]) -> float:
        """A step of one block; its length."""
        constraint, shape = self.product.blocks[number]
        end, piece = int(self._ends[number]), pieces[number]
        block = slice(end - piece.size, end)
        g = place.gradient(block).reshape(shape)
        vertex = constraint.lmo(g)
        d = vertex.add_to(-piece, 1.0)
        gap = -inner(g, d)
        self.gaps[number] = max(gap, 0.0) if not math.isnan(gap) else gap
        along = place.along(block, d.ravel())
        # With no direction but s - x a rule goes there at once.
        only = Direction([], [], vertex, gap, 0.0, -1.0, 0.0, norm(d), 1)
        rule = self.plan.step
        if isinstance(rule, LineSearch):
            move = rule.search(only, along.line, along.line)
        else:
            move = rule(self.f, piece, only, 1.0)
        if move.length > 0.0:
            piece *= 1.0 - move.length
            vertex.add_to(piece, move.length)
            place.moved(along, move.length)
        return move.length

    def estimate(self, state: State) -> Array:
        """The exact gradient, which no step here needs: counted apart."""
        with self.f.counting(state.check_counts):
            return self.f.gradient(state.x)

    def publish(self, state: State) -> None:
        """Put the gaps into the state's memory."""
        state.memory = {"block.gaps": self.gaps.copy()}

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        fields = super().restore(plan, arrays)
        assert isinstance(plan.constraint, Product)
        gaps = fields["memory"].get("block.gaps", np.empty(0))
        if gaps.size:
            check_array(gaps, "the checkpoint's block.gaps", (len(plan.constraint.blocks),))
        return fields


def _gap(constraint: Constraint, gradient: Array, x: Array) -> float:
    """Of one set, not negative."""
    return max(0.0, inner(gradient, x) - constraint.lmo(gradient).inner(gradient))
