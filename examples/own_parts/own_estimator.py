"""An estimator of one's own: the average of the last few batch gradients."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import bsfw
from bsfw.theory import EstimatorConstants


@dataclass(frozen=True)
class MovingAverage(bsfw.Estimator):
    """m^t is the mean of the last `window` batch gradients. The object describes; what a run keeps is its memory."""

    name: ClassVar[str] = "moving-average"
    batch_size: int = 20
    window: int = 10

    def check(self, objective, shape):
        """Refuse, in one sentence, what cannot work."""
        if not objective.has_batches or objective.n_samples < self.batch_size:
            raise ValueError(f"MovingAverage needs a finite sum of at least {self.batch_size} samples.")

    def constants(self, *, n_samples, dimension, smoothness=1.0, horizon=None):
        """rho1, rho2, A, B, C, E of Assumption est; decay="auto" reads rho1 and rho2. Nothing is proved here."""
        return EstimatorConstants(rho1=1 / self.window, rho2=1.0, A=0.0, B=smoothness**2, C=0.0, E=0.0)

    def init(self, objective, x, rng):
        """m^0 and the memory, which holds arrays and numbers only: a checkpoint needs no more."""
        first = self._sample(objective, x, rng)
        return first, {"gradients": np.stack([first] * self.window)}

    def update(self, objective, x, x_previous, t, m, memory, rng):
        """m^t for t > 0. The memory may change in place, x and m may not."""
        memory["gradients"][t % self.window] = self._sample(objective, x, rng)
        return memory["gradients"].mean(axis=0)

    def _sample(self, objective, x, rng):
        batch = rng.choice(objective.n_samples, self.batch_size, replace=False)
        return objective.batch_gradient(x, batch)
