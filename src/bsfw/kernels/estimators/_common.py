"""What the estimators share: draws, full passes, margins that follow x, sums that are formed anew."""

from __future__ import annotations

import numpy as np

from .._jit import entry, kernel, uniform
from ..gram import SUM_AGAIN
from ..lists import list_support
from ..margins import follow_margins, form_margins
from ..record import COMBINE, DONE, FOLLOW, FULL_PASS, PASSED

WORD, LAST_BIT = np.uint64(6), np.uint64(63)
"""Number j is bit j & 63 of word j >> 6 of the set of those drawn."""


@kernel()
def draw(random, population, marked, batch):
    """Floyd's sample without replacement, the same draws as `bsfw._sampling.draw`."""
    size = batch.size
    if size == population:
        for k in range(size):
            batch[k] = k
        return
    for k in range(size):
        last = population - size + k
        chosen = np.uint64(uniform(random) * (last + 1))
        if (marked[chosen >> WORD] >> (chosen & LAST_BIT)) & np.uint64(1):
            chosen = np.uint64(last)
        marked[chosen >> WORD] |= np.uint64(1) << (chosen & LAST_BIT)
        batch[k] = chosen
    for k in range(size):
        marked[np.uint64(batch[k]) >> WORD] = 0


@entry()
def draw_from_python(random, population, marked, batch):
    """`draw`, for whoever is not compiled."""
    draw(random, population, marked, batch)


@kernel()
def forget_bounds(record):
    """All of g is new: Boost must sweep it."""
    record[0].bounded, record[0].squares = 0, -np.inf


@kernel()
def begin(model, work):
    """What every estimate by samples begins with: the lists take in the new columns. FOLLOW if they have no room."""
    r = work.record[0]
    if r.iteration % SUM_AGAIN == 0:
        r.squares = -np.inf  # unknown: g is swept
    if work.lists.links.size > 0 and not list_support(model, work.record, work.support, work.lists):
        return FOLLOW
    return DONE


@kernel()
def bring_margins(model, rule, work):
    """Margins, where they are kept, to x^t."""
    if work.margins.z.size == 0:
        return
    if work.record[0].iteration == 0:
        form_margins(model, work.record, work.support, work.margins.z)
    else:
        follow_margins(model, work.record, work.support, work.margins.z, rule.refresh)


@kernel()
def ask_full_pass(record, at_previous):
    """The status with which the estimate returns for the slopes and the gradient at x^t or x^{t-1}."""
    forget_bounds(record)
    record[0].pass_at_previous, record[0].phase = at_previous, PASSED
    return FULL_PASS


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
def ask_combination(record):
    """The status with which the estimate returns for A^T table in g, formed anew; the phase is PASSED then."""
    forget_bounds(record)
    record[0].phase = PASSED
    return COMBINE
