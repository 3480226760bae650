"""Newton steps on the weights of atoms for any f with a gradient: the image of a point is the point itself.

The model is the Hessian where f is convex and has products with it, else that of L-BFGS.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array, is_complex
from ...objectives.base import Objective
from ...objectives.quadratic import Quadratic
from ...vertices import OneHot, Sparse, Vertex
from .images import Images
from .outer import Outer, Point

LEAST_PAIRS, MOST_PAIRS, ROOM = 5, 30, 2**24
"""Pairs of L-BFGS: as many as fit into so many numbers, within these bounds."""
CURVED = 1e-12
"""Cosine between a step and the change of the gradient from which on the pair is kept."""


class Atoms(Images):
    """Points as columns, (N, k), sparse if all of them are. A "sample" is the whole of f: the adjoint divides by one.

    Attributes
    ----------
    keys : list of str
        Names of the atoms.
    products : array (k, k) or None
        Their inner products by a Hessian that never changes.
    """

    def __init__(self, keys: list[str], columns: list[Any]) -> None:
        self.keys, self.columns, self.shape = keys, columns, (1, len(columns))
        self.products: Array | None = None
        self.array: Any
        if isinstance(columns[0], np.ndarray):
            self.array = np.column_stack(columns)
        else:
            import scipy.sparse as sp

            self.array = sp.hstack(columns, format="csc")

    def times(self, x: Array) -> Array:
        return np.asarray(self.array @ x)

    def adjoint(self, coefficients: Array) -> Array:
        return np.asarray(self.array.T @ coefficients)

    def gram(self, curvatures: Any) -> Array:
        """B^T H B from H B."""
        return np.asarray(self.array.T @ curvatures)


class Model(NamedTuple):
    """A Hessian: `scale` times the one at `z`, or the identity if that is None, updated by BFGS with pairs (s, y)."""

    z: Array | None
    scale: float
    pairs: list[tuple[Array, Array]]


class Smooth(Outer):
    """Any objective with a gradient, real or complex. Images are the numbers of x, real and imaginary parts apart.

    References
    ----------
    R. H. Byrd, J. Nocedal and R. B. Schnabel (1994). Representations of quasi-Newton matrices and their use in limited
    memory methods. Mathematical Programming 63.
    """

    def __init__(self, objective: Objective, shape: tuple[int, ...]) -> None:
        self.objective, self._shape = objective, shape
        self.convex = objective.quasar_rho == 1.0
        self._dtype = np.dtype(complex if is_complex(objective.dtype) else float)
        self._by_products = self.convex and objective.has_hessian_product
        self._constant = not self._by_products or isinstance(objective, Quadratic)
        size = int(np.prod(shape)) * (2 if is_complex(objective.dtype) else 1)
        self._most = min(MOST_PAIRS, max(LEAST_PAIRS, ROOM // size))
        self._pairs: list[tuple[Array, Array]] = []
        self._known: tuple[list[str] | None, Array] = [], np.empty((0, 0))

    # What is asked of f.

    def value(self, z: Array) -> float:
        return self.objective.value(self.point(z))

    def slopes(self, z: Array) -> Array:
        return self.image(self.objective.gradient(self.point(z)))

    def image(self, x: Array) -> Array:
        return np.ascontiguousarray(x, dtype=self._dtype).ravel().view(np.float64)

    def point(self, z: Array) -> Array:
        """The point of an image, in the dtype of the variable."""
        x = np.ascontiguousarray(z).view(self._dtype).reshape(self._shape)
        return x.astype(self.objective.dtype, copy=False)

    def gradient(self, slopes: Array) -> Array:
        return slopes.view(self._dtype).reshape(self._shape)

    # The model.

    def image_of(self, vertex: Vertex) -> Any:
        """A sparse column where the vertex is sparse."""
        if is_complex(self._dtype) or not isinstance(vertex, (OneHot, Sparse)):
            return self.image(vertex.dense(self._dtype))
        import scipy.sparse as sp

        if isinstance(vertex, OneHot):
            indices, values = np.array([vertex.index]), np.array([vertex.value])
        else:
            indices, values = vertex.indices, vertex.values
        entries = values.astype(np.float64), (indices, np.zeros(len(indices), dtype=np.int64))
        return sp.csc_array(entries, shape=(int(np.prod(self._shape)), 1))

    def stack(self, keys: list[str], images: list[Any]) -> Images:
        """The atoms; inner products by a Hessian that never changes are computed once for each pair."""
        if not all(isinstance(image, np.ndarray) for image in images):
            images = [image if not isinstance(image, np.ndarray) else _sparse(image) for image in images]
        atoms = Atoms(keys, images)
        if self._constant:
            before, products = self._known
            before = keys if before is None else before  # restored
            places = {key: place for place, key in enumerate(before)}
            kept = [place for place, key in enumerate(keys) if key in places]
            new = [place for place, key in enumerate(keys) if key not in places]
            old = [places[keys[place]] for place in kept]
            atoms.products = np.empty((len(keys), len(keys)))
            atoms.products[np.ix_(kept, kept)] = products[np.ix_(old, old)]
            if new:
                columns = [_dense(images[place]) for place in new]
                if self._by_products:
                    columns = [self._product(None, column) for column in columns]
                atoms.products[:, new] = atoms.gram(np.column_stack(columns))
                atoms.products[new, :] = atoms.products[:, new].T
            self._known = keys, atoms.products
        return atoms

    def model(self, z: Array, secant: Any) -> Model | None:
        if self._by_products:
            return Model(z, 1.0, [secant] if secant else [])
        if not self._pairs:
            return None
        s, y = self._pairs[-1]
        return Model(None, float(y @ y) / float(s @ y), self._pairs)

    def gram(self, B: Images, model: Model | None) -> Array | None:
        if model is None:
            return None
        assert isinstance(B, Atoms)
        if B.products is not None:
            base = model.scale * B.products
        else:
            base = B.gram(np.column_stack([self._product(model.z, _dense(column)) for column in B.columns]))
        if not model.pairs:
            return np.asarray(base)
        S, Y = (np.column_stack(parts) for parts in zip(*model.pairs, strict=True))
        if model.z is None:
            HS = model.scale * S
        else:
            HS = np.column_stack([self._product(model.z, s) for s in S.T])
        SY = S.T @ Y
        lower = np.tril(SY, -1)
        middle = np.block([[S.T @ HS, lower], [lower.T, -np.diag(np.diagonal(SY))]])
        outside = np.hstack([B.gram(HS), B.gram(Y)])
        try:
            updated = base - outside @ np.linalg.solve(middle, outside.T)
        except np.linalg.LinAlgError:
            return np.asarray(base)
        return np.asarray(0.5 * (updated + updated.T))

    def secant(self, change: Array, turned: Array) -> Any:
        """The pair itself, along which the next model is right; the pairs of L-BFGS come by `learn`."""
        return (change, turned) if _curved(change, turned) else ()

    def learn(self, before: Point, after: Point) -> None:
        step, turned = after.z - before.z, after.slopes - before.slopes
        if not self._by_products and _curved(step, turned):
            self._pairs = [*self._pairs, (step, turned)][-self._most :]

    def _product(self, z: Array | None, column: Array) -> Array:
        x = self.point(np.zeros(len(column)) if z is None else z)
        return self.image(self.objective.hessian_product(x, self.point(column)))

    # Checkpoints.

    def kept(self) -> dict[str, Array]:
        kept = {"products": self._known[1]} if self._constant else {}
        if self._pairs:
            kept["pairs"] = np.array(self._pairs)
        return kept

    def restore(self, memory: dict[str, Array]) -> None:
        if "products" in memory:
            self._known = None, memory["products"]
        self._pairs = [(s, y) for s, y in memory.get("pairs", ())]


def _dense(column: Any) -> Array:
    return column if isinstance(column, np.ndarray) else column.toarray().ravel()


def _sparse(column: Array) -> Any:
    import scipy.sparse as sp

    return sp.csc_array(column[:, None])


def _curved(step: Array, turned: Array) -> bool:
    product = float(step @ turned)
    return product > CURVED * float(np.linalg.norm(step)) * float(np.linalg.norm(turned))
