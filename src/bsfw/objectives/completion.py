"""Matrix completion: losses on the observed entries of a matrix variable."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import Array, digest, number, plain, positive, positive_int, require_finite, shown
from ..completion_model import CompletionModel
from ..constraints.base import Constraint
from ..lowrank import LowRank
from . import _checks
from ._frame import Frame
from .base import Objective
from .linear_model import LinearModel

_BLOCK = 2**18
"""Observations of which the losses are taken at once, so that temporary arrays stay small beside the data."""
_HUGE = 1e75
"""Residuals beyond this count as this much: the bounded loss is one there, and the fourth power does not overflow."""
EMPTY = 10**7
"""Rows and columns that a matrix may have whatever is observed of it; beyond, a hundred for each observation."""
_DAMPING, _SWEEPS = 5.0, 20
"""Intercepts are shrunk as if each user and item had so many more ratings of average height; sweeps over both."""
_RIDGE, _ALPHA, _KAPPA, _RADIUS, _FIRST_SWEEPS = 4.0, 0.4, 0.4, 0.7, 4
"""Defaults of `biases`, of `weights` and `implicit` where implicit features are asked for, and of the radius; and the
sweeps for biases to begin with."""


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
    def fit(
        cls,
        rows: Array,
        cols: Array,
        values: Array,
        weight: Array | None,
        shape: tuple[int, int],
        damping: float = _DAMPING,
        sweeps: int = _SWEEPS,
    ) -> Intercepts:
        """Weighted, damped means of users and items, by turns until they agree; users and items unseen get zero."""
        w = np.ones(len(values)) if weight is None else weight
        constant = float(w @ values / w.sum())
        found, axes = [np.zeros(size) for size in shape], (rows, cols)
        mass = [np.bincount(axis, weights=w, minlength=size) for axis, size in zip(axes, shape, strict=True)]
        for _ in range(sweeps):
            for side in (0, 1):
                rest = w * (values - constant - found[1 - side][axes[1 - side]])
                found[side] = np.bincount(axes[side], weights=rest, minlength=shape[side]) / (mass[side] + damping)
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
        z, chosen = _checks.numbers(z, None, "z"), batch
        if batch is not None and not isinstance(batch, slice):
            batch = self._batch(batch, empty=True)
        if z.ndim != 1:
            raise ValueError(f"z must be a list of entries, but its shape is {z.shape}.")
        out = np.empty(len(z), dtype=self.dtype)
        for part in _parts(len(z)):
            if isinstance(batch, np.ndarray):
                chosen = batch[part]
            elif batch is None:
                chosen = part
            out[part] = self._slopes(z[part].astype(np.float64), chosen)
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
        observation are fine, up to ten million and a hundred for each observation; an entry observed twice is refused.
    loss : {"bounded", "squared", "huber"}
        phi(d): d^2 / (2 + d^2), the paper's (nonconvex); d^2 / 2; or Huber's, quadratic up to `delta`, then linear.
    delta : float
        Threshold of the Huber loss.
    intercepts : bool
        Take the damped means of rows and columns out first (`Intercepts.fit`): x has to explain only what they leave,
        and `LowRank.predict` adds them again.
    biases : bool or float, optional
        Fit the mean, a bias of each row and one of each column together with the matrix, with this ridge (True: 4) on
        the sums of squares. Default: with `implicit` only.
    weights : float, optional
        alpha >= 0: the ball is that of the weighted nuclear norm ||W_u^1/2 M W_v^1/2||_*, with W = (n / mean n)^alpha
        for the numbers n of observations of each row and column. Default: 0.4 with `implicit`, else 0, the plain ball.
    implicit : bool or float
        Implicit features (SVD++ as a convex problem): what a user has rated says something of their taste, whatever the
        ratings. The fitted matrix is [I, A] M with A_ij = n_i^-1/2 where row i has column j observed, and M has a row
        for each row and one for each column. A number is kappa, how cheap those are in the norm (True: 0.4).
    rank : int, optional
        Most terms of x in the corrective method. Few terms cost less and often predict better; the gap, which is that
        of the problem without this limit, then does not go to zero.
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
    frame : Frame
        Weights and implicit features: from the variable to the fitted matrix.
    ridge : float or None
        That of the biases, if they are fitted.
    sample_weight : array or None
    observed : ObservedLosses
        The same losses as a function of the observed entries.
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
        biases: bool | float | None = None,
        weights: float | None = None,
        implicit: bool | float = False,
        rank: int | None = None,
        sample_weight: Any = None,
        test: Any = None,
        compression: float = 1e-3,
        dtype: npt.DTypeLike = float,
    ) -> None:
        Objective.__init__(self)
        if not isinstance(loss, str) or loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}, got {shown(loss)}.")
        self.loss, self.delta, self.quasar_rho = loss, positive(delta, "delta"), LOSSES[loss]
        self.compression = number(compression, "compression")
        if not 0.0 <= self.compression < 1.0:
            raise ValueError(f"compression must be a relative tolerance in [0, 1[, got {shown(compression)}.")
        self.dtype = _checks.dtype(dtype, ("float32", "float64"))
        self._settings: dict[str, Any] = {
            "delta": delta, "intercepts": intercepts, "biases": biases, "weights": weights, "implicit": implicit,
            "rank": rank, "compression": compression, "dtype": dtype,
        }  # fmt: skip
        rows, cols, values, size = observed(observations, None)
        rows, cols, order = _sorted(rows, cols, size)
        self.n_samples, self.rows, self.cols = len(values), rows, cols
        self.indptr = np.zeros(size[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=size[0]), out=self.indptr[1:])
        self.sample_weight = _weights(sample_weight, self.n_samples, order)
        kappa = _setting(implicit, "implicit", _KAPPA)
        self.ridge = _setting(kappa is not None if biases is None else biases, "biases", _RIDGE)
        alpha = (0.0 if kappa is None else _ALPHA) if weights is None else _exponent(weights)
        self.frame = Frame(self.indptr, self.cols, size, alpha, kappa)
        self.shape = self.frame.shape
        if intercepts and self.ridge is not None:
            raise ValueError(
                "intercepts=True fixes the means of rows and columns, biases= fits them with the matrix; choose one."
            )
        values = values if order is None else values[order]
        self.intercepts = Intercepts.fit(rows, cols, values, self.sample_weight, size) if intercepts else None
        self.constant = 0.0
        if self.intercepts is not None:
            values = values - self.intercepts(rows, cols)
        elif self.ridge is not None:
            self.constant = float(np.average(values, weights=self.sample_weight))
            values = values - self.constant
        self.y = values.astype(self.dtype)
        self.test = None if test is None else observed(test, size)[:3]
        self.observed = ObservedLosses(self)
        self.rank = None if rank is None else positive_int(rank, "rank")
        self.ids = _ids(observations, "user_ids", size[0]), _ids(observations, "item_ids", size[1])

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the matrix that is observed; with implicit features the variable has more rows."""
        return self.frame.size

    def default_constraint(self) -> Constraint:
        """A nuclear ball as large as 0.7 times what the matrix is left to explain, were all of it of rank one.

        That is 0.7 rms sqrt(rows * columns), rms of the values less the means of rows and columns: on both MovieLens
        sets near the radius that held-out ratings choose, around which their error is flat.
        """
        from ..constraints.spectral import NuclearBall

        rest = self.y.astype(np.float64)
        if self.ridge is not None:
            rest = rest - self.first_biases(self.rows, self.cols)
        rms = float(np.sqrt(np.average(np.square(rest), weights=self.sample_weight)))
        return NuclearBall(max(_RADIUS * rms, np.finfo(float).tiny) * float(np.sqrt(math.prod(self.size))))

    @cached_property
    def first_biases(self) -> Intercepts:
        """Biases with which a run begins, those of the zero matrix but for a few sweeps; the constant is in `y`."""
        values, damping = self.y.astype(np.float64), self.ridge or _RIDGE
        return Intercepts.fit(
            self.rows, self.cols, values, self.sample_weight, self.size, damping, _FIRST_SWEEPS
        )  # fmt: skip

    @property
    def values(self) -> Array:
        """The observed values, as they were given."""
        known = self.constant if self.intercepts is None else self.intercepts(self.rows, self.cols)
        return self.y + known

    def restricted(self, keep: Array) -> MatrixCompletion:
        """The same problem with those observations only, a mask of them in the order of `rows`; without a test set."""
        part = self.rows[keep], self.cols[keep], self.values[keep], self.size
        weight = None if self.sample_weight is None else self.sample_weight[keep]
        made = MatrixCompletion(part, self.loss, sample_weight=weight, **self._settings)
        made.ids = self.ids
        return made

    def model(self, x: LowRank) -> CompletionModel:
        """What x predicts, by the ids of rows and columns."""
        known = x.intercepts if self.ridge is not None else self.intercepts
        biases = known if isinstance(known, Intercepts) else Intercepts(self.constant, *map(np.zeros, self.size))
        left = self.frame.rows_of(x.left * x.weights.astype(x.dtype))
        right, (users, items) = self.frame.columns_of(x.right), self.ids
        return CompletionModel(
            biases.constant, biases.rows, biases.cols, left, right, users, items, self.indptr, self.cols
        )  # fmt: skip

    def margins(self, x: Any, batch: Array | None = None) -> Array:
        x, batch = self._point(x), None if batch is None else self._batch(batch, empty=True)
        if isinstance(x, LowRank):
            known = x.observed_by(self)
            if known is not None:
                return known if batch is None else known[batch]
        pick = self._fitted(x)
        return pick(self.rows, self.cols) if batch is None else pick(self.rows[batch], self.cols[batch])

    def _fitted(self, x: Any) -> Callable[[Array, Array], Array]:
        """From rows and columns to the entries of the fitted matrix, biases included, the constant not."""
        if self.ridge is not None:
            if not (isinstance(x, LowRank) and isinstance(x.intercepts, Intercepts)):
                raise ValueError(
                    "with biases= the variable is a LowRank that carries the biases, as method='corrective' gives it; "
                    "for runs on arrays use intercepts=True."
                )
            matrix, biases = self._entries_of(x), x.intercepts
            return lambda rows, cols: matrix(rows, cols) + (biases.rows[rows] + biases.cols[cols]).astype(self.dtype)
        return self._entries_of(x)

    def _entries_of(self, x: Any) -> Callable[[Array, Array], Array]:
        if isinstance(x, LowRank):
            if self.frame.plain:
                return x.entries
            return LowRank(self.frame.rows_of(x.left), x.weights, self.frame.columns_of(x.right)).entries
        dense = np.asarray(x, dtype=self.dtype)
        if not self.frame.plain:
            dense = (self.frame.rows_of(dense) * self.frame.column_scale).astype(self.dtype)
        return lambda rows, cols: dense[rows, cols]

    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        coefficients = _checks.numbers(coefficients, self.dtype, "coefficients")
        out = np.zeros(self.size, dtype=self.dtype)
        if batch is None:
            out[self.rows, self.cols] = coefficients
        else:
            batch = self._batch(batch, empty=True)
            out[self.rows[batch], self.cols[batch]] = coefficients
        return self.frame.pulled_back(out)

    def _value(self, x: Any) -> float:
        value = super()._value(x)
        if self.ridge is None:
            return value
        squares = float(x.intercepts.rows @ x.intercepts.rows + x.intercepts.cols @ x.intercepts.cols)
        return value + 0.5 * self.ridge / self.n_samples * squares

    def smoothness(self) -> float:
        """L = max_i w_i / m: distinct entries do not touch each other, and |phi''| <= 1 for every loss."""
        if self.frame.plain and self.ridge is None:
            return super().smoothness()
        return Objective.smoothness(self)

    def metrics(self, x: Any) -> dict[str, float]:
        """Root mean square error and mean loss on the held-out observations, if there are any; counts nothing."""
        if self.test is None:
            return {}
        rows, cols, values = self.test
        predicted = self._fitted(x)(rows, cols).astype(np.float64) + self.constant
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
            self.cols, self.y, self.sample_weight, *self._model_settings(),
        )  # fmt: skip

    def _model_settings(self) -> tuple[float | None, ...]:
        """Nothing for the plain problem, so that its fingerprint is what it was."""
        plain = self.frame.plain and self.ridge is None and self.rank is None
        return () if plain else (self.ridge, self.constant, self.frame.alpha, self.frame.kappa, self.rank)

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
        if not self.frame.plain or self.ridge is not None:
            raise ValueError("coordinates of x are observed entries only without biases=, weights= and implicit=.")
        keys = _keys(self.rows, self.cols, self.shape)
        places = np.searchsorted(keys, coordinates)
        seen = places < len(keys)
        seen[seen] = keys[places[seen]] == np.asarray(coordinates)[seen]
        return seen, places[seen]


