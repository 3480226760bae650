"""SAG: the stochastic average gradient of Negiar et al. (2020), on linear models."""

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

REFRESH_EPOCHS = 100
"""Passes over the data after which an accumulated A^T alpha is formed anew: rounding cannot build up."""


def refresh_period(n_samples: int, batch_size: int) -> int:
    """Iterations from one such time to the next."""
    return REFRESH_EPOCHS * -(-n_samples // batch_size)


@dataclass(frozen=True)
class SAG(BatchEstimator):
    """m^t = A^T alpha^t, with alpha_i refreshed to f_i'(<a_i, x^t>)/m for i in the batch (paper, "SAG").

    Linear models only. Memory: m numbers (m x c for `Multinomial`). Cost: b sample gradients an iteration, and m at
    t = 0. The paper's step for it measures lengths in the image, gamma = min{eta ||A(s-x)|| / ||A d~||, 1}
    (`bsfw.ImageStep`, the default with SAG). In its constants L is that of f~ in f(x) = f~(A x), see
    `LinearModel.image_smoothness`, and D the diameter of A C.

    Parameters
    ----------
    batch_size : int or float
        b_s, a count or a fraction of the samples.
    table : {"full", "zeros"}
        alpha^0: a full pass at x^0, or zeros (then m^0 = 0 and the first step is the set's own vertex).
    """

    name: ClassVar[str] = "sag"
    vanilla_family: ClassVar[str] = "open-loop"
    image_step: ClassVar[bool] = True
    table: str = "full"

    def __post_init__(self) -> None:
        if self.table not in ("full", "zeros"):
            raise ValueError(f"table must be 'full' or 'zeros', got {self.table!r}.")

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        if not isinstance(objective, LinearModel):
            raise ValueError(
                f"SAG needs a linear model, f(x) = f~(A x), but {type(objective).__name__} is not one; use SAGA, "
                "L-SVRG or SARAH for other finite sums."
            )
        super().check(objective, shape)

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        assert n_samples is not None
        q = self.batch(n_samples) / n_samples
        return EstimatorConstants(
            rho1=q / 2, rho2=1.0, A=0.0, B=(1 - q) * (1 + 2 / q) * smoothness**2, C=0.0, E=0.0
        )  # fmt: skip

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        assert isinstance(objective, LinearModel)
        if self.table == "zeros":
            alpha = 0.0 * objective.margins(x)
        else:
            alpha = objective.all_derivatives(x) / objective.n_samples
        return objective.combine_rows(alpha), {"alpha": alpha}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        assert isinstance(objective, LinearModel) and objective.n_samples is not None
        size, alpha = self.batch(objective.n_samples), memory["alpha"]
        batch = draw(rng, objective.n_samples, size)
        fresh = objective.sample_derivatives(x, batch) / objective.n_samples
        change = fresh - alpha[batch]
        alpha[batch] = fresh  # in place: linear models are NumPy's
        if t % refresh_period(objective.n_samples, size) == 0:
            return objective.combine_rows(alpha)
        return m + objective.combine_rows(change, batch)
