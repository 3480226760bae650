"""Bad input, each with its own sentence."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from bsfw.constraints import (
    Birkhoff,
    Box,
    ConvexHull,
    Ellipsoid,
    GroupBall,
    KSparse,
    L1Ball,
    L2Ball,
    LinfBall,
    LpBall,
    NuclearBall,
    Oracle,
    PathPolytope,
    Permutahedron,
    Polytope,
    Product,
    Simplex,
    SpectralBall,
    Spectraplex,
)

EYE = np.eye(2)


@pytest.mark.parametrize(
    "make",
    [
        L1Ball,
        L2Ball,
        LinfBall,
        lambda r: LpBall(2, r),
        Simplex,
        lambda r: KSparse(1, r),
        lambda r: GroupBall([[0]], r),
        NuclearBall,
        SpectralBall,
        Spectraplex,
    ],
)
@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, "large", None])
def test_radius_must_be_positive_and_finite(make, radius):
    with pytest.raises(ValueError, match="radius must be a positive"):
        make(radius)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LpBall(0.5, 1.0), "p must be at least 1 .* got 0.5"),
        (lambda: LpBall(np.nan, 1.0), "p must be at least 1"),
        (lambda: LpBall("two", 1.0), "p must be a number of at least 1"),
        (lambda: KSparse(0, 1.0), "k must be a whole number of at least 1, got 0"),
        (lambda: KSparse(1.5, 1.0), "k must be a whole number"),
        (lambda: Box(1.0, 0.0), "lower must not exceed upper, but does in 1 entries"),
        (lambda: Box([0.0, 3.0, 4.0], 2.0), "lower must not exceed upper, but does in 2 entries"),
        (lambda: Box(0.0, np.inf), "upper has 1 entries that are NaN or infinite"),
        (lambda: Box([np.nan, 0.0], 1.0), "lower has 1 entries that are NaN"),
        (lambda: Box(np.zeros(2), np.ones(3)), "lower has shape .2,. and upper .3,."),
        (lambda: GroupBall([[0, 1], [1, 2]], 1.0), "exactly once, but 1 are repeated, 1 are missing"),
        (lambda: GroupBall([[0], [2]], 1.0), "exactly once, but 0 are repeated, 1 are missing"),
        (lambda: GroupBall([[0], [-1]], 1.0), "1 are negative"),
        (lambda: GroupBall([[0], []], 1.0), "groups.1. must be a nonempty list of whole numbers"),
        (lambda: GroupBall([[0.5]], 1.0), "groups.0. must be a nonempty list of whole numbers"),
        (lambda: GroupBall([], 1.0), "groups is empty"),
        (lambda: NuclearBall(1.0, tolerance=0.0), "tolerance must be a positive"),
        (lambda: NuclearBall(1.0, tolerance=1e-15), "tolerance must lie between 1e-12"),
        (lambda: Spectraplex(1.0, tolerance=1.0), "tolerance must lie between 1e-12"),
        (lambda: Birkhoff(0), "n must be a whole number of at least 1"),
        (lambda: Permutahedron([]), "weights must be a nonempty vector"),
        (lambda: Permutahedron(EYE), "weights must be a nonempty vector, got an array of shape"),
        (lambda: Permutahedron([1.0, np.inf]), "weights has 1 entries that are NaN or infinite"),
        (lambda: Ellipsoid(np.zeros(3), EYE), "matrix must have shape .3, 3."),
        (lambda: Ellipsoid(np.zeros(2), [[1.0, 1.0], [0.0, 1.0]]), "matrix must be Hermitian"),
        (lambda: Ellipsoid(np.zeros(2), np.diag([1.0, -1.0])), "positive definite, but its smallest eigenvalue is -1"),
        (lambda: Ellipsoid([np.nan, 0.0], EYE), "center has 1 entries that are NaN"),
        (lambda: ConvexHull([]), "vertices must be a nonempty list"),
        (lambda: ConvexHull(np.zeros((0, 3))), "vertices must be a nonempty list"),
        (lambda: ConvexHull([1.0, 2.0]), "vertices must be a nonempty list"),
        (lambda: ConvexHull([[1.0, np.nan]]), "vertices has 1 entries that are NaN"),
        (lambda: Polytope(), "needs at least one of"),
        (lambda: Polytope(A_ub=EYE), "A_ub and b_ub must be given together"),
        (lambda: Polytope(b_eq=[1.0]), "A_eq and b_eq must be given together"),
        (lambda: Polytope(A_ub=EYE, b_ub=[1.0]), "one entry for each of its rows, got shapes .2, 2. and .1,."),
        (lambda: Polytope(A_ub=[[np.nan, 1.0]], b_ub=[1.0]), "A_ub has 1 entries that are NaN"),
        (lambda: Polytope(A_ub=EYE, b_ub=[1.0, np.inf]), "b_ub has 1 entries that are NaN or infinite"),
        (lambda: Polytope(EYE, [1, 1], np.ones((1, 3)), [1.0]), "A_ub has 2 columns but A_eq has 3"),
        (lambda: Polytope(EYE, [1, 1], bounds=[(0, 1)] * 3), "one for each of the 2 variables"),
        (lambda: Polytope(bounds=(0, 1)), "bounds must be pairs"),
        (lambda: Polytope(bounds=[(1, 0)]), "a lower bound exceeds its upper bound"),
        (lambda: Polytope(EYE, [-1, -1], bounds=(0, 1)), "the polytope is empty"),
        (lambda: Polytope(EYE, [1, 1]), "the polytope is unbounded"),
        (lambda: Polytope([[1.0, 1.0], [-1.0, -1.0]], [1, 1]), "the polytope is unbounded"),  # a strip: only a line
        (lambda: Polytope(A_eq=[[1.0, -1.0]], b_eq=[0.0], bounds=(0, None)), "unbounded.*bounds=None means no bounds"),
        (lambda: Polytope(A_ub=[[1.0, 0.0]], b_ub=[1.0], bounds=[(0, None), (None, None)]), "unbounded"),
        (lambda: PathPolytope([], [(0, 1, 1.0)]), "edges must be a nonempty list of pairs"),
        (lambda: PathPolytope([(0.0, 1.5)], [(0, 1, 1.0)]), "edges must be a nonempty list of pairs"),
        (lambda: PathPolytope([(0, -1)], [(0, 1, 1.0)]), "numbered from 0, but edges holds -1"),
        (lambda: PathPolytope([(0, 1), (1, 1)], [(0, 1, 1.0)]), "edges holds 1 loops"),
        (lambda: PathPolytope([(0, 1)], []), "demands must be a nonempty list"),
        (lambda: PathPolytope([(0, 1)], [(0, 1)]), "demands must be a nonempty list of .source, target, amount."),
        (lambda: PathPolytope([(0, 1)], [(0, 1, 0.0)]), "amount of every demand must be positive"),
        (lambda: PathPolytope([(0, 1)], [(0, 1, np.nan)]), "demands has 1 entries that are NaN"),
        (lambda: PathPolytope([(0, 1)], [(1, 1, 1.0)]), "the same source and target"),
        (lambda: PathPolytope([(0, 1)], [(0.5, 1, 1.0)]), "must be node numbers"),
        (
            lambda: PathPolytope([(0, 1), (2, 1)], [(0, 1, 1.0), (0, 2, 1.0)]),
            "from node 0 to node 2, as demand number 1",
        ),
        (lambda: PathPolytope([(0, 1), (1, 0)], [(0, 1, 1.0), (0, 7, 1.0)]), "no path leads from node 0 to node 7"),
        (lambda: PathPolytope(None, [(0, 1, 1.0)]), "edges must be a nonempty list of pairs.*got None"),
        (lambda: PathPolytope([("a", 1.5)], [("a", 1.5, 1.0)]), "got the node 1.5"),
        (lambda: PathPolytope([("a", "b", "c")], [("a", "b", 1.0)]), "edges must be a nonempty list of pairs"),
        (
            lambda: PathPolytope([("a", "b")], [("a", "x", 1.0)]),
            "demand number 0 names 'x', which is no node.*'a', 'b'",
        ),
        (lambda: PathPolytope([("a", "b")], [("a", "b")]), "but number 0 is .'a', 'b'."),
        (lambda: PathPolytope([("a", "b")], [("a", "b", "much")]), "demands must be a nonempty list"),
        (lambda: PathPolytope([("a", "b")], None), "demands must be a nonempty list"),
        (lambda: PathPolytope([("a", "b")], [("b", "a", 1.0)]), "no path leads from node 'b' to node 'a'"),
        (lambda: PathPolytope([(0, 1)], [("a", "b", 1.0)]), "numbers as the nodes of edges are"),
        (lambda: PathPolytope(sparse.csr_array((2, 3)), [(0, 1, 1.0)]), "got one of shape .2, 3. with 0 entries"),
        (lambda: PathPolytope(nx.path_graph(3), [(0, 1, 1.0)]), "undirected.*to_directed"),
        (lambda: PathPolytope(nx.DiGraph(), [(0, 1, 1.0)]), "got a graph without edges"),
        (lambda: Product([]), "blocks is empty"),
        (lambda: Product([L1Ball(1.0)]), "blocks.0. must be a pair .constraint, shape."),
        (lambda: Product([(3, L1Ball(1.0))]), "blocks.0. must be a pair"),
        (lambda: Product([(L1Ball(1.0), 0)]), "must hold positive whole numbers, got 0"),
        (lambda: Product([(L1Ball(1.0), ())]), "must hold positive whole numbers"),
        (lambda: Product([(NuclearBall(1.0), 3)]), "holds matrices"),
        (lambda: Oracle(lambda g: g, diameter=-1), "diameter must be a positive"),
    ],
)
def test_each_mistake_has_its_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_oracle_needs_callables():
    with pytest.raises(TypeError, match="lmo must be a callable"):
        Oracle(3)
    with pytest.raises(TypeError, match="violation must be a callable"):
        Oracle(lambda g: g, violation=0.0)


@pytest.mark.parametrize(
    ("constraint", "shape", "words"),
    [
        (NuclearBall(1.0), (4,), "holds matrices, but the variable has shape"),
        (SpectralBall(1.0), (2, 2, 2), "holds matrices"),
        (Spectraplex(), (2, 3), "holds square matrices"),
        (Spectraplex(), (4,), "holds square matrices"),
        (KSparse(5, 1.0), (2, 2), "at least 5 entries, but shape .2, 2. has 4"),
        (GroupBall([[0, 1], [2]], 1.0), (4,), "cover 3 coordinates, but a variable of shape .4,. has 4"),
        (Birkhoff(3), (2, 2), "holds variables of shape .3, 3."),
        (Permutahedron([1.0, 2.0]), (3,), "holds variables of shape .2,."),
        (Box(np.zeros(2), np.ones(2)), (3,), "holds variables of shape .2,."),
        (Ellipsoid([0.0, 0.0], EYE), (3,), "holds variables of shape .2,."),
        (ConvexHull([[0.0, 1.0]]), (1,), "holds variables of shape .2,."),
        (Polytope(bounds=[(0, 1)] * 2), (3,), "holds variables of shape .2,."),
        (PathPolytope([(0, 1)], [(0, 1, 1.0)]), (2,), "holds variables of shape .1,."),
        (Product([(L1Ball(1.0), 2)]), (3,), "holds variables of shape .2,."),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit_are_refused(constraint, shape, words):
    with pytest.raises(ValueError, match=words):
        constraint.check_shape(shape)
    with pytest.raises(ValueError, match=words):
        constraint.lmo(np.ones(shape))
    if not isinstance(constraint, KSparse):
        with pytest.raises(ValueError, match=words):
            constraint.violation(np.ones(shape))


@pytest.mark.parametrize(
    ("constraint", "shape"),
    [
        (NuclearBall(1.0), (2, 3)),
        (SpectralBall(1.0), (2, 3)),
        (Spectraplex(), (2, 2)),
        (Birkhoff(2), (2, 2)),
        (Polytope(bounds=[(0, 1)] * 2), (2,)),
        (PathPolytope([(0, 1)], [(0, 1, 1.0)]), (1,)),
    ],
    ids=str,
)
def test_dear_oracles_refuse_directions_that_are_not_finite(constraint, shape):
    g = np.zeros(shape)
    g.flat[0] = np.nan
    with pytest.raises(ValueError, match="the direction has 1 entries that are NaN or infinite"):
        constraint.lmo(g)
