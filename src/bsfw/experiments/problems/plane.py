"""A quadratic over a polygon: what can be drawn."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta

from .. import limits
from ..schema import Count, Point, Positive
from .base import Problem, ProblemSpec

Corners = Annotated[
    tuple[Point, ...],
    Meta(min_length=3, max_length=1000, description="a list of at least three points in the order of the outline"),
]
Curvature = Annotated[tuple[Positive, Positive], Meta(description="two positive numbers")]


class Plane(ProblemSpec, frozen=True, kw_only=True, tag="plane"):
    """f(x) = (1/2) sum_j c_j (x_j - target_j)^2 over the polygon with these corners; with `samples` the average of as
    many of these, whose targets scatter around it with the standard deviation `spread`."""

    random = True

    corners: Corners
    target: Point
    curvature: Curvature = (1.0, 1.0)
    start: Point | None = None
    samples: Count | None = None
    spread: Positive = 1.0

    def __post_init__(self) -> None:
        if (self.samples or 0) > limits.ENTRIES // 2:
            raise ValueError(f"samples must be at most {limits.ENTRIES // 2:,} in the plane, got {self.samples:,}.")

    @property
    def label(self) -> str:
        return "the plane"

    @property
    def convex(self) -> bool:
        return True

    def build(self, rng: np.random.Generator) -> Problem:
        from ...constraints import ConvexHull
        from ...objectives import Function, Objective, Quadratic

        target, c, samples = np.array(self.target), np.array(self.curvature), self.samples
        objective: Objective
        facts = {"n": 2}
        if samples is None:
            objective = Quadratic(c, -c * target, 0.5 * float(c @ target**2))
        else:
            targets = target + self.spread * rng.standard_normal((samples, 2))
            objective = Function(
                lambda x: 0.5 * float((c * (x - targets) ** 2).sum(axis=1).mean()),
                shape=(2,),
                n_samples=samples,
                batch_jac=lambda x, batch: c * (x - targets[batch].mean(axis=0)),
                quasar_rho=1.0,
            )
            facts |= {"m": samples}
        start = None if self.start is None else lambda _: np.array(self.start)
        return Problem(objective, ConvexHull(self.corners), facts, start)
