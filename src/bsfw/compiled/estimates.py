"""The estimates m^t of all estimators, in place, from the rows of the batch or the columns of the coordinates."""

from __future__ import annotations

import numpy as np

from . import losses
from ._jit import kernel
from .batches import add_batch, add_rows
from .gram import SUM_AGAIN
from .layout import (
    BOUNDED,
    COORDINATE_GRADIENTS,
    DONE,
    FOLLOW,
    FULL,
    FULL_PASS,
    FUNCTION_VALUES,
    HEAVY_BALL,
    ITERATION,
    JAGUAR,
    LSVRG,
    MARGIN_SCALE,
    MARGINS_AT,
    PASS_AT_PREVIOUS,
    PASSED,
    PHASE,
    SAG,
    SAGA,
    SAMPLE_GRADIENTS,
    SARAH,
    SCALE,
    SEGA,
    SQUARES,
    ZOJA,
)
from .lists import list_support
from .margins import TINY, follow_margins, form_margins, image_of
from .onehot import BLOCK
from .rows import LAST_BIT, WORD, column_entry, column_span, held_in, member


@kernel()
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


@kernel()
def forget_bounds(work):
    """All of g is new: Boost must sweep it."""
    work.whole[BOUNDED], work.real[SQUARES] = 0, -np.inf


@kernel()
def copy(source, target):
    """target = source. An assignment of arrays would make a third one where the two overlap."""
    for j in range(source.size):
        target[j] = source[j]


@kernel()
def settle(g, base, share):
    """base += share (g - base) and g = base, in one pass over n: from m^{t-1} back to what m^t starts from."""
    for j in range(g.size):
        base[j] += share * (g[j] - base[j])
        g[j] = base[j]


@kernel()
def combine_table(model, work, factor):
    """g = factor A^T table."""
    work.g[:] = 0.0
    add_rows(model, work, None, work.everyone, factor)
    forget_bounds(work)


@kernel()
def read_coordinate(model, rule, work, j):
    """The partial derivative at the margins, or the forward difference for ZOJA. O(nonzeros of the column)."""
    scale, total, weighted = work.real[MARGIN_SCALE], 0.0, model.sample_weight.size > 0
    start, end = column_span(model.columns, model.column_indptr, j)
    for p in range(start, end):
        i, entry = member(model.column_indices, p), column_entry(model.columns, j, p)
        z = scale * work.margins[i]
        if rule.estimator == ZOJA:
            term = losses.loss(model.loss, z + rule.difference * entry, model.y[i], model.parameter)
            term -= losses.loss(model.loss, z, model.y[i], model.parameter)
        else:
            term = entry * losses.derivative(model.loss, z, model.y[i], model.parameter)
        total += term * model.sample_weight[i] if weighted else term
    return total / (rule.difference * model.y.size) if rule.estimator == ZOJA else total / model.y.size


