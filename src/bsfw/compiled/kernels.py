"""Iterations of Algorithm BSFW on a linear model over a set with one-hot vertices, without Python in between.

`Model`, `Rule` and `Work` say what is fixed and what changes. The phases (`layout`) are those of the generic loop: the
estimate, Boost, the move; `run` goes through many of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import losses
from ._jit import jit
from .layout import (
    ADVANCE,
    BOOST,
    BOOSTED,
    BOOSTED_STEPS,
    BUDGET,
    COORDINATE_GRADIENTS,
    COUNT,
    CROWDED,
    DISTANCE,
    DONE,
    ESTIMATE,
    ETA,
    FOLLOW,
    FULL,
    FULL_PASS,
    FUNCTION_VALUES,
    GAMMA,
    GAP,
    GAP_REACHED,
    GROW,
    HEAVY_BALL,
    ITERATION,
    JAGUAR,
    LAMBDA,
    LENGTH,
    LMO_CALLS,
    LOOK,
    LSVRG,
    MARGIN_SCALE,
    MARGINS_AT,
    MOVE,
    NORM,
    NOT_FINITE,
    PASS_AT_PREVIOUS,
    PASSED,
    PHASE,
    RUN,
    SAG,
    SAGA,
    SAMPLE_GRADIENTS,
    SARAH,
    SCALE,
    SEGA,
    VALUE,
    VERTEX,
    VERTEX_SLOT,
    ZOJA,
)
from .onehot import boost
from .rows import LAST_BIT, WORD, add_rows, batch_changes, column, held_in, member

TINY = 1e-100
"""A scale below this is multiplied into its array."""
FORESEEN = 12
"""With fewer than one entry in so many in the support, a branch that skips the others is foreseen often enough."""
LOOK_AGAIN = 64
"""Iterations after which a support found crowded is looked at again."""


class Model(NamedTuple):
    """The data and the loss: rows in CSR or dense form, columns in CSC or dense form, or None where nobody asks."""

    data: Any
    indices: Any
    indptr: Any
    columns: Any
    column_indices: Any
    column_indptr: Any
    y: Any
    sample_weight: Any
    loss: int
    parameter: float
    gram: Any


class Rule(NamedTuple):
    """Set, estimator and step."""

    kind: int
    radius: float
    weights: Any
    max_rounds: int
    min_gain: float
    zero: float
    estimator: int
    size: int
    population: int
    probability: float
    difference: float
    at_current: bool
    zeros: bool
    refresh: int
    image: bool
    may_follow: bool
    folds: bool
    exact: bool
    searches: bool


class Work(NamedTuple):
    """Everything that changes: what a checkpoint saves, but for the scratch arrays at the end.

    `everyone` has a number per sample: the table of SAG and SAGA, the slopes at L-SVRG's reference point, scratch for
    the full gradients of the others.
    """

    whole: Any
    real: Any
    g: Any
    slots: Any
    coordinates: Any
    x: Any
    previous: Any
    q: Any
    everyone: Any
    margins: Any
    batch: Any
    change: Any
    base: Any
    image: Any
    held: Any
    residual: Any
    blocks: Any
    marked: Any
    bits: Any
    pair: Any
    log: Any


@jit()
def draw(rng, population, marked, batch):
    """Floyd's sample without replacement, the same draws as `bsfw._sampling.draw`."""
    size = batch.size
    if size == population:
        for k in range(size):
            batch[k] = k
        return
    for k in range(size):
        last = population - size + k
        chosen = np.uint64(rng.random() * (last + 1))
        if held_in(marked, chosen):
            chosen = np.uint64(last)
        marked[chosen >> WORD] |= np.uint64(1) << (chosen & LAST_BIT)
        batch[k] = chosen
    for k in range(size):
        marked[np.uint64(batch[k]) >> WORD] = 0


@jit()
def mark_support(work):
    """Enter the coordinates that are new in the compact arrays into the set `bits`; its last word counts them."""
    bits, last = work.bits, work.bits.size - 1
    for k in range(bits[last] + np.uint64(1), work.whole[COUNT] + 1):
        j = np.uint64(work.coordinates[k])
        bits[j >> WORD] |= np.uint64(1) << (j & LAST_BIT)
    bits[last] = work.whole[COUNT]


