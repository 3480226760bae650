"""A set known only through a callable of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import Array, checked_shape, positive, require_finite
from ..vertices import Dense, Vertex
from ._common import as_inexact
from .base import Constraint


class Oracle(Constraint):
    """A set given by its linear minimisation oracle.

    Every answer is checked for shape and for finite entries; that it is a minimiser, a vertex, and the same one for the
    same direction is up to the callable, whose word is trusted: where it does not minimise, the gap of a run is no
    bound. Arrays are copied, so the callable may reuse its buffer.

    Parameters
    ----------
    lmo : callable
        direction -> array or `Vertex` v that minimises Re<direction, v>.
    diameter : float, optional
        Diameter of the set, or a bound. Without it, `diameter` raises.
    violation : callable, optional
        x -> how far x is outside, relative to the size of the set, 0.0 inside. Without it, the set has no membership
        test: `violation` and `contains` raise, and the solver trusts `x0`.
    shape : tuple of int, optional
        Shape of the variable, if the set fixes it.
    """

    def __init__(
        self,
        lmo: Callable[[Array], Any],
        diameter: float | None = None,
        violation: Callable[[Array], float] | None = None,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        for name, function in (("lmo", lmo), ("violation", violation)):
            if not (callable(function) or (name == "violation" and function is None)):
                raise TypeError(f"{name} must be a callable that takes an array, got {function!r}.")
        self._lmo, self._violation = lmo, violation
        self._diameter = None if diameter is None else positive(diameter, "diameter")
        self.shape = None if shape is None else checked_shape(shape)
        self.has_membership = violation is not None

    def lmo(self, direction: Array) -> Vertex:
        direction = np.asarray(direction)
        self.check_shape(direction.shape)
        given = self._lmo(direction)
        answer: Vertex = given if isinstance(given, Vertex) else Dense(as_inexact(np.array(given)))
        if answer.shape != direction.shape:
            raise ValueError(
                f"the oracle was asked with a direction of shape {direction.shape} but answered with shape "
                f"{answer.shape}; it must return an array of the same shape."
            )
        if isinstance(answer, Dense):
            require_finite(answer.array, "the oracle's answer")
        elif not np.isfinite(answer.norm_squared()):
            raise ValueError("the oracle's answer has entries that are NaN or infinite; check it on this direction.")
        return answer

    def violation(self, x: Array) -> float:
        if self._violation is None:
            raise ValueError("this Oracle was given no membership test; pass violation= to have one.")
        return float(self._violation(np.asarray(x)))

    def diameter(self, shape: tuple[int, ...]) -> float:
        if self._diameter is None:
            raise ValueError("this Oracle does not know its diameter; pass diameter=, or choose a rule without it.")
        return self._diameter

    def _parameters(self) -> dict[str, Any]:
        # A function has no value to hash that survives the process: a checkpoint knows it by its name.
        names = {
            key: None if function is None else getattr(function, "__qualname__", type(function).__name__)
            for key, function in (("lmo", self._lmo), ("violation", self._violation))
        }
        return {
            "lmo": names["lmo"],
            "diameter": self._diameter,
            "violation": names["violation"],
            "shape": self.shape,
        }
