"""L-SVRG: the gradient at a reference point w, which a coin moves to x^{t-1}, and the batch's difference to it."""

from __future__ import annotations

from .._jit import phase, uniform
from ..batches import add_batch, add_rows
from ..margins import add_image
from ..record import DONE, PASSED
from ._common import ask_full_pass, begin, bring_margins, copy, draw, settle


@phase()
def estimate(model, rule, work, rate, random):
    """m^t = base + change / b, where the base is grad f(w) and the table has the slopes at w."""
    r, e, z, m = work.record[0], work.estimate, work.margins.z, model.y.size
    t, b = r.iteration, work.estimate.batch.size
    if r.phase == PASSED:
        if rule.folds:
            copy(e.g, e.base)
        if not r.pass_at_previous:
            return DONE
        bring_margins(model, rule, work)
    else:
        status = begin(model, work)
        if status != DONE:
            return status
        if t > 0 and uniform(random) < rule.probability:
            if z.size > 0 and r.margin_scale == 0.0:  # margins begin with this iteration
                z[:] = 0.0
                add_image(model, work.support.coordinates, r.count, work.support.previous, 1.0, z)
                r.margin_scale, r.margins_at = 1.0, t - 1
            return ask_full_pass(work.record, True)  # at x^{t-1}, where the margins still are
        bring_margins(model, rule, work)
        if t == 0:
            return ask_full_pass(work.record, False)
        if t > 1 and rule.folds:
            settle(e.g, e.base, 0.0)
        elif t > 1:
            add_rows(model, work, e.batch, e.change, -1.0 / b)
    draw(random, m, e.marked, e.batch)
    add_batch(model, work, work.support.x[:0], e.table, 1.0, False, 1.0 / b)
    r.sample_gradients += b
    return DONE
