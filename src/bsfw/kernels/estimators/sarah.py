"""SARAH: the last estimate, corrected by the batch's difference from x^{t-1} to x^t; by a coin the exact gradient."""

from __future__ import annotations

from .._jit import phase, uniform
from ..batches import add_batch
from ..margins import add_image
from ..record import DONE, PASSED
from ._common import ask_full_pass, begin, bring_margins, draw


@phase()
def estimate(model, rule, work, rate, random):
    """m^t = m^{t-1} + A^T (change) / b. Where margins are kept, those of x^{t-1} are left in the table first."""
    r, e, z, m = work.record[0], work.estimate, work.margins.z, model.y.size
    if r.phase == PASSED:
        return DONE
    status = begin(model, work)
    if status != DONE:
        return status
    if z.size > 0 and r.iteration > 0 and r.margin_scale == 0.0:
        e.table[:] = 0.0
        add_image(model, work.support.coordinates, r.count, work.support.previous, 1.0, e.table)
    elif z.size > 0 and r.iteration > 0:
        for i in range(m):
            e.table[i] = r.margin_scale * z[i]
    bring_margins(model, rule, work)
    if r.iteration == 0 or uniform(random) < rule.probability:
        return ask_full_pass(work.record, False)
    draw(random, m, e.marked, e.batch)
    add_batch(model, work, work.support.previous, e.table[:0], 1.0, False, 1.0 / e.batch.size)
    r.sample_gradients += 2 * e.batch.size
    return DONE
