"""Flows of paths: what the corrective method keeps, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._arrays import Array, check_array, positive_int
from ...constraints.flows import Assignment, PathPolytope, Routing
from . import jitted

LEAST = 1e-14
"""Flows of a path below this fraction of the demand are dropped."""
_TYPES = {"first": np.int64, "starts": np.int64, "edges": np.int32, "flow": np.float64}


class PathFlows:
    """The paths that each demand uses, and their flows: x as a sum over demands.

    Attributes
    ----------
    polytope : PathPolytope
    first : array (K + 1,)
        Demand k has the paths first[k] to first[k + 1] - 1.
    starts : array (P + 1,)
        Path j has the edges ``edges[starts[j]:starts[j + 1]]``, from its target back to its source.
    edges : array
    flow : array (P,)
    """

    def __init__(self, polytope: PathPolytope, first: Array, starts: Array, edges: Array, flow: Array) -> None:
        self.polytope, self.first, self.starts, self.edges, self.flow = polytope, first, starts, edges, flow

    @classmethod
    def none(cls, polytope: PathPolytope) -> PathFlows:
        """No paths yet."""
        demands = len(polytope.demands)
        return cls(polytope, np.zeros(demands + 1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))

    def __len__(self) -> int:
        return len(self.flow)

    def __repr__(self) -> str:
        return f"<PathFlows: {len(self)} paths of {len(self.first) - 1} demands>"

    def of(self, demand: int) -> list[tuple[Array, float]]:
        """The paths of a demand by its number, each as its edges from the source on and its flow, largest first."""
        if isinstance(demand, bool) or demand != 0:
            positive_int(demand, "the number of a demand")
        if demand >= len(self.first) - 1:
            raise ValueError(f"there are demands 0 to {len(self.first) - 2}, but not {demand}.")
        paths = range(self.first[demand], self.first[demand + 1])
        found = [(self.edges[self.starts[j] : self.starts[j + 1]][::-1].copy(), float(self.flow[j])) for j in paths]
        return sorted(found, key=lambda path: -path[1])

    def load(self) -> Array:
        """x, the flows of the edges."""
        x = np.empty(len(self.polytope.edges))
        jitted.load(self.starts, self.edges, self.flow, x)
        return x

    def by_origin(self) -> Array:
        """The flows of each origin, (O, E), in the order of the numbers of the origins; they add up to x."""
        routing = self.polytope.routing
        path_of = np.repeat(np.arange(len(self)), np.diff(self.starts))
        demand_of = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))
        flows = np.zeros((int(routing.origin.max()) + 1, len(self.polytope.edges)))
        np.add.at(flows, (routing.origin[demand_of[path_of]], self.edges), self.flow[path_of])
        return flows

    def joined(self, vertex: Assignment, costs: Array) -> tuple[PathFlows, Array]:
        """With the paths of a vertex that are cheaper than those in use, and without those of no flow; and for each
        demand the number of its cheapest path."""
        r, demands = self.polytope.routing, len(self.first) - 1
        tree = (vertex.trees, r.origin, r.source, r.target, r.tails, self.first, self.starts, self.edges, self.flow)
        best, joins = np.empty(demands, np.int64), np.empty(demands, np.bool_)
        paths, size = jitted.survey(*tree, costs, best, joins)
        new = np.empty(demands + 1, np.int64), np.empty(paths + 1, np.int64), np.empty(size, np.int32), np.empty(paths)
        jitted.merge(*tree, best, joins, *new)
        return PathFlows(self.polytope, *new), best

    def tidy(self) -> None:
        """Let the flows of each demand add up to its amount again, whatever rounding did."""
        jitted.rescale(self.first, self.flow, self.polytope.routing.amount, LEAST)

    # Checkpoints.

    def to_arrays(self) -> dict[str, Array]:
        return {f"paths.{name}": getattr(self, name).copy() for name in _TYPES}

    @classmethod
    def from_arrays(cls, polytope: PathPolytope, arrays: Mapping[str, Any]) -> PathFlows:
        """What `to_arrays` gave, or a ValueError if they are no paths of the demands that carry their amounts."""
        made = {}
        for name, dtype in _TYPES.items():
            given = arrays.get(f"paths.{name}")
            shape = given.shape if isinstance(given, np.ndarray) and given.ndim == 1 else (0,)
            made[name] = check_array(given, f"the checkpoint's paths.{name}", shape, dtype)
        if not _are_paths(polytope.routing, len(polytope.edges), **made):
            raise ValueError("the checkpoint's paths do not carry the demands; start the run anew.")
        return cls(polytope, **made)


def _are_paths(r: Routing, count: int, first: Array, starts: Array, edges: Array, flow: Array) -> bool:
    """Whether the table is one, each row leads from the source of its demand to its target, and the flows add up."""

    def partition(ends: Array, parts: int, whole: int) -> bool:
        fits = len(ends) == parts + 1 and ends[0] == 0 and ends[-1] == whole
        return bool(fits and (np.diff(ends) > 0).all())

    if not (partition(first, len(r.amount), len(flow)) and partition(starts, len(flow), len(edges))):
        return False
    if edges.min() < 0 or edges.max() >= count or flow.min() < 0:
        return False
    demand_of = np.repeat(np.arange(len(r.amount)), np.diff(first))
    inside = np.ones(len(edges), dtype=bool)
    inside[starts[1:] - 1] = False
    linked = r.tails[edges[:-1]] == r.heads[edges[1:]]
    begins = r.tails[edges[starts[1:] - 1]] == r.source[demand_of]
    ends = r.heads[edges[starts[:-1]]] == r.target[demand_of]
    total = np.bincount(demand_of, flow, len(r.amount))
    carried = np.abs(total - r.amount) <= 1e-9 * r.amount
    return bool(linked[inside[:-1]].all() and begins.all() and ends.all() and carried.all())
