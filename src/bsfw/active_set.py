"""The active set: a point of C as a convex combination of atoms, kept by structure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ._arrays import Array, checked_shape, digest, is_complex
from ._refusals import Refusing
from .vertices import Dense, OneHot, RankOne, Sparse, Vertex

NOTHING = 1e-15
"""Weights up to this are dropped: a few roundings of a sum of one."""


def _row_sums(a: Array, b: Array) -> Array:
    """sum_j a_ij b_ij for every i."""
    sums: Array = np.einsum("ij,ij->i", a, b)
    return sums


class _Stack(ABC):
    """Atoms of one structure, one row each in arrays that grow by doubling."""

    kind: ClassVar[type[Vertex]]
    names: ClassVar[tuple[str, ...]]

    def __init__(self, shape: tuple[int, ...], rows: tuple[Array, ...]) -> None:
        """From the rows of all atoms, or of none: arrays of the right width and length zero."""
        self.shape, self._parts, self.count = shape, rows, len(rows[0])
        self._keys: list[str] | None = None

    @staticmethod
    @abstractmethod
    def split(vertex: Any, dtype: np.dtype) -> tuple[Any, ...]:
        """The vertex in numbers and flat arrays, equal for equal vertices: sorted, no stored zeros, no -0.0."""

    @abstractmethod
    def vertex(self, row: int) -> Vertex: ...

    @abstractmethod
    def scores(self, g: Array) -> Array:
        """Re<g, a> for every atom."""

    @abstractmethod
    def add_to(self, flat: Array, weights: Array) -> None:
        """flat += sum_i weights_i a_i, in place."""

    @classmethod
    def key(cls, row: tuple[Any, ...]) -> str:
        return digest(cls.kind.__name__, *(np.asarray(part) for part in row))

    @property
    def keys(self) -> list[str]:
        """Of all atoms; made when first asked for, since a method that never looks for an atom needs none."""
        if self._keys is None:
            self._keys = [self.key(tuple(part[row] for part in self._parts)) for row in range(self.count)]
        return self._keys

    def rows(self) -> tuple[Array, ...]:
        """The filled part of the arrays, as views."""
        return tuple(part[: self.count] for part in self._parts)

    def append(self, row: tuple[Any, ...], key: str) -> int:
        if self.count == len(self._parts[0]):
            room = self.count + 1
            self._parts = tuple(np.concatenate([p, np.empty((room, *p.shape[1:]), p.dtype)]) for p in self._parts)
        self.keys.append(key)
        for part, value in zip(self._parts, row, strict=True):
            part[self.count] = value
        self.count += 1
        return self.count - 1

    def remove(self, row: int) -> str | None:
        """Put the last row in its place; the key of the row that moved, if one did."""
        last = self.keys.pop()
        self.count -= 1
        if row == self.count:
            return None
        for part in self._parts:
            part[row] = part[self.count]
        self.keys[row] = last
        return last


class _OneHots(_Stack):
    kind, names = OneHot, ("index", "value")

    @staticmethod
    def split(vertex: OneHot, dtype: np.dtype) -> tuple[Any, ...]:
        return np.int64(vertex.index if vertex.value != 0 else 0), dtype.type(vertex.value) + dtype.type(0)

    def vertex(self, row: int) -> Vertex:
        return OneHot(int(self._parts[0][row]), self._parts[1][row].item(), self.shape)

    def scores(self, g: Array) -> Array:
        index, value = self.rows()
        return (value.conj() * g.reshape(-1)[index]).real

    def add_to(self, flat: Array, weights: Array) -> None:
        index, value = self.rows()
        np.add.at(flat, index, (weights * value).astype(flat.dtype, copy=False))


class _Sparses(_Stack):
    kind, names = Sparse, ("indices", "values")

    @staticmethod
    def split(vertex: Sparse, dtype: np.dtype) -> tuple[Any, ...]:
        indices, values = np.asarray(vertex.indices, dtype=np.int64), np.asarray(vertex.values, dtype=dtype)
        stored = values != 0
        if not stored.all():
            indices, values = indices[stored], values[stored]
        order = np.argsort(indices)
        return indices[order], values[order] + 0

    def vertex(self, row: int) -> Vertex:
        indices, values = self._parts
        return Sparse(indices[row].copy(), values[row].copy(), self.shape)

    def scores(self, g: Array) -> Array:
        indices, values = self.rows()
        return _row_sums(values.conj(), g.reshape(-1)[indices]).real

    def add_to(self, flat: Array, weights: Array) -> None:
        indices, values = self.rows()
        np.add.at(flat, indices.ravel(), (weights[:, None] * values).astype(flat.dtype, copy=False).ravel())


class _RankOnes(_Stack):
    kind, names = RankOne, ("scale", "left", "right")

    @staticmethod
    def split(vertex: RankOne, dtype: np.dtype) -> tuple[Any, ...]:
        return np.float64(vertex.scale) + 0.0, *(np.asarray(v, dtype=dtype) + 0 for v in (vertex.left, vertex.right))

    def vertex(self, row: int) -> Vertex:
        scale, left, right = self._parts
        return RankOne(float(scale[row]), left[row].copy(), right[row].copy())

    def scores(self, g: Array) -> Array:
        scale, left, right = self.rows()
        return np.asarray(scale * _row_sums(left.conj(), right @ g.T).real)

    def add_to(self, flat: Array, weights: Array) -> None:
        scale, left, right = self.rows()
        flat += (((weights * scale)[:, None] * left).T @ right.conj()).ravel()


class _Denses(_Stack):
    kind, names = Dense, ("array",)

    @staticmethod
    def split(vertex: Dense, dtype: np.dtype) -> tuple[Any, ...]:
        return (np.asarray(vertex.array, dtype=dtype).ravel() + 0,)

    def vertex(self, row: int) -> Vertex:
        return Dense(self._parts[0][row].reshape(self.shape).copy())

    def scores(self, g: Array) -> Array:
        return (self.rows()[0] @ g.reshape(-1).conj()).real  # Re<a, g> = Re<conj g, conj a>: no copy of the atoms

    def add_to(self, flat: Array, weights: Array) -> None:
        flat += weights @ self.rows()[0]


_STACKS: tuple[type[_Stack], ...] = (_OneHots, _Sparses, _RankOnes, _Denses)


def _nothing(weights: Array) -> Array:
    """Which atoms leave: the one rule, for every active set."""
    out = ~(weights > NOTHING)  # NaN goes too
    if out.all():
        raise ValueError("no atom has a positive weight, so the active set would be empty.")
    return np.asarray(out)


class ActiveSet(Refusing):
    """x = sum_i weights_i a_i with weights on the simplex: what away, pairwise and corrective steps work on.

    Atoms of one structure (and, for sparse ones, one number of nonzeros) are stacked in arrays, so that a question to
    all k of them is a few NumPy calls and costs what the structure costs: O(k) for one-hot atoms, O(k nonzeros) for
    sparse ones, O(k rows columns) for rank-one ones, O(k n) for dense ones. Equal atoms are one atom: equal in
    structure and in every bit of their numbers (but for the sign of zero) in the dtype of the variable.

    Positions are valid until an atom joins or leaves.

    Parameters
    ----------
    shape : tuple of int
        Shape of the variable.
    dtype : dtype
        Its dtype; weights are float64.

    Attributes
    ----------
    weights : array of shape (k,)
        In the order of the positions. Write to it freely, then call `tidy`.
    """

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike = float) -> None:
        self.shape, self.dtype = checked_shape(shape), np.dtype(dtype)
        self.weights = np.empty(0)
        self._stacks: dict[tuple[type[Vertex], int], _Stack] = {}

    @classmethod
    def of_one_hots(
        cls, shape: tuple[int, ...], indices: Array, values: Array, weights: Array, dtype: npt.DTypeLike = float
    ) -> ActiveSet:
        """The atoms values_i e_{indices_i}, which must be distinct, with these weights, made tidy. A few passes over
        the arrays."""
        active, kept = cls(shape, dtype), ~_nothing(weights)
        active.weights = weights[kept] / weights[kept].sum()
        active._stacks[OneHot, 1] = _OneHots(
            active.shape, (indices[kept].astype(np.int64), values[kept].astype(active.dtype))
        )
        return active

    @cached_property
    def _places(self) -> dict[str, tuple[_Stack, int]]:
        return {key: (stack, row) for stack in self._stacks.values() for row, key in enumerate(stack.keys)}

    def __len__(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        return f"<ActiveSet of {len(self)} atoms of shape {self.shape}>"

    def _offset(self, stack: _Stack) -> int:
        offset = 0
        for other in self._stacks.values():
            if other is stack:
                return offset
            offset += other.count
        raise AssertionError("a stack of another active set")

    def _split(self, vertex: Vertex) -> tuple[type[_Stack], tuple[Any, ...], str]:
        if tuple(vertex.shape) != self.shape:
            raise ValueError(f"the atoms have the shape {self.shape}, but the given one has {tuple(vertex.shape)}.")
        if is_complex(vertex.dtype) and not is_complex(self.dtype):
            raise ValueError("a real active set cannot hold a complex atom; start from a complex x0.")
        for kind in _STACKS:
            if isinstance(vertex, kind.kind):
                row = kind.split(vertex, self.dtype)
                return kind, row, kind.key(row)
        raise TypeError(f"an atom must be a OneHot, Sparse, RankOne or Dense vertex, got {type(vertex).__name__}.")

    def _locate(self, position: int) -> tuple[tuple[type[Vertex], int], int]:
        """The name of the stack at that position, and the row in it."""
        row = position
        for name, stack in self._stacks.items():
            if 0 <= row < stack.count:
                return name, row
            row -= stack.count
        raise IndexError(f"there is no atom {position} among {len(self)}; count from 0.")

    def atom(self, position: int) -> Vertex:
        """The atom there, as a vertex of its own."""
        name, row = self._locate(position)
        return self._stacks[name].vertex(row)

    @property
    def atoms(self) -> list[Vertex]:
        """All atoms, in the order of the weights."""
        return [stack.vertex(row) for stack in self._stacks.values() for row in range(stack.count)]

    @property
    def keys(self) -> list[str]:
        """A name for each atom, in the order of the weights; equal atoms have equal ones, in every active set."""
        return [key for stack in self._stacks.values() for key in stack.keys]

    def position(self, vertex: Vertex) -> int | None:
        """Where that vertex is, None if it is not among the atoms."""
        place = self._places.get(self._split(vertex)[2])
        return None if place is None else self._offset(place[0]) + place[1]

    def add(self, vertex: Vertex, weight: float) -> int:
        """Give `weight` more to that vertex, which joins if it is not an atom yet. Returns its position."""
        kind, row, key = self._split(vertex)
        place = self._places.get(key)
        if place is not None:
            position = self._offset(place[0]) + place[1]
            self.weights[position] += weight
            return position
        name = kind.kind, np.size(row[0])
        stack = self._stacks.get(name)
        if stack is None:
            empty = tuple(np.empty((0, *np.shape(part)), np.asarray(part).dtype) for part in row)
            stack = self._stacks[name] = kind(self.shape, empty)
        place = self._places[key] = (stack, stack.append(row, key))
        position = self._offset(stack) + place[1]
        self.weights = np.insert(self.weights, position, weight)
        return position

    def remove(self, position: int) -> None:
        """Take out the atom there; the last one of its structure comes in its place. Weights are left as they are."""
        name, row = self._locate(position)
        stack = self._stacks[name]
        del self._places[stack.keys[row]]
        last = position - row + stack.count - 1
        self.weights[position] = self.weights[last]
        self.weights = np.delete(self.weights, last)
        moved = stack.remove(row)
        if moved is not None:
            self._places[moved] = (stack, row)
        if stack.count == 0:
            del self._stacks[name]

    def tidy(self) -> tuple[int, float]:
        """Drop the atoms of weight at most `NOTHING` (1e-15), negative ones too, and scale the others to sum one.

        Returns
        -------
        dropped : int
            How many left.
        lost : float
            The sum of |weight| that left: if it is not 0.0, x has changed by so much times the size of the atoms.
        """
        out = np.flatnonzero(_nothing(self.weights))
        lost = float(np.abs(self.weights[out]).sum())
        for position in out[::-1]:  # from the last: what moves into a gap stays
            self.remove(int(position))
        self.weights /= self.weights.sum()
        return len(out), lost

    # Steps. Each leaves the sum of the weights at one; `tidy` then drops what reached zero.

    def towards(self, vertex: Vertex, gamma: float) -> None:
        """x <- x + gamma (v - x), 0 <= gamma <= 1."""
        self.weights *= 1.0 - gamma
        self.add(vertex, gamma)

    def away_from(self, position: int, gamma: float) -> None:
        """x <- x + gamma (x - a), 0 <= gamma <= w / (1 - w) where w is the weight of a, which is zero at the end."""
        weight = self.weights[position]
        self.weights *= 1.0 + gamma
        # (1 + gamma) w - gamma, with an exact zero for the largest step.
        self.weights[position] = 0.0 if gamma == weight / (1.0 - weight) else weight + gamma * (weight - 1.0)

    def between(self, position: int, vertex: Vertex, gamma: float) -> None:
        """x <- x + gamma (v - a), 0 <= gamma <= w where w is the weight of a."""
        self.weights[position] -= gamma
        self.add(vertex, gamma)

    # Questions to all atoms.

    def scores(self, g: Array) -> Array:
        """Re<g, a_i> for every atom, float64."""
        scores = [stack.scores(g) for stack in self._stacks.values()]
        return (scores[0] if len(scores) == 1 else np.concatenate(scores)).astype(np.float64, copy=False)

    def point(self) -> Array:
        """x = sum_i weights_i a_i as a new array. O(n) more than `scores`."""
        out, begin = np.zeros(self.shape, dtype=self.dtype), 0
        for stack in self._stacks.values():
            stack.add_to(out.reshape(-1), self.weights[begin : begin + stack.count])
            begin += stack.count
        return out

    def nonzeros(self) -> tuple[Array, Array]:
        """x by its flat indices, in increasing order, and its values there, for a set of one-hot atoms. O(k log k)."""
        if set(self._stacks) != {(OneHot, 1)}:
            raise ValueError("only a set of one-hot atoms has x by its nonzeros; use point().")
        index, value = self._stacks[OneHot, 1].rows()
        stored = value != 0
        indices, places = np.unique(index[stored], return_inverse=True)
        values = np.zeros(len(indices), dtype=self.dtype)
        np.add.at(values, places, (self.weights * value)[stored].astype(self.dtype, copy=False))
        return indices, values

    # Checkpoints.

    def to_arrays(self) -> dict[str, Array]:
        """The whole set as plain arrays by name, copies; `from_arrays` makes a set of the same bits of them."""
        arrays = {
            "active.weights": self.weights.copy(),
            "active.shape": np.array(self.shape, dtype=np.int64),
            "active.dtype": np.array(self.dtype.str),
        }
        for number, stack in enumerate(self._stacks.values()):
            for name, part in zip(stack.names, stack.rows(), strict=True):
                arrays[f"active.{number}.{stack.kind.__name__}.{name}"] = part.copy()
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> ActiveSet:
        """The set that `to_arrays` wrote; other names in `arrays` are left alone."""
        active = cls(tuple(np.asarray(arrays["active.shape"]).tolist()), str(arrays["active.dtype"]))
        active.weights = np.array(arrays["active.weights"])
        kinds = {kind.kind.__name__: kind for kind in _STACKS}
        found = {tuple(name.split(".")[1:3]) for name in arrays if name.startswith("active.") and name.count(".") == 3}
        for number, name in sorted(found, key=lambda pair: int(pair[0])):
            kind = kinds[name]
            stack = kind(active.shape, tuple(np.array(arrays[f"active.{number}.{name}.{p}"]) for p in kind.names))
            active._stacks[kind.kind, stack.rows()[0][0].size] = stack
        if len(active._places) != len(active):
            raise ValueError("the arrays hold no active set: the numbers of atoms and of weights differ.")
        return active


def as_atom(x: Array, vertex: Vertex) -> Vertex:
    """x^0 as one atom in the structure of the set's vertices, so that the oracle's answers can be equal to it."""
    flat = x.reshape(-1)
    nonzeros = np.flatnonzero(flat)
    if isinstance(vertex, OneHot) and len(nonzeros) <= 1:
        index = int(nonzeros[0]) if len(nonzeros) else 0
        return OneHot(index, flat[index].item(), x.shape)
    if isinstance(vertex, Sparse):
        return Sparse(nonzeros, flat[nonzeros], x.shape)
    return Dense(x)
