"""Quantum process tomography: a unitary to be found again, from the start of the paper, with its fidelities."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from .. import limits
from ..schema import Positive
from .base import Problem, ProblemSpec

Qubits = Annotated[
    int, Meta(ge=1, le=limits.QUBITS, description=f"a whole number of at least 1 and at most {limits.QUBITS}")
]


class Tomography(ProblemSpec, frozen=True, kw_only=True, tag="tomography"):
    """A Haar-random unitary on these `qubits`, measured with Gaussian `noise`, over a spectral ball."""

    random = True

    noise: Positive
    radius: Positive
    qubits: Qubits = 3
    penalty: Positive = 0.05
    reduction: Literal["sum", "mean"] = "sum"

    @property
    def label(self) -> str:
        return f"{self.qubits} qubits with noise {self.noise:g}"

    def build(self, rng: np.random.Generator) -> Problem:
        from ...constraints import SpectralBall
        from ...quantum import ProcessTomography

        objective = ProcessTomography.random(
            rng=rng, qubits=self.qubits, noise=self.noise, penalty=self.penalty, reduction=self.reduction
        )
        return Problem(
            objective,
            SpectralBall(self.radius),
            {"n": objective.shape[0], "m": objective.n_samples or 0},
            objective.start,
            {"fidelity": objective.fidelity_as_is, "fidelity_normalised": objective.fidelity_normalised},
        )
