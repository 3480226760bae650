"""What every constraint set promises, tested on every set: a catalogue, and one test for each promise."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from bsfw import constraints
from bsfw._arrays import inner, norm
from bsfw.constraints import (
    AsymmetricL1Ball,
    Birkhoff,
    Box,
    CappedSimplex,
    ConvexHull,
    Ellipsoid,
    Fantope,
    GroupBall,
    KSparse,
    L1Ball,
    L2Ball,
    LinfBall,
    LpBall,
    NuclearBall,
    Oracle,
    OrderedL1Ball,
    PathPolytope,
    Permutahedron,
    Polytope,
    Product,
    Scaled,
    Shifted,
    Simplex,
    SpectralBall,
    Spectraplex,
    TotalVariationBall,
    Transposed,
)
from bsfw.vertices import move


def ellipsoid():
    root = np.random.default_rng(0).standard_normal((4, 4))
    return Ellipsoid([1.0, 0.0, -1.0, 2.0], root @ root.T + np.eye(4))


def oracle():
    ball = L1Ball(2.0)
    return Oracle(ball.lmo, diameter=4.0, violation=ball.violation)


GRAPH = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
CYCLIC = [*GRAPH, (3, 1), (4, 0)]
ROWS = np.vstack([np.ones((1, 4)), np.eye(4), -np.eye(4)])

# name: (set, shape of the variable, dtypes: d double, D complex, f single)
CATALOGUE = {
    "L1Ball": (L1Ball(2.0), (5,), "dDf"),
    "L1Ball matrix": (L1Ball(2.0), (2, 3), "dD"),
    "L1Ball n=1": (L1Ball(2.0), (1,), "dD"),
    "L2Ball": (L2Ball(2.0), (5,), "dDf"),
    "LinfBall": (LinfBall(2.0), (5,), "dDf"),
    "LpBall 1.5": (LpBall(1.5, 2.0), (5,), "dDf"),
    "LpBall 3": (LpBall(3, 2.0), (2, 3), "dDf"),
    "LpBall 1": (LpBall(1, 2.0), (4,), "dD"),
    "LpBall inf": (LpBall(np.inf, 2.0), (4,), "dD"),
    "Box": (Box(-1.0, 2.0), (4,), "df"),
    "Box array": (Box(np.array([-1.0, 0.0, 5.0]), np.array([1.0, 3.0, 5.0])), (3,), "df"),
    "Simplex": (Simplex(2.0), (4,), "df"),
    "Simplex below": (Simplex(2.0, equality=False), (4,), "df"),
    "Simplex n=1": (Simplex(2.0), (1,), "d"),
    "KSparse": (KSparse(2, 1.5), (5,), "dDf"),
    "GroupBall": (GroupBall([[0, 3], [1], [2, 4]], 2.0), (5,), "dDf"),
    "NuclearBall": (NuclearBall(2.0), (3, 4), "dDf"),
    "NuclearBall Lanczos": (NuclearBall(2.0), (60, 50), "dD"),
    "SpectralBall": (SpectralBall(2.0), (3, 4), "dDf"),
    "Spectraplex": (Spectraplex(2.0), (4, 4), "dDf"),
    "Spectraplex below": (Spectraplex(2.0, equality=False), (4, 4), "dDf"),
    "Spectraplex Lanczos": (Spectraplex(2.0), (60, 60), "dD"),
    "Birkhoff": (Birkhoff(4), (4, 4), "df"),
    "Permutahedron": (Permutahedron([3.0, -1.0, 2.0, 2.0]), (4,), "df"),
    "Ellipsoid": (ellipsoid(), (4,), "dDf"),
    "ConvexHull": (ConvexHull(np.random.default_rng(1).standard_normal((12, 3))), (3,), "df"),
    "ConvexHull complex": (ConvexHull(np.random.default_rng(1).standard_normal((9, 4)).view(complex)), (2,), "D"),
    "Polytope": (Polytope(A_ub=ROWS, b_ub=np.r_[1.0, np.ones(8)]), (4,), "df"),
    "Polytope equations": (Polytope(A_eq=np.ones((1, 4)), b_eq=[1.0], bounds=(0.0, 0.7)), (4,), "df"),
    "PathPolytope": (PathPolytope(GRAPH, [(0, 4, 2.0)]), (7,), "df"),
    "PathPolytope demands": (PathPolytope(GRAPH, [(0, 4, 2.0), (0, 3, 1.0), (1, 4, 0.5)]), (7,), "df"),
    "PathPolytope cyclic": (PathPolytope(CYCLIC, [(0, 4, 2.0), (3, 2, 1.0)]), (9,), "df"),
    "Product": (Product([(L1Ball(1.0), 3), (Simplex(), (2, 2))]), (7,), "df"),
    "Product dense": (Product([(L2Ball(1.0), 3), (NuclearBall(3.0), (2, 2))]), (7,), "dDf"),
    "Oracle": (oracle(), (5,), "dD"),
    "CappedSimplex": (CappedSimplex(2.0), (5,), "df"),
    "CappedSimplex array": (CappedSimplex(1.5, [1.0, 0.5, 2.0, 0.25], [0.0, 0.25, -1.0, 0.25]), (4,), "df"),
    "OrderedL1Ball": (OrderedL1Ball([3.0, 2.0, 2.0, 1.0, 0.0], 2.0), (5,), "df"),
    "AsymmetricL1Ball": (AsymmetricL1Ball(2.0, 3.0, 1.0), (2, 3), "df"),
    "AsymmetricL1Ball array": (AsymmetricL1Ball(2.0, [1.0, 2.0, 4.0], [3.0, 1.0, 5.0]), (3,), "df"),
    "TotalVariationBall": (TotalVariationBall(2.0, 0.5), (6,), "df"),
    "Fantope": (Fantope(2), (5, 5), "dDf"),
    "Scaled": (Scaled(L1Ball(2.0), -1.5), (5,), "dDf"),
    "Scaled nuclear": (Scaled(NuclearBall(2.0), 0.5), (3, 4), "dD"),
    "Shifted": (Shifted(L1Ball(2.0), [1.0, 0.0, -3.0]), (3,), "dDf"),
    "Transposed": (Transposed(NuclearBall(2.0)), (4, 3), "dD"),
}
CASES = [
    pytest.param(constraint, shape, np.dtype(kind), id=f"{name}-{np.dtype(kind).name}")
    for name, (constraint, shape, kinds) in CATALOGUE.items()
    for kind in kinds
]
every_set = pytest.mark.parametrize(("constraint", "shape", "dtype"), CASES)


def directions(constraint, shape, dtype, count, seed=0):
    """Random directions, half of them of small whole numbers so that they tie."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        g = rng.standard_normal(shape) if k % 2 else rng.integers(-1, 2, shape).astype(float)
        if isinstance(constraint, PathPolytope) and constraint._levels is None:
            g = np.abs(g)  # no negative cycles
        if dtype.kind == "c":
            g = g + 1j * (rng.standard_normal(shape) if k % 2 else rng.integers(-1, 2, shape))
        yield g.astype(dtype)


