"""Matrix completion: losses on the observed entries of a matrix variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import Array, digest, number, positive, positive_int, shown
from ..completion_model import CompletionModel
from ..constraints.base import Constraint
from ..lowrank import LowRank
from . import _checks
from ._entries import ENTRY_LOSSES, EntryLosses
from ._frame import Frame
from ._observations import ids_of, in_order, keys_of, observed, ordered_weights
from .base import Objective

_DAMPING, _SWEEPS = 5.0, 20
"""Intercepts are shrunk as if each user and item had so many more ratings of average height; sweeps over both."""
_RIDGE, _ALPHA, _KAPPA, _RADIUS, _FIRST_SWEEPS = 4.0, 0.4, 0.4, 0.7, 4
"""Defaults of `biases`, of `weights` and `implicit` where implicit features are asked for, and of the radius; and the
sweeps for biases to begin with."""


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
        if not isinstance(loss, str) or loss not in ENTRY_LOSSES:
            raise ValueError(f"loss must be one of {', '.join(map(repr, ENTRY_LOSSES))}, got {shown(loss)}.")
        self.loss, self.delta, self.quasar_rho = loss, positive(delta, "delta"), ENTRY_LOSSES[loss]
        self.compression = number(compression, "compression")
        if not 0.0 <= self.compression < 1.0:
            raise ValueError(f"compression must be a relative tolerance in [0, 1[, got {shown(compression)}.")
        self.dtype = _checks.dtype(dtype, ("float32", "float64"))
        self._settings: dict[str, Any] = {
            "delta": delta, "intercepts": intercepts, "biases": biases, "weights": weights, "implicit": implicit,
            "rank": rank, "compression": compression, "dtype": dtype,
        }  # fmt: skip
        rows, cols, values, size = observed(observations, None)
        rows, cols, order = in_order(rows, cols, size)
        self.n_samples, self.rows, self.cols = len(values), rows, cols
        self.indptr = np.zeros(size[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=size[0]), out=self.indptr[1:])
        self.sample_weight = ordered_weights(sample_weight, self.n_samples, order)
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
        self.ids = ids_of(observations, "user_ids", size[0]), ids_of(observations, "item_ids", size[1])

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
        keys = keys_of(self.rows, self.cols, self.shape)
        places = np.searchsorted(keys, coordinates)
        seen = places < len(keys)
        seen[seen] = keys[places[seen]] == np.asarray(coordinates)[seen]
        return seen, places[seen]


def _exponent(weights: Any) -> float:
    if isinstance(weights, (int, float)) and not isinstance(weights, bool) and 0.0 <= weights <= 2.0:
        return float(weights)
    raise ValueError(f"weights is the exponent of the counts, a number from 0 (the plain ball) to 2, got {weights!r}.")


def _setting(given: bool | float, name: str, default: float) -> float | None:
    """None for False, the default for True, else the positive number."""
    if isinstance(given, (bool, np.bool_)):
        return default if given else None
    return positive(given, name)
