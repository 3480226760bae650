"""Matrix completion: losses on the observed entries of a matrix variable."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import Array, digest, positive, require_finite
from ..lowrank import LowRank
from . import _checks
from .base import Objective
from .linear_model import LinearModel

_BLOCK = 2**18
"""Observations of which the losses are taken at once, so that temporary arrays stay small beside the data."""
_HUGE = 1e75
"""Residuals beyond this count as this much: the bounded loss is one there, and the fourth power does not overflow."""
_DAMPING, _SWEEPS = 5.0, 20
"""Intercepts are shrunk as if each user and item had so many more ratings of average height; sweeps over both."""


def _bounded(d: Array) -> Array:
    square = np.square(np.clip(d, -_HUGE, _HUGE))
    return square / (2.0 + square)


def _bounded_slope(d: Array) -> Array:
    d = np.clip(d, -_HUGE, _HUGE)
    return 4.0 * d / np.square(2.0 + np.square(d))


LOSSES: dict[str, float | None] = {"bounded": None, "squared": 1.0, "huber": 1.0}
"""The losses by name, with their quasar-convexity: 1.0 for a convex one, None for a nonconvex one."""


@dataclass(frozen=True, eq=False)
class Intercepts:
    """constant + rows[i] + cols[j], what the ratings of user i and item j have in common. No part of the variable.

    Attributes
    ----------
    constant : float
    rows, cols : array
    """

    constant: float
    rows: Array
    cols: Array

    def __call__(self, rows: Array, cols: Array) -> Array:
        return self.constant + self.rows[rows] + self.cols[cols]

    @classmethod
    def fit(cls, rows: Array, cols: Array, values: Array, weight: Array | None, shape: tuple[int, int]) -> Intercepts:
        """Weighted, damped means of users and items, by turns until they agree; users and items unseen get zero."""
        w = np.ones(len(values)) if weight is None else weight
        constant = float(w @ values / w.sum())
        found, axes = [np.zeros(size) for size in shape], (rows, cols)
        mass = [np.bincount(axis, weights=w, minlength=size) for axis, size in zip(axes, shape, strict=True)]
        for _ in range(_SWEEPS):
            for side in (0, 1):
                rest = w * (values - constant - found[1 - side][axes[1 - side]])
                found[side] = np.bincount(axes[side], weights=rest, minlength=shape[side]) / (mass[side] + _DAMPING)
        return cls(constant, *found)


class EntryLosses(LinearModel):
    """f = (1/m) sum_i w_i phi(z_i - y_i), where z_i is an entry of the variable, each a different one.

    A linear model whose rows are unit vectors, so that a derivative is one number and nothing is multiplied.
    """

    loss: str
    delta: float

    # Which entries: what a subclass provides.

    @abstractmethod
    def margins(self, x: Any, batch: Array | None = None) -> Array:
        """The observed entries of x, or those of the batch."""

    @abstractmethod
    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        """An array like x that is zero but for the coefficients at the observed entries, or at those of the batch."""

    # The losses.

    def _phi(self, z: Array, y: Array) -> Array:
        d = z - y
        if self.loss == "bounded":
            return _bounded(d)
        if self.loss == "squared":
            return 0.5 * np.square(d)
        inside = np.minimum(np.abs(d), self.delta)
        return inside * (np.abs(d) - 0.5 * inside)

    def _phi_prime(self, z: Array, y: Array) -> Array:
        d = z - y
        if self.loss == "bounded":
            return _bounded_slope(d)
        return d if self.loss == "squared" else np.clip(d, -self.delta, self.delta)

    _curvature = 1.0  # of all three, at a zero residual; for the bounded one phi'' = 4 (2 - 3 d^2) / (2 + d^2)^3

    def _parameters(self) -> tuple[Any, ...]:
        return (self.loss, self.delta)

    def derivatives(self, z: Array, batch: Array | slice | None = None) -> Array:
        out, chosen = np.empty(len(z), dtype=self.dtype), batch
        for part in _parts(len(z)):
            if isinstance(batch, np.ndarray):
                chosen = batch[part]
            elif batch is None:
                chosen = part
            out[part] = self._slopes(np.asarray(z[part], dtype=np.float64), chosen)
        return out

    def _value(self, x: Any) -> float:
        z = self.margins(x)
        parts = (self._sum_of_losses(z[part].astype(np.float64), part) for part in _parts(self.n_samples))
        return sum(parts) / self.n_samples

    def _gradient(self, x: Any) -> Array:
        return self.combine_rows(self.derivatives(self.margins(x)) / self.dtype.type(self.n_samples))

    def _batch_gradient(self, x: Any, batch: Array) -> Array:
        slopes = self.derivatives(self.margins(x, batch), batch)
        return self.combine_rows(slopes / self.dtype.type(len(batch)), batch)

    def sample_gradients(self, x: Any, batch: Array) -> Array:
        """Gradients of f_i, i in `batch`, stacked along a new first axis: len(batch) arrays like x."""
        return Objective.sample_gradients(self, x, batch)

    def smoothness(self) -> float:
        """L = max_i w_i / m: distinct entries do not touch each other, and |phi''| <= 1 for every loss."""
        return self.image_smoothness()

    def sample_smoothness(self) -> float:
        """max_i w_i."""
        return self.image_smoothness() * self.n_samples


class ObservedLosses(EntryLosses):
    """The losses as a function of the observed entries z themselves: f~ in f(x) = f~(z(x)). Shares all arrays."""

    def __init__(self, model: MatrixCompletion) -> None:
        Objective.__init__(self)
        self.loss, self.delta, self.quasar_rho, self.dtype = model.loss, model.delta, model.quasar_rho, model.dtype
        self.y, self.sample_weight, self.n_samples = model.y, model.sample_weight, model.n_samples
        self.shape = (self.n_samples,)

    def margins(self, x: Array, batch: Array | None = None) -> Array:
        return x if batch is None else x[batch]

    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        if batch is None:
            return coefficients.copy()  # tables change in place, what was made of them does not
        out = np.zeros(self.shape, dtype=self.dtype)
        out[batch] = coefficients
        return out


class MatrixCompletion(EntryLosses):
    """f(x) = (1/m) sum_i w_i phi(x[row_i, col_i] - value_i), for a matrix x of which m entries were observed.

    The collaborative filtering problem of the paper. Over `NuclearBall` and `Spectraplex`, `bsfw.minimize` keeps x as a
    `LowRank` and nothing of the size of the matrix is ever formed: memory and time go with the observations.

    Parameters
    ----------
    observations : Ratings or tuple
        Ratings, as `bsfw.datasets.load` gives them, or (rows, cols, values, shape). Rows and columns without an
        observation are fine; an entry observed twice is refused.
    loss : {"bounded", "squared", "huber"}
        phi(d): d^2 / (2 + d^2), the paper's (nonconvex); d^2 / 2; or Huber's, quadratic up to `delta`, then linear.
    delta : float
        Threshold of the Huber loss.
    intercepts : bool
        Take the damped means of rows and columns out first (`Intercepts.fit`): x has to explain only what they leave,
        and `LowRank.predict` adds them again.
    sample_weight : array, (m,), optional
        Nonnegative weights in the order of the observations; scaled to mean one.
    test : Ratings or tuple, optional
        Held-out observations: the trace then has the columns ``test_rmse`` and ``test_loss``.
    compression : float
        Singular values of a low-rank x below this, relative to the largest, are dropped when it is recompressed.
    dtype : float32 or float64
        Of x and of all numbers kept per observation.

    Attributes
    ----------
    rows, cols, y : array
        The observations sorted by row and column, the values without the intercepts.
    indptr : array
        Row i holds the observations indptr[i] to indptr[i + 1].
    intercepts : Intercepts or None
    sample_weight : array or None
    test : tuple of arrays or None
        Rows, columns and values.
    """

    shape: tuple[int, int]

    def __init__(
        self,
        observations: Any,
        loss: str = "bounded",
        *,
        delta: float = 1.0,
        intercepts: bool = False,
        sample_weight: Any = None,
        test: Any = None,
        compression: float = 1e-3,
        dtype: npt.DTypeLike = float,
    ) -> None:
        Objective.__init__(self)
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {loss!r}.")
        self.loss, self.delta, self.quasar_rho = loss, positive(delta, "delta"), LOSSES[loss]
        self.compression = float(compression)
        if not 0.0 <= self.compression < 1.0:
            raise ValueError(f"compression must be a relative tolerance in [0, 1[, got {compression!r}.")
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {self.dtype}.")
        rows, cols, values, self.shape = _observations(observations, None)
        rows, cols, order = _sorted(rows, cols, self.shape)
        self.n_samples, self.rows, self.cols = len(values), rows, cols
        self.indptr = np.zeros(self.shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self.shape[0]), out=self.indptr[1:])
        self.sample_weight = _weights(sample_weight, self.n_samples, order)
        values = values if order is None else values[order]
        self.intercepts = Intercepts.fit(rows, cols, values, self.sample_weight, self.shape) if intercepts else None
        if self.intercepts is not None:
            values = values - self.intercepts(rows, cols)
        self.y = values.astype(self.dtype)
        self.test = None if test is None else _observations(test, self.shape)[:3]

    def margins(self, x: Any, batch: Array | None = None) -> Array:
        if isinstance(x, LowRank):
            known = x.observed_by(self)
            if known is not None:
                return known if batch is None else known[batch]
            pick: Callable[[Array, Array], Array] = x.entries
        else:
            dense = np.asarray(x, dtype=self.dtype)
            pick = lambda rows, cols: dense[rows, cols]  # noqa: E731
        return pick(self.rows, self.cols) if batch is None else pick(self.rows[batch], self.cols[batch])

    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        out = np.zeros(self.shape, dtype=self.dtype)
        if batch is None:
            out[self.rows, self.cols] = coefficients
        else:
            out[self.rows[batch], self.cols[batch]] = coefficients
        return out

    @cached_property
    def observed(self) -> ObservedLosses:
        """The same losses as a function of the observed entries."""
        return ObservedLosses(self)

    def metrics(self, x: Any) -> dict[str, float]:
        """Root mean square error and mean loss on the held-out observations, if there are any; counts nothing."""
        if self.test is None:
            return {}
        rows, cols, values = self.test
        known = x.entries(rows, cols) if isinstance(x, LowRank) else np.asarray(x)[rows, cols]
        predicted = known.astype(np.float64)
        if self.intercepts is not None:
            predicted += self.intercepts(rows, cols)
        return {
            "test_rmse": float(np.sqrt(np.mean(np.square(predicted - values)))),
            "test_loss": float(np.mean(self._phi(predicted, values))),
        }

    def fingerprint(self) -> str:
        """Hash of observations, weights, loss and settings, by which a checkpoint recognises the problem."""
        return digest(
            type(self).__name__, self.shape, self.dtype.str, *self._parameters(), self.compression, self.rows,
            self.cols, self.y, self.sample_weight,
        )  # fmt: skip

    def _partial_derivatives(self, x: Any, coordinates: Array) -> Array:
        seen, which = self._observations_at(coordinates)
        out = np.zeros(len(coordinates), dtype=self.dtype)
        out[seen] = self.derivatives(self.margins(x, which), which) / self.n_samples
        return out

    def _forward_differences(self, x: Any, coordinates: Array, step: float) -> Array:
        seen, which = self._observations_at(coordinates)
        z, y = self.margins(x, which).astype(np.float64), self.y[which]
        change = self._phi(z + step, y) - self._phi(z, y)
        out = np.zeros(len(coordinates))
        out[seen] = change if self.sample_weight is None else self.sample_weight[which] * change
        return out / (step * self.n_samples)

    def _observations_at(self, coordinates: Array) -> tuple[Array, Array]:
        """Which of the flat coordinates are observed, and as which observations."""
        keys = _keys(self.rows, self.cols, self.shape)
        places = np.searchsorted(keys, coordinates)
        seen = places < len(keys)
        seen[seen] = keys[places[seen]] == np.asarray(coordinates)[seen]
        return seen, places[seen]


def _parts(size: int) -> Iterator[slice]:
    for first in range(0, size, _BLOCK):
        yield slice(first, min(size, first + _BLOCK))


def _observations(given: Any, shape: tuple[int, int] | None) -> tuple[Array, Array, Array, tuple[int, int]]:
    """Rows, columns, values and shape, each checked; `shape` is the one that a test set must have."""
    if hasattr(given, "rows") and hasattr(given, "cols") and hasattr(given, "values"):
        given = (given.rows, given.cols, given.values, given.shape)
    accepted = "(rows, cols, values, shape)" if shape is None else "(rows, cols, values)"
    if not isinstance(given, (tuple, list)) or len(given) not in ((4,) if shape is None else (3, 4)):
        length = f" of length {len(given)}" if isinstance(given, (tuple, list)) else ""
        raise TypeError(f"observations are given as Ratings or as {accepted}, got {type(given).__name__}{length}.")
    rows, cols, values = (np.asarray(part) for part in given[:3])
    own = tuple(given[3]) if len(given) == 4 else shape
    whole = own is not None and all(isinstance(size, (int, np.integer)) and size >= 1 for size in own)
    if own is None or not whole or len(own) != 2:
        raise ValueError(f"the shape must be the numbers of rows and of columns, both at least 1, got {own!r}.")
    own = (int(own[0]), int(own[1]))
    if shape is not None and own != shape:
        raise ValueError(f"the test set is of the shape {own}, but the observations are of {shape}.")
    if not (rows.ndim == 1 and rows.shape == cols.shape == values.shape):
        raise ValueError(
            "rows, cols and values must be three lists of the same length, got arrays of the shapes "
            f"{rows.shape}, {cols.shape} and {values.shape}."
        )
    if not rows.size:
        raise ValueError("there are no observations; give at least one entry of the matrix.")
    for index, size, name in ((rows, own[0], "rows"), (cols, own[1], "cols")):
        if index.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold whole numbers from 0, got entries of type {index.dtype}.")
        bad = int(np.count_nonzero((index < 0) | (index >= size)))
        if bad:
            raise ValueError(
                f"{bad} of {index.size} ids in {name} are out of range: they run from {index.min()} to {index.max()}, "
                f"but must lie between 0 and {size - 1}; number them from 0, or give a larger shape."
            )
    if values.dtype.kind not in "biuf":
        raise TypeError(f"the values must be real numbers, got entries of type {values.dtype}.")
    values = values.astype(np.float64)
    require_finite(values, "the list of values")
    return rows, cols, values, own


def _keys(rows: Array, cols: Array, shape: tuple[int, int]) -> Array:
    return rows.astype(np.int64) * shape[1] + cols


def _sorted(rows: Array, cols: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array | None]:
    """Rows and columns in row-major order, and the order in which they were (None: this one)."""
    keys, order = _keys(rows, cols, shape), None
    if not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        repeated = int(np.count_nonzero(keys[1:] == keys[:-1]))
        if repeated:
            row, col = divmod(int(keys[:-1][keys[1:] == keys[:-1]][0]), shape[1])
            raise ValueError(
                f"{repeated} entries are observed more than once, the first at row {row}, column {col}; keep one value "
                "for each, e.g. the mean or the last one."
            )
    index = np.int32 if max(shape) <= np.iinfo(np.int32).max else np.int64
    rows, cols = (part if order is None else part[order] for part in (rows, cols))
    return rows.astype(index), cols.astype(index), order


def _weights(sample_weight: Any, n_samples: int, order: Array | None) -> Array | None:
    if sample_weight is None:
        return None
    given = np.asarray(sample_weight)
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per observation, shape ({n_samples},), but its shape is {given.shape}."
        )
    return _checks.weights(given if order is None else given[order], n_samples)
