"""Where compiled code keeps its numbers: two small arrays, changed in place by kernels and saved by checkpoints."""

from __future__ import annotations

# Positions in `whole` (int64).
(
    PHASE,  # what comes next: ESTIMATE, BOOST or MOVE
    ITERATION,
    COUNT,  # coordinates in the compact arrays, from 1 on; slot 0 always holds zeros
    ROUNDS,
    ACCEPTED,  # rounds that were accepted, so many rows of the log
    VERTEX,  # flat index of s
    VERTEX_SLOT,  # its slot in the compact arrays, 0 if it has none
    BOOSTED,
    LMO_CALLS,
    BOOSTED_STEPS,
    SAMPLE_GRADIENTS,
    COORDINATE_GRADIENTS,
    FUNCTION_VALUES,
    FULL_GRADIENTS,
    PASS_AT_PREVIOUS,  # whether the full pass asked for is at x^{t-1}
    MARGINS_AT,  # the iteration whose x the margins are of
    BOUNDED,  # whether the blocks hold upper bounds of |g| above FLOOR; only where the rule keeps them
    WHOLE_SIZE,
) = range(18)

# Positions in `real` (float64).
(
    SCALE,  # m = SCALE * g: Heavy Ball's decay is a factor, not a pass over n
    LAMBDA,
    VALUE,  # of s at VERTEX
    GAP,
    SLOPE,
    ALIGNMENT,
    NORM,
    DISTANCE,
    ETA,
    GAMMA,
    LENGTH,  # how far the last step went along its direction
    MARGIN_SCALE,  # A x = MARGIN_SCALE * margins
    SQUARES,  # ||g||^2, kept along with the bounds; -inf if unknown
    MOST,  # the largest it was since it was summed
    FLOOR,  # what the bounds leave out: a block may have |g| up to this beside its bound
    IMAGE_SQUARES,  # ||A x||^2, kept where steps ask the Gram matrix; negative if unknown
    REAL_SIZE,
) = range(17)

ESTIMATE, PASSED, BOOST, MOVE = range(4)
"""Phases of an iteration; PASSED is in the middle of the estimate, after the full pass it asked for. A kernel may
return between two of them and is entered again where it left."""

RUN, LOOK, ADVANCE = range(3)
"""How far a call of `kernels.run` goes: through many iterations, to before the next move, to after it."""

DONE, GROW, FULL_PASS, FOLLOW, NOT_FINITE, GAP_REACHED, BUDGET, OUT_OF_RANGE = range(8)
"""Why a kernel returned: all asked iterations done; the compact arrays are full; a full pass is wanted; margins that
follow x would help, or the step needs them; m is not finite; the exact gap is at most the tolerance; a budget is used
up; m must be scaled first."""

L1, WEIGHTED_L1, SIMPLEX, SOLID_SIMPLEX, SEVERAL = range(5)
"""Sets with one-hot vertices, and others, whose vertices have several nonzeros."""

FULL, SAG, SAGA, LSVRG, SARAH, HEAVY_BALL, SEGA, JAGUAR, ZOJA = range(9)
"""Estimators."""
