import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.vertices import move


def examples(rng):
    u, v = rng.standard_normal(3) + 1j * rng.standard_normal(3), rng.standard_normal(4) + 1j * rng.standard_normal(4)
    return [
        bsfw.OneHot(5, -2.0, (3, 4)),
        bsfw.OneHot(2, 1.0 - 2.0j, (3, 4)),
        bsfw.Sparse(np.array([1, 7, 11]), np.array([1.0, -3.0, 2.0]), (3, 4)),
        bsfw.RankOne(-1.5, u, v),
        bsfw.Dense(rng.standard_normal((3, 4))),
    ]


@pytest.mark.parametrize("k", range(5))
def test_every_operation_of_a_vertex_agrees_with_its_array(k, rng):
    vertex = examples(rng)[k]
    array = vertex.dense(complex)
    other = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    assert vertex.shape == array.shape == (3, 4)
    assert vertex.inner(other) == pytest.approx(np.sum(array.conj() * other).real)
    assert vertex.norm_squared() == pytest.approx(np.sum(np.abs(array) ** 2))
    out = other.copy()
    vertex.add_to(out, 0.25)
    np.testing.assert_allclose(out, other + 0.25 * array)
    np.testing.assert_array_equal(np.asarray(vertex), vertex.dense())


def test_rank_one_is_scale_times_left_times_conjugate_of_right(rng):
    vertex = examples(rng)[3]
    np.testing.assert_allclose(vertex.dense(), -1.5 * vertex.left[:, None] * vertex.right[None, :].conj())


def test_sparse_vertices_work_on_vectors_too():
    vertex = bsfw.Sparse(np.array([0, 2]), np.array([1.0, 4.0]), (3,))
    np.testing.assert_array_equal(vertex.dense(), [1.0, 0.0, 4.0])
    assert vertex.inner(np.array([1.0, 5.0, 2.0])) == 9.0


@settings(deadline=None, max_examples=40)
@given(gamma=st.floats(0, 1), seed=st.integers(0, 1000))
def test_move_is_the_convex_combination_and_leaves_x_alone(gamma, seed):
    rng = np.random.default_rng(seed)
    x, ball = rng.dirichlet(np.ones(5)) - 0.2, bsfw.L1Ball(1.0)
    before = x.copy()
    vertices = [ball.lmo(rng.standard_normal(5)) for _ in range(3)]
    weights = rng.dirichlet(np.ones(3))
    expected = (1 - gamma) * x + gamma * sum(w * v.dense() for w, v in zip(weights, vertices, strict=True))
    np.testing.assert_allclose(move(x, gamma, vertices, list(weights)), expected, atol=1e-15)
    np.testing.assert_array_equal(x, before)


def test_a_real_iterate_refuses_a_complex_vertex():
    with pytest.raises(ValueError, match="real iterate"):
        move(np.zeros(2), 0.5, [bsfw.OneHot(0, 1j, (2,))], [1.0])
