"""Least squares on Gaussian samples, for vectors and matrices: the setting of the paper's "When to Boost?"."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from .. import limits
from ..schema import Count
from . import sets
from .base import Problem, ProblemSpec
from .sets import SetSpec

Shape = Annotated[
    tuple[Count, ...],
    Meta(min_length=1, max_length=2, description="[n] for a vector or [rows, columns] for a matrix"),
]


class GaussianLeastSquares(ProblemSpec, frozen=True, kw_only=True, tag="least-squares"):
    """`samples` Gaussian ones of a variable of this `shape`, with noise of the size of the signal."""

    random = True

    samples: Count
    shape: Shape
    set: SetSpec

    def __post_init__(self) -> None:
        if (entries := self.samples * math.prod(self.shape)) > limits.ENTRIES:
            raise ValueError(
                f"samples times shape are {entries:,} numbers; at most {limits.ENTRIES:,} are made, choose fewer."
            )

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        return sets.flat(cls.__struct_fields__)

    @classmethod
    def resolved(cls, table: dict[str, Any], folder: Path) -> dict[str, Any]:
        return sets.nested(table)

    @property
    def label(self) -> str:
        return f"least squares, {self.samples:,} samples, {' x '.join(f'{side:,}' for side in self.shape)}"

    @property
    def convex(self) -> bool:
        return True

    def build(self, rng: np.random.Generator) -> Problem:
        from ...objectives import Function, LeastSquares, Objective

        samples, shape, size = self.samples, self.shape, math.prod(self.shape)
        A = rng.standard_normal((samples, size))
        flat = LeastSquares(A, A @ rng.standard_normal(size) / np.sqrt(size) + rng.standard_normal(samples))
        objective: Objective = flat
        if len(shape) == 2:
            objective = Function(
                lambda x: flat.value(x.ravel()),
                lambda x: flat.gradient(x.ravel()).reshape(shape),
                shape=shape,
                n_samples=samples,
                batch_jac=lambda x, batch: flat.batch_gradient(x.ravel(), batch).reshape(shape),
                quasar_rho=1.0,
            )
        return Problem(objective, self.set.make(shape), {"n": size, "m": samples, "nonzeros": A.size})
