"""L-SVRG: loopless SVRG, a reference point refreshed by a coin (Kovalev et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array
from .._sampling import draw
from ..objectives.base import Objective
from ..objectives.linear_model import LinearModel
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

    w^t = x^{t-1} with probability p, else w^{t-1}. A linear model keeps the slopes of all samples at w (m numbers and
    a vector of n) and pays b sample gradients an iteration; other finite sums keep w itself (two vectors of n) and pay
    2b. Both pay m more when the coin falls, and m at t = 0.

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
        memory: Memory = {}
        self._refer_to(objective, x, memory)
        return memory["gradient"], memory

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        assert objective.n_samples is not None
        if rng.random() < self.p(objective.n_samples):
            self._refer_to(objective, x_previous, memory)
        batch = draw(rng, objective.n_samples, self.batch(objective.n_samples))
        if isinstance(objective, LinearModel):
            change = objective.sample_derivatives(x, batch) - memory["slopes"][batch]
            difference = objective.combine_rows(change, batch) / len(batch)
        else:
            difference = objective.batch_gradient(x, batch) - objective.batch_gradient(memory["w"], batch)
        gradient: Array = memory["gradient"]
        return difference + gradient

    @staticmethod
    def _refer_to(objective: Objective, w: Array, memory: Memory) -> None:
        """Make w the reference: a full pass."""
        if isinstance(objective, LinearModel):
            memory["slopes"] = objective.all_derivatives(w)
            memory["gradient"] = objective.combine_rows(memory["slopes"]) / objective.n_samples
        else:
            memory["w"], memory["gradient"] = w, objective.gradient(w)
