"""What the compiled engine asks of a set: its rule, whose slots come first, its scratch, what a saved run must obey."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._arrays import Array
from ..constraints.one_hot import OneHotConstraint
from ..constraints.sparse_sets import GroupBall, KSparse
from . import layout
from .onehot import LANES
from .work import GroupRule, KSparseRule, Log, Pool

WIDEST, GROUPS_AT_ONCE = 64, 64
"""Coordinates of which the largest |m_j| is stored, at most, for `KSparse`, and groups of which the largest norm is."""
NO_ROUNDS = Log(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64), np.empty(0))
COLUMNS_A_STEP, VERTICES_A_STEP = 8, 3
"""Different columns that a boosted step adds to x, about, where vertices have one nonzero; as many groups; and vertices
of `KSparse`, with few coordinates in common."""
SPARE = 64
"""Coordinates in the first pool of `KSparse` beyond those of four vertices."""


class Set(Protocol):
    log: Any
    """Of the rounds of Boost: with no rows, for in a run nobody asks for their vertices."""

    def rule(self) -> dict[str, Any]:
        """Fields of `Rule`."""

    def support(self, x: Array) -> Array:
        """The coordinates that have slots at x, in their order."""

    def columns(self) -> tuple[float, float]:
        """Columns that a boosted step adds to x, about: popular ones, and others."""

    def arrays(self, support: Array, size: int) -> dict[str, Array]:
        """Arrays of the state that only such sets have, at an x of this support, for compact arrays of this size."""

    def scratch(self, size: int) -> dict[str, Any]:
        """Scratch that only such sets have, for compact arrays of this size."""

    def fault(self, memory: dict[str, Any]) -> str:
        """What is wrong with the saved arrays, if something is."""


class OneHotSet:
    """Vertices with one nonzero: s is an index and a number."""

    log = np.empty((0, 3))

    def __init__(self, constraint: OneHotConstraint) -> None:
        self.constraint = constraint

    def rule(self) -> dict[str, Any]:
        kind, weights = self.constraint.one_hot_rule()
        return {"kind": kind, "weights": np.empty(0) if weights is None else weights}

    def support(self, x: Array) -> Array:
        return np.flatnonzero(x != 0.0)  # much faster than of floats

    def columns(self) -> tuple[float, float]:
        return COLUMNS_A_STEP, 0.0

    def arrays(self, support: Array, size: int) -> dict[str, Array]:
        return {}

    def scratch(self, size: int) -> dict[str, Any]:
        return {}

    def fault(self, memory: dict[str, Any]) -> str:
        return ""


class KSparseSet:
    """Vertices with k nonzeros, whose largest come from a pool."""

    log = NO_ROUNDS

    def __init__(self, constraint: KSparse, n: int) -> None:
        self.k, self.n = constraint.k, n

    def rule(self) -> dict[str, Any]:
        return {"kind": layout.SEVERAL, "weights": np.empty(0), "sparse": KSparseRule(self.k)}

    def support(self, x: Array) -> Array:
        return np.flatnonzero(x != 0.0)  # much faster than of floats

    def columns(self) -> tuple[float, float]:
        return max(COLUMNS_A_STEP, VERTICES_A_STEP * self.k), 0.0

    def arrays(self, support: Array, size: int) -> dict[str, Array]:
        return {"vertex": np.zeros(size)}

    def scratch(self, size: int) -> dict[str, Any]:
        wanted = 4 * self.k + SPARE
        room, blocks = min(4 * wanted, self.n), min(max(-(-self.n // WIDEST), 4 * wanted), self.n)
        candidates = max(blocks, self.k + size // LANES + 1, room) + LANES
        sizes = (blocks, room, room, 3, candidates, candidates, self.k)
        return {"pool": Pool(*(np.empty(length, dtype=np.int64) for length in sizes))}

    def fault(self, memory: dict[str, Any]) -> str:
        return ""


class GroupSet:
    """Vertices on one group, whose coordinates have consecutive slots."""

    log = NO_ROUNDS

    def __init__(self, constraint: GroupBall) -> None:
        self.constraint = constraint

    def rule(self) -> dict[str, Any]:
        return {"kind": layout.SEVERAL, "weights": np.empty(0), "sparse": GroupRule(*self.constraint.group_rule())}

    def support(self, x: Array) -> Array:
        return self.constraint.members(self.constraint.touched(np.flatnonzero(x != 0.0)))

    def columns(self) -> tuple[float, float]:
        _, starts = self.constraint.group_rule()
        return COLUMNS_A_STEP, COLUMNS_A_STEP * (starts[-1] / (starts.size - 1) - 1.0)  # a group has a popular one

    def arrays(self, support: Array, size: int) -> dict[str, Array]:
        touched, groups = np.zeros(size, dtype=np.int64), self.constraint.touched(support)
        touched[: len(groups)] = groups
        return {"vertex": np.zeros(size), "touched": touched}

    def scratch(self, size: int) -> dict[str, Any]:
        return {"norms": np.zeros(-(-len(self.constraint.groups) // GROUPS_AT_ONCE))}

    def fault(self, memory: dict[str, Any]) -> str:
        count, touched = memory["whole"][layout.COUNT], memory["touched"]
        if np.any((touched < 0) | (touched >= len(self.constraint.groups))):
            return "a group is out of its range"
        _, starts = self.constraint.group_rule()
        ends = np.cumsum(np.diff(starts)[touched])
        members = self.constraint.members(touched[: np.searchsorted(ends, count) + 1 if count else 0])
        if not np.array_equal(members, memory["coordinates"][1 : count + 1]):
            return "the coordinates are not those of the groups"
        return ""


def set_of(constraint: Any, n: int) -> Set:
    """The set of a constraint that has compiled code, in R^n."""
    if isinstance(constraint, KSparse):
        return KSparseSet(constraint, n)
    return GroupSet(constraint) if isinstance(constraint, GroupBall) else OneHotSet(constraint)
