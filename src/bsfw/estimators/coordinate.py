"""Coordinate and zeroth-order estimators: SEGA, JAGUAR and ZOJA.

With b_c coordinates a step the ratio q = n / b_c takes the place of n in the constants of the paper (b_c = 1); the
proofs go through as they stand, with the factor 1 - b_c/n of a coordinate not being drawn.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._arrays import Array, add_at, copied, positive, set_at
from .._sampling import draw
from ..objectives.base import Objective
from ..theory import EstimatorConstants
from .base import CoordinateEstimator, Memory


def _check_partials(name: str, objective: Objective) -> None:
    if not objective.has_partial_derivatives:
        raise ValueError(
            f"{name} needs partial derivatives, but {type(objective).__name__} has none; give partial= to Function, or "
            "use ZOJA, which needs function values only."
        )


@dataclass(frozen=True)
class SEGA(CoordinateEstimator):
    """m^t = h^{t-1} + (n/b_c) sum_i e_i (grad_i f(x^t) - h_i^{t-1}), then h_i = grad_i f(x^t) (paper, "SEGA").

    Unbiased. Memory: one vector of n. Cost: b_c partial derivatives an iteration, and n at t = 0.

    Parameters
    ----------
    coordinates : int or float
        b_c, a count or a fraction of the coordinates.
    """

    name: ClassVar[str] = "sega"

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        _check_partials("SEGA", objective)
        super().check(objective, shape)

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        q, squared = dimension / self.size(dimension), smoothness**2
        return EstimatorConstants(rho1=1.0, rho2=1 / (2 * q), A=q, B=q**2 * squared, C=0.0, E=3 * squared * q)

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        h = objective.partial_derivatives(x, np.arange(math.prod(x.shape))).reshape(x.shape)
        return h, {"h": copied(h)}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        n, h = math.prod(x.shape), memory["h"].reshape(-1)
        size = self.size(n)
        chosen = draw(rng, n, size)
        fresh = objective.partial_derivatives(x, chosen)
        out = add_at(copied(h), chosen, (n / size) * (fresh - h[chosen]))
        memory["h"] = set_at(h, chosen, fresh).reshape(x.shape)
        return out.reshape(x.shape)


@dataclass(frozen=True)
class _Overwriting(CoordinateEstimator):
    """m^t is m^{t-1} with the drawn coordinates overwritten: what JAGUAR and ZOJA share.

    `point` says where the coordinate is read: "previous" is x^{t-1}, as the paper prints it; "current" is x^t.
    """

    point: str = "previous"

    def __post_init__(self) -> None:
        if self.point not in ("previous", "current"):
            raise ValueError(f"point must be 'previous' (as the paper prints it) or 'current', got {self.point!r}.")

    @abstractmethod
    def read(self, objective: Objective, x: Array, coordinates: Array) -> Array:
        """The (approximate) partial derivatives of f at x."""

    def init(self, objective: Objective, x: Array, rng: np.random.Generator) -> tuple[Array, Memory]:
        return self.read(objective, x, np.arange(math.prod(x.shape))).reshape(x.shape), {}

    def update(
        self, objective: Objective, x: Array, x_previous: Array, t: int, m: Array, memory: Memory,
        rng: np.random.Generator,
    ) -> Array:  # fmt: skip
        n = math.prod(x.shape)
        chosen = draw(rng, n, self.size(n))
        fresh = self.read(objective, x_previous if self.point == "previous" else x, chosen)
        return set_at(copied(m).reshape(-1), chosen, fresh).reshape(x.shape)


@dataclass(frozen=True)
class JAGUAR(_Overwriting):
    """m^t = m^{t-1} with m_i = grad_i f(x^{t-1}) for the drawn coordinates (paper, "JAGUAR").

    No memory but m itself. Cost: b_c partial derivatives an iteration, and n at t = 0.

    Parameters
    ----------
    coordinates : int or float
        b_c, a count or a fraction of the coordinates.
    point : {"previous", "current"}
        Read at x^{t-1}, as printed, or at x^t.
    """

    name: ClassVar[str] = "jaguar"

    def check(self, objective: Objective, shape: tuple[int, ...]) -> None:
        _check_partials("JAGUAR", objective)
        super().check(objective, shape)

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        q = dimension / self.size(dimension)
        return EstimatorConstants(rho1=1 / (2 * q), rho2=1.0, A=0.0, B=3 * q * smoothness**2, C=0.0, E=0.0)

    def read(self, objective: Objective, x: Array, coordinates: Array) -> Array:
        return objective.partial_derivatives(x, coordinates)


@dataclass(frozen=True)
class ZOJA(_Overwriting):
    """JAGUAR by forward differences, (f(x^{t-1} + tau_z e_i) - f(x^{t-1})) / tau_z (paper, "ZOJA"): no gradient needed.

    No memory but m itself. Cost: b_c + 1 function values an iteration, and n + 1 at t = 0.

    Parameters
    ----------
    coordinates : int or float
        b_c, a count or a fraction of the coordinates.
    point : {"previous", "current"}
        Read at x^{t-1}, as printed, or at x^t.
    step : float
        tau_z. The bias grows like L tau_z / 2, rounding like eps |f| / tau_z: 1e-6 suits double precision.
    """

    name: ClassVar[str] = "zoja"
    step: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.step, "step (tau_z of ZOJA)")

    def constants(
        self, *, n_samples: int | None, dimension: int, smoothness: float = 1.0, horizon: int | None = None
    ) -> EstimatorConstants:
        q, squared = dimension / self.size(dimension), smoothness**2
        return EstimatorConstants(
            rho1=1 / (4 * q), rho2=1.0, A=0.0, B=3 * q * squared, C=2 * dimension * squared * self.step**2, E=0.0
        )

    def read(self, objective: Objective, x: Array, coordinates: Array) -> Array:
        return objective.forward_differences(x, coordinates, self.step)
