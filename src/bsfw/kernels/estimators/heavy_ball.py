"""Heavy Ball: a moving average of the batch's gradients; the decay is a factor of g, not a pass over n."""

from __future__ import annotations

from .._jit import phase
from ..batches import add_batch
from ..margins import TINY
from ..record import DONE
from ._common import begin, bring_margins, draw, forget_bounds


@phase()
def estimate(model, rule, work, rate, random):
    """m^t = (1 - rate) m^{t-1} + rate (the batch's gradient)."""
    r, e = work.record[0], work.estimate
    status = begin(model, work)
    if status != DONE:
        return status
    bring_margins(model, rule, work)
    if rate == 1.0:
        e.g[:] = 0.0
        r.scale = 1.0
        forget_bounds(work.record)
    else:
        r.scale *= 1.0 - rate
        if r.scale < TINY:
            for j in range(e.g.size):
                e.g[j] *= r.scale
            r.scale = 1.0
            forget_bounds(work.record)
    draw(random, model.y.size, e.marked, e.batch)
    b = e.batch.size
    add_batch(model, work, work.support.x[:0], e.table[:0], 1.0, False, rate / (b * r.scale))
    r.sample_gradients += b
    return DONE