def precision(dtype):
    return 3e-6 if dtype == np.float32 else 1e-9


def test_the_catalogue_holds_every_public_set():
    held = {type(constraint).__name__ for constraint, _, _ in CATALOGUE.values()}
    assert held == set(constraints.__all__) - {"Constraint", "Rows"}  # rows of another set: tests/test_backends.py


@every_set
def test_lmo_stays_in_the_set_and_beats_all_other_vertices(constraint, shape, dtype):
    constraint.check_shape(shape)
    asked = list(directions(constraint, shape, dtype, 40))
    found = [constraint.lmo(g) for g in asked]
    for v in found:
        assert v.shape == shape
        assert constraint.violation(v.dense()) <= precision(dtype)
    points = [v.dense() for v in found]
    size = max(norm(p) for p in points)
    tolerance = 5e-6 if dtype == np.float32 else 1e-6 if max(shape) > 48 else 1e-9  # large ones by Lanczos
    for g, v in zip(asked, found, strict=True):
        best = min(inner(g, p) for p in points)
        assert v.inner(g) <= best + tolerance * (1.0 + norm(g) * size)


@every_set
def test_lmo_beats_200_random_feasible_points(constraint, shape, dtype):
    rng = np.random.default_rng(3)
    points = np.array([constraint.lmo(g).dense() for g in directions(constraint, shape, dtype, 20, seed=1)])
    mixed = np.tensordot(rng.dirichlet(np.full(20, 0.1), size=200), points, 1)
    (g,) = list(directions(constraint, shape, dtype, 2, seed=9))[1:]
    v = constraint.lmo(g)
    assert all(v.inner(g) <= inner(g, x) + 1e-5 * (1.0 + abs(v.inner(g))) for x in mixed)


