"""The corrective engine on blocks, on any set: atoms are points, their images dense, x lies in their hull."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ...active_set import ActiveSet, as_atom
from ...boosting import Direction
from ...plan import Plan
from ...state import State
from ...steps import Move
from ...vertices import OneHot, Sparse, Vertex
from ..corrective.correction import Region
from ..corrective.engine import LEAST_ROUNDS, MIN_GAIN
from .engine import BlockCorrection
from .tasks import image


class BlockHullEngine(BlockCorrection):
    """Runs the iterations of one `State` with weights on the simplex, x = sum_k w_k v_k: see `HullEngine`."""

    name = "blocks-hull"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state, Region(signed=False, equal=True, radius=1.0))
        self.active: ActiveSet | None = None
        self._keys: list[str] = []
        if "active.weights" in state.memory:
            self.active = ActiveSet.from_arrays(state.memory)
            self._x = self.active.point()

    def _look(self, state: State) -> Direction | None:
        """Full pass, exact gap and Boost."""
        if not self._full_pass():
            return None
        size = 1 if self.active is None else len(self.active)
        rounds = min(self.plan.constraint.suggested_rounds, max(LEAST_ROUNDS, size))
        direction = self.plan.constraint.boost(self._g, self._x, rounds, MIN_GAIN)
        state.lmo_calls += direction.rounds
        if self.active is None:
            self.active = ActiveSet(self.plan.shape)
            self.active.add(as_atom(self._x, direction.vertex), 1.0)
        return direction

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let the atoms join, correct the weights, and let atoms without weight leave."""
        assert self.active is not None
        for vertex in (direction.vertex, *direction.vertices):
            self.active.add(vertex, 0.0)
        features, atoms = stacked(self.active.atoms, self.plan.shape)
        if self._chosen is None or self.active.keys != self._keys:
            self._choose(self.objective.blocks.derive(image, self.objective.loss, features, atoms))
            self._keys = list(self.active.keys)
        assert self._chosen is not None
        g = np.tensordot(atoms, self._g[features], axes=(range(atoms.ndim - 1), range(atoms.ndim - 1)))
        count = len(self.active)
        weights, length = self._correct(self._chosen, np.ones(count), self.active.weights.copy(), g, direction.gap)
        self.active.weights = weights.copy()
        self.active.tidy()
        self._x = self.active.point()
        state.iteration += 1
        return 1.0, Move(length, False, length)

    def publish(self, state: State) -> None:
        super().publish(state)
        if self.active is not None:
            state.memory |= self.active.to_arrays()

    def extras(self) -> dict[str, Any]:
        """Fields of the result: the active set. A set without a radius has no multiplier."""
        return {"active_set": self.active}


def stacked(atoms: list[Vertex], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The features at which any of the atoms has a nonzero, and their rows there: (s, k), or (s, c, k)."""
    parts = [_entries(atom) for atom in atoms]
    width = math.prod(shape[1:])
    features = np.unique(np.concatenate([indices // width for indices, _ in parts]))
    rows = np.zeros((len(features), width, len(atoms)))
    for k, (indices, values) in enumerate(parts):
        rows[np.searchsorted(features, indices // width), indices % width, k] = values
    return features, rows[:, 0] if len(shape) == 1 else rows


def _entries(atom: Vertex) -> tuple[Array, Array]:
    """The nonzeros of an atom, by flat index."""
    if isinstance(atom, OneHot):
        return np.array([atom.index]), np.array([atom.value], dtype=np.float64)
    if isinstance(atom, Sparse):
        return np.asarray(atom.indices, dtype=np.int64), np.asarray(atom.values, dtype=np.float64)
    flat = atom.dense(np.float64).ravel()
    indices = np.flatnonzero(flat)
    return indices, flat[indices]
