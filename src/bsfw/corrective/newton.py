"""The compiled parts of a Newton step over an active set: its Gram matrix, and coordinate descent on its model.

The model at x is q(x') = <g, x' - x> + 1/2 |x' - x|^2_H, to be minimised over {mass(x') <= radius}, or = radius, where
mass(x') = sum_j w_j |x'_j|. Coordinate descent minimises q plus an augmented Lagrangian of the mass, exactly in each
coordinate; the multiplier is updated after each epoch.
"""

from __future__ import annotations

import numpy as np

from ..compiled._jit import jit

SIGNED, EQUAL = 1, 2
"""Bits of a region: coordinates of either sign (the l1 ball), mass equal to the radius (the simplex)."""
MASS_ERROR = 0.02
"""Error of the mass, relative to the length of the step, with which coordinate descent is content."""
TILE = 64
"""Side of the squares by which the Gram matrix is mirrored, so that both stay in the cache."""
ONE, TWO = np.uint64(1), np.uint64(2)


@jit()
def pick_columns(data, indices, indptr, slots, entries, places, starts):
    """The columns j with slots[j] > 0 of a CSR matrix, as rows of a narrower one, at places slots[j] - 1."""
    size = np.uint64(0)
    for i in range(np.uint64(indptr.size - 1)):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            slot = slots[np.uint64(indices[p])]
            entries[size] = data[p]  # always written, kept if the size grows: a branch would often be guessed wrong
            places[size] = slot - 1
            size += np.uint64(slot > 0)
        starts[i + ONE] = size
    return size


@jit()
def rows_times(data, indices, indptr, x, out):
    """out = B x for B in CSR form."""
    for i in range(np.uint64(out.size)):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            total += data[p] * x[np.uint64(indices[p])]
        out[i] = total


@jit()
def rows_adjoint(data, indices, indptr, coefficients, factor, out):
    """out = factor B^T coefficients for B in CSR form."""
    out[:] = 0.0
    for i in range(np.uint64(coefficients.size)):
        coefficient = factor * coefficients[i]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            out[np.uint64(indices[p])] += coefficient * data[p]


@jit()
def gram_of_rows(data, indices, indptr, curvatures, gram):
    """gram = B^T diag(curvatures) B for B in CSR form. A row of r entries costs r^2 / 2, whatever the width of B."""
    gram[:] = 0.0
    for i in range(np.uint64(curvatures.size)):
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + ONE])
        for p in range(first, last):
            row, value = np.uint64(indices[p]), curvatures[i] * data[p]
            for q in range(first, p + ONE):  # indices are sorted: these are in the lower triangle
                gram[row, np.uint64(indices[q])] += value * data[q]
    for top in range(0, gram.shape[0], TILE):
        for left in range(0, top + 1, TILE):
            for j in range(top, min(top + TILE, gram.shape[0])):
                for k in range(left, min(left + TILE, j)):
                    gram[k, j] = gram[j, k]


@jit(forceinline=True)
def best_value(region, h, old, slope, weight, others, radius, multiplier, penalty):
    """Where the model along one coordinate, with the augmented Lagrangian of the mass, is smallest.

    `slope` is the derivative of the model at `old`, `others` the mass of the other coordinates.
    """
    pull = h * old - slope
    push = weight * (multiplier + penalty * (others - radius))
    steep = h + penalty * weight * weight
    if region & EQUAL:
        return max(0.0, (pull - push) / steep)
    size = abs(pull) if region & SIGNED else pull
    if size <= 0.0 or size <= push:
        return 0.0
    free = 0.0
    if push < 0.0 and h > 0.0 and multiplier + penalty * (others + weight * size / h - radius) <= 0.0:
        free = size / h  # the mass stays below the radius: no force
    else:
        free = (size - push) / steep
    return free if pull > 0.0 else -free


@jit(forceinline=True)
def next_multiplier(region, multiplier, penalty, excess):
    changed = multiplier + penalty * excess
    return changed if region & EQUAL else max(0.0, changed)


@jit()
def mass_of(x, weights):
    total = 0.0
    for j in range(x.size):
        total += weights[j] * abs(x[j])
    return total


@jit(fastmath={"reassoc", "nsz", "contract"})
def descend_gram(region, gram, slopes, x, start, weights, radius, multiplier, penalty, precision, epochs):
    """Coordinate descent with the Gram matrix; x and the slopes of the model at x are changed in place.

    An epoch over all coordinates is followed by some over the support. Returns the multiplier.
    """
    total = 0.0
    for epoch in range(epochs):
        mass, moved = mass_of(x, weights), 0.0
        whole = epoch % 4 == 0
        for j in range(np.uint64(x.size)):
            old = x[j]
            if old == 0.0 and not whole:
                continue
            new = best_value(
                region, gram[j, j], old, slopes[j], weights[j], mass - weights[j] * abs(old), radius, multiplier,
                penalty,
            )  # fmt: skip
            if new != old:
                step = new - old
                x[j] = new
                mass += weights[j] * (abs(new) - abs(old))
                moved += (gram[j, j] + penalty * weights[j] * weights[j]) * step * step
                row = gram[j]
                for k in range(np.uint64(x.size)):
                    slopes[k] += step * row[k]
        changed = next_multiplier(region, multiplier, penalty, mass - radius)
        error, multiplier = abs(changed - multiplier) / penalty, changed
        total += moved
        if whole and moved <= precision * total:
            length = 0.0
            for j in range(x.size):
                length += weights[j] * abs(x[j] - start[j])
            if error <= MASS_ERROR * length:
                break
    return multiplier


@jit(fastmath={"reassoc", "nsz", "contract"})
def descend_residual(
    region, data, indices, indptr, diagonal, slopes, residual, x, start, weights, radius, multiplier, penalty,
    precision, epochs,
):  # fmt: skip
    """The same without the Gram matrix: B^T B with B in CSC form, by the residual B (x - start), kept up to date."""
    total = 0.0
    for epoch in range(epochs):
        mass, moved = mass_of(x, weights), 0.0
        whole = epoch % 4 == 0
        for j in range(np.uint64(x.size)):
            old = x[j]
            if old == 0.0 and not whole:
                continue
            first, last = np.uint64(indptr[j]), np.uint64(indptr[j + ONE])
            even = odd = 0.0  # two sums, since one alone waits for each addition
            p = first
            while p + ONE < last:
                even += data[p] * residual[np.uint64(indices[p])]
                odd += data[p + ONE] * residual[np.uint64(indices[p + ONE])]
                p += TWO
            if p < last:
                even += data[p] * residual[np.uint64(indices[p])]
            new = best_value(
                region, diagonal[j], old, slopes[j] + even + odd, weights[j], mass - weights[j] * abs(old), radius,
                multiplier, penalty,
            )  # fmt: skip
            if new != old:
                step = new - old
                x[j] = new
                mass += weights[j] * (abs(new) - abs(old))
                moved += (diagonal[j] + penalty * weights[j] * weights[j]) * step * step
                for p in range(first, last):
                    residual[np.uint64(indices[p])] += step * data[p]
        changed = next_multiplier(region, multiplier, penalty, mass - radius)
        error, multiplier = abs(changed - multiplier) / penalty, changed
        total += moved
        if whole and moved <= precision * total:
            length = 0.0
            for j in range(x.size):
                length += weights[j] * abs(x[j] - start[j])
            if error <= MASS_ERROR * length:
                break
    return multiplier
