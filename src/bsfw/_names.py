"""Names on the command line and in specifications, to names in `bsfw.objectives` and `bsfw.constraints`.

Names only: what they stand for is imported when a run needs it.
"""

from __future__ import annotations

LOSSES = {
    "logistic": "Logistic",
    "least-squares": "LeastSquares",
    "huber": "Huber",
    "tukey": "Tukey",
    "sigmoid-squared": "SigmoidSquared",
    "multinomial": "Multinomial",
}
"""Losses of linear models."""

SETS = {
    "l1": "L1Ball",
    "l2": "L2Ball",
    "linf": "LinfBall",
    "simplex": "Simplex",
    "nuclear": "NuclearBall",
    "spectral": "SpectralBall",
}
"""Sets that are made from a radius."""
