"""Flows along paths of a directed graph: the set of traffic assignment."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._arrays import Array
from ..boosting import Direction, boost
from ..vertices import Sparse, Vertex
from ._common import FixedShape, as_double, as_real, largest_component, scaled, worst
from ._graphs import numbered, numbered_demands, numbered_nodes
from .polytopes import HIGHS_OPTIONS

_SEED = 20_240_229
_TIE_BREAK = 1e-12  # relative to the largest |cost|
_BLOCK = 4_000_000  # distances in memory at once
_UNBALANCED = 1e-6
"""An error of flow conservation, relative to the total demand, that needs no second witness."""


class Routing(NamedTuple):
    """The demands of a `PathPolytope` as its trees know them, an entry each, and its edges.

    Attributes
    ----------
    origin : array (K,)
        Row of the tree.
    source, target : array (K,)
        Where its path begins and ends.
    amount : array (K,)
    tails, heads : array (E,)
        Where each edge begins and ends.
    """

    origin: Array
    source: Array
    target: Array
    amount: Array
    tails: Array
    heads: Array


@dataclass(frozen=True, slots=True, eq=False)
class Assignment(Sparse):
    """A vertex of a `PathPolytope`: every demand on one path, and all paths of an origin in one tree.

    Attributes
    ----------
    trees : array (O, nodes)
        The edge by which the path from each origin reaches each node, -1 where none does. A centroid is there a second
        time, behind the nodes, as the place where paths begin.
    polytope : PathPolytope
    """

    trees: Array
    polytope: PathPolytope

    @property
    def origins(self) -> Array:
        """The nodes where demands begin, O of them."""
        return self.polytope._origins

    def by_origin(self) -> Array:
        """The flows of each origin, (O, E); they add up to the vertex."""
        flows = np.zeros((len(self.origins), self.shape[0]))
        for origin, edge, amount in self.polytope._walk(self.trees):
            np.add.at(flows, (origin, edge), amount)
        return flows


class PathPolytope(FixedShape):
    """Edge flows that carry every demand from its source to its target along paths; a variable has one entry an edge.

    The set is the sum over demands of amount * conv{incidence vectors of simple paths}. The LMO is a shortest path for
    each demand (all-or-nothing assignment), one tree for each distinct source by SciPy's Dijkstra. Negative costs are
    first made nonnegative by potentials of the nodes (Johnson): one pass in topological order on an acyclic graph, for
    any costs; rounds of Bellman-Ford on a graph with cycles, of which none may have negative cost.

    Boosting asks for costs of any sign. On a graph with cycles its rounds after the first are therefore answered under
    costs clipped at zero: a vertex that need not be the best, but joins only if it improves the alignment. Round 0 is
    exact, and the gap with it.

    Equal costs are broken by a fixed perturbation of 1e-12 of the largest |cost|, the same for all demands. Left to
    rounding, demands could break a tie in different ways, and then the sum of their paths is no vertex; and a cycle of
    cost zero could look negative.

    Parameters
    ----------
    edges : sequence of (tail, head), networkx.DiGraph or SciPy sparse matrix
        Nodes are numbers from 0 on, or names (strings, tuples, ...). Edge k is entry k of a variable: of a graph, in
        the order of ``graph.edges``; of a matrix, its stored entries row by row, as in its sorted CSR form, whatever
        their values. Parallel edges are fine, loops are not. Kept as an integer array of shape (E, 2).
    demands : sequence of (source, target, amount)
        What must flow, amount > 0. Kept as an array, with the nodes by number.
    centroids : sequence of nodes
        Where paths may begin and end, but not pass through, as at the zones of a road network. Kept as an array.

    Attributes
    ----------
    nodes : tuple or None
        Their names, by number; None where they are numbers already.
    """

    few_atoms = True
    suggested_rounds = 5

    def __init__(self, edges: Any, demands: Any, centroids: Sequence[Hashable] | Array = ()) -> None:
        self.edges, self._nodes = numbered(edges)
        self.demands = numbered_demands(demands, self._nodes)
        ends = self.demands[:, :2].astype(np.intp)
        count = int(max(self.edges.max(), ends.max())) + 1
        self.centroids = numbered_nodes(centroids, self._nodes, count)
        # A centroid is two nodes, without an edge between them: paths end at the first, and begin at the second.
        begin = np.arange(count)
        begin[self.centroids] = count + np.arange(len(self.centroids))
        self._count = count + len(self.centroids)
        self._tails, self._ends = begin[self.edges[:, 0]], self.edges[:, 1]
        self._origins, self._tree = np.unique(ends[:, 0], return_inverse=True)
        self._sources = begin[self._origins]
        self._targets, self._amounts = ends[:, 1], self.demands[:, 2]
        self._total = float(self._amounts.sum())
        self._shape = (len(self.edges),)
        self._levels = _levels(np.stack([self._tails, self._ends], axis=1), self._count)
        if self._levels is None:
            self._longest = self._count - 1
        else:
            self._longest = int(self._levels.max())
            level = self._levels[self._ends]
            self._stages = np.split(np.argsort(level, kind="stable"), np.cumsum(np.bincount(level))[:-1])
        # Edges sorted by tail and head: parallel ones follow each other, and the first of each pair are a CSR matrix.
        pairs = self._tails * self._count + self._ends
        self._order = np.argsort(pairs, kind="stable")
        self._pairs, self._starts = np.unique(pairs[self._order], return_index=True)
        self._heads = (self._pairs % self._count).astype(np.int32)
        self._rows = np.searchsorted(self._pairs, np.arange(self._count + 1) * self._count).astype(np.int32)
        self._perturbation = _TIE_BREAK * np.random.default_rng(_SEED).uniform(1.0, 2.0, len(self.edges))
        self._require_paths(ends)

    @property
    def nodes(self) -> tuple[Hashable, ...] | None:
        return self._nodes

    @property
    def routing(self) -> Routing:
        """The demands as the trees of a vertex know them."""
        source = self._sources[self._tree]
        return Routing(self._tree, source, self._targets, self._amounts, self._tails, self._ends)

    def _require_paths(self, ends: Array) -> None:
        from scipy.sparse.csgraph import dijkstra

        matrix, _ = self._matrix(self._perturbation)
        lost = np.zeros(len(ends), dtype=bool)
        for block in self._blocks():
            demands = self._demands_of(block)
            distances = dijkstra(matrix, indices=self._sources[block])
            lost[demands] = np.isinf(distances[self._tree[demands] - block[0], self._targets[demands]])
        if lost.any():
            k = int(np.argmax(lost))
            source, target = (end if self._nodes is None else repr(self._nodes[end]) for end in ends[k])
            raise ValueError(
                f"no path leads from node {source} to node {target}, as demand number {k} asks ({int(lost.sum())} such "
                "demands); edges are directed, add the missing ones."
            )

    def _blocks(self) -> list[Array]:
        """Numbers of the sources, so many at a time that their distances to all nodes fit into memory."""
        size = max(1, _BLOCK // self._count)
        return [np.arange(k, min(k + size, len(self._sources))) for k in range(0, len(self._sources), size)]

    def _demands_of(self, block: Array) -> Array:
        return np.flatnonzero((self._tree >= block[0]) & (self._tree <= block[-1]))

    def _matrix(self, cost: Array) -> tuple[Any, Array]:
        """The graph as SciPy wants it, and for each of its entries the cheapest of the parallel edges."""
        from scipy import sparse

        cost, cheapest = cost[self._order], self._order
        if len(self._starts) < len(cost):
            best = np.minimum.reduceat(cost, self._starts)
            pair = np.repeat(np.arange(len(best)), np.diff(self._starts, append=len(cost)))
            attained = np.flatnonzero(cost == best[pair])
            cheapest = self._order[attained[np.unique(pair[attained], return_index=True)[1]]]
            cost = best
        return sparse.csr_array((cost, self._heads, self._rows), shape=(self._count, self._count)), cheapest

    def lmo(self, direction: Array) -> Vertex:
        from scipy.sparse.csgraph import dijkstra

        g = as_real(direction, self)
        self.check_shape(g.shape)
        cost = as_double(scaled(g)[0])
        cost = self._nonnegative(cost / (largest_component(cost) or 1.0) + self._perturbation)
        matrix, edge_of = self._matrix(cost)
        flow = np.zeros(len(self.edges))
        trees = np.full((len(self._sources), self._count), -1, dtype=np.int32)
        for block in self._blocks():
            _, before = dijkstra(matrix, indices=self._sources[block], return_predecessors=True)
            origin, node = np.nonzero(before >= 0)
            tail = before[origin, node].astype(np.intp)
            trees[block[0] + origin, node] = edge_of[np.searchsorted(self._pairs, tail * self._count + node)]
        for _, edge, amount in self._walk(trees):
            flow += np.bincount(edge, amount, len(flow))
        used = np.flatnonzero(flow)
        values = flow[used].astype(g.dtype, copy=False)
        return Assignment(used, values, g.shape, trees, self)

    def _walk(self, trees: Array) -> Iterator[tuple[Array, Array, Array]]:
        """All demands walk back from their targets together, one edge at a time: number of the origin, edge, amount."""
        origin, node, amount = self._tree, self._targets, self._amounts
        while origin.size:
            edge = trees[origin, node]
            yield origin, edge, amount
            node = self._tails[edge]
            walking = node != self._sources[origin]
            origin, node, amount = origin[walking], node[walking], amount[walking]

    def boost(self, m: Array, x: Array, max_rounds: int, min_gain: float) -> Direction:
        """Algorithm Boost; on a graph with cycles, rounds after the first see costs clipped at zero."""
        if self._levels is not None:
            return super().boost(m, x, max_rounds, min_gain)
        first = self.lmo(m)
        answers = iter([first])
        return boost(m, x, lambda cost: next(answers, None) or self.lmo(np.maximum(cost, 0.0)), max_rounds, min_gain)

    def lower_bound(self, direction: Array, vertex: Vertex) -> float:
        """The value at the vertex, less what breaking ties can have cost."""
        ties = 2.0 * _TIE_BREAK * self._longest * self._total * largest_component(as_real(direction, self))
        return vertex.inner(direction) - ties

    def _nonnegative(self, cost: Array) -> Array:
        """Costs >= 0 with the same shortest paths: c_ij + h_i - h_j, h the distance from the nearest source."""
        if cost.min() >= 0:
            return cost
        tails, heads = self._tails, self._ends
        h = self._potentials(cost)
        reached = np.isfinite(h[tails])  # edges from elsewhere are on no path
        h = np.where(np.isfinite(h), h, 0.0)
        return np.where(reached, np.maximum(cost + h[tails] - h[heads], 0.0), 0.0)  # below 0 by rounding only

    def _potentials(self, cost: Array) -> Array:
        """Distances from the nearest source: in topological order, or by rounds of Bellman and Ford."""
        tails, heads = self._tails, self._ends
        h = np.full(self._count, np.inf)
        h[self._sources] = 0.0
        if self._levels is not None:
            for edges in self._stages:
                np.minimum.at(h, heads[edges], h[tails[edges]] + cost[edges])
            return h
        for _ in range(self._count):
            shorter = h.copy()
            np.minimum.at(shorter, heads, h[tails] + cost)
            if np.array_equal(h, shorter):
                return h
            h = shorter
        raise ValueError(
            "a cycle of the graph has negative cost, so no path is shortest: on a graph with cycles the costs must not "
            "have negative cycles; use an objective whose gradient is nonnegative, such as bsfw.LinkCosts, or a graph "
            "without cycles."
        )

    def violation(self, x: Array) -> float:
        """Error of flow conservation, negative flow, and what no choice of paths explains; relative to total demand.

        With one source, conservation and signs decide. With several, a linear program looks for one flow for each
        source that add up to x, unless conservation fails already; it has sources * E variables, so that on a network
        of thousands of edges it takes long. On a graph with cycles a circulation on top of a feasible flow is not
        noticed.
        """
        x = as_double(as_real(x, self))
        self.check_shape(x.shape)
        if not np.isfinite(x).all():
            return math.inf
        balance = np.zeros((len(self._sources), self._count))
        np.add.at(balance, (self._tree, self._targets), self._amounts)
        np.add.at(balance, (self._tree, self._sources[self._tree]), -self._amounts)
        inflow = np.bincount(self._ends, x, self._count) - np.bincount(self._tails, x, self._count)
        simple = worst(float(np.abs(inflow - balance.sum(axis=0)).max()) / self._total, -float(x.min()) / self._total)
        if len(self._sources) == 1 or simple > _UNBALANCED:
            return simple
        return worst(simple, self._unexplained(x / self._total, balance / self._total))

    def _unexplained(self, x: Array, balance: Array) -> float:
        """min t such that flows of the sources, each with its balance, add up to x within t, edge by edge."""
        from scipy import sparse
        from scipy.optimize import linprog

        count, sources = len(self.edges), len(self._sources)
        signs, columns = np.repeat([1.0, -1.0], count), np.tile(np.arange(count), 2)
        incidence = sparse.csr_array(
            (signs, (np.concatenate([self._ends, self._tails]), columns)), shape=(self._count, count)
        )
        conservation = sparse.hstack(
            [sparse.kron(sparse.eye_array(sources), incidence), sparse.csr_array((sources * self._count, 1))]
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