@kernel()
def estimate(model, rule, work, rate, rng):
    """m^t, as the classes of `bsfw.estimators` state it; `rate` is Heavy Ball's r_t.

    Returns FULL_PASS if it needs the slopes of all samples in `everyone` and the full gradient in g, at x or at the
    previous point (`passes` makes them on all cores), and FOLLOW, with nothing done, if rows have so many entries in
    the support that margins are cheaper than lists of them; it goes on when called again.
    """
    if rule.estimator == SEGA or rule.estimator == JAGUAR or rule.estimator == ZOJA:
        estimate_coordinates(model, rule, work, rng)
        return DONE
    whole, real, g, table, batch, change = work.whole, work.real, work.g, work.everyone, work.batch, work.change
    t, m, b = whole[ITERATION], model.y.size, batch.size
    if t % SUM_AGAIN == 0:
        real[SQUARES] = -np.inf  # unknown: g is swept
    passed, follows = whole[PHASE] == PASSED, work.margins.size > 0
    if work.links.size > 0 and not passed and not list_support(model, work):
        return FOLLOW
    # L-SVRG's full pass is at x^{t-1}, where the margins still are.
    at_previous = not passed and rule.estimator == LSVRG and t > 0 and rng.random() < rule.probability
    if follows and at_previous and real[MARGIN_SCALE] == 0.0:  # margins begin with this iteration
        image_of(model, work, work.previous, 1.0, work.margins)
        real[MARGIN_SCALE], whole[MARGINS_AT] = 1.0, t - 1
    elif follows and (whole[PASS_AT_PREVIOUS] if passed else not at_previous):
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
            forget_bounds(work)
        else:
            real[SCALE] *= 1.0 - rate
            if real[SCALE] < TINY:
                for j in range(g.size):
                    g[j] *= real[SCALE]
                real[SCALE] = 1.0
                forget_bounds(work)
        draw(rng, m, work.marked, batch)
        add_batch(model, rule, work, work.x[:0], table[:0], 1.0, False, rate / (b * real[SCALE]))
        whole[SAMPLE_GRADIENTS] += b
        return DONE
    if not passed:
        here = t == 0 or rule.estimator == FULL or (rule.estimator == SARAH and rng.random() < rule.probability)
        if here and rule.estimator == SAG and rule.zeros:
            return DONE
        if here or at_previous:
            forget_bounds(work)
            whole[PASS_AT_PREVIOUS] = at_previous
            whole[PHASE] = PASSED
            return FULL_PASS
    elif not whole[PASS_AT_PREVIOUS]:
        if rule.estimator == SAG:
            for i in range(m):
                table[i] /= m  # alpha_i = f_i' / m
        if rule.folds:
            copy(g, work.base)
        return DONE
    elif rule.folds:
        copy(g, work.base)
    if t > 1 and not passed and (rule.estimator == LSVRG or rule.estimator == SAGA):
        # g is m^{t-1} = base + change / b; go back to the base, which for SAGA takes in change / m.
        if rule.estimator == SAGA and (t - 1) % rule.refresh == 0:
            combine_table(model, work, 1.0 / m)
            if rule.folds:
                copy(g, work.base)
        elif rule.folds:
            settle(g, work.base, b / m if rule.estimator == SAGA else 0.0)
        else:
            back = -1.0 / b if rule.estimator == LSVRG else 1.0 / m - 1.0 / b
            add_rows(model, work, batch, change, back)
    draw(rng, m, work.marked, batch)
    if rule.estimator == SARAH:
        add_batch(model, rule, work, work.previous, table[:0], 1.0, False, 1.0 / b)
        whole[SAMPLE_GRADIENTS] += 2 * b
        return DONE
    if rule.estimator == SAG:
        refresh = t % rule.refresh == 0
        add_batch(model, rule, work, work.x[:0], table, 1.0 / m, True, 0.0 if refresh else 1.0)
        if refresh:
            combine_table(model, work, 1.0)
    else:  # L-SVRG's table stays that of the reference point
        add_batch(model, rule, work, work.x[:0], table, 1.0, rule.estimator == SAGA, 1.0 / b)
    whole[SAMPLE_GRADIENTS] += b
    return DONE


@kernel()
def write(rule, work, j, value):
    """g[j] = value; where Boost keeps bounds, that of its block is raised, and ||g||^2 follows.

    Coordinates in the compact arrays need no bound.
    """
    held = work.g[j]
    work.g[j] = value
    if rule.bounded:
        work.real[SQUARES] += (value - held) * (value + held)
        if work.slots[j] == 0:
            work.keys[j // BLOCK] = max(work.keys[j // BLOCK], abs(value))


@kernel()
def estimate_coordinates(model, rule, work, rng):
    """m^t of SEGA, JAGUAR and ZOJA, by margins that follow x."""
    whole, g, batch, change = work.whole, work.g, work.batch, work.change
    t, n, b = whole[ITERATION], work.g.size, batch.size
    read = b
    if t % SUM_AGAIN == 0:
        work.real[SQUARES] = -np.inf  # unknown: g is swept
    if t == 0:
        form_margins(model, work)
        for j in range(n):
            g[j] = read_coordinate(model, rule, work, j)
        read = n
    else:
        if rule.estimator == SEGA and t > 1:
            for k in range(b):
                write(rule, work, batch[k], change[k])
        if rule.estimator == SEGA or rule.at_current:
            follow_margins(model, rule, work)
        draw(rng, n, work.marked, batch)
        for k in range(b):
            fresh = read_coordinate(model, rule, work, batch[k])
            if rule.estimator == SEGA:
                change[k] = fresh
                held = g[batch[k]]
                write(rule, work, batch[k], held + n / b * (fresh - held))
            else:
                write(rule, work, batch[k], fresh)
        if not (rule.estimator == SEGA or rule.at_current):
            follow_margins(model, rule, work)
    whole[COORDINATE_GRADIENTS] += read
    if rule.estimator == ZOJA:
        whole[FUNCTION_VALUES] += read + 1
