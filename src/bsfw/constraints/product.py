"""Products of sets: one constraint for each block of a flat variable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import Array, digest, is_foreign
from ..vertices import Dense, OneHot, Sparse, Vertex
from ._common import has_formula, on_device, worst
from .base import Constraint


class Product(Constraint):
    """The product C_1 x ... x C_b: a flat vector whose consecutive pieces, reshaped, live in their own sets.

    The LMO is that of every block, and its cost their sum. The vertex is `Sparse` if those of all blocks are.

    Parameters
    ----------
    blocks : sequence of (constraint, shape)
        The sets with the shapes of their variables (a number for a vector).
    """

    def __init__(self, blocks: Sequence[tuple[Constraint, int | tuple[int, ...]]]) -> None:
        checked = []
        for number, block in enumerate(blocks):
            if not (isinstance(block, (tuple, list)) and len(block) == 2 and isinstance(block[0], Constraint)):
                raise ValueError(f"blocks[{number}] must be a pair (constraint, shape), got {block!r}.")
            constraint, given = block
            shape = (given,) if isinstance(given, (int, np.integer)) else tuple(given)
            if not shape or not all(isinstance(size, (int, np.integer)) and size > 0 for size in shape):
                raise ValueError(f"the shape in blocks[{number}] must hold positive whole numbers, got {given!r}.")
            constraint.check_shape(shape)
            checked.append((constraint, tuple(int(size) for size in shape)))
        if not checked:
            raise ValueError("blocks is empty; give at least one pair (constraint, shape).")
        self.blocks = tuple(checked)
        sizes = [math.prod(shape) for _, shape in self.blocks]
        self._ends = np.cumsum(sizes)
        self._begins = self._ends - sizes
        self.shape = (int(self._ends[-1]),)
        self.few_atoms = all(constraint.few_atoms for constraint, _ in self.blocks)
        self.few_curved_atoms = not self.few_atoms and all(
            constraint.few_atoms or constraint.few_curved_atoms for constraint, _ in self.blocks
        )
        self.suggested_rounds = min(constraint.suggested_rounds for constraint, _ in self.blocks)
        self.any_array = all(has_formula(constraint) for constraint, _ in self.blocks)
        self.has_membership = all(constraint.has_membership for constraint, _ in self.blocks)

    def split(self, x: Array) -> list[Array]:
        """The blocks of x, as views in their shapes."""
        self.check_shape(x.shape)
        pieces = zip(self._begins, self._ends, self.blocks, strict=True)
        return [x[begin:end].reshape(shape) for begin, end, (_, shape) in pieces]

    def lmo(self, direction: Array) -> Vertex:
        if is_foreign(direction):
            self.check_shape(direction.shape)
            return on_device(self, direction)
        direction = np.asarray(direction)
        parts = [block[0].lmo(g) for block, g in zip(self.blocks, self.split(direction), strict=True)]
        indices, values = [], []
        for begin, part in zip(self._begins, parts, strict=True):
            if isinstance(part, OneHot):
                indices.append(begin + np.array([part.index]))
                values.append(np.array([part.value]))
            elif isinstance(part, Sparse):
                indices.append(begin + part.indices)
                values.append(part.values)
            else:
                return Dense(np.concatenate([part.dense().ravel() for part in parts]))
        return Sparse(np.concatenate(indices), np.concatenate(values), direction.shape)

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """The sum of those of the blocks."""
        if is_foreign(direction) or self.solves_exactly(direction.shape):
            return super().lower_bound(direction, vertex)
        pieces = zip((block[0] for block in self.blocks), self.split(direction), strict=True)
        return sum(constraint.lower_bound(g, constraint.lmo(g)) for constraint, g in pieces)

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return all(constraint.solves_exactly(size) for constraint, size in self.blocks)

    def violation(self, x: Array) -> float:
        """The largest violation of a block."""
        pieces = self.split(np.asarray(x))
        return worst(*(block[0].violation(piece) for block, piece in zip(self.blocks, pieces, strict=True)))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Square root of the sum of the squared diameters of the blocks; exact if theirs are."""
        return math.hypot(*(constraint.diameter(size) for constraint, size in self.blocks))

    def _parameters(self) -> dict[str, Any]:
        return {"blocks": self.blocks}

    def fingerprint(self) -> str:
        parts = [part for constraint, shape in self.blocks for part in (constraint.fingerprint(), shape)]
        return digest(type(self).__name__, *parts)
