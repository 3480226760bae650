"""The compiled parts of a Newton step over an active set: its Gram matrix, and coordinate descent on its model.

The model at x is q(x') = <g, x' - x> + 1/2 |x' - x|^2_H, to be minimised over {mass(x') <= radius}, or = radius, where
mass(x') = sum_j w_j |x'_j|. Coordinate descent minimises q plus an augmented Lagrangian of the mass, exactly in each
coordinate; the multiplier is updated after each epoch.
"""

from __future__ import annotations

import numpy as np

from ...kernels import losses
from ...kernels._jit import jit

SIGNED, EQUAL = 1, 2
"""Bits of a region: coordinates of either sign (the l1 ball), mass equal to the radius (the simplex)."""
MASS_ERROR = 0.02
"""Error of the mass, relative to the length of the step, with which coordinate descent is content."""
TILE = 64
"""Side of the squares by which the Gram matrix is mirrored, so that both stay in the cache."""
SHORT_ROW = np.uint64(6)
"""Entries of a row from which on two products at once are faster."""
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


@jit(error_model="numpy")
def slopes_of(loss, z, y, weights, out):
    """out_i = w_i phi'(z_i, y_i); no weights if there are none."""
    for i in range(np.uint64(z.size)):
        out[i] = z[i]
    losses.slopes(loss, out, y)
    for i in range(np.uint64(weights.size)):
        out[i] *= weights[i]


@jit()
def rows_times(data, indices, indptr, x, out):
    """out = B x for B in CSR form."""
    for i in range(np.uint64(out.size)):
        total = 0.0
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            total += data[p] * x[np.uint64(indices[p])]
        out[i] = total


@jit()
def gram_of_rows(data, indices, indptr, curvatures, gram):
    """gram = B^T diag(curvatures) B for B in CSR form. A row of r entries costs r^2 / 2, whatever the width of B."""
    gram[:] = 0.0
    for i in range(np.uint64(curvatures.size)):
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + ONE])
        p = first
        while last - first >= SHORT_ROW and p + ONE < last:  # two at once: half as many short loops
            value, value_below = curvatures[i] * data[p], curvatures[i] * data[p + ONE]
            row, below = gram[np.uint64(indices[p])], gram[np.uint64(indices[p + ONE])]
            for q in range(first, p + TWO):
                row[np.uint64(indices[q])] += value * data[q]
                below[np.uint64(indices[q])] += value_below * data[q]
            p += TWO
        for rest in range(p, last):
            value, row = curvatures[i] * data[rest], gram[np.uint64(indices[rest])]
            for q in range(first, rest + ONE):  # indices are sorted: these are in the lower triangle
                row[np.uint64(indices[q])] += value * data[q]
    mirror(gram)


@jit()
def mirror(gram):
    """The upper triangle as the lower one."""
    for top in range(0, gram.shape[0], TILE):
        for left in range(0, top + 1, TILE):
            for j in range(top, min(top + TILE, gram.shape[0])):
                for k in range(left, min(left + TILE, j)):
                    gram[k, j] = gram[j, k]


@jit()
def class_times(data, indices, indptr, classes, x, out):
    """out[i, c] = sum over the atoms of class c of their entries in row i of B, in CSR form, times x."""
    for i in range(np.uint64(out.shape[0])):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            slot = np.uint64(indices[p])
            out[i, np.uint64(classes[slot])] += data[p] * x[slot]


@jit()
def class_adjoint(data, indices, indptr, classes, slopes, out):
    """out += B^T slopes, (m, c), where an atom meets the slopes of its class only."""
    for i in range(np.uint64(slopes.shape[0])):
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + ONE])):
            slot = np.uint64(indices[p])
            out[slot] += data[p] * slopes[i, np.uint64(classes[slot])]