def _parts(size: int) -> Iterator[slice]:
    for first in range(0, size, _BLOCK):
        yield slice(first, min(size, first + _BLOCK))


def observed(given: Any, shape: tuple[int, int] | None) -> tuple[Array, Array, Array, tuple[int, int]]:
    """Rows, columns, values and shape, each checked; `shape` is the one that a test set must have."""
    if hasattr(given, "rows") and hasattr(given, "cols") and hasattr(given, "values"):
        given = (given.rows, given.cols, given.values, given.shape)
    accepted = "(rows, cols, values, shape)" if shape is None else "(rows, cols, values)"
    if not isinstance(given, (tuple, list)) or len(given) not in ((4,) if shape is None else (3, 4)):
        length = f" of length {len(given)}" if isinstance(given, (tuple, list)) else ""
        raise TypeError(f"observations are given as Ratings or as {accepted}, got {type(given).__name__}{length}.")
    rows, cols, values = (plain(part, name) for part, name in zip(given, ("rows", "cols", "values"), strict=False))
    own = _shape(given[3]) if len(given) == 4 else shape
    assert own is not None
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
    if sum(own) > EMPTY + 100 * rows.size or math.prod(own) > np.iinfo(np.int64).max:
        raise ValueError(
            f"a matrix of shape {own} takes {8e-9 * sum(own):.3g} GB for each term of its factors, but {rows.size} "
            "of its entries are observed; number the rows and columns that occur, e.g. by np.unique(rows, "
            "return_inverse=True)."
        )
    return rows.copy(), cols.copy(), values, own


def _shape(given: Any) -> tuple[int, int]:
    sizes = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else ()
    if len(sizes) != 2 or not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(f"the shape must be the numbers of rows and of columns, both at least 1, got {shown(given)}.")
    return int(sizes[0]), int(sizes[1])


def _ids(given: Any, name: str, count: int) -> Array:
    """The ids of rows or columns, where the observations have them."""
    found = getattr(given, name, None)
    return np.arange(count) if found is None else np.asarray(found)


def _exponent(weights: Any) -> float:
    if isinstance(weights, (int, float)) and not isinstance(weights, bool) and 0.0 <= weights <= 2.0:
        return float(weights)
    raise ValueError(f"weights is the exponent of the counts, a number from 0 (the plain ball) to 2, got {weights!r}.")


def _setting(given: bool | float, name: str, default: float) -> float | None:
    """None for False, the default for True, else the positive number."""
    if isinstance(given, (bool, np.bool_)):
        return default if given else None
    return positive(given, name)


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
    given = plain(sample_weight, "sample_weight")
    if given.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have one entry per observation, shape ({n_samples},), but its shape is {given.shape}."
        )
    return _checks.weights(given if order is None else given[order], n_samples)