@every_set
def test_same_direction_same_vertex_and_zero_is_a_vertex(constraint, shape, dtype):
    for g in [np.zeros(shape, dtype), *directions(constraint, shape, dtype, 6)]:
        copy = g.copy()
        v = constraint.lmo(g).dense()
        assert np.array_equal(constraint.lmo(copy).dense(), v)
        assert np.array_equal(g, copy)
    start = constraint.start(shape, dtype).dense()
    assert np.array_equal(start, constraint.lmo(np.zeros(shape, dtype)).dense())


@every_set
def test_vertices_are_extreme(constraint, shape, dtype):
    """If v is extreme, no point v + s (v - w) with w in the set and s > 0 belongs to it: v would lie between."""
    asked = [np.zeros(shape, dtype), *directions(constraint, shape, dtype, 7, seed=4)]
    points = [constraint.lmo(g).dense() for g in asked]
    diameter = constraint.diameter(shape)
    pairs = 0
    for v in points:
        for w in points:
            if norm(v - w) > 0.1 * diameter > 0:
                pairs += 1
                assert constraint.violation(v + 0.5 * (v - w)) > 1e-4
    assert pairs > 0 or diameter == 0.0


@every_set
def test_convex_combinations_belong_to_the_set(constraint, shape, dtype):
    rng = np.random.default_rng(5)
    points = np.array([constraint.lmo(g).dense() for g in directions(constraint, shape, dtype, 8, seed=6)])
    for weights in rng.dirichlet(np.ones(8), size=10):
        x = np.tensordot(weights, points, 1)
        assert constraint.violation(x) <= precision(dtype)
        assert dtype == np.float32 or constraint.contains(x)


@every_set
def test_nan_and_infinity_are_never_members(constraint, shape, dtype):
    for bad in (np.nan, np.inf):
        x = constraint.start(shape, dtype).dense(dtype)
        x.flat[-1] = bad
        assert not constraint.contains(x)


