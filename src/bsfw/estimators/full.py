"""The exact gradient, as an estimator: deterministic Frank-Wolfe and boosted Frank-Wolfe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from ..objectives.base import Objective
from ..theory import EstimatorConstants
from .base import Estimator, Memory


@dataclass(frozen=True)
class FullGradient(Estimator):
    """m^t = grad f(x^t) (paper, deterministic setting). Cost: one full gradient an iteration; no memory."""

    name: ClassVar[str] = "full"
    exact: ClassVar[bool] = True
    decay_family: ClassVar[str] = "deterministic"
    vanilla_family: ClassVar[str] = "open-loop"

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        if not objective.has_gradient:
            raise ValueError(
                f"the exact gradient was asked for, but {type(objective).__name__} has none; give jac=, or use "
                "estimator=bsfw.ZOJA(), which needs function values only."
            )

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        return EstimatorConstants(rho1=1.0, rho2=1.0, A=0.0, B=0.0, C=0.0, E=0.0)

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        return objective.gradient(x), {}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        return objective.gradient(x)
