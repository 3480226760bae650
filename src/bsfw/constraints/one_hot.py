"""What sets with one-hot vertices share: a Boost that exploits them."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .. import compiled
from .._arrays import Array, is_complex
from ..boosting import Direction
from .base import Constraint


class OneHotConstraint(Constraint):
    """A set of real arrays (or complex ones, without the fast path) whose vertices have at most one nonzero."""

    radius: float

    @abstractmethod
    def one_hot_rule(self) -> tuple[int, Array | None]:
        """Which of the kinds of `bsfw.compiled.layout` the set is, and its weights by coordinate, if any."""

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost, exact: O(n) once, then O(support + visited + n/256) a round instead of O(n)."""
        if self._overrides_lmo() or is_complex(np.result_type(m, x)) or not compiled.available():
            return super().boost(m, x, max_rounds, min_gain)
        from ..compiled.boosting import boost_one_hot

        kind, weights = self.one_hot_rule()
        return boost_one_hot(kind, self.radius, weights, m, x, max_rounds, min_gain)

    def _overrides_lmo(self) -> bool:
        """Whether a subclass changed the oracle, which the compiled code would not know."""
        owner = next(kind for kind in type(self).__mro__ if "one_hot_rule" in vars(kind))
        return type(self).lmo is not vars(owner)["lmo"]
