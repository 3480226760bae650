"""Vertices with their structure kept, and the one update of the iterate: a convex combination of vertices.

An LMO never returns a plain array: a vertex of the l1 ball is one number at one place, a vertex of the nuclear ball is
two vectors. `add_to`, `inner` and `norm_squared` cost what the structure costs, not what the ambient space costs.

Indices are NumPy's or plain numbers; values are arrays of the kind of the variable (NumPy, PyTorch, JAX), or NumPy
arrays where the oracle works on the host, and are then converted where they are added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import Array, add, add_at, host_dtype, inner, is_complex, matching
from ._refusals import Refusing


class Vertex(Refusing, ABC):
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
        """Dtype of its entries, as NumPy calls it."""

    @abstractmethod
    def add_to(self, out: Array, scale: float) -> Array:
        """``out + scale * self``. Overwrites `out` where its kind of array allows that: use what is returned."""

    @abstractmethod
    def inner(self, other: Array) -> float:
        """Real inner product Re<self, other> with a dense array."""

    @abstractmethod
    def norm_squared(self) -> float:
        """Squared Euclidean norm."""

    def dense(self, dtype: npt.DTypeLike | None = None) -> Array:
        """The vertex as a new NumPy array; ``add_to(-x, 1.0)`` is v - x as an array of the kind of x."""
        return self.add_to(np.zeros(self.shape, dtype=self.dtype if dtype is None else dtype), 1.0)

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

    def _place(self) -> tuple[int, ...]:
        if len(self.shape) == 1:
            return (self.index,)
        return tuple(map(int, np.unravel_index(self.index, self.shape)))

    def add_to(self, out: Array, scale: float) -> Array:
        return add_at(out, self._place(), scale * self.value)

    def inner(self, other: Array) -> float:
        return float((self.value.conjugate() * other[self._place()].item()).real)

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
        return host_dtype(self.values)

    def _places(self) -> Any:
        return self.indices if len(self.shape) == 1 else np.unravel_index(self.indices, self.shape)

    def add_to(self, out: Array, scale: float) -> Array:
        return add_at(out, self._places(), scale * matching(self.values, out))

    def inner(self, other: Array) -> float:
        return inner(matching(self.values, other), other[self._places()])

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
        return np.result_type(host_dtype(self.left), host_dtype(self.right))

    def add_to(self, out: Array, scale: float) -> Array:
        left, right = matching(self.left, out), matching(self.right, out)
        return add(out, ((scale * self.scale) * left)[:, None] * right.conj())

    def inner(self, other: Array) -> float:
        return self.scale * inner(matching(self.left, other), other @ matching(self.right, other))

    def norm_squared(self) -> float:
        return self.scale**2 * inner(self.left, self.left) * inner(self.right, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Dense(Vertex):
    """A vertex without structure: the ``array`` itself (Euclidean and spectral balls, polytopes). O(n)."""

    array: Array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]  # a property here, a field in the others
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype:
        return host_dtype(self.array)

    def add_to(self, out: Array, scale: float) -> Array:
        return add(out, scale * matching(self.array, out))

    def inner(self, other: Array) -> float:
        return inner(matching(self.array, other), other)

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
        out = vertex.add_to(out, gamma * weight)
    return out
