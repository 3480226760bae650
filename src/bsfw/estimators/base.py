"""The contract of a gradient estimator: from x to m, with tables, random draws and constants of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, is_complex
from .._refusals import Refusing
from .._sampling import resolve_size
from ..objectives.base import Objective
from ..theory import EstimatorConstants

Memory = dict[str, Any]
"""Tables of a running estimator by name: arrays and numbers only, so that a checkpoint can hold them."""

MAX_TABLE_BYTES = 2 * 1024**3
"""A table of whole gradients beyond this is refused: a run would swap rather than compute."""


@dataclass(frozen=True)
class Estimator(Refusing, ABC):
    """What m^t is. The object is a description, immutable and reusable; what a run remembers lies in its `Memory`.

    Attributes
    ----------
    name : str
        Name in the command and in files.
    exact : bool
        True only if m is the exact gradient, so that <m, x - s> is the Frank-Wolfe gap.
    decay_family, vanilla_family : str
        Which default step decay belongs to it, boosted and as the baseline (K = 1); see `bsfw.decays`.
    image_step : bool
        True if the paper's step for it measures lengths in the image, ||A d|| (SAG).
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = False
    decay_family: ClassVar[str] = "variance-reduced"
    vanilla_family: ClassVar[str] = "piecewise"
    image_step: ClassVar[bool] = False

    @abstractmethod
    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        """Raise a ValueError with one sentence if this estimator cannot work on that objective."""

    @abstractmethod
    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        """rho1, rho2, A, B, C, E of Assumption est, for m = `n_samples`, n = `dimension`, L = `smoothness`."""

    @abstractmethod
    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        """m^0 at x^0, and the tables the run starts with."""

    @abstractmethod
    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        """m^t for t > 0, from x = x^t, x^{t-1} and m = m^{t-1}. Changes `memory` in place, never x or m."""


@dataclass(frozen=True)
class BatchEstimator(Estimator):
    """An estimator that draws `batch_size` samples an iteration: a count, or a fraction of the samples."""

    batch_size: int | float = 0.05

    def batch(self, n_samples: int | None) -> int:
        """b_s as a count."""
        assert n_samples is not None
        return resolve_size(self.batch_size, n_samples, "batch_size", "samples")

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        if not objective.has_batches:
            raise ValueError(
                f"{type(self).__name__} draws batches of samples, but {type(objective).__name__} is not a finite sum; "
                "use FullGradient or a coordinate estimator, or give batch_jac and n_samples to Function."
            )
        self.batch(objective.n_samples)


@dataclass(frozen=True)
class CoordinateEstimator(Estimator):
    """An estimator that reads `coordinates` coordinates an iteration: a count (1 in the paper), or a fraction."""

    coordinates: int | float = 1

    def size(self, dimension: int) -> int:
        """b_c as a count."""
        return resolve_size(self.coordinates, dimension, "coordinates", "coordinates")

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        if is_complex(objective.dtype):
            raise ValueError(
                f"{type(self).__name__} reads real coordinates, but the variable is complex; use a batch estimator or "
                "FullGradient, or write the problem in real and imaginary parts."
            )
        self.size(int(np.prod(shape)))


def check_table(rows: int, row_bytes: int, who: str) -> None:
    """Refuse a table of whole gradients that no machine should be asked for."""
    size = rows * row_bytes
    if size > MAX_TABLE_BYTES:
        raise ValueError(
            f"{who} would keep {rows} gradients, {size / 1024**3:.1f} GiB (at most {MAX_TABLE_BYTES // 1024**3} GiB "
            "are allowed); L-SVRG and SARAH need no table, and linear models need one number a sample."
        )
