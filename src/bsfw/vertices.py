"""Vertices with their structure kept, and the one update of the iterate: a convex combination of vertices.

An LMO never returns a plain array: a vertex of the l1 ball is one number at one place, a vertex of the nuclear ball is
two vectors. `add_to`, `inner` and `norm_squared` cost what the structure costs, not what the ambient space costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._arrays import Array, inner, is_complex


class Vertex(ABC):
    """A point of a constraint set, as its LMO returns it.

    Attributes
    ----------
    shape : tuple of int
        Shape of the variable.
    """

    __slots__ = ()
    shape: tuple[int, ...]

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """Dtype of its entries."""

    @abstractmethod
    def add_to(self, out: Array, scale: float) -> None:
        """``out += scale * self``, in place."""

    @abstractmethod
    def inner(self, other: Array) -> float:
        """Real inner product Re<self, other> with a dense array."""

    @abstractmethod
    def norm_squared(self) -> float:
        """Squared Euclidean norm."""

    def dense(self, dtype: npt.DTypeLike | None = None) -> Array:
        """The vertex as a new array."""
        out = np.zeros(self.shape, dtype=self.dtype if dtype is None else dtype)
        self.add_to(out, 1.0)
        return out

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.dense(dtype)


@dataclass(frozen=True, slots=True)
class OneHot(Vertex):
    """``value`` at the flat ``index`` of an array of that ``shape``, zero elsewhere (l1 ball, simplex). All O(1)."""

    index: int
    value: float | complex
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(complex if isinstance(self.value, complex) else float)

    def add_to(self, out: Array, scale: float) -> None:
        out.flat[self.index] += scale * self.value

    def inner(self, other: Array) -> float:
        return float((np.conj(self.value) * other.flat[self.index]).real)

    def norm_squared(self) -> float:
        return float(abs(self.value) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Sparse(Vertex):
    """``values`` at distinct flat ``indices`` of an array of that ``shape`` (k-sparse, groups, paths). O(nonzeros)."""

    indices: Array
    values: Array
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def add_to(self, out: Array, scale: float) -> None:
        if out.ndim == 1:
            out[self.indices] += scale * self.values
        else:
            out[np.unravel_index(self.indices, self.shape)] += scale * self.values

    def inner(self, other: Array) -> float:
        picked = other[self.indices] if other.ndim == 1 else other[np.unravel_index(self.indices, self.shape)]
        return inner(self.values, picked)

    def norm_squared(self) -> float:
        return inner(self.values, self.values)


@dataclass(frozen=True, slots=True, eq=False)
class RankOne(Vertex):
    """The matrix ``scale * left @ right^H`` (nuclear ball, spectraplex). O(rows + columns) numbers."""

    scale: float
    left: Array
    right: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # a property here, a field in the others
        return (self.left.shape[0], self.right.shape[0])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.left, self.right)

    def add_to(self, out: Array, scale: float) -> None:
        out += np.outer((scale * self.scale) * self.left, self.right.conj())

    def inner(self, other: Array) -> float:
        return self.scale * inner(self.left, other @ self.right)

    def norm_squared(self) -> float:
        return self.scale**2 * inner(self.left, self.left) * inner(self.right, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Dense(Vertex):
    """A vertex without structure: the ``array`` itself (Euclidean and spectral balls, polytopes). O(n)."""

    array: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # a property here, a field in the others
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    def add_to(self, out: Array, scale: float) -> None:
        out += scale * self.array

    def inner(self, other: Array) -> float:
        return inner(self.array, other)

    def norm_squared(self) -> float:
        return inner(self.array, self.array)


def move(x: Array, gamma: float, vertices: Sequence[Vertex], weights: Sequence[float]) -> Array:
    """The update x <- (1 - gamma) x + gamma sum_k w_k v_k, as a new array.

    With 0 <= gamma <= 1 and weights on the simplex the result is a convex combination of feasible points, so it is
    feasible by construction: nothing is ever projected. Costs one pass over x and the nonzeros of the vertices.
    """
    out = (1.0 - gamma) * x
    for vertex, weight in zip(vertices, weights, strict=True):
        if is_complex(vertex.dtype) and not is_complex(out.dtype):
            raise ValueError("a real iterate cannot take a step towards a complex vertex; start from a complex x0.")
        vertex.add_to(out, gamma * weight)
    return out
