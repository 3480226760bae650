"""L-SVRG: loopless SVRG, a reference point refreshed by a coin (Kovalev et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from .._sampling import draw
from ..objectives.base import Objective
from ..theory import EstimatorConstants
from .base import BatchEstimator, Memory


@dataclass(frozen=True)
class CoinEstimator(BatchEstimator):
    """A batch estimator that makes a full pass with `probability` p; None means b/m, about one pass in an epoch."""

    probability: float | None = None

    def __post_init__(self) -> None:
        if self.probability is not None and not 0 < self.probability <= 1:
            raise ValueError(f"probability must lie in ]0, 1], got {self.probability!r}; None means batch_size / m.")

    def p(self, n_samples: int) -> float:
        return self.batch(n_samples) / n_samples if self.probability is None else float(self.probability)


@dataclass(frozen=True)
class LSVRG(CoinEstimator):
    """m^t = (1/b) sum_{i in S_t} (grad f_i(x^t) - grad f_i(w^t)) + grad f(w^t) (paper, "L-SVRG").

    w^t = x^{t-1} with probability p, else w^{t-1}. Memory: two vectors of n. Cost: 2b sample gradients an iteration,
    m more when the coin falls, and m at t = 0.

    Parameters
    ----------
    batch_size : int or float
        b_s, a count or a fraction of the samples.
    probability : float, optional
        p in ]0, 1]; b/m by default.
    """

    name: ClassVar[str] = "l-svrg"

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        assert n_samples is not None
        b, p, squared = self.batch(n_samples), self.p(n_samples), smoothness**2
        return EstimatorConstants(
            rho1=1.0, rho2=p / 2, A=squared / b * (1 - p / 2), B=8 * squared / (p * b), C=0.0, E=8 / p
        )

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        gradient = objective.gradient(x)
        return gradient, {"w": x, "w_gradient": gradient}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        assert objective.n_samples is not None
        if rng.random() < self.p(objective.n_samples):
            memory["w"] = x_previous
            memory["w_gradient"] = objective.gradient(x_previous)
        batch = draw(rng, objective.n_samples, self.batch(objective.n_samples))
        w = memory["w"]
        return objective.batch_gradient(x, batch) - objective.batch_gradient(w, batch) + memory["w_gradient"]
