"""Flows along paths of a directed graph: the set of traffic assignment."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array, require_finite
from ..vertices import Sparse, Vertex
from ._common import FixedShape, as_double, as_real, largest_component, scaled, worst
from .polytopes import HIGHS_OPTIONS

_SEED = 20_240_229
_TIE_BREAK = 1e-12  # relative to the largest |cost|
_BLOCK = 4_000_000  # numbers in memory for one relaxation


class _Stage(NamedTuple):
    """Edges that are relaxed together, sorted by head: ``heads[j]`` has the edges from ``starts[j]`` on."""

    edges: Array
    tails: Array
    heads: Array
    starts: Array
    counts: Array


class PathPolytope(FixedShape):
    """Edge flows that carry every demand from its source to its target along paths; a variable has one entry an edge.

    The set is the sum over demands of amount * conv{incidence vectors of simple paths}. The LMO is a shortest path for
    each demand (all-or-nothing assignment), one tree for each distinct source:

    - acyclic graph: in topological order, any costs, O(sources * edges);
    - graph with cycles: Bellman-Ford, O(sources * edges) a round and as many rounds as the longest shortest path has
      edges. Costs may be negative, cycles of negative cost may not. Boosting asks for such costs, so on a graph with
      cycles `suggested_rounds` is 1.

    Equal costs are broken by a fixed perturbation of 1e-12 of the largest |cost|, the same for all demands. Left to
    rounding, demands could break a tie in different ways, and then the sum of their paths is no vertex; and a cycle of
    cost zero could look negative.

    Parameters
    ----------
    edges : integer array of shape (E, 2)
        Tail and head of each edge; nodes are numbered from 0. Parallel edges are fine, loops are not.
    demands : sequence of (source, target, amount)
        What must flow, amount > 0.
    """

    few_atoms = True

    def __init__(self, edges: Any, demands: Any) -> None:
        self.edges = _edges(edges)
        self.demands = _demands(demands)
        ends = self.demands[:, :2].astype(np.intp)
        self._nodes = int(max(self.edges.max(), ends.max())) + 1
        self._sources, self._tree = np.unique(ends[:, 0], return_inverse=True)
        self._targets, self._amounts = ends[:, 1], self.demands[:, 2]
        self._total = float(self._amounts.sum())
        self._shape = (len(self.edges),)
        levels = _levels(self.edges, self._nodes)
        self._acyclic = levels is not None
        by_head = np.argsort(self.edges[:, 1], kind="stable")
        if levels is None:
            self._stages = [self._stage(by_head)]
            self._longest = self._nodes - 1
        else:
            level = levels[self.edges[by_head, 1]]
            self._longest = int(level.max())
            self._stages = [self._stage(by_head[level == k]) for k in range(1, self._longest + 1)]
        self._perturbation = _TIE_BREAK * np.random.default_rng(_SEED).uniform(1.0, 2.0, len(self.edges))
        reached = np.vstack([np.isfinite(distances) for _, distances, _ in self._trees(self._perturbation)])
        lost = ~reached[self._tree, self._targets]
        if lost.any():
            source, target = ends[int(np.argmax(lost))]
            raise ValueError(
                f"no path leads from node {source} to node {target}, as demand number {int(np.argmax(lost))} asks "
                f"({int(lost.sum())} such demands); edges are directed, add the missing ones."
            )

    @property
    def suggested_rounds(self) -> int:  # type: ignore[override]  # a class attribute in the base
        return 5 if self._acyclic else 1

    def _stage(self, edges: Array) -> _Stage:
        heads, starts, counts = np.unique(self.edges[edges, 1], return_index=True, return_counts=True)
        return _Stage(edges, self.edges[edges, 0], heads, starts, counts)

    def _trees(self, cost: Array) -> list[tuple[Array, Array, Array]]:
        """For blocks of sources: their numbers, distances to all nodes, last edges of the shortest paths."""
        size = max(1, _BLOCK // len(self.edges))
        out = []
        for begin in range(0, len(self._sources), size):
            block = np.arange(begin, min(begin + size, len(self._sources)))
            distances = np.full((len(block), self._nodes), np.inf)
            distances[np.arange(len(block)), self._sources[block]] = 0.0
            last = np.full(distances.shape, -1, dtype=np.intp)
            if self._acyclic:
                for stage in self._stages:
                    _relax(stage, cost, distances, last)
            else:
                rounds = 0
                while _relax(self._stages[0], cost, distances, last):
                    rounds += 1
                    if rounds >= self._nodes:
                        raise ValueError(
                            "a cycle of the graph has negative cost, so no path is shortest: on a graph with cycles "
                            "the costs must not have negative cycles; use max_rounds=1 (boosting asks for such costs), "
                            "or an acyclic graph."
                        )
            out.append((block, distances, last))
        return out

    def lmo(self, direction: Array) -> Vertex:
        g = as_real(direction, self)
        self.check_shape(g.shape)
        require_finite(g, "the direction")
        cost = as_double(scaled(g)[0])
        cost = cost / (largest_component(cost) or 1.0) + self._perturbation
        flow = np.zeros(len(self.edges))
        for block, _, last in self._trees(cost):
            # All demands of the block walk back from their targets together, one edge at a time.
            demands = np.flatnonzero((self._tree >= block[0]) & (self._tree <= block[-1]))
            tree, node = self._tree[demands] - block[0], self._targets[demands]
            while demands.size:
                edge = last[tree, node]
                np.add.at(flow, edge, self._amounts[demands])
                node = self.edges[edge, 0]
                walking = node != self._sources[self._tree[demands]]
                demands, tree, node = demands[walking], tree[walking], node[walking]
        used = np.flatnonzero(flow)
        return Sparse(used, flow[used].astype(g.dtype, copy=False), g.shape)

    def violation(self, x: Array) -> float:
        """Error of flow conservation, negative flow, and what no choice of paths explains; relative to total demand.

        With one source, conservation and signs decide. With several, a linear program looks for one flow for each
        source that add up to x. On a graph with cycles a circulation on top of a feasible flow is not noticed.
        """
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        balance = np.zeros((len(self._sources), self._nodes))
        np.add.at(balance, (self._tree, self._targets), self._amounts)
        np.add.at(balance, (self._tree, self._sources[self._tree]), -self._amounts)
        inflow = np.bincount(self.edges[:, 1], x, self._nodes) - np.bincount(self.edges[:, 0], x, self._nodes)
        simple = worst(float(np.abs(inflow - balance.sum(axis=0)).max()) / self._total, -float(x.min()) / self._total)
        if len(self._sources) == 1:
            return simple
        return worst(simple, self._unexplained(x / self._total, balance / self._total))

    def _unexplained(self, x: Array, balance: Array) -> float:
        """min t such that flows of the sources, each with its balance, add up to x within t, edge by edge."""
        from scipy import sparse
        from scipy.optimize import linprog

        count, sources = len(self.edges), len(self._sources)
        signs, columns = np.repeat([1.0, -1.0], count), np.tile(np.arange(count), 2)
        incidence = sparse.csr_array((signs, (self.edges[:, ::-1].T.ravel(), columns)), shape=(self._nodes, count))
        conservation = sparse.hstack(
            [sparse.kron(sparse.eye_array(sources), incidence), sparse.csr_array((sources * self._nodes, 1))]
        )
        total = sparse.hstack([sparse.eye_array(count)] * sources)
        slack = sparse.csr_array(np.full((count, 1), -1.0))
        found = linprog(
            np.append(np.zeros(sources * count), 1.0),
            sparse.vstack([sparse.hstack([total, slack]), sparse.hstack([-total, slack])]).tocsr(),
            np.concatenate([x, -x]),
            conservation.tocsr(),
            balance.ravel(),
            method="highs-ds",
            options=HIGHS_OPTIONS,
        )
        return float(found.fun) if found.status == 0 else math.inf

    def diameter(self, shape: tuple[int, ...]) -> float:
        """Upper bound: two paths differ in at most min(2 * longest path, E) edges, amounts added up."""
        return self._total * math.sqrt(min(2 * self._longest, len(self.edges)))


def _relax(stage: _Stage, cost: Array, distances: Array, last: Array) -> bool:
    """Shorten the distances to the heads of a stage, in place; whether any got shorter. All sources at once."""
    through = distances[:, stage.tails] + cost[stage.edges]
    best = np.minimum.reduceat(through, stage.starts, axis=1)
    improved = best < distances[:, stage.heads]
    if not improved.any():
        return False
    attained = through == np.repeat(best, stage.counts, axis=1)
    position = np.where(attained, np.arange(len(stage.edges)), len(stage.edges))
    first = np.minimum.reduceat(position, stage.starts, axis=1)
    last[:, stage.heads] = np.where(improved, stage.edges[first], last[:, stage.heads])
    distances[:, stage.heads] = np.where(improved, best, distances[:, stage.heads])
    return True


def _levels(edges: Array, nodes: int) -> Array | None:
    """Most edges on a path that ends at each node (its place in topological order), or None if there is a cycle."""
    level = np.zeros(nodes, dtype=np.intp)
    waiting = np.bincount(edges[:, 1], minlength=nodes)
    order = np.argsort(edges[:, 0], kind="stable")
    begins = np.searchsorted(edges[order, 0], np.arange(nodes + 1))
    ready = np.flatnonzero(waiting == 0).tolist()
    done = 0
    while ready:
        node = ready.pop()
        done += 1
        for head in edges[order[begins[node] : begins[node + 1]], 1].tolist():
            level[head] = max(level[head], level[node] + 1)
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    return level if done == nodes else None


def _edges(edges: Any) -> Array:
    array = np.asarray(edges)
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"edges must be a nonempty list of pairs (tail, head) of node numbers, got an array of shape {array.shape} "
            f"and dtype {array.dtype}."
        )
    if array.min() < 0:
        raise ValueError(f"nodes are numbered from 0, but edges holds {int(array.min())}.")
    loops = int((array[:, 0] == array[:, 1]).sum())
    if loops:
        raise ValueError(f"edges holds {loops} loops (tail equal to head), which no path uses; remove them.")
    return array.astype(np.intp)


def _demands(demands: Any) -> Array:
    array = np.array(demands, dtype=float)
    if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0:
        raise ValueError(
            f"demands must be a nonempty list of (source, target, amount), got an array of shape {array.shape}."
        )
    require_finite(array, "demands")
    if (array[:, :2] < 0).any() or (array[:, :2] != np.floor(array[:, :2])).any():
        raise ValueError("source and target of a demand must be node numbers, whole and not negative.")
    if (array[:, 0] == array[:, 1]).any():
        raise ValueError("a demand has the same source and target, so nothing would flow; remove it.")
    if (array[:, 2] <= 0).any():
        raise ValueError("the amount of every demand must be positive; remove demands of zero.")
    return array
