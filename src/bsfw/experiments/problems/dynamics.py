"""Learning a linear dynamical system: the first of the quasar-convex problems that the paper names."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from .. import limits
from ..schema import Count
from .base import Problem, ProblemSpec

StableRadius = Annotated[float, Meta(gt=0, lt=0.7, description="a positive number below 0.7")]
Noise = Annotated[float, Meta(ge=0, le=1e6, description="a number of at least 0")]


class Dynamics(ProblemSpec, frozen=True, kw_only=True, tag="dynamics"):
    """A stable system of this `order`, drawn once, with ||a||_1 = `radius`, to be found again from `samples` sequences
    of `length` outputs of white inputs, with Gaussian `noise` of that standard deviation."""

    samples: Count
    length: Count
    order: Count
    radius: StableRadius = 0.5
    noise: Noise = 0.0

    def __post_init__(self) -> None:
        if (entries := self.samples * self.length) > limits.ENTRIES:
            raise ValueError(
                f"samples times length are {entries:,} numbers; at most {limits.ENTRIES:,} are made, choose fewer."
            )
        if self.order >= self.length:
            raise ValueError(f"order must be below length, {self.length}, got {self.order}.")

    @property
    def label(self) -> str:
        return f"a system of order {self.order} with noise {self.noise:g}"

    def build(self, rng: np.random.Generator) -> Problem:
        from ...objectives import LinearDynamics

        # The same for every seed: runs on different systems would have no common minimum to be measured from.
        rng, n, shape = np.random.default_rng(0), self.order, (self.samples, self.length)
        a = rng.dirichlet(np.ones(n)) * rng.choice([-1.0, 1.0], n) * self.radius
        truth = np.concatenate([a, rng.uniform(-1.0, 1.0, n + 1)])
        u = rng.standard_normal(shape)
        y = LinearDynamics(u, np.zeros(shape), n).predict(truth) + self.noise * rng.standard_normal(shape)
        # With noise the condition of this rho holds for the mean of f over it.
        objective = LinearDynamics(u, y, n, LinearDynamics.rho_if_realisable(self.radius))
        return Problem(objective, objective.stable_set(self.radius), {"n": 2 * n + 1, "m": self.samples})
