"""Compiled passes over the observed entries of left @ right^T, rows of both factors at hand.

Row i has the entries indptr[i] to indptr[i + 1] at the columns `cols`. Every kernel is written for one dtype of factors
and numbers per observation: float32 or float64.
"""

from __future__ import annotations

import numpy as np

from ...kernels._jit import entry

_SUMS_MAY_REORDER = {"reassoc", "contract", "nsz", "arcp"}

BOUNDED, SQUARED, HUBER = 0, 1, 2
"""The losses of `bsfw.MatrixCompletion`."""


@entry(fastmath=_SUMS_MAY_REORDER)
def entries(indptr, cols, left, right, out):
    """out = the observed entries of left @ right^T. 2 r operations each."""
    terms = left.shape[1]
    zero = left.dtype.type(0.0)
    for i in range(indptr.size - 1):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):  # unsigned: no test for negative indices
            j = np.uint64(cols[p])
            total = zero
            for k in range(terms):
                total += left[i, k] * right[j, k]
            out[p] = total


@entry(fastmath=_SUMS_MAY_REORDER)
def losses(z, y, weight, loss, delta, scale, slopes, curvatures):
    """scale * sum_p weight_p phi(z_p - y_p), in double precision, and phi', phi'' of each, weighted and scaled.

    `weight` may be empty, for ones; so may `slopes` and `curvatures`, if only the value is wanted.
    """
    total = 0.0
    for p in range(z.size):
        d: float = np.float64(z[p]) - np.float64(y[p])
        w = scale if weight.size == 0 else scale * np.float64(weight[p])
        if loss == SQUARED:
            value, slope, curvature = 0.5 * d * d, d, 1.0
        elif loss == HUBER:
            size = abs(d)
            inside = min(size, delta)
            value = inside * (size - 0.5 * inside)
            slope = min(max(d, -delta), delta)
            curvature = 1.0 if size <= delta else 0.0
        else:
            d = min(max(d, -1e75), 1e75)
            square = d * d
            below = 1.0 / (2.0 + square)
            value = square * below
            slope = 4.0 * d * below * below
            curvature = 4.0 * (2.0 - 3.0 * square) * below * below * below
        total += w * value
        if slopes.size:
            slopes[p] = w * slope
            curvatures[p] = w * curvature
    return total


@entry(fastmath=_SUMS_MAY_REORDER)
def adjoint(indptr, cols, data, left, right, out_left, out_right):
    """out_left = S right and out_right = S^T left, for the sparse matrix S of `data`. 4 r operations an entry."""
    terms = left.shape[1]
    out_right[:, :] = 0.0
    for i in range(indptr.size - 1):
        for k in range(terms):
            out_left[i, k] = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, value = np.uint64(cols[p]), data[p]
            for k in range(terms):
                out_left[i, k] += value * right[j, k]
                out_right[j, k] += value * left[i, k]


@entry(fastmath=_SUMS_MAY_REORDER)
def hessian(indptr, cols, slopes, curvatures, left, move, pairs, out_left, out_right):
    """The Hessian of the losses in both factors times the direction (move, right'); `pairs` has rows [right, right'].

    With s_p = <move_i, right_j> + <left_i, right'_j>, out_left_i = sum_p phi''_p s_p right_j + phi'_p right'_j and
    out_right_j = sum_p phi''_p s_p left_i + phi'_p move_i. 12 r operations an entry, in one pass. Two entries of a row
    at a time: what belongs to the row is read once for both.
    """
    terms = left.shape[1]
    zero, one = left.dtype.type(0.0), np.uint64(1)
    out_right[:, :] = 0.0
    for i in range(indptr.size - 1):
        for k in range(terms):
            out_left[i, k] = 0.0
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        for p in range(first, last, 2):
            q = min(p + one, last - one)  # the last entry of an odd row stands for both, the second time with nothing
            j, n = np.uint64(cols[p]), np.uint64(cols[q])
            s, t = zero, zero
            for k in range(terms):
                s += move[i, k] * pairs[j, k] + left[i, k] * pairs[j, terms + k]
                t += move[i, k] * pairs[n, k] + left[i, k] * pairs[n, terms + k]
            s *= curvatures[p]
            t = t * curvatures[q] if q > p else zero
            g, h = slopes[p], slopes[q] if q > p else zero
            for k in range(terms):
                out_left[i, k] += (s * pairs[j, k] + g * pairs[j, terms + k]) + (
                    t * pairs[n, k] + h * pairs[n, terms + k]
                )
            for k in range(terms):
                out_right[j, k] += s * left[i, k] + g * move[i, k]
            for k in range(terms):
                out_right[n, k] += t * left[i, k] + h * move[i, k]


@entry(fastmath=_SUMS_MAY_REORDER)
def spread(indptr, cols, share, table, out):
    """out_i += share_i * sum of the rows of `table` at the columns of row i: the implicit features times `table`."""
    terms = table.shape[1]
    for i in range(indptr.size - 1):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(cols[p])
            for k in range(terms):
                out[i, k] += share[i] * table[j, k]


@entry(fastmath=_SUMS_MAY_REORDER)
def collect(indptr, cols, share, table, out):
    """out_j += sum of share_i * table_i over the rows i that have column j: the transpose of `spread`."""
    terms = out.shape[1]
    for i in range(indptr.size - 1):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j = np.uint64(cols[p])
            for k in range(terms):
                out[j, k] += share[i] * table[i, k]
