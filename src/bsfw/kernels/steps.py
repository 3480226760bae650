"""The move, a phase for each way to find gamma_t: ``move(model, work, onward, eta)``.

Lines 31-38 of Algorithm BSFW (Full). Afterwards q holds the point that x moved towards. `onward` says that margins may
go on to x^{t+1} with the step: no estimator asks for those of x^t once more.
"""

from __future__ import annotations

import math

from ._jit import kernel, phase
from .gram import gram_at_hand, gram_lengths
from .margins import form_margins, margin_lengths, move_margins
from .record import DONE, ESTIMATE, FOLLOW

NEARLY_ONE = 1.0 - 64.0 * 2.0**-52
"""A gamma from here on counts as 1, whatever the rounding of the two lengths (`bsfw.steps`)."""


@kernel()
def apply(record, support, eta, gamma, boosted, length):
    """x^{t+1}: along d~ if the step is boosted, else along s - x."""
    r, x, q = record[0], support.x, support.q
    factor, keep = 1.0 / r.total if boosted else 1.0, support.previous.size > 0
    for k in range(1, r.count + 1):
        q[k] = factor * q[k] if boosted else support.vertex[k]
        if keep:
            support.previous[k] = x[k]
        x[k] = (1.0 - length) * x[k] + length * q[k]
    r.eta, r.gamma, r.length, r.boosted = eta, gamma, length, boosted
    r.boosted_steps += boosted
    r.iteration += 1
    r.phase = ESTIMATE
    return DONE


@phase(error_model="numpy")
def move_paper(model, work, onward, eta):
    """gamma_t = min{eta_t ||s - x|| / ||d~||, 1} (paper, eq. step)."""
    r = work.record[0]
    gamma = eta * r.distance / r.norm if r.norm > 0.0 else 1.0
    boosted = gamma < NEARLY_ONE
    return apply(work.record, work.support, eta, gamma if boosted else 1.0, boosted, gamma if boosted else eta)


@phase()
def move_searched(model, work, onward, eta):
    """The step that the rule has found: gamma, boosted and length are in the record."""
    r = work.record[0]
    return apply(work.record, work.support, eta, r.gamma, r.boosted != 0, r.length)


@phase(error_model="numpy")
def move_image(model, work, onward, eta):
    """gamma_t = min{eta_t ||A(s - x)|| / ||A d~||, 1} (paper, eq. SAG gamma): by the Gram matrix of the support where
    there is one, else by the margins. FOLLOW, with nothing done, if there are neither."""
    r, support, margins = work.record[0], work.support, work.margins
    if r.norm == 0.0:
        r.image_squares = -1.0
        return apply(work.record, support, eta, 1.0, False, eta)
    along_s = along_d = 0.0
    by_gram = gram_at_hand(model, r.count, support.coordinates, work.gram)
    if by_gram:
        near, far, along_s, along_d = gram_lengths(work.record, support, work.gram, work.rounds.residual)
    elif margins.z.size == 0:
        return FOLLOW
    else:
        if r.margin_scale == 0.0:
            form_margins(model, work.record, support, margins.z)
        near, far = margin_lengths(model, work.record, support, margins)
    gamma = eta * math.sqrt(max(near, 0.0) / far) if far > 0.0 else 1.0
    boosted = gamma < NEARLY_ONE
    gamma, length = (gamma, gamma) if boosted else (1.0, eta)
    if by_gram:
        along, square = (along_d, far) if boosted else (along_s, near)
        r.image_squares += length * (2.0 * along + length * square)
    else:
        r.image_squares = -1.0
        move_margins(model, work.record, support, margins, boosted and onward, gamma)
    return apply(work.record, support, eta, gamma, boosted, length)
