"""Vertices that an oracle gave before, and when it must be asked again: lazification."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._arrays import Array, check_array, inner
from ...active_set import ActiveSet
from ...constraints.base import Constraint
from ...state import State
from ...vertices import Vertex

SIZE = 2000
"""Vertices kept; beyond that the one used least recently leaves."""
SHARE = 0.5
"""Of the last exact gap: what a step among known vertices must promise, or the oracle is asked."""


class VertexCache:
    """What a lazy run knows instead of asking the oracle.

    Weak separation (Braun, Pokutta and Zink, 2017): a direction with -<g, d> >= SHARE * gap, where gap is the exact one
    of the last call of the oracle, promises SHARE of what that did, whoever found it. If no known vertex gives such a
    direction the oracle is asked, and its answer gives the exact gap of x.

    Attributes
    ----------
    gap : float
        The exact gap at the last call of the oracle; inf before the first.
    asked : bool
        Whether the oracle was asked at the present x.
    cached_calls : int
        Questions that were answered without the oracle.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, arrays: Mapping[str, Any] | None = None) -> None:
        self._vertices = ActiveSet(shape, dtype)  # of which a weight is when the vertex was last used
        self.gap, self.asked, self.cached_calls, self._clock = math.inf, False, 0, 0.0
        if arrays and "lazy.numbers" in arrays:
            self.gap, calls, self._clock = check_array(arrays["lazy.numbers"], "the lazy.numbers", (3,)).tolist()
            self.cached_calls = int(calls)
            kept = {name.removeprefix("lazy."): part for name, part in arrays.items() if name.startswith("lazy.active")}
            if kept:
                self._vertices = ActiveSet.from_arrays(kept)

    @property
    def threshold(self) -> float:
        """The slope that a step without the oracle must have at least."""
        return SHARE * self.gap

    def __len__(self) -> int:
        return len(self._vertices)

    def best(self, g: Array) -> Vertex | None:
        """The known vertex of least <g, v>; a pass over all of them."""
        if not len(self):
            return None
        position = int(np.argmin(self._vertices.scores(g)))
        self._clock += 1.0
        self._vertices.weights[position] = self._clock
        return self._vertices.atom(position)

    def ask(self, constraint: Constraint, state: State, g: Array) -> Vertex:
        """The oracle's answer, remembered, which gives the exact gap."""
        vertex = constraint.lmo(g)
        state.lmo_calls += 1
        self._add(vertex)
        self.gap, self.asked = inner(g, state.x) - vertex.inner(g), True
        return vertex

    def _add(self, vertex: Vertex) -> None:
        self._clock += 1.0
        position = self._vertices.add(vertex, 0.0)
        self._vertices.weights[position] = self._clock
        if len(self) > SIZE:
            self._vertices.remove(int(np.argmin(self._vertices.weights)))

    def to_arrays(self) -> dict[str, Array]:
        """All of it for a checkpoint."""
        arrays = {"lazy.numbers": np.array([self.gap, self.cached_calls, self._clock])}
        if len(self):
            arrays |= {f"lazy.{name}": part for name, part in self._vertices.to_arrays().items()}
        return arrays
