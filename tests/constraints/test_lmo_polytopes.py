"""LMOs of polytopes: against enumerated vertices and other linear programming solvers."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.optimize import linprog

from bsfw.constraints import ConvexHull, Permutahedron, Polytope, Simplex

examples = settings(deadline=None, max_examples=50)
entries = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-10, 10))


@examples
@given(st.integers(1, 5), st.data())
def test_permutahedron_takes_the_best_permutation(n, data):
    weights = data.draw(arrays(float, n, elements=st.sampled_from([-2.0, 0.0, 1.0, 1.5, 4.0])))
    g = data.draw(arrays(float, n, elements=entries))
    v = Permutahedron(weights).lmo(g).dense()
    vertices = np.array(list(permutations(weights)))
    assert sorted(v) == sorted(weights)
    assert v @ g == pytest.approx((vertices @ g).min(), abs=1e-9)


def test_permutahedron_gives_the_largest_weight_to_the_first_of_equal_entries():
    assert Permutahedron([1.0, 3.0, 2.0]).lmo(np.zeros(3)).dense().tolist() == [3.0, 2.0, 1.0]
    assert Permutahedron([1.0, 3.0, 2.0]).lmo(np.array([0.0, -1.0, 0.0])).dense().tolist() == [2.0, 3.0, 1.0]

    v = (
        Permutahedron(np.arange(200.0)).lmo(np.arange(200) % 2 - 0.5).dense()
    )  # too long for insertion sort, which is stable
    assert v[::2].tolist() == list(range(199, 99, -1))
    assert v[1::2].tolist() == list(range(99, -1, -1))


def test_permutahedron_membership_is_majorisation():
    constraint = Permutahedron([3.0, 2.0, 1.0])
    assert constraint.violation(np.array([2.0, 2.0, 2.0])) == 0.0
    assert constraint.violation(np.array([3.0, 1.5, 1.5])) == 0.0
    assert constraint.violation(np.array([3.3, 1.5, 1.2])) == pytest.approx(0.1)  # 0.3 too much, size 3
    assert constraint.violation(np.array([0.9, 2.55, 2.55])) == pytest.approx(0.05 / 3)  # two largest: 5.1 for 5
    assert constraint.violation(np.array([2.0, 2.0, 1.7])) == pytest.approx(0.1 / 3)  # mean 1.9 for 2


@examples
@given(st.integers(1, 7), st.integers(1, 3), st.data())
def test_hull_takes_the_best_point(k, n, data):
    points = data.draw(arrays(float, (k, n), elements=entries))
    g = data.draw(arrays(float, n, elements=entries))
    v = ConvexHull(points).lmo(g).dense()
    assert any(np.array_equal(v, p) for p in points)
    assert v @ g == pytest.approx((points @ g).min(), abs=1e-12)


def test_hull_takes_an_extreme_point_on_ties_even_if_the_list_holds_others():
    square = np.array([[0.5, 0.5], [0.0, 0.5], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    hull = ConvexHull(square)
    assert hull.lmo(np.zeros(2)).dense().tolist() == [0.0, 0.0]
    assert hull.lmo(np.array([1.0, 0.0])).dense().tolist() == [0.0, 0.0]  # not [0, 0.5], which comes first
    assert hull.lmo(np.array([0.0, -1.0])).dense().tolist() == [0.0, 1.0]


def test_hull_of_matrices_and_of_complex_points():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((9, 2, 3)) + 1j * rng.standard_normal((9, 2, 3))
    for g in (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3)), rng.standard_normal((2, 3))):
        values = [np.vdot(g, p).real for p in points]
        assert np.array_equal(ConvexHull(points).lmo(g).dense(), points[np.argmin(values)])
        real = [np.vdot(g, p.real).real for p in points]
        assert np.array_equal(ConvexHull(points.real).lmo(g).dense(), points.real[np.argmin(real)])
    assert ConvexHull(points).lmo(g.astype(np.complex64)).dtype == np.complex64
    weights = rng.dirichlet(np.ones(9))
    inside = np.tensordot(weights, points, 1)
    assert ConvexHull(points).violation(inside) < 1e-12
    assert ConvexHull(points.real).violation(inside.real) < 1e-12
    assert ConvexHull(points.real).violation(inside.real + 0.1j) > 0.01


@pytest.mark.parametrize("direction", ["out", "above"])
def test_hull_violation_is_the_distance(direction):
    segment = ConvexHull([[0.0, 0.0], [2.0, 0.0]])
    x = np.array([1.0, 0.02]) if direction == "above" else np.array([2.02, 0.0])
    violation = segment.violation(x)
    assert 0.001 < violation <= 0.01 + 1e-12  # distance 0.02, size 2; the equation for the weights may give way a bit


def random_polytope(rng, n, rows, form):
    """A polytope around a point, bounded, with equations or sparse rows or bounds as `form` says."""
    inside = rng.standard_normal(n)
    a = rng.standard_normal((rows, n))
    b = a @ inside + rng.uniform(0.1, 1.0, rows)
    simple = {"A_ub": np.vstack([a, np.eye(n), -np.eye(n)]), "b_ub": np.concatenate([b, inside + 2, 2 - inside])}
    if form == "inequalities":
        return simple
    if form == "sparse":
        return {"A_ub": sparse.csr_array(simple["A_ub"]), "b_ub": simple["b_ub"]}
    bounds = np.stack([inside - 2, inside + 2], axis=1).tolist()
    if form == "bounds":
        return {"A_ub": a, "b_ub": b, "bounds": bounds}
    e = rng.standard_normal((1, n))
    return {"A_ub": a, "b_ub": b, "A_eq": e, "b_eq": e @ inside, "bounds": bounds}


def active_rank(constraint, x):
    """Rank of the constraints that hold with equality at x: n at a vertex."""
    n = x.size
    rows = [np.zeros((0, n))]
    if constraint.A_ub is not None:
        a = constraint.A_ub.toarray() if sparse.issparse(constraint.A_ub) else constraint.A_ub
        rows.append(a[np.abs(a @ x - constraint.b_ub) < 1e-7])
    if constraint.A_eq is not None:
        rows.append(constraint.A_eq)
    rows.append(np.eye(n)[(np.abs(constraint.bounds - x[:, None]) < 1e-7).any(axis=1)])
    return np.linalg.matrix_rank(np.vstack(rows), tol=1e-6)


@pytest.mark.parametrize("form", ["inequalities", "sparse", "bounds", "equations"])
@settings(deadline=None, max_examples=12)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 1000))
def test_polytope_takes_an_optimal_vertex_on_ties_and_zeros_too(form, n, rows, seed):
    rng = np.random.default_rng(seed)
    arguments = random_polytope(rng, n, rows, form)
    constraint = Polytope(**arguments)
    a = arguments["A_ub"][:1]
    normal = -np.asarray(a.toarray() if sparse.issparse(a) else a).ravel()  # ties along a whole face
    sparse_direction = np.eye(n)[0]
    bounds = arguments.pop("bounds", (None, None))
    for g in (rng.standard_normal(n), normal, sparse_direction, np.zeros(n), 1e-13 * rng.standard_normal(n)):
        v = constraint.lmo(g).dense()
        reference = linprog(g / (np.abs(g).max() or 1.0), **arguments, bounds=bounds, method="highs-ipm")
        assert g @ v == pytest.approx(reference.fun * np.abs(g).max(), abs=1e-6 * np.abs(g).max())
        assert constraint.contains(v)
        assert active_rank(constraint, v) == n
        assert np.array_equal(constraint.lmo(g.copy()).dense(), v)


def test_polytope_without_any_bound_on_a_variable_still_gives_vertices():
    # The l1 ball: left to itself the simplex method keeps a free variable at 0, here the centre.
    constraint = Polytope(A_ub=list(product([-1.0, 1.0], repeat=3)), b_ub=np.ones(8))
    for g in product([0.0, 1.0], repeat=3):
        v = constraint.lmo(np.array(g)).dense()
        assert sorted(np.abs(v)) == pytest.approx([0.0, 0.0, 1.0])
        assert v @ g == pytest.approx(-max(g))


def test_polytope_as_a_simplex_is_the_simplex():
    g = np.array([0.3, -1.0, 2.0, -1.5])
    polytope = Polytope(A_eq=np.ones((1, 4)), b_eq=[2.0], bounds=(0, None))
    assert polytope.lmo(g).dense() == pytest.approx(Simplex(2.0).lmo(g).dense())
    assert polytope.diameter((4,)) == pytest.approx(4.0)  # the box around it has edges of length 2
    assert polytope.lmo(g.astype(np.float32)).dtype == np.float32


def test_polytope_only_of_bounds_is_a_box():
    polytope = Polytope(bounds=[(0, 1), (-2, 3)])
    assert polytope.lmo(np.array([1.0, -1.0])).dense().tolist() == [0.0, 3.0]
    assert polytope.diameter((2,)) == pytest.approx(np.hypot(1, 5))
    assert polytope.violation(np.array([1.0, 3.3])) == pytest.approx(0.1)  # 0.3 over a bound of 3


def test_polytope_with_one_sided_bounds_is_found_bounded():
    constraint = Polytope(A_ub=[[1.0, -1.0]], b_ub=[1.0], bounds=[(0, None), (None, 0)])
    assert constraint.lmo(np.array([-1.0, 0.5])).dense() == pytest.approx([1.0, 0.0])
