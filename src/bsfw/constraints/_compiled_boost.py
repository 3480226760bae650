"""Compiled Boost for sets whose vertices have few nonzeros: what kernels ask of a set, and one call on dense arrays.

Imported only where Numba is there (`bsfw.kernels.available`).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._arrays import Array
from ..boosting import Direction, zero_squared
from ..kernels import groups, ksparse, onehot
from ..kernels.record import DONE, GROW, RECORD, BoostRule, Bounds, Log, Rounds, Support
from ..kernels.rounds import boost
from ..vertices import OneHot, Sparse, Vertex
from .one_hot import OneHotConstraint, OneHotKind
from .sparse_sets import GroupBall, KSparse

FIRST_ROUNDS, FIRST_ENTRIES, ROOM = 256, 16384, 1024
"""Rows and entries of the first log, and slots beyond the support; a longer boosting is run again with more of them."""
NO_LOG = Log(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64), np.empty(0))


class CompiledSet(Protocol):
    """A set of R^n as kernels know it."""

    widest: int
    """The most nonzeros of a vertex."""
    keyed: bool
    """Whether the largest keys of blocks of coordinates are stored."""

    def support(self, x: Array) -> Array:
        """The coordinates that have slots at x, in their order."""

    def kernel(self, size: int, touched: Array) -> Any:
        """The set with its scratch, for compact arrays of this size, and the groups that have slots."""

    def vertex(self, coordinates: Array, values: Array, shape: tuple[int, ...]) -> Vertex:
        """The vertex with these nonzeros."""


class OneHotSet:
    """Vertices with one nonzero, or none."""

    widest, keyed = 1, True

    def __init__(self, constraint: OneHotConstraint) -> None:
        kind, weights = constraint.one_hot_rule()
        radius = float(constraint.radius)
        if kind is OneHotKind.L1:
            self._set: Any = onehot.L1(radius)
        elif kind is OneHotKind.WEIGHTED_L1:
            self._set = onehot.WeightedL1(radius, np.ascontiguousarray(weights, dtype=np.float64))
        else:
            self._set = onehot.Simplex(radius, kind is OneHotKind.SOLID_SIMPLEX)

    def support(self, x: Array) -> Array:
        return np.flatnonzero(x != 0.0)  # much faster than of floats

    def kernel(self, size: int, touched: Array) -> Any:
        return self._set

    def vertex(self, coordinates: Array, values: Array, shape: tuple[int, ...]) -> Vertex:
        return OneHot(int(coordinates[0]), float(values[0]), shape) if len(values) else OneHot(0, 0.0, shape)


class KSparseSet:
    """Vertices with k nonzeros, whose largest come from a pool."""

    keyed = False

    def __init__(self, constraint: KSparse, n: int) -> None:
        self.widest, self.n = constraint.k, n
        self.radius = float(constraint.radius)

    def support(self, x: Array) -> Array:
        return np.flatnonzero(x != 0.0)  # much faster than of floats

    def kernel(self, size: int, touched: Array) -> Any:
        return ksparse.KSparse(self.radius, self.widest, ksparse.make_pool(self.widest, self.n, size))

    def vertex(self, coordinates: Array, values: Array, shape: tuple[int, ...]) -> Vertex:
        order = np.argsort(coordinates)  # as the LMO has them
        return Sparse(coordinates[order], values[order], shape)


class GroupSet:
    """Vertices on one group, whose coordinates have consecutive slots."""

    keyed = False

    def __init__(self, constraint: GroupBall) -> None:
        self.constraint = constraint
        self.order, self.starts = constraint.group_rule()
        self.widest = int(np.diff(self.starts).max())

    def support(self, x: Array) -> Array:
        return self.constraint.members(self.constraint.touched(np.flatnonzero(x != 0.0)))

    def kernel(self, size: int, touched: Array) -> Any:
        norms = np.zeros(-(-(self.starts.size - 1) // groups.GROUPS_AT_ONCE))
        return groups.Groups(float(self.constraint.radius), self.order, self.starts, touched, norms)

    def touched(self, support: Array, size: int) -> Array:
        """The groups of a support, with room for those of compact arrays of this size."""
        touched, found = np.zeros(size, dtype=np.int64), self.constraint.touched(support)
        touched[: len(found)] = found
        return touched

    def vertex(self, coordinates: Array, values: Array, shape: tuple[int, ...]) -> Vertex:
        return Sparse(coordinates.copy(), values.copy(), shape)


def compiled_set(constraint: Any, n: int) -> CompiledSet:
    """The set of a constraint that has compiled code, in R^n."""
    if isinstance(constraint, KSparse):
        return KSparseSet(constraint, n)
    return GroupSet(constraint) if isinstance(constraint, GroupBall) else OneHotSet(constraint)


def make_bounds(of: CompiledSet, n: int, kept: bool) -> Bounds:
    """The largest keys of blocks, where the set has some; `kept` bounds have an index."""
    blocks = -(-n // onehot.BLOCK) if of.keyed else 0
    return Bounds(
        np.zeros(blocks, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.zeros(-(-blocks // onehot.RUN) if kept else 0, dtype=np.int64),
    )


def make_rounds(of: CompiledSet, size: int, log: Log = NO_LOG) -> Rounds:
    """Scratch of Boost for compact arrays of this size."""
    return Rounds(np.zeros(size), np.zeros(size), np.zeros(of.widest, dtype=np.int64), np.zeros(of.widest), log)


def boost_compiled(constraint: Any, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction | None:
    """Algorithm Boost on dense arrays, or None where the numbers need the generic one: not finite, or x too large.

    O(n) once, then O(support + visited) a round, and O(n/256) for the blocks of one-hot vertices.
    """
    n, dtype = m.size, np.result_type(m, x, np.float32)
    of, g, flat = compiled_set(constraint, n), np.array(m, dtype=np.float64).ravel(), np.asarray(x, np.float64).ravel()
    rule, support = BoostRule(max_rounds, min_gain, zero_squared(dtype), 0.0), of.support(flat)
    slots = np.zeros(n, dtype=np.uint32)
    slots[support] = np.arange(1, len(support) + 1)
    rows, entries, room = min(max_rounds, FIRST_ROUNDS), max(FIRST_ENTRIES, of.widest), ROOM
    while True:
        size = min(n, len(support) + room) + 2
        record, coordinates, (compact, q, vertex) = np.zeros(1, RECORD), np.zeros(size, np.int64), np.zeros((3, size))
        record["count"], record["scale"] = len(support), 1.0
        coordinates[1 : len(support) + 1], compact[1 : len(support) + 1] = support, flat[support]
        log = Log(
            np.empty(entries, dtype=np.int64), np.empty(entries), np.empty(rows, dtype=np.int64), np.empty(rows)
        )  # fmt: skip
        touched = of.touched(support, size) if isinstance(of, GroupSet) else coordinates
        status = boost(
            of.kernel(size, touched), rule, record, Support(slots, coordinates, compact, compact[:0], q, vertex), g,
            make_bounds(of, n, False), make_rounds(of, size, log),
        )  # fmt: skip
        if status != GROW:
            return _direction(of, record[0], log, x.shape, dtype) if status == DONE else None
        rows, entries, room = min(max_rounds, 4 * rows), 4 * entries, 4 * room


def _direction(of: CompiledSet, record: Any, log: Log, shape: tuple[int, ...], dtype: np.dtype) -> Direction:
    """What a call found. The first vertex in the log is s, accepted or not."""
    accepted, start = int(record["accepted"]), 0
    ends = log.ends[: max(1, accepted)]
    values = log.values[: ends[-1]].astype(dtype, copy=False)
    vertices: list[Vertex] = []
    for end in ends.tolist():
        vertices.append(of.vertex(log.coordinates[start:end], values[start:end], shape))
        start = end
    weights = (log.weights[:accepted] / record["total"]).tolist() if accepted else []
    return direction_of(record, vertices[:accepted], weights, vertices[0])


def direction_of(record: Any, vertices: list[Vertex], weights: list[float], vertex: Vertex) -> Direction:
    """What a kernel left in the record, with the vertices."""
    numbers = {name: float(record[name]) for name in ("gap", "slope", "alignment", "norm")}
    return Direction(
        vertices, weights, vertex, **numbers, vertex_distance=float(record["distance"]), rounds=int(record["rounds"])
    )