@jit()
def add_batch(model, work, other, table, unit, store, factor, g):
    """`batch_changes` of this model at x: the slopes of the batch, their changes, and g."""
    whole, bits = work.whole, work.bits
    looks = whole[CROWDED] == 0 or whole[ITERATION] % LOOK_AGAIN == 0
    if bits.size > 0 and looks:
        mark_support(work)
    else:
        bits = bits[:0]
    hits = batch_changes(
        model.data,
        model.indices,
        model.indptr,
        model.y,
        model.sample_weight,
        model.loss,
        model.parameter,
        work.batch,
        work.slots,
        work.coordinates,
        whole[COUNT],
        work.x,
        bits,
        other,
        table,
        unit,
        store,
        work.margins,
        work.real[MARGIN_SCALE],
        work.everyone if other.size > 0 else work.everyone[:0],
        factor,
        work.change,
        g,
    )
    if bits.size > 0:
        whole[CROWDED] = hits * model.y.size * FORESEEN > work.batch.size * model.data.size


@jit()
def settle(g, base, share):
    """base += share (g - base) and g = base, in one pass over n: from m^{t-1} back to what m^t starts from."""
    for j in range(g.size):
        base[j] += share * (g[j] - base[j])
        g[j] = base[j]


@jit()
def combine_table(model, work, factor):
    """g = factor A^T table."""
    work.g[:] = 0.0
    add_rows(model.data, model.indices, model.indptr, None, work.everyone, factor, work.g)


@jit()
def column_add(model, j, coefficient, z):
    """z += coefficient A[:, j]. O(nonzeros of the column)."""
    entries, rows = column(model.columns, model.column_indices, model.column_indptr, j)
    for p in range(np.uint64(entries.size)):
        z[np.uint64(member(rows, p))] += coefficient * entries[p]


@jit()
def image_of(model, work, x, factor, z):
    """z = factor A x for a point in compact form."""
    z[:] = 0.0
    for k in range(1, work.whole[COUNT] + 1):
        if x[k] != 0.0:
            column_add(model, work.coordinates[k], factor * x[k], z)


@jit()
def form_margins(model, work):
    """margins = A x, afresh."""
    image_of(model, work, work.x, 1.0, work.margins)
    work.real[MARGIN_SCALE] = 1.0
    work.whole[MARGINS_AT] = work.whole[ITERATION]


@jit()
def follow_margins(model, rule, work):
    """Bring the margins from x^{t-1} to x^t, by the columns of the vertices of the last step."""
    t, length = work.whole[ITERATION], work.real[LENGTH]
    scale = work.real[MARGIN_SCALE] * (1.0 - length)
    if t % rule.refresh == 0 or scale < TINY:
        form_margins(model, work)
    elif work.whole[MARGINS_AT] < t:
        work.real[MARGIN_SCALE], work.whole[MARGINS_AT] = scale, t
        for k in range(1, work.whole[COUNT] + 1):
            if work.q[k] != 0.0:
                column_add(model, work.coordinates[k], length * work.q[k] / scale, work.margins)


@jit()
def read_coordinate(model, rule, work, j):
    """The partial derivative at the margins, or the forward difference for ZOJA. O(nonzeros of the column)."""
    scale, total, weighted = work.real[MARGIN_SCALE], 0.0, model.sample_weight.size > 0
    entries, rows = column(model.columns, model.column_indices, model.column_indptr, j)
    for p in range(entries.size):
        i = member(rows, p)
        z = scale * work.margins[i]
        if rule.estimator == ZOJA:
            term = losses.loss(model.loss, z + rule.difference * entries[p], model.y[i], model.parameter)
            term -= losses.loss(model.loss, z, model.y[i], model.parameter)
        else:
            term = entries[p] * losses.derivative(model.loss, z, model.y[i], model.parameter)
        total += term * model.sample_weight[i] if weighted else term
    return total / (rule.difference * model.y.size) if rule.estimator == ZOJA else total / model.y.size


