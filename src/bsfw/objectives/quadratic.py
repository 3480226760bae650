"""Quadratic functions of a real or complex variable."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array, checked_shape, digest, inner, is_complex, number, own, plain, require_finite
from .._sparse import canonical
from .._threads import one_blas_thread
from ._spectral import largest_magnitude
from .base import Line, Objective

_CHECKED = 2000
"""Up to this dimension all eigenvalues of Q are computed to see whether f is convex (about a second)."""
_ENTRIES = 2**20
"""Entries of Q that are copied at once in `precise_gradient`."""


class QuadraticLine(Line):
    """A quadratic along x + gamma d is a parabola: its three numbers are found at the start, O(1) per question."""

    def __init__(self, objective: Quadratic, x: Array, direction: Array) -> None:
        super().__init__(objective, x, direction)
        self._height = objective._value(x)
        self._slope = inner(objective._gradient(x), direction)
        self._bend = inner(direction, objective._apply(direction))

    def value(self, gamma: float) -> float:
        self.objective.counts.function_values += 1
        return self._height + gamma * (self._slope + 0.5 * gamma * self._bend)

    def derivative(self, gamma: float) -> float:
        self.objective.counts.sample_gradients += 1
        self.objective.counts.full_gradients += 1
        return self._slope + gamma * self._bend


class Quadratic(Objective):
    """f(x) = Re<x, Q x>/2 + Re<b, x> + c, with Q Hermitian on the flattened variable. A value costs one product Q x.

    Parameters
    ----------
    Q : array (N, N), sparse matrix (N, N), array (N,) or number
        Hermitian matrix; an array of one dimension is a diagonal, a number a multiple of the identity. Copied,
        unless nobody can write to it; see `LinearModel`.
    b : array, optional
        Linear term, of the shape of the variable; complex makes the variable complex.
    c : float
        Constant term.
    shape : tuple of int, optional
        Shape of the variable; by default that of b, else (N,).
    convex : bool, optional
        Whether Q is positive semidefinite. By default its eigenvalues tell, up to N = 2000 and for diagonals; beyond
        you must say.
    """

    shape: tuple[int, ...]

    def __init__(
        self,
        Q: Any,
        b: Any = None,
        c: float = 0.0,
        shape: int | tuple[int, ...] | None = None,
        *,
        convex: bool | None = None,
    ) -> None:
        super().__init__()
        import scipy.sparse as sp

        Q = canonical(Q, "Q") if sp.issparse(Q) else plain(Q, "Q")
        b = None if b is None else plain(b, "b")
        if shape is not None:
            self.shape = checked_shape(shape)
        elif b is not None:
            self.shape = b.shape
        elif Q.ndim > 0:
            self.shape = (Q.shape[0],)
        else:
            raise ValueError("Quadratic with a number for Q cannot know its dimension; give b or shape.")
        size = int(np.prod(self.shape))
        if size == 0:
            raise ValueError(f"Quadratic needs at least one variable, got the shape {self.shape}.")
        if b is not None and b.shape != self.shape:
            raise ValueError(f"b must have the shape of the variable, {self.shape}, but has {b.shape}.")
        if Q.shape not in ((), (size,), (size, size)):
            raise ValueError(
                f"Q must act on the {size} entries of a variable of shape {self.shape}: a number, a diagonal of shape "
                f"({size},) or a matrix of shape ({size}, {size}), but its shape is {Q.shape}."
            )
        self.dtype = _variable_dtype(Q, b)
        try:
            self.Q = Q.astype(self.dtype, copy=False)
            self.Q = self.Q if sp.issparse(Q) else own(self.Q, Q)
            self.b = np.zeros(self.shape, self.dtype) if b is None else b.astype(self.dtype)
        except (TypeError, ValueError, OverflowError):
            raise TypeError("Q and b must hold numbers; convert them first.") from None
        self.c = number(c, "c")
        require_finite(self.Q.data if sp.issparse(Q) else self.Q, "Q")
        require_finite(self.b, "b")
        self._check_hermitian()
        if convex is None:
            if self.Q.ndim == 2 and size > _CHECKED:
                raise ValueError(
                    f"Q is {size} x {size}, too large to compute all eigenvalues in passing; say convex=True if it is "
                    "positive semidefinite, else convex=False."
                )
            low, high = self._spectrum
            convex = low >= -size * float(np.finfo(self.dtype).eps) * max(abs(low), abs(high))
        self.quasar_rho = 1.0 if convex else None

    def _check_hermitian(self) -> None:
        Q = self.Q
        if Q.ndim < 2:
            defect, scale = np.abs(Q.imag).max(), np.abs(Q).max()
        else:
            defect, scale = abs(Q - Q.conj().T).max(), abs(Q).max()
        # Between rounding errors of a Gram matrix, which pass, and mistakes, which do not.
        if defect > float(np.finfo(self.dtype).eps) ** (2 / 3) * scale:
            raise ValueError(
                f"Q must be Hermitian (symmetric if real), but Q - Q^H has entries up to {defect:g}; for a real x, "
                "(Q + Q^T) / 2 gives the same function."
            )

    def _apply(self, x: Array) -> Array:
        """Q x, in the shape of x."""
        flat = x.ravel()
        product: Array = self.Q @ flat if self.Q.ndim == 2 else self.Q * flat
        return product.reshape(x.shape)

    def _value(self, x: Array) -> float:
        return 0.5 * inner(x, self._apply(x)) + inner(self.b, x) + self.c

    def _gradient(self, x: Array) -> Array:
        return self._apply(x) + self.b

    def _precise_gradient(self, x: Array) -> Array:
        wide = np.result_type(self.dtype, np.float64)
        if self.dtype == wide:
            return self._gradient(x)
        flat, size = x.ravel().astype(wide), x.size
        product: Array
        if self.Q.ndim < 2:
            product = self.Q * flat
        else:  # few rows at a time, which are copied in double precision
            at_once = max(1, _ENTRIES * size // max(1, self.Q.size))
            parts = (self.Q[first : first + at_once] for first in range(0, size, at_once))
            product = np.concatenate([rows @ flat for rows in parts])
        product = product.reshape(x.shape) + self.b
        return product

    def _hessian_product(self, x: Array, direction: Array) -> Array:
        return self._apply(direction)

    def _gradient_entries(self, x: Array, coordinates: Array) -> Array:
        """Entries of the gradient at flat coordinates, by the rows of Q that belong to them."""
        flat = x.ravel()
        product: Array = self.Q[coordinates] @ flat if self.Q.ndim == 2 else (self.Q * flat)[coordinates]
        return product + self.b.ravel()[coordinates]

    @property
    def has_partial_derivatives(self) -> bool:
        return not is_complex(self.dtype)

    def _partial_derivatives(self, x: Array, coordinates: Array) -> Array:
        if is_complex(self.dtype):
            raise ValueError("Partial derivatives are those of a real variable, but this Quadratic is complex.")
        return self._gradient_entries(x, coordinates)

    def _forward_differences(self, x: Array, coordinates: Array, step: float) -> Array:
        # (f(x + h e_j) - f(x)) / h = g_j + h Q_jj / 2, which also spares the cancellation.
        bends = self.Q.diagonal()[coordinates] if self.Q.ndim == 2 else np.broadcast_to(self.Q, (x.size,))[coordinates]
        return np.asarray((self._gradient_entries(x, coordinates) + 0.5 * step * bends).real, dtype=float)

    def along(self, x: Array, direction: Array) -> Line:
        """f restricted to the line x + gamma direction; three products with Q now, O(1) per question later."""
        return QuadraticLine(self, self._point(x), self._point(direction, "direction"))

    def smoothness(self) -> float:
        """L, the largest |eigenvalue| of Q; by Lanczos beyond N = 2000, then up to 0.1 % too large."""
        if self.Q.ndim < 2 or self.Q.shape[0] <= _CHECKED:
            return max(abs(bound) for bound in self._spectrum) * (1 + 1e-12)  # rounding of the eigenvalues
        return self._lanczos_bound

    @cached_property
    def _lanczos_bound(self) -> float:
        return largest_magnitude(self.Q, ceiling=float(abs(self.Q).sum(axis=1).max()))

    @cached_property
    @one_blas_thread
    def _spectrum(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue of Q."""
        if self.Q.ndim < 2:
            return float(self.Q.real.min()), float(self.Q.real.max())
        dense = self.Q if isinstance(self.Q, np.ndarray) else self.Q.toarray()
        eigenvalues = np.linalg.eigvalsh(dense.astype(np.result_type(self.dtype, np.float64), copy=False))
        return float(eigenvalues[0]), float(eigenvalues[-1])

    def fingerprint(self) -> str:
        """Hash of Q, b, c and of whether f counts as convex, by which a checkpoint recognises the problem."""
        if isinstance(self.Q, np.ndarray):
            data: tuple[Array, ...] = (self.Q,)
        else:  # the width of the indices is no part of the problem
            data = (self.Q.data, self.Q.indices.astype(np.int64), self.Q.indptr.astype(np.int64))
        return digest(type(self).__name__, self.quasar_rho, *data, self.b, self.c)


def _variable_dtype(Q: Any, b: Array | None) -> np.dtype:
    """Single or double, real or complex; a plain number for Q does not widen a float32 b."""
    parts = [part.dtype for part in (Q, b) if part is not None and (part.ndim > 0 or part.dtype.kind == "c")]
    dtype = np.result_type(*parts) if parts else np.dtype(float)
    if dtype in (np.float32, np.float64, np.complex64, np.complex128):
        return dtype
    return np.dtype(complex if dtype.kind == "c" else float)
