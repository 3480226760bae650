"""The corrective engine on flows of paths: cheapest paths for the gap and as new atoms, Newton steps in between."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..._arrays import Array, inner, norm
from ...boosting import Direction
from ...constraints.flows import Assignment, PathPolytope
from ...objectives.link_costs import LinkCosts
from ...plan import Plan
from ...state import State
from ...steps import Move
from ..base import Engine
from . import jitted
from .paths import PathFlows

SWEEPS = 40
"""Sweeps over all demands on one set of paths, at most."""
ENOUGH = 0.1
"""The gap over the paths in use, relative to that over all, below which new paths are worth more."""


class Table:
    """What the sweeps look up and write down, an entry an edge.

    Attributes
    ----------
    links : tuple of array
        Cost without flow, what b multiplies, capacity, power.
    cost, slope : array
        At the flows of the last sweep.
    """

    def __init__(self, costs: LinkCosts) -> None:
        edges = len(costs.capacity)
        self.links = (costs.free_flow + costs.fixed, costs.free_flow * costs.b, costs.capacity, costs.power)
        self.cost, self.slope = np.empty(edges), np.empty(edges)
        self._marks, self._token = np.zeros(edges, np.int64), 1
        self._lists = np.empty(edges, np.int32), np.empty(edges, np.int32), np.zeros(2, np.int64)

    def sweep(self, several: Array, paths: PathFlows, x: Array) -> tuple[float, int]:
        """One sweep over the demands in `several`, in place: the gap that it met, and edges evaluated."""
        gap, evaluated, self._token = jitted.sweep(
            self.links, several, paths.first, paths.starts, paths.edges, paths.flow, x, self.cost, self.slope,
            self._marks, self._token, *self._lists,
        )  # fmt: skip
        return gap, evaluated


class FlowEngine(Engine):
    """Runs the iterations of one `State` for `LinkCosts` over a `PathPolytope`.

    An iteration asks for the cheapest path of every demand under the present costs, which gives the exact gap, and lets
    those join that are cheaper than the paths in use. Sweeps over the demands then move flow from each path to the
    cheapest of its demand by a Newton step with the diagonal Hessian, at costs that are kept up to date (gradient
    projection: Jayakrishnan, Tsai, Prashker and Rajadhyaksha, 1994). If f should not have decreased, a Frank-Wolfe step
    towards the cheapest paths takes their place, so that the method converges as that one does.

    The state's memory holds the paths. Evaluations of single edges in the sweeps count as gradients, E to one.

    Attributes
    ----------
    paths : PathFlows
        Those in use.
    """

    name = "flows"
    from_any_start = False

    def __init__(self, plan: Plan, state: State) -> None:
        super().__init__(plan, state)
        assert isinstance(plan.objective, LinkCosts) and isinstance(plan.constraint, PathPolytope)
        self.paths = PathFlows.from_arrays(plan.constraint, state.memory)
        self._table = Table(plan.objective)

    @classmethod
    def start(cls, plan: Plan, x0: Any, rng: np.random.Generator) -> State:
        """Every demand on its cheapest path through the empty network."""
        if x0 is not None:
            raise ValueError(
                "the corrective method on paths cannot know the paths of an x0: it begins with the cheapest ones "
                "of the empty network; leave x0 out, or use another method."
            )
        assert isinstance(plan.constraint, PathPolytope)
        state = State(x=np.zeros(plan.shape), rng=rng)
        with plan.objective.counting(state.counts):
            costs = plan.objective.gradient(state.x)
        vertex = plan.constraint.lmo(costs)
        state.lmo_calls += 1
        assert isinstance(vertex, Assignment)
        paths, best = PathFlows.none(plan.constraint).joined(vertex, costs)
        paths.flow[best] = plan.constraint.routing.amount
        state.x, state.memory = paths.load(), paths.to_arrays()
        return state

    def prepare(self, announce: Callable[[], None]) -> None:
        """Compile on one link, or load from the cache, so that no clock sees it; the loop announces compilations."""
        if jitted.sweep.signatures:
            return
        polytope = PathPolytope([(0, 1)], [(0, 1, 1.0)])
        plan = replace(self.plan, objective=LinkCosts([1.0], 1.0), constraint=polytope, shape=(1,))
        state = FlowEngine.start(plan, None, np.random.default_rng(0))
        toy = FlowEngine(plan, state)
        direction = toy._look(state)
        assert direction is not None
        toy._advance(state, direction)

    def _look(self, state: State) -> Direction | None:
        """Costs, the cheapest paths, and the exact gap."""
        x = state.x
        state.m = self.f.gradient(x)
        if not math.isfinite(norm(state.m)):
            return None
        vertex = self.plan.constraint.lmo(state.m)
        state.lmo_calls += 1
        gap = inner(state.m, x) - vertex.inner(state.m)
        d = vertex.add_to(-x, 1.0)
        length, size = norm(d), norm(state.m)
        alignment = gap / (size * length) if size * length > 0 else -1.0
        return Direction([vertex], [1.0], vertex, gap, -gap, alignment, length, length, 1)

    def _advance(self, state: State, direction: Direction) -> tuple[float, Move]:
        """Let cheaper paths join, and correct the flows."""
        assert isinstance(direction.vertex, Assignment) and state.m is not None
        x, costs = state.x, state.m
        paths, best = self.paths.joined(direction.vertex, costs)
        before = paths.flow.copy()
        new = self._corrected(paths, x, direction.gap)
        step = Move(1.0, False, 1.0)
        if not inner(self._table.cost, new - x) <= 0.0:  # else f is convex and has not grown
            step = self.plan.step(self.f, x, direction, 1.0)
            paths.flow = (1.0 - step.length) * before
            paths.flow[best] += step.length * paths.polytope.routing.amount
        paths.tidy()
        self.paths, state.x = paths, paths.load()
        state.iteration += 1
        return math.nan, step

    def _corrected(self, paths: PathFlows, x: Array, gap: float) -> Array:
        """Sweep until the gap over the paths is a fraction of `gap`; changes their flows. The new x."""
        new, table = x.copy(), self._table
        jitted.evaluate(table.links, new, table.cost, table.slope)
        several = np.flatnonzero(np.diff(paths.first) > 1)
        evaluated = new.size
        for _ in range(SWEEPS):
            left, count = table.sweep(several, paths, new)
            evaluated += count
            if not left > ENOUGH * gap:
                break
        counts = self.f.counts
        counts.sample_gradients += -(-evaluated // new.size)
        return new

    def publish(self, state: State) -> None:
        """Put the paths into the state's memory."""
        state.memory = self.paths.to_arrays()

    def extras(self) -> dict[str, Any]:
        """The flows of paths."""
        return {"path_flows": self.paths}

    @classmethod
    def restore(cls, plan: Plan, arrays: dict[str, Any]) -> dict[str, Any]:
        fields = super().restore(plan, arrays)
        assert isinstance(plan.constraint, PathPolytope)
        paths = PathFlows.from_arrays(plan.constraint, fields["memory"])
        if not np.allclose(paths.load(), fields["x"], rtol=1e-9, atol=1e-9 * plan.constraint.routing.amount.sum()):
            raise ValueError("the checkpoint's paths do not add up to its x; start the run anew.")
        return fields
