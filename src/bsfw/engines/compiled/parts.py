"""The compiled code of losses, estimators and steps, by their exact types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...estimators import JAGUAR, LSVRG, SAG, SAGA, SARAH, SEGA, ZOJA, FullGradient, HeavyBall
from ...kernels import losses, steps
from ...kernels.estimators import coordinates, full, heavy_ball, lsvrg, sag, saga, sarah
from ...objectives.linear_model import LinearModel
from ...objectives.links import LeakySquared, ProbitSquared, SigmoidSquared
from ...objectives.losses import Huber, LeastSquares, Logistic, Tukey
from ...steps import ImageStep, LineSearch, PaperStep, ShortStep

LOSSES: dict[type, Callable[[Any], Any]] = {
    Logistic: lambda objective: losses.Logistic(),
    LeastSquares: lambda objective: losses.LeastSquares(),
    Huber: lambda objective: losses.Huber(float(objective.delta)),
    Tukey: lambda objective: losses.Tukey(float(objective.c)),
    SigmoidSquared: lambda objective: losses.SigmoidSquared(),
    ProbitSquared: lambda objective: losses.ProbitSquared(),
    LeakySquared: lambda objective: losses.LeakySquared(float(objective.leak)),
}
ESTIMATES: dict[type, Any] = {
    FullGradient: full.estimate,
    SAG: sag.estimate,
    SAGA: saga.estimate,
    LSVRG: lsvrg.estimate,
    SARAH: sarah.estimate,
    HeavyBall: heavy_ball.estimate,
    SEGA: coordinates.estimate_sega,
    JAGUAR: coordinates.estimate_jaguar,
    ZOJA: coordinates.estimate_zoja,
}
MOVES: dict[type, Any] = {
    PaperStep: steps.move_paper,
    ImageStep: steps.move_image,
    ShortStep: steps.move_searched,
    LineSearch: steps.move_searched,
}


def loss_of(objective: Any) -> Any:
    """The loss as kernels know it, or None: one of bsfw's, or the two compiled functions of a user's own model."""
    if type(objective) in LOSSES:
        return LOSSES[type(objective)](objective)
    if isinstance(objective, LinearModel) and len(objective.shape) == 1:
        own = objective.compiled_loss()
        return None if own is None else losses.Own(*own)
    return None
