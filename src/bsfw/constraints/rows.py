"""The same set for every row of a matrix."""

from __future__ import annotations

import math

from .._arrays import Array, digest
from ..vertices import Vertex
from ._common import as_inexact, on_device, require_matrix, worst
from .base import Constraint


class Rows(Constraint):
    """Matrices whose rows lie in one and the same set of vectors: ``Rows(Simplex())`` are the stochastic matrices.

    ``L1Ball(radius, rows=True)`` is ``Rows(L1Ball(radius))``: a vertex has one weight for every neuron of a layer. The
    LMO is that of every row, by one formula for all of them.

    Parameters
    ----------
    inner : Constraint
        The set of the rows: one whose oracle has a formula (`L1Ball`, `L2Ball`, `LinfBall`, `LpBall`, `Box`, `Simplex`,
        `KSparse`, `GroupBall`).
    """

    suggested_rounds = 5
    any_array = True

    def __init__(self, inner: Constraint) -> None:
        from ._array_oracles import holds_vectors  # which knows this class

        self.inner = inner
        if not holds_vectors(inner):
            raise ValueError(
                f"Rows needs a set of vectors whose oracle has a formula, such as L1Ball or Simplex, got {inner!r}."
            )

    def check_shape(self, shape: tuple[int, ...]) -> None:
        require_matrix(shape, self)
        self.inner.check_shape(tuple(shape[1:]))

    def lmo(self, direction: Array) -> Vertex:
        g = as_inexact(direction)
        self.check_shape(tuple(g.shape))
        return on_device(self, g)

    def violation(self, x: Array) -> float:
        """The largest violation of a row."""
        self.check_shape(x.shape)
        return worst(*(self.inner.violation(row) for row in x))

    def diameter(self, shape: tuple[int, ...]) -> float:
        """sqrt(rows) times that of a row; exact if that is."""
        return math.sqrt(shape[0]) * self.inner.diameter(tuple(shape[1:]))

    def fingerprint(self) -> str:
        return digest(type(self).__name__, self.inner.fingerprint())
