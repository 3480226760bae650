"""Flows on graphs: shortest paths against all paths and SciPy, ties, membership, and graphs as people have them."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from bsfw.constraints import ConvexHull, PathPolytope
from bsfw.vertices import Sparse

examples = settings(deadline=None, max_examples=50)
entries = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-10, 10))


def simple_paths(edges, source, target):
    """Incidence vectors of all simple paths."""
    found = []

    def walk(node, visited, used):
        if node == target:
            found.append(np.bincount(used, minlength=len(edges)).astype(float))
            return
        for e, (tail, head) in enumerate(edges):
            if tail == node and head not in visited:
                walk(head, visited | {head}, [*used, e])

    walk(source, {source}, [])
    return found


@st.composite
def networks(draw, acyclic):
    nodes = draw(st.integers(2, 5))
    pairs = [(i, j) for i in range(nodes) for j in range(nodes) if (i < j if acyclic else i != j)]
    extra = draw(st.lists(st.sampled_from(pairs), max_size=5))  # repeated ones are parallel edges
    edges = [(i, i + 1) for i in range(nodes - 1)] + extra
    number = draw(st.integers(1, 3))
    ends = [sorted(draw(st.permutations(range(nodes)))[:2]) for _ in range(number)]
    return edges, [(s, t, 1.0 + k) for k, (s, t) in enumerate(ends)]


def sums_of_paths(edges, demands):
    choices = [[amount * p for p in simple_paths(edges, s, t)] for s, t, amount in demands]
    return np.array([np.sum(choice, axis=0) for choice in product(*choices)])


def assert_extreme(v, vertices):
    others = vertices[np.abs(vertices - v).max(axis=1) > 1e-9]
    assert len(others) < len(vertices)
    assert not len(others) or ConvexHull(others).violation(v) > 1e-6


@examples
@given(networks(acyclic=True), st.data())
def test_paths_of_an_acyclic_graph_are_best_for_any_costs(network, data):
    edges, demands = network
    vertices = sums_of_paths(edges, demands)
    constraint = PathPolytope(edges, demands)
    for g in (np.zeros(len(edges)), data.draw(arrays(float, len(edges), elements=entries))):
        v = constraint.lmo(g)
        assert isinstance(v, Sparse)
        assert v.inner(g) == pytest.approx((vertices @ g).min(), abs=1e-9)
        assert_extreme(v.dense(), vertices)
        assert constraint.contains(v.dense())


@examples
@given(networks(acyclic=False), st.data())
def test_paths_of_a_graph_with_cycles_are_best_without_negative_cycles(network, data):
    edges, demands = network
    vertices = sums_of_paths(edges, demands)
    constraint = PathPolytope(edges, demands)
    # Nonnegative costs plus a potential difference: negative edges, but no negative cycle. Many cycles of cost zero.
    nodes = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=5, max_size=5)), dtype=float)
    base = data.draw(arrays(float, len(edges), elements=st.sampled_from([0.0, 0.1, 0.7, 2.0])))
    for g in (base, base + np.array([0.1 * (nodes[j] - nodes[i]) for i, j in edges])):
        v = constraint.lmo(g)
        assert v.inner(g) == pytest.approx((vertices @ g).min(), abs=1e-9)
        assert_extreme(v.dense(), vertices)
        assert constraint.contains(v.dense())


def test_paths_agree_with_dijkstra_on_a_larger_network():
    rng = np.random.default_rng(0)
    side = 8
    edges = [(i, j) for i in range(side**2) for j in (i + 1, i - 1, i + side, i - side) if 0 <= j < side**2]
    demands = [(int(s), int(t), 1.0) for s, t in rng.integers(0, side**2, (40, 2)) if s != t]
    g = rng.uniform(0.1, 1.0, len(edges))
    constraint = PathPolytope(edges, demands)
    rows, columns = np.array(edges).T
    distances = dijkstra(sparse.csr_array((g, (rows, columns)), shape=(side**2, side**2)))
    v = constraint.lmo(g)
    assert v.inner(g) == pytest.approx(sum(distances[s, t] for s, t, _ in demands))
    assert constraint.diameter(g.shape) >= np.linalg.norm(v.dense() - constraint.lmo(g[::-1].copy()).dense())


def test_paths_in_blocks_of_sources_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    edges = [(i, j) for i in range(9) for j in range(i + 1, 10)]
    demands = [(i, 9, 1.0 + i) for i in range(9)]
    g = rng.standard_normal(len(edges))
    whole = PathPolytope(edges, demands).lmo(g).dense()
    monkeypatch.setattr("bsfw.constraints.flows._BLOCK", 2 * 10)
    assert np.array_equal(PathPolytope(edges, demands).lmo(g).dense(), whole)


def test_demands_do_not_break_ties_against_each_other():
    # Both demands pass 2 -> {3, 4} -> 5, at equal cost; apart they would give a point that is no vertex.
    edges = [(0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6), (5, 7)]
    demands = [(0, 6, 1.0), (1, 7, 1.0)]
    constraint = PathPolytope(edges, demands)
    for g in (np.zeros(8), np.array([1.0, -1.0, 0.3, 0.3, 0.7, 0.7, 2.0, 0.0])):
        assert_extreme(constraint.lmo(g).dense(), sums_of_paths(edges, demands))


def test_rounding_makes_neither_demands_disagree_nor_cycles_negative():
    # a + b against its rounded sum, or minus it around a cycle, after distances of all kinds.
    split = PathPolytope([(0, 2), (1, 2), (2, 3), (3, 4), (2, 4), (4, 5), (4, 6)], [(0, 5, 1.0), (1, 6, 1.0)])
    ring = PathPolytope([(0, 1), (1, 2), (2, 3), (3, 1)], [(0, 3, 1.0)])
    rng = np.random.default_rng(0)
    for first, second, a, b in np.round(rng.uniform(0, 1, (200, 4)), 2):
        flow = split.lmo(np.array([first, second, a, b, a + b, 0.0, 0.0])).dense()
        assert flow[2] in (0.0, 2.0)
        assert ring.lmo(np.array([first, a, b, -(a + b)])).dense().tolist() == [1.0, 1.0, 1.0, 0.0]


def test_negative_cycle_has_its_sentence():
    constraint = PathPolytope([(0, 1), (1, 2), (2, 1)], [(0, 2, 1.0)])
    with pytest.raises(ValueError, match="must not have negative cycles; use an objective"):
        constraint.lmo(np.array([1.0, 1.0, -2.0]))
    assert constraint.lmo(np.array([1.0, 1.0, -1.0])).dense().tolist() == [1.0, 1.0, 0.0]


def test_violation_of_flows():
    edges, demands = [(0, 1), (0, 2), (1, 3), (2, 3)], [(0, 3, 2.0)]
    constraint = PathPolytope(edges, demands)
    assert constraint.violation(np.array([1.5, 0.5, 1.5, 0.5])) == 0.0
    assert constraint.violation(np.array([1.5, 0.5, 1.3, 0.7])) == pytest.approx(0.1)  # 0.2 lost at a node, total 2
    assert constraint.violation(np.array([2.2, -0.2, 2.2, -0.2])) == pytest.approx(0.1)
    assert constraint.violation(np.array([1.5, 0.7, 1.5, 0.7])) == pytest.approx(0.1)  # too much arrives


def test_violation_sees_that_a_conserved_flow_serves_the_wrong_demands():
    # 0 -> 2 and 1 -> 3 share the node 4, but the flow below is what 0 -> 3 and 1 -> 2 with other routes would need.
    edges = [(0, 2), (1, 3), (0, 3), (1, 2)]
    swapped = np.array([0.0, 0.0, 1.0, 1.0])
    constraint = PathPolytope(edges, [(0, 2, 1.0), (1, 3, 1.0)])
    assert constraint.violation(swapped) > 0.1
    assert constraint.violation(np.array([1.0, 1.0, 0.0, 0.0])) < 1e-12


CITIES = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "b")]


def test_graphs_with_names_are_the_graphs_with_numbers():
    demands, g = [("a", "d", 2.0), ("c", "b", 1.0)], np.array([1.0, 2.0, 3.0, 1.5, 0.2])
    numbers = {name: k for k, name in enumerate("abcd")}
    plain = PathPolytope([(numbers[i], numbers[j]) for i, j in CITIES], [(0, 3, 2.0), (2, 1, 1.0)])
    for named in (
        PathPolytope(CITIES, demands),
        PathPolytope(np.array(CITIES), demands),
        PathPolytope([((0, i), (0, j)) for i, j in CITIES], [((0, i), (0, j), amount) for i, j, amount in demands]),
    ):
        assert named.lmo(g).dense().tolist() == plain.lmo(g).dense().tolist() == [0.0, 2.0, 0.0, 3.0, 1.0]
        assert [name[-1] for name in named.nodes] == list("abcd")


def test_edges_of_a_networkx_graph_are_in_its_order_and_may_be_parallel():
    graph = nx.MultiDiGraph([("a", "b"), ("b", "c"), ("a", "b"), ("a", "c")])
    constraint = PathPolytope(graph, [("a", "c", 2.0)])
    assert [(constraint.nodes[i], constraint.nodes[j]) for i, j in constraint.edges] == list(graph.edges())
    assert constraint.lmo(np.array([1.0, 0.5, 3.0, 0.1])).dense().tolist() == [0.0, 2.0, 0.0, 2.0]  # a-b, a-b, a-c, b-c


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_entries_of_a_sparse_matrix_are_edges_row_by_row(kind):
    rows, columns = np.array([1, 0, 0, 2]), np.array([2, 2, 1, 3])
    lengths = kind((np.array([1.0, 5.0, 2.0, 0.0]), (rows, columns)), shape=(4, 4))
    constraint = PathPolytope(lengths, [(0, 3, 1.0)])
    assert constraint.edges.tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert constraint.lmo(sparse.csr_array(lengths).data).dense().tolist() == [1.0, 0.0, 1.0, 1.0]


@examples
@given(networks(acyclic=False), st.data())
def test_no_path_passes_through_a_centroid(network, data):
    edges, demands = network
    centroids = data.draw(st.lists(st.integers(0, 4), max_size=2))
    centroids = [c for c in centroids if c <= max(map(max, edges))]
    allowed = []
    for source, target, amount in demands:
        heads = np.array(edges)[:, 1]
        inner = [c for c in centroids if c not in (source, target)]
        paths = [p for p in simple_paths(edges, source, target) if not np.isin(heads[p > 0], inner).any()]
        allowed.append([amount * p for p in paths])
    if not all(allowed):
        with pytest.raises(ValueError, match="no path leads from node"):
            PathPolytope(edges, demands, centroids)
        return
    vertices = np.array([np.sum(choice, axis=0) for choice in product(*allowed)])
    constraint = PathPolytope(edges, demands, centroids)
    g = data.draw(arrays(float, len(edges), elements=st.sampled_from([0.0, 0.1, 0.7, 2.0])))
    v = constraint.lmo(g)
    assert v.inner(g) == pytest.approx((vertices @ g).min(), abs=1e-9)
    assert constraint.contains(v.dense())
    if len(demands) == 1:  # with several, what is no path of one may be a sum of theirs
        through = PathPolytope(edges, demands).lmo(g).dense()
        assert constraint.contains(through) == any(np.array_equal(v, through) for v in vertices)


@pytest.mark.parametrize("centroids", [(), (0, 3)])
def test_a_vertex_knows_what_each_origin_sends(centroids):
    edges = [(0, 1), (1, 2), (2, 3), (3, 1), (2, 0), (1, 0)]
    demands = [(0, 3, 2.0), (0, 2, 1.0), (3, 2, 4.0), (1, 0, 0.5)]
    constraint = PathPolytope(edges, demands, centroids)
    g = np.array([1.0, 1.0, 1.0, 1.0, 5.0, 1.0])
    v = constraint.lmo(g)
    assert v.origins.tolist() == [0, 1, 3]
    flows = v.by_origin()
    assert flows.sum(axis=0).tolist() == v.dense().tolist()
    for flow, origin in zip(flows, v.origins, strict=True):
        alone = PathPolytope(edges, [d for d in demands if d[0] == origin], centroids)
        assert alone.lmo(g).dense().tolist() == flow.tolist()


def test_boosting_on_a_graph_with_cycles_improves_the_alignment_and_keeps_the_gap():
    edges = [(i, j) for i in range(4) for j in range(4) if i != j]
    constraint = PathPolytope(edges, [(0, 3, 2.0), (1, 2, 1.0), (2, 0, 1.5)])
    rng = np.random.default_rng(0)
    rounds = []
    for _ in range(20):
        m, x = rng.uniform(0.0, 1.0, len(edges)), constraint.lmo(rng.uniform(0.0, 1.0, len(edges))).dense()
        one, many = constraint.boost(m, x, 1, 1e-4), constraint.boost(m, x, 10, 1e-4)
        s = constraint.lmo(m).dense()
        assert many.gap == one.gap == pytest.approx(m @ (x - s), abs=1e-12)
        assert many.alignment >= one.alignment
        assert constraint.contains(x + many.dense(x))
        rounds.append(len(many.vertices))
    assert max(rounds) > 1


@pytest.mark.parametrize(
    ("centroids", "message"),
    [([7], "centroids holds 7, which is no node of the graph of 3 nodes"), ("ab", "must be a list of nodes"),
     ([0.5], "centroids holds 0.5"), ([True], "centroids holds True"), (None, "must be a list of nodes")],
)  # fmt: skip
def test_bad_centroids_have_their_sentence(centroids, message):
    with pytest.raises(ValueError, match=message):
        PathPolytope([(0, 1), (1, 2)], [(0, 2, 1.0)], centroids)
