"""The Euclidean-ball Boost in the plane of m and x: equal to the generic procedure, and sound where that is not."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from literal import literal_boost

import bsfw
from bsfw._arrays import inner, norm
from bsfw.boosting import boost
from bsfw.constraints import _ball_boost

RADIUS = 2.0
DTYPES = [np.float64, np.complex128]


def random_array(rng, shape, dtype):
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def point(rng, shape, dtype, where):
    """A point of the ball: its centre, somewhere inside, near the sphere or on it."""
    share = {"centre": 0.0, "inside": rng.random(), "near": 1.0 - 10.0 ** -rng.integers(2, 14), "sphere": 1.0}[where]
    x = random_array(rng, shape, dtype)
    return (share * RADIUS / norm(x)) * x


def assert_same(found, expected, x, m, tolerance):
    assert found.rounds == expected.rounds
    assert bool(found.vertices) == bool(expected.vertices)
    assert math.fsum(found.weights) == (1.0 if found.vertices else 0.0)
    np.testing.assert_allclose(found.vertex.dense(x.dtype), expected.vertex.dense(x.dtype), atol=tolerance * RADIUS)
    np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=tolerance * RADIUS)
    assert found.alignment == pytest.approx(expected.alignment, abs=tolerance)
    for name, size in (("gap", norm(m)), ("slope", norm(m)), ("norm", 1.0), ("vertex_distance", 1.0)):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=tolerance * RADIUS * size), name


def decided_by_rounding(m, x, lmo, rounds, delta):
    """Whether the generic procedure itself goes another way when its arguments change in the last digits."""
    a, b = (boost(m * (1 + s * 3e-16), x * (1 - s * 3e-16), lmo, rounds, delta * (1 + s * 1e-6)) for s in (1, -1))
    return a.rounds != b.rounds or bool(a.vertices) != bool(b.vertices)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(1,), (2,), (7,), (3, 4), (64, 1), (1, 9)]),
    where=st.sampled_from(["centre", "inside", "near", "sphere"]),
    rounds=st.sampled_from([1, 2, 3, 10, 10_000]),
    delta=st.sampled_from([1e-9, 1e-4, 0.05, 0.7, 1.0]),
    scale=st.sampled_from([1e-30, 1.0, 1e30]),
)
def test_equals_the_generic_boost(dtype, seed, shape, where, rounds, delta, scale):
    rng = np.random.default_rng(seed)
    x, m = point(rng, shape, dtype, where), scale * random_array(rng, shape, dtype)
    ball = bsfw.L2Ball(RADIUS)
    assume(not decided_by_rounding(m, x, ball.lmo, rounds, delta))
    found = ball.boost(m, x, rounds, delta)
    assert_same(found, boost(m, x, ball.lmo, rounds, delta), x, m, tolerance=1e-11)
    assert norm(x + found.dense(x)) <= RADIUS * (1 + 1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(2,), (7,), (64, 1)]),
    where=st.sampled_from(["inside", "near", "sphere"]),
    sign=st.sampled_from([1.0, -1.0]),
    tilt=st.sampled_from([0.0, 1e-15, 1e-12, 1e-8, 1e-5, 1e-2]),
    rounds=st.sampled_from([1, 3, 10_000]),
)
def test_equals_the_generic_boost_where_m_is_nearly_parallel_to_x(dtype, seed, shape, where, sign, tilt, rounds):
    """Near a solution on the sphere m is -x up to a factor, and ||v - x|| is a small difference of large vectors."""
    rng = np.random.default_rng(seed)
    x = point(rng, shape, dtype, where)
    m = sign * rng.uniform(0.5, 2.0) * x + tilt * random_array(rng, shape, dtype)
    ball = bsfw.L2Ball(RADIUS)
    assume(not decided_by_rounding(m, x, ball.lmo, rounds, 1e-6))
    expected = boost(m, x, ball.lmo, rounds, 1e-6)
    found = ball.boost(m, x, rounds, 1e-6)
    assert norm(x + found.dense(x)) <= RADIUS * (1 + 1e-14)
    assert found.gap == pytest.approx(expected.gap, abs=1e-14 * RADIUS * norm(m))
    assert found.vertex_distance == pytest.approx(expected.vertex_distance, abs=1e-14 * RADIUS)
    # <m, v - x> is a small difference of large numbers, whose relative error lambda and so d~ inherit in both.
    error = 3e-14 * RADIUS * norm(m) / max(expected.gap, 1e-300)
    assume(error < 1e-2)
    assert found.rounds == expected.rounds
    assert len(found.vertices) == min(1, len(expected.vertices))
    assert norm(found.dense(x) - expected.dense(x)) <= error * expected.norm + 1e-14 * RADIUS
    assert found.slope == pytest.approx(expected.slope, rel=error)
    assert found.alignment == pytest.approx(expected.alignment, rel=error)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs an extended precision to compare with")
@pytest.mark.parametrize("where", ["inside", "near", "sphere"])
@pytest.mark.parametrize("tilt", [1e-9, 1e-6, 1e-3, 1.0])
def test_is_as_accurate_as_the_generic_boost(where, tilt):
    """Against the paper's procedure in extended precision, for m nearly parallel to x."""
    rng, ball, errors = np.random.default_rng(11), bsfw.L2Ball(RADIUS), []
    for _ in range(40):
        x = point(rng, 20, float, where)
        m = -x + tilt * rng.standard_normal(20)
        exact, *_ = literal_boost(
            m.astype(np.longdouble), x.astype(np.longdouble), lambda g: -RADIUS * g / np.sqrt((g * g).sum()), 3, 1e-6
        )
        found, expected = ball.boost(m, x, 3, 1e-6), boost(m, x, ball.lmo, 3, 1e-6)
        errors.append([norm(direction.dense(x) - exact.astype(float)) for direction in (found, expected)])
    ours, generic = np.median(errors, axis=0)
    assert ours <= 10 * generic + 1e-15 * RADIUS


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), power=st.integers(1, 7))
def test_a_tiny_step_to_the_vertex_keeps_its_digits(seed, power):
    """||s - x|| and the gap against their formulas; from <m, m>, <m, x> and <x, x> they would be noise."""
    rng = np.random.default_rng(seed)
    angle = 10.0**-power
    e1, e2 = np.linalg.qr(rng.standard_normal((30, 2)))[0].T
    m, x = -e1, RADIUS * (math.cos(angle) * e1 + math.sin(angle) * e2)
    found = bsfw.L2Ball(RADIUS).boost(m, x, 5, 1e-4)
    assert found.vertex_distance == pytest.approx(2 * RADIUS * math.sin(angle / 2), rel=1e-8)
    assert found.gap == pytest.approx(2 * RADIUS * math.sin(angle / 2) ** 2, abs=1e-15 * RADIUS)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_points(dtype):
    rng = np.random.default_rng(5)
    ball = bsfw.L2Ball(RADIUS)
    x, m = point(rng, (6,), dtype, "inside"), random_array(rng, (6,), dtype)
    nothing = ball.boost(0 * m, x, 5, 1e-4)
    assert (nothing.vertices, nothing.rounds, nothing.gap) == ([], 1, 0.0)
    np.testing.assert_array_equal(nothing.vertex.dense(), ball.lmo(0 * m).dense())
    for _ in range(50):
        g = random_array(rng, (6,), dtype)
        at_vertex = ball.boost(g, ball.lmo(g).dense(), 5, 1e-4)
        assert (at_vertex.vertices, at_vertex.rounds, at_vertex.norm, at_vertex.alignment) == ([], 1, 0.0, -1.0)
    one = ball.boost(m, x, 1, 1e-4)
    assert one.vertices == [one.vertex]
    from_centre = ball.boost(m, 0 * x, 10, 1e-9)  # the first vertex is -m up to a factor: nothing is left to align
    assert from_centre.alignment == pytest.approx(1.0)
    assert from_centre.rounds == 2