@pytest.mark.parametrize(
    ("constraint", "x", "expected"),
    [
        (L1Ball(2.0), [1.2, -1.2j], 0.2),
        (L2Ball(2.0), [1.8, 2.4j], 0.5),
        (LinfBall(2.0), [1.8 + 2.4j, 0.0], 0.5),
        (LpBall(3, 2.0), [2.0, 2.0], 2 ** (1 / 3) - 1),
        (LpBall(1, 2.0), [1.2, -1.2], 0.2),
        (LpBall(np.inf, 2.0), [2.2, -1.2], 0.1),
        (LpBall(3, 2.0), [0.0, 0.0], 0.0),
        (Box(-1.0, 2.0), [0.0, -1.2], 0.1),  # the largest |bound| is 2
        (Box(-1.0, 2.0), [0.0, 2.2], 0.1),
        (Simplex(2.0), [1.0, 0.8], 0.1),
        (Simplex(2.0), [1.2, 1.0], 0.1),
        (Simplex(2.0), [2.2, -0.2], 0.1),
        (Simplex(2.0, equality=False), [1.0, 0.8], 0.0),
        (Simplex(2.0, equality=False), [1.2, 1.0], 0.1),
        (Simplex(2.0, equality=False), [1.0, -0.2], 0.1),
        (KSparse(2, 1.0), [0.8, 0.8, -0.6], 0.1),  # l1 norm 2.2 for 2
        (KSparse(2, 1.0), [1.3, 0.0, 0.0], 0.3),
        (GroupBall([[0, 1], [2]], 2.0), [0.9, -1.2, 0.7], 0.1),
        (NuclearBall(2.0), [[0.0, 1.2], [1.0, 0.0]], 0.1),
        (SpectralBall(2.0), [[0.0, 2.2], [1.0, 0.0]], 0.1),
        (Spectraplex(2.0), [[1.0, 0.0], [0.0, 0.8]], 0.1),
        (Spectraplex(2.0), [[2.2, 0.0], [0.0, -0.2]], 0.1),
        (Spectraplex(2.0), [[1.0, 0.2], [-0.2, 1.0]], 0.2 * np.sqrt(2) / 2),
        (Spectraplex(2.0, equality=False), [[1.0, 0.0], [0.0, 0.8]], 0.0),
        (Spectraplex(2.0, equality=False), [[1.0, 0.5j], [-0.5j, 1.2]], 0.1),
        (Birkhoff(2), [[0.5, 0.5], [0.6, 0.4]], 0.1),  # columns
        (Birkhoff(2), [[0.5, 0.6], [0.5, 0.4]], 0.1),  # rows
        (Birkhoff(2), [[1.1, -0.1], [-0.1, 1.1]], 0.1),
        (Ellipsoid([1.0, 0.0], np.diag([4.0, 9.0])), [1.0, -4.5], 0.5),
        (Polytope(A_ub=[[1.0, 1.0]], b_ub=[2.0], bounds=(0, 9)), [1.2, 1.0], 0.1),
        (Polytope(A_eq=[[1.0, 1.0]], b_eq=[0.5], bounds=(0, 1)), [0.2, 0.2], 0.1),
        (Polytope(A_eq=[[1.0, 1.0]], b_eq=[0.5], bounds=(0, 1)), [0.6, -0.1], 0.1),
    ],
    ids=str,
)
def test_violation_is_relative_to_the_size_of_the_set(constraint, x, expected):
    assert constraint.violation(np.array(x)) == pytest.approx(expected, abs=1e-14)


@every_set
def test_no_two_vertices_are_further_apart_than_the_diameter(constraint, shape, dtype):
    points = [constraint.lmo(g).dense() for g in directions(constraint, shape, dtype, 20, seed=7)]
    largest = max(norm(v - w) for v in points for w in points)
    assert largest <= constraint.diameter(shape) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize(
    ("constraint", "shape", "pair"),
    [
        (L1Ball(2.0), (4,), [np.ones(4), -np.ones(4)]),
        (L1Ball(2.0), (1,), [np.ones(1), -np.ones(1)]),
        (L2Ball(2.0), (4,), [np.ones(4), -np.ones(4)]),
        (LinfBall(2.0), (2, 3), [np.ones((2, 3)), -np.ones((2, 3))]),
        (LpBall(1.5, 2.0), (4,), [np.eye(4)[0], -np.eye(4)[0]]),
        (LpBall(3.0, 2.0), (4,), [np.ones(4), -np.ones(4)]),
        (Box(-1.0, 2.0), (3,), [np.ones(3), -np.ones(3)]),
        (Box([0.0, 1.0], [2.0, 4.0]), (2,), [np.ones(2), -np.ones(2)]),
        (Simplex(2.0), (3,), [np.eye(3)[0], -np.eye(3)[0]]),
        (Simplex(2.0), (1,), [np.ones(1), -np.ones(1)]),
        (Simplex(2.0, equality=False), (3,), [-np.eye(3)[0], -np.eye(3)[1]]),
        (Simplex(2.0, equality=False), (1,), [np.ones(1), -np.ones(1)]),
        (KSparse(3, 2.0), (5,), [np.ones(5), -np.ones(5)]),
        (GroupBall([[0, 1], [2]], 2.0), (3,), [np.ones(3), -np.ones(3)]),
        (NuclearBall(2.0), (3, 2), [np.ones((3, 2)), -np.ones((3, 2))]),
        (SpectralBall(2.0), (3, 2), [np.eye(3)[:, :2], -np.eye(3)[:, :2]]),
        (Spectraplex(2.0), (3, 3), [np.diag([-1.0, 0.0, 0.0]), np.diag([0.0, -1.0, 0.0])]),
        (Spectraplex(2.0), (1, 1), [np.eye(1), -np.eye(1)]),
        (Spectraplex(2.0, equality=False), (1, 1), [np.eye(1), -np.eye(1)]),
        (Birkhoff(3), (3, 3), [-np.eye(3), -np.eye(3)[[1, 2, 0]]]),
        (Birkhoff(1), (1, 1), [np.eye(1), -np.eye(1)]),
        (Permutahedron([1.0, 5.0, 2.0]), (3,), [np.arange(3.0), -np.arange(3.0)]),
        (Ellipsoid([1.0, 1.0], np.diag([4.0, 9.0])), (2,), [np.eye(2)[1], -np.eye(2)[1]]),
        (ConvexHull([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]), (2,), [np.ones(2), -np.ones(2)]),
        (Polytope(bounds=[(0, 1), (0, 2)]), (2,), [np.ones(2), -np.ones(2)]),
        (PathPolytope([(0, 1), (0, 1)], [(0, 1, 2.0)]), (2,), [np.eye(2)[0], np.eye(2)[1]]),
        (Product([(L1Ball(1.0), 2), (L2Ball(2.0), 2)]), (4,), [np.ones(4), -np.ones(4)]),
    ],
    ids=str,
)
def test_the_diameter_is_attained(constraint, shape, pair):
    v, w = (constraint.lmo(g).dense() for g in pair)
    assert norm(v - w) == pytest.approx(constraint.diameter(shape), abs=1e-12)


