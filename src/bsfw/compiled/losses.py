"""The scalar losses by a code: a compiled function passed as an argument would defeat the cache between processes."""

from __future__ import annotations

import math

from ._jit import jit

LOGISTIC, LEAST_SQUARES, HUBER, TUKEY, SIGMOID_SQUARED = range(5)


@jit(forceinline=True)
def sigmoid(z):
    """1 / (1 + exp(-z)) without overflow: exp of a negative number only."""
    if z >= 0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@jit()
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


@jit()
def derivative(code, z, y, parameter):
    """phi'(z, y)."""
    if code == LOGISTIC:
        return -y * sigmoid(-y * z)
    if code == SIGMOID_SQUARED:
        s = sigmoid(z)
        return (s - y) * s * (1.0 - s)
    r = z - y
    if code == LEAST_SQUARES:
        return r
    if code == HUBER:
        return min(max(r, -parameter), parameter)
    if abs(r) >= parameter:
        return 0.0
    s = 1.0 - (r / parameter) ** 2
    return r * s * s