@jit()
def estimate(model, rule, work, rate, rng):
    """m^t, as the classes of `bsfw.estimators` state it; `rate` is Heavy Ball's r_t.

    Returns FULL_PASS if it needs the slopes of all samples in `everyone` and the full gradient in g, at x or at the
    previous point (`passes` makes them on all cores), and FOLLOW, with nothing done, if rows have so many entries in
    the support that margins may be cheaper; it goes on when called again.
    """
    if rule.estimator == SEGA or rule.estimator == JAGUAR or rule.estimator == ZOJA:
        estimate_coordinates(model, rule, work, rng)
        return DONE
    whole, real, g, table, batch, change = work.whole, work.real, work.g, work.everyone, work.batch, work.change
    t, m, b = whole[ITERATION], model.y.size, batch.size
    passed, follows = whole[PHASE] == PASSED, work.margins.size > 0
    if rule.may_follow and not follows and whole[CROWDED] and not passed:
        return FOLLOW
    # L-SVRG's full pass is at x^{t-1}, where the margins still are.
    at_previous = not passed and rule.estimator == LSVRG and t > 0 and rng.random() < rule.probability
    if follows and (whole[PASS_AT_PREVIOUS] if passed else not at_previous):
        if t == 0:
            form_margins(model, work)
        else:
            if rule.estimator == SARAH and real[MARGIN_SCALE] == 0.0:
                image_of(model, work, work.previous, 1.0, table)
            elif rule.estimator == SARAH:
                for i in range(m):
                    table[i] = real[MARGIN_SCALE] * work.margins[i]
            follow_margins(model, rule, work)
    if rule.estimator == HEAVY_BALL:
        if rate == 1.0:
            g[:] = 0.0
            real[SCALE] = 1.0
        else:
            real[SCALE] *= 1.0 - rate
            if real[SCALE] < TINY:
                g *= real[SCALE]
                real[SCALE] = 1.0
        draw(rng, m, work.marked, batch)
        add_batch(model, work, work.x[:0], table[:0], 1.0, False, rate / (b * real[SCALE]), g)
        whole[SAMPLE_GRADIENTS] += b
        return DONE
    if not passed:
        here = t == 0 or rule.estimator == FULL or (rule.estimator == SARAH and rng.random() < rule.probability)
        if here and rule.estimator == SAG and rule.zeros:
            return DONE
        if here or at_previous:
            whole[PASS_AT_PREVIOUS] = at_previous
            whole[PHASE] = PASSED
            return FULL_PASS
    elif not whole[PASS_AT_PREVIOUS]:
        if rule.estimator == SAG:
            table /= m  # alpha_i = f_i' / m
        if rule.folds:
            work.base[:] = g
        return DONE
    elif rule.folds:
        work.base[:] = g
    if t > 1 and not passed and (rule.estimator == LSVRG or rule.estimator == SAGA):
        # g is m^{t-1} = base + change / b; go back to the base, which for SAGA takes in change / m.
        if rule.estimator == SAGA and (t - 1) % rule.refresh == 0:
            combine_table(model, work, 1.0 / m)
            if rule.folds:
                work.base[:] = g
        elif rule.folds:
            settle(g, work.base, b / m if rule.estimator == SAGA else 0.0)
        else:
            back = -1.0 / b if rule.estimator == LSVRG else 1.0 / m - 1.0 / b
            add_rows(model.data, model.indices, model.indptr, batch, change, back, g)
    draw(rng, m, work.marked, batch)
    if rule.estimator == SARAH:
        add_batch(model, work, work.previous, table[:0], 1.0, False, 1.0 / b, g)
        whole[SAMPLE_GRADIENTS] += 2 * b
        return DONE
    if rule.estimator == SAG:
        refresh = t % rule.refresh == 0
        add_batch(model, work, work.x[:0], table, 1.0 / m, True, 0.0 if refresh else 1.0, g)
        if refresh:
            combine_table(model, work, 1.0)
    else:  # L-SVRG's table stays that of the reference point
        add_batch(model, work, work.x[:0], table, 1.0, rule.estimator == SAGA, 1.0 / b, g)
    whole[SAMPLE_GRADIENTS] += b
    return DONE


