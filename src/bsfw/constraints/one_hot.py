"""What sets with one-hot vertices share: a Boost that exploits them."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum

import numpy as np

from .. import kernels
from .._arrays import Array, is_complex, is_foreign
from ..boosting import Direction
from .base import Constraint


class OneHotKind(Enum):
    """The sets with one-hot vertices that have code of their own."""

    L1, WEIGHTED_L1, SIMPLEX, SOLID_SIMPLEX = range(4)


class OneHotConstraint(Constraint):
    """A set of real arrays (or complex ones, without the fast path) whose vertices have at most one nonzero."""

    radius: float

    @abstractmethod
    def one_hot_rule(self) -> tuple[OneHotKind, Array | None]:
        """Which kind the set is, and its weights by coordinate, if any."""

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost, exact: O(n) once, then O(support + visited + n/256) a round instead of O(n)."""
        if is_foreign(x) or self._overrides_lmo() or is_complex(np.result_type(m, x)) or not kernels.available():
            return super().boost(m, x, max_rounds, min_gain)
        from ._compiled_boost import boost_compiled

        found = boost_compiled(self, m, x, max_rounds, min_gain)
        return super().boost(m, x, max_rounds, min_gain) if found is None else found

    def _overrides_lmo(self) -> bool:
        """Whether a subclass changed the oracle, which the compiled code would not know."""
        owner = next(kind for kind in type(self).__mro__ if "one_hot_rule" in vars(kind))
        return type(self).lmo is not vars(owner)["lmo"]
