"""A step rule of one's own: the paper's rule, made cautious in the first iterations."""

from dataclasses import dataclass
from typing import ClassVar

import bsfw


@dataclass(frozen=True)
class Cautious(bsfw.Step):
    """gamma_t = min{share eta_t ||s - x|| / ||d~||, 1}: the paper's rule with a `share` of eta_t."""

    name: ClassVar[str] = "cautious"
    deterministic: ClassVar[bool] = False  # it works with noisy gradients too
    share: float = 0.5

    def __call__(self, objective, x, direction, eta):
        """The step from the direction that Boost found: x + length d~ if boosted, else x + length (s - x)."""
        eta = self.share * eta
        gamma = min(eta * direction.vertex_distance / direction.norm, 1.0) if direction.norm > 0 else 1.0
        return bsfw.Move(gamma, True, gamma) if gamma < 1 else bsfw.Move(1.0, False, eta)
