"""SAGA: the average of the table, and the change of the batch on top of it, which the next estimate takes in."""

from __future__ import annotations

from .._jit import phase
from ..batches import add_batch, add_rows
from ..record import DONE, PASSED
from ._common import ask_combination, ask_full_pass, begin, bring_margins, copy, draw, settle


@phase()
def estimate(model, rule, work, rate, random):
    """m^t = base + change / b, where the base is A^T table / m and takes in change / m afterwards."""
    r, e, m = work.record[0], work.estimate, model.y.size
    t, b = r.iteration, work.estimate.batch.size
    if r.phase == PASSED:
        if rule.folds:
            copy(e.g, e.base)
        if t == 0:
            return DONE
    else:
        status = begin(model, work)
        if status != DONE:
            return status
        bring_margins(model, rule, work)
        if t == 0:
            return ask_full_pass(work.record, False)
        if t > 1 and (t - 1) % rule.refresh == 0:
            return ask_combination(work.record)
        if t > 1 and rule.folds:  # g is m^{t-1} = base + change / b
            settle(e.g, e.base, b / m)
        elif t > 1:
            add_rows(model, work, e.batch, e.change, 1.0 / m - 1.0 / b)
    draw(random, m, e.marked, e.batch)
    add_batch(model, work, work.support.x[:0], e.table, 1.0, True, 1.0 / b)
    r.sample_gradients += b
    return DONE