def test_the_diameter_of_a_hull_in_blocks_is_the_largest_of_all_distances():
    points = np.random.default_rng(0).standard_normal((1100, 3)) + 1e6  # more than two blocks, far from the origin
    points[700] += 30.0
    largest = max(np.linalg.norm(points - p, axis=1).max() for p in points)
    assert ConvexHull(points).diameter((3,)) == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("name", [name for name, (_, _, kinds) in CATALOGUE.items() if "f" in kinds])
def test_single_precision_directions_give_single_precision_iterates(name):
    constraint, shape, _ = CATALOGUE[name]
    x = constraint.start(shape, np.float32).dense(np.float32)
    for g in directions(constraint, shape, np.dtype(np.float32), 4):
        v = constraint.lmo(g)
        x = move(x, 0.5, [v], [1.0])
        assert x.dtype == np.float32
        # The other way round: whole numbers are directions too.
        assert constraint.lmo(np.abs(np.rint(g)).astype(int)).dense().dtype == np.float64


@pytest.mark.parametrize(
    "name", [n for n, (_, _, kinds) in CATALOGUE.items() if "D" not in kinds and n != "ConvexHull"]
)
def test_real_sets_refuse_complex_directions(name):
    constraint, shape, _ = CATALOGUE[name]
    with pytest.raises(ValueError, match="holds real variables"):
        constraint.lmo(np.ones(shape, dtype=complex))
    with pytest.raises(ValueError, match="holds real variables"):
        constraint.violation(np.ones(shape, dtype=complex))


@pytest.mark.parametrize("name", CATALOGUE)
def test_repr_shows_the_constructor_and_fingerprints_differ(name):
    constraint, _, _ = CATALOGUE[name]
    arguments = list(constraint._parameters())
    assert repr(constraint).startswith(f"{type(constraint).__name__}({arguments[0]}=")
    code = inspect.unwrap(type(constraint).__init__).__code__
    taken = [argument for argument in code.co_varnames[1 : code.co_argcount] if argument != "rows"]  # makes a `Rows`
    assert arguments == taken
    others = [other for other, _, _ in CATALOGUE.values() if other is not constraint]
    twins = {"L1Ball", "L1Ball matrix", "L1Ball n=1", "Simplex", "Simplex n=1", "NuclearBall", "NuclearBall Lanczos"}
    twins |= {"Spectraplex", "Spectraplex Lanczos"}  # equal sets in other dimensions
    if name not in twins:
        assert constraint.fingerprint() not in {other.fingerprint() for other in others}


