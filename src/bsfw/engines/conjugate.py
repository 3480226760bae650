"""Conjugate and bi-conjugate Frank-Wolfe: directions that are conjugate to those before them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, check_array, copied, inner, norm
from ..boosting import Direction
from ..plan import Plan
from ..state import State
from ..steps import Move
from ..vertices import Dense, Vertex, move
from .base import Engine, Offer

LEAST_NEW = 0.01
"""Weight of the new vertex at least (1 - delta of the paper at most for the old points), so that f goes down."""


class ConjugateEngine(Engine):
    """Runs the iterations of one `State` for the methods "conjugate" and "biconjugate".

    The direction is s - x, where s is a convex combination of the new vertex y = lmo(grad f(x)) and of the last one or
    two of such points. Its weights make it conjugate, in the Hessian at x, to what is left of the last directions
    (Mitradjieva and Lindberg, The stiff is moving, 2013); weights below zero become zero. A line search follows. Where
    it goes all the way nothing is left of that direction, and the next one is y - x again.

    An iteration costs a gradient, one LMO call, and two or three products with the Hessian.

    Attributes
    ----------
    points : list of array
        Where the last directions led, the latest first: none, one or two.
    length : float
        Of the last step.
    """

    name = "conjugate"

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        self._most = 2 if plan.method == "biconjugate" else 1
        kept = [state.memory[name] for name in ("conjugate.0", "conjugate.1") if name in state.memory]
        self.points: list[Array] = kept[: self._most]
        self.length = float(state.memory.get("conjugate.length", math.nan))

    def _look(self, state: State) -> Direction | None:
        x = state.x
        self._refit(state)
        state.m = g = self.f.gradient(x)
        if not math.isfinite(norm(g)):
            return None
        vertex = self.plan.constraint.lmo(g)
        state.lmo_calls += 1
        to_vertex = vertex.add_to(-x, 1.0)
        vertices: list[Vertex] = [vertex, *map(Dense, self.points)]
        weights = self._weights(x, to_vertex)
        d = _towards(x, vertices, weights)
        gap, slope = -inner(g, to_vertex), inner(g, d)
        if not slope < 0.0:
            vertices, weights, d, slope = [vertex], [1.0], to_vertex, -gap
        length, size = norm(d), norm(g)
        alignment = -slope / (size * length) if size * length > 0 else -1.0
        return Direction(vertices, weights, vertex, gap, slope, alignment, length, norm(to_vertex), 1)

    def _weights(self, x: Array, to_vertex: Array) -> list[float]:
        """Of the new vertex and of the points."""
        if not self.points:
            return [1.0]
        f, last = self.f, self.points[0] - x
        bent = f.hessian_product(x, to_vertex)
        nu, mu = -_ratio(inner(last, bent), inner(last, f.hessian_product(x, last))), 0.0
        if len(self.points) == 2:
            # What is left of the direction before the last: towards points[1], from where the last one began.
            change = self.points[1] - self.points[0]
            before = last + (1.0 - self.length) * change
            mu = max(0.0, -_ratio(inner(before, bent), inner(before, f.hessian_product(x, change))))
            nu += mu * self.length / (1.0 - self.length)
        old = np.array([max(0.0, nu), mu][: len(self.points)])
        most = 1.0 / LEAST_NEW - 1.0
        if old.sum() > most:
            old *= most / old.sum()
        return [float(weight) for weight in np.array([1.0, *old]) / (1.0 + old.sum())]

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """The step by line search. There is no eta: nan."""
        x = state.x
        chosen = self.plan.step(self.f, x, direction, 1.0)
        vertices, weights = (
            ([direction.vertex], [1.0]) if not chosen.boosted else (direction.vertices, direction.weights)
        )
        state.x = move(x, chosen.length, vertices, weights)
        if 0.0 < chosen.length < 1.0:
            point = _towards(x, vertices, weights) + x
            self.points = [point, *self.points][: self._most]
        else:
            self.points = []
        self.length = chosen.length
        state.iteration += 1
        return math.nan, chosen

    def publish(self, state: State) -> None:
        """Put the points and the last step into the state's memory."""
        state.memory = {f"conjugate.{k}": copied(point) for k, point in enumerate(self.points)}
        state.memory["conjugate.length"] = np.array(self.length)

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        fields = super().restore(plan, arrays)
        for name, array in fields["memory"].items():
            if name.startswith("conjugate."):
                last = name == "conjugate.length"
                check_array(array, f"the checkpoint's {name}", () if last else plan.shape, finite=not last)
        return fields


def _towards(x: Array, vertices: list[Vertex], weights: list[float]) -> Array:
    """sum_k weights_k vertices_k - x."""
    d = -x
    for vertex, weight in zip(vertices, weights, strict=True):
        d = vertex.add_to(d, weight)
    return d


def _ratio(over: float, under: float) -> float:
    """0 where nothing is left of a direction, or f does not bend along it."""
    return over / under if under != 0.0 and math.isfinite(over / under) else 0.0


def _refusal(plan: Plan) -> str | None:
    if plan.objective.has_hessian_product:
        return None
    return (
        f"method {plan.method!r} needs products with the Hessian, which {type(plan.objective).__name__} does not have; "
        "LinkCosts and Quadratic do, and bsfw.Function with hessp=."
    )


OFFER = Offer("conjugate", ("conjugate", "biconjugate"), _refusal, lambda: ConjugateEngine)
