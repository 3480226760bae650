"""SARAH: a recursive estimate, corrected by differences and now and then exact (Beznosikov et al., 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from .._sampling import draw
from ..objectives.base import Objective
from ..theory import EstimatorConstants
from .base import Memory
from .lsvrg import CoinEstimator


@dataclass(frozen=True)
class SARAH(CoinEstimator):
    """m^t = grad f(x^t) with probability p, else m^{t-1} + (1/b) sum_{i in S_t} (grad f_i(x^t) - grad f_i(x^{t-1})).

    (Paper, "SARAH".) No memory but m itself. Cost: 2b sample gradients an iteration, or m when the coin falls and at
    t = 0.

    Parameters
    ----------
    batch_size : int or float
        b_s, a count or a fraction of the samples.
    probability : float, optional
        p in ]0, 1]; b/m by default.
    """

    name: ClassVar[str] = "sarah"

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        assert n_samples is not None
        b, p = self.batch(n_samples), self.p(n_samples)
        return EstimatorConstants(rho1=p, rho2=1.0, A=0.0, B=(1 - p) / b * smoothness**2, C=0.0, E=0.0)

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        return objective.gradient(x), {}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        assert objective.n_samples is not None
        if rng.random() < self.p(objective.n_samples):
            return objective.gradient(x)
        batch = draw(rng, objective.n_samples, self.batch(objective.n_samples))
        return m + objective.batch_gradient(x, batch) - objective.batch_gradient(x_previous, batch)