@pytest.mark.parametrize("dtype", [*DTYPES, np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(9, 1), (1, 9)])
def test_the_spectral_ball_of_one_row_or_column_is_the_euclidean_one(monkeypatch, dtype, shape):
    def refuse(*_args, **_kwargs):
        raise AssertionError("an SVD of a vector")

    monkeypatch.setattr(np.linalg, "svd", refuse)
    rng = np.random.default_rng(3)
    x, m = point(rng, shape, dtype, "inside"), random_array(rng, shape, dtype)
    spectral, euclidean = bsfw.SpectralBall(RADIUS), bsfw.L2Ball(RADIUS)
    np.testing.assert_array_equal(spectral.lmo(m).dense(), euclidean.lmo(m).dense())
    assert spectral.lmo(m).dtype == dtype
    assert spectral.violation(3 * x) == pytest.approx(euclidean.violation(3 * x))
    one, other = (ball.boost(m, x, 7, 1e-4) for ball in (spectral, euclidean))
    np.testing.assert_array_equal(one.dense(x), other.dense(x))
    assert one.vertices[0].dtype == dtype
    assert (one.rounds, one.gap, one.alignment) == (other.rounds, other.gap, other.alignment)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_single_precision_stays_and_agrees(dtype):
    rng = np.random.default_rng(8)
    ball = bsfw.L2Ball(RADIUS)
    for _ in range(20):
        x, m = point(rng, (30,), dtype, "inside"), random_array(rng, (30,), dtype)
        found, expected = ball.boost(m, x, 5, 1e-3), boost(m, x, ball.lmo, 5, 1e-3)
        assert {v.dtype for v in (*found.vertices, found.vertex)} == {np.dtype(dtype)}
        np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=1e-5)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_numbers_whose_squares_leave_the_range_go_to_the_generic_procedure(size):
    rng = np.random.default_rng(1)
    ball, m, x = bsfw.L2Ball(RADIUS), size * rng.standard_normal(4), point(rng, (4,), float, "inside")
    assert _ball_boost.boost_in_plane(RADIUS, m, x, 3, 1e-4) is None
    assert _ball_boost.boost_in_plane(RADIUS, m[:2], x[:2], 3, 1e-4) is None
    with np.errstate(over="ignore"):
        assert ball.boost(m, x, 3, 1e-4).rounds >= 1


def test_an_oracle_changed_by_a_subclass_is_the_one_that_is_asked():
    class Asked(bsfw.L2Ball):
        calls = 0

        def lmo(self, direction):
            self.calls += 1
            return super().lmo(direction)

    ball, rng = Asked(RADIUS), np.random.default_rng(0)
    found = ball.boost(rng.standard_normal(5), point(rng, (5,), float, "inside"), 4, 1e-4)
    assert ball.calls == found.rounds


def test_after_three_inner_products_the_rounds_touch_no_array(monkeypatch):
    calls = []
    monkeypatch.setattr(_ball_boost, "inner", lambda a, b: calls.append(1) or inner(a, b))
    rng = np.random.default_rng(2)
    x, m = point(rng, (500,), float, "inside"), rng.standard_normal(500)
    counts = []
    for rounds in (1, 3, 50):
        calls.clear()
        found = bsfw.L2Ball(RADIUS).boost(m, x, rounds, 1e-12)
        counts.append(len(calls))
        assert len(found.vertices) == 1
    assert found.rounds > 3
    assert counts[0] == counts[1] == counts[2] <= 6
