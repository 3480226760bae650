"""The contract of a constraint set C: what the solver may ask, and what an implementer must provide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import Array, digest, host, is_foreign, is_traced, plain, require_finite, shown
from .._refusals import Refusing
from ..boosting import Direction, boost
from ..vertices import Vertex


def _refusing_nan(lmo: Callable[..., Vertex]) -> Callable[..., Vertex]:
    """The oracle of a set, asked only for finite directions: a pass over them, the cheapest there is."""

    @wraps(lmo)
    def checked(self: Constraint, direction: Array) -> Vertex:
        if not is_traced(direction):
            require_finite(direction if is_foreign(direction) else plain(direction, "the direction"), "the direction")
        return lmo(self, direction)

    return checked


class Constraint(Refusing, ABC):
    """A nonempty compact convex set, known through its linear minimisation oracle.

    An implementer provides `lmo`, `violation` and `diameter`. The three rules of an LMO here:

    - it returns a *vertex* (an extreme point of C), never another point of a face, and leaves C on no input;
    - for a zero or tied direction it returns the same vertex each time (the first index wins);
    - for complex variables it minimises Re<direction, v>, conjugate included.

    Attributes
    ----------
    shape : tuple of int or None
        Shape of the variable where the set fixes it, None where the set exists in every dimension.
    suggested_rounds : int
        Default of `max_rounds` (K): large where an LMO is cheap against a gradient, 5 where it is not
        (paper, "When to Boost?").
    few_atoms : bool
        Whether solutions are mostly combinations of few of finitely many vertices, so that methods which keep an
        active set pay.
    few_curved_atoms : bool
        The same where those few come from a continuum, as the directions within a group do: correcting their weights
        pays, moving weight from one to another does not.
    has_membership : bool
        False where nobody can tell whether a point lies in C (an `Oracle` without a test): x0 is then taken on trust.
    any_array : bool
        Whether `lmo` takes PyTorch and JAX arrays too, and answers with a vertex on their device; `violation` and
        the rest of the contract know NumPy only. False where the oracle works on the host.
    """

    shape: tuple[int, ...] | None = None
    suggested_rounds: int = 10_000
    few_atoms: bool = False
    few_curved_atoms: bool = False
    has_membership: bool = True
    any_array: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        if "lmo" in vars(cls):
            cls.lmo = _refusing_nan(cls.lmo)  # type: ignore[method-assign]
        super().__init_subclass__(**options)

    @abstractmethod
    def lmo(self, direction: Array) -> Vertex:
        """A vertex v of C that minimises Re<direction, v>. A direction that is not finite never comes here: no vertex
        is better than another for it, and the call is refused with a sentence."""

    @abstractmethod
    def violation(self, x: Array) -> float:
        """How far x is outside of C, relative to the size of C; 0.0 inside."""

    @abstractmethod
    def diameter(self, shape: tuple[int, ...]) -> float:
        """Euclidean diameter D = max ||x - y|| over C (an upper bound where that is all one can say)."""

    def contains(self, x: Array, tolerance: float = 1e-9) -> bool:
        """Whether x lies in C up to a relative `tolerance`."""
        return bool(self.violation(host(x)) <= tolerance)

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """A number that is certainly not above min over C of Re<direction, v>, up to rounding: what an exact gap needs.

        Here the value at `vertex`, which is lmo(direction): the oracle is exact, or its word is trusted. A set whose
        oracle stops at a tolerance overrides this, and `solves_exactly`.
        """
        return vertex.inner(direction)

    def solves_exactly(self, shape: tuple[int, ...]) -> bool:
        """Whether the value at lmo(direction) is the minimum up to rounding, for variables of this shape."""
        return True

    def start(self, shape: tuple[int, ...], dtype: npt.DTypeLike = float) -> Vertex:
        """The set's own start vertex: lmo(0)."""
        return self.lmo(np.zeros(shape, dtype=dtype))

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost on this set. The generic one; sets with structure override it with a faster equal."""
        if is_foreign(x):
            from ._array_boost import boost_on_device  # which knows the sets

            found = boost_on_device(self, m, x, max_rounds, min_gain)
            if found is not None:
                return found
        return boost(m, x, self.lmo, max_rounds, min_gain)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError if a variable of this shape cannot live in C. Sets that need matrices override it."""
        if self.shape is not None and not (isinstance(shape, tuple) and shape == self.shape):
            raise ValueError(f"{self!r} holds variables of shape {self.shape}, but the objective's has {shown(shape)}.")

    def _parameters(self) -> dict[str, Any]:
        """What defines the set, in the order of the constructor: shown by repr and hashed by `fingerprint`."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def fingerprint(self) -> str:
        """Hash of the set, by which a checkpoint recognises it."""
        return digest(type(self).__name__, *(part for item in self._parameters().items() for part in item))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}=<array {value.shape}>" if isinstance(value, np.ndarray) else f"{name}={value!r}"
            for name, value in self._parameters().items()
        )
        return f"{type(self).__name__}({shown})"
