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

FAILURE = 1e-6
"""Probability, over the random start, with which a bound may be too low."""
_STEPS, _GROWTH = 12, 1.3
"""Lanczos steps before the first look at the bound, and by which factor more before each further one."""
_NOTHING = 1e-14
"""A vector this small against the matrix is rounding error: the Krylov space is exhausted."""
_ROUNDING = 64 * np.finfo(float).eps

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
    c = (I - U U^T) G V and d = (I - U U^T) G (I - V V^T). The first three are small matrices. For d, k steps of Lanczos
    on d^T d from a random start give theta_k <= ||d|| and, by Theorem 4.1 of Kuczynski and Wozniakowski (1992),
    ||d||^2 <= theta_k^2 / (1 - e) with e = (ln(1.648 sqrt(n) / failure) / (2 k - 1))^2, unless with probability
    `failure`. No gap between singular values is assumed.

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
        right = np.column_stack([backward(left[:, k]) for k in range(left.shape[1])] or [np.empty((shape[1], 0))])
        right -= v @ (v.T @ right)
        right /= np.maximum(np.linalg.norm(right, axis=0), np.finfo(float).tiny)
        return Bound(flipped.lower, flipped.upper, flipped.steps, flipped.values, right)
    blocks = _blocks(*spans)
    left, right = spans[:2]
    dimension = shape[1] - right.shape[1]
    run = _Lanczos(forward, backward, left, right, rng, min(most_steps, max(dimension, 0)))
    target, theta = max(_STEPS, least_steps), 0.0
    while True:
        run.extend(target)
        theta = run.largest()
        factor = 1.0 if run.exhausted or run.steps >= dimension else _inflation(run.steps, dimension, failure)
        reached, upper = _two_by_two(*blocks, theta), _two_by_two(*blocks, theta * factor * (1.0 + _ROUNDING))
        if run.ended or enough(reached, upper):
            return Bound(max(*blocks, theta), upper, run.steps, *run.pairs(wanted))
        target = math.ceil(_GROWTH * run.steps)


def _inflation(steps: int, dimension: int, failure: float) -> float:
    """||d|| / theta_k at most, unless with probability `failure`."""
    if steps == 0:
        return math.inf
    error = (math.log(1.648 * math.sqrt(dimension) / failure) / (2 * steps - 1)) ** 2
    return 1.0 / math.sqrt(1.0 - error) if error < 1.0 else math.inf


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
    """Golub-Kahan-Lanczos on (I - U U^T) G (I - V V^T), with full reorthogonalisation of the right vectors."""

    def __init__(
        self, forward: Product, backward: Product, left: Array, right: Array, rng: np.random.Generator, most: int
    ) -> None:
        self._forward, self._backward, self._left, self._right, self.most = forward, backward, left, right, most
        self._basis = np.empty((max(1, min(most, 64)) + 1, right.shape[0]))
        self._alphas: list[float] = []
        self._betas: list[float] = []
        self._previous = np.zeros(left.shape[0])
        self.exhausted = most == 0
        start = self._outside(self._outside(rng.standard_normal((right.shape[0],))))
        size = float(np.linalg.norm(start))
        if size <= _NOTHING * math.sqrt(max(start.size, 1)):
            self.exhausted = True
        else:
            self._basis[0] = start / size

    @property
    def steps(self) -> int:
        return len(self._alphas)

    @property
    def ended(self) -> bool:
        return self.exhausted or self.steps >= self.most

    def extend(self, target: int) -> None:
        """Up to that many steps in all."""
        while not self.ended and self.steps < target:
            k = self.steps
            if k + 2 > len(self._basis):
                self._basis = np.concatenate((self._basis, np.empty_like(self._basis)))
            forth = self._forward(self._basis[k])
            forth = forth - self._left @ (self._left.T @ forth)
            if k:
                forth -= self._betas[-1] * self._previous
            alpha = float(np.linalg.norm(forth))
            scale = max([alpha, *self._alphas[:1], *self._betas[:1]])
            if alpha <= _NOTHING * scale or alpha == 0.0:
                self.exhausted = True
                return
            self._previous = forth / alpha
            back = self._outside(self._backward(self._previous))
            known = self._basis[: k + 1]
            for _ in range(2):  # twice is enough (Kahan)
                back -= (known @ back) @ known
            back = self._outside(back)
            beta = float(np.linalg.norm(back))
            self._alphas.append(alpha)
            self._betas.append(beta)
            if beta <= _NOTHING * scale:
                self.exhausted = True
                return
            self._basis[k + 1] = back / beta

    def largest(self) -> float:
        """theta_k, the largest singular value of the projection."""
        from scipy.linalg import eigh_tridiagonal

        if not self._alphas:
            return 0.0
        k = self.steps
        top = eigh_tridiagonal(*self._squared(), eigvals_only=True, select="i", select_range=(k - 1, k - 1))
        return math.sqrt(max(float(top[0]), 0.0))

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

    def _outside(self, vector: Array) -> Array:
        inside: Array = self._right @ (self._right.T @ vector)
        return vector - inside
