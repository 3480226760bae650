"""SAG: m^t = A^T table, with the entries of the batch refreshed."""

from __future__ import annotations

from .._jit import phase
from ..batches import add_batch
from ..record import DONE, PASSED
from ._common import ask_combination, ask_full_pass, begin, bring_margins, draw


@phase()
def estimate(model, rule, work, rate, random):
    """m^t = m^{t-1} + A^T (the change of the table), formed anew now and then."""
    r, e, m = work.record[0], work.estimate, model.y.size
    if r.phase == PASSED:
        if r.iteration == 0:
            for i in range(m):
                e.table[i] /= m  # alpha_i = f_i' / m
        return DONE
    status = begin(model, work)
    if status != DONE:
        return status
    bring_margins(model, rule, work)
    if r.iteration == 0:
        return DONE if rule.zeros else ask_full_pass(work.record, False)
    draw(random, m, e.marked, e.batch)
    refresh = r.iteration % rule.refresh == 0
    add_batch(model, work, work.support.x[:0], e.table, 1.0 / m, True, 0.0 if refresh else 1.0)
    r.sample_gradients += e.batch.size
    return ask_combination(work.record) if refresh else DONE
