"""Iterations of Algorithm BSFW on a linear model over a set whose vertices are sparse, without Python in between.

The phases (`layout`) are those of the generic loop: the estimate, Boost, the move; `run` goes through many of them.
`work` says what is fixed and what changes. `find_direction` and `aim_at_vertex` are names only: Numba picks the body by
the type of set, so that the code for one holds nothing of the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ._jit import kernel
from .estimates import estimate
from .gram import gram_at_hand, gram_ratio
from .layout import (
    ADVANCE,
    BOOST,
    BOOSTED,
    BOOSTED_STEPS,
    BUDGET,
    COORDINATE_GRADIENTS,
    COUNT,
    DISTANCE,
    DONE,
    ESTIMATE,
    ETA,
    FOLLOW,
    GAMMA,
    GAP,
    GAP_REACHED,
    GROW,
    IMAGE_SQUARES,
    ITERATION,
    LAMBDA,
    LENGTH,
    LMO_CALLS,
    LOOK,
    MOVE,
    NORM,
    NOT_FINITE,
    PASSED,
    PHASE,
    RUN,
    SAMPLE_GRADIENTS,
    VALUE,
    VERTEX,
    VERTEX_SLOT,
)
from .margins import margin_ratio, move_margins
from .onehot import LANES, boost
from .rows import INLINED


def find_direction(sparse: Any, rule: Any, work: Any) -> Any:
    """Boost: of `onehot`, or of `rounds` for a set whose vertices have several nonzeros."""


@overload(find_direction, jit_options=INLINED)
def _find_direction(sparse, rule, work) -> Callable[..., Any]:
    if not isinstance(sparse, types.NoneType):
        from . import groups, ksparse  # noqa: F401  # where Numba finds their bodies; not loaded for other sets
        from .rounds import boost_scaled

        return lambda sparse, rule, work: boost_scaled(rule, work)
    return lambda sparse, rule, work: boost(
        rule.kind,
        rule.radius,
        rule.weights,
        rule.max_rounds,
        rule.min_gain,
        rule.zero,
        rule.floor,
        work.g,
        work.slots,
        work.coordinates,
        work.x,
        work.q,
        work.held,
        work.residual,
        work.blocks,
        work.tops,
        work.whole,
        work.real,
        work.log,
    )


@kernel()
def find_again(rule, work, times):
    """`find_direction`, so many times over."""
    for _ in range(times):
        find_direction(rule.sparse, rule, work)


def aim_at_vertex(vertex: Any, work: Any) -> Any:
    """q = s, for a step that reverts."""


@overload(aim_at_vertex, jit_options=INLINED)
def _aim_at_vertex(vertex, work) -> Callable[..., Any]:
    def one_hot(vertex, work):
        whole, q, value = work.whole, work.q, work.real[VALUE]
        for k in range(1, whole[COUNT] + 1):
            q[k] = 0.0
        if value != 0.0:
            slot = whole[VERTEX_SLOT]
            if slot == 0:  # nothing was accepted, so that s has no slot yet; `look` has kept one free
                slot = whole[COUNT] = whole[COUNT] + 1
                work.coordinates[slot], work.x[slot] = whole[VERTEX], 0.0
                work.slots[whole[VERTEX]] = slot
            q[slot] = value

    def sparse(vertex, work):
        for k in range(1, work.whole[COUNT] + 1):
            work.q[k] = vertex[k]

    return one_hot if isinstance(vertex, types.NoneType) else sparse


@kernel()
def image_step(model, rule, work, eta):
    """gamma_t by the norms of A(s - x) and A d~, whether the step is boosted, and its length."""
    along_s = along_d = 0.0
    by_gram = gram_at_hand(model, work)
    if by_gram:
        near, far, along_s, along_d = gram_ratio(work)
    else:
        near, far = margin_ratio(work.vertex, model, work)
    gamma = min(eta * math.sqrt(max(near, 0.0) / far), 1.0) if far > 0.0 else 1.0
    boosted = gamma < 1.0
    length = gamma if boosted else eta
    if by_gram:
        along, square = (along_d, far) if boosted else (along_s, near)
        work.real[IMAGE_SQUARES] += length * (2.0 * along + length * square)
    else:
        move_margins(model, rule, work, boosted, gamma)
    return gamma, boosted, length


@kernel()
def advance(model, rule, work, eta):
    """gamma_t and x^{t+1} (lines 31-38 of Algorithm BSFW (Full)). Afterwards q holds the point that x moved towards.

    If the rule searches, the step has been found already: GAMMA, BOOSTED and LENGTH say which.
    """
    whole, real, x, q = work.whole, work.real, work.x, work.q
    if rule.searches:
        gamma, boosted, length = real[GAMMA], whole[BOOSTED] != 0, real[LENGTH]
    elif rule.image and real[NORM] > 0.0:
        gamma, boosted, length = image_step(model, rule, work, eta)
    else:
        gamma = min(eta * real[DISTANCE] / real[NORM], 1.0) if real[NORM] > 0.0 else 1.0
        boosted = gamma < 1.0
        length = gamma if boosted else eta
        real[IMAGE_SQUARES] = -1.0
    if not boosted:
        aim_at_vertex(work.vertex, work)
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
    whole[PHASE] = ESTIMATE


@kernel()
def look(model, rule, work, rate, rng):
    """The estimate and Boost, as far as they are not done yet."""
    whole = work.whole
    if whole[PHASE] == ESTIMATE or whole[PHASE] == PASSED:
        status = estimate(model, rule, work, rate, rng)
        if status != DONE:
            return status
        whole[PHASE] = BOOST
    if whole[PHASE] == BOOST:
        if whole[COUNT] + 2 + LANES >= work.x.size:
            return GROW
        status = find_direction(rule.sparse, rule, work)
        if status != DONE:
            return status
        whole[PHASE] = MOVE
        if rule.image and work.margins.size == 0 and not gram_at_hand(model, work):
            return FOLLOW
    return DONE


@kernel()
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
