"""SAGA: unbiased, with a table of the last gradients seen (Reddi et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array, set_at
from .._sampling import draw
from ..objectives.base import Objective
from ..objectives.linear_model import LinearModel
from ..theory import EstimatorConstants
from .base import BatchEstimator, Memory, check_table
from .sag import refresh_period


@dataclass(frozen=True)
class SAGA(BatchEstimator):
    """m^t = (1/b) sum_{i in S_t} (grad f_i(x^t) - y_i) + (1/m) sum_j y_j, then y_i = grad f_i(x^t) (paper, "SAGA").

    Memory: for linear models m numbers (m x c for `Multinomial`), for other finite sums m whole gradients, refused
    beyond 2 GiB; one vector of n. Cost: b sample gradients an iteration, and m at t = 0.

    Its constant B is (L^2/b)(1 + 2m/b): the table of the paper prints L^2/(b m)(1 + 2m/b), but the proof drops a sum
    of m terms on the way, and this is what its own argument gives.

    Parameters
    ----------
    batch_size : int or float
        b_s, a count or a fraction of the samples.
    """

    name: ClassVar[str] = "saga"

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        super().check(objective, shape)
        if not isinstance(objective, LinearModel):
            assert objective.n_samples is not None
            check_table(objective.n_samples, int(np.prod(shape)) * objective.dtype.itemsize, "SAGA")

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        assert n_samples is not None
        b, m = self.batch(n_samples), n_samples
        return EstimatorConstants(
            rho1=1.0,
            rho2=b / (2 * m),
            A=1 / b + 1 / (2 * m),
            B=smoothness**2 / b * (1 + 2 * m / b),
            C=0.0,
            E=2 * m / b * smoothness**2,
        )

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        if isinstance(objective, LinearModel):
            table = objective.all_derivatives(x)
        else:
            assert objective.n_samples is not None
            table = objective.sample_gradients(x, np.arange(objective.n_samples))
        mean = self._mean(objective, table)
        return mean, {"table": table, "mean": mean}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        assert objective.n_samples is not None
        size, table = self.batch(objective.n_samples), memory["table"]
        mean: Array = memory["mean"]
        batch = draw(rng, objective.n_samples, size)
        if isinstance(objective, LinearModel):
            fresh = objective.sample_derivatives(x, batch)
            change = objective.combine_rows(fresh - table[batch], batch)
        else:
            fresh = objective.sample_gradients(x, batch)
            change = (fresh - table[batch]).sum(axis=0)
        table = memory["table"] = set_at(table, batch, fresh)
        if t % refresh_period(objective.n_samples, size) == 0:
            memory["mean"] = self._mean(objective, table)
        else:
            memory["mean"] = mean + change / objective.n_samples
        return mean + change / size

    @staticmethod
    def _mean(objective: Objective, table: Array) -> Array:
        if isinstance(objective, LinearModel):
            return objective.combine_rows(table) / objective.n_samples
        mean: Array = table.mean(axis=0)
        return mean
