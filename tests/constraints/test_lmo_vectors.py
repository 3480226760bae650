"""LMOs of vector sets against lists of all vertices, or against the dual norm where there are infinitely many."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bsfw._arrays import inner
from bsfw.constraints import Box, Ellipsoid, GroupBall, KSparse, L1Ball, L2Ball, LinfBall, LpBall, Simplex
from bsfw.vertices import OneHot, Sparse

examples = settings(deadline=None, max_examples=50)
# Small whole numbers, for ties and zeros, and others of all magnitudes, subnormal ones included.
entries = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 2.0]), st.floats(-1e3, 1e3), st.floats(-1e-310, 1e-310))
sizes = st.integers(1, 5)


@st.composite
def real_directions(draw, shape=None):
    return draw(arrays(float, draw(sizes) if shape is None else shape, elements=entries))


@st.composite
def complex_directions(draw, shape=None):
    shape = draw(sizes) if shape is None else shape
    return draw(arrays(float, shape, elements=entries)) + 1j * draw(arrays(float, shape, elements=entries))


def assert_best_of(constraint, direction, vertices):
    """The LMO returns one of the listed vertices, one of the best, and the same one when asked again."""
    vertex = constraint.lmo(direction)
    values = vertices @ direction
    found = vertex.dense()
    assert any(np.array_equal(found, v) for v in vertices)
    assert found @ direction <= values.min() + 1e-12 * (np.abs(values).max() + 1e-300)
    assert np.array_equal(constraint.lmo(direction.copy()).dense(), found)


@examples
@given(real_directions())
def test_l1_takes_the_first_largest_entry(g):
    n = g.size
    assert_best_of(L1Ball(2.5), g, np.vstack([2.5 * np.eye(n), -2.5 * np.eye(n)]))
    vertex = L1Ball(2.5).lmo(g)
    assert isinstance(vertex, OneHot)
    assert vertex.index == np.flatnonzero(np.abs(g) == np.abs(g).max())[0]
    assert type(vertex.value) is float


@examples
@given(real_directions())
def test_linf_takes_a_corner(g):
    assert_best_of(LinfBall(0.5), g, np.array(list(product([-0.5, 0.5], repeat=g.size))))


@examples
@given(real_directions())
def test_box_takes_a_corner(g):
    lower, upper = -1.0 - np.arange(g.size), np.arange(g.size) + 0.0
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    assert_best_of(Box(lower, upper), g, corners)
    assert_best_of(Box(-1.0, 3.0), g, np.array(list(product([-1.0, 3.0], repeat=g.size))))


@examples
@given(real_directions())
def test_simplex_takes_a_corner(g):
    corners = 2.0 * np.eye(g.size)
    assert_best_of(Simplex(2.0), g, corners)
    assert Simplex(2.0).lmo(g).index == np.flatnonzero(g == g.min())[0]
    assert_best_of(Simplex(2.0, equality=False), g, np.vstack([np.zeros(g.size), corners]))


@examples
@given(real_directions(), st.data())
def test_k_sparse_takes_exactly_k_largest_entries(g, data):
    k = data.draw(st.integers(1, g.size))
    vertices = []
    for support in combinations(range(g.size), k):
        for signs in product([-1.5, 1.5], repeat=k):
            v = np.zeros(g.size)
            v[list(support)] = signs
            vertices.append(v)
    assert_best_of(KSparse(k, 1.5), g, np.array(vertices))
    chosen = KSparse(k, 1.5).lmo(g)
    assert isinstance(chosen, Sparse)
    # Among equals the first indices: a stable sort says which.
    assert set(chosen.indices) == set(np.argsort(-np.abs(g), kind="stable")[:k])


def normalised(g):
    """g times the power of two that brings its largest part near one: references may square and sum it."""
    top = max(np.abs(g.real).max(), np.abs(g.imag).max())
    exponent = -int(np.frexp(top)[1])
    real = np.ldexp(g.real, exponent)
    return real + 1j * np.ldexp(g.imag, exponent) if np.iscomplexobj(g) else real


def dual_norm(g, p):
    """||g||_q without overflow, 1/p + 1/q = 1."""
    top = np.abs(g).max()
    if top == 0:
        return 0.0
    q = np.inf if p == 1 else (1.0 if np.isinf(p) else p / (p - 1))
    return top * np.linalg.norm(np.abs(g / top).ravel(), q)


@pytest.mark.parametrize("p", [1.0, 1.0001, 1.5, 2.0, 3.0, 50.0, np.inf])
@examples
@given(
    st.one_of(real_directions(), complex_directions(), real_directions(shape=(2, 3)), complex_directions(shape=(2, 3)))
)
def test_lp_reaches_the_dual_norm(p, g):
    ball = LpBall(p, 3.0)
    v = ball.lmo(g).dense()
    assert v.shape == g.shape
    h = normalised(g)
    assert inner(h, v) == pytest.approx(-3.0 * dual_norm(h, p), rel=1e-9)
    assert ball.contains(v)
    assert not ball.contains(1.0001 * v)


@pytest.mark.parametrize(("constraint", "p"), [(L1Ball(2.0), 1.0), (L2Ball(2.0), 2.0), (LinfBall(2.0), np.inf)])
@examples
@given(complex_directions())
def test_complex_balls_conjugate(constraint, p, g):
    v = constraint.lmo(g).dense(complex)
    h = normalised(g)
    assert inner(h, v) == pytest.approx(-2.0 * dual_norm(h, p), rel=1e-12)
    assert constraint.contains(v)


@examples
@given(st.one_of(real_directions(), complex_directions()))
def test_norm_balls_stay_on_their_sphere_for_subnormal_directions(g):
    g = 1e-10 * g
    for constraint, order in ((L1Ball(2.0), 1), (L2Ball(2.0), 2), (LinfBall(2.0), np.inf), (LpBall(1.5, 2.0), 1.5)):
        v = constraint.lmo(g).dense(g.dtype)
        assert np.linalg.norm(v, order) == pytest.approx(2.0, rel=1e-12)


@examples
@given(st.one_of(real_directions(5), complex_directions(5)))
def test_group_ball_lives_on_the_largest_group(g):
    groups = [[3, 1], [0], [4, 2]]
    ball = GroupBall(groups, 2.0)
    v = ball.lmo(g)
    assert isinstance(v, Sparse)
    assert any(set(v.indices) <= set(group) for group in groups)
    assert v.norm_squared() == pytest.approx(4.0, rel=1e-12)
    h = normalised(g)
    norms = [np.linalg.norm(h[group]) for group in groups]
    assert inner(h, v.dense(g.dtype)) == pytest.approx(-2.0 * max(norms), rel=1e-12)


def test_group_ball_for_a_zero_direction_takes_the_first_coordinate_of_the_first_group():
    v = GroupBall([[3, 1], [0], [4, 2]], 2.0).lmo(np.zeros(5)).dense()
    assert v.tolist() == [0.0, -2.0, 0.0, 0.0, 0.0]


def test_group_ball_on_a_matrix_uses_flat_coordinates():
    g = np.array([[0.0, 1.0], [0.0, -3.0]])
    v = GroupBall([[0, 2], [1, 3]], 1.0).lmo(g).dense()
    assert v == pytest.approx(-g / np.sqrt(10))


@examples
@given(real_directions(3), st.integers(0, 10))
def test_ellipsoid_reaches_its_support_function(g, seed):
    rng = np.random.default_rng(seed)
    root, center = rng.standard_normal((3, 3)) + 3 * np.eye(3), rng.standard_normal(3)
    matrix = root @ root.T
    ellipsoid = Ellipsoid(center, matrix)
    v = ellipsoid.lmo(g).dense()
    assert (v - center) @ np.linalg.solve(matrix, v - center) == pytest.approx(1.0, rel=1e-10)
    h = normalised(g)
    assert h @ (v - center) == pytest.approx(-np.sqrt(h @ matrix @ h), rel=1e-10)


def test_ellipsoid_is_complex_with_the_conjugate():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    matrix, center = root @ root.conj().T + np.eye(3), rng.standard_normal(3) + 1j
    g = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    v = Ellipsoid(center, matrix).lmo(g).dense()
    assert inner(g, v - center) == pytest.approx(-np.sqrt(np.vdot(g, matrix @ g).real))


def test_zero_direction_gives_the_documented_vertex():
    zero = np.zeros((2, 2))
    first = np.array([[-3.0, 0.0], [0.0, 0.0]])
    for constraint in (L1Ball(3.0), L2Ball(3.0), LpBall(1.5, 3.0)):
        for dtype in (float, complex, np.float32):
            assert np.array_equal(constraint.lmo(zero.astype(dtype)).dense(), first)
    for dtype in (float, complex):
        assert np.array_equal(LinfBall(3.0).lmo(zero.astype(dtype)).dense(), np.full((2, 2), -3.0))
    assert np.array_equal(Simplex(3.0).lmo(zero).dense(), -first)
    assert np.array_equal(Simplex(3.0, equality=False).lmo(zero).dense(), zero)
    assert np.array_equal(KSparse(2, 3.0).lmo(zero).dense(), [[-3.0, -3.0], [0.0, 0.0]])
    assert np.array_equal(Box(-1.0, 2.0).lmo(zero).dense(), np.full((2, 2), -1.0))
    assert Ellipsoid([1.0, 1.0], np.diag([4.0, 9.0])).lmo(np.zeros(2)).dense() == pytest.approx([-1.0, 1.0])


@pytest.mark.parametrize("scale", [1e300, 1e-300, 5e-324])
def test_complex_l1_compares_moduli_that_would_overflow_or_vanish(scale):
    # |1 + 1i| > |1.4|, also where the modulus is not representable or rounds to one digit.
    g = np.array([1.0, 1.0 + 1.0j, 0.0]) * scale
    vertex = L1Ball(1.0).lmo(g)
    assert vertex.index == 1
    assert abs(vertex.value) == pytest.approx(1.0, rel=1e-15)
