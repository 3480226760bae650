"""Upper bounds of spectral norms that hold: what an exact Frank-Wolfe gap over a nuclear ball or a spectraplex needs.

Near an optimum the leading singular values of the gradient are many and equal, and a Lanczos run that stops at a small
residual may have found none of them to the digits that the gap needs. Here the space is split: where x lives, the
gradient is known exactly, and of the rest a Lanczos run from a random start tells only an upper bound, which holds with
a probability that is stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from ._common import as_double, scaled
from ._lanczos import smallest_eigenpair

FAILURE = 1e-6
"""Probability, over the random start, with which a bound may be too low."""
_STEPS, _GROWTH = 12, 1.3
"""Lanczos steps before the first look at the bound, and by which factor more before each further one."""
_NOTHING = 1e-14
"""A vector this small against the matrix is rounding error: the Krylov space is exhausted."""
_ROUNDING = 64 * np.finfo(float).eps
_FULL = 4000
"""Up to so many rows or columns a dense matrix is factored by LAPACK: in the time of some hundred Lanczos steps."""
_ROUNDS = 3
"""Spans that `close_norm_bound` tries."""

Product = Callable[[Array], Array]
Enough = Callable[[float, float], bool]
"""From what the bound would be if Lanczos had found all, and what it is so far, to whether they are close enough."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What is known of the spectral norm of G.

    Attributes
    ----------
    lower, upper : float
        The norm lies between them: certainly above `lower`, below `upper` with probability 1 - failure.
    steps : int
        Lanczos steps made.
    values : array
        Ritz values of the part of G outside of the given subspaces, falling.
    right : array, (columns, values)
        Their right vectors, orthonormal and orthogonal to the given one.
    """

    lower: float
    upper: float
    steps: int
    values: Array
    right: Array


def norm_bound(
    forward: Product,
    backward: Product,
    shape: tuple[int, int],
    spans: tuple[Array, Array, Array, Array],
    rng: np.random.Generator,
    enough: Enough,
    *,
    failure: float = FAILURE,
    most_steps: int = 1000,
    wanted: int = 0,
    least_steps: int = 0,
) -> Bound:
    """Bounds of the spectral norm of a real matrix G, tight where G is nearly block diagonal in the given spans.

    With U, V orthonormal, ||G|| <= ||[[a, b], [c, d]]|| for the norms of the blocks a = U^T G V, b = U^T G (I - V V^T),
    c = (I - U U^T) G V and d = (I - U U^T) G (I - V V^T). The first three are small matrices. For d, Lanczos on d^T d
    from a random start b finds the monic polynomial p that makes ||p(d^T d) b|| least, its zeros, the Ritz values, and
    that norm, the product of the off-diagonals. b has some part along the leading singular vector: less than delta only
    with a probability of delta sqrt(2 n / pi). So p(||d||^2) <= ||p(d^T d) b|| / delta, unless with probability
    `failure`. No gap between singular values is assumed, and where there is one the bound is close after few steps.

    Parameters
    ----------
    forward, backward : callable
        v -> G v and u -> G^T u, for vectors in float64.
    shape : tuple of int
        Of G.
    spans : tuple of arrays
        U, V, G V and G^T U; without columns where nothing is known.
    rng : numpy.random.Generator
        Of the random start.
    enough : callable
        Asked with the bounds so far, from time to time; Lanczos ends when it says True.
    failure : float
    most_steps : int
        At which Lanczos ends in any case.
    wanted : int
        Ritz pairs of d to return, at most.
    least_steps : int
        Steps before `enough` is asked.
    """
    if shape[0] < shape[1]:  # the theorem has the dimension of the start: begin on the shorter side
        u, v, gv, gu = spans
        flipped = norm_bound(
            backward, forward, (shape[1], shape[0]), (v, u, gu, gv), rng, enough, failure=failure,
            most_steps=most_steps, wanted=wanted, least_steps=least_steps,
        )  # fmt: skip
        left = flipped.right
        right = _applied(backward, left, shape[1])
        right -= v @ (v.T @ right)
        right /= np.maximum(np.linalg.norm(right, axis=0), np.finfo(float).tiny)
        return Bound(flipped.lower, flipped.upper, flipped.steps, flipped.values, right)
    blocks = _blocks(*spans)
    run = _Lanczos(forward, backward, *spans[:2], rng, most_steps, failure)
    target = min(_STEPS if least_steps == 0 else least_steps, most_steps)
    while True:
        run.extend(target)
        theta, above = run.largest()
        reached, upper = _two_by_two(*blocks, theta), _two_by_two(*blocks, above)
        if run.ended or enough(reached, upper):
            return Bound(max(*blocks, theta), upper, run.steps, *run.pairs(wanted))
        target = math.ceil(_GROWTH * run.steps)


def close_norm_bound(
    forward: Product,
    backward: Product,
    shape: tuple[int, int],
    right: Array,
    rng: np.random.Generator,
    enough: Enough,
    *,
    wanted: int = 16,
) -> Bound:
    """`norm_bound` in a span that follows the leading singular vectors of G, for a gap that is to be told closely.

    Where V = `right` is not quite the span of those, the blocks b and c make the bound too large. So U spans G V, which
    leaves c = 0, and as long as the bound is not close to the norm, V goes to the span of G^T U and of the Ritz vectors
    outside: a subspace iteration. Of all bounds the smallest is told; that one of them fails has probability `FAILURE`.

    Parameters
    ----------
    forward, backward, shape, rng
        As in `norm_bound`.
    right : array, (columns, terms)
        Orthonormal; at an optimum the leading singular vectors are among those of x.
    enough : callable
        Asked with a lower and an upper bound of the norm.
    wanted : int
        Ritz vectors that join.
    """
    best = None
    for _ in range(_ROUNDS):
        images = _applied(forward, right, shape[0])
        left = np.linalg.qr(images)[0]
        coimages = _applied(backward, left, shape[1])
        found = norm_bound(
            forward, backward, shape, (left, right, images, coimages), rng, enough, failure=FAILURE / _ROUNDS,
            wanted=wanted, least_steps=2 * wanted,
        )  # fmt: skip
        best = found if best is None or found.upper < best.upper else best
        if enough(found.lower, best.upper):
            break
        right = np.linalg.qr(np.hstack((coimages, found.right)))[0]
    assert best is not None
    return best


def largest_singular_value(matrix: Array) -> float:
    """An upper bound of the spectral norm of a dense matrix: by LAPACK up to `_FULL` rows or columns, beyond by
    `norm_bound` from a random start, with a relative error of some 1e-4."""
    matrix, exponent = scaled(as_double(matrix))
    if min(matrix.shape) <= _FULL:
        return math.ldexp(float(np.linalg.norm(matrix, 2)) * (1.0 + _ROUNDING), exponent)
    adjoint, dtype, parts = matrix.conj().T, matrix.dtype, matrix.dtype.itemsize // 8
    rows, columns = (parts * size for size in matrix.shape)  # of complex numbers, their real and imaginary parts

    def none(size: int) -> Array:
        return np.empty((size, 0))

    found = norm_bound(
        lambda v: (matrix @ v.view(dtype)).view(float), lambda u: (adjoint @ u.view(dtype)).view(float),
        (rows, columns), (none(rows), none(columns), none(rows), none(columns)), np.random.default_rng(0),
        lambda reached, upper: upper <= (1.0 + 1e-12) * reached,
    )  # fmt: skip
    return math.ldexp(found.upper, exponent)


def smallest_eigenvalue(matrix: Array) -> float:
    """A lower bound of the smallest eigenvalue of the Hermitian part of a dense matrix: by LAPACK up to `_FULL` rows,
    beyond by `largest_singular_value`."""
    matrix, exponent = scaled(as_double(matrix))
    matrix = 0.5 * (matrix + matrix.conj().T)
    least: float
    if len(matrix) <= _FULL:
        values = np.linalg.eigvalsh(matrix)
        least = float(values[0]) - _ROUNDING * float(np.abs(values).max())
    else:  # lambda_min >= c - ||c I - H|| for every c, and equal if c is not far below the largest eigenvalue
        shift = -smallest_eigenpair(-matrix, 1e-2)[0]
        least = shift - largest_singular_value(shift * np.eye(len(matrix)) - matrix)
    return math.ldexp(least, exponent)


def _applied(product: Product, vectors: Array, rows: int) -> Array:
    """The product with every column."""
    out = np.empty((rows, vectors.shape[1]))
    for k in range(vectors.shape[1]):
        out[:, k] = product(vectors[:, k])
    return out


def _blocks(left: Array, right: Array, images: Array, coimages: Array) -> tuple[float, float, float]:
    """Norms of U^T G V, U^T G (I - V V^T) and (I - U U^T) G V, from G V and G^T U."""
    inside = left.T @ images
    return _norm(inside), _norm(coimages - right @ inside.T), _norm(images - left @ inside)


def _norm(block: Array) -> float:
    """Spectral norm of a thin matrix, rounded up."""
    if not block.size:
        return 0.0
    return float(np.linalg.norm(np.linalg.qr(block, "r") if len(block) > block.shape[1] else block, 2))


def _two_by_two(a: float, b: float, c: float, d: float) -> float:
    """Spectral norm of [[a, b], [c, d]], all nonnegative; infinite if d is."""
    if not math.isfinite(d):
        return math.inf
    return 0.5 * (math.hypot(a + d, b - c) + math.hypot(a - d, b + c)) * (1.0 + _ROUNDING)


class _Lanczos:
    """Golub-Kahan-Lanczos on d = (I - U U^T) G (I - V V^T), with full reorthogonalisation of the right vectors.

    Where the Krylov space is exhausted it goes on from another random vector, in a piece of its own.
    """

    def __init__(
        self,
        forward: Product,
        backward: Product,
        left: Array,
        right: Array,
        rng: np.random.Generator,
        most: int,
        failure: float,
    ) -> None:
        self._forward, self._backward, self._left, self._right = forward, backward, left, right
        self._rng, self._failure = rng, failure
        self.dimension = max(right.shape[0] - right.shape[1], 0)
        self._most = min(most, self.dimension)
        self._basis = np.empty((max(1, min(most, 64)) + 1, right.shape[0]))
        self._alphas: list[float] = []
        self._betas: list[float] = []
        self._previous = np.zeros(left.shape[0])
        self._first, self._pieces, self._scale = 0, 0, 0.0
        self._next_piece = True

    @property
    def steps(self) -> int:
        return len(self._alphas)

    @property
    def ended(self) -> bool:
        return self.steps >= self._most or (self.steps > 0 and self._scale == 0.0)

    def extend(self, target: int) -> None:
        """Up to that many steps in all."""
        while not self.ended and self.steps < target:
            k = self.steps
            if k + 2 > len(self._basis):
                self._basis = np.concatenate((self._basis, np.empty_like(self._basis)))
            known = self._basis[: k + 1]
            if self._next_piece:
                self._first, self._pieces, self._next_piece = k, self._pieces + 1, False
                start = self._orthogonal(self._rng.standard_normal((known.shape[1],)), known[:k])
                known[k] = start / np.linalg.norm(start)
            forth = self._forward(known[k])
            forth = forth - self._left @ (self._left.T @ forth)
            if k > self._first:
                forth -= self._betas[-1] * self._previous
            alpha, beta = float(np.linalg.norm(forth)), 0.0
            self._scale = max(self._scale, alpha)
            if alpha > _NOTHING * self._scale:
                self._previous = forth / alpha
                back = self._orthogonal(self._backward(self._previous), known)
                beta = float(np.linalg.norm(back))
                self._scale = max(self._scale, beta)
            self._next_piece = beta <= _NOTHING * self._scale
            self._alphas.append(alpha)
            self._betas.append(0.0 if self._next_piece else beta)
            if not self._next_piece:
                self._basis[k + 1] = back / beta

    def largest(self) -> tuple[float, float]:
        """The largest singular value of the projection, theta <= ||d||, and an upper bound of ||d||."""
        from scipy.linalg import eigvalsh_tridiagonal

        if self._scale == 0.0:  # what maps a random vector to nothing is zero
            return 0.0, 0.0 if self.steps or not self.dimension else math.inf
        diagonal, beside = self._squared()
        top = float(eigvalsh_tridiagonal(diagonal, beside)[-1])
        if self.steps < self.dimension:
            first = self._first
            values = eigvalsh_tridiagonal(diagonal[first:], beside[first:])
            products = np.array(self._alphas[first:]) * np.array(self._betas[first:])
            share = self._failure / (self._pieces * (self._pieces + 1))
            above = self._root(values, np.maximum(products, _ROUNDING * self._scale**2), share)
        else:
            above = top
        return math.sqrt(max(top, 0.0)), math.sqrt(max(top, above, 0.0)) * (1.0 + _ROUNDING)

    def _root(self, values: Array, products: Array, failure: float) -> float:
        """The lambda above all Ritz values with prod (lambda - values) = prod(products) / delta.

        prod(products) is ||p(d^T d) b|| for the start b and the polynomial p with these zeros, so that it is at least
        p(||d||^2) |<b, v>| for the leading right singular vector v; and |<b, v>| <= delta has a probability of at most
        delta sqrt(2 n / pi).
        """
        delta = failure / math.sqrt(2.0 * self.dimension / math.pi)
        sought = float(np.log(products).sum()) - math.log(delta)
        top, count = float(values[-1]), len(values)
        low, high = 0.0, math.exp(sought / count)  # of lambda - top: each factor is at least that
        for _ in range(60):
            middle = 0.5 * (low + high)
            if float(np.log(middle + (top - values)).sum()) < sought:
                low = middle
            else:
                high = middle
        return top + high

    def pairs(self, wanted: int) -> tuple[Array, Array]:
        """The largest Ritz values, at most so many, and their right vectors as columns."""
        from scipy.linalg import eigh_tridiagonal

        k = self.steps
        count = min(wanted, k)
        if not count:
            return np.zeros(0), np.empty((len(self._right), 0))
        squares, vectors = eigh_tridiagonal(*self._squared(), select="i", select_range=(k - count, k - 1))
        return np.sqrt(np.maximum(squares[::-1], 0.0)), self._basis[:k].T @ vectors[:, ::-1]

    def _squared(self) -> tuple[Array, Array]:
        """Diagonals of B^T B, B upper bidiagonal with the alphas and betas."""
        alphas, betas = np.array(self._alphas), np.array(self._betas[:-1])
        diagonal = np.square(alphas)
        diagonal[1:] += np.square(betas)
        return diagonal, alphas[:-1] * betas

    def _orthogonal(self, vector: Array, known: Array) -> Array:
        """The part outside of V and of the known Lanczos vectors; twice is enough (Kahan)."""
        for _ in range(2):
            vector = vector - self._right @ (self._right.T @ vector)
            vector = vector - (known @ vector) @ known
        inside: Array = self._right @ (self._right.T @ vector)
        return vector - inside
