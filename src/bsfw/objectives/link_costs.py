"""Costs of the links of a road network that grow with their flow: the objective of traffic assignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, digest, plain, require_finite, shown
from .base import Objective


class LinkCosts(Objective):
    """f(v) = sum_e of the integral of t_e from 0 to v_e, where t_e(v) = free_flow_e (1 + b_e (v / capacity_e)^power_e)
    + fixed_e is what link e costs each of its users (the BPR function of the US Bureau of Public Roads).

    The gradient is t(v), so over a `PathPolytope` the minimiser is the user equilibrium: no traveller has a cheaper
    path (Beckmann, McGuire and Winsten, 1956). Convex and separable: the Hessian is diagonal. Flows below zero, which
    only rounding makes, count as zero.

    Parameters
    ----------
    free_flow : array (E,)
        Time to pass the empty link, at least 0.
    capacity : array (E,) or number
        In units of flow, positive.
    b, power : array (E,) or number
        At least 0; the power is 0 or at least 1, so that the slope of t is finite.
    fixed : array (E,) or number
        What a user pays beside the time, in units of time and at least 0: tolls, distance.
    """

    quasar_rho = 1.0

    def __init__(self, free_flow: Any, capacity: Any, b: Any = 0.15, power: Any = 4.0, fixed: Any = 0.0) -> None:
        super().__init__()
        first = _numbers(free_flow, "free_flow")
        if first.ndim != 1 or not first.size:
            raise ValueError(f"free_flow must have one entry a link, shape (E,), but its shape is {first.shape}.")
        self.shape = first.shape
        self.free_flow = self._per_link(first, "free_flow")
        self.capacity = self._per_link(capacity, "capacity")
        self.b, self.power = self._per_link(b, "b"), self._per_link(power, "power")
        self.fixed = self._per_link(fixed, "fixed")
        if (self.capacity == 0).any():
            raise ValueError(
                f"capacity must be positive, but {int((self.capacity == 0).sum())} links have none; remove these, or "
                "give them b = 0 and any capacity."
            )
        if ((self.power > 0) & (self.power < 1)).any():
            raise ValueError(
                f"power must be 0 or at least 1, got {self.power[(self.power > 0) & (self.power < 1)][0]:g}: in "
                "between the slope of the cost is infinite at zero flow."
            )

    def _per_link(self, value: Any, name: str) -> Array:
        array = _numbers(value, name)
        if array.shape not in ((), self.shape):
            raise ValueError(f"{name} must be a number or have the shape {self.shape} of free_flow, not {array.shape}.")
        require_finite(array, name)
        if (array < 0).any():
            raise ValueError(f"{name} must not be negative, but its smallest entry is {array.min():g}.")
        return np.array(np.broadcast_to(array, self.shape or ()), dtype=float)

    def _load(self, v: Array) -> Array:
        return np.asarray(np.maximum(v, 0.0) / self.capacity)

    def _value(self, x: Array) -> float:
        v = np.maximum(x, 0.0)
        with np.errstate(over="ignore"):  # an infinite f ends the run, and says so
            congestion = self.b * self._load(x) ** self.power / (self.power + 1.0)
            return float(v @ (self.free_flow * (1.0 + congestion) + self.fixed))

    def _gradient(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(self.free_flow * (1.0 + self.b * self._load(x) ** self.power) + self.fixed)

    def _curvatures(self, x: Array) -> Array:
        """dt_e/dv_e: the diagonal of the Hessian."""
        with np.errstate(over="ignore"):
            return np.asarray(
                self.free_flow
                * self.b
                * self.power
                / self.capacity
                * self._load(x) ** np.maximum(self.power - 1.0, 0.0)
            )

    def _hessian_product(self, x: Array, direction: Array) -> Array:
        return self._curvatures(x) * direction

    def total(self, x: Array) -> float:
        """What all users pay together, sum_e v_e t_e(v_e): the total travel time, with tolls and distances."""
        x = self._point(x)
        return float(np.maximum(x, 0.0) @ self._gradient(x))

    def tolls(self, x: Array) -> Array:
        """v_e dt_e/dv_e: what one more user of link e costs the others. Charged as `fixed` at the flows of the system
        optimum, they make it the user equilibrium (Pigou)."""
        x = self._point(x)
        return np.asarray(np.maximum(x, 0.0) * self._curvatures(x))

    def system(self) -> LinkCosts:
        """The objective whose value is `total`: its minimiser is the system optimum. That is a BPR function too, with
        b (power + 1) for b."""
        return LinkCosts(self.free_flow, self.capacity, self.b * (self.power + 1.0), self.power, self.fixed)

    def with_fixed(self, fixed: Any) -> LinkCosts:
        """The same links with other fixed costs, such as tolls."""
        return LinkCosts(self.free_flow, self.capacity, self.b, self.power, fixed)

    def fingerprint(self) -> str:
        """Hash of the parameters, by which a checkpoint recognises the problem."""
        return digest(type(self).__name__, self.free_flow, self.capacity, self.b, self.power, self.fixed)


def _numbers(value: Any, name: str) -> Array:
    array = plain(value, name)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got {shown(value)}.")
    return array.astype(float)
