"""What kernels are given: the record of a run, and its arrays in named groups.

`Model` and `Rule` are fixed; all else changes in place. The record, the support (but `slots`), the estimate (but
`marked`) and the margins of x are what a checkpoint saves; the rest can be made again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

RECORD = np.dtype(
    [
        (name, np.int64)
        for name in (
            "phase",  # what comes next: ESTIMATE, PASSED, BOOST or MOVE
            "iteration",
            "count",  # coordinates in the compact arrays, from slot 1 on; slot 0 always holds zeros
            "rounds",  # of the last Boost
            "accepted",  # of them
            "boosted",  # whether the last step was
            "lmo_calls",
            "boosted_steps",
            "sample_gradients",
            "coordinate_gradients",
            "function_values",
            "full_gradients",
            "pass_at_previous",  # whether the full pass asked for is at x^{t-1}
            "margins_at",  # the iteration whose x the margins are of
            "fitted_at",  # the iteration whose x the intercept was fitted to; -1 before the first
            "bounded",  # whether the blocks hold upper bounds of |g| above the floor; only where the rule keeps them
        )
    ]
    + [
        (name, np.float64)
        for name in (
            "scale",  # m = scale * g: Heavy Ball's decay is a factor, not a pass over n
            "total",  # Lambda, the sum of the weights in q
            "gap",  # <m, x - s>
            "slope",  # <m, d~>
            "alignment",
            "norm",  # ||d~||
            "distance",  # ||s - x||
            "eta",
            "gamma",
            "length",  # how far the last step went along its direction
            "margin_scale",  # A x = margin_scale * z; 0 if the margins must be formed first
            "squares",  # ||g||^2, kept along with the bounds; -inf if unknown
            "most",  # the largest it was since it was summed
            "floor",  # what the bounds leave out: a block may have |g| up to this beside its bound
            "offset",  # the intercept, by which all margins are larger than those of x; 0 without one
            "image_squares",  # ||A x||^2, kept where steps ask the Gram matrix; negative if unknown
        )
    ],
    align=True,
)
"""Counters and numbers of a run, by name: an array of one."""

ESTIMATE, PASSED, BOOST, MOVE = range(4)
"""Phases of an iteration; PASSED is in the middle of the estimate, after the full pass it asked for. A kernel may
return between two of them and is entered again where it left."""

RUN, LOOK, ADVANCE = range(3)
"""How far a call of `run` goes: through many iterations, to before the next move, to after it."""

DONE, GROW, FULL_PASS, COMBINE, FOLLOW, REFIT, NOT_FINITE, GAP_REACHED, BUDGET, OUT_OF_RANGE = range(10)
"""Why a kernel returned: all asked iterations done; the compact arrays are full; a full pass is wanted, or only its
second half, from the table to g; margins that follow x would help, or the step needs them; the intercept is to be
fitted to x; m is not finite; the exact gap is at most the tolerance; a budget is used up; numbers too large or too
small to square."""


class Model(NamedTuple):
    """The data and the loss: rows in CSR or dense form (`indices` None); columns in CSC form or as rows of the
    transpose, empty where nobody asks; `loss` is one of `losses`, whose type picks the code."""

    data: Any
    indices: Any
    indptr: Any
    columns: Any
    column_indices: Any
    column_indptr: Any
    y: Any
    sample_weight: Any
    loss: Any


class BoostRule(NamedTuple):
    """K, delta, ||v - x||^2 / ||x||^2 at which v is x up to rounding, and the share of the largest |g| outside of the
    support below which no bounds are kept."""

    max_rounds: int
    min_gain: float
    zero: float
    share: float


class Rule(NamedTuple):
    """The estimator; `folds` says that SAGA and L-SVRG form m by a pass over n instead of taking the last batch out
    again. `refit` is the period of iterations after which the intercept is fitted anew, 0 if there is none."""

    probability: float
    difference: float
    at_current: bool
    zeros: bool
    refresh: int
    folds: bool
    exact: bool
    refit: int


class Support(NamedTuple):
    """Compact arrays: one slot for each coordinate of the support or visited, in the order they came. `slots[j]` is
    that of coordinate j, 0 if it has none; slot 0 and those beyond the last hold zeros, so that a gather needs no
    branch. `q` is sum_k c_k v_k, `vertex` is s; `previous` is x^{t-1}, empty where nobody asks."""

    slots: Any
    coordinates: Any
    x: Any
    previous: Any
    q: Any
    vertex: Any


class Estimate(NamedTuple):
    """m = scale g. `table` has a number per sample: that of SAG and SAGA, the slopes at L-SVRG's reference point,
    scratch for the full gradients of others. `base` is what m starts from where the rule folds, `change` what the last
    batch added to it where the next takes that out; `marked` is the set of those drawn."""

    g: Any
    base: Any
    table: Any
    batch: Any
    change: Any
    marked: Any


class Margins(NamedTuple):
    """z = A x / margin_scale, empty if x is not followed, and room for A vbar, if there is some, with zeros between two
    steps."""

    z: Any
    image: Any


class Lists(NamedTuple):
    """See `lists`; all empty where there are none. `listed` says how many slots and blocks are entered so far."""

    heads: Any
    links: Any
    owners: Any
    shifts: Any
    listed: Any


class Gram(NamedTuple):
    """A^T A over `places` (see `gram`), so far for `formed` slots; the others are scratch."""

    matrix: Any
    places: Any
    formed: Any
    cursors: Any
    window: Any
    pair: Any


class Bounds(NamedTuple):
    """The largest key of each block of coordinates (`onehot`), and the largest of all with its block, which is -1 if
    that is not known; where the run keeps bounds, the largest of each run of blocks as well."""

    blocks: Any
    best: Any
    tops: Any


class Log(NamedTuple):
    """The accepted vertices, one after the other, where each ends, and the weights; with no rows none is kept."""

    coordinates: Any
    values: Any
    ends: Any
    weights: Any


class Rounds(NamedTuple):
    """Scratch of Boost by slot: m and m + psi; and the slots and values of the vertex of a round."""

    held: Any
    residual: Any
    chosen: Any
    values: Any
    log: Any


class Batch(NamedTuple):
    """Scratch for the samples of a batch whose slopes are formed together: <a_i, x>, <a_i, x^{t-1}>, labels, samples,
    and where each is in its list."""

    margins: Any
    others: Any
    labels: Any
    samples: Any
    nodes: Any


class Work(NamedTuple):
    """Everything that changes."""

    record: Any
    support: Any
    estimate: Any
    margins: Any
    lists: Any
    gram: Any
    bounds: Any
    rounds: Any
    batch: Any
