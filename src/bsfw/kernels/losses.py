"""Scalar losses, picked by type: each is a named tuple with its parameters, and `phi` and `slope` are names only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ._jit import INLINED, bits_of, float_of, kernel, uncached


class Logistic(NamedTuple):
    """log(1 + exp(-y z))."""


class LeastSquares(NamedTuple):
    """(z - y)^2 / 2."""


class Huber(NamedTuple):
    """r^2 / 2 for |r| <= delta, linear beyond, r = z - y."""

    delta: float


class Tukey(NamedTuple):
    """c^2/6 (1 - (1 - (r/c)^2)^3) for |r| <= c, constant beyond."""

    c: float


class SigmoidSquared(NamedTuple):
    """(sigma(z) - y)^2 / 2."""


class ProbitSquared(NamedTuple):
    """(Phi(z) - y)^2 / 2."""


class LeakySquared(NamedTuple):
    """(leak z + (1 - leak) log(1 + exp(z)) - y)^2 / 2."""

    leak: float


class Own(NamedTuple):
    """A user's: two functions of z and y, compiled by Numba."""

    phi: Any
    phi_prime: Any


ROOT_HALF, DENSITY = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)
"""1 / sqrt 2, and the density of the normal distribution at zero."""


SMALLEST = -708.0
"""exp of less would have fewer digits than others; what it stands for here is zero to rounding long before."""
PER_LN_2, LN_2, LN_2_REST = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""1 / ln 2, and ln 2 in two parts: multiples of the first are exact."""
ROUNDED = 6755399441055744.0
"""1.5 * 2^52: a number of moderate size plus this has the nearest integer to it in its last bits."""
BIAS, FRACTION_BITS = np.int64(1023), np.int64(52)
"""Of the exponent of a float."""
C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (1.0 / math.factorial(k) for k in range(3, 14))
"""Of the Taylor series, with which exp(r) is exact to rounding for |r| <= ln(2) / 2."""


@kernel(forceinline=True, fastmath={"contract"})
def exp_of_negative(v):
    """exp(v) for v <= 0 to about the last bit. math.exp is a call for each number; a loop vectorises this one.

    exp(v) = 2^k exp(r) with k the integer nearest to v / ln 2.
    """
    v = SMALLEST if v < SMALLEST else v  # NaN stays what it is
    shifted = v * PER_LN_2 + ROUNDED
    k = shifted - ROUNDED
    r = (v - k * LN_2) - k * LN_2_REST
    p = ((((C13 * r + C12) * r + C11) * r + C10) * r + C9) * r + C8
    p = (((((p * r + C7) * r + C6) * r + C5) * r + C4) * r + C3) * r + 0.5
    return (p * r * r + r + 1.0) * float_of((bits_of(shifted) + BIAS) << FRACTION_BITS)


@kernel(forceinline=True, error_model="numpy")
def sigmoid(z):
    """1 / (1 + exp(-z)) without overflow: exp of a negative number only."""
    e = exp_of_negative(-abs(z))
    return (1.0 if z >= 0 else e) / (1.0 + e)


@kernel(forceinline=True)
def logistic(t):
    """log(1 + exp(-t)) without overflow."""
    return math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t)) - t


@kernel(forceinline=True, error_model="numpy")
def biweight(r, c):
    """1 - (r/c)^2 inside, 0 outside."""
    return 1.0 - (r / c) ** 2 if abs(r) < c else 0.0


@kernel(forceinline=True)
def normal(z):
    """The distribution function of the normal distribution, with all digits in its lower tail."""
    return 0.5 * math.erfc(-z * ROOT_HALF)


@kernel(forceinline=True)
def leaky(z, leak):
    """A smooth leaky ReLU."""
    return leak * z + (1.0 - leak) * logistic(-z)


VALUES: dict[type, Callable[..., Any]] = {
    Logistic: lambda loss, z, y: logistic(y * z),
    LeastSquares: lambda loss, z, y: 0.5 * (z - y) * (z - y),
    Huber: lambda loss, z, y: min(abs(z - y), loss.delta) * (abs(z - y) - 0.5 * min(abs(z - y), loss.delta)),
    Tukey: lambda loss, z, y: loss.c * loss.c / 6.0 * (1.0 - biweight(z - y, loss.c) ** 3),
    SigmoidSquared: lambda loss, z, y: 0.5 * (sigmoid(z) - y) ** 2,
    ProbitSquared: lambda loss, z, y: 0.5 * (normal(z) - y) ** 2,
    LeakySquared: lambda loss, z, y: 0.5 * (leaky(z, loss.leak) - y) ** 2,
    Own: lambda loss, z, y: loss.phi(z, y),
}
_OPTIONS: Any = {**INLINED, "error_model": "numpy"}
SLOPES: dict[type, Callable[..., Any]] = {
    Logistic: lambda loss, z, y: -y * sigmoid(-y * z),
    LeastSquares: lambda loss, z, y: z - y,
    Huber: lambda loss, z, y: min(max(z - y, -loss.delta), loss.delta),
    Tukey: lambda loss, z, y: (z - y) * biweight(z - y, loss.c) ** 2,
    SigmoidSquared: lambda loss, z, y: (sigmoid(z) - y) * sigmoid(z) * sigmoid(-z),  # more digits than 1 - sigmoid(z)
    ProbitSquared: lambda loss, z, y: (normal(z) - y) * DENSITY * math.exp(-0.5 * z * z),
    LeakySquared: lambda loss, z, y: (leaky(z, loss.leak) - y) * (loss.leak + (1.0 - loss.leak) * sigmoid(z)),
    Own: lambda loss, z, y: loss.phi_prime(z, y),
}


def phi(loss: Any, z: Any, y: Any) -> Any:
    """phi(z, y); the formulas are those of `bsfw.objectives.losses` and `links`."""


@overload(phi, jit_options=_OPTIONS)
def _phi(loss, z, y) -> Callable[..., Any]:
    return VALUES[loss.instance_class]


def slope(loss: Any, z: Any, y: Any) -> Any:
    """phi'(z, y), the derivative in z."""


@overload(slope, jit_options=_OPTIONS)
def _slope(loss, z, y) -> Callable[..., Any]:
    return SLOPES[loss.instance_class]


@kernel(error_model="numpy")
def slopes(loss, margins, labels):
    """margins[k] = phi'(margins[k], labels[k]) for all k."""
    for k in range(np.uint64(margins.size)):
        margins[k] = slope(loss, margins[k], labels[k])


def for_loss(function: Any, loss: Any) -> Any:
    """`function`, or for a user's loss the same without a cache: no other process would recognise its functions."""
    return uncached(function) if isinstance(loss, Own) else function
