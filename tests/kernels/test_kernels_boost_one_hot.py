"""Compiled Boost on sets with one-hot vertices, against the generic one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bsfw
from bsfw.boosting import boost

SETS = {
    "l1": lambda n, rng: bsfw.L1Ball(2.0),
    "weighted l1": lambda n, rng: bsfw.L1Ball(2.0, weights=rng.uniform(0.5, 3.0, n)),
    "simplex": lambda n, rng: bsfw.Simplex(1.5),
    "solid simplex": lambda n, rng: bsfw.Simplex(1.5, equality=False),
}
VALUES = st.sampled_from([-3.0, -2.0, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0])


def assert_same_direction(found, expected, x, tolerance):
    assert found.rounds == expected.rounds
    assert found.vertex == expected.vertex
    np.testing.assert_allclose(found.dense(x), expected.dense(x), atol=tolerance)
    for name in ("gap", "slope", "alignment", "norm", "vertex_distance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=10 * tolerance), name
    assert sum(found.weights) == pytest.approx(1.0) or not found.weights
    assert min(found.weights, default=0.0) >= 0.0


@pytest.mark.parametrize("name", SETS)
@settings(deadline=None, max_examples=80)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from(
        [1, 3, 10, 255, 256, 257, 600]
    ),  # in the plane the second round is an exact tie if x is on an edge
    support=st.integers(0, 12),
    rounds=st.sampled_from([1, 2, 7, 10_000]),
    delta=st.sampled_from([1e-9, 1e-4, 0.05, 1.0]),
)
def test_one_boost_call_equals_the_generic_one(name, seed, n, support, rounds, delta):
    rng = np.random.default_rng(seed)
    constraint = SETS[name](n, rng)
    x = constraint.lmo(rng.standard_normal(n)).dense()
    for _ in range(support):
        gamma = rng.uniform(0, 0.7)
        x = (1 - gamma) * x + gamma * constraint.lmo(rng.standard_normal(n)).dense()
    m = rng.standard_normal(n)
    assert_same_direction(
        constraint.boost(m, x, rounds, delta), boost(m, x, constraint.lmo, rounds, delta), x, tolerance=1e-10
    )


@pytest.mark.parametrize("name", ["l1", "simplex", "solid simplex"])
@settings(deadline=None, max_examples=80)
@given(m=st.lists(VALUES, min_size=1, max_size=6), start=st.integers(0, 5), rounds=st.sampled_from([1, 3, 50]))
def test_ties_and_zeros_take_the_same_vertices(name, m, start, rounds):
    m, rng = np.array(m), np.random.default_rng(0)
    constraint = SETS[name](len(m), rng)
    direction = np.zeros(len(m))
    direction[start % len(m)] = -1.0
    x = constraint.lmo(direction).dense()
    found, expected = constraint.boost(m, x, rounds, 1e-4), boost(m, x, constraint.lmo, rounds, 1e-4)
    assert found.vertex == expected.vertex
    assert found.gap == pytest.approx(expected.gap, abs=1e-12)
    if rounds == 1:
        assert found.alignment == pytest.approx(expected.alignment, abs=1e-9)
    else:  # later exact ties may fall either way
        first = boost(m, x, constraint.lmo, 1, 1e-4)
        assert found.alignment >= first.alignment - 1e-12
        assert constraint.contains(x + found.dense(x))


def test_single_precision_and_matrices_are_accepted():
    rng = np.random.default_rng(1)
    ball = bsfw.L1Ball(2.0)
    x = ball.lmo(rng.standard_normal((4, 5))).dense().astype(np.float32)
    m = rng.standard_normal((4, 5)).astype(np.float32)
    assert_same_direction(ball.boost(m, x, 50, 1e-3), boost(m, x, ball.lmo, 50, 1e-3), x, tolerance=1e-5)


def test_a_subclass_with_an_oracle_of_its_own_is_asked():
    class Halved(bsfw.L1Ball):
        def lmo(self, direction):
            return bsfw.L1Ball(self.radius / 2).lmo(direction)

    found = Halved(2.0).boost(np.array([1.0, 2.0]), np.zeros(2), 1, 1e-4)
    assert found.vertex.value == -1.0
