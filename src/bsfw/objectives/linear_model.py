"""Linear models f(x) = (1/m) sum_i w_i phi(<a_i, x>, y_i): everything but the loss phi."""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, Floats, digest, norm, number
from .._threads import one_blas_thread
from ..blocks import Blocks
from . import _checks
from ._intercept import best_shift
from ._spectral import SMALL, largest_magnitude
from .base import Counts, Line, Objective

_BLOCK = 2**20
"""Entries of a temporary array in `forward_differences` and `precise_gradient`."""
FEW_ROWS, ROWS_AT_ONCE = 2**16, 2**13
"""Up to so many rows a full pass is one step, beyond that its steps have so many."""


class LinearLine(Line):
    """A linear model along x + gamma d, by z = A x and dz = A d: O(m) per question instead of O(nonzeros)."""

    objective: LinearModel

    def __init__(self, objective: LinearModel, z: Array, dz: Array) -> None:
        self.objective = objective
        self._z, self._dz = z.astype(np.float64, copy=False), dz.astype(np.float64, copy=False)

    def value(self, gamma: float) -> float:
        self.objective.counts.function_values += 1
        losses = self.objective._sum_of_losses(self._z + gamma * self._dz, slice(None))
        return losses / self.objective.n_samples

    def derivative(self, gamma: float) -> float:
        m = self.objective.n_samples
        self.objective.counts.sample_gradients += m
        self.objective.counts.full_gradients += 1
        return self._slope(gamma) / m

    def _slope(self, gamma: float) -> float:
        """m times the derivative."""
        return float(np.vdot(self.objective._slopes(self._z + gamma * self._dz, None), self._dz))


