"""A set that is another one scaled, shifted or transposed: ``Shifted(L1Ball(1.0), x_old)`` is a trust region."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array, digest, inner, is_foreign, number, plain, require_finite
from ..vertices import Dense, OneHot, RankOne, Sparse, Vertex
from ._common import as_inexact, has_formula, on_device
from .base import Constraint


class _Transformed(Constraint):
    """What the three share: the set inside, and what they have from it."""

    def __init__(self, inner: Constraint) -> None:
        if not isinstance(inner, Constraint):
            raise ValueError(f"{type(self).__name__} needs a set of bsfw, got {inner!r}.")
        self.inner = inner
        self.few_atoms, self.few_curved_atoms = inner.few_atoms, inner.few_curved_atoms
        self.suggested_rounds, self.has_membership = inner.suggested_rounds, inner.has_membership
        self.any_array = has_formula(inner)

    def lmo(self, direction: Array) -> Vertex:
        self.check_shape(tuple(direction.shape))
        if is_foreign(direction):
            return on_device(self, direction)
        return self._image(self.inner.lmo(self._pulled(as_inexact(direction))))

    @abstractmethod
    def _pulled(self, direction: Array) -> Array:
        """The direction in which the set inside is asked."""

    @abstractmethod
    def _image(self, vertex: Vertex) -> Vertex:
        """The vertex that one of the set inside becomes."""

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """That of the set inside, transformed; on tensors the oracle is a formula, and its word is exact."""
        if is_foreign(direction):
            return super().lower_bound(direction, vertex)
        pulled = self._pulled(direction)
        return self._value(self.inner.lower_bound(pulled, self.inner.lmo(pulled)), direction)

    def _value(self, inside: float, direction: Array) -> float:
        """What a value of the set inside becomes."""
        return inside

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return self.inner.solves_exactly(shape)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """That of the set inside."""
        return self.inner.diameter(shape)

    def _parameters(self) -> dict[str, Any]:
        return {"inner": self.inner}

    def fingerprint(self) -> str:
        others = [part for item in self._parameters().items() if item[0] != "inner" for part in item]
        return digest(type(self).__name__, self.inner.fingerprint(), *others)


class Scaled(_Transformed):
    """{factor * x : x in C}.

    Parameters
    ----------
    inner : Constraint
        C.
    factor : float
        Not zero; a negative one mirrors the set.
    """

    def __init__(self, inner: Constraint, factor: float) -> None:
        super().__init__(inner)
        self.factor = number(factor, "factor")
        if self.factor == 0:
            raise ValueError("factor must not be zero: a set that is a point has no direction to go to.")

    def check_shape(self, shape: tuple[int, ...]) -> None:
        self.inner.check_shape(shape)

    def _pulled(self, direction: Array) -> Array:
        return direction if self.factor > 0 else -direction

    def _image(self, vertex: Vertex) -> Vertex:
        if isinstance(vertex, OneHot):
            return replace(vertex, value=self.factor * vertex.value)
        if isinstance(vertex, Sparse):
            return replace(vertex, values=self.factor * vertex.values)
        if isinstance(vertex, RankOne):
            return replace(vertex, scale=self.factor * vertex.scale)
        return Dense(self.factor * vertex.dense())

    def _value(self, inside: float, direction: Array) -> float:
        return abs(self.factor) * inside

    def violation(self, x: Array) -> float:
        x = np.asarray(x)
        return self.inner.violation(x / self.factor) if np.isfinite(x).all() else math.inf

    def diameter(self, shape: tuple[int, ...]) -> float:
        """|factor| times that of C."""
        return abs(self.factor) * self.inner.diameter(shape)

    def _parameters(self) -> dict[str, Any]:
        return {"inner": self.inner, "factor": self.factor}


class Shifted(_Transformed):
    """{by + x : x in C}. A vertex is `Dense`.

    Parameters
    ----------
    inner : Constraint
        C.
    by : array
        What is added, of the shape of the variable.
    """

    def __init__(self, inner: Constraint, by: Any) -> None:
        super().__init__(inner)
        self.by = as_inexact(plain(by, "by")).copy()
        require_finite(self.by, "by")
        self.shape = tuple(self.by.shape)
        inner.check_shape(self.shape)

    def _pulled(self, direction: Array) -> Array:
        return direction

    def _image(self, vertex: Vertex) -> Vertex:
        dtype = np.result_type(vertex.dtype, self.by.dtype if self.by.dtype.kind == "c" else vertex.dtype)
        return Dense((self.by + vertex.dense()).astype(dtype, copy=False))

    def _value(self, inside: float, direction: Array) -> float:
        return inside + inner(self.by.astype(np.result_type(self.by, direction), copy=False), direction)

    def violation(self, x: Array) -> float:
        self.check_shape(np.shape(x))
        x = np.asarray(x)
        return self.inner.violation(x - self.by) if np.isfinite(x).all() else math.inf

    def _parameters(self) -> dict[str, Any]:
        return {"inner": self.inner, "by": self.by}


class Transposed(_Transformed):
    """{X^T : X in C}, for a set of matrices.

    Parameters
    ----------
    inner : Constraint
        C.
    """

    def check_shape(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2:
            raise ValueError(f"{self!r} holds matrices, but the variable has shape {tuple(shape)}; use two dimensions.")
        self.inner.check_shape(shape[::-1])

    def _pulled(self, direction: Array) -> Array:
        return np.ascontiguousarray(direction.T)

    def _image(self, vertex: Vertex) -> Vertex:
        if isinstance(vertex, RankOne):  # (u v^H)^T = conj(v) conj(u)^H
            return RankOne(vertex.scale, vertex.right.conj(), vertex.left.conj())
        return Dense(np.ascontiguousarray(vertex.dense().T))

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        return self.inner.solves_exactly(shape[::-1])

    def violation(self, x: Array) -> float:
        self.check_shape(np.shape(x))
        return self.inner.violation(np.asarray(x).T)

    def diameter(self, shape: tuple[int, ...]) -> float:
        """That of C."""
        return self.inner.diameter(shape[::-1])
