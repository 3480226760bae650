"""Oracles by formula: whole arrays in, whole arrays out, on NumPy, PyTorch and JAX alike.

No number leaves the device, nothing depends on a value in Python, and every formula works on a stack of variables: so
PyTorch can compile them, JAX can trace them, and an optimizer can ask for all layers of one shape at once. The rules
are those of `Constraint.lmo`; where a set has structure, its own `lmo` on NumPy arrays is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .asymmetric import AsymmetricL1Ball
from .balls import Box, L1Ball, L2Ball, LinfBall, LpBall
from .base import Constraint
from .fantope import Fantope
from .ordered import CappedSimplex, OrderedL1Ball
from .product import Product
from .rows import Rows
from .simplex import Simplex
from .sparse_sets import GroupBall, KSparse
from .spectral import NuclearBall, SpectralBall
from .transformed import Scaled, Shifted, Transposed
from .variation import TotalVariationBall

Formula = Callable[[Any], Any]
"""From a stack of directions, shape (b, *variable), to the stack of their vertices."""


def array_lmo(constraint: Constraint, xp: Any) -> Formula | None:
    """The oracle of `constraint` on stacks of arrays of the namespace `xp` (numpy, torch, jax.numpy); None without one.

    Exact types only: a subclass may have changed anything.
    """
    kind: type = type(constraint)
    if isinstance(constraint, Product) and kind is Product:
        return _product(constraint, xp)
    if isinstance(constraint, Rows):
        inner = array_lmo(constraint.inner, xp)
        return None if inner is None else lambda g: inner(g.reshape((-1, g.shape[-1]))).reshape(g.shape)
    if kind in (Scaled, Shifted, Transposed):
        return _transformed(constraint, xp)
    if kind in _ON_MATRICES:
        return lambda g: _ON_MATRICES[kind](xp, constraint, g)
    if kind in _ON_VECTORS:
        return lambda g: _ON_VECTORS[kind](xp, constraint, g.reshape((g.shape[0], -1))).reshape(g.shape)
    return None


def module_of(array: Any) -> Any:
    """numpy, torch or jax.numpy, themselves and not as array-api-compat dresses them: the wrappers cost more than the
    formulas on small arrays."""
    if isinstance(array, (np.ndarray, np.generic)):
        return np
    if type(array).__module__.split(".")[0] == "torch":
        import torch

        return torch
    import jax.numpy

    return jax.numpy


def holds_vectors(constraint: Any) -> bool:
    """Whether its oracle is a formula on vectors, and so one on the rows of matrices."""
    return type(constraint) in _ON_VECTORS


def one_lmo(constraint: Constraint, xp: Any) -> Formula | None:
    """The same for one direction instead of a stack."""
    formula = array_lmo(constraint, xp)
    return None if formula is None else lambda g: formula(g[None])[0]


def _product(constraint: Product, xp: Any) -> Formula | None:
    formulas = [array_lmo(block, xp) for block, _ in constraint.blocks]
    if any(formula is None for formula in formulas):
        return None
    shapes = [shape for _, shape in constraint.blocks]
    ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()

    def lmo(g: Any) -> Any:
        parts = []
        for formula, shape, begin, end in zip(formulas, shapes, [0, *ends], ends, strict=False):
            assert formula is not None
            parts.append(formula(g[:, begin:end].reshape((g.shape[0], *shape))).reshape((g.shape[0], -1)))
        return xp.concatenate(parts, -1)

    return lmo


def _transformed(constraint: Any, xp: Any) -> Formula | None:
    inner = array_lmo(constraint.inner, xp)
    if inner is None:
        return None
    if isinstance(constraint, Scaled):
        factor = constraint.factor
        return lambda g: factor * inner(g if factor > 0 else -g)
    if isinstance(constraint, Shifted):
        return lambda g: inner(g) + _constant(xp, constraint.by, g)
    return lambda g: xp.swapaxes(inner(xp.swapaxes(g, -1, -2)), -1, -2)


# What the three libraries call differently.


def _is_torch(xp: Any) -> bool:
    return bool(xp.__name__.split(".")[-1] == "torch")


def _constant(xp: Any, array: Any, g: Any) -> Any:
    """A NumPy array that parametrises a set, beside g; whole numbers stay such."""
    array = np.asarray(array)
    dtype = g.dtype if array.dtype.kind == "f" else None
    return xp.asarray(array, dtype=dtype, device=g.device) if _is_torch(xp) else xp.asarray(array, dtype=dtype)


def _place(xp: Any, index: Any, values: Any, g: Any) -> Any:
    """`values` (b,) at `index` (b,) of the last axis, zero elsewhere."""
    if _is_torch(xp):
        return xp.zeros_like(g).scatter_(-1, index[..., None], values[..., None])
    return xp.where(xp.arange(g.shape[-1]) == index[..., None], values[..., None], xp.zeros_like(g))


def _at(xp: Any, array: Any, index: Any) -> Any:
    """The entry at `index` (b,) of the last axis."""
    return _taken(xp, array, index[..., None])[..., 0]


def _ranks(xp: Any, array: Any) -> Any:
    """The place of each entry in ascending order along the last axis, the first index among equals first."""
    stable = {"kind": "stable"} if xp is np else {"stable": True}
    return xp.argsort(xp.argsort(array, **stable), **stable)


def _taken(xp: Any, array: Any, places: Any) -> Any:
    """array[..., places] along the last axis, row by row."""
    return (xp.take_along_dim if _is_torch(xp) else xp.take_along_axis)(array, places, -1)


def _sorted_by(xp: Any, array: Any, ranks: Any) -> Any:
    """The entries in the order that their `_ranks` say."""
    return _taken(xp, array, xp.argsort(ranks, -1))


def _kth_largest(xp: Any, array: Any, k: int) -> Any:
    if _is_torch(xp):
        return xp.topk(array, k, -1).values[..., -1:]
    size = array.shape[-1]
    return (xp.partition(array, size - k, -1) if xp is np else xp.sort(array, -1))[..., size - k, None]


def _group_squares(xp: Any, squares: Any, labels: Any, count: int) -> Any:
    out = xp.zeros_like(squares[:, :1]) + _constant(xp, np.zeros(count), squares)
    if _is_torch(xp):
        return out.index_add(-1, labels, squares)
    if xp is np:
        return np.stack([np.bincount(labels, row, count) for row in squares]).astype(squares.dtype)
    return out.at[:, labels].add(squares)


# Parts of formulas.


def _phases(xp: Any, g: Any) -> Any:
    """g_i / |g_i|, and 1 where g_i = 0."""
    if "complex" not in str(g.dtype):
        return xp.where(g >= 0, xp.ones_like(g), -xp.ones_like(g))
    length = xp.abs(g)
    return xp.where(length == 0, xp.ones_like(g), g / xp.where(length == 0, xp.ones_like(length), length))


def _unit_scaled(xp: Any, g: Any) -> tuple[Any, Any]:
    """g divided by its largest |g_i|, so that no power overflows; and whether g is zero. Along the last axis."""
    top = xp.amax(xp.abs(g), -1)[..., None]
    zero = top == 0
    return g / xp.where(zero, xp.ones_like(top), top), zero


# Entry by entry: g is (b, n).


def _l1(xp: Any, c: L1Ball, g: Any) -> Any:
    if c.weights is None:
        index = xp.argmax(xp.abs(g), -1)
        return _place(xp, index, -c.radius * _phases(xp, _at(xp, g, index)), g)
    weights = _constant(xp, c.weights.reshape(-1), xp.abs(g))
    index = xp.argmax(xp.abs(g) / weights, -1)
    return _place(xp, index, (-c.radius / weights[index]) * _phases(xp, _at(xp, g, index)), g)


def _l2(xp: Any, c: L2Ball, g: Any) -> Any:
    return _lp_of(xp, 2.0, c.radius, g)


def _linf(xp: Any, c: LinfBall, g: Any) -> Any:
    return -c.radius * _phases(xp, g)


def _lp(xp: Any, c: LpBall, g: Any) -> Any:
    if c.p == 1.0:
        return _l1(xp, L1Ball(c.radius), g)
    return _linf(xp, LinfBall(c.radius), g) if math.isinf(c.p) else _lp_of(xp, c.p, c.radius, g)


def _lp_of(xp: Any, p: float, radius: float, g: Any) -> Any:
    """-radius phase(g_i) |g_i|^(q-1) / || |g|^(q-1) ||_p with 1/p + 1/q = 1, and -radius e_0 for g = 0."""
    h, zero = _unit_scaled(xp, g)
    if p == 2.0:
        length = xp.sqrt(xp.sum(xp.abs(h) ** 2, -1))[..., None]
    else:
        powers = xp.abs(h) ** (1.0 / (p - 1.0))
        length = (xp.sum(powers**p, -1) ** (1.0 / p))[..., None]
        h = _phases(xp, g) * powers
    first = _place(xp, xp.argmax(xp.abs(0.0 * g), -1), -radius * xp.ones_like(g[:, 0]), g)
    return xp.where(zero, first, (-radius / xp.where(zero, xp.ones_like(length), length)) * h)


def _box(xp: Any, c: Box, g: Any) -> Any:
    lower, upper = (_constant(xp, np.reshape(bound, -1), g) for bound in (c.lower, c.upper))
    return xp.where(g >= 0, lower, upper)


def _simplex(xp: Any, c: Simplex, g: Any) -> Any:
    index = xp.argmin(g, -1)
    values = c.radius * xp.ones_like(g[:, 0])
    if not c.equality:
        values = xp.where(_at(xp, g, index) >= 0, xp.zeros_like(values), values)
    return _place(xp, index, values, g)


def _k_sparse(xp: Any, c: KSparse, g: Any) -> Any:
    size = xp.abs(g)
    threshold = _kth_largest(xp, size, c.k)
    above, equal = size > threshold, size == threshold
    wanted = c.k - xp.sum(above, -1)[..., None]
    chosen = above | (equal & (xp.cumsum(equal, -1) <= wanted))  # the first indices among equals
    return xp.where(chosen, -c.radius * _phases(xp, g), xp.zeros_like(g))


def _groups(xp: Any, c: GroupBall, g: Any) -> Any:
    h, zero = _unit_scaled(xp, g)
    labels = _constant(xp, c._labels, g)
    squares = _group_squares(xp, xp.abs(h) ** 2, labels, len(c.groups))
    best = xp.argmax(squares, -1)
    length = xp.sqrt(_at(xp, squares, best))[..., None]
    inside = labels == best[..., None]
    vertex = xp.where(inside, (-c.radius / xp.where(zero, xp.ones_like(length), length)) * h, xp.zeros_like(h))
    start = _constant(xp, np.arange(g.shape[-1]) == c.groups[0][0], g)
    return xp.where(zero, xp.where(start, -c.radius * xp.ones_like(g), xp.zeros_like(g)), vertex)


def _capped_simplex(xp: Any, c: CappedSimplex, g: Any) -> Any:
    lower, upper = (_constant(xp, np.ravel(bound), g) + 0.0 * g for bound in (c.lower, c.upper))
    room, ranks = upper - lower, _ranks(xp, g)
    sorted_room = _sorted_by(xp, room, ranks)
    before = _taken(xp, xp.cumsum(sorted_room, -1) - sorted_room, ranks)  # the room of those that are filled first
    left = c.total - xp.sum(lower, -1)[..., None] - before
    return lower + xp.clip(left, xp.zeros_like(room), room)


def _ordered_l1(xp: Any, c: OrderedL1Ball, g: Any) -> Any:
    size, shares = xp.abs(g), _constant(xp, c._shares, g)
    ranks = _ranks(xp, -size)
    value = xp.cumsum(_sorted_by(xp, size, ranks), -1) * shares
    value = xp.where(shares > 0, value, -xp.ones_like(value))  # these are no vertices
    best = xp.argmax(value, -1)
    return xp.where(ranks <= best[..., None], -c.radius * shares[best][..., None] * _phases(xp, g), xp.zeros_like(g))


def _asymmetric_l1(xp: Any, c: AsymmetricL1Ball, g: Any) -> Any:
    up, down = (_constant(xp, np.ravel(price), g) + 0.0 * g for price in (c.up, c.down))
    rise, fall = -g / up, g / down
    index = xp.argmax(xp.where(rise >= fall, rise, fall), -1)
    above = _at(xp, rise, index) >= _at(xp, fall, index)
    return _place(xp, index, xp.where(above, c.radius / _at(xp, up, index), -c.radius / _at(xp, down, index)), g)


def _total_variation(xp: Any, c: TotalVariationBall, g: Any) -> Any:
    n = g.shape[-1]
    places = _constant(xp, np.arange(n), g)
    sums = xp.cumsum(g, -1)
    # <g, the step that begins at j> = the sum of g from j on, less its part of the mean.
    steps = (sums[:, -1:] - sums)[:, :-1] - sums[:, -1:] * _constant(xp, (n - np.arange(1.0, n)) / n, g)
    index = xp.argmax(xp.abs(steps), -1)
    height = (-c.radius * _phases(xp, _at(xp, steps, index)))[..., None]
    step = xp.where(places > index[..., None], xp.ones_like(g), xp.zeros_like(g))
    return c.mean + height * (step - xp.mean(step, -1)[..., None])


# Matrices: g is (b, rows, columns).


def _fantope(xp: Any, c: Fantope, g: Any) -> Any:
    h = _matrix_scaled(xp, g)
    _, vectors = xp.linalg.eigh(0.5 * (h + xp.conj(xp.swapaxes(h, -1, -2))))
    vectors = vectors[..., : c.k]
    return vectors @ xp.conj(xp.swapaxes(vectors, -1, -2))


def _nuclear(xp: Any, c: NuclearBall, g: Any) -> Any:
    left, _, right = xp.linalg.svd(_matrix_scaled(xp, g), full_matrices=False)
    return (-c.radius * left[..., :, :1]) * right[..., :1, :]


def _spectral(xp: Any, c: SpectralBall, g: Any) -> Any:
    left, _, right = xp.linalg.svd(_matrix_scaled(xp, g), full_matrices=False)
    return -c.radius * (left @ right)


def _matrix_scaled(xp: Any, g: Any) -> Any:
    return _unit_scaled(xp, g.reshape((g.shape[0], -1)))[0].reshape(g.shape)


_ON_VECTORS: dict[type, Callable[..., Any]] = {
    L1Ball: _l1,
    L2Ball: _l2,
    LinfBall: _linf,
    LpBall: _lp,
    Box: _box,
    Simplex: _simplex,
    KSparse: _k_sparse,
    GroupBall: _groups,
    CappedSimplex: _capped_simplex,
    OrderedL1Ball: _ordered_l1,
    AsymmetricL1Ball: _asymmetric_l1,
    TotalVariationBall: _total_variation,
}
_ON_MATRICES: dict[type, Callable[..., Any]] = {
    NuclearBall: _nuclear,
    SpectralBall: _spectral,
    Fantope: _fantope,
}
