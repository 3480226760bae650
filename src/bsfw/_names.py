"""Names on the command line and in specifications, to names in `bsfw.objectives` and `bsfw.constraints`.

Names only: what they stand for is imported when a run needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

LOSSES = {
    "logistic": "Logistic",
    "least-squares": "LeastSquares",
    "huber": "Huber",
    "tukey": "Tukey",
    "sigmoid-squared": "SigmoidSquared",
    "probit-squared": "ProbitSquared",
    "leaky-squared": "LeakySquared",
    "multinomial": "Multinomial",
}
"""Losses of linear models."""


class SetName(NamedTuple):
    """A set: its class in `bsfw.constraints`, the parameters that it takes, and those that its name fixes."""

    constraint: str
    parameters: tuple[str, ...] = ("radius",)
    fixed: Mapping[str, Any] = {}


SETS = {
    "l1": SetName("L1Ball"),
    "l2": SetName("L2Ball"),
    "linf": SetName("LinfBall"),
    "simplex": SetName("Simplex"),
    "solid-simplex": SetName("Simplex", fixed={"equality": False}),
    "nuclear": SetName("NuclearBall"),
    "spectral": SetName("SpectralBall"),
    "k-sparse": SetName("KSparse", ("k", "radius")),
    "lp": SetName("LpBall", ("p", "radius")),
    "group": SetName("GroupBall", ("groups", "radius")),
    "box": SetName("Box", ("lower", "upper")),
}
"""Sets that are made from a few values."""