class LinearModel(Objective):
    """f(x) = (1/m) sum_i w_i phi(<a_i, x>, y_i), with a_i the rows of A. A subclass provides the loss phi.

    The derivative of f_i is the number w_i phi'(<a_i, x>, y_i) times a_i, so that SAG and SAGA keep m numbers (m x c
    for `Multinomial`), not m gradients. A value or gradient costs O(nonzeros of A), a batch that of its rows. Products
    with A are done in the dtype of A, losses and sums in float64.

    **The data are the objective's own.** What you do to A, y or the weights afterwards changes nothing: they are copied
    (for sparse A 12 bytes a nonzero, and 2 ms a million of them, about what a gradient costs; drop your own A if memory
    is short). Values that nobody can write to are shared instead: those of an array that owns its memory after
    ``A.flags.writeable = False`` (``A.data.flags.writeable`` of a sparse matrix), or of a file mapped with mode "r".
    The indices of sparse data are checked once, sorted, and copied in any case: compiled code looks at no bounds, so
    that an index changed behind its back would end the process.

    A loss of one's own is a subclass with `_phi`, `_phi_prime` and `_curvature`. If its `compiled_loss` gives both as
    functions of two numbers compiled by Numba, the compiled engine runs it at the speed of bsfw's own losses::

        @numba.njit
        def phi(z, y): ...

        @numba.njit
        def phi_prime(z, y): ...

        class Mine(bsfw.LinearModel):
            def compiled_loss(self):
                return phi, phi_prime

    Parameters
    ----------
    A : array, sparse matrix or blocks, (m, n)
        One row per sample. Sparse formats become CSR; float32 and float64 are kept, other types become float64. Data
        that outgrow memory come as `bsfw.blocks`, with their labels and weights, without y.
    y : array, (m,)
        Targets.
    intercept : bool
        Whether margins are <a_i, x> + b with a free b, which no constraint binds: f(x) is the minimum over b, convex
        where phi is, and its gradient that at the best b (a vector for `Multinomial`). The field `intercept` of a
        result has it. With a stochastic estimator a run fits b once per pass over the data, checks and results always.
    sample_weight : array, (m,), optional
        Nonnegative weights; scaled to mean one, so that f is the weighted average of the losses.

    Attributes
    ----------
    A : CSR array or array
        The data.
    offset : float, array or None
        b where it is held fixed, in the copy of a run; None where it is fitted to each x, or there is none.
    y : array
        The targets, checked.
    feature_names : tuple of str
        Names of the columns where A was a table that has them (of pandas, say), else empty.
    sample_weight : array or None
        w, with mean one; None for equal weights.
    """

    shape: tuple[int, ...]
    n_samples: int
    link: ClassVar[str] = "identity"
    """From a margin to a prediction: "identity", "logistic" or "probit" (a probability), "leaky", or "softmax" (a
    probability for each class)."""
    _curvature: float
    """Largest |phi''| in z (for vector margins: spectral norm of the Hessian), over all z and the admitted y."""

    def __new__(cls, A: Any = None, *args: Any, **settings: Any) -> Any:
        """The model; of `bsfw.blocks` in place of A and y a `PartitionedModel`."""
        if isinstance(A, Blocks):
            from .partitioned import PartitionedModel

            if args:
                raise TypeError("blocks hold their labels: leave y out, and give all else by name.")
            return PartitionedModel(cls, A, settings)
        return super().__new__(cls)

    def __init__(self, A: Any, y: Any = None, *, intercept: bool = False, sample_weight: Any = None) -> None:
        super().__init__()
        self.A, self.feature_names = _checks.design_matrix(A), _checks.feature_names(A)
        self.intercept, self.offset = bool(intercept), None
        self.n_samples = self.A.shape[0]
        self.y = self._check_targets(y)
        self.sample_weight = None if sample_weight is None else _checks.weights(sample_weight, self.n_samples)
        self.dtype = self.A.dtype
        self.shape = (self.A.shape[1],)
        if self.intercept:
            weighted = self.y if self.sample_weight is None else self.y[self.sample_weight > 0]
            self._check_intercept(weighted)

    # The loss: what a subclass provides, elementwise over samples, for margins in float64.

    @abstractmethod
    def _phi(self, z: Floats, y: Floats) -> Floats:
        """phi(z_i, y_i), one number per sample."""

    @abstractmethod
    def _phi_prime(self, z: Floats, y: Floats) -> Floats:
        """Derivative of phi in z, a new array like z."""

    def _phi_second(self, z: Floats, y: Floats) -> Floats:
        """Curvature of a quadratic model of phi at z, nonnegative: phi'', or what stands for it where that can be
        negative. A new array like z; here the bound of |phi''|, which holds for every loss."""
        return np.full(z.shape, self._curvature)

    def compiled_loss(self) -> tuple[Any, Any] | None:
        """phi and phi' as two functions of (z, y), numbers, compiled by ``numba.njit``: with them a subclass runs
        compiled. They must agree with `_phi` and `_phi_prime`. None, as here, means that there are none."""
        return None

    def _check_targets(self, y: Any) -> Array:
        return _checks.targets(y, self.n_samples)

    def _check_intercept(self, y: Array) -> None:
        """Raise a ValueError if the best intercept is infinite for these targets, those of positive weight."""

    def _first_intercept(self, z: Array) -> float:
        """Where the search for the best intercept begins."""
        return 0.0

    def _parameters(self) -> tuple[Any, ...]:
        """Parameters of the loss, for `fingerprint`."""
        return ()

    def on_samples(self, rows: slice) -> LinearModel:
        """The same model of these samples only: the mean of their losses. Not for subclasses with data of their own."""
        model = copy.copy(self)
        for name in set(vars(model)):
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(model)[name]
        model.A, model.y, model._counts = self.A[rows], self.y[rows], Counts()
        model.n_samples = len(model.y)
        vars(model).pop("_last", None)
        if self.sample_weight is not None:
            model.sample_weight = _checks.weights(self.sample_weight[rows], model.n_samples)
        if model.intercept:
            model._check_intercept(model.y if model.sample_weight is None else model.y[model.sample_weight > 0])
        return model

    # What SAG, SAGA and the step rules ask.

    def margins(self, x: Array, batch: Array | None = None) -> Array:
        """A x, or A[batch] x, with the intercept where that is held fixed."""
        x = np.asarray(self._point(x), dtype=self.dtype)
        rows = self.A if batch is None else self.A[self._batch(batch, empty=True)]
        z: Array = rows @ x
        return z if self.offset is None else z + np.asarray(self.offset, dtype=self.dtype)

    # The free intercept.

    def for_run(self) -> LinearModel:
        """Self, or with an intercept a copy that holds it fixed until `refit`."""
        return self if not self.intercept else copy.copy(self)

    def refit(self, x: Array) -> None:
        """Fit the intercept of a run's copy to x. A product with A, and O(m)."""
        if self.intercept:
            self.offset = self.best_intercept(self._bare_margins(x), self.offset)

    def best_intercept(self, z: Array, start: Any = None) -> Any:
        """The b that minimises the mean of w_i phi(z_i + b, y_i), by Newton's method from `start`. O(m) a trial."""
        z = _checks.numbers(z, np.float64, "z")
        if z.shape[:1] != (self.n_samples,):
            raise ValueError(f"z must have one entry per sample, {self.n_samples}, but its shape is {z.shape}.")

        def curvatures(z: Array) -> Array:
            found = self._phi_second(z, self.y)
            return found if self.sample_weight is None else found * self.sample_weight

        return best_shift(
            z,
            lambda z: self._slopes(z, None),
            curvatures,
            self._first_intercept(z) if start is None else number(start, "start"),
        )

    def fields(self, x: Array) -> dict[str, Any]:
        """The intercept at x, if there is one."""
        if not self.intercept or x is None:
            return {}
        return {"intercept": self._best_at(x)[0] if self.offset is None else self.offset}

    def _best_at(self, x: Array) -> tuple[Any, Array]:
        """The best intercept at x, and A x. Kept for the last x: value, gap and intercept are asked in turn."""
        last = vars(self).get("_last")
        if last is None or not np.array_equal(last[0], x):
            z = self._bare_margins(x)
            last = np.array(x), self.best_intercept(z), z
            self._last = last
        return last[1], last[2]

    def _best_margins(self, x: Array) -> Array:
        """A x with the intercept, where that is free with the best one."""
        if not self.intercept or self.offset is not None:
            return self.margins(x)
        intercept, z = self._best_at(x)
        return np.asarray(z + intercept, dtype=self.dtype)

    def _bare_margins(self, x: Array) -> Array:
        """A x in float64."""
        z: Array = self.A @ np.asarray(self._point(x), dtype=self.dtype)
        return z.astype(np.float64)

    def _image(self, direction: Array) -> Array:
        """A d, by which margins change along d."""
        return self.margins(direction) if self.offset is None else self.margins(direction) - self.offset

    def _at(self, x: Array) -> LinearModel:
        """Self with the intercept that it has, or with the best one at x."""
        if not self.intercept or self.offset is not None:
            return self
        model = self.for_run()
        model.offset = self._best_at(x)[0]
        return model

    def derivatives(self, z: Array, batch: Array | slice | None = None) -> Array:
        """w_i phi'(z_i, y_i), the derivative of f_i in its margin, an array like z. O(size of z)."""
        z = _checks.numbers(z, np.float64, "z")
        if z.ndim != len(self.shape) or z.shape[1:] != self.shape[1:]:
            raise ValueError(
                f"z must have a row of shape {self.shape[1:]} for each sample, but its shape is {z.shape}."
            )
        if batch is None or isinstance(batch, slice):
            return self._slopes(z, batch).astype(self.dtype, copy=False)
        return self._slopes(z, self._batch(batch, empty=True)).astype(self.dtype, copy=False)

    def combine_rows(self, coefficients: Array, batch: Array | None = None) -> Array:
        """A^T coefficients, or A[batch]^T coefficients: an array like x, not averaged."""
        rows = self.A if batch is None else self.A[self._batch(batch, empty=True)]
        combined: Array = rows.T @ _checks.numbers(coefficients, self.dtype, "coefficients")
        return combined

    def sample_derivatives(self, x: Array, batch: Array) -> Array:
        """The derivatives of f_i, i in `batch`, in their margins at x; counts len(batch) sample gradients."""
        z, batch = self._at(x).margins(x, batch), np.asarray(batch)
        self.counts.sample_gradients += len(batch)
        return self.derivatives(z, batch)

    def all_derivatives(self, x: Array) -> Array:
        """The derivatives of all f_i in their margins at x; counts a full gradient."""
        z = self._best_margins(x)
        self.counts.sample_gradients += self.n_samples
        self.counts.full_gradients += 1
        return self.derivatives(z)

    def image_norm(self, direction: Array) -> float:
        """||A d||, the norm of SAG's step rule (paper, eq. SAG gamma). O(nonzeros), no gradient."""
        return norm(self._image(direction))

    # The objective.

    def _value(self, x: Array) -> float:
        if self.intercept:
            return self._sum_of_losses(self._best_margins(x).astype(np.float64), slice(None)) / self.n_samples
        x = np.asarray(x, dtype=self.dtype)
        parts = (self._sum_of_losses((A @ x).astype(np.float64, copy=False), rows) for rows, A, _ in self._row_blocks())
        return sum(parts) / self.n_samples

    def _gradient(self, x: Array) -> Array:
        if self.intercept:
            return self.combine_rows(self.derivatives(self._best_margins(x))) / self.n_samples
        x = np.asarray(x, dtype=self.dtype)
        gradient: Array | None = None
        for rows, A, transpose in self._row_blocks():
            part = transpose @ self.derivatives(A @ x, rows)
            gradient = part if gradient is None else np.add(gradient, part, out=gradient)
        assert gradient is not None
        gradient /= self.n_samples
        return gradient

    def _precise_gradient(self, x: Array) -> Array:
        # Single precision cancels in the margins, and in the sum over the samples. Few rows at a time, since a product
        # of them with a vector in double precision begins with a copy in double precision.
        if self.dtype == np.float64:
            return self._gradient(x)
        wide, m = np.asarray(x, dtype=np.float64), self.n_samples
        at_once = max(1, _BLOCK * m // max(1, self.A.size))
        z = np.concatenate([A @ wide for _, A, _ in self._row_blocks(at_once)])
        if self.intercept:
            z += self.best_intercept(z) if self.offset is None else self.offset
        slopes, gradient = self._slopes(z, None), np.zeros(self.shape)
        for rows, _, transpose in self._row_blocks(at_once):
            gradient += transpose @ slopes[rows]
        gradient /= m
        return gradient

    def _row_blocks(self, at_once: int | None = None) -> Iterator[tuple[slice, Any, Any]]:
        """The rows of A in parts with their transposes: what a loss makes of their margins on its way stays small."""
        m = self.n_samples
        if at_once is None:
            at_once = m if m <= FEW_ROWS else ROWS_AT_ONCE
        if at_once >= m:
            yield slice(0, m), self.A, self.A.T
            return
        for first in range(0, m, at_once):
            rows = slice(first, min(m, first + at_once))
            yield rows, *_views(self.A, rows)

    def _batch_gradient(self, x: Array, batch: Array) -> Array:
        rows = self.A[batch]  # once for both products
        z = rows @ np.asarray(x, dtype=self.dtype)
        if self.intercept:
            z = z + np.asarray(self._at(x).offset, dtype=self.dtype)
        gradient: Array = rows.T @ self.derivatives(z, batch)
        gradient /= len(batch)
        return gradient

    def sample_gradients(self, x: Array, batch: Array) -> Array:
        """Gradients of f_i, i in `batch`, stacked along a new first axis: len(batch) dense arrays like x."""
        slopes = self.sample_derivatives(x, batch)
        rows = self.A[np.asarray(batch)]
        dense: Array = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return dense * slopes[:, None] if slopes.ndim == 1 else dense[:, :, None] * slopes[:, None, :]

    def _partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        # The margins cost a pass over A whatever is asked, the columns only their own nonzeros.
        if len(coordinates) == np.prod(self.shape):
            return self._gradient(x).ravel()[coordinates]
        features, classes = self._split(coordinates)
        partials: Array = self.columns[:, features].T @ self.derivatives(self._at(x).margins(x))
        partials = partials if classes is None else partials[np.arange(len(features)), classes]
        return partials / self.n_samples

    def _forward_differences(self, x: Array, coordinates: Array, step: float) -> Array:
        # f(x + h e_j) has the margins z + h A[:, j]: one pass over A for z, then O(nonzeros of column j) each. The
        # losses are subtracted sample by sample, so that rounding is no worse than in f(x + h e_j) - f(x).
        z = self._at(x).margins(x).astype(np.float64)
        features, classes = self._split(np.asarray(coordinates))
        before = self._phi(z, self.y)
        out = np.empty(len(features))
        block = max(1, _BLOCK // z.size)
        for first in range(0, len(features), block):
            part = slice(first, first + block)
            owner, rows, entries = self._column_entries(features[part])
            moved = z[rows]
            if classes is None:
                moved += step * entries
            else:
                moved[np.arange(len(rows)), classes[part][owner]] += step * entries
            change = self._phi(moved, self.y[rows]) - before[rows]
            if self.sample_weight is not None:
                change *= self.sample_weight[rows]
            out[part] = np.bincount(owner, weights=change, minlength=len(features[part]))
        return out / (step * self.n_samples)

    def along(self, x: Array, direction: Array) -> Line:
        """f restricted to the line x + gamma direction; two products with A now, O(m) per question later.

        With an intercept that of x is kept along the line.
        """
        return LinearLine(self, self._at(x).margins(x), self._image(direction))

    def smoothness(self) -> float:
        """L = max|phi''| ||W^(1/2) A||_2^2 / m. The spectral norm is computed at the first call, then kept."""
        return self._curvature * self._squared_spectral_norm / self.n_samples

    def sample_smoothness(self) -> float:
        """max_i w_i max|phi''| ||a_i||^2, by which every f_i is smooth. O(nonzeros)."""
        return self._curvature * float(self._squared_row_norms().max())

    def image_smoothness(self) -> float:
        """max|phi''| max_i w_i / m: smoothness of f~ in f(x) = f~(A x), the L in SAG's constants. O(m)."""
        return (
            self._curvature * (1.0 if self.sample_weight is None else float(self.sample_weight.max())) / self.n_samples
        )

    def fingerprint(self) -> str:
        """Hash of the data, the targets, the weights and the loss, by which a checkpoint recognises the problem."""
        if isinstance(self.A, np.ndarray):
            data: tuple[Array, ...] = (self.A,)
        else:  # the width of the indices is no part of the problem
            data = (self.A.data, self.A.indices.astype(np.int64), self.A.indptr.astype(np.int64))
        return digest(
            type(self).__name__, self.shape, self.quasar_rho, self.intercept, *self._parameters(), *data, self.y,
            self.sample_weight,
        )  # fmt: skip

    # Inner parts.

    def _sum_of_losses(self, z: Array, rows: slice) -> float:
        losses = self._phi(z, self.y[rows])
        return float(losses.sum() if self.sample_weight is None else self.sample_weight[rows] @ losses)

    def _slopes(self, z: Array, batch: Array | slice | None) -> Array:
        """`derivatives` in float64."""
        slopes = self._phi_prime(z, self.y if batch is None else self.y[batch])
        if self.sample_weight is not None:
            w = self.sample_weight if batch is None else self.sample_weight[batch]
            slopes *= w if slopes.ndim == 1 else w[:, None]
        return slopes

    def _split(self, coordinates: Array) -> tuple[Array, Array | None]:
        """Flat coordinates of the variable as columns of A, and classes where the margins are vectors."""
        if len(self.shape) == 1:
            return coordinates, None
        features, classes = np.divmod(coordinates, self.shape[1])
        return features, classes

    @cached_property
    def columns(self) -> Any:
        """A in a form with cheap columns: a CSC or column-major copy, made once and kept."""
        return np.asfortranarray(self.A) if isinstance(self.A, np.ndarray) else self.A.tocsc()

    @cached_property
    def column_length(self) -> float:
        """Nonzeros in the column of a random nonzero of sparse data, counted once and kept."""
        from ..kernels.margins import mean_length

        return float(mean_length(self.A.indices, self.A.shape[1]))

    @cached_property
    def gram(self) -> Array:
        """A^T A as a dense n x n array, made once and kept: ||A d||^2 in O(nonzeros of d squared)."""
        gram = self.A.T @ self.A
        return np.ascontiguousarray(gram if isinstance(gram, np.ndarray) else gram.toarray(), dtype=np.float64)

    def _column_entries(self, features: Array) -> tuple[Array, Array, Array]:
        """Entries of the columns `features`: position in `features`, row, value."""
        columns, k = self.columns[:, features], len(features)
        if isinstance(columns, np.ndarray):
            m = self.n_samples
            return np.repeat(np.arange(k), m), np.tile(np.arange(m), k), columns.T.ravel().astype(np.float64)
        return np.repeat(np.arange(k), np.diff(columns.indptr)), columns.indices, columns.data.astype(np.float64)

    def _squared_row_norms(self) -> Array:
        """w_i ||a_i||^2."""
        if isinstance(self.A, np.ndarray):
            squares: Array = np.einsum("ij,ij->i", self.A, self.A, dtype=np.float64)
        else:
            squares = self.A.astype(np.float64).power(2).sum(axis=1)
        return squares if self.sample_weight is None else self.sample_weight * squares

    @cached_property
    @one_blas_thread
    def _squared_spectral_norm(self) -> float:
        """||W^(1/2) A||_2^2 through the smaller Gram matrix, as an upper bound at most 0.1 % too large."""
        from scipy.sparse.linalg import LinearOperator

        B = self.A.astype(np.float64, copy=False)
        if self.sample_weight is not None:
            roots = np.sqrt(self.sample_weight)[:, None]
            B = B * roots if isinstance(B, np.ndarray) else B.multiply(roots).tocsr()
        if B.shape[0] < B.shape[1]:
            B = B.T
        size = B.shape[1]
        if size <= SMALL:
            gram = B.T @ B
            top = np.linalg.eigvalsh(gram if isinstance(gram, np.ndarray) else gram.toarray())[-1]
            return max(float(top), 0.0) * (1 + 1e-12)  # rounding of a backward stable solver
        gram = LinearOperator((size, size), matvec=lambda v: B.T @ (B @ v), dtype=np.dtype(np.float64))
        return largest_magnitude(gram, ceiling=float(self._squared_row_norms().sum()))


# What `inspect` shows of a subclass without a constructor of its own.
LinearModel.__new__.__signature__ = inspect.signature(LinearModel.__init__)  # type: ignore[attr-defined]


def _views(A: Any, rows: slice) -> tuple[Any, Any]:
    """A[rows] and its transpose. Of a CSR array neither SciPy's slices nor its constructors give views."""
    if isinstance(A, np.ndarray):
        return A[rows], A[rows].T
    from scipy.sparse import csc_array, csr_array

    start, stop, size = A.indptr[rows.start], A.indptr[rows.stop], rows.stop - rows.start
    part, transpose = csr_array((size, A.shape[1]), dtype=A.dtype), csc_array((A.shape[1], size), dtype=A.dtype)
    indptr = A.indptr[rows.start : rows.stop + 1] - start
    for view in (part, transpose):
        view.data, view.indices, view.indptr = A.data[start:stop], A.indices[start:stop], indptr
    return part, transpose
