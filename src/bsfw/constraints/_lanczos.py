"""Leading singular pair and smallest eigenpair by Lanczos, with full reorthogonalisation and thick restarts.

Both start from a random vector drawn anew from a fixed seed: the same matrix gives the same pair, and nothing is
carried from one call to the next, for a stale vector can pass the residual test on a pair that is no longer the
leading one. A pair is accepted when its residual is at most ``tolerance`` times the norm of the matrix, so the value
is as good as that (and usually its square, divided by the relative gap).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .._arrays import Array, is_complex
from .._threads import one_blas_thread
from ._common import as_double, first_axis, scaled

_SEED = 20_240_229
DENSE = 48  # up to this size LAPACK is faster than a Lanczos run
_BASIS = 48  # Lanczos vectors before a restart
_KEEP = 16  # Ritz vectors that survive it: several, so that a cluster at the end of the spectrum is kept whole
_RESTARTS = 300
_CHECK_EVERY = 4
_NOTHING = 1e-13  # a vector this small against the matrix is rounding error: the Krylov space is exhausted

Apply = Callable[[Array], Array]


class LinearMap(Protocol):
    """A matrix known by its products; scipy.sparse.linalg.LinearOperator is one."""

    shape: tuple[int, int]
    dtype: Any

    def matvec(self, x: Array) -> Array: ...

    def rmatvec(self, x: Array) -> Array: ...


@one_blas_thread
def leading_singular_pair(matrix: Any, tolerance: float) -> tuple[float, Array, Array]:
    """Largest singular value of a matrix with its left and right singular vectors, A v = sigma u, A^H u = sigma v.

    Golub-Kahan-Lanczos bidiagonalisation. About 20 to 50 products with A and as many with A^H where the leading
    singular value is isolated; O(m + n) numbers per Lanczos vector, at most 2 * 48 vectors.

    Parameters
    ----------
    matrix : ndarray, scipy sparse array, or LinearMap
        m x n, real or complex, finite. Dense and sparse ones are scaled first, so any magnitude is fine.
    tolerance : float
        Bound on ||A^H u - sigma v|| / sigma.

    Returns
    -------
    sigma : float
    left, right : array
        Unit vectors, in double precision. For a zero matrix: 0.0, e_0, e_0.
    """
    explicit, exponent = _explicit(matrix)
    rows, columns = matrix.shape
    dtype = np.dtype(complex if is_complex(matrix.dtype) else float)
    if explicit is None:
        forward, backward, exponent = _scaled_products(matrix, dtype)
    else:
        if isinstance(explicit, np.ndarray) and min(rows, columns) <= DENSE:
            return _by_svd(explicit, exponent)
        forward, backward = _products(explicit)
    if rows < columns:  # the recurrence starts on the shorter side, which is exhausted first
        found = _golub_kahan(backward, forward, columns, rows, dtype, tolerance)
    else:
        found = _golub_kahan(forward, backward, rows, columns, dtype, tolerance)
    sigma, left, right, converged = found
    if not converged:
        if explicit is not None:
            return _by_svd(explicit if isinstance(explicit, np.ndarray) else explicit.toarray(), exponent)
        _warn_slow(tolerance)
    if rows < columns:
        left, right = right, left
    return math.ldexp(sigma, exponent), left, right


@one_blas_thread
def smallest_eigenpair(matrix: Any, tolerance: float) -> tuple[float, Array]:
    """Smallest (most negative) eigenvalue of a Hermitian matrix, with a unit eigenvector.

    Hermitian Lanczos. O(n) numbers per Lanczos vector, at most 49 vectors.

    Parameters
    ----------
    matrix : ndarray, scipy sparse array, or LinearMap
        n x n Hermitian (not checked), real or complex, finite; of a LinearMap only `matvec` is used.
    tolerance : float
        Bound on ||A v - lambda v|| / ||A||.
    """
    explicit, exponent = _explicit(matrix)
    size = matrix.shape[0]
    dtype = np.dtype(complex if is_complex(matrix.dtype) else float)
    if explicit is None:
        forward, _, exponent = _scaled_products(matrix, dtype)
    else:
        if isinstance(explicit, np.ndarray) and size <= DENSE:
            return _by_eigh(explicit, exponent)
        forward = _products(explicit)[0]
    value, vector, converged = _hermitian(forward, size, dtype, tolerance)
    if not converged:
        if explicit is not None:
            return _by_eigh(explicit if isinstance(explicit, np.ndarray) else explicit.toarray(), exponent)
        _warn_slow(tolerance)
    return math.ldexp(value, exponent), vector


def _explicit(matrix: Any) -> tuple[Any, int]:
    """The matrix in double precision divided by a power of two, and the exponent; (None, 0) for a LinearMap."""
    if isinstance(matrix, np.ndarray):
        return scaled(as_double(matrix))
    if not hasattr(matrix, "tocsr"):
        return None, 0
    compressed = matrix.tocsr().astype(np.result_type(matrix.dtype, np.float64))  # a copy: its data may be replaced
    exponent = 0
    if compressed.nnz:
        compressed.data, exponent = scaled(compressed.data)
    return compressed, exponent


def _products(matrix: Any) -> tuple[Apply, Apply]:
    """x -> A x and x -> A^H x, without a conjugated copy of A."""
    transposed = matrix.T
    if is_complex(matrix.dtype):
        return lambda x: matrix @ x, lambda x: (transposed @ x.conj()).conj()
    return lambda x: matrix @ x, lambda x: transposed @ x


def _scaled_products(matrix: LinearMap, dtype: np.dtype) -> tuple[Apply, Apply, int]:
    """The products of a LinearMap divided by a power of two near its size, which one product with it tells."""
    top = float(np.abs(matrix.matvec(_random_unit(matrix.shape[1], dtype))).max())
    exponent = math.frexp(top)[1]
    factor = math.ldexp(1.0, -exponent)
    return lambda x: factor * matrix.matvec(x), lambda x: factor * matrix.rmatvec(x), exponent


def _by_svd(matrix: Array, exponent: int) -> tuple[float, Array, Array]:
    if not matrix.any():
        rows, columns = matrix.shape
        return 0.0, first_axis((rows,), 1.0, matrix.dtype), first_axis((columns,), 1.0, matrix.dtype)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return math.ldexp(float(values[0]), exponent), left[:, 0], right[0].conj()


def _by_eigh(matrix: Array, exponent: int) -> tuple[float, Array]:
    if not matrix.any():
        return 0.0, first_axis(matrix.shape[:1], 1.0, matrix.dtype)
    values, vectors = np.linalg.eigh(matrix)
    return math.ldexp(float(values[0]), exponent), vectors[:, 0]


def _warn_slow(tolerance: float) -> None:
    warnings.warn(
        f"Lanczos did not reach the relative tolerance {tolerance} in {_RESTARTS} restarts; its best pair is used. "
        f"Raise the tolerance.",
        RuntimeWarning,
        stacklevel=3,
    )


def _random_unit(size: int, dtype: np.dtype) -> Array:
    rng = np.random.default_rng(_SEED)
    vector = rng.standard_normal(size).astype(dtype)
    if is_complex(dtype):
        vector.imag = rng.standard_normal(size)
    return _unit(vector)


def _unit(vector: Array) -> Array:
    return vector / float(np.linalg.norm(vector))


def _orthogonalise(vector: Array, basis: Array) -> Array:
    """`vector` without its part in the span of the orthonormal rows of `basis`; twice, which is enough (Kahan)."""
    for _ in range(2):
        inside: Array = (basis.conj() @ vector) @ basis
        vector = vector - inside
    return vector


def _golub_kahan(
    forward: Apply, backward: Apply, rows: int, columns: int, dtype: np.dtype, tolerance: float
) -> tuple[float, Array, Array, bool]:
    """(sigma, left, right, converged) for a map with rows >= columns.

    With k left and right vectors, A V_k = U_k B_k and A^H U_k = V_k B_k^H + beta v_{k+1} e_k^H. B is upper bidiagonal
    at first; after a restart its leading block is diag(sigma_1, ..) with the coupling to the next vector beside it
    (Baglama and Reichel, 2005).
    """
    limit = min(_BASIS, columns)
    left = np.zeros((limit, rows), dtype=dtype)
    right = np.zeros((limit + 1, columns), dtype=dtype)
    b = np.zeros((limit, limit + 1))
    right[0] = _random_unit(columns, dtype)
    k = 0
    for _ in range(_RESTARTS):
        while k < limit:
            u = _orthogonalise(forward(right[k]), left[:k])
            alpha = float(np.linalg.norm(u))
            if alpha <= _NOTHING * np.abs(b).max():
                # A v_{k+1} lies in the span of the left vectors: the k x (k+1) projection is exact.
                if k == 0:
                    return 0.0, first_axis((rows,), 1.0, dtype), first_axis((columns,), 1.0, dtype), True
                p, s, qh = np.linalg.svd(b[:k, : k + 1])
                return float(s[0]), _unit(p[:, 0] @ left[:k]), _unit(qh[0] @ right[: k + 1]), True
            left[k] = u / alpha
            b[k, k] = alpha
            w = _orthogonalise(backward(left[k]), right[: k + 1])
            beta = float(np.linalg.norm(w))
            k += 1
            exhausted = beta <= _NOTHING * np.abs(b).max()
            if exhausted or k == limit or k % _CHECK_EVERY == 0:
                p, s, qh = np.linalg.svd(b[:k, :k])
                if exhausted or beta * abs(p[k - 1, 0]) <= tolerance * s[0]:
                    return float(s[0]), _unit(p[:, 0] @ left[:k]), _unit(qh[0] @ right[:k]), True
            right[k] = w / beta
            b[k - 1, k] = beta
        kept = min(_KEEP, limit - 1)
        left[:kept] = p[:, :kept].T @ left
        right[:kept] = qh[:kept] @ right[:limit]
        right[kept] = right[limit]
        b[:] = 0.0
        b[range(kept), range(kept)] = s[:kept]
        b[:kept, kept] = beta * p[limit - 1, :kept]
        k = kept
    return float(s[0]), _unit(left[0]), _unit(right[0]), False


def _hermitian(forward: Apply, size: int, dtype: np.dtype, tolerance: float) -> tuple[float, Array, bool]:
    """(smallest eigenvalue, eigenvector, converged).

    With k vectors, A V_k = V_k T_k + beta v_{k+1} e_k^H. T is tridiagonal at first; after a restart its leading block
    is diag(theta_1, ..) with the coupling to the next vector beside it (Wu and Simon, 2000).
    """
    limit = min(_BASIS, size)
    basis = np.zeros((limit + 1, size), dtype=dtype)
    t = np.zeros((limit + 1, limit + 1))
    basis[0] = _random_unit(size, dtype)
    k = 0
    for _ in range(_RESTARTS):
        while k < limit:
            w = forward(basis[k])
            t[k, k] = float(np.vdot(basis[k], w).real)
            w = _orthogonalise(w, basis[: k + 1])
            beta = float(np.linalg.norm(w))
            k += 1
            exhausted = beta <= _NOTHING * np.abs(t).max()
            if exhausted or k == limit or k % _CHECK_EVERY == 0:
                theta, s = np.linalg.eigh(t[:k, :k])
                if exhausted or beta * abs(s[k - 1, 0]) <= tolerance * np.abs(theta).max():
                    if theta[0] == 0.0 and k == 1:  # the zero map
                        return 0.0, first_axis((size,), 1.0, dtype), True
                    return float(theta[0]), _unit(s[:, 0] @ basis[:k]), True
            basis[k] = w / beta
            t[k - 1, k] = t[k, k - 1] = beta
        kept = min(_KEEP, limit - 1)
        basis[:kept] = s[:, :kept].T @ basis[:limit]
        basis[kept] = basis[limit]
        t[:] = 0.0
        t[range(kept), range(kept)] = theta[:kept]
        t[:kept, kept] = t[kept, :kept] = beta * s[limit - 1, :kept]
        k = kept
    return float(theta[0]), _unit(basis[0]), False
