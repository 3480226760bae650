"""The scalar losses by a code: a compiled function passed as an argument would defeat the cache between processes."""

from __future__ import annotations

import math

import numpy as np

from ._jit import bits_of, float_of, kernel

LOGISTIC, LEAST_SQUARES, HUBER, TUKEY, SIGMOID_SQUARED = range(5)

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
    """exp(v) for v <= 0 to about the last bit. math.exp is a call for each number; this one a loop takes many at once.

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


@kernel()
def loss(code, z, y, parameter):
    """phi(z, y); the formulas are those of `bsfw.objectives.losses`."""
    if code == LOGISTIC:
        t = y * z
        return math.log1p(math.exp(-t)) if t > 0 else math.log1p(math.exp(t)) - t
    if code == SIGMOID_SQUARED:
        r = sigmoid(z) - y
        return 0.5 * r * r
    r = z - y
    if code == LEAST_SQUARES:
        return 0.5 * r * r
    if code == HUBER:
        a = abs(r)
        return 0.5 * r * r if a <= parameter else parameter * (a - 0.5 * parameter)
    if abs(r) >= parameter:
        return parameter * parameter / 6.0
    s = 1.0 - (r / parameter) ** 2
    return parameter * parameter / 6.0 * (1.0 - s * s * s)


@kernel(error_model="numpy")
def derivative(code, z, y, parameter):
    """phi'(z, y)."""
    if code == LOGISTIC:
        return -y * sigmoid(-y * z)
    if code == SIGMOID_SQUARED:
        s = sigmoid(z)
        return (s - y) * s * sigmoid(-z)  # which has more digits than 1 - s
    r = z - y
    if code == LEAST_SQUARES:
        return r
    if code == HUBER:
        return min(max(r, -parameter), parameter)
    if abs(r) >= parameter:
        return 0.0
    s = 1.0 - (r / parameter) ** 2
    return r * s * s


@kernel(error_model="numpy")
def derivatives(code, margins, labels, parameter):
    """margins[k] = phi'(margins[k], labels[k]) for all k, fastest for a multiple of 16 of them."""
    if code == LOGISTIC:  # a loop of its own, in which no other loss keeps the machine from taking many at once
        for k in range(np.uint64(margins.size)):
            margins[k] = -labels[k] * sigmoid(-labels[k] * margins[k])
    else:
        for k in range(np.uint64(margins.size)):
            margins[k] = derivative(code, margins[k], labels[k], parameter)
