"""Compiled passes over the observed entries of a matrix, and over sparse plus low-rank matrices.

The sparse part is given by rows: row i has the entries indptr[i] to indptr[i + 1] at the columns `cols`. The low-rank
part is left @ diag(coefficients) @ right^T, with the factors row by row: what a row needs lies together.
"""

from __future__ import annotations

import numpy as np

from ...kernels._jit import jit

_SUMS_MAY_REORDER = {"reassoc", "contract", "nsz", "arcp"}


@jit(forceinline=True, fastmath=False)  # said, for else the caller decides
def row_dot(indptr, cols, data, i, vector):
    """Row i of S times a vector, as four sums over the quarters of the row.

    Four, so that one addition need not wait for the last; far apart and in fixed order, for LLVM would turn neighbours
    into gathers, which are three times slower here.
    """
    one = two = three = four = 0.0
    first, last = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
    quarter = (last - first) >> np.uint64(2)
    half = quarter + quarter
    for p in range(first, first + quarter):
        one += data[p] * vector[np.uint64(cols[p])]
        two += data[p + quarter] * vector[np.uint64(cols[p + quarter])]
        three += data[p + half] * vector[np.uint64(cols[p + half])]
        four += data[p + half + quarter] * vector[np.uint64(cols[p + half + quarter])]
    for p in range(first + half + half, last):
        one += data[p] * vector[np.uint64(cols[p])]
    return (one + two) + (three + four)


@jit(fastmath=_SUMS_MAY_REORDER)
def add_entries(indptr, cols, left, coefficients, right, scale, out):
    """out += scale * (left @ diag(coefficients) @ right^T at the observed entries). O(observed * terms)."""
    terms = coefficients.size
    row = np.empty(terms)
    for i in range(indptr.size - 1):
        for k in range(terms):
            row[k] = scale * coefficients[k] * left[i, k]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):  # unsigned: no test for negative indices
            j = np.uint64(cols[p])
            total = 0.0
            for k in range(terms):
                total += row[k] * right[j, k]
            out[p] += total


@jit(fastmath=_SUMS_MAY_REORDER)
def bilinear(indptr, cols, data, left, right):
    """left^T S right for the sparse matrix S. O(observed)."""
    total = 0.0
    for i in range(indptr.size - 1):
        total += left[i] * row_dot(indptr, cols, data, i, right)
    return total


@jit(fastmath=_SUMS_MAY_REORDER)
def product(indptr, cols, data, vector, out):
    """out = S vector."""
    for i in range(indptr.size - 1):
        out[i] = row_dot(indptr, cols, data, i, vector)


@jit(fastmath=_SUMS_MAY_REORDER)
def transposed_product(indptr, cols, data, vector, out):
    """out = S^T vector."""
    out[:] = 0.0
    for i in range(indptr.size - 1):
        value = vector[i]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[np.uint64(cols[p])] += data[p] * value


@jit(fastmath=_SUMS_MAY_REORDER)
def forth_and_back(indptr, cols, data, left, coefficients, right, vector, here, beta, previous, forth, back, there):
    """forth = M vector - beta previous and back = M^T forth, for M = S + low rank, given here = right^T vector.

    While a row of S and of `left` is at hand its entry of `forth` is known, and so is what the row adds to `back`;
    while a row of `right` is at hand its entry of `back` is, and so is what it adds to there = right^T back. So
    everything is read once.
    """
    terms, columns = coefficients.size, vector.size
    weighted = np.empty(terms, dtype=left.dtype)
    for k in range(terms):
        weighted[k] = coefficients[k] * here[k]
        there[k] = 0.0
    for j in range(columns):
        back[j] = 0.0
    for i in range(indptr.size - 1):
        low = left.dtype.type(0.0)
        for k in range(terms):
            low += left[i, k] * weighted[k]
        total = row_dot(indptr, cols, data, i, vector) + low - beta * previous[i]
        forth[i] = total
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            back[np.uint64(cols[p])] += data[p] * total
        value = left.dtype.type(total)
        for k in range(terms):
            there[k] += left[i, k] * value
    for k in range(terms):
        weighted[k] = coefficients[k] * there[k]
        there[k] = 0.0
    if terms:
        for j in range(columns):
            low = left.dtype.type(0.0)
            for k in range(terms):
                low += right[j, k] * weighted[k]
            back[j] += low
            value = left.dtype.type(back[j])
            for k in range(terms):
                there[k] += right[j, k] * value


@jit(fastmath=_SUMS_MAY_REORDER)
def bidiagonalise(
    indptr, cols, data, left, coefficients, right, basis, images, alphas, betas, previous, first, last, nothing
):
    """Lanczos steps `first` to `last` - 1 on M = S + low rank; returns how many were made: `last`, unless M is
    exhausted.

    With k steps, M V_k = U_k B_k and M^T U_k = V_k B_k^T + beta_k v_{k+1} e_k^T, where B_k is upper bidiagonal. Only
    the right vectors are kept and reorthogonalised (Simon and Zha, 2000). `basis` holds them row by row, `images` their
    products with right^T, which follow the same recurrence, and `previous` the last left vector.
    """
    rows, columns, terms = indptr.size - 1, basis.shape[1], coefficients.size
    forth, back, there = np.empty(rows), np.empty(columns), np.zeros(terms, dtype=left.dtype)
    for step in range(first, last):
        beta = betas[step - 1] if step else 0.0
        forth_and_back(
            indptr, cols, data, left, coefficients, right, basis[step], images[step], beta, previous, forth, back, there
        )
        alpha = 0.0
        for i in range(rows):
            alpha += forth[i] * forth[i]
        alpha = np.sqrt(alpha)
        size = alpha
        for k in range(step):
            size = max(size, alphas[k], betas[k])
        alphas[step] = 0.0
        betas[step] = 0.0
        if alpha <= nothing * size:
            return step
        alphas[step] = alpha
        for i in range(rows):
            previous[i] = forth[i] / alpha
        whole = 0.0
        for j in range(columns):
            back[j] /= alpha
            whole += back[j] * back[j]
        for k in range(terms):
            there[k] /= alpha
        for _ in range(2):  # twice is enough (Kahan)
            for k in range(step + 1):
                overlap = 0.0
                for j in range(columns):
                    overlap += basis[k, j] * back[j]
                for j in range(columns):
                    back[j] -= overlap * basis[k, j]
                for h in range(terms):
                    there[h] -= overlap * images[k, h]
        beta = 0.0
        for j in range(columns):
            beta += back[j] * back[j]
        if beta <= 0.01 * whole:  # much has been taken away: form the image anew, without the cancellation
            there[:] = 0.0
            for j in range(columns):
                value = left.dtype.type(back[j])
                for k in range(terms):
                    there[k] += right[j, k] * value
        beta = np.sqrt(beta)
        if beta <= nothing * size:
            return step + 1
        betas[step] = beta
        for j in range(columns):
            basis[step + 1, j] = back[j] / beta
        for k in range(terms):
            images[step + 1, k] = there[k] / beta
    return last
