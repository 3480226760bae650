"""One Boost call on arrays, for sets with one-hot vertices: the compiled equal of `bsfw.boosting.boost`."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..boosting import Direction, zero_squared
from ..vertices import OneHot, Vertex
from . import layout
from .onehot import BLOCK, LANES, boost

FIRST_ROUNDS = 256
"""Rows of the first log of accepted rounds; a longer boosting is run again with a longer log."""


def direction_of(
    whole: Array, real: Array, vertices: list[Vertex], weights: list[float], vertex: Vertex
) -> Direction:  # fmt: skip
    """What a kernel left in the two arrays of `layout`, with the vertices."""
    return Direction(
        vertices=vertices,
        weights=weights,
        vertex=vertex,
        gap=float(real[layout.GAP]),
        slope=float(real[layout.SLOPE]),
        alignment=float(real[layout.ALIGNMENT]),
        norm=float(real[layout.NORM]),
        vertex_distance=float(real[layout.DISTANCE]),
        rounds=int(whole[layout.ROUNDS]),
    )


def boost_one_hot(
    kind: int, radius: float, weights: Array | None, m: Array, x: Array, max_rounds: int, min_gain: float
) -> Direction:
    """Algorithm Boost on the set of this kind. O(n) once, then O(support + visited + n/256) a round."""
    g = np.array(m, dtype=np.float64).ravel()
    flat = np.asarray(x, dtype=np.float64).ravel()
    support = np.flatnonzero(flat)
    rows = min(max_rounds, FIRST_ROUNDS)
    zero = zero_squared(x.dtype)
    slots = np.zeros(g.size, dtype=np.uint32)
    slots[support] = np.arange(1, len(support) + 1)
    while True:
        size = min(g.size, len(support) + rows) + 2 + LANES
        coordinates, compact = np.zeros(size, dtype=np.int64), np.zeros(size)
        coordinates[1 : len(support) + 1] = support
        compact[1 : len(support) + 1] = flat[support]
        whole, real = np.zeros(layout.WHOLE_SIZE, dtype=np.int64), np.zeros(layout.REAL_SIZE)
        whole[layout.COUNT], real[layout.SCALE] = len(support), 1.0
        log = np.empty((rows, 3))
        status = boost(
            kind, radius, np.empty(0) if weights is None else weights, max_rounds, min_gain, zero, 0.0, g,
            slots, coordinates, compact, np.zeros(size), np.zeros(size), np.zeros(size),
            np.zeros(-(-g.size // BLOCK), dtype=np.int64), np.zeros(0, dtype=np.int64), whole, real, log,
        )  # fmt: skip
        if status != layout.GROW:
            break
        rows = min(max_rounds, 4 * rows)
    accepted = log[: whole[layout.ACCEPTED]].tolist()
    vertices: list[Vertex] = [
        OneHot(int(coordinates[int(slot)]) if slot > 0 else 0, float(value), x.shape) for slot, value, _ in accepted
    ]
    weights_found = [weight / float(real[layout.LAMBDA]) for _, _, weight in accepted]
    vertex = OneHot(int(whole[layout.VERTEX]), float(real[layout.VALUE]), x.shape)
    return direction_of(whole, real, vertices, weights_found, vertex)
