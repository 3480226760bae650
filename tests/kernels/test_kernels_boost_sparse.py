"""Compiled Boost on sets whose vertices have a few nonzeros, against the generic one."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bsfw
import bsfw.kernels
from bsfw.boosting import boost

SIZES = st.one_of(st.integers(1, 20), st.sampled_from([63, 64, 65, 257, 511, 700]))
KINDS = ["k-sparse", "groups"]
VALUES = st.sampled_from([-3.0, -2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0])


def random_groups(rng, n, number):
    labels = np.concatenate([np.arange(number), rng.integers(0, number, n - number) ** 2 // max(number, 1)])
    rng.shuffle(labels)
    return [np.flatnonzero(labels == i) for i in range(number)]


def random_set(kind, rng, n, radius=2.0):
    """From k = 1 and one single group to k = n and groups of one."""
    number = int(rng.choice([1, n, 1 + n // 10, rng.integers(1, n + 1)]))
    return bsfw.KSparse(number, radius) if kind == "k-sparse" else bsfw.GroupBall(random_groups(rng, n, number), radius)


def random_point(constraint, rng, shape, vertices):
    x = np.zeros(shape)
    for weight in rng.dirichlet(np.ones(vertices)) if vertices else ():
        constraint.lmo(rng.standard_normal(shape)).add_to(x, rng.choice([1.0, 0.8]) * weight)
    return x


def reference(constraint, m, x, rounds, delta):
    """The generic Boost, if rounding does not decide what it does."""
    expected = boost(m, x, constraint.lmo, rounds, delta)
    # x is a vertex to rounding, and a weight or its sign is noise; or a long boosting, in which rounding errors grow.
    assume(expected.vertex_distance == 0.0 or expected.gap > 1e-12)
    assume(not expected.vertices or expected.norm > 1e-9)
    assume(expected.rounds < 300)
    return expected


def assert_same_vertex(found, expected, tolerance):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.values, expected.values, atol=tolerance)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


def assert_same_direction(found, expected, x, tolerance):
    assert found.rounds == expected.rounds
    assert len(found.vertices) == len(expected.vertices)
    assert_same_vertex(found.vertex, expected.vertex, tolerance)
    for one, other in zip(found.vertices, expected.vertices, strict=True):
        assert_same_vertex(one, other, 100 * tolerance)
    np.testing.assert_allclose(found.weights, expected.weights, atol=tolerance)
    np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=tolerance)
    for name in ("gap", "slope", "alignment", "norm", "vertex_distance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=10 * tolerance), name


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=120)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=SIZES,
    vertices=st.sampled_from([0, 1, 2, 5, 30]),
    rounds=st.sampled_from([1, 2, 7, 10_000]),
    delta=st.sampled_from([1e-9, 1e-4, 0.05, 1.0]),
)
def test_one_boost_call_equals_the_generic_one(kind, seed, n, vertices, rounds, delta):
    rng = np.random.default_rng(seed)
    constraint = random_set(kind, rng, n)
    x, m = random_point(constraint, rng, n, vertices), rng.standard_normal(n)
    expected = reference(constraint, m, x, rounds, delta)
    found = constraint.boost(m, x, rounds, delta)
    assert_same_direction(found, expected, x, tolerance=1e-10)
    assert constraint.contains(x + found.dense(x), 1e-9)
    if found.vertices:
        assert sum(found.weights) == pytest.approx(1.0, abs=1e-12)
        assert min(found.weights) >= 0.0


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    few=st.lists(VALUES, min_size=1, max_size=7),
    copies=st.sampled_from([1, 1, 40]),
    rounds=st.sampled_from([1, 3, 50]),
)
def test_ties_and_zeros_take_the_same_vertex(kind, seed, few, copies, rounds):
    m, rng = np.tile(few, copies), np.random.default_rng(seed)
    constraint = random_set(kind, rng, m.size)
    x = random_point(constraint, rng, m.size, int(rng.integers(0, 3)))
    expected = reference(constraint, m, x, rounds, 1e-4)
    found = constraint.boost(m, x, rounds, 1e-4)
    assert_same_vertex(found.vertex, expected.vertex, 1e-12)
    assert found.gap == pytest.approx(expected.gap, abs=1e-12)
    assert found.vertex_distance == pytest.approx(expected.vertex_distance, abs=1e-12)
    if rounds == 1:  # later exact ties may fall either way
        assert_same_direction(found, expected, x, tolerance=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_boosting_over_many_coordinates_equals_the_generic_one(kind):
    # Every array of the kernels has to grow, more than once.
    rng = np.random.default_rng(1)
    groups = [np.arange(i, 700, 140) for i in range(140)]
    constraint = bsfw.KSparse(5, 2.0) if kind == "k-sparse" else bsfw.GroupBall(groups, 2.0)
    x, m = 0.2 * random_point(constraint, rng, 700, 2), rng.standard_normal(700)
    expected = boost(m, x, constraint.lmo, 10_000, 1e-4)
    assert len(expected.vertices) > 50
    assert np.unique(np.concatenate([vertex.indices for vertex in expected.vertices])).size > 200
    assert_same_direction(constraint.boost(m, x, 10_000, 1e-4), expected, x, tolerance=1e-10)


def test_ties_across_refills_of_the_pool_are_taken_by_index():
    # One magnitude everywhere, one vertex after the other: each takes the next three untouched coordinates.
    m = np.where(np.arange(700) % 3 == 0, -1.0, 1.0)
    found = bsfw.KSparse(3, 1.0).boost(m, np.zeros(700), 200, 1e-9)
    assert len(found.vertices) == 200
    np.testing.assert_array_equal(np.concatenate([v.indices for v in found.vertices]), np.arange(600))
    np.testing.assert_array_equal(np.concatenate([v.values for v in found.vertices]), -m[:600])


@pytest.mark.parametrize("kind", KINDS)
def test_zero_estimates_and_numbers_out_of_range_are_those_of_the_generic_boost(kind):
    rng = np.random.default_rng(0)
    constraint = random_set(kind, rng, 9)
    x = random_point(constraint, rng, 9, 3)
    for scale in (0.0, 1e-200, 1e-80, 1e80):
        m = scale * rng.standard_normal(9)
        expected = boost(m, x, constraint.lmo, 20, 1e-4)
        found = constraint.boost(m, x, 20, 1e-4)
        assert found.rounds == expected.rounds
        assert found.gap == pytest.approx(expected.gap, rel=1e-12)
        assert found.weights == pytest.approx(expected.weights, rel=1e-9)
        assert_same_vertex(found.vertex, expected.vertex, 1e-12)
    for bad in (np.nan, np.inf):  # compiled code must not be asked, and the oracle refuses
        with np.errstate(all="ignore"):
            for estimate, point in ((np.append(m[:-1], bad), x), (m / scale, np.append(x[:-1], bad))):
                with pytest.raises(ValueError, match="NaN or infinite"):
                    constraint.boost(estimate, point, 3, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), rounds=st.integers(1, 8))
def test_single_precision_matrices_equal_to_their_precision(kind, seed, rounds):
    rng = np.random.default_rng(seed)
    constraint = random_set(kind, rng, 20)
    x = random_point(constraint, rng, (4, 5), 3).astype(np.float32)
    m = rng.standard_normal((4, 5)).astype(np.float32)
    expected = boost(m, x, constraint.lmo, rounds, 1e-2)
    assume(expected.gap > 1e-3)
    found = constraint.boost(m, x, rounds, 1e-2)
    assert_same_vertex(found.vertex, expected.vertex, 1e-6)
    assert found.gap == pytest.approx(expected.gap, abs=1e-4)
    assert found.vertex_distance == pytest.approx(expected.vertex_distance, abs=1e-4)
    if found.rounds == expected.rounds:  # a gain close to 1e-2 may be judged either way
        np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=1e-3)
        assert found.alignment == pytest.approx(expected.alignment, abs=1e-4)


def test_a_vertex_that_is_x_to_rounding_ends_the_boosting():
    # -(0.7 / |g|) g is not always 0.7: a difference of 1e-16 to x would get a weight of 1e16, and the direction vanish.
    ball, x = bsfw.GroupBall([[0], [1]], 0.7), np.array([-0.7, 0.0])
    for seed in range(200):
        m = np.random.default_rng(seed).uniform([0.1, -3.0], [1.0, -1.1])
        assert ball.boost(m, x, 50, 1e-9).norm > 0.1


@pytest.mark.parametrize("constraint", [bsfw.KSparse(2, 0.7), bsfw.GroupBall([[0, 2], [1]], 0.7)], ids=KINDS)
def test_a_vertex_in_single_precision_is_known_as_such(constraint):
    for seed in range(50):  # 0.7 is not a number of single precision
        rng = np.random.default_rng(seed)
        m = rng.standard_normal(3).astype(np.float32)
        found = constraint.boost(m, constraint.lmo(m).dense(np.float32), 50, 1e-9)
        assert (found.rounds, found.vertices, found.norm) == (1, [], 0.0)
        start = constraint.lmo(rng.standard_normal(3)).dense(np.float32)
        found = constraint.boost(m, start, 50, 1e-3)
        assert not found.vertices or found.norm > 1e-3


def forbid(*arguments):
    raise AssertionError("the compiled code was asked")


@pytest.fixture
def no_kernels(monkeypatch):
    from bsfw.constraints import _compiled_boost

    monkeypatch.setattr(_compiled_boost, "boost", forbid)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("kind", KINDS)
def test_real_arrays_are_compiled_and_others_are_not(kind, monkeypatch):
    rng = np.random.default_rng(2)
    constraint = random_set(kind, rng, 6)
    m, x = rng.standard_normal(6), np.zeros(6)
    with pytest.raises(AssertionError, match="was asked"):
        constraint.boost(m, x, 5, 1e-4)
    z = m + 1j * rng.standard_normal(6)
    assert constraint.boost(z, x + 0j, 5, 1e-4).weights == boost(z, x + 0j, constraint.lmo, 5, 1e-4).weights
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert constraint.boost(m, x, 5, 1e-4).weights == boost(m, x, constraint.lmo, 5, 1e-4).weights


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize(
    "constraint", [bsfw.KSparse(2, 1.0), bsfw.GroupBall([[0, 1], [2, 3]], 1.0)], ids=lambda c: type(c).__name__
)
def test_a_subclass_with_an_oracle_of_its_own_is_asked(constraint):
    class Own(type(constraint)):
        def lmo(self, direction):
            return bsfw.L1Ball(0.5).lmo(direction)

    constraint = Own(*((2,) if isinstance(constraint, bsfw.KSparse) else (constraint.groups,)), 1.0)
    assert constraint.boost(np.array([1.0, 2.0, 0.0, 0.0]), np.zeros(4), 1, 1e-4).vertex.value == -0.5


@pytest.mark.parametrize("constraint", [bsfw.KSparse(9, 1.0), bsfw.GroupBall([[0], [1]], 1.0)], ids=["k", "groups"])
def test_arrays_of_a_wrong_shape_are_refused(constraint):
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        constraint.boost(np.ones(4), np.zeros(4), 3, 1e-4)
    with pytest.raises(ValueError, match="broadcast"):
        constraint.boost(np.ones(4), np.zeros(3), 3, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_runs_on_least_squares_equal_those_of_the_generic_boost(kind, monkeypatch):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 80))
    objective = bsfw.LeastSquares(A, A[:, ::9].sum(axis=1) + rng.standard_normal(60))
    constraint = bsfw.KSparse(6, 0.8) if kind == "k-sparse" else bsfw.GroupBall(random_groups(rng, 80, 25), 4.0)
    runs = []
    for available in (True, False):
        monkeypatch.setattr(bsfw.kernels, "available", lambda available=available: available)
        iterates = []
        result = bsfw.minimize(
            objective, constraint, estimator=bsfw.SAGA(batch_size=10), max_iter=30, rng=3,
            callback=lambda intermediate_result, kept=iterates: kept.append(intermediate_result.x.copy()),
        )  # fmt: skip
        runs.append((np.array(iterates), result.lmo_calls))
    (found, calls), (expected, expected_calls) = runs
    assert len(found) == 30
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert calls == expected_calls
    assert calls > 90
