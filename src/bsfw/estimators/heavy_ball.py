"""Heavy Ball: a momentum average of batch gradients (Mokhtari et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array
from .._sampling import draw
from ..objectives.base import Objective
from ..theory import EstimatorConstants
from .base import BatchEstimator, Memory


@dataclass(frozen=True)
class HeavyBall(BatchEstimator):
    """m^t = (1 - r_t) m^{t-1} + r_t g^t, with g^t the gradient of a batch (paper, "Heavy Ball").

    r_t = 4/(t+8)^(2/3) in the quasar-convex case, 1/sqrt(t+1) in the nonconvex one; both have r_0 = 1, so m^0 is the
    first batch gradient. No memory but m itself, no full pass ever. Cost: b sample gradients an iteration.

    Its constants depend on the horizon T, and Theorems heavy ball (non)convex prove slower rates for it, with step
    decays of its own.

    Parameters
    ----------
    batch_size : int or float
        b_s, a count or a fraction of the samples.
    momentum : {"auto", "convex", "nonconvex"}
        Which r_t; "auto" asks the objective.
    """

    name: ClassVar[str] = "heavy-ball"
    decay_family: ClassVar[str] = "heavy-ball"
    vanilla_family: ClassVar[str] = "heavy-ball"
    momentum: str = "auto"

    def __post_init__(self) -> None:
        if self.momentum not in ("auto", "convex", "nonconvex"):
            raise ValueError(f"momentum must be 'auto', 'convex' or 'nonconvex', got {self.momentum!r}.")

    def rate(self, t: Any, quasar_rho: float | None) -> Any:
        """r_t, of a number or, elementwise, of an array."""
        nonconvex = self.momentum == "nonconvex" or (self.momentum == "auto" and quasar_rho is None)
        return 1 / (t + 1) ** 0.5 if nonconvex else np.minimum(1.0, 4 / (t + 8) ** (2 / 3))

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        """Those of Lemma "Parameters for Heavy Ball", stated there for r_t = 4/(t+8)^(2/3)."""
        if horizon is None:
            raise ValueError("the constants of Heavy Ball depend on the horizon T; give horizon=.")
        r = 4 / (horizon + 8) ** (2 / 3)
        return EstimatorConstants(
            rho1=r / 2,
            rho2=1 - ((horizon + 7) / (horizon + 8)) ** (4 / 3),
            A=1.0,
            B=2 * smoothness**2 / r,
            C=0.0,
            E=0.0,
        )

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        return self._batch_gradient(objective, x, rng), {}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        r = self.rate(t, objective.quasar_rho)
        blend: Array = (1 - r) * m + r * self._batch_gradient(objective, x, rng)
        return blend

    def _batch_gradient(self, objective: Objective, x: Array, rng: np.random.Generator) -> Array:
        assert objective.n_samples is not None
        return objective.batch_gradient(x, draw(rng, objective.n_samples, self.batch(objective.n_samples)))
