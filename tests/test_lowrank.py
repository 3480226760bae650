"""`LowRank` against the dense matrix it stands for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsfw.lowrank import LowRank
from bsfw.vertices import RankOne, move


def unit(rng, size, dtype):
    vector = rng.standard_normal(size) + (1j * rng.standard_normal(size) if dtype is complex else 0.0)
    return vector / np.linalg.norm(vector)


def matrix(rng, rows, columns, terms, dtype=float, hermitian=False):
    left = np.stack([unit(rng, rows, dtype) for _ in range(terms)], axis=1)
    right = None if hermitian else np.stack([unit(rng, columns, dtype) for _ in range(terms)], axis=1)
    return LowRank(left, rng.random(terms) + 0.1, right)


CASES = [(float, False), (float, True), (complex, False), (complex, True)]


@pytest.mark.parametrize(("dtype", "hermitian"), CASES)
def test_every_product_is_that_of_the_dense_matrix(rng, dtype, hermitian):
    x, y = (matrix(rng, 7, 7, 3, dtype, hermitian) for _ in range(2))
    a, b = np.asarray(x), np.asarray(y)
    v, vertex = unit(rng, 7, dtype), RankOne(-2.0, unit(rng, 7, dtype), unit(rng, 7, dtype))
    assert np.allclose(a, (x.left * x.weights) @ x.right.conj().T)
    assert np.allclose(x.matvec(v), a @ v)
    assert np.allclose(x.rmatvec(v), a.conj().T @ v)
    assert np.allclose(x.matvec(b), a @ b)
    assert np.isclose(x.inner(y), np.vdot(a, b).real)
    assert np.isclose(x.inner(b), np.vdot(a, b).real)
    assert np.isclose(x.inner(vertex), np.vdot(a, vertex.dense()).real)
    assert np.isclose(x.norm(), np.linalg.norm(a))
    assert np.isclose(x.nuclear_norm(), np.linalg.svd(a, compute_uv=False).sum())
    assert np.isclose(x.trace(), np.trace(a).real)
    rows, cols = rng.integers(7, size=(2, 4, 5))
    assert np.allclose(x.entries(rows, cols), a[rows, cols])


@pytest.mark.parametrize(("dtype", "hermitian"), CASES)
def test_factors_are_orthonormal_and_give_the_matrix_back(rng, dtype, hermitian):
    x = matrix(rng, 6, 6, 4, dtype, hermitian).moved(0.5, [RankOne(1.0, *[unit(rng, 6, dtype)] * 2)] * 2, [0.5, 0.5])
    u, s, v = x.factors()
    assert s.shape == (5,)
    assert (np.diff(s) <= 0).all()
    assert np.allclose(u.conj().T @ u, np.eye(5))
    assert np.allclose(v.conj().T @ v, np.eye(5))
    assert np.allclose((u * s) @ v.conj().T, np.asarray(x))


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.integers(1, 9), st.integers(1, 9))
def test_a_step_is_that_of_the_dense_iterate(seed, gamma, rows, columns):
    rng = np.random.default_rng(seed)
    x = matrix(rng, rows, columns, 3)
    vertices = [RankOne(-2.0, unit(rng, rows, float), unit(rng, columns, float)) for _ in range(3)]
    weights = [0.2, 0.3, 0.5]
    moved = x.moved(gamma, vertices, weights)
    assert np.allclose(np.asarray(moved), move(np.asarray(x), gamma, vertices, weights))
    assert moved.rank == (3 if gamma == 1.0 else 6)


def test_a_matrix_keeps_its_value_when_others_grow_from_it(rng):
    x = matrix(rng, 5, 4, 2).moved(0.1, [RankOne(1.0, unit(rng, 5, float), unit(rng, 4, float))], [1.0])
    before = np.asarray(x)
    steps = [RankOne(1.0, unit(rng, 5, float), unit(rng, 4, float)) for _ in range(2)]
    branches = [x.moved(0.5, [vertex], [1.0]) for vertex in steps]
    for branch, vertex in zip(branches, steps, strict=True):
        assert np.allclose(np.asarray(branch), 0.5 * before + 0.5 * vertex.dense())
    assert np.array_equal(np.asarray(x), before)


@pytest.mark.parametrize("hermitian", [False, True])
def test_recompression_drops_small_singular_values_only_and_never_leaves_the_set(rng, hermitian):
    q = np.linalg.qr(rng.standard_normal((8, 8)))[0][:, :4]
    x = LowRank(q, [1.0, 0.5, 2e-3, 5e-4], None if hermitian else q)
    y = x.recompressed(1e-3)
    assert y.rank == 3
    assert np.linalg.norm(np.asarray(x) - np.asarray(y)) < 1.1e-3
    if hermitian:
        assert y.hermitian
        assert np.isclose(y.trace(), x.trace(), rtol=1e-14)
    else:
        assert y.nuclear_norm() <= x.nuclear_norm()
    assert np.allclose(np.asarray(x.recompressed(0.0)), np.asarray(x), atol=1e-14)
    assert LowRank.zeros((3, 2)).recompressed().rank == 0


@pytest.mark.parametrize(("tolerance", "bound"), [(1e-3, 2e-2), (0.0, 1e-12)])
def test_the_factors_do_not_drift_in_ten_thousand_steps(rng, tolerance, bound):
    rows, columns, radius, gamma = 30, 24, 5.0, 0.02
    lefts, rights = rng.standard_normal((10_000, rows)), rng.standard_normal((10_000, columns))
    lefts[:, 4:] *= 0.05  # directions that matter and directions that do not
    x = LowRank.zeros((rows, columns))
    dense = np.zeros((rows, columns))
    worst, base = 0.0, 0
    for step, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        vertex = RankOne(-radius, left / np.linalg.norm(left), right / np.linalg.norm(right))
        x = x.moved(gamma, [vertex], [1.0])
        dense = move(dense, gamma, [vertex], [1.0])
        if x.rank - base >= 64:
            x = x.recompressed(tolerance)
            base = x.rank
        if step % 500 == 499:
            worst = max(worst, np.linalg.norm(np.asarray(x) - dense) / np.linalg.norm(dense))
    assert worst < bound
    assert x.rank <= min(rows, columns) + 64
    assert x.nuclear_norm() <= radius * (1 + 1e-12)


def test_predict_adds_the_intercepts_and_the_array_has_none(rng):
    x = matrix(rng, 3, 4, 1).with_intercepts(lambda rows, cols: 10.0 * rows + cols)
    rows, cols = np.array([0, 2]), np.array([3, 1])
    assert np.allclose(x.predict(rows, cols), np.asarray(x)[rows, cols] + [3.0, 21.0])
    later = x.moved(0.5, [RankOne(1.0, np.ones(3), np.ones(4))], [1.0]).recompressed()
    assert np.allclose(later.predict(rows, cols) - later.entries(rows, cols), [3.0, 21.0])


def test_parts_make_the_same_matrix_again(rng):
    for hermitian in (False, True):
        x = matrix(rng, 5, 5, 2, complex, hermitian)
        again = LowRank.from_parts(x.parts())
        assert np.array_equal(np.asarray(again), np.asarray(x))
        assert again.hermitian == hermitian


def test_bad_input_is_refused_in_a_sentence(rng):
    x = matrix(rng, 3, 4, 2)
    with pytest.raises(ValueError, match="one weight per term"):
        LowRank(np.ones((3, 2)), [1.0], np.ones((4, 2)))
    with pytest.raises(ValueError, match="one weight per term"):
        LowRank(np.ones((3, 2)), [1.0, 1.0], np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        LowRank(np.ones((3, 1)), [np.nan])
    with pytest.raises(ValueError, match="rows must lie between 0 and 2"):
        x.entries([3], [0])
    with pytest.raises(ValueError, match="cols must lie between 0 and 3"):
        x.predict([0], [-1])
    with pytest.raises(TypeError, match="whole numbers"):
        x.entries([0.5], [0])
    with pytest.raises(ValueError, match="same shape"):
        x.entries([0, 1], [0])
    with pytest.raises(ValueError, match="tolerance"):
        x.recompressed(1.0)
    with pytest.raises(ValueError, match="complex"):
        x.moved(0.5, [RankOne(1.0, np.ones(3, complex), np.ones(4, complex))], [1.0])


@pytest.mark.parametrize("hermitian", [False, True])
def test_parts_give_the_same_matrix_and_those_of_another_are_refused(rng, hermitian):
    x = matrix(rng, 6, 6, 3, hermitian=hermitian)
    parts = x.parts()
    again = LowRank.from_parts(parts, (6, 6))
    assert np.array_equal(np.asarray(again), np.asarray(x))
    assert again.hermitian is hermitian
    for damage in (
        {"left": parts["left"][:-1]},  # too few rows: compiled code would read beyond them
        {"weights": parts["weights"][:-1]},
        {"left": parts["left"].ravel()},
        {"left": np.full_like(parts["left"], np.nan)},
        {"extra": parts["left"]},
    ):
        with pytest.raises(ValueError, match=r"factors|parts|NaN"):
            LowRank.from_parts(parts | damage, (6, 6))
    with pytest.raises(ValueError, match="parts"):
        LowRank.from_parts({"left": parts["left"]}, (6, 6))
    with pytest.raises(ValueError, match=r"shape \(6, 6\), but it must be \(6, 7\)"):
        LowRank.from_parts(parts, (6, 7))


@pytest.mark.parametrize(
    ("factors", "error"),
    [
        ((np.ones((3, 2), dtype=object), np.ones(2)), TypeError),
        ((np.ones((3, 2)), ["a", "b"]), TypeError),
        ((np.ones((3, 2)), [1j, 1.0]), TypeError),
        (([[1.0], [2.0, 3.0]], [1.0]), ValueError),
        ((np.ones((3, 1)), [np.inf]), ValueError),
        ((np.ones((3, 1)), [1.0], np.full((2, 1), np.nan)), ValueError),
        ((np.ones((0, 1)), [1.0]), ValueError),
    ],
)
def test_factors_that_are_no_finite_numbers_are_refused(factors, error):
    with pytest.raises(error, match=r"LowRank|left|weights|right"):
        LowRank(*factors)