@jit()
def class_gram(data, indices, indptr, classes, p, weights, gram):
    """gram += sum_i weights_i B_i^T (diag p_i - p_i p_i^T) B_i. A row of r entries costs r^2 / 2."""
    for i in range(np.uint64(weights.size)):
        first, last = np.uint64(indptr[i]), np.uint64(indptr[i + ONE])
        for a in range(first, last):
            slot = np.uint64(indices[a])
            own, value = classes[slot], weights[i] * data[a] * p[i, np.uint64(classes[slot])]
            row = gram[slot]
            for b in range(first, a + ONE):
                other = np.uint64(indices[b])
                share = p[i, np.uint64(classes[other])]
                row[other] += value * data[b] * ((1.0 - share) if classes[other] == own else -share)
    mirror(gram)


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
def distance(x, start, weights):
    """sum_j weights_j |x_j - start_j|."""
    total = 0.0
    for j in range(x.size):
        total += weights[j] * abs(x[j] - start[j])
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
        if whole and moved <= precision * total and error <= MASS_ERROR * distance(x, start, weights):
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
                for k in range(first, last):
                    residual[np.uint64(indices[k])] += step * data[k]
        changed = next_multiplier(region, multiplier, penalty, mass - radius)
        error, multiplier = abs(changed - multiplier) / penalty, changed
        total += moved
        if whole and moved <= precision * total and error <= MASS_ERROR * distance(x, start, weights):
            break
    return multiplier


@jit(fastmath={"reassoc", "nsz", "contract"})
def substitute(lower, right):
    """right = (L L^T)^-1 right, with L in column order."""
    size = right.size
    for j in range(size):
        right[j] /= lower[j, j]
        for k in range(np.uint64(j + 1), np.uint64(size)):
            right[k] -= right[j] * lower[k, np.uint64(j)]
    for j in range(size - 1, -1, -1):
        total = right[j]
        for k in range(np.uint64(j + 1), np.uint64(size)):
            total -= lower[k, np.uint64(j)] * right[k]
        right[j] = total / lower[j, j]


@jit()
def face_of(gram, support, ridge):
    """The Gram matrix on the support, with a ridge relative to its trace."""
    face, trace = np.empty((support.size, support.size)), 0.0
    for a in range(support.size):
        row = gram[support[a]]
        for b in range(support.size):
            face[a, b] = row[support[b]]
        trace += face[a, a]
    for a in range(support.size):
        face[a, a] += ridge * trace
    return face


@jit(fastmath={"reassoc", "nsz", "contract"})
def step_on_face(region, gram, lower, support, slopes, x, weights, radius, fixed):
    """Move x to the minimum of the model on its face (support, signs, and the mass if it is `fixed` or too large), or
    to where the first coordinate reaches zero on the way. x and the slopes of the model at x are changed in place.

    `lower` is the Cholesky factor of the face, in column order. Returns the multiplier and the length of the step, 1.0
    if the minimum was reached.
    """
    size = support.size
    step, push = np.empty(size), np.empty(size)
    for a in range(size):
        j = support[a]
        step[a] = -slopes[j]
        push[a] = weights[j] if x[j] > 0.0 else -weights[j]
    substitute(lower, step)
    substitute(lower, push)
    multiplier, lack, grown, steep = 0.0, radius, 0.0, 0.0
    for a in range(size):
        j = support[a]
        normal = weights[j] if x[j] > 0.0 else -weights[j]
        lack -= normal * x[j]
        grown += normal * step[a]
        steep += normal * push[a]
    if fixed or grown > lack:
        multiplier = (grown - lack) / steep
        if multiplier < 0.0 and region & EQUAL == 0:
            multiplier = 0.0  # the mass wants to shrink: the face is not binding
    length = 1.0
    for a in range(size):
        step[a] -= multiplier * push[a]
        if not np.isfinite(step[a]):
            return multiplier, 1.0
        old = x[support[a]]
        if step[a] * old < 0.0:
            length = min(length, -old / step[a])
    for a in range(size):
        j = support[a]
        old = x[j]
        ends = step[a] * old < 0.0 and -old / step[a] <= length
        x[j] = 0.0 if ends else old + length * step[a]
        if length < 1.0:
            row, change = gram[j], x[j] - old
            for k in range(np.uint64(x.size)):
                slopes[k] += change * row[k]
    return multiplier, length