@jit()
def estimate_coordinates(model, rule, work, rng):
    """m^t of SEGA, JAGUAR and ZOJA, by margins that follow x."""
    whole, g, batch, change = work.whole, work.g, work.batch, work.change
    t, n, b = whole[ITERATION], work.g.size, batch.size
    read = b
    if t == 0:
        form_margins(model, work)
        for j in range(n):
            g[j] = read_coordinate(model, rule, work, j)
        read = n
    else:
        if rule.estimator == SEGA and t > 1:
            for k in range(b):
                g[batch[k]] = change[k]
        if rule.estimator == SEGA or rule.at_current:
            follow_margins(model, rule, work)
        draw(rng, n, work.marked, batch)
        for k in range(b):
            fresh = read_coordinate(model, rule, work, batch[k])
            change[k] = fresh
            if rule.estimator == SEGA:
                held = g[batch[k]]
                g[batch[k]] = held + n / b * (fresh - held)
            else:
                g[batch[k]] = fresh
        if not (rule.estimator == SEGA or rule.at_current):
            follow_margins(model, rule, work)
    whole[COORDINATE_GRADIENTS] += read
    if rule.estimator == ZOJA:
        whole[FUNCTION_VALUES] += read + 1


@jit(fastmath={"reassoc", "contract"})
def gram_products(gram, x, d, j):
    """<x, G x>, <d, G d> and (G x)_j."""
    xx = dd = at_j = 0.0
    for k in range(x.size):
        if x[k] != 0.0 or d[k] != 0.0 or k == j:
            row, x_row, d_row = gram[k], 0.0, 0.0
            for h in range(x.size):
                x_row += row[h] * x[h]
                d_row += row[h] * d[h]
            xx += x[k] * x_row
            dd += d[k] * d_row
            if k == j:
                at_j = x_row
    return xx, dd, at_j


@jit()
def image_ratio(model, work):
    """||A(s - x)|| and ||A d~||, by the Gram matrix or by the margins."""
    count, total = work.whole[COUNT], work.real[LAMBDA]
    value = work.real[VALUE]
    towards_s = towards_d = 0.0
    if model.gram.size > 0:
        x, d = work.pair[0], work.pair[1]
        for k in range(1, count + 1):
            x[work.coordinates[k]] = work.x[k]
            d[work.coordinates[k]] = work.q[k] / total - work.x[k]
        j = work.whole[VERTEX]
        xx, towards_d, at_j = gram_products(model.gram, x, d, j)
        towards_s = xx - 2.0 * value * at_j + value * value * model.gram[j, j]
    else:
        scale, image = work.real[MARGIN_SCALE], work.image
        image_of(model, work, work.q, 1.0 / total, image)
        squares = 0.0
        for i in range(image.size):
            z = scale * work.margins[i]
            squares += z * z
            towards_d += (image[i] - z) ** 2
        entries, rows = column(model.columns, model.column_indices, model.column_indptr, work.whole[VERTEX])
        dot = column_squares = 0.0
        for p in range(entries.size):
            dot += entries[p] * work.margins[member(rows, p)]
            column_squares += entries[p] * entries[p]
        towards_s = squares - 2.0 * value * scale * dot + value * value * column_squares
    return math.sqrt(max(towards_s, 0.0)), math.sqrt(max(towards_d, 0.0))