def test_fingerprints_see_every_number():
    from scipy import sparse

    groups = [list(range(1000)), list(range(1000, 2000))]
    moved = [[*range(999), 1999], list(range(999, 1999))]
    assert GroupBall(groups, 1.0).fingerprint() != GroupBall(moved, 1.0).fingerprint()
    rows = [sparse.csr_array(np.array([[1.0, value]])) for value in (1.0, 2.0)]
    polytopes = [Polytope(A_ub=a, b_ub=[1.0], bounds=(0, 1)) for a in rows]
    assert polytopes[0].fingerprint() != polytopes[1].fingerprint()
    assert polytopes[0].fingerprint() == Polytope(A_ub=rows[0].copy(), b_ub=[1.0], bounds=(0, 1)).fingerprint()


def test_suggested_rounds_are_few_where_the_oracle_is_dear():
    for name, (constraint, _, _) in CATALOGUE.items():
        kinds = (NuclearBall, SpectralBall, Spectraplex, Fantope, Birkhoff, Polytope, PathPolytope)
        dear = isinstance(constraint, kinds) or name in ("Product dense", "Scaled nuclear", "Transposed")
        expected = 5 if dear else 10_000
        assert constraint.suggested_rounds == expected, name


def test_import_loads_no_scipy():
    code = "import sys, bsfw.constraints; sys.exit(any(m.split('.')[0] == 'scipy' for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


STEPS = 100_000
GAMMAS = (2.0 / (np.arange(STEPS) + 2.0)).tolist()
ORDER = np.random.default_rng(0).integers(0, 50, STEPS).tolist()


def walk(constraint, dtype, asked):
    vertices = [constraint.lmo(g) for g in asked]
    x = vertices[0].dense(dtype)
    for gamma, k in zip(GAMMAS, ORDER, strict=True):
        x = move(x, gamma, [vertices[k]], [1.0])
    return x


@pytest.mark.parametrize("dtype", [np.dtype("d"), np.dtype("D")])
def test_100_000_steps_stay_feasible_in_every_set(dtype):
    """Rounding does not add up. All sets at once, as blocks of one variable: the numbers of a step are the same."""
    names = [name for name, (_, shape, kinds) in CATALOGUE.items() if dtype.char in kinds and max(shape) < 48]
    product = Product([CATALOGUE[name][:2] for name in names])
    blockwise = [directions(*CATALOGUE[name][:2], dtype, 50, seed=8) for name in names]
    asked = [np.concatenate([g.ravel() for g in pieces]) for pieces in zip(*blockwise, strict=True)]
    x = walk(product, dtype, asked)
    for name, (constraint, _), piece in zip(names, product.blocks, product.split(x), strict=True):
        assert constraint.violation(piece) <= 1e-9, name
        assert norm(piece) > 0, name


@pytest.mark.parametrize("name", ["L1Ball", "KSparse", "NuclearBall", "L2Ball"])
def test_100_000_steps_stay_feasible_for_every_kind_of_vertex(name):
    constraint, shape, _ = CATALOGUE[name]
    asked = directions(constraint, shape, np.dtype("D"), 50, seed=8)
    assert constraint.violation(walk(constraint, np.dtype("D"), asked)) <= 1e-9


@every_set
def test_a_direction_that_is_not_finite_is_refused(constraint, shape, dtype):
    for bad in (np.nan, np.inf, -np.inf):
        for place in (0, -1):
            g = np.ones(shape, dtype=dtype)
            g.flat[place] = bad
            with pytest.raises(ValueError, match=f"direction has 1 entries that are NaN or infinite, out of {g.size}"):
                constraint.lmo(g)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_so_it_is_on_other_arrays(library):
    module = pytest.importorskip("torch" if library == "torch" else "jax.numpy", reason="needs the library")
    for name, (constraint, shape, _) in CATALOGUE.items():
        if constraint.any_array:
            g = np.ones(shape)
            g.flat[-1] = np.inf
            with pytest.raises(ValueError, match="the direction has 1 entries that are NaN or infinite"):
                constraint.lmo(module.asarray(g))
            assert constraint.lmo(module.asarray(np.ones(shape))).shape == shape, name


def test_a_set_of_ones_own_is_asked_for_finite_directions_only():
    class Half(L1Ball):
        def lmo(self, direction):
            return super().lmo(2.0 * direction)

    with pytest.raises(ValueError, match="the direction has 1 entries"):
        Half(1.0).lmo(np.array([1.0, np.nan]))
