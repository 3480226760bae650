"""LMOs of matrix sets against dense SVD, eigh and enumerated permutations."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bsfw._arrays import inner
from bsfw.constraints import Birkhoff, NuclearBall, SpectralBall, Spectraplex
from bsfw.vertices import RankOne, Sparse

examples = settings(deadline=None, max_examples=50)
entries = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-10, 10))


@st.composite
def matrices(draw, square=False, dtypes=(float, complex, np.float32)):
    rows = draw(st.integers(1, 5))
    columns = rows if square else draw(st.integers(1, 5))
    real = draw(arrays(float, (rows, columns), elements=entries))
    dtype = draw(st.sampled_from(dtypes))
    return real + 1j * draw(arrays(float, real.shape, elements=entries)) if dtype is complex else real.astype(dtype)


def precision(g):
    return 1e-5 if g.dtype == np.float32 else 1e-10


@examples
@given(matrices())
def test_nuclear_takes_minus_the_leading_pair(g):
    v = NuclearBall(2.0).lmo(g)
    assert isinstance(v, RankOne)
    assert v.dtype == g.dtype
    singular = np.linalg.svd(g.astype(np.result_type(g, float)), compute_uv=False)
    assert v.inner(g) == pytest.approx(-2.0 * singular[0], rel=precision(g), abs=1e-300)
    assert NuclearBall(2.0).contains(v.dense(), tolerance=precision(g))
    assert v.norm_squared() == pytest.approx(4.0, rel=precision(g))  # rank one on the boundary: extreme


@pytest.mark.parametrize("shape", [(120, 90), (90, 120), (300, 60), (49, 49)])
@pytest.mark.parametrize("dtype", [float, complex, np.float32])
def test_nuclear_by_lanczos_agrees_with_svd(shape, dtype):
    rng = np.random.default_rng(3)
    g = rng.standard_normal(shape).astype(dtype)
    if dtype is complex:
        g += 1j * rng.standard_normal(shape)
    v = NuclearBall(2.0, tolerance=1e-6).lmo(g)
    top = np.linalg.svd(g.astype(np.result_type(dtype, float)), compute_uv=False)[0]
    assert v.inner(g) == pytest.approx(-2.0 * top, rel=1e-6)
    assert v.dtype == g.dtype
    again = NuclearBall(2.0).lmo(g.copy())
    assert np.array_equal(again.left, v.left)
    assert np.array_equal(again.right, v.right)


@pytest.mark.parametrize("shape", [(3, 2), (1, 4), (4, 1), (1, 1), (100, 80)])
def test_zero_matrices_give_the_first_unit_matrix(shape):
    zero = np.zeros(shape)
    expected = zero.copy()
    expected[0, 0] = -2.0
    assert np.array_equal(NuclearBall(2.0).lmo(zero).dense(), expected)
    isometry = SpectralBall(2.0).lmo(zero).dense()
    assert np.linalg.svd(isometry, compute_uv=False) == pytest.approx(np.full(min(shape), 2.0))
    square = np.zeros((shape[0], shape[0]))
    expected = square.copy()
    expected[0, 0] = 2.0
    assert np.array_equal(Spectraplex(2.0).lmo(square).dense(), expected)
    assert np.array_equal(Spectraplex(2.0, equality=False).lmo(square).dense(), square)


@examples
@given(matrices())
def test_spectral_ball_takes_the_full_polar_factor(g):
    v = SpectralBall(2.0).lmo(g).dense()
    assert v.dtype == g.dtype
    wide = g.astype(np.result_type(g, float))
    singular = np.linalg.svd(wide, compute_uv=False)
    assert inner(v, wide) == pytest.approx(-2.0 * singular.sum(), rel=precision(g), abs=1e-9)
    # Extreme: every singular value is the radius, also where g has none.
    assert np.linalg.svd(v, compute_uv=False) == pytest.approx(np.full(min(g.shape), 2.0), rel=precision(g))


@examples
@given(matrices(square=True))
def test_spectraplex_takes_the_smallest_eigenvector(g):
    wide = g.astype(np.result_type(g, float))
    smallest = np.linalg.eigvalsh(0.5 * (wide + wide.conj().T))[0]
    v = Spectraplex(2.0).lmo(g)
    assert isinstance(v, RankOne)
    assert v.inner(wide) == pytest.approx(2.0 * smallest, rel=precision(g), abs=20 * precision(g))
    assert Spectraplex(2.0).contains(v.dense(), tolerance=precision(g))
    below = Spectraplex(2.0, equality=False).lmo(g)
    assert below.inner(wide) == pytest.approx(2.0 * min(smallest, 0.0), rel=precision(g), abs=20 * precision(g))


def test_spectraplex_below_takes_zero_only_when_no_eigenvalue_is_negative():
    below = Spectraplex(1.0, equality=False)
    assert not below.lmo(np.diag([0.0, 1.0])).dense().any()
    assert np.array_equal(below.lmo(np.diag([1.0, -1e-3])).dense(), np.diag([0.0, 1.0]))


@pytest.mark.parametrize("dtype", [float, complex])
def test_spectraplex_by_lanczos_agrees_with_eigh(dtype):
    rng = np.random.default_rng(5)
    g = rng.standard_normal((120, 120)).astype(dtype)
    if dtype is complex:
        g += 1j * rng.standard_normal((120, 120))
    v = Spectraplex(1.0).lmo(g)
    values = np.linalg.eigvalsh(0.5 * (g + g.conj().T))
    assert v.inner(g) == pytest.approx(values[0], abs=1e-6 * np.abs(values).max())


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-320])
def test_matrix_sets_survive_any_magnitude(scale):
    rng = np.random.default_rng(2)
    for size in (4, 70):
        g = rng.standard_normal((size, size)) / size
        # Subnormal entries are rounded; the reference gets the same rounded matrix.
        tiny = g * scale
        exact = tiny / scale if scale > 1e-310 else (tiny * 2.0**1000) * 2.0**60
        for constraint in (NuclearBall(1.0), SpectralBall(1.0), Spectraplex(1.0)):
            scaled, plain = constraint.lmo(tiny).dense(), constraint.lmo(exact).dense()
            assert scaled == pytest.approx(plain, abs=1e-5)
            assert constraint.contains(scaled)


@examples
@given(st.integers(1, 4), st.data())
def test_birkhoff_takes_the_best_permutation(n, data):
    g = data.draw(arrays(float, (n, n), elements=entries))
    vertices = [np.eye(n)[list(order)] for order in permutations(range(n))]
    v = Birkhoff(n).lmo(g)
    assert isinstance(v, Sparse)
    assert any(np.array_equal(v.dense(), p) for p in vertices)
    assert v.inner(g) == pytest.approx(min((p * g).sum() for p in vertices), abs=1e-9)
    assert np.array_equal(Birkhoff(n).lmo(g).dense(), v.dense())
