"""What the corrective method asks of a block: the images of the atoms, and all of a Newton step in one answer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array
from ...blocks.block import Block, Item, Rows
from ...objectives.linear_model import LinearModel
from ...objectives.partitioned import BlockLoss
from ..corrective.classes import DenseClasses, DenseColumns, Shares, SparseColumns
from ..corrective.images import DenseImages, Images, SparseImages
from ..corrective.outer import FLOOR, TINY, forces

_SMALL = 2**31


class Chosen(Item):
    """The images of the atoms in the rows of one block, with their losses; all in memory.

    Attributes
    ----------
    images : Images
    part : LinearModel
        The losses, without data.
    """

    def __init__(self, images: Images, part: LinearModel, name: str, size: int) -> None:
        self.images, self.part, self.name, self._size = images, part, name, size

    @property
    def nbytes(self) -> int:
        return self._size + self.part.y.nbytes


class Start(NamedTuple):
    """A point, and a direction in the weights of the atoms and in the intercept."""

    x: Array
    intercept: Any
    dx: Array
    d_intercept: Any


def pick(block: Block, loss: BlockLoss, features: Array, classes: Array | None) -> Chosen:
    """Atoms with one nonzero: columns of the data, each with its class where there are classes."""
    found, part = block.pick(features), loss.of(block)
    count = 0 if classes is None else part.shape[1]
    if isinstance(found, Rows):
        kind = np.int32 if len(found.data) < _SMALL else np.int64
        images = SparseImages(found.data, found.indices, found.indptr.astype(kind), found.width)
        size = found.data.nbytes + found.indices.nbytes + images.indptr.nbytes
        return Chosen(images if classes is None else SparseColumns(images, classes, count), part, block.name, size)
    dense: Images = DenseImages(found) if classes is None else DenseColumns(found, classes, count)
    return Chosen(dense, part, block.name, found.nbytes)


def image(block: Block, loss: BlockLoss, features: Array, atoms: Array) -> Chosen:
    """Any atoms: `atoms` has their rows at these features, (s, k) or (s, c, k)."""
    z = block.times(features, np.ascontiguousarray(atoms.reshape(len(features), -1)))
    if atoms.ndim == 2:
        return Chosen(DenseImages(z), loss.of(block), block.name, z.nbytes)
    return Chosen(DenseClasses(z.reshape(block.m, *atoms.shape[1:])), loss.of(block), block.name, z.nbytes)


def probe(
    chosen: Chosen,
    start: Start,
    lengths: Array,
    with_values: bool,
    intercept: bool,
    secant: tuple[Array, Any, Array, Any] | None,
    floor: float,
) -> tuple[Any, ...]:
    """Along a direction the derivatives at each length, and at the first one everything that a Newton step needs.

    Parameters
    ----------
    chosen : Chosen
    start : Start
    lengths : array
    with_values : bool
        Whether the sums of the losses are wanted.
    intercept : bool
        Whether there is one.
    secant : tuple, optional
        Two points, weights and intercept each, between which the mean curvatures are taken.
    floor : float
        The least curvature of a sample of weight one.

    Returns
    -------
    tuple
        Derivatives, values, slopes in the weights and in the intercept; B^T D B (its lower triangle), B^T D 1,
        1^T D 1 and the sum of all curvatures.
    """
    part, B = chosen.part, chosen.images
    k, c = len(start.x), part.shape[1] if len(part.shape) > 1 else 1
    own = c if intercept else 0
    packed = np.tril_indices(k)
    if not part.n_samples:
        return (
            np.zeros(len(lengths)), np.zeros(len(lengths)), np.zeros(k), np.zeros(own), np.zeros(len(packed[0])),
            np.zeros((k, own)), np.zeros((own, own)), 0.0,
        )  # fmt: skip
    z, dz = _margins(chosen, start.x, start.intercept), _margins(chosen, start.dx, start.d_intercept)
    derivatives, values = np.empty(len(lengths)), np.zeros(len(lengths))
    first, first_slopes = z, z
    for turn, length in enumerate(lengths):
        there = z + length * dz
        slopes = part._slopes(there, None)
        derivatives[turn] = np.vdot(slopes, dz)
        if with_values:
            values[turn] = part._sum_of_losses(there, slice(None))
        if turn == 0:
            first, first_slopes = there, slopes
    g = B.adjoint(first_slopes.ravel()) * part.n_samples
    of_intercept = np.atleast_1d(first_slopes.sum(axis=0))[:own]
    if len(part.shape) > 1:
        gram, coupling, hessian, total = _of_classes(chosen, first, own, secant is not None)
    else:
        gram, coupling, hessian, total = _of_samples(chosen, first, own, secant, floor)
    return derivatives, values, g, of_intercept, gram[packed], coupling, hessian, total


def _margins(chosen: Chosen, x: Array, intercept: Any) -> Array:
    z = chosen.images.times(x)
    if len(chosen.part.shape) > 1:
        z = z.reshape(chosen.part.n_samples, -1)
    return np.asarray(z + intercept)


def _of_samples(
    chosen: Chosen, z: Array, own: int, secant: tuple[Array, Any, Array, Any] | None, floor: float
) -> tuple[Array, Array, Array, float]:
    """The model where the Hessian in the margins is diagonal."""
    part, B = chosen.part, chosen.images
    w = part.sample_weight
    if secant is None:
        curvatures = part._phi_second(z, part.y)
        if w is not None:
            curvatures *= w
    else:
        ends = [_margins(chosen, *secant[:2]), _margins(chosen, *secant[2:])]
        turned = np.abs(part._slopes(ends[1], None) - part._slopes(ends[0], None))
        change = np.abs(ends[1] - ends[0])
        curvatures = np.divide(turned, change, out=np.zeros(len(change)), where=change > TINY)
    curvatures = np.maximum(curvatures, floor if w is None else floor * w)
    coupling = (B.adjoint(curvatures) * part.n_samples)[:, None][:, :own]
    total = float(curvatures.sum())
    return B.gram(curvatures), coupling, np.full((own, own), total), total


def _of_classes(chosen: Chosen, z: Array, own: int, misled: bool) -> tuple[Array, Array, Array, float]:
    """The model of `Multinomial`, with shares as in `Softmax.model`."""
    part, B = chosen.part, chosen.images
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    share = 0.5 if misled else FLOOR
    weights = np.ones(len(p)) if part.sample_weight is None else part.sample_weight
    model = Shares((1.0 - share) * p + share / p.shape[1], weights)
    columns = [B.adjoint(forces(model, unit).ravel()) * part.n_samples for unit in np.eye(p.shape[1])[:own]]
    coupling = np.column_stack(columns) if own else np.zeros((B.shape[1], 0))
    weighted = weights[:, None] * model.p
    hessian = np.diag(weighted.sum(axis=0)) - weighted.T @ model.p
    return B.gram(model), coupling, hessian[:own, :own], float(weights.sum())