@jit()
def advance(model, rule, work, eta):
    """gamma_t and x^{t+1} (lines 31-38 of Algorithm BSFW (Full)). Afterwards q holds the point that x moved towards.

    If the rule searches, the step has been found already: GAMMA, BOOSTED and LENGTH say which.
    """
    whole, real, x, q = work.whole, work.real, work.x, work.q
    near, far = real[DISTANCE], real[NORM]
    if rule.searches:
        gamma, boosted, length = real[GAMMA], whole[BOOSTED] != 0, real[LENGTH]
    else:
        if rule.image and far > 0.0:
            near, far = image_ratio(model, work)
        gamma = min(eta * near / far, 1.0) if far > 0.0 else 1.0
        boosted = gamma < 1.0
        length = gamma if boosted else eta
    if not boosted:
        for k in range(1, whole[COUNT] + 1):
            q[k] = 0.0
        if real[VALUE] != 0.0:
            slot = whole[VERTEX_SLOT]
            if slot == 0:  # nothing was accepted, so that s has no slot yet; `look` has kept one free
                slot = whole[COUNT] = whole[COUNT] + 1
                work.coordinates[slot], x[slot] = whole[VERTEX], 0.0
                work.slots[whole[VERTEX]] = slot
            q[slot] = real[VALUE]
    factor = 1.0 / real[LAMBDA] if boosted else 1.0
    keep = work.previous.size > 0
    for k in range(1, whole[COUNT] + 1):
        q[k] *= factor
        if keep:
            work.previous[k] = x[k]
        x[k] = (1.0 - length) * x[k] + length * q[k]
    real[ETA], real[GAMMA], real[LENGTH] = eta, gamma, length
    whole[BOOSTED] = boosted
    whole[BOOSTED_STEPS] += boosted
    whole[ITERATION] += 1
    if boosted and work.image.size > 0 and rule.estimator != LSVRG and rule.estimator != SARAH:
        # A vbar is at hand from the step, and these estimators ask for A x^t no more.
        scale = (1.0 - length) * real[MARGIN_SCALE]
        for i in range(work.margins.size):
            work.margins[i] = scale * work.margins[i] + length * work.image[i]
        real[MARGIN_SCALE], whole[MARGINS_AT] = 1.0, whole[ITERATION]
    whole[PHASE] = ESTIMATE


@jit()
def look(model, rule, work, rate, rng):
    """The estimate and Boost, as far as they are not done yet."""
    whole = work.whole
    if whole[PHASE] == ESTIMATE or whole[PHASE] == PASSED:
        status = estimate(model, rule, work, rate, rng)
        if status != DONE:
            return status
        whole[PHASE] = BOOST
    if whole[PHASE] == BOOST:
        if whole[COUNT] + 2 >= work.x.size:
            return GROW
        status = boost(
            rule.kind,
            rule.radius,
            rule.weights,
            rule.max_rounds,
            rule.min_gain,
            rule.zero,
            work.g,
            work.slots,
            work.coordinates,
            work.x,
            work.q,
            work.held,
            work.residual,
            work.blocks,
            whole,
            work.real,
            work.log,
        )
        if status != DONE:
            return status
        whole[PHASE] = MOVE
    return DONE


@jit()
def run(model, rule, work, mode, etas, rates, rng, gap_tol, max_gradients, max_lmo_calls):
    """Iterations from where the work stands: one per entry of `etas`, unless something ends them before.

    With mode LOOK it returns before the first move, with mode ADVANCE after it. One function for all three, because
    each function that Python calls is compiled with all that it calls.
    """
    whole = work.whole
    start = whole[ITERATION]
    while whole[PHASE] != ESTIMATE or whole[ITERATION] - start < etas.size:
        step = whole[ITERATION] - start
        if whole[PHASE] != MOVE:
            if mode == RUN and whole[PHASE] == ESTIMATE and (
                whole[SAMPLE_GRADIENTS] + whole[COORDINATE_GRADIENTS] >= max_gradients
                or whole[LMO_CALLS] >= max_lmo_calls
            ):  # fmt: skip
                return BUDGET
            status = look(model, rule, work, rates[step], rng)
            if status != DONE:
                return status
        if mode == LOOK:
            return DONE
        if mode == RUN and not np.isfinite(work.real[NORM]):
            return NOT_FINITE
        if mode == RUN and rule.exact and work.real[GAP] <= gap_tol:
            return GAP_REACHED
        advance(model, rule, work, etas[step])
        if mode == ADVANCE:
            return DONE
    return DONE
